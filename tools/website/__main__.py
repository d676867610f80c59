"""`make site`, or `python -m tools.website`: .build/site, to be put on any web server.

Sphinx warns of a link that leads nowhere, and a warning fails the build; so does a page that would
ask another host for something.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

from tools.website.pages import assemble

ROOT = Path(__file__).resolve().parents[2]
_BUILD = ROOT / ".build"
_HERE = Path(__file__).resolve().parent


class _Fetched(HTMLParser):
    """What a browser fetches for a page, unasked."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        address = has.get("href", "") if tag == "link" else has.get("src", "")
        if address.startswith(("http:", "https:", "//")):
            self.addresses.append(address)


def fetched_elsewhere(page: str) -> list[str]:
    """Addresses of other hosts that a page of HTML would be asked for."""
    found = _Fetched()
    found.feed(page)
    return found.addresses


def main(argv: Sequence[str] | None = None) -> int:
    """Builds the site; 0 done, 1 something is wrong with a page."""
    parser = argparse.ArgumentParser(prog="python -m tools.website", description=__doc__)
    parser.add_argument("--out", type=Path, default=_BUILD / "site", metavar="FOLDER")
    parser.add_argument("--unrun", action="store_true", help="notebooks without their outputs")
    options = parser.parse_args(argv)
    out, source = options.out.resolve(), _BUILD / "site-source"
    assemble(source)
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q"]
    command += ["-c", str(_HERE), "-d", f"{out}-doctrees", str(source), str(out)]
    command += ["-D", "nb_execution_mode=off"] * options.unrun
    # What this machine's user has solved, and its GPU, are no part of the pages.
    env = os.environ | {"COURSE_PROGRESS": "off", "COURSE_GPU": "off", "PYTHONPATH": str(ROOT)}
    warnings, log = _BUILD / "site-warnings.txt", _BUILD / "site-log.txt"
    print("Running the notebooks and writing the pages: five minutes, and seconds the next time.")
    with log.open("w") as said:  # a kernel says a line at each start
        done = subprocess.run([*command, "-w", str(warnings)], env=env, stderr=said)
    if done.returncode:
        print(warnings.read_text(encoding="utf-8") if warnings.exists() else "", end="")
        print(f"The site is not whole: mend the links or cells above. All of it is in {log}.")
        return 1
    for page in sorted(out.rglob("*.html")):
        for address in fetched_elsewhere(page.read_text(encoding="utf-8")):
            print(f"{page.relative_to(out)} would ask another host for {address}.")
            done.returncode = 1
    if not done.returncode:
        print(f"The site is done: open {out / 'index.html'}")
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main())
