"""Pictures of lesson 13: the phases of a barrier, and a ring of buffers."""

from __future__ import annotations

from course.figures.drawing import Drawing
from course.figures.picture import Picture

_STAGES, _STEPS = 3, 6


def phases() -> Picture:
    """A barrier through two tiles: what arrives, when its phase ends, what a wait finds."""
    drawing = Drawing(880, 250)
    drawing.text(24, 28, "one mbarrier, count = 1, and two tiles of 8,192 bytes", 13.5, bold=True)
    events = (
        ("expect 8,192", "1 arrived", "used"),
        ("copy comes", "8,192 of 8,192 bytes", "store"),
        ("expect 8,192", "1 arrived", "used"),
        ("copy comes", "8,192 of 8,192 bytes", "store"),
    )
    for number, (what, state, kind) in enumerate(events):
        x = 24 + number * 210 + (number > 1) * 24
        drawing.box(x, 60, 150, 34, what, kind, 12)
        drawing.text(x, 116, state, 12, faint=True)
        if number < 3:
            drawing.arrow(x + 152, 77, x + (232 if number == 1 else 208), 77)
    for number, (x, width) in enumerate(((24, 410), (468, 380))):
        drawing.box(x, 138, width, 26, f"phase {number}", "third", 12)
    drawing.text(24, 196, "wait(bar, 0)", 12.5, mono=True)
    drawing.text(150, 196, "waits until the end of phase 0, and goes through after it", 12.5)
    drawing.text(24, 222, "wait(bar, 1)", 12.5, mono=True)
    drawing.text(
        150, 222, "goes through in phase 0 (the one before has ended); waits in phase 1", 12.5
    )
    return drawing.picture(
        "An mbarrier with a count of 1 goes through two tiles. In phase 0 a thread expects 8,192 "
        "bytes and so arrives, and the copy brings them: the phase ends. Phase 1 is the same for "
        "the second tile. A wait for parity 0 waits until phase 0 has ended. A wait for parity 1 "
        "goes through at once in phase 0, since the phase before it counts as ended, and waits in "
        "phase 1."
    )


def ring() -> Picture:
    """Which step lies in which buffer, and what happens to it when."""
    drawing = Drawing(880, 40 + 40 * _STAGES + 70)
    drawing.text(24, 28, "three buffers, six steps; time goes to the right", 13.5, bold=True)
    for s in range(_STAGES):
        drawing.text(24, 76 + s * 40, f"buffer {s}", 12.5)
    for k in range(_STEPS):
        y, end = 56 + k % _STAGES * 40, 300 + k * 96
        x = 110 if k < _STAGES else end - _STAGES * 96 + 93  # behind the product before it there
        drawing.box(x, y, end - x - 3, 30, f"copy {k}", "used", 12)
        drawing.box(end, y, 90, 30, f"product {k}", "store", 12)
    drawing.text(
        24, 204, "Copy 3 goes into buffer 0, and may begin when product 0 has been made.", 12.5
    )
    return drawing.picture(
        "Three buffers and six steps. Steps 0 and 3 lie in buffer 0, 1 and 4 in buffer 1, 2 and 5 "
        "in buffer 2. Copies of the first steps begin together; product k follows copy k, one "
        "product after another. Copy 3 begins when product 0 has been made, copy 4 behind product "
        "1, copy 5 behind product 2."
    )
