"""What an LMS gives out, and what is made of it: whose each notebook is, and which one counts."""

import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from autograder.grading.claims import without_collisions
from autograder.grading.collect import Found, find
from autograder.grading.lms import latest
from autograder.grading.roster import read_roster
from autograder.grading.submissions import Submission
from autograder.tests.notebooks import LESSON, put, solved

CANVAS = {
    "doejane_LATE_12345_67890_01_threads-1.ipynb": "second",
    "doejane_12345_66000_01_threads.ipynb": "first",
    "roejohn_222_67891_01_threads-2.ipynb": "only",
}
MOODLE = {
    "Jane Doe_1201_assignsubmission_file_/01_threads.ipynb": "a",
    "José Ñandú_1202_assignsubmission_file_/homework/01_threads.ipynb": "b",
    "Max Ito_1203_assignsubmission_file_/notes.txt": "c",
}
#: Since 4.1 no underscore stands behind a folder's name.
MOODLE_NOW = {name.replace("_/", "/"): text for name, text in MOODLE.items()}
MOODLE_FLAT = {"Jane Doe_1201_assignsubmission_file_01_threads.ipynb": "a"}
GRADESCOPE = {
    "assignment_9_export/submission_metadata.yml": """---
submission_1:
  :submitters:
  - :name: Jane Doe
    :sid: '00123'
    :email: jane@uni.edu
  - :name: John Roe
    :sid: '00124'
    :email: john@uni.edu
  :created_at: 2026-11-02 10:00:00.123456789 Z
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    tests: []
submission_2:
  :submitters:
  - :name: Max Ito
    :sid:
    :email: max@uni.edu
  :created_at: 2026-11-02 11:00:00 +0100
""",
    "assignment_9_export/submission_1/01_threads.ipynb": "a",
    "assignment_9_export/submission_2/01_threads.ipynb": "b",
}
EXCHANGE = {
    "inbound/jane+01_threads+2026-11-01 10:00:00.000000 UTC+abc/01_threads.ipynb": "first",
    "inbound/jane+01_threads+2026-11-02 09:00:00.000000 UTC+def/01_threads.ipynb": "second",
    "inbound/john+01_threads+2026-11-01 10:00:00.000000 UTC/01_threads.ipynb": "only",
}
CLASSROOM = {
    "threads-submissions/threads-jane/01_threads.ipynb": "a",
    "threads-submissions/threads-john-roe/01_threads.ipynb": "b",
}
MADE = {
    "Canvas": (CANVAS, {"doejane-12345": "second", "roejohn-222": "only"}),
    "Moodle": (MOODLE, {"Jane Doe": "a", "José Ñandú": "b", "Max Ito": "no_notebook"}),
    "Moodle, 4.1": (MOODLE_NOW, {"Jane Doe": "a", "José Ñandú": "b", "Max Ito": "no_notebook"}),
    "Moodle, flat": (MOODLE_FLAT, {"Jane Doe": "a"}),
    "Gradescope": (
        GRADESCOPE,
        {"Jane Doe-00123": "a", "John Roe-00124": "a", "Max Ito-max@uni.edu": "b"},
    ),
    "exchange": (EXCHANGE, {"jane": "second", "john": "only"}),
    "Classroom": (CLASSROOM, {"jane": "a", "john-roe": "b"}),
}


def as_folder(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        put(root / name, text.encode())
    return root


def as_zip(path: Path, files: Mapping[str, str], day: str = "2026-10-01") -> Path:
    year, month, date = map(int, day.split("-"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            member = zipfile.ZipInfo(name, (year, month, date, 12, 0, 0))
            packed.writestr(member, text, zipfile.ZIP_DEFLATED)
    return path


def taken(found: Found) -> dict[str, str]:
    """{student: the text of what counts, or why nothing does}"""
    kept, _ = latest(found.submissions)
    said = {}
    for one in without_collisions(kept):
        assert one.student not in said
        said[one.student] = one.fault.message_id if one.fault else one.path.read_text()
    return said


@pytest.mark.parametrize("form", MADE)
@pytest.mark.parametrize("packed", [False, True])
def test_each_form_says_whose_what_is_and_the_last_counts(
    tmp_path: Path, form: str, packed: bool
) -> None:
    files, expected = MADE[form]
    if packed:
        found = find([as_zip(tmp_path / "all.zip", files)], unpack_to=tmp_path / "to")
    else:
        root = as_folder(tmp_path / "all", files)
        found = find([root / "threads-submissions" if form == "Classroom" else root])
    assert taken(found) == expected
    assert not found.problems
    lessons = {s.notebook for s in found.submissions if s.fault is None}
    assert lessons == {LESSON}


def test_a_zip_called_as_its_folder_or_with_a_dot_before_each_name_is_read(tmp_path: Path) -> None:
    files = {"./": "", **{f"./{name}": text for name, text in CLASSROOM.items()}}
    archive = as_zip(tmp_path / "threads-submissions.zip", files)
    assert taken(find([archive], unpack_to=tmp_path / "to")) == MADE["Classroom"][1]


@pytest.mark.parametrize("end", ["", "_"])
def test_moodles_participants_without_names_are_told_apart(tmp_path: Path, end: str) -> None:
    files = {f"Participant_{n}_assignsubmission_file{end}/{LESSON}.ipynb": str(n) for n in (1, 2)}
    found = find([as_folder(tmp_path / "some", files)])
    assert taken(found) == {"Participant 1": "1", "Participant 2": "2"}
    file = f"assignsubmission_file{end}/{LESSON}.ipynb"
    files = {f"Teilnehmerin_{n}_{file}": str(n) for n in range(3)}
    found = find([as_folder(tmp_path / "all", files)])
    assert taken(found) == {f"Teilnehmerin {n}": str(n) for n in range(3)}


@pytest.mark.parametrize("form", sorted(MADE.keys() - {"Moodle, flat", "Classroom"}))
@pytest.mark.parametrize("stray", ["notes/x.txt", "instructor notes.ipynb", "key_01_threads.ipynb"])
def test_one_stray_name_makes_no_other_form_of_a_class_and_is_said(
    tmp_path: Path, form: str, stray: str
) -> None:
    files, expected = MADE[form]
    folder = next(iter(files)).split("/")[0] if form in ("Gradescope", "exchange") else ""
    found = find([as_folder(tmp_path / "all", {**files, f"{folder}/{stray}".lstrip("/"): "x"})])
    assert taken(found) == expected
    [said] = found.problems
    assert f"does not say whose these are: {stray.split('/')[0]}. They are not graded." in said


def test_some_names_like_an_lms_make_a_class_of_own_names_none(tmp_path: Path) -> None:
    names = [*list(CANVAS)[:2], "vega_01_threads.ipynb", "rigel_01_threads.ipynb"]
    found = find([as_folder(tmp_path, dict.fromkeys(names, "x"))])
    assert len(found.submissions) == 4
    assert all(one.account is None for one in found.submissions)


def test_late_marks_and_times_are_kept(tmp_path: Path) -> None:
    canvas = latest(find([as_folder(tmp_path / "canvas", CANVAS)]).submissions)[0]
    assert {s.student: s.marks()["late"] for s in canvas} == {
        "doejane-12345": True,
        "roejohn-222": False,
    }
    scope = find([as_folder(tmp_path / "gradescope", GRADESCOPE)]).submissions
    assert {str(s.marks()["handed_in"]) for s in scope} == {
        "2026-11-02 10:00:00.123456789 Z",
        "2026-11-02 11:00:00 +0100",
    }
    name = "assignment_9_export/submission_metadata.yml"
    untold = re.sub("created_at: .*", "created_at:", GRADESCOPE[name])
    scope = find([as_folder(tmp_path / "untold", {**GRADESCOPE, name: untold})]).submissions
    assert {s.marks()["handed_in"] for s in scope} == {""}


@pytest.mark.parametrize("graded_by", ["ada", "mallory"])
def test_what_another_user_put_into_the_exchange_is_not_whose_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, graded_by: str
) -> None:
    """Every student may write there; what an instructor has copied is owned by nobody else."""
    when = "2026-11-09 09:00:00.000000 UTC+x"
    forged = {
        f"inbound/{who}+{LESSON}+{when}/{LESSON}.ipynb": "forged" for who in ("jane", *"abcd")
    }
    root = as_folder(tmp_path / "exchange", {**EXCHANGE, **forged})
    owners = {"x": "mallory"}
    monkeypatch.setattr("autograder.grading.lms._user", lambda _: graded_by)
    monkeypatch.setattr(
        "autograder.grading.lms._owner",
        lambda path: owners.get(path.name[-1], path.name.partition("+")[0]),
    )
    found = find([root])
    if graded_by == "mallory":  # who grades has copied it
        assert taken(found)["jane"] == "forged"
        return
    assert taken(found) == MADE["exchange"][1]
    [said] = found.problems
    assert "another user than the one they name has put these there: a+01_threads+2026" in said
    monkeypatch.setattr("autograder.grading.lms._owner", lambda path: "www-data")
    assert taken(find([root]))["jane"] == "forged", "a hub whose students are one user"


def test_what_is_handed_in_again_is_said(tmp_path: Path) -> None:
    _, said = latest(find([as_folder(tmp_path, CANVAS)]).submissions)
    assert said == ["Handed in more than once, the last one counts: doejane-12345 (01_threads)."]


@pytest.mark.parametrize(
    ("name", "student"),
    [
        ("mallory_777_88888_doejane_12345_67890_01_threads.ipynb", "mallory-777"),
        ("mallory_777_88888_x_LATE_12345_67890_01_threads.ipynb", "mallory-777"),
        ("anon_a1B2c_88888_01_threads.ipynb", "anon-a1B2c"),
    ],
)
def test_no_files_own_name_makes_it_anothers_in_canvas(
    tmp_path: Path, name: str, student: str
) -> None:
    [one] = find([as_folder(tmp_path, {name: "x"})]).submissions
    assert one.student == student
    assert not one.marks()["late"]


def test_a_name_with_two_of_moodles_marks_is_nobodys_number(tmp_path: Path) -> None:
    name = "Jane Doe_1_assignsubmission_file_x_2_assignsubmission_file_01_threads.ipynb"
    [one] = find([as_folder(tmp_path, {name: "x"})]).submissions
    assert one.account is None
    assert one.student != "Jane Doe"


@pytest.mark.parametrize(
    "name",
    ["vega_smith_01_threads.ipynb", "vega_2_01_threads.ipynb", "01_threads-vega.ipynb"],
)
def test_plain_names_are_no_lms(tmp_path: Path, name: str) -> None:
    [one] = find([as_folder(tmp_path, {name: "x"})]).submissions
    assert one.account is None


@pytest.mark.parametrize("form", MADE)
@pytest.mark.parametrize("packed", [False, True])
def test_a_student_who_is_alone_in_a_class_is_nobody_else(
    tmp_path: Path, form: str, packed: bool
) -> None:
    files = {f"mallory/{name}": text for name, text in MADE[form][0].items()}
    if packed:
        found = find([as_zip(tmp_path / "class.zip", files)], unpack_to=tmp_path / "to")
    else:
        found = find([as_folder(tmp_path / "class", files)])
    [said] = found.problems
    if form == "Moodle, flat":  # one student's by any reading
        assert {one.student for one in found.submissions} == {"mallory"}
        assert "is taken for one student's" in said
        return
    assert found.submissions == []
    assert "Nothing in it is graded." in said
    place = said.partition("that folder: `python -m autograder grade ")[2].split("`")[0]
    again = find([Path(place)])
    assert taken(again) == MADE[form][1]


@pytest.mark.parametrize("form", MADE)
@pytest.mark.parametrize("name", ["all", "submissions"])
def test_a_zip_of_a_folder_of_its_own_name_or_canvass_is_what_an_lms_gave(
    tmp_path: Path, form: str, name: str
) -> None:
    files = {f"{name}/{file}": text for file, text in MADE[form][0].items()}
    found = find([as_zip(tmp_path / "all.zip", files)], unpack_to=tmp_path / "to")
    assert taken(found) == MADE[form][1]
    assert not found.problems


def test_two_of_one_name_in_moodle_are_held(tmp_path: Path) -> None:
    twins = {f"Jane Doe_{n}_assignsubmission_file_/01_threads.ipynb": str(n) for n in (1, 2)}
    assert taken(find([as_folder(tmp_path, twins)])) == {"Jane Doe": "same_name"}


def test_what_is_the_same_in_two_downloads_is_one(tmp_path: Path) -> None:
    again = {**MOODLE_NOW, "José Ñandú_1202_assignsubmission_file/01_threads.ipynb": "again"}
    again.pop("José Ñandú_1202_assignsubmission_file/homework/01_threads.ipynb")
    folders = [as_folder(tmp_path / "1", MOODLE_NOW), as_folder(tmp_path / "2", again)]
    told = {"Jane Doe": "a", "José Ñandú": "same_name", "Max Ito": "no_notebook"}
    assert taken(find(folders)) == told  # a copy of a file has any time
    archives = [
        as_zip(tmp_path / "2.zip", again, "2026-10-02"),
        as_zip(tmp_path / "1.zip", MOODLE_NOW, "2026-10-01"),
    ]
    found = find(archives, unpack_to=tmp_path / "to")
    assert taken(found) == {**told, "José Ñandú": "again"}
    said = ["Handed in more than once, the last one counts: José Ñandú (01_threads)."]
    assert latest(found.submissions)[1] == said


def test_two_files_of_one_download_are_a_persons_to_choose_from(tmp_path: Path) -> None:
    """Moodle writes a zip while it sends it: a file's time is when it came to that one."""
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as packed:
        for second, place in enumerate(("first", "again")):
            name = f"Jane Doe_1_assignsubmission_file/{place}/{LESSON}.ipynb"
            packed.writestr(zipfile.ZipInfo(name, (2026, 10, 1, 12, 0, 2 * second)), place)
    found = find([tmp_path / "all.zip"], unpack_to=tmp_path / "to")
    assert taken(found) == {"Jane Doe": "same_name"}


def test_a_group_of_moodles_is_no_participant_of_its_number(tmp_path: Path) -> None:
    rows = 'Participant 57,"O\'Hara, Jo"\nParticipant 58,Max Ito\nParticipant 59,Max Ito\n'
    sheet = put(tmp_path / "sheet.csv", f"Identifier,Full name\n{rows}".encode())
    file = f"assignsubmission_file/{LESSON}.ipynb"
    names = "Group A_57", "OHara, Jo_57", "Max Ito_58", "Participant_59"
    files = {f"{name}_{file}": name for name in names}
    known, unknown = read_roster(sheet).sorted_out(
        find([as_folder(tmp_path / "all", files)]).submissions
    )
    assert {one.path.read_text(): one.student for one in known} == {
        "OHara, Jo_57": "O'Hara, Jo",
        "Max Ito_58": "Max Ito (58)",
        "Participant_59": "Max Ito (59)",
    }
    assert [one.student for one in unknown] == ["Group A"]
    own = put(tmp_path / "own.csv", b"student,participant\njo,57\n")
    known, _ = read_roster(own).sorted_out(find([tmp_path / "all"]).submissions)
    assert {one.path.read_text() for one in known} == {"Group A_57", "OHara, Jo_57"}


CLASS = (
    "student,id,participant,name,group\njo,1,57,Jo Hara,Group A\nmax,2,58,Max Ito,Group A\n"
    "ann,3,59,Ann Lee,B-1\neve,4,60,Eve Roy,B1\nida,5,61,Ida Poe,\n"
)


@pytest.mark.parametrize(
    "files",
    [
        # Moodle writes the group's number, which may be a participant's
        {
            f"{name}_assignsubmission_file/{LESSON}.ipynb": name
            for name in ("Group A_59", "Ida Poe_61", "Group C_60", "B1_5")
        },
        # ... and before 4.1 that of each member
        {
            f"{name}_assignsubmission_file_/{LESSON}.ipynb": "a" if "A-" in name else name
            for name in (
                "Group A-Jo Hara_57",
                "Default group-Ida Poe_61",
                "Group A-Max Ito_58",
                "Group A-Max Ito_59",
                "B1_5",
            )
        },
        # ... and Canvas one member's
        {
            f"{name}_{LESSON}.ipynb": name.split("_")[0]
            for name in ("groupa_2_801", "idapoe_5_802", "groupc_77_803", "b1_99_804")
        },
        {
            f"threads-submissions/threads-{name}/{LESSON}.ipynb": name
            for name in ("Group-A", "ida", "group-c", "b1")
        },
    ],
    ids=["Moodle", "Moodle, before 4.1", "Canvas", "Classroom"],
)
def test_a_groups_work_is_each_members_where_the_roster_has_its_name(
    tmp_path: Path, files: Mapping[str, str]
) -> None:
    roster = read_roster(put(tmp_path / "roster.csv", CLASS.encode()))
    root = as_folder(tmp_path / "all", files)
    inner = root / "threads-submissions"
    found = find([inner if inner.exists() else root])
    known, unknown = roster.sorted_out(found.submissions, of_groups=True)
    names = list(files.values())
    assert {one.student: one.path.read_text() for one in known} == {
        "jo": names[0],
        "max": names[0],
        "ida": names[1],
    }
    assert {one.path.read_text() for one in unknown} == {*names[-2:]}, "or two have it"
    alone, _ = roster.sorted_out(found.submissions)
    of_group = sum(one.path.read_text() == names[0] for one in alone)
    assert of_group < 2 or names.count(names[0]) > 1, "unless told"


@pytest.mark.parametrize("end", ["", "_"])
def test_moodles_folder_for_texts_is_no_work_beside_a_notebook(tmp_path: Path, end: str) -> None:
    text = f"_assignsubmission_onlinetext{end}/onlinetext.html"
    files = {f"Jane Doe_1{text}": "hello", f"Max Ito_2{text}": "hello"}
    files |= {f"Jane Doe_1_assignsubmission_file{end}/01_threads.ipynb": "a"}
    files |= {f"Max Ito_2_assignsubmission_file{end}/notes.txt": "", f"Jane Doe_3{text}": "hello"}
    found = find([as_folder(tmp_path, files)]).submissions
    told = [(one.student, "" if one.fault is None else str(one.fault)) for one in found]
    assert [who for who, _ in told] == ["Jane Doe", "Jane Doe", "Max Ito"]  # two of one name
    folders = [re.sub("The folder (.*?) holds .*", r"\1", fault) for _, fault in told]
    texts, file = f"Jane Doe_3_assignsubmission_onlinetext{end}", "Max Ito_2_assignsubmission_file"
    assert folders == ["", texts, f"{file}{end}"]


def test_who_hands_in_no_notebook_is_told_so(tmp_path: Path) -> None:
    files = {**CANVAS, "ito_333_67892_solution.zip": "PK", "roejohn_222_67893_notes.pdf": ""}
    found = find([as_folder(tmp_path, files)])
    told = {s.student: s.fault for s in found.submissions if s.fault}
    assert list(told) == ["ito-333"]
    assert str(told["ito-333"]).startswith("solution.zip is no notebook.")


@pytest.mark.parametrize(
    "name",
    [
        *("01_threads.ipynb.json", "01_threads.ipynb.txt", "01_threads.IPYNB.TXT"),
        *("01_threads.ipynb-1.json", "01_threads.ipynb (1).txt"),
    ],
)
def test_a_notebook_that_a_browser_called_a_text_is_one(tmp_path: Path, name: str) -> None:
    text = json.dumps(solved())
    files = {f"ito_333_67892_{name}": text, f"roe_334_67893_{LESSON}.ipynb": text}
    canvas = find([as_zip(tmp_path / "canvas.zip", files)], unpack_to=tmp_path / "to")
    moodle = as_folder(tmp_path / "moodle", {f"ito_333_assignsubmission_file/{name}": text})
    own = as_folder(tmp_path / "submitted", {f"ito/{LESSON}/{name}": text})
    flat = as_folder(tmp_path / "flat", {f"ito_{name}": text})
    for found in (canvas, find([moodle]), find([own]), find([flat])):
        assert not found.problems
        one = found.submissions[0]
        assert one.student in ("ito", "ito-333")
        assert (one.stem, one.notebook) == ("threads", LESSON)
        assert one.data() == text.encode()


def test_another_file_is_of_the_lesson_that_its_name_has(tmp_path: Path) -> None:
    files = {"ito_333_67892_01_threads-1.py": "", "ito_334_67893_solution.py": ""}
    found = find([as_folder(tmp_path / "canvas", {**CANVAS, **files})]).submissions
    told = {s.student: (s.notebook, s.stem) for s in found if s.fault}
    assert told == {"ito-333": (LESSON, "threads"), "ito-334": ("", None)}
    name = "Max Ito_1203_assignsubmission_file_/01_threads.py"
    found = find([as_folder(tmp_path / "moodle", {**MOODLE, name: ""})]).submissions
    assert [(s.notebook, s.stem) for s in found if s.fault] == [(LESSON, "threads")]


@pytest.mark.parametrize("typed", ["text.html", "link.html"])
def test_who_types_into_canvas_is_told_so_and_has_no_other_persons_work(
    tmp_path: Path, typed: str
) -> None:
    """Canvas gives no number to a file that it makes of a text."""
    others = f"ito_333_{typed}", f"poe_LATE_334_{typed}", f"roejohn_222_67899_kim_444_{typed}"
    found = find([as_folder(tmp_path, {**CANVAS, **dict.fromkeys(others, "")})])
    told = {s.student: (s.fault.sentence, s.marks()["late"]) for s in found.submissions if s.fault}
    no = f"{typed} is no notebook."
    assert told == {"ito-333": (no, False), "poe-334": (no, True)}


def test_who_was_late_under_no_name_is_marked_late(tmp_path: Path) -> None:
    [one] = find([as_folder(tmp_path, {"LATE_anon_a1B2c_88888_01_threads.ipynb": "x"})]).submissions
    assert one.student == "anon-a1B2c"
    assert one.marks()["late"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n- b\n", "holds no submissions"),
        ("a: [b", "cannot be read"),
        ("a: \x00", "cannot be read"),
        ("a: " + "[" * 50 + "]" * 50, "nested too deep"),
    ],
)
def test_gradescopes_file_that_says_nothing_is_a_sentence_and_nobody_is_graded(
    tmp_path: Path, text: str, said: str
) -> None:
    found = find([as_folder(tmp_path, {"submission_metadata.yml": text, "submission_1/x": ""})])
    assert not found.submissions
    assert said in found.problems[0]


def test_gradescopes_folders_without_its_file_are_nobodys(tmp_path: Path) -> None:
    for number in (11, 12):
        put(tmp_path / "assignment_5_export" / f"submission_{number}" / "a.ipynb", solved())
    for given in (tmp_path, tmp_path / "assignment_5_export"):
        found = find([given])
        assert found.submissions == []
        [said] = found.problems
        assert "(submission_11, submission_12) and no submission_metadata.yml" in said


def test_a_folder_that_gradescopes_file_does_not_name_is_said(tmp_path: Path) -> None:
    found = find([as_folder(tmp_path, {**GRADESCOPE, "assignment_9_export/extra/a.ipynb": ""})])
    assert len(found.submissions) == 3
    assert "does not say whose these are: extra." in found.problems[0]


def test_a_roster_goes_by_the_number_and_not_by_the_name(tmp_path: Path) -> None:
    roster = read_roster(
        put(
            tmp_path / "canvas.csv",
            b"Student,ID,SIS User ID,SIS Login ID,Section,01_threads (4711)\n"
            b",,,,,Manual Posting\n"
            b"    Points Possible,,,,,10\n"
            b'"Doe, Jane",12345,,jdoe,A,\n"Doe, Janet",999,,jdoe2,A,\n',
        )
    )
    handed_in = {
        "doejanet_12345_67890_01_threads.ipynb": "Jane's number",
        "doejane_555_67891_01_threads.ipynb": "a number of nobody",
    }
    known, unknown = roster.sorted_out(find([as_folder(tmp_path / "x", handed_in)]).submissions)
    assert [one.student for one in known] == ["Doe, Jane"]
    assert [one.student for one in unknown] == ["doejane-555"]


@pytest.mark.parametrize(
    ("roster", "files", "students"),
    [
        (
            "Identifier,Full name,Email address\nParticipant 1201,Jane Doe,Jane@uni.edu\n",
            MOODLE_FLAT,
            ["Jane Doe"],
        ),
        ("student,email\njane,Jane@Uni.edu\nmax,max@uni.edu\n", GRADESCOPE, ["jane", "max"]),
        ("student,sid\njane,00123\njohn,00124\n", GRADESCOPE, ["jane", "john"]),
        ('student\n"Doe, Jane"\n', CANVAS, ["Doe, Jane"] * 2),
        ("student,name\nj1,Jane Doe\n", MOODLE, ["j1"]),
        ("student,name\nj1,Jane Doe\nj2,Jane Doe\n", MOODLE, []),
        ("student,github\nJane D.,jane\n", CLASSROOM, ["Jane D."]),
    ],
)
def test_a_roster_calls_students_as_the_instructor_does(
    tmp_path: Path, roster: str, files: Mapping[str, str], students: list[str]
) -> None:
    read = read_roster(put(tmp_path / "roster.csv", roster.encode()))
    root = as_folder(tmp_path / "x", files)
    found = find([root / "threads-submissions" if files is CLASSROOM else root]).submissions
    assert [one.student for one in read.sorted_out(found)[0]] == students


# ------------------------------------------------------------------ zips that are not what they are


def refusals(archive: Path, tmp_path: Path) -> tuple[dict[str, str], list[str]]:
    """({student: why}, problems); nothing stands anywhere but below the one folder."""
    before = set(tmp_path.rglob("*"))
    found = find([archive], unpack_to=tmp_path / "to")
    fresh = set(tmp_path.rglob("*")) - before
    assert all((tmp_path / "to") in (p, *p.parents) for p in fresh)
    assert not any(p.is_symlink() or p.name.endswith(".tmp") for p in fresh)
    return {s.student: s.fault.message_id for s in found.submissions if s.fault}, found.problems


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../outside.ipynb", "leads elsewhere"),
        ("a/../../outside.ipynb", "leads elsewhere"),
        ("/tmp/outside.ipynb", "is absolute"),
        ("C:/outside.ipynb", "is absolute"),
        ("..\\outside.ipynb", "leads elsewhere"),
        ("\\\\host\\share\\outside.ipynb", "is absolute"),
        ("a//b.ipynb", "leads elsewhere"),
        ("x\x1b[31m.ipynb", "holds control characters"),
        ("x" * 300 + ".ipynb", "is longer than 200 bytes"),
        ("/".join("d" * 40) + ".ipynb", "folders deep"),
    ],
)
def test_a_name_that_may_not_be_written_is_not_unpacked(
    tmp_path: Path, name: str, said: str
) -> None:
    archive = as_zip(tmp_path / "all.zip", {name: "x", "vega_01_threads.ipynb": "y"})
    why, [problem] = refusals(archive, tmp_path)
    assert not why
    assert "all.zip holds what is not unpacked and not graded, for its name: " in problem
    assert f"{said}. Where one is" in problem
    assert "\x1b" not in problem
    assert [p.name for p in (tmp_path / "to").rglob("*.ipynb")] == ["vega_01_threads.ipynb"]


def member(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, mode << 16
    return info


@pytest.mark.parametrize(("mode", "why"), [(0o120777, "link"), (0o010644, "not_a_file")])
def test_a_link_or_a_pipe_in_a_zip_is_its_students_verdict(
    tmp_path: Path, mode: int, why: str
) -> None:
    archive = as_zip(tmp_path / "all.zip", {"roejohn_222_67891_01_threads.ipynb": "x"})
    with zipfile.ZipFile(archive, "a") as packed:
        packed.writestr(member("doejane_1_67890_01_threads.ipynb", mode), "/etc/passwd")
    assert refusals(archive, tmp_path) == ({"doejane-1": why}, [])


def changed(archive: Path, name: str, offset: int, value: bytes) -> None:
    """Overwrites a field of a member's entry in the list, and of its own header where it has it."""
    data = bytearray(archive.read_bytes())
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(name.encode()))
    data[at + offset : at + offset + len(value)] = value
    archive.write_bytes(data)


@pytest.mark.parametrize(
    ("offset", "value", "why"),
    [
        (8, b"\x01\x00", "encrypted"),
        (10, b"\x0e\x00", "packed_badly"),  # LZMA: a window of any size
        (16, b"\x00\x00\x00\x00", "packed_badly"),  # a wrong check sum
        (24, (2**31).to_bytes(4, "little"), "too_large"),
        (24, b"\x01\x00\x00\x00", "packed_badly"),  # more than the list says
    ],
)
def test_a_member_that_cannot_be_unpacked_is_its_students_verdict(
    tmp_path: Path, offset: int, value: bytes, why: str
) -> None:
    name = "doejane_1_67890_01_threads.ipynb"
    archive = as_zip(tmp_path / "all.zip", {"roejohn_222_67891_01_threads.ipynb": "x", name: "yy"})
    changed(archive, name, offset, value)
    assert refusals(archive, tmp_path) == ({"doejane-1": why}, [])


def test_one_name_twice_in_a_zip_counts_for_nothing(tmp_path: Path) -> None:
    archive = as_zip(tmp_path / "all.zip", {"vega/01_threads.ipynb": "x", "rigel/a.ipynb": "y"})
    with zipfile.ZipFile(archive, "a") as packed, pytest.warns(UserWarning, match="Duplicate"):
        packed.writestr("vega/01_threads.ipynb", "z")
    assert refusals(archive, tmp_path) == ({"vega": "packed_twice"}, [])


def test_a_file_with_a_folder_of_its_name_is_a_verdict(tmp_path: Path) -> None:
    files = {"vega/01_threads.ipynb": "x", "vega/01_threads.ipynb/y.ipynb": "z"}
    why, _ = refusals(as_zip(tmp_path / "all.zip", files), tmp_path)
    assert why["vega"] == "packed_twice"


def test_a_bomb_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autograder.grading.archive.LARGEST_UNPACKED_BYTES", 10**6)
    files = {f"s{n}/01_threads.ipynb": " " * 300_000 for n in range(4)}
    archive = as_zip(tmp_path / "all.zip", files)
    assert archive.stat().st_size < 10_000
    _, [problem] = refusals(archive, tmp_path)
    assert "is it a bomb?" in problem
    assert not (tmp_path / "to").exists()


def test_a_zip_of_too_many_files_or_too_long_a_list_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = as_zip(tmp_path / "all.zip", {f"s{n}.ipynb": "" for n in range(30)})
    monkeypatch.setattr("autograder.grading.archive.MOST_MEMBERS", 20)
    assert "holds 30 files and folders, and the most is 20" in refusals(archive, tmp_path)[1][0]
    monkeypatch.setattr("autograder.grading.archive.LARGEST_LIST_BYTES", 1000)
    assert "its list is larger than 1000 bytes" in refusals(archive, tmp_path)[1][0]


def zipped_bytes() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as packed:
        packed.writestr("vega_01_threads.ipynb", "x")
    return held.getvalue()


@pytest.mark.parametrize(
    "data",
    [b"", b"no zip", b"PK\x05\x06" + b"\0" * 10, zipped_bytes()[:-5]],
    ids=["nothing", "text", "an end alone", "cut off"],
)
def test_what_is_no_zip_is_a_sentence(tmp_path: Path, data: bytes) -> None:
    _, [problem] = refusals(put(tmp_path / "all.zip", data), tmp_path)
    assert "is no zip that can be read" in problem
    assert "Download it again." in problem


def test_a_zip_without_its_beginning_is_a_verdict(tmp_path: Path) -> None:
    archive = put(tmp_path / "all.zip", zipped_bytes()[30:])
    assert refusals(archive, tmp_path) == ({"vega": "packed_badly"}, [])


def test_a_name_that_is_not_the_utf_8_it_says_is_a_sentence(tmp_path: Path) -> None:
    archive = as_zip(tmp_path / "all.zip", {"véga_01_threads.ipynb": "x"})
    archive.write_bytes(archive.read_bytes().replace("é".encode(), b"\xff\xfe"))
    assert "not the UTF-8 it says it is" in refusals(archive, tmp_path)[1][0]


def test_a_name_in_utf_8_that_does_not_say_so_is_read(tmp_path: Path) -> None:
    archive = as_zip(tmp_path / "all.zip", {"véga_01_threads.ipynb": "x"})
    data = bytearray(archive.read_bytes())
    for begin, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(begin) + flags + 1] = 0
    archive.write_bytes(data)
    [one] = find([archive], unpack_to=tmp_path / "to").submissions
    assert one.student == "véga"


def test_the_same_zip_is_unpacked_once_and_what_macos_adds_is_not_read(tmp_path: Path) -> None:
    files = {"vega/01_threads.ipynb": "x", "__MACOSX/vega/._01_threads.ipynb": "y", "Icon\r": ""}
    archive = as_zip(tmp_path / "all.zip", files)
    paths: list[Submission] = []
    for _ in range(2):
        found = find([archive], unpack_to=tmp_path / "to")
        assert not found.problems
        paths += found.submissions
    assert paths[0].path == paths[1].path
    assert len(list((tmp_path / "to").iterdir())) == 1


def test_a_students_own_zip_is_that_students(tmp_path: Path) -> None:
    archive = as_zip(tmp_path / "vega.zip", {"01_threads.ipynb": "x"})
    [own] = find([archive], unpack_to=tmp_path / "to").submissions
    [told] = find([archive], student="rigel", unpack_to=tmp_path / "to").submissions
    assert (own.student, told.student) == ("vega", "rigel")


def test_a_notebook_is_judged_as_it_stood_in_the_zip(tmp_path: Path) -> None:
    import json

    text = json.dumps(solved())
    archive = as_zip(tmp_path / "all.zip", {"vega_01_threads.ipynb": text})
    [one] = find([archive], unpack_to=tmp_path / "to").submissions
    assert one.path.read_text() == text
