"""What a learner reads before the first check: the statement of an exercise, and its hints."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from course import exercises
from course.plain.sectors import SECTOR_BYTES
from course.spec import shares
from course.spec.exercise import (
    BUDGET_SLACK,
    FEW_SECTORS,
    SMALL_ROW,
    Array,
    Case,
    Exercise,
    KernelExercise,
    Meta,
    NumberExercise,
    Role,
    Stride,
)
from course.spec.inputs import poison
from course.words.example import example
from course.words.glossary import TERMS
from course.words.panel import code_html, table_html
from course.words.verdict import bytes_text, wrapped

_ROLES = {
    Role.IN: "input, must stay untouched",
    Role.OUT: "output, starts as {poison}",
    Role.INOUT: "input and output",
    Role.ACCUMULATE: "output, starts as {start:g}; add to it",
}
_DIFFICULTY = ("a line", "a few lines", "some thought", "a piece of work", "an evening")
_FORMULA_WORDS = {
    "sectors": "sectors(n) is what n neighbouring elements touch",
    "rows": "rows(m, n) is what m rows of n elements touch",
    "tiles": "tiles(m, n, i, j) is what m rows of n elements touch in tiles of i by j",
    "cdiv": "cdiv(a, b) is a / b rounded up",
    "next_power_of_2": "next_power_of_2(n) is the least power of two that is not below n",
}
#: What decides the points for traffic.
_HOW_BUDGETS_COUNT = (
    "Every case is held to this, counted for its own sizes. The row furthest over its budget "
    "decides, the total among them; a row of "
    f"{SMALL_ROW:.0%} of the total or less, or of up to {FEW_SECTORS} sectors more than its "
    "formula, costs nothing by itself."
)
#: The heading of what is folded away.
_CONTRACT = "The contract"
#: What a warp may do, before lesson 03 says how it is counted.
_EQUAL_PARTS = "about three times what each would make if all made equally many"
#: How many hints of each exercise this process has shown.
_shown: Counter[str] = Counter()


@dataclass(frozen=True, repr=False)
class Hint:
    """One hint: a terminal reads its text, a notebook its HTML."""

    exercise: str
    number: int
    count: int
    text: str

    def __repr__(self) -> str:
        return f"{self._title}: {self.text}"

    def _repr_html_(self) -> str:
        return (
            '<div style="border-left:4px solid #1a73e8;padding:6px 12px;margin:4px 0">'
            f"<strong>{escape(self._title)}</strong><div>{code_html(self.text)}</div></div>"
        )

    @property
    def _title(self) -> str:
        if self.number > self.count:
            return f"{self.exercise}: no hint left"
        return f"{self.exercise}, hint {self.number} of {self.count}"


def next_hint(exercise: Exercise) -> Hint:
    """The next hint; after the last, that there is none left, with the last one again."""
    count = len(exercise.hints)
    number = min(_shown[exercise.name] + 1, count + 1)
    _shown[exercise.name] = number
    if number <= count:
        return Hint(exercise.name, number, count, exercise.hints[number - 1])
    last = f" The last one was: {exercise.hints[-1]}" if count else ""
    told = f"You have seen all {count}." if count else "This exercise has none."
    return Hint(exercise.name, number, count, told + last)


#: What becomes of the values that a cell gives to these names.
_ARE_PUT = "The cell gives each of them a value. The check puts other values in their place."


@dataclass(frozen=True)
class Table:
    """A small table of a statement."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: what a reader needs to know to read it
    note: str = ""


def effort(exercise: Exercise) -> list[tuple[str, str]]:
    """(label, value) pairs: minutes and difficulty, points."""
    words = _DIFFICULTY[min(max(exercise.difficulty, 1), len(_DIFFICULTY)) - 1]
    minutes = f"{exercise.minutes} minutes, difficulty {exercise.difficulty} of 5 ({words})"
    bonus = ", bonus" if exercise.bonus else ", ★ core" if exercise.core else ""
    return [("Effort", minutes), ("Points", f"{exercise.points}{bonus}")]


def contract(exercise: Exercise) -> list[tuple[str, str] | Table]:
    """What a check holds a kernel to: how it is called, on what, and what it may ask for.

    In words that the lessons have introduced by then.
    """
    if not isinstance(exercise, KernelExercise):
        return []
    found: list[tuple[str, str] | Table] = []
    if exercise.returned:
        outputs = ", ".join(array.name for array in exercise.returned)
        found.append(("Called", f"{outputs} = {exercise.name}({_arguments(exercise)})"))
    else:
        found.append(("Launch", f"{exercise.name}{exercise.launch}({_arguments(exercise)})"))
    if exercise.finish_words:
        found.append(("Compared", exercise.finish_words))
    found.append(("Cases", "; ".join(case.label for case in exercise.cases)))
    graded = next((case for case in exercise.cases if case.traffic), None)
    if exercise.budget is not None and graded is not None:
        introduced = _introduced(exercise, "sector")
        found.append((_budget if introduced else _plain_budget)(exercise, graded))
        if exercise.budget.why:
            found.append(("Why this budget" if introduced else "Why", exercise.budget.why))
    limits = [
        f"{words}: {formula}"
        for words, formula in (
            ("divergent branches", exercise.divergent_branches),
            ("extra turns for bank conflicts", exercise.bank_conflicts),
            ("loads of warps from shared memory", exercise.shared_loads),
            ("bytes of shared memory a block", exercise.shared_bytes),
            ("registers a thread", exercise.registers),
            ("bytes of spilled registers a thread", exercise.most_spilled),
            ("bytes from DRAM in the cache model", exercise.dram_bytes),
            *(_work(exercise) if exercise.budget else ()),
        )
        if formula is not None
    ]
    if limits:
        found.append(("At most", "; ".join(limits)))
    return found


def _introduced(exercise: Exercise, term: str) -> bool:
    """Whether a term of the glossary is known by then: the first lesson begins with its kernel."""
    stem = exercises.stem_of(exercise.name)
    return not stem or (stem != exercises.STEMS[0] and TERMS[term][0] <= exercises.notebook(stem))


def _work(exercise: KernelExercise) -> list[tuple[str, str]]:
    if _introduced(exercise, "even share"):
        return shares.words(exercise)
    if _introduced(exercise, "warp"):
        return [("operations of the longest warp", _EQUAL_PARTS)]
    return []


def tables(exercise: Exercise) -> list[Table]:
    """Parameters and constants of a kernel; questions of a numeric exercise."""
    if isinstance(exercise, NumberExercise):
        rows = tuple((key, q.text, q.unit) for key, q in exercise.questions.items())
        asked = Table("Entries", ("entry", "question", "unit"), rows)
        columns = tuple(exercise.columns.items())
        named = Table("Names that a formula may use", ("name", "what it is"), columns, _ARE_PUT)
        return [named, asked] if columns else [asked]
    if not isinstance(exercise, KernelExercise):
        return []
    found = [_parameters(exercise)]
    if exercise.constants:
        rows = tuple(
            (name, str(constant.default), ", ".join(map(str, constant.choices)))
            for name, constant in exercise.constants.items()
        )
        found.append(Table("Constants of the cell", ("name", "unless set", "choose from"), rows))
    return found


def _arguments(exercise: KernelExercise) -> str:
    return ", ".join(parameter.name for parameter in exercise.passed)


def _parameters(exercise: KernelExercise) -> Table:
    rows = []
    for parameter in exercise.parameters:
        if isinstance(parameter, Array):
            dtype = np.dtype(parameter.dtype)
            start = "NaN" if dtype.kind == "f" else str(poison(dtype))
            role = _ROLES[parameter.role].format(start=parameter.start, poison=start)
            if parameter in exercise.returned:
                role = "output: the launcher makes and returns it"
            shape = _shape(parameter.axes)
            if parameter.within:
                shape += f" within {_shape(parameter.stored_axes)}"
            rows.append((parameter.name, shape, parameter.dtype, role))
        elif isinstance(parameter, Meta):
            rows.append((parameter.name, "constant", "tl.constexpr", f"= {parameter.value}"))
        elif isinstance(parameter, Stride):
            value = f"= {parameter.array}.stride({parameter.axis})"
            rows.append((parameter.name, "scalar", "int32", value))
        else:
            others = any(parameter.name in case.scalars for case in exercise.cases)
            value = f"= {parameter.value}{', or another number' if others else ''}"
            rows.append((parameter.name, "scalar", parameter.dtype, value))
    return Table("Parameters", ("name", "shape", "dtype", "role"), tuple(rows))


def _shape(axes: tuple[str, ...]) -> str:
    return f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"


def _budget(exercise: KernelExercise, graded: Case) -> Table:
    allowed = exercise.budget_sectors(graded)
    least = exercise.least_sectors(graded)
    rows = []
    for row, formula in _budget_words(exercise):
        direction, array = row.split()
        rows.append(
            (
                row,
                formula,
                bytes_text(allowed[array, direction] * SECTOR_BYTES),
                bytes_text(least.get((array, direction), 0) * SECTOR_BYTES),
            )
        )
    used = " ".join([str(exercise.launch), *(formula for _, formula in _budget_words(exercise))])
    title = f"Budget in sectors of {SECTOR_BYTES} bytes, and in bytes at {graded.label}"
    head = ("access", "sectors", "budget", "least")
    return Table(title, head, tuple(rows), f"{_defined(used)}{_HOW_BUDGETS_COUNT}")


def _defined(formulas: str) -> str:
    """What the functions of formulas are."""
    words = [text for name, text in _FORMULA_WORDS.items() if f"{name}(" in formulas]
    return f"Here {'; '.join(words)}. " if words else ""


def _plain_budget(exercise: KernelExercise, graded: Case) -> tuple[str, str]:
    """The same for whoever has not met sectors yet."""
    allowed = exercise.budget_sectors(graded)
    verbs = {"load": "reads", "store": "writes", "atomic": "updates"}
    rows = [
        f"{verbs[direction]} at most {bytes_text(sectors * SECTOR_BYTES)} of {array}"
        for (array, direction), sectors in allowed.items()
    ]
    defined = _defined(str(exercise.launch)).rstrip()
    return f"Memory, at {graded.label}", f"{', '.join(rows)}. {defined}"


def _budget_words(exercise: KernelExercise) -> list[tuple[str, str]]:
    """(row, formula) as enforced: ``("load a", "1.1 x sectors(N)")``."""
    if exercise.budget is None:
        return []
    found = []
    for row, formula in exercise.budget.rows.items():
        single = isinstance(ast.parse(formula.strip(), mode="eval").body, ast.Call | ast.Name)
        found.append((row, f"{BUDGET_SLACK:g} x {formula if single else f'({formula})'}"))
    return found


def statement_text(exercise: Exercise) -> str:
    """The statement for a terminal: an example, the task, and last what the check holds it to."""
    out = [f"{exercise.name}: {exercise.title}"]
    if isinstance(exercise, KernelExercise):
        out += ["  For example", *_columns(example(exercise), "    ")]
    out += wrapped(exercise.task, "  ")
    for table in tables(exercise):
        out += _table_text(table, "  ")
    out += [f"  {label}: {value}" for label, value in effort(exercise)]
    if parts := contract(exercise):
        out.append(f"  {_CONTRACT}")
    for part in parts:
        if isinstance(part, Table):
            out += _table_text(part, "    ")
        else:
            out += wrapped(": ".join(part), "    ")
    out.append(f"  Next: ex.{exercise.name}.check({exercise.name})   ·   ex.{exercise.name}.hint()")
    return "\n".join(out)


def _table_text(table: Table, indent: str) -> list[str]:
    rows = _columns([table.head, *table.rows], f"{indent}  ")
    return [*wrapped(table.title, indent), *rows, *wrapped(table.note, f"{indent}  ")]


def _columns(rows: Sequence[tuple[str, ...]], indent: str) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        lines.append(f"{indent}{'  '.join(padded)}".rstrip())
    return lines


def statement_html(exercise: Exercise) -> str:
    """The statement for a notebook: headings and tables, everything escaped."""
    out = [
        '<div style="padding:4px 0">',
        f"<strong>{escape(exercise.name)}: {escape(exercise.title)}</strong>",
    ]
    if isinstance(exercise, KernelExercise):
        rows = example(exercise)
        out.append(table_html("For example", ("", "name", "values"), rows, code=(2,)))
    out.append(f'<p style="margin:4px 0">{code_html(exercise.task)}</p>')
    out += [_table_html(table) for table in tables(exercise)]
    out += [_fact_html(label, value) for label, value in effort(exercise)]
    if parts := contract(exercise):
        inside = "".join(
            _table_html(part) if isinstance(part, Table) else _fact_html(*part) for part in parts
        )
        summary = f'<summary style="display:list-item">{_CONTRACT}</summary>'
        out.append(f'<details style="margin:4px 0">{summary}{inside}</details>')
    return "".join([*out, "</div>"])


def _table_html(table: Table) -> str:
    note = f'<div style="margin:2px 0">{escape(table.note)}</div>' if table.note else ""
    return table_html(table.title, table.head, table.rows, wrap=range(1, 4)) + note


def _fact_html(label: str, value: str) -> str:
    return f'<div style="margin:2px 0"><strong>{escape(label)}:</strong> {code_html(value)}</div>'
