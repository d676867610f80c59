"""A Triton cell's source as kernels, launchers and constants, read and never executed.

A kernel becomes a `@triton.jit` function whose body the engine and Triton's compiler read; the
one thing that Python runs is a `def` without decorators, defaults or annotations. A launcher
stays a syntax tree, which `course.tile.launcher` walks.
"""

from __future__ import annotations

import ast
import copy
import linecache
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from types import FunctionType
from typing import Any, TypeGuard

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.runtime.jit import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

from course.faults import KernelFault, Outcome
from course.formula import FormulaError, evaluate
from course.simt.cell import check_annotations, check_compiles, parse
from course.solution import Solution, found, missing
from course.tile.admission import admit_kernel
from course.tile.heuristics import Heuristics, heuristics_of
from course.tile.launcher import admit, admit_expression
from course.tile.launcher.names import ALLOCATOR, IMPORTS, MISSING, MODULES, Ref, member, rejected
from course.tile.operations import INSTEAD
from course.tile.tuning import TUNED, first_configuration

#: What stands behind a listed module in the scope of a kernel.
_BEHIND = {"torch": torch, "triton": triton, "tl": tl, "math": math}
_OPTIONS = ("debug", "noinline", "do_not_specialize", "do_not_specialize_on_alignment")
_WRAPPERS = ("triton.jit", "triton.autotune", "triton.heuristics", "triton.Config")
_CELLS = count(1)
#: How a kernel's module is called: not Triton's own, see `course.tile.functions`.
_MODULE = "solution_cell"


@dataclass
class TileCell:
    """What a solution cell defines.

    Attributes:
        names: every name of its top level: numbers, `tl.constexpr`, dtypes, listed modules and
            functions (`Ref`), jitted functions, and launchers as syntax trees.
        scope: the same as a kernel sees them; all kernels of the cell share it.
        on_host: calls that matter on a GPU alone: they are admitted and not made.
    """

    source: str
    tree: ast.Module
    filename: str
    names: dict[str, Any] = field(default_factory=dict)
    scope: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, ast.FunctionDef] = field(default_factory=dict)
    on_host: list[ast.expr] = field(default_factory=list)

    @property
    def kernels(self) -> dict[str, Any]:
        """The jitted functions, by name."""
        return {name: v for name, v in self.names.items() if isinstance(v, JITFunction)}

    @property
    def launchers(self) -> dict[str, ast.FunctionDef]:
        """The plain functions, by name."""
        return {name: v for name, v in self.names.items() if isinstance(v, ast.FunctionDef)}

    @property
    def constants(self) -> dict[str, int | float]:
        values = {
            name: value.value if isinstance(value, tl.constexpr) else value
            for name, value in self.names.items()
        }
        return {name: v for name, v in values.items() if isinstance(v, int | float)}

    def solution(self, name: str, launcher: bool) -> Solution:
        """The exercise's own function: a kernel, or a launcher where one is asked for.

        Raises:
            KernelFault: REJECTED, where there is none of that name, or it is the other kind.
        """
        functions = self.launchers if launcher else self.kernels
        if name in functions:
            return found(self.tree, self.nodes[name], self.constants)
        if name in self.nodes:
            words = "tile_not_a_launcher" if launcher else "tile_not_jitted"
            raise KernelFault(Outcome.REJECTED, words, self.nodes[name].lineno, name=name)
        raise missing(name, self.nodes)


def read_cell(source: str) -> TileCell:
    """Reads and admits a solution cell: imports, constants, `@triton.jit` functions, launchers.

    Raises:
        KernelFault: REJECTED or DOES_NOT_COMPILE, with the line.
    """
    cell = _read(source)
    _admit(cell)
    return cell


def read_solution(source: str, name: str, launcher: bool) -> Solution:
    """The exercise's function in a cell, all of which is admitted.

    Raises:
        KernelFault: REJECTED or DOES_NOT_COMPILE, with the line.
    """
    cell = _read(source)
    try:
        solution = cell.solution(name, launcher)
        _admit(cell)
    finally:
        forget(cell)
    return solution


def _read(source: str) -> TileCell:
    tree = parse(source)
    check_compiles(tree)
    filename = f"<solution cell {next(_CELLS)}>"
    cell = TileCell(source, tree, filename)
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    cell.scope["__name__"] = _MODULE
    try:
        for statement in tree.body:
            _read_statement(statement, cell)
    except KernelFault:
        forget(cell)
        raise
    return cell


def _admit(cell: TileCell) -> None:
    """Looks at every line of every function, also at those that no launch reaches."""
    for node in ast.walk(cell.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            launched = node.func.value
            plain = cell.launchers.get(launched.id) if isinstance(launched, ast.Name) else None
            if plain is not None:
                raise rejected(plain, "tile_not_jitted", name=plain.name)
    for name, kernel in cell.kernels.items():
        admit_kernel(cell.nodes[name], cell.names)
        heuristics = heuristics_of(kernel)
        if heuristics is not None:
            heuristics.admit()
    for node in cell.launchers.values():
        admit(node, cell.names)
    for call in cell.on_host:
        admit_expression(call, cell.names)


def forget(cell: TileCell) -> None:
    """Lets go of a cell's text, once nothing of it is launched any more."""
    linecache.cache.pop(cell.filename, None)


def _define(cell: TileCell, name: str, value: Any, seen: Any = MISSING) -> None:
    """A name of the cell; `seen` is what a kernel sees, where that is something else."""
    cell.names[name] = value
    cell.scope[name] = value if seen is MISSING else seen


def _read_statement(statement: ast.stmt, cell: TileCell) -> None:
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            _import_module(statement, alias, cell)
    elif isinstance(statement, ast.ImportFrom):
        _import_names(statement, cell)
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        _read_constant(statement, cell)
    elif isinstance(statement, ast.FunctionDef):
        cell.nodes[statement.name] = statement
        if statement.decorator_list:
            _define(cell, statement.name, _jitted(statement, cell))
        else:
            _define(cell, statement.name, statement)
    elif isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    ):
        pass  # a docstring, or the starter's marker
    elif _sets_allocator(statement, cell):
        cell.on_host.append(statement.value)
    else:
        construct = ast.unparse(statement).splitlines()[0][:60]
        raise rejected(statement, "rejected_top_level", construct=construct)


def _sets_allocator(statement: ast.stmt, cell: TileCell) -> TypeGuard[ast.Expr]:
    """`triton.set_allocator(f)`, which a kernel that makes descriptors needs on a GPU."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and _path(call.func, cell) == ALLOCATOR
        and len(call.args) == 1
        and not call.keywords
        and isinstance(call.args[0], ast.Name | ast.Lambda)
    )


# ---------------------------------------------------------------- imports


def _import_module(statement: ast.Import, alias: ast.alias, cell: TileCell) -> None:
    path = MODULES.get(alias.name)
    if path is None:
        raise rejected(
            statement, "rejected_import", name=alias.name, instead=INSTEAD.get(alias.name)
        )
    if alias.asname is None and "." in alias.name:
        root = alias.name.partition(".")[0]
        _define(cell, root, Ref(root), _BEHIND[root])
    else:
        _define(cell, alias.asname or alias.name, Ref(path), _BEHIND.get(path))


def _import_names(statement: ast.ImportFrom, cell: TileCell) -> None:
    module = statement.module or ""
    path = MODULES.get(module)
    if module == "triton.language.extra" and [a.name for a in statement.names] == ["libdevice"]:
        name = statement.names[0].asname or "libdevice"
        _define(cell, name, Ref("tl.extra.libdevice"), libdevice)
        return
    if path is None or statement.level:
        raise rejected(statement, "rejected_import", name=module or ".")
    for alias in statement.names:
        name = alias.asname or alias.name
        if path == "tensor_descriptor" and alias.name == "TensorDescriptor":
            _define(cell, name, Ref("tensor_descriptor.TensorDescriptor"), TensorDescriptor)
            continue
        if path == "tl" and alias.name in ("constexpr", "math"):
            _define(cell, name, Ref(f"tl.{alias.name}"), getattr(tl, alias.name))
            continue
        value = member(path, alias.name)
        if value is MISSING and path == "tl":
            value = _listed_operation(alias.name)
        if value is MISSING:
            raise rejected(statement, "rejected_import", name=f"{module}.{alias.name}")
        behind = getattr(_BEHIND[path], alias.name) if path in _BEHIND else None
        _define(cell, name, value, behind)


def _listed_operation(name: str) -> Any:
    """A function of `tl` that a kernel may call, imported by its name."""
    from course.tile.admission import OPERATIONS

    return Ref(f"tl.{name}") if name in OPERATIONS else MISSING


# ---------------------------------------------------------------- constants


def _read_constant(statement: ast.Assign | ast.AnnAssign, cell: TileCell) -> None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if statement.value is None:
        return
    value = _constant(statement.value, cell)
    if isinstance(statement, ast.AnnAssign):
        if _path(statement.annotation, cell) == "tl.constexpr":
            value = value if isinstance(value, tl.constexpr) else tl.constexpr(value)
        else:
            check_annotations(statement)
    for target in targets:
        if isinstance(target, ast.Name):
            _define(cell, target.id, value)
        elif (
            isinstance(target, ast.Tuple)
            and isinstance(value, tuple)
            and len(target.elts) == len(value)
            and all(isinstance(element, ast.Name) for element in target.elts)
        ):
            for element, item in zip(target.elts, value, strict=True):
                assert isinstance(element, ast.Name)
                _define(cell, element.id, item)
        else:
            construct = ast.unparse(statement)[:60]
            raise rejected(statement, "rejected_constant", construct=construct)


def _constant(node: ast.expr, cell: TileCell) -> Any:
    """A number, a dtype, a `tl.constexpr` or a tuple of these, from its tree."""
    if isinstance(node, ast.Tuple) and len(node.elts) <= 64:
        return tuple(_constant(element, cell) for element in node.elts)
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        if _path(node.func, cell) == "tl.constexpr":
            inner = _constant(node.args[0], cell)
            return inner if isinstance(inner, tl.constexpr) else tl.constexpr(inner)
        called = ast.unparse(node.func)
        if called == "float" and isinstance(node.args[0], ast.Constant):
            text = node.args[0].value
            if text in ("inf", "-inf", "nan"):
                return float(str(text))
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | str):
        return node.value
    if isinstance(node, ast.Attribute | ast.Name):
        value = _referred(node, cell)
        if value is not MISSING and not isinstance(value, Ref | JITFunction | ast.FunctionDef):
            return value
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    numbers = {name: v for name, v in cell.constants.items() if name in used}
    try:
        return evaluate(node, numbers)
    except FormulaError:
        for name in sorted(used - cell.names.keys() & IMPORTS.keys()):
            raise rejected(node, "missing_import", name=name, imported=IMPORTS[name]) from None
        construct = ast.unparse(node)[:60]
        raise rejected(node, "rejected_constant", construct=construct) from None


def _referred(node: ast.expr, cell: TileCell) -> Any:
    """What a name or a dotted name of listed modules is."""
    if isinstance(node, ast.Name):
        return cell.names.get(node.id, MISSING)
    if isinstance(node, ast.Attribute):
        base = _referred(node.value, cell)
        if isinstance(base, Ref):
            path = f"{base.path}.{node.attr}"
            if path in ("tl.constexpr", "tl.math", "triton.language", *_WRAPPERS):
                return Ref("tl" if path == "triton.language" else path)
            return member(base.path, node.attr)
    return MISSING


def _path(node: ast.expr, cell: TileCell) -> str:
    value = _referred(node, cell)
    return value.path if isinstance(value, Ref) else ""


# ---------------------------------------------------------------- kernels


def _jitted(node: ast.FunctionDef, cell: TileCell) -> Any:
    """The `@triton.jit` function of a definition, and what the decorators above it set."""
    decorators = node.decorator_list
    tuned: tuple[bool, dict[str, Any]] = (False, {})
    heuristics: Heuristics | None = None
    first = decorators[0]
    if isinstance(first, ast.Call) and _path(first.func, cell) == "triton.autotune":
        tuned = first_configuration(
            node, first, lambda n: _path(n, cell), lambda n: _plain(_constant(n, cell))
        )
        decorators = decorators[1:] or decorators
    first = decorators[0]
    if isinstance(first, ast.Call) and _path(first.func, cell) == "triton.heuristics":
        heuristics = Heuristics.read(node, first, cell.names)
        decorators = decorators[1:] or decorators
    options = _options(decorators, cell)
    arguments = node.args
    if getattr(node, "type_params", None):
        construct = "type parameters"
        raise rejected(node, "rejected_syntax", construct=construct, instead="leave them out")
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        raise rejected(
            node,
            "rejected_syntax",
            construct="a parameter with `*` or `/`",
            instead="name each parameter",
        )
    parameters = {argument.arg: argument for argument in arguments.args}
    annotations = {
        name: known
        for name, argument in parameters.items()
        if (known := _annotation(argument, cell)) is not None
    }
    defaults = tuple(_constant(default, cell) for default in arguments.defaults)
    bare = copy.copy(node)
    bare.args = ast.arguments(
        posonlyargs=[],
        args=[ast.copy_location(ast.arg(name), a) for name, a in parameters.items()],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    bare.decorator_list, bare.returns = [], None
    module = ast.Module([bare], [])
    code = compile(module, cell.filename, "exec", dont_inherit=True)
    inner = next(c for c in code.co_consts if hasattr(c, "co_code") and c.co_name == node.name)
    function = FunctionType(inner, cell.scope, node.name, defaults or None)
    function.__annotations__ = annotations
    function.__module__ = _MODULE
    try:
        jitted = triton.jit(function, **options)
        jitted.__dict__[TUNED] = tuned
        if heuristics is not None:
            heuristics.keep(jitted)
        return jitted
    except Exception as error:
        raise KernelFault(
            Outcome.DOES_NOT_COMPILE, "triton_refuses", node.lineno, detail=str(error)[:200]
        ) from None


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def _options(decorators: list[ast.expr], cell: TileCell) -> dict[str, Any]:
    """What the one decorator says beside `triton.jit`."""
    if len(decorators) == 1:
        decorator = decorators[0]
        call = decorator if isinstance(decorator, ast.Call) else None
        target = decorator if call is None else call.func
        if _path(target, cell) == "triton.jit" and (call is None or not call.args):
            keywords: Mapping[str | None, ast.expr] = (
                {} if call is None else {k.arg: k.value for k in call.keywords}
            )
            if all(name in _OPTIONS for name in keywords):
                try:
                    return {str(n): ast.literal_eval(value) for n, value in keywords.items()}
                except ValueError:
                    pass
        root = ast.unparse(target).partition(".")[0]
        if root in IMPORTS and root not in cell.names:
            raise rejected(decorator, "missing_import", name=root, imported=IMPORTS[root])
    shown = ", ".join(f"`@{ast.unparse(decorator)[:60]}`" for decorator in decorators)
    raise rejected(decorators[0], "tile_decorator", construct=shown)


def _annotation(argument: ast.arg, cell: TileCell) -> Any:
    """`tl.constexpr`, the name of a type, or None."""
    if argument.annotation is None:
        return None
    if _path(argument.annotation, cell) == "tl.constexpr":
        return tl.constexpr
    if isinstance(argument.annotation, ast.Constant) and isinstance(argument.annotation.value, str):
        return argument.annotation.value
    value = _referred(argument.annotation, cell)
    if isinstance(value, tl.dtype):
        return value
    raise rejected(
        argument.annotation,
        "rejected_syntax",
        construct=f"the annotation `{ast.unparse(argument.annotation)[:60]}`",
        instead="write `tl.constexpr`, or leave it out",
    )
