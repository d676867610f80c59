"""Kernels as compiled for an H200 compute what an H200 computed, to the bit."""

import json

import pytest
import torch
import triton
import triton.language as tl

import course
from course.engine.triton.launch import launch
from course.tests.engine.triton.hardware import arithmetic, contraction
from course.tests.families import family

#: Blocks of an output that differ, by case and place, each with what the compiler did.
ELSEWHERE = {
    # The last step to machine code makes two stores under an `if` conditional, and no branch.
    ("under_an_if_and_stored, float32", 0): "the product stands in the block of its sum then",
    # A tensor core rounds what it adds up in its own way.
    ("of_a_dot, float32", 1): "a sum inside a tensor core",
    ("of_a_dot, float32", 2): "a sum inside a tensor core",
}
RECORD = json.loads(contraction.RECORD.read_text(encoding="utf-8"))["results"]


@pytest.mark.parametrize("name", family(RECORD, lambda name: name.partition(", ")[0]))
def test_products_and_sums_are_rounded_as_on_a_gpu(name):
    kernel, dtype = name.split(", ")
    x, y, z = contraction.inputs(contraction.DTYPES[dtype])
    out = torch.zeros(contraction.OUTPUTS * contraction.BLOCK, dtype=x.dtype)
    given = (x, y, z, out, contraction.TURNS, contraction.SCALE)
    named = {"BLOCK": contraction.BLOCK, "num_warps": 1}
    launch(contraction.KERNELS[kernel], given, (1,), named, target=90)
    recorded = torch.frombuffer(bytearray.fromhex(RECORD[name]), dtype=torch.uint8).view(x.dtype)
    made, recorded = (all_of.split(contraction.BLOCK) for all_of in (out, recorded))
    for block in range(contraction.OUTPUTS):
        same = torch.equal(made[block], recorded[contraction.PLACES.get((name, block), block)])
        assert same == ((name, block) not in ELSEWHERE), block


COMPUTED = json.loads(arithmetic.RECORD.read_text(encoding="utf-8"))["results"]


def test_conversions_and_operators_on_bits_give_what_a_gpu_gives():
    with course.measure(target="sm_90"):
        found = dict(arithmetic.results("cpu"))
    assert found.keys() == COMPUTED.keys()
    for name, values in COMPUTED.items():
        if not name.startswith("sum"):  # in another order
            assert found[name] == values, name


@triton.jit
def in_front_of_a_loop(x, out, number, turns, KIND: tl.constexpr):
    i = tl.arange(0, 128)
    a = tl.load(x + i)
    factor = tl.load(x + 128) if KIND == "loaded" else number if KIND == "passed" else 1.7
    product = a * factor
    for turn in range(turns):
        tl.store(out + i + turn * 128, product + tl.load(x + i + turn * 128))


@pytest.mark.parametrize(("kind", "roundings"), [("loaded", 2), ("passed", 1), ("written", 1)])
def test_a_product_moves_into_a_loop_where_a_factor_needs_no_register(kind, roundings):
    # As `nvdisasm` shows of the cubins for sm_80 and sm_90: FMUL and FADD, or FFMA.
    x, out = torch.randn(2 * 128), torch.zeros(2 * 128)
    x[128] = 1.7
    launch(in_front_of_a_loop, (x, out, 1.7, 2), (1,), {"KIND": kind}, target=90)
    a, factor, b = x[:128].double().repeat(2), x[128].double(), x.double()
    product = a * factor if roundings == 1 else (a * factor).float().double()
    assert torch.equal(out, (product + b).float())
