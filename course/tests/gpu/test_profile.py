"""What limits a kernel on a GPU: lesson 12's rule on recorded reports, and ncu as it may answer."""

import csv
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from numba import cuda

from course import exercises
from course.exercises.speed_of_light import RECORD, REPORTS
from course.gpu import counters, profile, runs
from course.notebook.exercises import shown
from course.spec.exercise import case
from course.tests.gpu.test_own import CELL, Fake

#: The limits of lesson 12 by their numbers.
LIMITS = {
    1: "limit_dram",
    2: "limit_l2",
    3: "limit_l1",
    4: "limit_instructions",
    5: "limit_blocks",
    6: "limit_spills",
    7: "limit_none",
}
DOUBLE = exercises.lesson("start")["double"]


def recorded(kernel):
    launches = RECORD["reports"]["launches"][kernel]
    return max((one["counts"] for one in launches), key=lambda counts: counts["ncu_us"])


@pytest.mark.parametrize("case", exercises.lesson("speed_of_light")["limiter"].cases)
def test_the_rule_is_the_one_that_lesson_12_teaches(case):
    kernel = next(name for name, number in REPORTS.items() if number == case.sizes["REPORT"])
    assert profile.limit_of(recorded(kernel)) == LIMITS[case.sizes["LIMIT"]]


def test_tensor_cores_that_are_full_are_no_flood_of_instructions():
    counts = {"waves": 4.0, "sm_percent": 90.0}
    assert profile.limit_of(counts) == "limit_instructions"
    assert profile.limit_of(counts | {"tensor_percent": 89.0}) == "limit_tensor"


#: Answers what a fake of ncu is told to, and leaves the command that it was given.
NCU = """#!{python}
import sys
here = {here!r}
given = sys.argv[1:]
if given == ["--query-metrics"]:
    print(open(here + "/metrics").read())
    sys.exit()
open(here + "/command", "w").write("\\n".join(given))
open(given[given.index("--log-file") + 1], "w").write(open(here + "/answer").read())
sys.exit(int(open(here + "/code").read()))
"""


@pytest.fixture
def ncu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name, text in (
        ("ncu", NCU.format(python=sys.executable, here=str(tmp_path))),
        ("nvidia-smi", "#!/bin/sh\necho GPU 0: a fake"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    for name, text in (("metrics", ""), ("answer", ""), ("code", "0")):
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(profile, "present", lambda: True)
    return tmp_path


def answers(folder, *launches):
    metrics = profile._COUNTED
    with (folder / "answer").open("w") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL)
        rows.writerow(["ID", "Kernel Name", "Block Size", "Grid Size", *metrics.values()])
        for number, (name, counts) in enumerate(launches):
            values = [counts.get(short, "n/a") for short in metrics]
            rows.writerow([number, name, "(256, 1, 1)", "(16, 1, 1)", *values])


def test_the_longest_kernel_of_a_cell_is_told_with_its_limit(ncu):
    short = recorded("triton_add") | {"ncu_us": 1.0}
    long = recorded("matmul_tiled") | {"l2_read_sectors": 40_000_000}
    answers(ncu, ("fill", short), ("cell::matmul_tiled[abi:v1]", long))
    said = repr(profile.profile(DOUBLE, "a cell"))
    assert said.splitlines() == [
        f"matmul_tiled at {DOUBLE.full.told}, one launch under Nsight Compute:",
        "- DRAM at 0 % of its peak, L2 at 17 %, L1 and shared memory at 93 %",
        "- sectors a request to load: 4.0 from L1, 1.2 of them from L2",
        "- tensor cores at 0 %, FMA at 20 %",
        "- 98 % of an SM's warps there; they wait for their turn: there are warps enough",
        "What limits it: L1 and shared memory. More outputs a thread, kept in registers; and do "
        "banks conflict?",
    ]


def test_ncu_sees_one_launch_and_not_the_first(ncu):
    answers(ncu, ("double", recorded("triton_add")))
    profile.profile(DOUBLE, "a cell")
    command = (ncu / "command").read_text().splitlines()
    assert command[command.index("--profile-from-start") + 1] == "off"
    assert "runs import profiled" in command[-2]


def test_counters_that_are_refused_or_missing_are_told(ncu, monkeypatch):
    (ncu / "answer").write_text("==ERROR== ERR_NVGPUCTRPERM")
    (ncu / "code").write_text("1")
    said = repr(profile.profile(DOUBLE, "a cell"))
    assert said.startswith("Counters refused: The driver keeps the counters from this user")
    (ncu / "ncu").unlink()
    assert "ncu is not on the PATH" in repr(profile.profile(DOUBLE, "a cell"))
    monkeypatch.setattr(profile, "present", lambda: False)
    assert repr(profile.profile(DOUBLE, "a cell")).startswith("This machine shows no NVIDIA GPU")


def test_a_cell_that_launches_nothing_is_told(ncu):
    assert repr(profile.profile(DOUBLE, "a cell")) == "Nsight Compute saw no launch of `double`."


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


def test_a_right_kernel_is_profiled_and_a_wrong_one_gets_its_verdict(monkeypatch):
    asked = []
    monkeypatch.setattr(profile, "profile", lambda *given: asked.append(given) or "profile")
    assert shown(exercises.double).profile(double) == "profile"
    assert [(one.name, "2 * x[i]" in source) for one, source in asked] == [("double", True)]
    assert not shown(exercises.double).profile(None)
    assert len(asked) == 1
    assert counters.REPORT["dram_percent"] in profile._COUNTED.values()


def test_what_ncu_runs_launches_twice_and_shows_it_the_second(monkeypatch, tmp_path, capsys):
    class Profiled(Fake):
        def profiled(self, call):
            print("seen:")
            call()

    small = replace(DOUBLE, full=case(N=30_000))
    monkeypatch.setattr(exercises, "all_exercises", lambda: {"double": small})
    monkeypatch.setattr(runs, "_gpu", lambda dialect: Profiled())
    source = CELL.format(expression="print(x.size) or 2 * x")
    request = tmp_path / "request"
    request.write_text(json.dumps({"exercise": "double", "source": source}))
    runs.profiled(str(request))
    assert capsys.readouterr().out.split() == ["30000", "seen:", "30000"]
