# %% [markdown]
# # 07 Softmax

# %%
import course
from course import exercises as ex

# %%
ex.softmax_three_pass

# %% softmax_three_pass
import triton
import triton.language as tl

BLOCK = 512  # 256, 512 or 1024


@triton.jit
def softmax_three_pass(x_ptr, out_ptr, N, BLOCK: tl.constexpr):  # x, out: (M, N)
    row = tl.program_id(0) * N
    ### BEGIN SOLUTION
    top = -float("inf")
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))  # read MN
        top = tl.maximum(top, tl.max(x.to(tl.float32), axis=0))
    top = tl.where(top == -float("inf"), 0.0, top)
    total = 0.0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))  # read MN
        total += tl.sum(tl.exp(x.to(tl.float32) - top), axis=0)
    total = tl.maximum(total, 1.0)  # the largest element's weight is 1; only empty rows have 0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))  # read MN
        weights = tl.exp(x.to(tl.float32) - top)
        tl.store(out_ptr + row + columns, weights / total, mask=columns < N)  # write MN
    ### END SOLUTION


# %% softmax_three_pass_check
ex.softmax_three_pass.check(softmax_three_pass)

# %%
ex.softmax_online

# %% softmax_online
import triton
import triton.language as tl

BLOCK = 512  # 256, 512 or 1024


@triton.jit
def softmax_online(x_ptr, out_ptr, N, BLOCK: tl.constexpr):  # x, out: (M, N)
    row = tl.program_id(0) * N
    ### BEGIN SOLUTION
    top = -float("inf")
    total = 0.0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))  # read MN
        x = x.to(tl.float32)
        new_top = tl.maximum(top, tl.max(x, axis=0))
        shift = tl.where(new_top == -float("inf"), 0.0, new_top)  # only -inf so far
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift), axis=0)
        top = new_top
    shift = tl.where(top == -float("inf"), 0.0, top)
    total = tl.maximum(total, 1.0)  # 0 in an empty row, 1 or more in every other
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))  # read MN
        weights = tl.exp(x.to(tl.float32) - shift)
        tl.store(out_ptr + row + columns, weights / total, mask=columns < N)  # write MN
    ### END SOLUTION


# %% softmax_online_check
ex.softmax_online.check(softmax_online)

# %%
ex.softmax_one_pass

# %% softmax_one_pass
import triton
import triton.language as tl

ROWS = 1  # rows of a program: 1, 2, 4 or 8


@triton.jit
def softmax_one_pass(x_ptr, out_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    ### BEGIN SOLUTION
    columns = tl.arange(0, BLOCK)
    at = tl.program_id(0) * N + columns  # ROWS is 1: program r has row r
    x = tl.load(x_ptr + at, mask=columns < N, other=-float("inf"))  # read MN
    x = x.to(tl.float32)
    top = tl.max(x, axis=0)
    top = tl.where(top == -float("inf"), 0.0, top)
    weights = tl.exp(x - top)
    total = tl.maximum(tl.sum(weights, axis=0), 1.0)
    tl.store(out_ptr + at, weights / total, mask=columns < N)  # write MN
    ### END SOLUTION


# %% softmax_one_pass_check
ex.softmax_one_pass.check(softmax_one_pass)
