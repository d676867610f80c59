"""`python -m course.run FILE`, as who starts it sees it, and the same for a program's tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

from course.engine.faults import KernelFault, Outcome
from course.run import report
from course.run.__main__ import main

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(__file__).parent / "programs"
BOUNDS, UNWRITTEN, RACE = "OUT_OF_BOUNDS", "UNINITIALISED", "RACE"


def ran(*arguments, module="course.run", folder=PROGRAMS):
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)], cwd=folder, text=True,
        capture_output=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_a_program_for_a_gpu_runs_to_its_end_and_tells_its_traffic_by_kernel_and_line() -> None:
    done = ran("--target", "sm_90", "right.py", "--size", "1000")
    assert done.returncode == 0, done.stderr
    assert "adding: run once for each line, at its first size (size=64)" in done.stdout
    assert "all right" in done.stdout
    told = [line.split()[:5] for line in done.stdout.partition("all right")[2].splitlines()]
    # 1000 floats are 125 sectors: 4 warps ask for each of them twice, since 1000 is no multiple of
    # 16, and 8 warps once; 64 floats, in 2 launches, are 1 request of 8 sectors each
    assert ["27", "load", "x_ptr", str(32 + 32 + 1 + 1), str(250 + 125 + 8 + 8)] in told
    assert ["column_sums", "(right.py),", "1", "launch"] in told
    assert ["doubled", "(right.py),", "1", "launch"] in told
    assert done.stdout.endswith("as its compiler makes them for sm_90 (H100, H200).\n")


@pytest.mark.slow
def test_operators_devices_by_number_and_a_tuner_that_passes_over_what_does_not_fit() -> None:
    done = ran("operators.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "all right" in done.stdout
    assert "product (operators.py), 2 launches" in done.stdout


@pytest.mark.parametrize(
    ("options", "findings", "ended"),
    [
        (("--go-on",), [(BOUNDS, 11), (UNWRITTEN, 17), (RACE, 17), (RACE, 17)], True),
        pytest.param(("--bounds", "allocation"), [(UNWRITTEN, 17)], False, marks=pytest.mark.slow),
        pytest.param(
            ("--bounds", "allocation", "--unwritten", "let"),
            [(RACE, 17)],
            False,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_kernels_mistakes_are_told_with_their_lines(tmp_path, options, findings, ended) -> None:
    done = ran(*options, "--json", tmp_path / "out.json", "wrong.py")
    assert done.returncode == 1
    assert ("to the end" in done.stdout) == ended
    found = json.loads((tmp_path / "out.json").read_text())
    assert [(one["outcome"], one["line"]) for one in found["findings"]] == findings
    outcome, line = findings[0]
    said = f":{line}: {found['findings'][0]['kernel']}: {outcome.replace('_', ' ')}: Program 0 "
    assert said in done.stderr
    assert (UNWRITTEN, 17) not in findings or "This kernel only loads x_ptr: what" in done.stderr
    assert "Traceback" not in done.stderr
    assert found["exit_status"] == 1


@pytest.mark.slow
def test_stores_of_one_value_to_one_place_are_noted_where_that_is_asked_for(tmp_path) -> None:
    done = ran("--equal-stores", "noted", "--json", tmp_path / "out.json", "flags.py", "equal")
    assert (done.returncode, "all right" in done.stdout) == (0, True), done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["findings"] == []
    noted = [(one["kernel"], one["outcome"], one["line"]) for one in found["notes"]]
    assert noted == [("any_large", RACE, 15), ("raised", RACE, 28), ("raised", RACE, 29)]
    assert done.stderr.count("Noted, and no finding: ") == 3
    assert "noted calls it no race" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "status", "said"),
    [
        ("right", 0, ""),
        ("outside", 1, ":17: grouped: OUT OF BOUNDS: Program 1 loads from x_ptr[40]"),
        ("gone", 1, "leads to x while x is there"),
    ],
)
def test_a_kernel_follows_the_addresses_that_a_program_keeps(which, status, said) -> None:
    done = ran("addresses.py", which)
    assert (done.returncode, "all right" in done.stdout) == (status, not status), done.stderr
    assert said in done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    # 5, 40 and 17 floats ask 1, 2 and 1 warps, and two warps more that load what these do
    assert status or ["17", "load", "x_ptr", "8", "18", "576", "288"] in rows


@pytest.mark.slow
def test_a_librarys_own_tuner_passes_over_what_does_not_fit() -> None:
    done = ran("own_tuner.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert "fits: [64]" in done.stdout


@pytest.mark.slow
def test_an_object_with_a_dtype_and_an_address_is_a_pointer() -> None:
    done = ran("pointers.py")
    assert (done.returncode, "all right" in done.stdout) == (1, True), done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    # from the last of 100 floats on, three warps begin and end within a sector
    assert ["21", "load", "x_ptr", "4", "16", "512", "416"] in rows
    said = "Program 0 loads from x_ptr[-99], which does not exist: x_ptr has 2 elements from its "
    assert f"OUT OF BOUNDS: {said}address on and 98 before it.\n" in done.stderr
    assert "--bounds" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("which", ["equal", "triton", "numba"])
def test_stores_to_one_place_are_a_race_where_they_differ_or_nothing_is_said(which) -> None:
    options = () if which == "equal" else ("--equal-stores", "noted")
    done = ran(*options, "flags.py", which)
    assert done.returncode == 1
    assert "RACE" in done.stderr
    assert "noted calls it no race" in done.stderr
    assert "Noted" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import torch\ntorch.distributed.init_process_group('nccl')", "(torch.distributed, nccl)"),
        ("import torch\ntorch.cuda.MemPool()", "in a way that has no stand-in here"),
        ("import torch\ntorch._C._scatter()", "in a way that has no stand-in here"),
        ("import sys\nsys.exit('no data')", "no data\n"),
        (
            "from numba import cuda\n@cuda.jit\ndef f(x):\n    x[0] = 1\nf.inspect_asm()",
            "makes of a kernel, `kernel.inspect_asm`: that takes the CUDA toolkit",
        ),
        ("import torch\ntorch.cuda.CUDAGraph()", "The program captures a CUDA graph"),
        (
            "from numba import cuda\nimport numpy as np\n@cuda.jit\ndef f(x):\n    s = 'a'\n"
            "    if s == 'a':\n        x[0] = 1\nf[1, 1](np.zeros(1))",
            "It may well run on a GPU. Here, write the line another way",
        ),
        ("import triton.profiler\ntriton.profiler.start('x')", "takes times on a GPU (Proton)"),
        (
            "from triton._C import libtriton\nlibtriton.nvidia.cublas.CublasLt(None).gemm(1)",
            "asks cuBLAS for `gemm`",
        ),
        ("1 / 0", "ZeroDivisionError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("class Stop(BaseException): ...\nraise Stop('enough')", "Stop: enough"),
    ],
)
def test_a_program_that_does_not_come_to_its_end_says_why(tmp_path, text, said) -> None:
    (tmp_path / "program.py").write_text(text)
    done = ran("program.py", folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "runpy" not in done.stderr
    assert "No kernel was launched." in done.stdout


def test_a_gluon_kernel_tells_what_it_was_compiled_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\n"
        "from triton.experimental import gluon\n"
        "from triton.experimental.gluon import language as gl\n\n"
        "@gluon.jit\ndef doubled(x):\n"
        "    rows: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])\n"
        "    i = gl.arange(0, 4, gl.SliceLayout(1, rows))[:, None] * 32\n"
        "    i += gl.arange(0, 32, gl.SliceLayout(0, rows))[None, :]\n"
        "    gl.store(x + i, 2 * gl.load(x + i))\n\n"
        "made = doubled[(1,)](torch.ones(128, device='cuda'))\n"
        "print(made.asm['ptx'].count('st.global'), made.metadata.num_warps, len(made.hash))\n"
    )
    done = ran(program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("1 4 64\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "makes", "sets", "status"),
    [
        ("sm_80", True, "", 0),
        ("sm_90", True, "", 2),
        ("sm_90", True, "set", 0),
        ("sm_90", False, "", 0),
    ],
)
def test_descriptors_want_an_allocator_where_triton_wants_one(
    tmp_path, target, makes, sets, status
):
    lines = ["import torch, triton", "import triton.language as tl", "@triton.jit"]
    lines += ["def zero(x, MAKES: tl.constexpr):", "    zeros = tl.zeros((64,), tl.float32)"]
    lines += ["    if MAKES:", "        d = tl.make_tensor_descriptor(x, [192], [1], [64])"]
    lines += ["        d.store([64 * tl.program_id(0)], zeros)", "    else:"]
    lines += ["        tl.store(x + 64 * tl.program_id(0) + tl.arange(0, 64), zeros)"]
    if sets:
        memory = "print(size, stream) or torch.empty(size, dtype=torch.int8, device='cuda')"
        lines += [f"triton.set_allocator(lambda size, alignment, stream: {memory})"]
    lines += ["x = torch.ones(192, device='cuda')", f"zero[lambda made: (3,)](x, {makes})"]
    (tmp_path / "program.py").write_text("\n".join([*lines, "print(float(x.sum()))"]))
    done = ran("--target", target, "program.py", folder=tmp_path)
    assert done.returncode == status, done.stderr
    assert ("no allocator was set" in done.stderr) == (status == 2)
    assert ("384 0" in done.stdout) == bool(sets and makes and target == "sm_90")
    assert ("0.0" in done.stdout) == (status == 0)


@pytest.mark.slow
def test_a_program_may_leave_its_folder_and_its_names_stand_in_no_cell(tmp_path) -> None:
    (tmp_path / "program.py").write_text(
        "import os\nimport numpy as np\nfrom numba import cuda\n"
        "os.mkdir('other')\nos.chdir('other')\nT = 4\n"
        "@cuda.jit\ndef fill(x):\n    x[0] = nowhere\n"
        "@cuda.jit\ndef root(x):\n    x[0] = math.sqrt(x[0])\n"
        "@cuda.jit\ndef tile(x):\n    s = cuda.shared.array(T + 2, np.float32)\n"
        "for kernel in (fill, root, tile):\n"
        "    try:\n        kernel[1, 1](np.zeros(4))\n    except Exception:\n        pass\n"
    )
    done = ran("--json", "out.json", "program.py", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "program.py:9: fill: REJECTED: `nowhere` is not defined.",
        "    x[0] = nowhere",
        "Define nowhere before the launch, or correct its spelling.",
        "program.py:12: root: REJECTED: `math` is not defined.",
        "    x[0] = math.sqrt(x[0])",
        "Write `import math` at the top of the file.",
        "program.py:15: tile: DOES NOT COMPILE: The shape of s is computed in the kernel: `T + 2`. "
        "Numba takes numbers and names of numbers there, nothing computed.",
        "    s = cuda.shared.array(T + 2, np.float32)",
        "Give the number a name at the top of the file, such as `SIZE = T + 2`, and use the name.",
    ]
    found = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert found[0]["sentence"] == "REJECTED: line 9: `nowhere` is not defined."


@pytest.mark.slow
def test_what_a_program_did_not_catch_is_told_by_its_own_lines(tmp_path) -> None:
    (tmp_path / "program.py").write_text(
        "import torch\n"
        "def shown(x):\n    return x.numpy()\n"
        "try:\n    shown(torch.ones(1, requires_grad=True, device='cuda'))\n"
        "except RuntimeError as error:\n    error.__cause__ = error\n"
        "    raise ValueError('no numbers') from error\n"
    )
    done = ran("program.py", folder=tmp_path)
    assert done.returncode == 2
    assert "line 3, in shown" in done.stderr
    assert "ValueError: no numbers" in done.stderr
    assert str(ROOT / "course") not in done.stderr


@pytest.mark.slow
def test_a_mistake_of_a_thread_is_told_once_and_of_numbas_kernels_nothing_of_triton(
    tmp_path,
) -> None:
    (tmp_path / "program.py").write_text(
        "import threading\nimport numpy as np\nfrom numba import cuda\n"
        "@cuda.jit\ndef fill(x):\n    x[cuda.grid(1)] = 1\n"
        "for work in (lambda: fill[1, 8](np.zeros(4)), lambda: 1 / 0, exit):\n"
        "    thread = threading.Thread(target=work)\n    thread.start()\n    thread.join()\n"
    )
    done = ran("program.py", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("OUT OF BOUNDS") == 1
    assert done.stderr.count("Traceback") == 1
    assert "ZeroDivisionError" in done.stderr
    assert str(ROOT / "course") not in done.stderr
    assert "fill (program.py), 1 launch" in done.stdout
    assert "Triton" not in done.stdout


@pytest.mark.slow
def test_a_tensor_that_was_left_on_the_cpu_stops_a_launch_as_on_a_gpu(tmp_path) -> None:
    (tmp_path / "program.py").write_text(
        "import torch, triton, triton.language as tl\n\n"
        "@triton.jit\ndef copy(x_ptr, y_ptr):\n    tl.store(y_ptr, tl.load(x_ptr))\n\n"
        "x, y = torch.ones(1), torch.zeros(1, device='cuda')\n"
        "weight = torch.nn.Linear(1, 1).to('cuda').weight\n"
        "copy[(1,)](x.pin_memory(), y)\n"
        "copy[(1,)](weight, torch.empty_like(weight))\n"
        "copy[(1,)](x.cuda(), y.cpu())\n"
    )
    done = ran("program.py", folder=tmp_path)
    assert done.returncode == 2
    assert "line 11" in done.stderr
    assert str(ROOT / "course") not in done.stderr
    assert "y_ptr is a tensor on the CPU, which no kernel can reach" in done.stderr
    assert "copy (program.py), 2 launches" in done.stdout


@pytest.mark.slow
def test_numbas_kernels_take_torchs_tensors_of_the_gpu_and_their_memory(tmp_path) -> None:
    (tmp_path / "program.py").write_text(
        "import torch, triton, triton.language as tl\nfrom numba import cuda\n\n"
        "@cuda.jit\ndef double(x, y):\n    y[cuda.grid(1)] = 2 * x[cuda.grid(1)]\n\n"
        "@triton.jit\ndef copy(x_ptr, y_ptr):\n    tl.store(y_ptr, tl.load(x_ptr))\n\n"
        "x = torch.arange(4.0, device='cuda')\ny = torch.empty_like(x)\n"
        "double[1, 4](x, y)\n"
        "copy[(1,)](y, x)\n"
        "double[1, 4](cuda.as_cuda_array(y), cuda.as_cuda_array(x))\n"
        "print(x.tolist(), y.device)\n"
        "double[1, 4](x, y.cpu())\n"
    )
    done = ran("program.py", folder=tmp_path)
    assert "[0.0, 4.0, 8.0, 12.0] cuda:0" in done.stdout, done.stderr
    assert "y is a tensor on the CPU, which no kernel can reach: Numba refuses it" in done.stderr


@pytest.mark.slow
def test_arrays_of_other_libraries_are_taken_where_they_tell_their_place(tmp_path) -> None:
    (tmp_path / "program.py").write_text(
        "import numpy as np, torch\nfrom numba import cuda\n\n"
        "@cuda.jit\ndef double(x, y):\n    y[cuda.grid(1)] = 2 * x[cuda.grid(1)]\n\n"
        "class Own:\n    def __init__(self, kept):\n        self.kept = kept\n"
        "        self.__cuda_array_interface__ = kept.__cuda_array_interface__\n\n"
        "whole = cuda.to_device(np.arange(8, dtype=np.float32))\n"
        "own, y = Own(whole[::2]), cuda.device_array(4, np.float32)\n"
        "double[1, 4](own, y)\n"
        "double[1, 4](y, cuda.as_cuda_array(own))\n"
        "of_torch = torch.empty(4, device='cuda')\n"
        "double[1, 4](own, Own(of_torch))\n"
        "there = torch.as_tensor(whole)\n"
        "there += 1\n"
        "print(cuda.is_cuda_array(own), whole.copy_to_host().tolist(), there.device)\n"
        "print(of_torch.tolist())\n"
    )
    done = ran("program.py", folder=tmp_path)
    assert "True [1.0, 2.0, 9.0, 4.0, 17.0, 6.0, 25.0, 8.0] cuda:0" in done.stdout, done.stderr
    assert "[0.0, 16.0, 32.0, 48.0]" in done.stdout


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("none.py", None, "cannot be read: No such file or directory."),
        (".", None, "cannot be read: Is a directory."),
        ("lesson.ipynb", b"{}", "a notebook, and no program: `jupyter nbconvert --to script "),
        ("half.py", b"x = 1\ndef f(:\n", "half.py:2: this is no Python: invalid syntax."),
        ("binary.py", b"\0\xff", "is no Python"),
        ("hex.py", b"# coding: hex\n", "is no Python: 'hex' is not a text encoding"),
        ("dots.py", b"x = a" + b".b" * 100_000, "is nested too deep"),
        ("signs.py", b"x = " + b"-" * 200_000 + b"1", "is nested too deep"),
    ],
)
def test_a_file_that_is_no_program_is_told_in_a_sentence(
    tmp_path, capsys, file, text, said
) -> None:
    if text is not None:
        (tmp_path / file).write_bytes(text)
    assert main([str(tmp_path / file)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_threads_of_a_program_find_the_gpu_too(tmp_path) -> None:
    (tmp_path / "program.py").write_text(
        "import threading, torch, triton, triton.language as tl\n"
        "from torch.utils.data import DataLoader\n\n"
        "@triton.jit\ndef fill(x):\n    tl.store(x, 1)\n\n"
        "def work():\n    x = torch.zeros(1, device='cuda')\n    fill[(1,)](x)\n"
        "    print(f'{x.tolist()} {x.device}\\n', end='')\n\n"
        "both = [threading.Thread(target=work) for _ in range(2)]\n"
        "[one.start() for one in both]\n[one.join() for one in both]\n"
        "for x in DataLoader(torch.ones(2), 2, num_workers=1, pin_memory=True):\n"
        "    fill[(1,)](x)\n"
        "print(torch.cuda.memory_stats()['allocated_bytes.all.peak'])\n"
        "print(torch.cuda.memory_summary())\n"
    )
    done = ran("program.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[1.0] cuda:0") == 2
    assert "fill (program.py), 3 launches" in done.stdout


def test_a_next_step_is_one_that_fits() -> None:
    raced = {"array": "x", "index": 0, "program": 0, "doing": "stores to", "other": "program 1"}
    for other, one_value in (("stores to", True), ("loads", False)):
        fault = KernelFault(Outcome.RACE, "tile_race", None, other_doing=other, **raced)
        assert ("--equal-stores noted" in report.in_words(fault)) == one_value
    late = KernelFault(Outcome.TIMED_OUT, "timed_out", None, steps=9, thread=0, block=0)
    assert "runs here with a smaller size" in report.in_words(late)
    met = KernelFault(Outcome.RACE, "race_global", None, **raced)
    assert "by `cuda.atomic.add`. " in report.in_words(met)  # a program has no lessons


@cuda.jit
def imports(out):
    import math

    out[0] = math.pi


def test_a_program_has_no_cells() -> None:
    with pytest.raises(KernelFault) as found:
        imports[1, 1](np.zeros(1))
    named = KernelFault(Outcome.DOES_NOT_COMPILE, "name_of_pythons", None, name="len")
    for fault in (found.value, named):
        assert "cell" not in report.in_words(fault)


def test_of_a_command_without_a_program_the_program_alone_is_asked_for(capsys) -> None:
    with pytest.raises(SystemExit) as end:
        main([])
    assert end.value.code == 2
    assert "required: FILE\n" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["nowhere/out.json", "."])
def test_a_place_that_cannot_be_written_is_told_before_the_program_runs(
    tmp_path, capsys, place
) -> None:
    assert main(["--json", str(tmp_path / place), str(PROGRAMS / "wrong.py")]) == 2
    assert "cannot be written: --json takes a file, in a folder." in capsys.readouterr().err


@pytest.mark.slow
def test_a_programs_tests_find_a_gpu_and_fail_by_a_kernels_mistake(tmp_path) -> None:
    (tmp_path / "test_program.py").write_text(
        "import pytest, torch\n"
        "pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason='no GPU')\n"
        "def test_wrong():\n    import wrong\n"
        "def test_right():\n    assert torch.ones(1).cuda().is_cuda\n"
    )
    (tmp_path / "wrong.py").write_text((PROGRAMS / "wrong.py").read_text())
    options = ("-q", "-p", "no:cacheprovider", "-p", "course.run.plugin", "--traffic")
    done = ran(*options, module="pytest", folder=tmp_path)
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "KernelFault: OUT_OF_BOUNDS: line 11: Program 0 loads from x_ptr[100]" in done.stdout
    assert "\nwrong.py:11: shift: OUT OF BOUNDS: Program 0 loads" in done.stdout
    assert "shift (wrong.py), 1 launch" in done.stdout


@pytest.mark.slow
def test_a_warm_up_tells_what_the_compiler_refuses(tmp_path) -> None:
    (tmp_path / "program.py").write_text(
        "import torch, triton, triton.language as tl\n\n"
        "@triton.jit\ndef ramp(x_ptr, BLOCK: tl.constexpr):\n"
        "    tl.store(x_ptr + tl.arange(0, 64), tl.arange(0, BLOCK))\n\n"
        "ramp.warmup(torch.int32, BLOCK=64, grid=(1,))\n"
        "print('so far')\n"
        "ramp.warmup(torch.int32, BLOCK=65, grid=(1,))\n"
    )
    done = ran("program.py", folder=tmp_path)
    assert done.returncode == 1
    assert "so far" in done.stdout
    assert "program.py:5: ramp: DOES NOT COMPILE: The length of a block" in done.stderr


@pytest.mark.slow
def test_what_the_assembler_alone_refuses_is_a_finding(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))  # which keeps a refusal, too
    (tmp_path / "program.py").write_text(
        "import torch, triton, triton.language as tl\n\n"
        "triton.set_allocator(lambda n, *_: torch.empty(n, dtype=torch.int8, device='cuda'))\n\n"
        "@triton.jit\ndef rows(x_ptr, out_ptr):\n"
        "    x = tl.make_tensor_descriptor(x_ptr, [64, 32], [32, 1], [1, 32])\n"
        "    found = x.gather(tl.arange(0, 8), 0)\n"
        "    tl.store(out_ptr + tl.arange(0, 256), tl.reshape(found, (256,)))\n\n"
        "rows[(1,)](torch.ones(64, 32, device='cuda'), torch.zeros(256, device='cuda'))\n"
    )
    done = ran("--target", "sm_90", "program.py", folder=tmp_path)
    assert done.returncode == 1
    assert "rows: DOES NOT COMPILE: Triton's compiler refuses this for compute cap" in done.stderr
    assert "requires .target sm_100" in done.stderr
    assert "ptxas" not in done.stderr


def test_a_cause_is_told_where_the_text_alone_shows_it(tmp_path) -> None:
    (tmp_path / "program.py").write_text(
        "import torch, triton, triton.language as tl\n\n"
        "@triton.jit\ndef add(x, out, n, B: tl.constexpr):\n"
        "    i = tl.arange(0, B)\n"
        "    tl.store(out + i, tl.load(x + i, mask=i < n))\n\n"
        "@triton.jit\ndef rows(x, out, n, stride, B: tl.constexpr):\n"
        "    i = tl.arange(0, B) % n\n"
        "    j = tl.arange(0, 4)\n"
        "    found = tl.load(x + i[:, None] * stride + j, mask=j < 4)\n"
        "    tl.store(out + tl.arange(0, B)[:, None] * 4 + j, found)\n\n"
        "x, out = torch.ones(6, 4, device='cuda'), torch.zeros(8, 4, device='cuda')\n"
        "add[(1,)](x, out.view(-1)[:24], 24, B=32)\n"
        "rows[(1,)](x, out, 6, 8, B=8)\n"
    )
    done = ran("--go-on", "program.py", folder=tmp_path)
    absent, stride = done.stderr.split("program.py")[1:]
    assert "shape (24,). The store on line 6 has no mask." in absent
    assert "`tl.store(..., mask=i < n)`." in absent
    assert "x has 24 elements, shape (6, 4).\n" in stride  # and no word of a mask for `i`


@pytest.mark.slow
@pytest.mark.parametrize(("option", "status"), [("told", 1), ("noted", 0)])
def test_tests_may_let_programs_store_one_value_to_one_place(tmp_path, option, status) -> None:
    (tmp_path / "test_flag.py").write_text(
        "import torch, triton, triton.language as tl\n\n"
        "@triton.jit\ndef raised(flag_ptr):\n    tl.store(flag_ptr, 1)\n\n"
        "def test_flag():\n    flag = torch.zeros(1, dtype=torch.int32, device='cuda')\n"
        "    raised[(8,)](flag)\n    assert flag.item() == 1\n"
    )
    options = ("-s", "-p", "no:cacheprovider", "-p", "course.run.plugin", "--equal-stores", option)
    done = ran(*options, module="pytest", folder=tmp_path)
    assert done.returncode == status
    assert ("Noted, and no finding: test_flag.py:5: raised: RACE" in done.stderr) == (not status)


@pytest.mark.slow
def test_the_gpus_generators_have_a_seed_and_an_offset_and_begin_anew() -> None:
    done = ran("seeds.py")
    assert (done.returncode, "all right" in done.stdout) == (0, True), done.stderr


@pytest.mark.slow
def test_what_a_wrong_kernel_left_unwritten_is_told_once(tmp_path) -> None:
    done = ran("--go-on", "--json", tmp_path / "out.json", "cascade.py")
    assert (done.returncode, "to the end" in done.stdout) == (1, True), done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    told = [(one["kernel"], one["outcome"]) for one in found["findings"]]
    kernels = ("added", "tiles", "through_a_table", "added", "doubled")
    assert told == [(kernel, UNWRITTEN) for kernel in kernels]


@pytest.mark.slow
def test_a_numba_program_asks_of_its_gpu_what_it_is_and_is_told_what_is_not_known() -> None:
    done = ran("its_gpu.py")
    assert (done.returncode, "all right" in done.stdout) == (2, True), done.stderr
    assert done.stderr.startswith("The program asks for CLOCK_RATE of its GPU, which is not known")


@pytest.mark.slow
def test_a_kernel_tells_how_many_of_its_blocks_may_wait_for_each_other() -> None:
    done = ran("together.py")
    assert (done.returncode, "all right" in done.stdout) == (2, True), done.stderr
    # 108 multiprocessors: 32 blocks each, 2 by their threads, 9 by their 17 KB of shared memory
    assert done.stdout.startswith(f"{108 * 32} {108 * 2}\n{108 * 9}\n")
    assert "`kernel.overloads[...].regs_per_thread`: that takes the CUDA toolkit" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "ended", "said"),
    [
        ("spawn", 1, "(multiprocessing, `spawn`), and that found no GPU"),
        ("fork", 0, "neither its traffic nor the exit status counts it"),
    ],
)
def test_a_process_that_a_program_starts_is_told_of_once(method, ended, said) -> None:
    done = ran("processes.py", method)
    assert (done.returncode, f"exit {ended}" in done.stdout) == (0, True), done.stderr
    assert done.stderr.count(said) == 1
    assert said in done.stderr.splitlines()[-1]  # below the traceback of a child


@pytest.mark.slow
def test_autocast_takes_what_a_gpu_does_to_16_bits_and_the_rest_to_float32() -> None:
    done = ran("mixed.py")
    assert (done.returncode, "all right" in done.stdout) == (0, True), done.stderr
