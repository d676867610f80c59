"""How wide a lane's loads and stores are, as the axes of their addresses tell: the PTX's widths."""

import re
from collections import defaultdict

import pytest
import torch
from hypothesis import HealthCheck, assume, given, note, settings

from course.engine.faults import KernelFault
from course.engine.triton.compiling.compiler import to_ptx
from course.engine.triton.compiling.gate import lower
from course.engine.triton.compiling.lowering import ACCESSES
from course.engine.triton.compiling.specialisation import source_of
from course.engine.triton.ir import Module
from course.engine.triton.running.axes import Analysis, width_of
from course.engine.triton.running.counts import mask_of
from course.engine.triton.running.values import item_bytes
from course.tests.engine.triton.drawn_addresses import HEAD, drawn_addresses
from course.tests.families import few_or_many
from course.tests.written import module_of

_LINE = re.compile(
    r"^\s*(?:\.loc\s+\d+ (\d+) (\d+)"
    r"|(?:@!?%\w+ )?(ld|st)\.global(?:\.\w+)*?(?:\.v(\d+))?\.[bfsu](\d+)\s)",
    re.MULTILINE,
)
_DTYPES = (torch.float32, torch.float16, torch.int8, torch.float64, torch.int32)
_NAMES = {"tt.load": "ld", "tt.store": "st"}
#: By 'ld' or 'st' and the place in the source, the bytes of each instruction
Widths = dict[tuple[str, int, int], set[int]]


def widths(source: str, n: int, m: int, num_warps: int, target: int = 80) -> tuple[Widths, Widths]:
    """What the PTX has, and what the axes say."""
    kernel = module_of("drawn", source).kernel
    tensors = [torch.zeros(4096, dtype=dtype) for dtype in _DTYPES]
    made = source_of(kernel, (*tensors, n, m), {"num_warps": num_warps})
    issued: Widths = defaultdict(set)
    row = column = 0
    for line in _LINE.finditer(to_ptx(made, target).ptx):
        if line[1]:
            row, column = int(line[1]), int(line[2])
        elif row:  # what LLVM made of several places has line 0
            issued[line[3], row, column].add(int(line[4] or 1) * int(line[5]) // 8)
    lowered = lower(made, target)
    module = Module(lowered.text)
    analysis, told = Analysis(module), defaultdict(set)
    accesses = [operation for operation in module.operations() if operation.name in ACCESSES]
    for operation, layout in zip(accesses, lowered.layouts, strict=True):
        _, row, column = operation.place.files[0]
        size = item_bytes(operation.operand_types[0].scalar)
        pointers, mask = analysis.of_operand(operation, 0), analysis.of(mask_of(operation) or "")
        lanes = 1 if layout is None else width_of(layout, pointers, mask, size)
        told[_NAMES[operation.name], row, column].add(lanes * size)
    return issued, told


@few_or_many(12, 400)
def test_drawn_accesses_are_as_wide_as_in_the_ptx(examples):
    health = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

    @settings(max_examples=examples, deadline=None, suppress_health_check=health)
    @given(drawn_addresses())
    def same(drawn):
        source, numbers = drawn
        note(source)
        try:
            issued, told = widths(source, **numbers)
        except KernelFault:  # a name that is another type after a turn
            assume(False)
        # what cannot be reached has no instruction
        assert issued == {place: told[place] for place in issued}

    same()


@pytest.mark.parametrize(
    ("otherwise", "mask", "bytes_"),
    [
        ("t", "t < n", 16),
        ("t", "t < n % 16", 4),  # nothing divides a remainder
        ("t", "t % 16 < 8", 16),  # but that of a block by one number
        ("t + 64", "t < n", 16),  # one of two blocks, whole
        ("tl.where(t < 6, t, t + 16)", "t < n", 8),  # each in runs of two
        ("tl.minimum(t, t // 2)", "t < n", 4),
        ("tl.maximum(n, 16) + t", "t < n", 16),
    ],
)
def test_an_access_is_as_wide_as_what_is_known_of_it_allows(otherwise, mask, bytes_):
    assert (
        both_widths(f"""
    at = t
    if n > m:
        at = {otherwise}
    tl.store(d + t, tl.load(f + at, mask={mask}))
""")
        == [{bytes_}] * 2
    )


@pytest.mark.parametrize(("later", "bytes_"), [("t + n", 16), ("t % 16 + n", 16), ("t % 8 + n", 8)])
def test_what_a_turn_of_a_loop_changes_is_as_in_the_compilers_analysis(later, bytes_):
    # it takes elements that follow on for bytes, where a run gets shorter
    body = f"""
    at, k, s = t + pid * 512, pid, tl.zeros([512], tl.float32)
    while k < n:
        k += 1
        s += tl.load(f + at)
        at = {later}
    s += tl.load(f + at)
    tl.store(f + 2048 + t, s)
"""
    assert both_widths(body) == [{bytes_}] * 4


def both_widths(body: str) -> list[set[int]]:
    """The bytes of each load, in the PTX and then as the axes tell."""
    sides = widths(HEAD + body.lstrip("\n"), n=64, m=48, num_warps=1)
    return [side[place] for side in sides for place in side if place[0] == "ld"]
