"""What a tutor would add to a verdict on visible cases: why it is so, found in text and results.

Advice must not cost the verdict: what fails in here leaves the plain one, but in tests, where it
fails aloud.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from course.check.bindings import Bindings
from course.check.causes import (
    cause_of,
    launch_before_cause,
    launched_in,
    serial_cause,
    stepped_over,
)
from course.check.compare import Compared
from course.check.kernel_text import Cause, Launched, calls_of, path_of
from course.check.launch_text import launch_cause
from course.check.loose_ends import (
    alike,
    begins_late,
    begun_anew,
    by_ones,
    compared_alone,
    defined_twice,
    in_vain,
    left_early,
    of_maximum,
    one_apart,
    unused,
    x_for_rows,
)
from course.check.misplaced import misplaced
from course.check.notes import numba_notes, triton_notes
from course.check.outputs import axes_of
from course.check.program_bounds import mask_cause
from course.check.program_races import program_race
from course.check.traffic_causes import busy_cause, traffic_cause
from course.check.tutor import UNWRITTEN, Told, told
from course.engine.cell.solution import Solution
from course.engine.faults import KernelFault
from course.engine.traffic import Traffic
from course.plain.trees import nodes
from course.spec.exercise import Array, Case, KernelExercise, Parameter, Role, Scalar
from course.spec.launching import Programs
from course.words.verdict import Row

#: Whether an error in the advice is raised: in tests and in trials of the witnesses.
FAILS_ALOUD = False
#: Cases of one type that have to be right, so that wrong ones of the other say something.
FEWEST_RIGHT = 2
#: What is told of results alone where they say little: a cause in the text tells more.
_GENERAL = ("", "left_as_it_was")
#: What tells a `tl.dot` how float32 is multiplied.
_PRECISION = ("input_precision", "allow_tf32")

_Self = TypeVar("_Self")
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def _optional(
    find: Callable[Concatenate[_Self, _Given], _Found],
) -> Callable[Concatenate[_Self, _Given], _Found | None]:
    """None where the advice itself fails."""

    @wraps(find)
    def found(self: _Self, /, *args: _Given.args, **named: _Given.kwargs) -> _Found | None:
        try:
            return find(self, *args, **named)
        except Exception:
            if FAILS_ALOUD:
                raise
            return None

    return found


@_optional
def of_memory(fault: KernelFault, tree: ast.Module, named: Mapping[str, Parameter]) -> Cause | None:
    """Why a Triton kernel left a tensor, or found nothing in it, where the text shows it.

    Args:
        named: the exercise's parameters by the kernel's names for them, where the check launches.
    """
    return mask_cause(fault, tree, named) or launch_before_cause(fault, tree)


class Advice:
    """What is known of an admitted cell, and what can be told from it."""

    def __init__(
        self, exercise: KernelExercise, cell: Solution, constants: Mapping[str, int]
    ) -> None:
        self.exercise = exercise
        self.cell = cell
        self.constants = constants
        #: the parameters by the kernel's names for them
        self.known = dict(zip(cell.parameters, exercise.passed, strict=False))

    @_optional
    def of_fault(self, fault: KernelFault, case: Case) -> Cause | None:
        """Why it happened, where the kernel's text shows it."""
        if self.exercise.dialect == "triton":
            if found := launch_cause(self.cell.tree, self.cell.constants):
                return found
            if fault.message_id == "tile_race":
                return program_race(fault, self.cell.tree, self._launched(case))
            if fault.message_id == "tile_race_warps":
                return by_ones(self.cell.tree)
            named = self.known if isinstance(self.exercise.launch, Programs) else {}
            return of_memory(fault, self.cell.tree, named) or defined_twice(self.cell.tree)
        roles = {name: one.role for name, one in self.known.items() if isinstance(one, Array)}
        found = cause_of(fault, self.cell.tree, self._launched(case), roles)
        return found or defined_twice(self.cell.tree)

    @_optional
    def of_serial(self, traffic: Traffic) -> tuple[int | None, Cause | None]:
        """(line of the loop around the busiest line, what keeps others from its turns)."""
        launched = Launched((1,), (1,))
        if self.exercise.dialect == "triton":
            return busy_cause(traffic, self.cell.tree, launched)
        return serial_cause(self.cell.tree, traffic.busiest_lines["longest_warp"], launched)

    @_optional
    def of_traffic(self, row: Row, traffic: Traffic, case: Case) -> Cause | None:
        """Why a row of a case is over its budget, where text and counts show it."""
        exercise = self.exercise
        item_bytes = {
            array.name: exercise.dtype(array, case).itemsize
            for array in exercise.arrays
            if not array.within and array.name not in case.transposed
        }
        given = self.cell.tree, self._launched(case), item_bytes, exercise.dialect
        return traffic_cause(row, traffic, *given)

    @_optional
    def of_answers(
        self, ordered: Sequence[Case], compared: Callable[[], Sequence[Sequence[Compared]]]
    ) -> Told:
        """What all cases say together of the first output that is wrong.

        Args:
            ordered: the cases, the smallest first.
            compared: gives of each what it left, beside what was expected.
        """
        outputs = compared()
        cases = next(
            list(one) for one in zip(*outputs, strict=True) if any(case.wrong.any() for case in one)
        )
        found = told(
            cases,
            axes_of(self.exercise, cases[0]),
            self.exercise.reference,
            self.exercise.slips,
            self.exercise.magnitude,
            [one.name for one in outputs[0]],
        )
        cause = launch_cause(self.cell.tree, self.cell.constants)
        if cause is None and not found.message_id.startswith("slip_"):
            cause = self._of_text() or self._stepped_over(ordered, found)
        if cause is not None:
            found = replace(found, message_id=cause[0], fields=cause[1])
        if found.message_id in _GENERAL:
            guesses = self._guesses(ordered, cases, found)
            if cause := next(filter(None, guesses), None):
                found = replace(found, message_id=cause[0], fields=cause[1])
        inputs = (array for array in self.exercise.arrays if array.role is not Role.OUT)
        shown = ordered[found.shown.number - 1]
        single = any(self.exercise.dtype(one, shown).name == "float32" for one in inputs)
        dot = "tl.dot" if single and _multiplies_floats(self.cell.tree) else None
        exp = _free_exponential(self.cell.tree)
        return replace(found, fields={"dot": dot, "exp": exp, **found.fields})

    def _guesses(
        self, ordered: Sequence[Case], cases: Sequence[Compared], found: Told
    ) -> Iterator[Cause | None]:
        """What may be the cause where the results show none, the likeliest first."""
        tree = self.cell.tree
        if stored := _right_by_rows(ordered, cases):
            yield "strides_unread", {"stored": stored}
        if flag := self._wrong_under(ordered, cases):
            yield flag
        if _some_not_finite(cases) and _of_bare(tree, _free_exponential(tree)):
            yield "bare_exponential", {}
        if (call := _reordering(tree)) is not None:
            yield "any_order", {"line": call.lineno, "call": path_of(call.func)}
        half = ["float16" in case.dtypes.values() for case in ordered]
        if _wrong_alone(half, cases):
            yield "half_alone", {}
        cut = _cut_to_tf32(tree)
        if cut and _wrong_alone([not one for one in half], cases):
            yield "tf32_alone", {"line": cut[0]}
        if not _wrong_alone([not one for one in half], cases):
            yield from self._unasked(ordered, cases)
        if self.exercise.dialect == "numba":
            yield left_early(tree)
            yield x_for_rows(tree)
        if elsewhere := misplaced(cases):
            yield "misplaced", elsewhere
        yield begins_late(tree)
        yield alike(tree)
        yield one_apart(tree)
        if found.mistake.message_id != UNWRITTEN or not found.shown.wrong.all():
            yield in_vain(tree)
            yield unused(tree)

    def _of_text(self) -> Cause | None:
        """What the text alone shows, and what cannot be meant."""
        tree = self.cell.tree
        finds = (compared_alone, begun_anew, of_maximum, defined_twice, by_ones)
        return next(filter(None, (find(tree) for find in finds)), None)

    def _stepped_over(self, ordered: Sequence[Case], found: Told) -> Cause | None:
        """What no thread of a Numba kernel wrote, where the index goes past it."""
        if self.exercise.dialect != "numba" or found.mistake.message_id != UNWRITTEN:
            return None
        launched = self._launched(ordered[found.shown.number - 1])
        mine = (name for name, one in self.known.items() if one.name == found.shown.name)
        return next((stepped_over(self.cell.tree, name, launched) for name in mine), None)

    def _wrong_under(self, ordered: Sequence[Case], cases: Sequence[Compared]) -> Cause | None:
        """A flag that is alike in all cases that are wrong, and otherwise in all that are right.

        The smallest case may be right whatever its flag says.
        """
        wrong = [bool(one.wrong.any()) for one in cases]
        given = [(case, self.exercise.names(case, self.constants)) for case in ordered]
        for one in self.exercise.parameters:
            if isinstance(one, Scalar) and one.dtype == "bool" and not all(wrong):
                flags = [bool(self.exercise.number(one, *case)) for case in given]
                for value, name in ((True, "flag_unread"), (False, "flag_unasked")):
                    first, *others = (flag is value for flag in flags)
                    if others == wrong[1:] and wrong[0] <= first:
                        return name, {"flag": one.name}
        return None

    def _unasked(self, ordered: Sequence[Case], cases: Sequence[Compared]) -> Iterator[Cause]:
        """A flag that is false in all cases that are wrong, and in some that are right.

        What belongs to it alone may do no harm where sizes are small.
        """
        given = [(case, self.exercise.names(case, self.constants)) for case in ordered]
        for one in self.exercise.parameters:
            if isinstance(one, Scalar) and one.dtype == "bool":
                without = [not self.exercise.number(one, *case) for case in given]
                if _wrong_alone(without, cases):
                    yield "flag_unasked", {"flag": one.name}

    @_optional
    def of_pass(self, graded: Sequence[Traffic]) -> list[Cause]:
        """What a tutor would mention all the same; `graded` as in `triton_notes`."""
        exercise, cell = self.exercise, self.cell
        if exercise.dialect == "triton":
            inputs = [one.name for one in exercise.arrays if one.role is Role.IN]
            return triton_notes(cell.tree, graded, inputs)
        float32 = [
            name
            for name, one in self.known.items()
            if isinstance(one, Array)
            and all(exercise.dtype(one, case).name == "float32" for case in exercise.cases)
        ]
        return numba_notes(cell.tree, cell.line, float32, cell.constants)

    def _launched(self, case: Case) -> Launched:
        return launched_in(self.exercise, case, self.constants, self.known, self.cell.constants)


def _right_by_rows(ordered: Sequence[Case], cases: Sequence[Compared]) -> str:
    """The arrays that lie by columns in every case that is wrong, and in none that is right."""
    wrong = [bool(one.wrong.any()) for one in cases]
    if [bool(case.transposed) for case in ordered] != wrong or wrong.count(False) < 2:
        return ""
    return " and ".join(ordered[wrong.index(True)].transposed)


def _some_not_finite(cases: Sequence[Compared]) -> bool:
    """Whether a case has wrong results that are infinite or NaN."""
    return any(not np.isfinite(one.got[one.wrong]).all() for one in cases)


def _wrong_alone(brings: Sequence[bool], cases: Sequence[Compared]) -> bool:
    """Whether every case that is wrong brings something, and some that are right do not.

    Where the cases that are wrong are the largest, that may as well be the reason.
    """
    wrong = [one.sizes for one in cases if one.wrong.any()]
    right = [one.sizes for one in cases if not one.wrong.any()]
    largest = any(
        min(sizes[name] for sizes in wrong) > max(sizes[name] for sizes in right)
        for name in (wrong[0] if right else ())
    )
    return (
        not largest
        and brings.count(False) >= FEWEST_RIGHT
        and all(its for its, one in zip(brings, cases, strict=True) if one.wrong.any())
    )


def _multiplies_floats(tree: ast.Module) -> bool:
    """Whether a `tl.dot` may cut its blocks to TF32, or blocks of three axes may become one."""
    return bool(_cut_to_tf32(tree)) or any(
        isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 2
        for node in nodes(nodes(tree, ast.FunctionDef), ast.Subscript)
    )


def _cut_to_tf32(tree: ast.Module) -> list[int]:
    """The lines of each `tl.dot` whose blocks may be float32, and which is not told to keep it.

    Both blocks of a `tl.dot` are of one type: one that is made float16 or bfloat16 tells of both.
    """
    return [
        call.lineno
        for names in map(Bindings, nodes(tree, ast.FunctionDef))
        for call in calls_of(names.function, "tl.dot", "dot")
        if not any(_is_made_half(names, one) for one in call.args[:2])
        and not any(
            one.arg in _PRECISION and getattr(one.value, "value", "") not in ("tf32", True)
            for one in call.keywords
        )
    ]


def _is_made_half(names: Bindings, node: ast.expr) -> bool:
    """``b.to(tl.float16)``, or a name of that."""
    made = names.fixed(node)
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
        return False
    types = [path_of(one) for one in (*made.args, *(k.value for k in made.keywords))]
    return made.func.attr == "to" and any(one in ("tl.float16", "tl.bfloat16") for one in types)


def _free_exponential(tree: ast.Module) -> int | None:
    """The line of the first exponential, where no line looks for a largest number."""
    calls = {path_of(one.func).rpartition(".")[2]: one.lineno for one in nodes(tree, ast.Call)}
    return None if {"max", "maximum"} & calls.keys() else calls.get("exp")


def _of_bare(tree: ast.Module, line: int | None) -> bool:
    """Whether nothing is subtracted on a line, nor given another sign."""
    return line is not None and not any(
        isinstance(getattr(node, "op", None), ast.Sub | ast.USub) and node.lineno == line
        for node in nodes(tree, ast.expr)
    )


def _reordering(tree: ast.Module) -> ast.Call | None:
    """The first call of a cell that lets the compiler choose the order of elements."""
    for node in nodes(tree, ast.Call):
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        allowed = named.get("can_reorder")
        chosen = isinstance(allowed, ast.Constant) and allowed.value is True
        if chosen or path_of(node.func) == "tl.view":
            return node
    return None
