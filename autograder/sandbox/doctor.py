"""`python -m autograder doctor`: what this machine can put around submissions, and why not more.

Each line was tried just now, and is not read off a version number.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from autograder import Refused
from autograder.sandbox import cgroups, landlock, walls
from autograder.sandbox.finding import Finding
from autograder.sandbox.walls import Kind
from course.engine.faults import KernelFault
from course.engine.triton.compiling.available import require_triton
from course.words.sentences import next_step, sentence

_NEW_USER_NAMESPACE = 0x10000000
_IN_A_CONTAINER = ("/.dockerenv", "/run/.containerenv")
_USES = {
    Kind.BUBBLEWRAP: (
        "`grade` and `nbgrader autograde` will use bubblewrap: judge and runner each see a file "
        "system put together for them (system, Python and course, read-only; an empty /tmp), no "
        "network, and no other process. A launch has a filter of system calls besides."
    ),
    Kind.LANDLOCK: (
        "`grade` and `nbgrader autograde` will use Landlock with a filter of system calls: judge "
        "and runner read system, Python and course, and write nowhere. A launch can open no "
        "socket, start no process and signal none. bubblewrap would hide more (other processes' "
        "names, the machine's name)."
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments: none."""


def main(_args: argparse.Namespace) -> int:
    """Prints what there is, and returns 0 where a wall can stand, else 1."""
    for line in report():
        print(line)
    try:
        wall = walls.choose()
    except Refused:
        print(
            "\n`grade` will refuse to run, until one of these is mended or you say with --trust "
            "that you trust the files as you trust your own."
        )
        return 1
    print(f"\n{_USES[wall.kind]}")
    return 0


def report() -> Iterator[str]:
    """A line for each thing that was tried, and below it how to mend what does not work."""
    bubblewrap, spaces = walls.bubblewrap_works(), user_namespaces()
    yield _line("bubblewrap", bubblewrap, "works")
    if not bubblewrap.works:
        yield from _mend_bubblewrap(spaces)
    yield _line("user namespaces", spaces, "can be made")
    known = landlock.version()
    yield _line("Landlock", walls.landlock_works(), f"version {known} works")
    if not walls.landlock_works().works:
        yield "    It needs Linux 6.2 or later, with `landlock` in the kernel's `lsm=` list."
    yield _line("system-call filter", walls.seccomp_works(), "works (seccomp)")
    yield _line("memory of a run", _watched(), "is watched process by process, ten times a second")
    groups = cgroups.found()
    held = "" if groups is None else f"hold it, too, between two looks ({groups.words})"
    yield _line("control groups", cgroups.finding(), held)
    if groups is None:
        yield "    The watcher stands alone, which suffices for all but a burst between two looks."
    yield _line(
        "Triton lessons",
        _triton(),
        "can be judged; behind either wall `ptxas` alone is started, to count registers",
    )


def _triton() -> Finding:
    """Whether it is there, and a kernel whose counts are known gets them."""
    try:
        require_triton()
        from course.engine.triton.canary import require_right_counts

        require_right_counts()
    except KernelFault as fault:
        said = sentence(fault.message_id, fault.fields), next_step(fault.message_id, fault.fields)
        return Finding(False, f"their exercises get {fault.outcome.value}. {' '.join(said)}")
    return Finding(True)


def _line(name: str, finding: Finding, words: str) -> str:
    mark = "ok" if finding.works else "no"
    return f"  {mark}  {name}: {words if finding.works else finding.reason}"


def _watched() -> Finding:
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return Finding(path.exists(), "this kernel does not list a process's children")


def user_namespaces() -> Finding:
    """Makes a user namespace in a fork."""

    def unshare() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_NEW_USER_NAMESPACE) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"cannot be made ({os.strerror(number)})")

    return walls.in_a_fork(unshare)


def _mend_bubblewrap(spaces: Finding) -> Iterator[str]:
    if shutil.which("bwrap") is None:
        yield "    Install it: `apt-get install bubblewrap`, or `dnf install bubblewrap`."
    if spaces.works:
        return
    if any(Path(path).exists() for path in _IN_A_CONTAINER):
        yield (
            "    This is a container, and its default profile allows no namespaces: start it with "
            "`--security-opt seccomp=unconfined`, or grade outside."
        )
    for name, bad, good in (
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "10000"),
    ):
        if _setting(name) == bad:
            yield f"    The kernel refuses them: `sudo sysctl -w {name}={good}` allows them."


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", *name.split(".")).read_text().strip()
    except OSError:
        return ""
