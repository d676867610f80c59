"""The names of Gluon that a kernel of a check may use, and the modules from which it imports them.

Gluon is Triton's second language: a kernel in it says which thread holds what, and orders copies,
products and groups of warps itself. Here its language is `gl`, as cells call it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import triton.language as tl
from triton.experimental.gluon import language
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from course.plain.arithmetic import NoValue, is_whole, kind

#: importable modules, and how the paths of their members begin
MODULES = {
    "triton.experimental": "triton.experimental",
    "triton.experimental.gluon": "gluon",
    "triton.experimental.gluon.language": "gl",
    "triton.experimental.gluon.language.nvidia": "gl.nvidia",
    "triton.experimental.gluon.language.nvidia.ampere": "gl.nvidia.ampere",
    "triton.experimental.gluon.language.nvidia.ampere.async_copy": "gl.nvidia.ampere.async_copy",
    "triton.experimental.gluon.language.nvidia.hopper": "gl.nvidia.hopper",
    "triton.experimental.gluon.language.nvidia.hopper.mbarrier": "gl.nvidia.hopper.mbarrier",
    "triton.experimental.gluon.language.nvidia.hopper.tma": "gl.nvidia.hopper.tma",
    "triton.experimental.gluon.language.nvidia.blackwell": "gl.nvidia.blackwell",
    "triton.experimental.gluon.language.nvidia.blackwell.mbarrier": "gl.nvidia.blackwell.mbarrier",
    "triton.experimental.gluon.language.nvidia.blackwell.tma": "gl.nvidia.blackwell.tma",
    "triton.experimental.gluon.nvidia.hopper": "gluon.nvidia.hopper",
}
JIT = "gluon.jit"
_OF_BOTH = frozenset(
    {
        *("program_id", "num_programs", "num_warps", "arange", "zeros", "zeros_like", "full"),
        *("full_like", "cdiv", "constexpr", "to_tensor", "load", "store", "atomic_add"),
        *("atomic_max", "atomic_min", "allocate_shared_memory", "barrier", "warp_specialize"),
        *("convert_layout", "broadcast", "expand_dims", "join", "permute", "ravel", "reshape"),
        *("split", "abs", "add", "cast", "ceil", "cos", "div_rn", "erf", "exp", "exp2", "fdiv"),
        *("floor", "fma", "log", "log2", "maximum", "minimum", "mul", "rsqrt", "sin", "sqrt"),
        *("sqrt_rn", "sub", "umulhi", "where", "max", "min", "reduce", "sum", "xor_sum"),
        *("static_range", "static_assert", "static_print", "device_assert", "device_print"),
        *("assume", "multiple_of", "max_contiguous", "max_constancy", "dot_fma"),
        *("BlockedLayout", "SliceLayout", "DistributedLinearLayout", "DotOperandLayout"),
        *("NVMMADistributedLayout", "NVMMASharedLayout", "NVMMASharedLayout.get_default_for"),
        *("SwizzledSharedLayout", "PaddedSharedLayout", "AutoLayout", "CoalescedLayout"),
        *("float16", "bfloat16", "float32", "float64", "float8e4nv", "float8e5", "int1"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    }
)
_TMA = ("async_copy_global_to_shared", "async_copy_shared_to_global", "store_wait")
_BARRIER = (
    *("MBarrierLayout", "allocate_mbarrier", "arrive", "expect", "init", "invalidate", "wait"),
)
_OF_NVIDIA = {
    "ampere.async_copy": ("async_copy_global_to_shared", "commit_group", "wait_group"),
    "hopper": (
        *("fence_async_shared", "warpgroup_mma", "warpgroup_mma_init", "warpgroup_mma_wait"),
        *(f"tma.{name}" for name in _TMA),
        *(f"mbarrier.{name}" for name in _BARRIER),
    ),
    "blackwell": (
        *("fence_async_shared", "TensorMemoryLayout", "TensorMemoryScalesLayout"),
        *("allocate_tensor_memory", "get_tmem_reg_layout", "tcgen05_commit", "tcgen05_mma"),
        *("tcgen05_mma_scaled", *(f"tma.{name}" for name in _TMA)),
        *(f"mbarrier.{name}" for name in _BARRIER),
    ),
}
#: Every dotted name that a kernel may use.
PATHS = frozenset(f"gl.{name}" for name in _OF_BOTH) | {
    f"gl.nvidia.{space}.{name}" for space, names in _OF_NVIDIA.items() for name in names
}
#: of shared and tensor memory, descriptors and their types
ATTRIBUTES = frozenset({"index", "slice", "layout", "nbytes", "rank"})
LANGUAGE = language
NAME = "triton.experimental.gluon.language"


def shared_layout(args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """`gl.NVMMASharedLayout.get_default_for(block, dtype)`, as a launcher calls it."""
    given = _given(("block_shape", "dtype"), args, named)
    block, dtype = given["block_shape"], given["dtype"]
    _check_block(block)
    if not isinstance(dtype, tl.dtype):
        raise NoValue(f"the layout needs a dtype of `gl`, not {kind(dtype)}")
    return language.NVMMASharedLayout.get_default_for(list(block), dtype)


def descriptor(args: Sequence[Any], named: Mapping[str, Any]) -> TensorDescriptor:
    """Gluon's `TensorDescriptor.from_tensor(tensor, block, layout)`."""
    given = _given(("tensor", "block_shape", "layout"), args, named)
    tensor, block, layout = given.values()
    if not isinstance(tensor, torch.Tensor):
        raise NoValue(f"a descriptor describes a tensor, not {kind(tensor)}")
    _check_block(block)
    if not isinstance(layout, language.NVMMASharedLayout):
        raise NoValue("the descriptor needs the layout that its tile has in shared memory")
    try:
        return TensorDescriptor.from_tensor(tensor, list(block), layout)
    except (AssertionError, ValueError, TypeError) as error:
        raise NoValue(str(error).partition("\n")[0][:120]) from None


def _given(
    parameters: tuple[str, ...], args: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    given = dict(zip(parameters, args, strict=False))
    if len(args) > len(parameters) or any(k not in parameters or k in given for k in named):
        raise NoValue(f"it takes {', '.join(parameters)}")
    given |= named
    missing = [name for name in parameters if name not in given]
    if missing:
        raise NoValue(f"it needs its {missing[0]}")
    return {name: given[name] for name in parameters}


def _check_block(block: Any) -> None:
    if not isinstance(block, tuple | list) or not all(
        is_whole(n) and 0 < n < 1 << 20 for n in block
    ):
        raise NoValue(f"a block's shape is a list of whole numbers, not {kind(block)}")
