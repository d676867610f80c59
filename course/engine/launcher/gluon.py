"""The names of Gluon that a kernel of a check may use, and the modules from which it imports them.

Gluon is Triton's second language: a kernel in it says which thread holds what, and orders copies,
products and groups of warps itself. Here its language is `gl`, as cells call it.
"""

from __future__ import annotations

from triton.experimental.gluon import language

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
_TMA = (
    *("async_copy_global_to_shared", "async_copy_shared_to_global", "store_wait"),
    *("async_load", "async_store"),  # the first two, as Triton 3.8 calls them
)
_BARRIER = ("MBarrierLayout", "allocate_mbarrier", "arrive", "expect", "init", "invalidate", "wait")
_OF_NVIDIA = {
    "ampere.async_copy": (
        *("async_copy_global_to_shared", "commit_group", "mbarrier_arrive", "wait_group"),
    ),
    "hopper": (
        *("fence_async_shared", "warpgroup_mma", "warpgroup_mma_init", "warpgroup_mma_wait"),
        *(f"tma.{name}" for name in _TMA),
        *(f"mbarrier.{name}" for name in _BARRIER),
    ),
    "blackwell": (
        *("fence_async_shared", "TensorMemoryLayout", "TensorMemoryScalesLayout"),
        *("allocate_tensor_memory", "get_tmem_reg_layout", "tcgen05_commit", "tcgen05_mma"),
        *("tcgen05_copy", "tcgen05_mma_scaled", *(f"tma.{name}" for name in _TMA)),
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
