"""Constants are worked out while a kernel is read: no giant may come of them."""

import pytest
import torch
import triton
import triton.language as tl

from course.engine.faults import KernelFault, Outcome
from course.engine.triton.compiling.compiler import to_ptx
from course.engine.triton.compiling.constants import (
    MOST_ITEMS,
    TooLargeError,
    held_small,
    require_small,
)
from course.engine.triton.compiling.specialisation import source_of
from course.engine.triton.launch import launch
from course.tests.engine.faults import raised


@triton.jit
def power(x, N: tl.constexpr):
    v: tl.constexpr = N**N**N
    tl.store(x, v)


@triton.jit
def squares(x, N: tl.constexpr):
    a: tl.constexpr = N**512
    b: tl.constexpr = a * a
    _: tl.constexpr = b * b
    tl.store(x, 1.0)


@triton.jit
def shift(x, N: tl.constexpr):
    v: tl.constexpr = 1 << (1 << 40)
    tl.store(x, v)


@triton.jit
def text(x, N: tl.constexpr):
    v: tl.constexpr = "a" * (1 << 33)
    tl.store(x, v)


@triton.jit
def items(x, N: tl.constexpr):
    v = (N, N) * 1000000000
    tl.store(x, v[0])


@triton.jit
def doubled(x, N: tl.constexpr):
    v = (N, N)
    for _ in tl.static_range(60):
        v = (v, v)
    tl.store(x, v[0])


@pytest.mark.parametrize(
    ("kernel", "line"),
    [(power, 1), (squares, 3), (shift, 1), (text, 1), (items, 1), (doubled, 3)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_giant_constant_is_refused_with_its_line(kernel, line):
    fault = raised(launch, kernel, (torch.zeros(1),), (1,), {"N": 9})
    large = (Outcome.REJECTED, "tile_large_constant")
    expected = (Outcome.DOES_NOT_COMPILE, "triton_refuses") if kernel is text else large
    assert (fault.outcome, fault.message_id) == expected
    assert fault.line == kernel.starting_line_number + 1 + line
    with pytest.raises(KernelFault) as caught:  # Triton's own compiler is held alike
        to_ptx(source_of(kernel, (torch.zeros(1),), {"N": 9}), 80)
    fault = caught.value
    assert (fault.outcome, fault.message_id) == expected
    assert fault.line == kernel.starting_line_number + 1 + line


def test_triton_s_own_constants_are_as_before_when_it_has_compiled():
    before = [dict(vars(kind)) for kind in (tl.constexpr, tl.tuple)]
    with held_small() as refused, pytest.raises(TooLargeError):
        tl.constexpr(2) ** 10_000
    assert refused == ["the number would have more than a thousand digits"]
    with pytest.raises(RuntimeError), held_small():
        raise RuntimeError
    assert [dict(vars(kind)) for kind in (tl.constexpr, tl.tuple)] == before
    assert (tl.constexpr(2) ** 10_000).value == 2**10_000


@pytest.mark.parametrize(
    ("operation", "left", "right"),
    [
        ("__pow__", 2, 100), ("__pow__", 2.5, 1000), ("__pow__", 2, -1), ("__lshift__", 1, 62),
        ("__mul__", 1 << 64, 1 << 64), ("__eq__", "relu", "relu"), ("__ne__", "relu", None),
        ("__mul__", (1, 2), 3), ("__add__", (1, 2), (3,)), ("__add__", 10**1000, 1),
    ],
)  # fmt: skip
def test_ordinary_constants_pass(operation, left, right):
    require_small(operation, left, right)


def test_a_tuple_has_a_most():
    require_small("__mul__", (1,), MOST_ITEMS)
    with pytest.raises(ValueError):
        require_small("__mul__", (1,), MOST_ITEMS + 1)
    with pytest.raises(ValueError):
        require_small("__add__", (1,) * MOST_ITEMS, (1,))
