"""Right values in wrong places: a row computed for another one, two indices exchanged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from course.check.compare import Compared

#: Fewer values than that are those of other elements by chance.
FEWEST = 16
#: The share of wrong values that have to be another element's, and the most that may be after
#: all of them are moved by so many times their tolerance: by chance, that is.
MOST, BY_CHANCE, MOVED = 0.6, 0.25, 32.0


def misplaced(cases: Sequence[Compared]) -> dict[str, object] | None:
    """A wrong element of the first case that tells, and whose value it has.

    In every case with enough wrong elements, most of them have to have the value of another one.
    """
    telling = [one for one in cases if np.unique(one.got[one.wrong]).size >= FEWEST]
    found = [_others(one) for one in telling]
    pair = next((pair for pair in found if pair is not None), None)
    if pair is None or None in found:
        return None
    index, other = (tuple(map(int, np.unravel_index(k, telling[0].got.shape))) for k in pair)
    return {"array": telling[0].name, "index": index, "other": other}


def _others(one: Compared) -> tuple[int, int] | None:
    """The numbers of a wrong element and of the one whose value it has.

    None where most have values of their own.
    """
    got, want = one.got.ravel().astype(np.float64), one.expected.ravel().astype(np.float64)
    if not (np.isfinite(got[one.wrong.ravel()]).all() and np.isfinite(want).all()):
        return None
    places = np.flatnonzero(one.wrong.ravel() & (got != 0))
    places = places[np.unique(got[places], return_index=True)[1]]
    order = np.argsort(want)
    relative, absolute = one.limits
    sizes = one.magnitude.ravel()[order].astype(np.float64)

    def near(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The element of the nearest value, and whether it is the only one that near."""
        above = np.searchsorted(want[order], values).clip(0, want.size - 1)
        below = (above - 1).clip(0)
        nearer = np.abs(want[order[below]] - values) < np.abs(want[order[above]] - values)
        nearest = np.where(nearer, below, above)
        width = np.abs(relative * sizes[nearest]) + absolute
        inside = [np.searchsorted(want[order], values + width, "right")]
        inside.append(np.searchsorted(want[order], values - width, "left"))
        return order[nearest], inside[0] - inside[1] > 0

    if not places.size:
        return None
    whose, same = near(got[places])
    width = np.abs(relative * one.magnitude.ravel()[places]) + absolute
    chance = near(got[places] + MOVED * width)[1].mean() if width.any() else 0.0
    alone = np.unique(want).size >= MOST * want.size
    if same.mean() < MOST or chance > BY_CHANCE or not alone or places.size < FEWEST:
        return None
    first = int(np.argmin(np.where(same, places, want.size)))
    return int(places[first]), int(whose[first])
