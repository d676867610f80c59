"""Shared memory in a launch: how often each access of the PTX was made, and what its turns cost.

The PTX tells what one making of it asks (`course.engine.triton.compiling.shared`), the operation
that it comes from how often it was made: the two have one place in the source. A loop that the
compiler has unrolled leaves several copies, each made as often as what was around the loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from course.engine.lines import line_in
from course.engine.traffic import Traffic
from course.engine.triton.compiling.shared import Place, SharedAccess
from course.engine.triton.ir import Block, Module, Operation

_TILE = "a tile"
#: What reaches shared memory by loads and stores of warps, as the reader is told of it.
KINDS = {
    "ttg.local_load": _TILE, "ttg.local_store": _TILE, "ttg.local_alloc": _TILE,
    "ttg.convert_layout": "a change of layout", "tt.reduce": "a reduction", "tt.scan": "a scan",
    "tt.gather": "a gather", "tt.histogram": "a histogram", "tt.atomic_rmw": "an atomic",
    "tt.atomic_cas": "an atomic",
}  # fmt: skip
_LOOPS = frozenset({"scf.for", "scf.while"})
#: Here warps do not all go through the same code.
_APART = "ttg.warp_specialize"

#: An operation, and the block that it or what is around it stands in, by the depth of loops.
_Found = tuple[Operation, tuple[Block, ...]]
_Chain = tuple[Place, ...]


def reaches(module: Module) -> bool:
    """Whether a kernel may have loads or stores of shared memory."""
    return any(map(_reaches, module.operations()))


def _reaches(operation: Operation) -> bool:
    """Whether an operation may: room alone is made by nobody's store."""
    return operation.name in KINDS and bool(operation.operands)


def count(
    traffic: Traffic,
    module: Module,
    accesses: Sequence[SharedAccess],
    ran: Mapping[Block, int],
    files: Mapping[str, str],
) -> None:
    """Enters what a launch asked of shared memory.

    Args:
        ran: how many programs ran a block, each time that it was run.
        files: the learner's, as the module calls them.
    """
    found: dict[_Chain, list[_Found]] = defaultdict(list)
    beside: dict[_Chain, list[_Found]] = defaultdict(list)
    alike = len(module.functions) == 1
    for one, path in operations(module.entry, ()):
        alike = alike and one.name != _APART
        (found if _reaches(one) else beside)[chain_of(one)].append((one, path))
    depths: dict[_Chain, set[int]] = defaultdict(set)
    for access in accesses:
        depths[access.chain].add(access.depth)
    for access in accesses:
        # a load that LLVM has moved to what uses it may have that one's place
        there = (found.get(access.chain) or beside.get(access.chain, [])) if alike else []
        operation = there[0][0] if there else None
        line = _line(operation, files) if operation else _own_line(access.chain, files)
        times = _times(access.depth, depths[access.chain], there, ran)
        if operation is None or times is None or access.conflicts is None:
            traffic.shared_uncounted.append(line)
            continue
        if extra := times * access.conflicts:
            key = KINDS.get(operation.name, _TILE), line
            traffic.bank_conflicts += extra
            traffic.bank_conflict_sites[key] = traffic.bank_conflict_sites.get(key, 0) + extra


def operations(around: Operation, path: tuple[Block, ...]) -> Iterator[_Found]:
    """All operations, each with the blocks around it, one for each loop and the innermost last."""
    for region in around.regions:
        for block in region:
            here = (*path, block) if around.name in _LOOPS or not path else (*path[:-1], block)
            for operation in block.operations:
                yield operation, here
                yield from operations(operation, here)


def _times(
    depth: int, every: set[int], there: Sequence[_Found], ran: Mapping[Block, int]
) -> int | None:
    """How often an access was made; None where its operations do not tell."""
    own = {len(path) - 1 for _, path in there}
    if own == every:
        there = [one for one in there if len(one[1]) - 1 == depth]
    elif len(own) > 1 or len(every) > 1 or own < every:
        return None
    times = {ran.get(path[depth], 0) for _, path in there if len(path) > depth}
    return times.pop() if len(times) == 1 else None


def chain_of(operation: Operation) -> _Chain:
    """Where an operation comes from, as the PTX says it."""
    places = operation.place.files
    return tuple((Path(name).name, line, column) for name, line, column in places)


def _own_line(chain: _Chain, files: Mapping[str, str]) -> int:
    """The learner's line of an access of which no operation is known."""
    return _learners(chain, {Path(name).name: file for name, file in files.items()})


def _line(operation: Operation, files: Mapping[str, str]) -> int:
    """The learner's line; 0 where that is not known."""
    return _learners(operation.place.files, files)


def _learners(chain: _Chain, files: Mapping[str, str]) -> int:
    """The first place in one of the files, the first of which is the kernel's own."""
    own = next(iter(files.values()), "")
    return next((line_in(files[name], line, own) for name, line, _ in chain if name in files), 0)
