"""Kernels on pictures and grids give what NumPy gives."""

import numpy as np
import pytest

import course  # noqa: F401  # kernels run without a GPU

from . import students_images as k

RNG = np.random.default_rng(7)


def life_of(old):
    around = sum(
        np.roll(old, (dx, dy), (0, 1)) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy
    )
    return ((around == 3) | ((old == 1) & (around == 2))).astype(old.dtype)


def escape_times(height, width, iters):
    x = -2.0 + np.arange(width) * (3.0 / width)
    y = -1.0 + np.arange(height) * (2.0 / height)
    c = x[None, :] + 1j * y[:, None]
    z = np.zeros_like(c)
    times = np.full(c.shape, iters)
    for i in range(iters):
        out = (z.real * z.real + z.imag * z.imag > 4.0) & (times == iters)
        times[out] = i
        z = np.where(times == iters, z * z + c, z)
    return times


def test_mandelbrot_with_a_grid_stride_in_two_axes_and_a_device_function():
    image = np.zeros((30, 40), np.uint8)
    k.mandelbrot[(2, 3), (8, 4)](image, -2.0, 1.0, -1.0, 1.0, 20)
    # at the edge of the set a point's escape hangs on the last bit, and a GPU contracts
    # `x * y + c` where NumPy rounds twice
    assert np.count_nonzero(image != escape_times(30, 40, 20)) <= 2


def test_julia_swaps_a_tuple_in_a_while_loop():
    out = np.zeros((20, 20), np.int32)
    k.julia[(3, 3), (8, 8)](out, -0.4, 0.6)
    for i, j in ((0, 0), (5, 7), (10, 10), (19, 3)):
        z, n = complex(-1.5 + 3.0 * i / 20, -1.5 + 3.0 * j / 20), 0
        while abs(z) ** 2 <= 4 and n < 50:
            z, n = z * z + (-0.4 + 0.6j), n + 1
        assert out[i, j] == n


@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_game_of_life_wraps_at_the_edges(dtype):
    old = RNG.integers(0, 2, (17, 21)).astype(dtype)
    new = np.zeros_like(old)
    k.life_with_ranges[(2, 2), (16, 16)](old, new)
    np.testing.assert_array_equal(new, life_of(old))


def test_sobel_filter_with_chained_subscripts():
    img = RNG.integers(0, 255, (19, 23)).astype(np.float64)
    out = np.full_like(img, np.nan)
    k.sobel[(2, 2), (16, 16)](img, out)
    gx = img[:-2, 2:] - img[:-2, :-2] + 2 * (img[1:-1, 2:] - img[1:-1, :-2])
    gx += img[2:, 2:] - img[2:, :-2]
    gy = img[:-2, :-2] + 2 * img[:-2, 1:-1] + img[:-2, 2:]
    gy -= img[2:, :-2] + 2 * img[2:, 1:-1] + img[2:, 2:]
    wanted = np.zeros_like(img)
    wanted[1:-1, 1:-1] = np.sqrt(gx**2 + gy**2)
    np.testing.assert_allclose(out, wanted)


def test_grayscale_of_bytes():
    rgb = RNG.integers(0, 256, (9, 11, 3)).astype(np.uint8)
    gray = np.zeros((9, 11), np.uint8)
    k.grayscale[(2, 2), (8, 8)](rgb, gray)
    wanted = 0.299 * rgb[..., 0] + 0.587 * rgb[..., 1] + 0.114 * rgb[..., 2]
    np.testing.assert_array_equal(gray, wanted.astype(np.uint8))


def test_a_picture_of_bytes_is_inverted_in_place():
    img = RNG.integers(0, 256, (5, 7, 3)).astype(np.uint8)
    wanted = 255 - img
    k.invert_in_place[2, 64](img)
    np.testing.assert_array_equal(img, wanted)


def test_brighten_clamps_in_wider_integers():
    img = RNG.integers(0, 256, (9, 11)).astype(np.uint8)
    wanted = np.clip(img.astype(int) + 100, 0, 255)
    k.brighten[(2, 2), (8, 8)](img, 100)
    np.testing.assert_array_equal(img, wanted)


def test_blur_with_constant_weights_clamps_its_columns():
    src = RNG.random((6, 33)).astype(np.float32)
    dst = np.zeros_like(src)
    k.blur_rows[(1, 5), (8, 8)](src, dst)
    padded = np.pad(src, ((0, 0), (2, 2)), mode="edge")
    wanted = sum(k.WEIGHTS[n] * padded[:, n : n + 33] for n in range(5))
    np.testing.assert_allclose(dst, wanted, rtol=1e-6)


def test_convolution_in_one_dimension():
    image, mask = RNG.random(100), RNG.random(5)
    out = np.zeros(100)
    k.convolve_1d[4, 32](out, mask, image)
    np.testing.assert_allclose(out, np.convolve(image, mask, "same"))


def test_convolution_in_two_dimensions():
    image, mask = RNG.random((20, 18)), RNG.random((3, 5))
    out = np.zeros_like(image)
    k.convolve_2d[(3, 3), (8, 8)](out, mask, image)
    padded = np.pad(image, ((1, 1), (2, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, mask.shape)
    np.testing.assert_allclose(out, (windows * mask[::-1, ::-1]).sum((2, 3)))


@pytest.mark.parametrize("n", [16, 50, 64])
def test_stencil_with_a_halo_in_shared_memory(n):
    a = RNG.integers(0, 100, n).astype(np.float32)
    out = np.full(n, np.nan, np.float32)
    k.stencil_1d_shared[-(-n // k.TILE), k.TILE](a, out)
    np.testing.assert_array_equal(out, np.convolve(a, np.ones(5), "same"))


def test_jacobi_step():
    u = RNG.random((18, 22))
    out = u.copy()
    k.jacobi[(2, 3), (16, 8)](u, out)
    wanted = u.copy()
    wanted[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    np.testing.assert_allclose(out, wanted)


@pytest.mark.parametrize("shape", [(32, 32), (20, 37)])
def test_heat_step_with_a_tile_and_halo(shape):
    u = RNG.random(shape).astype(np.float32)
    out = np.full_like(u, np.nan)
    k.heat_shared[(3, 3), (k.TILE, k.TILE)](u, out, 0.1)
    wanted = u.astype(np.float64)
    lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    wanted[1:-1, 1:-1] += 0.1 * lap
    np.testing.assert_allclose(out, wanted, rtol=1e-5)


def test_bilinear_resize():
    src = RNG.random((6, 9))
    dst = np.zeros((12, 18))
    k.resize_bilinear[(3, 2), (8, 8)](src, dst)

    def weights(new, old):
        at = (np.arange(new) + 0.5) * old / new - 0.5
        low = np.floor(at).astype(int)
        matrix = np.zeros((new, old))
        for shift, weight in ((0, 1 - (at - low)), (1, at - low)):
            np.add.at(matrix, (np.arange(new), np.clip(low + shift, 0, old - 1)), weight)
        return matrix

    np.testing.assert_allclose(dst, weights(12, 6) @ src @ weights(18, 9).T)


def test_a_flip_and_a_transpose_of_a_view():
    src = np.arange(70).reshape(7, 10)[:, ::2]
    dst = np.zeros((5, 7), src.dtype)
    k.flip_and_transpose[(1, 1), (8, 8)](src, dst)
    np.testing.assert_array_equal(dst, src[::-1].T)


def test_dilation_on_a_grid_of_three_axes():
    vol = RNG.integers(0, 1000, (5, 6, 7))
    out = np.zeros_like(vol)
    k.dilate_3d[(2, 2, 2), (4, 4, 4)](vol, out)
    padded = np.pad(vol, 1, constant_values=-1)
    wanted = vol.copy()
    for axis in range(3):
        for shift in (-1, 1):
            moved = np.roll(padded, shift, axis)[1:-1, 1:-1, 1:-1]
            wanted = np.maximum(wanted, moved)
    np.testing.assert_array_equal(out, wanted)
