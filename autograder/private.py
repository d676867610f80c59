"""`python -m autograder init`: an instructor's private folder, with the seed of the hidden cases.

Who has the seed can draw the hidden cases, so the folder is its owner's alone, and lies outside
of the repository. `grade` and `nbgrader autograde` find it where it lies by default; `--seed DIR`
names another one. Keep a copy of it: with another seed, the same notebook gets other cases.
The folder also holds settings.toml (which unit the class takes, points), and may hold held-out
ranges and exercises of your own: see `autograder.overlay`, and the README.md in the folder.
"""

from __future__ import annotations

import argparse
import os
import secrets
import stat
import sys
from pathlib import Path

from autograder import overlay
from autograder.store import SEED_BYTES

ROOT = Path(__file__).resolve().parent.parent
SEED_NAME = "seed"


_README = """\
# Your class

- `seed`: from it the held-out cases are drawn. Keep a copy; show it to nobody.
- `settings.toml`: which unit your class takes, and points of your own.
- `hidden/STEM.py`: held-out ranges of your own for a lesson, in the place of the course's
  `autograder/hidden/STEM.py`. Copy that file and change it.
- `exercises/STEM.py`: exercises of your own, in the place of `course/exercises/STEM.py`. Copy that
  file and change it: `python -m autograder release --out DIR` packs it for your students, and
  `python -m autograder check STEM` holds it to its witnesses.
"""
_SETTINGS = """\
# Which part of the course counts: "course" (all of it) or "two-week" (the core).
unit = "course"

# What an exercise is worth, where that is not what the course says.
[points]
# vector_add = 4
"""


class PrivateError(Exception):
    """A private folder that cannot be used, in a sentence."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.description = __doc__
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="DIR",
        help=f"default: {default_folder()}",
    )


def main(args: argparse.Namespace) -> int:
    """Makes the folder, and returns 0, or 2 where it cannot be made."""
    folder = (args.folder or default_folder()).expanduser()
    try:
        made = make(folder)
        read(folder)
    except PrivateError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{folder / SEED_NAME} {'holds your seed now' if made else 'is there already: kept'}.")
    found = "" if folder == default_folder() else f" with --seed {folder}"
    print(f"`python -m autograder grade` finds it{found}. Keep a copy, and show it to nobody.")
    return 0


def default_folder() -> Path:
    """Where the private folder lies unless told."""
    settings = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(settings) / "gpu-kernel-course"


def make(folder: Path) -> bool:
    """Makes the folder and its seed; False where the seed is there already.

    Raises:
        PrivateError: where it cannot be written, or would lie in the repository.
    """
    if folder.resolve().is_relative_to(ROOT):
        raise PrivateError(
            f"{folder} lies in the repository, where a seed would be published with it. "
            "Choose a folder outside."
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        seed = folder / SEED_NAME
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        handle = os.open(seed, flags, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise PrivateError(f"Cannot write to {folder}: {error.strerror}.") from error
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_hex(SEED_BYTES) + "\n")
    for name, text in (("README.md", _README), (overlay.SETTINGS, _SETTINGS)):
        if not (folder / name).exists():
            (folder / name).write_text(text)
    for part in (overlay.HIDDEN, overlay.EXERCISES):
        (folder / part).mkdir(exist_ok=True)
    return True


def read(folder: Path) -> bytes:
    """The seed of a private folder.

    Raises:
        PrivateError: where there is none, or others may read it.
    """
    seed = folder / SEED_NAME
    try:
        mode = seed.stat().st_mode
        content = seed.read_bytes().strip()
    except OSError as error:
        raise PrivateError(
            f"{seed} cannot be read: {error.strerror}. `python -m autograder init {folder}` "
            "makes one."
        ) from error
    if stat.S_IMODE(mode) & 0o077:
        raise PrivateError(f"Others may read {seed}. `chmod 600 {seed}` keeps it yours.")
    if not content:
        raise PrivateError(f"{seed} is empty. Remove it, and run `python -m autograder init`.")
    return content
