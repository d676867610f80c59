"""What a grader remembers of a class: little, however large the class is."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from autograder.grading import judging, report_pages
from autograder.grading.dry_run import DryStore
from autograder.grading.judging import Run, judge_all
from autograder.grading.store import Store
from autograder.grading.submissions import Submission
from autograder.judge.judge import result
from autograder.judge.pool import Answer, Limits, Task, graded
from autograder.lessons.catalogue import lesson_exercises
from autograder.tests import fakes
from autograder.tests.graders import enter
from autograder.tests.notebooks import EXERCISES, LESSON, put, solved

#: By submission of five exercises: 2,700 bytes where a run kept its verdicts, 90 without.
MOST_BYTES_EACH = 1200
#: By verdict: 3,800 bytes where tables were whole texts, and each row had texts of its own; 1,000
#: without.
MOST_BYTES_SUMMED_UP = 1800


class Judges:
    """The fake check, in this process."""

    seed, check, limits = b"seed", fakes.CHECK, Limits()

    def run(self, tasks: Iterable[Task]) -> Iterator[Answer]:
        said = {
            exercise.name: result(exercise, fakes.check(exercise, "PASS", None, 0))
            for exercise in lesson_exercises("threads")
        }
        for task in tasks:
            for name in task.exercises or ():
                yield Answer(task, graded(task.submission, task.data, said[name], self))


@pytest.fixture(autouse=True)
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def held_bytes() -> int:
    gc.collect()  # what nobody holds any longer is not remembered
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.slow
def test_a_run_grows_by_little_for_each_submission(tmp_path: Path) -> None:
    path = put(tmp_path / "01_threads.ipynb", solved())
    names = [f"s{number:03}" for number in range(160)]
    submissions = [Submission(name, LESSON, "threads", path) for name in names]
    held = []
    for done, _ in enumerate(judge_all(submissions, DryStore(tmp_path / "out"), Judges(), Run())):
        if done in [count * len(EXERCISES) for count in (60, 90, 120, 150)]:
            held.append(held_bytes())
    # Python's table of names may double in one of the three; what is kept of each is in all
    grown = [(after - before) / 30 for before, after in pairwise(held)]
    assert len(grown) == 3
    assert median(grown) < MOST_BYTES_EACH


@pytest.mark.slow
def test_what_sums_up_a_class_grows_by_little_for_each_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_pages, "MOST_ON_ONE_PAGE", 0)
    peaks = [_peak_of_a_summary(tmp_path / str(count), count) for count in (10, 20, 80)]
    assert (peaks[2] - peaks[1]) / (60 * len(EXERCISES)) < MOST_BYTES_SUMMED_UP


def _peak_of_a_summary(out: Path, students: int) -> int:
    kept = Store(out)
    names = (f"s{number:03}" for number in range(students))
    tasks = (
        Task(Submission(name, LESSON, "threads", out), name.encode(), [*EXERCISES])
        for name in names
    )
    answers = Judges().run(tasks)
    enter(kept.ledger, (answer.graded for answer in answers if answer.graded))
    tracemalloc.reset_peak()
    before = held_bytes()
    judging.summarise(kept, "shown")
    return tracemalloc.get_traced_memory()[1] - before
