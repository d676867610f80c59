"""Single operations of the compiler's IR: what they compute, or by what name they are refused."""

import linecache

import pytest
import torch
import triton
import triton.language as tl

from course.engine.cell.triton import read_cell
from course.engine.faults import KernelFault, Outcome
from course.engine.triton.launch import launch
from course.tests.engine.faults import raised
from course.tests.engine.triton.running import both


@triton.jit
def single_precision(a, b, c, PRECISION: tl.constexpr):
    i = tl.arange(0, 32)
    places = i[:, None] * 32 + i[None, :]
    product = tl.dot(tl.load(a + places), tl.load(b + places), input_precision=PRECISION)
    tl.store(c + places, product)


@pytest.mark.parametrize(("precision", "bits"), [("tf32", 10), ("tf32x3", 20), ("ieee", 22)])
def test_a_product_of_float32_keeps_as_many_bits_as_it_is_asked_for(precision, bits):
    a, b, c = (torch.rand(32, 32) for _ in range(3))
    launch(single_precision, (a, b, c), (1,), {"PRECISION": precision}, target=90)
    error = ((c.double() - a.double() @ b.double()).abs() / c).max().item()
    assert 2.0 ** -(bits + 4) < error < 2.0 ** -(bits - 1)


@triton.jit
def assembled(x, out):
    i = tl.arange(0, 128)
    value = tl.inline_asm_elementwise(
        "mov.u32 $0, %smid;", "=r,r", [tl.load(x + i)], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + i, value)


def test_assembly_that_asks_for_what_is_not_here_is_refused_by_name():
    x = torch.arange(128, dtype=torch.int32)
    with pytest.raises(KernelFault, match="inline assembly that asks for %smid") as refused:
        launch(assembled, (x, torch.zeros_like(x)), (1,), {}, target=90)
    assert refused.value.outcome is Outcome.NOT_MEASURED
    # the call's first line, or until Triton 3.7 that of its last argument
    said = linecache.getline(__file__, refused.value.line)
    assert "tl.inline_asm" in said or "%smid" in said


@triton.jit
def sign_of_difference(x, y):
    if x < y:
        return -1
    elif x == y:
        return 0
    else:
        return 1


@triton.jit
def compared(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    made = tl.map_elementwise(sign_of_difference, tl.load(x_ptr + at), tl.load(y_ptr + at))
    tl.store(out_ptr + at, made)


def test_a_function_of_each_element_may_branch():
    x, y = torch.tensor([3, 1, 2, 7] * 8), torch.tensor([1, 1, 5, 7] * 8)
    out = torch.zeros(32, dtype=torch.int32)
    (_, _, out), _ = both(compared, [x, y, out], (2,), N=16)
    assert out.tolist() == [1, 0, -1, 0] * 8


CELL = """import triton
import triton.language as tl


@triton.jit
def reads(x, i):
    return tl.load(x + i)


@triton.jit
def copies(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = reads(x, i)
    tl.store(out + i, value)
"""


@pytest.mark.parametrize(("length", "line"), [(5, 7), (8, 14)])
def test_a_fault_in_a_cell_is_on_its_line_of_the_cell(length, line):
    kernel = read_cell(CELL).kernels["copies"]
    fault = raised(
        launch, kernel, (torch.zeros(length), torch.zeros(5)), (1,), {"BLOCK": 8}, target=90
    )
    assert fault.outcome is Outcome.OUT_OF_BOUNDS
    assert fault.line == line


@triton.jit
def eight_bits(x, out, KIND: tl.constexpr):
    i = tl.arange(0, 64)
    value = tl.load(x + i).to(KIND)
    tl.store(out + i, value.to(tl.float32))
    tl.store(out + 64 + i, value.to(tl.int8, bitcast=True).to(tl.float32))


@pytest.mark.parametrize(
    ("kind", "format_", "most"),
    [(tl.float8e4nv, torch.float8_e4m3fn, 448.0), (tl.float8e5, torch.float8_e5m2, 57344.0)],
)
def test_an_8_bit_float_is_the_nearest_and_no_larger_than_the_largest(kind, format_, most):
    x, out = torch.randn(64) * 50, torch.empty(128)
    x[:3] = torch.tensor([1e6, -1e6, 0.0])
    launch(eight_bits, (x, out), (1,), {"KIND": kind}, target=90)
    expected = x.clamp(-most, most).to(format_)
    assert torch.equal(out[:64], expected.float())
    assert torch.equal(out[64:], expected.view(torch.int8).float())


def test_8_bit_floats_that_a_gpu_has_no_instruction_for_are_refused_by_name():
    x, out = torch.randn(64), torch.empty(128)
    with pytest.raises(KernelFault, match="as sm_80 makes them, but as sm_90 does") as refused:
        launch(eight_bits, (x, out), (1,), {"KIND": tl.float8e5}, target=80)
    assert refused.value.outcome is Outcome.NOT_MEASURED


@triton.jit
def cut(x, half, brain):
    i = tl.arange(0, 64)
    value = tl.load(x + i)
    tl.store(half + i, value.to(tl.float16, fp_downcast_rounding="rtz"))
    tl.store(brain + i, value.to(tl.bfloat16, fp_downcast_rounding="rtz"))


def test_a_cast_towards_zero_is_no_larger_and_within_one_place():
    x = torch.randn(64) * 1000
    half, brain = torch.empty(64, dtype=torch.float16), torch.empty(64, dtype=torch.bfloat16)
    launch(cut, (x, half, brain), (1,), {}, target=90)
    for got, bits in ((half, 11), (brain, 8)):
        error = x.abs() - got.float().abs()
        assert (error >= 0).all()
        assert (error <= x.abs() * 2.0 ** (1 - bits)).all()
        assert (got.float() != x.to(got.dtype).float()).any()  # to the nearest is another


@triton.jit
def biased(a, b):
    return a + b - 1.5


@triton.jit
def reduced(x, out):
    i = tl.arange(0, 64)
    tl.store(out, tl.reduce(tl.load(x + i), 0, biased))


def test_a_combining_function_may_have_constants():
    x, out = torch.randn(64), torch.empty(1)
    launch(reduced, (x, out), (1,), {}, target=90)
    torch.testing.assert_close(out[0], x.sum() - 63 * 1.5, rtol=1e-5, atol=1e-4)


@triton.jit
def multiplied_and_added(x, y, z, out):
    tl.store(out, tl.fma(tl.load(x), tl.load(y), tl.load(z)))


def test_a_fused_multiply_add_of_bfloat16_is_rounded_once():
    # 1.5 * 129/128 is half way between two of them: what is subtracted decides
    x, y, z = (torch.tensor([v], dtype=torch.bfloat16) for v in (1.5, 129 / 128, -(2.0**-30)))
    out = torch.zeros(1, dtype=torch.bfloat16)
    launch(multiplied_and_added, (x, y, z, out), (1,))
    assert out.item() == 193 / 128


@triton.jit
def whichever_is_there(a, there_a, b, there_b):
    return tl.where(there_a != 0, a, b), there_a | there_b


@triton.jit
def first_of_all(out):
    i = tl.arange(0, 64)
    found, _ = tl.reduce((i, (i % 32 > 2).to(tl.int32)), 0, whichever_is_there)
    tl.store(out, found)


def test_a_combining_function_whose_operands_may_not_change_places_gives_no_first():
    out = torch.empty(1, dtype=torch.int32)
    launch(first_of_all, (out,), (1,), {}, target=90)
    assert out[0] == 16  # lanes with lanes that are 16 apart before their neighbours
