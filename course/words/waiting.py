"""What a learner hears while a launch takes long."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import partial
from typing import TextIO

from course.plain import patience
from course.words.sentences import next_step, sentence


def on_a_check(dialect: str) -> AbstractContextManager[None]:
    """Inside, a learner waits for a check's launches."""
    return patience.told(partial(_say, dialect, "check", sys.stdout))


def on_a_launch(dialect: str) -> AbstractContextManager[None]:
    """Inside, a learner waits for a launch; what is printed may be a program's, so it is not."""
    return patience.told(partial(_say, dialect, "launch", sys.stderr))


def _say(
    dialect: str, began: str, file: TextIO, done: int, of: int, seconds: float, left: float
) -> None:
    parts = "blocks" if dialect == "numba" else "programs"
    times = {"seconds": round(seconds), "left": round(left)}
    fields = {"done": done, "of": of, "parts": parts, "began": began, **times}
    print(sentence("takes_long", fields), next_step("takes_long", fields), file=file)
