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

import glob
import os
import re
from pathlib import Path
from typing import Any

from nbgrader import utils
from nbgrader.converters.base import NbGraderException
from traitlets import Bool, Float, Integer, Unicode

from autograder import Refused
from autograder.grading import judging, lateness, pages, seeds, timestamps
from autograder.grading.class_list import enter_students, extensions_of_nobody
from autograder.grading.collect import of_student
from autograder.grading.folders import SUFFIX
from autograder.grading.names import clean
from autograder.grading.nbgrader_writer import Writer, is_ignored
from autograder.grading.opened import open_gradebook, prepare, require_gradebook, without_password
from autograder.grading.roster import class_roster
from autograder.grading.store import Store
from autograder.grading.submissions import Submission
from autograder.judge import overlay
from autograder.judge.judge import seed_id
from autograder.judge.pool import Limits, Pool
from autograder.judge.sentences import Fault
from autograder.lessons.catalogue import stem_of_notebook

_OTHER_NAME = (
    "%r is %r on the roster, and nbgrader goes by its folder's name: nothing of theirs is graded. "
    "`python -m autograder grade %s --gradebook %s` goes by the roster; or give its column "
    "`student` the folders' names."
)


class JudgedAutograde(Writer):
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
        help="A CSV with a column `student`; nobody else's work is graded. Empty: the one in your "
        "settings.toml, or else everybody's is.",
    ).tag(config=True)
    trust = Bool(
        False, help="Grade although this machine can put no wall around what was handed in."
    ).tag(config=True)
    jobs = Integer(os.cpu_count() or 1, help="Notebooks to judge at once.").tag(config=True)
    time_limit = Float(Limits.seconds, help="Seconds for one exercise.").tag(config=True)
    memory_limit = Integer(
        Limits.memory_bytes // 2**20, help="Megabytes for judging one notebook."
    ).tag(config=True)

    def start(self) -> None:
        """Grades what the command names."""
        prepare()
        try:
            require_gradebook(self.coursedir.db_url, self.coursedir.assignment_id, writes=True)
            overlay.use(seeds.chosen_folder(self.seed or None))
            self._roster = class_roster(Path(self.roster) if self.roster else None)
            self._store = Store(Path(self.coursedir.root) / self.grades_directory)
            seed = seeds.chosen_seed(self.seed or None, self._store)
            for sentence in seeds.guessable(seed):
                self.log.warning("%s", sentence)
            limits = Limits(self.time_limit, self.memory_limit * 2**20)
            with Pool(seed, self.jobs, limits, trust=self.trust) as self._pool:
                super().start()
        except Refused as error:
            self.log.error(str(error))
            raise NbGraderException(str(error)) from None  # the formgrader shows where from

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
        called = student if self._roster is None else self._roster.called(student)
        if called is None:
            self.log.error("%r is not on the roster: nothing of theirs is graded", student)
        elif called != student:
            url = without_password(self.coursedir.db_url)
            self.log.error(_OTHER_NAME, student, called, Path(folder).parent.parent, url)
        return called == student

    def convert_notebooks(self) -> None:
        """Judges all that is due side by side, then writes it down one by one."""
        due = []
        for folder in sorted(self.assignments):
            assignment, student = self._whose(folder)
            if self._is_due(assignment, student):
                self._due.add((assignment, student))
                handed_in = self._handed_in(assignment, student)
                due += [submission for submission in handed_in if submission.stem is not None]
        self._told_class()
        run = judging.Run()
        try:
            for graded in judging.judge_all(due, self._store, self._pool, run, regrade=self.force):
                whose = graded.student, graded.notebook
                self._judged.setdefault(whose, {})[graded.exercise] = graded
            self.log.info("%d verdicts, %d of them known from before", run.done, run.known)
            for sentence in judging.judges_failures(run.failed):
                self.log.error("%s", sentence)
            super().convert_notebooks()
        finally:
            if run.done:
                judging.summarise(self._store, seed_id(self._pool.seed))
                self.log.info("The class report: %s", self._store.out / "report.html")

    def _told_class(self) -> None:
        """The roster is the gradebook's class; an extension of nobody is said."""
        with open_gradebook(self.coursedir.db_url) as book:
            enter_students(book, self._roster.students if self._roster else ())
            known = {student.id for student in book.students} | {*self._store.students()}
        known |= {self._whose(folder)[1] for folder in self.assignments}
        for sentence in extensions_of_nobody(known):
            self.log.warning("%s", sentence)

    def _whose(self, folder: str) -> tuple[str, str]:
        pattern = self._format_source("(?P<assignment>.*)", "(?P<student>.*)", escape=True)
        match = re.match(pattern, folder)
        if match is None:
            raise NbGraderException(f"Could not match {folder!r} with {pattern!r}")
        return match["assignment"], match["student"]

    def _handed_in(self, assignment: str, student: str) -> list[Submission]:
        folder = self._format_source(assignment, student)
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
            submissions.append(Submission(student, name, stem, path, fault, root=Path(folder)))
        return submissions

    def _is_due(self, assignment: str, student: str) -> bool:
        """Whether to grade this submission: also with --force, and where the judge failed."""
        if student in self.coursedir.student_id_exclude.split(","):
            return False
        return (
            super()._is_due(assignment, student)
            or self.force
            or any(self._store.failed(student, name) for name in self._names(assignment))
        )


def configure(c: Any) -> None:
    """Makes every nbgrader command of this course use our converter.

    nbgrader names its converter in its code and not in its settings, so it is replaced there;
    the settings of `c.Autograde` hold for ours, and `c.JudgedAutograde` has its own.
    """
    import nbgrader.apps.api
    import nbgrader.apps.autogradeapp
    import nbgrader.converters

    prepare()
    utils.is_ignored = is_ignored
    c.ExportApp.plugin_class = "autograder.grading.export.Export"
    pages.install()
    timestamps.install()
    lateness.install()
    for module in (nbgrader.apps.autogradeapp, nbgrader.apps.api, nbgrader.converters):
        module.Autograde = JudgedAutograde
    # even where nbgrader's own converter were to run, nothing is executed and nothing passes
    for name in ("sanitize_preprocessors", "autograde_preprocessors"):
        steps = getattr(JudgedAutograde, name).default()
        # as names: the formgrader shows its settings as JSON
        setattr(c.Autograde, name, [f"{step.__module__}.{step.__name__}" for step in steps])
