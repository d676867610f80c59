"""What lesson 08 says of an H200 and of compiled kernels is what was measured and is compiled."""

import pytest
import torch
import triton
import triton.language as tl

import course
from autograder.tests.quoted import prose
from course.engine.triton.compiling.compiler import to_ptx
from course.engine.triton.compiling.gate import compile_for
from course.engine.triton.compiling.specialisation import source_of
from course.figures import measured, norms
from course.gpu.recorded import recorded

LESSON = "08_norms"
NORM_BYTES = 2 * 32768 * 8192 * 2  # float16, in and out
LOGITS_BYTES = 8192 * 32768 * 2
RMSNORM, LOSS = (
    round(
        next(row["torch_GB/s"] for row in recorded("h200_rows")["timed"] if row["kernel"] == name)
    )
    for name in ("rmsnorm", "cross_entropy")
)
LATENCY_NS = {level.name.partition(":")[0]: level.latency_ns for level in measured.LEVELS}


@triton.jit
def mean_square(x_ptr, out_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * D + columns, mask=columns < D, other=0.0).to(tl.float32)
    tl.store(out_ptr + row, tl.sum(x * x, axis=0) / D)


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * D + columns, mask=columns < D, other=0.0)
    w = tl.load(w_ptr + columns, mask=columns < D)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / D + eps) * w
    tl.store(y_ptr + row * D + columns, y, mask=columns < D)


@triton.jit
def normalise(x_ptr, y_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * D + columns, mask=columns < D, other=0.0)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / D)
    tl.store(y_ptr + row * D + columns, y, mask=columns < D)


def assembly(D: int, warps: int = 4) -> str:
    options = {"BLOCK": triton.next_power_of_2(D), "num_warps": warps}
    return to_ptx(source_of(mean_square, (torch.empty(4, D), torch.empty(4), D), options), 80).ptx


def spilled(D: int, warps: int) -> int | None:
    row = torch.empty(1, D)
    options = {"BLOCK": D, "num_warps": warps}
    return compile_for(normalise, (row, row, D), options, target=90).spill_bytes


@pytest.mark.parametrize(
    "quote",
    [
        f"A copy of a large array moves {norms.COPY_GB_S:,} GB/s.",
        f"comes to {RMSNORM:,}: {NORM_BYTES / RMSNORM / 1e6:.2f} ms",
        f"that a copy moves in {NORM_BYTES / norms.COPY_GB_S / 1e6:.2f}.",
        f"took {LOGITS_BYTES / LOSS / 1e6:.2f} ms for logits of {LOGITS_BYTES / 1e6:.0f} MB",
        f"a copy moves them {norms.COPY_GB_S / LOSS:.1f} times",
        f"a multiply-add took {LATENCY_NS['registers']} ns",
        f"a chain of 1,023 of them takes {1023 * LATENCY_NS['registers'] / 1000:.1f} microseconds",
        f"A read from shared memory is {LATENCY_NS['shared memory']:.0f} ns",
        f"A round trip to the L2 cache is {LATENCY_NS['L2 cache']:.0f} ns",
        f"a launch of its own, {measured.LAUNCH_QUEUED_US:.0f} microseconds",
    ],
)
def test_lesson_08_quotes_what_was_measured(quote: str) -> None:
    assert quote in prose(LESSON)


def test_a_chain_takes_five_times_as_long_as_a_number_from_device_memory() -> None:
    ratio = 1023 * LATENCY_NS["registers"] / LATENCY_NS["device memory"]
    assert 5 < ratio < 6
    assert "more than five times as long as one number takes from device memory" in prose(LESSON)


@pytest.mark.parametrize(("warps", "adds", "shuffles", "barriers"), [(1, 31, 5, 0), (4, 7, 7, 2)])
def test_a_compiled_sum_has_the_rounds_that_the_lesson_counts(
    warps: int, adds: int, shuffles: int, barriers: int
) -> None:
    ptx = assembly(1024, warps)
    counts = [ptx.count(name) for name in ("fma.rn.f32", "shfl.sync", "bar.sync")]
    assert counts == [adds, shuffles, barriers]


def test_loads_are_wide_where_the_row_length_is_a_multiple_of_16() -> None:
    wide, narrow = assembly(1024), assembly(1000)
    assert (wide.count("ld.global"), wide.count("ld.global.v4")) == (2, 2)
    assert (narrow.count("ld.global"), narrow.count("ld.global.v4")) == (8, 0)


def test_a_mean_square_over_rows_of_1000_takes_four_times_the_requests_for_its_sectors() -> None:
    seen = {}
    for D in (1000, 1024):
        with course.measure() as traffic:
            mean_square[(4,)](torch.ones(4, D), torch.empty(4), D, 1024)
        seen[D] = traffic.loads
    assert seen[1000].requests == 4 * seen[1024].requests
    assert seen[1000].sectors == 500


def test_a_norm_over_rows_of_1000_asks_l1_for_its_sectors_four_times() -> None:
    x, w = torch.ones(4, 1000), torch.ones(1000)
    with course.measure() as traffic:
        rmsnorm[(4,)](x, w, torch.empty_like(x), 1000, 1e-5, 1024)
    each_once = traffic.graded().sectors("x_ptr", "load")
    said = (
        f"{traffic.sectors('x_ptr', 'load'):,} sectors of x, where each once they are {each_once}"
    )
    assert said in prose(LESSON)


def test_more_warps_hold_a_longer_row_until_it_is_all_registers() -> None:
    assert spilled(32768, 4)
    assert spilled(32768, 16) == 0
    assert spilled(65536, 32)
