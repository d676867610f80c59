from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from autograder.grading.judging import Run
from autograder.grading.progress import Progress
from autograder.judge.judge import Graded


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def verdict(outcome: str = "PASS", message_id: str = "passed", message: str = "") -> Graded:
    return Graded("vega", "01_threads", "row_sum", outcome, 0, 5, None, None, None,
                  message, message_id)  # fmt: skip


def said(terminal: bool, verdicts: list[Graded], seconds_each: float) -> str:
    out, clock, run = io.StringIO(), Clock(), Run(expected=100)
    console = Console(file=out, force_terminal=terminal, width=200, color_system=None)
    with Progress(console, clock) as progress:
        for graded in verdicts:
            clock.now += seconds_each
            run.done += 1
            run.judged += 1
            progress.tell(run, graded)
    return out.getvalue()


def test_a_log_has_a_line_every_half_minute() -> None:
    right, wrong = verdict(), verdict("WRONG_ANSWER", "wrong_value")
    lines = said(False, [right, wrong] * 10, seconds_each=6).splitlines()
    assert lines == [
        "5 of 100 verdicts, 10 a minute, 10 min left: 3 PASS, 2 other",
        "10 of 100 verdicts, 10 a minute, 9 min left: 5 PASS, 5 other",
        "15 of 100 verdicts, 10 a minute, 8 min left: 8 PASS, 7 other",
        "20 of 100 verdicts, 10 a minute, 8 min left: 10 PASS, 10 other",
    ]


def test_a_short_run_leaves_a_log_alone() -> None:
    assert said(False, [verdict()] * 20, seconds_each=0.1) == ""


def test_a_terminals_line_is_renewed_and_gone_at_the_end() -> None:
    text = said(True, [verdict()] * 3, seconds_each=1)
    assert "3 of 100 verdicts, 60 a minute, 97 s left: 3 PASS, 0 other" not in text
    assert "3 of 100 verdicts, 60 a minute, 2 min left: 3 PASS, 0 other" in text
    assert text.endswith("\x1b[2K")


@pytest.mark.parametrize("terminal", [False, True])
def test_what_the_judge_failed_on_is_said_at_once(terminal: bool) -> None:
    failed = verdict("NOT_MEASURED", "judge_failed", "The judge itself failed\x1b[2J.")
    text = said(terminal, [failed, verdict()], seconds_each=40)
    assert "vega row_sum: The judge itself failed\N{REPLACEMENT CHARACTER}[2J." in text
    assert "1 that the judge failed on" in text


def test_what_is_of_no_lesson_is_its_students() -> None:
    nothing = replace(verdict(message="The folder is empty."), notebook="", exercise="")
    assert said(False, [nothing], 0.1) == "vega: The folder is empty.\n"
