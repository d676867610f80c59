"""Thousands of kernels drawn by number: what a GPU counted and computed of each.

``python -m course.tests.engine.triton.drawn_on_gpu FOLDER NUMBER`` compiles so many for sm_90, with
the Triton that is installed here and without a GPU, and leaves the machine code in FOLDER;
``record.py`` there runs it under Nsight Compute on a GPU machine. ``h200_drawn.json`` is kept from
that, a row a kernel.

They are the kernels of `drawn_kernels`, drawn by a random number generator of a fixed seed, so that
a number names a kernel for ever. What a GPU only approximates is left out, since one rounding
apart may decide a branch: quotients, roots and exponentials, and sums that are not exact in any
order. So are descriptors, whose copies no counter of the L1 sees.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from course.tests.engine.triton.accesses import packed, write_manifest
from course.tests.engine.triton.drawn_kernels import Drawn, drawn

#: Arguments of a drawn kernel that it may write.
OUTPUTS = range(3, 8)
#: Seconds for a kernel: over one of a hundred or so, a pass of the compiler does not end.
COMPILE_S = 20


def numbered(number: int) -> Drawn:
    """The kernel of that number."""
    return drawn(random.Random(number).choice, exact=True)


def name_of(number: int, one: Drawn) -> str:
    """The number, and a digest of the source that it stands for."""
    return f"{number} {hashlib.sha256(one.source.encode()).hexdigest()[:8]}"


def compiled(folder: Path, number: int) -> dict[str, Any] | None:
    """A row for the manifest; None where the compiler refuses the kernel."""
    one = numbered(number)
    try:
        name, passed = name_of(number, one), one.arguments()
        return packed(folder, number, name, one.kernel(), passed, one.grid, {}, OUTPUTS)
    except Exception:  # Triton raises what it likes
        return None


def in_time(folder: Path, number: int) -> dict[str, Any] | None:
    """`compiled` in a process of its own; None, too, where the compiler takes too long."""
    rows = multiprocessing.SimpleQueue()
    child = multiprocessing.Process(target=lambda: rows.put(compiled(folder, number)))
    child.start()
    child.join(COMPILE_S)
    child.kill()
    return None if rows.empty() else rows.get()


def compile_all(folder: Path, kernels: int) -> None:
    """The machine code of each kernel that compiles, and what `record.py` needs to run it."""
    compiled(folder, 0)  # what the compiler reads of itself, once for all children
    with ThreadPoolExecutor(multiprocessing.cpu_count()) as pool:
        rows = list(pool.map(partial(in_time, folder), range(kernels)))
    made_by = "course.tests.engine.triton.drawn_on_gpu"
    write_manifest(folder, [row for row in rows if row], made_by, shared_memory=False)


if __name__ == "__main__":
    (target := Path(sys.argv[1])).mkdir(parents=True, exist_ok=True)
    compile_all(target, int(sys.argv[2]))
