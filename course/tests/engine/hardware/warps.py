# mypy: disable-error-code="misc, assignment"
"""Kernels with shuffles, votes and barriers."""

from numba import cuda, float32, int32

from .cases import Book, blank, ints, zeros

book = Book()


@book.each(
    ("float32", "int32", "float64", "int64"),
    lambda dtype: (ints(22, 128, dtype=dtype), blank(4, dtype=dtype)),
    1,
    launch=(2, 64),
)
def shuffle_down_sum(x, out):
    i = cuda.grid(1)
    value = x[i]
    step = 16
    while step > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
        step //= 2
    if cuda.laneid == 0:
        out[i // 32] = value


@book.each(
    ("float32", "int32", "float64", "int64"),
    lambda dtype: (ints(23, 64, dtype=dtype), blank(6, 64, dtype=dtype)),
    1,
    launch=(1, 64),
)
def shuffle_kinds(x, out):
    i = cuda.grid(1)
    value = x[i]
    out[0, i] = cuda.shfl_down_sync(0xFFFFFFFF, value, 3)
    out[1, i] = cuda.shfl_up_sync(0xFFFFFFFF, value, 3)
    out[2, i] = cuda.shfl_xor_sync(0xFFFFFFFF, value, 5)
    out[3, i] = cuda.shfl_sync(0xFFFFFFFF, value, 7)
    out[4, i] = cuda.shfl_sync(0xFFFFFFFF, value, (cuda.laneid * 3) % 32)
    out[5, i] = cuda.shfl_sync(0xFFFFFFFF, value, cuda.laneid + 40)


@book.case(lambda: (ints(24, 18, 100), blank(18)), 1, launch=(5, 128))
def warp_row_sum(x, out):
    row = cuda.grid(1) // 32
    lane = cuda.laneid
    total = float32(0)
    if row < x.shape[0]:
        for column in range(lane, x.shape[1], 32):
            total += x[row, column]
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, step)
    if lane == 0 and row < x.shape[0]:
        out[row] = total


@book.case(lambda: (ints(25, 128, dtype="int32"), blank(8, 128, dtype="int64")), 1, launch=(2, 64))
def votes(x, out):
    i = cuda.grid(1)
    mask = 0xFFFFFFFF
    odd = x[i] % 2 == 1
    out[0, i] = cuda.ballot_sync(mask, odd)
    out[1, i] = cuda.any_sync(mask, x[i] > 7)
    out[2, i] = cuda.all_sync(mask, x[i] > -9)
    out[3, i] = cuda.eq_sync(mask, x[i] > 100)
    if odd:
        out[4, i] = cuda.activemask()
    else:
        out[4, i] = 0
    out[5, i] = cuda.popc(cuda.ballot_sync(mask, odd))
    out[6, i] = cuda.laneid
    out[7, i] = cuda.warpsize


@book.case(lambda: (ints(26, 192, dtype="int32"), blank(3, 192, dtype="int32")), 1, launch=(2, 96))
def block_votes(x, out):
    i = cuda.grid(1)
    out[0, i] = cuda.syncthreads_count(int32(x[i] > 0))
    out[1, i] = cuda.syncthreads_and(int32(x[i] > -9))
    out[2, i] = cuda.syncthreads_or(int32(x[i] > 7))


@book.each(
    ("int32", "uint64"),
    lambda dtype: (ints(27, 64, dtype=dtype, high=100000), blank(4, 64, dtype="int64")),
    1,
    launch=(1, 64),
)
def bits(x, out):
    i = cuda.grid(1)
    out[0, i] = cuda.popc(x[i])
    out[1, i] = cuda.clz(x[i])
    out[2, i] = cuda.ffs(x[i])
    out[3, i] = cuda.brev(x[i])


@book.case(lambda: (ints(28, 256), blank(256)), 1, launch=(2, 128))
def warp_exchange(x, out):
    cache = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    cache[t] = x[cuda.grid(1)]
    cuda.syncwarp()
    out[cuda.grid(1)] = cache[t ^ 1]


@book.case(lambda: (ints(29, 256), zeros(1), zeros(1, dtype="int32")), (1, 2), launch=(4, 64))
def last_block_done(x, out, counter):
    i = cuda.grid(1)
    cuda.atomic.add(out, 0, x[i])
    cuda.threadfence()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(counter, 0, 1)
