"""Ranges of held-out cases for lesson 02."""

from autograder.hidden import Draws, between, choice, leaving, multiples
from course.spec.draws import FAINT, LARGE, integers

HIDDEN = {
    "column_or_row": (
        Draws(M=between(1, 15), N=between(2, 40), draws={"a": FAINT}),
        # a last strip of one row, and of one too few; a column, and one more than whole warps
        Draws(M=leaving(1, 16, 17, 120), N=leaving(1, 32, 33, 200), draws={"a": LARGE}),
        Draws(M=leaving(15, 16, 513, 640), N=1),
        # more columns than a block has threads
        Draws(M=between(17, 31), N=between(1025, 1100)),
        Draws(M=multiples(16, 16, 160), N=between(151, 250), draws={"a": integers(-1, 2)}),
        Draws(traffic=True, M=choice(512, 640), N=multiples(32, 64, 160)),
    ),
    "padded_rows": (
        Draws(M=between(1, 15), N=between(2, 7), draws={"x": FAINT}),
        Draws(
            M=leaving(1, 16, 17, 90),
            N=leaving(1, 8, 9, 70),
            scalars={"scale": choice(-2.30345, -0.70345)},
        ),
        Draws(
            M=leaving(15, 16, 129, 191),
            N=leaving(7, 8, 9, 70),
            draws={"x": LARGE},
            scalars={"scale": 3.0},
        ),
        # no padding at all, so that the array ends with the matrix
        Draws(M=between(2, 40), N=choice(128, 192)),
        # one column more than a whole number of sectors: nothing is aligned by chance
        Draws(traffic=True, M=multiples(16, 96, 192), N=choice(113, 121, 129, 137)),
    ),
}
