"""Work of the compiler's, asked of whoever does it: its answers as plain data, the last one a fault
where it refuses the kernel, is late or dies.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

from course.engine.faults import KernelFault, Outcome, does_not_compile
from course.engine.triton.compiling import compiler, workplace
from course.engine.triton.compiling.found import plain
from course.engine.triton.compiling.functions import asked_once, code_of, own_functions
from course.engine.triton.compiling.helper import Work
from course.engine.triton.compiling.specialisation import Source
from course.plain.bounded import Child, DiedError, LateError, Say

#: Processor time for one kernel and target: a large tile takes 7 s, an unrolled loop for ever.
COMPILE_SECONDS = 30.0
#: Gluon's functions that make a block, each with the arguments before its layout.
_LAYOUT_BEHIND = {"arange": 2, "zeros": 2, "full": 3}
#: Where an answer has the form that a kernel goes through, on its way to the last one.
FORM = "form"


def answers(work: Work, source: Source, target: int) -> Iterator[dict[str, Any]]:
    """What the compiler's `work` says."""
    return begun(work, source, target)[0]


def begun(work: Work, source: Source, target: int) -> tuple[Iterator[dict[str, Any]], Child | None]:
    """`answers` of work that has begun, and whose child it is, if of one for itself."""
    refusing, place = partial(_refusing, work), workplace.present()
    said, child = None, None
    if place.alone and place.helper is not None:
        said = place.helper.answers(refusing)
    if place.alone and said is None:
        with contextlib.suppress(OSError):  # no child can be made here
            child = Child(refusing, COMPILE_SECONDS)
            said = child.lines(wait=True)
    if said is None:
        return _in_place(refusing, died(source, target)), None
    return _of_a_child(said, child, source, target), child


def _in_place(work: Work, if_it_dies: KernelFault) -> Iterator[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    with workplace.present().will(if_it_dies):
        work(said.append)
    yield from said


def _of_a_child(
    said: Iterator[dict[str, Any]], child: Child | None, source: Source, target: int
) -> Iterator[dict[str, Any]]:
    answer: dict[str, Any] | None = None
    try:
        for answer in said:
            yield answer
        if answer is None or FORM in answer:
            raise DiedError("it ended without an answer")
    except LateError:
        yield plain(late(source, target))
    except DiedError as error:
        yield plain(died(source, target, str(error)))
    finally:
        if child is not None:
            child.close()


def _refusing(work: Work, say: Say) -> None:
    try:
        work(say)
    except KernelFault as fault:
        say(plain(fault))


def late(source: Source, target: int) -> KernelFault:
    """A kernel whose compile was stopped."""
    return KernelFault(
        Outcome.TIMED_OUT, "tile_compile_late", code_of(source.function).first_line,
        kernel=source.function.__name__, seconds=int(COMPILE_SECONDS),
        target=compiler.shown(target),
    )  # fmt: skip


def died(source: Source, target: int, how: str = "it took its process with it") -> KernelFault:
    """A kernel on which the compiler's process ended."""
    for line, call in map(_call_without_layout, own_functions(source.function)):
        if call:
            return does_not_compile(line, "tile_no_layout", call=call, detail=how)
    return does_not_compile(
        code_of(source.function).first_line, "tile_compiler_died",
        kernel=source.function.__name__, detail=how, target=compiler.shown(target),
    )  # fmt: skip


@asked_once
def _call_without_layout(function: Any) -> tuple[int, str]:
    """The first in a function, with its line; (0, '') where all are told their layouts."""
    calls = (node for node in code_of(function).nodes if isinstance(node, ast.Call))
    return next(((one.lineno, name) for one in calls if (name := _without_layout(one))), (0, ""))


def _without_layout(call: ast.Call) -> str:
    """`gl.zeros` where one is not told its layout; '' of all else."""
    function = call.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return ""
    told = len(call.args) > _LAYOUT_BEHIND.get(function.attr, -1)
    if told or function.value.id != "gl" or any(one.arg == "layout" for one in call.keywords):
        return ""
    return f"gl.{function.attr}"
