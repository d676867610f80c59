"""What a launcher may name: a positive list of modules, functions and attributes.

A launcher is the learner's own Python function that allocates outputs and launches kernels.
Everything that is not listed here is refused, by its name and with what to write instead.
"""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.runtime.jit import KernelInterface

from course.engine.faults import KernelFault, rejected
from course.engine.launcher import gluon, gpu
from course.plain.arithmetic import CONSTANTS, FUNCTIONS, TOLD_OF_TYPES, Facts
from course.plain.arithmetic import METHODS as NUMBER_METHODS
from course.plain.evaluator import Ref, text

__all__ = ["Ref", "text"]  # beside what is defined here
MISSING = object()


class Own:
    """A value that the walker made of a cell's text, and of nothing else."""


def is_kernel(value: Any) -> bool:
    """Whether a value can be launched: `@triton.jit`, under autotune or heuristics or not."""
    return isinstance(value, KernelInterface)


#: importable modules, and how the paths of their members begin
MODULES = {
    "torch": "torch",
    "triton": "triton",
    "triton.language": "tl",
    "math": "math",
    "numpy": "np",
    "itertools": "itertools",
    "contextlib": "contextlib",
    "functools": "functools",
    "triton.runtime": "triton.runtime",
    "triton.tools.tensor_descriptor": "tensor_descriptor",
    **gluon.MODULES,
}
#: names that a cell uses and forgets to import, and the line that is missing
IMPORTS = {
    "torch": "import torch",
    "triton": "import triton",
    "tl": "import triton.language as tl",
    "math": "import math",
    "np": "import numpy as np",
    "itertools": "import itertools",
    "TensorDescriptor": "from triton.tools.tensor_descriptor import TensorDescriptor",
}
TORCH_DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        *("float16", "bfloat16", "float32", "float64", "half", "float", "double"),
        *("int8", "int16", "int32", "int64", "short", "int", "long"),
        *("uint8", "uint16", "uint32", "uint64", "bool"),
    )
}
#: Types that a launcher may name, in a table of configurations, and allocate nothing of.
NAMED_DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
    if hasattr(torch, name)
}
#: How a tensor's elements lie: in order, or as those of the tensor that it is like.
FORMATS: dict[str, torch.memory_format] = {
    name: getattr(torch, name) for name in ("contiguous_format", "preserve_format")
}
_OF_TORCH = TORCH_DTYPES | NAMED_DTYPES | FORMATS
TL_DTYPES: dict[str, Any] = {
    name: getattr(tl, name)
    for name in (
        *("float16", "bfloat16", "float32", "float64", "int1"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    )
}
ALLOCATIONS = (
    *("torch.empty", "torch.empty_like", "torch.zeros", "torch.zeros_like"),
    *("torch.ones", "torch.ones_like", "torch.full", "torch.full_like"),
)
#: What arithmetic knows: `math.sqrt`, `np.float32`, `triton.cdiv`, `itertools.product`.
LISTED_FUNCTIONS = frozenset(path for path in FUNCTIONS if "." in path)
#: A configuration of `@triton.autotune`, and `tl.constexpr(64)`, which is its number here.
CONFIG, CONSTEXPR = "triton.Config", "tl.constexpr"
#: Arguments of a function that are given before its call.
PARTIAL = "functools.partial"
FINFO, IINFO = "torch.finfo", "torch.iinfo"
DESCRIPTOR = "tensor_descriptor.TensorDescriptor"
#: ... and Gluon's, with the layout that the tile has in shared memory.
GLUON_DESCRIPTOR = "gluon.nvidia.hopper.TensorDescriptor"
SHARED_LAYOUT = "gl.NVMMASharedLayout"
_LANGUAGES = {"triton.language": "tl", "gluon.language": "gl", "triton.experimental.gluon": "gluon"}
#: Gives Triton's runtime memory on a GPU, where a kernel makes descriptors; here nobody asks.
ALLOCATOR = "triton.set_allocator"
PATHS = frozenset(
    {
        *MODULES.values(),
        *ALLOCATIONS,
        *LISTED_FUNCTIONS,
        *CONSTANTS,
        *gpu.PATHS,
        *(CONFIG, CONSTEXPR, PARTIAL, FINFO, IINFO, "torch.Tensor", "torch.dtype"),
        *(f"torch.{name}" for name in _OF_TORCH),
        *(f"tl.{name}" for name in TL_DTYPES),
        *(ALLOCATOR, DESCRIPTOR, f"{DESCRIPTOR}.from_tensor"),
        *(GLUON_DESCRIPTOR, f"{GLUON_DESCRIPTOR}.from_tensor"),
        *(SHARED_LAYOUT, f"{SHARED_LAYOUT}.get_default_for"),
    }
)
BUILTINS = frozenset(name for name in FUNCTIONS if "." not in name) | {
    *("dict", "filter", "isinstance", "map", "next", "print", "str"),
}
#: what `raise` may raise, and what a bare `raise` of a class says
EXCEPTIONS = frozenset(
    {"AssertionError", "NotImplementedError", "RuntimeError", "TypeError", "ValueError"}
)

PROPERTIES = frozenset(
    {
        *("T", "device", "dtype", "is_cuda", "itemsize", "mT", "nbytes", "ndim", "requires_grad"),
        "shape",
    }
)
VIEWS = frozenset(
    {
        *("contiguous", "detach", "flatten", "movedim", "narrow", "permute", "ravel", "reshape"),
        *("select", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze", "view"),
        "view_as",
    }
)
QUESTIONS = frozenset(
    {
        *("dim", "element_size", "get_device", "is_complex", "is_contiguous", "is_floating_point"),
        *("ndimension", "nelement", "numel", "size", "storage_offset", "stride"),
    }
)
NEW_TENSORS = frozenset({"new_empty", "new_full", "new_ones", "new_zeros"})
#: They give the tensor itself where it has this dtype, and lies on the GPU; else they compute.
CONVERSIONS: dict[str, torch.dtype | None] = {
    name: TORCH_DTYPES[name] for name in ("bfloat16", "double", "float", "half")
} | {"cuda": None, "to": None}
#: They write a whole tensor of the launcher's own, as `torch.zeros` and `torch.full` do.
FILLINGS = frozenset({"fill_", "zero_"})
METHODS = VIEWS | QUESTIONS | NEW_TENSORS | FILLINGS | frozenset(CONVERSIONS)
DTYPE_ATTRIBUTES = frozenset({"is_floating_point", "itemsize"})
#: of dicts, lists and tuples; what a list gains is no list itself, and a shape has a `numel`
ITEMS = frozenset(
    {"append", "count", "extend", "get", "index", "items", "keys", "numel", "sort", "values"}
)
#: of a list, which they change
CHANGES = frozenset({"append", "extend", "sort"})
#: of texts, and of tensors, which a launcher does not work on: what it is of, the walk knows
SHARED = frozenset({"split"})
#: of `triton.Config`
CONFIG_OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg"})
ATTRIBUTES = (
    PROPERTIES | METHODS | DTYPE_ATTRIBUTES | ITEMS | SHARED | CONFIG_OPTIONS | gpu.ATTRIBUTES
    | {"from_tensor", "kwargs", *NUMBER_METHODS}
)  # fmt: skip
#: Attributes that only the value of a call or of an attribute like these has.
OF_THEIR_OWN = {FINFO: TOLD_OF_TYPES, IINFO: TOLD_OF_TYPES, "device": ("type",)}

_COPIES = {
    "clone": "allocate with torch.empty_like, and let a kernel copy",
    "cpu": "leave the tensor where it is",
    "cuda": "leave the tensor where it is",
    "to": "convert in the kernel, `x.to(tl.float16)`",
    "half": "convert in the kernel, `x.to(tl.float16)`",
    "bfloat16": "convert in the kernel, `x.to(tl.bfloat16)`",
    "float": "convert in the kernel, `x.to(tl.float32)`",
    "type": "convert in the kernel, `x.to(tl.float32)`",
    "fill_": "torch.full of a tensor of its own, or a store in the kernel",
    "zero_": "torch.zeros of a tensor of its own, or a store in the kernel",
    "item": "tl.load in the kernel",
    "tolist": "tl.load in the kernel",
    "numpy": "tl.load in the kernel",
    "copy_": "a store in the kernel",
    "data_ptr": "pass the tensor itself: the kernel gets its pointer",
}
#: Views that are not among those that a launcher may make.
_VIEWS_INSTEAD = {
    "as_strided": "pass the tensor itself, and its strides as numbers",
    "chunk": "basic slices, `x[:half]`, which are views",
    "expand": "pass a stride of 0",
    "split": "basic slices, `x[:half]`, which are views",
    "unbind": "an index for each, `x[0]`",
    "unflatten": "`.view` with all lengths",
}
_PATH_INSTEAD = {
    "torch.empty_strided": "torch.empty, and a view of it: `.T`",
    "torch.rand": "pass the values in, or use tl.rand in the kernel",
    "torch.randn": "pass the values in, or use tl.randn in the kernel",
    "torch.arange": "tl.arange in the kernel",
    "torch.tensor": "pass numbers to the kernel as arguments",
    "triton.jit": "`@triton.jit` on a function at the top level of the cell",
    "tl.cdiv": "triton.cdiv",
}
#: of tensors: they compute, and a property such as `x.layout` does not
_METHODS = frozenset(name for name in dir(torch.Tensor) if callable(getattr(torch.Tensor, name)))
#: functions of torch that are no methods, and make elements or work on them
_TORCH_MAKES = frozenset({"tensor", "einsum", "arange", "cat", "stack", "rand", "randn", "eye"})
_COMPUTING_SPACES = ("torch.nn.", "torch.special.", "torch.linalg.", "torch.fft.", "torch.ops.")


def listed(value: Any) -> Any:
    """A module-level value of the cell as a launcher may hold it, else MISSING."""
    if isinstance(value, tl.constexpr):
        value = value.value
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) in (tuple, list):
        items = [listed(item) for item in value]
        return MISSING if any(i is MISSING for i in items) else type(value)(items)
    if type(value) is dict:
        every = {key: listed(item) for key, item in value.items()}
        return MISSING if any(i is MISSING for i in every.values()) else every
    if isinstance(value, Facts | Own | torch.device | torch.memory_format):
        return value
    if isinstance(value, Ref):
        return value if value.path in PATHS else MISSING
    plain = ast.FunctionDef | torch.dtype | tl.dtype
    return value if is_kernel(value) or isinstance(value, plain) else MISSING


def member(path: str, name: str) -> Any:
    """What `name` is inside a listed module: a Ref, a dtype or a number; MISSING if not listed."""
    full = f"{path}.{name}"
    if path == "torch" and name in _OF_TORCH:
        return _OF_TORCH[name]
    if path in ("tl", "gl") and name in TL_DTYPES:
        return TL_DTYPES[name]
    if full in CONSTANTS:
        return CONSTANTS[full]
    if full in _LANGUAGES:
        return Ref(_LANGUAGES[full])
    return Ref(full) if full in PATHS else MISSING


def refused_member(node: ast.AST, path: str) -> KernelFault:
    """The fault for a path of a module that is not listed: ``torch.softmax``."""
    name = path.rpartition(".")[2]
    instead = _PATH_INSTEAD.get(path)
    if path == f"torch.{name}" and name in VIEWS | QUESTIONS:
        return rejected(node, "launcher_attribute", name=path, instead=f"`x.{name}(...)`")
    computing = path.startswith(_COMPUTING_SPACES) or (
        path.startswith("torch.") and (name in _METHODS or name in _TORCH_MAKES)
    )
    if computing and path.count(".") < 5:
        return rejected(node, "launcher_computes", construct=path, instead=instead)
    if path.startswith("tl.") and instead is None:
        instead = "call it in a kernel: functions of `tl` run on the GPU"
    near = None if instead else near_name(path, PATHS)
    return rejected(node, "launcher_attribute", name=path, instead=instead, near=near)


def refused_attribute(node: ast.AST, name: str) -> KernelFault:
    """The fault for an attribute of a value that is not listed: ``x.softmax``."""
    if name in _COPIES:
        return rejected(node, "launcher_computes", construct=text(node), instead=_COPIES[name])
    if name in _VIEWS_INSTEAD:
        return rejected(node, "launcher_attribute", name=f".{name}", instead=_VIEWS_INSTEAD[name])
    if name in _METHODS and not name.startswith("_"):
        return rejected(node, "launcher_computes", construct=text(node))
    near = near_name(name, ATTRIBUTES)
    return rejected(node, "launcher_attribute", name=f".{name}", near=near)


def refused_name(node: ast.AST, name: str) -> KernelFault:
    """The fault for a name that has no value here."""
    if name in IMPORTS:
        return rejected(node, "missing_import", name=name, imported=IMPORTS[name])
    if name in _PYTHONS_OWN or name.startswith("__"):
        return rejected(node, "launcher_name", name=name)
    return rejected(node, "undefined_name", name=name)


_PYTHONS_OWN = frozenset(dir(builtins))


def near_name(name: str, known: frozenset[str]) -> str | None:
    """The known name that was meant, as it seems."""
    found = difflib.get_close_matches(name, sorted(known), 1, 0.75)
    return found[0] if found else None


def _kind_of(value: Any) -> str:
    if isinstance(value, Ref):
        return f"{value.path}, which is for kernels"
    return f"of type {type(value).__name__}"


def resolve(names: Mapping[str, Any], node: ast.AST, name: str) -> Any:
    """The value of a cell's name as a launcher may hold it, or a builtin's Ref.

    Raises:
        KernelFault: REJECTED for a name that is unknown or not listed.
    """
    if name in names:
        found = listed(names[name])
        if found is MISSING:
            raise rejected(node, "launcher_name", name=name, got=_kind_of(names[name]))
        return found
    if name in BUILTINS:
        return Ref(name)
    raise refused_name(node, name)
