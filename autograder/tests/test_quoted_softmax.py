"""What lesson 07 says about an H200 is what its counters were recorded to say."""

import pytest

from autograder.tests.quoted import COUNTED, prose
from course.figures import softmax as pictures

KERNELS = {1: "softmax_one_pass", 2: "softmax_online", 3: "softmax_three_pass"}


def counted(passes: int, columns: int) -> pictures.Counted:
    return next(c for c in pictures.COUNTED if (c.passes, c.columns) == (passes, columns))


@pytest.mark.parametrize(("passes", "columns"), [(1, 1024), (2, 1024), (3, 1024), (3, 4096)])
def test_the_counts_of_lesson_07_are_those_of_the_record(passes: int, columns: int) -> None:
    shown = counted(passes, columns)
    seen = COUNTED[f"{KERNELS[passes]} {shown.rows}x{columns}"]["counts"]
    assert (seen["load_sectors"], seen["l2_read_sectors"]) == (shown.requested, shown.l2_reads)
    assert seen["dram_read_bytes"] / 1e6 == pytest.approx(shown.dram_mb, abs=0.0005)


def test_long_rows_were_read_once_a_pass_at_every_level() -> None:
    for passes in (2, 3):
        shown = counted(passes, 131_072)
        assert shown.requested / shown.matrix_sectors == pytest.approx(passes, rel=0.002)
        assert shown.dram_mb / shown.matrix_mb == pytest.approx(passes, rel=0.002)


@pytest.mark.parametrize(
    "quote",
    [
        f"an H200 took {pictures.SMALL_US} us for the first and {pictures.SMALL_US} us for",
        f"the first read {counted(3, 131_072).dram_mb:,.0f} MB from device memory",
        f"and the second {counted(2, 131_072).dram_mb:,.0f}.",
        f"at {100 * pictures.GB_S['one pass'][0] / pictures.COPY_GB_S:.0f} % of a copy",
    ],
)
def test_lesson_07_quotes_what_was_measured(quote: str) -> None:
    assert quote in prose("07_softmax")


def gb_s(kernel: str, columns: int) -> float:
    value = pictures.GB_S[kernel][pictures.COLUMNS.index(columns)]
    assert value is not None
    return value


def test_the_third_pass_costs_5_percent_over_short_rows_and_30_over_long_ones() -> None:
    short, long = pictures.COLUMNS
    assert round(gb_s("two passes", short) / gb_s("three passes", short), 2) == 1.05
    assert round(gb_s("two passes", long) / gb_s("three passes", long), 2) == 1.30
    assert "The third pass costs 5 %" in prose("07_softmax")
    assert "two passes are 1.30 times as fast as three" in prose("07_softmax")
