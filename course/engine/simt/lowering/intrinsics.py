"""What a kernel may call: `cuda.*`, `math.*`, some of NumPy and of Python's own, by path.

`CALLS` maps a path to the function that lowers a call of it, `VALUES` a path to the one that
lowers the bare name. Together with the namespaces they are the allow-list of names.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda
from numba.core import types
from numba.cuda import libdevice as numba_libdevice

from course.engine import bits, libdevice
from course.engine.rounding import multiply_add
from course.engine.simt.lowering import several
from course.engine.simt.lowering.arguments import arguments, numbers
from course.engine.simt.lowering.arrays import constant_array, local_array, shared_array
from course.engine.simt.lowering.builtin_calls import BUILTINS, Lower
from course.engine.simt.lowering.complex_functions import FUNCTIONS
from course.engine.simt.lowering.expr import (
    UNKNOWN,
    Expr,
    Run,
    apply,
    combined,
    converted,
    nothing,
    number,
    tuple_of,
)
from course.engine.simt.lowering.iteration import once
from course.engine.simt.lowering.types import (
    BOOL,
    INT,
    INT32,
    NONE,
    GridType,
    is_integer,
    numpy_dtype,
    resolve,
    unify,
)
from course.engine.simt.running import arith, tables
from course.engine.simt.running.atomics import ATOMICS, atomic
from course.engine.simt.running.barriers import syncthreads, syncwarp
from course.engine.simt.running.fences import fence
from course.engine.simt.running.lanes import Lanes
from course.engine.simt.running.warps import SHUFFLES, VOTES, active_mask, match, shuffle, vote

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

PREDICATES = {
    "cuda.syncthreads_count": "count",
    "cuda.syncthreads_and": "and",
    "cuda.syncthreads_or": "or",
}

# ---------------------------------------------------------------- where a thread is

_OF_THREADS = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def _coordinate(lanes: Lanes, path: str) -> np.ndarray:
    """threadIdx, blockIdx, blockDim or gridDim along one axis, as int32 lanes."""
    found = lanes.coordinates.get(path)
    if found is None:
        name, axis = path.split(".")
        at = "xyz".index(axis)
        geometry = lanes.geometry
        if name in ("blockDim", "gridDim"):
            extent = geometry.block if name == "blockDim" else geometry.grid
            found = np.array([[extent[at]]], np.int32)
        else:
            extent = geometry.block if name == "threadIdx" else geometry.grid
            numbers = lanes.thread_numbers if name == "threadIdx" else lanes.block_numbers
            step = math.prod(extent[:at])
            found = (numbers // step % extent[at]).astype(np.int32)
            if extent[at] == 1:
                found = np.zeros((1, 1), np.int32)
        lanes.coordinates[path] = found
    return found


def _coordinate_value(path: str) -> Callable[[Lowering, ast.AST], Expr]:
    def lower(low: Lowering, node: ast.AST) -> Expr:
        return Expr(INT32, lambda lanes: _coordinate(lanes, path), ("coordinate", path))

    return lower


def _laneid(low: Lowering, node: ast.AST) -> Expr:
    return Expr(
        INT32, lambda lanes: (lanes.thread_numbers % 32).astype(np.int32), ("coordinate", "lane")
    )


VALUES: dict[str, Callable[[Lowering, ast.AST], Expr]] = {
    **{
        f"cuda.{name}.{axis}": _coordinate_value(f"{name}.{axis}")
        for name in _OF_THREADS
        for axis in "xyz"
    },
    "cuda.laneid": _laneid,
    "cuda.warpsize": lambda low, node: converted(number(32), INT32),
}


def _axes(low: Lowering, node: ast.Call) -> int:
    """The constant 1, 2 or 3 of `cuda.grid(n)`."""
    if len(node.args) == 1 and not node.keywords:
        count = low.value(node.args[0]).const
        if isinstance(count, int) and count in (1, 2, 3):
            return count
    raise low.untyped(node, f"`{ast.unparse(node)}` takes the constant 1, 2 or 3")


def _grid_key(axis: str) -> Hashable:
    """The key of ``threadIdx + blockIdx * blockDim``, which `cuda.grid` computes."""
    thread, block, extent = (
        ("coordinate", f"{name}.{axis}") for name in ("threadIdx", "blockIdx", "blockDim")
    )
    start = ("product", *sorted(((("as", "int64"), block), (("as", "int64"), extent)), key=repr))
    return ("linear", tuple(sorted(((thread, 1), (start, 1)), key=repr)), 0)


def _per_axis(one: Callable[[Lanes, str], np.ndarray], key: Callable[[str], Hashable]) -> Lower:
    def along(axis: str) -> Run:
        return lambda lanes: one(lanes, axis)

    def lower(low: Lowering, node: ast.Call) -> Expr:
        count = _axes(low, node)
        parts = [Expr(INT, along(axis), key(axis)) for axis in "xyz"[:count]]
        return parts[0] if count == 1 else tuple_of(low, parts)

    return lower


def _grid(lanes: Lanes, axis: str) -> np.ndarray:
    path = f"grid.{axis}"
    found = lanes.coordinates.get(path)
    if found is None:
        thread, block, extent = (
            _coordinate(lanes, f"{name}.{axis}").astype(np.int64)
            for name in ("threadIdx", "blockIdx", "blockDim")
        )
        found = lanes.coordinates[path] = thread + block * extent
    return found


def _gridsize(lanes: Lanes, axis: str) -> np.ndarray:
    block, grid = (
        _coordinate(lanes, f"{name}.{axis}").astype(np.int64) for name in ("blockDim", "gridDim")
    )
    return block * grid


# ---------------------------------------------------------------- barriers and warps


def _syncthreads(low: Lowering, node: ast.Call) -> Expr:
    arguments(low, node, (), 0)
    low.registers.clobber()
    line = node.lineno
    return Expr(NONE, lambda lanes: syncthreads(lanes, "cuda.syncthreads()", line))


def _this_grid(low: Lowering, node: ast.Call) -> Expr:
    """Its barrier's own traffic, an atomic a block and loads while it waits, is not counted."""
    arguments(low, node, (), 0)
    low.whole_grid = True
    return replace(tuple_of(low, []), type=GridType(()), const=UNKNOWN)


def _syncthreads_of(path: str) -> Lower:
    def lower(low: Lowering, node: ast.Call) -> Expr:
        (predicate,) = numbers(low, node, ("predicate",))
        if not is_integer(predicate.type):
            raise low.untyped(
                node, f"{path} takes a whole number, and this is {predicate.type}: use int32(...)"
            )
        truth = converted(predicate, BOOL)
        low.registers.clobber()
        line, kind = node.lineno, PREDICATES[path]

        def run(lanes: Lanes) -> np.ndarray:
            holds = lanes.spread(truth.run(lanes))
            alive = syncthreads(lanes, f"{path}()", line)
            if kind == "count":
                return (holds & alive).sum(axis=0, keepdims=True).astype(np.int32)
            if kind == "and":
                return (holds | ~alive).all(axis=0, keepdims=True).astype(np.int32)
            return (holds & alive).any(axis=0, keepdims=True).astype(np.int32)

        return Expr(INT32, run, masked=True)

    return lower


def _syncwarp(low: Lowering, node: ast.Call) -> Expr:
    mask = arguments(low, node, ("mask",), 0)
    low.registers.clobber()
    line = node.lineno
    member = converted(mask[0], INT).run if mask else None
    return Expr(
        NONE, lambda lanes: syncwarp(lanes, line, None if member is None else member(lanes))
    )


def _fence(run: Run) -> Lower:
    def lower(low: Lowering, node: ast.Call) -> Expr:
        arguments(low, node, (), 0)
        low.registers.clobber()
        low.fenced |= run is fence
        return Expr(NONE, run)

    return lower


def _shuffle(path: str) -> Lower:
    def lower(low: Lowering, node: ast.Call) -> Expr:
        mask, value, other = numbers(low, node, SHUFFLES[path])
        type_ = value.type
        if type_ not in (types.int32, types.int64, types.float32, types.float64):
            wide = types.int32 if is_integer(type_) or type_ == BOOL else types.float32
            narrow = numpy_dtype(type_).itemsize < 4
            type_ = wide if narrow else types.int64 if is_integer(type_) else type_
            value = converted(value, type_)
        where = converted(other, types.int32)
        member = converted(mask, INT)
        line = node.lineno

        def run(lanes: Lanes) -> np.ndarray:
            return shuffle(lanes, path, member.run(lanes), value.run(lanes), where.run(lanes), line)

        return Expr(type_, run, masked=True)

    return lower


def _vote(path: str) -> Lower:
    def lower(low: Lowering, node: ast.Call) -> Expr:
        mask, predicate = numbers(low, node, ("mask", "predicate"))
        truth, member = converted(predicate, BOOL), converted(mask, INT)
        line = node.lineno
        return Expr(
            INT32 if path == "cuda.ballot_sync" else BOOL,
            lambda lanes: vote(lanes, path, member.run(lanes), truth.run(lanes), line),
            masked=True,
        )

    return lower


def _match(low: Lowering, node: ast.Call) -> Expr:
    mask, value = numbers(low, node, ("mask", "value"))
    assert value.type is not None
    _, (_, wide) = resolve(cuda.match_any_sync, types.int32, value.type)
    member, value, line = converted(mask, INT), converted(value, wide), node.lineno
    return Expr(
        INT32,
        lambda lanes: match(lanes, member.run(lanes), value.run(lanes), line),
        masked=True,
    )


def _activemask(low: Lowering, node: ast.Call) -> Expr:
    arguments(low, node, (), 0)
    return Expr(types.uint32, active_mask, masked=True)


def _lanemask_lt(low: Lowering, node: ast.Call) -> Expr:
    arguments(low, node, (), 0)
    return Expr(
        types.uint32,
        lambda lanes: ((np.int64(1) << (lanes.thread_numbers % 32)) - 1).astype(np.uint32),
        ("coordinate", "lanemask_lt"),
    )


# ---------------------------------------------------------------- arithmetic functions


def _math(name: str) -> Lower:
    function, compute = getattr(math, name, None), arith.MATH[name]

    def lower(low: Lowering, node: ast.Call) -> Expr:
        if node.keywords:
            raise low.untyped(node, f"math.{name} takes its arguments by position")
        operands = [low.scalar(a) for a in node.args]
        if name == "copysign":
            operands[1:] = map(_with_the_sign_of_a_gpu, operands[1:])
        return _applied(low, node, name, function, compute, operands, f"math.{name}")

    return lower


def _with_the_sign_of_a_gpu(part: Expr) -> Expr:
    """The NaN that arithmetic in float32 makes has a sign on a CPU and none on a GPU."""
    if part.type != types.float32:
        return part

    def run(lanes: Lanes) -> np.ndarray:
        values = part.run(lanes)
        return np.where(np.isnan(values), np.float32(0), values)

    return replace(part, run=run)


def _stub(function: Any, compute: Callable[..., np.ndarray]) -> Lower:
    name = getattr(function, "__name__", str(function))

    def lower(low: Lowering, node: ast.Call) -> Expr:
        parts = [low.scalar(argument) for argument in node.args]
        return _applied(low, node, name.removesuffix("f"), function, compute, parts, name)

    return lower


def _applied(
    low: Lowering,
    node: ast.Call,
    name: str,
    function: Any,
    compute: Callable[..., np.ndarray],
    parts: list[Expr],
    kind: str,
) -> Expr:
    """The function's value, and the loads that it makes itself."""
    result = apply(function, compute, parts, kind)
    dtype = numpy_dtype(result.type)
    read, place = tables.reads(name, dtype), (node.lineno, node.col_offset)
    fast = dtype == np.float32 and low.frame.function.options.get("fastmath")
    if read is None or fast or low.registers.unused:
        return result
    angles, again = once(low, parts[0])
    value, at = apply(function, compute, [angles], kind).run, again.run

    def run(lanes: Lanes) -> np.ndarray:
        found = value(lanes)
        read(lanes, at(lanes).astype(dtype), place)
        return found

    return replace(result, run=run, masked=True, const=UNKNOWN)


def _of_halves(name: str, compute: Callable[..., np.ndarray]) -> Lower:
    def lower(low: Lowering, node: ast.Call) -> Expr:
        from numba.cuda import cudadecl  # numba-cuda's needs names that Numba's alone has

        # numba-cuda has a module of them, which its `cuda` does not import
        halves = getattr(cuda, "fp16", None) or import_module("numba.cuda.fp16")
        # what Numba calls from a library of its own it knows by the type
        function = getattr(cudadecl, f"{name}_device", getattr(halves, name))
        return apply(function, compute, [low.scalar(part) for part in node.args], name)

    return lower


def _selp(low: Lowering, node: ast.Call) -> Expr:
    test, yes, no = numbers(low, node, ("test", "a", "b"))
    type_ = unify(yes.type, no.type)
    parts = [converted(test, BOOL), converted(yes, type_), converted(no, type_)]
    runs = [part.run for part in parts]
    return combined("selp", type_, lambda lanes: np.where(*[run(lanes) for run in runs]), parts)


NUMPY_FUNCTIONS = {
    **{name: name for name in ("sqrt", "exp", "expm1", "exp2", "log", "log2", "log10", "log1p")},
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "hypot", "fabs")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
    "deg2rad": "radians",
    "radians": "radians",
    "rad2deg": "degrees",
    "degrees": "degrees",
}
#: ... and those that Numba compiles for kernels beside them
NUMPY_CHOICES = (
    *("maximum", "minimum", "fmax", "fmin", "greater", "greater_equal", "less", "less_equal"),
    *("equal", "not_equal", "logical_and", "logical_or", "logical_xor", "logical_not"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"),
)
HALVES: dict[str, Callable[..., np.ndarray]] = {
    "hadd": np.add,
    "hsub": np.subtract,
    "hmul": np.multiply,
    "hdiv": np.divide,
    "hfma": multiply_add,
    "hneg": np.negative,
    "habs": np.abs,
    "hmax": np.fmax,
    "hmin": np.fmin,
    "heq": np.equal,
    "hne": lambda x, y: (x < y) | (x > y),  # not of NaN, unlike `!=`
    "hlt": np.less,
    "hle": np.less_equal,
    "hgt": np.greater,
    "hge": np.greater_equal,
    "hceil": np.ceil,
    "hfloor": np.floor,
    "htrunc": np.trunc,
    "hrint": np.rint,
    "hsqrt": np.sqrt,
    "hrsqrt": lambda x: np.reciprocal(np.sqrt(x, dtype=np.float32)).astype(x.dtype),
    "hrcp": np.reciprocal,
    "hsin": np.sin,
    "hcos": np.cos,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda x: np.power(x.dtype.type(10), x),
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
}
CALLS: dict[str, Lower] = {
    "cuda.grid": _per_axis(_grid, _grid_key),
    "cuda.gridsize": _per_axis(_gridsize, lambda axis: ("gridsize", axis)),
    "cuda.syncthreads": _syncthreads,
    "cuda.cg.this_grid": _this_grid,
    **{path: _syncthreads_of(path) for path in PREDICATES},
    "cuda.syncwarp": _syncwarp,
    "cuda.threadfence": _fence(fence),
    "cuda.threadfence_block": _fence(nothing),
    "cuda.threadfence_system": _fence(fence),
    **{path: _shuffle(path) for path in SHUFFLES},
    **{path: _vote(path) for path in VOTES},
    "cuda.match_any_sync": _match,
    "cuda.activemask": _activemask,
    "cuda.lanemask_lt": _lanemask_lt,
    "cuda.shared.array": shared_array,
    "cuda.local.array": local_array,
    "cuda.const.array_like": constant_array,
    **{path: atomic(path) for path in ATOMICS},
    "cuda.popc": _stub(cuda.popc, bits.popc),
    "cuda.clz": _stub(cuda.clz, bits.clz),
    "cuda.ffs": _stub(cuda.ffs, bits.ffs),
    "cuda.brev": _stub(cuda.brev, bits.brev),
    "cuda.cbrt": _stub(cuda.cbrt, np.cbrt),
    "cuda.fma": _stub(cuda.fma, multiply_add),
    "cuda.selp": _selp,
    **{f"math.{name}": _math(name) for name in arith.MATH},
    # those of NumPy's that are of `math`, too; Numba says which of them kernels have
    **{f"np.{n}": _stub(getattr(np, n), arith.MATH[m]) for n, m in NUMPY_FUNCTIONS.items()},
    **{f"np.{name}": _stub(getattr(np, name), getattr(np, name)) for name in NUMPY_CHOICES},
    **{
        f"cuda.libdevice.{name}": _stub(getattr(numba_libdevice, name), compute)
        for name in dir(numba_libdevice)
        if (compute := libdevice.function(name)) is not None
    },
    **{f"cuda.fp16.{name}": _of_halves(name, compute) for name, compute in HALVES.items()},
    **FUNCTIONS,
    **several.FUNCTIONS,
    **BUILTINS,
}
_PACKAGES = ("shared", "local", "const", "atomic", "jit", "cg", "libdevice", "fp16")
NAMESPACES = {f"cuda.{name}" for name in (*_OF_THREADS, *_PACKAGES)}
PATHS = CALLS.keys() | VALUES.keys() | NAMESPACES
