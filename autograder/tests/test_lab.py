"""JupyterLab as `make lab` opens it: the start page and its links, in a browser."""

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
         "--no-browser", "--allow-root", f"--port={port}", f"--IdentityProvider.token={token}"],
        env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        _until(lambda: _answers(f"{address}/api/status?token={token}"))
        yield f"{address}/?token={token}"
    finally:
        browser.walls.end(process)


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=5):
            return True
    except OSError:
        return False


def _until(there: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not there():
        assert time.monotonic() < end, there
        time.sleep(0.2)


def _sees(page: Browser, text: str) -> bool:
    return bool(page.value(f"document.body.innerText.includes({json.dumps(text)})"))


def test_the_start_page_leads_to_a_lesson(lab: str, tmp_path: Path) -> None:
    with browser.started() as page:
        page.open(lab)
        _until(lambda: _sees(page, "GPU kernels, metered"))
        _until(lambda: _sees(page, "one line to fill, one verdict to read"))
        assert _sees(page, "Next: 00 start")
        for forbidden in ("Validate", "Create Assignment", "Formgrader"):
            assert not _sees(page, forbidden)
        (tmp_path / "start.png").write_bytes(base64.b64decode(page.picture()))
        page.value(f"{LINK}.click()")
        _until(lambda: _sees(page, "Your first kernel"))
        (tmp_path / "lesson.png").write_bytes(base64.b64decode(page.picture()))
