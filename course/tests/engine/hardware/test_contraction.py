"""What the engine rounds once is what an H200 rounds once (contraction.json)."""

import json
from functools import cache

import numpy as np
import pytest

import course  # noqa: F401  # kernels run on the engine

from . import contraction

RECORDED = json.loads(contraction.RECORD.read_text())["results"]
TYPES = ("float32", "float64")
#: Rows of an output that differ, by case and place, each with what the compiler did.
ELSEWHERE = {
    # A running sum is left with two roundings, for speed.
    **{(f"in_a_loop, {dtype}", turn): "a running sum" for dtype in TYPES for turn in range(3)},
    # Where it knows that a loop has a first turn, the product is not moved behind the loop.
    ("behind_a_loop, float32", 0): "the product stays in front of the loop",
    # x * y or x * z became x times (y or z), whose product is one.
    ("chosen, float32", 1): "the choice is between factors",
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


@pytest.mark.parametrize("dtype", TYPES)
def test_a_running_sum_differs_from_a_gpus_by_the_rounding_of_its_products(dtype):
    name = f"in_a_loop, {dtype}"
    gpu, engine = (
        np.frombuffer(bytes.fromhex(every[name]), dtype) for every in (RECORDED, computed())
    )
    largest_product, turns = 4.0, contraction.TURNS
    assert np.abs(gpu - engine).max() <= turns * largest_product * np.finfo(dtype).eps
