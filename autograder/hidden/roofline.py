"""Ranges of held-out cases of lesson 05."""

from autograder.hidden import Draws, between, choice, multiples
from course.draws import uniform

HIDDEN = {
    "repeat_multiply": (
        Draws(N=between(1, 64), k=between(2, 4), scalars={"a": -0.5, "b": choice(0.25, -0.5)}),
        Draws(
            N=between(257, 3000),
            k=between(2, 12),
            scalars={"a": choice(-0.8, 0.5, 0.75), "b": choice(-0.3, 0.2, 1.5)},
        ),
        # the longest, once
        Draws(N=between(1, 300), k=between(40, 90)),
        Draws(traffic=True, N=multiples(256, 2048, 8192), k=choice(12, 16, 20, 24)),
    ),
    "half_the_bytes": (
        Draws(N=between(1, 64)),
        Draws(N=between(257, 3000), scalars={"scale": choice(0.003, 0.03, 0.11)}),
        # small values as well: a kernel must not owe its answer to a narrow range
        Draws(N=between(300, 900), draws={"x": uniform(0.1, 9.0), "w": uniform(1.0, 90.0)}),
        Draws(traffic=True, N=multiples(512, 2048, 16384)),
    ),
}
