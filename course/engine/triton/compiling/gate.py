"""The compile gate: a kernel goes through Triton's compiler, which needs no GPU.

The engine runs what the compiler would refuse now and then: a product of float32 and float16,
a `tl.dot` with a side of 8, a variable that changes its type in a loop. So each kernel is
compiled with the launch's own argument types for a stated GPU, and the compiler's refusal is
the verdict. What it made tells the resources: registers, shared memory, spills.

In a notebook the compiler works in a child with limits (`bounded`), and what it found is kept
on disk, by source. In a grader's launch, which is a child with limits already and may start
and write nothing, it works in place (`workplace`).
"""

from __future__ import annotations

import contextlib
import linecache
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache, partial
from typing import Any
from weakref import WeakKeyDictionary

import triton.language as tl

from course.engine import stated_gpu
from course.engine.faults import KernelFault, too_many_resources
from course.engine.triton.compiling import asked, compiler, workplace
from course.engine.triton.compiling.compiler import AssemblerError, AssemblerLateError
from course.engine.triton.compiling.complaints import constant_asked, of_the_compiler
from course.engine.triton.compiling.found import (
    Found,
    Resources,
    from_plain,
    known,
    plain,
    remember,
)
from course.engine.triton.compiling.functions import code_of, is_assigned, own_files
from course.engine.triton.compiling.issued import Issued, issued
from course.engine.triton.compiling.lowering import (
    MOST_KEPT,
    Form,
    Lowered,
    in_form,
    lowered_of,
    on_its_way,
    tuples,
)
from course.engine.triton.compiling.shared import SharedAccess, shared_accesses
from course.engine.triton.compiling.specialisation import (
    Source,
    key_of,
    ones_of,
    source_of,
    unspecialised,
)
from course.plain.bounded import Say

#: What a check compiles for at once, and what besides: the T4 of Colab, and Hopper.
TARGET, OTHER_TARGETS = stated_gpu.TARGET, (75, 90)
#: Where an answer has what a kernel asks of shared memory, and its instructions.
_SHARED, _ISSUED = "shared", "issued"


@dataclass(frozen=True)
class Reached:
    """What a kernel's PTX tells: its accesses to shared memory, its instructions by pipe."""

    shared: list[SharedAccess]
    issued: list[Issued]


#: Kernels that LLVM has taken, for whatever numbers: it takes them where one is 1 or a multiple
#: of 16, too.
_whole: set[str] = set()
_forms: OrderedDict[str, Lowered] = OrderedDict()
#: In which forms a kernel has had the compiler say what it has to say: it says it once.
_said: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
_reached: OrderedDict[str, Reached] = OrderedDict()
#: What was compiled for `TARGET` and may be compiled for the others, later: the last ones.
_passed: deque[Source] = deque(maxlen=64)


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
    return begin(source_of(kernel, args, named), target, binary=binary)()


def begin(
    source: Source,
    target: int = TARGET,
    *,
    binary: bool = True,
    ahead: Compiling | None = None,
) -> Callable[[], Resources]:
    """Begins to compile; gives what waits for its end, and is as `compile_for`.

    Args:
        ahead: the same, if it was begun before.

    Raises:
        KernelFault: what is refused at once.
    """
    found = known(key := key_of(source, target), binary)
    if found is not None:
        if ahead is not None:
            ahead.close()
        accepted = _accepted(source, found, target, binary)
        return lambda: accepted
    compiling = ahead or Compiling(source, target, binary, key)
    compiling.hear()
    if compiling.has_ended:
        _accepted(source, compiling.found(), target, binary)
    return lambda: _accepted(source, compiling.found(), target, binary)


def begin_ahead(source: Source, target: int, binary: bool) -> Compiling | None:
    """Begins in a child of its own what `begin` will want; None where it is known."""
    key = key_of(source, target)
    if known(key, binary) is not None:
        return None
    with workplace.changed(helper=None):
        return Compiling(source, target, binary, key)


def _accepted(source: Source, found: Found, target: int, binary: bool) -> Resources:
    """What was found of a kernel that a GPU of the target takes."""
    if isinstance(found, KernelFault):
        raise in_words(found, source)
    if not found.fits:
        raise too_many_resources(
            code_of(source.function).first_line,
            "tile_shared",
            bytes=found.shared_bytes,
            limit=stated_gpu.shared_limit(target),
            target=compiler.shown(target),
        )
    if target == TARGET:
        _passed.append(source)
    # Who did not ask hears nothing of registers, whoever asked before.
    return found if binary else replace(found, registers=None, spill_bytes=None)


def machine_code(source: Source, target: int) -> tuple[bytes, dict[str, Any]]:
    """What a GPU loads of a kernel, made in this process, and what the compiler says of it.

    Raises:
        KernelFault: as for `compile_for`.
    """
    try:
        with workplace.present().will(asked.died(source, target)):
            made = compiler.compiled(source, target, compiler.TO_PTX)
        said = made.metadata
        _accepted(source, Resources(target, said["num_warps"], made.shared_bytes), target, True)
        found = workplace.present().assembler(made.ptx, target)
    except AssemblerLateError:
        raise asked.late(source, target) from None
    except AssemblerError as error:
        raise compiler.assembler_refused(source, error, target) from None
    except KernelFault as refused:
        raise in_words(refused, source) from None
    return found.binary, said


def passed() -> list[Source]:
    """What has passed the gate since this was last asked."""
    sources = list(_passed)
    _passed.clear()
    return sources


def in_words(refused: KernelFault, source: Source) -> KernelFault:
    """The compiler's refusal of a kernel, by a line that the learner wrote."""
    function = source.function
    filename = refused.filename or code_of(function).filename
    line = linecache.getline(filename, refused.line or 0)
    message_id, fields = of_the_compiler(refused.message_id, refused.fields, line)
    if message_id == "tile_no_value":
        name = str(fields["name"])
        if not is_assigned(function, name):
            message_id = "missing_prefix" if hasattr(tl, name) else "tile_undefined"
            fields = {"name": name, "path": f"tl.{name}"}
    elif message_id == "triton_refuses" and not refused.function:
        one = constant_asked(str(fields["detail"]), line, ones_of(source).values())
        if one is not None:
            message_id, fields = "tile_one_is_constant", {"name": one, **fields}
    fault = KernelFault(refused.outcome, message_id, refused.line, **fields)
    fault.happened_in(refused.function, refused.filename)
    return fault


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
    return Compiling(source, target, binary, key).found()


class Compiling:
    """A compile under way. On the stated GPU the kernel's form is there first, for `lower`; what
    it takes of the GPU is known later.
    """

    def __init__(self, source: Source, target: int, binary: bool, key: str) -> None:
        self._source, self._target, self._key = source, target, key
        self._ended: Found | None = None
        self._kind = key_of(unspecialised(source), target)
        whole = binary or self._kind not in _whole
        work = partial(_compiled, source, target, binary, whole)
        self._answers, self._child = asked.begun(work, source, target)

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left to wait for."""
        return self._ended is not None

    def found(self) -> Found:
        """What the compiler makes of it; waits for that."""
        while self._ended is None:
            self.hear()
        return self._ended

    def close(self) -> None:
        """Gives it up."""
        if self._child is not None:
            self._child.close()

    def hear(self) -> None:
        """Waits for what it says next."""
        answer = next(self._answers)
        if asked.FORM in answer:
            _keep_form(self._source, lowered_of(answer[asked.FORM], Form.COMPILED, self._target))
        else:
            self._ended = from_plain(answer)
            for _ in self._answers:  # its end, behind which a helper is free
                pass
            remember(self._key, self._ended)
            if isinstance(self._ended, Resources):
                _whole.add(self._kind)


def lower(source: Source, target: int, form: Form = Form.COMPILED) -> Lowered:
    """Compiles a kernel as far as one form of the IR; each combination once.

    Raises:
        KernelFault: DOES_NOT_COMPILE in the compiler's words; TIMED_OUT where it takes too long.
    """
    key = _form_key(source, target, form)
    found = _forms.get(key)
    if found is None:
        *_, answer = asked.answers(partial(_formed, source, target, form), source, target)
        if "fault" in answer:
            refused = from_plain(answer)
            assert isinstance(refused, KernelFault)
            raise in_words(refused, source)
        found = lowered_of(answer, form, target)
    _keep_form(source, found)
    said = _said.setdefault(source.function, set())
    found = replace(found, printed="") if found.printed and key in said else found
    said.add(key)
    return found


def reached(source: Source, target: int) -> Reached | None:
    """Compiles a kernel up to PTX for what that tells; each combination once.

    None where the compiler does not come so far.
    """
    key = _key_with_files(source, target)
    found = _reached.get(key)
    if found is None:
        *_, answer = asked.answers(partial(_of_the_ptx, source, target), source, target)
        if _SHARED not in answer:
            return None
        found = _reached[key] = Reached(
            [SharedAccess(*tuples(one)) for one in answer[_SHARED]],
            [Issued(*tuples(one)) for one in answer[_ISSUED]],
        )
        if len(_reached) > MOST_KEPT:
            _reached.popitem(last=False)
    return found


def _formed(source: Source, target: int, form: Form, say: Say) -> None:
    say(in_form(source, target, form))


def _of_the_ptx(source: Source, target: int, say: Say) -> None:
    ptx = compiler.to_ptx(source, target).ptx
    shared = [astuple(one) for one in shared_accesses(ptx)]
    say({_SHARED: shared, _ISSUED: [astuple(one) for one in issued(ptx)]})


def _key_with_files(source: Source, target: int) -> str:
    """The key of what names places in the source: one text may stand in two cells."""
    return f"{sorted(own_files(source.function))} {key_of(source, target)}"


def _form_key(source: Source, target: int, form: Form) -> str:
    return f"{form.value} {_key_with_files(source, target)}"


def _keep_form(source: Source, found: Lowered) -> None:
    key = _form_key(source, found.target, found.form)
    _forms[key] = found
    _forms.move_to_end(key)
    if len(_forms) > MOST_KEPT:
        _forms.popitem(last=False)


def _compiled(source: Source, target: int, binary: bool, whole: bool, say: Say) -> None:
    """Says what the compiler makes of a kernel, as plain data; on the stated GPU its form first."""

    def seen(stage: str, made: compiler.Compiled) -> None:
        if stage == "ttgir" and target == TARGET and (form := on_its_way(made)) is not None:
            say({asked.FORM: form})

    assembly = _assembly(source, target, binary, whole, seen)
    made = Resources(target, assembly.warps, assembly.shared_bytes)
    if assembly.ptx:
        try:
            usage = _usage(workplace.present().assembler, assembly.ptx, target)
        except AssemblerLateError:
            say(plain(asked.late(source, target)))
            return
        except AssemblerError as error:
            say(plain(compiler.assembler_refused(source, error, target)))
            return
        if binary:
            made = replace(made, registers=usage.registers, spill_bytes=usage.spill_bytes)
    say(plain(made))


@lru_cache(4)
def _usage(assembler: workplace.Assembler, ptx: str, target: int) -> compiler.Usage:
    """What an assembler says; arguments aligned in several ways may come to one text."""
    return assembler(ptx, target)


def _assembly(
    source: Source, target: int, binary: bool, whole: bool, seen: compiler.Seen
) -> compiler.Assembly:
    """PTX; unless registers are asked for, only what the optimiser refuses, too, is refused."""
    if not whole:
        return compiler.to_memory(source, target, seen)
    if not binary:
        with compiler.unoptimised(), contextlib.suppress(KernelFault):
            return compiler.to_refusal(source, target, seen)
    return compiler.to_ptx(source, target, seen)
