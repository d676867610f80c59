"""Ranges of held-out cases for lesson 00."""

from autograder.hidden import Draws, between, leaving, multiples
from course.spec.draws import LARGE, any_size, integers

HIDDEN = {
    "double": (
        Draws(N=between(1, 40)),
        Draws(N=leaving(1, 256, 257, 3000), draws={"x": LARGE}),
        Draws(N=leaving(255, 256, 257, 3000), draws={"x": any_size}),
        Draws(N=leaving(96, 256, 257, 3000), draws={"x": integers(-1, 2)}),
        Draws(N=multiples(256, 512, 3000)),
        # more than an int16 counts
        Draws(traffic=True, N=multiples(128, 32896, 36864)),
    ),
}
