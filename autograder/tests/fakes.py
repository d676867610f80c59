"""A check that does what the text of a cell says, in place of the course's own."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from course.engine.faults import Outcome
from course.spec.exercise import Case, Exercise
from course.words.verdict import Row, Verdict

#: The worker's descriptor for its answers: the first that it opens.
CHANNEL = 4
CHECK = "autograder.tests.fakes:check"


def check(exercise: Exercise, source: str, cases: Sequence[Case] | None, seed: int) -> Verdict:
    """What the cell's first line says.

    `PASS`, `OUTCOME`, `credit 2.5`, `hang`, `die`, `eat`, `raise`, `chatter 100`; `file PATH`:
    what that file says.
    """
    word, _, rest = source.partition("\n")[0].partition(" ")
    if word == "file":
        word, _, rest = Path(rest).read_text().partition(" ")
    if word == "hang":
        time.sleep(600)
    if word == "die":
        os.kill(os.getpid(), 11)
    if word == "eat":
        held = []
        while True:
            held.append(bytearray(b"x") * (32 << 20))
    if word == "chatter":
        os.write(CHANNEL, b"x" * int(rest))
    if word == "raise":
        raise RuntimeError(rest)
    if word == "slow":
        time.sleep(float(rest))
        word = "PASS"
    if word == "credit":
        return verdict(exercise, source, Outcome.PASS, float(rest))
    if word == "hidden" and cases is not None:
        return verdict(exercise, source, Outcome.WRONG_ANSWER, 0.0)
    outcome = Outcome[word] if word in Outcome.__members__ else Outcome.PASS
    return verdict(exercise, source, outcome, 1.0 if outcome is Outcome.PASS else 0.0)


def verdict(exercise: Exercise, source: str, outcome: Outcome, credit: float) -> Verdict:
    """A verdict with one row of traffic."""
    return Verdict(
        outcome,
        exercise.name,
        f"The fake says {outcome.value}.",
        "fake",
        source=source,
        rows=(Row("", "total", 320, 352.0, 320),),
        credit=credit,
        max_points=exercise.points,
    )
