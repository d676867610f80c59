# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""The gated layer of lesson 09 in eager PyTorch and with torch.compile, on a GPU.

``python -m tools.record_gated --out docs/gated_linear.json``. torch.compile stops compiling anew
after some shapes and runs eager code, unasked: it is reset before each shape.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from course.gpu.recording import commanded, provenance

SHAPES = ((65536, 512, 512), (4096, 4096, 4096))


def record(out: Path) -> None:
    """Times all of them and writes the JSON file `out`."""
    import torch
    from triton.testing import do_bench

    def layer(x, w1, w2, b1, b2):
        return torch.sigmoid(x @ w1 + b1) * (x @ w2 + b2)

    rows = []
    for m, n, k in SHAPES:
        torch.compiler.reset()
        torch.manual_seed(0)
        given = [
            torch.randn(*shape, device="cuda", dtype=torch.float16)
            for shape in ((m, k), (k, n), (k, n), (n,), (n,))
        ]
        row: dict[str, object] = {"M": m, "N": n, "K": k}
        for name, function in (("eager", layer), ("compiled", torch.compile(layer))):
            microseconds = 1e3 * do_bench(lambda f=function, g=given: f(*g), return_mode="median")
            row[name] = round(4 * m * n * k / microseconds / 1e6, 1)
        rows.append(row)
    answer = {
        "about": "TFLOP/s, a multiply-add counted as two, float16",
        **provenance(f"python -m tools.record_gated --out {out.name}"),
        "rows": rows,
    }
    out.write_text(json.dumps(answer, indent=1) + "\n")
    print(rows)


if __name__ == "__main__":
    sys.exit(commanded(__doc__, record))
