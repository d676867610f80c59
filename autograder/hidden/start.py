"""Ranges of held-out cases for lesson 00."""

from autograder.hidden import Draws, between, multiples

HIDDEN = {
    "double": (
        Draws(N=between(1, 40)),
        Draws(N=between(257, 3000)),
        Draws(traffic=True, N=multiples(128, 1024, 2048)),
    ),
}
