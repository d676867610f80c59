"""The kernels that stand in a text, as the cells that a student could make of them and hand in."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import nbformat

from course.spec.exercise import KernelExercise

_JITS = {"cuda.jit": "numba", "triton.jit": "triton"}
_MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)
_FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

Names = Mapping[str, ast.stmt]


@dataclass(frozen=True)
class Function:
    """A kernel, or a function that launches some, and what the names around it mean."""

    where: str
    node: ast.FunctionDef
    around: Names

    @property
    def dialects(self) -> set[str]:
        """Of the kernels that it is or calls; none where it has nothing to do with kernels."""
        nodes = [self.node, *_needed(self.node, self.around).values()]
        return {d for node in nodes if isinstance(node, ast.FunctionDef) for d in _jitted(node)}

    def fits(self, exercise: KernelExercise) -> bool:
        """Whether it is of the kind that an exercise asks for, with as many parameters."""
        kernel = bool(_jitted(self.node))
        most = len(self.node.args.args)
        least = most - len(self.node.args.defaults)
        return (
            kernel is not bool(exercise.returned)
            and exercise.dialect in self.dialects
            and least <= len(exercise.passed) <= most
        )

    def handed_in(self, exercise: KernelExercise, starter: str) -> str:
        """The cell with it under the exercise's name, in the place of the starter's function.

        The starter's imports and constants stay; where both name a constant it is this
        function's, unless that is none of those that the exercise lets a learner choose.
        """
        names = {
            name: statement
            for name, statement in _bound(ast.parse(starter).body).items()
            if not isinstance(statement, ast.FunctionDef)
        }
        for name, statement in _needed(self.node, self.around).items():
            if name not in names or _may_be_chosen(name, statement, exercise):
                names[name] = statement
        names.pop(exercise.name, None)
        renamed = copy.copy(self.node)
        renamed.name = exercise.name
        return "\n".join(dict.fromkeys(ast.unparse(s) for s in [*names.values(), renamed]))


def functions(name: str, text: str) -> Iterator[Function]:
    """The kernels and launchers of a file: of Python, of a notebook, of prose with code in it."""
    if name.endswith(".ipynb"):
        cells = nbformat.reads(text, as_version=4).cells
        sources = [cell.source for cell in cells if cell.cell_type == "code"]
        prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    else:
        sources, prose = ([text], "") if name.endswith(".py") else ([], text)
    sources += [code for code in _FENCE.findall(prose) if ".jit" in code]
    around: Names = {}
    for source in sources:
        tree = ast.parse(_MAGIC.sub(r"\1pass", source))
        around = {**around, **_bound(tree.body)}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                function = Function(name, node, around)
                if function.dialects:
                    yield function


def _may_be_chosen(name: str, statement: ast.stmt, exercise: KernelExercise) -> bool:
    if name not in exercise.constants:
        return True
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Constant) and value.value in exercise.constants[name].choices


def _jitted(node: ast.FunctionDef) -> set[str]:
    said = [ast.unparse(decorator) for decorator in node.decorator_list]
    return {dialect for jit, dialect in _JITS.items() for text in said if text.startswith(jit)}


def _bound(statements: list[ast.stmt]) -> dict[str, ast.stmt]:
    """The names that imports, assignments and definitions bind, each with its statement."""
    names: dict[str, ast.stmt] = {}
    for statement in statements:
        match statement:
            case ast.ImportFrom(module="__future__"):
                bound = []
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                bound = [alias.asname or alias.name.partition(".")[0] for alias in aliases]
            case ast.FunctionDef(name=name):
                bound = [name]
            case ast.Assign(targets=targets):
                nodes = [node for target in targets for node in ast.walk(target)]
                bound = [node.id for node in nodes if isinstance(node, ast.Name)]
            case _:
                bound = []
        names.update(dict.fromkeys(bound, statement))
    return names


def _needed(function: ast.stmt, around: Names) -> dict[str, ast.stmt]:
    """What a function needs of the names around it, and what that needs; definitions first."""
    needed: dict[str, ast.stmt] = {}
    seen: set[str] = set()

    def add(statement: ast.stmt) -> None:
        for name in sorted(_free(statement) & around.keys() - seen):
            seen.add(name)
            if around[name] is not function:
                add(around[name])
                needed[name] = around[name]

    add(function)
    return needed


def _free(statement: ast.stmt) -> set[str]:
    """The names that a statement reads and does not bind itself."""
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}
    return {node.id for node in names} - bound
