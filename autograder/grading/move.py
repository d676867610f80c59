"""`python -m autograder ledger WHERE`: takes a folder's verdicts to a server, or back.

    ledger postgresql://USER@HOST/NAME    to an empty database of a server
    ledger folder                         back, into ledger.db

Every row goes as it is, with its number and time, in one transaction; what it came from is left as
a copy. The same command again goes on, or says that it is done.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from autograder import Refused
from autograder.grading.database import NAME, URL_FILE, has_ledger, url_of
from autograder.grading.grade import add_from
from autograder.grading.store import Store
from course.plain.text import counted

FOLDER = "folder"
#: Below the folder, while a ledger moves.
_PLACE = ".moving"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("where", metavar="WHERE", help="a server's URL, or `folder`")
    add_from(parser)


def main(args: argparse.Namespace) -> int:
    """Moves it, and returns 0."""
    folder: Path = args.grades
    if not has_ledger(folder):
        raise Refused(f"There is no ledger in {folder}. --from names the right one.")
    print(moved(folder, args.where))
    return 0


def moved(folder: Path, where: str) -> str:
    """Takes the ledger of `folder` to `where`, and says what was done.

    Raises:
        Refused: where it could not be; the folder's ledger is then as it was.
    """
    url = None if where == FOLDER else where
    store = Store(folder)
    source = store.ledger
    with store.explained():
        known = folder / URL_FILE
        there = url_of(folder) or None
        if there == url:
            set_aside(folder / NAME if url else known)
            return f"The ledger of {folder} is there already: {source.name}."
        running = source.at_work()
        if running:
            raise Refused(
                f"A grader is at work in {source.name} ({', '.join(running)}). Wait until it has "
                "ended, or stop it with Ctrl-C; then the same command again."
            )
        if there and url:
            raise Refused(
                f"The ledger of {folder} is on a server, {source.name}. Take it back first: "
                f"python -m autograder ledger {FOLDER} --from {folder}"
            )
        place = folder / _PLACE
        place.mkdir(exist_ok=True)
        (place / URL_FILE).unlink(missing_ok=True)  # of an attempt on another server
        goal = Store(place, url).ledger
        came, count = goal.take(source.rows(), source.forgotten())
        for one, file in ((source, folder / NAME), (goal, place / NAME)):
            one.close()
            if file.with_name(f"{NAME}-wal").exists():
                raise Refused(f"Another process has {file} open. End it, and try again.")
        if url:
            (place / URL_FILE).replace(known)  # from here on it counts
            left = set_aside(folder / NAME)
        else:
            set_aside(folder / NAME)
            (place / NAME).replace(folder / NAME)
            left = set_aside(known)  # ... and here
        (place / URL_FILE).unlink(missing_ok=True)
        kept = f"{source.name} is left as it is, as a copy" if not url else f"{left} is a copy"
        return (
            f"{goal.name if url else folder / NAME} holds {counted(count, 'verdict')} ({came} of "
            f"them came now), and every later command finds them there. {kept}: nothing is "
            "written there from here on."
        )


def set_aside(path: Path) -> Path | None:
    """Renames a file that no longer counts; its new name."""
    if not path.exists():
        return None
    number = 1
    while (new := path.with_name(f"{path.name}.moved{number}")).exists():
        number += 1
    return path.rename(new)
