"""Launchers: the learner's own function that allocates outputs and launches kernels.

It is walked over its syntax tree and never executed by Python. What it may name, look at and
call stands in `course.tile.launcher.names`; everything else is refused by its name.
"""

from course.tile.launcher.admission import admit, admit_expression, admit_value
from course.tile.launcher.names import Kernel, Ref
from course.tile.launcher.walker import call, value_of

__all__ = ["Kernel", "Ref", "admit", "admit_expression", "admit_value", "call", "value_of"]
