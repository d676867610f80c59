"""A check in a notebook's session: the cell as it was run is what is read."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from course.engine.faults import Outcome
from course.tests.kernels_of_learners import NO_GUARD, RIGHT
from course.words.verdict import Verdict


@pytest.fixture(scope="module")
def notebook():
    """Runs a cell as a notebook does, and returns what it shows."""
    shell = InteractiveShell.instance()
    shell.run_cell("from course import exercises as ex", store_history=True)
    yield lambda cell: shell.run_cell(cell, store_history=True)
    InteractiveShell.clear_instance()


def check(notebook, name="vector_add") -> Verdict:
    return notebook(f"ex.{name}.check({name})").result


def test_a_right_cell_passes_and_its_lines_are_those_of_the_cell(notebook):
    notebook("# a comment of the learner\n" + RIGHT)
    verdict = check(notebook)
    assert verdict
    assert verdict.source.startswith("# a comment of the learner")
    assert [line.number for line in verdict.lines if line.accesses] == [9]


def test_a_constant_from_another_cell_is_refused_although_it_would_run(notebook):
    notebook("LIMIT = 4096")
    notebook(RIGHT.replace("c.size", "min(LIMIT, c.size)"))
    verdict = check(notebook)
    assert (verdict.outcome, verdict.line) == (Outcome.REJECTED, 7)
    assert "move LIMIT into this one" in verdict.next_steps[0]


def test_a_cell_that_did_not_run_is_what_is_checked_and_not_the_one_before(notebook, capsys):
    notebook(RIGHT)
    notebook(RIGHT.replace("a[i] + b[i]", "(a[i] + b[i]"))
    assert "Error" in capsys.readouterr().out  # Python 3.13 has one for input that is not complete
    verdict = check(notebook)
    assert (verdict.outcome, verdict.line) == (Outcome.DOES_NOT_COMPILE, 8)


def test_a_name_that_was_never_run_is_pythons_own_error(notebook):
    result = notebook("ex.vector_add.check(never_defined)")
    assert isinstance(result.error_in_exec, NameError)


def test_a_verdict_is_shown_as_html(notebook):
    notebook(RIGHT)
    shell = InteractiveShell.instance()
    assert shell.display_formatter is not None
    shown, _ = shell.display_formatter.format(check(notebook))
    assert "<table" in shown["text/html"]
    assert shown["text/plain"].startswith("✓ vector_add: right")


def test_numbers_are_read_from_the_cell_that_assigns_them(notebook):
    notebook('grid_math = {"blocks": 79 + 0, "threads": ...}')
    verdict = check(notebook, "grid_math")
    assert verdict.outcome is Outcome.WRONG_ANSWER
    assert next(e.got for e in verdict.entries if e.key == "blocks") == "79 + 0 = 79"
    assert verdict.entries[0].right


def test_what_a_checked_kernel_prints_is_seen_with_its_case_and_thread(notebook, capsys):
    notebook(RIGHT.replace("if i <", "if i == 300:\n        print(i, a.size)\n    if i <"))
    check(notebook)
    assert capsys.readouterr().out.splitlines()[:2] == [
        "case 2 (N=1000), thread 44 of block 1: 300 1000",
        "case 3 (N=4096), thread 44 of block 1: 300 4096",
    ]


def test_of_many_prints_the_first_are_seen_and_how_many_more_there_are(notebook, capsys):
    notebook(RIGHT.replace("c[i] = a", "print(i)\n        c[i] = a"))
    check(notebook)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "case 1 (N=1), thread 0 of block 0: 0"
    assert told[19] == "case 2 (N=1000), thread 18 of block 0: 18"
    assert told[20].startswith("... and 5077 more lines. `course.trace(vector_add, ...)`")


def test_a_verdict_ends_with_a_line_that_follows_the_thread_on_its_case(notebook, capsys):
    notebook("import course")
    notebook(NO_GUARD)
    verdict = check(notebook)
    line = verdict.commands[-1]
    expected = "course.trace(vector_add, block=0, thread=1)[1, 256](*ex.vector_add.case(1))"
    assert line == expected
    assert f"\n        {line}" in str(verdict)
    capsys.readouterr()
    notebook(line)
    assert "i = 1" in capsys.readouterr().out


def test_a_case_has_the_arguments_of_the_check_by_name_and_in_order(notebook):
    drawn = notebook("ex.vector_add.case(2)").result
    assert drawn._fields == ("a", "b", "c")
    notebook(RIGHT.replace("a[i] + b[i]", "a[i] - b[i]"))
    verdict = check(notebook)
    line = "course.trace(vector_add, block=0, thread=0)[4, 256](*ex.vector_add.case(2))"
    assert verdict.commands[-1] == line
    assert f"your kernel gave {drawn.a[0] - drawn.b[0]:.6g}" in verdict.message


def test_a_case_shows_itself_in_a_few_lines_with_the_place_where_a_check_failed(notebook):
    notebook(RIGHT.replace("a[i] + b[i]", "a[i] + b[i] * (i < 3)"))
    check(notebook)
    drawn = notebook("ex.vector_add.case(2)").result
    a, b, _ = drawn
    first = " ".join(f"{value:.6g}" for value in a[:4])
    assert repr(drawn).splitlines() == [
        "ex.vector_add.case(2): N=1000",
        f"    a  (1000,) float32: {first} ...",
        f"    b  (1000,) float32: {' '.join(f'{value:.6g}' for value in b[:4])} ...",
        "    c  (1000,) float32, to be written",
        f"    c[3] is the first that is wrong; a[3] = {a[3]:.6g}; b[3] = {b[3]:.6g}",
    ]
    assert "first that is wrong" not in repr(notebook("ex.vector_add.case(3)").result)


def test_a_trace_shows_what_is_stored_and_how_a_test_comes_out(notebook, capsys):
    notebook("import course")
    notebook(RIGHT)
    drawn = notebook("ex.vector_add.case(2)").result
    capsys.readouterr()
    notebook("course.trace(vector_add, block=0, thread=5)[4, 256](*ex.vector_add.case(2))")
    told = capsys.readouterr().out
    assert "c.size:   -> True" in told
    assert "-> c[5] = " + str(drawn.a[5] + drawn.b[5]) in told


def test_behind_a_trace_a_fault_gives_no_advice_of_its_own(notebook, capsys):
    notebook("import course")
    notebook(NO_GUARD)
    capsys.readouterr()
    notebook("course.trace(vector_add, block=0, thread=1)[1, 256](*ex.vector_add.case(1))")
    told = capsys.readouterr().out
    assert "does not exist" in told
    assert "Guard the line" not in told


def test_a_case_that_does_not_exist_is_told_with_those_that_do(notebook):
    with pytest.raises(ValueError, match="cases 1 to 3, and you asked for 4"):
        notebook("ex.vector_add.case(4)").raise_error()


@pytest.mark.parametrize("command", ["%%time", "%%capture shown", "%pwd", "!true"])
def test_a_cell_with_a_command_is_refused_at_home_as_in_class(notebook, command):
    notebook(f"{command}\n{RIGHT}")
    verdict = check(notebook)
    assert (verdict.outcome, verdict.message_id) == (Outcome.REJECTED, "notebook_command")
    assert (verdict.line, verdict.source.splitlines()[0]) == (1, command)
