"""Tables for a spreadsheet: every field is quoted, and no text is taken for a formula.

A field may be cut anew by whoever opens the file (by semicolons, tabs, lines), so a formula is
made harmless behind any separator, and not at a field's beginning alone.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

#: What begins a formula, in the width of ASCII; and a minus that no normal form makes one.
_FORMULA = "=+-@\N{MINUS SIGN}"
_SEPARATORS = frozenset(',;|:\t\r\n\v\f"`\x85\u2028\u2029')
#: Excel takes a field that begins with one of these for a formula's beginning.
_CONTROL = ("\t", "\r", "\n")
_QUOTE = "'"


def table(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A row of names, then these rows. A value that is None is an empty field."""
    return "".join(lines(names, rows))


def lines(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The same in parts, a row each."""
    for row in chain([dict(zip(names, names, strict=True))], rows):
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
        writer.writerow([_field(row.get(name)) for name in names])
        yield text.getvalue()


def _field(value: object) -> object:
    """Numbers as they are; of everything else its text, made harmless."""
    if value is None:
        return ""
    return value if isinstance(value, int | float) else harmless(str(value))


def harmless(text: str) -> str:
    """A text with an apostrophe before whatever could be taken for a formula."""
    made = [_QUOTE] if text.startswith(_CONTROL) else []
    fresh = True  # nothing but blanks since a field could begin
    for character in text:
        plain = unicodedata.normalize("NFKC", character)  # a wide letter counts as a narrow one
        if fresh and plain[0] in _FORMULA:
            made.append(_QUOTE)
        made.append(character)
        blank = character == " " or not character.isprintable()
        fresh = plain in _SEPARATORS or (fresh and blank)
    return "".join(made)
