"""The instructions of a kernel's PTX, by the pipe of a multiprocessor that they keep busy.

What the assembler leaves out again (a register's name for another's value, a parameter) is left
out here. (CUDA C++ Programming Guide, "Arithmetic Instructions"; PTX ISA, "Instructions".)
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from course.engine.triton.compiling.shared import SHARED, Line, Place, instructions
from course.plain.banks import BANK_BYTES

#: By pipe, the beginnings of opcodes; the first that fits.
_OPCODES = (
    ("", r"mov|ld\.param|cvta|pragma|ret|call|mbarrier|fence|membar|griddepcontrol|discard"),
    ("barrier", r"bar\b|barrier"),
    ("tensor", r"mma|wgmma\.mma_async|tcgen05\.mma"),
    ("special", r"ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh|div\.(?:full|approx|rn)"),
    ("memory", r"ld|st|ldmatrix|stmatrix|atom|red|cp|shfl|prefetch"),
    ("fma", r"(?:fma|mul|add|sub|neg|abs)\.(?:\w+\.)*b?f(?:16|32)"),
)
_PIPES = tuple((pipe, re.compile(rf"(?:{opcodes})(?![a-z])")) for pipe, opcodes in _OPCODES)
_JUMP, _LOCAL = re.compile(r"\s*@!?%\w+ bra\s+(\S+?);"), re.compile(r"\b(?:ld|st)\.local\.")
_COPY = re.compile(r"cp\.async\.c[ag]\.shared")


@dataclass(frozen=True)
class Issued:
    """Instructions of one kind that stand in one place.

    Attributes:
        chain, depth, loop: as a `Line` has them.
        pipe: 'fma', 'integer', 'special', 'memory', 'tensor', 'barrier'; 'wavefronts' counts
            turns of shared memory, without bank conflicts.
        count: of a warp, each time that it comes by.
    """

    chain: tuple[Place, ...]
    depth: int
    loop: int
    pipe: str
    count: int


def issued(ptx: str) -> list[Issued]:
    """All instructions of a kernel's PTX."""
    found: Counter[tuple[tuple[Place, ...], int, int, str]] = Counter()
    for line in instructions(_without_slow_paths(ptx)):
        if pipe := _pipe(line.opcode):
            found[line.chain, line.depth, line.loop, pipe] += 1
        if turns := _wavefronts(line):
            found[line.chain, line.depth, line.loop, "wavefronts"] += turns
    return [Issued(*where, count) for where, count in found.items()]


def _without_slow_paths(ptx: str) -> str:
    """The PTX without what sines and cosines of large numbers go through.

    It is jumped over for all others, and alone keeps numbers in local memory.
    """
    rows = ptx.splitlines()
    labels = {row[: row.index(":")]: at for at, row in enumerate(rows) if row.startswith("$L")}
    at = 0
    kept = []
    while at < len(rows):
        kept.append(rows[at])
        jump = _JUMP.match(rows[at])
        end = labels.get(jump[1], 0) if jump else 0
        slow = any(_LOCAL.search(row) for row in rows[at + 1 : end])
        at = end if slow else at + 1
    return "\n".join(kept)


def _pipe(opcode: str) -> str:
    return next((pipe for pipe, known in _PIPES if known.match(opcode)), "integer")


def _wavefronts(line: Line) -> int:
    """The fewest turns that an access to shared memory takes: one for 4 bytes a lane.

    Lanes exchange values by the same way.
    """
    if line.opcode.startswith("shfl"):
        return 1
    if _COPY.match(line.opcode):
        return max(1, int(line.operands[2], 0) // BANK_BYTES)
    if (made := SHARED.fullmatch(line.opcode)) is None:
        return 0
    if made["rows"]:
        return int(made["rows"])
    return max(1, int(made["bits"]) // 8 * int(made["vector"] or 1) // BANK_BYTES)
