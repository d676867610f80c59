"""A class by its roster: who is held, who is missing, and what is said of a roster that is none."""

from pathlib import Path

import pytest

from autograder import Refused
from autograder.grading.roster import read_roster
from autograder.grading.submissions import Account, Submission
from course.tests.pace import within


def roster(tmp_path: Path, data: bytes | str) -> Path:
    path = tmp_path / "roster.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize(
    "data",
    [
        "student\nvega\nrigel\n",
        '\ufeffStudent,name\r\nvega,Vega V.\r\nrigel,"R, igel"\r\n\r\n',
        "name,student\n,vega\n,rigel",
        'student;name\nvega;"V; V."\nrigel;R, igel\n',
        "name\tstudent\nV.\tvega\nR.\trigel\n",
    ],
)
def test_a_roster_is_the_column_student(tmp_path: Path, data: str) -> None:
    assert read_roster(roster(tmp_path, data)).students == ("vega", "rigel")


GERMAN = (
    'ID,"Vollständiger Name",E-Mail-Adresse,Status,Bewertung,Bestwertung\n'
    'Teilnehmer/in57,"Jane Doe",jane@uni.de,Abgegeben,,"10,00"\n'
    'Teilnehmer/in58,"Max Ito",max@uni.de,Entwurf,-,"10,00"\n'
)


def test_moodles_worksheet_is_a_roster_in_any_language(tmp_path: Path) -> None:
    read = read_roster(roster(tmp_path, f"\ufeff{GERMAN}"))
    assert read.students == ("Jane Doe", "Max Ito")
    assert read.ids[1]["participant"] == "58"
    assert read.ids[1]["email"] == "max@uni.de"
    ids = (("participant", "57"), ("name", "Group A"))
    group = Submission("Group A", "", None, Path(), account=Account(ids))
    assert read.sorted_out([group]) == ([], [group])


@pytest.mark.parametrize(
    "data",
    [
        "ID,Status,Bewertung,Bestwertung\nTeilnehmer/in 7,Abgegeben,,8.00\n",  # names are hidden
        "login,score,email,most\nx7,12,a@b,8.00\ny8,12,b@b,8.00\n",
        "login,score,email,most\n7,12,a@b,8.00\n8,12,b@b,8.00\n",
        "login,score,email\nx7,12,a@b\nx8,12,b@b\n",
    ],
)
def test_another_table_is_no_worksheet(tmp_path: Path, data: str) -> None:
    with pytest.raises(Refused, match="has no such header"):
        read_roster(roster(tmp_path, data))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("", "an empty file"),
        ("vega\nrigel\n", "got `vega`"),
        ("id,name\n1,vega\n", "got `id`, `name`"),
        ("student,student\nvega,rigel\n", "one `student`"),
        ("student\n", "names no student"),
        ("student\n\n  \n", "names no student"),
        ("student\nvega\nVega\n", "row 3: Vega stands there twice, as vega in row 2"),
        ("student\nvega\nrigel\nvega\n", "row 4: vega stands there twice"),
        ("student,id\nvega,1\nVega,1\n", "row 3: Vega has the id 1, and so has vega in row 2"),
        ("student,id\nvega,1\nrigel,1\n", "row 3: rigel has the id 1, and so has vega in row 2"),
        ("student,id\nvega,1\nvega,1\n", "row 3: vega stands there twice, as vega in row 2"),
        ("student,id\nvega,1\nvega,\n", "row 3: vega stands there twice, as vega in row 2"),
        ("student,section\nvega,1\nvega,2\n", "row 3: vega stands there twice"),
        ("student,name\nvega\n", "row 2: expected 2 fields as in the header, got 1"),
        ("student,name\nvega,V, Vega\n", "row 2: expected 2 fields as in the header, got 3"),
        ("student,name\n,Vega\n", "row 2: the column `student` is empty"),
        ('student\n"vega\n', "Is a quotation mark left open?"),
        ("student\nvéga\n".encode("latin-1"), "byte 9 is no text"),
        ("student\nvega\n".encode("utf-16"), "is not UTF-8"),
        ("student\nvega\n".encode("utf-16-le"), "null bytes"),
    ],
)
def test_what_is_no_roster_has_a_sentence(tmp_path: Path, data: bytes | str, said: str) -> None:
    with pytest.raises(Refused, match=r"^The roster .*roster\.csv") as caught:
        read_roster(roster(tmp_path, data))
    assert said in str(caught.value)


def test_a_roster_that_is_not_there_or_no_file_has_a_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(Refused, match="The roster"):
            read_roster(path)


def test_others_are_held_and_who_is_missing_is_named(tmp_path: Path) -> None:
    there = read_roster(roster(tmp_path, "student\nvega\nrigel\ndeneb\n"))
    handed_in = [
        Submission(name, "01_threads", "threads", Path(f"{name}.ipynb"))
        for name in ("VEGA", "rigel", "mallory")
    ]
    known, unknown = there.sorted_out(handed_in)
    assert [one.student for one in known] == ["vega", "rigel"]
    held, missing = there.said(known, unknown)
    assert "mallory (mallory.ipynb)" in held
    assert missing == "On the roster and without a submission here: deneb."


@pytest.mark.parametrize("folder", ["vega1", "VEGA1", "42", "v@example.org", "Vega, V."])
def test_a_folder_may_be_named_for_what_is_a_students_alone(tmp_path: Path, folder: str) -> None:
    canvas = (
        "Student,ID,SIS Login ID,SIS User ID,email,Section\n"
        '"Vega, V.",7,vega1,42,v@example.org,A\n'
        '"Rigel, R.",8,rigel1,43,r@example.org,A\n'
    )
    handed_in = [
        Submission(name, "01_threads", "threads", Path("01_threads.ipynb"))
        for name in (folder, "A")
    ]
    known, unknown = read_roster(roster(tmp_path, canvas)).sorted_out(handed_in)
    assert [one.student for one in known] == ["Vega, V."]
    assert [one.student for one in unknown] == ["A"]


def test_two_of_one_name_are_told_apart_by_the_number_that_an_lms_gives_them(
    tmp_path: Path,
) -> None:
    there = read_roster(
        roster(
            tmp_path,
            'Student,ID,SIS Login ID\n"Li, Wei",1004,wl\n"Vega, Ana",1003,av\n"Li, Wei",1005,wl2\n',
        )
    )
    assert there.students == ("Li, Wei (1004)", "Vega, Ana", "Li, Wei (1005)")
    handed_in = [
        Submission(f"liwei-{number}", "01_threads", "threads", Path(f"{number}.ipynb"), account=who)
        for number in ("1005", "1004")
        for who in [Account((("id", number), ("name", "liwei")))]
    ]
    known, unknown = there.sorted_out(handed_in)
    assert [one.student for one in known] == ["Li, Wei (1005)", "Li, Wei (1004)"]
    assert unknown == []


def test_names_with_commas_have_semicolons_between_them(tmp_path: Path) -> None:
    there = read_roster(roster(tmp_path, 'student\n"Vega, Ana"\n"Li, Wei"\n'))
    [missing] = there.said([], [])
    assert missing == "On the roster and without a submission here: Li, Wei; Vega, Ana."


@pytest.mark.parametrize(("folder", "student"), [("vega", None), ("222", None), ("333", "vega")])
def test_what_is_ones_login_and_anothers_name_or_number_is_nobodys(
    tmp_path: Path, folder: str, student: str | None
) -> None:
    """A login is what its student chose."""
    there = "student,login,number\nada,vega,222\nvega,222,333\n"
    assert read_roster(roster(tmp_path, there)).called(folder) == student


def test_a_large_class_without_the_lms_number_is_sorted_out_in_time(tmp_path: Path) -> None:
    there = "student,email\n" + "".join(f"s{k},{k}@example.org\n" for k in range(20_000))
    class_ = read_roster(roster(tmp_path, there))
    handed_in = [
        Submission(f"s{k}", "01_threads", "threads", Path("x"), account=Account((("id", f"{k}"),)))
        for k in range(10_000)
    ]
    class_.sorted_out(handed_in[:1])  # its tables are made once
    with within(2.5):
        assert len(class_.sorted_out(handed_in)[0]) == 10_000
