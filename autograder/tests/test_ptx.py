"""Every Numba solution and witness asks of memory what the code that NVVM made of it asks."""

import json
import subprocess
import sys
from typing import Any

import pytest

from autograder.lessons.catalogue import ROOT, lessons
from autograder.tests.ptx_counts import of_numba
from course.engine.simt.compiled import has_nvvm

#: What differs, each with what the compiler did.
EXPLAINED = {
    "repeat_multiply kept_in_the_input": "a loop's element stays in a register behind it",
    "matmul_naive last_product_alone": "only the last turn's value is used",
    "histogram lanes_with_one_value_add_once": "what is held over a match is the assembler's work",
}
#: NVVM leaves the power of two numbers a function.
CALLS = {
    *("repeat_multiply closed_form", "repeat_multiply closed_form_of_most"),
    "repeat_multiply power_and_one_b",
    "divergence math_functions",
}


@pytest.mark.slow
@pytest.mark.skipif(not has_nvvm(), reason="no NVVM here: pip install nvidia-cuda-nvcc-cu12")
@pytest.mark.parametrize("stem", [stem for stem in lessons() if of_numba(stem)])
def test_accesses_and_results_are_those_of_the_code_that_nvvm_makes(stem: str) -> None:
    command = [sys.executable, "-m", "autograder.tests.ptx_counts", stem]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=600)
    rows: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) > 10
    for row in rows:
        if row["kernel"] in CALLS:
            assert row["not run"] == "a function of its own"
            continue
        assert row["same results"], row
        assert (row["engine"] == row["ptx"]) is (row["kernel"] not in EXPLAINED), row
