"""The engine's counts and results beside what an H200 counted and computed (h200.json)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from course.engine.traffic import Traffic
from course.notebook.numba_launches import run_on_engine
from course.tests.engine.faults import raised

from .cases import Case, View
from .kernels import BOOKS, BY_NAME, VALUES

HERE = Path(__file__).parent
RECORDED: dict[str, Any] = json.loads((HERE / "h200.json").read_text())["cases"]
OUTPUTS = np.load(HERE / "h200.npz")
COUNTED = [c.name for module in BOOKS for c in module.book.cases if c.name in RECORDED]
VALUED = [c.name for module in VALUES for c in module.book.cases if c.name in RECORDED]

#: What the engine refuses on purpose, with the words' id.
REFUSED = {
    # Two threads store to one cell without an atomic: a race, even of equal values.
    "one_address_store": "race_global_same_value",
    # Numba counts from the end; the course takes `x[-1 - i]` for the mistake that it nearly always
    # is, and only a constant for what is meant.
    "index_negative": "negative_index",
    # Numba ends the thread in silence.
    "value_range_zero_step_int64_int64": "zero_step",
    "value_range_zero_step_int32_int32": "zero_step",
}
#: Counts that timing decides: an atomic without an instruction of its own retries until no
#: other thread was faster. The GPU does not repeat these numbers itself.
UNREPEATABLE = {
    *(f"atomic_{op}_{dtype}" for op in ("max", "min", "sub") for dtype in ("float32", "float64")),
    "atomic_add_scatter_permuted",  # 418 sectors once, 421 the next time
}
#: Counts that differ, each with what the compiler did that the rule does not follow.
EXPLAINED = {
    # ptxas splits the unrolled part of these two again, into sixteens, eights and fours.
    "unroll_step_two": "parts of 16, 8, 4 and 1 turns",
    "unroll_while_down": "parts of 16, 8, 4 and 1 turns",
    # CPython copies a short last block behind both sides of `A if c else B`, so each side has
    # a store of its own. Not in Python 3.11, and not behind a guard or into a name.
    "merge_ternary_same": "the store stands twice",
    "merge_relu_ternary": "the store stands twice",
    "merge_ternary_two": "the store stands twice, and so do the loads",
    "merge_chained_comparison": "the store stands twice",
    # Behind a guard, or any other load, the compiler does move it up.
    "branch_else_behind_products_in_a_loop": "the assembler makes one way of two in some turns",
    "branch_stored_on_one_way": "the load behind a branch that the kernel begins with stays there",
    # Lanes that come to one side of a branch by two ways may make it one after the other.
    **dict.fromkeys(
        (
            "branch_or_of_loads_stores_else",
            "branch_and_of_or_stores_else",
            "branch_or_of_loads_in_a_guard",
            "branch_or_of_loads_more_behind",
        ),
        "a load behind an `or` and an `and`: a side is made once for each way to it",
    ),
    "branch_later_into_no_loop": "the assembler loads it behind the question for a first turn",
    "branch_returned_or_not_in_a_guard": "what two of three ways hold is loaded again",
    # The value stored is the value that is there: the compiler drops load and store.
    "merge_store_itself": "a store of what is there",
    "merge_store_back": "a store of what is there",
    # The value is computed and overwritten before it is used.
    "merge_dead_load_loop": "only the last turn's value is used",
    "merge_integer_times_zero": "0 times an integer is 0",
}
#: Results that differ, each with the reason.
EXPLAINED_VALUES = {
    # Only an arithmetic unit of 16 bits would wrap -(-32768); the GPU has none.
    "value_arithmetic_int16_int16": "abs(-32768) is not wrapped",
    "value_arithmetic_int16_float64": "abs(-32768) is not wrapped",
    # A conversion that is out of range is undefined; the GPU keeps 16 bits in a register.
    "value_cast_float32": "uint8(x) out of range",
    "value_cast_float64": "uint8(x) out of range",
    "value_round_float32": "uint8(x) out of range",
    "value_round_float64": "uint8(x) out of range",
    # The GPU's double-precision power is 1 ulp under 3.0 here, and int() cuts it.
    "value_power_float64_float64": "pow is 1 ulp low",
    "value_power_int32_float32": "pow is 1 ulp low",
    # 2**63 as an int64 is undefined in LLVM.
    "value_literals_int32": "2**63 added to an integer",
    "value_literals_int64": "2**63 added to an integer",
    # float16 is kept in float32 between two operations, so a rounding is saved.
    "value_arithmetic_float16_float16": "one rounding fewer",
    "value_division_float16_float16": "one rounding fewer",
    # a - trunc(a / b) * b of a large quotient is all rounding error.
    "value_division_float64_float64": "a remainder of 1e15 times the divisor",
    "value_division_float32_float64": "a remainder of 1e15 times the divisor",
    "value_division_uint64_float32": "a remainder of 1e15 times the divisor",
    "value_division_int16_float64": "a remainder of 1e15 times the divisor",
}


def arguments(case: Case) -> list[Any]:
    return [a.pick(a.base) if isinstance(a, View) else a for a in case.make()]


def run(case: Case) -> tuple[Traffic, list[Any]]:
    recorded = RECORDED[case.name]
    args = arguments(case)
    grid, block = tuple(recorded["grid"]), tuple(recorded["block"])
    return run_on_engine(case.kernel, args, grid, block, case.shared, printing=False), args


def counts(traffic: Traffic) -> dict[str, int | None]:
    return {
        "load requests": traffic.loads.requests,
        "load sectors": traffic.loads.sectors,
        "store requests": traffic.stores.requests,
        "store sectors": traffic.stores.sectors,
        "atomic requests": traffic.atomics.requests,
        "atomic sectors": traffic.atomics.sectors,
    }


def hardware_counts(name: str) -> dict[str, int]:
    recorded = RECORDED[name]["counts"]
    found = {
        f"{kind} {what}": recorded.get(f"{kind}_{what}", 0)
        for kind in ("load", "store", "atomic")
        for what in ("requests", "sectors")
    }
    for what in ("requests", "sectors"):
        found[f"atomic {what}"] += recorded.get(f"reduction_{what}", 0)
    return found


@pytest.mark.parametrize("name", [name for name in COUNTED if name.startswith("complex_")])
def test_complex_numbers_are_the_hardware_s_to_the_last_bit(name: str) -> None:
    case = BY_NAME[name]
    for got, wanted in outputs(case, run(case)[1]):
        exact = slice(5 if "arithmetic" in name else None)  # behind these `abs`, a hypotenuse
        assert np.array_equal(got[exact], wanted[exact])


@pytest.mark.parametrize("name", COUNTED)
def test_requests_sectors_and_results_equal_the_hardware_s(name: str) -> None:
    case = BY_NAME[name]
    if name in REFUSED:
        assert raised(run, case).message_id == REFUSED[name]
        return
    traffic, args = run(case)
    if name in UNREPEATABLE:
        assert traffic.atomics.requests
        atomics = ("atomic requests", "atomic sectors")
        found, recorded = counts(traffic), hardware_counts(name)
        assert all(found[what] == recorded[what] for what in found if what not in atomics)
    elif name in EXPLAINED:
        assert counts(traffic) != hardware_counts(name), "it agrees now: take it off the list"
    else:
        assert counts(traffic) == hardware_counts(name)
    for got, wanted in outputs(case, args):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def outputs(case: Case, args: list[Any]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(ours, the GPU's), of each output that was recorded."""
    for position in case.outputs:
        key = f"{case.name}.{position}"
        if key in OUTPUTS.files:
            wanted, got = OUTPUTS[key], np.asarray(args[position])
            assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
            yield got, wanted


def test_at_least_95_of_100_kernels_are_counted_exactly() -> None:
    decided = [n for n in COUNTED if n not in UNREPEATABLE and n not in REFUSED]
    exact = [name for name in decided if name not in EXPLAINED]
    assert len(exact) / len(decided) >= 0.95
    assert len(decided) > 400


def worst_error(got: np.ndarray, wanted: np.ndarray, precision: str) -> float:
    """The largest difference, in units of `precision` in the last place of the wanted value."""
    same = (got == wanted) | ((got != got) & (wanted != wanted))
    if same.all():
        return 0.0
    if wanted.dtype.kind != "f":
        return np.inf
    with np.errstate(all="ignore"):
        spacing = np.spacing(np.abs(wanted.astype(precision))).astype(np.float64)
        error = np.abs(got.astype(np.float64) - wanted.astype(np.float64)) / spacing
    error[same] = 0
    return float(np.nan_to_num(error, nan=np.inf, posinf=np.inf).max())


def ulps(name: str) -> float:
    """How many units in the last place a case's floats may be off.

    A fused multiply-add rounds once where the engine rounds twice; a difference that cancels
    then shows it. libdevice's functions are within 16 units of NumPy's.
    """
    if name == "value_math_one_float64":
        return 256.0  # lgamma near its zeros
    return 64.0 if name.startswith("value_fused") else 16.0


def precision(name: str) -> str:
    """The type in which a case computes; its results may be kept in a wider one."""
    narrow = "float32" in name or name == "value_fast_intrinsics"
    return "float32" if narrow and "float64" not in name else "float64"


@pytest.mark.parametrize("name", VALUED)
def test_values_and_type_corners_equal_the_hardware(name: str) -> None:
    case = BY_NAME[name]
    if name in REFUSED:
        assert raised(run, case).message_id == REFUSED[name]
        return
    _, args = run(case)
    errors = [worst_error(*pair, precision(name)) for pair in outputs(case, args)]
    if name in EXPLAINED_VALUES:
        assert max(errors) > ulps(name), "it agrees now: take it off the list"
    else:
        assert max(errors) <= ulps(name)
