"""A cell's source as kernels and constants, read from its syntax tree and never executed.

The notebook's check and the grader both read a whole cell here, so what passes at home passes
in class. A kernel that is launched directly is read by `live_function` from its own source,
with the names of its globals and closure.
"""

from __future__ import annotations

import ast
import cmath
import difflib
import inspect
import linecache
import math
import sys
import textwrap
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from enum import EnumType, IntEnum
from types import CodeType
from typing import Any

import numpy as np
from numba import cuda
from numba.core import types
from numba.core.registry import CPUDispatcher
from numba.np.numpy_support import from_dtype

from course.engine.cell.declared import VOID, NoSignature, signatures
from course.engine.cell.source import (
    assigned,
    check_annotations,
    check_assertion,
    check_compiles,
    parse,
    spelled_out,
    tree_of,
)
from course.engine.faults import KernelFault, Outcome, not_measured, rejected, rejected_syntax
from course.engine.simt.lowering.inner import written_out
from course.engine.simt.lowering.intrinsics import CALLS, PATHS, VALUES
from course.engine.simt.lowering.several import VECTORS
from course.engine.simt.lowering.signatures import Function, Namespace, Signature, declared
from course.engine.simt.lowering.types import Scalar, numba_type, numpy_dtype
from course.engine.simt.running.arith import MATH_CONSTANTS
from course.plain.arithmetic import FUNCTIONS, NoValue, is_number, limits, tried
from course.plain.evaluator import Evaluator, Ref
from course.plain.trees import nodes

MAX_TUPLE_NUMBERS = 1024
MAX_CONSTANT_ELEMENTS = 16_384  # constant memory is 64 KB
#: Expressions of all constants of a cell, of which each element of an array is one.
MAX_CONSTANT_STEPS = 100_000

JIT_OPTIONS = ("device", "fastmath", "inline", "lineinfo", "opt", "max_registers")


@dataclass
class Cell:
    """What a solution cell defines."""

    source: str
    tree: ast.Module
    names: dict[str, Any]
    reader: _Constants

    @property
    def constants(self) -> dict[str, int | float]:
        return {n: v for n, v in self.names.items() if isinstance(v, int | float)}

    @property
    def kernels(self) -> dict[str, Function]:
        return {n: v for n, v in self.names.items() if isinstance(v, Function)}


_NUMBERS = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "intp", "uintp"),
)
_COMPLEX = {name: getattr(types, name) for name in ("complex64", "complex128")}
SCALAR_TYPES: dict[str, Scalar] = {
    name: getattr(types, name) for name in (*_NUMBERS, "boolean", "intc", "uintc")
} | _COMPLEX
NUMPY_TYPES: dict[str, Scalar] = {
    name: numba_type(np.dtype(name)) for name in (*_NUMBERS, "bool_")
} | _COMPLEX
MODULES = {
    "numba": "numba",
    "numba.cuda": "cuda",
    "math": "math",
    "cmath": "cmath",
    "numpy": "np",
}
#: Names that a cell uses and forgets to import, and the line that is missing.
IMPORTS = {
    "cuda": "from numba import cuda",
    "math": "import math",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "numba": "import numba",
    **{name: f"from numba import {name}" for name in SCALAR_TYPES},
}


#: What Numba compiles in kernels, and the engine does not run: names, and all below them.
NOT_RUN = (
    *("cuda.libdevice", "cuda.fp16", "cuda.cg", "cuda.random", "cuda.nanosleep"),
    *("next", "cmath"),
)


def unlisted(node: ast.AST | int | None, path: str) -> KernelFault:
    """The fault of a name that a kernel uses and the engine lacks.

    NOT_MEASURED where Numba is known to compile it, and REJECTED for all else.
    """
    if any(path == name or path.startswith(f"{name}.") for name in NOT_RUN):
        instead = instead_of(path)
        return not_measured(node, "numba_has", construct=f"`{path}`", instead=instead)
    return rejected(node, "rejected_attribute", name=path, instead=instead_of(path))


def attribute(path: str, name: str) -> Any:
    """What `name` is inside a listed module: a type, a number or a longer Ref."""
    if path in ("numba", "numba.types"):
        if name in SCALAR_TYPES and (path == "numba.types" or name != "float16"):
            return SCALAR_TYPES[name]  # numba itself has no float16; numba.types and NumPy do
        if name in VOID:
            return types.none
        if name == "cuda":
            return Ref("cuda")
        if name == "types" and path == "numba":
            return Ref("numba.types")
    if path == "np" and name in NUMPY_TYPES:
        return NUMPY_TYPES[name]
    if path in ("np", "math", "cmath"):
        if name in MATH_CONSTANTS and (path != "np" or name in ("pi", "e", "inf", "nan")):
            return MATH_CONSTANTS[name]
    return Ref(f"{path}.{name}")


def missing_prefix(name: str) -> str | None:
    """`cuda.threadIdx` for `threadIdx`: what a name without its module may have meant."""
    return next((path for path in (f"cuda.{name}", f"math.{name}") if known_path(path)), None)


def known_path(path: str) -> bool:
    """Whether a path names something that a kernel may use, or a namespace of such."""
    return path in MODULES.values() or path == "numba.types" or path in PATHS


# ---------------------------------------------------------------- a whole cell


def read_cell(source: str) -> Cell:
    """Reads a solution cell: listed imports, constants and `@cuda.jit` functions.

    Raises:
        KernelFault: REJECTED or DOES_NOT_COMPILE, with the line.
    """
    tree = tree_of(source)
    check_compiles(tree)
    names: dict[str, Any] = {}
    cell = Cell(source, tree, names, _Constants(names, MAX_CONSTANT_STEPS))
    for statement in tree.body:
        _read_statement(statement, cell)
    return cell


def _read_statement(statement: ast.stmt, cell: Cell) -> None:
    names = cell.names
    statement = spelled_out(statement)
    check_annotations(statement)
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if alias.name not in MODULES:
                raise rejected(statement, "rejected_import", name=alias.name)
            if alias.asname is None and "." in alias.name:
                names[alias.name.split(".")[0]] = Ref("numba")
            else:
                names[alias.asname or alias.name] = Ref(MODULES[alias.name])
    elif isinstance(statement, ast.ImportFrom):
        _read_from_import(statement, names)
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        _read_constant(statement, cell)
    elif isinstance(statement, ast.Assert):
        check_assertion(statement, lambda node: _constant(node, cell.reader))
    elif isinstance(statement, ast.FunctionDef):
        options, declares = _declared(statement, names)
        device = bool(options.pop("device", False))
        names[statement.name] = written_out(
            Function(
                statement.name,
                statement,
                names.__getitem__,
                device=device,
                signatures=declares,
                options=options,
            )
        )
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        pass  # a docstring, or the stub's marker
    elif isinstance(statement, ast.Pass):
        pass
    else:
        raise rejected(
            statement,
            "rejected_top_level",
            construct=_first_line(statement)[:60],
        )


def _first_line(statement: ast.stmt) -> str:
    """What a statement begins with, decorators aside."""
    return ast.unparse(statement).splitlines()[len(getattr(statement, "decorator_list", ()))]


def _read_from_import(statement: ast.ImportFrom, names: dict[str, Any]) -> None:
    module = statement.module or ""
    path = MODULES.get(module) or ("numba.types" if module == "numba.types" else None)
    inner = module.removeprefix("numba.")
    if path is None and inner.startswith("cuda."):
        if not known_path(inner):
            raise _not_imported(statement, module, unlisted(statement, inner))
        path = inner
    if path is None or statement.level:
        raise rejected(statement, "rejected_import", name=module or ".")
    for alias in statement.names:
        value = attribute(path, alias.name)
        if isinstance(value, Ref) and not known_path(value.path):
            name = f"{module}.{alias.name}"
            raise _not_imported(statement, name, unlisted(statement, value.path))
        names[alias.asname or alias.name] = value


def _not_imported(statement: ast.stmt, name: str, fault: KernelFault) -> KernelFault:
    if fault.outcome == Outcome.NOT_MEASURED:
        return fault
    return rejected(statement, "rejected_import", name=name, instead=INSTEAD_OF_PATHS.get(name))


def _read_constant(statement: ast.Assign | ast.AnnAssign, cell: Cell) -> None:
    if statement.value is not None:
        cell.names.update(assigned(statement, _constant(statement.value, cell.reader)))


def _constant(node: ast.expr, reader: _Constants) -> Any:
    """A number, a type, a tuple of numbers or a small array, from its tree."""
    try:
        value = reader.value(node)
        if _is_constant(value) and _numbers_in(value) <= MAX_TUPLE_NUMBERS:
            return value
    except (NoValue, RecursionError):
        pass
    raise rejected(node, "rejected_constant", construct=ast.unparse(node)[:60])


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_constant, value))
    if isinstance(value, dict):
        return all(map(_is_constant, (*value, *value.values())))
    plain = str | types.Number | types.Boolean | np.ndarray
    return value is None or is_number(value) or isinstance(value, plain)


class _Constants(Evaluator):
    """Expressions of a cell's top level, with Numba's types and small arrays."""

    def outside(self, node: ast.Name) -> Any:
        if node.id not in self.names and node.id in FUNCTIONS:
            return Ref(node.id)
        return _reference(node, self.names)

    def member(self, node: ast.Attribute, owner: Any) -> Any:
        if isinstance(owner, Ref):
            return attribute(owner.path, node.attr)
        raise self.foreign(node, f"`{ast.unparse(node)[:60]}`")

    def visit_Call(self, node: ast.Call) -> Any:
        if self.value(node.func) == Ref("np.array"):
            return self._array(node)
        return super().visit_Call(node)

    def called(
        self, node: ast.Call, function: Any, arguments: list[Any], named: dict[str, Any]
    ) -> Any:
        if len(arguments) == 1 and not named:
            if isinstance(function, types.Number | types.Boolean) and is_number(arguments[0]):
                return tried(numpy_dtype(function).type, arguments[0])
            if function in (Ref("np.finfo"), Ref("np.iinfo")):
                dtype = tried(numpy_dtype, arguments[0])
                return limits(tried(getattr(np, function.path[3:]), dtype))
        raise self.foreign(node, f"`{ast.unparse(node)[:60]}`")

    def _array(self, node: ast.Call) -> np.ndarray:
        given = {"dtype": node.args[1]} if len(node.args) == 2 else {}
        given |= {str(keyword.arg): keyword.value for keyword in node.keywords}
        if not 1 <= len(node.args) <= 2 or given.keys() - {"dtype"}:
            raise NoValue("`np.array` takes values and a dtype here")
        element = None if "dtype" not in given else numpy_dtype(self.value(given["dtype"]))
        array = tried(np.array, self._nested(node.args[0]), element)
        if array.size > MAX_CONSTANT_ELEMENTS or array.dtype.kind not in "biufc":
            raise NoValue("the array is too large, or holds no numbers")
        array.flags.writeable = False
        return array

    def _nested(self, node: ast.expr) -> Any:
        """Values of an array, of which there may be more than a tuple has."""
        if not isinstance(node, ast.List | ast.Tuple):
            return self.value(node)
        parts = [self._nested(element) for element in node.elts]
        if _numbers_in(parts) > MAX_CONSTANT_ELEMENTS:
            raise NoValue("the array is too large")
        return parts


def _reference(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        if node.id not in names:
            if node.id in IMPORTS:
                raise rejected(node, "missing_import", name=node.id, imported=IMPORTS[node.id])
            raise rejected(node, "rejected_foreign_name", name=node.id)
        return names[node.id]
    if isinstance(node, ast.Attribute):
        base = _reference(node.value, names)
        if isinstance(base, Ref):
            return attribute(base.path, node.attr)
    raise rejected(node, "rejected_constant", construct=ast.unparse(node)[:60])


def _numbers_in(value: Any) -> int:
    """How many numbers a constant holds."""
    if isinstance(value, tuple | list):
        return sum(map(_numbers_in, value)) + (not value)
    return value.size if isinstance(value, np.ndarray) else 1


def _declared(
    definition: ast.FunctionDef, names: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[Signature, ...]]:
    """What the decorator `cuda.jit` says: its options by name, and which types it declares.

    Raises:
        KernelFault: REJECTED where the one decorator is not `cuda.jit` with listed options.
    """
    if len(definition.decorator_list) != 1:
        message = "rejected_decorator" if definition.decorator_list else "not_jitted"
        raise rejected(definition, message, name=definition.name)
    decorator = definition.decorator_list[0]
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    try:
        value = _reference(target, names)
    except KernelFault as fault:
        if fault.message_id in ("rejected_foreign_name", "missing_import"):
            raise
        value = None
    if value != Ref("cuda.jit"):
        raise rejected(decorator, "rejected_decorator", name=definition.name)
    options: dict[str, Any] = {}
    declares: tuple[Signature, ...] = ()
    if isinstance(decorator, ast.Call):
        for keyword in decorator.keywords:
            if keyword.arg not in JIT_OPTIONS or not isinstance(keyword.value, ast.Constant):
                raise rejected(
                    decorator, "rejected_jit_option", name=str(keyword.arg), options=JIT_OPTIONS
                )
            options[keyword.arg] = keyword.value.value
        declares = _signatures(definition, decorator, bool(options.get("device")), names)
    return options, declares


def _signatures(
    definition: ast.FunctionDef, decorator: ast.Call, device: bool, names: Mapping[str, Any]
) -> tuple[Signature, ...]:
    """The types that `@cuda.jit(...)` declares by position.

    Raises:
        KernelFault: REJECTED where that cannot be read, or a kernel were to give a value.
    """
    found: tuple[Signature, ...] = ()
    try:
        for argument in decorator.args:
            if found:
                raise NoSignature(ast.unparse(argument))
            found = signatures(argument, lambda node: _reference(node, names), SCALAR_TYPES)
    except NoSignature as why:
        detail = f"`{str(why)[:60]}`"
        raise rejected(
            decorator, "rejected_signature", name=definition.name, detail=detail
        ) from None
    if not device and any(one.result is not None for one in found):
        detail = "a kernel gives no value, its result is `void`"
        raise rejected(decorator, "rejected_signature", name=definition.name, detail=detail)
    return found


# ---------------------------------------------------------------- a kernel launched directly


_read: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()


def live_function(dispatcher: Any) -> Function:
    """A Function from a live `@cuda.jit` object, read once from its source text.

    Raises:
        KernelFault: where there is no source to read.
    """
    found = _read.get(dispatcher)
    if found is None:
        found = _read[dispatcher] = _from_source(dispatcher)
    return found


def _from_source(dispatcher: Any) -> Function:
    python = dispatcher.py_func
    try:
        lines, start = inspect.getsourcelines(python)
    except (OSError, TypeError):
        linecache.checkcache(python.__code__.co_filename)
        raise rejected(None, "no_source", name=python.__name__) from None
    if python.__name__ == "<lambda>":
        node: ast.stmt = _of_lambda(python.__code__)
    else:
        node = parse(textwrap.dedent("".join(lines))).body[0]
        ast.increment_lineno(node, start - 1)
    if not isinstance(node, ast.FunctionDef) or node.name != python.__name__:
        raise rejected(None, "no_source", name=python.__name__)
    closure = inspect.getclosurevars(python).nonlocals if python.__closure__ else {}

    def lookup(name: str) -> Any:
        if name in closure:
            return _live_value(closure[name])
        return _live_value(python.__globals__[name])

    options = getattr(dispatcher, "targetoptions", {})
    # a plain `@jit` function is device code where a kernel calls it
    device = isinstance(dispatcher, CPUDispatcher) or bool(options.get("device"))
    filename = python.__code__.co_filename
    return written_out(
        Function(python.__name__, node, lookup, device, filename, declared(dispatcher), options)
    )


def _of_lambda(code: CodeType) -> ast.FunctionDef:
    """A live lambda as a `def` of its name.

    Raises:
        KernelFault: where another one begins on its line, which takes the same.
    """
    tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    found = [
        one
        for one in nodes(tree, ast.Lambda)
        if one.lineno == code.co_firstlineno
        and tuple(arg.arg for arg in one.args.args) == code.co_varnames[: code.co_argcount]
    ]
    if len(found) != 1:
        raise rejected_syntax(
            None, "a lambda", "write `def`, with the decorator on the line above it"
        )
    (one,) = found
    made = ast.FunctionDef(code.co_name, one.args, [ast.Return(one.body)], [])
    return ast.fix_missing_locations(ast.copy_location(made, one))


def _live_value(value: Any) -> Any:
    """A global's value as the engine knows it."""
    for name, path in MODULES.items():
        if value is sys.modules.get(name):
            return Ref(path)
    if value is types:
        return Ref("numba.types")
    if isinstance(value, np.dtype):
        value = from_dtype(value)
    if isinstance(value, types.Number | types.Boolean | types.Record | Ref | Function):
        return value
    if isinstance(value, type) and issubclass(value, np.generic):
        return _COMPLEX.get(value.__name__) or numba_type(np.dtype(value))
    if isinstance(value, bool | int | float | complex | str | np.generic | np.ndarray):
        return value
    if isinstance(value, tuple):
        return tuple(_live_value(item) for item in value)
    if hasattr(value, "py_func") and hasattr(value, "targetoptions"):
        return live_function(value)
    if isinstance(value, EnumType) and issubclass(value, IntEnum):
        return Namespace(value.__name__, lambda name: value.__members__[name].value)
    if inspect.ismodule(value):
        if value.__name__.startswith("numba.cuda."):
            return Ref(value.__name__.removeprefix("numba."))
        return Namespace(value.__name__, lambda name: _live_value(vars(value)[name]))
    listed = _path_of(value)
    if listed is not None:
        return Ref(listed)
    raise KeyError(f"a {type(value).__name__}")


def _path_of(value: Any) -> str | None:
    """The path of a listed function that was imported by name (`from math import sqrt`)."""
    for path in PATHS:
        root, _, rest = path.partition(".")
        module = {"cuda": cuda, "math": math, "cmath": cmath, "np": np}.get(root)
        if module is not None and "." not in rest and getattr(module, rest, None) is value:
            return path
    return None


def instead_of(path: str) -> str:
    """What to use in place of a name that a kernel cannot have."""
    for start, words in INSTEAD_OF_PATHS.items():
        if path == start or path.startswith(start + "."):
            return words
    near = difflib.get_close_matches(path, PATHS - VECTORS.keys(), 2)
    near = [one for one in near if not any(one.startswith(f"{other}.") for other in near)]
    if near:
        return f"did you mean {' or '.join(near)}? course.allowed() lists what a kernel may use"
    return "course.allowed() lists what a kernel may use"


def allowed() -> str:
    """What a kernel may call or read, by path, one group a line."""
    groups: dict[str, list[str]] = {}
    for path in sorted((CALLS.keys() | VALUES.keys()) - VECTORS.keys()):
        root = path.rpartition(".")[0] or "builtins"
        groups.setdefault(root, []).append(path.rpartition(".")[2])
    groups["types"] = sorted(SCALAR_TYPES)
    groups["vectors"] = sorted(VECTORS)
    return "\n".join(f"{root}: {', '.join(names)}" for root, names in groups.items())


INSTEAD_OF_PATHS = {
    "cuda.nanosleep": "`pass`: a pause changes no result, and no time is taken here",
    "numba.jit": "`from numba import cuda`, and `@cuda.jit`: `@jit` compiles for the CPU",
    "numba.njit": "`from numba import cuda`, and `@cuda.jit`: `@njit` compiles for the CPU",
    "numba.*": "`from numba import cuda, float32`, with the names that you use",
    "numba.cuda.*": "`from numba import cuda`",
    "numba.float16": "`from numba.types import float16`, or `np.float16`",
    "np.arange": "for i in range(start, stop, step)",
    "np": "in a kernel use math.* for functions, and loops over elements for array operations",
    "cuda.to_device": "copy arrays before the launch, not in the kernel",
    "cuda.synchronize": "synchronise the host after the launch; in a kernel use cuda.syncthreads()",
    "cuda.libdevice": "use math.*",
    "cuda.fp16": "write the operators, or convert with float32(x) and compute in float32",
    "cuda.random": "pass random numbers in as an array",
    "cuda.WARP_SIZE": "cuda.warpsize",
    "cmath": "math.exp, math.sin, math.hypot and the rest of z.real and z.imag",
    "math.fma": "cuda.fma(a, b, c)",
    "cuda.cg": "cuda.syncthreads() for a block; a second launch for the whole grid",
    "print": "print(...) with numbers and text",
    "sorted": "write the loop",
    "map": "the call in the loop's body",
    "next": "an index into the tuple or the array",
    "list": "a loop over the range or tuple itself, and cuda.local.array(shape, dtype) for a "
    "private array",
    "reversed": "for i in range(n - 1, -1, -1)",
    "any": "write the loop",
    "all": "write the loop",
    "str": 'print("x", x) with commas',
}
