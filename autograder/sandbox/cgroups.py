"""A control group around a judge or a runner: the kernel holds the memory of the whole tree.

The watcher adds up processes ten times a second. In between, and for memory that no process
owns, the kernel holds the limit, where this machine lets the grader make a group (cgroup v2):
as a scope of the user's systemd, or in a folder of `/sys/fs/cgroup` that was given to it
(a service or container with `Delegate=yes`). Elsewhere the watcher stands alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

from autograder.sandbox.finding import Finding

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
#: What a judge or a runner holds before a launch: Python, torch and Triton take half of it.
ROOM_BYTES = 2**30
#: Processes and threads of a judge or a runner: its walls, its fork, an assembler.
MOST_TASKS = 64
_NEEDED = ("memory", "pids")
#: Of the grader's own environment, what `systemd-run` finds its user's systemd by.
_BUS = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_PROBE_SECONDS = 10.0
_NAME = "autograder"
_NUMBERS = count(1)


@dataclass(frozen=True)
class Groups:
    """How groups are made here: `command` starts a program in one of its own.

    Attributes:
        words: how `doctor` calls it.
        enter: gives the words before a program that may take so much memory.
        environment: what these words need of the grader's environment.
    """

    words: str
    enter: Callable[[int], list[str]]
    environment: dict[str, str]


def limited(memory_bytes: int, command: list[str]) -> tuple[list[str], dict[str, str]]:
    """A command in a group of its own, and what it needs of the environment.

    The command as it is, where no group can be made, or no further one.
    """
    groups = found()
    if groups is None:
        return command, {}
    try:
        return [*groups.enter(memory_bytes + ROOM_BYTES), *command], groups.environment
    except OSError:
        return command, {}


@cache
def found() -> Groups | None:
    """How groups are made on this machine, or None."""
    return next((groups for groups in (scopes(), folder()) if isinstance(groups, Groups)), None)


def finding() -> Finding:
    """What `doctor` says where there is none."""
    reasons = [str(one) for one in (scopes(), folder()) if not isinstance(one, Groups)]
    return Finding(found() is not None, "; ".join(reasons))


# ------------------------------------------------------------ a scope of the user's systemd


def scopes() -> Groups | str:
    """Scopes of systemd, or why there are none."""
    program = shutil.which("systemd-run")
    if program is None:
        return "there is no systemd-run"

    def enter(limit_bytes: int) -> list[str]:
        settings = [f"MemoryMax={limit_bytes}", "MemorySwapMax=0", f"TasksMax={MOST_TASKS}"]
        scope = [program, "--user", "--scope", "--quiet", "--collect"]
        without = [word for name in _BUS for word in ("-u", name)]
        return [*scope, *(f"--property={one}" for one in settings), "--", "env", *without]

    groups = Groups(
        "systemd-run --user --scope",
        enter,
        {name: os.environ[name] for name in _BUS if name in os.environ},
    )
    return _tried(groups, "systemd-run makes no scope")


# ------------------------------------------------------------ a folder that was given to us


def folder(root: Path = ROOT, own: Path = OWN) -> Groups | str:
    """Groups in a folder that the grader may write to, or why there is none."""
    if not (root / "cgroup.controllers").is_file():
        return "no cgroup v2 is mounted"
    given = _given(root, own)
    if given is None:
        return "this process is in no group of cgroup v2"
    if not os.access(given, os.W_OK):
        return f"{given} cannot be written (a service with Delegate=yes could)"
    try:
        known = _words(given / "cgroup.controllers")
        missing = [name for name in _NEEDED if name not in known]
        if missing:
            return f"{given} has no control of {' and '.join(missing)}"
        on = _words(given / "cgroup.subtree_control")
        wanted = " ".join(f"+{name}" for name in _NEEDED if name not in on)
        if wanted:
            (given / "cgroup.subtree_control").write_text(wanted)
    except OSError as error:
        return f"{given} hands no control on ({error.strerror})"

    def enter(limit_bytes: int) -> list[str]:
        _remove_empty(given)
        group = given / f"{_NAME}.{os.getpid()}.{next(_NUMBERS)}"
        group.mkdir()
        (group / "memory.max").write_text(str(limit_bytes))
        with contextlib.suppress(OSError):  # a kernel without swap
            (group / "memory.swap.max").write_text("0")
        (group / "pids.max").write_text(str(MOST_TASKS))
        join = 'echo $$ > "$0" && exec "$@"'
        return ["/bin/sh", "-c", join, str(group / "cgroup.procs")]

    return _tried(Groups(f"in {given}", enter, {}), f"no group can be made in {given}")


def _given(root: Path, own: Path) -> Path | None:
    """The folder of this process's own group."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return None
    path = next((line[3:] for line in lines if line.startswith("0::/")), None)
    return None if path is None or ".." in path else root / path.lstrip("/")


def _words(path: Path) -> list[str]:
    return path.read_text().split()


def _remove_empty(given: Path) -> None:
    """Removes groups of judges that have ended; one with a process in it cannot be."""
    for group in given.glob(f"{_NAME}.*"):
        with contextlib.suppress(OSError):
            group.rmdir()


def _tried(groups: Groups, failed: str) -> Groups | str:
    """The groups, if a program can be started in one."""
    try:
        done = subprocess.run(
            [*groups.enter(ROOM_BYTES), "/bin/true"],
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{failed} ({error})"
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return groups if done.returncode == 0 else f"{failed} ({said[0] if said else 'no reason'})"
