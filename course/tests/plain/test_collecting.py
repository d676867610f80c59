"""How often Python collects while a check runs, and in the compiler's child."""

import gc

import pytest

from course.check.cases import VISIBLE_SEED
from course.check.check import check_source
from course.exercises import all_exercises
from course.plain.bounded import Child
from course.plain.collecting import BEFORE_COLLECTING, collecting_seldom


def test_behind_it_python_collects_as_often_as_before_also_where_it_failed():
    before = gc.get_threshold()
    inside = []

    def fails():
        inside.append(gc.get_threshold())
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"), collecting_seldom():
        fails()
    assert inside == [(BEFORE_COLLECTING, *before[1:])]
    assert gc.get_threshold() == before


def test_a_check_collects_seldom_and_leaves_the_learners_settings():
    exercise, before, seen = all_exercises()["double"], gc.get_threshold(), []

    def runner(run):
        seen.append(gc.get_threshold()[0])
        raise RuntimeError("enough")

    cell = "from numba import cuda\n\n@cuda.jit\ndef double(x, out):\n    out[0] = x[0]\n"
    check_source(exercise, cell, None, VISIBLE_SEED, runner)
    assert seen == [BEFORE_COLLECTING]
    assert gc.get_threshold() == before


def test_a_bounded_child_collects_seldom():
    child = Child(lambda say: say(gc.get_threshold()[0]), 10.0)
    assert list(child.lines(wait=True)) == [BEFORE_COLLECTING]
