"""The site: its pages before Sphinx has them, and as a phone shows them."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from autograder.lessons.build import read_lessons
from autograder.lessons.bundle import given_away
from autograder.tests import browser
from course.words.glossary import TERMS
from tools.website.__main__ import fetched_elsewhere
from tools.website.pages import assemble

ROOT = Path(__file__).resolve().parents[2]
PHONE = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("site")
    assemble(out)
    return out


def test_every_term_stands_in_the_glossary_with_a_link_to_its_lesson(pages: Path) -> None:
    text = (pages / "glossary.md").read_text()
    for term, (lesson, _) in TERMS.items():
        assert re.search(rf"^\| {re.escape(term)} \|.*\(notebooks/{lesson}.ipynb\) \|$", text, re.M)
        assert (pages / "notebooks" / f"{lesson}.ipynb").exists()


def test_measurements_and_calls_are_those_of_the_records_and_the_course(pages: Path) -> None:
    assert "| `triton_add` | N=16384 | 4096 | 2048 | 0 |" in (pages / "calibration.md").read_text()
    first = json.loads((ROOT / "docs/bench.json").read_text())["beside_the_simulator"][0]
    row = f"| {first['name']} | {first['engine_ms']:.1f} |"
    assert row in (pages / "speed.md").read_text()
    api = (pages / "api.md").read_text()
    for call in (
        "ex.NAME.check(kernel=None)",
        "ex.NAME.hint()",
        "course.trace(",
        "course.allowed(",
    ):
        assert f"py:function:: {call}" in api


def test_lessons_are_the_students_and_no_page_has_a_solution(pages: Path) -> None:
    texts = {
        path: path.read_text() for path in pages.rglob("*") if path.suffix in (".md", ".ipynb")
    }
    for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"):
        same = re.sub(
            r'(<a href=\\"\w+)\.html', r"\1.ipynb", texts[pages / "notebooks" / path.name]
        )
        assert same == path.read_text()
    assert list(given_away(pages, read_lessons(ROOT), [])) == []


def test_a_link_of_a_page_leads_to_a_page_or_a_picture(pages: Path) -> None:
    links = [
        (path, link)
        for path in pages.rglob("*.md")
        for link in re.findall(r"(?<!`)\]\(([\w./-]+)\)", path.read_text())
    ]
    assert len(links) > 20
    assert [(path, link) for path, link in links if not (path.parent / link).exists()] == []


def test_a_link_of_a_lesson_leads_to_a_page(pages: Path) -> None:
    seen = {"md": 0, "html": 0}
    for path in (pages / "notebooks").glob("*.ipynb"):
        text = path.read_text()
        for page in re.findall(r"\]\((\d\d_\w+\.ipynb)\)", text):
            assert (path.parent / page).exists(), (path.name, page)
            seen["md"] += 1
        for page, ending in re.findall(r'<a href=\\"(\d\d_\w+)\.(\w+)\\"', text):
            assert ending == "html"
            assert (path.parent / f"{page}.ipynb").exists(), (path.name, page)
            seen["html"] += 1
    assert seen["md"] > 80
    assert seen["html"] >= 3


def test_what_a_page_would_ask_of_another_host_is_found() -> None:
    assert fetched_elsewhere('<script src="https://x.org/a.js"></script>') == ["https://x.org/a.js"]
    assert fetched_elsewhere('<link href="//x.org/f.css">') == ["//x.org/f.css"]
    assert fetched_elsewhere('<a href="https://x.org">x</a><img src="a.png">') == []


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.skipif(browser.found() is None, reason="no Chromium: apt-get install chromium")
def test_links_hold_and_no_page_moves_sideways_on_a_phone(tmp_path: Path) -> None:
    out = tmp_path / "site"
    built = ["make", "site", f"SITE=--unrun --out {out}"]
    done = subprocess.run(built, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    with browser.started() as page:
        page.ask("Emulation.setDeviceMetricsOverride", **PHONE)
        for path in sorted(out.rglob("*.html")):
            page.open(path.as_uri())
            assert page.value("document.documentElement.scrollWidth") <= PHONE["width"], path
            assert [one for one in page.requests if one.startswith("http")] == []
