"""A runner's private /tmp: emptied behind each check, but for what is mounted in it.

Where the course or its packages lie below the machine's /tmp, they are mounted below this one, too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

FOLDER = Path("/tmp")


def mounted(folder: Path = FOLDER) -> frozenset[Path]:
    """Mounts, and the folders that lead to them: all that is there before the first launch."""
    found: set[Path] = set()
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            found.add(path)
            if not os.path.ismount(path):
                found |= mounted(path)
    return frozenset(found)


def empty(kept: frozenset[Path], folder: Path = FOLDER) -> None:
    """Removes what a launch has left; looks into no mount."""
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_dir():
            with contextlib.suppress(OSError):
                path.unlink()
        elif path not in kept:
            shutil.rmtree(path, ignore_errors=True)
        elif not os.path.ismount(path):
            empty(kept, path)
