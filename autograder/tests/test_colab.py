"""A notebook on Colab: where its first cell takes the course from, and what it says otherwise."""

import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from autograder import Refused
from autograder.__main__ import main
from autograder.judge import overlay
from autograder.lessons import bundle, colab
from autograder.lessons.build import instructor_notebook, read_lessons
from autograder.proof.exploit import grade_id
from autograder.tests.small_course import EXERCISES, REPOSITORY, small_course

#: Behind each stands nbgrader, a class or a wheel: seconds.
pytestmark = pytest.mark.slow

NAME = "gpu_kernel_course-0.1.0-py3-none-any.whl"
GITHUB = "https://github.com/somebody/kernels"
BADGE = (
    "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
    "(https://colab.research.google.com/github/somebody/kernels/blob/{}/notebooks/01_small.ipynb)"
)
#: Runs cells as a notebook does, where `google.colab` gives the files in a folder when asked.
SHELL = """
import json, pathlib, sys, types
from IPython.core.interactiveshell import InteractiveShell

cell, uploads = json.loads(sys.argv[1])
if uploads is not None:
    given = {path.name: path.read_bytes() for path in map(pathlib.Path, uploads)}
    files = types.SimpleNamespace(upload=lambda: given)
    sys.modules["google.colab"] = types.SimpleNamespace(files=files)
done = InteractiveShell.instance(colors="NoColor").run_cell(cell)
sys.exit(not done.success)
"""


@dataclass(frozen=True)
class Machine:
    """A Python that has this one's packages and not the course, and an empty folder."""

    folder: Path
    python: Path

    @property
    def environment(self) -> dict[str, str]:
        """Of whatever runs there."""
        packages = next(path for path in sys.path if path.endswith("site-packages"))
        return {"PYTHONPATH": packages, "HOME": str(self.folder.parent), "PATH": os.defpath}

    def run(self, cell: str, *, uploads: list[Path] | None = None, **more: str) -> tuple[bool, str]:
        """(whether it ended well, what it said); `uploads` makes it Colab."""
        given = None if uploads is None else list(map(str, uploads))
        done = subprocess.run(
            [self.python, "-c", SHELL, json.dumps([cell, given])],
            cwd=self.folder,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
        )
        return done.returncode == 0, done.stdout + done.stderr

    def has_course(self) -> bool:
        """Whether `import course` works there now, from its own packages."""
        code = "import course; print(course.__file__)"
        return str(self.python.parents[1] / "lib") in self.run(code)[1]


@pytest.fixture
def machine(tmp_path):
    venv.create(tmp_path / "python", with_pip=False)
    (tmp_path / "notebooks").mkdir()
    made = Machine(tmp_path / "notebooks", tmp_path / "python" / "bin" / "python")
    assert not made.has_course()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    scratch, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    return bundle._wheel(scratch, folder)


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """What students get whose notebooks carry the course."""
    out = tmp_path_factory.mktemp("release") / "students"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(out.parent / "nobody's"))
        command = ["release", "--out", str(out), "--self-contained", "--address", GITHUB]
        assert main(command) == 0
    yield out
    overlay.use(None)


def test_the_wheel_beside_the_notebook_is_installed_whatever_a_browser_called_it(machine, wheel):
    shutil.copy(wheel, machine.folder / NAME.replace(".whl", " (1).whl"))
    assert machine.run(colab.set_up()) == (True, "")
    assert machine.has_course()


def test_of_two_wheels_the_newest_is_taken(machine, wheel):
    shutil.copy(wheel, machine.folder / NAME.replace("0.1.0", "0.0.9"))
    (machine.folder / NAME).write_text("an older one, broken off")
    os.utime(machine.folder / NAME, (0, 0))
    assert machine.run(colab.set_up()) == (True, "")
    assert machine.has_course()


@pytest.mark.parametrize("folder", ["", "a course"])
def test_the_wheel_in_drive_is_installed_where_drive_is_open(machine, wheel, tmp_path, folder):
    drive = tmp_path / "drive"
    (drive / folder).mkdir(parents=True)
    shutil.copy(wheel, drive / folder / NAME)
    cell = colab.set_up().replace("/content/drive/MyDrive", str(drive))
    assert machine.run(cell, uploads=[]) == (True, "")
    assert machine.has_course()


def test_on_colab_the_wheel_is_asked_for_in_a_sentence(machine, wheel):
    asked = "Please choose gpu_kernel_course-...whl: it came with this notebook.\n"
    assert machine.run(colab.set_up(), uploads=[wheel]) == (True, asked)
    assert machine.has_course()


def test_without_a_wheel_or_with_another_file_a_sentence_says_what_to_do(machine, tmp_path):
    (tmp_path / "other.pdf").write_text("%PDF")
    for uploads in (None, [], [tmp_path / "other.pdf"]):
        well, said = machine.run(colab.set_up(), uploads=uploads)
        assert not well
        assert "run this cell again and choose gpu_kernel_course-...whl, which came with" in said
        assert "On a computer of your own, the course's README says how to set up." in said
        assert "Traceback" not in said
        assert "File " not in said.replace("File is not a zip file", "")
        assert ("That did not work: File is not a zip file" in said) == bool(uploads)


def test_where_the_course_is_nothing_is_installed_looked_for_or_said(machine):
    (machine.folder / NAME).write_text("no wheel at all")
    paths = os.pathsep.join([str(REPOSITORY), machine.environment["PYTHONPATH"]])
    said = machine.run(colab.set_up(), uploads=[], PYTHONPATH=paths, COURSE_GPU="off")
    assert said == (True, "")
    assert not machine.has_course()


def test_what_the_gpu_lacks_stands_below_the_cell(machine, tmp_path):
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'Tesla T4, 7.5'\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    paths = os.pathsep.join([str(REPOSITORY), machine.environment["PYTHONPATH"]])
    search = os.pathsep.join([str(tmp_path), os.defpath])
    device = "import course.gpu.present as p\np._DEVICES = (p.Path('/'),)\n"
    well, said = machine.run(device + colab.set_up(), PYTHONPATH=paths, PATH=search)
    assert well
    assert said.startswith("This machine's Tesla T4 (compute capability 7.5) has no bf16")
    assert said.count("\n") == 1


# --- an address ---


def lesson(tmp_path):
    [found] = read_lessons(small_course(tmp_path), exercises=EXERCISES)
    return found


def sources(tmp_path, *args):
    return [cell.source for cell in instructor_notebook(lesson(tmp_path), *args).cells]


@pytest.mark.parametrize(
    ("address", "what", "branch"),
    [
        (GITHUB, f"git+{GITHUB}", "main"),
        (f"{GITHUB}.git", f"git+{GITHUB}.git", "main"),
        (f"{GITHUB}@spring", f"git+{GITHUB}@spring", "spring"),
        ("https://a.edu/course.whl", "https://a.edu/course.whl", None),
        ("https://git.a.edu/b/course", "git+https://git.a.edu/b/course", None),
    ],
)
def test_an_address_is_installed_from_and_github_s_has_a_badge(tmp_path, address, what, branch):
    found = sources(tmp_path, address)
    badges = [] if branch is None else [BADGE.format(branch)]
    assert found[: len(badges)] == badges
    title, cell = found[len(badges) : len(badges) + 2]
    assert title.startswith("# A small lesson")
    assert f'%pip install -q --no-deps "{what}"' in cell
    assert "colab.research" not in "".join(found[len(badges) :])


def test_without_an_address_there_is_none_and_no_badge(tmp_path):
    found = sources(tmp_path)
    assert found[0].startswith("# A small lesson")
    assert "pip" not in found[1]
    assert "https:" not in found[1]


@pytest.mark.parametrize("address", ["somewhere", "http://a.edu", 'https://a"b', "https://a {x}"])
def test_what_is_no_address_is_refused_in_a_sentence(tmp_path, address):
    with pytest.raises(Refused, match=r"^Expected the address of a repository or a wheel"):
        instructor_notebook(lesson(tmp_path), address)


def test_an_address_without_an_answer_is_told_in_a_sentence(machine):
    well, said = machine.run(colab.set_up("https://127.0.0.1:9/course.whl"))
    assert not well  # there is no pip here, either
    assert "The course is not installed here. pip says above why it did not come from" in said
    assert "Traceback" not in said


def test_no_placeholder_stands_in_a_notebook_or_a_page():
    notebooks = [*(REPOSITORY / "notebooks").glob("*.ipynb")]
    assert len(notebooks) > 15
    for path in (*notebooks, *REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert "OWNER" not in text, path
        assert "colab.research.google.com/github" not in text or colab.ADDRESS, path


# --- a notebook that carries the course ---


def test_each_notebook_carries_the_course_and_differs_in_nothing_else(released):
    paths = sorted((released / "notebooks").glob("*.ipynb"))
    assert len(paths) == len(list((REPOSITORY / "notebooks").glob("*.ipynb")))
    for path in paths:
        badge, title, cell, *rest = nbformat.read(path, as_version=4).cells
        plain = nbformat.read(REPOSITORY / "notebooks" / path.name, as_version=4).cells
        assert badge.source == BADGE.format("main").replace("01_small", path.stem)
        assert [title, *rest] == [plain[0], *plain[2:]]
        assert "b64decode" in cell.source
        assert cell.metadata == plain[1].metadata == colab.METADATA
        assert path.stat().st_size < 1_000_000
    assert "upload a notebook, and nothing else" in (released / "README.md").read_text()


def test_a_wheel_is_packed_the_same_each_time_and_smaller(wheel):
    text = colab.packed(wheel)
    assert text == colab.packed(wheel)
    assert len(text) < wheel.stat().st_size


def test_a_notebook_that_was_cut_says_so(machine, wheel):
    well, said = machine.run(colab.set_up(carried=colab.packed(wheel)[:4000]))
    assert not well
    assert said.startswith("That did not work: Compressed data ended before")
    assert "This notebook carries it: open the file again as you were given it." in said


def test_one_notebook_works_with_nothing_else(released, machine):
    notebook = nbformat.read(released / "notebooks" / "00_start.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=120)
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = str(machine.python)
    client.execute(env={**machine.environment, "COURSE_PROGRESS": "off"}, cwd=str(machine.folder))
    [check] = [cell for cell in notebook.cells if grade_id(cell) == "double_check"]
    [output] = check.outputs
    assert output.data["text/plain"].startswith("○ double: not attempted yet")
    assert machine.has_course()


def test_an_answer_in_it_gets_the_verdict_of_one_in_a_plain_notebook(released, tmp_path):
    [found] = [lesson for lesson in read_lessons(REPOSITORY) if lesson.name == "00_start"]
    answers = {"right": found.solutions["double"], "wrong": "double = 2"}
    for kind, folder in (("carried", released), ("plain", REPOSITORY)):
        for student, answer in answers.items():
            path = tmp_path / "class" / f"{student}-{kind}" / "00_start.ipynb"
            path.parent.mkdir(parents=True)
            notebook = json.loads((folder / "notebooks" / path.name).read_text())
            for cell in notebook["cells"]:
                if grade_id(cell) == "double":
                    cell["source"] = answer
            path.write_text(json.dumps(notebook))
    out = tmp_path / "grades"
    words = ["grade", tmp_path / "class", "--out", out, "--seed", "value:s", "--trust"]
    assert main(list(map(str, words))) == 0
    rows = json.loads((out / "verdicts.json").read_text())
    verdicts = {row.pop("student"): row for row in rows}
    assert verdicts["right-carried"]["outcome"] == "PASS"
    assert verdicts["wrong-carried"]["outcome"] == "REJECTED"
    for answer in answers:
        assert verdicts[f"{answer}-carried"] == verdicts[f"{answer}-plain"]
