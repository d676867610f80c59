"""What a class costs by its size: measured, and what the model makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder.proof import class_sizes
from autograder.proof.class_sizes import Model, Taken


def taken(students: int, seconds: float, judging_s: float, grader_s: float, workers_s: float):
    return Taken(
        ("02_coalescing",), students, 2, seconds, judging_s, grader_s, workers_s, (), 10**8, 10**8
    )


def test_a_model_has_the_costs_of_what_a_larger_class_takes_more() -> None:
    small = taken(10, seconds=3.0, judging_s=2.5, grader_s=1.0, workers_s=3.0)
    large = taken(110, seconds=13.0, judging_s=11.5, grader_s=4.0, workers_s=19.0)
    model = class_sizes.model_of(small, large)
    assert model.task_s == pytest.approx(0.16)
    assert model.report_s == pytest.approx(0.01)
    assert model.serial_s == pytest.approx(0.02)
    assert model.most_workers == pytest.approx(8)
    assert model.seconds(10, workers=2, cores=2) == pytest.approx(small.seconds)


@pytest.mark.parametrize(
    ("workers", "cores", "seconds"), [(1, None, 171), (2, None, 91), (100, None, 31), (2, 2, 101)]
)
def test_beyond_some_workers_all_wait_for_the_one_grader(workers, cores, seconds) -> None:
    model = Model(start_s=1.0, task_s=0.16, serial_s=0.02, report_s=0.01)
    assert model.seconds(1_000, workers, cores) == pytest.approx(seconds)


@pytest.mark.slow
def test_classes_are_graded_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sizes.json"
    assert class_sizes.main(["1", "3", "--lesson", "00_start", "--out", str(out)]) == 0
    figures = json.loads(out.read_text())
    assert [one["students"] for one in figures["classes"]] == [1, 3]
    for one in figures["classes"]:
        assert one["seconds"] >= one["judging_s"] > 0
        assert min(one["grader_s"], one["workers_s"]) > 0.3, "both import NumPy and Numba"
        assert min(one["grader_bytes"], one["worker_bytes"]) > 10**7
    assert "<svg" in out.with_suffix(".svg").read_text()
    assert "20,000 students, 1,000 workers" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["10"], "two sizes or more"),
        (["0", "5"], "each a class of one or more"),
        (["--lesson", "01_thread"], "there is no lesson 01_thread; there are 00_start"),
        (["1", "2", "--out", "nowhere/sizes.json"], "there is no folder nowhere"),
    ],
)
def test_what_it_cannot_do_is_said_first(given, said, capsys) -> None:
    with pytest.raises(SystemExit):
        class_sizes.main(given)
    assert said in capsys.readouterr().err
