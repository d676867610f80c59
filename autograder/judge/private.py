"""`python -m autograder init`: an instructor's private folder, with the seed of the hidden cases.

Who has the seed can draw the hidden cases, so the folder is its owner's alone, and lies outside
of the repository. `grade` and `nbgrader autograde` find it where it lies by default; `--seed DIR`
names another one. Keep a copy of it: with another seed, the same notebook gets other cases.
The folder also holds settings.toml (which unit the class takes, points), and may hold held-out
ranges and exercises of your own: see `autograder.judge.overlay`, and the README.md in the folder.
"""

from __future__ import annotations

import argparse
import errno
import os
import secrets
import stat
from pathlib import Path

from autograder import Refused
from autograder.grading.files import SECRET_BYTES, temporary, write
from autograder.judge import overlay

ROOT = Path(__file__).resolve().parents[2]
SEED_NAME = "seed"
#: More than anybody writes by hand, and less than a notebook that was named by mistake.
LONGEST_SEED_BYTES = 1000

_README = """\
# Your class

- `seed`: from it the held-out cases are drawn. Keep a copy; show it to nobody.
- `settings.toml`: which unit your class takes, points of your own, how fast on your GPU.
- `hidden/STEM.py`: held-out ranges of your own for a lesson, in the place of the course's
  `autograder/hidden/STEM.py`. Copy that file and change it.
- `exercises/STEM.py`: exercises of your own, in the place of `course/exercises/STEM.py`. Copy that
  file and change it: `python -m autograder release --out DIR` packs it for your students. `check`
  knows the course's files alone: to hold yours to its witnesses, put it into a copy of the course.
"""
_SETTINGS = """\
# Which part of the course counts: "course" (all of it) or "two-week" (the core).
unit = "course"

# Who is in the class, for `grade` and nbgrader: a file in this folder, or a whole path.
# roster = "roster.csv"

# What an exercise is worth, where that is not what the course says; and a written answer, which is
# worth nothing unless told here, before `make build`.
[points]
# vector_add = 4
# explain_blocks = 2

# How fast a kernel has to be on your GPU for all of its points, and for a part of them: fractions
# of what that GPU reaches, and percent (docs/instructors.md). Nothing is timed unless told here.
# [bands.H100]
# triton_matmul = [[0.6, 100], [0.4, 80], [0.1, 50]]

# nbgrader's gradebook gets these: until when a lesson may be handed in, who may later, and what a
# day begun costs (nothing unless told here).
[due]
# 01_threads = 2026-10-05T23:59:00+02:00
# [extensions.vega]                 # or, of any other name, [extensions."Doe, Jane"]
# 01_threads = 2026-10-12T23:59:00+02:00
# [late]
# percent_a_day = 10
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="DIR",
        help=f"default: {default_folder()}",
    )


def main(args: argparse.Namespace) -> int:
    """Makes the folder, and returns 0."""
    folder = default_folder() if args.folder is None else expanded(args.folder)
    made = make(folder)
    read(folder)
    print(f"{folder / SEED_NAME} {'holds your seed now' if made else 'is there already: kept'}.")
    found = "" if folder == default_folder() else f" with --seed {folder}"
    print(f"`python -m autograder grade` finds it{found}. Keep a copy, and show it to nobody.")
    return 0


def default_folder() -> Path:
    """Where the private folder lies unless told."""
    settings = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(settings) / "gpu-kernel-course"


def expanded(path: Path) -> Path:
    """A path whose `~` is written out.

    Raises:
        Refused: where nobody knows whose home is meant.
    """
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise Refused(f"{path}: there is no such home folder.") from error


def mode(path: Path) -> int:
    """What stands at a path, as `stat` tells it; 0 where nothing does.

    Raises:
        Refused: where that cannot be told.
    """
    try:
        return path.stat().st_mode
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            return 0
        raise Refused(f"{path} cannot be read: {error.strerror}.") from error


def is_folder(path: Path) -> bool:
    """Whether a folder stands there."""
    return stat.S_ISDIR(mode(path))


def add_private(parser: argparse.ArgumentParser) -> None:
    """The argument of commands that need no seed, and the settings."""
    parser.add_argument(
        "--private",
        type=Path,
        metavar="DIR",
        help=f"the folder that `init` made; default: {default_folder()}",
    )


def add_unit(parser: argparse.ArgumentParser) -> None:
    """The argument of commands for which a part of the course may count."""
    parser.add_argument(
        "--unit",
        choices=tuple(overlay.UNITS),
        help="what counts: course (all), two-week (the core); default: your settings.toml, or all",
    )


def found(named: Path | None) -> Path | None:
    """The private folder that is named, or else the one that `init` makes by default, if any.

    Raises:
        Refused: where the one that is named is not there.
    """
    folder = default_folder() if named is None else expanded(named)
    if is_folder(folder):
        return folder
    if named is not None:
        raise Refused(
            f"There is no folder {folder}. Name the one that `python -m autograder init` made."
        )
    return None


def make(folder: Path) -> bool:
    """Makes the folder and its seed; False where the seed is there already.

    Raises:
        Refused: where it cannot be written, or would lie in the repository.
    """
    if folder.resolve().is_relative_to(ROOT):
        raise Refused(
            f"{folder} lies in the repository, where a seed would be published with it. "
            "Choose a folder outside."
        )
    if mode(folder) and not is_folder(folder):
        raise Refused(f"{folder} is a file. Choose another name for the folder.")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        seed = folder / SEED_NAME
        if seed.exists():
            return False
        for name, text in (("README.md", _README), (overlay.SETTINGS, _SETTINGS)):
            if not (folder / name).exists():
                write(folder / name, [text.encode()])
        for part in (overlay.HIDDEN, overlay.EXERCISES):
            (folder / part).mkdir(exist_ok=True)
        with temporary(seed, 0o600) as (handle, fresh):  # last: with it the folder is whole
            os.write(handle, f"{secrets.token_hex(SECRET_BYTES)}\n".encode())
            os.fsync(handle)
            fresh.rename(seed)
    except OSError as error:
        raise Refused(f"Cannot write to {folder}: {error.strerror}.") from error
    return True


def read(place: Path) -> bytes:
    """The seed of a private folder, or of a file that holds one.

    Raises:
        Refused: where there is none, or others may read it.
    """
    in_folder = is_folder(place)
    seed = place / SEED_NAME if in_folder else place
    init = f"`python -m autograder init{f' {place}' if in_folder else ''}`"
    try:
        with seed.open("rb") as file:
            status = os.fstat(file.fileno()).st_mode
            content = file.read(LONGEST_SEED_BYTES + 1)
    except OSError as error:
        raise Refused(f"{seed} cannot be read: {error.strerror}. {init} makes one.") from error
    text = content.strip()
    if not text and stat.S_ISREG(status):
        raise Refused(f"{seed} is empty. Remove it: {init} makes one.")
    if not text or len(content) > LONGEST_SEED_BYTES or not _is_a_line(text):
        raise Refused(
            f"{seed} holds no seed: expected one line of text, at most {LONGEST_SEED_BYTES} bytes, "
            f"such as {init} makes."
        )
    if stat.S_IMODE(status) & 0o077:
        raise Refused(f"Others may read {seed}. `chmod 600 {seed}` keeps it yours.")
    return text


def _is_a_line(content: bytes) -> bool:
    try:
        return content.decode().isprintable()
    except UnicodeDecodeError:
        return False
