"""Lesson 09: matrix multiplication in Triton, tensor cores, program order, and fusion."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course.spec.draws import integers, uniform
from course.spec.exercise import Array, Budget, KernelExercise, NumberExercise, Question, Role, case
from course.spec.launching import Launcher

#: Relative to |A| @ |B|. Sums in float32 err by about 1e-7 of it, float16 ones by 3e-5 and more.
TOLERANCE = {"float32": (2e-6, 0.0)}
#: C = A @ B in float16, C in float32.
_PRODUCT: dict[str, Any] = {
    "small": case(M=5, N=7, K=6),
    "parameters": (
        Array("A", "M, K", dtype="float16"),
        Array("B", "K, N", dtype="float16"),
        Array("C", "M, N", Role.OUT),
    ),
    "reference": lambda A, B: {"C": A @ B},
    "magnitude": lambda A, B: {"C": np.abs(A) @ np.abs(B)},
    "tolerance": TOLERANCE,
    "launch": Launcher(),
}
#: Weights that keep sums over a few hundred steps near 1, where an activation bends.
_WEIGHTS = uniform(-0.1, 0.1)
#: A tile's places past the end may be wrapped round by modulo, and are loaded again then: in an
#: axis beyond 64 as far as a tile of 128 reaches.
_TALL = "64 * (cdiv(M, 64) + cdiv(M, 64) % 2 * min(1, M // 65))"
_WIDE = _TALL.replace("M", "N")
#: All of B or w for each strip of 64 rows; beyond 64 columns a tile of 256 may wrap round.
_STRIPS = "cdiv(M, 64) * tiles(K, max(64, min(1, N // 65) * 256 * cdiv(N, 256)), 16, 64)"
#: Programs among which a launcher deals the tiles, at least: 3 shares are a tile of 128 x 256, and
#: no strip of 64 x 512.
_TILES = "M * N / 96**2"
_TILES_OF_64 = {
    "load A": "cdiv(N, 64) * tiles(64 * cdiv(M, 64), K, 64, 16)",
    "load B": "cdiv(M, 64) * tiles(K, 64 * cdiv(N, 64), 16, 64)",
    "store C": "tiles(M, N, 64, 64)",
}
#: What the layers of a network have in common: a product, and what is done to it before the store.
_LAYER: dict[str, Any] = {
    "small": case(M=5, N=7, K=6),
    "tolerance": TOLERANCE,
    "cases": (case(M=1, N=1, K=1), case(M=100, N=70, K=50), case(True, M=512, N=512, K=96)),
    "launch": Launcher(),
    "shares": _TILES,
}

#: Steps along K that kernels take.
_STEPS_OF_K = (16, 32, 64, 128)


def _in_steps(
    x: np.ndarray, w: np.ndarray, step: int, then: Callable[[Any, Any], Any]
) -> np.ndarray:
    """A running sum of so many columns' products at a time: `then` of it and the next."""
    total: Any = 0.0
    for start in range(0, x.shape[1], step):
        total = then(total, x[:, start : start + step] @ w[start : start + step])
    return np.asarray(total)


def _after_steps(of: Callable[..., Any], said: str) -> dict[str, Any]:
    """A slip that each step along K makes, for the usual steps: `of` takes the step first."""
    return {f"{said}, in steps of {step}": partial(of, step) for step in _STEPS_OF_K}


def _added_again(step: int, A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    def then(total: Any, product: Any) -> Any:
        return total + (total + product)

    return {
        "C": _in_steps(A, B, step, then),
        "size of C": _in_steps(np.abs(A), np.abs(B), step, then),
    }


triton_matmul = KernelExercise(
    name="triton_matmul",
    title="Tiles without threads",
    task=(
        "C = A @ B for A of shape M x K and B of shape K x N in float16, any sizes, C in float32, "
        "with the sums in float32. Write the kernel and the launcher: a program for each tile of "
        "C, at least 64 x 64. A and B may be stored by rows or by columns: their strides say so."
    ),
    points=12,
    minutes=75,
    difficulty=4,
    core=True,
    hints=(
        "It is matmul_tiled without threads and barriers. Each step along K: a (BM, BK) tile of "
        "A, a (BK, BN) tile of B, and total = tl.dot(a, b, total).",
        "A tile's addresses are A + rows[:, None] * am + steps[None, :] * ak. Both axes need a "
        "mask, and an element that does not exist counts as 0.0: the third argument of tl.load.",
        "The launcher: torch.empty for C (which dtype? on which device?), a grid of two axes that "
        "rounds up, the launch with all strides, and one more line that is easily forgotten.",
    ),
    full=case(M=2048, N=2048, K=2048),
    operations="2 * M * N * K",
    **_PRODUCT,
    slips=_after_steps(
        _added_again, "the sum so far added to a product that tl.dot has added it to already"
    ),
    cases=(
        case(M=1, N=1, K=1),
        case(M=33, N=150, K=50),
        case(transposed=("A", "B"), M=70, N=50, K=90),
        case(M=32, N=48, K=1024),
        case(True, M=512, N=512, K=128),
    ),
    shares=_TILES,
    budget=Budget(
        {
            "load A": f"cdiv(N, 64) * tiles({_TALL}, K, 64, 16)",
            "load B": _STRIPS,
            "store C": "tiles(M, N, 64, 64)",
        },
        why="All of A for each column of 64-wide tiles of C, all of B for each row of them.",
    ),
)

#: Of the kernel that the lesson compiles: one 64 x 64 x 32 product, 4 warps.
_DOT = {"BM": 64, "BN": 64, "BK": 32, "warps": 4}
_A_LANES_SHARE = "That is what the 128 threads of the program do together."
_ONE_WARP = "Each of the 4 warps runs its share: the PTX is one thread's program."

read_the_ptx = NumberExercise(
    name="read_the_ptx",
    title="What did tl.dot become?",
    task=(
        "The cells above compile one kernel for three GPUs: a (64, 32) tile times a (32, 64) tile "
        "with 4 warps. Work each number out from the shapes; then find it in the PTX. An "
        "instruction named mMnNkK multiplies an M x K matrix by a K x N one."
    ),
    points=6,
    minutes=40,
    difficulty=3,
    hints=(
        "A multiply-add for each of M * N outputs and each of K steps: M * N * K of them, in the "
        "whole product and in one instruction alike.",
        "mma.sync is executed by one warp, wgmma by four warps together. PTX is the program of "
        "one thread, so that an instruction which all warps run stands in it once.",
        "`count(ptx(80, ...))` in the cells above counts instructions by name. Call it with other "
        "dtypes and shapes.",
    ),
    given=_DOT,
    questions={
        "multiply_adds": Question(
            "multiply-adds of the whole product, 64 x 64 x 32",
            "BM * BN * BK",
            slips={"2 * BM * BN * BK": "Those are operations: a multiply-add counts as two."},
        ),
        "fma_a_thread": Question(
            "sm_75: fma.rn.f32 instructions of one thread, where there are no others",
            "BM * BN * BK / (32 * warps)",
            slips={"BM * BN * BK": _A_LANES_SHARE, "BM * BN * BK / 32": "4 warps, not one."},
        ),
        "work_of_an_mma": Question(
            "multiply-adds in one mma.sync.aligned.m16n8k16",
            "16 * 8 * 16",
            slips={"16 + 8 + 16": "Each of the 16 x 8 outputs takes 16 of them."},
        ),
        "mma_a_warp": Question(
            "sm_80: mma.sync.aligned.m16n8k16 instructions of one warp",
            "BM * BN * BK / (16 * 8 * 16) / warps",
            slips={"BM * BN * BK / (16 * 8 * 16)": _ONE_WARP},
        ),
        "wgmma_a_group": Question(
            "sm_90: wgmma.mma_async m64n64k16 instructions of the group of 4 warps",
            "BM * BN * BK / (64 * 64 * 16)",
            slips={"BM * BN * BK / (64 * 64 * 16) / warps": "The four warps execute it together."},
        ),
        "fma_per_mma": Question(
            "how many fma.rn.f32 of a warp (32 lanes, one multiply-add each) one m16n8k16 replaces",
            "16 * 8 * 16 / 32",
            slips={"16 * 8 * 16": "A warp's fma is 32 multiply-adds, one in each lane."},
        ),
        "sums_a_thread": Question(
            "registers of a thread that hold the 64 x 64 float32 accumulator",
            "BM * BN / (32 * warps)",
            slips={"BM * BN / 32": "All 4 warps hold a part of it."},
        ),
        "smallest_k": Question(
            "the smallest K that tl.dot takes for float16",
            "16",
            slips={
                "8": "Triton refuses 8: what is the k of the instruction's name?",
                "1": "M and N may be 1 (they are padded), but not K.",
            },
        ),
        "smallest_k_int8": Question(
            "the smallest K for int8, whose instruction takes as many bytes of each row",
            "32",
            slips={"16": "16 values of float16 are 32 bytes. How many of int8 are that?"},
        ),
        "tf32_mma": Question(
            "sm_80, float32 inputs: mma.sync.aligned.m16n8k8 (tf32) instructions of one warp",
            "BM * BN * BK / (16 * 8 * 8) / warps",
            slips={
                "BM * BN * BK / (16 * 8 * 16) / warps": "k is 8 here: half the work each.",
                "0": "By default Triton gives float32 inputs to the tensor cores, as TF32.",
            },
        ),
        "ieee_mma": Question(
            'sm_80, float32 inputs, input_precision="ieee": mma.sync instructions',
            "0",
            slips={
                "BM * BN * BK / (16 * 8 * 8) / warps": "Tensor cores of this kind have no float32 "
                "inputs: what is left to compute with?"
            },
        ),
        "bits_kept": Question(
            "bits of a float32's 23-bit fraction that TF32 keeps, as many as float16's",
            "10",
            slips={
                "19": "19 bits is a whole TF32: sign, exponent and fraction.",
                "8": "Those are the exponent's bits, as many as float32's.",
                "7": "That is bfloat16.",
            },
        ),
    },
)

grouped_order = KernelExercise(
    name="grouped_order",
    title="Who runs together?",
    task=(
        "C = A @ B as in triton_matmul, in tiles of 64 x 64. The kernel and the launcher are "
        "there; write tile_of, which says which tile program pid computes, so that programs that "
        "run together share panels of A and B. Beside the loads, what comes from DRAM is graded, "
        "in a model of a small GPU: 16 SMs, 256 KiB of L2."
    ),
    points=7,
    minutes=45,
    difficulty=3,
    hints=(
        "16 programs run at a time, in the order of pid. In which shape of 16 tiles do they need "
        "the fewest different panels?",
        "A group is GROUP rows of tiles, all columns: GROUP * tiles_n programs. Inside a group "
        "walk down a column of GROUP tiles first, then on to the next column.",
        "pid // (GROUP * tiles_n) is the group and pid % (GROUP * tiles_n) the place in it. The "
        "last group may have fewer rows than GROUP: by what must its places be divided?",
    ),
    full=case(M=2048, N=2048, K=2048),
    operations="2 * M * N * K",
    **_PRODUCT,
    cases=(
        case(M=1, N=1, K=1),
        case(M=400, N=150, K=20),
        case(True, M=1024, N=1024, K=128),
    ),
    shares="min(16, M * N / 64**2)",
    budget=Budget(
        _TILES_OF_64,
        why=(
            "The order changes nothing here: what programs ask for depends on the tile alone. From "
            "DRAM a wave of 16 needs 8 panels of 64 * K, if its tiles form a square: 16 * 64 * K "
            "bytes for every 16 * 64 * 64 elements of C, with 1.4 for other fair shapes."
        ),
    ),
    dram_bytes="1.4 * M * N * K / 64",
)


def _gelu_of(h: np.ndarray, times: float) -> np.ndarray:
    """gelu with a bracket that is so many times as large as it should be."""
    return 0.5 * h * (1 + np.vectorize(math.erf, otypes=[float])(times * h / math.sqrt(2)))


def _gelu(h: np.ndarray) -> np.ndarray:
    return _gelu_of(h, 1.0)


def _gelu_by_tanh(h: np.ndarray) -> np.ndarray:
    return 0.5 * h * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))


def _sigmoid(h: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-h))


def _size_of_linear(x: np.ndarray, w: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return np.abs(x) @ np.abs(w) + np.abs(bias)


def _of_rows(of_columns: np.ndarray, rows: int) -> np.ndarray:
    """What belongs to columns, looked up by row: 0 past its end."""
    padded = np.pad(of_columns, (0, max(0, rows - len(of_columns))))
    return padded[:rows, None]


def _biased_in_each(
    step: int, x: np.ndarray, w: np.ndarray, bias: np.ndarray
) -> dict[str, np.ndarray]:
    return {"out": _gelu(x @ w + bias * -(-x.shape[1] // step))}


def _bent_in_each(
    step: int, x: np.ndarray, w: np.ndarray, bias: np.ndarray
) -> dict[str, np.ndarray]:
    return {"out": _in_steps(x, w, step, lambda total, product: total + _gelu(product)) + bias}


matmul_epilogue = KernelExercise(
    name="matmul_epilogue",
    title="Before the store",
    task=(
        "out = gelu(x @ w + bias) in one kernel, any sizes: x is M x K, w is K x N, bias has N "
        "elements, all float16; sums and out are float32. gelu(h) = h / 2 * (1 + erf(h / "
        "sqrt(2))) is given. Write kernel and launcher."
    ),
    points=8,
    minutes=40,
    difficulty=3,
    hints=(
        "Start from your triton_matmul (here all matrices are stored by rows). What comes new "
        "stands between the loop over K and the store.",
        "The bias belongs to columns: load BN of its elements, masked by the columns, and add "
        "them as one row to the tile: bias_tile[None, :].",
        "float16 + float32 is float32 in Triton, so add to `total` before anything is made "
        "small. Which of gelu and bias comes first, and how often does each happen?",
    ),
    full=case(M=2048, N=2048, K=2048),
    operations="2 * M * N * K",
    parameters=(
        Array("x", "M, K", dtype="float16"),
        Array("w", "K, N", dtype="float16", draw=_WEIGHTS),
        Array("bias", "N", dtype="float16"),
        Array("out", "M, N", Role.OUT),
    ),
    reference=lambda x, w, bias: {"out": _gelu(x @ w + bias)},
    magnitude=lambda x, w, bias: {"out": _size_of_linear(x, w, bias)},
    slips={
        "the bias added after the activation": lambda x, w, bias: {"out": _gelu(x @ w) + bias},
        "gelu by its approximation with tanh": lambda x, w, bias: {
            "out": _gelu_by_tanh(x @ w + bias)
        },
        "no activation": lambda x, w, bias: {"out": x @ w + bias},
        "the bias looked up by row, where it is the column's": lambda x, w, bias: {
            "out": _gelu(x @ w + _of_rows(bias, len(x)))
        },
        **_after_steps(_biased_in_each, "the bias added once a step along K"),
        **_after_steps(_bent_in_each, "the activation of each step's product, and then their sum"),
        "erf of h, not of h / sqrt(2)": lambda x, w, bias: {
            "out": _gelu_of(x @ w + bias, math.sqrt(2))
        },
        "gelu by its approximation with h * sigmoid(1.702 * h)": lambda x, w, bias: {
            "out": (x @ w + bias) * _sigmoid(1.702 * (x @ w + bias))
        },
        "relu in the place of gelu": lambda x, w, bias: {"out": np.maximum(x @ w + bias, 0.0)},
    },
    **_LAYER,
    budget=Budget(
        {
            "load x": f"cdiv(N, 64) * tiles({_TALL}, K, 64, 16)",
            "load w": _STRIPS,
            "load bias": "cdiv(M, 64) * sectors(N)",
            "store out": "tiles(M, N, 64, 64)",
        },
        why="The product's loads, the bias once for each row of tiles, and one store.",
    ),
)


def _size_of_gated(
    x: np.ndarray, w1: np.ndarray, w2: np.ndarray, b1: np.ndarray, b2: np.ndarray
) -> dict[str, np.ndarray]:
    """The slope of a sigmoid is at most a quarter."""
    value = np.abs(x @ w2 + b2)
    return {"out": _size_of_linear(x, w1, b1) * value / 4 + _size_of_linear(x, w2, b2)}


gated_linear = KernelExercise(
    name="gated_linear",
    title="Two products, one store",
    task=(
        "out = sigmoid(x @ w1 + b1) * (x @ w2 + b2) in one kernel, any sizes: x is M x K, w1 and "
        "w2 are K x N, b1 and b2 have N elements, all float16; sums and out are float32. Write "
        "kernel and launcher; tiles of out are at least 64 x 64."
    ),
    points=10,
    minutes=60,
    difficulty=4,
    core=True,
    hints=(
        "Two accumulators of the same shape, one loop over K. In each step: one tile of x, one of "
        "w1, one of w2, two tl.dot.",
        "w1 and w2 have one shape: the same block of offsets and the same mask serve both.",
        "After the loop: each bias to its own accumulator, then tl.sigmoid(gate) * value. Which "
        "of all this may stand inside the loop?",
    ),
    full=case(M=16_384, N=512, K=512),
    operations="4 * M * N * K",
    parameters=(
        Array("x", "M, K", dtype="float16"),
        Array("w1", "K, N", dtype="float16", draw=_WEIGHTS),
        Array("w2", "K, N", dtype="float16", draw=_WEIGHTS),
        Array("b1", "N", dtype="float16"),
        Array("b2", "N", dtype="float16"),
        Array("out", "M, N", Role.OUT),
    ),
    reference=lambda x, w1, w2, b1, b2: {"out": (x @ w2 + b2) / (1 + np.exp(-(x @ w1 + b1)))},
    magnitude=_size_of_gated,
    slips={
        "the sigmoid on the value and not on the gate": lambda x, w1, w2, b1, b2: {
            "out": (x @ w1 + b1) * _sigmoid(x @ w2 + b2)
        },
        "the gate's bias forgotten inside of the sigmoid": lambda x, w1, w2, b1, b2: {
            "out": (x @ w2 + b2) * (_sigmoid(x @ w1) + b1)
        },
        "silu in the place of the sigmoid": lambda x, w1, w2, b1, b2: {
            "out": (x @ w2 + b2) * (x @ w1 + b1) * _sigmoid(x @ w1 + b1)
        },
        "tanh in the place of the sigmoid": lambda x, w1, w2, b1, b2: {
            "out": (x @ w2 + b2) * np.tanh(x @ w1 + b1)
        },
        "no sigmoid": lambda x, w1, w2, b1, b2: {"out": (x @ w2 + b2) * (x @ w1 + b1)},
    },
    **_LAYER,
    budget=Budget(
        {
            "load x": f"cdiv(N, 64) * tiles({_TALL}, K, 64, 16)",
            "load w1": f"cdiv(M, 64) * tiles(K, {_WIDE}, 16, 64)",
            "load w2": f"cdiv(M, 64) * tiles(K, {_WIDE}, 16, 64)",
            "load b1": "cdiv(M, 64) * sectors(N)",
            "load b2": "cdiv(M, 64) * sectors(N)",
            "store out": "tiles(M, N, 64, 64)",
        },
        why=(
            "x once for each column of tiles although two products need it, each weight once for "
            "each row of tiles, and one store."
        ),
    ),
)


def _scaled_in_each(
    step: int, x: np.ndarray, w: np.ndarray, scale: np.ndarray
) -> dict[str, np.ndarray]:
    return {"out": _in_steps(x, w, step, lambda total, product: (total + product) * scale)}


def _whole_parts(
    part: int, x: np.ndarray, w: np.ndarray, scale: np.ndarray
) -> dict[str, np.ndarray]:
    """The first part is there, however short it is."""
    length = x.shape[1]
    kept = max(length // part * part, min(length, part))
    return {
        "out": x[:, :kept] @ w[:kept] * scale,
        "size of out": np.abs(x[:, :kept]) @ np.abs(w[:kept]) * scale,
    }


quantised_matmul = KernelExercise(
    name="quantised_matmul",
    title="Weights of one byte",
    task=(
        "out = x @ (w * scale): x is M x K in float16 with at most 64 rows, w is K x N in int8, "
        "from -127 to 127, and column n of it is to be multiplied by scale[n] in float32; sums "
        "and out are float32. K is long: cut it into parts. A program computes all rows of a "
        "strip of at least 64 columns for one part of 256 steps or more, so that each weight is "
        "read once and there are programs for the whole GPU; how many bytes one program loads is "
        "graded. Write kernel and launcher."
    ),
    points=4,
    minutes=45,
    difficulty=3,
    bonus=True,
    hints=(
        "tl.dot wants one type on both sides. Every whole number up to 2048 is exact in float16: "
        "turn the tile of weights into float16 after the load.",
        "A column's scale is the same for every step along K, so it can wait until the part's sum "
        "is complete, in float32. Then the parts are added: tl.atomic_add on torch.zeros.",
        "A block has a power of two of rows: triton.next_power_of_2(M) in the launcher, and masks. "
        "A second axis of the grid counts parts. Where does the loop of part p begin and end, and "
        "what does the last argument of tl.load have to be for int8?",
    ),
    small=case(M=5, N=7, K=6),
    full=case(M=2048, N=2048, K=2048),
    operations="2 * M * N * K",
    parameters=(
        Array("x", "M, K", dtype="float16"),
        Array("w", "K, N", dtype="int8", draw=integers(-127, 128)),
        Array("scale", "N", draw=uniform(0.001, 0.002)),
        Array("out", "M, N", Role.OUT),
    ),
    reference=lambda x, w, scale: {"out": x @ w * scale},
    magnitude=lambda x, w, scale: {"out": np.abs(x) @ np.abs(w) * np.abs(scale)},
    tolerance=TOLERANCE,
    slips={
        "the scale looked up by row, where it is the column's": lambda x, w, scale: {
            "out": x @ w * _of_rows(scale, len(x))
        },
        "the scale rounded to float16": lambda x, w, scale: {
            "out": x @ w * scale.astype(np.float16)
        },
        "w times the scale rounded to float16 before the product": lambda x, w, scale: {
            "out": x @ (w * scale).astype(np.float32).astype(np.float16).astype(np.float64)
        },
        "w taken for numbers from 0 to 255": lambda x, w, scale: {
            "out": x @ (w % 256) * scale,
            "size of out": np.abs(x) @ (w % 256) * scale,
        },
        **_after_steps(_scaled_in_each, "the running sum scaled in every step along K"),
        **{
            f"the rest of K behind whole parts of {part} left out": partial(_whole_parts, part)
            for part in (128, 256, 512, 1024)
        },
    },
    cases=(
        case(M=1, N=1, K=1),
        case(M=5, N=150, K=700),
        case(M=64, N=64, K=300),
        case(True, M=16, N=256, K=4096),
        case(True, M=64, N=128, K=2048),
    ),
    launch=Launcher(),
    # a strip of 64 columns and 512 steps of K each
    shares="N / 64 * K / 512",
    budget=Budget(
        {
            "load x": "cdiv(N, 64) * tiles(M, K, 64, 32)",
            "load w": "cdiv(M, 64) * tiles(K, N, 32, 64)",
            "load scale": "max(M, cdiv(K, 256)) * sectors(N)",
            "atomic out": "max(3, cdiv(K, 256) + 1) * tiles(M, N, 64, 64)",
        },
        least={"atomic out": "rows(M, N)"},
        why=(
            "Each weight once, one byte; x, which is small, for each strip of 64 columns; scale "
            "for each row of out, or for each part of 256 steps; all of out for each of these, or "
            "written and read for each of 512 and stored once."
        ),
    ),
)

split_k = KernelExercise(
    name="split_k",
    title="Share the long axis",
    task=(
        "C = A @ B as in triton_matmul (stored by rows), for a long K and a small C: cut K into "
        "parts, with a program for each tile and each part (in steps of 32 or more), and add the "
        "parts up: by atomics, or through memory with a second kernel. A GPU has a hundred "
        "SMs and more: 64 to 256 programs share the work, and no program may load more "
        "than its share of that. Write kernels and launcher."
    ),
    points=4,
    minutes=50,
    difficulty=4,
    bonus=True,
    hints=(
        "A third axis of the grid counts parts. A part has `length` steps of K, a multiple of BK: "
        "the loop runs from program_id(2) * length to the end of the part, or of K.",
        "torch.zeros, since tl.atomic_add(pointers, values, mask) adds to what is there.",
        "How long is a part if K is cut into 128 and rounded up to whole steps, and how many parts "
        "are there then? Neither may be forgotten where K is small.",
    ),
    full=case(M=64, N=64, K=65_536),
    **_PRODUCT,
    cases=(
        case(M=1, N=1, K=1),
        case(M=20, N=70, K=300),
        case(True, M=64, N=64, K=32_768),
    ),
    # three times such a share is allowed: 64 programs at least, where K has so many steps of 32
    shares="min(192, cdiv(M, 64) * cdiv(N, 64) * cdiv(K, 32))",
    budget=Budget(
        {
            "load A": "cdiv(N, 64) * tiles(M, K, 64, 32)",
            "load B": "cdiv(M, 64) * tiles(K, N, 32, 64)",
            "atomic C": "257 * tiles(M, N, 64, 64)",
        },
        least={"atomic C": "rows(M, N)"},
        why=(
            "The product's loads, and all of C for each of 256 parts, or written and read for each "
            "of 128 and stored once."
        ),
    ),
    shared_bytes="65536",
)
