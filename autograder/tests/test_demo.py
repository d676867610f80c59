"""The demo, whole."""

import json
from pathlib import Path

import pytest

from autograder import Refused
from autograder.__main__ import main
from autograder.grading.demo import MARKER, _make_room


@pytest.mark.slow
def test_the_demo_grades_its_class_and_leaves_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo"
    (out / "old").mkdir(parents=True)
    (out / MARKER).touch()
    assert main(["demo", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    rows = json.loads((out / "grades/verdicts.json").read_text())
    assert f"{len(rows)} verdicts: " in said
    for row in rows:
        assert row["exercise"] in said or row["outcome"] in said
    for path in ("grades/report.html", "feedback/deneb/01_threads/01_threads.html"):
        assert (out / path).stat().st_size > 1000
    assert not (out / "old").exists()


def test_a_demo_empties_no_folder_but_its_own(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(Refused, match="no demo made"):
        _make_room(tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_a_demo_that_cannot_go_on_says_where_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from autograder.grading import demo

    def refuse(root: Path) -> None:
        raise Refused("solutions/01_threads.py:7: a slip.")

    monkeypatch.setattr(demo, "build", refuse)
    assert main(["demo", "--out", str(tmp_path)]) == 1
    assert "The demo stopped: solutions/01_threads.py:7: a slip." in capsys.readouterr().err
