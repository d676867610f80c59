"""Lesson 13: this decade's GPUs. Gluon kernels for Hopper and Blackwell, and their arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course.spec.draws import described, normal
from course.spec.exercise import (
    Array,
    Budget,
    KernelExercise,
    NumberExercise,
    Question,
    Role,
    Scalar,
    case,
)
from course.spec.launching import Launcher

HOPPER, BLACKWELL = 90, 100

#: A question of a share.
_share = partial(Question, unit="a share, 0 to 1", rtol=0.01)


_K8 = "k16: of float16 one instruction takes 16 steps of K, not 8."

what_dot_became = NumberExercise(
    name="what_dot_became",
    title="One tl.dot, three machines",
    task=(
        "The cells above compile a product of tiles, BM x BN x BK in float16 with float32 sums, "
        "for three GPUs. Write as formulas how many instructions each one needs, and where the "
        "sums are. The first case, 128 x 128 x 64 on 4 warps, you can look up; the formulas are "
        "tried on other tiles. BM is a multiple of 128, and WARPS is 4 or 8."
    ),
    points=6,
    minutes=30,
    difficulty=3,
    hints=(
        "Multiply-adds of the tile over multiply-adds of the instruction. Who executes it: one "
        "warp, four warps together, or nobody's warp at all?",
        "The n of wgmma and of tcgen05.mma is as wide as the tile, up to 256. So one instruction "
        "does 64 x BN x 16, and 128 x BN x 16.",
        "Tensor memory has 128 rows, one for each row of an instruction, and a column holds 32 "
        "bits a row. A tile of 256 rows takes two places side by side.",
    ),
    questions={
        "mma_a_warp": Question(
            "sm_80: mma.sync m16n8k16 of one warp",
            "BM * BN * BK / (16 * 8 * 16) / WARPS",
            slips={
                "BM * BN * BK / (16 * 8 * 16)": "The warps share the tile.",
                "BM * BN * BK / (16 * 8 * 8) / WARPS": _K8,
            },
        ),
        "wgmma_a_group": Question(
            "sm_90: wgmma.mma_async m64nBNk16 of one group of 4 warps",
            "BM * BK / (64 * 16) / (WARPS / 4)",
            slips={
                "BM * BK / (64 * 16)": "With 8 warps there are two groups, and each does its half.",
                "BM * BK / (64 * 16) / WARPS": "Four warps execute one instruction together.",
                "BM * BN * BK / (16 * 8 * 16) / WARPS": "That is mma.sync's number.",
                "BM * BK / (64 * 8) / (WARPS / 4)": _K8,
            },
        ),
        "tcgen05": Question(
            "sm_100: tcgen05.mma m128nBNk16 of the whole program",
            "BM * BK / (128 * 16)",
            slips={
                "BM * BK / (128 * 16) / WARPS": "One thread issues them all: no warp has a share.",
                "BM * BK / (64 * 16)": "Its m is 128 here, and its k is 16.",
            },
        ),
        "sums_on_hopper": Question(
            "sm_90: registers of a thread that hold sums",
            "BM * BN / (32 * WARPS)",
            slips={
                "BM * BN / WARPS": "A warp has 32 threads.",
                "BM * BN / 32": "All warps hold a part of them.",
                "0": "Not yet: that is sm_100.",
            },
        ),
        "sums_on_blackwell": Question(
            "sm_100: registers of a thread that hold sums while the loop runs",
            "0",
            slips={"BM * BN / (32 * WARPS)": "Not in registers: look for tcgen05.alloc."},
        ),
        "columns": Question(
            "sm_100: columns of tensor memory that hold the sums",
            "BM / 128 * BN",
            slips={
                "BN": "A tile of 256 rows needs twice the columns.",
                "BM * BN / 32": "A column has 128 rows of 32 bits.",
            },
        ),
    },
    columns={
        "BM": "rows of the tile",
        "BN": "columns of the tile",
        "BK": "steps of K",
        "WARPS": "warps of the program",
    },
    cases=(
        case(BM=128, BN=128, BK=64, WARPS=4),
        case(BM=256, BN=128, BK=64, WARPS=8),
        case(BM=128, BN=256, BK=32, WARPS=8),
    ),
)


def _brought_from(
    place: Callable[[int, int], tuple[int, int]], X: np.ndarray, factor: float
) -> dict[str, np.ndarray]:
    """Tiles of 64 x 64 that are brought from other places of X, and zeros where it has none."""
    Y = np.zeros_like(X)
    for row in range(0, X.shape[0], 64):
        for column in range(0, X.shape[1], 64):
            first, left = place(row, column)
            tile = factor * X[first : first + 64, left : left + 64]
            kept = Y[row : row + tile.shape[0], column : column + tile.shape[1]]
            kept[:] = tile[: kept.shape[0], : kept.shape[1]]
    return {"Y": Y}


def _in_steps_of(step: int, row: int, column: int) -> tuple[int, int]:
    return row, column // 64 * step


tma_scale = KernelExercise(
    name="tma_scale",
    title="A copy that nobody waits for",
    task=(
        "Y = factor * X for X of shape M x N in float16, N a multiple of 8, for sm_90. The "
        "launcher is there. A program takes 64 rows, and brings them tile by tile into one buffer "
        "of shared memory by TMA, scales each tile there, and sends it back by TMA. Write the "
        "loop: say how many bytes will come, copy, wait, compute, copy back, and wait again."
    ),
    points=8,
    minutes=45,
    difficulty=3,
    hints=(
        "mbarrier.expect(bar, source.block_type.nbytes) comes before the copy that will bring the "
        "bytes; mbarrier.wait(bar, phase) comes before anybody reads them.",
        "The barrier goes through phases 0, 1, 2, ... and `wait` wants the parity of the one that "
        "has to end: 0 in the first turn, 1 in the second, 0 in the third.",
        "Two readers of the buffer are no threads of yours. The copy out reads it after your "
        "store: fence_async_shared() stands between. And the next copy in writes over it: "
        "tma.store_wait(0) first.",
    ),
    parameters=(
        Array("X", "M, N", dtype="float16"),
        Scalar("factor", "FACTOR", "float32"),
        Array("Y", "M, N", Role.OUT, dtype="float16"),
    ),
    reference=lambda X, factor: {"Y": factor * X},
    tolerance={"float16": (1e-3, 1e-6)},
    slips={
        "the tile sent back as it came": lambda X, factor: {"Y": X},
        "the factor added": lambda X, factor: {"Y": factor + X},
        "the first tile of a row brought for each": partial(
            _brought_from, lambda row, column: (row, 0)
        ),
        "each tile of 64 x 64 brought from [column, row], not from [row, column]": partial(
            _brought_from, lambda row, column: (column, row)
        ),
        **{
            f"tile i of a row brought from column {step} * i, not 64 * i": partial(
                _brought_from, partial(_in_steps_of, step)
            )
            for step in (8, 16, 32, 128)
        },
    },
    cases=(
        case(M=1, N=8, FACTOR=3),
        case(M=70, N=136, FACTOR=-2),
        case(True, M=256, N=512, FACTOR=3),
    ),
    small=case(M=4, N=8, FACTOR=3),
    full=case(M=8192, N=2048, FACTOR=3),
    launch=Launcher(target=HOPPER, copied=("load", "store")),
    shares="M / 64",
    budget=Budget(
        {"load X": "tiles(M, N, 64, 64)", "store Y": "tiles(M, N, 64, 64)"},
        why="Each tile once in and once out.",
    ),
)


def _from_elsewhere(name: str, step: int, A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    """Products of 64 steps of K of which one matrix's begin elsewhere."""
    total = np.zeros((len(A), B.shape[1]))
    size = np.zeros_like(total)
    for k in range(-(-len(B) // 64)):
        starts = {"A": 64 * k, "B": 64 * k, name: step * k}
        a, b = A[:, starts["A"] :][:, :64], B[starts["B"] :][:64]
        steps = min(a.shape[1], len(b))  # beyond the other's end are zeros
        total += a[:, :steps] @ b[:steps]
        size += np.abs(a[:, :steps]) @ np.abs(b[:steps])
    return {"C": total, "size of C": size}


def _coordinates_exchanged(
    name: str, rows: int, A: np.ndarray, B: np.ndarray
) -> dict[str, np.ndarray]:
    """Tiles of so many rows and 64 columns of one matrix, each fetched from [column, row]."""
    given = {"A": A, "B": B}
    whole = given[name]
    height, width = whole.shape
    padded = np.pad(whole, (0, max(height, width) + rows + 64))
    found = np.zeros((height + rows, width + 64))
    for row in range(0, height, rows):
        for column in range(0, width, 64):
            there = padded[column : column + rows, row : row + 64]
            found[row : row + rows, column : column + 64] = there
    given[name] = found[:height, :width]
    size = np.abs(given["A"]) @ np.abs(given["B"])
    return {"C": given["A"] @ given["B"], "size of C": size}


def _b_times_a(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    """Of tiles of 64 x 64 each of B times each of A."""
    a, b = (np.pad(one, [(0, -n % 64) for n in one.shape]) for one in (A, B))
    tiles = [one.reshape(len(one) // 64, 64, -1, 64) for one in (a, b)]

    def multiplied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        found = np.einsum("kint,mtkj->minj", b, a, optimize=True)
        return found.reshape(len(found) * 64, -1)[: len(A), : B.shape[1]]

    return {"C": multiplied(*tiles), "size of C": multiplied(*map(np.abs, tiles))}


_PRODUCT: dict[str, Any] = {
    "full": case(M=2048, N=2048, K=2048),
    "operations": "2 * M * N * K",
    "parameters": (
        Array("A", "M, K", dtype="float16"),
        Array("B", "K, N", dtype="float16"),
        Array("C", "M, N", Role.OUT),
    ),
    "reference": lambda A, B: {"C": A @ B},
    "slips": {
        "the last 64 steps of K alone": lambda A, B: {
            "C": A[:, (len(B) - 1) // 64 * 64 :] @ B[(len(B) - 1) // 64 * 64 :]
        },
        **{
            f"tiles of {name}, {rows} rows tall, fetched from [column, row]": partial(
                _coordinates_exchanged, name, rows
            )
            for name, rows in (("A", 64), ("B", 64), ("A", 128))
        },
        "tiles of B times tiles of A, where A's come first": _b_times_a,
        "all but the first 64 steps of K": lambda A, B: {"C": A[:, 64:] @ B[64:]},
        **{
            f"{name}'s tile of step k brought from {step} * k, not 64 * k": partial(
                _from_elsewhere, name, step
            )
            for name in "AB"
            for step in (8, 16, 32)
        },
    },
    "magnitude": lambda A, B: {"C": np.abs(A) @ np.abs(B)},
    "tolerance": {"float32": (2e-6, 0.0)},
    "shares": "M * N / 128**2",
    "small": case(M=4, N=8, K=8),
    "cases": (
        case(M=8, N=8, K=8),
        case(M=72, N=136, K=200),
        case(M=64, N=64, K=640),
        case(True, M=256, N=256, K=256),
    ),
}


def _budget(rows: int) -> Budget:
    """Tiles of 64 columns and so many rows; TMA fetches what lies in the matrix and no more."""
    return Budget(
        {
            "load A": "cdiv(N, 64) * tiles(M, K, 64, 64)",
            "load B": f"cdiv(M, {rows}) * tiles(K, N, 64, 64)",
            "store C": "tiles(M, N, 64, 64)",
        },
        why="All of A for each column of tiles of C, all of B for each row of them.",
    )


hopper_matmul = KernelExercise(
    name="hopper_matmul",
    title="A ring of buffers",
    task=(
        "C = A @ B for sm_90: A of shape M x K and B of shape K x N in float16, C and the sums in "
        "float32, K and N multiples of 8. The launcher and `fetch` are there; STAGES pairs of "
        "buffers form a ring, each with its barrier. Write the loop over K, with wgmma: while the "
        "tensor cores read one pair of buffers, the next pairs are on their way."
    ),
    points=12,
    minutes=75,
    difficulty=4,
    hints=(
        "Step k lies in buffer k % STAGES, which it is the k // STAGES-th to use: wait for the "
        "parity (k // STAGES) & 1.",
        "warpgroup_mma(..., is_async=True) only issues the product. When may the next copy write "
        "over the buffers that it reads? warpgroup_mma_wait(n, deps=(total,)) comes back when all "
        "but the last n products are done.",
        "In turn k: the tiles of step k have to have come, and product k - 1 to be made. Then "
        "issue product k, and order step k - 1 + STAGES into the buffer that product k - 1 has "
        "read.",
    ),
    **_PRODUCT,
    launch=Launcher(target=HOPPER, copied=("load",), overlapped=True),
    budget=_budget(64),
)

specialised_matmul = KernelExercise(
    name="specialised_matmul",
    title="Warps with one job each",
    task=(
        "The same product, for sm_90, with specialised warps: one warp does nothing but copy, four "
        "warps do nothing but multiply. A buffer is handed over by two barriers: `ready` says that "
        "its tiles have come, `empty` that they have been read. The launcher and the kernel that "
        "starts both are there. Write the producer and the consumer's loop: copies are under way "
        "while products are made."
    ),
    points=12,
    minutes=60,
    difficulty=4,
    hints=(
        "The producer waits for `empty`, expects bytes on `ready`, copies twice. The consumer "
        "waits for `ready`, multiplies, arrives at `empty`.",
        "The consumer's parity is (k // STAGES) & 1. In its first round the producer must not "
        "wait: no buffer has been used. `wait` with the other parity returns at once on a barrier "
        "that is new.",
        "`empty` means that the product has read the buffers. A product that was only issued has "
        "not: use warpgroup_mma without is_async, or wait before you arrive.",
    ),
    **_PRODUCT,
    launch=Launcher(target=HOPPER, copied=("load",), divided=True, overlapped=True),
    budget=_budget(64),
)

blackwell_matmul = KernelExercise(
    name="blackwell_matmul",
    title="Sums that are in no register",
    task=(
        "The same product once more, for sm_100, in tiles of 128 x 64: tcgen05 multiplies from "
        "shared memory into tensor memory, and a barrier says when. The launcher and the "
        "allocations are there, with one pair of buffers. Write the loop over K, and bring the "
        "sums from tensor memory to C."
    ),
    points=10,
    minutes=50,
    difficulty=4,
    hints=(
        "tcgen05_mma(sa, sb, total, use_acc=...) adds to tensor memory, which holds anything at "
        "first: use_acc is False in one turn. Which?",
        "The product returns at once. tcgen05_commit(done) has the barrier arrive when it has been "
        "made. Whoever writes over sa and sb, or reads total, waits for that.",
        "After the loop: total.load(registers), a store to sc, fence_async_shared(), a TMA copy to "
        "C at [row, column], tma.store_wait(0).",
    ),
    **_PRODUCT,
    launch=Launcher(target=BLACKWELL, copied=("load",)),
    budget=_budget(128),
)

persistent = NumberExercise(
    name="persistent",
    title="Programs that stay",
    task=(
        "A matmul has TILES tiles of C. A program that computes one needs FILL clocks until the "
        "first tiles of A and B have come, MAIN clocks in its loop, and STORE clocks to send C "
        "away. An SM holds one program. Write the clocks of a launch as formulas, for three "
        "designs; MAIN is longer than FILL and STORE together."
    ),
    points=5,
    minutes=30,
    difficulty=3,
    hints=(
        "How many tiles does the busiest SM get? That number is in all three answers.",
        "A program for each tile: its phases follow each other, and so do the programs of an SM.",
        "A persistent program with specialised warps fetches the next tile, and stores the last "
        "one, while it multiplies. What can no other work hide: the first FILL and the last STORE.",
    ),
    questions={
        "most_tiles": Question(
            "tiles of the busiest SM",
            "cdiv(TILES, SMS)",
            slips={"TILES / SMS": "A tile is not shared: round up.", "TILES // SMS": "Round up."},
        ),
        "one_each": Question(
            "clocks of a launch with a program for each tile",
            "cdiv(TILES, SMS) * (FILL + MAIN + STORE)",
            slips={
                "TILES * (FILL + MAIN + STORE)": "SMs work at the same time.",
                "FILL + MAIN + STORE": "That is one tile. The busiest SM has several.",
                "cdiv(TILES, SMS) * MAIN": "The phases follow each other.",
            },
        ),
        "prefetching": Question(
            "clocks of persistent programs whose copies of the next tile run under MAIN, but whose "
            "STORE is in the way of it",
            "FILL + cdiv(TILES, SMS) * (MAIN + STORE)",
            slips={"cdiv(TILES, SMS) * (MAIN + STORE)": "Nothing hides the very first FILL."},
        ),
        "specialised": Question(
            "clocks of persistent programs in which STORE, too, runs under the next tile's MAIN",
            "FILL + cdiv(TILES, SMS) * MAIN + STORE",
            slips={
                "cdiv(TILES, SMS) * MAIN": "The first FILL and the last STORE stay.",
                "FILL + cdiv(TILES, SMS) * (MAIN + STORE)": "Only the last STORE is in sight.",
            },
        ),
        "idle": _share(
            "the share of its clocks in which the tensor cores of the average SM do nothing, in "
            "the last design",
            "1 - TILES / SMS * MAIN / (FILL + cdiv(TILES, SMS) * MAIN + STORE)",
            slips={
                "1 - cdiv(TILES, SMS) * MAIN / (FILL + cdiv(TILES, SMS) * MAIN + STORE)": (
                    "That is the busiest SM. The average one has TILES / SMS tiles."
                )
            },
        ),
    },
    columns={
        "TILES": "tiles of C",
        "SMS": "SMs of the GPU",
        "FILL": "clocks until the first tiles have come",
        "MAIN": "clocks of a tile's loop",
        "STORE": "clocks to send C away",
    },
    cases=(
        case(TILES=512, SMS=132, FILL=1200, MAIN=16384, STORE=2500),
        case(TILES=148, SMS=148, FILL=900, MAIN=4096, STORE=1500),
        case(TILES=133, SMS=132, FILL=1200, MAIN=8192, STORE=2500),
    ),
)


@described("groups of 32 of sizes from 2**-40 to 2**40, one just below 2**30, the last one zeros")
def in_groups(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Normal values, each 32 neighbours times a power of two of their own."""
    groups = rng.standard_normal((shape[0] // 32, 32))
    groups *= np.exp2(rng.integers(-40, 41, (len(groups), 1)))
    if len(groups) > 1:
        groups[-1] = 0
    if len(groups) > 2:
        groups[1] = np.clip(groups[1], -1, 1)
        groups[1, rng.integers(32)] = -np.nextafter(dtype.type(2**30), dtype.type(0))
    return groups.reshape(shape).astype(dtype)


def _exponent(size: np.ndarray) -> np.ndarray:
    """The exponent of the largest power of two that is no larger; -127 for 0."""
    return np.where(size > 0, np.frexp(size)[1] - 1, -127)


def _by_log2(size: np.ndarray) -> np.ndarray:
    """The same from a logarithm in float32."""
    found = np.full(size.shape, -127)
    found[size > 0] = np.floor(np.log2(size[size > 0].astype(np.float32)))
    return found


def _bits(
    values: np.ndarray, fraction: int = 3, lowest: int = -6, most: float = 448.0
) -> np.ndarray:
    """The nearest 8-bit floats' bits (OCP's FP8), of E4M3 unless told.

    Args:
        fraction: bits of the fraction; the exponent has the rest but one.
        lowest: the smallest number's exponent that is normal.
        most: the largest number.
    """
    size = np.minimum(np.abs(values), most)
    exponent = np.maximum(_exponent(size), lowest)
    parts = np.rint(np.ldexp(size, fraction - exponent)).astype(int)
    return (((exponent - lowest) << fraction) + parts + 128 * np.signbit(values)).astype(np.uint8)


def _values(bits: np.ndarray) -> np.ndarray:
    """What E4M3's bits stand for."""
    exponent, parts = bits.astype(int) >> 3 & 15, bits.astype(int) & 7
    size = np.ldexp(np.where(exponent, parts + 8, 2 * parts), exponent - 10)
    return np.where(bits > 127, -size, size)


def _times_scale(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    groups = x.reshape(len(scale), -1)
    return _bits(np.ldexp(groups, scale.astype(int)[:, None] - 127)).reshape(x.shape)


def _in_mx(
    x: np.ndarray,
    below: int = 8,
    exponent: Callable[[np.ndarray], np.ndarray] = _exponent,
    size: Callable[[np.ndarray], np.ndarray] = np.abs,
    bits: Callable[[np.ndarray], np.ndarray] = _bits,
) -> dict[str, np.ndarray]:
    """OCP's MXFP8: bits of x, and of a scale for each 32, 2**`below` below the largest's own."""
    groups = x.reshape(-1, 32)
    byte = np.clip(exponent(size(groups).max(axis=1)) + 127 - below, 0, 254)
    q = bits(np.ldexp(groups, 127 - byte[:, None]))
    return {"q": q.reshape(x.shape), "scale": byte.astype(np.uint8)}


def _largest_of(tile: int, groups: np.ndarray) -> np.ndarray:
    """The largest of so many groups for each of them."""
    sizes = np.abs(np.pad(groups, ((0, -len(groups) % tile), (0, 0)))).reshape(-1, tile * 32)
    return np.repeat(sizes.max(axis=1), tile)[: len(groups), None]


def _largest_of_columns(groups: np.ndarray) -> np.ndarray:
    """Of tiles of 32 groups the largest of each column, for the group of its number."""
    tiles = np.abs(np.pad(groups, ((0, -len(groups) % 32), (0, 0)))).reshape(-1, 32, 32)
    return tiles.max(axis=1).reshape(-1, 1)[: len(groups)]


def _by_the_columns_scale(x: np.ndarray) -> dict[str, np.ndarray]:
    """Column j of a tile of 32 groups has the scale of its group j."""
    right = _in_mx(x)
    byte = np.pad(right["scale"].astype(int), (0, -len(right["scale"]) % 32)).reshape(-1, 32)
    groups = x.reshape(-1, 32)
    q = _bits(np.ldexp(groups, 127 - np.repeat(byte, 32, axis=0)[: len(groups)]))
    return right | {"q": q.reshape(x.shape)}


def _below_zero(x: np.ndarray) -> dict[str, np.ndarray]:
    """What 0 - 8 is in a byte, and in the bits of a factor: one below zero, and x is -0."""
    empty = np.abs(x.reshape(-1, 32)).max(axis=1) == 0
    right = _in_mx(x)
    return {
        "q": np.where(np.repeat(empty, 32), 128, right["q"]),
        "scale": np.where(empty, 248, right["scale"]),
    }


mx_quantise = KernelExercise(
    name="mx_quantise",
    title="A scale for each 32",
    task=(
        "Turn x, N numbers in float32, into MXFP8, for sm_90; N is a multiple of 32. Each 32 "
        "neighbours share a scale, the power of two 2**e: e is 8 below the exponent of the "
        "largest of them, floor(log2(max |x|)) - 8. scale holds e + 127 as a uint8, and 0 for a "
        "group of zeros. q holds the bits of x / 2**e as tl.float8e4nv, whose largest number is "
        "448: what is beyond becomes 448. Write kernel and launcher; x is read once."
    ),
    points=8,
    minutes=40,
    difficulty=3,
    hints=(
        "A block of two axes, (groups, 32): the largest of each row by tl.max(tl.abs(x), axis=1).",
        "The exponent stands in the bits of a float32: amax.to(tl.int32, bitcast=True) >> 23 is "
        "floor(log2(amax)) + 127, and 0 for zero. Subtract 8, not below 0.",
        "Dividing by 2**e is multiplying by 2**-e, whose bits are (254 - byte) << 23. Then "
        ".to(tl.float8e4nv).to(tl.uint8, bitcast=True).",
    ),
    parameters=(
        Array("x", "N", draw=in_groups),
        Array("q", "N", Role.OUT, dtype="uint8"),
        Array("scale", "N // 32", Role.OUT, dtype="uint8"),
    ),
    reference=lambda x: _in_mx(x),
    slips={
        "e as large as the largest number's own exponent": lambda x: _in_mx(x, 0),
        "the largest number with its sign, without tl.abs": lambda x: _in_mx(x, size=np.positive),
        "e 7 below the exponent of the largest number, not 8": lambda x: _in_mx(x, 7),
        "numbers multiplied by 2**e, not by 2**-e": lambda x: {
            **_in_mx(x),
            "q": _times_scale(x, _in_mx(x)["scale"]),
        },
        "e itself, without the 127": lambda x: {
            **_in_mx(x),
            "scale": _in_mx(x)["scale"] - np.uint8(127),
        },
        "e + 254, with 127 added to bits that hold it": lambda x: {
            **_in_mx(x),
            "scale": _in_mx(x)["scale"] + np.uint8(127),
        },
        "tl.max over axis 0, the columns, not over a group's own numbers": partial(
            _in_mx, size=_largest_of_columns
        ),
        "scales that meet columns, not groups: [:, None] is missing": _by_the_columns_scale,
        "e 9 below the exponent of the largest number, not 8": lambda x: _in_mx(x, 9),
        **{
            f"the largest of {groups} groups for each of them": partial(
                _in_mx, size=partial(_largest_of, groups)
            )
            for groups in (4, 8, 16, 32, 64, 128)
        },
        "e stored 8 too large, and right in q": lambda x: {
            **_in_mx(x),
            "scale": _in_mx(x)["scale"] + np.uint8(8),
        },
        "e + 127 below 0 for a group of zeros": _below_zero,
        "whole numbers in q, not the bits of 8-bit floats": partial(
            _in_mx, bits=lambda y: np.maximum(_values(_bits(y)), 0).astype(int) & 255
        ),
        "bits of tl.float8e5, with 5 bits of exponent and 2 of fraction": partial(
            _in_mx, bits=partial(_bits, fraction=2, lowest=-14, most=57344.0)
        ),
        "the exponent by tl.log2, which rounds a number just below a power of two up to it": (
            lambda x: _in_mx(x, exponent=_by_log2)
        ),
    },
    small=case(N=64),
    example=case(N=32, draws={"x": normal}),
    full=case(N=1 << 24),
    cases=(
        case(N=32),
        case(N=1056),
        case(N=4000),
        case(True, N=32768),
    ),
    launch=Launcher(target=HOPPER),
    shares="N / 4096",
    budget=Budget(
        {"load x": "sectors(N)", "store q": "cdiv(N, 32)", "store scale": "cdiv(N, 256)"},
        why="Each number once in, a byte of each out, and a byte of each 32; a program takes 8 "
        "groups or more.",
    ),
)

#: FLOP of an SM a clock in its tensor cores: float16 on an H100 and a B200, float8 on an H100.
H100, B200, H100_FLOAT8 = 4096, 8192, 8192
_MMA, _EXP = "4 * BM * BN * D / MMA", "BM * BN / EXP"

flash_clocks = NumberExercise(
    name="flash_clocks",
    title="The exponential's bound",
    task=(
        "FlashAttention goes through keys in tiles: BM queries by BN keys, D numbers each. For "
        "each tile the tensor cores make S = Q K^T and add P V, and the special function units "
        "take an exponential of each element of S. Write the clocks of an SM as formulas. MMA is "
        "operations of its tensor cores a clock, EXP its exponentials a clock."
    ),
    points=6,
    minutes=40,
    difficulty=3,
    hints=(
        "Two products of BM x BN x D, and a multiply-add is two operations.",
        "Without overlap the times add up. With perfect overlap the longer one counts.",
        "With polynomials on the ordinary multiply-add units for a share s of the exponentials, "
        "the special function units have (1 - s) of them left: for which s are they as fast as "
        "the tensor cores?",
    ),
    questions={
        "mma": Question(
            "clocks of the tensor cores for a tile",
            _MMA,
            "clocks",
            slips={
                "2 * BM * BN * D / MMA": "There are two products.",
                "BM * BN * D / MMA": "Two products, and a multiply-add is two operations.",
            },
        ),
        "exp": Question(
            "clocks of the special function units for a tile",
            _EXP,
            "clocks",
            slips={"BM * BN * D / EXP": "S has BM * BN elements, whatever D is."},
        ),
        "in_turn": _share(
            "the share of the time in which the tensor cores work, if the two take turns",
            f"({_MMA}) / ({_MMA} + {_EXP})",
            slips={f"({_EXP}) / ({_MMA} + {_EXP})": "That is the exponentials' share."},
        ),
        "at_once": _share(
            "the same share, if they overlap perfectly",
            f"({_MMA}) / max({_MMA}, {_EXP})",
            slips={"1": "Where the exponentials take longer, the tensor cores wait for them."},
        ),
        "polynomials": _share(
            "the least share of the exponentials that must go elsewhere, so that the tensor cores "
            "need not wait",
            f"max(0, 1 - ({_MMA}) / ({_EXP}))",
            slips={
                f"1 - ({_MMA}) / ({_EXP})": "Not below 0: where nothing waits, nothing must go.",
                f"({_MMA}) / ({_EXP})": "That share may stay. The rest must go.",
                **dict.fromkeys(
                    (f"max(0, 1 - ({_EXP}) / ({_MMA}))", f"1 - ({_EXP}) / ({_MMA})"),
                    "Turn it over: the exponentials that stay may take as long as the products.",
                ),
            },
        ),
        "backward": _share(
            "the perfect overlap's share again, backward: five products and one exponential",
            f"(2.5 * {_MMA}) / max(2.5 * {_MMA}, {_EXP})",
            slips={f"(5 * {_MMA}) / max(5 * {_MMA}, {_EXP})": "Five products, where two were."},
        ),
    },
    columns={
        "MMA": "operations of an SM's tensor cores a clock",
        "EXP": "exponentials of an SM a clock",
        "BM": "queries of a tile",
        "BN": "keys of a tile",
        "D": "numbers of a query, and of a key",
    },
    cases=(
        case(MMA=H100, EXP=16, BM=128, BN=128, D=128),
        case(MMA=B200, EXP=16, BM=128, BN=128, D=128),
        case(MMA=B200, EXP=16, BM=128, BN=64, D=32),
    ),
)
