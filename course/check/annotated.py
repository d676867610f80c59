"""The lines of a cell as a verdict shows them: each with the traffic of its accesses."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from course.engine.traffic import DIRECTIONS, Site, Traffic
from course.plain.sectors import SECTOR_BYTES
from course.plain.text import lines_of, visible
from course.words.verdict import Access, SourceLine, bytes_text, ratio_text

#: What a lane takes at once at most (PTX ISA, "ld").
WIDEST_BYTES = 16
#: What a panel shows of a cell: the course's longest has 88 lines of up to 100 characters.
MOST_LINES = 150
LONGEST_LINE = 200


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
    return SourceLine(number, visible(shown), tuple(accesses), marked)


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
    """How wide accesses are; or what warps ask for beyond a block's sectors, how often, and why."""
    sectors = sum(site.sectors for site in sites)
    if sectors <= graded or not graded:
        return _width([site for site in sites if site.width_bytes])
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


def _width(sites: list[Site]) -> str:
    """Of the narrowest of several sites; where it could not be wider, why."""
    if not sites:
        return ""
    least = min(sites, key=lambda site: site.width_bytes)
    told = f"{least.width_bytes}-byte {least.direction}s"
    if min(least.side_by_side, WIDEST_BYTES) > least.width_bytes:
        return f"{told} of {least.side_by_side} bytes side by side"
    narrow = least.width_bytes < WIDEST_BYTES
    return f"{told}: a thread has no more side by side" if narrow else told
