"""`make bench`, or `python -m tools.bench [--quick] [--out FILE]`."""

from __future__ import annotations

import argparse
import datetime
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from course.engine.triton.compiling.available import has_triton
from tools.bench import processes
from tools.bench.checks import solution_of
from tools.bench.kernels import WORKLOADS
from tools.bench.report import FirstCheck, Peak, Race, Report, Speed, machine, show
from tools.bench.tile_rows import PEAKS as TILE_PEAKS
from tools.bench.tile_rows import ROWS

#: How many times faster than the simulator; the long one is left out by --quick.
RACES = {
    "matmul 64 x 64": 500.0,
    "vector add of 16,384": 500.0,
    "dot of 16,384 in 16 blocks": 500.0,
    "matmul 128 x 128": 1000.0,
}
LONG_RACE = "matmul 128 x 128"
SPEED = "matmul 512 x 512"
PEAKS = ("matmul 1024 x 1024", "vector add of 2^24")
LAUNCHES, SPEED_LAUNCHES, TILE_LAUNCHES = 16, 3, 4
FIRST_CHECKS = 2  # of the slowest exercises
FILE_WIDTH = 100  # where nobody knows how wide it will be shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures everything, prints tables, and writes a file if asked to."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help=f"leave out {LONG_RACE} on the simulator"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the figures as JSON")
    options = parser.parse_args(arguments)
    if options.out is not None and not options.out.parent.is_dir():
        parser.error(f"--out {options.out}: there is no folder {options.out.parent}; make it first")
    given = " ".join(sys.argv[1:] if arguments is None else arguments)
    report = Report(
        machine(),
        datetime.date.today().isoformat(),
        f"python -m tools.bench {given}".strip(),
    )
    try:
        measure(report, options.quick, Console(stderr=True))
    except subprocess.CalledProcessError as error:
        command = shlex.join(error.cmd)
        print(
            f"A measuring process ended with status {error.returncode}; what it said stands above. "
            f"Run it alone to see more: {command}",
            file=sys.stderr,
        )
        return 1
    if options.out is not None:
        options.out.write_text(json.dumps(report.as_json(), indent=1) + "\n", encoding="utf-8")
    show(report, Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH))
    if options.out is not None:
        print(f"\nThe figures are in {options.out}.")
    return 0


def measure(report: Report, quick: bool, progress: Console) -> None:
    """Fills the report, figure by figure; says what it waits for."""

    def say(what: str) -> None:
        progress.print(f"... {what}", style="dim", highlight=False)

    for name, target in RACES.items():
        say(f"{name} on the engine")
        engine = processes.on_engine(name, LAUNCHES)
        simulator = None
        if not (quick and name == LONG_RACE):
            say(f"{name} on Numba's simulator" + (": over a minute" if name == LONG_RACE else ""))
            simulator = processes.on_simulator(name)
        report.races.append(Race(name, engine, simulator, target))
    for name, row in ROWS.items() if has_triton() else ():
        say(f"{name} on the engine")
        engine = processes.on_tiles(name, TILE_LAUNCHES)
        say(f"{name} on Triton's interpreter")
        report.tiles.append(Race(name, engine, processes.on_interpreter(name), row.target))
    say(f"{SPEED} on the engine")
    speed = processes.on_engine(SPEED, SPEED_LAUNCHES)
    report.speeds.append(Speed(SPEED, speed, WORKLOADS[SPEED].multiply_adds))
    for name in PEAKS:
        say(f"memory of {name}")
        one = processes.on_engine(name, 1)
        report.peaks.append(Peak(name, one.seconds[0], one.peak_bytes))
    for name in TILE_PEAKS if has_triton() else ():
        say(f"memory of {name}")
        one = processes.on_tiles(name, 1)
        report.peaks.append(Peak(name, one.seconds[0], one.peak_bytes))
    say("the check of every exercise")
    report.checks.extend(processes.checks())
    numba = [times for times in report.slowest_first if times.compile_s is None]
    for times in numba[:FIRST_CHECKS]:
        say(f"the first check of a fresh process: {times.exercise}")
        report.first_checks.append(
            FirstCheck(
                times.exercise,
                processes.first_check(times.exercise, solution_of(times.exercise)),
                processes.import_seconds("numba.cuda"),
                processes.import_seconds("course"),
            )
        )


if __name__ == "__main__":
    sys.exit(main())
