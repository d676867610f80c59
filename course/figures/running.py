"""What a kernel carries from turn to turn of a loop; programs dealt to multiprocessors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from course.engine import stated_gpu
from course.figures.drawing import Drawing
from course.figures.picture import BLUE, FAINT_INK, Picture

_WIDTH, _LEFT, _LANE = 552.0, 84.0, 74.0
#: Multiprocessors in a row of the picture.
_A_ROW = 18


def running_picture(code: str, values: Mapping[str, Sequence[float]], whose: str) -> Picture:
    """Variables that a loop changes: a lane for each, a point for each turn.

    Args:
        code: the line of the loop.
        values: by name, before the first turn and after each.
        whose: the thread or program.
    """
    turns = max(map(len, values.values()))
    drawing = Drawing(_WIDTH, 76 + _LANE * len(values))
    drawing.text(16, 24, code, 13, bold=True, mono=True)
    step = (_WIDTH - _LEFT - 40) / max(1, turns - 1)
    told = []
    for lane, (name, row) in enumerate(values.items()):
        top = 46 + lane * _LANE
        drawing.text(16, top + 34, name, 13, mono=True)
        finite = [value for value in row if math.isfinite(value)]
        low, high = min(finite, default=0.0), max(finite, default=0.0)
        points = []
        for turn, value in enumerate(row):
            share = (value - low) / (high - low) if high > low and math.isfinite(value) else 0.0
            points.append((_LEFT + 10 + turn * step, top + 48 - 26 * share, _short(value)))
        for (x1, y1, _), (x2, y2, _) in pairwise(points):
            drawing.line(x1, y1, x2, y2, BLUE, 1.6)
        for x, y, _ in points:
            drawing.box(x - 3, y - 3, 6, 6, kind="used")
        drawing.labels([(x, y - 8, label) for x, y, label in points], min(11, step / 4.2))
        drawing.line(16, top + 58, _WIDTH - 16, top + 58, FAINT_INK, 0.5)
        told.append(f"{name}: {', '.join(label for *_, label in points)}")
    bottom = 46 + _LANE * len(values) + 10
    for turn in range(turns):
        label = "before" if turn == 0 else f"turn {turn}"
        every = max(1, round(46 / step))
        if turn % every == 0:
            drawing.text(_LEFT + 10 + turn * step, bottom, label, 10.5, "middle", faint=True)
    said = f"What {whose} carries from turn to turn, before the first and after each"
    return drawing.picture(f"{code.rstrip(':')}: {said}: {'; '.join(told)}.")


def _short(value: float) -> str:
    return f"{value:.3g}".replace("e+0", "e").replace("e-0", "e-")


def programs_picture(makers: int, warps: int, programs: bool) -> Picture:
    """Programs or blocks dealt to the multiprocessors of the GPU that a check stands for.

    Args:
        makers: programs, or blocks.
        warps: of each.
    """
    sms = stated_gpu.MULTIPROCESSORS
    threads = warps * stated_gpu.WARP_LANES
    room = min(
        stated_gpu.THREADS_OF_A_MULTIPROCESSOR // threads, stated_gpu.BLOCKS_OF_A_MULTIPROCESSOR
    )
    at_once = min(makers, sms * room)
    waves = -(-makers // (sms * room))
    what = "programs" if programs else "blocks"
    one_or_more = what if makers > 1 else what[:-1]
    said = [
        f"{makers} {one_or_more} of {warps} warp{'s' * (warps > 1)}.",
        f"{min(makers, sms)} of {sms} SMs have work; one has room for the threads of {room}.",
    ]
    if waves > 1:
        last = makers - (waves - 1) * sms * room
        said.append(f"That is {waves} waves: {sms * room} {what} each, and {last} in the last.")
    side = (_WIDTH - 32) / _A_ROW
    rows = -(-sms // _A_ROW)
    drawing = Drawing(_WIDTH, 48 + rows * 24 + 32 + 18 * len(said))
    title = f"For each SM (multiprocessor): how many {what} it has at first"
    drawing.text(16, 24, title, 12.5, bold=True)
    places = [(16 + sm % _A_ROW * side, 36 + sm // _A_ROW * 24) for sm in range(sms)]
    held = [at_once // sms + (sm < at_once % sms) for sm in range(sms)]
    for kind, wanted in (("used", True), ("idle", False)):
        corners = [
            place for place, count in zip(places, held, strict=True) if (count > 0) is wanted
        ]
        if corners:
            drawing.boxes(corners, side - 3, 21, kind)
    labels = [
        (x + side / 2 - 1.5, y + 15, str(count))
        for (x, y), count in zip(places, held, strict=True)
        if count
    ]
    drawing.labels(labels, 11)
    below = 36 + rows * 24 + 6
    drawing.key(16, below, {"used": f"has {what}", "idle": "has none"})
    for number, line in enumerate(said):
        drawing.text(16, below + 32 + 18 * number, line, 12)
    return drawing.picture(" ".join([f"{title}.", *said]))
