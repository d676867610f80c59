"""Kernels drawn as source, as the compiler made them and as they are written.

Results are the same to the bit, and so are faults. What was asked for is the same, by line, where
the compiler left every access of the line as it was written: a load that nothing uses is not made,
two of one place may become one, one that is the same in each turn of a loop moves in front of it,
and a small block may be loaded once for each layout that it is used in. There the footprint alone
is held to be no larger, and a fault of such a load may be gone with it. Requests and sectors are
not compared: what is as it is written has no warps.

Two sorts of kernels are not compared at all: those that the compiler refuses (a function stays a
call where it returns in several places), and those in which a sum takes in another product than as
written, or none: the compiler moved the product in front of the sum's loop, or made one of two that
are the same, which has more uses then.
"""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import assume, note
from triton._C.libtriton import ir

from course.engine import stated_gpu
from course.engine.faults import KernelFault, Outcome
from course.engine.traffic import Traffic
from course.engine.triton.compiling.compiler import compiled
from course.engine.triton.compiling.gate import lower
from course.engine.triton.compiling.lowering import Form
from course.engine.triton.compiling.specialisation import source_of
from course.engine.triton.compiling.unused import unused
from course.engine.triton.entry import begun
from course.engine.triton.ir import Block, Module, Place
from course.engine.triton.launch import _Launch, launch
from course.engine.triton.running.contraction import fused_of
from course.engine.triton.running.distinct import distinct_sectors
from course.engine.triton.running.memory import Memory
from course.engine.triton.running.sites import Access, Asked, SiteMeter
from course.tests.engine.triton.drawn_kernels import Drawn, drawn_kernels
from course.tests.engine.triton.running import same_bits
from course.tests.engine.triton.test_drawn_batches import each_of, ran, said
from course.tests.families import few_or_many

_DIRECTIONS = {
    "tt.load": "load", "tt.descriptor_load": "load", "ttg.async_copy_global_to_local": "load",
    "tt.store": "store", "tt.descriptor_store": "store", "tt.atomic_rmw": "atomic",
}  # fmt: skip
_LOOPS = ("scf.for", "scf.while")
#: (direction, line): in how many loops each of its accesses stands, and how many elements it has
Places = dict[tuple[str, int], Counter[tuple[int, int]]]


@few_or_many(4, 100)
def test_drawn_kernels_are_the_same_as_the_compiler_made_them(examples):
    each_of(examples, drawn_kernels(), agree)


@few_or_many(5, 50)
def test_drawn_faults_are_the_same_as_the_compiler_made_them(examples):
    each_of(examples, drawn_kernels(hazards=True), agree)


def agree(drawn: Drawn, together: int | None) -> None:
    """One kernel in both forms; `together` programs at once of the compiled one."""
    note(drawn.source)
    kernel = drawn.kernel()
    tensors, found = ran(kernel, drawn, together, launch)
    expected, oracle = ran(kernel, drawn, None, as_written)
    for one in (found, oracle):
        assume(not (isinstance(one, KernelFault) and one.outcome is Outcome.TIMED_OUT))
    assume(not (isinstance(found, KernelFault) and found.outcome is Outcome.DOES_NOT_COMPILE))
    first, last = forms(kernel, drawn)
    assume(same_products(first, last))
    file = kernel.fn.__code__.co_filename
    written, made = places(first, file), places(last, file, unused(last))
    changed = {place for place in written if written[place] != made.get(place)}
    if isinstance(oracle, KernelFault):
        lines = {line for direction, line in changed if direction == "load"}
        if not lines & {oracle.line, oracle.fields.get("other_line")}:
            assert said(found) == said(oracle)
        return
    assert isinstance(found, Traffic), found
    for a, b in zip(tensors, expected, strict=True):
        assert same_bits(a, b)
    asked, asked_of = by_line(found), by_line(oracle)
    for key in asked_of.keys() | asked.keys():
        if key[1:] in changed:
            assert asked.get(key, (0, 0))[1] <= asked_of[key][1], key
        else:
            assert asked.get(key) == asked_of.get(key), key


class _ByProgram(SiteMeter):
    """Counts each sector of a program's block once, and nothing that a compiler adds."""

    def asked(self, access: Access, touched: np.ndarray) -> Asked:
        distinct = distinct_sectors(access, touched)
        return Asked(distinct, distinct, distinct)


def as_written(
    kernel: Any, args: list[Any], grid: Any, named: dict[str, Any], *,
    together: int | None, step_limit: int,
) -> Traffic:  # fmt: skip
    """`launch` of a kernel in which the compiler has moved and left out nothing."""
    function, passed, run = begun(kernel, args, grid, named, step_limit)
    source = replace(source_of(kernel, args, named), attributes={})
    written = _Launch(run, function, passed, lower(source, stated_gpu.TARGET, Form.WRITTEN))
    meter = _ByProgram()
    run.memory = Memory(run, passed.views, meter)
    written.all_programs(together)
    return meter.traffic()


def by_line(traffic: Traffic) -> dict[tuple[str, str, int], tuple[int, int]]:
    """Bytes that lanes asked for and footprint, of each array, direction and line."""
    found: dict[tuple[str, str, int], tuple[int, int]] = {}
    for site in traffic.sites:
        key = (site.array, site.direction, site.line)
        lanes, footprint = found.get(key, (0, 0))
        found[key] = lanes + site.lane_bytes, max(footprint, site.footprint_bytes)
    return found


def forms(kernel: Any, drawn: Drawn) -> tuple[Module, Module]:
    """A kernel before the compiler's first pass, and as it is compiled."""
    source = source_of(kernel, drawn.arguments(), {})
    source = replace(source, options={**source.options, "debug": False})
    first = compiled(source, stated_gpu.TARGET, ())
    first.module.set_attr("generic", ir.builder(first.context).get_bool_attr(True))
    return Module(str(first.module)), Module(lower(source, stated_gpu.TARGET).text)


def same_products(first: Module, last: Module) -> bool:
    """Whether the sums that both forms have take in the same product, at each place."""
    written, made = taken_in(first), taken_in(last)
    return all(written[place] == made[place] for place in written.keys() & made.keys())


def taken_in(module: Module) -> dict[Place, set[int | None]]:
    """Which operand the sums of floats of a place take in as a product, if any."""
    found: dict[Place, set[int | None]] = {}
    fused = fused_of(module)
    for operation in module.operations():
        if operation.name in ("arith.addf", "arith.subf"):
            at = fused[operation.number].at if operation.number in fused else None
            found.setdefault(Place(operation.place.files[:1]), set()).add(at)
    return found


def places(module: Module, file: str, left_out: frozenset[int] = frozenset()) -> Places:
    """The accesses of a kernel, functions that it calls counted at each call.

    Args:
        left_out: the numbers of loads that LLVM does not make.
    """
    found: Places = {}

    def inside(block: Block, depth: int) -> None:
        for operation in block.operations:
            if operation.name == "tt.call":
                called = module.functions[operation.string("callee").lstrip("@")]
                for block in called.regions[0]:
                    inside(block, depth)
            direction = _DIRECTIONS.get(operation.name)
            if direction is not None and operation.number not in left_out:
                line = next(n for name, n, _ in operation.place.files if name == file)
                elements = math.prod(operation.operand_types[0].shape)
                found.setdefault((direction, line), Counter())[depth, elements] += 1
            for region in operation.regions:
                for block in region:
                    inside(block, depth + (operation.name in _LOOPS))

    for block in module.entry.regions[0]:
        inside(block, 0)
    return found
