"""A filter of system calls: those that computing needs, and no others.

It stands in every launch, behind whichever wall. No socket, no new process or thread, no
signal to others, no mount, no trace: what is not listed fails with EPERM.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from functools import cache

#: AUDIT_ARCH_* of <linux/audit.h>, by what `uname -m` says
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
#: name: (number on x86_64, number on aarch64); None where the system call does not exist
_ALLOWED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "open": (2, None),
    "close": (3, 57),
    "stat": (4, None),
    "fstat": (5, 80),
    "lstat": (6, None),
    "poll": (7, None),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "pread64": (17, 67),
    "readv": (19, 65),
    "writev": (20, 66),
    "access": (21, None),
    "select": (23, None),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "dup": (32, 23),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "exit": (60, 93),
    "uname": (63, 160),
    "fcntl": (72, 25),
    "getcwd": (79, 17),
    "readlink": (89, None),
    "gettimeofday": (96, 169),
    "getrlimit": (97, 163),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "getuid": (102, 174),
    "getgid": (104, 176),
    "geteuid": (107, 175),
    "getegid": (108, 177),
    "getppid": (110, 173),
    "sigaltstack": (131, 132),
    "arch_prctl": (158, None),
    "gettid": (186, 178),
    "time": (201, None),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "getdents64": (217, 61),
    "set_tid_address": (218, 96),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "openat": (257, 56),
    "newfstatat": (262, 79),
    "readlinkat": (267, 78),
    "faccessat": (269, 48),
    "pselect6": (270, 72),
    "ppoll": (271, 73),
    "set_robust_list": (273, 99),
    "getrandom": (318, 278),
    "membarrier": (324, 283),
    "statx": (332, 291),
    "rseq": (334, 293),
    "faccessat2": (439, 439),
}
#: What turning into another program needs besides; it may make no process, either.
_EXECUTING: dict[str, tuple[int | None, int | None]] = {"execve": (59, 221)}
_PRLIMIT64 = (302, 261)
_IOCTL = (16, 29)
#: TCGETS, TIOCGWINSZ, FIONCLEX, FIOCLEX: what opening a file in Python asks
_IOCTL_REQUESTS = (0x5401, 0x5413, 0x5450, 0x5451)

# <linux/bpf_common.h>, <linux/seccomp.h>, <linux/prctl.h>
_LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _KILL, _FAIL = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_SET_SECCOMP, _FILTER_MODE, _SET_NO_NEW_PRIVILEGES = 22, 2, 38


class SeccompError(OSError):
    """The kernel takes no filter. The text says why."""


@cache
def program(executing: bool = False) -> bytes:
    """The filter, as the kernel reads it. A runner makes it once, for all of its forks."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise SeccompError(errno.ENOSYS, f"no list of system calls for {machine} processors")
    column = list(_ARCHITECTURES).index(machine)
    steps = [
        _step(_LOAD_WORD, _ARCHITECTURE_AT),
        _step(_JUMP_IF_EQUAL, _ARCHITECTURES[machine], skip_if=1),
        _step(_RETURN, _KILL),
        _step(_LOAD_WORD, _NUMBER_AT),
    ]
    for numbers in (_ALLOWED | (_EXECUTING if executing else {})).values():
        number = numbers[column]
        if number is not None:
            steps += [_step(_JUMP_IF_EQUAL, number, skip_else=1), _step(_RETURN, _ALLOW)]
    steps += _argument(_IOCTL[column], 1, _IOCTL_REQUESTS)
    steps += _argument(_PRLIMIT64[column], 0, (0,))  # its own limits, and no other process's
    steps.append(_step(_RETURN, _FAIL))
    return b"".join(steps)


def _step(code: int, value: int, skip_if: int = 0, skip_else: int = 0) -> bytes:
    return struct.pack("=HBBI", code, skip_if, skip_else, value)


def _argument(number: int, place: int, values: tuple[int, ...]) -> list[bytes]:
    """The system call `number`, where its argument at `place` is one of `values`."""
    checks = [_step(_LOAD_WORD, _ARGUMENTS_AT + 8 * place)]
    for value in values:
        checks += [_step(_JUMP_IF_EQUAL, value, skip_else=1), _step(_RETURN, _ALLOW)]
    checks.append(_step(_RETURN, _FAIL))
    return [_step(_JUMP_IF_EQUAL, number, skip_else=len(checks)), *checks]


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def no_new_privileges() -> None:
    """Gives up every right that a program on disk could give; a child inherits that."""
    _prctl(_SET_NO_NEW_PRIVILEGES, 1, 0)


def restrict(executing: bool = False) -> None:
    """Puts the filter around this process, for good.

    Args:
        executing: whether it may still turn into another program, which the filter outlives.

    Raises:
        SeccompError: where the kernel refuses.
    """
    no_new_privileges()
    content = program(executing)
    steps = ctypes.create_string_buffer(content, len(content))
    known = _Filter(len(content) // 8, ctypes.addressof(steps))
    _prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(known))


def _prctl(option: int, first: int, second: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = [ctypes.c_ulong(value) for value in (first, second, 0, 0)]
    if libc.prctl(ctypes.c_int(option), *arguments) != 0:
        number = ctypes.get_errno()
        raise SeccompError(number, "the kernel refused a filter of system calls")


def not_traceable() -> None:
    """No process of the same user may look into this one (its memory, its files)."""
    _prctl(4, 0, 0)  # PR_SET_DUMPABLE


def dies_with_parent() -> None:
    """Has this process killed when the one that started it ends."""
    _prctl(1, 9, 0)  # PR_SET_PDEATHSIG, SIGKILL
