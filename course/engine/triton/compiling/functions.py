"""A `@triton.jit` function as it is read here: its tree, its names, its place in a file."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar

from triton.runtime.jit import JITFunction

from course.plain.trees import walk

#: What loads a block, by the last part of its name.
_LOADS = ("load", "gather", "load_tensor_descriptor")

_Answer = TypeVar("_Answer")


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
    #: what was asked of it before, by the question's name
    answers: dict[str, Any] = field(default_factory=dict)
    _assigned: dict[ast.stmt, frozenset[str]] = field(default_factory=dict)

    @property
    def nodes(self) -> Iterator[ast.AST]:
        """All of the tree's, statement by statement."""
        return (node for statement in self.body for node in walk(statement))

    def assigned(self, statement: ast.stmt) -> frozenset[str]:
        """Names that a statement and what stands under it may assign."""
        found = self._assigned.get(statement)
        if found is None:
            found = self._assigned[statement] = frozenset(
                node.id
                for node in walk(statement)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            )
        return found

    @cached_property
    def functions(self) -> tuple[Any, ...]:
        """The jitted functions that it names, in the order of their names in the tree."""
        named = (self.scope.get(node.id) for node in self.nodes if isinstance(node, ast.Name))
        # by identity: Triton hashes a function by its key, which may be refused
        return tuple({id(one): one for one in named if isinstance(one, JITFunction)}.values())

    @cached_property
    def loads_and_loops(self) -> frozenset[int]:
        """The lines of each, but of loops that are unrolled."""
        return frozenset(
            node.lineno
            for node in self.nodes
            if isinstance(node, ast.While)
            or (isinstance(node, ast.For) and _called(node.iter, self) != "static_range")
            or (isinstance(node, ast.Call) and _called(node, self) in _LOADS)
        )

    @cached_property
    def lines(self) -> tuple[int, ...]:
        """Where its `def` and what is in it stand, in the tree's order."""
        inside = (node.lineno for node in self.nodes if isinstance(node, ast.stmt | ast.expr))
        return (self.first_line, *inside)


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


def _first_line(function: Any) -> int:
    """The line of the `def`, below its decorators."""
    for number, line in enumerate(function.raw_src):
        if line.lstrip().startswith("def "):
            return int(function.starting_line_number) + number
    return int(function.starting_line_number)


def asked_once(ask: Callable[[Any], _Answer]) -> Callable[[Any], _Answer]:
    """A question about a function, whose answer stays with its code: launches ask it each time."""

    @wraps(ask)
    def answer(function: Any) -> _Answer:
        answers = code_of(function).answers
        if ask.__name__ not in answers:
            answers[ask.__name__] = ask(function)
        found: _Answer = answers[ask.__name__]
        return found

    return answer


def base_function(kernel: Any) -> Any:
    """The jitted function under autotune and heuristics wrappers."""
    while not isinstance(kernel, JITFunction) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


@asked_once
def names_used(function: Any) -> frozenset[str]:
    """Every name and attribute in a function and in the jitted functions that it calls."""
    found: set[str] = set()
    for one in _reached(function):
        code = code_of(one)
        for node in code.nodes:
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Name):
                found.add(node.id)
                called = code.scope.get(node.id)
                if called is not None:  # from triton.language import atomic_add as add
                    found.add(str(getattr(called, "__name__", node.id)))
    return frozenset(found)


def lines_of_all(function: Any) -> list[tuple[int, ...]]:
    """Where it stands, and the learner's functions that it names: what its faults' lines are."""
    return [code_of(one).lines for one in own_functions(function)]


def loads_and_loops(function: Any) -> set[tuple[str, int]]:
    """(file, line) of each, as the compiler calls them, in it and the learner's that it names."""
    return {
        (one.fn.__code__.co_filename, line)
        for one in own_functions(function)
        for line in code_of(one).loads_and_loops
    }


def _called(node: ast.AST, code: Code) -> str:
    """The last name of what a node calls."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Name):  # from triton.language import load
        return str(getattr(code.scope.get(node.func.id), "__name__", node.func.id))
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def is_assigned(function: Any, name: str) -> bool:
    """Whether it, or a function of the learner's that it names, gives a value to a name."""
    codes = map(code_of, own_functions(function))
    return any(name in code.assigned(node) for code in codes for node in code.body)


def own_files(function: Any) -> dict[str, str]:
    """The learner's files: as the compiler calls them, and as `linecache` does."""
    functions = own_functions(function)
    return {one.fn.__code__.co_filename: code_of(one).filename for one in functions}


def called_at(function: Any, filename: str, line: int) -> str:
    """The name of the function in which a line stands, of those that a kernel calls, or ""."""
    for one in own_functions(function)[1:]:
        code = code_of(one)
        if code.filename == filename and code.first_line <= line <= max(code.lines):
            return str(one.__name__)
    return ""


def _reached(function: Any) -> list[Any]:
    """It and the jitted functions that it or a function of the learner's names, each once."""
    found: dict[int, Any] = {}
    left = [function]
    while left:
        one = left.pop()
        if id(one) not in found:
            found[id(one)] = one
            code = code_of(one)
            left += code.functions[::-1] if code.own else ()
    return list(found.values())


def own_functions(function: Any) -> list[Any]:
    """It and the learner's functions that it names."""
    return [one for one in _reached(function) if code_of(one).own]


@asked_once
def looks_at_atomics(function: Any) -> bool:
    """Whether it, or a jitted function that it calls, may use what an atomic found."""
    return any(_looks_at_atomics(code_of(one)) for one in own_functions(function))


def _looks_at_atomics(code: Code) -> bool:
    unused = {
        node.value.func
        for node in code.nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    }
    for node in code.nodes:
        if isinstance(node, ast.Name):
            name = str(getattr(code.scope.get(node.id), "__name__", ""))
        else:
            name = node.attr if isinstance(node, ast.Attribute) else ""
        if name.startswith("atomic_") and node not in unused:
            return True
    return False


@asked_once
def written_parameters(function: Any) -> set[str]:
    """Parameters whose tensors may be stored to: all that a written pointer may come from.

    A conservative reading: what flows into the pointer of a store or atomic, through any
    assignment, and everything that is passed on to a function that writes.
    """
    return _written_parameters(function, writes)


@asked_once
def updated_parameters(function: Any) -> set[str]:
    """Parameters whose tensors may be updated by an atomic, read in the same way."""
    return _written_parameters(function, lambda name: name.startswith("atomic_"))


def _written_parameters(function: Any, by: Callable[[str], bool]) -> set[str]:
    code = code_of(function)
    flows: dict[str, set[str]] = {}
    targets: set[str] = set()
    for node in code.nodes:
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
        first = call.args[:1] + [k.value for k in call.keywords if k.arg in _WHERE]
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
_WHERE = ("pointer", "tensor_desc")
#: The last ones are Gluon's, by TMA.
_WRITE = frozenset(
    {
        *("store", "store_tensor_descriptor", "scatter"),
        *("async_copy_shared_to_global", "async_store", "async_scatter"),
    }
)


def writes(name: str) -> bool:
    """Whether a function of Triton's with this name writes to memory."""
    return name in _WRITE or name.startswith(("atomic_", "async_atomic_"))


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}
