"""What drivers and libraries say where a GPU does not run a kernel: which sentence tells it."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Trouble:
    """`message_id` of a sentence; `lasting`: the next kernel would meet it, too."""

    message_id: str
    lasting: bool = False


#: How it is said by PyTorch, Numba, Triton and the driver; the first that fits counts.
_SAID: tuple[tuple[str, Trouble], ...] = (
    (r"not compiled with CUDA", Trouble("gpu_cpu_torch", True)),
    (
        r"driver on your system is too old|driver version is insufficient|UNSUPPORTED_PTX_VERSION"
        r"|unsupported toolchain|INSUFFICIENT_DRIVER",
        Trouble("gpu_old_driver", True),
    ),
    (
        r"driver/library version mismatch|SYSTEM_DRIVER_MISMATCH|COMPAT_NOT_SUPPORTED"
        r"|forward compatib",
        Trouble("gpu_driver_parts", True),
    ),
    (
        r"no NVIDIA driver|driver library cannot be found|no CUDA-capable device|ERROR_NO_DEVICE"
        r"|No CUDA GPUs are available|CUDA driver initialization failed",
        Trouble("gpu_no_driver", True),
    ),
    (r"NvvmSupportError|libnvvm", Trouble("gpu_no_nvvm", True)),
    # of `max(x, y)`: only numba-cuda's dispatcher takes the `*args` of which Numba makes it
    (r"Signature mismatch: \d+ argument types given", Trouble("gpu_numbas_own_target")),
    (r"no kernel image|NO_BINARY_FOR_GPU", Trouble("gpu_old", True)),
    (r"busy or unavailable|DEVICES?_?UNAVAILABLE", Trouble("gpu_busy")),
    (r"ECC error|ECC_UNCORRECTABLE", Trouble("gpu_ecc", True)),
    (r"out.of.memory|MemoryError|Unable to allocate", Trouble("gpu_memory")),
    (
        r"illegal.(memory.access|address|instruction)|misaligned.address|invalid.(program.counter|pc)"
        r"|unspecified.launch.failure|LAUNCH_FAILED|INVALID_ADDRESS_SPACE"
        r"|not supported on global/shared address space|hardware.stack.error",
        Trouble("gpu_stopped"),
    ),
)
_OTHER = Trouble("gpu_fault")


def trouble(said: str) -> Trouble:
    """What an error's text is about."""
    return next((one for how, one in _SAID if re.search(how, said, re.IGNORECASE)), _OTHER)


def of_memory(problem: BaseException) -> bool:
    """Whether an error says that memory is short, the GPU's or the computer's."""
    return trouble(text(problem)).message_id == "gpu_memory"


def text(problem: BaseException) -> str:
    """An error as a traceback ends."""
    return f"{type(problem).__name__}: {problem}"[:500]


def detail(said: str) -> str:
    """What an error's text says first, to stand inside a sentence."""
    first, *more = [line.strip() for line in said.splitlines() if line.strip()] or [""]
    while first.endswith(":") and more:
        first += f" {more.pop(0)}"
    return re.split(r"(?<=\w)\.\s", first)[0].strip(" .:;")
