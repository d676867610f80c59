"""Lanes and sectors: what one request of a warp touches. Grids and blocks: who does what."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from course.figures.drawing import Drawing
from course.figures.picture import BLUE, RED, Picture
from course.plain.sectors import SECTOR_BYTES, WARP_LANES
from course.plain.text import counted

_LEFT = 58.0
#: 32 of them are no wider than a film of cells: on a phone all lanes are seen.
_LANE_WIDTH = 17.0
_LANE_SIZE = 9.0
_ROW_WIDTH = _LANE_WIDTH * WARP_LANES
_GAP = 10.0  # between sectors that are no neighbours in memory
_EDGE = 2.0


def access_picture(
    byte_addresses: Sequence[int | None], itemsize: int = 4, title: str = "", verb: str = "reads"
) -> Picture:
    """One request: the lanes of a warp above, the 32-byte sectors that they touch below.

    Args:
        byte_addresses: for each lane the address of its element in bytes, counted from the
            start of the allocation (which stands at a sector's start); None for a lane that
            is switched off. At most 32.
        itemsize: bytes of an element.
        title: a line above, for example the access in the source.
        verb: "reads" or "writes".

    Raises:
        ValueError: for more lanes than a warp has, or for no active lane.
    """
    if len(byte_addresses) > WARP_LANES:
        raise ValueError(f"a warp has {WARP_LANES} lanes, not {len(byte_addresses)}")
    used = _used_bytes(byte_addresses, itemsize)
    if not used:
        raise ValueError("no lane is active: there is no request to draw")
    starts = _sector_positions(list(used))
    drawing = Drawing(_LEFT + _ROW_WIDTH + 10, 226)
    drawing.text(_LEFT, 22, title or "One request of a warp", 14, bold=True, mono=bool(title))
    drawing.text(_LEFT - 5, 52, "lanes", 12, "end")
    drawing.text(_LEFT - 5, 142, "sectors", 12, "end")
    scale = starts[1] / SECTOR_BYTES
    many = len(used) > 4 * 4
    for lane, address in enumerate(byte_addresses):
        x = _LEFT + lane * _LANE_WIDTH
        kind = "idle" if address is None else "used"
        drawing.box(x, 36, _LANE_WIDTH - _EDGE, 24, kind=kind)
        if address is not None:
            sector, byte = divmod(address, SECTOR_BYTES)
            centre = starts[0][sector] + (byte + itemsize / 2) * scale
            drawing.line(x + _LANE_WIDTH / 2 - 1, 60, centre, 122, RED if many else BLUE, 0.9)
    middle = (_LANE_WIDTH - _EDGE) / 2
    lanes = range(len(byte_addresses))
    drawing.labels(
        [(_LEFT + lane * _LANE_WIDTH + middle, 52, str(lane)) for lane in lanes], _LANE_SIZE
    )
    for sector, bytes_used in used.items():
        x = starts[0][sector]
        _draw_sector(drawing, x, scale, bytes_used)
        if scale * SECTOR_BYTES > 60 or len(used) <= 8:
            drawing.text(x, 166, f"byte {sector * SECTOR_BYTES}", 10.5, faint=True)
    moved = len(used) * SECTOR_BYTES
    wanted = sum(len(part) for part in used.values())
    verdict = (
        f"1 request, {counted(len(used), 'sector')}: {moved} bytes moved, "
        f"{wanted} used ({100 * wanted / moved:.3g} %)"
    )
    drawing.text(_LEFT, 193, verdict, 13, bold=True)
    drawing.key(_LEFT, 205, {"used": "bytes used", "unused": "moved, not used"})
    return drawing.picture(_access_alt(byte_addresses, verdict, used, title, verb))


def _used_bytes(addresses: Sequence[int | None], itemsize: int) -> dict[int, set[int]]:
    """Sector number: which of its bytes some lane touches, in order of sectors."""
    used: dict[int, set[int]] = {}
    for address in addresses:
        if address is not None:
            for byte in range(address, address + itemsize):
                used.setdefault(byte // SECTOR_BYTES, set()).add(byte % SECTOR_BYTES)
    return dict(sorted(used.items()))


def _sector_positions(sectors: list[int]) -> tuple[dict[int, float], float]:
    """Each sector's left edge, and the width of one."""
    gaps = [_GAP if b != a + 1 else 0.0 for a, b in pairwise(sectors)]
    gap_scale = min(1.0, 0.25 * _ROW_WIDTH / max(1.0, sum(gaps)))
    room = _ROW_WIDTH - gap_scale * sum(gaps)
    width = min(8 * _LANE_WIDTH, room / len(sectors))
    x = _LEFT
    positions = {}
    for sector, gap in zip(sectors, [*gaps, 0.0], strict=True):
        positions[sector] = x
        x += width + gap * gap_scale
    return positions, width


def _draw_sector(drawing: Drawing, x: float, scale: float, used: set[int]) -> None:
    drawing.box(x, 122, SECTOR_BYTES * scale - _EDGE, 30, kind="unused")
    for first, last in _runs(sorted(used)):
        width = (last - first + 1) * scale - (_EDGE if last == SECTOR_BYTES - 1 else 0)
        drawing.box(x + first * scale, 122, max(width, 1.0), 30, kind="used")


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Neighbouring numbers as (first, last)."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def _access_alt(
    addresses: Sequence[int | None],
    verdict: str,
    used: dict[int, set[int]],
    title: str,
    verb: str,
) -> str:
    active = [(lane, a) for lane, a in enumerate(addresses) if a is not None]
    first, last = active[0], active[-1]
    lanes = f"Lane {first[0]} {verb} byte {first[1]}"
    if len(active) > 2:
        lanes += f", lane {active[1][0]} byte {active[1][1]}, and so on"
    if len(active) > 1:
        lanes += f", lane {last[0]} byte {last[1]}"
    together = len(used) == max(used) - min(used) + 1
    apart = f"The sectors lie {'side by side' if together else 'apart in memory'}. "
    if len(used) == 1:
        apart = ""
    return (
        f"{title + ': ' if title else ''}{counted(len(active), 'active lane')} of a warp above, "
        f"{counted(len(used), 'sector')} below. {lanes}. {apart}{verdict}."
    )


def grid_picture(n: int, block: int, grid: int | None = None) -> Picture:
    """A one-dimensional grid over n elements: blocks, their threads, and who has no element.

    Args:
        n: elements.
        block: threads a block (at most 16 draw well).
        grid: blocks; the least that cover n unless told.
    """
    blocks = -(-n // block) if grid is None else grid
    threads = blocks * block
    cell = min(34.0, 880.0 / max(threads, n))
    gap = 10.0
    size = min(12.0, (cell - 5) / (0.62 * len(str(threads - 1))))
    width = max(700.0, 40 + cell * max(threads, n) + gap * blocks)
    drawing = Drawing(width, 190)
    title = f"{blocks} blocks of {block} threads cover {n} elements"
    drawing.text(20, 24, title, 14, bold=True)
    for thread in range(threads):
        number, local = divmod(thread, block)
        x = 20 + thread * cell + number * gap
        if local == 0:
            drawing.box(x - 4, 38, block * cell + 6, 62, kind="group")
            drawing.text(x, 54, f"block {number}", 11.5)
        idle = thread >= n
        drawing.box(x, 66, cell - 2, 26, str(local), "idle" if idle else "used", size)
        if not idle:
            drawing.line(x + cell / 2 - 1, 92, x + cell / 2 - 1, 116, BLUE, 1, arrow=False)
            drawing.box(x, 116, cell - 2, 24, str(thread), "store", size)
    drawing.key(20, 160, {"used": "thread with an element", "store": "element"})
    drawing.key(320, 160, {"idle": "thread past the end: its guard must be False"})
    spare = max(0, threads - n)
    return drawing.picture(
        f"{title}. Thread t of block b works on element b * {block} + t. The last "
        f"{counted(spare, 'thread')} of the grid have no element and must do nothing."
        if spare
        else f"{title}. Thread t of block b works on element b * {block} + t; no thread is spare."
    )
