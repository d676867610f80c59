"""Programs that take locks: ordered where they wait for one, and racing where they do not."""

import pytest
import torch
import triton
import triton.language as tl

from course.engine.faults import Outcome
from course.engine.triton.launch import launch
from course.tests.engine.faults import raised
from course.tests.engine.triton.running import both

PROGRAMS = 5


@triton.jit
def by_cas(lock, count, total, x):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    tl.atomic_xchg(lock, 0)


@triton.jit
def by_exchange(lock, count, total, x):
    while tl.atomic_xchg(lock, 1) == 1:
        pass
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    tl.atomic_xchg(lock, 0)


@triton.jit
def taken(lock):
    got = tl.atomic_cas(lock, 0, 1)
    while got != 0:
        got = tl.atomic_cas(lock, 0, 1)


@triton.jit
def by_a_helper_and_a_count_down(lock, count, total, x):
    taken(lock)
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    tl.atomic_add(lock, -1)


@triton.jit
def with_a_first_one(lock, count, total, x):
    mine = tl.load(x + tl.program_id(0))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
        tl.store(total, mine)
    else:
        tl.store(total, tl.load(total) + mine)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def twice_each(lock, count, total, x):
    for _ in range(2):
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
        tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)) / 2)
        tl.atomic_xchg(lock, 0)


@triton.jit
def through_another_lock(lock, count, total, x):
    # one inside the other
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    while tl.atomic_cas(lock + 1, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    tl.atomic_xchg(lock + 1, 0)
    tl.atomic_xchg(lock, 0)


def arguments():
    locks, count = torch.zeros(PROGRAMS, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    return [locks, count, torch.zeros(1), torch.arange(1.0, PROGRAMS + 1)]


@pytest.mark.parametrize(
    "kernel",
    [
        *(by_cas, by_exchange, by_a_helper_and_a_count_down, with_a_first_one, twice_each),
        through_another_lock,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_a_lock_that_is_waited_for_orders_its_holders(kernel):
    (locks, _, total, _), _ = both(kernel, arguments(), (PROGRAMS,))
    assert total.item() == 15
    assert not locks.any()


@triton.jit
def dead(lock, count, total, x):
    if tl.program_id(0) < 0:
        tl.atomic_cas(lock, 0, 1)
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))


@triton.jit
def not_waited_for(lock, count, total, x):
    tl.atomic_cas(lock, 0, 1)
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    tl.atomic_xchg(lock, 0)


@triton.jit
def let_go_before(lock, count, total, x):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.atomic_xchg(lock, 0)
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))


@triton.jit
def taken_afterwards(lock, count, total, x):
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.atomic_xchg(lock, 0)


@triton.jit
def a_lock_each(lock, count, total, x):
    while tl.atomic_cas(lock + tl.program_id(0), 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    tl.atomic_xchg(lock + tl.program_id(0), 0)


@triton.jit
def exchanged_and_not_looked_at(lock, count, total, x):
    tl.atomic_xchg(lock, 1)
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    tl.atomic_xchg(lock, 0)


@pytest.mark.parametrize(
    "kernel",
    [
        *(dead, not_waited_for, let_go_before, taken_afterwards, a_lock_each),
        exchanged_and_not_looked_at,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_a_lock_that_keeps_nobody_out_orders_nothing(kernel):
    fault = raised(launch, kernel, arguments(), (PROGRAMS,), {})
    assert fault.outcome is Outcome.RACE
    assert fault.fields["array"] == "total"


@triton.jit
def never_let_go(lock, total):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, 1.0)


def test_a_lock_that_is_never_let_go_is_waited_for_without_end():
    args = [torch.zeros(1, dtype=torch.int32), torch.zeros(1)]
    fault = raised(launch, never_let_go, args, (2,), {}, step_limit=2000)
    assert fault.outcome is Outcome.TIMED_OUT
