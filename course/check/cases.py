"""The cases of a check: their order, their arguments, and a line that runs a kernel on one."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from course.engine.job import Output, Run
from course.plain.arithmetic import plain
from course.spec.case_size import case_size, step_limit
from course.spec.exercise import Case, KernelExercise, Role
from course.spec.inputs import Answer, answer, drawn, given_to_reference
from course.spec.launching import Launch
from course.spec.once import identity

#: Inputs of the visible cases are drawn from this; the grader passes a seed of its own.
VISIBLE_SEED = 20_250_101
#: Inputs that were drawn ahead: a lesson of the course has up to 35 MB, most have less than 10.
#: What is right for them is in float64.
MOST_AHEAD_BYTES = 128 << 20


class _Ahead(NamedTuple):
    """Inputs of a case, and what is right for them; with what the case is known by."""

    held: object
    inputs: dict[str, np.ndarray]
    answer: Answer
    bytes: int


_AHEAD: dict[object, _Ahead] = {}


def ordered_cases(exercise: KernelExercise, cases: Sequence[Case]) -> list[Case]:
    """The smallest first: the order in which a verdict numbers them."""
    return sorted(cases, key=lambda case: case_size(exercise, case))


def case_seed(exercise: KernelExercise, case: Case, seed: int | Sequence[int]) -> list[int]:
    """Entropy of one case's inputs: the seed, the exercise and the case's sizes."""
    base = [seed] if isinstance(seed, int) else list(seed)
    return [*base, zlib.crc32(f"{exercise.name} {case.label}".encode())]


def drawn_case(
    exercise: KernelExercise,
    case: Case,
    constants: Mapping[str, int] | None = None,
    seed: int | Sequence[int] = VISIBLE_SEED,
) -> dict[str, Any]:
    """A case's arguments by parameter name, in order, as a check draws them."""
    ahead = _AHEAD.get(_kept_as(exercise, case, constants, seed))
    known = None if ahead is None else ahead.inputs
    rng = np.random.default_rng(case_seed(exercise, case, seed))
    return drawn(exercise, case, rng, constants, known)


def known_answer(
    exercise: KernelExercise,
    case: Case,
    constants: Mapping[str, int],
    seed: int | Sequence[int],
) -> Answer | None:
    """What is right for a case's inputs, where these were drawn ahead."""
    ahead = _AHEAD.get(_kept_as(exercise, case, constants, seed))
    return None if ahead is None else ahead.answer


def _kept_as(
    exercise: KernelExercise,
    case: Case,
    constants: Mapping[str, int] | None,
    seed: int | Sequence[int],
) -> object:
    return identity(exercise, case, constants), tuple(case_seed(exercise, case, seed))


def draw_ahead(
    exercise: KernelExercise,
    case: Case,
    constants: Mapping[str, int],
    seed: int | Sequence[int] = VISIBLE_SEED,
) -> None:
    """Has `drawn_case` find these inputs kept, and `known_answer` what is right for them, as far
    as the memory for that reaches.
    """
    arguments = drawn_case(exercise, case, constants, seed)
    inputs = {
        array.name: np.ascontiguousarray(arguments[array.name])
        for array in exercise.arrays
        if array.role in (Role.IN, Role.INOUT)
    }
    right = answer(exercise, given_to_reference(exercise, arguments))
    arrays = {id(one): np.asarray(one) for part in (inputs, *right) for one in part.values()}
    size = sum(one.nbytes for one in arrays.values())
    if size + sum(one.bytes for one in _AHEAD.values()) <= MOST_AHEAD_BYTES:
        kept_as = _kept_as(exercise, case, constants, seed)
        _AHEAD[kept_as] = _Ahead((exercise, case), inputs, right, size)


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with arrays of their own."""
    return {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in arguments.items()}


def run_of(
    exercise: KernelExercise,
    case: Case,
    constants: Mapping[str, int],
    source: str,
    arguments: Mapping[str, Any],
    tuned: int = 0,
) -> Run:
    """The job of one case for a runner: the cell, its arguments, its launch, what is measured."""
    names = exercise.names(case, constants)
    grid, block, shared_bytes = exercise.launch.values(names)
    return Run(
        source,
        exercise.name,
        arguments,
        grid,
        block,
        shared_bytes,
        step_limit(exercise, case, constants),
        dialect=exercise.dialect,
        target=exercise.target,
        gluon=exercise.gluon,
        outputs=tuple(
            Output(a.name, exercise.shape(a, names), exercise.dtype(a, case).name, a.contiguous)
            for a in exercise.returned
        ),
        unwritten=tuple(a.name for a in exercise.arrays if a.role is Role.OUT),
        cache=exercise.dram_bytes is not None and case.traffic,
        elsewhere=case.traffic,
        binary=case.traffic
        and (exercise.registers is not None or exercise.most_spilled is not None),
        tuned=tuned,
    )


def on_the_case(
    exercise: KernelExercise,
    case: Case,
    number: int,
    constants: Mapping[str, int],
    fields: Mapping[str, object],
) -> str:
    """A line that shows a visible case: its arguments, or who fails on them, step by step.

    Args:
        fields: of the verdict: `thread` and `block`, or `program`, are followed.
    """
    arguments = f"ex.{exercise.name}.case({number})"
    thread, block = fields.get("thread"), fields.get("block")
    chosen = any(constants[name] != one.default for name, one in exercise.constants.items())
    if chosen or exercise.gluon or exercise.target:  # a trace compiles for the stated GPU
        return arguments
    grid, threads, shared_bytes = exercise.launch.values(exercise.names(case, constants))
    program = tuple(int(at) for at in re.findall(r"\d+", str(fields.get("program", ""))))
    if exercise.dialect == "triton" and program:
        launch = f"[({', '.join(map(str, grid))}{',' if len(grid) == 1 else ''})]" if grid else ""
        return f"course.trace({exercise.name}, block={_sides(program)}){launch}(*{arguments})"
    if not isinstance(exercise.launch, Launch) or thread is None or block is None:
        return arguments
    shared = f", 0, {shared_bytes}" if shared_bytes else ""
    launch = f"[{_sides(grid)}, {_sides(threads)}{shared}]"
    traced = f"course.trace({exercise.name}, block={block}, thread={thread})"
    return f"{traced}{launch}(*{arguments})"


def _sides(sides: tuple[int, ...]) -> str:
    return str(sides[0]) if len(sides) == 1 else str(sides)


def arguments_of(exercise: KernelExercise, number: int) -> tuple[Case, dict[str, Any]]:
    """A visible case, and its arguments by name, in order; tensors for Triton.

    Raises:
        ValueError: where there is no such case.
    """
    cases = ordered_cases(exercise, exercise.cases)
    if not isinstance(number, int) or not 1 <= number <= len(cases):
        raise ValueError(
            f"{exercise.name} has the cases 1 to {len(cases)}, and you asked for {number!r}. The "
            f"verdict says which it shows: ex.{exercise.name}.case(1)."
        )
    case = cases[number - 1]
    values = drawn_case(exercise, case)
    if exercise.dialect == "triton":
        import torch  # the Numba lessons do without it

        values = {
            name: torch.from_numpy(value) if isinstance(value, np.ndarray) else plain(value)
            for name, value in values.items()
        }
    return case, values
