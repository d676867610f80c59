"""`tl.inline_asm_elementwise`: straight PTX between registers (PTX ISA, "Instruction Set").

A register is an array of uint64, one number for each pack of elements; an instruction says by its
types how it reads the lower bits. What branches, or asks for memory or a thread's number, is
`Unsupported`: memory is the meter's.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from course.engine import bits, libdevice
from course.engine.rounding import multiply_add
from course.engine.triton.ir import Operation, Type
from course.engine.triton.running import narrow
from course.engine.triton.running.elements import remainder, truncated_division
from course.engine.triton.running.registers import (
    U64,
    Name,
    convert,
    cut,
    each,
    parts_of,
    read,
    width_of,
    written,
)
from course.engine.triton.running.values import (
    Unsupported,
    bf16_from_bits,
    bf16_to_bits,
    numpy_type,
)

Array = np.ndarray[Any, Any]
_REGISTER_BITS = 32
_STATEMENT = re.compile(
    r"(?:@(?P<not>!?)(?P<guard>[%\w]+)\s+)?(?P<name>[\w.:]+)\s*(?P<rest>.*)", re.DOTALL
)
_OPERAND = re.compile(r"\{[^}]*\}|[^,\s]+")
#: what only orders or delays, or hints
_NOTHING = ("nanosleep", "bar", "barrier", "fence", "membar", "griddepcontrol", "pragma")


# ---------------------------------------------------------------- instructions


def _shifted(left: bool) -> Callable[..., Array]:
    def compute(values: Array, by: Array) -> Array:
        size = values.dtype.itemsize * 8
        short = np.minimum(by.astype(np.int64) & 0xFFFFFFFF, size - 1).astype(values.dtype)
        moved = values << short if left else values >> short
        gone = by.astype(np.int64) & 0xFFFFFFFF >= size
        return np.where(gone & (left or values >= 0), values.dtype.type(0), moved)

    return compute


def _lookup(a: Array, b: Array, c: Array, table: Array) -> Array:
    made = np.zeros_like(a)
    for at in range(8):
        if int(table.flat[0]) >> at & 1:
            made = made | ((a if at & 4 else ~a) & (b if at & 2 else ~b) & (c if at & 1 else ~c))
    return made


def _field(values: Array, start: Array, length: Array) -> Array:
    """`bfe`."""
    if values.dtype != np.uint32:
        raise Unsupported("inline assembly with bfe of other than u32")
    first, count = (one.astype(U64) & U64(0xFF) for one in (start, length))
    mask = (U64(1) << np.minimum(count, U64(32))) - U64(1)
    return (values.astype(U64) >> np.minimum(first, U64(32)) & mask).astype(np.uint32)


def _inserted(part: Array, into: Array, start: Array, length: Array) -> Array:
    """`bfi`."""
    first, count = (one.astype(U64) & U64(0xFF) for one in (start, length))
    mask = (U64(1) << np.minimum(count, U64(32))) - U64(1) << np.minimum(first, U64(32))
    moved = part.astype(U64) << np.minimum(first, U64(32))
    return (moved & mask | into.astype(U64) & ~mask).astype(into.dtype)


_COMPUTE: dict[str, Callable[..., Array]] = {
    "add": np.add, "sub": np.subtract, "min": np.fmin, "max": np.fmax,
    "neg": np.negative, "abs": np.abs, "fma": multiply_add,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "shl": _shifted(True), "shr": _shifted(False), "lop3": _lookup,
    "prmt": libdevice.permuted_bytes, "bfe": _field, "bfi": _inserted,
    "popc": bits.popc, "clz": bits.clz, "brev": bits.brev,
    "rcp": np.reciprocal, "sqrt": np.sqrt, "rsqrt": libdevice.rsqrt,
    "ex2": np.exp2, "lg2": np.log2, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "div": lambda a, b: a / b if a.dtype.kind == "f" else truncated_division(a, b),
    "rem": remainder, "copysign": lambda a, b: np.copysign(b, a),
    "mad": lambda a, b, c: a * b + c,
}  # fmt: skip
_COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater,
    "hs": np.greater_equal,
}  # fmt: skip


def _product(kind: str, a: Array, b: Array) -> Array:
    if a.dtype.kind == "f" or kind == "lo":
        return a * b
    if kind == "hi":
        return libdevice.high_product(a, b)
    wide = np.dtype(f"{a.dtype.kind}{a.dtype.itemsize * 2}")
    return a.astype(wide) * b.astype(wide)


def _flushed(compute: Callable[..., Array]) -> Callable[..., Array]:
    """Numbers too small to be normal are 0, before and after."""

    def flush(x: Array) -> Array:
        if x.dtype != np.float32:
            return x
        return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(np.float32(0), x), x)

    return lambda *given: flush(compute(*map(flush, given)))


def _types(name: Name) -> list[str]:
    """The types in an instruction's name."""
    return [one for one in name[1:] if re.fullmatch(r"(?:b?f|tf|[busfe]|ue)\d\w*|pred", one)]


def _do(name: Name, given: Sequence[Array]) -> Array:
    """What an instruction makes of the registers that it reads."""
    head, types = name[0], _types(name)
    if head == "mov" or (head == "cvta" and types):
        return given[0]
    if head == "cvt":
        return convert(name, given)
    if not types:
        raise Unsupported(f"inline assembly with {'.'.join(name)}")
    type_ = types[-1]
    if head == "setp":
        test = next((rule for word, rule in _COMPARE.items() if word in name), None)
        if test is None or len(given) > 2:
            raise Unsupported(f"inline assembly with {'.'.join(name)}")
        return test(*(read(one, type_) for one in given)).astype(U64)
    if head == "shf":
        low, high, by = (read(one, "u32").astype(U64) for one in given)
        by = by & U64(31) if "wrap" in name else np.minimum(by, U64(32))
        both = low | high << U64(32)
        return cut(both << by >> U64(32) if "l" in name else both >> by, 32)
    if head == "selp":
        return np.where(given[2] != 0, *given[:2])
    if head == "mul" or (head == "mad" and "wide" in name):
        kind = next((one for one in ("hi", "wide") if one in name), "lo")
        if kind == "wide":
            wide = f"{type_[0]}{2 * width_of(type_)}"
            whole = _product(kind, *(read(one, type_) for one in given[:2]))
            return written(whole if len(given) == 2 else whole + read(given[2], wide), wide)
        product = partial(_product, kind)
        return each(_flushed(product) if "ftz" in name else product, type_, *given)
    if head in ("popc", "clz"):
        return _COMPUTE[head](read(given[0], f"u{width_of(type_)}")).astype(U64)
    compute = _COMPUTE.get(head)
    if compute is None or any(word in name for word in ("cc", "hi", "relu", "nan")):
        raise Unsupported(f"inline assembly with {'.'.join(name)}")
    if head in ("shl", "shr", "bfe"):
        values = read(given[0], type_.replace("b", "u"))
        return written(compute(values, *(read(one, "u32") for one in given[1:])), type_)
    if "ftz" in name:
        compute = _flushed(compute)
    if type_.startswith("b") and not type_.startswith("bf"):
        type_ = type_.replace("b", "u")
    return each(compute, type_, *given)


# ---------------------------------------------------------------- statements


class _Statement(NamedTuple):
    """An instruction; `turned`: that it is done where the guard does not hold."""

    guard: str
    turned: bool
    name: Name
    operands: tuple[str, ...]


@lru_cache(1 << 8)
def _statements(text: str) -> tuple[_Statement, ...]:
    text = text.replace("\\0A", "\n").replace("\\09", " ")
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    found = []
    for part in text.split(";"):
        part = part.lstrip("{} \n\t").rstrip()  # a brace before a statement is a scope's
        if not part or part.startswith(".reg"):
            continue
        read = _STATEMENT.fullmatch(part)
        if read is None:
            raise Unsupported(f"inline assembly that says {part[:60]}")
        guard = (read["guard"] or "", bool(read["not"]))
        operands = tuple(_OPERAND.findall(read["rest"]))
        found.append(_Statement(*guard, tuple(read["name"].split(".")), operands))
    return tuple(found)


class _Registers:
    """What `$0`, `%r1` and the like hold."""

    def __init__(self, given: dict[str, Array]) -> None:
        self.held = given

    def read(self, operand: str, name: Name) -> Array:
        if operand.startswith("{"):
            pieces = [self.read(one, name) for one in _OPERAND.findall(operand[1:-1])]
            width = width_of(_types(name)[-1]) // len(pieces)
            made = np.zeros(1, U64)
            for at, piece in enumerate(pieces):
                made = made | cut(piece, width) << U64(at * width)
            return made
        if operand in self.held:
            return self.held[operand]
        if operand in ("%globaltimer", "%clock64", "%clock", "%globaltimer_lo"):
            return np.array([time.perf_counter_ns()], U64)
        return _immediate(operand, _types(name)[-1] if _types(name) else "b32")

    def write(self, operand: str, value: Array, name: Name, only: Array | None) -> None:
        if operand.startswith("{"):
            pieces = _OPERAND.findall(operand[1:-1])
            width = width_of(_types(name)[-1]) // len(pieces)
            for at, piece in enumerate(pieces):
                self.write(piece, cut(value >> U64(at * width), width), name, only)
            return
        if only is not None:
            value = np.where(only, value, self.held.get(operand, np.zeros(1, U64)))
        self.held[operand] = value


def _immediate(text: str, type_: str) -> Array:
    for start, size in (("0f", 4), ("0d", 8)):
        if text.lower().startswith(start) and len(text) == 2 + 2 * size:
            return np.array([int(text[2:], 16)], U64)
    try:
        if re.fullmatch(r"-?\d+\.\d*(?:[eE][-+]?\d+)?", text):
            return written(np.array([float(text)]), parts_of(type_)[0])
        return np.array([int(text.rstrip("U"), 0) & (1 << 64) - 1], U64)
    except ValueError:
        raise Unsupported(f"inline assembly that asks for {text}") from None


def run(operation: Operation, *given: Array) -> Any:
    """What the assembly makes of each element, or of each pack of elements."""
    pack, shape = operation.integer("packed_element"), operation.result_types[0].shape
    count = max((value.shape[0] for value in given), default=1)
    held: dict[str, Array] = {}
    outputs = [_placed(type_, pack) for type_ in operation.result_types]
    number = sum(len(places) for places in outputs)
    for value, type_ in zip(given, operation.operand_types, strict=True):
        flat = np.broadcast_to(_bits(value, type_), (count, *type_.shape)).reshape(count, -1)
        packs = np.resize(flat, (count, -(-flat.shape[1] // pack) * pack)).reshape(-1, pack)
        width = _item_bits(type_)
        for places in _placed(type_, pack):
            register = np.zeros(1, U64)
            for at, place in enumerate(places):
                register = register | packs[:, place] << U64(at * width)
            held[f"${number}"] = register
            number += 1
    registers = _Registers(held)
    for guard, turned, name, operands in _statements(operation.string("asm_string")):
        if name[0] in _NOTHING:
            continue
        only = None
        if guard:
            only = registers.read(guard, name) != 0
            only = ~only if turned else only
        target, *others = operands
        value = _do(name, [registers.read(one, name) for one in others])
        registers.write(target, value, name, only)
    elements = math.prod(shape)
    made, at = [], 0
    for type_, registers_of in zip(operation.result_types, outputs, strict=True):
        packs = np.zeros((count * -(-elements // pack), pack), U64)
        for places in registers_of:
            register = held.get(f"${at}", np.zeros(1, U64))
            for nth, place in enumerate(places):
                packs[:, place] = cut(register >> U64(nth * _item_bits(type_)), _item_bits(type_))
            at += 1
        made.append(_values(packs.reshape(count, -1)[:, :elements].reshape(count, *shape), type_))
    return made[0] if len(made) == 1 else made


def _item_bits(type_: Type) -> int:
    if type_.pointers:
        return 64
    return int(re.sub(r"\D", "", type_.scalar.split("E")[0]))


def _placed(type_: Type, pack: int) -> list[range]:
    """Which elements of a pack each register of an operand holds."""
    together = min(max(1, _REGISTER_BITS // _item_bits(type_)), pack)
    return [range(at, min(at + together, pack)) for at in range(0, pack, together)]


def _bits(value: Array, type_: Type) -> Array:
    if type_.scalar == "bf16" and not type_.pointers:
        value = bf16_to_bits(value)
    elif type_.scalar in narrow.EIGHT_BITS and not type_.pointers:
        value = narrow.to_bits(value, type_.scalar)
    return np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}").astype(U64)


def _values(registers: Array, type_: Type) -> Array:
    size = _item_bits(type_) // 8
    low = registers.astype(f"u{size}")
    if type_.pointers:
        return low.view(np.int64)
    if type_.scalar == "bf16":
        return bf16_from_bits(low.view(np.int16))
    if type_.scalar in narrow.EIGHT_BITS:
        return narrow.from_bits(low.view(np.int8), type_.scalar)
    return low.view(numpy_type(type_.scalar))
