"""`python -m autograder grades FORMAT`: the points of a class in the form that an LMS imports.

canvas    Canvas, Grades, Import: needs --roster, the file that Grades, Export gives
moodle    Moodle, Grades, Import, CSV file: needs --roster, with e-mails, ID numbers or usernames;
          or with --fill FILE an assignment's grading worksheet, grades and feedback filled in
students  a row a student, a column a lesson, for any spreadsheet

A lesson of which not all is judged is no grade: its field stays empty, and a sentence names it.
Points are those of the verdicts; with --gradebook they are nbgrader's, written answers marked by
hand and penalties among them.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autograder import Refused
from autograder.grading import spreadsheet
from autograder.grading.anonymous import pseudonyms
from autograder.grading.grade import add_from
from autograder.grading.gradebook import Marked, marked
from autograder.grading.names import few
from autograder.grading.roster import Roster, read_roster
from autograder.grading.seeds import chosen_folder
from autograder.grading.store import store_of
from autograder.grading.worksheet import Columns, fill, read_worksheet
from autograder.judge import overlay
from autograder.judge.judge import Graded
from autograder.judge.sentences import HELD, JUDGED_AGAIN
from autograder.lessons.catalogue import lesson_in, lesson_name
from course.plain.text import counted

#: By kind of `autograder.grading.roster.COLUMNS`, what each LMS calls it.
_CANVAS = {"id": "ID", "number": "SIS User ID", "login": "SIS Login ID", "section": "Section"}
_MOODLE = {"email": "Email address", "number": "ID number", "login": "Username"}


@dataclass(frozen=True)
class Lesson:
    """What one student has in one lesson. `points` is None where not all of it is judged.

    `waits`: for the mark of a written answer, and all else is judged. `differs`: all of it is, with
    other points an exercise than most of the class. `marked` is what the gradebook says of it.
    """

    points: float | None
    late: bool
    waits: bool = False
    differs: bool = False
    marked: Marked | None = None


@dataclass(frozen=True)
class Points:
    """A class: by student and lesson, and what each lesson is worth."""

    by_student: Mapping[str, Mapping[str, Lesson]]
    worth: Mapping[str, float]

    def of(self, student: str, lesson: str) -> float | None:
        found = self.by_student.get(student, {}).get(lesson)
        return None if found is None else found.points


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("format", choices=tuple(_FORMATS), metavar="FORMAT", help="see above")
    add_from(parser)
    parser.add_argument("--roster", type=Path, metavar="FILE", help="the class, as for `grade`")
    parser.add_argument(
        "--gradebook",
        metavar="URL",
        help="nbgrader's, with its marks of written answers and its penalties: "
        "sqlite:///gradebook.db",
    )
    parser.add_argument("--seed", metavar="DIR|FILE|value:TEXT", help="as for `grade`")
    parser.add_argument(
        "--fill",
        type=Path,
        metavar="FILE",
        help="with moodle: the assignment's grading worksheet, as Moodle gave it",
    )
    parser.add_argument(
        "--lesson", metavar="NAME", help="with --fill: which one, where several are graded"
    )
    for column in ("grade", "feedback"):
        parser.add_argument(
            f"--{column}-column",
            metavar="NAME",
            help=f"with --fill: how it calls the {column}, where that is not in English",
        )
    parser.add_argument(
        "--anonymous", action="store_true", help="with students: pseudonyms for names"
    )
    parser.add_argument(
        "--to", type=Path, metavar="FILE", help="default: grades-FORMAT.csv in that folder"
    )


def main(args: argparse.Namespace) -> int:
    """Writes the file, and returns 0 (done) or 1 (without some grades)."""
    form = f"{args.format}-anonymous" if args.anonymous else args.format
    to = args.to or args.grades / f"grades-{form}.csv"
    try:
        if args.anonymous and args.format != "students":
            raise Refused("An LMS goes by names: --anonymous is for `grades students`.")
        if args.fill is None and (args.lesson or args.grade_column or args.feedback_column):
            raise Refused(
                "--lesson and the columns' names say how to fill a worksheet: they go with --fill "
                "FILE. Without it the file has every lesson."
            )
        roster = args.roster and read_roster(args.roster)
        store = store_of(args.grades, may_write=False)
        rows = store.all()
        points = totals(rows)
        if not points.worth:
            raise Refused(f"{args.grades} holds no verdict on a lesson. Run `grade` first.")
        overlay.use(chosen_folder(args.seed))
        if args.gradebook:
            points = _with_marks(points, args.gradebook)
        else:
            for sentence in _by_hand(points):
                print(sentence, file=sys.stderr)
        if args.fill is not None:
            return _filled(args, to, rows, points, roster)
        if args.anonymous:
            with store.explained():
                called = pseudonyms(args.grades)
            points, roster = _without_names(points, roster, called)
        text = _FORMATS[args.format](points, roster)
        to.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise Refused(f"Cannot write {to}: {error.strerror}. --to FILE names another.") from error
    students = len(roster.students if roster else points.by_student)
    print(f"{to}: {counted(students, 'student')}, {counted(len(points.worth), 'lesson')}.")
    problems = _left_out(points, roster)
    notes = _canvas_notes(points, roster) if args.format == "canvas" and roster else []
    for sentence in (*notes, *problems):
        print(sentence, file=sys.stderr)
    return 1 if problems else 0


def _filled(
    args: argparse.Namespace,
    to: Path,
    rows: Iterable[Graded],
    points: Points,
    roster: Roster | None,
) -> int:
    """Writes a worksheet of Moodle's with the grades of one lesson; 1 where some row has none."""
    from autograder.grading.table import plain

    if args.format != "moodle":
        raise Refused("--fill is for Moodle's grading worksheet: `grades moodle --fill FILE`.")
    named = lesson_in(args.lesson) if args.lesson else None
    lesson = lesson_name(named[0]) if named else args.lesson or next(iter(points.worth))
    if lesson not in points.worth or (args.lesson is None and len(points.worth) > 1):
        raise Refused(
            f"A worksheet is one lesson's, and {args.grades} holds {', '.join(points.worth)}: "
            "--lesson NAME says which."
        )
    sheet = read_worksheet(args.fill)
    with contextlib.suppress(Refused):  # where it is not in English
        roster = roster or read_roster(args.fill)
    columns = Columns.of(sheet, args.grade_column, args.feedback_column)
    lessons = {s: own[lesson] for s, own in points.by_student.items() if lesson in own}
    earned = {student: one.points for student, one in lessons.items()}
    by_hand = {student: one.marked for student, one in lessons.items() if one.marked}
    own = [row for row in rows if row.notebook == lesson and row.exercise]
    worth = points.worth[lesson]
    notes, problems = fill(sheet, columns, lesson, own, earned, worth, roster, by_hand)
    to.write_bytes(sheet.encoded())
    print(f"{to}: {lesson}, {len(sheet.rows) - 1} rows. In Moodle: Upload grading worksheet.")
    for sentence in (*notes, *problems):
        print(plain(sentence), file=sys.stderr)
    return 1 if problems else 0


def totals(rows: Iterable[Graded]) -> Points:
    """The sums of a class. A lesson's exercises are those that anybody in the class has.

    What an exercise is worth most of the class say: settings may have changed since some were
    graded.
    """
    by_work: dict[tuple[str, str], dict[str, Graded]] = {}
    said: dict[str, dict[str, Counter[float]]] = {}
    for row in rows:
        if row.exercise:
            by_work.setdefault((row.student, row.notebook), {})[row.exercise] = row
            of_lesson = said.setdefault(row.notebook, {})
            of_lesson.setdefault(row.exercise, Counter())[row.max_points] += 1
    worth = {
        lesson: {name: counts.most_common(1)[0][0] for name, counts in each.items()}
        for lesson, each in said.items()
    }
    by_student: dict[str, dict[str, Lesson]] = {}
    for (student, lesson), own in by_work.items():
        judged = own.keys() == worth[lesson].keys() and not any(
            row.message_id in HELD | JUDGED_AGAIN for row in own.values()
        )
        differs = judged and any(row.max_points != worth[lesson][n] for n, row in own.items())
        whole = round(math.fsum(row.points for row in own.values()), 2)
        points = whole if judged and not differs else None
        late = any(row.late for row in own.values())
        by_student.setdefault(student, {})[lesson] = Lesson(points, late, differs=differs)
    sums = {lesson: math.fsum(each.values()) for lesson, each in sorted(worth.items())}
    return Points(by_student, sums)


def _with_marks(points: Points, url: str) -> Points:
    """The class as the gradebook has it: with marks given by hand, and penalties taken off."""
    judged = [
        (student, lesson)
        for student, own in points.by_student.items()
        for lesson, one in own.items()
        if one.points is not None  # what is held has no score there
    ]
    found = marked(url, judged)
    strange = [" ".join(whose) for whose in judged if whose not in found]
    if strange:
        raise Refused(f"The gradebook {url} lacks {few(strange)}: `grade --gradebook` enters them.")
    by_student = {
        student: {
            lesson: one if one.points is None else _marked(one, found[student, lesson])
            for lesson, one in own.items()
        }
        for student, own in points.by_student.items()
    }
    worth = {lesson: one.worth for (_, lesson), one in found.items()}
    return Points(by_student, {**points.worth, **worth})


def _by_hand(points: Points) -> Iterator[str]:
    """Sentences on points that a person gives, which no verdict has."""
    for lesson, names in overlay.written_answers().items():
        worth = sum(overlay.active().points.get(name, 0) for name in names)
        if worth and lesson in points.worth:
            yield (
                f"{lesson}: its written answers are worth {worth:g} points more, which are not in "
                "the file. Where a person has marked them, name the gradebook: --gradebook URL."
            )


def _without_names(
    points: Points, roster: Roster | None, called: Callable[[str], str]
) -> tuple[Points, Roster | None]:
    by_student = {called(student): own for student, own in points.by_student.items()}
    listed = roster and Roster(tuple(sorted(map(called, roster.students))))
    return replace(points, by_student=by_student), listed


def _marked(one: Lesson, by_hand: Marked) -> Lesson:
    late, waits = one.late or by_hand.late > 0, by_hand.points is None
    return replace(one, points=by_hand.points, late=late, waits=waits, marked=by_hand)


def canvas(points: Points, roster: Roster | None) -> str:
    """What Canvas imports: it goes by the ID, and by the number behind an assignment's name."""
    if roster is None or not any("id" in ids for ids in roster.ids):
        raise Refused(
            "Canvas knows students by its own number: --roster needs a column `ID`. The file that "
            "Canvas gives under Grades, Export is such a roster."
        )
    columns = {lesson: _in_canvas(lesson, roster.header) for lesson in points.worth}
    most = {lesson: _canvas_most(points, roster, lesson) for lesson in columns}
    names = ["Student", *_CANVAS.values(), *columns.values()]
    possible = {columns[lesson]: most[lesson] for lesson in columns}
    rows: list[dict[str, Any]] = [{"Student": "    Points Possible", **possible}]
    for student, ids in zip(roster.students, roster.ids, strict=True):
        row: dict[str, Any] = {"Student": student}
        row |= {column: ids.get(kind) for kind, column in _CANVAS.items()}
        for lesson, column in columns.items():
            earned = points.of(student, lesson)
            share = most[lesson] / points.worth[lesson]
            row[column] = None if earned is None else round(earned * share, 2)
        rows.append(row)
    return spreadsheet.table(names, rows)


def _canvas_most(points: Points, roster: Roster, lesson: str) -> float:
    """What a lesson's assignment is worth in Canvas; as much as here where it has none yet."""
    said = dict(zip(roster.header, roster.possible, strict=False))
    try:
        most = float(said.get(_in_canvas(lesson, roster.header), ""))
    except ValueError:
        return points.worth[lesson]
    return most if math.isfinite(most) and most > 0 else points.worth[lesson]


def _canvas_notes(points: Points, roster: Roster) -> list[str]:
    """Sentences on lessons that several of Canvas's assignments name, or that are worth else."""
    several = [
        f"{lesson} is what {len(names)} of Canvas's assignments name ({few(names)}): a new "
        "one is made. Where one of these is meant, rename the others, and export again."
        for lesson in points.worth
        if len(names := _assignments(lesson, roster.header)) > 1
    ]
    return several + [
        f"{lesson} is worth {worth:g} points and {most:g} in Canvas: grades are written as a "
        f"share of {most:g}."
        for lesson, worth in points.worth.items()
        if (most := _canvas_most(points, roster, lesson)) != worth
    ]


def _in_canvas(lesson: str, header: Sequence[str]) -> str:
    """A lesson's assignment as Canvas exported it (`01_threads (4711)`), else a new one's name."""
    fitting = _assignments(lesson, header)
    return fitting[0] if len(fitting) == 1 else lesson


def _assignments(lesson: str, header: Sequence[str]) -> list[str]:
    """Those of Canvas that name a lesson; of several the one that is called as it is."""
    numbered = [name for name in header if re.search(r" \(\d+\)$", name)]
    titles = {name: name.rpartition(" (")[0] for name in numbered}
    found = {name: lesson_in(title.casefold()) for name, title in titles.items()}
    fitting = [name for name, own in found.items() if own and lesson_name(own[0]) == lesson]
    return [name for name in fitting if titles[name] == lesson] or fitting


def moodle(points: Points, roster: Roster | None) -> str:
    """What Moodle's gradebook imports: it goes by e-mail, ID number or username."""
    kinds = [kind for kind in _MOODLE if roster and any(kind in ids for ids in roster.ids)]
    if roster is None or not kinds:
        raise Refused(
            "Moodle knows students by e-mail, ID number or username: --roster needs a column "
            "`email`, `id number` or `username`. Moodle's grading worksheet is such a roster."
        )
    rows = []
    for student, ids in zip(roster.students, roster.ids, strict=True):
        row: dict[str, Any] = {_MOODLE[kind]: ids.get(kind) for kind in kinds}
        rows.append(row | {lesson: points.of(student, lesson) for lesson in points.worth})
    return spreadsheet.table([*(_MOODLE[kind] for kind in kinds), *points.worth], rows)


def students(points: Points, roster: Roster | None) -> str:
    """A row a student: points by lesson, their sum, what it is of, and what came late."""
    names = roster.students if roster else sorted(points.by_student, key=str.casefold)
    rows = []
    for student in names:
        own = points.by_student.get(student, {})
        earned = {lesson: points.of(student, lesson) for lesson in points.worth}
        late = ", ".join(lesson for lesson in points.worth if lesson in own and own[lesson].late)
        whole = round(math.fsum(p for p in earned.values() if p is not None), 2)
        rows.append({"student": student, **earned, "points": whole, "late": late})
    possible = math.fsum(points.worth.values())
    rows = [row | {"of": possible} for row in rows]
    return spreadsheet.table(["student", *points.worth, "points", "of", "late"], rows)


_FORMATS = {"canvas": canvas, "moodle": moodle, "students": students}


def _left_out(points: Points, roster: Roster | None) -> list[str]:
    """Sentences on grades that the file does not have."""
    from autograder.grading.table import plain

    without = [
        (f"{student} {lesson}", found)
        for student, own in points.by_student.items()
        for lesson, found in own.items()
        if found.points is None
    ]
    open_ones = [named for named, found in without if not (found.waits or found.differs)]
    waiting = [named for named, found in without if found.waits]
    differing = [named for named, found in without if found.differs]
    others = sorted(points.by_student.keys() - set(roster.students)) if roster else []
    said = []
    if open_ones:
        said.append(
            f"No grade, since it is held or not all of it is judged: {few(open_ones)}. "
            "`grade` again says which, and why."
        )
    if waiting:
        said.append(
            "No grade, since a written answer has no mark yet, or one to be looked at again after "
            f"a regrade: {few(waiting)}. The formgrader, Manual Grading, lists what waits."
        )
    if differing:
        said.append(
            "No grade, since exercises are worth other points in it than for most of the class: "
            f"{few(differing)}. Settings changed between: `grade` all of that lesson again."
        )
    if others:
        said.append(
            f"Not on the roster, and so not in the file: {few(others)}. Where they are on "
            "it under another name, `grade` them with the same --roster, in a new --out."
        )
    return [plain(sentence) for sentence in said]
