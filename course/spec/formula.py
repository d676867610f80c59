"""Small arithmetic on names, evaluated from its syntax tree and never executed.

Budgets, shapes and launches are written as formulas, so that the text a learner reads is the
number that is enforced. Answers of numeric exercises are evaluated by the same function.
"""

from __future__ import annotations

import ast
import math
from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from course.plain.arithmetic import CONSTANTS, FUNCTIONS, NoValue, is_number, tried
from course.plain.evaluator import Evaluator, Ref

Number = int | float | bool

#: An answer that is larger than this is a slip, not a number. A float holds it in any unit.
LARGEST_RESULT = 2.0**900
NOT_FINITE = "its value is not a finite number"
#: Of all formulas of a cell: the longest of the course has some 300.
MOST_STEPS = 40_000
#: A formula knows the functions of `math` without their module, and the modules by these names.
_KNOWN: dict[str, Any] = {
    **{path.rpartition(".")[2]: Ref(path) for path in FUNCTIONS if path.startswith("math.")},
    **{path.rpartition(".")[2]: Ref(path) for path in FUNCTIONS if path.startswith("triton.")},
    **{name: Ref(name) for name in FUNCTIONS if "." not in name},
    "math": Ref("math"),
    "np": Ref("np"),
    "numpy": Ref("np"),
    "triton": Ref("triton"),
    "pi": CONSTANTS["math.pi"],
    "inf": CONSTANTS["math.inf"],
}


def cdiv(a: int, b: int) -> int:
    """a / b rounded up, for whole numbers: `cdiv(20000, 256)` is 79."""
    return -(-a // b)


def next_power_of_2(a: int) -> int:
    """The least power of two that is not below a: `next_power_of_2(1000)` is 1024."""
    return 1 << max(0, int(a) - 1).bit_length()


class FormulaError(ValueError):
    """A formula that is no arithmetic: the sentence names the construct."""


class _Formula(Evaluator):
    def called(
        self, node: ast.Call, function: Any, arguments: list[Any], named: dict[str, Any]
    ) -> Any:
        if not callable(function):
            raise NoValue(f"`{ast.unparse(node.func)[:60]}` is no function of a formula")
        return self.tried(node, lambda: tried(function, *arguments))


@lru_cache(1 << 10)
def _tree(text: str) -> ast.expr:
    """A formula as it is walked; a check asks for each some ten times a case."""
    return ast.parse(text.strip(), mode="eval").body


class Formulas:
    """The formulas of one text: what all of them take to work out is bounded together."""

    def __init__(self) -> None:
        self.steps = 0

    @property
    def spent(self) -> bool:
        """Whether none of them will be worked out any more."""
        return self.steps >= MOST_STEPS

    def evaluate(
        self,
        text: str | ast.expr,
        names: Mapping[str, Number] | None = None,
        functions: Mapping[str, Callable[..., Number]] | None = None,
        endless: bool = False,
    ) -> Number:
        """See `evaluate`; an `endless` one may be infinite."""
        formula = _Formula(ChainMap(dict(names or {}), dict(functions or {}), _KNOWN))
        formula.step_limit = min(formula.step_limit, max(0, MOST_STEPS - self.steps))
        try:
            tree = _tree(text) if isinstance(text, str) else text
            result = formula.value(tree)
        except SyntaxError as error:
            raise FormulaError(f"{text!r} is not an expression") from error
        except NoValue as error:
            raise FormulaError(str(error)) from error
        except RecursionError as error:
            raise FormulaError("it is nested too deeply") from error
        finally:
            self.steps += formula.steps
        if isinstance(result, np.generic):
            result = result.item()
        if not is_number(result) or not abs(result) <= LARGEST_RESULT:
            if not (endless and result in (math.inf, -math.inf)):
                raise FormulaError(NOT_FINITE)
        return result


def evaluate(
    text: str | ast.expr,
    names: Mapping[str, Number] | None = None,
    functions: Mapping[str, Callable[..., Number]] | None = None,
) -> Number:
    """The value of an arithmetic expression over numbers, `names` and `functions`.

    Raises:
        FormulaError: for anything but arithmetic on numbers by listed functions, or for a result
            that is no finite number.
    """
    if functions is None and isinstance(text, str):
        return _known(text, tuple((n, type(value), value) for n, value in (names or {}).items()))
    return Formulas().evaluate(text, names, functions)


@lru_cache(1 << 12)
def _known(text: str, names: tuple[tuple[str, type, Number], ...]) -> Number:
    """A check asks for a shape and a grid of the same sizes again and again."""
    return Formulas().evaluate(text, {name: value for name, _, value in names})
