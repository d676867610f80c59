"""Triton's language: each group of functions gives what torch gives, on both paths."""

from typing import Any, NamedTuple

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from course.engine.triton.launch import launch
from course.tests.engine.triton.running import both, without_block_pointers

SCALE = tl.constexpr(3.0)


@triton.jit
def unary(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    y = tl.exp(x) + tl.exp2(x) + tl.log(x + 4) + tl.log2(x + 4) + tl.sin(x) + tl.cos(x)
    y += tl.sqrt(tl.abs(x)) + tl.rsqrt(x + 4) + tl.floor(x) + tl.ceil(x) + tl.erf(x)
    y += tl.sigmoid(x) + tl.fma(x, x, x) + tl.clamp(x, -0.5, 0.5) + tl.sqrt_rn(tl.abs(x))
    y += libdevice.tanh(x) + tl.div_rn(x, x + 9) + tl.fdiv(x, x + 8)
    tl.store(out_ptr + at, y * SCALE)


def test_elementwise_functions():
    x = torch.linspace(-1, 1, 64)
    (_, out), _ = both(unary, [x, torch.zeros(64)], (4,), N=16)
    y = x.exp() + x.exp2() + (x + 4).log() + (x + 4).log2() + x.sin() + x.cos()
    y += x.abs().sqrt() + (x + 4).rsqrt() + x.floor() + x.ceil() + x.erf()
    y += x.sigmoid() + x * x + x + x.clamp(-0.5, 0.5) + x.abs().sqrt()
    y += x.tanh() + x / (x + 9) + x / (x + 8)
    assert torch.allclose(out, 3 * y, rtol=1e-5)


@triton.jit
def integers(a_ptr, b_ptr, out_ptr, unsigned_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(a_ptr + at)
    b = tl.load(b_ptr + at)
    tl.store(out_ptr + at, a // b)
    tl.store(out_ptr + N + at, a % b)
    tl.store(out_ptr + 2 * N + at, (a >> 2) ^ (b << 3) | (a & b))
    tl.store(out_ptr + 3 * N + at, tl.minimum(a, b) - tl.maximum(a, b) + ~a)
    ua = a.to(tl.uint32, bitcast=True)
    ub = b.to(tl.uint32, bitcast=True)
    tl.store(unsigned_ptr + at, (ua // ub).to(tl.int64))
    tl.store(unsigned_ptr + N + at, (ua >> 3).to(tl.int64))
    tl.store(unsigned_ptr + 2 * N + at, (ua < ub).to(tl.int64) + tl.umulhi(ua, ub).to(tl.int64))
    tl.store(
        unsigned_ptr + 3 * N + at, tl.maximum(ua, ub).to(tl.int64) + ua.to(tl.float64).to(tl.int64)
    )


def test_integer_division_shifts_and_unsigned_readings_are_as_compiled():
    a = torch.tensor([7, -7, 7, -7, -1, 2**31 - 1, -(2**31), 100], dtype=torch.int32)
    b = torch.tensor([2, 2, -2, -2, 3, -5, 7, 9], dtype=torch.int32)
    out, wide = torch.zeros(4, 8, dtype=torch.int32), torch.zeros(4, 8, dtype=torch.int64)
    (_, _, out, wide), _ = both(integers, [a, b, out, wide], N=8)
    assert torch.equal(out[0], torch.div(a, b, rounding_mode="trunc"))
    assert torch.equal(out[1], torch.fmod(a, b))
    assert torch.equal(out[2], (a >> 2) ^ (b << 3) | (a & b))
    assert torch.equal(out[3], torch.minimum(a, b) - torch.maximum(a, b) + ~a)
    ua, ub = a.long() & 0xFFFFFFFF, b.long() & 0xFFFFFFFF
    assert torch.equal(wide[0], ua // ub)
    assert torch.equal(wide[1], ua >> 3)
    high = [(int(x) * int(y)) >> 32 for x, y in zip(ua, ub, strict=True)]
    assert wide[2].tolist() == [int(x < y) + h for x, y, h in zip(ua, ub, high, strict=True)]
    assert torch.equal(wide[3], torch.maximum(ua, ub) + ua)


@triton.jit
def casts(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x.to(tl.int32).to(tl.float32))
    tl.store(out_ptr + N + at, x.to(tl.int8).to(tl.float32))
    tl.store(out_ptr + 2 * N + at, x.to(tl.float16).to(tl.float32))
    tl.store(out_ptr + 3 * N + at, x.to(tl.bfloat16).to(tl.float32))
    tl.store(out_ptr + 4 * N + at, (x > 0).to(tl.int32))
    tl.store(out_ptr + 5 * N + at, x.to(tl.int32, bitcast=True).to(tl.float32, bitcast=True))
    tl.store(out_ptr + 6 * N + at, x.to(tl.bfloat16, fp_downcast_rounding="rtz").to(tl.float32))


def test_casts():
    x = torch.tensor([1.5, -1.5, 3.7, -3.7, 100.26, 1e-3, 1.00390625, 65000.0])
    (_, out), _ = both(casts, [x, torch.zeros(7, 8)], N=8)
    assert torch.equal(out[0], x.int().float())
    assert torch.equal(out[1][:7], x[:7].to(torch.int8).float())
    assert torch.equal(out[2], x.half().float())
    assert torch.equal(out[3], x.bfloat16().float())
    assert torch.equal(out[4], (x > 0).float())
    assert torch.equal(out[5], x)
    assert out[6].tolist() == [1.5, -1.5, 3.6875, -3.6875, 100.0, 0.00099945068359375, 1.0, 64768.0]


@triton.jit
def bf16(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(out_ptr + at, x * y + x / 3 - tl.maximum(x, y) + tl.where(x > y, x, y))


def test_bfloat16_rounds_after_each_operation():
    x, y = torch.randn(64).bfloat16(), torch.randn(64).bfloat16()
    (_, _, out), _ = both(bf16, [x, y, torch.zeros_like(x)], (4,), N=16)
    third = torch.tensor(3, dtype=torch.bfloat16)
    expected = x * y + x / third - torch.maximum(x, y) + torch.where(x > y, x, y)
    assert torch.allclose(out.float(), expected.float(), atol=0.04)


@triton.jit
def add_wide(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + tl.load(x_ptr + at))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.uint8, torch.int16])
def test_each_type_of_element_is_loaded_added_and_stored(dtype):
    x = torch.arange(8).to(dtype)
    (_, out), traffic = both(add_wide, [x, torch.zeros_like(x)], N=8)
    assert torch.equal(out, x + x)
    assert traffic.loads.lane_bytes == 8 * x.element_size()  # two equal loads are one


@triton.jit
def shapes(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + tl.program_id(0) * M * N + i[:, None] * N + j[None, :])
    y = tl.reshape(tl.trans(x), (M, N)) + tl.permute(x, (1, 0)).reshape(M, N)
    y += (
        tl.broadcast_to(tl.expand_dims(i, 1), (M, N))
        + tl.zeros_like(x)
        + tl.full((M, N), 2, tl.float32)
    )
    left, right = tl.split(tl.reshape(x, (M, N // 2, 2)))
    y += tl.reshape(tl.join(right, left), (M, N)) + x.T.reshape(M, N)
    y += tl.interleave(left, right) + tl.view(x, (M, N)) + tl.ravel(x).reshape(M, N)
    tl.store(out_ptr + tl.program_id(0) * M * N + i[:, None] * N + j[None, :], y)


def test_shapes():
    x = torch.randn(3, 4, 8)
    (_, out), _ = both(shapes, [x, torch.zeros_like(x)], (3,), M=4, N=8)
    turned = x.transpose(1, 2).reshape(3, 4, 8)
    pairs = x.reshape(3, 4, 4, 2)
    swapped = pairs.flip(-1).reshape(3, 4, 8)
    expected = 3 * turned + torch.arange(4.0)[None, :, None] + 2 + swapped + 3 * x
    assert torch.allclose(out, expected, atol=1e-5)


@triton.jit
def in_any_order(x_ptr, y_ptr, out_ptr, KIND: tl.constexpr):
    at = tl.arange(0, 4)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    if KIND == "cat":
        z = tl.cat(x, y, can_reorder=True)
    elif KIND == "view":
        z = tl.view(tl.join(x, y), (8,))
    else:
        z = tl.reshape(tl.join(x, y), (8,), can_reorder=True)
    tl.store(out_ptr + tl.arange(0, 8), z)
    tl.store(out_ptr + 8, tl.sum(z))


@pytest.mark.parametrize("kind", ["cat", "view", "reshape"])
def test_what_the_compiler_may_reorder_is_not_in_the_order_that_was_hoped_for(kind):
    x, y = torch.arange(4.0), torch.arange(4.0, 8.0)
    (_, _, out), _ = both(in_any_order, [x, y, torch.zeros(9)], KIND=kind)
    hoped = torch.cat([x, y]) if kind == "cat" else torch.stack([x, y], 1).ravel()
    assert not torch.equal(out[:8], hoped)
    assert torch.equal(out[:8].sort().values, torch.arange(8.0))
    assert out[8] == 28


@triton.jit
def places_of_the_largest(x_ptr, y_ptr, out_ptr):
    at = tl.arange(0, 8)
    x = tl.load(x_ptr + at)
    both = tl.join(x, tl.load(y_ptr + at))
    tl.store(out_ptr, tl.argmax(tl.flip(x, 0), 0))
    tl.store(out_ptr + 1, tl.argmax(tl.reshape(both, (16,)), 0))


def test_the_order_that_the_compiler_gives_up_for_a_reduction_is_kept():
    x, y = torch.tensor([1.0, 5, 5, 0, 0, 0, 2, 3]), torch.tensor([7.0, 1, 9, 9, 1, 1, 1, 1])
    (_, _, out), _ = both(places_of_the_largest, [x, y, torch.zeros(2, dtype=torch.int32)])
    assert out.tolist() == [x.flip(0).argmax(), torch.stack([x, y], 1).ravel().argmax()]


@triton.jit
def sum_of_one_product(x_ptr, out_ptr):
    at = tl.program_id(0) + tl.arange(0, 1)
    tl.store(out_ptr + at, tl.sum(tl.load(x_ptr + at) * 0.5) + at)


def test_a_block_of_one_keeps_a_factor_that_all_programs_share():
    x = torch.arange(4).to(torch.float16)
    (_, out), _ = both(sum_of_one_product, [x, torch.zeros(4)], grid=(4,))
    assert out.tolist() == [0, 1.5, 3, 4.5]


@triton.jit
def reductions(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + tl.program_id(0) * M * N + i[:, None] * N + j[None, :])
    out = out_ptr + tl.program_id(0) * 16 * M + i
    tl.store(out, tl.sum(x, axis=1))
    tl.store(out + M, tl.max(x, axis=1))
    tl.store(out + 2 * M, x.min(axis=1))
    tl.store(out + 3 * M, tl.argmax(x, axis=1))
    tl.store(out + 4 * M, tl.argmin(x, axis=1))
    values, places = tl.max(x, axis=1, return_indices=True)
    tl.store(out + 5 * M, values + places)
    tl.store(out + 6 * M, tl.sum(x) + tl.max(x) * i)
    tl.store(out + 7 * M, tl.sum(tl.sum(x, axis=0, keep_dims=True), axis=1) + 0 * i)
    tl.store(out + 8 * M, tl.xor_sum((x * 100).to(tl.int32), axis=1))
    tl.store(out + 9 * M, tl.reduce(x, 1, multiply))
    tl.store(out + 10 * M, tl.sum((x > 0).to(tl.int32), axis=1))


@triton.jit
def multiply(a, b):
    return a * b


def test_reductions():
    x = torch.randn(3, 4, 8)
    out = torch.zeros(3, 16, 4)
    (_, out), _ = both(reductions, [x, out], (3,), close=True, M=4, N=8)
    top, low = x.max(2), x.min(2)
    expected = [
        x.sum(2),
        top.values,
        low.values,
        top.indices,
        low.indices,
        top.values + top.indices,
    ]
    expected.append(x.sum((1, 2))[:, None] + x.amax((1, 2))[:, None] * torch.arange(4))
    expected.append(x.sum((1, 2))[:, None].expand(3, 4))
    whole = (x * 100).int()
    folded = whole[..., 0].clone()
    for n in range(1, 8):
        folded ^= whole[..., n]
    expected += [folded, x.prod(2), (x > 0).sum(2)]
    for n, rows in enumerate(expected):
        assert torch.allclose(out[:, n], rows.float(), atol=1e-5), n


@triton.jit
def scans(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    size = N * tl.num_programs(0)
    tl.store(out_ptr + at, tl.cumsum(x))
    tl.store(out_ptr + size + at, tl.cumprod(x, axis=0))
    tl.store(out_ptr + 2 * size + at, tl.cumsum(x, axis=0, reverse=True))
    tl.store(out_ptr + 3 * size + at, tl.associative_scan(x, 0, larger))
    tl.store(out_ptr + 4 * size + at, tl.sort(x))
    tl.store(out_ptr + 5 * size + at, tl.flip(x, 0))
    tl.store(out_ptr + 6 * size + at, tl.softmax(x))
    tl.store(out_ptr + 7 * size + at, tl.gather(x, (tl.arange(0, N) * 3) % N, 0))


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


def test_scans_sort_gather_and_softmax():
    x = torch.randn(3, 16)
    (_, out), _ = both(scans, [x, torch.zeros(8, 3, 16)], (3,), close=True, N=16)
    assert torch.allclose(out[0], x.cumsum(1), atol=1e-5)
    assert torch.allclose(out[1], x.cumprod(1), atol=1e-5)
    assert torch.allclose(out[2], x.flip(1).cumsum(1).flip(1), atol=1e-5)
    assert torch.equal(out[3], x.cummax(1).values)
    assert torch.equal(out[4], x.sort(1).values)
    assert torch.equal(out[5], x.flip(1))
    assert torch.allclose(out[6], x.softmax(1))
    assert torch.equal(out[7], x[:, (torch.arange(16) * 3) % 16])


@triton.jit
def counts(x_ptr, out_ptr, N: tl.constexpr, BINS: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    tl.store(out_ptr + tl.program_id(0) * BINS + tl.arange(0, BINS), tl.histogram(x, BINS))


@triton.jit
def counts_some(x_ptr, out_ptr, n, N: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    h = tl.histogram(tl.load(x_ptr + at, at < n, other=0), BINS, mask=at < n)
    tl.atomic_add(out_ptr + tl.arange(0, BINS), h)


def test_a_histogram_counts_what_its_mask_lets_through():
    x = torch.randint(0, 8, (150,), dtype=torch.int32)
    (_, out, _), _ = both(
        counts_some, [x, torch.zeros(8, dtype=torch.int32), 150], (3,), N=64, BINS=8
    )
    assert torch.equal(out.long(), x.long().bincount(minlength=8))


def test_histogram():
    x = torch.randint(0, 8, (3, 64), dtype=torch.int32)
    (_, out), _ = both(counts, [x, torch.zeros(3, 8, dtype=torch.int32)], (3,), N=64, BINS=8)
    assert torch.equal(out.long(), torch.stack([row.bincount(minlength=8) for row in x.long()]))


def test_atomics():
    x = torch.randn(64) * 10
    sums = torch.zeros(4)
    args = [x, sums, torch.zeros(3, dtype=torch.int32), torch.zeros(2, dtype=torch.int32),
            torch.full((1,), -1e9)]  # fmt: skip
    (_, sums, top, count, float_top), traffic = both(atomics, args, (4,), close=True, N=16)
    assert torch.allclose(sums, x.reshape(-1, 4).sum(0), atol=1e-4)
    assert top.tolist() == [int(x.int().max()), int(x.int().min()), 15]
    assert count.tolist() == [4, 0 + 1 + 2 + 3]
    assert float_top.item() == x[::2].max().item()
    assert traffic.atomics.sectors > 0
    assert traffic.graded().sectors("sum_ptr", "atomic") == 4


@triton.jit
def atomics(x_ptr, sum_ptr, top_ptr, count_ptr, float_top_ptr, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.atomic_add(sum_ptr + at % 4, x)
    tl.atomic_max(top_ptr + 0 * at, x.to(tl.int32))
    place = tl.atomic_add(count_ptr, 1)
    tl.atomic_min(top_ptr + 1, tl.min(x.to(tl.int32)))
    tl.atomic_or(top_ptr + 2, 1 << tl.program_id(0), sem="relaxed")
    tl.atomic_max(float_top_ptr + 0 * at, x, mask=at % 2 == 0)
    tl.atomic_add(count_ptr + 1, place)


@triton.jit
def locked(lock_ptr, total_ptr, x_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(total_ptr, tl.load(total_ptr) + tl.load(x_ptr + tl.program_id(0)))
    tl.atomic_xchg(lock_ptr, 0)


def test_a_lock_orders_programs_and_is_no_race():
    x = torch.arange(5.0)
    (_, total, _), _ = both(locked, [torch.zeros(1, dtype=torch.int32), torch.zeros(1), x], (5,))
    assert total.item() == 10


@triton.jit
def batched_dot(a_ptr, b_ptr, out_ptr, B: tl.constexpr, M: tl.constexpr):
    n, i, j = tl.arange(0, B), tl.arange(0, M), tl.arange(0, M)
    at = n[:, None, None] * M * M + i[None, :, None] * M + j[None, None, :]
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    tl.store(out_ptr + at, tl.dot(a, b, input_precision="ieee", out_dtype=tl.float32))


def test_a_batched_dot():
    a, b = torch.randn(2, 16, 16), torch.randn(2, 16, 16)
    (_, _, out), _ = both(batched_dot, [a, b, torch.zeros_like(a)], B=2, M=16)
    assert torch.allclose(out, a @ b, atol=1e-5)


@triton.jit
def half_dot(a_ptr, b_ptr, out_ptr, M: tl.constexpr):
    at = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    tl.store(out_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


def test_a_dot_of_halves_adds_in_float32():
    a = torch.full((32, 32), 1.0, dtype=torch.float16)
    a[:, 0] = 2048.0  # in float16, 2048 + 1 is 2048
    b = torch.ones(32, 32, dtype=torch.float16)
    (_, _, out), _ = both(half_dot, [a, b, torch.zeros(32, 32)], M=32)
    assert out[0, 0].item() == 2048 + 31


@triton.jit
def block_pointers(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    target = tl.make_block_ptr(
        out_ptr, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0)
    )
    for _ in range(0, N, BN):
        x = tl.load(source, boundary_check=(0, 1), padding_option="zero")
        tl.store(target, x * 2, boundary_check=(0, 1))
        source = tl.advance(source, (0, BN))
        target = tl.advance(target, (0, BN))


@without_block_pointers
def test_block_pointers_with_boundary_checks():
    x = torch.randn(13, 21)
    (_, out, *_), _ = both(block_pointers, [x, torch.zeros_like(x), 13, 21], (4,), BM=4, BN=8)
    assert torch.equal(out, 2 * x)


@triton.jit
def descriptors(x_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BM, BN])
    for start in range(0, N, BN):
        x = source.load([tl.program_id(0) * BM, start])
        target.store([tl.program_id(0) * BM, start], x + 1)


@triton.jit
def host_descriptor(source, out_ptr, N, BM: tl.constexpr, BN: tl.constexpr):
    x = source.load([tl.program_id(0) * BM, 0])
    at = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None] * N + tl.arange(0, BN)[None, :]
    tl.store(out_ptr + at, x)


def test_descriptors_from_the_kernel_and_from_the_host():
    from triton.tools.tensor_descriptor import TensorDescriptor

    from course.engine.triton.launch import launch

    x = torch.randn(12, 24)
    args = [x, torch.zeros_like(x), 12, 24]
    (_, out, *_), traffic = both(descriptors, args, (3,), BM=4, BN=8)
    assert torch.equal(out, x + 1)
    assert not any(site.descriptor for site in traffic.sites)  # 8.0 has nothing that copies boxes
    assert traffic.graded().loads.sectors == 12 * 3
    traffic = launch(descriptors, args, (3,), {"BM": 4, "BN": 8}, target=90)
    assert torch.equal(args[1], out)
    assert all(site.descriptor for site in traffic.sites)
    assert traffic.loads.sectors == 12 * 3
    x, out = torch.randn(8, 16), torch.zeros(8, 16)
    source = TensorDescriptor.from_tensor(x, [4, 16])
    traffic = launch(host_descriptor, (source, out, 16), (2,), {"BM": 4, "BN": 16})
    assert torch.equal(out, x)
    assert traffic.graded().sectors("source", "load") == 16


@triton.jit
def helpers(x_ptr, out_ptr, flag, N: tl.constexpr, TWICE: tl.constexpr = True):
    at = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + at)
    if TWICE:
        x = double(x)
    if flag is not None:
        x += 100
    for n in tl.static_range(3):
        x = plus(x, n)
    x, y = swap(x, x * 2)
    tl.static_assert(N == 8)
    total = 0
    for n in tl.range(2, 8, 2):
        total += n
    for n in range(5, 0, -2):
        total += n
    tl.store(out_ptr + at, x - y + total)


@triton.jit
def double(x):
    return x * 2


@triton.jit
def plus(x, n: tl.constexpr):
    if n == 1:
        return x + 10
    return x + n


@triton.jit
def swap(x, y):
    return y, x


def test_helper_functions_constants_and_static_loops():
    x = torch.randn(16)
    (_, out, _), _ = both(helpers, [x, torch.zeros(16), None], (2,), N=8)
    inner = 2 * x + 12
    assert torch.allclose(out, 2 * inner - inner + (2 + 4 + 6) + (5 + 3 + 1))


@triton.jit
def numbers(out_ptr, n, big, real, yes):
    tl.store(out_ptr, n + real)
    tl.store(out_ptr + 1, big // 2)
    tl.store(out_ptr + 2, yes)
    tl.store(out_ptr + 3, tl.cdiv(n, 4) + min(n, 3) + max(n, 3) + (n if n > 5 else 2))


@triton.jit
def add_rows(out_ptr, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    place = rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)
    tl.atomic_add(
        out_ptr + place, tl.full((ROWS, COLUMNS), 2.0, tl.float32), mask=rows[:, None] < n
    )


def test_a_mask_of_one_column_serves_an_atomic_on_a_whole_tile():
    (out, _), _ = both(add_rows, [torch.zeros(4, 8), 3], (2,), ROWS=4, COLUMNS=8)
    assert out.sum(dim=1).tolist() == [32.0, 32.0, 32.0, 0.0]


def test_numbers_as_arguments():
    out = torch.zeros(4, dtype=torch.float64)
    (out, *_), _ = both(numbers, [out, 10, 2**40, 0.5, True])
    assert out.tolist() == [10.5, 2**39, 1, 3 + 3 + 10 + 10]


@triton.jit
def randoms(out_ptr, seed, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out_ptr + at, tl.rand(seed, at))


def test_random_numbers_are_those_of_philox():
    (out, _), _ = both(randoms, [torch.zeros(4096), 42], (4,), N=1024)
    assert 0 <= out.min() < 0.01 < 0.99 < out.max() < 1
    assert abs(out.mean() - 0.5) < 0.02


class Pair(NamedTuple):
    first: Any
    second: Any


@triton.jit
def swapped(pair):
    return Pair(pair.second, pair.first)


@triton.jit
def named_places(pair, out_ptr):
    at = 3 * tl.program_id(0)
    other = swapped(pair)
    again = Pair(second=other.first + 1, first=other.second)
    tl.store(out_ptr + at, other.first)
    tl.store(out_ptr + at + 1, tl.load(again.first + tl.program_id(0)))
    tl.store(out_ptr + at + 2, again.second)


def test_places_of_a_named_tuple_are_known_by_their_names():
    x, out = torch.tensor([5, 6], dtype=torch.int32), torch.zeros(6, dtype=torch.int32)
    for together in (None, 1):
        out.zero_()
        launch(named_places, [Pair(x, 7), out], (2,), together=together)
        assert out.tolist() == [7, 5, 8, 7, 6, 8]
