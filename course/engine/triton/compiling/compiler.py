"""Triton's compiler, stage by stage in this process: from a kernel to PTX, and to its registers.

Up to PTX no process is started, no file written and no thread made. `ptxas`, which Triton
brings, then says how many registers the PTX takes; that is a process of its own.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import inspect
import io
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from triton._C.libtriton import ir, passes
from triton._C.libtriton import nvidia as nvidia_passes
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia import compiler as nvidia
from triton.compiler import ASTSource, make_backend
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.experimental.gluon._runtime import GluonASTSource

from course.engine import stated_gpu
from course.engine.faults import KernelFault, does_not_compile, rejected
from course.engine.triton.compiling import contexts
from course.engine.triton.compiling.common import Contents, contents_of
from course.engine.triton.compiling.complaints import NO_REASON, in_full
from course.engine.triton.compiling.constants import held_small
from course.engine.triton.compiling.functions import called_at, code_of, own_files, own_functions
from course.engine.triton.compiling.specialisation import Source
from course.engine.triton.compiling.written_out import loops_held_short, require_short
from course.plain.trees import walk

WARP = 32
#: The one that is not Triton's own: shared memory is laid out, and nothing is made of LLVM's.
_LAID_OUT = "laid out"
TO_PTX, _TO_MEMORY = ("ttir", "ttgir", "llir", "ptx"), ("ttir", "ttgir", _LAID_OUT)
_LONGEST_MESSAGE = 300
#: What is looked at of what the compiler said: names of a learner's stand in it.
_LONGEST_SAID = 20_000
#: How a block's values lie in the threads, behind its shape and type.
_LAYOUT = r"(tensor<[^,<>]+), #[\w.]+>"
_PTXAS_SECONDS = 120.0
#: A node that all of Python's syntax trees share. IPython's tracebacks leave a file's whole tree on
#: it, and Triton copies the target of each `+=` deeply.
_STORE = next(node for node in walk(ast.parse("x = 0")) if isinstance(node, ast.Store))
#: The environment variable by which Triton leaves LLVM's optimiser out.
_NO_OPTIMISER = "DISABLE_LLVM_OPT"


@dataclass(frozen=True)
class Assembly:
    """A kernel in PTX, if it was taken that far. `shared_bytes` are a program's."""

    ptx: str
    warps: int
    shared_bytes: int


@dataclass(frozen=True)
class Usage:
    """What `ptxas` makes of it: registers of a thread, and bytes of those that do not fit.

    `binary` is what a GPU loads.
    """

    registers: int
    spill_bytes: int
    binary: bytes = b""


class AssemblerError(Exception):
    """`ptxas` refuses the PTX. The text is its first error."""


class AssemblerLateError(AssemblerError):
    """`ptxas` was stopped: it took more time than there was, which says nothing of the PTX."""


@contextlib.contextmanager
def unoptimised() -> Iterator[None]:
    """LLVM leaves the code as it comes: a third less time, where nobody asks for registers."""
    before = os.environ.get(_NO_OPTIMISER)
    os.environ[_NO_OPTIMISER] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_NO_OPTIMISER]
        else:
            os.environ[_NO_OPTIMISER] = before


def shown(target: int) -> str:
    """80 as 8.0."""
    return f"{target // 10}.{target % 10}"


@dataclass(frozen=True)
class Compiled:
    """What the compiler's stages left: text, or a module of their own in its context.

    `stage` is the last of them, which `shared_bytes` that no program can have make an earlier one.
    `printed` is what the kernel has the compiler say, each line once; `contents`, what the front
    end left.
    """

    module: Any
    context: Any
    metadata: dict[str, Any]
    printed: str
    contents: Contents
    stage: str

    @property
    def ptx(self) -> str:
        """The kernel in PTX, if it has come so far."""
        return self.module if self.stage == "ptx" else ""

    @property
    def shared_bytes(self) -> int:
        """A program's, once they are laid out."""
        return int(self.metadata.get("shared") or 0)


Seen = Callable[[str, Compiled], None]


def to_ptx(source: Source, target: int, seen: Seen | None = None) -> Assembly:
    """Compiles a kernel as far as PTX; `seen` and what is raised are as for `compiled`."""
    return _assembly(compiled(source, target, TO_PTX, seen))


def to_memory(source: Source, target: int, seen: Seen | None = None) -> Assembly:
    """As `to_ptx`, in a half of its time: what LLVM would refuse is not, and there is no PTX."""
    return _assembly(compiled(source, target, _TO_MEMORY, seen))


def to_refusal(source: Source, target: int, seen: Seen | None = None) -> Assembly:
    """As `to_ptx` where LLVM could refuse the kernel, and else as `to_memory`; with PTX only where
    the assembler could refuse it.
    """
    made = compiled(source, target, TO_PTX, seen, if_lowered=_TO_MEMORY)
    assembly = _assembly(made)
    return assembly if made.contents.two_hints else replace(assembly, ptx="")


def _assembly(made: Compiled) -> Assembly:
    return Assembly(made.ptx, int(made.metadata["num_warps"]), made.shared_bytes)


def compiled(
    source: Source,
    target: int,
    stages: Sequence[str],
    seen: Seen | None = None,
    *,
    if_lowered: Sequence[str] = (),
) -> Compiled:
    """Takes a kernel through the compiler's stages, in order: `TO_PTX` or `_TO_MEMORY`, or fewer.

    Args:
        seen: called with each stage's name behind it, and what it left: it changes nothing of it.
        if_lowered: the stages of a kernel that LLVM takes if it comes so far, where these differ.

    Raises:
        KernelFault: DOES_NOT_COMPILE with the compiler's message and the line; REJECTED for a
            constant that is too large to be worked out.
    """
    function = source.function
    vars(_STORE).clear()
    said: list[str] = []
    refused: list[str] = []
    try:
        with contexts.kept(), _hearing(said), loops_held_short(), held_small() as refused:
            return _through(source, target, stages, seen, if_lowered)
    except KernelFault:
        raise
    except CompilationError as error:
        if (own := _own_fault(error)) is not None:
            raise own from None
        place, message = _located(function, error)
        if refused:
            fault = rejected(place.line, "tile_large_constant", detail=refused[0])
        else:
            fault = _refused(place.line, message, target, "triton_refuses")  # by the front end
        raise place.noted(fault) from None
    except Exception as error:
        place, message = _from_passes(function, "".join(said), error)
        raise place.noted(_refused(place.line, message, target)) from None


def _own_fault(error: BaseException) -> KernelFault | None:
    """What a function of constants came to, which the compiler has walked here."""
    at: BaseException | None = error
    while at is not None and not isinstance(at, KernelFault):
        at = at.__cause__ or at.__context__
    return at


def written_for(source: Source) -> Any:
    """A kernel as Triton's compiler takes it."""
    made_of = GluonASTSource if source.function.is_gluon() else ASTSource
    return made_of(source.function, source.signature, source.constants, source.attributes)


def _through(
    source: Source,
    target: int,
    names: Sequence[str],
    seen: Seen | None,
    if_lowered: Sequence[str],
) -> Compiled:
    made_for = GPUTarget("cuda", target, WARP)
    written = written_for(source)
    backend = make_backend(made_for)
    # Triton 3.10 is to change the default of the second, and 3.9 warns of it at each compile.
    defaults = {"ptx_version": ptx_version(target), "enable_fp_fusion": True}
    options = backend.parse_options({**defaults, **source.options})
    context = contexts.context_for(backend)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, written.language)
    stages[_LAID_OUT] = lambda module, metadata: _laid_out(module, metadata, target)
    metadata: dict[str, Any] = {"target": made_for, **options.__dict__}
    functions = backend.get_codegen_implementation(options)
    with contextlib.redirect_stdout(io.StringIO()) as said:  # `tl.static_print`
        module = written.make_ir(made_for, options, functions, backend.get_module_map(), context)
    require_short(module, source.function)
    contents = contents_of(module, source)
    names = if_lowered if if_lowered and contents.are_lowered(target) else names
    # each line once: the front end reads the body of a loop twice
    printed = "".join(dict.fromkeys(said.getvalue()[:_LONGEST_SAID].splitlines(keepends=True)))
    made = Compiled(module, context, metadata, printed, contents, "")
    for name in (name for name in names if name in stages):  # Gluon begins at ttgir
        made = replace(made, module=stages[name](made.module, metadata), stage=name)
        if seen is not None:
            seen(name, made)
        if made.shared_bytes > stated_gpu.shared_limit(target):
            break  # it is refused for that, and what is left can take the most of the time
    return made


def _laid_out(module: Any, metadata: dict[str, Any], target: int) -> Any:
    """The beginning of Triton's stage `llir` (`CUDABackend.make_llir`)."""
    manager = ir.pass_manager(module.context)
    passes.ttgpuir.add_combine_tensor_select_and_if(manager)
    passes.ttgpuir.add_allocate_warp_groups(manager)
    passes.convert.add_scf_to_cf(manager)
    passes.gluon.add_inliner(manager)
    allocate = nvidia_passes.passes.ttgpuir.add_allocate_shared_memory_nv
    allocate(manager, target, ptx_version(target))
    manager.run(module, "laid_out")
    metadata["shared"] = module.get_int_attr("ttg.shared")
    metadata["num_warps"] = module.get_int_attr("ttg.total-num-warps") or metadata["num_warps"]
    return module


def warm_up() -> None:
    """Does now what the first compile would do for all: a sandboxed launch could not."""
    for target in (75, 80, 90, 100):
        ptx_version(target)


@cache
def ptx_version(target: int) -> int:
    """The version of PTX that Triton writes for the `ptxas` that it brings."""
    return int(nvidia.ptx_get_version(nvidia.get_ptxas(target).version))


# ---------------------------------------------------------------- registers


def ptxas_command(target: int, path: str, output: str = os.devnull) -> list[str]:
    """The command that assembles the PTX in `path` as Triton does."""
    architecture = f"sm_{target}{'a' if target >= 90 else ''}"
    command = [nvidia.get_ptxas(target).path, "-lineinfo", "-v"]
    if _allocates_longer():
        command.append("--regAllocOptLevel=2")
    return [*command, f"--gpu-name={architecture}", path, "-o", output]


@cache
def _allocates_longer() -> bool:
    """Whether this Triton asks for it: from 3.7 on."""
    return "regAllocOptLevel" in inspect.getsource(nvidia.CUDABackend)


def assembled(ptx: str, target: int) -> Usage:
    """What `ptxas` says of the PTX, in a process of its own.

    Raises:
        AssemblerError: where it refuses.
        AssemblerLateError: where it takes too long.
    """
    handle, binary = os.memfd_create("kernel.ptx", 0), os.memfd_create("kernel.cubin", 0)
    try:
        os.write(handle, ptx.encode())
        command = ptxas_command(target, f"/proc/self/fd/{handle}", f"/proc/self/fd/{binary}")
        done = subprocess.run(
            command, pass_fds=[handle, binary], capture_output=True, text=True,
            timeout=_PTXAS_SECONDS,
        )  # fmt: skip
        return usage(done.stderr, done.returncode, whole(binary))
    except subprocess.TimeoutExpired:
        raise AssemblerLateError("it took too long") from None
    except OSError as error:
        raise AssemblerError(str(error)) from error
    finally:
        os.close(handle)
        os.close(binary)


def whole(handle: int) -> bytes:
    """All that a file in memory holds."""
    return os.pread(handle, os.fstat(handle).st_size, 0)


def usage(said: str, status: int, binary: bytes = b"") -> Usage:
    """What `ptxas` said on its way out, as numbers, and what it made.

    Raises:
        AssemblerError: where that is an error.
        AssemblerLateError: where its time, or somebody's patience, was over.
    """
    if -status in (signal.SIGXCPU, signal.SIGKILL):
        raise AssemblerLateError("it took too long")
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", said)]
    if status != 0 or not registers:
        found = re.search(r"(?:error|fatal)\s*:\s*(.*)", said)
        raise AssemblerError(found[1] if found else f"ptxas ended with status {status}")
    spills = [int(n) for n in re.findall(r"(\d+) bytes spill stores", said)]
    return Usage(max(registers), max(spills, default=0), binary)


# ---------------------------------------------------------------- what the compiler refuses


def _refused(
    line: int | None, message: str, target: int, message_id: str = "triton_compiler"
) -> KernelFault:
    return does_not_compile(line, message_id, detail=message, target=shown(target))


def assembler_refused(source: Source, error: AssemblerError, target: int) -> KernelFault:
    """`ptxas` refuses what the stages before it made."""
    return _refused(code_of(source.function).first_line, _cut(str(error)), target)


class _Place(NamedTuple):
    """A line of the learner's, and the function it stands in where that is not the kernel."""

    line: int | None
    function: str = ""
    filename: str = ""

    def noted(self, fault: KernelFault) -> KernelFault:
        if self.function:
            fault.happened_in(self.function, self.filename)
        return fault


def _chain(error: BaseException) -> list[CompilationError]:
    found: list[CompilationError] = []
    at: BaseException | None = error
    while at is not None:
        if isinstance(at, CompilationError):
            found.append(at)
        at = at.__cause__
    return found


def _located(function: Any, error: CompilationError) -> tuple[_Place, str]:
    """(place in the learner's code, what the compiler says): innermost of both."""
    chain = _chain(error)
    message = next((e.error_message for e in reversed(chain) if e.error_message), "")
    cause = chain[-1].__cause__
    told = type(chain[-1]).__name__ if cause is None else in_full(cause)
    if not message or told.startswith(message):
        message = told
    elif isinstance(chain[-1], CompileTimeAssertionFailure):
        message = f"{told}: {message}"
    place = _Place(None)
    codes = [*map(code_of, own_functions(function))]
    for part in chain:
        code = next((code for code in codes if code.source == part.src), None)
        if code is not None and hasattr(part.node, "lineno"):
            # of a call that it refuses Triton names the called function, and the caller's line
            code = next((one for one in (code, *codes) if _holds(one.source, part.node)), code)
            place = _place(function, code.filename, code.lines_before + part.node.lineno)
    return place, _cut(message)


def _holds(source: str, node: ast.AST) -> bool:
    """Whether this is the text that a node stands in."""
    wanted = ast.dump(node, include_attributes=True)
    same = (one for one in ast.walk(ast.parse(source)) if type(one) is type(node))
    return any(ast.dump(one, include_attributes=True) == wanted for one in same)


def _from_passes(function: Any, text: str, error: Exception) -> tuple[_Place, str]:
    """A refusal behind the front end: the first error that the compiler wrote, or its exception.

    It is of the kernel's first line where no line of the learner's is named.
    """
    text, files = text[:_LONGEST_SAID], own_files(function)
    for file, line, said in re.findall(r"^(.*?):(\d+):\d+: error: (.*)", text, re.MULTILINE):
        if file in files:
            return _place(function, files[file], int(line)), _cut(said)
    found = re.search(r"error: (.*)", text)
    said = found.group(1) if found else str(error) or type(error).__name__
    return _Place(code_of(function).first_line), _cut(said)


def _place(function: Any, filename: str, line: int) -> _Place:
    return _Place(line, called_at(function, filename, line), filename)


def _cut(message: str) -> str:
    """A message on one line, without the exception's name around it and the layouts of blocks."""
    text = re.sub(_LAYOUT, r"\1>", _without_nested(" ".join(message[:_LONGEST_SAID].split())))
    wrapped = re.fullmatch(r"\w*(?:Error|Exception)\w*\((['\"])(.*)\1,?\)", text)
    text = wrapped.group(2) if wrapped else text
    if len(text) > _LONGEST_MESSAGE:
        text = text[: _LONGEST_MESSAGE - 3] + "..."
    return text.rstrip(".") or NO_REASON


def _without_nested(text: str) -> str:
    """The text with each layout's own values left out, from the inside out."""
    while (shorter := re.sub(r"(#[\w.]+)<\{[^{}]*\}>", r"\1", text)) != text:
        text = shorter
    return text


@contextlib.contextmanager
def _hearing(lines: list[str]) -> Iterator[None]:
    """Keeps what the compiler's C++ side writes to the process's stderr.

    Where that is a file already (behind the sandbox's wall no other can be made), its end is read.
    """
    if sys.stderr is not None:
        sys.stderr.flush()
    if hears_itself():
        start = os.fstat(2).st_size
        try:
            yield
        finally:
            lines.append(os.pread(2, 1 << 20, start).decode(errors="replace"))
        return
    kept = os.memfd_create("stderr")
    saved = os.dup(2)
    os.dup2(kept, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        lines.append(os.pread(kept, 1 << 20, 0).decode(errors="replace"))
        os.close(kept)


def hears_itself() -> bool:
    """Whether stderr is a file that can be read back."""
    try:
        readable = fcntl.fcntl(2, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
        return readable and stat.S_ISREG(os.fstat(2).st_mode)
    except OSError:
        return False


def hear_itself() -> None:
    """Makes stderr such a file, in memory."""
    kept = os.memfd_create("stderr")
    os.dup2(kept, 2)
    os.close(kept)
