"""`python -m tools.calibrate_estimate`: the estimate of a kernel's time held to the recorded runs.

Every run of `docs/full_size.json` whose kernel is still the same text, and every second of the
matmul configurations of lesson 12, is counted on the engine, a few blocks of each launch, at full
size. Exercises alternate: the first, third and so on fit the constants, the others test them.
`--count` counts those that are new or whose kernel has changed, `--count all` every one, which
takes far longer; without it the counts stored before are fitted anew.

The truth of a limit: where Nsight Compute's report is recorded, what lesson 12's rule says of it.
Of a run that has a time alone, DRAM or the tensor cores where it is within 1.25 times of exactly
that roof; the others are not counted. The form of the model was chosen with all runs in sight, and
so was what Nsight Compute calls 100 percent; what is held out are the constants.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from autograder.lessons.catalogue import ROOT
from autograder.proof.on_gpu import digest
from course.check.reading import chosen, read_solution
from course.engine.faults import KernelFault
from course.exercises.speed_of_light import CEILINGS, RECORD
from course.gpu.estimate import Constants, Estimate, Work, estimate, work_of
from course.gpu.profile import limit_of
from course.gpu.recording import in_lines
from course.gpu.sampled import TARGET, launches_of
from course.spec.exercise import Case
from tools.full_size import solutions
from tools.full_size_runs import RUNS, Run

STORED = ROOT / "docs" / "estimate.json"
FITTED = ROOT / "course" / "gpu" / "recorded" / "h200_estimate.json"
#: A time counts as right within this factor; a run lies at its roof within that.
WITHIN, AT_ITS_ROOF = 1.5, 1.25
#: Where the estimate fails, and why, as far as that is known.
_DEAR = "what Numba's compiler makes of an access or a turn is an average, here too much"
_ON_ONE_TILE = "a few microseconds, of which atomics on one tile that all programs share take most"
_LENGTHS = "sequences are of different lengths: the blocks that are counted have less than the mean"
_OWN_STAGES = "how many of its copies are under way, which it orders itself, is not known: two"
CAUSES: dict[str, str] = {
    "flash_forward": "products and the softmax between them wait for each other; the model lets "
    "them overlap",
    "histogram": "atomics on shared memory are not counted as instructions",
    "hopper_matmul/tiles_of_128": "L2 hands out the large boxes of TMA faster than the one rate "
    "that is fitted for all",
    "layernorm": "at D = 1024 just below the share of a copy's rate that counts as full",
    "matmul_a_stationary": "the cost of an atomic is fitted to ones that meet; these do not",
    "matmul_coarse_1d/local_array": "a private array with an index that is not known lies in "
    "memory: its loads and stores are not counted",
    "matmul_naive": _DEAR + ": the report stands at 73 percent of the SM's peak",
    "paged_decode": _LENGTHS + ", and towards the end few SMs have work",
    "paged_decode/tuned": _LENGTHS,
    "softmax_three_pass": "too fast by an eighth, so that DRAM seems full; the report stands at 68 "
    "percent",
    "specialised_matmul": _OWN_STAGES,
    "specialised_matmul/six_stages": _OWN_STAGES,
    "split_k": _ON_ONE_TILE,
    "split_k/two_hundred_parts": _ON_ONE_TILE,
    "tiles": "registers that spill in a loop count once and not each turn; two stages hide less; "
    "L2's one rate for all tiles",
    "vector_add": _DEAR + ": 93 instructions instead of 42",
    "wave_energy": "DRAM and the instructions take about as long; the estimate has one ahead, the "
    "report the other",
}
#: Of lesson 12's configurations every second is counted, on these shapes.
SHAPES, EVERY = ("square", "small", "flat"), 2


@dataclass(frozen=True)
class Row:
    """A recorded run: its launches as counted, its time, and what limits it where that is known.

    `source` tells the kernel's text from others.
    """

    kernel: str
    case: str
    source: str
    us: float
    works: tuple[Work, ...]
    limit: str | None
    known_by: str

    @property
    def exercise(self) -> str:
        """What decides on which side it is: variants of one exercise are on the same."""
        return self.kernel.partition("/")[0]


def estimates(row: Row, fitted: Constants) -> tuple[float, str]:
    """Microseconds of a run, and what limits its longest launch."""
    made: list[Estimate] = [estimate(work, fitted) for work in row.works]
    return sum(one.us for one in made), max(made, key=lambda one: one.us).limit


def off(row: Row, fitted: Constants) -> float:
    """The factor between the estimate and the time, 1 or more."""
    us, _ = estimates(row, fitted)
    return max(us / row.us, row.us / us)


def wrong(row: Row, fitted: Constants) -> bool:
    """Whether the time or the limit is."""
    return off(row, fitted) > WITHIN or row.limit not in (None, estimates(row, fitted)[1])


def shares(rows: Sequence[Row], fitted: Constants) -> dict[str, float | int]:
    """How many runs, and the shares that the estimate gets right."""
    known = [row for row in rows if row.limit]
    right = sum(estimates(row, fitted)[1] == row.limit for row in known)
    near = sum(off(row, fitted) <= WITHIN for row in rows)
    return {
        "runs": len(rows),
        "time": round(near / len(rows), 3),
        "limits_known": len(known),
        "limit": round(right / len(known), 3),
    }


def halves(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Runs that are fitted, and runs that test: exercises alternate."""
    exercises = list(dict.fromkeys(row.exercise for row in rows))
    fits = set(exercises[::2])
    return (
        [row for row in rows if row.exercise in fits],
        [row for row in rows if row.exercise not in fits],
    )


# ---------------------------------------------------------------- counting


def counted(before: Sequence[Row]) -> Iterator[Row]:
    """All recorded runs, counted on the engine unless they were `before`."""
    kept = {(row.kernel, row.case, row.source): row.works for row in before}
    known = solutions()
    record = json.loads((ROOT / "docs" / "full_size.json").read_text(encoding="utf-8"))
    times = {(row["kernel"], row["case"]): row for row in record["runs"]}
    seen = set()
    for run in RUNS:
        row = times.get((run.kernel, run.label), {})
        kernel = known.get(run.kernel)
        place = run.kernel, replace(run, beside="").label
        if kernel is None or row.get("source") != digest(kernel.source) or place in seen:
            continue
        seen.add(place)
        works = kept.get((*place, row["source"]))
        if works is None:
            try:
                works = _works(run, kernel)
            except KernelFault as fault:
                print(f"{run.kernel} ({run.label}): not counted, {fault.message_id} {fault.fields}")
                continue
            print(f"{run.kernel} ({run.label}): counted", flush=True)
        yield Row(*place, row["source"], row["us"], works, *_limit(*place, row))
    yield from _tiles(kept)


def _works(run: Run, kernel: Any) -> tuple[Work, ...]:
    exercise = kernel.exercise
    case = Case(run.sizes, dtypes=run.dtypes, draws=run.draws, transposed=run.transposed)
    constants = chosen(read_solution(kernel.source, exercise), exercise) | dict(run.constants)
    made = launches_of(exercise, kernel.source, case, constants, run.grid, run.block)
    return tuple(work_of(few) for few in made)


def _limit(kernel: str, case: str, row: Mapping[str, Any]) -> tuple[str | None, str]:
    """What limits a recorded run, and what says so."""
    for name, run in RECORD["kernels"].items():
        if (run["kernel"], run["case"]) == (kernel, case):
            launches = RECORD["reports"]["launches"][name]
            counts = max((one["counts"] for one in launches), key=lambda c: c["ncu_us"])
            return limit_of(counts), "report"
    if row.get("GB/s", 0.0) * AT_ITS_ROOF >= CEILINGS["COPY_GB_S"]:
        return "limit_dram", "roof"
    return _of_a_product(row.get("TFLOP/s", 0.0))


def _of_a_product(tflop_s: float) -> tuple[str | None, str]:
    at_its_roof = tflop_s * AT_ITS_ROOF >= CEILINGS["FLOAT16_TFLOP_S"]
    return ("limit_tensor" if at_its_roof else None), "roof"


def _tiles(kept: Mapping[tuple[str, str, str], tuple[Work, ...]]) -> Iterator[Row]:
    """Configurations of lesson 12's matmul."""
    from tools import speed_kernels

    source = digest("".join(speed_kernels.product_kernel.raw_src))
    for shape in SHAPES:
        m, n, k = speed_kernels.SHAPES[shape]
        times = RECORD["tiles"]["us"][shape]["configurations"]
        for at, chosen_ in list(enumerate(speed_kernels.CONFIGURATIONS))[::EVERY]:
            if not times[at]:
                continue
            bm, bn, bk, warps, stages = chosen_.values()
            label = f"{shape}, {bm} x {bn} x {bk}, {warps} warps, {stages} stages"
            place = "tiles", label, source
            works = kept.get(place) or (_of_tiles((m, n, k), (bm, bn, bk), warps, stages),)
            yield Row(*place, times[at], works, *_of_a_product(2e-6 * m * n * k / times[at]))


def _of_tiles(
    sizes: tuple[int, int, int], tiles: tuple[int, int, int], warps: int, stages: int
) -> Work:
    """One of them, counted on the engine."""
    import torch

    from course.engine.sampling import sampled
    from course.engine.triton.compiling import gate
    from course.engine.triton.launch import launch
    from tools import speed_kernels

    (m, n, k), (bm, bn, _) = sizes, tiles
    halfs = [torch.zeros(s, dtype=torch.float16) for s in ((m, k), (k, n), (m, n))]
    args = (*halfs, *sizes, *tiles, speed_kernels.GROUP)
    named, kernel = {"num_warps": warps, "num_stages": stages}, speed_kernels.product_kernel
    with sampled() as made:
        traffic = launch(kernel, args, (m // bm * (n // bn),), named, target=TARGET, printing=False)
    found = gate.compile_for(kernel, args, named, TARGET)
    traffic.shared_bytes, traffic.registers = found.shared_bytes, found.registers
    traffic.spill_bytes = found.spill_bytes
    return work_of(made.launches[0])


# ---------------------------------------------------------------- fitting

#: Of each constant what it may be.
_BOUNDS = {
    "sharpness": (2.0, 8.0), "begin_us": (0.01, 0.3), "start_us": (0.05, 2.0),
    "wait": (0.3, 4.0), "ahead": (0.2, 4.0), "step_cycles": (1.0, 12.0),
    "barrier_cycles": (1.0, 100.0), "l2_gb_s": (5000.0, 12_000.0), "atomic": (1.0, 20.0),
    "mma": (0.3, 1.0), "axis": (2.0, 20.0), "shared": (0.5, 4.0), "turn": (2.0, 20.0),
    "start": (10.0, 60.0), "ptx": (0.8, 2.0), "special": (1.0, 10.0),
}  # fmt: skip
#: Where fitting begins.
BEGIN = Constants(
    sharpness=4.0, begin_us=0.08, start_us=0.4, wait=1.0, ahead=1.0, step_cycles=4.0,
    barrier_cycles=20.0, l2_gb_s=10_000.0, atomic=8.0, mma=0.6, axis=5.0, shared=1.5, turn=8.0,
    start=25.0, ptx=1.25, special=4.0,
)  # fmt: skip
#: Of the recorded reports, which say how many instructions there were.
_OF_INSTRUCTIONS = ("axis", "shared", "turn", "start", "ptx", "special")
TRIES, SEEDS = 1500, (1, 2, 3, 4)
#: A time that is wrong by more (1.65 times) is no guide: something else is missing.
HOPELESS = 0.5


def loss(rows: Sequence[Row], fitted: Constants) -> float:
    """How wrong an estimate is, on the average of exercises: of its time, and of its limit."""
    several = Counter(row.exercise for row in rows)
    total = 0.0
    for row in rows:
        us, limit = estimates(row, fitted)
        distance = abs(math.log(us / row.us))
        off_ = min(distance, HOPELESS) + 0.1 * (distance > math.log(WITHIN))
        total += (off_ + 0.3 * (row.limit not in (None, limit))) / several[row.exercise]
    return total / len(several)


def instructions_off(rows: Sequence[Row], fitted: Constants) -> float:
    """How wrong the numbers of instructions are, of the runs that have a report."""
    distances = []
    for row in rows:
        if row.known_by == "report" and (told := _instructions(row)):
            work = max(row.works, key=lambda work: work.blocks * work.warps)
            distances.append(abs(math.log(work.issued(fitted) * work.blocks * work.warps / told)))
    return sum(distances) / len(distances)


def _instructions(row: Row) -> float:
    for name, run in RECORD["kernels"].items():
        if (run["kernel"], run["case"]) == (row.kernel, row.case):
            launches = RECORD["reports"]["launches"][name]
            return float(max(one["counts"]["instructions"] for one in launches))
    return 0.0


def fit(rows: Sequence[Row]) -> Constants:
    """Constants that suit these runs: steps by chance, of which those that help are kept."""
    rest = [name for name in _BOUNDS if name not in _OF_INSTRUCTIONS]
    found = []
    for seed in SEEDS:
        chance = random.Random(seed)
        counts = _climbed(lambda c: instructions_off(rows, c), BEGIN, _OF_INSTRUCTIONS, chance)
        found.append(_climbed(lambda c: loss(rows, c), counts, rest, chance))
    return min(found, key=lambda c: loss(rows, c))


def _climbed(
    measure: Callable[[Constants], float],
    begin: Constants,
    names: Sequence[str],
    chance: random.Random,
) -> Constants:
    best, least, width = begin, measure(begin), 0.5
    for _ in range(TRIES):
        moved = chance.sample(list(names), chance.choice((1, 1, 2, 3)))
        values = {}
        for name in moved:
            low, high = _BOUNDS[name]
            value = getattr(best, name) * math.exp(chance.gauss(0, width))
            values[name] = min(max(value, low), high)
        tried = replace(best, **values)
        if (now := measure(tried)) < least:
            best, least = tried, now
        else:
            width = max(0.03, width * 0.998)
    return best


# ---------------------------------------------------------------- stored


def stored(path: Path = STORED) -> list[Row]:
    """The runs as they were counted."""
    record = json.loads(path.read_text(encoding="utf-8"))
    return [
        Row(
            row["kernel"], row["case"], row["source"], row["us"],
            tuple(Work(**work) for work in row["launches"]), row["limit"], row["known_by"],
        )
        for row in record["runs"]
    ]  # fmt: skip


def _short(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _short(one) for name, one in value.items()}
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _line(row: Row, fitted: Constants, fits: bool) -> dict[str, Any]:
    us, limit = estimates(row, fitted)
    return {
        "kernel": row.kernel, "case": row.case, "source": row.source, "us": row.us,
        "estimated_us": round(us, 1),
        "limit": row.limit, "known_by": row.known_by, "estimated_limit": limit, "fits": fits,
        "launches": [_short(asdict(work)) for work in row.works],
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Counts, fits, stores, and tells the runs that the estimate gets wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", nargs="?", choices=("new", "all"), const="new",
                        help="runs that are new or have changed (default), or all")  # fmt: skip
    args = parser.parse_args(argv)
    rows = stored() if args.count != "all" else []
    rows = list(counted(rows)) if args.count else rows
    fits, tests = halves(rows)
    constants = fit(fits)
    constants = Constants(**{n: float(f"{v:.3g}") for n, v in asdict(constants).items()})
    told = {
        "command": "python -m tools.calibrate_estimate --count",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "gpu": RECORD["provenance"]["gpu"].split(",")[0],
        "within": WITHIN,
        "fitted": shares(fits, constants),
        "held_out": shares(tests, constants),
        "all": shares(rows, constants),
        "constants": asdict(constants),
    }
    failing = sorted({row.kernel for row in rows if wrong(row, constants)})
    fails = {"fails": {name: CAUSES.get(name, "no cause is known") for name in failing}}
    FITTED.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    ordered = sorted(rows, key=lambda row: row.kernel)
    runs = [_line(row, constants, row in fits) for row in rows]
    STORED.write_text(in_lines(told | fails | {"runs": runs}) + "\n", encoding="utf-8")
    for row in ordered:
        us, limit = estimates(row, constants)
        if wrong(row, constants):
            why = CAUSES.get(row.kernel, "no cause is known")
            print(
                f"{row.kernel} ({row.case}): {us:.1f} us of {row.us}, {limit} of {row.limit}: {why}"
            )
    print(json.dumps({name: told[name] for name in ("fitted", "held_out", "all")}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
