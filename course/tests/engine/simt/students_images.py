"""Kernels on pictures and grids, written as students of CUDA courses write them."""

import math

import numpy as np
from numba import cuda, float32, int32, uint8

TILE = 16
RADIUS = 2
WITH_HALO = TILE + 2 * RADIUS
WITH_RIM = TILE + 2
WEIGHTS = np.array([0.0625, 0.25, 0.375, 0.25, 0.0625], np.float32)


@cuda.jit(device=True)
def escape_time(cx, cy, max_iters):
    x = 0.0
    y = 0.0
    for i in range(max_iters):
        xx = x * x
        yy = y * y
        if xx + yy > 4.0:
            return i
        y = 2.0 * x * y + cy
        x = xx - yy + cx
    return max_iters


@cuda.jit
def mandelbrot(image, min_x, max_x, min_y, max_y, iters):
    height = image.shape[0]
    width = image.shape[1]
    pixel_size_x = (max_x - min_x) / width
    pixel_size_y = (max_y - min_y) / height
    start_x, start_y = cuda.grid(2)
    grid_x = cuda.gridDim.x * cuda.blockDim.x
    grid_y = cuda.gridDim.y * cuda.blockDim.y
    for x in range(start_x, width, grid_x):
        real = min_x + x * pixel_size_x
        for y in range(start_y, height, grid_y):
            imag = min_y + y * pixel_size_y
            image[y, x] = escape_time(real, imag, iters)


@cuda.jit
def julia(out, cr, ci):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        zr = -1.5 + 3.0 * i / out.shape[0]
        zi = -1.5 + 3.0 * j / out.shape[1]
        n = 0
        while zr * zr + zi * zi <= 4 and n < 50:
            zr, zi = zr * zr - zi * zi + cr, 2 * zr * zi + ci
            n += 1
        out[i, j] = n


@cuda.jit
def life(old, new):
    x, y = cuda.grid(2)
    rows, cols = old.shape
    if x >= rows or y >= cols:
        return
    alive = 0
    for dx in (-1, 0, 1):
        for dy in (-1, 0, 1):
            if dx == 0 and dy == 0:
                continue
            alive += old[(x + dx) % rows, (y + dy) % cols]
    if old[x, y] == 1:
        new[x, y] = 1 if alive == 2 or alive == 3 else 0
    else:
        new[x, y] = 1 if alive == 3 else 0


@cuda.jit
def life_with_ranges(old, new):
    x, y = cuda.grid(2)
    rows, cols = old.shape
    if x >= rows or y >= cols:
        return
    alive = 0
    for dx in range(-1, 2):
        for dy in range(-1, 2):
            if dx == 0 and dy == 0:
                continue
            alive += old[(x + dx) % rows, (y + dy) % cols]
    new[x, y] = alive == 3 or (old[x, y] and alive == 2)


@cuda.jit
def sobel(img, out):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    h, w = img.shape
    if 0 < row < h - 1 and 0 < col < w - 1:
        gx = (
            -img[row - 1][col - 1] + img[row - 1][col + 1]
            - 2 * img[row][col - 1] + 2 * img[row][col + 1]
            - img[row + 1][col - 1] + img[row + 1][col + 1]
        )  # fmt: skip
        gy = (
            img[row - 1][col - 1] + 2 * img[row - 1][col] + img[row - 1][col + 1]
            - img[row + 1][col - 1] - 2 * img[row + 1][col] - img[row + 1][col + 1]
        )  # fmt: skip
        out[row][col] = math.sqrt(gx**2 + gy**2)
    elif row < h and col < w:
        out[row][col] = 0


@cuda.jit
def grayscale(rgb, gray):
    i, j = cuda.grid(2)
    if i < gray.shape[0] and j < gray.shape[1]:
        r = rgb[i, j, 0]
        g = rgb[i, j, 1]
        b = rgb[i, j, 2]
        gray[i, j] = uint8(0.299 * r + 0.587 * g + 0.114 * b)


@cuda.jit
def invert_in_place(img):
    i = cuda.grid(1)
    h, w, c = img.shape
    n = h * w * c
    if i < n:
        z = i % c
        y = (i // c) % w
        x = i // (c * w)
        img[x, y, z] = 255 - img[x, y, z]


@cuda.jit
def brighten(img, amount):
    x, y = cuda.grid(2)
    if x < img.shape[0]:
        if y < img.shape[1]:
            value = img[x, y] + amount
            if value > 255:
                value = 255
            elif value < 0:
                value = 0
            img[x, y] = value


@cuda.jit
def blur_rows(src, dst):
    i, j = cuda.grid(2)
    weights = cuda.const.array_like(WEIGHTS)
    if i < src.shape[0] and j < src.shape[1]:
        acc = float32(0.0)
        for k in range(-RADIUS, RADIUS + 1):
            c = min(max(j + k, 0), src.shape[1] - 1)
            acc += weights[k + RADIUS] * src[i, c]
        dst[i, j] = acc


@cuda.jit
def convolve_1d(result, mask, image):
    i = cuda.grid(1)
    if i >= image.size:
        return
    s = 0
    delta = mask.size // 2
    for k in range(mask.size):
        at = i - k + delta
        if at >= 0 and at < image.size:
            s += mask[k] * image[at]
    result[i] = s


@cuda.jit
def convolve_2d(result, mask, image):
    i, j = cuda.grid(2)
    image_rows, image_cols = image.shape
    if (i >= image_rows) or (j >= image_cols):
        return
    delta_rows = mask.shape[0] // 2
    delta_cols = mask.shape[1] // 2
    s = 0
    for k in range(mask.shape[0]):
        for l in range(mask.shape[1]):
            i_k = i - k + delta_rows
            j_l = j - l + delta_cols
            if (i_k >= 0) and (i_k < image_rows) and (j_l >= 0) and (j_l < image_cols):
                s += mask[k, l] * image[i_k, j_l]
    result[i, j] = s


@cuda.jit
def stencil_1d_shared(a, out):
    temp = cuda.shared.array(WITH_HALO, float32)
    g = cuda.grid(1)
    l = cuda.threadIdx.x + RADIUS
    n = a.size
    temp[l] = a[g] if g < n else 0
    if cuda.threadIdx.x < RADIUS:
        temp[l - RADIUS] = a[g - RADIUS] if g - RADIUS >= 0 else 0
        temp[l + TILE] = a[g + TILE] if g + TILE < n else 0
    cuda.syncthreads()
    if g < n:
        result = 0
        for offset in range(-RADIUS, RADIUS + 1):
            result += temp[l + offset]
        out[g] = result


@cuda.jit
def jacobi(u, unew):
    i, j = cuda.grid(2)
    n, m = u.shape
    if i > 0 and i < n - 1 and j > 0 and j < m - 1:
        unew[i, j] = 0.25 * (u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1])


@cuda.jit
def heat_shared(u, out, alpha):
    tile = cuda.shared.array((WITH_RIM, WITH_RIM), dtype=float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    nx, ny = u.shape
    inside = x < nx and y < ny
    if inside:
        tile[tx + 1, ty + 1] = u[x, y]
        if tx == 0 and x > 0:
            tile[0, ty + 1] = u[x - 1, y]
        if (tx == TILE - 1 or x == nx - 1) and x < nx - 1:
            tile[tx + 2, ty + 1] = u[x + 1, y]
        if ty == 0 and y > 0:
            tile[tx + 1, 0] = u[x, y - 1]
        if (ty == TILE - 1 or y == ny - 1) and y < ny - 1:
            tile[tx + 1, ty + 2] = u[x, y + 1]
    cuda.syncthreads()
    if inside:
        if x == 0 or y == 0 or x == nx - 1 or y == ny - 1:
            out[x, y] = u[x, y]
        else:
            c = tile[tx + 1, ty + 1]
            lap = (
                tile[tx, ty + 1] + tile[tx + 2, ty + 1] + tile[tx + 1, ty] + tile[tx + 1, ty + 2]
                - 4 * c
            )  # fmt: skip
            out[x, y] = c + alpha * lap


@cuda.jit
def resize_bilinear(src, dst):
    x, y = cuda.grid(2)
    if x >= dst.shape[1] or y >= dst.shape[0]:
        return
    fx = (x + 0.5) * src.shape[1] / dst.shape[1] - 0.5
    fy = (y + 0.5) * src.shape[0] / dst.shape[0] - 0.5
    x0 = int(math.floor(fx))
    y0 = int(math.floor(fy))
    wx = fx - x0
    wy = fy - y0
    total = 0.0
    for dy in range(2):
        for dx in range(2):
            sx = min(max(x0 + dx, 0), src.shape[1] - 1)
            sy = min(max(y0 + dy, 0), src.shape[0] - 1)
            weight = (wx if dx else 1 - wx) * (wy if dy else 1 - wy)
            total += weight * src[sy, sx]
    dst[y, x] = total


@cuda.jit
def flip_and_transpose(src, dst):
    col, row = cuda.grid(2)
    if row < src.shape[0] and col < src.shape[1]:
        dst[col, src.shape[0] - 1 - row] = src[row, col]


@cuda.jit
def dilate_3d(vol, out):
    x, y, z = cuda.grid(3)
    nx, ny, nz = vol.shape
    if x < nx and y < ny and z < nz:
        best = vol[x, y, z]
        for d in range(-1, 2, 2):
            if 0 <= x + d < nx:
                best = max(best, vol[x + d, y, z])
            if 0 <= y + d < ny:
                best = max(best, vol[x, y + d, z])
            if 0 <= z + d < nz:
                best = max(best, vol[x, y, z + d])
        out[x, y, z] = best


@cuda.jit
def connected_min(labels, changed):
    i, j = cuda.grid(2)
    rows, cols = labels.shape
    if i < rows and j < cols and labels[i, j] >= 0:
        if j + 1 < cols and labels[i, j + 1] >= 0:
            old = cuda.atomic.min(labels, (i, j + 1), int32(0))
            if old != 0:
                cuda.atomic.add(changed, 0, 1)
