"""What lessons say about a GPU is what was measured: one number, one place it comes from."""

import re
from pathlib import Path

import pytest

from autograder.tests.quoted import prose
from course import exercises
from course.figures import measured

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"


@pytest.mark.parametrize(
    "quote",
    [
        f"| `to_device`, ordinary host memory | {measured.TO_DEVICE_GB_S:.0f} GB/s |",
        f"| `copy_to_host`, ordinary host memory | {measured.TO_HOST_GB_S:.0f} GB/s |",
        f"host memory (see below) | {measured.PINNED_GB_S:.0f} GB/s |",
        f"while others are under way | {measured.LAUNCH_QUEUED_US:.0f} microseconds |",
        f"until the kernel is done | {measured.LAUNCH_AND_WAIT_US:.0f} microseconds |",
        f"read by a kernel | {1000 * measured.LEVELS[-1].bandwidth_tb_s:,.0f} GB/s |",
        f"one thread takes about {measured.ADD_ONE_THREAD_MS:.0f} ms",
        f"A thread for each takes {measured.ADD_MS} ms",
        f"takes {measured.SAXPY_STRIDE_MS:.3f} ms and the version with chunks "
        f"{measured.SAXPY_CHUNK_MS} ms",
        f"{round(measured.SAXPY_CHUNK_MS / measured.SAXPY_STRIDE_MS)} times as long",
        *(f"| {n} | {a:.2f} ms | {b:.2f} ms |" for n, (a, b) in measured.ROOTS_MS.items()),
    ],
)
def test_lesson_01_quotes_what_was_measured(quote: str) -> None:
    assert quote in prose("01_threads")


def test_lesson_00_works_with_the_data_sheet_of_the_gpu_that_it_names() -> None:
    h200 = next(gpu for gpu in measured.GPUS if gpu.name.startswith("H200"))
    assert f"operations = {h200.tflop_s:.0f}e12 / ({h200.memory_gb_s / 1000}e12 / 4)" in prose(
        "00_start"
    )
    assert h200.operations_a_number == pytest.approx(55.8, abs=0.1)


def test_each_level_further_away_is_slower_and_delivers_less() -> None:
    latencies = [level.latency_ns for level in measured.LEVELS]
    assert latencies == sorted(latencies)
    rates = [level.bandwidth_tb_s for level in measured.LEVELS]
    assert rates == sorted(rates, reverse=True)


def test_a_lessons_table_has_all_of_its_exercises_with_their_minutes() -> None:
    tables = {}
    for path in SOLUTIONS.glob("[0-9]*.py"):
        rows = re.findall(r"^# \| `(\w+)`.*\| (\d+) min \|$", path.read_text(), re.MULTILINE)
        if rows:
            tables[path.stem.partition("_")[2]] = {name: int(minutes) for name, minutes in rows}
    assert len(tables) == 10
    for stem, minutes in tables.items():
        declared = {one.name: one.minutes for one in exercises.lesson(stem).values()}
        assert minutes == declared, stem


def test_the_readme_says_how_many_exercises_there_are_and_how_long_they_take() -> None:
    readme = " ".join((SOLUTIONS.parent / "README.md").read_text(encoding="utf-8").split())
    everything = exercises.all_exercises().values()
    hours = round(sum(one.minutes for one in everything) / 60)
    assert f"{len(everything)} exercises, about {hours} hours" in readme
    core = round(sum(one.minutes for one in everything if one.core) / 60)
    assert sum(one.core for one in everything) == 13
    assert f"thirteen exercises, about {core} hours" in readme


def test_the_headings_of_core_exercises_and_no_others_have_a_star() -> None:
    starred = {
        name
        for lesson in SOLUTIONS.glob("*.py")
        for name in re.findall(r"^# ### Exercise: `(\w+)`.*★", lesson.read_text(), re.MULTILINE)
    }
    assert starred == {e.name for e in exercises.all_exercises().values() if e.core}
