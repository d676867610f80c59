"""The operations of Triton's language that a kernel of a check may use, by name.

All that the engine runs and meters stands here. What it cannot follow (inline assembly, what a
target brings of its own) or would let a kernel look around in the compiler does not.
"""

from __future__ import annotations

import re

#: ``tl.NAME``
OPERATIONS = frozenset(
    {
        # the program, and blocks made from nothing
        *("program_id", "num_programs", "arange", "zeros", "zeros_like", "full", "cdiv"),
        *("swizzle2d", "constexpr", "to_tensor"),
        # memory
        *("load", "store", "atomic_add", "atomic_and", "atomic_cas", "atomic_max", "atomic_min"),
        *("atomic_or", "atomic_xchg", "atomic_xor", "make_block_ptr", "advance"),
        *("make_tensor_descriptor", "load_tensor_descriptor", "store_tensor_descriptor"),
        # shapes
        *("broadcast", "broadcast_to", "cat", "expand_dims", "flip", "gather", "interleave"),
        *("join", "permute", "ravel", "reshape", "split", "squeeze", "trans", "unsqueeze", "view"),
        # element by element
        *("abs", "add", "cast", "ceil", "clamp", "cos", "div_rn", "erf", "exp", "exp2", "fdiv"),
        *("floor", "fma", "log", "log2", "maximum", "minimum", "mul", "rsqrt", "sigmoid", "sin"),
        *("sqrt", "sqrt_rn", "sub", "umulhi", "where"),
        # over a block
        *("argmax", "argmin", "associative_scan", "cumprod", "cumsum", "dot", "dot_scaled"),
        *("histogram", "max", "min", "reduce", "reduce_or", "softmax", "sort", "sum", "topk"),
        "xor_sum",
        # random numbers
        *("philox", "rand", "rand4x", "randint", "randint4x", "randn", "randn4x"),
        # the compiler and the reader
        *("range", "static_range", "static_assert", "static_print", "device_assert"),
        *("device_print", "debug_barrier", "assume", "multiple_of", "max_contiguous"),
        "max_constancy",
        # types that the engine names when it refuses them
        *("float8e4nv", "float8e5", "float8e4b8", "float8e4b15", "float8e5b16"),
    }
)
#: ``tl.math.NAME``
MATHEMATICS = frozenset(
    {
        *("abs", "ceil", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "log"),
        *("log2", "rsqrt", "sin", "sqrt", "sqrt_rn", "umulhi"),
    }
)
#: ``tl.extra.libdevice.NAME``
LIBDEVICE = frozenset(
    {
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh"),
        *("acosh", "atanh", "exp", "exp2", "exp10", "expm1", "erfc"),
        *("log", "log1p", "log2", "log10", "pow", "sqrt", "rsqrt", "cbrt", "erf", "floor", "ceil"),
        *("trunc", "rint", "round", "fmod", "hypot", "copysign", "isnan", "isinf", "abs"),
    }
)
#: functions of Python that a kernel may call
BUILTINS = frozenset({"bool", "float", "int", "len", "max", "min", "print", "range"})
#: of blocks, types, constants and descriptors
ATTRIBUTES = frozenset(
    {
        *("T", "dtype", "element_ty", "numel", "scalar", "shape", "type", "value"),
        *("primitive_bitwidth", "itemsize", "is_floating", "is_int", "is_int_signed", "is_ptr"),
        *("is_block", "is_fp16", "is_bf16", "is_fp32", "is_fp64", "block_shape", "block_type"),
        *("abs", "advance", "argmax", "argmin", "associative_scan", "atomic_add", "atomic_and"),
        *("atomic_cas", "atomic_max", "atomic_min", "atomic_or", "atomic_xchg", "atomic_xor"),
        *("broadcast_to", "cast", "cdiv", "ceil", "cos", "cumprod", "cumsum", "erf", "exp", "exp2"),
        *("expand_dims", "flip", "floor", "gather", "histogram", "item", "load", "log", "log2"),
        *("logical_and", "logical_or", "max", "min", "permute", "ravel", "reduce", "reduce_or"),
        *("reshape", "rsqrt", "scatter", "sigmoid", "sin", "softmax", "sort", "split", "sqrt"),
        *("sqrt_rn", "store", "sum", "to", "trans", "view", "xor_sum"),
    }
)
#: what to write for a name that people expect here
INSTEAD = {
    "all": "tl.min of the block",
    "any": "tl.max of the block",
    "astype": "`.to(tl.float32)`",
    "blockIdx": "tl.program_id(0)",
    "concat": "tl.join or tl.cat",
    "cuda": "`tl.program_id(0)` and `tl.arange`: a program works on blocks",
    "enumerate": "a `for` over a range",
    "getattr": "the attribute itself",
    "hasattr": "a tl.constexpr parameter",
    "inf": 'float("inf")',
    "inline_asm_elementwise": "the operations of `tl`: a lesson's kernels have no assembly",
    "isinstance": "a tl.constexpr parameter",
    "isnan": "x != x",
    "list": "a block, or a tuple",
    "map_elementwise": "the operation on the whole block",
    "matmul": "tl.dot",
    "mean": "tl.sum(x, axis=0) / n",
    "mm": "tl.dot",
    "nan": 'float("nan")',
    "np": "`tl`, which has its own arange, where, exp and float32: NumPy works on the host",
    "numpy": "`tl`, which has its own arange, where, exp and float32: NumPy works on the host",
    "pow": "tl.exp2(y * tl.log2(x))",
    "power": "tl.exp2(y * tl.log2(x))",
    "relu": "tl.maximum(x, 0.0)",
    "silu": "x * tl.sigmoid(x)",
    "sqrt": "`tl.sqrt` of a block; of a tl.constexpr `D**0.5`",
    "square": "x * x",
    "stride": "pass the strides as parameters",
    "syncthreads": "nothing: a program has no threads to wait for",
    "tanh": "2 * tl.sigmoid(2 * x) - 1",
    "thread_id": "tl.arange: a program works on blocks",
    "threadIdx": "tl.arange: a program works on blocks",
    "transpose": "tl.trans",
    "triton.*": "`import triton`",
    "triton.jit": "`import triton`, and `@triton.jit`",
    "triton.language.*": "`import triton.language as tl`",
    "var": "tl.sum of the squared differences, divided by n",
    "zip": "a `for` over a range",
}
#: ``__fadd_rn``: how CUDA's functions say which way they round.
_ROUNDS = re.compile("_r[nzud]$")


def instead_of_cuda(name: str) -> str | None:
    """What Triton has for a function of CUDA's, such as `fast_sinf`, `__expf` or `rsqrtf`."""
    plain = _ROUNDS.sub("", name.removeprefix("fast_").removeprefix("__"))
    for one in (plain, plain.removesuffix("f"), plain.removeprefix("f").removesuffix("f")):
        if one in ("div", "divide"):
            return "`x / y`"
        if one in MATHEMATICS:
            return f"`tl.{one}`"
        if one in LIBDEVICE:
            return f"`tl.extra.libdevice.{one}`"
    return None
