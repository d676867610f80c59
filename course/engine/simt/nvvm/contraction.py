"""Sums that take a product in: the compiler makes one fused multiply-add of the two.

What NVVM and ptxas were seen to do (`tests/hardware/contraction.json`, from an H200): a product
that sums and differences of its own block of code alone use is contracted with each of them, and
never rounded; with any other use beside, it is rounded once and for all. A product that is read
once moves to where it is read; into a loop only a value times one number does. Equal products of
one value are one product, and what a choice or a join of two paths gives is none.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from course.engine.rounding import multiply_add
from course.engine.simt.lowering.expr import UNKNOWN, Expr, converted
from course.engine.simt.running.lanes import Lanes

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

Factors = Callable[[Lanes], tuple[np.ndarray, np.ndarray]]
#: a place in the source, as often as functions and calls write it out
Site = tuple[int, int, int, int, int]
#: stands for a use that is no sum
_NOWHERE: Site = (-1, 0, 0, 0, 0)


@dataclass
class Uses:
    """Where the source uses one product, and which of the uses are sums that could take it in."""

    block: int
    loops: int
    one_number: bool
    sites: set[Site] = field(default_factory=set)
    #: whether the sum stands in the product's own block, and in how many loops
    sums: dict[Site, tuple[bool, int]] = field(default_factory=dict)

    @cached_property
    def contracted(self) -> bool:
        """Whether the compiler takes the product into its sums; asked once all is lowered."""
        if not self.sites or not self.sites <= self.sums.keys():
            return False
        if all(home for home, _ in self.sums.values()):
            return True
        if len(self.sites) > 1:
            return False
        return self.one_number or all(loops <= self.loops for _, loops in self.sums.values())


@dataclass(frozen=True)
class Product:
    """What an expression is the product of: its two factors' lanes, and who else uses it."""

    factors: Factors
    uses: Uses
    site: Site
    #: the variable beside a name that keeps the factors; none where they are computed at once
    holder: str | None = None

    def negated(self) -> Product:
        """Of the expression with the other sign."""

        def factors(lanes: Lanes) -> tuple[np.ndarray, np.ndarray]:
            x, y = self.factors(lanes)
            return -x, y

        return replace(self, factors=factors)


def _site(low: Lowering, node: ast.expr) -> Site:
    end = node.end_col_offset or 0
    return low.frame.instance, node.lineno, node.col_offset, node.end_lineno or 0, end


def of_product(low: Lowering, node: ast.expr, value: Expr, left: Expr, right: Expr) -> Expr:
    """A product of floats, which remembers its factors."""
    x, y = (converted(side, value.type) for side in (left, right))
    first, second = x.run, y.run
    numbers = any(side.const is not UNKNOWN or _is_argument(side.key) for side in (left, right))
    return with_factors(low, node, value, lambda lanes: (first(lanes), second(lanes)), numbers)


def with_factors(
    low: Lowering, node: ast.expr, value: Expr, factors: Factors, one_number: bool = False
) -> Expr:
    """A value that is the product of what `factors` gives."""
    if value.type not in (types.float32, types.float64) or value.const is not UNKNOWN:
        return value
    key = _either_way(value.key)
    uses = low.products.get(key) if key is not None else None
    if uses is None:
        uses = Uses(low.straight, len(low.loop_nodes), one_number)
        if key is not None:
            low.products[key] = uses
    site = _site(low, node)
    uses.sites.add(site)
    return replace(value, product=Product(factors, uses, site))


def _either_way(key: Any) -> Any:
    """A product's key, whichever factor stands first."""
    if not isinstance(key, tuple) or len(key) != 3:
        return key
    return (key[0], *sorted(key[1:], key=repr))


def _is_argument(key: Any) -> bool:
    while isinstance(key, tuple) and key and isinstance(key[0], tuple) and key[0][0] == "as":
        key = key[1]
    return isinstance(key, tuple) and bool(key) and key[0] == "argument"


def of_sum(low: Lowering, function: Any, value: Expr, left: Expr, right: Expr) -> Expr:
    """A sum or difference, of one rounding where it takes in a product."""
    sides = [side.product if side.type == value.type else None for side in (left, right)]
    first, second = sides
    if sides == [None, None] or value.const is not UNKNOWN:
        return value
    if first is not None and second is not None and first.uses is second.uses:
        return value  # p - p: used in two places of one sum, the product is rounded
    for product in (first, second):
        if product is not None:
            home = product.uses.block == low.straight
            product.uses.sums[product.site] = (home, len(low.loop_nodes))
    plain = value.run
    x, y = (converted(side, value.type).run for side in (left, right))
    minus = function is operator.sub

    def run(lanes: Lanes) -> Any:
        if first is not None and first.uses.contracted:
            a, b = first.factors(lanes)
            c = y(lanes)
            return multiply_add(a, b, -c if minus else c)
        if second is not None and second.uses.contracted:
            c = x(lanes)
            a, b = second.factors(lanes)
            return multiply_add(-a if minus else a, b, c)
        return plain(lanes)

    return replace(value, run=run)


def kept(low: Lowering, value: Expr) -> Expr:
    """A value that gets a name: its factors are kept beside it, and whoever reads it uses it."""
    product: Product | None = value.product
    if product is None:
        return value
    low.instances += 1
    holder, run = f"%product.{low.instances}", value.run
    factors, uses = product.factors, product.uses
    uses.sites.discard(product.site)

    def keep(lanes: Lanes) -> Any:
        if not uses.contracted:
            return run(lanes)
        x, y = lanes.vars[holder] = factors(lanes)
        return x * y

    held = Product(lambda lanes: lanes.vars[holder], uses, product.site, holder)
    return replace(value, run=keep, product=held)


def read(low: Lowering, node: ast.expr, binding: Expr) -> Expr:
    """A name that is read: one more use of the product that it stands for."""
    product: Product | None = binding.product
    if product is None:
        return binding
    site = _site(low, node)
    product.uses.sites.add(site)
    return replace(binding, product=replace(product, site=site))


def handed_on(holder: str) -> Callable[[Lanes], Any]:
    """The factors of an argument, read where the call stands; none where nobody asks for them."""
    return lambda lanes: lanes.vars.get(holder)


def returned(low: Lowering, node: ast.expr, call: Expr, values: list[Expr | None]) -> Expr:
    """What a device function gives: the product that its only `return` has, or no product."""
    products = [value.product for value in values if value is not None and value.product]
    if len(values) == 1 and products and call.type == values[0].type:  # type: ignore[union-attr]
        site, run, factors = _site(low, node), call.run, products[0].factors
        products[0].uses.sites.add(site)

        def of_call(lanes: Lanes) -> tuple[np.ndarray, np.ndarray]:
            run(lanes)
            return factors(lanes)

        return replace(call, product=Product(of_call, products[0].uses, site))
    for product in products:
        product.uses.sites.add(_NOWHERE)
    return call
