"""A launch's kernel as Triton compiles it: the types, constants and alignments of its arguments."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
from triton.runtime.jit import JITFunction

from course.engine.faults import does_not_compile
from course.engine.triton.compiling.complaints import refusal
from course.engine.triton.compiling.functions import (
    Code,
    base_function,
    code_of,
    lines_of_all,
    own_functions,
)
from course.engine.triton.passed import as_tensor, bound, element_of, option_names

ALIGNMENT = 16  # pointers and numbers that are multiples of it are compiled for that
_SEVERAL = "tile_several_names"


@dataclass(frozen=True)
class Source:
    """A kernel with the types and constants of one launch, as Triton's own launch makes them."""

    function: Any
    signature: dict[str, Any]
    constants: dict[tuple[int, ...], Any]
    attributes: dict[tuple[int, ...], Any]
    options: dict[str, Any]

    @cached_property
    def key(self) -> str:
        """Tells it from all others, whatever the target."""
        constants = [(at, getattr(v, "cache_key", repr(v))) for at, v in self.constants.items()]
        functions = [self.function, *self.constants.values()]
        lines = [lines_of_all(one) for one in functions if isinstance(one, JITFunction)]
        told = repr((self.signature, constants, self.attributes, self.options, lines))
        return "\0".join((_edition(), _cache_key(self.function), told))


def source_of(kernel: Any, args: Sequence[Any], named: dict[str, Any] | None = None) -> Source:
    """A kernel with the types and constants that its launch with these arguments has."""
    function = base_function(kernel)
    named = dict(named or {})
    signature, constants, attributes = _types(function, bound(function, tuple(args), named))
    ours = ("warmup", "debug")
    options = {n: named[n] for n in sorted(option_names()) if n in named and n not in ours}
    options["debug"] = debugs(function, named)
    return Source(function, signature, constants, attributes, options)


def debugs(function: Any, named: dict[str, Any]) -> bool:
    """Whether assertions are held: the launch says so, `@triton.jit`, or TRITON_DEBUG=1."""
    return bool(named.get("debug", function.debug) or triton.knobs.runtime.debug)


def ones_of(source: Source) -> dict[tuple[int, ...], str]:
    """Arguments that are 1, of which Triton makes constants: their places and names."""
    return {
        (at,): parameter.name
        for at, parameter in enumerate(source.function.params)
        if not parameter.is_constexpr and source.constants.get((at,)) == 1
    }


def unspecialised(source: Source) -> Source:
    """The kernel as it would be if none of its numbers were 1 or a multiple of 16."""
    ones = ones_of(source)
    signature = source.signature | dict.fromkeys(ones.values(), "i32")
    constants = {at: value for at, value in source.constants.items() if at not in ones}
    return replace(source, signature=signature, constants=constants, attributes={})


def key_of(source: Source, target: int) -> str:
    """The same for the same kernel on the same lines, types, constants, options, target, Triton."""
    return hashlib.sha256(f"{source.key} {target}".encode()).hexdigest()


def _cache_key(function: Any) -> str:
    """Triton's own key of a kernel, for which it looks up every name that the kernel uses.

    Raises:
        KernelFault: DOES_NOT_COMPILE, where one has no such attribute.
    """
    try:
        return str(function.cache_key)
    except Exception as error:
        functions = own_functions(function)
        for one in functions:
            if str(one.hash).startswith("recursion"):  # left there, it would be the key next time
                one.hash = None
        message_id, fields = refusal(str(error)[:200].rstrip("."))
        codes = [code_of(one) for one in functions]
        line = _line_of(codes, message_id, fields.get("name"))
        raise does_not_compile(line, message_id, **fields) from None


def _line_of(codes: Sequence[Code], message_id: str, name: object) -> int:
    """Where a kernel or what it calls uses a name first, or assigns to several; else its `def`."""
    lines = [
        node.lineno
        for code in codes
        for node in code.nodes
        if (isinstance(node, ast.Name) and node.id == name)
        or (isinstance(node, ast.Assign) and message_id == _SEVERAL and len(node.targets) > 1)
    ]
    return min(lines, default=codes[0].first_line)


@cache
def _edition() -> str:
    """Changes with Triton, and with what asks it here."""
    digest = hashlib.sha256(triton.__version__.encode())
    for name in ("compiler.py", "found.py", "gate.py", "specialisation.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.hexdigest()


def _types(
    function: Any, given: dict[str, Any]
) -> tuple[dict[str, Any], dict[tuple[int, ...], Any], dict[tuple[int, ...], Any]]:
    """(signature, constants, attributes) as Triton's own launch would make them."""
    signature: dict[str, Any] = {}
    constants: dict[tuple[int, ...], Any] = {}
    attributes: dict[tuple[int, ...], Any] = {}
    for at, parameter in enumerate(function.params):
        value = given[parameter.name]
        if parameter.is_constexpr:
            value = value.value if isinstance(value, tl.constexpr) else value
            signature[parameter.name], constants[(at,)] = "constexpr", value
            continue
        signature[parameter.name] = _typed((at,), value, parameter, constants, attributes)
    return signature, constants, attributes


def _typed(
    place: tuple[int, ...],
    value: Any,
    parameter: Any,
    constants: dict[tuple[int, ...], Any],
    attributes: dict[tuple[int, ...], Any],
) -> Any:
    """The type of what is at a place, and notes what is constant there; a tuple's item by item."""
    if isinstance(value, tuple):
        types = [
            _typed((*place, at), item, parameter, constants, attributes)
            for at, item in enumerate(value)
        ]
        return type(value)(*types) if hasattr(value, "_fields") else tuple(types)
    type_, constant, aligned = _type(value, parameter)
    if type_ == "constexpr":
        constants[place] = constant
    elif aligned:
        attributes[place] = [["tt.divisibility", ALIGNMENT]]
    return type_


def _type(value: Any, parameter: Any) -> tuple[Any, Any, bool]:
    """(type in Triton's short form, the value where it is a constant, whether it is aligned)."""
    specialised = not parameter.do_not_specialize
    aligned = not parameter.do_not_specialize_on_alignment
    if isinstance(value, torch.Tensor):
        element, _ = element_of(parameter.name, value)
        start = value.storage_offset() * value.element_size()
        const = "k" if parameter.is_const else ""
        return f"*{const}{element}", None, aligned and start % ALIGNMENT == 0
    if type(value).__name__ == "TensorDescriptor":
        element, _ = element_of(parameter.name, as_tensor(parameter.name, value.base))
        layout = f",{value.layout!r}" if hasattr(value, "layout") else ""  # Gluon's has one
        return f"tensordesc<{element}{list(value.block_shape)}{layout}>", None, False
    if isinstance(value, bool):
        return "u1", None, False
    if isinstance(value, float):
        return parameter.annotation_type or "fp32", None, False
    if isinstance(value, int):
        if value == 1 and specialised:
            return "constexpr", 1, False
        kind = "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
        kind = parameter.annotation_type or kind
        return kind, None, specialised and aligned and value % ALIGNMENT == 0
    return "constexpr", value.value if isinstance(value, tl.constexpr) else value, False
