"""Loads that nothing needs, and that the passes before LLVM keep: LLVM leaves them out.

Those passes keep what a ``while`` carries from turn to turn, whether or not anybody reads it.
"""

from __future__ import annotations

from collections import defaultdict

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
    if not any(one.name == "scf.while" for one in module.operations()):
        return frozenset()
    #: of a value, those that it is made of
    made_of: defaultdict[str, list[str]] = defaultdict(list)
    needed: list[str] = []
    loads: dict[str, int] = {}
    for operation in module.operations():
        needed += _needed(operation, made_of)
        if operation.name == "tt.load" and operation.attributes.get("isVolatile") == "false":
            loads[operation.results[0]] = operation.number
    seen: set[str] = set()
    while needed:
        name = needed.pop()
        if name not in seen:
            seen.add(name)
            needed += made_of[name]
    return frozenset(number for name, number in loads.items() if name not in seen)


def _needed(operation: Operation, made_of: defaultdict[str, list[str]]) -> tuple[str, ...]:
    """What an operation needs though nobody reads its results; enters what these are made of."""
    name, operands = operation.name, operation.operands
    if name == "scf.for":
        (body,) = operation.regions[0]
        carried = zip(operands[3:], body.operations[-1].operands, strict=True)
        for result, inside, values in zip(
            operation.results, body.arguments[1:], carried, strict=True
        ):
            made_of[result] += values
            made_of[inside] += values
        return operands[:3]
    if name == "scf.while":
        (test,), (body,) = operation.regions
        condition, *handed = test.operations[-1].operands
        carried = zip(operands, body.operations[-1].operands, strict=True)
        for inside, values in zip(test.arguments, carried, strict=True):
            made_of[inside] += values
        for result, inside, value in zip(operation.results, body.arguments, handed, strict=True):
            made_of[result].append(value)
            made_of[inside].append(value)
        return (condition,)
    if name == "scf.if" and operation.results:
        for (branch,) in operation.regions:
            yielded = branch.operations[-1].operands
            for result, value in zip(operation.results, yielded, strict=True):
                made_of[result].append(value)
        return operands
    if name in ("scf.yield", "scf.condition"):
        return ()
    if name == "tt.load" or name in _PURE or name.startswith(_DIALECTS):
        for result in operation.results:
            made_of[result] += operands
        return ()
    return operands
