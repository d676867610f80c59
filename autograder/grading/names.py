"""Names that strangers gave, as they can be shown, stored and told apart."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Sequence

from course.plain.text import unstacked

LONGEST_NAME = 80
#: Names that a sentence has.
FEW = 5
_UNSEEN = re.compile("VARIATION SELECTOR|GRAPHEME JOINER|FILLER|KHMER VOWEL INHERENT")
#: Letters that a reader takes for Latin ones, and these: Cyrillic, Greek, and Latin's own.
_LOOK_LATIN = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԚԜаеѕіјорсухһԁԛԝӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνορυıɑɡ",
    "ABESIJKMHOPCTYXQWaesijopcyxhdqwlABEZHIKMNOPTYXaikvopuiag",
)


def clean(name: str, longest: int = LONGEST_NAME) -> str:
    """A name as it can be shown and stored: Unicode text, no control characters, not endless."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    text = unstacked(unicodedata.normalize("NFC", text))
    text = "".join(c if unicodedata.category(c)[0] != "C" else "\ufffd" for c in text)
    text = text.strip() or "student"
    return text if len(text) <= longest else text[: longest - 1] + "…"


def look_alike(name: str) -> str:
    """The same for names that differ in case, in Unicode's forms or in what parts their words.

    Marks that choose a form of a letter and are not seen by themselves count as nothing, and a
    Cyrillic or Greek letter as the Latin one that it is taken for.
    """
    name = "".join(c for c in name if not _UNSEEN.search(unicodedata.name(c, "")))
    latin = unicodedata.normalize("NFKD", name).translate(_LOOK_LATIN)
    text = unicodedata.normalize("NFKC", latin.casefold())
    words = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text)
    return " ".join(words.split()) or text


def few(names: Sequence[str], most: int = FEW) -> str:
    """Names in a sentence, of many the first; between them semicolons where one has a comma."""
    between = "; " if any("," in name for name in names) else ", "
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def slug(name: str) -> str:
    """A file name that is different for each name, and can be read."""
    readable = re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).strip("._")[:40]
    digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return name if readable == name and name.islower() else f"{readable or 'name'}-{digest}"
