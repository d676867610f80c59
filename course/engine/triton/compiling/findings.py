"""What other GPUs make of a checked kernel, found out behind the notebook's back.

A check compiles for compute capability 8.0 and answers. A child at the lowest priority then
compiles the same launches for 7.5 and 9.0, and what it finds is told with the next verdict. A
grader waits for it on the cases whose traffic is shown: there it decides, once the answer is right
(`refused_elsewhere`).
"""

from __future__ import annotations

import atexit
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from course.engine import stated_gpu
from course.engine.faults import KernelFault, Outcome
from course.engine.triton.compiling import compiler, gate, workplace
from course.engine.triton.compiling.asked import COMPILE_SECONDS
from course.engine.triton.compiling.found import Found, from_plain, known, plain, remember
from course.engine.triton.compiling.functions import code_of, names_used
from course.engine.triton.compiling.gate import OTHER_TARGETS
from course.engine.triton.compiling.specialisation import Source, key_of
from course.plain.bounded import Child, DiedError, LateError, Say

#: A GPU of each compute capability that a learner may have heard of.
GPUS = {75: "T4", 80: "A100", 90: "H100"}
_LOWEST_PRIORITY = 19
_DESCRIPTOR = "make_tensor_descriptor"


@dataclass(frozen=True)
class Finding:
    """Something that another GPU would not take. `label` says what was checked."""

    label: str
    target: int
    message_id: str
    fields: Mapping[str, object]


def refused_elsewhere(source: Source) -> KernelFault | None:
    """In a grader's launch, what the compiler for another GPU says against it; else None."""
    if not workplace.present().others or gate.lower(source, gate.TARGET).common:
        return None
    for target in OTHER_TARGETS:
        found = gate.find(source, target, binary=False, once_for_all_alignments=True)
        if isinstance(found, KernelFault):
            return KernelFault(
                found.outcome, "tile_elsewhere", found.line, kernel=source.function.__name__,
                gpu=GPUS[target], **found.fields,
            )  # fmt: skip
    return None


@dataclass
class _Search:
    """One child and what it was asked: (key, source, target) in its order."""

    asked: dict[str, tuple[Source, int]]
    child: Child | None


_searches: dict[str, _Search] = {}
_told: set[tuple[str, str, str]] = set()


def in_background(label: str, sources: Iterable[Source]) -> None:
    """Compiles kernels for the other targets in a child of this process.

    A search under the same label that is still going on is given up, where its kernel is an older
    one.

    Args:
        label: what was checked, an exercise's name.
        sources: `specialisation.source_of` each launch; one of a kind is enough.
    """
    asked: dict[str, tuple[Source, int]] = {}
    for source in sources:
        for target in OTHER_TARGETS:
            asked[key_of(source, target)] = (source, target)
    if label in _searches and _searches[label].asked.keys() == asked.keys():
        return  # the same cell again
    _end(label)
    unknown = {key: job for key, job in asked.items() if known(key, binary=False) is None}
    child = None
    if unknown:

        def work(say: Say) -> None:
            workplace.work_in_place()
            for key, (source, target) in unknown.items():
                say([key, plain(gate.find(source, target, binary=False))])

        try:
            child = Child(work, COMPILE_SECONDS * len(unknown), _LOWEST_PRIORITY)
        except OSError:
            return  # no child can be made: nothing is found out
    _searches[label] = _Search(asked, child)


def lacks_allocator(cell: str, sources: Iterable[Source]) -> str | None:
    """The kernel that makes descriptors: on a GPU it wants memory that the cell does not set."""
    if "set_allocator" in cell:
        return None
    makers = (s.function for s in sources if makes_descriptors(s.function))
    return next((str(function.__name__) for function in makers), None)


def makes_descriptors(function: Any) -> bool:
    """Whether a jitted function makes tensor descriptors on the device."""
    return _DESCRIPTOR in names_used(function)


def pending_findings() -> list[Finding]:
    """What was found since the last call, each sentence once a kernel; waits for nothing."""
    found: list[Finding] = []
    for label, search in list(_searches.items()):
        _hear(search)
        for key, (source, target) in search.asked.items():
            told = known(key, binary=False)
            finding = None if told is None else _finding(label, source, target, told)
            once = (label, source.function.src, str(finding))  # of several sizes one is told
            if finding is not None and once not in _told:
                _told.add(once)
                found.append(finding)
        if search.child is None or not search.child.running:
            del _searches[label]
    return found


def _hear(search: _Search) -> None:
    if search.child is None:
        return
    try:
        for key, kept in search.child.lines(wait=False):
            remember(key, from_plain(kept))
    except (LateError, DiedError):
        pass  # what it had said stays; the rest is for grading to find


def _finding(label: str, source: Source, target: int, found: Found) -> Finding | None:
    fields: dict[str, object] = {
        "gpu": GPUS[target],
        "target": compiler.shown(target),
        "kernel": source.function.__name__,
    }
    if isinstance(found, KernelFault):
        if found.outcome is not Outcome.DOES_NOT_COMPILE:
            return None
        line = found.line if found.line != code_of(source.function).first_line else None
        known = {**fields, "line": line, "detail": found.fields.get("detail", "")}
        return Finding(label, target, "tile_elsewhere_refused", known)
    if found.fits:
        return None
    sizes = {"bytes": found.shared_bytes, "limit": stated_gpu.shared_limit(target)}
    return Finding(label, target, "tile_elsewhere_shared", {**fields, **sizes})


def _end(label: str) -> None:
    search = _searches.pop(label, None)
    if search is not None and search.child is not None:
        search.child.close()


@atexit.register
def _end_all() -> None:
    for label in list(_searches):
        _end(label)
