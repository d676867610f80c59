"""Where a row's bytes go: beside it a note on its worst access, below the table a question."""

from __future__ import annotations

from course.engine.traffic import Site, Traffic, function_of
from course.plain.sectors import SECTOR_BYTES
from course.words.verdict import Row, ratio_text

#: Below this share of used bytes in its sectors an access is called scattered.
SCATTERED_BELOW = 0.75
#: Up to this share (8 of 32 bytes) neighbouring lanes cannot have been side by side.
APART_UP_TO = 0.25
_THIRD_PERSON = {"load": "reads", "store": "writes", "atomic": "updates"}
_PASSIVE = {"load": "asked for", "store": "written", "atomic": "updated"}
_BARE = {"load": "read", "store": "write", "atomic": "update"}


def sites_of(traffic: Traffic, row: Row) -> list[Site]:
    """The accesses that a row sums up; all of them for the total."""
    if row.direction == "total":
        return list(traffic.sites)
    return [s for s in traffic.sites if (s.array, s.direction) == (row.array, row.direction)]


def note(row: Row, sites: list[Site]) -> str:
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
        article = "an" if row.direction == "atomic" else "a"
        return f"{article} {row.direction} request touches {touched} sector{plural} and {uses}"
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
    # lanes that together add no more than the budget holds side by side: not how often, but where
    few = row.budget_bytes is not None and sum(s.lane_bytes for s in sites) <= row.budget_bytes
    apart = few and (worst.sectors_a_request or 0) > 1
    if worst.direction == "atomic" and not apart:
        if in_blocks:
            return (
                "Every element of an atomic goes to memory. What could a program add up first, in "
                "a variable or by `tl.sum`, so that fewer do?"
            )
        return (
            "Every atomic goes to memory. What could be added up first, in a variable or in "
            "shared memory, so that one atomic does for many elements?"
        )
    if (function := function_of(worst.array)) is not None:
        return (
            f"`{function}` reads a table of its own: in float64 with three requests, in float32 of "
            "an angle beyond 105,615 with six. Give it a small angle in float32."
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
                f"variable, and be stored once: after a loop, or by the one launch that has all "
                f"of it?"
            )
        if in_blocks:
            return (
                f"Each sector of {worst.array} is {_PASSIVE[worst.direction]} {times} times, by "
                f"several programs or by one in several turns. Could a program do more with it at "
                f"a time, in a larger tile, keep it in a variable, or leave out what no result "
                f"needs?"
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
