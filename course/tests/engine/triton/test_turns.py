"""Programs that atomics order, as the compiler made them: they wait for each other, or race."""

import pytest
import torch
import triton
import triton.language as tl

from course.engine.faults import Outcome
from course.engine.triton.launch import launch
from course.tests.engine.faults import raised
from course.tests.engine.triton import test_locks as locks


@pytest.mark.parametrize(
    "kernel", [locks.by_cas, locks.with_a_first_one, locks.through_another_lock]
)
def test_a_lock_that_is_waited_for_orders_its_holders(kernel):
    args = locks.arguments()
    launch(kernel, args, (locks.PROGRAMS,), {}, target=90)
    assert args[2].item() == 15
    assert not args[0].any()


@pytest.mark.parametrize("kernel", [locks.not_waited_for, locks.let_go_before])
def test_a_lock_that_keeps_nobody_out_orders_nothing(kernel):
    fault = raised(launch, kernel, locks.arguments(), (locks.PROGRAMS,), {}, target=90)
    assert fault.outcome is Outcome.RACE
    assert fault.fields["array"] == "total"
    line = kernel.fn.__code__.co_firstlineno
    assert line < fault.line < line + 6


@pytest.mark.slow
def test_a_lock_that_is_never_let_go_is_waited_for_without_end():
    args = [torch.zeros(1, dtype=torch.int32), torch.zeros(1)]
    fault = raised(launch, locks.never_let_go, args, (2,), {}, target=90)
    assert fault.outcome is Outcome.TIMED_OUT
    assert fault.message_id == "tile_waits"


@triton.jit
def without_end(x, n):
    while n > 0:
        n = n % 1000 * 3 + 1
    tl.store(x, n.to(tl.float32))


@triton.jit
def with_too_many_turns(x, n):
    total = 0
    for turn in range(n):
        total = total ^ turn * 3
    tl.store(x, total.to(tl.float32))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [(without_end, "tile_timed_out"), (with_too_many_turns, "tile_many_turns")],
)
def test_a_loop_that_touches_no_memory_ends_too(kernel, message):
    fault = raised(launch, kernel, (torch.zeros(1), 1 << 30), (1,), {}, target=90)
    assert fault.outcome is Outcome.TIMED_OUT
    assert fault.message_id == message


@triton.jit
def last_to_arrive(x, parts, arrived, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    tl.store(parts + pid, tl.sum(tl.load(x + pid * BLOCK + lanes)))
    if tl.atomic_add(arrived, 1) == n - 1:
        every = tl.load(parts + lanes, mask=lanes < n, other=0.0)
        tl.store(out, tl.sum(every))


def test_who_arrives_last_finds_what_the_others_stored():
    x, parts, out = torch.randn(7 * 64), torch.zeros(7), torch.zeros(1)
    arrived = torch.zeros(1, dtype=torch.int32)
    launch(last_to_arrive, (x, parts, arrived, out, 7), (7,), {"BLOCK": 64}, target=90)
    torch.testing.assert_close(out[0], x.sum(), rtol=1e-5, atol=1e-4)
