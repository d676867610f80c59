"""What stands between the brackets of a launch: ``kernel[grid, block, stream, shared]``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.engine.faults import KernelFault, rejected

FORALL_BLOCK_THREADS = 256  # what `kernel.forall(n)` takes where no driver chooses


@dataclass(frozen=True)
class Configuration:
    """Grid and block as the launch gave them (the launch checks them), and shared bytes."""

    grid: int | Sequence[int]
    block: int | Sequence[int]
    shared_bytes: int


def refused(message_id: str, name: str, **fields: object) -> KernelFault:
    """The fault of a launch that never began, of the kernel `name`."""
    fault = rejected(None, message_id, name=name, **fields)
    fault.kernel = name
    return fault


def configuration(name: str, given: Any) -> Configuration:
    """Reads ``[grid, block, stream, shared]``; the last two may be left out.

    Raises:
        KernelFault: REJECTED where it is not two to four parts, or the fourth no number of bytes.
    """
    if not isinstance(given, tuple) or not 2 <= len(given) <= 4:
        raise refused("launch_configuration", name, got=_written(given))
    grid, block = given[:2]
    return Configuration(
        _extent(name, grid, "grid"),
        _extent(name, block, "block"),
        shared_bytes(name, given[3] if given[3:] else 0),
    )


def for_all(name: str, tasks: Any, block: Any, shared: Any) -> Configuration | None:
    """The configuration of ``kernel.forall(tasks)``, or None for no tasks: nothing runs.

    Raises:
        KernelFault: REJECTED where `tasks` is not a whole number, 0 or more.
    """
    if not _is_whole(tasks) or tasks < 0:
        raise refused("launch_tasks", name, got=repr(tasks))
    if tasks == 0:
        return None
    threads = _extent(name, block or FORALL_BLOCK_THREADS, "block")
    if not isinstance(threads, int) or threads < 1:
        raise refused("block_shape", name, block=_written(block))
    return Configuration(-(-int(tasks) // threads), threads, shared_bytes(name, shared))


def shared_bytes(name: str, given: Any) -> int:
    """The dynamic shared memory of a launch, in bytes.

    Raises:
        KernelFault: REJECTED where it is not a whole number, 0 or more.
    """
    if not _is_whole(given) or given < 0:
        raise refused("launch_shared_bytes", name, got=repr(given))
    return int(given)


def _extent(name: str, given: Any, what: str) -> int | tuple[int, ...]:
    """A grid's or block's extent: a whole number, or a tuple of up to three; () is 1."""
    parts = given if isinstance(given, tuple) else (given,)
    if len(parts) > 3 or not all(_is_whole(part) for part in parts):
        raise refused(f"{what}_shape", name, **{what: _written(given)})
    return tuple(int(part) for part in parts) or 1 if isinstance(given, tuple) else int(given)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def _written(given: Any) -> str:
    if isinstance(given, np.generic):
        given = given.item()
    words = "the list " if isinstance(given, list) else ""
    return f"{words}{given!r}"[:60]
