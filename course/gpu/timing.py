"""Times on a GPU, and what it reaches at best: a copy's bytes, a product's operations, a second.

The rates are measured once for a GPU and its driver, and kept in ``gpu-kernel-course/rates.json``
among the user's caches (`XDG_CACHE_HOME`, else ``~/.cache``).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.gpu import troubles

#: More than an L2 holds: it is written before each timed run. Where there is no room for it, what
#: is surely more than the L2 at hand.
CLEARED_BYTES, CLEARED_L2S = 1 << 28, 2
WARM_UP, TIMED = 3, 20
COPIED_BYTES = 1 << 29
PRODUCT_SIDE = 4096
#: nvidia-smi takes a tenth of a second, and where a driver hangs, for ever.
_SMI_PATIENCE_S = 10.0


@dataclass(frozen=True)
class Timed:
    """Microseconds of a launch, and the multiprocessors' clock before and after, if known."""

    us: float
    low_us: float
    high_us: float
    clocks_mhz: tuple[float, float] | None


def timed(gpu: Any, call: Callable[[], Any]) -> Timed:
    """Times a call twice; the first time is for the GPU's clock to rise."""
    timed_us(gpu, call)
    before = _asked(gpu, "clocks.sm")
    times = timed_us(gpu, call)
    clocks = (before, _asked(gpu, "clocks.sm"))
    try:
        known = (float(clocks[0]), float(clocks[1]))
    except ValueError:  # no nvidia-smi, or [N/A]
        known = None
    return Timed(
        times[len(times) // 2], times[len(times) // 10], times[-1 - len(times) // 10], known
    )


def timed_us(gpu: Any, call: Callable[[], Any]) -> list[float]:
    """Microseconds by events, sorted. What clears the L2 also hides how long a launch takes."""
    source, target = _clearing(gpu)
    found = []
    for turn in range(WARM_UP + TIMED):
        begin, end = gpu.event(), gpu.event()
        gpu.copy(target, source)
        begin.record()
        call()
        end.record()
        end.synchronize()
        if turn >= WARM_UP:
            found.append(1000 * gpu.elapsed_ms(begin, end))
    return sorted(found)


def _clearing(gpu: Any) -> tuple[Any, Any]:
    try:
        return gpu.room(CLEARED_BYTES), gpu.room(CLEARED_BYTES)
    except Exception as problem:
        if not gpu.l2_bytes or not troubles.of_memory(problem):
            raise
    return gpu.room(CLEARED_L2S * gpu.l2_bytes), gpu.room(CLEARED_L2S * gpu.l2_bytes)


def copy_gb_s(gpu: Any) -> float | None:
    """What a large copy reaches at its best, bytes read and written; None without room for it."""

    def measured() -> float:
        source, target = gpu.room(COPIED_BYTES), gpu.room(COPIED_BYTES)
        return 2 * COPIED_BYTES / timed_us(gpu, lambda: gpu.copy(target, source))[0] / 1000

    return _kept(gpu, "copy_gb_s", measured)


def product_tflop_s(gpu: Any, dtype: str) -> float | None:
    """What PyTorch's product of large matrices reaches at its best; None without PyTorch."""

    def measured() -> float:
        import torch

        kind = getattr(torch, dtype)
        a, b = (torch.randn(PRODUCT_SIDE, PRODUCT_SIDE, device="cuda").to(kind) for _ in range(2))
        return 2 * PRODUCT_SIDE**3 / timed_us(gpu, lambda: a @ b)[0] / 1e6

    return _kept(gpu, f"{dtype}_tflop_s", measured)


def file() -> Path:
    """Where rates are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / (
        "gpu-kernel-course/rates.json"
    )


def _kept(gpu: Any, name: str, measured: Callable[[], float]) -> float | None:
    """A rate as it was measured once, here or by an earlier process."""
    key = f"{gpu.name}, driver {_asked(gpu, 'driver_version')}"
    known: dict[str, dict[str, float]] = {}
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        known = json.loads(file().read_text(encoding="utf-8"))
    with contextlib.suppress(KeyError):
        return known[key][name]
    try:
        rate = measured()
    except Exception:  # no room for it, no PyTorch, or one for CPUs: the times stand without
        return None
    known.setdefault(key, {})[name] = rate
    with contextlib.suppress(OSError, RuntimeError):
        file().parent.mkdir(parents=True, exist_ok=True)
        part = file().with_name(f"rates.{os.getpid()}")
        part.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        part.replace(file())
    return rate


def _asked(gpu: Any, field: str) -> str:
    """What nvidia-smi says of the GPU, or ''."""
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return ""
    command = [smi, "-i", gpu.uuid, f"--query-gpu={field}", "--format=csv,noheader,nounits"]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        asked = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_PATIENCE_S)
        return asked.stdout.strip() if asked.returncode == 0 else ""
    return ""
