"""What differs between the versions of Triton that the tests run with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import triton

_MINOR = tuple(map(int, triton.__version__.split(".")[:2]))
_FROM_3_7, _FROM_3_8, _FROM_3_9 = (_MINOR >= (3, minor) for minor in (7, 8, 9))

#: Before, the compiler refuses a kernel that returns a constant, and a constant from a function.
RETURNS_CONSTANTS = _FROM_3_7
#: `0 <= x < n` is refused before.
TAKES_CHAINS = _FROM_3_9
#: Before, the PTX of a load has no word of `.cv`.
WRITES_CV = _FROM_3_9
#: Before, `disable_licm` is for LLVM alone, and Triton itself moves loads out of the loop.
HEARS_DISABLE_LICM = _FROM_3_9
#: Before, no load is moved across one that is volatile, as if that wrote.
VOLATILE_LOADS_WRITE = not _FROM_3_8
#: Before, `-x` is `0 - x`: that sum takes a product in, and what is added behind is rounded anew.
NEGATES = _FROM_3_8


def recorded(name: str) -> tuple[dict[str, Any], pytest.MarkDecorator]:
    """A GPU's record that is kept here, and the mark of tests for the Triton that made its code."""
    record = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    other = triton.__version__ != record["provenance"]["triton"]
    reason = "another Triton makes other code: the record is of the pinned one"
    return record, pytest.mark.skipif(other, reason=reason)
