"""What a program's warps execute: instructions by pipe, products, and turns that wait for memory.

The PTX says what stands in a loop, the run how often a block of the IR was made; the two have
places in the source in common (see `course.engine.triton.running.banks`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from course.engine.triton.compiling.issued import Issued
from course.engine.triton.compiling.shared import Place
from course.engine.triton.ir import Block, Module, Operation
from course.engine.triton.running.banks import chain_of, operations

_PRODUCTS = {"tt.dot": "mma", "ttng.warp_group_dot": "wgmma", "ttng.tc_gen5_mma": "wgmma"}
#: What brings something from global memory: and lets the warp go on, or has it wait.
_AHEAD = frozenset(
    {
        "ttg.async_copy_global_to_local", "ttng.async_tma_copy_global_to_local",
        "ttng.async_tma_gather",
    }
)  # fmt: skip
_WAITING = frozenset({"tt.load", "tt.descriptor_load", "tt.descriptor_gather", "tt.atomic_rmw"})


def mix(module: Module, issued: Sequence[Issued], ran: Mapping[Block, int]) -> dict[str, Any]:
    """Counts of one program, on the average of those that ran.

    Returns:
        by pipe the instructions of a warp, 'wavefronts' of one; 'mma' and 'wgmma' FLOP of the
        program, and 'operand_bytes' of an element; 'waiting' and 'ahead' how often it loads
        and waits, and how often it copies for later.
    """
    entry = module.entry.regions[0][0]
    programs = ran[entry]
    found: dict[str, Any] = defaultdict(float)
    places: dict[tuple[Place, ...], list[tuple[Block, ...]]] = defaultdict(list)
    loading: dict[str, dict[Block, None]] = {"waiting": {}, "ahead": {}}
    for one, path in operations(module.entry, ()):
        places[chain_of(one)].append(path)
        if (kind := _PRODUCTS.get(one.name)) and _on_tensor_cores(module, one):
            found[kind] += _flop(one) * ran.get(path[-1], 0) / programs
            found["operand_bytes"] = _bytes(one)
        if one.name in _AHEAD:
            loading["ahead"][path[-1]] = None
        elif one.name in _WAITING:
            loading["waiting"][path[-1]] = None
    for kind, blocks in loading.items():
        found[kind] = sum(ran.get(block, 0) for block in blocks) / programs
    loops = _turns(issued, places, ran)
    for there in issued:
        times = loops.get(there.loop, programs) if there.depth else programs
        found[there.pipe] += there.count * times / programs
    return dict(found)


def _turns(
    issued: Sequence[Issued],
    places: Mapping[tuple[Place, ...], Sequence[tuple[Block, ...]]],
    ran: Mapping[Block, int],
) -> dict[int, float]:
    """How often the body of each loop of the PTX was made: what most of its lines say."""
    said: dict[int, list[int]] = defaultdict(list)
    for one in issued:
        if one.depth:
            for path in places.get(one.chain, ()):
                if len(path) > one.depth:
                    said[one.loop] += [ran.get(path[one.depth], 0)] * one.count
    return {loop: median(counts) for loop, counts in said.items()}


def _on_tensor_cores(module: Module, product: Operation) -> bool:
    if product.name != "tt.dot":
        return True
    layout = product.result_types[0].layout
    return not module.aliases.get(layout, layout).startswith("#ttg.blocked")


def _flop(product: Operation) -> int:
    left, right = (type_.shape for type_ in product.operand_types[:2])
    return 2 * math.prod(left) * right[-1]


def _bytes(product: Operation) -> int:
    scalar = product.operand_types[0].scalar
    return {"f32": 4, "i8": 1}.get(scalar, 1 if scalar.startswith("f8") else 2)
