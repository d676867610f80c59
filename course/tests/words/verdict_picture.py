"""Pictures for README and docs: real checks, drawn by Chromium, on a light and a dark page.

    python -m course.tests.words.verdict_picture

It needs a `chromium` (or `google-chrome`) on the PATH, and writes docs/verdict.png and what
docs/pictures.md shows.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from html import escape
from pathlib import Path

import matplotlib.image
import numpy as np
from PIL import Image  # which matplotlib brings

from course import exercises as ex
from course.check.check import check_source
from course.notebook.seen import DrawnVerdict, with_worst
from course.spec.exercise import KernelExercise
from course.words.verdict import Verdict

DOCS = Path(__file__).parents[3] / "docs"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT, SCALE = 1010, 900, 2
MARGIN = 24
#: Colours of a picture's file, which is then a third as large.
COLOURS = 64
#: Background and words of a page.
LOOKS = {"light": ("#ffffff", "#1f1f1f"), "dark": ("#111418", "#e3e3e3")}
TRANSPOSE = """from numba import cuda

TILE = 32


@cuda.jit
def transpose(A, B):
    x, y = cuda.grid(2)
    if x < A.shape[1] and y < A.shape[0]:
        B[x, y] = A[y, x]
"""
SWAPPED = """from numba import cuda


@cuda.jit
def index_2d(image, out):
    col, row = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        out[row, col] = image[row, col] + row + 2 * col
"""
NO_BARRIER = """from numba import cuda, float32


@cuda.jit
def shared_reverse(a):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 128 + t
    tile[t] = a[i]
    a[i] = tile[127 - t]
"""
MASK = """import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def triton_add(x, y, out, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i <= N)
    b = tl.load(y + i, mask=i < N)
    tl.store(out + i, a + b, mask=i < N)
"""
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A verdict</title>
<body style="margin:{margin}px;background:{background};color:{ink};
font:14px/1.5 system-ui,sans-serif">{content}</body></html>"""
INPUT = (
    '<pre style="margin:0 0 8px;padding:8px 12px;background:#f5f5f5;border:1px solid #e0e0e0;'
    'border-radius:3px;font:13px/1.45 monospace">{}</pre>'
)


def checked(exercise: KernelExercise, cell: str) -> Verdict:
    """What the check of a notebook shows."""
    return with_worst(exercise, check_source(exercise, cell))


def below(exercise: KernelExercise, cell: str) -> str:
    """The first picture below a verdict's panel, as it stands at first."""
    verdict = checked(exercise, cell)
    assert isinstance(verdict, DrawnVerdict)
    steps = verdict.pictures[0]
    return steps.pictures[steps.first - 1]._repr_html_()


def with_input() -> str:
    """A check in its cell, and the panel that it shows."""
    shown = INPUT.format(escape("ex.transpose.check(transpose)"))
    return shown + check_source(ex.transpose, TRANSPOSE)._repr_html_()


#: What docs/pictures.md shows: the file's name, and the page's content.
KINDS: dict[str, Callable[[], str]] = {
    "verdict": lambda: check_source(ex.index_2d, SWAPPED)._repr_html_(),
    "race": lambda: below(ex.shared_reverse, NO_BARRIER),
    "sectors": lambda: below(ex.transpose, TRANSPOSE),
    "masks": lambda: below(ex.triton_add, MASK),
}


def page(content: str, look: str) -> str:
    """A page of HTML in one of the looks."""
    background, ink = LOOKS[look]
    return PAGE.format(margin=MARGIN, background=background, ink=ink, content=content)


def draw(html: str, target: Path) -> None:
    """Writes the picture of a page, cut to its content."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"No browser found: install one of {', '.join(BROWSERS)}, then try again.")
    with tempfile.TemporaryDirectory() as folder:
        source, raw = Path(folder) / "page.html", Path(folder) / "raw.png"
        source.write_text(html, encoding="utf-8")
        subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--force-device-scale-factor={SCALE}",
                f"--window-size={WIDTH},{HEIGHT}",
                f"--screenshot={raw}",
                source.as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )
        pixels = matplotlib.image.imread(raw)[..., :3]
    rows, columns = np.nonzero(np.any(abs(pixels - pixels[0, 0]) > 0.01, axis=-1))
    bottom, right = int(rows.max()) + MARGIN * SCALE, int(columns.max()) + MARGIN * SCALE
    cut = Image.fromarray((pixels[:bottom, :right] * 255).round().astype(np.uint8))
    target.parent.mkdir(exist_ok=True)
    cut.quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)


def main() -> None:
    """Draws all of them."""
    draw(page(with_input(), "light"), DOCS / "verdict.png")
    for name, content in KINDS.items():
        html = content()
        for look in LOOKS:
            draw(page(html, look), DOCS / "pictures" / f"{name}_{look}.png")


if __name__ == "__main__":
    main()
