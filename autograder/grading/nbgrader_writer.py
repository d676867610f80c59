"""What comes of verdicts in a course directory of nbgrader's: for `grade` and `nbgrader autograde`.

The gradebook has the points, what a person has to grade, times, deadlines and penalties; the
autograded notebook is made anew from our cells and the student's text. `generate_feedback`, the
formgrader and whatever else nbgrader has go on from there.
"""

from __future__ import annotations

import fnmatch
import hashlib
import mimetypes
import shutil
import stat
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader import utils
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import (
    CheckCellMetadata,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
)
from traitlets import List

from autograder.grading.autograded import KnownCell, autograded, unanswered
from autograder.grading.folders import SUFFIX, tree
from autograder.grading.gradebook import lacking, save_points
from autograder.grading.lateness import settle
from autograder.grading.names import clean
from autograder.grading.opened import enters, prepare
from autograder.grading.submissions import Notebook, Submission, parse, read_bytes
from autograder.grading.timestamps import TIMESTAMP, timestamp, zone_of
from autograder.judge.judge import Graded
from autograder.judge.sentences import Fault
from autograder.lessons.catalogue import ROOT
from course.engine.faults import Outcome

_VERDICTS = "verdicts"
NOT_ATTEMPTED = Outcome.NOT_ATTEMPTED.value
#: What is copied of a submission beside its notebooks: pictures for a written answer.
MOST_COPIED_BYTES = 50 * 2**20


class SaveVerdicts(NbGraderPreprocessor):
    """Writes the verdicts' points to the gradebook, and what a person has to grade."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        known = resources["nbgrader"]
        if _VERDICTS not in known:
            raise NbGraderException(
                "SaveVerdicts works in the course's own Autograde only: call "
                "autograder.grading.nbgrader_glue.configure(c) in nbgrader_config.py."
            )
        whose = known["notebook"], known["assignment"], known["student"]
        points = {name: graded.points for name, graded in known[_VERDICTS].items()}
        with Gradebook(known["db_url"]) as book:
            others = points.keys() - known["unchanged"]
            for name in save_points(book, whose[1], whose[0], whose[2], points, others):
                self.log.warning("The gradebook has no cell %s: generate the assignment", name)
            for cell in known["cells"]:
                judged = cell.name.removesuffix("_check") in points
                if cell.grade and not judged:
                    empty, same = (cell.name in known[what] for what in ("unanswered", "unchanged"))
                    _by_hand(book, cell, whose, empty, same)
                if cell.solution:
                    comment = book.find_comment(cell.name, *whose)
                    empty = cell.name in known["unanswered"]
                    comment.auto_comment = "No response." if empty else None
            book.db.commit()
        return nb, resources


def _by_hand(
    book: Any, cell: KnownCell, whose: tuple[str, str, str], empty: bool, same: bool
) -> None:
    """A cell that no judge knows: a written answer, a test of an instructor's own.

    One that is worth nothing and asks for no answer belongs to an exercise outside the unit. A mark
    on an answer whose text is the same holds, whatever was judged anew beside it.
    """
    grade_ = book.find_grade(cell.name, *whose)
    worthless = not cell.solution and not grade_.max_score
    grade_.auto_score = 0.0 if worthless or (empty and cell.solution) else None
    if grade_.manual_score is None:
        grade_.needs_manual_grade = grade_.auto_score is None
    elif not (same and cell.written_answer):
        grade_.needs_manual_grade = True


class Writer(Autograde):
    """nbgrader's Autograde of notebooks that are judged already. Who has them, a subclass says."""

    sanitize_preprocessors = List([OverwriteKernelspec, OverwriteCells]).tag(config=True)
    autograde_preprocessors = List([SaveVerdicts, CheckCellMetadata]).tag(config=True)

    def start(self) -> None:
        """Writes what there is."""
        prepare()
        self._asked: dict[str, list[str]] = {}
        self._judged: dict[tuple[str, str], dict[str, Graded]] = {}
        self._due: set[tuple[str, str]] = set()
        #: by what was there before, each cell's text in it
        self._before: dict[Path, dict[str | None, str | None]] = {}
        self._lacks: dict[str, tuple[set[str], set[str], set[tuple[str, str]]]] = {}
        super().start()

    def _handed_in(self, assignment: str, student: str) -> list[Submission]:
        """A submission for each notebook of an assignment, with a fault where there is none."""
        raise NotImplementedError

    def _when(self, assignment: str, student: str) -> datetime | None:
        """When it was handed in."""
        folder = Path(self._format_source(assignment, student))
        return timestamp(folder, self.log, zone_of(self.config))

    def _beside(self, assignment: str, student: str) -> Path | None:
        """The folder whose plain files come with the notebook; None where it is not one's own."""
        return Path(self._format_source(assignment, student))

    def convert_notebooks(self) -> None:
        """Writes them down one by one; then what lateness costs, of those from before, too."""
        try:
            super().convert_notebooks()
        finally:
            for assignment in sorted(self._asked):
                settle(self, self.coursedir.db_url, assignment, self._names(assignment))

    def _names(self, assignment: str) -> list[str]:
        """The notebooks of an assignment that the command asks for."""
        if assignment in self._asked:
            return self._asked[assignment]
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            try:
                names = [notebook.name for notebook in book.find_assignment(assignment).notebooks]
            except MissingEntry as error:
                message = (
                    f"No assignment {assignment!r} exists in the gradebook. "
                    f"Run {enters(self.coursedir.db_url, assignment)} first."
                )
                self.log.error(message)
                raise NbGraderException(message) from error
        self._asked[assignment] = sorted(fnmatch.filter(names, self.coursedir.notebook_id))
        return self._asked[assignment]

    def _is_due(self, assignment: str, student: str) -> bool:
        """Whether to write this submission: not yet there or in the gradebook, or a new one."""
        if student in self.coursedir.student_id_exclude.split(","):
            return False
        whole, timeless, _ = self._lacking(assignment)
        if student not in whole:
            return True
        destination = Path(self._format_dest(assignment, student))
        names = self._names(assignment)
        if any(not (destination / (name + SUFFIX)).exists() for name in names):
            return True
        handed_in = self._when(assignment, student)
        if handed_in is not None and student in timeless:
            return True
        graded = timestamp(destination, self.log, zone_of(self.config))
        return handed_in is not None and (graded is None or handed_in > graded)

    def _lacking(self, assignment: str) -> tuple[set[str], set[str], set[tuple[str, str]]]:
        """What this gradebook lacks, as the command began: it may be another than the last time."""
        if assignment not in self._lacks:
            names = self._names(assignment)  # says so where there is no such assignment
            with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
                self._lacks[assignment] = lacking(book, assignment, names)
        return self._lacks[assignment]

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Makes room for what is due."""
        if (assignment_id, student_id) not in self._due:
            self.log.info("Skipping %s of %s: it is graded", assignment_id, student_id)
            return False
        destination = Path(self._format_dest(assignment_id, student_id))
        for name in self._names(assignment_id):
            path = destination / (name + SUFFIX)
            self._before[path] = _texts(path)
        whole = self._names(assignment_id) == self._asked[assignment_id]
        if whole and self.coursedir.notebook_id == "*" and destination.exists():
            utils.rmtree(str(destination))
        for name in self._names(assignment_id):
            (destination / (name + SUFFIX)).unlink(missing_ok=True)
        return True

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Enters the submission in the gradebook, and puts other files beside the notebooks."""
        when = self._when(assignment_id, student_id)
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            if self.create_student:
                book.update_or_create_student(student_id)
            else:
                book.find_student(student_id)
            more = {} if when is None else {"timestamp": when}
            book.update_or_create_submission(assignment_id, student_id, **more)
        destination = Path(self._format_dest(assignment_id, student_id))
        destination.mkdir(parents=True, exist_ok=True)
        own = self._beside(assignment_id, student_id)
        ours = self.coursedir.format_path(self.coursedir.source_directory, ".", assignment_id)
        for root in ([] if own is None else [own]) + [Path(ours)]:
            for file in _plain_files(root, self.coursedir.ignore):
                path = destination / file
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.unlink(missing_ok=True)
                    shutil.copy(Path(root, file), path, follow_symlinks=False)
                except OSError as error:  # a folder where a file is to be, a name too long
                    self.log.warning("%r was not copied: %s", str(file), error.strerror)
        if when is not None and own is None:
            told = when.replace(tzinfo=when.tzinfo or UTC).isoformat()
            (destination / TIMESTAMP).write_text(f"{told}\n")
        source = self._format_source(assignment_id, student_id)
        names = self._names(assignment_id)
        self.notebooks = [str(Path(source, name + SUFFIX)) for name in names]

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Makes the autograded notebook, and writes its points to the gradebook."""
        resources = self.init_single_notebook_resources(notebook_filename)
        known = resources["nbgrader"]
        [submission] = [
            s
            for s in self._handed_in(known["assignment"], known["student"])
            if s.notebook == known["notebook"]
        ]
        verdicts = self._judged.get((known["student"], known["notebook"]), {})
        verdicts = {name: graded for name, graded in verdicts.items() if name}
        cells = _known_cells(known["db_url"], known["assignment"], known["notebook"])
        notebook, fault = _read(submission, verdicts)
        if fault is not None and fault.message_id == "replaced":
            self.log.error("%s %s: %s", known["student"], known["notebook"], fault)
        node = autograded(
            notebook,
            cells,
            verdicts,
            released=self._released(known["assignment"], known["notebook"]),
            note="" if fault is None else str(fault),
        )
        known[_VERDICTS] = verdicts
        known["cells"] = cells
        node.metadata[_VERDICTS] = digest(verdicts)
        destination = Path(self._format_dest(known["assignment"], known["student"]))
        before = self._before[destination / (known["notebook"] + SUFFIX)]
        named = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in node.cells}
        known["unchanged"] = {n for n, cell in named.items() if before.get(n) == cell.source}
        known["unanswered"] = {
            cell.name
            for cell in cells
            if (cell.written_answer and unanswered(cell, notebook))
            or (cell.name in verdicts and verdicts[cell.name].outcome == NOT_ATTEMPTED)
        }
        self._init_preprocessors()
        text, resources = self.exporter.from_notebook_node(node, resources)
        self.write_single_notebook(text, resources)

    def _init_preprocessors(self) -> None:
        """Both lists, one after the other: the notebook was made by us a moment ago."""
        self.exporter._preprocessors = []
        for step in (*self.sanitize_preprocessors, *self.autograde_preprocessors):
            self.exporter.register_preprocessor(step)

    def _released(self, assignment: str, notebook: str) -> list[str]:
        """The markdown that we released: it may hold HTML, and a student's may not."""
        texts: list[str] = []
        steps = self.coursedir.release_directory, self.coursedir.source_directory
        folders = [self.coursedir.format_path(step, ".", assignment) for step in steps]
        for folder in (*folders, ROOT / "notebooks"):  # the last one's have links to each other
            try:
                cells = parse(read_bytes(Path(folder, notebook + SUFFIX))).cells
            except Fault:
                continue
            texts += [cell.source for cell in cells if cell.kind == "markdown" and cell.source]
        return texts


def digest(verdicts: Mapping[str, Graded]) -> str:
    """Tells the verdicts that an autograded notebook shows from any others."""
    shown = sorted((n, v.outcome, v.points, v.message, v.content) for n, v in verdicts.items())
    return hashlib.sha256(repr(shown).encode()).hexdigest()


def _read(
    submission: Submission, verdicts: Mapping[str, Graded]
) -> tuple[Notebook | None, Fault | None]:
    """The notebook that these verdicts are on, or why it is not there."""
    try:
        if submission.fault is not None:
            raise submission.fault
        data = submission.data()
        judged = {graded.content for graded in verdicts.values()} - {""}
        if judged and hashlib.sha256(data).hexdigest() not in judged:
            raise Fault("replaced", file=clean(submission.path.name))
        return parse(data), None
    except Fault as fault:
        return None, fault


def _texts(path: Path) -> dict[str | None, str | None]:
    """The texts of an autograded notebook's cells by name; none where there is no notebook."""
    try:
        return {cell.grade_id: cell.source for cell in parse(read_bytes(path)).cells}
    except Fault:
        return {}


def _known_cells(db_url: str, assignment: str, notebook: str) -> list[KnownCell]:
    """What the gradebook knows of a notebook's cells."""
    with Gradebook(db_url) as book:
        entry = book.find_notebook(notebook, assignment)
        points = {cell.name: float(cell.max_score) for cell in entry.grade_cells}
        solutions = {cell.name for cell in entry.solution_cells}
        return [
            KnownCell(
                cell.name,
                cell.cell_type,
                cell.source or "",
                bool(cell.locked),
                cell.name in points,
                cell.name in solutions,
                points.get(cell.name),
                cell.checksum,
            )
            for cell in entry.source_cells
        ]


def _plain_files(root: Path, ignore: list[str]) -> Iterator[Path]:
    """Files that are no notebooks, links, devices or pages, together of a size for a few pictures.

    As paths below `root`; none of a folder that is not graded for what it holds.
    """
    found = tree(root, clean(root.name))
    left = MOST_COPIED_BYTES
    for file in found.files if found.fault is None else ():
        if any(is_ignored(part, ignore) for part in file.parts):
            continue
        if _runs(file.name):
            continue
        status = (root / file).lstat()
        left -= status.st_size
        if left >= 0 and stat.S_ISREG(status.st_mode):
            yield file


def is_ignored(filename: str, ignore_globs: list[str] | None = None) -> bool:
    """Whether a file's own name is one of those that a course leaves out.

    nbgrader's function looks the name up in its folder, whose own name may be a pattern: of a
    student's folder that took minutes, in `autograde` and in `generate_feedback`.
    """
    name = Path(filename).name
    return any(fnmatch.fnmatch(name, pattern) for pattern in ignore_globs or ())


def _runs(name: str) -> bool:
    """Whether a browser takes a file of this name for a page: the formgrader serves these files.

    Its server asks for the type of a path. A name alone may be read as an address: `data:,.html`.
    """
    kind = mimetypes.guess_type(f"/{name}")[0] or ""
    return kind.endswith(("html", "xml", "script")) or kind in ("application/pdf", "text/css")
