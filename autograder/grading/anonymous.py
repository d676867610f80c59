"""A class without names: for each student a pseudonym, the same wherever and whenever it is shown.

It is made of the name with a key (HMAC), which lies beside the ledger and is its owner's alone to
read: with it, and with a list of names, the pseudonyms can be told; without it they cannot. So
what is shown without names goes out, and `.pseudonyms` stays.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from autograder.grading.files import secret
from autograder.judge.judge import Graded
from autograder.judge.sentences import HELD, UNREADABLE
from course.engine.faults import Outcome
from course.plain.text import lines_of
from course.words.verdict import HEADLINES

KEY_FILE = ".pseudonyms"
#: 40 bits: two of 20,000 students have one pseudonym with a chance of 1 in 5,000.
_BYTES = 5
#: What stands in the place of a text of the student's.
_LEFT_OUT = '"…"'
#: A text of the cell in a sentence, to its end where that was cut off; no apostrophe in a word.
_TEXT = re.compile(r"""(?<!\w)[bfru]{0,2}(?:"(?:\\.|[^"\\])*(?:"|$)|'(?:\\.|[^'\\])*(?:'|$))""")


def pseudonyms(folder: Path) -> Callable[[str], str]:
    """What students are called where the class of these grades is shown without names.

    Raises:
        OSError: where the key cannot be read or made.
    """
    key = secret(folder / KEY_FILE)

    def called(student: str) -> str:
        name = student.encode("utf-8", "backslashreplace")
        made = hmac.digest(key, name, hashlib.sha256)[:_BYTES]
        return f"student-{base64.b32encode(made).decode().lower()}"

    return called


def has_pseudonyms(folder: Path) -> bool:
    """Whether any were made there."""
    return (folder / KEY_FILE).exists()


def behind(name: str, students: Iterable[str], called: Callable[[str], str]) -> str:
    """The student whom a pseudonym is of; any other name is as it was."""
    return next((one for one in students if called(one) == name), name)


def without_name(graded: Graded, called: Callable[[str], str]) -> Graded:
    """A verdict as it is shown: no panel, which quotes comments, and no name of a file."""
    message = graded.message
    if graded.message_id in HELD | UNREADABLE:
        message = f"Nothing of it was judged: {HEADLINES[Outcome(graded.outcome)][1]}."
    message = _TEXT.sub(_LEFT_OUT, message)  # a path, say, with a login in it
    return replace(
        graded,
        student=called(graded.student),
        message=message,
        handed_in="",
        cell=without_texts(graded.cell),
        panel="",
        text="",
    )


def without_texts(source: str) -> str:
    """A cell without its comments and texts, in which a name may stand; lines stay where they are.

    Where they cannot be told apart, nothing of it.
    """
    lines = lines_of(source)
    try:
        tokens = list(_whole(tokenize.generate_tokens(io.StringIO(source).readline)))
    except (tokenize.TokenError, SyntaxError):
        return ""
    for token in reversed(tokens):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            (first, begin), (last, end) = token.start, token.end
            mark = "#" if token.type == tokenize.COMMENT else _LEFT_OUT
            after = lines[last - 1][end:]
            lines[first - 1] = lines[first - 1][:begin] + mark + (after if first == last else "")
            lines[first:last] = ["" for _ in range(first, last)]
            if first != last:
                lines[last - 1] = after
    return "\n".join(lines)


def _whole(tokens: Iterable[tokenize.TokenInfo]) -> Iterator[tokenize.TokenInfo]:
    """Python's tokens, an f-string as one text: from 3.12 on it comes in parts."""
    begun: list[tuple[int, int]] = []
    for token in tokens:
        name = tokenize.tok_name[token.type]
        if name.endswith("STRING_START"):
            begun.append(token.start)
        elif name.endswith("STRING_END"):
            start = begun.pop()
            if not begun:
                yield token._replace(type=tokenize.STRING, start=start)
        elif not begun:
            yield token
