"""The course on numba-cuda, which a GPU machine and Colab have in place of Numba's own target."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.venv import FOR_A_GPU

ROOT = Path(__file__).resolve().parents[2]
KERNEL = """
import numpy as np
from numba import cuda

@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < min(a.size, c.size):
        c[i] = a[i] + b[i]
"""
#: What a program prints, by the program.
PROGRAMS = {
    f"""{KERNEL}
import course
with course.measure() as traffic:
    vector_add[1, 64](*np.ones((3, 64), np.float32))
print(traffic.loads.sectors)
""": "16",
    f"""
from course import exercises as ex
from course.check.check import check_source

print(check_source(ex.vector_add, {KERNEL!r}).outcome.name)
""": "PASS",
    # Numba's compiler works a constant out, and of this one would never end
    f"""
from course import exercises as ex
from course.check.check import check_source

cell = {KERNEL!r} + "    if 9**9**9:\\n        c[:4] = a[0].real\\n"
print(check_source(ex.vector_add, cell).outcome.name)
""": "NOT_MEASURED",
    f"""
from pathlib import Path
from course.run.__main__ import main

Path("program.py").write_text({KERNEL!r} + "c = cuda.device_array(64, np.float32)\\n"
    "vector_add[1, 64](*cuda.to_device(np.ones((2, 64), np.float32)), c)\\n"
    "print(c.copy_to_host().sum(), cuda.get_current_device().WARP_SIZE)")
main(["program.py"])
""": "128.0 32",
}


@pytest.fixture(scope="module")
def numba_cuda(tmp_path_factory):
    """A folder with it, and what it needs of Python."""
    folder = tmp_path_factory.mktemp("numba_cuda")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    wanted = [FOR_A_GPU.replace("[cu13]", ""), "cuda-bindings<14", "cuda-core<2", "cuda-pathfinder"]
    subprocess.run([*pip, *wanted], check=True, capture_output=True, timeout=300)
    return folder


@pytest.mark.network
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_done_with_a_kernel_without_a_gpu(numba_cuda, tmp_path, program):
    there = (
        f"import site, sys\nsite.addsitedir({str(numba_cuda)!r})\nsys.path.insert(0, {str(ROOT)!r})"
    )
    (tmp_path / "lesson.py").write_text(
        f"{there}\nfrom numba import cuda\nassert 'numba_cuda' in cuda.__file__\n{program}"
    )
    run = subprocess.run(
        [sys.executable, "lesson.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert run.stdout.startswith(f"{PROGRAMS[program]}\n"), run.stdout + run.stderr
