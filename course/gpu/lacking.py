"""What this machine's GPU cannot do of what the lessons speak of: said as a notebook begins."""

from __future__ import annotations

import subprocess

from course.engine.stated_gpu import SHARED_BYTES_OF_A_BLOCK, SHARED_LIMITS
from course.gpu.present import present
from course.words.sentences import next_step, sentence

#: The driver's own program: to ask CUDA itself would take memory of the GPU.
_ASK = ("nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader")
_PATIENCE_S = 10
#: What GPUs have from a compute capability on
#: (CUDA C++ Programming Guide, "Features and Technical Specifications").
_FROM = {"bf16 in its tensor cores": 80, "asynchronous copies (cp.async)": 80, "TMA": 90}
#: Blackwell's, and not that of its cards for workstations and games (12.0).
_WITH_TENSOR_MEMORY = range(100, 120)


def tell() -> None:
    """Prints what the GPU lacks. Nothing where there is no GPU, or it lacks nothing."""
    if said := lacking():
        print(said)


def lacking() -> str:
    """The same in a line, or ""."""
    if not present():
        return ""
    try:
        answer = subprocess.run(_ASK, capture_output=True, text=True, timeout=_PATIENCE_S).stdout
        gpu, version = answer.splitlines()[0].rsplit(", ", 1)
        capability = int(version.replace(".", ""))
    except (OSError, subprocess.SubprocessError, IndexError, ValueError):
        return ""  # a driver that does not answer: no kernel will be run on this GPU, either
    parts = [f"no {what}" for what, since in _FROM.items() if capability < since]
    if capability not in _WITH_TENSOR_MEMORY:
        parts.append("no tensor memory")
    shared = SHARED_LIMITS.get(capability, SHARED_BYTES_OF_A_BLOCK)
    if shared < SHARED_BYTES_OF_A_BLOCK:
        parts.append(f"at most {shared >> 10} KB of shared memory a block")
    if not parts:
        return ""
    *most, last = parts
    both = f"{', '.join(most)} and {last}" if most else last
    fields = {"gpu": gpu, "capability": version, "lacking": both}
    return f"{sentence('gpu_lacks', fields)} {next_step('gpu_lacks', fields)}"
