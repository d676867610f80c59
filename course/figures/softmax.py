"""Pictures of lesson 07: weights of a row, passes over memory, the running pair, registers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from course.figures.drawing import Drawing
from course.figures.picture import BLUE, FAINT_INK, INK, ORANGE, RED, SERIES, Picture, chart
from course.gpu.recorded import recorded


@dataclass(frozen=True)
class Counted:
    """What an H200's counters saw of one softmax of float32: sectors of loads, bytes from DRAM.

    Attributes:
        dram_mb: megabytes of 10**6 bytes that DRAM read.
    """

    kernel: str
    rows: int
    columns: int
    requested: int
    l2_reads: int
    dram_mb: float
    us: float

    @property
    def matrix_mb(self) -> float:
        """Size of the input, in megabytes of 10**6 bytes."""
        return self.rows * self.columns * 4 / 1e6

    @property
    def matrix_sectors(self) -> float:
        return self.rows * self.columns * 4 / 32


_RECORD = recorded("h200_rows")
_NAMES = {
    "softmax_one_pass": "one pass",
    "softmax_online": "two passes",
    "softmax_three_pass": "three passes",
}
_COUNTED = [
    Counted(
        _NAMES[row["kernel"]],
        row["rows"],
        row["columns"],
        row["load_sectors"],
        row["l2_read_sectors"],
        row["dram_read_bytes"] / 1e6,
        row["duration_ns"] / 1e3,
    )
    for row in _RECORD["counted"]
]
#: One launch each, caches emptied before. The shortest rows have no picture.
COUNTED = [c for c in _COUNTED if c.columns > 1000]
SMALL = [c for c in _COUNTED if c.columns == 1000]

#: GB/s of softmax of 16,384 rows of float16: the input's and the output's bytes, each once, over
#: the median time of one run. PyTorch's stand beside each of the course's: the first row's count.
COLUMNS = (8192, 32_768)


def _rates(columns: int) -> dict[str, int]:
    rows = {r["kernel"]: r for r in _RECORD["timed"] if f" N={columns};" in r["case"]}
    library = rows["softmax_one_pass"]
    return {name: round(rows[kernel]["GB/s"]) for kernel, name in _NAMES.items()} | {
        "torch.compile": round(library["compiled_GB/s"]),
        "torch.softmax": round(library["torch_GB/s"]),
    }


GB_S = {columns: _rates(columns) for columns in COLUMNS}
#: What a copy reached there: nothing that reads and writes goes faster.
COPY_GB_S = round(_RECORD["copy_gb_s"])


def weights_of_a_row() -> Picture:
    """A row, its distance from the maximum, the exponentials, and the shares."""
    row, top = (2.0, 5.0, 3.0, 4.0, -math.inf), 5.0
    shifted = [x - top for x in row]
    weights = [math.exp(x) for x in shifted]
    total = sum(weights)
    shares = [w / total for w in weights]
    lines = (
        ("x", row, "plain", "the row: its largest element is m"),
        ("x - m", shifted, "plain", "never above 0"),
        ("exp(x - m)", weights, "used", f"between 0 and 1; their sum is s = {total:.3f}"),
        ("exp(x - m) / s", shares, "store", "shares of 1"),
    )
    drawing = Drawing(880, 246)
    for number, (name, values, kind, note) in enumerate(lines):
        y = 24.0 + number * 52
        drawing.text(150, y + 24, name, 13, "end", mono=True)
        for column, value in enumerate(values):
            text = "-inf" if value == -math.inf else f"{value:.3g}"
            drawing.box(166 + column * 76, y, 72, 38, text, kind, 13)
        drawing.text(560, y + 24, note, 12.5)

    def said(values: Sequence[float]) -> str:
        return ", ".join("-inf" if v == -math.inf else f"{v:.3g}" for v in values)

    return drawing.picture(
        f"Softmax of one row in four steps. The row: {said(row)}; its largest element m is "
        f"{top:g}. Minus m: {said(shifted)}. The exponentials: {said(weights)}, between 0 and 1, "
        f"with the sum {total:.3f}. Divided by it, the shares: {said(shares)}. The element -inf "
        "has the share 0."
    )


def _passes(names: Sequence[tuple[str, str, bool]], carried: Sequence[str], alt: str) -> Picture:
    """Passes over a row of five tiles: (what a pass does, kind of box, whether it stores)."""
    height = 92.0
    drawing = Drawing(880, 44 + height * len(names))
    drawing.text(20, 26, "one row in memory, in tiles of BLOCK; the last one is ragged", 12.5)
    for number, (name, kind, stores) in enumerate(names):
        y = 48 + number * height
        drawing.text(20, y + 24, name, 13, bold=True)
        for tile in range(5):
            width = 92.0 if tile < 4 else 44.0
            label = f"load {tile}" if tile < 4 else "4"
            drawing.box(250 + tile * 96, y, width, 28, label, kind, 12)
            if stores:
                label = f"store {tile}" if tile < 4 else "4"
                drawing.box(250 + tile * 96, y + 32, width, 24, label, "store", 12)
        if number < len(carried):
            drawing.line(690, y + 40, 690, y + height - 8, BLUE, 1.4, arrow=True)
            drawing.text(702, y + 66, carried[number], 12.5)
    return drawing.picture(alt)


def three_passes() -> Picture:
    """Three times over the row: for the maximum, for the sum, for the result."""
    return _passes(
        (
            ("1: the largest element", "used", False),
            ("2: the sum", "used", False),
            ("3: the result", "used", True),
        ),
        ("m", "m and s"),
        "Three passes over a row in five tiles, the last one ragged. The first loads every tile "
        "and finds the largest element m. The second loads every tile again and, with m, adds up "
        "s. The third loads every tile once more and stores the result: 3 loads and 1 store of "
        "each element.",
    )


def two_passes() -> Picture:
    """Twice over the row: maximum and sum together, then the result."""
    return _passes(
        (("1: maximum and sum", "shared", False), ("2: the result", "used", True)),
        ("m and s",),
        "Two passes over a row in five tiles. The first loads every tile once and finds the "
        "largest element m and the sum s together. The second loads every tile again and stores "
        "the result: 2 loads and 1 store of each element.",
    )


def running_pair() -> Picture:
    """Tile by tile: the maximum so far, and the sum so far before and after it is rescaled."""
    tiles = ((2.0, 1.0), (4.0, 2.0), (3.0, 6.0))
    drawing = Drawing(880, 28 + 74.0 * len(tiles))
    heads = ((20, "tile"), (170, "top"), (270, "total, rescaled"), (548, "+ this tile"), (740, "="))
    for at, head in heads:
        drawing.text(at, 28, head, 13, bold=True)
    top, total, said = -math.inf, 0.0, []
    for number, tile in enumerate(tiles):
        y = 44.0 + number * 74
        new_top = max(top, *tile)
        factor = math.exp(top - new_top)
        added = sum(math.exp(x - new_top) for x in tile)
        grown = total * factor + added
        for column, x in enumerate(tile):
            drawing.box(20 + column * 58, y, 54, 40, f"{x:g}", "used", 14)
        drawing.box(170, y, 64, 40, f"{new_top:g}", "shared", 14)
        if number:
            words = f"{total:.3f} * exp({top:g} - {new_top:g})"
            drawing.box(270, y, 260, 40, f"{words} = {total * factor:.3f}", "third", 13)
            drawing.line(780, y - 32, 400, y - 3, FAINT_INK, 1.2, arrow=True)
        else:
            drawing.box(270, y, 260, 40, "0: nothing has come by yet", "idle", 13)
        drawing.box(548, y, 150, 40, f"{added:.3f}", "used", 13)
        drawing.box(730, y, 110, 40, f"{grown:.3f}", "store", 14)
        said.append(
            f"tile ({', '.join(f'{x:g}' for x in tile)}): the maximum so far is {new_top:g}; the "
            f"old sum {total:.3f} becomes {total * factor:.3f}, the tile adds {added:.3f}, "
            f"together {grown:.3f}"
        )
        top, total = new_top, grown
    return drawing.picture(
        f"The running maximum and the running sum over {len(tiles)} tiles. {'; '.join(said)}."
    )


def passes_counted() -> Picture:
    """Requested, read from L2 and read from DRAM, in times the matrix, for each recorded launch."""
    figure, axes = chart(8.4, 4.0)
    levels = ("requested", "read from L2", "read from DRAM")
    said = []
    width = 0.26
    for level, name in enumerate(levels):
        values = [
            (c.requested, c.l2_reads)[level] / c.matrix_sectors
            if level < 2
            else c.dram_mb / c.matrix_mb
            for c in COUNTED
        ]
        places = [at + (level - 1) * width for at in range(len(COUNTED))]
        axes.bar(
            places,
            values,
            width,
            label=name,
            color=SERIES[level],
            edgecolor=INK,
            hatch=("", "//", "..")[level],
            linewidth=0.6,
        )
        for place, value in zip(places, values, strict=True):
            axes.text(place, value + 0.04, f"{value:.2g}", ha="center", fontsize=8, color=INK)
    for c in COUNTED:
        said.append(
            f"{c.kernel} over {c.rows:,} x {c.columns:,}: requested "
            f"{c.requested / c.matrix_sectors:.2g} times, from L2 "
            f"{c.l2_reads / c.matrix_sectors:.2g}, from DRAM {c.dram_mb / c.matrix_mb:.2g}"
        )
    axes.set_xticks(
        range(len(COUNTED)), [f"{c.kernel}\n{c.rows:,} x {c.columns:,}" for c in COUNTED]
    )
    axes.tick_params(axis="x", labelsize=8)
    axes.set(ylabel="times the matrix", ylim=(0, 3.9))
    axes.legend(ncols=3, loc="upper center")
    axes.grid(axis="y", alpha=0.3)
    return Picture(
        figure,
        "Reads of softmax kernels on an H200, in times the size of the matrix of float32. "
        f"{'; '.join(said)}.",
    )


def speeds() -> Picture:
    """GB/s of each kernel at two row lengths, beside what a copy reaches."""
    figure, axes = chart(7.4, 4.0)
    width = 0.38
    said = []
    for side, columns in enumerate(COLUMNS):
        values = list(GB_S[columns].values())
        places = [at + (side - 0.5) * width for at in range(len(values))]
        axes.bar(
            places,
            values,
            width,
            color=(BLUE, ORANGE)[side],
            edgecolor=INK,
            hatch=("", "//")[side],
            linewidth=0.6,
            label=f"rows of {columns:,} float16, {columns * 2 // 1024} KB",
        )
        for place, value in zip(places, values, strict=True):
            text = axes.text(place, value + 75, f"{value:,}", ha="center", fontsize=8, color=INK)
            text.set_bbox({"facecolor": axes.get_facecolor(), "edgecolor": "none", "pad": 0.6})
        named = ", ".join(f"{name} {value:,}" for name, value in GB_S[columns].items())
        said.append(f"rows of {columns:,}: {named}")
    axes.axhline(COPY_GB_S, color=RED, linestyle="--", linewidth=1.2)
    axes.text(4.45, COPY_GB_S + 50, f"a copy: {COPY_GB_S:,}", ha="right", fontsize=9, color=INK)
    axes.set_xticks(range(len(values)), list(GB_S[columns]))
    axes.set(ylabel="GB/s (input and output once)", ylim=(0, 5300))
    axes.legend(loc="upper right", fontsize=8)
    axes.grid(axis="y", alpha=0.3)
    return Picture(
        figure,
        "GB/s of softmax over 16,384 rows of float16 on an H200, counting input and output once. "
        f"{'; '.join(said)}. A copy reaches {COPY_GB_S:,}.",
    )


def row_in_registers() -> Picture:
    """How a tile of a row lies in the threads' registers, and what other tiles would take."""
    drawing = Drawing(880, 300)
    words = "a row of 4,096 elements in 128 threads: 32 a thread"
    drawing.text(20, 28, words, 14, bold=True)
    for warp in range(4):
        x = 20 + warp * 214
        drawing.box(x, 44, 206, 56, kind="group")
        drawing.text(x + 8, 62, f"warp {warp}", 12, faint=True)
        for lane in range(32):
            drawing.box(x + 8 + lane * 6, 72, 5, 20, kind="used")
    drawing.text(20, 132, "registers for the tile alone, a thread", 13.5, bold=True)
    scale = 2.2
    left = 190.0
    said = []
    for number, rows in enumerate((1, 2, 4, 8)):
        y = 146.0 + number * 32
        elements = rows * 32
        drawing.text(left - 12, y + 17, f"{rows} row{'s' if rows > 1 else ''}", 12.5, "end")
        kind = "used" if elements < 128 else "shared" if elements < 255 else "warn"
        drawing.box(left, y, elements * scale, 24, kind=kind)
        drawing.text(left + 36, y + 17, str(elements), 12.5, "middle", bold=True, halo="#ffffff")
        said.append(f"{rows} row{'s' if rows > 1 else ''} {elements}")
    for limit, label in ((128, "128: four programs fit"), (255, "255: the most")):
        edge = left + limit * scale
        drawing.line(edge, 140, edge, 276, INK, 1.6, dashed=True)
        drawing.text(edge, 291, label, 12, "middle")
    return drawing.picture(
        "A row of 4,096 elements lies in the registers of 128 threads, 32 elements in each. "
        f"Registers that the tile alone takes of a thread: {', '.join(said)}. "
        "Up to 128 registers a thread, four programs of 128 threads fit on a multiprocessor; 255 "
        "is the most that a thread can have."
    )
