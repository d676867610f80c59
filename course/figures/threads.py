"""Pictures of lesson 01: two memories, two kinds of processor, and who works on what."""

from __future__ import annotations

from course.figures.access import access_picture, grid_picture
from course.figures.drawing import Drawing
from course.figures.measured import ADD_MS, LAUNCH_QUEUED_US, TO_DEVICE_GB_S, TO_HOST_GB_S
from course.figures.picture import INK, Picture
from course.plain.sectors import WARP_LANES

_FLOAT32_BYTES = 4
#: The vector add whose times are drawn: 2**24 float32 elements, 64 MiB an array.
_ARRAY_BYTES = 4 * 2**24


def two_memories() -> Picture:
    """Host and device, and the three arrows between them."""
    drawing = Drawing(860, 270)
    drawing.box(20, 20, 300, 230, kind="group")
    drawing.text(36, 44, "host", 15, bold=True)
    drawing.box(40, 60, 120, 64, "CPU\nruns Python", "plain")
    drawing.box(40, 150, 260, 80, "host memory\nNumPy arrays a, b, c", "used")
    drawing.box(540, 20, 300, 230, kind="group")
    drawing.text(556, 44, "device", 15, bold=True)
    drawing.box(700, 60, 120, 64, "GPU\nruns kernels", "plain")
    drawing.box(560, 150, 260, 80, "device memory\ndevice arrays d_a, d_b, d_c", "store")
    drawing.arrow(166, 92, 694, 92, "2  kernel[grid, block](d_a, d_b, d_c)")
    drawing.arrow(306, 178, 554, 178, "1  to_device: a, b")
    drawing.arrow(554, 216, 306, 216, "3  copy_to_host: c")
    drawing.arrow(760, 128, 760, 146)
    drawing.arrow(100, 128, 100, 146)
    return drawing.picture(
        "Two boxes. The host: a CPU that runs Python, and host memory with the NumPy arrays. The "
        "device: a GPU that runs kernels, and device memory with device arrays. Three arrows in "
        "order: 1, to_device copies a and b from host memory to device memory; 2, the CPU "
        "launches a kernel on the GPU; 3, copy_to_host copies c back. CPU and GPU each reach only "
        "their own memory."
    )


def what_a_launch_costs() -> Picture:
    """The parts of one vector add with its copies, as bars of true length."""
    there = 2 * _ARRAY_BYTES / TO_DEVICE_GB_S / 1e6
    back = _ARRAY_BYTES / TO_HOST_GB_S / 1e6
    parts = (
        ("two arrays to the device", there, "used"),
        ("the launch", LAUNCH_QUEUED_US / 1000, "third"),
        ("the kernel", ADD_MS, "store"),
        ("one array back to the host", back, "shared"),
    )
    scale = 520 / there
    drawing = Drawing(880, 226)
    drawing.text(20, 28, "Adding two vectors of 16.8 million float32 on an H200", 15, bold=True)
    for row, (name, milliseconds, kind) in enumerate(parts):
        y = 52 + row * 40
        length = max(1.5, milliseconds * scale)
        drawing.text(216, y + 15, name, 13, "end")
        drawing.box(228, y, length, 22, kind=kind)
        drawing.text(228 + length + 8, y + 15.5, f"{milliseconds:.3g} ms", 13, bold=True)
    share = ADD_MS / sum(part[1] for part in parts)
    words = f"The kernel is {100 * share:.2g} % of the whole."
    drawing.text(228, 214, words, 12.5)
    rows = "; ".join(f"{name} {ms:.3g} milliseconds" for name, ms, _ in parts)
    return drawing.picture(f"Bars of time: {rows}. {words}")


def cpu_and_gpu() -> Picture:
    """What the area of each chip is spent on."""
    drawing = Drawing(880, 300)
    drawing.text(20, 28, "CPU: a few threads, each soon done", 14, bold=True)
    for core in range(4):
        x = 20 + (core % 2) * 200
        y = 42 + (core // 2) * 88
        drawing.box(x, y, 190, 80, kind="group")
        drawing.box(x + 8, y + 8, 80, 64, "control:\nguess, reorder", "shared", 11)
        drawing.box(x + 94, y + 8, 88, 28, "arithmetic", "used", 11)
        drawing.box(x + 94, y + 42, 88, 30, "own cache", "store", 11)
    drawing.box(20, 222, 390, 30, "large shared cache", "store")
    drawing.box(20, 260, 390, 26, "memory", "plain")
    drawing.text(460, 28, "GPU: many threads, all done sooner", 14, bold=True)
    for sm in range(8):
        x = 460 + (sm % 4) * 100
        y = 42 + (sm // 4) * 88
        drawing.box(x, y, 94, 80, kind="group")
        drawing.box(x + 6, y + 5, 82, 11, "control", "shared", 8.5)
        for unit in range(24):
            drawing.box(x + 6 + (unit % 8) * 10.3, y + 19 + (unit // 8) * 11, 8.6, 9, kind="used")
        drawing.box(x + 6, y + 55, 82, 20, "shared, L1", "store", 9.5)
    drawing.box(460, 222, 394, 30, "L2 cache", "store")
    drawing.box(460, 260, 394, 26, "device memory", "plain")
    return drawing.picture(
        "Left, a CPU of four large cores: each has a large control part that guesses and reorders "
        "instructions, a small arithmetic part and its own cache; below them a large shared cache "
        "and memory. Right, a GPU of eight small multiprocessors: each has a thin strip of "
        "control, many arithmetic units, and storage for shared memory and L1; below them the L2 "
        "cache and device memory. A real GPU has about a hundred multiprocessors."
    )


def waiting_together() -> Picture:
    """One warp waits alone; eight warps wait together."""
    drawing = Drawing(880, 292)
    left, wait, work = 110.0, 300.0, 26.0
    drawing.text(20, 28, "A multiprocessor with one warp waits; with many it works", 15, bold=True)
    drawing.text(left - 10, 62, "one warp", 12.5, "end")
    x = left
    for number in range(2):
        drawing.box(x, 48, work, 20, "ask", "used", 10)
        drawing.box(x + work, 48, wait, 20, "wait for memory", "idle", 11)
        drawing.box(x + work + wait, 48, work, 20, "add", "store", 10)
        x += wait + 2 * work + (8 if number == 0 else 0)
    drawing.text(left - 10, 108, "eight warps", 12.5, "end")
    for warp in range(8):
        y = 96 + warp * 20
        start = left + warp * work
        drawing.box(start, y, work, 16, "ask", "used", 9)
        drawing.box(start + work, y, wait, 16, "wait" if warp else "wait for memory", "idle", 9.5)
        drawing.box(start + work + wait, y, work, 16, "add", "store", 9)
    drawing.line(left, 268, 850, 268, INK, 1.2, arrow=True)
    drawing.text(850, 284, "time", 12, "end")
    return drawing.picture(
        "Two timelines. Above, one warp: it asks for its numbers, waits a long time, adds, asks "
        "again, waits again. Below, eight warps, each of which asks one step after the one "
        "before: their long waits overlap, and all eight are done shortly after the first. Each "
        "single wait is as long as before."
    )


def grid_1d() -> Picture:
    """Ten elements, blocks of four."""
    return grid_picture(10, 4)


def warps_of_a_block() -> Picture:
    """A block of (16, 4) threads and the two warps that it is cut into."""
    cell, left, top = 40.0, 92.0, 78.0
    drawing = Drawing(left + 16 * cell + 130, top + 4 * 34 + 50)
    drawing.text(
        20, 28, "A block of (16, 4) threads is cut into warps along x first", 15, bold=True
    )
    drawing.text(left, top - 16, "x = 0 ... 15", 12, faint=True)
    for y in range(4):
        drawing.text(left - 10, top + y * 34 + 19, f"y = {y}", 12, "end", faint=True)
        for x in range(16):
            number = x + 16 * y
            kind = "used" if number < WARP_LANES else "store"
            label = str(number % WARP_LANES)
            drawing.box(left + x * cell, top + y * 34, cell - 3, 29, label, kind, 12)
    drawing.text(left + 16 * cell + 6, top + 36, "warp 0", 13, bold=True)
    drawing.text(left + 16 * cell + 6, top + 104, "warp 1", 13, bold=True)
    drawing.text(
        left, top + 4 * 34 + 24, "Each box is a thread; the number in it is its lane.", 12.5
    )
    return drawing.picture(
        "A block of 16 threads along x and 4 along y. Rows y = 0 and y = 1 are warp 0: lanes 0 to "
        "15, then 16 to 31. Rows y = 2 and y = 3 are warp 1, again lanes 0 to 31. A thread's "
        "number in the block is x + 16 * y."
    )


def grid_2d() -> Picture:
    """A picture of 5 rows and 10 columns under blocks of (4, 2) threads."""
    rows, columns, bx, by = 5, 10, 4, 2
    blocks_x, blocks_y = -(-columns // bx), -(-rows // by)
    cell, gap, left, top = 44.0, 8.0, 70.0, 84.0
    drawing = Drawing(
        left + blocks_x * (bx * cell + gap) + 20, top + blocks_y * (by * 30 + 16) + 44
    )
    drawing.text(20, 28, "5 rows, 10 columns, blocks of (4, 2) threads", 15, bold=True)
    drawing.text(left, 54, "x is the column, y the row; in a box: row, col", 12.5, faint=True)
    for row in range(blocks_y * by):
        y = top + row * 30 + (row // by) * 16
        for col in range(blocks_x * bx):
            x = left + col * cell + (col // bx) * gap
            if row % by == 0 and col % bx == 0:
                drawing.text(x, y - 4, f"block ({col // bx}, {row // by})", 10.5, faint=True)
            inside = row < rows and col < columns
            drawing.box(x, y, cell - 3, 27, f"{row}, {col}", "used" if inside else "idle", 11.5)
    drawing.key(
        left,
        top + blocks_y * (by * 30 + 16) + 14,
        {"used": "thread with a pixel", "idle": "thread outside the picture"},
    )
    threads = blocks_x * bx * blocks_y * by
    return drawing.picture(
        f"A picture of {rows} rows and {columns} columns under a grid of {blocks_x} by {blocks_y} "
        "blocks of 4 by 2 threads; x is the column, y the row. Block (0, 0) holds rows 0 and 1 of "
        "columns 0 to 3; block (1, 0) lies to its right, block (0, 1) below it. "
        f"{threads - rows * columns} of {threads} threads lie outside: two columns on the right "
        "and one row at the bottom."
    )


def along_a_row(columns: int = 128) -> Picture:
    """Lane i reads image[row, i]: neighbours in a row."""
    return access_picture(
        [_FLOAT32_BYTES * lane for lane in range(WARP_LANES)],
        _FLOAT32_BYTES,
        f"x is the column: image[row, i], rows of {columns}",
    )


def down_a_column(columns: int = 128) -> Picture:
    """Lane i reads image[i, col]: neighbours in a column, a row apart in memory."""
    return access_picture(
        [_FLOAT32_BYTES * columns * lane for lane in range(WARP_LANES)],
        _FLOAT32_BYTES,
        f"x is the row: image[i, col], rows of {columns}",
    )


def grid_stride() -> Picture:
    """Two blocks of four threads over 21 elements, round by round."""
    return _dealt_out(
        "Stride: in each round the grid takes the next 8 elements",
        [i % 8 for i in range(23)],
        "Element i is done by thread i % 8 of the grid, in round i // 8. In one round the eight "
        "threads take eight neighbouring elements. In the third round only seven have one.",
    )


def chunk_a_thread() -> Picture:
    """The same elements, a contiguous chunk a thread."""
    return _dealt_out(
        "Chunks: each thread takes 3 neighbours, so threads stand 3 apart",
        [i // 3 for i in range(23)],
        "Element i is done by thread i // 3, in round i % 3. In one round the threads take "
        "elements 0, 3, 6, 9 and so on: three apart, never side by side.",
    )


def _dealt_out(title: str, thread_of: list[int], words: str) -> Picture:
    cell = 38.0
    drawing = Drawing(40 + cell * len(thread_of) + 60, 158)
    drawing.text(20, 28, title, 15, bold=True)
    drawing.text(20, 56, "element", 11.5, faint=True)
    drawing.text(20, 130, "In the boxes: the thread, t0 to t7. Filled: the first round.", 12.5)
    seen: set[int] = set()
    for element, thread in enumerate(thread_of):
        x = 20 + element * cell
        drawing.text(x + cell / 2 - 2, 76, str(element), 11, "middle", faint=True)
        first = thread not in seen
        drawing.box(x, 84, cell - 4, 28, f"t{thread}", "store" if first else "plain", 12)
        seen.add(thread)
    return drawing.picture(f"{title}. {len(thread_of)} elements, 8 threads. {words}")


def torn_warp() -> Picture:
    """A warp at a branch: lanes that disagree, and lanes that agree."""
    drawing = Drawing(880, 300)
    cell, left = 19.0, 170.0
    drawing.text(20, 28, "One warp at an `if`: both sides, one after the other", 15, bold=True)
    for row, (label, active) in enumerate(
        (("if i % 2 == 0:", 0), ("    square root", 0), ("else:  cube root", 1))
    ):
        y = 46 + row * 28
        drawing.text(20, y + 15, label, 12, mono=True)
        for lane in range(WARP_LANES):
            kind = "used" if row == 0 or lane % 2 == active else "idle"
            drawing.box(left + lane * cell, y, cell - 2, 20, str(lane), kind, 9)
    drawing.text(20, 160, "All lanes agree: one side", 15, bold=True)
    for row, label in enumerate(("if row == 0:", "    square root")):
        y = 178 + row * 28
        drawing.text(20, y + 15, label, 12, mono=True)
        for lane in range(WARP_LANES):
            drawing.box(left + lane * cell, y, cell - 2, 20, str(lane), "used", 9)
    drawing.key(left, 258, {"used": "lane works", "idle": "lane is switched off and waits"})
    return drawing.picture(
        "Above, a warp of 32 lanes reaches a branch on the parity of the thread. First the even "
        "lanes compute the square root while the odd ones are switched off; then the odd lanes "
        "compute the cube root while the even ones are switched off. The warp spends the time of "
        "both. Below, all lanes agree: the whole warp computes the square root and the other side "
        "is skipped."
    )
