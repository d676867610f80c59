"""The processes in which an author's commands try cells and run notebooks."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context


def processes(count: int | None = None) -> ProcessPoolExecutor:
    """So many processes, or one a core, with one thread each."""
    # More threads than cores wait for each other by spinning.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # A forked process can neither use what the compiler nor what autograd has started.
    return ProcessPoolExecutor(count or None, get_context("spawn"))
