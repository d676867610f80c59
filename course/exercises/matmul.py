"""Lesson 04: matrix multiplication, from one thread an element to a tile a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.spec.exercise import Array, Budget, Constant, KernelExercise, Role, case
from course.spec.launching import Launch

#: Relative to |A| @ |B|: a chain of K float32 additions errs by less than K * 6e-8 of it.
TOLERANCE = {"float32": (1e-5, 0.0)}
_OPERANDS = (Array("A", "M, K"), Array("B", "K, N"))
_IN_TILES = (case(M=1, N=1, K=1), case(M=20, N=37, K=19), case(True, M=64, N=96, K=128))
#: What all but the last of these exercises compute.
_PRODUCT: dict[str, Any] = {
    "full": case(M=1024, N=1024, K=1024),
    "operations": "2 * M * N * K",
    "small": case(M=5, N=7, K=6),
    "parameters": (*_OPERANDS, Array("C", "M, N", Role.OUT)),
    "reference": lambda A, B: {"C": A @ B},
    "magnitude": lambda A, B: {"C": np.abs(A) @ np.abs(B)},
    "tolerance": TOLERANCE,
}


def _left_in_the_tiles(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    """The last of several steps of 16 is not whole: past K both tiles are as the step before it."""
    K = A.shape[1]
    left = slice(max(0, K - 16) if K % 16 else K, K - K % 16)
    return {"C": A @ B + A[:, left] @ B[left]}


_KEPT = {"past K the last tiles hold what the step before it left there": _left_in_the_tiles}

matmul_naive = KernelExercise(
    name="matmul_naive",
    title="One thread an element",
    task=(
        "C = A @ B for A of shape M x K and B of shape K x N, any sizes: one thread computes one "
        "element of C from a row of A and a column of B. The block is BX x BY threads: BX may be "
        "8, 16, 32 or 64, BY may be 4, 8 or 16."
    ),
    points=6,
    minutes=35,
    difficulty=2,
    hints=(
        "column, row = cuda.grid(2): x counts columns, as in lesson 01.",
        "Keep the sum in a register (float32(0) at the start) and store it once, after the loop.",
        "The loop runs over K, which is A.shape[1]. In B, one step of it goes down one row: write "
        "the two indices of each operand.",
    ),
    **_PRODUCT,
    cases=(
        case(M=1, N=1, K=1),
        case(M=5, N=70, K=3),
        case(True, M=32, N=128, K=32),
    ),
    slips={"the last product alone, no sum": lambda A, B: {"C": np.outer(A[:, -1], B[-1])}},
    launch=Launch(("cdiv(N, BX)", "cdiv(M, BY)"), ("BX", "BY")),
    budget=Budget(
        {
            "load A": "M * cdiv(N, BX) * K * max(BX, 32) / 32",
            "load B": "cdiv(M * min(BX, 32), 32) * tiles(K, N, 1, min(BX, 32))",
            "store C": "tiles(M, N, 1, min(BX, 32))",
        },
        why=(
            "There are M * N / 32 warps, and each takes K steps. A step touches a sector of A for "
            "each row that the warp spans, and the sectors of B that its columns fill."
        ),
    ),
    constants={"BX": Constant(16, (8, 16, 32, 64)), "BY": Constant(16, (4, 8, 16))},
)

matmul_tiled = KernelExercise(
    name="matmul_tiled",
    title="Tiles in shared memory",
    task=(
        "C = A @ B, any sizes, with a T x T block for each T x T tile of C. The block walks along "
        "K in steps of T and holds one tile of A and one of B in shared memory. T is 16 (or 32, "
        "which asks for half as much)."
    ),
    points=12,
    minutes=80,
    difficulty=4,
    core=True,
    hints=(
        "In each step every thread loads one element of A's tile and one of B's, then uses 2 * T "
        "elements that others loaded.",
        "An element outside its matrix counts as 0: store that 0, so that the inner loop needs no "
        "guard. All threads load and wait, also those whose element of C does not exist.",
        "Two barriers a step: one after the loads, and one before the next step overwrites the "
        "tiles. Where does the second one stand, and which line is guarded for C?",
    ),
    **_PRODUCT,
    slips={
        f"a step of {t} along K for each block along x (cuda.gridDim.x), and K needs others": (
            lambda A, B, t=t: {"C": A[:, : -(-B.shape[1] // t) * t] @ B[: -(-B.shape[1] // t) * t]}
        )
        for t in (16, 32)
    }
    | _KEPT,
    cases=_IN_TILES,
    launch=Launch(("cdiv(N, T)", "cdiv(M, T)"), ("T", "T")),
    budget=Budget(
        {
            "load A": "cdiv(N, 16) * tiles(M, K, 16, 16)",
            "load B": "cdiv(M, 16) * tiles(K, N, 16, 16)",
            "store C": "tiles(M, N, 16, 16)",
        },
        why="All of A for each column of 16-wide tiles of C, all of B for each row of them.",
    ),
    # one for every two multiply-adds of a warp: a tile with padded rows takes a fourth of that
    bank_conflicts="cdiv(M, 16) * 16 * cdiv(N, 16) * 16 * cdiv(K, 16) * 16 / 64",
    constants={"T": Constant(16, (16, 32))},
)

matmul_coarse_1d = KernelExercise(
    name="matmul_coarse_1d",
    title="Four outputs a thread",
    task=(
        "C = A @ B, any sizes, with a block of 16 x 16 threads for a tile of C that is 64 rows "
        "high and 16 columns wide: each thread computes 4 elements of one column."
    ),
    points=7,
    minutes=50,
    difficulty=4,
    hints=(
        "A's tile is 64 x 16 now, so that each thread loads 4 of its elements; B's tile is "
        "16 x 16 as before.",
        "Four sums a thread, by four names (or a local array of 4, filled with 0). Thread (tx, ty) "
        "owns the rows ty, ty + 16, ty + 32 and ty + 48 of the tile.",
        "In the inner loop read the cell of B's tile once into a register and use it for all "
        "four rows. Which index of A's tile changes from one row to the next?",
    ),
    **_PRODUCT,
    slips=_KEPT,
    cases=(
        case(M=1, N=1, K=1),
        case(M=70, N=37, K=19),
        case(True, M=128, N=64, K=96),
    ),
    launch=Launch(("cdiv(N, 16)", "cdiv(M, 64)"), ("16", "16")),
    budget=Budget(
        {
            "load A": "cdiv(N, 16) * tiles(M, K, 64, 8)",
            "load B": "cdiv(M, 64) * tiles(K, N, 16, 16)",
            "store C": "tiles(M, N, 64, 16)",
        },
        why="All of A for each column of tiles of C, all of B for each row of them.",
    ),
    # three loads for two multiply-adds; a row of four outputs in registers takes five for four
    shared_loads="1.5 * cdiv(M, 64) * 64 * cdiv(N, 16) * 16 * cdiv(K, 32)",
    # 4 multiply-adds a step along K, of 8 to 10 operations each
    work="200 + 4 * 16 * K",
)

matmul_coarse = KernelExercise(
    name="matmul_coarse",
    title="A 4 x 4 patch a thread",
    task=(
        "C = A @ B, any sizes, with a block of 16 x 16 threads for a 64 x 64 tile of C: each "
        "thread computes 16 elements. It asks for a quarter of what matmul_tiled loads."
    ),
    points=10,
    minutes=75,
    difficulty=5,
    hints=(
        "Per step of 16 along K: A's tile is 64 x 16 and B's 16 x 64, four elements of each a "
        "thread. Number the threads 0 to 255 if that makes the loads easier.",
        "Thread (tx, ty) owns the rows ty + 16 * i and the columns tx + 16 * j, for i and j from "
        "0 to 3: neighbouring lanes then read and store neighbouring columns.",
        "For each k of the tile: read 4 cells of A's tile and 4 of B's into registers, then do 16 "
        "multiply-adds. Write the loop over i and j, and the guarded store at the end.",
    ),
    **_PRODUCT,
    slips=_KEPT,
    cases=(
        case(M=1, N=1, K=1),
        case(M=70, N=90, K=19),
        case(True, M=64, N=128, K=64),
    ),
    launch=Launch(("cdiv(N, 64)", "cdiv(M, 64)"), ("16", "16")),
    budget=Budget(
        {
            "load A": "cdiv(N, 64) * tiles(M, K, 64, 8)",
            "load B": "cdiv(M, 64) * tiles(K, N, 8, 16)",
            "store C": "tiles(M, N, 16, 16)",
        },
        why="All of A for each column of tiles of C, all of B for each row of them.",
    ),
    # three loads for two multiply-adds; a row of four outputs in registers takes five for four
    shared_loads="1.5 * cdiv(M, 64) * 64 * cdiv(N, 64) * 64 * cdiv(K, 32)",
    # 16 multiply-adds a step along K, of 7 to 12 operations each
    work="200 + 16 * 16 * K",
)

matmul_a_stationary = KernelExercise(
    name="matmul_a_stationary",
    title="Hold A still",
    task=(
        "C = A @ B, any sizes, with a T x T block for each T x T tile of A. The block loads its "
        "tile of A once, walks along the tiles of B's rows, and adds its part of each tile of C, "
        "which holds zeros at the start, with atomics. T is 16 or 32."
    ),
    points=4,
    minutes=50,
    difficulty=4,
    bonus=True,
    hints=(
        "blockIdx.x counts tiles along K and blockIdx.y tiles along M: this block's tile of A "
        "never changes. The loop runs over the columns of B, T at a time.",
        "In each step: load a tile of B, wait, add up T products, wait. Several blocks add to the "
        "same element of C.",
        "cuda.atomic.add(C, (row, column), part) adds without a race. Which row and column belong "
        "to this thread in this step, and when do they exist?",
    ),
    small=case(M=5, N=7, K=6),
    full=case(M=1024, N=1024, K=1024),
    operations="2 * M * N * K",
    parameters=(*_OPERANDS, Array("C", "M, N", Role.ACCUMULATE)),
    reference=lambda A, B, C: {"C": C + A @ B},
    magnitude=lambda A, B, C: {"C": np.abs(C) + np.abs(A) @ np.abs(B)},
    tolerance=TOLERANCE,
    cases=_IN_TILES,
    launch=Launch(("cdiv(K, T)", "cdiv(M, T)"), ("T", "T")),
    budget=Budget(
        {
            "load A": "tiles(M, K, 16, 16)",
            "load B": "cdiv(M, 16) * tiles(K, N, 16, 16)",
            "atomic C": "cdiv(K, 16) * tiles(M, N, 16, 16)",
        },
        why="A once; all of B for each row of tiles of A; all of C for each column of them.",
    ),
    constants={"T": Constant(16, (16, 32))},
)
