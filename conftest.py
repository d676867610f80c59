"""Families of tests: hundreds of one shape, of which a run with ``--sample N`` takes one in N.

Which ones follows from ``--sample-seed`` (CI gives the date), so that runs go through all of them
in turn and a failure can be repeated. Without ``--sample`` every test runs.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

import course  # noqa: F401  # as a learner does, before `autograder` can: kernels run in the tests
from course.check import advice


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--sample`` and ``--sample-seed``."""
    parser.addoption("--sample", type=int, default=1, metavar="N", help="one in N of each family")
    parser.addoption("--sample-seed", default="", metavar="TEXT", help="which ones: any text")


def pytest_configure(config: pytest.Config) -> None:
    """Advice that fails is a test that fails: a learner would get the plain verdict.

    No GPU is used, and nobody's progress is written.
    """
    advice.FAILS_ALOUD = True
    os.environ["COURSE_PROGRESS"] = "off"
    os.environ["COURSE_GPU"] = "off"  # a test's kernels run on the engine, also where a GPU is


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes out the tests of each family (a marked function) that this seed does not choose."""
    one_in = config.getoption("--sample")
    families: dict[str, list[pytest.Item]] = {}
    for item in items:
        if one_in > 1 and item.get_closest_marker("family"):
            families.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for name, members in families.items():
        left_out.update(not_drawn(members, one_in, f"{config.getoption('--sample-seed')} {name}"))
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def not_drawn(members: list[Any], one_in: int, seed: str) -> list[Any]:
    """All but one in so many, rounded up."""
    return random.Random(seed).sample(members, len(members) - -(-len(members) // one_in))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """What is left out, and how to run it."""
    one_in, seed = config.getoption("--sample"), config.getoption("--sample-seed")
    if one_in <= 1:
        return []
    return [f"families: one test in {one_in}, --sample-seed '{seed}'; `make test-all` runs all"]
