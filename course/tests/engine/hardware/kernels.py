"""Every case, in the order in which they are launched."""

from . import (
    access,
    algorithms,
    apart,
    applications,
    arrays,
    atomics,
    branches,
    complexes,
    control,
    matmul,
    merge,
    merge_branches,
    merge_loops,
    merge_stores,
    merge_values,
    records,
    shapes,
    shared,
    students,
    unrolled,
    values,
    values_flow,
    values_math,
    warps,
    ways_out,
)
from .cases import Case

#: These add to the cases of ``merge``.
MERGING = (merge_stores, merge_loops, merge_branches, merge_values)
BOOKS = (
    *(
        access,
        algorithms,
        applications,
        apart,
        shapes,
        shared,
        matmul,
        atomics,
        warps,
        control,
        arrays,
        branches,
        complexes,
        records,
        students,
        unrolled,
        ways_out,
    ),
    merge,
)
VALUES = (values, values_flow, values_math)
CASES: tuple[Case, ...] = tuple(case for module in (*BOOKS, *VALUES) for case in module.book.cases)
BY_NAME: dict[str, Case] = {case.name: case for case in CASES}
if len(BY_NAME) != len(CASES):
    raise ValueError("two cases of different modules share a name")
