"""What tests of a learner's notebook share."""

from pathlib import Path

import pytest

from course.notebook import progress


@pytest.fixture
def progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the test's progress is kept."""
    path = tmp_path / "kept" / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    return path


@pytest.fixture(autouse=True)
def _nothing_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress that an earlier test made and no file kept is not this one's."""
    monkeypatch.setattr(progress, "_unwritten", {})
