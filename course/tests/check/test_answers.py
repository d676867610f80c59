"""Numeric exercises: what is read, what is said, and what is never told."""

from dataclasses import replace

import numpy as np
import pytest

from course.check.answers import check_number_source, check_numbers
from course.engine.faults import Outcome
from course.spec.exercise import NumberExercise, Question, case

waves = NumberExercise(
    name="waves",
    title="Waves",
    task="How many waves?",
    points=4,
    minutes=5,
    difficulty=1,
    hints=("Round up.",),
    questions={
        "blocks": Question("How many blocks?", "cdiv(N, 256)", "blocks", slips={
            "N // 256": "That leaves the last elements without a thread."}),
        "threads": Question("How many threads?", "256 * cdiv(N, 256)", "threads"),
        "share": Question("Which share of them works?", "N / (256 * cdiv(N, 256))", rtol=0.01),
    },
    given={"N": 20_000},
)  # fmt: skip
RIGHT = 'waves = {"blocks": 79, "threads": 79 * 256, "share": 0.99}\n'


def outcome_of(source, **given):
    return check_number_source(waves, source, [case(**given)] if given else None).outcome


def test_right_answers_may_be_numbers_or_arithmetic():
    verdict = check_number_source(waves, RIGHT)
    assert (verdict.outcome, verdict.credit, verdict.points) == (Outcome.PASS, 1.0, 4)


@pytest.mark.parametrize(
    "source",
    [
        'N = 20000\nT = 256\nwaves = {"blocks": -(-N // T), "threads": T * 79, "share": 0.99}\n',
        "import math\n" + RIGHT.replace("79,", "math.ceil(20000 / 256),"),
        RIGHT.replace("79,", "int(20000 / 256) + 1,"),
    ],
)
def test_arithmetic_may_use_numbers_that_the_cell_names_and_functions_of_math(source):
    assert outcome_of(source) is Outcome.PASS


@pytest.mark.parametrize(
    "source",
    [
        RIGHT.replace("79,", "N,") + "N = 79\n",
        "N = 79\nN = print\n" + RIGHT.replace("79,", "N,"),
        RIGHT.replace("79,", "os.cpu_count(),"),
    ],
)
def test_a_name_without_a_number_above_the_entries_has_no_value(source):
    verdict = check_number_source(waves, source)
    assert (verdict.outcome, verdict.message_id) == (Outcome.WRONG_ANSWER, "number_not_arithmetic")


def test_the_last_assignment_counts():
    skeleton = 'waves = {"blocks": ..., "threads": ..., "share": ...}\n'
    assert outcome_of(skeleton + RIGHT) is Outcome.PASS
    assert outcome_of(RIGHT + skeleton) is Outcome.NOT_ATTEMPTED


@pytest.mark.parametrize(
    "source",
    [
        RIGHT.replace("79,", "1,") + 'waves["blocks"] = 79\n',
        "n = 78\nn += 1\n" + RIGHT.replace("79,", "n,"),
        "n, m = 79, 1\n" + RIGHT.replace("79,", "n * m,"),
        "n, m = 1, 79\nn, m = m, n\n" + RIGHT.replace("79,", "n,"),
        "m = [n for n in ()]\nn: int = 79\n" + RIGHT.replace("79,", "n,"),
    ],
)
def test_what_the_cell_sets_line_by_line_is_followed(source):
    assert outcome_of(source) is Outcome.PASS


@pytest.mark.parametrize(
    "loop",
    [
        "for n in (79, 80):\n    pass",
        "if True:\n    n = 79",
        "n, m = (79, 80)[::-1]",
        "def n(): 79",
    ],
)
def test_what_is_not_followed_leaves_a_name_without_a_number(loop):
    below = "\nm = n\n" + RIGHT.replace("79,", "m,")
    verdict = check_number_source(waves, f"n = 79\n{loop}{below}")
    assert verdict.message_id == "number_not_arithmetic"
    assert "'m' has no value here: line 2 is more than arithmetic" in verdict.message


@pytest.mark.parametrize(
    "change",
    [
        "waves.update(blocks=1)\n",
        "waves.clear()\n",
        'del waves["blocks"]\n',
        'waves["blocks"] += 1\n',
        "waves |= {}\n",
        'if True:\n    waves["blocks"] = 1\n',
        "for waves in ():\n    pass\n",
        "print(waves.pop('blocks'))\n",
        "a, *waves = 1, 2\n",
    ],
)
def test_a_change_of_the_dict_that_is_not_followed_is_refused_with_its_line(change):
    verdict = check_number_source(waves, RIGHT + change)
    assert (verdict.outcome, verdict.message_id) == (Outcome.REJECTED, "number_changed")
    assert verdict.line == 2


def test_what_is_passed_and_is_not_what_the_cell_says_is_no_answer(monkeypatch):
    monkeypatch.setattr("course.check.answers.assigning_cell", lambda name: RIGHT)
    right = {"blocks": 79, "threads": np.int64(79 * 256), "share": np.float32(0.99)}
    assert check_numbers(waves, right).outcome is Outcome.PASS
    for passed in ({}, {**right, "blocks": 78}, {**right, "more": 1}, 5):
        assert check_numbers(waves, passed).message_id == "number_elsewhere"


@pytest.mark.parametrize("source", ["", "waves = ...", 'waves = {"blocks": ..., "threads": ...}'])
def test_an_unfilled_cell_is_not_attempted(source):
    assert outcome_of(source) is Outcome.NOT_ATTEMPTED


def test_a_wrong_entry_is_named_with_its_slip_and_never_with_the_right_number():
    verdict = check_number_source(waves, RIGHT.replace("79,", "20000 // 256,"))
    assert verdict.outcome is Outcome.WRONG_ANSWER
    assert verdict.message == "waves['blocks'] is not 78."
    assert verdict.entries[0].remark == "That leaves the last elements without a thread."
    assert verdict.next_steps == ("The question was: How many blocks? (blocks)",)
    assert "79 " not in str(verdict).replace("79 * 256", "")
    assert verdict.credit == pytest.approx(2 / 3)


def test_every_wrong_entry_stands_in_the_table():
    verdict = check_number_source(waves, 'waves = {"blocks": 1, "threads": 2, "share": 0.988}')
    assert [(entry.key, entry.right) for entry in verdict.entries] == [
        ("blocks", False),
        ("threads", False),
        ("share", True),
    ]
    assert verdict.message.endswith("1 of 3 entries is right.")


@pytest.mark.parametrize(
    ("source", "message_id", "outcome"),
    [
        ('waves = {"blocks": 79, "threads": 20224}', "number_missing", Outcome.WRONG_ANSWER),
        (RIGHT.replace("0.99", "..."), "number_unfilled", Outcome.WRONG_ANSWER),
        (RIGHT.replace("0.99", "open('x')"), "number_not_arithmetic", Outcome.WRONG_ANSWER),
        (RIGHT.replace("0.99", "1 / 0"), "number_not_arithmetic", Outcome.WRONG_ANSWER),
        (RIGHT.replace("0.99", "9**9**9"), "number_not_arithmetic", Outcome.WRONG_ANSWER),
        (RIGHT.replace("share", "shar"), "number_missing", Outcome.WRONG_ANSWER),
        (RIGHT.replace("}", ', "more": 1}'), "number_extra", Outcome.WRONG_ANSWER),
        ('waves = {"blocks": 1, "blocks": 2}', "number_duplicate", Outcome.REJECTED),
        ("waves = [79]", "not_a_dict", Outcome.REJECTED),
        ("waves = {1: 79}", "not_a_dict", Outcome.REJECTED),
        ("waves = {**x}", "not_a_dict", Outcome.REJECTED),
        ("wave = {}", "no_such_answers", Outcome.REJECTED),
        ("waves = {", "syntax_error", Outcome.DOES_NOT_COMPILE),
    ],
)
def test_an_answer_that_cannot_be_read_gets_its_sentence(source, message_id, outcome):
    verdict = check_number_source(waves, source)
    assert (verdict.message_id, verdict.outcome) == (message_id, outcome)


def test_other_given_numbers_ask_for_other_answers():
    assert outcome_of(RIGHT, N=512) is Outcome.WRONG_ANSWER
    assert outcome_of('waves = {"blocks": 2, "threads": 512, "share": 1}', N=512) is Outcome.PASS


def test_outside_a_notebook_the_values_of_the_dict_count():
    assert check_numbers(waves, {"blocks": 79, "threads": 20224, "share": 0.98901})
    assert check_numbers(waves, {"blocks": ..., "threads": ...}).outcome is Outcome.NOT_ATTEMPTED
    text = check_numbers(waves, {"blocks": "79", "threads": 20224, "share": 0.989})
    assert text.message_id == "number_not_arithmetic"


@pytest.mark.parametrize("passed", [None, 3, "waves", ..., [1], float("nan")])
def test_anything_that_is_no_dict_becomes_a_verdict(passed):
    assert check_numbers(waves, passed).message_id == "not_a_dict"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, [], 1j])
def test_a_value_that_is_no_number_is_a_wrong_entry(value):
    verdict = check_numbers(waves, {"blocks": value, "threads": 20224, "share": 0.989})
    assert verdict.message_id == "number_not_arithmetic"


def test_the_source_of_a_cell_is_never_executed():
    assert outcome_of(RIGHT + "\nraise SystemExit\n") is Outcome.PASS


tiles = NumberExercise(
    name="tiles",
    title="Tiles",
    task="Formulas in BM.",
    points=2,
    minutes=5,
    difficulty=1,
    hints=("Multiply.",),
    questions={
        "places": Question(
            "How many places?", "BM * BN", slips={"BM + BN": "That is one side and the other."}
        ),
        "time": Question(
            "Least for the best", "US", ranks="{BM} rows, {times:.1f} times", within=1.2
        ),
    },
    given={"BN": 4},
    columns={"BM": "rows"},
    table=({"SHAPE": 1, "BM": 8, "US": 10.0}, {"SHAPE": 1, "BM": 2, "US": 11.0},
           {"SHAPE": 1, "BM": 4, "US": 30.0}, {"SHAPE": 2, "BM": 8, "US": 50.0},
           {"SHAPE": 2, "BM": 2, "US": 20.0}),
    cases=(case(SHAPE=1), case(SHAPE=1, BM=2)),
)  # fmt: skip
FORMULAS = 'BM = 8\nhalf = BM / 2\ntiles = {"places": 8 * half, "time": BM}\n'


def test_a_formula_is_tried_with_the_values_of_each_case_whatever_the_cell_assigns():
    verdict = check_number_source(tiles, FORMULAS)
    assert verdict.outcome is Outcome.PASS
    assert verdict.entries[1].remark == "2 rows, 1.1 times 2 rows, 1.0 times"


def test_the_number_of_the_first_case_fails_on_the_second_and_the_case_is_named():
    verdict = check_number_source(tiles, FORMULAS.replace("8 * half", "32"))
    assert (verdict.outcome, verdict.credit) == (Outcome.WRONG_ANSWER, 0.5)
    assert verdict.entries[0].remark == "With SHAPE=1, BM=2."


def test_a_slip_in_a_formula_is_told_beside_the_case():
    verdict = check_number_source(tiles, FORMULAS.replace("8 * half", "BM + 4"))
    assert verdict.entries[0].remark == "With SHAPE=1, BM=8. That is one side and the other."


def test_an_answer_that_is_the_same_in_every_case_is_told_without_one():
    line = Question("Which line?", "7", slips={"9": "Line 9 shows it."})
    found = replace(tiles, questions={**tiles.questions, "line": line})
    verdict = check_number_source(found, FORMULAS.replace("}", ', "line": 9}'))
    assert verdict.entries[2].remark == "Line 9 shows it."


def test_a_formula_without_a_value_is_told_beside_the_case():
    source = FORMULAS.replace('"time": BM', '"time": 1 / (BM - 2)')
    verdict = check_number_source(tiles, source)
    assert verdict.entries[1].remark == "With SHAPE=1, BM=2: it divides by zero"


@pytest.mark.parametrize(
    ("answer", "unit", "got", "said"),
    [
        ("0.25", "a share, 0 to 1", 25, "in percent"),
        ("0.25", "a share, 0 to 1", 0.75, "all but the share"),
        ("0.25", "a share, 0 to 1", 2, "between 0 and 1"),
        ("0.25", "a share, 0 to 1", 0.5, ""),
        ("4.5", "ms", 0.0045, "digits are right: ms"),
        ("4.5", "ms", 4.6, ""),
        ("1.073741824", "GB", 1.0, "1,024"),
        ("1.073741824", "GB", 1.003, ""),
        ("1.024", "ms", 1.0, ""),
        ("116", "", 116.4, "round down"),
        ("117", "", 116.4, "round up"),
        ("117", "", 115.9, ""),
    ],
)
def test_a_slip_of_unit_share_or_rounding_is_told_whatever_was_asked(answer, unit, got, said):
    exercise = replace(waves, questions={"it": Question("How many?", answer, unit)})
    remark = check_number_source(exercise, f'waves = {{"it": {got}}}').entries[0].remark
    assert said in remark if said else not remark


def test_an_order_that_takes_a_row_within_the_limit_passes_on_other_cases_too():
    other = [case(SHAPE=2)]
    assert check_number_source(tiles, FORMULAS, other).outcome is Outcome.PASS
    worse = check_number_source(tiles, FORMULAS.replace('"time": BM', '"time": -BM'), other)
    assert (worse.outcome, worse.message_id) == (Outcome.WRONG_ANSWER, "badly_ranked")
    assert worse.entries[1].remark == "8 rows, 2.5 times"


def test_a_comma_between_thousands_is_told_as_that():
    verdict = check_number_source(waves, RIGHT.replace("79,", "20,224,"))
    assert (verdict.message_id, verdict.line) == ("thousands", 1)
    assert "`20,224`" in verdict.message
    assert verdict.next_steps == ("Write `20224`.",)


def test_an_order_may_put_rows_last_by_an_infinite_number_and_an_answer_is_none():
    never = FORMULAS.replace('"time": BM', '"time": never if BM == 4 else BM')
    assert check_number_source(tiles, "never = math.inf\n" + never).outcome is Outcome.PASS
    verdict = check_number_source(tiles, FORMULAS.replace("8 * half", 'float("inf")'))
    assert verdict.message_id == "number_not_arithmetic"
    assert "not a finite number" in verdict.message


@pytest.mark.parametrize("huge", ["10**300", "10**400", "2 << 10**5"])
def test_a_number_that_is_too_large_for_a_float_in_another_unit_is_no_answer(huge, monkeypatch):
    source = RIGHT.replace("79,", f"{huge},")
    assert check_number_source(waves, source).message_id == "number_not_arithmetic"
    monkeypatch.setattr("course.check.answers.assigning_cell", lambda name: source)
    passed = {"blocks": eval(huge), "threads": 79 * 256, "share": 0.99}  # of the line above
    assert check_numbers(waves, passed).message_id == "number_not_arithmetic"


def test_a_number_of_numpy_is_held_to_the_largest_without_a_warning(recwarn):
    verdict = check_number_source(tiles, FORMULAS.replace("8 * half", "np.float32(8) * half"))
    assert (verdict.outcome, len(recwarn)) == (Outcome.PASS, 0)


def test_a_formula_does_not_see_what_is_no_column():
    verdict = check_number_source(tiles, FORMULAS.replace('"time": BM', '"time": US'))
    assert verdict.message_id == "number_not_arithmetic"
    hidden = check_number_source(tiles, "US = 1\n" + FORMULAS.replace('"time": BM', '"time": US'))
    assert hidden.entries[1].remark == "8 rows, 1.0 times 2 rows, 1.0 times"


def test_what_a_cell_makes_of_a_given_name_afterwards_counts():
    again = FORMULAS.replace("half = BM / 2\n", "BM = BM * 2\nhalf = 4\n")
    verdict = check_number_source(tiles, again.replace("8 * half", "BM * 2"))
    assert verdict.outcome is Outcome.PASS


def test_a_case_that_no_row_has_is_not_measured():
    assert check_number_source(tiles, FORMULAS, [case(SHAPE=3)]).outcome is Outcome.NOT_MEASURED


def test_of_a_dict_without_its_cell_the_first_row_counts():
    assert check_numbers(tiles, {"places": 32, "time": 1}).outcome is Outcome.PASS
