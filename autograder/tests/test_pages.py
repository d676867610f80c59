"""nbgrader's pages: a policy first, names as text, and no time for code that takes it."""

import itertools
import re
import unicodedata

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.grading.autograded import LONGEST_SHOWN, as_text, autograded
from autograder.grading.names import clean
from autograder.grading.pages import LONGEST_COLOURED, Page
from autograder.grading.submissions import Cell, Notebook
from autograder.judge.judge import course_check, result
from autograder.lessons.catalogue import lesson_exercises
from course.tests.families import family
from course.tests.pace import within

MARKUP = "\"><img src=x onerror=alert('reached')>"
FORMGRADER = {
    "submission_id": "1",
    "student": MARKUP,
    "first_name": MARKUP,
    "last_name": MARKUP,
    "notebook_path": MARKUP,
}


def page(*cells: nbformat.NotebookNode, **resources: str) -> str:
    html, _ = Page().from_notebook_node(new_notebook(cells=list(cells)), resources)
    return html


def test_a_policy_stands_before_all_else() -> None:
    for resources, words in (({}, "default-src 'none'"), (FORMGRADER, "connect-src 'self'")):
        html = page(new_code_cell("x = 1"), **resources)
        head = html.partition("<head>")[2].lstrip()
        assert head.startswith("<meta")
        assert "Content-Security-Policy" in head.partition(">")[0]
        assert words in head.partition(">")[0]
        assert "cdnjs.cloudflare.com/ajax/libs/mathjax" not in html


def test_small_cells_have_colours_and_large_ones_the_same_text() -> None:
    assert '<span class="k">' in page(new_code_cell("def f():\n    return 1"))
    large = "def f():\n    return '<b>'\n" * LONGEST_COLOURED
    html = page(new_code_cell(large))
    assert "return '&lt;b&gt;'" in html
    assert '<span class="k">' not in html


TEXTS = (" \n" * 20_000, "a." * 20_000, "%%perl\n" + "m{" * 20_000, '%%R\n"%(' * 9_000)


@pytest.mark.parametrize(
    ("text", "length"),
    family(
        itertools.product(TEXTS, (LONGEST_COLOURED, LONGEST_SHOWN)),
        lambda member: member[1],
        lambda member: f"{member[0][:6]!r} {member[1]}",
    ),
)
@pytest.mark.slow
def test_a_page_of_code_that_is_slow_to_colour_takes_seconds(text: str, length: int) -> None:
    cells = [new_code_cell(text[:length]) for _ in range(400_000 // length)]
    with within(20):
        page(*cells)


@pytest.mark.slow
def test_a_page_of_markdown_that_is_slow_to_render_takes_seconds() -> None:
    slow = ("*a **b " * 3000, "> " * 10_000, "[x](" * 5000, "`" * 20_000, "- " * 10_000)
    with within(20):
        page(*(new_markdown_cell(as_text(text)) for text in slow * 4))


def test_no_tower_of_marks_stands_on_a_verdict() -> None:
    tower = "x" + "\u0301\u0323" * 90
    cell = f"from numba import cuda\n@cuda.jit\ndef vector_add(a, b, c):\n    c[{tower}] = 1\n"
    [exercise] = [e for e in lesson_exercises("threads") if e.name == "vector_add"]
    verdict = result(exercise, course_check(exercise, cell, None, 0))
    handed_in = Notebook((Cell("markdown", tower, None), Cell("code", f"# {tower}", None)))
    shown = [one["source"] for one in autograded(handed_in, [], {})["cells"]]
    texts = [verdict["panel"], clean(tower), *shown]
    assert all("\u0323" in unicodedata.normalize("NFD", text) for text in texts)
    assert not [t for t in texts if re.search("[\u0301\u0323]{5}", unicodedata.normalize("NFD", t))]
