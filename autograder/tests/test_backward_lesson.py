"""The last cell of lesson 11 runs the four exercises, and waits for those not yet written."""

from __future__ import annotations

import subprocess
import sys

import pytest

from autograder.lessons.build import read_lessons
from autograder.lessons.source import starter
from autograder.tests.small_course import REPOSITORY

STAGES = ("flash_lse", "flash_delta", "flash_dkdv", "flash_dq")
PREAMBLE = "import course, torch, triton\nimport triton.language as tl\ndevice = 'cpu'\n"


@pytest.mark.slow
def test_all_of_it_waits_until_all_four_are_written(tmp_path):
    pytest.importorskip("triton")
    (lesson,) = read_lessons(REPOSITORY, ["attention_backward"])
    cells = {cell.name: cell.source for cell in lesson.cells if cell.name in STAGES}
    (last,) = [c.source for c in lesson.cells if "Write the four exercises first" in c.source]
    for written in (1, 3):
        texts = [cells[n] if k < written else starter(cells[n]) for k, n in enumerate(STAGES)]
        script = tmp_path / f"{written}.py"  # a file: Triton reads the source of a kernel
        script.write_text("\n".join([PREAMBLE, *texts, last]))
    both = f"import runpy\nfor n in (1, 3):\n    runpy.run_path(f'{tmp_path}/{{n}}.py')\n"
    ran = subprocess.run(
        [sys.executable, "-c", both], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == 2 * "Write the four exercises first, then run this cell again.\n"
