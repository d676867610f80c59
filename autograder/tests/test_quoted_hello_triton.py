"""What lesson 06 says of a kernel that no cell runs is what the engine and the formulas say."""

import torch
import triton

import course
from autograder.tests.quoted import COUNTED, prose
from course.engine.traffic import Traffic
from course.figures import measured
from course.tests.engine.triton.kernels import add

N = 8192
LESSON = "06_hello_triton"


def measured_add(block: int) -> Traffic:
    x, y, out = torch.randn(N), torch.randn(N), torch.empty(N)
    with course.measure() as traffic:
        add[(triton.cdiv(N, block),)](x, y, out, N, block)
    return traffic


def test_the_friends_kernel_asks_for_a_sector_an_element_and_l1_counts_each_warps() -> None:
    traffic = measured_add(block=1)
    each_once = traffic.graded()
    assert (
        f"{each_once.loads.sectors:,} load sectors and {each_once.stores.sectors:,} store sectors"
    ) in prose(LESSON)
    assert f"L1 counts {traffic.loads.sectors:,} for the friend's loads" in prose(LESSON)
    assert traffic.loads.sectors == 4 * each_once.loads.sectors


def test_a_block_of_1024_asks_for_an_eighth_of_that() -> None:
    each_once = measured_add(block=1024).graded()
    assert f"yours shows {each_once.loads.sectors:,} and {each_once.stores.sectors:,}" in prose(
        LESSON
    )


def test_recomputation_is_paid_at_lesson_00s_exchange_rate() -> None:
    h200 = next(gpu for gpu in measured.GPUS if gpu.name.startswith("H200"))
    assert f"do {h200.operations_a_number:.0f} operations" in prose(LESSON)


def test_what_l1_counts_beyond_a_blocks_sectors_is_the_record_and_is_measured() -> None:
    counts = COUNTED["unaligned add 16421"]["counts"]
    assert f"L1 count {counts['load_sectors']:,} load sectors, as the meter does" in prose(LESSON)
    assert f"L2 counted {counts['l2_read_sectors']:,}." in prose(LESSON)
    x, y, out = torch.randn(16_421), torch.randn(16_421), torch.empty(16_421)
    with course.measure() as traffic:
        add[(triton.cdiv(16_421, 256),)](x, y, out, 16_421, 256)
    assert traffic.loads.sectors == counts["load_sectors"] == 2 * counts["l2_read_sectors"]
    assert traffic.graded().loads.sectors == counts["l2_read_sectors"]
