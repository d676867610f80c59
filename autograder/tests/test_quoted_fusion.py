"""What lesson 09 says of an H200 is what was recorded there, and its sums come out."""

from autograder.tests.quoted import COUNTED, prose

LESSON = "09_fusion"


def test_the_load_sectors_of_a_product_are_those_that_the_counters_showed():
    counted = COUNTED["matmul_float16 256"]["counts"]["load_sectors"]
    assert f"hardware counters of an H200 said {counted:,} too" in prose(LESSON)


def test_the_error_of_tf32_is_the_recorded_one():
    off = COUNTED["matmul_float32 512"]["difference"]
    assert f"{100 * off:.1f} % off that way (K = 512" in prose(LESSON)


def test_what_fusing_saves_follows_from_the_counts():
    def ratio(k):
        return (3 * k / 64 + 11) / (3 * k / 64 + 1)

    assert f"At K = 512 six kernels ask for {ratio(512):.1f} times" in prose(LESSON)
    assert f"at K = 4096 for {ratio(4096):.2f} times" in prose(LESSON)


def test_panels_of_a_wave_are_a_row_and_a_rectangle():
    assert f"132 programs in a row need {1 + 132} panels, 11 rows of 12 need {11 + 12}" in prose(
        LESSON
    )
