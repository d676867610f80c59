"""`python -m autograder.proof.class_sizes [SIZE...]`: what a class costs, by its size.

Grades classes of so many students who each hand in the solutions of one lesson, as `grade` does it
on all cores: how long, whether the rate holds from the first tenth to the last, and what memory the
grader and its largest worker take. Of the largest class come the costs of a model, which says what
1 to 1,000 workers would take. `--out` writes the figures, and beside them a plot.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

import nbformat

from autograder.grading.ledger import Ledger
from autograder.lessons.build import instructor_notebook, read_lessons
from autograder.lessons.catalogue import ROOT
from autograder.lessons.source import Lesson
from autograder.sandbox.limits import children, processor_seconds
from course.figures.picture import FAINT_INK, LINE_STYLES, MARKERS, SERIES, Picture, plot

SIZES = (10, 100, 1_000, 10_000)
LESSON = "02_coalescing"
#: What the model is asked for: students of a large course, and workers.
STUDENTS = 20_000
WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
#: The ledger's times are whole seconds.
FEWEST_RATED, TENTHS = 1_000, 10
SAMPLE_SECONDS = 0.2
SEED = "nobody's, of a bench"
MB = 1e6


@dataclass(frozen=True)
class Taken:
    """What `grade` took for one class.

    Attributes:
        seconds: from its start to the report; `judging_s` to the last verdict of it.
        grader_s, workers_s: of the processor; the grader writes ledger and report.
        rates: notebooks a minute in each tenth of the judging; none of a small class.
        grader_bytes, worker_bytes: the most memory of the grader, and of the largest other process.
    """

    lessons: tuple[str, ...]
    students: int
    cores: int
    seconds: float
    judging_s: float
    grader_s: float
    workers_s: float
    rates: tuple[float, ...]
    grader_bytes: int
    worker_bytes: int

    @property
    def notebooks(self) -> int:
        return self.students * len(self.lessons)

    @property
    def a_minute(self) -> float:
        """Notebooks, from start to report."""
        return 60 * self.notebooks / self.seconds


@dataclass(frozen=True)
class Model:
    """What a class takes: `start_s` once, and of each notebook `task_s` on any worker, `serial_s`
    of the one process that hands it out and keeps its verdicts, and `report_s` behind all of them.
    """

    start_s: float
    task_s: float
    serial_s: float
    report_s: float

    def seconds(self, notebooks: int, workers: int, cores: int | None = None) -> float:
        """On workers of their own, or on so many cores that they share with the grader."""
        each = max(self.task_s / workers, self.serial_s)
        if cores is not None:
            each = max(each, (self.task_s + self.serial_s) / cores)
        return self.start_s + notebooks * (each + self.report_s)

    @property
    def most_workers(self) -> float:
        """With more than so many it is the one process that all wait for."""
        return self.task_s / self.serial_s


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each class and a table of the model."""
    parser = argparse.ArgumentParser(
        prog="python -m autograder.proof.class_sizes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, metavar="SIZE")
    parser.add_argument("--lesson", default=LESSON, help=f"default: {LESSON}")
    parser.add_argument("--out", type=Path, metavar="FILE", help="docs/class_sizes.json")
    args = parser.parse_args(arguments)
    lessons = {lesson.name: lesson for lesson in read_lessons(ROOT) if lesson.exercises}
    if args.lesson not in lessons:
        parser.error(f"there is no lesson {args.lesson}; there are {', '.join(lessons)}")
    if len(args.sizes) < 2 or min(args.sizes) < 1:
        parser.error("two sizes or more are wanted, each a class of one or more")
    if args.out is not None and not args.out.parent.is_dir():
        parser.error(f"--out {args.out}: there is no folder {args.out.parent}; make it first")
    taken = []
    for size in sorted(args.sizes):
        taken.append(grade([lessons[args.lesson]], size))
        print(_line(taken[-1]), flush=True)
    model = model_of(taken[0], taken[-1])
    for workers in WORKERS:
        minutes = model.seconds(STUDENTS, workers) / 60
        print(f"{STUDENTS:,} students, {workers:5,} workers: {minutes:7.1f} minutes (model)")
    if args.out is not None:
        today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        given = " ".join(sys.argv[1:] if arguments is None else arguments)
        figures = {
            "command": f"python -m autograder.proof.class_sizes {given}".strip(),
            "date": today,
            "classes": [asdict(one) for one in taken],
            "model": {**asdict(model), "most_workers": model.most_workers},
        }
        args.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        args.out.with_suffix(".svg").write_text(picture(taken, model).svg, encoding="utf-8")
    return 0


def grade(lessons: Sequence[Lesson], students: int) -> Taken:
    """Grades a class that hands in the solutions, as an instructor would.

    Raises:
        ArithmeticError: where it does not end with a verdict on each notebook.
    """
    with tempfile.TemporaryDirectory() as folder:
        for lesson in lessons:
            _hand_in(lesson, students, Path(folder, "class"))
        words = [f"{folder}/class", "--out", f"{folder}/grades", "--seed", f"value:{SEED}"]
        command = [sys.executable, "-m", "autograder", "grade", *words]
        begun, begun_at = time.perf_counter(), time.time()
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
            grader_s, workers_s, grader_bytes, worker_bytes = _watched(process)
        seconds = time.perf_counter() - begun
        if process.returncode != 0:
            raise ArithmeticError(f"`grade` ended with status {process.returncode}")
        ledger = Ledger(Path(folder, "grades"))
        last = {(row["student"], row["notebook"]): row["time"] for row in ledger.rows()}
        ledger.close()
    if len(last) != students * len(lessons):
        raise ArithmeticError(f"{len(last)} of {students * len(lessons)} notebooks have a verdict")
    ends = sorted(datetime.datetime.fromisoformat(one).timestamp() for one in last.values())
    return Taken(
        tuple(lesson.name for lesson in lessons),
        students,
        len(os.sched_getaffinity(0)),
        seconds,
        max(ends[-1] - begun_at, 0.0),
        grader_s,
        workers_s,
        _rates([begun_at, *ends]) if students >= FEWEST_RATED else (),
        grader_bytes,
        worker_bytes,
    )


def _hand_in(lesson: Lesson, students: int, folder: Path) -> None:
    """Each student's notebook differs in a comment of each solution."""
    for number in range(students):
        name = f"s{number:05}"
        own = instructor_notebook(lesson)
        for cell in own.cells:
            if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source += f"\n# of {name}"
        path = folder / name / f"{lesson.name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(nbformat.writes(own), encoding="utf-8")


def _rates(times: Sequence[float]) -> tuple[float, ...]:
    """Notebooks a minute, of each tenth of them; the first time is when it began."""
    bounds = [round(n * (len(times) - 1) / TENTHS) for n in range(TENTHS + 1)]
    return tuple(60 * (b - a) / max(times[b] - times[a], 1.0) for a, b in pairwise(bounds))


def _watched(process: subprocess.Popen[bytes]) -> tuple[float, float, int, int]:
    """(processor seconds of a process, of those below it, the most memory of it, of one of them).

    It is looked at until it ends.
    """
    own_s, other_s, own_bytes, other_bytes = 0.0, 0.0, 0, 0
    while process.poll() is None:
        told = _told(process.pid, "stat").rpartition(")")[2].split()
        if told:
            own_s = sum(map(int, told[11:13])) / os.sysconf("SC_CLK_TCK")
        other_s = max(other_s, processor_seconds(process.pid))
        own_bytes = max(own_bytes, _peak(process.pid))
        below = children(process.pid)
        while below:
            one = below.pop()
            below += children(one)
            other_bytes = max(other_bytes, _peak(one))
        time.sleep(SAMPLE_SECONDS)
    return own_s, other_s, own_bytes, other_bytes


def _peak(process: int) -> int:
    """The most memory that a process had, in bytes; 0 of one that has ended."""
    lines = _told(process, "status").splitlines()
    return 1024 * next((int(line.split()[1]) for line in lines if "VmHWM" in line), 0)


def _told(process: int, name: str) -> str:
    """What the system tells of a process; nothing of one that has ended."""
    try:
        return Path(f"/proc/{process}/{name}").read_text()
    except OSError:
        return ""


def model_of(small: Taken, large: Taken) -> Model:
    """The costs of a notebook from what the larger class took more, and the rest paid once."""
    more = large.students - small.students

    def each(one: Callable[[Taken], float]) -> float:
        return max(one(large) - one(small), 0.0) / more

    report_s = each(lambda one: one.seconds - one.judging_s)
    task_s = each(lambda one: one.workers_s)
    serial_s = max(each(lambda one: one.grader_s) - report_s, 1e-4)
    model = Model(0.0, task_s, serial_s, report_s)
    start_s = max(small.seconds - model.seconds(small.students, small.cores, small.cores), 0.0)
    return replace(model, start_s=start_s)


def picture(taken: Sequence[Taken], model: Model) -> Picture:
    """Seconds against the size of the class, and minutes against the number of workers."""
    figure = plot(9.0, 3.8)
    left, right = figure.subplots(1, 2)
    sizes, cores = [one.students for one in taken], taken[0].cores
    measured = [one.seconds for one in taken]
    left.loglog(sizes, measured, MARKERS[0], color=SERIES[0], label="measured")
    said = [model.seconds(size, cores, cores) for size in sizes]
    left.loglog(sizes, said, LINE_STYLES[1], color=SERIES[1], label="by the model")
    left.set(xlabel="students", ylabel="seconds", title=f"On {cores} cores")
    left.legend()
    minutes = [model.seconds(STUDENTS, workers) / 60 for workers in WORKERS]
    right.loglog(WORKERS, minutes, LINE_STYLES[0] + MARKERS[1], color=SERIES[0], markersize=4)
    right.axvline(model.most_workers, linestyle=":", color=FAINT_INK)
    right.set(xlabel="workers", ylabel="minutes", title=f"{STUDENTS:,} students, by the model")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:,.0f}")
            axis.set_minor_formatter("")
    points = "; ".join(f"{one.students:,} students {one.seconds:.0f} s" for one in taken)
    table = "; ".join(f"{w:,} {m:.1f}" for w, m in zip(WORKERS, minutes, strict=True))
    return Picture(
        figure,
        f"Two plots. Time against the size of the class on {cores} cores: {points}. Minutes for "
        f"{STUDENTS:,} students against workers, by the model: {table}; beyond "
        f"{model.most_workers:.0f} workers the one grading process is what they wait for.",
    )


def _line(one: Taken) -> str:
    rates = ""
    if one.rates:
        rates = f", by tenths {', '.join(f'{rate:.0f}' for rate in one.rates)} a minute"
    return (
        f"{one.students:6,} students in {one.seconds:.1f} s on {one.cores} cores: "
        f"{one.a_minute:.0f} notebooks a minute{rates}; "
        f"grader {one.grader_bytes / MB:.0f} MB, largest worker {one.worker_bytes / MB:.0f} MB"
    )


if __name__ == "__main__":
    sys.exit(main())
