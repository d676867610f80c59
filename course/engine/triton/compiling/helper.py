"""One child that compiles every launch of a cell, with limits: a second of its kind is warm.

A child for each compile would load the compiler's dialects and ask for its versions anew, which
takes longer than many a compile.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from triton.runtime.jit import JITFunction

from course.plain.bounded import Child, DiedError, LateError, Say, more_seconds

#: Says something of a kernel, plain data: a function of a module, with its arguments.
Work = Callable[[Say], None]
#: Bytes of the number that says how long a piece of work is.
_LENGTH = 8
#: What a pipe takes whole, whatever else it holds: a longer one would wait to be read.
_LONGEST_WORK = 4096
_NOT_TO_BE_SENT = (pickle.PicklingError, TypeError, AttributeError, OSError)


class Helper:
    """A child that knows the functions of a cell; forked when it is first asked."""

    def __init__(self, functions: Sequence[JITFunction], seconds: float) -> None:
        """`seconds` of the processor are for each piece of work."""
        self._functions = {id(function): function for function in functions}
        self._seconds = seconds
        self._child: Child | None = None
        self._asking = -1
        self._is_asked = self._is_awaited = False

    def answers(self, work: Work) -> Iterator[Any] | None:
        """What the work says; None where another child has to do it: this one is busy, or it
        cannot be told of it.

        Raises:
            LateError, DiedError: while it is waited for, as `Child.lines`.
        """
        try:
            if self._is_busy():
                return None
            sent = self._packed(work)
            if len(sent) > _LONGEST_WORK:
                return None
            if self._child is None:
                self._begin()
            os.write(self._asking, len(sent).to_bytes(_LENGTH, "little") + sent)
        except _NOT_TO_BE_SENT:
            return None
        self._is_asked = self._is_awaited = True
        return self._heard()

    def close(self) -> None:
        """Ends the child, if there is one."""
        if self._child is not None:
            self._child.close()
            os.close(self._asking)
            self._child, self._is_asked = None, False

    def _is_busy(self) -> bool:
        """Whether somebody waits for the last answers, or it still works on them for nobody."""
        if self._child is None or not self._is_asked:
            return False
        if self._is_awaited:
            return True
        try:
            self._is_asked = None not in self._child.lines(wait=False)
        except (LateError, DiedError):
            self.close()
        return self._is_asked

    def _begin(self) -> None:
        asked, self._asking = os.pipe()
        functions = self._functions
        try:
            self._child = Child(
                lambda say: _serve(functions, self._seconds, say), self._seconds, stdin=asked
            )
        except OSError:
            os.close(self._asking)
            raise
        finally:
            os.close(asked)

    def _heard(self) -> Iterator[Any]:
        child = self._child
        assert child is not None
        child.waits_anew()
        try:
            for answer in child.lines(wait=True):
                if answer is None:
                    self._is_asked = False
                    return
                yield answer
            raise DiedError("it ended without an answer")
        except (LateError, DiedError):
            self.close()
            raise
        finally:
            self._is_awaited = False

    def _packed(self, work: Work) -> bytes:
        packed = io.BytesIO()
        _Packer(packed, self._functions).dump(work)
        return packed.getvalue()


class _Packer(pickle.Pickler):
    """Names the cell's functions, which parent and child both have."""

    def __init__(self, file: io.BytesIO, functions: Mapping[int, JITFunction]) -> None:
        super().__init__(file)
        self._functions = functions

    def persistent_id(self, obj: Any) -> int | None:
        if not isinstance(obj, JITFunction):
            return None
        if id(obj) not in self._functions:
            raise pickle.PicklingError("a function that was not there when the child began")
        return id(obj)


class _Unpacker(pickle.Unpickler):
    """Gives the functions by what `_Packer` calls them."""

    def __init__(self, file: io.BytesIO, functions: Mapping[int, JITFunction]) -> None:
        super().__init__(file)
        self._functions = functions

    def persistent_load(self, pid: int) -> JITFunction:
        return self._functions[pid]


def _serve(functions: dict[int, JITFunction], seconds: float, say: Say) -> None:
    """The child's life: work after work, and None behind each."""
    with open(0, "rb", closefd=False) as asked:
        while length := asked.read(_LENGTH):
            packed = io.BytesIO(asked.read(int.from_bytes(length, "little")))
            work = _Unpacker(packed, functions).load()
            more_seconds(seconds)
            work(say)
            say(None)
