"""Pictures of the primer on attention: a soft lookup, and who may look at whom."""

from __future__ import annotations

from itertools import product

from course.figures.drawing import Drawing
from course.figures.picture import INK, Picture


def soft_lookup() -> Picture:
    """One query, three keys with their weights, and the mean of their values."""
    drawing = Drawing(820, 230)
    drawing.text(24, 28, "One query looks at every key", 14, bold=True)
    drawing.box(24, 96, 90, 40, "query", "used", 13)
    weights = (("key 0", "10", 0.51), ("key 1", "20", 0.07), ("key 2", "30", 0.42))
    for number, (key, value, weight) in enumerate(weights):
        y = 48 + number * 56
        drawing.box(200, y, 90, 36, key, "third", 13)
        drawing.line(116, 116, 196, y + 18, INK, 1.3, arrow=True)
        drawing.box(330, y + 6, 160 * weight, 24, kind="shared")
        drawing.text(338 + 160 * weight, y + 23, f"weight {weight:.2f}", 12.5)
        drawing.box(520, y, 90, 36, f"value {value}", "fourth", 13)
        drawing.line(614, y + 18, 690, 116, INK, 1.3, arrow=True)
    drawing.box(694, 96, 96, 40, "19.1", "store", 14)
    drawing.text(742, 156, "weighted mean", 12, "middle")
    return drawing.picture(
        "A query is compared with three keys. Their weights are 0.51, 0.07 and 0.42, which add up "
        "to 1. The output is the weighted mean of their values 10, 20 and 30: 19.1."
    )


def masks(positions: int = 6) -> Picture:
    """Who looks at whom: everybody at everybody, and causal."""
    side = 30.0
    drawing = Drawing(640, 78 + side * positions)
    for number, name in enumerate(("without a mask", "causal")):
        left = 40 + number * 300.0
        drawing.text(left, 28, name, 14, bold=True)
        for row, column in product(range(positions), range(positions)):
            seen = number == 0 or column <= row
            kind = "used" if seen else "unused"
            drawing.box(left + column * side, 44 + row * side, side - 3, side - 3, kind=kind)
    drawing.key(40, 56 + side * positions, {"used": "has a weight", "unused": "-inf, weight 0"})
    return drawing.picture(
        f"Two grids of {positions} by {positions}, a row for each query and a column for each key. "
        "Without a mask every query has a weight for every key. With the causal mask, query i has "
        "weights for keys 0 to i only: the lower triangle with the diagonal."
    )
