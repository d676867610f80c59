"""The two engines of a check, side by side."""

import pytest

pytest.importorskip("triton", reason="Triton has no wheel for this system")

from course import exercises
from course.check.check import check_source
from course.engine.runner import Engine
from tools import compare_engines


@pytest.mark.parametrize("compiled", [False, True])
def test_the_engine_of_a_check_is_chosen_by_name(compiled):
    found = []
    exercise = exercises.lesson("hello_triton")["triton_add"]
    source = compare_engines.solutions_of("hello_triton")["triton_add"]
    engine = Engine(compiles=False, compiled=compiled)

    def runner(run):
        found.append(engine(run))
        return found[-1]

    verdict = check_source(exercise, source, runner=runner)
    assert verdict.credit
    assert (found[-1].traffic.loads.requests is not None) is compiled


def test_a_cell_that_goes_astray_is_told_alike_by_both_engines():
    cells = compare_engines.cells_of("hello_triton")
    cell = next(one for one in cells if one.title == "row_scale strides_swapped -> OUT_OF_BOUNDS")
    row = compare_engines.compared(cell)
    assert row.walked.outcome == row.expected
    assert row.walked.message == row.compiled.message
    assert not row.differing
