"""The percent format: a Python file whose cells begin with `# %%`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from autograder import Refused

_HEADER = re.compile(r"# %%(?P<title>.*)")


@dataclass(frozen=True)
class Problem:
    """What is wrong at one place of a file, as a sentence."""

    path: Path
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.sentence}"


class SourceError(Refused):
    """A file that cannot be used: every problem found, a line each."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in problems))


@dataclass(frozen=True)
class Block:
    """The text between one `# %%` line and the next.

    `line` is the `# %%` line's, from 1; `body_line` that of the body, which is without the blank
    lines around it.
    """

    title: str
    body: str
    line: int
    body_line: int


def blocks(text: str) -> tuple[str, list[Block]]:
    """(what stands before the first cell, the cells) of a percent-format text."""
    lines = text.splitlines()
    starts = headers(text)
    before = "\n".join(lines[: starts[0] - 1] if starts else lines)
    ends = [*(start - 1 for start in starts[1:]), len(lines)]
    return before, [_block(lines, start, end) for start, end in zip(starts, ends, strict=True)]


def _block(lines: list[str], start: int, end: int) -> Block:
    title = _HEADER.match(lines[start - 1])["title"].strip()  # type: ignore[index]  # a header
    below = "\n".join(lines[start:end])
    body = below.lstrip("\n")
    return Block(title, body.rstrip("\n"), start, start + 1 + len(below) - len(body))


def headers(text: str) -> list[int]:
    """The numbers, from 1, of the lines that begin with `# %%`."""
    return [n for n, line in enumerate(text.splitlines(), 1) if _HEADER.match(line)]
