"""Atomic updates: every lane in turn, in the order of programs and lanes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from course.engine.rounds import rounds
from course.engine.triton.running.values import round_bf16


def _unsigned(op: Callable[..., np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Of the bits, whatever the type: Triton compiles `atomic_and` on floats, too."""

    def run(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        kind = f"u{old.dtype.itemsize}"
        return op(old.view(kind), new.astype(old.dtype).view(kind)).view(old.dtype)

    return run


_OPERATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "ADD": np.add,
    "FADD": np.add,
    "AND": _unsigned(np.bitwise_and),
    "OR": _unsigned(np.bitwise_or),
    "XOR": _unsigned(np.bitwise_xor),
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
    """Updates `memory` at `places` with `values`, one after the other; what each lane found."""
    found = np.empty(len(places), memory.dtype)
    for lanes in rounds(places):
        here = places[lanes]
        old = memory[here]
        found[lanes] = old
        if expected is not None:
            new = np.where(old == expected[lanes], values[lanes], old)
        else:
            new = _OPERATIONS[operation](old, values[lanes])
        memory[here] = round_bf16(new) if bf16 else new
    return found
