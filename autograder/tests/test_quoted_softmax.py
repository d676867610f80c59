"""What lesson 07 says about an H200 is what its counters and clocks were recorded to say."""

import pytest

from autograder.tests.quoted import COUNTED, prose
from course.figures import softmax as pictures

KERNELS = {
    "one pass": "softmax_one_pass",
    "two passes": "softmax_online",
    "three passes": "softmax_three_pass",
}
LONG = {c.kernel: c for c in pictures.COUNTED if c.columns == 131_072}


def test_another_run_counted_the_same() -> None:
    shown = [c for c in pictures.COUNTED if c.columns < 131_072]
    assert len(shown) == 4
    for one in shown:
        seen = COUNTED[f"{KERNELS[one.kernel]} {one.rows}x{one.columns}"]["counts"]
        assert (seen["load_sectors"], seen["l2_read_sectors"]) == (one.requested, one.l2_reads)
        assert seen["dram_read_bytes"] / 1e6 == pytest.approx(one.dram_mb, abs=0.005)


@pytest.mark.parametrize(("kernel", "passes"), [("two passes", 2), ("three passes", 3)])
def test_long_rows_were_read_once_a_pass_at_every_level(kernel: str, passes: int) -> None:
    shown = LONG[kernel]
    assert shown.requested / shown.matrix_sectors == pytest.approx(passes, rel=0.002)
    assert shown.dram_mb / shown.matrix_mb == pytest.approx(passes, rel=0.002)


def faster(columns: int) -> float:
    """How much two passes are ahead of three."""
    return pictures.GB_S[columns]["two passes"] / pictures.GB_S[columns]["three passes"]


SHORT = {c.kernel: f"{c.us:.1f}" for c in pictures.SMALL}
ONE_PASS = [pictures.GB_S[columns]["one pass"] for columns in pictures.COLUMNS]


@pytest.mark.parametrize(
    "quote",
    [
        f"an H200 took {SHORT['three passes']} us for the first and {SHORT['two passes']} us for",
        f"the first read {LONG['three passes'].dram_mb:,.0f} MB from device memory",
        f"and the second {LONG['two passes'].dram_mb:,.0f}.",
        f"Two passes are {faster(8192):.2f} times as fast as three",
        f"Now it is {faster(32_768):.2f} times.",
        f"two passes are {100 * faster(32_768) - 100:.0f} % faster",
        f"at {100 * ONE_PASS[0] / pictures.COPY_GB_S:.0f} % of a copy",
        f"the same kernel comes to {ONE_PASS[1]:,} GB/s",
    ],
)
def test_lesson_07_quotes_what_was_measured(quote: str) -> None:
    assert quote in prose("07_softmax")
