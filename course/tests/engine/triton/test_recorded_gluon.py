"""Gluon's kernels: an H200 counted, and computed, this compiler's code."""

import pytest

from course.engine.triton.launch import launch  # after the wheel that it needs
from course.tests.engine.triton import accesses, gluon_accesses
from course.tests.engine.triton.record import digest
from course.tests.engine.triton.versions import recorded

RECORD, pytestmark = recorded("h200_gluon.json")
#: What the record counts of each direction: plain atomics and those whose result nobody wants.
KINDS = {"loads": ("load",), "stores": ("store",), "atomics": ("atomic", "reduction")}


def test_every_launch_of_the_table_was_recorded_and_no_other():
    assert set(RECORD["counted"]) == set(gluon_accesses.GLUON)
    assert len(gluon_accesses.GLUON) >= 60


@pytest.mark.parametrize("name", gluon_accesses.GLUON)
@pytest.mark.family
def test_requests_sectors_bank_conflicts_and_result_are_the_gpus(name):
    access, counted = gluon_accesses.GLUON[name], RECORD["counted"][name]
    tensors, passed = accesses.arguments(access)
    kernel = getattr(gluon_accesses, access.kernel)
    options = {**access.constants, **access.options}
    traffic = launch(
        kernel, passed, access.grid, options, target=accesses.TARGET, banks=True
    )  # fmt: skip
    for direction, kinds in KINDS.items():
        totals = getattr(traffic, direction)
        assert totals.requests == sum(counted[f"{kind}_requests"] for kind in kinds), direction
        assert totals.sectors == sum(counted[f"{kind}_sectors"] for kind in kinds), direction
    conflicts = counted["shared_load_conflicts"] + counted["shared_store_conflicts"]
    assert traffic.bank_conflicts == conflicts
    assert digest([tensors[-1].numpy()]) == counted["result"]
