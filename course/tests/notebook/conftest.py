"""What tests of a learner's notebook share."""

from pathlib import Path

import pytest


@pytest.fixture
def progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the test's progress is kept."""
    path = tmp_path / "kept" / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    return path
