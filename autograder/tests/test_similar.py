"""Answers that are alike: a copy is shown however it is spelled, and what anybody writes is not."""

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from autograder import __main__ as command_line
from autograder.grading import children
from autograder.grading.anonymous import pseudonyms, without_texts
from autograder.grading.children import in_children
from autograder.grading.kernel_shape import MOST_STATEMENTS, statements_of
from autograder.grading.similar import FEWEST_SHARED, Answer, compare
from autograder.grading.store import Store
from autograder.judge import overlay, private
from autograder.judge.judge import Graded
from autograder.proof.witness import solutions_of, starters_of, witnesses_of
from autograder.tests.notebooks import cell, notebook, put
from autograder.tests.test_report import Reader

#: Behind each stands nbgrader, a class or a wheel: seconds.
pytestmark = pytest.mark.slow

STEM, LESSON, EXERCISE = "shared_memory", "03_shared_memory", "row_sum"

#: Nobody else adds a row in this way: four sums a thread, folded in a loop of its own.
OWN = """
from numba import cuda, float32

THREADS = 128


@cuda.jit
def row_sum(a, out):
    parts = cuda.shared.array(THREADS, float32)  # by vega
    thread = cuda.threadIdx.x
    row = cuda.blockIdx.x
    even = float32(0)
    odd = float32(0)
    for place in range(thread, a.shape[1], 2 * THREADS):
        even += a[row, place]
        if place + THREADS < a.shape[1]:
            odd += a[row, place + THREADS]
    parts[thread] = even + odd
    cuda.syncthreads()
    left = 64
    while left >= 1:
        if thread < left:
            beside = thread + left
            parts[thread] += parts[beside]
        cuda.syncthreads()
        left = left // 2
    if thread == 0:
        out[row] = parts[0]
"""
RENAMED = """
import numba
from numba import cuda as gpu


@gpu.jit
def row_sum(x, result):
    '''My very own sum.'''
    tile = gpu.shared.array(1 << 7, numba.float32)
    t = gpu.threadIdx.x
    b = gpu.blockIdx.x
    s0 = numba.float32(0)
    s1 = numba.float32(0)
    for k in range(t, x.shape[1], 0x100):
        s0 = x[b, k] + s0
        if x.shape[1] > 128 + k:
            s1 += x[b, k + 128]
    tile[t] = s1 + s0
    gpu.syncthreads()
    n = 2 ** 6
    while 1 <= n:
        if n > t:
            m = n + t
            tile[t] += tile[m]
        gpu.syncthreads()
        n = n // 2
    if 0 == t:
        result[b] = tile[0]
"""
REORDERED = OWN.replace("    even = float32(0)\n    odd = float32(0)\n", "").replace(
    "    thread = cuda.threadIdx.x\n    row = cuda.blockIdx.x\n",
    "    odd = float32(0)\n    row = cuda.blockIdx.x\n    even = float32(0)\n"
    "    thread = cuda.threadIdx.x\n",
)


def marks(source: str) -> list[int]:
    return sorted(one.mark for one in statements_of(source))


def answer(student: str, source: str) -> Answer:
    return Answer((student,), Path(student), EXERCISE, frozenset(marks(source)))


def honest() -> Iterator[str]:
    """Right answers that differ in more than a statement or two."""
    yield solutions_of(STEM)[EXERCISE]
    for witness in witnesses_of(STEM):
        if witness.exercise == EXERCISE and witness.is_honest:
            yield witness.source


def hand_in(folder: Path, sources: Mapping[str, str]) -> Path:
    for student, source in sources.items():
        content = notebook([cell(source, EXERCISE)])
        put(folder / student / LESSON / f"{LESSON}.ipynb", content)
    return folder


def class_of(tmp_path: Path, **more: str) -> Path:
    """Everybody's usual answers, the starter, and these."""
    usual = {f"usual{number}": source for number, source in enumerate(honest())}
    return hand_in(tmp_path / "in", {**usual, "late": starters_of(STEM)[EXERCISE], **usual, **more})


def similar(tmp_path: Path, folder: Path, *options: str) -> tuple[int, str]:
    out = tmp_path / "out"
    code = command_line.main(["similar", str(folder), "--out", str(out), *options])
    page = out / "similar.html"
    return code, page.read_text() if page.exists() else ""


def test_names_numbers_and_order_do_not_change_a_mark() -> None:
    assert len(set(marks(OWN))) > 2 * FEWEST_SHARED
    assert marks(RENAMED) == marks(OWN)
    assert marks(REORDERED) == marks(OWN)


def test_what_a_statement_reads_and_where_it_stands_change_its_mark() -> None:
    assert marks(OWN.replace("place + THREADS < a", "place - THREADS < a")) != marks(OWN)
    outside = OWN.replace("        cuda.syncthreads()\n        left", "        left")
    assert marks(outside) != marks(OWN)
    swapped = OWN.replace("thread = cuda.threadIdx.x", "thread = cuda.blockIdx.x")
    assert len(set(marks(OWN)) - set(marks(swapped))) > 3, "what reads it is another, too"


@pytest.mark.parametrize("copy", [OWN, RENAMED, REORDERED])
def test_a_copy_is_shown_side_by_side(tmp_path: Path, capsys, copy: str) -> None:
    code, page = similar(tmp_path, class_of(tmp_path, vega=OWN, rigel=copy))
    assert code == 0
    answers = len(list(honest())) + 2
    assert (
        f"{answers} answers to 1 exercise, 1 pair to look at. "
        "What they share is evidence, and no verdict."
    ) in capsys.readouterr().out
    words = " ".join(Reader(page).words)
    assert "row_sum: rigel / vega" in words
    assert "usual0" not in words
    assert "This is no verdict." in words
    assert "parts[thread] = even + odd" in words
    first, second = page.split("<pre>")[1:]
    assert first.count("shared") == second.count("shared") > FEWEST_SHARED


def test_usual_answers_and_starters_are_not_listed(tmp_path: Path, capsys) -> None:
    twice = {f"again{number}": source for number, source in enumerate(honest())}
    code, page = similar(tmp_path, class_of(tmp_path, vega=OWN, **twice))
    assert code == 0
    assert "No two answers have that much in common." in page
    starter = starters_of(STEM)[EXERCISE]
    only = hand_in(tmp_path / "starters", {"a": starter, "b": starter + "\n# mine\n"})
    assert similar(tmp_path, only)[0] == 2
    assert "There is no answer here to compare." in capsys.readouterr().err


def test_answers_that_the_course_does_not_know_are_told_apart() -> None:
    written = [answer(str(number), source) for number, source in enumerate(honest())]
    assert len(written) > 4
    assert compare(EXERCISE, written, (), ()).matches == []
    copied = [*written, answer("vega", OWN), answer("rigel", RENAMED)]
    (match,) = compare(EXERCISE, copied, (), ()).matches
    assert {side[0].students for side in match.sides} == {("vega",), ("rigel",)}


def test_what_much_of_the_class_has_is_nobodys_own() -> None:
    class_ = [answer(str(number), RENAMED if number % 2 else OWN) for number in range(12)]
    compared = compare(EXERCISE, class_, (), ())
    assert compared.matches == []
    assert (compared.answers, compared.same, compared.usual) == (12, 12, 12)
    assert compared.common == 3


def test_one_notebook_of_two_people_is_no_pair(tmp_path: Path) -> None:
    both = Answer(("rigel", "vega"), tmp_path, EXERCISE, frozenset(marks(OWN)))
    assert compare(EXERCISE, [both], (), ()).matches == []


def test_verdicts_stand_beside_the_answers_once_there_are_any(tmp_path: Path) -> None:
    folder = class_of(tmp_path, vega=OWN, rigel=RENAMED)
    when = "2026-11-02 10:00"
    row = Graded("vega", LESSON, EXERCISE, "RACE", 0, 4, handed_in=when)
    Store(tmp_path / "out").keep(row)
    page = similar(tmp_path, folder)[1]
    assert page.count(f"RACE, handed in {when}. ") == 1
    page = similar(tmp_path, folder, "--anonymous")[1]
    assert page.count("RACE. ") == 1
    assert when not in page


def test_without_names_nobody_is_called(tmp_path: Path, capsys) -> None:
    folder = class_of(tmp_path, vega=OWN, rigel=RENAMED)
    put(folder / f"deneb_{LESSON}.ipynb", b"")
    _, page = similar(tmp_path, folder, "--anonymous")
    called = pseudonyms(tmp_path / "out")
    assert f"{called('rigel')} / {called('vega')}" in page
    assert not [name for name in ("vega", "rigel", "My very own") if name in page]
    notes = tmp_path / "out/notes.txt"
    assert capsys.readouterr().err == f"1 sentence that may name students: {notes}.\n"
    assert "Not compared: deneb" in notes.read_text()


def test_the_settings_roster_says_who_is_who_as_for_grade(
    tmp_path: Path, capsys, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: overlay.use(None))
    private.make(tmp_path / "private")
    put(tmp_path / "private/settings.toml", b'roster = "roster.csv"')
    put(tmp_path / "private/roster.csv", b"student,login\nUrsula Vega,vega\nRigel,rigel\n")
    folder = hand_in(tmp_path / "in", {"vega": OWN, "rigel": RENAMED, "stray": OWN})
    code, page = similar(tmp_path, folder, "--seed", str(tmp_path / "private"))
    assert code == 1
    assert "Held, for the roster has none or several of that name: stray" in capsys.readouterr().err
    assert "Rigel / Ursula Vega" in page


def test_comments_and_texts_go_and_lines_stay() -> None:
    source = 'x = 1  # vega\ny = """ve\nga""" + "a"\nz = 2\n'
    assert without_texts(source) == 'x = 1  #\ny = "…"\n + "…"\nz = 2'
    assert without_texts("x = f'vega {f\"{a!r} vega\"}' + y  # vega") == 'x = "…" + y  #'
    parts = """x = f'''vega {y:{z}} ve\nga{z}''' + 1"""
    assert without_texts(parts) == 'x = "…"\n + 1'
    assert without_texts('x = """') == ""


def test_a_hostile_cell_stops_nothing(tmp_path: Path, capsys) -> None:
    doubled = "\n".join(f"n{k + 1} = n{k} + (n{k},)" for k in range(200))
    hostile = {
        "deep": "x = " + "(" * 150 + ")" * 150,
        "doubled": f"n0 = cuda.x\n{doubled}\n{OWN}",
        "endless": "def row_sum(a):\n" + "    a = a\n" * (3 * MOST_STATEMENTS),
        "long": "#" * 250_000,
        "markup": "def row_sum(a):\n    '</pre><script>alert(1)</script>'",
        "none": "",
        "surrogate": "x = '\ud800'",
    }
    folder = class_of(tmp_path, vega=OWN, rigel=RENAMED, **hostile)
    put(folder / "broken" / LESSON / f"{LESSON}.ipynb", b"[" * 100_000)
    code, page = similar(tmp_path, folder)
    assert code == 1
    assert "Not compared: broken, 03_shared_memory." in capsys.readouterr().err
    assert "row_sum: doubled / rigel, vega" in page
    assert "<script>" not in page


def test_a_page_of_long_cells_is_short_and_shows_what_they_share(tmp_path: Path, capsys) -> None:
    hidden = "#" * 30_000 + "\n" * 30_000
    _, page = similar(tmp_path, class_of(tmp_path, vega=hidden + OWN, rigel=RENAMED + hidden))
    assert "row_sum: rigel / vega" in page
    assert len(page) < 60_000
    assert "more lines" in page
    first, second = page.split("<pre>")[1:]
    assert first.count("line shared") == second.count("line shared") >= FEWEST_SHARED


def test_what_kills_its_process_or_hangs_is_one_item_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(children, "MOST_SECONDS", 0.5)
    monkeypatch.setattr(children, "MOST_BYTES", 2**27)

    def work(item: int) -> int:
        if item == 2:
            os._exit(0)
        if item == 5:
            time.sleep(60)
        if item == 6:
            return len(bytearray(2**30))
        return item * item

    assert dict(in_children(work, range(9), 2)) == {
        item: None if item in (2, 5, 6) else item * item for item in range(9)
    }


def test_a_class_is_compared_in_time() -> None:
    """2,000 answers of which each tenth is alike: the pairs are found without trying them all."""
    shared = [[1000 * g + k for k in range(20)] for g in range(200)]
    class_ = [
        Answer((str(n),), Path(str(n)), EXERCISE, frozenset([*shared[n % 200], *range(-n - 9, -n)]))
        for n in range(2000)
    ]
    begun = time.process_time()
    compared = compare(EXERCISE, class_, (), ())
    assert time.process_time() - begun < 5
    assert len(compared.matches) == 200 * (10 * 9 // 2)


def test_another_size_of_a_block_makes_no_statement_of_ones_own() -> None:
    assert marks(OWN.replace("THREADS = 128", "THREADS = 64")) == marks(OWN)
