"""From a solution cell to a verdict: visible cases first, then cases drawn from the seed.

What runs here never executes a submission. Points come from the exercise's spec alone.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import course
from autograder import hidden
from autograder.grading.kernel_shape import shape_and_mark
from autograder.hidden import Seed, derived, hidden_cases, seed_of_inputs
from autograder.judge import overlay
from autograder.judge.sentences import Fault, RunnerLostError
from autograder.judge.veil import COST, veiled
from course import exercises
from course.check.answers import check_number_source
from course.check.check import check_source
from course.engine.faults import Outcome
from course.engine.job import Runner
from course.exercises import STEMS
from course.spec.exercise import Case, Exercise, KernelExercise, NumberExercise
from course.words.verdict import Verdict

#: (exercise, source of its cell, cases or None for the visible ones, seed of the inputs)
Check = Callable[[Exercise, str, Sequence[Case] | None, int], Verdict]

CHECK = "autograder.judge.judge:course_check"
#: What a right answer can get: these say how dear it was, all others that it is not right.
RIGHT = COST | {Outcome.PASS}
#: Verdicts on which nobody has to learn from the cell.
NO_MISTAKE = frozenset({Outcome.PASS, Outcome.NOT_ATTEMPTED, Outcome.NOT_MEASURED})

#: How a lesson's file imports another's.
_IMPORT = r"(?:exercises|hidden)\.%(stem)s\b|import [^\n]*\b%(stem)s\b"
#: A verdict's sentences name a line or two of code; its table has a row an array.
LONGEST_MESSAGE = 2000
MOST_ROWS = 40
#: In characters of HTML. An honest panel has some 10,000, one of 150 long lines some 300,000.
LARGEST_PANEL = 400_000
#: Characters kept of a cell: the course's longest solution has some 4,000.
LONGEST_CELL = 6_000


@dataclass(frozen=True, slots=True)
class Graded:
    """One verdict of the gradebook: a student, a notebook, an exercise, and what came of it.

    Bytes are of the graded case, all accesses together; None where nothing was measured.
    `late` and `handed_in` (a time) are what the LMS says; so is `turn`, the kind of the account and
    what sorts behind all that it handed in before. `key` is the same for the same notebook,
    lesson's version, judge and seed. `content` is the notebook's SHA-256. `panel` is HTML, escaped.

    `gpu` holds what it came to where the class has bands of speed: `own_gpu.Reply.kept`.

    For the report: `seconds` that judging took, of a wrong answer the `cell`, a digest of its
    `shape`, and the `mark` of its statement at `line` (`kernel_shape`), "" where there is none.
    """

    student: str
    notebook: str
    exercise: str
    outcome: str
    points: float
    max_points: float
    requested_bytes: int | None = None
    budget_bytes: float | None = None
    least_bytes: int | None = None
    message: str = ""
    message_id: str = ""
    line: int | None = None
    case: str = ""
    late: bool = False
    handed_in: str = ""
    turn: str = field(default="", compare=False)
    key: str = ""
    content: str = ""
    seconds: float = field(default=0.0, compare=False)
    cell: str = ""
    shape: str = ""
    mark: str = ""
    panel: str = ""
    text: str = ""
    gpu: Mapping[str, Any] | None = field(default=None, hash=False)

    @property
    def awaits_gpu(self) -> str:
        """The GPU on which it is still to be timed, '' where it is on none."""
        return str((self.gpu or {}).get("awaits", ""))

    @property
    def of_budget(self) -> float | None:
        """Requested bytes over the budget, or None where nothing was measured."""
        if not self.requested_bytes or not self.budget_bytes:
            return None
        return self.requested_bytes / self.budget_bytes

    def row(self) -> dict[str, Any]:
        """What a table's row holds: what a verdict says, and nothing that is long."""
        return {name: getattr(self, name) for name in _ROW}


_NOT_IN_ROWS = (
    "turn",
    "key",
    "content",
    "seconds",
    "cell",
    "shape",
    "mark",
    "panel",
    "text",
    "gpu",
)
_ROW = [f.name for f in fields(Graded) if f.name not in _NOT_IN_ROWS]


def course_check(
    exercise: Exercise,
    source: str,
    cases: Sequence[Case] | None,
    seed: int,
    runner: Runner | None = None,
) -> Verdict:
    """The course's own check, of whichever kind the exercise is.

    Args:
        runner: makes the launches; the engine in this process unless told.
    """
    if isinstance(exercise, KernelExercise):
        if cases is None:
            return check_source(exercise, source, runner=runner)
        return check_source(exercise, source, cases, seed, runner)
    assert isinstance(exercise, NumberExercise)
    return check_number_source(exercise, source, cases)


def named_check(name: str) -> Check:
    """The check that `module:function` names."""
    module, _, function = name.partition(":")
    check: Check = getattr(import_module(module), function)
    return check


def judge_cell(exercise: Exercise, source: str, seed: Seed, check: Check) -> Verdict:
    """One exercise's verdict: that of the visible cases, as at home, or that of hidden ones.

    Hidden cases are run where the visible ones are right; the lesser credit counts. Of a hidden
    case no more leaves this function than `autograder.judge.veil` tells.

    Raises:
        MemoryError: where the memory did not suffice.
    """
    visible = _checked(check, exercise, source, None, 0)
    if visible.outcome not in RIGHT:
        return visible
    cases = hidden_cases(exercise.name, seed)
    if not cases:
        return visible
    try:
        inputs = seed_of_inputs(exercise.name, seed)
        held_out = _checked(check, exercise, source, cases, inputs)
    except Fault as fault:
        held_out = faulted(exercise, fault)
    except (MemoryError, RunnerLostError):
        raise
    except Exception as error:  # its words may hold what it stumbled over
        detail = f"{type(error).__name__} on a held-out case"
        raise Fault("judge_failed", exercise=exercise.name, detail=detail) from error
    if held_out.outcome in RIGHT and held_out.credit >= visible.credit:
        return visible
    return veiled(held_out)


def _checked(
    check: Check, exercise: Exercise, source: str, cases: Sequence[Case] | None, seed: int
) -> Verdict:
    verdict = check(exercise, source, cases, seed)
    if verdict.outcome is Outcome.NOT_MEASURED and "MemoryError" in verdict.internal_error:
        raise MemoryError
    return verdict


def faulted(exercise: Exercise | None, fault: Fault) -> Verdict:
    """The verdict on an exercise, or on a whole notebook, that could not be judged. No points."""
    return Verdict(
        outcome=fault.outcome,
        exercise="notebook" if exercise is None else exercise.name,
        message=fault.sentence,
        message_id=fault.message_id,
        max_points=0 if exercise is None else exercise.points,
        next_steps=tuple(filter(None, [fault.next_step])),
    )


def credited(credit: float, points: float) -> float:
    """Points for a share from 0 to 1; a share that is no number earns none."""
    share = credit if math.isfinite(credit) else 0.0
    return round(min(max(share, 0.0), 1.0) * points, 2)


def bounded(verdict: Verdict) -> tuple[Verdict, str, str]:
    """A verdict of a size for a frame and for a class's report, whatever a cell is made of.

    With its panel, and its text.
    """

    def cut(text: str) -> str:
        return text if len(text) <= LONGEST_MESSAGE else f"{text[: LONGEST_MESSAGE - 1]}…"

    small = replace(
        verdict,
        message=cut(verdict.message),
        rows=(*verdict.rows[: MOST_ROWS - 1], *verdict.rows[MOST_ROWS - 1 :][-1:]),
        next_steps=tuple(cut(step) for step in verdict.next_steps),
    )
    panel, text = small._repr_html_(), str(small)
    if len(panel) <= LARGEST_PANEL and len(text) <= LARGEST_PANEL:
        return small, panel, text
    least = replace(small, lines=(), entries=(), extras=(), rows=small.rows[-1:])
    return least, least._repr_html_(), str(least)


def result(exercise: Exercise | None, verdict: Verdict, cell: str = "") -> dict[str, Any]:
    """A verdict as plain data, for the frame that a worker sends and for `Graded`.

    Args:
        cell: what it is on; of a right one nothing is kept.
    """
    points = 0 if exercise is None else exercise.points
    verdict, panel, text = bounded(verdict)
    kept = "" if verdict.outcome in NO_MISTAKE else cell[:LONGEST_CELL]
    shape, mark = shape_and_mark(kept, verdict.line)
    return {
        "exercise": "" if exercise is None else exercise.name,
        "outcome": verdict.outcome.value,
        "points": credited(verdict.credit, points),
        "max_points": points,
        "requested_bytes": verdict.requested_bytes,
        "budget_bytes": None if verdict.budget_bytes is None else round(verdict.budget_bytes, 1),
        "least_bytes": verdict.least_bytes,
        "message": verdict.message,
        "message_id": verdict.message_id,
        "line": verdict.line,
        "case": verdict.case_text,
        "cell": kept,
        "shape": shape,
        "mark": mark,
        "panel": panel,
        "text": text,
    }


@cache
def course_version() -> str:
    """A digest of everything that decides some verdict: the course, the ranges and the judge."""
    return _digest(sorted(_deciding_files()))


@cache
def lesson_version(stem: str) -> str:
    """A digest of everything that decides a lesson's verdicts: all but other lessons' own files.

    Which other lesson's file counts, too, the lesson's own files say: those that they import.
    """
    files = sorted(_deciding_files())
    own = {file for file in files if _is_a_lessons(file) and file.stem == stem}
    todo = list(own)
    while todo:
        text = todo.pop().read_text(encoding="utf-8", errors="replace")
        named = {
            f for f in files if _is_a_lessons(f) and re.search(_IMPORT % {"stem": f.stem}, text)
        }
        todo += named - own
        own |= named
    return _digest([file for file in files if file in own or not _is_a_lessons(file)])


def _deciding_files() -> Iterator[Path]:
    judge = Path(__file__).parent
    yield judge.parent / "grading" / "submissions.py"
    for root in (Path(course.__file__).parent, Path(hidden.__file__).parent, judge):
        for kind in ("*.py", "*.json"):
            yield from (file for file in root.rglob(kind) if "tests" not in file.parts)


def _is_a_lessons(file: Path) -> bool:
    folders = Path(course.__file__).parent / "exercises", Path(hidden.__file__).parent
    return file.parent in folders and file.stem in STEMS


def _digest(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def seed_id(seed: Seed) -> str:
    """What may be shown of a seed: it tells two seeds apart and leads back to neither."""
    return f"{derived(seed, 'shown') % 16**12:012x}"


def verdict_key(
    content: bytes, exercise: str, seed: Seed, check: str = CHECK, limits: str = ""
) -> str:
    """The same for the same notebook, exercise, lesson's version, judge and seed; else another.

    Args:
        limits: on time and memory, where they are others than usual.
    """
    stem = exercises.stem_of(exercise)
    digest = hashlib.sha256()
    for part in (
        hashlib.sha256(content).digest(),
        exercise,
        lesson_version(stem),
        overlay.active().digest(stem),
        seed_id(seed),
        f"{check} {limits}".rstrip(),
    ):
        digest.update((part if isinstance(part, bytes) else part.encode()) + b"\0")
    return digest.hexdigest()
