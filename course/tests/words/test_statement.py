"""Statements and hints."""

from collections import Counter

import pytest

from course import exercises as ex
from course.words import statement
from course.words.statement import next_hint, statement_html, statement_text


@pytest.fixture(autouse=True)
def _from_the_first_hint(monkeypatch):
    monkeypatch.setattr(statement, "_shown", Counter())


def test_hints_come_one_after_the_other_and_then_say_that_none_is_left():
    count = len(ex.vector_add.hints)
    shown = [repr(next_hint(ex.vector_add)) for _ in range(count + 2)]
    assert shown[0].startswith(f"vector_add, hint 1 of {count}: ")
    assert shown[count - 1].startswith(f"vector_add, hint {count} of {count}: ")
    assert shown[count].startswith("vector_add: no hint left")
    assert shown[count + 1] == shown[count]


def test_each_exercise_counts_its_own_hints():
    next_hint(ex.vector_add)
    assert "hint 1 of" in repr(next_hint(ex.grid_math))


def test_a_statement_shows_shapes_launch_budget_as_formula_and_bytes():
    text = statement_text(ex.vector_add)
    for part in (
        "a     (N,)   float32  input, must stay untouched",
        "c     (N,)   float32  output, starts as NaN",
        "load a   1.1 x sectors(N)  17.6 KB  16.0 KB",
        "vector_add[cdiv(N, 256), 256](a, b, c)",
        "cdiv(a, b) is a / b rounded up",
        "Points: 4, ★ core",
    ):
        assert part in text


def test_a_statement_in_html_escapes_and_has_table_headers():
    html = statement_html(ex.vector_add)
    assert '<th scope="col"' in html
    assert "<caption" in html
    assert "c[i] = a[i] + b[i]" in html
