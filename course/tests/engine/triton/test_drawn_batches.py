"""Kernels drawn as source, all programs at once and one by one: the same results and counts.

To the bit: what hangs on the order of a sum is drawn so that the sum is exact. Of a kernel with a
fault it is the fault that is the same. What was counted up to there is all programs' work until
one of them fails on one path, and the work of those before it on the other.
"""

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from course.engine.faults import KernelFault, Outcome
from course.engine.traffic import Traffic
from course.engine.triton.launch import launch
from course.tests.engine.triton.drawn_kernels import Drawn, drawn_kernels
from course.tests.engine.triton.running import same_bits
from course.tests.families import few_or_many

#: Statements of a batch. Loops in functions in loops may take more: such a kernel is not compared,
#: since a batch counts what each of its groups executes.
STEPS = 200_000
NOT_COMPARED = (Outcome.TIMED_OUT, Outcome.DOES_NOT_COMPILE)
#: How many programs run together: all, or some, so that the launch takes several batches.
TOGETHER = st.sampled_from([None, 2, 3])


def each_of(
    examples: int,
    kernels: st.SearchStrategy[Drawn],
    agree: Callable[[Drawn, int | None], None],
) -> None:
    """Has so many kernels agree. Each is long to draw."""
    health = [HealthCheck.too_slow, HealthCheck.data_too_large]

    @settings(max_examples=examples, deadline=None, suppress_health_check=health)
    @given(kernels, TOGETHER)
    def one(drawn: Drawn, together: int | None) -> None:
        agree(drawn, together)

    one()


@few_or_many(6, 250)
def test_drawn_kernels_are_the_same_on_both_paths(examples):
    each_of(examples, drawn_kernels(), agree)


@few_or_many(10, 150)
def test_drawn_faults_are_the_same_on_both_paths(examples):
    each_of(examples, drawn_kernels(hazards=True), agree)


def agree(drawn: Drawn, together: int | None) -> None:
    """One kernel: so many programs at once, and one by one."""
    note(drawn.source)
    kernel = drawn.kernel()
    (tensors, found), (expected, oracle) = (ran(kernel, drawn, n, launch) for n in (together, 1))
    for one in (found, oracle):  # the compiler refuses what it leaves a call of two results
        assume(not (isinstance(one, KernelFault) and one.outcome in NOT_COMPARED))
    if isinstance(found, KernelFault) or isinstance(oracle, KernelFault):
        assert drawn.hazard, (found, oracle)
        assert said(found) == said(oracle)
        return
    assert found == oracle
    for a, b in zip(tensors, expected, strict=True):
        assert same_bits(a, b)


def ran(
    kernel: Any, drawn: Drawn, together: int | None, launch: Callable[..., Traffic]
) -> tuple[list[torch.Tensor], Traffic | KernelFault]:
    """(tensors, counts or the fault) of one launch."""
    args = drawn.arguments()
    tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
    try:
        return tensors, launch(kernel, args, drawn.grid, {}, together=together, step_limit=STEPS)
    except KernelFault as fault:
        return tensors, fault


def said(found: Traffic | KernelFault) -> Any:
    """What a learner is told of a fault, but for the program and the element that met it first."""
    if isinstance(found, Traffic):
        return "no fault"
    lines = {found.line, found.fields.get("other_line")}  # of two that race, either may be second
    return found.outcome, found.message_id, lines, found.fields.get("array")
