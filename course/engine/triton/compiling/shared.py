"""Shared memory as a kernel's PTX reaches it: what each load and store of a warp asks of the banks.

Which thread reaches which address is arithmetic on its number, and the PTX has it: so what the
compiler makes of a layout, a conversion between two, a reduction or a scan needs no knowledge of
how it makes it. What a program computes of its data is not known here, nor are addresses that
hang on it. (PTX ISA, "Instructions"; opcodes that no address is made with are left out.)
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.plain.banks import BANK_BYTES, extra_wavefronts
from course.plain.sectors import WARP_LANES

#: Bytes of one row of a matrix that `ldmatrix` and `stmatrix` move, and its rows.
_ROW_BYTES, _ROWS = 16, 8
_THREADS = re.compile(r"\.reqntid (\d+)")
_ROW = re.compile(r"\s*(?:@(!?)(%\w+) )?([a-z]\w*(?:[.:]+\w+)*)\s+(.*?);")
SHARED = re.compile(
    r"(?P<kind>ld|st|ldmatrix|stmatrix)\.(?:volatile\.)?(?:sync\.aligned\.m8n8\.x(?P<rows>\d)\."
    r"(?:trans\.)?)?shared(?:::cta)?\.(?:v(?P<vector>\d)\.)?[a-z](?P<bits>\d+)"
)
_PLACE = re.compile(r"(.*?):(\d+)(?::(\d+))?")
#: From Triton 3.8 on a function's code names its call by a place that was said before; until then
#: the comment has all of them.
_LOC = re.compile(r"\t\.loc\s+(\d+ \d+ \d+)[^/]*?(?:inlined_at (\d+ \d+ \d+))?\s*// (.*)")
#: Around assembly of which LLVM knows one place alone, and says the line below it of the next row.
_ASSEMBLY = {"\t// begin inline asm": True, "\t// end inline asm": False}
_ADDRESS = re.compile(r"\[\s*([%\w]+)\s*(?:\+\s*(-?\w+))?\s*\]")
#: What may change shared memory, or let others.
_WRITES = re.compile(r"bar\b|barrier|st\b|stmatrix|atom|red\b|cp\b|membar|fence|mbarrier|bra\b")
_BRANCH = re.compile(r"\s*(?:@!?%\w+ )?bra(?:\.uni)?\s+(\S+?);")

Place = tuple[str, int, int]
Array = np.ndarray
_REGISTER = re.compile(r"%\w+")


@dataclass(frozen=True)
class SharedAccess:
    """One load or store of shared memory, each time that a program makes it.

    Attributes:
        chain: where it comes from: file's name, line and column, innermost first.
        depth: of loops that it stands in.
        direction: 'load' or 'store'.
        conflicts: turns of its warps' requests beyond the fewest; None where the addresses hang on
            data.
    """

    chain: tuple[Place, ...]
    depth: int
    direction: str
    conflicts: int | None


@dataclass(frozen=True)
class Line:
    """One instruction; `loop` is the row at which the innermost loop around it begins, or -1."""

    opcode: str
    operands: tuple[str, ...]
    guard: tuple[str, bool] | None
    chain: tuple[Place, ...]
    depth: int
    loop: int
    #: of lines between which nothing writes shared memory
    stretch: int


def shared_accesses(ptx: str) -> list[SharedAccess]:
    """Every load and store of shared memory in a kernel's PTX."""
    threads = int(_THREADS.search(ptx)[1])  # type: ignore[index]  # every kernel of Triton's says it
    lines = list(instructions(ptx))
    draws = [_Threads(lines, threads, draw) for draw in (0, 1)]
    found = []
    for line, access in _accesses(lines, draws[0]):
        one, other = (_asked(line, access, draw) for draw in draws)
        # what differs with what a program does not know here is not known
        direction = "load" if line.opcode.startswith("ld") else "store"
        found.append(SharedAccess(line.chain, line.depth, direction, one if one == other else None))
    return found


@dataclass(frozen=True)
class _Taken:
    """So many bytes a lane at once, or so many rows of matrices, `start` bytes behind a base."""

    base: str
    start: int
    bytes: int
    rows: int = 0


def _accesses(lines: Sequence[Line], threads: _Threads) -> Iterator[tuple[Line, _Taken]]:
    """The accesses as the assembler makes them of the PTX.

    Of loads behind one base, with nothing between that writes shared memory, it leaves out words
    that nothing uses, and takes neighbours at once, as far as they lie aligned.
    """
    used = _used(lines)
    words: dict[tuple[int, str], dict[int, Line]] = defaultdict(dict)
    for line in lines:
        if (made := SHARED.fullmatch(line.opcode)) is None:
            continue
        text = next(operand for operand in line.operands if operand.startswith("["))
        if (address := _ADDRESS.fullmatch(text)) is None:
            yield line, _Taken(text, 0, BANK_BYTES)
            continue
        base, start = address[1], int(address[2] or "0", 0)
        size = int(made["bits"]) // 8
        whole = size * int(made["vector"] or 1)
        if made["rows"]:
            yield line, _Taken(base, start, _ROW_BYTES, int(made["rows"]) * _ROWS)
        elif made["kind"] == "st" or line.guard is not None or whole < BANK_BYTES:
            yield line, _Taken(base, start, whole)
        else:
            names = [name for name in re.split(r"[{},\s]+", line.operands[0]) if name]
            for at in range(0, whole, BANK_BYTES):
                if used.intersection(names[at // size : -(-(at + BANK_BYTES) // size)]):
                    words[line.stretch, base][start + at] = line
    for (_, base), held in words.items():
        aligned = threads.alignment(base)
        for start in sorted(held):
            size = _ROW_BYTES
            while size > BANK_BYTES and (
                start % size
                or size > aligned
                or not held.keys() >= set(range(start, start + size, BANK_BYTES))
            ):
                size //= 2
            if start in held:
                yield held[start], _Taken(base, start, size)
            for at in range(start, start + size, BANK_BYTES):
                held.pop(at, None)


def _used(lines: Sequence[Line]) -> frozenset[str]:
    """The registers that something is made of."""
    named = (
        operand
        for line in lines
        for operand in (*line.operands[not _goes_somewhere(line) :], *(line.guard or ())[:1])
    )
    return frozenset(name for operand in named for name in _REGISTER.findall(operand))


def _goes_somewhere(line: Line) -> bool:
    """Whether the first operand is an address, and no result."""
    return bool(line.operands) and line.operands[0].startswith("[")


def instructions(ptx: str) -> Iterator[Line]:
    """The instructions, each with its place in the source and the loops around it."""
    rows = ptx.splitlines()
    labels = {row[: row.index(":")]: at for at, row in enumerate(rows) if row.startswith("$L")}
    ends: dict[int, int] = {}  # of a loop by its first row
    for at, row in enumerate(rows):
        branch = _BRANCH.match(row)
        if branch and labels.get(branch[1], at) < at:
            ends[labels[branch[1]]] = at
    chain: tuple[Place, ...] = ()
    chains: dict[str, tuple[Place, ...]] = {}  # by the last place of each
    stretch = 0
    within = False
    for at, row in enumerate(rows):
        stretch += row.startswith("$L__BB")
        within = _ASSEMBLY.get(row, within)
        if (place := _LOC.match(row)) is not None:
            if within:
                continue
            here, call, text = place.groups()
            said = chains[here] = _chain(text) + chains.get(call, ())
            # what LLVM merged has line 0, and no one place: it stays with what is before it
            chain = said if all(number for _, number, _ in said) else chain
        elif (found := _ROW.match(row)) is not None:
            negated, guard, opcode, operands = found.groups()
            around = [start for start, end in ends.items() if start < at <= end]
            listed = tuple(re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^\s,|]+", operands))
            stretch += _WRITES.match(opcode) is not None
            under = (guard, not negated) if guard else None
            yield Line(opcode, listed, under, chain, len(around), max(around, default=-1), stretch)


def _chain(text: str) -> tuple[Place, ...]:
    """A place as the PTX says it: `cell:6:4 @[ cell:12:8 @[ ... ] ]`."""
    places = (_PLACE.fullmatch(part.strip()) for part in text.rstrip(" ]").split(" @[ "))
    return tuple((at[1], int(at[2]), int(at[3] or 0)) for at in places if at)


def _asked(line: Line, access: _Taken, threads: _Threads) -> int | None:
    """Turns of an access beyond the fewest."""
    base = threads.value(access.base)
    active: Array | None = np.ones(threads.count, np.bool_)
    if line.guard is not None:
        active = threads.value(line.guard[0])
        active = None if active is None else (active != 0) == line.guard[1]
    if base is None or active is None:
        return None
    lanes, on = (
        np.broadcast_to(one, threads.count).reshape(-1, WARP_LANES)[:, : access.rows or WARP_LANES]
        for one in (base + access.start, active)
    )
    return extra_wavefronts(lanes, on, access.bytes)


class _Threads:
    """What registers hold in each thread of a program, as far as its number says it.

    Numbers that all threads share and nobody knows here (sizes, the program's own number) are
    drawn; a register that a loop changes has its value of the first turn in the first draw, and
    that of the second in the other. It has none where threads do not change it alike.
    """

    def __init__(self, lines: Sequence[Line], count: int, draw: int) -> None:
        self.count, self._draw = count, draw
        self._made: dict[str, list[Line]] = defaultdict(list)
        for line in lines:
            if line.operands and not _goes_somewhere(line):
                for name in _REGISTER.findall(line.operands[0]):
                    self._made[name].append(line)
        self._known: dict[str, Array | None] = {}

    def value(self, operand: str) -> Array | None:
        """(threads or 1,) int64 of an operand; None where it is not known."""
        if operand == "%tid.x":
            return np.arange(self.count)
        if operand.startswith(("%ctaid", "%nctaid")):
            return np.array([self._drawn(operand)])
        if operand.startswith("%"):
            if operand not in self._known:
                self._known[operand] = None  # what hangs on itself is not known
                self._known[operand] = self._of_register(operand)
            return self._known[operand]
        try:
            return np.array([int(operand, 0)])
        except ValueError:  # a symbol: shared memory begins at it
            return np.zeros(1, np.int64) if operand.isidentifier() else None

    def alignment(self, operand: str) -> int:
        """The largest power of two that its values are multiples of, 16 at most."""
        value = self.value(operand)
        every = _ROW_BYTES if value is None else int(np.bitwise_or.reduce(value)) | _ROW_BYTES
        return every & -every

    def _drawn(self, name: str) -> int:
        return (len(name) + 1) * (5 + 6 * self._draw)

    def _of_register(self, name: str) -> Array | None:
        first, *others = self._made.get(name) or (None,)
        value = None if first is None else self._made_by(first)
        if value is None or not others:
            return value
        before = dict(self._known)
        self._known[name] = value
        for other in others:
            later = self._made_by(other)
            if later is None or len(np.unique(later - value)) > 1:
                self._known = before
                return None
        self._known = before
        return later if self._draw else value

    def _made_by(self, line: Line) -> Array | None:
        """What an instruction leaves in its first operand."""
        name, *kind = line.opcode.split(".")
        if name == "ld" and kind[0] == "param":
            return np.array([self._drawn(line.operands[1])])
        rule = _RULES.get(name)
        if rule is None or line.guard is not None:
            return None
        values = [self.value(operand) for operand in line.operands[1:]]
        if any(value is None for value in values):
            return None
        try:
            return rule(kind, *values)
        except (TypeError, ValueError, KeyError, IndexError):
            return None


# ---------------------------------------------------------------- what instructions do


def _bits(kind: str) -> int:
    return 1 if kind == "pred" else int(kind[1:])


def _as(kind: str, value: Array) -> Array:
    """A value as a type reads its bits; 64 bits are signed always."""
    bits = _bits(kind)
    if bits == 64:
        return value
    value = value & ((1 << bits) - 1)
    return (value ^ (1 << (bits - 1))) - (1 << (bits - 1)) if kind[0] == "s" else value


def _of_integers(work: Callable[..., Any]) -> Callable[..., Array]:
    """A rule for operands and a result of the type that the opcode ends with."""

    def rule(kind: list[str], *values: Array) -> Array:
        type_ = kind[-1]
        made = work(*(_as(type_, value) for value in values))
        return made if "wide" in kind else _as("u" + type_[1:] if type_ != "pred" else type_, made)

    return rule


def _moved(kind: list[str], value: Array) -> Array:
    return _as("u" + kind[-1][1:] if kind[-1] != "pred" else "pred", value)


def _converted(kind: list[str], value: Array) -> Array:
    return _as("u" + kind[-2][1:], _as(kind[-1], value))


def _compared(kind: list[str], left: Array, right: Array) -> Array:
    left, right = _as(kind[-1], left), _as(kind[-1], right)
    return np.asarray(_COMPARISONS[kind[0]](left, right)).astype(np.int64)


def _selected(kind: list[str], left: Array, right: Array, which: Array) -> Array:
    return _moved(kind, np.where(which != 0, left, right))


def _multiplied(kind: list[str], left: Array, right: Array, *more: Array) -> Array:
    product = _of_integers(np.multiply)(kind, left, right)
    return product if not more else product + more[0]


def _extracted(kind: list[str], value: Array, start: Array, length: Array) -> Array:
    field = (_as("u" + kind[-1][1:], value) >> start) & ((1 << length) - 1)
    if kind[-1][0] == "s":
        field = (field ^ (1 << (length - 1))) - (1 << (length - 1))
    return _moved(kind, field)


def _shuffled(kind: list[str], value: Array, lane: Array, *_: Array) -> Array:
    """`shfl.sync.idx`: what one lane of each warp has."""
    if kind[1] != "idx" or len(lane) > 1:
        raise ValueError("each lane takes another's")
    if len(value) == 1:
        return value
    return np.repeat(value.reshape(-1, WARP_LANES)[:, int(lane[0]) % WARP_LANES], WARP_LANES)


_COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_RULES: dict[str, Callable[..., Array]] = {
    "mov": _moved, "cvt": _converted, "setp": _compared, "selp": _selected,
    "mul": _multiplied, "mad": _multiplied, "bfe": _extracted, "shfl": _shuffled,
    "add": _of_integers(np.add), "sub": _of_integers(np.subtract),
    "and": _of_integers(np.bitwise_and), "or": _of_integers(np.bitwise_or),
    "xor": _of_integers(np.bitwise_xor), "not": _of_integers(np.invert),
    "neg": _of_integers(np.negative), "min": _of_integers(np.minimum),
    "max": _of_integers(np.maximum), "shl": _of_integers(np.left_shift),
    "shr": _of_integers(np.right_shift), "rem": _of_integers(np.remainder),
    "div": _of_integers(np.floor_divide),
}  # fmt: skip
