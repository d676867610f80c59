"""From a solution cell to a verdict: visible cases first, then cases drawn from the seed.

What runs here never executes a submission. Points come from the exercise's spec alone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import course
from autograder import hidden, overlay
from autograder.hidden import Seed, derived, hidden_cases
from autograder.sentences import Fault
from autograder.veil import veiled
from course.check import Runner, check_number_source, check_source
from course.exercise import Case, Exercise, KernelExercise, NumberExercise
from course.faults import Outcome
from course.verdict import Verdict

#: (exercise, source of its cell, cases or None for the visible ones, seed of the inputs)
Check = Callable[[Exercise, str, Sequence[Case] | None, int], Verdict]

CHECK = "autograder.judge:course_check"
#: What a right answer can get: these say how dear it was, all others that it is not right.
RIGHT = frozenset(
    {
        Outcome.PASS,
        Outcome.TOO_MUCH_TRAFFIC,
        Outcome.TOO_DIVERGENT,
        Outcome.BANK_CONFLICTS,
        Outcome.TOO_SERIAL,
        Outcome.TOO_MANY_RESOURCES,
    }
)
HELD_OUT = "held out"


@dataclass(frozen=True)
class Graded:
    """One verdict of the gradebook: a student, a notebook, an exercise, and what came of it.

    Bytes are of the graded case, all accesses together; None where nothing was measured.
    `key` is the same for the same notebook, course, judge and seed. `panel` is HTML, escaped.
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
    key: str = ""
    panel: str = ""
    text: str = ""

    @property
    def of_budget(self) -> float | None:
        """Requested bytes over the budget, or None where nothing was measured."""
        if not self.requested_bytes or not self.budget_bytes:
            return None
        return self.requested_bytes / self.budget_bytes

    def row(self) -> dict[str, Any]:
        """What a report's row holds: everything but the panels."""
        kept = asdict(self)
        del kept["panel"], kept["text"], kept["key"]
        return kept


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
    return check_number_source(exercise, source)


def named_check(name: str) -> Check:
    """The check that `module:function` names."""
    module, _, function = name.partition(":")
    check: Check = getattr(import_module(module), function)
    return check


def judge_cell(exercise: Exercise, source: str, seed: Seed, check: Check) -> Verdict:
    """One exercise's verdict: that of the visible cases, as at home, or that of hidden ones.

    Hidden cases are run where the visible ones are right; the lesser credit counts.

    Raises:
        MemoryError: where the memory did not suffice.
    """
    visible = _checked(check, exercise, source, None, 0)
    if visible.outcome not in RIGHT:
        return visible
    cases = hidden_cases(exercise.name, seed)
    if not cases:
        return visible
    held_out = _checked(check, exercise, source, cases, derived(seed, exercise.name, "inputs"))
    if held_out.outcome in RIGHT:
        dearer = any(case.traffic for case in cases) and held_out.credit < visible.credit
        if not dearer:
            return visible
    return replace(held_out, case_label=HELD_OUT)


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


def result(exercise: Exercise | None, verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain data, for the frame that a worker sends and for `Graded`."""
    points = 0 if exercise is None else exercise.points
    shown = veiled(verdict) if verdict.case_label == HELD_OUT else verdict
    return {
        "exercise": "" if exercise is None else exercise.name,
        "outcome": verdict.outcome.value,
        "points": credited(verdict.credit, points),
        "max_points": points,
        "requested_bytes": verdict.requested_bytes,
        "budget_bytes": None if verdict.budget_bytes is None else round(verdict.budget_bytes, 1),
        "least_bytes": verdict.least_bytes,
        "message": shown.message,
        "message_id": verdict.message_id,
        "line": verdict.line,
        "case": verdict.case_text,
        "panel": shown._repr_html_(),
        "text": str(shown),
    }


@cache
def course_version() -> str:
    """A digest of everything that decides a verdict: the course, the ranges and the judge."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    roots = [Path(course.__file__).parent, Path(hidden.__file__).parent]
    files = [file for root in roots for file in sorted(root.rglob("*.py"))]
    files += [here / "judge.py", here / "submissions.py", here / "sentences.py"]
    for file in files:
        if "tests" not in file.parts:
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def seed_id(seed: Seed) -> str:
    """What may be shown of a seed: it tells two seeds apart and leads back to neither."""
    return f"{derived(seed, 'shown') % 16**12:012x}"


def verdict_key(content: bytes, exercise: str, seed: Seed, check: str = CHECK) -> str:
    """The same for the same notebook, exercise, course, judge and seed; else another one."""
    digest = hashlib.sha256()
    for part in (
        hashlib.sha256(content).digest(),
        exercise,
        course_version(),
        overlay.active().digest(),
        seed_id(seed),
        check,
    ):
        digest.update((part if isinstance(part, bytes) else part.encode()) + b"\0")
    return digest.hexdigest()
