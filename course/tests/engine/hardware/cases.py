"""What a hardware case is, and the helpers that draw its arguments.

A case is one launch of one kernel on arguments that are the same on every machine.
Inputs are small integers also where they are floats, so that a sum is exact in any
order and a recorded output can be compared bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import cuda

Count = int | tuple[int, ...]
#: grid and block
Launch = tuple[Count, Count]


@dataclass(frozen=True)
class View:
    """An argument that is a view: ``pick`` takes it from ``base``, on the host as on the device."""

    base: np.ndarray
    pick: Callable[[Any], Any]


@dataclass(frozen=True)
class Case:
    """One launch.

    ``grid`` and ``block`` are counts of blocks and threads, ``shared`` is dynamic shared
    memory in bytes. ``forall`` is the number of tasks of a ``kernel.forall`` launch (then
    grid and block are Numba's to choose). ``outputs`` are the positions of the arguments
    whose values after the launch do not depend on the order of threads. ``source`` counts
    the global loads and stores that a thread's source text asks for, where that is one
    number for all threads.
    """

    name: str
    kernel: Any
    grid: tuple[int, ...]
    block: tuple[int, ...]
    make: Callable[[], tuple[Any, ...]]
    outputs: tuple[int, ...]
    shared: int = 0
    forall: int = 0
    source: tuple[int, int] | None = None


class Book:
    """The cases of one module, in order, each name once; most of them of one `launch`.

    Where that is None, it is one block with a thread for each element of the first argument.
    """

    def __init__(self, launch: Launch | None = (4, 128)) -> None:
        self.cases: list[Case] = []
        self.launch = launch

    def add(
        self,
        kernel: Any,
        make: Callable[[], tuple[Any, ...]],
        outputs: Count,
        source: tuple[int, int] | None = None,
        *,
        launch: Launch | None = None,
        tag: str = "",
        shared: int = 0,
        forall: int = 0,
    ) -> None:
        """Add a launch of ``kernel``; its name is the kernel's, with ``tag`` after it."""
        name = kernel.py_func.__name__ + (f"_{tag}" if tag else "")
        if any(known.name == name for known in self.cases):
            raise ValueError(f"two cases are called {name}")
        grid, block = launch or self.launch or (1, make()[0].size)
        self.cases.append(
            Case(
                name=name,
                kernel=kernel,
                grid=_counts(grid),
                block=_counts(block),
                make=make,
                outputs=_counts(outputs),
                shared=shared,
                forall=forall,
                source=source,
            )
        )

    def case(self, *args: Any, **more: Any) -> Callable[[Any], Any]:
        """A decorator, above others of its kind: compiles a kernel, and adds a launch of it."""

        def added(function: Any) -> Any:
            kernel = function if hasattr(function, "py_func") else cuda.jit(function)
            self.add(kernel, *args, **more)
            return kernel

        return added

    def each(
        self, values: Iterable[Any], make: Callable[..., tuple[Any, ...]], *args: Any, **more: Any
    ) -> Callable[[Any], Any]:
        """The same, and a launch for each value, or tuple of them, that `make` takes.

        The names of the cases end in them.
        """

        def added(kernel: Any) -> Any:
            for value in values:
                taken = value if isinstance(value, tuple) else (value,)
                tag = "_".join(map(str, taken))
                kernel = self.case(partial(make, *taken), *args, tag=tag, **more)(kernel)
            return kernel

        return added


def _counts(given: Count) -> tuple[int, ...]:
    return given if isinstance(given, tuple) else (given,)


def ints(
    seed: int,
    *shape: int,
    dtype: str = "float32",
    low: int = -8,
    high: int = 9,
) -> np.ndarray:
    """Whole numbers in [low, high) as an array of ``dtype``; unsigned types start at 0."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        low, high = 0, 2
    elif kind.kind == "u":
        low = max(low, 0)
    return np.random.default_rng(seed).integers(low, high, shape).astype(kind)


def order(seed: int, n: int, dtype: str = "int64") -> np.ndarray:
    """The numbers 0 to n-1 in random order."""
    return np.random.default_rng(seed).permutation(n).astype(dtype)


def blank(*shape: int, dtype: str = "float32") -> np.ndarray:
    """An output before the launch: NaN where there is one, 99 or True elsewhere."""
    kind = np.dtype(dtype)
    return np.full(shape, np.nan if kind.kind == "f" else 99, kind)


def zeros(*shape: int, dtype: str = "float32") -> np.ndarray:
    """An accumulator before the launch."""
    return np.zeros(shape, dtype)


def fill(value: float, *shape: int, dtype: str = "float32") -> np.ndarray:
    """An array of one value."""
    return np.full(shape, value, dtype)
