"""Lanes and banks: how many turns a request of a warp to shared memory takes."""

from __future__ import annotations

from collections.abc import Sequence

from course.figures.drawing import Drawing
from course.figures.picture import Picture
from course.plain.banks import BANK_BYTES, BANKS
from course.plain.sectors import WARP_LANES
from course.plain.text import counted

#: A bank that is asked for more words has the rest told in words.
MOST_TURNS = 8
_LEFT, _TOP, _WIDTH, _HEIGHT = 62.0, 62.0, 27.0, 22.0


def bank_picture(
    byte_addresses: Sequence[int | None], title: str = "", verb: str = "reads"
) -> Picture:
    """One request: the 32 banks side by side, and below each the lanes that it serves, in turns.

    Args:
        byte_addresses: for each lane the address of its element in bytes, in the block's shared
            memory; None for a lane that is switched off. Elements of 4 bytes at most.
        title: a line above, for example the access in the source.
        verb: "reads" or "writes".

    Raises:
        ValueError: for more lanes than a warp has, or for no active lane.
    """
    if len(byte_addresses) > WARP_LANES:
        raise ValueError(f"a warp has {WARP_LANES} lanes, not {len(byte_addresses)}")
    banks = served(byte_addresses)
    if not banks:
        raise ValueError("no lane is active: there is no request to draw")
    turns = max(map(len, banks.values()))
    rows = min(turns, MOST_TURNS)
    drawing = Drawing(_LEFT + BANKS * _WIDTH + 16, _TOP + rows * _HEIGHT + 56)
    drawing.text(_LEFT, 22, title or "One request of a warp", 14, bold=True, mono=bool(title))
    drawing.text(_LEFT - 8, 52, "bank", 12, "end")
    for bank in range(BANKS):
        drawing.text(_LEFT + (bank + 0.5) * _WIDTH - 1, 52, str(bank), 11, "middle", faint=True)
    for turn in range(rows):
        y = _TOP + turn * _HEIGHT
        drawing.text(_LEFT - 8, y + 15, f"turn {turn + 1}", 11.5, "end")
        for bank, groups in banks.items():
            if turn < len(groups):
                lanes = groups[turn]
                label = str(lanes[0]) if len(lanes) == 1 else f"{lanes[0]}+"
                kind = "warn" if turn else "used"
                drawing.box(_LEFT + bank * _WIDTH, y, _WIDTH - 2, _HEIGHT - 2, label, kind, 10.5)
    words_said = f"1 request, {counted(turns, 'turn')}"
    fullest = max(banks, key=lambda bank: len(banks[bank]))
    if turns > 1:
        words_said += f": bank {fullest} is asked for {turns} different words"
    below = _TOP + rows * _HEIGHT + 24
    drawing.text(_LEFT, below, words_said, 13, bold=True)
    if turns > rows:
        drawing.text(_LEFT, below + 20, f"{turns - rows} more turns like the last", 12, faint=True)
    drawing.key(
        _LEFT + BANKS * _WIDTH - 330, below - 10, {"used": "lane served at once", "warn": "waits"}
    )
    lanes = [lane for groups in banks.values() for group in groups for lane in group]
    first = ", ".join(str(group[0]) for group in banks[fullest][:4])
    more = ", and so on" if len(banks[fullest]) > 4 else ""
    return drawing.picture(
        f"{title + ': ' if title else ''}{counted(len(lanes), 'active lane')} "
        f"of a warp, in {len(banks)} of the {BANKS} banks of shared memory. In bank {fullest} lane "
        f"{first}{more} {verb} in a turn of its own. {words_said}."
    )


def served(byte_addresses: Sequence[int | None]) -> dict[int, list[list[int]]]:
    """For each bank its turns: the lanes that ask for one of its words."""
    words: dict[int, list[int]] = {}
    for lane, address in enumerate(byte_addresses):
        if address is not None:
            words.setdefault(address // BANK_BYTES, []).append(lane)
    banks: dict[int, list[list[int]]] = {}
    for word, lanes in words.items():
        banks.setdefault(word % BANKS, []).append(lanes)
    return banks
