"""What lesson 06 says of a kernel that no cell runs is what the engine and the formulas say."""

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import course  # noqa: E402  # after the wheels that it needs
from autograder.tests.test_quoted_numbers import prose  # noqa: E402
from course.figures import measured  # noqa: E402
from course.tests.tile.kernels import add  # noqa: E402

N = 8192


def sectors(block: int) -> tuple[int, int]:
    x, y, out = torch.randn(N), torch.randn(N), torch.empty(N)
    with course.measure() as traffic:
        add[(triton.cdiv(N, block),)](x, y, out, N, block)
    return traffic.loads.sectors, traffic.stores.sectors


def test_the_friends_kernel_asks_for_a_sector_an_element() -> None:
    loads, stores = sectors(block=1)
    assert f"{loads:,} load sectors and {stores:,} store sectors" in prose("06_hello_triton")


def test_a_block_of_1024_asks_for_an_eighth_of_that() -> None:
    loads, stores = sectors(block=1024)
    assert f"yours shows {loads:,} and {stores:,}" in prose("06_hello_triton")


def test_recomputation_is_paid_at_lesson_00s_exchange_rate() -> None:
    h200 = next(gpu for gpu in measured.GPUS if gpu.name.startswith("H200"))
    assert f"do {h200.operations_a_number:.0f} operations" in prose("06_hello_triton")
