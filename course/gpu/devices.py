"""The GPU that runs a cell, as torch sees it or as Numba does: its name, its memory, its clock."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np


class OfTorch:
    """Tensors and events, for Triton's kernels."""

    def __init__(self) -> None:
        import torch

        self.torch: Any = torch
        here = torch.cuda.get_device_properties(torch.cuda.current_device())
        self.name, self.count = str(here.name), int(torch.cuda.device_count())
        self.capability = 10 * int(here.major) + int(here.minor)
        self.l2_bytes = int(getattr(here, "L2_cache_size", 0))
        self.uuid = f"GPU-{getattr(here, 'uuid', '')}"
        self.wait: Callable[[], None] = torch.cuda.synchronize
        self.room(1)  # a GPU that another program holds says so now

    def put(self, array: np.ndarray) -> Any:
        here = self.torch.from_numpy(array)
        there = self.torch.empty_strided(here.shape, here.stride(), dtype=here.dtype, device="cuda")
        return there.copy_(here)

    def room(self, count_bytes: int) -> Any:
        return self.torch.empty(count_bytes, dtype=self.torch.int8, device="cuda")

    def released(self) -> None:
        """What nobody holds any more is for other programs."""
        self.torch.cuda.empty_cache()

    def fetched(self, array: Any) -> np.ndarray:
        got: np.ndarray = array.cpu().numpy()
        return got

    def event(self) -> Any:
        return self.torch.cuda.Event(enable_timing=True)

    def elapsed_ms(self, begin: Any, end: Any) -> float:
        return float(begin.elapsed_time(end))

    def copy(self, target: Any, source: Any) -> None:
        target.copy_(source)

    def profiled(self, call: Callable[[], Any]) -> None:
        """The call as the one that a profiler looks at."""
        self.torch.cuda.profiler.start()
        call()
        self.wait()
        self.torch.cuda.profiler.stop()


class OfNumba:
    """The same by Numba alone: its lessons do without torch."""

    def __init__(self) -> None:
        from numba import cuda

        self.cuda: Any = cuda
        here = cuda.get_current_device()
        self.name = here.name.decode() if isinstance(here.name, bytes) else str(here.name)
        self.count = len(cuda.gpus)
        major, minor = here.compute_capability
        self.capability = 10 * int(major) + int(minor)
        self.l2_bytes = int(getattr(here, "L2_CACHE_SIZE", 0))
        self.uuid = str(getattr(here, "uuid", ""))
        self.wait: Callable[[], None] = cuda.synchronize

    def put(self, array: np.ndarray) -> Any:
        if array.flags.c_contiguous or array.flags.f_contiguous:
            return self.cuda.to_device(array)
        assert array.base is not None  # rows that lie farther apart than they are long
        return self.cuda.to_device(array.base)[..., : array.shape[-1]]

    def room(self, count_bytes: int) -> Any:
        return self.cuda.device_array(count_bytes, np.int8)

    def released(self) -> None:
        """What nobody holds any more is for other programs."""
        with contextlib.suppress(AttributeError):  # another memory manager frees at once
            self.cuda.current_context().memory_manager.deallocations.clear()

    def fetched(self, array: Any) -> np.ndarray:
        got: np.ndarray = array.copy_to_host()
        return got

    def event(self) -> Any:
        return self.cuda.event()

    def elapsed_ms(self, begin: Any, end: Any) -> float:
        return float(self.cuda.event_elapsed_time(begin, end))

    def copy(self, target: Any, source: Any) -> None:
        target.copy_to_device(source)

    def profiled(self, call: Callable[[], Any]) -> None:
        """The call as the one that a profiler looks at."""
        with self.cuda.profiling():
            call()
            self.wait()
