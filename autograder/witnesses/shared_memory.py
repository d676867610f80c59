# Lesson 03: wrong kernels with the verdict that each must get, and honest ones that must pass.

# %% shared_reverse no_barrier -> RACE
# The tile is read before the other warps have filled it.
from numba import cuda, float32

REVERSED = 128


@cuda.jit
def shared_reverse(a):
    tile = cuda.shared.array(REVERSED, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i]
    a[i] = tile[REVERSED - 1 - t]


# %% shared_reverse barrier_too_early -> RACE
# The barrier stands before the store that it should wait for.
from numba import cuda, float32

REVERSED = 128


@cuda.jit
def shared_reverse(a):
    tile = cuda.shared.array(REVERSED, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    cuda.syncthreads()
    tile[t] = a[i]
    a[i] = tile[REVERSED - 1 - t]


# %% shared_reverse mirror_off_by_one -> OUT_OF_BOUNDS
# The last cell of 128 is 127: thread 0 asks for cell 128.
from numba import cuda, float32

REVERSED = 128


@cuda.jit
def shared_reverse(a):
    tile = cuda.shared.array(REVERSED, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i]
    cuda.syncthreads()
    a[i] = tile[REVERSED - t]


# %% shared_reverse grid_index_in_the_tile -> OUT_OF_BOUNDS
# Each block has a tile of its own, numbered from 0: right for the first block alone.
from numba import cuda, float32

REVERSED = 128


@cuda.jit
def shared_reverse(a):
    tile = cuda.shared.array(REVERSED, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[i] = a[i]
    cuda.syncthreads()
    a[i] = tile[REVERSED - 1 - t]


# %% shared_reverse in_place_without_a_tile -> RACE
# Another thread may have overwritten the element before it is read.
from numba import cuda


@cuda.jit
def shared_reverse(a):
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    a[start + t] = a[start + 127 - t]


# %% shared_reverse mirror_of_the_whole_array -> RACE
# One block stores into a slice that another block still reads; no barrier spans blocks.
from numba import cuda, float32

REVERSED = 128


@cuda.jit
def shared_reverse(a):
    tile = cuda.shared.array(REVERSED, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i]
    cuda.syncthreads()
    a[a.size - 1 - i] = tile[t]


# %% shared_reverse nothing_is_turned -> WRONG_ANSWER
# Each thread takes back what it brought.
from numba import cuda, float32

REVERSED = 128


@cuda.jit
def shared_reverse(a):
    tile = cuda.shared.array(REVERSED, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i]
    cuda.syncthreads()
    a[i] = tile[t]


# %% shared_reverse one_thread_fills_the_tile -> TOO_MUCH_TRAFFIC
# 128 requests of one lane each, and a sector a request.
from numba import cuda, float32

REVERSED = 128


@cuda.jit
def shared_reverse(a):
    tile = cuda.shared.array(REVERSED, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * REVERSED
    if t == 0:
        for k in range(REVERSED):
            tile[k] = a[start + k]
    cuda.syncthreads()
    a[start + t] = tile[REVERSED - 1 - t]


# %% shared_reverse every_thread_swaps -> RACE
# Both threads of a pair swap it: the second one turns it back, or half of it.
from numba import cuda


@cuda.jit
def shared_reverse(a):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    j = i - t + 127 - t
    x = a[i]
    a[i] = a[j]
    a[j] = x


# %% shared_reverse only_the_warp_waits -> RACE
# syncwarp orders the lanes of a warp; the mirrored cell belongs to another warp.
from numba import cuda, float32


@cuda.jit
def shared_reverse(a):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i]
    cuda.syncwarp()
    a[i] = tile[127 - t]


# %% shared_reverse store_reversed -> PASS
# The turn may happen on the way into the tile.
from numba import cuda, float32

REVERSED = 128


@cuda.jit
def shared_reverse(a):
    tile = cuda.shared.array(REVERSED, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[REVERSED - 1 - t] = a[i]
    cuda.syncthreads()
    a[i] = tile[t]


# %% shared_reverse a_register_and_a_barrier -> PASS
# A barrier orders global memory within a block too.
from numba import cuda


@cuda.jit
def shared_reverse(a):
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * cuda.blockDim.x
    x = a[start + cuda.blockDim.x - 1 - t]
    cuda.syncthreads()
    a[start + t] = x


# %% shared_reverse half_the_threads_swap -> PASS
# Each pair belongs to one thread, so that nobody else touches it.
from numba import cuda


@cuda.jit
def shared_reverse(a):
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    if t < 64:
        x = a[start + t]
        y = a[start + 127 - t]
        a[start + t] = y
        a[start + 127 - t] = x


# %% transpose direct -> TOO_MUCH_TRAFFIC
# Neighbouring lanes store a whole row of B apart.
from numba import cuda

TILE = 32


@cuda.jit
def transpose(A, B):
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        B[column, row] = A[row, column]


# %% transpose direct_tile_8 -> TOO_MUCH_TRAFFIC
# A smaller block makes the direct store less bad, and still twice too much.
from numba import cuda

TILE = 8


@cuda.jit
def transpose(A, B):
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        B[column, row] = A[row, column]


# %% transpose own_element_through_the_tile -> TOO_MUCH_TRAFFIC
# The tile is used, but each thread stores the element that it loaded.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]
    cuda.syncthreads()
    if row < A.shape[0] and column < A.shape[1]:
        B[column, row] = tile[ty, tx]


# %% transpose no_barrier -> RACE
# The tile is read across warps before it is full.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[tx, ty]


# %% transpose no_guard -> OUT_OF_BOUNDS
# M and N need not be multiples of the tile.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    tile[ty, tx] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    B[row, column] = tile[tx, ty]


# %% transpose store_not_guarded -> OUT_OF_BOUNDS
# The load is guarded and the store is forgotten.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]
    else:
        tile[ty, tx] = 0
    cuda.syncthreads()
    B[cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx] = tile[tx, ty]


# %% transpose tile_index_swapped -> WRONG_ANSWER
# The tiles trade places, and no tile is turned.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]
    else:
        tile[ty, tx] = 0
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[ty, tx]


# %% transpose tile_index_swapped_unfilled -> UNINITIALISED
# The same slip without zeros in the tile: a ragged tile's unloaded cells are read.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[ty, tx]


# %% transpose early_return -> WRONG_ANSWER
# A thread with nothing to load may still have something to store.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row >= A.shape[0] or column >= A.shape[1]:
        return
    tile[ty, tx] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[tx, ty]


# %% transpose tile_smaller_than_the_block -> OUT_OF_BOUNDS
# The block is TILE x TILE threads, and the tile was left at 16.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((16, 16), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[tx, ty]


# %% transpose barrier_under_the_guard -> BARRIER_DIVERGENCE
# Threads without an element to load never reach the barrier.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    r = cuda.blockIdx.y * TILE + ty
    c = cuda.blockIdx.x * TILE + tx
    if r < A.shape[0] and c < A.shape[1]:
        tile[ty, tx] = A[r, c]
        cuda.syncthreads()
    r = cuda.blockIdx.x * TILE + ty
    c = cuda.blockIdx.y * TILE + tx
    if r < B.shape[0] and c < B.shape[1]:
        B[r, c] = tile[tx, ty]


# %% transpose block_indices_not_swapped -> UNINITIALISED
# The tile is turned and put back where it came from.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]
    cuda.syncthreads()
    if row < A.shape[0] and column < A.shape[1]:
        B[row, column] = tile[tx, ty]


# %% transpose a_thread_loads_a_row_of_the_tile -> TOO_MUCH_TRAFFIC
# 32 threads fill the tile, each along a row of its own.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    y0 = cuda.blockIdx.y * TILE
    x0 = cuda.blockIdx.x * TILE
    if ty == 0:
        for k in range(TILE):
            if y0 + tx < A.shape[0] and x0 + k < A.shape[1]:
                tile[tx, k] = A[y0 + tx, x0 + k]
    cuda.syncthreads()
    if x0 + ty < B.shape[0] and y0 + tx < B.shape[1]:
        B[x0 + ty, y0 + tx] = tile[tx, ty]


# %% transpose tile_16 -> PASS
# Half a warp a row: two rows of two sectors are four sectors too.
from numba import cuda, float32

TILE = 16


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x = cuda.blockIdx.x * TILE
    y = cuda.blockIdx.y * TILE
    if y + ty < A.shape[0] and x + tx < A.shape[1]:
        tile[ty, tx] = A[y + ty, x + tx]
    cuda.syncthreads()
    if x + ty < B.shape[0] and y + tx < B.shape[1]:
        B[x + ty, y + tx] = tile[tx, ty]


# %% transpose tile_8_padded -> PASS
# Eight floats fill a sector exactly.
from numba import cuda, float32

TILE = 8
WIDTH = TILE + 1


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array(shape=(TILE, WIDTH), dtype=float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    M, N = A.shape
    if row < M and column < N:
        tile[ty, tx] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * cuda.blockDim.x + ty
    column = cuda.blockIdx.y * cuda.blockDim.y + tx
    if row < N and column < M:
        B[row, column] = tile[tx, ty]


# %% transpose turned_on_the_way_in -> PASS
# The tile may be written by columns and read by rows.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[tx, ty] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[ty, tx]


# %% transpose guard_in_a_function -> PASS
# The guard of both matrices in one device function.
from numba import cuda, float32

TILE = 8


@cuda.jit(device=True)
def inside(m, r, c):
    return r < m.shape[0] and c < m.shape[1]


@cuda.jit
def transpose(A, B):
    tile = cuda.shared.array((8, 8), dtype=float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    bx, by = cuda.blockIdx.x, cuda.blockIdx.y
    if inside(A, by * 8 + ty, bx * 8 + tx):
        tile[ty, tx] = A[by * 8 + ty, bx * 8 + tx]
    cuda.syncthreads()
    if inside(B, bx * 8 + ty, by * 8 + tx):
        B[bx * 8 + ty, by * 8 + tx] = tile[tx, ty]


# %% transpose_padded unpadded -> BANK_CONFLICTS
# A column of a tile 32 wide lies in one bank.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose_padded(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[tx, ty]


# %% transpose_padded one_row_more -> BANK_CONFLICTS
# The padding went to the wrong axis: the rows are still 32 apart.
from numba import cuda, float32

TILE = 32
PADDED = 33


@cuda.jit
def transpose_padded(A, B):
    tile = cuda.shared.array((PADDED, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[tx, ty]


# %% transpose_padded two_columns_more -> BANK_CONFLICTS
# 34 and 32 share the factor 2: the cells of a column meet in pairs.
from numba import cuda, float32

TILE = 32
PADDED = 34


@cuda.jit
def transpose_padded(A, B):
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[tx, ty]


# %% transpose_padded no_tile_no_conflict -> TOO_MUCH_TRAFFIC
# Without shared memory there is no conflict, and the store costs eight times as much.
from numba import cuda


@cuda.jit
def transpose_padded(A, B):
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        B[column, row] = A[row, column]


# %% transpose_padded no_barrier -> RACE
# The padding is right and the barrier was lost while editing.
from numba import cuda, float32

TILE = 32
PADDED = 33


@cuda.jit
def transpose_padded(A, B):
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[tx, ty]


# %% transpose_padded double_tile -> BANK_CONFLICTS
# Words of 8 bytes: a column of 32 of them meets 2 banks, not 32.
from numba import cuda, float64


@cuda.jit
def transpose_padded(A, B):
    s = cuda.shared.array((32, 32), float64)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        s[ty, tx] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * 32 + ty
    column = cuda.blockIdx.y * 32 + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = s[tx, ty]


# %% transpose_padded swizzled -> PASS
# No cell more: the column of each row is permuted instead.
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose_padded(A, B):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx ^ ty] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[tx, ty ^ tx]


# %% transpose_padded three_columns_more -> PASS
# Any odd row length will do.
from numba import cuda, float32

TILE = 32
PADDED = 35


@cuda.jit
def transpose_padded(A, B):
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        tile[tx, ty] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[ty, tx]


# %% transpose_padded flat_tile -> PASS
# One axis, with the row length of 33 written into the index.
from numba import cuda, float32


@cuda.jit
def transpose_padded(A, B):
    s = cuda.shared.array(32 * 33, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    r = cuda.blockIdx.y * 32 + ty
    c = cuda.blockIdx.x * 32 + tx
    if r < A.shape[0] and c < A.shape[1]:
        s[33 * ty + tx] = A[r, c]
    cuda.syncthreads()
    r = cuda.blockIdx.x * 32 + ty
    c = cuda.blockIdx.y * 32 + tx
    if r < B.shape[0] and c < B.shape[1]:
        B[r, c] = s[33 * tx + ty]


# %% transpose_padded rotated_columns -> PASS
# Each row begins one cell further on: no padding needed.
from numba import cuda, float32


@cuda.jit
def transpose_padded(A, B):
    s = cuda.shared.array((32, 32), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        s[ty, (tx + ty) % 32] = A[row, column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * 32 + ty
    column = cuda.blockIdx.y * 32 + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = s[tx, (ty + tx) % 32]


# %% stencil_halo halo_never_loaded -> UNINITIALISED
# The tile has room for the halo, and nobody fills it.
from numba import cuda, float32

TPB = 256
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t + RADIUS] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    if i < a.size:
        total = float32(0)
        for k in range(2 * RADIUS + 1):
            total += tile[t + k]
        out[i] = total


# %% stencil_halo no_barrier -> RACE
# Neighbours are read before the threads that load them are known to be done.
from numba import cuda, float32

TPB = 256
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t + RADIUS] = a[i] if i < a.size else float32(0)
    if t < RADIUS:
        tile[t] = a[i - RADIUS] if i >= RADIUS else float32(0)
        tile[t + RADIUS + TPB] = a[i + TPB] if i + TPB < a.size else float32(0)
    if i < a.size:
        total = float32(0)
        for k in range(2 * RADIUS + 1):
            total += tile[t + k]
        out[i] = total


# %% stencil_halo ends_not_guarded -> OUT_OF_BOUNDS
# The first block has no left neighbour: a[-3] does not exist.
from numba import cuda, float32

TPB = 256
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t + RADIUS] = a[i] if i < a.size else float32(0)
    if t < RADIUS:
        tile[t] = a[i - RADIUS]
        tile[t + RADIUS + TPB] = a[i + TPB]
    cuda.syncthreads()
    if i < a.size:
        total = float32(0)
        for k in range(2 * RADIUS + 1):
            total += tile[t + k]
        out[i] = total


# %% stencil_halo room_for_one_halo -> OUT_OF_BOUNDS
# The halo has two sides.
from numba import cuda, float32

TPB = 256
RADIUS = 3
WITH_HALO = TPB + RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t + RADIUS] = a[i] if i < a.size else float32(0)
    if t < RADIUS:
        tile[t] = a[i - RADIUS] if i >= RADIUS else float32(0)
        tile[t + RADIUS + TPB] = a[i + TPB] if i + TPB < a.size else float32(0)
    cuda.syncthreads()
    if i < a.size:
        total = float32(0)
        for k in range(2 * RADIUS + 1):
            total += tile[t + k]
        out[i] = total


# %% stencil_halo guarded_but_not_zeroed -> UNINITIALISED
# An `if` without `else` leaves cells past the end of the array unwritten.
from numba import cuda, float32

TPB = 256
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.size:
        tile[t + RADIUS] = a[i]
    if t < RADIUS:
        if i >= RADIUS:
            tile[t] = a[i - RADIUS]
        if i + TPB < a.size:
            tile[t + RADIUS + TPB] = a[i + TPB]
    cuda.syncthreads()
    if i < a.size:
        total = float32(0)
        for k in range(2 * RADIUS + 1):
            total += tile[t + k]
        out[i] = total


# %% stencil_halo early_return -> UNINITIALISED
# Threads past the end leave, and the zeros that they should store are missing.
from numba import cuda, float32

TPB = 256
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i >= a.size:
        return
    tile[t + RADIUS] = a[i]
    if t < RADIUS:
        tile[t] = a[i - RADIUS] if i >= RADIUS else float32(0)
        tile[t + RADIUS + TPB] = a[i + TPB] if i + TPB < a.size else float32(0)
    cuda.syncthreads()
    total = float32(0)
    for k in range(2 * RADIUS + 1):
        total += tile[t + k]
    out[i] = total


# %% stencil_halo right_halo_misplaced -> RACE
# The right halo lands on the cells of the last three threads.
from numba import cuda, float32

TPB = 256
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t + RADIUS] = a[i] if i < a.size else float32(0)
    if t < RADIUS:
        tile[t] = a[i - RADIUS] if i >= RADIUS else float32(0)
        tile[t + TPB] = a[i + TPB] if i + TPB < a.size else float32(0)
    cuda.syncthreads()
    if i < a.size:
        total = float32(0)
        for k in range(2 * RADIUS + 1):
            total += tile[t + k]
        out[i] = total


# %% stencil_halo ends_clamped -> WRONG_ANSWER
# The first and last element stand in for what does not exist; the task says 0.
from numba import cuda, float32

TPB = 256
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    last = a.size - 1
    tile[t + RADIUS] = a[min(i, last)]
    if t < RADIUS:
        tile[t] = a[max(i - RADIUS, 0)]
        tile[t + RADIUS + TPB] = a[min(i + TPB, last)]
    cuda.syncthreads()
    if i < a.size:
        total = float32(0)
        for k in range(2 * RADIUS + 1):
            total += tile[t + k]
        out[i] = total


# %% stencil_halo one_term_short -> WRONG_ANSWER
# A window of radius 3 has seven elements.
from numba import cuda, float32

TPB = 256
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t + RADIUS] = a[i] if i < a.size else float32(0)
    if t < RADIUS:
        tile[t] = a[i - RADIUS] if i >= RADIUS else float32(0)
        tile[t + RADIUS + TPB] = a[i + TPB] if i + TPB < a.size else float32(0)
    cuda.syncthreads()
    if i < a.size:
        total = float32(0)
        for k in range(2 * RADIUS):
            total += tile[t + k]
        out[i] = total


# %% stencil_halo seven_global_loads -> TOO_MUCH_TRAFFIC
# No tile: each element is asked for seven times.
from numba import cuda, float32

TPB = 256
RADIUS = 3


@cuda.jit
def stencil_halo(a, out):
    i = cuda.grid(1)
    if i < a.size:
        total = float32(0)
        for k in range(-RADIUS, RADIUS + 1):
            if i + k >= 0 and i + k < a.size:
                total += a[i + k]
        out[i] = total


# %% stencil_halo window_read_from_global_memory -> TOO_MUCH_TRAFFIC
# The tile is filled, and then not used.
from numba import cuda, float32

TPB = 256


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.size:
        tile[t] = a[i]
    cuda.syncthreads()
    if i < a.size:
        s = float32(0)
        for d in range(-3, 4):
            j = i + d
            if j >= 0 and j < a.size:
                s += a[j]
        out[i] = s


# %% stencil_halo halo_loaded_after_the_barrier -> RACE
# The barrier stands between the two loads: the halo comes too late.
from numba import cuda, float32

TPB = 256
WIDE = TPB + 6


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WIDE, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t + 3] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    if t < 3:
        tile[t] = a[i - 3] if i >= 3 else float32(0)
        tile[t + TPB + 3] = a[i + TPB] if i + TPB < a.size else float32(0)
    if i < a.size:
        s = float32(0)
        for k in range(7):
            s += tile[t + k]
        out[i] = s


# %% stencil_halo one_run_of_cells -> PASS
# Block-stride over the tile: simpler, and each warp's load straddles one sector more.
from numba import cuda, float32

TPB = 256
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * TPB - RADIUS
    for c in range(t, WITH_HALO, TPB):
        j = start + c
        tile[c] = a[j] if 0 <= j < a.size else float32(0)
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < a.size:
        total = float32(0)
        for k in range(2 * RADIUS + 1):
            total += tile[t + k]
        out[i] = total


# %% stencil_halo one_thread_loads_the_halo -> PASS
# Six lone requests a block.
from numba import cuda, float32

TPB = 128
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.size:
        tile[t + RADIUS] = a[i]
    else:
        tile[t + RADIUS] = 0.0
    if t == 0:
        for k in range(RADIUS):
            if i - RADIUS + k >= 0:
                tile[k] = a[i - RADIUS + k]
            else:
                tile[k] = 0.0
            if i + TPB + k < a.size:
                tile[TPB + RADIUS + k] = a[i + TPB + k]
            else:
                tile[TPB + RADIUS + k] = 0.0
    cuda.syncthreads()
    if i < a.size:
        out[i] = (
            tile[t]
            + tile[t + 1]
            + tile[t + 2]
            + tile[t + 3]
            + tile[t + 4]
            + tile[t + 5]
            + tile[t + 6]
        )


# %% stencil_halo both_ends_of_the_block -> PASS
# The first threads load the left halo and the last ones the right halo.
from numba import cuda, float32

TPB = 512
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t + RADIUS] = a[i] if i < a.size else float32(0)
    if t < RADIUS:
        tile[t] = a[i - RADIUS] if i >= RADIUS else float32(0)
    if t >= TPB - RADIUS:
        tile[t + 2 * RADIUS] = a[i + RADIUS] if i + RADIUS < a.size else float32(0)
    cuda.syncthreads()
    if i < a.size:
        total = float32(0)
        for k in range(2 * RADIUS + 1):
            total += tile[t + k]
        out[i] = total


# %% stencil_halo three_tiles -> PASS
# The block's own elements and each halo in an array of their own.
from numba import cuda, float32, float64

TPB = 256


@cuda.jit
def stencil_halo(a, out):
    own = cuda.shared.array(TPB, float32)
    left = cuda.shared.array(3, float32)
    right = cuda.shared.array(3, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    own[t] = a[i] if i < a.size else 0.0
    if t < 3:
        k = i - 3
        left[t] = a[k] if k >= 0 else 0.0
        k = i + TPB
        right[t] = a[k] if k < a.size else 0.0
    cuda.syncthreads()
    if i < a.size:
        s = float64(0)
        for d in range(-3, 4):
            c = t + d
            if c < 0:
                s += left[c + 3]
            elif c >= TPB:
                s += right[c - TPB]
            else:
                s += own[c]
        out[i] = s


# %% block_sum no_barrier_in_the_tree -> RACE
# Each halving reads what the one before has written.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum no_barrier_after_the_load -> RACE
# The first halving reads the other half's loads.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum last_warp_without_barriers -> RACE
# The lanes of a warp need not run in step; only a barrier orders them.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        if s > 32:
            cuda.syncthreads()
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum barrier_inside_the_if -> BARRIER_DIVERGENCE
# Half of the threads wait for the other half, which never comes.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
            cuda.syncthreads()
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum no_guard -> OUT_OF_BOUNDS
# The last slice may be short.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    tile[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum guard_without_zero -> UNINITIALISED
# Cells without an element are added all the same.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.size:
        tile[t] = a[i]
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum early_return -> UNINITIALISED
# The threads that left should have stored zeros.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i >= a.size:
        return
    tile[t] = a[i]
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum every_thread_stores -> RACE
# 256 threads store the same number to one place.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    out[cuda.blockIdx.x] = tile[0]


# %% block_sum one_step_short -> WRONG_ANSWER
# The loop stops while two sums are left.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    s = TPB // 2
    while s > 1:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum atomics_on_an_unset_output -> WRONG_ANSWER
# out does not start at zero, so that adding to it has no meaning.
from numba import cuda


@cuda.jit
def block_sum(a, out):
    i = cuda.grid(1)
    if i < a.size:
        cuda.atomic.add(out, cuda.blockIdx.x, a[i])


# %% block_sum one_thread_adds -> TOO_SERIAL
# 255 threads wait while one adds 256 cells.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(TPB):
            total += tile[k]
        out[cuda.blockIdx.x] = total


# %% block_sum one_thread_walks_the_slice -> TOO_MUCH_TRAFFIC
# A lone lane moves a sector for each element.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    start = cuda.blockIdx.x * TPB
    if cuda.threadIdx.x == 0:
        total = float32(0)
        for k in range(start, min(start + TPB, a.size)):
            total += a[k]
        out[cuda.blockIdx.x] = total


# %% block_sum one_thread_too_many -> OUT_OF_BOUNDS
# `<=`: thread s adds a cell of its own, and past the end in the first step.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t <= s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum halved_with_a_slash -> DOES_NOT_COMPILE
# `/` gives a float, which is no index.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    s = TPB / 2
    while s >= 1:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s = s / 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum endless_halving -> TIMED_OUT
# 0 // 2 is 0 for ever.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    s = TPB // 2
    while s >= 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum atomics_on_a_cleared_output -> TOO_MUCH_TRAFFIC
# Right, and every thread's atomic goes to memory.
from numba import cuda, float32


@cuda.jit
def block_sum(a, out):
    i = cuda.grid(1)
    b = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        out[b] = 0
    cuda.syncthreads()
    if i < a.size:
        cuda.atomic.add(out, b, a[i])


# %% block_sum neighbours_first -> PASS
# The tree of doubling strides: more divergent, the same traffic.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    s = 1
    while s < TPB:
        if t % (2 * s) == 0:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s *= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum shifts_and_half_the_threads -> PASS
# A barrier at the top of the loop serves the load and each halving.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * TPB + t
    tile[t] = 0.0
    if i < a.shape[0]:
        tile[t] = a[i]
    s = TPB >> 1
    while s:
        cuda.syncthreads()
        if t < s:
            tile[t] = tile[t] + tile[t + s]
        s >>= 1
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# %% block_sum warps_then_one_warp -> PASS
# Shuffles within each warp, and one more warp's worth of shuffles over their sums.
from numba import cuda, float32

WARPS = 8
ALL = 0xFFFFFFFF


@cuda.jit
def block_sum(a, out):
    sums = cuda.shared.array(WARPS, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    x = a[i] if i < a.size else float32(0)
    for step in range(5):
        x += cuda.shfl_down_sync(ALL, x, 16 >> step)
    if t % 32 == 0:
        sums[t // 32] = x
    cuda.syncthreads()
    if t < 32:
        y = sums[t] if t < WARPS else float32(0)
        for step in range(5):
            y += cuda.shfl_down_sync(ALL, y, 16 >> step)
        if t == 0:
            out[cuda.blockIdx.x] = y


# %% block_sum atomics_in_shared_memory -> PASS
# 256 atomics on one shared cell: no global traffic.
from numba import cuda, float32


@cuda.jit
def block_sum(a, out):
    total = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    if t == 0:
        total[0] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < a.size:
        cuda.atomic.add(total, 0, a[i])
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = total[0]


# %% block_sum upper_half_leaves -> PASS
# Threads from 128 on return after the first barrier: they are not waited for.
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    x = float32(0)
    if i < a.size:
        x = a[i]
    tile[t] = x
    cuda.syncthreads()
    if t >= 128:
        return
    s = 128
    while s >= 1:
        if t < s:
            x += tile[t + s]
            tile[t] = x
        cuda.syncthreads()
        s = s >> 1
    if t == 0:
        out[cuda.blockIdx.x] = x


# %% row_sum a_thread_a_row -> TOO_MUCH_TRAFFIC
# Neighbouring lanes read a whole row apart.
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):
    row = cuda.grid(1)
    if row < a.shape[0]:
        total = float32(0)
        for j in range(a.shape[1]):
            total += a[row, j]
        out[row] = total


# %% row_sum first_lane_walks_alone -> TOO_MUCH_TRAFFIC
# A warp a row, and 31 lanes of it do nothing.
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):
    row = cuda.grid(1) // 32
    lane = cuda.grid(1) % 32
    if row < a.shape[0] and lane == 0:
        total = float32(0)
        for j in range(a.shape[1]):
            total += a[row, j]
        out[row] = total


# %% row_sum a_run_a_lane -> TOO_MUCH_TRAFFIC
# Each lane walks a run of its own, so that the lanes are never side by side.
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.grid(1) // 32
    lane = t % 32
    total = float32(0)
    if row < a.shape[0]:
        run = (a.shape[1] + 31) // 32
        for j in range(lane * run, min((lane + 1) * run, a.shape[1])):
            total += a[row, j]
    cache[t] = total
    cuda.syncthreads()
    s = 16
    while s > 0:
        if lane < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if lane == 0 and row < a.shape[0]:
        out[row] = cache[t]


# %% row_sum no_barrier_within_the_warp -> RACE
# The lanes of a warp are not promised to run in step.
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.grid(1) // 32
    lane = t % 32
    total = float32(0)
    if row < a.shape[0]:
        for j in range(lane, a.shape[1], 32):
            total += a[row, j]
    cache[t] = total
    s = 16
    while s > 0:
        if lane < s:
            cache[t] += cache[t + s]
        s //= 2
    if lane == 0 and row < a.shape[0]:
        out[row] = cache[t]


# %% row_sum rows_not_guarded -> OUT_OF_BOUNDS
# The last block may have more warps than rows are left.
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.grid(1) // 32
    lane = t % 32
    total = float32(0)
    for j in range(lane, a.shape[1], 32):
        total += a[row, j]
    cache[t] = total
    cuda.syncthreads()
    s = 16
    while s > 0:
        if lane < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if lane == 0:
        out[row] = cache[t]


# %% row_sum barrier_under_the_row_guard -> BARRIER_DIVERGENCE
# Warps without a row skip the barrier, and the others wait for them.
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.grid(1) // 32
    lane = t % 32
    if row < a.shape[0]:
        total = float32(0)
        for j in range(lane, a.shape[1], 32):
            total += a[row, j]
        cache[t] = total
        cuda.syncthreads()
        s = 16
        while s > 0:
            if lane < s:
                cache[t] += cache[t + s]
            cuda.syncthreads()
            s //= 2
        if lane == 0:
            out[row] = cache[t]


# %% row_sum tree_over_the_block -> WRONG_ANSWER
# The tree of block_sum adds the rows of all warps of the block together.
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.grid(1) // 32
    lane = t % 32
    total = float32(0)
    if row < a.shape[0]:
        for j in range(lane, a.shape[1], 32):
            total += a[row, j]
    cache[t] = total
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if lane == 0 and row < a.shape[0]:
        out[row] = cache[t]


# %% row_sum every_lane_stores -> RACE
# 32 lanes store to one element.
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.grid(1) // 32
    lane = t % 32
    total = float32(0)
    if row < a.shape[0]:
        for j in range(lane, a.shape[1], 32):
            total += a[row, j]
    cache[t] = total
    cuda.syncthreads()
    s = 16
    while s > 0:
        if lane < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if row < a.shape[0]:
        out[row] = cache[t - lane]


# %% row_sum one_cache_for_all_warps -> RACE
# All warps of the block use the same 32 cells.
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):
    cache = cuda.shared.array(32, float32)
    row = cuda.grid(1) // 32
    lane = cuda.grid(1) % 32
    total = float32(0)
    if row < a.shape[0]:
        for j in range(lane, a.shape[1], 32):
            total += a[row, j]
    cache[lane] = total
    cuda.syncthreads()
    s = 16
    while s > 0:
        if lane < s:
            cache[lane] += cache[lane + s]
        cuda.syncthreads()
        s //= 2
    if lane == 0 and row < a.shape[0]:
        out[row] = cache[0]


# %% row_sum lanes_without_an_element_leave -> UNINITIALISED
# A lane that has returned takes no part in the shuffle.
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):
    row = cuda.grid(1) // 32
    lane = cuda.grid(1) % 32
    if row >= a.shape[0] or lane >= a.shape[1]:
        return
    total = float32(0)
    for j in range(lane, a.shape[1], 32):
        total += a[row, j]
    for s in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, s)
    if lane == 0:
        out[row] = total


# %% row_sum whole_steps_only -> WRONG_ANSWER
# N // 32 steps: the rest of the row is left out.
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):
    row = cuda.grid(1) // 32
    lane = cuda.grid(1) % 32
    total = float32(0)
    if row < a.shape[0]:
        for k in range(a.shape[1] // 32):
            total += a[row, lane + 32 * k]
    for s in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, s)
    if lane == 0 and row < a.shape[0]:
        out[row] = total


# %% row_sum shuffles -> PASS
# No shared memory: the lanes hand their sums to each other.
from numba import cuda, float32

TPB = 128


@cuda.jit
def row_sum(a, out):
    row = cuda.grid(1) // 32
    lane = cuda.laneid
    total = float32(0)
    if row < a.shape[0]:
        for j in range(lane, a.shape[1], 32):
            total += a[row, j]
    s = 16
    while s > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, s)
        s //= 2
    if lane == 0 and row < a.shape[0]:
        out[row] = total


# %% row_sum whole_warps_leave -> PASS
# A warp without a row returns; syncwarp orders the lanes of those that stay.
from numba import cuda, float32

TPB = 512


@cuda.jit
def row_sum(a, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.grid(1) // 32
    lane = t & 31
    if row >= a.shape[0]:
        return
    total = float32(0)
    j = lane
    while j < a.shape[1]:
        total += a[row, j]
        j += 32
    cache[t] = total
    cuda.syncwarp()
    s = 16
    while s > 0:
        if lane < s:
            cache[t] += cache[t + s]
        cuda.syncwarp()
        s //= 2
    if lane == 0:
        out[row] = cache[t]


# %% row_sum first_lane_adds_the_cells -> PASS
# Loads by the whole warp, and 32 additions by one lane from shared memory.
from numba import cuda, float32

TPB = 64


@cuda.jit
def row_sum(a, out):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.grid(1) // 32
    lane = t % 32
    M, N = a.shape
    total = float32(0)
    if row < M:
        for j in range(lane, N, 32):
            total += a[row, j]
    cache[t] = total
    cuda.syncthreads()
    if lane == 0 and row < M:
        for k in range(1, 32):
            total += cache[t + k]
        out[row] = total


# %% row_sum atomics_in_shared_memory -> PASS
# One shared cell a row, in float64.
from numba import cuda, float64

TPB = 1024


@cuda.jit
def row_sum(a, out):
    acc = cuda.shared.array(32, float64)
    t = cuda.threadIdx.x
    if t < 32:
        acc[t] = 0
    cuda.syncthreads()
    row = cuda.grid(1) // 32
    if row < a.shape[0]:
        mine = float64(0)
        for j in range(t % 32, a.shape[1], 32):
            mine += a[row, j]
        cuda.atomic.add(acc, t // 32, mine)
    cuda.syncthreads()
    if t % 32 == 0 and row < a.shape[0]:
        out[row] = acc[t // 32]


# %% dot no_barrier -> RACE
# The tree reads cells that other warps may not have stored yet.
from numba import cuda, float32

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    s = TPB // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        s //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot every_thread_stores -> RACE
# 256 threads store their own sums to one element: the last one wins.
from numba import cuda, float32

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    partial[cuda.blockIdx.x] = total


# %% dot every_thread_stores_the_sum -> RACE
# The value is the same, and it is a race all the same.
from numba import cuda, float32

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    partial[cuda.blockIdx.x] = cache[0]


# %% dot barrier_inside_the_if -> BARRIER_DIVERGENCE
# Threads above s never arrive.
from numba import cuda, float32

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
            cuda.syncthreads()
        s //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot an_atomic_an_element -> TOO_MUCH_TRAFFIC
# Each product goes to global memory by itself.
from numba import cuda

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        cuda.atomic.add(partial, 0, a[i] * b[i])


# %% dot an_atomic_a_thread -> TOO_MUCH_TRAFFIC
# No cache in shared memory: all threads of a block queue up at one address.
from numba import cuda, float32

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cuda.atomic.add(partial, cuda.blockIdx.x, total)


# %% dot a_run_a_thread -> TOO_MUCH_TRAFFIC
# Each thread multiplies a run of neighbours, so that the lanes are a run apart.
from numba import cuda, float32

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    run = (a.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    start = cuda.grid(1) * run
    total = float32(0)
    for i in range(start, min(start + run, a.size)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot one_product_a_thread -> WRONG_ANSWER
# The grid is smaller than N: without the loop the rest is never multiplied.
from numba import cuda, float32

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    cache[t] = a[i] * b[i] if i < a.size else float32(0)
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot stride_of_a_block -> WRONG_ANSWER
# A stride of one block lets every block multiply what other blocks multiply too.
from numba import cuda, float32

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.blockDim.x):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot cache_never_cleared -> UNINITIALISED
# Adding to a cell that nobody has set.
from numba import cuda, float32

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        cache[t] += a[i] * b[i]
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot one_thread_adds_the_cache -> TOO_SERIAL
# 255 threads wait for one.
from numba import cuda, float32

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    if t == 0:
        for k in range(1, TPB):
            total += cache[k]
        partial[cuda.blockIdx.x] = total


# %% dot one_product_a_thread_of_the_largest_grid -> WRONG_ANSWER
# Enough for 32,768 elements, and not for more.
from numba import cuda, float32

TPB = 1024
BLOCKS = 32


@cuda.jit
def dot(a, b, partial):
    c = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    c[t] = a[i] * b[i] if i < a.size else float32(0)
    h = TPB // 2
    while h > 0:
        cuda.syncthreads()
        if t < h:
            c[t] += c[t + h]
        h //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = c[0]


# %% dot one_thread_adds_with_fewest_blocks -> TOO_SERIAL
# The smallest grid has the longest loops beside it.
from numba import cuda, float32

TPB = 256
BLOCKS = 8


@cuda.jit
def dot(a, b, partial):
    c = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    s = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        s += a[i] * b[i]
    c[t] = s
    cuda.syncthreads()
    if t == 0:
        s = float32(0)
        for k in range(TPB):
            s += c[k]
        partial[cuda.blockIdx.x] = s


# %% dot sum_in_float16 -> WRONG_ANSWER
# Each thread's sum has 11 significant bits.
from numba import cuda, float32
from numba.types import float16

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    c = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    s = float16(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        s = float16(s + a[i] * b[i])
    c[t] = s
    h = TPB // 2
    while h > 0:
        cuda.syncthreads()
        if t < h:
            c[t] += c[t + h]
        h //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = c[0]


# %% dot one_atomic_a_block -> PASS
# The host's sum has nothing left to do, and the order of the blocks is left to chance.
from numba import cuda, float32

TPB = 256
BLOCKS = 32


@cuda.jit
def dot(a, b, partial):
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        cuda.atomic.add(partial, 0, cache[0])


# %% dot while_loops_and_a_large_block -> PASS
# The classic form, with two `while` loops.
from numba import cuda, float32

TPB = 1024
BLOCKS = 8


@cuda.jit
def dot(a, b, partial):
    cache = cuda.shared.array(shape=TPB, dtype=float32)
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    own = cuda.threadIdx.x
    total = float32(0.0)
    while i < a.shape[0]:
        total = total + a[i] * b[i]
        i = i + cuda.blockDim.x * cuda.gridDim.x
    cache[own] = total
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half != 0:
        if own < half:
            cache[own] = cache[own] + cache[own + half]
        cuda.syncthreads()
        half = half // 2
    if own == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot a_double_accumulator -> PASS
# float64 sums from float32 products: slower arithmetic, the same traffic.
from numba import cuda, float64

TPB = 256
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    cache = cuda.shared.array(TPB, float64)
    t = cuda.threadIdx.x
    total = 0.0
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot all_blocks_add_to_one_element -> PASS
# One atomic a block, all to partial[0].
from numba import cuda, float64

TPB = 1024
BLOCKS = 16


@cuda.jit
def dot(a, b, partial):
    c = cuda.shared.array(TPB, float64)
    t = cuda.threadIdx.x
    s = 0.0
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        s += float64(a[i]) * b[i]
    c[t] = s
    cuda.syncthreads()
    h = TPB
    while h > 1:
        h >>= 1
        if t < h:
            c[t] += c[t + h]
        cuda.syncthreads()
    if t == 0:
        cuda.atomic.add(partial, 0, c[0])


# %% dot a_name_for_everything -> PASS
# While loops and temporaries: three times the operations of a short version.
from numba import cuda, float32

TPB = 256
BLOCKS = 8


@cuda.jit
def dot(a, b, partial):
    c = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    s = float32(0)
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    while i < a.size:
        x = a[i]
        s += x * b[i]
        i += step
    c[t] = s
    cuda.syncthreads()
    h = TPB // 2
    while h > 0:
        if t < h:
            left = c[t]
            right = c[t + h]
            c[t] = left + right
        cuda.syncthreads()
        h = h // 2
    if t == 0:
        partial[cuda.blockIdx.x] = c[0]


# %% dot_any_block plain_halving -> WRONG_ANSWER
# 3 // 2 is 1: the third cell is never added.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    cache = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    s = cuda.blockDim.x // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot_any_block rounded_up_without_a_guard -> WRONG_ANSWER
# With an odd count the last thread adds a cell that was added before.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    cache = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    n = cuda.blockDim.x
    while n > 1:
        half = (n + 1) // 2
        if t < half:
            cache[t] += cache[t + half]
        cuda.syncthreads()
        n = half
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot_any_block tree_for_256 -> UNINITIALISED
# The tree of a block of 256: a smaller block has not written all of those cells.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    cache = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    s = 128
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot_any_block no_barrier -> RACE
# The rounding is right and the barrier in the loop is missing.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    cache = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    n = cuda.blockDim.x
    while n > 1:
        half = (n + 1) // 2
        if t + half < n:
            cache[t] += cache[t + half]
        n = half
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot_any_block an_atomic_a_thread -> TOO_MUCH_TRAFFIC
# Atomics work for any block, and every warp goes to global memory for its sum.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cuda.atomic.add(partial, cuda.blockIdx.x, total)


# %% dot_any_block one_thread_adds_the_cache -> TOO_SERIAL
# Right for any block, and no tree.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    cache = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    s = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        s += a[i] * b[i]
    cache[t] = s
    cuda.syncthreads()
    if t == 0:
        for k in range(1, cuda.blockDim.x):
            s += cache[k]
        partial[cuda.blockIdx.x] = s


# %% dot_any_block half_down_and_half_up_mixed -> WRONG_ANSWER
# Adds the lower half's neighbours and keeps one cell too many.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    cache = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    s = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        s += a[i] * b[i]
    cache[t] = s
    cuda.syncthreads()
    n = cuda.blockDim.x
    while n > 1:
        h = (n + 1) // 2
        if t < n // 2:
            cache[t] += cache[t + n // 2]
        cuda.syncthreads()
        n = h
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot_any_block next_power_of_two -> PASS
# The tree of the next larger power of two, with a guard on the second cell.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    cache = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    s = 128
    while s > 0:
        if t < s and t + s < cuda.blockDim.x:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot_any_block dynamic_shared -> PASS
# The launch sizes the cache; an odd cell out is added by thread 0.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    cache = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cache[t] = total
    cuda.syncthreads()
    n = cuda.blockDim.x
    while n > 1:
        if t == 0 and n % 2 == 1:
            cache[0] += cache[n - 1]
        cuda.syncthreads()
        n //= 2
        if t < n and t > 0:
            cache[t] += cache[t + n]
        elif t == 0:
            cache[0] += cache[n]
        cuda.syncthreads()
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% dot_any_block warps_then_one_atomic -> PASS
# A multiple of 32 threads is a whole number of warps; their sums meet in one shared cell.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    block_total = cuda.shared.array(1, float32)
    t = cuda.threadIdx.x
    if t == 0:
        block_total[0] = 0
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    for step in range(5):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, 16 >> step)
    cuda.syncthreads()
    if t % 32 == 0:
        cuda.atomic.add(block_total, 0, total)
    cuda.syncthreads()
    if t == 0:
        cuda.atomic.add(partial, 0, block_total[0])


# %% dot_any_block folded_onto_one_warp -> PASS
# The first warp adds what the others hold, then halves 32.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    cache = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    s = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        s += a[i] * b[i]
    cache[t] = s
    cuda.syncthreads()
    if t < 32:
        k = t + 32
        while k < cuda.blockDim.x:
            s += cache[k]
            k += 32
        cache[t] = s
        cuda.syncwarp()
        h = 16
        while h:
            if t < h:
                cache[t] += cache[t + h]
            cuda.syncwarp()
            h >>= 1
        if t == 0:
            partial[cuda.blockIdx.x] = cache[0]


# %% dot_any_block odd_cell_added_by_thread_0 -> PASS
# Rounds down, and thread 0 takes the cell that is left over.
from numba import cuda, float32


@cuda.jit
def dot_any_block(a, b, partial):
    cache = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    s = float32(0)
    i = cuda.grid(1)
    while i < a.size:
        s = s + a[i] * b[i]
        i = i + cuda.gridsize(1)
    cache[t] = s
    n = cuda.blockDim.x
    while n > 1:
        cuda.syncthreads()
        h = n // 2
        if t < h:
            cache[t] += cache[t + h]
            if t == 0 and n % 2 == 1:
                cache[0] += cache[n - 1]
        n = h
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


# %% warp_sum through_shared_memory -> TOO_MANY_RESOURCES
# Right, and the way of the exercise before: a tree in shared memory instead of shuffles.
from numba import cuda, float32

TPB = 256


@cuda.jit
def warp_sum(a, out):
    cells = cuda.shared.array(TPB, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    lane = cuda.laneid
    if i < a.size:
        cells[t] = a[i]
    else:
        cells[t] = 0
    cuda.syncthreads()
    step = 16
    while step > 0:
        if lane < step:
            cells[t] += cells[t + step]
        cuda.syncthreads()
        step //= 2
    if lane == 0 and i // 32 < out.size:
        out[i // 32] = cells[t]


# %% warp_sum a_loop_in_one_lane -> TOO_MUCH_TRAFFIC
# One lane asks 32 times for a sector, where the warp asks once for four.
from numba import cuda, float32

TPB = 256


@cuda.jit
def warp_sum(a, out):
    i = cuda.grid(1)
    if i % 32 == 0 and i < a.size:
        total = float32(0)
        for k in range(i, min(i + 32, a.size)):
            total += a[k]
        out[i // 32] = total


# %% warp_sum wrong_direction -> WRONG_ANSWER
# shfl_up carries the sums towards lane 31; lane 0 keeps its own number.
from numba import cuda, float32

TPB = 256


@cuda.jit
def warp_sum(a, out):
    i = cuda.grid(1)
    total = a[i] if i < a.size else float32(0)
    s = 16
    while s > 0:
        total += cuda.shfl_up_sync(0xFFFFFFFF, total, s)
        s //= 2
    if i % 32 == 0 and i < a.size:
        out[i // 32] = total


# %% warp_sum four_steps -> WRONG_ANSWER
# Four steps add 16 lanes.
from numba import cuda, float32

TPB = 256


@cuda.jit
def warp_sum(a, out):
    i = cuda.grid(1)
    total = a[i] if i < a.size else float32(0)
    s = 8
    while s > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, s)
        s //= 2
    if i % 32 == 0 and i < a.size:
        out[i // 32] = total


# %% warp_sum every_lane_stores -> RACE
# 32 lanes store to one element.
from numba import cuda, float32

TPB = 256


@cuda.jit
def warp_sum(a, out):
    i = cuda.grid(1)
    total = a[i] if i < a.size else float32(0)
    s = 16
    while s > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, s)
        s //= 2
    if i < a.size:
        out[i // 32] = total


# %% warp_sum no_guard -> OUT_OF_BOUNDS
# The last warp has lanes past the end.
from numba import cuda

TPB = 256


@cuda.jit
def warp_sum(a, out):
    i = cuda.grid(1)
    total = a[i]
    s = 16
    while s > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, s)
        s //= 2
    if i % 32 == 0:
        out[i // 32] = total


# %% warp_sum shuffle_inside_the_guard -> BARRIER_DIVERGENCE
# Lanes past the end do not take part, and the others read from them.
from numba import cuda

TPB = 256


@cuda.jit
def warp_sum(a, out):
    i = cuda.grid(1)
    if i < a.size:
        total = a[i]
        s = 16
        while s > 0:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, s)
            s //= 2
        if i % 32 == 0:
            out[i // 32] = total


# %% warp_sum one_sum_a_block -> RACE
# The index counts blocks: all warps of a block store to one element.
from numba import cuda, float32

TPB = 256


@cuda.jit
def warp_sum(a, out):
    i = cuda.grid(1)
    total = a[i] if i < a.size else float32(0)
    s = 16
    while s > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, s)
        s //= 2
    if i % 32 == 0 and i < a.size:
        out[cuda.blockIdx.x] = total


# %% warp_sum lanes_without_an_element_leave -> UNINITIALISED
# A lane that has returned takes no part in the shuffle.
from numba import cuda, float32


@cuda.jit
def warp_sum(a, out):
    i = cuda.grid(1)
    if i >= a.size:
        return
    x = a[i]
    for s in (16, 8, 4, 2, 1):
        x += cuda.shfl_down_sync(0xFFFFFFFF, x, s)
    if i % 32 == 0:
        out[i // 32] = x


# %% warp_sum shuffle_under_a_branch -> BARRIER_DIVERGENCE
# Only the lanes that need the sum run the shuffle; their partners do not.
from numba import cuda, float32


@cuda.jit
def warp_sum(a, out):
    i = cuda.grid(1)
    x = a[i] if i < a.size else float32(0)
    s = 16
    while s > 0:
        if cuda.laneid < s:
            x += cuda.shfl_down_sync(0xFFFFFFFF, x, s)
        s //= 2
    if cuda.laneid == 0 and i < a.size:
        out[i // 32] = x


# %% warp_sum butterfly -> PASS
# Every lane ends with the sum; one of them stores it.
from numba import cuda, float32

TPB = 256


@cuda.jit
def warp_sum(a, out):
    i = cuda.grid(1)
    total = a[i] if i < a.size else float32(0)
    for step in range(5):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, 1 << step)
    if cuda.laneid == 0 and i < a.size:
        out[i // 32] = total


# %% warp_sum written_out -> PASS
# Five lines in place of the loop, and a block of one warp.
from numba import cuda, float32

TPB = 32
ALL = 0xFFFFFFFF


@cuda.jit
def warp_sum(a, out):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    total = float32(0)
    if i < a.shape[0]:
        total = a[i]
    total += cuda.shfl_down_sync(ALL, total, 16)
    total += cuda.shfl_down_sync(ALL, total, 8)
    total += cuda.shfl_down_sync(ALL, total, 4)
    total += cuda.shfl_down_sync(ALL, total, 2)
    total += cuda.shfl_down_sync(ALL, total, 1)
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total


# %% warp_sum upwards_into_the_last_lane -> PASS
# The sums run the other way, and lane 31 has the whole.
from numba import cuda, float32

TPB = 512


@cuda.jit
def warp_sum(a, out):
    i = cuda.grid(1)
    lane = cuda.laneid
    v = float32(0)
    if i < a.size:
        v = a[i]
    d = 1
    while d < 32:
        u = cuda.shfl_up_sync(0xFFFFFFFF, v, d)
        if lane >= d:
            v += u
        d *= 2
    if lane == 31 and i // 32 < out.size:
        out[i // 32] = v


# %% prefix_sum one_barrier_a_step -> RACE
# A cell is read by one thread while another adds to it.
from numba import cuda, float32

TPB = 256


@cuda.jit
def prefix_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    d = 1
    while d < TPB:
        if t >= d:
            tile[t] += tile[t - d]
        cuda.syncthreads()
        d *= 2
    if i < a.size:
        out[i] = tile[t]


# %% prefix_sum barriers_inside_the_if -> BARRIER_DIVERGENCE
# The threads below d skip the barrier.
from numba import cuda, float32

TPB = 256


@cuda.jit
def prefix_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    d = 1
    while d < TPB:
        if t >= d:
            x = tile[t - d]
            cuda.syncthreads()
            tile[t] += x
            cuda.syncthreads()
        d *= 2
    if i < a.size:
        out[i] = tile[t]


# %% prefix_sum own_element_left_out -> WRONG_ANSWER
# The exclusive sum: everything before the element, and not the element itself.
from numba import cuda, float32

TPB = 256


@cuda.jit
def prefix_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    d = 1
    while d < TPB:
        x = tile[t - d] if t >= d else float32(0)
        cuda.syncthreads()
        tile[t] += x
        cuda.syncthreads()
        d *= 2
    if i < a.size:
        out[i] = tile[t - 1] if t > 0 else float32(0)


# %% prefix_sum no_guard -> OUT_OF_BOUNDS
# The last slice may be short.
from numba import cuda, float32

TPB = 256


@cuda.jit
def prefix_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i]
    cuda.syncthreads()
    d = 1
    while d < TPB:
        x = tile[t - d] if t >= d else float32(0)
        cuda.syncthreads()
        tile[t] += x
        cuda.syncthreads()
        d *= 2
    out[i] = tile[t]


# %% prefix_sum one_thread_scans -> TOO_SERIAL
# One thread walks the tile, 255 wait.
from numba import cuda, float32

TPB = 256


@cuda.jit
def prefix_sum(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    if t == 0:
        for k in range(1, TPB):
            tile[k] += tile[k - 1]
    cuda.syncthreads()
    if i < a.size:
        out[i] = tile[t]


# %% prefix_sum each_thread_sums_its_own -> TOO_MUCH_TRAFFIC
# Thread t asks global memory for t + 1 elements.
from numba import cuda, float32

TPB = 256


@cuda.jit
def prefix_sum(a, out):
    i = cuda.grid(1)
    start = cuda.blockIdx.x * TPB
    if i < a.size:
        total = float32(0)
        for k in range(start, i + 1):
            total += a[k]
        out[i] = total


# %% prefix_sum added_to_all_later_cells -> TOO_SERIAL
# Each element goes to up to 256 cells: N squared additions.
from numba import cuda, float32


@cuda.jit
def prefix_sum(a, out):
    s = cuda.shared.array(256, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s[t] = 0
    cuda.syncthreads()
    if i < a.size:
        for k in range(t, 256):
            cuda.atomic.add(s, k, a[i])
    cuda.syncthreads()
    if i < a.size:
        out[i] = s[t]


# %% prefix_sum two_tiles_in_turn -> PASS
# Reading from one tile and writing to the other needs one barrier a step.
from numba import cuda, float32

TPB = 256


@cuda.jit
def prefix_sum(a, out):
    tile = cuda.shared.array((2, TPB), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    now = 0
    tile[now, t] = a[i] if i < a.size else float32(0)
    cuda.syncthreads()
    d = 1
    while d < TPB:
        tile[1 - now, t] = tile[now, t]
        if t >= d:
            tile[1 - now, t] += tile[now, t - d]
        now = 1 - now
        cuda.syncthreads()
        d *= 2
    if i < a.size:
        out[i] = tile[now, t]


# %% prefix_sum warps_first -> PASS
# Scan each warp by shuffles, then add the sums of the warps before it.
from numba import cuda, float32

TPB = 256
WARPS = 8


@cuda.jit
def prefix_sum(a, out):
    sums = cuda.shared.array(WARPS, float32)
    t = cuda.threadIdx.x
    lane = t % 32
    i = cuda.grid(1)
    x = a[i] if i < a.size else float32(0)
    d = 1
    while d < 32:
        y = cuda.shfl_up_sync(0xFFFFFFFF, x, d)
        if lane >= d:
            x += y
        d *= 2
    if lane == 31:
        sums[t // 32] = x
    cuda.syncthreads()
    for w in range(t // 32):
        x += sums[w]
    if i < a.size:
        out[i] = x


# %% prefix_sum up_and_down_a_tree -> PASS
# A tree of sums, and then back down: fewer additions, more steps.
from numba import cuda, float32


@cuda.jit
def prefix_sum(a, out):
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    mine = a[i] if i < a.size else float32(0)
    s[t] = mine
    d = 1
    while d < 256:
        cuda.syncthreads()
        k = (t + 1) * d * 2 - 1
        if k < 256:
            s[k] += s[k - d]
        d *= 2
    cuda.syncthreads()
    if t == 0:
        s[255] = 0
    d = 128
    while d > 0:
        cuda.syncthreads()
        k = (t + 1) * d * 2 - 1
        if k < 256:
            left = s[k - d]
            s[k - d] = s[k]
            s[k] += left
        d //= 2
    cuda.syncthreads()
    if i < a.size:
        out[i] = s[t] + mine


# %% histogram plain_addition -> RACE
# Two threads read one count, both add 1, and one of the two is lost.
from numba import cuda, int32

TPB = 256
BINS = 64


@cuda.jit
def histogram(data, counts):
    private = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        private[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        private[data[i]] += 1
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(counts, t, private[t])


# %% histogram global_atomics_only -> TOO_MUCH_TRAFFIC
# Each element goes to global memory twice: once to be read, once to be counted.
from numba import cuda

TPB = 256


@cuda.jit
def histogram(data, counts):
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, data[i], 1)


# %% histogram never_cleared -> UNINITIALISED
# Shared memory starts with whatever the last block left there.
from numba import cuda, int32

TPB = 256
BINS = 64


@cuda.jit
def histogram(data, counts):
    private = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(private, data[i], 1)
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(counts, t, private[t])


# %% histogram no_barrier_after_clearing -> RACE
# One warp may count before another has cleared.
from numba import cuda, int32

TPB = 256
BINS = 64


@cuda.jit
def histogram(data, counts):
    private = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        private[t] = 0
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(private, data[i], 1)
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(counts, t, private[t])


# %% histogram no_barrier_before_the_end -> RACE
# The counts are carried out while other warps still count.
from numba import cuda, int32

TPB = 256
BINS = 64


@cuda.jit
def histogram(data, counts):
    private = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        private[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(private, data[i], 1)
    if t < BINS:
        cuda.atomic.add(counts, t, private[t])


# %% histogram blocks_overwrite -> RACE
# Eight blocks add to the global counts without an atomic.
from numba import cuda, int32

TPB = 256
BINS = 64


@cuda.jit
def histogram(data, counts):
    private = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        private[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(private, data[i], 1)
    cuda.syncthreads()
    if t < BINS:
        counts[t] += private[t]


# %% histogram more_threads_than_bins -> OUT_OF_BOUNDS
# The block has 256 threads and the tile 64 cells.
from numba import cuda, int32

TPB = 256
BINS = 64


@cuda.jit
def histogram(data, counts):
    private = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    private[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(private, data[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, t, private[t])


# %% histogram one_thread_carries_out -> TOO_MUCH_TRAFFIC
# 64 lone atomics a block, a sector each, where two warps need 8 sectors.
from numba import cuda, int32

TPB = 256
BINS = 64


@cuda.jit
def histogram(data, counts):
    private = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        private[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(private, data[i], 1)
    cuda.syncthreads()
    if t == 0:
        for b in range(BINS):
            cuda.atomic.add(counts, b, private[b])


# %% histogram a_thread_a_bin -> TOO_MUCH_TRAFFIC
# Each thread looks for its own bin: the data is read once for each warp.
from numba import cuda, int32

TPB = 64


@cuda.jit
def histogram(data, counts):
    t = cuda.threadIdx.x
    each = -(-data.size // 8)
    first = cuda.blockIdx.x * each
    c = 0
    for i in range(first, min(first + each, data.size)):
        if data[i] == t:
            c += 1
    cuda.atomic.add(counts, t, c)


# %% histogram global_counts_in_every_round -> TOO_MUCH_TRAFFIC
# The private counts go out in every round of the loop.
from numba import cuda, int32

TPB = 256


@cuda.jit
def histogram(data, counts):
    h = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    for start in range(cuda.blockIdx.x * TPB, data.size, cuda.gridsize(1)):
        if t < 64:
            h[t] = 0
        cuda.syncthreads()
        if start + t < data.size:
            cuda.atomic.add(h, data[start + t], 1)
        cuda.syncthreads()
        if t < 64:
            cuda.atomic.add(counts, t, h[t])


# %% histogram loops_over_the_bins -> PASS
# Works for any block, and leaves empty bins alone.
from numba import cuda, int32

TPB = 128
BINS = 64


@cuda.jit
def histogram(data, counts):
    private = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    for b in range(t, BINS, cuda.blockDim.x):
        private[b] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < data.size:
        cuda.atomic.add(private, data[i], 1)
        i += cuda.gridsize(1)
    cuda.syncthreads()
    for b in range(t, BINS, cuda.blockDim.x):
        if private[b] > 0:
            cuda.atomic.add(counts, b, private[b])


# %% histogram counts_of_each_warp -> PASS
# Fewer threads meet at one cell when each warp has its own counts.
from numba import cuda, int32

TPB = 256
WARPS = 8
BINS = 64


@cuda.jit
def histogram(data, counts):
    private = cuda.shared.array((WARPS, BINS), int32)
    t = cuda.threadIdx.x
    if t < BINS:
        for w in range(WARPS):
            private[w, t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(private, (t // 32, data[i]), 1)
    cuda.syncthreads()
    if t < BINS:
        total = 0
        for w in range(WARPS):
            total += private[w, t]
        cuda.atomic.add(counts, t, total)


# %% histogram a_run_of_the_data_a_block -> PASS
# Each block counts a run of its own, side by side within it.
from numba import cuda, int32

TPB = 256


@cuda.jit
def histogram(data, counts):
    h = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    if t < 64:
        h[t] = 0
    cuda.syncthreads()
    n = data.shape[0]
    each = -(-n // cuda.gridDim.x)
    first = cuda.blockIdx.x * each
    for k in range(first + t, min(first + each, n), cuda.blockDim.x):
        cuda.atomic.add(h, data[k], int32(1))
    cuda.syncthreads()
    if t < 64:
        cuda.atomic.add(counts, t, h[t])


# %% five_mistakes as_found -> OUT_OF_BOUNDS
# The kernel as the lesson shows it.
from numba import cuda, float32

TPB = 128


@cuda.jit
def five_mistakes(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    run = (a.shape[1] + TPB - 1) // TPB
    best = float32(0)
    for j in range(t * run, (t + 1) * run):
        best = max(best, a[row, j])
    tile[t] = best
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] = max(tile[t], tile[t + s])
            cuda.syncthreads()
        s //= 2
    if t == 0:
        out[row] = tile[0]


# %% five_mistakes first_repaired -> RACE
# The loop stays inside the row.
from numba import cuda, float32

TPB = 128


@cuda.jit
def five_mistakes(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    run = (a.shape[1] + TPB - 1) // TPB
    best = float32(0)
    for j in range(t * run, min((t + 1) * run, a.shape[1])):
        best = max(best, a[row, j])
    tile[t] = best
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] = max(tile[t], tile[t + s])
            cuda.syncthreads()
        s //= 2
    if t == 0:
        out[row] = tile[0]


# %% five_mistakes second_repaired -> BARRIER_DIVERGENCE
# A barrier stands between the stores to the tile and the tree.
from numba import cuda, float32

TPB = 128


@cuda.jit
def five_mistakes(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    run = (a.shape[1] + TPB - 1) // TPB
    best = float32(0)
    for j in range(t * run, min((t + 1) * run, a.shape[1])):
        best = max(best, a[row, j])
    tile[t] = best
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] = max(tile[t], tile[t + s])
            cuda.syncthreads()
        s //= 2
    if t == 0:
        out[row] = tile[0]


# %% five_mistakes third_repaired -> WRONG_ANSWER
# All threads pass the barrier of the tree.
from numba import cuda, float32

TPB = 128


@cuda.jit
def five_mistakes(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    run = (a.shape[1] + TPB - 1) // TPB
    best = float32(0)
    for j in range(t * run, min((t + 1) * run, a.shape[1])):
        best = max(best, a[row, j])
    tile[t] = best
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] = max(tile[t], tile[t + s])
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[row] = tile[0]


# %% five_mistakes fourth_repaired -> TOO_MUCH_TRAFFIC
# The search starts from minus infinity, and each thread still walks a run of neighbours.
import math

from numba import cuda, float32

TPB = 128


@cuda.jit
def five_mistakes(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    run = (a.shape[1] + TPB - 1) // TPB
    best = float32(-math.inf)
    for j in range(t * run, min((t + 1) * run, a.shape[1])):
        best = max(best, a[row, j])
    tile[t] = best
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] = max(tile[t], tile[t + s])
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[row] = tile[0]


# %% five_mistakes break_before_the_barrier -> BARRIER_DIVERGENCE
# Threads that are done leave the loop, and with it the barrier.
import math
from numba import cuda, float32

TPB = 128


@cuda.jit
def five_mistakes(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    best = float32(-math.inf)
    for j in range(t, a.shape[1], TPB):
        best = max(best, a[row, j])
    tile[t] = best
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t >= s:
            break
        tile[t] = max(tile[t], tile[t + s])
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[row] = tile[0]


# %% five_mistakes starts_from_the_first_element -> PASS
# A number of the row itself is a safe start; each warp asks for one sector more.
from numba import cuda, float32

TPB = 128


@cuda.jit
def five_mistakes(a, out):
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    best = a[row, 0]
    for j in range(t, a.shape[1], TPB):
        best = max(best, a[row, j])
    tile[t] = best
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] = max(tile[t], tile[t + s])
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[row] = tile[0]


# %% five_mistakes shuffles -> PASS
# The tree within each warp by shuffles, and one step over the four warps.
import math

from numba import cuda, float32

TPB = 128
WARPS = 4


@cuda.jit
def five_mistakes(a, out):
    tile = cuda.shared.array(WARPS, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    best = float32(-math.inf)
    for j in range(t, a.shape[1], TPB):
        best = max(best, a[row, j])
    for step in range(5):
        best = max(best, cuda.shfl_xor_sync(0xFFFFFFFF, best, 1 << step))
    if t % 32 == 0:
        tile[t // 32] = best
    cuda.syncthreads()
    if t == 0:
        out[row] = max(max(tile[0], tile[1]), max(tile[2], tile[3]))


# %% five_mistakes one_shared_atomic -> PASS
# Each thread's maximum goes to one shared cell by an atomic.
import math
from numba import cuda, float32


@cuda.jit
def five_mistakes(a, out):
    top = cuda.shared.array(1, float32)
    if cuda.threadIdx.x == 0:
        top[0] = -math.inf
    cuda.syncthreads()
    best = float32(-math.inf)
    for j in range(cuda.threadIdx.x, a.shape[1], cuda.blockDim.x):
        best = max(best, a[cuda.blockIdx.x, j])
    cuda.atomic.max(top, 0, best)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = top[0]
