"""What was measured, as tables: made from the records that the commands wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from course.tests.engine.hardware import test_counts as numba

ROOT = Path(__file__).resolve().parents[2]
_TRITON = ROOT / "autograder" / "tests" / "gpu_counters.json"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown. A bar in a cell stays a bar."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def calibration() -> str:
    """The engines beside the counters of a GPU."""
    lists = (numba.REFUSED, numba.UNREPEATABLE, numba.EXPLAINED)
    alike = [name for name in numba.COUNTED if not any(name in names for names in lists)]
    about = _read("course/tests/engine/hardware/h200.json")["provenance"]
    triton = json.loads(_TRITON.read_text(encoding="utf-8"))
    rows = [
        (f"`{row['exercise']}`", row["case"], *_counted(row["sectors"]), row["l2_read_sectors"])
        for row in triton["launches"]
    ]
    return "\n".join(
        [
            "# Counts beside a GPU's",
            "",
            f"Kernels ran on an {about['gpu'].split(',')[0]} under Nsight Compute "
            f"{about['ncu']} ({about['date']}), and the engines ran the same ones. Tests hold the "
            "counts together, launch by launch: `course/tests/engine/hardware/`, "
            "`course/tests/engine/triton/`, `autograder/tests/test_gpu_counters.py`.",
            "",
            "## Kernels in Numba CUDA",
            "",
            f"Of {len(numba.COUNTED)} kernels, {len(alike)} ask for exactly the requests and "
            "sectors that the GPU counted. These do not, each for its reason:",
            "",
            table(
                ("kernel", "what differs"),
                [
                    *_reasons(numba.EXPLAINED),
                    *(
                        (f"`{name}`", "the GPU does not repeat its own count")
                        for name in sorted(numba.UNREPEATABLE)
                    ),
                ],
            ),
            "These the course refuses on purpose, and a GPU runs:",
            "",
            table(
                ("kernel", "the mistake"),
                [(name, what.replace("_", " ")) for name, what in _reasons(numba.REFUSED)],
            ),
            "Results that differ:",
            "",
            table(("kernel", "why"), _reasons(numba.EXPLAINED_VALUES)),
            "## The course's own Triton solutions",
            "",
            f"Sectors that an {triton['gpu']} counted (Triton {triton['triton']}, "
            f"{triton['date']}). The engine's loads, stores and atomics are the same in all "
            f"{len(rows)} rows.",
            "",
            table(("exercise", "case", "loads", "stores", "atomics", "read from L2"), rows),
        ]
    )


def speed() -> str:
    """The engines beside the simulators, and the solutions beside PyTorch on a GPU."""
    bench, full = _read("docs/bench.json"), _read("docs/full_size.json")
    machine = bench["machine"]
    days = sorted({run["date"] for run in full["runs"]})
    ran = " to ".join(dict.fromkeys((days[0], days[-1])))
    races = bench["beside_the_simulator"] + bench["beside_the_interpreter"]
    return "\n".join(
        [
            "# Speed",
            "",
            "## The engines on a laptop's processor",
            "",
            f"`make bench` on {machine['cores']} cores ({machine['cpu']}, {bench['date']}): the "
            "engine, metered and with every check on, beside Numba's simulator or Triton's "
            "interpreter.",
            "",
            table(
                ("kernel", "engine, ms", "simulator or interpreter, ms", "times as fast"),
                [
                    (
                        race["name"],
                        f"{race['engine_ms']:.1f}",
                        f"{1000 * median(race['simulator']['seconds']):,.0f}",
                        f"{race['ratio']:,.0f}",
                    )
                    for race in races
                ],
            ),
            "## Checks",
            "",
            "Seconds for a check in a notebook, and for a grader's held-out cases.",
            "",
            table(
                ("lesson", "exercise", "check, s", "held out, s"),
                [
                    (
                        one["lesson"],
                        f"`{one['exercise']}`",
                        f"{one['check_s']:.2f}",
                        "none" if one["hidden_s"] is None else f"{one['hidden_s']:.2f}",
                    )
                    for one in sorted(bench["checks"], key=lambda one: str(one["lesson"]))
                ],
            ),
            "## Solutions at full size on a GPU",
            "",
            f"`make bench-gpu` on an {full['gpu']} (PyTorch {full['torch']}, Triton "
            f"{full['triton']}, {ran}): the course's own solutions beside what PyTorch "
            "has for the same work, where it has it.",
            "",
            table(
                ("kernel", "case", "us", "rate", "PyTorch, us", "PyTorch's rate"),
                [
                    (
                        f"`{run['kernel']}`",
                        run["case"],
                        run["us"],
                        _rate(run, ""),
                        run.get("torch_us", ""),
                        _rate(run, "torch_"),
                    )
                    for run in full["runs"]
                ],
            ),
            "Which of them are slower than is wanted of them, and why, where that is known:",
            "",
            *(f"- {sentence}" for sentence in full["flagged"]),
            "",
            *_estimates(),
        ]
    )


def _estimates() -> Iterable[str]:
    """How the estimates without a GPU compare with the recorded runs."""
    record = _read("docs/estimate.json")
    yield from (
        "## Estimates without a GPU",
        "",
        f"`{record['command']}` ({record['date']}): what `ex.NAME.estimate(kernel)` says of the "
        f"recorded runs on an {record['gpu']}, from a few blocks of each launch on the engine. "
        f"{len(record['constants'])} constants are fitted to every second exercise; the others "
        "test them (the form of the model was chosen with all of them in sight). Counts are those "
        "of up to 16 blocks spread over the grid of the full-size launch, times the grid. A time "
        f"counts as right within {record['within']} times. A limit is known "
        "where Nsight Compute's report is recorded, or where the time is within 1.25 times of "
        "exactly one roof: DRAM's or the tensor cores'.",
        "",
        table(
            ("runs", "how many", "time right", "limits known", "limit right"),
            [
                (
                    name,
                    record[part]["runs"],
                    f"{record[part]['time']:.0%}",
                    record[part]["limits_known"],
                    f"{record[part]['limit']:.0%}",
                )
                for name, part in (("fitted to", "fitted"), ("held out", "held_out"))
            ],
        ),
        "Where it fails, as far as that is known:",
        "",
        table(("kernel", "why"), [(f"`{name}`", why) for name, why in record["fails"].items()]),
        table(
            ("kernel", "case", "us", "estimate, us", "limit", "estimated limit"),
            [
                (
                    f"`{run['kernel']}`",
                    run["case"],
                    run["us"],
                    run["estimated_us"],
                    (run["limit"] or "").removeprefix("limit_"),
                    run["estimated_limit"].removeprefix("limit_"),
                )
                for run in record["runs"]
            ],
        ),
    )


def _read(name: str) -> Any:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def _reasons(names: dict[str, str]) -> list[tuple[str, str]]:
    return [(f"`{name}`", why) for name, why in names.items()]


def _counted(sectors: dict[str, int]) -> tuple[int, int, int]:
    return sectors["load"], sectors["store"], sectors["atomic"] + sectors["reduction"]


def _rate(run: dict[str, Any], whose: str) -> str:
    for unit in ("GB/s", "TFLOP/s"):
        if f"{whose}{unit}" in run:
            return f"{run[f'{whose}{unit}']:,.0f} {unit}"
    return ""
