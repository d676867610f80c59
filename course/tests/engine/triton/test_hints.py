"""What a kernel tells the compiler is taken at its word: a GPU does."""

import torch
import triton
import triton.language as tl

from course.engine.faults import Outcome
from course.engine.triton.launch import launch
from course.tests.engine.triton.test_faults import fault_of


@triton.jit
def in_pairs(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    even = tl.max_contiguous(tl.multiple_of(at - at % 2, 16), 16)
    tl.store(out_ptr + at, tl.load(x_ptr + even))


@triton.jit
def copy_inside(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = tl.max_constancy(at < n, 16)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=inside, other=7.0))


@triton.jit
def wrapped(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    wrap = tl.max_contiguous(tl.multiple_of(tl.where(at < n, at, 0), BLOCK), BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + wrap), mask=at < n)


@triton.jit
def from_one_on(x_ptr, out_ptr, first, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.multiple_of(first + at, 16))
    tl.store(out_ptr + at, x)


@triton.jit
def never(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.assume(n < 0)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


@triton.jit(noinline=True)
def turn(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    base = x_ptr + at
    other = (at ^ 1) - at
    p = base + other
    tl.store(out_ptr + at, tl.load(p))


@triton.jit
def calls_another(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    same = tl.max_constancy(tl.multiple_of(at // BLOCK + tl.program_id(0), 16), BLOCK)
    base = x_ptr + same
    p = base + at
    tl.store(out_ptr + at, tl.load(p))
    tl.debug_barrier()
    turn(x_ptr, out_ptr, BLOCK)


def test_what_is_known_of_a_kernel_s_values_is_not_taken_for_a_called_function_s():
    x, out = torch.arange(512.0), torch.zeros(512)
    launch(calls_another, (x, out), (1,), {"BLOCK": 512})
    assert torch.equal(out, x.view(-1, 2).flip(1).ravel())


def test_a_lane_takes_what_lies_behind_its_first_element():
    x, out = torch.arange(512.0), torch.zeros(512)
    launch(in_pairs, (x, out), (1,), {"BLOCK": 512})
    assert torch.equal(out, x)


def test_a_lane_goes_by_the_mask_of_its_first_element():
    x, out = torch.ones(512), torch.zeros(512)
    launch(copy_inside, (x, out, 2), (1,), {"BLOCK": 512})
    assert out.tolist() == [1.0] * 4 + [7.0] * 508


def test_a_hint_that_fails_only_where_nothing_is_used_does_no_harm():
    x, out = torch.arange(512.0), torch.zeros(512)
    launch(wrapped, (x, out, 300), (1,), {"BLOCK": 512})
    assert torch.equal(out[:300], x[:300])


def test_a_lane_that_begins_at_no_multiple_of_what_it_takes_stops_the_kernel():
    x, out = torch.zeros(600), torch.zeros(512)
    outcome, line, text = fault_of(from_one_on, (x, out, 3), BLOCK=512)
    assert (outcome, line) == (Outcome.OUT_OF_BOUNDS, 2)
    assert "in program 0 from x_ptr[3] on, which is no multiple of 4" in text


def test_what_is_assumed_and_not_so_is_a_fault():
    x = torch.zeros(512)
    outcome, line, text = fault_of(never, (x, torch.zeros(512), 512), BLOCK=512)
    assert (outcome, line) == (Outcome.WRONG_ANSWER, 2)
    assert "told to assume what is not so in program 0" in text
