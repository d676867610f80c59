"""Tensor descriptors as the compiler makes them: copies by TMA on sm_90, pointers on sm_80."""

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from course.engine.faults import KernelFault, Outcome
from course.engine.triton.launch import launch
from course.tests.engine.faults import raised

BOTH = pytest.mark.parametrize("target", [80, 90])


def sites(traffic):
    return {(s.array, s.direction): (s.requests, s.sectors, s.descriptor) for s in traffic.sites}


@triton.jit
def made_here(x, out, total, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    sums = tl.make_tensor_descriptor(total, [M, N], [N, 1], [BM, BN])
    place = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    value = source.load(place)
    target.store(place, value + 1)
    sums.atomic_add(place, value)


@BOTH
def test_a_block_is_loaded_stored_and_added_within_the_tensor(target):
    x, out, total = torch.randn(100, 80).half(), torch.zeros(100, 80).half(), torch.ones(100, 80)
    total = total.half()
    traffic = launch(
        made_here, (x, out, total, 100, 80), (2, 2), {"BM": 64, "BN": 64}, target=target
    )
    assert torch.equal(out, x + 1)
    assert torch.equal(total, x + 1)
    if target == 90:  # 100 rows of 5 sectors, in four boxes
        assert sites(traffic) == {
            ("x", "load"): (4, 500, True),
            ("out", "store"): (4, 500, True),
            ("total", "atomic"): (4, 500, True),
        }


@triton.jit
def made_by_the_host(source, target, BM: tl.constexpr, BN: tl.constexpr):
    place = [tl.program_id(0) * BM, 0]
    target.store(place, source.load(place) * 2)


@BOTH
@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_the_hosts_descriptors_say_what_lies_outside(target, padding):
    x, out = torch.randn(96, 40).half(), torch.full((128, 64), 7.0).half()
    given = [
        TensorDescriptor(x, [96, 40], [40, 1], [64, 64], padding),
        TensorDescriptor(out, [128, 64], [64, 1], [64, 64]),
    ]
    launch(made_by_the_host, given, (2,), {"BM": 64, "BN": 64}, target=target)
    expected = torch.full((128, 64), 0.0 if padding == "zero" else torch.nan).half()
    expected[:96, :40] = x * 2
    torch.testing.assert_close(out, expected, rtol=0, atol=0, equal_nan=True)


@triton.jit
def product(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    APART: tl.constexpr = False,
):  # fmt: skip
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    made = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row = tl.program_id(0) * BM
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=APART):
        total += tl.dot(left.load([row, k]), right.load([k, 0]))
    made.store([row, 0], total.to(tl.float16))


@BOTH
def test_a_pipelined_product_of_descriptors_is_right(target):
    a, b, c = torch.randn(128, 200).half(), torch.randn(200, 128).half(), torch.zeros(128, 128)
    c = c.half()
    named = {"BM": 64, "BN": 128, "BK": 64}
    traffic = launch(product, (a, b, c, 128, 128, 200), (2,), named, target=target)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=2e-3, atol=2e-2)
    if target == 90:
        # a row of 200 halves in pieces of 4, 4, 4 and half a sector; two boxes of 64 columns of b
        assert sites(traffic)["a", "load"] == (8, 128 * 13 + 64 * 3, True)
        assert sites(traffic)["b", "load"] == (16, 2 * 200 * 8, True)


@pytest.mark.parametrize("target", [90, 100])
def test_warps_that_triton_specialises_ask_for_the_same_sectors(target):
    a, b = torch.randn(256, 320).half(), torch.randn(320, 128).half()
    counts = []
    for apart in (False, True):
        c = torch.zeros(256, 128).half()
        sizes = {"BM": 128, "BN": 128, "BK": 64, "APART": apart}
        traffic = launch(product, (a, b, c, 256, 128, 320), (2,), sizes, target=target)
        torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-3, atol=2e-2)
        # for sm_90 two groups of warps share a tile: half of it is a box, and a request
        counts.append({site: sectors for site, (_, sectors, _) in sites(traffic).items()})
    assert counts[0] == counts[1]


@triton.jit
def weighted(a, b, c, weight, M, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, BK], [BK, 1], [BM, BK])
    made = tl.make_tensor_descriptor(c, [M, BN], [BN, 1], [BM, BN])
    right = tl.make_tensor_descriptor(b, [BK, BN], [BN, 1], [BK, BN]).load([0, 0])
    for row in tl.range(0, M, BM, warp_specialize=True, num_stages=2):
        product = tl.dot(left.load([row, 0]), right)
        made.store([row, 0], product * tl.load(weight).to(tl.float32))


def test_a_whole_number_that_a_specialised_loop_loads_is_no_barrier():
    a, b, c = torch.randn(512, 64).half(), torch.randn(64, 128).half(), torch.zeros(512, 128)
    launch(weighted, (a, b, c, torch.tensor([-3]), 512, 128, 128, 64), (1,), target=100)
    torch.testing.assert_close(c.double(), a.double() @ b.double() * -3, rtol=1e-3, atol=1e-2)


@triton.jit
def halves(a, b, c, M, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, BN], [BN, 1], [BK, BN])
    made = tl.make_tensor_descriptor(c, [M, BN], [BN, 1], [BM, BN // 2])
    for row in tl.range(0, M, BM, flatten=True, warp_specialize=True):
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            total = tl.dot(left.load([row, k]), right.load([k, 0]), total)
        first, second = total.reshape(BM, 2, BN // 2).permute(0, 2, 1).split()
        made.store([row, 0], first.to(tl.float16))
        made.store([row, BN // 2], second.to(tl.float16))


def test_half_of_a_tile_is_stored_at_a_time_from_tensor_memory():
    a, b, c = torch.randn(512, 128).half(), torch.randn(128, 128).half(), torch.zeros(512, 128)
    c = c.half()
    launch(halves, (a, b, c, 512, 128, 128, 128, 64), (1,), target=100)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=2e-3, atol=2e-2)


@triton.jit
def picked(x, out, M, N, BN: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, [M, N], [N, 1], [1, BN])
    lanes = tl.arange(0, 32)
    value = rows.gather(lanes * 2, 0)
    tl.store(out + lanes[:, None] * BN + tl.arange(0, BN)[None, :], value)
    rows.scatter(value + 1, lanes * 2 + 1, 0)


@BOTH
def test_rows_are_gathered_and_scattered_by_number(target):
    x, out = torch.randn(64, 64).half(), torch.zeros(32, 64).half()
    before = x.clone()
    traffic = launch(picked, (x, out, 64, 64), (1,), {"BN": 64}, target=target)
    assert torch.equal(out, before[::2])
    assert torch.equal(x[1::2], before[::2] + 1)
    if target == 90:  # four rows at a time
        assert sites(traffic)["x", "load"] == (8, 32 * 4, True)


def test_rows_that_tma_cannot_take_are_refused():
    x = torch.randn(64, 37).half()
    with pytest.raises(KernelFault, match="row stride of 37 elements") as refused:
        launch(
            made_here, (x, x.clone(), x.clone(), 64, 37), (1, 1), {"BM": 64, "BN": 64}, target=90
        )
    assert refused.value.outcome is Outcome.OUT_OF_BOUNDS


@triton.jit
def copies(x, out, r, c, BM: tl.constexpr, BN: tl.constexpr, WHAT: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [64, 256], [256, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [64, 256], [256, 1], [BM, BN])
    if WHAT == "load":
        target.store([0, 0], source.load([r, c]))
    elif WHAT == "store":
        target.store([r, c], source.load([0, 0]))
    else:
        target.atomic_add([r, c], source.load([0, 0]))


#: Which boxes an H200 takes (Triton 3.6.0, 2026-11-25), whoever made the descriptor; of the others
#: it says "an illegal instruction was encountered".
TAKEN = [
    ("load", "int8", (0, 16), (8, 32)),
    ("load", "float16", (0, 304), (8, 32)),
    ("load", "float16", (-3, 0), (8, 32)),
    ("load", "float16", (0, -8), (8, 32)),
    ("load", "float16", (70, 0), (8, 32)),
    ("store", "float16", (0, 304), (8, 32)),
    ("store", "float16", (70, 0), (8, 32)),
    ("add", "float16", (0, 8), (8, 32)),
]
NOT_TAKEN = [
    ("load", "float16", (0, 4), (8, 32)),
    ("load", "float16", (0, -4), (8, 32)),
    ("load", "float16", (0, 4), (1, 256)),
    ("load", "float16", (0, 12), (16, 64)),
    ("load", "float16", (0, 300), (8, 32)),
    ("load", "float32", (0, 1), (8, 32)),
    ("load", "int8", (0, 8), (8, 32)),
    ("store", "float16", (0, 4), (1, 256)),
    ("store", "float16", (0, 300), (8, 32)),
    ("store", "float16", (-3, 0), (8, 32)),
    ("store", "float16", (-8, 0), (8, 32)),
    ("store", "float16", (0, -32), (8, 32)),
    ("add", "float16", (0, 4), (8, 32)),
    ("add", "float16", (-3, 0), (8, 32)),
]


def copied(what, dtype, at, box, target):
    x = torch.ones((64, 256), dtype=getattr(torch, dtype))
    launch(copies, (x, torch.zeros_like(x), *at, *box, what), (1,), {}, target=target)


@pytest.mark.parametrize(("what", "dtype", "at", "box"), TAKEN)
def test_a_box_may_begin_where_the_hardware_takes_it(what, dtype, at, box):
    copied(what, dtype, at, box, 90)


@pytest.mark.parametrize(("what", "dtype", "at", "box"), NOT_TAKEN)
@pytest.mark.family
def test_a_box_that_the_hardware_does_not_take_is_a_fault_where_it_copies(what, dtype, at, box):
    fault = raised(copied, what, dtype, at, box, 90)
    assert fault.outcome is Outcome.OUT_OF_BOUNDS
    step = 16 // torch.empty(0, dtype=getattr(torch, dtype)).itemsize
    assert fault.message_id == ("tile_box_apart" if at[1] % step else "tile_box_before")
    assert fault.fields["index"] == at
    copied(what, dtype, at, box, 80)  # through pointers


@triton.jit
def of_batches(source, target, BM: tl.constexpr, BN: tl.constexpr):
    block = source.load([tl.program_id(0), 8, 0]).reshape(BM, BN)
    target.store([tl.program_id(0), 0, 0], (block * 2).reshape(1, BM, BN))


@BOTH
def test_a_box_may_have_one_element_along_an_axis_that_its_buffer_leaves_out(target):
    x, out = torch.randn(3, 40, 32).half(), torch.zeros(3, 32, 32).half()
    given = [TensorDescriptor.from_tensor(tensor, [1, 32, 32]) for tensor in (x, out)]
    launch(of_batches, given, (3,), {"BM": 32, "BN": 32}, target=target)
    assert torch.equal(out, x[:, 8:] * 2)
