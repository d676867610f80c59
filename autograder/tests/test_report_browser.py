"""The class report in a real browser: how wide, how soon, on paper, and what its filter shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.grading import report_pages
from autograder.grading.judging import summarise
from autograder.grading.store import Store
from autograder.judge.judge import Graded
from autograder.lessons.catalogue import lesson_exercises, lesson_name
from autograder.tests import browser
from autograder.tests.browser import Browser
from autograder.tests.graders import enter
from autograder.tests.test_overview import CELL, wrong
from autograder.tests.test_report import HOSTILE, graded
from course.engine.faults import Outcome

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        browser.found() is None,
        reason="There is no Chromium here: `apt-get install chromium` installs one.",
    ),
]
STUDENTS, STEMS = 2000, ("threads", "softmax", "speed_of_light")
#: An address without a place for a break.
LONG = "firstname.lastname.of.somebody@students.department.university.edu"
#: The front page of 2,000 students has 0.45 MB and 4,800 elements, and opens in 0.4 s on two cores;
#: an exercise's, the largest, 0.58 MB and 10,400.
MOST_BYTES, MOST_ELEMENTS = 1_000_000, 20_000
_ROWS = "[...document.querySelectorAll('[data-verdicts]')].filter(row => !row.hidden).length"


@pytest.fixture(scope="module")
def page() -> Iterator[Browser]:
    with browser.started() as page:
        yield page


def verdicts(students: int) -> Iterator[Graded]:
    """A class: every fifth verdict is the one mistake, every seventh is dear."""
    count = 0
    for student in range(students):
        name = {1: f"{HOSTILE} 1", 2: LONG}.get(student, f"student {student:04}")
        for stem in STEMS:
            for exercise in lesson_exercises(stem):
                count += 1
                one = graded(name, requested_bytes=1600 + count % 9000)
                if count % 5 == 0:
                    one = wrong(name, CELL)
                elif count % 7 == 0:
                    one = replace(one, outcome="TOO_MUCH_TRAFFIC", points=2.4)
                yield replace(
                    one,
                    notebook=lesson_name(stem),
                    exercise=exercise.name,
                    seconds=0.5,
                    panel=f"<p>panel {count}</p>",
                )


@pytest.fixture(scope="module", params=["one page", "pages"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    kept = Store(out)
    enter(kept.ledger, verdicts(12))
    with pytest.MonkeyPatch.context() as patch:
        most = 0 if request.param == "pages" else report_pages.MOST_ON_ONE_PAGE
        patch.setattr(report_pages, "MOST_ON_ONE_PAGE", most)
        summarise(kept, "shown")
    return out


def looked_at(page: Browser, path: Path, width: int, scheme: str = "light") -> None:
    page.ask(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=900,
        deviceScaleFactor=1,
        mobile=False,
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    page.ask("Emulation.setEmulatedMedia", media="screen", features=[feature])
    page.open(path.as_uri())
    page.value("document.querySelectorAll('details').forEach(one => { one.open = true; })")


@pytest.mark.parametrize("width", [400, 1200])
def test_no_page_is_wider_than_its_window(page: Browser, report: Path, width: int) -> None:
    for path in (report / "report.html", *sorted((report / "report").rglob("*.html"))):
        looked_at(page, path, width)
        assert page.value("document.documentElement.scrollWidth") <= width, path
        names = "[...document.querySelectorAll('th.student')].map(one => one.offsetWidth)"
        assert page.value(f"Math.max(0, ...{names})") <= width / 2, path  # the points have the rest


def test_on_paper_nothing_is_cut_off_and_no_filter_stands(page: Browser, report: Path) -> None:
    looked_at(page, report / "report.html", 1200)
    page.ask("Emulation.setEmulatedMedia", media="print")
    assert page.value("getComputedStyle(document.getElementById('filter')).display") == "none"
    frames = "[...document.querySelectorAll('.scroll')]"
    assert page.value(f"{frames}.every(one => getComputedStyle(one).overflowX === 'visible')")
    assert page.ask("Page.printToPDF")["data"]


def test_words_stand_out_from_light_and_dark_pages(page: Browser, report: Path) -> None:
    colours = set()
    for scheme in ("light", "dark"):
        looked_at(page, report / "report.html", 1200, scheme)
        colours.add(page.value("getComputedStyle(document.querySelector('a')).color"))
        assert page.value(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
    assert len(colours) == 2


def test_the_filter_leaves_whoever_fits(page: Browser, report: Path) -> None:
    looked_at(page, report / "report.html", 1200)
    everybody = page.value(_ROWS)
    typed = "e => {{ e.value = {!r}; e.dispatchEvent(new Event('input', {{bubbles: true}})); }}"
    page.value(f"({typed.format('0003')})(document.querySelector('#filter input'))")
    assert 0 < page.value(_ROWS) < everybody
    assert page.value("document.querySelector('#filter output').textContent") == "1 student"
    page.value(f"({typed.format('')})(document.querySelector('#filter input'))")
    assert page.value(_ROWS) == everybody
    dear = list(Outcome).index(Outcome.TOO_MUCH_TRAFFIC)
    for place, number in enumerate((0, dear)):
        chosen = typed.format(str(number))
        page.value(f"({chosen})(document.querySelectorAll('#filter select')[{place}])")
    assert 0 < page.value(_ROWS) < everybody
    assert page.dialogs == []
    assert page.errors == []


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("large")
    kept = Store(out)
    enter(kept.ledger, verdicts(STUDENTS))
    summarise(kept, "shown")
    return out


def test_a_class_of_two_thousand_is_little_to_lay_out(page: Browser, large: Path) -> None:
    exercise = next((large / "report" / "exercises").iterdir())
    student = next((large / "report" / "students").iterdir())
    for path in (large / "report.html", exercise, student):
        page.open(path.as_uri())
        assert path.stat().st_size < MOST_BYTES, path
        assert 0 < page.value("document.querySelectorAll('*').length") < MOST_ELEMENTS, path
