"""What Triton's compiler refuses is refused here, with its message and the line."""

import importlib.util
import os
import re
import runpy
import subprocess
import time
from collections import OrderedDict, deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from course import exercises
from course.engine.faults import KernelFault, Outcome
from course.engine.job import Output, Run
from course.engine.triton.compiling import asked, compiler, findings, found, gate, workplace
from course.engine.triton.compiling.functions import code_of
from course.engine.triton.compiling.gate import compile_for
from course.engine.triton.engine import TritonEngine
from course.plain import bounded
from course.tests.engine.faults import raised
from course.tests.engine.triton import cases
from course.words.sentences import sentence


@pytest.fixture(autouse=True)
def nothing_found_before(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(found, "_found", {})
    monkeypatch.setattr(gate, "_whole", set())
    monkeypatch.setattr(gate, "_forms", OrderedDict())
    monkeypatch.setattr(gate, "_passed", deque())
    monkeypatch.setattr(findings, "_told", set())
    monkeypatch.setattr(findings, "_searches", {})


@triton.jit
def small_dot(a_ptr, out_ptr, M: tl.constexpr, K: tl.constexpr):
    a = tl.load(a_ptr + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    product = tl.dot(a, tl.trans(a))
    tl.store(out_ptr + tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :], product)


@triton.jit
def changes_type(x_ptr, n):
    total = 0
    for i in range(n):
        total = total + tl.load(x_ptr + i)
    tl.store(x_ptr, total)


@triton.jit
def only_one_side(x_ptr):
    if tl.load(x_ptr) > 0:
        y = 1.0
    tl.store(x_ptr, y)


@triton.jit
def in_a_helper(x_ptr):
    tl.store(x_ptr, mixed(tl.load(x_ptr)))


@triton.jit
def product_of_bytes(a_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + at)
    tl.store(out_ptr + at, tl.dot(a, a).to(tl.float32))


@triton.jit
def mixed(x):
    return tl.arange(0, 4) + tl.arange(0, 8)


WRONG = [
    (small_dot, (torch.zeros(16, 8).half(), torch.zeros(16, 16)), {"M": 16, "K": 8}, 2, "K >= 16"),
    (changes_type, (torch.zeros(4), 4), {}, 2, "type"),
    (only_one_side, (torch.zeros(4),), {}, 3, "`y` is not defined"),
]


@pytest.mark.parametrize(("kernel", "args", "constants", "line", "words"), WRONG)
def test_the_compilers_refusal_names_the_line(kernel, args, constants, line, words):
    fault = raised(compile_for, kernel, args, constants)
    assert fault.outcome is Outcome.DOES_NOT_COMPILE
    assert fault.line == code_of(kernel).first_line + line
    assert words in str(fault)


def test_a_refusal_inside_a_helper_function_names_the_helpers_line():
    fault = raised(compile_for, in_a_helper, (torch.zeros(4),))
    assert fault.line == code_of(mixed).first_line + 1
    assert "shape" in str(fault)


SCALE = tl.constexpr(2.0)


@triton.jit
def asks_a_number_for_its_shape(x_ptr):
    tl.store(x_ptr, SCALE.shape[0])


def test_a_constant_without_the_attribute_that_a_kernel_asks_for_is_refused():
    fault = raised(compile_for, asks_a_number_for_its_shape, [torch.zeros(4)])
    assert fault.outcome is Outcome.DOES_NOT_COMPILE
    assert "no attribute 'shape'" in str(fault)


def test_resources_of_a_kernel():
    case = cases.matmul(64)
    found = compile_for(case.kernel, case.args, case.constants)
    assert found.target == 80
    assert found.warps == 4
    assert 32 <= found.registers <= 255
    assert found.shared_bytes == 2 * (64 * 32 + 32 * 64) * 2
    assert found.spill_bytes == 0


def test_tiles_that_do_not_fit_in_shared_memory_are_too_many_resources():
    case = cases.matmul(64, "float32", (64, 64, 64))
    fault = raised(compile_for, case.kernel, case.args, case.constants | {"num_stages": 7})
    assert fault.outcome is Outcome.TOO_MANY_RESOURCES


def test_what_does_not_fit_is_not_assembled_first():
    """Unrolled for a T4 that takes longer than a compile may."""
    case = cases.matmul(64, "float32", (64, 64, 64))
    asked = []
    with workplace.changed(alone=False, keeps=False, assembler=lambda *ptx: asked.append(ptx)):
        fault = raised(compile_for, case.kernel, case.args, case.constants | {"num_stages": 7})
    assert fault.outcome is Outcome.TOO_MANY_RESOURCES
    assert not asked


@pytest.mark.parametrize("target", [75, 80, 90])
def test_a_kernel_compiles_for_each_target(target):
    case = cases.add(1000)
    assert compile_for(case.kernel, case.args, case.constants, target).target == target


# ------------------------------------------------------------ what it makes is what Triton makes


@pytest.mark.parametrize("target", [75, 80, 90])
@pytest.mark.parametrize(
    "make", [lambda: cases.matmul(64), lambda: cases.softmax_one_pass(4, 9000)]
)
def test_registers_and_shared_memory_are_those_of_tritons_own_binary(make, target, tmp_path):
    case = make()
    found = compile_for(case.kernel, case.args, case.constants, target)
    source = gate.source_of(case.kernel, case.args, case.constants)
    written = triton.compiler.ASTSource(
        source.function, source.signature, source.constants, source.attributes
    )
    made = triton.compile(written, target=triton.backends.compiler.GPUTarget("cuda", target, 32))
    file = tmp_path / "kernel.cubin"
    file.write_bytes(made.asm["cubin"])
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    said = subprocess.run([tool, "-res-usage", file], capture_output=True, text=True).stdout
    assert found.registers == max(map(int, re.findall(r"REG:(\d+)", said)))
    assert found.shared_bytes == made.metadata.shared


def test_a_row_that_does_not_fit_in_registers_spills():
    case = cases.softmax_one_pass(2, 1 << 15)
    assert compile_for(case.kernel, case.args, case.constants).spill_bytes > 100


# ------------------------------------------------------------ once, with limits


def test_a_launch_can_run_while_the_compiler_goes_on(monkeypatch):
    case = cases.add(1000)
    source = gate.source_of(case.kernel, case.args, case.constants | {"BLOCK": 128})
    wait = gate.begin(source)
    monkeypatch.setattr(asked, "Child", _never)
    assert gate.lower(source, gate.TARGET).form is gate.Form.COMPILED
    assert wait().registers > 0
    assert gate.begin(source)().registers > 0


TOO_LARGE_AND_ASTRAY = """
import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, out):
    i = tl.arange(0, 64)
    total = tl.zeros((64, 64), tl.float32)
    for k in range(8):
        at = i[:, None] * 512 + k * 64 + i[None, :]
        total = tl.dot(tl.load(a + at), tl.load(b + at + 2), total)
    tl.store(out + i[:, None] * 64 + i[None, :], total)


def run(a, b):
    out = torch.empty(64, 64, device=a.device)
    product[(1,)](a, b, out, num_stages=7)
    return out
"""


def test_what_a_gpu_cannot_hold_is_told_before_what_the_run_came_to():
    arguments = {"a": np.zeros((64, 512), np.float32), "b": np.zeros((64, 512), np.float32)}
    outputs = (Output("out", (64, 64), "float32"),)
    run = Run(
        TOO_LARGE_AND_ASTRAY, "run", arguments, (1,), (1,), 0, 10**6, "triton", outputs=outputs
    )
    for compiles, outcome in ((True, Outcome.TOO_MANY_RESOURCES), (False, Outcome.OUT_OF_BOUNDS)):
        assert raised(TritonEngine(compiles=compiles), run).outcome is outcome


def test_a_kernel_is_compiled_once_in_a_process_and_once_on_a_disk(monkeypatch):
    case = cases.add(1000)
    first = compile_for(case.kernel, case.args, case.constants)
    monkeypatch.setattr(asked, "Child", _never)
    assert compile_for(case.kernel, case.args, case.constants) == first
    monkeypatch.setattr(found, "_found", {})
    monkeypatch.setattr(gate, "_whole", set())
    assert compile_for(case.kernel, case.args, case.constants) == first
    with pytest.raises(AssertionError, match="compiled anew"):
        compile_for(case.kernel, case.args, {"BLOCK": 512})


def test_a_refusal_is_kept_too():
    for _ in range(2):
        with pytest.raises(KernelFault, match="`y` is not defined"):
            compile_for(only_one_side, (torch.zeros(4),))
        found._found.clear()


def test_registers_are_asked_for_where_they_were_not_before():
    case = cases.add(1000)
    assert compile_for(case.kernel, case.args, case.constants, binary=False).registers is None
    assert compile_for(case.kernel, case.args, case.constants).registers > 0


def test_an_assembler_that_is_stopped_has_not_refused(monkeypatch):
    case = cases.add(1000)
    with monkeypatch.context() as slow:
        slow.setattr(asked, "COMPILE_SECONDS", 1.0)
        slow.setattr(compiler, "ptxas_command", lambda *_: ["sh", "-c", "while :; do :; done"])
        with pytest.raises(KernelFault, match="was stopped after 1 seconds") as caught:
            compile_for(case.kernel, case.args, case.constants)
    assert caught.value.outcome is Outcome.TIMED_OUT
    found._found.clear()
    assert compile_for(case.kernel, case.args, case.constants).registers > 0, "none was kept"
    with pytest.raises(compiler.AssemblerError, match="ptxas ended with status 255") as refused:
        compiler.usage("", 255)
    assert not isinstance(refused.value, compiler.AssemblerLateError)


def test_a_disk_that_cannot_be_written_is_no_refusal(monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", "/proc/no/such/folder")
    case = cases.add(1000)
    assert compile_for(case.kernel, case.args, case.constants).target == 80


@triton.jit
def unrolled(x_ptr, TURNS: tl.constexpr):
    for i in tl.static_range(TURNS):
        tl.store(x_ptr + i, tl.load(x_ptr + i) + i)


def test_a_compile_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr(asked, "COMPILE_SECONDS", 0.5)
    fault = raised(compile_for, unrolled, (torch.zeros(4),), {"TURNS": 10**7})
    assert fault.outcome is Outcome.TIMED_OUT
    assert "`unrolled`" in str(fault)
    found._found.clear()
    monkeypatch.setattr(asked, "COMPILE_SECONDS", 30)
    assert compile_for(unrolled, (torch.zeros(4),), {"TURNS": 2}).target == 80


def test_a_compiler_that_crashes_takes_no_notebook_with_it(monkeypatch):
    monkeypatch.setattr(compiler, "to_ptx", lambda *_: os.abort())
    fault = raised(compile_for, cases.add(8).kernel, cases.add(8).args, {"BLOCK": 64})
    assert fault.outcome is Outcome.DOES_NOT_COMPILE
    assert "SIGABRT" in str(fault)


@pytest.mark.parametrize(
    ("end", "said"), [(lambda: os.abort(), "SIGABRT"), (lambda: os._exit(0), "without an answer")]
)
def test_a_compiler_that_ends_before_or_behind_its_answer_is_told_in_words(monkeypatch, end, said):
    source = gate.source_of(cases.add(8).kernel, cases.add(8).args, {"BLOCK": 64})
    with monkeypatch.context() as ending:
        ending.setattr(gate, "in_form", lambda *_: end())
        with pytest.raises(KernelFault, match=said) as caught:
            gate.lower(source, gate.TARGET)
    assert caught.value.outcome is Outcome.DOES_NOT_COMPILE
    done = bounded.os._exit
    monkeypatch.setattr(bounded.os, "_exit", lambda status: os.abort() if status == 0 else done(1))
    with pytest.raises(KernelFault, match="SIGABRT"):
        gate.lower(source, gate.TARGET)


def test_in_place_it_starts_no_process_and_hears_the_compiler(monkeypatch):
    monkeypatch.setattr(workplace, "_setting", workplace.Setting(alone=False, keeps=False))
    compiler.warm_up()
    monkeypatch.setattr(os, "fork", _never)
    monkeypatch.setattr(subprocess, "Popen", _never)
    case = cases.matmul(64)
    found = compile_for(case.kernel, case.args, case.constants, binary=False)
    assert found.shared_bytes == 2 * (64 * 32 + 32 * 64) * 2
    with pytest.raises(KernelFault, match="K >= 16"):
        compile_for(small_dot, (torch.zeros(16, 8).half(), torch.zeros(16, 16)), {"M": 16, "K": 8})


def in_a_grader(monkeypatch):
    place = workplace.Setting(alone=False, keeps=False, others=True)
    monkeypatch.setattr(workplace, "_setting", place)


def test_a_grader_compiles_for_the_other_gpus_too(monkeypatch):
    case = cases.matmul(64)
    source = gate.source_of(case.kernel, case.args, case.constants)
    assert compile_for(case.kernel, case.args, case.constants).target == 80
    assert findings.refused_elsewhere(source) is None
    assert len(found._found) == 1, "a notebook does not wait for the others"
    in_a_grader(monkeypatch)
    assert findings.refused_elsewhere(source) is None
    assert len(found._found) == 3
    odd = (*case.args[:3], 61, 61, 61)
    assert findings.refused_elsewhere(gate.source_of(case.kernel, odd, case.constants)) is None
    assert len(found._found) == 3, "the other GPUs are not asked again for another alignment"


def test_of_what_every_gpu_takes_a_grader_asks_one(monkeypatch):
    case = cases.add(1024)
    in_a_grader(monkeypatch)
    assert compile_for(case.kernel, case.args, case.constants).target == 80
    source = gate.source_of(case.kernel, case.args, case.constants)
    assert findings.refused_elsewhere(source) is None
    assert len(found._found) == 1


def test_whole_numbers_of_8_bits_are_multiplied_on_newer_gpus_than_a_t4(monkeypatch):
    side = (torch.zeros(32, 32, dtype=torch.int8), torch.zeros(32, 32))
    assert compile_for(product_of_bytes, side, {"N": 32}).target == 80
    assert compile_for(product_of_bytes, side, {"N": 32}, 90).target == 90
    in_a_grader(monkeypatch)
    refused = findings.refused_elsewhere(gate.source_of(product_of_bytes, side, {"N": 32}))
    assert (refused.outcome, refused.fields["gpu"]) == (Outcome.DOES_NOT_COMPILE, "T4")
    text = code_of(product_of_bytes).source.splitlines()
    assert "tl.dot" in text[refused.line - code_of(product_of_bytes).first_line]
    assert "'tensor<32x32xi8>'" in refused.fields["detail"], "without the layout of its threads"


def _never(*_, **__):
    raise AssertionError("compiled anew")


# ------------------------------------------------------------ the other GPUs


def found_in_the_background(label, *launches):
    findings.in_background(label, [gate.source_of(*launch) for launch in launches])
    deadline = time.monotonic() + 60
    found = findings.pending_findings()
    while findings._searches and time.monotonic() < deadline:
        time.sleep(0.05)
        found += findings.pending_findings()
    return found


@triton.jit
def turns(a_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(a_ptr + at[:, None] * N + at[None, :])
    tl.store(out_ptr + at[:, None] + at[None, :] * N, a)


def test_what_a_t4_cannot_hold_is_told_once():
    square = torch.zeros(256, 256)
    launch = (turns, (square, square.clone()), {"N": 256, "num_warps": 8})
    told = found_in_the_background("turns", launch)
    assert [(one.label, one.target) for one in told] == [("turns", 75), ("turns", 90)]
    assert "T4" in sentence(told[0].message_id, told[0].fields)
    assert "there are 65,536" in sentence(told[0].message_id, told[0].fields)
    assert found_in_the_background("turns", launch) == []


def test_what_fits_everywhere_is_not_spoken_of(monkeypatch):
    case = cases.add(1000)
    assert found_in_the_background("add", (case.kernel, case.args, case.constants)) == []
    monkeypatch.setattr(bounded.os, "fork", _never)
    assert found_in_the_background("add", (case.kernel, case.args, case.constants)) == []


WIDE = """\
import triton
import triton.language as tl

BLOCK = 1024

@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < N)
    y = tl.load(y_ptr + offsets, mask=offsets < N)
    tl.store(out_ptr + offsets, x + y, mask=offsets < N)
"""


def imported(text, folder):
    file = folder / "cell.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("cell", file)
    cell = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cell)
    return cell


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("tl.store(out_ptr + offsets, x, mask=offsets < N)", Outcome.TOO_MUCH_TRAFFIC),
        ("x = x + x", Outcome.WRONG_ANSWER),
    ],
)
def test_the_other_gpus_are_asked_about_a_right_answer_be_it_dear(
    monkeypatch, tmp_path, line, outcome
):
    asked = []
    monkeypatch.setattr(findings, "in_background", lambda label, sources: asked.append(label))
    cell = imported(WIDE.replace("    tl.store", f"    {line}\n    tl.store"), tmp_path)
    assert exercises.triton_add.check(cell.triton_add).outcome is outcome
    assert asked == ["triton_add"] * (outcome is not Outcome.WRONG_ANSWER)


def test_a_check_tells_what_another_gpu_cannot_hold_with_the_next_verdict(monkeypatch, tmp_path):
    monkeypatch.setitem(gate.stated_gpu.SHARED_LIMITS, 75, -1)
    cell = imported(WIDE, tmp_path)
    first = exercises.triton_add.check(cell.triton_add)
    assert first.outcome is Outcome.PASS
    assert not [step for step in first.next_steps if "T4" in step]
    deadline = time.monotonic() + 60
    told = []
    while not told and time.monotonic() < deadline:
        time.sleep(0.1)
        told = [s for s in exercises.triton_add.check(cell.triton_add).next_steps if "T4" in s]
    assert told[0].startswith("On a T4 (compute capability 7.5) `triton_add` does not fit")
    assert exercises.triton_add.check(cell.triton_add).next_steps == first.next_steps


def test_a_newer_check_ends_the_search_of_an_older_one():
    x = torch.zeros(4)
    findings.in_background("same", [gate.source_of(unrolled, (x,), {"TURNS": 10**7})])
    process = findings._searches["same"].child._process
    findings.in_background("same", [])
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert findings.pending_findings() == []


def test_what_only_the_unoptimised_code_would_be_refused_for_is_no_refusal(monkeypatch):
    tried = []

    def refused(source, target, seen):
        tried.append(os.environ.get("DISABLE_LLVM_OPT"))
        raise KernelFault(Outcome.DOES_NOT_COMPILE, "triton_refuses", 1, detail="no")

    def taken(source, target, seen):
        tried.append(os.environ.get("DISABLE_LLVM_OPT"))
        return compiler.Assembly("", 4, 0)

    monkeypatch.delenv("DISABLE_LLVM_OPT", raising=False)
    monkeypatch.setattr(compiler, "to_refusal", refused)
    monkeypatch.setattr(compiler, "to_ptx", taken)
    source = gate.source_of(changes_type, (torch.zeros(4), 4))
    said: list[dict[str, Any]] = []
    gate._compiled(source, 75, False, True, said.append)
    assert [*said[0]] == ["resources"]
    assert tried == ["1", None]
    assert "DISABLE_LLVM_OPT" not in os.environ


class Place(NamedTuple):
    pointer: Any
    size: Any


@triton.jit
def by_tuples(place, pair, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(place.pointer + at, mask=at < place.size) * pair[0]
    tl.store(out_ptr + at, x + tl.load(pair[1][0] + at * pair[1][1]))


def test_what_lies_in_a_tuple_is_compiled_for_as_alone():
    x = torch.zeros(40)
    args = [Place(x, 32), (2.0, (x[1:], 1)), torch.zeros(16)]
    source = gate.source_of(by_tuples, args, {"N": 16})
    assert source.signature["place"] == Place("*fp32", "i32")
    assert source.signature["pair"] == ("fp32", ("*fp32", "constexpr"))
    assert source.constants == {(1, 1, 1): 1, (3,): 16}
    assert list(source.attributes) == [(0, 0), (0, 1), (2,)]  # x[1:] begins at byte 4
    assert compile_for(by_tuples, args, {"N": 16}).shared_bytes == 0


@pytest.mark.parametrize("target", [75, 80, 90])
@pytest.mark.parametrize(
    ("make", "given"),
    [(cases.add, (1001,)), (cases.matmul, (128,)), (cases.softmax_online, (64, 781)),
     (cases.flash_forward, (128,)), (cases.ordered_matmul, (256, 128, 64, 4))],
)  # fmt: skip
@pytest.mark.family
def test_shared_memory_is_the_same_without_llvm(make, given, target):
    case = make(*given)
    source = gate.source_of(case.kernel, case.args, case.constants)
    whole, part = (way(source, target) for way in (compiler.to_ptx, compiler.to_memory))
    assert (part.warps, part.shared_bytes) == (whole.warps, whole.shared_bytes)
    assert (bool(whole.ptx), part.ptx) == (True, "")


def test_llvm_is_asked_of_a_kernel_once_for_whatever_numbers(monkeypatch):
    monkeypatch.setattr(workplace, "_setting", workplace.Setting(alone=False, keeps=False))
    taken: list[str] = []
    for name in ("to_ptx", "to_refusal", "to_memory"):
        way = getattr(compiler, name)
        monkeypatch.setattr(
            compiler, name, lambda *given, way=way, name=name: taken.append(name) or way(*given)
        )
    case = cases.add(1024)
    for n, constants in ((1024, {}), (1001, {}), (1, {}), (1001, {"num_warps": 8})):
        compile_for(case.kernel, (*case.args[:3], n), case.constants | constants, binary=False)
    assert taken == ["to_refusal", "to_memory", "to_memory", "to_refusal"]
    assert compile_for(case.kernel, (*case.args[:3], 1001), case.constants).registers is not None
    assert taken[4:] == ["to_ptx"], "registers are of the whole way"


# ---------------------------------------------------------------- where it is


HELPER = """import triton


@triton.jit
def converted(x):
    # of another file
    return x.to_nothing()
"""


def converted(x):
    """What a file of its own holds; see the test."""


@triton.jit
def calls_another_file(x_ptr):
    tl.store(x_ptr, converted(tl.load(x_ptr)))


def test_what_is_refused_in_another_file_is_told_with_that_file(tmp_path, monkeypatch):
    file = tmp_path / "helper.py"
    file.write_text(HELPER, encoding="utf-8")
    helper = runpy.run_path(str(file))["converted"]
    monkeypatch.setitem(globals(), "converted", helper)
    for _ in range(2):  # the second time as it was kept
        refused = raised(compile_for, calls_another_file, (torch.zeros(1),))
        told = refused.outcome, refused.filename, refused.function, refused.line
        assert told == (Outcome.DOES_NOT_COMPILE, str(file), "converted", 7)


def test_an_error_behind_the_front_end_is_on_the_learners_line_and_not_on_the_librarys():
    def of(said):
        return compiler._from_passes(small_dot, said, RuntimeError("PassManager::run failed"))

    first = code_of(small_dot).first_line
    library = "/lib/triton/language/standard.py:290:36: error: no layout for this\n"
    place, message = of(library + f"{__file__}:{first + 2}:4: error: it is too large\n")
    assert (place.line, place.function, message) == (first + 2, "", "it is too large")
    place, message = of(library)
    assert (place.line, place.function, message) == (first, "", "no layout for this")
    assert of("")[1] == "PassManager::run failed"
