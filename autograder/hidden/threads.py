"""Ranges of held-out cases for lesson 01."""

from autograder.hidden import Draws, between, choice, multiples

HIDDEN = {
    "vector_add": (
        Draws(N=between(1, 64)),
        Draws(N=between(257, 2500)),
        Draws(traffic=True, N=multiples(128, 1024, 2048)),
    ),
    "index_2d": (
        Draws(M=between(1, 9), N=between(33, 90)),
        Draws(M=between(40, 99), N=between(2, 31)),
        Draws(traffic=True, M=between(20, 60), N=multiples(32, 64, 192)),
    ),
    # Stretches of N / G elements that begin on a sector: a block may take one of its own.
    "saxpy_grid_stride": (
        Draws(N=between(1, 300), G=between(1, 4), scalars={"alpha": choice(-2.5, 0.25, 3.0)}),
        Draws(N=between(1000, 2500), G=between(2, 6), scalars={"alpha": choice(-0.75, 7.0)}),
        Draws(N=between(1, 90), G=between(2, 20)),
        Draws(traffic=True, N=multiples(1024, 1024, 2048), G=choice(1, 2)),
    ),
    "divergence": (
        Draws(N=between(1, 31)),
        Draws(N=between(129, 3000)),
        Draws(traffic=True, N=multiples(128, 2048, 4096)),
    ),
}
