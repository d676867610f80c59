"""Where results are wrong, over all cases: the last element of every size, one row of each tile.

A place is named where it holds all that is wrong in every case, most of it is wrong, and a case
that is right has no such place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product

import numpy as np

from course.check.compare import SMALLEST_PATTERN, Compared
from course.check.outputs import OF_A_WARP, called

#: The share of a place that has to be wrong, so that it is called so.
MOST = 0.9
#: The same of whole slices, beside others that are right throughout: there chance is no cause.
SEVERAL = 0.5
#: So many elements are near an end.
NEAR = 3
#: So many places of one value are no chance.
FEWEST_PLACES = 2
#: Among fewer places every second one is no pattern.
FEW = 4
#: The last axes of an output are the rows and columns of a matrix.
MATRIX_AXES = 2
#: With more sizes than that, one of them goes with right and wrong by chance.
MOST_SIZES = 2


@dataclass(frozen=True)
class Region:
    """Places along an axis.

    Attributes:
        there: which are meant, of (all, length of the axis, length of a tile).
        whole: it is said that others are right, so none of these may be.
        of_matrices: of heads and the like `slices_of` says more.
        pieces: the axis has more tiles than so many.
    """

    there: Callable[[np.ndarray, int, int], np.ndarray]
    whole: bool = False
    of_matrices: bool = False
    pieces: int = 0


@dataclass(frozen=True)
class Found:
    """An id of `course.words.patterns`, with its values."""

    message_id: str
    fields: Mapping[str, object]


#: Places that every size has.
_EVERYWHERE: dict[str, Region] = {
    "place_last": Region(lambda i, n, _: i == n - 1),
    "place_first": Region(lambda i, n, _: i == 0),
    "place_but_first": Region(lambda i, n, _: i > 0, whole=True, of_matrices=True),
    "place_ends": Region(lambda i, n, _: (i == 0) | (i == n - 1)),
    "place_near_ends": Region(lambda i, n, _: (i < NEAR) | (i >= n - NEAR)),
}
#: Places that the length of a block, a tile or the grid makes.
_OF_LENGTHS: dict[str, Region] = {
    "place_tail": Region(lambda i, n, t: i >= n // t * t),
    "place_from": Region(lambda i, n, t: i >= t),
    "place_full": Region(lambda i, n, t: (i < n // t * t) & (n % t != 0), whole=True),
    "place_tile_ends": Region(lambda i, n, t: i % t == t - 1),
    "place_tile_starts": Region(lambda i, n, t: (i % t == 0) & (i >= t)),
    "place_tile_firsts": Region(lambda i, n, t: i % t == 0),
    "place_but_tile_firsts": Region(
        lambda i, n, t: i % t > 0, whole=True, of_matrices=True, pieces=1
    ),
    "place_second_tiles": Region(lambda i, n, t: i // t % 2 == 1, pieces=3),
    "place_tile_heads": Region(lambda i, n, t: (i % t < NEAR) & (i >= t)),
    "place_tile_tails": Region(lambda i, n, t: (i % t >= t - NEAR) & (i // t < (n - 1) // t)),
    "place_whole_tile_tails": Region(lambda i, n, t: i % t >= t - NEAR),
    "place_tile_edges": Region(
        lambda i, n, t: ((i % t < 3) & (i >= 3)) | ((i % t >= t - 3) & (i < n - 3))
    ),
}
_EVERY_SECOND: dict[str, Region] = {
    "place_odd": Region(lambda i, n, _: (i % 2 == 1) & (n >= FEW)),
    "place_even": Region(lambda i, n, _: (i % 2 == 0) & (n >= FEW)),
}


def place_of(cases: Sequence[Compared], axes: Sequence[str]) -> Found | None:
    """The place that holds all that is wrong, or None.

    Args:
        axes: what the places along each axis of the output are called, in the singular.
    """
    grids = (Found(name, {}) for name, left_out in _OF_GRIDS.items() if left_out(cases))
    return next(chain(grids, _along_axes(cases, axes), _diagonals(cases)), None)


def _left_out_where_x_counts_rows(cases: Sequence[Compared]) -> bool:
    """Whether all that a launch of two axes leaves out so is wrong, and nothing else.

    A block has a row and a column for each thread, or as many as a constant of the cell says.
    """
    if any(one.got.ndim != MATRIX_AXES or len(one.block) != MATRIX_AXES for one in cases):
        return False
    lengths = ["", *(name for name in cases[0].lengths if name.isidentifier())]
    return any(
        all(np.array_equal(_beyond(one, tall, wide), one.wrong) for one in cases)
        for tall, wide in product(lengths, lengths)
    )


def _beyond(one: Compared, tall: str, wide: str) -> np.ndarray:
    """What of a matrix a grid leaves out whose x counts the rows; '' is the block's own side."""
    row, column = np.indices(one.got.shape)
    rows = one.grid[0] * (one.lengths[tall] if tall else one.block[0])
    columns = one.grid[1] * (one.lengths[wide] if wide else one.block[1])
    return np.asarray((row >= rows) | (column >= columns))


def _left_out_by_a_grid_turned(cases: Sequence[Compared]) -> bool:
    """Whether all that is wrong is what tiles leave out of which as many lie along the rows as
    the columns have, and the other way round, and nothing else.

    The tiles are as long as two constants of the cell say, or one. A grid of one axis has
    nothing to turn.
    """
    named = [label for label in cases[0].lengths if label.isidentifier()]
    of_one_axis = any(len(one.grid) == 1 for one in cases)
    if of_one_axis or any(one.block or one.got.ndim != MATRIX_AXES for one in cases):
        return False
    return any(
        all(np.array_equal(_unreached(one, tall, wide), one.wrong) for one in cases)
        for tall, wide in product(named, named)
    )


#: Launches whose axes have changed places.
_OF_GRIDS: dict[str, Callable[[Sequence[Compared]], bool]] = {
    "place_axes_swapped": _left_out_where_x_counts_rows,
    "place_grid_turned": _left_out_by_a_grid_turned,
}


def _unreached(one: Compared, tall: str, wide: str) -> np.ndarray:
    """What of a matrix a grid of tiles leaves out whose axes have changed places."""
    (rows, columns), (height, width) = one.got.shape, (one.lengths[tall], one.lengths[wide])
    row, column = np.indices(one.got.shape)
    return (row >= -(columns // -width) * height) | (column >= -(rows // -height) * width)


def value_of(cases: Sequence[Compared]) -> Found | None:
    """The one value of an input at all places that are wrong, and at no others.

    The input is as long as the output, or as its first axes.
    """
    for name, given in cases[0].given.items():
        if not isinstance(given, np.ndarray) or not given.ndim:
            continue
        if all(one.got.shape[: one.given[name].ndim] == one.given[name].shape for one in cases):
            value = _value_alone(cases, name)
            if value is not None:
                return Found("place_value", {"name": name, "value": value})
    return None


def _value_alone(cases: Sequence[Compared], name: str) -> int | float | None:
    found = {v for one in cases for v in np.unique(one.given[name][_any_wrong(one, name)]).tolist()}
    if len(found) != 1:
        return None
    (value,) = found
    places, partly = 0, False
    for one in cases:
        there = one.given[name] == value
        wrong = _any_wrong(one, name)
        large = one.wrong.size >= SMALLEST_PATTERN
        if large and there.any() and wrong[there].mean() < MOST:
            return None
        partly |= bool(wrong.any() and not there.all())
        places += int(wrong.sum())
    return value if partly and places >= FEWEST_PLACES else None


def _any_wrong(one: Compared, name: str) -> np.ndarray:
    """Element by element of an input: whether one that belongs to it is wrong."""
    found = one.wrong.reshape(*one.given[name].shape, -1)
    return np.asarray(found.any(axis=-1))


def _along_axes(cases: Sequence[Compared], axes: Sequence[str]) -> Iterator[Found]:
    for regions, by_length in ((_EVERYWHERE, False), (_OF_LENGTHS, True), (_EVERY_SECOND, False)):
        for axis, what in enumerate(axes):
            labels = _labels(cases, axis, axes) if by_length else [""]
            for message_id, region in regions.items():
                if region.of_matrices and axis < len(axes) - MATRIX_AXES:
                    continue
                for label in labels:
                    if _holds(cases, axis, label, region):
                        last = max(one.lengths.get(label, 0) for one in cases)
                        told = called(label, cases, [one.got.shape[axis] for one in cases])
                        each = told.removeprefix("one ")
                        fields = {"what": what, "label": told, "each": each, "length": last}
                        yield Found(message_id, fields)


def _labels(cases: Sequence[Compared], axis: int, axes: Sequence[str]) -> list[str]:
    """Lengths that may be along an axis: of a warp along the last one, of y rather along rows."""
    along_rows = axis < len(axes) - 1
    named = [one for one in cases[0].lengths if not (along_rows and one == OF_A_WARP)]
    return sorted(named, key=lambda one: along_rows and one.endswith("along x"))


def _pieces(cases: Sequence[Compared], axis: int, label: str) -> float:
    """So many of these lengths the longest axis has; of a warp none: it has no start of its own."""
    if label == OF_A_WARP:
        return 0
    return max(one.got.shape[axis] / one.lengths[label] for one in cases)


def _holds(cases: Sequence[Compared], axis: int, label: str, region: Region) -> bool:
    """Whether all that is wrong is there, and most of what is there is wrong."""
    if region.pieces and _pieces(cases, axis, label) <= region.pieces:
        return False
    partly = False
    for one in cases:
        length = one.got.shape[axis]
        there = region.there(np.arange(length), length, one.lengths.get(label, 1))
        others = tuple(k for k in range(one.got.ndim) if k != axis)
        share = one.wrong.mean(axis=others) if others else one.wrong.astype(float)
        if (share[~there] > 0).any():
            return False
        if one.wrong.any():
            if share[there].mean() < MOST or (region.whole and not share[there].all()):
                return False
            partly |= not there.all()
        elif there.any():
            return False
    return partly


#: Places of a matrix, in its last two axes.
_OF_MATRICES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "place_diagonal": lambda i, j: i == j,
    "place_above": lambda i, j: j > i,
    "place_below": lambda i, j: j < i,
}


def _diagonals(cases: Sequence[Compared]) -> Iterator[Found]:
    if cases[0].got.ndim < 2:
        return
    for message_id, region in _OF_MATRICES.items():
        if all(_in_matrix(one, region) for one in cases):
            yield Found(message_id, {})


def _in_matrix(one: Compared, region: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> bool:
    rows, columns = one.got.shape[-2:]
    there = region(np.arange(rows)[:, None], np.arange(columns)[None, :])
    share = one.wrong.mean(axis=tuple(range(one.got.ndim - 2)))
    if (share[~there] > 0).any():
        return False
    if not one.wrong.any():
        return not there.any()
    return bool(share[there].mean() >= MOST) and min(rows, columns) > 1


def slices_of(cases: Sequence[Compared], axes: Sequence[str]) -> Found | None:
    """`head 1 is wrong, head 0 right`: whole slices along an axis, in the case shown."""
    one = cases[0]
    for axis, what in enumerate(axes[:-2]):
        others = tuple(k for k in range(one.got.ndim) if k != axis)
        share = one.wrong.mean(axis=others)
        bad, good = np.flatnonzero(share > SEVERAL), np.flatnonzero(share == 0)
        if bad.size and good.size and bad.size + good.size == share.size:
            fields = {"what": what, "bad": tuple(map(int, bad)), "good": tuple(map(int, good))}
            return Found("place_slices", fields)
    return None


def sizes_of(cases: Sequence[Compared]) -> Found | None:
    """What the sizes of the cases that are right have in common, and those of the others not.

    A size of 1 says little, and where several sizes could be the cause, none is named.
    """
    right = [one for one in cases if not one.wrong.any()]
    wrong = [one for one in cases if one.wrong.any()]
    sizes = cases[0].sizes
    if not right or not wrong or len(sizes) > MOST_SIZES:
        return None
    found: dict[str, tuple[int, Found]] = {}
    for name in cases[0].sizes:
        values = {"name": name, "right": _values(right, name), "wrong": _values(wrong, name)}
        fewest = min(len(values["right"]), len(values["wrong"]))
        if values["right"] == (1,) or fewest < len(sizes):
            continue
        for rank, message_id, other in _holding(right, wrong, name):
            one = Found(message_id, {**values, "label": other})
            found[name] = min(found.get(name, (rank, one)), (rank, one), key=lambda pair: pair[0])
    best = min((rank for rank, _ in found.values()), default=0)
    named = [one for rank, one in found.values() if rank == best]
    return named[0] if len(named) == 1 else None


def _holding(
    right: Sequence[Compared], wrong: Sequence[Compared], name: str
) -> Iterator[tuple[int, str, str]]:
    """(rank, id, of what): what is so of a size in all cases that are right, and in no other."""

    def splits(so: Callable[[int, Compared, str], bool], by: str = "") -> bool:
        return all(so(one.sizes[name], one, by) for one in right) and not any(
            so(one.sizes[name], one, by) for one in wrong
        )

    if set(_values(right, name)) & set(_values(wrong, name)):
        return
    for other in right[0].sizes:
        blocks = all(one.block and one.grid == (one.sizes[other],) for one in (*right, *wrong))
        if blocks and splits(lambda size, one, by: size % one.sizes[by] == 0, other):
            yield 0, "sizes_divided", other
    by_block = all(one.block == (one.sizes[name],) for one in right)
    if by_block and splits(lambda size, *_: size & (size - 1) == 0):
        yield 1, "sizes_power", ""
    for label in right[0].lengths:
        if not _about(label, name, right[0].sizes):
            continue
        if splits(lambda size, one, by: size % one.lengths[by] == 0, label):
            yield 2, "sizes_whole", label
        if splits(lambda size, one, by: size <= one.lengths[by], label):
            yield 2, "sizes_short", label


def _about(label: str, name: str, sizes: Mapping[str, int]) -> bool:
    """Whether a tile's length may be along a size: BLOCK_M and BM are along M alone."""
    if " along " in label:
        return len(sizes) == 1
    return not any(label.endswith(other) for other in sizes if other != name)


def _values(cases: Sequence[Compared], name: str) -> tuple[int, ...]:
    return tuple(sorted({one.sizes[name] for one in cases}))
