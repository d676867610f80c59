"""Notebooks made for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.lessons.catalogue import lesson_exercises

LESSON = "01_threads"
EXERCISES = [exercise.name for exercise in lesson_exercises("threads")]


def cell(
    source: Any, grade_id: str | None = None, kind: str = "code", **more: Any
) -> dict[str, Any]:
    """A cell, with nbgrader's metadata where it has a grade id."""
    metadata: dict[str, Any] = {}
    if grade_id is not None:
        metadata["nbgrader"] = {
            "grade": False,
            "grade_id": grade_id,
            "locked": False,
            "schema_version": 3,
            "solution": True,
            "task": False,
        }
    outputs: dict[str, Any] = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": metadata, "source": source, **outputs, **more}


def notebook(cells: list[Any], **more: Any) -> dict[str, Any]:
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}


def solved(sources: Mapping[str, str] | str = "PASS") -> dict[str, Any]:
    """A notebook of lesson 01 with these cells; the others hold `PASS`."""
    known = dict.fromkeys(EXERCISES, sources) if isinstance(sources, str) else {**sources}
    return notebook([cell(known.get(name, "PASS"), name) for name in EXERCISES])


def put(path: Path, content: Any) -> Path:
    """Writes a notebook, or bytes as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path
