"""Kernels as compiled for an H200 compute what an H200 computed, to the bit."""

import json

import pytest

pytest.importorskip("triton", reason="Triton has no wheel for this system")

import torch

import course
from course.engine.triton.launch import launch
from course.tests.engine.tile.hardware import arithmetic, contraction

#: Blocks of an output that differ, by case and place, each with what the compiler did.
ELSEWHERE = {
    # The last step to machine code makes two stores under an `if` conditional, and no branch.
    ("under_an_if_and_stored, float32", 0): "the product stands in the block of its sum then",
    # A tensor core rounds what it adds up in its own way.
    ("of_a_dot, float32", 1): "a sum inside a tensor core",
    ("of_a_dot, float32", 2): "a sum inside a tensor core",
}
RECORD = json.loads(contraction.RECORD.read_text(encoding="utf-8"))["results"]


@pytest.mark.family
@pytest.mark.parametrize("name", RECORD)
def test_products_and_sums_are_rounded_as_on_a_gpu(name):
    kernel, dtype = name.split(", ")
    x, y, z = contraction.inputs(contraction.DTYPES[dtype])
    out = torch.zeros(contraction.OUTPUTS * contraction.BLOCK, dtype=x.dtype)
    given = (x, y, z, out, contraction.TURNS, contraction.SCALE)
    named = {"BLOCK": contraction.BLOCK, "num_warps": 1}
    launch(contraction.KERNELS[kernel], given, (1,), named, 90)
    recorded = torch.frombuffer(bytearray.fromhex(RECORD[name]), dtype=torch.uint8).view(x.dtype)
    for block in range(contraction.OUTPUTS):
        part = slice(block * contraction.BLOCK, (block + 1) * contraction.BLOCK)
        same = torch.equal(out[part], recorded[part])
        assert same == ((name, block) not in ELSEWHERE), block


COMPUTED = json.loads(arithmetic.RECORD.read_text(encoding="utf-8"))["results"]


def test_conversions_and_operators_on_bits_give_what_a_gpu_gives():
    with course.measure(target="sm_90"):
        found = dict(arithmetic.results("cpu"))
    assert found.keys() == COMPUTED.keys()
    for name, values in COMPUTED.items():
        if not name.startswith("sum"):  # in another order
            assert found[name] == values, name
