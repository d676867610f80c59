"""Report, feedback and formgrader in a real browser, with all hostile markup there is in them."""

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat
import pytest

from autograder.lessons.build import instructor_notebook
from autograder.lessons.catalogue import lesson_exercises
from autograder.lessons.source import lesson_files, read_lesson
from autograder.proof.exploit import FOLDER, changed, exploits, grade_id, with_sources
from autograder.tests import browser
from autograder.tests.browser import Browser
from autograder.tests.test_formgrader import CONFIG, ROOT, TOKEN, Server, started_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        browser.found() is None,
        reason="There is no Chromium here: `apt-get install chromium` installs one.",
    ),
]

LESSON = "01_threads"
#: A name that is markup wherever it is not escaped.
STUDENT = "\"><img src=x onerror=alert('reached')>"
#: Where the exploits' beacons lead.
NOWHERE = "127.0.0.1:9"
HEADERS = {"Authorization": f"token {TOKEN}"}
#: What nbgrader's own pages have of these: a name is shown and hidden by a click.
_HANDLERS = ["onclick=toggle_name(true);", "onclick=toggle_name(false);"]
#: Every address and every handler of a page, and every element that no text needs.
_WHAT_STANDS_THERE = """
(() => {
  const found = {addresses: [], handlers: [], elements: []};
  const places = [document, ...document.querySelectorAll('template')].map(t => t.content || t);
  for (const place of places) for (const element of place.querySelectorAll('*')) {
    const names = ['iframe', 'object', 'embed', 'base', 'form', 'svg', 'math', 'frame', 'portal',
                   'video', 'audio', 'applet', 'image', 'template', 'picture', 'source', 'input'];
    const name = element.localName;
    if (names.includes(name) || element.shadowRoot) found.elements.push(name);
    for (const attribute of element.attributes) {
      if (attribute.name.startsWith('on'))
        found.handlers.push(attribute.name + '=' + attribute.value);
      if (/^(href|src|srcset|action|formaction|data|poster|background|ping|xlink:href|manifest)$/
          .test(attribute.name)) {
        let address;
        try { address = new URL(attribute.value, location.href).href; }
        catch (error) { address = 'no address: ' + attribute.value; }
        found.addresses.push(address);
      }
    }
  }
  return JSON.stringify(found);
})()
"""


class _Listener(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(404)
        self.end_headers()

    do_POST = do_HEAD = do_GET

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def listener() -> Iterator[ThreadingHTTPServer]:
    """Hears every beacon."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Listener)
    server.asked = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture(scope="module")
def page() -> Iterator[Browser]:
    with browser.started() as page:
        yield page


def _hostile(released: dict[str, Any], solutions: dict[str, str], beacon: str) -> dict[str, Any]:
    """One notebook with every change of every exploit about markup."""
    content = with_sources(released, solutions)
    about_pages = ("script.", "rendered_script.")
    no_cell = ("grade_id", "cell_metadata")
    # where two change one cell, the later one stays: that with TeX in its panel
    for one in reversed(exploits(FOLDER)):
        if one.name.startswith(about_pages) and not one.name.endswith(no_cell):
            content = changed(content, one.changes)
    return json.loads(json.dumps(content).replace(NOWHERE, beacon))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, listener: ThreadingHTTPServer
) -> Iterator[Server]:
    """A class of one stranger, graded by the formgrader's buttons."""
    course = tmp_path_factory.mktemp("browser") / "course"
    source = course / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    (course / "nbgrader_config.py").write_text(CONFIG)
    [path] = [p for p in lesson_files(ROOT) if p.stem == LESSON]
    lesson = read_lesson(path, lesson_exercises("threads"))
    notebook = instructor_notebook(lesson)
    notebook.cells = [cell for cell in notebook.cells if grade_id(cell)]
    nbformat.write(notebook, source)
    with started_server(course, course.parent / "log.txt") as server:
        done = server.api(f"assignment/{LESSON}/assign", {}, "POST")
        assert done["success"], done
        released = json.loads((course / "release" / LESSON / f"{LESSON}.ipynb").read_text())
        beacon = f"127.0.0.1:{listener.server_port}"
        handed_in = course / "submitted" / STUDENT / LESSON / f"{LESSON}.ipynb"
        handed_in.parent.mkdir(parents=True)
        handed_in.write_text(json.dumps(_hostile(released, {}, beacon)))
        whose = quote(STUDENT, safe="")
        done = server.api(f"submission/{LESSON}/{whose}/autograde", {}, "POST")
        assert done["success"], done
        done = server.api(f"assignment/{LESSON}/generate_feedback", {}, "POST")
        assert done["success"], done
        yield server


def _has_all(page: Browser) -> None:
    text = page.value("document.body.textContent")
    assert r"c[i + 1] = a[i]  # $\href{javascript:alert('reached')}{x}$" in text, "in the panel"


def _look(page: Browser, address: str, listener: Any, headers: dict[str, str] | None) -> dict:
    """Opens a page and asserts that nothing ran and nothing left; then what stands in it."""
    page.open(address, headers)
    assert page.dialogs == []
    assert listener.asked == []
    origin = "/".join(address.split("/")[:3])
    assert [
        r for r in page.requests if not r.startswith((origin, "data:font", "data:image/png"))
    ] == []
    found: dict = json.loads(page.value(_WHAT_STANDS_THERE))
    assert [a for a in found["addresses"] if not a.startswith(origin)] == []
    assert "reached" in page.value("document.body.innerText"), "what was written is to be read"
    return found


def test_the_browser_would_run_and_fetch_what_is_not_mended(
    page: Browser, listener: Any, tmp_path: Path
) -> None:
    """So that what the others do not find was looked for."""
    bad = tmp_path / "bad.html"
    port = listener.server_port
    bad.write_text(
        f"<body>reached <img src=http://127.0.0.1:{port}/x onerror=\"alert('reached')\">"
        "<a href='java&Tab;script:alert(1)'>x</a>"
    )
    page.open(bad.as_uri())
    assert page.dialogs == ["reached"]
    assert listener.asked == ["/x"]
    assert "javascript:alert(1)" in json.loads(page.value(_WHAT_STANDS_THERE))["addresses"]
    listener.asked.clear()


def test_feedback_runs_nothing_and_asks_for_nothing(
    server: Server, page: Browser, listener: Any, tmp_path: Path
) -> None:
    [feedback] = (server.course / "feedback").rglob("*.html")
    copy = shutil.copy(feedback, tmp_path / "feedback.html")
    found = _look(page, Path(copy).as_uri(), listener, None)
    assert found["handlers"] == []
    assert found["elements"] == []
    assert page.value("document.scripts.length") == 0
    _has_all(page)
    assert not feedback.read_text().count("cdnjs")


def test_the_report_runs_nothing_and_asks_for_nothing(
    server: Server, page: Browser, listener: Any
) -> None:
    report = server.course / "grades" / "report.html"
    found = _look(page, report.as_uri(), listener, None)
    assert found["handlers"] == []
    assert set(found["elements"]) <= {"svg", "input"}
    _has_all(page)
    assert page.value("document.scripts.length") == 1, "the filter"
    assert page.value("!document.getElementById('filter').hidden"), "it has run"


def test_a_script_that_came_into_the_report_would_not_run(
    server: Server, page: Browser, listener: Any, tmp_path: Path
) -> None:
    html = (server.course / "grades" / "report.html").read_text()
    bad = tmp_path / "bad.html"
    for text in ("<script>alert('reached')</script>", "<img src=x onerror=alert('reached')>"):
        bad.write_text(html.replace("</body>", f"{text}</body>"))
        page.open(bad.as_uri())
        assert page.dialogs == []


def test_the_formgraders_page_runs_its_own_and_asks_its_own_server(
    server: Server, page: Browser, listener: Any
) -> None:
    listed = server.api(f"submitted_notebooks/{LESSON}/{LESSON}")
    [whose] = [one["id"] for one in listed]
    address = f"{server.address}/formgrader/submissions/{whose}/"
    found = _look(page, address, listener, HEADERS)
    assert sorted(set(found["handlers"])) == sorted(_HANDLERS)
    assert set(found["elements"]) == {"input"}, "the places for scores"
    assert page.value("typeof MathJax.Hub.Queue") == "undefined", "nothing is typeset"
    _has_all(page)
    assert page.value("typeof FormGrader") != "undefined", "its own scripts have run"
    assert page.errors == []
    assert page.value("formgrader.keyboard_manager !== undefined"), "its keys are set up"
    scores = "$('.score').get().map(e => e.value || e.placeholder).join('')"
    assert page.value(scores), "it has asked for the scores"


@pytest.mark.parametrize(
    "path",
    [
        f"manage_submissions/{LESSON}",
        f"gradebook/{LESSON}/{LESSON}",
        "manage_students",
        f"manage_students/{quote(STUDENT, safe='')}",
        f"manage_students/{quote(STUDENT, safe='')}/{LESSON}",
    ],
)
def test_a_name_is_text_on_every_page_of_the_formgrader(
    server: Server, page: Browser, listener: Any, path: str
) -> None:
    page.open(f"{server.address}/formgrader/{path}", HEADERS)
    assert page.dialogs == []
    assert page.value("document.querySelectorAll('img[src=x], img[onerror]').length") == 0
    assert page.value("document.body.textContent.includes('onerror')")
