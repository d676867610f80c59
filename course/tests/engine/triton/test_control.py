"""Programs that disagree about control flow: each effect once, values as if alone."""

import pytest
import torch
import triton
import triton.language as tl

from course.engine.faults import KernelFault
from course.engine.triton import launch as launching
from course.engine.triton.compiling.gate import compile_for
from course.engine.triton.entry import first_line
from course.engine.triton.launch import launch
from course.engine.triton.running.run import Run
from course.tests.engine.triton.running import both, without_block_pointers
from course.tests.engine.triton.versions import TAKES_CHAINS


@triton.jit
def sides(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    kept = x * 2
    if x > 0:
        y = x + 1
        tl.store(out_ptr + pid, y)
    else:
        y = x - 1
        if x < -1:
            y = y * 10
        tl.store(out_ptr + pid, y)
    z = y + kept if pid % 2 == 0 else kept
    tl.store(out_ptr + n + pid, z)


def test_a_branch_by_program_runs_each_side_once():
    x = torch.tensor([1.0, -0.5, -2.0, 3.0, -4.0])
    (_, out, _), traffic = both(sides, [x, torch.zeros(2, 5), 5], (5,))
    y = torch.where(x > 0, x + 1, torch.where(x < -1, (x - 1) * 10, x - 1))
    even = torch.arange(5) % 2 == 0
    assert torch.equal(out[0], y)
    assert torch.equal(out[1], torch.where(even, y + 2 * x, 2 * x))
    assert traffic.graded().loads.sectors == 5
    assert traffic.graded().stores.sectors == 10


@triton.jit
def counted(trips_ptr, out_ptr, start_ptr):
    pid = tl.program_id(0)
    trips = tl.load(trips_ptr + pid)
    first = tl.load(start_ptr + pid)
    total = tl.zeros((4,), tl.int32)
    last = -1
    for i in range(first, trips, 2):
        total += i * tl.arange(0, 4)
        if i % 4 == 0:
            total += 1
        last = i
    tl.store(out_ptr + pid * 5 + tl.arange(0, 4), total)
    tl.store(out_ptr + pid * 5 + 4, last)


def test_a_loop_whose_bounds_differ_by_program():
    trips = torch.tensor([0, 3, 9, 9, 1, 20], dtype=torch.int32)
    start = torch.tensor([0, 1, 0, 4, 1, 2], dtype=torch.int32)
    out = torch.zeros(6, 5, dtype=torch.int32)
    (_, out, _), _ = both(counted, [trips, out, start], (6,))
    for n in range(6):
        steps = range(int(start[n]), int(trips[n]), 2)
        total = [sum(i * c + (i % 4 == 0) for i in steps) for c in range(4)]
        assert out[n].tolist() == [*total, steps[-1] if len(steps) else -1]


@triton.jit
def collatz(x_ptr, steps_ptr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    steps = 0
    while x != 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    tl.store(steps_ptr + pid, steps)


def test_a_while_loop_ends_for_each_program_by_itself():
    x = torch.arange(1, 30, dtype=torch.int32)
    (_, steps), _ = both(collatz, [x, torch.zeros_like(x)], (29,))

    def count(n):
        return 0 if n == 1 else 1 + count(n // 2 if n % 2 == 0 else 3 * n + 1)

    assert steps.tolist() == [count(n) for n in range(1, 30)]


@triton.jit
def early(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    x = tl.load(x_ptr + pid)
    y = clipped(x)
    if y == 5:
        tl.store(out_ptr + pid, -1.0)
        return
    tl.store(out_ptr + pid, y)


@triton.jit
def clipped(x):
    if x > 5:
        return 5.0
    if x < -5:
        return -5.0
    return x * 2


def test_programs_that_return_early_leave_the_others_alone():
    x = torch.tensor([1.0, 9.0, -9.0, 2.0])
    (_, out, _), traffic = both(early, [x, torch.zeros(4), 4], (9,))
    assert out.tolist() == [2.0, -1.0, -5.0, 4.0]
    assert traffic.graded().loads.sectors == 4


@triton.jit
def descriptor_loop(x_ptr, out_ptr, N, D: tl.constexpr, CAUSAL: tl.constexpr):
    pid = tl.program_id(0)
    source = tl.make_tensor_descriptor(x_ptr, [N, D], [D, 1], [4, D])
    total = tl.zeros((4, D), tl.float32)
    end = N
    if CAUSAL:
        end = (pid + 1) * 4
    for start in tl.range(0, end, 4):
        total += source.load([start, 0])
    at = (pid * 4 + tl.arange(0, 4))[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(out_ptr + at, total)


@triton.jit
def pointer_loop(x_ptr, out_ptr, N, D: tl.constexpr):
    pid = tl.program_id(0)
    source = tl.make_block_ptr(x_ptr, (N, D), (D, 1), (0, 0), (4, D), (1, 0))
    total = tl.zeros((4, D), tl.float32)
    for _ in range(0, (pid + 1) * 4, 4):
        total += tl.load(source)
        source = tl.advance(source, (4, 0))
    at = (pid * 4 + tl.arange(0, 4))[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(out_ptr + at, total)


def test_descriptors_in_loops_of_different_lengths():
    x = torch.randn(16, 8)
    (_, out, *_), _ = both(descriptor_loop, [x, torch.zeros_like(x), 16], (4,), D=8, CAUSAL=True)
    assert torch.allclose(out.reshape(4, 4, 8), x.reshape(4, 4, 8).cumsum(0), atol=1e-5)


@without_block_pointers
def test_block_pointers_move_with_their_programs():
    x = torch.randn(16, 8)
    (_, out, *_), _ = both(pointer_loop, [x, torch.zeros_like(x), 16], (4,), D=8)
    assert torch.allclose(out.reshape(4, 4, 8), x.reshape(4, 4, 8).cumsum(0), atol=1e-5)


@triton.jit
def chosen_tensor(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    if tl.program_id(0) % 2 == 0:
        source = x_ptr
    else:
        source = y_ptr
    mixed = tl.where(lanes < 2, source + lanes, y_ptr + lanes)
    tl.store(out_ptr + tl.program_id(0) * N + lanes, tl.load(mixed, mask=lanes != 1, other=-1.0))


def test_one_load_may_reach_into_several_tensors():
    x, y = torch.arange(4.0), torch.arange(4.0) + 10
    (_, _, out), traffic = both(chosen_tensor, [x, y, torch.zeros(2, 4)], (2,), N=4)
    assert out.tolist() == [[0, -1, 12, 13], [10, -1, 12, 13]]
    assert traffic.graded().sectors("x_ptr", "load") == 1
    assert traffic.graded().sectors("y_ptr", "load") == 2


def batches(monkeypatch):
    """How many programs each batch has that is begun from now on."""
    started = []
    start = Run.start
    monkeypatch.setattr(
        Run, "start", lambda self, programs: (started.append(len(programs)), start(self, programs))
    )
    return started


def test_programs_run_in_batches_so_that_memory_stays_bounded(monkeypatch):
    from course.tests.engine.triton import cases

    whole = cases.matmul(64, "float32", (16, 16, 16))
    whole_traffic = launch(whole.kernel, whole.args, whole.grid, whole.constants)
    buffered = 2 * 16 * 16  # a pipelined loop has two turns' tiles at once
    monkeypatch.setattr(launching, "BATCH_ELEMENTS", 3 * buffered)
    started = batches(monkeypatch)
    parts = whole.args[2].clone()
    whole.args[2].fill_(0)
    traffic = launch(whole.kernel, whole.args, whole.grid, whole.constants)
    assert started == [3, 3, 3, 3, 3, 1]
    assert traffic == whole_traffic
    assert torch.equal(parts, whole.args[2])


@triton.jit
def sizes_in_its_own_code(x_ptr):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(x_ptr + at, tl.load(x_ptr + at) + 1)


def test_sizes_that_stand_in_the_kernels_own_code_cut_the_batches(monkeypatch):
    monkeypatch.setattr(launching, "BATCH_ELEMENTS", 30 * 64)
    started, x = batches(monkeypatch), torch.zeros(64 * 100)
    launch(sizes_in_its_own_code, [x], (100,))
    assert started == [30, 30, 30, 10]
    assert torch.equal(x, torch.ones(6400))


@triton.jit
def between(x_ptr, out_ptr, low, high, N: tl.constexpr, EVEN: tl.constexpr):
    at = tl.arange(0, 8)
    inside = 0 <= at < N
    x = tl.load(x_ptr + at, mask=inside, other=0)
    if 0 < low <= high:
        x += 10
    if 1 < N < 2 <= low or 2 < N <= 7:
        x += 100
    if EVEN is not None is not N:
        x += 1000
    tl.store(out_ptr + at, tl.where(low <= x % 10 < high, x, -1), mask=inside)


def test_comparisons_in_a_chain_are_taken_where_the_compiler_takes_them():
    x, out = torch.arange(8, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    named = {"N": 7, "EVEN": True}
    if not TAKES_CHAINS:
        with pytest.raises(KernelFault, match="more than two values at once"):
            both(between, [x, out, 2, 5], **named)
        return
    compile_for(between, [x, out, 2, 5], named)
    (_, out, *_), _ = both(between, [x, out, 2, 5], **named)
    kept = [x + 1110 if 2 <= x < 5 else -1 for x in range(7)]
    assert out.tolist() == [*kept, 0]


@triton.jit
def a_pair(x, p):
    if p > 2:
        return x * 2, 1
    return x, 0


@triton.jit
def pairs(x_ptr, out_ptr):
    p = tl.program_id(0)
    x = tl.load(x_ptr + p)
    t = (x, 0)
    if p % 2 == 1:
        t = (t[0] + 100, 5)
    while t[1] < p * 3:
        t = (t[0] + 1, t[1] + 1)
    y, k = a_pair(x, p)
    tl.store(out_ptr + 4 * p, t[0])
    tl.store(out_ptr + 4 * p + 1, t[1])
    tl.store(out_ptr + 4 * p + 2, y)
    tl.store(out_ptr + 4 * p + 3, k)


def test_tuples_with_constants_meet_again_behind_a_branch_and_a_loop():
    x, out = torch.arange(5, dtype=torch.int32) * 10, torch.zeros(20, dtype=torch.int32)
    compile_for(pairs, [x, out])
    (_, out), _ = both(pairs, [x, out], (5,))
    for p in range(5):
        first, second = (10 * p + 100, 5) if p % 2 else (10 * p, 0)
        turns = max(0, 3 * p - second)
        pair = [20 * p, 1] if p > 2 else [10 * p, 0]
        assert out[4 * p : 4 * p + 4].tolist() == [first + turns, second + turns, *pair]


@triton.jit
def larger(a, b):
    return a if a > b else b


@triton.jit
def larger_with_its_place(a, i, b, j):
    if a > b or (a == b and i < j):
        value, place = a, i
    else:
        value, place = b, j
    return value, place


@triton.jit
def branches_in_combining(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.associative_scan(x, 0, larger))
    value, place = tl.reduce((x, tl.arange(0, N)), 0, larger_with_its_place)
    tl.store(out_ptr + N * tl.num_programs(0) + tl.program_id(0), tl.reduce(x, 0, larger) + value)
    tl.store(out_ptr + (N + 1) * tl.num_programs(0) + tl.program_id(0), place)


def test_elements_go_different_ways_in_a_combining_function():
    x, out = torch.randn(3, 16), torch.zeros(3 * 18)
    compile_for(branches_in_combining, [x, out], {"N": 16})
    (_, out), _ = both(branches_in_combining, [x, out], (3,), N=16)
    assert torch.equal(out[:48].reshape(3, 16), x.cummax(1).values)
    assert torch.equal(out[48:51], 2 * x.amax(1))
    assert torch.equal(out[51:].long(), x.argmax(1))


@triton.jit
def combining_under_a_branch(x_ptr, out_ptr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + tl.arange(0, 8))
    best = tl.max(x, axis=0)
    if pid == 0:
        for _ in range(3):
            best += tl.reduce(x, 0, larger)
    else:
        for _ in range(20):
            best += 1
    tl.store(out_ptr + pid, best)


def test_a_combining_function_counts_as_statements_of_the_programs_that_call_it_only():
    _, traffic = both(combining_under_a_branch, [torch.randn(8), torch.zeros(4)], (4,))
    _, first_alone = both(combining_under_a_branch, [torch.randn(8), torch.zeros(4)], (1,))
    assert first_alone.longest_program < traffic.longest_program


@triton.jit
def zeros_with_signs(x_ptr, turns_ptr, out_ptr):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    for _ in range(tl.load(turns_ptr + pid)):
        x = (x - x) * (x + x)
    tl.store(out_ptr + pid, x)


def test_programs_that_meet_with_zeros_keep_the_sign_of_each():
    x, turns = torch.tensor([1.0, -1.0]), torch.tensor([1, 2], dtype=torch.int32)
    (_, _, out), _ = both(zeros_with_signs, (x, turns, torch.empty(2)), (2,))
    assert out.signbit().tolist() == [False, True]


@triton.jit
def loads_by_program(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for turn in range(program):
        i = turn * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + i, mask=i < N, other=0.0)
    tl.store(out_ptr + program, tl.sum(total, axis=0))


def test_what_the_busiest_program_asks_for_is_counted_whoever_runs_beside_it():
    x = torch.ones(70)
    (_, out, _), counts = both(loads_by_program, (x, torch.empty(4), 70), (4,), BLOCK=32)
    assert out.tolist() == [0.0, 32.0, 64.0, 70.0]
    # 8 whole sectors and one that the mask cuts off, and the one that is stored
    assert counts.program_bytes == 10 * 32
    assert counts.busiest_lines["program_bytes"] == first_line(loads_by_program) + 5
    _, counts = both(loads_by_program, (x, torch.empty(2), 70), (2,), BLOCK=32)
    assert counts.program_bytes == (4 + 1) * 32


@triton.jit
def last_program_adds_up(x_ptr, parts_ptr, out_ptr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    for turn in range(2):
        x = tl.load(x_ptr + turn * BLOCK + i)
        tl.store(parts_ptr + (2 * program + turn) * BLOCK + i, x)
    if program == 7:
        for part in range(4):
            tl.store(out_ptr + part * BLOCK + i, tl.load(x_ptr + part * BLOCK + i))


def test_the_busiest_line_is_the_busiest_programs_and_not_that_of_all_together():
    x, parts, out = torch.ones(256), torch.empty(1024), torch.empty(256)
    _, counts = both(last_program_adds_up, (x, parts, out), (8,), BLOCK=64)
    assert counts.program_bytes == (2 * 2 + 2 * 4) * 64 * 4
    assert counts.busiest_lines["program_bytes"] == first_line(last_program_adds_up) + 8


@triton.jit
def one_program_takes_sines(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if tl.program_id(0) == 1:
        for _ in range(9):
            x = tl.sin(x)
    for turn in range(8):
        x += tl.load(x_ptr + i, mask=i < turn, other=0.0)
    tl.store(out_ptr + i, x)


def test_each_count_has_the_line_that_makes_most_of_it_in_the_program_with_most():
    x, out = torch.ones(2048), torch.empty(2048)
    _, counts = both(one_program_takes_sines, (x, out), (2,), BLOCK=1024)
    lines = {
        name: first_line(one_program_takes_sines) + line
        for name, line in (("program_bytes", 2), ("block_bytes", 7), ("longest_program", 5))
    }
    assert counts.busiest_lines == lines


@triton.jit
def loads_masked_off(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for turn in range(4):
        i = turn * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + i, mask=(i < N) & (turn == program), other=0.0)
    tl.store(out_ptr + program, tl.sum(total, axis=0))


@pytest.mark.parametrize(
    ("programs", "block", "lanes"),
    [
        (4, 256, 256),
        (1, 256, 256),  # in three turns no program loads
        (4, 32, 128),  # four warps take part in any block
    ],
)
def test_blocks_count_whatever_their_mask_leaves(programs: int, block: int, lanes: int):
    x, out = torch.ones(4 * block), torch.empty(programs)
    _, counts = both(loads_masked_off, (x, out, 4 * block), (programs,), BLOCK=block)
    assert counts.program_bytes == block * 4 + 32
    assert counts.block_bytes == 4 * lanes * 4 + 4
    assert (counts.busy_turns, counts.idle_turns) == (programs, 3 * programs)


@triton.jit
def flattened(x_ptr, out_ptr, tiles, parts, STEP: tl.constexpr):
    for tile in tl.range(tl.program_id(0), tiles, STEP, flatten=True):
        total = 0
        for k in range(parts):
            total += tl.load(x_ptr + tile * parts + k)
        tl.store(out_ptr + tile, total)


def test_a_nest_of_loops_that_the_compiler_makes_one_of_gives_what_is_written():
    x, out = torch.arange(44, dtype=torch.int32).reshape(11, 4), torch.zeros(11, dtype=torch.int32)
    launch(flattened, (x, out, 11, 4), (3,), {"STEP": 3}, target=90)
    assert torch.equal(out, x.sum(1, dtype=torch.int32))
