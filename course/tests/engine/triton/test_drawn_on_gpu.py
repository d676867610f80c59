"""Kernels drawn by number: results are those of an H200 to the bit.

Of one in eight the record has requests and sectors, too.
"""

import re

import pytest

from course.engine.triton.launch import launch  # after the wheel that it needs
from course.tests.engine.triton.accesses import TARGET
from course.tests.engine.triton.drawn_on_gpu import OUTPUTS, name_of, numbered
from course.tests.engine.triton.record import digest
from course.tests.engine.triton.test_recorded_accesses import KINDS
from course.tests.engine.triton.versions import recorded

RECORD, pytestmark = recorded("h200_drawn.json")
NAMES = tuple(RECORD["counted"])
_BRANCH = re.compile(r"\b(?:if|for|while|helper\d)\b")
COUNTED = tuple(name for name in NAMES if len(RECORD["counted"][name]) > 1)


def test_a_number_names_the_kernel_that_was_run():
    assert len(NAMES) >= 2000
    assert len(COUNTED) >= 300
    for name in NAMES:
        number = int(name.split()[0])
        assert name == name_of(number, numbered(number))


@pytest.mark.parametrize("name", COUNTED[::5])
@pytest.mark.family
def test_requests_sectors_and_results_are_the_gpus(name):
    agrees(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*COUNTED, *NAMES[1::8]])
def test_and_so_are_those_of_many_more(name):
    agrees(name)


def agrees(name: str) -> None:
    """One kernel on the engine, beside what the GPU did.

    Where a kernel branches, ptxas moves a load to the branch that uses it, and makes none for the
    programs of the other one: the GPU counts fewer sectors, and never more.
    """
    one, counted = numbered(int(name.split()[0])), RECORD["counted"][name]
    passed = one.arguments()
    traffic = launch(one.kernel(), passed, one.grid, {}, target=TARGET)
    assert digest(passed[at].numpy() for at in OUTPUTS) == counted["result"]
    straight = _BRANCH.search(one.source, one.source.index("def kernel")) is None
    for direction, kinds in KINDS.items() if name in COUNTED else ():
        for of in ("requests", "sectors"):
            asked = getattr(getattr(traffic, direction), of)
            made = sum(counted[f"{kind}_{of}"] for kind in kinds)
            assert asked == made or not straight, (direction, of)
            assert asked >= made or of == "requests", direction
