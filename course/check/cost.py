"""What a right kernel cost: the rows of its table, what else is graded, and its credit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from course.check.waste import note, sites_of
from course.engine.faults import Outcome, not_measured
from course.engine.traffic import DIRECTIONS, Traffic
from course.plain.sectors import SECTOR_BYTES
from course.spec import shares
from course.spec.exercise import (
    BUDGET_SLACK,
    FEW_SECTORS,
    RIGHT_SHARE,
    SMALL_ROW,
    TRAFFIC_BANDS,
    Case,
    KernelExercise,
)
from course.spec.formula import evaluate
from course.words.verdict import Extra, Row, bytes_text

#: What stands beside a row that is over its budget and too small to matter, or hardly over it.
_SMALL = "too little of the total to cost anything by itself"
_FEW = "so few sectors above its formula cost nothing by themselves"


def traffic_rows(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], traffic: Traffic
) -> tuple[Row, ...]:
    """A row an array and direction that is budgeted or was used, and the total."""
    budget = {} if exercise.budget is None else exercise.budget_sectors(case, constants)
    whole = sum(budget.values())
    whole = max(whole, whole / BUDGET_SLACK + FEW_SECTORS)
    least = exercise.least_sectors(case, constants)
    pairs = sorted(
        dict.fromkeys([*budget, *traffic.arrays()]), key=lambda pair: DIRECTIONS.index(pair[1])
    )
    rows = []
    for pair in pairs:
        allowed = budget.get(pair)
        row = Row(
            array=pair[0],
            direction=pair[1],
            requested_bytes=traffic.sectors(*pair) * SECTOR_BYTES,
            budget_bytes=None if allowed is None else allowed * SECTOR_BYTES,
            least_bytes=least.get(pair, 0) * SECTOR_BYTES,
        )
        few = (allowed or 0.0) / BUDGET_SLACK + FEW_SECTORS
        for most, why in ((SMALL_ROW * whole, _SMALL), (few, _FEW)):
            if row.over and row.requested_bytes <= most * SECTOR_BYTES:
                row = replace(row, small=True, note=why)
        rows.append(replace(row, note=note(row, sites_of(traffic, row))) if row.over else row)
    total = Row(
        array="",
        direction="total",
        requested_bytes=traffic.requested_bytes,
        budget_bytes=whole * SECTOR_BYTES if budget else None,
        least_bytes=sum(least.values()) * SECTOR_BYTES,
    )
    return (*rows, total)


def worst_row(rows: Iterable[Row]) -> Row | None:
    """The row furthest over its budget, or None. The total wins only where no array is over."""
    over = [row for row in rows if row.over]
    single = [row for row in over if row.direction != "total"]
    return max(single or over, key=lambda row: row.ratio or 0.0, default=None)


def worst_ratio(rows: Iterable[Row]) -> float:
    """The worst row's requested bytes over its budget; small rows count in the total alone."""
    return max((row.ratio or 0.0 for row in rows if not row.small), default=0.0)


def traffic_credit(rows: Iterable[Row]) -> float:
    """The share of the points by the worst ratio of any row that matters, the total among them."""
    ratio = worst_ratio(rows)
    return next((share for most, share in TRAFFIC_BANDS if ratio <= most), RIGHT_SHARE)


#: (exercise, case, constants, operations of all lanes): the most that is allowed, None where all
#: is.
Limit = Callable[[KernelExercise, Case, Mapping[str, int], int], int | None]


@dataclass(frozen=True)
class Graded:
    """Something graded beside the traffic, where the exercise's field `limit` has a formula.

    Attributes:
        dialect: whose kernels have it.
        label: how a verdict calls it.
        count: the field of `Traffic` that holds it.
        limit: the field of `KernelExercise` that limits it, or what follows for every exercise.
        always: no honest design comes near: it holds on ragged cases, too, and is shown where it is
            passed alone.
    """

    dialect: str
    label: str
    count: str
    limit: str | Limit
    outcome: Outcome
    message_id: str
    always: bool = False

    def most(
        self, exercise: KernelExercise, case: Case, constants: Mapping[str, int], traffic: Traffic
    ) -> int | None:
        """The most that is allowed, or None where it is not graded."""
        if not isinstance(self.limit, str):
            done = traffic.lane_work if self.dialect == "numba" else traffic.busy_turns
            limit = self.limit(exercise, case, constants, done)
            if case.traffic or self.always:
                return limit
            return shares.ragged(limit, exercise, case, constants)
        formula = getattr(exercise, self.limit)
        if self.dialect == "triton" and not case.traffic:
            return None  # a tile's resources follow from dtypes and widths that a seed draws
        if formula is None:
            return None
        return math.floor(evaluate(formula, exercise.names(case, constants)))


#: What a verdict calls the bytes that DRAM delivers in `course.engine.triton.running.cache`.
DRAM_BYTES = "bytes from DRAM in the cache model"
SHARED_LOADS = "loads of warps from shared memory"
#: In the order in which they are graded.
GRADED = (
    Graded("numba", "divergent branches", "divergent_branches", "divergent_branches",
           Outcome.TOO_DIVERGENT, "too_divergent"),
    Graded("numba", "extra turns for bank conflicts", "bank_conflicts", "bank_conflicts",
           Outcome.BANK_CONFLICTS, "bank_conflicts"),
    Graded("numba", SHARED_LOADS, "shared_loads", "shared_loads",
           Outcome.TOO_MUCH_TRAFFIC, "shared_loads_over_limit"),
    Graded("numba", "operations of the longest warp", "longest_warp", shares.most_work,
           Outcome.TOO_SERIAL, "too_serial"),
    Graded("numba", "bytes of shared memory a block", "shared_bytes", "shared_bytes",
           Outcome.TOO_MANY_RESOURCES, "shared_over_limit"),
    Graded("triton", DRAM_BYTES, "dram_bytes", "dram_bytes",
           Outcome.TOO_MUCH_TRAFFIC, "dram_over_limit"),
    Graded("triton", "bytes that the busiest program asks for", "program_bytes",
           shares.most_bytes, Outcome.TOO_SERIAL, "program_too_busy"),
    Graded("triton", "bytes of the blocks of the busiest program, masked or not", "block_bytes",
           shares.most_of_blocks, Outcome.TOO_SERIAL, "program_in_vain"),
    Graded("triton", "statements of the longest program", "longest_program",
           shares.most_statements, Outcome.TOO_SERIAL, "program_too_long"),
    Graded("triton", "turns of loops that move nothing, of all programs", "idle_turns",
           shares.most_idle_turns, Outcome.TOO_SERIAL, "turns_in_vain"),
    Graded("triton", "programs whose copies and products wait for each other", "unoverlapped",
           shares.most_unoverlapped, Outcome.TOO_SERIAL, "products_apart", always=True),
    Graded("triton", "programs that move nothing", "idle_programs",
           shares.most_idle_programs, Outcome.TOO_MANY_RESOURCES, "programs_in_vain", always=True),
    Graded("triton", "bytes that the launcher fills", "filled_bytes",
           shares.most_filled, Outcome.TOO_MUCH_TRAFFIC, "filled_over_limit", always=True),
    Graded("triton", "bytes of shared memory a program", "shared_bytes", "shared_bytes",
           Outcome.TOO_MANY_RESOURCES, "shared_over_limit"),
    Graded("triton", "registers a thread", "registers", "registers",
           Outcome.TOO_MANY_RESOURCES, "registers_over_limit"),
    Graded("triton", "bytes of spilled registers a thread", "spill_bytes", "most_spilled",
           Outcome.TOO_MANY_RESOURCES, "spills_over_limit"),
)  # fmt: skip


def extras(
    exercise: KernelExercise, case: Case, constants: Mapping[str, int], traffic: Traffic
) -> tuple[tuple[Graded, Extra], ...]:
    """What was measured beside the traffic, in the order in which it is graded.

    Raises:
        KernelFault: NOT_MEASURED, where something of a graded case could not be measured.
    """
    found = []
    for graded in GRADED:
        if graded.dialect != exercise.dialect:
            continue
        limit = graded.most(exercise, case, constants, traffic)
        value = getattr(traffic, graded.count)
        if value is None and limit is not None and case.traffic:
            raise not_measured(None, "extra_unknown", what=graded.label)
        if value is not None and (not graded.always or (limit is not None and value > limit)):
            found.append((graded, Extra(graded.label, value, limit)))
    return tuple(found)


@dataclass(frozen=True)
class Bill:
    """What one case cost: by `traffic` as budgets take it, and as it was measured."""

    rows: tuple[Row, ...]
    graded: tuple[tuple[Graded, Extra], ...]
    traffic: Traffic
    measured: Traffic

    @property
    def extras(self) -> tuple[Extra, ...]:
        return tuple(extra for _, extra in self.graded)

    @property
    def over(self) -> tuple[tuple[Graded, Extra], ...]:
        """What is graded beside the traffic, and too much."""
        return tuple((graded, extra) for graded, extra in self.graded if extra.over)

    @property
    def credit(self) -> float:
        return traffic_credit(self.rows)

    @property
    def ratio(self) -> float:
        return worst_ratio(self.rows)


def bill_of(
    exercise: KernelExercise, constants: Mapping[str, int], case: Case, traffic: Traffic
) -> Bill:
    """What a launch on `case` cost.

    Raises:
        KernelFault: as `extras` does.
    """
    graded = traffic.graded()
    return Bill(
        traffic_rows(exercise, case, constants, graded),
        extras(exercise, case, constants, graded),
        graded,
        traffic,
    )


def row_fields(row: Row) -> dict[str, object]:
    """Fields of the sentence on a row that is over its budget."""
    return {
        "array": row.array,
        "direction": row.direction.capitalize(),
        "requested": bytes_text(row.requested_bytes),
        "budget": bytes_text(row.budget_bytes or 0.0),
    }


def extra_lines(kind: Graded, traffic: Traffic) -> list[int]:
    """The lines to look at for a graded extra, the worst first."""
    counts: dict[int, int] = {}
    outcome = kind.outcome
    if outcome is Outcome.TOO_DIVERGENT:
        counts = dict(traffic.divergent_sites)
    elif outcome is Outcome.BANK_CONFLICTS:
        for (_, line), extra in traffic.bank_conflict_sites.items():
            counts[line] = counts.get(line, 0) + extra
    elif kind.count == "shared_loads":
        counts = dict(traffic.shared_load_sites)
    elif kind.count == "idle_turns":
        counts = dict(traffic.idle_turn_sites)
    elif kind.count in traffic.busiest_lines:
        return [traffic.busiest_lines[kind.count]]
    return sorted((n for n in counts if counts[n]), key=lambda n: -counts[n])
