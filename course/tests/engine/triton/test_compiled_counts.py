"""Launches measured for a named GPU: requests and sectors are those of an H200's counters."""

import json
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

import course
from course.engine.triton.compiling.gate import lower
from course.engine.triton.compiling.lowering import ACCESSES
from course.engine.triton.compiling.specialisation import source_of
from course.engine.triton.ir import Module
from course.engine.triton.launch import launch
from course.engine.triton.running.axes import Analysis, width_of
from course.engine.triton.running.counts import mask_of
from course.engine.triton.running.values import item_bytes
from course.tests.engine.triton import cases
from course.tests.engine.triton import kernels as k

_RECORD = json.loads(
    (Path(cases.__file__).parent / "hardware" / "h200.json").read_text(encoding="utf-8")
)
RECORDED = {
    name: row
    for name, row in _RECORD["cases"].items()
    if not name.startswith(("ordered", "tile_sums"))
}
#: Triton 3.6, which the record was made with, gives the loads of k and v in `flash_backward_kv`
#: to the lanes in another layout than later versions do: as many sectors, more requests.
_ANOTHER_LAYOUT = [name for name in RECORDED if name.startswith("flash_backward_kv")]


def counted(traffic):
    return {
        "load_requests": traffic.loads.requests,
        "load_sectors": traffic.loads.sectors,
        "store_requests": traffic.stores.requests,
        "store_sectors": traffic.stores.sectors,
    }


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.family
def test_requests_and_sectors_are_those_of_the_counters_and_results_are_right(name):
    case = cases.RECORDED[name]()
    found = counted(launch(case.kernel, case.args, case.grid, case.constants, target=90))
    recorded = {key: RECORDED[name]["counts"][key] for key in found}
    if name in _ANOTHER_LAYOUT and triton.__version__ != _RECORD["provenance"]["triton"]:
        assert found.pop("load_requests") < recorded.pop("load_requests")
    assert found == recorded
    for at, expected in case.expected.items():
        torch.testing.assert_close(
            case.args[at].double(), expected.double(), rtol=2e-2, atol=case.tolerance
        )


@triton.jit
def take(x, out, N, STEP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + STEP * i, mask=i < N), mask=i < N)


@pytest.mark.parametrize(
    ("n", "step", "requests", "sectors"), [(6001, 1, 188, 3001), (6144, 2, 192, 6144)]
)
def test_narrow_and_strided_loads_ask_for_each_sector_again(n, step, requests, sectors):
    # counted on an H200 with Triton 3.6: a ragged copy, and every second element
    x, out = torch.randn(step * n), torch.empty(n)
    with course.measure(target="sm_90") as traffic:
        take[(triton.cdiv(n, 1024),)](x, out, n, step, 1024)
    assert torch.equal(out, x[::step])
    assert (traffic.loads.requests, traffic.loads.sectors) == (requests, sectors)


def test_without_a_target_it_is_the_gpu_that_checks_stand_for():
    x, out = torch.randn(6001), torch.empty(6001)
    with course.measure() as traffic:
        take[(6,)](x, out, 6001, 1, 1024)
    with course.measure(target="sm_80") as named:
        take[(6,)](x, out, 6001, 1, 1024)
    assert (traffic.loads.requests, traffic.loads.sectors) == (188, 3001)
    assert traffic == named


def test_the_table_of_what_was_measured_says_how_wide_and_for_which_gpu():
    x, out = torch.randn(6144), torch.empty(6144)
    with course.measure() as traffic:
        take[(6,)](x, out, 6144, 1, 1024)
    with course.measure(target="sm_90") as ragged:
        take[(6,)](x, out, 6001, 1, 1024)
    assert repr(traffic).splitlines() == [
        "access            requests   sectors  requested bytes  each once  a lane takes",
        "load   x                48       768           24,576        768  16 bytes",
        "store  out              48       768           24,576        768  16 bytes",
        "as Triton's compiler makes it for sm_80 (A100)",
    ]
    assert repr(ragged).splitlines()[1:] == [
        "load   x               188     3,001           96,032        751  4 of 16 bytes",
        "store  out             188     3,001           96,032        751  4 of 16 bytes",
        "as Triton's compiler makes it for sm_90 (H100, H200)",
        "less than a lane has side by side: it lies apart in memory, or a size, a stride or "
        "a start is no multiple of 16",
    ]


def test_an_inner_measure_takes_the_outer_ones_gpu():
    x, out = torch.randn(6001), torch.empty(6001)
    with course.measure(target="sm_80"), course.measure() as traffic:
        take[(6,)](x, out, 6001, 1, 1024)
    assert traffic.loads.requests == 188


def test_a_gpu_that_nobody_knows_is_refused_in_words():
    with (
        pytest.raises(course.KernelFault, match=r"'h100'` names no GPU.* sm_90 \(") as refused,
        course.measure(target="h100"),
    ):
        pass
    assert refused.value.outcome is course.Outcome.REJECTED


@triton.jit
def past_the_end(x, out, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.store(out + i, value, mask=i < N)


def test_a_load_out_of_bounds_names_line_program_and_element():
    x, out = torch.randn(6001), torch.empty(6001)
    with (
        pytest.raises(course.KernelFault, match=r"Program 5 loads from x\[6001\]") as stray,
        course.measure(target="sm_90") as traffic,
    ):
        past_the_end[(6,)](x, out, 6001, 1024)
    assert stray.value.outcome is course.Outcome.OUT_OF_BOUNDS
    assert stray.value.line == past_the_end.fn.__code__.co_firstlineno + 3
    assert traffic.loads.sectors == 0


@triton.jit
def same_place(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) + tl.program_id(0))


def test_programs_that_store_to_one_place_race():
    with pytest.raises(course.KernelFault) as race, course.measure(target="sm_90"):
        same_place[(2,)](torch.randn(64), torch.empty(64), 64)
    assert race.value.outcome is course.Outcome.RACE


@triton.jit
def uneven(x, out, turns, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid == 3:
        return
    total = tl.zeros((BLOCK,), tl.float32)
    for turn in range(tl.load(turns + pid)):
        if turn % 2 == 0:
            total += tl.load(x + turn * BLOCK + tl.arange(0, BLOCK))
        else:
            total -= 1.0
    at = 0
    while at < pid:
        total += 10.0
        at += 1
    tl.store(out + pid * BLOCK + tl.arange(0, BLOCK), total)


def test_programs_that_part_meet_again_with_their_own_values():
    x, turns = torch.randn(8, 64), torch.tensor([0, 3, 8, 5, 1], dtype=torch.int32)
    out = torch.full((5, 64), -1.0)
    with course.measure(target="sm_90") as traffic:
        uneven[(5,)](x, out, turns, 64)
    expected = torch.stack(
        [x[0:t:2].sum(0) - t // 2 + 10 * p for p, t in enumerate(turns.tolist())]
    )
    expected[3] = -1.0
    torch.testing.assert_close(out, expected, rtol=1e-6, atol=1e-5)
    blocks = sum((t + 1) // 2 for p, t in enumerate(turns.tolist()) if p != 3)
    by_line = {site.array: site.sectors for site in traffic.sites if site.direction == "load"}
    # a block of 64 floats is 8 sectors, in each of the two halves of four warps that hold it
    assert by_line == {"x": blocks * 2 * 8, "turns": 4 * 4}


@triton.jit
def not_known(x, out):
    i = tl.arange(0, 128)
    tl.store(out + i, tl.sort(tl.load(x + i)))


def test_what_the_compiler_refuses_is_told_in_its_words():
    with pytest.raises(course.KernelFault) as refused, course.measure(target="sm_90"):
        take[(1,)](torch.randn(64), torch.empty(64), 64, 1, 100)  # no power of two
    assert refused.value.outcome is course.Outcome.DOES_NOT_COMPILE


def test_a_sort_is_run_as_it_was_compiled():
    x, out = torch.randn(128), torch.empty(128)
    with course.measure(target="sm_90"):
        not_known[(1,)](x, out)
    assert torch.equal(out, x.sort().values)


def test_widths_follow_from_axes_as_the_compiler_chose_them():
    """A block of 1,024 float16 a program: 16 bytes where the size allows, 2 where it does not."""
    for n, width in ((4096, 8), (4100, 1)):
        x, y, out = (torch.randn(n).half() for _ in range(3))
        lowered = lower(source_of(k.add, (x, y, out, n), {"BLOCK": 1024}), 90)
        module = Module(lowered.text)
        analysis = Analysis(module)
        accesses = [o for o in module.operations() if o.name in ACCESSES]
        for operation, layout in zip(accesses, lowered.layouts, strict=True):
            pointers = analysis.known(operation.operands[0], operation.operand_types[0])
            mask = analysis.of(mask_of(operation) or "")
            assert item_bytes(operation.operand_types[0].scalar) == 2
            assert layout is not None
            assert width_of(layout, pointers, mask, 2) == width


@triton.jit
def one_name_twice(x, y, n):
    t = tl.arange(0, 512)
    if n > 64:
        at = t * 3 + n
        tl.store(y + at, t)
        tl.store(y + 4096 + at, t)
    at = t * 1
    j = 0
    while j < n:
        tl.store(y + 8192 + at, tl.load(x + at))
        at += 512
        j += 16


def test_values_that_do_not_see_one_another_may_have_one_name_in_the_compilers_text():
    # `%at` is the branch's, and then the loop's: only the branch's goes in steps of three
    x, y = torch.randn(2048), torch.zeros(16384)
    lowered = lower(source_of(one_name_twice, (x, y, 32), {}), 90)
    defined = []
    for operation in Module(lowered.text).entry.inside():
        blocks = [block for region in operation.regions for block in region]
        defined += [*operation.results, *(name for block in blocks for name in block.arguments)]
    assert lowered.text.count("%at: tensor") + lowered.text.count("%at = ") > 1
    assert len(set(defined)) == len(defined)
    with course.measure() as traffic:
        one_name_twice[(1,)](x, y, 32)
    assert torch.equal(y[8192 : 8192 + 1024], x[:1024])
    # two rounds of 512 float32, 16 bytes a lane: 4 requests and 64 sectors each
    assert [(site.width_bytes, site.requests, site.sectors) for site in traffic.sites] == [
        (16, 8, 128)
    ] * 2
