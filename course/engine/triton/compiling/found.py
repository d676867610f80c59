"""What was found of a kernel: its resources or its fault, kept in this process and on this disk."""

from __future__ import annotations

import contextlib
import json
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from triton.runtime.cache import get_cache_manager

from course.engine import stated_gpu
from course.engine.faults import KernelFault, Outcome
from course.engine.triton.compiling import workplace

_KEPT_FILE = "course_gate.json"
#: What says something of this machine's hour, and not of the kernel.
_OF_THE_HOUR = ("tile_compile_late", "tile_compiler_died", "tile_no_layout")


@dataclass(frozen=True)
class Resources:
    """What a compiled kernel takes of the GPU that it was compiled for.

    Attributes:
        target: the compute capability, 80 for 8.0.
        shared_bytes: of each program.
        registers: of each thread; None where nobody asked the assembler.
        spill_bytes: of each thread, kept in local memory for want of registers; or None.
    """

    target: int
    warps: int
    shared_bytes: int
    registers: int | None = None
    spill_bytes: int | None = None

    @property
    def fits(self) -> bool:
        """Whether a program's shared memory fits on the target."""
        return self.shared_bytes <= stated_gpu.shared_limit(self.target)


Found = Resources | KernelFault
_found: dict[str, Found] = {}


def plain(found: Found) -> dict[str, Any]:
    """What JSON can keep of it."""
    if isinstance(found, Resources):
        return {"resources": list(astuple(found))}
    fields = {name: str(value) for name, value in found.fields.items()}
    place = found.function, found.filename
    return {"fault": [found.outcome.value, found.message_id, found.line, fields, *place]}


def from_plain(kept: dict[str, Any]) -> Found:
    """The reverse."""
    if "resources" in kept:
        return Resources(*kept["resources"])
    outcome, message_id, line, fields, *place = kept["fault"]
    fault = KernelFault(Outcome(outcome), message_id, line, **fields)
    fault.happened_in(*place)
    return fault


def known(key: str, binary: bool) -> Found | None:
    """What was found before, in this process or on this disk."""
    found = _found.get(key)
    if found is None and workplace.present().keeps:
        found = _kept(key)
        if found is not None:
            _found[key] = found
    if isinstance(found, Resources) and found.fits and binary and found.registers is None:
        return None
    return found


def remember(key: str, found: Found) -> None:
    """Keeps what was found: in this process, and on this disk where that is allowed."""
    _found[key] = found
    if workplace.present().keeps and getattr(found, "message_id", "") not in _OF_THE_HOUR:
        _keep(key, found)


def _kept(key: str) -> Found | None:
    try:
        path = get_cache_manager(key).get_file(_KEPT_FILE)
        return None if path is None else from_plain(json.loads(Path(path).read_text()))
    except (OSError, RuntimeError, ValueError, KeyError, TypeError):
        return None


def _keep(key: str, found: Found) -> None:
    # A disk that takes nothing: then it is compiled anew next time.
    with contextlib.suppress(OSError, RuntimeError):
        get_cache_manager(key).put(json.dumps(plain(found)), _KEPT_FILE, binary=False)
