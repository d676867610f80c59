"""In the judging process: a right kernel's points where the class has a band of speed for it.

The cell's launches at full size are planned behind the runner's wall (`sandbox.wire`), and the plan
goes, unread, to the process that started this one: it alone reaches a GPU (`judge.own_gpu`).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autograder.judge import overlay
from autograder.judge.bands import band_of
from autograder.judge.sentences import Fault
from autograder.sandbox.remote import Connection, Remote
from autograder.sandbox.wire import EngineFailed, decoded_plan
from course.check.cases import run_of
from course.check.reading import chosen, read_solution
from course.engine.faults import KernelFault, Outcome
from course.gpu.full_size import largest_cases
from course.gpu.sampled import imagined
from course.spec.exercise import Exercise, KernelExercise
from course.words.sentences import sentence
from course.words.verdict import Verdict


@dataclass(frozen=True)
class Banded:
    """A verdict within its exercise's band of speed, and what is to be kept of that.

    Attributes:
        gpu: its properties; none where no GPU is there.
        connection, limits: to a runner, for each launch.
        ask: sends a question to where the GPU is, and gives the answer, a `Reply` as plain data.
    """

    gpu: Mapping[str, int | str]
    connection: Connection
    limits: tuple[float, int]
    ask: Callable[[dict[str, Any]], dict[str, Any]]

    def __call__(
        self, exercise: Exercise, verdict: Verdict
    ) -> tuple[Verdict, dict[str, Any] | None]:
        if verdict.credit <= 0 or band_of(overlay.active().bands, exercise.name) is None:
            return verdict, None
        assert isinstance(exercise, KernelExercise)
        remote = Remote(self.connection, exercise.name, *self.limits)
        plan = _plan(exercise, verdict.source, self.gpu, remote)
        told = self.ask({"exercise": exercise.name, **plan})
        steps = (told["said"], *verdict.next_steps)
        credit = min(verdict.credit, told["share"])
        return replace(verdict, credit=credit, next_steps=steps), told["kept"]


def _plan(
    exercise: KernelExercise, source: str, gpu: Mapping[str, int | str], remote: Remote
) -> dict[str, Any]:
    """`plan` and `constants`; `refused` or `failed` and why; nothing without a GPU."""
    if not gpu:
        return {}
    try:
        case = largest_cases(exercise)[0]
        constants = chosen(read_solution(source, exercise), exercise)
        arguments = imagined(exercise, case, exercise.names(case, constants))
        run = replace(run_of(exercise, case, constants, source, arguments), planned_for=gpu)
        plan = remote.asked(run, decoded_plan)
        return {"plan": base64.b64encode(plan).decode(), "constants": constants}
    except KernelFault as fault:
        fields = {"name": exercise.name, "line": fault.line, **fault.fields}
        # A compiler that breaks off is a fault of the compiler.
        ours = fault.outcome is Outcome.NOT_MEASURED or fault.message_id == "tile_compiler_died"
        how = "failed" if ours else "refused"
        return {how: sentence(fault.message_id, fields, exercise.dialect)}
    except (Fault, EngineFailed) as fault:
        return {"failed": str(fault)}
