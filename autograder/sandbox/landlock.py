"""Landlock: a process gives up the file system but for some folders, and TCP, for good.

Needs no right and no program, only a kernel that has it (Linux 5.13; here 6.2 is the least,
since before that a file could be emptied in spite of it).
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from autograder.sandbox.seccomp import no_new_privileges

#: Landlock's version 3 is the first that also stops the emptying of a file.
LEAST_VERSION = 3
# the same numbers on all processors
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
# <linux/landlock.h>
_EXECUTE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 2, 1 << 3
_ALL_FILE_RIGHTS = {3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_ALL_TCP = 3  # bind and connect
_ALL_SCOPES = 3  # abstract sockets, and signals to processes outside


class _Rules(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


class LandlockError(OSError):
    """The kernel has no Landlock, or refuses it."""


def version() -> int:
    """Landlock's version in this kernel, 0 where there is none."""
    return max(_system_call(_CREATE_RULESET, None, 0, _VERSION_FLAG), 0)


def restrict(readable: Iterable[Path]) -> None:
    """From here on this process and its children read `readable` alone, and write nowhere.

    Files that are open stay so. From Linux 6.7 on no TCP either; from 6.12 on no signal to a
    process outside.

    Raises:
        LandlockError: where the kernel has no Landlock, or an older one than `LEAST_VERSION`.
    """
    known = version()
    if known < LEAST_VERSION:
        raise LandlockError(0, f"Landlock {known} is older than {LEAST_VERSION}")
    rights = _ALL_FILE_RIGHTS[min(known, 5)]
    rules = _Rules(rights, _ALL_TCP if known >= 4 else 0, _ALL_SCOPES if known >= 6 else 0)
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    ruleset = _done(_system_call(_CREATE_RULESET, ctypes.byref(rules), size, 0))
    try:
        for path in readable:
            try:
                handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
                allowed = _EXECUTE | _READ_FILE | (_READ_FOLDER if is_folder else 0)
                beneath = _Beneath(allowed, handle)
                _done(_system_call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(beneath), 0))
            finally:
                os.close(handle)
        no_new_privileges()
        _done(_system_call(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _system_call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    given = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return int(libc.syscall(ctypes.c_long(number), *given))


def _done(result: int) -> int:
    if result < 0:
        raise LandlockError(ctypes.get_errno(), "the kernel refused Landlock")
    return result
