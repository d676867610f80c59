"""Pictures of lesson 06: programs and threads, masks, trips to memory, tiles of offsets."""

from __future__ import annotations

from itertools import product

import numpy as np

from course.figures.drawing import Drawing
from course.figures.picture import BLUE, INK, RED, Picture, chart, line


def threads_and_programs() -> Picture:
    """The same vector: a thread for each element, and a program for each block of values."""
    n, block, blocks = 20, 8, 3
    side, left = 32.0, 24.0
    drawing = Drawing(left * 2 + blocks * block * side, 330)

    def elements(y: float) -> None:
        for i in range(blocks * block):
            kind = "used" if i < n else "idle"
            drawing.box(left + i * side, y, side - 2, 26, str(i) if i < n else "", kind, 11)

    drawing.text(left, 26, "Numba: the function runs once for each thread", 14, bold=True)
    for i in range(blocks * block):
        x = left + i * side
        drawing.box(x, 40, side - 2, 40, f"i=\n{i}", "plain" if i < n else "idle", 11, mono=True)
        if i < n:
            drawing.line(x + side / 2 - 1, 80, x + side / 2 - 1, 96, BLUE, 1.2, arrow=True)
    elements(98)
    drawing.text(left, 168, "Triton: it runs once for each program", 14, bold=True)
    for program in range(blocks):
        x, width = left + program * block * side, block * side - 2
        last = (program + 1) * block - 1
        words = f"program {program}: offsets = {program * block} ... {last}"
        drawing.box(x, 182, width, 40, words, "plain", 12.5, mono=True)
        drawing.line(x + width / 2, 222, x + width / 2, 242, BLUE, 1.6, arrow=True)
        drawing.box(x, 244, width, 30, kind="group")
    elements(246)
    drawing.key(left, 298, {"used": "an element of the vector", "idle": "past the end: no element"})
    return drawing.picture(
        "A vector of 20 elements twice. Above, Numba: 24 threads, each with one number i and one "
        "element; the last 4 threads have none. Below, Triton: 3 programs, each with a block of 8 "
        "offsets at once: program 0 has 0 to 7, program 1 has 8 to 15, and so on. The last 4 "
        "offsets of the last program have no element."
    )


def a_masked_load(n: int = 20, block: int = 8) -> Picture:
    """What the last program holds, line by line: offsets, mask, loaded values."""
    program = -(-n // block) - 1
    offsets = [program * block + i for i in range(block)]
    drawing = Drawing(860, 250)
    side, left = 56.0, 320.0
    rows = (
        ("tl.arange(0, BLOCK)", [str(i) for i in range(block)], "plain"),
        (f"offsets = {program} * BLOCK + ...", [str(o) for o in offsets], "plain"),
        ("inside = offsets < N", ["yes" if o < n else "no" for o in offsets], "used"),
        (
            "x = tl.load(..., mask=inside)",
            [f"x[{o}]" if o < n else "?" for o in offsets],
            "store",
        ),
    )
    for number, (name, values, kind) in enumerate(rows):
        y = 44 + number * 46
        drawing.text(20, y + 22, name, 12.5, mono=True)
        for i, value in enumerate(values):
            shown = kind if offsets[i] < n or kind == "plain" else "idle"
            drawing.box(left + i * side, y, side - 4, 34, value, shown, 13, mono=True)
    drawing.text(20, 24, f"Program {program} of N = {n}, BLOCK = {block}", 14, bold=True)
    drawing.text(
        20, 238, "Where the mask says no, no address is touched. A store leaves it alone.", 12.5
    )
    there, missing = n - program * block, (program + 1) * block - n
    return drawing.picture(
        f"The blocks of values in program {program}, for N = {n} and BLOCK = {block}. tl.arange "
        f"gives 0 to {block - 1}; the offsets are {offsets[0]} to {offsets[-1]}; the mask is yes "
        f"for the first {there} and no for the last {missing}. The load fetches {there} elements; "
        f"the other {missing} places hold no value that means anything."
    )


#: A step of sin(x)^2 + cos(x)^2 / 2 as PyTorch runs it: its name, vectors read.
STEPS = (("sin", 1), ("square", 1), ("cos", 1), ("square", 1), ("half", 1), ("add", 2))


def trips() -> Picture:
    """Six kernels with their vectors through memory, and one kernel."""
    drawing = Drawing(880, 384)
    memory_y, chip_y = 176.0, 74.0
    drawing.text(20, 26, "Six kernels: each step loads its input and stores its output", 14)
    drawing.box(20, memory_y, 840, 34, "device memory", "shared", 13)
    for number, (name, reads) in enumerate(STEPS):
        x = 34.0 + number * 142
        drawing.box(x, chip_y, 104, 38, name, "used", 13, mono=True)
        for read in range(reads):
            from_x = x + 22 + read * 22
            drawing.line(from_x, memory_y - 2, from_x, chip_y + 42, BLUE, 1.8, arrow=True)
        drawing.line(x + 82, chip_y + 38, x + 82, memory_y - 4, RED, 1.8, dashed=True, arrow=True)
        drawing.text(x, chip_y - 10, f"{reads} in, 1 out", 12, faint=True)
    drawing.text(20, 246, "One kernel: what lies between stays in registers", 14)
    drawing.box(20, 338, 840, 34, "device memory", "shared", 13)
    drawing.box(176, 260, 530, 30, "sin, square, cos, square, half, add", "used", 13, mono=True)
    drawing.line(220, 336, 220, 294, BLUE, 1.8, arrow=True)
    drawing.line(660, 290, 660, 334, RED, 1.8, dashed=True, arrow=True)
    reads = sum(count for _, count in STEPS)
    drawing.text(724, 280, "1 in, 1 out", 12, faint=True)
    return drawing.picture(
        "Two ways to compute sin(x)^2 + cos(x)^2 / 2. Above, six kernels, sin, square, cos, "
        "square, half and add: each loads its input vector from device memory and stores its "
        f"output there, {reads} vectors in and {len(STEPS)} out. Below, one kernel does all six "
        "steps in registers: one vector in, one out."
    )


def a_tile_of_offsets() -> Picture:
    """A column of row numbers and a row of column numbers become a tile of offsets."""
    drawing = Drawing(860, 330)
    side, left, top = 58.0, 330.0, 100.0
    drawing.text(20, 28, "stride_m = 20, stride_n = 1, program (2, 1)", 14, bold=True)
    drawing.text(20, 92, "rows[:, None] * stride_m", 12.5, mono=True)
    for r in range(4):
        label = f"{8 + r} * 20"
        drawing.box(150, top + r * 44, 90, 38, label, "used", 13, mono=True)
    drawing.text(left, 46, "columns[None, :] * stride_n", 12.5, mono=True)
    for c in range(8):
        x = left + c * side
        drawing.box(x, 54, side - 4, 34, str(8 + c), "third", 13, mono=True)
        for r in range(4):
            offset = str((8 + r) * 20 + 8 + c)
            drawing.box(x, top + r * 44, side - 4, 38, offset, "store", 13, mono=True)
    drawing.text(272, top + 94, "+", 26, bold=True)
    words = "(4, 1) + (1, 8) gives (4, 8): each axis of length 1 is stretched."
    drawing.text(left, 300, words, 13)
    return drawing.picture(
        "The tile of program (2, 1), 4 rows and 8 columns, in a matrix whose rows are 20 elements "
        "apart. A column of row numbers, 8 to 11, times 20, and a row of column numbers, 8 to 15, "
        "are added: every row number meets every column number, from 168 to 235."
    )


def two_orders() -> Picture:
    """One matrix stored by rows and by columns: memory, and the two strides."""
    drawing = Drawing(880, 250)
    side = 44.0
    kinds = ("used", "third", "store", "shared")
    rows, columns = 3, 4
    drawing.text(20, 26, "x, 3 x 4", 14, bold=True)
    for r, c in product(range(rows), range(columns)):
        drawing.box(20 + c * side, 40 + r * 40, side - 4, 36, f"{r},{c}", kinds[r], 12)
    orders = (
        ("by rows", [(r, c) for r in range(rows) for c in range(columns)], (columns, 1)),
        ("by columns", [(r, c) for c in range(columns) for r in range(rows)], (1, rows)),
    )
    for number, (name, order, (stride_m, stride_n)) in enumerate(orders):
        y = 64.0 + number * 84
        words = f"in memory, {name}: stride_m = {stride_m}, stride_n = {stride_n}"
        drawing.text(250, y - 12, words, 13)
        for place, (r, c) in enumerate(order):
            drawing.box(250 + place * 50, y, 47, 34, f"{r},{c}", kinds[r], 12)
    drawing.text(
        20, 232, "Either way, element (m, n) lies at offset m * stride_m + n * stride_n.", 13
    )
    return drawing.picture(
        "A matrix of 3 rows and 4 columns and its elements in memory, twice. By rows, one row "
        "after the other: stride_m is 4 and stride_n is 1. By columns, one column after the other: "
        "stride_m is 1 and stride_n is 3. Either way element (m, n) lies at offset m times "
        "stride_m plus n times stride_n."
    )


def store_or_recompute() -> Picture:
    """Forward and backward through three sigmoids: what goes to memory in both designs."""
    drawing = Drawing(880, 320)
    designs = (
        ("Store s1 and s2", ("x",), ("s1", "s2", "out"), ("s1", "s2", "dout"), ("dx",)),
        ("Compute them again", ("x",), ("out",), ("x", "dout"), ("dx",)),
    )
    counts = []
    for number, (name, *passes) in enumerate(designs):
        left = 24.0 + number * 436
        count = sum(len(vectors) for vectors in passes)
        counts.append(count)
        drawing.text(left, 28, f"{name}: {count} vectors", 14, bold=True)
        for half, title in enumerate(("forward", "backward")):
            loaded, stored = passes[2 * half], passes[2 * half + 1]
            y = 60.0 + half * 118
            drawing.box(left + 120, y, 150, 56, f"{title}\nkernel", "plain", 13)
            for place, vector in enumerate(loaded):
                row = y + 14 + (place - (len(loaded) - 1) / 2) * 28 + 14
                drawing.box(left, row - 12, 62, 24, vector, "used", 12.5, mono=True)
                drawing.line(left + 64, row, left + 117, y + 28, BLUE, 1.4, arrow=True)
            for place, vector in enumerate(stored):
                row = y + 14 + (place - (len(stored) - 1) / 2) * 28 + 14
                drawing.box(left + 330, row - 12, 62, 24, vector, "store", 12.5, mono=True)
                drawing.arrow(left + 272, y + 28, left + 327, row)
    drawing.key(24, 290, {"used": "loaded, N elements", "store": "stored, N elements"})
    return drawing.picture(
        "Two designs for the forward and the backward pass through three sigmoids. Storing: the "
        "forward kernel loads x and stores s1, s2 and out; the backward kernel loads s1, s2 and "
        f"dout and stores dx: {counts[0]} vectors. Computing again: the forward kernel loads x and "
        "stores out; the backward kernel loads x and dout and stores dx: "
        f"{counts[1]} vectors."
    )


def a_row_in_rounds() -> Picture:
    """One program on one row: a block of values in each round, a masked tail in the last."""
    drawing = Drawing(880, 214)
    side, left = 33.0, 60.0
    drawing.text(24, 26, "program 2: row 2 of q, K = 20, BLOCK = 8", 14, bold=True)
    for r in range(4):
        for k in range(20):
            kind = "used" if r == 2 else "plain"
            drawing.box(left + k * side, 42 + r * 26, side - 2, 22, kind=kind)
        drawing.text(left - 12, 58 + r * 26, str(r), 12, "end")
    for start in (0, 8, 16):
        x = left + start * side
        drawing.box(x - 1, 92, 8 * side, 26, kind="group")
        drawing.text(x, 168, f"start = {start}", 12.5, mono=True)
        drawing.line(x + 40, 154, x + 40, 122, INK, 1.2, arrow=True)
    words = "In the last round 4 offsets lie past the row's end: in row 3, if nobody masks."
    drawing.text(left, 194, words, 12.5)
    return drawing.picture(
        "A matrix of 4 rows and 20 columns. Program 2 owns row 2 and walks along it in 3 rounds of "
        "8 columns, with start = 0, 8, 16. In the last round 4 offsets lie past the row's end, "
        "where row 3 begins; the mask leaves them out."
    )


def float16_steps() -> Picture:
    """How far a scale can be from the nearest float16, over the scale."""
    scales = np.logspace(-7, -2, 201)
    rounding = np.spacing(scales.astype(np.float16)).astype(float) / 2 / scales
    weights = 127 * scales
    figure, axes = chart(7.2, 3.8)
    axes.loglog(scales, 100 * rounding, **line(0, "a scale in float16", marked=False))
    of_product = np.spacing(weights.astype(np.float16)).astype(float) / 2 / weights
    weight = line(1, "the weight 127 * scale in float16", marked=False)
    axes.loglog(scales, 100 * of_product, **weight)
    axes.set(xlabel="scale of a row", ylabel="largest rounding error, % of the value")
    axes.legend()
    axes.grid(alpha=0.3)
    at = float(np.spacing(np.float16(1e-5))) / 2 / 1e-5
    return Picture(
        figure,
        "The largest rounding error of a float16, in percent of the value, over the scale of a "
        "row, on logarithmic axes. For scales above 0.00006 it is at most 0.05 %. Below, the "
        f"steps of float16 stay 6e-8 apart, so that the error grows: {100 * at:.1g} % for a scale "
        "of 0.00001. The weight 127 * scale, which is larger, stays at 0.05 % down to a scale of "
        "0.0000005.",
    )
