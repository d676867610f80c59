"""The pictures of the course: every one with a text alternative, none by colour alone.

Draw diagrams with `Drawing`, charts with `plot()` and `Picture(figure, alt)`. The pictures of
one lesson stand in the module of its stem: functions that return a `Picture`, every parameter
with a default, so that a test draws them all.
"""

from course.figures.access import access_picture, grid_picture
from course.figures.drawing import FILLS, Drawing
from course.figures.picture import (
    BLUE,
    BORDER,
    FAINT_INK,
    GREEN,
    INK,
    LINE_STYLES,
    MARKERS,
    ORANGE,
    PANEL,
    PURPLE,
    RED,
    SERIES,
    SKY,
    Picture,
    plot,
)

__all__ = [
    "BLUE",
    "BORDER",
    "FAINT_INK",
    "FILLS",
    "GREEN",
    "INK",
    "LINE_STYLES",
    "MARKERS",
    "ORANGE",
    "PANEL",
    "PURPLE",
    "RED",
    "SERIES",
    "SKY",
    "Drawing",
    "Picture",
    "access_picture",
    "grid_picture",
    "plot",
]
