"""What a notebook holds for Colab: a cell that sets the course up, and a badge that opens it there.

The cell looks for `course` and does nothing where that is. Elsewhere it unpacks the course's wheel,
which is all that installing a wheel of pure Python takes: nothing else is looked at or upgraded,
and a browser may have renamed the file. The code is folded away: a learner has no use for it.
"""

from __future__ import annotations

import base64
import io
import lzma
import re
import zipfile
from pathlib import Path
from textwrap import wrap
from typing import Any

from autograder import Refused

#: Where notebooks install the course from: this repository as it is hosted, `https://github.com/...`
#: (with `@BRANCH` at the end where that is not main), or a wheel. Empty: they ask for the wheel.
ADDRESS = ""

#: How Colab and JupyterLab are told that the code is folded, and that it is nobody's to change.
METADATA: dict[str, Any] = {
    "cellView": "form",
    "jupyter": {"source_hidden": True},
    "editable": False,
    "deletable": False,
}

_CELL = """\
#@title Set up: run this first
# Installs the course where it is missing, and nothing else: what Colab has stays as it is.
from importlib.util import find_spec

if find_spec("course") is None:

    class Missing(Exception):
        def _render_traceback_(self):
            return [str(self)]

    try:
{taken}
    except Exception as problem:
        print(f"That did not work: {{problem}}")
    if find_spec("course") is None:
        raise Missing(
            "{said}")

import course.gpu.lacking

course.gpu.lacking.tell()"""
_FROM_PIP = """\
        %pip install -q --no-deps "{what}\""""
_CARRIED = """\
        import base64, io, lzma, sysconfig, zipfile

        wheel = io.BytesIO(lzma.decompress(base64.b64decode("{carried}")))
        zipfile.ZipFile(wheel).extractall(sysconfig.get_path("purelib"))"""
_FOUND = """\
        import glob, io, os, sys, sysconfig, zipfile

        wheel = None
        for place in (".", "/content/drive/MyDrive", "/content/drive/MyDrive/*"):
            found = glob.glob(place + "/gpu_kernel_course-*.whl")
            wheel = wheel or max(found, key=os.path.getmtime, default=None)
        if wheel is None and "google.colab" in sys.modules:
            from google.colab import files

            print("Please choose gpu_kernel_course-...whl: it came with this notebook.")
            wheel = next(map(io.BytesIO, files.upload().values()), None)
        if wheel is not None:
            zipfile.ZipFile(wheel).extractall(sysconfig.get_path("purelib"))"""
_MISSING = (
    "The course is not installed here. {otherwise} On a computer of your own, the course's README "
    "says how to set up."
)

_ADDRESS = re.compile(r"https://[\w.~+:/@-]+")
_ON_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?(?:@([\w./-]+))?/?")


def set_up(address: str = ADDRESS, carried: str = "") -> str:
    """The cell's text.

    Args:
        address: of the repository or of a wheel.
        carried: a wheel as `packed` writes it, which goes before any address.

    Raises:
        Refused: for what is no address.
    """
    if carried:
        taken = _CARRIED.format(carried=carried)
        otherwise = "This notebook carries it: open the file again as you were given it."
    elif address:
        if not _ADDRESS.fullmatch(address):
            raise Refused(
                "Expected the address of a repository or a wheel, such as "
                f"https://github.com/NAME/COURSE, got {address!r}."
            )
        taken = _FROM_PIP.format(what=address if address.endswith(".whl") else f"git+{address}")
        otherwise = f"pip says above why it did not come from {address}."
    else:
        taken = _FOUND
        otherwise = (
            "On Colab, run this cell again and choose gpu_kernel_course-...whl, which came with "
            "this notebook; or put it into your Drive and open that at the left."
        )
    lines = wrap(_MISSING.format(otherwise=otherwise), 80)
    return _CELL.format(taken=taken, said=' "\n            "'.join(lines))


def badge(name: str, address: str = ADDRESS) -> str:
    """Markdown that opens the notebook `01_threads` on Colab, or "" where GitHub has none."""
    found = _ON_GITHUB.fullmatch(address)
    if found is None:
        return ""
    place = f"{found[1]}/blob/{found[2] or 'main'}/notebooks/{name}.ipynb"
    return (
        "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
        f"(https://colab.research.google.com/github/{place})"
    )


def packed(wheel: Path) -> str:
    """A wheel as text for a notebook: its files, compressed together, take two thirds of it."""
    plain = io.BytesIO()
    with zipfile.ZipFile(wheel) as given, zipfile.ZipFile(plain, "w") as stored:
        for name in given.namelist():
            stored.writestr(zipfile.ZipInfo(name), given.read(name))
    return base64.b64encode(lzma.compress(plain.getvalue(), preset=9)).decode()
