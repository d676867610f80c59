"""Atomics that meet: which of them go together, so that each finds what those before it left."""

from __future__ import annotations

import numpy as np


def rounds(places: np.ndarray) -> list[np.ndarray]:
    """Lanes in groups in which no place occurs twice: the n-th lane of every place in round n."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(ordered)])
    most = int(lengths.max()) if len(lengths) else 0
    if most <= 1:
        return [order] if len(order) else []
    rank = np.arange(len(ordered)) - np.repeat(starts, lengths)
    by_rank = np.argsort(rank, kind="stable")
    ends = np.searchsorted(rank[by_rank], np.arange(1, most + 1))
    return [order[part] for part in np.split(by_rank, ends[:-1])]
