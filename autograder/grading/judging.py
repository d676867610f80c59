"""From submissions to verdicts that are kept: what is known, what is left, who is at work on it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from autograder.grading.database import SUMMARY
from autograder.grading.names import few
from autograder.grading.store import Store, as_csv, as_json, as_json_lines
from autograder.grading.submissions import Submission
from autograder.grading.waiting import Waiting
from autograder.judge.judge import Graded
from autograder.judge.pool import Judges, Task, key_of, not_judged
from autograder.judge.sentences import HELD, JUDGED_AGAIN, Fault
from autograder.lessons.catalogue import lesson_exercises, lesson_name
from course.plain.text import counted

#: Between looks at what another run is at work on.
_LOOK_SECONDS = 0.2
#: Verdicts with their panels that wait in memory while others are judged.
_MOST_READY = 256
#: Verdicts, each with the one that was looked up for just this work.
_Ready = list[tuple[Graded, Graded | None]]


@dataclass
class Run:
    """What a run did, and what it could not do. Its verdicts are in the store, and not here.

    Attributes:
        fresh: (student, notebook) of those with a new verdict.
        done: verdicts so far: `judged` ones, and those `known` from before.
        failed: of these the ones that say something of the judge and not of an answer.
    """

    submissions: Sequence[Submission] = ()
    fresh: set[tuple[str, str]] = field(default_factory=set)
    judged: int = 0
    known: int = 0
    expected: int = 0
    done: int = 0
    failed: list[Graded] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def among(self, rows: Iterable[Graded]) -> list[Graded]:
        """Of a folder's verdicts those on what this run was given."""
        asked = {(one.student, one.notebook): exercises_of(one) for one in self.submissions}
        return [
            row
            for row in rows
            if (names := asked.get((row.student, row.notebook))) is not None
            and (row.exercise in names or not row.exercise)
        ]


def judge_all(
    submissions: Sequence[Submission], store: Store, pool: Judges, run: Run, regrade: bool = False
) -> Iterator[Graded]:
    """A verdict on every exercise of these submissions, kept in `store` as it comes."""
    run.submissions = submissions
    counting = {(one.student, one.notebook): exercises_of(one) for one in submissions}
    store.forget_uncounted({whose: names for whose, names in counting.items() if names})
    run.expected += sum(len(exercises_of(submission)) or 1 for submission in submissions)
    ready: _Ready = []
    left = list(submissions)
    waiting = Waiting()
    while left:
        elsewhere: list[Submission] = []
        looked_up = _tasks(left, store, pool, regrade, ready, elsewhere)
        try:
            for first in looked_up:
                yield from _kept(ready, store, run)
                if first is None:
                    continue
                for answer in pool.run(chain([first], _some_of(looked_up, ready))):
                    yield from _kept(ready, store, run)
                    if answer.graded is not None:
                        yield from _kept([(answer.graded, None)], store, run, new=True)
                yield from _kept(ready, store, run)
        finally:
            store.release()  # before it waits: the other one may be waiting for these
        if len(elsewhere) == len(left):
            count = counted(len(left), "notebook")
            waiting.on(f"{count} that another grader is at work on ({store.held_by()})")
            time.sleep(_LOOK_SECONDS)
        else:
            waiting.over()
        left = elsewhere


def _some_of(looked_up: Iterator[Task | None], ready: _Ready) -> Iterator[Task]:
    """Tasks, until so many verdicts are ready that these go first."""
    for task in looked_up:
        if task is not None:
            yield task
        if len(ready) >= _MOST_READY:
            return


def _kept(ready: _Ready, store: Store, run: Run, new: bool = False) -> Iterator[Graded]:
    while ready:
        graded, there = ready.pop(0)
        whose = graded.student, graded.notebook, graded.exercise
        if new or (graded != there and store.known(*whose, graded.key) != graded):
            store.keep(graded)
            run.judged += 1
            run.fresh.add((graded.student, graded.notebook))
        else:
            run.known += 1
        run.done += 1
        if graded.message_id in JUDGED_AGAIN:
            run.failed.append(replace(graded, panel="", text=""))  # nearly all of its bytes
        yield graded


def exercises_of(submission: Submission) -> list[str]:
    """The exercises of a submission's lesson; none where that is not known."""
    if submission.stem is None:
        return []
    return [exercise.name for exercise in lesson_exercises(submission.stem)]


def with_lessons(submissions: Iterable[Submission], pool: Judges) -> Iterator[Submission]:
    """The submissions, with the lesson of those whose names do not tell, read from their cells."""
    unreadable: list[Submission] = []
    unknown: list[Submission] = []
    for submission in submissions:
        if submission.stem is not None or submission.fault is not None:
            yield submission
        else:
            unknown.append(submission)

    def tasks() -> Iterator[Task]:
        for submission in unknown:
            try:
                yield Task(submission, submission.data(), None)
            except Fault as fault:
                unreadable.append(replace(submission, fault=fault))

    for answer in pool.run(tasks()):
        submission = answer.task.submission
        if answer.stem is not None:
            yield replace(submission, stem=answer.stem, notebook=lesson_name(answer.stem))
        else:
            yield replace(submission, fault=answer.fault or Fault("no_graded_cells"))
    yield from unreadable


def _tasks(
    submissions: Iterable[Submission],
    store: Store,
    pool: Judges,
    regrade: bool,
    ready: _Ready,
    elsewhere: list[Submission],
) -> Iterator[Task | None]:
    """What is left to judge; verdicts that need no judging, or are there already, to `ready`.

    Where nothing of a submission is left, None. What another run is at work on goes to
    `elsewhere`: to be looked at again.
    """
    for submission in submissions:
        names = exercises_of(submission)
        try:
            if submission.fault is not None:
                raise submission.fault
            if not names:
                raise Fault("no_such_exercises", notebook=submission.notebook)
            data = submission.data()
        except Fault as fault:
            rows = not_judged(submission, names, fault, pool)
            ready += [(_or_earlier(row, store), None) for row in rows]
            yield None
            continue
        keys = {name: key_of(data, name, pool) for name in names}
        asked = store, pool, submission, keys, regrade
        known = _known(*asked)
        if len(known) < len(names):
            if not store.claim(submission):
                elsewhere.append(submission)
                continue
            known = _known(*asked)  # the run that had it may have come to an end since
        marks = submission.marks()
        ready += [(replace(known[n], **marks), known[n]) for n in names if n in known]
        left = [name for name in names if name not in known]
        yield Task(submission, data, left) if left else None


def _known(
    store: Store, pool: Judges, submission: Submission, keys: Mapping[str, str], regrade: bool
) -> dict[str, Graded]:
    """The verdicts that need no judging: not those that await the GPU that is here."""
    known = store.all_known(submission.student, submission.notebook, keys, regrade)
    return {n: row for n, row in known.items() if not (row.awaits_gpu and pool.times(n))}


def without_gpu(rows: Iterable[Graded]) -> Iterator[str]:
    """For each GPU on which answers are still to be timed, how many and what to do."""
    for gpu, count in Counter(row.awaits_gpu for row in rows if row.awaits_gpu).items():
        await_it = "answer awaits" if count == 1 else "answers await"
        yield (
            f"{count} {await_it} a GPU ({gpu}) for the bands of your settings.toml: the points are "
            "the engine's so far. The same command on a machine with that GPU times these alone; "
            "on a cluster whose workers have it, --regrade does."
        )


def _or_earlier(row: Graded, store: Store) -> Graded:
    """A verdict; where it says nothing of the work, the one that was there before it."""
    earlier = store.last(row.student, row.notebook, row.exercise)
    return earlier if row.message_id in HELD | JUDGED_AGAIN and earlier is not None else row


def summarise(store: Store, shown_seed: str) -> list[Graded]:
    """Writes what sums up the whole folder, and gives its verdicts, without their panels."""
    from autograder.grading.report_pages import Class, write_report

    with store.summarising():
        known = Class(store)
        rows = known.rows
        store.write(SUMMARY, as_json(rows))
        store.write("verdicts.jsonl", as_json_lines(rows))
        store.write("verdicts.csv", as_csv(rows))
        write_report(known, shown_seed)
    return rows


def judges_failures(failed: Sequence[Graded]) -> list[str]:
    """A sentence where the judge or the machine failed on some: their zeros are no grades."""
    from autograder.grading.table import plain

    if not failed:
        return []
    names = few([f"{row.student} {row.exercise}" for row in failed])
    count = "1 answer" if len(failed) == 1 else f"{len(failed)} answers"
    return [
        plain(
            f"The judge failed on {count}: {names}. What it said of the first: "
            f"{failed[0].message} The zeros say nothing about the answers, and the same command "
            "judges them again."
        )
    ]
