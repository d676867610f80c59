"""How a check launches what the learner wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from course.spec.formula import Number, evaluate


def _numbers(formulas: str | tuple[str, ...], names: Mapping[str, Number]) -> tuple[int, ...]:
    axes = (formulas,) if isinstance(formulas, str) else formulas
    return tuple(int(evaluate(axis, names)) for axis in axes)


@dataclass(frozen=True)
class Launch:
    """How the check launches the kernel: formulas in sizes and constants, x first."""

    grid: str | tuple[str, ...]
    block: str | tuple[str, ...]
    shared_bytes: str = "0"

    def values(self, names: Mapping[str, Number]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """(grid, block, dynamic shared bytes) as numbers."""
        grid, block = _numbers(self.grid, names), _numbers(self.block, names)
        return grid, block, int(evaluate(self.shared_bytes, names))

    def __str__(self) -> str:
        def words(axes: str | tuple[str, ...]) -> str:
            return axes if isinstance(axes, str) else f"({', '.join(axes)})"

        shared = "" if self.shared_bytes == "0" else f", 0, {self.shared_bytes}"
        return f"[{words(self.grid)}, {words(self.block)}{shared}]"


@dataclass(frozen=True)
class Programs:
    """How the check launches a Triton kernel: programs along x, y, z, as formulas."""

    grid: str | tuple[str, ...]

    def values(self, names: Mapping[str, Number]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """(grid, nothing, 0): a program's threads are the compiler's affair."""
        return _numbers(self.grid, names), (), 0

    def __str__(self) -> str:
        axes = (self.grid,) if isinstance(self.grid, str) else self.grid
        return f"[({', '.join(axes)}{',' if len(axes) == 1 else ''})]"


@dataclass(frozen=True)
class Launcher:
    """The cell's own function launches: it takes the inputs and returns the outputs."""

    #: the compute capability for which its kernels are compiled, 90 for 9.0; 0: the stated GPU's
    target: int = 0
    #: what TMA has to copy, loads of inputs or stores of outputs too, as a Gluon kernel orders it
    copied: tuple[str, ...] = ()
    #: whether no warp may both copy by TMA and multiply
    divided: bool = False
    #: whether copies by TMA have to be under way while products are made
    overlapped: bool = False
    #: how many kernels it may start; 0: any number
    launches: int = 0

    def values(self, names: Mapping[str, Number]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Nothing: the cell decides."""
        return (), (), 0

    def __str__(self) -> str:
        return ""
