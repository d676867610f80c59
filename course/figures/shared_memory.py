"""Pictures of lesson 03: tiles, barriers, banks, halos, trees and shuffles."""

from __future__ import annotations

from itertools import product

from course.figures.drawing import Drawing
from course.figures.picture import BLUE, FAINT_INK, GREEN, RED, Picture
from course.plain.banks import BANKS


def one_tile_a_block() -> Picture:
    """Three blocks, each with registers and a tile of its own, above the memory of all."""
    drawing = Drawing(860, 300)
    for block in range(3):
        x = 20 + block * 280
        drawing.box(x, 16, 260, 172, kind="group")
        drawing.text(x + 12, 38, f"block {block}", 14, bold=True)
        for thread in range(8):
            drawing.box(x + 12 + thread * 30, 48, 27, 40, f"t{thread}", "used", 11)
        drawing.text(x + 12, 106, "each thread: its own registers", 11.5, faint=True)
        drawing.box(x + 12, 116, 236, 32, "shared memory: one tile", "shared")
        drawing.text(x + 12, 166, "every thread of this block reads and", 11.5, faint=True)
        drawing.text(x + 12, 181, "writes it; no other block can", 11.5, faint=True)
        drawing.arrow(x + 130, 190, x + 130, 226)
        drawing.arrow(x + 150, 226, x + 150, 190)
    drawing.box(20, 228, 820, 40, "global memory: the arrays that the host passed", "plain")
    drawing.text(20, 288, "All blocks reach it, and every byte that moves here is counted.", 12)
    return drawing.picture(
        "Three blocks side by side. Each holds eight threads with registers of their own, and one "
        "tile of shared memory that every thread of the block can read and write and no other "
        "block can see. Below them lies global memory, which all blocks reach; what moves between "
        "a block and global memory is counted."
    )


def reverse_in_a_tile() -> Picture:
    """Straight into the tile, a barrier, and out of the mirrored cell."""
    cell, left = 60.0, 190.0
    drawing = Drawing(700, 306)
    rows = (("global memory, before", 20, "used"), ("tile", 128, "shared"), ("after", 252, "store"))
    for name, y, kind in rows:
        drawing.text(left - 12, y + 20, name, 12.5, "end")
        for place in range(8):
            value = 7 - place if name == "after" else place
            drawing.box(left + place * cell, y, cell - 4, 32, f"a{value}", kind)
    for thread in range(8):
        x = left + thread * cell + cell / 2 - 2
        drawing.line(x, 54, x, 126, BLUE, 1.2, arrow=True)
        mirror = left + (7 - thread) * cell + cell / 2 - 2
        drawing.line(mirror, 162, x, 250, GREEN, 1.2, arrow=True)
    drawing.text(left - 12, 92, "tile[t] = a[i]", 11, "end", mono=True)
    drawing.line(20, 178, 670, 178, RED, 2.2, dashed=True)
    drawing.text(20, 173, "barrier", 12.5, bold=True)
    drawing.text(left - 12, 216, "the mirrored cell", 12, "end")
    return drawing.picture(
        "A slice of 8 elements, a0 to a7. Thread t copies element t into cell t of the tile. Then "
        "comes a barrier. Then thread t takes the mirrored cell, 7 minus t, to place t, so that "
        "the slice ends as a7 to a0. The arrows of the second half cross: each thread takes what "
        "another thread brought."
    )


def race_and_barrier() -> Picture:
    """Two warps in time: without a barrier one reads too early, with it both wait."""
    drawing = Drawing(880, 330)
    scale = 62.0
    left = 120.0

    def lane(y: float, name: str, spans: list[tuple[float, float, str, str]]) -> None:
        drawing.text(left - 12, y + 22, name, 13, "end")
        for start, end, label, kind in spans:
            drawing.box(left + start * scale, y, (end - start) * scale - 3, 32, label, kind, 12)

    drawing.text(20, 26, "Without a barrier", 14, bold=True)
    lane(
        38, "warp 0", [(0, 2, "store tile[0..31]", "shared"), (2, 4, "read tile[96..127]", "warn")]
    )
    lane(
        78, "warp 3", [(2, 5, "another warp runs", "idle"), (5, 7, "store tile[96..127]", "shared")]
    )
    drawing.line(left + 5 * scale, 80, left + 4.05 * scale, 58, RED, 1.4, dashed=True, arrow=True)
    drawing.text(left + 7.1 * scale, 60, "warp 0 reads cells that", 12)
    drawing.text(left + 7.1 * scale, 76, "are not yet written: the", 12)
    drawing.text(left + 7.1 * scale, 92, "result depends on chance", 12)
    drawing.text(20, 158, "With cuda.syncthreads()", 14, bold=True)
    lane(
        170,
        "warp 0",
        [
            (0, 2, "store tile[0..31]", "shared"),
            (2, 7, "waits", "idle"),
            (7, 9, "read tile[96..127]", "used"),
        ],
    )
    lane(
        210,
        "warp 3",
        [
            (2, 5, "another warp runs", "idle"),
            (5, 7, "store tile[96..127]", "shared"),
            (7, 9, "read tile[0..31]", "used"),
        ],
    )
    x = left + 7 * scale - 1.5
    drawing.line(x, 160, x, 254, RED, 2.2, dashed=True)
    drawing.text(x, 270, "the last warp arrives: all go on", 12, "middle", bold=True)
    drawing.line(left, 296, left + 11 * scale, 296, FAINT_INK, 1.2, arrow=True)
    drawing.text(left, 314, "time", 12)
    return drawing.picture(
        "Two warps of a block over time. Without a barrier, warp 0 stores cells 0 to 31 of the "
        "tile and at once reads cells 96 to 127, while warp 3, which has to wait for its turn, "
        "stores them only later: warp 0 has read what was not there. With cuda.syncthreads() warp "
        "0 waits after its store until warp 3 has stored too; then both read."
    )


def tile_turn() -> Picture:
    """Where a tile lies in A, how it turns, and where it lies in B."""
    drawing = Drawing(880, 330)
    side = 44.0
    drawing.text(20, 26, "A: 3 x 5 tiles", 14, bold=True)
    for y, x in product(range(3), range(5)):
        kind = "used" if (y, x) == (1, 3) else "plain"
        label = "block\n(3, 1)" if (y, x) == (1, 3) else ""
        drawing.box(20 + x * side, 40 + y * side, side - 3, side - 3, label, kind, 11)
    drawing.text(20, 196, "load: lanes along a row of A", 12)
    drawing.text(20, 214, "tile[ty, tx] = A[row, column]", 11.5, mono=True)
    drawing.text(330, 24, "the tile (4 x 4 here)", 14, bold=True)
    for y, x in product(range(4), range(4)):
        drawing.box(330 + x * 40, 40 + y * 40, 37, 37, f"{y},{x}", "shared", 11)
    drawing.line(330, 34, 484, 34, BLUE, 2.2, arrow=True)
    drawing.line(324, 40, 324, 194, GREEN, 2.2, arrow=True)
    drawing.text(492, 38, "filled along rows", 12)
    drawing.text(330, 218, "read along columns:", 12)
    drawing.text(330, 236, "tile[tx, ty]", 11.5, mono=True)
    drawing.text(660, 26, "B: 5 x 3 tiles", 14, bold=True)
    for y, x in product(range(5), range(3)):
        kind = "store" if (y, x) == (3, 1) else "plain"
        label = "row 3\ncol 1" if (y, x) == (3, 1) else ""
        drawing.box(660 + x * side, 40 + y * side, side - 3, side - 3, label, kind, 11)
    drawing.text(610, 284, "store: lanes along a row of B", 12)
    drawing.text(610, 302, "B[row, column] = tile[tx, ty]", 11.5, mono=True)
    drawing.arrow(246, 105, 314, 105)
    drawing.arrow(500, 130, 652, 180)
    return drawing.picture(
        "Matrix A of 3 by 5 tiles; the tile in column 3, row 1 is marked. Its block loads it along "
        "rows into a tile in shared memory, drawn as 4 by 4 cells. The tile is then read along "
        "columns: thread (tx, ty) takes cell (tx, ty) instead of (ty, tx). It goes to B, of 5 by 3 "
        "tiles, at row 3, column 1: the two block indices have traded places. Lanes run along a "
        "row of A in the load and along a row of B in the store."
    )


def banks(width: int = 32, rows: int = 8, told: bool = True) -> Picture:
    """A tile's cells with the bank of each, and the cells of column 0 marked.

    Args:
        width: floats in a row of the tile.
        rows: rows that are drawn.
        told: say how many turns a column takes; not where a learner is to predict it.
    """
    cell, left, top = 25.0, 70.0, 62.0
    drawing = Drawing(left + width * cell + 20, top + rows * 26 + 66)
    drawing.text(left, 24, f"Bank of each cell, rows of {width} floats", 14, bold=True)
    drawing.text(left, 48, "column 0", 11.5)
    for row in range(rows):
        drawing.text(left - 10, top + row * 26 + 16, f"row {row}", 11.5, "end")
        for column in range(width):
            kind = "warn" if column == 0 else "idle" if column >= BANKS else "plain"
            x, y = left + column * cell, top + row * 26
            bank = (row * width + column) % BANKS
            drawing.box(x, y, cell - 2, 23, str(bank), kind, 11)
    used = sorted({row * width % BANKS for row in range(BANKS)})
    turns = BANKS // len(used)
    words = (
        f"A warp that reads a column of 32 rows uses {len(used)} "
        f"bank{'s' if len(used) > 1 else ''}: {turns} turn{'s' if turns > 1 else ''}, "
        f"{turns - 1} more than needed."
    )
    if not told:
        words = "How many turns does a warp take that reads a column of 32 rows?"
    drawing.text(left, top + rows * 26 + 24, words, 13, bold=True)
    drawing.key(left, top + rows * 26 + 38, {"warn": "cells of column 0"})
    if width > BANKS:
        drawing.key(left + 190, top + rows * 26 + 38, {"idle": "padding, never used"})
    firsts = ", ".join(str(row * width % BANKS) for row in range(rows))
    return drawing.picture(
        f"The first {rows} rows of a tile whose rows are {width} floats long, each cell labelled "
        f"with its bank, 0 to 31. The cells of column 0 lie in banks {firsts} and so on. {words}"
    )


def halo() -> Picture:
    """One block's elements, the halo on either side, and the cells that they go to."""
    cell, left = 42.0, 40.0
    drawing = Drawing(816, 300)
    drawing.text(left, 24, "A block of 8 threads, radius 3", 14, bold=True)
    drawing.text(left, 48, "a in global memory", 12)
    for place in range(18):
        offset = place - 5
        near = -3 <= offset < 11
        kind = "used" if 0 <= offset < 8 else "third" if near else "plain"
        label = f"s{offset:+d}" if offset else "s"
        drawing.box(left + place * cell, 56, cell - 3, 30, label if near else "...", kind, 12)
    for number in range(14):
        x = left + (number + 2) * cell
        drawing.line(x + cell / 2 - 1, 88, x + cell / 2 - 1, 132, FAINT_INK, 1, arrow=True)
        kind = "shared" if 3 <= number < 11 else "third"
        drawing.box(x, 134, cell - 3, 30, str(number), kind, 12)
    drawing.text(left + 2 * cell - 10, 154, "tile", 12, "end")
    for number in range(2, 9):
        x = left + (number + 2) * cell + cell / 2 - 1
        drawing.line(x, 166, left + 7 * cell + cell / 2 - 1, 218, GREEN, 1.2, arrow=True)
    x = left + 7 * cell
    drawing.box(x - 12, 220, cell + 21, 30, "out[s+2]", "store", 12)
    drawing.text(x + cell + 24, 240, "thread 2 adds cells 2 to 8", 12)
    drawing.key(
        left, 272, {"used": "own elements", "third": "halo", "shared": "loaded by thread t"}
    )
    return drawing.picture(
        "A block whose first element is s, with 8 threads and radius 3. It needs the elements from "
        "s - 3 to s + 10: its own 8, and a halo of 3 on either side. Cell c of the tile holds "
        "element s - 3 + c, so that thread t's own element lies in cell t + 3. Thread 2 adds the "
        "cells 2 to 8."
    )


def tree() -> Picture:
    """A tree reduction by halving, and who works in each step."""
    width, left = 46.0, 110.0
    drawing = Drawing(876, 354)
    drawing.text(20, 24, "16 cells, 4 steps, 15 additions", 14, bold=True)
    for step in range(5):
        y, alive = 40 + step * 66, 16 >> step
        name = "start" if step == 0 else f"after s = {alive}"
        drawing.text(left - 12, y + 20, name, 12.5, "end")
        for place in range(16):
            label = str(place) if step == 0 else f"{2**step} terms"
            kind = "shared" if place < alive else "idle"
            x = left + place * width
            drawing.box(x, y, width - 4, 30, label if place < alive else "", kind, 10.5)
        for place in range(alive // 2):
            x = left + place * width + width / 2 - 2
            drawing.line(x, y + 30, x, y + 64, FAINT_INK, 1)
            drawing.line(x + alive // 2 * width, y + 30, x + 4, y + 64, BLUE, 1, arrow=True)
    return drawing.picture(
        "A tree over 16 cells of shared memory. In the first step the first 8 threads each add the "
        "cell 8 places on to their own; then half as many threads add cells half as far away, "
        "until after 4 steps cell 0 holds the sum of all 16. Between two steps stands a barrier. "
        "The cells that are out of use are hatched: their threads have nothing left to do but to "
        "arrive at the barriers."
    )


def barrier_inside_an_if() -> Picture:
    """Half of a block waits for the half that never comes."""
    drawing = Drawing(860, 216)
    drawing.text(20, 26, "if t < s: ... cuda.syncthreads()", 13.5, bold=True, mono=True)
    drawing.text(20, 66, "threads below s", 12.5)
    drawing.box(180, 44, 150, 34, "tile[t] += ...", "shared")
    drawing.box(336, 44, 330, 34, "waits at the barrier", "idle")
    drawing.text(684, 66, "for ever", 13, bold=True)
    drawing.text(20, 116, "threads from s on", 12.5)
    drawing.box(180, 94, 150, 34, "skip the if", "plain")
    drawing.box(336, 94, 330, 34, "the next step, the end ...", "warn")
    drawing.text(684, 116, "never arrive", 13, bold=True)
    drawing.text(20, 164, "A barrier is passed when every thread of the block has arrived.", 13)
    drawing.text(20, 186, "So it must stand where every thread of the block passes it.", 13)
    return drawing.picture(
        "A barrier inside an if. The threads below s add, then wait at the barrier for ever. The "
        "threads from s on skip the if, and with it the barrier: they never arrive. A barrier must "
        "stand where every thread of the block passes it."
    )


def rows_and_warps() -> Picture:
    """A thread a row against a warp a row: what one request touches."""
    drawing = Drawing(880, 290)
    for side, title in enumerate(("A thread a row", "A warp a row")):
        left = 30 + side * 430
        drawing.text(left, 26, title, 14, bold=True)
        for row, column in product(range(6), range(16)):
            hit = column == 0 if side == 0 else row == 0
            moved = column < 8 if side == 0 else row == 0
            kind = "used" if hit else "unused" if moved else "plain"
            label = ""
            if hit:
                label = str(row) if side == 0 else str(column)
            drawing.box(left + column * 24, 40 + row * 28, 22, 25, label, kind, 10.5)
        lines = (
            ("One request: lane i stands in row i.", "32 lanes, 32 sectors, 4 of 32 bytes used."),
            ("One request: lane i stands i places on.", "32 lanes, 4 sectors, every byte used."),
        )[side]
        for number, line in enumerate(lines):
            drawing.text(left, 232 + 20 * number, line, 13, bold=number == 1)
    drawing.key(30, 268, {"used": "a lane's element", "unused": "moved with it, not used"})
    return drawing.picture(
        "Two ways to add up the rows of a matrix. A thread a row: in one request lane i reads an "
        "element of row i, so that 32 lanes touch 32 sectors and use 4 bytes of each 32. A warp a "
        "row: in one request the lanes read neighbours in one row, 32 lanes touch 4 sectors and "
        "use every byte."
    )


def dot_in_three_stages() -> Picture:
    """From N products to a number a thread, a number a block, and one number."""
    drawing = Drawing(880, 318)
    drawing.text(20, 26, "a[i] * b[i], two blocks of four threads", 14, bold=True)
    for i in range(16):
        kind = "used" if i // 4 % 2 == 0 else "third"
        drawing.box(150 + i * 44, 40, 40, 28, str(i), kind, 12)
    drawing.text(138, 60, "products", 12.5, "end")
    for block in range(2):
        for thread in range(4):
            x = 190 + block * 330 + thread * 60
            place = block * 4 + thread
            for lap in range(2):
                source = 150 + (place + lap * 8) * 44 + 20
                drawing.line(source, 70, x + 26, 112, FAINT_INK, 0.9, arrow=True)
            kind = "used" if block == 0 else "third"
            drawing.box(x, 114, 52, 30, f"t{thread}", kind, 12)
            drawing.line(x + 26, 146, 190 + block * 330 + 116, 192, BLUE, 1.1, arrow=True)
        words = f"a tree: {4 - 1} additions, into partial[{block}]"
        drawing.box(190 + block * 330, 194, 232, 30, words, "store", 12)
        drawing.line(306 + block * 330, 226, 470, 264, GREEN, 1.3, arrow=True)
    drawing.text(178, 134, "1  registers", 12.5, "end")
    drawing.text(178, 214, "2  shared memory", 12.5, "end")
    drawing.text(178, 284, "3  the host", 12.5, "end")
    drawing.box(400, 266, 140, 30, "the dot product", "plain", 12)
    return drawing.picture(
        "Sixteen products, two blocks of four threads. Stage one, in registers: thread t of the "
        "grid adds the products t and t + 8. Stage two, in shared memory: each block adds its four "
        "sums with a tree and stores one number in partial. Stage three: the host adds up partial."
    )


def odd_halving(threads: int = 96) -> Picture:
    """Halving a count that is no power of two: which cell nobody adds."""
    counts = [threads]
    while counts[-1] > 1:
        counts.append(counts[-1] // 2)
    lost = next(n for n in counts if n % 2)  # 1 at the end: nothing is lost
    drawing = Drawing(860, 200)
    drawing.text(20, 26, f"Halving {threads} cells", 14, bold=True)
    for number, count in enumerate(counts):
        kind = "warn" if count == lost else "shared"
        drawing.box(20 + number * 100, 44, 70, 36, str(count), kind, 15)
        if number + 1 < len(counts):
            drawing.arrow(92 + number * 100, 62, 116 + number * 100, 62)
    for place in range(lost):
        kind = "warn" if place == lost - 1 > 0 else "shared"
        drawing.box(20 + place * 110, 112, 100, 34, f"cell {place}", kind, 12)
    nobody = f"thread 0 adds cell {lost // 2}, and nobody adds cell {lost - 1}."
    words = "Every count is even until one cell is left: nothing is lost."
    words = f"{lost} // 2 = {lost // 2}: {nobody}" if lost > 1 else words
    drawing.text(20, 178, words, 13, bold=True)
    steps = ", ".join(map(str, counts))
    return drawing.picture(f"The counts of a plain halving: {steps}. {words}")


def shuffle_steps() -> Picture:
    """A warp's sum by shuffles, drawn for 8 lanes."""
    width, left = 84.0, 130.0
    drawing = Drawing(822, 306)
    drawing.text(20, 24, "Sums of 8 lanes by shfl_down", 14, bold=True)
    for number, step in enumerate((4, 2, 1, 0)):
        y, terms = 40.0 + 74 * number, 2**number
        for lane in range(8):
            useful = lane < 8 // terms
            label = f"x{lane}" if terms == 1 else f"{terms} lanes"
            kind = "used" if useful else "idle"
            drawing.box(left + lane * width, y, width - 8, 30, label if useful else "", kind, 12)
        if step:
            drawing.text(left - 12, y + 56, f"down by {step}", 12.5, "end")
        for lane in range(step):
            x = left + lane * width + width / 2 - 4
            drawing.line(x + step * width, y + 30, x + 6, y + 72, BLUE, 1.2, arrow=True)
    drawing.text(left - 12, 60, "registers", 12.5, "end")
    drawing.text(left - 12, y + 20, "lane 0: the sum", 12.5, "end")
    return drawing.picture(
        "The registers of 8 lanes. In the first shuffle each lane receives the register of the "
        "lane 4 places on and adds it; then the lane half as far away, down to the neighbour. "
        "After 3 steps lane 0 holds the sum of all 8. The other lanes hold sums that nobody needs; "
        "they are drawn hatched. No shared memory is used."
    )


def scan_steps() -> Picture:
    """A running sum by doubling distances."""
    width, left = 84.0, 110.0
    drawing = Drawing(802, 310)
    drawing.text(20, 24, "Running sums of 8 cells in 3 steps", 14, bold=True)
    for step in range(4):
        y = 40 + step * 74
        distance = 1 << step  # and as many elements are in a cell before this step
        for place in range(8):
            first = max(0, place - distance + 1)
            label = str(place) if first == place else f"{first}..{place}"
            kind = "store" if first == 0 else "shared"
            drawing.box(left + place * width, y, width - 8, 30, label, kind, 12)
        if step < 3:
            drawing.text(left - 12, y + 56, f"d = {distance}", 12.5, "end")
        for place in range(distance, 8):
            x = left + place * width + width / 2 - 4
            drawing.line(x - distance * width, y + 30, x - 6, y + 72, BLUE, 1.1, arrow=True)
    drawing.text(left - 12, 60, "start", 12.5, "end")
    return drawing.picture(
        "Running sums of 8 cells. With d = 1, then 2, then 4, every cell from d on adds the cell d "
        "places before it. A label such as 2..5 names the elements whose sum a cell holds. After 3 "
        "steps every label starts at 0: each cell holds its running sum."
    )
