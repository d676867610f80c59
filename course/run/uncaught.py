"""What a program did not catch: told by its own lines, without those that stand in for a GPU."""

from __future__ import annotations

import os
import traceback
from itertools import pairwise
from pathlib import Path
from types import TracebackType

_COURSE = str(Path(__file__).parents[1]) + os.sep
#: The standard library's own import and run machinery.
_FROZEN = "<frozen "


def tell(error: BaseException) -> None:
    """Prints a traceback as Python does, without this package's frames."""
    chain: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in chain:  # an exception may be its own cause
        one.__traceback__ = _of_the_program(one.__traceback__)
        chain.append(one)
        one = one.__cause__ or one.__context__
    traceback.print_exception(error)


def _of_the_program(whole: TracebackType | None) -> TracebackType | None:
    """The frames that are not ours; all of them where there are no others."""
    frames = []
    one = whole
    while one is not None:
        frames.append(one)
        one = one.tb_next
    kept = [one for one in frames if not _is_ours(one.tb_frame.f_code.co_filename)]
    for one, below in pairwise([*kept, None]):
        if one is not None:
            one.tb_next = below
    return kept[0] if kept else whole


def _is_ours(filename: str) -> bool:
    return filename.startswith((_COURSE, _FROZEN))
