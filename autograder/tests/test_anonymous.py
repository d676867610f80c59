"""A class without names: the same pseudonyms everywhere, and no name anywhere."""

from __future__ import annotations

import csv
import stat
from collections.abc import Iterable
from pathlib import Path

import pytest

from autograder import __main__ as command_line
from autograder.grading import grade, report_pages
from autograder.grading.anonymous import KEY_FILE, pseudonyms, without_name
from autograder.grading.store import Store
from autograder.tests.notebooks import EXERCISES, LESSON, put, solved
from autograder.tests.test_grade import arguments
from autograder.tests.test_overview import CELL, wrong
from autograder.tests.test_report import FIRST, graded

NAMES = ("Ursula Vega", "Deneb")
MINE = "the cell of Ursula Vega"


@pytest.fixture
def kept(tmp_path: Path) -> Store:
    """Two who made one mistake, named in comments, in panels and by files."""
    made = Store(tmp_path / "grades")
    for name in NAMES:
        made.keep(wrong(name, CELL.replace("mine", MINE)))
    made.keep(
        graded(
            NAMES[0],
            "",
            outcome="REJECTED",
            message="vega.ipynb is a symbolic link.",
            message_id="link",
            panel=f"<p>{MINE}</p>",
            text=MINE,
        )
    )
    return made


def names_in(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in ("vega", "deneb") if word in text.casefold()]


def run(store: Store, *words: str) -> int:
    return command_line.main([*words, "--from", str(store.out)])


def test_a_pseudonym_is_the_same_each_time_and_another_in_another_class(tmp_path: Path) -> None:
    called, again = pseudonyms(tmp_path / "a"), pseudonyms(tmp_path / "a")
    assert called("vega") == again("vega") != called("Vega")
    assert called("vega") != pseudonyms(tmp_path / "b")("vega")
    assert len({called(str(number)) for number in range(2000)}) == 2000
    assert stat.S_IMODE((tmp_path / "a" / KEY_FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize("most", [1500, 0])
def test_a_report_without_names_is_a_folder_to_give_away(
    kept: Store, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(report_pages, "MOST_ON_ONE_PAGE", most)
    assert run(kept, "report", "--anonymous") == 0
    folder = kept.out / "anonymous"
    pages = {path: path.read_text() for path in folder.rglob("*.html")}
    assert len(pages) == (1 if most else 3 + len(EXERCISES) + 1)
    assert names_in([*pages.values(), *(str(p.relative_to(folder)) for p in pages)]) == []
    index = pages[folder / "report.html"]
    assert all(pseudonyms(kept.out)(name) in index for name in NAMES)
    assert "c[i] = a[i] + b[i]  #" in index, "the mistake's cell, without its comment"
    assert not (kept.out / "report.html").exists()
    assert run(kept, "report") == 0
    assert names_in([(kept.out / "report.html").read_text()]) != []


def test_history_answers_to_a_pseudonym_and_keeps_it(
    kept: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    name = pseudonyms(kept.out)(NAMES[0])
    for words in ([name], [name, FIRST], [NAMES[0], FIRST]):
        assert run(kept, "history", *words, "--anonymous") == 0
        said = capsys.readouterr().out
        assert names_in([said]) == []
        assert name in said
    assert run(kept, "history", name, FIRST) == 0
    assert NAMES[0] in capsys.readouterr().out
    assert run(kept, "history", "Denep", "--anonymous") == 2
    assert names_in([capsys.readouterr().err]) == []


def test_grades_without_names_are_a_row_a_pseudonym(
    kept: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kept, "grades", "students", "--anonymous") == 0
    text = (kept.out / "grades-students-anonymous.csv").read_text()
    called = pseudonyms(kept.out)
    rows = {row["student"]: row["points"] for row in csv.DictReader(text.splitlines())}
    assert rows == {called(name): "0.0" for name in NAMES}
    assert run(kept, "grades", "canvas", "--anonymous") == 2
    assert "An LMS goes by names" in capsys.readouterr().err


def test_a_terminal_shows_no_name_and_sentences_go_to_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / f"in/Deneb/{LESSON}.ipynb", solved())
    put(tmp_path / f"in/Vega/{LESSON}.ipynb", b"%PDF")
    out = tmp_path / "out"
    words = (tmp_path / "in", "--out", out, "--seed", "value:a seed of a test", "--anonymous")
    assert grade.main(arguments("--jobs", 1, *words)) == grade.DONE
    said = capsys.readouterr()
    assert names_in([said.out, said.err]) == []
    assert pseudonyms(out)("Vega") in said.out
    assert f"1 sentence that may name students: {out / 'notes.txt'}." in said.err
    assert "Vega (The file is no notebook: it is a PDF.)" in (out / "notes.txt").read_text()


def test_a_verdict_without_a_name_has_no_text_of_its_students() -> None:
    one = wrong("vega", CELL.replace("mine", MINE))
    shown = without_name(one, lambda _: "student-x")
    assert names_in([repr(shown)]) == []
    assert (shown.points, shown.outcome, shown.mark) == (one.points, one.outcome, one.mark)


@pytest.mark.parametrize(
    "message",
    [
        "`open('/home/vega/x')` stands in the kernel's cell, and deneb's is other.",
        "The literal b'vega' cannot stand in a kernel.",
        "`open('/home/vega/of/a/path/that/was/cut…",
        'x of `int("it\'s vega")` is "it\'s vega".',
        "`f('a\\'vega')` stands there.",
    ],
)
def test_no_text_of_a_cell_stands_in_a_sentence_without_names(message: str) -> None:
    shown = without_name(graded("Ursula Vega", message=message), str.upper).message
    assert "vega" not in shown
    assert '"…"' in shown
    assert ("deneb's is other." in shown) == ("deneb" in message)
