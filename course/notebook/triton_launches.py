"""Launching Triton kernels without a GPU: `kernel[grid](...)` as Triton spells it.

`install` takes over the launch of a jitted function, nothing else. On a machine with a GPU a
launch runs where its tensors lie. Inside `course.measure()` and under `COURSE_GPU=off` it runs on
the engine, metered; tensors of the GPU come to the CPU and go back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction, KernelInterface

from course.engine.faults import KernelFault, Outcome, tuner_goes_on
from course.engine.traffic import Traffic
from course.engine.triton.compiling.functions import base_function
from course.gpu.present import switched_off
from course.notebook import measure
from course.words import waiting

if TYPE_CHECKING:
    from course.engine.triton.launch import Watch
    from course.engine.triton.running.space import Space


def has_gpu() -> bool:
    """Whether Triton may launch on a GPU here."""
    return not switched_off() and _found()


@cache
def _found() -> bool:
    return bool(torch.cuda.is_available())


def measuring() -> bool:
    """Whether a `with course.measure()` is open, or a launch is followed."""
    return measure.measuring() or _watch is not None


_watch: Watch | None = None
#: whether a kernel may reach all of an allocation of which it is passed a view
whole_allocations = False
#: where the tensors of a program lie that may know their addresses
space: Space | None = None


@contextlib.contextmanager
def watched_by(watch: Watch) -> Iterator[None]:
    """Every launch inside runs on the engine, and `watch` sees its steps."""
    global _watch
    before, _watch = _watch, watch
    try:
        yield
    finally:
        _watch = before


def run_on_engine(kernel: Any, args: Sequence[Any], grid: Any, named: dict[str, Any]) -> Traffic:
    """Launches a kernel on the engine; tensors that lie on a GPU come and go.

    Raises:
        KernelFault: what the launch or the kernel did wrong.
    """
    moved: list[tuple[torch.Tensor, torch.Tensor]] = []
    arguments = [_local(value, moved) for value in args]
    by_name = {name: _local(value, moved) for name, value in named.items()}
    # Triton's import installs this module, and may come from within the compiler's own.
    from course.engine.triton import launch as compiled

    function = base_function(kernel)
    code = getattr(getattr(function, "fn", None), "__code__", None)
    name = str(getattr(function, "__name__", "kernel"))
    filename = str(getattr(code, "co_filename", ""))
    try:
        fault = None
        if _watch is not None:
            try:
                compiled.follow(kernel, arguments, grid, by_name, _watch)()
            except KernelFault as found:  # it may be in what the compiler leaves out
                fault = found
        with waiting.on_a_launch("triton"):
            traffic = compiled.launch(
                kernel, arguments, grid, by_name,
                target=measure.target(), whole=whole_allocations, banks=measure.measuring(),
                space=space,
            )  # fmt: skip
        if fault is not None:
            raise fault
    except KernelFault as fault:
        fault.happened_in(name, filename, kernel=name)
        fault.dialect = "triton"
        measure.note(fault.traffic, name, filename, compiled=True)
        raise
    finally:
        for there, here in moved:
            there.copy_(here)
    measure.note(traffic, name, filename, compiled=True)
    return traffic


def _local(value: Any, moved: list[tuple[torch.Tensor, torch.Tensor]]) -> Any:
    """A tensor on the CPU; tensors that share storage on the GPU are not followed."""
    if isinstance(value, torch.Tensor) and value.device.type == "cuda":
        here = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
        here.copy_(value)
        moved.append((value, here))
        return here
    return value


def _goes_to_gpu(kernel: Any, args: Sequence[Any], named: dict[str, Any]) -> bool:
    """Whether a launch runs on the GPU: there is one, and its tensors do not lie on the CPU.

    Raises:
        KernelFault: REJECTED, where some lie on the CPU and some on the GPU.
    """
    if not has_gpu() or measuring():
        return False
    function = base_function(kernel)
    given = [*zip(function.arg_names, args, strict=False), *named.items()]
    tensors = {name: getattr(value, "base", value) for name, value in given}  # of descriptors
    lying: dict[bool, str] = {}
    for name, tensor in tensors.items():
        # a GPU reaches pinned memory, too
        if isinstance(tensor, torch.Tensor) and (tensor.is_cuda or not tensor.is_pinned()):
            lying.setdefault(tensor.is_cuda, name)
    if len(lying) == 2:
        where = {"here": lying[False], "there": lying[True]}
        raise _refused(function.__name__, Outcome.REJECTED, "tile_two_places", **where)
    return lying.keys() != {False}


def _run(on_gpu: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any, *args: Any, grid: Any, warmup: bool, **named: Any) -> Any:
        if warmup or _goes_to_gpu(self, args, named):
            return on_gpu(self, *args, grid=grid, warmup=warmup, **named)
        for hook in self.pre_run_hooks:
            hook(*args, **named)
        run_on_engine(self, args, grid, named)
        return None

    return run


def _autotuned(on_gpu: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any, *args: Any, **named: Any) -> Any:
        """There is nothing to time here: the first configuration that can be launched is taken."""
        if _goes_to_gpu(self, args, named):
            return on_gpu(self, *args, **named)
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        key = _tuned_for(self, {**self.nargs, **named})
        config = self.cache.get(key) or self.configs[0]
        configs = [config]
        if key not in self.cache and len(self.configs) > 1:
            configs = self.prune_configs(named)
            self.pre_hook({**self.nargs, **named}, reset_only=True)
        try:
            for config in configs:
                with _passing_over(config is not configs[-1]) as passed_over:
                    self.best_config = config
                    given = _configured(self, config, named)
                    made = self.fn.run(*args, **given)
                if not passed_over:
                    self.cache[key] = config
                    return made
        finally:
            self.nargs = None

    return run


def _benched(on_gpu: Callable[..., Any]) -> Callable[..., Any]:
    def bench(self: Any, *args: Any, config: Any, **named: Any) -> Any:
        """A library's own tuner times here; what does not fit takes for ever, as on a GPU."""
        with _passing_over(True) as stopped:
            times = on_gpu(self, *args, config=config, **named)
        return [float("inf")] * 3 if stopped else times

    return bench


def _tuned_for(tuner: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    """What a configuration is chosen for, once: as Triton has it."""
    own = {name: value for name, value in given.items() if name in tuner.arg_names}
    types = [str(value.dtype) for value in own.values() if hasattr(value, "dtype")]
    return (*(own[name] for name in tuner.keys if name in own), *types)


def _configured(tuner: Any, config: Any, named: dict[str, Any]) -> dict[str, Any]:
    """What a launch with a configuration passes by name; its hook has run."""
    twice = sorted(named.keys() & config.all_kwargs().keys())
    if twice:
        kernel = base_function(tuner).__name__
        raise _refused(
            kernel,
            Outcome.DOES_NOT_COMPILE,
            "tile_tuned_twice",
            name=twice[0],
            kernel=kernel,
            wrapper="@triton.autotune",
        )
    given = {**named, **config.all_kwargs()}
    if config.pre_hook is not None:
        config.pre_hook({**tuner.nargs, **given})
    return given


_others_left = False


@contextlib.contextmanager
def _passing_over(others_left: bool) -> Iterator[list[KernelFault]]:
    """Inside, a configuration is tried: what stops it is here, where others are left."""
    global _others_left
    stopped: list[KernelFault] = []
    _others_left = others_left
    try:
        yield stopped
    except KernelFault as fault:
        if not passed_over(fault):
            raise
        stopped.append(fault)
    finally:
        _others_left = False


def passed_over(fault: KernelFault) -> bool:
    """Whether a tuner is at work, and goes on to its next configuration."""
    return _others_left and tuner_goes_on(fault)


def _without_grid(self: Any, *args: Any, **named: Any) -> NoReturn:
    """``kernel(x)``: Triton answers this with a traceback, with a GPU too."""
    kernel = base_function(self).__name__
    raise _refused(kernel, Outcome.REJECTED, "launcher_no_grid", name=kernel)


def _refused(kernel_name: str, outcome: Outcome, message_id: str, **fields: str) -> KernelFault:
    """A launch that never reaches its kernel."""
    fault = KernelFault(outcome, message_id, None, **fields)
    fault.happened_in(kernel_name, "", kernel=kernel_name)
    fault.dialect = "triton"
    return fault


def install() -> None:
    """Takes over the launch of jitted functions, once."""
    if getattr(JITFunction, "_course_installed", False):
        return
    JITFunction.run = _run(JITFunction.run)
    Autotuner.run = _autotuned(Autotuner.run)
    Autotuner._bench = _benched(Autotuner._bench)
    JITFunction.__call__ = KernelInterface.__call__ = _without_grid
    JITFunction._course_installed = True
