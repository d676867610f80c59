"""What a program hears of the GPU that is named: of each kind that `course.measure` knows, one.

From NVIDIA's data sheets and the CUDA C++ Programming Guide ("Technical specifications per compute
capability").
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from course.engine import stated_gpu
from course.engine.launcher.gpu import OF_TRITON

#: name, multiprocessors, L2, memory, threads of a multiprocessor, shared memory of one in KiB
_KNOWN = {
    75: ("Tesla T4", 40, 4 << 20, 15 << 30, 1024, 64),
    80: (
        stated_gpu.NAME, stated_gpu.MULTIPROCESSORS, stated_gpu.L2_BYTES, stated_gpu.MEMORY_BYTES,
        stated_gpu.THREADS_OF_A_MULTIPROCESSOR, stated_gpu.SHARED_BYTES_OF_A_MULTIPROCESSOR >> 10,
    ),
    86: ("NVIDIA GeForce RTX 3090", 82, 6 << 20, 24 << 30, 1536, 100),
    89: ("NVIDIA L4", 58, 48 << 20, 24 << 30, 1536, 100),
    90: ("NVIDIA H100 80GB HBM3", 132, 50 << 20, 80 << 30, 2048, 228),
    100: ("NVIDIA B200", 148, 126 << 20, 180 << 30, 2048, 228),
    120: ("NVIDIA GeForce RTX 5090", 170, 96 << 20, 32 << 30, 1536, 100),
}  # fmt: skip


def of_torch(target: int) -> Any:
    """What `torch.cuda.get_device_properties(0)` gives; `target` is 90 for 9.0."""
    name, multiprocessors, l2, memory, threads, shared = _KNOWN[target]
    return SimpleNamespace(
        name=name,
        major=target // 10,
        minor=target % 10,
        multi_processor_count=multiprocessors,
        total_memory=memory,
        warp_size=stated_gpu.WARP_LANES,
        L2_cache_size=l2,
        max_threads_per_multi_processor=threads,
        regs_per_multiprocessor=stated_gpu.REGISTERS_OF_A_MULTIPROCESSOR,
        shared_memory_per_block=48 << 10,  # without the launch's consent
        shared_memory_per_block_optin=(shared << 10) - (1024 if target >= 80 else 0),
        shared_memory_per_multiprocessor=shared << 10,
    )


def of_triton(target: int) -> dict[str, int]:
    """What `triton.runtime.driver.active.utils.get_device_properties(0)` gives."""
    known = of_torch(target)
    return OF_TRITON | {
        "max_shared_mem": known.shared_memory_per_block_optin,
        "multiprocessor_count": known.multi_processor_count,
    }
