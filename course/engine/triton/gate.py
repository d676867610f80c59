"""The compile gate: a kernel goes through Triton's compiler, which needs no GPU.

The engine runs what the compiler would refuse now and then: a product of float32 and float16,
a `tl.dot` with a side of 8, a variable that changes its type in a loop. So each kernel is
compiled with the launch's own argument types for a stated GPU, and the compiler's refusal is
the verdict. What it made tells the resources: registers, shared memory, spills.

In a notebook the compiler works in a child with limits (`bounded`), and what it found is kept
on disk, by source. In a grader's launch, which is a child with limits already and may start
and write nothing, it works in place (`work_in_place`).
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import linecache
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
from triton.runtime.cache import get_cache_manager
from triton.runtime.jit import JITFunction

from course.engine import stated_gpu
from course.engine.faults import KernelFault, Outcome
from course.engine.tile.arguments import bound, element_of, option_names
from course.engine.triton import compiler
from course.engine.triton.bounded import DiedError, LateError, in_a_child
from course.engine.triton.compiler import AssemblerError, AssemblerLateError, Source, Usage
from course.engine.triton.complaints import of_the_compiler, refusal
from course.engine.triton.functions import Code, base_function, code_of, lines_of_all

ALIGNMENT = 16  # pointers and numbers that are multiples of it are compiled for that
#: shared memory that a block can have, by compute capability
#: (CUDA C++ Programming Guide, "Technical specifications per compute capability")
SHARED_LIMITS = {
    75: 64 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10,
    stated_gpu.TARGET: stated_gpu.SHARED_BYTES_OF_A_BLOCK,
}  # fmt: skip
#: What a check compiles for at once, and what besides: the T4 of Colab, and Hopper.
TARGET, OTHER_TARGETS = stated_gpu.TARGET, (75, 90)
#: Processor time for one kernel and target: a large tile takes 7 s, an unrolled loop for ever.
COMPILE_SECONDS = 30.0
_NAMES = {"int1": "i1"} | {
    name: name.replace("uint", "u").replace("int", "i")
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}
_SEVERAL = "tile_several_names"
_KEPT_FILE = "course_gate.json"


@dataclass(frozen=True)
class Resources:
    """What a compiled kernel takes of the GPU that it was compiled for.

    Attributes:
        target: the compute capability, 80 for 8.0.
        shared_bytes: of each program.
        registers: of each thread; None where nobody asked the assembler.
        spill_bytes: of each thread, kept in local memory for want of registers; or None.
    """

    target: int
    warps: int
    shared_bytes: int
    registers: int | None = None
    spill_bytes: int | None = None

    @property
    def fits(self) -> bool:
        """Whether a program's shared memory fits on the target."""
        return self.shared_bytes <= shared_limit(self.target)


Found = Resources | KernelFault
Assembler = Callable[[str, int], Usage]


@dataclass(frozen=True)
class Setting:
    """Where the compiler works: in a child or in place, with a disk or without.

    `others` says that a grader asks what the other targets' compilers say, too.
    """

    alone: bool = True
    keeps: bool = True
    others: bool = False
    assembler: Assembler = compiler.assembled


_setting = Setting()
_found: dict[str, Found] = {}
#: What was compiled for `TARGET` and may be compiled for the others, later: the last ones.
_passed: deque[Source] = deque(maxlen=64)


def work_in_place(assembler: Assembler = compiler.assembled, others: bool = False) -> None:
    """From here on this process, a child with limits, compiles in place and writes nothing."""
    global _setting
    _setting = Setting(alone=False, keeps=False, others=others, assembler=assembler)


def compile_for(
    kernel: Any,
    args: Sequence[Any],
    named: dict[str, Any] | None = None,
    target: int = TARGET,
    *,
    binary: bool = True,
) -> Resources:
    """Compiles a kernel for a launch's arguments; each combination once.

    Args:
        binary: whether registers and spills are asked for, which takes an assembler's run.

    Raises:
        KernelFault: DOES_NOT_COMPILE with the compiler's message and the line, TIMED_OUT where
            the compiler takes too long, or TOO_MANY_RESOURCES where its shared memory does not
            fit on the target.
    """
    source = source_of(kernel, args, named)
    found = find(source, target, binary)
    if isinstance(found, KernelFault):
        raise in_words(found, source.function)
    if not found.fits:
        raise KernelFault(
            Outcome.TOO_MANY_RESOURCES,
            "tile_shared",
            code_of(base_function(kernel)).first_line,
            bytes=found.shared_bytes,
            limit=shared_limit(target),
            target=compiler.shown(target),
        )
    if target == TARGET:
        _passed.append(source)
    # Who did not ask hears nothing of registers, whoever asked before.
    return found if binary else replace(found, registers=None, spill_bytes=None)


def asks_elsewhere() -> bool:
    """Whether the launches here have to compile for the other targets, too: a grader's do."""
    return _setting.others


def passed() -> list[Source]:
    """What has passed the gate since this was last asked."""
    sources = list(_passed)
    _passed.clear()
    return sources


def in_words(refused: KernelFault, function: Any) -> KernelFault:
    """The compiler's refusal of a kernel, by a line that the learner wrote."""
    line = linecache.getline(code_of(function).filename, refused.line or 0)
    message_id, fields = of_the_compiler(refused.message_id, refused.fields, line)
    return KernelFault(refused.outcome, message_id, refused.line, **fields)


def source_of(kernel: Any, args: Sequence[Any], named: dict[str, Any] | None = None) -> Source:
    """A kernel with the types and constants that its launch with these arguments has."""
    function = base_function(kernel)
    named = dict(named or {})
    signature, constants, attributes = _types(function, bound(function, tuple(args), named))
    ours = ("warmup", "stream", "debug")
    options = {n: named[n] for n in sorted(option_names()) if n in named and n not in ours}
    return Source(function, signature, constants, attributes, options)


def shared_limit(target: int) -> int:
    """The most shared memory that a block can have."""
    return SHARED_LIMITS.get(target, SHARED_LIMITS[75])


# ---------------------------------------------------------------- each combination once


def find(
    source: Source, target: int, binary: bool, *, once_for_all_alignments: bool = False
) -> Found:
    """What the compiler makes of a kernel, or what is wrong with it.

    What a GPU refuses, it refuses of sizes that are multiples of 16 and of others alike: to know
    that, one compile is enough.
    """
    key = key_of(replace(source, attributes={}) if once_for_all_alignments else source, target)
    found = known(key, binary)
    if found is not None:
        return found
    work = lambda: plain(_compiled(source, target, binary))  # noqa: E731
    found = from_plain(where_it_works(work, source, target))
    remember({key: found}, keep=True)
    return found


def where_it_works(
    work: Callable[[], dict[str, Any]], source: Source, target: int
) -> dict[str, Any]:
    """What the compiler's `work` gives as plain data, in a child with limits or in place.

    A compile that is late or dies is a fault (`plain`).
    """
    if not _setting.alone:
        return work()
    try:
        answer: dict[str, Any] = in_a_child(work, COMPILE_SECONDS)
    except LateError:
        return plain(late(source, target))
    except DiedError as error:
        return plain(died(source, target, error))
    except OSError:  # no child can be made here
        return work()
    return answer


def known(key: str, binary: bool) -> Found | None:
    """What was found before, in this process or on this disk."""
    found = _found.get(key)
    if found is None and _setting.keeps:
        found = _kept(key)
        if found is not None:
            _found[key] = found
    if isinstance(found, Resources) and binary and found.registers is None:
        return None
    return found


def key_of(source: Source, target: int) -> str:
    """The same for the same kernel on the same lines, types, constants, options, target, Triton."""
    constants = [(at, getattr(v, "cache_key", repr(v))) for at, v in source.constants.items()]
    functions = [source.function, *source.constants.values()]
    lines = [lines_of_all(one) for one in functions if isinstance(one, JITFunction)]
    parts = (
        _edition(),
        _cache_key(source.function),
        repr((source.signature, constants, source.attributes, source.options, lines)),
        str(target),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _cache_key(function: Any) -> str:
    """Triton's own key of a kernel, for which it looks up every name that the kernel uses.

    Raises:
        KernelFault: DOES_NOT_COMPILE, where one has no such attribute.
    """
    try:
        return str(function.cache_key)
    except Exception as error:
        message_id, fields = refusal(str(error)[:200].rstrip("."))
        line = _line_of(code_of(function), message_id, fields.get("name"))
        raise KernelFault(Outcome.DOES_NOT_COMPILE, message_id, line, **fields) from None


def _line_of(code: Code, message_id: str, name: object) -> int:
    """Where a function uses a name first, or assigns to several; its `def`, where it does not."""
    nodes = [node for statement in code.body for node in ast.walk(statement)]
    lines = [
        node.lineno
        for node in nodes
        if (isinstance(node, ast.Name) and node.id == name)
        or (isinstance(node, ast.Assign) and message_id == _SEVERAL and len(node.targets) > 1)
    ]
    return min(lines, default=code.first_line)


def remembered() -> dict[str, Found]:
    """All that this process has found."""
    return dict(_found)


def remember(found: dict[str, Found], keep: bool = False) -> None:
    """Takes over what another process has found; with `keep`, on disk too."""
    _found.update(found)
    if keep and _setting.keeps:
        for key, one in found.items():
            if not _passing(one):
                _keep(key, one)


def _compiled(source: Source, target: int, binary: bool) -> Found:
    try:
        assembly = _assembly(source, target, binary)
    except KernelFault as fault:
        return fault
    made = Resources(target, assembly.warps, assembly.shared_bytes)
    if not binary:
        return made
    try:
        usage = _setting.assembler(assembly.ptx, target)
    except AssemblerLateError:
        return late(source, target)
    except AssemblerError as error:
        return compiler.assembler_refused(source, error, target)
    return replace(made, registers=usage.registers, spill_bytes=usage.spill_bytes)


def _assembly(source: Source, target: int, binary: bool) -> compiler.Assembly:
    """PTX; unless registers are asked for, only what the optimiser refuses, too, is refused."""
    if not binary:
        with compiler.unoptimised(), contextlib.suppress(KernelFault):
            return compiler.to_ptx(source, target)
    return compiler.to_ptx(source, target)


def late(source: Source, target: int) -> KernelFault:
    """A kernel whose compile was stopped."""
    return KernelFault(
        Outcome.TIMED_OUT, "tile_compile_late", code_of(source.function).first_line,
        kernel=source.function.__name__, seconds=int(COMPILE_SECONDS),
        target=compiler.shown(target),
    )  # fmt: skip


def died(source: Source, target: int, error: DiedError) -> KernelFault:
    """A kernel on which the compiler's process ended."""
    return KernelFault(
        Outcome.DOES_NOT_COMPILE, "tile_compiler_died", code_of(source.function).first_line,
        kernel=source.function.__name__, detail=str(error), target=compiler.shown(target),
    )  # fmt: skip


def _passing(found: Found) -> bool:
    """Whether it says something of this machine's hour, and not of the kernel."""
    return isinstance(found, KernelFault) and found.message_id in (
        "tile_compile_late",
        "tile_compiler_died",
    )


@cache
def _edition() -> str:
    """Changes with Triton, and with this gate."""
    digest = hashlib.sha256(triton.__version__.encode())
    for file in (__file__, compiler.__file__):
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()


# ---------------------------------------------------------------- as plain data, and on disk


def plain(found: Found) -> dict[str, Any]:
    """What JSON can keep of it."""
    if isinstance(found, Resources):
        return {"resources": list(astuple(found))}
    fields = {name: str(value) for name, value in found.fields.items()}
    return {"fault": [found.outcome.value, found.message_id, found.line, fields]}


def from_plain(kept: dict[str, Any]) -> Found:
    """The reverse."""
    if "resources" in kept:
        return Resources(*kept["resources"])
    outcome, message_id, line, fields = kept["fault"]
    return KernelFault(Outcome(outcome), message_id, line, **fields)


def _kept(key: str) -> Found | None:
    try:
        path = get_cache_manager(key).get_file(_KEPT_FILE)
        return None if path is None else from_plain(json.loads(Path(path).read_text()))
    except (OSError, RuntimeError, ValueError, KeyError, TypeError):
        return None


def _keep(key: str, found: Found) -> None:
    # A disk that takes nothing: then it is compiled anew next time.
    with contextlib.suppress(OSError, RuntimeError):
        get_cache_manager(key).put(json.dumps(plain(found)), _KEPT_FILE, binary=False)


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
        element = element_of(parameter.name, value)
        start = value.storage_offset() * value.element_size()
        return f"*{_short(element)}", None, aligned and start % ALIGNMENT == 0
    if type(value).__name__ == "TensorDescriptor":
        element = element_of(parameter.name, value.base)
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
    return "constexpr", value.value if isinstance(value, tl.constexpr) else value, False


def _short(element: Any) -> str:
    return _NAMES.get(element.name, element.name)
