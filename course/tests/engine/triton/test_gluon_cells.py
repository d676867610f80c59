"""Gluon in a solution cell: what is admitted, for which GPU it is compiled, and what is refused."""

import numpy as np
import pytest
from triton.experimental.gluon.language.nvidia.hopper import tma

from course.engine.faults import Outcome
from course.engine.job import Output, Run
from course.engine.triton.engine import TritonEngine
from course.tests.engine.faults import raised

SCALES = """\
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def copy_in(source, bar, buffer, row, tiles):
    for i in range(tiles):
        mbarrier.wait(bar.index(1), i & 1 ^ 1)
        mbarrier.expect(bar.index(0), source.block_type.nbytes)
        tma.async_copy_global_to_shared(source, [row, i * 64], bar.index(0), buffer)


@gluon.jit
def scale(target, bar, buffer, row, factor, tiles):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    for i in range(tiles):
        mbarrier.wait(bar.index(0), i & 1)
        buffer.store((buffer.load(layout).to(gl.float32) * factor).to(gl.float16))
        tma.async_copy_shared_to_global(target, [row, i * 64], buffer)
        tma.store_wait(0)
        mbarrier.arrive(bar.index(1), count=1)


@gluon.jit
def scale_rows(source, target, factor, tiles):
    buffer = gl.allocate_shared_memory(source.dtype, source.block_shape, source.layout)
    bar = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(2):
        mbarrier.init(bar.index(s), count=1)
    row = gl.program_id(0) * 64
    scales = (target, bar, buffer, row, factor, tiles)
    gl.warp_specialize([(scale, scales), (copy_in, (source, bar, buffer, row, tiles))], [1], [24])


def scaled(X, factor):
    Y = torch.empty_like(X)
    layout = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    source = TensorDescriptor.from_tensor(X, [64, 64], layout)
    target = TensorDescriptor.from_tensor(Y, [64, 64], layout)
    tiles = triton.cdiv(X.shape[1], 64)
    scale_rows[(triton.cdiv(X.shape[0], 64),)](source, target, factor, tiles)
    return Y
"""
if hasattr(tma, "async_store"):  # from Triton 3.8 on; 3.9 knows no other names
    SCALES = SCALES.replace("tma.async_copy_shared_to_global", "tma.async_store")
    SCALES = SCALES.replace("tma.async_copy_global_to_shared", "tma.async_load")
TRITONS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale_rows(x, y, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, at < n) * factor, at < n)


def scaled(X, factor):
    Y = torch.empty_like(X)
    scale_rows[(triton.cdiv(X.numel(), 1024),)](X, Y, factor, X.numel(), 1024)
    return Y
"""


def ran(source, target=90, shape=(70, 136)):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float16)
    run = Run(
        source, "scaled", {"X": x, "factor": 3.0}, (), (), 0, 10**6, dialect="triton",
        target=target, gluon=True, outputs=(Output("Y", shape, "float16"),),
    )  # fmt: skip
    return x, TritonEngine()(run)


def refused(source):
    return raised(ran, source)


def test_a_cell_of_gluon_is_compiled_for_the_gpu_that_its_run_names():
    x, left = ran(SCALES)
    assert np.array_equal(left.arrays["Y"], (x.astype(np.float32) * 3).astype(np.float16))
    assert {(s.array, s.direction): s.requests for s in left.traffic.sites} == {
        ("X", "load"): 6,
        ("Y", "store"): 6,
    }


def test_a_descriptor_says_its_shape_and_strides_and_is_held_to_its_tensor():
    described = "TensorDescriptor.from_tensor(X, [64, 64], layout)"
    spelled_out = "TensorDescriptor(X, {}, X.stride(), [64, 64], layout=layout)"
    x, left = ran(SCALES.replace(described, spelled_out.format("X.shape")))
    assert np.array_equal(left.arrays["Y"], (x.astype(np.float32) * 3).astype(np.float16))
    fault = refused(SCALES.replace(described, spelled_out.format("(100, 136)")))
    assert (fault.outcome, fault.message_id) == (Outcome.OUT_OF_BOUNDS, "tile_out_of_bounds")


def test_specialised_warps_need_no_thread_of_the_systems(monkeypatch):
    # behind the grader's wall none can be started
    monkeypatch.setattr("threading.Thread.start", lambda self: pytest.fail("a thread"))
    x, left = ran(SCALES)
    assert np.array_equal(left.arrays["Y"], (x.astype(np.float32) * 3).astype(np.float16))


@pytest.mark.parametrize(
    ("line", "outcome", "message"),
    [
        (
            "        mbarrier.arrive(bar.index(1), count=1)\n",
            Outcome.TIMED_OUT,
            "tile_barrier_waits",
        ),
        ("        tma.store_wait(0)\n", Outcome.RACE, "tile_shared_race"),
    ],
)
def test_a_line_that_is_missing_in_a_cell_has_its_verdict(line, outcome, message):
    fault = refused(SCALES.replace(line, ""))
    assert (fault.outcome, fault.message_id) == (outcome, message)


def test_a_box_that_another_program_stores_too_is_not_asked_about_a_mask():
    fault = refused(SCALES.replace("program_id(0) * 64", "program_id(0) * 32"))
    assert (fault.outcome, fault.message_id) == (Outcome.RACE, "tile_race")
    assert fault.fields["columns"] is None  # what lies past the end of a row is left out by itself


@pytest.mark.parametrize(
    "name",
    ["gl.inline_asm_elementwise", "gl.nvidia", "mbarrier.sync_cluster_init", "buffer._reinterpret"],
)
def test_a_name_of_gluons_that_is_not_listed_is_refused(name):
    fault = refused(SCALES.replace("bar = gl.", f"{name}(1)\n    bar = gl.", 1))
    assert fault.outcome is Outcome.REJECTED, fault.message_id


def test_a_layout_that_is_given_a_name_is_a_constant():
    fault = refused(
        SCALES.replace(
            "    bar = gl.", "    kept = gl.BlockedLayout([1], [32], [4], [0])\n    bar = gl.", 1
        )
    )
    assert (fault.outcome, fault.message_id) == (
        Outcome.DOES_NOT_COMPILE,
        "tile_layout_is_constant",
    )
    assert fault.fields["layout"] == "BlockedLayout"


def test_where_gluon_is_asked_for_tritons_own_kernel_is_refused():
    fault = refused(TRITONS)
    assert (fault.outcome, fault.message_id) == (Outcome.REJECTED, "tile_not_gluon")
    assert fault.fields["name"] == "scale_rows"


def test_sums_and_a_product_under_way_are_two_kinds_of_value():
    from course.engine.triton.compiling.complaints import refusal

    said = (
        "Loop carried variable total changed type, was <class 'tensor'> but "
        "is now <class 'gluon.language.nvidia.hopper.warpgroup_mma_accumulator'>"
    )
    assert refusal(said) == ("tile_product_under_way", {"name": "total"})


def test_a_product_under_way_is_no_block_of_numbers():
    from course.engine.triton.compiling.complaints import refusal

    said = (
        "expected 'value' to be a tensor, but got a "
        "<class 'gluon.language.nvidia.hopper.warpgroup_mma_accumulator'>"
    )
    assert refusal(said) == ("tile_product_for_numbers", {})
