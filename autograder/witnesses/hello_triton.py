# Lesson 06: wrong kernels with the verdict that each must get, and honest ones that must pass.

# %% triton_add no_mask -> OUT_OF_BOUNDS
# The last block reaches past the end of the vectors.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, x + y)


# %% triton_add mask_on_the_loads_only -> OUT_OF_BOUNDS
# The loads stop at N, and the store does not.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y)


# %% triton_add mask_on_one_load -> OUT_OF_BOUNDS
# y is as long as x, and needs the mask as much.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, x + y, mask=inside)


# %% triton_add mask_one_too_far -> OUT_OF_BOUNDS
# The last element is N - 1.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets <= N
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


# %% triton_add programs_counted_from_one -> WRONG_ANSWER
# Program 0 starts at element BLOCK: nobody computes the first block.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = (tl.program_id(0) + 1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


# %% triton_add blocks_two_apart -> WRONG_ANSWER
# Every second block has no program.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK * 2 + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


# %% triton_add every_program_the_first_block -> RACE
# The block of values is there, the program's own place in the vector is not.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


# %% triton_add program_for_thread -> RACE
# The number of a program taken for the number of a thread: blocks begin one element apart.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


# %% triton_add programs_interleaved -> TOO_MUCH_TRAFFIC
# Neighbouring programs on neighbouring elements, as lanes would do it: each program touches
# nearly every sector and uses a part of it.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) + tl.num_programs(0) * tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


# %% triton_add sum_in_two_stores -> TOO_MUCH_TRAFFIC
# The output holds x first, and is loaded again.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside), mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, tl.load(out_ptr + offsets, mask=inside) + y, mask=inside)


# %% triton_add one_program_does_all -> TOO_SERIAL
# The same bytes, and one multiprocessor at work.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        for start in range(0, N, BLOCK):
            offsets = start + tl.arange(0, BLOCK)
            inside = offsets < N
            x = tl.load(x_ptr + offsets, mask=inside)
            y = tl.load(y_ptr + offsets, mask=inside)
            tl.store(out_ptr + offsets, x + y, mask=inside)


# %% triton_add if_on_a_block -> DOES_NOT_COMPILE
# A guard as in Numba: a block of booleans is neither true nor false.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if offsets < N:
        x = tl.load(x_ptr + offsets)
        y = tl.load(y_ptr + offsets)
        tl.store(out_ptr + offsets, x + y)


# %% triton_add block_of_n -> DOES_NOT_COMPILE
# N is known when the kernel runs; a block's size is needed when it is compiled.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, x + y)


# %% triton_add block_of_256 -> PASS
# More programs with smaller blocks ask for the same bytes.
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


# %% triton_add pointers_moved_first -> PASS
# The pointers are advanced to the program's block, and masked-off elements count as 0.
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def triton_add(a, b, c, n, BLOCK: tl.constexpr):
    start = tl.program_id(axis=0) * BLOCK
    here = tl.arange(0, BLOCK)
    there = here < n - start
    total = tl.load(a + start + here, there, 0.0) + tl.load(b + start + here, there, 0.0)
    tl.store(c + start + here, total, there)


# %% triton_add offsets_held_inside -> PASS
# No mask: offsets past the end are moved back to the last element, which gets its sum again.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offsets = tl.minimum(offsets, N - 1)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) + tl.load(y_ptr + offsets))


# %% triton_add blocks_with_two_axes -> PASS
# A block of 8 rows of neighbours, where a vector would do.
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    rows = tl.arange(0, 8)[:, None] * (BLOCK // 8)
    offsets = tl.program_id(0) * BLOCK + rows + tl.arange(0, BLOCK // 8)[None, :]
    inside = offsets < N
    x = tl.load(x_ptr + offsets, inside, 0.0)
    tl.store(out_ptr + offsets, x + tl.load(y_ptr + offsets, inside, 0.0), inside)


# %% triton_add a_block_at_a_multiple_of_n -> RACE
# N // BLOCK, the number of whole blocks, in place of a block's length: the programs overlap.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * (N // BLOCK) + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


# %% triton_add programs_from_the_far_end -> PASS
# Program 0 takes the last block: the order of blocks is nobody's business.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


# %% wave_energy intermediates_through_memory -> TOO_MUCH_TRAFFIC
# One term is stored, and loaded again for the sum: the trip that fusion should save.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    s = tl.sin(x)
    tl.store(out_ptr + offsets, s * s, mask=inside)
    c = tl.cos(x)
    first = tl.load(out_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, first + c * c / 2, mask=inside)


# %% wave_energy each_step_through_memory -> TOO_MUCH_TRAFFIC
# Every step of the formula as PyTorch would run it, one after the other.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    tl.store(out_ptr + offsets, tl.cos(tl.load(x_ptr + offsets, mask=inside)), mask=inside)
    c = tl.load(out_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, c * c, mask=inside)
    square = tl.load(out_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, square / 2, mask=inside)
    s = tl.sin(tl.load(x_ptr + offsets, mask=inside))
    half = tl.load(out_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, s * s + half, mask=inside)


# %% wave_energy input_read_again_after_a_store -> TOO_MUCH_TRAFFIC
# With a store between them the two loads of x cannot be merged.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    s = tl.sin(tl.load(x_ptr + offsets, mask=inside))
    tl.store(out_ptr + offsets, s * s, mask=inside)
    c = tl.cos(tl.load(x_ptr + offsets, mask=inside))
    tl.store(out_ptr + offsets, s * s + c * c / 2, mask=inside)


# %% wave_energy half_of_the_sum -> WRONG_ANSWER
# The half belongs to the cosine alone.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    s = tl.sin(x)
    c = tl.cos(x)
    tl.store(out_ptr + offsets, (s * s + c * c) / 2, mask=inside)


# %% wave_energy sine_of_the_square -> WRONG_ANSWER
# Squared before the sine, and not after.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, tl.sin(x * x) + tl.cos(x * x) / 2, mask=inside)


# %% wave_energy half_forgotten -> WRONG_ANSWER
# Without the half the sum is 1 for every x.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    s = tl.sin(x)
    c = tl.cos(x)
    tl.store(out_ptr + offsets, s * s + c * c, mask=inside)


# %% wave_energy squares_in_half_precision -> WRONG_ANSWER
# A float16 keeps three digits, and the output could hold seven.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    s = tl.sin(x).to(tl.float16)
    c = tl.cos(x).to(tl.float16)
    tl.store(out_ptr + offsets, s * s + c * c / 2, mask=inside)


# %% wave_energy power_operator -> DOES_NOT_COMPILE
# Triton's blocks have no `**`.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, tl.sin(x) ** 2 + tl.cos(x) ** 2 / 2, mask=inside)


# %% wave_energy no_mask -> OUT_OF_BOUNDS
# The last block reaches past the end.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    s = tl.sin(x)
    c = tl.cos(x)
    tl.store(out_ptr + offsets, s * s + c * c / 2)


# %% wave_energy one_sine_is_enough -> PASS
# cos squared is 1 - sin squared: the same bytes, half the arithmetic.
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.sin(tl.load(x_ptr + i, mask=i < N, other=0.0))
    tl.store(out_ptr + i, 0.5 + 0.5 * s * s, mask=i < N)


# %% wave_energy load_written_twice -> PASS
# Nothing is written between the two loads, so the compiler makes one of them.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    s = tl.sin(tl.load(x_ptr + offsets, mask=inside))
    c = tl.cos(tl.load(x_ptr + offsets, mask=inside))
    tl.store(out_ptr + offsets, s * s + 0.5 * c * c, mask=inside)


# %% wave_energy by_a_helper -> PASS
# A jitted helper in the same cell, blocks of 256 values.
import triton
import triton.language as tl

BLOCK = 256


@triton.jit
def square(v):
    return v * v


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    offsets = first + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < N)
    energy = square(tl.sin(x)) + 0.5 * square(tl.cos(x))
    tl.store(out_ptr + offsets, energy, mask=offsets < N)


# %% wave_energy one_program_does_all -> TOO_SERIAL
# The same bytes, and one multiprocessor at work.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        for start in range(0, N, BLOCK):
            offsets = start + tl.arange(0, BLOCK)
            inside = offsets < N
            x = tl.load(x_ptr + offsets, mask=inside)
            s = tl.sin(x)
            c = tl.cos(x)
            tl.store(out_ptr + offsets, s * s + c * c / 2, mask=inside)


# %% row_scale assumes_contiguous -> WRONG_ANSWER
# Rows N apart and columns 1 apart, whatever the strides say.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    places = rows[:, None] * N + columns[None, :]
    x = tl.load(x_ptr + places, mask=inside)
    scale = tl.load(scale_ptr + rows, mask=rows < M)
    tl.store(out_ptr + places, x * scale[:, None], mask=inside)


# %% row_scale strides_of_x_for_out -> WRONG_ANSWER
# out is contiguous, also where x is not.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    places = rows[:, None] * stride_m + columns[None, :] * stride_n
    x = tl.load(x_ptr + places, mask=inside)
    scale = tl.load(scale_ptr + rows, mask=rows < M)
    tl.store(out_ptr + places, x * scale[:, None], mask=inside)


# %% row_scale strides_swapped -> OUT_OF_BOUNDS
# stride_m is the distance from one row to the next.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    x = tl.load(x_ptr + rows[:, None] * stride_n + columns[None, :] * stride_m, mask=inside)
    scale = tl.load(scale_ptr + rows, mask=rows < M)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], x * scale[:, None], mask=inside)


# %% row_scale mask_of_the_rows_only -> OUT_OF_BOUNDS
# The last tile is too wide as well as too high.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows < M)[:, None]
    x = tl.load(x_ptr + rows[:, None] * stride_m + columns[None, :] * stride_n, mask=inside)
    scale = tl.load(scale_ptr + rows, mask=rows < M)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], x * scale[:, None], mask=inside)


# %% row_scale scale_of_the_column -> OUT_OF_BOUNDS
# There is a scale for each row, and more columns than rows.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    x = tl.load(x_ptr + rows[:, None] * stride_m + columns[None, :] * stride_n, mask=inside)
    scale = tl.load(scale_ptr + columns, mask=columns < N)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], x * scale[None, :], mask=inside)


# %% row_scale program_axes_swapped -> WRONG_ANSWER
# The first axis of the grid counts tiles of rows here.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    x = tl.load(x_ptr + rows[:, None] * stride_m + columns[None, :] * stride_n, mask=inside)
    scale = tl.load(scale_ptr + rows, mask=rows < M)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], x * scale[:, None], mask=inside)


# %% row_scale no_second_axis -> DOES_NOT_COMPILE
# 32 row offsets and 64 column offsets, added without an axis of their own.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows < M) & (columns < N)
    x = tl.load(x_ptr + rows * stride_m + columns * stride_n, mask=inside)
    scale = tl.load(scale_ptr + rows, mask=rows < M)
    tl.store(out_ptr + rows * N + columns, x * scale, mask=inside)


# %% row_scale scale_along_the_wrong_axis -> DOES_NOT_COMPILE
# A row of 32 scales does not stretch over 64 columns.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    x = tl.load(x_ptr + rows[:, None] * stride_m + columns[None, :] * stride_n, mask=inside)
    scale = tl.load(scale_ptr + rows, mask=rows < M)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], x * scale[None, :], mask=inside)


# %% row_scale column_by_column -> TOO_MUCH_TRAFFIC
# A block of one column at a time: each of its elements lies in a sector of its own.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    first = tl.program_id(1) * BN
    scale = tl.load(scale_ptr + rows, mask=rows < M)
    for column in range(first, min(first + BN, N)):
        x = tl.load(x_ptr + rows * stride_m + column * stride_n, mask=rows < M)
        tl.store(out_ptr + rows * N + column, x * scale, mask=rows < M)


# %% row_scale row_by_row -> TOO_MUCH_TRAFFIC
# One scale at a time: a sector for each.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    first = tl.program_id(0) * BM
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    for row in range(first, min(first + BM, M)):
        scale = tl.load(scale_ptr + row)
        x = tl.load(x_ptr + row * stride_m + columns * stride_n, mask=columns < N)
        tl.store(out_ptr + row * N + columns, x * scale, mask=columns < N)


# %% row_scale copied_first -> TOO_MUCH_TRAFFIC
# x is made contiguous in out, and scaled there: a trip too many.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    here = out_ptr + rows[:, None] * N + columns[None, :]
    x = tl.load(x_ptr + rows[:, None] * stride_m + columns[None, :] * stride_n, mask=inside)
    tl.store(here, x, mask=inside)
    scale = tl.load(scale_ptr + rows, mask=rows < M)
    tl.store(here, tl.load(here, mask=inside) * scale[:, None], mask=inside)


# %% row_scale tiles_of_16_by_128 -> PASS
# Another tile, the pointers written out one by one.
import triton
import triton.language as tl

BM = 16
BN = 128


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    rows = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
    columns = (tl.program_id(1) * BN + tl.arange(0, BN))[None, :]
    x_tile = x_ptr + rows * stride_m + columns * stride_n
    out_tile = out_ptr + rows * N + columns
    scale = tl.load(scale_ptr + rows, mask=rows < M, other=1.0)
    x = tl.load(x_tile, mask=(rows < M) & (columns < N), other=0.0)
    tl.store(out_tile, scale * x, mask=(rows < M) & (columns < N))


# %% row_scale expand_dims_and_square_tiles -> PASS
# Axes by name, and tiles of 64 x 64.
import triton
import triton.language as tl

BM = 64
BN = 64


@triton.jit
def row_scale(x, scale, out, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.expand_dims(tl.program_id(0) * BM + tl.arange(0, BM), 1)
    c = tl.expand_dims(tl.program_id(1) * BN + tl.arange(0, BN), 0)
    ok = (r < M) & (c < N)
    value = tl.load(x + r * stride_m + c * stride_n, ok)
    factor = tl.load(scale + r, r < M)
    tl.store(out + r * N + c, value * factor, ok)


# %% row_scale one_program_does_all -> TOO_SERIAL
# Two loops for the two axes of the grid, in the first program.
import triton
import triton.language as tl

BM = 32
BN = 64


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):
    if (tl.program_id(0) == 0) & (tl.program_id(1) == 0):
        for top in range(0, M, BM):
            for left in range(0, N, BN):
                rows = top + tl.arange(0, BM)
                columns = left + tl.arange(0, BN)
                inside = (rows < M)[:, None] & (columns < N)[None, :]
                x_places = rows[:, None] * stride_m + columns[None, :] * stride_n
                x = tl.load(x_ptr + x_places, mask=inside)
                scale = tl.load(scale_ptr + rows, mask=rows < M)
                out_places = rows[:, None] * N + columns[None, :]
                tl.store(out_ptr + out_places, x * scale[:, None], mask=inside)


# %% triple_sigmoid_backward derivative_at_the_wrong_stage -> WRONG_ANSWER
# Each factor is taken at the input of its sigmoid, and s * (1 - s) wants the output.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    dout = tl.load(dout_ptr + offsets, mask=inside)
    s1 = tl.sigmoid(x)
    s2 = tl.sigmoid(s1)
    dx = dout * (x * (1 - x)) * (s1 * (1 - s1)) * (s2 * (1 - s2))
    tl.store(dx_ptr + offsets, dx, mask=inside)


# %% triple_sigmoid_backward one_stage_missing -> WRONG_ANSWER
# Two factors for three sigmoids.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    dout = tl.load(dout_ptr + offsets, mask=inside)
    s1 = tl.sigmoid(x)
    s2 = tl.sigmoid(s1)
    tl.store(dx_ptr + offsets, dout * s1 * (1 - s1) * s2 * (1 - s2), mask=inside)


# %% triple_sigmoid_backward last_stage_only -> WRONG_ANSWER
# The derivative of the last sigmoid, without the two before it.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    dout = tl.load(dout_ptr + offsets, mask=inside)
    s3 = tl.sigmoid(tl.sigmoid(tl.sigmoid(x)))
    tl.store(dx_ptr + offsets, dout * s3 * (1 - s3), mask=inside)


# %% triple_sigmoid_backward dout_forgotten -> WRONG_ANSWER
# The chain begins with what comes from behind.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    s1 = tl.sigmoid(x)
    s2 = tl.sigmoid(s1)
    s3 = tl.sigmoid(s2)
    dx = (s1 * (1 - s1)) * (s2 * (1 - s2)) * (s3 * (1 - s3))
    tl.store(dx_ptr + offsets, dx, mask=inside)


# %% triple_sigmoid_backward in_half_precision -> WRONG_ANSWER
# s3 * (1 - s3) with three digits.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    dout = tl.load(dout_ptr + offsets, mask=inside)
    s1 = tl.sigmoid(x)
    s2 = tl.sigmoid(s1)
    s3 = tl.sigmoid(s2).to(tl.float16)
    dx = dout * (s1 * (1 - s1)) * (s2 * (1 - s2)) * (s3 * (1 - s3))
    tl.store(dx_ptr + offsets, dx, mask=inside)


# %% triple_sigmoid_backward recomputed_through_memory -> TOO_MUCH_TRAFFIC
# s1 and s2 are computed again, and each goes to memory and back on the way.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(dx_ptr + offsets, tl.sigmoid(x), mask=inside)
    s1 = tl.load(dx_ptr + offsets, mask=inside)
    tl.store(dx_ptr + offsets, tl.sigmoid(s1), mask=inside)
    s2 = tl.load(dx_ptr + offsets, mask=inside)
    s3 = tl.sigmoid(s2)
    dout = tl.load(dout_ptr + offsets, mask=inside)
    dx = dout * (s1 * (1 - s1)) * (s2 * (1 - s2)) * (s3 * (1 - s3))
    tl.store(dx_ptr + offsets, dx, mask=inside)


# %% triple_sigmoid_backward a_step_of_the_chain_at_a_time -> TOO_MUCH_TRAFFIC
# The gradient goes to memory after each factor.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    s1 = tl.sigmoid(tl.load(x_ptr + offsets, mask=inside))
    s2 = tl.sigmoid(s1)
    s3 = tl.sigmoid(s2)
    dout = tl.load(dout_ptr + offsets, mask=inside)
    tl.store(dx_ptr + offsets, dout * s3 * (1 - s3), mask=inside)
    d2 = tl.load(dx_ptr + offsets, mask=inside)
    tl.store(dx_ptr + offsets, d2 * s2 * (1 - s2), mask=inside)
    d1 = tl.load(dx_ptr + offsets, mask=inside)
    tl.store(dx_ptr + offsets, d1 * s1 * (1 - s1), mask=inside)


# %% triple_sigmoid_backward sigmoid_from_exp_of_x -> WRONG_ANSWER
# exp(x) / (1 + exp(x)) is inf / inf for a large x.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    weight = tl.exp(tl.load(x_ptr + offsets, mask=inside))
    s1 = weight / (1 + weight)
    s2 = tl.sigmoid(s1)
    s3 = tl.sigmoid(s2)
    dx = tl.load(dout_ptr + offsets, mask=inside) * s3 * (1 - s3) * s2 * (1 - s2) * s1 * (1 - s1)
    tl.store(dx_ptr + offsets, dx, mask=inside)


# %% triple_sigmoid_backward no_mask -> OUT_OF_BOUNDS
# The last block reaches past the end.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    dout = tl.load(dout_ptr + offsets)
    s1 = tl.sigmoid(x)
    s2 = tl.sigmoid(s1)
    s3 = tl.sigmoid(s2)
    dx = dout * (s1 * (1 - s1)) * (s2 * (1 - s2)) * (s3 * (1 - s3))
    tl.store(dx_ptr + offsets, dx)


# %% triple_sigmoid_backward sigmoid_by_hand -> PASS
# From exp, with a helper that also gives the derivative.
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def sigmoid(v):
    return 1.0 / (1.0 + tl.exp(-v))


@triton.jit
def slope(s):
    return s * (1.0 - s)


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = sigmoid(tl.load(x_ptr + i, mask=i < N, other=0.0))
    second = sigmoid(first)
    third = sigmoid(second)
    gradient = tl.load(dout_ptr + i, mask=i < N, other=0.0)
    gradient = gradient * slope(third)
    gradient = gradient * slope(second)
    gradient = gradient * slope(first)
    tl.store(dx_ptr + i, gradient, mask=i < N)


# %% triple_sigmoid_backward in_a_loop -> PASS
# The product of the slopes is gathered on the way forward.
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < N)
    product = tl.load(dout_ptr + i, mask=i < N)
    for _ in tl.static_range(3):
        v = tl.sigmoid(v)
        product = product * (v - v * v)
    tl.store(dx_ptr + i, product, mask=i < N)


# %% triple_sigmoid_backward one_program_does_all -> TOO_SERIAL
# A loop over all blocks in the first program, and the others have nothing to do.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        for start in range(0, N, BLOCK):
            offsets = start + tl.arange(0, BLOCK)
            inside = offsets < N
            s1 = tl.sigmoid(tl.load(x_ptr + offsets, mask=inside))
            s2 = tl.sigmoid(s1)
            s3 = tl.sigmoid(s2)
            slope = s3 * (1 - s3) * s2 * (1 - s2) * s1 * (1 - s1)
            dout = tl.load(dout_ptr + offsets, mask=inside)
            tl.store(dx_ptr + offsets, dout * slope, mask=inside)


# %% dequantize one_block_a_row -> WRONG_ANSWER
# Rows are longer than a block, and the rest is never written.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    scale = tl.load(scale_ptr + row)
    columns = tl.arange(0, BLOCK)
    q = tl.load(q_ptr + row * K + columns, mask=columns < K)
    tl.store(out_ptr + row * K + columns, q * scale, mask=columns < K)


# %% dequantize start_forgotten -> WRONG_ANSWER
# Each round does the first block again.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    scale = tl.load(scale_ptr + row)
    for _start in range(0, K, BLOCK):
        columns = tl.arange(0, BLOCK)
        q = tl.load(q_ptr + row * K + columns, mask=columns < K)
        tl.store(out_ptr + row * K + columns, q * scale, mask=columns < K)


# %% dequantize product_in_float16 -> WRONG_ANSWER
# These scales are too small for a float16 to hold with all its digits.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    scale = tl.load(scale_ptr + row).to(tl.float16)
    for start in range(0, K, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        q = tl.load(q_ptr + row * K + columns, mask=columns < K)
        tl.store(out_ptr + row * K + columns, q.to(tl.float16) * scale, mask=columns < K)


# %% dequantize divided_by_the_scale -> WRONG_ANSWER
# That is the way from float16 to int8.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    scale = tl.load(scale_ptr + row)
    for start in range(0, K, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        q = tl.load(q_ptr + row * K + columns, mask=columns < K)
        tl.store(out_ptr + row * K + columns, q / scale, mask=columns < K)


# %% dequantize scale_of_the_column -> OUT_OF_BOUNDS
# There is one scale a row, and rows are longer than that.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, K, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        scale = tl.load(scale_ptr + columns, mask=columns < K)
        q = tl.load(q_ptr + row * K + columns, mask=columns < K)
        tl.store(out_ptr + row * K + columns, q * scale, mask=columns < K)


# %% dequantize no_mask -> OUT_OF_BOUNDS
# The last block of the last row reaches past the end.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    scale = tl.load(scale_ptr + row)
    for start in range(0, K, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        q = tl.load(q_ptr + row * K + columns)
        tl.store(out_ptr + row * K + columns, q * scale)


# %% dequantize scale_in_every_round -> TOO_MUCH_TRAFFIC
# With a store in the loop the compiler has to load the scale again in each round.
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, K, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        scale = tl.load(scale_ptr + row)
        q = tl.load(q_ptr + row * K + columns, mask=columns < K)
        tl.store(out_ptr + row * K + columns, q * scale, mask=columns < K)


# %% dequantize a_chunk_for_each_element -> TOO_MUCH_TRAFFIC
# A chunk of the row for each element of the block: a round touches every so many elements.
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    scale = tl.load(scale_ptr + row)
    rounds = tl.cdiv(K, BLOCK)
    for i in range(rounds):
        columns = tl.arange(0, BLOCK) * rounds + i
        q = tl.load(q_ptr + row * K + columns, mask=columns < K)
        tl.store(out_ptr + row * K + columns, q * scale, mask=columns < K)


# %% dequantize pointers_walk_along -> PASS
# Pointers that move with the loop, smaller blocks, the cast written out.
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    q_row = q_ptr + row * K
    out_row = out_ptr + row * K
    columns = tl.arange(0, BLOCK)
    scale = tl.load(scale_ptr + row)
    for block in range(tl.cdiv(K, BLOCK)):
        inside = columns < K - block * BLOCK
        q = tl.load(q_row + block * BLOCK + columns, mask=inside, other=0)
        tl.store(
            out_row + block * BLOCK + columns,
            (q.to(tl.float32) * scale).to(tl.float16),
            mask=inside,
        )


# %% dequantize blocks_of_2048 -> PASS
# Fewer, larger rounds.
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def dequantize(q, scale, out, K, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    factor = tl.load(scale + row)
    for start in range(0, K, BLOCK):
        here = row * K + start + tl.arange(0, BLOCK)
        inside = here < (row + 1) * K
        tl.store(out + here, tl.load(q + here, mask=inside) * factor, mask=inside)


# %% dequantize one_program_does_all -> TOO_SERIAL
# The first program walks along all rows. It learns their number from the grid.
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        for row in range(tl.num_programs(0)):
            scale = tl.load(scale_ptr + row)
            for start in range(0, K, BLOCK):
                columns = start + tl.arange(0, BLOCK)
                inside = columns < K
                q = tl.load(q_ptr + row * K + columns, mask=inside)
                tl.store(out_ptr + row * K + columns, q * scale, mask=inside)
