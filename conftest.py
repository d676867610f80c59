"""What a run takes of slow tests, of long ones, and of families, which are tests of one shape.

``--sample N``: one in N of each family. ``--sample-slow N``: of the files with other slow tests.
``--sample-long N``: of the other tests that take half a second or more, by ``SECONDS``, which
``--record-seconds`` writes: a test that it does not know always runs.

Which ones follows from ``--sample-seed``, so that a failure can be repeated. CI gives what names
the commit's files: every commit draws others, and draws the same on every machine. Without the
options every test runs; where Triton has no wheel, the tests of its engine do not.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import course  # noqa: F401  # as a learner does, before `autograder` can: kernels run in the tests
from course.check import advice
from course.engine.triton.compiling.available import has_triton

_NEED_TRITON = [
    "course/tests/engine/triton/test_*.py",
    "autograder/tests/test_*_triton.py",
    "autograder/tests/test_quoted_norms.py",
]
collect_ignore_glob = [] if has_triton() else _NEED_TRITON

#: What the long tests took when that was recorded.
SECONDS = Path(__file__).parent / "docs" / "test_seconds.json"
LONG_SECONDS = 0.5


def pytest_addoption(parser: pytest.Parser) -> None:
    """How many, and which."""
    parser.addoption("--sample", type=int, default=1, metavar="N", help="one in N of each family")
    parser.addoption(
        "--sample-slow", type=int, default=1, metavar="N", help="and of files with slow tests"
    )
    parser.addoption("--sample-long", type=int, default=1, metavar="N", help="and of long tests")
    parser.addoption("--record-seconds", action="store_true", help=f"write {SECONDS.name}")
    parser.addoption("--sample-seed", default="", metavar="TEXT", help="which ones: any text")


def pytest_configure(config: pytest.Config) -> None:
    """Advice that fails is a test that fails: a learner would get the plain verdict.

    No GPU is used, and nobody's progress is written.
    """
    advice.FAILS_ALOUD = True
    os.environ["COURSE_PROGRESS"] = "off"
    if config.getoption("--record-seconds") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Seconds())
    os.environ["COURSE_GPU"] = "off"  # a test's kernels run on the engine, also where a GPU is


class _Seconds:
    """What each test took that no other sample draws, of all workers together."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not {"slow", "family"} & report.keywords.keys():
            self.taken[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        long = {test: round(s, 1) for test, s in sorted(self.taken.items()) if s >= LONG_SECONDS}
        SECONDS.write_text(json.dumps(long, indent=0) + "\n", encoding="utf-8")


@pytest.fixture(autouse=True)
def _drawn_alike() -> None:
    """A test's random numbers are the same in every run: a failure can be repeated."""
    np.random.seed(1)  # noqa: NPY002  # the generator that tests without one of their own draw from
    torch.manual_seed(1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Takes out what this seed does not choose."""
    seconds = json.loads(SECONDS.read_text(encoding="utf-8")) if SECONDS.exists() else {}
    families: dict[tuple[str, bool], list[pytest.Item]] = {}  # slow members have their own share
    long: list[pytest.Item] = []
    files: dict[str, list[pytest.Item]] = {}  # of which a test may need the one before
    for item in items:
        slow = item.get_closest_marker("slow") is not None
        if item.get_closest_marker("family"):
            families.setdefault((item.nodeid.partition("[")[0], slow), []).append(item)
        elif slow:
            files.setdefault(item.nodeid.partition("::")[0], []).append(item)
        elif item.nodeid in seconds:
            long.append(item)
    seed, one_in = config.getoption("--sample-seed"), config.getoption("--sample")
    left_out: set[pytest.Item] = set()
    for (name, _), members in families.items():
        left_out.update(not_drawn(members, one_in, f"{seed} {name}"))
    left_out.update(not_drawn(long, config.getoption("--sample-long"), seed))
    for name in not_drawn(sorted(files), config.getoption("--sample-slow"), seed):
        left_out.update(files[name])
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def not_drawn(members: list[Any], one_in: int, seed: str) -> list[Any]:
    """All but one in so many, rounded up."""
    return random.Random(seed).sample(members, len(members) - -(-len(members) // one_in))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """What is left out, and how to run it."""
    shares = {
        "of a family": "--sample",
        "of the long ones": "--sample-long",
        "of the files with other slow ones": "--sample-slow",
    }
    told = [f"one in {n} {of}" for of, name in shares.items() if (n := config.getoption(name)) > 1]
    ignored = [f"no Triton here: {pattern} is left out" for pattern in collect_ignore_glob]
    if not told:
        return ignored
    seed = config.getoption("--sample-seed")
    drawn = f"tests: {', '.join(told)}, --sample-seed '{seed}'; `make test-all` runs all"
    return [drawn, *ignored]
