"""What lowering keeps of one function, and of one loop's ways out."""

from __future__ import annotations

from dataclasses import dataclass, field

from course.engine.simt.lowering.expr import Expr
from course.engine.simt.lowering.signatures import Function
from course.engine.simt.nvvm.merging import Load
from course.engine.simt.nvvm.sinking import Sinking, Way
from course.engine.simt.running.control import Casts


@dataclass
class Frame:
    """One function being lowered: a kernel, or a device function at one call."""

    function: Function
    assigned: set[str]
    env: dict[str, Expr]
    device: bool
    instance: int
    flow: Sinking
    #: loads that are made at the start of a way through a branch, by the statement
    later: dict[Way, dict[int, list[Load]]] = field(default_factory=dict)
    returns: list[tuple[Expr | None, Casts]] = field(default_factory=list)


@dataclass
class LoopTargets:
    """Where `break` and `continue` of one loop leave their variables' types."""

    breaks: list[tuple[dict[str, Expr], Casts]] = field(default_factory=list)
    continues: list[tuple[dict[str, Expr], Casts]] = field(default_factory=list)
