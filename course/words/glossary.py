"""The course's terms, each in a sentence, with the lesson that introduces it."""

from __future__ import annotations

import difflib
import tomllib
from html import escape
from pathlib import Path

from course.words.panel import table_html

with Path(__file__).with_suffix(".toml").open("rb") as _file:
    #: term: (the lesson that introduces it, what it means)
    TERMS: dict[str, tuple[str, str]] = {
        term: (lesson, meaning)
        for lesson, terms in tomllib.load(_file).items()
        for term, meaning in terms.items()
    }


class Glossary:
    """Some of the terms, shown as text or as a table."""

    def __init__(self, terms: list[str], missing: str = "") -> None:
        self.terms, self._missing = terms, missing

    def __repr__(self) -> str:
        said = [f"{term}: {TERMS[term][1]} (lesson {TERMS[term][0]})" for term in self.terms]
        return "\n".join([self._missing, *said] if self._missing else said)

    def _repr_html_(self) -> str:
        missing = f"<p>{escape(self._missing)}</p>" if self._missing else ""
        rows = [(term, *TERMS[term][::-1]) for term in self.terms]
        head = ("term", "what it means", "lesson")
        return missing + (table_html("Glossary", head, rows, wrap=(1,)) if rows else "")


def glossary(term: str = "") -> Glossary:
    """The course's terms: one, or all of them.

    Args:
        term: as a lesson writes it, in the singular or the plural; the nearest ones are shown for
            a word that is not there.
    """
    if not term:
        return Glossary(sorted(TERMS, key=str.lower))
    by_name = {name.lower(): name for name in TERMS}
    asked = str(term).strip().lower()
    for name in (asked, asked.removesuffix("s"), f"{asked}s"):
        if name in by_name:
            return Glossary([by_name[name]])
    near = [by_name[name] for name in by_name if asked in name]
    near = near or [by_name[name] for name in difflib.get_close_matches(asked, by_name, 3)]
    return Glossary(near, f"{str(term)!r} is not a term of the glossary.")
