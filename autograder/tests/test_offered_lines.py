"""The last line of a verdict on a visible case can be run: of each lesson for one wrong answer."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import course
from autograder.proof.witness import Witness, witnesses_of
from course import exercises
from course.check.check import check_source
from course.check.traced import with_trace
from course.engine.faults import KernelFault, Outcome
from course.exercises import lesson, stems
from course.notebook import exercises as shown
from course.spec.exercise import KernelExercise
from course.tests.families import family

ADD = "triton_add"


def _first_wrong(stem: str) -> list[Witness]:
    """A kernel of each exercise of a lesson that gives a wrong answer in a visible case."""
    found: dict[str, Witness] = {}
    for one in witnesses_of(stem):
        kernel = isinstance(lesson(stem)[one.exercise], KernelExercise)
        if kernel and one.outcome is Outcome.WRONG_ANSWER and not one.held_out:
            found.setdefault(one.exercise, one)
    return list(found.values())


MEMBERS = family(
    [(stem, one) for stem in stems() for one in _first_wrong(stem)],
    lambda member: member[0],
    lambda member: f"{member[1].exercise} {member[1].name}",
)


@pytest.mark.slow
@pytest.mark.parametrize(("stem", "witness"), MEMBERS)
@pytest.mark.family
def test_the_line_that_a_wrong_answer_offers_runs(
    stem: str, witness: Witness, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exercise = lesson(stem)[witness.exercise]
    function = _defined(witness, tmp_path)
    assert isinstance(exercise, KernelExercise)
    verdict = with_trace(exercise, check_source(exercise, witness.source))
    line = verdict.commands[-1]
    capsys.readouterr()
    names = {"course": course, "ex": _Exercises(stem), witness.exercise: function}
    returned = eval(line, names)
    assert f"ex.{witness.exercise}.case({verdict.case_number})" in line
    if line.startswith("course.trace("):
        assert "   -> " in capsys.readouterr().out
    else:
        assert len(returned) == len(exercise.passed)


@pytest.mark.parametrize("name", ["no_mask", "programs_128_apart"])
def test_the_line_that_a_fault_of_a_program_offers_leads_to_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    stem = "hello_triton"
    witness = next(one for one in witnesses_of(stem) if (one.exercise, one.name) == (ADD, name))
    function = _defined(witness, tmp_path)
    exercise = lesson(stem)[ADD]
    assert isinstance(exercise, KernelExercise)
    verdict = check_source(exercise, witness.source)
    line = verdict.commands[-1]
    assert line.startswith(f"course.trace({ADD}, block=")
    capsys.readouterr()
    with pytest.raises(KernelFault) as caught:
        eval(line, {"course": course, "ex": _Exercises(stem), ADD: function})
    assert caught.value.outcome is witness.outcome
    assert "offsets = " in capsys.readouterr().out


def _defined(witness: Witness, folder: Path) -> Any:
    """The function of a witness, out of a file: a kernel needs its source."""
    path = folder / f"{witness.exercise}.py"
    path.write_text(witness.source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(witness.exercise, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, witness.exercise)


class _Exercises:
    """`ex` of a lesson's notebook."""

    def __init__(self, stem: str) -> None:
        self.stem = stem

    def __getattr__(self, name: str) -> Any:
        return shown.shown(exercises.lesson(self.stem)[name])
