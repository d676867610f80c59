# Lesson 08: wrong kernels with the verdict that each must get, and honest ones that must pass.


# %% rmsnorm accumulates_in_float16 -> WRONG_ANSWER
# The square of 16 is 256, and a thousand of those are more than float16 holds: inf, and y is 0.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0)
    w = tl.load(w_ptr + columns, mask=inside, other=0.0)
    mean_square = tl.sum(x * x, axis=0) / D
    tl.store(
        y_ptr + row * D + columns, x * tl.rsqrt(mean_square.to(tl.float32) + eps) * w, mask=inside
    )


# %% rmsnorm squares_in_float16 -> WRONG_ANSWER
# The sum is in float32, but 300 squared is inf before it gets there.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0)
    w = tl.load(w_ptr + columns, mask=inside, other=0.0)
    mean_square = tl.sum((x * x).to(tl.float32), axis=0) / D
    tl.store(y_ptr + row * D + columns, x * tl.rsqrt(mean_square + eps) * w, mask=inside)


# %% rmsnorm eps_outside_the_root -> WRONG_ANSWER
# The same as long as the row is far larger than eps.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    root = tl.sqrt(tl.sum(x * x, axis=0) / D)
    tl.store(y_ptr + row * D + columns, x / (root + eps) * w, mask=inside)


# %% rmsnorm root_forgotten -> WRONG_ANSWER
# Divided by the mean square itself.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    mean_square = tl.sum(x * x, axis=0) / D
    tl.store(y_ptr + row * D + columns, x / (mean_square + eps) * w, mask=inside)


# %% rmsnorm mean_over_the_block -> WRONG_ANSWER
# The block is a power of two and the row is not.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    mean_square = tl.sum(x * x, axis=0) / BLOCK
    tl.store(y_ptr + row * D + columns, x * tl.rsqrt(mean_square + eps) * w, mask=inside)


# %% rmsnorm no_mask -> OUT_OF_BOUNDS
# The lanes past D read the next row, and at the last row nothing.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * D + columns).to(tl.float32)
    w = tl.load(w_ptr + columns).to(tl.float32)
    mean_square = tl.sum(x * x, axis=0) / D
    tl.store(y_ptr + row * D + columns, x * tl.rsqrt(mean_square + eps) * w)


# %% rmsnorm weights_not_masked -> OUT_OF_BOUNDS
# x is masked, but w ends at D as well.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns).to(tl.float32)
    mean_square = tl.sum(x * x, axis=0) / D
    tl.store(y_ptr + row * D + columns, x * tl.rsqrt(mean_square + eps) * w, mask=inside)


# %% rmsnorm rows_a_block_apart -> OUT_OF_BOUNDS
# A row is D elements long, not BLOCK.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    x = tl.load(x_ptr + row * BLOCK + columns, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    mean_square = tl.sum(x * x, axis=0) / D
    tl.store(y_ptr + row * BLOCK + columns, x * tl.rsqrt(mean_square + eps) * w, mask=inside)


# %% rmsnorm second_read_of_x -> TOO_MUCH_TRAFFIC
# The two loops of lesson 07, for a row that fits into a block.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * D
    squares = tl.zeros((256,), tl.float32)
    for start in range(0, D, 256):
        columns = start + tl.arange(0, 256)
        x = tl.load(x_ptr + columns, mask=columns < D, other=0.0).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / D + eps)
    for start in range(0, D, 256):
        columns = start + tl.arange(0, 256)
        inside = columns < D
        x = tl.load(x_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * D + columns, x * scale * w, mask=inside)


# %% rmsnorm weighted_through_memory -> TOO_MUCH_TRAFFIC
# The normalised row is stored and read again for the weights.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)
    mean_square = tl.sum(x * x, axis=0) / D
    tl.store(y_ptr + row * D + columns, x * tl.rsqrt(mean_square + eps), mask=inside)
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * D + columns, y * w, mask=inside)


# %% rmsnorm first_program_does_all -> TOO_SERIAL
# One program takes all rows, so that the weights are loaded once.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    rows = tl.num_programs(0)
    if tl.program_id(0) == 0:
        for row in range(rows):
            x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)
            mean_square = tl.sum(x * x, axis=0) / D
            y = x * tl.rsqrt(mean_square + eps) * w
            tl.store(y_ptr + row * D + columns, y, mask=inside)


# %% rmsnorm square_root_and_division -> PASS
# A root and a division for the reciprocal root.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    m = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + d, mask=d < D)
    x = tl.load(x_ptr + m * D + d, mask=d < D, other=0).to(tl.float32)
    rms = tl.sqrt(tl.sum(x * x) / D + eps)
    tl.store(y_ptr + m * D + d, x / rms * w.to(tl.float32), mask=d < D)


# %% rmsnorm a_tile_of_one_row -> PASS
# Two-dimensional, with a row axis of 1; twice as wide as need be.
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    columns = tl.arange(0, 2 * BLOCK)[None, :]
    at = tl.program_id(0) * D + columns
    x = tl.load(x_ptr + at, mask=columns < D, other=0.0).to(tl.float32)
    squares = tl.sum(x * x, axis=1, keep_dims=True)
    w = tl.load(w_ptr + columns, mask=columns < D, other=0.0)
    tl.store(y_ptr + at, x / tl.sqrt(squares / D + eps) * w, mask=columns < D)


# %% rmsnorm own_combine_function -> PASS
# The reduction written out with a function of one's own, and a helper for the mean square.
import triton
import triton.language as tl


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def mean_square(x, count):
    return tl.reduce(x * x, 0, add) / count


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):
    start = tl.program_id(0) * D
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + start + columns, mask=columns < D, other=0.0)
    x = x.to(tl.float32)
    x = x * tl.rsqrt(mean_square(x, D) + eps)
    x = x * tl.load(w_ptr + columns, mask=columns < D, other=0.0)
    tl.store(y_ptr + start + columns, x, mask=columns < D)


# %% layernorm mean_of_squares_minus_square_of_mean -> WRONG_ANSWER
# One sweep for both sums, but around 1000 two numbers of a million differ by 1.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + columns, mask=columns < D).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=columns < D).to(tl.float32)
    tile = rows[:, None] * D + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < D)
    x = tl.load(x_ptr + tile, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / D
    variance = tl.sum(x * x, axis=1) / D - mean * mean
    scale = tl.rsqrt(variance + eps)
    y = (x - mean[:, None]) * scale[:, None] * w[None, :] + b[None, :]
    tl.store(y_ptr + tile, y, mask=mask)


# %% layernorm padding_in_the_variance -> WRONG_ANSWER
# Where there is no element, x - mean is -mean, and its square is added too.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + columns, mask=columns < D).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=columns < D).to(tl.float32)
    tile = rows[:, None] * D + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < D)
    x = tl.load(x_ptr + tile, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / D
    centred = x - mean[:, None]
    variance = tl.sum(centred * centred, axis=1) / D
    y = centred * tl.rsqrt(variance + eps)[:, None] * w[None, :] + b[None, :]
    tl.store(y_ptr + tile, y, mask=mask)


# %% layernorm divided_by_d_minus_1 -> WRONG_ANSWER
# The variance of a sample, as torch.var gives it, is not what LayerNorm uses.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + columns, mask=columns < D).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=columns < D).to(tl.float32)
    tile = rows[:, None] * D + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < D)
    x = tl.load(x_ptr + tile, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / D
    centred = tl.where(mask, x - mean[:, None], 0.0)
    variance = tl.sum(centred * centred, axis=1) / (D - 1)
    y = centred * tl.rsqrt(variance + eps)[:, None] * w[None, :] + b[None, :]
    tl.store(y_ptr + tile, y, mask=mask)


# %% layernorm means_over_the_block -> WRONG_ANSWER
# Both means are divided by the width of the block.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + columns, mask=columns < D).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=columns < D).to(tl.float32)
    tile = rows[:, None] * D + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < D)
    x = tl.load(x_ptr + tile, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / BLOCK
    centred = tl.where(mask, x - mean[:, None], 0.0)
    variance = tl.sum(centred * centred, axis=1) / BLOCK
    y = centred * tl.rsqrt(variance + eps)[:, None] * w[None, :] + b[None, :]
    tl.store(y_ptr + tile, y, mask=mask)


# %% layernorm eps_outside_the_root -> WRONG_ANSWER
# The same as long as the row varies by far more than eps.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + columns, mask=columns < D).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=columns < D).to(tl.float32)
    tile = rows[:, None] * D + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < D)
    x = tl.load(x_ptr + tile, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / D
    centred = tl.where(mask, x - mean[:, None], 0.0)
    variance = tl.sum(centred * centred, axis=1) / D
    y = centred / (tl.sqrt(variance) + eps)[:, None] * w[None, :] + b[None, :]
    tl.store(y_ptr + tile, y, mask=mask)


# %% layernorm accumulates_in_float16 -> WRONG_ANSWER
# Squares of 30 add up to 65,504 after 73 elements.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + columns, mask=columns < D).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=columns < D).to(tl.float32)
    tile = rows[:, None] * D + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < D)
    x = tl.load(x_ptr + tile, mask=mask, other=0.0)
    mean = (tl.sum(x, axis=1) / D).to(x.dtype)
    centred = tl.where(mask, x - mean[:, None], 0.0)
    variance = tl.sum(centred * centred, axis=1) / D
    scale = tl.rsqrt(variance.to(tl.float32) + eps)
    y = centred * scale[:, None] * w[None, :] + b[None, :]
    tl.store(y_ptr + tile, y, mask=mask)


# %% layernorm statistics_of_the_whole_tile -> WRONG_ANSWER
# One mean and one variance for all rows of the program.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + columns, mask=columns < D).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=columns < D).to(tl.float32)
    tile = rows[:, None] * D + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < D)
    x = tl.load(x_ptr + tile, mask=mask, other=0.0).to(tl.float32)
    count = D * ROWS
    mean = tl.sum(x) / count
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred) / count
    y = centred * tl.rsqrt(variance + eps) * w[None, :] + b[None, :]
    tl.store(y_ptr + tile, y, mask=mask)


# %% layernorm last_rows_not_masked -> OUT_OF_BOUNDS
# M is no multiple of ROWS.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + columns, mask=columns < D).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=columns < D).to(tl.float32)
    tile = rows[:, None] * D + columns[None, :]
    mask = (columns < D)[None, :] & (rows >= 0)[:, None]
    x = tl.load(x_ptr + tile, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / D
    centred = tl.where(mask, x - mean[:, None], 0.0)
    variance = tl.sum(centred * centred, axis=1) / D
    y = centred * tl.rsqrt(variance + eps)[:, None] * w[None, :] + b[None, :]
    tl.store(y_ptr + tile, y, mask=mask)


# %% layernorm second_read_of_x -> TOO_MUCH_TRAFFIC
# One loop for the sums, with Welford's update, and another one that reads x again.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * ROWS
    for row in range(first, min(first + ROWS, M)):
        mean = 0.0
        squares = 0.0
        for start in range(0, D, 256):
            columns = start + tl.arange(0, 256)
            inside = columns < D
            x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)
            count = min(D - start, 256)
            own = tl.sum(x, axis=0) / count
            centred = tl.where(inside, x - own, 0.0)
            step = own - mean
            mean += step * count / (start + count)
            squares += tl.sum(centred * centred, axis=0) + step * step * start * count / (
                start + count
            )
        scale = tl.rsqrt(squares / D + eps)
        for start in range(0, D, 256):
            columns = start + tl.arange(0, 256)
            inside = columns < D
            x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)
            w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
            b = tl.load(b_ptr + columns, mask=inside, other=0.0).to(tl.float32)
            tl.store(y_ptr + row * D + columns, (x - mean) * scale * w + b, mask=inside)


# %% layernorm weights_for_each_row -> TOO_MUCH_TRAFFIC
# The loads stand inside the loop, and y is stored in between: nothing may keep them for you.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    first = tl.program_id(0) * ROWS
    for row in range(first, min(first + ROWS, M)):
        x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + columns, mask=inside).to(tl.float32)
        b = tl.load(b_ptr + columns, mask=inside).to(tl.float32)
        mean = tl.sum(x, axis=0) / D
        centred = tl.where(inside, x - mean, 0.0)
        variance = tl.sum(centred * centred, axis=0) / D
        y = centred * tl.rsqrt(variance + eps) * w + b
        tl.store(y_ptr + row * D + columns, y, mask=inside)


# %% layernorm weighted_through_memory -> TOO_MUCH_TRAFFIC
# The normalised tile is stored and read again for the weights.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    tile = rows[:, None] * D + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < D)
    x = tl.load(x_ptr + tile, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / D
    centred = tl.where(mask, x - mean[:, None], 0.0)
    variance = tl.sum(centred * centred, axis=1) / D
    centred = centred * tl.rsqrt(variance + eps)[:, None]
    tl.store(y_ptr + tile, centred, mask=mask)
    y = tl.load(y_ptr + tile, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=columns < D).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=columns < D).to(tl.float32)
    tl.store(y_ptr + tile, y * w[None, :] + b[None, :], mask=mask)


# %% layernorm first_program_does_all -> TOO_SERIAL
# One program takes all rows.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=inside).to(tl.float32)
    last = M if tl.program_id(0) == 0 else 0
    for row in range(0, last):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        mean = tl.sum(x, axis=0) / D
        centred = tl.where(inside, x - mean, 0.0)
        variance = tl.sum(centred * centred, axis=0) / D
        scale = tl.rsqrt(variance + eps)
        y = centred * scale
        y = y * w + b
        tl.store(y_ptr + at, y, mask=inside)


# %% layernorm row_by_row -> PASS
# A loop over the rows, with the weights before it.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0)
    b = tl.load(b_ptr + columns, mask=inside, other=0.0)
    for i in range(ROWS):
        row = tl.program_id(0) * ROWS + i
        mask = inside & (row < M)
        x = tl.load(x_ptr + row * D + columns, mask=mask, other=0.0).to(tl.float32)
        mean = tl.sum(x) / D
        c = tl.where(mask, x - mean, 0.0)
        y = c / tl.sqrt(tl.sum(c * c) / D + eps) * w + b
        tl.store(y_ptr + row * D + columns, y, mask=mask)


# %% layernorm eight_rows -> PASS
# A tile of eight rows: half the loads of w and b.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    w = tl.load(w_ptr + columns, mask=columns < D).to(tl.float32)
    b = tl.load(b_ptr + columns, mask=columns < D).to(tl.float32)
    tile = rows[:, None] * D + columns[None, :]
    mask = (rows[:, None] < M) & (columns[None, :] < D)
    x = tl.load(x_ptr + tile, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1, keep_dims=True) / D
    x = tl.where(mask, x - mean, 0.0)
    x = x / tl.sqrt(tl.sum(x * x, axis=1, keep_dims=True) / D + eps)
    tl.store(y_ptr + tile, x * w[None, :] + b[None, :], mask=mask)


# %% layernorm weights_last -> PASS
# w and b are loaded when they are needed; the sums are corrected for the padding.
import triton
import triton.language as tl

ROWS = 4


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    ok = (r < M) & (c < D)
    x = tl.load(x_ptr + r * D + c, mask=ok, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1, keep_dims=True) / D
    far = (x - mean) * (c < D)
    var = tl.sum(far * far, axis=1, keep_dims=True) / D
    w = tl.load(w_ptr + c, mask=c < D, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + c, mask=c < D, other=0.0).to(tl.float32)
    tl.store(y_ptr + r * D + c, far * (w * tl.rsqrt(var + eps)) + b, mask=ok)


# %% cross_entropy no_maximum -> WRONG_ANSWER
# exp(1000) is inf.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(z), axis=0)
    lse = tl.log(total)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy sum_never_rescaled -> WRONG_ANSWER
# The maximum grows and the sum so far keeps its old scale.
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total += tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy first_tile_of_minus_inf -> WRONG_ANSWER
# -inf - (-inf) is NaN, and a NaN in the sum stays.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(z - new_top), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy padding_counts -> WRONG_ANSWER
# The lanes past V load 0, which is a logit like any other.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=0.0).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy target_not_checked -> OUT_OF_BOUNDS
# A target of -1 reads before the row, one of V behind it.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    own = tl.load(logits_ptr + tl.load(targets_ptr + row)).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy target_checked_against_the_stride -> OUT_OF_BOUNDS
# Between V and the stride lies padding, not a token.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < stride)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy negative_targets_forgotten -> OUT_OF_BOUNDS
# Only the upper end is checked; -100 is what PyTorch's data loaders put for no target.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    known = target < V
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy wrong_targets_are_clamped -> WRONG_ANSWER
# The nearest token that exists stands in for the target: the mistake in the data is hidden.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.minimum(tl.maximum(tl.load(targets_ptr + row), 0), V - 1)
    own = tl.load(logits_ptr + target).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy wrong_targets_are_skipped -> WRONG_ANSWER
# The loss of a target that does not exist stays as it was.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    tl.store(lse_ptr + row, lse)
    target = tl.load(targets_ptr + row)
    if (target >= 0) & (target < V):
        own = tl.load(logits_ptr + target).to(tl.float32)
        tl.store(loss_ptr + row, lse - own)


# %% cross_entropy no_mask -> OUT_OF_BOUNDS
# The last tile reaches past the row.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy rows_without_the_padding -> OUT_OF_BOUNDS
# Rows begin `stride` elements apart.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * V
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy exponentials_in_float16 -> DOES_NOT_COMPILE
# tl.exp takes float32 or float64.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf"))
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite.to(z.dtype)), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy sum_in_float16 -> WRONG_ANSWER
# The exponentials are rounded to float16 before they are added.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite).to(tl.float16), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy log_sum_exp_forgotten -> WRONG_ANSWER
# The loss is stored, the log of the sum is not.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)


# %% cross_entropy logits_read_twice -> TOO_MUCH_TRAFFIC
# A loop for the maximum, then a loop for the sum.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        top = tl.maximum(top, tl.max(z, axis=0))
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(z - top), axis=0)
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf")).to(tl.float32)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy target_searched_in_a_second_loop -> TOO_MUCH_TRAFFIC
# The log of the sum in one pass, then the whole row again for one logit.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)
    own = -float("inf")
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        own = tl.maximum(own, tl.max(tl.where(columns == target, z, -float("inf")), axis=0))
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy probabilities_in_place -> WRONG_ANSWER
# The probabilities are written over the logits, which belong to the caller.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        tl.store(logits_ptr + columns, tl.exp(z - top) / total, mask=columns < V)
    target = tl.load(targets_ptr + row)
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=0.0).to(tl.float32)
    tl.store(loss_ptr + row, -tl.log(own))
    tl.store(lse_ptr + row, top + tl.log(total))


# %% cross_entropy first_program_does_all -> TOO_SERIAL
# One program takes all rows.
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    rows = tl.num_programs(0) if tl.program_id(0) == 0 else 0
    for row in range(rows):
        top = -float("inf")
        total = 0.0
        for start in range(0, V, BLOCK):
            columns = start + tl.arange(0, BLOCK)
            at = logits_ptr + row * stride + columns
            z = tl.load(at, mask=columns < V, other=-float("inf")).to(tl.float32)
            new_top = tl.maximum(top, tl.max(z, axis=0))
            finite = tl.where(new_top == -float("inf"), 0.0, new_top)
            total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
            top = new_top
        lse = top + tl.log(total)
        target = tl.load(targets_ptr + row)
        known = (target >= 0) & (target < V)
        own = tl.load(logits_ptr + row * stride + target, mask=known, other=-float("inf"))
        tl.store(loss_ptr + row, lse - own)
        tl.store(lse_ptr + row, lse)


# %% cross_entropy target_picked_on_the_way -> PASS
# The target's logit is taken from the tile that holds it: no load of its own.
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    target = tl.load(targets_ptr + row)
    own = -float("inf")
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        own = tl.maximum(own, tl.max(tl.where(columns == target, z, -float("inf")), axis=0))
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    tl.store(loss_ptr + row, lse - own)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy a_maximum_for_each_lane -> PASS
# Running maxima and sums for each lane, and one reduction after the loop.
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    own_row = logits_ptr + row * stride
    tops = tl.full((BLOCK,), -1e30, tl.float32)
    totals = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(own_row + columns, mask=columns < V, other=-float("inf")).to(tl.float32)
        new_tops = tl.maximum(tops, z)
        totals = totals * tl.exp(tops - new_tops) + tl.exp(z - new_tops)
        tops = new_tops
    top = tl.max(tops, axis=0)
    lse = top + tl.log(tl.sum(totals * tl.exp(tops - top), axis=0))
    target = tl.load(targets_ptr + row)
    loss = float("inf")
    if (target >= 0) & (target < V):
        loss = lse - tl.load(own_row + target).to(tl.float32)
    tl.store(loss_ptr + row, loss)
    tl.store(lse_ptr + row, lse)


# %% cross_entropy powers_of_two -> PASS
# exp2 and log2, as the hardware has them, in tiles of 256.
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    own = tl.load(targets_ptr + row)
    ok = (own >= 0) & (own < V)
    z_own = tl.load(logits_ptr + own, mask=ok, other=-float("inf")).to(tl.float32)
    start = 0
    while start < V:
        at = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + at, mask=at < V, other=-float("inf")).to(tl.float32)
        highest = tl.maximum(tl.maximum(top, tl.max(z)), -1e30)
        total = total * tl.exp2((top - highest) * 1.4426950408889634)
        total += tl.sum(tl.exp2((z - highest) * 1.4426950408889634))
        top = highest
        start += BLOCK
    lse = top + tl.log2(total) * 0.6931471805599453
    tl.store(lse_ptr + row, lse)
    tl.store(loss_ptr + row, lse - z_own)


# %% rmsnorm_backward scale_taken_as_constant -> WRONG_ANSWER
# The mean square depends on x too: the second term is missing.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * dn
        tl.store(dx_ptr + at, dx, mask=inside)
        dw += dy * n
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward weights_forgotten_in_the_mean -> WRONG_ANSWER
# The gradient of n is dy * w everywhere, in the mean too.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dy * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw += dy * n
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward dw_of_x_not_of_n -> WRONG_ANSWER
# The weights multiply the normalised row.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw += dy * x
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward mean_over_the_block -> WRONG_ANSWER
# The second mean has D terms as well.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / BLOCK))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw += dy * n
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward accumulates_in_float16 -> WRONG_ANSWER
# The squares of the row are added in the type of x.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt((tl.sum(x * x, axis=0) / D).to(tl.float32) + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw += dy * n
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward dw_in_float16 -> WRONG_ANSWER
# dx is computed in float32, the part of dw is rounded after each row.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw = (dw + dy * n).to(tl.float16).to(tl.float32)
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward dw_in_the_inputs_type -> WRONG_ANSWER
# The sums along the rows have the inputs' type, which four large gradients overflow.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), x_ptr.dtype.element_ty)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw = (dw + dy * n).to(dw.dtype)
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward last_row_only -> WRONG_ANSWER
# The part of dw is replaced in each step.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw = dy * n
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward rows_past_the_end -> OUT_OF_BOUNDS
# M is no multiple of ROWS.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, program * ROWS + ROWS):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw += dy * n
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward parts_a_row_of_x_apart -> OUT_OF_BOUNDS
# parts has a row a program, not a row for each row of x.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw += dy * n
    tl.store(parts_ptr + program * ROWS * D + columns, dw, mask=inside)


# %% rmsnorm_backward dw_through_memory -> TOO_MUCH_TRAFFIC
# The part of dw is loaded and stored again for each row.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    own = parts_ptr + program * D + columns
    tl.store(own, tl.zeros((BLOCK,), tl.float32), mask=inside)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw = tl.load(own, mask=inside, other=0.0)
        tl.store(own, dw + dy * n, mask=inside)


# %% rmsnorm_backward weights_for_each_row -> TOO_MUCH_TRAFFIC
# w is loaded in the loop, between stores of dx.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw += dy * n
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward two_loops_over_the_rows -> TOO_MUCH_TRAFFIC
# dx in one loop and dw in another: x and dy are read twice.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dw += dy * x * tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward first_program_does_all -> TOO_SERIAL
# One program takes all rows; the others store zeros.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    last = M if program == 0 else 0
    for row in range(0, last):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw += dy * n
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward sixteen_rows -> PASS
# Half as many parts, and half the loads of w.
import triton
import triton.language as tl

ROWS = 16


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)
        dw += dy * n
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)


# %% rmsnorm_backward tile_of_rows -> PASS
# All rows of the program at once, and a sum along each axis.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    r = program * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)
    at = r * D + c[None, :]
    ok = (r < M) & (c < D)[None, :]
    w = tl.load(w_ptr + c, mask=c < D, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + at, mask=ok, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + at, mask=ok, other=0.0).to(tl.float32)
    s = 1 / tl.sqrt(tl.sum(x * x, axis=1, keep_dims=True) / D + eps)
    g = dy * w[None, :]
    dot = tl.sum(g * x, axis=1, keep_dims=True)
    tl.store(dx_ptr + at, g * s - x * (s * s * s / D * dot), mask=ok)
    tl.store(parts_ptr + program * D + c, tl.sum(dy * x * s, axis=0), mask=c < D)


# %% rmsnorm_backward while_loop_with_two_blocks -> PASS
# A while loop, and dy before x.
import triton
import triton.language as tl

ROWS = 8


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    first = tl.program_id(0) * ROWS
    c = tl.arange(0, BLOCK)
    dw = tl.zeros((BLOCK,), dtype=tl.float32)
    w = tl.load(w_ptr + c, mask=c < D, other=0.0)
    i = 0
    while i < ROWS and first + i < M:
        start = (first + i) * D
        g = tl.load(dy_ptr + start + c, mask=c < D, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + start + c, mask=c < D, other=0.0).to(tl.float32)
        s = tl.rsqrt(tl.sum(x * x) / D + eps)
        x *= s
        dw += g * x
        g *= w
        tl.store(dx_ptr + start + c, (g - x * tl.sum(g * x) / D) * s, mask=c < D)
        i += 1
    tl.store(parts_ptr + tl.program_id(0) * D + c, dw, mask=c < D)
