"""`python -m autograder gradescope OUT.zip`: an autograder as Gradescope takes it, of this course.

Gradescope, Configure Autograder, takes the zip: `setup.sh` installs the course in its image, and
`run_autograder` judges what a student hands in, as `grade` does, with your seed. So the zip holds
your private folder: whoever may download it from Gradescope can draw the held-out cases. Written
answers are Gradescope's to grade by hand, and its late policy takes what lateness costs.
"""

from __future__ import annotations

import argparse
import shlex
import stat
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from autograder import Refused
from autograder.judge import overlay, private
from autograder.lessons.bundle import pin
from autograder.lessons.catalogue import ROOT, lesson_name, named_stem
from course.plain.text import counted

#: What a verdict's test says of who sees it, and when.
VISIBILITIES = ("after_due_date", "after_published", "visible", "hidden")
#: Below the zip's root, which Gradescope unpacks to /autograder/source.
REPOSITORY, PRIVATE = "repository", "private"
#: Of the repository, what judges: no solution, witness, exploit or test.
_PARTS = ("course", "autograder")
_FILES = ("pyproject.toml", "requirements.txt", "README.md", "LICENSE")
_LEFT_OUT = ("tests", "proof", "__pycache__")
_SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image.
set -e
root="${{AUTOGRADER_ROOT:-/autograder}}"
apt-get update && apt-get install -y bubblewrap || echo "without bubblewrap: Landlock will do"
python3 -m pip install --quiet uv || python3 -m pip install --quiet --break-system-packages uv
python3 -m uv venv --seed --python 3.12 "$root/venv"
cd "$root/source/{repository}"
"$root/venv/bin/python" -m pip install --quiet {torch} --index-url https://download.pytorch.org/whl/cpu
"$root/venv/bin/python" -m pip install --quiet -c requirements.txt '.[autograder]'
"""
_RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for each submission.
root="${{AUTOGRADER_ROOT:-/autograder}}"
chmod -R go= "$root/source/{private}"
cd "$root/source/{repository}"
exec "$root/venv/bin/python" -m autograder.grading.gradescope_run "$root" {words}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("out", type=Path, metavar="OUT.zip", help="where to write it")
    parser.add_argument(
        "--lesson", required=True, metavar="NAME", help="the assignment's lesson: 01_threads"
    )
    private.add_private(parser)
    parser.add_argument(
        "--visibility",
        choices=VISIBILITIES,
        default=VISIBILITIES[0],
        help="when students see verdicts and points, default: %(default)s. Each one that is seen "
        "at once tells something of the held-out cases to who hands in again",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="judge also where Gradescope's machine can put no wall around a submission: its "
        "container is the wall then",
    )


def main(args: argparse.Namespace) -> int:
    """Writes the zip, and returns 0."""
    try:
        stem = named_stem(args.lesson)
        folder = private.found(args.private)
        if folder is None:
            raise Refused(
                "The autograder needs your seed, and there is no private folder: "
                "`python -m autograder init` makes it."
            )
        private.read(folder)
        overlay.use(folder)
        words = ["--lesson", lesson_name(stem), "--visibility", args.visibility]
        count = _write(args.out, folder, [*words, *(["--trust"] if args.trust else [])])
    except OSError as error:
        raise Refused(f"Cannot write {args.out}: {error.strerror}.") from error
    print(
        f"{args.out} holds {counted(count, 'file')}, your seed among them: upload it under "
        "Configure Autograder, and give it to nobody else."
    )
    print(
        "Give its container 3 GB of memory or more and 20 minutes, and press Test Autograder with "
        "a notebook that you solved, before any student hands in."
    )
    return 0


def _write(out: Path, folder: Path, words: list[str]) -> int:
    """Puts the zip in place, whole; gives the number of its files."""
    if out.suffix.lower() != ".zip":
        raise Refused(f"{out}: Gradescope takes a zip. Call it {out}.zip.")
    if out.exists():
        raise Refused(f"{out} is there already. Remove it, or choose another name.")
    fresh = out.with_name(f".{out.name}.tmp")
    count = 0
    try:
        with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as packed:
            fresh.chmod(0o600)
            for name, text in _scripts(words).items():
                _put(packed, name, text.encode(), 0o755)
                count += 1
            for name, path in _files(folder):
                _put(packed, name, path.read_bytes(), 0o600)
                count += 1
        fresh.rename(out)
    finally:
        fresh.unlink(missing_ok=True)
    return count


def _scripts(words: list[str]) -> dict[str, str]:
    places = {"repository": REPOSITORY, "private": PRIVATE}
    return {
        "setup.sh": _SETUP.format(torch=pin("torch"), **places),
        "run_autograder": _RUN.format(words=shlex.join(words), **places),
    }


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """What judges, and the private folder; (name in the zip, file)."""
    for part in _PARTS:
        for path in sorted((ROOT / part).rglob("*")):
            inner = path.relative_to(ROOT)
            if path.is_file() and not {*inner.parts} & {*_LEFT_OUT}:
                yield f"{REPOSITORY}/{inner}", path
    for name in _FILES:
        yield f"{REPOSITORY}/{name}", ROOT / name
    own = [folder / private.SEED_NAME, folder / overlay.SETTINGS]
    own += [
        path
        for part in (overlay.HIDDEN, overlay.EXERCISES)
        for path in (folder / part).glob("*.py")
    ]
    for path in own:
        if path.is_file():
            yield f"{PRIVATE}/{path.relative_to(folder)}", path


def _put(packed: zipfile.ZipFile, name: str, data: bytes, mode: int) -> None:
    entry = zipfile.ZipInfo(name, time.localtime()[:6])
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | mode) << 16
    packed.writestr(entry, data)
