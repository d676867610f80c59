"""What was tried on this machine, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Whether something works here, and why not where it does not."""

    works: bool
    reason: str = ""
