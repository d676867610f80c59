"""What grading costs: whole notebooks, and the wall around each launch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.proof import bench
from autograder.sandbox import cost
from autograder.sandbox.limits import processor_seconds

_SPIN = "import time\nwhile time.process_time() < 0.5: pass"


@pytest.fixture
def all_cores() -> Iterator[None]:
    """The bench works on one core: this process goes back to all of them."""
    cores = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, cores)


def test_processor_time_of_a_child_counts_while_it_runs_and_when_its_parent_has_waited() -> None:
    before = processor_seconds(os.getpid())
    # a shell that waits for the one that works, and then lives on
    command = f"{sys.executable} -c '{_SPIN}'; read line"
    with subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE) as process:
        deadline = time.monotonic() + 30
        while processor_seconds(os.getpid()) - before < 0.4 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert 0.4 <= processor_seconds(os.getpid()) - before < 5
        process.communicate(b"\n")


@pytest.mark.usefixtures("all_cores")
@pytest.mark.slow
def test_a_lesson_s_figures_stand_beside_those_of_the_other_bench(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = cost.costs
    monkeypatch.setattr(cost, "costs", lambda: list(costs(30))[:1])
    path = tmp_path / "bench.json"
    path.write_text('{"speed": 1}')
    status = bench.main(["00_start", "--into", str(path)])
    figures = json.loads(path.read_text())
    assert figures["speed"] == 1
    [lesson] = figures["judging"]
    assert lesson["lesson"] == "00_start"
    assert 0 < lesson["another_processor_s"] < lesson["first_s"] * 2
    assert (status == 0) == lesson["met"]
    [wall] = figures["isolation"]
    assert wall["there_ms"] > wall["here_ms"] > 0
    said = capsys.readouterr().out
    assert "00_start" in said
    assert "ms of processor time" in said


def test_a_lesson_that_there_is_not_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["01_thread"])
    assert "there is no lesson 01_thread; there are 00_start, 01_threads" in capsys.readouterr().err
