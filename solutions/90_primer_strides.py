# %% [markdown]
# # Primer: strides and row-major order
#
# One page for those who need it, before lesson 01. **Memory is one long line of numbered places.
# A matrix has rows and columns. How does one become the other?**

# %%
import numpy as np

from course.figures import access_picture
from course.figures import primer_strides as pictures
from course.notebook.predict import compare

pictures.row_major()

# %% [markdown]
# NumPy, PyTorch and C put row after row. That is called **row-major** order. (Fortran and MATLAB
# put column after column: column-major.) So in a matrix with 4 columns, element `[row, col]` has
# the place `row * 4 + col`.
#
# The 4 in that formula is a **stride**: how far one step along an axis goes in memory. An array
# has a stride for each axis. NumPy gives them in bytes, PyTorch in elements:

# %%
m = np.arange(12, dtype=np.float32).reshape(3, 4)
print(m)
print("shape  ", m.shape)
print("strides", m.strides, "in bytes; a float32 has", m.itemsize)

# %% [markdown]
# With strides, an address is a sum of products, and nothing else:
#
# `address of m[row, col] = address of m[0, 0] + row * strides[0] + col * strides[1]`
#
# *Predict:* how many bytes after `m[0, 0]` does `m[2, 1]` begin?

# %% predict_bytes
prediction = ...

# %%
compare(prediction, 2 * m.strides[0] + 1 * m.strides[1], "bytes")

# %% [markdown]
# ## Views: other strides, same memory
#
# Transposing a matrix copies nothing. The result is a **view**: the same memory, read with other
# strides. So is a slice.

# %%
for name, view in (("m", m), ("m.T", m.T), ("m[:, :3]", m[:, :3]), ("m[:, ::2]", m[:, ::2])):
    print(
        f"{name:9}  shape {view.shape!s:7}  strides {view.strides!s:8}"
        f"  contiguous: {view.flags.c_contiguous}"
    )

# %%
pictures.padded_rows()

# %% [markdown]
# An array whose places follow each other without a gap, the last axis fastest, is
# **contiguous**. `m[:, :3]` is not: after three elements one place is skipped. The distance from
# one row's start to the next, here 4 elements, is also called the **leading dimension** or the
# **pitch**. `np.ascontiguousarray(view)` makes a copy without gaps.
#
# A kernel that computes places by itself, as in `x[row * 4 + col]`, has to know the stride. If
# it takes the number of columns instead, it is right for `m` and wrong for `m[:, :3]`. A kernel
# that writes `m[row, col]` leaves the strides to Numba, which passes them along with the array.
#
# ## Why a GPU programmer cares
#
# The 32 lanes of a warp read together, and memory answers in sectors of 32 bytes (lesson 00).
# Walk along a row of a matrix with 128 columns of `float32`, and neighbours lie 4 bytes apart:

# %%
access_picture([4 * lane for lane in range(32)], 4, "along a row: m[0, lane]")

# %% [markdown]
# Walk down a column, and neighbours lie a whole row apart, 512 bytes:

# %%
access_picture([512 * lane for lane in range(32)], 4, "down a column: m[lane, 0]")

# %% [markdown]
# *Predict:* the matrix is transposed, `t = m.T`, without a copy, and lane *i* reads `t[i, 0]`.
# How many bytes lie between what lane 0 and lane 1 read, if `m` has 128 columns of `float32`?

# %% predict_transposed
prediction = ...

# %%
t = np.zeros((32, 128), dtype=np.float32).T
compare(prediction, t.strides[0], "bytes")

# %% [markdown]
# `t[i, 0]` is `m[0, i]`: a row of `m`, whatever it is called now. What counts is the stride, not
# the name of the axis.
#
# **In one line:** row-major means that the last index runs fastest; a stride says how far a step
# goes; neighbouring lanes should step along the axis whose stride is one element.
