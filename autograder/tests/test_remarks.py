"""Slips in exercises of numbers that a word is said to: each entry alone, the others left out."""

import pytest

from course.check.answers import check_number_source
from course.exercises import lesson
from course.spec.exercise import NumberExercise
from course.spec.rows import rows_of, seen_by_learner

PEAK, SHEET = "FLOP / PEAK_TFLOP_S / 10**6", "BYTES / 4800 / 10**3"
MMA, EXP = "4 * BM * BN * D / MMA", "BM * BN / EXP"


@pytest.mark.parametrize(
    ("stem", "exercise", "entry", "answer", "said"),
    [
        ("speed_of_light", "own_roofline", "least_us", f"max({PEAK}, {SHEET})", "data sheet's"),
        ("speed_of_light", "own_roofline", "of_roof", f"max({PEAK}, {SHEET}) / US", "data sheet's"),
        ("speed_of_light", "read_profile", "A_step", "4", "No element is used twice"),
        ("speed_of_light", "read_profile", "A_step", "1", "SM stands at 6 percent"),
        ("speed_of_light", "read_profile", "B_limit", "2", "Most SMs have no block"),
        ("speed_of_light", "read_profile", "C_step", "5", "they spill"),
        ("speed_of_light", "read_profile", "D_step", "6", "More than fifteen waves"),
        ("speed_of_light", "read_profile", "E_step", "1", "SM stands at 46 percent"),
        ("speed_of_light", "read_profile", "F_step", "4", "L2 stands at 7 percent"),
        ("speed_of_light", "broken_benchmark", "P_repair", "5", "It waits"),
        ("speed_of_light", "broken_benchmark", "S_repair", "5", "It waits"),
        ("speed_of_light", "broken_benchmark", "T_repair", "1", "this was done"),
        (
            "speed_of_light", "limiter", "limit",
            "5 if WAVES < 1 else 6 if LOCAL_SECTORS > 10**6 else 1 if DRAM > 50 else "
            "2 if L2 > 50 else 3 if L1 > 50 else 4 if SM > 50 else 7",
            "L1 is not near its peak",
        ),
        (
            "speed_of_light", "limiter", "limit",
            "5 if WAVES < 1 else 6 if LOCAL_SECTORS > 10**6 else 1 if DRAM > 90 else "
            "2 if L2 > 90 else 3 if L1 > 90 else 4 if SM > 90 else 7",
            "One unit is full",
        ),
        ("modern", "flash_clocks", "polynomials", f"max(0, 1 - ({EXP}) / ({MMA}))", "Turn it over"),
        ("modern", "what_dot_became", "mma_a_warp", "BM * BN * BK / (16 * 8 * 8) / WARPS", "k16"),
        ("modern", "what_dot_became", "tcgen05", "BM * BK / (128 * 8)", "its k is 16"),
    ],
)  # fmt: skip
def test_a_slip_in_numbers_gets_its_word(
    stem: str, exercise: str, entry: str, answer: str, said: str
) -> None:
    asked = lesson(stem)[exercise]
    assert isinstance(asked, NumberExercise)
    names = seen_by_learner(asked, rows_of(asked, asked.cases[0])[0])
    given = [f"{name} = {value!r}" for name, value in names.items()]
    cell = "\n".join([*given, f'{exercise} = {{"{entry}": {answer}}}'])
    verdict = check_number_source(asked, cell)
    assert said in next(one.remark for one in verdict.entries if one.key == entry)
