"""Where the source of a learner's function or answers comes from: the whole cell.

In a notebook that is the cell as it was run. In an ordinary file it is the function with what
it uses, every other line left blank, so that line numbers stay those of the file.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from course.engine.faults import KernelFault, does_not_compile, rejected
from course.plain.text import lines_of, odd_character, with_plain_ends
from course.plain.trees import nodes, walk

_COMMANDS = ("%", "!", "?")
_THOUSANDS = re.compile(r"\b\d{1,3}(?:,\d{3})+\b")
_READ_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)


def function_source(function: Any) -> str:
    """The source of the cell that defines a plain Python function, or '' where there is none."""
    code = inspect.unwrap(function).__code__
    if not is_cell(code.co_filename):
        linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename))
    if is_cell(code.co_filename):  # where a command runs the cell, it has no text of its own
        # from Python 3.13 on, what `python -c` was given has the name of whatever `exec` made
        return latest_cell(function.__name__) or (text if code.co_name.strip("<>") in text else "")
    return used_part(text, function.__name__, code.co_firstlineno) if text else ""


def definition_line(source: str, name: str) -> int | None:
    """The line of a function's `def`, the last one that a cell runs; None for a lambda."""
    try:
        body = ast.parse(source).body
    except _READ_ERRORS:
        return None
    lines = [n.lineno for n in body if isinstance(n, ast.FunctionDef) and n.name == name]
    return lines[-1] if lines else None


def is_cell(filename: str) -> bool:
    """Whether a code object's file name is a notebook's cell (or another typed input)."""
    path = Path(filename)
    if filename.startswith("<") or not path.exists():
        return True
    # a kernel under a debugger writes its cells to files of its own
    folder = path.resolve().parent
    temporary = Path(tempfile.gettempdir()).resolve()
    return folder.name.startswith("ipykernel_") and folder.parent == temporary


def history() -> list[str]:
    """The cells that this session has run, as they were typed, oldest first.

    What IPython makes of a `%%time` or a `!ls` is not what a grader gets. Empty outside IPython.
    """
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if shell is None:
        return []
    return list(shell.history_manager.input_hist_raw)


def latest_cell(name: str) -> str:
    """The newest cell that defines `name` where it is not what ran, else ''.

    What Python cannot read did not run: the function at hand is an older version than what the
    learner sees, and than what would be graded. And of a text with odd line ends IPython keeps
    another one than a grader gets.
    """
    definition = re.compile(rf"^[ \t]*def[ \t]+{re.escape(name)}\b", re.MULTILINE)
    newest = next((cell for cell in reversed(history()) if definition.search(cell)), "")
    if odd_character(with_plain_ends(newest)) is not None:
        return newest
    try:
        ast.parse(newest)
    except _READ_ERRORS:
        return newest
    return ""


def assigning_cell(name: str) -> str:
    """The newest cell of this session that assigns to `name` at its top level, or ''."""
    assignment = re.compile(rf"^{re.escape(name)}[ \t]*(:[^=\n]*)?=[^=]", re.MULTILINE)
    return next((cell for cell in reversed(history()) if assignment.search(cell)), "")


def parsed(source: str) -> ast.Module:
    """The syntax tree of a cell, which nobody changes.

    Raises:
        KernelFault: DOES_NOT_COMPILE or REJECTED; a notebook's command is called by its name.
    """
    from course.engine.cell.source import tree_of

    try:
        return tree_of(source)
    except KernelFault as fault:
        lines = lines_of(source)
        if fault.line is not None and 1 <= fault.line <= len(lines):
            code = lines[fault.line - 1].strip()
            if code.startswith(_COMMANDS):
                command = code.split()[0]
                raise rejected(fault.line, "notebook_command", command=command) from None
            comma = _THOUSANDS.search(code)
            if comma and "dictionary key" in str(fault.fields.get("detail")):
                fields = {"written": comma[0], "whole": comma[0].replace(",", "")}
                raise does_not_compile(fault.line, "thousands", **fields) from None
        raise


def is_starter(tree: ast.AST) -> bool:
    """Whether the starter's marker `...` still stands and no line stores anything."""
    return bool(markers(tree)) and not _stores(tree)


def markers(tree: ast.AST) -> list[ast.Expr]:
    """The statements that are a starter's `...`."""
    return [
        node
        for node in nodes(tree, ast.Expr)
        if isinstance(node.value, ast.Constant) and node.value.value is Ellipsis
    ]


def _stores(tree: ast.AST) -> bool:
    """Whether any line assigns to an element or calls an atomic."""
    for node in walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        if nodes(targets, ast.Subscript):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if ast.unparse(node.func.value).split(".")[-1] == "atomic":
                return True
    return False


def used_part(text: str, name: str, line: int) -> str:
    """A file's text with only the function `name` at `line`, and what it uses, not blank.

    A name that is bound several times is taken where it was bound last before the function.
    """
    try:
        body = ast.parse(text).body
    except _READ_ERRORS:
        return text
    here = (node for node in body if _first_line(node) <= line <= (node.end_lineno or 0))
    start = next(here, None)
    if not isinstance(start, ast.FunctionDef) or start.name != name:
        return text
    kept: dict[int, ast.stmt] = {}
    waiting: list[ast.stmt] = [start]
    while waiting:
        node = waiting.pop()
        if id(node) in kept:
            continue
        kept[id(node)] = node
        for used in sorted({n.id for n in nodes(node, ast.Name)}):
            binding = _binding(body, used, start.lineno)
            if binding is not None:
                waiting.append(binding)
    return _only(text, kept.values())


def _binding(body: list[ast.stmt], name: str, before: int) -> ast.stmt | None:
    bindings = [node for node in body if name in _names_bound(node)]
    earlier = [node for node in bindings if node.lineno <= before]
    return earlier[-1] if earlier else next(iter(bindings), None)


def _names_bound(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {n.id for n in nodes(targets, ast.Name)}
    return set()


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _only(text: str, nodes: Iterable[ast.stmt]) -> str:
    spans = [range(_first_line(node), (node.end_lineno or node.lineno) + 1) for node in nodes]
    wanted = {number for span in spans for number in span}
    lines = lines_of(with_plain_ends(text))
    return "\n".join(
        code if number in wanted else "" for number, code in enumerate(lines[: max(wanted)], 1)
    )
