"""Work on what strangers handed in, in processes that may die of it."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from autograder.sandbox.limits import OwnData, limit

#: Of one item. The longest notebook of the course takes some 20 ms.
MOST_SECONDS = 10.0
#: A notebook of the largest size that is read takes 0.7 GB where all of it is empty lists.
MOST_BYTES = 2**30
#: What may be said of one item.
LARGEST_ANSWER_BYTES = 64 * 2**20
Item = TypeVar("Item")
_FORKED = multiprocessing.get_context("fork")


def in_children(
    work: Callable[[Item], Any], items: Sequence[Item], jobs: int
) -> Iterator[tuple[Item, Any]]:
    """(item, what `work` says of it), as they come; None of an item that took all it may take.

    Args:
        work: says something that JSON can hold, and not None.
    """
    running: dict[Connection, tuple[Any, deque[Item]]] = {}

    def start(share: deque[Item]) -> None:
        here, there = _FORKED.Pipe(duplex=False)
        process = _FORKED.Process(target=_live, args=(work, share, there), daemon=True)
        process.start()
        there.close()
        running[here] = process, share

    try:
        for number in range(jobs):
            if share := deque(items[number::jobs]):
                start(share)
        while running:
            for pipe in wait(list(running)):
                assert isinstance(pipe, Connection)
                process, left = running[pipe]
                try:
                    said = json.loads(pipe.recv_bytes(LARGEST_ANSWER_BYTES))
                except (EOFError, OSError):
                    del running[pipe]
                    _end(process, pipe)
                    if left:
                        yield left.popleft(), None
                    if left:
                        start(left)
                else:
                    yield left.popleft(), said
    finally:
        for pipe, (process, _) in running.items():
            _end(process, pipe)


def _end(process: Any, pipe: Connection) -> None:
    pipe.close()
    process.kill()
    process.join()


def _live(work: Callable[[Item], Any], share: Sequence[Item], pipe: Connection) -> None:
    """A child's whole life. The alarm ends it where an item takes too long, whatever it is at."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    limit(OwnData().bytes(), MOST_BYTES, MOST_SECONDS * len(share))
    for item in share:
        signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
        said = None
        with contextlib.suppress(MemoryError, RecursionError):
            said = work(item)
        pipe.send_bytes(json.dumps(said).encode())
