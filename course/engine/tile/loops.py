"""Loops of a kernel: each program leaves when its own count or condition says so.

The programs that still have an iteration go on together; the others wait at the end of the
loop, where all meet again.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl

from course.engine.faults import Outcome
from course.engine.tile.expressions import Expressions, plain
from course.engine.tile.groups import taken
from course.engine.tile.values import Value
from course.engine.triton.versions import HEARS_DISABLE_LICM

#: programs that left a loop, with their variables
Waiting = list[tuple[np.ndarray, dict[str, Any]]]


class Loops(Expressions):
    """The walker's part that repeats."""

    block: Callable[..., None]
    statements: Callable[[list[ast.stmt]], None]
    passed: Callable[[ast.stmt], None]
    renumber: Callable[[ast.stmt], None]
    condition: Callable[[Any, ast.AST], bool | np.ndarray]
    _meet: Callable[..., None]

    def _while(self, node: ast.While) -> None:
        self._no_return(node)
        waiting: Waiting = []
        self.at(node)
        with self.run.loop(None) as loop:
            while True:
                self.at(node)
                loop.turn += 1
                self.run.step()
                self.renumber(node)
                asked = self._asked(node.test)
                if not known_at_run_time(asked):
                    construct = f"while {ast.unparse(node.test)[:60]}"
                    self.run.fail(
                        Outcome.DOES_NOT_COMPILE, "tile_while_constant", construct=construct
                    )
                test = self.condition(asked, node)
                if isinstance(test, bool):
                    if not test:
                        break
                else:
                    self._leave(waiting, ~test)
                with self.run.a_turn():
                    self.block(node.body)
        self._rejoin(waiting)
        self.passed(node)

    def _asked(self, test: ast.expr) -> Any:
        """A loop's condition, asked anew in each turn."""
        with self.run.merging.within():
            return self.value(test)

    def _leave(self, waiting: Waiting, done: np.ndarray) -> None:
        """Some programs wait at the end of the loop; the group goes on without them."""
        gone, going = np.flatnonzero(done), np.flatnonzero(~done)
        variables = self.frame.vars
        waiting.append(
            (self.run.programs[gone], {name: taken(v, gone) for name, v in variables.items()})
        )
        self.frame.vars = {name: taken(v, going) for name, v in variables.items()}
        self.run.programs = self.run.programs[going]

    def _rejoin(self, waiting: Waiting) -> None:
        if waiting:
            self._meet([*waiting, (self.run.programs, self.frame.vars)])

    def _no_return(self, node: ast.AST) -> None:
        if any(isinstance(inner, ast.Return) for inner in ast.walk(node)):
            raise self.refuse("a `return` inside a loop", node)

    def _for(self, node: ast.For) -> None:
        if not isinstance(node.iter, ast.Call) or not isinstance(node.target, ast.Name):
            raise self.refuse("a loop over something other than range or tl.static_range", node)
        kind = plain(self.value(node.iter.func))
        args = [self.value(a) for a in node.iter.args]
        named = {k.arg: self.value(k.value) for k in node.iter.keywords if k.arg}
        if node.orelse:
            raise self.refuse("`else` after a loop", node)
        if kind is tl.static_range:
            self._unrolled(node, *_bounds(args, named))
        elif kind is range or kind is tl.range:
            self._no_return(node)
            stays = HEARS_DISABLE_LICM and kind is tl.range and _disables_licm(args, named)
            self._counted(node, *_bounds(args, named), stays)
        else:
            raise self.refuse("a loop over something other than range or tl.static_range", node)

    def _unrolled(self, node: ast.For, start: Any, stop: Any, step: Any) -> None:
        bounds = [plain(bound) for bound in (start, stop, step)]
        if not all(isinstance(bound, int) for bound in bounds):
            raise self.refuse("the bounds of tl.static_range are constants (constexpr)", node)
        for number in range(*bounds):
            self.frame.vars[node.target.id] = tl.constexpr(number)  # type: ignore[attr-defined]
            self.statements(node.body)
            if not self.run.count:
                return

    def _counted(self, node: ast.For, start: Any, stop: Any, step: Any, stays: bool) -> None:
        semantic, name = self.semantic, node.target.id  # type: ignore[attr-defined]
        bounds = [semantic.to_tensor(plain(bound)) for bound in (start, stop, step)]
        for bound in bounds:
            if not bound.dtype.is_int() or bound.type.is_block():
                raise self.refuse(f"the bounds of a loop are whole numbers, not {bound.type}", node)
        kind = semantic.integer_promote_impl(bounds[0].dtype, bounds[1].dtype)
        kind = semantic.integer_promote_impl(kind, bounds[2].dtype)
        self.run.look(*(bound.handle for bound in bounds))
        low, high, by = (semantic.cast(b, kind).handle.data.astype(np.int64) for b in bounds)
        if (by == 0).any():
            step = next((k.value for k in node.iter.keywords if k.arg == "step"), None)  # type: ignore[attr-defined]
            step = step or node.iter.args[2]  # type: ignore[attr-defined]
            written = isinstance(step, ast.Constant)
            self.run.fail(
                Outcome.TIMED_OUT,
                "zero_step",
                **{"written" if written else "step": ast.unparse(step)[:60]},
            )
        trips = np.maximum((high - low + by - np.sign(by)) // by, 0)
        if trips.min() == trips.max():
            trips = trips[:1]
        low, by = low.reshape(-1), by.reshape(-1)
        merging = self.run.merging
        numbers = [bound.handle.number for bound in bounds]
        moved = not stays and merging.quiet(node, self.frame.code.scope)
        kept = merging.of_loop(node, numbers) if moved else None
        waiting: Waiting = []
        self.at(node)
        with self.run.loop(int(trips.max())) as loop:
            while True:
                iteration = loop.turn
                if len(trips) == 1:
                    if iteration >= int(trips[0]):
                        break
                elif (trips <= iteration).any():
                    done = trips <= iteration
                    if done.all():
                        break
                    self._leave(waiting, done)
                    trips, low, by = (a if len(a) == 1 else a[~done] for a in (trips, low, by))
                self.at(node)
                loop.turn += 1
                self.run.step()
                place = low + by * iteration
                dtype = _integer(kind)
                self.renumber(node)
                self.frame.vars[name] = tl.tensor(Value(place.astype(dtype), _signless(kind)), kind)
                with self.run.a_turn():
                    self.block(node.body, kept)
        self._rejoin(waiting)
        self.passed(node)


def known_at_run_time(condition: Any) -> bool:
    """Whether the compiler does not know what a condition is."""
    return isinstance(condition, tl.tensor | getattr(tl, "condition", tl.tensor))


def _disables_licm(args: list[Any], named: dict[str, Any]) -> bool:
    given = inspect.signature(tl.range.__init__).bind_partial(None, *args, **named).arguments
    return bool(plain(given.get("disable_licm")))


def _bounds(args: list[Any], named: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(start, stop, step) of a range."""
    given = dict(zip(("arg1", "arg2", "step"), args, strict=False)) | named
    first, second, step = given.get("arg1"), given.get("arg2"), given.get("step")
    first = given.get("start", first)
    second = given.get("end", second)
    if plain(second) is None:
        first, second = tl.constexpr(0), first
    return first, second, tl.constexpr(1) if plain(step) is None else step


def _integer(kind: Any) -> np.dtype:
    return np.dtype(f"i{max(1, kind.int_bitwidth // 8)}")


def _signless(kind: Any) -> Any:
    return {8: tl.int8, 16: tl.int16, 32: tl.int32, 64: tl.int64}[kind.int_bitwidth]
