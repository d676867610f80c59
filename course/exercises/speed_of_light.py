"""Lesson 12: what limits a kernel, which tiles to take, and what a benchmark is worth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from course.spec.draws import spread, uniform
from course.spec.exercise import (
    Array,
    Budget,
    KernelExercise,
    NumberExercise,
    Question,
    Role,
    Scalar,
    case,
    halves,
)
from course.spec.formula import Number
from course.spec.launching import Launcher

#: What one H200 counted and timed; `tools.record_speed` writes it, its provenance says when.
RECORD: Mapping[str, Any] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)

#: What an H200 has (its data sheet and NVIDIA's table for compute capability 9.0).
SMS = 132
SM = {
    "SMS": SMS,
    "SHARED_OF_SM": 228 * 1024,
    "SHARED_OF_BLOCK": 227 * 1024,
    "REGISTERS_OF_SM": 65536,
    "WARPS_OF_SM": 64,
}
CEILINGS = {
    "COPY_GB_S": RECORD["ceilings"]["copy_gb_s"],
    "FLOAT16_TFLOP_S": RECORD["ceilings"]["float16_tflop_s"],
    "FLOAT32_TFLOP_S": RECORD["ceilings"]["float32_tflop_s"],
}


def _choice(text: str, unit: str, answer: int, slips: Mapping[str, str]) -> Question:
    """A question with numbered answers; `if_2` is what to say to the second."""
    told = {number.removeprefix("if_"): words for number, words in slips.items()}
    return Question(text, str(answer), unit, slips=told)


# ------------------------------------------------------------------ one roofline

#: (kernel, operations where its record has none): what lesson 12 draws on one roofline.
_N, _LONG = 1 << 26, 2 * 64 * 64 * 65_536
ON_ROOFLINE: Mapping[str, int | None] = {
    "triton_add": _N,
    "matmul_tiled": None,
    "triton_matmul": None,
    "flash_forward": None,
    "vector_add": _N,
    "dot": 2 * _N,
    "dot_more_blocks": 2 * _N,
    "row_sum": 65_536 * 1024,
    "matmul_naive": None,
    "matmul_coarse": None,
    "gated_linear": None,
    "flash_forward_narrow": None,
    "triton_matmul_long": _LONG,
    "split_k": _LONG,
    "attend_one_query": 4 * 8 * 131_072 * 64,
    "flash_decode": 4 * 8 * 131_072 * 64,
}
#: Kernels that the tensor cores work for; the others compute in float32.
ON_TENSOR_CORES = frozenset(
    ("triton_matmul", "gated_linear", "flash_forward", "flash_forward_narrow")
    + ("triton_matmul_long", "split_k")
)


def _roofline_rows() -> tuple[dict[str, Number], ...]:
    rows = []
    for number, (kernel, flop) in enumerate(ON_ROOFLINE.items(), 1):
        run = RECORD["kernels"][kernel]
        peak = CEILINGS["FLOAT16_TFLOP_S" if kernel in ON_TENSOR_CORES else "FLOAT32_TFLOP_S"]
        rows.append(
            {
                "RUN": number,
                "FLOP": flop or run["flop"],
                "BYTES": run["least_bytes"],
                "US": run["us"],
                "PEAK_TFLOP_S": peak,
                "COPY_GB_S": CEILINGS["COPY_GB_S"],
            }
        )
    return tuple(rows)


ROOFLINE = _roofline_rows()
_COMPUTE_US, _MEMORY_US = "FLOP / PEAK_TFLOP_S / 10**6", "BYTES / COPY_GB_S / 10**3"
#: The time by the data sheet's rate, and what to say to it.
_SHEET_US, _SHEET = "BYTES / 4800 / 10**3", "That is the data sheet's rate: take the measured one."

own_roofline = NumberExercise(
    name="own_roofline",
    title="Your kernels under this GPU's own roof",
    task=(
        "Four recorded runs of kernels that you have written, and formulas for what they tell. The "
        "roof is this GPU's own: the rate of a large copy (PyTorch's), and of cuBLAS's products, "
        "in the same run. Held-out runs are of other kernels."
    ),
    points=5,
    minutes=30,
    difficulty=2,
    hints=(
        "A TFLOP/s is 10**6 operations in a microsecond, a GB/s is 10**3 bytes in a microsecond.",
        "A GPU computes and moves bytes at the same time: the longer of the two times is the least "
        "that the work takes. `max(a, b)`.",
    ),
    questions={
        "intensity": Question(
            "operations for each byte that has to move",
            "FLOP / BYTES",
            "FLOP/byte",
            0.01,
            slips={"BYTES / FLOP": "That is bytes for each operation: turn it over."},
        ),
        "least_us": Question(
            "the time that this GPU needs at least for so much work and so many bytes",
            f"max({_COMPUTE_US}, {_MEMORY_US})",
            "us",
            0.01,
            slips={
                f"{_COMPUTE_US} + {_MEMORY_US}": "Both go on at the same time: the longer counts.",
                f"min({_COMPUTE_US}, {_MEMORY_US})": "The longer of the two times counts.",
                _MEMORY_US: "That is the time for its bytes. Its operations take longer.",
                _COMPUTE_US: "That is the time for its operations. Its bytes take longer.",
                f"max({_COMPUTE_US}, {_SHEET_US})": _SHEET,
            },
        ),
        "of_roof": Question(
            "how near it comes: the least time over the time it took",
            f"max({_COMPUTE_US}, {_MEMORY_US}) / US",
            "a share; rounding and luck may bring it a little above 1",
            0.01,
            slips={
                f"US / max({_COMPUTE_US}, {_MEMORY_US})": "Turn it over: 1 is the roof.",
                f"max({_COMPUTE_US}, {_SHEET_US}) / US": _SHEET,
            },
        ),
        "bound": Question(
            "which of the two is its roof: 1 arithmetic, 2 memory",
            f"1 if {_COMPUTE_US} > {_MEMORY_US} else 2",
            slips={f"2 if {_COMPUTE_US} > {_MEMORY_US} else 1": "The longer time is the roof."},
        ),
    },
    columns={
        "FLOP": "operations, a multiply-add counted as two",
        "BYTES": "bytes that have to move: each array once",
        "US": "microseconds it took",
        "PEAK_TFLOP_S": "what cuBLAS reaches with numbers of this type",
        "COPY_GB_S": "what a large copy reaches, bytes read and bytes written",
    },
    table=ROOFLINE,
    cases=tuple(case(RUN=number) for number in (1, 2, 3, 4)),
)

# ------------------------------------------------------------------ benchmarks

BENCHMARKS: Mapping[str, Mapping[str, float]] = {
    letter: RECORD["benchmarks"][name]
    for letter, name in zip("PQRST", ("cold", "asynchronous", "cached", "launches", "zeros"),
                            strict=True)
}  # fmt: skip
_MISTAKES = (
    "1 the inputs are all zeros, 2 nobody waited for the GPU, 3 the first call is in the time, "
    "4 the inputs lay in L2, 5 launches are in the time"
)
_REPAIRS = (
    "1 clear the L2 before each run, or take other inputs each time, 2 call it a few times before "
    "the clock starts, 3 record an event before and after, on the GPU, 4 draw random inputs, 5 "
    "wait for the GPU before the clock is read"
)


def _mistake(letter: str, answer: int, **slips: str) -> Question:
    return _choice(f"{letter}: what is wrong with it?", "1 to 5", answer, slips)


def _repair(letter: str, answer: int, **slips: str) -> Question:
    return _choice(f"{letter}: what repairs it?", "1 to 5", answer, slips)


_WAITS = "It waits: `synchronize()` stands before the clock is read."
_DONE = "Its first line says that this was done."

broken_benchmark = NumberExercise(
    name="broken_benchmark",
    title="Five benchmarks that lie",
    task=(
        "Each of the five programs above was run as it stands, and its figure is recorded beside "
        "the right one. Say what is wrong, work out the number that should have made its author "
        f"doubt, and choose the repair. Mistakes: {_MISTAKES}. Repairs: {_REPAIRS}."
    ),
    points=6,
    minutes=35,
    difficulty=2,
    hints=(
        "Ask of each: when does its clock start, when does it stop, what has the GPU done in "
        "between, and on which data?",
        "No kernel moves bytes faster than a copy does, unless the bytes do not come from DRAM or "
        "the kernel was not done.",
    ),
    given={
        **{
            f"{letter}_{name}".upper(): value
            for letter, row in BENCHMARKS.items()
            for name, value in row.items()
        },
        **CEILINGS,
    },
    questions={
        "P_mistake": _mistake("P", 3, if_5="One launch takes microseconds, not a second."),
        "P_times": Question(
            "P: its figure over the right one",
            "P_WRONG_US / P_RIGHT_US",
            "times",
            0.02,
            slips={"P_RIGHT_US / P_WRONG_US": "Turn it over: how many times too long."},
        ),
        "P_repair": _repair(
            "P", 2, if_3="The first call would still compile between the two events.", if_5=_WAITS
        ),
        "Q_mistake": _mistake(
            "Q", 2, if_5="The launches are all that it times. What is missing from its time?"
        ),
        "Q_of_copy": Question(
            "Q: the bytes a second that its figure means, over the copy rate",
            "Q_BYTES / Q_WRONG_US / 1000 / COPY_GB_S",
            "times",
            0.02,
            slips={"Q_BYTES / Q_RIGHT_US / 1000 / COPY_GB_S": "That is the right figure's."},
        ),
        "Q_repair": _repair("Q", 5, if_2="It was called before the clock started."),
        "R_mistake": _mistake(
            "R", 4, if_2="It waits for its last event. How much data are three arrays of 4 MB?"
        ),
        "R_mb": Question(
            "R: the bytes of its three arrays together, in MB (10**6 bytes); an H200's L2 holds 60",
            "R_BYTES / 10**6",
            "MB",
            0.06,
            slips={"R_ELEMENTS * 4 / 10**6": "It has three arrays."},
        ),
        "R_repair": _repair(
            "R",
            1,
            if_4="What the numbers are changes no addition's time. Where do they lie?",
            if_5="It waits: `stop.synchronize()`.",
        ),
        "S_mistake": _mistake(
            "S", 5, if_4="48 KB lie in L2, yes. The time is more than four times too long."
        ),
        "S_idle": Question(
            "S: the share of its time in which the GPU waits for the next launch, if the right "
            "figure is how long the GPU works",
            "1 - S_RIGHT_US / S_WRONG_US",
            "a share, 0 to 1",
            0.02,
            slips={"S_RIGHT_US / S_WRONG_US": "That is the share in which it works."},
        ),
        "S_repair": _repair("S", 3, if_5=_WAITS),
        "T_mistake": _mistake("T", 1, if_3=_DONE, if_4=_DONE),
        "T_tflop_s": Question(
            "T: the TFLOP/s that its figure means",
            "T_FLOP / T_WRONG_US / 10**6",
            "TFLOP/s",
            0.02,
            slips={"T_FLOP / T_RIGHT_US / 10**6": "That is the right figure's."},
        ),
        "T_repair": _repair("T", 4, if_1=_DONE, if_2=_DONE, if_3=_DONE),
    },
)


# ------------------------------------------------------------------ reports

#: The six reports of the lesson by letter: the kernel, and what ran after the next step.
LETTERS = {
    "A": ("triton_add", ""),
    "B": ("dot", "dot_more_blocks"),
    "C": ("layernorm_tile", "layernorm"),
    "D": ("matmul_tiled", "matmul_coarse"),
    "E": ("triton_matmul", "square"),  # a shape of the tiles
    "F": ("matmul_coarse_1d_local", "matmul_coarse_1d"),
}
_SHOWN = (*(kernel for kernel, _ in LETTERS.values()), "half_the_bytes")
#: Every recorded report by its number: A to F are 1 to 6, and 7 is the one whose warps wait.
REPORTS = {
    kernel: number
    for number, kernel in enumerate(
        [*_SHOWN, *(kernel for kernel in RECORD["kernels"] if kernel not in _SHOWN)], 1
    )
}
#: Percent of a peak that such a report holds, and Nsight Compute's percent of the SMs' time.
PERCENTS = {
    "DRAM": "dram_percent",
    "L2": "l2_percent",
    "L1": "l1_percent",
    "SM": "sm_percent",
    "TENSOR": "tensor_percent",
}
_COUNTS = {
    **PERCENTS,
    "BLOCKS": "blocks",
    "WAVES": "waves",
    "REGISTERS": "registers",
    "LOCAL_SECTORS": "local_load_sectors",
    "LOAD_SECTORS": "load_sectors",
    "WAVEFRONTS": "shared_wavefronts",
    "INSTRUCTIONS": "instructions",
}


def report(kernel: str) -> dict[str, Number]:
    """A recorded report: percent of peaks, counts, time in microseconds, bytes, operations.

    Where a call launched several kernels, the one that took longest is reported.
    """
    launches = RECORD["reports"]["launches"][kernel]
    counts = max((launch["counts"] for launch in launches), key=lambda c: c["ncu_us"])
    run = RECORD["kernels"][kernel]
    return {
        **{name: counts[ours] for name, ours in _COUNTS.items()},
        "US": run["us"],
        "LEAST_BYTES": run["least_bytes"],
        "DRAM_BYTES": counts["dram_read_bytes"] + counts["dram_write_bytes"],
        "FLOP": run.get("flop", 0),
    }


def after_us(letter: str) -> float:
    """Microseconds of the same work after the next step; of A, which has none, its own."""
    kernel, after = LETTERS[letter]
    if after == "square":
        return float(min(us for us in RECORD["tiles"]["us"][after]["configurations"] if us))
    return float(RECORD["kernels"][after or kernel]["us"])


_LIMITS = (
    "1 DRAM, 2 L2, 3 L1 and shared memory, 4 instructions, 5 too few blocks, 6 registers that "
    "spilled"
)
_STEPS = (
    "1 fewer instructions: unroll the loop, no index arithmetic in it; 2 fewer numbers a program; "
    "3 nothing in this kernel: fuse it with its neighbours; 4 larger tiles, so that fewer bytes "
    "come from L2; 5 more outputs a thread, kept in registers; 6 more blocks"
)


def _limit(letter: str, answer: int, **slips: str) -> Question:
    return _choice(f"{letter}: what limits it?", "1 to 6", answer, slips)


def _step(letter: str, answer: int, **slips: str) -> Question:
    return _choice(f"{letter}: which step is next?", "1 to 6", answer, slips)


_SEEN = {letter: report(kernel) for letter, (kernel, _) in LETTERS.items()}


def _percent(letter: str, name: str) -> str:
    return f"{name} stands at {_SEEN[letter][name]:.0f} percent"


_CARRIES = "L2 carries all that DRAM delivers. Where both are near their peak, DRAM is the slower."
_EMPTY = "Most SMs have no block at all. Percent of a whole GPU says little of the few that work."

read_profile = NumberExercise(
    name="read_profile",
    title="Six reports: the limit, the evidence, the next step",
    task=(
        "The table above holds what Nsight Compute counted for six kernels of this course on an "
        "H200. Name what limits each one, work out the number that proves it, and name the next "
        "step. Every next step was tried; the cell after the check shows what it brought. "
        f"Limits: {_LIMITS}. Steps: {_STEPS}."
    ),
    points=8,
    minutes=45,
    difficulty=3,
    hints=(
        "Read in this order. Has every SM a block? Do registers spill? Only then: which percentage "
        "is near its peak?",
        "Above about 75 percent a unit counts as full. DRAM and L2 rise together, and of the two "
        "DRAM is the slower. L1 stands for shared memory, too. SM is the busiest of an SM's pipes, "
        "the one that issues instructions among them.",
        "A warp's multiply-add instruction makes 64 operations: 32 lanes, 2 each. So a kernel "
        "needs FLOP / 64 of them, whatever else it does.",
    ),
    given={
        **{
            f"{letter}_{name}": value
            for letter, (kernel, _) in LETTERS.items()
            for name, value in report(kernel).items()
        },
        **SM,
        **CEILINGS,
    },
    questions={
        "A_limit": _limit("A", 1, if_2=_CARRIES, if_4=_percent("A", "SM") + "."),
        "A_of_copy": Question(
            "A: the bytes that it has to move, a second, over this GPU's own copy rate",
            "A_LEAST_BYTES / A_US / 1000 / COPY_GB_S",
            "a ratio",
            0.02,
            slips={"A_LEAST_BYTES / A_US / 1000 / 4800": _SHEET},
        ),
        "A_step": _step(
            "A",
            3,
            if_1=_percent("A", "SM") + ": instructions are not what it waits for.",
            if_4="No element is used twice: each comes from DRAM once, whatever the tile.",
            if_6="Many waves of blocks ran. More of them do not make DRAM faster.",
        ),
        "B_limit": _limit("B", 5, if_1=_EMPTY, if_2=_EMPTY, if_3=_EMPTY, if_4=_EMPTY),
        "B_sms": Question(
            "B: the share of the SMs that ever had a block",
            "B_BLOCKS / SMS",
            "a share, 0 to 1",
            0.02,
        ),
        "B_step": _step("B", 6, if_1="One SM in eight works: let the others work, too."),
        "C_limit": _limit(
            "C",
            6,
            if_1="DRAM is busy, yes. With what? Compare its bytes with those that had to move.",
        ),
        "C_moved": Question(
            "C: the bytes that DRAM moved over the bytes that had to move",
            "C_DRAM_BYTES / C_LEAST_BYTES",
            "times",
            0.02,
            slips={"C_LEAST_BYTES / C_DRAM_BYTES": "Turn it over: how many times as many."},
        ),
        "C_step": _step(
            "C",
            2,
            if_5="Its registers have no room for what it keeps already: they spill.",
            if_6="Nearly four waves of blocks ran: the SMs have work.",
            if_3="Of eighteen bytes that move, seventeen are spills, not its neighbours' work.",
        ),
        "D_limit": _limit("D", 3, if_4=_percent("D", "SM") + ", and " + _percent("D", "L1") + "."),
        "D_turns": Question(
            "D: turns of shared memory (wavefronts) for each multiply-add instruction of a warp",
            "D_WAVEFRONTS / (D_FLOP / 64)",
            "turns",
            0.02,
            slips={
                "D_WAVEFRONTS / (D_FLOP / 2)": "An instruction of a warp does 32 multiply-adds.",
                "D_WAVEFRONTS / (D_FLOP / 32)": "A multiply-add counts as two operations.",
                "D_WAVEFRONTS / D_FLOP": "A warp's instruction makes 64 operations.",
            },
        ),
        "D_step": _step(
            "D",
            5,
            if_6="More than fifteen waves of blocks ran: the SMs have work.",
            if_4=_percent("D", "L2") + ": what comes from there is not what it waits for.",
        ),
        "E_limit": _limit("E", 2, if_1=_percent("E", "DRAM") + ".", if_4=_percent("E", "SM") + "."),
        "E_flop_a_byte": Question(
            "E: operations for each byte that its loads asked for",
            "E_FLOP / (32 * E_LOAD_SECTORS)",
            "FLOP/byte",
            0.02,
            slips={
                "E_FLOP / E_LOAD_SECTORS": "A sector has 32 bytes.",
                "E_FLOP / E_LEAST_BYTES": "Those are the bytes that must move once. "
                "The kernel asks for each many times.",
            },
        ),
        "E_step": _step(
            "E",
            4,
            if_1=_percent("E", "SM") + ": instructions are not what it waits for.",
            if_6="Nearly four waves of blocks ran: the SMs have work.",
        ),
        "F_limit": _limit("F", 4, if_3=_percent("F", "L1") + ", and " + _percent("F", "SM") + "."),
        "F_instructions": Question(
            "F: instructions of a warp for each multiply-add instruction",
            "F_INSTRUCTIONS / (F_FLOP / 64)",
            "instructions",
            0.02,
            slips={
                "F_INSTRUCTIONS / (F_FLOP / 32)": "A multiply-add counts as two operations.",
                "F_INSTRUCTIONS / F_FLOP": "A warp's instruction makes 64 operations.",
            },
        ),
        "F_step": _step(
            "F",
            1,
            if_4=_percent("F", "L2") + ": bytes are not what it waits for.",
            if_6="Nearly eight waves of blocks ran: the SMs have work.",
            if_5="It keeps eight outputs a thread already. What else does its loop do?",
        ),
    },
)

limiter = NumberExercise(
    name="limiter",
    title="From a report to its limit, as a rule",
    task=(
        "Write the order in which you read a report as one formula: from its numbers to the "
        f"number of its limit ({_LIMITS}, 7 none of these: warps wait). The formula is tried on "
        "reports 1 to 6, which are A to F, and 7, whose warps wait; held-out reports are of other "
        "kernels. Where DRAM and L2 are both full, the limit is DRAM; no two other units are full "
        "in one report."
    ),
    points=4,
    minutes=25,
    difficulty=3,
    hints=(
        "In Python a choice between two values is `1 if DRAM > 75 else 2`. What comes after `else` "
        "may be another choice.",
        "First WAVES, then LOCAL_SECTORS, then percentages. Ask for DRAM before you ask for L2.",
    ),
    questions={
        "limit": Question(
            f"the limit: {_LIMITS}, 7 none of these",
            "LIMIT",
            slips={
                "2 if DRAM > 75 else -1": _CARRIES,
                "1 if LOCAL_SECTORS > 10**6 else -1": (
                    "What DRAM moves there is mostly what registers spilled."
                ),
                "4 if WAVES < 1 else -1": _EMPTY,
                "7 if WAVES < 1 else -1": _EMPTY,
                "(3 if L1 < 75 else -1) if SM > 75 else -1": (
                    "L1 is not near its peak: above about 75 percent a unit counts as full."
                ),
                "7 if max(DRAM, L2, L1, SM) > 75 else -1": (
                    "One unit is full: above about 75 percent it counts as that."
                ),
                "4 if SM < 75 else -1": "Where nothing is near its peak, warps wait for latency.",
            },
        )
    },
    columns={
        "WAVES": "blocks of the launch over blocks that the GPU holds at once",
        "LOCAL_SECTORS": "sectors of spilled registers that were loaded",
        "DRAM": "percent of DRAM's peak",
        "L2": "percent of L2's peak",
        "L1": "percent of the peak of L1 and shared memory",
        "SM": "percent of the peak of an SM's busiest pipe",
        "TENSOR": "percent of the tensor cores' peak",
    },
    table=tuple({"REPORT": number, **report(kernel)} for kernel, number in REPORTS.items()),
    cases=tuple(
        case(REPORT=number, LIMIT=limit) for number, limit in enumerate((1, 5, 6, 3, 2, 4, 7), 1)
    ),
)

# ------------------------------------------------------------------ tiles

#: What stands for the time of a configuration that does not launch.
NEVER_US = 1e9
SHAPES: Mapping[str, Mapping[str, Any]] = RECORD["tiles"]["us"]


def tile_rows(
    shapes: Mapping[str, Mapping[str, Any]], first: int = 0
) -> tuple[dict[str, Number], ...]:
    """A row for each shape, numbered from `first`, and configuration; US is the recorded time."""
    rows = []
    for number, shape in enumerate(shapes.values(), first):
        for place, c in enumerate(RECORD["tiles"]["configurations"]):
            shared = c["stages"] * (c["BM"] + c["BN"]) * c["BK"] * 2
            rows.append(
                {
                    "SHAPE": number,
                    "CONFIGURATION": place + 1,
                    **{name: shape[name] for name in "MNK"},
                    **{name: c[name] for name in ("BM", "BN", "BK")},
                    "WARPS": c["warps"],
                    "STAGES": c["stages"],
                    "REGISTERS": c.get("registers", 0),
                    "SPILLS": c.get("spills", 0),
                    "SHARED": c.get("shared_bytes", shared),
                    "US": shape["configurations"][place] or NEVER_US,
                }
            )
    return tuple(rows)


TILES = tile_rows(SHAPES)
#: Shapes more for arithmetic, which needs no time: no tile of the forty divides M, or N, of the
#: first; whole waves are all that the second has; of the third each row has another limit.
RAGGED, WHOLE_WAVES, LIMITS = range(len(SHAPES), len(SHAPES) + 3)
_MORE = {RAGGED: {"M": 1000, "N": 5000}, WHOLE_WAVES: {"M": SMS * 128, "N": 15 * 4096}}
#: Configurations that nobody compiled: the KB that a block costs beside its own makes five blocks
#: four; an SM's shared memory is full to its last byte; warps are what an SM has too few of; three
#: registers that nobody asked for make five blocks four.
_OTHERS = (
    {"BM": 128, "BN": 16, "BK": 32, "WARPS": 4, "STAGES": 5, "REGISTERS": 64},
    {"BM": 64, "BN": 64, "BK": 32, "WARPS": 4, "STAGES": 7, "REGISTERS": 64},
    {"BM": 32, "BN": 64, "BK": 32, "WARPS": 8, "STAGES": 2, "REGISTERS": 24},
    {"BM": 64, "BN": 64, "BK": 32, "WARPS": 4, "STAGES": 2, "REGISTERS": 101},
)
_FOR_ARITHMETIC = (
    *(row | {"SHAPE": number} | sizes for number, sizes in _MORE.items() for row in TILES[:40]),
    *(
        TILES[0] | {"SHAPE": LIMITS, "CONFIGURATION": number} | other
        for number, other in enumerate(_OTHERS, 1)
    ),
)
_TILE = {
    "M": "rows of C",
    "N": "columns of C",
    "K": "length of each sum",
    "BM": "rows of a tile",
    "BN": "columns of a tile",
    "BK": "steps of K at a time",
    "WARPS": "warps of a program",
    "STAGES": "steps of K whose tiles of A and B lie in shared memory at once",
    "REGISTERS": "registers of a thread, as the compiler reports them",
}
_SHARED = "STAGES * (BM + BN) * BK * 2"
_PROGRAMS = "cdiv(M, BM) * cdiv(N, BN)"
_AN_SM = (
    f"min(SHARED_OF_SM // ({_SHARED} + 1024), "
    "REGISTERS_OF_SM // (cdiv(REGISTERS, 8) * 8 * 32 * WARPS), WARPS_OF_SM // WARPS)"
)

tile_arithmetic = NumberExercise(
    name="tile_arithmetic",
    title="What a configuration costs, before it runs",
    task=(
        "A float16 matmul, sums in float32, in tiles. Write each number as a formula in the names "
        "below. A program keeps its tile of C in registers, and STAGES pairs of tiles of A and B "
        "in shared memory. An H200 has 132 SMs; an SM has 228 KB of shared memory, of which each "
        "block costs 1 KB beside its own, 65,536 registers, handed out in groups of 8 a thread, "
        "and room for 64 warps."
    ),
    points=6,
    minutes=40,
    difficulty=3,
    hints=(
        "A pair of tiles is (BM * BK) elements of A and (BK * BN) of B, 2 bytes each. The tile of "
        "C has BM * BN elements, and a program has 32 * WARPS threads.",
        "Round up with `-(-a // b)`, or with `triton.cdiv(a, b)` after `import triton`. Of three "
        "limits the smallest counts: `min(a, b, c)`.",
        "Intensity: in one step of BK a program makes 2 * BM * BN * BK operations, and loads one "
        "tile of A and one of B.",
    ),
    given=SM,
    questions={
        "shared_bytes": Question(
            "shared memory of a program",
            _SHARED,
            "bytes",
            slips={
                "STAGES * (BM + BN) * BK": "An element of float16 has 2 bytes.",
                "STAGES * (BM + BN) * BK * 4": "A and B are float16: 2 bytes an element.",
                "(BM + BN) * BK * 2": "So many bytes for each stage.",
                "STAGES * (BM + BN) * BK * 2 + BM * BN * 4": "The tile of C stays in registers.",
            },
        ),
        "accumulators": Question(
            "registers that a thread needs for its part of C",
            "BM * BN / (32 * WARPS)",
            "registers",
            slips={
                "BM * BN / WARPS": "A warp has 32 threads.",
                "BM * BN / (64 * WARPS)": "The sums are float32: a register each.",
            },
        ),
        "programs": Question(
            "programs of the launch",
            _PROGRAMS,
            "programs",
            slips={
                f"{_PROGRAMS} * cdiv(K, BK)": "The loop over K is inside a program.",
                "M // BM * (N // BN)": "A tile at the edge has a program, too: round up.",
                "M * N / (BM * BN)": "Each axis ends with a whole tile: round up twice.",
                "cdiv(M * N, BM * BN)": "Each axis ends with a whole tile: round up twice.",
            },
        ),
        "programs_an_sm": Question(
            "programs that an SM holds at the same time",
            _AN_SM,
            "programs",
            slips={
                _AN_SM.replace("cdiv(REGISTERS, 8) * 8", "REGISTERS"): (
                    "Registers come in groups of 8 a thread: round up."
                ),
                f"SHARED_OF_SM // ({_SHARED} + 1024)": "Registers are a limit, too.",
                f"SHARED_OF_SM // ({_SHARED})": "Each block costs 1 KB more; and registers count.",
                "REGISTERS_OF_SM // (REGISTERS * 32 * WARPS)": "Shared memory is a limit, too.",
                _AN_SM.replace(" + 1024", ""): "Each block costs 1 KB beside its own.",
                _AN_SM.replace(", WARPS_OF_SM // WARPS", ""): "An SM has room for 64 warps.",
                _AN_SM.replace("SHARED_OF_SM", "SHARED_OF_BLOCK"): (
                    "A block may have 227 KB, and an SM has 228."
                ),
            },
        ),
        "waves": Question(
            "waves, the last one rounded up",
            f"cdiv({_PROGRAMS}, SMS * {_AN_SM})",
            "waves",
            slips={
                f"{_PROGRAMS} / (SMS * {_AN_SM})": "A wave that is not full counts: round up.",
                f"cdiv({_PROGRAMS}, SMS)": "An SM may hold several programs.",
                f"{_PROGRAMS} // (SMS * {_AN_SM}) + 1": "Where waves are whole, none is added.",
            },
        ),
        "intensity": Question(
            "operations for each byte that a program loads",
            "BM * BN / (BM + BN)",
            "FLOP/byte",
            0.01,
            slips={
                "BM * BN / (BM + BN) / 2": "A multiply-add is two operations.",
                "2 * BM * BN / (BM + BN)": "An element of float16 has 2 bytes.",
            },
        ),
    },
    columns=_TILE,
    table=(*TILES, *_FOR_ARITHMETIC),
    cases=(
        case(SHAPE=0, CONFIGURATION=34),
        case(SHAPE=0, CONFIGURATION=23),
        case(SHAPE=1, CONFIGURATION=10),
        case(SHAPE=RAGGED, CONFIGURATION=34),
        case(SHAPE=WHOLE_WAVES, CONFIGURATION=34),
        *(case(SHAPE=LIMITS, CONFIGURATION=number) for number in (1, 2, 3, 4)),
    ),
)

tile_pick = NumberExercise(
    name="tile_pick",
    title="Choose tiles by arithmetic",
    task=(
        "Write a formula for the time of a configuration, in any unit. For each shape the "
        "configuration is taken for which your formula is least, out of forty. All forty ran on an "
        "H200 at each shape: your choice may take 1.25 times as long as the best. The shapes shown "
        "are 4096 x 4096 x 4096, 1024 x 1024 x 1024 and 256 x 8192 x 4096 (M x N x K). Held-out "
        "shapes are others."
    ),
    points=6,
    minutes=60,
    difficulty=4,
    hints=(
        "First prune: what spills or does not fit into 232,448 bytes gets a time beyond all "
        "others, `10**12 if SPILLS > 0 or SHARED > 232448 else ...`.",
        "Then waves. In each of them an SM works on its programs in turn, so a wave takes as long "
        "as `programs_an_sm` tiles do.",
        "A tile takes the sum of two things: BM * BN multiply-adds a step, and BM + BN numbers "
        "from L2, each of which costs as much as some 64 multiply-adds.",
    ),
    given=SM,
    questions={
        "time": Question(
            "a number that is least for the configuration to take",
            "US",
            ranks=(
                "{M} x {N} x {K}: it takes configuration {CONFIGURATION}, tiles of {BM} x {BN} x "
                "{BK}, {WARPS} warps, {STAGES} stages. {US:,.1f} us, {times:.2f} times the best."
            ),
            within=1.25,
            slips={
                "SHARED > SHARED_OF_BLOCK": (
                    "It takes configuration {CONFIGURATION}, which asks for {SHARED:,} bytes of "
                    "shared memory. A block has 232,448 at most: it does not launch."
                ),
                "SPILLS > 0": (
                    "{M} x {N} x {K}: it takes configuration {CONFIGURATION}, whose threads spill: "
                    "{REGISTERS} registers do not hold {BM} x {BN} sums on {WARPS} warps. "
                    "{US:,.1f} us, {times:.2f} times the best."
                ),
            },
        )
    },
    columns={
        **_TILE,
        "SPILLS": "registers of a thread that did not fit",
        "SHARED": "bytes of shared memory",
    },
    table=TILES,
    cases=tuple(case(SHAPE=number) for number in range(len(SHAPES))),
)

# ------------------------------------------------------------------ capstone

TINY = uniform(-4e-3, 4e-3)  # squares near eps
NEAR_300 = spread(20.0, 300.0)  # squares that float16 does not hold
_HALF = halves("x", "w", "out")
#: float16: one rounding is at most 4.9e-4 of a result, and two, or angles in float16, are more.
TOLERANCE = {"float32": (1e-5, 1e-9), "float16": (6e-4, 1e-6)}


def _sine(cos: np.ndarray, **_: Any) -> np.ndarray:
    """Sines of either sign that belong to the cosines."""
    sign = np.where((cos * 2**12) % 1 < 0.5, -1.0, 1.0)
    result: np.ndarray = sign * np.sqrt(1 - cos * cos)
    return result


def _mean_square(x: np.ndarray) -> np.ndarray:
    """One for each head of each token, (N, H, 1)."""
    result: np.ndarray = np.mean(x * x, axis=2, keepdims=True)
    return result


def _turned(row: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> dict[str, np.ndarray]:
    """(N, H, 2R), rotated, heads first."""
    first, second = np.split(row, 2, axis=2)
    c, s = cos[:, None], sin[:, None]
    turned = np.concatenate([first * c - second * s, second * c + first * s], axis=2)
    return {"out": turned.swapaxes(0, 1)}


def _rope(
    x: np.ndarray, w: np.ndarray, cos: np.ndarray, sin: np.ndarray, eps: float
) -> dict[str, np.ndarray]:
    return _turned(x / np.sqrt(_mean_square(x) + eps) * w, cos, sin)


def _neighbours(x: np.ndarray) -> np.ndarray:
    """Even places of the last axis, then odd ones."""
    return np.concatenate([x[..., ::2], x[..., 1::2]], axis=-1)


def _in_pairs(
    x: np.ndarray, w: np.ndarray, cos: np.ndarray, sin: np.ndarray, eps: float
) -> dict[str, np.ndarray]:
    """Neighbours for pairs, 2r and 2r + 1."""
    out = _rope(_neighbours(x), _neighbours(w), cos, sin, eps)["out"]
    first, second = np.split(out, 2, axis=2)
    return {"out": np.stack([first, second], axis=3).reshape(out.shape)}


def _one_sign_wrong(
    x: np.ndarray, w: np.ndarray, cos: np.ndarray, sin: np.ndarray, eps: float, sign: int
) -> dict[str, np.ndarray]:
    """The first half rotated one way, the second the other: `sign` is that of the first."""
    one, other = (_rope(x, w, cos, way * sin, eps)["out"] for way in (sign, -sign))
    return {
        "out": np.concatenate([one[:, :, : x.shape[2] // 2], other[:, :, x.shape[2] // 2 :]], 2)
    }


def _by_first_of(
    x: np.ndarray, w: np.ndarray, cos: np.ndarray, sin: np.ndarray, eps: float, tokens: int
) -> dict[str, np.ndarray]:
    """The angles of a tile's first token for all of the tile."""
    first = np.arange(len(x)) // tokens * tokens
    return _rope(x, w, cos[first], sin[first], eps)


def _second_of_the_result(
    x: np.ndarray, w: np.ndarray, cos: np.ndarray, sin: np.ndarray, eps: float
) -> dict[str, np.ndarray]:
    """a is replaced by its result before b's is made of it."""
    first, second = np.split(x / np.sqrt(_mean_square(x) + eps) * w, 2, axis=2)
    first = first * cos[:, None] - second * sin[:, None]
    second = second * cos[:, None] + first * sin[:, None]
    return {"out": np.concatenate([first, second], axis=2).swapaxes(0, 1)}


rope_heads = KernelExercise(
    name="rope_heads",
    title="Normalise, rotate, transpose: a kernel of your own",
    task=(
        "What a language model does to its queries and keys before attention. x is (N, H, 2 * R): "
        "N tokens, H heads, a row of 2 * R numbers for each. Every row is normalised by itself: "
        "y = x[n, h] / sqrt(mean of x[n, h]**2 + eps) * w, with w of 2 * R weights. Then it is "
        "rotated: the first half of y is a, the second half b, and they become "
        "a * cos[n] - b * sin[n] and b * cos[n] + a * sin[n], with tables of (N, R), which all "
        "heads of a token share. Store it head by head: out[h, n] is the row, out is contiguous, "
        "(H, N, 2 * R), and has the dtype of x. x, w and out are float16 or float32, cos and sin "
        "float32: compute in float32. R is a power of two, at most 128; N and H are any. x, cos "
        "and sin are loaded once, out is stored once, and nothing else goes to memory. Kernel, "
        "tiles, grid and launcher are yours; a program takes 16 tokens at most."
    ),
    points=12,
    minutes=75,
    difficulty=4,
    hints=(
        "Which part of the work shares an angle? All heads of one token. So one program has to see "
        "all of them: its tables stay in registers while it goes through the heads.",
        "Load a row as two halves, R numbers each: both halves of the result need both. The mean "
        "square is the sum over both halves, divided by 2 * R.",
        "A tile of (tokens, R) and a loop over the heads: row (n, h) of x begins at "
        "(n * H + h) * 2 * R, and its row of out at (h * N + n) * 2 * R. Mask tokens from N on.",
    ),
    parameters=(
        Array("x", "N, H, 2 * R"),
        Array("w", "2 * R", draw=spread(0.3, 1.0)),
        Array("cos", "N, R", draw=uniform(-1.0, 1.0)),
        Array("sin", "N, R", computed=_sine),
        Array("out", "H, N, 2 * R", Role.OUT, contiguous=True),
        Scalar("eps", "1e-5", "float32"),
    ),
    reference=_rope,
    magnitude=lambda x, w, cos, sin, eps: {
        "out": np.abs(_rope(x, w, cos, sin, eps)["out"])
        + np.abs(_rope(x, w, -sin, cos, eps)["out"])
    },
    tolerance=TOLERANCE,
    slips={
        "eps added outside of the root": lambda x, w, cos, sin, eps: _turned(
            x / (np.sqrt(_mean_square(x)) + eps) * w, cos, sin
        ),
        "eps left out": lambda x, w, cos, sin, eps: _rope(x, w, cos, sin, 0.0),
        "the root in the place of its reciprocal": lambda x, w, cos, sin, eps: _turned(
            x * np.sqrt(_mean_square(x) + eps) * w, cos, sin
        ),
        "a replaced by its result before b's is made of it": _second_of_the_result,
        "the first half of x for both": lambda x, w, cos, sin, eps: _rope(
            np.tile(x[:, :, : cos.shape[1]], 2), w, cos, sin, eps
        ),
        "the root left out": lambda x, w, cos, sin, eps: _turned(
            x / (_mean_square(x) + eps) * w, cos, sin
        ),
        "the sum of squares, not their mean": lambda x, w, cos, sin, eps: _turned(
            x / np.sqrt(x.shape[2] * _mean_square(x) + eps) * w, cos, sin
        ),
        "squares of both halves divided by R, not by 2 * R": lambda x, w, cos, sin, eps: _turned(
            x / np.sqrt(2 * _mean_square(x) + eps) * w, cos, sin
        ),
        "one mean square for all heads of a token": lambda x, w, cos, sin, eps: _turned(
            x / np.sqrt(np.mean(x * x, axis=(1, 2), keepdims=True) + eps) * w, cos, sin
        ),
        "the mean square of the first half alone": lambda x, w, cos, sin, eps: _turned(
            x / np.sqrt(_mean_square(x[:, :, : cos.shape[1]]) + eps) * w, cos, sin
        ),
        "each half normalised by itself": lambda x, w, cos, sin, eps: _turned(
            np.concatenate(
                [half / np.sqrt(_mean_square(half) + eps) for half in np.split(x, 2, axis=2)],
                axis=2,
            )
            * w,
            cos,
            sin,
        ),
        "the weights of the first half for both": lambda x, w, cos, sin, eps: _rope(
            x, np.tile(w[: cos.shape[1]], 2), cos, sin, eps
        ),
        "the weights left out": lambda x, w, cos, sin, eps: _rope(
            x, np.ones_like(w), cos, sin, eps
        ),
        "the weights after the rotation": lambda x, w, cos, sin, eps: {
            "out": _rope(x, np.ones_like(w), cos, sin, eps)["out"] * w
        },
        "the rotation backwards": lambda x, w, cos, sin, eps: _rope(x, w, cos, -sin, eps),
        "a * sin subtracted in the second half": partial(_one_sign_wrong, sign=1),
        "b * sin added in the first half": partial(_one_sign_wrong, sign=-1),
        "cos in the place of sin": lambda x, w, cos, sin, eps: _rope(x, w, cos, cos, eps),
        "sin and cos in each other's place": lambda x, w, cos, sin, eps: _rope(x, w, sin, cos, eps),
        "neighbours 2 * r and 2 * r + 1 for the pairs": _in_pairs,
        "the angles of token 0 for all": lambda x, w, cos, sin, eps: _rope(
            x, w, cos[:1], sin[:1], eps
        ),
        **{
            f"the angles of the first of {tokens} tokens for all of them": partial(
                _by_first_of, tokens=tokens
            )
            for tokens in (2, 4, 8, 16, 32)
        },
        "the rotation left out": lambda x, w, cos, sin, eps: _rope(
            x, w, np.ones_like(cos), np.zeros_like(sin), eps
        ),
        "rows stored token by token, as in x": lambda x, w, cos, sin, eps: {
            "out": _rope(x, w, cos, sin, eps)["out"]
            .swapaxes(0, 1)
            .reshape(x.shape[1], x.shape[0], x.shape[2])
        },
        "x taken for (H, N, 2 * R)": lambda x, w, cos, sin, eps: _rope(
            x.reshape(x.shape[1], x.shape[0], x.shape[2]).swapaxes(0, 1), w, cos, sin, eps
        ),
    },
    small=case(N=3, H=2, R=2),
    example=case(N=1, H=1, R=2),
    full=case(N=16_384, H=32, R=64, dtypes=_HALF),
    cases=(
        case(N=1, H=1, R=16),
        case(N=7, H=3, R=32, draws={"x": TINY}, scalars={"eps": 1e-4}),
        case(N=33, H=5, R=16, dtypes=_HALF, draws={"x": NEAR_300}),
        case(True, N=64, H=8, R=32),
        case(True, N=256, H=4, R=32, dtypes=_HALF),
        case(True, N=32, H=40, R=64, dtypes=_HALF),
    ),
    launch=Launcher(),
    shares="N / 16",
    budget=Budget(
        {
            "load x": "rows(2 * N * H, R)",
            "load w": "max(N, cdiv(N, 16) * H) * sectors(2 * R)",
            "load cos": "rows(N, R)",
            "load sin": "rows(N, R)",
            "store out": "rows(2 * H * N, R)",
        },
        why=(
            "Every row once in and once out, as two halves. The tables once for each token, not "
            "for each head. w, which is small, once for each token, or for each head of 16 tokens."
        ),
    ),
)
