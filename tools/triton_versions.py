"""`make triton-versions`: the Triton half of the course on every Triton that it names.

For each version an environment is made in .build/triton: this checkout's own, with that Triton
laid over it (and an older NumPy, where the version wants one). There the engine's tests run, and
every Triton lesson is checked against its witnesses. `make clean` removes the environments.

    python tools/triton_versions.py [VERSION ...] [--tests]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Version: what else it needs. triton 3.6 breaks `range(0, K, BLOCK)` on NumPy 2.4.
OTHERS = {"3.6.0": ("numpy==2.1.3",), "3.9.0": ()}
#: The first and the last lesson file that is about Triton.
LESSONS = ("06", "11")
TESTS = "course/tests/tile"


@dataclass(frozen=True)
class Step:
    """Something to run in an environment."""

    name: str
    command: tuple[str, ...]


def pinned_version() -> str:
    """The Triton of requirements.txt."""
    found = re.search(r"^triton==([^\s;#]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit("requirements.txt pins no triton: which one is the course tested with?")
    return found[1]


def versions() -> list[str]:
    """Every version to try, oldest first."""
    return sorted({*OTHERS, pinned_version()}, key=lambda v: [int(n) for n in v.split(".")])


def folder_of(version: str, root: Path = ROOT) -> Path | None:
    """Where a version lies that is not the checkout's own. A sandbox lets in `site-packages`."""
    if version == pinned_version():
        return None
    return root / ".build" / "triton" / version / "site-packages"


def install(version: str) -> None:
    """Makes the environment, where it is not there yet."""
    folder = folder_of(version)
    if folder is None or any(folder.glob(f"triton-{version}.dist-info/RECORD")):
        return
    packages = [f"triton=={version}", *OTHERS[version]]
    print(f"... installing {' and '.join(packages)} into {folder.relative_to(ROOT)}", flush=True)
    options = ["--disable-pip-version-check", "--quiet", "--no-deps", "--upgrade"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder)]
    if subprocess.run([*command, *packages], cwd=ROOT).returncode:
        raise SystemExit(
            f"{' and '.join(packages)} cannot be installed: what pip said stands above. Mend that, "
            "and run the same command again."
        )


def environment(version: str) -> dict[str, str]:
    """The variables under which this Python imports that version."""
    folder = folder_of(version)
    paths = [str(ROOT)] if folder is None else [str(folder), str(ROOT)]
    cache = ROOT / ".build" / "triton" / version / "cache"
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "TRITON_CACHE_DIR": str(cache),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def lessons(root: Path = ROOT) -> list[str]:
    """Stems of the Triton lessons that are there."""
    first, last = LESSONS
    files = sorted((root / "solutions").glob("[0-9][0-9]_*.py"))
    return [file.stem[3:] for file in files if first <= file.stem[:2] <= last]


def steps(version: str, only_tests: bool) -> list[Step]:
    """What runs for a version."""
    probe = f"import triton; assert triton.__version__ == {version!r}, triton.__version__"
    found = [
        Step("import", (sys.executable, "-c", probe)),
        Step("tests", (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS)),
    ]
    if not only_tests:
        found += [
            Step(stem, (sys.executable, "-m", "autograder", "check", stem)) for stem in lessons()
        ]
    return found


def main(arguments: list[str]) -> int:
    """Runs everything, prints a line for each step, and returns 1 where one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="all of them unless told")
    parser.add_argument("--tests", action="store_true", help="leave out the lessons")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.versions) - set(versions()))
    if unknown:
        parser.error(f"no such version here: {', '.join(unknown)}; there are {versions()}")
    lines = []
    failed = 0
    for version in options.versions or versions():
        install(version)
        for step in steps(version, options.tests):
            print(f"\n=== Triton {version}: {step.name}", flush=True)
            begun = time.monotonic()
            status = subprocess.run(step.command, cwd=ROOT, env=environment(version)).returncode
            word = "ok" if status == 0 else f"FAILED with status {status}"
            lines.append(f"{version:8} {step.name:20} {time.monotonic() - begun:6.0f} s  {word}")
            failed += status != 0
    print("\n" + "\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
