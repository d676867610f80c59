"""A branch on an index and a constant: which addresses behind it are others, held to NVVM's PTX."""

import textwrap

import numpy as np
import pytest

import course
from course.engine.simt.compiled import has_nvvm
from course.tests.engine.simt.ptx import compiled, parsed
from course.tests.engine.simt.ptx_run import Launch
from course.tests.written import module_of

AGAIN = "a = x[{0}]\nif {1}:\n    v = x[{0}] * 2\nout[i] = v + a"
OTHERWISE = "a = x[{0}]\nif {1}:\n    v += 1\nelse:\n    v = x[{0}] * 2\nout[i] = v + a"
INNER = "a = x[{0}]\nif {1}:\n    if y[i] > 9:\n        v = y[i]\n    v += x[{0}]\nout[i] = v + a"
LEFT = "a = x[{0}]\nif {1}:\n    return\nout[i] = x[{0}] * 2 + a"
OTHERS = (
    *[(AGAIN, "i", test) for test in ("i > 40", "40 < i", "i >= 0", "i > -2", "i == 3")],
    *[
        (AGAIN, "i", test)
        for test in ("i > 40.5", "not i < 40", "i < 50 and 0 < i", "j > 40", "i < 1")
    ],
    *[(AGAIN, index, "i > 40") for index in ("i + 1", "j", "2 * i - i", "(i + 3) - 2")],
    *[(OTHERWISE, "i", test) for test in ("i < 40", "i <= 40", "i != 3", "not i > 40")],
    (AGAIN, "i", "i < 50 and 0 < i"),
    (AGAIN, "t", "t > 40"),
    (LEFT, "i", "i < 8"),
)
ALIKE = (
    *[(AGAIN, "i", test) for test in ("i != 3", "i < 40", "0 < i < 50", "i > 40 or i == 3")],
    *[(AGAIN, "i", test) for test in ("i > y[0]", "i > x.size - 9", "i % 2 == 0", "i > -9")],
    *[(AGAIN, index, "i > 40") for index in ("i // 2", "i % 32", "i & 31", "t")],
    *[
        (OTHERWISE, "i", test)
        for test in ("i > 40", "i == 3", "0 < i and i < 30", "i < 9 or i > 60")
    ],
    (OTHERWISE, "i", "i < 9 or i > 60"),
    (INNER, "i", "i > 40"),
    (LEFT, "i", "i > 50"),
)


HEAD = """import numpy as np
from numba import cuda

@cuda.jit
def kernel(x, y, out):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    j = i + 1
    v = np.float32(0)
"""


def _loads_of_x(kernel) -> tuple[int, int]:
    """Requests for x: the engine's, and those of the PTX."""
    x, y, out = (np.arange(72, dtype=np.float32) for _ in range(3))
    with course.measure() as traffic:
        kernel[1, 64](x, y, out)
    theirs = Launch(parsed(compiled(kernel, (x, y, out))), (x, y, out), (1,), (64,)).run()
    mine = sum(site.requests for site in traffic.sites if site.array == "x")
    return mine, theirs.requests[0, "load"]


@pytest.mark.slow
@pytest.mark.skipif(not has_nvvm(), reason="no NVVM here: pip install nvidia-cuda-nvcc-cu12")
@pytest.mark.parametrize(("form", "index", "test"), [*OTHERS, *ALIKE])
def test_what_a_branch_says_of_an_index_makes_another_address_as_in_ptx(form, index, test):
    text = HEAD + textwrap.indent(form.format(index, test), " " * 4) + "\n"
    mine, theirs = _loads_of_x(module_of("written", text).kernel)
    assert mine == theirs
    assert (mine > 2) == ((form, index, test) in OTHERS)


@pytest.mark.slow
@pytest.mark.skipif(not has_nvvm(), reason="no NVVM here: pip install nvidia-cuda-nvcc-cu12")
@pytest.mark.parametrize(
    "turn", ["v += x[i] if k < 5 else 1", "if k < 5:\n    v += x[i]\nelse:\n    v += 1"]
)
def test_a_choice_by_a_number_is_no_branch_as_in_ptx(turn):
    body = f"for k in range(8):\n{textwrap.indent(turn, '    ')}\nout[i] = v"
    mine, theirs = _loads_of_x(module_of("written", HEAD + textwrap.indent(body, "    ")).kernel)
    assert mine == theirs == 2
