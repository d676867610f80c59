"""Ranges of held-out cases for lesson 12: other reports, configurations, shapes and runs."""

import json
from pathlib import Path

from autograder.hidden import Draws, between, choice, leaving, multiples
from course.exercises.speed_of_light import (
    LIMITS,
    NEAR_300,
    ON_ROOFLINE,
    RAGGED,
    REPORTS,
    SHAPES,
    TINY,
    WHOLE_WAVES,
    tile_rows,
)
from course.spec.draws import LARGE, integers, uniform
from course.spec.exercise import halves

_RUN = {kernel: number for number, kernel in enumerate(ON_ROOFLINE, 1)}
#: Shapes whose times do not come to learners: `tools.record_speed` writes them apart.
HELD_OUT = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))["us"]
TILES = tile_rows(HELD_OUT, len(SHAPES))
_SHAPE = {name: number for number, name in enumerate(HELD_OUT, len(SHAPES))}


#: Registers that, in groups of 8, leave an SM a block less than they would one by one.
_GROUPED = tuple(
    TILES[0]
    | {"SHAPE": LIMITS, "CONFIGURATION": number, "REGISTERS": registers}
    | {"BM": 64, "BN": 64, "BK": 32, "WARPS": 4, "STAGES": 2}
    for number, registers in enumerate((97, 98, 99, 100, 102), 1)
)

_HALF = halves("x", "w", "out")
_TINY = {"x": TINY, "w": uniform(-1e-4, 1e-4)}
_EPS = {"eps": choice(2.345e-6, 3.456e-6)}


def _reports(limit: int, *kernels: str) -> Draws:
    return Draws(LIMIT=limit, REPORT=choice(*(REPORTS[kernel] for kernel in kernels)))


def _runs(*kernels: str) -> Draws:
    return Draws(RUN=choice(*(_RUN[kernel] for kernel in kernels)))


def _shapes(*names: str) -> Draws:
    return Draws(SHAPE=choice(*(_SHAPE[name] for name in names)), rows=TILES)


def _tiles(*configurations: int) -> Draws:
    return Draws(SHAPE=choice(*_SHAPE.values()), CONFIGURATION=choice(*configurations), rows=TILES)


HIDDEN = {
    "limiter": (
        _reports(1, "dot_more_blocks", "rmsnorm", "layernorm", "softmax_one_pass"),
        _reports(5, "dot_any_block", "histogram", "triton_matmul_long", "attend_one_query"),
        _reports(2, "gated_linear"),
        _reports(3, "matmul_coarse_1d"),
        _reports(4, "repeat_multiply"),
        _reports(6, "layernorm_eight_rows", "layernorm_eight_short"),
        _reports(7, "transpose_padded"),
        _reports(7, "stencil_halo"),
    ),
    "tile_arithmetic": (
        # those that the compiler multiplies with wgmma: the others keep a stage less
        _tiles(9, 11, 12, 13, 14),
        _tiles(15, 16, 17, 18, 19, 20, 21),
        _tiles(22, 25, 26, 27, 28, 30, 32),
        _tiles(33, 36, 37, 38),
        # no tile divides M and N
        Draws(SHAPE=RAGGED, CONFIGURATION=choice(9, 11, 12, 13, 14, 20, 27, 33, 36)),
        Draws(SHAPE=LIMITS, CONFIGURATION=between(1, 5), rows=_GROUPED),
        # no wave is begun that is not full
        Draws(SHAPE=WHOLE_WAVES, CONFIGURATION=choice(9, 11, 12, 13, 14, 20, 27, 33, 36)),
    ),
    "tile_pick": (
        _shapes("deep"),
        _shapes("large"),
        _shapes("medium", "long", "wide"),
    ),
    "own_roofline": (
        _runs("vector_add", "dot", "dot_more_blocks", "row_sum"),
        _runs("matmul_naive", "matmul_coarse"),
        _runs("gated_linear", "flash_forward_narrow"),
        _runs("triton_matmul_long", "split_k"),
        _runs("attend_one_query", "flash_decode"),
    ),
    "rope_heads": (
        # rows shorter than a tile of a product, and than 16 bytes
        Draws(N=between(2, 5), H=between(2, 3), R=choice(1, 2, 4)),
        # a token more than whole tiles have, and one less
        Draws(N=leaving(1, 16, 33, 65), H=between(2, 5), R=choice(16, 32), draws={"w": LARGE}),
        Draws(
            N=leaving(15, 16, 31, 63),
            H=between(2, 5),
            R=16,
            dtypes=_HALF,
            draws={"w": integers(0, 2)},
        ),
        # heads of which no power of two is a divisor, and one more than in whole groups of 32
        Draws(N=between(2, 9), H=choice(7, 11, 13), R=64, draws=_TINY, scalars=_EPS),
        Draws(N=between(2, 9), H=choice(65, 97), R=32, draws={"x": LARGE}),
        Draws(N=between(10, 20), H=3, R=128, dtypes=_HALF, draws={"x": NEAR_300}),
        # elements that 16 bits do not count, for each array
        Draws(N=between(4100, 4300), H=2, R=16, dtypes=_HALF),
        Draws(traffic=True, N=multiples(16, 272, 400), H=choice(3, 5), R=32, dtypes=_HALF),
        Draws(traffic=True, N=multiples(16, 32, 64), H=between(41, 64), R=64, dtypes=_HALF),
        Draws(traffic=True, N=multiples(16, 64, 128), H=between(9, 15), R=choice(16, 32, 64)),
    ),
}
