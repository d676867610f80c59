"""The text of a cell before anything reads it: one kind of line end, and no hidden characters.

Python's tokenizer, `str.splitlines`, `inspect` and IPython end lines at different characters, and
an editor may show others in an order that is not theirs. A text without them is one text to all of
them, and to the person who reads it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

#: Cc are controls; Cf change the order in which a line is shown, or stand for no character at all;
#: Cs are halves of characters, Zl and Zp ends of lines that only some readers know.
_REFUSED = ("Cc", "Cf", "Cs", "Zl", "Zp")
#: The joiners, because scripts and symbols are written with them.
_ALLOWED = "\n\t\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
#: What no editor shows, and Python takes in a name: fillers, and what chooses a letter's variant.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
#: Marks that one letter is shown with: more of them would stand on the lines above and below.
MOST_MARKS = 4
_OTHERS_IN_A_ROW = re.compile(rf"[^\x00-\x7f]{{{MOST_MARKS + 1},}}")
_NAMES = {
    "\0": "a NUL",
    "\x0b": "a vertical tab",
    "\x0c": "a form feed",
    "\r": "a carriage return without a line feed",
    "\x1b": "an escape",
    "\x7f": "a delete",
    "\x85": "a next-line character",
    "\ufeff": "a byte order mark",
}


def with_plain_ends(source: str) -> str:
    r"""The text with `\n` alone at the end of each line, where an editor wrote `\r\n`.

    Of the last one IPython keeps the first half.
    """
    return source.replace("\r\n", "\n").removesuffix("\r")


def lines_of(source: str) -> list[str]:
    r"""Its lines, numbered as Python's parser numbers them: they end at `\n` and nowhere else."""
    lines = source.split("\n")
    return lines if lines[-1] else lines[:-1]


def code_at(source: str, line: int, longest: int) -> str:
    """A line without its comment; three dots where it is longer."""
    code = lines_of(source)[line - 1].partition("#")[0].strip()
    return shortened(code, longest)


def shortened(code: str, longest: int) -> str:
    """The code; three dots where it is longer."""
    return code if len(code) <= longest else f"{code[: longest - 3]}..."


@dataclass(frozen=True)
class OddCharacter:
    """A character that an editor does not show as what it is; `line` and `column` from 1."""

    line: int
    column: int
    name: str
    code: str


def odd_character(source: str) -> OddCharacter | None:
    """The first character that some readers take for the end of a line, or do not see at all."""
    for number, line in enumerate(source.split("\n"), start=1):
        if line.isprintable():
            continue
        for column, character in enumerate(line, start=1):
            if _is_refused(character):
                return OddCharacter(number, column, _name(character), f"U+{ord(character):04X}")
    return None


def unseen_in(source: str, name: str, line: int) -> OddCharacter | None:
    """The first character of a name on a line that an editor does not show at all."""
    unseen = None if name.isascii() else _UNSEEN.search(name)
    if unseen is None:
        return None
    # a name may stand on the line after its `def`, behind a backslash: then it has no column
    found = _UNSEEN.search(lines_of(source)[line - 1])
    character = (found or unseen)[0]
    column = found.start() + 1 if found else 1
    return OddCharacter(line, column, _name(character), f"U+{ord(character):04X}")


def visible(text: str) -> str:
    """The text with a mark in the place of each such character: a terminal may obey one."""
    if text.isprintable():
        return text
    return "".join("\N{REPLACEMENT CHARACTER}" if _is_refused(c) else c for c in text)


def unstacked(text: str) -> str:
    """The text with no more marks on a letter than scripts have: others cover what is beside it."""
    return _OTHERS_IN_A_ROW.sub(_few_marks, text)


def _few_marks(found: re.Match[str]) -> str:
    kept, marks = [], 0
    for character in found[0]:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def foreign_letters(name: str) -> str:
    """Which letters of a name are of another alphabet, and may look like Latin ones; or ""."""
    named = {letter: unicodedata.name(letter, "").lower() for letter in name if letter.isalpha()}
    return ", ".join(
        f"its {letter} is a {what} (U+{ord(letter):04X})"
        for letter, what in named.items()
        if what and not what.startswith("latin")
    )


def _is_refused(character: str) -> bool:
    return character not in _ALLOWED and unicodedata.category(character) in _REFUSED


def _name(character: str) -> str:
    """What a learner may know the character by."""
    if character in _NAMES:
        return _NAMES[character]
    if unicodedata.category(character) == "Cs":
        return "half of a character"
    named = unicodedata.name(character, "").lower()
    return f"{'an' if named[:1] in tuple('aeiou') else 'a'} {named or 'control character'}"


def counted(number: int, word: str) -> str:
    """`1 student`, `2 students`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
