"""Control groups: made where the machine lets the grader make them, and said where it does not."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.judge.sentences import Fault
from autograder.sandbox import cgroups, doctor, walls
from autograder.sandbox.cgroups import MOST_TASKS, ROOM_BYTES, Groups, folder, scopes
from autograder.sandbox.remote import Remote
from autograder.sandbox.walls import Kind, Wall
from course.engine.job import Run

GIB = 2**30


@pytest.fixture(autouse=True)
def looked_for_anew() -> Iterator[None]:
    cgroups.found.cache_clear()
    yield
    cgroups.found.cache_clear()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What a service with Delegate=yes finds: its own group, and the controllers in it."""
    root = tmp_path / "cgroup"
    own = root / "grader.service"
    own.mkdir(parents=True)
    (root / "cgroup.controllers").write_text("cpu io memory pids\n")
    (own / "cgroup.controllers").write_text("cpu memory pids\n")
    (own / "cgroup.subtree_control").write_text("\n")
    (tmp_path / "self").write_text("4:memory:/old\n0::/grader.service\n")
    return root


def in_tree(tree: Path) -> Groups | str:
    return folder(tree, tree.parent / "self")


def test_a_program_is_started_in_a_group_of_its_own(tree: Path) -> None:
    groups = in_tree(tree)
    assert isinstance(groups, Groups)
    own = tree / "grader.service"
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids"
    words = groups.enter(3 * GIB)
    group = max(own.glob("autograder.*"), key=lambda path: int(path.suffix[1:]))
    assert (group / "memory.max").read_text() == str(3 * GIB)
    assert (group / "memory.swap.max").read_text() == "0"
    assert (group / "pids.max").read_text() == str(MOST_TASKS)
    program = [sys.executable, "-c", "import os; print(os.getpid(), *os.sys.argv[1:])", "a b"]
    with subprocess.Popen([*words, *program], stdout=subprocess.PIPE, text=True) as process:
        said = process.communicate()[0]
    assert said == f"{process.pid} a b\n", "the program keeps the number of the process"
    assert (group / "cgroup.procs").read_text() == f"{process.pid}\n"


def test_groups_that_are_empty_are_removed_when_the_next_one_is_made(tree: Path) -> None:
    groups = in_tree(tree)
    assert isinstance(groups, Groups)
    left = tree / "grader.service" / "autograder.1.1"
    left.mkdir()  # of a grader that was killed
    groups.enter(GIB)
    assert not left.exists()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda root: (root / "cgroup.controllers").unlink(), "no cgroup v2 is mounted"),
        (lambda root: (root.parent / "self").write_text("4:memory:/old\n"), "in no group"),
        (
            lambda root: (root / "grader.service" / "cgroup.controllers").write_text("cpu\n"),
            "has no control of memory and pids",
        ),
        (
            lambda root: (root / "grader.service" / "cgroup.subtree_control").unlink(),
            "hands no control on (No such file or directory)",
        ),
        (lambda root: (root.parent / "self").write_text("0::/../../etc\n"), "in no group"),
    ],
)
def test_why_there_is_no_folder_is_said(tree: Path, spoil: Any, said: str) -> None:
    spoil(tree)
    answer = in_tree(tree)
    assert isinstance(answer, str)
    assert said in answer


def test_a_folder_that_takes_no_group_is_none(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *args: Any, **named: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    answer = in_tree(tree)
    assert isinstance(answer, str)
    assert "no group can be made in" in answer


# ------------------------------------------------------------ systemd


def fake_systemd(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    program = folder / "systemd-run"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    return program


#: Notes what it was asked for, and turns into the program, as the real one does for a scope.
_SCOPE = (
    'echo "$@" >> "$(dirname "$0")/asked"\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"'
)


def test_a_scope_holds_the_memory_and_the_program_hears_nothing_of_systemd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_systemd(tmp_path, monkeypatch, _SCOPE)
    command, environment = cgroups.limited(2 * GIB, [sys.executable, "-c", "print(1)"])
    assert environment["XDG_RUNTIME_DIR"] == "/run/user/7"
    assert f"--property=MemoryMax={2 * GIB + ROOM_BYTES}" in command
    assert "--property=MemorySwapMax=0" in command
    program = "import os; print(os.getpid(), os.environ.get('XDG_RUNTIME_DIR'))"
    process = Wall(Kind.NONE).start(
        "this", [], [], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, memory_bytes=GIB,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.args[-3:] == ["-m", "this", "none"]
    process.communicate()
    asked = (tmp_path / "asked").read_text()
    assert f"--user --scope --quiet --collect --property=MemoryMax={GIB + ROOM_BYTES}" in asked
    command, environment = cgroups.limited(GIB, [sys.executable, "-c", program])
    with subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    ) as process:
        said = process.communicate()[0]
    assert said == f"{process.pid} None\n"


def test_a_systemd_that_makes_no_scope_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_systemd(tmp_path, monkeypatch, "echo Failed to connect to bus >&2; exit 1")
    assert scopes() == "systemd-run makes no scope (Failed to connect to bus)"


def test_without_any_the_command_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "found", lambda: None)
    assert cgroups.limited(GIB, ["a", "b"]) == (["a", "b"], {})


def test_where_no_further_group_can_be_made_the_judge_starts_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def enter(limit_bytes: int) -> list[str]:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(cgroups, "found", lambda: Groups("", enter, {}))
    assert cgroups.limited(GIB, ["a", "b"]) == (["a", "b"], {})


# ------------------------------------------------------------ what it comes to


def test_the_doctor_says_which_there_is(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(walls, "choose", lambda: Wall(Kind.BUBBLEWRAP))
    monkeypatch.setattr(cgroups, "scopes", lambda: "there is no systemd-run")
    doctor.main(argparse.Namespace())
    said = capsys.readouterr().out
    if "no  control groups" in said:
        assert "The watcher stands alone" in said
    given = in_tree(tree)
    monkeypatch.setattr(cgroups, "folder", lambda: given)
    cgroups.found.cache_clear()
    doctor.main(argparse.Namespace())
    held = f"ok  control groups: hold it, too, between two looks (in {tree / 'grader.service'})"
    assert held in capsys.readouterr().out


class _Killed:
    """A connection to a runner whose launch the kernel has killed."""

    def prepare(self, dialect: str) -> None:
        pass

    def ask(self, *_: Any) -> tuple[bytes, int]:
        return b"", -signal.SIGKILL

    def done(self) -> None:
        pass


def test_a_launch_that_the_kernel_killed_had_run_out_of_memory() -> None:
    remote = Remote(_Killed(), "vector_add", 60.0, 2 * GIB)  # type: ignore[arg-type]  # says so
    run = Run("", "k", {"x": np.zeros(1)}, (1,), (32,), 0, 100)
    with pytest.raises(Fault) as caught:
        remote(run)
    assert caught.value.message_id == "out_of_memory"
