"""Pictures of lesson 08: trees of sums, the levels of a reduction, and who reads what how often."""

from __future__ import annotations

from course.figures.drawing import Drawing
from course.figures.picture import BLUE, FAINT_INK, INK, SERIES, Picture, chart
from course.gpu.recorded import recorded

_RECORD = recorded("h200_rows")
#: GB/s of what has to move, over the median time of one run: RMSNorm of 32768 x 8192, cross entropy
#: of 8192 x 32768, in float16.
COPY_GB_S = round(_RECORD["copy_gb_s"])
_TIMED = {row["kernel"]: row for row in _RECORD["timed"]}


def chain_and_tree() -> Picture:
    """The same sum one addition after the other, and in rounds of halves."""
    drawing = Drawing(920, 322)
    drawing.text(24, 28, "A chain: 7 additions, each waits for the last", 14, bold=True)
    side = 32.0
    for i in range(8):
        drawing.box(24 + i * 46, 44, side, 26, f"x{i}", "used", 12)
    drawing.line(40, 70, 40, 104, FAINT_INK, 1)
    for i in range(1, 8):
        y = 70 + i * 26
        drawing.line(24 + i * 46 + 16, 70, 24 + i * 46 + 16, y - 2, FAINT_INK, 1)
        drawing.box(24 + i * 46, y, side, 20, "+", "store", 12)
        drawing.line(24 + (i - 1) * 46 + 18, y + 8, 24 + i * 46 - 2, y + 10, INK, 1.2, arrow=True)
    left = 470.0
    drawing.text(left, 28, "A tree: the same additions in 3 rounds", 14, bold=True)
    for i in range(8):
        drawing.box(left + i * 46, 44, side, 26, f"x{i}", "used", 12)
    for level in (1, 2, 3):
        y, step = 44 + level * 58, 1 << level
        for i in range(0, 8, step):
            x = left + i * 46
            drawing.box(x, y, side, 26, "+", "store", 12)
            drawing.line(x + 16, y - 30, x + 16, y - 2, INK, 1.2, arrow=True)
            drawing.line(x + step * 23 + 16, y - 30, x + 34, y + 8, INK, 1.2, arrow=True)
        drawing.text(left + 8 * 46 + 4, y + 18, f"round {level}", 12.5)
    return drawing.picture(
        "8 values added in two ways. As a chain: 7 additions one after the other, each waiting for "
        "the one before. As a tree: neighbours are added in pairs, then pairs of sums, in 3 "
        "rounds; the additions of one round do not wait for each other."
    )


def levels_of_a_reduction() -> Picture:
    """From one thread's values to the whole grid: who adds, and how the numbers meet."""
    drawing = Drawing(900, 360)
    levels = (
        ("thread", "8 values of a thread", "registers", "7 additions, nobody waits", "used"),
        ("warp", "32 lanes", "shuffles", "5 rounds, no memory", "third"),
        ("block", "4 warps", "shared memory", "store, barrier, 2 rounds", "shared"),
        ("cluster", "up to 8 blocks", "each other's shared memory", "Hopper only", "fourth"),
        ("grid", "all blocks", "global memory", "atomics, or a second kernel", "warn"),
    )
    drawing.text(24, 30, "who adds", 12.5, faint=True)
    drawing.text(420, 30, "where the numbers meet", 12.5, faint=True)
    drawing.text(660, 30, "what it takes", 12.5, faint=True)
    for number, (name, what, where, takes, kind) in enumerate(levels):
        y = 44 + number * 60
        drawing.text(24, y + 26, name, 14, bold=True)
        drawing.box(110, y, 120 + 40 * number, 42, what, kind, 12.5)
        drawing.text(420, y + 26, where, 12.5)
        drawing.text(660, y + 26, takes, 12.5)
        if number < len(levels) - 1:
            drawing.arrow(150, y + 44, 150, y + 58)
    drawing.text(24, 350, "A sum along a row of 1,024 with 4 warps ends at the block.", 12.5)
    return drawing.picture(
        "Five levels of a reduction, from the smallest. A thread adds its 8 values in registers, 7 "
        "additions without waiting for anybody. The 32 lanes of a warp add by shuffles, 5 rounds, "
        "without memory. The 4 warps of a block meet in shared memory: a store, a barrier and 2 "
        "rounds. On Hopper up to 8 blocks of a cluster meet in each other's shared memory. All "
        "blocks of the grid meet in global memory, by atomics or in a second kernel. A sum along "
        "a row of 1,024 with 4 warps ends at the block."
    )


def vector_loads() -> Picture:
    """Eight floats of a thread: two loads of 16 bytes, or eight of 4."""
    drawing = Drawing(880, 236)
    ways = (
        (30, "D is a multiple of 16: 16 bytes a load", (4, 4), ("load 1", "load 2")),
        (460, "D is anything: 4 bytes a load", (1,) * 8, tuple(f"{i + 1}" for i in range(8))),
    )
    for left, title, sizes, labels in ways:
        drawing.text(left, 30, title, 14, bold=True)
        x = float(left)
        for size, label in zip(sizes, labels, strict=True):
            width = size * 46 - 4
            drawing.box(x, 50, width, 28, label, "third", 12)
            drawing.line(x + width / 2, 80, x + width / 2, 98, INK, 1.2, arrow=True)
            x += size * 46
        for i in range(8):
            drawing.box(left + i * 46, 100, 42, 32, f"x{i}", "used", 12)
        drawing.text(left, 158, f"{len(sizes)} instructions for 8 numbers of a thread", 12.5)
    drawing.text(
        30, 194, "The sectors are the same. What differs is how many requests carry them:", 12.5
    )
    drawing.text(30, 214, "a warp has 512 bytes on their way with each load, or 128.", 12.5)
    return drawing.picture(
        "Eight floats that one thread loads. Where D is a multiple of 16 the compiler knows that "
        "every row begins at a multiple of 16 bytes, and the thread takes two loads of 16 bytes. "
        "Otherwise it takes eight loads of 4 bytes. The sectors are the same; a warp has 512 bytes "
        "on their way with each load in the first case, 128 in the second."
    )


def rows_of_a_program() -> Picture:
    """Weights loaded for each row, and once for four rows."""
    drawing = Drawing(880, 300)
    width = 150.0
    for left, title, each in ((30, "a row a program", 1), (460, "4 rows a program", 4)):
        programs = 8 // each
        drawing.text(left, 28, title, 14, bold=True)
        drawing.text(left + 70, 52, "w, b", 12.5)
        drawing.text(left + 240, 52, "x", 12.5)
        for program in range(programs):
            y = 62 + program * each * 26
            drawing.text(left, y + each * 13 + 2, f"p{program}", 12)
            drawing.box(left + 28, y + each * 13 - 12, 110, 20, "", "third")
            for r in range(each):
                drawing.box(left + 190, y + r * 26, width, 20, "", "used")
                drawing.line(
                    left + 140, y + each * 13 - 2, left + 186, y + r * 26 + 10, BLUE, 1, arrow=True
                )
        drawing.text(left, 290, f"{programs} loads of w and of b for 8 rows", 12.5)
    return drawing.picture(
        "8 rows of x. On the left each row has its own program, and each program loads w and b: 8 "
        "times. On the right a program takes 4 rows and loads w and b once for all of them: twice "
        "in all."
    )


def ways_to_the_loss() -> Picture:
    """How often the logits cross memory, in four ways to compute a cross entropy."""
    drawing = Drawing(880, 268)
    ways = (
        ("log-softmax in three passes, then pick", ("read", "read", "read", "write")),
        ("log-softmax, online, then pick", ("read", "read", "write")),
        ("maximum first, then the sum", ("read", "read")),
        ("one online pass", ("read",)),
    )
    drawing.text(24, 30, "Times M x V elements that move", 14, bold=True)
    for number, (name, moves) in enumerate(ways):
        y = 48 + number * 46
        drawing.text(24, y + 22, name, 12.5)
        for i, move in enumerate(moves):
            kind = "used" if move == "read" else "warn"
            drawing.box(340 + i * 106, y, 102, 34, f"{move} MV", kind, 12.5)
        drawing.text(340 + len(moves) * 106 + 8, y + 22, str(len(moves)), 14, bold=True)
    drawing.text(24, 254, "The results, a loss and a log-sum-exp for each row, are 2M.", 12.5)
    return drawing.picture(
        "How often the M by V logits cross memory. A log-softmax in three passes that is stored: "
        "three reads and one write, 4. With the online sum: two reads and one write, 3. Without "
        "storing anything, the maximum first and then the sum: two reads. In one online pass: one "
        "read. The results are only two numbers a row."
    )


def two_directions() -> Picture:
    """Backward: dx needs a sum along each row, dw a sum down each column, over all programs."""
    drawing = Drawing(900, 330)
    side_x, side_y, left, top = 38.0, 24.0, 150.0, 62.0
    for r in range(8):
        for c in range(8):
            kind = "used" if r < 4 else "third"
            drawing.box(left + c * side_x, top + r * side_y, side_x - 3, side_y - 3, "", kind)
        y = top + r * side_y + side_y / 2
        drawing.line(left + 8 * side_x, y, left + 8 * side_x + 40, y, INK, 1.2, arrow=True)
        drawing.text(left + 8 * side_x + 46, y + 4, f"a mean: dx of row {r}", 11.5)
    for program, kind in enumerate(("used", "third")):
        drawing.text(24, top + (program * 4 + 2) * side_y, f"program {program}", 12.5)
        y = top + 8 * side_y + 22 + program * 26
        drawing.text(24, y + 14, f"parts[{program}]", 12, mono=True)
        for c in range(8):
            drawing.box(left + c * side_x, y, side_x - 3, 20, "", kind)
    drawing.text(
        24, 28, "One element for each row m and column d: where it is added up", 14, bold=True
    )
    for c in range(8):
        x = left + c * side_x + side_x / 2
        drawing.line(x, top + 8 * side_y, x, top + 8 * side_y + 18, INK, 1.2, arrow=True)
    drawing.text(480, top + 8 * side_y + 40, "the sum of the parts: dw", 12.5)
    drawing.text(480, top + 8 * side_y + 58, "(a last, small step)", 12.5)
    return drawing.picture(
        "Elements in rows m and columns d, shared out to two programs of four rows each. dx needs "
        "a mean along each row, which one program has whole. dw needs a sum down each column, over "
        "the rows of all programs: each program adds up its own rows into one row of parts, and "
        "the sum of the parts is dw, in a last, small step."
    )


def row_in_a_cluster() -> Picture:
    """A row too long for one SM: read twice by one block, or held by a cluster."""
    drawing = Drawing(900, 270)
    width = 810.0 / 4
    drawing.text(
        24, 28, "A row of 131,072 floats: 512 KB. An SM's registers: 256 KB", 14, bold=True
    )
    for b in range(4):
        x = 40 + b * width
        drawing.box(x, 44, width - 6, 30, "128 KB of the row", "used", 12)
        drawing.arrow(x + width / 2, 76, x + width / 2, 98)
        drawing.box(x, 100, width - 6, 76, "", "group")
        drawing.text(x + 10, 118, f"block {b}, on its own SM", 12)
        drawing.box(x + 14, 128, width - 34, 38, "its part of the sum", "shared", 12)
        if b:
            drawing.line(x - 22, 140, x + 12, 140, BLUE, 1.4, arrow=True)
            drawing.line(x + 12, 154, x - 22, 154, BLUE, 1.4, arrow=True)
    drawing.text(
        24,
        206,
        "The blocks of a cluster read each other's shared memory: each of them learns",
        12.5,
    )
    drawing.text(
        24, 226, "all parts of the sum, and finishes its piece of the row from registers.", 12.5
    )
    drawing.text(24, 252, "One read of the row. One block alone would have to read it twice.", 12.5)
    return drawing.picture(
        "A row of 131,072 floats is 512 KB, more than the 256 KB of registers of an SM. It is "
        "shared out to the 4 blocks of a cluster, each on its own SM with 128 KB of the row and "
        "its part of the sum in shared memory. The blocks read each other's shared memory, so that "
        "each learns all parts of the sum and finishes its piece from registers: one read of the "
        "row. One block alone would have to read it twice."
    )


def norm_speeds() -> Picture:
    """What an H200 delivered for RMSNorm and cross entropy, beside a copy."""
    rows = (
        ("copy", COPY_GB_S),
        *(
            (f"{name}, {by}", round(_TIMED[kernel][rate]))
            for kernel, name in (("rmsnorm", "RMSNorm"), ("cross_entropy", "cross entropy"))
            for by, rate in (("torch", "torch_GB/s"), ("torch.compile", "compiled_GB/s"))
        ),
    )
    figure, axes = chart(7.2, 2.9)
    names = [name for name, _ in rows]
    hatches = ("", "///", "\\\\\\", "///", "\\\\\\")
    colours = (SERIES[0], SERIES[1], SERIES[1], SERIES[2], SERIES[2])
    bars = axes.barh(names, [speed for _, speed in rows], color=colours, edgecolor="white")
    for bar, hatch, (_, speed) in zip(bars, hatches, rows, strict=True):
        bar.set_hatch(hatch)
        axes.annotate(f" {speed:,}", (speed, bar.get_y() + bar.get_height() / 2), va="center")
    axes.invert_yaxis()
    axes.set(xlim=(0, 5000), xlabel="bytes that have to move / time, GB/s (H200, float16)")
    words = ", ".join(f"{name} {speed:,}" for name, speed in rows)
    return Picture(figure, f"GB/s of the bytes that have to move, on an H200, as bars: {words}.")
