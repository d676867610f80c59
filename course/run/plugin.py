"""`pytest -p course.run.plugin`: tests find a GPU, and a kernel's mistake fails its test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from course.engine import stated_gpu
from course.engine.faults import KernelFault
from course.engine.triton.compiling.available import require_triton
from course.notebook.measure import TARGETS, Measured, measure
from course.run import report

_found = pytest.StashKey[Measured]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--target``, ``--bounds``, ``--unwritten``, ``--equal-stores`` and ``--traffic``."""
    group = parser.getgroup("course.run", "Triton and Numba kernels without a GPU")
    group.addoption("--target", "--gpu", choices=list(TARGETS), default=f"sm_{stated_gpu.TARGET}",
                    help="the GPU that the tests find (default: %(default)s)")  # fmt: skip
    group.addoption("--bounds", choices=("view", "allocation"), default="view",
                    help="how far a kernel may reach (default: %(default)s)")  # fmt: skip
    group.addoption("--unwritten", choices=("told", "let"), default="told",
                    help="loads of what nothing has written (default: %(default)s)")  # fmt: skip
    group.addoption("--equal-stores", choices=("told", "noted"), default="told",
                    help="stores of one value to one place (default: %(default)s)")  # fmt: skip
    group.addoption("--traffic", action="store_true",
                    help="end with a table of what the kernels asked of memory")  # fmt: skip


def _nothing(fault: KernelFault) -> None:
    """A test hears of a fault by itself."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before the first test file is imported, which may ask for a GPU there and then."""
    require_triton()
    from course.run.launches import Findings, started

    options = early_config.known_args_namespace
    target, noted = int(options.target.removeprefix("sm_")), options.equal_stores == "noted"
    found = Findings(False, _nothing, report.note if noted else None)
    started(target, options.bounds, options.unwritten, found)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """All tests run measured."""
    with measure(session.config.getoption("--target")) as traffic:
        session.config.stash[_found] = traffic
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Below a test that a kernel's mistake has failed: in which file, and what to do."""
    made: Any = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, KernelFault):
        made.get_result().sections.append(("the kernel", report.in_words(call.excinfo.value)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table, where it is asked for."""
    config = terminalreporter.config
    traffic = config.stash.get(_found, None)
    if traffic is not None and config.getoption("--traffic"):
        terminalreporter.section("traffic by kernel and line")
        terminalreporter.line(report.table(traffic))
