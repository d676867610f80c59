"""What was counted and timed on a real GPU, with its provenance, for machines that have none."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def recorded(name: str = "h200") -> dict[str, Any]:
    """The record NAME.json beside this file. Its "provenance" says who, where, when and how.

    ``h200`` holds hardware counters of the lessons' kernels (`tools.record_profiles`),
    ``h200_roofline`` what lesson 05 shows (`tools/record_roofline.py`), ``h200_l2`` what L2 fetches
    at a time (`tools/record_l2_granularity.py`), ``h200_rows`` what lessons 07 and 08 show
    (`tools/record_rows.py`).

    Raises:
        FileNotFoundError: for a name that has no record.
    """
    path = Path(__file__).with_name(f"{name}.json")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def counts(kernel: str) -> dict[str, int]:
    """The H200's counters of one recorded launch: sectors of 32 bytes, bytes, nanoseconds."""
    return dict(recorded()["counted"][kernel]["counts"])
