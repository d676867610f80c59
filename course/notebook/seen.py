"""A verdict with pictures of the learner's own kernel.

Who touches which element stands on a small case (`course.notebook.film`), and what a loop carries
(`course.notebook.running`). Lanes and sectors are the verdict's own case: it is launched once more,
and the first requests of each access are kept, one warp's, of the first block or program.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, chain

from course.check.cases import drawn_case, ordered_cases, run_of
from course.check.reading import chosen, read_solution
from course.check.traced import maker_of
from course.engine.faults import KernelFault, Outcome
from course.engine.job import Run
from course.engine.requests import Request, Requests
from course.engine.runner import Engine
from course.figures.access import access_picture
from course.figures.bank_use import bank_picture, served
from course.figures.picture import Picture
from course.figures.steps import Steps
from course.notebook.film import FAULTS, dealt, film
from course.notebook.launched import Launched, launched, on_small_case
from course.notebook.running import running
from course.plain.banks import BANK_BYTES
from course.plain.sectors import SECTOR_BYTES
from course.plain.text import code_at
from course.spec.exercise import KernelExercise
from course.words.panel import html_panel
from course.words.verdict import Verdict, text_panel, wrapped

#: Characters of a line of code that a picture's title has room for.
LONGEST_CODE = 58
#: In one output: a picture has 25 KB. Few accesses have several requests each.
MOST_PICTURES = 6
#: Characters of all pictures of one output; the last ones are left out.
LARGEST = 260_000
#: Launches in which a loop is followed until one has several turns.
_FOLLOWED = 3
_VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


@dataclass(frozen=True, repr=False)
class DrawnVerdict(Verdict):
    """A verdict; below its panel, pictures."""

    pictures: tuple[Steps, ...] = ()

    def __str__(self) -> str:
        said = [line for steps in self.pictures for line in wrapped(repr(steps), "    ")]
        return "\n".join([text_panel(self), *said])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join([html_panel(self), *(steps._repr_html_() for steps in self.pictures)])


def with_worst(exercise: KernelExercise, verdict: Verdict) -> Verdict:
    """What costs too much, with a picture of the access that does so most.

    What is wrong, with every access on a small case, and what a loop carries there.
    """
    marked = {line.number for line in verdict.lines if line.marked}
    if verdict.outcome is Outcome.TOO_MUCH_TRAFFIC and verdict.line is not None:
        marked = {verdict.line}
        cost, picture, requests = _sectors, _of_sectors, Requests()
    elif verdict.outcome is Outcome.BANK_CONFLICTS:
        cost, picture, requests = _turns, _of_banks, Requests(shared=True)
    elif verdict.outcome in (*FAULTS, Outcome.WRONG_ANSWER) and verdict.case_number:
        small = on_small_case(exercise, verdict.source)
        loop = [] if verdict.outcome in FAULTS else _wrong_loop(exercise, verdict, small)
        return _drawn(verdict, [*film(exercise, verdict, small), *loop])
    else:
        return verdict
    every = _kept(exercise, verdict, requests)
    there = [
        kept
        for kept in every
        if kept[0].line in marked and not (requests.shared and kept[0].lane_bytes > BANK_BYTES)
    ]
    worst = max(there, key=lambda kept: cost(kept[0]), default=None)
    return _drawn(verdict, [] if worst is None else [_steps(worst, verdict, picture)])


def _wrong_loop(exercise: KernelExercise, verdict: Verdict, small: Launched) -> list[Steps]:
    """What the loop carries of whoever writes the first wrong element of the small case."""
    maker = None if exercise.gluon else maker_of(exercise, small.case, verdict.source)
    if maker is not None:
        small = launched(exercise, small.case, verdict.source, maker=maker)
    return running(exercise, verdict, [small])


def with_all(exercise: KernelExercise, verdict: Verdict) -> Verdict:
    """A verdict with pictures of all that the kernel does.

    Its accesses on a small case, what its loop carries, who works, and what a warp's requests touch
    of global memory: of more than `MOST_PICTURES` accesses, those that touch most sectors.
    """
    if not verdict.case_number:
        return verdict
    requests = Requests()
    every = _kept(exercise, verdict, requests)
    most = sorted(every, key=lambda kept: -_sectors(kept[0]))[:MOST_PICTURES]
    each = max(1, MOST_PICTURES // max(1, len(most)))
    shown = [kept[:each] for kept in every if kept in most]
    lanes = [_steps(kept, verdict, _of_sectors) for kept in shown]
    own = ordered_cases(exercise, exercise.cases)[verdict.case_number - 1]
    # another GPU than the stated one has other multiprocessors
    who = [] if requests.last is None or exercise.target else [dealt(requests.last, own)]
    small = on_small_case(exercise, verdict.source)
    larger = ordered_cases(exercise, exercise.cases)[: _FOLLOWED - 1]
    others = (launched(exercise, case, verdict.source) for case in larger)
    loop = running(exercise, verdict, chain([small], others))
    return _drawn(verdict, [*film(exercise, verdict, small), *loop, *who, *lanes])


def _kept(exercise: KernelExercise, verdict: Verdict, requests: Requests) -> list[list[Request]]:
    """What the case of a verdict asks for, access by access; up to its fault, where it has one."""
    with contextlib.suppress(KernelFault):  # the verdict tells of it
        Engine(compiles=False, requests=requests)(run_of_verdict(exercise, verdict))
    return requests.by_access()


def run_of_verdict(exercise: KernelExercise, verdict: Verdict) -> Run:
    """The launch of the case that a verdict shows, on the inputs that the check drew."""
    case = ordered_cases(exercise, exercise.cases)[verdict.case_number - 1]
    constants = chosen(read_solution(verdict.source, exercise), exercise)
    arguments = drawn_case(exercise, case, constants)
    return run_of(exercise, case, constants, verdict.source, arguments)


def _drawn(verdict: Verdict, pictures: Sequence[Steps]) -> Verdict:
    if not pictures:
        return verdict
    sizes = accumulate(len(steps._repr_html_()) for steps in pictures)
    pictures = [one for one, so_far in zip(pictures, sizes, strict=True) if so_far <= LARGEST]
    same = {field.name: getattr(verdict, field.name) for field in fields(Verdict)}
    return DrawnVerdict(**same, pictures=tuple(pictures))


def _steps(
    kept: Sequence[Request], verdict: Verdict, picture: Callable[[Request, str], Picture]
) -> Steps:
    """The first requests of one access."""
    first = kept[0]
    code = code_at(verdict.source, first.line, LONGEST_CODE)
    title = (
        f"Line {first.line}, {first.direction} of {first.array}: what warp {first.warp} asks for"
    )
    return Steps(title, [picture(one, code) for one in kept], "request")


def _of_sectors(request: Request, title: str) -> Picture:
    return access_picture(request.lanes, request.lane_bytes, title, _VERBS[request.direction])


def _of_banks(request: Request, title: str) -> Picture:
    return bank_picture(request.lanes, title, _VERBS[request.direction])


def _sectors(request: Request) -> int:
    """How many 32-byte sectors its lanes touch."""
    ends = (0, request.lane_bytes - 1)
    lanes = [lane for lane in request.lanes if lane is not None]
    return len({(lane + end) // SECTOR_BYTES for lane in lanes for end in ends})


def _turns(request: Request) -> int:
    """How many turns its fullest bank takes."""
    return max(map(len, served(request.lanes).values()))
