"""Mutants: what is made from a solution, what becomes of it, and what the command says."""

import argparse
import ast
import json
from collections import Counter
from pathlib import Path

import pytest

from autograder.lessons.catalogue import lessons
from autograder.proof import mutate
from autograder.proof.mutants import Mutant, mutants_of
from autograder.proof.mutate import Fate, ListError, Tally, judged, read_reasons
from autograder.proof.witness import solutions_of
from course import exercises
from course.engine.faults import KernelFault, Outcome
from course.engine.triton.compiling.found import Resources
from course.spec.exercise import Exercise

SEEDS = ("test 1",)
RECORD = Path(__file__).resolve().parents[2] / "docs" / "mutation.json"


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
        (
            "hello_triton",
            "triton_add",
            "tl.store(out_ptr + offsets, x + y, mask=inside)",
            "tl.store(out_ptr + offsets, x + y)",
            Outcome.OUT_OF_BOUNDS,
        ),
        (
            "hello_triton",
            "row_scale",
            "rows = tl.program_id(0) * BM + tl.arange(0, BM)",
            "rows = tl.program_id(1) * BM + tl.arange(0, BM)",
            Outcome.RACE,
        ),
        (
            "hello_triton",
            "triton_add",
            "",
            "again = tl.load(y_ptr + offsets, mask=inside, volatile=True)",
            Outcome.TOO_MUCH_TRAFFIC,
        ),
        (
            "softmax",
            "softmax_one_pass",
            "x = tl.load(x_ptr + at, mask=columns < N, other=-float('inf'))",
            "x = tl.load(x_ptr + at, other=0.0, mask=columns < N)",
            Outcome.WRONG_ANSWER,
        ),
        (
            "attention_backward",
            "flash_delta",
            "row_dots[triton.cdiv(H * N, ROWS),](out, dout, delta, H * N, D=D, ROWS=ROWS)",
            "row_dots[H * N // ROWS,](out, dout, delta, H * N, D=D, ROWS=ROWS)",
            Outcome.REJECTED,
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


def test_mutants_of_a_triton_cell_hold_every_kind_of_mistake() -> None:
    _, mutants = exercise_and_mutants("softmax", "softmax_online")
    edits = {(m.was, m.becomes) for m in mutants}
    load = "x = tl.load(x_ptr + row + columns, mask=columns < N{})"
    padded = load.format(", other=-float('inf')")
    total = "total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift), axis=0)"
    store = "tl.store(out_ptr + row + columns, weights / total, mask={})"
    assert {
        (padded, "x = tl.load(x_ptr + row + columns)"),
        (padded, load.format("")),
        (padded, load.format(", other=0.0")),
        (padded, padded.replace("< N", "<= N")),
        (padded, padded.replace("< N", "< N - 1")),
        (store.format("columns < N"), store.format("(columns < N) & (tl.program_id(0) > 0)")),
        (total, "total = total + tl.sum(tl.exp(x - shift), axis=0)"),
        (total, total.replace("tl.sum", "tl.max")),
        (total, total.replace("axis=0", "axis=1")),
        ("x = x.to(tl.float32)", ""),
        (
            "new_top = tl.maximum(top, tl.max(x, axis=0))",
            "new_top = tl.minimum(top, tl.max(x, axis=0))",
        ),
        ("for start in range(0, N, BLOCK):", "for start in range(0, N, BLOCK * 2):"),
        ("for start in range(0, N, BLOCK):", "for start in range(0, N - 1, BLOCK):"),
        ("shift = tl.where(top == -float('inf'), 0.0, top)", "shift = top"),
        ("top = new_top", ""),
        ("", store.format("columns < N")),
    } <= edits


def test_an_array_whose_shape_and_type_are_named_has_mutants_of_another_type() -> None:
    exercise, _ = exercise_and_mutants("shared_memory", "shared_reverse")
    source = solutions_of("shared_memory")["shared_reverse"]
    named = source.replace("array(REVERSED, float32)", "array(dtype=float32, shape=REVERSED)")
    assert named != source
    becomes = {mutant.becomes for mutant in mutants_of(exercise, named)}
    assert any("shared.array(REVERSED, " in text and "float16" in text for text in becomes)


def test_mutants_of_a_launcher_have_another_grid_other_types_and_other_arguments() -> None:
    _, mutants = exercise_and_mutants("fusion", "triton_matmul")
    edits = {(m.was, m.becomes) for m in mutants}
    grid = "grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))"
    result = "C = torch.empty((M, N), dtype=torch.float32, device=A.device)"
    launch = "matmul_kernel[grid]({}, C, M, N, K, am, ak, bk, bn, BM, BN, BK)"
    assert {
        (grid, "grid = (M // BM, triton.cdiv(N, BN))"),
        (grid, "grid = (triton.cdiv(M, BM), triton.cdiv(N, BN) - 1)"),
        (grid, "grid = (triton.cdiv(N, BN), triton.cdiv(M, BM))"),
        (result, result.replace("float32", "float16")),
        (launch.format("A, B"), launch.format("B, A")),
        ("am, ak = A.stride()", "ak, am = A.stride()"),
        ("total = tl.dot(a, b, total)", "total = tl.dot(b, a, total)"),
        ("total = tl.dot(a, b, total)", "total = tl.dot(a, b)"),
        ("total = tl.zeros((BM, BN), tl.float32)", "total = tl.zeros((BM, BN), tl.float16)"),
    } <= edits


def test_a_long_triton_kernel_has_a_limited_number_of_mutants_of_every_rule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, some = exercise_and_mutants("attention_backward", "flash_dkdv")
    monkeypatch.setattr("autograder.proof.mutants.MOST_TRITON", 10_000)
    _, every = exercise_and_mutants("attention_backward", "flash_dkdv")
    assert len(some) == 60 < len(every)
    assert {m.rule for m in some} == {m.rule for m in every}
    assert {m.source for m in some} < {m.source for m in every}


def test_the_compiler_sees_only_what_passes_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []

    def refuses(source: object, *_: object, **__: object) -> Resources:
        compiled.append(source)
        raise KernelFault(Outcome.DOES_NOT_COMPILE, "tile_compiler_died", None)

    monkeypatch.setattr("course.engine.triton.compiling.gate.begin", refuses)
    launch = "row_dots[triton.cdiv(H * N, ROWS),]({}, delta, H * N, D=D, ROWS=ROWS)"
    right = launch.format("out, dout")
    killed = fate_of(
        "attention_backward",
        "flash_delta",
        right,
        right.replace("cdiv(H * N, ROWS)", "cdiv(H * N, ROWS) - 1"),
    )
    assert (killed.survived, compiled) == (False, [])
    passing = fate_of("attention_backward", "flash_delta", right, launch.format("dout, out"))
    assert passing.stillborn
    assert len(compiled) == 1


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


def test_the_command_names_a_listed_exercise_that_does_not_exist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mutate, "read_reasons", lambda: {("dots", "x", "y", 1): "the same"})
    assert mutate.main(argparse.Namespace(lessons=["start"], exercise=None, jobs=1)) == 1
    assert "equivalent_mutants.toml lists 'dots': there is no such exercise" in (
        capsys.readouterr().err
    )


def test_the_command_names_an_unknown_lesson(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = argparse.Namespace(lessons=["treads"], exercise=None, jobs=1)
    assert mutate.main(arguments) == 1
    assert "There is no lesson 'treads'" in capsys.readouterr().err


def test_the_record_holds_every_exercise_and_no_survivor() -> None:
    kept = json.loads(RECORD.read_text(encoding="utf-8"))["exercises"]
    every = [exercise.name for exercises in lessons().values() for exercise in exercises]
    assert sorted(kept) == sorted(every)
    assert sum(one["mutants"] for one in kept.values()) >= 400
    assert {name: one["survivors"] for name, one in kept.items() if one["survivors"]} == {}
    listed = Counter(key[0] for key in read_reasons())
    assert {n: one["equivalent"] for n, one in kept.items() if one["equivalent"]} == dict(listed)


def test_what_came_of_an_exercise_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    arguments = argparse.Namespace(lessons=["start"], exercise=None, jobs=1, out=out)
    assert mutate.main(arguments) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["command"] == "make mutate"
    for counts in found["exercises"].values():
        fates = sum(counts[name] for name in ("visible", "hidden", "equivalent", "survivors"))
        assert counts["mutants"] == fates > 0
