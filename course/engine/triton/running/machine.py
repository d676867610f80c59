"""Runs a module for all programs of a launch at once: operations, blocks, functions.

Where programs part (a condition, the bounds of a loop, an early return) each side runs with its
own programs, and values join behind it. An operation that is not known is `Unsupported`, by name.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from course.engine.faults import Outcome
from course.engine.lines import line_in
from course.engine.triton.compiling.steps import is_step
from course.engine.triton.ir import Block, Module, Operation, Type
from course.engine.triton.running import (
    accesses,
    barriers,
    bulk,
    control,
    folds,
    hints,
    products,
    scaled,
    shared,
    tensor_memory,
    warps,
)
from course.engine.triton.running.agents import Agents
from course.engine.triton.running.contraction import fused_of
from course.engine.triton.running.frames import Array, Frame, Heard, joined, taken
from course.engine.triton.running.memory import Memory
from course.engine.triton.running.narrow import CONVERTS_EIGHT_BITS, EIGHT_BITS
from course.engine.triton.running.operations import (
    RULES,
    constant_of,
    converted,
    dtype_of,
    reshaped_in_any_order,
)
from course.engine.triton.running.run import Run, Spent
from course.engine.triton.running.sites import Uncounted
from course.engine.triton.running.values import Unsupported, Value
from course.engine.triton.running.warp_races import parts_threads

#: What orders threads of a program, or frees what it has: programs run in step here.
_NOTHING = frozenset(
    {
        "ttg.async_commit_group", "ttg.async_wait", "ttg.local_dealloc", "gpu.barrier",
        "ttg.barrier", "ttg.local_barrier", "ttng.fence_async_shared",
        "ttg.warp_yield", "ttng.init_barrier", "ttng.inval_barrier",
        "ttng.barrier_expect", "ttng.wait_barrier", "ttng.arrive_barrier",
        "ttng.tensormap_fenceproxy_acquire", "ttng.async_tma_store_wait", "ttng.fence",
        "ttng.fence_mbarrier_init_release_cluster", "ttng.tc_gen5_commit",
        "ttng.async_copy_mbarrier_arrive", "ttng.cluster_arrive", "ttng.cluster_wait",
    }
)  # fmt: skip

#: Statements that a function of 1,024 elements counts for: an SM makes 16 of `ex2.approx` in a
#: clock and 128 multiply-adds, and `sin` of a float32 is over a hundred instructions.
STATEMENTS_OF_A_FUNCTION = 10
_FUNCTIONS = frozenset(
    {
        *("math.exp", "math.exp2", "math.log", "math.log2", "math.sqrt", "math.rsqrt"),
        *("math.sin", "math.cos", "math.tanh", "math.erf", "math.powf"),
        *("tt.precise_sqrt", "tt.extern_elementwise"),
    }
)

#: an operation, what it does, and the names of its results (one alone as it is)
Step = tuple[Operation, Callable[[Frame], Any], str | tuple[str, ...]]


class _Prepared(NamedTuple):
    """A block, ready to be run again and again."""

    spent: Spent
    steps: list[Step]


class Machine:
    """Executes the entry function of a module for the programs of `run`.

    Attributes:
        files: the learner's, as the module calls them and as `linecache` does.
        unused: the numbers of loads that are not made.
        early: the loads that the next turn of a loop makes use of, by their numbers.
        of_numbers: what makes buffers that hold no barriers, whatever they look like, likewise.
        agents: the warps of a program, where they order themselves (one program at a time).
        descriptors: what the kernel has made of tensors for TMA, by the place where it keeps them.
    """

    def __init__(
        self,
        module: Module,
        run: Run,
        files: Mapping[str, str],
        ordered_within: bool = False,
        unused: Set[int] = frozenset(),
    ) -> None:
        self.module, self.run, self.files = module, run, files
        self._own = next(iter(files.values()), "")
        self.memory: Memory = run.memory
        self.meter: Uncounted = run.memory.meter
        self.descriptors: dict[int, object] = {}
        self.agents: Agents | None = None
        self._ordered_within, self._unused = ordered_within, unused
        self._fused = fused_of(module)
        self._reordered = folds.reordered(module)
        self.early = shared.early(module)
        # asked only where the warps order themselves, which most launches do not
        self.of_numbers = shared.of_numbers(module) if ordered_within else frozenset[int]()
        self._blocks: dict[Block, _Prepared] = {}
        self._programs = run.programs
        self._heard: Heard | None = None

    def start(self, arguments: Sequence[Any]) -> None:
        """Runs the programs that `run` has now, from the first operation to the return."""
        for block in self.module.entry.regions[0]:
            last = block.operations[-1]
            if last.name == "tt.return" and last.operands:
                self.here(last)
                self.run.fail(Outcome.DOES_NOT_COMPILE, "tile_kernel_returns")
        self._programs = self.run.programs
        self._heard = None if self.run.order is None else Heard()
        self.agents = Agents(self.run) if self._ordered_within else None
        self.function(Frame(len(self._programs)), self.module.entry, arguments)
        if self.agents is not None:
            self.agents.end()

    # ------------------------------------------------------------ groups of programs

    @property
    def batch(self) -> int:
        """How many programs run together, in whatever groups."""
        return len(self._programs)

    @property
    def rows(self) -> Array:
        """The places of the group's programs in the batch."""
        rows: Array = self.run.programs - self._programs[0]
        return rows

    @contextlib.contextmanager
    def as_now(self) -> Iterator[None]:
        """The group's programs are inside the same as before, behind it."""
        before = self.run.programs
        try:
            yield
        finally:
            self.run.programs = before

    def apart(self, frame: Frame, work: Callable[[Frame], Any], rows: Array) -> Any:
        """Does `work` for some of the group's programs."""
        with self.as_now():
            self.run.programs = self.run.programs[rows]
            return work(frame.part(rows))

    # ------------------------------------------------------------ what atomics order

    def look(self, *values: Any) -> None:
        """What the program does next depends on these values."""
        if self._heard is not None and self.run.order is not None:
            for value in values:
                if (heard := self._heard.of(value)) is not None:
                    looked = Value(value, "")
                    looked.heard = heard
                    self.run.order.look(looked)

    def heard_of(self, value: Any) -> Array | None:
        """What looking at a value tells."""
        return None if self._heard is None else self._heard.of(value)

    def told(self, value: Value) -> Array:
        """The data of what an atomic found, of which it is kept what it tells."""
        if self._heard is not None:
            self._heard.note(value.data, value.heard)
        return value.data

    # ------------------------------------------------------------ blocks

    def _block(self, frame: Frame, block: Block) -> Operation:
        """Runs a block; gives its last operation, which says how to go on."""
        for operation, work, names in self.entered(block):
            try:
                result = work(frame)
            except Unsupported:
                if operation.name not in _OWN:  # inside it another one may be what is meant
                    self.here(operation)
                raise
            if type(names) is str:
                frame[names] = result
            elif names and result is not None:
                frame.update(zip(names, result, strict=True))
            if self._heard is not None and result is not None:
                made = [result] if type(names) is str else list(result)
                self._heard.pass_on([frame[operand] for operand in operation.operands], made)
        return block.operations[-1]

    def entered(self, block: Block) -> list[Step]:
        """The group's programs begin with a block; what they do in it."""
        prepared = self._blocks.get(block)
        if prepared is None:
            prepared = self._blocks[block] = self._prepared(block)
        self.run.step(prepared.spent)
        self.meter.ran(block, self.run.count)
        return prepared.steps

    def yielded(self, frame: Frame, block: Block) -> list[Any]:
        """Runs a block; gives what its last operation hands on."""
        last = self._block(frame, block)
        return [frame[name] for name in last.operands]

    def _prepared(self, block: Block) -> _Prepared:
        """What is done for each operation of a block but the last; looked up once."""
        steps: list[Step] = []
        for operation in block.operations[:-1]:
            results = operation.results
            names = results[0] if len(results) == 1 else results
            steps.append((operation, self._parting(operation, self._work(operation)), names))
        return _Prepared(self._spent(block), steps)

    def _parting(
        self, operation: Operation, work: Callable[[Frame], Any]
    ) -> Callable[[Frame], Any]:
        """The work, behind which warps that are held to barriers begin another epoch."""
        warps = self.memory.warps
        if warps is None or not parts_threads(operation):
            return work

        def parting(frame: Frame) -> Any:
            result = work(frame)
            warps.part()
            return result

        return parting

    def _work(self, operation: Operation) -> Callable[[Frame], Any]:
        """What an operation does; one that is not known does so when its turn comes."""
        name, operands = operation.name, operation.operands
        if (fused := self._fused.get(operation.number)) is not None:
            return fused.result
        if operation.number in self._unused:
            (type_,) = operation.result_types
            nothing = np.zeros((1,) * (1 + len(type_.shape)), dtype_of(type_))
            return lambda frame: nothing
        own = _OWN.get(name)
        if self._ordered_within and (guard := barriers.GUARDS.get(name)) is not None:
            own = partial(_guarded, guard, own)
        if own is not None:
            place = self._place(operation)

            def work(frame: Frame) -> Any:
                if place is not None:
                    self.run.place = place
                return own(self, frame, operation)

            return work
        try:
            rule = self._rule(operation)
        except Unsupported as what:
            return partial(_refuse, what)
        if len(operands) == 1:
            (only,) = operands
            return lambda frame: rule(frame[only])
        if len(operands) == 2:
            left, right = operands
            return lambda frame: rule(frame[left], frame[right])
        return lambda frame: rule(*[frame[operand] for operand in operands])

    def _rule(self, operation: Operation) -> Callable[..., Any]:
        """What makes an operation's result of its operands."""
        if operation.number in self._reordered:
            return partial(reshaped_in_any_order, operation)
        maker = RULES.get(operation.name)
        if maker is not None:
            return maker(operation)
        if operation.name == "arith.constant":
            constant = constant_of(operation)
            return lambda: constant
        if operation.name in _NOTHING:
            return lambda *_: None
        raise Unsupported(f"the operation {operation.name}")

    def _place(self, operation: Operation) -> tuple[str, int, int] | None:
        """The place in the learner's source, innermost."""
        for filename, line, column in operation.place.files:
            if filename in self.files:
                file = self.files[filename]
                return file, line_in(file, line, self._own), column
        return None

    def here(self, operation: Operation) -> None:
        """The operation is what is being executed."""
        if (place := self._place(operation)) is not None:
            self.run.place = place

    def _spent(self, block: Block) -> Spent:
        """Lines of the learner's that a block has operations of: what a program goes through.

        A block without any counts as one, so that no loop is endless, but in Triton's functions.
        """
        ways: set[tuple[tuple[str, int], ...]] = set()
        lines: Counter[int] = Counter()
        functions, foreign = 0, False
        for one in block.operations:
            way, of_function = self._way(one), _of_function(one)
            functions += of_function
            if way:
                lines[way[0][1]] += of_function // 1024
                if not _is_of_no_line(one):
                    ways.add(way)
            elif one.place.files:
                foreign = True
        lines.update(way[0][1] for way in ways)
        return Spent(len(ways) or int(not foreign), functions // 1024, lines)

    def _way(self, operation: Operation) -> tuple[tuple[str, int], ...]:
        """(file, line) of the learner's places of an operation, the innermost first."""
        return tuple(
            (filename, line_in(self.files[filename], line, self._own))
            for filename, line, _ in operation.place.files
            if filename in self.files
        )

    def function(self, frame: Frame, function: Operation, arguments: Sequence[Any]) -> list[Any]:
        """Runs a function's blocks, or an operation's; programs may part at a branch and return
        one by one.
        """
        blocks = {block.label: block for block in function.regions[0]}
        done: list[tuple[Array, list[Any]]] = []

        def go(frame: Frame, block: Block, given: Sequence[Any], rows: Array) -> None:
            while True:
                frame.update(zip(block.arguments, given, strict=True))
                last = self._block(frame, block)
                values = [frame[name] for name in last.operands]
                if last.name.endswith("return"):
                    done.append((rows, values))
                    return
                if last.name == "cf.br":
                    block, given = blocks[last.successors[0]], values
                    continue
                if last.name != "cf.cond_br":
                    raise Unsupported(f"the operation {last.name}")
                self.look(values[0])
                split = 1 + last.integers("operandSegmentSizes")[1]
                sides = (values[1:split], values[split:])
                chosen = np.broadcast_to(values[0], (frame.count,))
                targets = [blocks[label.partition("(")[0]] for label in last.successors]
                if chosen.all() or not chosen.any():
                    side = 0 if chosen.all() else 1
                    block, given = targets[side], sides[side]
                    continue
                for side, places in enumerate((np.flatnonzero(chosen), np.flatnonzero(~chosen))):
                    given = [taken(value, places) for value in sides[side]]
                    on = partial(go, block=targets[side], given=given, rows=rows[places])
                    self.apart(frame, on, places)
                return

        go(frame, function.regions[0][0], arguments, np.arange(frame.count))
        count = frame.count
        return [
            joined(count, [(rows, values[n]) for rows, values in done])
            for n in range(len(done[0][1]))
        ]


# ---------------------------------------------------------------- programs, words


def _is_of_no_line(operation: Operation) -> bool:
    """Whether the compiler chooses its place: constants stand first, and what a block hands on
    has the place of its last line until Triton 3.7, of its head from 3.8 on.
    """
    hands_on = operation.name == "scf.yield" and bool(operation.operands)
    return hands_on or operation.name in ("arith.constant", "tt.return")


def _of_function(operation: Operation) -> int:
    """Statements that a function counts for beside that which it stands in, of 1,024 elements."""
    if operation.name not in _FUNCTIONS:
        return 0
    return math.prod(operation.result_types[0].shape) * STATEMENTS_OF_A_FUNCTION


def _refuse(what: Unsupported, frame: Frame) -> None:
    raise what


def _guarded(
    guard: barriers.Guard, own: Any, machine: Machine, frame: Frame, operation: Operation
) -> Any:
    made = guard(machine, frame, operation)
    return made if made is not None or own is None else own(machine, frame, operation)


def _poison(machine: Machine, frame: Frame, operation: Operation) -> Any:
    type_ = operation.result_types[0]
    if type_.kind not in ("scalar", "tensor", "pointer"):
        return None
    return np.zeros((1,) * (1 + len(type_.shape)), dtype_of(type_))


def _float(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.fp_to_fp`."""
    target = machine.module.attributes.get("ttg.target", "").strip('"').rpartition(":")[2]
    narrow = operation.result_types[0].scalar in EIGHT_BITS
    if narrow and target and int(target) < CONVERTS_EIGHT_BITS:
        raise Unsupported(
            f"8-bit floats as sm_{target} makes them, but as sm_90 does: `--target sm_90`, or "
            f'`course.measure(target="sm_90")`'
        )
    return converted(operation, frame[operation.operands[0]])


def _print(machine: Machine, frame: Frame, operation: Operation) -> None:
    if is_step(operation) and machine.run.watch is None:
        return
    signs = operation.integers("isSigned") if operation.operands else ()
    values = [
        Value(_signed(frame[name], type_, bool(sign)), type_.scalar, type_.shape)
        for name, type_, sign in zip(
            operation.operands, operation.operand_types, signs, strict=True
        )
    ]
    hexadecimal = operation.attributes.get("hex", "false").startswith("true")
    said: Callable[[], None]
    if is_step(operation) and machine.run.watch is not None:
        said = partial(machine.run.watch, operation, values)
    else:
        said = partial(machine.run.print_values, operation.string("prefix"), hexadecimal, values)
    if machine.run.turns is None:
        said()
    else:
        machine.run.turns.once(said)


def _signed(data: Array, type_: Type, signed: bool) -> Array:
    """Integers as they are meant: the IR has no signs."""
    plain = signed or type_.pointers or data.dtype.kind != "i"
    return data if plain else data.view(f"u{data.dtype.itemsize}")


def _assert(machine: Machine, frame: Frame, operation: Operation) -> None:
    condition = Value(frame[operation.operands[0]], "i1", operation.operand_types[0].shape)
    machine.run.check_assertion(condition, operation.string("message"))


_OWN: dict[str, Callable[[Machine, Frame, Operation], Any]] = {
    **control.OPERATIONS, **folds.OPERATIONS, **accesses.OPERATIONS, **shared.OPERATIONS,
    **bulk.OPERATIONS, **warps.OPERATIONS, **products.OPERATIONS, **hints.OPERATIONS,
    **tensor_memory.OPERATIONS, **scaled.OPERATIONS,
    "tt.get_program_id": lambda machine, _, op: machine.run.program_id(op.integer("axis")),
    "tt.get_num_programs":
        lambda machine, _, op: np.array([machine.run.grid[op.integer("axis")]], np.int32),
    "ub.poison": _poison, "tt.fp_to_fp": _float, "tt.print": _print, "tt.assert": _assert,
}  # fmt: skip
