"""Launches whose accesses nobody arranged well: strides, offsets, widths, masks, copies, atomics.

A table of small kernels and sizes. `python -m course.tests.engine.triton.accesses FOLDER` compiles
each for sm_90, with the Triton that is installed here and without a GPU, and leaves the machine
code with what a launch needs in FOLDER; `record.py` there runs it under Nsight Compute on a GPU
machine.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

TARGET = 90
#: A number's type in a kernel, and NumPy's.
_NUMBERS = {"i32": "int32", "i64": "int64", "fp32": "float32", "fp64": "float64"}


@triton.jit
def strided(x, out, n, STEP: tl.constexpr, OFFSET: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(
        out + i, tl.load(x + OFFSET + STEP * i, mask=i < n).to(out.dtype.element_ty), mask=i < n
    )


@triton.jit
def by_argument(x, out, n, step, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + step * i, mask=i < n), mask=i < n)


@triton.jit
def backwards(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + (n - 1 - i), mask=i < n), mask=i < n)


@triton.jit
def permuted(x, out, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    base = tl.program_id(0) * BLOCK
    i = tl.arange(0, BLOCK)
    tl.store(out + base + i, tl.load(x + base + i % ROWS * (BLOCK // ROWS) + i // ROWS))


@triton.jit
def repeated(x, out, EACH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i // EACH))


@triton.jit
def repeated_masked(x, out, n, EACH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i // EACH, mask=i < n), mask=i < n)


@triton.jit
def gathered(x, places, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(places + i, mask=i < n, other=0)
    tl.store(out + i, tl.load(x + at, mask=i < n), mask=i < n)


@triton.jit
def holes(x, out, n, PERIOD: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=(i % PERIOD == 0) & (i < n), other=0), mask=i < n)


@triton.jit
def one_number(x, scale, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * tl.load(scale + pid))


@triton.jit
def tile(x, out, M, N, row, column, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    j = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inside = (i < M) & (j < N)
    tl.store(out + i * N + j, tl.load(x + i * row + j * column, inside), inside)


@triton.jit
def turned(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    block = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(out + j[:, None] * M + i[None, :], tl.trans(block))


@triton.jit
def cube(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a = tl.arange(0, A)[:, None, None]
    b = tl.arange(0, B)[None, :, None]
    c = tl.arange(0, C)[None, None, :]
    tl.store(out + (c * A + a) * B + b, tl.load(x + (a * B + b) * C + c))


@triton.jit
def window(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    at = (tl.program_id(0) * BM, tl.program_id(1) * BN)
    source = tl.make_block_ptr(x, (M, N), (N, 1), at, (BM, BN), (1, 0))
    target = tl.make_block_ptr(out, (M, N), (N, 1), at, (BM, BN), (1, 0))
    tl.store(target, tl.load(source, boundary_check=(0, 1)), boundary_check=(0, 1))


@triton.jit
def row_sums(x, out, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * N + j, mask=j < N, other=0.0), axis=0)
    tl.store(out + row, total)


@triton.jit
def product(a, b, out, K, N: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.arange(0, N)
    total = tl.zeros((BM, N), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        total = tl.dot(
            tl.load(a + i[:, None] * K + k[None, :]),
            tl.load(b + k[:, None] * N + j[None, :]),
            total,
        )
    tl.store(out + i[:, None] * N + j[None, :], total)


@triton.jit
def added(x, out, n, PLACES: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + i % PLACES, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit(noinline=True)
def copy_there(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


@triton.jit
def called(x, out, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    copy_there(x, out, BLOCK)
    copy_there(x + STEP, out + STEP, BLOCK)
    copy_there(x + 2 * n, out + 2 * n, BLOCK)


@triton.jit(noinline=True)
def span(part, n):
    return part * n, part * n + n


@triton.jit
def called_for_a_span(x, out, n, BLOCK: tl.constexpr):
    first, last = span(tl.program_id(0), n)
    for start in range(first, last, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i))


@triton.jit
def largest(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_max(out + i, tl.load(x + i, mask=i < n, other=0), mask=i < n)


@dataclass(frozen=True)
class Access:
    """One launch. `arrays` are (dtype, elements, elements in front of the first one)."""

    name: str
    kernel: str
    arrays: tuple[tuple[str, int, int], ...]
    numbers: tuple[int, ...]
    constants: dict[str, int]
    grid: tuple[int, ...]
    options: dict[str, int] = field(default_factory=dict)


def _places(access: Access, at: int) -> int | None:
    """How many places an array of places names; None where it holds other numbers."""
    return {
        ("gathered", 1): access.arrays[0][1],
        ("picked", 1): access.constants.get("N"),
        ("counted", 0): access.constants.get("BINS"),
    }.get((access.kernel, at))


def contents(access: Access) -> list[np.ndarray]:
    """What the arrays hold before the launch, with what stands in front of their first element."""
    rng = np.random.default_rng(len(access.name))
    found = []
    for at, (dtype, elements, front) in enumerate(access.arrays):
        size = elements + front
        if places := _places(access, at):
            found.append(rng.integers(0, places, size).astype(dtype))
        elif at == len(access.arrays) - 1:
            found.append(np.zeros(size, dtype))
        else:
            found.append((rng.integers(-8, 9, size)).astype(dtype))
    return found


def _table() -> Iterator[Access]:
    def one(
        name: str,
        kernel: str,
        arrays: Any,
        numbers: Any,
        constants: Any,
        *grid: int,
        **options: int,
    ) -> Access:
        label = ", ".join([name, *(f"{key} {value}" for key, value in options.items())])
        return Access(
            f"{kernel}: {label}", kernel, tuple(arrays), tuple(numbers), constants, grid, options
        )

    def copied(
        name: str, arrays: Any, n: int = 4096, step: int = 1, offset: int = 0, block: int = 1024,
        **options: int,
    ) -> Access:  # fmt: skip
        constants = {"STEP": step, "OFFSET": offset, "BLOCK": block}
        return one(name, "strided", arrays, (n,), constants, -(-n // block), **options)

    def pair(dtype: str, size: int = 4096) -> Any:
        return ((dtype, size, 0),) * 2

    for dtype in ("int8", "int16", "float16", "float32", "int64", "float64"):
        for n in (4096, 4100, 3001):
            yield copied(f"{dtype} {n}", pair(dtype, n), n)
    for step, offset in ((2, 0), (3, 0), (4, 0), (8, 0), (33, 0), (1, 1), (1, 4), (1, 8), (2, 3)):
        arrays = (("float32", step * 4096 + offset, 0), ("float32", 4096, 0))
        yield copied(f"step {step} offset {offset}", arrays, step=step, offset=offset)
    for narrow, wide in (
        ("int8", "float32"),
        ("float16", "float32"),
        ("float32", "float16"),
        ("int64", "int8"),
    ):
        yield copied(f"{narrow} to {wide}", ((narrow, 4096, 0), (wide, 4096, 0)))
    for front in (1, 2, 4):  # a base that is no multiple of 16 bytes
        yield copied(f"front {front}", (("float32", 4096, front), ("float32", 4096, 0)))
    for step in (1, 2, 16, 17, 32):
        arrays = (("float32", step * 2048, 0), ("float32", 2048, 0))
        yield one(f"step {step}", "by_argument", arrays, (2048, step), {"BLOCK": 512}, 4)
    for warps in (1, 2, 4, 8):
        for block in (16, 64, 256, 2048):
            yield copied(f"block {block}", pair("float32"), block=block, num_warps=warps)
    for dtype in ("float16", "float32"):
        arrays = pair(dtype)
        yield one(dtype, "backwards", arrays, (4096,), {"BLOCK": 1024}, 4)
        yield one(f"{dtype} holes", "holes", arrays, (4096,), {"PERIOD": 3, "BLOCK": 1024}, 4)
        yield one(f"{dtype} quarters", "holes", arrays, (4096,), {"PERIOD": 8, "BLOCK": 1024}, 4)
    for rows in (4, 32):
        of = {"ROWS": rows, "BLOCK": 1024}
        yield one(f"{rows} rows", "permuted", pair("float32"), (), of, 4)
    for each in (2, 4, 32, 64):
        of = {"EACH": each, "BLOCK": 1024}
        yield one(f"{each} each", "repeated", pair("float32"), (), of, 4)
    for each, n in ((2, 3000), (8, 3000), (8, 4096), (64, 3001)):
        of = {"EACH": each, "BLOCK": 1024}
        yield one(f"{each} each of {n}", "repeated_masked", pair("float32"), (n,), of, 4)
    for n in (4096, 3000):
        arrays = (("float32", 9000, 0), ("int32", n, 0), ("float32", n, 0))
        yield one(f"{n}", "gathered", arrays, (n,), {"BLOCK": 512}, -(-n // 512))
    for warps in (1, 4, 8):
        arrays = (("float32", 4096, 0), ("float32", 16, 0), ("float32", 4096, 0))
        yield one("scale", "one_number", arrays, (), {"BLOCK": 256}, 16, num_warps=warps)
    for m, n, row, column, bm, bn in (
        (64, 256, 256, 1, 16, 64), (64, 256, 1, 64, 16, 64), (50, 100, 100, 1, 16, 32),
        (50, 100, 1, 50, 16, 32), (64, 64, 65, 1, 32, 32), (33, 48, 48, 1, 64, 16),
    ):  # fmt: skip
        arrays = (("float32", m * row + n * column, 0), ("float32", m * n, 0))
        name, numbers, of = f"{m}x{n} by {row}, {column}", (m, n, row, column), {"BM": bm, "BN": bn}
        yield one(name, "tile", arrays, numbers, of, -(-m // bm), -(-n // bn))
    of = {"BM": 32, "BN": 32}
    for dtype in ("float16", "float32"):
        yield one(dtype, "turned", pair(dtype, 64 * 128), (64, 128), of, 2, 4)
        yield one(f"{dtype} 100x70", "window", pair(dtype, 7000), (100, 70), of, 4, 3)
    yield one("16x8x32", "cube", pair("float32"), (), {"A": 16, "B": 8, "C": 32}, 1)
    for n, block in ((1024, 256), (1000, 256), (1001, 512)):
        arrays = (("float32", 8 * n, 0), ("float32", 8, 0))
        yield one(f"{n}", "row_sums", arrays, (n,), {"BLOCK": block}, 8)
    for dtype in ("float16", "float32"):
        arrays = ((dtype, 64 * 256, 0), (dtype, 256 * 64, 0), ("float32", 64 * 64, 0))
        of = {"N": 64, "BM": 64, "BK": 32}
        for stages in (1, 2, 3, 4):
            for warps in (4, 8):
                options = {"num_warps": warps, "num_stages": stages}
                yield one(dtype, "product", arrays, (256,), of, 1, **options)
    for dtype in ("float32", "int32"):
        for places in (4096, 256, 32):
            arrays, of = ((dtype, 4096, 0), (dtype, places, 0)), {"PLACES": places, "BLOCK": 1024}
            yield one(f"{dtype} to {places}", "added", arrays, (4096,), of, 4)
    # between warps that share a word it would be chance who comes first
    for n, places, block, warps in (
        (128, 128, 128, 4),
        (100, 128, 128, 4),
        (256, 256, 256, 4),
        (32, 16, 32, 1),
    ):
        arrays, of = (("float16", n, 0), ("float16", places, 0)), {"PLACES": places, "BLOCK": block}
        yield one(f"float16 {n} to {places} from 0", "added", arrays, (n,), of, 1, num_warps=warps)
    for n, step in ((1024, 1024), (1024, 1026), (1024, 1025), (1028, 1024), (1030, 1024)):
        of = {"STEP": step, "BLOCK": 1024}
        yield one(f"{n}, {step}", "called", pair("float32"), (n,), of, 1)
    yield one("1024", "called_for_a_span", pair("float32"), (1024,), {"BLOCK": 512}, 4)
    for n in (4096, 4001):
        yield one(f"{n}", "largest", pair("int32", n), (n,), {"BLOCK": 512}, -(-n // 512))


ACCESSES = {access.name: access for access in _table()}


def arguments(access: Access) -> tuple[list[torch.Tensor], tuple[Any, ...]]:
    """(tensors, everything that is passed) of a launch on the CPU."""
    tensors = [
        torch.from_numpy(content)[front:]
        for content, (_, _, front) in zip(contents(access), access.arrays, strict=True)
    ]
    return tensors, (*tensors, *access.numbers)


def compile_all(
    folder: Path, launches: Mapping[str, Access], kernels: Mapping[str, Any], made_by: str
) -> None:
    """The machine code of every launch, and what `record.py` needs to make it."""
    rows = []
    for access in launches.values():
        _, passed = arguments(access)
        options = {**access.constants, **access.options}
        kernel = kernels[access.kernel]
        rows.append(packed(folder, len(rows), access.name, kernel, passed, access.grid, options))
    write_manifest(folder, rows, made_by)


def packed(
    folder: Path,
    number: int,
    name: str,
    kernel: Any,
    passed: Sequence[Any],
    grid: Sequence[int],
    options: dict[str, Any],
    outputs: Sequence[int] = (-1,),
) -> dict[str, Any]:
    """Compiles a launch, and keeps its machine code and what its tensors hold now.

    `outputs`: which of the tensors hold results.
    """
    from triton.backends.compiler import GPUTarget
    from triton.compiler import compile as compiled

    from course.engine.triton.compiling.compiler import written_for
    from course.engine.triton.compiling.specialisation import source_of

    source = source_of(kernel, passed, options)
    made = compiled(
        written_for(source), target=GPUTarget("cuda", TARGET, 32), options=source.options
    )
    (folder / f"{number}.cubin").write_bytes(made.asm["cubin"])
    held: list[np.ndarray] = []
    fronts: list[int] = []
    given: list[tuple[str, int | float]] = []
    for place, value in enumerate(passed):
        if (place,) in source.constants:
            continue
        if isinstance(value, torch.Tensor):
            given.append(("array", len(held)))
            whole = value.untyped_storage().nbytes() // value.element_size()
            held.append(torch.as_strided(value, (whole,), (1,), 0).numpy().copy())
            fronts.append(value.storage_offset())
        else:
            given.append((_NUMBERS[source.signature[source.function.params[place].name]], value))
    np.savez_compressed(folder / f"{number}.npz", *held)
    parameters = made.asm["ptx"].split(".entry")[1].split(")")[0].count(".param")
    return {
        "name": name,
        "entry": made.metadata.name,
        "grid": grid,
        "warps": made.metadata.num_warps,
        "shared": made.metadata.shared,
        "scratch": parameters - len(given),
        "passed": given,
        "fronts": fronts,
        "contents": f"{number}.npz",
        "outputs": list(outputs),
    }


def write_manifest(
    folder: Path, rows: list[dict[str, Any]], made_by: str, shared_memory: bool = True
) -> None:
    """What `record.py` launches, and itself; `shared_memory`: is that counted, too?"""
    about = {
        "made_by": made_by,
        "triton": triton.__version__,
        "target": f"sm_{TARGET}",
        "shared_memory": shared_memory,
        "launches": rows,
    }
    (folder / "manifest.json").write_text(json.dumps(about))
    shutil.copy(Path(__file__).with_name("record.py"), folder / "record.py")


if __name__ == "__main__":
    (target := Path(sys.argv[1])).mkdir(parents=True, exist_ok=True)
    compile_all(target, ACCESSES, globals(), "course.tests.engine.triton.accesses")
