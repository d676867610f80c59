"""Products of 8-bit floats, and of blocks with a scale each, beside sums in float64."""

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from course.engine.triton.launch import launch

SIDE = 128
#: E2M1 by its four bits: one of sign, two of exponent, one of fraction.
FOUR_BITS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6]).double()
EIGHT_BITS = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


@triton.jit
def scaled(
    a, a_scale, b, b_scale, out, SIDE: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
    A_BYTES: tl.constexpr, B_BYTES: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    n, block = tl.arange(0, SIDE), tl.arange(0, BLOCKS)
    of_a, of_b = tl.arange(0, A_BYTES), tl.arange(0, B_BYTES)
    left = tl.load(a + n[:, None] * A_BYTES + of_a[None, :])
    right = tl.load(b + n[None, :] * B_BYTES + of_b[:, None])
    scales = n[:, None] * BLOCKS + block[None, :]
    left_scale, right_scale = tl.load(a_scale + scales), tl.load(b_scale + scales)
    product = tl.dot_scaled(left, left_scale, A, right, right_scale, B)
    tl.store(out + n[:, None] * SIDE + n[None, :], product)


def drawn(kind):
    """(SIDE, bytes) and what they mean, in float64; no infinities, no NaN."""
    if kind == "e2m1":
        both = torch.randint(0, 256, (SIDE, SIDE // 2), dtype=torch.uint8)
        halves = torch.stack((both & 15, both >> 4), -1).reshape(SIDE, SIDE)
        return both, FOUR_BITS[halves.long()]
    narrow = torch.randn(SIDE, SIDE).to(EIGHT_BITS[kind])
    return narrow.view(torch.uint8), narrow.double()


def with_scales(values, blocks, narrow=False):
    """Scales, and values times them: powers of two, or 8-bit floats."""
    if narrow:
        scales = torch.rand(SIDE, blocks).to(torch.float8_e4m3fn)
        meant = scales.double()
    else:
        scales = torch.randint(115, 140, (SIDE, blocks), dtype=torch.uint8)
        meant = 2.0 ** (scales.double() - 127)
    return scales, values * meant.repeat_interleave(SIDE // blocks, 1)


@pytest.mark.parametrize(
    ("target", "left", "right", "narrow"),
    [
        (90, "e4m3", "e5m2", False), (90, "e2m1", "e2m1", False), (100, "e4m3", "e4m3", False),
        (100, "e2m1", "e2m1", False), (100, "e5m2", "e2m1", False), (100, "e2m1", "e2m1", True),
    ],
)  # fmt: skip
def test_each_block_is_multiplied_by_its_scale(target, left, right, narrow):
    blocks = SIDE // (16 if narrow else 32)
    (a, a_meant), (b, b_meant) = drawn(left), drawn(right)
    a_scale, a_meant = with_scales(a_meant, blocks, narrow)
    b_scale, b_meant = with_scales(b_meant, blocks, narrow)
    out = torch.empty(SIDE, SIDE)
    sizes = (SIDE, left, right, a.shape[1], b.shape[1], blocks)
    traffic = launch(scaled, (a, a_scale, b, b_scale, out, *sizes), (1,), target=target)
    expected = a_meant @ b_meant.T
    torch.testing.assert_close(
        out.double(), expected, rtol=1e-6, atol=float(expected.abs().max()) * 1e-7
    )
    loads = loaded(traffic)
    assert loads["a"] == a.numel() // 32
    assert loads["a_scale"] == SIDE * blocks // 32


@triton.jit
def packed(a, a_scale, b, b_scale, out, SIDE: tl.constexpr, STEPS: tl.constexpr):
    n = tl.arange(0, SIDE)
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for step in tl.range(0, STEPS, num_stages=2):
        left, right = a.load([0, step * SIDE]), b.load([0, step * SIDE])
        scales = a_scale.load([0, 0, step, 0, 0]).reshape(1, 1, 32, 4, 4)
        left_scale = scales.trans(0, 3, 2, 1, 4).reshape(SIDE, 4)
        scales = b_scale.load([0, 0, step, 0, 0]).reshape(1, 1, 32, 4, 4)
        right_scale = scales.trans(0, 3, 2, 1, 4).reshape(SIDE, 4)
        total = tl.dot_scaled(left, left_scale, "e4m3", right.T, right_scale, "e4m3", total)
    tl.store(out + n[:, None] * SIDE + n[None, :], total)


def test_scales_go_from_shared_memory_as_they_are_packed_there():
    steps, out = 2, torch.empty(SIDE, SIDE)

    def operand():
        halves = [drawn("e4m3") for _ in range(steps)]
        scaled_halves = [with_scales(meant, 4) for _, meant in halves]
        # row 32 j + r and column 4 k + q of the scales lie at [k, r, j, q]
        scales = torch.stack([one.reshape(4, 32, 4).transpose(0, 1) for one, _ in scaled_halves])
        return (
            TensorDescriptor.from_tensor(
                torch.cat([one for one, _ in halves], 1).view(torch.float8_e4m3fn), [SIDE, SIDE]
            ),
            TensorDescriptor.from_tensor(
                scales.reshape(1, 1, steps, 2, 256).contiguous(), [1, 1, 1, 2, 256]
            ),
            torch.cat([meant for _, meant in scaled_halves], 1),
        )

    (a, a_scale, a_meant), (b, b_scale, b_meant) = operand(), operand()
    traffic = launch(packed, (a, a_scale, b, b_scale, out, SIDE, steps), (1,), target=100)
    expected = a_meant @ b_meant.T
    largest = float(expected.abs().max())
    torch.testing.assert_close(out.double(), expected, rtol=1e-6, atol=largest * 1e-6)
    assert loaded(traffic)["a_scale"] == steps * 512 // 32


@pytest.mark.parametrize("target", [90, 100])
def test_a_scale_of_255_is_no_number(target):
    a, _ = drawn("e2m1")
    scales = torch.full((SIDE, 4), 127, dtype=torch.uint8)
    bad = scales.clone()
    bad[3, 1] = 255
    out = torch.empty(SIDE, SIDE)
    sizes = (SIDE, "e2m1", "e2m1", SIDE // 2, SIDE // 2, 4)
    launch(scaled, (a, bad, a, scales, out, *sizes), (1,), target=target)
    assert out.isnan().sum() == out[3].isnan().sum() == SIDE


def loaded(traffic):
    """Sectors that loads ask for, by array."""
    return {site.array: site.sectors for site in traffic.sites if site.direction == "load"}


@triton.jit
def product(a, b, out, copied, SIDE: tl.constexpr):
    n = tl.arange(0, SIDE)
    place = n[:, None] * SIDE + n[None, :]
    left = tl.load(a + place)
    tl.store(copied + place, left)
    tl.store(out + place, tl.dot(left, tl.load(b + place)))


@pytest.mark.parametrize("target", [90, 100])
@pytest.mark.parametrize("dtype", EIGHT_BITS.values())
def test_tensors_of_eight_bit_floats_are_multiplied(target, dtype):
    a, b = (torch.randn(SIDE, SIDE).to(dtype) for _ in range(2))
    a.view(torch.uint8)[0, 0] = 0x7F  # NaN in both formats
    out, copied = torch.empty(SIDE, SIDE), torch.zeros(SIDE, SIDE).to(dtype)
    traffic = launch(product, (a, b, out, copied, SIDE), (1,), target=target)
    torch.testing.assert_close(
        out.double(), a.double() @ b.double(), rtol=1e-5, atol=1e-4, equal_nan=True
    )
    torch.testing.assert_close(copied.double(), a.double(), rtol=0, atol=0, equal_nan=True)
    assert loaded(traffic)["a"] == SIDE * SIDE // 32
