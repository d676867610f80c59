"""The GPU that a check stands for: an A100, which every launch of a check is compiled for.

What a launcher asks about its GPU, it hears of this one, on every machine; what it is compiled for
and what shared memory it may have are the same one's.
(NVIDIA A100 Tensor Core GPU Architecture, and what its driver reports.)
"""

from __future__ import annotations

from collections.abc import Mapping

NAME = "NVIDIA A100-SXM4-80GB"
#: The compute capability, 8.0, and as compilers write it.
CAPABILITY = (8, 0)
TARGET = 10 * CAPABILITY[0] + CAPABILITY[1]
MULTIPROCESSORS = 108
WARP_LANES = 32
#: What one block can have with the launch's consent, and what one multiprocessor has.
SHARED_BYTES_OF_A_BLOCK = 163 << 10
SHARED_BYTES_OF_A_MULTIPROCESSOR = 164 << 10
#: Of which each block takes some that it does not see.
SHARED_BYTES_KEPT = 1 << 10
#: What one block can have of other GPUs, by compute capability
#: (CUDA C++ Programming Guide, "Technical specifications per compute capability").
SHARED_LIMITS = {
    75: 64 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10, 100: 227 << 10, 120: 99 << 10,
    TARGET: SHARED_BYTES_OF_A_BLOCK,
}  # fmt: skip
REGISTERS_OF_A_MULTIPROCESSOR = 64 << 10
THREADS_OF_A_MULTIPROCESSOR = 2048
BLOCKS_OF_A_MULTIPROCESSOR = 32
L2_BYTES = 40 << 20
MEMORY_BYTES = 80 << 30
#: In kHz; the bus in bits.
CLOCK_KHZ, MEMORY_CLOCK_KHZ, MEMORY_BUS_BITS = 1_410_000, 1_593_000, 5120


def shared_limit(target: int) -> int:
    """The most shared memory that a block can have on a GPU, in bytes."""
    return SHARED_LIMITS.get(target, SHARED_LIMITS[75])


def target_of(properties: Mapping[str, int | str]) -> int:
    """The compute capability of a GPU's properties, as compilers write it: 90 for 9.0."""
    return 10 * int(properties["major"]) + int(properties["minor"])
