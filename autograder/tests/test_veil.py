"""A held-out verdict carries a stated number of bits, whatever a kernel makes it say."""

import json
import math
import random
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from autograder.judge import veil
from autograder.judge.judge import course_check, judge_cell, result
from autograder.judge.sentences import SENTENCES
from autograder.proof.exploit import FOLDER, Exploit, exploits
from course.engine.faults import Outcome
from course.exercises import lesson
from course.spec.exercise import Case
from course.words.sentences import WORDS
from course.words.verdict import Access, Entry, Extra, Row, SourceLine, Verdict

EXERCISES = {**lesson("threads"), **lesson("hello_triton"), **lesson("attention_backward")}
CARRIERS = [
    one
    for folder in (FOLDER, FOLDER / "triton")
    for one in exploits(folder)
    if one.name.startswith("held_out_bits")
]
#: Sizes of held-out cases, none of them a visible one's.
SIZES = (*range(257, 273), *range(1301, 1309))
MORE_SIZES = tuple(range(257, 257 + 64))


def most_verdicts() -> int:
    """How many different things a held-out verdict can say of one exercise, at most.

    That it is as on the visible cases; a sentence of the judge's own, on time or memory; a cost
    in one of the bands; entries of which some are right; any other kind with one of the lines or
    none.
    """
    kinds, dear = len(Outcome) + len(veil._KINDS), len(veil.COST)
    of_cost = (dear + 3) * len(veil.BANDS)
    return 1 + len(SENTENCES) + of_cost + (kinds - dear) * (veil.LAST_LINE_TOLD + 1)


def cases(name: str, size: int) -> tuple[Case, ...]:
    if name == "flash_delta":
        return (Case({"H": 2, "N": size, "D": 32}, traffic=True),)
    return (Case({"N": size}, traffic=True),)


def told(row: dict[str, Any]) -> tuple[object, ...]:
    """What a held-out verdict may say, and nothing besides."""
    return row["outcome"], row["message_id"], row["points"], row["line"]


def rows_of(
    one: Exploit, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> list[dict[str, Any]]:
    [name] = one.expect
    found = []
    for size in sizes:
        monkeypatch.setattr(
            "autograder.judge.judge.hidden_cases", lambda *_, s=size: cases(name, s)
        )
        verdict = judge_cell(EXERCISES[name], one.cell or "", f"seed {size}", course_check)
        found.append(result(EXERCISES[name], verdict))
    return found


def carries(rows: list[dict[str, Any]], one: Exploit) -> None:
    """The rows differ in nothing but in what the bound counts."""
    [outcome] = one.expect.values()
    assert any(row["outcome"] == outcome.value for row in rows), one.name
    assert len({json.dumps(row) for row in rows}) == len({told(row) for row in rows})
    for row in rows:
        cost = Outcome(row["outcome"]) in veil.COST
        assert row["line"] is None if cost else row["panel"].count(">▸ ") <= 1, one.name
        assert row["points"] in [round(b * row["max_points"], 2) for b in veil.BANDS]
        assert "carried out" not in re.sub(r"<td.*?</td>|line \d+ .*", "", json.dumps(row))


@pytest.mark.parametrize("one", CARRIERS, ids=lambda one: one.name)
def test_what_a_kernel_chooses_is_told_by_no_more_than_the_bound_counts(
    one: Exploit, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    carries(rows_of(one, SIZES[::2], monkeypatch), one)
    assert "carried out" not in "".join(capfd.readouterr())


@pytest.mark.slow
@pytest.mark.family
@pytest.mark.parametrize("one", CARRIERS, ids=lambda one: one.name)
def test_with_many_more_sizes(one: Exploit, monkeypatch: pytest.MonkeyPatch) -> None:
    carries(rows_of(one, MORE_SIZES, monkeypatch), one)


def test_waste_tells_the_band_of_the_points_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in CARRIERS:
        if one.name.endswith(("wasteful_lines", "wasteful_array", "amount_of_waste")):
            rows = rows_of(one, SIZES[:8], monkeypatch)
            assert len({json.dumps(row) for row in rows}) <= len(veil.BANDS) - 1, one.name


def noisy(random_: random.Random) -> Verdict:
    """A verdict of a check with something of its own in every field."""
    number = random_.randrange(1, 10**6)
    lines = [
        SourceLine(n, f"code {n}", (Access("a", "load", number, 1.5, 0.5),), bool(number >> n & 1))
        for n in range(1, 9)
    ]
    return Verdict(
        outcome=random_.choice(list(Outcome)),
        exercise="vector_add",
        message=f"message {number}",
        message_id=random_.choice(list(WORDS)),
        line=random_.choice([None, 1, 2, 3]),
        source="\n".join(line.code for line in lines),
        case_label=f"N={number}",
        case_number=number % 7,
        case_count=number % 5,
        rows=(Row("a", "load", number, 1.0, number),),
        lines=tuple(lines),
        extras=(Extra("turns", number),),
        entries=(Entry("key", "", str(number), False),),
        credit=random_.choice([0.0, 0.6, 0.61, 0.7, 0.85, 0.9999, number / 1e6]),
        max_points=8,
        next_steps=(f"next {number}",),
        commands=(f"command {number}",),
        detailed=bool(number % 2),
        wrong_at=("c", (number,)),
        internal_error=f"error {number}",
    )


def test_a_veiled_verdict_is_decided_by_what_the_bound_counts() -> None:
    random_ = random.Random(0)
    seen: dict[tuple[object, ...], Verdict] = {}
    for _ in range(3000):
        shown = veil.veiled(noisy(random_))
        key = shown.outcome, shown.message_id, shown.line, shown.credit
        assert seen.setdefault(key, shown) == shown
        assert shown.credit in veil.BANDS
        assert not (shown.outcome in veil.COST and shown.line)
        assert sum(line.marked for line in shown.lines) <= 1
    assert len(seen) <= most_verdicts()


def test_every_field_of_a_verdict_has_noise_in_this_test() -> None:
    """A new field of `Verdict` has to be looked at here."""
    empty = Verdict(Outcome.PASS, "", "", "")
    one = replace(noisy(random.Random(1)), line=3, detailed=True)
    same = [f.name for f in fields(Verdict) if getattr(one, f.name) == getattr(empty, f.name)]
    assert not set(same) - {"outcome", "credit"}


def test_nothing_is_explained_of_a_held_out_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its arrays and indices show would be more than the bound counts."""

    def explained(*_: object) -> None:
        pytest.fail("a held-out case was looked at for advice")

    for name in ("Advice", "on_the_case"):
        monkeypatch.setattr(f"course.check.stages.{name}", explained)
    repeats = "i = cuda.threadIdx.x\n    if i < c.size:\n        c[i] = a[i] + b[i]"
    cell = f"from numba import cuda\n\n\n@cuda.jit\ndef vector_add(a, b, c):\n    {repeats}\n"
    verdict = course_check(EXERCISES["vector_add"], cell, cases("vector_add", 1301), 1)
    assert verdict.outcome is Outcome.RACE
    assert "threadIdx" not in veil.veiled(verdict).message
    subtracts = cell.replace("threadIdx.x", "grid(1)").replace("+ b", "- b")
    verdict = course_check(EXERCISES["vector_add"], subtracts, cases("vector_add", 1301), 1)
    assert verdict.outcome is Outcome.WRONG_ANSWER
    assert verdict.commands == ("ex.vector_add.hint()",)
    assert "which values" in veil.veiled(verdict).next_steps[0]
    twice = cell.replace("threadIdx.x", "grid(1)").replace("+ b", "\n        c[i] += b")
    verdict = course_check(EXERCISES["vector_add"], twice, cases("vector_add", 4096), 1)
    assert verdict.outcome is Outcome.TOO_MUCH_TRAFFIC
    assert "again" not in verdict.message


def test_a_line_far_down_is_not_told() -> None:
    verdict = replace(noisy(random.Random(0)), outcome=Outcome.RACE)
    assert veil.veiled(replace(verdict, line=veil.LAST_LINE_TOLD)).line == veil.LAST_LINE_TOLD
    assert veil.veiled(replace(verdict, line=veil.LAST_LINE_TOLD + 1)).line is None


def test_the_threat_model_states_the_bits() -> None:
    text = (Path(__file__).parents[2] / "docs" / "threat-model.md").read_text(encoding="utf-8")
    stated = re.search(r"(\d+) different things, (\d+) bits", text.replace(",000", "000"))
    assert stated is not None
    assert int(stated[1]) >= most_verdicts()
    assert int(stated[2]) >= math.log2(int(stated[1]))
