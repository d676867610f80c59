"""Types of a kernel's values: Numba's own typing rules, asked of Numba itself.

Numba's CUDA typing context answers which overload an operator or a `math` function resolves
to, without a GPU and without compiling. The engine casts the operands as that overload says,
so that `int32 + int32` is int64, `float32 * float32` stays float32, and a literal 0.5 is
float64, exactly as in the compiled kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.core.types.containers import BaseTuple
from numba.cuda.descriptor import cuda_target
from numba.np.numpy_support import as_dtype, from_dtype

Scalar = types.Number | types.Boolean


@dataclass(frozen=True)
class ArrayType:
    """An array in one memory: 'global', 'shared', 'local' or 'constant'.

    Of records whose fields have one type, the fields are a last axis; `fields` are its names.
    `layout` is Numba's: "C" or "F" where it lies without gaps, row by row or column by column, and
    "A" for any. Only a launch is held to it.
    """

    dtype: Scalar
    ndim: int
    memory: str
    fields: tuple[str, ...] = ()
    layout: str = field(default="A", compare=False)

    def __str__(self) -> str:
        return f"{self.memory} array of {self.dtype}, {self.ndim}-D"

    @property
    def of_complex(self) -> ComplexType | None:
        """What its elements are, where they are complex numbers: a last axis has their parts."""
        return ComplexType((self.dtype,) * 2) if self.fields == COMPLEX_FIELDS else None

    def has_axes(self, indices: int) -> str:
        """`has 2 axes and gets 1 index`, for a sentence about a subscript."""
        axes = f"has {self.ndim} {'axis' if self.ndim == 1 else 'axes'}"
        return f"{axes} and gets {indices} {'index' if indices == 1 else 'indices'}"


@dataclass(frozen=True)
class Several:
    """Values that a thread holds together: their types."""

    items: tuple[Any, ...]


class TupleType(Several):
    """A tuple of scalars or arrays, of known length."""

    def __str__(self) -> str:
        return f"tuple of {len(self.items)}"


@dataclass(frozen=True)
class NamedTupleType(TupleType):
    """A named tuple that is passed: its items go by names, too."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class VectorType(Several):
    """One of CUDA's vectors, ``float32x4``: numbers of one type, by the names of its parts."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.items[0]}x{len(self.items)}"


class RangeType(Several):
    """A `range`: start, stop and step, of one type."""

    def __str__(self) -> str:
        return "range"


class IteratorType(Several):
    """What `iter`, `enumerate` or `zip` gives: what it goes through."""

    def __str__(self) -> str:
        return "iterator"


class EnumerateType(IteratorType):
    """What it counts, and from which number."""


class ZipType(IteratorType):
    """What it goes through side by side."""


class RecordsType(Several):
    """An array of records whose fields have several types, or one record: an array for each field.

    Each is one of records that have this field alone.
    """

    def __str__(self) -> str:
        return f"records of {', '.join(self.names)}"

    @property
    def names(self) -> tuple[str, ...]:
        """The fields'."""
        return tuple(name for item in self.items for name in item.fields)


class GridType(Several):
    """All threads of a launch, which wait for each other."""

    def __str__(self) -> str:
        return "grid"


class ComplexType(Several):
    """A complex number: its real and its imaginary part, of one type."""

    @property
    def number(self) -> types.Complex:
        """The type as Numba has it."""
        return types.complex64 if self.items[0] == types.float32 else types.complex128

    def __str__(self) -> str:
        return str(self.number)


def complex_type(number: Any) -> ComplexType:
    """Numba's complex number as the two that it is made of."""
    return ComplexType((number.underlying_float,) * 2)


#: An array of complex numbers is one of records with these.
COMPLEX_FIELDS = ("real", "imag")


@dataclass(frozen=True)
class NoneType:
    """What a call without a value gives."""

    def __str__(self) -> str:
        return "None"


Type = Scalar | ArrayType | Several | NoneType

INT = types.int64
INT32 = types.int32
FLOAT = types.float64
BOOL = types.boolean
NONE = NoneType()


class TypingError(Exception):
    """Numba has no implementation for these operands; the sentence says for which."""


class NotHeld(TypingError):
    """Numba has this type, and lanes here do not; the sentence says which."""


@cache
def _context() -> Any:
    context = cuda_target.typing_context
    context.refresh()
    return context


def is_scalar(type_: object) -> bool:
    """Whether a type is a number or a boolean."""
    return isinstance(type_, types.Number | types.Boolean)


def is_integer(type_: object) -> bool:
    """Whether a type is a whole number."""
    return isinstance(type_, types.Integer)


def is_float(type_: object) -> bool:
    """Whether a type is a floating-point number."""
    return isinstance(type_, types.Float)


@cache
def numpy_dtype(type_: Scalar) -> np.dtype[Any]:
    """The NumPy dtype in which lanes of this type are held."""
    return np.dtype(np.bool_) if type_ == BOOL else np.dtype(as_dtype(type_))


def numba_type(dtype: np.dtype[Any]) -> Scalar:
    """The Numba type of an array's elements.

    Raises:
        TypingError: for elements that a kernel of this course cannot hold.
    """
    compiled = dtype.kind in "Mm" or dtype in (np.complex64, np.complex128)
    if compiled or (dtype.kind == "V" and not dtype.hasobject):
        raise NotHeld(f"elements of type {dtype} are compiled by Numba, and not run here")
    if dtype.kind not in "biuf" or dtype.itemsize > 8 or not dtype.isnative:
        raise TypingError(f"elements of type {dtype} are not numbers that a kernel here can hold")
    return from_dtype(dtype)


@cache
def resolve(function: Callable[..., Any], *operands: Scalar) -> tuple[Scalar, tuple[Scalar, ...]]:
    """(result type, operand types after casting) of `function` on `operands`.

    Raises:
        TypingError: where Numba has no such overload.
    """
    signature = _signature(function, operands, is_scalar)
    return signature.return_type, tuple(signature.args)


@cache
def resolve_several(
    function: Callable[..., Any], *operands: Scalar
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """The same of a function that gives a tuple of numbers."""
    signature = _signature(function, operands, lambda kind: isinstance(kind, BaseTuple))
    return tuple(signature.return_type), tuple(signature.args)


def _signature(
    function: Callable[..., Any], operands: tuple[Scalar, ...], gives: Callable[[Any], bool]
) -> Any:
    try:
        signature = _context().resolve_function_type(function, operands, {})
    except NumbaError as error:
        signature = None
        cause: Exception | None = error
    else:
        cause = None
    if signature is None or not gives(signature.return_type):
        name = getattr(function, "__name__", str(function))
        listed = ", ".join(str(operand) for operand in operands)
        words = f"{name} has no implementation for ({listed})"
        if isinstance(function, np.ufunc):
            words = f"np.{words}" + (f": use math.{name}" if hasattr(math, name) else "")
        raise TypingError(words) from cause
    return signature


@cache
def conversion(given: Scalar, wanted: Scalar) -> Any:
    """What kind of conversion this is to Numba (`numba.core.typeconv.Conversion`), if it is one."""
    return _context().can_convert(given, wanted)


@cache
def unify(a: Type, b: Type) -> Type:
    """The one type of a variable that is `a` on one path and `b` on another.

    Raises:
        TypingError: where Numba cannot unify them.
    """
    if a == b:
        return a
    if isinstance(a, Several) and isinstance(b, Several) and type(a) is type(b):
        if len(a.items) == len(b.items):
            items = tuple(unify(x, y) for x, y in zip(a.items, b.items, strict=True))
            return replace(a, items=items)
    if isinstance(a, ComplexType) and is_scalar(b):
        a, b = b, a
    if is_scalar(a) and isinstance(b, ComplexType):
        return complex_type(_context().unify_types(a, b.number))
    if is_scalar(a) and is_scalar(b):
        unified = _context().unify_types(a, b)
        if unified is not None and is_scalar(unified):
            return unified
    raise TypingError(f"it is {a} on one path and {b} on another")
