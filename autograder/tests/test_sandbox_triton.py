"""Behind the wall with Triton: what a launch compiles, what it returns, and what it cannot do."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autograder.grading.submissions import Submission
from autograder.judge.judge import course_check
from autograder.judge.pool import ENGINE, Pool, Task
from autograder.judge.sentences import Fault
from autograder.lessons.catalogue import lesson_exercises
from autograder.proof.witness import solutions_of, witnesses_of
from autograder.sandbox import walls
from autograder.sandbox.cost import started
from autograder.sandbox.doubt import WireError
from autograder.sandbox.remote import Remote, sandboxed
from autograder.sandbox.tiles import MOST_QUESTIONS
from autograder.sandbox.walls import Kind
from autograder.sandbox.wire import (
    LARGEST_HEAD_BYTES,
    decoded_result,
    decoded_run,
    encoded_fault,
    encoded_ran,
    encoded_run,
    largest_result,
)
from autograder.tests import hostile
from autograder.tests.notebooks import cell, notebook
from course.check.check import check_function, check_source
from course.engine.faults import KernelFault, Outcome
from course.engine.job import Output, Ran, Run
from course.engine.runner import Engine
from course.engine.traffic import Traffic
from course.spec.exercise import KernelExercise

MEMORY_BYTES = 2 * 2**30
ROWS, COLUMNS = 6, 500

KERNEL = """\
import torch
import triton
import triton.language as tl

@triton.jit
def row_sum(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + at, mask=at < columns, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0))
"""
LAUNCHER = (
    KERNEL
    + """\

def sums(x):
    out = torch.empty(x.shape[0], device=x.device, dtype=torch.float32)
    row_sum[(x.shape[0],)](x, out, x.shape[1], BLOCK=512)
    return out
"""
)
REFUSED = """\
import triton
import triton.language as tl

@triton.jit
def row_sum(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, 8)
    x = tl.load(x_ptr + at[:, None] * 8 + at[None, :]).to(tl.float16)
    tl.store(out_ptr + at[:, None] * 8 + at[None, :], tl.dot(x, x))
"""


def _kinds() -> list[Kind]:
    landlock = walls.landlock_works().works and walls.seccomp_works().works
    works = {Kind.BUBBLEWRAP: walls.bubblewrap_works().works, Kind.LANDLOCK: landlock}
    return [kind for kind, there in works.items() if there]


@pytest.fixture(scope="module", params=_kinds(), ids=lambda kind: kind.value)
def wall(request: pytest.FixtureRequest) -> Iterator[Remote]:
    process, connection = started(request.param, ENGINE)
    yield Remote(connection, "row_sum", 60.0, MEMORY_BYTES)
    walls.end(process)


@pytest.fixture(scope="module", params=_kinds(), ids=lambda kind: kind.value)
def villain(request: pytest.FixtureRequest) -> Iterator[Remote]:
    process, connection = started(request.param, hostile.NAME)
    yield Remote(connection, "row_sum", 60.0, MEMORY_BYTES)
    walls.end(process)


@pytest.mark.slow
def test_a_constant_of_heuristics_is_worked_out_behind_the_wall_as_in_a_notebook(
    wall: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = next(e for e in lesson_exercises("fusion") if e.name == "quantised_matmul")
    assert isinstance(exercise, KernelExercise)
    solution, heuristics = solutions_of("fusion")[exercise.name], "@triton.heuristics({%s})\n"
    rows = '"BM": lambda args: min(64, max(16, triton.next_power_of_2(args["M"])))'
    for old, new in (
        ("@triton.jit\n", heuristics % rows + "@triton.jit\n"),
        ("    rows = min(64, max(16, triton.next_power_of_2(M)))\n", ""),
        ("LENGTH, rows, BN, BK)", "LENGTH, BN=BN, BK=BK)"),
    ):
        assert solution.count(old) == 1
        solution = solution.replace(old, new)
    assert check_source(exercise, solution, runner=wall).outcome is Outcome.PASS
    (tmp_path / "a_learners_cell.py").write_text(solution)
    monkeypatch.syspath_prepend(str(tmp_path))
    learner = importlib.import_module("a_learners_cell")
    found = check_function(exercise, learner.quantised_matmul)
    assert found.outcome is Outcome.PASS, str(found)
    cheat = solution.replace(rows, '"BM": lambda args: args["out"].copy_(args["x"] @ args["w"])')
    assert check_source(exercise, cheat, runner=wall).outcome is Outcome.REJECTED


def launch(source: str = KERNEL, binary: bool = False) -> Run:
    x = np.random.default_rng(1).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    arguments = {
        "x": x,
        "out": np.full(ROWS, np.nan, np.float32),
        "columns": np.int32(COLUMNS),
        "BLOCK": np.int64(512),
    }
    return Run(
        source, "row_sum", arguments, (ROWS,), (), 0, 5000,
        dialect="triton", binary=binary,
    )  # fmt: skip


def call(source: str = LAUNCHER) -> Run:
    run = launch(source)
    outputs = (Output("out", (ROWS,), "float32"),)
    return replace(run, kernel="sums", arguments={"x": run.arguments["x"]}, outputs=outputs)


def deed(text: str) -> Run:
    return replace(launch(f"# {text}\n"), kernel="k")


# ------------------------------------------------------------ the same as at home


def test_a_launch_leaves_and_counts_what_it_does_at_home(wall: Remote) -> None:
    here, there = Engine()(launch(binary=True)), wall(launch(binary=True))
    assert there.arrays["out"].tobytes() == here.arrays["out"].tobytes()
    assert there.traffic == here.traffic
    assert there.traffic.registers is not None
    assert there.traffic.registers > 0


def test_a_launchers_outputs_come_back(wall: Remote) -> None:
    here, there = Engine()(call()), wall(call())
    assert there.arrays["out"].tobytes() == here.arrays["out"].tobytes()
    assert there.traffic == here.traffic


@pytest.mark.parametrize(
    ("statement", "message_id"),
    [
        ("return None", "launcher_result"),
        ("return out, out", "launcher_result"),
        ("return x", "launcher_shape"),
        ("return torch.empty_like(out)[:5]", "launcher_shape"),
        ("assert x.shape[0] == 1", "launcher_assert"),
    ],
)
def test_what_a_launcher_returns_wrong_is_the_same_verdict_as_at_home(
    wall: Remote, statement: str, message_id: str
) -> None:
    run = call(LAUNCHER.replace("return out", statement))
    with pytest.raises(KernelFault) as here:
        Engine()(run)
    with pytest.raises(KernelFault) as there:
        wall(run)
    assert str(there.value) == str(here.value)
    if here.value.outcome is not Outcome.REJECTED:
        assert there.value.message_id == message_id


def test_an_output_that_is_read_first_is_told_as_at_home(wall: Remote) -> None:
    source = KERNEL.replace("row, tl.sum(x, axis=0)", "row, tl.load(out_ptr + row)")
    assert source != KERNEL
    run = replace(launch(source), unwritten=("out",))
    for engine in (Engine(), wall):
        with pytest.raises(KernelFault) as caught:
            engine(run)
        assert caught.value.outcome is Outcome.UNINITIALISED
        assert caught.value.fields["array"] == "out_ptr"


def test_what_the_compiler_refuses_is_said_as_at_home(wall: Remote) -> None:
    with pytest.raises(KernelFault) as here:
        Engine()(launch(REFUSED))
    with pytest.raises(KernelFault) as there:
        wall(launch(REFUSED))
    assert there.value.outcome is Outcome.DOES_NOT_COMPILE
    assert there.value.line == here.value.line == 8
    assert str(there.value) == str(here.value)


def test_a_whole_check_behind_the_wall_says_what_it_says_at_home(wall: Remote) -> None:
    check = sandboxed(wall.connection, 60.0, MEMORY_BYTES)
    exercises = {e.name: e for e in lesson_exercises("hello_triton")}
    outcomes = set()
    for witness in witnesses_of("hello_triton")[:12]:
        exercise = exercises[witness.exercise]
        assert isinstance(exercise, KernelExercise)
        if witness.outcome is not Outcome.TIMED_OUT:
            at_home = course_check(exercise, witness.source, exercise.cases[:2], 3)
            there = check(exercise, witness.source, exercise.cases[:2], 3)
            assert there == at_home, witness.name
            outcomes.add(at_home.outcome)
    assert len(outcomes) >= 2


@pytest.mark.slow
def test_another_gpus_compiler_is_heard_where_the_answer_is_right(wall: Remote) -> None:
    check = sandboxed(wall.connection, 60.0, MEMORY_BYTES)
    exercise = next(e for e in lesson_exercises("fusion") if e.name == "quantised_matmul")
    cells = {w.name: w.source for w in witnesses_of("fusion") if w.exercise == exercise.name}
    assert isinstance(exercise, KernelExercise)
    cases = [case for case in exercise.cases if case.traffic]
    # No Triton until 3.9 compiles a tl.dot of int8 for a T4.
    wrong = cells["inputs_cut_to_int8"]
    at_home = course_check(exercise, wrong, cases, 3)
    assert at_home.outcome is Outcome.WRONG_ANSWER
    assert check(exercise, wrong, cases, 3) == at_home
    right = cells["strip_of_128"]
    product = next(line for line in right.splitlines() if "tl.dot(" in line)
    indent = product[: len(product) - len(product.lstrip())]
    also = f"{indent}total += 0 * tl.dot(a.to(tl.int8), b).to(tl.float32)"
    right = right.replace(product, f"{product}\n{also}")
    assert course_check(exercise, right, cases, 3).outcome is Outcome.PASS
    there = check(exercise, right, cases, 3)
    assert there.outcome is Outcome.DOES_NOT_COMPILE
    assert there.message.startswith("Right for compute capability 8.0, but for a T4 (7.5)")
    assert there.line is not None
    assert right.splitlines()[there.line - 1] == also


# ------------------------------------------------------------ what it cannot do


@pytest.mark.parametrize("forbidden", ["fork", "bomb", "run /bin/true", "kill", "trace"])
def test_no_process_is_made_killed_or_traced(villain: Remote, forbidden: str) -> None:
    assert says(villain, forbidden) == "refused: Operation not permitted"


def test_it_holds_its_answer_two_pipes_to_the_assembler_and_what_that_made(villain: Remote) -> None:
    assert says(villain, "handles") == "0 1 2 3 4 5 6"


def test_what_is_no_ptx_is_refused_in_words(villain: Remote) -> None:
    for text in ("", "no PTX", ".version 8.0\n.target sm_80\n", "x" * 100_000):
        assert says(villain, f"assemble {json.dumps([1, 80, text])}").startswith("error: ")
    assert says(villain, f"assemble {json.dumps([1, 12345, 'x'])}") == "error: no such target"


def test_the_assembler_answers_so_often_and_no_more(villain: Remote) -> None:
    ends = ("error: it gave no answer in time", "error: it takes no more")
    assert says(villain, f"assemble {json.dumps([MOST_QUESTIONS + 1, 12345, 'x'])}") in ends
    assert says(villain, f"assemble {json.dumps([1, 80, 'x' * (9 << 20)])}") in ends
    assert says(villain, f"assemble {json.dumps([1, 12345, 'x'])}") == "error: no such target"


@pytest.mark.parametrize("end", ["abort", "exit"])
def test_a_compiler_that_takes_its_process_with_it_is_told_in_words(
    villain: Remote, end: str
) -> None:
    with pytest.raises(KernelFault, match="broke off while it compiled `warm_up`") as caught:
        villain(deed(f"crash {end} compiling"))
    assert caught.value.outcome is Outcome.DOES_NOT_COMPILE
    # What ends the process once the compiler is done is no fault of the kernel's.
    with pytest.raises(Fault, match="ended without a result"):
        villain(deed(f"crash {end} behind"))


def test_a_numba_launch_imports_no_torch() -> None:
    process, connection = started(_kinds()[0], hostile.NAME)
    try:
        remote = Remote(connection, "k", 60.0, MEMORY_BYTES)
        run = replace(deed("loaded torch"), dialect="numba", block=(32,))
        assert says_of(remote, run) == "False"
        assert says_of(remote, deed("loaded torch")) == "True"
    finally:
        walls.end(process)


def says(remote: Remote, text: str) -> str:
    return says_of(remote, deed(text))


def says_of(remote: Remote, run: Run) -> str:
    with pytest.raises(KernelFault) as caught:
        remote(run)
    said: str = json.loads(str(caught.value.fields["detail"]))
    return said


# ------------------------------------------------------------ the wire


def test_a_run_keeps_all_that_is_tritons_over_the_wire() -> None:
    sent = replace(call(), cache=True, binary=True, unwritten=("x",))
    got = decoded_run(encoded_run(sent))
    plain = {name: getattr(got, name) for name in vars(sent) if name != "arguments"}
    assert plain == {name: getattr(sent, name) for name in plain}


def test_outputs_are_read_by_what_was_asked_for() -> None:
    run = call()
    out = np.arange(ROWS, dtype=np.float32)
    x = run.arguments["x"]
    traffic = Traffic(
        registers=40,
        spill_bytes=0,
        longest_program=7,
        block_bytes=96,
        busy_turns=5,
        idle_turn_sites={9: 3},
        dram_bytes=64,
    )
    data = encoded_ran(Ran({"x": x, "out": out}, traffic))
    ran = decoded_result(data, run)
    assert ran.arrays["out"].tolist() == [0, 1, 2, 3, 4, 5]
    assert ran.traffic == traffic
    assert ran.elsewhere is None
    assert largest_result(run) == 4 + LARGEST_HEAD_BYTES + x.nbytes + out.nbytes
    with pytest.raises(WireError, match="the array out is short of 24 bytes"):
        decoded_result(encoded_ran(Ran({"x": x}, traffic)), run)
    with pytest.raises(WireError, match="4 bytes follow"):
        decoded_result(data + b"more", run)


def test_what_another_gpus_compiler_says_comes_with_the_result() -> None:
    run = launch()
    arrays = {name: v for name, v in run.arguments.items() if isinstance(v, np.ndarray)}
    fields = {"gpu": "T4", "target": "7.5", "kernel": "row_sum", "detail": "no"}
    refused = KernelFault(Outcome.DOES_NOT_COMPILE, "tile_elsewhere", 7, **fields)
    ran = decoded_result(encoded_ran(Ran(arrays, Traffic(), refused)), run)
    assert str(ran.elsewhere) == str(refused)
    race = KernelFault(Outcome.RACE, "tile_race", 7)
    with pytest.raises(WireError, match="no compiler comes to RACE"):
        decoded_result(encoded_ran(Ran(arrays, Traffic(), race)), run)


def test_only_a_launcher_is_wrong_by_itself() -> None:
    wrong = KernelFault(Outcome.WRONG_ANSWER, "launcher_result", None, name="out", got="nothing")
    with pytest.raises(KernelFault, match="out"):
        decoded_result(encoded_fault(wrong), call())
    for outcome, message_id in (
        (Outcome.WRONG_ANSWER, "never_written"),
        (Outcome.PASS, "passed"),
        (Outcome.TOO_MUCH_TRAFFIC, "tile_race"),
        (Outcome.NOT_MEASURED, "not_measured"),
    ):
        with pytest.raises(WireError):
            decoded_result(encoded_fault(KernelFault(outcome, message_id, 1)), call())


# ------------------------------------------------------------ the whole grader


@pytest.mark.slow
def test_a_lessons_notebook_is_judged_behind_the_wall() -> None:
    honest = {w.exercise: w for w in reversed(witnesses_of("hello_triton")) if w.is_honest}
    wrong = next(w for w in witnesses_of("hello_triton") if w.outcome is Outcome.OUT_OF_BOUNDS)
    names = [wrong.exercise, next(name for name in honest if name != wrong.exercise)]
    cells = [cell(wrong.source, names[0]), cell(honest[names[1]].source, names[1])]
    task = Task(
        Submission("vega", "06_hello_triton", "hello_triton", Path("vega.ipynb"), None),
        json.dumps(notebook(cells)).encode(),
        names,
    )
    with Pool(b"seed") as pool:
        got = {a.graded.exercise: a.graded for a in pool.run([task]) if a.graded is not None}
    assert got[names[0]].outcome == "OUT_OF_BOUNDS"
    assert got[names[1]].outcome == "PASS", got[names[1]].message
    assert got[names[1]].points == got[names[1]].max_points
