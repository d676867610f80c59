"""Lesson 01: threads, blocks, bounds and divergence."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.spec.draws import integers
from course.spec.exercise import (
    Array,
    Budget,
    KernelExercise,
    NumberExercise,
    Question,
    Role,
    Scalar,
    case,
)
from course.spec.launching import Launch

vector_add = KernelExercise(
    name="vector_add",
    title="Add two vectors",
    task=(
        "Write c[i] = a[i] + b[i] for every i below N, one thread an element. The last block "
        "may have more threads than elements are left."
    ),
    points=4,
    minutes=15,
    difficulty=1,
    core=True,
    hints=(
        "cuda.grid(1) is the number of this thread in the whole grid. It is the same as "
        "cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x.",
        "The launch starts whole blocks. Which threads must not touch the arrays? c.size is N.",
        "Two lines below the index: `if i < c.size:`, and under it the one that stores.",
    ),
    small=case(N=40),
    full=case(N=1 << 24),
    parameters=(Array("a", "N"), Array("b", "N"), Array("c", "N", Role.OUT)),
    reference=lambda a, b: {"c": a + b},
    magnitude=lambda a, b: {"c": np.abs(a) + np.abs(b)},
    slips={
        "a[i] - b[i]": lambda a, b: {"c": a - b},
        "a[i] * b[i]": lambda a, b: {"c": a * b},
    },
    cases=(case(N=1), case(N=1000), case(True, N=4096)),
    launch=Launch("cdiv(N, 256)", "256"),
    budget=Budget(
        {"load a": "sectors(N)", "load b": "sectors(N)", "store c": "sectors(N)"},
        why="each element read once, each sum written once",
    ),
)

grid_math = NumberExercise(
    name="grid_math",
    title="Blocks, threads, warps: the arithmetic of a launch",
    task=(
        "First a vector of 20,000 elements, one thread an element, 256 threads a block, and as "
        "few blocks as cover it. Then a picture of 1,000 rows and 700 columns, one thread a "
        "pixel, blocks of (32, 8) threads, x the column. Last a single block of (16, 16) "
        "threads."
    ),
    points=4,
    minutes=15,
    difficulty=1,
    hints=(
        "A grid has whole blocks. How many of 256 threads are needed so that their number is at "
        "least 20,000? `-(-a // b)` rounds a / b up.",
        "Element = block * threads a block + thread. Going back from an element, the block is a "
        "whole division and the thread is its remainder.",
        "Inside a block threads are counted along x first: thread (x, y) has the number "
        "x + y * (threads along x). Every 32 numbers make a warp; the remainder is the lane.",
    ),
    given={"N": 20_000, "T": 256, "ROWS": 1000, "COLUMNS": 700},
    questions={
        "blocks": Question(
            "20,000 elements: how many blocks of 256 threads cover them?",
            "cdiv(N, T)",
            "blocks",
            slips={
                "N / T": "A grid has whole blocks; the last one may be partly filled.",
                "N // T": "78 blocks are 19,968 threads: 32 elements would have no thread.",
            },
        ),
        "threads": Question(
            "How many threads does this launch start?",
            "cdiv(N, T) * T",
            "threads",
            slips={
                "N": "The launch starts whole blocks, so more threads than elements.",
                "N // T * T": "That is what 78 blocks hold.",
            },
        ),
        "idle_threads": Question(
            "How many of them have no element?",
            "cdiv(N, T) * T - N",
            "threads",
            slips={"N % T": "So many elements are left for the last block. It has 256 threads."},
        ),
        "warps_a_block": Question(
            "How many warps has one block?",
            "T / 32",
            "warps",
            slips={"T": "That is threads; 32 of them make a warp."},
        ),
        "busy_warps_of_last_block": Question(
            "How many warps of the last block have at least one thread with an element?",
            "cdiv(N - (cdiv(N, T) - 1) * T, 32)",
            "warps",
            slips={
                "T / 32": "The last block has 32 elements left. How many warps is that?",
                "N - (cdiv(N, T) - 1) * T": "That is threads; 32 of them make a warp.",
            },
        ),
        "element": Question(
            "Which element is that of thread 37 of block 12?",
            "12 * T + 37",
            "",
            slips={
                "12 + 37 * T": "The block's number is what is multiplied by 256.",
                "12 * cdiv(N, T) + 37": "Multiply by the threads a block, not by the blocks.",
                "13 * T + 37": "Blocks are counted from 0: twelve blocks lie before block 12.",
            },
        ),
        "block_of_10000": Question(
            "Which block has the thread of element 10,000?",
            "10000 // T",
            slips={
                "10000 / T": "A block's number is whole: how many whole blocks lie before it?",
                "cdiv(10000, T)": "Blocks are counted from 0, so the 40th has number 39.",
            },
        ),
        "thread_of_10000": Question(
            "Which thread of that block is it?",
            "10000 % T",
            slips={"10000 % T + 1": "Threads are counted from 0."},
        ),
        "blocks_x": Question(
            "The picture: how many blocks along x (columns)?",
            "cdiv(COLUMNS, 32)",
            "blocks",
            slips={
                "cdiv(ROWS, 32)": "x is the column, and there are 700 of them.",
                "COLUMNS // 32": "21 blocks have 672 threads along x: 28 columns would have none.",
                "COLUMNS / 32": "Blocks come whole.",
            },
        ),
        "blocks_y": Question(
            "The picture: how many blocks along y (rows)?",
            "cdiv(ROWS, 8)",
            "blocks",
            slips={
                "cdiv(COLUMNS, 8)": "y is the row, and there are 1,000 of them.",
                "cdiv(ROWS, 32)": "A block has 8 threads along y.",
            },
        ),
        "idle_2d": Question(
            "The picture: how many threads have no pixel?",
            "cdiv(COLUMNS, 32) * cdiv(ROWS, 8) * 256 - ROWS * COLUMNS",
            "threads",
        ),
        "warp": Question(
            "A block of (16, 16) threads: to which warp of the block does thread x = 5, y = 3 "
            "belong? (The first is warp 0.)",
            "(5 + 3 * 16) // 32",
            "",
            slips={
                "(3 + 5 * 16) // 32": "Threads are counted along x first: x + 16 * y.",
                "3": "A row of this block has 16 threads, half a warp.",
                "5 + 3 * 16": "That is the thread's number in the block. Which 32 is it among?",
            },
        ),
        "lane": Question(
            "Which lane of that warp is it?",
            "(5 + 3 * 16) % 32",
            "",
            slips={
                "(3 + 5 * 16) % 32": "Threads are counted along x first: x + 16 * y.",
                "5": "The second row of the block fills lanes 16 to 31 of warp 0. Where does the "
                "fourth row stand?",
                "5 + 3 * 16": "That is the thread's number in the block. A warp has 32 lanes.",
            },
        ),
    },
)


def _tilted(image: np.ndarray) -> dict[str, Any]:
    rows, columns = np.indices(image.shape)
    return {"out": image + 2 * rows + columns}


index_2d = KernelExercise(
    name="index_2d",
    title="Each pixel from its row and column",
    task=(
        "`image` has M rows and N columns of whole numbers. Write out[row, col] = "
        "image[row, col] + 2 * row + col for every pixel, one thread a pixel. The grid is "
        "generous: along x and along y it covers the longer side, so many threads have no pixel. "
        "The 32 lanes of a warp are neighbours along x."
    ),
    points=4,
    minutes=20,
    difficulty=2,
    hints=(
        "cuda.grid(2) gives two numbers: along x first, then along y. One of them is the row and "
        "one the column.",
        "A row of the matrix lies in one piece in memory. So that neighbouring lanes touch "
        "neighbouring addresses, the lanes of a warp should walk along a row: what changes along "
        "a row, `row` or `col`?",
        "`col, row = cuda.grid(2)`. image.shape is (rows, columns): guard each with its own side.",
    ),
    small=case(M=6, N=10),
    full=case(M=4096, N=4096),
    parameters=(
        Array("image", "M, N", dtype="int32", draw=integers(0, 1000)),
        Array("out", "M, N", Role.OUT, dtype="int32"),
    ),
    reference=_tilted,
    slips={
        "row + 2 * col, with the two weights swapped": lambda image: {
            "out": image + np.indices(image.shape)[0] + 2 * np.indices(image.shape)[1]
        },
        "2 * (row + col)": lambda image: {"out": image + 2 * sum(np.indices(image.shape))},
    },
    cases=(case(M=1, N=1), case(M=5, N=70), case(M=70, N=33), case(True, M=48, N=128)),
    launch=Launch(("cdiv(max(M, N), 32)", "cdiv(max(M, N), 8)"), ("32", "8")),
    budget=Budget(
        {"load image": "rows(M, N)", "store out": "rows(M, N)"},
        why="each pixel read once and written once, a row of 32 pixels a request",
    ),
)

#: One stretch of neighbours for each block: where N is no multiple of 8 * G, its ends straddle.
_STRETCHES = "max(sectors(N), rows(G, cdiv(N, G)))"

saxpy_grid_stride = KernelExercise(
    name="saxpy_grid_stride",
    title="Any grid covers any N",
    task=(
        "Write y[i] = alpha * x[i] + y[i] for every i below N, with a grid of G blocks of 128 "
        "threads, whatever G and N are: there may be fewer threads than elements, or more. Each "
        "element is updated once. (The name is a classic: single-precision a times x plus y.)"
    ),
    points=5,
    minutes=25,
    difficulty=2,
    hints=(
        "When a thread has done one element and there are more elements than threads, which one "
        "should it do next, so that neighbouring lanes stay on neighbouring elements?",
        "cuda.gridsize(1) is the number of threads in the whole grid. Step by that.",
        "`for i in range(cuda.grid(1), x.size, ...)`: the third number is the step. The body is "
        "one line, and no guard is needed: why not?",
    ),
    small=case(N=40, G=1),
    full=case(N=1 << 24, G=4224),
    parameters=(
        Scalar("alpha", "1.5", "float32"),
        Array("x", "N"),
        Array("y", "N", Role.INOUT),
    ),
    reference=lambda alpha, x, y: {"y": alpha * x + y},
    magnitude=lambda alpha, x, y: {"y": np.abs(alpha * x) + np.abs(y)},
    slips={"alpha * (x[i] + y[i])": lambda alpha, x, y: {"y": alpha * (x + y)}},
    cases=(
        case(N=1, G=1),
        case(N=100, G=3, scalars={"alpha": -0.5}),
        case(N=1000, G=1),
        case(N=2001, G=5),
        case(True, N=1024, G=8),
        case(True, N=2048, G=2),
    ),
    launch=Launch("G", "128"),
    budget=Budget(
        {"load x": _STRETCHES, "load y": _STRETCHES, "store y": _STRETCHES},
        why="x and y read once, y written once, 32 neighbours a request",
    ),
)


def _two_kinds(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """Row 0 from 1 to 2, row 1 from 2 to 4: the value tells the row."""
    values = rng.uniform(1.0, 2.0, shape)
    values[1] *= 2.0
    return values.astype(dtype)


divergence = KernelExercise(
    name="divergence",
    title="The same work, and no warp torn in two",
    task=(
        "`x` has two rows of N numbers. Write the square root of each number of row 0 into row 0 "
        "of y, and the cube root of each number of row 1 into row 1 of y. The two device "
        "functions are given and take about equally long. The grid has 2 * cdiv(N, 128) blocks "
        "of 128 threads, in one dimension: enough for one thread a number. Deal out the work so "
        "that all lanes of a warp take the same side of every branch, and neighbouring lanes "
        "touch neighbouring numbers."
    ),
    points=5,
    minutes=30,
    difficulty=3,
    hints=(
        "Lanes of one warp have neighbouring thread numbers. With `row = i % 2` neighbours work "
        "on different rows. What should neighbours have in common?",
        "Blocks 0, 2, 4, ... could do one row and blocks 1, 3, 5, ... the other; or the first "
        "half of the grid one row and the second half the other. Then every warp has one row.",
        "With `row = cuda.blockIdx.x % 2` two blocks share a stretch of 128 numbers: its start "
        "is (cuda.blockIdx.x // 2) * cuda.blockDim.x. Add the thread, guard with N, branch on "
        "the row.",
    ),
    small=case(N=32),
    full=case(N=1 << 23),
    parameters=(Array("x", "2, N", draw=_two_kinds), Array("y", "2, N", Role.OUT)),
    reference=lambda x: {"y": np.stack([np.sqrt(x[0]), np.cbrt(x[1])])},
    slips={
        "the cube roots of row 0 and the square roots of row 1": lambda x: {
            "y": np.stack([np.cbrt(x[0]), np.sqrt(x[1])])
        },
        "the square roots of both rows": lambda x: {"y": np.sqrt(x)},
        "the cube roots of both rows": lambda x: {"y": np.cbrt(x)},
    },
    cases=(case(N=1), case(N=45), case(N=1000), case(True, N=4096)),
    launch=Launch("2 * cdiv(N, 128)", "128"),
    budget=Budget(
        {"load x": "rows(2, N)", "store y": "rows(2, N)"},
        why="each number read once, each root written once",
    ),
    divergent_branches="2",
)
