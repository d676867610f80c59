"""Pictures one after the other, chosen with the mouse or the arrow keys; no script."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from itertools import count

from course.figures.picture import Picture

#: More of them are no longer looked at one by one.
MOST_STEPS = 12
#: A picture shrinks to so much of its width, and then is moved in its own frame: on a phone, too,
#: its words can be read.
_LEAST = 0.75
#: JupyterLab leaves the arrow keys to what has this, and does not go to another cell.
_OWN_KEYS = 'data-lm-suppress-shortcuts="true"'
_numbers = count(1)


class Steps:
    """Pictures of one thing, step by step, under a title.

    Where a page leaves style sheets out, all of them stand below each other.

    Args:
        pictures: at least one, at most `MOST_STEPS`.
        step: what one is called, with which its number goes: "request".
        first: the number of the one that is shown at first, from 1.

    Raises:
        ValueError: for none, or for too many.
    """

    def __init__(self, title: str, pictures: Sequence[Picture], step: str, first: int = 1) -> None:
        if not 1 <= len(pictures) <= MOST_STEPS:
            raise ValueError(f"steps are 1 to {MOST_STEPS} pictures, not {len(pictures)}")
        self.title, self.pictures, self.step, self.first = title, tuple(pictures), step, first

    def __repr__(self) -> str:
        """The one shown at first, in words; a page shows the others."""
        others = len(self.pictures) - 1
        more = f" (and {others} more)" if others else ""
        return f"[picture] {self.title}. {self.pictures[self.first - 1].alt}{more}"

    def _repr_html_(self) -> str:
        title = f'<p style="margin:6px 0;font-weight:600">{html.escape(self.title)}</p>'
        if len(self.pictures) == 1:
            return title + _framed(self.pictures[0])
        group = f"course-steps-{next(_numbers)}"
        shown = "".join(
            f".{group} > input:nth-of-type({n}):checked ~ div:nth-of-type({n}){{display:block}}"
            for n in range(1, len(self.pictures) + 1)
        )
        choices = "".join(
            f'<input type="radio" name="{group}" id="{group}-{n}" {_OWN_KEYS}'
            f"{' checked' if n == self.first else ''}>&#8288;"  # a line does not end behind it
            f'<label for="{group}-{n}" style="margin:0 12px 0 4px;white-space:nowrap">'
            f"{html.escape(self.step)} {n}</label> "
            for n in range(1, len(self.pictures) + 1)
        )
        boxes = "".join(_framed(one) for one in self.pictures)
        return (
            f"{title}<style>.{group} > div{{display:none}}{shown}</style>"
            f'<div class="{group}" role="radiogroup" aria-label="{html.escape(self.title)}">'
            f"{choices}{boxes}</div>"
        )


def _framed(picture: Picture) -> str:
    width = re.search(r'<svg[^>]* width="(\d+)', picture.svg)
    least = f"min-width:{_LEAST * int(width[1]):.0f}px" if width else ""
    return (
        f'<div style="overflow-x:auto;max-width:100%"><div style="{least}">'
        f"{picture._repr_html_()}</div></div>"
    )
