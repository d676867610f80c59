"""The class report: whole, self-contained, and readable without seeing the pictures."""

import base64
import hashlib
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

from autograder.grading import report
from autograder.grading.insights import insights
from autograder.grading.mistakes import Mistakes
from autograder.grading.report import Overview, exercise_view, script
from autograder.judge.judge import Graded
from autograder.tests.notebooks import EXERCISES, LESSON

FIRST, SECOND = EXERCISES[:2]
HOSTILE = "<script>alert(1)</script>"


def overview(rows: list[Graded]) -> Overview:
    """What is common in a class of which nobody tried twice."""
    mistakes = Mistakes()
    for number, row in enumerate(rows):
        mistakes.add(number, row)
    attempts = Counter((row.notebook, row.exercise) for row in rows)
    return Overview(insights(rows, attempts), mistakes.shown(rows.__getitem__))


def report_html(rows: list[Graded], shown_seed: str) -> str:
    return report.report_html(rows, shown_seed, overview(rows))


def graded(student: str, exercise: str = FIRST, outcome: str = "PASS", **more: object) -> Graded:
    base = Graded(student, LESSON, exercise, outcome, 4, 4, 3200, 4000.0, 3200, "What it was.")
    values = {"panel": f"<p>panel of {student}</p>", **more}
    return replace(base, **values)  # type: ignore[arg-type]


def small_class() -> list[Graded]:
    return [
        graded("vega"),
        graded("altair", outcome="TOO_MUCH_TRAFFIC", points=2.4, requested_bytes=16000),
        graded("deneb", outcome="RACE", points=0, requested_bytes=None, budget_bytes=None),
        graded("deneb", SECOND, requested_bytes=None, budget_bytes=None),
        graded("a b/c", SECOND, requested_bytes=8000, outcome="TOO_MUCH_TRAFFIC"),
    ]


class Reader(HTMLParser):
    """Collects what a test asks for, and fails on tags that do not close."""

    VOID = ("meta", "br", "img", "link", "input", "hr")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.labels: list[str] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.links += [values["href"] or ""] if "href" in values else []
        self.labels += [values["aria-label"] or ""] if tag == "svg" else []
        assert not any(name.startswith("on") or name == "src" for name in values)
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_every_link_leads_to_one_place_in_the_file() -> None:
    reader = Reader(report_html(small_class(), "shown"))
    assert len(set(reader.ids)) == len(reader.ids)
    assert len(reader.links) > 8
    for link in reader.links:
        assert link.removeprefix("#") in reader.ids


def test_nothing_is_fetched_and_nothing_runs() -> None:
    html = report_html(small_class(), "shown")
    runs_its_own_script_alone(html)
    assert not re.search(r"url\(|@import|https?://", html)


def runs_its_own_script_alone(html: str) -> None:
    """What the page's policy allows is the filter's text, and no other script stands there."""
    text, digest = script()
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'{digest}'"
    assert re.findall(r"<script.*?>(.*?)</script>", html, re.DOTALL) == [str(text)]
    made = base64.b64encode(hashlib.sha256(str(text).encode()).digest()).decode()
    assert digest == f"sha256-{made}"
    tags = Counter(Reader(html).tags)
    assert tags["script"] == 1
    assert not {"link", "iframe", "img"} & tags.keys()


def test_what_a_student_wrote_is_text() -> None:
    wrong = graded(f"{HOSTILE} 2", outcome="RACE", panel="", message=HOSTILE)
    alike = [replace(wrong, student=f"{HOSTILE} {n}", cell=HOSTILE, line=1) for n in (3, 4)]
    html = report_html([graded(HOSTILE, panel=""), *alike, wrong], HOSTILE)
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;\n</span>") == 1, "the cell is shown"
    assert HOSTILE not in html
    runs_its_own_script_alone(html)


def test_a_picture_of_traffic_says_in_words_what_it_shows() -> None:
    _, label = Reader(report_html(small_class(), "shown")).labels
    assert "1 of 2 right kernels ask for no more than the budget" in label
    assert "the dearest (altair) for 4.00 times" in label


def test_each_students_points_are_summed() -> None:
    words = " ".join(Reader(report_html(small_class(), "shown")).words)
    assert "deneb: 4 of 8 points" in words
    assert "altair: 2.4 of 4 points" in words


def test_outcomes_are_words_and_not_colours_alone() -> None:
    html = report_html(small_class(), "shown")
    assert html.count("✗ TOO MUCH TRAFFIC") >= 2
    assert "✓ PASS" in html


def test_a_tall_stack_of_dots_fits_a_screen() -> None:
    view = exercise_view(FIRST, [graded(f"s{number}") for number in range(2000)])
    assert len(view.dots) == 2000
    assert view.height < 400


def test_an_empty_class_is_a_report_too() -> None:
    assert "0 students, 0 verdicts" in report_html([], "shown")
