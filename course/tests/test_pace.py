import time

import pytest

from course.tests import pace


def works(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_a_bound_is_held_and_follows_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_beat", lambda: 2 * pace.BEAT_SECONDS)
    with pace.within(0.1):  # 0.2 where a beat takes twice as long
        works(0.15)
    with pytest.raises(AssertionError, match=r"2\.0 times slower"), pace.within(0.1):
        works(0.25)


def test_a_faster_machine_has_the_same_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_beat", lambda: pace.BEAT_SECONDS / 2)
    with pace.within(0.1):
        works(0.07)
    with pytest.raises(AssertionError, match=r"1\.0 times slower"), pace.within(0.1):
        works(0.15)
