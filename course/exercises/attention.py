"""Lesson 10: attention without its N x N matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from course.spec.draws import LARGE, Draw, described, spread, uniform
from course.spec.exercise import (
    Array,
    Budget,
    KernelExercise,
    NumberExercise,
    Question,
    Role,
    case,
    halves,
)
from course.spec.findings import KINDS, kind_question, kinds_in_words, line_question
from course.spec.launching import Launcher
from course.spec.once import once

#: Relative to `_size`. float16: an output is rounded once, and so are the weights that `tl.dot`
#: takes, each by at most 2**-11 = 4.9e-4 of itself; right kernels err by less than 5e-4.
#: One that scales q in float16 (exact for D = 16 and 64, whose scale is a power of two) errs by up
#: to 9e-4 where scores are of a few units, and is right; where they are far apart it errs as
#: PyTorch's own products in float16 do, so that no case has both.
#: float32: right kernels err by less than 1e-6, and float16 operands by more than 5e-5.
TOLERANCE = {"float16": (1.5e-3, 0.0), "float32": (3e-6, 0.0)}
#: A score errs by a few eps (6e-8) of the size of its products: less than this share of the
#: tolerance's 3e-6.
SCORE_SHARE = 0.25
#: What a T4 gives a program.
SHARED_BYTES = "64 * 1024"


def alternating(width: float, other: float) -> Draw:
    """Normal values, row after row of the standard deviations `width` and `other`."""

    @described(f"standard deviations {width:g} and {other:g}, head after head")
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        widths = np.where(np.arange(shape[-2]) % 2, other, width)
        return (rng.standard_normal(shape) * widths[:, None]).astype(dtype)

    return draw


#: Scores far apart: exp of the greatest overflows float32, and one key gets nearly all weight.
FAR_APART: dict[str, Draw] = dict.fromkeys(("q", "k"), spread(8.0, why=", scores far apart"))
#: The same, and the greatest scores of neighbouring queries are hundreds apart.
UNEVEN: dict[str, Draw] = {"q": alternating(1.0, 20.0), "k": spread(8.0)}
#: Products of a query and a key far above 65,504, the most that float16 holds.
HUGE: dict[str, Draw] = dict.fromkeys(("q", "k"), spread(150.0, why=", scores beyond float16"))
#: Weights nearly equal and values of one sign: before the division, the sum of 16 keys' values
#: passes 65,504, and so do all that are longer.
ONE_SIGN: dict[str, Draw] = {"q": uniform(-0.1, 0.1), "v": uniform(4096.0, 8192.0)}

#: One key, and a score of -4e12: it has all the weight, whatever stands for the lowest number.
#: A power of two times log2(e) is exact: no idiom of base 2 loses a digit.
ABYSS: dict[str, Draw] = {
    "q": described("2**20")(uniform(2.0**20, 2.0**20)),
    "k": described("-2**20, a score below -1e9 and the like")(uniform(-(2.0**20), -(2.0**20))),
    "v": LARGE,
}
#: The same in float16, with scores of -4e9.
ABYSS_IN_HALF: dict[str, Draw] = {
    "q": described("2**15")(uniform(2.0**15, 2.0**15)),
    "k": described("-2**15, scores below -1e9 and the like")(uniform(-(2.0**15), -(2.0**15))),
}
#: Every score below -110: exp of each is 0, measured from a greatest score that begins at 0.
FAR_BELOW: dict[str, Draw] = {
    "q": uniform(5.0, 6.0),
    "k": uniform(-6.0, -5.0),
}


HALF = halves("q", "k", "v", "out")
Reference = Callable[..., dict[str, np.ndarray]]


def _scores(q: np.ndarray, k: np.ndarray, causal: bool) -> np.ndarray:
    """(H, M, N) of q (H, M, D) and k (H, N, D), scaled; -inf for keys of the future."""
    scores: np.ndarray = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
    return scores


def _size_of_scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Of each score the products that it adds up, without their signs."""
    size: np.ndarray = np.abs(q) @ np.abs(k).swapaxes(-1, -2) * q.shape[-1] ** -0.5
    return size


@once
def _weights(q: np.ndarray, k: np.ndarray, causal: bool) -> tuple[np.ndarray, np.ndarray]:
    """(softmax of the scores, the size of each score's products) for (H, M, D) and (H, N, D)."""
    scores = _scores(q, k, causal)
    size = _size_of_scores(q, k)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True), size


def _attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool = False
) -> dict[str, np.ndarray]:
    weights, _ = _weights(q, k, causal)
    return {"out": weights @ v}


def _size(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool = False
) -> dict[str, np.ndarray]:
    """What `rtol` is relative to: a weight w moves by dw / w = ds - sum of w ds.

    A score's rounding ds is as large as its products times eps. A query that looks at one key
    alone has a weight of 1, which no rounding of the scores moves.
    """
    weights, size = _weights(q, k, causal)
    mean = np.sum(weights * size, axis=-1, keepdims=True)
    moved = 1 + SCORE_SHARE * (size * (1 - weights) + mean - weights * size)
    return {"out": (weights * moved) @ np.abs(v)}


def _sized(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool = False
) -> dict[str, np.ndarray]:
    """What a slip of the inputs gives, and what `TOLERANCE` is relative to then."""
    size = _size(q, k, v, causal)["out"]
    return {**_attention(q, k, v, causal), "size of out": size}


_causal = partial(_attention, causal=True)


def _grouped(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Single queries (H, D) as (G, H / G, D), one batch of rows for each head of K and V."""
    return q.reshape(len(k), -1, q.shape[-1])


def single_queries(of: Reference) -> Reference:
    """`of(q, k, v)` for one query a head, q (H, D); k and v (G, N, D), each for H / G heads."""

    def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        found = of(_grouped(q, k), k, v)
        return {name: values.reshape(q.shape) for name, values in found.items()}

    return reference


of_one_query = single_queries(_attention)
#: What `TOLERANCE` is relative to, for `of_one_query`.
size_of_one_query = single_queries(_size)


def _seen(q: np.ndarray, k: np.ndarray, v: np.ndarray, more: int) -> dict[str, np.ndarray]:
    """Causal attention in which a query sees so many keys more than its own and those before."""
    scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    scores[:, np.triu(np.ones(scores.shape[1:], bool), 1 + more)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return {"out": weights / weights.sum(axis=-1, keepdims=True) @ v}


def in_tiles(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    tile: int,
    kept: tuple[str, ...] = (),
    causal: bool = False,
    divided: bool = False,
    lse: bool = False,
) -> dict[str, np.ndarray]:
    """Attention over so many keys at a time.

    Args:
        kept: which of `total` and `acc` stay as they are when a tile brings a larger maximum.
        divided: `acc` is divided by `total` after each tile.
        lse: whether it gives the last maximum plus the logarithm of `total`, too.
    """
    scores = _scores(q, k, causal)
    moved = 1 + 2 * SCORE_SHARE * _size_of_scores(q, k)
    top, total, acc, size = np.full(1, -np.inf), np.zeros(1), np.zeros(1), np.zeros(1)
    for start in range(0, k.shape[1], tile):
        part = scores[..., start : start + tile]
        new = np.maximum(top, part.max(axis=-1, keepdims=True))
        weights, rescale = np.exp(part - new), np.exp(top - new)
        values, rounds = v[:, start : start + tile], moved[..., start : start + tile]
        total = total * (1 if "total" in kept else rescale) + weights.sum(axis=-1, keepdims=True)
        acc = acc * (1 if "acc" in kept else rescale) + weights @ values
        size = size * (1 if "acc" in kept else rescale) + (weights * rounds) @ np.abs(values)
        top = new
        if divided:
            acc, size = acc / total, size / total
    whole = 1 if divided else total
    found = {"out": acc / whole, "size of out": size / whole}
    return found | ({"lse": (top + np.log(total))[..., 0]} if lse else {})


def _whole_tiles(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    tile: int,
    causal: bool = False,
    fewest: int = 0,
    last: bool = True,
) -> dict[str, np.ndarray]:
    """Attention to the keys of whole tiles, of so many tiles at least, or of all but the last."""
    keys = max((k.shape[1] - (not last)) // tile, fewest) * tile
    if keys == 0:  # 0 / 0
        return {"out": np.full(q.shape, np.nan)}
    return _sized(q, k[:, :keys], v[:, :keys], causal)


def of_some_keys(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    keys: slice,
    causal: bool = False,
    lse: bool = False,
) -> dict[str, np.ndarray]:
    """Attention to these keys alone, and its lse where that is asked for.

    A query that sees none of them has exp(-inf - -inf), or 0 / 0. Where there is no key, no turn
    is made, and lse is log(0).
    """
    places = np.arange(k.shape[1])[keys]
    seen = np.ones((q.shape[1], len(places)), bool)
    if causal:
        seen &= np.arange(q.shape[1])[:, None] >= places
    some = np.asarray(seen.any(axis=-1))
    k, v = k[:, keys], v[:, keys]
    scores = np.where(seen, _scores(q, k, False), -np.inf)
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(some[:, None], top, 0.0))
    total = weights.sum(axis=-1, keepdims=True)
    moved = 1 + 2 * SCORE_SHARE * _size_of_scores(q, k)
    found = {"out": weights @ v / total, "size of out": (weights * moved) @ np.abs(v) / total}
    if lse:
        found["lse"] = (top + np.log(total))[..., 0]
        found["lse"][:, ~some] = np.nan if len(places) else -np.inf
    return found


def _last_read_as_0(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool = False
) -> dict[str, np.ndarray]:
    """The last key and its value are 0."""
    k, v = k.copy(), v.copy()
    k[:, -1] = v[:, -1] = 0
    return _sized(q, k, v, causal)


#: What a mask, or a loop, leaves out.
LAST_KEY = "the last key left out, as by a mask `keys < N - 1`"
LATE = "the first tile of {tile} {what} left out: a loop that begins one tile late"
#: Below most cases' sizes: of a larger tile it gives NaN alone, which other slips give, too.
LARGEST_LATE = 64


def _padded(q: np.ndarray, k: np.ndarray, v: np.ndarray, tile: int) -> dict[str, np.ndarray]:
    """Attention to zeros past the end, too, as far as the last tile of keys reaches."""
    beyond = ((0, 0), (0, -k.shape[1] % tile), (0, 0))
    return _attention(q, np.pad(k, beyond), np.pad(v, beyond))


def _undivided(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool = False
) -> dict[str, np.ndarray]:
    scores = _scores(q, k, causal)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    moved = 1 + 2 * SCORE_SHARE * _size_of_scores(q, k)
    return {"out": weights @ v, "size of out": (weights * moved) @ np.abs(v)}


#: How many keys at a time kernels take.
TILES = (16, 32, 64, 128, 256)
_LARGER = "when a tile of {tile} keys brings a larger maximum"
#: What is not rescaled, as a slip is told.
KEPT: dict[str, tuple[str, ...]] = {
    f"the weighted sum of v not rescaled {_LARGER}": ("acc",),
    f"the sum of weights not rescaled {_LARGER}": ("total",),
    f"neither sum rescaled {_LARGER}, or by exp(0), of a maximum that was replaced too early": (
        "acc",
        "total",
    ),
}


def slips_of_tiles(
    causal: bool = False, of: Callable[[Reference], Reference] = lambda attend: attend
) -> dict[str, Reference]:
    """What slips of a kernel that passes over the keys in tiles would give.

    Args:
        of: makes an exercise's reference of one that takes q, k and v, each (H, N, D).
    """
    found = {}
    for tile in TILES:
        for said, kept in KEPT.items():
            slip = partial(in_tiles, tile=tile, kept=kept, causal=causal)
            found[said.format(tile=tile)] = of(slip)
        said = f"the weighted sum of v divided by the sum of weights after each tile of {tile} keys"
        found[said] = of(partial(in_tiles, tile=tile, causal=causal, divided=True))
        if tile <= LARGEST_LATE:
            first = partial(of_some_keys, keys=slice(tile, None), causal=causal)
            found[LATE.format(tile=tile, what="keys")] = of(first)
        said = f"the last tile of {tile} keys left out, filled or not"
        found[said] = of(partial(_whole_tiles, tile=tile, causal=causal, last=False))
        said = f"the keys from the last multiple of {tile} on left out"
        found[said] = of(partial(_whole_tiles, tile=tile, causal=causal))
        if not causal:
            said = f"a score of 0, not -inf, for keys past the end in tiles of {tile}"
            found[said] = of(partial(_padded, tile=tile))
    found[LAST_KEY] = of(partial(of_some_keys, keys=slice(None, -1), causal=causal))
    said = "the last row of k and of v read as 0, as by a mask that ends one row early"
    found[said] = of(partial(_last_read_as_0, causal=causal))
    found["the weighted sum of v, not divided by the sum of weights"] = of(
        partial(_undivided, causal=causal)
    )
    return found


#: So many keys at a time meet a tile of queries on the diagonal.
_STEP = 32


def _on_the_diagonal(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    tile: int,
    counts: Callable[[np.ndarray, np.ndarray], np.ndarray],
    hidden: float = -np.inf,
) -> dict[str, np.ndarray]:
    """Attention of tiles of queries to the keys as far as each tile reaches, zeros past the end.

    Args:
        counts: which scores stay as they are, of the places of queries and keys.
        hidden: what the others become.
    """
    beyond = ((0, 0), (0, -k.shape[1] % _STEP), (0, 0))
    k, v = np.pad(k, beyond), np.pad(v, beyond)
    row, column = np.arange(q.shape[1])[:, None], np.arange(k.shape[1])
    scores = np.where(counts(row, column), _scores(q, k, False), hidden)
    scores[:, column >= (row // tile + 1) * tile] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    weights[np.isneginf(scores[..., :_STEP].max(axis=-1))] = np.nan  # exp(-inf - -inf), and stays
    moved = 1 + 2 * SCORE_SHARE * _size_of_scores(q, k)
    return {"out": weights @ v, "size of out": (weights * moved) @ np.abs(v)}


def _slips_of_the_diagonal() -> dict[str, Reference]:
    """What slips of the causal rule give in a kernel that leaves whole tiles of the future out."""
    found: dict[str, Reference] = {}
    for tile in TILES[:-1]:
        step, queries = min(tile, _STEP), f"in tiles of {tile} queries"
        slips: dict[str, Any] = {
            "one key too many, the first of the future": {"counts": lambda i, j: j <= i + 1},
            "the tile on the diagonal used whole": {"counts": lambda i, j: j < len(i)},
            "a score of 0, not -inf, for keys of the future": {
                "counts": lambda i, j: j <= i,
                "hidden": 0.0,
            },
            "the comparison turned round, so that a query sees itself and what follows": {
                "counts": lambda i, j: j >= i
            },
            "places compared as they are counted within their tiles, not in the sequence": {
                "counts": lambda i, j, tile=tile, step=step: j % step <= i % tile
            },
            "the tile on the diagonal left out": {
                "counts": lambda i, j, tile=tile: j < i // tile * tile
            },
        }
        for said, slip in slips.items():
            found[f"{said}, {queries}"] = partial(_on_the_diagonal, tile=tile, **slip)
    return found


def _in_chunks(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    chunk: int,
    shared: bool,
    divided: int,
    weighed: Sequence[str] = (),
) -> dict[str, np.ndarray]:
    """Chunks of so many keys, each with a maximum of its own, that are added up as they are.

    Args:
        shared: whether the sum is divided by the chunks' weights together, else each by its own.
        divided: 1 where a mean is taken of the chunks, 0 where they are added.
        weighed: which of `acc` and `total` are rescaled to the largest maximum of all chunks;
            `mean` if each chunk is divided by its own weights nevertheless.
    """
    top = _scores(q, k, False).max(axis=-1, keepdims=True)
    acc, total, size = [], [], []
    for start in range(0, k.shape[1], chunk):
        keys, values = k[:, start : start + chunk], v[:, start : start + chunk]
        scores = _scores(q, keys, False)
        highest = scores.max(axis=-1, keepdims=True)
        weights, rescale = np.exp(scores - highest), np.exp(highest - top)
        moved = 1 + 2 * SCORE_SHARE * _size_of_scores(q, keys)
        own = weights.sum(axis=-1, keepdims=True)
        total.append(own * (rescale if "total" in weighed else 1))
        factor = (rescale if "acc" in weighed else 1) / (
            1 if shared and "mean" not in weighed else own
        )
        acc.append(weights @ values * factor)
        size.append(weights * moved @ np.abs(values) * factor)
    whole = np.sum(total, axis=0) if shared else len(total) ** divided
    return {"out": np.sum(acc, axis=0) / whole, "size of out": np.sum(size, axis=0) / whole}


_JOINED: dict[str, tuple[Any, ...]] = {
    "the sums of weights of chunks of {chunk} keys not rescaled to the largest maximum": (
        *(True, 0, "acc"),
    ),
    "the weighted sums of chunks of {chunk} keys not rescaled to the largest maximum": (
        *(True, 0, "total"),
    ),
    "the sums of chunks of {chunk} keys added up, each measured against its own maximum": (True, 0),
    "chunks of {chunk} keys divided by their own sums of weights, and together by all sums": (
        *(True, 0, "acc", "total", "mean"),
    ),
    "the mean of chunks of {chunk} keys, each divided by its own sum": (False, 1),
    "the sum of chunks of {chunk} keys, each divided by its own sum": (False, 0),
}
_CHUNKS = (128, 256, 512, 1024)


def _to_the_end(q: np.ndarray, k: np.ndarray, v: np.ndarray, chunk: int) -> dict[str, np.ndarray]:
    """Chunks that each go on to the last key."""
    weights, _ = _weights(q, k, False)
    counted = weights * (1 + np.arange(k.shape[1]) // chunk)
    return {"out": counted / counted.sum(axis=-1, keepdims=True) @ v}


def _exchanged(chunk: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    """Chunks of which each one's sum of weights is taken for its largest score, and the reverse."""
    acc, own, highest = [], [], []
    for start in range(0, k.shape[1], chunk):
        scores = _scores(q, k[:, start : start + chunk], False)
        highest.append(scores.max(axis=-1, keepdims=True))
        weights = np.exp(scores - highest[-1])
        own.append(weights.sum(axis=-1, keepdims=True))
        acc.append(weights @ v[:, start : start + chunk])
    rescale = [np.exp(one - np.max(own, axis=0)) for one in own]
    total = sum(one * top for one, top in zip(rescale, highest, strict=True))
    return {"out": sum(one * part for one, part in zip(rescale, acc, strict=True)) / total}


def _first_keys(most: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    return _attention(q, k[:, :most], v[:, :most]) | {
        "size of out": _size(q, k[:, :most], v[:, :most])["out"]
    }


def _slips_of_chunks() -> dict[str, Reference]:
    """What one query's chunks give that are made, or put together, in another way."""
    found: dict[str, Reference] = {}
    for chunk in _CHUNKS:
        for said, (shared, divided, *weighed) in _JOINED.items():
            how: dict[str, Any] = {"shared": shared, "divided": divided, "weighed": weighed}
            slip = partial(_in_chunks, chunk=chunk, **how)
            found[said.format(chunk=chunk)] = single_queries(slip)
        said = f"chunks that begin {chunk} keys apart and each go on to the last key"
        found[said] = single_queries(partial(_to_the_end, chunk=chunk))
        said = f"the first {chunk} keys in every chunk"
        found[said] = single_queries(partial(_first_keys, chunk))
        said = f"the largest score and the sum of weights of chunks of {chunk} keys exchanged"
        found[said] = single_queries(partial(_exchanged, chunk))
        said = f"the keys behind whole chunks of {chunk} left out"
        found[said] = single_queries(partial(_whole_tiles, tile=chunk, fewest=1))
    return found


def _dealt_in_turn(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    """Query head h attends to head h % G of the keys."""
    dealt = q.reshape(-1, len(k), q.shape[-1]).swapaxes(0, 1)
    found = {"out": _attention(dealt, k, v)["out"], "size of out": _size(dealt, k, v)["out"]}
    return {name: one.swapaxes(0, 1).reshape(q.shape) for name, one in found.items()}


def _slips(of: Reference) -> dict[str, Reference]:
    """What slips of the formula would give, by the reference that they are slips of."""
    return {
        "scores that are never scaled": lambda q, k, v: of(q * q.shape[-1] ** 0.5, k, v),
        "scores divided by D, not by its root": lambda q, k, v: of(q * q.shape[-1] ** -0.5, k, v),
        "N**-0.5 in the place of D**-0.5": lambda q, k, v: of(
            q * (q.shape[-1] / k.shape[-2]) ** 0.5, k, v
        ),
        "scores multiplied by the root of D": lambda q, k, v: of(q * q.shape[-1], k, v),
        "head 0 of k and v for all": lambda q, k, v: of(
            q, np.broadcast_to(k[:1], k.shape), np.broadcast_to(v[:1], v.shape)
        ),
        "powers of 2 where powers of e are asked for": lambda q, k, v: of(q * np.log(2), k, v),
        "keys in the place of queries": lambda q, k, v: of(k, k, v),
        "keys in the place of values": lambda q, k, v: of(q, k, k),
        "the plain mean of the values": lambda q, k, v: of(0 * q, k, v),
    }


N, D, BR, BC = 4096, 64, 64, 64
_SIZES: dict[str, int] = {"N": N, "D": D, "BR": BR, "BC": BC}
_UNFUSED = "N**2 * (4 + 2 * D / {br} + D / BC) + N * D"
_FUSED = "2 * N * D + 2 * cdiv(N, {br}) * N * D"
_BYTES_OF_HALF = "An element of float16 has 2 bytes."

attention_bytes = NumberExercise(
    name="attention_bytes",
    title="What the N x N matrix costs",
    task=(
        "One head, float16, N = 4096 positions of D = 64, tiles of BR = 64 queries and BC = 64 "
        "keys. Unfused means three kernels: S = Q K^T, P = softmax of S's rows (each row read "
        "once and written once), O = P V, each product with tiles that hold whole rows of D. "
        "Fused means that nothing of size N x N reaches memory. Least bytes count every input "
        "and output of a kernel once; requested bytes count what all programs load and store."
    ),
    points=6,
    minutes=40,
    difficulty=3,
    hints=(
        "Write the unfused kernels down one below the other, and what each loads and stores: "
        "three of them touch S or P, four times in all.",
        "Requests of S = Q K^T: there are (N / BR) * (N / BC) tiles of S. Each loads BR rows of "
        "Q and BC rows of K, of D elements. O = P V has N / BR tiles; each loads BR whole rows "
        "of P and all of V.",
        "Fused, a program keeps BR rows of Q and passes over all of K and V: N / BR programs "
        "each load 2 * N * D elements. Which tile's side is missing in this count?",
    ),
    given=_SIZES,
    questions={
        "scores_bytes": Question(
            "the matrix S",
            "2 * N**2",
            "bytes",
            slips={
                "N**2": _BYTES_OF_HALF,
                "4 * N**2": _BYTES_OF_HALF,
                "2 * N * D": "That is Q. S has a row and a column for every position.",
            },
        ),
        "least_unfused": Question(
            "the least bytes of the three kernels",
            "2 * (4 * N**2 + 4 * N * D)",
            "bytes",
            0.001,
            slips={
                "4 * N**2 + 4 * N * D": _BYTES_OF_HALF,
                "2 * (2 * N**2 + 4 * N * D)": "S is written and read, and so is P.",
                "2 * 4 * N**2": "Q, K, V and O move too.",
            },
        ),
        "least_fused": Question(
            "the least bytes of one fused kernel",
            "2 * 4 * N * D",
            "bytes",
            slips={
                "4 * N * D": _BYTES_OF_HALF,
                "2 * 3 * N * D": "O is written too.",
            },
        ),
        "least_ratio": Question(
            "the first over the second",
            "1 + N / D",
            "times",
            0.001,
            slips={"N / D": "Q, K, V and O move in both."},
        ),
        "requested_unfused": Question(
            "bytes that the three kernels request",
            f"2 * ({_UNFUSED.format(br='BR')})",
            "bytes",
            0.001,
            slips={
                _UNFUSED.format(br="BR"): _BYTES_OF_HALF,
                "2 * (4 * N**2 + 4 * N * D)": (
                    "That is the least. Each tile of S loads its rows of Q and K again."
                ),
                "2 * (N**2 * (4 + D / BR + D / BC) + N * D)": (
                    "O = P V has its tiles as well: each loads all of V."
                ),
            },
        ),
        "requested_fused": Question(
            "bytes that the fused kernel requests",
            f"2 * ({_FUSED.format(br='BR')})",
            "bytes",
            0.001,
            slips={
                _FUSED.format(br="BR"): _BYTES_OF_HALF,
                "2 * 4 * N * D": "That is the least. Each tile of queries passes over all of K.",
                "2 * (2 * N * D + cdiv(N, BR) * N * D)": "K and V: two arrays pass by.",
                "2 * (2 * N * D + 2 * N * N * D)": (
                    "A tile of 64 queries loads a row of K once for all of them."
                ),
            },
        ),
        "requested_ratio": Question(
            "unfused over fused",
            f"({_UNFUSED.format(br='BR')}) / ({_FUSED.format(br='BR')})",
            "times",
            0.01,
        ),
        "requested_fused_128": Question(
            "bytes that the fused kernel requests with BR = 128",
            f"2 * ({_FUSED.format(br='128')})",
            "bytes",
            0.001,
            slips={
                f"2 * ({_FUSED.format(br='BR')}) / 2": (
                    "Only K and V are halved: Q and O move once, whatever the tile."
                ),
            },
        ),
        "pays_ten_times": Question(
            "D = 64: from which N on does the unfused version move ten times the least of the "
            "fused one, or more?",
            "9 * D",
            "positions",
            slips={
                "10 * D": "The least ratio is 1 + N / D.",
            },
        ),
        "scores_of_a_layer": Question(
            "S of 32 heads at N = 32768, in GB (10**9 bytes)",
            "32 * 2 * 32768**2 / 10**9",
            "GB",
            0.01,
            slips={
                "2 * 32768**2 / 10**9": "That is one head.",
            },
        ),
        "causal_tiles": Question(
            "causal: position i attends to positions 0 to i. N = 512, tiles of 64 x 64: how many "
            "of the 64 tiles of S hold something that is needed?",
            "8 * 9 / 2",
            "tiles",
            slips={
                "32": "The tiles on the diagonal are needed, too.",
                "28": "The tiles on the diagonal are needed, too.",
            },
        ),
        "causal_share": Question(
            "causal, N = 4096, the same tiles: loads of K, as a share of the loads without the "
            "causal rule",
            "(N / BR + 1) / (2 * N / BR)",
            "a share, 0 to 1",
            0.002,
            slips={
                "0.5": "A little more: the tiles on the diagonal are loaded whole.",
            },
        ),
    },
)

_OF_ONE_QUERY = (
    Array("q", "H, D"),
    Array("k", "H, N, D", within="H, N + GAP, D + GAP"),
    Array("v", "H, N, D", within="H, N + GAP, D + GAP"),
    Array("out", "H, D", Role.OUT, contiguous=True),
)
#: What the exercises with one query a head have in common.
_ONE_QUERY: dict[str, Any] = {
    "reference": of_one_query,
    "magnitude": size_of_one_query,
    "tolerance": TOLERANCE,
    "slips": _slips(single_queries(_sized)) | slips_of_tiles(of=single_queries),
    "launch": Launcher(),
}

attend_one_query = KernelExercise(
    name="attend_one_query",
    title="One query, one pass",
    task=(
        "H heads with one query each: q and out are (H, D), k and v are (H, N, D). For each head, "
        "scores[j] = (q . k[j]) / sqrt(D), weights = softmax(scores), out = sum over j of "
        "weights[j] * v[j]. A program computes one head. It passes once over k and v, some 32 to "
        "256 keys at a time, and keeps three things: the greatest score so far, the sum of "
        "weights, the weighted sum of v. Inputs are float16 or float32, D is 16, 32, 64 or 128. "
        "Rows of k and v are D neighbours. Rows may lie further apart than D, and heads further "
        "than N rows; both arrays have the same strides. Compute in float32. out is contiguous and "
        "has q's dtype."
    ),
    points=9,
    minutes=60,
    difficulty=4,
    core=True,
    hints=(
        "softmax_online of lesson 07 with two changes: the scores are computed where they were "
        "loaded, and beside the sum of weights a second sum is kept, of weights times rows of v.",
        "keys is a tile (BC, D) and the query a row of D: tl.sum(query * keys, 1) gives BC "
        "scores. Rows past N are not loaded, and their scores must be -inf, not 0.",
        "When the greatest score grows from m to m_new, all that has been summed was measured "
        "against the old m. Which factor repairs total and acc?",
    ),
    small=case(H=1, N=4, D=16, GAP=0),
    full=case(H=8, N=32_768, D=64, GAP=0),
    parameters=_OF_ONE_QUERY,
    **_ONE_QUERY,
    cases=(
        case(H=1, N=1, D=16, GAP=0),
        case(H=2, N=1, D=16, GAP=0, draws=ABYSS),
        case(H=2, N=37, D=32, GAP=3, draws=FAR_BELOW),
        case(H=2, N=300, D=64, GAP=8, dtypes=HALF),
        case(H=2, N=600, D=32, GAP=0, draws=FAR_APART),
        case(H=1, N=200, D=32, GAP=0, dtypes=HALF, draws=HUGE),
        case(H=1, N=1500, D=32, GAP=0, dtypes=HALF, draws=ONE_SIGN),
        case(True, H=3, N=1024, D=64, GAP=0),
    ),
    shares="2 * H",
    budget=Budget(
        {
            "load q": "rows(H, D)",
            "load k": "rows(H * N, D, D + GAP)",
            "load v": "rows(H * N, D, D + GAP)",
            "store out": "rows(H, D)",
        },
        why="Everything once. Scores and weights never leave the program.",
    ),
    shared_bytes=SHARED_BYTES,
    spill_bytes="512",
)

#: Attention of all queries, in tiles.
_TILED: dict[str, Any] = {
    "small": case(H=1, N=4, D=16, GAP=0),
    "full": case(dtypes=HALF, H=8, N=2048, D=64, GAP=0),
    "parameters": (
        *(Array(name, "H, N, D", within="H, N + GAP, D + GAP") for name in "qkv"),
        Array("out", "H, N, D", Role.OUT, contiguous=True),
    ),
    "tolerance": TOLERANCE,
    "launch": Launcher(),
    "shares": "H * N / 64",
    "shared_bytes": SHARED_BYTES,
}

flash_forward = KernelExercise(
    name="flash_forward",
    title="A tile of queries",
    task=(
        "out[h] = softmax(q[h] k[h]^T / sqrt(D)) v[h] for H heads, all arrays (H, N, D). A program "
        "computes 64 queries of one head, or more, and passes once over that head's k and v, some "
        "16 to 128 keys at a time (128 of float32 fit with `num_stages=1`). No score and no weight "
        "reaches memory. Inputs are float16 with D = 16, 32, 64 or 128, or float32 with D = 16, 32 "
        "or 64; N is anything. Rows of q, k and v are D neighbours; rows may lie further apart "
        "than D, and heads further than N rows, in all three alike. Maximum, sums and the output's "
        "accumulator are float32; tl.dot may take weights in v's dtype, and products of float32 "
        "inputs are float32 and not TF32, tl.dot's default. out is contiguous and has q's dtype."
    ),
    points=14,
    minutes=90,
    difficulty=5,
    core=True,
    hints=(
        "Begin with attend_one_query and give everything a first axis of BR queries: m and total "
        "become (BR,), acc (BR, D), scores (BR, BC).",
        "Two products: tl.dot(queries, tl.trans(keys)) is (BR, BC), and tl.dot(weights.to(v's "
        'dtype), values) is (BR, D). Say input_precision="ieee" for the float32 cases.',
        "A factor for each row multiplies a whole row of acc: rescale[:, None]. Rows past N are "
        "masked at the load of q and at the store; keys past N get the score -inf. What is left "
        "is the order in the loop: which of m, total and acc must still be old when rescale is "
        "computed?",
    ),
    operations="4 * H * N * N * D",
    **_TILED,
    reference=_attention,
    magnitude=_size,
    slips={
        **_slips(_sized),
        **slips_of_tiles(),
        "queries in the place of keys": lambda q, k, v: _attention(q, q, v),
    },
    cases=(
        case(H=1, N=1, D=16, GAP=0),
        case(H=2, N=1, D=16, GAP=0, draws=ABYSS),
        case(H=2, N=37, D=32, GAP=3, draws=FAR_BELOW),
        case(H=2, N=100, D=64, GAP=8, dtypes=HALF),
        case(H=1, N=200, D=32, GAP=0, draws=FAR_APART),
        case(H=1, N=130, D=32, GAP=0, dtypes=HALF, draws=HUGE),
        case(H=1, N=1024, D=16, GAP=0, dtypes=HALF, draws=ONE_SIGN),
        case(True, H=5, N=192, D=32, GAP=0),
        case(True, H=2, N=256, D=64, GAP=0, dtypes=HALF),
    ),
    budget=Budget(
        {
            "load q": "rows(H * N, D, D + GAP)",
            "load k": "cdiv(N, 64) * rows(H * N, D, D + GAP)",
            "load v": "cdiv(N, 64) * rows(H * N, D, D + GAP)",
            "store out": "rows(H * N, D)",
        },
        why="Q and out once; all of K and V for each tile of 64 queries.",
    ),
)

#: A program may take a tile from either end, so that all have the same to do: T is 2 * pairs.
_PAIRS = "cdiv(N, 128)"
#: Where T is odd, the tile in the middle may be a pair of its own: it is worked out twice.
_PAIRED = "H * (N + min(N, 64) * (cdiv(N, 64) % 2))"

flash_causal = KernelExercise(
    name="flash_causal",
    title="Nothing from the future",
    task=(
        "flash_forward with the causal rule: query i attends to keys 0 to i. A tile of 64 queries "
        "or more loads the keys up to its last query and no tile beyond; load at most 64 keys at "
        "a time. Everything else is as in flash_forward."
    ),
    points=9,
    minutes=45,
    difficulty=3,
    hints=(
        "Two changes to flash_forward: where the loop ends, and which scores become -inf.",
        "Program t holds the queries from t * BR to t * BR + BR - 1. The last key that any of "
        "them needs has the number of its last query.",
        "In the tiles on the diagonal row i keeps the columns j with j <= i. Is the comparison "
        "between numbers within the tile, or between positions?",
    ),
    operations="2 * H * N * N * D",
    **_TILED,
    reference=_causal,
    magnitude=partial(_size, causal=True),
    slips={
        **_slips(partial(_sized, causal=True)),
        **slips_of_tiles(causal=True),
        "queries in the place of keys": lambda q, k, v: _causal(q, q, v),
        "every key, those of the future, too": _attention,
        "one key too many, the first of the future": lambda q, k, v: _seen(q, k, v, 1),
        "one key too few, the query's own left out": lambda q, k, v: _seen(q, k, v, -1),
        **_slips_of_the_diagonal(),
    },
    cases=(
        case(H=1, N=1, D=16, GAP=0),
        case(H=2, N=1, D=16, GAP=0, draws=ABYSS),
        case(H=2, N=37, D=32, GAP=3, draws=FAR_BELOW),
        case(H=2, N=100, D=64, GAP=8, dtypes=HALF, draws=HUGE),
        case(H=1, N=200, D=32, GAP=0, draws=FAR_APART),
        case(H=1, N=1024, D=16, GAP=0, dtypes=HALF, draws=ONE_SIGN),
        case(True, H=5, N=256, D=32, GAP=0),
        case(True, H=1, N=512, D=64, GAP=0, dtypes=HALF),
    ),
    budget=Budget(
        {
            "load q": f"rows({_PAIRED}, D, D + GAP)",
            "load k": f"{_PAIRS} * (2 * {_PAIRS} + 1) * rows(H * min(N, 64), D, D + GAP)",
            "load v": f"{_PAIRS} * (2 * {_PAIRS} + 1) * rows(H * min(N, 64), D, D + GAP)",
            "store out": f"rows({_PAIRED}, D)",
        },
        why=(
            "Tile t of 64 queries loads t tiles of 64 keys, counted from 1: with T tiles that is "
            "T * (T + 1) / 2 of the T * T."
        ),
    ),
)

flash_decode = KernelExercise(
    name="flash_decode",
    title="One query, many programs",
    task=(
        "The same task as attend_one_query, for few heads and very long k and v: each head's keys "
        "are split into chunks of 128 to 512, a program for each chunk of each head. A program "
        "stores what it has: its greatest score, its sum of weights, its weighted sum of v, in "
        "float32. A second kernel, a program a head, combines the chunks. Everything else is as "
        "in attend_one_query."
    ),
    points=5,
    minutes=60,
    difficulty=4,
    bonus=True,
    hints=(
        "The first kernel is attend_one_query with a loop that begins and ends elsewhere, and "
        "without the division at its end. The launcher makes room for the parts: (H, chunks, D) "
        "and twice (H, chunks).",
        "To combine: the greatest score of all chunks, then for each chunk the factor that you "
        "know from the loop, exp(its m - the greatest).",
        "The number of chunks is no power of two: tl.arange(0, CHUNKS) with CHUNKS = "
        "triton.next_power_of_2(chunks) and a mask. Which `other` does each of the three loads "
        "need, so that a chunk that does not exist adds nothing?",
    ),
    small=case(H=1, N=4, D=16, GAP=0),
    full=case(H=8, N=32_768, D=64, GAP=0),
    parameters=_OF_ONE_QUERY,
    **_ONE_QUERY | {"slips": _ONE_QUERY["slips"] | _slips_of_chunks()},
    cases=(
        case(H=1, N=1, D=16, GAP=0),
        case(H=2, N=1, D=16, GAP=0, draws=ABYSS),
        case(H=2, N=700, D=32, GAP=3, draws=FAR_BELOW),
        case(H=2, N=1000, D=64, GAP=8, dtypes=HALF, draws=HUGE),
        case(H=2, N=1700, D=32, GAP=0, draws=FAR_APART),
        case(H=1, N=1500, D=32, GAP=0, dtypes=HALF, draws=ONE_SIGN),
        case(True, H=8, N=1024, D=64, GAP=0, dtypes=HALF),
        case(True, H=1, N=16384, D=64, GAP=0, dtypes=HALF),
    ),
    shares="H * N / 512",
    budget=Budget(
        {
            "load q": "cdiv(N, 128) * rows(H, D)",
            "load k": "rows(H * N, D, D + GAP) + H * cdiv(N, 128) * (D / 4 + 5)",
            "load v": "rows(H * N, D, D + GAP)",
            "store out": "rows(H, D)",
        },
        why=(
            "K and V once, the query once a chunk of 128. K's row has room for the parts, which "
            "have no row of their own: D + 2 float32 numbers written and read for each chunk."
        ),
    ),
    spill_bytes="512",
)

flash_gqa = KernelExercise(
    name="flash_gqa",
    title="Heads that share keys",
    task=(
        "One query for each of H = G * R heads: q and out are (G * R, D). k and v have only G "
        "heads, (G, N, D): query heads g * R to g * R + R - 1 all attend to head g of k and v. "
        "A program takes one g and its R queries, and passes once over k[g] and v[g]. R is 1 to "
        "32, D at most 64 in float32. Products of float32 inputs are float32 and not TF32, the "
        "default of tl.dot. Everything else is as in attend_one_query."
    ),
    points=5,
    minutes=45,
    difficulty=4,
    bonus=True,
    hints=(
        "The R queries of a group are a tile of queries: this is flash_forward with another "
        "meaning of its rows.",
        "R is no power of two, and tl.arange wants one; tensor cores multiply 16 rows at a time. "
        "BR = max(16, triton.next_power_of_2(R)) rows, with a mask for those from R on.",
        "Row r of the tile is row g * R + r of q and out. What would an unmasked row R read?",
    ),
    small=case(G=1, R=2, N=4, D=16, GAP=0),
    full=case(G=8, R=8, N=32_768, D=64, GAP=0),
    parameters=(
        Array("q", "G * R, D"),
        Array("k", "G, N, D", within="G, N + GAP, D + GAP"),
        Array("v", "G, N, D", within="G, N + GAP, D + GAP"),
        Array("out", "G * R, D", Role.OUT, contiguous=True),
    ),
    **_ONE_QUERY
    | {
        "slips": {
            **_ONE_QUERY["slips"],
            "query head h attends to head h % G of the keys": _dealt_in_turn,
        }
    },
    cases=(
        case(G=1, R=1, N=1, D=16, GAP=0),
        case(G=2, R=3, N=1, D=16, GAP=0, draws=ABYSS),
        case(G=2, R=3, N=37, D=32, GAP=3, draws=FAR_BELOW),
        case(G=2, R=8, N=300, D=64, GAP=8, dtypes=HALF, draws=HUGE),
        case(G=2, R=5, N=400, D=32, GAP=0, draws=UNEVEN),
        case(G=1, R=17, N=1100, D=16, GAP=0, dtypes=HALF, draws=ONE_SIGN),
        case(True, G=2, R=8, N=512, D=64, GAP=0, dtypes=HALF),
    ),
    shares="2 * G",
    budget=Budget(
        {
            "load q": "cdiv(N, 256) * rows(G * R, D)",
            "load k": "rows(G * N, D, D + GAP) + G * R * cdiv(N, 256) * (D / 4 + 5)",
            "load v": "rows(G * N, D, D + GAP)",
            "store out": "rows(G * R, D)",
        },
        why=(
            "K and V once for all R heads of a group, not once a head. The queries may be read for "
            "each chunk of 256 keys, and K's row has room for the parts, which have no row."
        ),
    ),
    shared_bytes=SHARED_BYTES,
)

debug_attention = NumberExercise(
    name="debug_attention",
    title="Right in the tests, wrong in use",
    task=(
        "P, Q and R above passed their authors' tests. Of each find the line where the first wrong "
        "value comes up, its kind, and a formula. Lines count from the decorator, which is line 1. "
        "The names below get other values in the check, so write formulas in them where a number "
        f"depends on them. Kinds: {kinds_in_words(len(KINDS))}."
    ),
    points=6,
    minutes=45,
    difficulty=3,
    hints=(
        "The size at which it turns wrong says much: 46,341 is the root of 2**31, rounded up; "
        "2,048 is 2**11, and a float16 has 11 digits of base 2.",
        "P: trace the first turn of a size that is wrong, and look at signs. Q: eight keys show it "
        "in two turns, if the first four values are 2,048 and the others 1. R: write down for each "
        "head which head of keys it gets.",
        "Q: beside 2,048 * BC the neighbours of a float16 lie 2 * BC apart, and half of that is "
        "rounded to even.",
    ),
    questions={
        "P_line": line_question(
            "P: the line where the first wrong value comes up",
            15,
            {
                16: "Line 16 shows scores that are too large. What is far, one line above?",
                14: "gap is right: N, N - 1, and so on down.",
                11: "A place is below N * D here, which fits.",
                19: "Line 19 works with the scores it gets. Are they right?",
                20: "Line 20 works with the scores it gets. Are they right?",
                24: "Line 24 divides what has been wrong since the first turn. Trace it.",
            },
        ),
        "P_kind": kind_question(
            "P",
            "overflow",
            len(KINDS),
            {
                "rounding": "A square that comes out below zero has lost more than last digits.",
                "index": "It reads the right keys. What is far for the first of them?",
                "mask": "Each key that exists takes part, and no other. What is far?",
                "rescale": "Total and acc are rescaled. Are the scores right?",
            },
        ),
        "P_row": Question(
            "another kernel computes row * STRIDE, both int32: the first row, counted from 0, "
            "whose product does not fit",
            "cdiv(2**31, STRIDE)",
            "a row",
            slips={
                "2**31 // STRIDE": "That row's product is still below 2**31.",
                "cdiv(2**32, STRIDE)": "One bit of the 32 is the sign.",
                "2**32 // STRIDE": "One bit of the 32 is the sign.",
                "cdiv(2**31, STRIDE) - 1": "That is the last one that fits.",
            },
        ),
        "Q_line": line_question(
            "Q: the line on which digits are lost, turn after turn",
            21,
            {
                7: "Zeros lose no digits. On which line is a sum put into that type again?",
                20: "step is float32, and right. Which value stops growing?",
                19: "total is float32, and right. Which value stops growing?",
                23: "Line 23 divides what is too small already.",
            },
        ),
        "Q_kind": kind_question(
            "Q",
            "rounding",
            len(KINDS),
            {
                "overflow": "float16 ends at 65,504, and beyond comes inf. acc stays far below.",
                "rescale": "All scores are equal: each factor but the first is 1.",
                "mask": "N is a multiple of BC, and total is right.",
                "start": "acc begins with 0, rightly. Where does it stop growing?",
            },
        ),
        "Q_mean": Question(
            "Q: what comes out where all keys are equal and all values are 1, for N a multiple of "
            "BC and BC a power of two, 16 at most",
            "min(N, 2048 * BC) / N",
            "the output",
            1e-3,
            slips={
                "2048 * BC / N": "Below that nothing is lost: the mean of ones is 1.",
                "min(N, 2048) / N": "Each turn adds BC at once.",
                "min(N, 1024 * BC) / N": "There a step of BC is still one whole space.",
                "min(N, 4096 * BC) / N": "It never comes so far: a step is half a space before.",
                "1": "With N = 9,000 and BC = 4: what is N times the output?",
            },
        ),
        "R_line": line_question(
            "R: the line where the first wrong value comes up",
            4,
            {
                3: "Each head of queries has a program.",
                13: "The places follow from group. Is that the right one?",
                14: "The keys are of another head. Who says which one?",
                24: "Each head stores to its own row. What has it read?",
            },
        ),
        "R_kind": kind_question(
            "R",
            "index",
            len(KINDS),
            {
                "race": "Each program stores to a row of its own.",
                "mask": "The keys that are read exist. Whose are they?",
                "rescale": "With one head of keys the same lines are right.",
            },
        ),
        "R_group": Question(
            "R: the head of keys that belongs to query head HEAD, where H heads of queries share G "
            "of keys, neighbours the same one",
            "HEAD // (H // G)",
            "a head of keys, from 0",
            slips={
                "HEAD % G": "That is what the kernel does.",
                "HEAD // G": "H // G neighbours share one.",
                "HEAD % (H // G)": "That is its place among those that share.",
            },
        ),
    },
    columns={
        "STRIDE": "elements from one row to the next",
        "N": "keys of Q",
        "BC": "keys of a turn of Q",
        "H": "heads of queries of R",
        "G": "heads of keys of R",
        "HEAD": "one of the H heads, from 0",
    },
    cases=(
        case(STRIDE=46_341, N=9000, BC=4, H=8, G=2, HEAD=1),
        case(STRIDE=65_536, N=34_000, BC=16, H=12, G=3, HEAD=10),
        case(STRIDE=100_000, N=2048, BC=2, H=32, G=8, HEAD=13),
    ),
)
