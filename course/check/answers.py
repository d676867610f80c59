"""Numeric exercises: one dict of numbers or arithmetic, evaluated from its syntax tree.

The verdict names every wrong entry and what was given, says a word to known slips, and never
tells the right number.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import math
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from course.check.check import not_measured, refused
from course.check.source import assigning_cell, parsed
from course.engine.faults import KernelFault, Outcome, rejected
from course.plain.text import with_plain_ends
from course.plain.trees import nodes
from course.spec.exercise import Case, NumberExercise, Question
from course.spec.formula import LARGEST_RESULT, NOT_FINITE, FormulaError, Formulas, Number, evaluate
from course.spec.rows import Row, rows_of, seen_by_learner, told
from course.words.near import near
from course.words.phrasing import number, shown
from course.words.sentences import next_step, sentence
from course.words.verdict import Entry, Verdict

#: What arithmetic on floats may lose where a question states no tolerance.
ROUNDING = 1e-9
#: What a number may lose on its way from a cell into a check, as a float32 say.
_AS_PASSED = 1e-6


@dataclass(frozen=True)
class Given:
    """An answer as it was written: its value, or why it has none; of `...`, neither.

    An infinite one has both: a ranking puts it last.
    """

    text: str
    value: Number | None = None
    detail: str = ""


@dataclass(frozen=True)
class _Tried:
    """A case: each of its rows, with the entries as they are there."""

    case: Case
    rows: Sequence[tuple[Row, Mapping[str, Given]]]


#: (the entry, id of what is wrong with it or '', fields of that sentence)
_Judged = tuple[Entry, str, dict[str, object]]


def check_numbers(exercise: NumberExercise, answers: object) -> Verdict:
    """Checks the dict that a learner passed to `.check`.

    In a notebook the newest cell that assigns it is read, as a grader would; elsewhere the
    dict's own values count.
    """
    try:
        source = assigning_cell(exercise.name)
        if source:
            verdict = check_number_source(exercise, source)
            unlike = _unlike(exercise, source, answers)
            return (
                refused(exercise, "number_elsewhere", unlike, source=source) if unlike else verdict
            )
        if not isinstance(answers, Mapping):
            what = "`...`" if answers is ... else f"{shown(repr(answers))[:60]}"
            return refused(exercise, "not_a_dict", {"got": what})
        given = {str(key): _from_value(value) for key, value in answers.items()}
        first = rows_of(exercise, exercise.cases[0])
        return _compared(exercise, [_Tried(exercise.cases[0], [(row, given) for row in first])], "")
    except Exception:
        return not_measured(exercise, traceback.format_exc())


def check_number_source(
    exercise: NumberExercise, source: str, cases: Sequence[Case] | None = None
) -> Verdict:
    """The verdict on a cell's text: its last assignment to the exercise's name counts.

    Args:
        cases: held-out ones; the exercise's own unless told.
    """
    source = with_plain_ends(source)
    try:
        if not source.strip():
            raise KernelFault(Outcome.NOT_ATTEMPTED, "empty_cell")
        body, tried = parsed(source).body, []
        for case in exercise.cases if cases is None else cases:
            formulas = Formulas()
            rows = [
                (row, _read(exercise, body, seen_by_learner(exercise, row), formulas))
                for row in rows_of(exercise, case)
            ]
            tried.append(_Tried(case, rows))
        return _compared(exercise, tried, source)
    except KernelFault as fault:
        found = fault.message_id, fault.fields, fault.outcome
        return refused(exercise, *found, source, fault.line)
    except Exception:
        return not_measured(exercise, traceback.format_exc(), source)


def _read(
    exercise: NumberExercise,
    body: Sequence[ast.stmt],
    put: Mapping[str, Number],
    formulas: Formulas,
) -> dict[str, Given]:
    """The entries, where the names in `put` have these values whatever the cell gives them."""
    cell = _Cell(exercise.name, dict(put), formulas)
    for node in body:
        cell.read(node)
    return cell.entries()


#: Methods of a dict that change it.
_CHANGING = frozenset(("clear", "pop", "popitem", "setdefault", "update"))
#: Whose names are their own.
_SCOPES = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


class _Cell:
    """A cell's statements, read one after the other and never run.

    Followed are the assignments in lines of their own: numbers with names, the dict, and what is
    put into it afterwards. What any other statement sets has no value here, and one that changes
    the dict is refused.
    """

    def __init__(self, name: str, put: dict[str, Number], formulas: Formulas) -> None:
        self._name, self._put, self._formulas = name, put, formulas
        self._numbers: dict[str, Number] = {}
        #: by name without a number, the line that is not followed
        self._lost: dict[str, int] = {}
        self._dict: ast.expr | None = None
        #: the numbers that the dict was made of, and what was put into it afterwards
        self._known: dict[str, Number] = {}
        self._later: list[tuple[str, Given]] = []

    def read(self, node: ast.stmt) -> None:
        """The next statement.

        Raises:
            KernelFault: REJECTED, where it changes the dict and is not followed.
        """
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=target, value=value):
                self._assign(target, value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if name != self._name:
                self._assign(node.target, ast.BinOp(ast.Name(name, ast.Load()), op, value))
            case _:
                self._skip(node)

    def entries(self) -> dict[str, Given]:
        """What the dict has in the end.

        Raises:
            KernelFault: REJECTED or NOT_ATTEMPTED, where there is no such dict.
        """
        found = self._dict
        if found is None:
            raise rejected(None, "no_such_answers")
        if not isinstance(found, ast.Dict):
            if isinstance(found, ast.Constant) and found.value is ...:
                raise KernelFault(Outcome.NOT_ATTEMPTED, "not_attempted_numbers")
            got = f"`{ast.unparse(found)[:60]}`"
            raise rejected(found, "not_a_dict", got=got)
        entries: dict[str, Given] = {}
        for key, value in zip(found.keys, found.values, strict=True):
            name = _key(key, value)
            if name in entries:
                raise rejected(key, "number_duplicate", key=shown(name))
            entries[name] = self._given(value, self._known)
        return entries | dict(self._later)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=self._name):
                self._dict, self._known, self._later = value, dict(self._numbers), []
            case ast.Name():
                self._name_number(target, self._number(value), value)
            case ast.Tuple(elts=targets) if all(isinstance(one, ast.Name) for one in targets):
                values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
                alike = len(values) == len(targets)
                numbers = [self._number(one) for one in values] if alike else [None] * len(targets)
                for one, number_ in zip(targets, numbers, strict=True):
                    self._name_number(one, number_, value)  # type: ignore[arg-type]  # a name
            case ast.Subscript(value=ast.Name(id=self._name), slice=key) if self._dict and value:
                self._later.append((_key(key, value), self._given(value, self._numbers)))
            case _:
                self._skip(target)

    def _number(self, value: ast.expr | None) -> Number | None:
        if value is not None and not self._formulas.spent:
            with contextlib.suppress(FormulaError):
                return self._formulas.evaluate(value, self._numbers, endless=True)
        return None

    def _name_number(
        self, target: ast.Name, value: Number | None, made_of: ast.expr | None
    ) -> None:
        """A number that the cell names, `T = 256`, for the entries below it.

        In the place of the first that a name in `put` gets stands the number there.
        """
        name = target.id
        if name in self._put:
            value = self._put.pop(name)
        if value is None:
            self._lose(name, self._lost_by(made_of) or target.lineno)
        else:
            self._numbers[name] = value

    def _lose(self, name: str, line: int) -> None:
        self._numbers.pop(name, None)
        self._lost[name] = line

    def _lost_by(self, value: ast.expr | None) -> int | None:
        """The line for which the first name that has no number in an expression has none."""
        used = [] if value is None else nodes(value, ast.Name)
        lost = [one.id for one in used if one.id in self._lost and one.id not in self._numbers]
        return self._lost[lost[0]] if lost else None

    def _given(self, value: ast.expr, numbers: Mapping[str, Number]) -> Given:
        given, line = _from_tree(value, numbers, self._formulas), self._lost_by(value)
        if line is None or "has no value here" not in given.detail:
            return given
        return replace(given, detail=f"{given.detail}: line {line} is more than arithmetic")

    def _skip(self, node: ast.AST) -> None:
        """A statement that is not followed: what it sets has no value any more."""
        for part in _own(node):
            match part:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    names = [name]
                case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                    names = [name]
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute)):
                    names = [name] if attribute in _CHANGING else []
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    names = [name]
                case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                    names = [one.asname or one.name for one in aliases]
                case _:
                    continue
            if self._name in names:
                raise rejected(node, "number_changed", name=self._name)
            for name in names:
                self._lose(name, node.lineno)  # type: ignore[attr-defined]  # a statement


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A statement's parts, without those of functions and comprehensions in it."""
    yield node
    if not isinstance(node, _SCOPES):
        for part in ast.iter_child_nodes(node):
            yield from _own(part)


def _key(key: ast.expr | None, value: ast.expr) -> str:
    if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
        got = "an entry whose name is not a text in quotes"
        raise rejected(value, "not_a_dict", got=got)
    return key.value


def _from_tree(node: ast.expr, names: Mapping[str, Number], formulas: Formulas) -> Given:
    if isinstance(node, ast.Constant) and node.value is ...:
        return Given("...")
    text = _text(node)
    try:
        value = formulas.evaluate(node, names, endless=True)
    except FormulaError as error:
        return Given(text, None, str(error))
    return Given(text, value, "" if abs(value) <= LARGEST_RESULT else NOT_FINITE)


@lru_cache(maxsize=256)  # the same for each row of a table
def _text(node: ast.expr) -> str:
    return ast.unparse(node)[:60]


def _unlike(exercise: NumberExercise, source: str, answers: object) -> dict[str, object]:
    """What the learner passed and the cell does not say, as a sentence's fields; or nothing."""
    try:
        cell = _read(exercise, parsed(with_plain_ends(source)).body, {}, Formulas())
    except KernelFault:
        return {}
    passed = answers if isinstance(answers, Mapping) else {}
    for key in dict.fromkeys([*cell, *map(str, passed)]):
        there = cell.get(key, Given("no such entry"))
        got = _from_value(passed[key]) if key in passed else Given("no such entry")
        if None in (there.value, got.value):
            differ = (key in cell) is not (key in passed)
        else:
            differ = not math.isclose(there.value, got.value, rel_tol=_AS_PASSED)  # type: ignore[arg-type]  # neither is None
        if differ:
            return {"key": repr(key), "got": got.text, "there": there.text}
    return {}


def _from_value(value: Any) -> Given:
    if value is ...:
        return Given("...")
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, int | float):
        fits = abs(value) <= LARGEST_RESULT
        return Given(_short(value), value) if fits else Given("a number", None, NOT_FINITE)
    return Given(repr(value)[:60], None, f"a {type(value).__name__}")


def _compared(exercise: NumberExercise, cases: Sequence[_Tried], source: str) -> Verdict:
    given = cases[0].rows[0][1]
    filled = [g for key, g in given.items() if key in exercise.questions and g.text != "..."]
    if not filled and any(g.text == "..." for g in given.values()):
        return refused(exercise, "not_attempted_numbers", {}, Outcome.NOT_ATTEMPTED, source)
    entries = []
    problems: list[tuple[str, dict[str, object]]] = []
    for key, question in exercise.questions.items():
        judged = [_on_case(exercise, key, question, case) for case in cases]
        entry, problem, fields = next((one for one in judged if one[1]), judged[0])
        if not problem:  # what a ranking takes on each case
            entry = replace(entry, remark=" ".join(e.remark for e, _, _ in judged if e.remark))
        entries.append(entry)
        if problem:
            problems.append((problem, fields))
    for key in given:
        if key not in exercise.questions:
            near = difflib.get_close_matches(key, exercise.questions, n=1)
            fields = {"name": exercise.name, "key": repr(key), "near": None}
            problems.append(("number_extra", fields | ({"near": repr(near[0])} if near else {})))
    right = sum(entry.right for entry in entries)
    message_id, first = problems[0] if problems else ("passed_numbers", {})
    message = sentence(message_id, first)
    if len(problems) > 1:
        message += f" {right} of {len(entries)} entries {'is' if right == 1 else 'are'} right."
    return Verdict(
        Outcome.WRONG_ANSWER if problems else Outcome.PASS,
        exercise.name,
        message,
        message_id,
        source=source,
        entries=tuple(entries),
        credit=right / len(entries),
        max_points=exercise.points,
        next_steps=(next_step(message_id, first),) if problems else (),
        commands=(f"ex.{exercise.name}.hint()",) if problems else (),
    )


def _on_case(exercise: NumberExercise, key: str, question: Question, case: _Tried) -> _Judged:
    if question.ranks:
        return _ranked(exercise, key, question, case)
    row, given = case.rows[0]
    entry, problem, fields = _judged(
        exercise, key, question, given.get(key), row, told(exercise, case.case, row)
    )
    first = _off_alike(exercise, key, given, row) if problem == "wrong_number" else None
    if first and not _slip(question, given[key], row):
        remark = f"Off by the same factor as {first!r}: if it is made of that one, mend that first."
        entry = replace(entry, remark=remark)
    return entry, problem, fields


def _off_alike(
    exercise: NumberExercise, key: str, given: Mapping[str, Given], row: Row
) -> str | None:
    """The first entry before this one that is wrong by the factor that this one is wrong by."""

    def off(name: str) -> float:
        right = evaluate(exercise.questions[name].answer, row)
        got = given[name].value if name in given else None
        wrong = right and got and not _equal(got, right, exercise.questions[name].rtol)
        return got / right if got and wrong else 0.0

    names = list(exercise.questions)
    factor = off(key)
    alike = (name for name in names[: names.index(key)] if factor and off(name))
    rtol = exercise.questions[key].rtol
    return next((name for name in alike if _equal(off(name), factor, rtol)), None)


def _slip(question: Question, answer: Given, row: Row) -> str:
    """What is said to a wrong number that a known slip gives, or nothing."""
    for formula, words in question.slips.items():
        if answer.value is not None and _equal(answer.value, evaluate(formula, row), question.rtol):
            return words
    return ""


def _ranked(exercise: NumberExercise, key: str, question: Question, case: _Tried) -> _Judged:
    """A formula that orders rows: the one that it puts first is held to the best of them."""
    values = []
    for row, given in case.rows:
        answer = given.get(key)
        if answer is None or answer.value is None:
            here = told(exercise, case.case, row)
            return _judged(exercise, key, question, answer, row, here)
        values.append(answer.value)
    taken, given = case.rows[values.index(min(values))]
    measured = [evaluate(question.answer, row) for row, _ in case.rows]
    times = evaluate(question.answer, taken) / min(measured)
    slips = [words for formula, words in question.slips.items() if evaluate(formula, taken)]
    remarks = [words.format(**taken, times=times) for words in slips or [question.ranks]]
    right = times <= question.within
    entry = Entry(key, question.text, given[key].text, right, " ".join(remarks))
    fields: dict[str, object] = {
        "name": exercise.name,
        "key": repr(key),
        "question": question.text,
    }
    return entry, "" if right else "badly_ranked", fields


def _judged(
    exercise: NumberExercise,
    key: str,
    question: Question,
    answer: Given | None,
    names: Row,
    here: str,
) -> _Judged:
    asked = f"{question.text} ({question.unit})" if question.unit else question.text
    fields: dict[str, object] = {"name": exercise.name, "key": repr(key), "question": asked}
    if answer is None:
        return Entry(key, asked, "", False, "missing"), "number_missing", fields
    if answer.value is None or answer.detail:
        if answer.text == "...":
            return Entry(key, asked, answer.text, False, "not filled in"), "number_unfilled", fields
        there = f"With {here}: " if here else ""
        entry = Entry(key, asked, answer.text, False, f"{there}{answer.detail}")
        return entry, "number_not_arithmetic", {**fields, "detail": answer.detail}
    text = _short(answer.value)
    shown_text = text if answer.text in (text, repr(answer.value)) else f"{answer.text} = {text}"
    if _equal(answer.value, evaluate(question.answer, names), question.rtol):
        return Entry(key, asked, shown_text, True), "", {}
    remarks = [f"With {here}."] if here and not question.answer.isdecimal() else []
    right = evaluate(question.answer, names)
    remarks.append(_slip(question, answer, names) or near(question, answer.value, right, ROUNDING))
    entry = Entry(key, asked, shown_text, False, " ".join(remarks).rstrip())
    return entry, "wrong_number", {**fields, "got": text}


def _equal(got: Number, expected: Number, rtol: float) -> bool:
    return abs(got - expected) <= max(rtol, ROUNDING) * abs(expected)


def _short(value: Number) -> str:
    return number(value) if isinstance(value, float) else str(value)
