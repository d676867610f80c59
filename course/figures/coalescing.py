"""Pictures of lesson 02: which sectors a request touches, tile rows, and what caches keep."""

from __future__ import annotations

from itertools import product

from course.figures.access import access_picture
from course.figures.drawing import Drawing
from course.figures.picture import (
    BLUE,
    FAINT_INK,
    GREEN,
    INK,
    LINE_STYLES,
    MARKERS,
    ORANGE,
    RED,
    Picture,
    chart,
)
from course.gpu.recorded import counts
from course.plain.sectors import SECTOR_BYTES, WARP_LANES, sectors_of

_LANES = range(WARP_LANES)


def side_by_side() -> Picture:
    """Lane i reads a[i]."""
    return access_picture([4 * i for i in _LANES], 4, "a[i]")


def shifted() -> Picture:
    """Lane i reads a[i + 1]."""
    return access_picture([4 * (i + 1) for i in _LANES], 4, "a[i + 1]")


def strided(step: int = 2) -> Picture:
    """Lane i reads a[step * i]."""
    return access_picture([4 * step * i for i in _LANES], 4, f"a[{step} * i]")


def backwards() -> Picture:
    """Lane i reads a[31 - i]."""
    return access_picture([4 * (WARP_LANES - 1 - i) for i in _LANES], 4, "a[31 - i]")


def everyone_the_same() -> Picture:
    """Every lane reads a[0]."""
    return access_picture([0 for _ in _LANES], 4, "a[0]")


def some_lanes() -> Picture:
    """Lanes 0 to 11 are active."""
    return access_picture([4 * i if i < 12 else None for i in _LANES], 4, "if i < 12: ... a[i]")


def doubles() -> Picture:
    """Lane i reads d[i], 8 bytes an element."""
    return access_picture([8 * i for i in _LANES], 8, "d[i], float64")


def one_coordinate() -> Picture:
    """Lane i reads p[i, 0] of points with three float32."""
    return access_picture([12 * i for i in _LANES], 4, "p[i, 0]")


def which_way_lanes_go() -> Picture:
    """A strip of a matrix: four lanes on neighbouring columns, and four on neighbouring strips."""
    drawing = Drawing(880, 330)
    titles = ("t % N is the column", "t // S is the column (S strips)")
    for half, title in enumerate(titles):
        left = 30 + 440 * half
        drawing.text(left, 28, title, 14, bold=True, mono=True)
        for row, column in product(range(8), range(8)):
            lane = column if half == 0 else (row // 2 if column == 0 else None)
            first = row % 2 == 0
            read = first and (row == 0 if half == 0 else column == 0)
            kind = ("warn" if half else "used") if read else "plain"
            label = f"t{lane}" if read else ""
            x, y = left + 34 * column, 44 + 26 * row
            drawing.box(x, y, 32, 24, label, kind, 11)
        for strip in range(4):
            y = 44 + 52 * strip
            drawing.text(left + 284, y + 30, f"strip {strip}", 12)
            if strip:
                drawing.line(left - 4, y - 1, left + 276, y - 1, INK, 1.4, dashed=True)
    drawing.text(30, 280, "8 neighbouring threads, first turn of the loop:", 13)
    drawing.text(30, 302, "8 neighbours in one row, 32 bytes, 1 sector", 13, bold=True)
    drawing.text(470, 280, "4 neighbouring threads, first turn of the loop:", 13)
    drawing.text(470, 302, "4 rows that are two rows apart, 4 sectors", 13, bold=True)
    return drawing.picture(
        "Two drawings of a matrix of 8 columns, cut into four strips of two rows. Left, the "
        "column is t modulo N: in the first turn of the loop threads 0 to 7 read the eight "
        "neighbours of row 0, 32 bytes, one sector. Right, the column is t divided by the number "
        "of strips: threads 0 to 3 read column 0 of the first row of each strip, four places far "
        "apart, four sectors."
    )


def tile_rows(pitch: int = 33) -> Picture:
    """The first rows of a matrix over the sectors of memory, one tile of 8 columns marked.

    `pitch` is float32 from one row's start to the next, the leading dimension.
    """
    per_sector = SECTOR_BYTES // 4
    cell, left = 15.0, 190.0
    drawing = Drawing(860, 368)
    drawing.text(20, 26, f"LD = {pitch}: where do the tile rows begin?", 14, bold=True)
    touched = []
    for row in range(8):
        start = row * pitch
        sector_start = start // per_sector * per_sector
        y = 46 + 34 * row
        drawing.text(left - 12, y + 17, f"row {row} at byte {4 * start}", 12, "end")
        count = sectors_of(8, 4, 4 * (start - sector_start))
        touched.append(count)
        for place in range(3 * per_sector):
            x = left + cell * place + 6 * (place // per_sector)
            offset = sector_start + place - start
            kind = "used" if 0 <= offset < 8 else "plain"
            if kind == "plain" and place // per_sector < count:
                kind = "unused"
            drawing.box(x, y, cell - 1, 24, kind=kind)
        words = "1 sector" if count == 1 else f"{count} sectors"
        drawing.text(left + cell * 24 + 34, y + 17, words, 13, bold=count > 1)
    drawing.key(left, 334, {"used": "the tile", "unused": "moved too", "plain": "not moved"})
    drawing.text(left + 394, 345, f"8 rows: {sum(touched)} sectors", 13, bold=True)
    listed = ", ".join(map(str, touched))
    return drawing.picture(
        f"8 rows of a matrix whose rows begin {pitch} float32 apart, each drawn over three sectors "
        "of memory. A tile takes the first 8 float32 of each row. Sectors touched, row by row: "
        f"{listed}; {sum(touched)} in all, where 8 rows of 8 float32 hold 256 bytes, 8 sectors."
    )


def path_of_a_load() -> Picture:
    """Lanes, L1, L2 and DRAM, and what is counted on each stretch."""
    drawing = Drawing(900, 250)
    boxes = (
        (20, "a warp\n32 lanes", "used", ""),
        (240, "L1\nin each SM", "shared", "up to 256 KB"),
        (460, "L2\nfor all SMs", "shared", "tens of MB"),
        (700, "DRAM\ndevice memory", "store", "141 GB"),
    )
    for x, label, kind, size in boxes:
        drawing.box(x, 60, 140 if x < 700 else 170, 76, label, kind, 14)
        drawing.text(x + 6, 156, size, 12, faint=True)
    for x1, x2 in ((160, 236), (380, 456), (600, 696)):
        drawing.arrow(x1, 84, x2, 84)
        drawing.arrow(x2, 112, x1 + 4, 112)
    drawing.text(198, 190, "requested sectors", 13, "middle", bold=True)
    drawing.text(198, 208, "what the meter counts", 12, "middle", faint=True)
    drawing.text(418, 190, "L2 reads", 13, "middle", bold=True)
    drawing.text(418, 208, "what L1 did not have", 12, "middle", faint=True)
    drawing.text(648, 190, "DRAM reads", 13, "middle", bold=True)
    drawing.text(648, 208, "what L2 did not have", 12, "middle", faint=True)
    drawing.text(20, 34, "Each level is asked for what the level before it did not have", 14)
    return drawing.picture(
        "Four boxes in a row: a warp of 32 lanes, the L1 cache in each SM (up to 256 KB), the L2 "
        "cache for all SMs (tens of MB), and DRAM, the device memory (141 GB on an H200). Between "
        "warp and L1 requested sectors are counted, which is what the course's meter counts. "
        "Between L1 and L2 stand the L2 reads, what L1 did not have; between L2 and DRAM the DRAM "
        "reads, what L2 did not have."
    )


#: Recorded kernels: (name in the record, words).
_FORGIVEN = (
    ("points_direct", "points, three loads each"),
    ("points_staged", "points, in order"),
    ("row_sum_thread_large", "row sums, a thread a row"),
    ("row_sum_warp_large", "row sums, a warp a row"),
    ("copy_stride_8", "copy of every 8th float32"),
)


def what_caches_forgave() -> Picture:
    """Megabytes on each stretch, for kernels that an H200 ran."""
    figure, axes = chart(8.6, 4.4)
    stretches = (
        ("requested", MARKERS[0], BLUE),
        ("read from L2", MARKERS[1], ORANGE),
        ("read from DRAM", MARKERS[2], GREEN),
    )
    words = []
    for place, (kernel, label) in enumerate(_FORGIVEN):
        seen = counts(kernel)
        megabytes = (
            seen["load_sectors"] * SECTOR_BYTES / 1e6,
            seen["l2_read_sectors"] * SECTOR_BYTES / 1e6,
            seen["dram_read_bytes"] / 1e6,
        )
        for row, (value, (name, marker, colour)) in enumerate(
            zip(megabytes, stretches, strict=True)
        ):
            y = place + (row - 1) * 0.26
            axes.plot([30, value], [y, y], color=FAINT_INK, linewidth=0.6, alpha=0.5)
            axes.plot(
                value,
                y,
                marker,
                color=colour,
                markersize=8,
                label=name if not place else "",
            )
            axes.text(value * 1.09, y, f"{value:,.0f}", va="center", fontsize=9)
        words.append(f"{label}: " + ", ".join(f"{value:,.0f}" for value in megabytes))
    axes.set_yticks(range(len(_FORGIVEN)), [label for _, label in _FORGIVEN])
    axes.invert_yaxis()
    axes.set(xscale="log", xlim=(30, 5000))
    axes.set_xticks([50, 100, 200, 500, 1000, 2000], ["50", "100", "200", "500", "1,000", "2,000"])
    axes.minorticks_off()
    axes.set_xlabel("megabytes of loads (logarithmic: equal steps to the right are equal factors)")
    axes.set_title("Loads on an H200, counted on three stretches")
    axes.legend(loc="lower right", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return Picture(
        figure,
        "Marks on a logarithmic scale: megabytes requested, read from L2 and read from DRAM. "
        + "; ".join(words)
        + ".",
    )


def cost_of_a_stride() -> Picture:
    """Bytes moved for each byte used, when every n-th float32 is read."""
    steps = range(1, 17)
    moved = [
        len({4 * step * lane // SECTOR_BYTES for lane in _LANES}) * SECTOR_BYTES for step in steps
    ]
    shares = [bytes_ / (4 * WARP_LANES) for bytes_ in moved]
    figure, axes = chart(7.6, 3.6)
    axes.plot(
        list(steps), shares, LINE_STYLES[0], marker=MARKERS[0], color=RED, label="a[step * i]"
    )
    axes.set(xlabel="step, in float32", ylabel="bytes moved for a byte used")
    axes.set_xticks(list(steps))
    axes.set_ylim(0, 9)
    axes.grid(alpha=0.3)
    axes.set_title("From step 8 on every lane pays for a sector of its own")
    return Picture(
        figure,
        "A line over the step of a[step * i], in float32: bytes moved for each byte used. It "
        "grows by one with each step, 1 at step 1, 2 at step 2, up to 8 at step 8, and stays at "
        "8 from there on.",
    )
