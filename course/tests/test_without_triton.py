"""Where Triton has no wheel the course imports, Numba's lessons work, and Triton's say where."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """\
import sys

sys.modules["triton"] = sys.modules["torch"] = None  # what an import of them then raises
import numpy as np
from numba import cuda

import course
from course import exercises as ex

assert len(ex.all_exercises()) > 30
assert "BLOCK" in str(ex.triton_add)
with course.measure() as traffic:
    x = np.ones(64, np.float32)

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    double[1, 64](x)
assert traffic.loads.sectors == 8


def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK): ...


for given in (triton_add, None):
    print(ex.triton_add.check(given))
"""


def test_the_course_imports_and_a_triton_check_says_where_it_runs(tmp_path):
    file = tmp_path / "a_mac.py"
    file.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(file)], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Triton cannot be imported here") == 2
    assert done.stdout.count(".devcontainer") == 2
    assert "Traceback" not in done.stdout


NOTEBOOK = """\
import json
import sys
from pathlib import Path

sys.modules["triton"] = None  # what an import of it then raises
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for path in sorted(Path(sys.argv[1]).glob("notebooks/*.ipynb")):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    if not any("import triton" in source for source in sources):
        continue
    print("=====", path.stem)
    for source in sources:
        if not shell.run_cell(source, silent=False).success:
            break
    else:
        print("ran to its end")
    shell.reset()
"""


def test_a_triton_lesson_says_in_its_first_cells_where_it_runs(tmp_path):
    file = tmp_path / "lessons_on_a_mac.py"
    file.write_text(NOTEBOOK)
    done = subprocess.run(
        [sys.executable, str(file), str(ROOT)],
        env={"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lessons = done.stdout.split("===== ")[1:]
    assert [lesson[:2] for lesson in lessons] == [f"{number:02}" for number in range(6, 15)]
    for lesson in lessons:
        assert "! this lesson: not measured" in lesson
        assert "Triton cannot be imported here" in lesson
        assert ".devcontainer" in lesson
        assert "Traceback" not in lesson
        assert "ModuleNotFoundError" not in lesson
