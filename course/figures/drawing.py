"""Boxes, words and arrows as SVG: enough for every diagram of the course.

Lengths are SVG units, about a pixel each; x grows to the right and y downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from course.figures.picture import (
    BLUE,
    BORDER,
    FAINT_INK,
    GREEN,
    INK,
    ORANGE,
    PANEL,
    PURPLE,
    RED,
    SKY,
    Picture,
)

FONT = "DejaVu Sans, Verdana, Arial, Helvetica, sans-serif"
MONO = "DejaVu Sans Mono, Menlo, Consolas, monospace"
TEXT_SIZE = 13.0
#: A glyph's width over its height: an upper estimate, used to keep labels inside boxes.
GLYPH_WIDTH = 0.62


@dataclass(frozen=True)
class Fill:
    """How a kind of box looks: a pale colour, a hatch that repeats its meaning, an edge."""

    colour: str
    hatch: str  # "" or a key of _HATCHES
    edge: str


#: Kinds of box. Two kinds never differ by colour alone.
FILLS = {
    "plain": Fill("#ffffff", "", FAINT_INK),
    "group": Fill("none", "", FAINT_INK),
    "used": Fill("#cfe5f3", "", BLUE),
    "unused": Fill("#ffffff", "dots", FAINT_INK),
    "idle": Fill("#f0eee8", "cross", FAINT_INK),
    "warn": Fill("#fbdccb", "rising", RED),
    "store": Fill("#cdebe1", "falling", GREEN),
    "shared": Fill("#fbeac4", "level", ORANGE),
    "third": Fill("#f3dfea", "grid", PURPLE),
    "fourth": Fill("#e0f1fb", "upright", SKY),
}
_HATCHES = {
    "rising": '<path d="M0 8L8 0" stroke="{edge}" stroke-width="1" opacity="0.45"/>',
    "falling": '<path d="M0 0L8 8" stroke="{edge}" stroke-width="1" opacity="0.45"/>',
    "cross": '<path d="M0 0L8 8M0 8L8 0" stroke="{edge}" stroke-width="0.8" opacity="0.35"/>',
    "dots": '<circle cx="4" cy="4" r="1" fill="{edge}" opacity="0.55"/>',
    "level": '<path d="M0 4L8 4" stroke="{edge}" stroke-width="1" opacity="0.5"/>',
    "upright": '<path d="M4 0L4 8" stroke="{edge}" stroke-width="1" opacity="0.5"/>',
    "grid": '<path d="M0 4L8 4M4 0L4 8" stroke="{edge}" stroke-width="0.8" opacity="0.4"/>',
}


class Drawing:
    """A panel to draw on. Finish with `picture(alt)`."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._parts: list[str] = []
        self._hatched: set[str] = set()

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        label: str = "",
        kind: str = "plain",
        size: float = TEXT_SIZE,
        mono: bool = False,
    ) -> None:
        """A rectangle with its label in the middle; a newline in the label starts a line.

        The label shrinks until it fits. `kind` is a key of FILLS.
        """
        fill = FILLS[kind]
        common = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="2"'
        stroke = f'stroke="{fill.edge}" stroke-width="1"'
        dash = ' stroke-dasharray="5 3"' if kind == "group" else ""
        self._parts.append(f'<rect {common} fill="{fill.colour}" {stroke}{dash}/>')
        if fill.hatch:
            self._hatched.add(kind)
            self._parts.append(f'<rect {common} fill="url(#{kind})" stroke="none"/>')
        if label:
            lines = label.split("\n")
            longest = max(len(line) for line in lines)
            size = min(size, (width - 4) / (longest * GLYPH_WIDTH), height / (1.15 * len(lines)))
            top = y + height / 2 - (len(lines) - 1) * size * 0.6
            for number, line in enumerate(lines):
                self.text(
                    x + width / 2,
                    top + number * size * 1.2 + size * 0.35,
                    line,
                    size,
                    "middle",
                    mono=mono,
                    halo=fill.colour if fill.hatch else "",
                )

    def boxes(
        self, corners: Sequence[tuple[float, float]], width: float, height: float, kind: str
    ) -> None:
        """Many rectangles of one kind, without labels: a tenth of the bytes of as many `box`."""
        fill = FILLS[kind]
        side = f"h{_n(width)}v{_n(height)}h{_n(-width)}z"
        path = "".join(f"M{_n(x)} {_n(y)}{side}" for x, y in corners)
        self._parts.append(f'<path d="{path}" fill="{fill.colour}" stroke="{fill.edge}"/>')
        if fill.hatch:
            self._hatched.add(kind)
            self._parts.append(f'<path d="{path}" fill="url(#{kind})"/>')

    def labels(
        self, words: Sequence[tuple[float, float, str]], size: float, faint: bool = False
    ) -> None:
        """Many short words, each by the middle of its baseline."""
        inside = "".join(
            f'<text x="{_n(x)}" y="{_n(y)}">{escape(word)}</text>' for x, y, word in words
        )
        self._parts.append(
            f'<g font-size="{_n(size)}" text-anchor="middle" font-family={quoteattr(FONT)} '
            f'fill="{FAINT_INK if faint else INK}" stroke="#ffffff" stroke-width="3" '
            f'paint-order="stroke">{inside}</g>'
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = TEXT_SIZE,
        anchor: str = "start",
        faint: bool = False,
        bold: bool = False,
        mono: bool = False,
        halo: str = "",
    ) -> None:
        """One line of words whose baseline is at y. `anchor` is start, middle or end.

        `halo` is a colour painted around the glyphs, so that a hatch does not cross them.
        """
        weight = ' font-weight="bold"' if bold else ""
        around = f' stroke="{halo}" stroke-width="4" paint-order="stroke"' if halo else ""
        family = MONO if mono else FONT
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" text-anchor="{anchor}" '
            f'font-family={quoteattr(family)} fill="{FAINT_INK if faint else INK}"{weight}{around}>'
            f"{escape(words)}</text>"
        )

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        colour: str = FAINT_INK,
        width: float = 1.0,
        dashed: bool = False,
        arrow: bool = False,
    ) -> None:
        """A straight line, with a head at its second end when `arrow`."""
        dash = ' stroke-dasharray="5 3"' if dashed else ""
        head = ' marker-end="url(#head)"' if arrow else ""
        self._parts.append(
            f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" '
            f'stroke="{colour}" stroke-width="{_n(width)}"{dash}{head}/>'
        )

    def arrow(self, x1: float, y1: float, x2: float, y2: float, label: str = "") -> None:
        """An arrow with words above its middle."""
        self.line(x1, y1, x2, y2, INK, 1.4, arrow=True)
        if label:
            self.text((x1 + x2) / 2, (y1 + y2) / 2 - 6, label, 12, "middle")

    def key(self, x: float, y: float, entries: dict[str, str]) -> float:
        """A legend in one row: kinds of box and what each one means; where the next one begins."""
        for kind, meaning in entries.items():
            self.box(x, y, 20, 13, kind=kind)
            self.text(x + 26, y + 11, meaning, 12)
            x += 26 + len(meaning) * 12 * GLYPH_WIDTH + 18
        return x

    def picture(self, alt: str) -> Picture:
        """The finished picture with its text alternative."""
        return Picture(self.svg(alt), alt)

    def svg(self, alt: str) -> str:
        """The SVG document, with the alternative as its description too."""
        patterns = "".join(
            f'<pattern id="{kind}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f"{_HATCHES[fill.hatch].format(edge=fill.edge)}</pattern>"
            for kind, fill in FILLS.items()
            if kind in self._hatched
        )
        head = (
            '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{INK}"/></marker>'
        )
        size = f'width="{_n(self.width)}" height="{_n(self.height)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" '
            f'viewBox="0 0 {_n(self.width)} {_n(self.height)}">'
            f"<desc>{escape(' '.join(alt.split()))}</desc><defs>{patterns}{head}</defs>"
            f'<rect x="0.5" y="0.5" width="{_n(self.width - 1)}" height="{_n(self.height - 1)}" '
            f'rx="6" fill="{PANEL}" stroke="{BORDER}"/>{"".join(self._parts)}</svg>'
        )


def _n(value: float) -> str:
    """A coordinate with at most two digits after the point, the same on every machine."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
