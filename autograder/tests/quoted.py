"""What tests of quoted numbers share: a lesson's text, and what an H200 counted for Triton."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COUNTED: dict[str, Any] = json.loads(
    (ROOT / "course/tests/engine/triton/hardware/h200.json").read_text(encoding="utf-8")
)["cases"]


def prose(lesson: str) -> str:
    """The lesson's text with its lines joined, so that a wrapped sentence is one."""
    lines = (ROOT / "solutions" / f"{lesson}.py").read_text(encoding="utf-8").splitlines()
    return " ".join(" ".join(line.removeprefix("#").strip() for line in lines).split())
