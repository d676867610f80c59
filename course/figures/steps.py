"""Pictures one after the other, chosen with the mouse or the arrow keys; no script."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import count

from course.figures.picture import Picture

#: More of them are no longer looked at one by one.
MOST_STEPS = 12
#: JupyterLab leaves the arrow keys to what has this, and does not go to another cell.
_OWN_KEYS = 'data-lm-suppress-shortcuts="true"'
_numbers = count(1)


class Steps:
    """Pictures of one thing, step by step, under a title.

    Where a page leaves style sheets out, or a browser is older than `:has`, all of them stand below
    each other.

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
            return title + self.pictures[0]._repr_html_()
        group = f"course-steps-{next(_numbers)}"
        shown = "".join(
            f".{group}:has(> label:nth-of-type({n}) > :checked) > div:nth-of-type({n})"
            "{display:block}"
            for n in range(1, len(self.pictures) + 1)
        )
        # a button within its label: no line ends between the two
        choices = "".join(
            '<label style="display:inline-block;white-space:nowrap;margin-right:12px">'
            f'<input type="radio" name="{group}" {_OWN_KEYS}{" checked" * (n == self.first)}> '
            f"{html.escape(self.step)} {n}</label> "
            for n in range(1, len(self.pictures) + 1)
        )
        boxes = "".join(one._repr_html_() for one in self.pictures)
        return (
            f"{title}<style>@supports selector(:has(a)){{.{group} > div{{display:none}}{shown}}}"
            "</style>"
            f'<div class="{group}" role="radiogroup" aria-label="{html.escape(self.title)}">'
            f"{choices}{boxes}</div>"
        )
