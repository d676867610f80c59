"""What kernels print: the first lines of it, and how many there were."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

#: Of a launch that nobody checks.
PRINTED_LINES = 200


class Printed:
    """Lines of one launch or, with a `prefix` for each case, of all launches of a check.

    Args:
        most: so many lines are kept.
        labelled: whether a line says which thread has printed it.
    """

    def __init__(self, most: int = PRINTED_LINES, labelled: bool = False) -> None:
        self.most, self.labelled = most, labelled
        self.prefix = ""
        self.lines: list[str] = []
        self.count = 0

    def add(self, many: int, lines: Iterable[str]) -> None:
        """So many lines, of which those are asked for that there is room for."""
        self.count += many
        kept = islice(lines, max(0, self.most - len(self.lines)))
        self.lines += [self.prefix + line for line in kept]

    def show(self) -> None:
        """Prints what was kept of a launch."""
        for line in self.lines:
            print(line)
        if self.count > len(self.lines):
            print(f"... (only the first {self.most} lines are shown)")
