"""A lesson's source file: its cells, and what must hold of them before anything is built.

`solutions/NN_STEM.py` is the one source of a lesson, in jupytext's percent format. A cell's
name says what it is: `# %% vector_add` holds the solution of the exercise `vector_add`,
`# %% vector_add_check` its check, `# %% [markdown] explain_warps` a written answer. Every
other cell is ordinary.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path

from autograder.lessons.percent import Problem, SourceError, blocks, headers
from course.check.source import markers
from course.spec.exercise import Exercise

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
STUB = "..."
#: nbgrader acts on a line that holds one of these, wherever it stands
_RESERVED = ("BEGIN HIDDEN TESTS", "END HIDDEN TESTS", "BEGIN MARK SCHEME", "END MARK SCHEME")
_RESERVED_ANYWHERE = ("BEGIN SOLUTION", "END SOLUTION", *_RESERVED)
_AUTOTEST = "AUTOTEST"
_FILE_NAME = re.compile(r"(?P<number>\d\d)_(?P<stem>[a-z][a-z0-9_]*)")
_CHECK = "_check"
_EXPLAIN = "explain_"


class Kind(Enum):
    """What a cell is to the build."""

    PROSE = "prose"
    CODE = "code"
    SOLUTION = "solution"
    CHECK = "check"
    EXPLAIN = "explain"


@dataclass(frozen=True)
class Cell:
    """One cell of a lesson. `line` is that of its `# %%` in the file, from 1."""

    kind: Kind
    name: str
    source: str
    line: int
    tags: tuple[str, ...] = ()

    @property
    def is_markdown(self) -> bool:
        return self.kind in (Kind.PROSE, Kind.EXPLAIN)


@dataclass(frozen=True)
class Lesson:
    """A lesson that holds together: every exercise has its two cells, every region its end."""

    path: Path
    cells: tuple[Cell, ...]
    exercises: tuple[Exercise, ...]

    @property
    def name(self) -> str:
        """`01_threads`, the name of its notebooks."""
        return self.path.stem

    @property
    def stem(self) -> str:
        """`threads`, the name of its modules."""
        return self.name.partition("_")[2]

    @cached_property
    def solutions(self) -> dict[str, str]:
        """The solution cell of each exercise as a learner would have written it."""
        cells = (cell for cell in self.cells if cell.kind is Kind.SOLUTION)
        return {cell.name: without_markers(cell.source) for cell in cells}

    @cached_property
    def starters(self) -> dict[str, str]:
        """The solution cell of each exercise as a learner first sees it."""
        cells = (cell for cell in self.cells if cell.kind is Kind.SOLUTION)
        return {cell.name: without_spare_stub(starter(cell.source)) for cell in cells}


def lesson_files(root: Path) -> list[Path]:
    """The lesson sources below `root`, in the course's order."""
    return sorted((root / "solutions").glob("*.py"))


def solved_cells(root: Path, stem: str) -> dict[str, str]:
    """A lesson's cells by name, without the markers of its solutions; none without the lesson.

    Nothing is checked here, and jupytext, which takes two seconds to import, is not asked.
    """
    files = [path for path in lesson_files(root) if path.stem.partition("_")[2] == stem]
    cells = [block for path in files for block in blocks(path.read_text(encoding="utf-8"))[1]]
    return {cell.title: without_markers(cell.body) for cell in cells}


def read_lesson(path: Path, exercises: Sequence[Exercise]) -> Lesson:
    """Reads and checks a lesson's source.

    Args:
        path: `solutions/NN_STEM.py`.
        exercises: what `course/exercises/STEM.py` declares.

    Raises:
        SourceError: with a sentence and a line for everything that is wrong.
    """
    if not _FILE_NAME.fullmatch(path.stem):
        sentence = (
            "expected a file name of two digits, an underscore and the lesson's stem in small "
            f"letters, such as 01_threads.py, got {path.name}."
        )
        raise SourceError([Problem(path, 1, sentence)])
    cells = _cells(path, {exercise.name for exercise in exercises})
    problems = [
        *_unknown_names(path, cells, exercises),
        *_duplicates(path, cells),
        *_pairs(path, cells, exercises),
        *_regions(path, cells),
    ]
    if not problems:
        problems = list(_code(path, cells))
    if problems:
        raise SourceError(sorted(problems, key=lambda problem: problem.line))
    return Lesson(path, tuple(cells), tuple(exercises))


def _cells(path: Path, names: set[str]) -> list[Cell]:
    import jupytext  # late: it takes two seconds to import

    try:
        text = path.read_text(encoding="utf-8")
        notebook = jupytext.reads(text, fmt="py:percent")
    except UnicodeDecodeError as error:
        raise SourceError([Problem(path, 1, f"expected UTF-8 text: {error}.")]) from error
    except Exception as error:  # jupytext and nbformat raise many kinds
        first = str(error).partition("\n")[0]
        raise SourceError(
            [Problem(path, 1, f"jupytext cannot read this file: {first}.")]
        ) from error
    lines = _lines(text, [cell.source for cell in notebook.cells])
    return [
        Cell(
            kind=_kind(cell.cell_type, cell.metadata.get("title", ""), names),
            name=cell.metadata.get("title", ""),
            source=cell.source,
            line=line,
            tags=tuple(cell.metadata.get("tags", ())),
        )
        for cell, line in zip(notebook.cells, lines, strict=True)
    ]


def _lines(text: str, sources: list[str]) -> list[int]:
    """The line on which each cell starts: a `# %%` inside a cell's text starts none."""
    candidates = headers(text)
    lines = []
    after = 0
    for source in sources:
        line = next((n for n in candidates if n > after), 1)
        lines.append(line)
        after = line + source.count("\n") + 1 if source else line
    return lines


def _kind(cell_type: str, name: str, names: set[str]) -> Kind:
    if cell_type != "code":
        return Kind.EXPLAIN if name.startswith(_EXPLAIN) else Kind.PROSE
    if name in names:
        return Kind.SOLUTION
    return Kind.CHECK if name.endswith(_CHECK) else Kind.CODE


def _unknown_names(
    path: Path, cells: Iterable[Cell], exercises: Sequence[Exercise]
) -> Iterable[Problem]:
    names = [exercise.name for exercise in exercises]
    stem = path.stem.partition("_")[2]
    for cell in cells:
        exercise = cell.name.removesuffix(_CHECK) if cell.kind is Kind.CHECK else cell.name
        holds_solution = cell.kind is Kind.CODE and BEGIN in cell.source
        if exercise in names or not (cell.kind is Kind.CHECK or holds_solution):
            continue
        known = ", ".join(names) or "none yet"
        if cell.name:
            sentence = (
                f"the cell {cell.name!r} belongs to no exercise of this lesson. "
                f"course/exercises/{stem}.py declares: {known}."
            )
        else:
            sentence = (
                "a solution region stands in a cell without a name. Name it after its exercise: "
                f"`# %% NAME`, one of: {known}."
            )
        yield Problem(path, cell.line, sentence)


def _duplicates(path: Path, cells: Iterable[Cell]) -> Iterable[Problem]:
    first: dict[str, int] = {}
    for cell in cells:
        if cell.name and cell.name in first:
            yield Problem(
                path,
                cell.line,
                f"a cell named {cell.name!r} stands on line {first[cell.name]} already. "
                "Names are cells' identities: give this one another.",
            )
        first.setdefault(cell.name, cell.line)


def _pairs(path: Path, cells: Sequence[Cell], exercises: Sequence[Exercise]) -> Iterable[Problem]:
    stem = path.stem.partition("_")[2]
    at = {cell.name: index for index, cell in reversed(list(enumerate(cells))) if cell.name}
    for exercise in exercises:
        name = exercise.name
        call = f"ex.{name}.check({name})"
        solution, check = at.get(name), at.get(name + _CHECK)
        if solution is None or cells[solution].kind is not Kind.SOLUTION:
            sentence = (
                f"course/exercises/{stem}.py declares {name!r}, which no cell here solves. "
                f"Add a code cell `# %% {name}` with its solution, or remove the spec."
            )
            yield Problem(path, 1, sentence)
        elif check is None:
            sentence = (
                f"the solution cell {name!r} has no check cell. "
                f"Add `# %% {name}{_CHECK}` below it, holding one line: {call}"
            )
            yield Problem(path, cells[solution].line, sentence)
        elif check < solution:
            sentence = f"{name + _CHECK!r} stands above its solution cell. Move it below."
            yield Problem(path, cells[check].line, sentence)
        if check is not None and cells[check].source.strip() != call:
            got = cells[check].source.strip().partition("\n")[0] or "an empty cell"
            sentence = (
                f"expected one line in {name + _CHECK!r}: {call} and nothing else, got: {got}"
            )
            yield Problem(path, cells[check].line, sentence)


def _regions(path: Path, cells: Iterable[Cell]) -> Iterable[Problem]:
    for cell in cells:
        allowed = cell.kind in (Kind.SOLUTION, Kind.EXPLAIN)
        opened: int | None = None
        regions = 0
        for number, line in enumerate(cell.source.split("\n"), cell.line + 1):
            mark = next((word for word in _RESERVED_ANYWHERE if word in line), None)
            if mark is None:
                if _AUTOTEST in line and not cell.is_markdown:
                    yield Problem(path, number, f"nbgrader acts on {_AUTOTEST}: use another word.")
                continue
            if mark in _RESERVED:
                yield Problem(path, number, f"a lesson holds no hidden tests: remove {mark!r}.")
            elif not allowed:
                if cell.name or cell.is_markdown:
                    sentence = (
                        f"{mark!r} stands in a cell that is neither an exercise's solution nor a "
                        "written answer (`# %% [markdown] explain_NAME`)."
                    )
                    yield Problem(path, number, sentence)
            elif line.strip() not in (BEGIN, END):
                sentence = f"expected a line that holds {BEGIN!r} or {END!r} alone, got: {line}"
                yield Problem(path, number, sentence)
            elif mark in BEGIN:
                if opened is not None:
                    sentence = f"the solution region of line {opened} has no {END!r} before this."
                    yield Problem(path, number, sentence)
                opened = number
                regions += 1
            else:
                if opened is None:
                    yield Problem(path, number, f"{END!r} ends a region that no {BEGIN!r} opens.")
                opened = None
        if opened is not None:
            yield Problem(path, opened, f"this solution region has no {END!r} in its cell.")
        if allowed and not regions:
            what = "solution" if cell.kind is Kind.SOLUTION else "model answer"
            sentence = (
                f"the cell {cell.name!r} has no {BEGIN!r} and {END!r} around its {what}, "
                "so students would receive it whole or not at all."
            )
            yield Problem(path, cell.line, sentence)


def _code(path: Path, cells: Iterable[Cell]) -> Iterable[Problem]:
    for cell in cells:
        if cell.kind is not Kind.SOLUTION:
            continue
        for what, source in (("solution", cell.source), ("starter", starter(cell.source))):
            try:
                tree = ast.parse(source)
            except SyntaxError as error:
                line = cell.line + (error.lineno or 1 if what == "solution" else 0)
                sentence = f"the {what} of {cell.name!r} is not Python: {error.msg}."
                yield Problem(path, line, sentence)
                break
            stubs = len(markers(tree))
            expected = 0 if what == "solution" else cell.source.count(BEGIN)
            if stubs != expected:
                sentence = (
                    f"the {what} of {cell.name!r} should hold {expected} marker statements "
                    f"`{STUB}`, one a region in the starter and none in the solution, got {stubs}."
                )
                yield Problem(path, cell.line, sentence)


def starter(source: str) -> str:
    """A solution cell with each region replaced by the stub, as nbgrader replaces it."""
    lines = []
    inside = False
    for line in source.split("\n"):
        if BEGIN in line:
            inside = True
            lines.append(line[: line.index(BEGIN)] + STUB)
        elif END in line:
            inside = False
        elif not inside:
            lines.append(line)
    return "\n".join(lines)


def without_spare_stub(source: str) -> str:
    """A starter without the stub below a table of answers, whose entries are stubs themselves.

    As the last line of its cell it would show `Ellipsis`, and ask to be replaced like an entry.
    """
    table, line, rest = source.rpartition(f"\n{STUB}")
    if not line or rest.strip():
        return source
    last = ast.parse(table).body[-1:]
    answers = [node.value for node in last if isinstance(node, ast.Assign)]
    values = [value for found in answers if isinstance(found, ast.Dict) for value in found.values]
    open_ones = [v for v in values if isinstance(v, ast.Constant) and v.value is Ellipsis]
    return table if open_ones else source


def without_markers(source: str) -> str:
    """A solution cell without the two marker lines of each region."""
    return "\n".join(line for line in source.split("\n") if line.strip() not in (BEGIN, END))


def regions(source: str) -> list[list[str]]:
    """The lines of each solution region, without its markers."""
    found: list[list[str]] = []
    inside = False
    for line in source.split("\n"):
        if BEGIN in line:
            inside = True
            found.append([])
        elif END in line:
            inside = False
        elif inside:
            found[-1].append(line)
    return found
