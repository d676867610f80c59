"""`with course.measure()`: what every launch inside asks of global memory, and the table of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from course.engine import stated_gpu
from course.engine.faults import KernelFault, Outcome
from course.engine.traffic import Site, Traffic, merged
from course.plain.sectors import SECTOR_BYTES
from course.words.banks import shared_memory

#: GPUs that a Triton kernel may be compiled for, and one of each kind.
TARGETS = {
    "sm_75": "T4", "sm_80": "A100", "sm_86": "RTX 3090", "sm_89": "L4", "sm_90": "H100, H200",
    "sm_100": "B200", "sm_120": "RTX 5090",
}  # fmt: skip
#: What a lane takes at once at most (PTX ISA, "ld").
_WIDEST_BYTES = 16
_WHY_LESS = (
    "less than a lane has side by side: it lies apart in memory, or a size, a stride or a start "
    "is no multiple of 16"
)
_HEAD = ("access", "requests", "sectors", "requested bytes", "each once", "a lane takes")
_COLUMNS = (16, 10, 10, 17, 11)

_open: list[Measured] = []
#: what Triton launches are compiled for: the stated GPU, and what each open `measure` names
_targets = [f"sm_{stated_gpu.TARGET}"]


def target() -> int:
    """The compute capability that launches are made for, 90 for 9.0."""
    return int(_targets[-1].removeprefix("sm_"))


def measuring() -> bool:
    """Whether a `with course.measure()` is open."""
    return bool(_open)


def note(traffic: Traffic | None, kernel: str, filename: str, compiled: bool = False) -> None:
    """Every open `measure` adds a launch's traffic; `compiled`: for the GPU that is named now."""
    if traffic is None:
        return
    for one in _open:
        one._parts.append((kernel, filename, traffic))
        if compiled:
            one._gpus[_targets[-1]] = None


class Measured(Traffic):
    """The traffic of everything launched inside `with course.measure()`."""

    def __init__(self, **counts: Any) -> None:
        super().__init__(**counts)
        self._parts: list[tuple[str, str, Traffic]] = []
        self._gpus: dict[str, None] = {}

    def by_kernel(self) -> dict[tuple[str, str], Traffic]:
        """The traffic of each kernel that was launched, by its name and its file."""
        kernels = dict.fromkeys((name, filename) for name, filename, _ in self._parts)
        return {
            kernel: merged(part for *its, part in self._parts if tuple(its) == kernel)
            for kernel in kernels
        }

    @property
    def gpus(self) -> str:
        """The GPUs that Triton kernels were compiled for, in words; nothing where none was."""
        return ", ".join(f"{gpu} ({TARGETS[gpu]})" for gpu in self._gpus)

    def __repr__(self) -> str:
        """A table with a row for each array and direction; all else has a name of its own.

        Of Triton's kernels it says, too, how many sectors each program's block has, how wide the
        compiler made the accesses, for which GPU, and where shared memory has bank conflicts.
        """
        if not self.sites:
            return f"{self.launches} launches, which asked nothing of global memory"
        rows = [self._row(*pair) for pair in self.arrays()]
        kept = [n for n in range(len(_HEAD)) if n < 4 or any(row[n] for row in rows)]
        lines = [_aligned(_HEAD, kept), *(_aligned(row, kept) for row in rows)]
        if self.gpus:
            lines.append(f"as Triton's compiler makes it for {self.gpus}")
        if any(" of " in row[-1] for row in rows):
            lines.append(_WHY_LESS)
        lines += shared_memory(self)
        return "\n".join(lines)

    def _row(self, array: str, direction: str) -> tuple[str, ...]:
        own = [s for s in self.sites if (s.array, s.direction) == (array, direction)]
        counted = [s.requests for s in own if s.requests is not None]
        sectors, once = sum(s.sectors for s in own), sum(s.graded_sectors for s in own)
        return (
            f"{direction:6} {array}",
            f"{sum(counted):,}" if counted else "-",
            f"{sectors:,}",
            f"{sectors * SECTOR_BYTES:,}",
            f"{once:,}" if any(s.ideal_sectors is not None for s in own) else "",
            _width(own),
        )


def _aligned(cells: Sequence[str], kept: Sequence[int]) -> str:
    """Numbers to the right, between two columns of words."""
    row = f"{cells[0]:{_COLUMNS[0]}}"
    row += "".join(f"{cells[n]:>{_COLUMNS[n]}}" for n in kept if 0 < n < len(_COLUMNS))
    return (row + f"  {cells[-1]}" * (len(_COLUMNS) in kept)).rstrip()


def _width(sites: Sequence[Site]) -> str:
    """How much a lane takes at once, of what it holds side by side; of several sites the least."""
    wide = [site for site in sites if site.width_bytes]
    said = []
    if wide:
        least = min(wide, key=lambda site: site.width_bytes)
        beside = min(least.side_by_side, _WIDEST_BYTES)
        part = f"{least.width_bytes} of {beside}" if least.width_bytes < beside else f"{beside}"
        said.append(f"{part} bytes")
    if (copies := max(site.copies for site in sites)) > 1:
        said.append(f"{copies} warps alike")
    return ", ".join(said)


@contextlib.contextmanager
def measure(target: str | None = None) -> Iterator[Measured]:
    """Runs every launch inside on the engine, metered, and adds up what it asks of memory.

    ``with course.measure() as traffic: kernel[grid, block](a, b)`` then `traffic.loads.sectors`
    and the rest. Measures nest; a kernel that fails leaves the counts so far.

    Args:
        target: a GPU by its compute capability, ``"sm_90"``; unless told, the one of the `measure`
            around this one, or the A100 that checks stand for. A Triton launch inside is compiled
            for it, and what the compiler made is run: requests and sectors are those that this
            GPU's L1 counts. Numba's counts are the same for all.

    Raises:
        KernelFault: REJECTED, for a target that is none of `TARGETS`.
    """
    if target is not None and target not in TARGETS:
        raise KernelFault(
            Outcome.REJECTED, "unknown_target", None, target=repr(target)[:60],
            targets=", ".join(f"{name} ({of})" for name, of in TARGETS.items()),
        )  # fmt: skip
    result = Measured()
    _open.append(result)
    _targets.append(target or _targets[-1])
    try:
        yield result
    finally:
        _targets.pop()
        # by identity: nested measures of the same launches are equal
        del _open[next(n for n, other in enumerate(_open) if other is result)]
        result.__dict__.update(merged(part for *_, part in result._parts).__dict__)
