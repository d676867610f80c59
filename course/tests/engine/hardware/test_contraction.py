"""What the engine rounds once is what an H200 rounds once (contraction.json)."""

import json
from functools import cache

import pytest

import course  # noqa: F401  # kernels run on the engine

from . import contraction

RECORDED = json.loads(contraction.RECORD.read_text())["results"]
#: Rows of an output that differ, by case and place, each with what the compiler did.
ELSEWHERE = {
    # Where it knows that a loop has a first turn, the product is not moved behind the loop.
    ("behind_a_loop, float32", 0): "the product stays in front of the loop",
    # float64(x * y) + z, kept as a float32, was computed in float32.
    ("literals, float32", 2): "a float64 that nobody sees",
}


@cache
def computed():
    return dict(contraction.results())


@pytest.mark.parametrize("name", RECORDED)
def test_products_and_sums_are_rounded_as_on_a_gpu(name):
    gpu, engine = (bytes.fromhex(every[name]) for every in (RECORDED, computed()))
    size = len(gpu) // contraction.OUTPUTS
    for row in range(contraction.OUTPUTS):
        part = slice(row * size, (row + 1) * size)
        assert (engine[part] == gpu[part]) == ((name, row) not in ELSEWHERE), row
