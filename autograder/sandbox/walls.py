"""What this machine can put around a process, and how to start a process behind it.

bubblewrap: namespaces of its own. The process sees a file system that is put together for it
(system, Python and course, all read-only; /tmp, empty; nothing of the home, of other students,
of the class), no network, no process but its own. Landlock: the same file system as everyone's,
of which it may read those parts and write nothing. Behind both, the launch itself has a filter
of system calls (`seccomp`).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import IO

from autograder import Refused
from autograder.sandbox import cgroups, landlock, seccomp
from autograder.sandbox.finding import Finding
from autograder.sandbox.limits import TMP_BYTES

ROOT = Path(__file__).resolve().parents[2]
_READABLE = "AUTOGRADER_READABLE"
_PROBE_SECONDS = 20.0
#: Of the system: programs and libraries, how libraries are found, the time zone.
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
)
_PACKAGES = ("site-packages", "dist-packages")
#: A folder that bubblewrap makes, by which a process sees that it is behind it.
_SIGN = "/.behind-bubblewrap"
#: With what a processor can do, by which torch chooses its code.
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/proc/cpuinfo")
#: What a GPU's driver reads of the machine.
_OF_A_GPU = "/sys"


class Kind(Enum):
    """A wall's kind; the value is how the command line says it."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


@dataclass(frozen=True)
class Wall:
    """What stands around the processes that hold submissions."""

    kind: Kind

    @property
    def generations(self) -> int:
        """How many processes stand before a fork: bubblewrap's own, and the one that forks."""
        return 2 if self.kind is Kind.BUBBLEWRAP else 1

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        parts: Iterable[Path],
        keep: Sequence[int] = (),
        *,
        stdin: int,
        stdout: int,
        stderr: int | IO[bytes] | None = None,
        memory_bytes: int | None = None,
        devices: Sequence[Path] = (),
    ) -> subprocess.Popen[bytes]:
        """Starts `python -m module KIND ARGUMENTS` behind the wall, in a session of its own.

        Args:
            parts: what it may read of the checkout.
            keep: open files that it inherits.
            stdin: a file's number, or as for `subprocess.Popen`; `stdout` and `stderr` too.
            memory_bytes: what its launches may take; the kernel holds it to that where it can.
            devices: a GPU's, which it may open: behind Landlock its driver does not start.
        """
        command = [sys.executable, "-m", module, self.kind.value, *arguments]
        environment = _environment()
        readable = _python_paths() + [Path(part).resolve() for part in parts]
        folder = str(ROOT)
        if self.kind is Kind.BUBBLEWRAP:
            command = [*_bubblewrap(readable, environment, devices), "--", *command]
        elif self.kind is Kind.LANDLOCK:
            environment[_READABLE] = os.pathsep.join(map(str, readable))
        if memory_bytes is not None:
            command, more = cgroups.limited(memory_bytes, command)
            environment |= more
        return subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            pass_fds=keep,
            start_new_session=True,  # its own group, to be ended as a whole
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )


def close_in(kind: Kind) -> None:
    """Called by a process that was started behind a wall, once it has imported what it needs.

    Raises:
        Refused: where the wall is not there.
    """
    if kind is Kind.BUBBLEWRAP and not (os.getpid() == 1 and Path(_SIGN).is_dir()):
        raise Refused("this process is not behind bubblewrap")
    if kind is Kind.LANDLOCK:
        readable = [Path(p) for p in os.environ.pop(_READABLE).split(os.pathsep)]
        system = [Path(p) for p in (*_SYSTEM, *_DEVICES)]
        landlock.restrict([*system, *readable])


def _environment() -> dict[str, str]:
    """All that a process behind the wall knows of the one that started it."""
    paths = [str(ROOT), *map(str, _on_path())]
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
        "PYTHONSAFEPATH": "1",  # never from the working folder
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "HOME": "/tmp",
        "LC_ALL": "C.UTF-8",
        # one thread: a launch can make no other one, and the jobs share the cores already
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        # glibc keeps what is freed: each launch's arrays are as large as those of the one before
        "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20),
        "MALLOC_TRIM_THRESHOLD_": str(256 * 2**20),
    }


def _python_paths() -> list[Path]:
    """Where this Python and its packages lie; the checkout's own folder is not among them."""
    paths = {Path(prefix) for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    paths |= {*_on_path()}
    paths |= {path.resolve() for path in paths}
    hop = Path(sys.executable)
    while hop.is_symlink():  # a virtual environment's python is a chain of links
        target = hop.readlink()
        hop = target if target.is_absolute() else hop.parent / target
        paths.add(hop)
    return sorted(path for path in paths if path not in _never())


def _on_path() -> list[Path]:
    """Where this Python's packages lie, and no folder of a class that it was started in."""
    paths = [Path(path) for path in sys.path if path and Path(path).exists()]
    prefixes = [Path(prefix) for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)]
    return [
        path
        for path in paths
        if path.name in _PACKAGES or any(path.is_relative_to(prefix) for prefix in prefixes)
    ]


def _never() -> set[Path]:
    """Folders that hold more than programs, whatever they are given for."""
    return {ROOT, *ROOT.parents, Path.home(), *Path.home().parents, Path.cwd()}


def _bubblewrap(
    readable: Iterable[Path], environment: dict[str, str], devices: Sequence[Path] = ()
) -> list[str]:
    """bubblewrap's command, up to the program."""
    program = shutil.which("bwrap")
    if program is None:
        raise Refused("bubblewrap is not installed")
    words = [program, "--unshare-all", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"]
    words += ["--clearenv"]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    for part in _SYSTEM:
        words += ["--ro-bind-try", part, part]
    # /tmp before the rest, which may lie below it
    words += ["--proc", "/proc", "--dev", "/dev", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"]
    for path in devices:
        words += ["--dev-bind", str(path), str(path)]
    words += ["--ro-bind", _OF_A_GPU, _OF_A_GPU] if devices else []
    kept: list[Path] = []
    for path in sorted(set(readable)):
        if not any(path.is_relative_to(parent) for parent in kept):
            kept.append(path)
            words += ["--ro-bind-try", str(path), str(path)]
    words += ["--dir", _SIGN, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]
    return words


# ------------------------------------------------------------ what there is


@cache
def bubblewrap_works() -> Finding:
    """Starts Python behind bubblewrap as the grader does, and looks what comes of it."""
    if sys.platform != "linux":
        return Finding(False, "it needs Linux")
    if not seccomp_works().works:
        return Finding(False, "the launches behind it need a filter of system calls")
    try:
        words = _bubblewrap(_python_paths(), _environment())
    except Refused as error:
        return Finding(False, str(error))
    try:
        done = subprocess.run(
            [*words, "--", sys.executable, "-S", "-c", "print('works')"],
            capture_output=True,
            timeout=_PROBE_SECONDS,
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Finding(False, f"it did not start within {_PROBE_SECONDS:g} seconds")
    except OSError as error:
        return Finding(False, f"it cannot be started: {error.strerror}")
    if done.stdout == b"works\n":
        return Finding(True)
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return Finding(False, said[-1] if said else f"it ended with status {done.returncode}")


@cache
def seccomp_works() -> Finding:
    """Puts the filter around a fork."""
    if sys.platform != "linux":
        return Finding(False, "it needs Linux")
    try:
        seccomp.program()
    except seccomp.SeccompError as error:
        return Finding(False, str(error.strerror))
    return in_a_fork(seccomp.restrict)


@cache
def landlock_works() -> Finding:
    """Puts Landlock around a fork."""
    if sys.platform != "linux":
        return Finding(False, "it needs Linux")
    known = landlock.version()
    if known == 0:
        return Finding(False, "this kernel has none, or it is not switched on")
    if known < landlock.LEAST_VERSION:
        least = landlock.LEAST_VERSION
        return Finding(False, f"its version is {known}, and {least} (Linux 6.2) is the least")
    return in_a_fork(lambda: landlock.restrict([]))


def in_a_fork(restrict: Callable[[], None]) -> Finding:
    """Whether `restrict` works, tried where it does no harm."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            restrict()
            os.write(writing, b"works")
        except OSError as error:
            os.write(writing, str(error.strerror or error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    said = os.read(reading, 1000).decode(errors="replace")
    os.close(reading)
    os.waitpid(child, 0)
    return Finding(True) if said == "works" else Finding(False, said or "the kernel ended it")


def choose(trust: bool = False) -> Wall:
    """The best wall of this machine.

    Raises:
        Refused: where there is none, unless `trust` says that none is needed.
    """
    if bubblewrap_works().works:
        return Wall(Kind.BUBBLEWRAP)
    if landlock_works().works and seccomp_works().works:
        return Wall(Kind.LANDLOCK)
    if trust:
        return Wall(Kind.NONE)
    raise Refused(
        "This machine can put no wall around submissions: bubblewrap does not work "
        f"({bubblewrap_works().reason}), and neither does Landlock with a filter of system calls "
        f"({landlock_works().reason or seccomp_works().reason}). `python -m autograder doctor` "
        "says how to mend that. If you trust these files as you trust your own, grade with "
        "--trust."
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that was started behind a wall, and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
