"""Linear algebra, graphs and machine learning give what NumPy gives."""

import numpy as np
import pytest

import course  # noqa: F401  # kernels run without a GPU

from . import students_linear as k

RNG = np.random.default_rng(11)


def floats(*shape, dtype=np.float32):
    return RNG.random(shape).astype(dtype)


def test_a_thread_a_row():
    a, x, y = floats(37, 20), floats(20), np.zeros(37, np.float32)
    k.matvec[2, 32](a, x, y)
    np.testing.assert_allclose(y, a @ x, rtol=1e-5)


def test_a_warp_a_row_with_shuffles():
    a, x, y = floats(7, 100), floats(100), np.zeros(7, np.float32)
    k.matvec_warp_a_row[2, (32, 4)](a, x, y)
    np.testing.assert_allclose(y, a @ x, rtol=1e-5)


@pytest.mark.parametrize(("m", "n", "p"), [(32, 32, 32), (20, 33, 25)])
def test_tiled_matrix_product(m, n, p):
    a, b, c = floats(m, n), floats(n, p), np.zeros((m, p), np.float32)
    blocks = -(-max(m, n, p) // k.TPB)
    k.fast_matmul[(blocks, blocks), (k.TPB, k.TPB)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_flat_matrix_product_of_integers():
    a, b = RNG.integers(0, 9, (2, 144)).astype(np.int32)
    c = np.zeros(144, np.int32)
    k.matmul_flat[3, 64](a, b, c, 12)
    np.testing.assert_array_equal(c.reshape(12, 12), a.reshape(12, 12) @ b.reshape(12, 12))


def test_tiled_transpose_with_a_padded_row():
    a = floats(40, 50)
    out = np.zeros((50, 40), np.float32)
    k.transpose_tile[(4, 3), (16, 4)](a, out)
    np.testing.assert_array_equal(out, a.T)


def test_sparse_rows():
    dense = RNG.random((30, 25)) * (RNG.random((30, 25)) < 0.2)
    indices = [np.nonzero(row)[0] for row in dense]
    indptr = np.r_[0, np.cumsum([len(i) for i in indices])]
    data = np.concatenate([row[i] for row, i in zip(dense, indices, strict=True)])
    x, y = RNG.random(25), np.zeros(30)
    k.csr_rows[1, 32](data, np.concatenate(indices), indptr, x, y)
    np.testing.assert_allclose(y, dense @ x)


def test_dot_product_with_a_tree_and_an_atomic():
    a, b, out = RNG.random(1000), RNG.random(1000), np.zeros(1)
    k.dot_atomic[4, 64](a, b, out)
    np.testing.assert_allclose(out[0], a @ b)


def test_saxpy_with_a_signature():
    x, y = floats(500), floats(500)
    wanted = np.float32(2) * x + y
    k.saxpy[2, 64](2.0, x, y)
    np.testing.assert_array_equal(y, wanted)


def test_floyd_warshall():
    dist = RNG.integers(1, 100, (12, 12)).astype(np.float32)
    np.fill_diagonal(dist, 0)
    wanted = dist.copy()
    for n in range(12):
        k.floyd_warshall_step[(1, 1), (16, 16)](dist, n)
        wanted = np.minimum(wanted, wanted[:, n : n + 1] + wanted[n])
    np.testing.assert_array_equal(dist, wanted)


def test_softmax_of_rows():
    x = floats(5, 77)
    out = np.zeros_like(x)
    k.softmax_rows[5, 32](x, out)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-5)


def test_k_means_assigns_and_updates():
    points, centres = RNG.random((100, 2)), RNG.random((5, 2))
    labels = np.zeros(100, np.int64)
    k.kmeans_assign[2, 64](points, centres, labels)
    wanted = ((points[:, None] - centres[None]) ** 2).sum(2).argmin(1)
    np.testing.assert_array_equal(labels, wanted)
    sums, counts = np.zeros((5, 2)), np.zeros(5, np.int32)
    k.kmeans_update[2, 64](points, labels, sums, counts)
    np.testing.assert_array_equal(counts, np.bincount(wanted, minlength=5))
    for c in range(5):
        np.testing.assert_allclose(sums[c], points[wanted == c].sum(0))


@pytest.mark.parametrize("n", [32, 50])
def test_n_bodies_by_tiles(n):
    pos, vel = RNG.random((n, 3)), np.zeros((n, 3))
    k.nbody[2, 32](pos, vel, 0.01, 1e-3)
    d = pos[None] - pos[:, None]
    r = np.sqrt((d**2).sum(2) + 1e-3)
    np.testing.assert_allclose(vel, 0.01 * (d / r[..., None] ** 3).sum(1))


def test_fast_fourier_transform_stage_by_stage():
    x = RNG.random(k.N_FFT)
    re, im = np.zeros(k.N_FFT), np.zeros(k.N_FFT)
    k.bit_reverse[1, 64](x, re, 6)
    half = 1
    while half < k.N_FFT:
        k.fft_stage[1, 32](re, im, half)
        half *= 2
    np.testing.assert_allclose(re + 1j * im, np.fft.fft(x), atol=1e-9)


def test_small_systems_in_local_memory():
    a, b = RNG.random((10, k.K, k.K)), RNG.random((10, k.K))
    x = np.zeros((10, k.K))
    k.small_solve[1, 32](a, b, x)
    np.testing.assert_allclose(x, np.linalg.solve(a, b[..., None])[..., 0])


def test_layer_norm():
    x = floats(9, 30)
    out = np.zeros_like(x)
    k.layer_norm[1, 32](x, out, 1e-5)
    wanted = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out, wanted, rtol=2e-4, atol=1e-5)


def test_max_pooling_with_the_place_of_the_maximum():
    x = RNG.permutation(80).reshape(8, 10).astype(np.float32)
    out, where = np.zeros((4, 5), np.float32), np.zeros((4, 5), np.int32)
    k.max_pool[(1, 1), (8, 8)](x, out, where)
    windows = x.reshape(4, 2, 5, 2).transpose(0, 2, 1, 3).reshape(4, 5, 4)
    np.testing.assert_array_equal(out, windows.max(2))
    np.testing.assert_array_equal(where, windows.argmax(2))


def test_relu_over_a_grid_stride():
    x = floats(300) - np.float32(0.5)
    wanted = np.maximum(x, 0)
    k.relu[2, 32](x)
    np.testing.assert_array_equal(x, wanted)
