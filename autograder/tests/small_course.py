"""A course of one small lesson, for tests of what is built from lessons."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from course.spec.exercise import (
    Array,
    Budget,
    Exercise,
    KernelExercise,
    NumberExercise,
    Question,
    Role,
    case,
)
from course.spec.launching import Launch

REPOSITORY = Path(__file__).resolve().parents[2]

ADD_ONE = KernelExercise(
    name="add_one",
    title="Add one",
    task="Write y[i] = x[i] + 1.",
    points=3,
    minutes=5,
    difficulty=1,
    hints=("Which element is this thread's?",),
    parameters=(Array("x", "N"), Array("y", "N", Role.OUT)),
    reference=lambda x: {"y": np.add(x, 1)},
    cases=(case(N=1), case(N=300), case(True, N=1024)),
    launch=Launch("cdiv(N, 128)", "128"),
    budget=Budget({"load x": "sectors(N)", "store y": "sectors(N)"}),
)
COUNT_BLOCKS = NumberExercise(
    name="count_blocks",
    title="Count the blocks",
    task="How many blocks of 128 threads cover 300 elements?",
    points=1,
    minutes=2,
    difficulty=1,
    hints=("Round up.",),
    questions={"blocks": Question("blocks", "cdiv(300, 128)")},
)
EXERCISES: dict[str, tuple[Exercise, ...]] = {"small": (ADD_ONE, COUNT_BLOCKS)}

LESSON = """\
# %% [markdown]
# # A small lesson
#
# Its only text.

# %%
import course
from course import exercises as ex

# %% predict
prediction = ...

# %% add_one
from numba import cuda


@cuda.jit
def add_one(x, y):
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + 1  # read N, write N
    ### END SOLUTION

# %% add_one_check
ex.add_one.check(add_one)

# %% [markdown]
# Now numbers.

# %% count_blocks
count_blocks = {"blocks": ...}
### BEGIN SOLUTION
count_blocks = {"blocks": -(-300 // 128)}
### END SOLUTION

# %% count_blocks_check
ex.count_blocks.check(count_blocks)

# %% [markdown] explain_guard
# Why does a thread look at `x.size` first?
#
# ### BEGIN SOLUTION
# The last block has more threads than elements are left.
# ### END SOLUTION
"""


def small_course(root: Path, lesson: str = LESSON) -> Path:
    """Writes the course below `root` and returns `root`."""
    (root / "solutions").mkdir(parents=True, exist_ok=True)
    (root / "solutions" / "01_small.py").write_text(lesson)
    shutil.copy(REPOSITORY / "nbgrader_config.py", root)
    return root
