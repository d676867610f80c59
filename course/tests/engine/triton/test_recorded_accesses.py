"""Accesses that nobody arranged well: an H200 counted, and computed, this compiler's code."""

import pytest

from course.engine.triton.launch import launch  # after the wheel that it needs
from course.tests.engine.triton import accesses
from course.tests.engine.triton.record import digest
from course.tests.engine.triton.versions import recorded

RECORD, pytestmark = recorded("h200_accesses.json")
#: What the record counts of each direction: plain atomics and those whose result nobody wants.
KINDS = {"loads": ("load",), "stores": ("store",), "atomics": ("atomic", "reduction")}


def test_every_launch_of_the_table_was_recorded_and_no_other():
    assert set(RECORD["counted"]) == set(accesses.ACCESSES)
    assert len(accesses.ACCESSES) >= 100


@pytest.mark.parametrize("name", accesses.ACCESSES)
@pytest.mark.family
def test_requests_sectors_and_result_are_the_gpus(name):
    access, counted = accesses.ACCESSES[name], RECORD["counted"][name]
    tensors, passed = accesses.arguments(access)
    kernel = getattr(accesses, access.kernel)
    options = {**access.constants, **access.options}
    traffic = launch(kernel, passed, access.grid, options, target=accesses.TARGET)
    for direction, kinds in KINDS.items():
        totals = getattr(traffic, direction)
        assert totals.requests == sum(counted[f"{kind}_requests"] for kind in kinds), direction
        assert totals.sectors == sum(counted[f"{kind}_sectors"] for kind in kinds), direction
    assert digest([tensors[-1].numpy()]) == counted["result"]
