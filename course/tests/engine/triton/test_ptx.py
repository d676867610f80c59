"""Drawn kernels ask of memory, and leave in it, what the code that Triton made of them does."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from course.engine.faults import KernelFault, Outcome
from course.engine.triton.launch import launch
from course.tests.engine.simt.ptx import NotRun
from course.tests.engine.triton.drawn_addresses import drawn_addresses
from course.tests.engine.triton.drawn_kernels import Drawn, drawn
from course.tests.engine.triton.ptx_run import differences, run_as_ptx
from course.tests.engine.triton.running import same_bits
from course.tests.families import few_or_many
from course.tests.written import module_of

_HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


SUMS_FOR_NOTHING = """
import triton
import triton.language as tl


@triton.jit
def kernel(f, o, n):
    t = tl.arange(0, 512)
    total = tl.zeros([512], tl.float32)
    k = n
    while k > 0:
        k -= 1
        j = n
        while j > 0:
            j -= 1
            total += tl.load(f + t + j)
        tl.store(o + t, t)
"""


def agree(kernel: Any, args: list[Any], grid: tuple[int, ...], named: dict[str, Any]) -> None:
    """One launch, in the engine and as PTX."""
    copies = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    try:
        traffic = launch(kernel, args, grid, named, target=80)
        asked = run_as_ptx(kernel, copies, grid, named)
    except (KernelFault, NotRun):
        assume(False)
    assert differences(traffic, *asked) == {}
    for one, other in zip(args, copies, strict=True):
        assert not isinstance(one, torch.Tensor) or same_bits(one, other)


@few_or_many(8, 150)
def test_drawn_kernels_are_as_their_ptx(examples):
    @settings(max_examples=examples, deadline=None, suppress_health_check=_HEALTH)
    @given(st.composite(lambda draw: drawn(lambda of: draw(st.sampled_from(of)), exact=True))())
    def same(one: Drawn) -> None:
        note(one.source)
        agree(one.kernel(), one.arguments(), one.grid, {})

    same()


@few_or_many(8, 150)
def test_drawn_addresses_are_asked_for_as_in_the_ptx(examples):
    @settings(max_examples=examples, deadline=None, suppress_health_check=_HEALTH)
    @given(drawn_addresses(), st.integers(0, 99))
    def same(launched, seed):
        source, numbers = launched
        note(source)
        random = np.random.default_rng(seed)
        tensors = [
            torch.from_numpy(random.integers(-2, 3, 1 << 15)).to(dtype)
            for dtype in (torch.float32, torch.float16, torch.int8, torch.float64)
        ]
        indices = torch.from_numpy(random.integers(0, 64, 1 << 15)).int()
        given = [*tensors, indices, numbers["n"], numbers["m"]]
        options = {"num_warps": numbers["num_warps"]}
        agree(module_of("drawn", source).kernel, given, (1,), options)

    same()


def test_what_a_while_carries_for_nobody_is_not_loaded_and_may_not_be_out_of_bounds():
    kernel = module_of("sums for nothing", SUMS_FOR_NOTHING).kernel
    for_all = torch.rand(600)
    traffic = launch(kernel, [for_all, torch.zeros(512), 6], (1,), {}, target=80)
    asked = run_as_ptx(kernel, [for_all, torch.zeros(512), 6], (1,), {})
    assert {site.array for site in traffic.sites} == {"o"}
    assert differences(traffic, *asked) == {}
    with pytest.raises(KernelFault) as fault:
        launch(kernel, [torch.rand(514), torch.zeros(512), 6], (1,), {}, target=80)
    assert (fault.value.outcome, fault.value.line) == (Outcome.OUT_OF_BOUNDS, 16)
