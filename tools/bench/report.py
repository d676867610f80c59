"""The figures of a run, their targets, and how they are shown and kept."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from course.engine.triton.compiling.available import has_triton
from tools.bench.checks import CheckTimes
from tools.bench.kernels import Timed

#: A check of an exercise, and all its hidden cases, take less than this.
CHECK_S, HIDDEN_S = 1.0, 3.0
#: ... of a Triton exercise, without the compiler.
TRITON_CHECK_S, TRITON_HIDDEN_S = 2.0, 5.0
PEAK_BYTES = 10**9
MULTIPLY_ADDS_A_SECOND = 1e8


@dataclass(frozen=True)
class Race:
    """One kernel on the engine and on the simulator, which may have been left out.

    For a Triton kernel the simulator is Triton's own interpreter.
    """

    name: str
    engine: Timed
    simulator: Timed | None
    target_ratio: float

    @property
    def engine_ms(self) -> float:
        """The median of the launches after the first, which reads and lowers the kernel too."""
        return 1e3 * _median_of_later(self.engine.seconds)

    @property
    def ratio(self) -> float | None:
        """How many times faster the engine is."""
        if self.simulator is None:
            return None
        return 1e3 * self.simulator.seconds[0] / self.engine_ms

    @property
    def processor_ratio(self) -> float | None:
        """How many times less processor time the engine takes: other work disturbs it less."""
        if self.simulator is None:
            return None
        engine_s = _median_of_later(self.engine.processor_seconds)
        return self.simulator.processor_seconds[0] / engine_s

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where nobody knows."""
        return None if self.ratio is None else self.ratio >= self.target_ratio


def _median_of_later(seconds: Sequence[float]) -> float:
    return statistics.median(seconds[1:] or seconds)


@dataclass(frozen=True)
class Speed:
    """Multiply-adds a second of a matmul."""

    name: str
    engine: Timed
    multiply_adds: int

    @property
    def multiply_adds_a_second(self) -> float:
        return self.multiply_adds / statistics.median(self.engine.seconds)

    @property
    def multiply_adds_a_processor_second(self) -> float:
        return self.multiply_adds / statistics.median(self.engine.processor_seconds)

    @property
    def met(self) -> bool:
        return self.multiply_adds_a_second >= MULTIPLY_ADDS_A_SECOND


@dataclass(frozen=True)
class Peak:
    """The most memory that a process with one launch used."""

    name: str
    engine_s: float
    peak_bytes: int

    @property
    def met(self) -> bool:
        return self.peak_bytes < PEAK_BYTES


@dataclass(frozen=True)
class FirstCheck:
    """The first check of a fresh process, and what its imports take."""

    exercise: str
    check_s: float
    import_numba_s: float
    import_course_s: float

    @property
    def met(self) -> bool:
        return self.check_s < CHECK_S


@dataclass
class Report:
    """Everything that one run of `make bench` measured."""

    machine: dict[str, Any]
    date: str
    command: str
    races: list[Race] = field(default_factory=list)
    tiles: list[Race] = field(default_factory=list)
    speeds: list[Speed] = field(default_factory=list)
    peaks: list[Peak] = field(default_factory=list)
    checks: list[CheckTimes] = field(default_factory=list)
    first_checks: list[FirstCheck] = field(default_factory=list)

    @property
    def slowest_first(self) -> list[CheckTimes]:
        return sorted(self.checks, key=lambda times: -times.check_s)

    def as_json(self) -> dict[str, Any]:
        """Figures with what is computed from them, for a file."""
        return {
            "command": self.command,
            "date": self.date,
            "machine": self.machine,
            "beside_the_simulator": [_kept(r, *_OF_A_RACE) for r in self.races],
            "beside_the_interpreter": [_kept(r, *_OF_A_RACE) for r in self.tiles],
            "speed": [_kept(s, *_OF_A_SPEED) for s in self.speeds],
            "memory": [_kept(p, "met", limit_bytes=PEAK_BYTES) for p in self.peaks],
            "checks": [
                _kept(c, target_check_s=limits(c)[0], target_hidden_s=limits(c)[1], met=met(c))
                for c in self.slowest_first
            ],
            "first_checks": [_kept(f, "met", target_check_s=CHECK_S) for f in self.first_checks],
        }


#: What is kept of each beside its fields.
_OF_A_RACE = ("engine_ms", "ratio", "processor_ratio", "met")
_OF_A_SPEED = ("multiply_adds_a_second", "multiply_adds_a_processor_second", "met")


def _kept(figure: Any, *computed: str, **told: object) -> dict[str, Any]:
    """A figure's fields, what else is told of it, and what it computes of them."""
    return {**asdict(figure), **told, **{name: getattr(figure, name) for name in computed}}


def limits(times: CheckTimes) -> tuple[float, float]:
    """What a check and its hidden cases may take."""
    if times.compile_s is None:
        return CHECK_S, HIDDEN_S
    return TRITON_CHECK_S, TRITON_HIDDEN_S


def met(times: CheckTimes) -> bool:
    """Whether a check and its hidden cases were quick enough."""
    check_s, hidden_s = limits(times)
    return times.check_s < check_s and (times.hidden_s is None or times.hidden_s < hidden_s)


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "system": platform.system(),
        "python": platform.python_version(),
        **{package: version(package) for package in ("numba", "numpy")},
        **({package: version(package) for package in ("torch", "triton")} if has_triton() else {}),
    }


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


# ---------------------------------------------------------------- on the terminal

#: A table's headings, each with what stands below it of one figure.
Columns = Mapping[str, Callable[[Any], str]]


def show(report: Report, console: Console) -> None:
    """A table of each kind of figure."""
    words = report.machine
    console.print(
        f"{words['cpu']}, {words['cores']} cores, load {words['load_average']} at the start; "
        f"Python {words['python']}, Numba {words['numba']}, NumPy {words['numpy']}; {report.date}"
    )
    title = "The engine, metered and with every check, beside"
    _print(console, f"{title} Numba's simulator", _races("simulator, ms"), report.races)
    _print(console, f"{title} Triton's interpreter", _races("interpreter, ms"), report.tiles)
    _print(console, "Speed", _SPEEDS, report.speeds)
    _print(console, "Memory of the whole process", _PEAKS, report.peaks)
    checks = (
        f"Checks of the solutions: under {CHECK_S:g} s, all hidden cases under {HIDDEN_S:g} s; in "
        f"Triton {TRITON_CHECK_S:g} and {TRITON_HIDDEN_S:g} s, and what compiling took besides"
    )
    _print(console, checks, _CHECKS, report.slowest_first)
    first = "The first check of a fresh process, beside its imports"
    _print(console, first, _FIRST_CHECKS, report.first_checks)


def _races(rival: str) -> Columns:
    return {
        "kernel": lambda race: race.name,
        "engine, ms": lambda race: f"{race.engine_ms:,.1f}",
        "first, ms": lambda race: f"{1e3 * race.engine.seconds[0]:,.1f}",
        rival: lambda race: (
            "left out" if race.simulator is None else f"{1e3 * race.simulator.seconds[0]:,.0f}"
        ),
        "ratio": lambda race: "" if race.ratio is None else _times(race.ratio),
        "of CPU time": lambda race: (
            "" if race.processor_ratio is None else _times(race.processor_ratio)
        ),
        "target": lambda race: f"{race.target_ratio:,.0f}",
        "met": lambda race: _word(race.met),
    }


_SPEEDS: Columns = {
    "kernel": lambda speed: speed.name,
    "seconds": lambda speed: f"{statistics.median(speed.engine.seconds):.2f}",
    "multiply-adds a second": lambda speed: f"{speed.multiply_adds_a_second:.2e}",
    "of CPU time": lambda speed: f"{speed.multiply_adds_a_processor_second:.2e}",
    "target": lambda speed: f"{MULTIPLY_ADDS_A_SECOND:.0e}",
    "met": lambda speed: _word(speed.met),
}
_PEAKS: Columns = {
    "kernel": lambda peak: peak.name,
    "seconds": lambda peak: f"{peak.engine_s:.2f}",
    "peak, MB": lambda peak: f"{peak.peak_bytes / 1e6:,.0f}",
    "limit, MB": lambda peak: f"{PEAK_BYTES / 1e6:,.0f}",
    "met": lambda peak: _word(peak.met),
}
_CHECKS: Columns = {
    "exercise": lambda times: times.exercise,
    "lesson": lambda times: times.lesson,
    "check, s": lambda times: f"{times.check_s:.3f}",
    "of CPU": lambda times: f"{times.check_processor_s:.3f}",
    "hidden cases, s": lambda times: _seconds(times.hidden_s),
    "of their CPU": lambda times: _seconds(times.hidden_processor_s),
    "compiling, s": lambda times: "" if times.compile_s is None else _seconds(times.compile_s),
    "met": lambda times: _word(met(times)),
}
_FIRST_CHECKS: Columns = {
    "exercise": lambda first: first.exercise,
    "check, s": lambda first: f"{first.check_s:.3f}",
    "import numba.cuda, s": lambda first: f"{first.import_numba_s:.2f}",
    "import course, s": lambda first: f"{first.import_course_s:.2f}",
    "met": lambda first: _word(first.met),
}


def _times(ratio: float) -> str:
    return f"{ratio:,.1f}" if ratio < 100 else f"{ratio:,.0f}"


def _seconds(seconds: float | None) -> str:
    return "none" if seconds is None else f"{seconds:.3f}"


def _word(met: bool | None) -> str:
    return "?" if met is None else "yes" if met else "NO"


def _print(console: Console, title: str, columns: Columns, figures: Sequence[Any]) -> None:
    if not figures:
        return
    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    for number, heading in enumerate(columns):
        figure = number > 0 and heading not in ("met", "lesson")
        table.add_column(heading, justify="right" if figure else "left")
    for one in figures:
        table.add_row(*[cell(one) for cell in columns.values()])
    console.print()
    console.print(table)
