"""`torch.autocast("cuda")`: what runs in 16 bits, and what in float32, as on a GPU.

Tensors here are the host's, which `torch.autocast("cpu")` casts. What a GPU takes to float32 and
the host does not is cast here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

#: Of torch's list "CUDA Ops that can autocast to float32", what the host leaves in 16 bits, by
#: torch's own tables of both.
_IN_FLOAT32 = (
    *("softmax.int", "log_softmax.int", "layer_norm", "group_norm", "rms_norm", "norm.Scalar"),
    *("norm.ScalarOpt_dim", "linalg_vector_norm", "softplus", "cosine_similarity", "sum"),
    *("sum.dim_IntList", "cumsum", "cumprod", "logsumexp", "exp", "expm1", "log", "log2", "log10"),
    *("log1p", "rsqrt", "reciprocal", "pow.Scalar", "pow.Tensor_Scalar", "pow.Tensor_Tensor"),
    *("acos", "asin", "cosh", "sinh", "tan", "erfinv", "dist"),
)
_16_BITS = (torch.float16, torch.bfloat16)
#: The library lives as long as what it has registered.
_LIBRARY = torch.library.Library("aten", "IMPL")


def stand_ins() -> tuple[dict[str, Any], dict[str, Any]]:
    """What stands in for `torch.autocast` and for what `torch` tells of it, by name."""
    _widen()
    begin = torch.autocast.__init__

    def begins(self: Any, device_type: str, dtype: Any = None, *args: Any, **options: Any) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or torch.float16
        begin(self, device_type, dtype, *args, **options)

    told = ("is_autocast_enabled", "get_autocast_dtype")
    return {"__init__": begins}, {name: partial(_of_host, getattr(torch, name)) for name in told}


@functools.cache
def _widen() -> None:
    for name in _IN_FLOAT32:
        packet, _, overload = name.partition(".")
        operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
        _LIBRARY.impl(name, partial(_widened, operator), "AutocastCPU")


def _of_host(ask: Callable[[str], Any], device_type: str = "cuda") -> Any:
    return ask("cpu" if device_type == "cuda" else device_type)


def _widened(operator: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """The operator of float32, where it is passed 16 bits."""
    with torch._C._ExcludeDispatchKeyGuard(
        torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    ):
        return operator(*map(_as_float32, given), **named)


def _as_float32(value: Any) -> Any:
    narrow = isinstance(value, torch.Tensor) and value.dtype in _16_BITS
    return value.float() if narrow else value
