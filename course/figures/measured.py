"""Numbers that lessons quote about real GPUs, each with where it comes from.

The measured ones were printed by ``python tools/measure_levels.py`` on one NVIDIA H200
(132 multiprocessors at 1,980 MHz, driver 580.159.04, Numba 0.68 with numba-cuda 0.30.4) in
2026-11. Latencies include the arithmetic of the index.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """One place where a value can lie, as an H200's thread sees it.

    Attributes:
        size: capacity in words, from NVIDIA's H200 and Hopper documents.
        latency_ns: from asking to having, one thread, each load waiting for the last.
        bandwidth_tb_s: what all multiprocessors together got. Of registers, what multiply-adds at
            full speed read: three operands of 4 bytes each.
    """

    name: str
    size: str
    latency_ns: float
    bandwidth_tb_s: float


LEVELS = (
    Level("registers: a multiply-add", "256 KB in each SM", 2.1, 381.0),
    Level("shared memory", "up to 228 KB in each SM", 21.0, 32.5),
    Level("L1 cache", "same storage as shared memory", 36.0, 27.2),
    Level("L2 cache", "tens of MB for the whole chip", 152.0, 5.1),
    Level("device memory", "141 GB beside the chip", 386.0, 4.2),
)


@dataclass(frozen=True)
class Gpu:
    """Peak rates from NVIDIA's data sheets: float32 without tensor cores, and memory."""

    name: str
    tflop_s: float
    memory_gb_s: float

    @property
    def operations_a_number(self) -> float:
        """Float32 operations that fit into the time in which one float32 is fetched."""
        return self.tflop_s * 1e12 / (self.memory_gb_s * 1e9 / 4)


#: A multiply-add counts as two operations in these peaks.
GPUS = (
    Gpu("T4", 8.1, 320),
    Gpu("A100 80 GB SXM", 19.5, 2039),
    Gpu("H100 SXM", 67.0, 3350),
    Gpu("H200 SXM", 67.0, 4800),
)

#: GB/s between host memory and the H200 (PCIe 5.0, 16 lanes): 256 MiB at a time.
TO_DEVICE_GB_S = 12.3
TO_HOST_GB_S = 18.8
PINNED_GB_S = 55.0
#: One float32 to the device, in microseconds, Numba's own work included.
ONE_NUMBER_US = 58.0
#: An empty kernel: queued among others, and launched and waited for.
LAUNCH_QUEUED_US = 9.1
LAUNCH_AND_WAIT_US = 13.7

#: Kernels of lesson 01 on 2**24 float32 elements, in milliseconds: one of 50 in a queue.
ADD_MS = 0.062
ADD_ONE_THREAD_MS = 865.0  # 1/64 of the elements, times 64
SAXPY_STRIDE_MS = 0.0604
SAXPY_CHUNK_MS = 1.17
#: Newton steps: (branch by parity, branch by row), 2 x 2**24 elements, in milliseconds.
ROOTS_MS = {1: (0.27, 0.19), 8: (0.59, 0.35), 32: (1.81, 0.96)}
