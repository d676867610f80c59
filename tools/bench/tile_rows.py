"""The rows of the bench that are about Triton: this engine beside Triton's own interpreter.

``python -m tools.bench.tile_rows NAME TIMES`` prints one row's figures as a line of JSON;
with TRITON_INTERPRET=1 in the environment it is the interpreter that runs. The kernels are
those that the tests hold to a GPU's counters.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Launch:
    """One of the launches of `course.tests.engine.triton.cases`."""

    make: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Row(Launch):
    """A launch to time, and how many times faster than the interpreter it has to be."""

    target: float


ROWS: dict[str, Row] = {
    "Triton matmul 512 x 512, tiles 32 x 32 x 32": Row(
        "matmul", {"n": 512, "dtype": "float32", "tile": (32, 32, 32)}, 10
    ),
    "Triton matmul 512 x 512, tiles 64 x 64 x 32": Row(
        "matmul", {"n": 512, "dtype": "float32", "tile": (64, 64, 32)}, 6
    ),
    "Triton softmax 1823 x 781": Row("softmax_online", {"rows": 1823, "columns": 781}, 10),
    "FlashAttention forward, N 1024, D 64, 4 heads": Row(
        "flash_forward", {"n": 1024, "dtype": "float32"}, 6
    ),
    "FlashAttention forward, causal": Row(
        "flash_forward", {"n": 1024, "dtype": "float32", "causal": True}, 6
    ),
    "FlashAttention backward of k and v, N 512": Row(
        "flash_backward_kv", {"n": 512, "dtype": "float32"}, 5
    ),
    "FlashAttention backward of q, N 512": Row(
        "flash_backward_q", {"n": 512, "dtype": "float32"}, 5
    ),
    "Triton cross entropy 256 x 50257": Row("cross_entropy", {"rows": 256, "columns": 50257}, 5),
}

#: Launches of which the memory is looked at: with tensors so large that not all programs fit in the
#: budget of a batch (see `course.engine.triton.entry`).
PEAKS: dict[str, Launch] = {
    "Triton vector add of 2^24": Launch("add", {"n": 2**24, "block": 1024}),
    "Triton matmul 1024 x 1024, tiles 64 x 64 x 32": Launch(
        "matmul", {"n": 1024, "dtype": "float32"}
    ),
    "Triton softmax 16384 x 1024": Launch("softmax_online", {"rows": 16384, "columns": 1024}),
}


def figures(name: str, times: int) -> dict[str, Any]:
    """Seconds and processor seconds of each launch of a row, and the most memory used.

    Raises:
        ArithmeticError: where a result is wrong.
    """
    from course.tests.engine.triton import cases

    launched = {**ROWS, **PEAKS}[name]
    case = getattr(cases, launched.make)(**launched.arguments)
    run: Callable[[], Any]
    if os.environ.get("TRITON_INTERPRET") == "1":

        def run() -> Any:
            case.kernel[case.grid](*case.args, **case.constants)

    else:
        import course

        def run() -> Any:
            with course.measure():
                case.kernel[case.grid](*case.args, **case.constants)

    seconds, processor = [], []
    for _ in range(times):
        start, start_processor = time.perf_counter(), time.process_time()
        run()
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - start_processor)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for at, expected in case.expected.items():
        difference = (case.args[at].double() - expected.double()).abs()
        if not bool((difference <= case.tolerance * (1 + expected.double().abs())).all()):
            raise ArithmeticError(f"{name}: the launch gave a wrong result")
    return {"seconds": seconds, "processor_seconds": processor, "peak_bytes": peak}


if __name__ == "__main__":
    print(json.dumps(figures(sys.argv[1], int(sys.argv[2]))))
