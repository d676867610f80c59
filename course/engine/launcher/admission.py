"""What a launcher may be made of, held against its whole tree before anything runs.

The walker refuses the same things where it comes to them; this pass refuses them also on the
lines that no case reaches.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import torch
import triton.language as tl

from course.engine.cell.source import names_a_type
from course.engine.faults import rejected
from course.engine.launcher import gpu
from course.engine.launcher.names import (
    ALLOCATIONS,
    ALLOCATOR,
    ATTRIBUTES,
    CHANGES,
    DESCRIPTOR,
    EXCEPTIONS,
    MISSING,
    NEW_TENSORS,
    OF_THEIR_OWN,
    Ref,
    is_kernel,
    member,
    refused_attribute,
    refused_member,
    resolve,
    text,
)
from course.plain.trees import nodes

_STATEMENTS = (
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.For, ast.While, ast.Assert),
    *(ast.Return, ast.Raise, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.FunctionDef),
    *(ast.With, ast.Match, ast.Delete),
)
_EXPRESSIONS = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Call, ast.keyword),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List),
    *(ast.Lambda, ast.Dict, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.Starred),
    ast.NamedExpr,
)
_WORDS: dict[type[ast.AST], tuple[str, str | None]] = {
    ast.AsyncFunctionDef: ("an async function", "a plain `def`"),
    ast.Await: ("`await`", None),
    ast.AsyncFor: ("`async for`", None),
    ast.AsyncWith: ("`async with`", None),
    ast.ClassDef: ("a class", "plain functions"),
    ast.Try: ("`try`", "an `if` that asks first: what raises here ends the check"),
    ast.Import: ("an import inside a function", "imports at the top of the cell"),
    ast.ImportFrom: ("an import inside a function", "imports at the top of the cell"),
    ast.Global: ("`global`", "pass it as an argument"),
    ast.Nonlocal: ("`nonlocal`", "pass it as an argument"),
    ast.NamedExpr: ("`:=` outside a function", "an assignment on a line of its own"),
    ast.SetComp: ("a comprehension", "a `for` loop"),
    ast.Yield: ("`yield`", "`return`"),
    ast.YieldFrom: ("`yield`", "`return`"),
    ast.Set: ("a set", "a tuple"),
    ast.JoinedStr: ("an f-string with a format outside an `assert` or `raise`", "it without one"),
}
if hasattr(ast, "TryStar"):
    _WORDS[ast.TryStar] = _WORDS[ast.Try]

_CONSTANTS = (int, float, bool, str, type(None), type(Ellipsis))


def admit(function: ast.FunctionDef, scope: Mapping[str, Any]) -> None:
    """Holds a launcher, and every helper function that it names, against the positive list.

    Raises:
        KernelFault: REJECTED, with the line of the first construct that is not listed.
    """
    try:
        _Admission(scope).function(function, frozenset())
    except RecursionError:
        raise rejected(function, "launcher_recursion", name=function.name) from None


def admit_expression(node: ast.expr, scope: Mapping[str, Any]) -> None:
    """Holds an expression of the cell's top level against the launcher's list.

    Raises:
        KernelFault: REJECTED, with the line of the first construct that is not listed.
    """
    _Admission(scope).expression(node)


def admit_value(function: ast.Lambda, scope: Mapping[str, Any]) -> None:
    """Holds a lambda of one parameter against the list, less what makes, launches or repeats.

    Raises:
        KernelFault: REJECTED, with the line of the first construct that is not listed.
    """
    arguments = function.args
    if len(arguments.args) != 1 or arguments.kwonlyargs or arguments.defaults:
        raise _foreign(function, f"`{text(function)}`", "a lambda of one parameter")
    try:
        _Value(scope).function_of_one(function)
    except RecursionError:
        raise _foreign(function, f"`{text(function)}`", "a shorter one") from None


class _Admission:
    def __init__(self, scope: Mapping[str, Any]) -> None:
        self.scope = scope
        self.seen: set[int] = set()
        self.local: frozenset[str] = frozenset()

    def function(self, node: ast.FunctionDef, outer: frozenset[str]) -> None:
        """One function: its head, then its body with its own names."""
        if id(node) in self.seen:
            return
        self.seen.add(id(node))
        for decorator in node.decorator_list:
            if text(getattr(decorator, "func", decorator)) not in gpu.NO_GRADIENTS:
                raise _foreign(decorator, "a decorator on a launcher", "a plain `def`")
        if getattr(node, "type_params", None):
            raise _foreign(node, "a type parameter", "leave it out")
        self._plain(node, node.name)
        _annotation(node.returns)
        self._arguments(node.args)
        before = self.local
        self.local = outer | locals_of(node)
        for statement in node.body:
            self.statement(statement)
        self.local = before

    def _arguments(self, arguments: ast.arguments) -> None:
        if arguments.posonlyargs:
            raise _foreign(arguments.posonlyargs[0], "`/` among the parameters", "plain names")
        for argument in _parameters(arguments):
            self._plain(argument, argument.arg)
            _annotation(argument.annotation)
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None and not is_literal(default) and not self._is_dtype(default):
                raise _foreign(
                    default, f"the default `{text(default)}`", "a number, or no default at all"
                )

    def _is_dtype(self, node: ast.expr) -> bool:
        """``torch.float16``, where `torch` is the module."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return False
        owner = self.scope.get(node.value.id)
        found = member(owner.path, node.attr) if isinstance(owner, Ref) else MISSING
        return isinstance(found, torch.dtype | tl.dtype)

    def _plain(self, node: ast.AST, name: str) -> None:
        if name.startswith("__"):
            raise rejected(node, "launcher_name", name=name)

    # ------------------------------------------------------------ statements

    def statement(self, node: ast.stmt) -> None:
        """One statement and what stands in it."""
        if not isinstance(node, _STATEMENTS):
            raise _unlisted(node)
        if isinstance(node, ast.FunctionDef):
            self.function(node, self.local)
        elif isinstance(node, ast.With):
            self._with(node)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            self._assignment(node)
        elif isinstance(node, ast.Assert):
            self.expression(node.test)
            self.message(node.msg)
        elif isinstance(node, ast.Raise):
            self._raise(node)
        elif isinstance(node, ast.Match):
            self._match(node)
        elif isinstance(node, ast.Delete):
            if not all(isinstance(target, ast.Name) for target in node.targets):
                raise _foreign(node, f"`{text(node)}`", "leave it out")
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.stmt):
                    self.statement(child)
                elif isinstance(node, ast.For) and child is node.target:
                    self.target(node.target)
                elif isinstance(child, ast.expr):
                    self.expression(child)

    def _with(self, node: ast.With) -> None:
        for item in node.items:
            call = item.context_expr
            found = self.expression(call.func) if isinstance(call, ast.Call) else None
            listed = isinstance(found, Ref) and found.path in gpu.CONTEXTS
            if not listed or item.optional_vars is not None:
                raise _foreign(node, f"`with {text(call)}`", "launch without it")
            self.expression(call)
        for statement in node.body:
            self.statement(statement)

    def _match(self, node: ast.Match) -> None:
        self.expression(node.subject)
        for case in node.cases:
            self._pattern(case.pattern)
            if case.guard is not None:
                self.expression(case.guard)
            for statement in case.body:
                self.statement(statement)

    def _pattern(self, node: ast.pattern) -> None:
        """What stands behind a `case`: numbers, texts, tuples of them, and names."""
        if isinstance(node, ast.MatchValue):
            self.expression(node.value)
        elif isinstance(node, ast.MatchOr | ast.MatchSequence):
            for one in node.patterns:
                self._pattern(one)
        elif isinstance(node, ast.MatchAs):
            self._plain(node, node.name or "")
            if node.pattern is not None:
                self._pattern(node.pattern)
        elif not isinstance(node, ast.MatchSingleton):
            raise _foreign(node, f"`case {text(node)}`", "an `if`")

    def _assignment(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> None:
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            self.target(target)
        if isinstance(node, ast.AnnAssign):
            _annotation(node.annotation)
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.MatMult):
            raise _computes(node)
        if node.value is not None:
            self.expression(node.value)

    def target(self, node: ast.expr) -> None:
        """What is assigned to: names alone."""
        if isinstance(node, ast.Tuple | ast.List):
            for item in node.elts:
                self.target(item.value if isinstance(item, ast.Starred) else item)
        elif isinstance(node, ast.Name):
            self._plain(node, node.id)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            self._own(node, node.value)
            self.expression(node)  # of a dict; where it is a tensor's, the walk refuses it
        elif isinstance(node, ast.Subscript):
            raise _computes(node, "a store in the kernel")
        elif isinstance(node, ast.Attribute):
            raise _foreign(node, f"`{text(node)} = ...`", "a variable")
        else:
            raise _unlisted(node)

    def _raise(self, node: ast.Raise) -> None:
        if node.cause is not None or node.exc is None:
            raise _foreign(node, f"`{text(node)}`", '`raise ValueError("why")`')
        call = node.exc
        name = call.func if isinstance(call, ast.Call) else call
        if not isinstance(name, ast.Name) or name.id not in EXCEPTIONS or name.id in self.local:
            raise _foreign(node, f"`{text(node)}`", '`raise ValueError("why")`')
        if isinstance(call, ast.Call):
            if len(call.args) > 1 or call.keywords:
                raise _foreign(node, f"`{text(node)}`", '`raise ValueError("why")`')
            for argument in call.args:
                self.message(argument)

    def message(self, node: ast.expr | None) -> None:
        """The text of an assert, a raise or a print: f-strings may stand here."""
        if isinstance(node, ast.JoinedStr):
            self._joined(node)
        elif node is not None:
            self.expression(node)

    # ------------------------------------------------------------ expressions

    def _joined(self, node: ast.JoinedStr) -> None:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):  # its format is left out of a message
                self.expression(part.value)

    def expression(self, node: ast.AST) -> Any:
        """One expression and what stands in it; what it stands for, where that is known."""
        if isinstance(node, ast.JoinedStr) and not formats(node):
            return self._joined(node)
        if not isinstance(node, _EXPRESSIONS):
            raise _unlisted(node)
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, _CONSTANTS):
                raise _foreign(node, f"`{text(node)}`", "numbers and text")
        elif isinstance(node, ast.Name):
            return self.name(node)
        elif isinstance(node, ast.Attribute):
            return self.attribute(node)
        elif isinstance(node, ast.Lambda):
            self._lambda(node)
        elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            self._comprehension(node)
        elif isinstance(node, ast.NamedExpr) and node.target.id not in self.local:
            raise _unlisted(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            raise _computes(node)
        elif isinstance(node, ast.Call):
            self._call(node)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Set) and isinstance(node, ast.Compare):
                    self._looked_into(node, child)
                elif isinstance(child, ast.expr):
                    self.expression(child)
        return None

    def _looked_into(self, node: ast.Compare, several: ast.Set) -> None:
        """``x in {16, 32}``: a set holds what is looked for, and is nothing else here."""
        pairs = zip(node.ops, node.comparators, strict=True)
        if not any(side is several and isinstance(op, ast.In | ast.NotIn) for op, side in pairs):
            raise _unlisted(several)
        for item in several.elts:
            self.expression(item)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> None:
        before = self.local
        for generator in node.generators:
            self.expression(generator.iter)
            self.target(generator.target)
            bound = {n.id for n in nodes(generator.target, ast.Name)}
            self.local = self.local | bound
            for condition in generator.ifs:
                self.expression(condition)
            if generator.is_async:
                raise _foreign(node, "`async for`", "a plain `for`")
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        for part in parts:
            self.expression(part)
        self.local = before

    def _lambda(self, node: ast.Lambda) -> None:
        self._arguments(node.args)
        for part in nodes(node.body, ast.NamedExpr):  # a name of the lambda's own
            raise _foreign(part, "`:=` in a lambda", "a `def`")
        before = self.local
        own = {a.arg for a in _parameters(node.args)}
        self.local = before | own
        self.expression(node.body)
        self.local = before

    def _call(self, node: ast.Call) -> None:
        self.expression(node.func)
        prints = isinstance(node.func, ast.Name) and node.func.id == "print"
        for argument in node.args:
            (self.message if prints else self.expression)(argument)
        for keyword in node.keywords:
            if keyword.arg is not None:
                self._plain(keyword.value, keyword.arg)
            self.expression(keyword.value)

    def name(self, node: ast.Name) -> Any:
        """What a name stands for where that is known before the launch, else None."""
        if node.id in self.local:
            self._plain(node, node.id)
            return None
        found = resolve(self.scope, node, node.id)
        if isinstance(found, ast.FunctionDef):
            before, self.local = self.local, frozenset()
            self.function(found, frozenset())
            self.local = before
        return found

    def attribute(self, node: ast.Attribute) -> Any:
        """What an attribute stands for where that is known, else None."""
        if node.attr.startswith("_"):
            raise rejected(node, "launcher_attribute", name=text(node))
        owner: Any = None
        if isinstance(node.value, ast.Name):
            owner = self.name(node.value)
        elif isinstance(node.value, ast.Attribute):
            path = _dotted(node)
            root = path.partition(".")[0]
            if root and root not in self.local and isinstance(resolve(self.scope, node, root), Ref):
                return self._member(node, path, root)
            owner = self.attribute(node.value)
        else:
            self.expression(node.value)
        if isinstance(owner, Ref):
            found = member(owner.path, node.attr)
            if found is MISSING:
                raise refused_member(node, f"{owner.path}.{node.attr}")
            return found
        if is_kernel(owner) and node.attr == "run":
            return None
        if is_kernel(owner):
            launching = f"`{text(node.value)}[grid](...)`"
            raise rejected(node, "launcher_attribute", name=text(node), instead=launching)
        if self._of_its_own(node):
            return None
        if node.attr not in ATTRIBUTES:
            raise refused_attribute(node, node.attr)
        if node.attr in CHANGES:
            self._own(node, node.value)
        return None

    def _own(self, node: ast.AST, owner: ast.expr) -> None:
        """What changes is the function's own: nothing is kept from one call to the next."""
        if isinstance(owner, ast.Name) and owner.id not in self.local:
            raise rejected(node, "launcher_keeps", construct=text(node))

    def _of_its_own(self, node: ast.Attribute) -> bool:
        """``torch.finfo(x.dtype).min``, ``x.device.type``: not what a tensor's method is called."""
        if isinstance(node.value, ast.Call):
            owner = self.expression(node.value.func)
            path = owner.path if isinstance(owner, Ref) else ""
        else:
            path = node.value.attr if isinstance(node.value, ast.Attribute) else ""
        return node.attr in OF_THEIR_OWN.get(path, ())

    def _member(self, node: ast.Attribute, path: str, root: str) -> Any:
        """A dotted path that begins with a module: every step of it is listed."""
        value: Any = resolve(self.scope, node, root)
        names = path.split(".")[1:]
        for place, name in enumerate(names):
            if isinstance(value, Ref):
                found = member(value.path, name)
                if found is MISSING:
                    raise refused_member(node, ".".join([value.path, *names[place:]]))
                value = found
            elif name not in ATTRIBUTES:
                raise refused_attribute(node, name)
            else:
                value = None
        return value


class _Value(_Admission):
    """An expression without effects: no function of the cell, no kernel, no new tensor."""

    def function_of_one(self, node: ast.Lambda) -> None:
        """The lambda itself; none stands in it."""
        super()._lambda(node)

    def _lambda(self, node: ast.Lambda) -> None:
        raise _foreign(node, f"`{text(node)}`", "its value, written out")

    def name(self, node: ast.Name) -> Any:
        return self._computes(node, super().name(node))

    def attribute(self, node: ast.Attribute) -> Any:
        if node.attr in NEW_TENSORS:
            raise _foreign(node, f"`{text(node)}`", "a number")
        return self._computes(node, super().attribute(node))

    def _computes(self, node: ast.expr, found: Any) -> Any:
        makes = isinstance(found, Ref) and found.path.startswith(
            (*ALLOCATIONS, DESCRIPTOR, ALLOCATOR)
        )
        if makes or is_kernel(found) or isinstance(found, ast.FunctionDef):
            raise _foreign(node, f"`{text(node)}`", "a number")
        return found


def formats(node: ast.JoinedStr) -> bool:
    """Whether an f-string says how a value is to be written: ``f'{n:>3}'``."""
    return any(
        isinstance(part, ast.FormattedValue) and (part.format_spec or part.conversion != -1)
        for part in node.values
    )


def _dotted(node: ast.expr) -> str:
    """``torch.nn.functional.softmax`` of a chain of attributes, '' of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def is_literal(node: ast.expr) -> bool:
    """Whether a default is a number, text, True, False or None as written."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return isinstance(node.operand, ast.Constant) and isinstance(
            node.operand.value, int | float
        )
    return isinstance(node, ast.Constant) and isinstance(node.value, _CONSTANTS[:-1])


def locals_of(node: ast.FunctionDef) -> frozenset[str]:
    """The names that a function binds: its parameters and what it assigns."""
    found = {a.arg for a in _parameters(node.args)}
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        item = waiting.pop()
        if isinstance(item, ast.comprehension):  # its names end with it
            waiting += [item.iter, *item.ifs]
            continue
        if isinstance(item, ast.FunctionDef):
            found.add(item.name)
            continue
        if isinstance(item, ast.Lambda):
            continue
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store | ast.Del):
            found.add(item.id)
        if isinstance(item, ast.MatchAs) and item.name is not None:
            found.add(item.name)
        waiting.extend(ast.iter_child_nodes(item))
    return frozenset(found)


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    more = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.args, *arguments.kwonlyargs, *more]


def _annotation(annotation: ast.expr | None) -> None:
    if annotation is not None and not names_a_type(annotation):
        raise _foreign(
            annotation, f"the annotation `{text(annotation)}`", "name a type, or leave it out"
        )


def _unlisted(node: ast.AST) -> Exception:
    construct, instead = _WORDS.get(type(node), (f"`{text(node)}`", None))
    return rejected(node, "launcher_syntax", construct=construct, instead=instead)


def _foreign(node: ast.AST, construct: str, instead: str) -> Exception:
    return rejected(node, "launcher_syntax", construct=construct, instead=instead)


def _computes(node: ast.AST, instead: str | None = None) -> Exception:
    return rejected(node, "launcher_computes", construct=text(node), instead=instead)
