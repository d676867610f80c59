"""One process for a notebook's launches: who shares it, what a launch may take, what is left."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autograder.hidden import hidden_cases
from autograder.judge.judge import judge_cell
from autograder.judge.pool import ENGINE
from autograder.judge.sentences import Fault
from autograder.lessons.catalogue import lesson_exercises
from autograder.proof.witness import solutions_of, witnesses_of
from autograder.sandbox import walls
from autograder.sandbox.fork import _answer
from autograder.sandbox.limits import SLACK_BYTES, Slack
from autograder.sandbox.remote import Connection, Remote, sandboxed
from autograder.sandbox.wire import decoded_run, encoded_run
from autograder.tests import hostile
from autograder.tests.test_sandbox import SECONDS, Runner, _kinds
from course.check.check import check_source
from course.engine.faults import KernelFault, Outcome
from course.engine.job import Output, Ran, Run
from course.engine.traffic import Traffic
from course.spec.exercise import KernelExercise

#: More than what launches may leave.
MEMORY_BYTES = 2 * SLACK_BYTES


@pytest.fixture(scope="module", params=_kinds(), ids=lambda kind: kind.value)
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    started = Runner(request.param, hostile.NAME)
    yield started
    walls.end(started.process)


@pytest.fixture(scope="module")
def engine() -> Iterator[Runner]:
    """The course's own engine, behind the best wall there is."""
    started = Runner(walls.choose(trust=True).kind, ENGINE)
    yield started
    walls.end(started.process)


def left(runner: Runner, deed: str, notebooks: int = 1, launches: int = 3) -> list[list[float]]:
    """For each launch of each notebook: how many launches its process had seen by then."""
    found = []
    for _ in range(notebooks):
        remote = Remote(runner.connection, "deed", SECONDS, MEMORY_BYTES)
        runs = [runner.run(deed) for _ in range(launches)]
        found.append([float(remote(run).arrays["x"][0]) for run in runs])
        runner.connection.done()
    return found


def test_a_notebook_has_one_process_and_the_next_one_another(runner: Runner) -> None:
    assert left(runner, "leave 0 0", notebooks=2) == [[1, 2, 3], [1, 2, 3]]


def test_each_cell_has_an_engine_of_its_own() -> None:
    made: list[list[Run]] = []

    def engine() -> Callable[[Run], Ran]:
        made.append([])
        return lambda run: made[-1].append(run) or Ran({}, Traffic())  # type: ignore[func-returns-value]

    runners: dict[str, Any] = {}
    for deed in ("a", "a", "b", "a"):
        _answer(encoded_run(Runner.run(deed)), engine, runners)
    assert [[run.source for run in runs] for runs in made] == [["# a\n"] * 2, ["# b\n"], ["# a\n"]]


def test_a_launch_without_a_result_takes_its_process_with_it(runner: Runner) -> None:
    remote = Remote(runner.connection, "deed", 1.0, MEMORY_BYTES)
    assert remote(runner.run("leave 0 0")).arrays["x"][0] == 1
    for deed in ("spin", "exit 7", "babble 3", "eat", 'unframed "x"'):
        with pytest.raises(Fault):
            remote(runner.run(deed))
        assert remote(runner.run("leave 0 0")).arrays["x"][0] == 1
    runner.connection.done()


def test_each_launch_of_a_check_has_its_own_time(runner: Runner) -> None:
    remote = Remote(runner.connection, "deed", 0.5, MEMORY_BYTES)
    seen = [remote(runner.run("leave 0 0.3")).arrays["x"][0] for _ in range(4)]
    assert seen == [1, 2, 3, 4]
    runner.connection.done()


def test_what_launches_leave_takes_nothing_from_the_next_ones_memory(runner: Runner) -> None:
    most = MEMORY_BYTES / 2**20
    # Two of these would be too much for one process, and the second one gets another.
    assert left(runner, f"leave {0.7 * most} 0") == [[1, 1, 1]]
    slack = SLACK_BYTES / 2**20
    assert left(runner, f"leave {0.4 * slack} 0") == [[1, 2, 3]]


def test_a_process_that_has_worked_long_takes_no_further_launch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slack, used = Slack(), resource.getrusage(resource.RUSAGE_SELF)
    assert slack.left()
    for seconds, more in ((14.0, True), (16.0, False)):
        later = resource.struct_rusage((used[0] + seconds, *used[1:]))
        monkeypatch.setattr(resource, "getrusage", lambda _, later=later: later)
        assert slack.left() is more


def test_held_out_cases_are_sent_once_the_visible_ones_are_answered(
    engine: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = lesson_exercises("threads")[0]
    held_out = {n for case in hidden_cases(exercise.name, b"seed") for n in case.sizes.values()}
    asked: list[set[int]] = []
    ask = Connection.ask

    def noted(self: Connection, data: bytes, *limits: Any) -> Any:
        asked.append({v.size for v in decoded_run(data).arguments.values() if np.ndim(v)})
        return ask(self, data, *limits)

    monkeypatch.setattr(Connection, "ask", noted)
    source = solutions_of("threads")[exercise.name]
    check = sandboxed(engine.connection, 20.0, 2 * 2**30)
    assert judge_cell(exercise, source, b"seed", check).outcome is Outcome.PASS
    visible = len(exercise.cases)
    assert len(asked) > visible
    assert not any(sizes & held_out for sizes in asked[:visible])
    assert all(sizes & held_out for sizes in asked[visible:])


# ------------------------------------------------------------ what a kernel can leave behind


def test_a_verdict_is_the_same_whatever_ran_before_in_its_process(engine: Runner) -> None:
    """Cases forwards, backwards, and each in a process of its own."""
    exercise = next(e for e in lesson_exercises("shared_memory") if e.name == "dot")
    assert isinstance(exercise, KernelExercise)
    cases = hidden_cases(exercise.name, b"seed")
    outcomes = set()
    for witness in witnesses_of("shared_memory"):
        if witness.exercise != exercise.name or witness.outcome is Outcome.TIMED_OUT:
            continue
        runner = Remote(engine.connection, exercise.name, 20.0, 2 * 2**30)

        def alone(run: Run) -> Ran:
            return Remote(engine.connection, "alone", 20.0, 2 * 2**30)(run)

        together = check_source(exercise, witness.source, cases, 3, runner)
        assert check_source(exercise, witness.source, cases, 3, alone) == together, witness.name
        outcomes.add(together.outcome)
    assert len(outcomes) >= 4


NUMBA = """\
from numba import cuda, float32

@cuda.jit
def k(x, out):
    tile = cuda.shared.array(32, float32)
    mine = cuda.local.array(4, float32)
    i = cuda.grid(1)
    if x[i] > 0:
        tile[i] = x[i]
        for j in range(4):
            mine[j] = x[i] + j
        out[i] = x[i]
    WHAT
"""
TRITON = """\
import torch
import triton
import triton.language as tl

count = (lambda held: lambda y: (held.append(y), len(held))[1])([])

@triton.heuristics({"N": lambda args: count(args["BLOCK"])})
@triton.jit
def kernel(x_ptr, out_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x, mask=x > 0)
    WHAT

def k(x):
    held = torch.empty_like(x)
    out = torch.empty_like(x)
    kernel[(1,)](x, held, BLOCK=32)
    kernel[(1,)](x, out, BLOCK=32)
    return RETURNED
"""
#: Of each, the first launch may find its work to do and the second one not.
LEAVES = {
    "output": ("numba", NUMBA.replace("WHAT", "pass")),
    "shared": ("numba", NUMBA.replace("WHAT", "out[i] = tile[i]")),
    "local": ("numba", NUMBA.replace("WHAT", "out[i] = mine[i % 4]")),
    "argument": ("numba", NUMBA.replace("WHAT", "out[i] = out[i] + 1")),
    "allocation": ("triton", TRITON.replace("WHAT", "").replace("RETURNED", "out")),
    "another": ("triton", TRITON.replace("WHAT", "").replace("RETURNED", "held")),
    "counted": (
        "triton",
        TRITON.replace("WHAT", "tl.store(out_ptr + at, N)").replace("RETURNED", "out"),
    ),
    "configured": (
        "triton",
        TRITON.replace("count = ", "first = triton.Config({'N': 1})\ncount = ")
        .replace(
            "    held = torch", "    kept = first.kwargs\n    kept['N'] += 1\n    held = torch"
        )
        .replace('count(args["BLOCK"])', 'first.kwargs["N"]')
        .replace("WHAT", "tl.store(out_ptr + at, N)")
        .replace("RETURNED", "out"),
    ),
    "loaded": (
        "triton",
        TRITON.replace(
            "WHAT", "tl.store(out_ptr + at, tl.load(x_ptr + at, mask=x > 0), mask=at < 32)"
        ).replace("RETURNED", "out"),
    ),
    "drawn": (
        "triton",
        TRITON.replace("WHAT", "tl.store(out_ptr + at, tl.rand(3, at))").replace("RETURNED", "out"),
    ),
}


@pytest.mark.parametrize("leaves", LEAVES)
def test_a_launch_finds_nothing_of_the_one_before_it(engine: Runner, leaves: str) -> None:
    dialect, source = LEAVES[leaves]
    if dialect == "triton":
        pytest.importorskip("triton", reason="Triton has no wheel for this system")

    def launch(sign: int) -> Run:
        x = sign * np.arange(1, 33, dtype=np.float32)
        if dialect == "numba":
            out = np.full(32, np.nan, np.float32)
            return Run(source, "k", {"x": x, "out": out}, (1,), (32,), 0, 5000)
        outputs = (Output("out", (32,), "float32"),)
        words = {"dialect": "triton", "outputs": outputs}
        return Run(source, "k", {"x": x}, (), (), 0, 5000, **words)

    def came_of(remote: Remote, run: Run) -> tuple[object, ...]:
        try:
            ran = remote(run)
        except KernelFault as fault:
            return str(fault), fault.fields
        return ran.arrays["out"].tobytes(), ran.traffic

    together, alone = (Remote(engine.connection, "left", 20.0, 2 * 2**30) for _ in range(2))
    first = came_of(together, launch(1))
    assert isinstance(first[0], bytes) or leaves in ("argument", "loaded"), first
    assert came_of(together, launch(-1)) == came_of(alone, launch(-1))
