# %% predict_sectors every_lane_its_own -> WRONG_ANSWER
# Sectors taken for elements: one for each lane, whatever the addresses.
predict_sectors = {
    "aligned": 32,
    "shifted_by_1": 32,
    "shifted_by_8": 32,
    "every_2nd": 32,
    "every_3rd": 32,
    "every_8th": 32,
    "every_32nd": 32,
    "reversed": 32,
    "broadcast": 32,
    "pairs": 16,
    "first_20_lanes": 20,
    "doubles": 32,
    "doubles_shifted": 32,
    "bytes": 32,
    "bytes_shifted": 32,
    "vector_of_1000": 1000,
    "vector_of_1000_shifted": 1000,
}


# %% predict_sectors bytes_over_32 -> WRONG_ANSWER
# Wanted bytes over 32, rounded up: forgets where they begin, and that warps ask apart.
predict_sectors = {
    "aligned": 4,
    "shifted_by_1": 4,
    "shifted_by_8": 4,
    "every_2nd": 4,
    "every_3rd": 4,
    "every_8th": 4,
    "every_32nd": 4,
    "reversed": 4,
    "broadcast": 1,
    "pairs": 2,
    "first_20_lanes": 3,
    "doubles": 8,
    "doubles_shifted": 8,
    "bytes": 1,
    "bytes_shifted": 1,
    "vector_of_1000": 125,
    "vector_of_1000_shifted": 125,
}


# %% predict_sectors footprint_for_request -> WRONG_ANSWER
# All right but the last: a sector that two warps share is counted once.
predict_sectors = {
    "aligned": 4,
    "shifted_by_1": 5,
    "shifted_by_8": 4,
    "every_2nd": 8,
    "every_3rd": 12,
    "every_8th": 32,
    "every_32nd": 32,
    "reversed": 4,
    "broadcast": 1,
    "pairs": 2,
    "first_20_lanes": 3,
    "doubles": 8,
    "doubles_shifted": 9,
    "bytes": 1,
    "bytes_shifted": 2,
    "vector_of_1000": 125,
    "vector_of_1000_shifted": 126,
}


# %% column_or_row divided_by_hand -> PASS
# The strip from a while loop, the sum in float64, an early return.
from numba import cuda


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    if t >= out.size:
        return
    strip = 0
    while t >= a.shape[1]:
        t -= a.shape[1]
        strip += 1
    total = 0.0
    i = 16 * strip
    while i < a.shape[0] and i < 16 * strip + 16:
        total += a[i, t]
        i += 1
    out[strip, t] = total


# %% column_or_row guarded_rows -> PASS
# Sixteen turns for every strip, with the rows past the end skipped one by one.
from numba import cuda, float32

ROWS = 16


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    s = t // a.shape[1]
    j = t - s * a.shape[1]
    if s < out.shape[0]:
        total = float32(0)
        for k in range(ROWS):
            i = s * ROWS + k
            if i < a.shape[0]:
                total = total + a[i, j]
        out[s, j] = total


# %% column_or_row two_sums -> PASS
# Even and odd rows apart, so that two additions do not wait for each other.
from numba import cuda, float32


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    n = a.shape[1]
    s, j = t // n, t % n
    if s < out.shape[0]:
        last = min(16 * s + 16, a.shape[0])
        even = float32(0)
        odd = float32(0)
        for i in range(16 * s, last, 2):
            even += a[i, j]
            if i + 1 < last:
                odd += a[i + 1, j]
        out[s, j] = even + odd


# %% column_or_row device_function -> PASS
# The sum of one strip as a device function, in float64.
from numba import cuda, float32, float64

HEIGHT = 16


@cuda.jit(device=True)
def strip_sum(m, first, last, col):
    acc = float64(0.0)
    for r in range(first, last):
        acc += float64(m[r, col])
    return acc


@cuda.jit
def column_or_row(matrix, sums):
    tid = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    S, N = sums.shape
    if tid >= S * N:
        return
    col = tid % N
    s = (tid - col) // N
    sums[s, col] = strip_sum(matrix, s * HEIGHT, min((s + 1) * HEIGHT, matrix.shape[0]), col)


# %% column_or_row four_sums_in_a_local_array -> PASS
# Four running sums in a local array.
from numba import cuda, float32


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    n = a.shape[1]
    if t < out.size:
        s = t // n
        j = t % n
        acc = cuda.local.array(4, float32)
        for q in range(4):
            acc[q] = 0
        for k in range(16):
            i = 16 * s + k
            if i < a.shape[0]:
                acc[k % 4] += a[i, j]
        out[s, j] = (acc[0] + acc[1]) + (acc[2] + acc[3])


# %% column_or_row columns_mirrored -> PASS
# Thread 0 takes the last column; the last strip is guarded row by row.
from numba import cuda, float32


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    n = a.shape[1]
    if t < out.shape[0] * n:
        s = t // n
        j = n - 1 - t % n
        total = float32(0)
        for k in range(16):
            total += a[16 * s + k, j] if 16 * s + k < a.shape[0] else float32(0)
        out[s, j] = total


# %% column_or_row neighbours_on_strips -> TOO_MUCH_TRAFFIC 0.6
# The strip changes from thread to thread: lanes stand 16 rows apart.
from numba import cuda, float32


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    strips = out.shape[0]
    if t < out.size:
        s = t % strips
        j = t // strips
        total = float32(0)
        for i in range(16 * s, min(16 * s + 16, a.shape[0])):
            total += a[i, j]
        out[s, j] = total


# %% column_or_row sum_in_memory -> TOO_MUCH_TRAFFIC 0.6
# The running sum lives in out: a store a turn, since a store to out may change a.
from numba import cuda


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    s = t // a.shape[1]
    j = t % a.shape[1]
    if s < out.shape[0]:
        out[s, j] = 0
        for i in range(16 * s, min(16 * s + 16, a.shape[0])):
            out[s, j] += a[i, j]


# %% column_or_row no_guard -> OUT_OF_BOUNDS
# The last block has threads past the end of out.
from numba import cuda, float32


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    s = t // a.shape[1]
    j = t % a.shape[1]
    total = float32(0)
    for i in range(16 * s, min(16 * s + 16, a.shape[0])):
        total += a[i, j]
    out[s, j] = total


# %% column_or_row last_strip_full -> OUT_OF_BOUNDS
# Every strip is taken to have 16 rows.
from numba import cuda, float32


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    s = t // a.shape[1]
    j = t % a.shape[1]
    if s < out.shape[0]:
        total = float32(0)
        for i in range(16 * s, 16 * s + 16):
            total += a[i, j]
        out[s, j] = total


# %% column_or_row every_nth_row -> WRONG_ANSWER
# Strip s takes rows s, s + strips, s + 2 * strips and so on, as in a grid-stride loop.
from numba import cuda, float32


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    s = t // a.shape[1]
    j = t % a.shape[1]
    if s < out.shape[0]:
        total = float32(0)
        for i in range(s, a.shape[0], out.shape[0]):
            total += a[i, j]
        out[s, j] = total


# %% column_or_row whole_columns -> WRONG_ANSWER
# The whole column instead of its strip: the strips' sums all come out alike.
from numba import cuda, float32


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    s = t // a.shape[1]
    j = t % a.shape[1]
    if s < out.shape[0]:
        total = float32(0)
        for i in range(a.shape[0]):
            total += a[i, j]
        out[s, j] = total


# %% column_or_row sum_by_atomics -> TOO_MUCH_TRAFFIC 0.7
# An atomic a row, where one thread alone owns the sum.
from numba import cuda


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    s = t // a.shape[1]
    j = t % a.shape[1]
    if s < out.shape[0]:
        out[s, j] = 0
        for i in range(16 * s, min(16 * s + 16, a.shape[0])):
            cuda.atomic.add(out, (s, j), a[i, j])


# %% column_or_row checks_itself -> TOO_MUCH_TRAFFIC 0.7
# Adds everything once more to be sure: after the store nothing is remembered.
from numba import cuda, float32


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    s = t // a.shape[1]
    j = t % a.shape[1]
    if s < out.shape[0]:
        total = float32(0)
        for i in range(16 * s, min(16 * s + 16, a.shape[0])):
            total += a[i, j]
        out[s, j] = total
        check = float32(0)
        for i in range(16 * s, min(16 * s + 16, a.shape[0])):
            check += a[i, j]
        if check != out[s, j]:
            out[s, j] = check


# %% column_or_row a_block_a_strip -> WRONG_ANSWER
# Takes the block for the strip: the launch has fewer blocks than that, or other threads.
from numba import cuda, float32


@cuda.jit
def column_or_row(a, out):
    s = cuda.blockIdx.x
    j = cuda.threadIdx.x
    if s < out.shape[0] and j < a.shape[1]:
        total = float32(0)
        for i in range(16 * s, min(16 * s + 16, a.shape[0])):
            total += a[i, j]
        out[s, j] = total


# %% column_or_row first_row_twice -> WRONG_ANSWER
# Starts with the first row, and adds it in the loop too.
from numba import cuda


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    s = t // a.shape[1]
    j = t % a.shape[1]
    if s < out.shape[0]:
        total = a[16 * s, j]
        for i in range(16 * s, min(16 * s + 16, a.shape[0])):
            total += a[i, j]
        out[s, j] = total


# %% column_or_row whole_numbers -> WRONG_ANSWER
# int() of every element: the fractions are lost.
from numba import cuda


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    s = t // a.shape[1]
    j = t % a.shape[1]
    if s < out.shape[0]:
        total = 0
        for i in range(16 * s, min(16 * s + 16, a.shape[0])):
            total += int(a[i, j])
        out[s, j] = total


# %% column_or_row slice_and_sum -> REJECTED
# The line that NumPy would take.
from numba import cuda


@cuda.jit
def column_or_row(a, out):
    t = cuda.grid(1)
    s = t // a.shape[1]
    j = t % a.shape[1]
    if s < out.shape[0]:
        out[s, j] = a[16 * s : 16 * s + 16, j].sum()


# %% padded_rows a_warp_wide -> PASS
# A whole 128 bytes: more padding, the same sectors.
from numba import cuda

ALIGN = 32


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    col, row = cuda.grid(2)
    if row >= M or col >= N:
        return
    k = row * LD + col
    x[k] = x[k] * scale


# %% padded_rows two_sectors -> PASS
# 16 elements, the index from its parts.
from numba import cuda

ALIGN = 8 * 2


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    col = cuda.blockIdx.x * 8 + cuda.threadIdx.x
    row = cuda.blockIdx.y * 16 + cuda.threadIdx.y
    if col < N:
        if row < M:
            value = x[LD * row + col]
            x[LD * row + col] = scale * value


# %% padded_rows grid_stride -> PASS
# ALIGN from the size of a sector, and loops that would cover any matrix.
from numba import cuda

SECTOR = 32
ALIGN = SECTOR // 4


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    c0, r0 = cuda.grid(2)
    for row in range(r0, M, cuda.gridDim.y * cuda.blockDim.y):
        col = c0
        while col < N:
            x[row * LD + col] = scale * x[row * LD + col]
            col += cuda.gridDim.x * cuda.blockDim.x


# %% padded_rows packed -> TOO_MUCH_TRAFFIC 0.7
# The leading dimension left at the number of columns: seven tile rows of eight straddle.
from numba import cuda

ALIGN = 1


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    col, row = cuda.grid(2)
    if row < M and col < N:
        x[row * LD + col] *= scale


# %% padded_rows sixteen_bytes -> TOO_MUCH_TRAFFIC 0.7
# 4 elements are 16 bytes, enough for wide loads: half of the rows still straddle.
from numba import cuda

ALIGN = 4


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    col, row = cuda.grid(2)
    if row < M and col < N:
        x[row * LD + col] *= scale


# %% padded_rows columns_for_ld -> WRONG_ANSWER
# Rows taken to be N apart, as in a packed matrix, though ALIGN was chosen.
from numba import cuda

ALIGN = 8


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    col, row = cuda.grid(2)
    if row < M and col < N:
        x[row * N + col] *= scale


# %% padded_rows padding_scaled -> WRONG_ANSWER
# Guarded by the leading dimension: the padding is changed too.
from numba import cuda

ALIGN = 8


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    col, row = cuda.grid(2)
    if row < M and col < LD:
        x[row * LD + col] *= scale


# %% padded_rows no_row_guard -> OUT_OF_BOUNDS
# The lowest tiles reach past the last row.
from numba import cuda

ALIGN = 8


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    col, row = cuda.grid(2)
    if col < N:
        x[row * LD + col] *= scale


# %% padded_rows free_choice -> REJECTED
# 24 would do, and is not one of the values to choose from.
from numba import cuda

ALIGN = 24


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    col, row = cuda.grid(2)
    if row < M and col < N:
        x[row * LD + col] *= scale


# %% padded_rows aligned_in_the_kernel -> TOO_MUCH_TRAFFIC 0.7
# ALIGN set inside the kernel: the launch has made LD by then.
from numba import cuda

ALIGN = 1


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    ALIGN = 8
    col, row = cuda.grid(2)
    if row < M and col < N:
        x[row * LD + col] *= scale


# %% padded_rows rounds_up_itself -> OUT_OF_BOUNDS
# Rounds N up in the kernel: the matrix is stored with the LD that is passed.
from numba import cuda

ALIGN = 1


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    ld = (N + 7) // 8 * 8
    col, row = cuda.grid(2)
    if row < M and col < N:
        x[row * ld + col] *= scale


# %% padded_rows tidies_the_padding -> WRONG_ANSWER
# Sets the padding to 0: it belongs to somebody else.
from numba import cuda

ALIGN = 8


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    col, row = cuda.grid(2)
    if row < M:
        if col < N:
            x[row * LD + col] *= scale
        elif col < LD:
            x[row * LD + col] = 0


# %% padded_rows x_for_the_rows -> WRONG_ANSWER
# Row first from cuda.grid(2): the grid is too short along that side.
from numba import cuda

ALIGN = 8


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    row, col = cuda.grid(2)
    if row < M and col < N:
        x[row * LD + col] *= scale


# %% padded_rows two_indices -> DOES_NOT_COMPILE
# [row, col] on an array of one axis.
from numba import cuda

ALIGN = 8


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    col, row = cuda.grid(2)
    if row < M and col < N:
        x[row, col] *= scale


# %% padded_rows lanes_down_the_tile -> TOO_MUCH_TRAFFIC 0.6
# Threads dealt out down the columns of the tile.
from numba import cuda

ALIGN = 8


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    row = cuda.blockIdx.y * 16 + (cuda.threadIdx.x + 8 * (cuda.threadIdx.y % 2))
    col = cuda.blockIdx.x * 8 + cuda.threadIdx.y // 2
    if row < M and col < N:
        x[row * LD + col] *= scale


# %% cache_rescue elements_for_sectors -> WRONG_ANSWER
# 4 bytes a lane counted where whole sectors move.
cache_rescue = {
    "x_of_32_points": 4,
    "direct_a_warp": 12,
    "staged_a_warp": 12,
    "direct_requested_bytes": 4194304 * 12,
    "least_bytes": 4194304 * 12,
    "answered_by_l1": 0,
    "thread_a_row_request": 4,
    "thread_a_row": 6400,
    "warp_a_row": 6400,
    "kept_by_a_warp_bytes": 128,
    "kept_by_an_sm_bytes": 8192,
    "softmax_row_bytes": 524288,
    "softmax_one_pass_mb": 553.6,
    "softmax_passes_from_dram": 3,
}


# %% cache_rescue share_passed_on -> WRONG_ANSWER
# The share that L1 passed on for the share that it answered, and a full seventh request.
cache_rescue = {
    "x_of_32_points": 12,
    "direct_a_warp": 36,
    "staged_a_warp": 12,
    "direct_requested_bytes": 36 * 4194304,
    "least_bytes": 12 * 4194304,
    "answered_by_l1": 1.6e6 / 4718592,
    "thread_a_row_request": 32,
    "thread_a_row": 51200,
    "warp_a_row": 256 * 7 * 4,
    "kept_by_a_warp_bytes": 1024,
    "kept_by_an_sm_bytes": 65536,
    "softmax_row_bytes": 131072 * 4,
    "softmax_one_pass_mb": 553.65,
    "softmax_passes_from_dram": 3,
}
