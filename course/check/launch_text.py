"""A launcher's text beside its kernel's: arguments in another order, a grid's axes exchanged."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from course.check.bindings import Bindings, called, program_axis
from course.check.kernel_text import Cause, path_of, shown
from course.plain.trees import nodes, walk


def launch_cause(tree: ast.Module, constants: Mapping[str, int | float]) -> Cause | None:
    """What the first launch that does not fit its kernel gets wrong; `constants` are the cell's."""
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    for launcher in functions.values():
        names = Bindings(launcher)
        for call in nodes(launcher, ast.Call):
            launch = call.func
            if not isinstance(launch, ast.Subscript) or path_of(launch.value) not in functions:
                continue
            kernel = functions[path_of(launch.value)]
            found = _other_order(call, kernel)
            grid = names.followed(launch.slice)
            if isinstance(grid, ast.Tuple):
                divided = [_divisors(names.followed(one)) for one in grid.elts]
                found = found or _other_axis(grid, divided, call, kernel, constants)
            if found is not None:
                return found
    return None


def _plain(name: str) -> str:
    """`lse_ptr` and `lse` are one name."""
    return name.removesuffix("_ptr")


def _other_order(call: ast.Call, kernel: ast.FunctionDef) -> Cause | None:
    """Two arguments in each other's place, by the names of the kernel's parameters."""
    parameters = [one.arg for one in kernel.args.args]
    given = dict(zip(parameters, call.args, strict=False))
    passed = {name: _plain(one.id) for name, one in given.items() if isinstance(one, ast.Name)}
    own = {_plain(name): name for name in parameters}
    for name, argument in passed.items():
        other = own.get(argument, name)
        if argument != _plain(name) and passed.get(other) == _plain(name):
            fields = {"line": call.lineno, "kernel": kernel.name, "parameter": name}
            return "text_arguments", {**fields, "given": shown(given[name]), "own": other}
    return None


def _other_axis(
    grid: ast.Tuple,
    divided: Sequence[set[str]],
    call: ast.Call,
    kernel: ast.FunctionDef,
    constants: Mapping[str, int | float],
) -> Cause | None:
    """A grid that counts along an axis what the kernel counts along another, or not at all.

    `divided`: names that each of the grid's numbers divides by.
    """
    values: dict[str, ast.expr] = {one.arg: one.value for one in call.keywords if one.arg}
    values |= dict(zip((one.arg for one in kernel.args.args), call.args, strict=False))
    counted = [{constants.get(name, name) for name in one} for one in divided]
    for axis, steps in _steps(kernel, constants).items():
        given = {step: shown(values[step]) if step in values else step for step in steps}
        wanted = {constants.get(name, name) for name in given.values()}
        others = (one for k, one in enumerate(counted) if k != axis)
        known = not any(isinstance(one, str) for one in wanted)
        if known and axis < len(counted) and not wanted & counted[axis]:
            if counted[axis] or any(wanted & one for one in others):
                fields = {"kernel": kernel.name, "axis": axis, "line": call.lineno}
                return "text_grid", {**fields, "step": steps[0], "written": shown(grid.elts[axis])}
    return None


def _steps(kernel: ast.FunctionDef, constants: Mapping[str, int | float]) -> dict[int, list[str]]:
    """The lengths L of each ``tl.program_id(axis) * L``, by axis: constants of kernel or cell."""
    names = Bindings(kernel)
    fixed = {one.arg for one in kernel.args.args if one.annotation is not None} | set(constants)
    found: dict[int, list[str]] = {}
    for node in nodes(kernel, ast.BinOp):
        if isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                axis = program_axis(names.followed(one))
                if axis is not None and isinstance(other, ast.Name) and other.id in fixed:
                    found.setdefault(axis, []).append(other.id)
    return found


def _divisors(node: ast.expr) -> set[str]:
    """Names that a number of the grid divides by: BR of `triton.cdiv(N, BR)` or `N // BR`."""
    found = set()
    for one in walk(node):
        by = one.args[-1] if called(one, "cdiv") else None
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.FloorDiv):
            by = one.right
        if isinstance(by, ast.Name):
            found.add(by.id)
    return found
