"""What is counted: requests, sectors and bytes, by site.

A *request* is one warp's load, store or atomic instruction with at least one active lane.
The memory answers a request in *sectors* of 32 bytes: every sector that holds a byte of an
active lane's element is moved whole (compute capability 6.0 and up). *Lane bytes* are what
the lanes asked for; the *footprint* is every distinct sector once. Sectors x 32 are the
*requested bytes*: what warps ask of L1. These are Nsight Compute's counters
`l1tex__t_requests_pipe_lsu_mem_global_op_*` and `l1tex__t_sectors_pipe_lsu_mem_global_op_*`
(of a Triton launch those of the GPU that it is compiled for).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from course.plain.sectors import SECTOR_BYTES

ALLOCATION_ALIGNMENT_BYTES = 256
DIRECTIONS = ("load", "store", "atomic")

_TABLE = "'s table"

#: (array, direction)
Pair = tuple[str, str]
#: Which sectors were touched: a bool each, by the address of their allocation.
Touched = dict[int, np.ndarray]


def table_of(function: str) -> str:
    """What a table that a function of a library reads is called, beside arrays."""
    return f"{function}{_TABLE}"


def function_of(array: str) -> str | None:
    """Whose table it is; None of what is an array."""
    return array.removesuffix(_TABLE) if array.endswith(_TABLE) else None


@dataclass(frozen=True)
class Site:
    """One access in the source, summed over a launch (or over several, inside `measure`).

    Of Triton `sectors` are those of the layout that the compiler chose, and `ideal_sectors` each
    sector of a program's block once: what its best layout would ask for. None: no other layout was
    possible. `requests` is None as budgets take it (`Traffic.graded`).

    Attributes:
        width_bytes: what a lane takes at once (of several accesses here, the least); `side_by_side`
            what it holds of neighbours, of which it could take up to 16 bytes at once.
        copies: how many warps make the same load.
    """

    array: str
    direction: str
    line: int
    column: int
    requests: int | None
    sectors: int
    lane_bytes: int
    footprint_bytes: int
    descriptor: bool = False
    ideal_sectors: int | None = None
    width_bytes: int = 0
    side_by_side: int = 0
    copies: int = 1

    @property
    def graded_sectors(self) -> int:
        """What budgets are for: a block's sectors, and not what a compiler makes of them."""
        return self.sectors if self.ideal_sectors is None else self.ideal_sectors

    @property
    def requested_bytes(self) -> int:
        return self.sectors * SECTOR_BYTES

    @property
    def sectors_a_request(self) -> float | None:
        return self.sectors / self.requests if self.requests else None

    @property
    def reuse(self) -> float:
        """How often each byte moved was used by a lane: 1 is coalesced, below 1 is waste."""
        return self.lane_bytes / self.requested_bytes if self.sectors else 0.0


@dataclass(frozen=True)
class Totals:
    """One direction, summed over its sites. `footprint_bytes` counts a shared sector once."""

    requests: int | None = 0
    sectors: int = 0
    lane_bytes: int = 0
    footprint_bytes: int = 0


@dataclass
class Traffic:
    """What one or several launches asked of global memory, and what else was counted."""

    sites: list[Site] = field(default_factory=list)
    #: distinct sectors x 32
    footprints: dict[Pair, int] = field(default_factory=dict)
    #: turns of warps' requests to shared memory beyond the fewest
    bank_conflicts: int = 0
    #: the same by (shared array, line); of a Triton kernel by what the line does there
    bank_conflict_sites: dict[tuple[str, int], int] = field(default_factory=dict)
    #: requests of warps that load from shared memory, and those of each line
    shared_loads: int = 0
    shared_load_sites: dict[int, int] = field(default_factory=dict)
    #: lines whose bank conflicts are not counted (Triton)
    shared_uncounted: list[int] = field(default_factory=list)
    divergent_branches: int = 0
    #: divergent branches by line
    divergent_sites: dict[int, int] = field(default_factory=dict)
    #: operations of the warp that makes most of them, and of all lanes together (Numba): each
    #: operator, call and element of a statement, each time it runs (`course.engine.simt.nvvm.work`)
    longest_warp: int = 0
    lane_work: int = 0
    #: by the field that counts it: the line that makes most of it, in the warp or the program with
    #: the highest count
    busiest_lines: dict[str, int] = field(default_factory=dict)
    shared_bytes: int = 0
    launches: int = 0
    #: what the compiler gives each thread of a Triton kernel, and what it spills; None: unknown
    registers: int | None = None
    spill_bytes: int | None = None
    #: statements that the longest program executes (Triton)
    longest_program: int = 0
    #: bytes that one program asks for, sectors x 32, the most in any launch (Triton)
    program_bytes: int = 0
    #: bytes of the blocks that one program asks for, lanes that are masked off too, the most in
    #: any launch (Triton)
    block_bytes: int = 0
    #: turns of loops, of all programs together, in which a program moves something (Triton)
    busy_turns: int = 0
    #: those in which it moves nothing, by the line of the loop
    idle_turn_sites: dict[int, int] = field(default_factory=dict)
    #: programs that move nothing, of all launches together (Triton)
    idle_programs: int = 0
    #: groups of warps that both copy by TMA and multiply, of all programs together (Gluon)
    undivided: int = 0
    #: programs beside most of whose products no TMA load is under way (Gluon)
    unoverlapped: int = 0
    #: bytes of tensors that a launcher has filled: `torch.zeros` is a kernel, too
    filled_bytes: int = 0
    #: what DRAM delivers in the model of an L2 cache; None where that was not asked for
    dram_bytes: int | None = None
    #: which sectors the footprints are, where the launch was made in this process
    touched: dict[Pair, Touched] = field(default_factory=dict, repr=False, compare=False)

    @property
    def idle_turns(self) -> int:
        return sum(self.idle_turn_sites.values())

    def totals(self, direction: str) -> Totals:
        """Sums of one direction ('load', 'store' or 'atomic')."""
        sites = [site for site in self.sites if site.direction == direction]
        requests = [site.requests for site in sites]
        return Totals(
            requests=None if None in requests else sum(r for r in requests if r is not None),
            sectors=sum(site.sectors for site in sites),
            lane_bytes=sum(site.lane_bytes for site in sites),
            footprint_bytes=sum(b for (_, d), b in self.footprints.items() if d == direction),
        )

    @property
    def loads(self) -> Totals:
        return self.totals("load")

    @property
    def stores(self) -> Totals:
        return self.totals("store")

    @property
    def atomics(self) -> Totals:
        return self.totals("atomic")

    @property
    def requested_bytes(self) -> int:
        """Sectors x 32 of loads, stores and atomics together."""
        return sum(site.requested_bytes for site in self.sites)

    def sectors(self, array: str, direction: str) -> int:
        """Sectors that warps asked for on one array in one direction.

        Raises:
            ValueError: for a direction that there is not.
        """
        if direction not in DIRECTIONS:
            raise ValueError(f"A direction is one of {DIRECTIONS}, and this is {direction!r}.")
        return sum(s.sectors for s in self.sites if (s.array, s.direction) == (array, direction))

    def graded(self) -> Traffic:
        """The same traffic as budgets take it: of Triton by program, and not by warp."""
        sites = [
            replace(site, requests=None, sectors=site.ideal_sectors, ideal_sectors=None)
            if site.ideal_sectors is not None
            else site
            for site in self.sites
        ]
        return replace(self, sites=sites)

    def renamed(self, names: Mapping[str, str]) -> Traffic:
        """The same traffic with arrays named by `names`: as in the exercise, not in a `def`."""
        if all(old == new for old, new in names.items()):
            return self
        touched = together(((names.get(a, a), d), t) for (a, d), t in self.touched.items())
        told = {(names.get(a, a), d): n for (a, d), n in self.footprints.items()}
        return replace(
            self,
            sites=[replace(s, array=names.get(s.array, s.array)) for s in self.sites],
            footprints=told | footprints_of(touched),
            touched=touched,
        )

    def arrays(self) -> list[tuple[str, str]]:
        """(array, direction) pairs with traffic, loads first, in order of first access."""
        seen = dict.fromkeys((s.array, s.direction) for s in self.sites)
        return sorted(seen, key=lambda pair: DIRECTIONS.index(pair[1]))


def together(parts: Iterable[tuple[Pair, Touched]]) -> dict[Pair, Touched]:
    """The sectors that any of the parts touched."""
    found: dict[Pair, Touched] = {}
    for pair, touched in parts:
        sectors = found.setdefault(pair, {})
        for address, marks in touched.items():
            sectors[address] = _either(sectors[address], marks) if address in sectors else marks
    return found


def _either(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    shorter, longer = sorted((a, b), key=len)
    both = longer.copy()
    both[: len(shorter)] |= shorter
    return both


def footprint_of(touched: Touched) -> int:
    """Distinct sectors x 32."""
    return SECTOR_BYTES * sum(int(np.count_nonzero(marks)) for marks in touched.values())


def footprints_of(touched: Mapping[Pair, Touched]) -> dict[Pair, int]:
    """Distinct sectors x 32 of each array and direction."""
    return {pair: footprint_of(sectors) for pair, sectors in touched.items()}


#: Fields of a traffic that say how much of something each line does.
_BY_LINE = ("divergent_sites", "shared_load_sites", "idle_turn_sites", "bank_conflict_sites")
#: Fields that launches add up to; programs of one come after those of another.
_SUMS = (
    "bank_conflicts", "shared_loads", "divergent_branches", "lane_work", "launches",
    "longest_program", "busy_turns", "idle_programs", "undivided", "unoverlapped", "filled_bytes",
    "dram_bytes",
)  # fmt: skip
#: Fields of which the launch with most decides.
_MOST = (
    "longest_warp", "shared_bytes", "registers", "spill_bytes", "program_bytes", "block_bytes",
)  # fmt: skip
#: Fields of which so many launches in a row may each have the most: one waits for the other.
_CHAINED, MOST_IN_A_ROW = ("program_bytes", "block_bytes"), 8


def busiest_line(counts: Mapping[int, int]) -> int | None:
    """The line with the highest count, of equal ones the first; None where nothing is counted."""
    return max(counts, key=lambda line: (counts[line], -line), default=None)


def merged(parts: Iterable[Traffic]) -> Traffic:
    """Several launches' traffic as one: sites of one place in the source are added up."""
    parts = list(parts)
    touched = together(item for part in parts for item in part.touched.items())
    total = Traffic(touched=touched, footprints=footprints_of(touched))
    for name in sorted({name for part in parts for name in part.busiest_lines}):
        busiest = max(parts, key=lambda part: int(getattr(part, name)))
        total.busiest_lines[name] = busiest.busiest_lines[name]
    sites: dict[tuple[str, str, int, int, bool], Site] = {}
    for part in parts:
        for site in part.sites:
            key = (site.array, site.direction, site.line, site.column, site.descriptor)
            old = sites.get(key)
            sites[key] = site if old is None else _added(old, site)
        for name in _BY_LINE:
            sums = getattr(total, name)
            for line, count in getattr(part, name).items():
                sums[line] = sums.get(line, 0) + count
        total.shared_uncounted += part.shared_uncounted
    for combined, names in ((sum, _SUMS), (max, _MOST)):
        for name in names:
            counts = [getattr(part, name) for part in parts]
            if known := [count for count in counts if count is not None]:
                setattr(total, name, combined(known))
    for name in _CHAINED:
        chain = sum(getattr(part, name) for part in parts) // MOST_IN_A_ROW
        setattr(total, name, max(getattr(total, name), chain))
    total.sites = list(sites.values())
    return total


def _added(a: Site, b: Site) -> Site:
    return replace(
        a,
        requests=None if a.requests is None or b.requests is None else a.requests + b.requests,
        sectors=a.sectors + b.sectors,
        lane_bytes=a.lane_bytes + b.lane_bytes,
        footprint_bytes=max(a.footprint_bytes, b.footprint_bytes),
        ideal_sectors=None if a.ideal_sectors is None else a.ideal_sectors + (b.ideal_sectors or 0),
        width_bytes=min(a.width_bytes, b.width_bytes),
        side_by_side=max(a.side_by_side, b.side_by_side),
        copies=max(a.copies, b.copies),
    )
