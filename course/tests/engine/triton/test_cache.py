"""The model of L2: what its limits must give, and what the order of programs changes."""

import torch
import triton
import triton.language as tl

from course.engine.triton.running.cache import Cache, through_l2
from course.tests.engine.triton import cases


@triton.jit
def ordered_matmul(
    a_ptr, b_ptr, c_ptr, N, TILES: tl.constexpr, GROUP: tl.constexpr, BLOCK: tl.constexpr
):
    pid = tl.program_id(0)
    group = pid // (GROUP * TILES)
    i = group * GROUP + pid % GROUP
    j = pid % (GROUP * TILES) // GROUP
    rows, columns = i * BLOCK + tl.arange(0, BLOCK), j * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, N, BLOCK):
        steps = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * N + steps[None, :])
        b = tl.load(b_ptr + steps[:, None] * N + columns[None, :])
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc)


def matmul_through(capacity_bytes, group, n=256, block=32):
    a, b, c = torch.randn(n, n), torch.randn(n, n), torch.zeros(n, n)
    tiles = n // block
    constants = {"TILES": tiles, "GROUP": group, "BLOCK": block}
    found = through_l2(
        ordered_matmul, (a, b, c, n), (tiles**2,), constants,
        capacity_bytes=capacity_bytes, multiprocessors=8,
    )  # fmt: skip
    assert torch.allclose(c, a @ b, atol=1e-3)
    return found


def test_a_cache_that_holds_everything_reads_the_footprint():
    found = matmul_through(1 << 30, 1)
    assert found.dram_read_bytes == found.traffic.loads.footprint_bytes == 2 * 256 * 256 * 4


def test_a_cache_of_one_sector_reads_every_request():
    case = cases.softmax_online(4, 64, 32)
    found = through_l2(case.kernel, case.args, case.grid, case.constants, capacity_bytes=32)
    # several warps ask for one block, one behind the other
    assert found.dram_read_bytes == found.traffic.graded().loads.sectors * 32


def test_grouped_order_reads_less_than_row_after_row():
    by_rows, grouped = matmul_through(96 << 10, 1), matmul_through(96 << 10, 4)
    assert by_rows.traffic.loads == grouped.traffic.loads
    assert grouped.dram_read_bytes < 0.75 * by_rows.dram_read_bytes


def test_the_sector_that_was_not_used_for_longest_is_dropped():
    cache = Cache(2 * 32)
    for sector, stored in [(1, True), (2, False), (1, False), (3, False), (1, False), (2, False)]:
        cache.access(torch.tensor([sector]).numpy(), stored)
    assert cache.read == 3  # 2, 3, and 2 again
