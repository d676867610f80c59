"""`kernel[grid](x)` where the kernel's decorator is missing: a sentence in a notebook.

Python refuses the brackets before anything of the course is asked, with words about subscripts.
Here stands the notebook's one hook for errors, which serves `course.notebook.lost_gpu`, too.
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from types import TracebackType
from typing import Any

from course.engine.faults import KernelFault, rejected
from course.notebook.lost_gpu import RAISED, lost_gpu

_SAID = "'function' object is not subscriptable"
_LAUNCH = re.compile(r"([A-Za-z_]\w*)\s*\[.*\]\s*\(")


def install() -> None:
    """Has the notebook that imports the course, if one does, show the sentence."""
    if "IPython" not in sys.modules:
        return
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((TypeError, *RAISED), _shown)


def _shown(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    fault = plain_launch(error, trace) or lost_gpu(error)
    if fault is None:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
    else:
        shell.showtraceback((KernelFault, fault, trace))


def plain_launch(error: BaseException, trace: TracebackType | None) -> KernelFault | None:
    """The fault of a launch of a plain function, or None where the error is another."""
    if str(error) != _SAID or trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    filename = frame.f_code.co_filename
    found = _LAUNCH.search(linecache.getline(filename, trace.tb_lineno))
    function = None if found is None else {**frame.f_globals, **frame.f_locals}.get(found[1])
    if not inspect.isfunction(function):
        return None
    triton = bool({"tl", "triton", "program_id"} & set(function.__code__.co_names))
    name = function.__name__
    message_id = "tile_not_jitted" if triton else "not_jitted"
    fault = rejected(trace.tb_lineno, message_id, name=name)
    fault.happened_in(name, filename, kernel=name)
    fault.dialect = "triton" if triton else "numba"
    return fault
