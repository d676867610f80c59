"""Cells as edits: what is made of them, and what is said about one that does not fit its base."""

from __future__ import annotations

import ast

import pytest

from autograder.lessons.catalogue import ROOT, lessons
from autograder.lessons.percent import blocks
from autograder.lessons.source import solved_cells
from autograder.proof.edits import Cells, EditError, applied, cells_of, read_edits, without_comments
from autograder.proof.exploit import FOLDER, exploits
from autograder.proof.witness import lesson_of, witnesses_of
from course.engine.faults import Outcome

SOLUTION = """\
from numba import cuda

TILE = 16  # a side


@cuda.jit
def add(x, y):  # x, y: (N,)
    # one element a thread
    i = cuda.grid(1)

    if i < y.size:
        y[i] = x[i] + 1  # read N, write N
    if i == 0:
        y[i] = x[i] + 1
"""


def made(edit: str, source: str = SOLUTION) -> str:
    return applied(source, read_edits(edit))


def refused(edit: str, source: str = SOLUTION) -> tuple[int, str]:
    with pytest.raises(EditError) as caught:
        made(edit, source)
    return caught.value.line, str(caught.value)


def test_lines_that_go_make_room_for_those_that_come() -> None:
    assert made("- if i < y.size:\n-     y[i] = x[i] + 1\n+ y[i] = x[i]") == (
        "from numba import cuda\n\nTILE = 16\n\n\n@cuda.jit\ndef add(x, y):\n"
        "    i = cuda.grid(1)\n\n    y[i] = x[i]\n    if i == 0:\n        y[i] = x[i] + 1"
    )


def test_changes_may_stand_in_any_order_and_a_blank_line_tells_two_apart() -> None:
    lines = made("- if i == 0:\n-     y[i] = x[i] + 1\n\n- TILE = 16\n+ TILE = 32\n+ HALF = 16")
    assert lines.startswith("from numba import cuda\n\nTILE = 32\nHALF = 16\n")
    assert lines.endswith("    if i < y.size:\n        y[i] = x[i] + 1")
    together = refused("- if i == 0:\n-     y[i] = x[i] + 1\n- TILE = 16\n+ TILE = 32")
    assert "Each line stands there, but not so one below the other." in together[1]


def test_blank_lines_of_the_base_part_no_lines_that_go() -> None:
    assert "    i = 0\n    if i == 0:" in made(
        "- i = cuda.grid(1)\n- if i < y.size:\n-     y[i] = x[i] + 1\n+ i = 0"
    )


def test_an_edit_may_be_written_as_deep_as_its_base_stands() -> None:
    shallow = made("- i = cuda.grid(1)\n+ i = 0\n+\n+ if i:\n+     i = 1")
    deep = made("-     i = cuda.grid(1)\n+     i = 0\n+\n+     if i:\n+         i = 1")
    assert shallow == deep
    assert "def add(x, y):\n    i = 0\n\n    if i:\n        i = 1\n" in deep
    assert refused("-         i = cuda.grid(1)\n+ i = 0")[0] == 1


def test_lines_that_stay_say_where_others_come_and_go() -> None:
    below = made(
        "  i = cuda.grid(1)\n+ i += 1\n- if i < y.size:\n-     y[i] = x[i] + 1\n+ y[i] = 0"
    )
    assert "    i = cuda.grid(1)\n    i += 1\n\n    y[i] = 0\n    if i == 0:" in below
    above = made(
        "+ i += 1\n  if i == 0:\n-     y[i] = x[i] + 1\n+     return\n\n  TILE = 16\n+ HALF = 8"
    )
    assert above.endswith("    i += 1\n    if i == 0:\n        return")
    assert "TILE = 16\nHALF = 8\n" in above
    between = made("  if i < y.size:\n+     i += 0\n      y[i] = x[i] + 1")
    assert "    if i < y.size:\n        i += 0\n        y[i] = x[i] + 1\n    if i == 0:" in between


def test_three_dots_are_all_down_to_the_next_line_that_goes() -> None:
    assert made("- i = cuda.grid(1)\n- ...\n- if i == 0:\n+ while True:").endswith(
        "def add(x, y):\n    while True:\n        y[i] = x[i] + 1"
    )
    nearest = made("- if i < y.size:\n- ...\n-     y[i] = x[i] + 1\n+ pass")
    assert nearest.endswith("(1)\n\n    pass\n    if i == 0:\n        y[i] = x[i] + 1")


def test_tabs_stand_as_they_stand_in_the_base() -> None:
    source = "def add(x):\n\tif x:\n\t\tx += 1\n\treturn x"
    assert made("- x += 1\n+ x += 2\n+ x += 3", source) == (
        "def add(x):\n\tif x:\n\t\tx += 2\n\t\tx += 3\n\treturn x"
    )
    assert made("- if x:\n- \tx += 1", source) == "def add(x):\n\treturn x"


def test_comments_are_no_part_of_a_base_and_marks_in_texts_are_no_comments() -> None:
    source = 'a = """#\n  \n# b\n"""  # c\n# d\ne = "#"\n'
    assert without_comments(source) == 'a = """#\n  \n# b\n"""\ne = "#"\n'
    assert without_comments("a = (  # never closed") == "a = (  # never closed"


def test_comments_that_an_edit_brings_stay() -> None:
    assert "    i = 0  # the first\n" in made("- i = cuda.grid(1)\n+ i = 0  # the first")


@pytest.mark.parametrize(
    ("edit", "line", "words"),
    [
        (
            "- TILE = 16\n+ TILE = 32\n- i = cuda.gird(1)\n+ i = 0",
            3,
            "expected this once in the base, found it 0 times: `i = cuda.gird(1)`. "
            "The nearest line to `i = cuda.gird(1)` is `i = cuda.grid(1)`.",
        ),
        (
            "- y[i] = x[i] + 1\n+ y[i] = x[i]",
            1,
            "expected this once in the base, found it 2 times: `y[i] = x[i] + 1`. "
            "Write the line above or below beside it, which stays.",
        ),
        (
            "- i = cuda.grid(1)\n- if i == 0:\n+ i = 0",
            1,
            "found it 0 times: `i = cuda.grid(1) / if i == 0:`. Each line stands there, but not",
        ),
        ("- TILE = 16\n-\n- TILE = 32", 1, "found it 0 times: `TILE = 16 / TILE = 32`"),
        ("- TILE = 16\n- ...\n- TILE = 17", 1, "The nearest line to `TILE = 17` is `TILE = 16`."),
        ("- i = cuda.grid(1)\n- ...", 1, "found it 0 times: `i = cuda.grid(1) / ...`. Each line"),
        ("- if i == 0:\n- ...\n- TILE = 16", 1, "Each line stands there, but not so one below"),
        ("- # a side", 1, "found it 0 times: `# a side`"),
        ("- TILE = 16\n+ A = 1\n\n- TILE = 16\n+ B = 1", 4, "two changes take one line"),
        ("- TILE = 16\nTILE = 32", 2, "expected `- `, `+ ` or two blanks before each line of an"),
        ("+ TILE = 32", 1, "a line that comes needs one beside it that goes or stays."),
        ("- TILE = 16\n TILE = 32", 2, "two blanks before each line of an edit, got: TILE = 32"),
        ("  y[i] = x[i] + 1\n+ y[i] = 0", 1, "found it 2 times: `y[i] = x[i] + 1`."),
        ("- TILE = 16\n\n+ TILE = 32", 3, "a line that comes needs one beside it that goes or"),
        ("-\n+ TILE = 32", 1, "a blank line could stand anywhere: begin with one that has text"),
    ],
)
def test_an_edit_that_does_not_fit_is_a_sentence_with_its_line(
    edit: str, line: int, words: str
) -> None:
    at, sentence = refused(edit)
    assert words in sentence
    assert at == line


@pytest.mark.parametrize(
    ("text", "above"),
    [
        ("@cuda.jit\ndef add(x, y):\n    pass", "from numba import cuda\n\n\n"),
        ("TILE = 32\n", "from numba import cuda\n\n"),
        ("def add(x, y):\n    import math", ""),
        ("%%bash\nls", ""),
    ],
)
def test_a_whole_cell_that_imports_nothing_has_the_imports_of_the_solution(
    text: str, above: str
) -> None:
    [block] = blocks(f"# %% add other -> PASS\n# Why.\n{text}")[1]
    [cell] = cells_of(block)
    assert Cells([cell], {"add": SOLUTION}).whole(cell) == above + text.strip()
    assert Cells([cell], {}).whole(cell) == text.strip()


CHAIN = """\
# %% add second from first -> PASS
# Why.
- y = 2
+ y = 3

# %% add first -> PASS

# Why.

- x = 1
+ x = 2
+ y = 2

# %% add whole -> PASS
# Why.
x = 1  # a comment

# %% add third from whole -> PASS
# Why.
- x = 1
+ x = 9
"""


def cells_in(text: str) -> Cells:
    found = [cell for block in blocks(text)[1] for cell in cells_of(block)]
    return Cells(found, {"add": "x = 1  # one"})


def whole(text: str, name: str) -> str:
    found = [cell for block in blocks(text)[1] for cell in cells_of(block)]
    return cells_in(text).whole(next(cell for cell in found if cell.name == name))


def test_a_base_may_be_the_solution_a_whole_cell_or_another_edit_wherever_it_stands() -> None:
    names = ("first", "second", "whole", "third")
    assert [whole(CHAIN, name) for name in names] == [
        "x = 2\ny = 2",
        "x = 2\ny = 3",
        "x = 1  # a comment",
        "x = 9",
    ]


@pytest.mark.parametrize(
    ("old", "new", "name", "line", "words"),
    [
        (
            "add first",
            "add first from second",
            "first",
            1,
            "this is made of itself: first from second from first.",
        ),
        (
            "from first",
            "from second",
            "second",
            1,
            "second: this is made of itself: second from",
        ),
        ("from first", "from frist", "second", 1, "second: this file has no cell 'frist' of add."),
        ("add first", "sub first", "first", 6, "sub first: there is no solution of this exercise"),
        ("add whole", "add whole from first", "whole", 14, "add whole: a whole cell has no base:"),
        ("- x = 1\n+ x = 2", "- x = 7\n+ x = 2", "first", 10, "add first: expected this once in"),
        ("- x = 1\n+ x = 2", "- x = 7\n+ x = 2", "second", 10, "add first: expected this once in"),
    ],
)
def test_a_base_that_cannot_be_is_a_sentence_with_the_line_of_the_file(
    old: str, new: str, name: str, line: int, words: str
) -> None:
    with pytest.raises(EditError) as caught:
        whole(CHAIN.replace(old, new, 1), name)
    assert words in str(caught.value)
    assert caught.value.line == line


# ------------------------------------------------------------------ what the course has


@pytest.mark.parametrize("stem", lessons())
def test_every_witness_is_python(stem: str) -> None:
    for witness in witnesses_of(stem):
        assert ast.parse(witness.source).body, witness.name


def test_every_exploit_that_the_judge_reads_to_its_end_is_python() -> None:
    refused = (Outcome.REJECTED, Outcome.DOES_NOT_COMPILE, Outcome.WRONG_ANSWER)
    for one in [*exploits(FOLDER), *exploits(FOLDER / "triton")]:
        if one.cell is not None and not set(one.expect.values()) & {*refused}:
            ast.parse(one.cell)


@pytest.mark.parametrize("stem", ["threads", "attention_backward"])
def test_a_base_is_the_solution_as_the_lesson_has_it(stem: str) -> None:
    cells = solved_cells(ROOT, stem)
    for name, source in lesson_of(stem).solutions.items():
        assert cells[name] == source
