"""How far something long has come, for whoever waits for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic

#: What one waits without a word, in seconds, and waits for the end; from one word to the next it is
#: twice as long again.
FIRST_SECONDS, TIMES = 5.0, 3.0
#: Hears how many parts of how many are done, for how many seconds, and how many seconds are left.
Say = Callable[[int, int, float, float], None]


@dataclass
class _Waiting:
    say: Say
    begun: float
    next: float = FIRST_SECONDS


_waiting: _Waiting | None = None


@contextlib.contextmanager
def told(say: Say) -> Iterator[None]:
    """Inside, somebody waits, and hears of what `each` goes through if that takes long."""
    global _waiting
    before, _waiting = _waiting, _Waiting(say, monotonic())
    try:
        yield
    finally:
        _waiting = before


def each(firsts: Sequence[int], of: int) -> Iterator[int]:
    """Goes through the first parts of batches, in order, of so many parts in all."""
    begun = monotonic()
    for number, first in enumerate(firsts):
        now = monotonic()
        if (waiting := _waiting) is not None and number and now - waiting.begun > waiting.next:
            left = (now - begun) * (len(firsts) - number) / number
            if left > FIRST_SECONDS:
                waiting.next = TIMES * (now - waiting.begun)
                waiting.say(number * of // len(firsts), of, now - waiting.begun, left)
        yield first
