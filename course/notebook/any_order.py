"""A kernel's lines thread by thread, in an order drawn from a seed: luck, as on a GPU.

The engine has one order, and stops at a race. A GPU has many, and goes on without a word: which
one a launch gets is luck. `in_any_order` draws it. Nothing is looked for, nothing counted.
"""

from __future__ import annotations

import ast
import inspect
import random
import textwrap
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from course.engine.simt.configuration import configuration
from course.notebook.numba_launches import kernel_name

#: A thread has come to a barrier; each other step is the number of the line that comes next.
_BARRIER = 0
#: A thread that has its turn keeps it for up to so many lines: some run far ahead.
_LONGEST_TURN = 12

Steps = Iterator[int]


class Place(NamedTuple):
    """A place in a grid or in a block, or the extent of one."""

    x: int
    y: int
    z: int


@dataclass
class _Block:
    """A block's threads that have not ended, those that wait, and its shared arrays.

    Each thread makes the same calls for these: an array is known by the place of its call.
    """

    alive: int
    waiting: list[Steps] = field(default_factory=list)
    shared: dict[int, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class _Atomic:
    def add(self, array: np.ndarray, at: Any, value: Any) -> Any:
        before = array[at]
        array[at] += value
        return before


class _Cuda:
    """What `cuda` is to one thread."""

    def __init__(self, grid: Place, block: Place, at: Place, thread: Place, own: _Block) -> None:
        self.gridDim, self.blockDim = grid, block
        self.blockIdx, self.threadIdx = at, thread
        self.atomic = _Atomic()
        self.shared = types.SimpleNamespace(array=self._array)
        self._own = own

    def grid(self, axes: int) -> Any:
        index = tuple(
            b * size + t
            for b, size, t in zip(self.blockIdx, self.blockDim, self.threadIdx, strict=True)
        )
        return index[0] if axes == 1 else index[:axes]

    def gridsize(self, axes: int) -> Any:
        sizes = tuple(g * b for g, b in zip(self.gridDim, self.blockDim, strict=True))
        return sizes[0] if axes == 1 else sizes[:axes]

    def _array(self, shape: Any, dtype: Any) -> np.ndarray:
        call = inspect.currentframe().f_back.f_lasti  # type: ignore[union-attr]  # a kernel's
        made = np.zeros(shape, np.dtype(getattr(dtype, "name", dtype)))  # Numba's types have names
        return self._own.shared.setdefault(call, made)


class _InSteps(ast.NodeTransformer):
    """Says before each statement which line comes next; a barrier is a step of its own."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = []
        return self._with_steps(node)

    def _with_steps(self, node: ast.AST) -> ast.AST:
        for name in ("body", "orelse"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, [one for s in statements for one in self._stepped(s)])
        return node

    def _stepped(self, statement: ast.stmt) -> list[ast.stmt]:
        steps = [_step(statement, statement.lineno)]
        if ast.unparse(statement) == "cuda.syncthreads()":
            return [*steps, _step(statement, _BARRIER)]
        self._with_steps(statement)
        return [*steps, statement]


def _step(at: ast.stmt, number: int) -> ast.stmt:
    step = ast.Expr(ast.Yield(ast.Constant(number)))
    return ast.fix_missing_locations(ast.copy_location(step, at))


def _in_steps(function: Any) -> tuple[types.CodeType, list[str], int]:
    """(the function's code as a generator of steps, its lines, the number of the first)."""
    lines, first = inspect.getsourcelines(function)
    tree = ast.increment_lineno(ast.parse(textwrap.dedent("".join(lines))), first - 1)
    module = compile(_InSteps().visit(tree), inspect.getfile(function), "exec")
    return next(c for c in module.co_consts if isinstance(c, types.CodeType)), lines, first


class InAnyOrder:
    """A kernel that, when launched, runs its threads in an order of luck.

    Args:
        show: threads of block 0 whose lines are printed in the order in which they come.
    """

    def __init__(self, kernel: Any, seed: int, show: Collection[int]) -> None:
        self.kernel, self.seed, self.show = kernel, seed, show

    def __getitem__(self, given: Any) -> Callable[..., None]:
        chosen = configuration(kernel_name(self.kernel), given)
        grid, block = _extent(chosen.grid), _extent(chosen.block)

        def run(*args: Any) -> None:
            code, lines, first = _in_steps(self.kernel.py_func)
            known = self.kernel.py_func.__globals__
            names: dict[Steps, int] = {}
            ready: list[tuple[_Block, Steps]] = []
            for at in _places(grid):
                own = _Block(block.x * block.y * block.z)
                for number, thread in enumerate(_places(block)):
                    cuda = _Cuda(grid, block, at, thread, own)
                    steps = types.FunctionType(code, {**known, "cuda": cuda})(*args)
                    ready.append((own, steps))
                    if at == (0, 0, 0) and number in self.show:
                        names[steps] = number

            def told(steps: Steps, line: int) -> None:
                if steps in names:
                    source = lines[line - first].rstrip()
                    print(f"thread {names[steps]:>3}  line {line:>3}  {source}")

            _run(ready, random.Random(self.seed), told)

        return run


def _extent(given: int | Sequence[int]) -> Place:
    axes = (given,) if isinstance(given, int) else given
    return Place(*(*axes, 1, 1)[:3])


def _places(extent: Place) -> Iterator[Place]:
    for z, y, x in product(range(extent.z), range(extent.y), range(extent.x)):
        yield Place(x, y, z)


def _run(
    ready: list[tuple[_Block, Steps]], luck: random.Random, told: Callable[[Steps, int], None]
) -> None:
    """Turns of threads that are drawn, until all have ended; a barrier holds them up."""
    while ready:
        at = luck.randrange(len(ready))
        own, steps = ready[at]
        for _ in range(luck.randint(1, _LONGEST_TURN)):
            line = next(steps, None)
            if line:
                told(steps, line)
                continue
            ready[at] = ready[-1]
            ready.pop()
            if line is None:
                own.alive -= 1
            else:
                own.waiting.append(steps)
            break
        if own.waiting and len(own.waiting) == own.alive:
            ready += [(own, one) for one in own.waiting]
            own.waiting = []


def in_any_order(kernel: Any, seed: int, show: Collection[int] = ()) -> InAnyOrder:
    """One launch on a GPU that tells nothing: ``in_any_order(kernel, seed=3)[grid, block](a, b)``.

    Each seed is another order of the same threads. Barriers and atomics count, lockstep does not.
    It knows `cuda.grid`, `threadIdx` and their kin, shared arrays, `syncthreads` and `atomic.add`.
    """
    return InAnyOrder(kernel, seed, show)
