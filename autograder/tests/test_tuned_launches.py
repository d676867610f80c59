"""Tuned kernels are right in the launches that `tools.full_size` gives them, made small."""

from dataclasses import replace

import numpy as np
import pytest

from course.check.cases import run_of
from course.check.reading import chosen, read_solution
from course.engine.runner import Engine
from course.spec.exercise import Case, Role
from course.spec.inputs import drawn, given_to_reference
from tools.full_size import solutions
from tools.full_size_runs import TUNED

KNOWN = solutions()
#: A grid like the one of the run, for whole tiles and for what is left over, and the sizes.
SMALL: dict[str, list[tuple[tuple[int, ...], dict[str, int]]]] = {
    "double": [((2,), {"N": 2048}), ((2,), {"N": 5000})],
    "vector_add": [((2,), {"N": 2048}), ((2,), {"N": 5000})],
    "index_2d": [((1, 45), {"M": 45, "N": 1300})],
    "saxpy_grid_stride": [((2,), {"N": 5000, "G": 2})],
    "shared_reverse": [((2,), {"B": 8}), ((2,), {"B": 13})],
    "transpose_padded": [((2, 2), {"M": 128, "N": 64}), ((3, 2), {"M": 101, "N": 70})],
    "stencil_halo": [((2,), {"N": 2051}), ((2,), {"N": 2048}), ((2,), {"N": 5000})],
    "row_sum": [((), {"M": 5, "N": 1024}), ((), {"M": 5, "N": 700})],
    "histogram": [((2,), {"N": 5000})],
}
CASES = [(name, *small) for name, smalls in SMALL.items() for small in smalls]


def test_every_tuned_kernel_of_numba_is_here() -> None:
    tuned = {run.kernel.partition("/")[0] for run in TUNED}
    assert {name for name in tuned if KNOWN[name].exercise.dialect == "numba"} == set(SMALL)


@pytest.mark.parametrize(("name", "grid", "sizes"), CASES)
def test_a_tuned_kernel_is_right_in_few_blocks(
    name: str, grid: tuple[int, ...], sizes: dict[str, int]
) -> None:
    kernel = KNOWN[f"{name}/tuned"]
    exercise, of_sizes = kernel.exercise, Case(sizes)
    constants = chosen(read_solution(kernel.source, exercise), exercise)
    given = drawn(exercise, of_sizes, np.random.default_rng(0), constants)
    want = exercise.reference(**given_to_reference(exercise, given))
    run = run_of(exercise, of_sizes, constants, kernel.source, given)
    recorded = next(run for run in TUNED if run.kernel == f"{name}/tuned")
    left = Engine()(replace(run, grid=grid or run.grid, block=recorded.block or run.block)).arrays
    for array in exercise.arrays:
        if array.role is not Role.IN:
            np.testing.assert_allclose(left[array.name], want[array.name], rtol=1e-4, atol=1e-4)
