# Lesson 04: wrong kernels with the verdict that each must get, and honest ones that must pass.

# %% matmul_naive x_and_y_swapped -> TOO_MUCH_TRAFFIC
# Neighbouring lanes get neighbouring rows: 16 rows of A in one request, and of C too.
from numba import cuda, float32

BX = 16
BY = 16


@cuda.jit
def matmul_naive(A, B, C):
    row = cuda.blockIdx.y * BY + cuda.threadIdx.x
    column = cuda.blockIdx.x * BX + cuda.threadIdx.y
    if row < C.shape[0] and column < C.shape[1]:
        total = float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, column]
        C[row, column] = total


# %% matmul_naive x_and_y_swapped_8_wide -> TOO_MUCH_TRAFFIC
# The mildest form of the swap: 8 rows a warp where 4 would do.
from numba import cuda, float32

BX = 8
BY = 8


@cuda.jit
def matmul_naive(A, B, C):
    row = cuda.blockIdx.y * BY + cuda.threadIdx.x
    column = cuda.blockIdx.x * BX + cuda.threadIdx.y
    if row < C.shape[0] and column < C.shape[1]:
        total = float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, column]
        C[row, column] = total


# %% matmul_naive grid_axes_swapped -> WRONG_ANSWER
# x counts columns: with the two swapped, a grid made for M x N covers another rectangle.
from numba import cuda, float32

BX = 16
BY = 16


@cuda.jit
def matmul_naive(A, B, C):
    row, column = cuda.grid(2)
    if row < C.shape[0] and column < C.shape[1]:
        total = float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, column]
        C[row, column] = total


# %% matmul_naive no_guard -> OUT_OF_BOUNDS
# The last blocks reach past the edges of C.
from numba import cuda, float32

BX = 16
BY = 16


@cuda.jit
def matmul_naive(A, B, C):
    column, row = cuda.grid(2)
    total = float32(0)
    for k in range(A.shape[1]):
        total += A[row, k] * B[k, column]
    C[row, column] = total


# %% matmul_naive guard_swapped -> OUT_OF_BOUNDS
# The row is compared with the number of columns.
from numba import cuda, float32

BX = 16
BY = 16


@cuda.jit
def matmul_naive(A, B, C):
    column, row = cuda.grid(2)
    if row < C.shape[1] and column < C.shape[0]:
        total = float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, column]
        C[row, column] = total


# %% matmul_naive one_step_too_many -> OUT_OF_BOUNDS
# The steps are 0 to K - 1.
from numba import cuda, float32

BX = 16
BY = 16


@cuda.jit
def matmul_naive(A, B, C):
    column, row = cuda.grid(2)
    if row < C.shape[0] and column < C.shape[1]:
        total = float32(0)
        for k in range(A.shape[1] + 1):
            total += A[row, k] * B[k, column]
        C[row, column] = total


# %% matmul_naive b_read_by_rows -> OUT_OF_BOUNDS
# Row times row: the product with the transpose of B.
from numba import cuda, float32

BX = 16
BY = 16


@cuda.jit
def matmul_naive(A, B, C):
    column, row = cuda.grid(2)
    if row < C.shape[0] and column < C.shape[1]:
        total = float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[column, k]
        C[row, column] = total


# %% matmul_naive sum_never_cleared -> WRONG_ANSWER
# C holds no zeros at the start, so that adding to it has no meaning.
from numba import cuda

BX = 16
BY = 16


@cuda.jit
def matmul_naive(A, B, C):
    column, row = cuda.grid(2)
    if row < C.shape[0] and column < C.shape[1]:
        for k in range(A.shape[1]):
            C[row, column] += A[row, k] * B[k, column]


# %% matmul_naive sum_in_global_memory -> TOO_MUCH_TRAFFIC
# C is stored at every step: the compiler cannot know that A and C are different memory.
from numba import cuda

BX = 16
BY = 16


@cuda.jit
def matmul_naive(A, B, C):
    column, row = cuda.grid(2)
    if row < C.shape[0] and column < C.shape[1]:
        C[row, column] = 0
        for k in range(A.shape[1]):
            C[row, column] += A[row, k] * B[k, column]


# %% matmul_naive a_thread_a_row -> TOO_MUCH_TRAFFIC
# One thread computes a whole row of C: its warp has no neighbour at work.
from numba import cuda, float32


@cuda.jit
def matmul_naive(A, B, C):
    c, r = cuda.grid(2)
    if c == 0 and r < C.shape[0]:
        for j in range(C.shape[1]):
            s = float32(0)
            for k in range(A.shape[1]):
                s += A[r, k] * B[k, j]
            C[r, j] = s


# %% matmul_naive block_32_by_8 -> PASS
# A warp is 32 neighbours of one row: one sector of A and four of B a step.
from numba import cuda, float32

BX = 32
BY = 8


@cuda.jit
def matmul_naive(A, B, C):
    column, row = cuda.grid(2)
    if row < C.shape[0] and column < C.shape[1]:
        total = float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, column]
        C[row, column] = total


# %% matmul_naive block_8_by_8 -> PASS
# A warp is 4 rows of 8: four sectors of A and one of B a step.
from numba import cuda, float32

BX = 8
BY = 8


@cuda.jit
def matmul_naive(A, B, C):
    column, row = cuda.grid(2)
    if row < C.shape[0] and column < C.shape[1]:
        total = float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, column]
        C[row, column] = total


# %% matmul_naive block_64_by_4_in_double -> PASS
# float64 sums and a `while` loop: slower arithmetic, the same traffic.
from numba import cuda

BX = 64
BY = 4


@cuda.jit
def matmul_naive(A, B, C):
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    M, N = C.shape
    if row >= M or column >= N:
        return
    total = 0.0
    k = 0
    while k < A.shape[1]:
        total += A[row, k] * B[k, column]
        k += 1
    C[row, column] = total


# %% matmul_naive double_sum_and_early_return -> PASS
# float64 sum, a while loop, and no barrier to miss.
from numba import cuda, float64

BX = 32
BY = 16


@cuda.jit
def matmul_naive(A, B, C):
    c, r = cuda.grid(2)
    if r >= C.shape[0] or c >= C.shape[1]:
        return
    s = float64(0)
    k = 0
    while k < A.shape[1]:
        s += A[r, k] * B[k, c]
        k += 1
    C[r, c] = s


# %% matmul_tiled no_first_barrier -> RACE
# The tiles are read while other warps still load them.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    total = float32(0)
    for start in range(0, K, T):
        tile_a[ty, tx] = A[row, start + tx] if row < M and start + tx < K else float32(0)
        tile_b[ty, tx] = B[start + ty, column] if start + ty < K and column < N else float32(0)
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < M and column < N:
        C[row, column] = total


# %% matmul_tiled no_second_barrier -> RACE
# A fast warp loads the next tiles while a slow one still reads these.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    total = float32(0)
    for start in range(0, K, T):
        tile_a[ty, tx] = A[row, start + tx] if row < M and start + tx < K else float32(0)
        tile_b[ty, tx] = B[start + ty, column] if start + ty < K and column < N else float32(0)
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
    if row < M and column < N:
        C[row, column] = total


# %% matmul_tiled no_guard -> OUT_OF_BOUNDS
# M, N and K need not be multiples of T.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    K = A.shape[1]
    total = float32(0)
    for start in range(0, K, T):
        tile_a[ty, tx] = A[row, start + tx]
        tile_b[ty, tx] = B[start + ty, column]
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    C[row, column] = total


# %% matmul_tiled guard_forgets_k -> OUT_OF_BOUNDS
# Row and column are guarded, and the last step runs past K.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    total = float32(0)
    for start in range(0, K, T):
        tile_a[ty, tx] = A[row, start + tx] if row < M else float32(0)
        tile_b[ty, tx] = B[start + ty, column] if column < N else float32(0)
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < M and column < N:
        C[row, column] = total


# %% matmul_tiled guarded_but_not_zeroed -> UNINITIALISED
# The inner loop uses all T cells, loaded or not.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    total = float32(0)
    for start in range(0, K, T):
        if row < M and start + tx < K:
            tile_a[ty, tx] = A[row, start + tx]
        if start + ty < K and column < N:
            tile_b[ty, tx] = B[start + ty, column]
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < M and column < N:
        C[row, column] = total


# %% matmul_tiled early_return -> UNINITIALISED
# A thread without an element of C still has elements to load for the others.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    if row >= M or column >= N:
        return
    total = float32(0)
    for start in range(0, K, T):
        tile_a[ty, tx] = A[row, start + tx] if start + tx < K else float32(0)
        tile_b[ty, tx] = B[start + ty, column] if start + ty < K else float32(0)
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    C[row, column] = total


# %% matmul_tiled barrier_under_the_guard -> BARRIER_DIVERGENCE
# Threads outside C never reach the barriers of the loop.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    if row < M and column < N:
        total = float32(0)
        for start in range(0, K, T):
            tile_a[ty, tx] = A[row, start + tx] if start + tx < K else float32(0)
            tile_b[ty, tx] = B[start + ty, column] if start + ty < K else float32(0)
            cuda.syncthreads()
            for k in range(T):
                total += tile_a[ty, k] * tile_b[k, tx]
            cuda.syncthreads()
        C[row, column] = total


# %% matmul_tiled last_step_missing -> WRONG_ANSWER
# K // T steps leave out the rest of K.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    total = float32(0)
    for start in range(0, K // T * T, T):
        tile_a[ty, tx] = A[row, start + tx] if row < M and start + tx < K else float32(0)
        tile_b[ty, tx] = B[start + ty, column] if start + ty < K and column < N else float32(0)
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < M and column < N:
        C[row, column] = total


# %% matmul_tiled tile_b_turned -> WRONG_ANSWER
# The inner loop walks along a row of B's tile where it should walk down a column.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    total = float32(0)
    for start in range(0, K, T):
        tile_a[ty, tx] = A[row, start + tx] if row < M and start + tx < K else float32(0)
        tile_b[ty, tx] = B[start + ty, column] if start + ty < K and column < N else float32(0)
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[tx, k]
        cuda.syncthreads()
    if row < M and column < N:
        C[row, column] = total


# %% matmul_tiled tile_loaded_transposed -> TOO_MUCH_TRAFFIC
# Lanes walk down the rows of A: 16 sectors a request, not 4.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    total = float32(0)
    for start in range(0, K, T):
        r = cuda.blockIdx.y * T + tx
        tile_a[tx, ty] = A[r, start + ty] if r < M and start + ty < K else float32(0)
        tile_b[ty, tx] = B[start + ty, column] if start + ty < K and column < N else float32(0)
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < M and column < N:
        C[row, column] = total


# %% matmul_tiled no_tiles -> TOO_MUCH_TRAFFIC
# The kernel of matmul_naive: every thread asks for its whole row and column.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    column, row = cuda.grid(2)
    if row < C.shape[0] and column < C.shape[1]:
        total = float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, column]
        C[row, column] = total


# %% matmul_tiled only_a_in_a_tile -> TOO_MUCH_TRAFFIC
# B still comes from global memory at every step.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    total = float32(0)
    for start in range(0, K, T):
        tile_a[ty, tx] = A[row, start + tx] if row < M and start + tx < K else float32(0)
        cuda.syncthreads()
        if column < N:
            for k in range(min(T, K - start)):
                total += tile_a[ty, k] * B[start + k, column]
        cuda.syncthreads()
    if row < M and column < N:
        C[row, column] = total


# %% matmul_tiled whole_steps_only -> WRONG_ANSWER
# K // T steps: the last, partly filled tile is left out.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    s = float32(0)
    for step in range(A.shape[1] // T):
        p = step * T
        sa[y, x] = A[row, p + x] if row < A.shape[0] else float32(0)
        sb[y, x] = B[p + y, col] if col < B.shape[1] else float32(0)
        cuda.syncthreads()
        for q in range(T):
            s += sa[y, q] * sb[q, x]
        cuda.syncthreads()
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = s


# %% matmul_tiled sum_in_global_memory -> TOO_MUCH_TRAFFIC
# C is read and written in every step along K.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = 0
    for p in range(0, A.shape[1], T):
        sa[y, x] = A[row, p + x] if row < A.shape[0] and p + x < A.shape[1] else float32(0)
        sb[y, x] = B[p + y, col] if p + y < B.shape[0] and col < B.shape[1] else float32(0)
        cuda.syncthreads()
        s = float32(0)
        for q in range(T):
            s += sa[y, q] * sb[q, x]
        if row < C.shape[0] and col < C.shape[1]:
            C[row, col] += s
        cuda.syncthreads()


# %% matmul_tiled own_column_bounds_the_loop -> BARRIER_DIVERGENCE
# The last turn of the loop is only for some threads, and holds barriers.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    s = float32(0)
    p = 0
    while p + x < A.shape[1]:
        sa[y, x] = A[row, p + x] if row < A.shape[0] else float32(0)
        sb[y, x] = B[p + y, col] if p + y < B.shape[0] and col < B.shape[1] else float32(0)
        cuda.syncthreads()
        for q in range(T):
            s += sa[y, q] * sb[q, x]
        cuda.syncthreads()
        p += T
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = s


# %% matmul_tiled tiles_of_32 -> PASS
# Half the loads, and 1024 threads a block.
from numba import cuda, float32

T = 32


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    total = float32(0)
    for start in range(0, K, T):
        tile_a[ty, tx] = A[row, start + tx] if row < M and start + tx < K else float32(0)
        tile_b[ty, tx] = B[start + ty, column] if start + ty < K and column < N else float32(0)
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < M and column < N:
        C[row, column] = total


# %% matmul_tiled padded_and_counted -> PASS
# Steps counted by number, rows of 17 cells, zeros by `else`.
from numba import cuda, float32

T = 16
WIDTH = 17


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array(shape=(T, WIDTH), dtype=float32)
    tile_b = cuda.shared.array(shape=(T, WIDTH), dtype=float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.y * T + ty
    column = cuda.blockIdx.x * T + tx
    steps = (A.shape[1] + T - 1) // T
    total = float32(0)
    for step in range(steps):
        cuda.syncthreads()
        if row < A.shape[0] and step * T + tx < A.shape[1]:
            tile_a[ty, tx] = A[row, step * T + tx]
        else:
            tile_a[ty, tx] = 0
        if step * T + ty < B.shape[0] and column < B.shape[1]:
            tile_b[ty, tx] = B[step * T + ty, column]
        else:
            tile_b[ty, tx] = 0
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
    if row < C.shape[0] and column < C.shape[1]:
        C[row, column] = total


# %% matmul_tiled inner_loop_cut_short -> PASS
# No zeros: the inner loop stops where K ends, and rows that do not exist are not read.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, K = A.shape
    N = B.shape[1]
    inside = row < M and column < N
    total = float32(0)
    for start in range(0, K, T):
        if row < M and start + tx < K:
            tile_a[ty, tx] = A[row, start + tx]
        if start + ty < K and column < N:
            tile_b[ty, tx] = B[start + ty, column]
        cuda.syncthreads()
        if inside:
            for k in range(min(T, K - start)):
                total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if inside:
        C[row, column] = total


# %% matmul_tiled double_buffering -> PASS
# The next tiles are loaded while these are used: one barrier a step.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_tiled(A, B, C):
    sa = cuda.shared.array((2, T, T), float32)
    sb = cuda.shared.array((2, T, T), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    j, i = cuda.grid(2)
    m, kk = A.shape
    n = B.shape[1]
    steps = (kk + T - 1) // T
    sa[0, y, x] = A[i, x] if i < m and x < kk else float32(0)
    sb[0, y, x] = B[y, j] if y < kk and j < n else float32(0)
    cuda.syncthreads()
    s = float32(0)
    for step in range(steps):
        now = step % 2
        nxt = 1 - now
        p = (step + 1) * T
        if step + 1 < steps:
            sa[nxt, y, x] = A[i, p + x] if i < m and p + x < kk else float32(0)
            sb[nxt, y, x] = B[p + y, j] if p + y < kk and j < n else float32(0)
        for q in range(T):
            s += sa[now, y, q] * sb[now, q, x]
        cuda.syncthreads()
    if i < m and j < n:
        C[i, j] = s


# %% matmul_tiled loaded_before_the_barrier -> PASS
# Elements wait in registers until the tiles are free.
from numba import cuda, float32

T = 32


@cuda.jit
def matmul_tiled(A, B, C):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    col = cuda.blockIdx.x * T + x
    row = cuda.blockIdx.y * T + y
    s = float32(0)
    p = 0
    while p < A.shape[1]:
        u = float32(0)
        v = float32(0)
        if row < A.shape[0] and p + x < A.shape[1]:
            u = A[row, p + x]
        if col < B.shape[1] and p + y < B.shape[0]:
            v = B[p + y, col]
        cuda.syncthreads()
        sa[y, x] = u
        sb[y, x] = v
        cuda.syncthreads()
        q = 0
        while q < T:
            s += sa[y, q] * sb[q, x]
            q += 1
        p += T
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = s


# %% matmul_coarse_1d one_tile_after_the_other -> TOO_MUCH_TRAFFIC
# The loop over the four rows stands outside the loop over K: B's tiles are loaded four times.
from numba import cuda, float32

T = 16
ROWS = 64
EACH = 4


@cuda.jit
def matmul_coarse_1d(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    column = cuda.blockIdx.x * T + tx
    for i in range(EACH):
        row = cuda.blockIdx.y * ROWS + T * i + ty
        total = float32(0)
        for start in range(0, K, T):
            inside = row < M and start + tx < K
            tile_a[ty, tx] = A[row, start + tx] if inside else float32(0)
            inside = start + ty < K and column < N
            tile_b[ty, tx] = B[start + ty, column] if inside else float32(0)
            cuda.syncthreads()
            for k in range(T):
                total += tile_a[ty, k] * tile_b[k, tx]
            cuda.syncthreads()
        if row < M and column < N:
            C[row, column] = total


# %% matmul_coarse_1d totals_never_cleared -> UNINITIALISED
# A local array starts with whatever memory held.
from numba import cuda, float32

T = 16
ROWS = 64
EACH = 4


@cuda.jit
def matmul_coarse_1d(A, B, C):
    tile_a = cuda.shared.array((ROWS, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    totals = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.y * ROWS
    column = cuda.blockIdx.x * T + tx
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = first + r < M and start + tx < K
            tile_a[r, tx] = A[first + r, start + tx] if inside else float32(0)
        inside = start + ty < K and column < N
        tile_b[ty, tx] = B[start + ty, column] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            b = tile_b[k, tx]
            for i in range(EACH):
                totals[i] += tile_a[ty + T * i, k] * b
        cuda.syncthreads()
    for i in range(EACH):
        row = first + ty + T * i
        if row < M and column < N:
            C[row, column] = totals[i]


# %% matmul_coarse_1d no_second_barrier -> RACE
# The next tiles overwrite what slower warps still read.
from numba import cuda, float32

T = 16
ROWS = 64
EACH = 4


@cuda.jit
def matmul_coarse_1d(A, B, C):
    tile_a = cuda.shared.array((ROWS, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    totals = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.y * ROWS
    column = cuda.blockIdx.x * T + tx
    for i in range(EACH):
        totals[i] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = first + r < M and start + tx < K
            tile_a[r, tx] = A[first + r, start + tx] if inside else float32(0)
        inside = start + ty < K and column < N
        tile_b[ty, tx] = B[start + ty, column] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            b = tile_b[k, tx]
            for i in range(EACH):
                totals[i] += tile_a[ty + T * i, k] * b
    for i in range(EACH):
        row = first + ty + T * i
        if row < M and column < N:
            C[row, column] = totals[i]


# %% matmul_coarse_1d no_first_barrier -> RACE
# The tiles are used before they are full.
from numba import cuda, float32

T = 16
ROWS = 64
EACH = 4


@cuda.jit
def matmul_coarse_1d(A, B, C):
    tile_a = cuda.shared.array((ROWS, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    totals = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.y * ROWS
    column = cuda.blockIdx.x * T + tx
    for i in range(EACH):
        totals[i] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = first + r < M and start + tx < K
            tile_a[r, tx] = A[first + r, start + tx] if inside else float32(0)
        inside = start + ty < K and column < N
        tile_b[ty, tx] = B[start + ty, column] if inside else float32(0)
        for k in range(T):
            b = tile_b[k, tx]
            for i in range(EACH):
                totals[i] += tile_a[ty + T * i, k] * b
        cuda.syncthreads()
    for i in range(EACH):
        row = first + ty + T * i
        if row < M and column < N:
            C[row, column] = totals[i]


# %% matmul_coarse_1d rows_not_guarded -> OUT_OF_BOUNDS
# 64 rows a block reach past M sooner than 16 did.
from numba import cuda, float32

T = 16
ROWS = 64
EACH = 4


@cuda.jit
def matmul_coarse_1d(A, B, C):
    tile_a = cuda.shared.array((ROWS, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    totals = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.y * ROWS
    column = cuda.blockIdx.x * T + tx
    for i in range(EACH):
        totals[i] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = start + tx < K
            tile_a[r, tx] = A[first + r, start + tx] if inside else float32(0)
        inside = start + ty < K and column < N
        tile_b[ty, tx] = B[start + ty, column] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            b = tile_b[k, tx]
            for i in range(EACH):
                totals[i] += tile_a[ty + T * i, k] * b
        cuda.syncthreads()
    for i in range(EACH):
        row = first + ty + T * i
        if column < N:
            C[row, column] = totals[i]


# %% matmul_coarse_1d rows_computed_and_stored_differ -> WRONG_ANSWER
# The sums belong to rows 4 * ty + i, and are stored to rows ty + 16 * i.
from numba import cuda, float32

T = 16
ROWS = 64
EACH = 4


@cuda.jit
def matmul_coarse_1d(A, B, C):
    tile_a = cuda.shared.array((ROWS, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    totals = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.y * ROWS
    column = cuda.blockIdx.x * T + tx
    for i in range(EACH):
        totals[i] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = first + r < M and start + tx < K
            tile_a[r, tx] = A[first + r, start + tx] if inside else float32(0)
        inside = start + ty < K and column < N
        tile_b[ty, tx] = B[start + ty, column] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            b = tile_b[k, tx]
            for i in range(EACH):
                totals[i] += tile_a[EACH * ty + i, k] * b
        cuda.syncthreads()
    for i in range(EACH):
        row = first + ty + T * i
        if row < M and column < N:
            C[row, column] = totals[i]


# %% matmul_coarse_1d early_return -> UNINITIALISED
# A thread whose first row does not exist leaves, and its cells stay unwritten.
from numba import cuda, float32

T = 16
ROWS = 64
EACH = 4


@cuda.jit
def matmul_coarse_1d(A, B, C):
    tile_a = cuda.shared.array((ROWS, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    totals = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.y * ROWS
    column = cuda.blockIdx.x * T + tx
    if first + ty >= M or column >= N:
        return
    for i in range(EACH):
        totals[i] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = first + r < M and start + tx < K
            tile_a[r, tx] = A[first + r, start + tx] if inside else float32(0)
        inside = start + ty < K and column < N
        tile_b[ty, tx] = B[start + ty, column] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            b = tile_b[k, tx]
            for i in range(EACH):
                totals[i] += tile_a[ty + T * i, k] * b
        cuda.syncthreads()
    for i in range(EACH):
        row = first + ty + T * i
        if row < M and column < N:
            C[row, column] = totals[i]


# %% matmul_coarse_1d a_tile_loaded_by_columns -> TOO_MUCH_TRAFFIC
# Lanes walk down the rows of A.
from numba import cuda, float32

T = 16
ROWS = 64
EACH = 4


@cuda.jit
def matmul_coarse_1d(A, B, C):
    tile_a = cuda.shared.array((ROWS, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    totals = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.y * ROWS
    column = cuda.blockIdx.x * T + tx
    for i in range(EACH):
        totals[i] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = tx + T * i
            inside = first + r < M and start + ty < K
            tile_a[r, ty] = A[first + r, start + ty] if inside else float32(0)
        inside = start + ty < K and column < N
        tile_b[ty, tx] = B[start + ty, column] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            b = tile_b[k, tx]
            for i in range(EACH):
                totals[i] += tile_a[ty + T * i, k] * b
        cuda.syncthreads()
    for i in range(EACH):
        row = first + ty + T * i
        if row < M and column < N:
            C[row, column] = totals[i]


# %% matmul_coarse_1d one_sum_for_four_outputs -> WRONG_ANSWER
# Four rows are added into one sum.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_coarse_1d(A, B, C):
    sa = cuda.shared.array((64, T), float32)
    sb = cuda.shared.array((T, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top = cuda.blockIdx.y * 64
    col = cuda.blockIdx.x * T + x
    total = float32(0)
    for p in range(0, A.shape[1], T):
        for e in range(4):
            r = y + T * e
            sa[r, x] = (
                A[top + r, p + x] if top + r < A.shape[0] and p + x < A.shape[1] else float32(0)
            )
        sb[y, x] = B[p + y, col] if p + y < B.shape[0] and col < B.shape[1] else float32(0)
        cuda.syncthreads()
        for q in range(T):
            for e in range(4):
                total += sa[y + T * e, q] * sb[q, x]
        cuda.syncthreads()
    for e in range(4):
        if top + y + T * e < C.shape[0] and col < C.shape[1]:
            C[top + y + T * e, col] = total


# %% matmul_coarse_1d only_a_in_a_tile -> TOO_MUCH_TRAFFIC
# B is read from global memory by every thread.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_coarse_1d(A, B, C):
    sa = cuda.shared.array((64, T), float32)
    acc = cuda.local.array(4, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top = cuda.blockIdx.y * 64
    col = cuda.blockIdx.x * T + x
    for e in range(4):
        acc[e] = 0
    for p in range(0, A.shape[1], T):
        for e in range(4):
            r = y + T * e
            sa[r, x] = (
                A[top + r, p + x] if top + r < A.shape[0] and p + x < A.shape[1] else float32(0)
            )
        cuda.syncthreads()
        if col < B.shape[1]:
            for q in range(min(T, A.shape[1] - p)):
                b = B[p + q, col]
                for e in range(4):
                    acc[e] += sa[y + T * e, q] * b
        cuda.syncthreads()
    for e in range(4):
        if top + y + T * e < C.shape[0] and col < C.shape[1]:
            C[top + y + T * e, col] = acc[e]


# %% matmul_coarse_1d four_names -> PASS
# Four sums by name, in neighbouring rows.
from numba import cuda, float32

T = 16
ROWS = 64


@cuda.jit
def matmul_coarse_1d(A, B, C):
    tile_a = cuda.shared.array((ROWS, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.y * ROWS
    column = cuda.blockIdx.x * T + tx
    total0 = float32(0)
    total1 = float32(0)
    total2 = float32(0)
    total3 = float32(0)
    for start in range(0, K, T):
        for r in range(ty, ROWS, T):
            if first + r < M and start + tx < K:
                tile_a[r, tx] = A[first + r, start + tx]
            else:
                tile_a[r, tx] = 0
        if start + ty < K and column < N:
            tile_b[ty, tx] = B[start + ty, column]
        else:
            tile_b[ty, tx] = 0
        cuda.syncthreads()
        for k in range(T):
            b = tile_b[k, tx]
            total0 += tile_a[4 * ty, k] * b
            total1 += tile_a[4 * ty + 1, k] * b
            total2 += tile_a[4 * ty + 2, k] * b
            total3 += tile_a[4 * ty + 3, k] * b
        cuda.syncthreads()
    row = first + 4 * ty
    if column < N:
        if row < M:
            C[row, column] = total0
        if row + 1 < M:
            C[row + 1, column] = total1
        if row + 2 < M:
            C[row + 2, column] = total2
        if row + 3 < M:
            C[row + 3, column] = total3


# %% matmul_coarse_1d steps_of_32 -> PASS
# Longer tiles along K: the same loads in half as many steps.
from numba import cuda, float32

T = 16
DEPTH = 32
ROWS = 64
EACH = 4


@cuda.jit
def matmul_coarse_1d(A, B, C):
    tile_a = cuda.shared.array((ROWS, DEPTH), float32)
    tile_b = cuda.shared.array((DEPTH, T), float32)
    totals = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    t = ty * T + tx
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.y * ROWS
    column = cuda.blockIdx.x * T + tx
    for i in range(EACH):
        totals[i] = 0
    for start in range(0, K, DEPTH):
        for cell in range(t, ROWS * DEPTH, T * T):
            r = cell // DEPTH
            c = cell % DEPTH
            inside = first + r < M and start + c < K
            tile_a[r, c] = A[first + r, start + c] if inside else float32(0)
        for r in range(ty, DEPTH, T):
            inside = start + r < K and column < N
            tile_b[r, tx] = B[start + r, column] if inside else float32(0)
        cuda.syncthreads()
        for k in range(DEPTH):
            b = tile_b[k, tx]
            for i in range(EACH):
                totals[i] += tile_a[ty + T * i, k] * b
        cuda.syncthreads()
    for i in range(EACH):
        row = first + ty + T * i
        if row < M and column < N:
            C[row, column] = totals[i]


# %% matmul_coarse_1d next_tiles_in_registers -> PASS
# The next elements are loaded before these are multiplied.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_coarse_1d(A, B, C):
    sa = cuda.shared.array((64, T), float32)
    sb = cuda.shared.array((T, T), float32)
    acc = cuda.local.array(4, float32)
    nexta = cuda.local.array(4, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    top = cuda.blockIdx.y * 64
    col = cuda.blockIdx.x * T + x
    for e in range(4):
        acc[e] = 0
        nexta[e] = (
            A[top + y + 16 * e, x]
            if top + y + 16 * e < A.shape[0] and x < A.shape[1]
            else float32(0)
        )
    nextb = B[y, col] if y < B.shape[0] and col < B.shape[1] else float32(0)
    for p in range(0, A.shape[1], T):
        for e in range(4):
            sa[y + 16 * e, x] = nexta[e]
        sb[y, x] = nextb
        cuda.syncthreads()
        p2 = p + T
        for e in range(4):
            nexta[e] = (
                A[top + y + 16 * e, p2 + x]
                if top + y + 16 * e < A.shape[0] and p2 + x < A.shape[1]
                else float32(0)
            )
        nextb = B[p2 + y, col] if p2 + y < B.shape[0] and col < B.shape[1] else float32(0)
        for q in range(T):
            for e in range(4):
                acc[e] += sa[y + 16 * e, q] * sb[q, x]
        cuda.syncthreads()
    for e in range(4):
        if top + y + 16 * e < C.shape[0] and col < C.shape[1]:
            C[top + y + 16 * e, col] = acc[e]


# %% matmul_coarse patch_of_neighbours -> TOO_MUCH_TRAFFIC
# Each thread owns 4 neighbouring columns: neighbouring lanes store 16 bytes apart.
from numba import cuda, float32

T = 16
TILE = 64
EACH = 4


@cuda.jit
def matmul_coarse(A, B, C):
    tile_a = cuda.shared.array((TILE, T), float32)
    tile_b = cuda.shared.array((T, TILE), float32)
    totals = cuda.local.array((EACH, EACH), float32)
    own_a = cuda.local.array(EACH, float32)
    own_b = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    for i in range(EACH):
        for j in range(EACH):
            totals[i, j] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = top + r < M and start + tx < K
            tile_a[r, tx] = A[top + r, start + tx] if inside else float32(0)
            c = tx + T * i
            inside = start + ty < K and left + c < N
            tile_b[ty, c] = B[start + ty, left + c] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            for i in range(EACH):
                own_a[i] = tile_a[ty + T * i, k]
                own_b[i] = tile_b[k, EACH * tx + i]
            for i in range(EACH):
                for j in range(EACH):
                    totals[i, j] += own_a[i] * own_b[j]
        cuda.syncthreads()
    for i in range(EACH):
        for j in range(EACH):
            row = top + ty + T * i
            column = left + EACH * tx + j
            if row < M and column < N:
                C[row, column] = totals[i, j]


# %% matmul_coarse four_strips -> TOO_MUCH_TRAFFIC
# The kernel of matmul_coarse_1d run on four strips in turn: A is loaded four times.
from numba import cuda, float32

T = 16
TILE = 64
EACH = 4


@cuda.jit
def matmul_coarse(A, B, C):
    tile_a = cuda.shared.array((TILE, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    totals = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.y * TILE
    for strip in range(EACH):
        column = cuda.blockIdx.x * TILE + strip * T + tx
        for i in range(EACH):
            totals[i] = 0
        for start in range(0, K, T):
            for i in range(EACH):
                r = ty + T * i
                inside = first + r < M and start + tx < K
                tile_a[r, tx] = A[first + r, start + tx] if inside else float32(0)
            inside = start + ty < K and column < N
            tile_b[ty, tx] = B[start + ty, column] if inside else float32(0)
            cuda.syncthreads()
            for k in range(T):
                b = tile_b[k, tx]
                for i in range(EACH):
                    totals[i] += tile_a[ty + T * i, k] * b
            cuda.syncthreads()
        for i in range(EACH):
            row = first + ty + T * i
            if row < M and column < N:
                C[row, column] = totals[i]


# %% matmul_coarse totals_never_cleared -> UNINITIALISED
# A local array starts with whatever memory held.
from numba import cuda, float32

T = 16
TILE = 64
EACH = 4


@cuda.jit
def matmul_coarse(A, B, C):
    tile_a = cuda.shared.array((TILE, T), float32)
    tile_b = cuda.shared.array((T, TILE), float32)
    totals = cuda.local.array((EACH, EACH), float32)
    own_a = cuda.local.array(EACH, float32)
    own_b = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = top + r < M and start + tx < K
            tile_a[r, tx] = A[top + r, start + tx] if inside else float32(0)
            c = tx + T * i
            inside = start + ty < K and left + c < N
            tile_b[ty, c] = B[start + ty, left + c] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            for i in range(EACH):
                own_a[i] = tile_a[ty + T * i, k]
                own_b[i] = tile_b[k, tx + T * i]
            for i in range(EACH):
                for j in range(EACH):
                    totals[i, j] += own_a[i] * own_b[j]
        cuda.syncthreads()
    for i in range(EACH):
        for j in range(EACH):
            row = top + ty + T * i
            column = left + tx + T * j
            if row < M and column < N:
                C[row, column] = totals[i, j]


# %% matmul_coarse no_second_barrier -> RACE
# The next tiles overwrite what slower warps still read.
from numba import cuda, float32

T = 16
TILE = 64
EACH = 4


@cuda.jit
def matmul_coarse(A, B, C):
    tile_a = cuda.shared.array((TILE, T), float32)
    tile_b = cuda.shared.array((T, TILE), float32)
    totals = cuda.local.array((EACH, EACH), float32)
    own_a = cuda.local.array(EACH, float32)
    own_b = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    for i in range(EACH):
        for j in range(EACH):
            totals[i, j] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = top + r < M and start + tx < K
            tile_a[r, tx] = A[top + r, start + tx] if inside else float32(0)
            c = tx + T * i
            inside = start + ty < K and left + c < N
            tile_b[ty, c] = B[start + ty, left + c] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            for i in range(EACH):
                own_a[i] = tile_a[ty + T * i, k]
                own_b[i] = tile_b[k, tx + T * i]
            for i in range(EACH):
                for j in range(EACH):
                    totals[i, j] += own_a[i] * own_b[j]
    for i in range(EACH):
        for j in range(EACH):
            row = top + ty + T * i
            column = left + tx + T * j
            if row < M and column < N:
                C[row, column] = totals[i, j]


# %% matmul_coarse no_guard -> OUT_OF_BOUNDS
# The tiles reach past the edges.
from numba import cuda, float32

T = 16
TILE = 64
EACH = 4


@cuda.jit
def matmul_coarse(A, B, C):
    tile_a = cuda.shared.array((TILE, T), float32)
    tile_b = cuda.shared.array((T, TILE), float32)
    totals = cuda.local.array((EACH, EACH), float32)
    own_a = cuda.local.array(EACH, float32)
    own_b = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    K = A.shape[1]
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    for i in range(EACH):
        for j in range(EACH):
            totals[i, j] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            tile_a[r, tx] = A[top + r, start + tx]
            c = tx + T * i
            tile_b[ty, c] = B[start + ty, left + c]
        cuda.syncthreads()
        for k in range(T):
            for i in range(EACH):
                own_a[i] = tile_a[ty + T * i, k]
                own_b[i] = tile_b[k, tx + T * i]
            for i in range(EACH):
                for j in range(EACH):
                    totals[i, j] += own_a[i] * own_b[j]
        cuda.syncthreads()
    for i in range(EACH):
        for j in range(EACH):
            row = top + ty + T * i
            column = left + tx + T * j
            C[row, column] = totals[i, j]


# %% matmul_coarse half_of_the_tile_loaded -> UNINITIALISED
# 256 threads load one element each, as in matmul_tiled, and the tiles have 1024 cells.
from numba import cuda, float32

T = 16
TILE = 64
EACH = 4


@cuda.jit
def matmul_coarse(A, B, C):
    tile_a = cuda.shared.array((TILE, T), float32)
    tile_b = cuda.shared.array((T, TILE), float32)
    totals = cuda.local.array((EACH, EACH), float32)
    own_a = cuda.local.array(EACH, float32)
    own_b = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    for i in range(EACH):
        for j in range(EACH):
            totals[i, j] = 0
    for start in range(0, K, T):
        inside = top + ty < M and start + tx < K
        tile_a[ty, tx] = A[top + ty, start + tx] if inside else float32(0)
        inside = start + ty < K and left + tx < N
        tile_b[ty, tx] = B[start + ty, left + tx] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            for i in range(EACH):
                own_a[i] = tile_a[ty + T * i, k]
                own_b[i] = tile_b[k, tx + T * i]
            for i in range(EACH):
                for j in range(EACH):
                    totals[i, j] += own_a[i] * own_b[j]
        cuda.syncthreads()
    for i in range(EACH):
        for j in range(EACH):
            row = top + ty + T * i
            column = left + tx + T * j
            if row < M and column < N:
                C[row, column] = totals[i, j]


# %% matmul_coarse rows_and_columns_mixed_up -> WRONG_ANSWER
# The sum for row i and column j is stored at row j and column i of the patch.
from numba import cuda, float32

T = 16
TILE = 64
EACH = 4


@cuda.jit
def matmul_coarse(A, B, C):
    tile_a = cuda.shared.array((TILE, T), float32)
    tile_b = cuda.shared.array((T, TILE), float32)
    totals = cuda.local.array((EACH, EACH), float32)
    own_a = cuda.local.array(EACH, float32)
    own_b = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    for i in range(EACH):
        for j in range(EACH):
            totals[i, j] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = top + r < M and start + tx < K
            tile_a[r, tx] = A[top + r, start + tx] if inside else float32(0)
            c = tx + T * i
            inside = start + ty < K and left + c < N
            tile_b[ty, c] = B[start + ty, left + c] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            for i in range(EACH):
                own_a[i] = tile_a[ty + T * i, k]
                own_b[i] = tile_b[k, tx + T * i]
            for i in range(EACH):
                for j in range(EACH):
                    totals[i, j] += own_a[j] * own_b[i]
        cuda.syncthreads()
    for i in range(EACH):
        for j in range(EACH):
            row = top + ty + T * i
            column = left + tx + T * j
            if row < M and column < N:
                C[row, column] = totals[i, j]


# %% matmul_coarse no_tiles -> TOO_MUCH_TRAFFIC
# Sixteen outputs a thread, straight from global memory.
from numba import cuda, float32


@cuda.jit
def matmul_coarse(A, B, C):
    acc = cuda.local.array((4, 4), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    i0 = cuda.blockIdx.y * 64
    j0 = cuda.blockIdx.x * 64
    for i in range(4):
        for j in range(4):
            acc[i, j] = 0
    for k in range(A.shape[1]):
        for i in range(4):
            for j in range(4):
                r = i0 + y + 16 * i
                c = j0 + x + 16 * j
                if r < C.shape[0] and c < C.shape[1]:
                    acc[i, j] += A[r, k] * B[k, c]
    for i in range(4):
        for j in range(4):
            r = i0 + y + 16 * i
            c = j0 + x + 16 * j
            if r < C.shape[0] and c < C.shape[1]:
                C[r, c] = acc[i, j]


# %% matmul_coarse rows_and_columns_swapped_in_the_store -> WRONG_ANSWER
# Sum e is computed for one place and stored in another.
from numba import cuda, float32


@cuda.jit
def matmul_coarse(A, B, C):
    sa = cuda.shared.array((64, 16), float32)
    sb = cuda.shared.array((16, 64), float32)
    acc = cuda.local.array(16, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    i0 = cuda.blockIdx.y * 64
    j0 = cuda.blockIdx.x * 64
    for e in range(16):
        acc[e] = 0
    for p in range(0, A.shape[1], 16):
        for e in range(4):
            r = i0 + y + 16 * e
            sa[y + 16 * e, x] = A[r, p + x] if r < A.shape[0] and p + x < A.shape[1] else float32(0)
            c = j0 + x + 16 * e
            sb[y, x + 16 * e] = B[p + y, c] if p + y < B.shape[0] and c < B.shape[1] else float32(0)
        cuda.syncthreads()
        for k in range(16):
            for e in range(16):
                acc[e] += sa[y + 16 * (e // 4), k] * sb[k, x + 16 * (e % 4)]
        cuda.syncthreads()
    for e in range(16):
        r = i0 + y + 16 * (e % 4)
        c = j0 + x + 16 * (e // 4)
        if r < C.shape[0] and c < C.shape[1]:
            C[r, c] = acc[e]


# %% matmul_coarse numbered_threads -> PASS
# The threads are numbered for the loads, so that a warp loads 32 neighbours of a row of B.
from numba import cuda, float32

DEPTH = 8
TILE = 64
EACH = 4
THREADS = 256


@cuda.jit
def matmul_coarse(A, B, C):
    tile_a = cuda.shared.array((TILE, DEPTH), float32)
    tile_b = cuda.shared.array((DEPTH, TILE), float32)
    totals = cuda.local.array((EACH, EACH), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    t = ty * 16 + tx
    M, K = A.shape
    N = B.shape[1]
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    for i in range(EACH):
        for j in range(EACH):
            totals[i, j] = 0
    for start in range(0, K, DEPTH):
        for cell in range(t, TILE * DEPTH, THREADS):
            r, c = cell // DEPTH, cell % DEPTH
            inside = top + r < M and start + c < K
            tile_a[r, c] = A[top + r, start + c] if inside else float32(0)
        for cell in range(t, TILE * DEPTH, THREADS):
            r, c = cell // TILE, cell % TILE
            inside = start + r < K and left + c < N
            tile_b[r, c] = B[start + r, left + c] if inside else float32(0)
        cuda.syncthreads()
        for k in range(DEPTH):
            for i in range(EACH):
                x = tile_a[ty + 16 * i, k]
                for j in range(EACH):
                    totals[i, j] += x * tile_b[k, tx + 16 * j]
        cuda.syncthreads()
    for i in range(EACH):
        for j in range(EACH):
            row = top + ty + 16 * i
            column = left + tx + 16 * j
            if row < M and column < N:
                C[row, column] = totals[i, j]


# %% matmul_coarse neighbouring_rows -> PASS
# Each thread owns 4 neighbouring rows; the columns stay 16 apart. A's tile is stored turned.
from numba import cuda, float32

T = 16
TILE = 64
EACH = 4


@cuda.jit
def matmul_coarse(A, B, C):
    tile_a = cuda.shared.array((T, TILE), float32)
    tile_b = cuda.shared.array((T, TILE), float32)
    totals = cuda.local.array((EACH, EACH), float32)
    own_a = cuda.local.array(EACH, float32)
    own_b = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    for i in range(EACH):
        for j in range(EACH):
            totals[i, j] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = top + r < M and start + tx < K
            tile_a[tx, r] = A[top + r, start + tx] if inside else float32(0)
            c = tx + T * i
            inside = start + ty < K and left + c < N
            tile_b[ty, c] = B[start + ty, left + c] if inside else float32(0)
        cuda.syncthreads()
        for k in range(T):
            for i in range(EACH):
                own_a[i] = tile_a[k, EACH * ty + i]
                own_b[i] = tile_b[k, tx + T * i]
            for i in range(EACH):
                for j in range(EACH):
                    totals[i, j] += own_a[i] * own_b[j]
        cuda.syncthreads()
    for i in range(EACH):
        for j in range(EACH):
            row = top + EACH * ty + i
            column = left + tx + T * j
            if row < M and column < N:
                C[row, column] = totals[i, j]


# %% matmul_coarse steps_of_8 -> PASS
# Half as deep tiles, twice as many steps: the same loads.
from numba import cuda, float32

S = 8


@cuda.jit
def matmul_coarse(A, B, C):
    sa = cuda.shared.array((64, S), float32)
    sb = cuda.shared.array((S, 64), float32)
    acc = cuda.local.array(16, float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    t = y * 16 + x
    M, K = A.shape
    N = B.shape[1]
    i0 = cuda.blockIdx.y * 64
    j0 = cuda.blockIdx.x * 64
    for e in range(16):
        acc[e] = 0
    for p in range(0, K, S):
        for c in range(t, 64 * S, 256):
            r = c // S
            q = c % S
            sa[r, q] = A[i0 + r, p + q] if i0 + r < M and p + q < K else float32(0)
            r = c // 64
            q = c % 64
            sb[r, q] = B[p + r, j0 + q] if p + r < K and j0 + q < N else float32(0)
        cuda.syncthreads()
        for k in range(S):
            for e in range(16):
                acc[e] += sa[y + 16 * (e // 4), k] * sb[k, x + 16 * (e % 4)]
        cuda.syncthreads()
    for e in range(16):
        r = i0 + y + 16 * (e // 4)
        c = j0 + x + 16 * (e % 4)
        if r < M and c < N:
            C[r, c] = acc[e]


# %% matmul_coarse sixteen_rows_of_one_column -> PASS
# A column of 16 outputs a thread: more reads of the tile, the same loads.
from numba import cuda, float32


@cuda.jit
def matmul_coarse(A, B, C):
    sa = cuda.shared.array((64, 16), float32)
    sb = cuda.shared.array((16, 64), float32)
    acc = cuda.local.array(16, float32)
    t = cuda.threadIdx.y * 16 + cuda.threadIdx.x
    col = t % 64
    row = t // 64
    M, K = A.shape
    N = B.shape[1]
    i0 = cuda.blockIdx.y * 64
    j0 = cuda.blockIdx.x * 64
    for e in range(16):
        acc[e] = 0
    for p in range(0, K, 16):
        for c in range(t, 1024, 256):
            sa[c // 16, c % 16] = (
                A[i0 + c // 16, p + c % 16] if i0 + c // 16 < M and p + c % 16 < K else float32(0)
            )
            sb[c // 64, c % 64] = (
                B[p + c // 64, j0 + c % 64] if p + c // 64 < K and j0 + c % 64 < N else float32(0)
            )
        cuda.syncthreads()
        for k in range(16):
            b = sb[k, col]
            for e in range(16):
                acc[e] += sa[row + 4 * e, k] * b
        cuda.syncthreads()
    if j0 + col < N:
        for e in range(16):
            if i0 + row + 4 * e < M:
                C[i0 + row + 4 * e, j0 + col] = acc[e]


# %% matmul_a_stationary plain_addition -> RACE
# Blocks with other tiles of A's row add to the same element of C.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.x * T
    row = cuda.blockIdx.y * T + ty
    tile_a[ty, tx] = A[row, first + tx] if row < M and first + tx < K else float32(0)
    for start in range(0, N, T):
        column = start + tx
        tile_b[ty, tx] = B[first + ty, column] if first + ty < K and column < N else float32(0)
        cuda.syncthreads()
        part = float32(0)
        for k in range(T):
            part += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
        if row < M and column < N:
            C[row, column] += part


# %% matmul_a_stationary plain_store -> RACE
# The last block to store wins, and the other parts are lost.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.x * T
    row = cuda.blockIdx.y * T + ty
    tile_a[ty, tx] = A[row, first + tx] if row < M and first + tx < K else float32(0)
    for start in range(0, N, T):
        column = start + tx
        tile_b[ty, tx] = B[first + ty, column] if first + ty < K and column < N else float32(0)
        cuda.syncthreads()
        part = float32(0)
        for k in range(T):
            part += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
        if row < M and column < N:
            C[row, column] = part


# %% matmul_a_stationary an_atomic_a_product -> TOO_MUCH_TRAFFIC
# Each of the T products goes to global memory by itself.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.x * T
    row = cuda.blockIdx.y * T + ty
    tile_a[ty, tx] = A[row, first + tx] if row < M and first + tx < K else float32(0)
    for start in range(0, N, T):
        column = start + tx
        tile_b[ty, tx] = B[first + ty, column] if first + ty < K and column < N else float32(0)
        cuda.syncthreads()
        for k in range(T):
            if row < M and column < N:
                cuda.atomic.add(C, (row, column), tile_a[ty, k] * tile_b[k, tx])
        cuda.syncthreads()


# %% matmul_a_stationary a_loaded_in_every_step -> TOO_MUCH_TRAFFIC
# The tile of A is loaded again at each step: it is not held still.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.x * T
    row = cuda.blockIdx.y * T + ty
    for start in range(0, N, T):
        tile_a[ty, tx] = A[row, first + tx] if row < M and first + tx < K else float32(0)
        column = start + tx
        tile_b[ty, tx] = B[first + ty, column] if first + ty < K and column < N else float32(0)
        cuda.syncthreads()
        part = float32(0)
        for k in range(T):
            part += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
        if row < M and column < N:
            cuda.atomic.add(C, (row, column), part)


# %% matmul_a_stationary no_second_barrier -> RACE
# The next tile of B overwrites what slower warps still read.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.x * T
    row = cuda.blockIdx.y * T + ty
    tile_a[ty, tx] = A[row, first + tx] if row < M and first + tx < K else float32(0)
    for start in range(0, N, T):
        column = start + tx
        tile_b[ty, tx] = B[first + ty, column] if first + ty < K and column < N else float32(0)
        cuda.syncthreads()
        part = float32(0)
        for k in range(T):
            part += tile_a[ty, k] * tile_b[k, tx]
        if row < M and column < N:
            cuda.atomic.add(C, (row, column), part)


# %% matmul_a_stationary no_first_barrier -> RACE
# B's tile is used before it is full.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.x * T
    row = cuda.blockIdx.y * T + ty
    tile_a[ty, tx] = A[row, first + tx] if row < M and first + tx < K else float32(0)
    for start in range(0, N, T):
        column = start + tx
        tile_b[ty, tx] = B[first + ty, column] if first + ty < K and column < N else float32(0)
        part = float32(0)
        for k in range(T):
            part += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
        if row < M and column < N:
            cuda.atomic.add(C, (row, column), part)


# %% matmul_a_stationary no_guard -> OUT_OF_BOUNDS
# The tiles reach past the edges of A and B.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M = A.shape[0]
    N = B.shape[1]
    first = cuda.blockIdx.x * T
    row = cuda.blockIdx.y * T + ty
    tile_a[ty, tx] = A[row, first + tx]
    for start in range(0, N, T):
        column = start + tx
        tile_b[ty, tx] = B[first + ty, column]
        cuda.syncthreads()
        part = float32(0)
        for k in range(T):
            part += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
        if row < M and column < N:
            cuda.atomic.add(C, (row, column), part)


# %% matmul_a_stationary tile_of_b_by_row_of_a -> WRONG_ANSWER
# B's tile starts at the rows of A's tile and not at its columns.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.x * T
    other = cuda.blockIdx.y * T
    row = cuda.blockIdx.y * T + ty
    tile_a[ty, tx] = A[row, first + tx] if row < M and first + tx < K else float32(0)
    for start in range(0, N, T):
        column = start + tx
        tile_b[ty, tx] = B[other + ty, column] if other + ty < K and column < N else float32(0)
        cuda.syncthreads()
        part = float32(0)
        for k in range(T):
            part += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
        if row < M and column < N:
            cuda.atomic.add(C, (row, column), part)


# %% matmul_a_stationary part_never_cleared -> WRONG_ANSWER
# The part of one tile is added to the next one too.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    k0 = cuda.blockIdx.x * T
    i = cuda.blockIdx.y * T + y
    M, K = A.shape
    N = B.shape[1]
    s = float32(0)
    sa[y, x] = A[i, k0 + x] if i < M and k0 + x < K else float32(0)
    for j0 in range(0, N, T):
        sb[y, x] = B[k0 + y, j0 + x] if k0 + y < K and j0 + x < N else float32(0)
        cuda.syncthreads()
        for q in range(T):
            s += sa[y, q] * sb[q, x]
        cuda.syncthreads()
        if i < M and j0 + x < N:
            cuda.atomic.add(C, (i, j0 + x), s)


# %% matmul_a_stationary own_column_bounds_the_loop -> BARRIER_DIVERGENCE
# Threads without a column leave the loop, and with it the barriers.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((T, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    k0 = cuda.blockIdx.x * T
    i = cuda.blockIdx.y * T + y
    M, K = A.shape
    N = B.shape[1]
    sa[y, x] = A[i, k0 + x] if i < M and k0 + x < K else float32(0)
    for j in range(x, N, T):
        sb[y, x] = B[k0 + y, j] if k0 + y < K else float32(0)
        cuda.syncthreads()
        s = float32(0)
        for q in range(T):
            s += sa[y, q] * sb[q, x]
        cuda.syncthreads()
        if i < M:
            cuda.atomic.add(C, (i, j), s)


# %% matmul_a_stationary tiles_of_32 -> PASS
# Half the loads of B and half the atomics.
from numba import cuda, float32

T = 32


@cuda.jit
def matmul_a_stationary(A, B, C):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.x * T
    row = cuda.blockIdx.y * T + ty
    tile_a[ty, tx] = A[row, first + tx] if row < M and first + tx < K else float32(0)
    for start in range(0, N, T):
        column = start + tx
        tile_b[ty, tx] = B[first + ty, column] if first + ty < K and column < N else float32(0)
        cuda.syncthreads()
        part = float32(0)
        for k in range(T):
            part += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
        if row < M and column < N:
            cuda.atomic.add(C, (row, column), part)


# %% matmul_a_stationary row_of_a_in_registers -> PASS
# Each thread copies its row of the tile to a local array before the walk begins.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    tile = cuda.shared.array((T, T), float32)
    own = cuda.local.array(T, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    first = cuda.blockIdx.x * T
    row = cuda.blockIdx.y * T + ty
    if row < A.shape[0] and first + tx < A.shape[1]:
        tile[ty, tx] = A[row, first + tx]
    else:
        tile[ty, tx] = 0
    cuda.syncthreads()
    for k in range(T):
        own[k] = tile[ty, k]
    for start in range(0, B.shape[1], T):
        cuda.syncthreads()
        if first + ty < B.shape[0] and start + tx < B.shape[1]:
            tile[ty, tx] = B[first + ty, start + tx]
        else:
            tile[ty, tx] = 0
        cuda.syncthreads()
        part = float32(0)
        for k in range(T):
            part += own[k] * tile[k, tx]
        if row < C.shape[0] and start + tx < C.shape[1]:
            cuda.atomic.add(C, (row, start + tx), part)


# %% matmul_a_stationary two_tiles_of_b_in_turn -> PASS
# One barrier a step, because the next tile goes to other cells.
from numba import cuda, float32

T = 16


@cuda.jit
def matmul_a_stationary(A, B, C):
    sa = cuda.shared.array((T, T), float32)
    sb = cuda.shared.array((2, T, T), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    k0 = cuda.blockIdx.x * T
    i = cuda.blockIdx.y * T + y
    M, K = A.shape
    N = B.shape[1]
    v = float32(0)
    if i < M and k0 + x < K:
        v = A[i, k0 + x]
    sa[y, x] = v
    which = 0
    j = x
    while j - x < N:
        sb[which, y, x] = B[k0 + y, j] if k0 + y < K and j < N else float32(0)
        cuda.syncthreads()
        if i < M and j < N:
            s = float32(0)
            for q in range(T):
                s += sa[y, q] * sb[which, q, x]
            cuda.atomic.add(C, (i, j), s)
        which = 1 - which
        j += T
