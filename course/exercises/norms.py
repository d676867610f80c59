"""Lesson 08: reductions along a row: norms, cross entropy, and a backward pass."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from course.spec.draws import Draw, described, integers, spread, uniform
from course.spec.exercise import (
    Array,
    Budget,
    Constant,
    KernelExercise,
    Meta,
    Role,
    Scalar,
    case,
    halves,
)
from course.spec.launching import Programs

EPS = "1e-5"
#: What a kernel of several rows a program gets beside its arrays.
_ROWS_AT_ONCE = (
    Scalar("M", "M"),
    Scalar("D", "D"),
    Scalar("eps", EPS, "float32"),
    Meta("ROWS", "ROWS"),
    Meta("BLOCK", "next_power_of_2(D)"),
)
#: A float16 result is rounded once, by at most 2**-11 = 4.9e-4 of itself; 1e-6 is for the range
#: below 6e-5, where float16 has fewer digits. The float32 sums before it err by less than 1e-6.
#: A row that is rounded before its weights, too, as many models' code has it, errs by up to 9.5e-4
#: of itself, PyTorch's rms_norm by 4.9e-4: both are right.
RTOL_HALF, ATOL_HALF = 2e-3, 1e-6
#: A row whole, or in two halves of its block.
_HALVES = "tiles(M, D, 1, max(1, BLOCK // 2))"


@described("-inf in the first three fifths of each row, and here and there")
def masked_start(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """Normal logits of which the first three fifths of each row, and a few more, are -inf."""
    values = rng.standard_normal(shape)
    values[rng.random(shape) < 0.1] = -np.inf
    values[:, : shape[1] * 3 // 5] = -np.inf
    values[:, -1] = rng.standard_normal(shape[0])
    return values.astype(dtype)


@described("rows that ascend")
def ascending(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Rows that rise from left to right, so that the largest so far is always the last."""
    return np.sort(rng.normal(0, 20, shape)).astype(dtype)


def targets_around(tokens: int) -> Draw:
    """Targets from 0 to `tokens` - 1, four of them at the edges and beyond where there is room."""

    @described(f"among them {tokens}, -1 and -100, which are no tokens")
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        values = rng.integers(0, tokens, shape)
        values[-4:] = rng.permutation([tokens - 1, tokens, -1, -100])[: len(values)]
        return values.astype(dtype)

    return draw


#: Inputs whose squares add up to more than float16 holds, and whose squares alone do.
NEAR_16, NEAR_300 = spread(0.5, 16.0), spread(20.0, 300.0)
TINY = uniform(-4e-3, 4e-3)  # squares near eps
SHIFTED = spread(1.0, 1000.0)
WIDE = spread(30.0)
LARGE_LOGITS = spread(300.0, 1000.0)
#: In float16 the distance of a logit that lies 8 below the greatest is off by up to 0.004.
WIDE_LOGITS = spread(3.0)
#: Added up over four rows or more, these are more than float16 holds.
LARGE_GRADIENTS = uniform(16384.0, 32768.0)


# ---------------------------------------------------------------- rmsnorm


def _row_mean(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = np.mean(x, axis=1, keepdims=True)
    return result


def _mean_square(x: np.ndarray) -> np.ndarray:
    return _row_mean(x * x)


def _centred(x: np.ndarray) -> np.ndarray:
    return x - _row_mean(x)


def _block(length: int) -> int:
    """The power of two that holds a row."""
    return 1 << (int(length) - 1).bit_length()


rmsnorm = KernelExercise(
    name="rmsnorm",
    title="RMSNorm: a row, its mean square, once through memory",
    task=(
        "y[m, d] = x[m, d] / sqrt(mean over d of x[m, d]**2 + eps) * w[d]. A program normalises "
        "one row; BLOCK is the power of two that holds it. x, w and y are float16 or float32: "
        "compute in float32."
    ),
    points=7,
    minutes=35,
    difficulty=2,
    core=True,
    hints=(
        "The whole row fits into one block: load it once, with a mask, and everything that "
        "follows works on registers.",
        "What does the load give for the elements past D? It must add nothing to the sum, and the "
        "mean has D terms, not BLOCK.",
        "x.to(tl.float32) before the square, not after the sum. Then one line for the scale, "
        "tl.rsqrt(... + eps), and one for the store: what stands under the root?",
    ),
    small=case(M=4, D=14),
    full=case(M=4096, D=4096),
    parameters=(
        Array("x", "M, D"),
        Array("w", "D", draw=spread(0.3, 1.0)),
        Array("y", "M, D", Role.OUT),
        Scalar("D", "D"),
        Scalar("eps", EPS, "float32"),
        Meta("BLOCK", "next_power_of_2(D)"),
    ),
    reference=lambda x, w, eps, **_: {
        "y": x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + eps) * w
    },
    tolerance={"float32": (1e-5, 1e-9), "float16": (RTOL_HALF, ATOL_HALF)},
    slips={
        "eps added outside of the root": lambda x, w, eps, **_: {
            "y": x / (np.sqrt(_mean_square(x)) + eps) * w
        },
        "eps added to one over the root, not under it": lambda x, w, eps, **_: {
            "y": x * (1 / np.sqrt(_mean_square(x)) + eps) * w
        },
        "the root left out": lambda x, w, eps, **_: {"y": x / (_mean_square(x) + eps) * w},
        "the square of the mean, not the mean of the squares": lambda x, w, eps, **_: {
            "y": x / np.sqrt(np.mean(x, axis=1, keepdims=True) ** 2 + eps) * w
        },
        "the sum of squares, not their mean": lambda x, w, eps, D, **_: {
            "y": x / np.sqrt(D * _mean_square(x) + eps) * w
        },
        "a mean square divided by D - 1": lambda x, w, eps, D, **_: {
            "y": x / np.sqrt(_mean_square(x) * np.divide(D, D - 1) + eps) * w
        },
        "the mean over the block, not over the row": lambda x, w, eps, D, **_: {
            "y": x / np.sqrt(_mean_square(x) * D / _block(D) + eps) * w
        },
        "eps left out": lambda x, w, eps, **_: {"y": x / np.sqrt(_mean_square(x)) * w},
        "a product with the root, not a division": lambda x, w, eps, **_: {
            "y": x * np.sqrt(_mean_square(x) + eps) * w
        },
    },
    cases=(
        case(M=1, D=1),
        case(M=3, D=70),
        case(draws={"x": TINY}, scalars={"eps": 1e-4}, M=2, D=300),
        case(dtypes=halves("x", "w", "y"), draws={"x": NEAR_16}, M=2, D=1024),
        case(dtypes=halves("x", "w", "y"), draws={"x": NEAR_300}, M=2, D=500),
        case(True, M=32, D=1024),
        case(True, dtypes=halves("x", "w", "y"), M=32, D=2048),
    ),
    launch=Programs("M"),
    budget=Budget(
        {"load x": _HALVES, "load w": "M * sectors(D)", "store y": _HALVES},
        why="x once in, y once out, and each of the M programs loads the D weights.",
    ),
)


# ---------------------------------------------------------------- layernorm


def _layernorm(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, eps: float, **_: Any
) -> dict[str, np.ndarray]:
    centred = x - x.mean(axis=1, keepdims=True)
    return {"y": centred / np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + eps) * w + b}


def _together(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, eps: float, rows: int, **_: Any
) -> dict[str, np.ndarray]:
    """One mean and one variance for so many rows, of which the last may not exist."""
    tiles = np.pad(x, ((0, -len(x) % rows), (0, 0))).reshape(-1, rows, x.shape[1])
    exists = (np.arange(tiles.shape[0] * rows) < len(x)).reshape(-1, rows, 1)
    centred = np.where(exists, tiles - tiles.mean(axis=(1, 2), keepdims=True), 0.0)
    scale = np.sqrt(np.mean(centred * centred, axis=(1, 2), keepdims=True) + eps)
    return {"y": (centred / scale).reshape(-1, x.shape[1])[: len(x)] * w + b}


def _size_of_layernorm(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, eps: float, **_: Any
) -> dict[str, np.ndarray]:
    mean = x.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.mean((x - mean) ** 2, axis=1, keepdims=True) + eps)
    added = np.abs(x).mean(axis=1, keepdims=True)  # the mean errs by the size of what it adds up
    return {"y": (np.abs(x) + added) / deviation * np.abs(w) + np.abs(b)}


layernorm = KernelExercise(
    name="layernorm",
    title="LayerNorm: two statistics of a row, from one read of it",
    task=(
        "y[m, d] = (x[m, d] - mean) / sqrt(variance + eps) * w[d] + b[d], with the mean and the "
        "variance (the mean of the squared distances from the mean) of row m. A program "
        "normalises ROWS rows, side by side or one after the other; with ROWS = 1 it is one row, "
        "as in rmsnorm. ROWS may be 1, 2, 4 or 8. BLOCK is the power of two that holds a row. x, "
        "w, b and y are float16 or float32: compute in float32. In rows of 8,192 float16 numbers "
        "nothing may be spilled."
    ),
    points=9,
    minutes=50,
    difficulty=3,
    hints=(
        "Begin with your rmsnorm and ROWS = 1: row = tl.program_id(0), one load of the row, one of "
        "w, one of b. For more rows at once the tile is ROWS x BLOCK: rows[:, None] * D + "
        "columns[None, :], a mask for both axes, sums along axis 1.",
        "The variance is the mean of (x - mean)**2, from the same registers: subtract first. Where "
        "the row has no element, x - mean is -mean, not 0.",
        "tl.where(columns < D, x - mean, 0.0) is the centred row. Its squares are added up, and "
        "the sum divided by the number of elements: which number is that?",
    ),
    small=case(M=4, D=14),
    full=case(M=4096, D=4096),
    parameters=(
        Array("x", "M, D"),
        Array("w", "D", draw=spread(0.3, 1.0)),
        Array("b", "D"),
        Array("y", "M, D", Role.OUT),
        *_ROWS_AT_ONCE,
    ),
    reference=_layernorm,
    magnitude=_size_of_layernorm,
    tolerance={"float32": (3e-6, 1e-9), "float16": (RTOL_HALF, ATOL_HALF)},
    slips={
        "eps added outside of the root": lambda x, w, b, eps, **_: {
            "y": _centred(x) / (np.sqrt(_mean_square(_centred(x))) + eps) * w + b
        },
        "eps added to one over the root, not under it": lambda x, w, b, eps, **_: {
            "y": _centred(x) * (1 / np.sqrt(_mean_square(_centred(x))) + eps) * w + b
        },
        "the root left out": lambda x, w, b, eps, **_: {
            "y": _centred(x) / (_mean_square(_centred(x)) + eps) * w + b
        },
        "a variance divided by D - 1": lambda x, w, b, eps, D, **_: {
            "y": _centred(x) / np.sqrt(_mean_square(_centred(x)) * D / (D - 1) + eps) * w + b
        },
        "the mean never subtracted": lambda x, w, b, eps, **_: {
            "y": x / np.sqrt(_mean_square(_centred(x)) + eps) * w + b
        },
        "the mean square, not the variance": lambda x, w, b, eps, **_: {
            "y": _centred(x) / np.sqrt(_mean_square(x) + eps) * w + b
        },
        **{
            f"one mean and one variance for {rows} rows together": partial(_together, rows=rows)
            for rows in (2, 4, 8)
        },
        "(x + b) * w, the sum before the product": lambda x, w, b, eps, **_: {
            "y": (_centred(x) / np.sqrt(_mean_square(_centred(x)) + eps) + b) * w
        },
    },
    cases=(
        case(M=1, D=1),
        case(M=5, D=70),
        case(draws={"x": TINY}, scalars={"eps": 1e-4}, M=3, D=300),
        case(draws={"x": SHIFTED}, M=9, D=500),
        case(dtypes=halves("x", "w", "b", "y"), draws={"x": WIDE}, M=2, D=1024),
        case(True, M=32, D=1024),
        case(True, dtypes=halves("x", "w", "b", "y"), M=16, D=8192),
    ),
    launch=Programs("cdiv(M, ROWS)"),
    budget=Budget(
        {
            "load x": _HALVES,
            "load w": "M * sectors(D)",
            "load b": "M * sectors(D)",
            "store y": _HALVES,
        },
        why=(
            "x once in, y once out, w and b once for each row: a row a program. They are the same "
            "for all programs, so that caches have them."
        ),
    ),
    constants={"ROWS": Constant(1, (1, 2, 4, 8))},
    spill_bytes="0",
)


# ---------------------------------------------------------------- cross_entropy


def log_sum_exp(logits: np.ndarray) -> np.ndarray:
    """Of each row of logits (M, V): the logarithm of the sum of their exponentials."""
    top = logits.max(axis=1)
    result: np.ndarray = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
    return result


def _log_2_sum(logits: np.ndarray) -> np.ndarray:
    """The logarithm of the sum to the base 2, the maximum as it is."""
    top = logits.max(axis=1)
    return top + (log_sum_exp(logits) - top) / np.log(2)


def _cross_entropy_of(lse: np.ndarray, logits: np.ndarray, targets: np.ndarray) -> dict[str, Any]:
    return {"loss": lse - _own_logits(logits, targets), "lse": lse}


def _not_rescaled(logits: np.ndarray, targets: np.ndarray, tile: int, **_: Any) -> dict[str, Any]:
    """What comes of a sum that keeps its scale when a tile brings a larger maximum."""
    total = np.zeros(len(logits))
    for start in range(0, logits.shape[1], tile):
        top = logits[:, : start + tile].max(axis=1)
        part = logits[:, start : start + tile]
        total += np.exp(part - np.where(np.isneginf(top), 0.0, top)[:, None]).sum(axis=1)
    return _cross_entropy_of(logits.max(axis=1) + np.log(total), logits, targets)


def _with_zeros(logits: np.ndarray, targets: np.ndarray, tile: int, **_: Any) -> dict[str, Any]:
    """What comes of logits of 0 past the end, as far as the last tile reaches."""
    padded = np.pad(logits, ((0, 0), (0, -logits.shape[1] % tile)))
    return _cross_entropy_of(log_sum_exp(padded), logits, targets)


def _own_logits(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The logit of each row's target, -inf where the target is no token."""
    known = (targets >= 0) & (targets < logits.shape[1])
    own = logits[np.arange(len(targets)), np.where(known, targets, 0)]
    return np.where(known, own, -np.inf)


def _cross_entropy(logits: np.ndarray, targets: np.ndarray, **_: Any) -> dict[str, np.ndarray]:
    return _cross_entropy_of(log_sum_exp(logits), logits, targets)


def _size_of_cross_entropy(
    logits: np.ndarray, targets: np.ndarray, **_: Any
) -> dict[str, np.ndarray]:
    lse = 1 + np.abs(log_sum_exp(logits))
    own = _own_logits(logits, targets)
    return {"loss": lse + np.where(np.isfinite(own), np.abs(own), 0), "lse": lse}


_BLOCKS = (256, 512, 1024, 2048)

cross_entropy = KernelExercise(
    name="cross_entropy",
    title="Cross entropy in one pass over the vocabulary",
    task=(
        "For each row m of logits (M x V): lse[m] = log of the sum over v of exp(logits[m, v]), "
        "and loss[m] = lse[m] - logits[m, targets[m]]. Rows begin `stride` elements apart. A "
        "program takes one row and reads its logits once, BLOCK at a time. A logit may be -inf, "
        "never a whole row of them. A target below 0 or from V on is an error in the data: its "
        "loss is inf (the probability of a token that does not exist is 0), its lse is as "
        "usual, and nothing outside the row may be read. Logits are float16 or float32; loss and "
        "lse are float32: compute in float32. BLOCK may be 256, 512, 1024 or 2048."
    ),
    points=12,
    minutes=65,
    difficulty=4,
    hints=(
        "The first loop of softmax_online is all you need: a running maximum and a running sum "
        "that is rescaled whenever the maximum grows. There is no second loop.",
        "While all logits so far are -inf, the maximum is -inf too, and -inf - (-inf) is NaN: "
        "subtract something finite as long as that is so.",
        "The target's logit is one masked load. With mask=(target >= 0) & (target < V) and "
        "other=-float('inf'), what does lse minus it give for a target that does not exist?",
    ),
    small=case(M=4, V=14, PAD=0, BLOCK=4),
    full=case(M=2048, V=8192, PAD=0),
    parameters=(
        Array("logits", "M, V", within="M, V + PAD"),
        Array("targets", "M", dtype="int64", draw=integers(0, 2)),
        Array("loss", "M", Role.OUT),
        Array("lse", "M", Role.OUT),
        Scalar("V", "V"),
        Scalar("stride", "V + PAD"),
        Meta("BLOCK", "BLOCK"),
    ),
    reference=_cross_entropy,
    magnitude=_size_of_cross_entropy,
    tolerance={"float32": (2e-6, 0.0)},
    slips={
        "the loss with the other sign": lambda logits, targets, **_: {
            "loss": _own_logits(logits, targets) - log_sum_exp(logits),
            "lse": log_sum_exp(logits),
        },
        "the log of the sum without the maximum": lambda logits, targets, **_: {
            "loss": log_sum_exp(logits) - logits.max(axis=1) - _own_logits(logits, targets),
            "lse": log_sum_exp(logits) - logits.max(axis=1),
        },
        "a logarithm to the base 2": lambda logits, targets, **_: {
            "loss": _log_2_sum(logits) - _own_logits(logits, targets),
            "lse": _log_2_sum(logits),
        },
        "a target that is no token taken for one whose logit is 0": lambda logits, targets, **_: {
            "loss": log_sum_exp(logits)
            - np.where(
                (targets < 0) | (targets >= logits.shape[1]), 0.0, _own_logits(logits, targets)
            ),
            "lse": log_sum_exp(logits),
        },
        "a loss of 0 where the target is no token": lambda logits, targets, **_: {
            "loss": np.where(
                (targets < 0) | (targets >= logits.shape[1]),
                0.0,
                _cross_entropy(logits, targets)["loss"],
            ),
            "lse": log_sum_exp(logits),
        },
        "the nearest token for a target that is none": lambda logits, targets, **_: _cross_entropy(
            logits, np.clip(targets, 0, logits.shape[1] - 1)
        ),
        "the sum itself in the place of its logarithm": lambda logits, targets, **_: (
            _cross_entropy_of(
                logits.max(axis=1) + np.exp(log_sum_exp(logits) - logits.max(axis=1)),
                logits,
                targets,
            )
        ),
        **{
            f"a sum that is not rescaled when a tile of {tile} brings a larger maximum": partial(
                _not_rescaled, tile=tile
            )
            for tile in _BLOCKS
        },
        **{
            f"a logit of 0 for tokens past the end, in tiles of {tile}": partial(
                _with_zeros, tile=tile
            )
            for tile in _BLOCKS
        },
    },
    cases=(
        case(draws={"targets": integers(0, 1)}, M=1, V=1, PAD=0),
        case(draws={"targets": targets_around(10)}, M=8, V=10, PAD=6),
        case(draws={"logits": LARGE_LOGITS, "targets": integers(0, 1500)}, M=3, V=1500, PAD=4),
        case(draws={"logits": masked_start, "targets": integers(0, 5003)}, M=4, V=5003, PAD=5),
        case(True, draws={"targets": integers(0, 4096)}, M=16, V=4096, PAD=64),
        case(
            True,
            dtypes={"logits": "float16"},
            draws={"targets": integers(0, 8192)},
            M=16,
            V=8192,
            PAD=0,
        ),
    ),
    launch=Programs("M"),
    budget=Budget(
        {
            "load logits": "rows(M, V, V + PAD) + 2 * M",
            "load targets": "M",
            "store loss": "M",
            "store lse": "M",
        },
        why=(
            "Every logit once, one sector more for the target's, and one for a maximum that starts "
            "as the row's first. A program's lone numbers (its target, its loss, its lse) cost a "
            "sector each."
        ),
    ),
    constants={"BLOCK": Constant(1024, _BLOCKS)},
)


# ---------------------------------------------------------------- rmsnorm_backward


def _parts(
    x: np.ndarray, w: np.ndarray, dy: np.ndarray, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(1 / rms, the normalised rows, the gradient of them)."""
    scale = 1 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + eps)
    return scale, x * scale, dy * w


def _rmsnorm_backward(
    x: np.ndarray, w: np.ndarray, dy: np.ndarray, eps: float, **_: Any
) -> dict[str, np.ndarray]:
    scale, n, dn = _parts(x, w, dy, eps)
    dx = scale * (dn - n * np.mean(dn * n, axis=1, keepdims=True))
    return {"dx": dx, "dw": (dy * n).sum(axis=0)}


def _size_of_backward(
    x: np.ndarray, w: np.ndarray, dy: np.ndarray, eps: float, **_: Any
) -> dict[str, np.ndarray]:
    scale, n, dn = (np.abs(part) for part in _parts(x, w, dy, eps))
    dx = scale * (dn + n * np.mean(dn * n, axis=1, keepdims=True))
    return {"dx": dx, "dw": (np.abs(dy) * n).sum(axis=0)}


def _of_last_rows(
    x: np.ndarray, w: np.ndarray, dy: np.ndarray, eps: float, rows: int, **_: Any
) -> dict[str, np.ndarray]:
    """What comes of a part of dw that each row replaces."""
    kept = np.arange(len(x)) % rows == rows - 1
    kept[-1] = True
    return {
        "dx": _rmsnorm_backward(x, w, dy, eps)["dx"],
        "dw": (dy * _parts(x, w, dy, eps)[1])[kept].sum(axis=0),
    }


rmsnorm_backward = KernelExercise(
    name="rmsnorm_backward",
    title="RMSNorm, backward",
    task=(
        "Given x, w and dy, the gradient of a loss by rmsnorm's y, compute with "
        "s = 1 / sqrt(mean(x**2) + eps) and n = x * s of each row: "
        "dx = s * (dy * w - n * mean(dy * w * n)), the mean along the row, and dw[d] = the sum of "
        "dy[m, d] * n[m, d] over the rows m. A program takes ROWS rows (8 or 16), one after the "
        "other, and stores its part of dw as row `program` of parts, float32; the host adds the "
        "parts. BLOCK is the power of two that holds a row. The other arrays are float16 or "
        "float32: compute in float32."
    ),
    points=5,
    minutes=70,
    difficulty=4,
    bonus=True,
    hints=(
        "A loop over rows, from program * ROWS to min(program * ROWS + ROWS, M). Load w once, "
        "before it. What else stays in registers from row to row?",
        "dw runs across rows, so it needs no reduction inside the program: a block of BLOCK sums "
        "that starts at tl.zeros((BLOCK,), tl.float32) and grows by dy * n in each step.",
        "Two reductions a row, tl.sum(x * x) and tl.sum(dy * w * n), both over D elements. Then "
        "dx, and after the loop one store of the sums: at which address does this program's row "
        "of parts begin?",
    ),
    small=case(M=4, D=14),
    full=case(M=4096, D=4096),
    parameters=(
        Array("x", "M, D"),
        Array("w", "D", draw=spread(0.3, 1.0)),
        Array("dy", "M, D"),
        Array("dx", "M, D", Role.OUT),
        Array("parts", "cdiv(M, ROWS), D", Role.OUT),
        *_ROWS_AT_ONCE,
    ),
    reference=_rmsnorm_backward,
    magnitude=_size_of_backward,
    finish=lambda left: {
        "dx": left["dx"],
        "dw": left["parts"].sum(axis=0, dtype=np.float64).astype(np.float32),
    },
    finish_words="dx, and dw as the sum of the rows of parts, taken on the host",
    tolerance={
        "float32": (1e-5, 1e-9),
        "float16": (RTOL_HALF, ATOL_HALF),
    },
    slips={
        "the scale taken as a constant, without the second term": lambda x, w, dy, eps, **_: {
            "dx": _parts(x, w, dy, eps)[0] * dy * w,
            "dw": (dy * _parts(x, w, dy, eps)[1]).sum(axis=0),
        },
        "dw of x itself, not of the normalised row": lambda x, w, dy, eps, **_: {
            "dx": _rmsnorm_backward(x, w, dy, eps)["dx"],
            "dw": (dy * x).sum(axis=0),
        },
        **{
            f"dw of the last of each {rows} rows alone": partial(_of_last_rows, rows=rows)
            for rows in (8, 16)
        },
        "dw with the weights in it": lambda x, w, dy, eps, **_: {
            "dx": _rmsnorm_backward(x, w, dy, eps)["dx"],
            "dw": (dy * w * _parts(x, w, dy, eps)[1]).sum(axis=0),
        },
        "the sum of dy * w * n, not its mean": lambda x, w, dy, eps, **_: {
            "dx": _parts(x, w, dy, eps)[0]
            * (
                dy * w
                - _parts(x, w, dy, eps)[1] * (dy * w * _parts(x, w, dy, eps)[1]).sum(1)[:, None]
            ),
            "dw": (dy * _parts(x, w, dy, eps)[1]).sum(axis=0),
        },
        "a mean of dy * n, without the weights": lambda x, w, dy, eps, **_: {
            "dx": _parts(x, w, dy, eps)[0]
            * (dy * w - _parts(x, w, dy, eps)[1] * _row_mean(dy * _parts(x, w, dy, eps)[1])),
            "dw": (dy * _parts(x, w, dy, eps)[1]).sum(axis=0),
        },
    },
    cases=(
        case(M=1, D=1),
        case(M=19, D=70),
        case(draws={"x": TINY}, scalars={"eps": 1e-4}, M=9, D=300),
        case(dtypes=halves("x", "w", "dy", "dx"), draws={"x": NEAR_16}, M=11, D=1024),
        case(
            dtypes=halves("x", "w", "dy", "dx"),
            draws={"x": NEAR_300, "dy": LARGE_GRADIENTS},
            M=9,
            D=500,
        ),
        case(True, M=64, D=512),
        case(True, dtypes=halves("x", "w", "dy", "dx"), M=64, D=1024),
    ),
    launch=Programs("cdiv(M, ROWS)"),
    budget=Budget(
        {
            "load x": "rows(M, D)",
            "load dy": "rows(M, D)",
            "load w": "cdiv(M, 8) * sectors(D)",
            "store dx": "rows(M, D)",
            "store parts": "cdiv(M, 8) * sectors(D)",
        },
        why="x and dy once in, dx once out; w and a part of dw once for every 8 rows.",
    ),
    constants={"ROWS": Constant(8, (8, 16))},
    # a tile of 8 rows spills nothing, one of 16 spills 984 bytes
    spill_bytes="512",
)
