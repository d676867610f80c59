"""nbgrader with our judge where its Execute and SaveAutoGrades stood.

`configure(c)` in nbgrader_config.py puts `JudgedAutograde` in the place of nbgrader's Autograde,
for `nbgrader autograde` and for the formgrader. It never executes a notebook: it judges the
solution cells in a process of its own, writes the points of the verdicts to the gradebook, and
makes the autograded notebook anew from our cells and the student's text. A submission that
cannot be read gets a verdict and zero, and the class goes on.

`generate_feedback`, manual grading of written answers, late penalties and the rest of nbgrader
are untouched.
"""

from __future__ import annotations

import fnmatch
import glob
import mimetypes
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbformat.notebooknode import NotebookNode
from nbgrader import utils
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
)
from traitlets import Bool, Float, Integer, List, Unicode

from autograder.grading import judging, pages, seeds, timestamps
from autograder.grading.autograded import KnownCell, autograded, unanswered
from autograder.grading.collect import of_student
from autograder.grading.folders import SUFFIX, tree
from autograder.grading.gradebook import prepare, save_points
from autograder.grading.names import clean
from autograder.grading.roster import Roster, RosterError, read_roster
from autograder.grading.store import Store, StoreError
from autograder.grading.submissions import Notebook, Submission, parse, read_bytes
from autograder.grading.timestamps import timestamp
from autograder.judge import overlay
from autograder.judge.judge import Graded, seed_id
from autograder.judge.overlay import OverlayError
from autograder.judge.pool import JudgeError, Limits, Pool
from autograder.judge.private import PrivateError
from autograder.judge.sentences import Fault
from autograder.lessons.catalogue import stem_of_notebook

_VERDICTS = "verdicts"
#: What is copied of a submission beside its notebooks: pictures for a written answer.
MOST_COPIED_BYTES = 50 * 2**20


_REFUSED = (StoreError, JudgeError, seeds.UsageError, RosterError, PrivateError, OverlayError)


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
            for name in save_points(book, whose[1], whose[0], whose[2], points):
                self.log.warning("The gradebook has no cell %s: generate the assignment", name)
            for cell in known["cells"]:
                judged = cell.name.removesuffix("_check") in points
                if cell.grade and not judged:
                    _by_hand(book, cell, whose, cell.name in known["unanswered"])
                if cell.solution:
                    comment = book.find_comment(cell.name, *whose)
                    empty = cell.name in known["unanswered"]
                    comment.auto_comment = "No response." if empty else None
            book.db.commit()
        return nb, resources


def _by_hand(book: Any, cell: KnownCell, whose: tuple[str, str, str], empty: bool) -> None:
    """A cell that no judge knows: a written answer, a test of an instructor's own.

    One that is worth nothing and asks for no answer belongs to an exercise outside the unit.
    """
    grade_ = book.find_grade(cell.name, *whose)
    worthless = not cell.solution and not grade_.max_score
    grade_.auto_score = 0.0 if worthless or (empty and cell.solution) else None
    grade_.needs_manual_grade = grade_.manual_score is not None or grade_.auto_score is None


class JudgedAutograde(Autograde):
    """nbgrader's Autograde, with verdicts in the place of executed tests."""

    grades_directory = Unicode(
        "grades", help="Where verdicts and the report go, below the course's folder."
    ).tag(config=True)
    seed = Unicode(
        "",
        help="A folder that `init` made (its settings hold too), a file with a seed, or value: and "
        "the seed itself; empty: the folder that `init` makes by default, or else a seed made in "
        "grades_directory.",
    ).tag(config=True)
    roster = Unicode(
        "",
        help="A CSV with a column `student`; nobody else's work is graded. Empty: everybody's is.",
    ).tag(config=True)
    trust = Bool(
        False, help="Grade although this machine can put no wall around what was handed in."
    ).tag(config=True)
    jobs = Integer(os.cpu_count() or 1, help="Notebooks to judge at once.").tag(config=True)
    time_limit = Float(Limits.seconds, help="Seconds for one exercise.").tag(config=True)
    memory_limit = Integer(
        Limits.memory_bytes // 2**20, help="Megabytes for judging one notebook."
    ).tag(config=True)
    sanitize_preprocessors = List([OverwriteKernelspec, OverwriteCells]).tag(config=True)
    autograde_preprocessors = List([SaveVerdicts, AssignLatePenalties, CheckCellMetadata]).tag(
        config=True
    )

    def start(self) -> None:
        """Grades what the command names."""
        prepare()
        self._asked: dict[str, list[str]] = {}
        try:
            self._roster: Roster | None = read_roster(Path(self.roster)) if self.roster else None
            self._store = Store(Path(self.coursedir.root) / self.grades_directory)
            seed = seeds.chosen_seed(self.seed or None, self._store)
            overlay.use(seeds.chosen_folder(self.seed or None))
            limits = Limits(self.time_limit, self.memory_limit * 2**20)
            with Pool(seed, self.jobs, limits, trust=self.trust) as self._pool:
                super().start()
        except _REFUSED as error:
            self.log.error(str(error))
            raise NbGraderException(str(error)) from error

    def init_notebooks(self) -> None:
        """Every student's folder of the assignment, also one without a notebook."""
        pattern = self._format_source(self.coursedir.assignment_id, self.coursedir.student_id)
        matched = glob.glob(pattern)  # noqa: PTH207  (nbgrader's patterns are absolute or not)
        folders = [f for f in matched if Path(f).is_dir() and self._has_a_name(f)]
        if not folders:
            super().init_notebooks()  # says so, and what was meant
        no_names: list[str] = []
        self.notebooks = no_names
        self.assignments = dict.fromkeys(folders, no_names)

    def _has_a_name(self, folder: str) -> bool:
        """Whether nbgrader can read a student's name off a folder: one is not to stop the rest."""
        try:
            _, student = self._whose(folder)
            student.encode()
        except (NbGraderException, UnicodeEncodeError):
            self.log.error("%r is no name that a student can have: rename the folder", folder)
            return False
        if self._roster is not None and self._roster.called(student) is None:
            self.log.error("%r is not on the roster: nothing of theirs is graded", student)
            return False
        return True

    def convert_notebooks(self) -> None:
        """Judges all that is due side by side, then writes it down one by one."""
        self._judged: dict[tuple[str, str], dict[str, Graded]] = {}
        self._due: set[tuple[str, str]] = set()
        due = []
        for folder in sorted(self.assignments):
            assignment, student = self._whose(folder)
            if self._is_due(assignment, student):
                self._due.add((assignment, student))
                handed_in = self._handed_in(folder, assignment, student)
                due += [submission for submission in handed_in if submission.stem is not None]
        run = judging.Run()
        try:
            for graded in judging.judge_all(due, self._store, self._pool, run, regrade=self.force):
                whose = graded.student, graded.notebook
                self._judged.setdefault(whose, {})[graded.exercise] = graded
            self.log.info("%d verdicts, %d of them known from before", len(run.rows), run.known)
            for sentence in judging.judges_failures(run.rows):
                self.log.error("%s", sentence)
            super().convert_notebooks()
        finally:
            if run.rows:
                judging.summarise(self._store, seed_id(self._pool.seed))
                self.log.info("The class report: %s", self._store.out / "report.html")

    def _whose(self, folder: str) -> tuple[str, str]:
        pattern = self._format_source("(?P<assignment>.*)", "(?P<student>.*)", escape=True)
        match = re.match(pattern, folder)
        if match is None:
            raise NbGraderException(f"Could not match {folder!r} with {pattern!r}")
        return match["assignment"], match["student"]

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
                    f"Run `nbgrader generate_assignment {assignment} --force` first."
                )
                self.log.error(message)
                raise NbGraderException(message) from error
        self._asked[assignment] = sorted(fnmatch.filter(names, self.coursedir.notebook_id))
        return self._asked[assignment]

    def _handed_in(self, folder: str, assignment: str, student: str) -> list[Submission]:
        """A submission for each notebook of the assignment, with a fault where there is none."""
        whole = of_student(Path(folder), clean(student))
        found = {s.notebook: s for s in whole}
        whole_fault = next((s.fault for s in whole if s.path == Path(folder)), None)
        submissions = []
        for name in self._names(assignment):
            submission = found.get(name)
            stem = stem_of_notebook(name)
            fault = submission.fault if submission is not None else None
            path = submission.path if submission is not None else Path(folder, name + SUFFIX)
            links = [p.name for p in (Path(folder).parent, Path(folder)) if p.is_symlink()]
            if links:
                fault = Fault("link", file=clean(links[0]))
            elif whole_fault is not None and whole_fault.message_id != "no_notebook":
                fault = whole_fault
            elif submission is None or submission.path == Path(folder):
                others = next((f", only {clean(s.path.name)}" for s in whole if not s.fault), "")
                only = others if whole_fault is None else whole_fault.fields["found"]
                named = f" named {name}{SUFFIX}{only}"
                fault = Fault("no_notebook", folder=clean(student), found=named)
            submissions.append(Submission(student, name, stem, path, fault))
        return submissions

    def _is_due(self, assignment: str, student: str) -> bool:
        """Whether to grade this submission: not yet, --force, handed in again, the judge failed."""
        if student in self.coursedir.student_id_exclude.split(","):
            return False
        destination = Path(self._format_dest(assignment, student))
        if self.force or not destination.exists():
            return True
        names = self._names(assignment)
        if any(not (destination / (name + SUFFIX)).exists() for name in names):
            return True
        if any(self._store.failed(student, name) for name in names):
            return True
        handed_in = timestamp(Path(self._format_source(assignment, student)), self.log)
        graded = timestamp(destination, self.log)
        return handed_in is not None and graded is not None and handed_in > graded

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Makes room for what is due."""
        if (assignment_id, student_id) not in self._due:
            self.log.info("Skipping %s of %s: it is graded", assignment_id, student_id)
            return False
        destination = Path(self._format_dest(assignment_id, student_id))
        if self.coursedir.notebook_id == "*" and destination.exists():
            utils.rmtree(str(destination))
        for name in self._names(assignment_id):
            (destination / (name + SUFFIX)).unlink(missing_ok=True)
        return True

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Enters the submission in the gradebook, and puts other files beside the notebooks."""
        source = self._format_source(assignment_id, student_id)
        when = timestamp(Path(source), self.log)
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            if self.create_student:
                book.update_or_create_student(student_id)
            else:
                book.find_student(student_id)
            more = {} if when is None else {"timestamp": when}
            submission = book.update_or_create_submission(assignment_id, student_id, **more)
            if when is not None and submission.total_seconds_late > 0:
                self.log.warning("%s is %s seconds late", submission, submission.total_seconds_late)
        destination = Path(self._format_dest(assignment_id, student_id))
        destination.mkdir(parents=True, exist_ok=True)
        ours = self.coursedir.format_path(self.coursedir.source_directory, ".", assignment_id)
        for root in (source, ours):
            for file in _plain_files(Path(root), self.coursedir.ignore):
                path = destination / file
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.unlink(missing_ok=True)
                    shutil.copy(Path(root, file), path, follow_symlinks=False)
                except OSError as error:  # a folder where a file is to be, a name too long
                    self.log.warning("%r was not copied: %s", str(file), error.strerror)
        names = self._names(assignment_id)
        self.notebooks = [str(Path(source, name + SUFFIX)) for name in names]

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Makes the autograded notebook, and writes its points to the gradebook."""
        resources = self.init_single_notebook_resources(notebook_filename)
        known = resources["nbgrader"]
        folder = str(Path(notebook_filename).parent)
        [submission] = [
            s
            for s in self._handed_in(folder, known["assignment"], known["student"])
            if s.notebook == known["notebook"]
        ]
        verdicts = self._judged.get((known["student"], known["notebook"]), {})
        verdicts = {name: graded for name, graded in verdicts.items() if name}
        cells = _known_cells(known["db_url"], known["assignment"], known["notebook"])
        notebook, fault = _read(submission)
        node = autograded(
            notebook,
            cells,
            verdicts,
            released=self._released(known["assignment"], known["notebook"]),
            note="" if fault is None else str(fault),
        )
        known[_VERDICTS] = verdicts
        known["cells"] = cells
        known["unanswered"] = {
            cell.name
            for cell in cells
            if (cell.written_answer and unanswered(cell, notebook))
            or (_outcome(verdicts, cell.name) == "NOT_ATTEMPTED")
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
        for step in (self.coursedir.release_directory, self.coursedir.source_directory):
            path = Path(self.coursedir.format_path(step, ".", assignment), notebook + SUFFIX)
            try:
                cells = parse(read_bytes(path)).cells
            except Fault:
                continue
            texts += [cell.source for cell in cells if cell.kind == "markdown" and cell.source]
        return texts


def _outcome(verdicts: dict[str, Graded], exercise: str) -> str | None:
    return verdicts[exercise].outcome if exercise in verdicts else None


def _read(submission: Submission) -> tuple[Notebook | None, Fault | None]:
    try:
        if submission.fault is not None:
            raise submission.fault
        return parse(read_bytes(submission.path)), None
    except Fault as fault:
        return None, fault


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
        if any(utils.is_ignored(str(root / part), ignore) for part in (file, *file.parents)):
            continue
        if _runs(file.name):
            continue
        status = (root / file).lstat()
        left -= status.st_size
        if left >= 0 and stat.S_ISREG(status.st_mode):
            yield file


def _runs(name: str) -> bool:
    """Whether a browser takes a file of this name for a page: the formgrader serves these files."""
    kind = mimetypes.guess_type(name)[0] or ""
    return kind.endswith(("html", "xml", "script")) or kind in ("application/pdf", "text/css")


def configure(c: Any) -> None:
    """Makes every nbgrader command of this course use our converter.

    nbgrader names its converter in its code and not in its settings, so it is replaced there;
    the settings of `c.Autograde` hold for ours, and `c.JudgedAutograde` has its own.
    """
    import nbgrader.apps.api
    import nbgrader.apps.autogradeapp
    import nbgrader.converters

    prepare()
    c.ExportApp.plugin_class = "autograder.grading.export.Export"
    pages.install()
    timestamps.install()
    for module in (nbgrader.apps.autogradeapp, nbgrader.apps.api, nbgrader.converters):
        module.Autograde = JudgedAutograde
    # even where nbgrader's own converter were to run, nothing is executed and nothing passes
    for name in ("sanitize_preprocessors", "autograde_preprocessors"):
        steps = getattr(JudgedAutograde, name).default()
        # as names: the formgrader shows its settings as JSON
        setattr(c.Autograde, name, [f"{step.__module__}.{step.__name__}" for step in steps])
