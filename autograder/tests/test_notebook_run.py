"""A notebook run to its end: what its checks say, and what is said where it stops."""

from __future__ import annotations

import nbformat

from autograder.lessons.notebook_run import run_notebook
from autograder.tests.small_course import REPOSITORY
from course.engine.faults import Outcome

#: A cell that shows `text` as a verdict shows itself.
SHOW = "class Shown:\n    def __repr__(self):\n        return {text!r}\nShown()"


def notebook(*cells):
    made = []
    for name, source in cells:
        metadata = {"nbgrader": {"grade_id": name}} if name else {}
        made.append(nbformat.v4.new_code_cell(source, metadata=metadata))
    return nbformat.writes(nbformat.v4.new_notebook(cells=made)).encode()


def run(content, expected=Outcome.NOT_ATTEMPTED):
    return run_notebook("01_small", "student", content, ["add_one"], expected, REPOSITORY)


def test_a_notebook_whose_checks_say_what_they_should_has_no_failures():
    text = "○ add_one: not attempted yet   case 1 of 3"
    result = run(notebook(("", "import course"), ("add_one_check", SHOW.format(text=text))))
    assert result.failures == []
    assert 0 < result.checks_s["add_one"] < result.seconds


def test_a_check_that_says_something_else_and_a_warning_are_told():
    cells = (
        ("", "import sys; print('careful', file=sys.stderr)"),
        (
            "add_one_check",
            SHOW.format(text="✗ add_one: wrong answer"),
        ),
    )
    result = run(notebook(*cells))
    assert result.failures == [
        "notebooks/01_small.ipynb (student): the check of 'add_one' should say NOT_ATTEMPTED, it "
        "says: ✗ add_one: wrong answer"
    ]
    assert result.notes == [
        "notebooks/01_small.ipynb (student): the cell that begins \"import sys; print('careful', "
        'file=sys.stderr)" writes to stderr: careful'
    ]


def test_a_cell_that_raises_is_named_with_its_error():
    result = run(notebook(("", "x = 1"), ("", "y = 1 / 0\nz = 2"), ("add_one_check", "x")))
    assert result.failures == [
        "notebooks/01_small.ipynb (student): the cell that begins 'y = 1 / 0' raises "
        "ZeroDivisionError: division by zero"
    ]


def test_a_notebook_without_the_check_is_a_failure():
    assert run(notebook(("", "1"))).failures == [
        "notebooks/01_small.ipynb (student): it has no check of 'add_one'."
    ]
