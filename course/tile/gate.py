"""The compile gate: a kernel goes through Triton's compiler, which needs no GPU.

The engine runs what the compiler would refuse now and then: a product of float32 and float16,
a `tl.dot` with a side of 8, a variable that changes its type in a loop. So each kernel is
compiled with the launch's own argument types for a stated GPU, and the compiler's refusal is
the verdict. What it made tells the resources: registers, shared memory, spills.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.errors import CompilationError

from course.faults import KernelFault, Outcome
from course.tile.arguments import ELEMENTS, bound, option_names
from course.tile.functions import base_function, code_of

WARP = 32
ALIGNMENT = 16  # pointers and numbers that are multiples of it are compiled for that
#: shared memory that a block can have, by compute capability
#: (CUDA C++ Programming Guide, "Technical specifications per compute capability")
SHARED_LIMITS = {75: 64 << 10, 80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10}
_NAMES = {"int1": "i1"} | {
    name: name.replace("uint", "u").replace("int", "i")
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}
_compiled: dict[Any, Resources | KernelFault] = {}


@dataclass(frozen=True)
class Resources:
    """What a compiled kernel takes of the GPU that it was compiled for.

    Attributes:
        target: the compute capability, 80 for 8.0.
        registers: of each thread.
        shared_bytes: of each program.
        spill_bytes: of each thread, kept in local memory for want of registers.
    """

    target: int
    warps: int
    registers: int
    shared_bytes: int
    spill_bytes: int

    @property
    def fits(self) -> bool:
        """Whether a program's shared memory fits on the target."""
        return self.shared_bytes <= SHARED_LIMITS.get(self.target, SHARED_LIMITS[75])


def compile_for(
    kernel: Any, args: Sequence[Any], named: dict[str, Any] | None = None, target: int = 80
) -> Resources:
    """Compiles a kernel for a launch's arguments; each combination once.

    Raises:
        KernelFault: DOES_NOT_COMPILE with the compiler's message and the line, or
            TOO_MANY_RESOURCES where its shared memory does not fit on the target.
    """
    function = base_function(kernel)
    named = dict(named or {})
    given = bound(function, tuple(args), named)
    signature, constants, attributes = _types(function, given)
    options = {
        name: named[name]
        for name in option_names()
        if name in named and name not in ("warmup", "stream", "debug")
    }
    key = (function.cache_key, repr((signature, constants, attributes, options)), target)
    found = _compiled.get(key)
    if found is None:
        try:
            found = _compile(function, signature, constants, attributes, options, target)
        except KernelFault as fault:
            found = fault
        _compiled[key] = found
    if isinstance(found, KernelFault):
        raise KernelFault(found.outcome, found.message_id, found.line, **found.fields)
    if not found.fits:
        raise KernelFault(
            Outcome.TOO_MANY_RESOURCES,
            "tile_shared",
            code_of(function).first_line,
            bytes=found.shared_bytes,
            limit=SHARED_LIMITS.get(target, SHARED_LIMITS[75]),
            target=_shown(target),
        )
    return found


def _shown(target: int) -> str:
    return f"{target // 10}.{target % 10}"


# ---------------------------------------------------------------- types


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
        name, constant, aligned = _type(value, parameter)
        signature[parameter.name] = name
        if name == "constexpr":
            constants[(at,)] = constant
        elif aligned:
            attributes[(at,)] = [["tt.divisibility", ALIGNMENT]]
    return signature, constants, attributes


def _type(value: Any, parameter: Any) -> tuple[Any, Any, bool]:
    """(type in Triton's short form, the value where it is a constant, whether it is aligned)."""
    specialised = not parameter.do_not_specialize
    aligned = not parameter.do_not_specialize_on_alignment
    if isinstance(value, torch.Tensor):
        element = ELEMENTS.get(value.dtype)
        if element is None:
            raise KernelFault(
                Outcome.DOES_NOT_COMPILE, "tile_argument", None, name=parameter.name,
                detail=f"a tensor of {value.dtype}",
            )  # fmt: skip
        start = value.storage_offset() * value.element_size()
        return f"*{_short(element)}", None, aligned and start % ALIGNMENT == 0
    if type(value).__name__ == "TensorDescriptor":
        element = ELEMENTS[value.base.dtype]
        return f"tensordesc<{_short(element)}{list(value.block_shape)}>", None, False
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
    if isinstance(value, tuple):
        raise KernelFault(
            Outcome.NOT_MEASURED, "tile_unsupported", None, detail="a tuple through the compiler"
        )
    return "constexpr", value.value if isinstance(value, tl.constexpr) else value, False


def _short(element: Any) -> str:
    return _NAMES.get(element.name, element.name)


# ---------------------------------------------------------------- the compiler


def _compile(
    function: Any,
    signature: dict[str, Any],
    constants: dict[tuple[int, ...], Any],
    attributes: dict[tuple[int, ...], Any],
    options: dict[str, Any],
    target: int,
) -> Resources:
    source = ASTSource(function, signature, constants, attributes)
    said: list[str] = []
    try:
        with _stderr(said):
            made = triton.compile(source, target=GPUTarget("cuda", target, WARP), options=options)
    except CompilationError as error:
        line, message = _located(function, error)
        raise _refused(line, message, target) from None
    except Exception as error:
        line, message = _from_passes("".join(said), error)
        raise _refused(line or code_of(function).first_line, message, target) from None
    registers, spills = _usage(made.asm.get("cubin"))
    return Resources(target, made.metadata.num_warps, registers, made.metadata.shared, spills)


def _refused(line: int | None, message: str, target: int) -> KernelFault:
    return KernelFault(
        Outcome.DOES_NOT_COMPILE, "triton_compiler", line, detail=message, target=_shown(target)
    )


def _chain(error: BaseException) -> list[CompilationError]:
    found: list[CompilationError] = []
    at: BaseException | None = error
    while at is not None:
        if isinstance(at, CompilationError):
            found.append(at)
        at = at.__cause__
    return found


def _located(function: Any, error: CompilationError) -> tuple[int | None, str]:
    """(line in the learner's code, what the compiler says): innermost of both."""
    chain = _chain(error)
    message = next((e.error_message for e in reversed(chain) if e.error_message), None)
    if message is None:
        last: BaseException = chain[-1]
        message = str(last.__cause__ or type(last).__name__)
    line = None
    sources = _own_sources(function)
    for part in chain:
        first = sources.get(part.src or "")
        if first is not None and hasattr(part.node, "lineno"):
            line = first + part.node.lineno - 1
    return line, _cut(message)


def _own_sources(function: Any, seen: dict[str, int] | None = None) -> dict[str, int]:
    """Sources of the kernel and the learner's functions that it calls, with their first lines."""
    seen = {} if seen is None else seen
    code = code_of(function)
    if code.own and code.source not in seen:
        seen[code.source] = code.first_line
        for value in list(code.scope.values()):
            if hasattr(value, "parse") and hasattr(value, "params"):
                _own_sources(value, seen)
    return seen


def _from_passes(text: str, error: Exception) -> tuple[int | None, str]:
    """A refusal behind the front end: the first error that the compiler wrote, or its exception."""
    found = re.search(r"[^\s:]+:(\d+):\d+: error: (.*)", text)
    if found:
        return int(found.group(1)), _cut(found.group(2))
    found = re.search(r"error: (.*)", text)
    return None, _cut(found.group(1) if found else str(error) or type(error).__name__)


def _cut(message: str) -> str:
    """A message on one line, without the exception's name around it."""
    text = " ".join(message.split())
    wrapped = re.fullmatch(r"\w*(?:Error|Exception)\((['\"])(.*)\1,?\)", text)
    text = wrapped.group(2) if wrapped else text
    text = text if len(text) <= 300 else text[:297] + "..."
    return text.rstrip(".") or "the compiler gives no reason"


@contextlib.contextmanager
def _stderr(lines: list[str]) -> Iterator[None]:
    """Keeps what the compiler's C++ side writes to the process's stderr."""
    sys.stderr.flush()
    with tempfile.TemporaryFile(mode="w+") as kept:
        saved = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            kept.seek(0)
            lines.append(kept.read())


# ---------------------------------------------------------------- resources


@functools.cache
def _cuobjdump() -> str | None:
    import triton.backends.nvidia as nvidia

    path = Path(nvidia.__file__ or "").parent / "bin" / "cuobjdump"
    return str(path) if path.exists() else None


def _usage(cubin: bytes | None) -> tuple[int, int]:
    """(registers a thread, bytes of local memory a thread) of a compiled kernel."""
    tool = _cuobjdump()
    if cubin is None or tool is None:
        return 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        text = subprocess.run(
            [tool, "-res-usage", str(path)], capture_output=True, text=True, timeout=60
        ).stdout
    registers = [int(n) for n in re.findall(r"REG:(\d+)", text)]
    stacks = [int(n) for n in re.findall(r"STACK:(\d+)", text)]
    return max(registers, default=0), max(stacks, default=0)
