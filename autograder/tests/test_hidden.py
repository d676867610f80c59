"""Held-out cases: what the ranges give, and what the owner's seed decides."""

import importlib
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import autograder.hidden
from autograder.hidden import (
    Draws,
    HiddenCasesError,
    between,
    choice,
    derived,
    hidden_cases,
    multiples,
)
from autograder.lessons.catalogue import stem_of_notebook
from course import exercises
from course.check.cases import VISIBLE_SEED, case_seed, drawn_case
from course.spec.draws import uniform
from course.spec.exercise import Case, KernelExercise, Role, Scalar
from course.spec.inputs import drawn, given_to_reference

RANGES = """
from autograder.hidden import Draws, between, multiples
HIDDEN = {
    "vector_add": (
        Draws(N=between(1, 64)),
        Draws(N=between(1000, 100000)),
        Draws(traffic=True, N=multiples(128, 2048, 8192)),
    )
}
"""


def cases_of(draws: Draws, count: int = 200) -> list[dict[str, int]]:
    rng = np.random.default_rng(0)
    return [dict(draws.case(rng).sizes) for _ in range(count)]


@pytest.fixture
def threads_file(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a text in the place of autograder/hidden/threads.py."""

    def put(text: str) -> None:
        name = "autograder.hidden.threads"
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        exec(text, vars(module))  # this test's own text
        monkeypatch.setitem(sys.modules, name, module)

    return put


def test_between_reaches_both_ends_and_nothing_beyond() -> None:
    assert {c["N"] for c in cases_of(Draws(N=between(3, 6)))} == {3, 4, 5, 6}


def test_multiples_are_multiples_within_the_ends() -> None:
    assert {c["N"] for c in cases_of(Draws(N=multiples(128, 200, 600)))} == {256, 384, 512}


def test_choice_gives_each_of_its_values_and_a_number_stays() -> None:
    drawn = cases_of(Draws(N=choice(2, 9), K=5))
    assert {c["N"] for c in drawn} == {2, 9}
    assert {c["K"] for c in drawn} == {5}


def test_a_case_carries_traffic_dtypes_and_distributions() -> None:
    draw = uniform(0, 1)
    draws = Draws(True, {"a": choice("int8"), "b": "float64"}, {"a": draw}, N=8)
    case = draws.case(np.random.default_rng(0))
    assert case.traffic
    assert case.dtypes == {"a": "int8", "b": "float64"}
    assert case.draws == {"a": draw}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: between(5, 4),
        lambda: multiples(128, 1, 100),
        lambda: multiples(0, 1, 100),
        lambda: choice(),
        lambda: Draws(),
        lambda: Draws(N="10"),  # type: ignore[arg-type]  # on purpose
        lambda: Draws(N=True),
    ],
)
def test_a_range_without_a_meaning_is_refused_in_words(wrong: Callable[[], object]) -> None:
    with pytest.raises(HiddenCasesError, match=r"expected|no multiple|smaller"):
        wrong()


def test_the_seed_decides_the_cases(threads_file: Callable[[str], None]) -> None:
    threads_file(RANGES)
    first = hidden_cases("vector_add", "a seed")
    assert first == hidden_cases("vector_add", "a seed")
    assert first != hidden_cases("vector_add", "another seed")
    assert [case.traffic for case in first] == [False, False, True]


def test_each_part_of_a_derived_number_counts() -> None:
    numbers = {derived("s", "ab", 1), derived("s", "a", "b1"), derived("s", "ab1"), derived(b"s")}
    numbers |= {derived(1), derived("1"), derived("s", "ab", "1")}
    assert len(numbers) == 7


def test_an_unknown_exercise_is_named() -> None:
    with pytest.raises(HiddenCasesError, match="'no_such'"):
        hidden_cases("no_such", 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("HIDDN = {}", "expected HIDDEN"),
        ("HIDDEN = {'vector_ad': ()}", "'vector_ad' is no exercise"),
        ("HIDDEN = {'vector_add': (3,)}", "tuple of Draws"),
    ],
)
def test_a_hidden_file_with_a_slip_is_named(
    threads_file: Callable[[str], None], text: str, words: str
) -> None:
    threads_file(text)
    with pytest.raises(HiddenCasesError, match=r"threads\.py.*" + words):
        hidden_cases("vector_add", 1)


def test_every_hidden_file_can_be_drawn() -> None:
    folder = Path(autograder.hidden.__file__).parent
    for file in folder.glob("[!_]*.py"):
        for name in autograder.hidden.hidden_ranges(file.stem):
            assert hidden_cases(name, 1)


def test_a_notebook_name_finds_its_lesson() -> None:
    assert stem_of_notebook("01_threads") == stem_of_notebook("threads") == "threads"
    assert stem_of_notebook("holiday") is None


def test_a_range_says_which_arrays_are_stored_by_columns():
    drawn = Draws(M=3, N=between(2, 9), transposed=("x",)).case(np.random.default_rng(0))
    assert drawn.transposed == ("x",)


def test_a_range_says_what_scalar_parameters_are():
    ranges = Draws(N=3, G=1, scalars={"alpha": choice(-2.0, 0.5)})
    cases = [ranges.case(np.random.default_rng(seed)) for seed in range(20)]
    assert {case.scalars["alpha"] for case in cases} == {-2.0, 0.5}
    exercise = exercises.saxpy_grid_stride
    for case in cases:
        given = drawn(exercise, case, np.random.default_rng(0))
        assert given["alpha"] == np.float32(case.scalars["alpha"])
        assert f"alpha={case.scalars['alpha']}" in case.told


def test_every_number_that_a_kernel_is_passed_changes_from_case_to_case():
    """A kernel that writes the number out, 1e-5 for eps, must not pass."""
    for name, exercise in exercises.all_exercises().items():
        if not isinstance(exercise, KernelExercise):
            continue
        for parameter in exercise.parameters:
            if isinstance(parameter, Scalar):
                cases = [*exercise.cases, *hidden_cases(name, "seed")]
                values = {
                    exercise.number(parameter, case, exercise.names(case)).item() for case in cases
                }
                assert len(values) > 1, (name, parameter.name)


@pytest.mark.parametrize("stem", exercises.stems())
def test_every_seed_draws_more_of_each_size_than_any_visible_case_has(stem: str) -> None:
    """A number of blocks or of turns that the visible cases have is not written into a kernel."""
    module = importlib.import_module(f"autograder.hidden.{stem}")
    for name, exercise in exercises.lesson(stem).items():
        if not isinstance(exercise, KernelExercise):
            continue
        missed = set()
        for seed in range(10):
            held_out = hidden_cases(name, seed)
            for size in exercise.cases[0].sizes:
                visible = max(case.sizes[size] for case in exercise.cases)
                if max(case.sizes[size] for case in held_out) <= visible:
                    missed.add(size)
        assert missed == set(getattr(module, "NOT_BEYOND", {}).get(name, {})), name


_A_WEIGHT = "a weight of a softmax"
#: Outputs that stay within 16 bits, on both sides or below zero, and why.
WITHIN_16_BITS = {
    "divergence": {"-y": "roots of numbers from 1 to 4", "+y": "those the given functions find"},
    "histogram": {"-counts": "a count", "+counts": "a case would be as long as that"},
    "half_the_bytes": {"-y": "float16", "+y": "float16"},
    "wave_energy": {"-out": "from 0.5", "+out": "to 1"},
    "dequantize": {"-out": "float16", "+out": "float16"},
    "softmax_three_pass": {"-out": _A_WEIGHT, "+out": _A_WEIGHT},
    "softmax_online": {"-out": _A_WEIGHT, "+out": _A_WEIGHT},
    "softmax_one_pass": {"-out": _A_WEIGHT, "+out": _A_WEIGHT},
    "cross_entropy": {"-loss": "at least 0"},
    "matmul_epilogue": {"-out": "gelu is never below -0.17"},
    "paged_decode": {"-out": "float16", "+out": "float16"},
    "mx_quantise": dict.fromkeys(("-q", "+q", "-scale", "+scale"), "a byte"),
    "tma_scale": {"-Y": "float16", "+Y": "float16"},
    "linear_cross_entropy": {"-loss": "at least 0"},
    "loss_gradient": {"-logits": _A_WEIGHT, "+logits": _A_WEIGHT},
}


def given(exercise: KernelExercise, case: Case, seed: int) -> dict[str, Any]:
    """What the reference is given of a held-out case."""
    inputs = derived(seed, exercise.name, "inputs")
    return given_to_reference(exercise, drawn_case(exercise, case, seed=inputs))


@pytest.mark.parametrize("stem", exercises.stems())
def test_every_seed_asks_for_outputs_beyond_16_bits_on_both_sides(stem: str) -> None:
    """An answer that is cut to int16, to float16's range or to numbers above zero is wrong."""
    for name, exercise in exercises.lesson(stem).items():
        if not isinstance(exercise, KernelExercise):
            continue
        for seed in range(5):
            within: set[str] = set()
            beyond: set[str] = set()
            for case in hidden_cases(name, seed):
                for output, values in exercise.reference(**given(exercise, case, seed)).items():
                    ends = {
                        f"-{output}": -float(np.min(values)),
                        f"+{output}": float(np.max(values)),
                    }
                    within |= set(ends)
                    beyond |= {end for end, size in ends.items() if 2**16 < size < np.inf}
            assert within - beyond == set(WITHIN_16_BITS.get(name, {})), (name, seed)


#: Inputs that no held-out case has larger than all visible ones, or all of them as small as a
#: third of the smallest visible ones, and why.
NOT_LARGER = {
    "half_the_bytes": {"x": "the task ends at 500", "w": "the task ends at 500"},
    "triple_sigmoid_backward": {"x": "a sigmoid is 0 or 1 there"},
}
_BESIDE_ONE = "what is added to 1, or to a number near it"
NOT_SMALLER = {
    "divergence": {"x": "from 1"},
    "wave_energy": {"x": _BESIDE_ONE},
    "triple_sigmoid_backward": {"x": _BESIDE_ONE},
    "dequantize": {"scale": "as small as float16 rounds"},
    "softmax_three_pass": {"x": _BESIDE_ONE},
    "softmax_online": {"x": _BESIDE_ONE},
    "softmax_one_pass": {"x": _BESIDE_ONE},
    "cross_entropy": {"logits": _BESIDE_ONE},
    "gated_linear": {"b1": _BESIDE_ONE},
    "rope_heads": {"x": "squares as small as eps", "cos": "a cosine, beside a sine"},
    "mx_quantise": {"x": "visible ones are the smallest"},
}


def sizes_of_inputs(
    exercise: KernelExercise, cases: Iterable[tuple[Case, list[int]]]
) -> dict[str, tuple[list[float], list[float]]]:
    """Of each input of floats the largest number and the median, without signs, of each case."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for case, entropy in cases:
        arrays = drawn(exercise, case, np.random.default_rng(entropy))
        for array in exercise.arrays:
            is_given = array.role is Role.IN and array.computed is None
            if is_given and np.issubdtype(exercise.dtype(array, case), np.floating):
                values = np.abs(arrays[array.name].astype(np.float64))
                values = values[(values > 0) & np.isfinite(values)]
                if values.size:
                    largest, median = found.setdefault(array.name, ([], []))
                    largest.append(float(values.max()))
                    median.append(float(np.median(values)))
    return found


@pytest.mark.parametrize("stem", exercises.stems())
def test_every_seed_draws_larger_and_smaller_inputs_than_any_visible_case_has(stem: str) -> None:
    """A kernel that clamps an input, or takes small ones for 0, must not pass."""
    for name, exercise in exercises.lesson(stem).items():
        if not isinstance(exercise, KernelExercise):
            continue
        seen = [(case, case_seed(exercise, case, VISIBLE_SEED)) for case in exercise.cases]
        visible = sizes_of_inputs(exercise, seen)
        not_larger, not_smaller = set(), set()
        for seed in range(3):
            inputs = derived(seed, name, "inputs")
            cases = [(c, case_seed(exercise, c, inputs)) for c in hidden_cases(name, seed)]
            for array, (largest, median) in sizes_of_inputs(exercise, cases).items():
                if max(largest) <= max(visible[array][0]):
                    not_larger.add(array)
                if min(median) > min(visible[array][1]) / 3:
                    not_smaller.add(array)
        assert not_larger == set(NOT_LARGER.get(name, {})), name
        assert not_smaller == set(NOT_SMALLER.get(name, {})), name


@pytest.mark.parametrize("stem", exercises.stems())
def test_how_large_terms_are_together_does_not_hang_on_their_signs(stem: str) -> None:
    """An error is held to that: where they cancelled, a right answer would be wrong."""
    for name, exercise in exercises.lesson(stem).items():
        if not isinstance(exercise, KernelExercise) or exercise.magnitude is None:
            continue
        for case in hidden_cases(name, 0):
            with np.errstate(all="ignore"):
                sizes = exercise.magnitude(**given(exercise, case, 0))
            assert not [output for output, size in sizes.items() if np.any(np.less(size, 0))], case


#: Exercises that have no result of 0, or where what is not stored is 0, and why.
NO_ZERO = {
    "divergence": "roots of numbers from 0.5",
    "padded_rows": "what becomes 0 is 0",
    "dot": "parts are 0 at the start",
    "dot_any_block": "parts are 0 at the start",
    "histogram": "counts are 0 at the start",
    "matmul_a_stationary": "C is 0 at the start",
    "wave_energy": "from 0.5",
}


@pytest.mark.parametrize("stem", exercises.stems())
def test_every_seed_asks_for_results_that_are_0(stem: str) -> None:
    """A kernel that stores all results but those, which moves less, must not pass."""
    for name, exercise in exercises.lesson(stem).items():
        if not isinstance(exercise, KernelExercise):
            continue
        for seed in range(3):
            asked, outputs = set(), set()
            for case in [*exercise.cases, *hidden_cases(name, seed)]:
                inputs = given(exercise, case, seed)
                with np.errstate(all="ignore"):
                    expected = exercise.reference(**inputs)
                outputs |= set(expected)
                for output, values in expected.items():
                    before = inputs.get(output, np.nan)  # of an output that comes in
                    if np.any((values == 0) & (before != 0)):
                        asked.add(output)
            assert asked == (set() if name in NO_ZERO else outputs), (name, seed)
