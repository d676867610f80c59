"""A child that compiles all launches of a cell."""

import os
import time
from collections import deque
from functools import partial

import numpy as np
import pytest
import triton

from course.check.check import check_source
from course.engine.faults import Outcome
from course.engine.job import Output, Run
from course.engine.triton import engine
from course.engine.triton.canary import require_right_counts
from course.engine.triton.compiling import asked, found, gate
from course.engine.triton.compiling.helper import Helper
from course.engine.triton.engine import TritonEngine
from course.exercises import all_exercises
from course.plain.bounded import Child, DiedError, LateError

SECONDS = 20.0
ADD = """
import triton
import triton.language as tl

@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < N)
    y = tl.load(y_ptr + at, mask=at < N)
    tl.store(out_ptr + at, x + y, mask=at < N)
"""


@triton.jit
def one(x):
    pass


@triton.jit
def other(x):
    pass


@pytest.fixture
def helper():
    made = Helper([one], SECONDS)
    yield made
    made.close()


def says_where(function, say):
    say([os.getpid(), function.fn.__name__])


def works_on(seconds, say):
    say("begun")
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    say("ended")


def dies(say):
    os._exit(3)


def test_work_after_work_is_done_in_one_child(helper):
    places = [answer for _ in range(3) for answer in helper.answers(partial(says_where, one))]
    assert places == [places[0]] * 3
    assert places[0][0] != os.getpid()
    assert places[0][1] == "one"


def test_a_function_that_the_child_does_not_know_is_left_to_another(helper):
    assert helper.answers(partial(says_where, other)) is None


def test_work_that_nobody_waits_for_any_more_leaves_the_next_to_another(helper):
    answers = helper.answers(partial(works_on, 0.5))
    assert next(answers) == "begun"
    answers.close()
    assert helper.answers(partial(says_where, one)) is None
    end = time.monotonic() + SECONDS
    while (answers := helper.answers(partial(says_where, one))) is None:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert next(answers)[1] == "one"


def test_who_waits_hears_the_end_though_others_ask_before(helper):
    answers = helper.answers(partial(works_on, 0.1))
    assert next(answers) == "begun"
    time.sleep(0.5)
    assert helper.answers(partial(says_where, one)) is None
    assert list(answers) == ["ended"]


@pytest.mark.slow
def test_each_piece_of_work_has_all_of_the_time():
    helper = Helper([], 1.0)
    for _ in range(3):
        assert list(helper.answers(partial(works_on, 0.6))) == ["begun", "ended"]
    with pytest.raises(LateError):
        list(helper.answers(partial(works_on, SECONDS)))
    helper.close()


def test_behind_a_child_that_died_stands_another(helper):
    with pytest.raises(DiedError):
        list(helper.answers(dies))
    [[_, name]] = helper.answers(partial(says_where, one))
    assert name == "one"


@pytest.fixture
def children(monkeypatch, tmp_path):
    """Those of single compiles, in a process that knows of none."""
    require_right_counts()  # a launch of its own, once a process
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(found, "_found", {})
    monkeypatch.setattr(engine, "_came_through", deque())
    begun = []

    class Begun(Child):
        def __init__(self, *args, **named):
            begun.append(self)
            super().__init__(*args, **named)

    monkeypatch.setattr(asked, "Child", Begun)
    return begun


def test_a_check_compiles_graded_cases_ahead_and_the_others_in_one_child(monkeypatch, children):
    exercise = all_exercises()["triton_add"]
    asked, answers = [], Helper.answers
    monkeypatch.setattr(
        Helper, "answers", lambda self, work: asked.append(self) or answers(self, work)
    )
    assert check_source(exercise, ADD).outcome is Outcome.PASS
    assert len(asked) > 1
    assert len(set(map(id, asked))) == 1
    graded = [case for case in exercise.cases if case.traffic]
    assert 1 <= len(children) <= len(graded)
    assert not any(child.running for child in children)


def test_a_cell_that_came_through_is_not_walked_ahead_again(monkeypatch, children):
    cell = all_exercises()["triton_add"], ADD
    assert check_source(*cell).outcome is Outcome.PASS
    monkeypatch.setattr(gate, "begin_ahead", None)
    assert check_source(*cell).outcome is Outcome.PASS


def test_what_was_compiled_ahead_in_vain_is_ended(children):
    wrong = check_source(all_exercises()["triton_add"], ADD.replace("x + y", "x - y"))
    early = check_source(all_exercises()["triton_add"], ADD.replace("y_ptr + at", "y_ptr + at + 1"))
    assert wrong.outcome is Outcome.WRONG_ANSWER
    assert early.outcome is Outcome.OUT_OF_BOUNDS
    assert children
    assert not any(child.running for child in children)


def test_what_is_refused_ahead_is_refused_in_the_same_words(children):
    helper = "@triton.jit\ndef twice(x):\n    a = b = x\n    return a\n\n\n@triton.jit"
    cell = ADD.replace("@triton.jit", helper).replace("x + y", "twice(x) + y")
    refused = check_source(all_exercises()["triton_add"], cell)
    assert refused.outcome is Outcome.DOES_NOT_COMPILE
    assert "one value to several names" in refused.message
    assert "a = b = x" in str(refused)
    assert not children


MANY = f"""
import torch
{ADD}
def add_often(x, y):
    out = torch.empty_like(x)
    while True:
        for warps in (1, 2, 4, 8):
            for block in (16, 32, 64):
                triton_add[(1,)](x, y, out, 16, BLOCK=block, num_warps=warps)
    return out
"""


def test_a_launcher_of_many_kernels_or_without_end_begins_a_few(children):
    numbers = np.ones(64, np.float32)
    run = Run(
        MANY, "add_often", {"x": numbers, "y": numbers}, (), (), 0, 10_000, "triton",
        outputs=(Output("out", (64,), "float32"),),
    )  # fmt: skip
    with TritonEngine().ahead(MANY, [run]):
        assert len(children) == 4
        assert all(child.running for child in children)
    assert not any(child.running for child in children)
