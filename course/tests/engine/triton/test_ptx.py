"""Drawn kernels ask of memory, and leave in it, what the code that Triton made of them does."""

from collections import Counter
from typing import Any

import numpy as np
import torch
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

from course.engine.faults import KernelFault
from course.engine.traffic import Traffic
from course.engine.triton.compiling.compiler import to_ptx
from course.engine.triton.compiling.specialisation import source_of
from course.engine.triton.launch import launch
from course.tests.engine.simt.ptx import NotRun
from course.tests.engine.simt.ptx_run import Counted
from course.tests.engine.triton.drawn_addresses import drawn_addresses
from course.tests.engine.triton.drawn_kernels import Drawn, drawn
from course.tests.engine.triton.ptx_run import TritonLaunch
from course.tests.engine.triton.running import same_bits
from course.tests.families import few_or_many
from course.tests.written import module_of

_HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
#: By array, direction, and 'requests' or 'sectors'
Counts = Counter[tuple[str, str, str]]


def run_as_ptx(
    kernel: Any, args: list[Any], grid: tuple[int, ...], named: dict[str, Any]
) -> tuple[list[torch.Tensor], Counts, Counts]:
    """The tensors that one launch leaves, what it asks for, and how much of it may be left out.

    The hardware makes fewer sectors of an atomic whose lanes meet: those are not counted.
    """
    names = [name for name, arg in zip(kernel.arg_names, args, strict=False) if _is_tensor(arg)]
    made = to_ptx(source_of(kernel, args, named), 80)
    passed = [
        arg.numpy() if _is_tensor(arg) else arg for arg in args if _is_tensor(arg) or arg != 1
    ]
    run = TritonLaunch(made.ptx, passed, grid, made.warps, made.shared_bytes)
    run.run()
    run.written_back()

    def by_name(counted: Counted) -> Counts:
        found = {"requests": counted.requests, "sectors": counted.sectors}
        return Counter({
            (names[array], direction, what): count
            for what, counts in found.items()
            for (array, direction), count in counts.items()
            if (direction, what) != ("atomic", "sectors")
        })  # fmt: skip

    tensors = [arg for arg in args if _is_tensor(arg)]
    return tensors, by_name(run.counted), by_name(run.repeated)


def counts_of(traffic: Traffic) -> Counts:
    """What a launch asks for, as the engine counts it."""
    found: Counts = Counter()
    for site in traffic.sites:
        found[site.array, site.direction, "requests"] += site.requests
        if site.direction != "atomic":
            found[site.array, site.direction, "sectors"] += site.sectors
    return +found


def agree(kernel: Any, args: list[Any], grid: tuple[int, ...], named: dict[str, Any]) -> None:
    """One launch, in the engine and as PTX."""
    copies = [arg.clone() if _is_tensor(arg) else arg for arg in args]
    try:
        traffic = launch(kernel, args, grid, named, target=80)
        tensors, counts, repeated = run_as_ptx(kernel, copies, grid, named)
    except (KernelFault, NotRun):
        assume(False)
    found = counts_of(traffic)
    assert found.keys() == counts.keys()
    for key, count in counts.items():
        assert count - repeated[key] <= found[key] <= count, key
    own = [arg for arg in args if _is_tensor(arg)]
    assert all(same_bits(a, b) for a, b in zip(own, tensors, strict=True))


def _is_tensor(arg: Any) -> bool:
    return isinstance(arg, torch.Tensor)


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
