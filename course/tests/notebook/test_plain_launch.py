"""A launch of a function without a decorator: in a notebook a sentence, not Python's words."""

import subprocess
import sys

import pytest

import course  # noqa: F401  # what the notebook imports

NOTEBOOK = """\
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_cell("import course\\nimport numpy as np\\nfrom numba import cuda\\nx = np.zeros(4)")
shell.run_cell("def double(x):\\n    x[cuda.grid(1)] *= 2")
shell.run_cell("def halve(x_ptr, n):\\n    at = tl.arange(0, 8)\\n    tl.store(x_ptr + at, 0)")
shell.run_cell("from numba.cuda.cudadrv.driver import CudaAPIError")
for cell in ("double[1, 32](x)", "halve[(1,)](x, 4)", "double[0]", "x[0](3)", "len('a', 'b')",
             "raise RuntimeError('CUDA error: an illegal memory access was encountered')",
             "raise CudaAPIError(716, 'Call results in CUDA_ERROR_MISALIGNED_ADDRESS')",
             "raise RuntimeError('CUDA out of memory')"):
    print("=====", cell)
    assert not shell.run_cell(cell).success
"""


@pytest.fixture(scope="module")
def shown():
    done = subprocess.run([sys.executable, "-c", NOTEBOOK], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    parts = done.stdout.split("===== ")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def test_a_numba_kernel_without_its_decorator(shown):
    panel = shown["double[1, 32](x)"]
    assert panel.startswith("✗ double: ")
    assert "`double` is a plain Python function: a GPU cannot run it." in panel
    assert "double[1, 32](x)" in panel
    assert "@cuda.jit" in panel
    assert "Traceback" not in panel


def test_a_triton_kernel_without_its_decorator(shown):
    panel = shown["halve[(1,)](x, 4)"]
    assert "`halve` is not a Triton kernel." in panel
    assert "Write `@triton.jit` above its `def`." in panel
    assert "Traceback" not in panel


@pytest.mark.parametrize(
    ("cell", "detail"),
    [
        (
            "raise RuntimeError('CUDA error: an illegal memory access was encountered')",
            "RuntimeError: CUDA error: an illegal memory access was encountered",
        ),
        (
            "raise CudaAPIError(716, 'Call results in CUDA_ERROR_MISALIGNED_ADDRESS')",
            "CUDA_ERROR_MISALIGNED_ADDRESS",
        ),
    ],
)
def test_a_kernel_that_took_the_gpu_with_it(shown, cell, detail):
    panel = " ".join(shown[cell].split())
    assert detail in panel
    assert "every launch and every tensor there fails" in panel
    assert "Restart the notebook's kernel" in panel
    assert "Traceback" not in panel


def test_other_errors_of_a_gpu_are_shown_as_python_shows_them(shown):
    assert "Traceback" in shown["raise RuntimeError('CUDA out of memory')"]


@pytest.mark.parametrize("cell", ["double[0]", "x[0](3)", "len('a', 'b')"])
def test_every_other_error_is_shown_as_python_shows_it(shown, cell):
    assert "TypeError" in shown[cell]
    assert "Traceback" in shown[cell]
