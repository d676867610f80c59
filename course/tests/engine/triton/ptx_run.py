"""The PTX of a Triton kernel, executed and metered: an oracle for results and counts.

On top of what `course.tests.engine.simt.ptx_run` has come pairs of 16-bit floats, asynchronous
copies (made at once: a kernel that does not wait is not found out) and products of tiles as
sm_80 has them. (PTX ISA, "Matrix multiply-accumulate operation using mma instruction".)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from course.engine.traffic import Traffic
from course.engine.triton.compiling.compiler import to_ptx
from course.engine.triton.compiling.specialisation import source_of
from course.plain.sectors import WARP_LANES
from course.tests.engine.simt.ptx import TYPES, Instruction, NotRun, parsed, split
from course.tests.engine.simt.ptx_run import Counted, Launch, value_of

_U16, _U32, _F32 = TYPES["u16"], TYPES["u32"], TYPES["f32"]
_LANE = np.arange(WARP_LANES)
#: Of a lane: the row, and the place in a row, of what it holds of a tile
_ROW, _AT = _LANE >> 2, _LANE % 4
_WORDS = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
          "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip


class TritonLaunch(Launch):
    """One launch. Arguments are those that are neither constants nor, being 1, compiled in."""

    most_steps = 6_000
    lanes_may_part = False

    def __init__(
        self, ptx: str, arguments: Sequence[Any], grid: Sequence[int], warps: int, shared: int
    ) -> None:
        code = parsed(ptx)
        scratch = [0] * (len(code.parameters) - len(arguments))
        super().__init__(code, [*arguments, *scratch], grid, (WARP_LANES * warps,), shared)
        #: of the last access where it stands, and what that line has asked for up to it
        self.before: tuple[int, tuple[str, str]] = (0, ("", ""))
        self.asked: set[bytes] = set()
        #: what a line's loads ask for again, in one go: the assembler may make one load of those
        self.repeated = Counted()

    def passed(self, array: np.ndarray, address: int) -> list[int]:
        return [address]

    def _meter(self, direction: str, address: np.ndarray, size: int) -> None:
        place = self.code.instructions[self.at].place, direction
        at, before = self.before
        if place != before or self.at <= at:
            self.asked.clear()
        self.before = self.at, place
        asked, all_counted = address.tobytes() + self.on.tobytes(), self.counted
        if direction == "load" and asked in self.asked:
            self.counted = self.repeated
            super()._meter(direction, address, size)
            self.counted = all_counted
        self.asked.add(asked)
        super()._meter(direction, address, size)

    def _one(self, one: Instruction, at: int) -> bool:
        """Where lanes that part meet again is the assembler's choice."""
        if one.parts[0] == "bra" and one.guard and not self.lanes_may_part:
            taken = np.broadcast_to(self.read(one.guard, np.dtype(bool)), self.on.shape)
            if set(self.warp[self.on[taken]]) & set(self.warp[self.on[~taken]]):
                raise NotRun("lanes part")
        return super()._one(one, at)

    def value(self, one: Instruction, *operands: Any) -> None:
        if "f16x2" in one.parts:
            name = one.name.replace("f16x2", "f16")
            single = Instruction(name, one.operands, one.guard)
            pairs = zip(*(_halves(operand) for operand in operands), strict=True)
            low, high = (value_of(single, *halves) for halves in pairs)
            self.write(one.operands[0], _pair(low, high))
        elif {"bf16", "bf16x2"} & set(one.parts):
            raise NotRun(one.name)
        else:
            super().value(one, *operands)


def _halves(bits: Any) -> tuple[np.ndarray, np.ndarray]:
    """The two float16 of a register."""
    bits = np.atleast_1d(bits)
    low, high = (np.ascontiguousarray(part).astype(_U16) for part in (bits & 0xFFFF, bits >> 16))
    return low.view("f2"), high.view("f2")


def _pair(low: Any, high: Any) -> np.ndarray:
    low, high = (np.asarray(half).astype("f2").view(_U16).astype(_U32) for half in (low, high))
    return low | high << np.uint32(16)


def _from_bfloat(bits: Any) -> np.ndarray:
    return (np.atleast_1d(bits).astype(_U32) << np.uint32(16)).view(_F32)


def _to_bfloat(value: Any) -> np.ndarray:
    """The bits of the nearest, the even one of two."""
    bits = np.atleast_1d(np.asarray(value, _F32)).view(_U32).astype("u8")
    rounded = (bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)
    return np.where(np.isnan(value), 0x7FFF, rounded).astype(_U16)


def _cvt(run: Launch, one: Instruction) -> None:
    to, of = one.parts[-2:]
    if "satfinite" in one.parts:
        raise NotRun(one.name)
    if to in ("f16x2", "bf16x2"):
        high, low = (run.read(operand, _F32) for operand in one.operands[1:])
        if to == "bf16x2":
            high, low = (_to_bfloat(half).view("f2") for half in (high, low))
        run.write(one.operands[0], _pair(low, high))
    elif to == "bf16":
        run.write(one.operands[0], _to_bfloat(run.read(one.operands[1], _F32)))
    elif of == "bf16":
        run.write(one.operands[0], _from_bfloat(run.read(one.operands[1], _U16)))
    else:
        Launch.moves["cvt"](run, one)


def _mul(run: Launch, one: Instruction) -> None:
    if "f16x2" in one.parts:
        run.value(one, *(run.read(operand, _U32) for operand in one.operands[1:]))
    else:
        Launch.moves["mul"](run, one)


def _copy(run: Launch, one: Instruction) -> None:
    """`cp.async`: bytes of global memory to shared memory, and zeros behind them."""
    if "shared" not in one.parts:
        return  # a group's end, or a wait for it
    target, source = (run.address(operand) for operand in one.operands[:2])
    size, everybody = int(one.operands[2], 0), run.on
    given = run.read(one.operands[3], _U32) if len(one.operands) > 3 else np.uint32(size)
    given = np.broadcast_to(given, everybody.shape)
    asking = given > 0
    run.on = everybody[asking]
    if len(run.on):
        run._meter("load", source[asking], size)
    run.on = everybody
    for byte in range(size):
        found = np.zeros(len(everybody), np.uint8)
        run.on, there = everybody[given > byte], given > byte
        if len(run.on):
            memory, at = run._cells("global", source[there] + byte, 1)
            found[there] = memory[at]
        run.on = everybody
        memory, at = run._cells("shared", target + byte, 1)
        memory[at] = found


def _load_matrix(run: Launch, one: Instruction) -> None:
    """`ldmatrix`: eight lanes name the rows of each tile of 8 x 8 numbers of 16 bits."""
    rows = run.address(one.operands[1])
    for number, register in enumerate(split(one.operands[0].strip("{} "))):
        tile = np.empty((len(rows) // WARP_LANES, 8, 8), _U32)
        for column in range(8):
            memory, at = run._cells("shared", rows + 2 * column, 2)
            of_warp = memory[at].reshape(-1, WARP_LANES)
            tile[:, :, column] = of_warp[:, 8 * number : 8 * number + 8]
        if "trans" in one.parts:
            tile = tile.transpose(0, 2, 1)
        pair = tile[:, _ROW, 2 * _AT] | tile[:, _ROW, 2 * _AT + 1] << np.uint32(16)
        run.write(register, pair.reshape(-1))


def _multiply(run: Launch, one: Instruction) -> None:
    """`mma` of tiles 16 x k and k x 8, of float16, bfloat16 and tf32, summed in float32."""
    shape = re.fullmatch(r"m16n8k(\d+)", next(p for p in one.parts if p.startswith("m16")))
    kinds = one.parts[-4:]
    if shape is None or kinds[0] != "f32" or kinds[1] not in ("f16", "bf16", "tf32"):
        raise NotRun(one.name)
    deep, warps = int(shape[1]), len(run.on) // WARP_LANES
    results, *sources = (split(operand.strip("{} ")) for operand in one.operands)

    def held(register: str, item: np.dtype[Any]) -> np.ndarray:
        values = np.broadcast_to(run.read(register, item), run.on.shape)
        return np.ascontiguousarray(values).reshape(warps, WARP_LANES)

    a, b = np.zeros((warps, 16, deep)), np.zeros((warps, deep, 8))
    for tile, registers in ((a, sources[0]), (b.transpose(0, 2, 1), sources[1])):
        rows = 2 if tile is a else 1
        for number, register in enumerate(registers):
            row, bits = _ROW + 8 * (number % rows), held(register, _U32)
            if kinds[1] == "tf32":
                tile[:, row, _AT + 4 * (number // rows)] = (bits & np.uint32(0xFFFFE000)).view(_F32)
                continue
            for place, half in enumerate(_halves(bits)):
                value = _from_bfloat(half.view(_U16)) if kinds[1] == "bf16" else half
                tile[:, row, 2 * _AT + place + 8 * (number // rows)] = value
    products = a @ b
    for number, (result, register) in enumerate(zip(results, sources[2], strict=True)):
        own = products[:, _ROW + 8 * (number // 2), 2 * _AT + number % 2]
        run.write(result, (held(register, _F32) + own).astype(_F32).reshape(-1))


def _reduce(run: Launch, one: Instruction) -> None:
    """`redux.sync`: one value of all lanes of a warp."""
    values = np.broadcast_to(run.read(one.operands[1], one.type), run.on.shape)
    warp = run.warp[run.on]
    found = np.empty(len(values), one.type)
    for own in (warp == each for each in np.unique(warp)):
        found[own] = _WORDS[one.parts[2]].reduce(values[own])
    run.write(one.operands[0], found)


TritonLaunch.moves = {
    **Launch.moves, "cvt": _cvt, "mul": _mul, "cp": _copy, "ldmatrix": _load_matrix,
    "mma": _multiply, "redux": _reduce,
}  # fmt: skip

# ---------------------------------------------------------------- beside the engine

#: By array, direction, and 'requests' or 'sectors'
Counts = Counter[tuple[str, str, str]]


def run_as_ptx(
    kernel: Any, args: Sequence[Any], grid: Sequence[int], named: dict[str, Any]
) -> tuple[Counts, Counts]:
    """What one launch asks for on an sm_80, and how much of it the assembler may leave out.

    Tensors are changed as the kernel changes them. The hardware makes fewer sectors of an atomic
    whose lanes meet: those are not counted.
    """
    made = to_ptx(source_of(kernel, list(args), named), 80)
    parameters = list(_parameters(kernel, args, named))
    run = TritonLaunch(
        made.ptx, [value for _, value in parameters], grid, made.warps, made.shared_bytes
    )
    run.run()
    run.written_back()
    names = [name for name, value in parameters if isinstance(value, np.ndarray)]

    def by_name(counted: Counted) -> Counts:
        found = {"requests": counted.requests, "sectors": counted.sectors}
        return Counter({
            (names[array], direction, what): count
            for what, counts in found.items()
            for (array, direction), count in counts.items()
            if (direction, what) != ("atomic", "sectors")
        })  # fmt: skip

    return by_name(run.counted), by_name(run.repeated)


def _parameters(
    kernel: Any, args: Sequence[Any], named: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """What the compiled code is given, by name: a tensor as its memory, from its first element."""
    given = dict(zip(kernel.arg_names, args, strict=False)) | named
    for parameter in kernel.params:
        value = given.get(parameter.name)
        if parameter.is_constexpr or value is None or (type(value) is int and value == 1):
            continue
        if isinstance(value, torch.Tensor):
            memory = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage())
            if value.dtype is torch.bfloat16 or value.dtype.itemsize == 1:
                memory = memory.view(torch.int16 if value.dtype.itemsize == 2 else torch.int8)
            yield parameter.name, memory.numpy()[value.storage_offset() :]
        elif isinstance(value, float):
            yield parameter.name, int(np.float32(value).view(_U32))
        elif isinstance(value, int):
            yield parameter.name, value
        else:
            raise NotRun(type(value).__name__)


def differences(traffic: Traffic, counts: Counts, repeated: Counts) -> dict[Any, tuple[int, int]]:
    """(the engine's count, the PTX's) of all that is not what the assembler may make of it."""
    found: Counts = Counter()
    for site in traffic.sites:
        found[site.array, site.direction, "requests"] += site.requests
        if site.direction != "atomic":
            found[site.array, site.direction, "sectors"] += site.sectors
    return {
        key: (found[key], counts[key])
        for key in found | counts
        if not counts[key] - repeated[key] <= found[key] <= counts[key]
    }
