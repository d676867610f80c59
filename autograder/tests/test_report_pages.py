"""The report of a class too large for one page: small pages whose links all lead somewhere."""

from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from autograder.grading import report_pages
from autograder.grading.judging import summarise
from autograder.grading.store import Store
from autograder.tests.notebooks import EXERCISES, LESSON
from autograder.tests.test_report import (
    FIRST,
    HOSTILE,
    SECOND,
    Reader,
    graded,
    runs_its_own_script_alone,
)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A class of three with a verdict more than one page has room for."""
    monkeypatch.setattr(report_pages, "MOST_ON_ONE_PAGE", 3)
    made = Store(tmp_path / "out")
    made.keep(graded("vega", panel="<p>how it went</p>"))
    made.keep(graded("vega", SECOND, outcome="RACE", points=0))
    made.keep(graded("Deneb A/b", outcome="RACE", points=0))
    made.keep(graded(HOSTILE, outcome="RACE", points=0, message=HOSTILE, panel=""))
    return made


def pages(out: Path) -> dict[str, str]:
    found = [out / "report.html", *(out / "report").rglob("*.html")]
    return {str(path.relative_to(out)): path.read_text() for path in found}


def test_every_link_leads_to_a_place_on_a_page(kept: Store) -> None:
    summarise(kept, "shown")
    made = pages(kept.out)
    ids = {name: Reader(text).ids for name, text in made.items()}
    count = 0
    for name, text in made.items():
        for link in Reader(text).links:
            file, _, place = link.partition("#")
            target = (kept.out / name).parent / unquote(file)
            led = str(target.resolve().relative_to(kept.out.resolve()))
            assert led in made, link
            assert not place or place in ids[led], link
            count += 1
    assert count > 10
    assert len([name for name in made if name.startswith("report/students/")]) == 3
    assert len([name for name in made if name.startswith("report/exercises/")]) == len(EXERCISES)


def test_each_page_says_what_it_is_for(kept: Store) -> None:
    summarise(kept, "shown")
    made = pages(kept.out)
    assert "how it went" not in made["report.html"]
    assert "3 students, 4 verdicts" in made["report.html"]
    assert "1 of 3 right" in made["report.html"]
    assert "how it went" in made["report/students/vega.html"]
    exercise = made[f"report/exercises/{LESSON}-{FIRST}.html"]
    assert exercise.index("✗ RACE</span> 2") < exercise.index("✓ PASS</span> 1"), (
        "the commonest first"
    )
    assert f"{LESSON}: 4 of 8 points" in made["report/students/vega.html"]


def test_what_a_student_wrote_is_text_and_nothing_is_fetched(kept: Store) -> None:
    summarise(kept, "shown")
    made = pages(kept.out)
    runs_its_own_script_alone(made.pop("report.html"))
    for text in made.values():
        assert HOSTILE not in text
        assert not {"script", "link", "iframe", "img"} & set(Reader(text).tags)
        assert "default-src 'none'" in text
        assert "script-src" not in text


def test_only_students_with_new_verdicts_get_a_new_page(kept: Store) -> None:
    summarise(kept, "shown")
    before = {path: path.stat().st_ino for path in (kept.out / "report/students").iterdir()}
    kept.keep(graded("vega", SECOND, panel="<p>mended</p>"))
    summarise(kept, "shown")
    changed = [p.name for p, inode in before.items() if p.stat().st_ino != inode]
    assert changed == ["vega.html"]
    assert "mended" in (kept.out / "report/students/vega.html").read_text()


def test_a_page_that_was_cut_off_is_made_again(kept: Store) -> None:
    summarise(kept, "shown")
    page = kept.out / "report/students/vega.html"
    whole = page.read_bytes()
    page.write_bytes(b"")
    summarise(kept, "shown")
    assert page.read_bytes() == whole


def test_panels_too_large_for_one_page_are_on_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_pages, "MOST_OF_PANELS", 100)
    kept = Store(tmp_path)
    kept.keep(graded("vega", panel="x" * 60))
    summarise(kept, "shown")
    assert not (tmp_path / "report").exists()
    kept.keep(replace(graded("rigel"), panel="y" * 60))
    summarise(kept, "shown")
    assert "y" * 60 in (tmp_path / "report/students/rigel.html").read_text()
    assert "y" * 60 not in (tmp_path / "report.html").read_text()
