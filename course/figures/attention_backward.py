"""Pictures of lesson 11: the way back through attention, and who owns which part of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from course.figures.drawing import Drawing
from course.figures.picture import BLUE, FAINT_INK, GREEN, RED, Picture, bytes_over


def there_and_back() -> Picture:
    """The three steps of the forward pass, and below them the way back, with shapes."""
    drawing = Drawing(880, 330)
    drawing.text(20, 28, "Forward: each step, and what it makes", 14, bold=True)
    xs = (30.0, 250.0, 470.0, 690.0)
    forward = (("q, k", "(N, D) each", "used"), ("s", "(N, N)", "warn"), ("p", "(N, N)", "warn"))
    for x, (name, shape, kind) in zip(xs, (*forward, ("out", "(N, D)", "used")), strict=True):
        drawing.box(x, 60, 150, 46, f"{name}\n{shape}", kind, 13)
    steps = ("s = scale q kᵀ", "softmax of rows", "out = p v")
    for x, label in zip(xs, steps, strict=False):
        drawing.line(x + 152, 83, x + 216, 83, BLUE, 1.6, arrow=True)
        drawing.text(x + 184, 52, label, 11, "middle")
    drawing.box(580, 122, 76, 34, "v (N, D)", "used", 12)
    drawing.line(640, 121, 652, 92, BLUE, 1.4, arrow=True)
    drawing.text(20, 192, "Backward: from right to left, the same shapes", 14, bold=True)
    backward = (
        ("dq, dk", "(N, D) each", "store"),
        ("ds", "(N, N)", "warn"),
        ("dp", "(N, N)", "warn"),
        ("dout", "(N, D)", "store"),
    )
    for x, (name, shape, kind) in zip(xs, backward, strict=True):
        drawing.box(x, 222, 150, 46, f"{name}\n{shape}", kind, 13)
    back = ("dq = scale ds k", "softmax, back", "dp = dout vᵀ")
    for x, label in zip(xs, back, strict=False):
        drawing.line(x + 216, 245, x + 154, 245, RED, 1.6, arrow=True)
        drawing.text(x + 184, 214, label, 11, "middle")
    drawing.text(xs[0] + 184, 284, "dk = scale dsᵀ q", 11, "middle")
    drawing.box(580, 286, 76, 34, "dv (N, D)", "store", 12)
    drawing.line(688, 262, 658, 292, RED, 1.4, arrow=True)
    drawing.text(668, 308, "dv = pᵀ dout", 11)
    return drawing.picture(
        "Two rows of boxes. Forward, from left to right: q and k, (N, D) each, make s = scale q k "
        "transposed, (N, N); the softmax of its rows makes p, (N, N); p and v, (N, D), make out, "
        "(N, D). Backward, from right to left with the same shapes: dout makes dv = p transposed "
        "dout and dp = dout v transposed; the softmax's way back makes ds of dp; ds makes dq = "
        "scale ds k and dk = scale ds transposed q. s, p, dp and ds are marked: they are N by N."
    )


def delta_two_ways() -> Picture:
    """delta of one row as a sum over N weights, and as a sum over D columns."""
    drawing = Drawing(880, 250)
    cell = 21.0
    drawing.text(20, 28, "delta of query i: two sums with one value", 14, bold=True)

    def row(x: float, y: float, name: str, count: int, kind: str) -> None:
        drawing.text(x - 10, y + 17, name, 12.5, "end", mono=True)
        for number in range(count):
            drawing.box(x + number * cell, y, cell - 2, 24, kind=kind)

    row(110, 62, "p[i, :]", 18, "warn")
    row(110, 96, "dp[i, :]", 18, "warn")
    drawing.text(110, 146, "multiply and add up: 2 N numbers, all keys of the row", 12.5)
    row(640, 62, "out[i, :]", 6, "used")
    row(640, 96, "dout[i, :]", 6, "store")
    drawing.text(600, 146, "multiply and add up: 2 D numbers", 12.5)
    drawing.text(536, 96, "=", 26, "middle", bold=True)
    lines = (
        "dp[i, k] = dout[i] · v[k], so that the sum over k of p[i, k] dp[i, k] is",
        "dout[i] · (the sum over k of p[i, k] v[k]) = dout[i] · out[i].",
    )
    for number, line in enumerate(lines):
        drawing.text(20, 188 + number * 22, line, 13)
    return drawing.picture(
        "The number delta of query i, computed in two ways. Left: a row of p times a row of dp, N "
        "products, added up. Right: a row of out times a row of dout, D products, added up. They "
        "are equal: dp[i, k] is the product of dout[i] and v[k], so the sum over k of p[i, k] "
        "dp[i, k] is dout[i] times the sum over k of p[i, k] v[k], which is out[i]."
    )


def owners(causal: bool = False) -> Picture:
    """The N x N square in tiles: a column that one program walks down, a row that another walks.

    Args:
        causal: whether the upper right half, the future, is left out.
    """
    drawing = Drawing(880, 366)
    side, tiles = 42.0, 6
    for half, (name, line) in enumerate(
        (
            ("flash_dkdv: a program owns a tile of keys", "dk, dv of these keys"),
            ("flash_dq: a program owns a tile of queries", "dq of these queries"),
        )
    ):
        left = 66.0 + half * 440
        drawing.text(left - 46, 28, name, 13.5, bold=True)
        drawing.text(left + tiles * side / 2, 52, "keys", 12, "middle", faint=True)
        drawing.text(left - 10, 84, "queries", 12, "end", faint=True)
        for r, c in product(range(tiles), range(tiles)):
            mine = c == 2 if half == 0 else r == 3
            future = causal and c > r
            kind = "idle" if future else ("store" if mine else "plain")
            label = "own" if mine and not future and c == r and causal else ""
            drawing.box(left + c * side, 60 + r * side, side - 3, side - 3, label, kind, 11)
        if half == 0:
            x = left + 2.5 * side - 1.5
            top = 60 + (2 if causal else 0) * side
            drawing.line(x + 12, top + 10, x + 12, 60 + tiles * side - 12, GREEN, 2, arrow=True)
            drawing.text(left, 336, "walks down: q, dout, lse, delta pass by", 12.5)
        else:
            y = 60 + 3.5 * side - 1.5
            end = left + (4 if causal else tiles) * side - 12
            drawing.line(left + 8, y + 12, end, y + 12, GREEN, 2, arrow=True)
            drawing.text(left, 336, "walks right: k, v pass by", 12.5)
        drawing.text(left, 356, f"and sums up {line}", 12.5)
    future_words = (
        " Tiles above the diagonal are the future and are skipped: the column begins at the "
        "diagonal, the row ends there."
        if causal
        else ""
    )
    return drawing.picture(
        "The square of scores, queries down and keys across, in 6 by 6 tiles, drawn twice. Left, "
        "flash_dkdv: a program owns one column of tiles, a tile of keys; it walks down the column "
        "while q, dout, lse and delta pass by, and sums up dk and dv of its keys. Right, flash_dq: "
        "a program owns one row of tiles, a tile of queries; it walks to the right while k and v "
        f"pass by, and sums up dq.{future_words}"
    )


def one_step() -> Picture:
    """The tiles of one step of flash_dkdv with their shapes, from the loads to the two sums."""
    drawing = Drawing(880, 352)
    drawing.text(20, 28, "One step of flash_dkdv: 64 keys held, BR queries pass by", 14, bold=True)
    drawing.box(24, 50, 150, 120, kind="group")
    drawing.text(34, 68, "held", 12, faint=True)
    drawing.box(36, 78, 126, 36, "k (BC, D)", "used", 12.5)
    drawing.box(36, 122, 126, 36, "v (BC, D)", "used", 12.5)
    drawing.box(24, 186, 150, 150, kind="group")
    drawing.text(34, 204, "loaded in this step", 12, faint=True)
    for number, name in enumerate(("q (BR, D)", "dout (BR, D)", "lse, delta (BR,)")):
        drawing.box(36, 214 + number * 40, 126, 32, name, "shared", 12.5)
    lines = (
        ("s = q kᵀ · scale", "(BR, BC)", "(BR, D) (D, BC)"),
        ("p = exp(s - lse)", "(BR, BC)", "lse: a number a row"),
        ("dp = dout vᵀ", "(BR, BC)", "(BR, D) (D, BC)"),
        ("ds = p · (dp - delta)", "(BR, BC)", "delta: a number a row"),
        ("dv += pᵀ dout", "(BC, D)", "(BC, BR) (BR, D)"),
        ("dk += dsᵀ q", "(BC, D)", "(BC, BR) (BR, D)"),
    )
    for number, (formula, shape, of) in enumerate(lines):
        y = 56.0 + number * 46
        kind = "store" if number > 3 else "plain"
        drawing.box(226, y, 250, 36, formula, kind, 14, mono=True)
        drawing.text(496, y + 23, shape, 13, mono=True, bold=True)
        drawing.text(600, y + 23, of, 12.5, faint=True)
    drawing.line(178, 190, 220, 190, FAINT_INK, 1.4, arrow=True)
    drawing.text(
        226, 344, "Four products a step. After the loop: dk · scale and dv are stored.", 12.5
    )
    return drawing.picture(
        "One step of flash_dkdv. Held in the program: k and v, (BC, D) each. Loaded in the step: q "
        "and dout, (BR, D) each, lse and delta, a number a row. Then, all (BR, BC): s = q k "
        "transposed times scale, p = exp(s - lse), dp = dout v transposed, ds = p times (dp - "
        "delta). Then, both (BC, D): dv += p transposed dout, dk += ds transposed q. After the "
        "loop dk times scale and dv are stored."
    )


def kept_for_later() -> Picture:
    """Bytes that the forward pass keeps for the backward one, over N, for one layer."""
    sizes, heads, depth = [2**n for n in range(10, 16)], 32, 128
    ways: dict[str, Callable[[int], float]] = {
        "p, (N, N) in float16": lambda n: heads * 2 * n * n,
        "q, k, v, out, (N, 128) in float16": lambda n: heads * 4 * 2 * n * depth,
        "lse, (N,) in float32": lambda n: heads * 4 * n,
    }
    labels = (f"N, positions ({heads} heads of {depth})", "kept for the way back, GB")
    figure = bytes_over(sizes, ways, 1e9, labels, 4.0)
    n = sizes[-1]
    ends = "; ".join(f"{name}: {bytes_of(n) / 1e9:,.3g} GB" for name, bytes_of in ways.items())
    return Picture(
        figure,
        f"What one layer of {heads} heads keeps for the backward pass, over N, on logarithmic "
        "axes. p grows with the square of N; q, k, v and out, and lse, grow with N. At N = "
        f"{n}: {ends}.",
    )


def three_roads() -> Picture:
    """Three ways back, each with the products that its kernels compute."""
    drawing = Drawing(880, 188)
    roads = (
        ("Two kernels, no atomics", ("s, dp, dv, dk", "s, dp, dq"), "used"),
        ("One kernel, atomics for dq", ("s, dp, dv, dk, dq",), "third"),
        ("p stored by the forward pass", ("dp, dv, dk, dq",), "warn"),
    )
    notes = (
        "each output stored once",
        "an addition in memory for each tile of keys",
        "N x N written, and read again",
    )
    for number, (name, kernels, kind) in enumerate(roads):
        x = 22.0 + number * 290
        drawing.text(x, 30, name, 13.5, bold=True)
        for row, what in enumerate(kernels):
            drawing.box(x, 46 + row * 52, 256, 42, what, kind, 14, mono=True)
        drawing.text(x, 172, notes[number], 12.5)
    return drawing.picture(
        "Three ways back. Two kernels without atomics: the first computes s, dp, dv and dk, the "
        "second s and dp again and dq; each output is stored once. One kernel with atomics for dq: "
        "s, dp, dv, dk and dq, and an addition in memory for each tile of keys. With p stored by "
        "the forward pass: dp, dv, dk and dq, and an N by N matrix written and read again."
    )
