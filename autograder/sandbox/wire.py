"""A launch and its result as plain bytes. Nothing here executes anything, and nothing pickles.

A message is the length of its head (4 bytes), its head (MessagePack), then the arrays' bytes, one
after the other. What a head may hold, the classes here declare, and msgspec takes nothing else. The
judge knows every array's size before it reads a result.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Meta, Struct

from autograder.sandbox.doubt import (
    FEW,
    MOST_FIELDS,
    Count,
    Direction,
    Text,
    WireError,
    a_value,
    plainly,
)
from course.engine.faults import KernelFault, Outcome
from course.engine.job import Form, Ran, Run
from course.engine.traffic import Site, Traffic
from course.plain.sectors import SECTOR_BYTES
from course.words.numba import SIMT
from course.words.sentences import WORDS
from course.words.triton import TILE

#: A result's head: its sites, and a fault's values.
LARGEST_HEAD_BYTES = 4 * 2**20
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
#: ... but that an engine does not run what a GPU would, in its own words, or that a Triton launcher
#: returned no such outputs.
_WORDS_OF = {Outcome.NOT_MEASURED: SIMT | TILE, Outcome.WRONG_ANSWER: TILE}


class EngineFailed(Exception):
    """The engine itself failed on a launch: the text is what it raised."""


# ------------------------------------------------------------ what a head may hold


class _Launch(Struct):
    """A launch: `run` is without its arguments, of which a number is (dtype, value).

    An array's bytes follow; not those of a run that is planned and not made.
    """

    run: Run
    arguments: dict[str, Form | tuple[str, bool | int | float]]


class _Site(Struct, array_like=True, forbid_unknown_fields=True):
    """A `Site`, in its order."""

    array: Text
    direction: Direction
    line: Count
    column: Count
    requests: Count | None
    sectors: Count
    lane_bytes: Count
    footprint_bytes: Count
    descriptor: bool
    ideal_sectors: Count | None
    width_bytes: Count
    side_by_side: Count
    copies: Count


class _Traffic(Struct, forbid_unknown_fields=True):
    """A `Traffic`, by the names of its fields."""

    sites: Annotated[list[_Site], FEW]
    footprints: Annotated[dict[tuple[Text, Direction], Count], FEW]
    bank_conflicts: Count
    bank_conflict_sites: Annotated[dict[tuple[Text, Count], Count], FEW]
    shared_loads: Count
    shared_load_sites: Annotated[dict[Count, Count], FEW]
    shared_uncounted: Annotated[list[Count], FEW]
    divergent_branches: Count
    divergent_sites: Annotated[dict[Count, Count], FEW]
    longest_warp: Count
    lane_work: Count
    busiest_lines: Annotated[dict[Text, Count], FEW]
    shared_bytes: Count
    launches: Count
    registers: Count | None
    spill_bytes: Count | None
    longest_program: Count
    program_bytes: Count
    block_bytes: Count
    busy_turns: Count
    idle_turn_sites: Annotated[dict[Count, Count], FEW]
    idle_programs: Count
    undivided: Count
    unoverlapped: Count
    filled_bytes: Count
    dram_bytes: Count | None


class _Fault(Struct, forbid_unknown_fields=True):
    """A `KernelFault`. What its fields hold, `a_value` looks at."""

    outcome: Outcome
    message_id: Text
    line: Count | None
    fields: Annotated[dict[Text, Any], Meta(max_length=MOST_FIELDS)]


class _Ran(Struct, tag="ran", forbid_unknown_fields=True):
    """A launch that came to its end. Its arrays follow."""

    traffic: _Traffic
    elsewhere: _Fault | None
    tuned: Text


class _Faulted(Struct, tag="fault", forbid_unknown_fields=True):
    """A launch that a fault ended."""

    fault: _Fault


class _Failed(Struct, tag="failed", forbid_unknown_fields=True):
    """A launch on which the engine failed."""

    text: Text


class _Planned(Struct, tag="planned", forbid_unknown_fields=True):
    """What an engine planned of a run, for a process that trusts it no more."""

    plan: msgspec.Raw


class _OutOfMemory(Struct, tag="memory", forbid_unknown_fields=True):
    """A launch for which there was not memory enough."""


# Made now, and not in each fork.
_LAUNCHES = msgspec.msgpack.Decoder(_Launch)
_RESULTS = msgspec.msgpack.Decoder(_Ran | _Planned | _Faulted | _Failed | _OutOfMemory)

# ------------------------------------------------------------ a launch


def encoded_run(run: Run) -> bytes:
    """A launch with its arguments; each array with the allocation that it is a view of."""
    entries: dict[str, Form | tuple[str, bool | int | float]] = {}
    buffers: list[bytes] = []
    for name, value in run.arguments.items():
        if isinstance(value, np.ndarray):
            owner = allocation(value)
            offset = _address(value) - _address(owner) if value.size else 0
            form = value.dtype.str, value.shape, value.strides, offset, owner.nbytes
            entries[name] = Form(*form)
            if not run.planned_for:
                buffers.append(owner.tobytes("A"))
        else:
            scalar = np.asarray(value)
            entries[name] = scalar.dtype.str, scalar.item()
    return _message(_Launch(replace(run, arguments={}), entries), buffers)


def decoded_run(data: bytes) -> Run:
    """The launch that the judge wrote. It is trusted by the runner, as its only source."""
    head, rest = _parts(data, len(data), _LAUNCHES)
    arguments: dict[str, Any] = {}
    for name, given in head.arguments.items():
        if isinstance(given, tuple):
            arguments[name] = np.dtype(given[0]).type(given[1])
        elif head.run.planned_for:
            arguments[name] = given
        else:
            owner = np.frombuffer(rest[: given.bytes], np.uint8).copy()
            rest = rest[given.bytes :]
            form = given.shape, given.dtype, owner, given.offset, given.strides
            arguments[name] = np.ndarray(*form)
    return replace(head.run, arguments=arguments)


def allocation(array: np.ndarray) -> np.ndarray:
    """The array whose memory it is."""
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


def encoded_ran(ran: Ran) -> bytes:
    """What a launch left: the elements of each array, and the counts."""
    counts = {name: getattr(ran.traffic, name) for name in _Traffic.__struct_fields__}
    counts["sites"] = [
        _Site(*[getattr(site, name) for name in _Site.__struct_fields__])
        for site in ran.traffic.sites
    ]
    elsewhere = None if ran.elsewhere is None else _plain(ran.elsewhere)
    head = _Ran(_Traffic(**counts), elsewhere, plainly(ran.tuned))
    return _message(head, [array.tobytes() for array in ran.arrays.values()])


def encoded_plan(plan: dict[str, Any]) -> bytes:
    """The launches of a run that was planned."""
    return _message(_Planned(msgspec.Raw(msgspec.msgpack.encode(plan))))


def encoded_fault(fault: KernelFault) -> bytes:
    """What is wrong with a kernel, without the counts until then."""
    return _message(_Faulted(_plain(fault)))


def _plain(fault: KernelFault) -> _Fault:
    fields = {name: plainly(value) for name, value in fault.fields.items()}
    return _Fault(fault.outcome, fault.message_id, fault.line, fields)


def encoded_failure(error: BaseException) -> bytes:
    """What the engine raised, which is no fault of the kernel's."""
    if isinstance(error, MemoryError):
        return _message(_OutOfMemory())
    return _message(_Failed(plainly(f"{type(error).__name__}: {error}"[:500])))


def decoded_result(data: bytes, run: Run) -> Ran:
    """The result of `run` from bytes that may be anything.

    Raises:
        KernelFault: where the result is one.
        MemoryError: where the launch ran out of memory.
        EngineFailed: where the engine failed.
        WireError: where the bytes are no result of this launch.
    """
    head, rest = _parts(data, LARGEST_HEAD_BYTES, _RESULTS)
    if not isinstance(head, _Ran):
        raise _instead(head)
    arrays = {}
    for name, dtype, shape in _left(run):
        size = _size(dtype, shape)
        if len(rest) < size:
            raise WireError(f"the array {name} is short of {size - len(rest)} bytes")
        arrays[name] = _valid(np.frombuffer(rest[:size], dtype).reshape(shape))
        rest = rest[size:]
    if len(rest):
        raise WireError(f"{len(rest)} bytes follow the last array")
    return Ran(arrays, _traffic(head.traffic), _elsewhere(head.elsewhere), head.tuned)


def decoded_plan(data: bytes, run: Run) -> bytes:
    """The plan of `run` as it was made, unread, from bytes that may be anything.

    Raises:
        KernelFault, MemoryError, EngineFailed, WireError: as for `decoded_result`.
    """
    head, _ = _parts(data, LARGEST_HEAD_BYTES, _RESULTS)
    if not isinstance(head, _Planned):
        raise _instead(head)
    return bytes(head.plan)


def _instead(head: Struct) -> Exception:
    """What came in the place of what was asked for."""
    if isinstance(head, _Faulted):
        return _fault(head.fault)
    if isinstance(head, _OutOfMemory):
        return MemoryError()
    return EngineFailed(head.text) if isinstance(head, _Failed) else WireError("another answer")


def _valid(values: np.ndarray) -> np.ndarray:
    """The array; a bool that is neither 0 nor 1 is none."""
    if values.dtype.kind == "b" and (values.view(np.uint8) > 1).any():
        raise WireError("an array of bools holds something else")
    return values.copy()


def _traffic(counts: _Traffic) -> Traffic:
    fields = msgspec.structs.asdict(counts)
    fields["sites"] = [Site(*msgspec.structs.astuple(site)) for site in counts.sites]
    traffic = Traffic(**fields)
    for pair, covered in traffic.footprints.items():
        if covered > traffic.sectors(*pair) * SECTOR_BYTES:
            raise WireError(f"more of {pair[0]} is covered than was asked for")
    return traffic


def _fault(sent: _Fault) -> KernelFault:
    outcome, message_id = sent.outcome, sent.message_id
    possible = outcome in _FAULTS or message_id in _WORDS_OF.get(outcome, {})
    if not possible or message_id not in WORDS:
        raise WireError(f"no launch comes to {outcome.value} {message_id!r}")
    if {"outcome", "message_id", "line", "self"} & sent.fields.keys():
        raise WireError("a fault's values have names that no fault has")
    fields = {name: a_value(value) for name, value in sent.fields.items()}
    return KernelFault(outcome, message_id, sent.line, **fields)


def _elsewhere(sent: _Fault | None) -> KernelFault | None:
    fault = None if sent is None else _fault(sent)
    if fault is not None and fault.outcome is not Outcome.DOES_NOT_COMPILE:
        raise WireError(f"no compiler comes to {fault.outcome.value}")
    return fault


# ------------------------------------------------------------ both

_Head = TypeVar("_Head")


def _message(head: Struct, buffers: Sequence[bytes] = ()) -> bytes:
    text = msgspec.msgpack.encode(head, enc_hook=_number)
    return b"".join([_LENGTH.pack(len(text)), text, *buffers])


def _number(value: object) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no plain value")


def _parts(
    data: bytes, largest_head: int, heads: msgspec.msgpack.Decoder[_Head]
) -> tuple[_Head, memoryview]:
    if len(data) < _LENGTH.size:
        raise WireError(f"expected a message, got {len(data)} bytes")
    [length] = _LENGTH.unpack_from(data)
    if length > min(largest_head, len(data) - _LENGTH.size):
        raise WireError(f"its head cannot have {length} bytes")
    view = memoryview(data)[_LENGTH.size :]
    try:
        return heads.decode(view[:length]), view[length:]
    except (ValueError, TypeError, RecursionError) as error:  # TypeError: a key that is a dict
        raise WireError(f"{type(error).__name__}: {error}"[:200]) from error
