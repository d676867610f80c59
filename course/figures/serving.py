"""Pictures of the lesson "Serving and training": pages of a cache, bytes of int4, experts' rows."""

from __future__ import annotations

from course.figures.drawing import Drawing
from course.figures.picture import INK, Picture

#: The example of the lesson: two sequences, pages of four tokens, a pool of six.
LENGTHS = (7, 9)
TABLE = ((4, 1, -1), (2, 5, 0))
PAGE, POOL = 4, 6
#: Rows of each expert in the example, and rows of a tile.
ROWS, TILE = (5, 0, 2, 6), 4


def pages() -> Picture:
    """Two sequences of tokens, their rows of the table, and the pool that the pages lie in."""
    drawing = Drawing(880, 330)
    kinds = ("used", "third")
    owner = {
        page: (sequence, index)
        for sequence, row in enumerate(TABLE)
        for index, page in enumerate(row)
        if page >= 0
    }
    drawing.text(24, 28, "Two sequences, pages of 4 tokens", 14, bold=True)
    for sequence, (length, row) in enumerate(zip(LENGTHS, TABLE, strict=True)):
        y = 48.0 + 66 * sequence
        drawing.text(24, y + 22, f"sequence {sequence}: {length} tokens", 12.5)
        drawing.text(212, y + 22, f"table[{sequence}]", 12.5, mono=True)
        drawing.text(212, y + 48, "its tokens", 11, faint=True)
        for index, page in enumerate(row):
            kind = kinds[sequence] if page >= 0 else "idle"
            drawing.box(300 + 60 * index, y, 54, 34, str(page), kind, 14, mono=True)
            held = f"{index * PAGE} to {index * PAGE + PAGE - 1}"
            drawing.text(327 + 60 * index, y + 48, held, 11, "middle", faint=True)
        drawing.text(500, y + 22, f"{-(-length // PAGE)} pages, the last one partly used", 12.5)
    drawing.text(24, 208, "The pool: 6 pages, 4 tokens each", 14, bold=True)
    for page in range(POOL):
        left = 24 + 140.0 * page
        drawing.text(left + 64, 290, f"page {page}", 12, "middle", mono=True)
        sequence, index = owner.get(page, (-1, 0))
        for slot in range(PAGE):
            token = index * PAGE + slot
            live = sequence >= 0 and token < LENGTHS[sequence]
            kind = kinds[sequence] if live else "unused"
            label = str(token) if live else ""
            drawing.box(left + 32 * slot, 226, 30, 40, label, kind, 12.5)
    drawing.key(
        24,
        304,
        {"used": "of sequence 0", "third": "of sequence 1", "unused": "nobody's, or old"},
    )
    return drawing.picture(
        "Two sequences of 7 and 9 tokens, and a pool of six pages of four tokens. Row 0 of the "
        "table is 4, 1, -1: tokens 0 to 3 of sequence 0 lie in page 4, tokens 4 to 6 in page 1, "
        "whose last place is unused. Row 1 is 2, 5, 0: tokens 0 to 3 of sequence 1 lie in page 2, "
        "4 to 7 in page 5, and token 8 alone in page 0. Page 3 belongs to nobody."
    )


def nibbles() -> Picture:
    """A group of weights in half as many bytes: low bits for its first half, high for the rest."""
    drawing = Drawing(880, 220)
    drawing.text(24, 28, "A group of 8 weights in 4 bytes", 14, bold=True)
    for weight in range(8):
        kind = "used" if weight < 4 else "store"
        drawing.box(120 + 60 * weight, 48, 54, 32, f"w {weight}", kind, 13)
    for byte in range(4):
        left = 120 + 120.0 * byte
        drawing.box(left, 136, 55, 32, f"{byte + 4}", "store", 13)
        drawing.box(left + 55, 136, 55, 32, f"{byte}", "used", 13)
        drawing.text(left + 55, 188, f"byte {byte}", 12, "middle", mono=True)
        drawing.line(147 + 60 * byte, 82, left + 82, 133, INK, 1.1, arrow=True)
        drawing.line(147 + 60 * (byte + 4), 82, left + 28, 133, INK, 1.1, arrow=True)
    drawing.text(630, 150, "high four bits on the left,", 12.5)
    drawing.text(630, 168, "low four on the right", 12.5)
    return drawing.picture(
        "A row of 8 weights above 4 bytes. Byte j holds weight j in its low four bits and weight j "
        "+ 4 in its high four bits, so that the first half of the group lies in the low bits of "
        "all bytes, in order, and the second half in the high bits."
    )


def tiles_of_experts() -> Picture:
    """Rows sorted by expert, cut into tiles that begin anew at each expert's first row."""
    drawing = Drawing(880, 230)
    kinds = ("used", "warn", "store", "third")
    drawing.text(24, 28, "13 rows of x, sorted by expert; tiles of 4 rows", 14, bold=True)
    row = tile = 0
    for expert, count in enumerate(ROWS):
        for first in range(0, count, TILE):
            held = min(TILE, count - first)
            for slot in range(TILE):
                if slot < held:
                    left = 24 + 62.0 * (row + slot)
                    drawing.box(left, 56, 58, 32, f"row {row + slot}", kinds[expert], 12.5)
            left = 24 + 62.0 * row
            drawing.line(left, 104, left + 62 * held - 4, 104, INK, 2.2)
            drawing.text(left, 124, f"tile {tile}", 12.5, bold=True)
            drawing.text(left, 142, f"expert {expert}", 12)
            row += held
            tile += 1
    drawing.text(24, 178, "offsets = 0, 5, 5, 7, 13", 12.5)
    drawing.text(24, 204, "tiles of each expert = 2, 0, 1, 2", 12.5)
    counted = "running count of tiles = 2, 2, 3, 5: tile 2 is the first one of expert 2"
    drawing.text(300, 204, counted, 12.5)
    return drawing.picture(
        "Thirteen rows of x: 0 to 4 belong to expert 0, none to expert 1, 5 and 6 to expert 2, 7 "
        "to 12 to expert 3. Tiles of four rows begin anew with each expert: tile 0 has rows 0 to 3 "
        "and tile 1 row 4, both of expert 0; tile 2 has rows 5 and 6 of expert 2; tiles 3 and 4 "
        "have rows 7 to 10, and 11 and 12, of expert 3. The running count of tiles by expert is 2, "
        "2, 3, 5."
    )
