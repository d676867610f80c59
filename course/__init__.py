"""GPU kernels, learned by writing them and by counting what they ask of memory.

Importing this makes Numba's `kernel[grid, block](...)` and Triton's `kernel[grid](...)` run
without a GPU, and `course.measure()` count the requests and sectors that they ask of global memory.

A program that uses the course as a library, as a grader does, puts
``sys.modules["course.notebook"] = None`` first: then nothing is changed outside of `course`, and
what a learner's notebook has besides is not there.
"""

import sys

from course.engine.cell.numba import allowed
from course.engine.faults import KernelFault, Outcome
from course.engine.triton.compiling.available import require_triton
from course.words.glossary import glossary

if sys.modules.get("course.notebook", True) is not None:
    from course.notebook.installed import install
    from course.notebook.measure import measure
    from course.notebook.numba_launches import has_gpu
    from course.notebook.progress import progress
    from course.notebook.solution import answer
    from course.notebook.trace import trace

    install()

__all__ = [
    "KernelFault",
    "Outcome",
    "allowed",
    "answer",
    "glossary",
    "has_gpu",
    "measure",
    "progress",
    "require_triton",
    "trace",
]
__version__ = "0.1.0"
