"""`@triton.autotune` above a cell's kernel: read as data, and the first configuration is graded.

On a GPU Triton times each configuration and keeps the fastest. A check has nothing to time, and
the engine's counts differ from block to block: so it counts the first, of those that
`early_config_prune` leaves and that have the resources. Cases of which nothing is counted take
the others in turn: each has to be right.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from course.engine.faults import KernelFault, does_not_compile, rejected
from course.engine.launcher import applied
from course.engine.launcher.frames import Closure, Config
from course.engine.launcher.names import text
from course.engine.traffic import Traffic
from course.engine.triton.compiling.functions import code_of, updated_parameters

#: Where a kernel of a cell keeps what `@triton.autotune` says of it.
TUNED = "_course_tuned"
#: What the decorator takes, in order.
_PARAMETERS = ("configs", "key")
#: What says of a text more than that it cannot be read.
CLEAR = ("missing_import", "undefined_name", "unassigned_name", "constants_too_long")
#: What says how to time, which nobody does here: numbers.
_OF_TIMING = ("warmup", "rep", "use_cuda_graph", "cache_results")

#: The value of an expression at the cell's top level.
ValueOf = Callable[[ast.expr], Any]


@dataclass(frozen=True)
class Tuned:
    """What the decorator says.

    Attributes:
        configs: in order, at least one.
        reset: parameters whose tensors Triton sets to zero before each run that it times.
        restored: those whose contents it puts back.
        prune: a function of the cell that leaves some of the configurations, and the names there.
    """

    configs: tuple[Config, ...]
    reset: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    prune: ast.FunctionDef | Closure | None = None
    names: Mapping[str, Any] | None = None

    def each(self, given: Mapping[str, Any], named: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What each configuration that is tried sets of constants and options; at least one."""
        configs: Any = list(self.configs)
        if self.prune is not None:
            function = self.prune.node if isinstance(self.prune, Closure) else self.prune
            by_place = {name: value for name, value in given.items() if name not in named}
            configs = applied(function, self.names or {}, [configs, by_place], dict(named))
            if not isinstance(configs, list | tuple) or not configs:
                raise _unreadable(function, "an early_config_prune that leaves none")
            if not all(isinstance(config, Config) for config in configs):
                raise _unreadable(function, "an early_config_prune that gives no configurations")
        return [{**one.kwargs, **one.options} for one in configs]


def read_tuning(
    kernel: ast.FunctionDef, decorator: ast.Call, value_of: ValueOf, names: Mapping[str, Any]
) -> Tuned:
    """What `@triton.autotune(...)` says.

    Args:
        names: of the cell, for the functions that prune.

    Raises:
        KernelFault: REJECTED, where it says what a check does not take; DOES_NOT_COMPILE, where a
            configuration names what the kernel has no parameter for.
    """
    placed = dict(zip(_PARAMETERS, decorator.args, strict=False))
    named = {keyword.arg or "**": keyword.value for keyword in decorator.keywords}
    twice = placed.keys() & named.keys()
    if len(decorator.args) > len(_PARAMETERS) or twice or {*_PARAMETERS} - {*placed, *named}:
        raise _unreadable(decorator, text(decorator))
    given = placed | named
    values: dict[str, Any] = {}
    for name, node in given.items():
        values[name] = None if name == "**" else _valued(node, value_of)
        if not _holds(name, values[name]):
            raise _unreadable(node, f"{name}={text(node)}")
    parameters = [parameter.arg for parameter in kernel.args.args]
    prune = values.get("prune_configs_by") or {}
    tuned = Tuned(
        tuple(values["configs"]),
        tuple(values.get("reset_to_zero") or ()),
        tuple(values.get("restore_value") or ()),
        prune.get("early_config_prune"),
        names,
    )
    constants = [name for config in tuned.configs for name in config.kwargs]
    for name in (*constants, *tuned.reset, *tuned.restored):
        if name not in parameters:  # any other name could be an option of the compiler's
            raise no_parameter(decorator, kernel, name)
    return tuned


def no_parameter(node: ast.AST, kernel: ast.FunctionDef, name: str) -> KernelFault:
    """What stands above a kernel names what it has no parameter for."""
    names = ", ".join(parameter.arg for parameter in kernel.args.args)
    return does_not_compile(node, "tile_no_parameter", kernel=kernel.name, name=name, names=names)


def _valued(node: ast.expr, value_of: ValueOf) -> Any:
    try:
        return value_of(node)
    except KernelFault as fault:
        if fault.message_id in CLEAR:
            raise
        said = fault.fields.get("construct") or fault.fields.get("name") or text(node)
        raise _unreadable(node, str(said)) from None


def _holds(name: str, value: Any) -> bool:
    """Whether an argument of the decorator is what a check takes there."""
    if name == "configs":
        listed = isinstance(value, list | tuple) and len(value) > 0
        return listed and all(isinstance(config, Config) for config in value)
    if name in ("key", "reset_to_zero", "restore_value"):
        listed = isinstance(value, list | tuple) or (value is None and name != "key")
        return listed and all(isinstance(item, str) for item in value or ())
    if name == "prune_configs_by":
        functions = list(value.values()) if isinstance(value, dict) else [value]
        known = value is None or (isinstance(value, dict) and set(value) <= {"early_config_prune"})
        return known and all(
            f is None or isinstance(f, ast.FunctionDef | Closure) for f in functions
        )
    if name in ("pre_hook", "post_hook", "do_bench"):
        return value is None
    return name in _OF_TIMING and (value is None or isinstance(value, int | float))


def with_tuned(kernel: Any, args: Sequence[Any], named: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A launch's arguments by name, with what autotune adds: one for each configuration.

    Raises:
        KernelFault: DOES_NOT_COMPILE, where the launch gives one of these, too; REJECTED, where
            timing the configurations would leave sums behind, or lose what is passed.
    """
    tuned: Tuned | None = kernel.__dict__.get(TUNED)
    if tuned is None:
        return [dict(named)]
    given = dict(zip(kernel.arg_names, args, strict=False)) | dict(named)
    if len(tuned.configs) > 1:
        _check_runs(kernel, tuned, given)
    each = tuned.each(given, named)
    for name in given:
        if name in each[0]:
            raise tuned_twice(kernel, name, wrapper="@triton.autotune")
    return [{**one, **named} for one in each]


def tuned_twice(kernel: Any, name: str, **by: str) -> KernelFault:
    """A launch, or what stands above the kernel, gives a parameter a second value."""
    return does_not_compile(None, "tile_tuned_twice", name=name, kernel=kernel.__name__, **by)


def _check_runs(kernel: Any, tuned: Tuned, given: Mapping[str, Any]) -> None:
    """Triton runs a kernel again and again to time it, the first time that it is launched."""
    added = {
        name for name in updated_parameters(kernel) if isinstance(given.get(name), torch.Tensor)
    }
    if added - {*tuned.reset, *tuned.restored}:
        raise rejected(code_of(kernel).first_line, "tile_tuned_atomics", kernel=kernel.__name__)
    for name in tuned.reset:
        passed = given.get(name)
        if not isinstance(passed, torch.Tensor) or passed.is_meta:  # a form without contents
            continue
        if bool(torch.count_nonzero(passed)):
            raise rejected(
                code_of(kernel).first_line, "tile_tuned_reset", kernel=kernel.__name__, name=name
            )


@dataclass(frozen=True)
class Timed:
    """A launch of a kernel of several configurations: on a GPU a later one of many."""

    kernel: Any
    given: Mapping[str, torch.Tensor]
    #: what those hold that Triton puts back
    kept: Mapping[str, torch.Tensor]

    @classmethod
    def of(cls, kernel: Any, given: Mapping[str, torch.Tensor]) -> Timed | None:
        """The launch that is to come; None where nothing is timed."""
        tuned: Tuned | None = kernel.__dict__.get(TUNED)
        if tuned is None or len(tuned.configs) < 2:
            return None
        back = given.keys() & {*tuned.restored, *tuned.reset}
        kept = {name: given[name].clone() for name in back}
        return cls(kernel, given, kept)

    def require_repeatable(self, traffic: Traffic, launched: Callable[[], object]) -> None:
        """Launches it again, where it stored to what it loads from: that has to change nothing.

        Raises:
            KernelFault: REJECTED, where it does.
        """
        memory = {name: one.untyped_storage().data_ptr() for name, one in self.given.items()}
        done = {(memory.get(site.array), site.direction) for site in traffic.sites}
        in_place = [
            name for name, place in memory.items()
            if {(place, "load"), (place, "store")} <= done and name not in self.kept
        ]  # fmt: skip
        left = {name: self.given[name].clone() for name in in_place}
        if not in_place:
            return
        for name, tensor in self.kept.items():
            self.given[name].copy_(tensor)
        launched()
        for name, tensor in left.items():
            if not torch.equal(_bytes(tensor), _bytes(self.given[name])):
                line = code_of(self.kernel).first_line
                told = {"kernel": self.kernel.__name__, "name": name}
                raise rejected(line, "tile_tuned_in_place", **told)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).view(torch.uint8)


def _unreadable(node: ast.AST, construct: str) -> Exception:
    return rejected(node, "tile_autotune", construct=construct[:60])
