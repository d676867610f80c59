"""Files that are there whole or not at all, and secrets that are made once."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

SECRET_BYTES = 32


def write(path: Path, data: Iterable[bytes], durable: bool = True) -> None:
    """Puts `data` at `path`, whole or not at all; durably, even if the machine stops then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary(path) as (handle, name):
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.writelines(data)
        if durable:
            os.fsync(handle)
        name.replace(path)
    if not durable:
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextlib.contextmanager
def temporary(path: Path, mode: int = 0o666) -> Iterator[tuple[int, Path]]:
    """A file beside `path`, open for writing, for whatever takes its place; gone where it fails."""
    name = path.parent / f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        yield handle, name
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def secret(path: Path) -> bytes:
    """The secret in a file: made by whoever comes first, readable by its owner."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary(path, mode=0o600) as (handle, name):
            os.write(handle, secrets.token_hex(SECRET_BYTES).encode())
            os.fsync(handle)
            with contextlib.suppress(FileExistsError):
                os.link(name, path)  # the first of two runs wins, whole
            name.unlink()
    return path.read_bytes().strip()
