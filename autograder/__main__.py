"""`python -m autograder COMMAND`: what an instructor and an author of lessons run."""

from __future__ import annotations

import argparse
import difflib
import errno
import importlib
import os
import select
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from autograder import Refused

#: command: the module that holds `add_arguments` and `main`, and what it does: an instructor's, in
#: the order of a class, then an author's. A module is imported only when its command runs, since
#: nbgrader takes seconds to import.
COMMANDS = {
    "init": ("autograder.judge.private", "make your private folder, with the seed of hidden cases"),
    "doctor": ("autograder.sandbox.doctor", "say what this machine can put around submissions"),
    "release": (
        "autograder.lessons.bundle",
        "make what students get: notebooks, course, instructions",
    ),
    "grade": ("autograder.grading.grade", "grade notebooks"),
    "cluster": (
        "autograder.grading.cluster_command",
        "start workers on other machines, for `grade --scheduler`",
    ),
    "gradescope": (
        "autograder.grading.gradescope",
        "make the zip of an autograder that judges on Gradescope",
    ),
    "grades": ("autograder.grading.grades", "write the points as Canvas or Moodle imports them"),
    "report": ("autograder.grading.report_command", "make the class report anew, or without names"),
    "history": ("autograder.grading.history", "show every verdict on a student's exercise"),
    "ledger": ("autograder.grading.move", "take the verdicts to a database server, or back"),
    "gradebook": (
        "autograder.grading.move_gradebook",
        "take nbgrader's gradebook to a database server, or back",
    ),
    "forget": ("autograder.grading.forget", "remove what is kept of a student"),
    "similar": (
        "autograder.grading.similar",
        "show answers alike where the course and the class are not",
    ),
    "demo": ("autograder.grading.demo", "build the course and grade a sample class"),
    "new": ("autograder.lessons.new", "write the files of a new exercise"),
    "build": ("autograder.lessons.build", "make the notebooks from the lessons' sources"),
    "check": (
        "autograder.proof.verify",
        "hold every lesson to its witnesses, budgets and notebooks",
    ),
    "seeds": ("autograder.proof.seeds", "hold every kernel to its verdict under many seeds"),
    "mutate": ("autograder.proof.mutate", "find small mistakes that the graders do not see"),
}


_AGAIN = "the same command goes on or begins again."


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are sentences."""

    def error(self, message: str) -> NoReturn:
        sentence = message[:1].upper() + message[1:].rstrip(".")
        print(f"{sentence}. `{self.prog} --help` lists what there is.", file=sys.stderr)
        raise SystemExit(2)


def parser_for(command: str | None) -> Parser:
    """The parser, with the arguments of `command` and the names of the others."""
    parser = Parser(prog="python -m autograder", description=__doc__)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, (module, words) in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=words, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == command:
            held = importlib.import_module(module)
            subparser.description = held.__doc__
            held.add_arguments(subparser)
    return parser


def _open_streams() -> None:
    """What a command says goes nowhere where its stream is closed, and every character has a form.

    A closed one's number would be the next file's that is opened.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123  (open to the end)
        getattr(sys, name).reconfigure(errors="backslashreplace")


def _is_read() -> bool:
    """Whether somebody still takes what is printed: `... | head` does not."""
    look = select.poll()
    look.register(sys.stdout.fileno(), 0)
    return not any(events & select.POLLERR for _, events in look.poll(0))


def status_of(command: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    """Runs a command's `main`; what stops it is said, and its status is 2."""
    try:
        return command(args)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 2


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status: 0 done, 1 failed, 2 wrong arguments."""
    _open_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = next((word for word in arguments if not word.startswith("-")), None)
    if command is not None and command not in COMMANDS:
        close = difflib.get_close_matches(command, COMMANDS, 1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        commands = ", ".join(COMMANDS)
        print(f"There is no command {command!r}.{meant} There are: {commands}.", file=sys.stderr)
        return 2
    try:
        parser = parser_for(command)
        args = parser.parse_args(arguments)
        if command is None:
            parser.print_help()
            return 2
        status = status_of(importlib.import_module(COMMANDS[command][0]).main, args)
        sys.stdout.flush()
        return status
    except OSError as error:
        is_full = error.errno == errno.ENOSPC
        if not is_full and (not isinstance(error, BrokenPipeError) or _is_read()):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is left of it
        if is_full:
            where = error.filename or "what this command prints to"
            print(f"No space is left in {where}. Make room: then {_AGAIN}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in ("course", "autograder"):
            raise
        print(
            f"The package {error.name!r} is not installed in this Python ({sys.executable}). "
            "Run `make venv` in the repository, then use .venv/bin/python.",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print(f"Interrupted: {_AGAIN}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
