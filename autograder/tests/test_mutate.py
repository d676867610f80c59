"""Mutants: what is made from a solution, what becomes of it, and what the command says."""

import argparse
import ast
from pathlib import Path

import pytest

from autograder import mutate
from autograder.mutants import Mutant, mutants_of
from autograder.mutate import Fate, ListError, Tally, judged, read_reasons
from autograder.witness import solutions_of
from course import exercises
from course.exercise import Exercise
from course.faults import Outcome

SEEDS = ("test 1",)


def exercise_and_mutants(stem: str, name: str) -> tuple[Exercise, tuple[Mutant, ...]]:
    exercise = exercises.lesson(stem)[name]
    return exercise, mutants_of(exercise, solutions_of(stem)[name])


def fate_of(stem: str, name: str, was: str, becomes: str) -> Fate:
    """What comes of one edit of a solution."""
    exercise, mutants = exercise_and_mutants(stem, name)
    chosen = [m for m in mutants if (m.was, m.becomes) == (was, becomes)]
    assert chosen, f"no such edit; there are {[m.diff for m in mutants if m.was == was]}"
    return next(judged(exercise, chosen[:1], SEEDS))


@pytest.mark.parametrize(
    ("stem", "name", "was", "becomes", "outcome"),
    [
        ("threads", "vector_add", "if i < c.size:", "", Outcome.OUT_OF_BOUNDS),
        ("threads", "vector_add", "if i < c.size:", "if i <= c.size:", Outcome.OUT_OF_BOUNDS),
        (
            "threads",
            "index_2d",
            "col, row = cuda.grid(2)",
            "row, col = cuda.grid(2)",
            Outcome.TOO_MUCH_TRAFFIC,
        ),
        ("shared_memory", "shared_reverse", "cuda.syncthreads()", "", Outcome.RACE),
        (
            "shared_memory",
            "transpose_padded",
            "tile = cuda.shared.array((TILE, 33), float32)",
            "tile = cuda.shared.array((TILE, 34), float32)",
            Outcome.BANK_CONFLICTS,
        ),
    ],
)
def test_a_mutant_gets_the_verdict_of_its_mistake(
    stem: str, name: str, was: str, becomes: str, outcome: Outcome
) -> None:
    fate = fate_of(stem, name, was, becomes)
    assert (fate.outcome, fate.survived) == (outcome, False)


def test_a_whole_warp_behind_the_end_is_seen_by_hidden_cases_alone() -> None:
    fate = fate_of(
        "shared_memory",
        "warp_sum",
        "if i % 32 == 0 and i < a.size:",
        "if i % 32 == 0 and i <= a.size:",
    )
    assert fate.by_hidden
    assert fate.outcome is Outcome.OUT_OF_BOUNDS


def test_any_thread_may_store_a_sum_so_that_mutant_survives() -> None:
    fate = fate_of("shared_memory", "block_sum", "if t == 0:", "if t == 1:")
    assert fate.survived
    assert fate.mutant.key in read_reasons()


def test_every_changed_number_fails() -> None:
    exercise, mutants = exercise_and_mutants("roofline", "waves")
    fates = list(judged(exercise, mutants, SEEDS))
    assert len(fates) > 60
    assert not any(fate.survived for fate in fates)


def test_a_mutant_is_a_whole_cell_and_differs_from_the_others() -> None:
    for stem, name in (("matmul", "matmul_tiled"), ("shared_memory", "histogram")):
        _, mutants = exercise_and_mutants(stem, name)
        for mutant in mutants:
            ast.parse(mutant.source)
        assert len({m.source for m in mutants}) == len({m.key for m in mutants}) == len(mutants)


def test_mutants_of_one_solution_hold_every_kind_of_mistake() -> None:
    _, mutants = exercise_and_mutants("shared_memory", "histogram")
    edits = {(m.was, m.becomes) for m in mutants}
    data = "cuda.atomic.add(private, data[i], 1)"
    assert {
        (data, "private[data[i]] += 1"),
        ("private = cuda.shared.array(BINS, int32)", "private = cuda.shared.array(BINS, np.int8)"),
        ("if t < BINS:", "if t <= BINS:"),
        ("cuda.syncthreads()", ""),
        (data, "cuda.atomic.add(private, data[i + 1], 1)"),
        ("", "for again in range(2): ; cuda.syncthreads()"),
        ("", "if t != counts.shape[0] - 1:"),
    } <= edits


def tally(survived: bool, reasons: dict[mutate.Key, str]) -> Tally:
    mutant = Mutant("double", "comparison", "if a:", "if b:", 1, 3, "")
    return Tally("start", "double", [Fate(mutant, Outcome.PASS, survived, False, 0.0)], reasons)


def test_a_survivor_fails_with_its_diff_unless_a_reason_is_listed() -> None:
    (failure,) = tally(True, {}).failures
    assert "- if a:" in failure
    assert "+ if b:" in failure
    listed = {("double", "if a:", "if b:", 1): "the same"}
    assert list(tally(True, listed).failures) == []


def test_a_listed_mutant_that_does_not_survive_fails() -> None:
    (failure,) = tally(False, {("double", "if a:", "if b:", 1): "the same"}).failures
    assert "does not survive" in failure


def test_an_entry_without_a_reason_is_named(tmp_path: Path) -> None:
    listed = tmp_path / "list.toml"
    listed.write_text('[[mutant]]\nexercise = "dot"\nwas = "x"\nbecomes = ["y"]\nreason = " "\n')
    with pytest.raises(ListError, match="entry 1 lacks a reason"):
        read_reasons(listed)


def test_the_command_names_an_unknown_lesson(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = argparse.Namespace(lessons=["treads"], exercise=None, jobs=1)
    assert mutate.main(arguments) == 1
    assert "There is no lesson 'treads'" in capsys.readouterr().err
