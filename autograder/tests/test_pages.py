"""nbgrader's pages: a policy first, names as text, and no time for code that takes it."""

import itertools
import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.grading.autograded import LONGEST_SHOWN, as_text
from autograder.grading.pages import LONGEST_COLOURED, Page
from course.tests.families import family

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
def test_a_page_of_code_that_is_slow_to_colour_takes_seconds(text: str, length: int) -> None:
    cells = [new_code_cell(text[:length]) for _ in range(400_000 // length)]
    began = time.monotonic()
    page(*cells)
    assert time.monotonic() - began < 20


def test_a_page_of_markdown_that_is_slow_to_render_takes_seconds() -> None:
    slow = ("*a **b " * 3000, "> " * 10_000, "[x](" * 5000, "`" * 20_000, "- " * 10_000)
    began = time.monotonic()
    page(*(new_markdown_cell(as_text(text)) for text in slow * 4))
    assert time.monotonic() - began < 20
