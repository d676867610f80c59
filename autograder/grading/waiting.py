"""A grader that waits says for whom and how long it has."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

_FIRST_SECONDS, _THEN_SECONDS = 5.0, 60.0


def _on_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


#: Where it is said: a terminal's progress takes this over.
say: Callable[[str], None] = _on_stderr


class Waiting:
    """One wait after the other."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: float | None = None
        self._next = _FIRST_SECONDS

    def on(self, whom: str, most: str = "") -> None:
        """It goes on: called at each look."""
        now = self._clock()
        if self._begun is None:
            self._begun, self._next = now, _FIRST_SECONDS
        seconds = now - self._begun
        if seconds >= self._next:
            self._next = seconds + _THEN_SECONDS
            say(f"Waiting for {whom}: {seconds:.0f} s so far{most}.")

    def over(self) -> None:
        """It has come."""
        if self._begun is not None and self._next > _FIRST_SECONDS:
            say(f"Waited {self._clock() - self._begun:.0f} s; going on.")
        self._begun, self._next = None, _FIRST_SECONDS
