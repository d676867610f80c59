"""Lesson "Serving and training": kernels of language models in which the bytes decide."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course.exercises.attention import (
    ABYSS_IN_HALF,
    FAR_APART,
    SHARED_BYTES,
    of_one_query,
    single_queries,
    size_of_one_query,
    slips_of_tiles,
)
from course.exercises.attention import TOLERANCE as OF_ATTENTION
from course.exercises.norms import log_sum_exp
from course.exercises.speed_of_light import SMS
from course.spec.draws import Draw, integers, spread, uniform
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
from course.spec.launching import Launcher, Programs
from course.spec.once import once

#: Sums in float32, relative to the size of what is added up: they err by about 1e-7 of it, and
#: whatever passed through float16 by 3e-5 and more.
TOLERANCE = {"float32": (3e-6, 0.0)}
#: What PyTorch, too, takes for a position that does not count.
IGNORED = -100
WEIGHTS = uniform(-0.1, 0.1)
#: Logits of some hundreds: exp of the greatest overflows float32.
LARGE: dict[str, Draw] = {"x": spread(100.0)}
#: All logits below -120: exp of each is 0, measured from a greatest one that begins at 0.
FAR_BELOW: dict[str, Draw] = {"x": uniform(1.0, 2.0), "w": uniform(-3.0, -2.0)}
#: One token, and a logit of -7e10: it has all the weight, whatever stands for the lowest number.
ABYSS: dict[str, Draw] = {"x": ABYSS_IN_HALF["q"], "w": ABYSS_IN_HALF["k"]}


def _generator(values: np.ndarray) -> np.random.Generator:
    """A generator that the drawn `values` seed: what is computed of them is random, too."""
    return np.random.default_rng(np.frombuffer(values.ravel()[:8].tobytes(), np.uint32).tolist())


# ---------------------------------------------------------------- bytes

_MODEL = (
    "A model like Llama 3 8B: 32 layers, 32 query heads, 8 heads of K and V, D = 128, 8 * 10**9 "
    "weights. The GPU has a memory of 141 GB and reads 4,200 GB/s; GB is 10**9 bytes. The cache is "
    "float16. One step of decoding makes one token for each sequence of a batch."
)
_BOTH = "K and V: that is two rows a head."

serving_bytes = NumberExercise(
    name="serving_bytes",
    title="What a token costs",
    task=_MODEL,
    points=6,
    minutes=35,
    difficulty=2,
    hints=(
        "For each token and each layer the cache holds a row of K and a row of V for every head "
        "of K and V. How many numbers is that, and how many bytes?",
        "A step reads all weights once, whatever the batch, and the whole cache of each sequence. "
        "Bytes over bytes a second is the least time of a step.",
        "int4 with a float16 scale for each group of 128: half a byte a weight, and 2 bytes for "
        "128 of them.",
    ),
    questions={
        "kv_bytes_token": Question(
            "bytes of K and V for one token, all layers",
            "2 * layers * kv_heads * D * 2",
            slips={
                "2 * layers * kv_heads * D": (
                    "One factor of 2 is missing: a head has a row of K and one of V, and a float16 "
                    "has 2 bytes."
                ),
                "2 * layers * heads * D * 2": "Query heads share: how many heads of K are there?",
                "2 * kv_heads * D * 2": "That is one layer.",
            },
        ),
        "kv_gb_sequence": Question(
            "GB of K and V for a sequence of 8,192 tokens",
            "2 * layers * kv_heads * D * 2 * 8192 / 1e9",
            "GB",
            rtol=0.01,
        ),
        "kv_gb_without_groups": Question(
            "the same, if each query head had its own K and V",
            "2 * layers * heads * D * 2 * 8192 / 1e9",
            "GB",
            rtol=0.01,
        ),
        "weights_gb_float16": Question(
            "GB of the weights in float16", "weights * 2 / 1e9", "GB", rtol=0.01
        ),
        "weights_gb_int4": Question(
            "GB of the weights in int4, with a float16 scale for each group of 128",
            "weights * (1 / 2 + 2 / 128) / 1e9",
            "GB",
            rtol=0.005,
            slips={
                "weights / 2 / 1e9": "The scales have bytes, too.",
                "weights * (1 / 2 + 2 / 128) * 2 / 1e9": "Two values fit into a byte.",
            },
        ),
        "step_ms_float16": Question(
            "least milliseconds of a step, one sequence of 8,192 tokens, weights in float16",
            "(weights * 2 + 2 * layers * kv_heads * D * 2 * 8192) / 4200e9 * 1e3",
            "ms",
            rtol=0.01,
            slips={"weights * 2 / 4200e9 * 1e3": "The step reads the cache, too."},
        ),
        "step_ms_int4": Question(
            "the same with weights in int4",
            "(weights * (1/2 + 2/128) + 2 * layers * kv_heads * D * 2 * 8192) / 4200e9 * 1e3",
            "ms",
            rtol=0.01,
            slips={
                "weights * (1 / 2 + 2 / 128) / 4200e9 * 1e3": "The step reads the cache, too.",
                "(weights * (1 / 2 + 2 / 128) + 2 * layers * kv_heads * D * 8192 / 2) "
                "/ 4200e9 * 1e3": "The weights alone are cut to 4 bits; the cache is not.",
            },
        ),
        "sequences_that_fit": Question(
            "whole sequences of 8,192 tokens that fit beside weights in float16",
            "(141e9 - weights * 2) // (2 * layers * kv_heads * D * 2 * 8192)",
            slips={"141e9 // (2 * layers * kv_heads * D * 2 * 8192)": "Beside the weights."},
        ),
        "flop_per_byte_batch": Question(
            "FLOP for each byte of float16 weights, batch of 64 (a multiply-add is 2 FLOP)",
            "2 * 64 / 2",
            slips={
                "2 / 2": "Every weight is read once and serves all 64 sequences.",
                "64 / 2": "A multiply-add counts twice.",
                "2 * 64": "A float16 has 2 bytes.",
            },
        ),
        "batch_at_the_knee": Question(
            "batch from which the products of weights stop being memory-bound, where 700 TFLOP/s "
            "meet 4,200 GB/s (the intensity of the knee, float16 weights)",
            "700e12 / 4200e9",
            rtol=0.01,
            slips={
                f"700e12 / 4200e9 {slip}": "FLOP a byte at a batch of b is 2 * b / 2."
                for slip in ("* 2", "/ 2")
            },
        ),
        "flop_per_byte_cache": Question(
            "FLOP for each byte of K and V that decoding does, 4 query heads sharing them "
            "(products with K and with V only)",
            "2 * (heads / kv_heads) / 2",
            slips={
                "2 / 2": "Each number read serves the query heads that share it.",
                "2 * 64 / 2": "Sequences of a batch do not share K and V.",
                "2 * (heads / kv_heads)": "A float16 has 2 bytes.",
            },
        ),
    },
    given={"layers": 32, "heads": 32, "kv_heads": 8, "D": 128, "weights": 8 * 10**9},
)

# ---------------------------------------------------------------- paged decode

#: Keys of all sequences together: two and two have P * PAGE + 1, and one that is left P * PAGE.
_TOKENS = "(S // 2 * (P * PAGE + 1) + S % 2 * P * PAGE)"
#: Parts into which the tokens of a sequence may be split.
_PARTS = "cdiv(P * PAGE, 256)"


def _lengths(q: np.ndarray, k: np.ndarray, **_: Any) -> np.ndarray:
    """Lengths from 1 to all pages' keys, in random order, whose sum the sizes alone give.

    Of four sequences or more one has a single token, and one all that its pages hold.
    """
    rng = _generator(q)
    most = len(k) // len(q) * k.shape[1]
    some = rng.integers(1, most + 1, len(q) // 2)
    some[1:2] = 1
    return rng.permutation([*some, *(most + 1 - some), *[most] * (len(q) % 2)])


def _table(q: np.ndarray, k: np.ndarray, lengths: np.ndarray, **_: Any) -> np.ndarray:
    """For each sequence its pages, anywhere in the pool; -1 past its end."""
    pages = _generator(k).permutation(len(k)).reshape(len(q), -1)
    used = np.arange(pages.shape[1]) < np.ceil(lengths / k.shape[1])[:, None]
    return np.where(used, pages, -1)


def _over_pages(
    of: Callable[..., dict[str, np.ndarray]],
) -> Callable[..., dict[str, np.ndarray]]:
    """`of(q, k, v)` for each sequence by itself, its keys and values gathered from their pages."""

    def reference(
        q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: np.ndarray, table: np.ndarray
    ) -> dict[str, np.ndarray]:
        outputs: dict[str, list[np.ndarray]] = {}
        for queries, length, pages in zip(q, lengths, table, strict=True):
            own = pages[: -(-int(length) // k.shape[1])]
            keys, values = (
                pool[own].reshape(-1, *pool.shape[2:])[: int(length)].swapaxes(0, 1)
                for pool in (k, v)
            )
            for name, output in of(queries, keys, values).items():
                outputs.setdefault(name, []).append(output)
        return {name: np.stack(found) for name, found in outputs.items()}

    return reference


_paged = _over_pages(of_one_query)


def _heads_in_turn(q: np.ndarray, k: np.ndarray, **others: np.ndarray) -> dict[str, np.ndarray]:
    """Query head h attends to head h % G."""
    groups = k.shape[2]
    turned = q.reshape(len(q), -1, groups, q.shape[-1]).swapaxes(1, 2).reshape(q.shape)
    out = _paged(turned, k, **others)["out"]
    back = out.reshape(len(q), groups, -1, q.shape[-1]).swapaxes(1, 2)
    return {"out": back.reshape(q.shape)}


paged_decode = KernelExercise(
    name="paged_decode",
    title="A cache in pages",
    task=(
        "One new token for each of S sequences. k and v are pools of pages, (pages, PAGE, G, D): "
        "PAGE tokens, G heads. Sequence s has lengths[s] tokens, at least one; tokens i * PAGE to "
        "i * PAGE + PAGE - 1 lie in page table[s, i]. Entries of the table past a sequence's last "
        "page are -1, which is no page. q and out are (S, H, D) with H = G * R: query heads g * R "
        "to g * R + R - 1 attend to head g of k and v. out[s, h] is attention of the query over "
        "the tokens of its sequence, scores divided by sqrt(D). A program takes one sequence and "
        "one g, with its R queries, and passes once over the keys and values; or over 256 or more "
        "of the tokens, where a second kernel puts the parts together. All of it is "
        "float16, lengths and table are int32; sums are float32. PAGE is 16, 32 or 64, R 1 to 16."
    ),
    points=10,
    minutes=60,
    difficulty=4,
    hints=(
        "Begin with flash_gqa. Two things change: the loop ends at this sequence's own length, and "
        "a row of k is found through the table.",
        "Token t lies in page table[s, t // PAGE], at row t % PAGE of it. A pool's page is PAGE * "
        "G * D elements, its row G * D, its head D. The table's entry is one load for each token "
        "of the tile, or one for a whole page.",
        "The last page is partly another sequence's old tokens: which scores become -inf? And the "
        "last tile may reach past the last page: what must the load of the table not read?",
    ),
    parameters=(
        Array("q", "S, G * R, D", dtype="float16"),
        Array("k", "S * P, PAGE, G, D", dtype="float16"),
        Array("v", "S * P, PAGE, G, D", dtype="float16"),
        Array("lengths", "S", dtype="int32", computed=_lengths),
        Array("table", "S, P", dtype="int32", computed=_table),
        Array("out", "S, G * R, D", Role.OUT, dtype="float16"),
    ),
    reference=_paged,
    magnitude=_over_pages(size_of_one_query),
    tolerance=OF_ATTENTION,
    slips={
        "scores that are never scaled": lambda q, **of: _paged(q * q.shape[-1] ** 0.5, **of),
        "scores divided by D, not by its root": lambda q, **of: _paged(
            q * q.shape[-1] ** -0.5, **of
        ),
        "keys in the place of values": lambda k, v, **of: _paged(k=k, v=k, **of),
        **slips_of_tiles(of=lambda attend: _over_pages(single_queries(attend))),
        "the pages in the pool's order, without the table": lambda q, k, v, lengths, table: _paged(
            q, k, v, lengths, np.arange(table.size).reshape(table.shape)
        ),
        "page i of the pool for page i of every sequence": lambda q, k, v, lengths, table: _paged(
            q, k, v, lengths, np.broadcast_to(np.arange(table.shape[1]), table.shape)
        ),
        "every token of the last page, the old ones, too": lambda q, k, v, lengths, table: _paged(
            q, k, v, -(-lengths // k.shape[1]) * k.shape[1], table
        ),
        "the last token of each sequence left out": lambda q, k, v, lengths, table: _paged(
            q, k, v, np.maximum(lengths - 1, 1), table
        ),
        "query head h at head h % G of k and v": _heads_in_turn,
        "head 0 of k and v for all": lambda q, k, v, **of: _paged(
            q, *(np.repeat(pool[:, :, :1], pool.shape[2], axis=2) for pool in (k, v)), **of
        ),
        "a page taken for (G, PAGE, D)": lambda q, k, v, **of: _paged(
            q,
            *(
                pool.reshape(len(pool), pool.shape[2], -1, pool.shape[3]).swapaxes(1, 2)
                for pool in (k, v)
            ),
            **of,
        ),
    },
    small=case(S=1, P=2, PAGE=2, G=1, R=1, D=16),
    example=case(S=1, P=2, PAGE=1, G=1, R=1, D=2),
    full=case(S=32, P=16, PAGE=64, G=8, R=4, D=128),
    cases=(
        case(S=1, P=1, PAGE=16, G=1, R=1, D=16),
        case(S=3, P=5, PAGE=16, G=2, R=3, D=32),
        case(S=4, P=2, PAGE=32, G=2, R=4, D=64, draws=FAR_APART),
        case(S=1, P=1, PAGE=16, G=1, R=1, D=16, draws=ABYSS_IN_HALF),
        case(True, S=4, P=16, PAGE=16, G=2, R=4, D=64),
        case(True, S=2, P=12, PAGE=64, G=2, R=8, D=64),
    ),
    launch=Launcher(),
    shares="S * G",
    budget=Budget(
        {
            "load q": f"{_PARTS} * rows(S * G * R, D)",
            "load k": f"rows({_TOKENS} * G, D) + {_PARTS} * S * G * R * (D / 4 + 5)",
            "load v": f"rows({_TOKENS} * G, D)",
            "load lengths": f"S * G * ({_PARTS} + R)",
            "load table": f"G * ({_TOKENS} / 16 + 2 * S)",
            "store out": "rows(S * G * R, D)",
        },
        least={
            "load k": f"rows({_TOKENS} * G, D)",
            "load v": f"rows({_TOKENS} * G, D)",
            "load table": f"sectors(cdiv({_TOKENS}, PAGE))",
        },
        why=(
            "The keys and values of every sequence once, for all R query heads of a group. Two "
            "sequences have P * PAGE + 1 tokens together, and one that is left has P * PAGE. Each "
            "g needs the table by itself. K's row has room for parts of 256 tokens, which have no "
            "row."
        ),
    ),
    shared_bytes=SHARED_BYTES,
)

# ---------------------------------------------------------------- int4 weights


@once
def _unpacked(w: np.ndarray, groups: int) -> np.ndarray:
    """(N, groups, GROUP): a group's low halves of bytes, then its high ones, 0 to 15 less 8."""
    return _in_order(w & 15, w >> 4, groups)


def _in_order(low: np.ndarray, high: np.ndarray, groups: int) -> np.ndarray:
    halves = [half.reshape(len(half), groups, -1) for half in (low, high)]
    weights: np.ndarray = np.concatenate(halves, axis=2) - 8
    return weights


def _times(weights: np.ndarray, x: np.ndarray, scale: np.ndarray) -> dict[str, np.ndarray]:
    products = (weights * x.reshape(1, scale.shape[1], -1)).sum(axis=2)
    return {"out": (products * scale).sum(axis=1)}


def _int4(x: np.ndarray, w: np.ndarray, scale: np.ndarray) -> dict[str, np.ndarray]:
    return _times(_unpacked(w, scale.shape[1]), x, scale)


def _cut_out(
    mask: int, shift: int, x: np.ndarray, w: np.ndarray, scale: np.ndarray
) -> dict[str, np.ndarray]:
    return _times(_in_order(w & mask, w.astype(int) >> shift, scale.shape[1]), x, scale)


int4_matvec = KernelExercise(
    name="int4_matvec",
    title="Two weights in a byte",
    task=(
        "out = W @ x for one x of K elements in float16. W is N x K in int4: row n is K // 2 bytes "
        "of w. A row is cut into groups of GROUP = K // scale.shape[1] weights (32, 64 or 128), "
        "GROUP // 2 bytes each. Byte j of a group holds weight j of the group in its low four "
        "bits, and weight j + GROUP // 2 in its high four bits, each as a number from 0 to 15. The "
        "weight is that number - 8, times scale[n, group], which is float16. Sums and out are "
        "float32. Unpack in registers: no other form of W goes to memory. Write kernel and "
        "launcher; a program takes 16 to 64 rows."
    ),
    points=9,
    minutes=50,
    difficulty=3,
    hints=(
        "`byte & 15` and `byte >> 4`, then .to(tl.float32) and the 8. The low ones meet the first "
        "half of the group's x, the high ones the second: no number has to change its place.",
        "A scale is the same for its whole group, so it can wait for the group's sum.",
        "One group at a time loads one scale, 2 bytes, from each row: a sector for 2 bytes of it. "
        "A block of three axes, (rows, groups, bytes), takes several groups, whose scales are "
        "neighbours. Sum over axis 2, scale, sum over axis 1.",
    ),
    parameters=(
        Array("x", "K", dtype="float16"),
        Array("w", "N, K // 2", dtype="uint8", draw=integers(0, 256)),
        Array("scale", "N, K // GROUP", dtype="float16", draw=uniform(0.01, 0.02)),
        Array("out", "N", Role.OUT),
    ),
    reference=_int4,
    magnitude=lambda x, w, scale: _times(
        np.abs(_unpacked(w, scale.shape[1])), np.abs(x), np.abs(scale)
    ),
    tolerance=TOLERANCE,
    slips={
        "8 never subtracted": lambda x, w, scale: _times(
            _unpacked(w, scale.shape[1]) + 8, x, scale
        ),
        "the low bits alone, without the high ones": lambda x, w, scale: _times(
            _in_order(w & 15, 8 + 0 * w.astype(int), scale.shape[1]), x, scale
        ),
        "the high bits alone, without the low ones": lambda x, w, scale: _times(
            _in_order(8 + 0 * w.astype(int), w >> 4, scale.shape[1]), x, scale
        ),
        "low and high bits in each other's place": lambda x, w, scale: _int4(
            x, (w & 15) << 4 | w >> 4, scale
        ),
        "a byte's two weights as neighbours": lambda x, w, scale: _times(
            np.stack([w & 15, w >> 4], 2).reshape(len(w), scale.shape[1], -1) - 8, x, scale
        ),
        "7 subtracted, not 8": lambda x, w, scale: _times(
            _unpacked(w, scale.shape[1]) + 1, x, scale
        ),
        "8 not subtracted from the high bits": lambda x, w, scale: _times(
            _in_order(w & 15, (w >> 4) + 8, scale.shape[1]), x, scale
        ),
        "8 not subtracted from the low bits": lambda x, w, scale: _times(
            _in_order((w & 15) + 8, w >> 4, scale.shape[1]), x, scale
        ),
        "the first half of a group's x for the high bits, too": lambda x, w, scale: _int4(
            x.reshape(scale.shape[1], 2, -1)[:, [0, 0]].ravel(), w, scale
        ),
        "8 subtracted from a uint8, in which 3 - 8 is 251": lambda x, w, scale: _times(
            _unpacked(w, scale.shape[1]) % 256, x, scale
        ),
        "four bits as a signed number, 8 to 15 for -8 to -1": lambda x, w, scale: _times(
            (_unpacked(w, scale.shape[1]) + 16) % 16 - 8, x, scale
        ),
        "high bits that stay where they are, 16 times as much": lambda x, w, scale: _times(
            _in_order(w & 15, w & 240, scale.shape[1]), x, scale
        ),
        **{
            f"`& {mask}` for the low bits, not `& 15`": partial(_cut_out, mask, 4)
            for mask in (1, 3, 4, 7, 8, 16, 31, 240, 255)
        },
        **{
            f"`>> {shift}` for the high bits, not `>> 4`": partial(_cut_out, 15, shift)
            for shift in (0, 1, 2, 3, 5, 6, 8)
        },
        "high bits shifted down with the byte's sign": lambda x, w, scale: _times(
            _in_order(w & 15, ((w >> 4) + 8) % 16 - 8, scale.shape[1]), x, scale
        ),
        "scale taken for (groups, N)": lambda x, w, scale: _int4(
            x, w, scale.reshape(scale.shape[::-1]).T
        ),
        "the scale of each row's first group for all": lambda x, w, scale: _int4(
            x, w, np.broadcast_to(scale[:, :1], scale.shape)
        ),
    },
    small=case(N=4, K=32, GROUP=32),
    full=case(N=16_384, K=8192, GROUP=128),
    cases=(
        case(N=1, K=32, GROUP=32),
        case(N=37, K=192, GROUP=64),
        case(N=100, K=2176, GROUP=128),
        case(True, N=256, K=4096, GROUP=64),
        case(True, N=128, K=4096, GROUP=32),
    ),
    launch=Launcher(),
    shares="N / 64",
    budget=Budget(
        {
            "load x": "cdiv(N, 16) * sectors(K)",
            "load w": "tiles(N, K // 2, 1, 4 * GROUP)",
            "load scale": "tiles(N, K // GROUP, 1, 8)",
            "store out": "sectors(N)",
        },
        why=(
            "Half a byte for each weight, eight groups at a time, and their scales: half a sector. "
            "x, which is small, for each 16 rows."
        ),
    ),
)

# ---------------------------------------------------------------- experts

#: Experts that have rows.
_BUSY = "(E - E // 3)"


def _offsets(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Where each expert's rows begin, and where the last one's end: never at a tile's edge.

    A third of the experts, any of them, have no rows, and of 20 or more a few less: their number
    is nothing to count on. M is at least twice that of all experts.
    """
    rng = _generator(x)
    busy = rng.permutation(np.arange(len(w)) >= len(w) // 3 - len(w) // 20)
    cuts = 2 * rng.choice(len(x) // 2, busy.sum() - 1, replace=False) + 1
    ends = np.array([*np.sort(cuts), len(x)])
    return np.array([0, *ends[np.maximum(np.cumsum(busy) - 1, 0)] * (np.cumsum(busy) > 0)])


def _by_expert(x: np.ndarray, w: np.ndarray, offsets: np.ndarray) -> dict[str, np.ndarray]:
    expert = np.searchsorted(offsets[1:-1], np.arange(len(x)), side="right")
    return _by_these(x, w, expert)


def _by_first_of(
    rows: int, x: np.ndarray, w: np.ndarray, offsets: np.ndarray
) -> dict[str, np.ndarray]:
    first = np.arange(len(x)) // rows * rows
    return _by_these(x, w, np.searchsorted(offsets[1:-1], first, side="right"))


def _by_these(x: np.ndarray, w: np.ndarray, expert: np.ndarray) -> dict[str, np.ndarray]:
    """Row m of x times the weights of expert[m]."""
    out = np.zeros((len(x), w.shape[2]))
    for e in range(len(w)):
        out[expert == e] = x[expert == e] @ w[e]
    return {"out": out}


grouped_gemm = KernelExercise(
    name="grouped_gemm",
    title="A product for each expert",
    task=(
        "E experts have a matrix each: w is (E, K, N). The rows of x, (M, K), are sorted by "
        "expert: rows offsets[e] to offsets[e + 1] - 1 belong to expert e, and there may be none. "
        "out[m] = x[m] @ w[expert of m], (M, N), in one launch. x and w are float16, offsets has "
        "E + 1 elements of int32, E is at most 64; sums and out are float32. A program computes "
        "one tile of out, 64 to 128 rows by 64 to 128 columns, all of one expert. offsets lies on "
        "the GPU: the launcher knows M and E, and not how many rows an expert has. No row is "
        "loaded for padding. Write kernel and launcher."
    ),
    points=12,
    minutes=75,
    difficulty=4,
    hints=(
        "Expert e needs cdiv(its rows, BM) tiles of rows. How many can there be in all, if M and E "
        "are all that you know? The grid has that many; programs that find no tile return.",
        "Load all offsets as one block, work out tiles of each expert, and tl.cumsum them. Program "
        "t has the first expert whose running count of tiles is greater than t: count the others.",
        "The first row of the tile is offsets[e] + (t - tiles of the experts before) * BM. The "
        "mask ends at offsets[e + 1], at the load and at the store: what lies beyond belongs to "
        "the next expert's program.",
    ),
    parameters=(
        Array("x", "M, K", dtype="float16"),
        Array("w", "E, K, N", dtype="float16", draw=WEIGHTS),
        Array("offsets", "E + 1", dtype="int32", computed=_offsets),
        Array("out", "M, N", Role.OUT),
    ),
    reference=_by_expert,
    magnitude=lambda x, w, offsets: _by_expert(np.abs(x), np.abs(w), offsets),
    tolerance=TOLERANCE,
    slips={
        "the first expert for every row": lambda x, w, offsets: _by_these(
            x, w, np.zeros(len(x), int)
        ),
        "the same number of rows for each expert": lambda x, w, offsets: _by_these(
            x, w, np.arange(len(x)) // -(-len(x) // len(w))
        ),
        **{
            f"the expert of a tile's first row for all of its {rows} rows": partial(
                _by_first_of, rows
            )
            for rows in (64, 128)
        },
        "w taken for (E, N, K)": lambda x, w, offsets: _by_expert(
            x, w.reshape(len(w), w.shape[2], w.shape[1]).swapaxes(1, 2), offsets
        ),
        "the next expert's weights": lambda x, w, offsets: _by_expert(
            x, np.roll(w, -1, axis=0), offsets
        ),
    },
    small=case(M=5, N=4, K=4, E=3),
    example=case(M=2, N=1, K=2, E=2),
    full=case(M=4096, N=1024, K=1024, E=16),
    operations="2 * M * N * K",
    cases=(
        case(M=1, N=1, K=1, E=1),
        case(M=40, N=70, K=50, E=5),
        case(M=300, N=64, K=33, E=3),
        case(True, M=64, N=320, K=128, E=12),
        case(True, M=640, N=128, K=64, E=4),
    ),
    launch=Launcher(launches=1),
    shares=f"(M / 64 + {_BUSY} / 2) * N / 64",
    budget=Budget(
        {
            "load x": "cdiv(N, 64) * tiles(M, K, 64, 16)",
            "load w": f"({_BUSY} + M // 64) * tiles(K, N, 16, 64)",
            "load offsets": f"2 * (E + 1) * max({SMS}, (E + M // 64 + 1) * cdiv(N, 64))",
            "store out": "tiles(M, N, 64, 64)",
        },
        least={"load w": f"sectors({_BUSY} * K * N)"},
        why=(
            "Each row of x once for each strip of 64 columns. An expert's weights once for each 64 "
            "rows that it has begun. A third of the experts have no rows. Each program may look at "
            "both ends of every expert, one after the other; there may be one program for each SM."
        ),
    ),
    shared_bytes=SHARED_BYTES,
)

# ---------------------------------------------------------------- losses


#: Rows that count: of three or more, one does not.
_COUNTED = "(M - min(1, M // 3))"


def _targets(first: np.ndarray, count: int) -> np.ndarray:
    """Tokens in random order: the last of `count`, the first, one that does not count, others."""
    rng = _generator(first)
    known = np.array([count - 1, 0, IGNORED])
    return rng.permutation(
        np.concatenate([known, rng.integers(0, count, len(first))])[: len(first)]
    )


def _own(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Each row's logit at its target."""
    return logits[np.arange(len(logits)), np.maximum(targets, 0)]


def _losses(x: np.ndarray, w: np.ndarray, targets: np.ndarray) -> dict[str, np.ndarray]:
    logits = x @ w.T
    return {"loss": np.where(targets < 0, 0.0, log_sum_exp(logits) - _own(logits, targets))}


def _size_of_losses(x: np.ndarray, w: np.ndarray, targets: np.ndarray) -> dict[str, np.ndarray]:
    sizes = np.abs(x) @ np.abs(w).T
    return {"loss": sizes.max(axis=1) + math.log(len(w)) + 1.0}


#: Tokens of a program, and tokens at a time.
_TOKENS_OF_A_PART, _TOKENS_OF_A_TILE = (256, 512, 1024), (32, 64, 128)


def _in_parts(
    x: np.ndarray, w: np.ndarray, targets: np.ndarray, part: int, step: int = 0
) -> dict[str, np.ndarray]:
    """Sums of parts that are added as they are, or, with `step`, sums of tiles in a part."""
    logits = x @ w.T
    top, total = logits.max(axis=1), np.zeros(len(x))
    for start in range(0, len(w), part):
        of_part = logits[:, start : start + part]
        highest, own = of_part.max(axis=1), np.full(len(x), -np.inf)
        for first in range(0, of_part.shape[1], step or part):
            tile = of_part[:, first : first + (step or part)]
            own = np.maximum(own, tile.max(axis=1))
            rescale = np.exp(highest - top) if step else 1.0
            total += rescale * np.exp(tile - own[:, None]).sum(axis=1)
    return {"loss": np.where(targets < 0, 0.0, top + np.log(total) - _own(logits, targets))}


def _by_log2(x: np.ndarray, w: np.ndarray, targets: np.ndarray) -> dict[str, np.ndarray]:
    logits = x @ w.T
    top = logits.max(axis=1)
    lse = top + (log_sum_exp(logits) - top) / math.log(2)
    return {"loss": np.where(targets < 0, 0.0, lse - _own(logits, targets))}


def _by_sum(x: np.ndarray, w: np.ndarray, targets: np.ndarray) -> dict[str, np.ndarray]:
    logits = x @ w.T
    top = logits.max(axis=1)
    total = np.exp(log_sum_exp(logits) - top)
    loss = np.where(targets < 0, 0.0, top + total - _own(logits, targets))
    return {"loss": loss, "size of loss": np.abs(top) + total}


linear_cross_entropy = KernelExercise(
    name="linear_cross_entropy",
    title="A loss without its logits",
    task=(
        "The last layer of a language model and its loss. The logits are x @ w.T, M x V, for x of "
        "M x D and w of V x D in float16. loss[m] = log(sum over v of exp(logits[m, v])) - "
        "logits[m, targets[m]] in float32. A target of -100 marks a position that does not count: "
        "its loss is 0; all others are 0 to V - 1. D is a multiple of 64, M and V are any. Sums "
        "are float32, and nothing of size M x V reaches memory, in tiles of 64 x 64 logits or "
        "more. There are few rows: split the vocabulary, too, so that a program has 64 rows and "
        "256 to 1024 tokens. Write kernels and launcher."
    ),
    points=12,
    minutes=90,
    difficulty=5,
    hints=(
        "It is triton_matmul's tile with cross_entropy's running maximum and sum behind it, a row "
        "at a time: m and total are (BM,). The second kernel is the one of flash_decode.",
        "Columns from V on do not exist: their logit is -inf and not 0. The target's logit is in "
        "one tile of one part: tl.sum(tl.where(columns == target, logits, 0.0), 1).",
        "Exactly one part may store a row's target logit: the one whose tokens hold the target. "
        "Nobody stores it where the target is -100, and there the second kernel must not load it.",
    ),
    parameters=(
        Array("x", "M, D", dtype="float16"),
        Array("w", "V, D", dtype="float16", draw=WEIGHTS),
        Array("targets", "M", dtype="int64", computed=lambda x, w: _targets(x[:, 0], len(w))),
        Array("loss", "M", Role.OUT),
    ),
    reference=_losses,
    magnitude=_size_of_losses,
    tolerance=TOLERANCE,
    slips={
        "the log of the sum without the target's logit": lambda x, w, targets: {
            "loss": np.where(targets < 0, 0.0, log_sum_exp(x @ w.T))
        },
        "the logarithm of the sum to the base 2": _by_log2,
        "the sum in the place of its logarithm": _by_sum,
        **{
            f"the sums of parts of {part} tokens, each measured against its own maximum": partial(
                _in_parts, part=part
            )
            for part in _TOKENS_OF_A_PART
        },
        **{
            f"the sum not rescaled when {step} tokens of {part} bring a larger maximum": partial(
                _in_parts, part=part, step=step
            )
            for part in _TOKENS_OF_A_PART
            for step in _TOKENS_OF_A_TILE
        },
        "the loss with the other sign": lambda x, w, targets: {
            "loss": -_losses(x, w, targets)["loss"]
        },
        "the log of the sum without the maximum": lambda x, w, targets: {
            "loss": _losses(x, w, targets)["loss"]
            - np.where(targets < 0, 0.0, (x @ w.T).max(axis=1))
        },
        "positions with target -100 counted, with a target's logit of 0": lambda x, w, targets: {
            "loss": log_sum_exp(x @ w.T) - np.where(targets < 0, 0.0, _own(x @ w.T, targets))
        },
        "a logit of 0 for tokens past the end": lambda x, w, targets: {
            "loss": np.where(
                targets < 0,
                0.0,
                log_sum_exp(np.pad(x @ w.T, ((0, 0), (0, -len(w) % 64)))) - _own(x @ w.T, targets),
            )
        },
    },
    small=case(M=2, V=3, D=64),
    full=case(M=2048, V=8192, D=1024),
    operations="2 * M * V * D",
    cases=(
        case(M=1, V=1, D=64, draws=ABYSS),
        case(M=70, V=100, D=64, draws=FAR_BELOW),
        case(M=20, V=2100, D=64, draws=LARGE),
        case(M=127, V=1023, D=128),
        case(True, M=64, V=5120, D=64),
        case(True, M=512, V=1024, D=64),
    ),
    launch=Launcher(),
    shares="M / 64 * V / 1024",
    budget=Budget(
        {
            "load x": "(cdiv(V, 64) + 1) * rows(M, D)",
            "load w": "cdiv(M, 64) * rows(V, D) + rows(M, D) + cdiv(V, 256) * M",
            "load targets": "(2 * cdiv(V, 256) + 1) * sectors(M) + M",
            "store loss": "M",
        },
        least={"load x": f"sectors({_COUNTED} * D)"},
        why=(
            "The product's loads and nothing of its result; x and the targets' rows of w once "
            "more, for whoever works those logits out by themselves. w's row has room for the "
            "parts, which have no row: a maximum and a sum for each row and each 256 tokens. "
            "The second kernel may have a program a row: a sector for each loss and target."
        ),
    ),
    shared_bytes=SHARED_BYTES,
)


def _gradient(
    logits: np.ndarray, targets: np.ndarray, lse: np.ndarray, scale: float, **_: Any
) -> dict[str, np.ndarray]:
    gradient = np.exp(logits - lse[:, None])
    gradient[np.arange(len(logits)), np.maximum(targets, 0)] -= 1
    gradient[targets < 0] = 0
    return {"logits": gradient * scale}


def _is_target(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return np.arange(logits.shape[1]) == targets[:, None]


def _size_of_gradient(
    logits: np.ndarray, targets: np.ndarray, lse: np.ndarray, scale: float, **_: Any
) -> dict[str, np.ndarray]:
    """exp of a difference errs by more where lse is large; the 1 is the target's alone."""
    weights = np.exp(logits - lse[:, None]) * (1 + np.abs(lse)[:, None] / 16)
    return {"logits": (weights + _is_target(logits, targets)) * abs(scale)}


loss_gradient = KernelExercise(
    name="loss_gradient",
    title="The gradient in the logits' place",
    task=(
        "logits is one chunk, M x V, and lse[m] the log of the sum of exp over its row m, from the "
        "forward pass. Write the gradient of scale * (sum of all losses) over the logits: "
        "logits[m, v] becomes (exp(logits[m, v] - lse[m]) - (1 if v == targets[m] else 0)) * "
        "scale. A row whose target is -100 does not count: its gradient is 0. A program takes one "
        "row, BLOCK logits at a time. logits are float16 or float32: compute in float32. BLOCK may "
        "be 256, 512, 1024 or 2048."
    ),
    points=7,
    minutes=35,
    difficulty=3,
    hints=(
        "With lse at hand nothing has to be found out about the row first: one loop, in which each "
        "block is loaded, changed and stored where it was.",
        "The 1 belongs to one column: tl.where(columns == target, 1.0, 0.0) inside the loop.",
        "A row that does not count becomes 0. Its factor can be 0 in the place of scale; what "
        "would 0 times an infinite exp be?",
    ),
    parameters=(
        Array("logits", "M, V", Role.INOUT),
        Array(
            "targets",
            "M",
            dtype="int64",
            computed=lambda logits, **_: _targets(logits[:, 0], logits.shape[1]),
        ),
        Array("lse", "M", computed=lambda logits, **_: log_sum_exp(logits)),
        Scalar("V", "V"),
        Scalar("scale", "1 / M", "float32"),
        Meta("BLOCK", "BLOCK"),
    ),
    reference=_gradient,
    magnitude=_size_of_gradient,
    # two roundings to float16, each at most 4.9e-4, or 3e-8 below 6e-5
    tolerance={"float32": (3e-6, 1e-12), "float16": (1e-3, 1e-7)},
    slips={
        "the 1 of the target forgotten": lambda logits, targets, lse, scale, **_: {
            "logits": np.where(targets[:, None] < 0, 0.0, np.exp(logits - lse[:, None])) * scale
        },
        "rows with target -100 left as they were": lambda logits, targets, lse, scale, **_: {
            "logits": np.where(
                targets[:, None] < 0, logits, _gradient(logits, targets, lse, scale)["logits"]
            )
        },
        "rows with target -100 counted": lambda logits, targets, lse, scale, **_: {
            "logits": _gradient(logits, np.where(targets < 0, 0, targets), lse, scale)["logits"]
            + np.where(targets < 0, scale, 0.0)[:, None] * (np.arange(logits.shape[1]) == 0)
        },
        "exp2 of a difference that is meant for exp": lambda logits, lse, **of: _gradient(
            (logits - lse[:, None]) * np.log(2), lse=0 * lse, **of
        ),
        "logits less lse, and no exp of it": lambda logits, targets, lse, scale, **_: {
            "logits": np.where(
                targets[:, None] < 0, 0.0, logits - lse[:, None] - _is_target(logits, targets)
            )
            * scale,
            "size of logits": (np.abs(logits) + np.abs(lse[:, None])) * abs(scale),
        },
        "1 added at the target, where it is subtracted": lambda logits, targets, lse, scale, **_: {
            "logits": np.where(
                targets[:, None] < 0,
                0.0,
                np.exp(logits - lse[:, None]) + _is_target(logits, targets),
            )
            * scale
        },
        "the target's 1 scaled twice": lambda logits, targets, lse, scale, **_: {
            "logits": np.where(
                targets[:, None] < 0,
                0.0,
                np.exp(logits - lse[:, None]) - scale * _is_target(logits, targets),
            )
            * scale
        },
        "the gradient without its scale": lambda logits, targets, lse, **_: _gradient(
            logits, targets, lse, 1.0
        ),
    },
    small=case(M=4, V=14, BLOCK=4),
    full=case(M=2048, V=8192),
    cases=(
        case(M=1, V=1),
        case(M=5, V=300),
        case(M=4, V=5003),
        case(True, M=16, V=4096),
        case(True, M=16, V=8192, dtypes={"logits": "float16"}),
    ),
    launch=Programs("M"),
    budget=Budget(
        {
            "load logits": "rows(M, V) + M",  # the target's own may be taken by itself
            "load targets": "M",
            "load lse": "M",
            "store logits": "rows(M, V) + M",
        },
        least={"load logits": f"sectors({_COUNTED} * V)", "load lse": f"sectors({_COUNTED})"},
        why=(
            "Every logit once, every gradient once, and one sector more of both for the target's. "
            "A program's lone numbers cost a sector each."
        ),
    ),
    constants={"BLOCK": Constant(1024, (256, 512, 1024, 2048))},
)
