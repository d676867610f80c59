"""Where the compiler works: in a child with limits, as in a notebook, or in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from course.engine.faults import KernelFault
from course.engine.triton.compiling import compiler
from course.engine.triton.compiling.helper import Helper

Assembler = Callable[[str, int], compiler.Usage]
#: Inside, a death of this process is a kernel's fault, which its parent is told in advance.
Will = Callable[[KernelFault], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Setting:
    """Where the compiler works: in a child or in place, with a disk or without.

    `others` says that a grader asks what the other targets' compilers say, too; `helper` is a child
    that compiles, one for all of a cell. A compiler in place may take its process with it: `will`.
    """

    alone: bool = True
    keeps: bool = True
    others: bool = False
    helper: Helper | None = None
    assembler: Assembler = compiler.assembled
    will: Will = contextlib.nullcontext


_setting = Setting()


def present() -> Setting:
    """Where it works now."""
    return _setting


def work_in_place(
    assembler: Assembler = compiler.assembled,
    others: bool = False,
    will: Will = contextlib.nullcontext,
) -> None:
    """From here on this process, a child with limits, compiles in place and writes nothing."""
    global _setting
    _setting = Setting(alone=False, keeps=False, others=others, assembler=assembler, will=will)


@contextlib.contextmanager
def in_place() -> Iterator[None]:
    """Inside, the compiler works in this process and without limits: for kernels that are known."""
    with changed(alone=False):
        yield


@contextlib.contextmanager
def helped_by(helper: Helper) -> Iterator[None]:
    """Inside, one child compiles what it knows, in the place of one for each compile."""
    with changed(helper=helper):
        yield


@contextlib.contextmanager
def changed(**changes: Any) -> Iterator[None]:
    """Inside, the setting has these other values."""
    global _setting
    before, _setting = _setting, replace(_setting, **changes)
    try:
        yield
    finally:
        _setting = before
