"""Pictures of lesson 10: who looks at whom, what reaches memory, tiles of queries and keys."""

from __future__ import annotations

from collections.abc import Callable

from course.figures.drawing import Drawing
from course.figures.picture import BLUE, INK, Picture, bytes_over


def matrices() -> Picture:
    """Q, K, V, the two N x N matrices between them, and the output."""
    drawing = Drawing(880, 250)
    tall, small = 140.0, 34.0

    def block(x: float, wide: float, high: float, label: str, kind: str, below: str) -> None:
        y = 50 + (tall - high) / 2
        drawing.box(x, y, wide, high, label, kind, 15)
        drawing.text(x + wide / 2, 50 + tall + 22, below, 12, "middle", mono=True)

    block(24, small, tall, "Q", "used", "N x D")
    drawing.text(72, 126, "·", 22)
    block(92, tall, small, "K transposed", "third", "D x N")
    drawing.text(246, 126, "=", 18)
    block(274, tall, tall, "S", "warn", "N x N")
    drawing.arrow(420, 120, 476, 120, "softmax")
    drawing.text(448, 138, "of each row", 11, "middle")
    block(484, tall, tall, "P", "warn", "N x N")
    drawing.text(638, 126, "·", 22)
    block(660, small, tall, "V", "fourth", "N x D")
    drawing.text(708, 126, "=", 18)
    block(736, small, tall, "O", "store", "N x D")
    drawing.text(24, 30, "Attention of one head", 14, bold=True)
    words = "Each score is divided by sqrt(D). N is thousands and D is 64 or 128: drawn to scale, Q"
    drawing.text(24, 238, f"{words} would be a hair.", 12)
    return drawing.picture(
        "Q of N by D times K transposed of D by N, over sqrt(D), gives the scores S, N by N. The "
        "softmax of each "
        "row of S gives the weights P, N by N. P times V of N by D gives the output O, N by D. "
        "The two N by N matrices are far larger than all the rest: N is thousands, D is 64 or 128."
    )


def trips() -> Picture:
    """What three kernels move, and what one moves."""
    drawing = Drawing(880, 322)
    drawing.text(24, 28, "Three kernels", 14, bold=True)
    drawing.box(24, 40, 832, 42, kind="group")
    drawing.text(34, 66, "memory", 12, faint=True)
    stages = ((120.0, "S = Q K^T"), (380.0, "P = softmax(S)"), (640.0, "O = P V"))
    moves = (
        ((0, "Q, K", "used", True), (110, "S", "warn", False)),
        ((0, "S", "warn", True), (110, "P", "warn", False)),
        ((0, "P, V", "warn", True), (110, "O", "store", False)),
    )
    for (x, name), pair in zip(stages, moves, strict=True):
        drawing.box(x, 130, 180, 34, name, "shared", 13)
        for shift, label, kind, loads in pair:
            drawing.box(x + shift, 47, 70, 28, label, kind, 12.5)
            middle = x + shift + 35
            drawing.arrow(middle, 78 if loads else 128, middle, 128 if loads else 78)
    drawing.text(120, 186, "S and P make four trips of N x N elements.", 12.5, bold=True)
    drawing.text(24, 222, "One kernel", 14, bold=True)
    drawing.box(24, 232, 832, 42, kind="group")
    drawing.text(34, 258, "memory", 12, faint=True)
    drawing.box(120, 239, 130, 28, "Q, K, V", "used", 12.5)
    drawing.box(690, 239, 70, 28, "O", "store", 12.5)
    drawing.box(380, 282, 180, 32, "tiles of S and P", "shared", 13)
    drawing.arrow(250, 262, 378, 298)
    drawing.arrow(562, 298, 688, 262)
    return drawing.picture(
        "Above, three kernels. The first loads Q and K and stores S. The second loads S and stores "
        "P. The third loads P and V and stores O. S and P make four trips of N by N elements "
        "between kernels and memory. Below, one kernel: it loads Q, K and V, keeps tiles of S and "
        "P to itself, and stores O."
    )


#: scores and (scalar) values of the example, two keys a tile
EXAMPLE_SCORES = ((1.0, 2.0), (4.0, 3.0), (0.0, 2.0))
EXAMPLE_VALUES = ((10.0, 20.0), (30.0, 40.0), (50.0, 60.0))


def example_steps() -> list[tuple[float, float, float, float]]:
    """(factor, m, total, acc) after each tile of the example."""
    from math import exp, inf

    m, total, acc = -inf, 0.0, 0.0
    steps = []
    for scores, values in zip(EXAMPLE_SCORES, EXAMPLE_VALUES, strict=True):
        m_new = max(m, *scores)
        factor = exp(m - m_new)
        weights = [exp(s - m_new) for s in scores]
        total = total * factor + sum(weights)
        acc = acc * factor + sum(w * v for w, v in zip(weights, values, strict=True))
        m = m_new
        steps.append((factor, m, total, acc))
    return steps


def running_sums() -> Picture:
    """Six keys in three tiles: what the program carries from tile to tile."""
    drawing = Drawing(880, 262)
    drawing.text(24, 28, "One query, six keys, two at a time", 14, bold=True)
    for row, label in ((62, "scores"), (96, "values")):
        drawing.text(24, row + 19, label, 12.5)
    said = []
    for tile, (factor, m, total, acc) in enumerate(example_steps()):
        x = 120.0 + tile * 256
        for key in range(2):
            drawing.box(x + key * 58, 60, 52, 28, f"{EXAMPLE_SCORES[tile][key]:g}", "used", 13)
            drawing.box(x + key * 58, 94, 52, 28, f"{EXAMPLE_VALUES[tile][key]:g}", "fourth", 13)
        drawing.text(x, 50, f"tile {tile}", 12, faint=True)
        drawing.arrow(x + 55, 128, x + 55, 150)
        drawing.box(x - 4, 154, 196, 66, kind="store")
        for line, words in enumerate(
            (f"m     = {m:g}", f"total = {total:.4f}", f"acc   = {acc:.3f}")
        ):
            drawing.text(x + 8, 173 + line * 19, words, 12.5, mono=True, halo="#cdebe1")
        if tile:
            drawing.arrow(x - 62, 187, x - 8, 187)
            drawing.text(x - 34, 178, f"x {factor:.3g}", 11.5, "middle")
        said.append(
            f"after tile {tile} the maximum is {m:g}, the total {total:.4f}, acc {acc:.3f}"
            + (f", with the old sums multiplied by {factor:.3g} first" if tile else "")
        )
    *_, (_, _, total, acc) = example_steps()
    drawing.text(24, 248, f"result: acc / total = {acc / total:.4f}", 13, bold=True)
    return drawing.picture(
        "One query with six keys in three tiles. The scores are 1 and 2, 4 and 3, 0 and 2; the "
        f"values 10 to 60. {'; '.join(said)}. The result is acc over total, {acc / total:.4f}."
    )


def tiles_of_queries() -> Picture:
    """A tile of queries stays; tiles of keys and values pass by."""
    drawing = Drawing(880, 340)
    side = 40.0
    drawing.text(
        24, 28, "One program: a tile of queries stays, keys and values pass by", 14, bold=True
    )
    for row in range(5):
        own = row == 2
        y = 110 + row * side
        drawing.box(150, y, 56, side - 4, "Q tile" if own else "", "used" if own else "plain", 12)
        drawing.box(700, y, 56, side - 4, "O tile" if own else "", "store" if own else "plain", 12)
        for column in range(5):
            label = f"S {column}" if own else ""
            kind = "shared" if own else "unused"
            drawing.box(240 + column * 84, y, 80, side - 4, label, kind, 12)
    for column in range(5):
        drawing.box(240 + column * 84, 48, 80, 22, f"K {column}", "third", 12)
        drawing.box(240 + column * 84, 74, 80, 22, f"V {column}", "fourth", 12)
    drawing.line(240, 103, 656, 103, BLUE, 2, arrow=True)
    drawing.text(132, 134 + 2 * side, "BR rows", 12, "end")
    drawing.text(280, 328, "BC keys", 12, "middle")
    return drawing.picture(
        "A grid of tiles of S, BR rows by BC keys each. One program owns one row of tiles: its "
        "tile of Q and its tile of O stay with it, and it walks from left to right over tiles 0 to "
        "4 of K and V. Each tile of S lives only during its step. Programs of the other rows of "
        "tiles walk over the same K and V again."
    )


def one_step() -> Picture:
    """What happens in one step of the loop, with the shapes."""
    drawing = Drawing(880, 216)
    drawing.text(24, 28, "One step, with shapes", 14, bold=True)
    boxes = (
        (24.0, "scores", "Q tile · K tile^T\n/ sqrt(D)", "(BR, BC)", "used"),
        (196.0, "m_new", "max of m and\neach row", "(BR,)", "shared"),
        (368.0, "rescale", "exp(m - m_new)", "(BR,)", "third"),
        (540.0, "weights", "exp(scores - m_new)", "(BR, BC)", "used"),
        (712.0, "acc, total", "old x rescale + new", "(BR, D), (BR,)", "store"),
    )
    for number, (x, name, formula, shape, kind) in enumerate(boxes):
        drawing.text(x + 72, 62, name, 13, "middle", bold=True)
        drawing.box(x, 72, 144, 52, formula, kind, 12)
        drawing.text(x + 72, 146, shape, 12, "middle", mono=True)
        if number:
            drawing.arrow(x - 26, 98, x - 3, 98)
    drawing.text(
        24, 186, "Row by row: each of the BR queries has its own maximum and its own factor.", 12.5
    )
    return drawing.picture(
        "One step of the loop. Scores, BR by BC, are the tile of Q times the tile of K transposed, "
        "over sqrt(D). "
        "m_new, BR numbers, is the greater of m and each row's maximum. rescale, BR numbers, is "
        "exp(m - m_new). Weights, BR by BC, are exp(scores - m_new). acc, BR by D, and total, BR "
        "numbers, become the old ones times rescale plus what is new. Each of the BR queries has "
        "its own maximum and its own factor."
    )


def causal_tiles() -> Picture:
    """Tiles of S that a causal kernel needs: full, on the diagonal, never loaded."""
    side, tiles = 30.0, 8
    drawing = Drawing(760, 334)
    drawing.text(24, 28, "8 x 8 tiles of S, causal", 14, bold=True)
    drawing.text(24 + side * tiles / 2, 54, "keys", 12, "middle", faint=True)
    for row in range(tiles):
        for column in range(tiles):
            kind = "used" if column < row else "shared" if column == row else "unused"
            drawing.box(24 + column * side, 62 + row * side, side - 3, side - 3, kind=kind)
        drawing.text(32 + side * tiles, 82 + row * side, f"{row + 1}", 12, faint=True)
    x = 90.0 + side * tiles
    for number, (kind, words) in enumerate(
        (
            ("used", "the past: whole, no comparison needed"),
            ("shared", "the diagonal: loaded whole, half of it masked"),
            ("unused", "the future: not loaded at all"),
        )
    ):
        drawing.box(x, 70 + number * 30, 22, 18, kind=kind)
        drawing.text(x + 32, 84 + number * 30, words, 12.5)
    drawing.text(x, 188, "loaded: 36 of 64 = 0.5625", 13.5, bold=True)
    drawing.text(x, 210, "in general (T + 1) / 2T with T tiles along N", 12.5)
    return drawing.picture(
        "A grid of 8 by 8 tiles of S, queries downwards and keys to the right. Row t, "
        "counted from 1, needs its first t tiles: those left of the diagonal whole, the one on the "
        "diagonal half, those right of it not at all. "
        "36 of 64 = 0.5625 of the tiles are loaded; in general (T + 1) / 2T."
    )


def chunks() -> Picture:
    """One query's keys split over programs, and the kernel that combines them."""
    drawing = Drawing(880, 236)
    drawing.text(24, 28, "One head, one query, a program for each chunk of keys", 14, bold=True)
    wide = 138.0
    for chunk in range(5):
        x = 150 + chunk * wide
        drawing.box(x, 44, wide - 6, 32, f"keys {chunk}", "third", 12)
        drawing.line(x + wide / 2 - 3, 78, x + wide / 2 - 3, 94, INK, 1.3, arrow=True)
        drawing.box(x, 98, wide - 6, 34, "m, total, acc", "store", 12)
        drawing.line(x + wide / 2 - 3, 134, 425 + chunk * 22, 166, INK, 1.2, arrow=True)
    drawing.text(24, 64, "K and V", 12.5)
    drawing.text(24, 119, "first kernel", 12.5)
    drawing.text(24, 192, "second kernel", 12.5)
    drawing.box(330, 170, 320, 36, "greatest m; factor exp(m - greatest) a chunk", "shared", 12)
    drawing.box(700, 170, 70, 36, "out", "used", 13)
    drawing.arrow(652, 188, 697, 188)
    return drawing.picture(
        "The keys and values of one head in 5 chunks. In the first kernel a program for "
        "each chunk computes its own maximum, total and acc, and stores them. The second kernel "
        "takes the greatest maximum, multiplies each chunk's sums by exp(m - greatest), adds them "
        "up and divides."
    )


def shared_heads() -> Picture:
    """Eight query heads, two heads of keys: rows of a tile from several heads."""
    drawing = Drawing(880, 240)
    drawing.text(24, 28, "Eight query heads, two heads of K and V", 14, bold=True)
    for head in range(8):
        group = head // 4
        kind = ("used", "third")[group]
        drawing.box(40 + head * 66 + group * 40, 52, 58, 30, f"q {head}", kind, 12.5)
    for group in range(2):
        left = 40 + group * 304.0
        kind = ("used", "third")[group]
        drawing.box(left, 132, 256, 30, f"K {group}, V {group}", kind, 12.5)
        for head in range(4):
            drawing.line(
                left + head * 66 + 29, 84, left + head * 66 + 29, 129, INK, 1.2, arrow=True
            )
    drawing.text(40, 196, "A program a query head loads K and V of its group 4 times in all.", 12.5)
    words = "A program a group loads them once: its 4 queries are the rows of one tile."
    drawing.text(40, 218, words, 12.5, bold=True)
    return drawing.picture(
        "Eight query heads in two groups of four. Queries 0 to 3 attend to head 0 of K and V, "
        "queries 4 to 7 to head 1. A program for each query head loads its group's K and V four "
        "times in all. A program for each group loads them once, with the four queries as the rows "
        "of one tile."
    )


def bytes_over_n() -> Picture:
    """Unfused and fused attention of one head in float16: requested and least bytes over N."""
    sizes, d, tile = [2**n for n in range(7, 15)], 64, 64
    ways: dict[str, Callable[[int], float]] = {
        "unfused, requested": lambda n: 2 * (n * n * (4 + 3 * d / tile) + n * d),
        "unfused, least": lambda n: 2 * (4 * n * n + 4 * n * d),
        "fused, requested": lambda n: 2 * (2 * n * d + 2 * -(-n // tile) * n * d),
        "fused, least": lambda n: 2 * 4 * n * d,
    }
    labels = (f"N (one head, D = {d}, float16, tiles of {tile})", "MiB")
    figure = bytes_over(sizes, ways, 2**20, labels)
    n = sizes[-1]
    ends = "; ".join(f"{name} {bytes_of(n) / 2**20:,.4g} MiB" for name, bytes_of in ways.items())
    return Picture(
        figure,
        "Bytes that attention of one head moves over the number of positions N, on logarithmic "
        "axes. Requested and least bytes of the unfused version and the requested bytes of the "
        "fused one grow with the square of N; the least bytes of the fused one grow with N. At "
        f"N = {n}: {ends}.",
    )
