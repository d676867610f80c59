"""Why two programs of a Triton kernel meet at one element: what the offset of the store says."""

from __future__ import annotations

import ast
import copy
import math
import re
from collections.abc import Mapping
from typing import Any

from course.check.bindings import Bindings, called, function_at, program_axis
from course.check.kernel_text import Cause, KernelText, Launched, calls_of, path_of, shown
from course.check.program_addresses import Address, ProgramText, apart_of, bare
from course.engine.faults import KernelFault
from course.plain.text import counted
from course.plain.trees import covers, nodes, walk

#: What a store's address may call: nothing that could hand on a program's number unseen.
_PLAIN = ("tl.", "triton.")


def program_race(fault: KernelFault, tree: ast.Module, launched: Launched) -> Cause | None:
    """Two programs that store by one line, and an offset that does not tell them apart."""
    fields, line, grid = fault.fields, fault.line, fault.fields.get("grid")
    stores = str(fields.get("doing")) == "stores to" and "store" in str(fields.get("other_doing"))
    if not stores or line is None or fields.get("other_line") not in (None, line):
        return None
    function = function_at(tree, line)
    if function is None or not isinstance(grid, tuple):
        return None
    if calls_of(tree, function.name):
        return None  # a kernel calls it: what it is given may hold a program's number
    bindings, store = Bindings(function), _store_of(function, line)
    if store is None:
        return None
    offset = _written_out(bindings, store)
    array, found = str(fields["array"]), None
    address = Address(ProgramText(tree, fault), bindings, store.args[0], array)
    if offset is None:
        return _masked(address, store, fields)
    long = [axis for axis, extent in enumerate(grid) if extent > 1]
    apart = _differ_in(str(fields.get("program")), str(fields.get("other")), long)
    free = [axis for axis in apart if axis not in _counted(offset)]
    if apart and free == apart:
        return "tile_race_axis", {**fields, "axis": free[0]}
    own_rows = fields.get("columns") is None  # else a mask lets a row's end into the next one
    if own_rows and apart == long == [0] and not bindings.loops(store):
        found = _overlap(KernelText(tree, line, launched), array, offset)
    return found or _short_rows(address, fields) or _masked(address, store, fields)


def _short_rows(address: Address, fields: Mapping[str, Any]) -> Cause | None:
    """A block's rows, taken to lie closer together than each of them is long."""
    inner = [math.prod(fields["shape"][axis + 1 :]) for axis in range(len(fields["shape"]))]
    blocks = [(address.distance(one), address.length(one)) for one in address.parts if one.moves]
    for part in address.parts:
        distance = address.distance(part)
        if not part.factors or distance is None or distance in inner:
            continue
        if any(far and long and far < distance < far * long for far, long in blocks):
            said = {"name": shown(bare(part.what)), "times": part.times()}
            said |= {"array": address.array, "apart": apart_of(inner)}
            return "offset_distance", {**said, "distance": distance}
    return None


def _masked(address: Address, store: ast.Call, fields: Mapping[str, Any]) -> Cause | None:
    """A mask that ends with a row: what lies past it is not where the programs meet."""
    named = {keyword.arg: keyword.value for keyword in store.keywords}
    mask = named.get("mask", store.args[2] if len(store.args) > 2 else None)
    columns = fields["columns"]
    if mask is None or columns is None:
        return None
    apart = [address.distance(part) for part in address.parts]
    for part, distance in zip(address.parts, apart, strict=True):
        ends = [address.text.number(one.comparators[0]) for one in address.tests_of(part, mask)]
        others = [far for far in apart if far != 1]
        if (
            distance == 1
            and columns in ends
            and not any(far is None or far % columns for far in others)
        ):
            return "tile_race_masked", {"name": shown(bare(part.what)), **fields}
    return None


def _store_of(function: ast.FunctionDef, line: int) -> ast.Call | None:
    """The one store of a line."""
    calls = (call for call in nodes(function, ast.Call) if called(call, "store"))
    stores = [call for call in calls if covers(call, line)]
    return stores[0] if len(stores) == 1 and stores[0].args else None


def _written_out(bindings: Bindings, store: ast.Call) -> ast.expr | None:
    """The address of a store, where all that makes it is seen."""
    out = bindings.written_out(store.args[0], first_turn=True)
    for node in () if out is None else nodes(out, ast.Call):
        path = path_of(node.func)
        cast = isinstance(node.func, ast.Attribute) and node.func.attr == "to"
        plain = cast or path.startswith(_PLAIN) or path in ("min", "max")
        if "atomic" in path or not plain:
            return None
    return out


def _differ_in(one: str, other: str, long: list[int]) -> list[int]:
    """The axes of the grid along which two programs differ; of several others, its only long one.

    Args:
        one, other: `(2, 0)`, and `program (2, 1)` or `several other programs`.
    """
    places = [[int(number) for number in re.findall(r"\d+", text)] for text in (one, other)]
    if len(places[0]) != len(places[1]):
        return long if len(long) == 1 else []
    return [axis for axis, (a, b) in enumerate(zip(*places, strict=True)) if a != b]


def _counted(offset: ast.expr) -> set[int]:
    """The axes of the grid whose number stands in an offset."""
    return {program_axis(node) or 0 for node in walk(offset) if called(node, "program_id")}


def _overlap(text: KernelText, array: str, offset: ast.expr) -> Cause | None:
    """Programs that begin fewer elements apart than their blocks are long."""
    blocks = [node for node in walk(offset) if called(node, "arange")]
    if len(blocks) != 1 or len(blocks[0].args) != 2:
        return None
    ends = [text.number(end) for end in blocks[0].args]
    first, next_one, beside = (_place(text, array, offset, *at) for at in ((0, 0), (1, 0), (0, 1)))
    if first is None or next_one is None or beside is None or None in ends:
        return None
    by, length = next_one - first, (ends[1] or 0) - (ends[0] or 0)
    if beside - first != 1 or not 0 < by < length:
        return None
    return "tile_race_overlap", {"apart": counted(by, "element"), "length": length}


def _place(text: KernelText, array: str, offset: ast.expr, program: int, at: int) -> int | None:
    """An offset of a program, in elements, with `tl.arange` at a place."""

    class Numbers(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            if called(node, "program_id"):
                return ast.Constant(program)
            return ast.Constant(at) if called(node, "arange") else self.generic_visit(node)

        def visit_Name(self, node: ast.Name) -> ast.expr:
            known = node.id == array or node.id in text.launched.shapes
            return ast.Constant(0) if known else node

    placed = Numbers().visit(copy.deepcopy(offset))
    return text.number(ast.fix_missing_locations(placed))
