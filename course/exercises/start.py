"""Lesson 00: one line to fill, one verdict to read."""

from __future__ import annotations

import numpy as np

from course.spec.exercise import Array, Budget, KernelExercise, Role, case
from course.spec.launching import Launch

double = KernelExercise(
    name="double",
    title="Double every element",
    task=(
        "Write y[i] = 2 * x[i] for every i below N. One thread works on one element; the index "
        "and the `if` are there, one line is missing."
    ),
    points=2,
    minutes=5,
    difficulty=1,
    hints=(
        "Thread i reads one element of x and writes one element of y. Both have the number i.",
        "An element is read and written with square brackets, as in NumPy: x[i] on the right "
        "of the `=`, y[i] on the left.",
        "The line has the form `y[i] = ...`. What stands on the right is twice x[i].",
    ),
    small=case(N=40),
    full=case(N=1 << 24),
    parameters=(Array("x", "N"), Array("y", "N", Role.OUT)),
    reference=lambda x: {"y": 2 * x},
    slips={
        "x * x, the square": lambda x: {"y": x * x},
        "x + 2": lambda x: {"y": x + 2},
        "2 * i, the index doubled": lambda x: {"y": 2.0 * np.arange(x.size)},
    },
    cases=(case(N=1), case(N=1000), case(True, N=2048)),
    launch=Launch("cdiv(N, 256)", "256"),
    budget=Budget(
        {"load x": "sectors(N)", "store y": "sectors(N)"},
        why="each element of x read once, each element of y written once",
    ),
)
