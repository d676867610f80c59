"""From what a learner passes to `.check` to a verdict.

The notebook's check and the grader run the same stages (`course.check.stages`) on the same text:
the whole source of the solution cell, which is read and never executed.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from course.check.cases import VISIBLE_SEED
from course.check.source import definition_line, function_source
from course.check.stages import Stages
from course.check.traced import with_trace
from course.engine.faults import KernelFault, Outcome, rejected
from course.engine.job import Runner
from course.engine.printed import Printed
from course.engine.runner import Engine
from course.engine.triton.compiling.available import require_triton
from course.plain.collecting import collecting_seldom
from course.plain.text import with_plain_ends
from course.plain.threads import one_thread
from course.spec.exercise import Case, Exercise, KernelExercise
from course.words import waiting
from course.words.phrasing import shown
from course.words.sentences import next_step, sentence
from course.words.verdict import Verdict

#: Lines of a check that kernels have printed: more do not help to find the one that matters.
MOST_PRINTED = 20


def check_function(exercise: KernelExercise, function: object, detailed: bool = False) -> Verdict:
    """Checks what a learner passed to `.check`: a kernel, or anything else.

    `detailed` shows every line with its traffic, also where the answer is wrong.
    """
    try:
        if exercise.dialect == "triton":
            require_triton()
        got = _not_a_kernel(exercise, function)
        if got is not None:
            return got
        python = _python(function)
        source = function_source(python)
        if not source.strip():
            return refused(exercise, "no_source", {"name": getattr(python, "__name__", "?")})
        printed = Printed(MOST_PRINTED, labelled=True)
        try:
            engine = Engine(printing=printed)
            with one_thread(), waiting.on_a_check(exercise.dialect):
                verdict = check_source(
                    exercise, source, None, VISIBLE_SEED, engine, detailed, printed
                )
        finally:
            _show(printed, exercise.name)
        verdict = with_trace(exercise, verdict)
        return verdict if exercise.dialect == "numba" else _with_other_gpus(verdict)
    except KernelFault as fault:
        return Stages(exercise, "", detailed).faulted(fault)
    except Exception:
        return not_measured(exercise, traceback.format_exc())


def _show(printed: Printed, name: str) -> None:
    """What the cases' kernels have printed: the first lines, and where the others are."""
    for line in printed.lines:
        print(line)
    more = printed.count - len(printed.lines)
    if more:
        fields = {"more": more, "name": name}
        print(sentence("printed_more", fields), next_step("printed_more", fields))


def _with_other_gpus(verdict: Verdict) -> Verdict:
    """The verdict, with what other GPUs make of this kernel and of those checked before it.

    Where that is not known yet, it is found out in the background, for the next verdict.
    """
    from course.engine.triton.compiling import findings, gate

    sources = gate.passed()
    if verdict.credit:  # it is right, and a grader would ask the other GPUs' compilers
        findings.in_background(verdict.exercise, sources)
    found = [sentence(one.message_id, one.fields) for one in findings.pending_findings()]
    kernel = findings.lacks_allocator(verdict.source, sources) if verdict.credit else None
    if kernel is not None:
        fields = {"kernel": kernel}
        found.append(f"{sentence('tile_allocator', fields)} {next_step('tile_allocator', fields)}")
    return replace(verdict, next_steps=(*verdict.next_steps, *found))


def check_source(
    exercise: KernelExercise,
    source: str,
    cases: Sequence[Case] | None = None,
    seed: int | Sequence[int] = VISIBLE_SEED,
    runner: Runner | None = None,
    detailed: bool = False,
    printed: Printed | None = None,
) -> Verdict:
    """The verdict on a cell's text.

    Args:
        cases: the visible ones unless told.
        seed: of the inputs; every case draws its own from it.
        runner: makes each launch; the engine in this process unless told.
        printed: where the runner keeps what kernels print.
    """
    source = with_plain_ends(source)
    stages = Stages(exercise, source, detailed, advised=cases is None)
    stages.printed = printed
    tried = exercise.cases if cases is None else cases
    try:
        try:
            with collecting_seldom():
                return stages.verdict(tried, seed, runner or Engine())
        except KernelFault as fault:
            return stages.faulted(fault)
    except Exception:
        return not_measured(exercise, traceback.format_exc(), source)


def not_measured(exercise: Exercise, error: str, source: str = "") -> Verdict:
    """The check itself failed: never a pass, and the fault is not the learner's."""
    fields = {"detail": (error.strip().splitlines() or ["no detail"])[-1][:200]}
    return Verdict(
        Outcome.NOT_MEASURED,
        exercise.name,
        sentence("not_measured", fields),
        "not_measured",
        source=source,
        max_points=exercise.points,
        next_steps=(next_step("not_measured", fields),),
        internal_error=error,
    )


def _not_a_kernel(exercise: KernelExercise, function: object) -> Verdict | None:
    """The verdict on something that is no function of the kind that the exercise asks for."""
    plain = inspect.isfunction(function)
    if exercise.dialect == "triton":
        if plain if exercise.returned else _is_jitted(function):
            return None
        if plain or _is_jitted(function):
            wrong = "tile_not_a_launcher" if exercise.returned else "tile_not_jitted"
            return _wrong_kind(exercise, wrong, function)
    elif hasattr(function, "py_func"):
        return None
    elif plain:
        return _wrong_kind(exercise, "not_jitted", function)
    kind = type(function).__name__
    article = "an" if kind[0].lower() in "aeiou" else "a"
    words = {"NoneType": "None", "ellipsis": "`...`", "type": "a class"}
    got = words.get(kind, f"{article} {kind}")
    if isinstance(function, Exercise):
        got = f"the exercise `ex.{function.name}` itself"
    if isinstance(function, bool | int | float | str):
        got += f" ({shown(function)[:40]!r})" if isinstance(function, str) else f" ({function})"
    return refused(exercise, "not_a_kernel", {"got": got})


def _python(function: object) -> Any:
    """The plain function under `@cuda.jit`, or under `@triton.jit` and what wraps it."""
    python: Any = getattr(function, "py_func", None) or function
    while hasattr(python, "fn"):
        python = python.fn
    return python


def _wrong_kind(exercise: KernelExercise, message_id: str, function: object) -> Verdict:
    """The verdict on a function that is plain and should be jitted, or the reverse."""
    python = _python(function)
    name, source = python.__name__, function_source(python)
    line = definition_line(source, name)
    fault = rejected(line, message_id, name=name)
    return Stages(exercise, source, detailed=False).faulted(fault)


def _is_jitted(function: object) -> bool:
    """Whether this is a `@triton.jit` function, under autotune and heuristics or not."""
    return inspect.isfunction(getattr(function, "fn", None)) or hasattr(
        getattr(function, "fn", None), "fn"
    )


def refused(
    exercise: Exercise,
    message_id: str,
    fields: Mapping[str, object],
    outcome: Outcome = Outcome.REJECTED,
    source: str = "",
    line: int | None = None,
) -> Verdict:
    """The verdict on what is no answer, before any case of it."""
    known = {"name": exercise.name, **fields}
    dialect = exercise.dialect if isinstance(exercise, KernelExercise) else "numba"
    return Verdict(
        outcome,
        exercise.name,
        sentence(message_id, known, dialect),
        message_id,
        line=line,
        source=source,
        max_points=exercise.points,
        next_steps=(next_step(message_id, known, dialect),),
        commands=(f"ex.{exercise.name}.hint()",),
    )
