"""Triton's solutions and witnesses, all programs at once and one by one: the same to the bit.

One program at a time is the engine's slow path, and the oracle of the fast one. A product of many
matrices adds up in another order than that of one, so here each product is made by itself, on both
paths; nothing else may differ. Then the solutions run again with the products that a learner gets,
and may differ by the order of those sums.

A fault is the same where outcome, sentence and lines are. What was counted up to there is not
compared: it is all programs' work until one of them fails, or the work of those before it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autograder.lessons.catalogue import lessons
from autograder.proof.witness import solutions_of, witnesses_of
from course.check.cases import VISIBLE_SEED
from course.check.stages import Stages
from course.engine.faults import KernelFault
from course.engine.job import Ran, Run
from course.engine.triton.engine import TritonEngine
from course.spec.case_size import case_size
from course.spec.exercise import Case, KernelExercise

pytestmark = [pytest.mark.slow, pytest.mark.family]
#: Cases of up to this many elements: one program at a time, a large one takes minutes.
MOST_ELEMENTS = 70_000
#: Of an output's largest element: how far float32 sums of the same products may be apart, whatever
#: library adds them up. (None of these outputs differed on the machine that this was written on.)
ANOTHER_ORDER = 1e-5
#: Witnesses with two faults, where each path tells the one that its order of programs meets first:
#: all programs together, statement by statement; or the first program, to its end.
TWO_FAULTS = {
    # behind a program's row lies the next one's, and behind the last one nothing
    "dequantize no_mask": ("tile_out_of_bounds", "tile_race"),
    "row_scale rows_of_out_apart_by_their_number": ("tile_race", "tile_race_lanes"),
    "softmax_three_pass no_mask": ("tile_out_of_bounds", "tile_race"),
    "softmax_three_pass store_without_mask": ("tile_out_of_bounds", "tile_race"),
    "softmax_online no_mask": ("tile_out_of_bounds", "tile_race"),
    "softmax_one_pass no_mask": ("tile_out_of_bounds", "tile_race"),
    "flash_forward store_without_mask": ("tile_out_of_bounds", "tile_race"),
    "flash_lse lse_stored_without_mask": ("tile_out_of_bounds", "tile_race"),
    "loss_gradient columns_not_masked": ("tile_out_of_bounds", "tile_race"),
    "loss_gradient store_not_masked": ("tile_out_of_bounds", "tile_race"),
    "paged_decode store_not_masked": ("tile_out_of_bounds", "tile_race"),
    # ... and a tile's row that is cut off goes on in the tile's next row
    "triton_matmul no_mask_on_the_store": ("tile_out_of_bounds", "tile_race_lanes"),
    # the last program strays past x or q, and every one, some lines later, past w or k
    "rmsnorm no_mask": ("tile_out_of_bounds", "tile_out_of_bounds"),
    "flash_forward no_masks": ("tile_out_of_bounds", "tile_out_of_bounds"),
}


def of_kind(solved: bool) -> list[Any]:
    """(exercise, source, name) of every solution, or of every witness."""
    found = []
    for stem, own in lessons().items():
        triton = {e.name: e for e in own if isinstance(e, KernelExercise) and e.dialect == "triton"}
        if not triton:
            continue
        if solved:
            cells = [(name, "solution", source) for name, source in solutions_of(stem).items()]
        else:
            cells = [(w.exercise, w.name, w.source) for w in witnesses_of(stem)]
        for name, label, source in cells:
            if name in triton:
                whole = f"{name} {label}"
                found.append(pytest.param(triton[name], source, whole, id=whole))
    return found


def small_cases(exercise: KernelExercise) -> list[Case]:
    """Those that the oracle runs in seconds; the smallest one where none is."""
    ordered = sorted(exercise.cases, key=lambda case: case_size(exercise, case))
    return [case for case in ordered if case_size(exercise, case) <= MOST_ELEMENTS] or ordered[:1]


def with_a_graded_case(exercise: KernelExercise) -> list[Case]:
    """The small cases, and the smallest one whose traffic is graded."""
    small = small_cases(exercise)
    graded = min(
        (case for case in exercise.cases if case.traffic),
        key=lambda case: case_size(exercise, case),
    )
    return small if graded in small else [*small, graded]


def outcome(
    exercise: KernelExercise, source: str, case: Case, together: int | None
) -> tuple[Any, dict[str, np.ndarray], Any]:
    """(fault or None, arrays, counts by site) of one case."""
    stages = Stages(exercise, source, detailed=False)
    engine = TritonEngine(compiles=False, together=together)

    def uncached(run: Run) -> Ran:  # a model of a cache has its own number of programs
        return engine(replace(run, cache=False))

    try:
        stages._admitted()
        _, ran = stages._launched(case, VISIBLE_SEED, uncached)
    except KernelFault as fault:
        # of two accesses that race, either may be the second one
        lines = {fault.line, fault.fields.get("other_line")} - {None}
        return (fault.outcome, fault.message_id, lines), {}, None
    counts = sorted(
        (s.array, s.direction, s.line, s.column, s.sectors, s.lane_bytes, s.footprint_bytes)
        for s in ran.traffic.sites
    )
    return None, dict(ran.arrays), (counts, ran.traffic.longest_program, ran.traffic.block_bytes)


def one_by_one(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A batched product, each matrix by itself and laid out alike."""
    count = max(len(left), len(right))
    lefts, rights = (np.broadcast_to(m, (count, *m.shape[1:])) for m in (left, right))
    pairs = zip(lefts, rights, strict=True)
    return np.stack([np.ascontiguousarray(a) @ np.ascontiguousarray(b) for a, b in pairs])


def same_to_the_bit(
    exercise: KernelExercise, source: str, cases: Sequence[Case], label: str
) -> None:
    told = set()
    for case in cases:
        fast = outcome(exercise, source, case, None)
        slow = outcome(exercise, source, case, 1)
        if fast[0] is not None and slow[0] is not None and fast[0] != slow[0]:
            told.add((fast[0][1], slow[0][1]))
            continue
        assert fast[0] == slow[0], case.label
        assert fast[2] == slow[2], case.label
        for name, values in fast[1].items():
            # programs whose atomics meet run again in another order where they run together
            if "atomic" in source:
                assert differ_by_an_order(values, slow[1][name]), (case.label, name)
            else:
                assert values.tobytes() == slow[1][name].tobytes(), (case.label, name)
    assert told == ({TWO_FAULTS[label]} if label in TWO_FAULTS else set())


def differ_by_an_order(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether results are equal but for the order of float32 sums, and their own last bit."""
    if want.dtype.kind != "f":
        return np.array_equal(got, want)
    largest = np.abs(want[np.isfinite(want)]).max(initial=0)
    margin = ANOTHER_ORDER * float(largest) + float(np.spacing(largest))
    return np.allclose(got.astype(np.float64), want, rtol=0, atol=margin, equal_nan=True)


@pytest.mark.parametrize(("exercise", "source", "label"), of_kind(solved=True))
def test_both_paths_of_a_solution_agree(
    exercise: KernelExercise, source: str, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course.engine.triton.running.tensor_cores._matmul", one_by_one)
    same_to_the_bit(exercise, source, with_a_graded_case(exercise), label)


@pytest.mark.parametrize(("exercise", "source", "label"), of_kind(solved=False))
def test_both_paths_of_a_witness_agree(
    exercise: KernelExercise, source: str, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course.engine.triton.running.tensor_cores._matmul", one_by_one)
    same_to_the_bit(exercise, source, small_cases(exercise), label)


@pytest.mark.parametrize(("exercise", "source", "label"), of_kind(solved=True))
def test_products_of_all_programs_differ_by_the_order_of_a_sum(
    exercise: KernelExercise, source: str, label: str
) -> None:
    for case in with_a_graded_case(exercise):
        fast = outcome(exercise, source, case, None)
        slow = outcome(exercise, source, case, 1)
        assert fast[0] is None
        assert fast[2] == slow[2], case.label
        for name, values in fast[1].items():
            assert differ_by_an_order(values, slow[1][name]), (case.label, name)
