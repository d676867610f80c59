# mypy: disable-error-code="misc, assignment"
"""Kernels with loads that nobody needs, and loads that stand side by side."""

from numba import cuda, float32

from .cases import blank, ints, order, zeros
from .merge import N, book, loads_and_out, one, rounds_out, with_other

# ---- loads nobody needs, loads that stand side by side --------------------------------


@book.case(loads_and_out, 2, (2, 1))
def merge_dead_load(x, y, out):
    i = cuda.grid(1)
    unused = y[i]
    out[i] = x[i]


@book.case(rounds_out, 2, (10, 1))
def merge_dead_load_loop(x, y, out, rounds):
    i = cuda.grid(1)
    value = float32(0)
    for k in range(rounds):
        value = y[k]
    out[i] = value


@book.case(loads_and_out, 2, (1, 1))
def merge_times_zero(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] * 0


@book.case(lambda: (ints(1, N, dtype="int32"), one(2), blank(N, dtype="int32")), 2, (3, 1))
def merge_integer_times_zero(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] * 0 + (x[i] - x[i])


@book.case(loads_and_out, 2, (2, 1))
def merge_overwritten_value(x, y, out):
    i = cuda.grid(1)
    value = x[i]
    value = y[i]
    out[i] = value


@book.case(lambda: (one(1), order(2, N), blank(N)), 2, (4, 1))
def merge_index_twice(x, index, out):
    i = cuda.grid(1)
    out[i] = x[index[i]] * 2 + x[index[i]]


@book.case(lambda: (one(1), order(2, N), blank(N)), 2, (3, 1))
def merge_index_store(x, index, out):
    i = cuda.grid(1)
    out[index[i]] = x[index[i]]


@book.case(lambda: (one(1), order(2, N), zeros(N)), 2, (3, 1))
def merge_index_augment(x, index, out):
    i = cuda.grid(1)
    out[index[i]] += x[i]


@book.case(loads_and_out, 2, (0, 1))
def merge_shape_only(x, y, out):
    i = cuda.grid(1)
    out[i] = x.shape[0] + y.size + x.strides[0] + len(y)


@book.case(lambda: (ints(1, 4 * N), blank(N)), 1, (4, 1))
def merge_four_neighbours(x, out):
    i = cuda.grid(1)
    out[i] = x[4 * i] + x[4 * i + 1] + x[4 * i + 2] + x[4 * i + 3]


@book.case(lambda: (one(1), blank(4 * N)), 1, (1, 4))
def merge_four_stores(x, out):
    i = cuda.grid(1)
    value = x[i]
    out[4 * i] = value
    out[4 * i + 1] = value
    out[4 * i + 2] = value
    out[4 * i + 3] = value


@book.case(lambda: (ints(1, N, 4), blank(N)), 1, (4, 1))
def merge_row_of_four(x, out):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(4):
        total += x[i, k]
    out[i] = total


@book.case(lambda: (one(1), one(2), zeros(N)), 2)
def merge_three_point(x, y, out):
    i = cuda.grid(1)
    if 0 < i < N - 1:
        out[i] = x[i - 1] + x[i] + x[i + 1]


@book.case(lambda: (lambda x: (x, x, blank(N)))(one(1)), 2, (2, 1))
def merge_same_array_twice(a, b, out):
    i = cuda.grid(1)
    out[i] = a[i] * b[i]


@cuda.jit(device=True)
def twice(x, i):
    return x[i] + x[i]


@book.case(loads_and_out, 2, (4, 1))
def merge_device_function(x, y, out):
    i = cuda.grid(1)
    out[i] = twice(x, i) + twice(x, i)


@book.case(loads_and_out, 2, (3, 1))
def merge_uniform_and_lane(x, y, out):
    i = cuda.grid(1)
    out[i] = x[0] * x[i] + x[0]


@book.case(loads_and_out, 2, (12, 4), launch=(2, 128))
def merge_grid_stride(x, y, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = x[i] * x[i] + y[0]


# ---- further questions ----------------------------------------------------------------


@book.case(loads_and_out, 2, (1, 2))
def merge_dead_store(x, y, out):
    i = cuda.grid(1)
    value = x[i]
    out[i] = 1
    out[i] = value


@book.case(with_other, (2, 3), (1, 3))
def merge_dead_store_other(x, y, out, other):
    i = cuda.grid(1)
    value = x[i]
    out[i] = 1
    other[i] = value
    out[i] = 2


@book.case(with_other, (2, 3))
def merge_ternary_then_more(x, y, out, other):
    i = cuda.grid(1)
    out[i] = x[i] if i % 2 == 0 else y[i]
    other[i] = 1


@book.case(lambda: (one(1), one(2), blank(1, N)), 2)
def merge_ternary_2d(x, y, out):
    i = cuda.grid(1)
    out[0, i] = x[i] if i % 2 == 0 else y[i]


@book.case(loads_and_out, 2)
def merge_ternary_name(x, y, out):
    i = cuda.grid(1)
    value = x[i] if i % 2 == 0 else y[i]
    out[i] = value


@book.case(loads_and_out, 2)
def merge_ternary_guard(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] if x[i] > 0 else 0


@book.case(loads_and_out, 2)
def merge_max_zero(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = max(x[i], 0)


@book.case(lambda: (ints(1, N + 8), blank(N)), 1)
def merge_sliding_constant(x, out):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(4):
        total += x[i + k] * x[i + k + 1]
    out[i] = total


@book.case(lambda: (ints(1, N + 8), blank(N)), 1)
def merge_next_twice(x, out):
    i = cuda.grid(1)
    left = x[i]
    right = x[i + 1]
    j = i + 1
    out[i] = left * right + x[i + 1] - x[j]


@book.case(lambda: (one(1), one(2), one(3)), 2)
def merge_augment_in_if(x, y, out):
    i = cuda.grid(1)
    if y[i] > 0:
        out[i] += x[i]
    else:
        out[i] -= x[i]


@book.case(lambda: (ints(1, N, 9), blank(N)), 1, (19, 1))
def merge_row_repeat(x, out):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(x.shape[1]):
        total += x[i, k] * x[i, k]
    out[i] = total + x[i, 0]


@book.case(lambda: (ints(1, N, 9), blank(N, 9)), 1, (28, 9))
def merge_softmax_rows(x, out):
    i = cuda.grid(1)
    biggest = x[i, 0]
    for k in range(x.shape[1]):
        biggest = max(biggest, x[i, k])
    total = float32(0)
    for k in range(x.shape[1]):
        total += x[i, k] - biggest
    for k in range(x.shape[1]):
        out[i, k] = (x[i, k] - biggest) * total


@book.case(loads_and_out, 2, (2, 1))
def merge_shared_barrier_reload(x, y, out):
    cache = cuda.shared.array(128, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    cache[t] = x[i]
    cuda.syncthreads()
    out[i] = cache[127 - t] + cache[127 - t] + x[i]
