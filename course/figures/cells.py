"""An array's elements, and who touches which: threads of a block, or programs with their tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from textwrap import wrap

from course.figures.drawing import GLYPH_WIDTH, Drawing
from course.figures.picture import BLUE, Picture
from course.plain.sectors import SECTOR_BYTES

#: Elements that one picture shows, in rows of so many: half as wide as a page, for a phone.
MOST_CELLS, MOST_COLUMNS = 64, 16
_SIDE, _LEFT, _GAP = 30.0, 56.0, 3.0
_WIDTH = _LEFT + MOST_COLUMNS * _SIDE + 16
_LABEL = 11.0
#: Characters of a line of words.
_LINE = 72


@dataclass(frozen=True)
class Tile:
    """A program's block of lanes: for each the element that it touches, None where masked off.

    `outside` are those that the array has not.
    """

    title: str
    rows: tuple[tuple[str | None, ...], ...]
    outside: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Cells:
    """An array as it lies in memory, and who touches it in one access.

    Attributes:
        row: elements from one row to the next; 0 for a vector.
        now: element: who touches it now, `3`, or `0:3` for thread 3 of block 0.
        writers: element of shared memory: who wrote it last.
        kind: how an element that is touched now looks, a key of FILLS.
        marked: elements that the fault is about, and `why` says how.
        itemsize: bytes of an element, so that sectors can be marked; 0 leaves them out.
        outside: what lies outside of the array, and whose it is.
        off: why nothing is touched for some places of a tile.
    """

    array: str
    count: int
    row: int
    now: Mapping[int, str]
    kind: str
    meaning: str
    writers: Mapping[int, str] = field(default_factory=dict)
    marked: frozenset[int] = frozenset()
    itemsize: int = 0
    outside: tuple[str, ...] = ()
    why: str = ""
    off: str = "masked off"

    @property
    def sectors(self) -> int:
        """How many sectors are touched."""
        return len({self._sector(cell) for cell in self.now}) if self.itemsize else 0

    def _sector(self, cell: int) -> int:
        return cell * self.itemsize // SECTOR_BYTES

    def shown(self) -> list[list[int]]:
        """The elements that have room, row by row: those that are marked, or touched first."""
        start = min([*self.marked] or [*self.now] or [0])
        if not self.row:
            first = start // MOST_COLUMNS * MOST_COLUMNS
            first = max(0, min(first, (self.count - 1) // MOST_CELLS * MOST_CELLS))
            first = 0 if self.count <= MOST_CELLS else first
            last = min(self.count, first + MOST_CELLS)
            cells = range(first, last)
            return [list(cells[at : at + MOST_COLUMNS]) for at in range(0, len(cells), 16)]
        row, column = divmod(start, self.row)
        left = 0 if self.row <= MOST_COLUMNS else column // MOST_COLUMNS * MOST_COLUMNS
        width = min(MOST_COLUMNS, self.row - left)
        most, rows = MOST_CELLS // width, -(-self.count // self.row)
        first = 0 if rows <= most else min(row, rows - most)
        corners = [at * self.row + left for at in range(first, min(rows, first + most))]
        return [[c for c in range(at, at + width) if c < self.count] for at in corners]


def cells_picture(
    code: str, cells: Cells, words: Sequence[str], alt: str, tiles: Sequence[Tile] = ()
) -> Picture:
    """One access: the tiles of the programs that make it above, the array's elements below.

    Args:
        code: the line of source.
        words: lines below, that say what is seen.
        alt: the same for who sees no picture.
    """
    rows = cells.shown()
    words = [part for line in words for part in wrap(line, _LINE)]
    height = _SIDE + (14 if cells.writers else 0)
    step = height + (8 if cells.itemsize else 2)
    top = max((y + _tile_size(tile)[1] - 36 for _, y, tile in _placed(tiles)), default=0.0)
    below = top + 62 + len(rows) * step
    tall = below + 30 * bool(cells.outside) + 28 + 18 * len(words)
    drawing = Drawing(_WIDTH, tall)
    drawing.text(16, 24, code, 13, bold=True, mono=True)
    _draw_tiles(drawing, tiles)
    drawing.text(16, top + 48, cells.array, 12, mono=True)
    _draw_cells(drawing, cells, rows, top + 56, height, step)
    if cells.outside:
        x = 16.0
        for said in cells.outside:
            width = 14 + 6.9 * len(said)
            if x + width > _WIDTH:
                break  # the words below have it, too
            drawing.box(x, below, width, 22, said, "warn", 11)
            x += width + 8
        below += 30
    keys = {cells.kind: cells.meaning}
    if cells.writers:
        keys["shared"] = "w: who wrote it last"
    if cells.marked or cells.outside:
        keys["warn"] = cells.why if cells.marked else "outside"
    if any(label is None for tile in tiles for row in tile.rows for label in row):
        keys["idle"] = cells.off
    x = drawing.key(16, below, keys)
    if cells.now and cells.itemsize:
        drawing.line(x, below + 7, x + 20, below + 7, BLUE, 3)
        drawing.text(x + 26, below + 11, "a sector", 12)
    for number, line in enumerate(words):
        drawing.text(16, below + 32 + 18 * number, line, 12, bold=number == 0)
    return drawing.picture(alt)


def _draw_cells(
    drawing: Drawing,
    cells: Cells,
    rows: list[list[int]],
    top: float,
    height: float,
    step: float,
) -> None:
    places = {
        cell: (_LEFT + at * _SIDE, top + number * step)
        for number, row in enumerate(rows)
        for at, cell in enumerate(row)
    }
    kinds: dict[str, list[tuple[float, float]]] = {}
    for cell, place in places.items():
        kind = "shared" if cell in cells.writers else "plain"
        kind = cells.kind if cell in cells.now else kind
        kinds.setdefault("warn" if cell in cells.marked else kind, []).append(place)
    for kind, corners in kinds.items():
        drawing.boxes(corners, _SIDE - _GAP, height - _GAP, kind)
    middle = (_SIDE - _GAP) / 2
    there = [(x + middle, y, cells.now[c]) for c, (x, y) in places.items() if c in cells.now]
    above = [(x, y + 11, f"b{label.split(':')[0]}") for x, y, label in there if ":" in label]
    drop = 6 if above else 12
    who = [(x, y + height - drop, label.split(":")[-1]) for x, y, label in there]
    _label(drawing, who, _LABEL)
    _label(drawing, above, _LABEL - 1, faint=True)
    before = [(x + middle, y + 13, f"w{cells.writers[c]}") for c, (x, y) in places.items()
              if c in cells.writers]  # fmt: skip
    _label(drawing, before, _LABEL - 1, faint=True)
    for number, row in enumerate(rows):
        y = top + number * step
        first = row[0] % cells.row if cells.row else row[0]
        label = f"{row[0] // cells.row}, {first}" if cells.row else f"{first}"
        drawing.text(_LEFT - 8, y + height / 2 + 2, label, 11, "end", faint=True)
        if cells.itemsize:
            touched = [cell for cell in row if cell in cells.now]
            for _, group in groupby(touched, key=cells._sector):
                sector = list(group)
                left, right = places[sector[0]][0], places[sector[-1]][0] + _SIDE - _GAP
                drawing.line(left, y + height + 1, right, y + height + 1, BLUE, 3)


def _label(
    drawing: Drawing, words: Sequence[tuple[float, float, str]], size: float, faint: bool = False
) -> None:
    """Words in elements, so small that the longest leaves room beside it."""
    if words:
        longest = max(len(word) for *_, word in words)
        room = _SIDE - _GAP - 7
        drawing.labels(words, min(size, room / (GLYPH_WIDTH * longest)), faint)


def _tile_size(tile: Tile) -> tuple[float, float]:
    return max(map(len, tile.rows)) * _SIDE + 14, len(tile.rows) * 20 + 26


def _placed(tiles: Sequence[Tile]) -> list[tuple[float, float, Tile]]:
    """Side by side, as long as a line has room."""
    placed, x, y, deepest = [], 16.0, 36.0, 0.0
    for tile in tiles:
        width, height = _tile_size(tile)
        if x > 16 and x + width > _WIDTH:
            x, y, deepest = 16.0, y + deepest, 0.0
        placed.append((x, y, tile))
        x, deepest = x + width, max(deepest, height)
    return placed


def _draw_tiles(drawing: Drawing, tiles: Sequence[Tile]) -> None:
    for left, top, tile in _placed(tiles):
        drawing.text(left, top + 14, tile.title, 11.5)
        there = [
            (left + column * _SIDE, top + 20 + 20 * number, label)
            for number, row in enumerate(tile.rows)
            for column, label in enumerate(row)
        ]
        for kind, chosen in (
            ("used", [(x, y) for x, y, label in there if label not in (None, *tile.outside)]),
            ("warn", [(x, y) for x, y, label in there if label in tile.outside]),
            ("idle", [(x, y) for x, y, label in there if label is None]),
        ):
            if chosen:
                drawing.boxes(chosen, _SIDE - _GAP, 17, kind)
        labels = [(x + (_SIDE - _GAP) / 2, y + 12.5, label) for x, y, label in there if label]
        _label(drawing, labels, _LABEL - 0.5)
