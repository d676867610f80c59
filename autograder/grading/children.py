"""Work on what strangers handed in, in processes that may die of it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from course.plain.bounded import Child, DiedError, LateError, Say

#: Of one item. The longest notebook of the course takes some 20 ms.
MOST_SECONDS = 10.0
#: A notebook of the largest size that is read takes 0.7 GB where all of it is empty lists.
MOST_BYTES = 2**30
Item = TypeVar("Item")


def in_children(
    work: Callable[[Item], Any], items: Sequence[Item], jobs: int = os.cpu_count() or 1
) -> Iterator[tuple[Item, Any]]:
    """(item, what `work` says of it), as they come; None of an item that took all it may take.

    Args:
        work: says something that JSON can hold, and not None.
    """
    running: dict[Child, deque[Item]] = {}

    def start(share: deque[Item]) -> None:
        def each(say: Say) -> None:
            for item in share:
                say(_said(work, item))

        child = Child(each, MOST_SECONDS * len(share), memory_bytes=MOST_BYTES)
        running[child] = share

    try:
        for number in range(jobs):
            if share := deque(items[number::jobs]):
                start(share)
        while running:
            for child in select.select(list(running), [], [])[0]:
                left = running[child]
                with contextlib.suppress(LateError, DiedError):
                    for said in child.lines(wait=False):
                        yield left.popleft(), said
                if child.running:
                    continue
                del running[child]
                if left:
                    yield left.popleft(), None
                if left:
                    start(left)
    finally:
        for child in running:
            child.close()


def _said(work: Callable[[Item], Any], item: Item) -> Any:
    """The alarm ends the child where an item takes too long, whatever it is at."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    with contextlib.suppress(MemoryError, RecursionError):
        return work(item)
    return None
