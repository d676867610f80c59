# %% intensity stores_forgotten -> WRONG_ANSWER
# Only what is read was counted, and a multiply-add as one operation.
intensity = {
    "add": 1 / 8,
    "relu_float32": 1 / 4,
    "relu_float16": 1 / 2,
    "dot": 1 / 8,
    "matmul_1024": 1024**3 / (2 * 4 * 1024**2),
    "matmul_naive": 32 / (5 * 32),
    "matmul_tiled_16": 2,
    "matmul_tiled_64": 8,
    "attention_unfused": 15.75,
    "attention_fused": 1024,
    "knee_float32": 67 / 4.8,
    "knee_tensor": 989 / 4.8,
    "relu_tflop_s": 4.8 / 4,
}


# %% intensity knee_upside_down -> WRONG_ANSWER
# Bytes per FLOP for FLOP per byte, and four sectors for a broadcast.
intensity = {
    "add": 1 / 12,
    "relu_float32": 1 / 8,
    "relu_float16": 1 / 4,
    "dot": 1 / 4,
    "matmul_1024": 1024 / 6,
    "matmul_naive": 64 / 256,
    "matmul_tiled_16": 4,
    "matmul_tiled_64": 16,
    "attention_unfused": 31.5,
    "attention_fused": 2048,
    "knee_float32": 4.8 / 67,
    "knee_tensor": 4.8 / 989,
    "relu_tflop_s": 67,
}


# %% bottleneck everything_is_memory -> WRONG_ANSWER
# The rule of the first lessons applied to programs whose GPU is idle.
bottleneck = {
    "A_tflop_s": 764,
    "A_waits_for": 1,
    "B_tb_s": 4.33,
    "B_waits_for": 2,
    "C_busy": 0.209,
    "C_waits_for": 2,
    "C_idle_a_launch_us": 3.68,
    "C_graph_speedup": 3.81,
    "D_gb_s": 18.6,
    "D_waits_for": 2,
    "D_least_us": 183,
    "E_waits_for": 2,
    "E_least_us": 1100,
    "A_mfu": 0.772,
    "E_mfu": 0.118,
}


# %% bottleneck sums_for_overlaps -> WRONG_ANSWER
# Two things at the same time were added up.
bottleneck = {
    "A_tflop_s": 764,
    "A_waits_for": 1,
    "B_tb_s": 4.33,
    "B_waits_for": 2,
    "C_busy": 0.209,
    "C_waits_for": 3,
    "C_idle_a_launch_us": 3.68,
    "C_graph_speedup": 3.81,
    "D_gb_s": 18.6,
    "D_waits_for": 4,
    "D_least_us": 2790 + 183,
    "E_waits_for": 5,
    "E_least_us": 2980 + 1100,
    "A_mfu": 0.772,
    "E_mfu": 0.118,
}


# %% repeat_multiply while_loop -> PASS
# A loop that counts down, the step written as an augmented assignment.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= y.size:
        return
    value = x[i]
    left = k
    while left > 0:
        value *= a
        value += b
        left -= 1
    y[i] = value


# %% repeat_multiply two_a_turn -> PASS
# Two steps a turn of the loop, and one more where k is odd.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]
        for _ in range(k // 2):
            value = (value * a + b) * a + b
        if k % 2 == 1:
            value = value * a + b
        y[i] = value


# %% repeat_multiply closed_form -> PASS
# The sum of the geometric series: the same answer without a loop.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.grid(1)
    if i < x.size:
        power = a**k
        y[i] = x[i] * power + b * (1 - power) / (1 - a)


# %% repeat_multiply store_in_the_loop -> PASS
# The store stands in the loop; the compiler moves it behind, since nothing else is touched there.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]
        for _ in range(k):
            value = value * a + b
            y[i] = value


# %% repeat_multiply copied_first -> TOO_MUCH_TRAFFIC 0.7
# x is copied to y, then y is worked on: the compiler saves the loop, not the first store.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]
        for _ in range(k):
            y[i] = y[i] * a + b


# %% repeat_multiply barrier_a_step -> TOO_MUCH_TRAFFIC 0.6
# A barrier in each step, as for shared memory: y goes to memory and back every time.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]
    for _ in range(k):
        cuda.syncthreads()
        if i < x.size:
            y[i] = y[i] * a + b


# %% repeat_multiply first_step_inside -> TOO_MUCH_TRAFFIC 0.6
# The loop reads x in its first turn and y in the others, so y cannot stay in a register.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.grid(1)
    if i < x.size:
        for step in range(k):
            if step == 0:
                value = x[i]
            else:
                value = y[i]
            y[i] = value * a + b


# %% repeat_multiply one_step -> WRONG_ANSWER
# Every turn starts from x again.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]
        for _ in range(k):
            value = x[i] * a + b
        y[i] = value


# %% repeat_multiply starts_at_one -> WRONG_ANSWER
# range(1, k) has k - 1 turns.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]
        for _ in range(1, k):
            value = value * a + b
        y[i] = value


# %% repeat_multiply no_guard -> OUT_OF_BOUNDS
# The last block has threads to spare.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.grid(1)
    value = x[i]
    for _ in range(k):
        value = value * a + b
    y[i] = value


# %% repeat_multiply chunk_a_thread -> TOO_MUCH_TRAFFIC 0.6
# Eight neighbours a thread, "to give it enough to do": lanes stand 32 bytes apart.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    first = 8 * cuda.grid(1)
    for i in range(first, min(first + 8, x.size)):
        value = x[i]
        for _ in range(k):
            value = value * a + b
        y[i] = value


# %% repeat_multiply two_neighbours_a_thread -> TOO_MUCH_TRAFFIC
# Each thread takes two neighbours: half of each sector a request.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.grid(1)
    half = (x.size + 1) // 2
    if i < half:
        for j in range(2 * i, min(2 * i + 2, x.size)):
            v = x[j]
            for s in range(k):
                v = v * a + b
            y[j] = v


# %% repeat_multiply kept_in_the_input -> WRONG_ANSWER
# The number is kept in x, which must stay as it is.
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    i = cuda.grid(1)
    if i < x.size:
        for j in range(k):
            x[i] = x[i] * a + b
        y[i] = x[i]


# %% repeat_multiply local_array_and_break -> PASS
# The number in a local array of one, the loop left by a break.
from numba import cuda, float32


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    v = cuda.local.array(1, float32)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        v[0] = x[i]
        j = 0
        while True:
            if j >= k:
                break
            v[0] = v[0] * a + b
            j += 1
        y[i] = v[0]


# %% half_the_bytes scaled_first -> PASS
# float16 times the float32 scale is a float32, and so is all that follows.
from numba import cuda


@cuda.jit
def half_the_bytes(x, w, y, scale):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * scale * w[i]


# %% half_the_bytes double_precision -> PASS
# More precision than needed, and the same bytes.
from numba import cuda, float64


@cuda.jit
def half_the_bytes(x, w, y, scale):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = float64(x[i]) * w[i] * scale


# %% half_the_bytes numpy_casts -> PASS
# NumPy's names for the types, and a result rounded by hand.
import numpy as np
from numba import cuda


@cuda.jit
def half_the_bytes(x, w, y, scale):
    i = cuda.grid(1)
    if i >= x.size:
        return
    left = np.float32(x[i])
    right = np.float32(w[i])
    y[i] = np.float16(left * right * scale)


# %% half_the_bytes product_in_float16 -> WRONG_ANSWER
# Two float16 make a float16 product, and it overflows.
from numba import cuda


@cuda.jit
def half_the_bytes(x, w, y, scale):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * w[i] * scale


# %% half_the_bytes float_keeps_the_type -> WRONG_ANSWER
# In Numba float() of a float16 is still a float16.
from numba import cuda


@cuda.jit
def half_the_bytes(x, w, y, scale):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = float(x[i]) * float(w[i]) * scale


# %% half_the_bytes converted_too_late -> WRONG_ANSWER
# The cast stands around the product, which is inf already.
from numba import cuda, float32


@cuda.jit
def half_the_bytes(x, w, y, scale):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = float32(x[i] * w[i]) * scale


# %% half_the_bytes two_neighbours -> TOO_MUCH_TRAFFIC 0.7
# Two neighbours a thread, to fill 4 bytes: two requests, each with every second element.
from numba import cuda, float32


@cuda.jit
def half_the_bytes(x, w, y, scale):
    first = 2 * cuda.grid(1)
    for i in range(first, min(first + 2, x.size)):
        y[i] = float32(x[i]) * float32(w[i]) * scale


# %% half_the_bytes eight_neighbours -> TOO_MUCH_TRAFFIC 0.6
# Eight neighbours a thread, 16 bytes: the wide load of CUDA C, which this is not.
from numba import cuda, float32


@cuda.jit
def half_the_bytes(x, w, y, scale):
    first = 8 * cuda.grid(1)
    for k in range(8):
        i = first + k
        if i < x.size:
            y[i] = float32(x[i]) * float32(w[i]) * scale


# %% half_the_bytes no_guard -> OUT_OF_BOUNDS
# The last block has threads to spare.
from numba import cuda, float32


@cuda.jit
def half_the_bytes(x, w, y, scale):
    i = cuda.grid(1)
    y[i] = float32(x[i]) * float32(w[i]) * scale


# %% half_the_bytes scale_in_float16 -> WRONG_ANSWER
# No overflow in this order, and three roundings to 11 bits.
from numba import cuda
from numba.types import float16


@cuda.jit
def half_the_bytes(x, w, y, scale):
    i = cuda.grid(1)
    if i < x.size:
        s = float16(scale)
        y[i] = s * x[i] * w[i]


# %% half_the_bytes scale_as_first_factor -> PASS
# float32 times float16 is float32, so that nothing needs a cast.
from numba import cuda, float32


@cuda.jit
def half_the_bytes(x, w, y, scale):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = scale * x[i] * w[i]


# %% occupancy registers_alone -> WRONG_ANSWER
# Only registers were looked at, and a part of a block counted.
occupancy = {
    "blocks_32_registers": 8,
    "occupancy_32_registers": 1,
    "blocks_40_registers": 6.4,
    "occupancy_40_registers": 0.8,
    "occupancy_128_registers": 0.25,
    "blocks_48_kb": 8,
    "occupancy_tiny_blocks": 1,
    "occupancy_huge_blocks": 0.8,
    "most_registers_for_full": 32,
}


# %% occupancy threads_alone -> WRONG_ANSWER
# 2,048 threads over the block's threads, whatever else the block needs.
occupancy = {
    "blocks_32_registers": 8,
    "occupancy_32_registers": 1,
    "blocks_40_registers": 8,
    "occupancy_40_registers": 1,
    "occupancy_128_registers": 1,
    "blocks_48_kb": 8,
    "occupancy_tiny_blocks": 1,
    "occupancy_huge_blocks": 1,
    "most_registers_for_full": 32,
}


# %% hide_latency one_sm -> WRONG_ANSWER
# One SM's bytes for the whole GPU's.
hide_latency = {
    "in_flight_bytes": 1.92e6,
    "in_flight_an_sm_bytes": 1.92e6 / 132,
    "one_warp_gb_s": 128 / 400,
    "one_warp_share": 128 / 400 / 4800,
    "full_sm_gb_s": 64 * 128 / 400,
    "loads_a_thread": 2,
    "warps_with_16_bytes": 29,
}


# %% hide_latency rounded_down -> WRONG_ANSWER
# 1.78 loads and 28.4 warps rounded down: not enough.
hide_latency = {
    "in_flight_bytes": 1.92e6,
    "in_flight_an_sm_bytes": 14545,
    "one_warp_gb_s": 42.24,
    "one_warp_share": 0.0088,
    "full_sm_gb_s": 2703,
    "loads_a_thread": 1,
    "warps_with_16_bytes": 28,
}


# %% waves rounded_to_nearest -> WRONG_ANSWER
# Parts of tiles and waves, as if a block could do half a tile.
waves = {
    "tiles_1792": 98,
    "waves_1792": 98 / 108,
    "utilisation_1792": 1,
    "tiles_1793": 98.1,
    "waves_1793": 1,
    "utilisation_1793": 0.91,
    "speed_ratio": 1,
    "two_blocks_an_sm": 1,
    "waves_8192": 18.96,
    "utilisation_8192": 1,
    "tiles_257": 4,
    "useful_257": 1,
    "h200_last_single_wave": 2048,
}


# %% waves more_than_one -> WRONG_ANSWER
# 120 tiles on 108 SMs taken for a utilisation of 111 percent.
waves = {
    "tiles_1792": 98,
    "waves_1792": 1,
    "utilisation_1792": 98 / 108,
    "tiles_1793": 120,
    "waves_1793": 2,
    "utilisation_1793": 120 / 108,
    "speed_ratio": 2,
    "two_blocks_an_sm": 1,
    "waves_8192": 19,
    "utilisation_8192": 0.998,
    "tiles_257": 6,
    "useful_257": 0.669,
    "h200_last_single_wave": 2304,
}
