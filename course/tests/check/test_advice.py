"""Advice that fails itself leaves the plain verdict, and is heard of in tests."""

import pytest

from course.check import advice
from course.check.check import check_source
from course.engine.faults import Outcome
from course.exercises import lesson

VECTOR_ADD = lesson("threads")["vector_add"]
HEAD = "from numba import cuda\n\n\n@cuda.jit\ndef vector_add(a, b, c):\n    i = cuda.grid(1)\n"
GUARDED = HEAD + "    if i < c.size:\n        "
WRONG_SIGN = GUARDED + "c[i] = a[i] - b[i]\n"
NO_GUARD = HEAD + "    c[i] = a[i] + b[i]\n"


def fails(*_: object) -> None:
    raise ZeroDivisionError


@pytest.fixture(params=[(WRONG_SIGN, "told"), (NO_GUARD, "cause_of")], ids=["wrong", "fault"])
def broken(request, monkeypatch) -> str:
    """A wrong kernel, and the advice on it breaks."""
    source, name = request.param
    monkeypatch.setattr(advice, name, fails)
    return source


def test_a_learner_gets_the_plain_verdict(broken, monkeypatch):
    monkeypatch.setattr(advice, "FAILS_ALOUD", False)
    verdict = check_source(VECTOR_ADD, broken)
    assert verdict.outcome in (Outcome.WRONG_ANSWER, Outcome.OUT_OF_BOUNDS)
    assert verdict.internal_error == ""


def test_a_test_fails(broken):
    verdict = check_source(VECTOR_ADD, broken)
    assert verdict.outcome is Outcome.NOT_MEASURED
    assert "ZeroDivisionError" in verdict.internal_error
