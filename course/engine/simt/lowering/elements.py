"""Elements of arrays: ``A[i, j]`` as a load, and as the target of a store."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.faults import does_not_compile
from course.engine.simt.lowering.complex_numbers import as_complex, is_complex, of_parts
from course.engine.simt.lowering.elsewhere import counted
from course.engine.simt.lowering.expr import (
    UNKNOWN,
    Expr,
    combined,
    converted,
    describe,
    joined,
    known,
    number,
    tuple_items,
    tuple_of,
)
from course.engine.simt.lowering.iteration import call_of, once, unpacked
from course.engine.simt.lowering.parts import parts_of, view_of
from course.engine.simt.lowering.types import (
    FLOAT,
    INT,
    ArrayType,
    RangeType,
    RecordsType,
    TupleType,
    is_integer,
    is_scalar,
)
from course.engine.simt.nvvm.merging import BESIDE, FIELD, Straight
from course.engine.simt.nvvm.ranges import under
from course.engine.simt.running import arith
from course.engine.simt.running.bounds import Access, Extent, check_bounds
from course.engine.simt.running.lanes import Lanes, Statement, select
from course.engine.simt.running.views import Turned

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


def subscript(low: Lowering, node: ast.Subscript) -> Expr:
    """``base[index]``: an item of a tuple, an element or a narrower view of an array."""
    base = _based(low, node)
    if isinstance(base.type, TupleType):
        return _item(low, base, node)
    if isinstance(base.type, RecordsType):
        return _record(low, base, node)
    if isinstance(base.type, RangeType):
        raise low.untyped(node, "a range has no items to be indexed: use its start and its step")
    if not isinstance(base.type, ArrayType):
        raise low.untyped(node, f"`{ast.unparse(node.value)}` is {base.type}, not an array")
    if isinstance(node.slice, ast.Constant) and node.slice.value is Ellipsis:
        raise low.untyped(node, f"`{ast.unparse(node)}` is the whole array: leave the brackets out")
    parts = parts_of(low, base, node.slice)
    if len(parts) > base.type.ndim:
        words = f"`{ast.unparse(node.value)}` {base.type.has_axes(len(parts))}"
        raise low.untyped(node, words)
    index = [part for part in parts if isinstance(part, Expr)]
    if len(index) < base.type.ndim:
        return view_of(base, parts)
    return element(low, node, base, index)


def _based(low: Lowering, node: ast.Subscript) -> Expr:
    """What a subscript is of; where that are records and it names a field, the field's array."""
    name = node.slice.value if isinstance(node.slice, ast.Constant) else None
    within = node.value
    if isinstance(name, str) and isinstance(within, ast.Subscript):
        if isinstance(within.value, ast.Name):
            records = low.whole(within.value)
            if isinstance(records.type, RecordsType) and name in records.type.names:
                field = _field(low, records, name)
                return view_of(field, parts_of(low, field, within.slice))
    base = low.whole(within)
    if isinstance(base.type, RecordsType) and name in base.type.names:
        return _field(low, base, str(name))
    return base


def _field(low: Lowering, records: Expr, name: str) -> Expr:
    found = unpacked(low, records)[records.type.names.index(name)]
    origin = records.origin or low.array_parameters
    key = found.key
    if key is not None and key[0] == "item":
        key = FIELD, name, key[-1]
    return replace(found, key=key, origin=tuple(one for one in origin if one.endswith(f".{name}")))


def _record(low: Lowering, base: Expr, node: ast.Subscript) -> Expr:
    """``p[i]``, of records."""
    fields = [_field(low, base, name) for name in base.type.names]
    places = [part for part in parts_of(low, fields[0], node.slice) if isinstance(part, Expr)]
    if len(places) != fields[0].type.ndim - 1:
        raise low.untyped(node, f"`{ast.unparse(node)}` is no record")
    pairs = [once(low, place) for place in places]
    items = [view_of(field, [pair[at > 0] for pair in pairs]) for at, field in enumerate(fields)]
    made = tuple_of(low, items)
    type_ = RecordsType(made.type.items)
    return replace(made, type=type_, const=UNKNOWN, origin=base.origin)


def read(low: Lowering, node: ast.expr, value: Expr) -> Expr:
    """An element of an array of complex numbers, loaded; every other value as it is."""
    type_ = value.type
    if not (isinstance(type_, ArrayType) and type_.ndim == 1 and type_.of_complex):
        return value
    both = zip(once(low, value), (0, 1), strict=True)
    return of_parts(low, [element(low, node, base, [number(part)]) for base, part in both])


def _item(low: Lowering, base: Expr, node: ast.Subscript) -> Expr:
    assert isinstance(base.type, TupleType)
    if isinstance(node.slice, ast.Slice):
        return _items(low, base, node, node.slice)
    place = low.value(node.slice)
    count = len(base.type.items)
    alike = len(set(base.type.items)) == 1
    if not is_integer(place.type):
        raise low.untyped(node, f"the index of a tuple is {describe(place)}, not a whole number")
    words = f"the index of a tuple of {count} must be a constant below {count}"
    if alike and isinstance(base.type.items[0], ArrayType):
        words += ", as its arrays lie in memory in several ways"
    if not isinstance(node.slice, ast.Constant | ast.UnaryOp):
        low.doubts_tuple(base.type, low.untyped(node, words))
    if alike and not isinstance(place.const, int):
        return _any_item(base, converted(place, INT), node)
    if not isinstance(place.const, int) or not -count <= place.const < count:
        raise low.untyped(node, words)
    items = base.items or tuple_items(low, base)
    return items[place.const]


def _items(low: Lowering, base: Expr, node: ast.Subscript, cut: ast.Slice) -> Expr:
    """``t[1:]``: the tuple of some of its items."""
    bounds = [None if b is None else low.value(b).const for b in (cut.lower, cut.upper, cut.step)]
    if not all(bound is None or isinstance(bound, int) for bound in bounds) or bounds[2] == 0:
        raise low.untyped(node, f"the bounds of `{ast.unparse(node)}` must be constants")
    items = base.items or tuple_items(low, base)
    return tuple_of(low, list(items)[slice(*bounds)])


def _any_item(base: Expr, place: Expr, node: ast.Subscript) -> Expr:
    """``t[i]`` of a tuple whose items have one type, where `i` is known at run time alone."""
    items, at = base.run, place.run
    name, count = ast.unparse(node.value), len(base.type.items)
    where = (node.lineno, node.col_offset)

    def run(lanes: Lanes) -> Any:
        index = at(lanes)
        check_bounds(lanes, name, (count,), Access("load", (index,), lanes.mask, where))
        found, *others = items(lanes)
        for number_, other in enumerate(others, 1):
            found = select(index == number_, other, found)
        return found

    type_ = base.type.items[0]
    return combined("any item", type_, run, [base, place], masked=True, origin=base.origin)


def access_of(
    direction: str, index: list[Expr], node: ast.expr, aggregated: str = ""
) -> Callable[..., Access]:
    """What makes the access at `node` of the lanes that are active."""
    runs, place = [part.run for part in index], (node.lineno, node.col_offset)

    def made(lanes: Lanes, asking: bool | np.ndarray = True) -> Access:
        indices = tuple([run(lanes) for run in runs])
        return Access(direction, indices, lanes.mask, place, asking, aggregated)

    return made


def element(low: Lowering, node: ast.expr, base: Expr, index: list[Expr]) -> Expr:
    """``A[i, j]``: a load."""
    array: ArrayType = base.type
    view, made = base.run, access_of("load", index, node)
    key, since = element_key(low, base, index)
    if array.memory != "global":
        low.registers.step(ast.unparse(node))
        low.registers.straight.under, low.registers.straight.read = None, True
        return Expr(array.dtype, lambda lanes: view(lanes).load(lanes, made(lanes)), masked=True)

    def asked(lanes: Lanes, asking: bool | np.ndarray) -> None:
        view(lanes).count(lanes, made(lanes, asking))

    if low.places is not None:
        low.places.append((view, made))
    count = counted(asked, low.names())
    site, held = low.registers.load(key, since, count)

    def run(lanes: Lanes) -> np.ndarray:
        return view(lanes).load(lanes, made(lanes, site.counts(lanes)))

    if held is None:
        return Expr(array.dtype, run, masked=True)
    return Expr(array.dtype, run, ("value", held.token), held.since, masked=True)


def _fill(low: Lowering, target: ast.Subscript, part: Expr, value: Expr) -> Statement:
    """``A[i, :] = value``: the value into every element, one after the other."""
    low.instances += 1
    hidden, filling = f"%fill.{low.instances}", f"%fill.{low.instances}.value"
    turns = [f"{hidden}.{axis}" for axis in range(part.type.ndim)]
    low.frame.assigned.update([hidden, filling, *turns])
    low.bind(hidden, part)
    low.bind(filling, value)
    array = ast.Name(hidden, ast.Load())
    index = ast.Tuple([ast.Name(turn, ast.Load()) for turn in turns], ast.Load())
    filled: ast.stmt = ast.Assign(
        [ast.Subscript(array, index, ast.Store())], ast.Name(filling, ast.Load())
    )
    for axis, turn in reversed([*enumerate(turns)]):
        shape = ast.Attribute(array, "shape", ast.Load())
        extent = ast.Subscript(shape, ast.Constant(axis), ast.Load())
        steps = call_of(low, "range", extent)
        filled = ast.For(ast.Name(turn, ast.Store()), steps, [filled], [])
    loops = low.block([ast.fix_missing_locations(ast.copy_location(filled, target))])
    of_part, of_value = part.run, value.run

    def execute(lanes: Lanes) -> None:
        lanes.assign(filling, of_value(lanes))
        lanes.assign(hidden, of_part(lanes))
        lanes.run(loops)

    return execute


def element_key(low: Lowering, base: Expr, index: list[Expr]) -> tuple[Any, int]:
    """(key, since) of one element of a global array; a view by indices is of the whole array."""
    joint, since = joined("element", [base, *index])
    if joint is None:
        return None, 0
    of: Any = base.key
    array = of if of[0] == "element" else ("element", of)
    keys = [under(low.fact, part.key) if _is_tested(part) else part.key for part in index]
    last = index[-1].const
    whole = base.type.layout == "C" and array[1][0] in ("argument", "item")
    if (whole or base.type.fields) and isinstance(last, int) and last >= 0:
        keys[-1] = (BESIDE, last)
    return (*array, *keys), since


def _is_tested(index: Expr) -> bool:
    """Whether Numba asks if an index is negative."""
    return is_integer(index.type) and arith.numpy_dtype(index.type).kind == "i"


def store(low: Lowering, target: ast.Subscript, value: Expr) -> Statement:
    """``A[i, j] = value``."""
    base = _based(low, target)
    array = base.type
    if not isinstance(array, ArrayType):
        raise low.untyped(
            target, f"`{ast.unparse(target.value)}` is {describe(base)}: it cannot be changed"
        )
    if array.memory == "constant":
        raise does_not_compile(target, "store_to_constant", array=ast.unparse(target.value))
    if not is_scalar(value.type) and not (is_complex(value) and array.of_complex):
        raise low.untyped(target, f"an element cannot hold {describe(value)}")
    parts = parts_of(low, base, target.slice)
    if len(parts) > array.ndim:
        raise low.untyped(target, f"`{ast.unparse(target.value)}` {array.has_axes(len(parts))}")
    index = [part for part in parts if isinstance(part, Expr)]
    if array.of_complex and len(parts) == len(index) == array.ndim - 1:
        return _store_complex(low, target, base, index, value)
    if len(index) < array.ndim:
        return _fill(low, target, view_of(base, parts), value)
    return _store_number(low, target, base, index, value)


def _store_complex(
    low: Lowering, target: ast.Subscript, base: Expr, index: list[Expr], value: Expr
) -> Statement:
    """``z[i] = value``: two stores, of the real part and of the imaginary one."""
    places = [once(low, part) for part in (base, *index)]
    stores = []
    for at, part in enumerate(unpacked(low, as_complex(low, value, base.type.of_complex))):
        base, *index = [place[at] for place in places]
        stores.append(_store_number(low, target, base, [*index, number(at)], part))

    def execute(lanes: Lanes) -> None:
        for one in stores:
            one(lanes)

    return execute


def _store_number(
    low: Lowering, target: ast.Subscript, base: Expr, index: list[Expr], value: Expr
) -> Statement:
    """A number into an element."""
    array: ArrayType = base.type
    stored = converted(value, array.dtype)
    low.stores_to(base)
    view, run, made = base.run, stored.run, access_of("store", index, target)
    name = ast.unparse(target.value)

    if array.memory != "global":
        low.registers.straight = Straight(elsewhere=True)

        def keep(lanes: Lanes) -> None:
            values, access = run(lanes), made(lanes)
            view(lanes).store(lanes, access, values)
            if lanes.told is not None:
                lanes.told(lanes, access.line, name, access.indices, values)

        return keep
    key, since = element_key(low, base, index)

    def asked(lanes: Lanes, asking: bool | np.ndarray) -> None:
        view(lanes).count(lanes, made(lanes, asking))

    count = counted(asked, low.names())
    zero = value.const is not UNKNOWN and value.const == 0
    rounded = value.type == FLOAT != array.dtype
    site = low.registers.store(key, since, count, zero, rounded)

    def execute(lanes: Lanes) -> None:
        values, access = run(lanes), made(lanes, site.counts(lanes))
        view(lanes).store(lanes, access, values)
        if lanes.told is not None:
            lanes.told(lanes, access.line, name, access.indices, values)

    return execute


def array_attribute(low: Lowering, base: Expr, name: str) -> Expr:
    """``shape``, ``size`` and the like: uniform, read from the launch's arrays."""
    assert isinstance(base.type, ArrayType)
    run, ndim = base.run, base.type.ndim - bool(base.type.fields)
    if name == "dtype":
        return known(base.type.dtype)
    if name == "ndim":
        return number(ndim)

    def part(compute: Callable[[Any], Extent], what: Hashable) -> Expr:
        def read(lanes: Lanes) -> np.ndarray:
            found = compute(run(lanes))
            return found if isinstance(found, np.ndarray) else arith.constant(int(found), INT)

        return combined((what,), INT, read, [base])

    def of_axis(axis: int, attribute: str, scale: int) -> Expr:
        return part(lambda view: getattr(view, attribute)[axis] * scale, (attribute, axis))

    stride = arith.numpy_dtype(base.type.dtype).itemsize
    itemsize = stride * max(1, len(base.type.fields))
    if name == "itemsize":
        return number(itemsize)
    if name == "T":
        return combined(
            "T", base.type, lambda lanes: Turned(run(lanes)), [base], origin=base.origin
        )
    if name == "size":
        return part(lambda view: math.prod(view.shape[:ndim]), "size")
    if name == "nbytes":
        return part(lambda view: math.prod(view.shape[:ndim]) * itemsize, "nbytes")
    if name == "strides":
        return tuple_of(low, [of_axis(axis, "strides", stride) for axis in range(ndim)])
    return tuple_of(low, [of_axis(axis, "shape", 1) for axis in range(ndim)])
