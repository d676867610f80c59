"""What the report says of a class as a whole: where it is stuck, which mistakes it shares."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.grading import report_pages
from autograder.grading.grade import grade
from autograder.grading.insights import insights
from autograder.grading.judging import Run, summarise
from autograder.grading.kernel_shape import shape_and_mark
from autograder.grading.mistakes import Mistakes
from autograder.grading.report import Filter, script
from autograder.grading.store import Store
from autograder.judge.judge import Graded, result
from autograder.judge.pool import Pool
from autograder.lessons.catalogue import lesson_exercises
from autograder.tests import fakes
from autograder.tests.fakes import verdict
from autograder.tests.notebooks import LESSON, put, solved
from autograder.tests.test_report import FIRST, SECOND, Reader, graded, overview
from course.engine.faults import Outcome

CELL = """\
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    c[i] = a[i] + b[i]  # mine
"""
RENAMED = """\
from numba import cuda as gpu


@gpu.jit
def vector_add(x, y, z):
    me = gpu.grid(1)
    z[me] = x[me] + y[me]
"""
LONGER = CELL.replace("    c[i]", "    n = a.size\n    c[i]")
MARKED_LINE = 7


def wrong(student: str, cell: str, line: int | None = MARKED_LINE, message: str = "") -> Graded:
    shape, mark = shape_and_mark(cell, line)
    about = {"message_id": "out_of_bounds", "message": message or "a[1] does not exist."}
    one = graded(student, outcome="OUT_OF_BOUNDS", points=0, panel="", line=line, **about)
    return replace(one, cell=cell, shape=shape, mark=mark)


def test_exercises_are_ranked_by_the_share_without_full_points() -> None:
    rows = [
        *(graded(name) for name in ("a", "b", "c")),
        graded("d", outcome="RACE", points=0),
        graded("a", SECOND, outcome="TOO_MUCH_TRAFFIC", points=2),
        graded("b", SECOND, outcome="TOO_MUCH_TRAFFIC", points=2),
        graded("c", SECOND),
    ]
    first, second = insights(rows, {(LESSON, SECOND): 9, (LESSON, FIRST): 4}).stuck
    assert (first.name, first.short, first.students, first.attempts_each) == (SECOND, 2, 3, 3.0)
    assert first.commonest == ("right answer, too much traffic", 2)
    assert (second.name, second.share) == (FIRST, 0.25)


def test_points_are_counted_by_tenths_and_full_ones_apart() -> None:
    shares = {"a": 0.0, "b": 0.39, "c": 0.4, "d": 1.2, "e": 3.99, "f": 4.0}
    [one] = insights([graded(name, points=points) for name, points in shares.items()], {}).points
    assert list(one.bars) == [2, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1]
    assert (one.students, one.worth, one.median) == (6, 4, pytest.approx(0.8))


def test_the_same_statement_by_other_names_is_one_mistake_and_its_commonest_cell_is_shown() -> None:
    made = [wrong("a", LONGER, 8), wrong("b", CELL), wrong("c", RENAMED), wrong("d", CELL, None)]
    [mistake] = overview(made).mistakes
    assert (mistake.count, mistake.students, mistake.alike) == (3, ["a", "b", "c"], 2)
    assert mistake.headline == "out of bounds"
    assert mistake.line == "c[i] = a[i] + b[i]  # mine"
    assert [number for number, _, here in mistake.code if here] == [MARKED_LINE]


def test_without_a_line_the_same_sentence_but_for_its_numbers_is_one_mistake() -> None:
    found = Mistakes()
    said = ["c[999] was never written.", "c[7] was never written.", "c[1]: expected 2, got 3."]
    rows = [wrong(str(n), CELL, None, message) for n, message in enumerate(said)]
    for number, row in enumerate(rows):
        found.add(number, row)
    [mistake] = found.shown(rows.__getitem__)
    assert mistake.students == ["0", "1"]


def test_a_right_cell_is_not_kept_and_a_wrong_one_is() -> None:
    exercise = lesson_exercises("threads")[0]
    right = result(exercise, verdict(exercise, CELL, Outcome.PASS, 1.0), CELL)
    assert (right["cell"], right["shape"], right["mark"]) == ("", "", "")
    about = replace(verdict(exercise, CELL, Outcome.RACE, 0.0), line=MARKED_LINE)
    kept = result(exercise, about, CELL)
    assert kept["cell"] == CELL
    assert (kept["shape"], kept["mark"]) == shape_and_mark(RENAMED, MARKED_LINE)
    assert kept["mark"] != shape_and_mark(CELL, MARKED_LINE - 1)[1]


def test_a_worker_sends_the_wrong_cell_and_its_time(tmp_path: Path) -> None:
    put(
        tmp_path / "in/vega/01_threads.ipynb",
        solved({FIRST: "WRONG_ANSWER\n# by vega", SECOND: "slow 0.1"}),
    )
    kept = Store(tmp_path / "out")
    with Pool(b"seed", check=fakes.CHECK, trust=True) as workers:
        list(grade([tmp_path / "in"], kept, workers, Run()))
    found = {one.graded.exercise: one.graded for one in kept.ledger.latest() if one.graded}
    assert found[FIRST].cell == "WRONG_ANSWER\n# by vega"
    assert found[SECOND].cell == ""
    assert found[FIRST].seconds < 0.1 <= found[SECOND].seconds < 60


def test_what_leads_out_of_a_cell_is_named_and_a_plain_refusal_is_not() -> None:
    said = {
        "a": "`os.system` cannot be used in a kernel here.",
        "b": "`np.sum` cannot be used in a kernel here.",
        "c": "`x.__class__` cannot be used in a kernel here.",
        "d": "`position` cannot be used in a kernel here.",
    }
    rows = [graded(who, outcome="REJECTED", message=message) for who, message in said.items()]
    assert [one.student for one in insights(rows, {}).to_look_at] == ["a", "c"]


def test_a_notebook_that_takes_many_times_the_usual_is_named() -> None:
    rows = [graded(str(n), seconds=0.5) for n in range(9)] + [graded("slow", seconds=9.0)]
    assert [one.student for one in insights(rows, {}).slow] == ["slow"]


def test_attempts_are_notebooks_and_not_verdicts(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    for content in ("1", "1", "2"):
        kept.keep(graded("vega", content=content))
    kept.keep(graded("deneb", content="1"))
    assert kept.ledger.attempts() == {(LESSON, FIRST): 3}


@pytest.mark.parametrize("most", [1500, 0])
def test_the_report_has_all_of_it_on_one_page_or_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(report_pages, "MOST_ON_ONE_PAGE", most)
    kept = Store(tmp_path)
    for row in (wrong("a", CELL), wrong("b", CELL), graded("c"), graded("d", seconds=99.0)):
        kept.keep(row)
    (tmp_path / "similar.html").write_text("")
    summarise(kept, "shown")
    html = (tmp_path / "report.html").read_text()
    reader = Reader(html)
    words = " ".join(" ".join(reader.words).split())
    for told in ("Where the class is stuck", "50 %", "2 of 4", "out of bounds 2", "# mine"):
        assert told in words, told
    assert any("full points 2" in label for label in reader.labels)
    assert "99 s; the median is" in words
    assert "similar.html" in reader.links


@pytest.mark.skipif(shutil.which("node") is None, reason="There is no Node here.")
def test_the_filter_shows_whoever_fits_all_that_was_chosen() -> None:
    class_ = {"Vega": [graded("", FIRST), graded("", SECOND)]}
    class_["Deneb"] = [graded("", FIRST, outcome="RACE")]
    choice = Filter([row for rows in class_.values() for row in rows])
    rows = [{"student": name, "verdicts": choice.verdicts(own)} for name, own in class_.items()]
    offered = [*choice.given["all_exercises"], *choice.given["all_outcomes"]]
    numbers = {words: str(number) for number, words in offered}
    asked = [
        ["", "", ""],
        ["EG", "", ""],
        ["", numbers[FIRST], numbers["RACE"]],
        ["", numbers[SECOND], ""],
        ["", "", numbers["PASS"]],
    ]
    text, _ = script()
    page = f"""
    const rows = {json.dumps(rows)}.map(dataset => ({{dataset, hidden: false}}));
    const fields = [{{value: ""}}, {{value: ""}}, {{value: ""}}], said = {{}};
    let changed;
    const box = {{hidden: true, querySelectorAll: () => fields, querySelector: () => said,
                 addEventListener: (_, show) => {{ changed = show; }}}};
    const document = {{getElementById: () => box, querySelectorAll: () => rows}};
    {text}
    for (const one of {json.dumps(asked)}) {{
      fields.forEach((field, k) => {{ field.value = one[k]; }});
      changed();
      console.log(rows.filter(r => !r.hidden).map(r => r.dataset.student).join() + " " +
                  said.textContent);
    }}
    """
    done = subprocess.run(["node", "-e", page], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "Vega,Deneb 2 students",
        "Vega 1 student",
        "Deneb 1 student",
        "Vega 1 student",
        "Vega 1 student",
    ]
