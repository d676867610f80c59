"""Moodle's grading worksheet, filled in: grades and feedback, and every other byte as it was.

Moodle takes the file back only as it gave it out: it knows students by the first column, and by the
time of the last change whether somebody has graded since. Spreadsheets save it in another encoding,
with other separators and a decimal comma; whatever it has is kept.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from autograder import Refused
from autograder.grading import spreadsheet
from autograder.grading.gradebook import Marked
from autograder.grading.names import clean, few, look_alike
from autograder.grading.roster import COLUMNS, LARGEST_ROSTER_BYTES, Roster, participant
from autograder.grading.submissions import Account, Submission, read_bytes
from autograder.judge.judge import Graded
from autograder.judge.sentences import Fault
from course.engine.faults import Outcome

#: As Moodle calls them in English; in another language they have to be named.
GRADE, FEEDBACK = "Grade", "Feedback comments"
_IDENTIFIER, _NAME = 0, 1  # where they stand where no column has their English name
_SEPARATORS = ",;\t"
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    b"": "utf-8",
}
_FEWEST_COLUMNS = 3
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_NAMED = 8


@dataclass(frozen=True)
class Worksheet:
    """A worksheet's rows as they are written, quotation marks included, the header first.

    Attributes:
        ends: what stands behind each row.
    """

    path: Path
    bom: bytes
    encoding: str
    separator: str
    rows: list[list[str]]
    ends: list[str]

    @property
    def header(self) -> list[str]:
        return [_plain(field) for field in self.rows[0]]

    def column(self, name: str) -> int | None:
        """The place of the one column of this name, or None."""
        names = [one.strip().casefold() for one in self.header]
        return names.index(name.casefold()) if names.count(name.casefold()) == 1 else None

    def put(self, row: int, place: int, text: str) -> None:
        """Writes a field; of what the file's encoding does not have, HTML's numbers."""
        text = text.encode(self.encoding, "xmlcharrefreplace").decode(self.encoding)
        fields = self.rows[row]
        needs = any(sign in text for sign in (self.separator, '"', "\n", "\r", " "))
        if needs or fields[place].startswith('"'):
            doubled = text.replace('"', '""')
            text = f'"{doubled}"'
        fields[place] = text

    def encoded(self) -> bytes:
        """The file's bytes."""
        rows = zip(self.rows, self.ends, strict=True)
        text = "".join(self.separator.join(row) + end for row, end in rows)
        return self.bom + text.encode(self.encoding, "surrogateescape")


def read_worksheet(path: Path) -> Worksheet:
    """The worksheet in a file.

    Raises:
        Refused: where it is none.
    """
    try:
        data = read_bytes(path.resolve(), LARGEST_ROSTER_BYTES)
    except Fault as fault:
        raise Refused(f"The worksheet {path}: {fault.sentence}") from fault
    bom = next(bom for bom in _BOMS if data.startswith(bom))
    encoding = _BOMS[bom]
    try:
        text = data[len(bom) :].decode(encoding)
    except UnicodeDecodeError:
        bom, encoding = b"", "cp1252"  # as a spreadsheet on Windows saves it
        text = data.decode(encoding, "surrogateescape")
    first = text.partition("\n")[0]
    separator = max(_SEPARATORS, key=first.count)
    rows, ends = _cut(text, separator)
    expected = (
        f"The worksheet {path}: expected a header with Moodle's columns and a row a student below "
        "it, as the assignment's Download grading worksheet gives it"
    )
    if len(rows) < 2 or len(rows[0]) < _FEWEST_COLUMNS:
        raise Refused(f"{expected}, got {len(rows)} rows of {len(rows[0])} columns.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise Refused(
                f"{expected}; row {number} has {len(row)} fields and the header {len(rows[0])}."
            )
    return Worksheet(path, bom, encoding, separator, rows, ends)


def _cut(text: str, separator: str) -> tuple[list[list[str]], list[str]]:
    """(rows of fields as they are written, what ends each row)"""
    sign = re.escape(separator)
    field = rf'((?:{_QUOTED.pattern}|[^{sign}\r\n"]|")*)({sign}|[\r\n]+|$)'
    rows: list[list[str]] = [[]]
    ends: list[str] = []
    for found in re.finditer(field, text):
        rows[-1].append(found[1])
        if found[2] != separator:
            ends.append(found[2])
            rows.append([])
    rows.pop()
    if rows and rows[-1] == [""]:  # nothing stands behind the last row's end
        rows.pop()
        ends.pop()
    return rows or [[]], ends


def _plain(field: str) -> str:
    """A field without its quotation marks."""
    if _QUOTED.fullmatch(field):
        return field[1:-1].replace('""', '"')
    return field


@dataclass(frozen=True)
class Columns:
    """Where the worksheet has what is written; no feedback where it has no column for it."""

    grade: int
    feedback: int | None

    @classmethod
    def of(cls, sheet: Worksheet, grade: str | None, feedback: str | None) -> Columns:
        """The columns of these names, or of Moodle's English ones.

        Raises:
            Refused: where there is no such column.
        """
        found = sheet.column(grade or GRADE)
        words = sheet.column(feedback or FEEDBACK)
        if found is None or (feedback and words is None):
            missing = (grade or GRADE) if found is None else feedback
            there = ", ".join(f"`{clean(name)}`" for name in sheet.header)
            raise Refused(
                f"The worksheet {sheet.path} has no one column `{missing}`: it has {there}. Where "
                "Moodle speaks another language than English, --grade-column and --feedback-column "
                "name the two."
            )
        return cls(found, words)


def fill(
    sheet: Worksheet,
    columns: Columns,
    lesson: str,
    rows: Iterable[Graded],
    points: Mapping[str, float | None],
    worth: float,
    roster: Roster | None,
    by_hand: Mapping[str, Marked],
) -> tuple[list[str], list[str]]:
    """Writes a lesson's points and feedback into the sheet; gives (notes, what is not in it).

    Args:
        points: by student; None where not all of it is judged.
        by_hand: by student, what a gradebook has of it.
    """
    verdicts: dict[str, list[Graded]] = {}
    for row in rows:
        verdicts.setdefault(row.student, []).append(row)
    whose = _whose(sheet, points, roster)
    comma = _has_comma(sheet)
    most = _maximum(sheet, columns)
    left, kept = [], []
    for number, student in whose.items():
        own = points[student]
        if own is None:
            left.append(student)
            continue
        earned = own if most is None else own * most / worth
        text = f"{earned:.2f}"
        sheet.put(number, columns.grade, text.replace(".", ",") if comma else text)
        if columns.feedback is not None:
            told = feedback(lesson, own, worth, verdicts[student], by_hand.get(student))
            before = _plain(sheet.rows[number][columns.feedback]).strip()
            if not before or _begins(before, lesson):
                sheet.put(number, columns.feedback, told)
            else:
                kept.append(student)
    notes = [*_scaled(most, worth), *_untouched(sheet, whose)]
    return notes, [*_left_out(points, whose, left, kept)]


def feedback(
    lesson: str, points: float, worth: float, rows: Iterable[Graded], by_hand: Marked | None
) -> str:
    """What a student reads in Moodle, as HTML: a line for all that the points are made of."""
    lines = [f"{lesson}: {points:g} of {worth:g} points"]
    cells = dict(by_hand.cells) if by_hand else {}
    for row in rows:
        label = Outcome(row.outcome).label
        earned, most = cells.pop(row.exercise, (row.points, row.max_points))
        lines.append(f"{row.exercise}: {label}, {earned:g} of {most:g}. {row.message}")
    lines += [f"{name}: {earned:g} of {most:g}" for name, (earned, most) in cells.items()]
    if by_hand and by_hand.late:
        lines.append(f"Late submission: {by_hand.late:g} points less")
    return spreadsheet.harmless("<br>".join(escape(line, quote=False) for line in lines))


def _begins(text: str, lesson: str) -> bool:
    """Whether feedback is what was written here before, however Moodle has wrapped it."""
    return re.sub(r"<[^>]*>", "", text).strip().startswith(f"{lesson}: ")


def _whose(sheet: Worksheet, points: Mapping[str, object], roster: Roster | None) -> dict[int, str]:
    """By row, the student whose it is. A name that two rows have is nobody's."""
    by_name = {look_alike(student): student for student in points}
    hidden = {"".join(words.split()): student for words, student in by_name.items()}
    places = {
        kind: place
        for kind, names in COLUMNS.items()
        for place, name in enumerate(sheet.header)
        if name.strip().casefold() in names
    }
    places = {"participant": _IDENTIFIER, "name": _NAME, **places}
    found: dict[str, list[int]] = {}
    for number, row in enumerate(sheet.rows[1:], start=1):
        fields = {kind: clean(_plain(row[place])) for kind, place in places.items()}
        student = by_name.get(look_alike(fields["name"]))
        # in its zip Moodle leaves out what no file's name has: of `Teilnehmer/in 7` the stroke
        student = student or hidden.get("".join(look_alike(fields["participant"]).split()))
        fields["participant"] = participant(fields["participant"])
        if roster is not None:
            account = Account(tuple(fields.items()))
            one = Submission(fields["name"], "", None, sheet.path, account=account)
            known, _ = roster.sorted_out([one])
            student = by_name.get(look_alike(known[0].student)) if known else None
        if student is not None:
            found.setdefault(student, []).append(number)
    return {numbers[0]: student for student, numbers in found.items() if len(numbers) == 1}


def _has_comma(sheet: Worksheet) -> bool:
    """Whether its numbers are written with a decimal comma."""
    fields = [_plain(field).strip() for row in sheet.rows[1:] for field in row]
    return any(re.fullmatch(r"\d+,\d+", field) for field in fields)


def _maximum(sheet: Worksheet, columns: Columns) -> float | None:
    """What Moodle says the most is: one number in all of the column behind the grades."""
    place = columns.grade + 1
    if place == len(sheet.header):
        return None
    fields = {_plain(row[place]).strip().replace(",", ".") for row in sheet.rows[1:]}
    try:
        (most,) = map(float, fields)
    except ValueError:
        return None
    return most if math.isfinite(most) and most > 0 else None


def _scaled(most: float | None, worth: float) -> Iterator[str]:
    if most is not None and most != worth:
        yield (
            f"Moodle's maximum is {most:g} and the lesson is worth {worth:g} points: grades are "
            f"written as a share of {most:g}."
        )


def _untouched(sheet: Worksheet, whose: Mapping[int, str]) -> Iterator[str]:
    place = sheet.column("full name")
    shown = (_IDENTIFIER, _NAME) if place is None else (place,)
    rows = [row for number, row in enumerate(sheet.rows) if number and number not in whose]
    if rows:
        named = few([" ".join(clean(_plain(row[at])) for at in shown) for row in rows], _NAMED)
        yield f"On the worksheet and without a grade here, left as they were: {named}."


def _left_out(
    points: Mapping[str, object],
    whose: Mapping[int, str],
    left: Sequence[str],
    kept: Sequence[str],
) -> Iterator[str]:
    missing = sorted(points.keys() - set(whose.values()))
    if missing:
        yield (
            f"Graded, and no one row of the worksheet has the name: {few(missing, _NAMED)}. A "
            "roster with Moodle's numbers (`participant`) or e-mails says who is who: "
            "--roster FILE."
        )
    if left:
        yield (
            f"Left as they were, since not all is judged or it is held: {few(left, _NAMED)}. Run "
            "`grade` again."
        )
    if kept:
        yield f"With feedback that somebody has written, which stays: {few(kept, _NAMED)}."
