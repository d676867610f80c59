"""What was handed in: which files there are, and whose they are.

Whose notebook a file is:
1. Below a folder named `submitted`, as nbgrader keeps it (`submitted/STUDENT/ASSIGNMENT/
   NOTEBOOK.ipynb`): the student is the folder below `submitted`.
2. Otherwise in a sub-folder of the path that was given: the student is the first folder below
   that path that is not named after a lesson. No name inside it says otherwise.
3. Otherwise the file's name without the lesson's name: `vega_01_threads.ipynb`,
   `01_threads-vega.ipynb` and `vega.ipynb` are all Vega's, and `20231234_01_threads.ipynb` is that
   number's. What a browser, Jupyter or Google adds to a copy (` (1)`, `-Copy1`) is no part of it.
4. If nothing is left, the nearest folder above it that is not named after a lesson.

By rule 3 a name is what somebody wrote on a file. Where several files claim to be one student's,
none is graded: a person decides (`claims`).

Which lesson it is: what the file's name says, else the folder's, else the lesson that has the
most of the exercises named in its cells.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from autograder import Refused
from autograder.grading.archive import METADATA, is_archive, unpack
from autograder.grading.archive import SUFFIX as ZIP
from autograder.grading.claims import without_collisions
from autograder.grading.folders import (
    DEEPEST,
    MOST_NOTEBOOKS,
    SUFFIX,
    bare,
    beside,
    is_hidden,
    is_notebook,
    tree,
)
from autograder.grading.lms import Form, Named, form_of
from autograder.grading.names import clean, few
from autograder.grading.submissions import Submission
from autograder.judge.sentences import Fault
from autograder.lessons.catalogue import has_no_exercises, lesson_in, lesson_name, stem_of_notebook
from course.plain.text import counted

#: Said of a folder that need not be a student's.
_EMPTY = "no_notebook"
_NOTHING = (_EMPTY, "link")
SUBMITTED = "submitted"
#: In the place of a folder that holds one of these it is taken: nbgrader's, and its exchange's.
_CLASS_FOLDERS = (SUBMITTED, "inbound")
#: Folders that a zip may have around an LMS's, and what LMSs themselves call one.
_WRAPPED = 4
_LMS_FOLDER = re.compile(r"assignment_\d+_export|(.+-)?submissions")
#: What Google puts before a copy's name, and Jupyter, Windows and browsers behind it.
_COPY = re.compile(r"^(Copy of )+|((-| - )Copy\d*| ?\(\d+\))+$")
#: A name has a letter, or is a student's number: of a date or a turn no five digits stand together.
_NAME = re.compile(r"[^\W\d_]|\d{5}")
_ONE_STUDENTS = (
    "{place} is taken for one student's, and no name in it counts. If it is what {lms} gave for a "
    "class, grade that folder itself."
)


@dataclass
class Found:
    """The submissions below some paths, and sentences about what could not be taken."""

    submissions: list[Submission] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def find(
    paths: Iterable[Path], stem: str | None = None, student: str = "", unpack_to: Path | None = None
) -> Found:
    """Every notebook below `paths`, each once, and every student's folder without one.

    Args:
        stem: the lesson that all of them are of, if it is known.
        student: whose all of them are, if it is known.
        unpack_to: where zips among the paths are unpacked; without it none is.
    """
    found = Found()
    seen: set[tuple[Path, str]] = set()
    for given in paths:
        root, refused, made = given, dict[Path, Fault](), ""
        if unpack_to is not None and is_archive(given):
            unpacked = _unpacked(given, unpack_to, found.problems)
            if unpacked is None:
                continue
            root, refused, made = unpacked
        inner = (root / name for name in _CLASS_FOLDERS)
        path = next((folder for folder in inner if folder.is_dir()), root)
        if not os.path.lexists(path):
            found.problems.append(f"{path} does not exist. Check the path, then grade again.")
        elif path is not root and (others := beside(path)):
            found.problems.append(
                f"{root} holds a folder `{path.name}` beside {few(others)}. Is it the "
                "class's, or a student's of that name? Nothing here is graded: grade "
                f"{path}, or rename it."
            )
        elif not path.is_dir():
            _single(path, stem, student, found, seen)
        else:
            whole = student or (_student_above(path) if root is given else None)
            taken: Iterable[Submission]
            if whole:
                taken, whose = _of_folder(path, whole, stem, found.problems), _always(whole)
            else:
                try:
                    names = (given.stem if root is not given else "", *_CLASS_FOLDERS)
                    taken, whose = _of_class(path, stem, found.problems, refused, names)
                except Refused as error:
                    found.problems.append(str(error))
                    continue
            taken = _refused(refused, whose, stem, taken)
            if root is not given:
                taken = _told_by_zip(given, root, made, taken)
            _add(taken, found, seen, path, given, of_class=not whole)
    return _without_own(found, unpack_to)


def _without_own(found: Found, unpack_to: Path | None) -> Found:
    """Without what lies in the run's own folder, which `grade .` finds, too: nobody's work."""
    if unpack_to is not None:
        own = _absolute(unpack_to.parent)
        found.submissions = [
            one
            for one in found.submissions
            if not _absolute(one.path).is_relative_to(own)
            or (one.root is not None and _absolute(one.root).is_relative_to(own))
        ]
    return found


def _told_by_zip(
    archive: Path, folder: Path, made: str, taken: Iterable[Submission]
) -> Iterator[Submission]:
    """With what the zip itself says.

    Where no name in it says whose a notebook is, its own does, as a file's would; where the LMS
    does not say which came last, the later download has it, and the zip says when that was made.
    """
    for one in taken:
        if one.account and not one.account.turn:
            one = replace(one, account=replace(one.account, turn=made))
        unnamed = one.student in (folder.name, folder.parent.name)
        yield replace(one, student=_claimed(archive)) if unnamed else one


def _unpacked(
    archive: Path, into: Path, problems: list[str]
) -> tuple[Path, dict[Path, Fault], str] | None:
    """The folder that a zip became, the notebooks that are not in it, and when it was made."""
    try:
        unpacked = unpack(archive, into)
    except Refused as error:
        problems.append(str(error))
        return None
    except OSError as error:
        problems.append(f"{archive} cannot be unpacked: {error.strerror}.")
        return None
    problems += unpacked.problems
    refused = unpacked.refused.items()
    problems += [f"{archive}: {fault.sentence}" for p, fault in refused if not is_notebook(p.name)]
    if any(p.name == METADATA for p in unpacked.refused):
        return None
    return unpacked.folder, {unpacked.folder / p: fault for p, fault in refused}, unpacked.made


def _refused(
    refused: Mapping[Path, Fault],
    whose: Callable[[Path], Sequence[Named]],
    stem: str | None,
    taken: Iterable[Submission],
) -> Iterator[Submission]:
    """What was taken, and what was not unpacked: that is why a folder may hold no notebook."""
    barred = [
        replace(_submission(path, named, stem), fault=fault)
        for path, fault in refused.items()
        if is_notebook(path.name)
        for named in whose(path)
    ]
    students = {one.student for one in barred}
    for one in taken:
        if one.student not in students or not _is_empty(one):
            yield one
    yield from barred


def of_student(folder: Path, student: str) -> list[Submission]:
    """What one student's folder holds, without collisions, or why it is not graded."""
    return without_collisions(_of_folder(folder, student, None, []))


def _add(
    taken: Iterable[Submission],
    found: Found,
    seen: set[tuple[Path, str]],
    root: Path,
    given: Path,
    of_class: bool = False,
) -> None:
    empty, by_lms = True, False
    for submission in taken:
        empty, by_lms = False, by_lms or submission.account is not None
        where = _absolute(submission.path), submission.student
        if where not in seen or submission.fault is not None:
            seen.add(where)
            found.submissions.append(replace(submission, root=root))
    if empty:
        found.problems.append(f"{given} holds no notebook (*{SUFFIX}).{_zips(root, given)}")
    elif of_class and not by_lms and (zips := _zips(root, given)):
        found.problems.append(f"{given}: its notebooks and folders are graded.{zips}")


def _zips(root: Path, given: Path) -> str:
    """What to do with a folder, or a zip that was unpacked there, that holds zips."""
    zips = [name for name in _other_files(root) if Path(name).suffix.lower() == ZIP]
    if not zips:
        return ""
    place = given if root == given else root
    packed = "" if root == given else f" Unpack it, and name them: a zip in {given.name} stays one."
    named = f"{counted(len(zips), 'zip')} ({few([clean(name) for name in zips])})"
    how = f" `python -m autograder grade {place}/*{ZIP}` takes each." if root == given else packed
    return f" It holds {named}, and no zip inside of what is named is opened.{how}"


def _single(
    path: Path, stem: str | None, student: str, found: Found, seen: set[tuple[Path, str]]
) -> None:
    """One file that was named itself."""
    if not is_notebook(path.name):
        found.problems.append(
            f"{path} is nothing that is graded: expected a notebook (*{SUFFIX}), a zip (*{ZIP}) or "
            "a folder. Another kind of archive has to be unpacked first."
        )
    elif has_no_exercises(bare(path.name)):
        found.problems.append(f"{path} has no exercises: there is nothing to grade in it.")
    else:
        whose = student or _student_above(path.parent) or _claimed(path)
        _add([_submission(path, Named(whose), stem)], found, seen, path.parent, path)


def _always(student: str) -> Callable[[Path], Sequence[Named]]:
    return lambda _: [Named(student)]


def _of_class(
    root: Path,
    stem: str | None,
    problems: list[str],
    refused: Iterable[Path],
    wrappers: Sequence[str],
) -> tuple[Iterable[Submission], Callable[[Path], Sequence[Named]]]:
    """(what a class's folder holds, whose a path below it is).

    A folder alone in another one may be what an LMS gave, or that of the one student who has handed
    in anything: it is an LMS's where it is named so, or as one of `wrappers`.

    Raises:
        Refused: where nothing says whose what is in a folder that an LMS or a person made.
    """
    place, of_an_lms = root, True
    for _ in range(_WRAPPED):
        files, folders = _listed(place, [])
        barred = (p for p in refused if is_notebook(p.name) and place in p.parents)
        names = {p.relative_to(place).parts[0] for p in (*files, *folders, *barred)}
        form = form_of(place, sorted(names), of_an_lms)
        if form is not None and of_an_lms:
            return _of_form(place, form, stem, problems), _named_by(form, place)
        if form is not None:
            if len({named.student for name in names for named in form.read(name)}) != 1:
                raise _whose(place, sorted(names))
            problems.append(_ONE_STUDENTS.format(place=place, lms=form.name))
        if form is not None or files or len(folders) != 1 or folders[0].is_symlink():
            break
        place = folders[0]
        wrapper = place.name in wrappers or stem_of_notebook(place.name)
        of_an_lms = of_an_lms and bool(wrapper or _LMS_FOLDER.fullmatch(place.name))

    def whose(path: Path) -> Sequence[Named]:
        folders = path.relative_to(root).parts[:-1]
        return [Named(next((clean(f) for f in folders if not stem_of_notebook(f)), _claimed(path)))]

    if form is None:
        _must_be_one_students(root)
    return _of_folders(root, stem, problems), whose


def _named_by(form: Form, root: Path) -> Callable[[Path], Sequence[Named]]:
    def whose(path: Path) -> Sequence[Named]:
        return form.read(path.relative_to(root).parts[0]) if root in path.parents else []

    return whose


def _of_form(root: Path, form: Form, stem: str | None, problems: list[str]) -> Iterator[Submission]:
    """What an LMS gave out: files and folders that name their student."""
    files, folders = (
        [p for p in paths if p.name not in form.forged] for paths in _listed(root, problems)
    )
    if form.forged:
        problems.append(
            f"{root}: another user than the one they name has put these there: "
            f"{few([clean(name) for name in sorted(form.forged)])}. They are not graded. Where one "
            "is right all the same, `grade` it by itself with --student NAME."
        )
    strays = [clean(p.name) for p in (*files, *folders) if not form.read(p.name)]
    if strays:
        problems.append(
            f"{root} is read as what {form.name} gave, which does not say whose these are: "
            f"{few(strays)}. They are not graded. Where one is a student's, `grade` it by "
            "itself with --student NAME."
        )
    students = set()
    for file in files:
        for named in form.read(file.name):
            students.add(named.student)
            if not has_no_exercises(bare(named.file or file.name)):
                yield _submission(file, named, stem)
    taken: list[Submission] = []
    for folder in folders:
        for named in form.read(folder.name):
            students.add(named.student)
            inner = _of_folder(folder, named.student, stem, problems)
            taken += [replace(one, account=named.account) for one in inner]
    yield from _without_empty(taken)
    for name in _other_files(root):
        for named in form.read(name):
            if named.student not in students:
                students.add(named.student)
                fault = Fault("other_file", file=clean(named.file))
                one = _submission(root / name, named, stem)
                yield replace(one, notebook=one.notebook if one.stem else "", fault=fault)


def _without_empty(taken: Sequence[Submission]) -> Iterator[Submission]:
    """Of one work's folders (Moodle makes one for texts, too) those that hold any of it; or one."""
    there = {(one.student, one.account) for one in taken if not _is_empty(one)}
    for one in taken:
        work = one.student, one.account
        if not _is_empty(one) or work not in there:
            there.add(work)
            yield one


def _is_empty(one: Submission) -> bool:
    return one.fault is not None and one.fault.message_id == _EMPTY


def _other_files(folder: Path) -> list[str]:
    """Files right in a folder that are no notebooks."""
    with os.scandir(folder) as entries:
        plain = (e.name for e in entries if e.is_file(follow_symlinks=False))
        return sorted(name for name in plain if not is_notebook(name) and not is_hidden(name))


def _of_folders(root: Path, stem: str | None, problems: list[str]) -> Iterator[Submission]:
    """A class's folder: files that name their student, and a folder a student."""
    students: list[Path] = []
    level = [root]
    for _ in range(DEEPEST):
        below: list[Path] = []
        for place in level:
            files, folders = _listed(place, problems)
            for file in files:
                if not has_no_exercises(bare(file.name)):
                    yield _submission(file, Named(_claimed(file)), stem)
            lessons_here = {f for f in folders if stem_of_notebook(f.name) and not f.is_symlink()}
            below += [f for f in folders if f in lessons_here]
            students += [f for f in folders if f not in lessons_here]
        level = below
    empty = []
    any_there = root.name == SUBMITTED
    for folder in students:
        taken = _of_folder(folder, clean(folder.name), stem, problems)
        there = [s for s in taken if s.fault is None or s.fault.message_id not in _NOTHING]
        any_there = any_there or any(s.path != folder for s in there)
        empty += [s for s in taken if s not in there]
        yield from there
    if any_there:  # else a folder of other things, and no class with a folder a student
        yield from empty


def _must_be_one_students(root: Path) -> None:
    """Refuses a folder that is alone where a student's is expected and may be a class's.

    Whose is what in it is a person's to say: by the rule it is one student's, and with folders of
    others' names in it a student could give those others work.

    Raises:
        Refused: where its own folders hold notebooks of one lesson.
    """
    files, folders = _listed(root, [])
    if files or len(folders) != 1 or folders[0].is_symlink() or root.name in _CLASS_FOLDERS:
        return
    [folder] = folders
    files, inner = _listed(folder, [])
    own = [f for f in inner if not (f.is_symlink() or stem_of_notebook(f.name))]
    own = [] if files else [f for f in own if tree(f, clean(f.name)).notebooks]
    name = clean(folder.name)
    if len(own) < 2 or not any(one.rivals for one in of_student(folder, name)):
        return
    raise _whose(folder, [f.name for f in own])


def _whose(folder: Path, names: Sequence[str]) -> Refused:
    """Of a folder that may be a student's or a class's."""
    return Refused(
        f"{folder} is alone where a student's folder is expected, and holds what may be several "
        f"students': {few([clean(name) for name in names])}. Where it is, grade that folder: "
        f"`python -m autograder grade {shlex.quote(str(folder))}`. Where all is one student's, "
        "grade the one that counts: `python -m autograder grade FILE "
        f"--student {shlex.quote(clean(folder.name))}`. Nothing in it is graded."
    )


def _listed(folder: Path, problems: list[str]) -> tuple[list[Path], list[Path]]:
    """Notebooks and folders right below a class's folder, sorted; links are not followed."""
    files, folders = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if is_hidden(entry.name):
                    continue
                if is_notebook(entry.name):
                    files.append(folder / entry.name)
                elif _leads_to_folder(entry):
                    folders.append(folder / entry.name)
    except OSError as error:
        problems.append(f"{error.filename or folder} cannot be read: {error.strerror}.")
    return sorted(files), sorted(folders)


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle, or to where nobody may look
        return False


def _of_folder(
    folder: Path, student: str, stem: str | None, problems: list[str]
) -> list[Submission]:
    """One student's folder: its notebooks, or the one reason why none of them is graded."""
    name = clean(folder.name)
    if folder.is_symlink():
        return [Submission(student, "", None, folder, Fault("link", file=name))]
    found = tree(folder, name)
    problems += [f"{error.filename} cannot be read: {error.strerror}." for error in found.unread]
    notebooks = [path for path in found.notebooks if not has_no_exercises(bare(path.name))]
    fault = found.fault
    if fault is None and notebooks:
        return [_submission(folder / path, Named(student), stem) for path in notebooks]
    if fault is None:
        others = f", only {clean(str(found.files[0]))}" if found.files else ""
        fault = Fault("no_notebook", folder=name, found=others)
    files = notebooks or found.files
    named = (lesson_in(bare(path.name)) for path in files[:MOST_NOTEBOOKS])
    stems = {stem_of_notebook(path.name) for path in found.folders} | {n[0] for n in named if n}
    wanted: list[str | None] = [*sorted(s for s in stems if s)] or [None]
    return [
        Submission(student, lesson_name(s) if s else "", s, folder, fault)
        for s in ([stem] if stem else wanted)
    ]


def _submission(file: Path, whose: Named, stem: str | None) -> Submission:
    own_name = bare(whose.file or file.name)
    if stem is None:
        named = lesson_in(own_name)
        stem = named[0] if named else _lesson_above(file)
    notebook = lesson_name(stem) if stem else clean(own_name)
    return Submission(whose.student, notebook, stem, file, account=whose.account)


def _lesson_above(file: Path) -> str | None:
    """The lesson that the nearest folder is named after."""
    folders = _absolute(file).parent.parts
    return next(filter(None, map(stem_of_notebook, reversed(folders))), None)


def _student_above(folder: Path) -> str | None:
    """The student of a folder that lies below one named `submitted`: the outermost of these.

    A student may have handed in a folder of that name, too.
    """
    parts = _absolute(folder).parts
    below = parts[parts.index(SUBMITTED) + 1 :] if SUBMITTED in parts else ()
    return clean(below[0]) if below else None


def _claimed(file: Path) -> str:
    """Whose a file is by its own name, or by the nearest folder above it."""
    stem = _COPY.sub("", bare(file.name))
    named = lesson_in(stem)
    rest = _COPY.sub("", stem if named is None else named[1])
    if _NAME.search(rest):
        return clean(rest)
    folders = _absolute(file).parent.parts
    above = (f for f in reversed(folders) if stem_of_notebook(f) is None and f != os.sep)
    return clean(next(above, "student"))


def _absolute(path: Path) -> Path:
    """Without `..`, and with links as they are."""
    return Path(os.path.normpath(path.absolute()))
