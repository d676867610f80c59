"""A zip of what strangers handed in, unpacked within bounds into a folder of its own.

Notebooks are written, and what says whose they are; everything else is an empty file. No name
leads out of the folder, no link is made, and nothing is written before the whole list is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from autograder import Refused
from autograder.grading.folders import DEEPEST, is_hidden, is_notebook
from autograder.grading.names import clean, few, slug
from autograder.grading.submissions import LARGEST_NOTEBOOK_BYTES
from autograder.judge.sentences import Fault, size_text

SUFFIX = ".zip"
#: What Gradescope writes beside its folders.
METADATA = "submission_metadata.yml"
LARGEST_METADATA_BYTES = 64 * 2**20
#: 20,000 students with ten files each.
MOST_MEMBERS = 200_000
#: The list of so many members, with names of some 250 bytes.
LARGEST_LIST_BYTES = 64 * 2**20
#: 20,000 notebooks with their outputs.
LARGEST_UNPACKED_BYTES = 4 * 2**30
#: A class's folders around a student's.
_DEEPEST = DEEPEST + 4
_LONGEST_NAME_BYTES = 200
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED, _UTF8 = 0x1, 0x800


@dataclass(frozen=True)
class Unpacked:
    """The folder that a zip became.

    Attributes:
        refused: by path below the folder, why a file is not there.
        made: the latest time that the zip says of a file, as a text that sorts.
        problems: sentences on members whose very names cannot be used.
    """

    folder: Path
    refused: Mapping[PurePosixPath, Fault] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    made: str = ""


def is_archive(path: Path) -> bool:
    """Whether it is a file named like a zip."""
    return path.suffix.lower() == SUFFIX and path.is_file()


def unpack(archive: Path, into: Path) -> Unpacked:
    """Unpacks a zip below `into`, in a folder that its bytes and its name name: once.

    Raises:
        Refused: where it is no zip, or goes beyond a bound.
        OSError: where it cannot be read, or its content not be written.
    """
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
        folder = into / digest / slug(clean(archive.stem))
        try:
            with zipfile.ZipFile(_BoundedReads(file)) as packed:
                return _unpacked(packed, folder, clean(archive.name))
        except UnicodeDecodeError as error:
            raise Refused(
                f"{archive} holds a name that is not the UTF-8 it says it is. Nothing in it is "
                "graded. Download it again, or unpack it and grade the folder."
            ) from error
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError) as error:
            raise Refused(
                f"{archive} is no zip that can be read: {clean(str(error), 120)}. Nothing in it is "
                "graded. Download it again."
            ) from error


@dataclass(frozen=True)
class _Member:
    """One entry of the list, under a name that is safe."""

    path: PurePosixPath
    info: zipfile.ZipInfo
    is_folder: bool

    @property
    def is_kept(self) -> bool:
        return is_notebook(self.path.name) or self.path.name == METADATA


class _BoundedReads:
    """A file of which no more than a zip's list may be read at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(LARGEST_LIST_BYTES + 1 if size < 0 else size)
        if size > LARGEST_LIST_BYTES or len(data) > LARGEST_LIST_BYTES:
            raise zipfile.BadZipFile(f"its list is larger than {size_text(LARGEST_LIST_BYTES)}")
        return data


def _unpacked(packed: zipfile.ZipFile, folder: Path, archive: str) -> Unpacked:
    members = packed.infolist()
    if len(members) > MOST_MEMBERS:
        raise Refused(
            f"{archive} holds {len(members)} files and folders, and the most is {MOST_MEMBERS}. "
            "Nothing in it is graded."
        )
    unsafe: dict[str, str] = {}
    wanted: list[_Member] = []
    for name, member in ((_name(one), one) for one in members):
        if not name:  # the folder itself
            continue
        why = "" if is_hidden(PurePosixPath(name).name) else _unsafe(name)
        if why:
            unsafe[clean(name, 120)] = why
        elif not any(is_hidden(part) for part in PurePosixPath(name).parts):
            wanted.append(_Member(PurePosixPath(name), member, name.endswith("/")))
    total = sum(member.info.file_size for member in wanted if member.is_kept)
    if total > LARGEST_UNPACKED_BYTES:
        raise Refused(
            f"{archive} holds notebooks of {size_text(total)} together, and the most is "
            f"{size_text(LARGEST_UNPACKED_BYTES)}. Nothing in it is graded: is it a bomb?"
        )
    refused = _written(packed, wanted, folder, archive)
    made = max((one.info.date_time for one in wanted), default=())
    return Unpacked(folder, refused, _said(unsafe, archive), ":".join(f"{n:02}" for n in made))


def _name(member: zipfile.ZipInfo) -> str:
    """A member's path. UTF-8 that does not say so is taken for it."""
    name = member.orig_filename
    if not member.flag_bits & _UTF8:
        with contextlib.suppress(UnicodeError):  # else an old tool's: read as the format says
            name = name.encode("cp437").decode()
    # tools of Windows part folders with a backslash, and others begin each name with `./`
    parts = unicodedata.normalize("NFC", name.replace("\\", "/")).split("/")
    return "/".join(part for part in parts if part != ".")


def _unsafe(name: str) -> str:
    """Why nothing may be written under this name, or ""."""
    parts = name.rstrip("/").split("/")
    if name.startswith("/") or (len(parts[0]) == 2 and parts[0][1] == ":"):
        return "is absolute"
    if any(part in ("", ".", "..") for part in parts):
        return "leads elsewhere"
    if len(parts) > _DEEPEST:
        return f"is more than {_DEEPEST} folders deep"
    try:
        long = any(len(part.encode()) > _LONGEST_NAME_BYTES for part in parts)
    except UnicodeEncodeError:
        return "is not Unicode"
    if long:
        return f"is longer than {_LONGEST_NAME_BYTES} bytes"
    if any(unicodedata.category(character)[0] == "C" for character in name):
        return "holds control characters"
    return ""


def _said(unsafe: Mapping[str, str], archive: str) -> tuple[str, ...]:
    if not unsafe:
        return ()
    named = few([f"{name!r} {why}" for name, why in unsafe.items()])
    return (
        f"{archive} holds what is not unpacked and not graded, for its name: {named}. Where "
        "one is a student's notebook, take it out under another name, and `grade` it by itself.",
    )


def _written(
    packed: zipfile.ZipFile, wanted: Sequence[_Member], folder: Path, archive: str
) -> dict[PurePosixPath, Fault]:
    """Puts the folder in place, whole or not at all; gives the files that are not in it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.tmp")
    refused: dict[PurePosixPath, Fault] = {}
    times = Counter(member.path for member in wanted if not member.is_folder)
    try:
        fresh.mkdir()
        for member in wanted:
            what = {"file": clean(member.path.name), "archive": archive}
            try:
                if times[member.path] > 1:
                    raise Fault("packed_twice", **what)
                _write(packed, member, fresh / member.path, what)
            except (FileExistsError, NotADirectoryError):  # a file, and a folder of its name
                refused[member.path] = Fault("packed_twice", **what)
            except Fault as fault:
                refused[member.path] = fault
        os.sync()
        if not folder.is_dir():
            try:
                fresh.rename(folder)
            except OSError:
                if not folder.is_dir():  # else a run beside this one was first, with the same bytes
                    raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return refused


def _write(packed: zipfile.ZipFile, member: _Member, target: Path, what: dict[str, str]) -> None:
    """Writes one member: a folder, a notebook, or an empty file for anything else."""
    (target if member.is_folder else target.parent).mkdir(parents=True, exist_ok=True)
    if member.is_folder:
        return
    kind = stat.S_IFMT(member.info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise Fault("link", file=what["file"])
    if kind not in (0, stat.S_IFREG):
        raise Fault("not_a_file", file=what["file"], kind="pipe or a device")
    data = _data(packed, member, what) if member.is_kept else b""
    with target.open("xb") as file:
        file.write(data)


def _data(packed: zipfile.ZipFile, member: _Member, what: dict[str, str]) -> bytes:
    info = member.info
    if info.flag_bits & _ENCRYPTED:
        raise Fault("encrypted", **what)
    if info.compress_type not in _METHODS:
        raise Fault("packed_badly", detail="it is packed in an unusual way", **what)
    limit = LARGEST_METADATA_BYTES if member.path.name == METADATA else LARGEST_NOTEBOOK_BYTES
    if info.file_size > limit:
        sizes = {"size": size_text(info.file_size), "limit": size_text(limit)}
        raise Fault("too_large", file=what["file"], **sizes)
    try:
        with packed.open(info) as source:
            return source.read(limit + 1)  # never more than its size in the list
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError) as error:
        raise Fault("packed_badly", detail=clean(str(error), 120), **what) from error
