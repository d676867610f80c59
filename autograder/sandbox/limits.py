"""What a process may take. The watcher outside ends it earlier; these hold where it is late."""

from __future__ import annotations

import os
import resource
from pathlib import Path

_GRACE_SECONDS = 30
#: What the launches of one process may have taken when a next one begins there, beyond what it
#: began with: that much more memory it has than a launch may take. The time is of the processor.
SLACK_BYTES = 256 * 2**20
_SLACK_SECONDS = _GRACE_SECONDS / 2
#: A file in a launch's own /tmp.
LARGEST_FILE_BYTES = 16 * 2**20
#: All of /tmp.
TMP_BYTES = 64 * 2**20
_OPEN_FILES = 64


class OwnData:
    """The own memory of this process, to be looked up behind a wall that hides /proc, too."""

    def __init__(self) -> None:
        self._handle = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def bytes(self) -> int:
        """What is writable and private now: what a fork of it begins with."""
        return int(os.pread(self._handle, 1000, 0).split()[5]) * resource.getpagesize()


class Slack:
    """Whether another launch still has all that it may take here, whatever came before it.

    The memory is the most that was ever resident, with what was given back: who counts less
    trusts the allocator.
    """

    def __init__(self) -> None:
        self._begun = resource.getrusage(resource.RUSAGE_SELF)

    def left(self) -> bool:
        """Whether it has: else the next launch needs another process."""
        now = resource.getrusage(resource.RUSAGE_SELF)
        more_bytes = (now.ru_maxrss - self._begun.ru_maxrss) * 1024
        seconds = sum(now[:2]) - sum(self._begun[:2])
        return more_bytes <= SLACK_BYTES and seconds <= _SLACK_SECONDS


def limit(own_bytes: int, memory_bytes: int, seconds: float) -> None:
    """Bounds this process: memory beyond `own_bytes`, processor time, no core files."""
    data = own_bytes + memory_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    cpu = int(used + seconds) + _GRACE_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))


def limit_launch() -> None:
    """What holds for a launch besides: files are small and few, processes none."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE_BYTES, LARGEST_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def resident_bytes(root: int, depth: int) -> int:
    """Resident memory of the processes that are `depth` or more generations below `root`."""
    total, generation = 0, [root]
    level = 0
    while generation:
        if level >= depth:
            total += sum(map(_resident, generation))
        generation = [child for process in generation for child in children(process)]
        level += 1
    return total


def processor_seconds(root: int) -> float:
    """Processor time of all processes below `root`, with what those that ended have taken."""
    ticks, waiting = 0, children(root)
    while waiting:
        process = waiting.pop()
        waiting += children(process)
        try:
            told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        ticks += sum(map(int, told[11:15]))  # user and system, its own and its children's
    return ticks / os.sysconf("SC_CLK_TCK")


def children(process: int) -> list[int]:
    """The processes that `process` has started and not yet waited for."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:
        pass  # it has ended
    return found


def _resident(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0  # it has ended
    return pages * os.sysconf("SC_PAGE_SIZE")
