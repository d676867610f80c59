"""What can become of a kernel, and the one exception that carries it.

A fault is data: an outcome, the id of its sentence in `course.words.sentences`, and the values that
the sentence names. Nothing here knows how a sentence reads.
"""

from __future__ import annotations

import ast
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from course.engine.traffic import Traffic


class Outcome(Enum):
    """Every way in which a check can end. The value is what a report prints."""

    PASS = "PASS"
    NOT_ATTEMPTED = "NOT_ATTEMPTED"
    REJECTED = "REJECTED"
    DOES_NOT_COMPILE = "DOES_NOT_COMPILE"
    OUT_OF_BOUNDS = "OUT_OF_BOUNDS"
    UNINITIALISED = "UNINITIALISED"
    RACE = "RACE"
    BARRIER_DIVERGENCE = "BARRIER_DIVERGENCE"
    TIMED_OUT = "TIMED_OUT"
    WRONG_ANSWER = "WRONG_ANSWER"
    TOO_MUCH_TRAFFIC = "TOO_MUCH_TRAFFIC"
    TOO_DIVERGENT = "TOO_DIVERGENT"
    BANK_CONFLICTS = "BANK_CONFLICTS"
    TOO_SERIAL = "TOO_SERIAL"
    TOO_MANY_RESOURCES = "TOO_MANY_RESOURCES"
    NOT_MEASURED = "NOT_MEASURED"

    @property
    def label(self) -> str:
        """`WRONG ANSWER`: what a badge says."""
        return self.value.replace("_", " ")


class KernelFault(Exception):
    """A kernel that cannot go on: what happened, on which line, and the live values.

    Args:
        outcome: one of the enum above.
        message_id: key of the sentence in `course.words.sentences.WORDS`.
        line: line of the source that the learner sees (1-based, of the cell), or None.
        fields: values that the sentence names.
    """

    #: `course.words.fault_panel`, handed in where a learner reads what is raised
    reader: ClassVar[Any] = None

    def __init__(
        self, outcome: Outcome, message_id: str, line: int | None = None, **fields: object
    ) -> None:
        self.outcome = outcome
        self.message_id = message_id
        self.line = line
        self.fields = fields
        #: what was counted before the fault, where a launch had begun
        self.traffic: Traffic | None = None
        #: the kernel that was launched, and the file and function that `line` belongs to
        self.kernel = ""
        self.filename = ""
        self.function = ""
        #: whether `course.trace` has shown the steps that led here
        self.traced = False
        #: whose words tell of it, `numba` or `triton`
        self.dialect = "numba"
        super().__init__(outcome.value, message_id, line, fields)

    def __str__(self) -> str:
        if self.reader is None:
            return f"{self.outcome.value}: {self.where}{self.message_id} {self.fields}"
        return self.reader.text(self)

    @property
    def where(self) -> str:
        """`line 7: `, or `line 7 of norm: ` where that is not the kernel, or its file, that was
        launched.
        """
        if self.line is None:
            return ""
        return f"line {f'{self.line:d} of {self.function}' if self.function else self.line}: "

    def happened_in(self, function: str, filename: str, kernel: str = "") -> None:
        """Notes where the line is, from the inside out: what is known already stays."""
        if not self.filename:
            self.filename = filename
            self.function = "" if kernel else function
        self.kernel = self.kernel or kernel

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in the place of a traceback."""
        return (str(self) if self.reader is None else self.reader.panel(self)).splitlines()


def rejected(node: ast.AST | int | None, message_id: str, **fields: object) -> KernelFault:
    """A REJECTED fault at a node of the tree, or on a line."""
    return KernelFault(Outcome.REJECTED, message_id, _line(node), **fields)


def does_not_compile(node: ast.AST | int | None, message_id: str, **fields: object) -> KernelFault:
    """A DOES_NOT_COMPILE fault at a node of the tree, or on a line."""
    return KernelFault(Outcome.DOES_NOT_COMPILE, message_id, _line(node), **fields)


def not_measured(node: ast.AST | int | None, message_id: str, **fields: object) -> KernelFault:
    """A NOT_MEASURED fault at a node of the tree, or on a line."""
    return KernelFault(Outcome.NOT_MEASURED, message_id, _line(node), **fields)


def too_many_resources(
    node: ast.AST | int | None, message_id: str, **fields: object
) -> KernelFault:
    """A TOO_MANY_RESOURCES fault at a node of the tree, or on a line."""
    return KernelFault(Outcome.TOO_MANY_RESOURCES, message_id, _line(node), **fields)


def tuner_goes_on(fault: KernelFault) -> bool:
    """Whether Triton's tuner goes on to its next configuration."""
    asserted = fault.message_id == "tile_static_assert"
    return asserted or fault.outcome is Outcome.TOO_MANY_RESOURCES


def _line(node: ast.AST | int | None) -> int | None:
    return node if isinstance(node, int) or node is None else getattr(node, "lineno", None)


def rejected_syntax(node: ast.AST | int | None, construct: str, instead: str | None) -> KernelFault:
    """A REJECTED fault of a construct that a cell may not hold, with what to write for it."""
    return rejected(node, "rejected_syntax", construct=construct, instead=instead)
