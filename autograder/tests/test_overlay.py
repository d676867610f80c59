"""An instructor's private folder: unit, points, held-out ranges, exercises."""

import json
import re
import shutil
import sys
from datetime import datetime
from pathlib import Path

import nbformat
import pytest

from autograder import Refused, hidden
from autograder.__main__ import main
from autograder.judge import overlay, private
from autograder.lessons import catalogue as lessons
from autograder.lessons.build import make, read_lessons
from autograder.lessons.release import settings
from autograder.tests.notebooks import cell, notebook, put
from autograder.tests.test_gradebook import machine_in  # noqa: F401
from course import exercises

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path):
    private.make(tmp_path / "mine")
    yield tmp_path / "mine"
    overlay.use(None)


def written(folder, text):
    (folder / overlay.SETTINGS).write_text(text)
    return folder


def notebook_of(solutions):
    return notebook([cell(source, name) for name, source in solutions.items()])


def ranges(arguments, name="double"):
    """A hidden file of one exercise."""
    imports = "from autograder.hidden import Draws, between, choice\n"
    return f"{imports}HIDDEN = {{{name!r}: (Draws({arguments}),)}}\n"


def names(stem):
    return [exercise.name for exercise in lessons.lesson_exercises(stem)]


def test_a_new_folder_changes_nothing(folder):
    before = lessons.lessons()
    overlay.use(folder)
    assert lessons.lessons() == before


def test_the_two_week_unit_has_the_core_and_nothing_else(folder):
    overlay.use(folder, "two-week")
    assert names("threads") == ["vector_add"]
    assert names("start") == []
    assert lessons.has_no_exercises("00_start")
    overlay.use(None)
    assert names("start") == ["double"]
    assert not lessons.has_no_exercises("00_start")


def test_the_unit_and_points_of_the_settings_hold(folder):
    # some editors of Windows begin a file with a mark
    overlay.use(written(folder, '\ufeffunit = "two-week"\n[points]\ndot = 2.5\n'))
    points = {e.name: e.points for e in lessons.lesson_exercises("shared_memory")}
    own = exercises.lesson("shared_memory")["transpose"].points
    assert points == {"transpose": own, "dot": 2.5}


def test_ranges_of_ones_own_stand_in_the_place_of_the_courses(folder):
    (folder / "hidden" / "start.py").write_text(ranges("N=77"))
    overlay.use(folder)
    assert [case.sizes for case in hidden.hidden_cases("double", "seed")] == [{"N": 77}]
    overlay.use(None)
    assert len(hidden.hidden_cases("double", "seed")) > 1


def test_each_exercise_of_a_unit_has_its_held_out_cases(folder):
    core = [e.name for e in exercises.all_exercises().values() if e.core]
    whole = {name: hidden.hidden_cases(name, "seed") for name in core}
    overlay.use(folder, "two-week")
    assert {name: hidden.hidden_cases(name, "seed") for name in core} == whole


def test_an_exercise_of_ones_own_stands_in_the_place_of_the_courses(folder):
    text = (ROOT / "course" / "exercises" / "start.py").read_text()
    own = text.replace("points=", "points=90 + ")
    assert own != text
    (folder / "exercises" / "start.py").write_text(own)
    overlay.use(folder)
    assert lessons.lesson_exercises("start")[0].points > 90
    overlay.use(None)
    assert lessons.lesson_exercises("start")[0].points < 90
    assert str(folder) not in str(sys.modules["course.exercises.start"].__file__)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("unit = ", "cannot be read"),
        (
            'unit = "three-week"',
            "settings.toml: there is no unit 'three-week'. There are: course, two-week.",
        ),
        ('unit = ["two-week"]', "there is no unit ['two-week']"),
        ("colour = 1", "there is no setting 'colour'"),
        ("[points]\nvector_sum = 1", "names 'vector_sum', which is no exercise"),
        ("[points]\nvector_add = -1", "from 0 to 1000 for vector_add, got -1"),
        ("[points]\nvector_add = nan", "got nan"),
        ("[points]\nvector_add = true", "got True"),
        (f"[points]\nvector_add = 1{'0' * 400}", "from 0 to 1000 for vector_add"),
        ("points = 3", "[points] should hold"),
        ("roster = 3", "roster should be the name of a file, got 3"),
        ("[points]\nexplain_blocs = 2", "no exercise and no written answer"),
        ("[due]\n01_thread = 2026-10-05T12:00:00Z", "'01_thread', which is no lesson"),
        ("[due]\n01_threads = 2026-10-05", "a day and a time for 01_threads, such as"),
        ('[due]\n01_threads = "2026-10-05T12:00:00Z"', "+02:00 without quotation marks, got '2026"),
        (
            "[due]\n01_threads = 9999-12-31T23:59:00-05:00",
            "years 1 to 9999 of UTC for 01_threads, got 9999",
        ),
        ("[extensions.vega]\n01_threads = 2026-10-05T12:00:00Z", "which [due] does not have"),
        ("[extensions]\nvega = 3", "[extensions.vega] should be a table"),
        ("[extensions.jane.doe]\n01_threads = 3", 'quotation marks, [extensions."jane.doe"]'),
        ("[extensions.Doe, Jane]\n01_threads = 3", 'quotation marks: [extensions."Doe, Jane"]'),
        (
            "[due]\n01_threads = 2026-10-05T12:00:00Z\n"
            "[extensions.vega]\n01_threads = 2026-10-05T12:00:00+02:00",
            "[extensions.vega] ends 01_threads on 2026-10-05 10:00 UTC, and [due] on",
        ),
        ("[late]\npercent_a_day = 101", "a number from 0 to 100"),
        ("[late]\npercent = 1", "should hold percent_a_day"),
    ],
)
def test_settings_that_cannot_be_are_sentences(folder, text, words):
    with pytest.raises(Refused) as error:
        overlay.use(written(folder, text))
    assert words in str(error.value)
    assert str(folder / overlay.SETTINGS) in str(error.value)
    assert overlay.active() == overlay.Overlay()


#: The course's own first lesson, with other points.
OWN_POINTS = re.sub(
    r"points=\d+",
    "points={}",
    (ROOT / "course" / "exercises" / "start.py").read_text().replace("{", "{{").replace("}", "}}"),
)


@pytest.mark.parametrize(
    ("part", "name", "text", "words"),
    [
        ("exercises", "starts.py", "", "there is no lesson 'starts'"),
        ("exercises", "start.py", "1 / 0", "ZeroDivisionError"),
        ("exercises", "start.py", "", "declares no exercise"),
        ("hidden", "start.py", "HIDDN = {}", "expected HIDDEN"),
        ("hidden", "start.py", "HIDDEN = {", "SyntaxError"),
        ("hidden", "start.py", "import sys; sys.exit(3)", "SystemExit: 3"),
        ("exercises", "start.py", "import sys; sys.exit(3)", "SystemExit: 3"),
        ("hidden", "start.py", ranges("N=1, N=2"), "keyword argument repeated: N"),
        ("hidden", "start.py", ranges("N=between(5, 4)"), "the first number is the smaller"),
        ("hidden", "start.py", ranges("N=1", "doubel"), "'doubel' is no exercise of this"),
        ("hidden", "start.py", ranges("N=1), Draws(M=1"), r"\['double'\], range 2: .*'N'"),
        ("hidden", "start.py", ranges("N=choice('a')"), r"\['double'\], range 1: ValueError"),
        ("hidden", "start.py", ranges("N=1, dtypes={'z': 'int8'}"), "no parameter 'z'"),
        ("hidden", "start.py", ranges("N=1, dtypes={'x': 'float23'}"), "float23"),
        ("hidden", "start.py", ranges("N=1, scalars={'z': 1.0}"), "no parameter 'z'"),
        ("hidden", "start.py", ranges("N=between(0, 9)"), r"with N=0, x has the shape \(0,\)"),
        ("hidden", "start.py", ranges("N=choice(3, -3)"), r"with N=-3, x has the shape \(-3,\)"),
        ("hidden", "start.py", ranges("N=between(1, 10**11)"), "the arrays take [0-9,]+ bytes"),
        ("hidden", "start.py", ranges("N=1, draws={'x': lambda *_: 1 / 0}"), "ZeroDivisionError"),
        ("exercises", "start.py", OWN_POINTS.format('float("nan")'), "for double, got nan"),
        ("exercises", "start.py", OWN_POINTS.format('float("inf")'), "for double, got inf"),
        ("exercises", "start.py", OWN_POINTS.format("-4"), "for double, got -4"),
    ],
)
def test_files_that_cannot_be_used_are_sentences(folder, part, name, text, words):
    (folder / part / name).write_text(text)
    with pytest.raises(Refused, match=words) as error:
        overlay.use(folder)
    assert str(error.value).startswith(str(folder / part / name))
    assert overlay.active() == overlay.Overlay()
    assert hidden.hidden_cases("double", "seed"), "the course's own again"


def test_what_is_no_file_of_the_folder_is_named(folder):
    (folder / "hidden" / "start.py").symlink_to(folder / "nowhere")
    with pytest.raises(Refused, match=r"hidden/start\.py cannot be read: No such"):
        overlay.use(folder)
    (folder / "hidden" / "start.py").unlink()
    (folder / "hidden").rmdir()
    (folder / "hidden").touch()
    with pytest.raises(Refused, match="hidden is a file"):
        overlay.use(folder)


def test_an_exercise_that_is_gone_from_ones_own_file_needs_ranges_of_ones_own(folder):
    text = (ROOT / "course" / "exercises" / "start.py").read_text()
    (folder / "exercises" / "start.py").write_text(text.replace('"double"', '"triple"'))
    with pytest.raises(Refused, match=r"hidden/start\.py: 'double' .* Copy it to"):
        overlay.use(folder)
    (folder / "hidden" / "start.py").write_text(ranges("N=1", "triple"))
    overlay.use(written(folder, "[points]\ntriple = 3"))
    assert [(e.name, e.points) for e in lessons.lesson_exercises("start")] == [("triple", 3)]


def test_two_overlays_have_two_digests(folder):
    plain = overlay.use(written(folder, "[due]\n01_threads = 2026-10-05T12:00:00Z")).digest()
    assert plain == overlay.use(written(folder, "")).digest(), "no verdict depends on it"
    (folder / "hidden" / "start.py").write_text("HIDDEN = {}\n")
    changed = overlay.use(folder).digest()
    assert len({plain, changed, overlay.use(folder, "two-week").digest()}) == 3


def test_a_build_gives_the_class_its_points_and_the_repository_the_courses(folder, tmp_path):
    text = 'unit = "two-week"\n[points]\nvector_add = 42\nexplain_blocks = 2\n'
    overlay.use(written(folder, text))
    lesson = read_lessons(ROOT, ["threads"])
    [built] = make(lesson, settings(ROOT), tmp_path / "scratch")
    assert built.student == (ROOT / "notebooks/01_threads.ipynb").read_bytes()

    def points(content):
        marks = [c.metadata.get("nbgrader", {}) for c in nbformat.reads(content, 4).cells]
        return {m["grade_id"]: m["points"] for m in marks if m.get("grade") and "points" in m}

    own = {f"{e.name}_check": e.points for e in exercises.lesson("threads").values()}
    assert points(built.student.decode()).items() >= own.items()
    assert points(built.student.decode())["explain_blocks"] == 0
    assert points(built.of_class.decode())["vector_add_check"] == 42
    assert points(built.of_class.decode())["explain_blocks"] == 2
    assert points(built.source.decode())["grid_math_check"] == 0


def test_a_build_takes_the_private_folder_that_is_named(folder, tmp_path):
    written(folder, "[points]\nvector_add = 42\n")
    shutil.copytree(ROOT / "solutions", tmp_path / "solutions")
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    words = ["--root", str(tmp_path), "--private", str(folder)]
    assert main(["build", "threads", *words]) == 0
    source = nbformat.read(tmp_path / ".build/nbgrader/source/01_threads/01_threads.ipynb", 4)
    [points] = [
        cell.metadata.nbgrader.points
        for cell in source.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "vector_add_check"
    ]
    assert points == 42


def test_grading_takes_the_roster_of_the_settings(folder, tmp_path, capsys):
    written(folder, 'roster = "class.csv"\n')
    put(tmp_path / "class/vega_01_threads.ipynb", notebook_of({}))
    put(tmp_path / "class/mira_01_threads.ipynb", notebook_of({}))
    out = tmp_path / "grades"
    arguments = ["grade", str(tmp_path / "class"), "--out", str(out), "--seed", str(folder)]
    assert main(arguments) == 2
    assert f"The roster {folder / 'class.csv'}" in capsys.readouterr().err
    (folder / "class.csv").write_text("student\nvega\nrigel\n")
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert "mira" in said
    assert "On the roster and without a submission here: rigel." in said
    assert {row["student"] for row in json.loads((out / "verdicts.json").read_text())} == {"vega"}


def test_grading_takes_the_unit_and_the_points(folder, tmp_path, capsys):
    written(folder, 'unit = "two-week"\n[points]\ndot = 42\n')
    [lesson] = read_lessons(ROOT, ["shared_memory"])
    put(tmp_path / "class/vega_03_shared_memory.ipynb", notebook_of(lesson.solutions))
    out = tmp_path / "grades"
    arguments = ["grade", str(tmp_path / "class"), "--out", str(out), "--seed", str(folder)]
    assert main(arguments) == 0, capsys.readouterr().err
    rows = json.loads((out / "verdicts.json").read_text())
    points = exercises.lesson("shared_memory")["transpose"].points
    assert [(r["exercise"], r["outcome"], r["points"], r["max_points"]) for r in rows] == [
        ("transpose", "PASS", points, points),
        ("dot", "PASS", 42, 42),
    ]


def test_a_deadline_that_the_clock_shows_twice_is_the_later_one(folder, machine_in):  # noqa: F811
    machine_in("Europe/Berlin")
    for day, hour in (("2026-10-25", 1), ("2026-03-29", 1)):
        told = overlay.use(written(folder, f"[due]\n01_threads = {day}T02:30:00")).deadlines.due
        expected = datetime.fromisoformat(f"{day}T00:30+00:00").replace(hour=hour)
        assert told == {"01_threads": expected}
