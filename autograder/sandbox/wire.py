"""A launch and its result as plain bytes. Nothing here executes anything, and nothing pickles.

A message is the length of its head (4 bytes), its head (JSON), then the arrays' bytes, one
after the other. The judge knows every array's size before it reads a result, and takes what a
result says of traffic and faults only where each value is of the kind that it has to be.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from autograder.sandbox.doubt import (
    WireError,
    a_count,
    a_direction,
    a_list,
    a_row,
    a_text,
    a_value,
    plainly,
)
from course.faults import KernelFault, Outcome
from course.runner import Output, Ran, Run
from course.tile.wording import TILE
from course.traffic import SECTOR_BYTES, Site, Traffic
from course.words import WORDS

#: A result's head: its sites, and a fault's values.
LARGEST_HEAD_BYTES = 4 * 2**20
_LENGTH = struct.Struct(">I")
#: What the compiler found of one cell's kernels: a name, and text that only a runner reads.
Compiled = Mapping[str, str]
MOST_COMPILED = 200
LONGEST_COMPILED = 5_000
#: What a launch can come to by itself; right or dear is for the judge to say.
_FAULTS = frozenset(Outcome) - {
    Outcome.PASS,
    Outcome.TOO_MUCH_TRAFFIC,
    Outcome.TOO_DIVERGENT,
    Outcome.BANK_CONFLICTS,
    Outcome.TOO_SERIAL,
    Outcome.WRONG_ANSWER,
    Outcome.NOT_MEASURED,
}
#: ... but that a launcher returned no such outputs, or that the engine cannot run a Triton cell.
_TILE_FAULTS = frozenset({Outcome.WRONG_ANSWER, Outcome.NOT_MEASURED})


class EngineFailed(Exception):
    """The engine itself failed on a launch: the text is what it raised."""


# ------------------------------------------------------------ a launch


def encoded_run(run: Run, compiled: Compiled | None = None) -> bytes:
    """A launch with its arguments; each array with the allocation that it is a view of.

    `compiled` is what earlier launches of the same cell found, for this one not to find again.
    """
    entries: list[dict[str, Any]] = []
    buffers: list[bytes] = []
    for name, value in run.arguments.items():
        if isinstance(value, np.ndarray):
            owner = _owner(value)
            entries.append(
                {
                    "name": name,
                    "dtype": value.dtype.str,
                    "shape": list(value.shape),
                    "strides": list(value.strides),
                    "offset": _address(value) - _address(owner) if value.size else 0,
                    "bytes": owner.nbytes,
                }
            )
            buffers.append(owner.tobytes("A"))
        else:
            scalar = np.asarray(value)
            entries.append({"name": name, "dtype": scalar.dtype.str, "value": scalar.item()})
    head = {
        "source": run.source,
        "kernel": run.kernel,
        "grid": list(map(int, run.grid)),
        "block": list(map(int, run.block)),
        "shared_bytes": int(run.shared_bytes),
        "step_limit": int(run.step_limit),
        "arguments": entries,
        "triton": {
            "dialect": run.dialect,
            "warps": int(run.warps),
            "outputs": [[o.name, list(map(int, o.shape)), o.dtype] for o in run.outputs],
            "unwritten": list(run.unwritten),
            "cache": run.cache,
            "graded": run.graded,
            "binary": run.binary,
        },
        "compiled": dict(compiled or {}),
    }
    return _message(head, buffers)


def dialect_of(data: bytes) -> str:
    """The dialect of the launch that the judge wrote."""
    return str(_parts(data, len(data))[0]["triton"]["dialect"])


def compiled_of(data: bytes) -> Compiled:
    """What the launch that the judge wrote brings of the compiler's findings."""
    return dict(_parts(data, len(data))[0]["compiled"])


def decoded_run(data: bytes) -> Run:
    """The launch that the judge wrote: it is trusted by the runner, as its only source."""
    head, rest = _parts(data, len(data))
    arguments: dict[str, Any] = {}
    for entry in head["arguments"]:
        dtype = np.dtype(entry["dtype"])
        if "value" in entry:
            arguments[entry["name"]] = dtype.type(entry["value"])
            continue
        owner = np.frombuffer(rest[: entry["bytes"]], np.uint8).copy()
        rest = rest[entry["bytes"] :]
        shape, strides = tuple(entry["shape"]), tuple(entry["strides"])
        arguments[entry["name"]] = np.ndarray(shape, dtype, owner, entry["offset"], strides)
    triton = head["triton"]
    outputs = tuple(Output(name, tuple(shape), dtype) for name, shape, dtype in triton["outputs"])
    return Run(
        head["source"],
        head["kernel"],
        arguments,
        tuple(head["grid"]),
        tuple(head["block"]),
        head["shared_bytes"],
        head["step_limit"],
        **{**triton, "outputs": outputs, "unwritten": tuple(triton["unwritten"])},
    )


def _owner(array: np.ndarray) -> np.ndarray:
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return owner


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


# ------------------------------------------------------------ its result


def largest_result(run: Run) -> int:
    """The most bytes that a result of this launch can have."""
    sizes = [_size(dtype, shape) for _, dtype, shape in _left(run)]
    return _LENGTH.size + LARGEST_HEAD_BYTES + sum(sizes)


def _left(run: Run) -> list[tuple[str, np.dtype[Any], tuple[int, ...]]]:
    """Name, dtype and shape of each array that a launch leaves: those passed, and outputs."""
    passed = [(n, v) for n, v in run.arguments.items() if isinstance(v, np.ndarray)]
    made = [(output.name, np.dtype(output.dtype), output.shape) for output in run.outputs]
    return [*((name, value.dtype, value.shape) for name, value in passed), *made]


def _size(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    return dtype.itemsize * math.prod(shape)


def encoded_ran(ran: Ran, compiled: Compiled | None = None) -> bytes:
    """What a launch left: the elements of each array, the counts, and what it compiled."""
    traffic = ran.traffic
    head = {
        "sites": [astuple(site) for site in traffic.sites],
        "footprints": [[*pair, count] for pair, count in traffic.footprints.items()],
        "bank_conflict_sites": [[*k, n] for k, n in traffic.bank_conflict_sites.items()],
        "divergent_sites": [[line, n] for line, n in traffic.divergent_sites.items()],
        "counts": [int(getattr(traffic, name)) for name in _COUNTS],
        "known": [getattr(traffic, name) for name in _KNOWN],
        "compiled": dict(compiled or {}),
        "elsewhere": None if ran.elsewhere is None else _plain(ran.elsewhere),
    }
    return _message(head, [array.tobytes() for array in ran.arrays.values()])


def encoded_fault(fault: KernelFault, compiled: Compiled | None = None) -> bytes:
    """What is wrong with a kernel, without the counts until then."""
    return _message({"compiled": dict(compiled or {}), **_plain(fault)})


def _plain(fault: KernelFault) -> dict[str, Any]:
    return {
        "fault": fault.outcome.value,
        "message_id": fault.message_id,
        "line": fault.line,
        "fields": {name: plainly(value) for name, value in fault.fields.items()},
    }


def encoded_failure(error: BaseException) -> bytes:
    """What the engine raised, which is no fault of the kernel's."""
    if isinstance(error, MemoryError):
        return _message({"memory": True})
    return _message({"failed": f"{type(error).__name__}: {error}"[:500]})


def decoded_result(data: bytes, run: Run) -> Ran:
    """The result of `run` from bytes that may be anything.

    Raises:
        KernelFault: where the result is one.
        MemoryError: where the launch ran out of memory.
        EngineFailed: where the engine failed.
        WireError: where the bytes are no result of this launch.
    """
    try:
        head, rest = _parts(data, LARGEST_HEAD_BYTES)
        if "fault" in head:
            raise _fault(head)
        if "memory" in head:
            raise MemoryError
        if "failed" in head:
            raise EngineFailed(a_text(head["failed"]))
        arrays = {}
        for name, dtype, shape in _left(run):
            size = _size(dtype, shape)
            if len(rest) < size:
                raise WireError(f"the array {name} is short of {size - len(rest)} bytes")
            arrays[name] = _valid(np.frombuffer(rest[:size], dtype).reshape(shape))
            rest = rest[size:]
        if len(rest):
            raise WireError(f"{len(rest)} bytes follow the last array")
        return Ran(arrays, _traffic(head), _elsewhere(head["elsewhere"]))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, WireError):
            raise
        raise WireError(f"{type(error).__name__}: {error}"[:200]) from error


def decoded_compiled(data: bytes) -> Compiled:
    """What a result says of the compiler's findings; nothing where it is no result.

    It comes from the launch of a cell, and goes into later launches of the same cell alone.
    """
    try:
        found = _parts(data, LARGEST_HEAD_BYTES)[0].get("compiled")
    except (WireError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or len(found) > MOST_COMPILED:
        return {}
    texts = [*found.keys(), *found.values()]
    if any(not isinstance(text, str) or len(text) > LONGEST_COMPILED for text in texts):
        return {}
    return found


_COUNTS = (
    "bank_conflicts",
    "divergent_branches",
    "longest_warp",
    "shared_bytes",
    "launches",
    "longest_program",
    "program_bytes",
)
#: Counts that a launch need not know.
_KNOWN = ("registers", "spill_bytes", "dram_bytes")


def _valid(values: np.ndarray) -> np.ndarray:
    """The array; a bool that is neither 0 nor 1 is none."""
    if values.dtype.kind == "b" and (values.view(np.uint8) > 1).any():
        raise WireError("an array of bools holds something else")
    return values.copy()


def _traffic(head: Mapping[str, Any]) -> Traffic:
    sites = [_site(*a_row(row, 9)) for row in a_list(head["sites"])]
    counts = [a_count(value) for value in a_row(head["counts"], len(_COUNTS))]
    known = [None if v is None else a_count(v) for v in a_row(head["known"], len(_KNOWN))]
    footprints = [a_row(row, 3) for row in a_list(head["footprints"])]
    conflicts = [a_row(row, 3) for row in a_list(head["bank_conflict_sites"])]
    divergent = [a_row(row, 2) for row in a_list(head["divergent_sites"])]
    traffic = Traffic(
        sites=sites,
        footprints={(a_text(a), a_direction(d)): a_count(n) for a, d, n in footprints},
        touched={},
        bank_conflict_sites={(a_text(a), a_count(line)): a_count(n) for a, line, n in conflicts},
        divergent_sites={a_count(line): a_count(n) for line, n in divergent},
        registers=known[0],
        spill_bytes=known[1],
        dram_bytes=known[2],
        **dict(zip(_COUNTS, counts, strict=True)),
    )
    for pair, covered in traffic.footprints.items():
        if covered > traffic.sectors(*pair) * SECTOR_BYTES:
            raise WireError(f"more of {pair[0]} is covered than was asked for")
    return traffic


def _site(
    array: object,
    direction: object,
    line: object,
    column: object,
    requests: object,
    sectors: object,
    lane_bytes: object,
    footprint_bytes: object,
    descriptor: object,
) -> Site:
    if not isinstance(descriptor, bool):
        raise WireError("expected true or false")
    return Site(
        a_text(array),
        a_direction(direction),
        a_count(line),
        a_count(column),
        None if requests is None else a_count(requests),
        a_count(sectors),
        a_count(lane_bytes),
        a_count(footprint_bytes),
        descriptor,
    )


def _fault(head: Mapping[str, Any]) -> KernelFault:
    outcome = Outcome(head["fault"])
    message_id = a_text(head["message_id"])
    possible = outcome in _FAULTS or (outcome in _TILE_FAULTS and message_id in TILE)
    if not possible or message_id not in WORDS:
        raise WireError(f"no launch comes to {outcome.value} {message_id!r}")
    line = None if head["line"] is None else a_count(head["line"])
    fields = {a_text(name): a_value(value) for name, value in head["fields"].items()}
    if {"outcome", "message_id", "line", "self"} & fields.keys() or len(fields) > 100:
        raise WireError("a fault's values have names that no fault has")
    return KernelFault(outcome, message_id, line, **fields)


def _elsewhere(head: Mapping[str, Any] | None) -> KernelFault | None:
    fault = None if head is None else _fault(head)
    if fault is not None and fault.outcome is not Outcome.DOES_NOT_COMPILE:
        raise WireError(f"no compiler comes to {fault.outcome.value}")
    return fault


# ------------------------------------------------------------ both


def _message(head: Mapping[str, Any], buffers: Sequence[bytes] = ()) -> bytes:
    text = json.dumps(head, default=_number).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *buffers])


def _number(value: object) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no plain value")


def _parts(data: bytes, largest_head: int) -> tuple[dict[str, Any], memoryview]:
    if len(data) < _LENGTH.size:
        raise WireError(f"expected a message, got {len(data)} bytes")
    [length] = _LENGTH.unpack_from(data)
    if length > min(largest_head, len(data) - _LENGTH.size):
        raise WireError(f"its head cannot have {length} bytes")
    view = memoryview(data)[_LENGTH.size :]
    head = json.loads(bytes(view[:length]))
    if not isinstance(head, dict):
        raise WireError("its head is no object")
    return head, view[length:]
