"""JupyterLab as `make lab` opens it, in a browser: the start page, and lessons worked in."""

import base64
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from autograder.tests import browser
from autograder.tests.browser import Browser

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 40.0
#: for a whole notebook, on a machine that does other things, too
RUN_SECONDS = 240.0
OTHERS = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
#: exercise: its lesson, a right body, a mistake in it, and what the panel says of that
WORKED = {
    "double": (
        "00_start",
        "        y[i] = 2 * x[i]",
        ("2 * x", "3 * x"),
        "WRONG ANSWER",
    ),
    "triton_add": (
        "06_hello_triton",
        "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    inside = offsets < N\n"
        "    x = tl.load(x_ptr + offsets, mask=inside)\n"
        "    y = tl.load(y_ptr + offsets, mask=inside)\n"
        "    tl.store(out_ptr + offsets, x + y, mask=inside)",
        ("x + y, mask=inside", "x + y"),
        "OUT OF BOUNDS",
    ),
}
#: the start page's first link
LINK = "[...document.querySelectorAll('a')].find(a => a.innerText == '00 start')"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.found() is None, reason="no Chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab over a copy of the notebooks."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", home / "notebooks")
    own = {"HOME": str(home), "COURSE_PROGRESS": str(home / "progress.json")}
    paths = {f"JUPYTER_{kind}_DIR": str(home / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    paths["JUPYTER_CONFIG_PATH"] = "tools/jupyter"  # as `make lab` has it
    env = os.environ | own | paths | {"PYTHONPATH": str(ROOT), "COURSE_GPU": "off"}
    page = home / "notebooks" / "START.md"
    made = [sys.executable, "-m", "course", "progress", "--page", str(page)]
    subprocess.run(made, check=True, env=env, cwd=ROOT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(8)
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", f"--notebook-dir={home / 'notebooks'}",
         "--no-browser", "--allow-root", f"--port={port}", f"--IdentityProvider.token={token}",
         "--LabApp.expose_app_in_browser=True"],
        env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        _until(lambda: _answers(f"{address}/api/status?token={token}"))
        # reset: else the notebook of the test before opens again beside it
        yield f"{address}/lab/tree/{{}}?reset&token={token}"
    finally:
        browser.walls.end(process)


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=5):
            return True
    except OSError:
        return False


def _until(there: Callable[[], object], seconds: float = SECONDS) -> None:
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, there
        time.sleep(0.2)


def _sees(page: Browser, text: str) -> bool:
    return bool(page.value(f"document.body.innerText.includes({json.dumps(text)})"))


def test_the_start_page_leads_to_a_lesson(lab: str, tmp_path: Path) -> None:
    with browser.started() as page:
        page.open(lab.replace("/lab/tree/{}", "/"))
        _until(lambda: _sees(page, "GPU kernels, metered"))
        _until(lambda: _sees(page, "one line to fill, one verdict to read"))
        assert _sees(page, "Next: 00 start")
        for forbidden in ("Validate", "Create Assignment", "Formgrader"):
            assert not _sees(page, forbidden)
        (tmp_path / "start.png").write_bytes(base64.b64decode(page.picture()))
        page.value(f"{LINK}.click()")
        _until(lambda: _sees(page, "Your first kernel"))
        (tmp_path / "lesson.png").write_bytes(base64.b64decode(page.picture()))


class Notebook:
    """A lesson that is open in JupyterLab. Its cells are asked for by what JupyterLab exposes."""

    _OPEN = "jupyterapp.shell.currentWidget"

    def __init__(self, page: Browser, address: str) -> None:
        self._page = page
        page.ask("Emulation.setFocusEmulationEnabled", enabled=True)  # else no notebook is current
        page.open(address)
        session = "window.jupyterapp?.shell.currentWidget?.sessionContext"
        ready = f"{session}?.isReady && {session}.session?.kernel?.status == 'idle'"
        _until(lambda: page.value(ready))
        page.errors.clear()  # what JupyterLab itself says while it starts

    def run(self, command: str) -> None:
        """Runs a command of JupyterLab's to its end."""
        self._page.value(
            f"window.ran = false; jupyterapp.commands.execute('notebook:{command}')"
            ".then(() => { window.ran = true; }); 0"
        )
        _until(lambda: self._page.value("window.ran"), RUN_SECONDS)

    def run_all(self) -> None:
        """Runs every cell; each of code has its number afterwards."""
        self.run("run-all-cells")
        _until(lambda: not self._unrun(), RUN_SECONDS)

    def _unrun(self) -> list[str]:
        return [
            "".join(cell["source"])
            for cell in self.cells()
            if cell["cell_type"] == "code" and not cell["execution_count"]
        ]

    def cells(self) -> list[dict]:
        """The cells with their outputs, as a file would hold them."""
        return json.loads(self._page.value(f"JSON.stringify({self._OPEN}.model.toJSON().cells)"))

    def number(self, name: str) -> int:
        """Where the cell of that grade id stands."""
        ids = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in self.cells()]
        return ids.index(name)

    def write(self, number: int, text: str) -> None:
        """Puts a text into a cell, and runs it."""
        cell = f"{self._OPEN}.model.sharedModel.cells[{number}]"
        self._page.value(f"{cell}.setSource({json.dumps(text)}); 0")
        self.run_cell(number)

    def run_cell(self, number: int) -> None:
        """Runs one cell, in view."""
        self._page.value(f"{self._OPEN}.content.activeCellIndex = {number}; 0")
        self.run("run-cell")

    def sees(self, text: str) -> bool:
        """Whether the active cell's output says it, in the page."""
        active = f"{self._OPEN}.content.activeCell.node.innerText"
        return text in (self._page.value(active) or "")


def _no_errors(page: Browser, notebook: Notebook) -> None:
    page.value("0")
    assert page.errors == []
    kinds = {out["output_type"] for cell in notebook.cells() for out in cell.get("outputs", ())}
    assert "error" not in kinds


def _steps_are_chosen(page: Browser) -> None:
    """The pictures of the active cell, by a click and by the arrow keys."""
    output = "jupyterapp.shell.currentWidget.content.activeCell.node.querySelector"
    group = f"{output}('[role=radiogroup]')"
    first = f"{group}.querySelector('input')"
    shown = f"[...{group}.querySelectorAll(':scope > div')].map(d => d.offsetParent !== null)"
    page.value(f"{first}.scrollIntoView({{block: 'center'}})")
    at = page.value(
        f"(r => [r.x + r.width / 2, r.y + r.height / 2])({first}.getBoundingClientRect())"
    )
    for kind in ("mousePressed", "mouseReleased"):
        place = {"x": at[0], "y": at[1], "button": "left", "clickCount": 1}
        page.ask("Input.dispatchMouseEvent", type=kind, **place)
    _until(lambda: page.value(shown)[0])
    for key, code, number in (("ArrowRight", 39, 1), ("ArrowLeft", 37, 0), ("ArrowDown", 40, 1)):
        for kind in ("keyDown", "keyUp"):
            page.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)
        _until(lambda number=number: page.value(shown).index(True) == number)


@pytest.mark.parametrize("name", WORKED)
def test_a_learner_runs_all_passes_makes_a_mistake_and_takes_a_hint(
    lab: str, tmp_path: Path, name: str
) -> None:
    lesson, body, (right, wrong), said = WORKED[name]
    with browser.started() as page:
        notebook = Notebook(page, lab.format(f"{lesson}.ipynb"))
        notebook.run_all()
        _no_errors(page, notebook)
        cell, check = notebook.number(name), notebook.number(f"{name}_check")
        source = "".join(notebook.cells()[cell]["source"])
        [gap] = [line for line in source.splitlines() if line.strip() == "..."]
        for made, verdict in ((body, "PASS"), (body.replace(right, wrong), said)):
            notebook.write(cell, source.replace(gap, made))
            notebook.run_cell(check)
            _until(lambda verdict=verdict: notebook.sees(verdict))
            (tmp_path / f"{verdict}.png").write_bytes(base64.b64decode(page.picture()))
        _steps_are_chosen(page)
        notebook.run("insert-cell-below")
        notebook.write(check + 1, f"ex.{name}.hint()")
        _until(lambda: notebook.sees("hint 1 of") or notebook.sees("hint 2 of"))
        (tmp_path / "hint.png").write_bytes(base64.b64decode(page.picture()))
        _no_errors(page, notebook)


@pytest.mark.family
@pytest.mark.parametrize("stem", OTHERS)
def test_a_lesson_runs_to_its_end(lab: str, stem: str) -> None:
    with browser.started() as page:
        notebook = Notebook(page, lab.format(f"{stem}.ipynb"))
        notebook.run_all()
        _no_errors(page, notebook)
