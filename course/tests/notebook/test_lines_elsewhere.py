"""A kernel whose helper stands in another file, where its lines have the same numbers."""

import importlib
import pickle

import numpy as np
import pytest

import course
from course.engine.faults import KernelFault
from course.engine.lines import Elsewhere
from course.run import report

NUMBA = {
    "norms": """
from numba import cuda

@cuda.jit(device=True)
def scaled(x, i):



    a = x[i]
    if i < 7:
        a = -a
    return a
""",
    "kernels": """
from numba import cuda
from norms import scaled

@cuda.jit
def run(x, y):
    i = cuda.grid(1)
    b = 0.0
    a = x[i + 32]
    y[i] = a + scaled(x, i)
""",
}
TRITON = {
    "norms": """
import triton
import triton.language as tl

@triton.jit
def scaled(x, B: tl.constexpr):

    i = tl.arange(0, B)
    a = tl.load(x + i)
    return a * 2
""",
    "kernels": """
import triton, triton.language as tl
from norms import scaled

@triton.jit
def run(x, y, B: tl.constexpr):
    i = tl.arange(0, B)

    a = tl.load(x + i + B)
    tl.store(y + i, a + scaled(x, B))
""",
}


def of(texts, folder, monkeypatch):
    """The kernel, read from its two files."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
        monkeypatch.delitem(importlib.sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    return importlib.import_module("kernels").run


def launched(kernel, numba):
    """Launches it on 32 elements, or follows its first program or thread."""
    if numba:
        return kernel[1, 32](np.ones(64, np.float32), np.zeros(32, np.float32))
    torch = pytest.importorskip("torch")
    return kernel[(1,)](torch.ones(64), torch.zeros(32), B=32)


@pytest.mark.parametrize("texts", [NUMBA, TRITON], ids=["numba", "triton"])
def test_equal_lines_of_two_files_are_two_sites_and_the_other_file_is_named(
    texts, tmp_path, monkeypatch, capsys
):
    numba = texts is NUMBA
    kernel = of(texts, tmp_path, monkeypatch)
    with course.measure() as traffic:
        launched(kernel, numba)
    other = Elsewhere(9, str(tmp_path / "norms.py"))
    loads = {site.line: site.lane_bytes for site in traffic.sites if site.direction == "load"}
    assert loads == {9: 128, other: 128}
    rows = report.table(traffic).splitlines()
    assert [row.split("load")[0].strip() for row in rows if "load" in row].count("9 of norms") == 1
    accesses = report.as_json("", "", 0, [], [], traffic.by_kernel())["kernels"][0]["accesses"]
    assert {(one["file"], int(one["line"])) for one in accesses} >= {
        (str(tmp_path / "kernels.py"), 9), (other.file, 9),
    }  # fmt: skip
    if numba:
        assert list(traffic.divergent_sites) == [Elsewhere(10, other.file)]
    launched(course.trace(kernel), numba)
    told = capsys.readouterr().out.splitlines()
    assert any(line.startswith("line 9 of norms  ") and "a = " in line for line in told)
    assert any(line.startswith("line   9      a = ") for line in told)


def test_what_is_not_run_of_another_file_is_named_with_its_function(tmp_path, monkeypatch):
    of_its_own = TRITON["norms"].replace(
        "a * 2",
        """tl.inline_asm_elementwise(
        "mov.u32 $0, %smid;", "=r,r", [a], dtype=tl.int32, is_pure=True, pack=1)""",
    )
    kernel = of(TRITON | {"norms": of_its_own}, tmp_path, monkeypatch)
    with pytest.raises(KernelFault, match=r"NOT_MEASURED: line 11 of scaled: .*%smid") as refused:
        launched(kernel, False)
    assert refused.value.filename == str(tmp_path / "norms.py")


def test_a_line_elsewhere_is_its_number_and_its_file():
    line = Elsewhere(12, "no_such_folder/cell.py")
    assert line not in (12, Elsewhere(12, "other.py"), None, "12")
    assert (line + 1, f"{line:d}", str(line)) == (13, "12", "12 of another cell")
    assert pickle.loads(pickle.dumps(line)) == line
