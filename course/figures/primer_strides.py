"""Pictures of the primer on strides: a matrix and the line of memory behind it."""

from __future__ import annotations

from course.figures.drawing import Drawing
from course.figures.picture import BLUE, RED, Picture

_ROWS, _COLUMNS = 3, 4
_CELL = 56.0


def row_major() -> Picture:
    """A 3 x 4 matrix and its twelve places in memory."""
    drawing = Drawing(760, 300)
    drawing.text(20, 28, "A matrix of 3 rows and 4 columns, and its memory", 15, bold=True)
    kinds = ("used", "store", "shared")
    for row in range(_ROWS):
        drawing.text(78, 66 + row * 34, f"row {row}", 12, "end", faint=True)
        for col in range(_COLUMNS):
            label = f"{row}, {col}"
            drawing.box(90 + col * _CELL, 48 + row * 34, _CELL - 4, 28, label, kinds[row], 13)
    for place in range(_ROWS * _COLUMNS):
        row, col = divmod(place, _COLUMNS)
        x = 40 + place * _CELL
        drawing.text(x + _CELL / 2 - 2, 196, str(place), 11, "middle", faint=True)
        drawing.box(x, 204, _CELL - 4, 30, f"{row}, {col}", kinds[row], 13)
    drawing.text(40, 178, "place in memory, in elements:", 12, faint=True)
    drawing.line(40, 246, 40 + _CELL - 4, 246, BLUE, 2)
    drawing.text(40, 264, "one column on: 1 place", 12)
    drawing.line(40, 272, 40 + 4 * _CELL - 4, 272, RED, 2, dashed=True)
    drawing.text(40, 290, "one row down: 4 places", 12)
    return drawing.picture(
        "Above, a matrix of 3 rows and 4 columns, each box with its row and column. Below, the "
        "same twelve boxes in one line, as they lie in memory: row 0 in places 0 to 3, row 1 in "
        "places 4 to 7, row 2 in places 8 to 11. One column further is one place further; one row "
        "down is four places further."
    )


def padded_rows() -> Picture:
    """A view of 3 columns in rows that are 4 places apart."""
    drawing = Drawing(760, 130)
    drawing.text(20, 28, "m[:, :3]: the same memory, the last column skipped", 15, bold=True)
    for place in range(_ROWS * _COLUMNS):
        row, col = divmod(place, _COLUMNS)
        x = 40 + place * _CELL
        kind = "used" if col < 3 else "idle"
        drawing.text(x + _CELL / 2 - 2, 60, str(place), 11, "middle", faint=True)
        drawing.box(x, 68, _CELL - 4, 30, f"{row}, {col}" if col < 3 else "", kind, 13)
    drawing.key(40, 110, {"used": "in the view", "idle": "in memory, not in the view"})
    return drawing.picture(
        "Twelve places in memory in one line. Places 0 to 2, 4 to 6 and 8 to 10 belong to the "
        "view of three columns; places 3, 7 and 11 are skipped. The rows still begin four places "
        "apart."
    )
