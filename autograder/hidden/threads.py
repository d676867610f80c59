"""Ranges of held-out cases for lesson 01.

Each property that a wrong guard can hide behind has a range of its own, so that every seed has it:
fewer elements than a warp, whole blocks, one element more, one less, and whole warps alone.
"""

from autograder.hidden import Draws, between, choice, leaving, multiples
from course.spec.draws import FAINT, LARGE, any_size, integers, uniform

HIDDEN = {
    "vector_add": (
        Draws(N=between(2, 31)),
        Draws(N=between(33, 255)),
        Draws(N=leaving(1, 256, 257, 2500), draws={"a": any_size, "b": any_size}),
        Draws(N=leaving(255, 256, 257, 2500), draws={"a": LARGE, "b": LARGE}),
        Draws(N=leaving(96, 256, 257, 2500)),
        # sums that are 0, whole blocks of them: an element that is not stored is seen
        Draws(N=multiples(256, 512, 2500), draws={"a": integers(-1, 2), "b": integers(-1, 2)}),
        # beyond all that is visible
        Draws(N=leaving(1, 256, 4353, 9000)),
        # blocks enough to tell a few that do the work of all, and more than an int16 counts
        Draws(traffic=True, N=multiples(128, 32896, 36864)),
    ),
    "index_2d": (
        # more rows, and more columns, than 9 bits count
        Draws(M=1, N=between(513, 540)),
        Draws(M=between(513, 540), N=1),
        Draws(
            M=leaving(1, 8, 9, 40),
            N=leaving(1, 32, 65, 99),
            draws={"image": integers(-2_000_000_000, 2_000_000_000)},
        ),
        Draws(M=leaving(1, 32, 65, 99), N=leaving(31, 32, 31, 63)),
        Draws(M=64, N=choice(32, 96), draws={"image": integers(-150, 1)}),
        Draws(traffic=True, M=between(20, 60), N=multiples(32, 64, 192)),
    ),
    # Stretches of N / G elements that begin on a sector: a block may take one of its own.
    "saxpy_grid_stride": (
        # more threads than elements
        Draws(N=1, G=between(2, 4), scalars={"alpha": choice(-2.5, 0.25, 3.0)}),
        Draws(N=between(2, 90), G=between(9, 20), draws={"x": FAINT, "y": FAINT}),
        # one element more than whole strides, one less, and whole strides; neither hundredths nor
        # float16 hold -0.70345
        Draws(N=leaving(1, 768, 1000, 4000), G=choice(2, 3, 6), scalars={"alpha": -0.70345}),
        Draws(N=leaving(767, 768, 1000, 4000), G=choice(2, 3, 6), scalars={"alpha": 7.0}),
        # with alpha = 1.5 some results are 0 where y is not
        Draws(
            N=multiples(768, 1536, 4000),
            G=choice(2, 3, 6),
            draws={"x": integers(-2, 3), "y": integers(-3, 4)},
        ),
        # more rounds than any other case has
        Draws(N=between(9000, 12000), G=1, draws={"x": LARGE, "y": LARGE}),
        Draws(traffic=True, N=multiples(1024, 1024, 2048), G=choice(1, 2)),
        Draws(traffic=True, N=multiples(1024, 3072, 4096), G=8),
        # a few blocks do not do the work of all; more than an int16 counts
        Draws(traffic=True, N=multiples(8192, 40960, 49152), G=64),
    ),
    "divergence": (
        Draws(N=between(2, 31)),
        Draws(N=leaving(1, 128, 129, 3000)),
        Draws(N=leaving(127, 128, 129, 3000)),
        # a number does not tell its row: as far as the given functions reach
        Draws(N=leaving(96, 128, 129, 3000), draws={"x": uniform(0.5, 8.0)}),
        Draws(N=multiples(128, 256, 3000)),
        Draws(N=leaving(1, 128, 4225, 8000)),
        Draws(traffic=True, N=multiples(128, 2048, 4096)),
    ),
}
