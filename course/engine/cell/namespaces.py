"""What a kernel of a cell finds behind a module's name: a closed table, and no module of Python's.

Triton's compiler looks names up with `getattr`, and a module holds more than its functions: other
modules, their loaders, the globals of everything. So a cell's `tl` is a module that was made here
and holds what `course.engine.cell.admission` lists, each found once, when this is imported.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

from course.engine.cell.operations import LIBDEVICE, MATHEMATICS, OPERATIONS
from course.engine.launcher import gluon
from course.engine.launcher.names import MISSING, TL_DTYPES
from course.plain.arithmetic import CONSTANTS

#: Every dotted name that a kernel may use.
PATHS = frozenset(
    {f"tl.{name}" for name in (*OPERATIONS, *TL_DTYPES)}
    | {f"tl.math.{name}" for name in MATHEMATICS}
    | {f"tl.extra.{space}libdevice.{n}" for n in LIBDEVICE for space in ("", "cuda.")}
    | {"tl.PropagateNan.ALL", "tl.PropagateNan.NONE"}
    | gluon.PATHS
    | set(CONSTANTS)
    | {"triton.cdiv", "triton.next_power_of_2"}
)
#: What Triton calls a module: by these it knows its own, whose attributes it does not hash.
_NAMES = {"tl": "triton.language", "math": "math", "np": "numpy", "gl": gluon.NAME}


def behind(path: str) -> Any:
    """What a kernel finds behind a path: a listed thing, a closed namespace, or MISSING."""
    return _table().get(path, MISSING)


@cache
def _table() -> dict[str, Any]:
    """Every listed path that this Triton has, and the namespaces that lead to them."""
    table: dict[str, Any] = {}
    for path in sorted(PATHS):
        found = _found(path)
        if found is not MISSING:
            table[path] = found
    for path in sorted(table):
        _enter(table, path)
    language = table["tl"]
    vars(table["triton"])["language"] = language
    table["torch"] = _namespace("torch")  # importable, and of no use in a kernel
    return table


def _found(path: str) -> Any:
    """What Triton or Python holds under a listed path; MISSING where this version lacks it."""
    if path in CONSTANTS:
        return CONSTANTS[path]
    root, *names = path.split(".")
    held: Any = {"tl": tl, "triton": triton, "gl": gluon.LANGUAGE}[root]
    if "libdevice" in names:  # the target's own, which is what a launch would take
        held, names = libdevice, names[-1:]
    for name in names:
        held = getattr(held, name, MISSING)
    return held


def _enter(table: dict[str, Any], path: str) -> None:
    """Puts a path's thing into its namespace, and that into the one around it."""
    outer, _, name = path.rpartition(".")
    if not outer:
        return
    if outer not in table:
        table[outer] = _namespace(outer)
        _enter(table, outer)
    if isinstance(table[outer], ModuleType):  # a listed function of a class comes with the class
        vars(table[outer])[name] = table[path]


def _namespace(path: str) -> ModuleType:
    root, dot, rest = path.partition(".")
    return ModuleType(_NAMES.get(root, root) + dot + rest)
