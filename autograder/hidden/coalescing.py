"""Ranges of held-out cases of lesson 02."""

from autograder.hidden import Draws, between, choice, multiples

HIDDEN = {
    "column_or_row": (
        Draws(M=between(1, 40), N=between(1, 40)),
        Draws(M=between(17, 120), N=between(30, 200)),
        Draws(M=multiples(16, 16, 160), N=between(100, 250)),
        Draws(traffic=True, M=choice(512, 640), N=multiples(32, 64, 160)),
    ),
    "padded_rows": (
        Draws(M=between(1, 16), N=between(1, 20)),
        Draws(M=between(17, 90), N=between(9, 70), scalars={"scale": choice(-2.5, 0.25, 3.0)}),
        # no padding at all, so that the array ends with the matrix
        Draws(M=between(2, 40), N=choice(64, 128)),
        # one column more than a whole number of sectors: nothing is aligned by chance
        Draws(traffic=True, M=multiples(16, 96, 192), N=choice(113, 121, 129, 137)),
    ),
}
