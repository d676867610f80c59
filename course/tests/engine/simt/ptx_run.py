"""PTX executed for all threads of a launch, and metered: an oracle for what simt counts.

Of the lanes that can go on, those at the least place in the text always go first, so a warp's
lanes meet again where a branch ends: each execution of a load, store or atomic of global memory
is a request of the warps whose lanes make it.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from course.engine.rounding import multiply_add
from course.plain.sectors import SECTOR_BYTES, WARP_LANES
from course.tests.engine.simt.ptx import TYPES, Code, Instruction, NotRun, number, split

#: Virtual addresses: arrays first; generic addresses of shared and local memory far above.
_BASE, _SHARED, _LOCAL = 1 << 32, 1 << 60, 1 << 61
#: What a comparison may be joined with.
_JOINED = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_BOOL = np.dtype(bool)


def _as(values: Any, item: np.dtype[Any]) -> Any:
    """Bits of a register as a type: cut, or widened by the sign of what they are."""
    values = np.asarray(values)
    if values.dtype == item:
        return values
    if values.dtype.itemsize == item.itemsize and np.bool_ not in (values.dtype, item):
        return values.view(item)
    if values.dtype.kind == "f" or item.kind == "f":
        bits = values.view(f"u{values.dtype.itemsize}").astype(f"u{item.itemsize}")
        return bits.view(item)
    return values.astype(item)


@dataclass
class Counted:
    """What warps asked for, by (array, direction)."""

    requests: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    sectors: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))


class Launch:
    """One launch; `arrays` are changed as the kernel changes them.

    `moves` has the instructions that do more than to make one value of one type's operands.
    """

    moves: ClassVar[Mapping[str, Callable[[Launch, Instruction], None]]]
    most_steps = 400_000

    def __init__(
        self, code: Code, arguments: Sequence[Any], grid: Sequence[int], block: Sequence[int],
        shared_bytes: int = 0,
    ) -> None:  # fmt: skip
        self.code, self.counted, self.shared_bytes = code, Counted(), shared_bytes
        self.grid, self.block = (*grid, 1, 1)[:3], (*block, 1, 1)[:3]
        threads, blocks = math.prod(self.block), math.prod(self.grid)
        lanes = np.arange(threads * blocks)
        self.thread, self.of_block = lanes % threads, lanes // threads
        self.warp = self.of_block * -(-threads // WARP_LANES) + self.thread // WARP_LANES
        self.lane = self.thread % WARP_LANES
        self.registers: dict[str, np.ndarray] = {}
        self.on, self.at = lanes, 0
        self.pc = np.zeros(len(lanes), np.int64)
        self.gone, self.waits = np.zeros(len(lanes), bool), np.zeros(len(lanes), bool)
        self._lay_out(arguments, shared_bytes)

    # ------------------------------------------------------------ memory

    def _lay_out(self, arguments: Sequence[Any], shared_bytes: int) -> None:
        """Arrays at 256-byte boundaries, then a module's own variables; Numba's parameters."""
        self.arrays = [one for one in arguments if isinstance(one, np.ndarray)]
        self.starts: list[int] = []
        self.symbols: dict[str, int] = {}
        parts, end = [], 0
        sizes = {"shared": 0, "local": 0}
        values: list[Any] = []
        for one in arguments:
            if isinstance(one, np.ndarray):
                end = -(-end // 256) * 256
                self.starts.append(end + _BASE)
                parts.append((end, np.ascontiguousarray(one).view(np.uint8).ravel()))
                values += self.passed(one, end + _BASE)
                end += one.nbytes
            else:
                values.append(one)
        self.end_of_arrays = end + _BASE
        for space, name, size, align, initial in self.code.variables:
            if space in sizes:
                sizes[space] = -(-sizes[space] // align) * align
                self.symbols[name] = sizes[space]
                sizes[space] += size if size else 0
            else:
                end = -(-end // 256) * 256
                self.symbols[name] = end + _BASE
                parts.append((end, np.frombuffer(initial.ljust(size, b"\0"), np.uint8)))
                end += size
        self.memory = np.zeros(-(-end // 8) * 8 + 8, np.uint8)
        for at, data in parts:
            self.memory[at : at + len(data)] = data
        self.parameters = dict(zip(self.code.parameters, values, strict=True))
        shared = -(-(sizes["shared"] + shared_bytes) // 8) * 8 + 8
        self.shared = np.zeros((math.prod(self.grid), shared), np.uint8)
        self.local = np.zeros((len(self.thread), -(-sizes["local"] // 8) * 8 + 8), np.uint8)

    def passed(self, array: np.ndarray, address: int) -> list[int]:
        """The parameters that an array takes."""
        return [0, 0, array.size, array.itemsize, address, *array.shape, *array.strides]

    def written_back(self) -> None:
        """Puts what the kernel left into the arrays."""
        for one, start in zip(self.arrays, self.starts, strict=True):
            data = self.memory[start - _BASE : start - _BASE + one.nbytes]
            one[...] = data.view(one.dtype).reshape(one.shape)

    def _cells(self, space: str, address: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """A flat view of elements of `size` bytes, and where in it the addresses lie."""
        address = address.astype(np.int64)
        if space == "generic":
            space = (
                "local"
                if address.max() >= _LOCAL
                else "shared"
                if address.max() >= _SHARED
                else "global"
            )
            address = address - {"local": _LOCAL, "shared": _SHARED}.get(space, 0)
        if space == "shared":
            memory, address = self.shared, address + self.of_block[self.on] * self.shared.shape[1]
        elif space == "local":
            memory, address = self.local, address + self.on * self.local.shape[1]
        else:
            memory, address = self.memory, address - _BASE
        assert not (address % size).any(), "a misaligned address"
        return memory.reshape(-1).view(f"u{size}"), address // size

    def _meter(self, direction: str, address: np.ndarray, size: int) -> None:
        """Requests and sectors of an access of global memory by the lanes that go."""
        first = int(address.min())
        if not _BASE <= first < self.end_of_arrays:
            return
        array = int(np.searchsorted(self.starts, first, "right")) - 1
        warp, key = self.warp[self.on], (array, direction)
        self.counted.requests[key] += len(np.unique(warp))
        last = (address + (size - 1)) // SECTOR_BYTES
        sectors = [(address + by) // SECTOR_BYTES for by in range(0, size, SECTOR_BYTES)] + [last]
        touched = np.concatenate([warp * (1 << 40) + one for one in sectors])
        self.counted.sectors[key] += len(np.unique(touched))

    # ------------------------------------------------------------ operands

    def read(self, text: str, item: np.dtype[Any]) -> Any:
        """An operand's values for the lanes that go, as a type."""
        if text.startswith("!"):
            return ~self.read(text[1:], item)
        if text in self.registers:
            return _as(self.registers[text][self.on], item)
        if text[0].isdigit() or text[0] == "-":
            return number(text, item)
        if text in self.symbols:
            return np.full(len(self.on), self.symbols[text], np.uint64).astype(item)
        return self._special(text).astype(item)

    def _special(self, text: str) -> np.ndarray:
        name, _, axis = text.lstrip("%").partition(".")
        of = "xyz".find(axis)
        if name in ("tid", "ctaid"):
            shape, number = (
                (self.block, self.thread) if name == "tid" else (self.grid, self.of_block)
            )
            before = math.prod(shape[:of])
            return number[self.on] // before % shape[of]
        if name in ("ntid", "nctaid"):
            return np.full(len(self.on), (self.block if name == "ntid" else self.grid)[of])
        if name == "laneid":
            return self.lane[self.on]
        if name == "dynamic_smem_size":
            return np.full(len(self.on), self.shared_bytes)
        raise NotRun(text)

    def write(self, text: str, values: Any) -> None:
        """Gives a register of the lanes that go its values."""
        item = self.code.registers.get(re.sub(r"\d+$", "", text))
        if text == "_":
            return
        if item is None:
            raise NotRun(text)
        kept = self.registers.get(text)
        if kept is None:
            kept = self.registers[text] = np.zeros(len(self.thread), item)
        kept[self.on] = _as(values, item)

    def address(self, text: str) -> np.ndarray:
        """What stands between brackets."""
        name, _, by = text.strip("[] ").partition("+")
        base = np.asarray(self.read(name.strip(), TYPES["u64"])).astype(np.int64)
        return np.broadcast_to(base + int(by or 0), self.on.shape)

    # ------------------------------------------------------------ running

    def run(self) -> Counted:
        """To the end of every thread."""
        code, steps = self.code.instructions, 0
        with np.errstate(all="ignore"):
            while not self.gone.all():
                ready = np.flatnonzero(~self.gone & ~self.waits)
                if not len(ready):
                    self.waits[:] = False  # everybody is at a barrier or gone
                    continue
                at = int(self.pc[ready].min())
                self.on = ready[self.pc[ready] == at]
                others = self.pc[ready][self.pc[ready] > at]
                until = int(others.min()) if len(others) else len(code)
                while True:
                    steps += 1
                    if steps > self.most_steps:
                        raise NotRun("no end")
                    goes_on = self._one(code[at], at)
                    if not goes_on:
                        break
                    at += 1
                    if at >= until:
                        self.pc[self.on] = at
                        break
        return self.counted

    def _one(self, one: Instruction, at: int) -> bool:
        """Executes an instruction; whether the same lanes go on with the next one."""
        everybody, self.at = self.on, at
        if one.guard:
            taken = np.broadcast_to(self.read(one.guard, _BOOL), self.on.shape)
            self.on = self.on[taken]
        name = one.parts[0]
        if name in ("bra", "ret", "exit", "bar", "barrier") and not (
            name == "bar" and "warp" in one.parts
        ):
            self.pc[everybody] = at + 1
            if name == "bra":
                self.pc[self.on] = self.code.labels[one.operands[0]]
            elif name in ("ret", "exit"):
                self.gone[self.on] = True
            elif "red" in one.parts:
                raise NotRun(one.name)
            else:
                self.waits[self.on] = True
            return False
        if len(self.on):
            if one.parts[0] in self.moves:
                self.moves[one.parts[0]](self, one)
            else:
                self.value(one, *(self.read(o, one.type) for o in one.operands[1:]))
        self.on = everybody
        return True

    def value(self, one: Instruction, *operands: Any) -> None:
        """An instruction that makes one value of its operands, all of one type."""
        self.write(one.operands[0], value_of(one, *operands))


def value_of(one: Instruction, *operands: Any) -> Any:
    """What an instruction makes of its operands."""
    if one.parts[0] not in _VALUES:
        raise NotRun(one.name)
    return _VALUES[one.parts[0]](one, *operands)


def _nothing(run: Launch, one: Instruction) -> None:
    """Fences and barriers of a warp order what already goes in order here."""


def _mov(run: Launch, one: Instruction) -> None:
    """Also of a register's parts to the whole, and the other way round."""
    target, source = one.operands
    if source.startswith("{"):
        parts = split(source.strip("{} "))
    elif target.startswith("{"):
        parts = split(target.strip("{} "))
    else:
        run.write(target, np.broadcast_to(run.read(source, one.type), run.on.shape))
        return
    bits = 8 * one.type.itemsize // len(parts)
    item, whole = np.dtype(f"u{bits // 8}"), np.dtype(f"u{one.type.itemsize}")
    if source.startswith("{"):
        shifted = [
            run.read(p, item).astype("u8") << np.uint64(bits * i) for i, p in enumerate(parts)
        ]
        run.write(target, np.bitwise_or.reduce(shifted).astype(whole))
        return
    value = run.read(source, whole).astype("u8")
    for i, part in enumerate(parts):
        run.write(part, (value >> np.uint64(bits * i)).astype(item))


def _load(run: Launch, one: Instruction) -> None:
    if one.space == "param":
        value = run.parameters[one.operands[1].strip("[]")]
        run.write(one.operands[0], np.full(len(run.on), np.asarray(value).astype(one.type)))
        return
    targets = split(one.operands[0].strip("{} "))
    address, size = run.address(one.operands[1]), one.type.itemsize
    if one.space in ("global", "generic"):
        run._meter("load", address, size * len(targets))
    for i, target in enumerate(targets):
        memory, at = run._cells(one.space, address + i * size, size)
        run.write(target, memory[at].view(one.type))


def _store(run: Launch, one: Instruction) -> None:
    sources = split(one.operands[1].strip("{} "))
    address, size = run.address(one.operands[0]), one.type.itemsize
    if one.space in ("global", "generic"):
        run._meter("store", address, size * len(sources))
    for i, source in enumerate(sources):
        memory, at = run._cells(one.space, address + i * size, size)
        memory[at] = np.broadcast_to(run.read(source, one.type), at.shape).view(f"u{size}")


def _atomic(run: Launch, one: Instruction) -> None:
    """Lane by lane: each finds what the one before has left."""
    target, where, *given = one.operands if one.parts[0] == "atom" else ["_", *one.operands]
    item = one.type
    address = run.address(where)
    if one.space in ("global", "generic"):
        run._meter("atomic", address, item.itemsize)
    memory, at = run._cells(one.space, address, item.itemsize)
    cells = memory.view(item)
    values = [np.broadcast_to(run.read(one, item), at.shape) for one in given]
    kind = next(part for part in one.parts if part in _UPDATES)
    found = np.empty(len(at), item)
    for i, cell in enumerate(at):
        found[i] = cells[cell]
        cells[cell] = _UPDATES[kind](cells[cell], *(v[i] for v in values))
    run.write(target, found)


def _setp(run: Launch, one: Instruction) -> None:
    x, y = (run.read(o, one.type) for o in one.operands[1:3])
    kind = one.parts[1]
    if kind in ("num", "nan"):
        odd = np.isnan(x) | np.isnan(y)
        result = ~odd if kind == "num" else odd
    elif kind.endswith("u") and len(kind) == 3 and one.type.kind == "f":
        result = _COMPARED[kind[:2]](x, y) | np.isnan(x) | np.isnan(y)
    else:
        result = _COMPARED[kind](x, y)
        if kind == "ne" and one.type.kind == "f":
            result = result & ~np.isnan(x) & ~np.isnan(y)
    if one.parts[2] in ("and", "or", "xor"):
        other = run.read(one.operands[3], _BOOL)
        result = _JOINED[one.parts[2]](result, other)
    target, _, inverse = one.operands[0].partition("|")
    run.write(target, result)
    if inverse:
        run.write(inverse, ~result)


def _selp(run: Launch, one: Instruction) -> None:
    x, y = (run.read(o, one.type) for o in one.operands[1:3])
    chosen = np.where(run.read(one.operands[3], _BOOL), x, y)
    run.write(one.operands[0], chosen.astype(one.type))


def _prmt(run: Launch, one: Instruction) -> None:
    """Bytes of two numbers, chosen by the digits of a third, put together."""
    low, high, digits = (run.read(o, TYPES["u32"]) for o in one.operands[1:])
    both = np.asarray(low, "u8") | np.asarray(high, "u8") << np.uint64(32)
    parts = []
    for at in range(4):
        digit = np.asarray(digits, "u8") >> np.uint64(4 * at)
        byte = both >> 8 * (digit & np.uint64(7)) & np.uint64(255)
        signs = (byte >> np.uint64(7)) * np.uint64(255)
        parts.append(np.where(digit & np.uint64(8), signs, byte) << np.uint64(8 * at))
    run.write(one.operands[0], np.bitwise_or.reduce(np.broadcast_arrays(*parts)).astype("u4"))


_ROUNDINGS = {"rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil, "rni": np.rint}


def _cvt(run: Launch, one: Instruction) -> None:
    to, of = (TYPES[part] for part in one.parts[-2:])
    value = np.asarray(run.read(one.operands[1], of))
    for name, rounding in _ROUNDINGS.items():
        if name in one.parts:
            value = rounding(value)
    if "sat" in one.parts:
        value = np.clip(np.nan_to_num(value, nan=0.0), 0, 1)
    if of.kind == "f" and to.kind in "iu":  # what does not fit is the type's end
        least, most = np.iinfo(to).min, np.iinfo(to).max
        whole = np.nan_to_num(value.astype("f8"), nan=0.0)
        over, under = whole >= float(most), whole <= float(least)
        value = np.where(over, most, np.where(under, least, np.where(over, 0, whole).astype(to)))
    run.write(one.operands[0], value.astype(to))


def _cvta(run: Launch, one: Instruction) -> None:
    value = run.read(one.operands[1], TYPES["u64"])
    by = np.uint64({"shared": _SHARED, "local": _LOCAL}.get(one.space, 0))
    run.write(one.operands[0], value - by if "to" in one.parts else value + by)


def _wide(one: Instruction) -> np.dtype[Any]:
    return np.dtype(f"{one.type.kind}{2 * one.type.itemsize}")


def _mul(run: Launch, one: Instruction) -> None:
    x, y, *added = (run.read(o, one.type) for o in one.operands[1:])
    if "wide" in one.parts:
        value = np.asarray(x).astype(_wide(one)) * np.asarray(y).astype(_wide(one))
        if one.parts[0] == "mad":
            value = value + run.read(one.operands[3], _wide(one))
    else:
        value = _high(x, y) if "hi" in one.parts else x * y
        value = value + added[0] if added else value
    run.write(one.operands[0], value)


def _high(x: Any, y: Any) -> np.ndarray:
    """The upper half of products of whole numbers."""
    item = np.asarray(x).dtype if np.asarray(x).ndim else np.asarray(y).dtype
    x, y = np.broadcast_arrays(x, y)
    bits = 8 * item.itemsize
    products = [(int(a) * int(b)) >> bits for a, b in zip(x, y, strict=True)]
    return np.array([p & ((1 << bits) - 1) for p in products], f"u{item.itemsize}").view(item)


def _by(one: Instruction, run: Launch) -> Any:
    bits = 8 * one.type.itemsize
    return np.minimum(run.read(one.operands[2], TYPES["u32"]), np.uint32(bits))


def _shift(run: Launch, one: Instruction) -> None:
    """A shift by the register's width or more leaves nothing, or signs."""
    value, by, bits = run.read(one.operands[1], one.type), _by(one, run), 8 * one.type.itemsize
    short = np.minimum(by, bits - 1).astype(one.type)
    moved = np.left_shift(value, short) if one.parts[0] == "shl" else np.right_shift(value, short)
    empty = by >= bits if one.type.kind == "u" else np.False_
    run.write(one.operands[0], np.where(empty, one.type.type(0), moved))


def _shuffle(run: Launch, one: Instruction) -> None:
    """`shfl.sync`: from a lane of the same warp that goes, too."""
    target, _, valid = one.operands[0].partition("|")
    value, by, clamp = (
        np.broadcast_to(run.read(operand, TYPES["u32"]), run.on.shape).astype(np.int64)
        for operand in one.operands[1:4]
    )
    lane, warp, kind = run.lane[run.on], run.warp[run.on], one.parts[2]
    segment, most = clamp >> 8 & 31, clamp & 31
    last = (lane & segment) | (most & ~segment)
    source = {
        "idx": (lane & segment) | (by & ~segment),
        "up": lane - by,
        "down": lane + by,
        "bfly": lane ^ by,
    }[kind]
    fits = source >= last if kind == "up" else source <= last
    source = np.where(fits, source, lane)
    places = {who: i for i, who in enumerate(zip(warp, lane, strict=True))}
    rows = [places.get(who, i) for i, who in enumerate(zip(warp, source, strict=True))]
    run.write(target, value[rows].astype("u4"))
    if valid:
        run.write(valid, fits)


def _vote(run: Launch, one: Instruction) -> None:
    warps, of = np.unique(run.warp[run.on], return_inverse=True)
    bit = np.uint32(1) << run.lane[run.on].astype("u4")
    here, ballot = np.zeros((2, len(warps)), np.uint32)
    np.bitwise_or.at(here, of, bit)
    if one.parts[0] == "activemask":
        ballot = here
    else:
        np.bitwise_or.at(ballot, of, np.where(run.read(one.operands[1], _BOOL), bit, np.uint32(0)))
    if "all" in one.parts or "any" in one.parts:
        run.write(one.operands[0], (ballot == here if "all" in one.parts else ballot != 0)[of])
    else:
        run.write(one.operands[0], ballot[of])


def _match(run: Launch, one: Instruction) -> None:
    """`match.any.sync`: the lanes of a warp that have a lane's own value."""
    value, warp = run.read(one.operands[1], one.type), run.warp[run.on]
    pairs = np.stack([np.broadcast_to(value, warp.shape).astype("u8"), warp.astype("u8")])
    groups, of = np.unique(pairs, axis=1, return_inverse=True)
    alike = np.zeros(groups.shape[1], np.uint32)
    np.bitwise_or.at(alike, of, np.uint32(1) << run.lane[run.on].astype("u4"))
    run.write(one.operands[0], alike[of])


Launch.moves = {
    "prmt": _prmt,
    "mov": _mov, "ld": _load, "ldu": _load, "st": _store, "atom": _atomic, "red": _atomic,
    "setp": _setp, "selp": _selp, "cvt": _cvt, "cvta": _cvta, "mul": _mul, "mad": _mul,
    "shl": _shift, "shr": _shift, "shfl": _shuffle, "vote": _vote, "activemask": _vote,
    "match": _match, "bar": _nothing, "membar": _nothing, "fence": _nothing, "pragma": _nothing,
}  # fmt: skip
_COMPARED = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater,
    "hs": np.greater_equal,
}  # fmt: skip
_UPDATES: dict[str, Callable[..., Any]] = {
    "add": lambda old, x: old + x, "exch": lambda old, x: x, "and": lambda old, x: old & x,
    "or": lambda old, x: old | x, "xor": lambda old, x: old ^ x, "min": min, "max": max,
    "inc": lambda old, x: old.dtype.type(0) if old >= x else old + old.dtype.type(1),
    "dec": lambda old, x: x if old == 0 or old > x else old - old.dtype.type(1),
    "cas": lambda old, compare, x: x if old == compare else old,
}  # fmt: skip


def _divided(one: Instruction, x: Any, y: Any) -> Any:
    """Whole numbers are cut towards zero."""
    if one.type.kind == "f":
        return np.divide(x, y)
    signs = np.sign(x) * np.sign(y) if one.type.kind == "i" else one.type.type(1)
    return (np.abs(x) // np.where(y == 0, one.type.type(1), np.abs(y)) * signs).astype(one.type)


def _inserted(one: Instruction, x: Any, y: Any, at: Any, count: Any) -> Any:
    """`count` bits of x at `at` in y."""
    mask = ((one.type.type(1) << count) - one.type.type(1)) << at
    return y & ~mask | x << at & mask


def _extracted(one: Instruction, x: Any, at: Any, count: Any) -> Any:
    """`count` bits of x from `at` on, with their sign where x has one."""
    bits = 8 * one.type.itemsize
    return x << (bits - at - count) >> (bits - count)


def _funnel(one: Instruction, low: Any, high: Any, by: Any) -> Any:
    """32 of the 64 bits of two numbers, shifted."""
    both, by = np.asarray(low, "u8") | np.asarray(high, "u8") << np.uint64(32), by & 31
    moved = both << by.astype("u8") >> np.uint64(32) if one.parts[1] == "l" else both >> by
    return (moved & np.uint64(0xFFFFFFFF)).astype("u4")


def _bits(function: Callable[[int, int], int], wide: bool = False) -> Callable[..., Any]:
    """Of a number's bits, and how many there are; `wide`: the answer has as many."""

    def of(one: Instruction, x: Any) -> Any:
        found = [function(int(v), 8 * one.type.itemsize) for v in np.atleast_1d(x)]
        return np.array(found, "u8").astype(one.type if wide else "u4")

    return of


_VALUES: dict[str, Callable[..., Any]] = {
    "add": lambda _, x, y: x + y, "sub": lambda _, x, y: x - y, "neg": lambda _, x: -x,
    "mul": lambda _, x, y: x * y,
    "abs": lambda _, x: np.abs(x), "div": _divided,
    "rem": lambda one, x, y: (x - _divided(one, x, y) * y).astype(one.type),
    "and": lambda _, x, y: x & y, "or": lambda _, x, y: x | y, "xor": lambda _, x, y: x ^ y,
    "not": lambda _, x: ~x,
    "min": lambda one, x, y: np.fmin(x, y), "max": lambda one, x, y: np.fmax(x, y),
    "fma": lambda _, x, y, z: multiply_add(*np.broadcast_arrays(x, y, z)),
    "sqrt": lambda _, x: np.sqrt(x), "rsqrt": lambda one, x: (1 / np.sqrt(x)).astype(one.type),
    "rcp": lambda one, x: (1 / x).astype(one.type), "ex2": lambda _, x: np.exp2(x),
    "lg2": lambda _, x: np.log2(x), "sin": lambda _, x: np.sin(x), "cos": lambda _, x: np.cos(x),
    "copysign": lambda _, x, y: np.copysign(y, x),
    "bfi": _inserted, "bfe": _extracted, "shf": _funnel,
    "popc": _bits(lambda v, _: v.bit_count()), "clz": _bits(lambda v, bits: bits - v.bit_length()),
    "brev": _bits(lambda v, bits: int(f"{v:0{bits}b}"[::-1], 2), wide=True),
    "bfind": _bits(lambda v, bits: bits - v.bit_length() if v else 0xFFFFFFFF),
}  # fmt: skip
