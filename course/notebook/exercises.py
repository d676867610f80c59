"""What a learner sees of an exercise: its statement, a check, every line's traffic, a hint."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from course import exercises
from course.check.answers import check_numbers
from course.check.check import check_function
from course.gpu.present import present
from course.notebook.arguments import WrongAt, arguments_shown
from course.notebook.progress import noted
from course.notebook.seen import with_all, with_worst
from course.notebook.solution import Solution, answer_of, available, solution_of
from course.spec.exercise import Exercise, KernelExercise, NumberExercise
from course.words.statement import Hint, next_hint, statement_html, statement_text

if TYPE_CHECKING:
    from course.gpu.estimated import Estimated
    from course.gpu.profile import Profile
    from course.notebook.gpus import OnGpus
    from course.words.verdict import Verdict


#: of each exercise the case that the last check showed, and where it is wrong
_last_wrong: dict[str, tuple[int, WrongAt | None]] = {}


class _Shown(Exercise):
    """An exercise that shows itself."""

    def hint(self) -> Hint:
        """Shows the next hint; the last one leaves one step to do."""
        return next_hint(self)

    def solution(self) -> Solution:
        """Shows the course's own solution, once a check has passed."""
        return solution_of(self)

    def __repr__(self) -> str:
        return statement_text(self)

    def _repr_html_(self) -> str:
        return statement_html(self)


@dataclass(frozen=True, repr=False)
class _Kernel(_Shown, KernelExercise):
    def check(self, kernel: object = None) -> Verdict:
        """Runs the visible cases and says what came of them. Never raises for a mistake.

        Where this machine has a GPU, a right kernel runs there, too (`course.gpu.own`). Of too
        much traffic a picture shows the access that asks for most. What it is worth is kept as
        progress.
        """
        verdict = with_worst(self, _on_own_gpu(self, check_function(self, kernel)))
        _last_wrong[self.name] = verdict.case_number, verdict.wrong_at
        return _offered(self, noted(self, verdict))

    def case(self, number: int = 1) -> tuple[Any, ...]:
        """The arguments of a visible case, as the check draws them: outputs are not set yet.

        ``course.trace(kernel, thread=3)[4, 256](*ex.NAME.case(2))`` follows a thread on them; each
        has its name, too: ``ex.NAME.case(2).a``. `number` is the verdict's, from 1.

        Raises:
            ValueError: where there is no such case.
        """
        case, wrong_at = _last_wrong.get(self.name, (0, None))
        return arguments_shown(self, number, wrong_at if case == number else None)

    def show(self, kernel: object = None) -> Verdict:
        """Checks too, and shows the kernel's every line with the traffic it makes.

        Pictures show what a warp's first requests touch, for each access.
        """
        return with_all(self, check_function(self, kernel, detailed=True))

    def gpus(self, kernel: object = None) -> OnGpus | Verdict:
        """What the kernel asks of a T4, an A100 and others: a table; the verdict, if it is wrong.

        Of Numba's kernels all these ask for the same sectors, and the verdict says how many.
        """
        verdict = check_function(self, kernel)
        if self.dialect != "triton":
            said = "All GPUs ask for the same sectors here: a table by GPU is for Triton's kernels."
            return replace(verdict, next_steps=(*verdict.next_steps, said))
        if verdict.credit == 0 or not verdict.case_number:
            return verdict
        from course.notebook.gpus import on_gpus  # Triton is not everywhere

        return on_gpus(self, verdict)

    def profile(self, kernel: object = None) -> Profile | Verdict:
        """What limits a right kernel on this machine's GPU at full size; a wrong one's verdict.

        Nsight Compute (`ncu`) counts one launch; where it is missing or refused, that is said.
        """
        verdict = check_function(self, kernel)
        if not verdict:
            return verdict
        from course.gpu.profile import profile  # starts processes: not where nobody asks

        return profile(self, verdict.source)

    def estimate(self, kernel: object = None, gpu: str = "H200") -> Estimated | Verdict:
        """How long a right kernel would take on a GPU at full size, and why; no GPU is needed.

        A few blocks of each launch run on the engine. `gpu` is one whose rates are recorded.
        """
        verdict = check_function(self, kernel)
        if not verdict:
            return verdict
        from course.gpu.estimated import estimated  # reads records: not where nobody asks

        return estimated(self, verdict.source, gpu)


def _offered(exercise: Exercise, verdict: Verdict) -> Verdict:
    """A pass says where the course's own solution is, and behind the last one its answer."""
    if not verdict or not available(exercise):
        return verdict
    said = [f"The course's own: `ex.{exercise.name}.solution()`."]
    for stem in exercises.stems():
        if [*exercises.lesson(stem)][-1] == exercise.name and answer_of(stem):
            said.append(
                f'Its answer to the question at the lesson\'s end: `course.answer("{stem}")`.'
            )
    return replace(verdict, next_steps=(*verdict.next_steps, *said))


def _on_own_gpu(exercise: KernelExercise, verdict: Verdict) -> Verdict:
    if not verdict or not present():
        return verdict
    from course.gpu.own import told  # starts processes: not where there is no GPU

    said = told(exercise.name, exercise.dialect, verdict.source)
    return replace(verdict, next_steps=(*verdict.next_steps, said))


@dataclass(frozen=True, repr=False)
class _Numbers(_Shown, NumberExercise):
    def check(self, answers: object = None) -> Verdict:
        """Compares every entry and names the wrong ones."""
        return _offered(self, noted(self, check_numbers(self, answers)))


def shown(exercise: Exercise) -> Exercise:
    """The same exercise, with what a learner asks of it: `check`, `show` of a kernel, `hint`."""
    kind = _Numbers if isinstance(exercise, NumberExercise) else _Kernel
    return kind(**{field.name: getattr(exercise, field.name) for field in fields(exercise)})
