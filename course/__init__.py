"""GPU kernels, learned by writing them and by counting what they ask of memory.

Importing this makes Numba's `kernel[grid, block](...)` and Triton's `kernel[grid](...)` run
without a GPU, and `course.measure()` count their global-memory traffic as Nsight Compute does
on one.
"""

from course import plain_launch
from course.faults import KernelFault, Outcome
from course.simt.cell import allowed
from course.simt.host import has_gpu, install, measure, trace
from course.tile import hook
from course.tile.available import require_triton

install()
hook.install()
plain_launch.install()

__all__ = [
    "KernelFault",
    "Outcome",
    "allowed",
    "has_gpu",
    "measure",
    "require_triton",
    "trace",
]
__version__ = "0.1.0"
