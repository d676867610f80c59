"""Ranges of held-out cases for lesson 05."""

from autograder.hidden import Draws, between, choice, leaving, multiples
from course.spec.draws import LARGE, integers, uniform

HIDDEN = {
    "repeat_multiply": (
        # results that are 0, among others
        Draws(
            N=between(17, 31),
            k=1,
            scalars={"a": -0.5, "b": choice(0.5, -0.5)},
            draws={"x": integers(-1, 2)},
        ),
        Draws(
            N=leaving(1, 256, 257, 3000),
            k=between(2, 12),
            # digits that neither hundredths nor float16 hold
            scalars={"a": choice(-0.80345, 0.50345), "b": choice(-0.30345, 1.50345)},
        ),
        Draws(
            N=leaving(255, 256, 257, 3000),
            k=choice(3, 5, 7),
            scalars={"a": choice(1.25, 1.5)},
            draws={"x": LARGE},
        ),
        # small numbers that grow
        Draws(
            N=between(33, 300),
            k=between(8, 12),
            scalars={"a": 1.50345, "b": 0.0},
            draws={"x": uniform(-1e-4, 1e-4)},
        ),
        # the sum b + ab + a²b + ... has no closed form by 1 - a where a is 1, and the last of many
        # steps counts as the first does
        Draws(N=between(33, 300), k=between(130, 190), scalars={"a": 1.0, "b": -2.0}),
        # long enough to tell k turns from k turns for each of k; more than an int16 counts
        Draws(traffic=True, N=multiples(256, 33024, 36864), k=choice(40, 44, 48)),
    ),
    "half_the_bytes": (
        Draws(N=between(2, 31)),
        Draws(N=between(32, 255), draws={"x": integers(-1, 2)}, scalars={"scale": 7.0}),
        Draws(N=leaving(1, 256, 257, 3000), scalars={"scale": choice(0.00315, 0.03715)}),
        Draws(N=leaving(255, 256, 257, 3000), scalars={"scale": choice(0.075, 0.11)}),
        # small values as well: a kernel must not owe its answer to a narrow range
        Draws(N=between(300, 900), draws={"x": uniform(0.1, 9.0), "w": uniform(0.1, 9.0)}),
        Draws(N=between(300, 900), draws={"x": uniform(-500.0, -100.0)}),
        Draws(N=between(300, 900), draws={"w": uniform(-500.0, -100.0)}, scalars={"scale": -0.03}),
        # more than an int16 counts
        Draws(traffic=True, N=multiples(512, 33280, 36864)),
    ),
}
