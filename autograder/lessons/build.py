"""`python -m autograder build`: from a lesson's one source to the notebooks made from it.

solutions/NN_STEM.py
  -> .build/nbgrader/source/NN_STEM/NN_STEM.ipynb   nbgrader's instructor version, solutions in
  -> .build/nbgrader/release/NN_STEM/NN_STEM.ipynb  what nbgrader itself releases from it
  -> notebooks/NN_STEM.ipynb                        the same, committed, for students and Colab

A build is a function of the sources alone: the same bytes each time, on each machine. Files
are replaced one by one, each whole, and only once everything has been built.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

from autograder import Refused
from autograder.grading.files import write
from autograder.judge import overlay, private
from autograder.lessons import colab
from autograder.lessons.links import linked
from autograder.lessons.percent import Problem, SourceError
from autograder.lessons.release import register, release, settings
from autograder.lessons.source import (
    Cell,
    Kind,
    Lesson,
    lesson_files,
    read_lesson,
    regions,
    starter,
    without_spare_stub,
)

if TYPE_CHECKING:
    from traitlets.config import Config

    from course.spec.exercise import Exercise

ROOT = Path(__file__).resolve().parents[2]

_SET_UP_NAME = "set_up"

_KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
_SCHEMA_VERSION = 3
#: digits of a SHA-256 that make a cell's id: 64 bits
_ID_DIGITS = 16


@dataclass
class Report:
    """What a build did, by notebook name (`01_threads`)."""

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    #: notebooks that somebody has worked in, left as they were
    kept: list[str] = field(default_factory=list)
    #: those of all of them that hold exercises
    graded: list[str] = field(default_factory=list)


def declared(stems: Sequence[str] = ()) -> dict[str, tuple[Exercise, ...]]:
    """The exercises of each lesson module, or of those of `stems`, by stem.

    Raises:
        Refused: for a module that cannot be imported.
    """
    from course import exercises

    found = {}
    for stem in exercises.stems():
        if not stems or stem in stems:
            try:
                found[stem] = tuple(exercises.lesson(stem).values())
            except Exception as error:  # whatever a half-written module raises
                said = f"{type(error).__name__}: {error}"
                sentence = f"course/exercises/{stem}.py cannot be imported. {said}"
                raise Refused(sentence) from error
    return found


def read_lessons(
    root: Path,
    stems: Sequence[str] = (),
    exercises: Mapping[str, Sequence[Exercise]] | None = None,
) -> list[Lesson]:
    """Every lesson below `root`, or those of `stems`, checked.

    Args:
        root: the repository.
        stems: such as `threads`; all if empty.
        exercises: by stem, instead of what `course.exercises` declares.

    Raises:
        SourceError: with every problem of every lesson.
        Refused: for a stem that no lesson has, or exercises that cannot be imported.
    """
    specs = declared(stems) if exercises is None else exercises
    files: dict[str, Path] = {}
    problems: list[Problem] = []
    for path in lesson_files(root):
        stem = path.stem.partition("_")[2]
        if stem in files:
            sentence = f"{files[stem].name} is a lesson with the stem {stem!r} already."
            problems.append(Problem(path, 1, sentence))
        files.setdefault(stem, path)
    for stem in stems:
        if stem not in files:
            names = ", ".join(files) or "none yet"
            raise Refused(f"There is no lesson {stem!r} in solutions/. There are: {names}.")
    read: list[Lesson] = []
    for stem, path in files.items():
        if not stems or stem in stems:
            try:
                read.append(read_lesson(path, specs.get(stem, ())))
            except SourceError as error:
                problems.extend(error.problems)
    for stem, unused in specs.items():
        if unused and stem not in files and not stems:
            names = ", ".join(exercise.name for exercise in unused)
            path = root / "course" / "exercises" / f"{stem}.py"
            sentence = f"no lesson solutions/NN_{stem}.py uses its exercises: {names}."
            problems.append(Problem(path, 1, sentence))
    if problems:
        raise SourceError(problems)
    return read


def instructor_notebook(lesson: Lesson, address: str = colab.ADDRESS, carried: str = "") -> Any:
    """The lesson as a notebook with solutions and nbgrader's metadata.

    Args:
        lesson: its source.
        address: where it installs the course from (`colab.ADDRESS`).
        carried: the course itself, as `colab.packed` writes it.
    """
    points = _points_here(lesson)
    seen: Counter[str] = Counter()
    cells = []
    for cell in _with_set_up(lesson, address, carried):
        make = nbformat.v4.new_markdown_cell if cell.is_markdown else nbformat.v4.new_code_cell
        metadata = _metadata(cell, points)
        identity = f"name:{cell.name}" if cell.name else f"text:{cell.kind.value}:{cell.source}"
        seen[identity] += 1
        digest = hashlib.sha256(f"{identity}:{seen[identity]}".encode()).hexdigest()
        cells.append(make(cell.source, id=digest[:_ID_DIGITS], metadata=metadata))
    return nbformat.v4.new_notebook(
        cells=cells,
        metadata={"kernelspec": _KERNELSPEC, "language_info": {"name": "python"}},
    )


def _points_here(lesson: Lesson) -> dict[str, float]:
    """In this class: by exercise and written answer, these 0 where nothing is said of them."""
    of_class = overlay.active()
    return {**of_class.points, **{e.name: of_class.points_of(e) for e in lesson.exercises}}


def _with_set_up(lesson: Lesson, address: str, carried: str) -> list[Cell]:
    """The cells with the badge at the top, and the set-up cell below the title, if there is one."""
    badge = colab.badge(lesson.name, address)
    above = [Cell(Kind.PROSE, "", badge, 1)] if badge else []
    set_up = Cell(Kind.CODE, _SET_UP_NAME, colab.set_up(address, carried), 1)
    cells = lesson.cells
    title = 1 if cells and cells[0].kind is Kind.PROSE else 0
    return [*above, *cells[:title], set_up, *cells[title:]]


def _metadata(cell: Cell, points: Mapping[str, float]) -> dict[str, Any]:
    def nbgrader(grade: bool, solution: bool, **more: object) -> dict[str, Any]:
        common = {"grade_id": cell.name, "locked": not solution, "task": False}
        version = {"schema_version": _SCHEMA_VERSION}
        return {"nbgrader": {"grade": grade, "solution": solution, **common, **more, **version}}

    match cell.kind:
        case Kind.SOLUTION:
            return nbgrader(grade=False, solution=True)
        case Kind.CHECK:
            exercise = cell.name.removesuffix("_check")
            return nbgrader(grade=True, solution=False, points=points[exercise])
        case Kind.EXPLAIN:
            # nbgrader grades a written answer by hand, and wants a grade cell for that
            return nbgrader(grade=True, solution=True, points=points.get(cell.name, 0))
        case _ if cell.name == _SET_UP_NAME:
            return colab.METADATA
        case _:
            return {"tags": list(cell.tags)} if cell.tags else {}


def student_bytes(released: Path, points: Mapping[str, float], beside: Sequence[str]) -> bytes:
    """The released notebook as a student gets it: its text, and a seal that it is as built.

    Args:
        points: by exercise and written answer, as they are to stand in it.
        beside: the notebooks that lie in its folder, to which its words link. (nbgrader gives each
            a folder of its own, so what it releases has no links.)
    """
    from nbgrader.utils import compute_checksum

    notebook = nbformat.read(released, as_version=4)
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade"):
            marks["points"] = points.get(marks["grade_id"].removesuffix("_check"), 0)
            marks["checksum"] = compute_checksum(cell)  # points are part of it
        if marks.get("solution") and cell.cell_type == "code":
            cell.source = without_spare_stub(cell.source)
        if cell.cell_type == "markdown" and not marks:
            cell.source = linked(cell.source, released.stem, beside)
    notebook.metadata = {
        "course": {"seal": _seal(notebook)},
        "kernelspec": _KERNELSPEC,
        "language_info": {"name": "python"},
    }
    return _written(notebook)


def _written(notebook: Any) -> bytes:
    nbformat.validate(notebook)
    return (nbformat.writes(notebook).rstrip("\n") + "\n").encode()


def _seal(notebook: Any) -> str:
    """A digest of every cell's text: it no longer fits once somebody has worked in one."""
    texts = [[cell["cell_type"], cell["source"]] for cell in notebook["cells"]]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def is_as_built(path: Path) -> bool:
    """Whether a student notebook's text is what a build wrote; its outputs do not matter."""
    try:
        notebook = nbformat.read(path, as_version=4)
        return bool(notebook.metadata["course"]["seal"] == _seal(notebook))
    except Exception:  # no notebook, or one that no build wrote
        return False


@dataclass(frozen=True)
class Built:
    """A lesson's notebooks, not yet in place. `student` has the course's own points."""

    lesson: Lesson
    source: bytes
    released: bytes
    student: bytes
    of_class: bytes


def make(
    lessons: Sequence[Lesson],
    config: Config,
    scratch: Path,
    address: str = colab.ADDRESS,
    carried: str = "",
) -> list[Built]:
    """Builds the lessons' notebooks in the empty folder `scratch`; as `instructor_notebook`.

    Raises:
        Refused: where nbgrader refuses a notebook, or a solution would be released.
    """
    built = []
    for lesson in lessons:
        name = lesson.name
        source = scratch / "source" / name / f"{name}.ipynb"
        source.parent.mkdir(parents=True)
        content = _written(instructor_notebook(lesson, address, carried))
        source.write_bytes(content)
        release(scratch / "source", scratch / "release", name, config)
        released = scratch / "release" / name / f"{name}.ipynb"
        leaks = leaked(lesson, nbformat.read(released, as_version=4))
        if leaks:
            raise Refused("\n".join(leaks))
        own = {exercise.name: exercise.points for exercise in lesson.exercises}
        everyone = [path.stem for path in lesson_files(lesson.path.parents[1])]
        student = student_bytes(released, own, everyone)
        of_class = student_bytes(released, _points_here(lesson), [one.name for one in lessons])
        built.append(Built(lesson, content, released.read_bytes(), student, of_class))
    return built


def leaked(lesson: Lesson, notebook: Any) -> list[str]:
    """Sentences about solutions that a student's notebook would hold; empty if there are none.

    A line of a solution region may stand in the notebook only where the source itself has it
    outside every region, and a whole region nowhere.
    """
    open_lines = {
        line.strip() for cell in lesson.cells for line in starter(cell.source).split("\n")
    }
    texts = [cell.source for cell in notebook.cells]
    standing = {line.strip() for text in texts for line in text.split("\n")}
    bare = ["\n".join(line.strip() for line in text.split("\n")) for text in texts]
    found = []
    for cell in lesson.cells:
        for region in regions(cell.source):
            lines = [line.strip() for line in region if line.strip()]
            escaped = [line for line in lines if line in standing and line not in open_lines]
            whole = "\n".join(line.strip() for line in region).strip()
            if escaped or (whole and any(whole in text for text in bare)):
                shown = escaped[0] if escaped else lines[0]
                found.append(
                    f"{lesson.path}:{cell.line}: the student notebook would hold the solution of "
                    f"{cell.name!r}: {shown}"
                )
    return found


def build(
    root: Path,
    stems: Sequence[str] = (),
    force: bool = False,
    exercises: Mapping[str, Sequence[Exercise]] | None = None,
) -> Report:
    """Builds every lesson, or those of `stems`, and puts the notebooks in place.

    Args:
        root: the repository.
        stems: such as `threads`; all if empty.
        force: overwrite student notebooks that somebody has worked in, too.
        exercises: by stem, instead of what `course.exercises` declares.

    Raises:
        SourceError: for wrong sources, with a sentence and a line for each mistake.
        Refused: for anything else that stops it. No file has changed then.
    """
    lessons = read_lessons(root, stems, exercises)
    if not lessons:
        raise Refused("There is no lesson in solutions/ to build. `make new NAME=...` adds one.")
    home = root / ".build" / "nbgrader"
    home.mkdir(parents=True, exist_ok=True)
    (root / "notebooks").mkdir(exist_ok=True)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="building-", dir=home) as scratch:
        for built in make(lessons, settings(root), Path(scratch)):
            name = built.lesson.name
            if built.lesson.exercises:
                report.graded.append(name)
            place(home / "source" / name / f"{name}.ipynb", built.source)
            place(home / "release" / name / f"{name}.ipynb", built.released)
            student = root / "notebooks" / f"{name}.ipynb"
            if student.exists() and student.read_bytes() == built.student:
                report.unchanged.append(name)
            elif student.exists() and not force and not is_as_built(student):
                report.kept.append(name)
            else:
                place(student, built.student)
                report.written.append(name)
    if not stems:
        _remove_others(home, {lesson.name for lesson in lessons})
    return report


def place(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all, where it is not so already."""
    if not path.exists() or path.read_bytes() != content:
        write(path, [content], durable=False)


def _remove_others(home: Path, names: set[str]) -> None:
    """Removes what a renamed lesson left in `.build`. Students' notebooks are never removed."""
    for step in ("source", "release"):
        for folder in (home / step).iterdir():
            if folder.name not in names:
                shutil.rmtree(folder)


def stale(root: Path, built: Sequence[Built]) -> list[str]:
    """Sentences about student notebooks that are not what the sources give."""
    sentences = []
    for item in built:
        path = root / "notebooks" / f"{item.lesson.name}.ipynb"
        if not path.exists():
            sentences.append(f"notebooks/{path.name} is missing. Run `make build`.")
        elif path.read_bytes() != item.student:
            sentences.append(
                f"notebooks/{path.name} is not what solutions/{item.lesson.path.name} gives. "
                "Run `make build`."
            )
    return sentences


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what `python -m autograder build` understands."""
    parser.add_argument("lessons", nargs="*", metavar="STEM", help="lessons to build (default all)")
    parser.add_argument(
        "--force",
        action="store_true",
        help="overwrite notebooks in notebooks/ that somebody has worked in, too",
    )
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="the repository (default: this one)"
    )
    private.add_private(parser)


def main(args: argparse.Namespace) -> int:
    """Builds, and says what came of it. 0 when every notebook stands."""
    root = args.root.resolve()
    try:
        overlay.use(private.found(args.private))
        report = build(root, args.lessons, args.force)
    except Refused as error:
        print(error, file=sys.stderr)
        print("Nothing was built: no notebook has changed.", file=sys.stderr)
        return 1
    for name in report.written:
        print(f"built     notebooks/{name}.ipynb")
    for name in report.unchanged:
        print(f"unchanged notebooks/{name}.ipynb")
    for name in report.kept:
        print(
            f"kept      notebooks/{name}.ipynb: somebody has worked in it, so it was left as it "
            "is. Move it away, or build with --force, to have the new one."
        )
    for name in report.graded:
        try:
            register(root, name)
        except Refused as error:
            # the notebooks stand, and a class that is under way keeps the cells it began with
            print(f"The gradebook keeps its older {error}", file=sys.stderr)
    return 0
