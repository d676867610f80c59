"""Lesson 11: the gradients of attention, without its N x N matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from course.exercises.attention import (
    KEPT,
    LARGEST_LATE,
    LAST_KEY,
    LATE,
    TILES,
    in_tiles,
    of_some_keys,
)
from course.plain.tiles import tiles_turned
from course.spec.draws import Draw, described, spread, uniform
from course.spec.exercise import Array, Budget, KernelExercise, Role, Scalar, case, halves
from course.spec.launching import Launcher
from course.spec.once import once

#: Relative to the sums of absolute products below. float32: the solutions err by 2.4e-5 where the
#: scores are near 100, because a score's last digit counts there; float16 operands err by more
#: than 1e-3. float16: an output is rounded once, and so are the weights that `tl.dot` takes, each
#: by at most 2**-11 = 4.9e-4 of itself, or by 3e-8 where a weight is below 6e-5 (subnormal).
#: lse is float32, and PyTorch's flash kernel keeps it to 7e-5 of float16 inputs. With q scaled in
#: float16 it is off by 5e-4 to 7e-3 (D = 32), which is wrong; a dq with it is right to its digits.
TOLERANCE = {"float16": (2.5e-3, 2e-5), "float32": (1e-4, 0.0)}
#: A sum of D products in float32 errs by less than 4e-7 of their absolute sum.
SUM_TOLERANCE = {"float32": (2e-6, 0.0)}
MOST_OF_HALF = float(np.finfo(np.float16).max)
#: What a T4 gives a program.
SHARED_BYTES = "64 * 1024"
#: Beyond this exp overflows float32 (from 88.8 on), on either side of zero.
FAR = 105.0


def near(root: float, words: str) -> Draw:
    """Rows (..., D) of which two have a product of about root**2 * sqrt(D)."""

    @described(words)
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        size = root / shape[-1] ** 0.25
        return (size * rng.uniform(0.95, 1.05, shape)).astype(dtype)

    return draw


def first_key(root: float, others: float, words: str) -> Draw:
    """Rows (..., N, D) as `near` draws them: the first with `root`, the rest with `others`."""

    @described(words)
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        rows = near(others, words)(rng, shape, dtype)
        rows[..., 0, :] *= dtype.type(root / others)
        return rows

    return draw


@described("scores that climb from near -105 to near 105, key by key")
def climbing(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Rows (..., N, D) as `near` draws them, from the first one's sign turned to the last one's."""
    rows = near(FAR**0.5, "")(rng, shape, np.dtype(np.float64))
    return (rows * np.linspace(-1.0, 1.0, shape[-2])[:, None]).astype(dtype)


def opposed(low: float, high: float, below: Callable[[int], slice], words: str) -> Draw:
    """Rows (..., N, D) from `low` to `high`; those of the slice `below(N)` from -high to -low."""

    @described(f"{low:g} to {high:g}{words}")
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        rows = rng.uniform(low, high, shape)
        rows[..., below(shape[-2]), :] *= -1
        return rows.astype(dtype)

    return draw


def turning(low: float, high: float) -> Draw:
    """The second half of the rows is below zero."""
    words = " in the first half of the rows, below zero in the second"
    return opposed(low, high, lambda rows: slice(rows // 2, None), words)


def alternating(low: float, high: float) -> Draw:
    """Every second row is below zero."""
    return opposed(low, high, lambda _: slice(1, None, 2), ", every second row below zero")


#: Scores far apart: a few keys of each query get nearly all weight.
FAR_APART: dict[str, Draw] = dict.fromkeys(("q", "k"), spread(3.0, why=", scores far apart"))
#: Every score near 105, and every score near -105.
FAR_ABOVE: dict[str, Draw] = dict.fromkeys(("q", "k"), near(FAR**0.5, "every score near 105"))
FAR_BELOW: dict[str, Draw] = {
    "q": near(FAR**0.5, "every score near -105"),
    "k": near(-(FAR**0.5), "every score near -105"),
}
#: What the future of an early query holds lies so far above what it has seen that exp of the
#: difference overflows: a weight of inf, which no multiplication with 0 takes away.
CLIMBING: dict[str, Draw] = {"q": FAR_ABOVE["q"], "k": climbing}
#: Scores near 105, which float16 rounds by up to 1 / 32, and terms of dq that are as large as the
#: sum of their products' absolute values: otherwise the rounding of a score drowns in that sum.
OPPOSED: dict[str, Draw] = {**FAR_ABOVE, "v": alternating(0.5, 1.0), "dout": uniform(0.5, 1.0)}
#: Weights nearly equal and values of one sign: before the division, the sum of 16 keys' values
#: passes 65,504, the most that float16 holds.
ONE_SIGN: dict[str, Draw] = {"q": uniform(-0.1, 0.1), "v": uniform(4096.0, 8192.0)}
#: The first key has most of the weight of every query, so that its gradients are sums over all of
#: them. The first 64 queries pull it by 180,000 and more, the others back: halfway, the sums are
#: more than float16 holds. At the end they are not, with 128 to 144 queries.
TURNING_QUERIES: dict[str, Draw] = {
    "q": near(2.4, "every score of the first key near 5.8"),
    "k": first_key(2.4, 0.01, "every other score near 0"),
    "v": first_key(1.0, -1.0, "below zero, except the first key's"),
    "dout": turning(3500.0, 4500.0),
}
#: Weights nearly equal. The values of the first half of the keys pull each query's gradient by
#: 150,000 and more, the others back.
TURNING_KEYS: dict[str, Draw] = {
    "q": uniform(-0.01, 0.01),
    "k": uniform(16.0, 20.0),
    "v": turning(64.0, 72.0),
    "dout": uniform(64.0, 72.0),
}


HALF = halves("q", "k", "v", "out")
HALF_ROWS = halves("out", "dout")
HALF_KV = halves("q", "k", "v", "dout", "dk", "dv")
HALF_Q = halves("q", "k", "v", "dout", "dq")


@once
def _softmax(q: np.ndarray, k: np.ndarray, causal: bool) -> tuple[np.ndarray, np.ndarray]:
    """(weights, log-sum-exp of each row of scores) of q and k, both (H, N, D)."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores[:, ~np.tri(q.shape[1], dtype=bool)] = -np.inf
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(axis=-1, keepdims=True)
    return weights / total, (top + np.log(total))[..., 0]


def _top(q: np.ndarray, k: np.ndarray, causal: bool) -> np.ndarray:
    """The largest score of each row."""
    weights, lse = _softmax(q, k, causal)
    result: np.ndarray = np.log(weights.max(axis=-1)) + lse
    return result


def _forward(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> dict[str, np.ndarray]:
    weights, lse = _softmax(q, k, causal)
    return {"out": weights @ v, "lse": lse}


def _forward_size(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool
) -> dict[str, np.ndarray]:
    """An error of lse is a relative error of every weight that is computed with it."""
    weights, lse = _softmax(q, k, causal)
    return {"out": weights @ np.abs(v), "lse": np.maximum(1.0, np.abs(lse) / 20)}


def _lse(q: np.ndarray, k: np.ndarray, causal: bool, **_: np.ndarray) -> np.ndarray:
    return _softmax(q, k, causal)[1]


def _delta(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, dout: np.ndarray, causal: bool, **_: np.ndarray
) -> np.ndarray:
    return np.sum(_forward(q, k, v, causal)["out"] * dout, axis=-1)


def gradients(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, dout: np.ndarray, causal: bool, **_: np.ndarray
) -> dict[str, np.ndarray]:
    """dq, dk and dv, each (H, N, D)."""
    weights = _softmax(q, k, causal)[0]
    dweights = dout @ v.swapaxes(-1, -2)
    delta = np.sum(weights * dweights, axis=-1, keepdims=True)
    of_scores = weights * (dweights - delta) / np.sqrt(q.shape[-1])
    return _products(weights, of_scores, q, k, dout)


def gradient_sizes(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, dout: np.ndarray, causal: bool, **_: np.ndarray
) -> dict[str, np.ndarray]:
    """The same sums with every product's absolute value: dp and delta are sums that cancel."""
    weights = _softmax(q, k, causal)[0]
    dweights = np.abs(dout) @ np.abs(v).swapaxes(-1, -2)
    delta = np.sum(weights * dweights, axis=-1, keepdims=True)
    terms = weights * (dweights + delta) / np.sqrt(q.shape[-1])
    return _products(weights, terms, np.abs(q), np.abs(k), np.abs(dout))


def _products(
    weights: np.ndarray, of_scores: np.ndarray, q: np.ndarray, k: np.ndarray, dout: np.ndarray
) -> dict[str, np.ndarray]:
    """What follows from the weights and the gradients of the scaled scores, both (H, N, N)."""
    return {
        "dq": of_scores @ k,
        "dk": of_scores.swapaxes(-1, -2) @ q,
        "dv": weights.swapaxes(-1, -2) @ dout,
    }


def _from_left(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    dout: np.ndarray,
    lse: np.ndarray,
    delta: np.ndarray,
    causal: bool,
    weigh: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda s, lse: np.exp(s - lse),
    of_keys: bool = False,
    ds_in_dv: bool = False,
    p_in_dq: bool = False,
    turned: Mapping[str, int] = MappingProxyType({}),
    dp: str = "dout v",
    ds_of: Callable[..., np.ndarray] = lambda p, dp, delta: p * (dp - delta),
    tile: int = 1,
    counts: Callable[[np.ndarray, np.ndarray, bool], np.ndarray] | None = None,
    **others: str,
) -> dict[str, np.ndarray]:
    """The gradients, and how large their terms are together, as kernels compute them after a slip.

    Args:
        weigh: weights of scores, scaled and -inf for the future, and of lse.
        of_keys: lse and delta are looked up by key.
        ds_in_dv: gradients of scores, not scaled, are in the weights' place for dv.
        p_in_dq: weights are in their place for dq.
        turned: gradients whose products take square tiles of so many rows the other way round.
        dp: the two factors of the weights' gradients.
        ds_of: gradients of scores, not scaled, of weights, their gradients and delta, and that
            wherever a program of so many rows (`tile`) comes to.
        counts: which pairs of a query and a key count, of their places and `causal`; else all.
        others: by gradient: what is in its product beside the weights or gradients of scores.
    """
    root = np.sqrt(q.shape[-1])
    place = np.arange(q.shape[1])
    seen = np.tri(q.shape[1], dtype=bool) if causal else np.ones(2 * q.shape[1:2], bool)
    if counts is not None:
        seen &= counts(place[:, None], place, causal)
    lse, delta = (one[:, None, :] if of_keys else one[..., None] for one in (lse, delta))
    scores = np.where(seen, q @ k.swapaxes(-1, -2) / root, -np.inf)
    weights = np.where(seen, weigh(scores, lse), 0.0)
    given = {"q": q, "k": k, "v": v, "dout": dout}
    left, right = (given[name] for name in dp.split())
    tiles = place // tile
    come_to = tiles[:, None] >= tiles if causal else True
    ds = ds_of(weights, left @ right.swapaxes(-1, -2), delta) * come_to
    size = ds_of(weights, np.abs(left) @ np.abs(right).swapaxes(-1, -2), -np.abs(delta)) * come_to
    of = {"dk": "q", "dq": "k", "dv": "dout"} | others
    factors = [given[of[name]] for name in ("dk", "dq", "dv")]
    found = _products(ds if ds_in_dv else weights, ds / root, *factors)
    inputs = [np.abs(one) for one in factors]
    sizes = _products(size if ds_in_dv else weights, size / root, *inputs)
    if p_in_dq:
        found["dq"], sizes["dq"] = weights @ k / root, weights @ np.abs(k) / root
    for name, terms, axis in (("dk", size, -2), ("dv", weights, -2), ("dq", size, -1)):
        # a factor that float16 does not hold makes the sum infinite or NaN
        beyond = np.where(terms.max(axis) > MOST_OF_HALF, MOST_OF_HALF + 1, 0.0)
        sizes[name] = np.maximum(sizes[name], beyond[..., None])
    for name, tile in turned.items():
        p = tiles_turned(weights, tile)
        found[name] = _products(p, tiles_turned(ds / root, tile), *factors)[name]
        sizes[name] = _products(p, tiles_turned(size / root, tile), *inputs)[name]
    return found | {f"size of {name}": one for name, one in sizes.items()}


def _from_the_second_on(
    keys: bool, tile: int, row: np.ndarray, column: np.ndarray, causal: bool
) -> np.ndarray:
    """The pairs of a loop over tiles of keys, or of queries, that leaves out the first tile.

    With the causal rule a program of 64 keys begins at its own place.
    """
    first = column // 64 * 64 if causal and not keys else 0
    return (column >= tile) & (row >= 0) if keys else (row >= first + tile) & (column >= 0)


def _of_tiles_alone(s: np.ndarray, _: np.ndarray, tile: int) -> np.ndarray:
    """A softmax of each query's scores in every tile of so many keys by itself."""
    parts = []
    for start in range(0, s.shape[-1], tile):
        part = s[..., start : start + tile]
        weights = np.exp(part - part.max(axis=-1, keepdims=True))
        parts.append(weights / weights.sum(axis=-1, keepdims=True))
    return np.concatenate(parts, axis=-1)


def _not_scaled(q: np.ndarray, **of: Any) -> dict[str, np.ndarray]:
    """dq without the factor that its scores were scaled by."""
    return {name: one * np.sqrt(q.shape[-1]) for name, one in _from_left(q, **of).items()}


def _scaled(scale: Callable[[int, int], float], q: np.ndarray, **of: Any) -> dict[str, np.ndarray]:
    """Scores, dk and dq times a scale of N and D in the place of D**-0.5."""
    times = scale(*q.shape[1:]) * np.sqrt(q.shape[-1])
    found = _from_left(q, weigh=lambda s, lse: np.exp(s * times - lse), **of)
    return {name: one * (1 if name.endswith("dv") else times) for name, one in found.items()}


def _last_read_as_0(name: str, **given: Any) -> dict[str, np.ndarray]:
    """The gradients where the last place along N of one array is 0."""
    array = given[name].copy()
    array[:, -1] = 0
    return _from_left(**{**given, name: array})


def _only(names: tuple[str, ...], of: Any) -> Any:
    """`of` as a reference of an exercise that asks for some of its gradients."""
    wanted = (*names, *(f"size of {name}" for name in names))

    def reference(**given: Any) -> dict[str, np.ndarray]:
        return {name: one for name, one in of(**given).items() if name in wanted}

    return reference


def _slips(*names: str) -> dict[str, Any]:
    """Of the two kernels that compute gradients from what the forward pass left."""
    slips: dict[str, Any] = {
        "delta never subtracted": lambda delta, **of: _from_left(delta=0 * delta, **of),
        "exp2 of a difference that is meant for exp": partial(
            _from_left, weigh=lambda s, lse: np.exp2(s - lse)
        ),
        "scores turned to the base 2 for exp2, and lse not": partial(
            _from_left, weigh=lambda s, lse: np.exp2(s / np.log(2) - lse)
        ),
        "scores that are never scaled": lambda q, **of: _from_left(
            q=q, weigh=lambda s, lse: np.exp(s * np.sqrt(q.shape[-1]) - lse), **of
        ),
        "D**0.5 in the place of D**-0.5": partial(_scaled, lambda n, d: d**0.5),
        "N**-0.5 in the place of D**-0.5": partial(_scaled, lambda n, d: n**-0.5),
        "lse added, where it is subtracted": partial(
            _from_left, weigh=lambda s, lse: np.exp(s + lse).astype(np.float32)
        ),
        LAST_KEY: partial(
            _from_left, counts=lambda row, column, _: (column < len(row) - 1) & (row >= 0)
        ),
        "the last query left out, as by a mask `rows < N - 1`": partial(
            _from_left, counts=lambda row, column, _: (row < len(row) - 1) & (column >= 0)
        ),
        **{
            f"the last row of {name} read as 0, as by a mask that ends at N - 1": partial(
                _last_read_as_0, name
            )
            for name in ("q", "k", "v", "dout", "lse", "delta")
        },
        "dp scaled, and delta, which is subtracted from it, not": lambda q, delta, **of: _from_left(
            q=q, delta=delta * np.sqrt(q.shape[-1]), **of
        ),
        "delta added, where it is subtracted": lambda delta, **of: _from_left(delta=-delta, **of),
        "lse in the place of delta": lambda lse, delta, **of: _from_left(lse=lse, delta=lse, **of),
        "lse and delta looked up by key, where they are the query's": partial(
            _from_left, of_keys=True
        ),
    }
    for factors in ("dout k", "q v", "dout dout", "q k"):
        said = "{} times {} transposed, where dout times v transposed belongs"
        slips[said.format(*factors.split())] = partial(_from_left, dp=factors)
    for name, right, others in (("dk", "q", "k v dout"), ("dv", "dout", "q v"), ("dq", "k", "q v")):
        for other in others.split() if name in names else ():
            said = f"{other} in the product of {name}, where {right} belongs"
            factor: dict[str, Any] = {name: other}
            slips[said] = partial(_from_left, **factor)
    for tile in (1, *TILES):
        there = f", in tiles of {tile}" if tile > 1 else ""
        slips[f"p * dp - delta, without brackets{there}"] = partial(
            _from_left, ds_of=lambda p, dp, delta: p * dp - delta, tile=tile
        )
        slips[f"dp - delta, not multiplied by p{there}"] = partial(
            _from_left, ds_of=lambda p, dp, delta: dp - delta + 0 * p, tile=tile
        )
    for tile in TILES:
        slips[f"a softmax of each tile of {tile} keys by itself, not of the row that lse is of"] = (
            partial(_from_left, weigh=partial(_of_tiles_alone, tile=tile))
        )
        if tile <= LARGEST_LATE:
            slips[LATE.format(tile=tile, what="keys" if "dq" in names else "queries")] = partial(
                _from_left, counts=partial(_from_the_second_on, "dq" in names, tile)
            )
    if "dv" in names:
        said = "gradients of the scores in the place of the weights in dv"
        slips[said] = partial(_from_left, ds_in_dv=True)
        for tile in TILES:
            for name, what in (("dv", "weights"), ("dk", "gradients of the scores")):
                said = f"tiles of {tile} x {tile} {what} not transposed, queries in the keys' place"
                slips[said] = partial(_from_left, turned={name: tile})
    else:
        for tile in TILES:
            said = f"tiles of {tile} x {tile} gradients of the scores transposed, keys for queries"
            slips[said] = partial(_from_left, turned={"dq": tile})
        slips["dq never scaled, though its scores were"] = _not_scaled
        said = "weights in the place of the gradients of the scores"
        slips[said] = partial(_from_left, p_in_dq=True)
    return {said: _only(names, slip) for said, slip in slips.items()}


def _of_forward(attend: Any, **more: Any) -> Any:
    """A slip of attention as one of an exercise that gives lse, too: the right one, or its own."""

    def reference(
        q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool
    ) -> dict[str, np.ndarray]:
        return _forward(q, k, v, causal) | attend(q, k, v, causal=causal, **more)

    return reference


def _counted_past_the_end(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool, tile: int
) -> dict[str, np.ndarray]:
    """Zeros past the end are keys, too, as far as a tile of keys reaches; no query is before."""
    beyond = ((0, 0), (0, 0 if causal else -k.shape[1] % tile), (0, 0))
    return _forward(q, np.pad(k, beyond), np.pad(v, beyond), causal)


def _bare_sum(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> dict[str, np.ndarray]:
    """lse of total * exp(m), which float32 may not hold."""
    top = _top(q, k, causal)
    total = np.exp(_lse(q, k, causal) - top)
    whole = (total * np.exp(top).astype(np.float32)).astype(np.float32)
    return _forward(q, k, v, causal) | {"lse": np.log(whole)}


def _undivided(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> dict[str, np.ndarray]:
    """out is weighed with exp of the scores less the largest."""
    right = _forward(q, k, v, causal)
    total = np.exp(right["lse"] - _top(q, k, causal))[..., None]
    size = _forward_size(q, k, v, causal)["out"] * total
    return right | {"out": right["out"] * total, "size of out": size}


def _slips_of_forward() -> dict[str, Any]:
    found: dict[str, Any] = {
        "scores that are never scaled": lambda q, k, v, causal: _forward(
            q * np.sqrt(q.shape[-1]), k, v, causal
        ),
        "scores divided by D, not by its root": lambda q, k, v, causal: _forward(
            q / np.sqrt(q.shape[-1]), k, v, causal
        ),
        "N**-0.5 in the place of D**-0.5": lambda q, k, v, causal: _forward(
            q * (q.shape[-1] / q.shape[1]) ** 0.5, k, v, causal
        ),
        LAST_KEY: partial(of_some_keys, keys=slice(None, -1), lse=True),
        "the weighted sum of v, not divided by the sum of weights": _undivided,
        "the logarithm of total * exp(m), a product that float32 may not hold": _bare_sum,
    }
    for tile in TILES:
        for said, kept in KEPT.items():
            if "acc" in kept:  # of `total` alone the lines tell more
                found[said.format(tile=tile)] = _of_forward(
                    in_tiles, tile=tile, kept=kept, lse=True
                )
        said = f"a score of 0, not -inf, for keys past the end in tiles of {tile}"
        found[said] = partial(_counted_past_the_end, tile=tile)
        if tile <= LARGEST_LATE:
            said = LATE.format(tile=tile, what="keys")
            found[said] = partial(of_some_keys, keys=slice(tile, None), lse=True)
    return found


def _close_rows(out: np.ndarray, dout: np.ndarray) -> dict[str, np.ndarray]:
    """Row r is taken from element r on."""
    width = out.shape[-1]
    products = (out * dout).ravel()
    found = np.lib.stride_tricks.sliding_window_view(products, width)[: out.size // width]
    shape = out.shape[:-1]
    size = np.abs(found).sum(axis=-1).reshape(shape)
    return {"delta": found.sum(axis=-1).reshape(shape), "size of delta": size}


def _but_the_last(sums: np.ndarray) -> np.ndarray:
    found = sums.copy()
    found[-1, -1] = 0
    return found


def _whole_tiles(out: np.ndarray, dout: np.ndarray, rows: int) -> dict[str, np.ndarray]:
    """Every row of a tile of so many has the sum of all of them."""
    sums = np.sum(out * dout, axis=-1)
    tiles = np.pad(sums.ravel(), (0, -sums.size % rows)).reshape(-1, rows)
    found = np.repeat(tiles.sum(axis=1), rows)[: sums.size].reshape(sums.shape)
    terms = np.sum(np.abs(out * dout), axis=-1)
    whole = np.pad(terms.ravel(), (0, -terms.size % rows)).reshape(-1, rows).sum(axis=1)
    size = np.repeat(whole, rows)[: sums.size].reshape(sums.shape)
    return {"delta": found, "size of delta": size}


_INPUTS = (Array("q", "H, N, D"), Array("k", "H, N, D"), Array("v", "H, N, D"))
_CAUSAL = Scalar("causal", "causal", "bool")
_LEFT_BY_FORWARD = (
    *_INPUTS,
    Array("dout", "H, N, D"),
    Array("lse", "H, N", computed=_lse),
    Array("delta", "H, N", computed=_delta),
)
#: T tiles of 64 are met by T tiles of 64, or by 1, 2, ... T of them with the causal rule.
_MET = "cdiv(N, 64) * (cdiv(N, 64) * (2 - causal) + causal) / 2"
_TILES = (
    "With T tiles of 64: each of them meets all T, T * T meetings; with the causal rule 1, 2, ... "
    "T, which makes T * (T + 1) / 2."
)
_SHAPES = "H is any number of heads, N anything, D {}; all arrays are contiguous"
#: Of a float32 tile of 64 rows and D = 64, what tl.dot needs is more than `SHARED_BYTES`.
_TILED_SHAPES = _SHAPES.format("16, 32 or 64 in float16, 16 or 32 in float32")

#: How every exercise of the lesson is launched and held.
_BY_TILES: dict[str, Any] = {
    "launch": Launcher(),
    "shares": "H * N / 64",
    "shared_bytes": SHARED_BYTES,
}

flash_lse = KernelExercise(
    name="flash_lse",
    title="One number a query, kept for later",
    task=(
        "out = softmax(q k^T / sqrt(D)) v for each head, as in lesson 10, and with it lse (H, N) "
        "in float32: lse[i] = log of the sum over j of exp(score[i, j]), the natural logarithm. "
        "q, k, v and out are (H, N, D), float16 or float32. "
        f"{_TILED_SHAPES}. Where causal is true, query i attends to keys 0 to i, and tiles that "
        "lie in the future are not loaded. A program computes 64 queries or more of one head and "
        "loads at most 64 keys at a time."
    ),
    points=6,
    minutes=40,
    difficulty=3,
    hints=(
        "At the end of the forward pass each row has its greatest score m and total, the sum of "
        "exp(score - m). The sum of exp(score) is total * exp(m): never compute that product, it "
        "may overflow.",
        "log(total * exp(m)) is a sum of two things that you have. With exp2 in place of exp, m "
        "and total are to the base 2: log(x) = log2(x) * log(2).",
        "lse is a row of N numbers a head: program (t, h) stores BR of them from h * N + t * BR "
        "on. Which mask?",
    ),
    small=case(H=1, N=4, D=16, causal=0),
    full=case(dtypes=HALF, H=8, N=2048, D=64, causal=1),
    operations="4 * H * N * N * D / (1 + causal)",
    parameters=(
        *_INPUTS,
        Array("out", "H, N, D", Role.OUT, contiguous=True),
        Array("lse", "H, N", Role.OUT, contiguous=True),
        _CAUSAL,
    ),
    reference=_forward,
    magnitude=_forward_size,
    tolerance=TOLERANCE,
    slips={
        "lse to the base 2, as scores for exp2 leave it": lambda q, k, v, causal: {
            **_forward(q, k, v, causal),
            "lse": _lse(q, k, causal) / np.log(2),
        },
        "the maximum, and the sum's logarithm to the base 2": lambda q, k, v, causal: {
            **_forward(q, k, v, causal),
            "lse": _top(q, k, causal) + (_lse(q, k, causal) - _top(q, k, causal)) / np.log(2),
        },
        "a maximum that was never scaled, and the sum's logarithm": lambda q, k, v, causal: {
            **_forward(q, k, v, causal),
            "lse": _lse(q, k, causal) + (np.sqrt(q.shape[-1]) - 1) * _top(q, k, causal),
        },
        "the largest score in the place of lse": lambda q, k, v, causal: {
            **_forward(q, k, v, causal),
            "lse": _top(q, k, causal),
        },
        "the logarithm of the sum subtracted from the maximum": lambda q, k, v, causal: {
            **_forward(q, k, v, causal),
            "lse": 2 * _top(q, k, causal) - _lse(q, k, causal),
        },
        "the sum added to the maximum, not its logarithm": lambda q, k, v, causal: {
            **_forward(q, k, v, causal),
            "lse": _top(q, k, causal) + np.exp(_lse(q, k, causal) - _top(q, k, causal)),
        },
        "the logarithm of the sum without the maximum": lambda q, k, v, causal: {
            **_forward(q, k, v, causal),
            "lse": _lse(q, k, causal) - _top(q, k, causal),
        },
        **_slips_of_forward(),
    },
    cases=(
        case(H=1, N=1, D=16, causal=0, dtypes=HALF),
        case(H=2, N=45, D=16, causal=0, draws=FAR_BELOW),
        case(H=1, N=100, D=16, causal=0, draws=FAR_ABOVE),
        case(H=2, N=142, D=64, causal=1, dtypes=HALF, draws=ONE_SIGN),
        case(H=2, N=70, D=64, causal=1, dtypes=HALF),
        case(True, H=8, N=128, D=64, causal=0, dtypes=HALF),
        case(True, H=2, N=256, D=64, causal=1, dtypes=HALF),
    ),
    **_BY_TILES,
    budget=Budget(
        {
            "load q": "rows(H * N, D)",
            "load k": f"{_MET} * rows(H * 64, D)",
            "load v": f"{_MET} * rows(H * 64, D)",
            "store out": "rows(H * N, D)",
            "store lse": "rows(H, N)",
        },
        why=f"Q, out and lse once. {_TILES}",
    ),
)

flash_delta = KernelExercise(
    name="flash_delta",
    title="The dot product of a row with its gradient",
    task=(
        "delta[h, i] = sum over d of out[h, i, d] * dout[h, i, d], in float32. out and dout are "
        "(H, N, D), both float16 or both float32, delta is (H, N). "
        f"{_SHAPES.format('16, 32 or 64')}. Multiply and add in float32. A program takes 16 to "
        "128 rows: it stores neighbours, not a lone number, and there are programs enough."
    ),
    points=4,
    minutes=25,
    difficulty=2,
    hints=(
        "The heads lie one after the other: out is H * N rows of D, whatever the head. One grid "
        "axis is enough.",
        "Load a tile (ROWS, D) of each with a mask for the rows past the end, .to(tl.float32) "
        "both, multiply.",
        "tl.sum(product, axis=...) leaves one number a row. Which axis goes, and what does the "
        "store's mask look like?",
    ),
    small=case(H=1, N=4, D=16),
    full=case(H=64, N=4096, D=64),
    parameters=(
        Array("out", "H, N, D"),
        Array("dout", "H, N, D"),
        Array("delta", "H, N", Role.OUT, contiguous=True),
    ),
    reference=lambda out, dout: {"delta": np.sum(out * dout, axis=-1)},
    magnitude=lambda out, dout: {"delta": np.sum(np.abs(out * dout), axis=-1)},
    tolerance=SUM_TOLERANCE,
    slips={
        "dout times itself, without out": lambda out, dout: {"delta": np.sum(dout * dout, axis=-1)},
        "out times itself, without dout": lambda out, dout: {"delta": np.sum(out * out, axis=-1)},
        "out and dout added, where they are multiplied": lambda out, dout: {
            "delta": np.sum(out + dout, axis=-1),
            "size of delta": np.sum(np.abs(out) + np.abs(dout), axis=-1),
        },
        "rows that begin one element apart, not D": lambda out, dout: _close_rows(out, dout),
        "the last row of the last head read as 0, as by a mask that ends one row early": (
            lambda out, dout: {"delta": _but_the_last(np.sum(out * dout, axis=-1))}
        ),
        **{
            f"one sum for all of a program's {rows} rows": partial(_whole_tiles, rows=rows)
            for rows in (16, 32, 64, 128)
        },
    },
    cases=(
        case(H=1, N=1, D=16),
        case(H=3, N=37, D=32),
        case(H=2, N=100, D=64, dtypes=HALF_ROWS),
        case(H=1, N=50, D=64, dtypes=HALF_ROWS, draws={"out": spread(60.0), "dout": spread(60.0)}),
        case(True, H=8, N=128, D=32),
        case(True, H=2, N=512, D=64, dtypes=HALF_ROWS),
    ),
    **_BY_TILES,
    budget=Budget(
        {
            "load out": "rows(H * N, D)",
            "load dout": "rows(H * N, D)",
            "store delta": "tiles(H, N, 1, 16)",
        },
        why="Everything once. 8 neighbours of delta share a sector.",
    ),
)

flash_dkdv = KernelExercise(
    name="flash_dkdv",
    title="A tile of keys gathers its gradients",
    task=(
        "Given q, k, v, dout (the gradient of out), lse and delta, return dk and dv, the gradients "
        "of k and v, for each head. q, k, v, dout, dk and dv are (H, N, D), all float16 or all "
        "float32, lse and delta (H, N) in float32. "
        f"{_TILED_SHAPES}. Weights are exp(score - lse), scores are scaled by 1 / sqrt(D), and "
        "where causal is true query i has attended to keys 0 to i. A program owns 64 keys or more "
        "of one head, loads at most 64 queries at a time and none that has not seen its keys "
        "(128 keys of float32 fit with `num_stages=1`). "
        "Nothing of size N x N reaches memory. Accumulate in float32."
    ),
    points=14,
    minutes=100,
    difficulty=5,
    hints=(
        "In the loop, per tile of queries: s = q k^T * scale, p = exp(s - lse), dp = dout v^T, "
        "ds = p * (dp - delta). All four are (BR, BC), queries down, keys across; lse and delta "
        "are a number a row.",
        "dv += p^T dout and dk += ds^T q: (BC, BR) times (BR, D). tl.trans turns a tile, and "
        "tl.dot wants both of one dtype: .to(dout.dtype).",
        "Weights that do not exist must be 0: keys past N, queries past N, the future. Mask p with "
        "tl.where, after the exp. scale belongs into s once and into dk once. With the causal "
        "rule, which is the first tile of queries that has seen key t * BC?",
    ),
    small=case(H=1, N=4, D=16, causal=0),
    full=case(dtypes=HALF_KV, H=8, N=2048, D=64, causal=1),
    operations="2 * 4 * H * N * N * D / (1 + causal)",
    parameters=(
        *_LEFT_BY_FORWARD,
        Array("dk", "H, N, D", Role.OUT, contiguous=True),
        Array("dv", "H, N, D", Role.OUT, contiguous=True),
        _CAUSAL,
    ),
    reference=_only(("dk", "dv"), gradients),
    magnitude=_only(("dk", "dv"), gradient_sizes),
    slips=_slips("dk", "dv"),
    tolerance=TOLERANCE,
    cases=(
        case(H=1, N=1, D=16, causal=0, dtypes=HALF_KV),
        case(H=2, N=45, D=16, causal=0, draws=FAR_BELOW),
        case(H=1, N=100, D=16, causal=0, draws=FAR_APART),
        case(H=2, N=70, D=64, causal=1, dtypes=HALF_KV),
        case(H=1, N=78, D=64, causal=1, dtypes=HALF_KV, draws=FAR_ABOVE),
        case(H=1, N=90, D=64, causal=1, dtypes=HALF_KV, draws=CLIMBING),
        case(H=2, N=129, D=64, causal=0, dtypes=HALF_KV, draws=TURNING_QUERIES),
        case(True, H=8, N=128, D=64, causal=0, dtypes=HALF_KV),
        case(True, H=2, N=256, D=64, causal=1, dtypes=HALF_KV),
    ),
    **_BY_TILES,
    budget=Budget(
        {
            "load q": f"{_MET} * rows(H * 64, D)",
            "load k": "rows(H * N, D)",
            "load v": "rows(H * N, D)",
            "load dout": f"{_MET} * rows(H * 64, D)",
            "load lse": f"{_MET} * rows(H, 64)",
            "load delta": f"{_MET} * rows(H, 64)",
            "store dk": "rows(H * N, D)",
            "store dv": "rows(H * N, D)",
        },
        why=f"K, V and their gradients once. {_TILES}",
    ),
    # two accumulators of 128 keys spill 412
    spill_bytes="1024",
)

flash_dq = KernelExercise(
    name="flash_dq",
    title="A tile of queries gathers its gradient",
    task=(
        "Given the same as in flash_dkdv, return dq, the gradient of q. A program owns 64 queries "
        "or more of one head, loads at most 64 keys at a time and none of the future where causal "
        "is true. It stores its part of dq once: no atomics, nothing of size N x N in memory. "
        f"Shapes and dtypes are as in flash_dkdv: {_TILED_SHAPES}. Accumulate in float32."
    ),
    points=9,
    minutes=60,
    difficulty=4,
    hints=(
        "The loop of flash_lse with the inside of flash_dkdv: q, dout, lse and delta of the tile "
        "are loaded once, before the loop; k and v pass by.",
        "s, p, dp and ds are computed as before. dq += ds k: (BR, BC) times (BC, D), and nothing "
        "is turned.",
        "What lies past N reads as 0, and its weight would be exp(0 - lse), which may be inf: the "
        "mask goes on p. Where does the scale go, and how often?",
    ),
    small=case(H=1, N=4, D=16, causal=0),
    full=case(dtypes=HALF_Q, H=8, N=2048, D=64, causal=1),
    operations="1.5 * 4 * H * N * N * D / (1 + causal)",
    parameters=(*_LEFT_BY_FORWARD, Array("dq", "H, N, D", Role.OUT, contiguous=True), _CAUSAL),
    reference=_only(("dq",), gradients),
    magnitude=_only(("dq",), gradient_sizes),
    slips=_slips("dq"),
    tolerance=TOLERANCE,
    cases=(
        case(H=1, N=1, D=16, causal=0, dtypes=HALF_Q),
        case(H=2, N=45, D=16, causal=0, draws=FAR_BELOW),
        case(H=1, N=100, D=16, causal=0, draws=FAR_APART),
        case(H=2, N=70, D=64, causal=1, dtypes=HALF_Q),
        case(H=1, N=78, D=64, causal=1, dtypes=HALF_Q, draws=OPPOSED),
        case(H=2, N=147, D=64, causal=0, dtypes=HALF_Q, draws=TURNING_KEYS),
        case(True, H=8, N=128, D=64, causal=0, dtypes=HALF_Q),
        case(True, H=2, N=256, D=64, causal=1, dtypes=HALF_Q),
    ),
    **_BY_TILES,
    budget=Budget(
        {
            "load q": "rows(H * N, D)",
            "load k": f"{_MET} * rows(H * 64, D)",
            "load v": f"{_MET} * rows(H * 64, D)",
            "load dout": "rows(H * N, D)",
            "load lse": "rows(H, N)",
            "load delta": "rows(H, N)",
            "store dq": "rows(H * N, D)",
        },
        why=f"Q, dout, lse, delta and dq once. {_TILES}",
    ),
)
