"""Bank conflicts of shared memory: an H200 counted them in this compiler's code."""

import pytest

from course.engine.triton.launch import launch  # after the wheel that it needs
from course.tests.engine.triton import accesses, shared_accesses
from course.tests.engine.triton.versions import recorded

RECORD, pytestmark = recorded("h200_shared.json")
KERNELS = vars(accesses) | vars(shared_accesses)
#: Launches whose L1 counted more than its instructions made, each with the turns beyond theirs. The
#: counters of the whole L1 also take in a request that waits for somebody else's.
COLLISIONS = {
    # copies from global memory arrive in the banks while warps store
    "chained: 128 32 32 64, float16, num_warps 4": 47,
    "chained: 128 32 32 64, float32, num_warps 4": 59,
    # loads of several warps at a time
    "running: 64 64 0, float32": 2,
    "one_product: 32 64 64 0 0 0, float16, num_warps 4": 1,
    "one_product: 32 64 64 0 0 0, float32, num_warps 4": 4,
    "one_product: 32 64 64 1 1 0, float32, num_warps 4": 2,
}
#: Stores of 64 bits by some of a warp's lanes: of fewest turns Nsight's page of instructions makes
#: too few, its counters do not.
FEWEST = {
    "sums: 64 64 0, int64, num_warps 4": 8,
    "sums: 4 1024 1, int64, num_warps 8": 1,
    "sums: 2 64 0, int64, num_warps 2": 4,
    "where_largest: 64 64 0, float64": 8,
}


def test_every_launch_of_the_table_was_recorded_and_no_other():
    assert set(RECORD["counted"]) == set(shared_accesses.SHARED)
    assert len(shared_accesses.SHARED) >= 100
    waiting = [row for row in RECORD["counted"].values() if row["shared_load_conflicts"]]
    assert len(waiting) >= 20


@pytest.mark.parametrize("name", shared_accesses.SHARED)
@pytest.mark.family
def test_bank_conflicts_are_the_gpus(name):
    access, counted = shared_accesses.SHARED[name], RECORD["counted"][name]
    _, passed = accesses.arguments(access)
    kernel, options = KERNELS[access.kernel], {**access.constants, **access.options}
    target = accesses.TARGET
    traffic = launch(kernel, passed, access.grid, options, target=target, banks=True)
    by_l1 = counted["shared_load_conflicts"] + counted["shared_store_conflicts"]
    by_instruction = (
        counted["shared_load_extra_wavefronts"] + counted["shared_store_extra_wavefronts"]
    )
    assert traffic.shared_uncounted == []
    assert traffic.bank_conflicts == by_l1 - COLLISIONS.get(name, 0)
    assert traffic.bank_conflicts == by_instruction - FEWEST.get(name, 0)
    assert sum(traffic.bank_conflict_sites.values()) == traffic.bank_conflicts
