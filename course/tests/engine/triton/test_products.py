"""`tl.dot` of float32: what each `input_precision` leaves of its inputs."""

import pytest
import torch
import triton
import triton.language as tl

from course.tests.engine.triton.running import both


@triton.jit
def dot(a_ptr, b_ptr, out_ptr, M: tl.constexpr, PRECISION: tl.constexpr):
    at = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    tl.store(out_ptr + at, tl.dot(a, b, input_precision=PRECISION))


@triton.jit
def dot_by_default(a_ptr, b_ptr, out_ptr, M: tl.constexpr):
    at = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    tl.store(out_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


def product(a, b, precision):
    constants = {"M": len(a), "PRECISION": precision}
    return both(dot, [a, b, torch.zeros(len(a), len(a))], close=True, **constants)[0][2]


def test_tf32_drops_the_lower_13_bits_of_the_fraction_and_is_the_default():
    a = torch.eye(16) * torch.tensor(
        [1 + 2.0**-10, 1 + 2.0**-11, -(1 + 2.0**-10 + 2.0**-11)] * 5 + [3.0]
    ).unsqueeze(1)
    cut = product(a, torch.eye(16), "tf32")
    assert cut.diagonal()[:3].tolist() == [1 + 2.0**-10, 1, -(1 + 2.0**-10)]
    (_, _, default), _ = both(dot_by_default, [a, torch.eye(16), torch.zeros(16, 16)], M=16)
    assert torch.equal(default, cut)
    assert torch.equal(product(a, torch.eye(16), "ieee"), a)


@pytest.mark.parametrize(
    ("precision", "least", "most"),
    [
        ("tf32", 1e-4, 5e-3),
        ("bf16x3", 1e-7, 1e-4),
        ("tf32x3", 0, 2e-6),
        ("bf16x6", 0, 2e-6),
        ("ieee", 0, 2e-6),
    ],
)
def test_more_pieces_keep_more_bits(precision, least, most):
    torch.manual_seed(0)
    a, b = torch.rand(32, 32), torch.rand(32, 32)
    exact = a.double() @ b.double()
    error = ((product(a, b, precision).double() - exact) / exact).abs().max().item()
    assert least <= error <= most


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_inputs_of_16_bits_lose_nothing(dtype):
    a, b = torch.randn(16, 16).to(dtype), torch.randn(16, 16).to(dtype)
    assert torch.allclose(product(a, b, "tf32"), a.float() @ b.float(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("precision", ["tf32", "tf32x3", "bf16x3", "ieee"])
def test_an_infinite_input_gives_an_infinite_sum(precision):
    a = torch.ones(16, 16)
    a[0, 3] = float("inf")
    out = product(a, torch.ones(16, 16), precision)
    assert out[0].isinf().all()
    assert torch.equal(out[1:], torch.full((15, 16), 16.0))
