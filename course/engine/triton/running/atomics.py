"""Atomic updates: every lane in turn, in the order of programs and lanes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from course.engine.triton.running.values import round_bf16


def _unsigned(op: Callable[..., np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def run(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        kind = f"u{old.dtype.itemsize}"
        return op(old.view(kind), new.astype(old.dtype).view(kind)).view(old.dtype)

    return run


_OPERATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "ADD": np.add,
    "FADD": np.add,
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "UMAX": _unsigned(np.maximum),
    "UMIN": _unsigned(np.minimum),
    "XCHG": lambda old, new: new,
}


def updated(
    operation: str,
    memory: np.ndarray,
    places: np.ndarray,
    values: np.ndarray,
    expected: np.ndarray | None,
    bf16: bool = False,
) -> np.ndarray:
    """Updates `memory` at `places` with `values`, one after the other; what each lane found.

    Lanes with one place are taken in rounds: the n-th lane of every place in round n.
    """
    found = np.empty(len(places), memory.dtype)
    for lanes in _rounds(places):
        here = places[lanes]
        old = memory[here]
        found[lanes] = old
        if expected is not None:
            new = np.where(old == expected[lanes], values[lanes], old)
        else:
            new = _OPERATIONS[operation](old, values[lanes])
        memory[here] = round_bf16(new) if bf16 else new
    return found


def _rounds(places: np.ndarray) -> list[np.ndarray]:
    """Lanes in groups in which no place occurs twice, in order."""
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
