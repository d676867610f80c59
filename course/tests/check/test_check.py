"""Stages, numbering and credit of a check, with launches that are faked."""

import itertools
import linecache
import sys

import numpy as np
import pytest
from numba import cuda
from threadpoolctl import ThreadpoolController

from course import exercises as ex
from course.check import check
from course.check.check import check_function, check_source
from course.check.cost import traffic_rows
from course.engine.faults import KernelFault, Outcome
from course.engine.simt import launch
from course.engine.traffic import Traffic
from course.plain import patience, threads
from course.spec.exercise import Array, Budget, Constant, KernelExercise, Role, case
from course.spec.launching import Launch
from course.tests.kernels_of_learners import (
    HEAD,
    NO_GUARD,
    RIGHT,
    STARTER,
    add,
    load,
    runner,
    store,
)
from course.tests.written import module_of

vector_add = ex.vector_add


def outcome(source, run=None, **settings):
    return check_source(vector_add, source, runner=run or runner(add), **settings).outcome


# ---------------------------------------------------------------- attempted, admitted, compiles


def test_the_starter_is_not_attempted_and_nothing_is_launched():
    run = runner(add)
    verdict = check_source(vector_add, STARTER, runner=run)
    assert (verdict.outcome, verdict.credit, run.launches) == (Outcome.NOT_ATTEMPTED, 0.0, [])


def test_a_marker_beside_code_that_stores_is_ignored():
    assert outcome(RIGHT + "    ...\n") is Outcome.PASS


def test_a_marker_beside_an_atomic_is_an_attempt():
    source = f"{HEAD}    i = cuda.grid(1)\n    cuda.atomic.add(c, i, a[i])\n    ...\n"
    assert outcome(source) is Outcome.PASS


def test_an_empty_cell_is_not_attempted():
    assert outcome("  \n") is Outcome.NOT_ATTEMPTED


@pytest.mark.parametrize(
    ("source", "expected", "message_id", "line"),
    [
        (f"{HEAD}    i = cuda.grid(1\n", Outcome.DOES_NOT_COMPILE, "syntax_error", 6),
        (RIGHT.replace("vector_add", "add"), Outcome.REJECTED, "no_such_kernel", None),
        (RIGHT.replace("@cuda.jit\n", ""), Outcome.REJECTED, "not_jitted", 4),
        (RIGHT.replace("jit", "jit(device=True)"), Outcome.REJECTED, "device_function", 5),
        (RIGHT.replace("a, b, c", "a, c"), Outcome.DOES_NOT_COMPILE, "parameter_count", 5),
        (RIGHT + "vector_add[1, 1](1, 2, 3)\n", Outcome.REJECTED, "rejected_top_level", 9),
        ("import os\n" + RIGHT, Outcome.REJECTED, "rejected_import", 1),
        ("x = " + "(" * 5000, Outcome.DOES_NOT_COMPILE, "syntax_error", 1),
        ("a\0b", Outcome.REJECTED, "odd_character", 1),
        (RIGHT + f"N = {'9' * 5000}\n", Outcome.REJECTED, "source_not_text", 9),
    ],
)
def test_a_cell_that_is_no_kernel_gets_its_verdict_and_its_line(source, expected, message_id, line):
    verdict = check_source(vector_add, source, runner=runner(add))
    assert (verdict.outcome, verdict.message_id) == (expected, message_id)
    assert line is None or verdict.line == line
    assert verdict.case_number == 0


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (RIGHT + "print 'x'\n", "Did you mean print(...)."),
        (RIGHT + f"N = {'9' * 5000}\n", "The cell cannot be read: a number is too long."),
        (RIGHT + f"N = {'+'.join(['1'] * 90_000)}\n", "cannot be read: nested too deeply."),
        (RIGHT.replace("def ", "async def "), "`async def vector_add(a, b, c):` stands"),
        (RIGHT + "@cuda.jit\nclass A:\n    pass\n", "`class A:` stands"),
        (
            RIGHT.replace("a, b, c", "a, c"),
            "Parameters of `vector_add`: 2. The check passes 3: a, b",
        ),
        (
            RIGHT.replace("a[i]", "\u0430[i]"),
            "not defined in this cell: its \u0430 is a cyrillic small letter a (U+0430).",
        ),
        (
            RIGHT.replace("a[i]", "gr\u00f6\u00dfe"),
            "`gr\u00f6\u00dfe` is not defined in this cell.",
        ),
    ],
)
def test_what_is_said_of_a_cell_that_is_no_kernel_can_be_understood(source, said):
    assert said in check_source(vector_add, source).message


@pytest.mark.parametrize("parameters", ["a, b, *, c", "a, b, /, c", "a, b, *c", "a, b, **c"])
def test_parameters_that_a_kernel_cannot_have_are_said_to_be_none(parameters):
    verdict = check_source(vector_add, RIGHT.replace("a, b, c", parameters))
    assert (verdict.outcome, verdict.message_id) == (Outcome.REJECTED, "rejected_parameter")


scaled = KernelExercise(
    name="scaled",
    title="",
    task="",
    points=4,
    minutes=1,
    difficulty=1,
    hints=("h",),
    parameters=(Array("a", "N"), Array("c", "N", Role.OUT)),
    reference=lambda a: {"c": 2 * a},
    cases=(case(N=5), case(True, N=256)),
    constants={"TPB": Constant(128, (64, 128))},
    launch=Launch("cdiv(N, TPB)", "TPB"),
    budget=Budget({"load a": "sectors(N)", "store c": "sectors(N)"}),
)
SCALED = "from numba import cuda\nTPB = 64\n@cuda.jit\ndef scaled(a, c):\n    c[0] = 2 * a[0]\n"


def double(a, c):
    c[:] = 2 * a


def scaled_sites(size):
    return [load("a", -(-size // 8)), store("c", -(-size // 8))]


def test_a_constant_is_read_from_the_cell_and_shapes_the_launch():
    run = runner(double, scaled_sites)
    assert check_source(scaled, SCALED, runner=run)
    assert [(r.grid, r.block) for r in run.launches] == [((1,), (64,)), ((4,), (64,))]


def test_a_constant_that_the_cell_does_not_set_has_its_default():
    run = runner(double, scaled_sites)
    assert check_source(scaled, SCALED.replace("TPB = 64\n", ""), runner=run)
    assert run.launches[1].block == (128,)


def test_a_constant_outside_its_choices_is_rejected_with_its_line():
    verdict = check_source(scaled, SCALED.replace("64", "96"), runner=runner(double))
    assert (verdict.outcome, verdict.line) == (Outcome.REJECTED, 2)
    assert verdict.message == "`TPB` is 96, and the launch allows 64, 128."


# ---------------------------------------------------------------- faults


def test_a_fault_names_the_smallest_case_that_shows_it():
    fault = KernelFault(
        Outcome.OUT_OF_BOUNDS, "out_of_bounds", 7, array="a", index="1", shape="1",
        block="0", thread="1", access="reads",
    )  # fmt: skip
    verdict = check_source(vector_add, NO_GUARD, runner=runner(add, fault=fault))
    assert verdict.outcome is Outcome.OUT_OF_BOUNDS
    assert verdict.case_text == "case 1 of 3: N=1"
    assert (verdict.line, verdict.lines[0].code.strip()) == (7, "c[i] = a[i] + b[i]")
    assert verdict.message == "a[1] does not exist: a has shape (1,). Thread 1 of block 0 reads it."


def test_cases_run_from_the_smallest_to_the_largest():
    run = runner(add)
    cases = (case(N=900), case(N=3), case(True, N=4096), case(N=40))
    check_source(vector_add, RIGHT, cases, runner=run)
    assert [r.arguments["a"].size for r in run.launches] == [3, 40, 900, 4096]


def test_both_lines_of_a_race_are_shown():
    fault = KernelFault(Outcome.RACE, "race_global", 8, kind="write/read", other_line=6)
    verdict = check_source(vector_add, RIGHT, runner=runner(add, fault=fault))
    assert [line.number for line in verdict.lines] == [6, 8]


def test_an_error_of_the_engine_is_not_measured_and_keeps_its_traceback_for_developers():
    def broken(a, b, c):
        raise ZeroDivisionError("lanes")

    verdict = check_source(vector_add, RIGHT, runner=runner(broken))
    assert (verdict.outcome, verdict.credit) == (Outcome.NOT_MEASURED, 0.0)
    assert "ZeroDivisionError: lanes" in verdict.internal_error
    assert "report it" in str(verdict)
    assert "Traceback" not in str(verdict) + verdict.message


# ---------------------------------------------------------------- right


def test_inputs_of_a_case_depend_on_the_seed_and_on_nothing_else():
    def inputs(seed):
        run = runner(add)
        check_source(vector_add, RIGHT, runner=run, seed=seed)
        return [r.arguments["a"].copy() for r in run.launches]

    again = zip(inputs(1), inputs(1), strict=True)
    assert all(np.array_equal(first, second) for first, second in again)
    assert not np.array_equal(inputs(1)[1], inputs([1, 2])[1])
    assert not np.array_equal(inputs(1)[1][:1], inputs(1)[2][:1])


def test_a_wrong_answer_in_a_larger_case_names_that_case():
    def wrong_above_one(a, b, c):
        c[:] = a + b
        if c.size > 1:
            c[3] = 0.0

    verdict = check_source(vector_add, RIGHT, runner=runner(wrong_above_one))
    assert verdict.outcome is Outcome.WRONG_ANSWER
    assert verdict.case_text == "case 2 of 3: N=1000"
    assert verdict.message.startswith("c[3]: expected ")
    assert verdict.message.endswith("your kernel gave 0.0; 1 of 1000 elements are wrong.")


def test_an_output_that_was_never_written_says_so():
    def nothing(a, b, c):
        c[:0] = 0

    verdict = check_source(vector_add, RIGHT, runner=runner(nothing))
    assert verdict.message == "c[0] was never written; nor were 999 more of 1000 elements."


def test_an_input_that_was_changed_is_a_wrong_answer_even_where_the_output_is_right():
    def overwrites(a, b, c):
        c[:] = a + b
        a[-1] = 0

    verdict = check_source(vector_add, RIGHT, runner=runner(overwrites))
    assert (verdict.outcome, verdict.message_id) == (Outcome.WRONG_ANSWER, "read_only_input")
    assert verdict.message.startswith("a is an input, and your kernel changed it: a[0] was ")


def test_zeroed_inputs_do_not_make_zero_right():
    def zeroes(a, b, c):
        for array in (a, b, c):
            array[:] = 0

    assert outcome(RIGHT, runner(zeroes)) is Outcome.WRONG_ANSWER


def test_swapped_parameter_names_are_remarked_on_where_the_answer_is_wrong():
    def wrong(a, b, c):
        c[:] = a - b

    verdict = check_source(
        vector_add, RIGHT.replace("(a, b, c)", "(c, a, b)"), runner=runner(wrong)
    )
    assert "The check passes a, b, c in this order; your kernel names them c, a, b." in str(verdict)


total = KernelExercise(
    name="total",
    title="",
    task="",
    points=5,
    minutes=1,
    difficulty=1,
    hints=("h",),
    parameters=(Array("a", "N"), Array("partial", "cdiv(N, 32)", Role.OUT)),
    reference=lambda a: {"sum": a.sum()},
    finish=lambda outputs: {"sum": outputs["partial"].astype(np.float64).sum()},
    magnitude=lambda a: {"sum": np.abs(a).sum()},
    cases=(case(N=50), case(True, N=256)),
    launch=Launch("cdiv(N, 32)", "32"),
)
TOTAL = "from numba import cuda\n@cuda.jit\ndef total(a, partial):\n    partial[0] = a[0]\n"


def test_an_exercise_may_compare_what_the_host_makes_of_the_outputs():
    def sums(a, partial):
        partial[:] = [a[k : k + 32].sum() for k in range(0, a.size, 32)]

    def summed(size):
        return [load("a", -(-size // 8)), store("partial", -(-size // 256))]

    assert check_source(total, TOTAL, runner=runner(sums, summed))


def test_a_partial_result_that_was_never_written_is_named_and_not_the_sum():
    def first_only(a, partial):
        partial[0] = a.sum()

    verdict = check_source(total, TOTAL, runner=runner(first_only, lambda size: []))
    assert verdict.message == "partial[1] was never written."


def test_a_wrong_sum_is_compared_as_a_number():
    def shifted(a, partial):
        partial[:] = 1.0

    verdict = check_source(total, TOTAL, runner=runner(shifted, lambda size: []))
    assert verdict.message_id == "wrong_scalar"
    assert verdict.message.endswith("your kernel gave 2.0.")


# ---------------------------------------------------------------- cost


def costing(load_a, store_c=1.0):
    def sites(size):
        sectors = -(-size // 8)
        return [
            load("a", int(sectors * load_a)),
            load("b", sectors),
            store("c", int(sectors * store_c)),
        ]

    return runner(add, sites)


@pytest.mark.parametrize(
    ("times", "expected", "credit"),
    [
        (1.0, Outcome.PASS, 1.0),
        (1.09, Outcome.PASS, 1.0),
        (1.2, Outcome.TOO_MUCH_TRAFFIC, 0.85),
        (2.0, Outcome.TOO_MUCH_TRAFFIC, 0.7),
        (3.0, Outcome.TOO_MUCH_TRAFFIC, 0.6),
    ],
)
def test_credit_falls_in_bands_of_the_budget(times, expected, credit):
    verdict = check_source(vector_add, RIGHT, runner=costing(times))
    assert (verdict.outcome, verdict.credit) == (expected, credit)
    assert verdict.points == credit * vector_add.points


def test_a_row_over_its_budget_counts_where_the_total_is_under():
    cheap = KernelExercise(
        **{
            **vars(scaled),
            "budget": Budget({"load a": "100 * sectors(N)", "store c": "sectors(N)"}),
        }
    )
    sites = lambda size: [load("a", -(-size // 8)), store("c", size)]  # noqa: E731  # a stand-in's counts
    verdict = check_source(cheap, SCALED, runner=runner(double, sites))
    assert (verdict.outcome, verdict.credit) == (Outcome.TOO_MUCH_TRAFFIC, 0.6)


def test_an_access_that_no_budget_foresees_counts_in_the_total_and_is_named():
    def sites(size):
        sectors = -(-size // 8)
        return [load("a", sectors), load("b", sectors), store("c", sectors), load("c", sectors)]

    verdict = check_source(vector_add, RIGHT, runner=runner(add, sites))
    assert (verdict.outcome, verdict.message_id) == (
        Outcome.TOO_MUCH_TRAFFIC,
        "unbudgeted_traffic",
    )
    assert verdict.message.startswith("Load c: warps ask for 16.0 KB")


def test_the_cost_of_every_case_is_graded():
    cases = (case(N=1), case(N=1000))
    assert outcome(RIGHT, costing(9.0), cases=cases) is Outcome.TOO_MUCH_TRAFFIC


def test_of_equal_costs_a_marked_case_is_shown_and_the_worst_counts():
    def dear_where(n):
        return runner(add, lambda size: sites(size, 9 if size == n else 1))

    def sites(size, times):
        sectors = -(-size // 8)
        return [load("a", times * sectors), load("b", sectors), store("c", sectors)]

    cases = (case(N=1000), case(True, N=4096))
    for size, number in ((1000, 1), (4096, 2)):
        verdict = check_source(vector_add, RIGHT, cases, runner=dear_where(size))
        assert (verdict.credit, verdict.case_number) == (0.6, number)
    verdict = check_source(vector_add, RIGHT, cases, runner=costing(9.0))
    assert verdict.case_number == 2


def test_a_small_row_costs_nothing_by_itself_and_is_shown():
    """With 1,536 sectors of budget 5 % are 84."""
    with_d = KernelExercise(
        **{
            **vars(vector_add),
            "budget": Budget({**vector_add.budget.rows, "load d": "1"}),
            "parameters": (*vector_add.parameters, Array("d", "N")),
        }
    )
    for more, small in ((80, True), (90, False)):
        traffic = Traffic(sites=[load("a", 512), load("b", 512), store("c", 512), load("d", more)])
        row = next(
            r for r in traffic_rows(with_d, case(True, N=4096), {}, traffic) if r.array == "d"
        )
        assert (row.small, row.over, row.note.startswith("too little")) == (small, not small, small)


def test_a_few_sectors_decide_nothing_in_a_tiny_case():
    """Of 5 sectors each of three arrays is in need of; 8 more are free in total."""
    for more, expected in ((8, Outcome.PASS), (9, Outcome.TOO_MUCH_TRAFFIC)):
        run = runner(add, lambda size, n=more: [load("a", 5 + n), load("b", 5), store("c", 5)])
        assert outcome(RIGHT, run, cases=(case(N=40),)) is expected


def test_arrays_are_named_as_in_the_exercise_whatever_the_learner_calls_them():
    def sites(size):
        sectors = -(-size // 8)
        return [load("x", sectors), load("y", sectors), store("out", sectors)]

    source = RIGHT.replace("a, b, c", "x, y, out")
    verdict = check_source(vector_add, source, runner=runner(add, sites))
    assert verdict
    assert [(row.array, row.requested_bytes) for row in verdict.rows[:3]] == [
        ("a", 16384),
        ("b", 16384),
        ("c", 16384),
    ]


@pytest.mark.parametrize(
    ("limits", "counts", "expected"),
    [
        ({"divergent_branches": "1"}, {"divergent_branches": 2}, Outcome.TOO_DIVERGENT),
        ({"bank_conflicts": "0"}, {"bank_conflicts": 1}, Outcome.BANK_CONFLICTS),
        ({"work": "N"}, {"longest_warp": 257, "lane_work": 256**2}, Outcome.TOO_SERIAL),
        ({"work": "N"}, {"longest_warp": 256, "lane_work": 256**2}, Outcome.PASS),
        ({}, {"longest_warp": 31, "lane_work": 256 * 10}, Outcome.TOO_SERIAL),
        ({}, {"longest_warp": 30, "lane_work": 256 * 10}, Outcome.PASS),
    ],
)
def test_what_else_is_graded_is_held_to_its_formula(limits, counts, expected):
    graded = KernelExercise(**{**vars(scaled), **limits, "cases": scaled.cases[1:]})
    verdict = check_source(graded, SCALED, runner=runner(double, scaled_sites, **counts))
    assert verdict.outcome is expected
    assert verdict.credit == (1.0 if expected is Outcome.PASS else 0.6)


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (256 * 200, "the others as many, or nearly; for what a warp loads and stores here"),
        (256 * 100, "An even share of what all make is 100; the most here is 250."),
    ],
)
def test_work_that_all_warps_do_is_not_for_want_of_sharing(done, said):
    graded = KernelExercise(**{**vars(scaled), "work": "N - 6", "cases": scaled.cases[1:]})
    counts = {"longest_warp": 260, "lane_work": done}
    verdict = check_source(graded, SCALED, runner=runner(double, scaled_sites, **counts))
    assert verdict.outcome is Outcome.TOO_SERIAL
    assert said in verdict.message


def test_traffic_is_judged_before_divergence():
    graded = KernelExercise(**{**vars(scaled), "divergent_branches": "0"})
    heavy = lambda size: [load("a", size), store("c", size)]  # noqa: E731  # as above
    verdict = check_source(graded, SCALED, runner=runner(double, heavy, divergent_branches=5))
    assert verdict.outcome is Outcome.TOO_MUCH_TRAFFIC


# ---------------------------------------------------------------- what a learner may pass


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        (None, "The check got None, not a kernel."),
        (..., "The check got `...`, not a kernel."),
        (3, "The check got an int (3), not a kernel."),
        ("vector_add", "The check got a str ('vector_add'), not a kernel."),
        (dict, "The check got a class, not a kernel."),
        (np.zeros(3), "The check got a ndarray, not a kernel."),
        (lambda a, b, c: None, "`<lambda>` is a plain Python function: a GPU cannot run it."),
        (print, "The check got a builtin_function_or_method, not a kernel."),
    ],
)
def test_anything_that_is_no_kernel_becomes_a_verdict(passed, said):
    verdict = vector_add.check(passed)
    assert (verdict.outcome, verdict.message) == (Outcome.REJECTED, said)
    assert not verdict


@pytest.mark.parametrize("text", [[], ["import sys\n"]])
def test_a_kernel_made_by_exec_has_no_source_and_says_so(monkeypatch, text):
    monkeypatch.setitem(linecache.cache, "<string>", (0, None, text, "<string>"))
    names: dict[str, object] = {}
    exec("from numba import cuda\n@cuda.jit\ndef vector_add(a, b, c):\n    pass\n", names)
    verdict = check_function(vector_add, names["vector_add"])
    assert (verdict.outcome, verdict.message_id) == (Outcome.REJECTED, "no_source")


def test_a_launch_that_takes_long_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(patience, "monotonic", itertools.count(0, 10).__next__)
    monkeypatch.setattr(launch, "BATCH_LANES", 32)
    assert check_source(vector_add, RIGHT).outcome is Outcome.PASS
    assert capsys.readouterr().out == ""  # a grader does not wait
    assert check_function(vector_add, module_of("waited", RIGHT).vector_add).outcome is Outcome.PASS
    assert "blocks of this launch have run" in capsys.readouterr().out


class Hostile:
    """An object whose every attribute raises."""

    def __getattribute__(self, name):
        raise RuntimeError("no")


def test_an_object_that_raises_on_every_touch_still_gets_a_verdict():
    assert vector_add.check(Hostile()).outcome in (Outcome.REJECTED, Outcome.NOT_MEASURED)


def test_a_command_to_the_notebook_is_called_by_its_name():
    verdict = check_source(vector_add, "%%time\n" + RIGHT)
    assert (verdict.outcome, verdict.line) == (Outcome.REJECTED, 1)
    assert verdict.message.startswith("`%%time` is a command to the notebook")


def test_the_steps_before_a_kernel_counts_as_endless_follow_what_the_exercise_allows():
    def limit(**settings):
        run = runner(double, scaled_sites)
        check_source(KernelExercise(**{**vars(scaled), **settings}), SCALED, runner=run)
        return run.launches[-1].step_limit

    assert limit() == limit(work="100") == 5_000 + 8 * 512
    assert limit(work="100 * N") == 256_000


@pytest.mark.parametrize("operator", ["<<", ">>", "&", "|", "^"])
def test_lanes_that_returned_leave_no_float_in_a_whole_number(operator):
    cell = f"""
from numba import cuda

@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    x = 1
    y = 0.5
    while x < i:
        x = min(y, i)
        return
    x = i {operator} x
"""
    found = check_source(ex.vector_add, cell)
    assert found.outcome is Outcome.WRONG_ANSWER, found.internal_error


def test_an_exercise_in_the_place_of_its_kernel_is_called_so():
    message = ex.vector_add.check(ex.vector_add).message
    assert message == "The check got the exercise `ex.vector_add` itself, not a kernel."


def test_a_learners_check_takes_one_of_blas_threads_and_gives_them_back(monkeypatch):
    pools = ThreadpoolController().select(user_api="blas")

    def threads():
        return {pool["num_threads"] for pool in pools.info()}

    seen = []
    launch = check.Engine.__call__

    def launched(engine, run):
        seen.append(threads())
        return launch(engine, run)

    monkeypatch.setattr(check.Engine, "__call__", launched)
    monkeypatch.setattr(check, "function_source", lambda _: RIGHT)
    kernel = cuda.jit(lambda a, b, c: None)
    with pools.limit(limits=2):
        verdict = check_function(vector_add, kernel)
        assert (verdict.outcome, threads()) == (Outcome.PASS, {2})
    assert seen
    assert all(one == {1} for one in seen)


def test_a_check_runs_where_threadpoolctl_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    threads._pools.cache_clear()
    with threads.one_thread():
        assert threads._pools() is None
    threads._pools.cache_clear()
