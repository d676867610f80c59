"""Pictures of lesson 09: tiles of addresses, tensor cores, the order of programs, fusion."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from course.figures.drawing import Drawing
from course.figures.picture import Picture, bytes_over

WAVE = 16  # programs that run at once in the pictures, and in the exercise's model


def tile_of_offsets() -> Picture:
    """A column of rows, a row of steps, and the block of offsets that they make together."""
    drawing = Drawing(860, 268)
    rows, steps, pitch = (4, 5, 6, 7), (8, 9, 10, 11), 20
    drawing.text(24, 30, "offsets = rows[:, None] * 20 + steps[None, :]", 13.5, mono=True)
    drawing.text(24, 52, "for a matrix with 20 elements a row", 12.5, faint=True)
    for r, row in enumerate(rows):
        y = 112 + r * 36
        drawing.box(40, y, 54, 30, str(row), "third")
        drawing.text(112, y + 20, "x 20", 12.5)
        drawing.box(160, y, 58, 30, str(row * pitch), "third")
        for c, step in enumerate(steps):
            drawing.box(330 + c * 64, y, 58, 30, str(row * pitch + step), "used")
    for c, step in enumerate(steps):
        drawing.box(330 + c * 64, 70, 58, 30, str(step), "shared")
    drawing.text(40, 100, "rows[:, None]", 12, mono=True)
    drawing.text(320, 90, "steps[None, :]", 12, "end", mono=True)
    drawing.text(262, 186, "+", 20, "middle")
    notes = (
        "A column and a row",
        "make a block: 4 x 4",
        "offsets, one a value.",
        "",
        "A row's 4 neighbours",
        "lie side by side in",
        "memory; the next row",
        "is 20 elements on.",
    )
    for number, line in enumerate(notes):
        drawing.text(620, 92 + number * 20, line, 12.5)
    block = "; ".join(
        f"row {row}: " + ", ".join(str(row * pitch + step) for step in steps) for row in rows
    )
    return drawing.picture(
        "A column of the row numbers 4 to 7, times 20, plus a row of the steps 8 to 11, gives a "
        f"4 by 4 block of offsets. {block}."
    )


def tensor_core() -> Picture:
    """One m16n8k16 instruction beside one fma of a warp."""
    drawing = Drawing(880, 300)
    cell = 9.0

    def grid(x: float, y: float, rows: int, columns: int, kind: str, name: str) -> None:
        for r, c in product(range(rows), range(columns)):
            drawing.box(x + c * cell, y + r * cell, cell - 1, cell - 1, kind=kind)
        drawing.text(x, y - 7, name, 12.5)

    drawing.text(24, 28, "one fma of a warp", 13.5, bold=True)
    for lane in range(32):
        x, y = 24 + lane % 8 * 34.0, 50 + lane // 8 * 40.0
        drawing.box(x, y, 30, 30, "a*b+c", "plain", 9)
    drawing.text(24, 232, "32 lanes, a multiply-add each: 32", 12.5)
    drawing.text(340, 28, "one mma.sync.m16n8k16 of a warp", 13.5, bold=True)
    grid(340, 66, 16, 16, "used", "A: 16 x 16")
    drawing.text(502, 144, "x", 16, "middle")
    grid(520, 66, 16, 8, "third", "B: 16 x 8")
    drawing.text(610, 144, "+", 16, "middle")
    grid(628, 66, 16, 8, "store", "C: 16 x 8")
    drawing.text(340, 232, "16 * 8 outputs, 16 multiply-adds each: 2,048", 12.5)
    for number, line in enumerate(("float16", "float16", "float32")):
        drawing.text((340, 520, 628)[number], 256, line, 12.5, faint=True)
    drawing.text(
        340, 282, "Each lane holds 8 elements of A, 4 of B and 4 of C in its registers.", 12.5
    )
    return drawing.picture(
        "Left, one fused multiply-add of a warp: 32 lanes with one multiply-add each, 32 in all. "
        "Right, one tensor-core instruction of a warp, m16n8k16: a 16 by 16 matrix A times a 16 by "
        "8 matrix B, both float16, plus a 16 by 8 matrix C in float32, 2,048 multiply-adds in "
        "all. Each lane holds 8 elements of A, 4 of B and 4 of C in its registers."
    )


def order_of_programs() -> Picture:
    """The tiles of the first wave of 16 programs, and the panels of A and B that they need."""
    drawing = Drawing(880, 410)
    side, words = 16, []
    orders = {
        "row after row": [(0, program) for program in range(WAVE)],
        "groups of 4 rows": [(program % 4, program // 4) for program in range(WAVE)],
    }
    for which, (name, tiles) in enumerate(orders.items()):
        left, top, cell = 84.0 + which * 430, 96.0, 16.0
        rows, columns = {i for i, _ in tiles}, {j for _, j in tiles}
        drawing.text(left - 50, 28, name, 14, bold=True)
        drawing.text(left - 14, top - 20, "B", 13, "end", bold=True)
        drawing.text(left - 56, top + 14, "A", 13, bold=True)
        for n in range(side):
            kind = "third" if n in columns else "plain"
            drawing.box(left + n * cell, top - 36, cell - 2, 26, kind=kind)
            kind = "used" if n in rows else "plain"
            drawing.box(left - 38, top + n * cell, 28, cell - 2, kind=kind)
        for i, j in product(range(side), range(side)):
            at = tiles.index((i, j)) if (i, j) in tiles else -1
            x, y = left + j * cell, top + i * cell
            label, kind = (str(at), "store") if at >= 0 else ("", "plain")
            drawing.box(x, y, cell - 2, cell - 2, label, kind, 9)
        panels = len(rows) + len(columns)
        said = f"{len(rows)} of A + {len(columns)} of B = {panels} panels"
        drawing.text(left - 50, top + side * cell + 24, said, 13, bold=True)
        words.append(f"{name}: {len(rows)} of A and {len(columns)} of B, {panels} in all")
    drawing.key(
        34, 388, {"store": "the first 16 programs", "used": "rows of A", "third": "columns of B"}
    )
    return drawing.picture(
        f"{side} by {side} tiles of C, and the 16 programs that run first. The panels that they "
        f"need: {'; '.join(words)}."
    )


def chain_of_six() -> Picture:
    """The gated layer as six kernels, with what each moves, and as one."""
    drawing = Drawing(880, 306)
    steps = (
        ("x @ w1", 0, 1),
        ("+ b1", 1, 1),
        ("sigmoid", 1, 1),
        ("x @ w2", 0, 1),
        ("+ b2", 1, 1),
        ("multiply", 2, 1),
    )
    drawing.text(24, 30, "six kernels", 14, bold=True)
    for number, (name, reads, writes) in enumerate(steps):
        x = 24.0 + number * 140
        drawing.box(x, 46, 124, 40, name, "used" if "@" in name else "third", mono=True)
        for arrow in range(reads):
            drawing.line(x + 20 + arrow * 20, 128, x + 20 + arrow * 20, 90, arrow=True)
        drawing.line(x + 100, 90, x + 100, 128, arrow=True)
        drawing.text(x, 108, f"{reads}", 12) if reads else None
        drawing.text(x + 108, 116, f"{writes}", 12)
    drawing.box(24, 132, 824, 28, "device memory", "shared", 12.5)
    total = sum(reads + writes for _, reads, writes in steps)
    drawing.text(24, 184, f"between the kernels: {total} MN elements read or written", 12.5)
    drawing.text(24, 220, "one kernel", 14, bold=True)
    drawing.box(24, 232, 544, 34, "both products, biases, sigmoid, multiply", "used")
    drawing.box(620, 232, 228, 34, "device memory", "shared", 12.5)
    drawing.line(572, 249, 616, 249, arrow=True)
    drawing.text(594, 240, "1", 12, "middle")
    drawing.text(24, 290, "1 MN: the result", 12.5)
    listed = ", ".join(f"{name} reads {r} and writes {w}" for name, r, w in steps)
    return drawing.picture(
        "The gated layer as six kernels, in units of M times N elements, without x and the "
        f"weights: {listed}; {total} in all. As one kernel it writes 1, the result."
    )


def equal_registers() -> Picture:
    """Two accumulators of 64 x 64 in one kernel, or one of 64 x 128 in each of two."""
    drawing = Drawing(880, 330)
    drawing.text(24, 30, "one fused kernel: two 64 x 64 accumulators", 13.5, bold=True)
    drawing.box(24, 110, 60, 100, "x\n64 rows", "used", 11)
    drawing.box(110, 46, 100, 52, "w1\n64 columns", "third", 11)
    drawing.box(236, 46, 100, 52, "w2\n64 columns", "third", 11)
    drawing.box(110, 110, 100, 100, "gate\n64 x 64", "store", 12)
    drawing.box(236, 110, 100, 100, "value\n64 x 64", "store", 12)
    drawing.text(460, 30, "two matmuls: one 64 x 128 accumulator each", 13.5, bold=True)
    drawing.box(460, 110, 60, 100, "x\n64 rows", "used", 11)
    drawing.box(540, 46, 200, 52, "w1, then w2\n128 columns", "third", 11)
    drawing.box(540, 110, 200, 100, "64 x 128", "store", 12)
    drawing.text(760, 166, "and again", 12.5)
    for x, lines in (
        (24.0, ("x: MNK/64, once", "w1, w2: MNK/64 each")),
        (460.0, ("x: MNK/128, twice", "w1, w2: MNK/64 each")),
    ):
        for number, line in enumerate(lines):
            drawing.text(x, 240 + number * 20, line, 12.5)
        drawing.text(x, 284, "operands: 3 MNK/64", 13, bold=True)
    drawing.text(24, 314, "The same registers, the same loads of x and weights.", 13)
    return drawing.picture(
        "Left, the fused kernel with two accumulators of 64 by 64: x is loaded MNK/64 elements, "
        "each weight matrix MNK/64, 3 MNK/64 in all. Right, two separate products that spend the "
        "same registers on one accumulator of 64 by 128: x is loaded MNK/128 in each of the two, "
        "each weight matrix MNK/64, 3 MNK/64 in all. Operand traffic is the same."
    )


def saved_by_fusing(sizes: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096)) -> Picture:
    """Requested bytes of the gated layer over K, as six kernels and as one, float16."""
    m = n = 4096
    ways: dict[str, Callable[[int], float]] = {
        "six kernels": lambda k: 2 * m * n * (3 * k / 64 + 11),
        "one kernel": lambda k: 2 * m * n * (3 * k / 64 + 1),
    }
    labels = ("K (M = N = 4096, float16, tiles with equal registers)", "requested, GiB")
    figure = bytes_over(sizes, ways, 2**30, labels, 3.9)
    six, one = ways.values()
    ratios = "; ".join(f"K = {k}: {six(k) / one(k):.3g}" for k in sizes)
    return Picture(
        figure,
        "Bytes that the gated layer requests over K, as six kernels and as one, on logarithmic "
        "axes. The lines come together as K grows, since loads of x and weights grow with K and "
        f"what lies between the kernels does not. Six kernels over one: {ratios}.",
    )


def parts_of_k() -> Picture:
    """Four tiles on a GPU with room for more, and the same with K cut into parts."""
    drawing = Drawing(880, 252)
    for which, (name, cut) in enumerate((("a program a tile", 1), ("K in 8 parts", 8))):
        y = 52.0 + which * 98
        drawing.text(24, y - 12, f"{name}: {4 * cut} programs for 32 places", 13.5, bold=True)
        for place in range(32):
            busy = place < 4 * cut
            x = 24 + place * 25.8
            height = 56.0 / cut if busy else 56.0
            drawing.box(x, y, 22, 56, kind="plain" if busy else "idle")
            if busy:
                drawing.box(x, y + 56 - height, 22, height, kind="used")
    drawing.key(24, 226, {"used": "busy, for as long as the bar is high", "idle": "nothing to do"})
    return drawing.picture(
        "A small C has 4 tiles. With a program a tile, 4 of 32 places of a GPU work through all of "
        "K while 28 have nothing to do. With K cut into 8 parts, 32 programs fill all places, and "
        "each takes an eighth of the time."
    )
