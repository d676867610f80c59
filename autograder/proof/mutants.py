"""Wrong kernels and wrong answers, made from right ones by small edits of the syntax tree.

A mutant is a whole solution cell with one edit of `autograder.proof.mutant_statements` or
`autograder.proof.mutant_expressions`, or, where the cell is Triton's, of
`autograder.proof.mutant_triton`.
Numeric exercises have their entries changed by one, by a factor, or left out.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autograder.proof.mutant_expressions import EXPRESSION_RULES, ExpressionRule
from autograder.proof.mutant_scope import Scope, same
from autograder.proof.mutant_statements import BODY_RULES, STATEMENT_RULES, BodyRule, StatementRule
from autograder.proof.mutant_triton import (
    TRITON_BODY_RULES,
    TRITON_EXPRESSION_RULES,
    TRITON_STATEMENT_RULES,
)
from course.spec.exercise import Exercise, KernelExercise, NumberExercise
from course.spec.formula import Number, evaluate

#: A changed entry is off by more than this many times its question's tolerance.
CLEARLY_WRONG = 2.0
#: Mutants of one Triton exercise: they run longer than Numba's, and a long kernel makes hundreds.
MOST_TRITON = 60
#: What an edit needs that names a smaller type; it is no part of the edit.
_HELPER = "import numpy as np"


@dataclass(frozen=True)
class Mutant:
    """One solution cell with one edit.

    Attributes:
        rule: the name of the edit.
        was: the lines that went, without indentation, joined by " ; " ("" where none went).
        becomes: the lines that came, likewise.
        occurrence: 1, or the how-manieth with the same texts in this exercise.
        line: of the edit, in the solution as `ast.unparse` writes it.
    """

    exercise: str
    rule: str
    was: str
    becomes: str
    occurrence: int
    line: int
    source: str

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What names it in the list of equivalent mutants."""
        return (self.exercise, self.was, self.becomes, self.occurrence)

    @property
    def diff(self) -> str:
        """The edit in two lines."""
        return f"    - {self.was or '(nothing)'}\n    + {self.becomes or '(nothing)'}"


def mutants_of(exercise: Exercise, solution: str) -> tuple[Mutant, ...]:
    """Every mutant of one solution cell, each text once, in the order of the rules."""
    tree = ast.parse(solution)
    original = ast.unparse(tree)
    if isinstance(exercise, NumberExercise):
        edits = _wrong_entries(exercise, tree)
    else:
        assert isinstance(exercise, KernelExercise)
        edits = _wrong_kernels(exercise, tree)
        if exercise.dialect == "triton":
            edits = iter(_spread(list(edits), MOST_TRITON))
    rules: dict[str, str] = {}
    for rule, source in edits:
        rules.setdefault(source, rule)
    rules.pop(original, None)
    found = []
    for source, rule in rules.items():
        was, becomes, line = _difference(original, source)
        found.append(Mutant(exercise.name, rule, was, becomes, 1, line, source))
    # equal texts are told apart by where they stand, whatever the order of the rules
    return _numbered(found)


def _spread(edits: Sequence[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """At most so many different edits: one of every rule in turn, far from the one before."""
    by_rule: dict[str, dict[str, None]] = {}
    for rule, source in edits:
        by_rule.setdefault(rule, {})[source] = None
    turns = sorted(
        (turn, number, rule, source)
        for number, (rule, sources) in enumerate(by_rule.items())
        for turn, source in enumerate(_apart(list(sources)))
    )
    chosen: dict[str, str] = {}
    for _, _, rule, source in turns:
        if len(chosen) < most:
            chosen.setdefault(source, rule)
    return [(rule, source) for source, rule in chosen.items()]


def _apart(sources: list[str]) -> list[str]:
    """The first, the one in the middle, then the middles of what lies between."""
    order: list[int] = []
    parts = 1
    while len(order) < len(sources):
        for part in range(parts):
            at = part * len(sources) // parts
            if at not in order:
                order.append(at)
        parts *= 2
    return [sources[at] for at in order]


def _numbered(mutants: Sequence[Mutant]) -> tuple[Mutant, ...]:
    places: dict[tuple[str, str], list[int]] = {}
    for number in sorted(range(len(mutants)), key=lambda n: mutants[n].line):
        places.setdefault((mutants[number].was, mutants[number].becomes), []).append(number)
    occurrence = {n: k for group in places.values() for k, n in enumerate(group, 1)}
    return tuple(replace(m, occurrence=occurrence[n]) for n, m in enumerate(mutants))


def _difference(before: str, after: str) -> tuple[str, str, int]:
    """(lines that went, lines that came, line of the first change), indentation left aside."""
    if _HELPER not in before:
        after = after.removeprefix(f"{_HELPER}\n")
    old, new = ([line.strip() for line in text.splitlines()] for text in (before, after))
    if old == new:  # a line stands elsewhere: its indentation says where
        old, new = before.splitlines(), after.splitlines()
    went: list[str] = []
    came: list[str] = []
    first = 0
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag != "equal":
            first = first or i1 + 1
            went += old[i1:i2]
            came += new[j1:j2]
    return " ; ".join(went), " ; ".join(came), first


# ------------------------------------------------------------------ kernels


@dataclass(frozen=True)
class _Place:
    """Where a node hangs in its tree."""

    parent: ast.AST
    field: str
    index: int | None

    @property
    def node(self) -> Any:
        value = getattr(self.parent, self.field)
        return value if self.index is None else value[self.index]


def _places(root: ast.AST) -> Iterator[_Place]:
    """Every place below `root`, parents first, in the order of the text."""
    for field, value in ast.iter_fields(root):
        if isinstance(value, ast.AST):
            yield _Place(root, field, None)
            yield from _places(value)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield _Place(root, field, index)
                    yield from _places(item)


@dataclass(frozen=True)
class _Rules:
    """The edits of one dialect, by name."""

    bodies: Mapping[str, BodyRule]
    statements: Mapping[str, StatementRule]
    expressions: Mapping[str, ExpressionRule]


_NUMBA = _Rules(BODY_RULES, STATEMENT_RULES, EXPRESSION_RULES)
_TRITON = _Rules(TRITON_BODY_RULES, TRITON_STATEMENT_RULES, TRITON_EXPRESSION_RULES)


def _wrong_kernels(exercise: KernelExercise, tree: ast.Module) -> Iterator[tuple[str, str]]:
    numba = exercise.dialect == "numba"
    rules = _NUMBA if numba else _TRITON
    for function in (node for node in tree.body if isinstance(node, ast.FunctionDef)):
        yield from _in_function(tree, function, Scope.of(tree, function), rules)
    chosen = set(exercise.constants)  # another allowed choice is no mistake
    for statement in tree.body:
        if numba and isinstance(statement, ast.Assign):
            names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
            if not names & chosen:
                yield from _in_expressions(tree, statement, Scope.of(tree, None), rules)


def _in_function(
    tree: ast.Module, function: ast.FunctionDef, scope: Scope, rules: _Rules
) -> Iterator[tuple[str, str]]:
    for name, body_rule in rules.bodies.items():
        for body in body_rule(function.body, scope):
            yield name, _with(tree, _Place(function, "body", None), body)
    for place in list(_places(function)):
        node = place.node
        if isinstance(node, ast.stmt) and place.index is not None:
            block = getattr(place.parent, place.field)
            for name, statement_rule in rules.statements.items():
                for new in statement_rule(node, scope):
                    whole = [*block[: place.index], *new, *block[place.index + 1 :]]
                    yield name, _with(tree, _Place(place.parent, place.field, None), whole)
    for statement in function.body:
        yield from _in_expressions(tree, statement, scope, rules)


def _in_expressions(
    tree: ast.Module, statement: ast.stmt, scope: Scope, rules: _Rules
) -> Iterator[tuple[str, str]]:
    for place in list(_places(statement)):
        node = place.node
        if not isinstance(node, ast.expr) or (place.field == "func"):
            continue
        for name, rule in rules.expressions.items():
            for new in rule(node, scope, place.parent):
                if not same(node, new):
                    yield name, _with(tree, place, new)


def _with(tree: ast.Module, place: _Place, new: Any) -> str:
    """The text of `tree` with `new` in `place`; the tree is left as it was."""
    old = getattr(place.parent, place.field)
    if place.index is not None:
        new = [*old[: place.index], new, *old[place.index + 1 :]]
    elif new == [] and place.field == "body":
        new = [ast.Pass()]
    setattr(place.parent, place.field, new)
    try:
        return _complete(ast.unparse(ast.fix_missing_locations(tree)))
    finally:
        setattr(place.parent, place.field, old)


def _complete(source: str) -> str:
    """The cell with the import that an edit may need."""
    return source if "np." not in source or _HELPER in source else f"{_HELPER}\n{source}"


# ------------------------------------------------------------------ numbers


def _wrong_entries(exercise: NumberExercise, tree: ast.Module) -> Iterator[tuple[str, str]]:
    answers = [s for s in tree.body if isinstance(s, ast.Assign) and isinstance(s.value, ast.Dict)]
    entries = answers[-1].value
    assert isinstance(entries, ast.Dict)
    names: dict[str, Number] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and not isinstance(statement.value, ast.Dict):
            known = evaluate(statement.value, names)
            names |= {name.id: known for name in statement.targets if isinstance(name, ast.Name)}
    for index, (key, value) in enumerate(zip(entries.keys, entries.values, strict=True)):
        assert isinstance(key, ast.Constant)
        question = exercise.questions[str(key.value)]
        right = float(evaluate(value, names))
        for name, operator, by, changed in (
            ("one more", ast.Add(), 1, right + 1),
            ("one less", ast.Sub(), 1, right - 1),
            ("twice", ast.Mult(), 2, right * 2),
            ("half", ast.Div(), 2, right / 2),
            ("a tenth more", ast.Mult(), 1.1, right * 1.1),
        ):
            clearly = abs(changed - right) > CLEARLY_WRONG * question.rtol * abs(right)
            if clearly and not question.ranks:  # no such change moves an order
                wrong = ast.BinOp(value, operator, ast.Constant(by))
                yield name, _with(tree, _Place(entries, "values", index), wrong)
        yield "no number", _with(tree, _Place(entries, "values", index), ast.Name("math"))
