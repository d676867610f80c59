"""Bounds on processor time that mean the same on a slow machine, and on a busy one.

A bound is set where nothing else runs, and guards against work that has no end. On a machine half
as fast, or one whose cores are shared, honest work takes twice as long. So does a beat, which is
timed right before the work and right after it.
"""

import ast
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Processor seconds of a beat where the bounds were set: Python 3.11, two cores, nothing else.
BEAT_SECONDS = 0.018
_TEXT = "\n".join(f"n{k} = (a + {k}) * [b, c][{k} % 2]" for k in range(400))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is done inside takes less processor time, at the speed at which bounds were set."""
    before = _beat()
    began = time.process_time()
    yield
    took = time.process_time() - began
    slower = max(1.0, before / BEAT_SECONDS, _beat() / BEAT_SECONDS)
    assert took < seconds * slower, f"{took:.2f} s on a machine that is {slower:.1f} times slower"


def _beat() -> float:
    """Processor seconds of work like a check's, a text read and its tree walked: a usual time."""
    return statistics.median(_once() for _ in range(5))


def _once() -> float:
    began = time.process_time()
    sum(isinstance(node, ast.Name) for node in ast.walk(ast.parse(_TEXT)))
    return time.process_time() - began
