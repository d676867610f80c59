"""Runs of a check on the Triton engine: a `Run` of `course.engine.job` in, a `Ran` out."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, starmap
from typing import Any

import numpy as np
import torch

from course.engine import stated_gpu
from course.engine.cell.heuristics import each_with_computed
from course.engine.cell.triton import TileCell, forget, read_cell
from course.engine.cell.tuning import Timed
from course.engine.faults import KernelFault, Outcome, rejected, tuner_goes_on
from course.engine.job import Output, Ran, Run
from course.engine.launcher import call
from course.engine.launcher.tensors import Allocator
from course.engine.printed import Printed
from course.engine.requests import Requests
from course.engine.traffic import Traffic, merged
from course.engine.triton.canary import require_right_counts
from course.engine.triton.compiling import findings, gate, workplace
from course.engine.triton.compiling.asked import COMPILE_SECONDS
from course.engine.triton.compiling.found import Resources
from course.engine.triton.compiling.functions import base_function
from course.engine.triton.compiling.helper import Helper
from course.engine.triton.compiling.specialisation import key_of, source_of
from course.engine.triton.entry import first_line
from course.engine.triton.launch import WARPS, Watch, follow, launch
from course.engine.triton.passed import bound
from course.engine.triton.running.cache import CHECK_L2_BYTES, CHECK_MULTIPROCESSORS, Cache
from course.engine.triton.running.tensors import uninitialised
from course.plain.arithmetic import plain

#: Of a launcher that is walked for what it will launch, and children that compile that at once.
_STEPS_AHEAD, _MOST_AHEAD = 10_000, 4
#: Texts of the last cells whose cases have all been launched.
_came_through: deque[str] = deque(maxlen=64)
#: What one run's launches may have compiled, a third of a second each: honest ones have a few.
MOST_KERNELS = 32
#: The compute capability that every launch of a check is compiled for.
CHECK_TARGET = stated_gpu.TARGET


@dataclass(eq=False)
class TritonEngine:
    """Makes runs, in this process; compiles a cell's kernels once for all its cases.

    A cell that changes a list or a dict is read for each run anew: what a lambda of its top level
    has put into one is not there in the next case. One instance serves one cell. `printing`
    lets the kernel's prints through. Without `compiles` no launch goes through the compiler: it
    saves seconds where a kernel need not be accepted, and its resources count as nothing.
    `together` is how many programs run at once, as many as memory allows unless told. `target` is
    the GPU whose counts and resources the launches have, the run's own unless told. `requests`
    keeps the first requests of each access. With `watch`, which sees each step, launches run as
    they are written, and are not counted.
    """

    printing: bool | Printed = False
    compiles: bool = True
    together: int | None = None
    target: int | None = None
    requests: Requests | None = None
    watch: Watch | None = None
    _cell: TileCell | None = field(default=None, init=False)
    #: compiles the cell's kernels
    _helper: Helper = field(init=False)
    compiled: dict[Any, Resources] = field(default_factory=dict, init=False)
    #: compiles of runs that are to come
    begun: dict[Any, gate.Compiling] = field(default_factory=dict, init=False)
    #: what the compiler for another GPU says against a launch, where a grader asks
    elsewhere: KernelFault | None = field(default=None, init=False)

    def __del__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        if self._cell is not None:
            forget(self._cell)
            self._helper.close()
            self._cell = None

    def __call__(self, run: Run) -> Ran:
        """Makes one run: a launch, or a call of the cell's launcher.

        Raises:
            KernelFault: whatever is wrong with the cell or happens in the launch.
        """
        require_right_counts()
        cell = self._read(run)
        with workplace.helped_by(self._helper):
            return self._made(run, cell)

    @contextlib.contextmanager
    def ahead(self, source: str, runs: Iterable[Run]) -> Iterator[None]:
        """Inside, what these runs of a cell will launch is compiled meanwhile, for the stated GPU.

        Of a cell that came through this before, everything is known.
        """
        helps = self.compiles and workplace.present().alone and source not in _came_through
        try:
            for run in runs if helps else ():
                with contextlib.suppress(KernelFault):  # the run itself will say what is wrong
                    self._begin(run)
            yield
            if helps:
                _came_through.append(source)
        finally:
            while self.begun:
                self.begun.popitem()[1].close()

    def _begin(self, run: Run) -> None:
        def launched(kernel: Any, args: Sequence[Any], grid: Any, named: Any) -> None:
            source = source_of(kernel, args, next(_options(kernel, args, named)))
            asked = key_of(source, CHECK_TARGET), run.binary
            if asked not in self.begun and len(self.begun) < _MOST_AHEAD:
                compiling = gate.begin_ahead(source, CHECK_TARGET, run.binary)
                if compiling is not None:
                    self.begun[asked] = compiling

        cell, arguments = self._read(run), _tensors(run).values()
        if cell.changes:
            return
        if run.outputs:
            launcher = cell.launchers[run.kernel]
            call(launcher, cell.names, [*arguments], launched, step_limit=_STEPS_AHEAD)
        else:
            launched(cell.kernels[run.kernel], tuple(arguments), run.grid, {})

    def _read(self, run: Run) -> TileCell:
        if self._cell is None or self._cell.changes or run.source != self._cell.source:
            self._forget()
            self._cell = read_cell(run.source)
            kernels = tuple(self._cell.kernels.values())
            self._helper = Helper(kernels, COMPILE_SECONDS)
        return self._cell

    def _made(self, run: Run, cell: TileCell) -> Ran:
        tensors = _tensors(run)
        for name in run.unwritten:
            if name in tensors:  # a launcher makes its own outputs
                uninitialised(tensors[name])
        launches = _Launches(run, tensors, self)
        if run.outputs:
            launcher = cell.launchers[run.kernel]
            returned = call(
                launcher,
                cell.names,
                list(tensors.values()),
                launches.make,
                taking=launches.returned,
                allocator=launches.allocator,
            )
            if not launches.made:
                raise KernelFault(Outcome.WRONG_ANSWER, "launcher_no_launch", launcher.lineno)
            arrays = launches.inputs() | returned
        else:
            kernel = cell.kernels[run.kernel]
            try:
                launches.make(kernel, tuple(tensors.values()), run.grid, {})
            except KernelFault as fault:  # the cell has no line that launches
                fault.line = fault.line or first_line(kernel)
                raise
            arrays = launches.inputs()
        return Ran(arrays, launches.traffic(), self.elsewhere, launches.tuned)


class _Launches:
    """The launches of one run, and whose memory is whose."""

    def __init__(self, run: Run, tensors: Mapping[str, Any], engine: TritonEngine) -> None:
        self.run = run
        self.tensors = tensors
        self.engine = engine
        #: (traffic, tensor by the kernel's parameter): kept, so that no storage is given away twice
        self.made: list[tuple[Traffic, dict[str, torch.Tensor]]] = []
        self.allocator = Allocator()
        #: the exercise's arrays: those passed, and then those returned
        self.named = {n: value for n, value in tensors.items() if isinstance(value, torch.Tensor)}
        #: what was compiled for this run
        self._kernels: set[Any] = set()
        self.target = engine.target or run.target or CHECK_TARGET
        #: what the last configuration sets that was not autotune's first
        self.tuned = ""

    def make(self, kernel: Any, args: Sequence[Any], grid: Any, named: Mapping[str, Any]) -> None:
        """One launch: compiled for a GPU, run and measured; it runs while the compiler goes on."""
        function = base_function(kernel)
        if self.run.gluon and not function.is_gluon():
            line = first_line(kernel)
            raise rejected(line, "tile_not_gluon", name=function.__name__)
        options, compiled = self._fitting(kernel, args, named)
        given = bound(function, tuple(args), dict(options))
        tensors = dict(chain.from_iterable(starmap(_tensors_in, given.items())))
        cache = Cache(CHECK_L2_BYTES, CHECK_MULTIPROCESSORS) if self.run.cache else None
        # Gluon has no other form than the one that the compiler makes
        if (watch := self.engine.watch) is not None and not function.is_gluon():
            limit = self.run.step_limit
            follow(kernel, args, grid, options, watch, limit, self.engine.requests)
            self.made.append((Traffic(), tensors))
            return
        launched = partial(
            launch,
            kernel,
            args,
            grid,
            options,
            step_limit=self.run.step_limit,
            printing=self.engine.printing,
            together=self.engine.together if cache is None else cache.multiprocessors,
            listener=None if cache is None else cache.access,
            target=self.target,
            requests=self.engine.requests,
        )
        timed = Timed.of(kernel, tensors)
        try:
            traffic = launched()
            if timed is not None:
                timed.require_repeatable(traffic, launched)
        except KernelFault as fault:
            compiled()  # what the compiler refuses comes first
            fault.fields.update({"tuned": self.tuned} if self.tuned else {})
            if self.run.outputs:
                self._say_which(fault, tensors)
            if fault.outcome in (Outcome.OUT_OF_BOUNDS, Outcome.RACE):
                numbers = ((name, value) for name, value in given.items() if type(value) is int)
                fault.fields["numbers"] = tuple(numbers)
            raise
        resources = compiled()
        traffic.shared_bytes = resources.shared_bytes
        traffic.registers = resources.registers
        traffic.spill_bytes = resources.spill_bytes
        if cache is not None:
            traffic.dram_bytes = cache.read_bytes
        self.made.append((traffic, tensors))

    def _fitting(
        self, kernel: Any, args: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Callable[[], Resources]]:
        """A launch's options, and what waits for the compiler.

        Of several configurations, as Triton does, the run's or the next that has the resources.
        """
        each = list(_options(kernel, args, named))
        turn = self.run.tuned % len(each)
        *others, last = (*each[turn:], *each[:turn])
        for options in others:
            try:
                compiled = self._compiled(kernel, args, options)
                compiled()
                break
            except KernelFault as fault:
                if not tuner_goes_on(fault):
                    raise
        else:
            options, compiled = last, self._compiled(kernel, args, last)
        if options is not each[0]:
            own = ((name, value) for name, value in options.items() if name not in named)
            self.tuned = ", ".join(f"{name}={value}" for name, value in own)
        return options, compiled

    def _say_which(self, fault: KernelFault, tensors: Mapping[str, torch.Tensor]) -> None:
        """A kernel's `B` is what the cell passed for it: the fault names the exercise's array."""
        parameter = str(fault.fields.get("array", ""))
        if parameter not in tensors:
            return
        passed = self._name_of(tensors[parameter])
        if passed is None and _plain(parameter) in map(_plain, self.tensors):
            fault.fields["passed"] = "a tensor that the launcher made"
        elif passed is not None and _plain(parameter) != _plain(passed):
            fault.fields["passed"] = f"the exercise's {passed}"

    def _compiled(
        self, kernel: Any, args: Sequence[Any], options: dict[str, Any]
    ) -> Callable[[], Resources]:
        """What waits for what the compiler makes of a launch: once for each set of types,
        constants, alignments.

        Raises:
            KernelFault: DOES_NOT_COMPILE, or TOO_MANY_RESOURCES; and so does what it gives.
        """
        binary, source = self.run.binary, source_of(kernel, args, options)
        key = (key_of(source, self.target), binary)
        self._kernels.add(key)
        if len(self._kernels) > MOST_KERNELS:
            raise KernelFault(Outcome.TIMED_OUT, "tile_many_kernels", None, limit=MOST_KERNELS)
        if not self.engine.compiles:
            nothing = Resources(self.target, options["num_warps"], 0, 0, 0)
            return lambda: nothing
        if (found := self.engine.compiled.get(key)) is not None:
            return lambda: found
        ahead = self.engine.begun.pop(key, None)
        wait = gate.begin(source, self.target, binary=binary, ahead=ahead)

        def compiled() -> Resources:
            self.engine.compiled[key] = resources = wait()
            asked = self.run.elsewhere and not self.run.target
            if asked and self.engine.elsewhere is None:
                self.engine.elsewhere = findings.refused_elsewhere(source)
            return resources

        return compiled

    def inputs(self) -> dict[str, np.ndarray]:
        """What the arguments hold now."""
        return {
            name: value for name, value in self.run.arguments.items()
            if isinstance(value, np.ndarray)
        }  # fmt: skip

    def returned(self, result: Any) -> dict[str, np.ndarray]:
        """What the launcher returned, by the outputs' names.

        Raises:
            KernelFault: WRONG_ANSWER, where that is not what was asked for.
        """
        arrays = {}
        outputs = returned(self.run.outputs, result)
        for name, value in outputs.items():
            if self._name_of(value) is not None:
                raise _wrong("launcher_returns_input", name=name)
            arrays[name] = value.numpy()
        self.named |= outputs
        return arrays

    def _name_of(self, tensor: torch.Tensor) -> str | None:
        """The exercise's array in whose memory a tensor lies.

        Of several in one storage, the nearest one that begins no later.
        """
        there = [
            (max(before := value.data_ptr() - tensor.data_ptr(), 0), -before, name)
            for name, value in self.named.items()
            if _storage(value) == _storage(tensor)
        ]
        return min(there)[-1] if there else None

    def traffic(self) -> Traffic:
        """All launches together, arrays by the exercise's names."""
        whole = merged(
            traffic.renamed(
                {
                    parameter: name
                    for parameter, tensor in tensors.items()
                    if (name := self._name_of(tensor)) is not None
                }
            )
            for traffic, tensors in self.made
        )
        whole.filled_bytes = self.allocator.filled_bytes
        return whole


def _tensors(run: Run) -> dict[str, Any]:
    return {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else plain(value)
        for name, value in run.arguments.items()
    }


def _options(
    kernel: Any, args: Sequence[Any], named: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """A launch's options in each configuration of autotune's."""
    each = each_with_computed(kernel, args, named)
    return ({"num_warps": WARPS, **options} for options in each)


def returned(wanted: Sequence[Output], result: Any) -> dict[str, torch.Tensor]:
    """What a launcher returned, by the outputs' names.

    Raises:
        KernelFault: WRONG_ANSWER, where the shapes and dtypes are others, or it has gaps.
    """
    got = result if isinstance(result, tuple | list) and len(wanted) > 1 else (result,)
    if len(got) != len(wanted):
        raise _wrong(
            "launcher_count",
            expected=tuple(output.name for output in wanted),
            count=len(wanted),
            got=_shown(result),
        )
    for output, value in zip(wanted, got, strict=True):
        if not isinstance(value, torch.Tensor):
            raise _wrong("launcher_result", name=output.name, got=_shown(value))
        shape, dtype = _kind(value)
        if (shape, dtype) != (output.shape, output.dtype):
            kinds = sorted((one.shape, one.dtype) for one in wanted)
            raise _wrong(
                "launcher_order" if sorted(map(_kind, got)) == kinds else "launcher_shape",
                name=output.name,
                expected=f"{_shape(output.shape)} {output.dtype}",
                got=f"{_shape(shape)} {dtype}",
                order=", ".join(one.name for one in wanted),
            )
        if output.contiguous and not value.is_contiguous():
            strides = ", ".join(map(str, value.stride()))
            raise _wrong("launcher_strides", name=output.name, got=strides)
    return {output.name: value for output, value in zip(wanted, got, strict=True)}


def _kind(value: Any) -> tuple[tuple[int, ...], str]:
    """Shape and dtype of what a launcher returns: of anything but a tensor, none."""
    if not isinstance(value, torch.Tensor):
        return (), ""
    return tuple(value.shape), str(value.dtype).removeprefix("torch.")


def _wrong(message_id: str, **fields: object) -> KernelFault:
    return KernelFault(Outcome.WRONG_ANSWER, message_id, None, **fields)


def _plain(name: str) -> str:
    """`A_ptr` and `a` are both `a`."""
    return name.lower().removesuffix("_ptr").removesuffix("_pointer")


def _tensors_in(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that an argument is, describes or holds, by a launch's names for them."""
    if isinstance(value, tuple):
        for at, item in enumerate(value):
            yield from _tensors_in(f"{name}.{at}", item)
    base = value.base if type(value).__name__ == "TensorDescriptor" else value
    if isinstance(base, torch.Tensor):
        yield name, base


def _storage(value: Any) -> int:
    return int(value.untyped_storage().data_ptr())


def _shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {_shape(tuple(value.shape))}"
    if isinstance(value, tuple | list):
        return f"a tuple of {len(value)}" if value else "an empty tuple"
    if value is None:
        return "nothing (None)"
    if isinstance(value, bool | int | float | str):
        kind = "text" if isinstance(value, str) else "number"
        return f"{value}" if isinstance(value, bool) else f"the {kind} {str(value)[:40]}"
    kinds = {"JITFunction": "a kernel", "Closure": "a function", "dtype": "a dtype"}
    return kinds.get(type(value).__name__, f"a value of type {type(value).__name__}")


def _shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
