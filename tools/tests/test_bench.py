"""The report of `make bench`: its arithmetic and its rows. No test holds a figure to a target."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import cuda

import course
from course import exercises
from course.engine.triton.compiling.available import has_triton
from tools.bench import __main__ as bench
from tools.bench import checks, processes, report
from tools.bench.checks import CheckTimes
from tools.bench.kernels import WORKLOADS, Timed, Workload, timed
from tools.bench.report import Peak, Race, Speed
from tools.bench.tile_rows import PEAKS, ROWS


def race(engine_s: list[float], simulator_s: float | None, target: float = 500) -> Race:
    simulator = None if simulator_s is None else Timed([simulator_s], [simulator_s / 2], 0)
    return Race("k", Timed(engine_s, [s / 4 for s in engine_s], 0), simulator, target)


def test_the_engines_time_is_the_median_without_the_first_launch() -> None:
    assert race([9.0, 0.004, 0.002, 0.003], 3.0).engine_ms == pytest.approx(3.0)
    assert race([0.5], 3.0).engine_ms == pytest.approx(500.0)


def test_the_ratio_is_the_simulators_time_over_the_engines() -> None:
    fast = race([9.0, 0.002], 3.0)
    assert fast.ratio == pytest.approx(1500)
    assert fast.processor_ratio == pytest.approx(3000)
    assert fast.met is True
    assert race([9.0, 0.01], 3.0).met is False


def test_a_race_without_the_simulator_has_no_ratio_and_meets_nothing() -> None:
    alone = race([0.1, 0.1], None)
    assert alone.ratio is None
    assert alone.processor_ratio is None
    assert alone.met is None


def test_multiply_adds_a_second_come_from_the_median_launch() -> None:
    speed = Speed("k", Timed([2.0, 1.0, 4.0], [0.5, 0.6, 0.4], 0), 2 * 10**8)
    assert speed.multiply_adds_a_second == pytest.approx(1e8)
    assert speed.multiply_adds_a_processor_second == pytest.approx(4e8)
    assert speed.met
    assert not Speed("k", Timed([2.1], [0.1], 0), 2 * 10**8).met


def test_a_peak_of_a_gigabyte_is_too_much() -> None:
    assert Peak("k", 1.0, 10**9 - 1).met
    assert not Peak("k", 1.0, 10**9).met


@pytest.mark.parametrize(
    ("check_s", "hidden_s", "met"),
    [(0.9, 2.9, True), (1.0, 0.1, False), (0.1, 3.0, False), (0.1, None, True)],
)
def test_a_check_is_quick_where_both_kinds_of_cases_are(
    check_s: float, hidden_s: float | None, met: bool
) -> None:
    assert report.met(CheckTimes("01_threads", "vector_add", check_s, 0.1, hidden_s, 0.1)) is met


class Fakes:
    """Processes that answer at once."""

    def __init__(self) -> None:
        self.simulated: list[str] = []

    def on_engine(self, name: str, times: int) -> Timed:
        return Timed([0.2] + [0.004] * (times - 1), [0.002] * times, 250_000_000)

    def on_simulator(self, name: str) -> Timed:
        self.simulated.append(name)
        return Timed([8.0], [8.0], 90_000_000)

    def on_tiles(self, name: str, times: int) -> Timed:
        return Timed([0.9] + [0.02] * (times - 1), [0.02] * times, 250_000_000)

    def on_interpreter(self, name: str) -> Timed:
        return Timed([0.25], [0.25], 250_000_000)

    def checks(self) -> Iterator[CheckTimes]:
        yield CheckTimes("01_threads", "vector_add", 0.01, 0.01, 0.02, 0.02)
        yield CheckTimes("04_matmul", "matmul_tiled", 1.5, 0.3, 0.5, 0.1)
        yield CheckTimes("05_roofline", "waves", 0.001, 0.001, None, None)
        yield CheckTimes("06_hello_triton", "triton_add", 1.6, 0.3, 4.5, 0.1, 3.25)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Fakes:
    fake = Fakes()
    for name in ("on_engine", "on_simulator", "on_tiles", "on_interpreter", "checks"):
        monkeypatch.setattr(processes, name, getattr(fake, name))
    monkeypatch.setattr(processes, "first_check", lambda exercise, solution: 0.3)
    monkeypatch.setattr(processes, "import_seconds", lambda module: 0.7)
    monkeypatch.setattr(bench, "solution_of", lambda exercise: "")
    return fake


def run(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    out = tmp_path / "bench.json"
    assert bench.main(["--out", str(out), *arguments]) == 0
    result: dict[str, Any] = json.loads(out.read_text())
    return result


def test_a_run_has_every_row_that_is_promised(tmp_path: Path, fakes: Fakes) -> None:
    result = run(tmp_path)
    ratios = {row["name"]: row["ratio"] for row in result["beside_the_simulator"]}
    assert ratios == dict.fromkeys(
        [
            "matmul 64 x 64",
            "vector add of 16,384",
            "dot of 16,384 in 16 blocks",
            "matmul 128 x 128",
        ],
        2000.0,
    )
    assert {row["processor_ratio"] for row in result["beside_the_simulator"]} == {4000.0}
    targets = {row["name"]: row["target_ratio"] for row in result["beside_the_simulator"]}
    assert targets.pop("matmul 128 x 128") == 1000
    assert set(targets.values()) == {500}
    assert [row["name"] for row in result["speed"]] == ["matmul 512 x 512"]
    assert result["speed"][0]["multiply_adds_a_second"] == pytest.approx(512**3 / 0.004)
    peaks = ["matmul 1024 x 1024", "vector add of 2^24", *(PEAKS if has_triton() else ())]
    assert [row["name"] for row in result["memory"]] == peaks
    assert {row["limit_bytes"] for row in result["memory"]} == {10**9}
    assert {row["peak_bytes"] for row in result["memory"]} == {250_000_000}
    assert {"cpu", "cores", "load_average", "python", "numba", "numpy"} <= result["machine"].keys()
    assert result["command"].startswith("python -m tools.bench")


@pytest.mark.skipif(not has_triton(), reason="Triton has no wheel for this system")
def test_a_run_has_a_row_for_each_triton_kernel_beside_the_interpreter(
    tmp_path: Path, fakes: Fakes, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(tmp_path)
    rows = {row["name"]: row for row in result["beside_the_interpreter"]}
    assert rows.keys() == ROWS.keys()
    softmax = rows["Triton softmax 1823 x 781"]
    assert softmax["ratio"] == pytest.approx(12.5)
    assert softmax["target_ratio"] == 10
    assert softmax["met"] is True
    assert {"torch", "triton"} <= result["machine"].keys()
    assert "12.5" in capsys.readouterr().out


@pytest.mark.skipif(not has_triton(), reason="Triton has no wheel for this system")
@pytest.mark.slow
def test_a_triton_row_gives_right_results_on_the_engine_and_on_the_interpreter() -> None:
    name = "FlashAttention backward of q, N 512"
    assert len(processes.on_tiles(name, 2).seconds) == 2
    assert len(processes.on_interpreter(name).seconds) == 1


def test_the_slowest_check_comes_first_and_is_tried_in_a_fresh_process(
    tmp_path: Path, fakes: Fakes, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(tmp_path)
    names = ["triton_add", "matmul_tiled", "vector_add", "waves"]
    assert [row["exercise"] for row in result["checks"]] == names
    assert [row["met"] for row in result["checks"]] == [True, False, True, True]
    assert result["checks"][0]["compile_s"] == 3.25
    assert result["first_checks"][0]["exercise"] == "matmul_tiled"
    assert result["first_checks"][0]["check_s"] == 0.3
    shown = capsys.readouterr().out
    assert shown.index("matmul_tiled") < shown.index("vector_add")
    assert "NO" in shown


def test_quick_leaves_out_the_simulators_long_matmul(
    tmp_path: Path, fakes: Fakes, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(tmp_path, "--quick")
    assert fakes.simulated == [
        "matmul 64 x 64",
        "vector add of 16,384",
        "dot of 16,384 in 16 blocks",
    ]
    assert result["beside_the_simulator"][-1]["ratio"] is None
    assert "left out" in capsys.readouterr().out


def test_what_is_waited_for_is_said(
    tmp_path: Path, fakes: Fakes, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path)
    assert "matmul 128 x 128 on Numba's simulator: over a minute" in capsys.readouterr().err


def test_a_file_in_no_folder_is_refused_before_anything_is_measured(
    tmp_path: Path, fakes: Fakes, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        bench.main(["--out", str(tmp_path / "nowhere" / "bench.json")])
    assert "there is no folder" in capsys.readouterr().err
    assert fakes.simulated == []


def test_a_process_that_fails_is_named(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(name: str, times: int) -> Timed:
        raise subprocess.CalledProcessError(3, ["python", "-m", "tools.bench.kernels", name])

    monkeypatch.setattr(processes, "on_engine", fail)
    assert bench.main(["--quick"]) == 1
    assert "status 3" in capsys.readouterr().err


def test_the_same_kernels_run_on_the_engine_and_in_the_simulator(monkeypatch: Any) -> None:
    commands: list[tuple[list[str], str]] = []

    def record(command: list[str], **options: Any) -> Any:
        commands.append((command, options["env"]["NUMBA_ENABLE_CUDASIM"]))
        line = '{"seconds": [1.5], "processor_seconds": [1.0], "peak_bytes": 7}\n'
        return subprocess.CompletedProcess(command, 0, stdout="a kernel printed this\n" + line)

    monkeypatch.setattr(subprocess, "run", record)
    assert processes.on_engine("matmul 64 x 64", 3) == Timed([1.5], [1.0], 7)
    assert processes.on_simulator("matmul 64 x 64") == Timed([1.5], [1.0], 7)
    (engine, off), (simulator, on) = commands
    assert (off, on) == ("0", "1")
    assert engine[1:] == ["-m", "tools.bench.kernels", "matmul 64 x 64", "3"]
    assert Path(simulator[2]).name == "kernels.py"
    assert simulator[3:] == ["matmul 64 x 64", "1"]


@pytest.mark.parametrize(
    "name", ["matmul 64 x 64", "vector add of 16,384", "dot of 16,384 in 16 blocks"]
)
def test_a_workload_gives_the_right_result(name: str) -> None:
    result = timed(WORKLOADS[name], 2, course.measure)
    assert len(result.seconds) == len(result.processor_seconds) == 2
    assert result.peak_bytes > 10**6


@cuda.jit
def adds_nothing(a: Any, b: Any, c: Any) -> None:
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i]


def test_a_wrong_result_is_no_figure() -> None:
    right = WORKLOADS["vector add of 16,384"]
    wrong = Workload(adds_nothing, right.grid, right.block, right.make, np.add)
    with pytest.raises(ArithmeticError, match="wrong result"):
        timed(wrong, 1, nullcontext)


def test_a_check_is_timed_only_where_the_solution_passes() -> None:
    exercise = exercises.all_exercises()["double"]
    wall, processor = iter([10.0, 10.25]), iter([3.0, 3.125])
    source = checks.solution_of("double")
    clocks = (lambda: next(wall), lambda: next(processor))
    assert checks.seconds_of(exercise, source, clocks=clocks) == (0.25, 0.125)
    with pytest.raises(ArithmeticError, match="the solution of double got"):
        checks.seconds_of(exercise, "")
