"""What several launches of one cell do to the same tensor: store and load back, or load again."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from course.check.accesses import AGAIN, Access
from course.check.bindings import function_at
from course.check.kernel_text import Cause
from course.engine.traffic import Traffic
from course.plain.evaluator import is_name
from course.plain.trees import nodes

#: Tensors of kernels that are looked at: no honest cell has more.
MOST_MOVED = 100


def launches_cause(worst: Access, traffic: Traffic, tree: ast.Module) -> Cause | None:
    """What the launches of a cell that launches move more often than one would, or None."""
    used: dict[tuple[str, str], list[str]] = {}
    moved = {(function_at(tree, s.line), s.array, s.direction): None for s in traffic.sites}
    for user, array, direction in list(moved)[:MOST_MOVED]:
        if user is not None:
            for tensor in set(_passed(tree, user, array)):
                used.setdefault((tensor, direction), []).append(user.name)
    kernel = worst.bindings.function
    passed = list(_passed(tree, kernel, worst.site.array))
    for tensor in dict.fromkeys(passed):
        fields: dict[str, object] = {"array": tensor}
        loaders = used.get((tensor, "load"), [])
        for one in used.get((tensor, "store"), []):
            for two in loaders:
                if one != two:
                    return "traffic_between_launches", {**fields, "one": one, "two": two}
        if worst.site.direction != "load":
            continue
        fields |= {"one": kernel.name, "times": passed.count(tensor)}
        if passed.count(tensor) > 1:
            return "traffic_launches", fields
        others = [name for name in loaders if name != kernel.name]
        if others:
            return "traffic_second_launch", {**fields, "two": others[0]}
    return _worked_on(worst, traffic, tree, used)


def _worked_on(
    worst: Access, traffic: Traffic, tree: ast.Module, used: Mapping[tuple[str, str], list[str]]
) -> Cause | None:
    """The kernel loads no less of what another one has stored: it works on the other's result.

    What it asks for many times by itself, it would in one launch, too, unless it goes through the
    other's result element by element: then it stores about as much as it loads of that.
    """
    again = 0 < AGAIN * worst.site.footprint_bytes <= worst.site.lane_bytes
    kernel = worst.bindings.function
    stored = sum(
        site.footprint_bytes
        for site in traffic.sites
        if site.direction == "store" and function_at(tree, site.line) is kernel
    )
    for site in traffic.sites:
        no_less = site.direction == "load" and site.sectors >= worst.site.sectors
        if not no_less or function_at(tree, site.line) is not kernel:
            continue
        if again and site.footprint_bytes > 2 * stored:  # float16 of float32 is half
            continue
        for tensor in _passed(tree, kernel, site.array):
            for one in used.get((tensor, "store"), []):
                if one != kernel.name:
                    fields: dict[str, object] = {"array": tensor, "one": one, "two": kernel.name}
                    return "traffic_between_launches", fields
    return None


def _passed(tree: ast.Module, kernel: ast.FunctionDef, array: str) -> Iterator[str]:
    """What the launches of a kernel pass for the parameter of an array, a name for each launch."""
    parameters = [one.arg for one in kernel.args.args]
    for node in nodes(tree, ast.Call):
        if isinstance(node.func, ast.Subscript) and is_name(node.func.value, kernel.name):
            given = dict(zip(parameters, node.args, strict=False))
            given |= {one.arg: one.value for one in node.keywords if one.arg}
            tensors = [one.id for one in given.values() if isinstance(one, ast.Name)]
            value = given.get(array)
            if isinstance(value, ast.Name):
                yield value.id
            elif array not in parameters and array in tensors:
                yield array
