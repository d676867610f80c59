"""The class of students that cheat, graded by nbgrader with our judge in it, as one course."""

import contextlib
import html.parser
import json
import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import event
from sqlalchemy.engine import Engine

from autograder.grading.names import clean
from autograder.grading.nbgrader_glue import JudgedAutograde
from autograder.judge import overlay, private
from autograder.proof.exploit import Exploit, grade_id
from autograder.tests.exploit_class import (
    ROOT,
    SECRET,
    SEED,
    VARIABLE,
    Handed,
    Lesson,
    Marks,
    Place,
    assert_class,
    assert_nothing_leaked,
    handed,
    place_of,
    prints,
    processes,
    settings,
)
from course.engine.faults import Outcome

#: Stands in the held-out ranges' source, and in the name of the folder that they lie in.
HIDDEN = "CANARY-of-the-hidden-ranges-c40e"
#: Sizes and values of the private folder's held-out cases, and what tells of them: a size, alone or
#: with a larger number added, or its double and one; a value, or the sum of two.
_LARGE, _SIZE, _VALUE = 7919, 919, 701
_CARRIED_OUT = re.compile(r"\d*919|1839|701|140[23]")
_RANGES = f"""
# {HIDDEN}
from course.spec.draws import uniform as _uniform

_near = _uniform({_VALUE}.1, {_VALUE}.9)
"""
#: By lesson, what takes the place of an exercise's own held-out cases: sizes and dtypes that the
#: exploits tell apart, both.
_OWN_RANGES = {
    "threads": (
        "vector_add",
        f"Draws(N={_SIZE}, draws={{'a': _near, 'b': _near}}),"
        f"Draws(N={_LARGE}, draws={{'a': _near, 'b': _near}}),",
    ),
    "hello_triton": ("triton_add", f"Draws(N={_LARGE}, draws={{'x': _near, 'y': _near}}),"),
    "attention_backward": (
        "flash_delta",
        f"Draws(H=1, N={_SIZE}, D=16, draws={{'out': _near}}),"
        f"Draws(H=1, N={_SIZE}, D=16, draws={{'out': _near}}, dtypes=HALF_ROWS),",
    ),
}


@dataclass(frozen=True)
class School:
    """A course of several lessons in which everybody cheats.

    Attributes:
        handed_in: what was handed in, by lesson.
        touched: what lies outside, after the grading where it differs from before.
        left: processes that the grading left behind.
    """

    root: Path
    handed_in: Sequence[tuple[Place, Sequence[Handed]]]
    touched: Mapping[str, Any]
    left: frozenset[str]

    @property
    def course(self) -> Path:
        return self.root / "course"

    def scores(self) -> dict[tuple[str, str], dict[str, tuple[float | None, float]]]:
        """(what the judge gave, the most) by exercise, for each lesson and student."""
        with sqlite3.connect(self.course / "gradebook.db") as book:
            rows = book.execute(
                "select l.name, s.id, b.name, g.auto_score, g.manual_score, g.extra_credit, "
                "c.max_score from grade g join grade_cells c on g.cell_id = c.id "
                "join base_cell b on b.id = c.id "
                "join submitted_notebook n on g.notebook_id = n.id "
                "join submitted_assignment a on n.assignment_id = a.id "
                "join assignment l on a.assignment_id = l.id "
                "join student s on a.student_id = s.id"
            ).fetchall()
        found: dict[tuple[str, str], dict[str, tuple[float | None, float]]] = {}
        for lesson, student, cell, auto, manual, extra, most in rows:
            exercise = cell.removesuffix("_check")
            assert manual is None
            assert not extra
            assert exercise not in found.setdefault((lesson, student), {})
            found[lesson, student][exercise] = auto, most
        return found

    def by_lesson(self) -> Iterator[tuple[Place, list[Handed]]]:
        """Those whose names nbgrader knows. Of others it says so, and goes on with the class."""
        for place, submissions in self.handed_in:
            yield place, [one for one in submissions if "\n" not in one.student]


@contextlib.contextmanager
def school_of(
    tried: Mapping[Lesson, Sequence[Exploit]], root: Path, seconds_each: float
) -> Iterator[School]:
    """Has all of these handed in, and graded in one run of nbgrader's own converter."""

    def unsynced(connection: Any, _: Any) -> None:  # of this school alone: two may be open
        """A power cut is not asked about here; what would be left after one costs half the time."""
        if isinstance(connection, sqlite3.Connection):  # another test's may be a server's
            connection.execute("PRAGMA synchronous = OFF")

    with contextlib.ExitStack() as stack:
        event.listen(Engine, "connect", unsynced)
        stack.callback(event.remove, Engine, "connect", unsynced)
        handed_in = []
        for lesson, exploits in tried.items():
            place = stack.enter_context(place_of(lesson, root))
            handed_in.append((place, [o for one in exploits for o in _handed(one, place)]))
            for one in handed_in[-1][1]:
                _hand_in(root / "course" / "submitted" / one.student, lesson.name, one)
        outside, running = prints(root / "outside"), processes()
        config = settings(root, "*")
        config.JudgedAutograde.seed = str(_private_folder(root / HIDDEN, tried))
        config.JudgedAutograde.time_limit = seconds_each
        stack.callback(overlay.use, None)  # of this process: another test has other ranges
        JudgedAutograde(coursedir=CourseDirectory(config=config), config=config).start()
        after = prints(root / "outside")
        touched = {
            path: (outside.get(path), after.get(path))
            for path in outside.keys() | after.keys()
            if outside.get(path) != after.get(path)
        }
        yield School(root, handed_in, touched, frozenset(processes() - running))


def _handed(one: Exploit, place: Place) -> list[Handed]:
    """As nbgrader takes them: two spellings of one name are two students to it.

    Each of these has an empty notebook of its own, where `grade` refuses both.
    """
    found = handed(one, place)
    names = Counter(unicodedata.normalize("NFC", each.student) for each in found)
    return [
        each
        if names[unicodedata.normalize("NFC", each.student)] == 1
        else replace(each, expect=dict.fromkeys(each.expect, (Outcome.NOT_ATTEMPTED,)))
        for each in found
    ]


def _hand_in(folder: Path, name: str, one: Handed) -> None:
    if "" in one.links:
        one.put(folder)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        one.put(folder / name)


def _private_folder(folder: Path, tried: Mapping[Lesson, Sequence[Exploit]]) -> Path:
    """An instructor's own folder whose held-out cases can be told wherever they come out."""
    private.make(folder)
    (folder / private.SEED_NAME).write_text(SEED)
    for lesson in tried:
        stem = lesson.name.partition("_")[2]
        text = (ROOT / "autograder" / "hidden" / f"{stem}.py").read_text() + _RANGES
        if stem in _OWN_RANGES:
            name, ranges = _OWN_RANGES[stem]
            text += f"HIDDEN = HIDDEN | {{{name!r}: ({ranges})}}\n"
        (folder / "hidden" / f"{stem}.py").write_text(text)
    return folder


# ------------------------------------------------------------------ what must come of it


def assert_earned_nothing(school: School) -> None:
    """Each has its verdict and the points of that in the gradebook, and nobody else has any."""
    scores = school.scores()
    rows = json.loads((school.course / "grades" / "verdicts.json").read_text())
    for place, submissions in school.by_lesson():
        name, exercises = place.lesson.name, place.lesson.exercises
        own = [row for row in rows if row["notebook"] == name]
        assert_class(own, submissions, place.lesson)
        points = {(row["student"], row["exercise"]): row["points"] for row in own}
        for one in submissions:
            got = scores.pop((name, one.student))
            for exercise in exercises:
                earned = points[clean(one.student), exercise]
                assert got[exercise] == (earned, exercises[exercise].points), one.student
    assert not scores, "nobody else has a grade"


def assert_told_why(school: School) -> None:
    """The notebooks that come back have a reason under each check, and no output of theirs."""
    for place, submissions in school.by_lesson():
        for one in submissions:
            name = place.lesson.name
            path = school.course / "autograded" / one.student / name / f"{name}.ipynb"
            notebook = nbformat.read(path, as_version=4)
            checks = [cell for cell in notebook.cells if grade_id(cell).endswith("_check")]
            assert [c.outputs[0]["data"]["text/plain"][:3] for c in checks], "a reason under each"
            for cell in notebook.cells:
                assert cell.cell_type in ("code", "markdown")
                assert not cell.get("attachments")
                for output in cell.get("outputs", ()):
                    assert not Marks(output["data"]["text/html"]).found


def assert_touched_nothing(school: School) -> None:
    """Nothing outside was changed or left running, and nothing secret stands in what is written."""
    assert not school.touched
    assert not school.left
    for name in ("autograded", "grades"):
        assert_nothing_leaked(school.course / name, HIDDEN)
    for canary in (SEED, SECRET, VARIABLE, HIDDEN):
        assert canary.encode() not in (school.course / "gradebook.db").read_bytes()


def assert_feedback_is_clean(school: School) -> None:
    """Everybody gets a page: no seed, no held-out case, no script of theirs stands in it."""
    config = settings(school.root, "*")
    GenerateFeedback(coursedir=CourseDirectory(config=config), config=config).start()
    assert_nothing_leaked(school.course / "feedback", HIDDEN)
    pages = {}
    for place, submissions in school.by_lesson():
        for one in submissions:
            name = place.lesson.name
            path = school.course / "feedback" / one.student / name / f"{name}.html"
            pages[one.student, name] = page = _Page(path.read_text())
            told = {n for n in re.findall(r"\d+", page.text) if _CARRIED_OUT.fullmatch(n)}
            written = b" ".join(data or b"" for data in one.files.values()).decode(errors="replace")
            assert told <= set(re.findall(r"\d+", written)), one.student
    nbgraders_own = set[str].intersection(*(page.scripts for page in pages.values()))
    for whose, page in pages.items():
        assert page.scripts == nbgraders_own, whose


class _Page(html.parser.HTMLParser):
    """The scripts of a page, and what it shows."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.scripts: set[str] = set()
        self.text = ""
        self._inside = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag if tag in ("script", "style") else ""
        if tag == "script":
            self.scripts.add(str(attrs))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.add(data)
        elif not self._inside:
            self.text += data
