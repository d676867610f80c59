"""What a kernel may be made of: a positive list of syntax, names and attributes.

Triton's compiler calls what a kernel names, on the host and while it compiles. So a kernel of a
check names only what stands here; the rest is refused by its name, with what comes nearest.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from functools import reduce
from typing import Any

from course.engine.cell.namespaces import PATHS
from course.engine.cell.operations import ATTRIBUTES, BUILTINS, INSTEAD, OPERATIONS, instead_of_cuda
from course.engine.faults import rejected, rejected_syntax
from course.engine.launcher import gluon
from course.engine.launcher.admission import locals_of
from course.engine.launcher.names import IMPORTS, MISSING, MODULES, Ref, is_kernel, near_name, text

_STATEMENTS = (
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.For, ast.While, ast.Assert),
    *(ast.Return, ast.Expr, ast.Pass, ast.Break, ast.Continue),
)
_EXPRESSIONS = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Call),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List),
)
_TOP = "the top of the cell"
_WORDS: dict[type[ast.AST], tuple[str, str | None]] = {
    ast.FunctionDef: ("a function inside a kernel", "a `@triton.jit` function of its own"),
    ast.AsyncFunctionDef: ("an async function", "a plain `def`"),
    ast.Lambda: ("a lambda", "a `@triton.jit` function of its own"),
    ast.ClassDef: ("a class", None),
    ast.With: ("`with`", None),
    ast.Try: ("`try`", "a mask: a GPU knows no exceptions"),
    ast.Raise: ("`raise`", "tl.device_assert, which `@triton.jit(debug=True)` switches on"),
    ast.Import: ("an import", f"imports at {_TOP}"),
    ast.ImportFrom: ("an import", f"imports at {_TOP}"),
    ast.Global: ("`global`", "a parameter"),
    ast.Nonlocal: ("`nonlocal`", "a parameter"),
    ast.Delete: ("`del`", "leave it out"),
    ast.Match: ("`match`", "`if` and `elif`"),
    ast.NamedExpr: ("`:=`", "an assignment on a line of its own"),
    ast.ListComp: ("a comprehension", "a block: `tl.arange` and one operation on all of it"),
    ast.SetComp: ("a comprehension", "a block"),
    ast.DictComp: ("a comprehension", "a block"),
    ast.GeneratorExp: ("a comprehension", "a block"),
    ast.Yield: ("`yield`", None),
    ast.YieldFrom: ("`yield`", None),
    ast.Await: ("`await`", None),
    ast.Starred: ("`*` before a value", "each one written out"),
    ast.Dict: ("a dict", "variables"),
    ast.Set: ("a set", "a tuple"),
    ast.JoinedStr: (
        "an f-string that is not the plain message of an assertion",
        'tl.device_print("x", x), with the value behind a comma',
    ),
}
_CONSTANTS = (int, float, bool, type(None), type(Ellipsis))
#: Functions that say something to whoever compiles or runs a kernel.
_SAYING = frozenset({"tl.static_assert", "tl.static_print", "tl.device_assert", "tl.device_print"})


def admit_kernel(node: ast.FunctionDef, names: Mapping[str, Any]) -> None:
    """Holds a `@triton.jit` function against the positive list.

    Args:
        node: its tree; the decorator, the defaults and the annotations of parameters are for
            the reader of the cell.
        names: the cell's module-level names: numbers, dtypes, `Ref`, kernels, launchers' trees.

    Raises:
        KernelFault: REJECTED, with the line of the first construct that is not listed.
    """
    _Admission(names, locals_of(node)).function(node)


class _Admission:
    def __init__(self, names: Mapping[str, Any], local: frozenset[str]) -> None:
        self.names = names
        self.local = local

    def function(self, node: ast.FunctionDef) -> None:
        """The whole function."""
        for name in sorted(self.local):
            if name.startswith("__"):
                raise rejected(node, "rejected_name", name=name)
        for statement in node.body:
            self._statement(statement)

    # ------------------------------------------------------------ statements

    def _statement(self, node: ast.stmt) -> None:
        if not isinstance(node, _STATEMENTS):
            raise _unlisted(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring, or the starter's marker
        if isinstance(node, ast.For | ast.While) and node.orelse:
            raise rejected_syntax(node, "`else` after a loop", "an `if` behind the loop")
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.MatMult):
            raise rejected_syntax(node, f"`{text(node)}`", "tl.dot(a, b, acc)")
        if isinstance(node, ast.AnnAssign) and self._is_text(node.value):
            self._expression(node.annotation)
            return
        if isinstance(node, ast.Assert):
            self._expression(node.test)
            if node.msg is not None:
                self._message(node.msg)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self._statement(child)
            elif isinstance(child, ast.expr):
                self._expression(child)

    # ------------------------------------------------------------ expressions

    def _expression(self, node: ast.AST) -> None:
        if not isinstance(node, _EXPRESSIONS):
            raise _unlisted(node)
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, _CONSTANTS):
                raise rejected_syntax(node, f"`{text(node)}`", "a number")
        elif isinstance(node, ast.Name):
            self._name(node)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            raise rejected_syntax(node, f"`{text(node)}`", "tl.dot(a, b)")
        else:
            for child in ast.iter_child_nodes(node):
                compared = isinstance(node, ast.Compare) and self._is_text(child)
                if isinstance(child, ast.expr) and not compared:
                    self._expression(child)

    def _is_text(self, node: ast.AST | None) -> bool:
        """Text may be passed and compared; nothing is made of it."""
        return isinstance(node, ast.Constant) and isinstance(node.value, str)

    def _call(self, node: ast.Call) -> None:
        self._expression(node.func)
        for keyword in node.keywords:
            if keyword.arg is None:
                raise rejected_syntax(keyword.value, "`**` in a call", "each argument by its name")
            if keyword.arg.startswith("_"):
                raise rejected(keyword.value, "rejected_name", name=keyword.arg)
        takes = self._message if self._path(node.func) in _SAYING else self._value
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            takes(value)

    def _value(self, node: ast.expr) -> None:
        """What may be passed: text, too."""
        if not self._is_text(node):
            self._expression(node)

    def _message(self, node: ast.expr) -> None:
        """What may be said: an f-string, too, which no name can keep and double."""
        for part in node.values if isinstance(node, ast.JoinedStr) else [node]:
            if not isinstance(part, ast.FormattedValue):
                self._value(part)
            elif part.format_spec is not None:
                raise _unlisted(node)
            else:
                self._expression(part.value)

    def _path(self, node: ast.expr) -> str:
        """The path that a chain of attributes leads to, '' where it begins with a value."""
        names, root = _chain(node)
        if not isinstance(root, ast.Name) or root.id in self.local:
            return ""
        found = self.names.get(root.id)
        return reduce(_below, names, found.path) if isinstance(found, Ref) else ""

    def _name(self, node: ast.Name) -> None:
        if node.id in self.local or not isinstance(node.ctx, ast.Load):
            return
        value = self.names.get(node.id, MISSING)
        if value is MISSING:
            if node.id not in BUILTINS:
                raise _unknown(node)
        elif isinstance(value, ast.FunctionDef):
            raise rejected(node, "triton_foreign_call", name=node.id)
        elif isinstance(value, Ref):
            if value.path in MODULES.values() or value.path in ("tl.math", "tl.extra"):
                raise rejected(node, "rejected_name", name=node.id, got="a module")
            if value.path not in PATHS:
                raise _unlisted_path(node, value.path)

    def _attribute(self, node: ast.Attribute) -> None:
        names, root = _chain(node)
        hidden = next((name for name in names if name.startswith("_")), None)
        if hidden is not None or not isinstance(node.ctx, ast.Load):
            instead = instead_of_cuda(hidden or "")
            raise rejected(node, "tile_attribute", name=text(node), instead=instead)
        if not isinstance(root, ast.Name):
            self._expression(root)
            self._of_a_value(node, names)
            return
        found = MISSING if root.id in self.local else self.names.get(root.id, MISSING)
        if isinstance(found, Ref):
            self._of_a_path(node, found.path, names)
            return
        self._name(root)
        if is_kernel(found):
            raise rejected(node, "tile_attribute", name=text(node))
        self._of_a_value(node, names)

    def _of_a_path(self, node: ast.Attribute, path: str, names: list[str]) -> None:
        """``tl.float32.primitive_bitwidth``: a listed path, and then attributes of its value."""
        for place, name in enumerate(names):
            if path in PATHS:
                self._of_a_value(node, names[place:])
                return
            path = _below(path, name)
        if path not in PATHS:
            raise _unlisted_path(node, path)

    def _of_a_value(self, node: ast.Attribute, names: list[str]) -> None:
        for name in names:
            if name not in ATTRIBUTES | gluon.ATTRIBUTES:
                instead = INSTEAD.get(name)
                if instead is None and name in OPERATIONS:
                    instead = f"`tl.{name}(...)`"
                near = None if instead else near_name(name, ATTRIBUTES)
                shown = f".{name}"
                raise rejected(node, "tile_attribute", name=shown, instead=instead, near=near)


def _chain(node: ast.expr) -> tuple[list[str], ast.expr]:
    """The attributes of a chain, from the inside out, and what it begins with."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return names[::-1], node


def _below(path: str, name: str) -> str:
    return "tl" if path == "triton" and name == "language" else f"{path}.{name}"


def _unknown(node: ast.Name) -> Exception:
    """A name that the cell does not define."""
    name = node.id
    if name in IMPORTS and name != "np":  # of NumPy a kernel has the constants alone
        return rejected(node, "missing_import", name=name, imported=IMPORTS[name])
    if f"tl.{name}" in PATHS:
        return rejected(node, "missing_prefix", name=name, path=f"tl.{name}")
    cuda = instead_of_cuda(name)
    hidden = name.startswith("__") or name in ("np", "numpy", "cuda")
    if cuda or hidden or hasattr(builtins, name):
        return rejected(node, "rejected_attribute", name=name, instead=INSTEAD.get(name, cuda))
    return rejected(node, "undefined_name", name=name)


def _unlisted_path(node: ast.AST, path: str) -> Exception:
    module, _, name = path.rpartition(".")
    instead = INSTEAD.get(name)
    if instead is None and not path.startswith("tl.") and name in OPERATIONS:
        instead = f"`tl.{name}`: {module} works on the host"
    instead = instead or instead_of_cuda(name)
    near = None if instead else near_name(path, PATHS)
    return rejected(node, "tile_attribute", name=path, instead=instead, near=near)


def _unlisted(node: ast.AST) -> Exception:
    construct, instead = _WORDS.get(type(node), (f"`{text(node)}`", None))
    return rejected_syntax(node, construct, instead)
