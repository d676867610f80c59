"""Who waits for something long hears how far it is, and of what is short nothing."""

import pytest

from course.plain import patience


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands until its one entry is set."""
    now = [0.0]
    monkeypatch.setattr(patience, "monotonic", lambda: now[0])
    return now


def _heard(clock: list[float], seconds: float) -> list[tuple[int, int, float, float]]:
    """What is said of 100 parts, ten at a time, of which each ten take so many seconds."""
    said: list[tuple[int, int, float, float]] = []
    with patience.told(lambda *told: said.append(told)):
        gone = []
        for first in patience.each(range(0, 100, 10), 100):
            gone.append(first)
            clock[0] += seconds
    assert gone == [*range(0, 100, 10)]
    return said


def test_it_is_said_after_a_while_and_then_ever_more_seldom(clock: list[float]) -> None:
    assert _heard(clock, 2.0) == [(30, 100, 6.0, 14.0)]
    clock[0] = 0.0
    assert _heard(clock, 6.0) == [(10, 100, 6.0, 54.0), (40, 100, 24.0, 36.0)]


def test_what_is_short_or_about_to_end_is_not_worth_a_word(clock: list[float]) -> None:
    assert _heard(clock, 0.5) == []
    clock[0] = 0.0
    with patience.told(lambda *told: pytest.fail(str(told))):
        for _ in patience.each(range(2), 2):
            clock[0] += 4.9
    for _ in patience.each(range(100), 100):  # nobody waits
        clock[0] += 100.0
