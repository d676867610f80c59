"""Reductions, scans, sorts and searches give what NumPy gives."""

import math

import numpy as np
import pytest

import course  # noqa: F401  # kernels run without a GPU

from . import students_parallel as k

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("n", [1, 100, 256])
@pytest.mark.parametrize("kernel", [k.reduce_interleaved])
def test_a_tree_reduction_a_block(kernel, n):
    a = RNG.integers(0, 100, n).astype(np.float32)
    out = np.zeros(4, np.float32)
    kernel[4, k.TPB](a, out)
    padded = np.pad(a, (0, 256 - n)).reshape(4, 64)
    np.testing.assert_array_equal(out, padded.sum(1))


@pytest.mark.parametrize("n", [1, 100, 1000])
@pytest.mark.parametrize("kernel", [k.reduce_halving, k.reduce_shuffles])
def test_a_reduction_over_a_grid_stride(kernel, n):
    a = RNG.integers(0, 100, n).astype(np.float32)
    out = np.zeros(1, np.float32)
    kernel[3, k.TPB](a, out)
    assert out[0] == a.sum()


def test_maximum_with_its_index():
    a = RNG.permutation(150).astype(np.float32)
    best, where = np.zeros(3, np.float32), np.zeros(3, np.int32)
    k.argmax_blocks[3, k.TPB](a, best, where)
    blocks = [a[s : s + 64] for s in (0, 64, 128)]
    assert best.tolist() == [b.max() for b in blocks]
    assert where.tolist() == [b.argmax() + 64 * n for n, b in enumerate(blocks)]


def test_histogram_with_private_copies():
    data, bins = RNG.integers(0, 1000, 500), np.zeros(k.BINS, np.int32)
    k.histogram_private[3, 32](data, bins)
    np.testing.assert_array_equal(bins, np.bincount(data % k.BINS, minlength=k.BINS))


def test_histogram_of_floats():
    x, out = RNG.random(300), np.zeros(10, np.int32)
    k.histogram_floats[2, 64](x, 0.0, 1.0, out)
    np.testing.assert_array_equal(out, np.histogram(x, 10, (0, 1))[0])


def test_scans():
    a = RNG.integers(0, 50, 60)
    out = np.zeros(60, np.float32)
    k.scan_double_buffered[1, k.TPB](a.astype(np.float32), out)
    np.testing.assert_array_equal(out, np.cumsum(a))
    a = RNG.integers(0, 50, 128).astype(np.int32)
    out = np.zeros(128, np.int32)
    k.scan_blelloch[1, k.TPB](a, out)
    np.testing.assert_array_equal(out, np.cumsum(a) - a)
    k.scan_of_warp[2, 64](a, out)
    np.testing.assert_array_equal(out.reshape(4, 32), np.cumsum(a.reshape(4, 32), 1))


def test_compaction_by_an_atomic_and_by_ballots():
    a = RNG.integers(-5, 6, 128)
    out, count = np.zeros(128, np.int64), np.zeros(1, np.int32)
    k.compact[2, 64](a, out, count)
    assert count[0] == (a > 0).sum()
    np.testing.assert_array_equal(np.sort(out[: count[0]]), np.sort(a[a > 0]))
    out, counts = np.zeros(128, np.int64), np.zeros(4, np.int32)
    k.compact_by_ballot[2, 64](a, out, counts)
    for warp in range(4):
        part = a[32 * warp : 32 * warp + 32]
        part = part[part > 0]
        assert counts[warp] == len(part)
        np.testing.assert_array_equal(out[32 * warp : 32 * warp + len(part)], part)


def test_sorts():
    a = RNG.permutation(128).astype(np.float64)
    size = 2
    while size <= 128:
        j = size // 2
        while j:
            k.bitonic_step[4, 32](a, j, size)
            j //= 2
        size *= 2
    np.testing.assert_array_equal(a, np.arange(128))
    a = RNG.permutation(k.N_SORT)
    k.bitonic_shared[1, k.N_SORT](a)
    np.testing.assert_array_equal(a, np.arange(k.N_SORT))
    a = RNG.permutation(50)
    k.odd_even[1, 32](a)
    np.testing.assert_array_equal(a, np.arange(50))
    a = RNG.integers(0, 9, 70)
    out = np.full(70, -1)
    k.rank_sort[2, 64](a, out)
    np.testing.assert_array_equal(out, np.sort(a))


def test_binary_search_of_every_thread():
    a = np.arange(0, 200, 2)
    wanted, found = RNG.integers(0, 200, 90), np.zeros(90, np.int64)
    k.binary_search[3, 32](a, wanted, found)
    np.testing.assert_array_equal(found, np.where(wanted % 2 == 0, wanted // 2, -1))


def test_random_numbers_in_32_bits():
    states = RNG.integers(1, 2**32, 40, dtype=np.uint32)
    wanted, out = states.copy(), np.zeros(40)
    for _ in range(5):
        wanted ^= wanted << np.uint32(13)
        wanted ^= wanted >> np.uint32(17)
        wanted ^= wanted << np.uint32(5)
    k.xorshift[2, 32](states, out, 5)
    np.testing.assert_array_equal(states, wanted)
    np.testing.assert_array_equal(out, wanted / 4294967296.0)
    wanted = states * np.uint32(1664525) + np.uint32(1013904223)
    k.lcg[1, 40](states)
    np.testing.assert_array_equal(states, wanted)


def test_pi_by_random_numbers_in_64_bits():
    hits = np.zeros(1, np.int64)
    k.monte_carlo_pi[2, 64](np.arange(1, 129, dtype=np.uint64), hits, 40)
    assert abs(4 * hits[0] / (128 * 40) - math.pi) < 0.1
    wanted = 0
    with np.errstate(over="ignore"):
        state = np.arange(1, 129, dtype=np.uint64)
        for _ in range(40):
            xy = []
            for _ in range(2):
                state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                xy.append((state >> np.uint64(40)).astype(np.float32) / np.float32(16777216))
            wanted += ((xy[0] * xy[0] + xy[1] * xy[1]) <= 1).sum()
    assert hits[0] == wanted


def test_bytes_as_text():
    text = np.frombuffer(b"Hello, GPU world of  warps", np.uint8).copy()
    count = np.zeros(1, np.int32)
    k.count_words[1, 32](text, count)
    assert count[0] == 5
    k.caesar[1, 32](text, 3)
    assert bytes(text) == b"Khoor, JSX zruog ri  zdusv"


def test_bit_tricks():
    gray, morton = np.zeros(256, np.int32), np.zeros(256, np.int32)
    k.gray_and_morton[4, 64](gray, morton)
    n = np.arange(256)
    np.testing.assert_array_equal(gray, n ^ (n >> 1))
    assert sorted(morton) == list(range(256))
    assert (morton[0x11], morton[0x0F], morton[0xF0]) == (3, 0x55, 0xAA)
    for dtype in (np.uint32, np.int64):
        bits = 8 * np.dtype(dtype).itemsize
        a = RNG.integers(1, 2**31, 32).astype(dtype)
        out = np.zeros((32, 4), np.int64)
        k.popcounts[1, 32](a, out)
        numbers = [int(v) for v in a]
        assert out[:, 0].tolist() == out[:, 1].tolist() == [v.bit_count() for v in numbers]
        assert out[:, 2].tolist() == [bits - v.bit_length() for v in numbers]
        assert out[:, 3].tolist() == [(v & -v).bit_length() for v in numbers]


def test_loops_of_different_lengths():
    out = np.zeros(40, np.int64)
    k.collatz[2, 32](out)
    assert out[[1, 2, 6, 7, 27]].tolist() == [0, 1, 8, 16, 111]
    a, b, out = RNG.integers(1, 500, (3, 60))
    k.greatest_common_divisor[2, 32](a, b, out)
    np.testing.assert_array_equal(out, np.gcd(a, b))
    flags = np.zeros(100, np.bool_)
    k.primes[4, 32](flags)
    assert np.nonzero(flags)[0][:10].tolist() == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    assert flags.sum() == 25
    a, out = RNG.random(50) * 100, np.zeros(50)
    k.newton_roots[1, 64](a, out)
    np.testing.assert_allclose(out, np.sqrt(a))


def test_atomics_whose_result_is_used():
    lock, total, values = np.zeros(1, np.int32), np.zeros(1), RNG.random(50)
    k.spin_lock_sum[2, 32](lock, total, values)
    assert lock[0] == 0
    np.testing.assert_allclose(total[0], values.sum())
    bits, values = np.zeros(1, np.int64), RNG.integers(0, 1000, 100)
    k.float_max_by_cas[2, 64](bits, values)
    assert bits[0] == values.max()
