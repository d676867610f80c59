"""A `@triton.jit` function as the walker reads it: its tree, its names, its place in a file."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import triton.language as tl
from triton.runtime.jit import JITFunction

#: No name: stands for a call.
_CALL = "()"


@dataclass
class Code:
    """What stands in a function's source.

    Attributes:
        body: its statements; their lines are the file's or the cell's.
        first_line: the line of its `def`.
        lines_before: lines of the file before the first one that Triton counts.
        own: whether the learner wrote it, and not Triton.
        filename: of the file or cell that it stands in.
    """

    source: str
    body: list[ast.stmt]
    first_line: int
    own: bool
    scope: dict[str, Any]
    filename: str
    lines_before: int = 0
    _assigned: dict[ast.stmt, frozenset[str]] = field(default_factory=dict)

    def assigned(self, statement: ast.stmt) -> frozenset[str]:
        """Names that a statement and what stands under it may assign."""
        found = self._assigned.get(statement)
        if found is None:
            found = self._assigned[statement] = frozenset(
                node.id
                for node in ast.walk(statement)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            )
        return found

    @cached_property
    def lines(self) -> tuple[int, ...]:
        """Where its `def` and what is in it stand, in the tree's order."""
        every = (node for statement in self.body for node in ast.walk(statement))
        inside = (node.lineno for node in every if isinstance(node, ast.stmt | ast.expr))
        return (self.first_line, *inside)

    @cached_property
    def reads(self) -> Counter[str]:
        """How often each name is read."""
        every = (node for statement in self.body for node in ast.walk(statement))
        names = (node for node in every if isinstance(node, ast.Name))
        return Counter(name.id for name in names if isinstance(name.ctx, ast.Load))

    @cached_property
    def products(self) -> dict[ast.expr, int]:
        """How often the text of each product stands in it, of those that stand more than once."""
        every = (node for statement in self.body for node in ast.walk(statement))
        written = {
            node: ast.unparse(node)
            for node in every
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
        }
        often = Counter(written.values())
        return {node: often[text] for node, text in written.items() if often[text] > 1}

    @cached_property
    def returning(self) -> frozenset[ast.If]:
        """Each `if` with a `return` under it."""
        every = (node for statement in self.body for node in ast.walk(statement))
        return frozenset(
            node
            for node in every
            if isinstance(node, ast.If) and any(isinstance(n, ast.Return) for n in ast.walk(node))
        )

    @cached_property
    def early_returns(self) -> list[set[str]]:
        """What each of them asks for: names, and _CALL where it calls something."""
        return [
            _names(node.test) | {_CALL for n in ast.walk(node.test) if isinstance(n, ast.Call)}
            for node in self.returning
        ]


def code_of(function: Any) -> Code:
    """The code of a jitted function, read once."""
    found = function.__dict__.get("_course_code")
    if found is None or found.source != function.src:
        before = _first_line(function) - 1
        tree = ast.increment_lineno(function.parse(), before)
        keep_code(function, tree, str(function.fn.__code__.co_filename), before)
        return code_of(function)
    return found


def keep_code(function: Any, tree: ast.Module, filename: str, lines_before: int = 0) -> None:
    """Leaves a jitted function's code with it: the tree as it stands in a file."""
    node = tree.body[0]
    assert isinstance(node, ast.FunctionDef)
    module = str(getattr(function, "__module__", "") or "")
    function.__dict__["_course_code"] = Code(
        source=function.src,
        body=node.body,
        first_line=node.lineno,
        own=not module.startswith("triton."),
        scope=function.get_capture_scope(),
        filename=filename,
        lines_before=lines_before,
    )


def stays_a_call(function: Any, constants: Collection[str] = ()) -> bool:
    """Whether the compiler leaves calls of it in the code, and moves no load across one.

    That is so where it is asked to, and for a `return` under an `if` on what is no constant.

    Args:
        constants: parameters that a call gives constants, besides those annotated `tl.constexpr`.
    """
    code = code_of(function)
    if function.noinline or not code.own:
        return bool(function.noinline)
    constants = {p.name for p in function.params if p.is_constexpr}.union(constants)
    unknown = {p.name for p in function.params}.union(*map(code.assigned, code.body)) - constants
    return any(names & {*unknown, _CALL} for names in code.early_returns)


def _first_line(function: Any) -> int:
    """The line of the `def`, below its decorators."""
    for number, line in enumerate(function.raw_src):
        if line.lstrip().startswith("def "):
            return int(function.starting_line_number) + number
    return int(function.starting_line_number)


def base_function(kernel: Any) -> Any:
    """The jitted function under autotune and heuristics wrappers."""
    while not isinstance(kernel, JITFunction) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


def allowed_global(value: Any) -> bool:
    """Whether a kernel may use a global: modules, Triton's own things, constants of `constexpr`."""
    if value is None or isinstance(value, ModuleType | tl.constexpr | tl.dtype | JITFunction):
        return True
    if getattr(value, "__triton_builtin__", False) or getattr(value, "__triton_aggregate__", False):
        return True
    if is_constexpr_function(value) or type(value).__name__ == "BoundConstexprFunction":
        return True
    if str(getattr(value, "__module__", "")).startswith("triton.language"):
        return True
    return is_namedtuple(value)


def is_constexpr_function(value: Any) -> bool:
    """Whether Triton calls it with constants, while it compiles."""
    named = any(kind.__name__ == "ConstexprFunction" for kind in type(value).__mro__)
    return named or hasattr(value, "__triton_constexpr_function__")


def is_namedtuple(value: Any) -> bool:
    """Whether it is a class of tuples with names."""
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


class _Stores(ast.NodeVisitor):
    """Names of calls that write: does a function store, update, or lock?"""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.names.add(node.attr)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self.names.add(node.id)


def names_used(function: Any, seen: set[int] | None = None) -> set[str]:
    """Every name and attribute in a function and in the jitted functions that it calls."""
    seen = set() if seen is None else seen
    if id(function) in seen:
        return set()
    seen.add(id(function))
    code = code_of(function)
    visitor = _Stores()
    for statement in code.body:
        visitor.visit(statement)
    names = set(visitor.names)
    for name in visitor.names:
        called = code.scope.get(name)
        if isinstance(called, JITFunction) and code.own:
            names |= names_used(called, seen)
        elif called is not None:  # from triton.language import atomic_add as add
            names.add(str(getattr(called, "__name__", name)))
    return names


def lines_of_all(function: Any) -> list[tuple[int, ...]]:
    """Where it stands, and the learner's functions that it names: what its faults' lines are."""
    return [code_of(one).lines for one in _own_functions(function, set())]


def own_files(function: Any) -> dict[str, str]:
    """The learner's files: as the compiler calls them, and as `linecache` does."""
    functions = _own_functions(function, set())
    return {one.fn.__code__.co_filename: code_of(one).filename for one in functions}


def _own_functions(function: Any, seen: set[int]) -> list[Any]:
    """It and the learner's functions that it names."""
    code = code_of(function)
    if id(function) in seen or not code.own:
        return []
    seen.add(id(function))
    found = [function]
    nodes = (node for statement in code.body for node in ast.walk(statement))
    for name in {node.id: None for node in nodes if isinstance(node, ast.Name)}:
        called = code.scope.get(name)
        if isinstance(called, JITFunction):
            found += _own_functions(called, seen)
    return found


def looks_at_atomics(function: Any, seen: set[int] | None = None) -> bool:
    """Whether it, or a jitted function that it calls, may use what an atomic found."""
    seen = set() if seen is None else seen
    code = code_of(function)
    if id(function) in seen or not code.own:
        return False
    seen.add(id(function))
    nodes = [node for statement in code.body for node in ast.walk(statement)]
    unused = {
        node.value.func
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    }
    for node in nodes:
        if isinstance(node, ast.Name):
            called = code.scope.get(node.id)
            if isinstance(called, JITFunction) and looks_at_atomics(called, seen):
                return True
            name = str(getattr(called, "__name__", ""))
        else:
            name = node.attr if isinstance(node, ast.Attribute) else ""
        if name.startswith("atomic_") and node not in unused:
            return True
    return False


def written_parameters(function: Any, by: Callable[[str], bool] | None = None) -> set[str]:
    """Parameters whose tensors may be stored to: all that a written pointer may come from.

    A conservative reading: what flows into the pointer of a store or atomic, through any
    assignment, and everything that is passed on to a function that writes.

    Args:
        by: which of Triton's functions count as writing, by their names; all of them unless told.
    """
    by = by or writes
    code = code_of(function)
    flows: dict[str, set[str]] = {}
    targets: set[str] = set()
    for statement in code.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value:
                left = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in left:
                    for name in _names(target):
                        flows.setdefault(name, set()).update(_names(node.value))
            elif isinstance(node, ast.For):
                for name in _names(node.target):
                    flows.setdefault(name, set()).update(_names(node.iter))
            elif isinstance(node, ast.Call):
                targets |= _written_by(node, code.scope, by)
    while True:
        more = set().union(*(flows.get(name, set()) for name in targets)) - targets
        if not more:
            return targets
        targets |= more


def _written_by(call: ast.Call, scope: dict[str, Any], writes: Callable[[str], bool]) -> set[str]:
    """Names that a call may write through."""
    function = call.func
    if isinstance(function, ast.Attribute) and writes(function.attr):
        first = call.args[:1] + [k.value for k in call.keywords if k.arg == "pointer"]
        return set().union(_names(function.value), *(_names(a) for a in first))
    passed = [*call.args, *(k.value for k in call.keywords)]
    if isinstance(function, ast.Name):
        called = scope.get(function.id)
        if called is None and function.id in dir(builtins):
            return set()
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        called = getattr(scope.get(function.value.id), function.attr, _NOTHING)
    else:
        return set()
    if isinstance(called, JITFunction) and not any(writes(n) for n in names_used(called)):
        return set()
    imported = writes(str(getattr(called, "__name__", "")))  # from triton.language import store
    if called is None or imported or isinstance(called, JITFunction):
        return set().union(set(), *(_names(a) for a in passed))
    return set()


_NOTHING = object()


def writes(name: str) -> bool:
    """Whether a function of Triton's with this name writes to memory."""
    return name in ("store", "store_tensor_descriptor", "scatter") or name.startswith("atomic_")


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
