"""Lesson 03: shared memory, barriers, bank conflicts, reductions and shuffles."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.spec.draws import integers, uniform
from course.spec.exercise import (
    Array,
    Budget,
    Constant,
    KernelExercise,
    NumberExercise,
    Question,
    Role,
    case,
)
from course.spec.findings import kind_question, kinds_in_words, line_question
from course.spec.launching import Launch

#: float32 sums in any order, relative to the sum of the sizes of what is added: chains of a
#: few hundred additions stay far below it, and float16 anywhere on the way does not.
SUM_TOLERANCE = {"float32": (1e-5, 0.0)}
REVERSED = 128  # elements of a slice in shared_reverse
SLICE = 256  # elements of a slice in block_sum and prefix_sum
WARP = 32
RADIUS = 3
BINS = 64
_KINDS = 6  # those that this lesson knows


def _slices(values: np.ndarray, width: int) -> np.ndarray:
    """`values` as rows of `width`, the last one filled up with zeros: (slices, width)."""
    count = -(-values.size // width)
    rows = np.zeros((count, width), values.dtype)
    rows.reshape(-1)[: values.size] = values
    return rows


def _last_half(one: np.ndarray) -> np.ndarray:
    """Of each element of a slice, (SLICE,), the sum of the last SLICE // 2 up to it."""
    whole = np.cumsum(one)
    whole[SLICE // 2 :] -= whole[: SLICE // 2].copy()
    return whole


def _window_sums(a: np.ndarray) -> np.ndarray:
    """Each element with RADIUS neighbours on either side added up; outside the array is 0."""
    window = np.ones(2 * RADIUS + 1)
    return np.convolve(np.pad(a, RADIUS), window, mode="valid")


def _shifted(a: np.ndarray, by: int) -> np.ndarray:
    """a[i + by], and 0 where that does not exist."""
    there = np.arange(a.size) + by
    return np.where((there >= 0) & (there < a.size), a[np.clip(there, 0, a.size - 1)], 0.0)


shared_reverse = KernelExercise(
    name="shared_reverse",
    title="Reverse each block's slice",
    task=(
        "Array a holds B slices of 128 elements. Block b reverses slice b in place: element t of "
        "the slice trades places with element 127 - t. One thread an element, through a shared "
        "array of 128 floats."
    ),
    points=4,
    minutes=20,
    difficulty=2,
    hints=(
        "Thread t has two jobs: bring one element into the tile, take another one out of it.",
        "Between the two jobs every thread of the block must have done the first.",
        "After the barrier thread t stores the tile's cell REVERSED - 1 - t to the place that it "
        "loaded from. The barrier is one call: which line does it stand on?",
    ),
    small=case(B=1),
    full=case(B=1 << 17),
    parameters=(Array("a", "B * 128", Role.INOUT),),
    reference=lambda a: {"a": _slices(a, REVERSED)[:, ::-1].reshape(-1)},
    cases=(case(B=1), case(B=3), case(True, B=32)),
    launch=Launch("B", "128"),
    budget=Budget({"load a": "sectors(B * 128)", "store a": "sectors(B * 128)"}),
    most_shares=2.5,  # the three warps that one stands in for still wait at its barrier
)


def _turned(tile: str) -> Budget:
    """What a transpose asks for in tiles of this side."""
    return Budget(
        {"load A": f"tiles(M, N, {tile}, {tile})", "store B": f"tiles(N, M, {tile}, {tile})"},
        why="Whole sectors on both sides. The tile in between costs no global traffic.",
    )


_TRANSPOSE: dict[str, Any] = {
    "small": case(M=6, N=10),
    "full": case(M=4096, N=4096),
    "parameters": (Array("A", "M, N"), Array("B", "N, M", Role.OUT)),
    "reference": lambda A: {"B": A.T},
    "cases": (case(M=1, N=1), case(M=33, N=70), case(True, M=64, N=128), case(True, M=160, N=96)),
    "most_shares": 2.5,  # a block that turns four tiles turns some that do not exist
}

transpose = KernelExercise(
    name="transpose",
    title="Transpose through a tile",
    task=(
        "Write B[x, y] = A[y, x] for an M x N matrix A, any M and N. Blocks are TILE x TILE "
        "threads; TILE may be 8, 16 or 32. Both the loads and the stores must run along rows."
    ),
    points=8,
    minutes=45,
    difficulty=3,
    core=True,
    hints=(
        "The tile is loaded as A lies and read the other way round. The turn happens in shared "
        "memory, where a column costs no more sectors than a row.",
        "For the store, a block's place in B is its place in A with the two block indices "
        "swapped; threadIdx.x still walks along a row, of B this time.",
        "The store is B[row, column] = tile[tx, ty], with row counted from blockIdx.x * TILE. "
        "Its guard compares row and column with the shape of B: write it.",
    ),
    **_TRANSPOSE,
    launch=Launch(("cdiv(N, TILE)", "cdiv(M, TILE)"), ("TILE", "TILE")),
    budget=_turned("TILE"),
    constants={"TILE": Constant(32, (8, 16, 32))},
)

transpose_padded = KernelExercise(
    name="transpose_padded",
    title="Transpose without bank conflicts",
    task=(
        "The same transpose with blocks of 32 x 32 threads, and no bank conflict: every request "
        "to the tile takes one turn."
    ),
    points=3,
    minutes=15,
    difficulty=2,
    hints=(
        "Reading tile[tx, ty] along tx steps by one tile row. How many floats is that, and which "
        "bank is it modulo 32?",
        "A row of 33 floats puts the cells of a column into 32 different banks.",
        "Only the declaration of the tile changes. The last column is never used: declare it.",
    ),
    **_TRANSPOSE,
    launch=Launch(("cdiv(N, 32)", "cdiv(M, 32)"), ("32", "32")),
    budget=_turned("32"),
    bank_conflicts="0",
)

stencil_halo = KernelExercise(
    name="stencil_halo",
    title="A stencil with a halo",
    task=(
        "out[i] is the sum of a[i - 3] to a[i + 3]; what lies outside a counts as 0. Each block "
        "loads its elements and 3 more on either side into a shared tile, then adds up from "
        "there. TPB, the threads of a block, may be 128, 256, 512 or 1024."
    ),
    points=8,
    minutes=40,
    difficulty=3,
    hints=(
        "A block needs TPB + 6 elements and has TPB threads: some threads load two.",
        "Let cell c of the tile hold a[start - RADIUS + c]. Thread t loads cell t + RADIUS; the "
        "first RADIUS threads load the halo at both ends too.",
        "A cell whose element does not exist must hold 0 and not stay unwritten. Give each load "
        "of the tile an `else` (or a conditional expression) that stores 0.",
    ),
    small=case(N=40),
    example=case(N=8),
    full=case(N=1 << 24),
    parameters=(Array("a", "N"), Array("out", "N", Role.OUT)),
    reference=lambda a: {"out": _window_sums(a)},
    magnitude=lambda a: {"out": _window_sums(np.abs(a))},
    tolerance=SUM_TOLERANCE,
    slips={
        "a window of six elements, without a[i + 3]": lambda a: {
            "out": _window_sums(a) - _shifted(a, RADIUS)
        },
        "a window of six elements, without a[i - 3]": lambda a: {
            "out": _window_sums(a) - _shifted(a, -RADIUS)
        },
        "the first and the last element in the place of those that do not exist": lambda a: {
            "out": np.convolve(np.pad(a, RADIUS, mode="edge"), np.ones(7), mode="valid")
        },
    },
    cases=(case(N=1), case(N=130), case(N=1027), case(True, N=4096)),
    launch=Launch("cdiv(N, TPB)", "TPB"),
    budget=Budget(
        {
            "load a": "6 * cdiv(N, 32) - 2",
            "store out": "sectors(N)",
        },
        why=(
            "A warp whose loads start 3 elements before a sector's start touches 5 sectors and "
            "not 4; one that gets its halo by itself touches 2 more than its 4; the two ends of "
            "the array have no halo."
        ),
    ),
    constants={"TPB": Constant(256, (128, 256, 512, 1024))},
)

block_sum = KernelExercise(
    name="block_sum",
    title="The sum of each block's slice",
    task=(
        "out[b] is the sum of slice b of a: the elements from 256 * b to 256 * b + 255 that "
        "exist. One block of 256 threads a slice, and a tree in shared memory. No thread may add "
        "up a slice by itself."
    ),
    points=8,
    minutes=40,
    difficulty=3,
    hints=(
        "Step one: cell t of the tile holds element t of the slice, or 0 where there is none.",
        "Then halve: with s = 128, 64, ... 1, the threads below s add cell t + s to cell t. Who "
        "must have finished before the next halving reads?",
        "The barrier stands inside the loop and outside the `if`. When the loop ends, cell 0 "
        "holds the sum, and one thread stores it: which `if` does that line stand under?",
    ),
    small=case(N=40),
    full=case(N=1 << 24),
    parameters=(Array("a", "N"), Array("out", "cdiv(N, 256)", Role.OUT)),
    reference=lambda a: {"out": _slices(a, SLICE).sum(axis=1)},
    magnitude=lambda a: {"out": _slices(np.abs(a), SLICE).sum(axis=1)},
    tolerance=SUM_TOLERANCE,
    slips={
        "the cells 0, 2, 4 and so on of a slice, without the odd ones": lambda a: {
            "out": _slices(a, SLICE)[:, ::2].sum(axis=1)
        },
        "the first half of each slice": lambda a: {
            "out": _slices(a, SLICE)[:, : SLICE // 2].sum(axis=1)
        },
    },
    cases=(case(N=1), case(N=700), case(True, N=8192)),
    launch=Launch("cdiv(N, 256)", "256"),
    budget=Budget(
        {"load a": "sectors(N)", "store out": "cdiv(N, 256)"},
        why="One number a block leaves the chip, and a lone number moves a whole sector.",
    ),
    most_shares=4.5,  # a warp may add up the block's 256 cells, 8 a lane
)

row_sum = KernelExercise(
    name="row_sum",
    title="A warp a row",
    task=(
        "out[i] is the sum of row i of a, an M x N matrix. One warp of 32 lanes a row; warp w of "
        "the whole grid takes row w. TPB, the threads of a block, may be any power of two from "
        "32 to 1024."
    ),
    points=6,
    minutes=35,
    difficulty=3,
    hints=(
        "cuda.grid(1) // 32 is this thread's warp in the whole grid, and cuda.grid(1) % 32 its "
        "lane.",
        "The lanes walk the row together: lane l takes the elements l, l + 32, l + 64, ... and "
        "keeps one sum in a register.",
        "Then a tree over the warp's 32 cells of a shared array, with s = 16, 8, 4, 2, 1. What "
        "stands between two steps of the tree, even inside one warp?",
    ),
    small=case(M=4, N=14),
    full=case(M=16_384, N=1024),
    parameters=(Array("a", "M, N"), Array("out", "M", Role.OUT)),
    reference=lambda a: {"out": a.sum(axis=1)},
    magnitude=lambda a: {"out": np.abs(a).sum(axis=1)},
    tolerance=SUM_TOLERANCE,
    cases=(case(M=1, N=1), case(M=13, N=45), case(True, M=256, N=256)),
    launch=Launch("cdiv(M * 32, TPB)", "TPB"),
    budget=Budget(
        {"load a": "rows(M, N) + 2 * M * min(4, N // 32) * min(1, N % 32)", "store out": "M"},
        why="Each warp stores one number by itself, and a lone number moves a whole sector.",
    ),
    most_shares=4,  # a lane may add up what its warp left in 32 cells
    constants={"TPB": Constant(256, (32, 64, 128, 256, 512, 1024))},
)

#: Each block leaves its part of the sum.
_DOT: dict[str, Any] = {
    "reference": lambda a, b, partial: {"dot": float(a @ b)},
    "magnitude": lambda a, b, partial: {"dot": float(np.abs(a) @ np.abs(b))},
    "finish": lambda outputs: {"dot": float(outputs["partial"].astype(np.float64).sum())},
    "finish_words": "the sum of partial, taken on the host",
    "tolerance": SUM_TOLERANCE,
    "slips": {
        "a[i] + b[i] added up, no product": lambda a, b, partial: {"dot": float((a + b).sum())},
    },
}

dot = KernelExercise(
    name="dot",
    title="The dot product",
    task=(
        "The sum of a[i] * b[i] over all i. Each thread adds up its products in a grid-stride "
        "loop, each block adds up its threads in shared memory and leaves one number in partial, "
        "which holds BLOCKS zeros at the start. The host adds up partial. TPB is a power of two "
        "from 256 to 1024, BLOCKS is 8, 16 or 32. No thread may add up a whole block by itself."
    ),
    points=8,
    minutes=45,
    difficulty=3,
    core=True,
    hints=(
        "Two stages: from N products to one number a thread, in registers; from TPB numbers to "
        "one, in shared memory. You have written both.",
        "cuda.gridsize(1) is the stride of the first stage. Every thread stores its number in "
        "the cache, a thread without any product too.",
        "After the tree one thread writes partial[cuda.blockIdx.x]. Where do the two barriers "
        "stand, seen from the lines that read the cache?",
    ),
    small=case(N=40),
    full=case(N=1 << 24),
    parameters=(
        Array("a", "N"),
        Array("b", "N"),
        Array("partial", "BLOCKS", Role.ACCUMULATE),
    ),
    **_DOT,
    cases=(case(N=1), case(N=10), case(N=1000), case(N=40_001), case(True, N=32_768)),
    launch=Launch("BLOCKS", "TPB"),
    budget=Budget(
        {
            "load a": "sectors(N)",
            "load b": "sectors(N)",
            "store partial": "BLOCKS",
            "atomic partial": "BLOCKS * TPB / 32",
        },
        least={"store partial": "sectors(BLOCKS)", "atomic partial": "0"},
        why="A block leaves one number by a store, or each of its warps one by an atomic.",
    ),
    constants={
        "TPB": Constant(256, (256, 512, 1024)),
        "BLOCKS": Constant(16, (8, 16, 32)),
    },
)

dot_any_block = KernelExercise(
    name="dot_any_block",
    title="A dot product for any block",
    task=(
        "The dot product again, with 8 blocks of THREADS threads, where THREADS is any multiple "
        "of 32 up to 256: 96 and 192 among them. The kernel reads cuda.blockDim.x. A shared "
        "array of 256 floats is large enough; the launch gives 4 * THREADS bytes of dynamic "
        "shared memory too, if you want that. Again no thread may add up a whole block by itself."
    ),
    points=4,
    minutes=25,
    difficulty=3,
    hints=(
        "Halve 96 by hand until nothing is left: 48, 24, 12, 6, 3, 1. Which cell did nobody add?",
        "With n cells left, half = (n + 1) // 2 cells will be left after this step.",
        "Thread t adds cell t + half only where that cell is one of the n. Write that condition.",
    ),
    small=case(N=40, THREADS=32),
    full=case(N=1 << 24, THREADS=192),
    parameters=(Array("a", "N"), Array("b", "N"), Array("partial", "8", Role.ACCUMULATE)),
    **_DOT,
    cases=(
        case(N=1, THREADS=32),
        case(N=1100, THREADS=64),
        case(N=1000, THREADS=96),
        case(N=1537, THREADS=192),
        case(True, N=12_288, THREADS=96),
        case(True, N=12_288, THREADS=192),
    ),
    launch=Launch("8", "THREADS", "4 * THREADS"),
    budget=Budget(
        {
            "load a": "sectors(N)",
            "load b": "sectors(N)",
            "store partial": "8",
            "atomic partial": "8 * THREADS / 32",
        },
        least={"store partial": "1", "atomic partial": "0"},
        why="A block leaves one number by a store, or each of its warps one by an atomic.",
    ),
)

warp_sum = KernelExercise(
    name="warp_sum",
    title="A warp's sum by shuffles",
    task=(
        "out[w] is the sum of the elements from 32 * w to 32 * w + 31 of a that exist. One warp "
        "a sum, by shuffles, without shared memory. TPB may be any power of two from 32 to 1024."
    ),
    points=5,
    minutes=25,
    difficulty=2,
    hints=(
        "Each lane holds one number. In step one, lane l adds the number that lane l + 16 holds.",
        "cuda.shfl_down_sync(0xFFFFFFFF, value, 16) is that number. Five steps: 16, 8, 4, 2, 1.",
        "A lane past the end of a holds 0 and shuffles with the others: only the load and the "
        "store are guarded. Which lane stores?",
    ),
    small=case(N=40),
    full=case(N=1 << 24),
    parameters=(Array("a", "N"), Array("out", "cdiv(N, 32)", Role.OUT)),
    reference=lambda a: {"out": _slices(a, WARP).sum(axis=1)},
    magnitude=lambda a: {"out": _slices(np.abs(a), WARP).sum(axis=1)},
    tolerance=SUM_TOLERANCE,
    slips={
        "the first 16 numbers of each 32": lambda a: {
            "out": _slices(a, WARP)[:, : WARP // 2].sum(axis=1)
        },
        "every second number of each 32": lambda a: {"out": _slices(a, WARP)[:, ::2].sum(axis=1)},
        "32 times the first number of each 32, which lane 0 gets back from itself": lambda a: {
            "out": WARP * _slices(a, WARP)[:, 0]
        },
        "32 times the last number of each 32, stored by lane 31, which has no lane above it": (
            lambda a: {"out": WARP * _slices(a, WARP)[:, -1]}
        ),
        "the first number of each 32, and no other": lambda a: {"out": _slices(a, WARP)[:, 0]},
    },
    cases=(case(N=1), case(N=1000), case(True, N=8192)),
    launch=Launch("cdiv(N, TPB)", "TPB"),
    budget=Budget(
        {"load a": "sectors(N)", "store out": "cdiv(N, 32)"},
        why="Each warp stores one number by itself, and a lone number moves a whole sector.",
    ),
    constants={"TPB": Constant(256, (32, 64, 128, 256, 512, 1024))},
    shared_bytes="0",
)

prefix_sum = KernelExercise(
    name="prefix_sum",
    title="Running sums of each slice",
    task=(
        "out[i] is the sum of the elements of a from the start of i's slice of 256 up to and "
        "with i. One block of 256 threads a slice: a scan in shared memory, "
        "in a few steps for all threads and not in 256 for one or each of them."
    ),
    points=4,
    minutes=45,
    difficulty=4,
    bonus=True,
    hints=(
        "With d = 1, 2, 4, ... 128: every cell t from d on adds the cell d places before it. "
        "After the step for d, cell t holds the sum of the last 2 * d elements up to t.",
        "In one step a cell is read by one thread and written by another. Read first, all "
        "threads; then write, all threads.",
        "Read cell t - d into a register, wait, add it to cell t, wait. Which of these four "
        "stand under `if t >= d`?",
    ),
    small=case(N=40),
    full=case(N=1 << 24),
    parameters=(Array("a", "N"), Array("out", "N", Role.OUT)),
    reference=lambda a: {"out": np.cumsum(_slices(a, SLICE), axis=1).reshape(-1)[: a.size]},
    magnitude=lambda a: {"out": np.cumsum(_slices(np.abs(a), SLICE), axis=1).reshape(-1)[: a.size]},
    tolerance=SUM_TOLERANCE,
    slips={
        "the sum of what stands before an element, without the element itself": lambda a: {
            "out": (np.cumsum(_slices(a, SLICE), axis=1) - _slices(a, SLICE)).reshape(-1)[: a.size]
        },
        "sums that run on through all slices": lambda a: {"out": np.cumsum(a)},
        f"the last {SLICE // 2} elements up to this one: one step of the scan too few": lambda a: {
            "out": np.concatenate([_last_half(one) for one in _slices(a, SLICE)])[: a.size]
        },
    },
    cases=(case(N=1), case(N=700), case(True, N=4096)),
    launch=Launch("cdiv(N, 256)", "256"),
    budget=Budget({"load a": "sectors(N)", "store out": "sectors(N)"}),
    most_shares=4.5,  # a warp may scan the block's 256 cells, 8 a lane
)


def _bins_by_count(
    data: np.ndarray, counts: np.ndarray, amounts: np.ndarray
) -> dict[str, np.ndarray]:
    """What 8 blocks of 256 threads add where each numbers the bins by its own counts of them."""
    blocks = np.arange(len(data)) // 256 % 8
    private = np.bincount(blocks * BINS + data, minlength=8 * BINS)
    added = np.bincount(private % BINS, np.tile(amounts, 8), minlength=BINS)
    return {"counts": counts + added.astype(counts.dtype)}


histogram = KernelExercise(
    name="histogram",
    title="A histogram",
    task=(
        "data holds whole numbers from 0 to 63. Add to counts[v], which is 0 at the start, how "
        "often v occurs. 8 blocks; each counts in shared memory first and then adds its 64 "
        "counts to the global ones. TPB may be any power of two from 64 to 1024."
    ),
    points=4,
    minutes=40,
    difficulty=4,
    bonus=True,
    hints=(
        "Three phases with a barrier after the first and after the second: clear the block's "
        "own counts, count, add them to the global ones.",
        "Two threads may meet at one bin: cuda.atomic.add(private, bin, 1), in shared memory.",
        "In the third phase thread t carries bin t, so that a warp's 32 atomics touch 4 sectors. "
        "TPB may exceed 64: which threads take part?",
    ),
    small=case(N=40),
    example=case(N=4, draws={"data": integers(0, 4)}),
    full=case(N=1 << 24),
    parameters=(
        Array("data", "N", dtype="int32", draw=integers(0, BINS)),
        Array("counts", "64", Role.ACCUMULATE, dtype="int32"),
    ),
    reference=lambda data, counts: {"counts": counts + np.bincount(data, minlength=BINS)},
    slips={
        "places counted, i % 64, not the values that stand there": lambda data, counts: {
            "counts": counts + np.bincount(np.arange(len(data)) % BINS, minlength=BINS)
        },
        "a block's counts taken for numbers of bins: counts[private[t]] for counts[t]": (
            lambda data, counts: _bins_by_count(data, counts, np.ones(BINS))
        ),
        "place and amount exchanged: t added to counts[private[t]]": (
            lambda data, counts: _bins_by_count(data, counts, np.arange(BINS))
        ),
        "place and amount exchanged: data[i] added to bin 1": lambda data, counts: {
            "counts": counts + data.sum() * (np.arange(BINS) == 1)
        },
        "each value added as often as it occurs, where each of them counts as 1": (
            lambda data, counts: {
                "counts": counts + np.bincount(data, minlength=BINS) * np.arange(BINS)
            }
        ),
    },
    cases=(case(N=1), case(N=1000), case(True, N=16_384)),
    launch=Launch("8", "TPB"),
    budget=Budget(
        {"load data": "rows(8, cdiv(N, 8))", "atomic counts": "8 * sectors(64)"},
        why="Each of the 8 blocks adds its 64 counts once.",
    ),
    constants={"TPB": Constant(256, (64, 128, 256, 512, 1024))},
)

five_mistakes = KernelExercise(
    name="five_mistakes",
    title="Five mistakes",
    task=(
        "out[i] is the largest element of row i of a, an M x N matrix. One block of 128 threads "
        "a row. Copy the broken kernel from above this cell and repair it, one verdict after the "
        "other."
    ),
    points=5,
    minutes=30,
    difficulty=3,
    hints=(
        "Repair only what the verdict names, then check again. The verdicts come in this order: "
        "OUT_OF_BOUNDS, RACE, BARRIER_DIVERGENCE, WRONG_ANSWER, TOO_MUCH_TRAFFIC.",
        "The wrong answer comes from rows without any positive number.",
        "The traffic comes from each thread's walk through a run of neighbours. Let the lanes of "
        "a warp walk side by side instead: which start and which step has the loop then?",
    ),
    small=case(M=4, N=14),
    full=case(M=16_384, N=1024),
    parameters=(Array("a", "M, N"), Array("out", "M", Role.OUT)),
    reference=lambda a: {"out": a.max(axis=1)},
    slips={
        "the largest element, or 0 where all are below 0": lambda a: {
            "out": np.maximum(a.max(axis=1), 0.0)
        },
    },
    cases=(
        case(M=1, N=1),
        case(M=3, N=300),
        case(M=2, N=200, draws={"a": uniform(-9.0, -1.0)}),
        case(True, M=8, N=1024),
    ),
    launch=Launch("M", "128"),
    budget=Budget(
        {"load a": "rows(M, N) + 4 * M", "store out": "M"},
        why=(
            "Each of a block's 4 warps may look at one element more to start from. Each block "
            "stores one number by itself, and a lone number moves a whole sector."
        ),
    ),
)

debug_threads = NumberExercise(
    name="debug_threads",
    title="Three symptoms, no verdict",
    task=(
        "P, Q and R above are wrong, or seem to be. Of each find the line, its kind, and a formula "
        "that says when, or how much. Lines count from the decorator, which is line 1. The names "
        "below get other values in the check, so write formulas in them where a number depends on "
        f"them. Kinds: {kinds_in_words(_KINDS)}."
    ),
    points=6,
    minutes=45,
    difficulty=3,
    hints=(
        "Do not begin with the lines. When is it wrong, and when not? Which numbers are wrong, and "
        "by how much? Then shrink the case until you can follow it by hand.",
        "P: write down which line a thread runs after line 9, and whether anybody has to wait "
        "there. Q: divide the difference of two runs by the sum. R: number the elements of a 2 x 3 "
        "matrix, and see which of them arrive.",
        "Q: near a sum S neighbouring float32 numbers lie at most S * 2**-23 apart, and an "
        "addition rounds to the nearer one.",
    ),
    questions={
        "P_early": line_question(
            "P: the line that a thread may run too early, while others still need what was there",
            7,
            {
                9: (
                    "Line 9 waits at the barrier above it. Which line comes after line 9, with no "
                    "barrier between?"
                ),
                8: "The barrier stands where it must. Which access has none before it?",
                6: "The loop touches no cell. Which line of its next turn does?",
            },
        ),
        "P_disturbed": line_question(
            "P: the line whose result that spoils",
            9,
            {
                7: "That one stores. Whose read of the old number does it spoil?",
                8: "A barrier has no result. Who reads the tile?",
            },
        ),
        "P_kind": kind_question(
            "P",
            "race",
            _KINDS,
            {
                "index": "Each index is right: a row of one slice never fails.",
                "mask": "Rows hold whole slices: there is nothing to mask.",
                "start": "Each cell is stored before it is read.",
                "rounding": "Rounding moves last digits. Here whole numbers of another slice come.",
            },
        ),
        "P_least": Question(
            "P, with a tile of SLICE numbers and as many threads: the least number of columns, a "
            "multiple of SLICE, at which it can go wrong",
            "2 * SLICE",
            "columns",
            slips={
                "SLICE": "After the read of the only slice nothing is stored any more.",
                "SLICE + 1": "Rows hold whole slices.",
                "3 * SLICE": "The second slice is stored over the first.",
            },
        ),
        "Q_line": line_question(
            "Q: the line where runs begin to differ",
            6,
            {
                5: "There each thread adds its own numbers, in the same order in every run.",
                3: "It is 0 in every run.",
                4: "Each thread takes the same elements in every run.",
            },
        ),
        "Q_kind": kind_question(
            "Q",
            "rounding",
            _KINDS,
            {
                "race": (
                    "An atomic addition is one step: no number is lost. By how much do two runs "
                    "differ, as a share of the sum?"
                ),
                "start": "It begins with 0 in every run.",
                "overflow": "float32 goes up to 3.4e38.",
            },
        ),
        "Q_most": Question(
            "Q, for numbers above zero and THREADS threads: the most that its atomics can be off. "
            "Each rounds by half of the space between neighbours, which is 2**-23 of the sum or "
            "less",
            "THREADS * 2**-24",
            "times the sum",
            0.01,
            slips={
                "2**-24": "That is a single addition's.",
                "THREADS * 2**-23": "Half of the space: it goes to the nearer neighbour.",
                "2**-23": "That is a single addition's, and twice that.",
            },
        ),
        "R_line": line_question(
            "R: the line that is wrong",
            8,
            {
                13: "out has N rows of M numbers: row * M + column is right there.",
                7: "It admits the rows and columns that a has, and no others.",
                12: "It admits the rows and columns that out has, and no others.",
                11: "With one block all block indices are 0, and the result is wrong all the same.",
                10: "With one block all block indices are 0, and the result is wrong all the same.",
            },
        ),
        "R_kind": kind_question(
            "R",
            "index",
            _KINDS,
            {
                "race": "The same wrong numbers come in every order.",
                "mask": "Every place that exists is read and written once. Which number is there?",
                "start": "Every cell that is used was stored before.",
            },
        ),
        "R_right": Question(
            "R: how many numbers of a matrix of M rows and N columns arrive where they belong, "
            "where 1 < M < N and no two are equal",
            "N",
            "numbers",
            slips={
                "M": "Rows and columns of a: which of its rows does line 8 read rightly?",
                "1": "Its first row is right. How many numbers is that?",
                "M * M": "That holds for no row but the first: row * M is not row * N.",
                "0": "For row 0 it does not matter how long a row is.",
            },
        ),
    },
    columns={
        "SLICE": "numbers of a slice, cells of the tile, and threads of a block of P",
        "THREADS": "threads of Q's launch, in all its blocks",
        "M": "rows of R's matrix",
        "N": "columns of R's matrix",
    },
    cases=(
        case(SLICE=64, THREADS=1024, M=2, N=3),
        case(SLICE=128, THREADS=4096, M=9, N=50),
        case(SLICE=96, THREADS=640, M=32, N=33),
    ),
)
