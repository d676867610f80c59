"""Pictures of lesson 04: who needs which element, tiles, patches and what stays where."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from course.figures.drawing import Drawing
from course.figures.picture import BLUE, FAINT_INK, INK, Picture, bytes_over


def row_times_column() -> Picture:
    """One element of C, the row of A and the column of B that it needs."""
    drawing = Drawing(860, 330)
    side = 26.0

    def matrix(name: str, x: float, y: float, rows: int, columns: int) -> None:
        drawing.text(x, y - 8, f"{name}: {rows} x {columns}", 13, bold=True)
        for r, c in product(range(rows), range(columns)):
            hit = {"A": r == 2, "B": c == 5, "C": (r, c) == (2, 5)}[name]
            kind = {"A": "used", "B": "third", "C": "store"}[name] if hit else "plain"
            drawing.box(x + c * side, y + r * side, side - 2, side - 2, kind=kind)

    matrix("B", 420, 34, 6, 8)
    matrix("A", 220, 214, 4, 6)
    matrix("C", 420, 214, 4, 8)
    drawing.line(380, 214 + 2.5 * side, 544, 214 + 2.5 * side, BLUE, 1.3, arrow=True)
    drawing.line(420 + 5.5 * side, 192, 420 + 5.5 * side, 262, BLUE, 1.3, arrow=True)
    notes = (
        "One element of C needs",
        "a whole row of A and",
        "a whole column of B.",
        "",
        "Each row of A serves the N",
        "elements of one row of C;",
        "each column of B serves M.",
    )
    for number, line in enumerate(notes):
        drawing.text(656, 60 + number * 20, line, 12.5)
    return drawing.picture(
        "Matrix A of 4 by 6, matrix B of 6 by 8, and their product C of 4 by 8. One element of C "
        "is marked, in row 2 and column 5: it needs the whole of row 2 of A and the whole of "
        "column 5 of B. Each row of A serves all elements of one row of C, and each column of B "
        "all elements of one column."
    )


def warp_on_operands(swapped: bool = False) -> Picture:
    """For three shapes of a warp: sectors of A and of B at one step of k.

    Args:
        swapped: whether the block with x and y exchanged is drawn too.
    """
    rows = [
        ("block 32 wide: 1 row x 32 columns", 1, 4),
        ("block 16 wide: 2 rows x 16 columns", 2, 2),
        ("block 8 wide: 4 rows x 8 columns", 4, 1),
    ]
    if swapped:
        rows.append(("16 wide, x and y swapped: 16 rows x 2 columns", 16, 1))
    below = 66 + 44 * len(rows)
    drawing = Drawing(880, below + 38)
    drawing.text(20, 26, "One warp, one step of k: sectors that it touches", 14, bold=True)
    drawing.text(350, 54, "A[row, k]", 12.5, mono=True)
    drawing.text(680, 54, "B[k, column]", 12.5, mono=True)
    for number, (name, of_a, of_b) in enumerate(rows):
        y = 66 + number * 44
        drawing.text(20, y + 20, name, 12.5)
        for sector in range(of_a):
            drawing.box(350 + sector * 19, y, 17, 30, kind="used" if of_a <= 4 else "warn")
        for sector in range(of_b):
            drawing.box(680 + sector * 19, y, 17, 30, kind="third")
        drawing.text(780, y + 20, f"{of_a} + {of_b} = {of_a + of_b}", 13, bold=True)
    meanings = {"used": "a sector of A", "third": "a sector of B"}
    drawing.key(20, below + 10, meanings | ({"warn": "too many"} if swapped else {}))
    sums = "; ".join(f"{name}: {a} of A and {b} of B, {a + b} in all" for name, a, b in rows)
    return drawing.picture(f"Sectors that one warp touches at one step of the loop. {sums}.")


def tiles_along_k() -> Picture:
    """A tile of C, and the pairs of tiles that its block walks along."""
    drawing = Drawing(880, 350)
    side, height = 46.0, 38.0

    def tile(x: float, y: float, label: str, kind: str) -> None:
        drawing.box(x, y, side - 3, height - 3, label, kind, 12)

    for step, column in product(range(4), range(5)):
        kind, label = ("third", f"step {step}") if column == 2 else ("plain", "")
        tile(430 + column * side, 24 + step * height, label, kind)
    for row in range(3):
        for step in range(4):
            kind, label = ("used", f"step {step}") if row == 1 else ("plain", "")
            tile(210 + step * side, 222 + row * height, label, kind)
        for column in range(5):
            kind, label = ("store", "C tile") if (row, column) == (1, 2) else ("plain", "")
            tile(430 + column * side, 222 + row * height, label, kind)
    drawing.text(210, 212, "A", 14, bold=True)
    drawing.text(414, 40, "B", 14, bold=True)
    drawing.text(672, 240, "C", 14, bold=True)
    lines = (
        "for each step along K:",
        "  load one tile of A, one of B",
        "  barrier",
        "  multiply them: T products a thread",
        "  barrier",
    )
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        drawing.text(20 + 9 * indent, 44 + number * 20, line, 12, mono=True)
    return drawing.picture(
        "A, B and C cut into square tiles. The block of one tile of C walks along a row of tiles "
        "of A and down a column of tiles of B, in steps 0 to 3. In each step it loads one tile of "
        "each, waits, multiplies them, and waits again."
    )


def two_barriers() -> Picture:
    """Two warps through two steps: what each barrier prevents."""
    drawing = Drawing(880, 212)
    scale, left = 66.0, 90.0
    spans = {
        "warp 0": [
            (0, 2, "load"),
            (2, 3, "wait"),
            (3, 5, "multiply"),
            (5, 7, "wait"),
            (7, 9, "load"),
        ],
        "warp 1": [(0, 3, "load"), (3, 7, "multiply"), (7, 9, "load")],
    }
    kinds = {"load": "shared", "wait": "idle", "multiply": "used"}
    for number, (name, parts) in enumerate(spans.items()):
        y = 44 + number * 46
        drawing.text(left - 12, y + 22, name, 12.5, "end")
        for start, end, label in parts:
            width = (end - start) * scale - 3
            drawing.box(left + start * scale, y, width, 34, label, kinds[label], 12)
    for x, label in ((3, "first barrier"), (7, "second barrier")):
        drawing.line(left + x * scale - 1.5, 32, left + x * scale - 1.5, 140, INK, 2, dashed=True)
        drawing.text(left + x * scale, 26, label, 12.5, "middle", bold=True)
    drawing.text(left, 164, "The first: nobody multiplies with a tile that is not yet full.", 12.5)
    drawing.text(left, 186, "The second: nobody overwrites a tile that is still in use.", 12.5)
    return drawing.picture(
        "Two warps over time. Warp 0 has loaded first and waits at the first barrier until warp 1 "
        "has loaded too. Both multiply. Warp 0 is done first and waits at the second barrier until "
        "warp 1 has multiplied too; then both load the next tiles. The first barrier keeps a warp "
        "from multiplying with a tile that is not yet full, the second from overwriting a tile "
        "that is still in use."
    )


def outputs_of_a_thread() -> Picture:
    """One output, four in a column, and a 4 x 4 patch: reads per multiply-add."""
    drawing = Drawing(880, 290)
    shapes = (
        ("matmul_tiled: 1 x 1", 1, 1),
        ("matmul_coarse_1d: 4 x 1", 4, 1),
        ("matmul_coarse: 4 x 4", 4, 4),
    )
    for number, (name, rows, columns) in enumerate(shapes):
        x, y = 40.0 + number * 290, 96.0
        drawing.text(x - 20, 28, name, 13.5, bold=True)
        for c in range(columns):
            drawing.box(x + 40 + c * 36, y - 44, 32, 26, "b", "third")
        for r in range(rows):
            drawing.box(x - 8, y + r * 32, 32, 28, "a", "used")
            for c in range(columns):
                drawing.box(x + 40 + c * 36, y + r * 32, 32, 28, "+", "store")
        reads, adds = rows + columns, rows * columns
        plural = "s" if adds > 1 else ""
        drawing.text(x - 20, 246, f"{reads} reads, {adds} multiply-add{plural}", 12.5)
        drawing.text(x - 20, 266, f"{reads / adds:.3g} reads each", 12.5, bold=True)
    return drawing.picture(
        "What a thread reads from the tiles at one step of k. With one output: 2 reads for 1 "
        "multiply-add. With 4 outputs in a column: 4 of A and 1 of B, 5 reads for 4, 1.25 each. "
        "With a 4 by 4 patch: 4 of A and 4 of B, 8 reads for 16, 0.5 each."
    )


def patch_of_a_thread() -> Picture:
    """A thread's 16 outputs in the 64 x 64 tile: spread out, and in one piece."""
    drawing = Drawing(880, 318)
    for side, name in enumerate(("columns tx + 16 * j", "columns 4 * tx + j")):
        left = 30 + side * 430
        drawing.text(left, 26, name, 13.5, bold=True, mono=True)
        drawing.text(left, 48, "one row of the tile, lanes 0 to 15, first store (j = 0)", 12)
        for column in range(64):
            hit = column < 16 if side == 0 else column % 4 == 0
            kind = "used" if hit else "unused" if side == 1 else "plain"
            drawing.box(left + column * 6.2, 58, 6.0, 30, kind=kind)
        words = (
            ("16 neighbours: 2 sectors, all used", "4 sectors a request of the warp"),
            ("16 bytes apart: 8 sectors, a quarter used", "16 sectors a request of the warp"),
        )[side]
        drawing.text(left, 112, words[0], 12.5)
        drawing.text(left, 132, words[1], 12.5, bold=True)
        drawing.text(left, 164, "the outputs of thread (0, 0):", 12)
        for r, c in product(range(8), range(16)):
            own = r % 2 == 0 and c % 4 == 0 if side == 0 else r < 4 and c < 4
            drawing.box(left + c * 20, 174 + r * 14, 18, 12, kind="store" if own else "plain")
    drawing.text(30, 306, "(The tile is drawn smaller than it is.)", 11.5, faint=True)
    return drawing.picture(
        "Two ways to give a thread 16 outputs of the tile. Spread out, columns tx + 16 j: in each "
        "store 16 lanes write 16 neighbouring floats of a row, 2 sectors, 4 a request of the warp. "
        "In one piece, columns 4 tx + j: in each store the lanes are 16 bytes apart, 8 sectors of "
        "which a quarter is used, 16 a request of the warp."
    )


def stationary() -> Picture:
    """Three dataflows: what each block holds still and what passes by."""
    drawing = Drawing(880, 250)
    flows = (
        ("output-stationary", "a tile of C", ("tiles of A", "tiles of B"), "stores C once"),
        ("A-stationary", "a tile of A", ("tiles of B",), "adds to a tile of C"),
        ("B-stationary", "a tile of B", ("tiles of A",), "adds to a tile of C"),
    )
    for number, (name, held, passing, ends) in enumerate(flows):
        x = 24.0 + number * 290
        drawing.text(x, 28, name, 14, bold=True)
        drawing.box(x, 44, 250, 150, kind="group")
        drawing.text(x + 10, 64, "a block", 12, faint=True)
        drawing.box(x + 14, 72, 100, 54, f"holds\n{held}", "store", 12)
        for row, what in enumerate(passing):
            drawing.box(x + 152, 72 + row * 40, 86, 30, what, "used", 11.5)
            drawing.line(x + 150, 87 + row * 40, x + 118, 96 + row * 6, FAINT_INK, 1.2, arrow=True)
        drawing.box(x + 14, 152, 224, 30, ends, "shared", 12)
        drawing.text(x + 14, 144, "and at the end" if number == 0 else "and in each step", 11.5)
    drawing.text(
        24, 226, "What is held moves once. What passes by moves again and again, C among it.", 13
    )
    return drawing.picture(
        "Three ways to share out a matrix product. Output-stationary: a block holds a tile of C, "
        "tiles of A and B pass by, and C is stored once. A-stationary: a block holds a tile of A, "
        "tiles of B pass by, and in each step it adds to a tile of C, so that each element of C is "
        "added to K over T times. B-stationary: the same with A and B exchanged. What is held "
        "moves once; what passes by moves again and again, C among it."
    )


def loads_of_each(sizes: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096)) -> Picture:
    """Requested bytes of each kernel of the lesson over n, for n x n matrices, beside the least."""
    ways: dict[str, Callable[[int], float]] = {
        "naive, 16 x 16 blocks": lambda n: n**3 / 32 * 4 * 32,
        "tiles of 16": lambda n: 4 * 2 * n**3 / 16,
        "64 x 16, 4 a thread": lambda n: 4 * n**3 * (1 / 16 + 1 / 64),
        "64 x 64, 16 a thread": lambda n: 4 * 2 * n**3 / 64,
        "least": lambda n: 4 * 2 * n**2,
    }
    labels = ("n (A, B and C are n x n, float32)", "loads requested, MiB")
    figure = bytes_over(sizes, ways, 2**20, labels)
    n = sizes[-1]
    ends = "; ".join(f"{name} {bytes_of(n) / 2**30:,.3g} GiB" for name, bytes_of in ways.items())
    return Picture(
        figure,
        "Loads that each kernel requests, over the size n of square matrices, on logarithmic axes. "
        "The four kernels grow with the cube of n and the least with its square. At n = "
        f"{n}: {ends}.",
    )
