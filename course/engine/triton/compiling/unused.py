"""Loads that nothing needs, and that the passes before LLVM keep: LLVM leaves them out.

Those passes keep what a ``while`` carries from turn to turn, whether or not anybody reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from course.engine.triton.ir import Module, Operation

#: What does no more than make its results of its operands.
_DIALECTS = ("arith.", "math.")
_PURE = frozenset(
    {
        *("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.addptr", "tt.reshape", "tt.trans"),
        *("tt.join", "tt.split", "tt.cat", "tt.bitcast", "tt.fp_to_fp", "tt.int_to_ptr"),
        *("tt.ptr_to_int", "tt.reduce", "tt.scan", "tt.dot", "ttg.convert_layout"),
    }
)


def unused(module: Module) -> frozenset[int]:
    """The numbers of the loads whose elements reach no store, no branch and no loop's end."""
    operations = list(module.operations())
    if not any(one.name == "scf.while" for one in operations):
        return frozenset()
    made_of: defaultdict[str, list[str]] = defaultdict(list)
    for value, sources in chain.from_iterable(map(_made, operations)):
        made_of[value] += sources
    needed = [name for one in operations for name in _needed(one)]
    seen: set[str] = set()
    while needed:
        name = needed.pop()
        if name not in seen:
            seen.add(name)
            needed += made_of[name]
    return frozenset(
        one.number
        for one in operations
        if one.name == "tt.load"
        and one.attributes.get("isVolatile") == "false"
        and one.results[0] not in seen
    )


def _needed(operation: Operation) -> Sequence[str]:
    """What an operation needs though nobody reads its results."""
    if operation.name == "scf.for":
        return operation.operands[:3]
    if operation.name == "scf.while":
        return _end(operation, 0)[:1]
    hands_on = operation.name in ("scf.yield", "scf.condition") or _is_pure(operation)
    return () if hands_on else operation.operands


def _made(operation: Operation) -> Iterator[tuple[str, Sequence[str]]]:
    """(a value, what it is made of): results, and what the blocks of a loop begin with."""
    results, operands = operation.results, operation.operands
    if operation.name == "scf.for":
        carried = operation.regions[0][0].arguments[1:]
        for result, inside, *sources in zip(
            results, carried, operands[3:], _end(operation, 0), strict=True
        ):
            yield result, sources
            yield inside, sources
    elif operation.name == "scf.while":
        (test,), (body,) = operation.regions
        for inside, *sources in zip(test.arguments, operands, _end(operation, 1), strict=True):
            yield inside, sources
        handed = _end(operation, 0)[1:]
        for result, inside, *sources in zip(results, body.arguments, handed, strict=True):
            yield result, sources
            yield inside, sources
    elif operation.name == "scf.if" and results:
        for result, *sources in zip(results, _end(operation, 0), _end(operation, 1), strict=True):
            yield result, sources
    elif _is_pure(operation):
        for result in results:
            yield result, operands


def _end(operation: Operation, region: int) -> tuple[str, ...]:
    """What a region's one block hands on."""
    return operation.regions[region][0].operations[-1].operands


def _is_pure(operation: Operation) -> bool:
    name = operation.name
    return name == "tt.load" or name in _PURE or name.startswith(_DIALECTS)
