"""Lesson 07: softmax in three passes over memory, in two, and in one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course.spec.draws import described, uniform
from course.spec.exercise import (
    Array,
    Budget,
    Constant,
    KernelExercise,
    Meta,
    NumberExercise,
    Question,
    Role,
    Scalar,
    case,
)
from course.spec.findings import KINDS, kind_question, kinds_in_words, line_question
from course.spec.launching import Programs

#: float32: eight times what exp and a sum of thousands of terms err by; weights in float16 miss
#: it by far. float16: four roundings of the result; below 6e-5 its steps are 6e-8.
TOLERANCE = {"float32": (1e-5, 1e-9), "float16": (2e-3, 1e-7)}
HALF = {"x": "float16", "out": "float16"}
#: float16 cannot hold the sum of more than 65,504 weights near 1.
NEARLY_LEVEL = uniform(-0.01, 0.01)


@described("near 1000 in even rows, near -1000 in odd ones")
def near_1000(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Logits around 1000 in the even rows and around -1000 in the odd ones."""
    centres = np.where(np.arange(shape[0]) % 2 == 0, 1000.0, -1000.0)
    return (centres[:, None] + 4 * rng.standard_normal(shape)).astype(dtype)


@described("rows that ascend and rows that descend")
def in_order(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """From below -100 to above 100, in odd rows back: each tile has a new maximum, or none has."""
    x = np.sort(40 * rng.standard_normal(shape), axis=1)
    x[1::2] = x[1::2, ::-1]
    return x.astype(dtype)


@described("-inf in more than half of each row, at its start or at its end")
def masked_runs(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """Rows of which at least 5/8 are -inf: the first elements, or in odd rows the last."""
    x = rng.standard_normal(shape)
    columns = shape[1]
    for row in x:
        row[: rng.integers(5 * columns // 8, columns)] = -np.inf
    x[1::2] = x[1::2, ::-1]
    return x.astype(dtype)


@described("-inf alone in every second row")
def empty_rows(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """Every second row, the first among them, is -inf alone."""
    x = rng.standard_normal(shape)
    x[::2] = -np.inf
    return x.astype(dtype)


def _softmax(x: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    top = x.max(axis=1, keepdims=True)
    weights = np.exp(x - np.where(np.isneginf(top), 0.0, top))
    return {"out": weights / np.maximum(weights.sum(axis=1, keepdims=True), 1.0)}


def _weights(x: np.ndarray, base: float = np.e) -> np.ndarray:
    """base ** (x - largest of the row); 0 in a row of -inf alone."""
    top = x.max(axis=1, keepdims=True)
    result: np.ndarray = base ** (x - np.where(np.isneginf(top), 0.0, top))
    return result


def _normal(weights: np.ndarray) -> dict[str, np.ndarray]:
    return {"out": weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)}


def _of_columns(x: np.ndarray, rows: int, **_: Any) -> dict[str, np.ndarray]:
    """A softmax of each column, of so many rows at a time."""
    parts = [x[start : start + rows].T for start in range(0, len(x), rows)]
    return {"out": np.concatenate([_softmax(part)["out"].T for part in parts])}


def _sum_as_loaded(x: np.ndarray) -> np.ndarray:
    """Of each row's elements, and of -inf past its end, as far as a power of two reaches."""
    filled = x.shape[1] & (x.shape[1] - 1)
    return np.full((len(x), 1), -np.inf) if filled else x.sum(axis=1, keepdims=True)


_Slip = Callable[..., dict[str, Any]]
#: What is subtracted from a row's elements before their exponentials.
_Shift = Callable[[np.ndarray], np.ndarray | float]

_SLIPS: dict[str, _Slip] = {
    "weights not divided by their sum, or by one that is NaN, which a maximum makes 1": (
        lambda x, **_: {"out": _weights(x)}
    ),
    "weights divided by the sum of the elements, not of the weights": lambda x, **_: {
        "out": _weights(x) / np.maximum(_sum_as_loaded(x), 1.0)
    },
    **{
        f"a softmax along axis 0, not 1, of tiles of ROWS = {rows}": partial(_of_columns, rows=rows)
        for rows in (1, 2, 4, 8)
    },
    "powers of 2 where powers of e are asked for": lambda x, **_: _normal(_weights(x, 2.0)),
    "weights divided by the length of the row": lambda x, N, **_: {"out": _weights(x) / N},
    "a softmax of each column, not of each row": lambda x, **_: {
        "out": _normal(_weights(x.T))["out"].T
    },
}


def _highest(x: np.ndarray) -> np.ndarray:
    """The largest element of each row; 0 for a row of -inf alone."""
    top: np.ndarray = x.max(axis=1, keepdims=True)
    return np.where(np.isneginf(top), 0.0, top)


def _never_rescaled(x: np.ndarray, tile: int, **_: Any) -> dict[str, np.ndarray]:
    """Weights of each tile by the largest element so far, added up as they are."""
    weights, total = _weights(x), np.zeros((len(x), 1))
    for start in range(0, x.shape[1], tile):
        top = _highest(x[:, : start + tile])
        total += np.exp(x[:, start : start + tile] - top).sum(axis=1, keepdims=True)
    return {"out": weights / np.where(total == 0, 1.0, total)}


def _measured_from(
    shift: _Shift,
    divisor: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    **_: Any,
) -> dict[str, np.ndarray]:
    """Weights exp(x - shift), in float32, which holds no exponential of 89 and none of -104."""
    weights = np.exp((x - shift(x)).astype(np.float32))
    return {"out": weights / divisor(weights.sum(axis=1, keepdims=True))}


def _padded(x: np.ndarray, N: int, tile: int = 0, **_: Any) -> dict[str, np.ndarray]:
    """The softmax with zeros past the end, as far as the last tile reaches."""
    beyond = -N % (tile or 1 << (N - 1).bit_length())
    return {"out": _softmax(np.pad(x, ((0, 0), (0, beyond))))["out"][:, :N]}


def _of_tiles(x: np.ndarray, tile: int, **_: Any) -> dict[str, np.ndarray]:
    parts = [x[:, start : start + tile] for start in range(0, x.shape[1], tile)]
    return {"out": np.concatenate([_softmax(part)["out"] for part in parts], axis=1)}


def _above_zeros(x: np.ndarray) -> np.ndarray:
    """The largest element of a row, or 0 where it lies below."""
    return np.maximum(_highest(x), 0.0)


def _one_exponential(x: np.ndarray, **_: Any) -> dict[str, np.ndarray]:
    """exp(x - (top + log(total))), whose bracket is rounded to float32."""
    single = x.astype(np.float32)
    top = _highest(single)
    total = np.maximum(np.exp(single - top).sum(axis=1, keepdims=True), 1)
    return {"out": np.exp(single - (top + np.log(total)))}


#: What a tile's turn makes of (the sum so far, the tile, the largest so far, with this tile's).
_Turn = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _carried(turn: _Turn, x: np.ndarray, tile: int, **_: Any) -> dict[str, np.ndarray]:
    """A sum that is carried from the first tile on as `turn` says, in float32."""
    single = x.astype(np.float32)
    lowest = np.finfo(np.float32).min
    top = np.maximum(single[:, :tile].max(axis=1, keepdims=True), lowest)
    total = np.exp(single[:, :tile] - top).sum(axis=1, keepdims=True)
    for start in range(tile, x.shape[1], tile):
        part = single[:, start : start + tile]
        new = np.maximum(top, part.max(axis=1, keepdims=True))
        total, top = turn(total, part, top, new), new
    return {"out": np.exp(single - top) / np.fmax(total, 1)}


_TURNS: dict[str, _Turn] = {
    "the old sum times exp(new - old), where a larger maximum asks for exp(old - new)": (
        lambda total, part, top, new: (
            total * np.exp(new - top) + np.exp(part - new).sum(axis=1, keepdims=True)
        )
    ),
    "exp of a new tile measured from the maximum before it": lambda total, part, top, new: (
        (total + np.exp(part - top).sum(axis=1, keepdims=True)) * np.exp(top - new)
    ),
}

#: The tiles that BLOCK may have.
_TILES = (256, 512, 1024)
#: What kernels divide by, so that a row of -inf alone gives no NaN: what to say, and what it is.
_DIVISORS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "": lambda total: total,
    ", and 0 where all weights vanish": lambda total: np.where(total == 0, 1.0, total),
    ", and a sum below 1 taken for 1": lambda total: np.maximum(total, 1.0),
}


def _with_divisors(said: str, shift: _Shift) -> dict[str, _Slip]:
    return {said + more: partial(_measured_from, shift, of) for more, of in _DIVISORS.items()}


_SLIPS |= {
    **_with_divisors("exp of the elements as they are, no maximum subtracted", lambda x: 0.0),
    # rows near -1000 stand between rows near 1000: what else is in a maximum cannot be told apart
    **_with_divisors(
        "a maximum that is not the row's own: it starts at 0, or zeros past the end or other rows "
        "are in it",
        _above_zeros,
    ),
    "zeros past the end of a row, counted like its elements": _padded,
    "exp(x - (top + log(sum))): near 1000 the bracket is rounded to 6e-5": _one_exponential,
}


def _slips_in_tiles(tile: int) -> dict[str, _Slip]:
    """What slips of a kernel that takes a row in tiles of this length would give."""
    return {
        f"zeros past the end of a row, counted like its elements, in tiles of {tile}": partial(
            _padded, tile=tile
        ),
        f"a softmax of each tile of {tile} elements by itself": partial(_of_tiles, tile=tile),
        f"a sum that is not rescaled when a tile of {tile} brings a larger maximum": partial(
            _never_rescaled, tile=tile
        ),
        **{
            f"{said}, in tiles of {tile}": partial(_carried, of, tile=tile)
            for said, of in _TURNS.items()
        },
    }


_RULES = (
    " x and out are both float32 or both float16: compute in float32. Elements may be -inf, and a "
    "row of -inf alone gives zeros. Among the inputs are logits near 1000, rows that ascend or "
    "descend, and rows whose first or last thousand elements are -inf."
)
_SOFTMAX: dict[str, Any] = {"reference": _softmax, "tolerance": TOLERANCE}
#: A program for each row, which it takes BLOCK elements at a time.
_IN_TILES: dict[str, Any] = {
    **_SOFTMAX,
    "parameters": (
        Array("x", "M, N"),
        Array("out", "M, N", Role.OUT),
        Scalar("N", "N", "int32"),
        Meta("BLOCK", "BLOCK"),
    ),
    "cases": (
        case(M=1, N=1),
        case(M=5, N=300),
        case(M=3, N=600, draws={"x": empty_rows}),
        case(M=3, N=700, dtypes=HALF),
        case(M=4, N=1500, draws={"x": near_1000}),
        case(M=3, N=2100, draws={"x": masked_runs}),
        case(M=3, N=2500, draws={"x": in_order}),
        case(M=1, N=70000, dtypes=HALF, draws={"x": NEARLY_LEVEL}),
        case(True, M=32, N=2048, dtypes=HALF),
        case(True, M=64, N=2048),
    ),
    "launch": Programs("M"),
    "constants": {"BLOCK": Constant(512, _TILES)},
    "slips": _SLIPS | {said: of for tile in _TILES for said, of in _slips_in_tiles(tile).items()},
}

softmax_three_pass = KernelExercise(
    name="softmax_three_pass",
    title="Maximum, sum, result",
    task=(
        "The softmax of each row of x, for x of shape M x N, any sizes: "
        "out[r, c] = exp(x[r, c] - m) / s, where m is the largest element of row r and s the sum "
        "of exp(x[r, c] - m) over the row. Program r has row r, which may be longer than BLOCK."
        + _RULES
    ),
    points=8,
    minutes=50,
    difficulty=3,
    hints=(
        "Three loops over the tiles of the row, one after the other: `for start in range(0, N, "
        "BLOCK)`. The first finds m, the second s, the third stores. Each loads the row again.",
        "Elements past the end of the row: which value is never the largest, and has the weight 0? "
        "Give it to tl.load as `other`.",
        "In a row of -inf alone m is -inf, and -inf - -inf is nan. After the first loop, "
        "tl.where(m == -float('inf'), 0.0, m) is safe to subtract. Then s is 0 for such a row, "
        "and at least 1 for every other: what can you divide by in both cases?",
    ),
    small=case(M=4, N=14, BLOCK=4),
    full=case(M=4096, N=4096),
    **_IN_TILES,
    budget=Budget(
        {"load x": "3 * rows(M, N) + M", "store out": "rows(M, N)"},
        why=(
            "Each row is read for its maximum, for its sum and for its result, and written once. A "
            "maximum may start as the row's first element: one sector more."
        ),
    ),
)

softmax_online = KernelExercise(
    name="softmax_online",
    title="Maximum and sum in one pass",
    task=(
        "The softmax of each row of x, for x of shape M x N, any sizes, as in "
        "softmax_three_pass, with two passes over the row: the first finds its maximum and its "
        "sum together, the second stores the result. Program r has row r, which may be longer "
        "than BLOCK." + _RULES
    ),
    points=12,
    minutes=70,
    difficulty=4,
    core=True,
    hints=(
        "Two numbers go from tile to tile: top, the largest so far, and total, the sum of "
        "exp(x - top) so far. When top grows, what must total be multiplied by?",
        "In each turn: new_top is the larger of top and the tile's maximum. total, rescaled to "
        "new_top, plus the tile's sum of exp(tile - new_top), is the new total. Then top becomes "
        "new_top, last.",
        "As long as only -inf has come by, new_top is -inf too, and -inf - -inf is nan. Either "
        "subtract tl.where(new_top == -float('inf'), 0.0, new_top), or start top at the lowest "
        "finite float32, -3.4028234e38. The second pass needs the same care, and a total of 0.",
    ),
    small=case(M=4, N=14, BLOCK=4),
    full=case(M=4096, N=4096),
    **_IN_TILES,
    budget=Budget(
        {"load x": "2 * rows(M, N) + M", "store out": "rows(M, N)"},
        why=(
            "Each row is read once for its maximum and sum, once for its result, and written once. "
            "A maximum may start as the row's first element: one sector more."
        ),
    ),
)

softmax_one_pass = KernelExercise(
    name="softmax_one_pass",
    title="A row on the chip",
    task=(
        "The softmax of each row of x, for x of shape M x N, any M, rows of up to 4,096 elements, "
        "with one load of each element. BLOCK is N rounded up to a power of two, so a row fits in "
        "one tile. A program has ROWS rows, side by side or one after the other: choose ROWS. "
        "What a thread needs of registers is graded too." + _RULES
    ),
    points=10,
    minutes=50,
    difficulty=3,
    hints=(
        "With ROWS = 1 the kernel has no loop: load the row, find its maximum, take exp, add up, "
        "divide, store. What has been loaded stays in registers.",
        "For more rows at once the tile is ROWS x BLOCK: row numbers [:, None], column numbers "
        "[None, :], reductions with axis=1, and a mask for both axes, since M need not be a "
        "multiple of ROWS.",
        "A program has 4 warps, 128 threads: a tile of ROWS x BLOCK elements is ROWS * BLOCK / 128 "
        "of them in each thread, and the weights need room as well. How many registers may a "
        "thread take, and which ROWS fits for a BLOCK of 4096?",
    ),
    small=case(M=4, N=14),
    full=case(M=4096, N=4096),
    parameters=(
        Array("x", "M, N"),
        Array("out", "M, N", Role.OUT),
        Scalar("M", "M", "int32"),
        Scalar("N", "N", "int32"),
        Meta("ROWS", "ROWS"),
        Meta("BLOCK", "next_power_of_2(N)"),
    ),
    **_SOFTMAX,
    slips=_SLIPS,
    cases=(
        case(M=1, N=1),
        case(M=5, N=300),
        case(M=3, N=600, draws={"x": empty_rows}),
        case(M=3, N=700, dtypes=HALF),
        case(M=5, N=1500, draws={"x": near_1000}),
        case(M=3, N=2100, draws={"x": masked_runs}),
        case(True, M=16, N=4096, dtypes=HALF),
        case(True, M=24, N=4096),
    ),
    launch=Programs("cdiv(M, ROWS)"),
    budget=Budget(
        {
            "load x": "tiles(M, N, 1, max(1, BLOCK // 2))",
            "store out": "tiles(M, N, 1, max(1, BLOCK // 2))",
        },
        why=(
            "Each element is loaded once and stored once, a row whole or in halves. With 128 "
            "registers a thread, four programs of 128 threads share the 65,536 of an SM."
        ),
    ),
    constants={"ROWS": Constant(1, (1, 2, 4, 8))},
    registers="128",
    spill_bytes="0",
)

debug_softmax = NumberExercise(
    name="debug_softmax",
    title="Three softmaxes, three symptoms",
    task=(
        "Of P, Q and R above find the line where the first wrong value comes up, its kind, and a "
        "formula for the symptom: what a user sees, before anybody has opened the kernel. Lines "
        "count from the decorator, which is line 1. Formulas are in N, BLOCK and MASKED, to which "
        f"the check gives other values; N > BLOCK. Kinds: {kinds_in_words(len(KINDS))}."
    ),
    points=6,
    minutes=45,
    difficulty=3,
    hints=(
        "Trace a row that is wrong and one that is right, with the same N and a BLOCK of 4. Which "
        "is the first line on which a value is not what you would write by hand?",
        "P: `tl.maximum` of nan and 1 is 1. Q: what does each masked element add to the total? R: "
        "the row is right whenever the maximum does not change after the first tile.",
        "P: once the total is 1 in the place of a sum, each weight is its own share. R: in a row "
        "of random logits each place is as likely as any other to hold the largest.",
    ),
    questions={
        "P_line": line_question(
            "P: the line where the first wrong value comes up",
            12,
            {
                19: (
                    "Line 19 divides by total, which is wrong already. Trace a wrong row: where "
                    "does total change?"
                ),
                15: "Line 15 makes 1 of what it is given. What is it given?",
                20: "Line 20 stores what it gets. Trace a wrong row from the top.",
                11: "The terms of a masked tile are 0 there: shift has taken care of them.",
                10: "0 in the place of -inf is right: exp(-inf - 0) is 0.",
                9: "The maximum of a tile of -inf is -inf, rightly.",
                4: "-inf is the maximum of nothing, and most rows are right.",
            },
        ),
        "P_kind": kind_question(
            "P",
            "nan",
            len(KINDS),
            {
                "rescale": "It does rescale. What is the factor when top and new_top are -inf?",
                "mask": "-inf changes neither a maximum nor a sum. What is -inf - -inf?",
                "start": "Right rows begin in the same way. Trace a wrong one.",
                "overflow": "No exponent is above 0. Trace a wrong row.",
            },
        ),
        "P_sum": Question(
            "P: what the shares add up to in a row whose first MASKED logits are -inf and whose "
            "other N - MASKED are 0; MASKED < N",
            "N - MASKED if MASKED >= BLOCK else 1",
            "the sum of a row's shares",
            1e-6,
            slips={
                "N - MASKED": "A tile that has one logit besides -inf is summed rightly.",
                "N - MASKED if MASKED > BLOCK else 1": "BLOCK times -inf are enough.",
                "0": "The wrong rows have shares, and each is exp(x - shift).",
            },
        ),
        "Q_line": line_question(
            "Q: the line where the first wrong value comes up",
            12,
            {
                16: "What its masked places get is never stored: line 17 has the same mask.",
                13: "Line 13 adds what it is given. What is x past the end of the row?",
                17: "It divides by total, and total is wrong already.",
                7: "-inf changes no maximum.",
                9: "0 is right for a sum. Trace the last tile: what is added to it?",
            },
        ),
        "Q_kind": kind_question(
            "Q",
            "mask",
            len(KINDS),
            {
                "rounding": "Rounding moves last digits, and not with N.",
                "start": "The sum begins with 0, rightly. What do places past the end add to it?",
                "rescale": "The maximum is known before the sum begins: one for all terms.",
                "index": "The places inside of the row are right. And those past its end?",
            },
        ),
        "Q_sum": Question(
            "Q: what the shares of a row of N zeros add up to",
            "N / (cdiv(N, BLOCK) * BLOCK)",
            "the sum of a row's shares",
            1e-6,
            slips={
                "cdiv(N, BLOCK) * BLOCK / N": "Turn it over: the total is too large.",
                "N / (N + BLOCK)": "It is not always a whole tile too many. How many are masked?",
                "1": "With BLOCK = 4 and N = 10: what is added to total in the last tile?",
            },
        ),
        "R_line": line_question(
            "R: the line where the first wrong value comes up",
            12,
            {
                11: "The maximum so far is right on line 11. Trace a wrong row.",
                13: "top is right there. Trace a wrong row: which other value goes on?",
                17: "It divides by total, and total is wrong already.",
                7: "The first tile's total is right for the first tile's maximum.",
            },
        ),
        "R_kind": kind_question(
            "R",
            "rescale",
            len(KINDS),
            {
                "rounding": "The wrong rows are wrong in the first digit, the others in none.",
                "mask": "-inf changes neither a maximum nor a sum. Trace a wrong row.",
                "start": "The first tile is summed rightly. What happens to that sum later?",
                "race": "A program's lines come one after the other.",
            },
        ),
        "R_share": Question(
            "R: the share of rows that come out wrong, where all N logits are random, independent "
            "and different",
            "1 - BLOCK / N",
            "a share, 0 to 1",
            1e-6,
            slips={
                "1 - 1 / cdiv(N, BLOCK)": "The last tile may be short, and has it less often.",
                "1 / cdiv(N, BLOCK)": "It is right where the first tile has the maximum.",
            },
        ),
    },
    columns={
        "N": "columns",
        "BLOCK": "elements of a tile, less than N",
        "MASKED": "logits at the start of a row that are -inf, less than N",
    },
    cases=(
        case(N=569, BLOCK=512, MASKED=512),
        case(N=10, BLOCK=4, MASKED=3),
        case(N=1000, BLOCK=256, MASKED=300),
        case(N=64, BLOCK=16, MASKED=15),
    ),
)
