"""Functions, and types that a decorator declares: ``@cuda.jit("void(float32[:], int32)")``.

Without a GPU nothing is compiled when such a kernel is decorated: the declared types are kept,
and arguments are brought to them at the launch or the call, as the compiled code would.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from numba.core import types
from numba.core.typeconv import Conversion

from course.engine.lines import all_elsewhere
from course.engine.simt.lowering.types import (
    COMPLEX_FIELDS,
    ArrayType,
    Type,
    TypingError,
    complex_type,
    conversion,
    is_integer,
    is_scalar,
)
from course.engine.simt.nvvm.ways import with_other_ways
from course.plain.trees import nodes, walk


@dataclass(frozen=True)
class Signature:
    """Declared argument types; `result` is None where none is declared."""

    arguments: tuple[Type, ...]
    result: Type | None = None


@dataclass(frozen=True)
class Namespace:
    """A module of the program's own, or an enumeration: `lookup` finds what a kernel has of it."""

    name: str
    lookup: Callable[[str], Any]


@dataclass(eq=False)
class Function:
    """One `@cuda.jit` function: its tree, and what the names outside it mean.

    `lookup` returns a Ref, a Namespace, a number, a Numba type, a tuple of numbers, a constant
    array or a Function; it raises KeyError for a name that has no value here.
    """

    name: str
    node: ast.FunctionDef
    lookup: Callable[[str], Any]
    device: bool = False
    #: where it was read from; '' for a function of a cell
    filename: str = ""
    #: what the decorator declares; without one, the types come from the arguments
    signatures: tuple[Signature, ...] = ()
    #: what else the decorator says to the compiler: ``fastmath=True``
    options: Mapping[str, Any] = field(default_factory=dict)
    #: lowered forms by argument types
    programs: dict[Any, Any] = field(default_factory=dict, repr=False)
    #: whether Numba writes it out where it is called: one that stands inside a kernel
    inner: bool = False

    @functools.cached_property
    def elsewhere(self) -> Function:
        """As a kernel of another file calls it."""
        return replace(self, node=all_elsewhere(self.node, self.filename))

    @functools.cached_property
    def body(self) -> list[ast.stmt]:
        """Its statements, as the compiler reads them."""
        return with_other_ways(self.node.body)

    @functools.cached_property
    def joined(self) -> frozenset[int]:
        """The `if`s, by identity, behind which their block goes on, or a loop's next turn comes."""
        found: set[int] = set()
        for node in walk(ast.Module(self.body, [])):
            for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
                if isinstance(block, list):
                    turns = isinstance(node, ast.For | ast.While)
                    found.update(map(id, block if turns else block[:-1]))
        return frozenset(found)

    def has_code_behind(self, node: ast.If) -> bool:
        """Whether a branch without an ``else`` has a block behind it that nothing else leads to."""
        last = self.body[-1] is node and not nodes(self.body, ast.Return)
        return id(node) in self.joined or last

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(argument.arg for argument in self.node.args.args)


def declared(dispatcher: Any) -> tuple[Signature, ...]:
    """The signatures of a live `@cuda.jit` object, none where its types come from the launch."""
    noted: list[tuple[Any, Any]] = list(getattr(dispatcher, "_course_signatures", ()))
    if not noted and not getattr(dispatcher, "_can_compile", True):
        noted = [(arguments, None) for arguments in dispatcher.overloads]
    return tuple(
        Signature(
            tuple(engine_type(type_) for type_ in arguments),
            None if result is None or not is_scalar(result) else result,
        )
        for arguments, result in noted
    )


def note(dispatcher: Any, arguments: Any, result: Any = None) -> None:
    """Keeps a declared signature in the place of compiling it."""
    from numba.core import sigutils

    if not isinstance(arguments, tuple):
        arguments, result = sigutils.normalize_signature(arguments)
    dispatcher.__dict__.setdefault("_course_signatures", []).append((arguments, result))


def chosen(
    signatures: Sequence[Signature], given: Sequence[Type], *, calling: bool
) -> Signature | None:
    """The signature for arguments of these types: the same types, or else the nearest that fits.

    Nearest is as Numba rates conversions: no unsafe one, then no safe one, then no promotion.

    `calling` says that device code calls, where a float may become an integer.

    Raises:
        TypingError: where none fits.
    """
    if not signatures:
        return None
    fitting = [s for s in signatures if _fits(s.arguments, given, calling)]
    for signature in fitting:
        if [*map(_plain, signature.arguments)] == [*map(_plain, given)]:
            return signature
    if fitting:
        return min(fitting, key=lambda signature: _rating(signature.arguments, given))
    listed = " or ".join(_listed(s.arguments) for s in signatures)
    got = _listed(given) if "::1" in listed else f"({', '.join(map(_plain, given))})"
    raise TypingError(f"its decorator declares {listed}, and it gets {got}")


def _fits(wanted: Sequence[Type], given: Sequence[Type], calling: bool) -> bool:
    return len(wanted) == len(given) and all(
        _converts(g, w, calling) for w, g in zip(wanted, given, strict=True)
    )


def _rating(wanted: Sequence[Type], given: Sequence[Type]) -> tuple[int, int, int]:
    """How many conversions are unsafe, how many safe, how many promotions."""
    kinds = [
        conversion(g, w)
        for w, g in zip(wanted, given, strict=True)
        if is_scalar(w) and is_scalar(g)
    ]
    unsafe = [Conversion.unsafe, None]
    return (
        sum(kind in unsafe for kind in kinds),
        kinds.count(Conversion.safe),
        kinds.count(Conversion.promote),
    )


def _converts(given: Type, wanted: Type, calling: bool) -> bool:
    if is_scalar(wanted) and is_scalar(given):
        to_whole = is_integer(wanted) and not (is_integer(given) or given == types.boolean)
        return calling or not to_whole
    laid_out = not isinstance(wanted, ArrayType) or wanted.layout == "A" or calling
    return _plain(wanted) == _plain(given) and (laid_out or _name(wanted) == _name(given))


def _plain(type_: Type) -> str:
    """A type as a signature writes it that lets arrays lie in any way."""
    return _name(replace(type_, layout="A") if isinstance(type_, ArrayType) else type_)


def _name(type_: Type) -> str:
    """A type as a signature writes it."""
    if isinstance(type_, ArrayType):
        axes = [":"] * (type_.ndim - bool(type_.of_complex))
        if type_.layout != "A":
            axes[-1 if type_.layout == "C" else 0] = "::1"
        return f"{type_.of_complex or type_.dtype}[{', '.join(axes)}]"
    return str(type_)


def _listed(arguments: Sequence[Type]) -> str:
    return f"({', '.join(map(_name, arguments))})"


def engine_type(type_: Any) -> Any:
    """A type of Numba's as the engine has it."""
    if isinstance(type_, types.Complex):
        return complex_type(type_)
    if isinstance(type_, types.Array) and isinstance(type_.dtype, types.Complex):
        part, axes = type_.dtype.underlying_float, type_.ndim + 1
        return ArrayType(part, axes, "global", COMPLEX_FIELDS, type_.layout)
    if isinstance(type_, types.Array):
        return ArrayType(type_.dtype, type_.ndim, "global", layout=type_.layout)
    return type_
