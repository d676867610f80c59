"""Words that name another lesson become links to its notebook, which lies in the same folder."""

from __future__ import annotations

import re
from collections.abc import Iterable

_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_BLANK = re.compile(r"(\n\s*\n)")
#: a line of code, a link, a tag, a heading: what stands in one stays as it is
_AS_IT_IS = r"`[^`]*`|<code>.*?</code>|<a .*?</a>|\[[^\]]*\]\([^)]*\)|<[^>]*>|^#.*$"
#: `lesson 05`, `lessons 00 to 05`, `lessons 06, 08 and 11`
_NAMED = r"\b[Ll]essons?\s+\d\d\b(?:(?:,\s+|\s+(?:and|to|or)\s+)\d\d\b)*"
#: at the end of a lesson: `Next: **01 threads**`
_NEXT = r"(?<=Next: )\*\*\d\d [^*]+\*\*"
_WORDS = re.compile(rf"(?P<same>{_AS_IT_IS})|{_NAMED}|{_NEXT}", re.MULTILINE | re.DOTALL)
#: one lesson of such words, with the word before the first number
_ONE = re.compile(r"(?:[Ll]essons?\s+)?\b(\d\d)\b|\*\*(\d\d) [^*]+\*\*")


def linked(text: str, own: str, lessons: Iterable[str]) -> str:
    """A cell of Markdown with links.

    Args:
        own: the lesson that the cell stands in, `01_threads`: it is no link.
        lessons: the notebooks that there are, such as `05_roofline`.
    """
    pages = {name[:2]: f"{name}.ipynb" for name in lessons if name != own}
    parts = _FENCED.split(text)
    for at, part in enumerate(parts):
        if not part.startswith("```"):
            blocks = _BLANK.split(part)
            parts[at] = "".join(_block(block, pages) for block in blocks)
    return "".join(parts)


def _block(text: str, pages: dict[str, str]) -> str:
    """One paragraph; where it is HTML, Markdown's links would be read as they stand."""
    form = '<a href="{1}">{0}</a>' if text.lstrip().startswith("<") else "[{0}]({1})"

    def one(match: re.Match[str]) -> str:
        page = pages.get(match[1] or match[2])
        return match[0] if page is None else form.format(match[0], page)

    def words(match: re.Match[str]) -> str:
        return match[0] if match["same"] else _ONE.sub(one, match[0])

    return _WORDS.sub(words, text)
