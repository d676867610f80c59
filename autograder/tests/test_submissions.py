"""What is taken for whose notebook, and what is said about files that are none."""

import errno
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.grading.claims import without_collisions
from autograder.grading.collect import find, of_student
from autograder.grading.folders import MOST_ENTRIES, MOST_NOTEBOOKS
from autograder.grading.submissions import MOST_CELLS, parse, read_bytes
from autograder.judge.sentences import SENTENCES, Fault
from autograder.tests.notebooks import LESSON, cell, notebook, put, solved


def whose(root: Path, **more: str) -> dict[str, tuple[str, str]]:
    """{path below root: (student, notebook)}"""
    found = find([root], **more)
    return {str(s.path.relative_to(root)): (s.student, s.notebook) for s in found.submissions}


@pytest.mark.parametrize(
    ("path", "student", "lesson"),
    [
        ("submitted/vega/01_threads/01_threads.ipynb", "vega", LESSON),
        ("submitted/vega/homework/01_threads.ipynb", "vega", LESSON),
        ("vega/01_threads.ipynb", "vega", LESSON),
        ("vega/01_threads/01_threads (1).ipynb", "vega", LESSON),
        ("vega_01_threads.ipynb", "vega", LESSON),
        ("01_threads-vega.ipynb", "vega", LESSON),
        ("threads_vega.ipynb", "vega", LESSON),
        ("01_threads/vega.ipynb", "vega", LESSON),
        ("vega.ipynb", "vega", "vega"),
        ("Alpha Centauri_02_coalescing.IPYNB", "Alpha Centauri", "02_coalescing"),
        ("04_matmul_vega.ipynb", "vega", "04_matmul"),
        ("01_threads.ipynb", "class", LESSON),
        ("01_threads (2).ipynb", "class", LESSON),
        ("vega_01_threads (1).ipynb", "vega", LESSON),
        ("vega_01_threads-Copy1.ipynb", "vega", LESSON),
        ("01_threads - Copy (2).ipynb", "class", LESSON),
        ("vega (1)_01_threads.ipynb", "vega", LESSON),
        ("Copy of 01_threads (2).ipynb", "class", LESSON),
        ("01_Threads_vega.ipynb", "vega", LESSON),
        ("matmul_00_start.ipynb", "matmul", "00_start"),
        ("hw1/20231234_01_threads.ipynb", "hw1", LESSON),
        ("20231234_01_threads.ipynb", "20231234", LESSON),
        ("2026-11-02_01_threads.ipynb", "class", LESSON),
    ],
)
def test_the_rule_of_names(tmp_path: Path, path: str, student: str, lesson: str) -> None:
    put(tmp_path / "class" / path, solved())
    [found] = find([tmp_path / "class"]).submissions
    assert (found.student, found.notebook) == (student, lesson)


def test_a_single_notebook_finds_its_student_above_it(tmp_path: Path) -> None:
    file = put(tmp_path / "submitted/vega/01_threads/01_threads.ipynb", solved())
    [found] = find([file]).submissions
    assert found.student == "vega"


def test_a_course_folder_stands_for_what_was_handed_in(tmp_path: Path) -> None:
    put(tmp_path / "source/01_threads/01_threads.ipynb", solved())
    put(tmp_path / "submitted/vega/01_threads/01_threads.ipynb", solved())
    assert [s.student for s in find([tmp_path]).submissions] == ["vega"]


def test_a_named_lesson_counts_for_every_notebook(tmp_path: Path) -> None:
    put(tmp_path / "vega.ipynb", solved())
    [found] = find([tmp_path], stem="matmul").submissions
    assert (found.student, found.notebook) == ("vega", "04_matmul")


def test_checkpoints_and_hidden_files_are_no_submissions(tmp_path: Path) -> None:
    put(tmp_path / "vega/.ipynb_checkpoints/01_threads-checkpoint.ipynb", solved())
    put(tmp_path / "vega/01_threads.ipynb", solved())
    put(tmp_path / "vega/.01_threads.ipynb", solved())
    assert list(whose(tmp_path)) == ["vega/01_threads.ipynb"]


def test_a_primer_has_nothing_to_grade(tmp_path: Path) -> None:
    primer = put(tmp_path / "vega/90_primer_strides.ipynb", notebook([]))
    put(tmp_path / "vega/01_threads.ipynb", solved())
    assert list(whose(tmp_path)) == ["vega/01_threads.ipynb"]
    [said] = find([primer]).problems
    assert "has no exercises" in said


def test_one_file_given_twice_is_one_submission(tmp_path: Path) -> None:
    file = put(tmp_path / "vega/01_threads.ipynb", solved())
    assert len(find([tmp_path, file, tmp_path / "vega"]).submissions) == 1


def test_paths_that_lead_nowhere_are_named_and_the_others_taken(tmp_path: Path) -> None:
    put(tmp_path / "vega/01_threads.ipynb", solved())
    (tmp_path / "empty").mkdir()
    text = put(tmp_path / "notes.txt", b"hello")
    found = find([tmp_path / "nowhere", tmp_path / "empty", text, tmp_path / "vega"])
    assert len(found.submissions) == 1
    nowhere, empty, notes = found.problems
    assert "nowhere does not exist" in nowhere
    assert "empty holds no notebook" in empty
    assert "notes.txt is nothing that is graded" in notes


def test_a_folder_that_cannot_be_read_is_named_and_the_others_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "vega/01_threads.ipynb", solved())
    put(tmp_path / "rigel/01_threads.ipynb", solved())
    scan = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("rigel"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find([tmp_path])
    faults = {s.student: s.fault and s.fault.message_id for s in found.submissions}
    assert faults == {"vega": None, "rigel": "unreadable"}, "and not called empty"
    assert any("rigel cannot be read: Permission denied." in p for p in found.problems)


def test_a_student_folder_without_a_notebook_is_a_submission_with_a_reason(tmp_path: Path) -> None:
    put(tmp_path / "submitted/vega/01_threads/01_threads.ipynb", solved())
    put(tmp_path / "submitted/rigel/01_threads/kernel.py", b"")
    (tmp_path / "submitted/deneb").mkdir()
    faults = {s.student: (s.notebook, s.fault) for s in find([tmp_path]).submissions if s.fault}
    assert set(faults) == {"rigel", "deneb"}
    notebook_name, fault = faults["rigel"]
    assert notebook_name == LESSON
    assert "only 01_threads/kernel.py" in str(fault)


def test_two_files_with_one_name_are_neither_graded_nor_lost(tmp_path: Path) -> None:
    put(tmp_path / "vega_01_threads.ipynb", solved())
    put(tmp_path / "01_threads_vega.ipynb", solved("WRONG_ANSWER"))
    put(tmp_path / "rigel_01_threads.ipynb", solved())
    kept = without_collisions(find([tmp_path]).submissions)
    assert {s.student: s.fault is None for s in kept} == {"vega": False, "rigel": True}
    [vega] = [s for s in kept if s.student == "vega"]
    assert "01_threads_vega.ipynb" in str(vega.fault)
    assert "vega_01_threads.ipynb" in str(vega.fault)


@pytest.mark.parametrize(
    "other",
    [
        *("Vega", "VEGA", "ｖｅｇａ", "vega.", "vega_", "ve\ufe0fga", "veg\u034fa"),
        *("v\u0435ga", "veg\u0430", "VEG\u0391", "\u03bdega", "veg\u0251", "vega\u17b4"),
    ],
)
def test_names_that_look_alike_are_held_each(tmp_path: Path, other: str) -> None:
    put(tmp_path / "01_threads_vega.ipynb", solved())
    put(tmp_path / f"{other}_01_threads (1).ipynb", solved("WRONG_ANSWER"))
    put(tmp_path / "rigel_01_threads.ipynb", solved())
    kept = without_collisions(find([tmp_path]).submissions)
    held = {s.student for s in kept if s.fault is not None}
    assert "vega" in held
    assert len(held) == len(kept) - 1
    assert all(len(s.rivals) == 2 for s in kept if s.fault is not None)


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_a_class_in_a_folder_of_its_own_is_nobodys_until_a_person_says_so(
    tmp_path: Path, packed: bool
) -> None:
    for student in ("vega", "deneb"):
        put(tmp_path / "in" / "class" / student / "01_threads" / "01_threads.ipynb", solved())
    given = tmp_path / "in"
    if packed:
        given = Path(shutil.make_archive(str(tmp_path / "class"), "zip", tmp_path / "in"))
    found = find([given], unpack_to=tmp_path / "out")
    assert found.submissions == []
    [said] = found.problems
    assert "holds what may be several students': deneb, vega. Where it is, grade" in said
    place = Path(said.partition("grade that folder: `python -m autograder grade ")[2].split("`")[0])
    assert {one.student for one in find([place]).submissions} == {"vega", "deneb"}


def test_one_students_folders_of_several_lessons_stay_one_students(tmp_path: Path) -> None:
    put(tmp_path / "ada" / "week 1" / "01_threads.ipynb", solved())
    put(tmp_path / "ada" / "week 2" / "02_coalescing.ipynb", solved())
    found = find([tmp_path])
    assert {(one.student, one.notebook) for one in found.submissions} == {
        ("ada", "01_threads"),
        ("ada", "02_coalescing"),
    }
    assert found.problems == []


def test_a_zip_of_zips_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for student in ("vega", "deneb"):
        put(tmp_path / "01_threads.ipynb", solved())
        with zipfile.ZipFile(tmp_path / "in" / f"{student}.zip", "w") as one:
            one.write(tmp_path / "01_threads.ipynb", "01_threads.ipynb")
    given = Path(shutil.make_archive(str(tmp_path / "class"), "zip", tmp_path / "in"))
    [said] = find([given], unpack_to=tmp_path / "out").problems
    assert "It holds 2 zips (deneb.zip, vega.zip), and no zip inside" in said
    assert "Unpack it" in said
    [said] = find([tmp_path / "in"], unpack_to=tmp_path / "out").problems
    assert f"`python -m autograder grade {tmp_path / 'in'}/*.zip` takes each." in said
    each = find(sorted((tmp_path / "in").iterdir()), unpack_to=tmp_path / "out").submissions
    assert {one.student for one in each} == {"deneb", "vega"}


def test_a_zip_beside_notebooks_is_told(tmp_path: Path) -> None:
    put(tmp_path / f"vega_{LESSON}.ipynb", solved())
    put(tmp_path / "deneb.zip", b"PK")
    found = find([tmp_path])
    assert [one.student for one in found.submissions] == ["vega"]
    [said] = found.problems
    assert "are graded. It holds 1 zip (deneb.zip), and no zip" in said


@pytest.mark.parametrize("name", ["Jane Döe", f"Jane Döe_{LESSON}", "Jane Döe (1)"])
def test_a_zips_own_name_says_whose_it_is_where_none_in_it_does(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as packed:
        packed.writestr(f"{LESSON}.ipynb", json.dumps(solved()))
    [one] = find([tmp_path / f"{name}.zip"], unpack_to=tmp_path / "to").submissions
    assert one.student == "Jane Döe"


def test_what_a_run_has_unpacked_and_written_is_no_students(tmp_path: Path) -> None:
    put(tmp_path / "vega" / f"{LESSON}.ipynb", solved())
    put(tmp_path / "grades" / "handed_in" / "0" / "a" / f"deneb_{LESSON}.ipynb", solved())
    put(tmp_path / "grades" / "ledger.db", b"")
    out = tmp_path / "grades" / "handed_in"
    assert [one.student for one in find([tmp_path], unpack_to=out).submissions] == ["vega"]
    [held] = find([out / "0"], unpack_to=out).submissions
    assert held.path.name == f"deneb_{LESSON}.ipynb"


def test_another_kind_of_archive_is_told_what_is_taken(tmp_path: Path) -> None:
    put(tmp_path / "class.tar.gz", b"\x1f\x8b")
    [said] = find([tmp_path / "class.tar.gz"]).problems
    assert "expected a notebook (*.ipynb), a zip (*.zip) or a folder" in said


def test_a_file_beside_a_students_folder_does_not_take_its_place(tmp_path: Path) -> None:
    put(tmp_path / "vega/01_threads.ipynb", solved())
    put(tmp_path / "01_threads_vega.ipynb", solved("WRONG_ANSWER"))
    [kept] = without_collisions(find([tmp_path]).submissions)
    assert kept.student == "vega"
    assert kept.fault is not None


def test_a_copy_beside_the_lessons_own_name_is_left_out(tmp_path: Path) -> None:
    put(tmp_path / "vega/01_threads.ipynb", solved())
    put(tmp_path / "vega/01_threads (1).ipynb", solved("WRONG_ANSWER"))
    [kept] = without_collisions(find([tmp_path]).submissions)
    assert (kept.path.name, kept.fault) == ("01_threads.ipynb", None)


@pytest.mark.parametrize("name", ["submitted", "inbound"])
def test_a_student_called_as_a_classs_folder_is_not_the_class(tmp_path: Path, name: str) -> None:
    put(tmp_path / "vega/01_threads.ipynb", solved())
    put(tmp_path / name / "vega/01_threads.ipynb", solved())
    found = find([tmp_path])
    assert not found.submissions
    [said] = found.problems
    assert f"holds a folder `{name}` beside vega" in said


def test_nbgraders_own_folders_beside_what_was_handed_in_are_no_students(tmp_path: Path) -> None:
    for place in ("source/01_threads", "release/01_threads", "autograded/vega/01_threads"):
        put(tmp_path / place / "01_threads.ipynb", solved())
    put(tmp_path / "submitted/rigel/01_threads/01_threads.ipynb", solved())
    found = find([tmp_path])
    assert ([one.student for one in found.submissions], found.problems) == (["rigel"], [])


@pytest.mark.parametrize(
    "path",
    [
        "mallory/vega_01_threads.ipynb",
        "mallory/vega/01_threads.ipynb",
        "mallory/submitted/vega/01_threads/01_threads.ipynb",
        "mallory/01_threads/vega_01_threads.ipynb",
        "01_threads/mallory/vega_01_threads.ipynb",
    ],
)
@pytest.mark.parametrize("root", ["class", "submitted"])
def test_nothing_in_a_students_folder_makes_it_anothers(
    tmp_path: Path, path: str, root: str
) -> None:
    if path.startswith("01"):
        root = "class"  # below `submitted` stand students, and no lesson
    put(tmp_path / root / path, solved())
    put(tmp_path / root / "vega/01_threads.ipynb", solved())
    found = {s.path: s.student for s in find([tmp_path / root]).submissions}
    assert found[tmp_path / root / path] == "mallory"


def deep(folder: Path, depth: int, name: str = "d") -> None:
    """Folders within folders, deeper than any path can be written."""
    folder.mkdir(parents=True)
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=handle)
        below = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)


def deep_folders(folder: Path) -> None:
    deep(folder / "x", 1200)


def long_names(folder: Path) -> None:
    deep(folder / "x", 60, "n" * 255)


def many_files(folder: Path) -> None:
    folder.mkdir()
    for number in range(MOST_ENTRIES + 1):
        (folder / f"{number}.txt").touch()


def many_notebooks(folder: Path) -> None:
    for number in range(MOST_NOTEBOOKS + 1):
        put(folder / f"{number}.ipynb", b"")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (deep_folders, "folders_too_deep"),
        (long_names, "folders_too_deep"),
        (many_files, "too_many_files"),
        (many_notebooks, "too_many_notebooks"),
    ],
)
def test_a_folder_beyond_the_bounds_is_its_students_verdict_and_nobody_elses(
    tmp_path: Path, make: Callable[[Path], None], expected: str
) -> None:
    put(tmp_path / "vega/01_threads.ipynb", solved())
    make(tmp_path / "mallory")
    put(tmp_path / "mallory/01_threads.ipynb", solved())
    try:
        found = {s.student: s.fault for s in find([tmp_path]).submissions}
        [own] = of_student(tmp_path / "mallory", "mallory")
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "mallory"], check=True)
    assert found["vega"] is None
    for fault in (found["mallory"], own.fault):
        assert fault is not None
        assert fault.message_id == expected
    assert set(found) == {"vega", "mallory"}


def test_links_that_lead_in_a_circle_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "vega/01_threads.ipynb", solved())
    (tmp_path / "vega/again").symlink_to(tmp_path / "vega")
    for place in (tmp_path / "vega", tmp_path):
        (place / "a").symlink_to("b")
        (place / "b").symlink_to("a")
    assert list(whose(tmp_path)) == ["vega/01_threads.ipynb"]


@pytest.mark.parametrize(
    "name", [b"\xff\xfe", b"a\nb", b"\x1b[2J", b"n" * 255, "\u202eagev".encode(), b" ", b"-rf"]
)
def test_an_odd_name_of_a_folder_is_a_name(tmp_path: Path, name: bytes) -> None:
    put(tmp_path / "vega/01_threads.ipynb", solved())
    put(Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)) / "01_threads.ipynb", solved())
    students = {s.student for s in find([tmp_path]).submissions if s.fault is None}
    assert len(students) == 2
    assert all(student.isprintable() and student.encode() for student in students)


def test_names_that_would_steer_a_terminal_are_made_harmless(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/\x1b[31mv\xff\n_01_threads.ipynb"
    with open(raw, "wb") as file:  # noqa: PTH123  (a name that is not text)
        file.write(json.dumps(solved()).encode())
    [found] = find([tmp_path]).submissions
    assert found.student.isprintable()
    found.student.encode()


def reason(call: object, *arguments: object) -> str:
    with pytest.raises(Fault) as caught:
        call(*arguments)  # type: ignore[operator]
    assert str(caught.value) == f"{caught.value.sentence} {caught.value.next_step}".strip()
    return caught.value.message_id


def test_files_that_are_not_plain_files_are_refused(tmp_path: Path) -> None:
    target = put(tmp_path / "real.ipynb", solved())
    (tmp_path / "link.ipynb").symlink_to(target)
    (tmp_path / "folder.ipynb").mkdir()
    os.mkfifo(tmp_path / "pipe.ipynb")
    assert reason(read_bytes, tmp_path / "link.ipynb") == "link"
    assert reason(read_bytes, tmp_path / "folder.ipynb") == "not_a_file"
    assert reason(read_bytes, tmp_path / "pipe.ipynb") == "not_a_file"
    assert reason(read_bytes, tmp_path / "gone.ipynb") == "unreadable"
    assert reason(read_bytes, Path("/dev/zero")) == "not_a_file"
    assert reason(read_bytes, target, 10) == "too_large"
    assert json.loads(read_bytes(target)) == solved()


def test_links_are_found_and_not_followed(tmp_path: Path) -> None:
    secret = put(tmp_path / "secret/01_threads.ipynb", solved())
    root = tmp_path / "submitted"
    put(root / "vega/01_threads.ipynb", solved())
    (root / "rigel").mkdir()
    (root / "rigel/01_threads.ipynb").symlink_to(secret)
    (root / "deneb").symlink_to(secret.parent)
    (root / "vega/more").symlink_to(secret.parent)
    found = {s.student: s for s in find([root]).submissions}
    assert set(found) == {"vega", "rigel", "deneb"}
    assert found["deneb"].fault is not None
    assert reason(read_bytes, found["rigel"].path) == "link"


def test_a_folder_that_became_a_link_since_is_not_followed(tmp_path: Path) -> None:
    """In an exchange a student may put a link in its place while the class is judged."""
    put(tmp_path / "secret/work/01_threads.ipynb", solved())
    for student in ("vega", "rigel"):
        put(tmp_path / f"submitted/{student}/work/01_threads.ipynb", solved("WRONG_ANSWER"))
    vega, rigel = sorted(find([tmp_path / "submitted"]).submissions, key=lambda s: s.student)[::-1]
    secret = tmp_path / "secret"
    for place, to in ((vega.path.parent, secret / "work"), (rigel.path.parent.parent, secret)):
        place.rename(tmp_path / place.name)
        place.symlink_to(to)
    assert [reason(one.data) for one in (vega, rigel)] == ["unreadable", "unreadable"]


def test_a_link_that_a_person_named_is_followed(tmp_path: Path) -> None:
    put(tmp_path / "term/submitted/vega/01_threads.ipynb", solved())
    (tmp_path / "here").symlink_to(tmp_path / "term")
    [one] = find([tmp_path / "here"]).submissions
    assert json.loads(one.data()) == solved()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "empty_file"),
        (b" \n", "empty_file"),
        (b"\x80\x00", "not_utf8"),
        (b"\xff\xfe{\x00", "another_kind"),
        (b"%PDF-1.4", "another_kind"),
        (b"PK\x03\x04", "another_kind"),
        (b"\n<!DOCTYPE html>", "another_kind"),
        (b'{\n<<<<<<< HEAD\n "cells": [],\n=======\n "cells": [1],', "another_kind"),
        (b"{not json", "not_json"),
        (b"hello", "not_json"),
        (b'{"nbformat": 4, "cells": [' + b"9" * 5000 + b"]}", "not_json"),
        (b'{"nbformat": 4, "cells": [NaN]}', "not_finite"),
        (b'{"nbformat": 4, "cells": [-Infinity]}', "not_finite"),
        (b'{"cells": ' + b"[" * 200_000, "too_deep"),
        (b'{"nbformat": 4, "cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "too_deep"),
        (b"[]", "not_a_notebook"),
        (b"null", "not_a_notebook"),
        (b"{}", "not_a_notebook"),
        (b'{"nbformat": true, "cells": []}', "not_a_notebook"),
        (b'{"nbformat": "4", "cells": []}', "not_a_notebook"),
        (b'{"nbformat": 4}', "not_a_notebook"),
        (b'{"nbformat": 4, "cells": {}}', "not_a_notebook"),
        (b'{"nbformat": 3, "worksheets": []}', "old_format"),
        (b'{"nbformat": 99999999999, "cells": []}', "old_format"),
        (json.dumps(notebook([0] * (MOST_CELLS + 1))).encode(), "too_many_cells"),
    ],
)
def test_bytes_that_are_no_notebook_have_a_reason(data: bytes, expected: str) -> None:
    assert reason(parse, data) == expected


def test_a_notebook_of_another_lesson_is_called_so() -> None:
    other = parse(json.dumps(notebook([cell("x", "transpose")])).encode())
    with pytest.raises(Fault) as caught:
        other.solution("vector_add")
    assert caught.value.message_id == "other_lesson"
    assert "the notebook is that of 03_shared_memory" in caught.value.sentence


def solution_reason(*cells: object) -> str:
    return reason(parse(json.dumps(notebook(list(cells))).encode()).solution, "vector_add")


def test_a_cell_and_its_copy_with_the_same_text_are_one() -> None:
    own = parse(json.dumps(notebook([cell("x = 1", "vector_add")] * 2)).encode())
    assert own.solution("vector_add") == "x = 1"


def test_a_solution_cell_that_cannot_be_judged_has_a_reason() -> None:
    good = cell("PASS", "vector_add")
    assert solution_reason() == "missing_cell"
    assert solution_reason(cell("x", "vector_ad")) == "missing_cell"
    assert solution_reason(good, cell("PASS ", "vector_add")) == "duplicated_cell"
    assert solution_reason(good, cell(None, "vector_add")) == "duplicated_cell"
    assert solution_reason(cell(7, "vector_add")) == "cell_not_text"
    assert solution_reason(cell(["a", 7], "vector_add")) == "cell_not_text"
    assert solution_reason(cell(None, "vector_add")) == "cell_not_text"
    assert solution_reason(cell("x = '\ud800'", "vector_add")) == "cell_not_unicode"
    assert solution_reason(cell("#" * 10**6, "vector_add")) == "cell_too_large"
    assert solution_reason({**good, "metadata": 3}) == "missing_cell"
    assert solution_reason({**good, "metadata": {"nbgrader": []}}) == "missing_cell"
    assert solution_reason({**good, "cell_type": 5}, None, 3, "x") == "missing_cell"
    assert solution_reason(cell("x", ["vector_add"])) == "missing_cell"  # type: ignore[arg-type]


@pytest.mark.parametrize(("cells", "said"), [([None], "1 cell"), ([None, 3], "2 cells")])
def test_unreadable_cells_are_mentioned_where_one_is_missing(
    cells: list[object], said: str
) -> None:
    read = parse(json.dumps(notebook(cells)).encode())
    with pytest.raises(Fault, match=f"{said} cannot be read"):
        read.solution("vector_add")


def test_a_cell_is_read_as_text_or_as_lines_and_whatever_its_type() -> None:
    for source in ("a\nb", ["a\n", "b"]):
        for kind in ("code", "markdown"):
            data = json.dumps(notebook([cell(source, "vector_add", kind)])).encode()
            assert parse(data).solution("vector_add") == "a\nb"


def test_a_byte_order_mark_is_no_fault() -> None:
    assert parse(b"\xef\xbb\xbf" + json.dumps(solved()).encode()).stem() == "threads"


def test_the_lesson_is_the_one_with_most_exercises_among_the_cells() -> None:
    cells = [cell("x", "vector_add"), cell("x", "index_2d"), cell("x", "matmul_naive")]
    assert parse(json.dumps(notebook(cells)).encode()).stem() == "threads"
    assert parse(json.dumps(notebook([cell("x", "nothing")])).encode()).stem() is None


def test_every_sentence_can_be_filled_with_what_its_fault_knows() -> None:
    for message_id, (_, happened, todo) in SENTENCES.items():
        names = {n for text in (happened, todo) for n in _fields(text)}
        fault = Fault(message_id, **dict.fromkeys(names, "x"))
        assert fault.sentence.rstrip().endswith("."), message_id


def _fields(text: str) -> list[str]:
    from string import Formatter

    return [name for _, name, _, _ in Formatter().parse(text) if name]


def outcome_of(data: bytes) -> str:
    """The cell's text, or the reason why there is none."""
    try:
        return parse(data).solution("vector_add")
    except Fault as fault:
        assert fault.sentence  # noqa: PT017  (it can be put in words, whatever it is)
        return fault.message_id


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["cells", "nbformat", "cell_type", "metadata", "nbgrader", "grade_id"])
            | st.just("source"),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_notebook_or_a_fault(data: bytes) -> None:
    assert outcome_of(data)


@given(json_values)
def test_any_cells_are_a_notebook_or_a_fault(value: object) -> None:
    data = json.dumps({"nbformat": 4, "cells": [value, cell("x", "vector_add")]}).encode()
    assert outcome_of(data) in ("x", "duplicated_cell", "not_json")
