"""The README's picture of a verdict: a real check, drawn by headless Chromium.

    python -m course.tests.words.verdict_picture

It needs a `chromium` (or `google-chrome`) on the PATH, and writes docs/verdict.png.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

import matplotlib.image
import numpy as np

from course import exercises as ex
from course.check.check import check_source

PICTURE = Path(__file__).parents[3] / "docs" / "verdict.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT, SCALE = 1010, 900, 2
MARGIN = 24
CELL = """from numba import cuda

TILE = 32


@cuda.jit
def transpose(A, B):
    x, y = cuda.grid(2)
    if x < A.shape[1] and y < A.shape[0]:
        B[x, y] = A[y, x]
"""
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>A verdict</title>
<body style="margin:{margin}px;background:#fff;color:#1f1f1f;font:14px/1.5 system-ui,sans-serif">
{cells}{panel}</body></html>"""
INPUT = (
    '<pre style="margin:0 0 8px;padding:8px 12px;background:#f5f5f5;border:1px solid #e0e0e0;'
    'border-radius:3px;font:13px/1.45 monospace">{}</pre>'
)


def page() -> str:
    """The cell with the check, and the panel that it shows."""
    verdict = check_source(ex.transpose, CELL)
    shown = INPUT.format(escape("ex.transpose.check(transpose)"))
    return PAGE.format(margin=MARGIN, cells=shown, panel=verdict._repr_html_())


def draw(target: Path) -> None:
    """Writes the picture, cut to its content."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"No browser found: install one of {', '.join(BROWSERS)}, then try again.")
    with tempfile.TemporaryDirectory() as folder:
        source, raw = Path(folder) / "page.html", Path(folder) / "raw.png"
        source.write_text(page(), encoding="utf-8")
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
    rows, columns = np.nonzero(np.any(pixels < 0.99, axis=-1))
    bottom, right = int(rows.max()) + MARGIN * SCALE, int(columns.max()) + MARGIN * SCALE
    target.parent.mkdir(exist_ok=True)
    matplotlib.image.imsave(target, pixels[:bottom, :right])


if __name__ == "__main__":
    draw(PICTURE)
