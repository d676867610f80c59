"""Reductions and scans: the combining function runs on whole halves of a block at once.

Triton hands the builder a region that combines two elements. Here the two "elements" are
arrays: neighbours along the axis, all programs and rows together, so that a reduction of n
elements runs its function log2(n) times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course.engine.tile.run import Run
from course.engine.tile.values import Value, is_bf16, numpy_type, rounded

Combine = Callable[[list[np.ndarray], list[np.ndarray]], list[np.ndarray]]


class _Block:
    """The block of a region: its arguments are the arrays to combine."""

    def __init__(self, values: list[Value]) -> None:
        self.values = values

    def arg(self, index: int) -> Value:
        return self.values[index]


class _Op:
    """What a region belongs to, as far as the front end asks."""

    def get_region(self, index: int) -> None:
        return None

    def verify(self) -> bool:
        return True


class Regions:
    """The builder's part in reductions and scans."""

    run: Run
    _arguments: list[Value]
    _results: list[Value]

    def get_insertion_point(self) -> None:
        """Operations happen at once: there is no place to insert them."""

    def restore_insertion_point(self, point: Any) -> None:
        """See above."""

    def create_block_with_parent(self, region: Any, types: Any) -> _Block:
        """The region's block with the arrays to combine as its arguments."""
        return _Block(self._arguments)

    def create_reduce_ret(self, *handles: Value) -> None:
        """The region's result."""
        self._results = list(handles)

    create_scan_ret = create_reduce_ret
    create_map_elementwise_ret = create_reduce_ret

    def combiner(self, region: Callable[[Any], None], inputs: Sequence[Value]) -> Combine:
        """The region as a function of two lists of arrays of one shape.

        Each pair of elements is to the region what a program is to a kernel: on an `if` in it
        they may go different ways.
        """
        types = [value.type for value in inputs]

        def combine(left: list[np.ndarray], right: list[np.ndarray]) -> list[np.ndarray]:
            shape, count = left[0].shape, left[0].size
            flat = [data.reshape(-1) for data in (*left, *right)]
            self._arguments = list(map(Value, flat, [*types, *types]))
            with self.run.each_as_a_program(count):
                region(_Op())
            if len(self._results) != len(types):
                raise ValueError(
                    f"the combining function gives {len(self._results)} of the {len(types)} "
                    "values that it combines"
                )
            return [np.broadcast_to(r.data, (count,)).reshape(shape) for r in self._results]

        return combine


def tree(combine: Combine, data: list[np.ndarray], axis: int) -> list[np.ndarray]:
    """Reduces arrays along one axis: neighbours first, in order, then pairs of pairs."""
    while data[0].shape[axis] > 1:
        length = data[0].shape[axis]
        even = [_along(d, axis, slice(0, length - 1, 2)) for d in data]
        odd = [_along(d, axis, slice(1, length, 2)) for d in data]
        rest = [_along(d, axis, slice(length - 1, length)) for d in data] if length % 2 else None
        data = combine(even, odd)
        if rest is not None:
            data = [np.concatenate(pair, axis=axis) for pair in zip(data, rest, strict=True)]
    return [_along(d, axis, 0) for d in data]


def running(combine: Combine, data: list[np.ndarray], axis: int) -> list[np.ndarray]:
    """An inclusive scan along one axis, in log2(n) rounds."""
    length, distance = data[0].shape[axis], 1
    while distance < length:
        left = [_along(d, axis, slice(0, length - distance)) for d in data]
        right = [_along(d, axis, slice(distance, length)) for d in data]
        head = [_along(d, axis, slice(0, distance)) for d in data]
        data = [
            np.concatenate(pair, axis=axis) for pair in zip(head, combine(left, right), strict=True)
        ]
        distance *= 2
    return data


def _along(data: np.ndarray, axis: int, part: Any) -> np.ndarray:
    return data[(slice(None),) * axis + (part,)]


# ---------------------------------------------------------------- the common cases


def total(value: Value, axis: int) -> np.ndarray:
    """A sum along a block axis, in the element's own precision: 16 bits round at each addition."""
    dtype = numpy_type(value.type)
    repeat = value.shape[axis] // value.data.shape[axis + 1]
    if dtype.kind == "b":
        return (value.data.sum(axis=axis + 1) * repeat % 2).astype(np.bool_)
    if repeat > 1:
        return rounded(value.data[(slice(None),) * (axis + 1) + (0,)] * repeat, value.type)
    if dtype == np.float16 or is_bf16(value.type):
        added = lambda left, right: [rounded(left[0] + right[0], value.type)]  # noqa: E731
        return tree(added, [value.data], axis + 1)[0]
    return rounded(value.data.sum(axis=axis + 1, dtype=dtype), value.type)


def extreme(value: Value, axis: int, largest: bool, is_signed: bool) -> np.ndarray:
    """A maximum or minimum along a block axis; NaN is passed over, as `fmax` does."""
    data = value.data
    if data.dtype.kind == "f":
        return (np.fmax if largest else np.fmin).reduce(data, axis=axis + 1)
    plain = data if is_signed or data.dtype.kind == "b" else data.view(f"u{data.dtype.itemsize}")
    result = (np.maximum if largest else np.minimum).reduce(plain, axis=axis + 1)
    return result if result.dtype == data.dtype else result.view(data.dtype)
