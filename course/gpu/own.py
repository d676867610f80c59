"""A right kernel on this machine's own GPU, where it has one: is it right there, and how fast.

The verdict is the engine's, and what is found here is told below it. Without a GPU this module is
not imported (`course.gpu.present`).
"""

from __future__ import annotations

import atexit
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from course.gpu.troubles import detail, trouble
from course.words.phrasing import number
from course.words.sentences import next_step, sentence

#: For a cell, with its imports and its compiler; a kernel that hangs is given up then.
PATIENCE_S = 120.0
#: Below this a rate says nothing: an empty launch takes some 3 us, a dozen loads in turn 10.
SHORT_US = 20.0
#: A clock that falls below this share of what it was is told.
STEADY = 0.9
#: What else than "not timed, because" is said of a full-size run that came to no end.
_UNTIMED = {"gpu_memory": "gpu_no_room", "gpu_stopped": "gpu_full_stopped"}
_CHUNK_BYTES = 1 << 16
#: Why an answer is missing.
_LATE, _ENDED = "it took too long", "its process ended"
_COMMAND = (
    sys.executable,
    "-c",
    "import sys; sys.modules['course.notebook'] = None; from course.gpu.runs import main; main()",
)


class _Child:
    """The process that runs cells; a new one where there is none or the last one has ended."""

    def __init__(self, command: Sequence[str] = _COMMAND) -> None:
        self.command = command
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: dict[str, str], patience_s: float) -> dict[str, Any]:
        """The answer, or `{"fault": ...}` where none came.

        A line that is `going_on` is a part of it: what is known if the rest never comes.
        """
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            known, missing = _said(process, time.monotonic() + patience_s)
        except OSError:  # a process that has ended
            known, missing = {}, _ENDED
        except BaseException:  # an interrupted notebook
            self.close()
            raise
        if missing or {"fault", "untimed"} & known.keys():
            self.close()
        if missing and "cases" in known:
            return known | {"untimed": missing}
        return {"fault": missing} if missing else known

    def close(self) -> None:
        """Ends the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None


def _said(process: subprocess.Popen[bytes], deadline: float) -> tuple[dict[str, Any], str]:
    """What a process answers, and '' or why the end of it is missing."""
    assert process.stdout is not None
    known: dict[str, Any] = {"going_on": True}
    rest = b""
    while known.get("going_on"):
        ready, _, _ = select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return known, _LATE
        part = os.read(process.stdout.fileno(), _CHUNK_BYTES)
        if not part:
            return known, _ENDED
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            known = known | {"going_on": False} | json.loads(line)
    return known, ""


def _with_next(message_id: str, **fields: object) -> str:
    return f"{sentence(message_id, fields)} {next_step(message_id, fields)}".strip()


_child = _Child()
atexit.register(_child.close)
#: By dialect: what keeps every kernel from this GPU, once it is known.
_lasting: dict[str, str] = {}


def told(exercise: str, dialect: str, source: str, patience_s: float = PATIENCE_S) -> str:
    """Sentences on a right cell: what this machine's GPU made of it."""
    if dialect in _lasting:
        return _lasting[dialect]
    answer = _child.ask({"exercise": exercise, "source": source}, patience_s)
    if answer.get("fault") == _LATE:
        return _with_next("gpu_late", seconds=f"{patience_s:.0f}")
    gpu = _called(answer.get("gpu", "GPU"), answer.get("count", 1))
    if "other" in answer:
        return sentence("gpu_other", {"gpu": gpu, "capability": answer["other"]})
    if "wrong" in answer:
        return _with_next("gpu_wrong", gpu=gpu, case=answer["wrong"])
    if "old" in answer:
        _lasting[dialect] = _with_next("gpu_old", gpu=gpu, capability=answer["old"])
        return _lasting[dialect]
    if "fault" in answer:
        found = trouble(answer["fault"])
        fields = {"gpu": gpu, "detail": detail(answer["fault"]), "cuda": _cuda(answer["fault"])}
        said = _with_next(found.message_id, **fields)
        if found.lasting:
            _lasting[dialect] = said
        return said
    right = sentence("gpu_right", {"gpu": gpu, "cases": answer["cases"]})
    return " ".join([right, *_on_its_time(answer)])


def _on_its_time(answer: Mapping[str, Any]) -> Iterator[str]:
    if "full_wrong" in answer:
        yield _with_next("gpu_full_wrong", case=answer["full_wrong"])
    if "us" in answer:
        yield sentence("gpu_timed", _times(answer))
        before, after = answer.get("clocks_mhz") or (1, 1)
        if after < STEADY * before:
            yield sentence("gpu_slower", {"before": f"{before:.0f}", "after": f"{after:.0f}"})
    if "untimed" in answer:
        message_id = _UNTIMED.get(trouble(answer["untimed"]).message_id, "gpu_untimed")
        yield _with_next(message_id, full=answer["full"], detail=detail(answer["untimed"]))


def _times(answer: Mapping[str, Any]) -> dict[str, object]:
    """A case's time, its rate, and the share of what this GPU reaches."""
    us = answer["us"]
    fields: dict[str, object] = {
        "case": answer["case"],
        **{name: number(round(answer[name], 1)) for name in ("us", "low_us", "high_us")},
    }
    if us < SHORT_US:
        return fields | {"short": ""}
    if "operations" in answer:
        rate, most = answer["operations"] / us / 1e6, answer["product"]
        fields |= {"operations": f"{rate:.3g}", "dtype": answer["dtype"]}
        if most:
            fields["product"] = f"{most:.3g} TFLOP/s"
    else:
        rate, most = answer["bytes"] / us / 1000, answer["copy"]
        fields["rate"] = f"{rate:,.0f}"
        if most:
            fields["copy"] = f"{most:,.0f}"
    return fields | ({"share": f"{rate / most:.2g}"} if most else {})


def _called(name: str, count: int) -> str:
    """The GPU's name, and which of several it is."""
    whole, _, part = name.partition(" MIG ")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    fields = {"part": part or None, "visible": visible if count == 1 and not part else None}
    several = count if count > 1 else None
    return sentence("gpu_called", {"name": whole, "count": several, **fields})


def _cuda(said: str) -> str | None:
    """The CUDA version that an old driver knows, where PyTorch says it: 12020 is 12.2."""
    found = re.search(r"found version (\d+)", said)
    return f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}" if found else None
