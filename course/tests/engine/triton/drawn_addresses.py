"""Drawn kernels that do nothing but load and store: at addresses and under masks of all kinds.

Branches and loops carry the addresses on, so that what is known of them is lost bit by bit. They
are compiled and never run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from course.tests.engine.triton.drawn_expressions import Choose

#: A number that the compiler knows, one that 16 divides, one that it may divide, and others.
NUMBERS = (
    "n", "m", "pid", "1", "2", "3", "4", "8", "16", "n * m", "pid * 16", "n // 16", "m // 8",
    "n % 16", "n // 4 * 4", "pid * n", "tl.cdiv(n, 16)", "min(n, m)", "max(n, 16)", "(n & -16)",
    "(n | 16)", "(n ^ 16)", "(pid << 4)", "(n >> 2)", "tl.multiple_of(m, 8)", "tl.load(i + pid)",
    "(n if m > 3 else m)", "-n", "(n - m)",
)  # fmt: skip
FLAT = (
    "t + {}", "t * {} + {}", "(t + {}) % {}", "(t + {}) // {}", "511 - t", "t ^ {}",
    "(t | 16) + {}", "tl.max_contiguous(tl.multiple_of(t + {}, 8), 8)", "(t // 16) * {} + t % 16",
    "tl.where(t < {}, t, {})", "tl.maximum(t, {})", "(t.to(tl.int64) * {} + {})",
    "(t + {}).to(tl.int64) & -4", "tl.load(i + t + {})", "(t if n > m else t + {})",
    "tl.where(n > {}, t, t + {})", "tl.minimum(t, t + {})",
)  # fmt: skip
TILED = (
    "rows * {} + columns", "rows + columns * {}", "rows * {} + columns * {}",
    "(rows * {} + columns) + {}", "tl.where(columns < {}, rows * 64 + columns, rows + columns)",
)  # fmt: skip
FLAT_MASKS = (
    "t < {}", "at < {}", "t + {} < {}", "t >= {}", "(t < {}) & (t > {})", "t // 4 < {}", "t <= {}",
    "t % 8 < {}", "t == {}", "{} > t", "(t < {}) | (n > {})", "tl.where(n > 3, t, t + {}) < {}",
)  # fmt: skip
TILED_MASKS = (
    "(rows < {}) & (columns < {})", "columns < {}", "rows < {}", "(rows < {}) | (columns < {})",
)  # fmt: skip
HEAD = """
import triton
import triton.language as tl


@triton.jit
def kernel(f, h, b, d, i, n, m):
    pid = tl.program_id(0)
    t = tl.arange(0, 512)
    rows, columns = tl.arange(0, 8)[:, None], tl.arange(0, 64)[None, :]
"""


class _Lines:
    """Draws statements; `depth` is how deep they stand in loops and branches."""

    def __init__(self, choose: Choose, flat: bool) -> None:
        self.choose, self.flat = choose, flat
        self.lines: list[str] = []
        self.loops = 0

    def filled(self, forms: Sequence[str]) -> str:
        form: str = self.choose(forms)
        return form.format(*(self.choose(NUMBERS) for _ in range(form.count("{}"))))

    def write(self, depth: int, *lines: str) -> None:
        self.lines += ["    " * (depth + 1) + line for line in lines]

    def access(self, depth: int) -> None:
        forms = FLAT_MASKS if self.flat else TILED_MASKS
        load, store = (
            f", mask={self.filled(forms)}" if self.choose((False, True)) else "" for _ in range(2)
        )
        self.write(depth, f"s += tl.load({self.choose('fhbd')} + at{load}).to(tl.float32)")
        if self.choose((False, True)):
            self.write(depth, f"tl.store({self.choose('fhbd')} + at, s{store})")

    def moved(self, depth: int) -> None:
        offsets = self.filled(FLAT if self.flat else TILED)
        self.write(depth, f"at = ({offsets}).to(tl.int32)")

    def branch(self, depth: int) -> None:
        self.write(depth, f"if {self.choose(NUMBERS)} > {self.choose(NUMBERS)}:")
        self.body(depth + 1)
        if self.choose((False, True)):
            self.write(depth, "else:")
            self.body(depth + 1)

    def loop(self, depth: int) -> None:
        self.loops += 1
        count = f"k{self.loops}"
        start, step = self.choose(("pid", "pid * 16")), self.choose(("1", "16", "m"))
        if self.choose((False, True)):
            self.write(depth, f"for {count} in range({start}, {self.choose(NUMBERS)}, {step}):")
        else:
            self.write(depth, f"{count} = {start}", f"while {count} < {self.choose(NUMBERS)}:")
            self.write(depth + 1, f"{count} += {step}")
        self.body(depth + 1)
        self.write(depth + 1, f"at += {self.choose((count, *NUMBERS))}")
        if self.choose((False, True)):
            self.write(depth + 1, f"q += {self.choose(NUMBERS)}", "s += tl.load(q)")

    def body(self, depth: int) -> None:
        deeper: tuple[Callable[[int], None], ...] = (self.branch, self.loop) if depth < 3 else ()
        for _ in range(self.choose((1, 2, 3))):
            self.choose((self.access, self.access, self.moved, *deeper))(depth)


@st.composite
def drawn_addresses(draw: Any) -> tuple[str, dict[str, Any]]:
    """(source, the numbers and the warps of a launch)."""

    def choose(options: Sequence[Any]) -> Any:
        return draw(st.sampled_from(options))

    flat = choose((False, True))
    lines = _Lines(choose, flat)
    lines.write(0, "at = t + pid * 512" if flat else "at = rows * 64 + columns", "q = f + at")
    lines.write(0, f"s = tl.zeros([{'512' if flat else '8, 64'}], tl.float32)")
    lines.body(0)
    lines.access(0)
    lines.write(0, "tl.store(f + at, s)")
    return HEAD + "\n".join(lines.lines) + "\n", {
        "n": choose((1, 7, 16, 24, 64, 1000, 1024)),
        "m": choose((1, 3, 16, 12, 48, 4096)),
        "num_warps": choose((1, 2, 4, 8)),
    }
