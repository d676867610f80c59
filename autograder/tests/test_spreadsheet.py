"""What stands in a CSV is text: no separator and no width makes a formula of it."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.grading.spreadsheet import table

FORMULA = "=HYPERLINK(1)"


def field(value: object) -> str:
    """The one field of a table, as a reader of CSV gets it."""
    [row] = csv.DictReader(io.StringIO(table(["name"], [{"name": value}]), newline=""))
    return row["name"]


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "﹢", "﹦", "−"])
@pytest.mark.parametrize("before", ["", " ", "\t", "\r", "\n", "\x00", "\ufeff", "\u200b", "\xa0"])
def test_what_begins_a_formula_has_an_apostrophe_before_it(begin: str, before: str) -> None:
    assert f"'{begin}1" in field(f"{before}{begin}1")


@pytest.mark.parametrize("separator", [*',;|:\t\r\n"', "; ", ";\t ", "\x85", "\u2028", *"；，｜："])
def test_so_has_what_begins_one_behind_a_separator(separator: str) -> None:
    assert field(f"vega{separator}{FORMULA}") == f"vega{separator}'{FORMULA}"


def test_a_text_that_begins_with_a_control_character_begins_with_an_apostrophe() -> None:
    assert [field(f"{c}x")[0] for c in "\t\r\n"] == ["'"] * 3


def test_every_field_stands_in_quotes_and_plain_text_and_numbers_are_kept() -> None:
    assert table(["a", "b"], [{"a": 4, "b": 'x-ray "=" e-mail'}, {"b": -2.5}]) == (
        '"a","b"\r\n"4","x-ray ""\'="" e-mail"\r\n"","-2.5"\r\n'
    )


@given(st.text(alphabet="=+-@x ;,|\t\r\n\"'＝\u200b", max_size=30))
def test_however_a_field_is_cut_no_part_begins_a_formula(text: str) -> None:
    shown = field(text)
    assert shown.replace("'", "") == text.replace("'", "")
    for part in re.split(r'[,;|:\t\r\n"]', shown):
        assert not re.match(r"[\s\u200b]*[=+\-@＝]", part)
