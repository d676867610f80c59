"""A verdict of every kind, from faked launches, and the golden files of how each reads.

After a change of wording, look at the difference and write the files anew:

    python -m course.tests.words.verdict_samples
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from course.check.answers import check_numbers
from course.check.check import check_function, check_source
from course.engine.faults import KernelFault, Outcome
from course.engine.traffic import Site
from course.spec.exercise import Array, Budget, KernelExercise, NumberExercise, Question, Role, case
from course.spec.launching import Launch
from course.tests.kernels_of_learners import (
    HEAD,
    NO_GUARD,
    RIGHT,
    STARTER,
    add,
    load,
    runner,
    site,
    store,
)
from course.words.verdict import Verdict

GOLDEN = Path(__file__).parent / "golden"

vector_add = KernelExercise(
    name="vector_add",
    title="Add two vectors",
    task="Write c[i] = a[i] + b[i] for every i below N.",
    points=4,
    minutes=15,
    difficulty=1,
    hints=("one", "two"),
    parameters=(Array("a", "N"), Array("b", "N"), Array("c", "N", Role.OUT)),
    reference=lambda a, b: {"c": a + b},
    cases=(case(N=1), case(N=1000), case(True, N=4096)),
    launch=Launch("cdiv(N, 256)", "256"),
    budget=Budget({"load a": "sectors(N)", "load b": "sectors(N)", "store c": "sectors(N)"}),
    divergent_branches="0",
)
transpose = KernelExercise(
    name="transpose",
    title="Transpose through a tile",
    task="Write B[x, y] = A[y, x].",
    points=8,
    minutes=45,
    difficulty=3,
    hints=("one",),
    parameters=(Array("A", "M, N"), Array("B", "N, M", Role.OUT)),
    reference=lambda A: {"B": A.T},
    cases=(case(M=3, N=5), case(True, M=64, N=128)),
    launch=Launch(("cdiv(N, 32)", "cdiv(M, 32)"), ("32", "32")),
    budget=Budget({"load A": "tiles(M, N, 32, 32)", "store B": "tiles(N, M, 32, 32)"}),
    bank_conflicts="0",
)
DIRECT = (
    "from numba import cuda\n\n\n@cuda.jit\ndef transpose(A, B):\n    x, y = cuda.grid(2)\n"
    "    if x < A.shape[1] and y < A.shape[0]:\n        B[x, y] = A[y, x]\n"
)
waves = NumberExercise(
    name="waves",
    title="Waves",
    task="How many?",
    points=4,
    minutes=5,
    difficulty=1,
    hints=("one",),
    questions={
        "blocks": Question("How many blocks cover 20,000 elements?", "79", "blocks",
                           slips={"78": "That leaves the last elements without a thread."}),
        "threads": Question("How many threads are started?", "20224", "threads"),
        "share": Question("Which share of them has an element?", "0.989", rtol=0.01),
    },
)  # fmt: skip


def turn(A: np.ndarray, B: np.ndarray) -> None:
    B[:] = A.T


def turned(store_sectors: int) -> Callable[[int], list[Site]]:
    large = [
        load("A", 1024, used=32, requests=256),
        store("B", store_sectors, used=32 * 1024 // store_sectors, requests=256),
    ]
    return lambda size: large if size >= 1024 else [load("A", 2), store("B", 2)]


def kernel(source: str = RIGHT, work: Callable[..., None] = add, **settings: Any) -> Verdict:
    return check_source(vector_add, source, runner=runner(work, **settings))


def fault(outcome: Outcome, message_id: str, line: int, **fields: object) -> Verdict:
    found = KernelFault(outcome, message_id, line, **{"block": "3", "thread": "232", **fields})
    return kernel(NO_GUARD, fault=found)


def half(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    c[:] = (a + b).astype(np.float16)


def full_blocks_only(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    whole = c.size // 256 * 256 if c.size > 1 else 1
    c[:whole] = (a + b)[:whole]


def minus(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    c[:] = a - b


def one_lane(size: int) -> list[Site]:
    sites = [load(n, size, used=4, requests=size) for n in ("a", "b")]
    return [*sites, store("c", size, used=4, requests=size)]


def read_twice(size: int) -> list[Site]:
    sectors = -(-size // 8)
    rows = [load("a", sectors, 8), load("b", sectors, 8), load("a", sectors, 9)]
    return [*rows, store("c", sectors, 8), store("c", sectors, 9)]


def atomics(size: int) -> list[Site]:
    sectors = -(-size // 8)
    return [load("a", sectors), load("b", sectors), site("c", "atomic", size, 8, 32, size)]


def broken(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    raise ZeroDivisionError("division by zero")


def samples() -> dict[str, Verdict]:
    """Every kind of verdict by the name of its golden files."""
    race = {
        "array": "tile", "index": "3, 4", "thread": "(3, 1)", "block": "(0, 1)",
        "kind": "write/read",
        "other_thread": "(1, 3)", "other_block": "(0, 1)", "other_line": 7,
    }  # fmt: skip
    return {
        "pass": kernel(),
        "not_attempted": kernel(STARTER),
        "rejected_foreign_name": fault(Outcome.REJECTED, "undefined_name", 7, name="TPB"),
        "rejected_construct": fault(
            Outcome.REJECTED, "rejected_syntax", 7, construct="a list comprehension",
            instead="a loop that fills cuda.local.array(shape, dtype)"),
        "not_jitted": kernel(RIGHT.replace("@cuda.jit\n", "")),
        "not_a_kernel": check_function(vector_add, None),
        "syntax_error": kernel(f"{HEAD}    i = cuda.grid(1\n"),
        "argument_count": kernel(RIGHT.replace("a, b, c", "a, c")),
        "does_not_compile": fault(
            Outcome.DOES_NOT_COMPILE, "type_error", 7,
            detail="the index `i / 2` is float64, not a whole number"),
        "out_of_bounds": fault(
            Outcome.OUT_OF_BOUNDS, "out_of_bounds", 7, array="a", index="1000", shape="1000",
            access="reads"),
        "negative_index": fault(
            Outcome.OUT_OF_BOUNDS, "negative_index", 7, array="a", index="-1", shape="1000",
            access="reads", block="0", thread="0"),
        "uninitialised": fault(
            Outcome.UNINITIALISED, "uninitialised_shared", 7, array="tile", index="0"),
        "race": fault(Outcome.RACE, "race_shared", 8, **race),
        "race_same_value": fault(
            Outcome.RACE, "race_global_same_value", 7, array="c", index="0", kind="same_value",
            other_thread="several", other_block="several"),
        "barrier_divergence": fault(
            Outcome.BARRIER_DIVERGENCE, "barrier_divergence", 7, barrier="cuda.syncthreads()",
            missing_thread="255"),
        "too_many_resources": fault(
            Outcome.TOO_MANY_RESOURCES, "too_much_shared", 7, bytes=65_536, limit=49_152),
        "timed_out": fault(Outcome.TIMED_OUT, "timed_out", 7, steps=1_000_000),
        "wrong_answer": kernel(work=minus),
        "wrong_ragged_tail": kernel(work=full_blocks_only),
        "wrong_low_precision": check_source(
            vector_add, RIGHT, (case(N=1000),), runner=runner(half)),
        "traffic_scattered": check_source(
            transpose, DIRECT, runner=runner(turn, turned(8192))),
        "traffic_one_lane": kernel(sites=one_lane),
        "traffic_repeated": kernel(sites=read_twice),
        "traffic_atomics": kernel(sites=atomics),
        "too_divergent": kernel(divergent_branches=128, divergent_sites={7: 128}),
        "bank_conflicts": check_source(
            transpose, DIRECT, runner=runner(
                turn, turned(1024), bank_conflicts=7936, bank_conflict_sites={("tile", 8): 7936})),
        "too_serial": kernel(
            longest_warp=12_289, lane_work=12_289 * 32, busiest_lines={"longest_warp": 7}),
        "not_measured": kernel(work=broken),
        "numbers_pass": check_numbers(waves, {"blocks": 79, "threads": 20224, "share": 0.989}),
        "numbers_wrong": check_numbers(waves, {"blocks": 78, "threads": 20224, "share": ...}),
        "show": replace(
            check_source(transpose, DIRECT, runner=runner(turn, turned(8192)), detailed=True)),
    }  # fmt: skip


def write() -> None:
    """Writes every golden file anew."""
    GOLDEN.mkdir(exist_ok=True)
    for name, verdict in samples().items():
        (GOLDEN / f"{name}.txt").write_text(f"{verdict}\n", encoding="utf-8")
        (GOLDEN / f"{name}.html").write_text(f"{verdict._repr_html_()}\n", encoding="utf-8")


if __name__ == "__main__":
    write()
