"""What is said about a wrong lesson source, and where."""

from __future__ import annotations

import pytest

from autograder.lessons.percent import SourceError
from autograder.lessons.source import Kind, read_lesson, starter
from autograder.tests.small_course import ADD_ONE, COUNT_BLOCKS, LESSON, small_course

ALL = (ADD_ONE, COUNT_BLOCKS)


def read(tmp_path, text, exercises=ALL):
    return read_lesson(small_course(tmp_path, text) / "solutions" / "01_small.py", exercises)


def line_of(text, words):
    return next(n for n, line in enumerate(text.splitlines(), 1) if words in line)


def test_a_cells_kind_comes_from_its_name(tmp_path):
    kinds = [(cell.name, cell.kind) for cell in read(tmp_path, LESSON).cells]
    assert kinds == [
        ("", Kind.PROSE),
        ("", Kind.CODE),
        ("predict", Kind.CODE),
        ("add_one", Kind.SOLUTION),
        ("add_one_check", Kind.CHECK),
        ("", Kind.PROSE),
        ("count_blocks", Kind.SOLUTION),
        ("count_blocks_check", Kind.CHECK),
        ("explain_guard", Kind.EXPLAIN),
    ]


def test_a_cell_knows_its_line_in_the_file(tmp_path):
    for cell in read(tmp_path, LESSON).cells:
        if cell.name:
            header = LESSON.splitlines()[cell.line - 1]
            assert header.startswith("# %%")
            assert header.endswith(cell.name)


def test_a_percent_line_inside_a_string_starts_no_cell(tmp_path):
    text = LESSON.replace("prediction = ...", 'text = """\n# %% no cell\n"""')
    cells = {cell.name: cell for cell in read(tmp_path, text).cells if cell.name}
    assert cells["add_one"].line == line_of(text, "# %% add_one")


def test_a_solution_has_no_markers_and_a_starter_no_solution(tmp_path):
    lesson = read(tmp_path, LESSON)
    assert lesson.solutions["add_one"].endswith(
        "def add_one(x, y):\n"
        "    i = cuda.grid(1)\n"
        "    if i < x.size:\n"
        "        y[i] = x[i] + 1  # read N, write N"
    )
    assert lesson.starters["add_one"].endswith("def add_one(x, y):\n    ...")
    assert lesson.starters["count_blocks"] == 'count_blocks = {"blocks": ...}'


def test_a_starter_keeps_what_stands_between_two_regions():
    source = (
        "a\n### BEGIN SOLUTION\nb\n### END SOLUTION\nc\n  ### BEGIN SOLUTION\n  ### END SOLUTION"
    )
    assert starter(source) == "a\n...\nc\n  ..."


#: What is replaced in the lesson, by what, words of the sentence, and words of its line
WRONG = {
    "a region without an end": (
        "    ### END SOLUTION\n",
        "",
        "has no '### END SOLUTION'",
        "    ### BEGIN SOLUTION",
    ),
    "an end without a region": (
        "    ### BEGIN SOLUTION\n",
        "",
        "ends a region that no '### BEGIN SOLUTION' opens",
        "    ### END SOLUTION",
    ),
    "a region in a region": (
        "    i = cuda.grid(1)",
        "    ### BEGIN SOLUTION",
        "before this",
        "if i < x.size",
    ),
    "a marker misspelt": (
        "### BEGIN SOLUTION\n    i",
        "## BEGIN SOLUTION\n    i",
        "expected a line that holds",
        "## BEGIN SOLUTION",
    ),
    "no check cell": (
        "# %% add_one_check\nex.add_one.check(add_one)\n",
        "",
        "has no check cell. Add `# %% add_one_check`",
        "# %% add_one",
    ),
    "a check of something else": (
        "ex.add_one.check(add_one)",
        "ex.add_one.check(add_two)",
        "expected one line in 'add_one_check': ex.add_one.check(add_one) and nothing else, "
        "got: ex.add_one.check(add_two)",
        "# %% add_one_check",
    ),
    "a solution of an unknown exercise": (
        "# %% add_one\n",
        "# %% add_two\n",
        "'add_two' belongs to no exercise of this lesson. course/exercises/small.py declares: "
        "add_one, count_blocks",
        "# %% add_two",
    ),
    "a check of an unknown exercise": (
        "# %% count_blocks_check\n",
        "# %% count_block_check\n",
        "'count_block_check' belongs to no exercise",
        "# %% count_block_check",
    ),
    "two cells of one name": (
        "# %% predict",
        "# %% add_one",
        "stands on line",
        "from numba import cuda",
    ),
    "a solution without a name": (
        "# %% add_one\n",
        "# %%\n",
        "a solution region stands in a cell without a name",
        "from numba import cuda",
    ),
    "a region in an ordinary cell": (
        "prediction = ...",
        "### BEGIN SOLUTION",
        "neither an exercise's solution nor a written answer",
        "### BEGIN SOLUTION",
    ),
    "a written answer without its begin": (
        "# ### BEGIN SOLUTION\n# The",
        "# The",
        "ends a region that no",
        "# ### END SOLUTION",
    ),
    "a solution that is not Python": (
        "y[i] = x[i] + 1",
        "y[i] = x[i] +",
        "the solution of 'add_one' is not Python",
        "y[i] = x[i] +",
    ),
    "hidden tests": (
        "prediction = ...",
        "### BEGIN HIDDEN TESTS",
        "a lesson holds no hidden tests",
        "### BEGIN HIDDEN TESTS",
    ),
    "a stub left in the solution": (
        "    i = cuda.grid(1)",
        "    ...",
        "one a region in the starter and none in the solution, got 1",
        "# %% add_one",
    ),
}


@pytest.mark.parametrize(("old", "new", "words", "at"), WRONG.values(), ids=WRONG)
def test_a_wrong_source_is_a_sentence_with_its_line(tmp_path, old, new, words, at):
    text = LESSON.replace(old, new, 1)
    assert text != LESSON
    with pytest.raises(SourceError) as caught:
        read(tmp_path, text)
    found = {problem.line: problem.sentence for problem in caught.value.problems}
    line = line_of(text, at)
    sentences = [s for number, s in found.items() if number in (line, line - 1) and words in s]
    assert sentences, str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "solutions" / "01_small.py") + ":")


def test_a_solution_cell_without_markers_is_refused(tmp_path):
    text = LESSON.replace("    ### BEGIN SOLUTION\n", "").replace("    ### END SOLUTION\n", "")
    with pytest.raises(SourceError, match="'add_one' has no '### BEGIN SOLUTION' and"):
        read(tmp_path, text)


def test_a_written_answer_without_markers_is_refused(tmp_path):
    text = LESSON.replace("# ### BEGIN SOLUTION\n", "").replace("# ### END SOLUTION\n", "")
    with pytest.raises(SourceError, match="'explain_guard' has no '### BEGIN SOLUTION'"):
        read(tmp_path, text)


def test_a_spec_that_no_cell_solves_is_named(tmp_path):
    text = LESSON[: LESSON.index("# %% count_blocks")]
    with pytest.raises(SourceError, match="declares 'count_blocks', which no cell here solves"):
        read(tmp_path, text)


def test_a_check_above_its_solution_is_refused(tmp_path):
    check = "# %% count_blocks_check\nex.count_blocks.check(count_blocks)\n\n"
    text = LESSON.replace(check, "").replace("# %% count_blocks\n", check + "# %% count_blocks\n")
    with pytest.raises(SourceError, match="'count_blocks_check' stands above its solution"):
        read(tmp_path, text)


def test_every_mistake_is_reported_at_once(tmp_path):
    text = LESSON.replace("check(add_one)", "check()").replace("check(count_blocks)", "check()")
    with pytest.raises(SourceError) as caught:
        read(tmp_path, text)
    assert len(caught.value.problems) == 2


def test_a_file_with_a_wrong_name_is_refused(tmp_path):
    path = small_course(tmp_path) / "solutions" / "small.py"
    path.write_text(LESSON)
    with pytest.raises(SourceError, match="two digits, an underscore"):
        read_lesson(path, ALL)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = small_course(tmp_path) / "solutions" / "01_small.py"
    path.write_bytes(b"# %%\n\xff\xfe")
    with pytest.raises(SourceError, match="expected UTF-8 text"):
        read_lesson(path, ALL)
