"""A kernel that left its memory on a real GPU: a sentence in the notebook that launched it.

The GPU says so at the next call, whichever that is, and at every call after it: the process has
lost its context.
"""

from __future__ import annotations

from numba.cuda.cudadrv.error import CudaDriverError

from course.engine.faults import KernelFault, not_measured
from course.gpu.troubles import detail, text, trouble

#: What PyTorch, Triton and Numba raise.
RAISED = (RuntimeError, CudaDriverError)


def lost_gpu(error: BaseException) -> KernelFault | None:
    """The fault of whatever the GPU has stopped, or None where the error is another."""
    said = text(error)
    if not isinstance(error, RAISED) or trouble(said).message_id != "gpu_stopped":
        return None
    return not_measured(None, "gpu_context_lost", detail=detail(said))
