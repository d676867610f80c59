"""Shared memory that threads have stored and that TMA or an MMA reads, with no fence between.

The two are different proxies: without `fence_async_shared()` the reader may find what stood there
before. Newer Tritons put the fence in themselves, so that the kernel is right with them alone.
Read from the text, in the order of its lines; a loop is gone through twice, since what its last
lines have stored its first lines may read. A call of another function of the cell may hold the
fence: what was stored before it is let go of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from course.check.kernel_text import Cause, path_of

#: What reads shared memory behind the threads' back, and the places of those operands.
READERS = {
    "async_copy_shared_to_global": (2,),
    "async_store": (2,),  # as Triton 3.8 calls the first
    "warpgroup_mma": (0, 1),
    "tcgen05_mma": (0, 1),
    "tcgen05_mma_scaled": (0, 1),
}
#: ... and what such an operand is called, where it is given by its name.
_NAMES = ("src", "a", "b")
_FENCE = "fence_async_shared"
#: Loops in so many others are gone through twice; twice in each would never end.
DEEPEST_TWICE = 3
#: Names that are followed to the allocation that they are a part of.
_PARTS = ("index", "slice")


def unfenced(tree: ast.Module) -> Iterator[Cause]:
    """A note for each read of what was stored since the last fence."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    names = {function.name for function in functions}
    for function in functions:
        yield from _Walk(names).block(function.body)


class _Walk:
    """One function, line by line.

    Attributes:
        stored: buffers that were stored to since the last fence, each with the line.
        wholes: names of parts of a buffer, each with the buffer's.
    """

    def __init__(self, functions: set[str]) -> None:
        self.functions = functions
        self.depth = 0
        self.stored: dict[str, int] = {}
        self.wholes: dict[str, str] = {}

    def block(self, statements: list[ast.stmt]) -> Iterator[Cause]:
        for statement in statements:
            yield from self._statement(statement)

    def _statement(self, node: ast.stmt) -> Iterator[Cause]:
        if isinstance(node, ast.For | ast.While):
            self.depth += 1
            for _ in range(2 if self.depth <= DEEPEST_TWICE else 1):
                yield from self.block(node.body)
            self.depth -= 1
        elif isinstance(node, ast.If):
            before: dict[str, int] = dict(self.stored)
            after: dict[str, int] = {}
            for side in (node.body, node.orelse):
                self.stored = dict(before)
                yield from self.block(side)
                fenced = before.keys() - self.stored.keys()
                before = {name: line for name, line in before.items() if name not in fenced}
                after = {k: v for k, v in after.items() if k not in fenced} | self.stored
            self.stored = after
        else:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._named(node.targets[0].id, node.value)
            for call in _calls(node):
                yield from self._call(call)

    def _named(self, name: str, value: ast.expr) -> None:
        self.stored.pop(name, None)
        whole = self._buffer(value)
        if whole:
            self.wholes[name] = whole
        else:
            self.wholes.pop(name, None)
        if isinstance(value, ast.Call) and _last(value) == "allocate_shared_memory":
            if len(value.args) > 3 or any(given.arg == "value" for given in value.keywords):
                self.stored[name] = value.lineno

    def _call(self, call: ast.Call) -> Iterator[Cause]:
        name = _last(call)
        if name == _FENCE or path_of(call.func) in self.functions:
            self.stored.clear()
        elif name == "store" and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
            buffer = self._buffer(call.func.value)
            if buffer:
                self.stored[buffer] = call.lineno
        for operand in _read(call, READERS.get(name, ())):
            buffer = self._buffer(operand)
            if buffer in self.stored:
                fields: dict[str, object] = {"line": call.lineno, "reader": name}
                yield "note_fence", fields | {"stored": self.stored[buffer], "name": buffer}

    def _buffer(self, node: ast.expr) -> str:
        """The name of the buffer that an expression is, or is a part of; '' of anything else."""
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in _PARTS:
                return ""
            node = node.func.value
        return self.wholes.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def _last(call: ast.Call) -> str:
    return path_of(call.func).rpartition(".")[2] or getattr(call.func, "attr", "")


def _read(call: ast.Call, places: tuple[int, ...]) -> list[ast.expr]:
    given = [call.args[place] for place in places if place < len(call.args)]
    named = [keyword.value for keyword in call.keywords if keyword.arg in _NAMES]
    return given + named if places else []


def _calls(node: ast.AST) -> list[ast.Call]:
    """The calls of a statement, in the order in which they are made."""
    found = [call for child in ast.iter_child_nodes(node) for call in _calls(child)]
    return [*found, node] if isinstance(node, ast.Call) else found
