"""Is an output right, and if not, where is it wrong first and is the pattern a known one?

A pattern is named only where it explains every wrong element; anything else is reported as
what was expected and what was got, at the first wrong index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np

from course.plain.arithmetic import plain
from course.spec.inputs import poison, poisoned

#: dtype: (relative, absolute) tolerance where the exercise states none. Whole numbers are exact.
#: float32's absolute one is for what `fastmath` takes for 0: numbers below the smallest normal one.
TOLERANCE = {"float16": (1e-2, 1e-2), "float32": (1e-5, 1.2e-38), "float64": (1e-12, 1e-12)}
#: A shift, a factor or zeros are a pattern from this many elements on, and may be chance below.
SMALLEST_PATTERN = 8
#: Axes of an output that may lie in memory in another order: a batch, heads, rows, columns.
MOST_AXES_TURNED = 4
#: Relative error that a lower precision leaves after a few operations: bfloat16 errs by up to
#: 2**-8 in each, float32 by 6e-8. In float16 that is float16's own, once more: up to 2**-11 each.
LOWER_PRECISION = {"float16": 4e-3, "float32": 1e-2, "float64": 1e-5}
#: With no more digits right than that, it need not be rounding; where most elements are right,
#: those that are wrong have at least this many.
FEW_DIGITS, MANY_DIGITS = 2, 4
#: What rounding may leave wrong of all values together, where large numbers cancel before them.
MOST_CANCELLED = 0.05
#: A slip adds up other terms than the answer, so it rounds as other numbers do.
SLIP_ROUNDS = 2
#: What no rounding leaves wrong of all values together, not even where large numbers cancel.
MOST_ROUNDED = 0.25
#: Of a factor such as 3/2, above and below: a longer one is near any number.
_LARGEST_PART = 10


@dataclass(frozen=True)
class Mistake:
    """What is wrong with one output: ids and fields of sentences in `course.words.sentences`."""

    message_id: str
    fields: Mapping[str, object]
    pattern_id: str = ""
    pattern_fields: Mapping[str, object] = field(default_factory=dict)


def tolerance(
    dtype: np.dtype[Any], stated: Mapping[str, tuple[float, float]]
) -> tuple[float, float]:
    """(relative, absolute) for an output of `dtype`; (0, 0) for whole numbers."""
    if dtype.name in stated:
        return stated[dtype.name]
    return TOLERANCE.get(dtype.name, (0.0, 0.0))


def close(
    got: np.ndarray, expected: np.ndarray, magnitude: np.ndarray, rtol: float, atol: float
) -> np.ndarray:
    """Element by element: equal (nan and inf too) or within the tolerance. Shapes agree.

    A NaN that the poison left is no result, also where NaN is right.
    """
    equal = got == expected
    if got.dtype.kind == "f" or expected.dtype.kind == "f":
        equal |= np.isnan(got) & np.isnan(expected) & ~poisoned(got)
        if rtol or atol:
            with np.errstate(invalid="ignore", over="ignore"):
                error = np.abs(np.subtract(got, expected, dtype=np.float64))
                equal |= np.isfinite(error) & (error <= rtol * np.abs(magnitude) + atol)
    return equal


def changed(before: np.ndarray, after: np.ndarray) -> dict[str, object] | None:
    """Where an array first differs, with both values, or None where nothing changed."""
    same = (before == after) | ((before != before) & (after != after))
    if same.all():
        return None
    index = np.unravel_index(int(np.argmin(same)), before.shape)
    return {
        "index": tuple(map(int, index)),
        "expected": before[index].item(),
        "got": after[index].item(),
    }


@dataclass(frozen=True)
class Compared:
    """One output of one case.

    Attributes:
        number: the case's, from 1, the smallest first.
        sizes: of the case, by name.
        lengths: how far tiles, blocks and grids of this launch reach, by what they are called.
        given: what the reference took: arrays in float64, numbers.
        got: the output after the launch, any shape.
        expected, magnitude: the reference's values, of the same shape.
        limits: relative and absolute tolerance.
        grid, block: the launch, x first: a tail or a block is a pattern of the launch. Both are
            empty where the cell's launcher launched, and made the output.
        loaded: whether the kernel read this output.
    """

    number: int
    name: str
    sizes: Mapping[str, int]
    lengths: Mapping[str, int]
    given: Mapping[str, Any]
    got: np.ndarray
    expected: np.ndarray
    magnitude: np.ndarray
    limits: tuple[float, float]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    loaded: bool = False

    @cached_property
    def wrong(self) -> np.ndarray:
        """Element by element."""
        return self.wrong_if(self.got)

    @property
    def mostly_right(self) -> bool:
        """Whether fewer than half of its elements are wrong."""
        return bool(2 * self.wrong.sum() < self.wrong.size)

    def wrong_if(self, values: Any) -> np.ndarray:
        """Element by element: whether a kernel that gave these values would be wrong."""
        given = np.broadcast_to(np.asarray(values), self.expected.shape)
        return ~close(given, self.expected, self.magnitude, *self.limits)

    def gave(self, values: Any, sizes: Any = None) -> np.ndarray:
        """Element by element: whether the kernel gave these values.

        `sizes` is what the tolerance is relative to, where the values do not say it.
        """
        candidate = np.broadcast_to(np.asarray(values), self.got.shape)
        about = self.magnitude if sizes is None else np.broadcast_to(sizes, self.got.shape)
        size = np.maximum(np.abs(candidate), about)
        relative, absolute = self.limits
        same = close(self.got, candidate, SLIP_ROUNDS * size, relative, absolute)
        if self.got.dtype.kind == "f":  # what does not fit, rounded, is infinite
            most = float(np.finfo(self.got.dtype).max)
            error = SLIP_ROUNDS * relative * size + absolute
            beyond = np.abs(candidate) + error > most
            same |= beyond & (self.got == np.copysign(np.inf, candidate))
            if sizes is not None:  # and terms that do not fit are NaN where their signs differ
                same |= (size > most) & ~np.isfinite(self.got)
        return same


def mistake_in(one: Compared) -> Mistake | None:
    """What is wrong with an output, by its case alone; None where it is right."""
    got, expected, wrong = one.got, one.expected, one.wrong
    if not wrong.any():
        return None
    count, total = int(wrong.sum()), int(wrong.size)
    first = np.unravel_index(int(np.argmax(wrong)), got.shape)
    index = tuple(int(axis) for axis in first)
    fields: dict[str, object] = {"array": one.name, "index": index, "total": total}
    pattern, details = _pattern(one)
    left = poisoned(got) & wrong
    if one.loaded and _grew_from_poison(got, expected, wrong):
        start = "NaN" if got.dtype.kind == "f" else str(poison(got.dtype))
        return Mistake("output_read", {**fields, "got": plain(got[first]), "poison": start})
    if left[first]:
        others = int(left.sum()) - 1
        if others:
            fields["others"] = others
        if not np.array_equal(left, wrong) or pattern == "all_zero":
            pattern, details = "", {}
        return Mistake("never_written", fields, pattern, details)
    fields |= {"expected": plain(expected[first]), "got": plain(got[first])}
    if total > 1:
        fields["wrong"] = count
    if got.ndim == 0:
        return Mistake("wrong_scalar", fields, pattern, details)
    return Mistake("wrong_value", fields, pattern, details)


def _grew_from_poison(got: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> bool:
    """Whether every wrong element is what a sum makes that starts from the poison."""
    if got.dtype.kind == "f":
        return bool(poisoned(got)[wrong].all())
    if got.dtype.kind not in "iu":
        return False
    with np.errstate(over="ignore"):
        grown = got[wrong] - poison(got.dtype)
    return bool(np.array_equal(grown, expected[wrong].astype(got.dtype)))


def _pattern(one: Compared) -> tuple[str, dict[str, object]]:
    """(id, fields) of the pattern that explains every wrong element, or ('', {})."""
    got, expected, magnitude, wrong = one.got, one.expected, one.magnitude, one.wrong
    place = _place_pattern(wrong, one.grid, one.block)
    if place[0]:
        return place
    if got.size >= SMALLEST_PATTERN and expected.any() and not got.any():
        return "all_zero", {}
    if _made_nan(got, wrong):
        return "not_a_number", {}
    if _made_infinite(got[wrong], expected[wrong]):
        return "infinite", {}

    def same(candidate: np.ndarray, of: np.ndarray, size: np.ndarray) -> bool:
        return candidate.shape == of.shape and bool(close(candidate, of, size, *one.limits).all())

    flat, want, size = got.ravel(), expected.ravel(), magnitude.ravel()
    if got.ndim == 2 and min(got.shape) > 1 and same(flat, expected.T.ravel(), magnitude.T.ravel()):
        return "transposed", {}
    made_by_launcher = not one.grid
    if made_by_launcher and got.size >= SMALLEST_PATTERN and got.ndim <= MOST_AXES_TURNED:
        if any(same(turned.ravel(), want, size) for turned in _turned(got)):
            return "other_strides", {}
    if got.size >= SMALLEST_PATTERN:
        if same(flat[1:], want[:-1], size[:-1]) or same(flat[:-1], want[1:], size[1:]):
            return "off_by_one", {}
        if same(flat, want[::-1], size[::-1]):
            return "reversed", {}
        factor = factor_of(flat, want)
        if factor is not None and same(flat, want * factor, size * factor):
            return "scaled", {"factor": factor}
        more = _offset(flat, want)
        if wrong.all() and more and same(flat, want + more, size + abs(more)):
            return "offset", {"by": round(abs(more)), "than": "more" if more > 0 else "less"}
    return _precision_pattern(got, expected, magnitude, one.mostly_right)


def _turned(values: np.ndarray) -> Iterator[np.ndarray]:
    """With its axes in every other order that is not the same in memory."""
    long = [axis for axis, length in enumerate(values.shape) if length > 1]
    for order in permutations(range(values.ndim)):
        if [axis for axis in order if axis in long] != long:
            yield values.transpose(order)


def _made_nan(got: np.ndarray, wrong: np.ndarray) -> bool:
    """Whether every wrong element is a NaN that the kernel stored."""
    if got.dtype.kind != "f":
        return False
    return bool((np.isnan(got) & ~poisoned(got))[wrong].all())


def _made_infinite(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether numbers became infinite, or NaN of that, and nothing else is wrong."""
    if got.dtype.kind != "f" or np.isfinite(got).any() or not np.isfinite(expected).all():
        return False
    return bool(np.isinf(got).any() and not poisoned(got).any())


def _place_pattern(
    wrong: np.ndarray, grid: tuple[int, ...], block: tuple[int, ...]
) -> tuple[str, dict[str, object]]:
    """Wrong in exactly the last, partly filled block, or right as far as one block or the grid."""
    if wrong.ndim != 1 or len(block) != 1 or len(grid) != 1:
        return "", {}
    size, threads = wrong.size, block[0]
    full = size // threads * threads
    if 0 < full < size and grid[0] == full // threads + 1:
        if wrong[full:].all() and not wrong[:full].any():
            return "ragged_tail", {"start": full, "count": size - full}
    everyone = grid[0] * threads
    if size > everyone and wrong[everyone:].all() and not wrong[:everyone].any():
        return "one_round_only", {"count": everyone}
    if size > threads and wrong[threads:].all() and not wrong[:threads].any():
        return "first_block_only", {"count": threads}
    return "", {}


def factor_of(got: np.ndarray, expected: np.ndarray) -> int | float | None:
    """A whole number, or one over one, or a short fraction, that every element is off by."""
    largest = int(np.argmax(np.abs(np.nan_to_num(expected.astype(np.float64)))))
    want, have = float(expected[largest]), float(got[largest])
    if not np.isfinite([want, have]).all() or want == 0 or have == 0:
        return None
    for factor in (have / want, want / have):
        whole = round(factor)
        if whole not in (0, 1) and abs(factor - whole) <= 1e-3 * abs(whole):
            return whole if factor == have / want else 1 / whole
    short = Fraction(have / want).limit_denominator(_LARGEST_PART)
    near = abs(have / want - short) <= 1e-3 * abs(short)
    return float(short) if near and abs(short.numerator) <= _LARGEST_PART else None


def _offset(got: np.ndarray, expected: np.ndarray) -> float:
    """A whole number that elements are off by; 0 where there is none."""
    with np.errstate(invalid="ignore", over="ignore"):
        more = float(np.median(np.subtract(got, expected, dtype=np.float64)))
    return float(round(more)) if np.isfinite(more) and abs(more - round(more)) <= 1e-3 else 0.0


def _rounded(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether the errors look like rounding: small beside all values together, to both sides."""
    error = ((got - expected) * np.sign(expected)).ravel()  # a factor is to one side
    whole = float(np.linalg.norm(expected))
    up, down = int((error > 0).sum()), int((error < 0).sum())
    small = float(np.linalg.norm(error)) <= MOST_CANCELLED * whole
    return small and 10 * min(up, down) >= up + down


def gross(one: Compared) -> bool:
    """Whether what is wrong is so far off, all together, that no rounding can be the cause.

    It is held to the size of all results: one that is near 0 may be off by many times itself.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.subtract(one.got, one.expected, dtype=np.float64)[one.wrong]
    usual = float(np.linalg.norm(one.expected)) / max(one.expected.size, 1) ** 0.5
    far = float(np.linalg.norm(error)) > MOST_ROUNDED * usual * error.size**0.5
    return far and bool(np.isfinite(error).all())


def _precision_pattern(
    got: np.ndarray, expected: np.ndarray, magnitude: np.ndarray, mostly_right: bool
) -> tuple[str, dict[str, object]]:
    share, half = LOWER_PRECISION.get(got.dtype.name), got.dtype == np.float16
    if share is None or got.size < SMALLEST_PATTERN:
        return "", {}
    if mostly_right and not half:
        share = min(share, 10.0**-MANY_DIGITS)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(np.subtract(got, expected, dtype=np.float64))
    size = np.maximum(np.abs(magnitude), np.abs(expected)).astype(np.float64)
    scale = np.maximum(size, float(np.median(size)))
    if not (np.isfinite(error).all() and (error <= share * scale).all()):
        return "", {}
    if not _rounded(got.astype(np.float64), expected.astype(np.float64)):
        return "", {}
    if half:
        return "rounded_on_the_way", {"dtype": got.dtype.name}
    worst = float((error / np.maximum(scale, np.finfo(np.float64).tiny)).max())
    digits = max(1, int(-np.log10(worst))) if worst > 0 else 1
    fields: dict[str, object] = {"digits": digits, "dtype": got.dtype.name}
    if digits <= FEW_DIGITS or mostly_right:
        fields["part"] = "a small part of it"
    return "low_precision", fields
