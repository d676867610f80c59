"""`python -m autograder similar PATH...`: answers alike where the course and the class are not.

PATH is what `grade` takes. OUT/similar.html shows each two answers side by side, with what both
have and hardly anybody else. Names, comments, numbers and the order of independent statements do
not count. Nor does what the course itself shows (starters, solutions, the wrong and
right kernels that it expects), nor what more than a tenth of the class has. It is evidence to look
at and never a verdict; docs/instructors.md says how to use it. Nothing is executed.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

from autograder import Refused
from autograder.grading.anonymous import pseudonyms, without_texts
from autograder.grading.children import in_children
from autograder.grading.database import has_ledger
from autograder.grading.files import write
from autograder.grading.grade import DEFAULT_OUT, Asked, collected, say_sentences
from autograder.grading.judging import Run
from autograder.grading.kernel_shape import statements_of
from autograder.grading.names import few
from autograder.grading.report_pages import SIMILAR
from autograder.grading.roster import class_roster
from autograder.grading.seeds import chosen_folder
from autograder.grading.store import Store
from autograder.grading.submissions import Submission, parse, read_bytes
from autograder.judge import overlay
from autograder.judge.sentences import Fault
from autograder.lessons.catalogue import lesson_exercises, lesson_name
from course import exercises
from course.check.annotated import LONGEST_LINE, MOST_LINES
from course.engine.faults import Outcome
from course.plain.text import counted, lines_of, unstacked
from course.spec.exercise import KernelExercise

#: Statements of which a class has more than these shares are anybody's.
_COMMON_PART, _COMMON_FEW, _COMMON_MANY = 10, 3, 50
#: Whole answers that were written independently share 3 statements at most (the honest variants
#: of lessons 01 to 10), and answers of fewer have nothing to compare.
FEWEST_SHARED = 6
#: Of the statements of the answer that has fewer.
LEAST_SHARE = 0.6
#: A page of so many with their cells has some 2 MB.
MOST_ON_PAGE = 200
_NAMED = 8


@dataclass(frozen=True)
class Answer:
    """One solution cell: whose it is, where it stands, and the marks of its statements."""

    students: tuple[str, ...]
    path: Path
    exercise: str
    marks: frozenset[int]
    lesson: str = ""


@dataclass(frozen=True)
class Match:
    """Answers that are alike, those on one side among themselves the same.

    Attributes:
        shared: marks that both sides have and hardly anybody else.
        of: how many such marks the two sides have each.
    """

    sides: tuple[tuple[Answer, ...], tuple[Answer, ...]]
    shared: frozenset[int]
    of: tuple[int, int]


@dataclass(frozen=True)
class Compared:
    """What came of one exercise.

    Attributes:
        answers: how many were attempted.
        same: how many are the commonest one, spelling aside.
        usual: how many have so little of their own that nothing can be said of them.
        common: held by more answers than this, a statement is anybody's.
    """

    exercise: str
    answers: int
    same: int
    usual: int
    common: int
    matches: list[Match]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="what was handed in")
    parser.add_argument(
        "--out", type=Path, default=DEFAULT_OUT, metavar="DIR", help=f"default: {DEFAULT_OUT}"
    )
    parser.add_argument("--roster", type=Path, metavar="FILE", help="the class, as for `grade`")
    parser.add_argument("--seed", metavar="DIR", help="as for `grade`: its settings hold here, too")
    parser.add_argument(
        "--anonymous",
        action="store_true",
        help="pseudonyms for names, and neither comments nor texts of the cells",
    )


def main(args: argparse.Namespace) -> int:
    """Writes the page, and returns 0 (done) or 1 (without some notebooks)."""
    run = Run()
    place = args.out / SIMILAR
    try:
        overlay.use(chosen_folder(args.seed))
        asked = Asked(roster=class_roster(args.roster))
        submissions = collected(args.paths, args.out, run, asked, _with_lessons)
        compared = [one for stem in exercises.stems() for one in _lesson(stem, submissions, run)]
        matches = ranked(match for one in compared for match in one.matches)
        if any(one.answers for one in compared):
            store = Store(args.out) if has_ledger(args.out) else None
            called = pseudonyms(args.out) if args.anonymous else None
            made = page(compared, matches, called, store)
            write(place, [made.encode("utf-8", "replace")])
    except OSError as error:
        raise Refused(f"Cannot write {place}: {error.strerror}.") from error
    say_sentences(run, args.out, args.anonymous)
    answers = sum(one.answers for one in compared)
    if not answers:
        raise Refused("There is no answer here to compare.")
    tried = counted(sum(one.answers > 0 for one in compared), "exercise")
    print(
        f"{place}: {counted(answers, 'answer')} to {tried}, {counted(len(matches), 'pair')} to "
        "look at. What they share is evidence, and no verdict."
    )
    return 1 if run.problems else 0


# ---------------------------------------------------------------- reading


def _with_lessons(submissions: Iterable[Submission]) -> Iterator[Submission]:
    """The submissions, with the lesson of those whose names do not tell, read from their cells."""
    unknown: dict[Path, list[Submission]] = defaultdict(list)
    for one in submissions:
        if one.stem is None and one.fault is None:
            unknown[one.path].append(one)
        else:
            yield one
    for path, stem in in_children(_stem_of, list(unknown)):
        for one in unknown[path]:
            if stem:
                yield replace(one, stem=stem, notebook=lesson_name(stem))
            else:
                yield replace(one, fault=Fault("no_graded_cells"))


def _stem_of(path: Path) -> str:
    try:
        return parse(read_bytes(path)).stem() or ""
    except Fault:
        return ""


def _lesson(stem: str, submissions: Iterable[Submission], run: Run) -> Iterator[Compared]:
    """The answers to each exercise of a lesson, compared."""
    names = [e.name for e in lesson_exercises(stem) if isinstance(e, KernelExercise)]
    whose: dict[Path, list[str]] = defaultdict(list)
    for one in submissions:
        if one.stem == stem and one.fault is None and names:
            whose[one.path].append(one.student)
    if not whose:
        return
    answers: dict[str, list[Answer]] = {name: [] for name in names}
    for (path, _), said in in_children(_marks, [(path, names) for path in whose]):
        students = tuple(whose[path])
        if said is None or "fault" in said:
            why = said["fault"] if said else "Reading it took too long or too much memory."
            run.problems.append(f"Not compared: {', '.join(students)}, {lesson_name(stem)}. {why}")
            continue
        for name, marks in said["marks"].items():
            answers[name].append(Answer(students, path, name, frozenset(marks), lesson_name(stem)))
    starters, known = course_marks(stem)
    for name in names:
        listed = sorted(answers[name], key=lambda one: one.students)
        yield compare(name, listed, starters.get(name, frozenset()), known)


def _marks(item: tuple[Path, Sequence[str]]) -> dict[str, Any]:
    """The marks of each of these exercises' cells in a notebook."""
    path, names = item
    found = {}
    try:
        notebook = parse(read_bytes(path))
    except Fault as fault:
        return {"fault": fault.sentence}
    for name in names:
        try:
            found[name] = sorted(_marks_of(notebook.solution(name)))
        except Fault:
            continue  # no cell, or none that can be read: `grade` says so
    return {"marks": found}


def course_marks(stem: str) -> tuple[dict[str, frozenset[int]], frozenset[int]]:
    """(the starters' marks by exercise, the marks of all code that the course has for a lesson)

    All lessons' own cells count, for an answer may be made of an earlier lesson's.
    """
    from autograder.proof.witness import starters_of, witnesses_of

    try:
        starters = {name: _marks_of(source) for name, source in starters_of(stem).items()}
    except LookupError:  # a lesson of the instructor's own, whose source is elsewhere
        starters = {}
    witnesses = (_marks_of(witness.source) for witness in witnesses_of(stem))
    return starters, _lessons_marks().union(*witnesses, *starters.values())


@cache
def _lessons_marks() -> frozenset[int]:
    from autograder.lessons.percent import blocks
    from autograder.lessons.source import lesson_files, without_markers
    from autograder.proof.witness import ROOT

    cells = (c for path in lesson_files(ROOT) for c in blocks(path.read_text(encoding="utf-8"))[1])
    code = (cell.body for cell in cells if not cell.title.startswith("[markdown]"))
    return frozenset().union(*(_marks_of(without_markers(body)) for body in code))


def _marks_of(source: str) -> frozenset[int]:
    return frozenset(one.mark for one in statements_of(source))


# ---------------------------------------------------------------- comparing


def compare(
    exercise: str, answers: Sequence[Answer], starter: Collection[int], known: Collection[int]
) -> Compared:
    """Which of the answers to an exercise have statements in common that hardly anybody has.

    Args:
        starter: marks of what everybody was given.
        known: marks of what the course shows or expects.
    """
    tried = [one for one in answers if not one.marks <= set(starter)]
    holders = Counter(mark for one in tried for mark in one.marks)
    common = min(max(_COMMON_FEW, len(tried) // _COMMON_PART), _COMMON_MANY)
    anybodys = {mark for mark, count in holders.items() if count > common} | set(known)
    alike: dict[frozenset[int], list[Answer]] = defaultdict(list)
    for one in tried:
        alike[one.marks - anybodys].append(one)
    groups = [(own, tuple(g)) for own, g in alike.items() if len(own) >= FEWEST_SHARED]
    matches = [Match((g[:1], g[1:]), own, (len(own),) * 2) for own, g in groups if len(g) > 1]
    having: dict[int, list[int]] = defaultdict(list)
    for number, (own, _) in enumerate(groups):
        for mark in own:
            having[mark].append(number)
    together = Counter(pair for numbers in having.values() for pair in combinations(numbers, 2))
    for (first, second), count in together.items():
        own, others = groups[first][0], groups[second][0]
        fewer = min(len(own), len(others))
        if count >= max(FEWEST_SHARED, LEAST_SHARE * fewer):
            sides = groups[first][1], groups[second][1]
            matches.append(Match(sides, own & others, (len(own), len(others))))
    same = max(Counter(one.marks for one in tried).values(), default=0)
    usual = len(tried) - sum(len(g) for _, g in groups)
    return Compared(exercise, len(tried), same, usual, common, matches)


def ranked(matches: Iterable[Match]) -> list[Match]:
    """First those whose students are alike in most exercises, then those that share most."""
    listed = list(matches)

    def pair(match: Match) -> frozenset[tuple[str, ...]]:
        return frozenset(side[0].students for side in match.sides)

    times = Counter(map(pair, listed))

    def key(match: Match) -> Any:
        whose = sorted(pair(match))
        return -times[pair(match)], whose, -len(match.shared), match.sides[0][0].exercise

    return sorted(listed, key=key)


# ---------------------------------------------------------------- the page


@dataclass(frozen=True)
class Side:
    """One of two answers as the page shows it.

    `lines`: (text, which of the shared statements begins there, 0 for none).
    """

    students: str
    verdict: str
    lines: list[tuple[str, int]]
    own: int


def page(
    compared: Sequence[Compared],
    matches: Sequence[Match],
    called: Callable[[str], str] | None = None,
    store: Store | None = None,
) -> str:
    """The page: what was compared, and each match side by side.

    Args:
        called: what students are called on a page without names.
        store: where the verdicts are, if there are any yet.
    """
    from autograder.grading.report import environment

    shown = matches[:MOST_ON_PAGE]

    def verdict(answer: Answer) -> str:
        whose = answer.students[0], answer.lesson, answer.exercise
        graded = store.last(*whose) if store is not None else None
        if graded is None:
            return ""
        came = f", handed in {graded.handed_in}" if graded.handed_in and not called else ""
        return f"{Outcome(graded.outcome).label}{came}. "

    cells = _cells(shown, called is not None)
    return (
        environment()
        .get_template("similar.html")
        .render(
            compared=[one for one in compared if one.answers],
            matches=[(match, _sides(match, cells, called or str, verdict)) for match in shown],
            left=len(matches) - len(shown),
            fewest=FEWEST_SHARED,
        )
    )


def _cells(matches: Iterable[Match], anonymous: bool) -> Mapping[tuple[Path, str], Any]:
    """By file and exercise, the text of a cell and the lines of its marks."""
    wanted = {(side[0].path, side[0].exercise) for match in matches for side in match.sides}
    found = in_children(_cell, [(*one, anonymous) for one in sorted(wanted)])
    return {item[:2]: said or {"source": "", "marks": []} for item, said in found}


def _cell(item: tuple[Path, str, bool]) -> dict[str, Any]:
    path, exercise, anonymous = item
    try:
        source = parse(read_bytes(path)).solution(exercise)
    except Fault:  # it has been replaced since
        return {}
    marks = [(one.mark, one.line) for one in statements_of(source)]
    return {"source": without_texts(source) if anonymous else source, "marks": marks}


def _sides(
    match: Match,
    cells: Mapping[tuple[Path, str], Any],
    called: Callable[[str], str],
    verdict: Callable[[Answer], str],
) -> list[Side]:
    numbered: dict[int, int] = {}
    sides = []
    for answers, own in zip(match.sides, match.of, strict=True):
        cell = cells[answers[0].path, answers[0].exercise]
        at: dict[int, int] = {}
        for mark, line in cell["marks"]:
            if mark in match.shared:
                at.setdefault(line, numbered.setdefault(mark, len(numbered) + 1))
        lines = list(_shown(lines_of(cell["source"]), at))
        names = [called(student) for answer in answers for student in answer.students]
        whose = few(names, _NAMED)
        sides.append(Side(whose, verdict(answers[0]), lines, own))
    return sides


def _shown(code: Sequence[str], numbers: Mapping[int, int]) -> Iterator[tuple[str, int]]:
    """A cell's lines, those with a shared statement first among very many; the others counted."""
    every = range(1, len(code) + 1)
    kept = set(sorted(every, key=lambda n: n not in numbers)[:MOST_LINES])
    for told, group in groupby(every, kept.__contains__):
        own = list(group)
        if told:
            yield from ((unstacked(code[n - 1][:LONGEST_LINE]), numbers.get(n, 0)) for n in own)
        else:
            yield f"… {counted(len(own), 'more line')}", 0
