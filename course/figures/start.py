"""Pictures of lesson 00: how far away a number is, and what a request moves."""

from __future__ import annotations

from course.figures.access import access_picture
from course.figures.drawing import Drawing
from course.figures.measured import GPUS, LEVELS, ONE_NUMBER_US, TO_DEVICE_GB_S
from course.figures.picture import Picture
from course.plain.sectors import WARP_LANES

_FLOAT32_BYTES = 4


def memory_levels() -> Picture:
    """Latency of each memory level of an H200 as bars of true length, and its bandwidth."""
    left, top, step, width, right = 232.0, 74.0, 42.0, 440.0, 880.0
    longest = max(level.latency_ns for level in LEVELS)
    drawing = Drawing(900, top + step * len(LEVELS) + 40)
    drawing.text(20, 28, "How long one thread of an H200 waits, and what all get", 15, bold=True)
    drawing.text(left - 12, 56, "where the number is", 12, "end", faint=True)
    drawing.text(left, 56, "latency, drawn to scale", 12, faint=True)
    drawing.text(right, 56, "bandwidth, all SMs together", 12, "end", faint=True)
    for row, level in enumerate(LEVELS):
        y = top + row * step
        kind = "warn" if level.latency_ns == longest else "used"
        length = max(2.0, level.latency_ns / longest * width)
        drawing.text(left - 12, y + 13, level.name, 13, "end")
        drawing.text(left - 12, y + 27, level.size, 10.5, "end", faint=True)
        drawing.box(left, y, length, 20, kind=kind)
        drawing.text(left + length + 8, y + 14.5, f"{level.latency_ns:g} ns", 13, bold=True)
        drawing.text(right, y + 14.5, f"{level.bandwidth_tb_s:g} TB/s", 13, "end", bold=True)
    far = ONE_NUMBER_US * 1000 / longest
    y = top + step * len(LEVELS) + 16
    drawing.text(
        20,
        y,
        f"A number that is still in the computer's main memory: {ONE_NUMBER_US:g} microseconds, "
        f"{far:.0f} times the longest bar.",
        12.5,
    )
    drawing.text(right, y, f"{TO_DEVICE_GB_S / 1000:.3f} TB/s", 13, "end", bold=True)
    rows = "; ".join(
        f"{level.name} ({level.size}) {level.latency_ns:g} nanoseconds, "
        f"{level.bandwidth_tb_s:g} TB/s"
        for level in LEVELS
    )
    return drawing.picture(
        f"Latencies on an H200, as bars, and bandwidths: {rows}. A fetch from device memory takes "
        f"about {longest / LEVELS[0].latency_ns:.0f} times as long as a multiply-add, and one "
        f"number from the computer's main memory takes {ONE_NUMBER_US:g} microseconds, {far:.0f} "
        f"times as long again, at {TO_DEVICE_GB_S / 1000:.3f} TB/s."
    )


def operations_a_number() -> Picture:
    """What four GPUs compute while their memory delivers one float32."""
    cell, top, step = 5.6, 62.0, 40.0
    drawing = Drawing(900, top + step * len(GPUS) + 26)
    drawing.text(20, 28, "While memory delivers one float32, a GPU can compute", 15, bold=True)
    for row, gpu in enumerate(GPUS):
        y = top + row * step
        count = round(gpu.operations_a_number)
        drawing.text(20, y + 16, gpu.name, 13)
        drawing.box(150, y + 2, 18, 18, "1", "store")
        for number in range(count):
            drawing.box(180 + number * cell, y + 2, cell - 1.5, 18, kind="used")
        drawing.text(180 + count * cell + 8, y + 16, f"{count} operations", 13, bold=True)
    drawing.key(
        150, top + step * len(GPUS), {"store": "one number fetched", "used": "one operation"}
    )
    rows = ", ".join(f"{gpu.name} {gpu.operations_a_number:.0f}" for gpu in GPUS)
    return drawing.picture(
        "One box for a float32 fetched from memory, and beside it as many boxes as the GPU "
        f"completes float32 operations in the same time: {rows}. Peak rates from data sheets."
    )


def neighbours() -> Picture:
    """Lane i reads x[i]."""
    return access_picture(
        [_FLOAT32_BYTES * lane for lane in range(WARP_LANES)], _FLOAT32_BYTES, "x[i]"
    )


def every_eighth() -> Picture:
    """Lane i reads x[8 * i]."""
    return access_picture(
        [8 * _FLOAT32_BYTES * lane for lane in range(WARP_LANES)], _FLOAT32_BYTES, "x[8 * i]"
    )
