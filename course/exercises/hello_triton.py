"""Lesson 06: the first Triton kernels, from a vector add to a tile with strides."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.spec.draws import integers, uniform
from course.spec.exercise import (
    Array,
    Budget,
    Constant,
    KernelExercise,
    Meta,
    Role,
    Scalar,
    Stride,
    case,
)
from course.spec.launching import Programs

_BLOCK = {"BLOCK": Constant(1024, (256, 512, 1024, 2048))}
_META = Meta("BLOCK", "BLOCK")
#: What kernels on vectors take behind their arrays, and what else they have in common.
_SIZE = (Scalar("N", "N", "int32"), _META)
_ON_VECTORS: dict[str, Any] = {
    "small": case(N=40, BLOCK=16),
    "full": case(N=1 << 24),
    "launch": Programs("cdiv(N, BLOCK)"),
    "constants": _BLOCK,
}
#: One rounding to float16 is at most 4.9e-4 of a value, or 3e-8 below 6e-5; two are more than this.
_FLOAT16 = (6e-4, 4e-8)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _slope(x: np.ndarray) -> np.ndarray:
    """The derivative of the sigmoid at x."""
    return _sigmoid(x) * (1 - _sigmoid(x))


def _through_three_sigmoids(x: np.ndarray, dout: np.ndarray, N: int) -> dict[str, np.ndarray]:
    s1 = _sigmoid(x)
    s2 = _sigmoid(s1)
    s3 = _sigmoid(s2)
    return {"dx": dout * s3 * (1 - s3) * s2 * (1 - s2) * s1 * (1 - s1)}


def _at_the_inputs(x: np.ndarray, dout: np.ndarray, N: int) -> dict[str, np.ndarray]:
    """1 - sigmoid(x) has few digits where x is large, and is multiplied by x * (1 - x) here."""
    first = dout * x * (1 - x)
    return {"dx": first * _slope(x) * _slope(_sigmoid(x)), "size of dx": np.abs(first) / 4}


triton_add = KernelExercise(
    name="triton_add",
    title="A block of values",
    task=(
        "out = x + y, any N. Each program adds one block of BLOCK neighbouring elements; the "
        "last block may reach past the end."
    ),
    points=8,
    minutes=30,
    difficulty=2,
    core=True,
    hints=(
        "Three steps: the offsets of this program's block, a mask, two loads and a store. Only "
        "the first two are new.",
        "Program 0 has the elements 0 to BLOCK - 1, program 1 those from BLOCK on. "
        "tl.program_id(0) is the program's number, and tl.arange(0, BLOCK) gives the numbers "
        "from 0 to BLOCK - 1 as a block.",
        "tl.load(x_ptr + offsets, mask=offsets < N) loads what exists. The store has the same "
        "form, with the block of sums as its second argument: what is its mask?",
    ),
    **_ON_VECTORS,
    parameters=(Array("x", "N"), Array("y", "N"), Array("out", "N", Role.OUT), *_SIZE),
    reference=lambda x, y, N: {"out": x + y},
    magnitude=lambda x, y, N: {"out": np.abs(x) + np.abs(y)},
    tolerance={"float32": (1e-6, 0.0)},
    slips={"x - y": lambda x, y, N: {"out": x - y}, "x * y": lambda x, y, N: {"out": x * y}},
    cases=(case(N=1), case(N=1000), case(N=5000), case(True, N=16384)),
    budget=Budget(
        {"load x": "sectors(N)", "load y": "sectors(N)", "store out": "sectors(N)"},
        why="Each element is loaded or stored once, whatever the block.",
    ),
)

wave_energy = KernelExercise(
    name="wave_energy",
    title="Six steps, one trip",
    task=(
        "out = sin(x)**2 + cos(x)**2 / 2 for each element, any N, in one kernel: x is loaded "
        "once, out is stored once, and what lies between stays on the chip."
    ),
    points=6,
    minutes=25,
    difficulty=2,
    hints=(
        "The kernel is triton_add with one input and more arithmetic between load and store.",
        "tl.sin and tl.cos take a block of float32 values. Blocks have no `**`: give the sine a "
        "name and multiply it by itself.",
        "Only the cosine's square is halved. How many tl.load and tl.store stand in your kernel?",
    ),
    **_ON_VECTORS,
    parameters=(Array("x", "N"), Array("out", "N", Role.OUT), *_SIZE),
    reference=lambda x, N: {"out": np.sin(x) ** 2 + np.cos(x) ** 2 / 2},
    tolerance={"float32": (1e-5, 0.0)},
    slips={
        "half of the whole sum": lambda x, N: {"out": np.full_like(x, 0.5)},
        "the sum without the half": lambda x, N: {"out": np.ones_like(x)},
        "sin(x * x), the square before the sine": lambda x, N: {
            "out": np.sin(x * x) + np.cos(x * x) / 2
        },
        "the half on the sine's square": lambda x, N: {"out": np.sin(x) ** 2 / 2 + np.cos(x) ** 2},
        "the half taken before the square": lambda x, N: {
            "out": np.sin(x) ** 2 + (np.cos(x) / 2) ** 2
        },
        "no squares": lambda x, N: {"out": np.sin(x) + np.cos(x) / 2},
    },
    cases=(case(N=1), case(N=1000), case(N=5000), case(True, N=8192)),
    budget=Budget(
        {"load x": "sectors(N)", "store out": "sectors(N)"},
        why="One read and one write of each element; sines and squares move nothing.",
    ),
)

row_scale = KernelExercise(
    name="row_scale",
    title="A tile with strides",
    task=(
        "out[m, n] = x[m, n] * scale[m] for a matrix of M x N, any sizes. Program (i, j) has the "
        "tile of BM rows and BN columns that starts at row i * BM and column j * BN. In memory, x "
        "may lie row after row or column after column: neighbours in a column are stride_m "
        "elements apart, neighbours in a row stride_n. out lies row after row."
    ),
    points=8,
    minutes=45,
    difficulty=3,
    hints=(
        "Two blocks of numbers: BM row numbers and BN column numbers, each made like the offsets "
        "of triton_add, from its own axis of the grid.",
        "rows[:, None] is a column of shape (BM, 1) and columns[None, :] a row of shape (1, BN). "
        "Added, they give the BM x BN offsets of the tile: what has to be multiplied by what?",
        "x is at rows[:, None] * stride_m + columns[None, :] * stride_n, and out at the same "
        "place of a matrix whose rows are N apart. The scales are BM values, loaded once with a "
        "mask of their own. Which shape must they have to multiply the tile?",
    ),
    small=case(M=6, N=10, BM=4, BN=8),
    full=case(M=4096, N=4096),
    parameters=(
        Array("x", "M, N"),
        Array("scale", "M"),
        Array("out", "M, N", Role.OUT),
        Scalar("M", "M", "int32"),
        Scalar("N", "N", "int32"),
        Stride("stride_m", "x", 0),
        Stride("stride_n", "x", 1),
        Meta("BM", "BM"),
        Meta("BN", "BN"),
    ),
    reference=lambda x, scale, M, N: {"out": x * scale[:, None]},
    tolerance={"float32": (1e-6, 0.0)},
    slips={
        "x divided by the scale": lambda x, scale, M, N: {"out": x / scale[:, None]},
        "each column scaled by the number of its own place, not of its row's": (
            lambda x, scale, M, N: {"out": x * np.pad(scale, (0, max(N - M, 0)))[:N]}
        ),
    },
    cases=(
        case(M=1, N=1),
        case(M=5, N=70),
        case(M=40, N=150, transposed=("x",)),
        case(True, M=64, N=256),
        case(True, M=64, N=256, transposed=("x",)),
    ),
    launch=Programs(("cdiv(M, BM)", "cdiv(N, BN)")),
    budget=Budget(
        {
            "load x": "tiles(M, N, BM, BN)",
            "load scale": "cdiv(N, BN) * sectors(M)",
            "store out": "tiles(M, N, BM, BN)",
        },
        why="Each tile loads its BM scales; x and out are moved once.",
    ),
    constants={"BM": Constant(32, (8, 16, 32, 64)), "BN": Constant(64, (32, 64, 128, 256))},
)

triple_sigmoid_backward = KernelExercise(
    name="triple_sigmoid_backward",
    title="Compute it again",
    task=(
        "For out = sigmoid(sigmoid(sigmoid(x))) and the gradient dout of a loss by out: the "
        "gradient dx of the loss by x, any N. Nothing was stored on the way forward: compute what "
        "you need from x again."
    ),
    points=8,
    minutes=40,
    difficulty=3,
    hints=(
        "Forward first: s1 = sigmoid(x), s2 = sigmoid(s1), s3 = sigmoid(s2), all in registers. "
        "tl.sigmoid takes a block.",
        "The derivative of s = sigmoid(z) by z is s * (1 - s): the *output* of the stage. The "
        "chain rule multiplies one such factor for each stage.",
        "dx = dout * (s3's factor) * (s2's factor) * (s1's factor). Write the three factors; "
        "there are two loads and one store.",
    ),
    **_ON_VECTORS,
    parameters=(Array("x", "N"), Array("dout", "N"), Array("dx", "N", Role.OUT), *_SIZE),
    reference=_through_three_sigmoids,
    tolerance={"float32": (1e-5, 1e-7)},
    slips={
        "the derivative of the last sigmoid alone": lambda x, dout, N: {
            "dx": dout * _slope(_sigmoid(_sigmoid(x)))
        },
        "the last two factors, without the first sigmoid's": lambda x, dout, N: {
            "dx": dout * _slope(_sigmoid(_sigmoid(x))) * _slope(_sigmoid(x))
        },
        "the first two factors, without the last sigmoid's": lambda x, dout, N: {
            "dx": dout * _slope(_sigmoid(x)) * _slope(x)
        },
        "the last sigmoid's factor three times": lambda x, dout, N: {
            "dx": dout * _slope(_sigmoid(_sigmoid(x))) ** 3
        },
        "the same factor three times, each at x": lambda x, dout, N: {"dx": dout * _slope(x) ** 3},
        "each factor at the input of its sigmoid, z * (1 - z), not at its output": _at_the_inputs,
        "dout times out, without a derivative": lambda x, dout, N: {
            "dx": dout * _sigmoid(_sigmoid(_sigmoid(x)))
        },
    },
    cases=(
        case(N=1),
        case(N=1000),
        case(N=5000, draws={"x": uniform(-100.0, 100.0)}),  # exp(100) overflows float32
        case(True, N=8192),
    ),
    budget=Budget(
        {"load x": "sectors(N)", "load dout": "sectors(N)", "store dx": "sectors(N)"},
        why="Two reads and a write of each element: s1, s2 and s3 never leave the registers.",
    ),
)

dequantize = KernelExercise(
    name="dequantize",
    title="From int8 to float16",
    task=(
        "out[m, k] = q[m, k] * scale[m] as float16, for int8 numbers q of shape M x K and a "
        "float32 scale for each row. One program has a whole row, which may be longer than BLOCK: "
        "it walks along the row, BLOCK elements at a time. Multiply in float32."
    ),
    points=8,
    minutes=40,
    difficulty=3,
    hints=(
        "The row of a program is tl.program_id(0), and its elements start at row * K. The scale is "
        "one number: load it before the loop, tl.load(scale_ptr + row).",
        "for start in range(0, K, BLOCK): the columns of this round are start + tl.arange(0, "
        "BLOCK), and those from K on do not exist (they belong to the next row).",
        "A block of int8 times a float32 number is a block of float32, and a store turns it into "
        "the type that the output has. Write the load, the product and the store of one round.",
    ),
    small=case(M=4, K=14, BLOCK=4),
    full=case(M=4096, K=8192),
    parameters=(
        Array("q", "M, K", dtype="int8", draw=integers(-128, 128)),
        Array("scale", "M", draw=uniform(2e-6, 2e-5)),
        Array("out", "M, K", Role.OUT, dtype="float16"),
        Scalar("K", "K", "int32"),
        _META,
    ),
    reference=lambda q, scale, K: {"out": q * scale[:, None]},
    tolerance={"float16": _FLOAT16},
    slips={
        "q divided by the scale": lambda q, scale, K: {"out": q / scale[:, None]},
        "the scale added to q, no product": lambda q, scale, K: {"out": q + scale[:, None]},
        "q taken for numbers from 0 to 255": lambda q, scale, K: {
            "out": np.where(q < 0, q + 256.0, q) * scale[:, None]
        },
        "a scale of float16": lambda q, scale, K: {
            "out": q * scale.astype(np.float16).astype(float)[:, None]
        },
    },
    cases=(case(M=1, K=1), case(M=3, K=70), case(M=5, K=5000), case(True, M=16, K=8192)),
    launch=Programs("M"),
    budget=Budget(
        {
            "load q": "tiles(M, K, 1, BLOCK)",
            "load scale": "M",
            "store out": "tiles(M, K, 1, BLOCK)",
        },
        why="One byte read and two written an element; the scale is a sector a row.",
    ),
    constants=_BLOCK,
)
