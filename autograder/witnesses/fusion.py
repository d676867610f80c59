# Lesson 09: wrong kernels with the verdict that each must get, and honest ones that must pass.

# %% triton_matmul sum_in_half -> WRONG_ANSWER
# The sums are kept in float16, to save registers: with a large K the digits of each new product
# fall off.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float16)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total, out_dtype=tl.float16)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul each_step_rounded_to_half -> WRONG_ANSWER
# The product of each step is made small before it is added.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total += tl.dot(a, b).to(tl.float16)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul result_in_half -> WRONG_ANSWER
# The output is allocated like its inputs, in float16.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=A.dtype, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul no_mask_along_k -> OUT_OF_BOUNDS
# The masks look at the edges of C alone. The last step along K reads past the end of a row, and in
# the last row past the end of the matrix.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = rows[:, None] < M
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = columns[None, :] < N
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul k_masked_in_one_operand -> OUT_OF_BOUNDS
# Zeros in A are enough for the sum, so B's rows need no mask: but they do not exist.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = columns[None, :] < N
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul no_mask_on_the_store -> OUT_OF_BOUNDS
# The loads are guarded, the store is not.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul k_stops_early -> WRONG_ANSWER
# The number of steps is rounded down, so that the ragged end of K is left out.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K // BK * BK, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul operands_swapped -> OUT_OF_BOUNDS
# B first in the launch: B is read with A's sizes, and past its end.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](B, A, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul operands_of_the_dot_swapped -> DOES_NOT_COMPILE
# tl.dot(b, a): the product of the tiles the other way round has another shape.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(b, a, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul sum_starts_anew -> WRONG_ANSWER
# `=` and not `+=`: the last step's product is all that is left.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul assumes_rows_in_order -> WRONG_ANSWER
# The strides of a row-major matrix are written into the call: a matrix that is stored by columns
# is read as another one.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    matmul_kernel[grid](A, B, C, M, N, K, K, 1, N, 1, BM, BN, BK)
    return C


# %% triton_matmul grid_axes_swapped -> WRONG_ANSWER
# The kernel takes axis 0 for rows, the launcher counts columns on it: tiles are missing where C is
# not square.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(N, BN), triton.cdiv(M, BM))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul grid_rounded_down -> WRONG_ANSWER
# The tiles at the lower and the right edge have no program.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (max(1, M // BM), max(1, N // BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul step_of_8 -> DOES_NOT_COMPILE
# A tensor-core instruction for float16 takes at least 16 steps of K: the compiler refuses 8.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 8  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul tiles_of_32 -> TOO_MUCH_TRAFFIC
# Half the tile, twice the loads.
import torch
import triton
import triton.language as tl

BM = 32  # rows of C that a program computes
BN = 32  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul tile_of_32_rows -> TOO_MUCH_TRAFFIC
# A tile that is wide but low: all of B is read for every 32 rows of A.
import torch
import triton
import triton.language as tl

BM = 32  # rows of C that a program computes
BN = 128  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul strip_of_16_columns -> TOO_MUCH_TRAFFIC
# A tile that is high but narrow: all of A is read for every 16 columns of B.
import torch
import triton
import triton.language as tl

BM = 128  # rows of C that a program computes
BN = 16  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul sum_kept_in_c -> TOO_MUCH_TRAFFIC
# C is read and written in every step, as a += in memory.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    edge = (rows[:, None] < M) & (columns[None, :] < N)
    at = C + rows[:, None] * N + columns[None, :]
    tl.store(at, tl.zeros((BM, BN), tl.float32), edge)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        tl.store(at, tl.dot(a, b, tl.load(at, edge, 0.0)), edge)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul launcher_returns_nothing -> WRONG_ANSWER
# The launcher fills C and forgets to return it.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)


# %% triton_matmul library_does_the_work -> REJECTED
# Python's `@` in the launcher: cuBLAS multiplies, and no kernel was written.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return A.float() @ B.float()


# %% triton_matmul copied_to_rows_first -> REJECTED
# `.contiguous()` copies a matrix through memory, and no meter sees it.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    A = A.contiguous()
    B = B.contiguous()
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul added_to_twice -> WRONG_ANSWER
# tl.dot has added `total` already, and += adds it once more.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total += tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul places_wrapped_by_modulo -> PASS
# No masks along M and N but at the store: places past the end wrap round, and are not stored.
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    row_at = rows % M
    column_at = columns % N
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = steps[None, :] < K
        a = tl.load(A + row_at[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = steps[:, None] < K
        b = tl.load(B + steps[:, None] * bk + column_at[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul tiles_of_128 -> PASS
# A larger tile asks for half as much.
import torch
import triton
import triton.language as tl

BM = 128  # rows of C that a program computes
BN = 128  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul tile_of_128_by_64 -> PASS
# 128 rows: B is read half as often.
import torch
import triton
import triton.language as tl

BM = 128  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 64  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul pointers_that_walk -> PASS
# The addresses are made once and move along in each step; rows past the end wrap around and need
# no mask.
import torch
import triton
import triton.language as tl


@triton.jit
def walk(x, y, z, M, N, K, xm, xk, yk, yn, zm, zn,
         TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    pid = tl.program_id(axis=0)
    across = tl.cdiv(N, TN)
    rm = (pid // across * TM + tl.arange(0, TM)) % M
    rn = (pid % across * TN + tl.arange(0, TN)) % N
    rk = tl.arange(0, TK)
    px = x + (rm[:, None] * xm + rk[None, :] * xk)
    py = y + (rk[:, None] * yk + rn[None, :] * yn)
    acc = tl.zeros((TM, TN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, TK)):
        left = K - step * TK
        acc += tl.dot(
            tl.load(px, mask=rk[None, :] < left, other=0.0),
            tl.load(py, mask=rk[:, None] < left, other=0.0),
        )
        px += TK * xk
        py += TK * yk
    rm = pid // across * TM + tl.arange(0, TM)
    rn = pid % across * TN + tl.arange(0, TN)
    tl.store(z + zm * rm[:, None] + zn * rn[None, :], acc,
             mask=(rm[:, None] < M) & (rn[None, :] < N))


def triton_matmul(A, B):
    M, K = A.shape
    _, N = B.shape
    C = torch.empty((M, N), device=A.device, dtype=torch.float32)
    grid = lambda meta: (triton.cdiv(M, meta["TM"]) * triton.cdiv(N, meta["TN"]),)
    walk[grid](
        A, B, C, M, N, K,
        A.stride(0), A.stride(1), B.stride(0), B.stride(1), C.stride(0), C.stride(1),
        TM=64, TN=64, TK=64, num_warps=4,
    )
    return C


# %% triton_matmul one_program_does_all -> TOO_SERIAL
# The axes of the grid are loops over tiles: one multiprocessor works, 131 look on.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    for top in range(0, M, BM):
        for left in range(0, N, BN):
            rows = top + tl.arange(0, BM)
            columns = left + tl.arange(0, BN)
            total = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                steps = start + tl.arange(0, BK)
                inside = (rows[:, None] < M) & (steps[None, :] < K)
                a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
                inside = (steps[:, None] < K) & (columns[None, :] < N)
                b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
                total = tl.dot(a, b, total)
            inside = (rows[:, None] < M) & (columns[None, :] < N)
            tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (1,)
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% triton_matmul persistent_programs -> PASS
# As many programs as a small GPU has multiprocessors. Each takes tile after tile: two or three.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PROGRAMS = 6  # multiprocessors


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        rows = tile // tiles_n * BM + tl.arange(0, BM)
        columns = tile % tiles_n * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            steps = start + tl.arange(0, BK)
            inside = (rows[:, None] < M) & (steps[None, :] < K)
            a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)
            inside = (steps[:, None] < K) & (columns[None, :] < N)
            b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)
            total = tl.dot(a, b, total)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def triton_matmul(A, B):
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (min(PROGRAMS, triton.cdiv(M, BM) * triton.cdiv(N, BN)),)
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C


# %% grouped_order row_after_row -> TOO_MUCH_TRAFFIC
# The order of lesson 01: along a row of tiles, then the next. Programs that run together share one
# panel of A and read all of B.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 4  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    return pid // tiles_n, pid % tiles_n


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order column_after_column -> TOO_MUCH_TRAFFIC
# The same with A and B exchanged.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 4  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    return pid % tiles_m, pid // tiles_m


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order groups_of_one -> TOO_MUCH_TRAFFIC
# The formula is right, and the group is one row high: that is row after row.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 1  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    within = pid % in_a_group
    return first + within % height, within // height


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order groups_of_two -> PASS
# Lower groups, 2 x 8 tiles a wave: 10 panels and not 8.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 2  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    within = pid % in_a_group
    return first + within % height, within // height


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order groups_of_eight -> PASS
# Higher ones, 8 x 2 tiles.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 8  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    within = pid % in_a_group
    return first + within % height, within // height


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order group_as_high_as_the_matrix -> TOO_MUCH_TRAFFIC
# More is not better: a group of 32 rows is column after column.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 32  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    within = pid % in_a_group
    return first + within % height, within // height


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order last_group_as_high_as_the_others -> WRONG_ANSWER
# The last group is lower than the others: its programs compute rows that do not exist, and tiles
# at the right are left out.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 4  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group * GROUP
    height = GROUP
    within = pid % in_a_group
    return first + within % height, within // height


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order group_number_for_its_first_row -> RACE
# The group's number is taken for its first row of tiles: groups overlap.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 4  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group
    height = tl.minimum(tiles_m - first, GROUP)
    within = pid % in_a_group
    return first + within % height, within // height


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order place_in_the_group_forgotten -> RACE
# The rest is taken of the program's number and not of its place in the group: two programs get one
# tile where the last group is lower.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 4  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    within = pid % in_a_group
    return first + pid % height, pid % in_a_group // GROUP


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order tiles_of_32 -> TOO_MUCH_TRAFFIC
# Grouped well, with a small tile: twice the panels for each wave.
import torch
import triton
import triton.language as tl

BM, BN, BK = 32, 32, 32
GROUP = 4  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    within = pid % in_a_group
    return first + within % height, within // height


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order lower_group_apart -> PASS
# A branch for the last group in place of the minimum.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 4  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    within = pid % (GROUP * tiles_n)
    top = pid // (GROUP * tiles_n) * GROUP
    if top + GROUP <= tiles_m:
        i = top + within % GROUP
        j = within // GROUP
    else:
        rest = tiles_m - top
        i = top + within % rest
        j = within // rest
    return i, j


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order groups_of_columns -> PASS
# The same idea turned: groups of 4 columns of tiles.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 4  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    in_a_group = GROUP * tiles_m
    first = pid // in_a_group * GROUP
    width = min(tiles_n - first, GROUP)
    return pid % in_a_group // width, first + pid % in_a_group % width


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order triton_has_a_function -> PASS
# tl.swizzle2d is this formula.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 4  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    return tl.swizzle2d(pid // tiles_n, pid % tiles_n, tiles_m, tiles_n, GROUP)


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order one_program_does_all -> TOO_SERIAL
# Who does everything alone shares every panel.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 128
GROUP = 4


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    within = pid % in_a_group
    return first + within % height, within // height


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    for pid in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        i, j = tile_of(pid, tiles_m, tiles_n, GROUP)
        rows = i * BM + tl.arange(0, BM)
        columns = j * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            steps = start + tl.arange(0, BK)
            inside = (rows[:, None] < M) & (steps[None, :] < K)
            a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
            inside = (steps[:, None] < K) & (columns[None, :] < N)
            b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
            total = tl.dot(a, b, total)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    ordered_kernel[(1,)](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% grouped_order a_program_a_multiprocessor -> PASS
# Persistent programs: 16, and tile after tile in each.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 4
PROGRAMS = 16


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    within = pid % in_a_group
    return first + within % height, within // height


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    for pid in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        i, j = tile_of(pid, tiles_m, tiles_n, GROUP)
        rows = i * BM + tl.arange(0, BM)
        columns = j * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            steps = start + tl.arange(0, BK)
            inside = (rows[:, None] < M) & (steps[None, :] < K)
            a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
            inside = (steps[:, None] < K) & (columns[None, :] < N)
            b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
            total = tl.dot(a, b, total)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    ordered_kernel[(PROGRAMS,)](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C


# %% matmul_epilogue two_kernels_through_memory -> TOO_MUCH_TRAFFIC
# A product, then a kernel that adds and activates: the intermediate is written and read back.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


@triton.jit
def bias_gelu_kernel(h, bias, out, N, size, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(h + i, i < size, 0.0) + tl.load(bias + i % N, i < size, 0.0).to(tl.float32)
    tl.store(out + i, gelu(value), i < size)



def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    h = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    out = torch.empty_like(h)
    epilogue_kernel[grid](x, w, bias, h, M, N, K, BM, BN, BK)
    bias_gelu_kernel[(triton.cdiv(M * N, 1024),)](h, bias, out, N, M * N, 1024)
    return out


# %% matmul_epilogue second_kernel_in_place -> TOO_MUCH_TRAFFIC
# The same without a buffer of its own: the output is written, read and written again.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


@triton.jit
def bias_gelu_kernel(h, bias, out, N, size, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(h + i, i < size, 0.0) + tl.load(bias + i % N, i < size, 0.0).to(tl.float32)
    tl.store(out + i, gelu(value), i < size)



def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    bias_gelu_kernel[(triton.cdiv(M * N, 1024),)](out, bias, out, N, M * N, 1024)
    return out


# %% matmul_epilogue bias_along_the_rows -> WRONG_ANSWER
# bias[:, None]: each row gets a bias, and not each column.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    added = tl.load(bias + rows, rows < N, 0.0)
    result = gelu(total + added[:, None].to(tl.float32))
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], result, inside)


def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    return out


# %% matmul_epilogue bias_in_every_step -> WRONG_ANSWER
# The bias is added inside the loop, once a step along K.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
        total += tl.load(bias + columns, columns < N, 0.0)[None, :].to(tl.float32)
    result = gelu(total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], result, inside)


def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    return out


# %% matmul_epilogue bias_after_the_activation -> WRONG_ANSWER
# gelu(x w) + bias.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    added = tl.load(bias + columns, columns < N, 0.0)
    result = gelu(total) + added[None, :].to(tl.float32)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], result, inside)


def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    return out


# %% matmul_epilogue bias_added_in_half -> WRONG_ANSWER
# The sum is brought to the bias's type, and not the bias to the sum's.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    added = tl.load(bias + columns, columns < N, 0.0)
    result = gelu((total.to(tl.float16) + added[None, :]).to(tl.float32))
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], result, inside)


def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    return out


# %% matmul_epilogue gelu_by_tanh -> WRONG_ANSWER
# Another function of the same name: the approximation by tanh differs by up to 0.0005.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    inner = 0.7978845608028654 * (h + 0.044715 * h * h * h)
    return h * tl.sigmoid(2 * inner)


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    added = tl.load(bias + columns, columns < N, 0.0)
    result = gelu(total + added[None, :].to(tl.float32))
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], result, inside)


def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    return out


# %% matmul_epilogue activation_in_every_step -> WRONG_ANSWER
# gelu of a sum is not the sum of gelus: it has to wait until K is done.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total += gelu(tl.dot(a, b))
    added = tl.load(bias + columns, columns < N, 0.0)
    result = total + added[None, :].to(tl.float32)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], result, inside)


def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    return out


# %% matmul_epilogue bias_without_a_mask -> OUT_OF_BOUNDS
# The bias ends where the columns end.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    added = tl.load(bias + columns)
    result = gelu(total + added[None, :].to(tl.float32))
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], result, inside)


def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    return out


# %% matmul_epilogue library_after_the_kernel -> REJECTED
# The activation is left to the library: one more pass over memory that the kernel was to save.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    return torch.nn.functional.gelu(out + bias)


# %% matmul_epilogue sum_starts_at_the_bias -> PASS
# The accumulator begins with the bias.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.load(bias + columns, columns < N, 0.0).to(tl.float32)
    total = tl.zeros((BM, BN), tl.float32) + first[None, :]
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    result = gelu(total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], result, inside)


def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    return out


# %% matmul_epilogue tile_of_64_by_128 -> PASS
# A wider tile, a longer step.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 128, 64


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    added = tl.load(bias + columns, columns < N, 0.0)
    result = gelu(total + added[None, :].to(tl.float32))
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], result, inside)


def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    return out


# %% matmul_epilogue one_program_does_all -> TOO_SERIAL
# A program that walks from tile to tile, and no other.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    for top in range(0, M, BM):
        for left in range(0, N, BN):
            rows = top + tl.arange(0, BM)
            columns = left + tl.arange(0, BN)
            total = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                steps = start + tl.arange(0, BK)
                inside = (rows[:, None] < M) & (steps[None, :] < K)
                a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
                inside = (steps[:, None] < K) & (columns[None, :] < N)
                b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
                total = tl.dot(a, b, total)
            added = tl.load(bias + columns, columns < N, 0.0)
            result = gelu(total + added[None, :].to(tl.float32))
            inside = (rows[:, None] < M) & (columns[None, :] < N)
            tl.store(out + rows[:, None] * N + columns[None, :], result, inside)


def matmul_epilogue(x, w, bias):
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    epilogue_kernel[(1,)](x, w, bias, out, M, N, K, BM, BN, BK)
    return out


# %% gated_linear two_kernels_through_memory -> TOO_MUCH_TRAFFIC
# One linear layer, then the other one with the gate at its end: the first result goes through
# memory.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def linear_kernel(
    x, w, b, h, M, N, K, GATE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        left = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        right = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(left, right, total)
    total += tl.load(b + columns, columns < N, 0.0).to(tl.float32)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = h + rows[:, None] * N + columns[None, :]
    if GATE:
        tl.store(at, tl.sigmoid(tl.load(at, inside, 0.0)) * total, inside)
    else:
        tl.store(at, total, inside)


def gated_linear(x, w1, w2, b1, b2):
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    linear_kernel[grid](x, w1, b1, out, M, N, K, False, BM, BN, BK)
    linear_kernel[grid](x, w2, b2, out, M, N, K, True, BM, BN, BK)
    return out


# %% gated_linear three_kernels_through_memory -> TOO_MUCH_TRAFFIC
# Two linear layers and a third kernel for the gate, as the formula is written.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def linear_kernel(
    x, w, b, h, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        left = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        right = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(left, right, total)
    total += tl.load(b + columns, columns < N, 0.0).to(tl.float32)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(h + rows[:, None] * N + columns[None, :], total, inside)


@triton.jit
def gate_kernel(g, h, out, size, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(h + i, i < size, 0.0)
    tl.store(out + i, tl.sigmoid(tl.load(g + i, i < size, 0.0)) * value, i < size)


def gated_linear(x, w1, w2, b1, b2):
    M, K = x.shape
    N = w1.shape[1]
    g = torch.empty((M, N), dtype=torch.float32, device=x.device)
    h = torch.empty((M, N), dtype=torch.float32, device=x.device)
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    linear_kernel[grid](x, w1, b1, g, M, N, K, BM, BN, BK)
    linear_kernel[grid](x, w2, b2, h, M, N, K, BM, BN, BK)
    gate_kernel[(triton.cdiv(M * N, 1024),)](g, h, out, M * N, 1024)
    return out


# %% gated_linear x_walked_twice -> TOO_MUCH_TRAFFIC
# One kernel with a loop for each matrix: x passes by twice.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    value = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value)
    gate += tl.load(b1 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    value += tl.load(b2 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, tl.sigmoid(gate) * value, inside)


def gated_linear(x, w1, w2, b1, b2):  # x: (M, K), w1, w2: (K, N), b1, b2: (N,), all float16
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    gated_kernel[grid](x, w1, w2, b1, b2, out, M, N, K, BM, BN, BK)
    return out


# %% gated_linear tiles_of_32 -> TOO_MUCH_TRAFFIC
# Two accumulators made the tile shrink further than they had to.
import torch
import triton
import triton.language as tl

BM, BN, BK = 32, 32, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    value = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate)
        value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value)
    gate += tl.load(b1 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    value += tl.load(b2 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, tl.sigmoid(gate) * value, inside)


def gated_linear(x, w1, w2, b1, b2):  # x: (M, K), w1, w2: (K, N), b1, b2: (N,), all float16
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    gated_kernel[grid](x, w1, w2, b1, b2, out, M, N, K, BM, BN, BK)
    return out


# %% gated_linear bias_in_half_before_the_sum_ends -> WRONG_ANSWER
# The accumulator starts as the bias, in the bias's float16, and stays there.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float16) + tl.load(b1 + columns, columns < N, 0.0)[None, :]
    value = tl.zeros((BM, BN), tl.float16) + tl.load(b2 + columns, columns < N, 0.0)[None, :]
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate, out_dtype=tl.float16)
        value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value, out_dtype=tl.float16)
    gate = gate.to(tl.float32)
    value = value.to(tl.float32)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, tl.sigmoid(gate) * value, inside)


def gated_linear(x, w1, w2, b1, b2):  # x: (M, K), w1, w2: (K, N), b1, b2: (N,), all float16
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    gated_kernel[grid](x, w1, w2, b1, b2, out, M, N, K, BM, BN, BK)
    return out


# %% gated_linear bias_added_in_half -> WRONG_ANSWER
# The sums are rounded to float16 to fit the biases.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    value = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate)
        value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value)
    gate = (gate.to(tl.float16) + tl.load(b1 + columns, columns < N, 0.0)[None, :]).to(tl.float32)
    value = (value.to(tl.float16) + tl.load(b2 + columns, columns < N, 0.0)[None, :]).to(tl.float32)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, tl.sigmoid(gate) * value, inside)


def gated_linear(x, w1, w2, b1, b2):  # x: (M, K), w1, w2: (K, N), b1, b2: (N,), all float16
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    gated_kernel[grid](x, w1, w2, b1, b2, out, M, N, K, BM, BN, BK)
    return out


# %% gated_linear gate_on_the_wrong_side -> WRONG_ANSWER
# The sigmoid stands on the value and not on the gate.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    value = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate)
        value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value)
    gate += tl.load(b1 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    value += tl.load(b2 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, gate * tl.sigmoid(value), inside)


def gated_linear(x, w1, w2, b1, b2):  # x: (M, K), w1, w2: (K, N), b1, b2: (N,), all float16
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    gated_kernel[grid](x, w1, w2, b1, b2, out, M, N, K, BM, BN, BK)
    return out


# %% gated_linear weights_swapped -> WRONG_ANSWER
# The same slip in the launcher.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    value = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate)
        value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value)
    gate += tl.load(b1 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    value += tl.load(b2 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, tl.sigmoid(gate) * value, inside)


def gated_linear(x, w1, w2, b1, b2):  # x: (M, K), w1, w2: (K, N), b1, b2: (N,), all float16
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    gated_kernel[grid](x, w2, w1, b1, b2, out, M, N, K, BM, BN, BK)
    return out


# %% gated_linear sigmoid_of_the_product -> WRONG_ANSWER
# The gate has to be complete before it is squashed: the bias is forgotten inside the sigmoid.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    value = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate)
        value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value)
    gate = tl.sigmoid(gate) + tl.load(b1 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    value += tl.load(b2 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, gate * value, inside)


def gated_linear(x, w1, w2, b1, b2):  # x: (M, K), w1, w2: (K, N), b1, b2: (N,), all float16
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    gated_kernel[grid](x, w1, w2, b1, b2, out, M, N, K, BM, BN, BK)
    return out


# %% gated_linear silu_for_sigmoid -> WRONG_ANSWER
# Another gate (SwiGLU's), of the same family.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    value = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate)
        value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value)
    gate += tl.load(b1 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    value += tl.load(b2 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, gate * tl.sigmoid(gate) * value, inside)


def gated_linear(x, w1, w2, b1, b2):  # x: (M, K), w1, w2: (K, N), b1, b2: (N,), all float16
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    gated_kernel[grid](x, w1, w2, b1, b2, out, M, N, K, BM, BN, BK)
    return out


# %% gated_linear launcher_returns_nothing -> WRONG_ANSWER
# The launcher fills the output and forgets to return it.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    value = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate)
        value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value)
    gate += tl.load(b1 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    value += tl.load(b2 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, tl.sigmoid(gate) * value, inside)


def gated_linear(x, w1, w2, b1, b2):  # x: (M, K), w1, w2: (K, N), b1, b2: (N,), all float16
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    gated_kernel[grid](x, w1, w2, b1, b2, out, M, N, K, BM, BN, BK)


# %% gated_linear library_does_the_work -> REJECTED
# The formula as torch writes it.
import torch


def gated_linear(x, w1, w2, b1, b2):
    return torch.sigmoid(x @ w1 + b1) * (x @ w2 + b2)


# %% gated_linear tile_of_128_by_64 -> PASS
# Twice the rows: 8 warps hold the two accumulators.
import torch
import triton
import triton.language as tl

BM, BN, BK = 128, 64, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    value = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate)
        value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value)
    gate += tl.load(b1 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    value += tl.load(b2 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, tl.sigmoid(gate) * value, inside)


def gated_linear(x, w1, w2, b1, b2):  # x: (M, K), w1, w2: (K, N), b1, b2: (N,), all float16
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    gated_kernel[grid](x, w1, w2, b1, b2, out, M, N, K, BM, BN, BK, num_warps=8)
    return out


# %% gated_linear sigmoid_written_out -> PASS
# 1 / (1 + exp(-x)), other names, a one-dimensional grid.
import torch
import triton
import triton.language as tl


@triton.jit
def fused(px, pw, pv, pb, pc, py, M, N, K, TILE: tl.constexpr, STEP: tl.constexpr):
    across = tl.cdiv(N, TILE)
    m = tl.program_id(0) // across * TILE + tl.arange(0, TILE)[:, None]
    n = tl.program_id(0) % across * TILE + tl.arange(0, TILE)[None, :]
    g = tl.zeros((TILE, TILE), tl.float32)
    u = tl.zeros((TILE, TILE), tl.float32)
    k = 0
    while k < K:
        ka = k + tl.arange(0, STEP)[None, :]
        kb = k + tl.arange(0, STEP)[:, None]
        t = tl.load(px + m * K + ka, mask=(m < M) & (ka < K), other=0)
        g += tl.dot(t, tl.load(pw + kb * N + n, mask=(kb < K) & (n < N), other=0))
        u += tl.dot(t, tl.load(pv + kb * N + n, mask=(kb < K) & (n < N), other=0))
        k += STEP
    g = g + tl.load(pb + n, mask=n < N, other=0).to(tl.float32)
    u = u + tl.load(pc + n, mask=n < N, other=0).to(tl.float32)
    tl.store(py + m * N + n, u / (1 + tl.exp(-g)), mask=(m < M) & (n < N))


def gated_linear(x, w1, w2, b1, b2):
    M, K = x.shape
    N = w2.shape[1]
    y = torch.empty(M, N, device=x.device)
    tiles = triton.cdiv(M, 64) * triton.cdiv(N, 64)
    fused[(tiles,)](x, w1, w2, b1, b2, y, M, N, K, TILE=64, STEP=64)
    return y


# %% gated_linear one_program_does_all -> TOO_SERIAL
# A program that walks from tile to tile, and no other.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    for top in range(0, M, BM):
        for left in range(0, N, BN):
            rows = top + tl.arange(0, BM)
            columns = left + tl.arange(0, BN)
            gate = tl.zeros((BM, BN), tl.float32)
            value = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                steps = start + tl.arange(0, BK)
                inside = (rows[:, None] < M) & (steps[None, :] < K)
                a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
                inside = (steps[:, None] < K) & (columns[None, :] < N)
                at = steps[:, None] * N + columns[None, :]
                gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate)
                value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value)
            gate += tl.load(b1 + columns, columns < N, 0.0).to(tl.float32)[None, :]
            value += tl.load(b2 + columns, columns < N, 0.0).to(tl.float32)[None, :]
            inside = (rows[:, None] < M) & (columns[None, :] < N)
            at = rows[:, None] * N + columns[None, :]
            tl.store(out + at, tl.sigmoid(gate) * value, inside)


def gated_linear(x, w1, w2, b1, b2):
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    gated_kernel[(1,)](x, w1, w2, b1, b2, out, M, N, K, BM, BN, BK)
    return out


# %% quantised_matmul weights_written_out_first -> TOO_MUCH_TRAFFIC
# A kernel that turns the weights into float16, then the product: three times the bytes, and the
# memory that int8 was to save.
import torch
import triton
import triton.language as tl

BN, BK = 64, 64


@triton.jit
def widen_kernel(w, wide, size, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(wide + i, tl.load(w + i, i < size, 0).to(tl.float16), i < size)


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
        total = tl.dot(a, b.to(tl.float16), total)
    total *= tl.load(scale + columns, columns < N, 0.0)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    rows = max(16, triton.next_power_of_2(M))
    wide = torch.empty((K, N), dtype=torch.float16, device=x.device)
    widen_kernel[(triton.cdiv(K * N, 1024),)](w, wide, K * N, 1024)
    quantised_kernel[(triton.cdiv(N, BN),)](x, wide, scale, out, M, N, K, rows, BN, BK)
    return out


# %% quantised_matmul weights_scaled_in_half -> WRONG_ANSWER
# Each weight is scaled and rounded to float16 before the product: 11 bits where the exact whole
# number stood.
import torch
import triton
import triton.language as tl

BN, BK = 64, 64


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
        wide = b.to(tl.float32) * tl.load(scale + columns, columns < N, 0.0)[None, :]
        total = tl.dot(a, wide.to(tl.float16), total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    rows = max(16, triton.next_power_of_2(M))
    quantised_kernel[(triton.cdiv(N, BN),)](x, w, scale, out, M, N, K, rows, BN, BK)
    return out


# %% quantised_matmul scale_forgotten -> WRONG_ANSWER
# The whole numbers are multiplied, and nobody scales them.
import torch
import triton
import triton.language as tl

BN, BK = 64, 64


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
        total = tl.dot(a, b.to(tl.float16), total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    rows = max(16, triton.next_power_of_2(M))
    quantised_kernel[(triton.cdiv(N, BN),)](x, w, scale, out, M, N, K, rows, BN, BK)
    return out


# %% quantised_matmul scale_along_the_rows -> WRONG_ANSWER
# A scale belongs to a column of the weights.
import torch
import triton
import triton.language as tl

BN, BK = 64, 64


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
        total = tl.dot(a, b.to(tl.float16), total)
    total *= tl.load(scale + rows, rows < N, 0.0)[:, None]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    rows = max(16, triton.next_power_of_2(M))
    quantised_kernel[(triton.cdiv(N, BN),)](x, w, scale, out, M, N, K, rows, BN, BK)
    return out


# %% quantised_matmul scale_in_every_step -> WRONG_ANSWER
# The running sum is scaled in each step: the first products are scaled again and again.
import torch
import triton
import triton.language as tl

BN, BK = 64, 64


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
        total = tl.dot(a, b.to(tl.float16), total)
        total *= tl.load(scale + columns, columns < N, 0.0)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    rows = max(16, triton.next_power_of_2(M))
    quantised_kernel[(triton.cdiv(N, BN),)](x, w, scale, out, M, N, K, rows, BN, BK)
    return out


# %% quantised_matmul inputs_cut_to_int8 -> WRONG_ANSWER
# Both sides must have one type, so x becomes int8: its digits after the point are gone.
import torch
import triton
import triton.language as tl

BN, BK = 64, 64


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
        total += tl.dot(a.to(tl.int8), b).to(tl.float32)
    total *= tl.load(scale + columns, columns < N, 0.0)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    rows = max(16, triton.next_power_of_2(M))
    quantised_kernel[(triton.cdiv(N, BN),)](x, w, scale, out, M, N, K, rows, BN, BK)
    return out


# %% quantised_matmul types_left_as_they_are -> DOES_NOT_COMPILE
# tl.dot of float16 with int8: the two sides must have one type.
import torch
import triton
import triton.language as tl

BN, BK = 64, 64


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
        total = tl.dot(a, b, total)
    total *= tl.load(scale + columns, columns < N, 0.0)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    rows = max(16, triton.next_power_of_2(M))
    quantised_kernel[(triton.cdiv(N, BN),)](x, w, scale, out, M, N, K, rows, BN, BK)
    return out


# %% quantised_matmul rows_in_tiles_of_16 -> TOO_MUCH_TRAFFIC
# A tile of 16 rows and a program for each: with 64 rows the weights pass by four times.
import torch
import triton
import triton.language as tl

BN, BK = 64, 64


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
        total = tl.dot(a, b.to(tl.float16), total)
    total *= tl.load(scale + columns, columns < N, 0.0)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    quantised_kernel[(triton.cdiv(N, BN), triton.cdiv(M, 16))](x, w, scale, out, M, N, K, 16, BN, BK)
    return out


# %% quantised_matmul library_widens_the_weights -> REJECTED
# `.to(torch.float16)` in the launcher is a kernel of the library: it writes the wide matrix to
# memory.
import torch
import triton
import triton.language as tl

BN, BK = 64, 64


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
        total = tl.dot(a, b.to(tl.float16), total)
    total *= tl.load(scale + columns, columns < N, 0.0)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    rows = max(16, triton.next_power_of_2(M))
    quantised_kernel[(triton.cdiv(N, BN),)](x, w.to(torch.float16), scale, out, M, N, K, rows, BN, BK)
    return out


# %% quantised_matmul strip_of_128 -> PASS
# Wider strips: x is read half as often.
import torch
import triton
import triton.language as tl

BN, BK = 128, 32


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
        total = tl.dot(a, b.to(tl.float16), total)
    total *= tl.load(scale + columns, columns < N, 0.0)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    rows = max(16, triton.next_power_of_2(M))
    quantised_kernel[(triton.cdiv(N, BN),)](x, w, scale, out, M, N, K, rows, BN, BK)
    return out


# %% quantised_matmul scaled_in_float32 -> PASS
# The scale on the product of each step, in float32.
import torch
import triton
import triton.language as tl

BN, BK = 64, 64


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    factor = tl.load(scale + columns, columns < N, 0.0)[None, :]
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
        total += tl.dot(a, b.to(tl.float16)) * factor
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    rows = max(16, triton.next_power_of_2(M))
    quantised_kernel[(triton.cdiv(N, BN),)](x, w, scale, out, M, N, K, rows, BN, BK)
    return out


# %% quantised_matmul one_program_does_all -> TOO_SERIAL
# One strip of columns after the other, all in one program.
import torch
import triton
import triton.language as tl

BN, BK = 64, 64


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.arange(0, BM)
    for left in range(0, N, BN):
        columns = left + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            steps = start + tl.arange(0, BK)
            inside = (rows[:, None] < M) & (steps[None, :] < K)
            a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
            inside = (steps[:, None] < K) & (columns[None, :] < N)
            b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)
            total = tl.dot(a, b.to(tl.float16), total)
        total *= tl.load(scale + columns, columns < N, 0.0)[None, :]
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


def quantised_matmul(x, w, scale):
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    rows = max(16, triton.next_power_of_2(M))
    quantised_kernel[(1,)](x, w, scale, out, M, N, K, rows, BN, BK)
    return out


# %% split_k nobody_shares -> TOO_SERIAL
# One program a tile, as before: it walks all of K, and most of the GPU looks on.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 1  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C


# %% split_k nobody_shares_in_long_steps -> TOO_SERIAL
# Steps of 256 make few statements, but one program still loads all of K.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 256
PARTS = 1


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK, num_stages=1, num_warps=8)
    return C


# %% split_k two_parts -> TOO_SERIAL
# Two programs share a tile: each still walks half of K.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 2  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C


# %% split_k a_program_for_each_step -> TOO_MUCH_TRAFFIC
# As many parts as there are steps: each of them adds a whole tile of C.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 8  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C


# %% split_k plain_store -> RACE
# All parts of a tile store to the same elements, and the last one wins.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 8  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C


# %% split_k load_add_store -> RACE
# An addition in three steps: another program's sum comes between.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 8  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = C + rows[:, None] * N + columns[None, :]
    tl.store(at, tl.load(at, inside, 0.0) + total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C


# %% split_k empty_and_not_zeros -> UNINITIALISED
# torch.empty holds whatever was there before: the sums begin with it.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 8  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C


# %% split_k every_part_walks_all_of_k -> WRONG_ANSWER
# The grid has a third axis, and the kernel does not look at it.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 8  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = 0
    end = K
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C


# %% split_k parts_overlap -> WRONG_ANSWER
# The end of a part is no multiple of the step, and the mask looks at K alone: the steps at the
# seams are added twice.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 8  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(K, PARTS)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C


# %% split_k rest_of_k_left_out -> WRONG_ANSWER
# The length is rounded down.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 8  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = max(BK, K // PARTS // BK * BK)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), max(1, K // length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C


# %% split_k parts_added_in_half -> WRONG_ANSWER
# Each part is rounded to float16 before it is added.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 8  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total.to(tl.float16).to(tl.float32), inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C


# %% split_k library_adds_the_parts -> REJECTED
# The parts go to memory, and the library adds them up.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 8  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = C + tl.program_id(2) * M * N
    tl.store(at + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((PARTS, M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C.sum(0)


# %% split_k sixteen_parts -> PASS
# Shorter programs, more to add.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 16  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C


# %% split_k parts_in_turn -> PASS
# Part p takes every PARTS-th step along K.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 8  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * BK
    end = K
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, length):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total, inside)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    parts = min(PARTS, triton.cdiv(K, BK))
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), parts)
    part_kernel[grid](A, B, C, M, N, K, parts * BK, BM, BN, BK)
    return C


# %% split_k a_second_kernel_adds -> PASS
# The parts go to memory of their own, and a second kernel adds them in a fixed order: the same
# digits in every run.
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
PARTS = 8  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = C + tl.program_id(2) * M * N
    tl.store(at + rows[:, None] * N + columns[None, :], total, inside)


@triton.jit
def add_kernel(parts, C, size, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for part in range(count):
        total += tl.load(parts + part * size + i, i < size, 0.0)
    tl.store(C + i, total, i < size)


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK
    count = triton.cdiv(K, length)
    parts = torch.empty((count, M, N), dtype=torch.float32, device=A.device)
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), count)
    part_kernel[grid](A, B, parts, M, N, K, length, BM, BN, BK)
    add_kernel[(triton.cdiv(M * N, 256),)](parts, C, M * N, count, 256)
    return C


# %% read_the_ptx whole_program_for_a_thread -> WRONG_ANSWER
# Counted for the program where the PTX is one thread's: nothing is divided among the warps.
read_the_ptx = {
    "multiply_adds": 64 * 64 * 32,
    "fma_a_thread": 64 * 64 * 32,
    "work_of_an_mma": 16 * 8 * 16,
    "mma_a_warp": 64 * 64 * 32 / (16 * 8 * 16),
    "wgmma_a_group": 64 * 64 * 32 / (64 * 64 * 16),
    "fma_per_mma": 16 * 8 * 16 / 32,
    "sums_a_thread": 64 * 64,
    "smallest_k": 16,
    "smallest_k_int8": 32,
    "tf32_mma": 64 * 64 * 32 / (16 * 8 * 8),
    "ieee_mma": 0,
    "bits_kept": 10,
}


# %% read_the_ptx operations_for_multiply_adds -> WRONG_ANSWER
# Every multiply-add counted twice.
read_the_ptx = {
    "multiply_adds": 2 * 64 * 64 * 32,
    "fma_a_thread": 64 * 64 * 32 / 128,
    "work_of_an_mma": 2 * 16 * 8 * 16,
    "mma_a_warp": 64 * 64 * 32 / (16 * 8 * 16) / 4,
    "wgmma_a_group": 64 * 64 * 32 / (64 * 64 * 16),
    "fma_per_mma": 2 * 16 * 8 * 16 / 32,
    "sums_a_thread": 64 * 64 / 128,
    "smallest_k": 16,
    "smallest_k_int8": 32,
    "tf32_mma": 64 * 64 * 32 / (16 * 8 * 8) / 4,
    "ieee_mma": 0,
    "bits_kept": 10,
}


# %% read_the_ptx wgmma_divided_among_warps -> WRONG_ANSWER
# All right but one: four warps execute a wgmma together.
read_the_ptx = {
    "multiply_adds": 64 * 64 * 32,
    "fma_a_thread": 64 * 64 * 32 / 128,
    "work_of_an_mma": 16 * 8 * 16,
    "mma_a_warp": 64 * 64 * 32 / (16 * 8 * 16) / 4,
    "wgmma_a_group": 64 * 64 * 32 / (64 * 64 * 16) / 4,
    "fma_per_mma": 16 * 8 * 16 / 32,
    "sums_a_thread": 64 * 64 / 128,
    "smallest_k": 16,
    "smallest_k_int8": 32,
    "tf32_mma": 64 * 64 * 32 / (16 * 8 * 8) / 4,
    "ieee_mma": 0,
    "bits_kept": 10,
}


# %% read_the_ptx float32_stays_float32 -> WRONG_ANSWER
# Float32 in, float32 out, so no tensor core: but the default is TF32.
read_the_ptx = {
    "multiply_adds": 64 * 64 * 32,
    "fma_a_thread": 64 * 64 * 32 / 128,
    "work_of_an_mma": 16 * 8 * 16,
    "mma_a_warp": 64 * 64 * 32 / (16 * 8 * 16) / 4,
    "wgmma_a_group": 64 * 64 * 32 / (64 * 64 * 16),
    "fma_per_mma": 16 * 8 * 16 / 32,
    "sums_a_thread": 64 * 64 / 128,
    "smallest_k": 16,
    "smallest_k_int8": 32,
    "tf32_mma": 0,
    "ieee_mma": 0,
    "bits_kept": 23,
}


# %% read_the_ptx worked_out -> PASS
# Each number as a product.
read_the_ptx = {
    "multiply_adds": 64 * 64 * 32,
    "fma_a_thread": 64 * 64 * 32 / 128,
    "work_of_an_mma": 16 * 8 * 16,
    "mma_a_warp": 64 * 64 * 32 / (16 * 8 * 16) / 4,
    "wgmma_a_group": 64 * 64 * 32 / (64 * 64 * 16),
    "fma_per_mma": 16 * 8 * 16 / 32,
    "sums_a_thread": 64 * 64 / 128,
    "smallest_k": 16,
    "smallest_k_int8": 32,
    "tf32_mma": 64 * 64 * 32 / (16 * 8 * 8) / 4,
    "ieee_mma": 0,
    "bits_kept": 10,
}
