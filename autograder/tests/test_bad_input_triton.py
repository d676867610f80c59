"""A bad Triton cell gets behind the wall the verdict that it gets at home, in the same words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.judge.pool import ENGINE
from autograder.sandbox import walls
from autograder.sandbox.cost import started
from autograder.sandbox.remote import Remote
from autograder.sandbox.walls import Kind
from course.check.check import check_source
from course.tests.engine.triton.test_bad_input import CELLS, LAUNCHER_CELLS, LAUNCHERS, RETURN
from course.tests.engine.triton.test_check import ADD, ADD_CELL, SCALE, SCALE_CELL
from course.tests.families import family

#: Every cell of the list, with its exercise.
BAD = {
    **{f"kernel: {what}": (ADD, ADD_CELL.replace(old, new))
       for what, (old, new, *_) in CELLS.items()},
    **{f"returned: {what}": (SCALE, SCALE_CELL.replace(RETURN, new))
       for what, (new, *_) in LAUNCHERS.items()},
    **{f"launcher: {what}": (SCALE, SCALE_CELL.replace(old, new, 1))
       for what, (old, new, *_) in LAUNCHER_CELLS.items()},
}  # fmt: skip


@pytest.fixture(scope="module")
def wall() -> Iterator[Remote]:
    kind = Kind.BUBBLEWRAP if walls.bubblewrap_works().works else Kind.LANDLOCK
    if kind is Kind.LANDLOCK and not (walls.landlock_works().works and walls.seccomp_works().works):
        pytest.skip("no wall stands on this machine")
    process, connection = started(kind, ENGINE)
    yield Remote(connection, "bad", 60.0, 2 * 2**30)
    walls.end(process)


@pytest.mark.parametrize("what", family(BAD, lambda what: what.partition(":")[0]))
def test_a_bad_cell_gets_the_same_verdict_in_grading(what: str, wall: Remote) -> None:
    exercise, cell = BAD[what]
    home, graded = check_source(exercise, cell), check_source(exercise, cell, runner=wall)
    assert not graded.internal_error
    assert graded.outcome is home.outcome
    assert str(graded) == str(home)
