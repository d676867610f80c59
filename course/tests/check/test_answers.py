"""Numeric exercises: what is read, what is said, and what is never told."""

import pytest

from course.check.answers import check_number_source, check_numbers
from course.engine.faults import Outcome
from course.spec.exercise import NumberExercise, Question

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
    return check_number_source(waves, source, given or None).outcome


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
