"""Pictures of lesson 05's last part: tiles, waves, and the wavy plot of a matmul."""

from __future__ import annotations

from itertools import product

from course.figures.drawing import Drawing
from course.figures.picture import Picture, chart, line
from course.gpu.recorded import recorded
from course.spec.formula import cdiv

#: The A100 of the model: SMs, float16 tensor-core peak and memory of its data sheet (40 GB).
SMS, PEAK_FLOP_S, BYTES_S = 108, 312e12, 1.555e12
TILE_ROWS, TILE_COLUMNS = 256, 128
#: What a launch takes before the first tile starts, in seconds: a round number.
START_S = 4e-6
#: Speed of the tile's loads by what n is a multiple of, as the H200's record has it for n near
#: 4,000: 16-byte loads, 4-byte loads, 2-byte loads.
LOAD_SPEED = {8: 1.0, 2: 0.3, 1: 0.19}


def modelled_tflop_s(n: int, multiple: int) -> float:
    """TFLOP/s of an n x n x n product in float16, by a model of four parts.

    A start, waves of tiles that all take the same time, the least bytes at full bandwidth, and
    loads that are as wide as the divisibility of n allows.

    Args:
        multiple: 8, 2 or 1: n counts as a multiple of that and of no larger one.
    """
    waves = cdiv(cdiv(n, TILE_ROWS) * cdiv(n, TILE_COLUMNS), SMS)
    tile_s = 2 * TILE_ROWS * TILE_COLUMNS * n / (PEAK_FLOP_S / SMS)
    memory_s = 3 * 2 * n * n / BYTES_S
    seconds = START_S + max(waves * tile_s / LOAD_SPEED[multiple], memory_s)
    return 2 * n**3 / seconds / 1e12


def two_waves(tiles: int = 120) -> Picture:
    """Which of 108 SMs work on a tile in the first and in the second wave."""
    waves = cdiv(tiles, SMS)
    per_row = 54
    cell = 14.4
    height = 66 + waves * 74
    drawing = Drawing(860, height)
    words = f"{tiles} tiles on {SMS} SMs: {waves} {'wave' if waves == 1 else 'waves'}"
    drawing.text(20, 28, words, 15, bold=True)
    for wave in range(waves):
        y = 46 + 74 * wave
        busy = min(SMS, tiles - wave * SMS)
        drawing.text(20, y + 24, f"wave {wave + 1}", 12)
        for sm in range(SMS):
            x = 76 + cell * (sm % per_row)
            kind = "used" if sm < busy else "idle"
            drawing.box(x, y + 24 * (sm // per_row), cell - 2, 20, kind=kind)
        drawing.text(76, y + 62, f"{busy} SMs have a tile, {SMS - busy} wait", 12, faint=True)
    return drawing.picture(
        f"{SMS} boxes for {SMS} SMs, once for each wave. {words}. In the last wave "
        f"{tiles - (waves - 1) * SMS} SMs have a tile and {waves * SMS - tiles} wait."
    )


def tiles_of(rows: int = 256, columns: int = 257, side: int = 128) -> Picture:
    """An output, the tiles that cover it, and what of them is wanted."""
    down, across = cdiv(rows, side), cdiv(columns, side)
    scale = 1.0
    drawing = Drawing(860, 90 + side * scale * down)
    drawing.text(20, 28, f"{rows} x {columns} outputs, tiles of {side} x {side}", 15, bold=True)
    for i, j in product(range(down), range(across)):
        drawing.box(40 + j * side, 46 + i * side, side - 1, side - 1, kind="idle")
        height = min(side, rows - i * side)
        width = min(side, columns - j * side)
        drawing.box(40 + j * side, 46 + i * side, max(2, width - 1), height - 1, kind="used")
    x = 70 + side * across
    drawing.key(x, 90, {"used": "wanted"})
    drawing.key(x, 116, {"idle": "computed and thrown away"})
    return drawing.picture(
        f"An output of {rows} rows and {columns} columns under {down} times {across} tiles of "
        f"{side} by {side}. Of the columns of the last tiles the wanted ones are "
        f"{columns - (across - 1) * side} in {side}; the rest is computed and thrown away."
    )


def wavy_model() -> Picture:
    """The model's TFLOP/s over n, a line for each kind of n."""
    figure, axes = chart(8.8, 4.8)
    sizes = range(256, 4097, 16)
    names = {8: "multiples of 8", 2: "even, no multiple of 4", 1: "odd"}
    for number, (multiple, name) in enumerate(names.items()):
        speeds = [modelled_tflop_s(n, multiple) for n in sizes]
        axes.plot(list(sizes), speeds, **line(number, name, marked=False))
    axes.set(xlabel="n", ylabel="TFLOP/s", ylim=(0, 320))
    axes.set_title("A model of an A100: n x n x n in float16, tiles of 256 x 128")
    axes.legend(loc="upper left", fontsize=9)
    axes.grid(alpha=0.25)
    at = {n: modelled_tflop_s(n, 8) for n in (1792, 1808)}
    return Picture(
        figure,
        "Modelled TFLOP/s over n from 256 to 4,096. Three saw-toothed lines rise to the right: "
        "multiples of 8 on top, then even numbers that 4 does not divide, then odd numbers. Each "
        "line climbs, falls where another wave begins, and climbs again; the teeth get smaller to "
        f"the right. On the top line {at[1792]:.0f} TFLOP/s at n = 1792 and {at[1808]:.0f} at "
        "1808.",
    )


def wavy_record() -> Picture:
    """TFLOP/s of a library's products on an H200, by what n is a multiple of, as recorded."""
    rows = recorded("h200_roofline")["waves"]
    rate = {row["n"]: 2 * row["n"] ** 3 / row["us"] / 1e6 for row in rows}
    figure, axes = chart(8.8, 4.8)
    kinds = ((0, "multiples of 64"), (8, "multiples of 8"), (2, "even"), (1, "odd"))
    words = []
    for number, (offset, name) in enumerate(kinds):
        sizes = sorted(n for n in rate if n % 64 == offset)
        label = f"{name} (64 m + {offset})" if offset else name
        style = line(number, label) | {"markersize": 3, "linewidth": 1}
        axes.plot(sizes, [rate[n] for n in sizes], **style)
        words.append(f"{name}: {rate[sizes[0]]:.0f} to {max(rate[n] for n in sizes):.0f}")
    axes.set(xlabel="n", ylabel="TFLOP/s", ylim=(0, 800))
    axes.set_title("cuBLAS on an H200: n x n x n in float16, recorded")
    axes.legend(loc="center right", fontsize=9)
    axes.grid(alpha=0.25)
    return Picture(
        figure,
        "Recorded TFLOP/s over n from 256 to 4,106 in four lines, from "
        + "; ".join(words)
        + ". All rise to the right and waver; multiples of 8 stay far above even numbers, and "
        "even numbers above odd ones.",
    )
