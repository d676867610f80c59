"""What lessons 02 and 05 say about an H200 is what the records beside `course.gpu` hold."""

import pytest

from autograder.tests.quoted import prose
from course.exercises.coalescing import cache_rescue
from course.exercises.roofline import EXCHANGE_US, GRAPH_US, PINNED_COPY_US, PROFILES
from course.figures.roofline_waves import modelled_tflop_s
from course.gpu.recorded import counts, recorded

ROOFLINE = recorded("h200_roofline")


def rounded_us(kernel: str) -> int:
    return round(counts(kernel)["duration_ns"] / 1000)


def swept(k: int) -> dict[str, float]:
    return next(row for row in ROOFLINE["sweep"]["rows"] if row["k"] == k)


def tflop_s(row: dict[str, float], column: str, operations: int) -> float:
    return operations * row["k"] * ROOFLINE["sweep"]["elements"] / row[column] / 1e6


@pytest.mark.parametrize(
    "quote",
    [
        f"An H200 takes {rounded_us('copy')} microseconds",
        f"4.2 million, and takes {rounded_us('copy_stride_8')} microseconds",
        f"the same {counts('copy')['dram_read_bytes'] / 1e6:.0f} MB",
        f"{counts('copy_stride_32')['load_sectors']:,} sectors were requested",
        f"DRAM read {counts('copy_stride_32')['dram_read_bytes'] / 1e6:.1f} MB",
    ],
)
def test_lesson_02_quotes_the_record(quote: str) -> None:
    assert quote in prose("02_coalescing")


def test_lesson_02_quotes_what_l2_fetches_at_a_time() -> None:
    counted = recorded("h200_l2")["counted"]
    read = [f"{counted[size]['dram_read_bytes'] / 1e6:.1f}" for size in ("32", "64", "128")]
    assert counted["as_found"]["dram_read_bytes"] == pytest.approx(67.1e6, rel=0.001)
    assert f"DRAM deliver {read[0]}, {read[1]} and {read[2]} MB" in prose("02_coalescing")


def test_lesson_02_tells_how_much_longer_a_thread_a_row_took() -> None:
    # counters are read with free clocks: a time moves by some microseconds from run to run
    assert rounded_us("row_sum_thread_large") == pytest.approx(380, rel=0.02)
    assert rounded_us("row_sum_warp_large") == pytest.approx(81, rel=0.03)
    assert "takes 380 us instead of 81" in prose("02_coalescing")


def test_misaligned_tile_rows_asked_for_39_sectors_in_32_and_took_about_5_percent_longer() -> None:
    aligned, odd = counts("tile_rows_aligned"), counts("tile_rows_pitch_4097")
    assert odd["load_sectors"] / aligned["load_sectors"] == 39 / 32
    assert odd["duration_ns"] / aligned["duration_ns"] == pytest.approx(1.05, abs=0.02)


def test_the_numbers_given_to_cache_rescue_are_those_of_the_record() -> None:
    seen = counts("points_direct")
    assert cache_rescue.given["L2_SECTORS"] == pytest.approx(seen["l2_read_sectors"], rel=0.02)
    assert cache_rescue.given["N"] / 32 * 36 == seen["load_sectors"]


@pytest.mark.parametrize(
    ("letter", "part"),
    [("A", "compute"), ("B", "memory"), ("C", "launch"), ("D", "input"), ("E", "network")],
)
def test_a_profile_of_lesson_05_is_its_record_rounded(letter: str, part: str) -> None:
    names = {"dram": "dram_bytes", "host": "host_bytes", "network": "network_bytes"}
    for name, value in PROFILES[letter].items():
        assert value == pytest.approx(ROOFLINE[part][names.get(name, name)], rel=0.006)


def test_the_remedies_of_lesson_05_are_recorded() -> None:
    assert pytest.approx(ROOFLINE["launch"]["graph_us"], rel=0.006) == GRAPH_US
    assert pytest.approx(ROOFLINE["input"]["copy_pinned_us"], rel=0.006) == PINNED_COPY_US
    assert pytest.approx(ROOFLINE["network"]["exchange_us"], rel=0.006) == EXCHANGE_US


@pytest.mark.parametrize(
    "quote",
    [
        f"16 steps take {swept(16)['four_us'] / 1000:.2f} ms where 1 step takes "
        f"{swept(1)['four_us'] / 1000:.2f}",
        f"The tuned kernel reaches {tflop_s(swept(1024), 'four_us', 2):.0f} TFLOP/s, "
        f"{100 * tflop_s(swept(1024), 'four_us', 2) / 67:.0f} % of the box",
        f"and reaches {tflop_s(swept(1024), 'four_products_us', 1):.0f}.",
        f"it is {tflop_s(swept(1024), 'plain_us', 2):.1f} TFLOP/s, a ninth of the peak",
        f"reads {ROOFLINE['flight'][0]['one_load_gb_s']:.0f} GB/s",
    ],
)
def test_lesson_05_quotes_the_record(quote: str) -> None:
    assert quote in prose("05_roofline")


def test_latency_times_bandwidth_predicts_what_few_warps_read() -> None:
    for row in ROOFLINE["flight"][:5]:
        predicted = 132 * row["warps_per_sm"] * 128 / 400
        assert row["one_load_gb_s"] == pytest.approx(predicted, rel=0.05)


def test_an_odd_size_costs_a_matmul_more_than_a_factor_of_five() -> None:
    rate = {row["n"]: row["n"] ** 3 / row["us"] for row in ROOFLINE["waves"]}
    assert rate[4096] / rate[4097] > 5
    assert rate[4096] / rate[4098] > 3


def test_the_model_of_an_a100_halves_its_speed_where_the_second_wave_begins() -> None:
    one_wave, two_waves = modelled_tflop_s(1792, 8), modelled_tflop_s(1800, 8)
    assert two_waves / one_wave == pytest.approx(0.5, abs=0.04)
    assert modelled_tflop_s(4090, 2) < modelled_tflop_s(4088, 8) / 3
