"""What lesson 12 says of an H200 is what its record holds, and its arithmetic fits the record."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.hidden import hidden_cases, hidden_ranges
from autograder.hidden.speed_of_light import HELD_OUT
from autograder.hidden.speed_of_light import TILES as HELD_OUT_TILES
from autograder.lessons.source import solved_cells
from autograder.tests.quoted import prose
from course.check.answers import check_number_source
from course.engine.faults import Outcome
from course.exercises import speed_of_light
from course.exercises.speed_of_light import (
    CEILINGS,
    LETTERS,
    LIMITS,
    NEVER_US,
    RECORD,
    REPORTS,
    ROOFLINE,
    SHAPES,
    TILES,
    after_us,
    limiter,
    report,
    tile_arithmetic,
    tile_pick,
)
from course.spec.exercise import case
from course.spec.formula import evaluate
from course.spec.rows import rows_of

ROOT = Path(__file__).resolve().parents[2]
CELLS = solved_cells(ROOT, "speed_of_light")
EVERY_TILE = (*TILES, *HELD_OUT_TILES)


def test_the_times_of_held_out_shapes_are_not_in_the_course() -> None:
    text = Path(speed_of_light.__file__).with_suffix(".json").read_text(encoding="utf-8")
    assert not HELD_OUT.keys() & json.loads(text)["tiles"]["us"].keys()
    for shape in HELD_OUT.values():
        assert str(shape["configurations"])[1:-1] not in text


TAKEN_FROM_THE_TABLE = """\
M = N = K = 4096
BM = 128
BN = BK = WARPS = STAGES = REGISTERS = SPILLS = SHARED = 64
tile_pick = {"time": 0 if (M, N, K, BM, BN, BK, WARPS, STAGES) in (%s,) else 1}
"""


def test_a_table_of_all_that_the_course_tells_picks_nothing_at_a_held_out_shape() -> None:
    best = []
    for shape in range(len(SHAPES)):
        row = min((r for r in TILES if r["SHAPE"] == shape), key=lambda r: r["US"])
        names = ("M", "N", "K", "BM", "BN", "BK", "WARPS", "STAGES")
        best.append(tuple(row[name] for name in names))
    source = TAKEN_FROM_THE_TABLE % ", ".join(map(str, best))
    assert check_number_source(tile_pick, source).outcome is Outcome.PASS
    for seed in range(5):
        held_out = hidden_cases("tile_pick", seed)
        assert check_number_source(tile_pick, source, held_out).outcome is Outcome.WRONG_ANSWER


@pytest.mark.parametrize(
    "quote",
    [
        f"at {RECORD['kernels']['triton_matmul']['TFLOP/s']:.0f} TFLOP/s",
        f"in the same minute, runs at {RECORD['kernels']['triton_matmul']['torch_TFLOP/s']:.0f}.",
        f"to {2 * 4096**3 / after_us('E') / 1e6:.0f}.",
    ],
)
def test_the_lesson_quotes_its_record(quote: str) -> None:
    assert quote in prose("12_speed_of_light")


@pytest.mark.parametrize(
    ("cell", "row"),
    [
        ("own_roofline", ROOFLINE[0]),
        ("limiter", limiter.table[0]),
        ("tile_arithmetic", rows_of(tile_arithmetic, tile_arithmetic.cases[0])[0]),
        ("tile_pick", rows_of(tile_arithmetic, tile_arithmetic.cases[0])[0]),
    ],
)
def test_the_names_of_a_cell_hold_its_first_case(cell: str, row: dict[str, float]) -> None:
    given = dict(re.findall(r"^([A-Z_0-9]+) = ([\d_.]+)", CELLS[cell], re.MULTILINE))
    assert len(given) >= 6
    assert {n: float(v) for n, v in given.items()} == pytest.approx(
        {name: row[name] for name in given}, abs=0.06
    )


@pytest.mark.parametrize("letter", list(LETTERS)[1:])
def test_every_next_step_brought_something(letter: str) -> None:
    assert report(LETTERS[letter][0])["US"] > 1.5 * after_us(letter)


def test_the_add_of_report_a_has_nothing_left_to_win() -> None:
    row = report("triton_add")
    assert row["LEAST_BYTES"] / row["US"] / 1e3 == pytest.approx(CEILINGS["COPY_GB_S"], rel=0.02)


def test_shared_memory_by_arithmetic_is_the_compilers_where_it_is_asked() -> None:
    formula = tile_arithmetic.questions["shared_bytes"].answer
    asked = {
        number
        for draws in hidden_ranges("speed_of_light")["tile_arithmetic"]
        if draws.sizes["SHAPE"] != LIMITS  # those of which no compiler was asked
        for number in draws.sizes["CONFIGURATION"].values
    } | {
        visible.sizes["CONFIGURATION"]
        for visible in tile_arithmetic.cases
        if visible.sizes["SHAPE"] != LIMITS
    }
    assert len(asked) > 20
    for row in EVERY_TILE:
        if row["CONFIGURATION"] in asked:
            assert evaluate(formula, row) == row["SHARED"]


def test_what_does_not_launch_asks_for_more_shared_memory_than_a_block_has() -> None:
    for row in EVERY_TILE:
        assert (row["US"] == NEVER_US) == (row["SHARED"] > 227 * 1024)


def test_no_held_out_report_is_one_that_is_shown() -> None:
    for draws in hidden_ranges("speed_of_light")["limiter"]:
        assert min(draws.sizes["REPORT"].values) > 7
    assert list(REPORTS.values()) == list(range(1, len(REPORTS) + 1))


@pytest.mark.parametrize("shape", range(len(SHAPES) + len(HELD_OUT)))
def test_the_lessons_formula_picks_good_tiles_at_every_recorded_shape(shape: int) -> None:
    there = replace(case(SHAPE=shape), rows=EVERY_TILE)
    verdict = check_number_source(tile_pick, CELLS["tile_pick"], [there])
    assert verdict.outcome is Outcome.PASS


@pytest.mark.parametrize("configuration", range(1, 41))
def test_no_single_configuration_will_do_for_every_shape(configuration: int) -> None:
    within = tile_pick.questions["time"].within
    regrets = [
        max(row["US"] for row in rows if row["CONFIGURATION"] == configuration)
        / min(row["US"] for row in rows)
        for rows in (
            [row for row in EVERY_TILE if row["SHAPE"] == shape]
            for shape in range(len(SHAPES) + len(HELD_OUT))
        )
    ]
    assert max(regrets) > within


def test_lesson_13_prices_stream_k_at_the_rates_of_lesson_12() -> None:
    said = prose("13_modern")
    pieces = 131 * 128 * 128 * 4 * 2
    copy, product = CEILINGS["COPY_GB_S"], CEILINGS["FLOAT16_TFLOP_S"]
    assert f"{pieces / 1e6:.0f} MB in all. A copy's {copy:,.0f} GB/s" in said
    assert f"move them in {pieces / copy / 1e3:.0f} us" in said
    took = 2 * 1536 * 1536 * 4096 / product / 1e6
    assert f"product itself takes {took:.0f} us at the {product:.0f} TFLOP/s" in said
