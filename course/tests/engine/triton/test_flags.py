"""Programs that order themselves by what atomics find: last arrivers, flags that are awaited."""

import pytest
import torch
import triton
import triton.language as tl

from course.check.check import check_source
from course.engine.faults import KernelFault, Outcome
from course.engine.triton.entry import first_line
from course.engine.triton.launch import launch
from course.engine.triton.running.programs import MOST_IN_TURNS
from course.engine.triton.running.run import Run
from course.exercises.fusion import split_k
from course.tests.engine.faults import raised
from course.tests.engine.triton.running import both

COUNTS = [1, 2, 3, 8, 21]

# ---------------------------------------------------------------- the last one to arrive


@triton.jit
def last_adds(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    tl.store(part + p, tl.load(x + p))
    tl.debug_barrier()
    t = tl.atomic_add(flag, 1)
    if t == tl.num_programs(0) - 1:
        at = tl.arange(0, N)
        parts = tl.load(part + at, mask=at < tl.num_programs(0), other=0.0)
        tl.store(out, tl.sum(parts))


@triton.jit
def last_adds_and_resets(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    tl.store(part + p, tl.load(x + p))
    if arrived(flag) == tl.num_programs(0) - 1:
        total = 0.0
        for i in range(tl.num_programs(0)):
            total += tl.load(part + i)
        tl.store(out, total)
        tl.store(flag, 0)


@triton.jit
def arrived(flag):
    return tl.atomic_add(flag, 1)


@triton.jit
def last_adds_under_a_mask(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    tl.store(part + p, tl.load(x + p))
    last = tl.atomic_add(flag, 1) == tl.num_programs(0) - 1
    at = tl.arange(0, N)
    parts = tl.load(part + at, mask=(at < tl.num_programs(0)) & last, other=0.0)
    tl.store(out, tl.sum(parts), mask=last)


# ---------------------------------------------------------------- a flag that is awaited


@triton.jit
def chain(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    s = tl.load(x + p)
    if p > 0:
        while tl.atomic_cas(flag + p - 1, 1, 1) != 1:
            pass
        s += tl.load(part + p - 1)
    tl.store(part + p, s)
    tl.debug_barrier()
    tl.atomic_xchg(flag + p, 1)
    if p == tl.num_programs(0) - 1:
        tl.store(out, s)


@triton.jit
def chain_backwards(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    s = tl.load(x + p)
    if p < tl.num_programs(0) - 1:
        while tl.atomic_add(flag + p + 1, 0) == 0:
            pass
        s += tl.load(part + p + 1)
    tl.store(part + p, s)
    tl.atomic_add(flag + p, 1)
    if p == 0:
        tl.store(out, s)


@triton.jit
def chain_by_halves(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    s = tl.load(x + p)
    if p > 0:
        while tl.atomic_add(flag + p - 1, 0, sem="acquire") == 0:
            pass
        s += tl.load(part + p - 1)
    tl.store(part + p, s)
    tl.atomic_xchg(flag + p, 1, sem="release")
    if p == tl.num_programs(0) - 1:
        tl.store(out, s)


@triton.jit
def first_collects(x, part, flag, out, N: tl.constexpr):
    # stream-K's fix-up
    p = tl.program_id(0)
    s = tl.load(x + p)
    if p > 0:
        tl.store(part + p, s)
        tl.atomic_xchg(flag + p, 1)
    else:
        for other in range(1, tl.num_programs(0)):
            while tl.atomic_cas(flag + other, 1, 1) != 1:
                pass
            s += tl.load(part + other)
        tl.store(out, s)


@triton.jit
def looks_back(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    own = tl.load(x + p)
    tl.store(part + p, own)
    tl.atomic_xchg(flag + p, 1)
    s = own
    at = p - 1
    while at >= 0:
        state = tl.atomic_add(flag + at, 0)
        while state == 0:
            state = tl.atomic_add(flag + at, 0)
        if state == 2:
            s += tl.load(part + N + at)
            at = -1
        else:
            s += tl.load(part + at)
            at -= 1
    tl.store(part + N + p, s)
    tl.atomic_xchg(flag + p, 2)
    if p == tl.num_programs(0) - 1:
        tl.store(out, s)


@triton.jit
def by_ticket(x, part, flag, out, N: tl.constexpr):
    p = tl.atomic_add(flag + N, 1)
    s = tl.load(x + p)
    if p > 0:
        while tl.atomic_add(flag + p - 1, 0) == 0:
            pass
        s += tl.load(part + p - 1)
    tl.store(part + p, s)
    tl.atomic_xchg(flag + p, 1)
    if p == tl.num_programs(0) - 1:
        tl.store(out, s)


@triton.jit
def all_meet(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    tl.store(part + p, tl.load(x + p))
    tl.atomic_add(flag, 1)
    while tl.atomic_add(flag, 0) < tl.num_programs(0):
        pass
    if p == 0:
        at = tl.arange(0, N)
        tl.store(out, tl.sum(tl.load(part + at, mask=at < tl.num_programs(0), other=0.0)))


@triton.jit
def by_a_ticket_lock(x, part, flag, out, N: tl.constexpr):
    mine = tl.atomic_add(flag, 1)
    while tl.atomic_add(flag + 1, 0) != mine:
        pass
    tl.store(out, tl.load(out) + tl.load(x + tl.program_id(0)))
    tl.atomic_add(flag + 1, 1)


RIGHT = [
    *(last_adds, last_adds_and_resets, last_adds_under_a_mask, chain, chain_backwards),
    *(chain_by_halves, first_collects, looks_back, by_ticket, all_meet),
    by_a_ticket_lock,
]


def arguments(programs, places=32):
    flag = torch.zeros(places + 1, dtype=torch.int32)
    return [torch.arange(1.0, programs + 1), torch.full((2 * places,), 99.0), flag, torch.zeros(1)]


@pytest.mark.family
@pytest.mark.parametrize("programs", COUNTS)
@pytest.mark.parametrize("kernel", RIGHT, ids=lambda kernel: kernel.__name__)
def test_an_order_that_programs_look_at_is_one(kernel, programs):
    (_, _, _, out), _ = both(kernel, arguments(programs), (programs,), N=32)
    assert out.item() == programs * (programs + 1) / 2


@triton.jit
def in_order_of_arrival(x, part, flag, out, N: tl.constexpr):
    at = tl.atomic_add(flag, 1)
    tl.store(part + at, tl.load(x + tl.program_id(0)))


def test_places_that_an_atomic_gives_out_need_no_order():
    (_, part, *_), _ = both(in_order_of_arrival, arguments(5), (5,), N=32)
    assert sorted(part[:5].tolist()) == [1, 2, 3, 4, 5]


def test_of_a_wait_in_program_order_one_check_is_counted_and_of_any_other_two():
    programs = 5
    _, ahead = both(chain, arguments(programs), (programs,), N=32)
    ahead = ahead.graded()
    assert ahead.sectors("flag", "atomic") == (programs - 1) + programs
    assert ahead.sectors("part", "load") == programs - 1
    _, behind = both(chain_backwards, arguments(programs), (programs,), N=32)
    behind = behind.graded()
    assert behind.sectors("flag", "atomic") == 2 * (programs - 1) + programs
    assert behind.sectors("x", "load") == behind.sectors("part", "store") == programs


@triton.jit
def says_so_once(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    tl.device_print("here")
    while tl.atomic_add(flag, 0) < tl.num_programs(0) - 1 - p:
        pass
    tl.atomic_add(flag, 1)


def test_what_a_program_printed_before_it_waited_is_printed_once(capsys):
    launch(says_so_once, arguments(4), (4,), {"N": 32})
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split(":")[0] for line in lines) == [f"program {p}" for p in range(4)]


# ---------------------------------------------------------------- atomics that order nothing


@triton.jit
def nobody_looks(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    tl.store(part + p, tl.load(x + p))
    tl.atomic_add(flag, 1)
    tl.store(out, tl.load(part + tl.maximum(p - 1, 0)), mask=p == tl.num_programs(0) - 1)


@triton.jit
def nobody_looks_the_other_way(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    tl.store(part + p, tl.load(x + p))
    t = tl.atomic_add(flag, 1)
    s = tl.load(part + tl.minimum(p + 1, tl.num_programs(0) - 1))
    tl.store(part + N + p, s + t)


@triton.jit
def between_two_of_them(x, part, flag, out, N: tl.constexpr):
    tl.atomic_add(flag, 1)
    tl.store(out, tl.load(out) + tl.load(x + tl.program_id(0)))
    tl.atomic_add(flag, 1)


@triton.jit
def between_two_looked_at(x, part, flag, out, N: tl.constexpr):
    if tl.atomic_add(flag, 1) >= 0:
        tl.store(out, tl.load(out) + tl.load(x + tl.program_id(0)))
        tl.atomic_add(flag, 1)


@triton.jit
def between_two_but_for_the_first(x, part, flag, out, N: tl.constexpr):
    if tl.atomic_add(flag, 1) >= 1:
        tl.store(out, tl.load(out) + tl.load(x + tl.program_id(0)))
    tl.atomic_add(flag, 1)


@triton.jit
def always_true(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    tl.store(part + p, tl.load(x + p))
    if tl.atomic_add(flag, 1) >= 0:
        tl.store(part + N + p, tl.load(part + tl.maximum(p - 1, 0)))


@triton.jit
def the_last_program_not_the_last_arriver(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    tl.store(part + p, tl.load(x + p))
    t = tl.atomic_add(flag, 1)
    if t >= 0 and p == tl.num_programs(0) - 1:
        at = tl.arange(0, N)
        tl.store(out, tl.sum(tl.load(part + at, mask=at < tl.num_programs(0), other=0.0)))


@triton.jit
def the_second_adds(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    tl.store(part + p, tl.load(x + p))
    t = tl.atomic_add(flag, 1)
    if t >= 1:
        at = tl.arange(0, N)
        parts = tl.load(part + at, mask=at < tl.num_programs(0), other=0.0)
        tl.store(part + N + p, tl.sum(parts))


@triton.jit
def the_last_but_one_adds(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    tl.store(part + p, tl.load(x + p))
    t = tl.atomic_add(flag, 1)
    if t == tl.num_programs(0) - 2:
        at = tl.arange(0, N)
        tl.store(out, tl.sum(tl.load(part + at, mask=at < tl.num_programs(0), other=0.0)))


@triton.jit
def stored_after_the_arrival(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    t = tl.atomic_add(flag, 1)
    tl.store(part + p, tl.load(x + p))
    if t == tl.num_programs(0) - 1:
        at = tl.arange(0, N)
        tl.store(out, tl.sum(tl.load(part + at, mask=at < tl.num_programs(0), other=0.0)))


@triton.jit
def arrival(
    x, part, flag, out, N: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr, EACH: tl.constexpr
):
    p = tl.program_id(0)
    tl.store(part + p, tl.load(x + p))
    t = tl.atomic_add(flag + p * EACH, 1, sem=SEM, scope=SCOPE)
    if t == (tl.num_programs(0) - 1) * (1 - EACH):
        at = tl.arange(0, N)
        tl.store(out, tl.sum(tl.load(part + at, mask=at < tl.num_programs(0), other=0.0)))


@triton.jit
def awaited(
    x, part, flag, out,
    N: tl.constexpr, EARLY: tl.constexpr, LATE: tl.constexpr, ELSEWHERE: tl.constexpr,
    TOLD: tl.constexpr, HEARD: tl.constexpr,
):  # fmt: skip
    p = tl.program_id(0)
    s = tl.load(x + p)
    if p > 0:
        if EARLY:
            s += tl.load(part + p - 1)
        while tl.atomic_cas(flag + p - 1, 1, 1, sem=HEARD) != 1:
            pass
        if not EARLY:
            s += tl.load(part + p - 1)
    if not LATE:
        tl.store(part + p, s)
    if ELSEWHERE:
        tl.atomic_xchg(flag + N, 1)
        tl.atomic_xchg(flag + p, 1, sem="relaxed")
    else:
        tl.atomic_xchg(flag + p, 1, sem=TOLD)
    if LATE:
        tl.store(part + p, s)


@triton.jit
def in_turn_by_luck(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    if tl.atomic_add(flag, 0) == p:
        tl.store(out, tl.load(out) + tl.load(x + p))
    tl.atomic_add(flag, 1)


def outcome_of(kernel, programs=5, **constants):
    return raised(
        launch, kernel, arguments(programs), (programs,), {"N": 32, **constants}, step_limit=2000
    )


@pytest.mark.family
@pytest.mark.parametrize("programs", [3, 5, 12])
@pytest.mark.parametrize(
    "kernel",
    [
        *(nobody_looks, nobody_looks_the_other_way, between_two_of_them, between_two_looked_at),
        *(between_two_but_for_the_first, always_true, the_last_program_not_the_last_arriver),
        *(the_second_adds, the_last_but_one_adds, stored_after_the_arrival),
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_an_atomic_that_decides_nothing_silences_no_race(kernel, programs):
    assert outcome_of(kernel, programs).outcome is Outcome.RACE


def test_a_result_that_hangs_on_the_order_of_arrival_is_a_race():
    fault = outcome_of(in_turn_by_luck)
    assert fault.outcome is Outcome.RACE
    assert "out[0] is another number when the programs arrive in another order" in str(fault)


HOW = {"SEM": "acq_rel", "SCOPE": "gpu", "EACH": 0}


@pytest.mark.parametrize(
    "changed",
    [
        *({"SEM": "relaxed"}, {"SEM": "acquire"}, {"SEM": "release"}, {"SCOPE": "cta"}),
        {"EACH": 1},
    ],
)
def test_an_arrival_orders_with_its_semantics_on_its_address(changed):
    launch(arrival, arguments(5), (5,), {"N": 32, **HOW})
    assert outcome_of(arrival, **(HOW | changed)).outcome is Outcome.RACE


WELL = {"EARLY": 0, "LATE": 0, "ELSEWHERE": 0, "TOLD": "release", "HEARD": "acquire"}


@pytest.mark.parametrize(
    "changed",
    [
        *({"EARLY": 1}, {"LATE": 1}, {"ELSEWHERE": 1}, {"TOLD": "relaxed"}, {"HEARD": "relaxed"}),
        *({"TOLD": "acquire"}, {"HEARD": "release"}),
    ],
)
def test_a_flag_orders_what_lies_before_it_and_what_comes_behind_the_wait(changed):
    launch(awaited, arguments(5), (5,), {"N": 32, **WELL})
    fault = outcome_of(awaited, **(WELL | changed))
    assert (fault.outcome, fault.fields["array"]) == (Outcome.RACE, "part")


@triton.jit
def nobody_publishes(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    while tl.atomic_cas(flag + p, 1, 1) != 1:
        pass
    tl.store(part + p, 1.0)


@triton.jit
def each_waits_for_the_next(x, part, flag, out, N: tl.constexpr):
    p = tl.program_id(0)
    while tl.atomic_add(flag + (p + 1) % tl.num_programs(0), 0) == 0:
        pass
    tl.atomic_xchg(flag + p, 1)


@pytest.mark.parametrize("kernel", [nobody_publishes, each_waits_for_the_next])
def test_a_wait_for_what_never_comes_ends(kernel):
    fault = outcome_of(kernel)
    assert (fault.outcome, fault.line) == (Outcome.TIMED_OUT, first_line(kernel) + 2)
    at = 0 if kernel is nobody_publishes else 1
    assert f"Program 0 waits in this loop for flag[{at}], and every other" in str(fault)


@triton.jit
def gives_up(x, part, flag, out, N: tl.constexpr):
    turns = 0
    while tl.atomic_add(flag, 0) == 0 and turns < 50:
        turns += 1
    tl.store(part + tl.program_id(0), turns)


def test_a_wait_may_be_given_up():
    (_, part, *_), _ = both(gives_up, arguments(3), (3,), N=32)
    assert part[:3].tolist() == [50.0] * 3


# ---------------------------------------------------------------- through a check

SPLIT_K = """
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 128

@triton.jit
def part_kernel(
    A, B, C, turn, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    part = tl.program_id(2)
    end = tl.minimum((part + 1) * length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(part * length, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = C + rows[:, None] * N + columns[None, :]
    mine = turn + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    WAIT
    if part > 0:
        total += tl.load(at, inside)
    tl.store(at, total, inside)
    tl.debug_barrier()
    tl.atomic_xchg(mine, part + 1)

def split_k(A, B):
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    tiles = triton.cdiv(M, BM) * triton.cdiv(N, BN)
    turn = torch.zeros((tiles,), dtype=torch.int32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, turn, M, N, K, length, BM, BN, BK)
    return C
"""
WAIT = "while tl.atomic_add(mine, 0) != part:\n        pass"


@pytest.mark.parametrize(
    ("wait", "outcome"),
    [
        (WAIT, Outcome.PASS),
        (WAIT.replace("0)", "0, sem='relaxed')"), Outcome.RACE),
        ("tl.atomic_add(mine, 0)", Outcome.RACE),
        (WAIT.replace("part", "part + 1"), Outcome.TIMED_OUT),
    ],
)
def test_parts_that_wait_for_their_turn_through_a_check(wait, outcome):
    verdict = check_source(split_k, SPLIT_K.replace("WAIT", wait))
    assert not verdict.internal_error, verdict.internal_error
    assert verdict.outcome is outcome


@triton.jit
def one_after_the_other(turn_ptr, out_ptr):
    me = tl.program_id(0)
    while tl.atomic_add(turn_ptr, 0) != me:
        pass
    before = tl.load(out_ptr + me - 1, mask=me > 0, other=-1)
    tl.store(out_ptr + me, before + 1)
    tl.atomic_xchg(turn_ptr, me + 1)


def test_the_next_one_is_woken_and_not_everybody_who_waits(monkeypatch):
    started = []
    start = Run.start
    monkeypatch.setattr(
        Run, "start", lambda run, programs: (started.append(1), start(run, programs))
    )
    turn, out = torch.zeros(1, dtype=torch.int32), torch.zeros(100, dtype=torch.int32)
    launch(one_after_the_other, [turn, out], (100,))
    assert torch.equal(out, torch.arange(100, dtype=torch.int32))
    assert len(started) < 5 * 100


@triton.jit
def a_ticket(cnt_ptr, out_ptr):
    place = tl.atomic_add(cnt_ptr, 1)
    tl.store(out_ptr + place, tl.program_id(0))


@triton.jit
def a_lock(lock_ptr, out_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(out_ptr, tl.load(out_ptr) + 1)
    tl.atomic_xchg(lock_ptr, 0)


def test_more_programs_than_take_turns_run_together_or_are_told_that_they_are_too_many():
    n = MOST_IN_TURNS + 1
    count, out = torch.zeros(1, dtype=torch.int32), torch.zeros(n, dtype=torch.int32)
    launch(a_ticket, [count, out], (n,))
    assert torch.equal(out.sort().values, torch.arange(n, dtype=torch.int32))
    with pytest.raises(KernelFault, match="which run one after the other") as caught:
        launch(a_lock, [count, out], (n,))
    assert caught.value.outcome is Outcome.TIMED_OUT
