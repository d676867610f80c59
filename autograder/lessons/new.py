"""`python -m autograder new NAME`: the files of a new exercise, with their gaps marked.

The scaffold is an exercise that works, a copy of `x` to `y`: spec, lesson cells, two
witnesses and hidden ranges; a Triton kernel where the lesson has some. Each place that is to be
rewritten says TO WRITE, and `make check` names every one that is left.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import keyword
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.lessons.build import ROOT, place
from autograder.lessons.source import lesson_files
from autograder.proof.verify import GAP
from autograder.proof.witness import witness_file

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NUMBERED = re.compile(r"(?P<number>\d\d)_(?P<stem>[a-z][a-z0-9_]*)")
#: Lessons from this number on are primers, which follow no order.
FIRST_PRIMER = 90
#: What cells of lessons import: a kernel of such a name would stand in its place.
_USED_IN_CELLS = ("course", "cuda", "ex", "math", "np", "tl", "torch", "triton")


class NameRefused(ValueError):
    """A name that an exercise or a lesson cannot have, and why."""


SPEC = """
{name} = KernelExercise(
    name="{name}",
    title="{gap}: the title",
    task="{gap}: the task, with the shapes of x and y",
    points=4,
    minutes=20,
    difficulty=2,
    hints=(
        "{gap}: a question that shows where to look",
        "{gap}: a hint that leaves one step to do",
    ),
    full=case(N=1 << 24),  # {gap}: the sizes that a GPU is timed on
    parameters={parameters},
    reference={reference},  # {gap}: the reference, in float64
    cases=(case(N=1), case(N=1000), case(True, N=4096)),  # {gap}: the visible cases
    launch={launch},
    # {gap}: the budget, which is what the worst honest design asks for
    budget=Budget({{"load x": "sectors(N)", "store y": "sectors(N)"}}),
)
"""

LESSON_HEAD = """\
# %% [markdown]
# # {gap}: the lesson's title
#
# {gap}: the question that the lesson answers

# %%
import course
from course import exercises as ex
"""
LESSON_CELLS = """
# %% [markdown]
# ## {gap}: the title of {name}
#
# {gap}: the statement of {name}

# %% {name}
{kernel}

# %% {name}_check
ex.{name}.check({name})
"""

WITNESS_HEAD = """\
# Wrong kernels with the verdict that each must get, and honest ones that must pass.
"""


@dataclass(frozen=True)
class Language:
    """What a scaffold has of its own in Numba CUDA, and in Triton."""

    spec_names: tuple[str, ...]
    launch_name: str
    parameters: str
    reference: str
    launch: str
    kernel: str
    witnesses: str


NUMBA = Language(
    ("Array", "Budget", "KernelExercise", "Role", "case"),
    "Launch",
    '(Array("x", "N"), Array("y", "N", Role.OUT))',
    'lambda x: {"y": x}',
    'Launch("cdiv(N, 256)", "256")',
    """\
from numba import cuda


@cuda.jit
def {name}(x, y):
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i]  # {gap}: the solution, and what each line reads and writes
    ### END SOLUTION
""",
    """
# %% {name} no_guard -> OUT_OF_BOUNDS
# {gap}: why a learner writes this
- if i < y.size:
-     y[i] = x[i]
+ y[i] = x[i]

# %% {name} early_return -> PASS
# {gap}: what is different here, and as good
- if i < y.size:
-     y[i] = x[i]
+ if i >= y.size:
+     return
+ y[i] = x[i]
""",
)
TRITON = Language(
    ("Array", "Budget", "KernelExercise", "Meta", "Role", "Scalar", "case"),
    "Programs",
    """(
        Array("x", "N"),
        Array("y", "N", Role.OUT),
        Scalar("N", "N", "int32"),
        Meta("BLOCK", "1024"),
    )""",
    'lambda x, N: {"y": x}',
    'Programs("cdiv(N, 1024)")',
    """\
import triton
import triton.language as tl


@triton.jit
def {name}(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    ### BEGIN SOLUTION
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(y_ptr + offsets, x, mask=inside)  # {gap}: the solution, and what each line reads
    ### END SOLUTION
""",
    """
# %% {name} no_mask -> OUT_OF_BOUNDS
# {gap}: why a learner writes this
- x = tl.load(x_ptr + offsets, mask=inside)
- tl.store(y_ptr + offsets, x, mask=inside)
+ x = tl.load(x_ptr + offsets)
+ tl.store(y_ptr + offsets, x)

# %% {name} other_given -> PASS
# {gap}: what is different here, and as good
- x = tl.load(x_ptr + offsets, mask=inside)
+ x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
""",
)

HIDDEN_NAMES = ("Draws", "between", "multiples")
HIDDEN_HEAD = '''\
"""Ranges of held-out cases."""

HIDDEN = {
}
'''
HIDDEN_ENTRY = """\
    # {gap}: the ranges of {name}
    "{name}": (
        Draws(N=between(1, 64)),
        Draws(N=between(257, 5000)),
        Draws(traffic=True, N=multiples(128, 2048, 8192)),
    ),
"""


def scaffold(root: Path, name: str, lesson: str = "") -> list[Path]:
    """Writes the files of a new exercise, or adds it to those that there are.

    Args:
        root: the repository.
        name: the exercise's, and its kernel's.
        lesson: the stem of a lesson (`threads`), or a new lesson with its number (`06_norms`);
            if empty, the last lesson.

    Returns:
        the files written.

    Raises:
        NameRefused: for a name that cannot be, or is there already. Nothing is written then.
    """
    _refuse_name(root, name)
    source = _lesson_file(root, name, lesson)
    stem = source.stem.partition("_")[2]
    spec = root / "course" / "exercises" / f"{stem}.py"
    hidden = root / "autograder" / "hidden" / f"{stem}.py"
    language = TRITON if "import triton" in _read(source) else NUMBA
    fill = {"name": name, "gap": GAP}
    kernel = language.kernel.format(**fill)
    declared = SPEC.format(
        parameters=language.parameters,
        reference=language.reference,
        launch=language.launch,
        **fill,
    )
    contents = {
        spec: with_import(
            with_import(
                _read(spec) or f'"""{GAP}: what the lesson is about."""\n',
                "course.spec.exercise",
                language.spec_names,
            ),
            "course.spec.launching",
            (language.launch_name,),
        )
        + declared,
        source: _cells_added(
            source, LESSON_HEAD.format(**fill), LESSON_CELLS.format(kernel=kernel, **fill)
        ),
        witness_file(stem, root): _cells_added(
            witness_file(stem, root), WITNESS_HEAD, language.witnesses.format(**fill)
        ),
        hidden: with_entry(
            with_import(_read(hidden) or HIDDEN_HEAD, "autograder.hidden", HIDDEN_NAMES),
            HIDDEN_ENTRY.format(**fill),
        ),
    }
    for path, text in contents.items():
        place(path, text.encode())
    return list(contents)


def _read(path: Path) -> str:
    """The file's text with one newline at its end, or '' where there is none."""
    return path.read_text(encoding="utf-8").rstrip("\n") + "\n" if path.exists() else ""


def _cells_added(path: Path, head: str, cells: str) -> str:
    """The file's text with `cells` below, two lines apart as ruff wants it; or a new file's."""
    there = _read(path)
    return f"{there}\n{cells}" if there else head + cells


def _refuse_name(root: Path, name: str) -> None:
    from course import exercises

    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise NameRefused(
            f"{name!r} cannot name an exercise. Expected small letters, digits and underscores, a "
            "letter first, and no word of Python's own: it names the kernel, too."
        )
    if name.endswith("_check") or name.startswith("explain_"):
        raise NameRefused(
            f"{name!r} cannot name an exercise: NAME_check and explain_NAME are names of cells."
        )
    if name in _USED_IN_CELLS:
        raise NameRefused(f"{name!r} is a name that the cells of lessons use. Choose another name.")
    for path in sorted((root / "course" / "exercises").glob("*.py")):
        if path.stem == name:
            raise NameRefused(f"{name!r} is a lesson: `ex.{name}` means its module.")
        if name in _assigned(path):
            raise NameRefused(f"course/exercises/{path.name} has a {name!r} already.")
    if name in vars(exercises):
        raise NameRefused(f"`ex.{name}` means something else already. Choose another name.")


def _assigned(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    targets = [t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _lesson_file(root: Path, name: str, lesson: str) -> Path:
    """The lesson's source, which need not exist yet."""
    files = {path.stem.partition("_")[2]: path for path in lesson_files(root)}
    if lesson in files:
        return files[lesson]
    numbered = _NUMBERED.fullmatch(lesson)
    if numbered is not None and numbered["stem"] in files:
        return files[numbered["stem"]]
    if lesson and numbered is None:
        known = ", ".join(files) or "none yet"
        close = difflib.get_close_matches(lesson, files, 1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise NameRefused(
            f"There is no lesson {lesson!r}.{meant} There are: {known}. A new one is named with "
            "its number, such as 06_norms."
        )
    if numbered is not None and numbered["stem"] == name:
        raise NameRefused(f"A lesson and its exercise cannot share the name {name!r}.")
    if numbered is not None:
        taken = [path for path in files.values() if path.name.startswith(f"{numbered['number']}_")]
        if taken:
            raise NameRefused(f"The number {numbered['number']} is that of {taken[0].name}.")
        return root / "solutions" / f"{lesson}.py"
    lessons = [path for path in files.values() if int(path.name[:2]) < FIRST_PRIMER]
    if not lessons:
        raise NameRefused(
            "There is no lesson yet. Name the first one with its number, such as 00_start."
        )
    return lessons[-1]


def with_import(text: str, module: str, names: Iterable[str]) -> str:
    """The Python text with `names` imported from `module`, where and as ruff sorts imports."""
    body = ast.parse(text).body
    documented = ast.get_docstring(ast.Module(body, [])) is not None
    above = (body[0].end_lineno or 0) if documented else 0
    lines = text.splitlines(keepends=True)
    gap = "\n" if above else ""
    added = f"{gap}from {module} import {', '.join(names)}\n"
    own = 'lint.isort.known-first-party = ["course", "autograder"]'
    short = "lint.isort.split-on-trailing-comma = false"
    options = ("--isolated", "--line-length", "100", "--config", own, "--config", short)
    return subprocess.run(
        (sys.executable, "-m", "ruff", "check", "-q", "--fix-only", "--select=I", *options, "-"),
        input="".join([*lines[:above], added, *lines[above:]]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def with_entry(text: str, entry: str) -> str:
    """The text of a hidden file with an entry more at the end of HIDDEN.

    Raises:
        NameRefused: where HIDDEN is no dict that ends on a line of its own.
    """
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == "HIDDEN" for t in targets):
            last = (node.end_lineno or node.lineno) - 1
            if lines[last].strip() == "}":
                return "".join([*lines[:last], entry, *lines[last:]])
    raise NameRefused("The hidden file has no dict HIDDEN that ends with } on a line of its own.")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what `python -m autograder new` understands."""
    parser.add_argument("name", metavar="NAME", help="the exercise's name, such as row_max")
    parser.add_argument(
        "--lesson",
        default="",
        metavar="STEM",
        help="a lesson (threads), or a new one with its number (06_norms); "
        "without it, the last lesson",
    )
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="the repository (default: this one)"
    )


def main(args: argparse.Namespace) -> int:
    """Writes the scaffold and says what comes next; 2 for a name that is refused."""
    root = args.root.resolve()
    try:
        written = scaffold(root, args.name, args.lesson)
    except (NameRefused, SyntaxError) as error:
        print(f"{error} Nothing was written.", file=sys.stderr)
        return 2
    for path in written:
        print(f"wrote {path.relative_to(root)}")
    stem, lesson = written[0].stem, written[1].relative_to(root)
    print(f"Each place to fill says {GAP}. The cells stand at the end of {lesson}: move them where")
    print(f"they fit. Then: make build, and `python -m autograder check {stem}`, which names what")
    print("is left. make check looks at every lesson.")
    return 0
