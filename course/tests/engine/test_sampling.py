"""A few blocks of a launch stand for all of it: their counts, times the grid, are the launch's."""

import numpy as np
import pytest

from course.engine.cell.numba import read_cell
from course.engine.sampling import BLOCKS, STATEMENTS, chosen, sampled
from course.engine.simt.launch import launch

ROW_SUM = """
from numba import cuda

@cuda.jit
def row_sum(x, w, out):
    row = cuda.blockIdx.x
    total = 0.0
    for i in range(cuda.threadIdx.x, x.shape[1], 32):
        total += x[row, i] * w[i]
    cuda.atomic.add(out, row, total)
"""


def row_sum(rows, columns):
    x = np.zeros((rows, columns), np.float32)
    args = [x, np.zeros(columns, np.float32), np.zeros(rows, np.float32)]
    return launch(read_cell(ROW_SUM).kernels["row_sum"], args, rows, 32, printing=False)


@pytest.mark.parametrize("columns", [64, 4096])
def test_a_loop_is_as_long_as_its_size_makes_it_and_counts_grow_with_the_grid(columns):
    whole = row_sum(200, columns)
    with sampled() as made:
        row_sum(200, columns)
    (few,) = made.launches
    assert (few.blocks, few.ran, few.warps) == (200, BLOCKS, 1)
    grown = few.blocks / few.ran
    for direction in ("load", "atomic"):
        assert few.traffic.totals(direction).sectors * grown == whole.totals(direction).sectors
    assert few.detail["turns"] * grown == 200 * columns // 32
    assert few.detail["axes"] == few.ran * (3 * columns // 32 + 1)


def test_what_blocks_share_is_told_from_what_each_has_alone():
    with sampled() as made:
        row_sum(200, 1024)
    (few,) = made.launches
    row_bytes = 4 * 1024
    assert few.distinct["x", "load"] == few.union["x", "load"] == BLOCKS * row_bytes
    assert few.distinct["w", "load"] == BLOCKS * row_bytes
    assert few.union["w", "load"] == row_bytes
    assert few.array_bytes["x"] == 200 * row_bytes


def test_one_block_alone_has_touched_what_it_touched():
    with sampled() as made:
        row_sum(1, 1024)
    assert made.launches[0].union["x", "load"] == 4 * 1024


def test_long_blocks_are_few():
    with sampled() as made:
        row_sum(200, 32 * STATEMENTS)
    assert made.launches[0].ran == 1


@pytest.mark.parametrize("grid", [(1000, 1, 1), (64, 32, 1), (7, 3, 5), (2, 2, 1)])
def test_blocks_lie_spread_over_each_axis(grid):
    numbers = chosen(grid)
    assert len(set(numbers)) == len(numbers) == min(BLOCKS, np.prod(grid))
    assert min(numbers) >= 0
    assert max(numbers) < np.prod(grid)
    if np.prod(grid) > BLOCKS:
        x = np.array(numbers) % grid[0]
        assert abs(x.mean() - (grid[0] - 1) / 2) < 0.15 * grid[0]


def test_outside_of_it_all_blocks_run():
    with sampled():
        pass
    assert row_sum(40, 64).totals("load").sectors == 40 * 2 * 8
