"""A real browser without a window: what a page runs, what it asks for, and what stands in it."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import websocket

from autograder.sandbox import walls

#: Debian's name for it, and those of others.
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--window-size=1200,1400", "--remote-debugging-port=0"),
    "--remote-allow-origins=*",
)
_START_SECONDS = 60.0
#: How long a page is watched once it is loaded: an image or a timer comes a little later.
_WATCH_SECONDS = 1.0


def found() -> str | None:
    """Where a Chromium is, if one is installed."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


class Browser:
    """One page of a browser, by its devtools protocol."""

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(address, timeout=30, max_size=None)
        self._number = 0
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        #: what scripts wrote to the console as errors, and what they threw
        self.errors: list[str] = []
        for domain in ("Page", "Network", "Runtime"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to one command; what is said meanwhile is noted."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        number = self._number
        while True:
            said = json.loads(self._socket.recv())
            if said.get("id") == number:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']}")
                return dict(said["result"])
            self._note(said)

    def _note(self, said: dict[str, Any]) -> None:
        if said.get("method") == "Network.requestWillBeSent":
            self.requests.append(said["params"]["request"]["url"])
        if said.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(said["params"]["exceptionDetails"])[:2000])
        if said.get("method") == "Runtime.consoleAPICalled" and said["params"]["type"] == "error":
            self.errors.append(json.dumps(said["params"]["args"])[:2000])
        if said.get("method") == "Page.javascriptDialogOpening":
            self.dialogs.append(said["params"]["message"])
            self._number += 1
            close = {"method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
            self._socket.send(json.dumps({"id": self._number, **close}))

    def open(self, address: str, headers: dict[str, str] | None = None) -> None:
        """Loads a page, and watches it for a while."""
        self.requests.clear()
        self.dialogs.clear()
        self.errors.clear()
        self.ask("Network.setExtraHTTPHeaders", headers=headers or {})
        self.ask("Page.navigate", url=address)
        until = time.monotonic() + _START_SECONDS
        while self.value("document.readyState") != "complete" or self.value("location.href") in (
            "",
            "about:blank",
        ):
            assert time.monotonic() < until, address
            time.sleep(0.05)
        until = time.monotonic() + _WATCH_SECONDS
        while time.monotonic() < until:
            self.value("0")
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        """What an expression comes to in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self) -> str:
        """The page as a PNG, in base64."""
        return str(self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"])


@contextlib.contextmanager
def started() -> Iterator[Browser]:
    """A browser with a profile of its own, ended afterwards."""
    program = found()
    assert program is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield Browser(_page(Path(profile, "DevToolsActivePort"), process))
        finally:
            walls.end(process)


def _page(told: Path, process: subprocess.Popen[bytes]) -> str:
    """The address of the first page, as soon as the browser says its port."""
    from urllib.request import urlopen

    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            port = told.read_text().splitlines()[0]
            with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=5) as answer:
                pages = json.load(answer)
            return str(next(p for p in pages if p["type"] == "page")["webSocketDebuggerUrl"])
        except (OSError, IndexError, StopIteration):
            time.sleep(0.1)
    raise RuntimeError("The browser did not start.")
