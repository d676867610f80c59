# mypy: disable-error-code="misc, assignment"
"""Kernels that work through shared memory: tiles, halos, reductions, matmul, banks."""

from numba import cuda, float32, float64, int8, int32

from .cases import Book, blank, ints, zeros

book = Book()
TPB = 128
T = 16
WITH_HALO = TPB + 4


@book.case(lambda: (ints(1, 45, 75), blank(75, 45)), 1, launch=((3, 6), (32, 8)))
def transpose_direct(x, out):
    column, row = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        out[column, row] = x[row, column]


@book.case(lambda: (ints(2, 64, 64), blank(64, 64)), 1, launch=((2, 2), (32, 8)), tag="exact")
@book.case(lambda: (ints(2, 45, 75), blank(75, 45)), 1, launch=((3, 2), (32, 8)))
def transpose_tile(x, out):
    tile = cuda.shared.array((32, 32), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column = cuda.blockIdx.x * 32 + tx
    row = cuda.blockIdx.y * 32 + ty
    for k in range(0, 32, 8):
        if row + k < x.shape[0] and column < x.shape[1]:
            tile[ty + k, tx] = x[row + k, column]
    cuda.syncthreads()
    column = cuda.blockIdx.y * 32 + tx
    row = cuda.blockIdx.x * 32 + ty
    for k in range(0, 32, 8):
        if row + k < out.shape[0] and column < out.shape[1]:
            out[row + k, column] = tile[tx, ty + k]


@book.case(lambda: (ints(3, 45, 75), blank(75, 45)), 1, launch=((3, 2), (32, 32)))
def transpose_padded(x, out):
    tile = cuda.shared.array((32, 33), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column = cuda.blockIdx.x * 32 + tx
    row = cuda.blockIdx.y * 32 + ty
    if row < x.shape[0] and column < x.shape[1]:
        tile[ty, tx] = x[row, column]
    cuda.syncthreads()
    column = cuda.blockIdx.y * 32 + tx
    row = cuda.blockIdx.x * 32 + ty
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = tile[tx, ty]


@book.case(lambda: (ints(4, 64, 64), blank(64, 64)), 1, launch=((4, 4), (16, 16)))
def transpose_tile_square(x, out):
    tile = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tile[ty, tx] = x[cuda.blockIdx.y * T + ty, cuda.blockIdx.x * T + tx]
    cuda.syncthreads()
    out[cuda.blockIdx.x * T + ty, cuda.blockIdx.y * T + tx] = tile[tx, ty]


@book.case(lambda: (ints(5, 512), blank(512)), 1)
def shared_reverse(x, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * TPB
    cache[t] = x[start + t]
    cuda.syncthreads()
    out[start + t] = cache[TPB - 1 - t]


@book.case(lambda: (ints(6, 500), ints(7, 5), blank(500)), 2)
def stencil_halo(x, weights, out):
    cache = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    n = x.size
    if i < n:
        cache[t + 2] = x[i]
    else:
        cache[t + 2] = 0
    if t < 2:
        left = i - 2
        right = i + TPB
        cache[t] = x[left] if left >= 0 else 0.0
        cache[t + TPB + 2] = x[right] if right < n else 0.0
    cuda.syncthreads()
    if i < n:
        total = 0.0
        for k in range(5):
            total += weights[k] * cache[t + k]
        out[i] = total


@book.case(lambda: (ints(8, 500), zeros(500)), 1)
def stencil_direct(x, out):
    i = cuda.grid(1)
    if 0 < i and i < x.size - 1:
        out[i] = x[i - 1] - 2 * x[i] + x[i + 1]


@book.case(lambda: (ints(9, 1000), blank(8)), 1, launch=(8, TPB))
def block_sum(x, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    cache[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    step = TPB // 2
    while step > 0:
        if t < step:
            cache[t] += cache[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = cache[0]


@book.case(lambda: (ints(9, 1000), blank(8)), 1, launch=(8, TPB))
def block_sum_interleaved(x, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    cache[t] = 0
    if i < x.size:
        cache[t] = x[i]
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        if t % (2 * step) == 0:
            cache[t] += cache[t + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        out[cuda.blockIdx.x] = cache[0]


@cuda.jit
def block_max_any_size(x, out):
    cache = cuda.shared.array(256, float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        cache[t] = x[i]
    else:
        cache[t] = -1e30
    cuda.syncthreads()
    count = cuda.blockDim.x
    while count > 1:
        half = (count + 1) // 2
        if t < count - half:
            cache[t] = max(cache[t], cache[t + half])
        cuda.syncthreads()
        count = half
    if t == 0:
        out[cuda.blockIdx.x] = cache[0]


for threads in (96, 192):
    book.add(
        block_max_any_size,
        lambda threads=threads: (
            ints(10, 1000, dtype="float64"),
            blank(-(-1000 // threads), dtype="float64"),
        ),
        1,
        launch=(-(-1000 // threads), threads),
        tag=str(threads),
    )


@cuda.jit
def dot_grid_stride(a, b, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    stride = cuda.gridDim.x * cuda.blockDim.x
    total = 0.0
    while i < a.size:
        total += a[i] * b[i]
        i += stride
    cache[t] = total
    cuda.syncthreads()
    half = TPB // 2
    while half > 0:
        if t < half:
            cache[t] += cache[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = cache[0]


@cuda.jit
def dot_range(a, b, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    half = TPB // 2
    while half > 0:
        if t < half:
            cache[t] += cache[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, cache[0])


for kernel, blocks in ((dot_grid_stride, 4), (dot_range, 1)):
    book.each(
        (4096, 4114, 4099, 500, 16000),
        lambda n, blocks=blocks: (ints(11, n), ints(12, n), zeros(blocks)),
        2,
    )(kernel)


@book.case(lambda: (ints(13, 384), blank(384)), 1, launch=(4, 96), shared=96 * 4)
def dynamic_reverse(x, out):
    cache = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    cache[t] = x[i]
    cuda.syncthreads()
    out[i] = cache[cuda.blockDim.x - 1 - t]


@book.case(lambda: (ints(14, 512, dtype="int32"), blank(512, dtype="int32")), 1, launch=(2, 256))
def prefix_sum(x, out):
    cache = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    cache[t] = x[i]
    cuda.syncthreads()
    step = 1
    while step < 256:
        value = int32(0)
        if t >= step:
            value = cache[t - step]
        cuda.syncthreads()
        cache[t] += value
        cuda.syncthreads()
        step *= 2
    out[i] = cache[t]


@book.case(lambda: (ints(15, 2000, dtype="uint8", high=64), zeros(64, dtype="int32")), 1)
def histogram_shared(x, out):
    counts = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    if t < 64:
        counts[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()
    if t < 64:
        cuda.atomic.add(out, t, counts[t])


@book.case(
    lambda: (ints(15, 2000, dtype="int32", low=0, high=64), zeros(64, dtype="int32")),
    1,
    launch=(8, 256),
)
def histogram_global(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, x[i], 1)


@book.each((1, 2, 3, 4, 8, 16, 32, 33), lambda step: (blank(32), step), 0, launch=(1, 32))
def bank_stride(out, step):
    cache = cuda.shared.array(1056, float32)
    t = cuda.threadIdx.x
    cache[t * step] = t
    cuda.syncwarp()
    out[t] = cache[(31 - t) * step]


@book.each((1, 2, 3, 8, 16), lambda step: (blank(32), step), 0, launch=(1, 32))
def bank_stride_64(out, step):
    cache = cuda.shared.array(1056, float64)
    t = cuda.threadIdx.x
    cache[t * step] = t
    cuda.syncwarp()
    out[t] = cache[(31 - t) * step]


@book.each((1, 2, 4, 8, 128), lambda step: (blank(32), step), 0, launch=(1, 32))
def bank_stride_8(out, step):
    cache = cuda.shared.array(4096, int8)
    t = cuda.threadIdx.x
    cache[t * step] = t
    cuda.syncwarp()
    out[t] = cache[(31 - t) * step]


@book.case(
    lambda: (ints(17, 32, dtype="int64", low=0, high=4) * 32, blank(32)),
    1,
    launch=(1, 32),
    tag="same_bank",
)
@book.case(lambda: (ints(16, 32, dtype="int64", low=0, high=1024), blank(32)), 1, launch=(1, 32))
def bank_gather(index, out):
    cache = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    for k in range(t, 1024, 32):
        cache[k] = k
    cuda.syncwarp()
    out[t] = cache[index[t]]
