"""The comparison with nbgrader as it comes: what counts as an answer, and what the README says."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from autograder.lessons.catalogue import ROOT
from autograder.proof import stock
from autograder.proof.exploit import Exploit
from autograder.sandbox.walls import bubblewrap_works

RECORD = ROOT / "docs" / "stock_nbgrader.json"
ANSWER = {"points": 0.0, "max": 4.0, "ran": False, "leaked": True, "stopped": ""}


def exploit(name: str) -> Exploit:
    [one] = [each for each in stock.tried() if each.name == name]
    return one


def saying(monkeypatch: pytest.MonkeyPatch, *texts: str) -> list[str]:
    """Has what runs behind the wall say these, one after the other."""
    left = list(texts)
    monkeypatch.setattr(stock, "_behind_the_wall", lambda _: (left.pop(0), "Error: no memory"))
    return left


def test_every_file_about_one_notebook_is_tried_the_bombs_too() -> None:
    files = {one.name.partition(".")[0] for one in stock.tried()}
    ours = {path.stem for path in (ROOT / "autograder" / "proof" / "exploits").glob("*.*")}
    assert ours - files == {"README", "numbers", "strange_trees"}


def test_no_answer_is_no_feat_of_the_submission(monkeypatch: pytest.MonkeyPatch) -> None:
    saying(monkeypatch, "", "half an {")
    with pytest.raises(stock.ComparisonError, match=r"network\.shell: no answer .* no memory"):
        stock._result(exploit("network.shell"))


def test_one_failure_of_the_machine_is_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    left = saying(monkeypatch, "", json.dumps(ANSWER))
    assert not stock._result(exploit("network.shell")).succeeded
    assert not left


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("control_honest.right", {"points": 0.0}),
        ("control_wrong.wrong", {"points": 4.0}),
        ("control_wrong.wrong", {"stopped": "no end after 300 s"}),
    ],
)
def test_a_control_that_is_graded_wrong_ends_the_comparison(
    monkeypatch: pytest.MonkeyPatch, name: str, change: dict[str, Any]
) -> None:
    saying(monkeypatch, json.dumps(ANSWER | change))
    with pytest.raises(stock.ComparisonError, match=name):
        stock._result(exploit(name))


def test_what_ends_a_command_of_nbgraders_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    real, commands = subprocess.Popen, ["import os; os.kill(os.getpid(), 9)", "import sleepy"]

    def start(words: Any, **more: Any) -> Any:
        return real([sys.executable, "-c", commands.pop(0)], **more)

    monkeypatch.setattr(subprocess, "Popen", start)
    assert stock._nbgrader(tmp_path, "autograde") == "status -9: "
    assert "No module named 'sleepy'" in stock._nbgrader(tmp_path, "autograde")


def test_the_readme_says_what_the_record_holds() -> None:
    results = [
        one
        for one in json.loads(RECORD.read_text())["results"]
        if not one["name"].startswith("control")
    ]
    earned = sum(bool(one["points"]) and not one["right"] for one in results)
    ran, leaked = (sum(one[key] for one in results) for key in ("ran", "leaked"))
    stopped = sum(bool(one["stopped"]) for one in results)
    text = (ROOT / "README.md").read_text()
    table = re.findall(r"^\| [^|]+ \| (\d+) \| 0 \|$", text, re.MULTILINE)
    assert [int(n) for n in table] == [earned, ran, stopped, leaked]
    assert f"{len(results)} tricks" in text


def test_the_record_is_of_exploits_that_there_are() -> None:
    results = json.loads(RECORD.read_text())["results"]
    assert {one["name"] for one in results} <= {one.name for one in stock.tried()}


@pytest.mark.slow
@pytest.mark.skipif(not bubblewrap_works().works, reason="it needs bubblewrap")
def test_behind_the_wall_an_honest_answer_has_its_points() -> None:
    result = stock._result(exploit("control_honest.right"))
    assert result.points == result.max_points == 4.0
