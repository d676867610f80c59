"""What lesson 06 says of a kernel that no cell runs is what the engine and the formulas say."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import course  # noqa: E402  # after the wheels that it needs
from autograder.tests.test_quoted_numbers import prose  # noqa: E402
from course.figures import measured  # noqa: E402
from course.tests.engine.tile.kernels import add  # noqa: E402

N = 8192
LESSON = "06_hello_triton"
ROOT = Path(__file__).resolve().parents[2]


def sectors(block: int) -> tuple[int, int]:
    x, y, out = torch.randn(N), torch.randn(N), torch.empty(N)
    with course.measure() as traffic:
        add[(triton.cdiv(N, block),)](x, y, out, N, block)
    return traffic.loads.sectors, traffic.stores.sectors


def test_the_friends_kernel_asks_for_a_sector_an_element() -> None:
    loads, stores = sectors(block=1)
    assert f"{loads:,} load sectors and {stores:,} store sectors" in prose(LESSON)


def test_a_block_of_1024_asks_for_an_eighth_of_that() -> None:
    loads, stores = sectors(block=1024)
    assert f"yours shows {loads:,} and {stores:,}" in prose(LESSON)


def test_recomputation_is_paid_at_lesson_00s_exchange_rate() -> None:
    h200 = next(gpu for gpu in measured.GPUS if gpu.name.startswith("H200"))
    assert f"do {h200.operations_a_number:.0f} operations" in prose(LESSON)


def test_what_l1_counts_beyond_the_meter_is_the_record() -> None:
    path = ROOT / "course/tests/engine/tile/hardware/h200.json"
    counts = json.loads(path.read_text())["cases"]["unaligned add 16421"]["counts"]
    assert f"L1 count {counts['load_sectors']:,} load sectors. L2 counted " in prose(LESSON)
    assert f"L2 counted {counts['l2_read_sectors']:,}, as the meter does" in prose(LESSON)
    assert counts["load_sectors"] == 2 * counts["l2_read_sectors"]
    assert "with two numbers a lane, it counted twice the sectors" in prose("08_norms")
