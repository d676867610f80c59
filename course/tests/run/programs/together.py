"""A cooperative launch as large as the GPU takes, as Numba's own example asks for it."""

import numpy as np
import torch
from numba import cuda, float32, int32, void


@cuda.jit(void(int32[:, ::1]))
def sequential_rows(m):
    col = cuda.grid(1)
    grid = cuda.cg.this_grid()
    for row in range(1, m.shape[0]):
        m[row, col] = m[row - 1, m.shape[1] - col - 1] + 1
        grid.sync()


@cuda.jit("void(float32[::1])")
def of_tiles(x):
    tile = cuda.shared.array((64, 64), float32)
    tile[cuda.threadIdx.x, 0] = x[cuda.grid(1)]
    x[cuda.grid(1)] = tile[cuda.threadIdx.x, 0]


@cuda.jit
def doubled(x, y):
    y[cuda.grid(1)] = 2 * x[cuda.grid(1)]


x = torch.ones(64, device="cuda")
doubled[2, 32](x, cuda.to_device(np.zeros(64)))
y = cuda.to_device(np.zeros(64))
doubled.specialize(x, y)[2, 32](x, y)
assert y.copy_to_host().tolist() == [2] * 64
assert doubled.overloads[doubled.signatures[0]].max_cooperative_grid_blocks(1024) == 2 * 108

m = cuda.to_device(np.zeros((4, 128), np.int32))
overload = sequential_rows.overloads[(int32[:, ::1],)]
most = overload.max_cooperative_grid_blocks(32)
print(most, overload.max_cooperative_grid_blocks((32, 32)))
print(of_tiles.overloads[of_tiles.signatures[0]].max_cooperative_grid_blocks(64))
assert 4 <= most
sequential_rows[4, 32](m)
assert m.copy_to_host()[3].tolist() == [3] * 128
print("all right", flush=True)
sequential_rows.overloads[sequential_rows.signatures[0]].regs_per_thread  # noqa: B018
