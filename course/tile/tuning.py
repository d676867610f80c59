"""`@triton.autotune` above a cell's kernel: read as data, and the first configuration is taken.

On a GPU Triton times each configuration and keeps the fastest. A check has nothing to time, and
the engine's counts differ from block to block: so it takes the first, as a direct launch without
a GPU does. What computes configurations is not read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from course.faults import KernelFault, Outcome
from course.tile.functions import code_of, names_used
from course.tile.launcher.calls import OPTIONS
from course.tile.launcher.names import rejected, text

#: Where a kernel of a cell keeps what its first configuration sets.
TUNED = "_course_tuned"

#: The path of a name (`triton.Config`), and the value of a constant expression.
PathOf = Callable[[ast.expr], str]
ConstantOf = Callable[[ast.expr], Any]


def first_configuration(
    kernel: ast.FunctionDef, decorator: ast.Call, path_of: PathOf, constant_of: ConstantOf
) -> tuple[bool, dict[str, Any]]:
    """(whether there are several, the first one's constants and options); all of them are read.

    Raises:
        KernelFault: REJECTED, where something is not written out as data.
    """
    given = dict(zip(("configs", "key"), decorator.args, strict=False))
    named = {keyword.arg or "**": keyword.value for keyword in decorator.keywords}
    for name in named:
        if name not in ("configs", "key") or name in given:
            raise _refused(named[name], f"{name}={text(named[name])}")
    configs, key = (given | named).get("configs"), (given | named).get("key")
    if len(decorator.args) > 2 or not isinstance(configs, ast.List | ast.Tuple) or not configs.elts:
        raise _refused(decorator, text(configs or decorator))
    if not isinstance(key, ast.List | ast.Tuple) or not all(_is_text(name) for name in key.elts):
        raise _refused(decorator, text(decorator) if key is None else f"key={text(key)}")
    every = [_configuration(config, path_of, constant_of) for config in configs.elts]
    parameters = [parameter.arg for parameter in kernel.args.args]
    for constants, _ in every:
        for name in constants:  # any other name could be an option of the compiler's
            if name not in parameters:
                raise KernelFault(
                    Outcome.DOES_NOT_COMPILE,
                    "tile_no_parameter",
                    decorator.lineno,
                    kernel=kernel.name,
                    name=name,
                    names=", ".join(parameters),
                )
    constants, options = every[0]
    return len(every) > 1, constants | options


def with_tuned(kernel: Any, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """A launch's arguments by name, with what autotune adds.

    Raises:
        KernelFault: DOES_NOT_COMPILE, where the launch gives one of these, too; REJECTED, where
            timing the configurations would leave sums behind.
    """
    several, tuned = kernel.__dict__.get(TUNED, (False, {}))
    if several and any(name.startswith("atomic_") for name in names_used(kernel)):
        raise KernelFault(
            Outcome.REJECTED,
            "tile_tuned_atomics",
            code_of(kernel).first_line,
            kernel=kernel.__name__,
        )
    for name in (*kernel.arg_names[: len(args)], *named):
        if name in tuned:
            raise KernelFault(
                Outcome.DOES_NOT_COMPILE,
                "tile_tuned_twice",
                None,
                name=name,
                kernel=kernel.__name__,
                wrapper="@triton.autotune",
            )
    return {**tuned, **named}


def _configuration(
    node: ast.expr, path_of: PathOf, constant_of: ConstantOf
) -> tuple[dict[str, Any], dict[str, Any]]:
    if not isinstance(node, ast.Call) or path_of(node.func) != "triton.Config":
        raise _refused(node, text(node))
    named = {keyword.arg or "**": keyword.value for keyword in node.keywords}
    constants = named.pop("kwargs", None) if not node.args else node.args[0]
    if len(node.args) > 1 or not isinstance(constants, ast.Dict) or named.keys() - OPTIONS:
        raise _refused(node, text(node))
    found: dict[str, Any] = {}
    for name, value in zip(constants.keys, constants.values, strict=True):
        if name is None or not _is_text(name):
            raise _refused(constants, text(constants))
        found[ast.literal_eval(name)] = constant_of(value)
    return found, {name: constant_of(value) for name, value in named.items()}


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _refused(node: ast.AST, construct: str) -> Exception:
    return rejected(node, "tile_autotune", construct=construct[:60])
