"""A prediction comes before its answer, and the answer says how far off it was."""

import numpy as np
import pytest

from course.notebook.predict import compare, sentence


@pytest.mark.parametrize("nothing", [..., None])
def test_the_measured_value_is_not_shown_before_a_prediction_is_written(nothing: object) -> None:
    said = sentence(nothing, 4321, "sectors")
    assert "4,321" not in said
    assert "Predict first" in said


def test_a_right_prediction_is_said_to_be_right() -> None:
    assert sentence(4, 4, "sectors of a") == "You predicted 4 sectors of a, and it is 4."
    assert sentence(np.int64(4), 4.0, "") == "You predicted 4, and it is 4."


def test_a_wrong_prediction_gets_the_ratio_and_no_blame() -> None:
    assert sentence(4, 32, "sectors").startswith("You predicted 4 sectors; it is 32, 8 times your")
    assert "times" not in sentence(0, 32, "sectors")


def test_a_prediction_within_the_tolerance_counts_as_right() -> None:
    assert sentence(50, 55.8, "operations", tolerance=0.2).endswith("and it is 55.8: close enough.")


def test_what_is_no_number_is_named() -> None:
    assert "'four'" in sentence("four", 4, "")
    assert "True" in sentence(True, 1, "")


def test_compare_prints_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    compare(4, 4, "sectors")
    assert capsys.readouterr().out == "You predicted 4 sectors, and it is 4.\n"
