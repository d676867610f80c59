"""A picture with a text alternative, drawn the same way every time.

Pictures carry their own light panel, so that they read the same on a light and on a dark
page. A notebook shows an image with its text alternative; a terminal shows the text.
"""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Panel, ink and fills. The six colours are Okabe and Ito's, chosen to stay apart for every
#: common form of colour blindness; hatches and labels say the same thing without colour.
PANEL = "#fbfaf7"
BORDER = "#c9c6bd"
INK = "#1d2127"
FAINT_INK = "#5b616b"
BLUE = "#0072b2"
ORANGE = "#e69f00"
GREEN = "#009e73"
RED = "#d55e00"
SKY = "#56b4e9"
PURPLE = "#cc79a7"
SERIES = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY)
#: Drawn with SERIES, so that lines stay apart in grey: matplotlib line styles and markers.
LINE_STYLES = ("-", "--", "-.", ":", "-", "--")
MARKERS = ("o", "s", "^", "D", "v", "P")

#: A picture shrinks to so much of its width, and then is moved in its own frame: on a phone, too,
#: its words can be read. One 600 wide stands whole beside the margins of a screen of 400.
_LEAST = 0.62

_HASH_SALT = "course"  # fixes the ids that matplotlib writes into an SVG


class Picture:
    """An image and what it says in words.

    Args:
        source: an SVG document, or a matplotlib Figure (it is drawn once, here).
        alt: the text alternative: what the picture shows, numbers included.

    Raises:
        ValueError: without a text alternative.
    """

    def __init__(self, source: str | Figure, alt: str) -> None:
        if not alt.strip():
            raise ValueError("a picture needs a text alternative: say in words what it shows")
        self.alt = " ".join(alt.split())
        self.svg = source if isinstance(source, str) else _svg_of(source)

    def __repr__(self) -> str:
        return f"[picture] {self.alt}"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.svg.encode()).decode()
        width = re.search(r'<svg[^>]* width="(\d+)', self.svg)
        least = f"min-width:{_LEAST * int(width[1]):.0f}px" if width else ""
        return (
            f'<div style="overflow-x:auto;max-width:100%"><div style="{least}">'
            f'<img src="data:image/svg+xml;base64,{data}" alt="{html.escape(self.alt)}" '
            'style="max-width:100%;height:auto"></div></div>'
        )


def plot(width: float = 7.0, height: float = 4.0) -> Figure:
    """An empty matplotlib Figure on the house panel, in inches, without pyplot's state.

    Draw with ``figure.subplots()``; style lines with `line`, or SERIES, LINE_STYLES and MARKERS.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), facecolor=PANEL, layout="constrained")


def chart(width: float = 7.0, height: float = 4.0) -> tuple[Figure, Axes]:
    """A figure as of `plot`, and the axes that fill it."""
    figure = plot(width, height)
    return figure, figure.add_subplot()


def line(number: int, label: str, marked: bool = True) -> dict[str, Any]:
    """How the line of this number looks, for matplotlib."""
    style = {"linestyle": LINE_STYLES[number], "color": SERIES[number], "label": label}
    return style | ({"marker": MARKERS[number]} if marked else {})


def bytes_over(
    sizes: Sequence[int],
    ways: Mapping[str, Callable[[int], float]],
    unit: float,
    labels: tuple[str, str],
    height: float = 4.2,
) -> Figure:
    """Bytes of each way over a size, both logarithmic; `labels` name the size and the bytes."""
    figure, axes = chart(7.2, height)
    for number, (name, bytes_of) in enumerate(ways.items()):
        axes.loglog(sizes, [bytes_of(n) / unit for n in sizes], **line(number, name))
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.minorticks_off()
    axes.set(xlabel=labels[0], ylabel=labels[1])
    axes.legend()
    axes.grid(alpha=0.3)
    return figure


def _svg_of(figure: Figure) -> str:
    import matplotlib

    for axes in figure.axes:
        axes.set_facecolor(PANEL)
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": _HASH_SALT, "svg.fonttype": "path"}):
        figure.savefig(
            buffer, format="svg", metadata={"Date": None, "Creator": None}, facecolor=PANEL
        )
    return buffer.getvalue()
