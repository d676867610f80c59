"""What a cell launches, for a GPU elsewhere: each kernel's machine code, and what it is given.

The launcher is walked with arrays that have a form and no contents (torch's meta tensors), and its
kernels are compiled; nothing runs.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from course.engine.cell.heuristics import each_with_computed
from course.engine.cell.triton import forget, read_cell
from course.engine.faults import KernelFault, Outcome, not_measured
from course.engine.job import Form, Run
from course.engine.launcher import call
from course.engine.launcher.gpu import standing_for
from course.engine.launcher.tensors import Allocator, is_descriptor
from course.engine.stated_gpu import target_of
from course.engine.triton.compiling import compiler, gate
from course.engine.triton.compiling.specialisation import Source, key_of, source_of
from course.engine.triton.engine import returned
from course.engine.triton.entry import extent
from course.engine.triton.launch import WARPS
from course.engine.triton.passed import bound
from course.plain.arithmetic import plain

#: A GPU's memory is larger than a check's, and the driver says when it is full.
_MOST_BYTES = 1 << 36
#: Of one launch, in order: each is compiled, and tried on the GPU.
MOST_CONFIGURATIONS = 12
_NUMBERS = {"fp16": "e", "fp32": "f", "fp64": "d"}
Step = list[Any]


def planned(run: Run) -> dict[str, Any]:
    """The launches of a run, as plain data.

    `buffers`: [bytes, the argument's name or '']. `codes`: kernels by `binary`, `name`, `block`,
    `shared` bytes, and `scratch`, bytes a block for each pointer behind the parameters. `steps`, in
    order: ['fill', buffer, bytes of one element], ['launch', code, grid, parameters], or ['tuned',
    launches], of which the fastest is to be made. A parameter: ['pointer', buffer, bytes from its
    start], ['value', its bytes], or ['map', buffer, bytes from its start, and what the tensor map
    holds]. `arrays`: [name, buffer, bytes from its start, shape, strides in bytes, dtype] of each
    argument, and of what the launcher returns.

    Raises:
        KernelFault: whatever is wrong with the cell for this GPU.
    """
    cell = read_cell(run.source)
    try:
        with standing_for(run.planned_for):
            return _Plan(run).made(cell)
    finally:
        forget(cell)


class _Plan:
    """The launches of one run so far."""

    def __init__(self, run: Run) -> None:
        self.run, self.target = run, target_of(run.planned_for)
        self.buffers: list[tuple[int, str]] = []
        self.codes: list[dict[str, Any]] = []
        self.steps: list[Step] = []
        self._numbers: dict[int, int] = {}  # of buffers, by their storage
        self._compiled: dict[str, tuple[int, Sequence[Any]]] = {}
        self._alive: list[torch.Tensor] = []  # so that no storage is given away twice

    def made(self, cell: Any) -> dict[str, Any]:
        run = self.run
        given = {
            name: self.holds(_formed(value), name) if isinstance(value, Form) else value
            for name, value in run.arguments.items()
        }
        arrays = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
        arguments = [plain(value) for value in given.values()]
        if run.outputs:
            arrays |= call(
                cell.launchers[run.kernel],
                cell.names,
                arguments,
                self.launch,
                taking=lambda result: returned(run.outputs, result),
                allocator=_Rooms(self),
            )
        else:
            self.launch(cell.kernels[run.kernel], tuple(arguments), run.grid, {})
        told = [[name, *self._place(one), *_lies(one)] for name, one in arrays.items()]
        return {
            "buffers": self.buffers, "codes": self.codes, "steps": self.steps, "arrays": told
        }  # fmt: skip

    def holds(self, tensor: torch.Tensor, name: str = "") -> torch.Tensor:
        """The tensor, whose storage is a buffer of its own from now on."""
        storage = tensor.untyped_storage()
        self._alive.append(tensor)
        self._numbers[storage._cdata] = len(self.buffers)
        self.buffers.append((storage.nbytes(), name))
        return tensor

    def _place(self, tensor: torch.Tensor) -> tuple[int, int]:
        """Its buffer, and at which byte of that it begins."""
        number = self._numbers[tensor.untyped_storage()._cdata]
        return number, tensor.storage_offset() * tensor.element_size()

    def fill(self, tensor: torch.Tensor, value: Any) -> None:
        element = torch.full((1,), value, dtype=tensor.dtype).view(torch.uint8).numpy().tobytes()
        self.steps.append(["fill", self._place(tensor)[0], element])

    def launch(self, kernel: Any, args: Sequence[Any], grid: Any, named: Mapping[str, Any]) -> None:
        """One launch, compiled as Triton's own would be, in each of autotune's configurations.

        Of these some may be refused, as Triton leaves out what has not the resources.
        """
        found: list[Step] = []
        refused = None
        each = each_with_computed(kernel, args, named)
        for chosen in itertools.islice(each, MOST_CONFIGURATIONS):
            try:
                found.append(self._launch(kernel, args, grid, {"num_warps": WARPS, **chosen}))
            except KernelFault as fault:
                if fault.outcome is Outcome.NOT_MEASURED:
                    raise
                refused = refused or fault
        if not found:
            assert refused is not None
            raise refused
        self.steps.append(found[0] if len(found) == 1 else ["tuned", found])

    def _launch(self, kernel: Any, args: Sequence[Any], grid: Any, options: dict[str, Any]) -> Step:
        source = source_of(kernel, args, options)
        given = bound(source.function, tuple(args), dict(options))
        code, maps = self._code(source)
        left = iter(maps)
        parameters = [
            parameter
            for name, value in given.items()
            for type_, item in _flat(source.signature[name], value)
            for parameter in self._parameters(type_, item, left)
        ]
        return ["launch", code, extent(grid, given), parameters]

    def _code(self, source: Source) -> tuple[int, Sequence[Any]]:
        """The number of a kernel's machine code, and what it says of its tensor maps."""
        key = key_of(source, self.target)
        if key not in self._compiled:
            binary, said = gate.machine_code(source, self.target)
            if said["num_ctas"] != 1 or said.get("launch_cooperative_grid"):
                raise not_measured(None, "tile_unsupported", detail="blocks in clusters")
            self._compiled[key] = len(self.codes), said.get("tensordesc_meta") or ()
            self.codes.append(
                {
                    "binary": binary,
                    "name": said["name"],
                    "block": [compiler.WARP * said["num_warps"], 1, 1],
                    "shared": said["shared"],
                    "scratch": [said["global_scratch_size"], 0],
                }
            )
        return self._compiled[key]

    def _parameters(self, type_: str, value: Any, maps: Iterator[Any]) -> Iterator[Step]:
        if isinstance(value, torch.Tensor):
            yield ["pointer", *self._place(value)]
        elif is_descriptor(value):
            shape, strides = list(map(int, value.shape)), list(map(int, value.strides))
            known = next(maps, None)
            if known is None:
                detail = "a descriptor for a GPU without TMA"
                raise not_measured(None, "tile_unsupported", detail=detail)
            about = {k: known[k] for k in ("swizzle", "elem_size", "elem_type", "block_size")}
            nan = getattr(value, "padding", "zero") == "nan"
            yield ["map", *self._place(value.base), about, shape, strides, nan]
            yield from (["value", struct.pack("<i", length)] for length in shape)
            yield from (["value", struct.pack("<q", stride)] for stride in strides)
        else:
            yield ["value", _bytes(type_, value)]


class _Rooms(Allocator):
    """Makes tensors without contents; each is a buffer of the plan."""

    def __init__(self, plan: _Plan) -> None:
        super().__init__(_MOST_BYTES)
        self._plan = plan

    def _allocated(self, *args: Any, **named: Any) -> torch.Tensor:
        with torch.device("meta"):
            return self._plan.holds(super()._allocated(*args, **named))

    def _filled(self, tensor: torch.Tensor, filling: str, value: Any) -> torch.Tensor:
        if filling != "empty":
            self._plan.fill(tensor, {"zeros": 0, "ones": 1}.get(filling, value))
        return tensor


def _formed(form: Form) -> torch.Tensor:
    dtype = np.dtype(form.dtype)
    of_torch = torch.from_numpy(np.empty(0, dtype)).dtype
    whole = torch.empty(form.bytes // dtype.itemsize, dtype=of_torch, device="meta")
    strides = [stride // dtype.itemsize for stride in form.strides]
    return whole.as_strided(form.shape, strides, form.offset // dtype.itemsize)


def _lies(tensor: torch.Tensor) -> tuple[list[int], list[int], str]:
    strides = [stride * tensor.element_size() for stride in tensor.stride()]
    return list(tensor.shape), strides, str(tensor.dtype).removeprefix("torch.")


def _flat(type_: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """What is passed while the kernel runs, of tuples what they hold."""
    if isinstance(type_, tuple):
        for one, item in zip(type_, value, strict=True):
            yield from _flat(one, item)
    elif type_ != "constexpr":
        yield type_, value


def _bytes(type_: str, value: Any) -> bytes:
    """A number as a parameter of this type holds it."""
    if type_ == "bf16":
        return struct.pack("<f", value)[2:]
    if type_ in _NUMBERS:
        return struct.pack(f"<{_NUMBERS[type_]}", value)
    size = max(8, int(type_[1:])) // 8
    return int(value).to_bytes(size, "little", signed=value < 0)
