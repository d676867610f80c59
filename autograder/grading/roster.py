"""Who is in the class: one CSV, with a row a student, whose name stands in the column `student`.

The name is the one by which files and folders call a student. Other columns may hold what an LMS
calls them (`COLUMNS`): then work is the student's whose number it came under, whatever names say.
The files that Canvas (Grades, Export) and Moodle (the grading worksheet) give are such rosters.

With a roster, what was handed in under no name of it is held, and who handed in nothing is named.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from autograder import Refused
from autograder.grading.names import clean, few, look_alike
from autograder.grading.submissions import Account, Submission, read_bytes
from autograder.judge import overlay
from autograder.judge.sentences import Fault

COLUMN = "student"
#: What an LMS may call a student by: the columns in which a roster may have it.
COLUMNS = {
    "id": ("id", "canvas id"),
    "login": ("login", "username", "sis login id", "github"),
    "number": ("number", "sis user id", "id number", "sid"),
    "email": ("email", "email address"),
    "participant": ("participant", "identifier"),
    "name": ("name", "full name"),
    "section": ("section",),
    "group": ("group", "group name", "group_name"),
}
#: The column of names in Moodle's grading worksheet.
_WORKSHEETS = "full name"
#: Of those, what a student's folder may be named for.
_NAMES = ("login", "number", "id", "email")
#: What several students may have in common.
_SHARED = ("name", "section", "group")
#: In rows of Canvas's export that are no students.
_NO_STUDENT = ("points possible", "manual posting")
#: A hundred thousand students of a hundred letters.
LARGEST_ROSTER_BYTES = 10 * 2**20
_NAMED = 20
#: In Moodle's language; in some no blank stands behind the word.
_PARTICIPANT = re.compile(r"(?P<word>.*[^\W\d])\s*(?P<number>\d+)", re.DOTALL)
_POINTS = re.compile(r"\d+[.,]\d+")
#: What stands between columns: a comma, or what most stands in the header.
_SEPARATORS = ",;\t|"


@dataclass(frozen=True)
class Roster:
    """The students of a class, as they are to be called.

    Attributes:
        ids: for each of `students`, by a kind of `COLUMNS`, what an LMS calls them.
        header: the columns' names, as they stand in the file.
        possible: what Canvas says each column is worth, "" where it does not.
    """

    students: tuple[str, ...]
    ids: tuple[Mapping[str, str], ...] = ()
    header: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()

    def sorted_out(
        self, submissions: Iterable[Submission], of_groups: bool = False
    ) -> tuple[list[Submission], list[Submission]]:
        """(submissions of the class's students, under their names; all others)

        Args:
            of_groups: whether what has a group's name is the work of each of its members.
        """
        known, unknown = [], []
        for one in submissions:
            students = self._members(one) if of_groups else ()
            if not students:
                told = self._by_number(one.account, of_groups) if one.account else None
                students = tuple(filter(None, [told or self._by_name(one)]))
            known += [replace(one, student=student) for student in students]
            unknown += [] if students else [one]
        return known, unknown

    def _members(self, one: Submission) -> Sequence[str]:
        """Of the one group that a folder or a file has the name of."""
        groups = self._groups.get("".join(_letters(_called(one))), {})
        return next(iter(groups.values())) if len(groups) == 1 else ()

    @cached_property
    def _groups(self) -> dict[str, dict[str, list[str]]]:
        """By what a group's name is reduced to, the groups of such a name, and who is in each."""
        found: dict[str, dict[str, list[str]]] = {}
        for student, ids in zip(self.students, self.ids, strict=False):
            if name := ids.get("group"):
                alike = found.setdefault("".join(_letters(name)), {})
                alike.setdefault(name, []).append(student)
        return found

    def _by_number(self, account: Account, of_groups: bool) -> str | None:
        """By what no student chose.

        A group of Moodle's has a name of its own, and some number; before 4.1 the group's name
        stood before each member's.
        """
        told = self._by_id.get(_key(*account.ids[0]))
        known = dict(account.ids)
        number, name = known.get("participant", ""), known.get("name", "")
        is_hidden = name.endswith(f" {number}")
        if told and number and not is_hidden and (of_groups or self._is_worksheet):
            own = _letters(self._named[told])
            return told if _letters(name)[-len(own) :] == own else None
        return told

    @cached_property
    def _is_worksheet(self) -> bool:
        """Whether its names are Moodle's own."""
        return COLUMN not in [name.strip().casefold() for name in self.header]

    @cached_property
    def _named(self) -> dict[str, str]:
        pairs = zip(self.students, self.ids, strict=False)
        return {student: ids.get("name", student) for student, ids in pairs}

    def called(self, name: str) -> str | None:
        """The student whom a folder or a file is named for: by the name, a login or a number.

        None, too, where one has it for a name and another for a login: who is meant?
        """
        by_kind = (self._by_id.get(_key(kind, name)) for kind in _NAMES)
        meant = {*by_kind, self._names.get(look_alike(name))} - {None}
        return meant.pop() if len(meant) == 1 else None

    @cached_property
    def _names(self) -> dict[str, str]:
        return {look_alike(student): student for student in self.students}

    @cached_property
    def _kinds(self) -> set[str]:
        return {kind for ids in self.ids for kind in ids}

    @cached_property
    def _by_id(self) -> dict[tuple[str, str], str]:
        """Students by (kind, what they are called), where that is nobody else's, too."""
        found: dict[tuple[str, str], set[str]] = {}
        for student, ids in zip(self.students, self.ids, strict=False):
            for kind, value in (*ids.items(), ("name", student)):
                if kind not in ("section", "group"):
                    found.setdefault(_key(kind, value), set()).add(student)
                if kind == "name":  # Canvas writes `doejane` for `Doe, Jane`
                    squashed = "".join(re.findall(r"\w", value)).lower()
                    found.setdefault((kind, squashed), set()).add(student)
        return {key: students.pop() for key, students in found.items() if len(students) == 1}

    def _by_name(self, one: Submission) -> str | None:
        """By what else an LMS says where the roster has no such number, or by the file's name."""
        if one.account is None:
            return self.called(one.student)
        if one.account.ids[0][0] in self._kinds:  # and this number is not in it
            return None
        others = (self._by_id.get(_key(*called)) for called in one.account.ids[1:])
        return next(filter(None, others), self._names.get(look_alike(one.student)))

    def said(
        self, known: Sequence[Submission], unknown: Sequence[Submission], of_groups: bool = False
    ) -> list[str]:
        """Sentences on what is held, on who handed in nothing, on what may be a group's work."""
        said = []
        if unknown:
            named = sorted({f"{one.student} ({clean(str(one.path), 120)})" for one in unknown})
            said.append(
                f"Held, for the roster has none or several of that name: {few(named, _NAMED)}. "
                "Nothing of theirs is graded. Add them to the roster, or say whose a file is: "
                "python -m autograder grade FILE --student NAME, with the same --roster and --out."
            )
        missing = set(self.students) - {one.student for one in known}
        if missing:
            said.append(
                f"On the roster and without a submission here: {few(sorted(missing), _NAMED)}."
            )
        groups = {_called(one) for one in (*known, *unknown) if self._members(one)}
        if groups and not of_groups:
            said.append(
                f"Under the name of a group on the roster: {few(sorted(groups))}. If it is their "
                "work, grade it with --groups: it is each member's then."
            )
        return said


def _called(one: Submission) -> str:
    """What an LMS, a folder or a file calls whose it is."""
    return (dict(one.account.ids).get("name") if one.account else None) or one.student


def _key(kind: str, value: str) -> tuple[str, str]:
    return kind, value.casefold()


def _letters(name: str) -> list[str]:
    """Of a name: Moodle leaves out of a folder's what a file's may not have."""
    return [letter for letter in look_alike(name) if letter.isalnum()]


def class_roster(named: Path | None) -> Roster | None:
    """The roster that a command names, or else the one in the settings.

    Raises:
        Refused: as `read_roster`.
    """
    path = named or overlay.active().roster
    return read_roster(path) if path else None


def read_roster(path: Path) -> Roster:
    """The roster in a file.

    Raises:
        Refused: where it is none, in a sentence for each way not to be one.
    """
    whose = f"The roster {path}"
    try:
        data = read_bytes(path.resolve(), LARGEST_ROSTER_BYTES)
    except Fault as fault:
        raise Refused(f"{whose}: {fault.sentence}") from fault
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(
            f'{whose} is not UTF-8: byte {error.start} is no text. Save it as "CSV UTF-8".'
        ) from error
    if "\0" in text:
        raise Refused(f'{whose} holds null bytes: it is no CSV. Save it as "CSV UTF-8".')
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise Refused(f"{whose} is no CSV: {error}. Is a quotation mark left open?") from error
    head = _in_english(rows)
    column = COLUMN if COLUMN in head else _WORKSHEETS
    if head.count(column) != 1:
        raise Refused(f"{whose} {_no_column(head)}")
    places = {
        kind: next(head.index(name) for name in names if name in head)
        for kind, names in COLUMNS.items()
        if any(head.count(name) == 1 for name in names)
    }
    found = [
        _Row(
            number,
            clean(row[head.index(column)]),
            {kind: value for kind, place in places.items() if (value := _id(kind, row[place]))},
        )
        for number, row in _students(rows[1:], head.index(column), len(head), whose)
    ]
    if not found:
        raise Refused(f"{whose} names no student: expected a row for each below its header.")
    _nothing_twice(found, whose)
    students = _told_apart(found, whose)
    possible = next((row for row in rows if _says(row, head.index(column), _NO_STUDENT[0])), ())
    ids = tuple(row.ids for row in found)
    return Roster(tuple(students), ids, tuple(rows[0]), tuple(possible))


@dataclass(frozen=True)
class _Row:
    number: int
    name: str
    ids: Mapping[str, str]


def _nothing_twice(found: Iterable[_Row], whose: str) -> None:
    """Two students with one number would both be nobody's.

    Raises:
        Refused: where two have what is one student's alone.
    """
    seen: dict[tuple[str, str], _Row] = {}
    for row in found:
        for kind, value in row.ids.items():
            before = row if kind in _SHARED else seen.setdefault(_key(kind, value), row)
            if before is not row and before.name != row.name:
                raise Refused(
                    f"{whose}, row {row.number}: {row.name} has the {kind} {value}, and so has "
                    f"{before.name} in row {before.number}. It has to be one student's alone."
                )


def _told_apart(found: Sequence[_Row], whose: str) -> list[str]:
    """What each is to be called: the name, and a number behind it where two have one name.

    Raises:
        Refused: where nothing tells two of one name apart.
    """
    namesakes: dict[str, list[_Row]] = {}
    for row in found:
        namesakes.setdefault(look_alike(row.name), []).append(row)
    called: dict[int, str] = {}
    for rows in namesakes.values():
        kind = _telling(rows) if len(rows) > 1 else None
        if len(rows) > 1 and kind is None:
            raise Refused(
                f"{whose}, row {rows[1].number}: {rows[1].name} stands there twice, as "
                f"{rows[0].name} in row {rows[0].number}. Names have to differ in more than case "
                "and signs, or a column such as `id` in each of their rows."
            )
        for row in rows:
            called[row.number] = row.name if kind is None else f"{row.name} ({row.ids[kind]})"
    return [called[row.number] for row in found]


def _telling(rows: Sequence[_Row]) -> str | None:
    """The first kind of `COLUMNS` that each of them has, and no two the same."""
    for kind in COLUMNS:
        values = {row.ids.get(kind, "").casefold() for row in rows} - {""}
        if kind not in _SHARED and len(values) == len(rows):
            return kind
    return None


def _id(kind: str, field: str) -> str:
    """What a student is called in a field; of Moodle's `Participant 123` the number."""
    value = field.strip()
    if kind == "participant":
        value = participant(value)
    return clean(value) if value else ""


def participant(text: str) -> str:
    """The number in what Moodle calls a participant: `Participant 123`, `Teilnehmer/in123`."""
    found = _PARTICIPANT.fullmatch(text)
    return found["number"] if found else text


def _in_english(rows: Sequence[Sequence[str]]) -> list[str]:
    """The header; of Moodle's worksheet in another language with those names that count here.

    In each row of one stand a word and a number, then a name, and somewhere an address and the most
    points. (Where Moodle hides names there is no address.)
    """
    head = [name.strip().casefold() for name in rows[0]] if rows else []
    below = [row for row in rows[1:] if len(row) == len(head) > 1]
    columns = [{field.strip() for field in column} for column in zip(*below, strict=True)]
    if COLUMN in head or _WORKSHEETS in head or not columns:
        return head
    found = [_PARTICIPANT.fullmatch(field) for field in columns[0]]
    words = {one["word"] for one in found if one}
    most = any(len(c) == 1 and all(map(_POINTS.fullmatch, c)) for c in columns)
    mails = [n for n, column in enumerate(columns) if all("@" in field for field in column)]
    if all(found) and len(words) == 1 and most and mails:
        names = {0: "participant", 1: "name", mails[0]: "email"}
        head = [COLUMNS[names[n]][-1] if n in names else name for n, name in enumerate(head)]
    return head


def _is_canvas_own(row: Sequence[str], column: int) -> bool:
    fields = {field.strip().casefold() for field in row}
    of_nobody = _says(row, column, "") and _NO_STUDENT[1] in fields
    return _says(row, column, _NO_STUDENT[0]) or of_nobody


def _says(row: Sequence[str], column: int, word: str) -> bool:
    return column < len(row) and row[column].strip().casefold() == word


def _no_column(head: Sequence[str]) -> str:
    expected = f"expected a first row of column names with one `{COLUMN}` among them"
    got = ", ".join(f"`{clean(name)}`" for name in head[:_NAMED]) or "an empty file"
    return f"has no such header: {expected}, got {got}."


def _students(
    rows: Iterable[Sequence[str]], column: int, width: int, whose: str
) -> Iterable[tuple[int, Sequence[str]]]:
    """The rows of students, each with its number in the file."""
    for number, row in enumerate(rows, start=2):
        if not any(field.strip() for field in row):
            continue
        if len(row) == width and _is_canvas_own(row, column):
            continue
        if len(row) != width:
            raise Refused(
                f"{whose}, row {number}: expected {width} fields as in the header, got {len(row)}. "
                "What stands between columns needs quotation marks where it is part of a field."
            )
        if not row[column].strip():
            raise Refused(f"{whose}, row {number}: the column `{COLUMN}` is empty.")
        yield number, row
