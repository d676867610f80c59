"""Functions of C's mathematical library, by C's names, as NumPy computes them."""

from __future__ import annotations

import numpy as np

FUNCTIONS: dict[str, np.ufunc] = {
    name: getattr(np, name)
    for name in (
        *("sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "fabs", "fmod"),
        *("sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "hypot"),
        "copysign",
    )
} | {
    f"a{name}": getattr(np, f"arc{name}")
    for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")
}
