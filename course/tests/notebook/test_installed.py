"""Only a learner's import changes anything outside of `course`; a grader's Numba is Numba."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
#: What of Numba, of Python's imports and of IPython the course's hooks stand in for.
LOOK = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = len(sys.meta_path)
{imports}
from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher
from course.engine.faults import KernelFault
from course import exercises
print(json.dumps({{
    "launches": CUDADispatcher.call.__module__,
    "to_device": cuda.to_device.__module__,
    "finders": [type(finder).__module__ for finder in sys.meta_path],
    "handlers": len(shell.custom_exceptions),
    "worded": KernelFault.reader is not None,
    "checks": hasattr(exercises.double, "check"),
    "hooks": sorted(name for name, module in sys.modules.items()
                    if name.startswith(("course.notebook", "course.run")) and module is not None),
}}))
"""


def seen_after(imports: str) -> dict:
    program = [sys.executable, "-c", LOOK.format(imports=imports)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "imports",
    [
        "import autograder.judge.judge",
        "import autograder.sandbox.runner",
        "import autograder.proof.trial",
        "import autograder.grading.grade, course",
    ],
)
def test_a_graders_import_patches_nothing(imports):
    seen = seen_after(imports)
    assert seen["launches"].startswith("numba.")
    assert seen["to_device"].startswith("numba.")
    assert not [module for module in seen["finders"] if module.startswith("course")]
    assert seen["handlers"] == 0
    assert not seen["worded"]
    assert not seen["checks"]
    assert seen["hooks"] == []


def test_a_learners_import_takes_launches_over_and_gives_exercises_their_checks():
    seen = seen_after("import course")
    assert seen["launches"] == "course.notebook.numba_launches"
    assert "course.notebook.hook" in seen["finders"]
    assert seen["handlers"] == 3  # a launch of a plain function, and a GPU that was lost
    assert seen["worded"]
    assert seen["checks"]
