"""The forms in which an LMS gives out a class: what it writes in a name, and what that says.

    Canvas            doejane_LATE_12345_67890_01_threads-1.ipynb
    Moodle            Jane Doe_12345_assignsubmission_file/01_threads.ipynb, or all in one name
    Gradescope        submission_12345/01_threads.ipynb beside submission_metadata.yml
    nbgrader exchange janedoe+01_threads+2026-11-02 10:00:00.000000 UTC+.../01_threads.ipynb
    GitHub Classroom  threads-submissions/threads-janedoe/01_threads.ipynb

A form is known by most names of a folder together: one stray file or folder among what an LMS gave
makes it no class of another form. What a student may choose, a file's own name, stands last in each
of them, and is never read for whose it is.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from autograder import Refused
from autograder.grading.archive import LARGEST_METADATA_BYTES, METADATA
from autograder.grading.claims import content_of
from autograder.grading.folders import is_notebook
from autograder.grading.names import clean, few
from autograder.grading.submissions import Account, Submission, read_bytes
from autograder.judge.sentences import Fault

_CANVAS = re.compile(
    r"(?P<first>LATE_(?=anon_))?(?P<name>.+?)(?P<late>_LATE)?"
    r"_(?P<id>[1-9]\d*|(?<=anon_)[0-9A-Za-z]{5})"
    r"_((?P<file_id>[1-9]\d{2,})_(?P<file>.+)|(?P<typed>(text|link)\.html))",
    re.DOTALL,
)
#: Of Canvas's numbers, which sort as texts.
_DIGITS = 20
_AGAIN = re.compile(r"-(\d{1,3})$")
#: A folder has no underscore at its end since Moodle 4.1.
_MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+(_(?P<file>.*))?", re.DOTALL
)
#: Where an assignment is graded without names all have this one, or its like in another language.
_HIDDEN = "Participant"
_MOST_NAMESAKES = 2
_EXCHANGE = re.compile(
    r"(?P<name>[^+]+)\+(?P<lesson>[^+]+)\+(?P<when>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^+]*)(\+.*)?",
    re.DOTALL,
)
_CLASSROOM = "-submissions"
_GRADESCOPE = re.compile(r"submission_\d+")
#: Gradescope's file has some six levels.
_DEEPEST = 30


@dataclass(frozen=True)
class Named:
    """What a name says: whose it is, and the file's own name where it is a file."""

    student: str
    account: Account | None = None
    file: str = ""


@dataclass(frozen=True)
class Form:
    """An LMS's way of naming. `read` gives nobody for a name that is not of this form.

    `forged` are names that somebody else than whom they name has given.
    """

    name: str
    read: Callable[[str], Sequence[Named]]
    forged: frozenset[str] = frozenset()


def form_of(folder: Path, names: Sequence[str], of_an_lms: bool = True) -> Form | None:
    """The form of a folder with these notebooks and folders right in it, or None.

    Args:
        of_an_lms: whether it may be read for whose work it is, or a student may have made it.

    Raises:
        Refused: where it is one, and what says whose work it is cannot be read.
    """
    if (folder / METADATA).is_file():
        return _gradescope(folder / METADATA) if of_an_lms else Form("Gradescope", lambda _: [])
    if _most(_GRADESCOPE.fullmatch, names):
        if not of_an_lms:
            return Form("Gradescope", lambda _: [])
        raise Refused(
            f"{folder} holds Gradescope's folders ({few(names)}) and no {METADATA}, which "
            "says whose each is: nobody is graded. Take Export Submissions' zip as it is."
        )
    classroom = _classroom(folder.name)
    forms = [
        Form("Canvas", canvas),
        Form("Moodle", _moodle(names)),
        _exchange(folder, names),
    ]
    fitting = [f for f in [*forms, *([classroom] if classroom else [])] if _most(f.read, names)]
    return max(fitting, key=lambda form: sum(bool(form.read(n)) for n in names), default=None)


def _most(reads: Callable[[str], object], names: Sequence[str]) -> bool:
    """Whether more than half of the names are read: of several two at least, and no name alone."""
    return 2 * sum(bool(reads(name)) for name in names) > len(names)


def canvas(name: str) -> list[Named]:
    """Canvas: the student's number there, a mark where it came late, the number of the file.

    What was typed in, a text or a link, is no file and has no number.
    """
    found = _CANVAS.fullmatch(name)
    if found is None:
        return []
    file = _without_turn(found["file"] or found["typed"])
    ids = (("id", found["id"]), ("name", clean(found["name"])))
    late = bool(found["first"] or found["late"])
    account = Account(ids, late=late, turn=f"{int(found['file_id'] or 0):0{_DIGITS}}")
    return [Named(clean(f"{found['name']}-{found['id']}"), account, file)]


def _without_turn(file: str) -> str:
    """A file's name without the -1, -2 that Canvas puts behind what is handed in again."""
    stem, dot, suffix = file.rpartition(".")
    return f"{_AGAIN.sub('', stem)}{dot}{suffix}" if is_notebook(file) else file


def _moodle(names: Iterable[str]) -> Callable[[str], list[Named]]:
    """Moodle's way in a folder of these names."""
    found = {match["id"]: match["name"] for name in names if (match := _MOODLE.fullmatch(name))}
    alike = {*found.values()}
    hidden = alike.pop() if len(alike) == 1 and len(found) > _MOST_NAMESAKES else _HIDDEN
    return partial(moodle, hidden=hidden)


def moodle(name: str, hidden: str = _HIDDEN) -> list[Named]:
    """Moodle: the full name, and the number that a grading worksheet calls the participant."""
    found = _MOODLE.fullmatch(name)
    file = (found and found["file"]) or ""
    if found is None or _MOODLE.fullmatch(file):  # which of two is Moodle's?
        return []
    name = clean(found["name"])
    if found["name"] == hidden:  # as the worksheet calls them, too
        name = f"{name} {found['id']}"
    return [Named(name, Account((("participant", found["id"]), ("name", name))), file)]


def _exchange(folder: Path, names: Iterable[str]) -> Form:
    """nbgrader's way in a folder into which every student may write, under any name.

    Where some of it is owned by whom it names, all is to be; a copy is whose who made it.
    """
    told = {name: named[0].student for name in names if (named := exchange(name))}
    owners = {name: _owner(folder / name) for name in told}
    own = {name for name, owner in owners.items() if owner == told[name]}
    others = {name for name in owners.keys() - own if owners[name] != _user(os.getuid())}
    return Form("nbgrader's exchange", exchange, frozenset(others if own else ()))


def _owner(path: Path) -> str:
    try:
        return _user(path.lstat().st_uid)
    except OSError:
        return ""


@cache
def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def exchange(name: str) -> list[Named]:
    """nbgrader's exchange: the login, and the time at which it was handed in."""
    found = _EXCHANGE.fullmatch(name)
    if found is None:
        return []
    when = clean(found["when"])
    student = clean(found["name"])
    return [Named(student, Account((("login", student),), when=when, turn=when))]


def _classroom(folder: str) -> Form | None:
    """GitHub Classroom: `gh classroom clone student-repos` names the folder and those in it."""
    if not folder.endswith(_CLASSROOM):
        return None
    begin = folder.removesuffix(_CLASSROOM) + "-"

    def read(name: str) -> list[Named]:
        if not name.startswith(begin) or is_notebook(name) or name in (begin, folder):
            return []
        student = clean(name.removeprefix(begin))
        return [Named(student, Account((("login", student),)))]

    return Form("GitHub Classroom", read)


def _gradescope(metadata: Path) -> Form:
    """Gradescope: a folder a submission, and beside them a file that says whose each is."""
    submissions = _yaml(metadata)
    if not isinstance(submissions, dict):
        raise Refused(f"{metadata} holds no submissions. Nothing beside it is graded.")
    people = {name: list(_submitters(told)) for name, told in submissions.items()}
    return Form("Gradescope", lambda name: people.get(name, []))


def _submitters(submission: Any) -> Iterable[Named]:
    """The people of one submission: several where a group handed it in."""
    told = submission if isinstance(submission, dict) else {}
    submitters = told.get(":submitters")
    when = clean(str(told[":created_at"])) if told.get(":created_at") else ""
    for person in submitters if isinstance(submitters, list) else ():
        if not isinstance(person, dict):
            continue
        kinds = (("number", ":sid"), ("email", ":email"), ("name", ":name"))
        ids = tuple((kind, clean(str(person[key]))) for kind, key in kinds if person.get(key))
        known = dict(ids)
        one = known.get("number") or known.get("email") or ""
        student = "-".join(filter(None, [known.get("name"), one]))
        if student:
            yield Named(clean(student), Account(ids, when=when, turn=_utc(when)))


def _utc(when: str) -> str:
    """A time that sorts, whatever zone it was told in; as it is where it is none."""
    try:
        # Gradescope tells nanoseconds and writes UTC as " Z"
        told = datetime.fromisoformat(re.sub(r"(\.\d{6})\d*", r"\1", when).replace(" Z", "+00:00"))
    except ValueError:
        return when
    return told.astimezone(UTC).isoformat(timespec="microseconds")


def _yaml(path: Path) -> Any:
    """What a file of YAML holds: texts, lists and dicts; of an alias nothing.

    Raises:
        Refused: where it is none.
    """
    import yaml

    try:
        data = read_bytes(path, LARGEST_METADATA_BYTES)
        root: list[Any] = []
        open_nodes: list[Any] = [root]
        keys: list[Any] = [None]

        def put(value: Any) -> None:
            node = open_nodes[-1]
            if isinstance(node, list):
                node.append(value)
            elif keys[-1] is None:
                keys[-1] = value if isinstance(value, str) else ""
            else:
                node[keys[-1]] = value
                keys[-1] = None

        for event in yaml.parse(data, Loader=yaml.CBaseLoader):
            if isinstance(event, yaml.ScalarEvent):
                put(event.value)
            elif isinstance(event, yaml.AliasEvent):
                put("")
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                node: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
                put(node)
                open_nodes.append(node)
                keys.append(None)
                if len(open_nodes) > _DEEPEST:
                    raise Refused(f"{path} is nested too deep. Nothing beside it is graded.")
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                open_nodes.pop()
                keys.pop()
    except (yaml.YAMLError, UnicodeError, Fault) as error:
        detail = clean(" ".join(str(error).split()), 160)
        raise Refused(
            f"{path} cannot be read: {detail}. It says whose each folder is, so nothing beside it "
            "is graded. Download the export again."
        ) from error
    return root[0] if root else None


def latest(submissions: Iterable[Submission]) -> tuple[list[Submission], list[str]]:
    """(of what one account handed in more than once the last, all else; sentences on the others)"""
    by_work: dict[tuple[str, str, object], list[Submission]] = {}
    for one in submissions:
        account = one.account
        whose = object() if account is None or not account.turn else account.ids
        by_work.setdefault((one.student, one.notebook, whose), []).append(one)
    kept: list[Submission] = []
    again: list[str] = []
    for claim in by_work.values():
        last = max((one.account.turn for one in claim if one.account), default="")
        own = [one for one in claim if one.account is None or one.account.turn == last]
        kept += own
        if len(own) < len(claim) and len({*map(content_of, claim)}) > 1:
            again.append(f"{claim[0].student} ({claim[0].notebook})")
    said = f"Handed in more than once, the last one counts: {few(again)}."
    return kept, [said] if again else []
