"""A Triton cell's source as kernels, launchers and constants, read and never executed.

A kernel becomes a `@triton.jit` function (`course.engine.cell.definition`) whose one tree the
engine and Triton's compiler read; of it Python runs nothing. A launcher
stays a syntax tree, which `course.engine.launcher` walks.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import torch
import triton
import triton.language as tl
from triton.experimental import gluon as gluon_language
from triton.runtime.jit import JITFunction

from course.engine.cell.admission import admit_kernel
from course.engine.cell.constexpr_functions import Walked, takes_them, walked
from course.engine.cell.definition import MODULE, jitted
from course.engine.cell.heuristics import COMPUTED, Heuristics, heuristics_of
from course.engine.cell.namespaces import PATHS, behind
from course.engine.cell.operations import INSTEAD, instead_of_cuda
from course.engine.cell.solution import Solution, found, missing
from course.engine.cell.source import (
    assigned,
    check_annotations,
    check_assertion,
    check_compiles,
    spelled_out,
    tree_of,
)
from course.engine.cell.tuning import CLEAR, TUNED, Tuned, read_tuning
from course.engine.faults import KernelFault, rejected, rejected_syntax
from course.engine.launcher import Constants, admit, admit_expression, gluon
from course.engine.launcher.frames import Closure, Config
from course.engine.launcher.gpu import NO_GRADIENTS
from course.engine.launcher.names import ALLOCATOR, IMPORTS, MISSING, MODULES, Own, Ref, member
from course.plain.arithmetic import Facts, NoValue, bounded, is_number
from course.plain.text import lines_of
from course.plain.trees import nodes, walk

_OPTIONS = ("debug", "noinline", "do_not_specialize", "do_not_specialize_on_alignment")
_JIT = {"triton.jit": triton.jit, gluon.JIT: gluon_language.jit}
_WRAPPERS = (
    *(*_JIT, "triton.autotune", "triton.heuristics", "triton.Config"),
    "triton.constexpr_function",
)
_CONSTEXPR = ("tl.constexpr", "gl.constexpr")
#: Python's types by which Triton knows a parameter's: int32, float32 and one bit.
_OF_PYTHON = ("int", "float", "bool")
#: How many cells hold a text now, by the file that it stands for. A text has one file, so that
#: what the compiler made of it is found again (`course.engine.triton.compiling.gate`).
_HELD: Counter[str] = Counter()
_HOLDS_LIBDEVICE = ("triton.language.extra", "triton.language.extra.cuda")
_LIBDEVICE = "tl.extra.libdevice"
_MODULES = MODULES | {f"{holder}.libdevice": _LIBDEVICE for holder in _HOLDS_LIBDEVICE}
#: Modules of which a cell takes names for its annotations, and nothing else.
_OF_ANNOTATIONS = ("__future__", "typing", "collections.abc")


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
    constants_of_text: Constants = field(init=False, repr=False)
    nodes: dict[str, ast.FunctionDef] = field(default_factory=dict)
    on_host: list[ast.expr] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.constants_of_text = Constants(self.names)

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

    @cached_property
    def changes(self) -> bool:
        """Whether a launcher may change a list or a dict, which its next call might find."""
        return any(
            (isinstance(node, ast.Attribute) and node.attr in ("append", "extend"))
            or (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
            for node in walk(self.tree)
        )

    def solution(self, name: str, launcher: bool) -> Solution:
        """The exercise's own function: a kernel, or a launcher where one is asked for.

        Raises:
            KernelFault: REJECTED, where there is none of that name, or it is the other kind.
        """
        functions = self.launchers if launcher else self.kernels
        if name in functions:
            worked_out = () if launcher else _worked_out(self.kernels[name])
            return found(self.tree, self.nodes[name], self.constants, worked_out)
        if name in self.nodes:
            words = "tile_not_a_launcher" if launcher else "tile_not_jitted"
            raise rejected(self.nodes[name], words, name=name)
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
    tree = tree_of(source)
    check_compiles(tree)
    digest = hashlib.sha256(source.encode(errors="surrogatepass")).hexdigest()
    filename = f"<solution cell {digest[:32]}>"
    _HELD[filename] += 1
    cell = TileCell(source, tree, filename)
    lines = [f"{line}\n" for line in lines_of(source)]
    linecache.cache[filename] = (len(source), None, lines, filename)
    cell.scope.update({"__name__": MODULE, "__builtins__": {}})
    try:
        for statement in tree.body:
            _read_statement(statement, cell)
    except KernelFault:
        forget(cell)
        raise
    return cell


def _admit(cell: TileCell) -> None:
    """Looks at every line of every function, also at those that no launch reaches."""
    for call in nodes(cell.tree, ast.Call):
        if isinstance(call.func, ast.Subscript):
            launched = call.func.value
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
    for value in cell.names.values():
        if isinstance(value, Walked):
            admit(value.node, cell.names)
    for expression in cell.on_host:
        admit_expression(expression, cell.names)


def forget(cell: TileCell) -> None:
    """Lets go of a cell's text, once nothing of it is launched any more. Once for each cell."""
    _HELD[cell.filename] -= 1
    if not _HELD[cell.filename]:
        del _HELD[cell.filename]
        linecache.cache.pop(cell.filename, None)


def _define(cell: TileCell, name: str, value: Any) -> None:
    """A name of the cell, and what a kernel finds behind it: of modules, what is listed alone."""
    cell.names[name] = value
    cell.scope.pop(name, None)
    seen = behind(value.path) if isinstance(value, Ref) else value
    if isinstance(value, Own | Facts) and not isinstance(value, Walked):
        seen = MISSING
    if seen is not MISSING:
        cell.scope[name] = seen


def _read_statement(statement: ast.stmt, cell: TileCell) -> None:
    statement = spelled_out(statement)
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            _import_module(statement, alias, cell)
    elif isinstance(statement, ast.ImportFrom):
        _import_names(statement, cell)
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        _read_constant(statement, cell)
    elif isinstance(statement, ast.Assert):
        check_assertion(statement, cell.constants_of_text.value)
    elif isinstance(statement, ast.FunctionDef):
        cell.nodes[statement.name] = statement
        if _is_constexpr_function(statement, cell):
            _define(cell, statement.name, walked(statement, cell.filename, cell.names))
        elif all(_keeps_no_gradients(one, cell) for one in statement.decorator_list):
            _settle_defaults(statement, cell)
            _define(cell, statement.name, statement)
        else:
            _define(cell, statement.name, _jitted(statement, cell))
    elif isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    ):
        pass  # a docstring, or the starter's marker
    elif _sets_allocator(statement, cell):
        cell.on_host.append(statement.value)
    else:
        construct = ast.unparse(statement).splitlines()[0][:60]
        raise rejected(statement, "rejected_top_level", construct=construct)


def _settle_defaults(statement: ast.FunctionDef, cell: TileCell) -> None:
    """A default that is a constant's name is from here on what the constant is by now."""
    for defaults in (statement.args.defaults, statement.args.kw_defaults):
        for place, node in enumerate(defaults):
            held = cell.names.get(node.id, MISSING) if isinstance(node, ast.Name) else MISSING
            held = held.value if isinstance(held, tl.constexpr) else held
            if isinstance(node, ast.Name) and isinstance(held, bool | int | float | str | None):
                defaults[place] = ast.copy_location(ast.Constant(held), node)


def _is_constexpr_function(statement: ast.FunctionDef, cell: TileCell) -> bool:
    paths = [_path(decorator, cell) for decorator in statement.decorator_list]
    return paths == ["triton.constexpr_function"] and takes_them()


def _keeps_no_gradients(decorator: ast.expr, cell: TileCell) -> bool:
    """`@torch.no_grad()` of a launcher, which computes the same with and without it."""
    return _path(getattr(decorator, "func", decorator), cell) in NO_GRADIENTS


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
    path = _MODULES.get(alias.name)
    if path is None:
        raise rejected(
            statement, "rejected_import", name=alias.name, instead=INSTEAD.get(alias.name)
        )
    if alias.asname is None and "." in alias.name:
        root = alias.name.partition(".")[0]
        _define(cell, root, Ref(root))
    else:
        _define(cell, alias.asname or alias.name, Ref(path))


def _import_names(statement: ast.ImportFrom, cell: TileCell) -> None:
    module = statement.module or ""
    path = _MODULES.get(module)
    if module in _HOLDS_LIBDEVICE and [a.name for a in statement.names] == ["libdevice"]:
        name = statement.names[0].asname or "libdevice"
        _define(cell, name, Ref(_LIBDEVICE))
        return
    if module in _OF_ANNOTATIONS:
        return  # an annotation is not evaluated
    if path is None or statement.level:
        raise rejected(statement, "rejected_import", name=module or ".")
    for alias in statement.names:
        name = alias.asname or alias.name
        if path == "tl" and alias.name in ("constexpr", "math"):
            _define(cell, name, Ref(f"tl.{alias.name}"))
            continue
        value = member(path, alias.name)
        if value is MISSING and f"{path}.{alias.name}" in PATHS:
            value = Ref(f"{path}.{alias.name}")
        if value is MISSING:
            full = f"{module}.{alias.name}"
            of_cuda = instead_of_cuda(alias.name) if path == _LIBDEVICE else None
            instead = of_cuda or INSTEAD.get(full)
            raise rejected(statement, "rejected_import", name=full, instead=instead)
        _define(cell, name, value)


# ---------------------------------------------------------------- constants


def _read_constant(statement: ast.Assign | ast.AnnAssign, cell: TileCell) -> None:
    if statement.value is None:
        return
    value = _constant(statement.value, cell)
    if isinstance(statement, ast.AnnAssign):
        if _path(statement.annotation, cell) in _CONSTEXPR:
            value = value if isinstance(value, tl.constexpr) else tl.constexpr(value)
        else:
            check_annotations(statement)
    for name, one in assigned(statement, value):
        _define(cell, name, one)


def _constant(node: ast.expr, cell: TileCell) -> Any:
    """A plain value, a dtype, a function of `tl`, a `tl.constexpr`, or tuples of these."""
    if isinstance(node, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in node.elts):
        parts = tuple(_constant(element, cell) for element in node.elts)
        try:
            bounded(parts, inside=lambda v: v.value if isinstance(v, tl.constexpr) else v)
        except NoValue:
            raise rejected(node, "rejected_constant", construct=ast.unparse(node)[:60]) from None
        return parts
    if isinstance(node, ast.Name) and _path(node, cell) in PATHS:
        return _referred(node, cell)
    if isinstance(node, ast.Attribute) and f"{_path(node.value, cell)}.{node.attr}" in PATHS:
        known = member(_path(node.value, cell), node.attr)
        return Ref(f"{_path(node.value, cell)}.{node.attr}") if known is MISSING else known
    try:
        value = cell.constants_of_text.value(node)
    except KernelFault as fault:
        if fault.message_id in CLEAR:
            raise
        value = MISSING
    if not _is_constant(value):
        raise rejected(node, "rejected_constant", construct=ast.unparse(node)[:60])
    value = value.item() if isinstance(value, np.generic) else value
    return tl.constexpr(value) if _of_constexpr(node, cell) else value


def _is_constant(value: Any) -> bool:
    """Whether a top-level name may hold it: what is neither a tensor, a function nor a module."""
    if isinstance(value, tuple | list):
        return all(map(_is_constant, value))
    if isinstance(value, dict):
        return all(map(_is_constant, (*value, *value.values())))
    plain = str | tl.dtype | torch.dtype | torch.device | Facts | Closure | Config
    return value is None or is_number(value) or isinstance(value, plain)


def _of_constexpr(node: ast.expr, cell: TileCell) -> bool:
    """Whether a value is a `tl.constexpr`, as Triton's own operators keep it."""
    if isinstance(node, ast.Call):
        return _path(node.func, cell) == "tl.constexpr"
    if isinstance(node, ast.Name):
        return isinstance(cell.names.get(node.id), tl.constexpr)
    parts: dict[type, tuple[str, ...]] = {
        ast.BinOp: ("left", "right"),
        ast.UnaryOp: ("operand",),
        ast.Compare: ("left",),
        ast.IfExp: ("body", "orelse"),
    }
    negates = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    names = () if negates else parts.get(type(node), ())
    return any(_of_constexpr(getattr(node, name), cell) for name in names)


def _referred(node: ast.expr, cell: TileCell) -> Any:
    """What a name or a dotted name of listed modules is."""
    if isinstance(node, ast.Name):
        return cell.names.get(node.id, MISSING)
    if isinstance(node, ast.Attribute):
        base = _referred(node.value, cell)
        if isinstance(base, Ref):
            path = f"{base.path}.{node.attr}"
            if path in (*_CONSTEXPR, "tl.math", "triton.language", *_WRAPPERS):
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
    tuned: Tuned | None = None
    heuristics: Heuristics | None = None
    first = decorators[0]
    if isinstance(first, ast.Call) and _path(first.func, cell) == "triton.autotune":
        tuned = read_tuning(node, first, cell.constants_of_text.value, cell.names)
        decorators = decorators[1:] or decorators
    first = decorators[0]
    if isinstance(first, ast.Call) and _path(first.func, cell) == "triton.heuristics":
        heuristics = Heuristics.read(node, first, cell.names)
        decorators = decorators[1:] or decorators
    jit, options = _options(decorators, cell)
    arguments = node.args
    if getattr(node, "type_params", None):
        construct = "type parameters"
        raise rejected_syntax(node, construct, "leave them out")
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        raise rejected_syntax(node, "a parameter with `*` or `/`", "name each parameter")
    parameters = {argument.arg: argument for argument in arguments.args}
    annotations = {
        name: known
        for name, argument in parameters.items()
        if (known := _annotation(argument, cell)) is not None
    }
    defaults = tuple(_constant(default, cell) for default in arguments.defaults)
    made = jitted(node, cell.filename, cell.scope, defaults, annotations, options, jit)
    made.__dict__.update({TUNED: tuned, COMPUTED: heuristics})
    return made


def _worked_out(kernel: Any) -> set[str]:
    """The parameters of a kernel to which what stands above it gives values."""
    heuristics, tuned = heuristics_of(kernel), kernel.__dict__[TUNED]
    configs = () if tuned is None else tuned.configs
    return {*(heuristics.values if heuristics else ()), *(n for c in configs for n in c.kwargs)}


def _options(
    decorators: list[ast.expr], cell: TileCell
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The one decorator, `triton.jit` or `gluon.jit`, and what it says beside that."""
    if len(decorators) == 1:
        decorator = decorators[0]
        call = decorator if isinstance(decorator, ast.Call) else None
        target = decorator if call is None else call.func
        if _path(target, cell) in _JIT and (call is None or not call.args):
            keywords: Mapping[str | None, ast.expr] = (
                {} if call is None else {k.arg: k.value for k in call.keywords}
            )
            if all(name in _OPTIONS for name in keywords):
                try:
                    options = {str(n): ast.literal_eval(value) for n, value in keywords.items()}
                    return _JIT[_path(target, cell)], options
                except ValueError:
                    pass
        _check_imported(target, cell)
    shown = ", ".join(f"`@{ast.unparse(decorator)[:60]}`" for decorator in decorators)
    raise rejected(decorators[0], "tile_decorator", construct=shown)


def _check_imported(node: ast.expr, cell: TileCell) -> None:
    """Names the import that the module of a dotted name wants."""
    root = ast.unparse(node).partition(".")[0]
    if root in IMPORTS and root not in cell.names:
        raise rejected(node, "missing_import", name=root, imported=IMPORTS[root])


def _annotation(argument: ast.arg, cell: TileCell) -> Any:
    """`tl.constexpr`, the name of a type, or None."""
    if argument.annotation is None:
        return None
    if _path(argument.annotation, cell) in _CONSTEXPR:
        return tl.constexpr
    if isinstance(argument.annotation, ast.Constant) and isinstance(argument.annotation.value, str):
        return argument.annotation.value
    if isinstance(argument.annotation, ast.Name) and argument.annotation.id in _OF_PYTHON:
        if argument.annotation.id not in cell.names:
            return argument.annotation.id
    value = _referred(argument.annotation, cell)
    if isinstance(value, tl.dtype):
        return value
    _check_imported(argument.annotation, cell)
    raise rejected_syntax(
        argument.annotation,
        f"the annotation `{ast.unparse(argument.annotation)[:60]}`",
        "write `tl.constexpr`, or leave it out",
    )
