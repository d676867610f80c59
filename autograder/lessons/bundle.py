"""`python -m autograder release --out DIR`: what students get, and a proof of what it lacks.

The bundle holds the notebooks, the course as a wheel, the tested versions and instructions.
Before it is put in place every file of it, and every file in the wheel, is searched: no part of
`autograder/`, `solutions/` or `tools/`, no region of a solution, no private seed. A test hands in
every kernel of it for every exercise that it may fit, and none passes.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import nbformat

from autograder import Refused
from autograder.judge import overlay, private
from autograder.lessons import colab
from autograder.lessons.build import ROOT, leaked, read_lessons
from autograder.lessons.build import make as built_notebooks
from autograder.lessons.release import settings
from autograder.lessons.source import Lesson, regions

#: Of requirements.txt: what a learner's own machine needs, by the headings that stand there.
_LEARNERS = ("# what a learner imports", "# what `make lab` opens")
#: Lessons from this number on are primers: they belong to every unit.
_FIRST_PRIMER = 90
_INSTRUCTIONS = """\
# GPU kernels, byte by byte: for students

You need Python 3.11 to 3.14. No GPU is needed. Lessons 06 to 11, 13 and 14 use Triton, which runs
on Linux (or Windows' Linux subsystem, a container, or Colab).

```
python3 -m venv .venv
```

On Linux without an NVIDIA GPU, take PyTorch's CPU build first; it is much smaller:

```
.venv/bin/python -m pip install {torch} --index-url https://download.pytorch.org/whl/cpu
```

Then everywhere:

```
.venv/bin/python -m pip install -r requirements.txt {wheel}
.venv/bin/python -m jupyter lab notebooks
```

{colab}

Open `notebooks/{first}.ipynb` and work downwards. Fill the cells marked with `...`, run the check
below each, and hand in the notebook file itself. Keep the cells as they are: what is graded is the
cell of each exercise, found by its id.{unit}
"""
_COLAB_ALONE = """\
On Colab (https://colab.research.google.com) upload a notebook, and nothing else: its first cell
installs the course."""
_COLAB = """\
On Colab (https://colab.research.google.com) upload a notebook. Its first cell takes `{wheel}` from
your Drive, where you have put it there and opened Drive at the left, or asks for it."""
_UNIT = """

This class takes a unit of the course. These exercises count: {names}. All others are yours to try.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    parser.add_argument(
        "--address",
        default=colab.ADDRESS,
        metavar="URL",
        help="where notebooks install the course from: a repository or a wheel; default: they ask "
        "for the wheel",
    )
    parser.add_argument(
        "--self-contained",
        action="store_true",
        help="each notebook carries the course, so that on Colab it needs nothing else",
    )
    private.add_unit(parser)
    private.add_private(parser)


def main(args: argparse.Namespace) -> int:
    """Makes the bundle, and returns 0."""
    folder = private.found(args.private)
    seeds = [] if folder is None else [private.read(folder)]
    overlay.use(folder, args.unit or "")
    files = make(args.out, seeds, args.address, args.self_contained)
    if seeds:
        print(f"{args.out} holds {files} files. No solution, hidden case or seed is among them.")
    else:
        print(f"{args.out} holds {files} files. No solution and no hidden case is among them.")
        print("No seed was looked for: `python -m autograder init` makes the folder with yours.")
    return 0


def make(
    out: Path,
    seeds: Sequence[bytes],
    address: str = colab.ADDRESS,
    self_contained: bool = False,
) -> int:
    """Makes a student bundle without these seeds, and returns how many files it has.

    Args:
        out: a new folder.
        seeds: what it must not hold.
        address: where its notebooks install the course from (`colab.ADDRESS`).
        self_contained: whether they carry it.

    Raises:
        Refused: where a part of it is missing or would give something away.
    """
    if private.mode(out) and not private.is_folder(out):
        raise Refused(f"{out} is a file. Choose a new folder.")
    if out.exists() and any(out.iterdir()):
        raise Refused(f"{out} is there already and not empty. Choose a new folder.")
    of_class = overlay.active()
    lessons = read_lessons(ROOT)
    taken = [lesson for lesson in lessons if _belongs(lesson, of_class)]
    with tempfile.TemporaryDirectory(prefix="bundle-") as scratch:
        folder = Path(scratch) / "bundle"
        (folder / "notebooks").mkdir(parents=True)
        wheel = _wheel(Path(scratch), folder)
        carried = colab.packed(wheel) if self_contained else ""
        place = Path(scratch) / "built"
        for built in built_notebooks(taken, settings(ROOT), place, address, carried):
            (folder / "notebooks" / f"{built.lesson.name}.ipynb").write_bytes(built.of_class)
        (folder / "requirements.txt").write_text(_requirements())
        counted = [e.name for lesson in taken for e in lesson.exercises if of_class.counts(e)]
        said = "" if of_class.unit == overlay.WHOLE else _UNIT.format(names=", ".join(counted))
        text = _INSTRUCTIONS.format(
            wheel=wheel.name,
            first=taken[0].name,
            unit=said.rstrip(),
            torch=pin("torch"),
            colab=_COLAB_ALONE if carried or address else _COLAB.format(wheel=wheel.name),
        )
        (folder / "README.md").write_text(text)
        found = list(given_away(folder, lessons, seeds))
        if found:
            raise Refused("\n".join(found))
        _put(folder, out)
    return sum(path.is_file() for path in out.rglob("*"))


def _put(folder: Path, out: Path) -> None:
    """Copies the bundle, whole or nothing of it: half of one would be handed out for it.

    Raises:
        Refused: where it cannot be written.
    """
    try:
        shutil.copytree(folder, out, dirs_exist_ok=True)
    except BaseException as error:
        for path in (out / part.name for part in folder.iterdir()):  # and nothing else of there
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        said = error.strerror or error.args[0][0][-1]  # `copytree` tells of each file
        again = "Make room there, or choose another folder."
        raise Refused(f"Cannot write to {out}: {said}. {again}") from error


def _belongs(lesson: Lesson, of_class: overlay.Overlay) -> bool:
    """Whether students get a lesson: the first one and the primers always."""
    number = int(lesson.name.partition("_")[0])
    counted = any(of_class.counts(exercise) for exercise in lesson.exercises)
    return counted or number == 0 or number >= _FIRST_PRIMER


def given_away(folder: Path, lessons: Iterable[Lesson], seeds: Iterable[bytes]) -> Iterator[str]:
    """Sentences about what a bundle holds and must not; none where it is safe."""
    known = {lesson.name: lesson for lesson in lessons}
    solved = {
        _lines("\n".join(region)): f"the solution of {cell.name!r}"
        for lesson in known.values()
        for cell in lesson.cells
        for region in regions(cell.source)
        if any(line.strip() for line in region)
    }
    for name, content in _files(folder):
        for part in ("autograder", "solutions", "tests", "tools", "witnesses"):
            if part in Path(name).parts:
                yield f"{name} is no file for students."
        if any(seed in content for seed in seeds):
            yield f"{name} would hold your seed."
        text = content.decode(errors="replace")
        bare = _lines(text)
        for region, what in solved.items():
            if region in bare:
                yield f"{name} would hold {what}."
        if name.endswith(".ipynb"):
            yield from leaked(known[Path(name).stem], nbformat.reads(text, as_version=4))


def _lines(text: str) -> str:
    """The lines without what indents them, between two ends of lines: whole ones are found."""
    return "\n" + "\n".join(line.strip() for line in text.strip().splitlines()) + "\n"


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of the bundle and of its wheel, by its path in there."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                for name in wheel.namelist():
                    yield name, wheel.read(name)
        elif path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()


def _wheel(scratch: Path, folder: Path) -> Path:
    """The course as a wheel, built from a copy so that nothing stale comes in."""
    copy = scratch / "source"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    left_out = shutil.ignore_patterns("tests", "__pycache__")
    shutil.copytree(ROOT / "course", copy / "course", ignore=left_out)
    for path in overlay.active().files(overlay.EXERCISES):
        shutil.copy(path, copy / "course" / "exercises")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        + ["--disable-pip-version-check", "--wheel-dir", str(folder), str(copy)],
        capture_output=True,
        text=True,
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        lines = done.stderr.strip().splitlines() or ["pip gave no reason"]
        raise Refused(f"The course's wheel cannot be built: {lines[-1]}")
    return wheels[0]


def _requirements() -> str:
    """A learner's part of requirements.txt."""
    kept: list[str] = []
    wanted = False
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        if line.startswith("#"):
            wanted = line in _LEARNERS
        if wanted and line.strip():
            kept.append(line)
    return "\n".join(kept) + "\n"


def pin(package: str) -> str:
    """A package as requirements.txt pins it: ``torch==2.13.0``."""
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return next(line for line in lines if line.startswith(f"{package}==")).partition(";")[0].strip()
