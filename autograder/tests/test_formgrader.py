"""The formgrader in a Jupyter server, as an instructor has it: pages, buttons and API."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.grading.pages import FILE_POLICY
from autograder.lessons.build import instructor_notebook
from autograder.lessons.catalogue import lesson_exercises
from autograder.lessons.source import lesson_files, read_lesson
from autograder.proof.exploit import with_sources
from autograder.sandbox import walls

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LESSON = "00_start"
[EXERCISE] = lesson_exercises("start")
SEED = "CANARY-of-the-formgrader-seed"
TOKEN = "a-token-of-this-test"
SCRIPT = "<script>alert('reached')</script>"
CONFIG = f"""
import sys

c = get_config()
c.CourseDirectory.course_id = "kernels"
c.ClearSolutions.code_stub = {{"python": "..."}}
c.JudgedAutograde.seed = {f"value:{SEED}"!r}
c.JudgedAutograde.jobs = 1
sys.path.insert(0, {str(ROOT)!r})
from autograder.grading.nbgrader_glue import configure

configure(c)
"""
_START_SECONDS = 120.0
_REQUEST_SECONDS = 120.0


@dataclass(frozen=True)
class Server:
    """A Jupyter server in an instructor's folder."""

    address: str
    course: Path

    def ask(self, path: str, data: Any = None, method: str = "GET", token: str = TOKEN) -> str:
        """What it answers."""
        request = urllib.request.Request(
            f"{self.address}/formgrader/{path}",
            data=None if data is None else json.dumps(data).encode(),
            method=method,
            headers={"Authorization": f"token {token}"} if token else {},
        )
        with urllib.request.urlopen(request, timeout=_REQUEST_SECONDS) as answer:
            text: str = answer.read().decode()
            return text

    def api(self, path: str, data: Any = None, method: str = "GET") -> Any:
        return json.loads(self.ask(f"api/{path}", data, method))

    def notebooks(self) -> dict[str, dict[str, Any]]:
        """What the page of a lesson's submissions lists, by student."""
        listed = self.api(f"submitted_notebooks/{LESSON}/{LESSON}")
        return {one["student"]: one for one in listed}

    def submission(self, student: str) -> str:
        """The page on which a person grades."""
        return self.ask(f"submissions/{self.notebooks()[student]['id']}/")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A class of two, whose lesson is generated and graded by the formgrader's own buttons."""
    course = tmp_path_factory.mktemp("formgrader") / "course"
    source = course / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    (course / "nbgrader_config.py").write_text(CONFIG)
    [path] = [p for p in lesson_files(ROOT) if p.stem == LESSON]
    lesson = read_lesson(path, (EXERCISE,))
    nbformat.write(instructor_notebook(lesson), source)
    log = course.parent / "log.txt"
    with started_server(course, log) as server:
        assert server.api(f"assignment/{LESSON}/assign", {}, "POST")["success"], log.read_text()
        released = json.loads((course / "release" / LESSON / f"{LESSON}.ipynb").read_text())
        right = lesson.solutions[EXERCISE.name]
        for student, cell in (("vega", right), ("altair", right.replace("2", "3"))):
            content = with_sources(released, {EXERCISE.name: cell})
            for one in content["cells"]:
                name = one["metadata"].get("nbgrader", {}).get("grade_id", "")
                if name.startswith("explain_"):
                    one["source"] = f"An answer of {student}'s. {SCRIPT}"
            handed_in = course / "submitted" / student / LESSON / f"{LESSON}.ipynb"
            handed_in.parent.mkdir(parents=True)
            handed_in.write_text(json.dumps(content))
            done = server.api(f"submission/{LESSON}/{student}/autograde", {}, "POST")
            assert done["success"], done
        yield server


@contextlib.contextmanager
def started_server(course: Path, log: Path) -> Iterator[Server]:
    """A server with nothing of the user's own settings, ended afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = str(course.parent / "jupyter")
    folder = str(Path(sys.executable).parent)
    with log.open("w") as output:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyter", "server", "--no-browser", "--allow-root"),
                *("--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
                *(f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={course}"),
            ],
            cwd=course,
            env={
                **os.environ,
                "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
                **dict.fromkeys(("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"), own),
                "JUPYTER_RUNTIME_DIR": own,
            },
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        server = Server(f"http://127.0.0.1:{port}", course)
        _wait_for(server, process, log)
        yield server
    finally:
        walls.end(process)


def _wait_for(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            server.ask("api/status")
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"The server did not start: {log.read_text()[-2000:]}")


def test_the_list_of_assignments_has_the_lesson_with_its_points_and_submissions(
    server: Server,
) -> None:
    assert "nbgrader formgrade" in server.ask("manage_assignments")
    [listed] = server.api("assignments")
    assert listed["name"] == LESSON
    assert listed["num_submissions"] == 2
    assert listed["max_code_score"] == EXERCISE.points
    assert listed["average_code_score"] == EXERCISE.points / 2


def test_the_submissions_of_a_lesson_have_their_students_and_the_points_of_the_verdicts(
    server: Server,
) -> None:
    assert LESSON in server.ask(f"manage_submissions/{LESSON}")
    listed = {one["student"]: one for one in server.api(f"submissions/{LESSON}")}
    assert {name: one["code_score"] for name, one in listed.items()} == {
        "vega": EXERCISE.points,
        "altair": 0,
    }
    assert all(one["max_code_score"] == EXERCISE.points for one in listed.values())
    assert all(one["autograded"] for one in listed.values())
    assert all(one["needs_manual_grade"] for one in listed.values()), "there is a written answer"


def test_a_page_of_a_submission_shows_verdict_points_and_student(server: Server) -> None:
    assert LESSON in server.ask(f"gradebook/{LESSON}/{LESSON}")
    for student, word in (("vega", "PASS"), ("altair", "WRONG ANSWER")):
        page = server.submission(student)
        assert student in page
        assert word in page
        assert f"An answer of {student}" in page
        assert SCRIPT not in page
        assert SEED not in page
        whose = server.notebooks()[student]["id"]
        grades = {one["name"]: one for one in server.api(f"grades?submission_id={whose}")}
        check = grades[f"{EXERCISE.name}_check"]
        assert check["auto_score"] == (EXERCISE.points if word == "PASS" else 0)
        assert check["max_score"] == EXERCISE.points


def test_a_written_answer_graded_on_its_page_counts(server: Server) -> None:
    whose = server.notebooks()["vega"]["id"]
    [written] = [
        one
        for one in server.api(f"grades?submission_id={whose}")
        if one["name"].startswith("explain_")
    ]
    assert written["auto_score"] is None
    server.api(f"grade/{written['id']}", {"manual_score": 0.5}, "PUT")
    assert server.notebooks()["vega"]["score"] == EXERCISE.points + 0.5


def test_feedback_is_made_by_its_button(server: Server) -> None:
    done = server.api(f"assignment/{LESSON}/generate_feedback", {}, "POST")
    assert done["success"], done
    for student, word in (("vega", "PASS"), ("altair", "WRONG ANSWER")):
        page = server.course / "feedback" / student / LESSON / f"{LESSON}.html"
        assert word in page.read_text()


def test_a_file_beside_a_notebook_is_of_no_origin(server: Server) -> None:
    beside = server.course / "autograded" / "vega" / LESSON / "data:,.html"
    beside.write_text(SCRIPT)
    place = f"submissions/{server.notebooks()['vega']['id']}/data:,.html"
    assert server.ask(place) == SCRIPT
    request = urllib.request.Request(
        f"{server.address}/formgrader/{place}", headers={"Authorization": f"token {TOKEN}"}
    )
    with urllib.request.urlopen(request, timeout=_REQUEST_SECONDS) as answer:
        assert answer.headers.get_content_type() == "text/html"
        assert answer.headers.get_all("Content-Security-Policy") == [FILE_POLICY]


def test_without_the_token_nobody_is_named(server: Server) -> None:
    for path in (f"api/submissions/{LESSON}", f"submissions/{server.notebooks()['vega']['id']}/"):
        assert "vega" not in server.ask(path, token="another")
