"""Statements and hints."""

import ast
import re
from collections import Counter

import numpy as np
import pytest

from course import exercises as ex
from course.spec.exercise import KernelExercise
from course.words import statement
from course.words.example import example
from course.words.glossary import TERMS
from course.words.statement import next_hint, statement_html, statement_text
from course.words.verdict import PANEL_COLUMNS

KERNELS = [n for n, one in ex.all_exercises().items() if isinstance(one, KernelExercise)]


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


def shown(name: str) -> dict[tuple[str, str], list]:
    """(in or out, name): the values of an exercise's example."""
    lines = example(ex.all_exercises()[name])
    return {(one, label.split()[0]): ast.literal_eval(values) for one, label, values in lines}


def test_a_statement_opens_with_four_elements_in_and_out():
    values = shown("vector_add")
    assert [len(row) for row in values.values()] == [4, 4, 4]
    total = np.add(values["in", "a"], values["in", "b"])
    assert np.allclose(values["out", "c"], total, atol=1e-3)
    _, heading, first, *_ = statement_text(ex.vector_add).splitlines()
    assert heading == "  For example"
    assert first == f"    in   a  {values['in', 'a']}".replace(".0,", ",")
    html = statement_html(ex.vector_add)
    assert html.index("For example") < html.index("c[i] = a[i] + b[i]")


def test_a_matrix_has_its_shape_and_four_elements():
    lines = {label: values for _, label, values in example(ex.matmul_naive)}
    assert list(lines) == ["A (2, 2)", "B (2, 2)", "C (2, 2)"]
    A, B, C = (np.array(ast.literal_eval(values)) for values in lines.values())
    assert np.allclose(A @ B, C, atol=1e-3)


def test_what_is_changed_in_place_is_shown_before_and_after():
    values = shown("saxpy_grid_stride")
    assert list(values) == [("in", "alpha"), ("in", "x"), ("in", "y"), ("out", "y")]


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernels_example_is_finite_and_short(name):
    lines = example(ex.all_exercises()[name])
    text = statement_text(ex.all_exercises()[name]).splitlines()[2 : 2 + len(lines)]
    assert all(len(line) <= PANEL_COLUMNS for line in text)
    for _, _, values in lines:
        numbers = re.findall(r"True|False|-?\d[\d.]*(?:e[+-]\d+)?", values)
        assert 0 < len(numbers) <= 8
        assert "nan" not in values
    assert {direction for direction, *_ in lines} == {"in", "out"}


def test_numbers_have_no_example_and_no_contract():
    text = statement_text(ex.grid_math)
    assert "For example" not in text
    assert "contract" not in text


def folded(name: str) -> str:
    """The contract of an exercise, as text."""
    return statement_text(ex.all_exercises()[name]).partition("\n  The contract\n")[2]


@pytest.mark.parametrize("name", KERNELS)
def test_the_contract_is_folded_away_and_last(name):
    exercise = ex.all_exercises()[name]
    before, heading, _ = statement_text(exercise).partition("\n  The contract\n")
    assert heading
    for word in ("Cases:", "Launch:", "Called:", "At most:", "Budget in sectors", "1.1 x"):
        assert word not in before
    html = statement_html(exercise)
    assert html.count("<details") == 1
    assert "<details open" not in html
    assert html.endswith("</details></div>")
    assert html.index("<details") < html.index("<strong>Cases:")


@pytest.mark.parametrize("name", KERNELS)
def test_the_contract_has_no_term_of_a_later_lesson(name):
    lesson = ex.notebook(ex.stem_of(name))
    first = lesson == "00_start"  # its kernel comes before its words
    said = re.sub(r"^ *Next: .*|^ *(?:Launch|Called): .*|\w+\(", "", folded(name), flags=re.M)
    for term, (introduced, _) in TERMS.items():
        if introduced > lesson or (first and introduced == lesson and term != "least"):
            assert not re.search(rf"\b{term}s?\b", said), (term, introduced)
    assert "share" not in said or lesson >= "03_shared_memory"


def test_the_first_contract_is_in_plain_words():
    said = " ".join(folded("double").split())
    assert "reads at most 8.8 KB of x, writes at most 8.8 KB of y" in said
    assert "cdiv(a, b) is a / b rounded up" in said
    assert "sector" not in said


def test_a_statement_in_html_escapes_and_has_table_headers():
    html = statement_html(ex.vector_add)
    assert '<th scope="col"' in html
    assert "<caption" in html
    assert "c[i] = a[i] + b[i]" in html
