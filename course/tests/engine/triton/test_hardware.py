"""Counts and values of an H200, recorded in `hardware/`, beside the engine's.

Requests and sectors of what warps ask for are held to its counters by
`course/tests/engine/triton/test_compiled_counts.py`.
"""

import json
from functools import cache
from pathlib import Path

import pytest
import torch

from course.engine.triton.launch import launch
from course.engine.triton.running.cache import through_l2
from course.tests.engine.triton import cases
from course.tests.engine.triton.hardware import arithmetic, contraction

EVERY = json.loads((Path(__file__).parent / "hardware" / "h200.json").read_text())["cases"]
ORDERED = {name: row for name, row in EVERY.items() if name.startswith("ordered")}
RECORDED = {name: row for name, row in EVERY.items() if name not in ORDERED}
#: what an H200 has
MULTIPROCESSORS, L2_BYTES = 132, 50 << 20
UNALIGNED = [name for name in RECORDED if name.startswith("unaligned")]
DESCRIPTORS = [name for name in RECORDED if name.startswith("tile_sums")]
ALIGNED = [name for name in RECORDED if name not in UNALIGNED + DESCRIPTORS]


@cache
def case_of(name):
    return cases.RECORDED[name]()


@cache
def traffic_of(name):
    case = case_of(name)
    return launch(case.kernel, case.args, case.grid, case.constants, target=90)


def counts_of(name):
    return RECORDED[name]["counts"]


def test_at_least_twelve_kernels_in_two_sizes_were_recorded():
    kernels = [RECORDED[name]["kernel"] + ("_causal" in name) * "_causal" for name in ALIGNED]
    assert sum(kernels.count(kernel) >= 2 for kernel in set(kernels)) >= 12
    assert set(RECORDED) == set(cases.RECORDED)
    assert set(ORDERED) == set(cases.ORDERED)


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_sectors_through_a_descriptor_are_the_bytes_that_tma_brings(name):
    traffic, counts = traffic_of(name), counts_of(name)
    assert traffic.loads.sectors * 32 == counts["tma_load_bytes"]
    assert all(site.descriptor for site in traffic.sites if site.direction == "load")


@pytest.mark.parametrize("name", UNALIGNED)
def test_graded_sectors_of_an_unaligned_kernel_lie_between_those_of_l2_and_of_l1(name):
    traffic, counts = traffic_of(name).graded(), counts_of(name)
    assert traffic.loads.footprint_bytes <= 32 * counts["l2_read_sectors"]
    assert counts["l2_read_sectors"] <= traffic.loads.sectors <= counts["load_sectors"]
    assert traffic.stores.sectors <= counts["store_sectors"]


@pytest.mark.parametrize("name", [name for name in ALIGNED if "matmul_float32" in name])
def test_a_float32_product_as_tf32_is_off_by_what_it_was_on_the_gpu(name):
    case = cases.RECORDED[name]()
    launch(case.kernel, case.args, case.grid, case.constants)
    (at, expected) = next(iter(case.expected.items()))
    error = (case.args[at].double() - expected.double()).abs() / (1 + expected.double().abs())
    assert float(error.max()) == pytest.approx(RECORDED[name]["difference"], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ordered_matmul group 1", "ordered_matmul group 4"])
def test_the_cache_model_reads_from_dram_what_the_gpu_read(name):
    case, counts = cases.ORDERED[name](), ORDERED[name]["counts"]
    found = through_l2(
        case.kernel, case.args, case.grid, case.constants,
        capacity_bytes=L2_BYTES, multiprocessors=MULTIPROCESSORS,
    )  # fmt: skip
    assert found.traffic.loads.sectors == counts["load_sectors"]
    assert found.dram_read_bytes == pytest.approx(counts["dram_read_bytes"], rel=0.03)
    assert torch.equal(case.args[2], case.expected[2])


def test_each_order_of_programs_made_dram_read_what_the_model_says():
    read = {name: row["counts"]["dram_read_bytes"] for name, row in ORDERED.items()}
    b_bytes = 1024 * 49152 * 2
    for group in (1, 2, 4):  # B comes 4 / group times: an L2 of 50 MB cannot keep its 100 MB
        assert read[f"ordered_matmul group {group}"] == pytest.approx(4 / group * b_bytes, rel=0.03)


def test_results_on_the_gpu_were_those_of_the_reference():
    for name, recorded in RECORDED.items():
        assert recorded["difference"] <= case_of(name).tolerance, name


COMPUTED = json.loads(arithmetic.RECORD.read_text())


@cache
def computed():
    return dict(arithmetic.results("cpu"))


@pytest.mark.parametrize("name", [n for n in COMPUTED["results"] if not n.startswith("sum")])
def test_conversions_and_operators_on_bits_give_what_a_gpu_gives(name):
    assert COMPUTED["values"] == [str(value) for value in arithmetic.VALUES]
    assert computed()[name] == COMPUTED["results"][name]


@pytest.mark.parametrize("dtype", arithmetic.FLOATS[:2], ids=str)
def test_sums_of_16_bits_err_as_much_as_a_gpus(dtype):
    """Both round at each addition, in another order: the errors are of one size, not the same."""
    errors = {"gpu": 0.0, "engine": 0.0, "rounded once": 0.0}
    for name, x in arithmetic.sums(dtype).items():
        gpu, engine = (
            float(every[f"sum of {dtype}, {name}"][0])
            for every in (COMPUTED["results"], computed())
        )
        exact = float(x.double().sum())
        if name == "ones":
            assert gpu == engine == exact
        elif name == "peaks":  # two peaks of float16 overflow; whether inf or nan stays, is order
            assert torch.tensor([gpu, engine]).isfinite().tolist() == [dtype == torch.bfloat16] * 2
        else:
            errors["gpu"] += abs(gpu - exact)
            errors["engine"] += abs(engine - exact)
            errors["rounded once"] += abs(float(x.double().sum().to(dtype)) - exact)
    assert errors["rounded once"] < errors["engine"] < 2 * errors["gpu"]
    assert errors["gpu"] < 2 * errors["engine"]


CONTRACTED = json.loads(contraction.RECORD.read_text())["results"]
#: Blocks of an output that differ, by case and place, each with what the compiler did.
ELSEWHERE = {
    # The last step to machine code makes two stores under an `if` conditional, and no branch.
    ("under_an_if_and_stored, float32", 0): "the product stands in the block of its sum then",
    # A tensor core rounds what it adds up in its own way.
    ("of_a_dot, float32", 1): "a sum inside a tensor core",
    ("of_a_dot, float32", 2): "a sum inside a tensor core",
}


@cache
def contracted():
    return dict(contraction.results("cpu"))


@pytest.mark.parametrize("name", CONTRACTED)
def test_products_and_sums_are_rounded_as_on_a_gpu(name):
    gpu, engine = (bytes.fromhex(every[name]) for every in (CONTRACTED, contracted()))
    size = len(gpu) // contraction.OUTPUTS
    for block in range(contraction.OUTPUTS):
        there = contraction.PLACES.get((name, block), block)
        same = engine[block * size :][:size] == gpu[there * size :][:size]
        assert same == ((name, block) not in ELSEWHERE), block
