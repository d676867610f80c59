"""The GPU of this machine, for a class whose points hang on speed there (`judge.bands`).

Machine code of a right kernel (`planned` of an engine) is launched at full size in
processes of `sandbox.gpu`: behind a wall, one after the other, each for one kernel. Inputs are
drawn anew for each kernel, and not from the class's seed; what is known of the results stays here:
every output that comes back is compared with the reference.

`python -m autograder.judge.own_gpu` says what GPU this is and what it reaches.
"""

from __future__ import annotations

import base64
import json
import math
import os
import secrets
import statistics
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from autograder.judge.bands import Band, Bands, band_of
from autograder.judge.pool import ROOT, parts_of_a_runner
from autograder.judge.sentences import ON_A_GPU
from autograder.sandbox import walls
from autograder.sandbox.gpu import BEGUN, devices
from autograder.sandbox.walls import Kind, Wall
from autograder.sandbox.wire import allocation
from course import exercises
from course.check.cases import drawn_case
from course.engine.launcher.gpu import PROPERTIES
from course.engine.stated_gpu import target_of
from course.gpu import timing, troubles
from course.gpu.devices import OfTorch
from course.gpu.full_size import is_right, largest_cases, work_of
from course.gpu.present import present
from course.spec.exercise import Array, KernelExercise, Role

PROCESS = "autograder.sandbox.gpu"
#: Each process launches each set of inputs once, and the first one of them untimed: so the launches
#: of three processes that are timed are six.
PROCESSES, SETS = 3, 3
#: For one such process; a kernel that hangs is given up then.
PATIENCE_S = 60.0
#: PyTorch from a slow disk, and what it takes to measure rates.
_START_S = 300.0
#: Of an answer, beside its outputs.
_MORE_BYTES = 1 << 16
_LONGEST_FAULT = 200
_DRIVERS_OWN = ("CUDA_VISIBLE_DEVICES",)


@dataclass(frozen=True)
class Gpu:
    """What this machine has: `properties` by torch's names, `rates` of a copy and of products.

    `library` is the driver's file.
    """

    properties: Mapping[str, int | str]
    rates: Mapping[str, float | None]
    library: str

    @property
    def name(self) -> str:
        return str(self.properties["name"])


@dataclass(frozen=True)
class Reply:
    """What came of a kernel: a sentence, the share of its points that is left, and figures.

    `kept` of one that was timed: `gpu`, `us`, `rate` in `unit`, `fraction` of what the GPU reaches,
    `percent` of the points; `drawn_from`, with which its inputs can be drawn again. Of one that
    could not be: `awaits`, the GPU that its band names.
    """

    said: str
    share: float
    kept: Mapping[str, Any]


class _Answer(msgspec.Struct, forbid_unknown_fields=True):
    """What a process with the kernel says, which is trusted no more than that."""

    us: list[float] = []
    outputs: list[dict[str, bytes]] = []
    fault: str = ""


class _StoppedError(Exception):
    """The kernel came to no right end there: (the sentence, its detail)."""


class _NotTimedError(Exception):
    """Something else than the kernel kept it from being timed."""


@dataclass
class OwnGpu:
    """Answers what judging processes ask about kernels with a band."""

    wall: Wall
    bands: Bands
    #: why there is none, where it was looked for in vain
    why: str = field(default="", init=False)

    @cached_property
    def found(self) -> Gpu | None:
        """The GPU, measured when this is first asked; None where there is none."""
        if not present():
            return None
        command = [sys.executable, "-m", "autograder.judge.own_gpu"]
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=_START_S, check=True
            )
            return msgspec.json.decode(done.stdout, type=Gpu)
        except subprocess.CalledProcessError as error:
            self.why = troubles.detail((error.stderr.strip().splitlines() or ["it ended"])[-1])
        except (subprocess.TimeoutExpired, OSError, ValueError) as error:
            self.why = troubles.detail(troubles.text(error))
        return None

    def band(self, exercise: str) -> Band | None:
        """What an exercise is asked for on this GPU."""
        if band_of(self.bands, exercise) is None or self.found is None:
            return None
        return band_of(self.bands, exercise, self.found.name)

    def reply(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """What comes of a kernel (`judge.banded`), as plain data."""
        return asdict(self._reply(question))

    def _reply(self, question: Mapping[str, Any]) -> Reply:
        name = question["exercise"]
        exercise, band = exercises.all_exercises()[name], self.band(name)
        assert isinstance(exercise, KernelExercise)
        gpu = self.found
        if band is None or gpu is None:
            asked = band_of(self.bands, name)
            assert asked is not None
            return _awaits(asked, "")
        if self.wall.kind is Kind.LANDLOCK:  # cuInit says CUDA_ERROR_OPERATING_SYSTEM there
            return _awaits(
                band, "a GPU's driver does not start behind Landlock: bubblewrap is missing"
            )
        if exercise.target not in (0, target_of(gpu.properties)):
            return _awaits(band, "the exercise is for another GPU")
        about: dict[str, Any] = {
            "gpu": gpu.name,
            "case": largest_cases(exercise)[0].told,
            "bands": str(band),
            "drawn_from": secrets.randbits(32),  # so that nobody works the results out at home
        }
        if "refused" in question:
            return _without(band, "refused", {**about, "detail": question["refused"]})
        if "failed" in question:
            return _awaits(band, question["failed"])
        try:
            plan = base64.b64decode(question["plan"])
            us = self._us(exercise, plan, question["constants"], about["drawn_from"])
            return _rated(exercise, gpu, band, us, about)
        except _StoppedError as stopped:
            message_id, detail = stopped.args
            return _without(band, message_id, {**about, "detail": detail})
        except _NotTimedError as error:
            return _awaits(band, str(error))

    def _us(
        self, exercise: KernelExercise, plan: bytes, constants: Mapping[str, int], drawn_from: int
    ) -> float:
        """The median of a kernel's times; what it left was right each time.

        Raises:
            _StoppedError, _NotTimedError: where there is none.
        """
        case = largest_cases(exercise)[0]
        before = [drawn_case(exercise, case, constants, seed=(drawn_from, k)) for k in range(SETS)]
        inputs = [
            {n: allocation(v).tobytes("A") for n, v in one.items() if isinstance(v, np.ndarray)}
            for one in before
        ]
        names = exercise.names(case, constants)
        outputs = exercise.returned or [
            a for a in exercise.passed if isinstance(a, Array) and a.role is not Role.IN
        ]
        kinds = {a.name: (exercise.dtype(a, case), exercise.shape(a, names)) for a in outputs}
        right: dict[int, dict[str, bytes]] = {}
        times: list[float] = []
        for turn in range(PROCESSES):
            order = [(turn + k) % SETS for k in range(SETS)]
            answer = self._answer(plan, [inputs[k] for k in order], kinds)
            for k, left in zip(order, answer.outputs, strict=True):
                arrays = {
                    name: np.frombuffer(left[name], dtype).reshape(shape)
                    for name, (dtype, shape) in kinds.items()
                }
                if right.get(k) != left and not is_right(
                    exercise, case, constants, before[k], arrays
                ):
                    raise _StoppedError("wrong", "")
                right[k] = left
            times += answer.us[1:]
        return statistics.median(times)

    def _answer(
        self,
        plan: bytes,
        inputs: list[dict[str, bytes]],
        kinds: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]],
    ) -> _Answer:
        """What one process makes of a plan.

        Raises:
            _StoppedError, _NotTimedError: where it is none.
        """
        assert self.found is not None
        sizes = {name: dtype.itemsize * math.prod(shape) for name, (dtype, shape) in kinds.items()}
        request, answer, said = (os.memfd_create(name) for name in ("request", "answer", "said"))
        try:
            asked = {
                "plan": msgspec.Raw(plan),
                "sets": inputs,
                "wanted": list(kinds),
                "library": self.found.library,
                "environment": {n: os.environ[n] for n in _DRIVERS_OWN if n in os.environ},
            }
            with open(request, "wb", closefd=False) as file:
                file.write(msgspec.msgpack.encode(asked))
            os.lseek(request, 0, os.SEEK_SET)
            process = self.wall.start(
                PROCESS,
                [],
                [*parts_of_a_runner(f"{PROCESS}:main"), Path(self.found.library)],
                stdin=request,
                stdout=answer,
                stderr=said,
                devices=devices(),
            )
            late = ""
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                late = f"it was not done after {PATIENCE_S:g} s"
            finally:
                walls.end(process)
            told = os.pread(said, _MORE_BYTES, 0)
            most = sum(sizes.values()) * len(inputs) + _MORE_BYTES
            return _read(os.pread(answer, most, 0), late, told, sizes, len(inputs))
        finally:
            for handle in (request, answer, said):
                os.close(handle)


def _read(data: bytes, late: str, said: bytes, sizes: Mapping[str, int], count: int) -> _Answer:
    """An answer from bytes that may be anything; what went wrong is the kernel's once it began."""
    fault = late
    try:
        answer = msgspec.msgpack.decode(data, type=_Answer)
        whole = [{n: len(v) for n, v in one.items()} for one in answer.outputs] == [sizes] * count
        timed = len(answer.us) == count and all(0 < us < math.inf for us in answer.us)
        if whole and timed and not (late or answer.fault):
            return answer
        fault = late or answer.fault or "its answer is none"
    except (ValueError, msgspec.DecodeError):
        lines = said.replace(BEGUN, b"").decode(errors="replace").strip().splitlines()
        fault = late or f"its process ended ({lines[-1] if lines else 'without a word'})"
    fault = " ".join(fault.split())[:_LONGEST_FAULT]
    if BEGUN not in said or troubles.trouble(fault).message_id == "gpu_memory":
        raise _NotTimedError(fault)
    raise _StoppedError("stopped", fault)


def _rated(
    exercise: KernelExercise, gpu: Gpu, band: Band, us: float, about: Mapping[str, Any]
) -> Reply:
    work = work_of(exercise, largest_cases(exercise)[0])
    if "bytes" in work:
        rate, unit, most, what = work["bytes"] / us / 1000, "GB/s", gpu.rates["copy"], "a copy"
    else:
        rate, unit = work["operations"] / us / 1e6, "TFLOP/s"
        most, what = gpu.rates[work["dtype"]], f"PyTorch's product in {work['dtype']}"
    if not most:
        raise _NotTimedError(f"it is not known what {what} reaches there")
    fraction = rate / most
    percent = band.percent(fraction)
    figures = {"us": us, "rate": rate, "most": most, "fraction": fraction, "percent": percent}
    said = ON_A_GPU["reached"].format(**about, **figures, unit=unit, what=what)
    kept = {
        "gpu": gpu.name,
        "drawn_from": about["drawn_from"],
        "us": round(us, 2),
        "rate": round(rate, 2),
        "unit": unit,
        "fraction": round(fraction, 4),
        "percent": percent,
    }
    return Reply(said, percent / 100, kept)


def _without(band: Band, message_id: str, fields: Mapping[str, Any]) -> Reply:
    """A kernel that reaches nothing there, by its own fault."""
    kept = {"fraction": 0.0, "percent": band.percent(0), "why": message_id}
    kept |= {name: fields[name] for name in ("gpu", "drawn_from")}
    said = ON_A_GPU[message_id].format_map({**fields, "percent": band.percent(0)})
    return Reply(said, band.percent(0) / 100, kept)


def _awaits(band: Band, why: str) -> Reply:
    message_id = "not_timed" if why else "awaits"
    said = ON_A_GPU[message_id].format(gpu=band.gpu, detail=why)
    return Reply(said, 1.0, {"awaits": band.gpu, "why": why})


def main() -> None:
    """Prints this machine's GPU and what it reaches, as JSON."""
    gpu = OfTorch()
    here = gpu.torch.cuda.get_device_properties(gpu.torch.cuda.current_device())
    properties = {name: getattr(here, name, known) for name, known in PROPERTIES.items()}
    products = {dtype: timing.product_tflop_s(gpu, dtype) for dtype in ("float16", "float32")}
    rates = {"copy": timing.copy_gb_s(gpu), **products}
    mapped = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    library = next((line.split()[-1] for line in mapped if "/libcuda.so" in line), "libcuda.so.1")
    print(json.dumps({"properties": properties, "rates": rates, "library": library}))


if __name__ == "__main__":
    main()
