# %% double sum_of_itself -> PASS
# The same value by addition. The compiler merges the two loads of x[i], and so does the meter.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + x[i]


# %% double by_hand_and_early_return -> PASS
# Writes the index out and leaves early instead of guarding.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= y.size:
        return
    v = x[i]
    y[i] = v * 2.0


# %% double from_the_far_end -> PASS
# Thread 0 takes the last element: neighbours in reverse order are neighbours.
from numba import cuda


@cuda.jit
def double(x, y):
    i = x.size - 1 - cuda.grid(1)
    if i >= 0:
        y[i] = 2 * x[i]


# %% double by_a_device_function -> PASS
# A helper in the same cell, a constant above it, and the guard turned round.
from numba import cuda, float32

FACTOR = 2.0


@cuda.jit(device=True)
def twice(v):
    return float32(v * FACTOR)


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if not i < x.size:
        return
    y[i] = twice(x[i])


# %% double while_in_place_of_if -> PASS
# A loop that runs once: the grid has a thread for every element.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    while i < x.shape[0]:
        y[i] = x[i] / 0.5
        i += cuda.gridsize(1)


# %% double in_place -> WRONG_ANSWER
# Doubles x itself and never writes y: in NumPy x *= 2 would do.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 2 * x[i]


# %% double squares -> WRONG_ANSWER
# "Double" read as a power.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] ** 2


# %% double next_element -> OUT_OF_BOUNDS
# Counts from 1: the last thread reads behind the end.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i + 1]


# %% double adds_to_the_output -> WRONG_ANSWER
# y += ... as if y began at zero. An output begins as whatever memory held.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += 2 * x[i]


# %% double copies_first -> TOO_MUCH_TRAFFIC
# Copies x to y and then adds x again: after the store, x[i] and y[i] are fetched once more.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]
        y[i] = y[i] + x[i]


# %% double every_thread_does_all -> RACE
# A loop as in ordinary Python, forgetting that every thread runs it.
from numba import cuda


@cuda.jit
def double(x, y):
    for i in range(x.size):
        y[i] = 2 * x[i]


# %% double one_thread_does_all -> TOO_MUCH_TRAFFIC
# The race mended by letting one thread loop: one lane a request, a sector an element.
from numba import cuda


@cuda.jit
def double(x, y):
    if cuda.grid(1) == 0:
        for i in range(x.size):
            y[i] = 2 * x[i]


# %% double whole_arrays -> DOES_NOT_COMPILE
# NumPy habits: the arrays without an index.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y = 2 * x


# %% double round_brackets -> REJECTED
# Round brackets for an element, as in MATLAB.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x(i)


# %% double not_jitted -> REJECTED
# The decorator was lost while editing.
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


# %% double returns_the_value -> REJECTED
# A function returns, a kernel stores.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        return 2 * x[i]


# %% double whole_numbers -> WRONG_ANSWER
# int() to be safe with the index, in the wrong place: it cuts off the fraction.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * int(x[i])


# %% double name_for_an_element -> WRONG_ANSWER
# A variable named like the element: nothing is stored.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y_i = 2 * x[i]


# %% double doubles_the_index -> OUT_OF_BOUNDS
# Two times the index in place of two times the value.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[2 * i]


# %% double guard_around_nothing -> OUT_OF_BOUNDS
# The line stands beside the guard and not under it.
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        pass
    y[i] = 2 * x[i]
