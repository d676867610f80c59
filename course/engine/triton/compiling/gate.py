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

import contextlib
import json
import linecache
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import triton.language as tl
from triton.runtime.cache import get_cache_manager

from course.engine import stated_gpu
from course.engine.faults import KernelFault, Outcome, does_not_compile, too_many_resources
from course.engine.triton.compiling import compiler
from course.engine.triton.compiling.compiler import AssemblerError, AssemblerLateError, Usage
from course.engine.triton.compiling.complaints import of_the_compiler
from course.engine.triton.compiling.functions import code_of, is_assigned, own_files
from course.engine.triton.compiling.helper import Helper, Work
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
from course.engine.triton.compiling.specialisation import Source, key_of, source_of, unspecialised
from course.plain.bounded import Child, DiedError, LateError, Say

#: What a check compiles for at once, and what besides: the T4 of Colab, and Hopper.
TARGET, OTHER_TARGETS = stated_gpu.TARGET, (75, 90)
#: Processor time for one kernel and target: a large tile takes 7 s, an unrolled loop for ever.
COMPILE_SECONDS = 30.0
_KEPT_FILE = "course_gate.json"
#: What says something of this machine's hour, and not of the kernel.
_OF_THE_HOUR = ("tile_compile_late", "tile_compiler_died")
#: Where a compile's answer has the form that it went through, what it asks of shared memory, and
#: its instructions.
_FORM, _SHARED, _ISSUED = "form", "shared", "issued"
_IN_PLACE = DiedError("it took its process with it")


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


@dataclass(frozen=True)
class Reached:
    """What a kernel's PTX tells: its accesses to shared memory, its instructions by pipe."""

    shared: list[SharedAccess]
    issued: list[Issued]


Found = Resources | KernelFault
Assembler = Callable[[str, int], Usage]
#: Inside, a death of this process is a kernel's fault, which its parent is told in advance.
Will = Callable[[KernelFault], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Setting:
    """Where the compiler works: in a child or in place, with a disk or without.

    `others` says that a grader asks what the other targets' compilers say, too; `helper` is a child
    that compiles, one for all of a cell. A compiler in place may take its process with it: `will`.
    """

    alone: bool = True
    keeps: bool = True
    others: bool = False
    helper: Helper | None = None
    assembler: Assembler = compiler.assembled
    will: Will = contextlib.nullcontext


_setting = Setting()
_found: dict[str, Found] = {}
#: Kernels that LLVM has taken, for whatever numbers: it takes them where one is 1 or a multiple
#: of 16, too.
_whole: set[str] = set()
_forms: OrderedDict[str, Lowered] = OrderedDict()
#: In which forms a kernel has had the compiler say what it has to say: it says it once.
_said: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
_reached: OrderedDict[str, Reached] = OrderedDict()
#: What was compiled for `TARGET` and may be compiled for the others, later: the last ones.
_passed: deque[Source] = deque(maxlen=64)


def work_in_place(
    assembler: Assembler = compiler.assembled,
    others: bool = False,
    will: Will = contextlib.nullcontext,
) -> None:
    """From here on this process, a child with limits, compiles in place and writes nothing."""
    global _setting
    _setting = Setting(alone=False, keeps=False, others=others, assembler=assembler, will=will)


@contextlib.contextmanager
def in_place() -> Iterator[None]:
    """Inside, the compiler works in this process and without limits: for kernels that are known."""
    with _set(alone=False):
        yield


@contextlib.contextmanager
def helped_by(helper: Helper) -> Iterator[None]:
    """Inside, one child compiles what it knows, in the place of one for each compile."""
    with _set(helper=helper):
        yield


@contextlib.contextmanager
def _set(**changes: Any) -> Iterator[None]:
    global _setting
    before, _setting = _setting, replace(_setting, **changes)
    try:
        yield
    finally:
        _setting = before


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


def has_children() -> bool:
    """Whether the compiler works in children, beside this process."""
    return _setting.alone


def begin_ahead(source: Source, target: int, binary: bool) -> Compiling | None:
    """Begins in a child of its own what `begin` will want; None where it is known."""
    key = key_of(source, target)
    if known(key, binary) is not None:
        return None
    with _set(helper=None):
        return Compiling(source, target, binary, key)


def _accepted(source: Source, found: Found, target: int, binary: bool) -> Resources:
    """What was found of a kernel that a GPU of the target takes."""
    if isinstance(found, KernelFault):
        raise in_words(found, source.function)
    if not found.fits:
        raise too_many_resources(
            code_of(source.function).first_line,
            "tile_shared",
            bytes=found.shared_bytes,
            limit=shared_limit(target),
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
        with _setting.will(died(source, target, _IN_PLACE)):
            made = compiler.compiled(source, target, compiler.TO_PTX)
        found = _setting.assembler(made.module, target)
    except AssemblerLateError:
        raise late(source, target) from None
    except AssemblerError as error:
        raise compiler.assembler_refused(source, error, target) from None
    except KernelFault as refused:
        raise in_words(refused, source.function) from None
    said = made.metadata
    _accepted(source, Resources(target, said["num_warps"], said["shared"]), target, True)
    return found.binary, said


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
    if message_id == "tile_no_value":
        name = str(fields["name"])
        if not is_assigned(function, name):
            message_id = "missing_prefix" if hasattr(tl, name) else "tile_undefined"
            fields = {"name": name, "path": f"tl.{name}"}
    return KernelFault(refused.outcome, message_id, refused.line, **fields)


def shared_limit(target: int) -> int:
    """The most shared memory that a block can have."""
    return stated_gpu.SHARED_LIMITS.get(target, stated_gpu.SHARED_LIMITS[75])


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
        self._answers, self._child = _asked(work, source, target)

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
        if _FORM in answer:
            _keep_form(self._source, lowered_of(answer[_FORM], Form.COMPILED, self._target))
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
        *_, answer = _answers(partial(_formed, source, target, form), source, target)
        if "fault" in answer:
            refused = from_plain(answer)
            assert isinstance(refused, KernelFault)
            raise in_words(refused, source.function)
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
    key = key_of(source, target)
    found = _reached.get(key)
    if found is None:
        *_, answer = _answers(partial(_of_the_ptx, source, target), source, target)
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


def _form_key(source: Source, target: int, form: Form) -> str:
    files = sorted(own_files(source.function))  # they stand in the text
    return f"{form.value} {files} {key_of(source, target)}"


def _keep_form(source: Source, found: Lowered) -> None:
    key = _form_key(source, found.target, found.form)
    _forms[key] = found
    _forms.move_to_end(key)
    if len(_forms) > MOST_KEPT:
        _forms.popitem(last=False)


def _answers(work: Work, source: Source, target: int) -> Iterator[dict[str, Any]]:
    """What the compiler's `work` says, plain data, in a child with limits or in place.

    The last is a fault where it refuses the kernel, is late or dies.
    """
    return _asked(work, source, target)[0]


def _asked(
    work: Work, source: Source, target: int
) -> tuple[Iterator[dict[str, Any]], Child | None]:
    """`_answers` of work that has begun, and whose child it is, if of one for itself."""
    refusing = partial(_refusing, work)
    answers, child = None, None
    if _setting.alone and _setting.helper is not None:
        answers = _setting.helper.answers(refusing)
    if _setting.alone and answers is None:
        with contextlib.suppress(OSError):  # no child can be made here
            child = Child(refusing, COMPILE_SECONDS)
            answers = child.lines(wait=True)
    if answers is None:
        return _in_place(refusing, died(source, target, _IN_PLACE)), None
    return _of_a_child(answers, child, source, target), child


def _in_place(work: Work, if_it_dies: KernelFault) -> Iterator[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    with _setting.will(if_it_dies):
        work(said.append)
    yield from said


def _of_a_child(
    answers: Iterator[dict[str, Any]], child: Child | None, source: Source, target: int
) -> Iterator[dict[str, Any]]:
    answer: dict[str, Any] | None = None
    try:
        for answer in answers:
            yield answer
        if answer is None or _FORM in answer:
            raise DiedError("it ended without an answer")
    except LateError:
        yield plain(late(source, target))
    except DiedError as error:
        yield plain(died(source, target, error))
    finally:
        if child is not None:
            child.close()


def _refusing(work: Work, say: Say) -> None:
    try:
        work(say)
    except KernelFault as fault:
        say(plain(fault))


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


def remember(key: str, found: Found) -> None:
    """Keeps what was found: in this process, and on this disk where that is allowed."""
    _found[key] = found
    if _setting.keeps and getattr(found, "message_id", "") not in _OF_THE_HOUR:
        _keep(key, found)


def _compiled(source: Source, target: int, binary: bool, whole: bool, say: Say) -> None:
    """Says what the compiler makes of a kernel, as plain data; on the stated GPU its form first."""

    def seen(stage: str, made: compiler.Compiled) -> None:
        if stage == "ttgir" and target == TARGET and (form := on_its_way(made)) is not None:
            say({_FORM: form})

    assembly = _assembly(source, target, binary, whole, seen)
    made = Resources(target, assembly.warps, assembly.shared_bytes)
    if binary:
        try:
            usage = _setting.assembler(assembly.ptx, target)
        except AssemblerLateError:
            say(plain(late(source, target)))
            return
        except AssemblerError as error:
            say(plain(compiler.assembler_refused(source, error, target)))
            return
        made = replace(made, registers=usage.registers, spill_bytes=usage.spill_bytes)
    say(plain(made))


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


def late(source: Source, target: int) -> KernelFault:
    """A kernel whose compile was stopped."""
    return KernelFault(
        Outcome.TIMED_OUT, "tile_compile_late", code_of(source.function).first_line,
        kernel=source.function.__name__, seconds=int(COMPILE_SECONDS),
        target=compiler.shown(target),
    )  # fmt: skip


def died(source: Source, target: int, error: DiedError) -> KernelFault:
    """A kernel on which the compiler's process ended."""
    return does_not_compile(
        code_of(source.function).first_line, "tile_compiler_died",
        kernel=source.function.__name__, detail=str(error), target=compiler.shown(target),
    )  # fmt: skip


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
