"""The course on numba-cuda, which Colab and GPU machines have in place of Numba's own target."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """\
import numpy as np
from numba import cuda

halves = cuda.fp16
del cuda.fp16  # what numba-cuda 0.22 and 0.30 lack of Numba's names

import course

cuda.fp16 = halves  # which Numba's own target needs below

with course.measure() as traffic:
    x = np.ones(64, np.float32)

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    double[1, 64](x)
assert traffic.loads.sectors == 8
print("measured")
"""


def test_a_name_that_numba_cuda_lacks_does_not_stop_the_course(tmp_path):
    (tmp_path / "lesson.py").write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{PROGRAM}")
    run = subprocess.run(
        [sys.executable, "lesson.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert run.stdout == "measured\n", run.stderr
