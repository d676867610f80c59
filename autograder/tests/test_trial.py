"""What a trial finds wrong with an exercise, its witnesses and its budget."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from autograder.hidden import Draws, multiples
from autograder.proof import trial as trials
from autograder.proof.trial import Entrant, Sample, hidden_inputs, try_exercise
from autograder.tests.small_course import ADD_ONE, COUNT_BLOCKS
from course.check.cost import DRAM_BYTES
from course.engine.faults import Outcome
from course.spec.exercise import case
from course.words.verdict import Extra, Row, Verdict

FORMULA_BYTES = 1000.0
SEEDS = ("one", "two")


def costing(times, array="x"):
    """Rows of a kernel that asks for `times` the formula, on one array and in total."""
    budget = 1.1 * FORMULA_BYTES
    return tuple(
        Row(name, direction, round(times * FORMULA_BYTES), budget, 500)
        for name, direction in ((array, "load"), ("", "total"))
    )


def verdict(outcome, credit=0.0, rows=(), **more):
    return Verdict(outcome, "add_one", "A sentence.", "an_id", rows=rows, credit=credit, **more)


PASSED = verdict(Outcome.PASS, 1.0, costing(1.0))
VERDICTS = {
    "starter": verdict(Outcome.NOT_ATTEMPTED),
    "solution": PASSED,
    "honest_1": PASSED,
    "honest_2": verdict(Outcome.PASS, 1.0, costing(0.9)),
    "stray": verdict(Outcome.OUT_OF_BOUNDS),
    "wrong": verdict(Outcome.WRONG_ANSWER),
    "race": verdict(Outcome.RACE),
    "waste": verdict(Outcome.TOO_MUCH_TRAFFIC, 0.7, costing(2.0)),
}


def cells(**changes):
    """Every entrant expects what VERDICTS gives it; `changes` replace one's expectation."""
    made = {
        name: Entrant(
            name, name, v.outcome, v.credit if v.outcome is Outcome.PASS else None, f"w.py:{n}"
        )
        for n, (name, v) in enumerate(VERDICTS.items())
    }
    for name, change in changes.items():
        made[name] = replace(made[name], **change)
    return list(made.values())


@pytest.fixture(autouse=True)
def ranges(monkeypatch):
    """Hidden ranges of the small course, which has no file of its own."""
    declared = {"add_one": (Draws(traffic=True, N=multiples(128, 256, 1024)),)}
    monkeypatch.setattr(trials, "hidden_ranges", lambda stem: declared)
    monkeypatch.setattr(trials, "hidden_cases", lambda name, seed: (case(True, N=512),))
    return declared


def tried(entrants, exercise=ADD_ONE, **verdicts):
    def check(exercise, source, cases, seed):
        given = verdicts.get(source, VERDICTS[source])
        if isinstance(given, tuple):  # (on the visible cases, on the hidden ones)
            return given[cases is not None]
        return given

    return try_exercise("small", exercise, entrants, check, SEEDS)


def test_an_exercise_that_keeps_its_promises_has_no_failures():
    trial = tried(cells())
    assert trial.failures == []
    assert (trial.wrong_count, trial.honest_count) == (4, 2)
    assert trial.honest == pytest.approx(1.0)
    assert trial.waste == pytest.approx(2.0)


def test_what_a_sample_leaves_out_is_counted_and_not_tried():
    wrong = verdict(Outcome.RACE)
    told = cells(stray={"drawn": False}, waste={"drawn": False})
    trial = tried(told, stray=wrong, waste=wrong)
    assert trial.failures == []
    assert (trial.wrong_count, trial.wrong_tried, trial.honest_count) == (4, 2, 2)
    assert set(trial.check_seconds) == {*VERDICTS} - {"stray", "waste"}
    assert trial.waste is None


def test_of_hidden_cases_a_sample_draws_one_seed_and_its_share_of_witnesses():
    met = []

    def check(exercise, source, cases, seed):
        met.append((source, seed))
        return VERDICTS[source]

    texts = "abcdefghijklmnop"
    for text in texts:
        try_exercise("small", ADD_ONE, Sample(1000, text).marked("add_one", cells()), check, SEEDS)
    inputs = {hidden_inputs("add_one", seed) for seed in SEEDS}
    hidden = [(source, seed) for source, seed in met if seed in inputs]
    count = Counter(source for source, _ in hidden)
    assert count["solution"] == count["starter"] == 2 * len(texts)
    assert count["honest_1"] + count["honest_2"] == len(texts)
    assert sum(count[name] for name in ("stray", "wrong", "race", "waste")) == len(texts)
    assert all(count[name] for name in VERDICTS)
    visible = Counter(source for source, seed in met if seed not in inputs)
    assert visible["honest_1"] == visible["honest_2"] == len(texts)
    assert {seed for source, seed in hidden if source == "honest_1"} == inputs


def test_a_sample_has_its_share_of_the_wrong_kernels_and_all_honest_ones():
    def taken(seed, one_in=3):
        return {cell.name for cell in Sample(one_in, seed).marked("add_one", cells()) if cell.drawn}

    honest = {"starter", "solution", "honest_1", "honest_2"}
    wrong = {*VERDICTS} - honest
    assert honest < taken("tree 1")
    assert len(taken("tree 1") & wrong) == 2
    assert taken("tree 1") == taken("tree 1")
    drawn = [taken(f"tree {n}") for n in range(20)]
    assert len({frozenset(one) for one in drawn}) > 3
    assert set().union(*drawn) == {*VERDICTS}
    assert taken("", 1) == {*VERDICTS}


def test_a_row_too_small_to_matter_is_not_held_to_its_formula():
    small = replace(costing(7.0, "y")[0], small=True)
    trial = tried(cells(), honest_1=replace(PASSED, rows=(*PASSED.rows, small)))
    assert trial.failures == []
    assert trial.honest == pytest.approx(1.0)


def test_a_starter_that_counts_as_attempted_is_a_failure():
    trial = tried(cells(), starter=VERDICTS["wrong"])
    assert trial.failures == [
        "add_one: starter (w.py:0) should get NOT_ATTEMPTED on the visible cases, got "
        "WRONG_ANSWER: A sentence."
    ]


def test_a_witness_with_another_verdict_is_named_with_its_line():
    trial = tried(cells(), race=verdict(Outcome.WRONG_ANSWER, line=7))
    assert trial.failures == [
        "add_one: race (w.py:6) should get RACE on the visible cases, got WRONG_ANSWER in line 7: "
        "A sentence."
    ]


def test_a_witness_that_only_the_visible_cases_catch_is_a_failure():
    trial = tried(cells(), stray=(VERDICTS["stray"], PASSED))
    assert trial.failures == [
        "add_one: stray (w.py:4) should get OUT_OF_BOUNDS on the hidden cases of 'one', got PASS: "
        "A sentence."
    ]


def test_a_witness_that_is_held_out_passes_at_home_and_fails_on_hidden_cases():
    held_out = cells(wrong={"held_out": True})
    assert tried(held_out, wrong=(PASSED, VERDICTS["wrong"])).failures == []
    assert tried(held_out).failures == [
        "add_one: wrong (w.py:5) should get PASS on the visible cases, got WRONG_ANSWER: "
        "A sentence."
    ]
    assert tried(held_out, wrong=PASSED).failures == [
        "add_one: wrong (w.py:5) should get WRONG_ANSWER on the hidden cases of 'one', got PASS: "
        "A sentence."
    ]


def test_an_honest_variant_must_earn_every_point():
    trial = tried(cells(), honest_1=replace(PASSED, credit=0.85))
    assert trial.failures == [
        "add_one: honest_1 (w.py:2) should earn 1 of the points on the visible cases, earned 0.85."
    ]


def test_a_witness_that_names_its_share_must_earn_it():
    trial = tried(cells(waste={"credit": 0.6}))
    assert "waste (w.py:7) should earn 0.6 of the points" in trial.failures[0]


def test_a_check_that_fails_itself_is_told_with_its_error():
    broken = verdict(Outcome.NOT_MEASURED, internal_error="Traceback\nKeyError: 'x'\n")
    trial = tried(cells(), solution=broken)
    assert "got NOT_MEASURED: KeyError: 'x'" in trial.failures[0]


def test_too_few_witnesses_are_counted():
    trial = tried([cell for cell in cells() if cell.name not in ("race", "honest_2")])
    assert trial.failures == [
        "add_one: autograder/proof/witnesses/small.cells has 3 of at least 4 wrong witnesses.",
        "add_one: autograder/proof/witnesses/small.cells has 1 of at least 2 honest variants "
        "(-> PASS).",
    ]


def test_numbers_need_two_wrong_answers_and_no_variant():
    trial = tried(cells()[:2], exercise=COUNT_BLOCKS)
    assert trial.failures == [
        "count_blocks: autograder/proof/witnesses/small.cells has 0 of at least 2 wrong witnesses."
    ]


def test_a_kernel_without_hidden_ranges_is_a_failure(ranges):
    ranges.clear()
    trial = tried(cells())
    assert trial.failures == ["add_one: autograder/hidden/small.py declares no ranges for it."]


def test_hidden_ranges_without_graded_traffic_are_a_failure(ranges):
    ranges["add_one"] = (Draws(N=3),)
    assert "no ranges with traffic=True" in tried(cells()).failures[0]


def test_an_honest_design_above_the_formula_is_a_failure():
    trial = tried(cells(), honest_1=verdict(Outcome.PASS, 1.0, costing(1.05)))
    assert trial.failures[0] == (
        "add_one: the honest honest_1 asks for 1.05 times the formula of 'load x'. The formula "
        "should be the worst listed honest design."
    )


def test_a_formula_far_above_every_honest_design_is_a_failure():
    cheap = verdict(Outcome.PASS, 1.0, costing(0.7))
    trial = tried(cells(), solution=cheap, honest_1=cheap, honest_2=cheap)
    assert trial.failures[0] == (
        "add_one: the formula of 'load x' is 1.43 times what the worst honest design (solution) "
        "asks for, and at most 1.25 times is fair."
    )


def test_waste_that_costs_too_little_is_a_failure():
    trial = tried(cells(), waste=verdict(Outcome.TOO_MUCH_TRAFFIC, 0.85, costing(1.3)))
    assert trial.failures == [
        "add_one: waste (w.py:7) asks for 1.3 times the worst honest design, on 'total'. Expected "
        "at least 1.4 times."
    ]


def test_waste_on_an_array_that_no_honest_design_touches_is_waste_enough():
    rows = (*costing(1.0), Row("y", "load", 64, None, 0))
    trial = tried(cells(), waste=verdict(Outcome.TOO_MUCH_TRAFFIC, 0.6, rows))
    assert trial.failures == []


def test_an_honest_design_may_have_arrays_that_no_formula_names():
    through_memory = (*costing(0.95), Row("parts", "load", 300, None, 0))
    honest = verdict(Outcome.PASS, 1.0, through_memory)
    assert tried(cells(), honest_1=honest).failures == []
    cheap_waste = verdict(Outcome.TOO_MUCH_TRAFFIC, 0.85, (*costing(1.3), through_memory[-1]))
    trial = tried(cells(), honest_1=honest, waste=cheap_waste)
    assert trial.failures == [
        "add_one: waste (w.py:7) asks for 1.3 times the worst honest design, on 'total'. Expected "
        "at least 1.4 times."
    ]


def test_waste_may_lie_in_what_dram_delivers():
    def delivered(times):
        return (Extra(DRAM_BYTES, round(times * 1000), 1000),)

    honest = verdict(Outcome.PASS, 1.0, costing(1.0), extras=delivered(0.9))
    same = dict.fromkeys(("solution", "honest_1", "honest_2"), honest)
    waste = verdict(Outcome.TOO_MUCH_TRAFFIC, 0.6, costing(1.0), extras=delivered(1.8))
    assert tried(cells(), waste=waste, **same).failures == []
    waste = verdict(Outcome.TOO_MUCH_TRAFFIC, 0.6, costing(1.0), extras=delivered(1.1))
    assert tried(cells(), waste=waste, **same).failures == [
        "add_one: waste (w.py:7) asks for 1.22 times the worst honest design, on 'bytes from DRAM "
        "in the cache model'. Expected at least 1.4 times."
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hints": ()}, "expected 1 to 3 hints, got 0"),
        ({"hints": ("a", "b", "c", "d")}, "expected 1 to 3 hints, got 4"),
        ({"hints": (" ",)}, "a hint is empty"),
        ({"task": ""}, "its task is empty"),
        ({"cases": ()}, "it has no cases"),
        ({"cases": (case(N=1),)}, "no visible case is marked traffic=True"),
        ({"name": "threads"}, "threads: a lesson has this name"),
        ({"points": -1}, "expected 0 points or more, got -1"),
    ],
)
def test_a_spec_with_something_missing_is_a_failure(change, words):
    trial = tried(cells(), exercise=replace(ADD_ONE, **change))
    assert any(words in sentence for sentence in trial.failures)


def test_a_slow_check_is_a_note_and_no_failure(monkeypatch):
    monkeypatch.setattr(trials, "SLOW_HIDDEN_S", 0.0)
    trial = tried(cells()[:2])
    (note,) = trial.notes
    assert note.startswith("add_one: the hidden cases took longer than 0 s: starter 0.0 s, sol")
    assert not any("longer" in sentence for sentence in trial.failures)


def test_a_slow_cell_is_tried_on_one_seed_only(monkeypatch):
    monkeypatch.setattr(trials, "SLOW_HIDDEN_S", 0.0)
    asked = []

    def check(exercise, source, cases, seed):
        asked.append((source, cases is None))
        return VERDICTS[source]

    try_exercise("small", ADD_ONE, cells(), check, SEEDS)
    assert asked.count(("solution", False)) == 1


def test_honest_designs_meet_every_seed_and_wrong_ones_some():
    asked = []

    def check(exercise, source, cases, seed):
        asked.append((source, cases is None))
        return VERDICTS[source]

    try_exercise("small", ADD_ONE, cells(), check, ("one", "two", "three"))
    assert asked.count(("solution", False)) == 3
    assert asked.count(("race", False)) == 2
