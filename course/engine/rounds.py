"""Atomics that meet: in which order, and which of them go together.

No GPU promises an order. One by the lanes' numbers would make a kernel right here that hangs on
it: one that takes what its atomics find for a running sum, say.
"""

from __future__ import annotations

import numpy as np

#: Multiples of it, modulo 2**32, lie in no order that anybody would come upon by chance.
_SCATTERING = 0x9E3779B1


def rounds(places: np.ndarray) -> list[np.ndarray]:
    """Lanes in groups in which no place occurs twice: the n-th to come to a place in round n."""
    coming = np.argsort(np.arange(1, len(places) + 1) * _SCATTERING & 0xFFFFFFFF)
    order = coming[np.argsort(places[coming], kind="stable")]
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
