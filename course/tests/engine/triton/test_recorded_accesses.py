"""Accesses that nobody arranged well, and Gluon's: an H200 counted, and computed, this code."""

import pytest

from course.engine.triton.launch import launch  # after the wheel that it needs
from course.tests.engine.triton import accesses, gluon_accesses
from course.tests.engine.triton.accesses import ACCESSES
from course.tests.engine.triton.gluon_accesses import GLUON
from course.tests.engine.triton.record import digest
from course.tests.engine.triton.versions import recorded

RECORD, pytestmark = recorded("h200_accesses.json")
OF_GLUON, _ = recorded("h200_gluon.json")
#: What the record counts of each direction: plain atomics and those whose result nobody wants.
KINDS = {"loads": ("load",), "stores": ("store",), "atomics": ("atomic", "reduction")}


def test_every_launch_of_the_tables_was_recorded_and_no_other():
    assert set(RECORD["counted"]) == set(ACCESSES)
    assert len(ACCESSES) >= 100
    assert set(OF_GLUON["counted"]) == set(GLUON)
    assert len(GLUON) >= 60
    assert RECORD["provenance"]["triton"] == OF_GLUON["provenance"]["triton"]


def _as_counted(access, kernels, counted, banks=False):
    """Makes a launch, and holds its requests, sectors and result to the GPU's; gives its traffic.

    With `banks` bank conflicts are counted, too.
    """
    tensors, passed = accesses.arguments(access)
    kernel, options = getattr(kernels, access.kernel), {**access.constants, **access.options}
    traffic = launch(kernel, passed, access.grid, options, target=accesses.TARGET, banks=banks)
    for direction, kinds in KINDS.items():
        totals = getattr(traffic, direction)
        assert totals.requests == sum(counted[f"{kind}_requests"] for kind in kinds), direction
        assert totals.sectors == sum(counted[f"{kind}_sectors"] for kind in kinds), direction
    assert digest([tensors[-1].numpy()]) == counted["result"]
    return traffic


@pytest.mark.parametrize("name", ACCESSES)
@pytest.mark.family
def test_requests_sectors_and_result_are_the_gpus(name):
    _as_counted(ACCESSES[name], accesses, RECORD["counted"][name])


@pytest.mark.parametrize("name", GLUON)
@pytest.mark.family
def test_gluons_are_too_and_its_bank_conflicts(name):
    counted = OF_GLUON["counted"][name]
    traffic = _as_counted(GLUON[name], gluon_accesses, counted, banks=True)
    conflicts = counted["shared_load_conflicts"] + counted["shared_store_conflicts"]
    assert traffic.bank_conflicts == conflicts
