"""Banks of shared memory: the turns that requests of warps take beyond the fewest."""

from __future__ import annotations

import numpy as np

BANKS = 32
BANK_BYTES = 4


def extra_wavefronts(addresses: np.ndarray, active: np.ndarray, size: int) -> int:
    """Wavefronts of requests beyond the fewest, summed up.

    Lanes that ask for one 4-byte word share it; different words in one of the 32 banks take a
    wavefront each. Of 8-byte elements half a warp goes at once, of 16 bytes a quarter. These are
    the counters `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld` and `_op_st`.

    Args:
        addresses: in bytes, (warps, lanes); a row at once asks for no more than 128 bytes.
        active: the lanes that take part, of the same shape.
        size: bytes of a lane.
    """
    together = min(addresses.shape[1], BANKS * BANK_BYTES // max(size, BANK_BYTES))
    rows, on = addresses.reshape(-1, together), active.reshape(-1, together)
    some = on.any(axis=1)
    words = rows[some][:, :, None] // BANK_BYTES + np.arange(max(1, size // BANK_BYTES))
    words = np.where(on[some][:, :, None], words, -1)
    words = words.reshape(len(words), words.shape[1] * words.shape[2])
    words.sort(axis=1)
    fresh = words >= 0
    fresh[:, 1:] &= words[:, 1:] != words[:, :-1]
    numbers = np.nonzero(fresh)[0] * BANKS + words[fresh] % BANKS
    per_bank = np.bincount(numbers, minlength=len(words) * BANKS).reshape(-1, BANKS)
    return int((per_bank.max(axis=1) - 1).sum())
