"""`python -m course.run [options] FILE [arguments]`: a program of GPU kernels, without a GPU.

Exit status: 0 nothing found, 1 a kernel did something wrong, 2 the program did not run to its end
for another reason, which is told.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import threading
import tokenize
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from course.engine import stated_gpu
from course.engine.faults import KernelFault
from course.engine.triton.compiling.available import require_triton
from course.notebook.measure import TARGETS, measure
from course.run import report, uncaught

if TYPE_CHECKING:
    from course.run.launches import Findings

_NO_STAND_IN = (
    "The program asks for a GPU in a way that has no stand-in here: the last line above that is "
    "its own says where."
)
_OF_A_MACHINE_WITHOUT_GPU = (
    "not compiled with CUDA",
    "module 'torch._C' has no attribute",
    "dummy base class",
    "CUDA driver",
    "CUDA library",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program that the arguments name; gives the exit status."""
    options = _parser().parse_args(arguments)
    try:
        require_triton()
    except KernelFault as fault:
        return _refused(str(fault))
    if (wrong := _unreadable(options.file)) is not None:
        return _refused(wrong)
    if options.json is not None:
        options.json = options.json.resolve()  # the program may go to another folder
        if options.json.is_dir() or not options.json.parent.is_dir():
            return _refused(f"{options.json} cannot be written: --json takes a file, in a folder.")
    from course.run.launches import Findings

    def tell(fault: KernelFault) -> None:
        print(report.in_words(fault), file=sys.stderr, flush=True)

    noted = options.equal_stores == "noted"
    found = Findings(options.go_on, tell, report.note if noted else None)
    with measure(options.target) as traffic:
        status = _run(options, found)
    status = 1 if any(map(report.is_finding, found.faults)) else 2 if found.faults else status
    print(f"\n{report.table(traffic)}")
    if options.json is not None:
        noted, kernels = [*found.notes.values()], traffic.by_kernel()
        whole = report.as_json(options.file, options.target, status, found.faults, noted, kernels)
        try:
            options.json.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            return _refused(f"{options.json} cannot be written: {error.strerror}.")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m course.run",
        description="Runs a program of Triton or Numba CUDA kernels without a GPU, and tells of "
        "each kernel what it does wrong and what it asks of global memory, by line.",
    )
    parser.add_argument("--json", metavar="OUT", type=Path, help="write findings and counts here")
    parser.add_argument("--go-on", action="store_true", help="do not stop at the first finding")
    parser.add_argument(
        "--bounds", choices=("view", "allocation"), default="view",
        help="how far a kernel may reach: the tensor that it is passed, or all that lies in the "
        "same allocation (default: view)",
    )  # fmt: skip
    parser.add_argument(
        "--unwritten", choices=("told", "let"), default="told",
        help="loads of memory that nothing has written: let them, where a kernel throws away what "
        "it got (default: told)",
    )  # fmt: skip
    parser.add_argument(
        "--equal-stores", choices=("told", "noted"), default="told",
        help="stores of one value to one place by several that nothing orders: a race, or noted "
        "and no finding (default: told)",
    )  # fmt: skip
    parser.add_argument(
        "--target", choices=TARGETS, default=f"sm_{stated_gpu.TARGET}",
        help="the GPU that the program finds, and that its kernels are compiled for "
        "(default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("file", metavar="FILE", help="the program")
    passed = parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="what the program is passed"
    )
    passed.required = False  # argparse asks for it, though it may be nothing
    return parser


def _refused(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2


def _unreadable(file: str) -> str | None:
    """Why a file is no program, or None."""
    if file.endswith(".ipynb") and Path(file).is_file():
        return (
            f"{file} is a notebook, and no program: `jupyter nbconvert --to script {file}` makes "
            f"one of it."
        )
    try:
        with tokenize.open(file) as opened:
            compile(opened.read(), file, "exec", dont_inherit=True)
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}."
    except SyntaxError as error:
        return f"{file}:{error.lineno or 1}: this is no Python: {error.msg}."
    except (ValueError, LookupError) as error:  # no text of its encoding, or no such encoding
        return f"{file} is no Python: {error}."
    except (RecursionError, MemoryError):
        return f"{file} is no Python that can be compiled: an expression in it is nested too deep."
    return None


def _run(options: argparse.Namespace, found: Findings) -> int:
    """Runs the program as Python does; 0 where it came to its end, or to a finding."""
    from course.run.host import NotHereError
    from course.run.launches import started

    file = str(Path(options.file).absolute())  # as Python names a program
    sys.argv = [options.file, *options.arguments]
    sys.path[0] = str(Path(file).resolve().parent)

    def of_thread(ended: threading.ExceptHookArgs) -> None:
        if isinstance(ended.exc_value, KernelFault):
            found.add(ended.exc_value)
        elif ended.exc_value is not None and ended.exc_type is not SystemExit:
            uncaught.tell(ended.exc_value)

    threading.excepthook = of_thread
    try:
        started(int(options.target.removeprefix("sm_")), options.bounds, options.unwritten, found)
        runpy.run_path(file, run_name="__main__")
    except KernelFault as fault:  # one that no launch has told: there was no grid, say
        found.add(fault)
    except NotHereError as missing:
        return _refused(str(missing))
    except SystemExit as end:
        if isinstance(end.code, str):
            return _refused(end.code)
        return _refused(f"The program ended itself, with {end.code}.") if end.code else 0
    except BaseException as error:
        uncaught.tell(error)
        if any(part in str(error) for part in _OF_A_MACHINE_WITHOUT_GPU):
            print(_NO_STAND_IN, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
