"""What a launcher hears of its GPU: that of `course.engine.stated_gpu`, unless told otherwise."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from course.engine import stated_gpu
from course.plain.arithmetic import Facts, NotHere, NoValue, is_whole, kind

DEVICE = torch.device("cuda", 0)
_DRIVER = "triton.runtime.driver.active"

#: `torch.cuda.get_device_properties(0)`
PROPERTIES: Mapping[str, Any] = {
    "name": stated_gpu.NAME,
    "major": stated_gpu.CAPABILITY[0],
    "minor": stated_gpu.CAPABILITY[1],
    "multi_processor_count": stated_gpu.MULTIPROCESSORS,
    "total_memory": stated_gpu.MEMORY_BYTES,
    "warp_size": stated_gpu.WARP_LANES,
    "L2_cache_size": stated_gpu.L2_BYTES,
    "max_threads_per_multi_processor": stated_gpu.THREADS_OF_A_MULTIPROCESSOR,
    "regs_per_multiprocessor": stated_gpu.REGISTERS_OF_A_MULTIPROCESSOR,
    "shared_memory_per_block_optin": stated_gpu.SHARED_BYTES_OF_A_BLOCK,
    "shared_memory_per_multiprocessor": stated_gpu.SHARED_BYTES_OF_A_MULTIPROCESSOR,
}
#: `triton.runtime.driver.active.utils.get_device_properties(0)`
OF_TRITON = {
    "max_shared_mem": stated_gpu.SHARED_BYTES_OF_A_BLOCK,
    "max_num_regs": stated_gpu.REGISTERS_OF_A_MULTIPROCESSOR,
    "multiprocessor_count": stated_gpu.MULTIPROCESSORS,
    "warpSize": stated_gpu.WARP_LANES,
    "sm_clock_rate": stated_gpu.CLOCK_KHZ,
    "mem_clock_rate": stated_gpu.MEMORY_CLOCK_KHZ,
    "mem_bus_width": stated_gpu.MEMORY_BUS_BITS,
}


def _answers(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Each question, and its answer: all are asked of one device, and most need not say which."""
    warp = properties["warp_size"]
    target = {"backend": "cuda", "arch": stated_gpu.target_of(properties), "warp_size": warp}
    of_triton = OF_TRITON | {
        "max_shared_mem": properties["shared_memory_per_block_optin"],
        "max_num_regs": properties["regs_per_multiprocessor"],
        "multiprocessor_count": properties["multi_processor_count"],
    }
    return {
        "torch.cuda.get_device_properties": Facts("the properties of a GPU", properties),
        "torch.cuda.get_device_capability": (properties["major"], properties["minor"]),
        "torch.cuda.get_device_name": properties["name"],
        "torch.cuda.current_device": 0,
        "torch.cuda.device_count": 1,
        "torch.cuda.is_available": True,
        "torch.cuda.synchronize": None,
        f"{_DRIVER}.utils.get_device_properties": of_triton,
        f"{_DRIVER}.get_current_target": Facts("a target", target),
        f"{_DRIVER}.get_current_device": 0,
        f"{_DRIVER}.get_active_torch_device": DEVICE,
    }


ANSWERS = _answers(PROPERTIES)
#: What may stand above a launcher as a decorator, too.
NO_GRADIENTS = frozenset({"torch.no_grad", "torch.inference_mode"})
#: What stands behind `with`, and changes nothing here.
CONTEXTS = NO_GRADIENTS | {*("torch.cuda.device", "torch.cuda.device_of", "contextlib.nullcontext")}
PATHS = frozenset(
    {
        *ANSWERS, *CONTEXTS, "torch.cuda", "torch.device",
        *("triton.runtime", "triton.runtime.driver", _DRIVER, f"{_DRIVER}.utils"),
    }
)  # fmt: skip
#: Attributes of these answers, and of a device.
ATTRIBUTES = frozenset({*PROPERTIES, "backend", "arch", "warp_size", "index"})


@contextlib.contextmanager
def standing_for(properties: Mapping[str, Any]) -> Iterator[None]:
    """Inside, launchers hear of another GPU, whose `PROPERTIES` these are."""
    ANSWERS.update(_answers(properties))
    try:
        yield
    finally:
        ANSWERS.update(_answers(PROPERTIES))


def answer(path: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """What the stated GPU says to a question.

    Raises:
        NoValue: for another device than the one that there is.
    """
    for given in (*arguments, *named.values()):
        if not (is_device(given) or given is None):
            raise NoValue(f"there is one GPU, number 0, and not {kind(given)}")
    if len(arguments) + len(named) > 1 or not set(named) <= {"device"}:
        raise NoValue(f"`{path}` takes one device")
    found = ANSWERS[path]
    return dict(found) if isinstance(found, dict) else found


def device(arguments: Sequence[Any]) -> torch.device:
    """`torch.device(...)`, of which there is the GPU alone.

    Raises:
        NoValue: for another one.
    """
    spelled: Callable[..., bool] = is_device
    if arguments and spelled(arguments[0]) and list(arguments[1:]) in ([], [0]):
        return DEVICE if 0 in arguments else torch.device(arguments[0])
    raise NotHere("the one device here is a GPU, `torch.device('cuda')`")


def is_device(value: Any) -> bool:
    """Whether a value stands for the GPU: ``x.device``, ``'cuda'``, ``'cuda:0'``, 0."""
    if isinstance(value, torch.device):
        return value.type == "cuda" and value.index in (None, 0)
    return value in ("cuda", "cuda:0") if isinstance(value, str) else is_whole(value) and value == 0
