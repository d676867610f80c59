"""What a right kernel cost: table rows, annotated lines, credit, and advice by pattern."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from course.engine.faults import KernelFault, Outcome
from course.engine.traffic import (
    DIRECTIONS,
    Site,
    Traffic,
)
from course.plain.sectors import SECTOR_BYTES
from course.plain.text import lines_of
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
from course.words.verdict import Access, Extra, Row, SourceLine, bytes_text, ratio_text

#: Below this share of used bytes in its sectors an access is called scattered.
SCATTERED_BELOW = 0.75
#: Up to this share (8 of 32 bytes) neighbouring lanes cannot have been side by side.
APART_UP_TO = 0.25
#: What a lane takes at once at most (PTX ISA, "ld").
WIDEST_BYTES = 16
#: What a panel shows of a cell: the course's longest has 88 lines of up to 100 characters.
MOST_LINES = 150
LONGEST_LINE = 200
_THIRD_PERSON = {"load": "reads", "store": "writes", "atomic": "updates"}
_PASSIVE = {"load": "asked for", "store": "written", "atomic": "updated"}
#: What stands beside a row that is over its budget and too small to matter.
_SMALL = "too little of the total to cost anything by itself"
_BARE = {"load": "read", "store": "write", "atomic": "update"}


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
        if row.over and row.requested_bytes <= max(SMALL_ROW * whole, few) * SECTOR_BYTES:
            row = replace(row, small=True, note=_SMALL)
        rows.append(replace(row, note=_note(row, sites_of(traffic, row))) if row.over else row)
    total = Row(
        array="",
        direction="total",
        requested_bytes=traffic.requested_bytes,
        budget_bytes=whole * SECTOR_BYTES if budget else None,
        least_bytes=sum(least.values()) * SECTOR_BYTES,
    )
    return (*rows, total)


def sites_of(traffic: Traffic, row: Row) -> list[Site]:
    """The accesses that a row sums up; all of them for the total."""
    if row.direction == "total":
        return list(traffic.sites)
    return [s for s in traffic.sites if (s.array, s.direction) == (row.array, row.direction)]


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
    """

    dialect: str
    label: str
    count: str
    limit: str | Limit
    outcome: Outcome
    message_id: str

    def most(
        self, exercise: KernelExercise, case: Case, constants: Mapping[str, int], traffic: Traffic
    ) -> int | None:
        """The most that is allowed, or None where it is not graded."""
        if not isinstance(self.limit, str):
            done = traffic.lane_work if self.dialect == "numba" else traffic.busy_turns
            limit = self.limit(exercise, case, constants, done)
            return limit if case.traffic else shares.ragged(limit, exercise, case, constants)
        formula = getattr(exercise, self.limit)
        if self.dialect == "triton" and not case.traffic:
            return None  # a tile's resources follow from dtypes and widths that a seed draws
        if formula is None:
            return None
        return math.floor(evaluate(formula, exercise.names(case, constants)))


#: What a verdict calls the bytes that DRAM delivers in `course.engine.tile.cache`.
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
            raise KernelFault(Outcome.NOT_MEASURED, "extra_unknown", None, what=graded.label)
        if value is not None:
            found.append((graded, Extra(graded.label, value, limit)))
    return tuple(found)


def source_lines(
    source: str, first: int, last: int, traffic: Traffic | None, marked: Iterable[int]
) -> tuple[SourceLine, ...]:
    """Lines `first` to `last` of the cell, and marked ones outside, with their traffic.

    Of very many, those that matter most; the others are counted where they stand.
    """
    looked_at = set(marked)
    sites: dict[int, list[Site]] = {}
    for site in () if traffic is None else traffic.sites:
        sites.setdefault(site.line, []).append(site)

    def matters(number: int) -> tuple[bool, int, int]:
        sectors = sum(site.graded_sectors for site in sites.get(number, ()))
        return number not in looked_at, -sectors, number

    code = dict(enumerate(lines_of(source), start=1))
    wanted = [n for n in code if first <= n <= last or n in looked_at or n in sites]
    kept = set(sorted(wanted, key=matters)[:MOST_LINES])
    lines = []
    for told, numbers in groupby(wanted, kept.__contains__):
        group = list(numbers)
        if told:
            lines += [_line(n, code[n], sites.get(n, []), n in looked_at) for n in group]
        else:
            more = f"… {len(group):,} more line{'s' * (len(group) > 1)}"
            lines.append(SourceLine(group[0], more, (), not looked_at.isdisjoint(group)))
    return tuple(lines)


def _line(number: int, code: str, sites: list[Site], marked: bool) -> SourceLine:
    pairs = dict.fromkeys((site.array, site.direction) for site in sites)
    ordered = sorted(pairs, key=lambda pair: DIRECTIONS.index(pair[1]))
    accesses = [_access([s for s in sites if (s.array, s.direction) == pair]) for pair in ordered]
    shown = code if len(code) <= LONGEST_LINE else f"{code[: LONGEST_LINE - 1]}…"
    return SourceLine(number, shown, tuple(accesses), marked)


def _access(sites: list[Site]) -> Access:
    """Sites of one line, array and direction as one."""
    sectors = sum(site.graded_sectors for site in sites)
    requests = [None if site.ideal_sectors is not None else site.requests for site in sites]
    known = [number for number in requests if number is not None]
    asked = sum(known) if len(known) == len(requests) else 0
    return Access(
        sites[0].array,
        sites[0].direction,
        sectors * SECTOR_BYTES,
        sectors / asked if asked else None,
        sum(site.lane_bytes for site in sites) / (sectors * SECTOR_BYTES) if sectors else 0.0,
        _as_compiled(sites, sectors),
    )


def _as_compiled(sites: list[Site], graded: int) -> str:
    """What warps ask for beyond a block's sectors, how many times that is, and why."""
    sectors = sum(site.sectors for site in sites)
    if sectors <= graded or not graded:
        return ""
    worst = max(sites, key=lambda site: site.sectors - site.graded_sectors)
    reasons = []
    if worst.copies > 1:
        reasons.append(f"{worst.copies} warps make the same load")
    if worst.width_bytes < min(worst.side_by_side, WIDEST_BYTES):
        reasons.append(
            f"a lane takes {worst.width_bytes} bytes at a time of {worst.side_by_side} side by side"
        )
    why = f": {', '.join(reasons)}" if reasons else ""
    times = f"{ratio_text(sectors / graded)} times that"
    return f"as compiled {bytes_text(sectors * SECTOR_BYTES)}, {times}{why}"


def _note(row: Row, sites: list[Site]) -> str:
    """`a store request touches 32 sectors and uses 4 of 32 bytes in each`, of the worst site."""
    if not sites:
        return ""
    worst = max(sites, key=lambda site: site.sectors)
    if worst.reuse < SCATTERED_BELOW:
        used = f"uses {ratio_text(SECTOR_BYTES * worst.reuse)} of {SECTOR_BYTES} bytes in each"
        if worst.sectors_a_request is None:
            return f"a {row.direction} {used.replace('in each', 'of each sector')}"
        touched = ratio_text(worst.sectors_a_request)
        plural = "" if touched == "1" else "s"
        uses = used if plural else used.replace("in each", "in it")
        return f"a {row.direction} request touches {touched} sector{plural} and {uses}"
    footprint = max(site.footprint_bytes for site in sites)
    if footprint and row.requested_bytes >= 1.5 * footprint:
        times = ratio_text(row.requested_bytes / footprint)
        return f"each sector is {_PASSIVE[row.direction]} {times} times"
    return ""


def advice(row: Row, traffic: Traffic) -> str:
    """A question to go on with, by what the accesses of the worst row look like."""
    sites = sites_of(traffic, row)
    if not sites:
        return "Which line asks for the bytes?"
    worst = max(sites, key=lambda site: site.sectors)
    if row.direction == "total" and worst.reuse >= SCATTERED_BELOW:
        return "Which of these accesses could a variable in a register replace?"
    in_blocks = worst.requests is None  # a Triton kernel's: there are no warps to be seen
    if worst.direction == "atomic":
        if in_blocks:
            return (
                "Every element of an atomic goes to memory. What could a program add up first, in "
                "a variable or by `tl.sum`, so that fewer do?"
            )
        return (
            "Every atomic goes to memory. What could be added up first, in a variable or in "
            "shared memory, so that one atomic does for many elements?"
        )
    if row.budget_bytes is None:
        verb = "read" if worst.direction == "load" else "written"
        return f"Keep the value in a variable: {worst.array} need not be {verb} for it."
    if worst.reuse < SCATTERED_BELOW and in_blocks:
        return _scattered_block(worst)
    if worst.reuse < SCATTERED_BELOW:
        if worst.sectors_a_request is not None and worst.sectors_a_request <= 1.0:
            return (
                "One lane of a warp asks at a time, and each request pays for a whole sector. "
                "How could 32 neighbouring lanes take 32 neighbouring elements?"
            )
        if worst.reuse <= APART_UP_TO:
            return (
                f"Neighbouring lanes {_BARE[worst.direction]} addresses that lie apart. Which "
                f"index should differ by one between neighbouring lanes?"
            )
        return (
            f"Part of each sector is moved for nothing. Do neighbouring lanes "
            f"{_BARE[worst.direction]} side by side, and does what they share begin where a "
            f"sector begins?"
        )
    lines = sorted({site.line for site in sites})
    # a line that alone asks again and again reads what other threads have got: no variable helps
    alone = (
        worst.direction == "load" and worst.sectors * SECTOR_BYTES >= 1.5 * worst.footprint_bytes
    )
    if len(lines) > 1 and not alone:
        places = f"{', '.join(map(str, lines[:-1]))} and {lines[-1]}"
        if worst.direction == "load":
            return f"Lines {places} read {worst.array}. Could a variable keep what the first got?"
        return (
            f"Lines {places} {_BARE[worst.direction]} {worst.array}. Could a variable hold the "
            f"value until the last?"
        )
    footprint = max(site.footprint_bytes for site in sites)
    if footprint and row.requested_bytes >= 1.5 * footprint:
        times = ratio_text(row.requested_bytes / footprint)
        if in_blocks and worst.direction == "store":
            return (
                f"Each sector of {worst.array} is written {times} times. Could the value wait in a "
                f"variable, and be stored once, after the loop?"
            )
        if in_blocks:
            return (
                f"The programs together {_BARE[worst.direction]} each sector of {worst.array} "
                f"{times} times. Could one program do more with it at a time, in a larger tile, "
                f"keep it in a variable, or leave out what no result needs?"
            )
        return (
            f"The launch {_THIRD_PERSON[worst.direction]} each sector of {worst.array} {times} "
            f"times. What could keep it near: a variable, or shared memory?"
        )
    return "Which elements are asked for that no result needs?"


def _scattered_block(site: Site) -> str:
    """Advice on an access of a Triton kernel that uses a part of its sectors."""
    verb = _BARE[site.direction]
    again = site.lane_bytes / site.footprint_bytes if site.footprint_bytes else 0.0
    if site.reuse <= APART_UP_TO and again >= 1.5:
        return (
            f"Programs {verb} a whole sector for one or two elements, and all of {site.array} "
            f"{ratio_text(again)} times. Is it one number? Then once a program, outside its "
            f"loop, is enough. Is it a block? Then along which axis should neighbours be one "
            f"element apart?"
        )
    if site.reuse <= APART_UP_TO:
        return (
            f"Programs {verb} a whole sector for one or two elements. Is it one number a program? "
            f"Then could a program take several neighbours? Is it a block? Then along which axis "
            f"should neighbours be one element apart?"
        )
    return (
        f"Part of each sector is moved for nothing. Does a program {verb} whole sectors, 32 bytes "
        f"side by side that begin where a sector begins?"
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
    elif outcome is Outcome.TOO_SERIAL and traffic.busiest_line:
        return [traffic.busiest_line]
    return sorted((n for n in counts if counts[n]), key=lambda n: -counts[n])
