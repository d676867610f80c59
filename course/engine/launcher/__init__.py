"""Launchers: the learner's own function that allocates outputs and launches kernels.

It is walked over its syntax tree and never executed by Python. What it may name, look at and
call stands in `course.engine.launcher.names`; everything else is refused by its name.
"""

from course.engine.launcher.admission import admit, admit_expression, admit_value
from course.engine.launcher.names import Ref
from course.engine.launcher.walker import Constants, applied, call, value_of

__all__ = [
    "Constants",
    "Ref",
    "admit",
    "admit_expression",
    "admit_value",
    "applied",
    "call",
    "value_of",
]
