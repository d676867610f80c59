"""Pictures of the primer on the chain rule: one step back, a value used twice, a product."""

from __future__ import annotations

from course.figures.drawing import Drawing
from course.figures.picture import BLUE, RED, Picture


def one_step_back() -> Picture:
    """A chain of two functions, and the gradients that come back along it."""
    drawing = Drawing(800, 190)
    xs = (30.0, 310.0, 590.0)
    for x, name in zip(xs, ("x", "y = f(x)", "L = g(y)"), strict=True):
        drawing.box(x, 50, 150, 36, name, "used", 14)
    for x, name in zip(xs, ("dx = dy · f'(x)", "dy = dL/dy", "1"), strict=True):
        drawing.box(x, 124, 150, 36, name, "store", 14)
    for x in xs[:2]:
        drawing.line(x + 154, 68, x + 272, 68, BLUE, 1.6, arrow=True)
        drawing.line(x + 276, 142, x + 156, 142, RED, 1.6, arrow=True)
    drawing.text(30, 34, "forward: values", 13, bold=True)
    drawing.text(30, 114, "backward: gradients of L", 13, bold=True)
    return drawing.picture(
        "Two rows. Forward, to the right: x, then y = f(x), then the loss L = g(y). Backward, to "
        "the left: 1 for L itself, then dy, the derivative of L by y, then dx = dy times the "
        "derivative of f at x."
    )


def used_twice() -> Picture:
    """A value that two others are made of: its gradient is a sum."""
    drawing = Drawing(800, 190)
    drawing.box(40, 76, 120, 40, "x", "used", 14)
    for y, name in ((30.0, "a = f(x)"), (122.0, "b = g(x)")):
        drawing.box(300, y, 140, 40, name, "used", 14)
        drawing.line(164, 92 if y < 76 else 100, 296, y + 16, BLUE, 1.6, arrow=True)
        drawing.line(296, y + 28, 166, 96 if y < 76 else 108, RED, 1.4, arrow=True, dashed=True)
    drawing.text(480, 56, "sends back da · f'(x)", 13.5)
    drawing.text(480, 148, "sends back db · g'(x)", 13.5)
    drawing.text(480, 102, "dx is the sum of both", 14, bold=True)
    return drawing.picture(
        "x is used twice: for a = f(x) and for b = g(x). On the way back a sends da times f'(x) "
        "and b sends db times g'(x); dx is the sum of both."
    )


def product_back() -> Picture:
    """C = A B and its two gradients: the shapes leave one way to multiply."""
    drawing = Drawing(860, 250)

    def matrix(x: float, y: float, rows: float, columns: float, name: str, kind: str) -> None:
        drawing.box(x, y, columns, rows, name, kind, 13)

    m, k, n = 56.0, 36.0, 80.0
    rows = (
        (30.0, ("C", m, n, "used"), ("A", m, k, "used"), ("B", k, n, "used"), "C = A B"),
        (310.0, ("dA", m, k, "store"), ("dC", m, n, "third"), ("Bᵀ", n, k, "used"), "dA = dC Bᵀ"),
        (580.0, ("dB", k, n, "store"), ("Aᵀ", k, m, "used"), ("dC", m, n, "third"), "dB = Aᵀ dC"),
    )
    for x, result, left, right, words in rows:
        drawing.text(x, 34, words, 14, bold=True, mono=True)
        at = x
        for number, (name, height, width, kind) in enumerate((result, left, right)):
            matrix(at, 60, height, width, name, kind)
            at += width + (22 if number == 0 else 8)
            if number == 0:
                drawing.text(at - 11, 84, "=", 15, "middle")
    drawing.text(
        30, 206, "A is (M, K), B is (K, N), C is (M, N); a gradient has its value's shape.", 13
    )
    drawing.text(
        30, 230, "Of dC and B only dC Bᵀ has A's shape; of A and dC only Aᵀ dC has B's.", 13
    )
    return drawing.picture(
        "Matrices as boxes of their shapes. C = A B: (M, N) = (M, K) (K, N). dA = dC B transposed: "
        "(M, K) = (M, N) (N, K). dB = A transposed dC: (K, N) = (K, M) (M, N). Of dC and B only "
        "this product has A's shape, of A and dC only this one has B's."
    )
