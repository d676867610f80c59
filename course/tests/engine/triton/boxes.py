"""Boxes that a descriptor copies, for a GPU to count: inside a tensor, over its edges, unaligned.

`python -m course.tests.engine.triton.boxes` on a GPU machine of compute capability 9.0 with Triton
and Nsight Compute writes `h200_boxes.json`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from course.gpu import counters
from course.gpu.recording import in_lines, provenance

RECORD = Path(__file__).with_name("h200_boxes.json")
ITEM_BYTES = {"float16": 2, "float32": 4, "int8": 1}
#: A box, by its dtypes' names
_BOXES = ((8, 32), (16, 64), (64, 64), (32, 128), (1, 256))
#: ((rows, columns) of the tensor, (row, column) where the box begins)
_PLACES = (
    ((64, 256), (0, 0)),
    ((60, 240), (32, 192)),
    ((60, 240), (56, 16)),
    ((64, 256), (0, 16)),
    ((64, 256), (3, 48)),
    ((33, 48), (32, 32)),
    ((64, 256), (60, 240)),
    ((50, 80), (10, 64)),
)
#: Those begin at half a sector.
_HALF = (((64, 256), (0, 8)), ((64, 256), (3, 24)), ((64, 256), (60, 248)), ((50, 80), (10, 72)))
CASES = [
    {"dtype": dtype, "box": box, "tensor": tensor, "at": at}
    for dtype in ITEM_BYTES
    for box in _BOXES
    for tensor, at in (*_PLACES, *(_HALF if dtype == "float16" else ()))
]


def kernel() -> Any:
    """Copies one box of `x` to `y`."""
    import triton
    import triton.language as tl

    @triton.jit
    def copy_box(x, y, M, N, row, column, BM: tl.constexpr, BN: tl.constexpr):  # type: ignore[no-untyped-def]
        there = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
        here = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN])
        here.store([row, column], there.load([row, column]))

    return copy_box


def arguments(case: dict[str, Any], device: str) -> tuple[Any, ...]:
    """Of the kernel's launch by one program."""
    import torch

    x = torch.ones(tuple(case["tensor"]), dtype=getattr(torch, case["dtype"]), device=device)
    return x, torch.zeros_like(x), *case["tensor"], *case["at"], *case["box"]


def _launch_all() -> None:
    import torch
    import triton

    def memory(size: int, alignment: int, stream: Any) -> Any:
        return torch.empty(size, dtype=torch.int8, device="cuda")

    triton.set_allocator(memory)
    for case in CASES:
        kernel()[(1,)](*arguments(case, "cuda"))
    torch.cuda.synchronize()


def record() -> None:
    """Counts every launch and writes the record."""
    command = [sys.executable, "-m", "course.tests.engine.triton.boxes", "--launch"]
    every = counters.count_command(command, counters.TMA_METRICS)
    found = [one for one in every if one.name.startswith("copy_box")]
    rows = [
        case | {name: round(count) for name, count in one.counts.items()}
        for case, one in zip(CASES, found, strict=True)
    ]
    answer = provenance("python -m course.tests.engine.triton.boxes") | {"boxes": rows}
    RECORD.write_text(in_lines(answer) + "\n")


if __name__ == "__main__":
    _launch_all() if sys.argv[1:] else record()
