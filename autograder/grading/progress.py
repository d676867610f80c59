"""How far a run is: one line, renewed on a terminal, and said now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.text import Text

from autograder.grading import waiting
from autograder.grading.judging import Run
from autograder.grading.table import plain
from autograder.judge.judge import Graded
from autograder.judge.sentences import JUDGED_AGAIN
from course.engine.faults import Outcome

#: Between two lines: on a terminal, and in a log.
_TERMINAL_SECONDS, _LOG_SECONDS = 0.1, 30.0


class Progress:
    """A context manager around a run, told of each verdict as it comes, on stderr."""

    def __init__(
        self, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console or Console(stderr=True)
        self._clock = clock
        self._begun = self._said = clock()
        self._right = self._failed = 0
        self._live = None
        if self._console.is_terminal:
            self._live = Live(
                console=self._console,
                auto_refresh=False,  # no thread: workers are started from here
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )

    def __enter__(self) -> Progress:
        if self._live is not None:
            self._live.start()
        self._before, waiting.say = waiting.say, self._print
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()
        waiting.say = self._before

    def tell(self, run: Run, graded: Graded) -> None:
        """A verdict has come: what could not be judged is said at once, with its reason."""
        self._right += graded.outcome == Outcome.PASS.value
        if graded.message_id in JUDGED_AGAIN:
            self._failed += 1
        if graded.message_id in JUDGED_AGAIN or not graded.exercise:
            what = f"{graded.student} {graded.exercise or graded.notebook}".rstrip()
            self._print(f"{what}: {graded.message}")
        now = self._clock()
        if now - self._said < (_TERMINAL_SECONDS if self._live else _LOG_SECONDS):
            return
        self._said = now
        line = told(run, now - self._begun, self._right, self._failed)
        if self._live is None:
            self._print(line)
        else:
            self._live.update(Text(line), refresh=True)

    def _print(self, line: str) -> None:
        self._console.print(Text(plain(line)), soft_wrap=True)


def told(run: Run, seconds: float, right: int, failed: int) -> str:
    """`120 of 510 verdicts, 85 a minute, 5 min left: 90 PASS, 28 other, 2 failed`."""
    done = run.done
    parts = [f"{done} of {run.expected} verdicts"]
    if run.judged and seconds > 0:
        rate = run.judged / seconds  # those known from before took no time
        left = _duration((run.expected - done) / rate)
        parts += [f"{60 * rate:.0f} a minute", f"{left} left"]
    counts = [f"{right} PASS", f"{done - right - failed} other"]
    counts += [f"{failed} that the judge failed on"] if failed else []
    return f"{', '.join(parts)}: {', '.join(counts)}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
