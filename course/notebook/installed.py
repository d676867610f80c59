"""All that `import course` changes in a learner's Python. Nothing else in the course does."""

from __future__ import annotations

from course import exercises
from course.engine.faults import KernelFault
from course.notebook import hook, numba_launches, plain_launch
from course.notebook.exercises import shown
from course.words import fault_panel


def install() -> None:
    """Launches go to the engine, exercises get their checks, and faults are told in words."""
    numba_launches.install()
    hook.install()
    plain_launch.install()
    exercises.hand_out(shown)
    KernelFault.reader = fault_panel
