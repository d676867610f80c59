# %% grid_math rounded_down -> WRONG_ANSWER
# Whole division loses the last, partly filled block, and all that follows from it.
grid_math = {
    "blocks": 20000 // 256,
    "threads": 20000 // 256 * 256,
    "idle_threads": 0,
    "warps_a_block": 8,
    "busy_warps_of_last_block": 8,
    "element": 12 * 256 + 37,
    "block_of_10000": 10000 // 256,
    "thread_of_10000": 10000 % 256,
    "blocks_x": 700 // 32,
    "blocks_y": 1000 // 8,
    "idle_2d": 0,
    "warp": (5 + 3 * 16) // 32,
    "lane": (5 + 3 * 16) % 32,
}


# %% grid_math rows_along_x -> WRONG_ANSWER
# x taken for the rows, as in mathematics, where the row comes first.
grid_math = {
    "blocks": 79,
    "threads": 79 * 256,
    "idle_threads": 224,
    "warps_a_block": 8,
    "busy_warps_of_last_block": 1,
    "element": 3109,
    "block_of_10000": 39,
    "thread_of_10000": 16,
    "blocks_x": 32,
    "blocks_y": 88,
    "idle_2d": 32 * 88 * 256 - 700000,
    "warp": 2,
    "lane": 19,
}


# %% grid_math one_left_open -> WRONG_ANSWER
# All but one entry filled in.
grid_math = {
    "blocks": 79,
    "threads": 20224,
    "idle_threads": 224,
    "warps_a_block": 8,
    "busy_warps_of_last_block": ...,
    "element": 3109,
    "block_of_10000": 39,
    "thread_of_10000": 16,
    "blocks_x": 22,
    "blocks_y": 125,
    "idle_2d": 4000,
    "warp": 1,
    "lane": 21,
}


# %% vector_add index_written_out -> PASS
# The index from its parts, and an early return.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= c.shape[0]:
        return
    x = a[i]
    y = b[i]
    c[i] = x + y


# %% vector_add with_stride -> PASS
# A grid-stride loop from an older program: here it runs once.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    for i in range(cuda.grid(1), len(c), cuda.gridsize(1)):
        c[i] = a[i] + b[i]


# %% vector_add halves -> PASS
# Each thread of the first half takes two elements, half the vector apart: still side by side.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    half = (c.size + 255) // 256 * 128
    if i < half:
        for k in range(2):
            j = i + k * half
            if j < c.size:
                c[j] = a[j] + b[j]


# %% vector_add last_block_first -> PASS
# Blocks in reverse order, the sum built up in a variable of float64.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    block = cuda.gridDim.x - 1 - cuda.blockIdx.x
    i = block * cuda.blockDim.x + cuda.threadIdx.x
    if i >= c.size: return
    out = 0.0
    out += a[i]
    out += b[i]
    c[i] = out


# %% vector_add loop_over_the_inputs -> PASS
# A loop over the two values: a tuple is made once, so each is read once.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    block = cuda.gridDim.x - 1 - cuda.blockIdx.x
    i = block * cuda.blockDim.x + cuda.threadIdx.x
    if i >= c.size: return
    out = 0.0
    for v in (a[i], b[i]):
        out += v
    c[i] = out


# %% vector_add helpers -> PASS
# The sum and the guard as device functions, the index as int32.
from numba import cuda, float32, int32


@cuda.jit(device=True)
def plus(p, q):
    return float32(p) + float32(q)


@cuda.jit(device=True)
def in_range(i, array):
    return i < array.shape[0]


@cuda.jit
def vector_add(a, b, c):
    i = int32(cuda.grid(1))
    if in_range(i, c):
        c[i] = plus(a[i], b[i])


# %% vector_add from_both_ends -> PASS
# Thread i does element i and the one as far from the end, half of the threads none.
from numba import cuda


@cuda.jit()
def vector_add(a, b, c):
    i = cuda.grid(1)
    n = c.size
    m = n - 1 - i
    if i <= m:
        c[i] = a[i] + b[i]
        if i != m:
            c[m] = a[m] + b[m]


# %% vector_add no_guard -> OUT_OF_BOUNDS
# The last block has more threads than elements are left, and every one of them works.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    c[i] = a[i] + b[i]


# %% vector_add guard_with_equal -> OUT_OF_BOUNDS
# Index N is one past the end.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i <= c.size:
        c[i] = a[i] + b[i]


# %% vector_add guard_short_by_one -> WRONG_ANSWER
# The last element counts too.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size - 1:
        c[i] = a[i] + b[i]


# %% vector_add shifted_read -> WRONG_ANSWER
# Off by one in one of the inputs, with a guard that hides it.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[max(i - 1, 0)]


# %% vector_add thread_without_block -> RACE
# threadIdx starts at 0 in each block: all blocks write the first 256 elements.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.threadIdx.x
    if i < c.size:
        c[i] = a[i] + b[i]


# %% vector_add grid_for_block -> RACE
# gridDim (blocks in the grid) in place of blockDim (threads in a block): blocks overlap.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.blockIdx.x * cuda.gridDim.x + cuda.threadIdx.x
    if i < c.size:
        c[i] = a[i] + b[i]


# %% vector_add every_thread_loops -> RACE
# The loop of ordinary Python, run by every thread.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    for i in range(c.size):
        c[i] = a[i] + b[i]


# %% vector_add one_thread_loops -> TOO_MUCH_TRAFFIC 0.6
# One thread does all: each request has one lane and pays for a whole sector.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    if cuda.grid(1) == 0:
        for i in range(c.size):
            c[i] = a[i] + b[i]


# %% vector_add eight_in_a_row -> TOO_MUCH_TRAFFIC 0.6
# "A thread should have more work": eight neighbours each, so that lanes stand 32 bytes apart.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    first = 8 * cuda.grid(1)
    for i in range(first, min(first + 8, c.size)):
        c[i] = a[i] + b[i]


# %% vector_add sums_in_the_output -> TOO_MUCH_TRAFFIC
# Copies a to c, then adds b to c: c is fetched again after the store.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i]
        c[i] += b[i]


# %% vector_add input_again_after_store -> TOO_MUCH_TRAFFIC
# Checks its own result: after the store, a and b have to be fetched again.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]
        if c[i] != a[i] + b[i]:
            c[i] = a[i] + b[i]


# %% vector_add in_place -> WRONG_ANSWER
# The sum goes into a, which is an input.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += b[i]


# %% vector_add compares -> WRONG_ANSWER
# == where = was meant: nothing is stored.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] == a[i] + b[i]


# %% vector_add whole_arrays -> DOES_NOT_COMPILE
# NumPy habits.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    c = a + b


# %% vector_add two_axes -> DOES_NOT_COMPILE
# cuda.grid(2) gives two numbers; a vector takes one.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(2)
    if i < c.size:
        c[i] = a[i] + b[i]


# %% vector_add name_from_another_cell -> REJECTED
# N was defined while experimenting further up.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < N:
        c[i] = a[i] + b[i]


# %% vector_add launches_itself -> REJECTED
# The launch belongs into another cell: here it would run before every check.
from numba import cuda
import numpy as np


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


x = np.ones(100, np.float32)
vector_add[1, 100](x, x, x)


# %% vector_add numpy_inside -> REJECTED
# A NumPy function on whole arrays cannot run on one thread.
from numba import cuda
import numpy as np


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = np.sum(a[i] + b[i])


# %% vector_add one_parameter_more -> DOES_NOT_COMPILE
# The size as a fourth parameter, as C programs pass it: the launch passes three.
from numba import cuda


@cuda.jit
def vector_add(a, b, c, n):
    i = cuda.grid(1)
    if i < n:
        c[i] = a[i] + b[i]


# %% vector_add waits_for_ever -> TIMED_OUT
# `while` in place of `if`: i never changes.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    while i < c.size:
        c[i] = a[i] + b[i]


# %% vector_add clamped_index -> RACE
# min() as a guard: the spare threads all do the last element.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = min(cuda.grid(1), c.size - 1)
    c[i] = a[i] + b[i]


# %% vector_add thread_times_block -> WRONG_ANSWER
# Thread and block swapped in the formula: most elements have no thread.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.threadIdx.x * cuda.blockDim.x + cuda.blockIdx.x
    if i < c.size:
        c[i] = a[i] + b[i]


# %% vector_add one_thread_a_block -> TOO_MUCH_TRAFFIC 0.6
# The loop of one thread, shared out among the blocks: still one lane a request.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    if cuda.threadIdx.x == 0:
        first = cuda.blockIdx.x * cuda.blockDim.x
        for i in range(first, first + cuda.blockDim.x):
            if i < c.size:
                c[i] = a[i] + b[i]


# %% vector_add adds_by_atomics -> TOO_MUCH_TRAFFIC
# Two atomics where nobody else touches the element.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = 0
        cuda.atomic.add(c, i, a[i])
        cuda.atomic.add(c, i, b[i])


# %% vector_add helper_not_jitted -> REJECTED
# A plain function cannot be called on a GPU.
from numba import cuda


def add(p, q):
    return p + q


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = add(a[i], b[i])


# %% vector_add axis_left_out -> DOES_NOT_COMPILE
# threadIdx has three parts; .x was left out.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.blockIdx * cuda.blockDim + cuda.threadIdx
    if i < c.size:
        c[i] = a[i] + b[i]


# %% vector_add names_without_cuda -> REJECTED
# The names of CUDA C, without `cuda.` before them.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = threadIdx.x + blockIdx.x * blockDim.x
    if i < c.size:
        c[i] = a[i] + b[i]


# %% vector_add size_called -> REJECTED
# The size is a number, not a method.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size():
        c[i] = a[i] + b[i]


# %% vector_add parameters_in_another_order -> WRONG_ANSWER
# The output named first, as in C programs: the launch passes it last.
from numba import cuda


@cuda.jit
def vector_add(c, a, b):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


# %% index_2d index_written_out -> PASS
# Column and row from their parts, and an early return.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row >= image.shape[0] or col >= image.shape[1]:
        return
    out[row, col] = image[row, col] + 2 * row + col


# %% index_2d x_and_y -> PASS
# The names of the axes in place of row and column, and the shape taken apart first.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    x, y = cuda.grid(2)
    height, width = out.shape
    if x < width:
        if y < height:
            value = image[y, x]
            out[y, x] = value + y + y + x


# %% index_2d flat_inside_the_block -> PASS
# Counts the threads of the block and deals out a row of 32 to each warp: the same lanes.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    number = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    col = cuda.blockIdx.x * 32 + number % 32
    row = cuda.blockIdx.y * 8 + number // 32
    if row < image.shape[0] and col < image.shape[1]:
        out[row, col] = image[row, col] + 2 * row + col


# %% index_2d strides_on_both_axes -> PASS
# Grid-stride loops on both axes: with this grid each runs once.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    x0, y0 = cuda.grid(2)
    gx, gy = cuda.gridsize(2)
    for row in range(y0, image.shape[0], gy):
        for col in range(x0, image.shape[1], gx):
            out[row, col] = image[row, col] + 2 * row + col


# %% index_2d pair_kept_whole -> PASS
# cuda.grid(2) kept as a pair, the value from a device function.
from numba import cuda, int32


@cuda.jit(device=True)
def tilt(v, r, c):
    return int32(v + (r << 1) + c)


@cuda.jit
def index_2d(image, out):
    pos = cuda.grid(2)
    c = pos[0]
    r = pos[1]
    M, N = image.shape
    if r < M and c < N:
        out[r, c] = tilt(image[r, c], r, c)


# %% index_2d numbered_along_x -> PASS
# Numbers the threads of the grid row by row, and finds row and column from the number.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    x, y = cuda.grid(2)
    wide, _ = cuda.gridsize(2)
    n = y * wide + x
    row, col = n // image.shape[1], n % image.shape[1]
    if row < image.shape[0]:
        out[row, col] = image[row, col] + 2 * row + col


# %% index_2d rows_along_x -> TOO_MUCH_TRAFFIC 0.6
# "Row first" taken from mathematics: right, and each lane of a warp is on a row of its own.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    row, col = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        out[row, col] = image[row, col] + 2 * row + col


# %% index_2d swapped_guard -> OUT_OF_BOUNDS
# Right index, but the sides are guarded with each other's length: fine on squares alone.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    if row < image.shape[1] and col < image.shape[0]:
        out[row, col] = image[row, col] + 2 * row + col


# %% index_2d no_guard -> OUT_OF_BOUNDS
# The grid is larger than the picture.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    out[row, col] = image[row, col] + 2 * row + col


# %% index_2d one_side_guarded -> OUT_OF_BOUNDS
# A guard for the rows alone.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    if row < image.shape[0]:
        out[row, col] = image[row, col] + 2 * row + col


# %% index_2d guarded_by_size -> OUT_OF_BOUNDS
# The guard of the vector: M * N is the number of pixels, not a side.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    if row * col < image.size:
        out[row, col] = image[row, col] + 2 * row + col


# %% index_2d swapped_array_index -> OUT_OF_BOUNDS
# Row and column are right and guarded, and the picture is indexed the other way round.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        out[col, row] = image[col, row] + 2 * row + col


# %% index_2d weights_swapped -> WRONG_ANSWER
# The row counts once and the column twice.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        out[row, col] = image[row, col] + row + 2 * col


# %% index_2d thread_without_block -> RACE
# Each block works on the first 8 x 32 pixels.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col = cuda.threadIdx.x
    row = cuda.threadIdx.y
    if row < image.shape[0] and col < image.shape[1]:
        out[row, col] = image[row, col] + 2 * row + col


# %% index_2d one_axis -> RACE
# cuda.grid(1) counts along x alone: the threads along y all get the same number.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    i = cuda.grid(1)
    row = i // image.shape[1]
    col = i % image.shape[1]
    if row < image.shape[0]:
        out[row, col] = image[row, col] + 2 * row + col


# %% index_2d flat_index -> DOES_NOT_COMPILE
# Row-major arithmetic by hand on an array that has two axes already.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        i = row * image.shape[1] + col
        out[i] = image[i] + 2 * row + col


# %% index_2d a_thread_a_row -> TOO_MUCH_TRAFFIC 0.6
# One thread walks along a row: the lanes of a warp stand on different rows.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    x, y = cuda.grid(2)
    row = x
    if y == 0 and row < image.shape[0]:
        for col in range(image.shape[1]):
            out[row, col] = image[row, col] + 2 * row + col


# %% index_2d numbered_along_y -> TOO_MUCH_TRAFFIC 0.6
# Numbers the threads of the grid down the columns: neighbours along x stand far apart.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    x, y = cuda.grid(2)
    gx, gy = cuda.gridsize(2)
    n = x * gy + y
    r = n // image.shape[1]
    c = n % image.shape[1]
    if r < image.shape[0]:
        out[r, c] = image[r, c] + 2 * r + c


# %% index_2d guard_with_or -> OUT_OF_BOUNDS
# `or` for `and`: one side inside is enough.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    if row < image.shape[0] or col < image.shape[1]:
        out[row, col] = image[row, col] + 2 * row + col


# %% index_2d shorter_side_for_both -> WRONG_ANSWER
# A guard that is safe on both sides leaves the rest of the longer one.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    side = min(image.shape[0], image.shape[1])
    if row < side and col < side:
        out[row, col] = image[row, col] + 2 * row + col


# %% index_2d transposed_store -> OUT_OF_BOUNDS
# Reads [row, col] and writes [col, row].
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        out[col, row] = image[row, col] + 2 * row + col


# %% index_2d place_in_the_block -> WRONG_ANSWER
# Row and column of the block in the formula, where those of the picture are meant.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        out[row, col] = image[row, col] + 2 * cuda.threadIdx.y + cuda.threadIdx.x


# %% index_2d pair_as_index -> OUT_OF_BOUNDS
# The pair (x, y) as the index: rows and columns change places, and no guard.
from numba import cuda


@cuda.jit
def index_2d(image, out):
    i = cuda.grid(2)
    out[i] = image[i] + 2 * i[1] + i[0]


# %% saxpy_grid_stride while_loop -> PASS
# The same loop with `while`.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    i = cuda.grid(1)
    while i < x.size:
        y[i] = alpha * x[i] + y[i]
        i += cuda.gridsize(1)


# %% saxpy_grid_stride step_written_out -> PASS
# The grid's size from its parts, and += on the output.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    start = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    step = cuda.blockDim.x * cuda.gridDim.x
    for i in range(start, y.shape[0], step):
        y[i] += alpha * x[i]


# %% saxpy_grid_stride a_stretch_a_block -> PASS
# Each block takes a stretch of its own, and its threads walk it side by side.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    stretch = (x.size + cuda.gridDim.x - 1) // cuda.gridDim.x
    first = cuda.blockIdx.x * stretch
    last = min(first + stretch, x.size)
    for i in range(first + cuda.threadIdx.x, last, cuda.blockDim.x):
        y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride from_the_far_end -> PASS
# Walks backwards through the vector: neighbours are neighbours either way.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    i = x.size - 1 - cuda.grid(1)
    while i >= 0:
        y[i] = alpha * x[i] + y[i]
        i = i - cuda.gridsize(1)


# %% saxpy_grid_stride a_stretch_a_warp -> PASS
# Each warp takes a stretch of whole 32s, its lanes side by side.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    warps = cuda.gridsize(1) // 32
    warp = cuda.grid(1) // 32
    each = (x.size + 32 * warps - 1) // (32 * warps) * 32
    first = warp * each
    i = first + cuda.threadIdx.x % 32
    while i < min(first + each, x.size):
        y[i] = alpha * x[i] + y[i]
        i += 32


# %% saxpy_grid_stride two_at_once -> PASS
# Two elements a round, a grid apart, with a guard for the second.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    s = cuda.gridsize(1)
    for i in range(cuda.grid(1), x.size, 2 * s):
        v = alpha * x[i] + y[i]
        j = i + s
        y[i] = v
        if j < x.size:
            y[j] = alpha * x[j] + y[j]


# %% saxpy_grid_stride rounds_of_its_own -> PASS
# Each thread counts its own rounds; the update is a device function that stores.
from numba import cuda


@cuda.jit(device=True)
def update(alpha, x, y, i):
    y[i] += alpha * x[i]


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    start, step = cuda.grid(1), cuda.gridsize(1)
    for k in range((len(x) - start + step - 1) // step):
        update(alpha, x, y, start + k * step)


# %% saxpy_grid_stride last_round_first -> PASS
# Starts with its last element and steps back.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    g = cuda.gridsize(1)
    i = cuda.grid(1)
    n = x.shape[0]
    last = i + (n - 1 - i) // g * g if i < n else -1
    for j in range(last, -1, -g):
        y[j] = y[j] + alpha * x[j]


# %% saxpy_grid_stride a_chunk_a_thread -> TOO_MUCH_TRAFFIC 0.6
# As on a CPU: each thread a contiguous chunk. The lanes of a warp stand a chunk apart.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    chunk = (x.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = cuda.grid(1) * chunk
    for i in range(first, min(first + chunk, x.size)):
        y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride one_thread -> TOO_MUCH_TRAFFIC 0.6
# A loop over all elements, run by one thread to be safe.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    if cuda.grid(1) == 0:
        for i in range(x.size):
            y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride in_two_steps -> TOO_MUCH_TRAFFIC
# Scales into y first and adds afterwards: y is fetched and stored twice.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = y[i] / alpha
        y[i] = (y[i] + x[i]) * alpha


# %% saxpy_grid_stride single_pass -> WRONG_ANSWER
# The guard of vector_add, and no loop: elements beyond the grid are left.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride step_of_a_block -> RACE
# Steps by the block and not by the grid: with several blocks elements are updated repeatedly.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    for i in range(cuda.grid(1), x.size, cuda.blockDim.x):
        y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride step_of_blocks -> RACE
# gridDim counts blocks, not threads.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridDim.x):
        y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride starts_in_the_block -> RACE
# Every block starts at its own thread 0: all blocks do the same elements.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    for i in range(cuda.threadIdx.x, x.size, cuda.gridsize(1)):
        y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride whole_rounds_only -> WRONG_ANSWER
# Does as many rounds as fit completely and forgets the rest.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    rounds = x.size // cuda.gridsize(1)
    for k in range(rounds):
        i = cuda.grid(1) + k * cuda.gridsize(1)
        y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride one_round_too_many -> OUT_OF_BOUNDS
# Rounds up and forgets the guard of the last round.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    rounds = (x.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    for k in range(rounds):
        i = cuda.grid(1) + k * cuda.gridsize(1)
        y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride never_steps -> TIMED_OUT
# The step was forgotten.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    i = cuda.grid(1)
    while i < x.size:
        y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride overwrites_y -> WRONG_ANSWER
# Forgets the y on the right.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = alpha * x[i]


# %% saxpy_grid_stride test_at_the_end -> OUT_OF_BOUNDS
# Works first and tests afterwards: the first element has no guard.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    i = cuda.grid(1)
    while True:
        y[i] = alpha * x[i] + y[i]
        i += cuda.gridsize(1)
        if i >= x.size:
            break


# %% saxpy_grid_stride two_rounds -> WRONG_ANSWER
# One `if` more in place of a loop: right up to twice the grid.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = alpha * x[i] + y[i]
    i += cuda.gridsize(1)
    if i < x.size:
        y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride step_of_128 -> RACE
# The number of threads of a block written down as the step.
from numba import cuda

STEP = 128


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    i = cuda.grid(1)
    while i < x.size:
        y[i] += alpha * x[i]
        i += STEP


# %% saxpy_grid_stride first_thread_of_each_block -> TOO_MUCH_TRAFFIC 0.6
# The stride taken for the blocks, with one thread of each at work.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    if cuda.threadIdx.x == 0:
        for i in range(cuda.blockIdx.x, x.size, cuda.gridDim.x):
            y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride whole_stretches_only -> WRONG_ANSWER
# A stretch a block, rounded down: the last elements belong to nobody.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    chunk = x.size // cuda.gridDim.x
    first = cuda.blockIdx.x * chunk
    for i in range(first + cuda.threadIdx.x, first + chunk, cuda.blockDim.x):
        y[i] = alpha * x[i] + y[i]


# %% saxpy_grid_stride whole_alpha -> WRONG_ANSWER
# int() of alpha: 1.5 becomes 1.
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    a = int(alpha)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = a * x[i] + y[i]


# %% divergence halves_of_the_grid -> PASS
# The first N threads do row 0, the next N row 1: one warp at most is torn.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    i = cuda.grid(1)
    row = i // x.shape[1]
    k = i % x.shape[1]
    if row == 0:
        y[0, k] = square_root(x[0, k])
    elif row == 1:
        y[1, k] = cube_root(x[1, k])


# %% divergence warp_by_warp -> PASS
# Even warps one row, odd warps the other.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    i = cuda.grid(1)
    warp = i // 32
    k = (warp // 2) * 32 + i % 32
    if k < x.shape[1]:
        v = x[warp % 2, k]
        if warp % 2 == 0:
            y[0, k] = square_root(v)
        else:
            y[1, k] = cube_root(v)


# %% divergence both_rows_a_thread -> PASS
# A thread does both roots of one column and half the grid goes home: no branch on the row.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    k = cuda.grid(1)
    if k >= x.shape[1]:
        return
    y[0, k] = square_root(x[0, k])
    y[1, k] = cube_root(x[1, k])


# %% divergence branch_on_the_value_uniformly -> PASS
# Decides by the number itself, which is fine where a warp's numbers are of one kind.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    row = cuda.blockIdx.x % 2
    k = (cuda.blockIdx.x // 2) * cuda.blockDim.x + cuda.threadIdx.x
    if k < x.shape[1]:
        v = x[row, k]
        if v < float32(2):
            y[row, k] = square_root(v)
        else:
            y[row, k] = cube_root(v)


# %% divergence math_functions -> PASS
# Blocks in pairs, and the roots by the library.
from numba import cuda, float32
import math


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):  # Newton's method: each step doubles the right digits
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    b = cuda.blockIdx.x
    k = b // 2 * 128 + cuda.threadIdx.x
    if k >= x.shape[1]:
        return
    if b % 2:
        y[1, k] = x[1, k] ** (1.0 / 3.0)
    else:
        y[0, k] = math.sqrt(x[0, k])


# %% divergence one_row_after_the_other -> PASS
# Two grid-stride loops, one for each row: no branch at all.
from numba import cuda, float32
import math


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):  # Newton's method: each step doubles the right digits
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    n = x.shape[1]
    for k in range(cuda.grid(1), n, cuda.gridsize(1)):
        y[0, k] = square_root(x[0, k])
    for k in range(cuda.grid(1), n, cuda.gridsize(1)):
        y[1, k] = cube_root(x[1, k])


# %% divergence both_roots_and_one_kept -> PASS
# Each thread computes both. It costs what a torn warp costs; the meter counts branches.
from numba import cuda, float32
import math


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):  # Newton's method: each step doubles the right digits
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    row = cuda.blockIdx.x % 2
    k = (cuda.blockIdx.x // 2) * cuda.blockDim.x + cuda.threadIdx.x
    if k < x.shape[1]:
        v = x[row, k]
        s = square_root(v)
        c = cube_root(v)
        y[row, k] = s if row == 0 else c


# %% divergence warps_in_pairs -> PASS
# A pair of warps shares 32 columns; Newton written out in the branches.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    warp, lane = divmod(cuda.grid(1), 32)
    pair = warp >> 1
    k = 32 * pair + lane
    row = warp & 1
    if k < x.shape[1]:
        v = x[row, k]
        r = v
        if row:
            for _ in range(12):
                r = (2 * r + v / (r * r)) / 3
        else:
            for _ in range(6):
                r = (r + v / r) / 2
        y[row, k] = r


# %% divergence branch_on_parity -> TOO_DIVERGENT 0.6
# Even threads one row, odd threads the other: every warp walks both functions.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    i = cuda.grid(1)
    k = i // 2
    if k < x.shape[1]:
        if i % 2 == 0:
            y[0, k] = square_root(x[0, k])
        else:
            y[1, k] = cube_root(x[1, k])


# %% divergence branch_on_the_data -> TOO_DIVERGENT 0.6
# Takes the numbers in an order that mixes the kinds, and lets each value pick its function.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    i = cuda.grid(1)
    row = i % 2
    k = i // 2
    if k < x.shape[1]:
        v = x[row, k]
        if v < float32(2):
            r = square_root(v)
        else:
            r = cube_root(v)
        y[row, k] = r


# %% divergence half_warps -> TOO_DIVERGENT 0.6
# 16 lanes a row: a warp is 32 lanes wide, not 16.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    i = cuda.grid(1)
    group = i // 16
    k = (group // 2) * 16 + i % 16
    if k < x.shape[1]:
        if group % 2 == 0:
            y[0, k] = square_root(x[0, k])
        else:
            y[1, k] = cube_root(x[1, k])


# %% divergence chunk_a_thread -> TOO_MUCH_TRAFFIC 0.6
# No warp is torn, but every thread walks 16 neighbours, so that the lanes stand far apart.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    first = 16 * cuda.grid(1)
    for k in range(first, min(first + 16, x.shape[1])):
        y[0, k] = square_root(x[0, k])
        y[1, k] = cube_root(x[1, k])


# %% divergence rows_mixed_up -> WRONG_ANSWER
# The functions the wrong way round.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    row = cuda.blockIdx.x % 2
    k = (cuda.blockIdx.x // 2) * cuda.blockDim.x + cuda.threadIdx.x
    if k < x.shape[1]:
        if row == 0:
            y[row, k] = cube_root(x[row, k])
        else:
            y[row, k] = square_root(x[row, k])


# %% divergence half_of_the_numbers -> WRONG_ANSWER
# The stretch is numbered by the block and not by the pair of blocks: every second is skipped.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    row = cuda.blockIdx.x % 2
    k = cuda.grid(1)
    if k < x.shape[1]:
        if row == 0:
            y[row, k] = square_root(x[row, k])
        else:
            y[row, k] = cube_root(x[row, k])


# %% divergence no_guard -> OUT_OF_BOUNDS
# The last block of each row has more threads than numbers are left.
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    row = cuda.blockIdx.x % 2
    k = (cuda.blockIdx.x // 2) * cuda.blockDim.x + cuda.threadIdx.x
    if row == 0:
        y[row, k] = square_root(x[row, k])
    else:
        y[row, k] = cube_root(x[row, k])


# %% divergence eight_lanes_a_row -> TOO_DIVERGENT 0.6
# Groups of 8, a sector each: no byte is lost, and every warp is torn.
from numba import cuda, float32
import math


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):  # Newton's method: each step doubles the right digits
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    i = cuda.grid(1)
    row = (i // 8) % 2
    k = (i // 16) * 8 + i % 8
    if k < x.shape[1]:
        if row == 0:
            y[row, k] = square_root(x[row, k])
        else:
            y[row, k] = cube_root(x[row, k])


# %% divergence until_each_lane_is_done -> TOO_DIVERGENT 0.6
# Newton until it is right: lanes need different numbers of steps.
from numba import cuda, float32
import math


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):  # Newton's method: each step doubles the right digits
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    row = cuda.blockIdx.x % 2
    k = (cuda.blockIdx.x // 2) * cuda.blockDim.x + cuda.threadIdx.x
    if k < x.shape[1]:
        v = x[row, k]
        r = v
        while abs(r - (v / r if row == 0 else v / (r * r))) > 1e-6:
            r = float32(0.5) * (r + v / r) if row == 0 else (r + r + v / (r * r)) / float32(3)
        y[row, k] = r


# %% divergence stretches_overlap -> RACE
# Half a block as the distance: neighbouring pairs of blocks do the same numbers.
from numba import cuda, float32
import math


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):  # Newton's method: each step doubles the right digits
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    row = cuda.blockIdx.x % 2
    k = (cuda.blockIdx.x // 2) * 64 + cuda.threadIdx.x
    if k < x.shape[1]:
        if row == 0:
            y[row, k] = square_root(x[row, k])
        else:
            y[row, k] = cube_root(x[row, k])


# %% divergence dealt_out_like_cards -> TOO_MUCH_TRAFFIC 0.6
# Whole blocks share a row, but neighbours in a block stand a grid apart.
from numba import cuda, float32
import math


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):  # Newton's method: each step doubles the right digits
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    row = cuda.blockIdx.x % 2
    half = cuda.gridDim.x // 2
    k = cuda.threadIdx.x * half + cuda.blockIdx.x // 2
    if k < x.shape[1]:
        if row == 0:
            y[row, k] = square_root(x[row, k])
        else:
            y[row, k] = cube_root(x[row, k])
