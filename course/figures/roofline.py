"""Pictures of lesson 05: roofs, what fills a step, number formats and bytes on their way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from course.exercises.roofline import H200, PROFILES
from course.figures.drawing import Drawing
from course.figures.picture import (
    BLUE,
    FAINT_INK,
    INK,
    LINE_STYLES,
    MARKERS,
    ORANGE,
    PURPLE,
    SERIES,
    Picture,
    chart,
    line,
    plot,
)
from course.gpu.recorded import recorded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TERA = 1e12
_GIGA = 1e9
#: Bytes that `repeat_multiply` moves for an element: a float32 in and a float32 out.
_BYTES_AN_ELEMENT = 8


def conveyor() -> Picture:
    """Five places where a program can wait."""
    drawing = Drawing(900, 240)
    drawing.text(
        20, 28, "One step of a program, and the five things it can wait for", 15, bold=True
    )
    boxes = (
        (20, 60, 150, "disk, host\nmemory", "shared", "4  input"),
        (20, 150, 150, "Python on\nthe host", "shared", "3  launches"),
        (330, 105, 150, "kernels on\nthe GPU", "used", "1  compute"),
        (640, 60, 150, "device\nmemory", "store", "2  memory"),
        (640, 150, 150, "other GPUs", "third", "5  network"),
    )
    for x, y, width, label, kind, name in boxes:
        drawing.box(x, y, width, 60, label, kind, 13)
        drawing.text(
            x + width + 8 if x != 330 else x + 34, y + (34 if x != 330 else 82), name, 13, bold=True
        )
    for x1, y1, x2, y2 in (
        (280, 90, 326, 122),
        (280, 180, 326, 152),
        (484, 122, 636, 90),
        (484, 152, 636, 180),
    ):
        drawing.arrow(x1, y1, x2, y2)
    return drawing.picture(
        "In the middle the kernels on the GPU, where the limit can be 1, compute. From the left "
        "come data from disk and host memory, 4, input, and the launches of Python on the host, "
        "3, launches. To the right lie device memory, 2, memory, and other GPUs, 5, network. A "
        "step can wait for any of the five."
    )


#: FLOP per byte of kernels of this course: the least bytes of the first two, requested bytes of
#: the matmuls.
_INTENSITIES = (
    ("add", 1 / 12),
    ("ReLU, float16", 1 / 4),
    ("naive matmul", 0.4),
    ("tiled 16", 4.0),
    ("tiled 64", 16.0),
)


def roofline(kernels: int = len(_INTENSITIES), numbers: bool = True) -> Picture:
    """The roof of an H200, and where some kernels of this course stand below it.

    Args:
        kernels: how many of them are drawn, by rising intensity.
        numbers: whether the knees say where they are.
    """
    figure, axes = chart(8.4, 4.8)
    knees = _roofs(axes, numbers)
    words = []
    for number, (name, intensity) in enumerate(_INTENSITIES[:kernels]):
        top = min(intensity * H200["BYTES_S"], H200["FP32_FLOP_S"]) / _TERA
        axes.plot(intensity, top, MARKERS[number], color=INK, markersize=7)
        axes.annotate(name, (intensity, top), (7, -13), textcoords="offset points", fontsize=9)
        words.append(f"{name} at {intensity:.3g} FLOP per byte: at most {top:.3g} TFLOP/s")
    _roof_axes(axes, "The roof of an H200 (data sheet)")
    reached = [f", reached at {knee:.0f} FLOP per byte" if numbers else "" for knee in knees]
    return Picture(
        figure,
        "A chart with logarithmic axes: FLOP per byte to the right, TFLOP/s upwards. A slanted "
        f"line, 4.8 TB/s, rises to two flat roofs: 67 TFLOP/s for float32{reached[0]}, and 989 "
        f"TFLOP/s on tensor cores{reached[1]}. Each meets the slope at a knee. Kernels on or "
        "below it: " + "; ".join(words) + ".",
    )


def _roofs(axes: Axes, numbers: bool) -> list[float]:
    """Draws the two roofs of the data sheet and returns their knees, in FLOP per byte."""
    slope = H200["BYTES_S"]
    knees = []
    for number, (name, peak) in enumerate(
        (("float32: 67 TFLOP/s", H200["FP32_FLOP_S"]), ("tensor cores: 989", H200["TENSOR_FLOP_S"]))
    ):
        knee = peak / slope
        knees.append(knee)
        left, right = 0.02, 6000.0
        axes.plot(
            [left, knee, right],
            [left * slope / _TERA, peak / _TERA, peak / _TERA],
            **line(number, name, marked=False),
        )
        axes.plot([knee, knee], [0.05, peak / _TERA], ":", color=FAINT_INK, linewidth=0.8)
        words = f"knee {knee:.0f}" if numbers else "knee"
        axes.annotate(words, (1.05 * knee, 0.12), fontsize=9, color=FAINT_INK)
    axes.annotate("4.8 TB/s", (0.05, 0.34), rotation=33, fontsize=10, color=SERIES[0])
    return knees


def _roof_axes(axes: Axes, title: str) -> None:
    axes.set(xscale="log", yscale="log", xlim=(0.04, 3000), ylim=(0.1, 2000))
    axes.set(xlabel="arithmetic intensity, FLOP per byte", ylabel="TFLOP/s", title=title)
    axes.grid(alpha=0.25)
    axes.legend(loc="upper left", fontsize=9)


#: Columns of the record, what they are, operations a step of the loop.
_KERNELS = (
    ("plain_us", "as you write it", 2),
    ("four_us", "four elements a thread, unrolled", 2),
    ("four_products_us", "the same, products only", 1),
)


def sweep() -> Picture:
    """repeat_multiply on an H200: time and TFLOP/s over k, as recorded."""
    record = recorded("h200_roofline")["sweep"]
    elements, rows = record["elements"], record["rows"]
    steps = [row["k"] for row in rows]
    figure = plot(9.6, 4.6)
    left, right = figure.subplots(1, 2)
    words = []
    for number, (column, name, operations) in enumerate(_KERNELS):
        style = {"color": SERIES[number], "marker": MARKERS[number], "markersize": 4}
        times = [row[column] for row in rows]
        rates = [operations * k * elements / t / 1e6 for k, t in zip(steps, times, strict=True)]
        left.plot(steps, [t / 1000 for t in times], LINE_STYLES[number], **style)
        intensity = [operations * k / _BYTES_AN_ELEMENT for k in steps]
        right.plot(intensity, rates, LINE_STYLES[number], label=name, **style)
        words.append(f"{name}: {times[0] / 1000:.2f} ms at k = 1, {rates[-1]:.0f} TFLOP/s at 1024")
    left.set(xscale="log", yscale="log", xlabel="k", ylabel="milliseconds")
    left.set_title("Time for 2**28 elements")
    left.grid(alpha=0.25)
    knee = H200["FP32_FLOP_S"] / H200["BYTES_S"]
    right.plot(
        [0.1, knee, 300],
        [0.1 * H200["BYTES_S"] / _TERA, H200["FP32_FLOP_S"] / _TERA, H200["FP32_FLOP_S"] / _TERA],
        color=FAINT_INK,
        linewidth=0.9,
        label="data sheet",
    )
    right.set(xscale="log", yscale="log", xlabel="arithmetic intensity, FLOP per byte")
    right.set(ylabel="TFLOP/s", title="The same on the roofline")
    right.legend(loc="lower right", fontsize=8)
    right.grid(alpha=0.25)
    return Picture(
        figure,
        "Two charts of one recorded sweep on an H200. Left, time over k: flat for small k, then "
        "rising in proportion to k. Right, TFLOP/s over intensity, below the data sheet's roof. "
        + "; ".join(words)
        + ".",
    )


def own_sweep(
    rows: Sequence[tuple[int, float]] = ((1, 256.0), (64, 1310.0)), elements: int = 2**26
) -> Picture:
    """repeat_multiply as it was timed on this machine's GPU.

    Args:
        rows: k and microseconds.
        elements: float32 numbers read and written.
    """
    intensity = [2 * k / _BYTES_AN_ELEMENT for k, _ in rows]
    rates = [2 * k * elements / us / 1e6 for k, us in rows]
    bandwidth = max(_BYTES_AN_ELEMENT * elements / us * 1e6 for _, us in rows)
    peak = max(rates)
    knee = peak * _TERA / bandwidth
    figure, axes = chart(7.4, 4.4)
    axes.plot(
        intensity, rates, LINE_STYLES[0], marker=MARKERS[0], color=BLUE, label="measured here"
    )
    axes.plot(
        [intensity[0], knee, intensity[-1]],
        [intensity[0] * bandwidth / _TERA, peak, peak],
        LINE_STYLES[1],
        color=FAINT_INK,
        label="roof through the best points",
    )
    axes.set(xscale="log", yscale="log", xlabel="arithmetic intensity, FLOP per byte")
    axes.set_ylabel("TFLOP/s")
    axes.set_title(f"{bandwidth / _GIGA:,.0f} GB/s, {peak:.3g} TFLOP/s, knee at {knee:.3g}")
    axes.legend(loc="lower right", fontsize=9)
    axes.grid(alpha=0.25)
    return Picture(
        figure,
        f"TFLOP/s over FLOP per byte, measured on this machine: from {rates[0]:.3g} at "
        f"{intensity[0]:.3g} FLOP per byte to {peak:.3g}. The best bandwidth is "
        f"{bandwidth / _GIGA:,.0f} GB/s, so the knee lies at {knee:.3g} FLOP per byte.",
    )


def busy_and_idle() -> Picture:
    """For each recorded program the share of a step in which kernels run."""
    drawing = Drawing(880, 262)
    drawing.text(20, 28, "One step of each program: when is the GPU computing?", 15, bold=True)
    words = []
    for number, (letter, row) in enumerate(PROFILES.items()):
        y = 46 + 38 * number
        share = row["kernels_us"] / row["step_us"]
        drawing.text(40, y + 18, letter, 15, bold=True)
        drawing.box(64, y, 600 * share, 26, kind="used")
        if share < 1:
            drawing.box(64 + 600 * share, y, 600 * (1 - share), 26, kind="idle")
        label = f"{row['step_us']:,.0f} us, {100 * share:.0f} % kernels"
        drawing.text(678, y + 18, label, 13)
        words.append(f"{letter} {row['step_us']:,.0f} microseconds, {100 * share:.0f} percent")
    drawing.key(64, 238, {"used": "kernels", "idle": "something else"})
    return drawing.picture(
        "A bar for each of five programs, one step long, with the share in which kernels run: "
        + "; ".join(words)
        + "."
    )


def what_helped() -> Picture:
    """C, D and E: the recorded step, and what the remedy of each leaves (for D and E at least)."""
    record = recorded("h200_roofline")
    network = record["network"]
    pairs = (
        (
            "C, launched one by one",
            record["launch"]["step_us"],
            "C, one CUDA graph",
            record["launch"]["graph_us"],
        ),
        (
            "D, copy, then compute",
            record["input"]["step_us"],
            "D, pinned and overlapped",
            max(record["input"]["copy_pinned_us"], record["input"]["kernels_us"]),
        ),
        (
            "E, compute, then exchange",
            network["step_us"],
            "E, 16 bits and overlapped",
            max(network["exchange_us"] / 2, network["kernels_us"]),
        ),
    )
    drawing = Drawing(880, 292)
    drawing.text(20, 28, "The three idle programs, and what a remedy leaves", 15, bold=True)
    note = "C's graph was timed. D and E: the longer of two recorded parts, so at least that long."
    drawing.text(20, 276, note, 12, faint=True)
    words = []
    for number, (before, long, after, short) in enumerate(pairs):
        for row, (name, value, kind) in enumerate(((before, long, "idle"), (after, short, "used"))):
            y = 46 + 72 * number + 30 * row
            drawing.text(226, y + 17, name, 12.5, "end")
            drawing.box(236, y, value / 8500 * 520, 24, kind=kind)
            shown = f"{round(value, -1):,.0f}"  # three digits, as in the lesson's table
            drawing.text(244 + value / 8500 * 520, y + 17, f"{shown} us", 12.5, bold=True)
            words.append(f"{name} {shown} microseconds")
    return drawing.picture(f"Bars of time. {'; '.join(words)}. {note}")


def number_formats() -> Picture:
    """The bits of float32, float16 and bfloat16."""
    drawing = Drawing(900, 212)
    drawing.text(20, 28, "Sign, exponent, fraction", 15, bold=True)
    formats = (("float32", 8, 23), ("float16", 5, 10), ("bfloat16", 8, 7))
    cell = 22.0
    for number, (name, exponent, fraction) in enumerate(formats):
        y = 46 + 46 * number
        drawing.text(104, y + 21, name, 14, "end", mono=True)
        x = 116.0
        for count, kind, label in (
            (1, "warn", "s"),
            (exponent, "shared", f"{exponent} exponent"),
            (fraction, "used", f"{fraction} fraction"),
        ):
            drawing.box(x, y, cell * count - 2, 32, label, kind, 12)
            x += cell * count
        drawing.text(x + 8, y + 21, f"{(1 + exponent + fraction) // 8} bytes", 13)
    drawing.key(116, 190, {"warn": "sign", "shared": "range", "used": "precision"})
    return drawing.picture(
        "Three number formats as rows of bits. float32: 1 sign bit, 8 exponent bits, 23 fraction "
        "bits, 4 bytes. float16: 1, 5 and 10, 2 bytes. bfloat16: 1, 8 and 7, 2 bytes. The exponent "
        "bits give the range, the fraction bits the precision."
    )


def resident_blocks() -> Picture:
    """How many blocks' registers fit into an SM's 65,536."""
    drawing = Drawing(880, 150)
    drawing.text(20, 28, "48 registers a thread, 256 threads a block", 15, bold=True)
    drawing.box(40, 48, 780, 44, kind="group")
    each = 780 * 48 * 256 / 65_536
    for block in range(5):
        drawing.box(40 + each * block, 48, each - 2, 44, f"block {block}", "used", 12)
    drawing.box(40 + each * 5, 48, 780 - each * 5, 44, kind="idle")
    drawing.text(820, 110, "4,096 left", 12, "end")
    words = "5 blocks, 40 warps of 64: occupancy 62.5 %"
    drawing.text(40, 122, words, 14, bold=True)
    return drawing.picture(
        "An SM's 65,536 registers as a bar. Each block of 256 threads with 48 registers a thread "
        f"takes 12,288 of them. {words}; 4,096 registers are left, too few for another block."
    )


def bandwidth_by_warps() -> Picture:
    """Recorded read bandwidth by resident warps, and what latency times bandwidth predicts."""
    rows = recorded("h200_roofline")["flight"]
    warps = [row["warps_per_sm"] for row in rows]
    figure, axes = chart(7.8, 4.4)
    for number, (name, words) in enumerate((("one", "one load at a time"), ("four", "four loads"))):
        axes.plot(
            warps,
            [row[f"{name}_load_gb_s"] for row in rows],
            **line(number, f"{words} a thread, recorded"),
        )
    axes.plot(
        warps,
        [132 * 128 * w / 400 for w in warps],
        ":",
        color=PURPLE,
        label="132 SMs x warps x 128 bytes / 400 ns",
    )
    axes.axhline(4800, color=ORANGE, linewidth=1, label="data sheet, 4,800 GB/s")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(warps, [str(w) for w in warps])
    axes.set(xlabel="resident warps on each SM", ylabel="GB/s read")
    axes.set_title("Bandwidth is bytes in flight over latency, until the memory is full")
    axes.legend(loc="lower right", fontsize=9)
    axes.grid(alpha=0.25)
    first, last = rows[0], rows[-1]
    return Picture(
        figure,
        "Read bandwidth of an H200 over resident warps on each SM, logarithmic axes. One load at "
        f"a time: {first['one_load_gb_s']:.0f} GB/s with 1 warp, {last['one_load_gb_s']:,.0f} with "
        f"64, in proportion to the warps. Four loads at a time: {first['four_load_gb_s']:.0f} with "
        f"1 warp, {last['four_load_gb_s']:,.0f} with 64, where the line bends below the data "
        "sheet's 4,800. Latency times bandwidth predicts the first line closely.",
    )
