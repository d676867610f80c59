"""What a launch leaves in its /tmp goes; what is mounted there is neither touched nor read."""

import os
from pathlib import Path

import pytest

from autograder.sandbox import scratch


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As where a checkout lies in /tmp: `course/.venv` is mounted."""
    mount = tmp_path / "course" / ".venv"
    (mount / "lib").mkdir(parents=True)
    (mount / "lib" / "module.py").touch()
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == mount)
    return tmp_path


def test_all_goes_but_what_was_there_and_no_mount_is_looked_into(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = scratch.mounted(folder)
    assert kept == {folder / "course", folder / "course" / ".venv"}
    (folder / "left" / "deep").mkdir(parents=True)
    (folder / "left" / "deep" / "file").touch()
    (folder / "course" / "left").touch()
    (folder / "course" / "a_link").symlink_to(folder / "course" / ".venv")
    (folder / "nowhere").symlink_to("/nowhere")
    looked: list[Path] = []
    within = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: (looked.append(path), within(path))[1])
    scratch.empty(kept, folder)
    assert looked == [folder, folder / "course"]
    monkeypatch.undo()
    rest = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    assert rest == {"course", "course/.venv", "course/.venv/lib", "course/.venv/lib/module.py"}


def test_a_link_in_the_place_of_a_folder_is_not_followed(folder: Path) -> None:
    kept = scratch.mounted(folder)
    elsewhere = folder / "course" / ".venv"
    (folder / "other").symlink_to(elsewhere)
    scratch.empty(kept | {folder / "other"}, folder)
    assert not (folder / "other").is_symlink()
    assert (elsewhere / "lib" / "module.py").exists()
