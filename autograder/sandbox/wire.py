"""A launch and its result as plain bytes. Nothing here executes anything, and nothing pickles.

A message is the length of its head (4 bytes), its head (JSON), then the arrays' bytes, one
after the other. The judge knows every array's size before it reads a result, and takes what a
result says of traffic and faults only where each value is of the kind that it has to be.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from course.faults import KernelFault, Outcome
from course.runner import Ran, Run
from course.traffic import DIRECTIONS, Site, Traffic
from course.words import WORDS

#: A result's head: its sites, and a fault's values.
LARGEST_HEAD_BYTES = 4 * 2**20
LARGEST_NUMBER = 2**62
MOST_ENTRIES = 20_000
LONGEST_TEXT = 20_000
_LENGTH = struct.Struct(">I")
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


class WireError(ValueError):
    """Bytes that are no message of ours. The text says what was expected."""


class EngineFailed(Exception):
    """The engine itself failed on a launch: the text is what it raised."""


# ------------------------------------------------------------ a launch


def encoded_run(run: Run) -> bytes:
    """A launch with its arguments; each array with the allocation that it is a view of."""
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
    }
    return _message(head, buffers)


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
    return Run(
        head["source"],
        head["kernel"],
        arguments,
        tuple(head["grid"]),
        tuple(head["block"]),
        head["shared_bytes"],
        head["step_limit"],
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
    arrays = [v for v in run.arguments.values() if isinstance(v, np.ndarray)]
    return _LENGTH.size + LARGEST_HEAD_BYTES + sum(array.nbytes for array in arrays)


def encoded_ran(ran: Ran) -> bytes:
    """What a launch left: the elements of each array, and the counts."""
    traffic = ran.traffic
    head = {
        "sites": [astuple(site) for site in traffic.sites],
        "footprints": [[*pair, count] for pair, count in traffic.footprints.items()],
        "bank_conflict_sites": [[*k, n] for k, n in traffic.bank_conflict_sites.items()],
        "divergent_sites": [[line, n] for line, n in traffic.divergent_sites.items()],
        "counts": [int(getattr(traffic, name)) for name in _COUNTS],
    }
    return _message(head, [array.tobytes() for array in ran.arrays.values()])


def encoded_fault(fault: KernelFault) -> bytes:
    """What is wrong with a kernel, without the counts until then."""
    return _message(
        {
            "fault": fault.outcome.value,
            "message_id": fault.message_id,
            "line": fault.line,
            "fields": {name: _plain(value) for name, value in fault.fields.items()},
        }
    )


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
            raise EngineFailed(_text(head["failed"]))
        arrays = {}
        for name, sent in run.arguments.items():
            if not isinstance(sent, np.ndarray):
                continue
            if len(rest) < sent.nbytes:
                raise WireError(f"the array {name} is short of {sent.nbytes - len(rest)} bytes")
            values = np.frombuffer(rest[: sent.nbytes], sent.dtype).reshape(sent.shape)
            arrays[name] = _valid(values)
            rest = rest[sent.nbytes :]
        if len(rest):
            raise WireError(f"{len(rest)} bytes follow the last array")
        return Ran(arrays, _traffic(head))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, WireError):
            raise
        raise WireError(f"{type(error).__name__}: {error}"[:200]) from error


_COUNTS = ("bank_conflicts", "divergent_branches", "longest_warp", "shared_bytes", "launches")


def _valid(values: np.ndarray) -> np.ndarray:
    """The array; a bool that is neither 0 nor 1 is none."""
    if values.dtype.kind == "b" and (values.view(np.uint8) > 1).any():
        raise WireError("an array of bools holds something else")
    return values.copy()


def _traffic(head: Mapping[str, Any]) -> Traffic:
    sites = [_site(*_row(row, 9)) for row in _list(head["sites"])]
    counts = [_count(value) for value in _row(head["counts"], len(_COUNTS))]
    footprints = [_row(row, 3) for row in _list(head["footprints"])]
    conflicts = [_row(row, 3) for row in _list(head["bank_conflict_sites"])]
    divergent = [_row(row, 2) for row in _list(head["divergent_sites"])]
    return Traffic(
        sites=sites,
        footprints={(_text(a), _direction(d)): _count(n) for a, d, n in footprints},
        bank_conflict_sites={(_text(a), _count(line)): _count(n) for a, line, n in conflicts},
        divergent_sites={_count(line): _count(n) for line, n in divergent},
        **dict(zip(_COUNTS, counts, strict=True)),
    )


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
        _text(array),
        _direction(direction),
        _count(line),
        _count(column),
        None if requests is None else _count(requests),
        _count(sectors),
        _count(lane_bytes),
        _count(footprint_bytes),
        descriptor,
    )


def _fault(head: Mapping[str, Any]) -> KernelFault:
    outcome = Outcome(head["fault"])
    message_id = _text(head["message_id"])
    if outcome not in _FAULTS or message_id not in WORDS:
        raise WireError(f"no launch comes to {outcome.value} {message_id!r}")
    line = None if head["line"] is None else _count(head["line"])
    fields = {_text(name): _tuples(value) for name, value in head["fields"].items()}
    if {"outcome", "message_id", "line", "self"} & fields.keys() or len(fields) > 100:
        raise WireError("a fault's values have names that no fault has")
    return KernelFault(outcome, message_id, line, **fields)


def _plain(value: object, depth: int = 0) -> Any:
    """A fault's value in JSON. A tuple becomes a list, and a list a tuple again."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value[:LONGEST_TEXT] if isinstance(value, str) else value
    if isinstance(value, tuple | list) and depth < 4:
        return [_plain(item, depth + 1) for item in value[:MOST_ENTRIES]]
    return str(value)[:LONGEST_TEXT]


def _tuples(value: object, depth: int = 0) -> Any:
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        if abs(value) > LARGEST_NUMBER:
            raise WireError("a number is too large")
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list) and depth < 5:
        return tuple(_tuples(item, depth + 1) for item in _list(value))
    raise WireError(f"expected a plain value, got {type(value).__name__}")


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_NUMBER:
        raise WireError(f"expected a count, got {str(value)[:50]}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise WireError("expected a text")
    value.encode()  # half of a character is no text: UnicodeEncodeError
    return value


def _direction(value: object) -> str:
    if value not in DIRECTIONS:
        raise WireError("expected load, store or atomic")
    return str(value)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list) or len(value) > MOST_ENTRIES:
        raise WireError("expected a list that is not too long")
    return value


def _row(value: object, count: int) -> list[Any]:
    row = _list(value)
    if len(row) != count:
        raise WireError(f"expected {count} values in a row, got {len(row)}")
    return row


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
