"""The process that judges: what it draws ahead is what its forks then use."""

from __future__ import annotations

import base64
import json
import os
from typing import Any

import nbformat
import pytest

from autograder.judge import worker
from autograder.judge.judge import course_check
from autograder.lessons.build import instructor_notebook, read_lessons
from autograder.lessons.catalogue import ROOT
from course.check import cases, outputs


def test_nothing_is_drawn_or_answered_again_behind_the_lesson(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lesson = next(one for one in read_lessons(ROOT) if one.stem == "threads")
    notebook = nbformat.writes(instructor_notebook(lesson)).encode()
    names = ["vector_add", "saxpy_grid_stride"]
    seed = b"a class's"
    request = {"stem": lesson.stem, "exercises": names, "seed": base64.b64encode(seed)}
    monkeypatch.setattr(cases, "_AHEAD", {})
    worker._anticipate(request)
    found: list[bool] = []
    drawn = cases.drawn

    def asked(*given: Any) -> dict[str, Any]:
        found.append(given[-1] is not None)
        return drawn(*given)

    monkeypatch.setattr(cases, "drawn", asked)
    monkeypatch.setattr(outputs, "answer", None)  # called, it fails the check
    heard, answers = os.pipe()
    worker._Judging(request, answers, course_check, worker._as_it_is)._judge(notebook)
    os.close(answers)
    with os.fdopen(heard) as lines:
        _, *verdicts = map(json.loads, lines)
    assert [one["outcome"] for one in verdicts] == ["PASS"] * len(names)
    assert len(found) > len(names)
    assert all(found)
