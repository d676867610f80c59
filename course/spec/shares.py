"""How much of the work one warp or one program may do: its share, and some slack.

What all have `done` together is operations of lanes (Numba), or turns of loops that move something
(Triton).

The budget says how many sectors a case takes, and the launch among how many blocks or programs
they are dealt. Whoever does several times an even share keeps the others waiting, on a GPU for as
long as that takes. The slack leaves room for what honest designs do: a last block that finishes a
reduction, one lane that adds up its warp, threads that take several elements each, causal masks.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping
from functools import cache

from course.plain.sectors import SECTOR_BYTES, WARP_LANES
from course.spec.exercise import Case, KernelExercise
from course.spec.formula import evaluate
from course.spec.launching import Launcher
from course.spec.once import of_case

#: The longest warp may make this many times the operations of an even share, and some more for
#: what one lane or one warp finishes for its block: the honest variants take up to 70 for that.
#: But never more than `most_shares` of the exercise, where all have little to do.
WORK_SLACK, WORK_TO_FINISH = 1.5, 115
#: Operations that are nobody's loop: an index, a guard, a load and a store.
LEAST_WORK = 24
#: Operations of a warp that its sectors do not ask for, and those that each sector may: a tree in
#: shared memory takes up to 240, a step through a tile up to 9 a sector.
WORK_OF_A_WARP, WORK_A_SECTOR = 200, 20
#: The busiest program of a cell that launches may ask for this many times an even share of the
#: budget: twice where half of a causal mask is dark, or where a program takes two tiles; the rest
#: is for a larger tile. Blocks, masked lanes with them, may be as large in any launch.
BYTES_SLACK = 3
#: Where the check launches, a program's rows or tile are given: who takes two shares leaves another
#: program without work. The honest designs ask for one, and for what sectors straddle.
GIVEN_SLACK = 1.4
#: Blocks of so many bytes a program may go through whatever its share is, where sizes are no whole
#: sectors: there is less to do than fits in a block, and most of its lanes are masked off.
LEAST_OF_BLOCKS = 49_152
#: Statements of a program that its sectors do not ask for, and those that each sector may: a
#: statement works on a block, and a small block has 32 sectors or so.
STATEMENTS_OF_A_PROGRAM, STATEMENTS_A_SECTOR = 100, 1
#: Turns of loops that move nothing: so many for each that does, since a program may step over the
#: dark half of a causal mask, and so many a program, for arithmetic that is a loop.
IDLE_A_BUSY_TURN, IDLE_A_PROGRAM = 1.5, 16
#: Programs that move nothing: so many an even share (tiles a fourth as wide, half of them dark),
#: and those of a persistent kernel's grid, several an SM of the largest GPU.
IDLE_PROGRAMS_A_SHARE, IDLE_PROGRAMS = 16, 1024
#: Bytes that a launcher may fill beside as many as the budget has: locks, counters, sums.
FILLED_BYTES = 65_536
#: A block at the end has less to do than others, in a ragged case: with fewer shares than these
#: there is no even one, and with more of them the longest may be this many times the limit.
FEWEST_SHARES, RAGGED_SLACK = 4, 3


@of_case
def shares(exercise: KernelExercise, case: Case, constants: Mapping[str, int]) -> float:
    """Among how many blocks or programs the work of a case is dealt, at least.

    A launcher decides that itself: for it the exercise says so. A block at the end of an axis
    counts for the part of it that has something to do, so that `cdiv` is a division here.
    """
    if isinstance(exercise.launch, Launcher):
        names = exercise.names(case, constants)
        return max(1.0, float(evaluate(exercise.shares or "1", names)))
    return math.prod(max(1.0, part) for part in _along(exercise, case, constants))


def _along(exercise: KernelExercise, case: Case, constants: Mapping[str, int]) -> Iterator[float]:
    """Blocks along each axis of a grid, and the part of one that has something to do."""
    names = exercise.names(case, constants)
    assert not isinstance(exercise.launch, Launcher)
    grid = exercise.launch.grid
    for axis in (grid,) if isinstance(grid, str) else grid:
        yield float(evaluate(_parts(axis), names))


@cache
def _parts(formula: str) -> str:
    """A grid's axis in blocks and parts of one: its outer `cdiv` does not round up."""
    tree = ast.parse(formula.strip(), mode="eval").body
    if isinstance(tree, ast.Call) and ast.unparse(tree.func) == "cdiv":
        return ast.unparse(ast.BinOp(tree.args[0], ast.Div(), tree.args[1]))
    return formula


def _share_of_budget(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int]
) -> float | None:
    """The sectors of an even share; None where no budget says how many there are."""
    sectors = _budget(exercise, case, constants)
    return None if sectors is None else sectors / shares(exercise, case, constants)


def _budget(exercise: KernelExercise, case: Case, constants: Mapping[str, int]) -> float | None:
    """All sectors of the budget; None where there is none."""
    if exercise.budget is None:
        return None
    return sum(exercise.budget_sectors(case, constants).values())


@of_case
def _threads(exercise: KernelExercise, case: Case, constants: Mapping[str, int]) -> int:
    """Threads of a block."""
    return math.prod(exercise.launch.values(exercise.names(case, constants))[1])


@of_case
def _lanes(exercise: KernelExercise, case: Case, constants: Mapping[str, int]) -> float:
    """Those that have something to do."""
    blocks = math.prod(_along(exercise, case, constants))
    return max(1.0, blocks * _threads(exercise, case, constants))


def even_work(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], done: int
) -> float:
    """Operations of each lane that has something to do, if these shared all that were made."""
    return done / _lanes(exercise, case, constants)


def even_share(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], done: int
) -> int:
    """What a verdict calls an even share: operations of a lane, or bytes of a program's budget."""
    if exercise.dialect == "numba":
        return math.ceil(even_work(exercise, case, constants, done))
    return math.ceil(SECTOR_BYTES * (_share_of_budget(exercise, case, constants) or 0.0))


@of_case
def enough_work(exercise: KernelExercise, case: Case, constants: Mapping[str, int]) -> float | None:
    """The most operations of a warp, or statements of a program, by what it moves."""
    if exercise.work is not None:
        return float(evaluate(exercise.work, exercise.names(case, constants)))
    sectors = _share_of_budget(exercise, case, constants)
    if sectors is None:
        return None
    if exercise.dialect == "triton":
        return STATEMENTS_OF_A_PROGRAM + STATEMENTS_A_SECTOR * sectors
    warps = max(1.0, _threads(exercise, case, constants) / WARP_LANES)
    return WORK_OF_A_WARP + WORK_A_SECTOR * sectors / warps


def most_work(exercise: KernelExercise, case: Case, constants: Mapping[str, int], done: int) -> int:
    """The most operations of a warp: by what all lanes make, and by the sectors that it moves.

    The first alone would let all do a loop for one that needs it; the second alone would not see
    that one does what others should.
    """
    even = even_work(exercise, case, constants, done)
    fair = max(LEAST_WORK, min(WORK_SLACK * even + WORK_TO_FINISH, exercise.most_shares * even))
    enough = enough_work(exercise, case, constants)
    return math.floor(fair if enough is None else min(fair, enough))


def most_bytes(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], done: int
) -> int | None:
    """The most bytes that a program may ask for."""
    return _bytes(exercise, case, constants, _slack(exercise))


def _slack(exercise: KernelExercise) -> float:
    return BYTES_SLACK if isinstance(exercise.launch, Launcher) else GIVEN_SLACK


def _bytes(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], slack: float
) -> int | None:
    sectors = _share_of_budget(exercise, case, constants)
    return None if sectors is None else math.floor(slack * SECTOR_BYTES * sectors)


def most_of_blocks(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], done: int
) -> int | None:
    """The most bytes of the blocks that a program may go through, whatever their masks leave."""
    most = _bytes(exercise, case, constants, BYTES_SLACK)
    return most if most is None or case.traffic else max(most, LEAST_OF_BLOCKS)


def most_statements(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], done: int
) -> int | None:
    """The most statements that a program may execute."""
    enough = enough_work(exercise, case, constants)
    return None if enough is None else math.floor(enough)


def most_idle_turns(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], done: int
) -> int:
    """The most turns of loops, over all programs, in which a program moves nothing."""
    programs = shares(exercise, case, constants)
    return math.floor(IDLE_A_BUSY_TURN * done + IDLE_A_PROGRAM * programs)


def most_idle_programs(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], done: int
) -> int:
    """The most programs, over all launches, that move nothing."""
    return math.floor(IDLE_PROGRAMS_A_SHARE * shares(exercise, case, constants)) + IDLE_PROGRAMS


def most_unoverlapped(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], done: int
) -> int | None:
    """The most programs whose copies and products wait for each other."""
    launch = exercise.launch
    asked = isinstance(launch, Launcher) and launch.overlapped
    return 0 if asked and case.traffic else None  # there are turns enough


def most_filled(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], done: int
) -> int | None:
    """The most bytes that a launcher may fill with a number: what the launches may move."""
    sectors = _budget(exercise, case, constants)
    return None if sectors is None else math.floor(SECTOR_BYTES * sectors) + FILLED_BYTES


def ragged(
    limit: int | None, exercise: KernelExercise, case: Case, constants: Mapping[str, int]
) -> int | None:
    """What a limit becomes on a case whose sizes are no whole blocks: None in a small one."""
    if limit is None or shares(exercise, case, constants) < FEWEST_SHARES:
        return None
    return RAGGED_SLACK * limit


def words(exercise: KernelExercise) -> list[tuple[str, str]]:
    """(what is bounded, the bound) as a statement tells it."""
    if exercise.dialect == "numba":
        bound = (
            f"{WORK_SLACK:g} even shares of all that are made, and {WORK_TO_FINISH} more; never "
            f"more than {exercise.most_shares:g} even shares"
        )
        enough = exercise.work or f"{WORK_OF_A_WARP} + {WORK_A_SECTOR} for each sector of its share"
        return [("operations of the longest warp", f"{bound}, nor than {enough}")]
    among = f", dealt among {exercise.shares} programs" if exercise.shares else ""
    return [
        (
            "bytes that the busiest program asks for",
            f"{_slack(exercise):g} times an even share of the budget{among}",
        ),
        (
            "bytes of its blocks, masked or not",
            f"{BYTES_SLACK:g} times that share; where sizes are no whole sectors, "
            f"{LEAST_OF_BLOCKS:,} if that is more",
        ),
        (
            "statements of the longest program",
            exercise.work
            or f"{STATEMENTS_OF_A_PROGRAM} + {STATEMENTS_A_SECTOR:g} for each sector of that share",
        ),
        (
            "turns of loops that move nothing",
            f"{IDLE_A_BUSY_TURN:g} for each that does, and {IDLE_A_PROGRAM} a program",
        ),
    ]
