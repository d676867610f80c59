"""Notes and advice on traffic: by what the accesses are, and only what is sure."""

from dataclasses import replace

import pytest

from course import exercises
from course.check.annotated import LONGEST_LINE, MOST_LINES, source_lines
from course.check.cost import GRADED, traffic_credit, traffic_rows, worst_row
from course.check.waste import advice
from course.engine.traffic import Traffic
from course.spec.exercise import KernelExercise, case
from course.tests.kernels_of_learners import load, site, store
from course.tests.words.verdict_samples import vector_add
from course.words.verdict import Row

CASE = case(True, N=4096)


def judged(*sites):
    traffic = Traffic(sites=list(sites))
    rows = traffic_rows(vector_add, CASE, {}, traffic)
    row = worst_row(rows)
    assert row is not None
    return row, advice(row, traffic)


def rest():
    return [load("b", 512), store("c", 512)]


def test_one_lane_at_a_time_is_told_from_lanes_that_lie_apart():
    row, words = judged(load("a", 4096, used=4, requests=4096), *rest())
    assert row.note == "a load request touches 1 sector and uses 4 of 32 bytes in it"
    assert words.startswith("One lane of a warp asks at a time")
    row, words = judged(load("a", 4096, used=4, requests=128), *rest())
    assert row.note == "a load request touches 32 sectors and uses 4 of 32 bytes in each"
    assert words.startswith("Neighbouring lanes read addresses that lie apart")


def test_half_used_sectors_are_not_called_scattered_lanes():
    _, words = judged(load("a", 1024, used=16, requests=128), *rest())
    assert words.startswith("Part of each sector is moved for nothing")


def test_repeated_loads_name_their_lines():
    row, words = judged(load("a", 512, line=4), load("a", 512, line=9), *rest())
    assert row.note == "each sector is asked for 2 times"
    assert words == "Lines 4 and 9 read a. Could a variable keep what the first got?"


def test_a_loop_that_reads_everything_again_says_how_often():
    again = replace(load("a", 4096), footprint_bytes=512 * 32)
    row, words = judged(again, *rest())
    assert row.note == "each sector is asked for 8 times"
    assert words.startswith("The launch reads each sector of a 8 times.")


def test_a_line_that_reads_what_other_threads_read_is_not_told_to_use_a_variable():
    again = replace(load("a", 3584, line=9), footprint_bytes=512 * 32)
    _, words = judged(load("a", 512, line=4), again, *rest())
    assert words.startswith("The launch reads each sector of a 8 times.")


def test_atomics_are_advised_to_be_fewer():
    _, words = judged(load("a", 512), load("b", 512), site("c", "atomic", 4096, 8, 4, 4096))
    assert words.startswith("Every atomic goes to memory.")


def test_atomics_that_are_few_and_lie_apart_are_not_asked_to_be_fewer():
    apart = site("c", "atomic", 128, 16, 16, 8)  # 64 lanes update every other element
    row = Row("c", "atomic", apart.requested_bytes, apart.lane_bytes + 200.0, 256)
    words = advice(row, Traffic(sites=[apart]))
    assert words.startswith("Part of each sector is moved for nothing. Do neighbouring lanes")


def test_the_row_furthest_over_its_budget_is_named_before_the_total():
    row, _ = judged(load("a", 1024), load("b", 2048), store("c", 512))
    assert (row.array, row.direction) == ("b", "load")


def test_an_array_over_its_budget_is_named_even_where_the_total_is_further_over():
    rows = [Row("a", "load", 48, 32.0, 32), Row("", "total", 320, 32.0, 32)]
    assert worst_row(rows) is rows[0]


@pytest.mark.parametrize(
    ("requested", "credit"), [(32, 1.0), (33, 0.85), (40, 0.85), (41, 0.7), (64, 0.7), (65, 0.6)]
)
def test_a_band_of_credit_includes_its_end(requested, credit):
    assert traffic_credit([Row("a", "load", requested, 32.0, 32)]) == credit


@pytest.mark.parametrize("names", [{}, {"x": "a"}])
def test_renaming_moves_sites_and_footprints(names):
    before = Traffic(sites=[load("x", 4)], footprints={("x", "load"): 128})
    after = before.renamed(names)
    name = names.get("x", "x")
    assert after.sites[0].array == name
    assert after.footprints == {(name, "load"): 128}
    assert before.sites[0].array == "x"


def test_sites_of_one_line_are_added_up_by_array_and_direction():
    traffic = Traffic(sites=[store("c", 4, line=2), load("a", 4, line=2), load("a", 8, line=2)])
    (line,) = source_lines("\nc[i] = a[i] + a[i + 1]\n", 2, 2, traffic, [])
    assert [(a.direction, a.array, a.requested_bytes) for a in line.accesses] == [
        ("load", "a", 384),
        ("store", "c", 128),
    ]
    assert line.accesses[0].sectors_a_request == 4.0


def test_of_very_many_lines_those_that_matter_are_shown_and_the_others_counted():
    source = "\n".join(f"line {n}" for n in range(1, 10_001))
    traffic = Traffic(sites=[load("a", 4, line=5000), store("c", 4, line=9000)])
    lines = source_lines(source, 1, 10_000, traffic, [7000])
    assert len(lines) <= MOST_LINES + 4
    assert [n.number for n in lines if n.accesses] == [5000, 9000]
    assert [n.code for n in lines if n.marked] == ["line 7000"]
    hidden = [n.code for n in lines if n.code.startswith("…")]
    assert hidden[-1] == "… 1,000 more lines"
    counted = sum(int(code.split()[1].replace(",", "")) for code in hidden)
    assert counted + MOST_LINES == 10_000


def test_marked_lines_that_are_left_out_are_counted_as_marked():
    source = "x\n" * 1000
    lines = source_lines(source, 1, 1000, None, range(1, 1001))
    assert [n.marked for n in lines] == [True] * (MOST_LINES + 1)
    assert lines[-1].code == f"… {1000 - MOST_LINES} more lines"


def test_a_line_without_end_is_cut():
    (line,) = source_lines("x" * 10**5, 1, 1, None, [])
    assert len(line.code) == LONGEST_LINE
    assert line.code.endswith("x…")


def test_a_line_with_traffic_outside_the_kernel_is_shown_too():
    traffic = Traffic(sites=[load("a", 4, line=1)])
    lines = source_lines("return x[i]\n\n\ndef k(x):\n    pass\n", 4, 5, traffic, [])
    assert [line.number for line in lines] == [1, 4, 5]


@pytest.mark.parametrize("name", ["flash_forward", "flash_causal", "flash_gqa"])
def test_shared_memory_of_a_tile_is_bounded_on_marked_cases_alone(name: str) -> None:
    exercise = exercises.all_exercises()[name]
    assert isinstance(exercise, KernelExercise)
    kind = next(k for k in GRADED if (k.dialect, k.count) == ("triton", "shared_bytes"))
    limits = {(c.traffic, kind.most(exercise, c, {}, Traffic())) for c in exercise.cases}
    assert limits == {(True, 65536), (False, None)}
