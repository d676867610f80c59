"""`@triton.heuristics` above the kernel of a checked cell: lambdas that are read and walked."""

import pytest

from course.engine.faults import Outcome
from course.tests.engine.triton.test_check import ADD, ADD_CELL, SCALE, SCALE_CELL, verdict
from course.tests.engine.triton.test_tuning import CONFIGS, turns

LAMBDA = 'lambda args: triton.next_power_of_2(args["N"])'
HEURISTICS = f'@triton.heuristics({{"BLOCK": {LAMBDA}}})\n'
COMPUTED = SCALE_CELL.replace("@triton.jit", f"{HEURISTICS}@triton.jit").replace(
    ", BLOCK=BLOCK)", ")"
)
TWO = """@triton.heuristics(
    values={
        "BLOCK": lambda args: max(16, triton.next_power_of_2(args["N"]) // WALKS),
        "EVEN": lambda a: a["N"] % a["BLOCK"] == 0 and a["x"].dtype is not None,
        "num_warps": lambda args: 8 if args["BLOCK"] > 64 else 1,
    }
)
"""


def test_a_constant_is_worked_out_at_each_launch():
    found = verdict(COMPUTED, SCALE)
    assert found.outcome is Outcome.PASS, str(found)
    assert turns(found) == 1  # a block of 512


def test_a_heuristic_may_ask_for_the_one_before_it_for_constants_of_the_cell_and_for_dtypes():
    cell = COMPUTED.replace(HEURISTICS, f"WALKS = 4\n\n\n{TWO}")
    cell = cell.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, EVEN: tl.constexpr")
    load = "tl.load(x + row * stride_m + j * stride_n, mask=j < N)"
    unmasked = f"            values = {load.replace(', mask=j < N', '')}\n"
    cell = cell.replace(
        f"        values = {load}\n",
        f"        if EVEN:\n{unmasked}        else:\n            values = {load}\n",
    )
    found = verdict(cell, SCALE)
    assert found.outcome is Outcome.PASS, str(found)
    assert turns(found) == 4  # a condition on constants is no statement of the program


def test_the_grid_may_ask_for_what_is_worked_out():
    grid = COMPUTED.replace("kernel[(M,)]", "kernel[lambda meta: (M * (meta['BLOCK'] >= N),)]")
    assert verdict(grid, SCALE).outcome is Outcome.PASS


def test_it_stands_under_autotune_and_sees_what_that_sets():
    cell = SCALE_CELL.replace(", BLOCK=BLOCK)", ")").replace(
        "BLOCK: tl", "BLOCK: tl.constexpr, H: tl"
    )
    under = '@triton.heuristics({"H": lambda args: args["BLOCK"] // 2})\n@triton.jit'
    cell = cell.replace("@triton.jit", f"{CONFIGS}{under}")
    walked = cell.replace("0, N, BLOCK)", "0, N, H)").replace("arange(0, BLOCK)", "arange(0, H)")
    found = verdict(walked, SCALE)
    assert found.outcome is Outcome.PASS, str(found)
    assert turns(found) == 4  # blocks of half of 256
    over = walked.replace(
        f"{CONFIGS}{under}", under.replace("@triton.jit", f"{CONFIGS}@triton.jit")
    )
    assert verdict(over, SCALE).message_id == "tile_decorator"


def test_where_the_check_launches_a_kernel_may_say_its_own_warps():
    tuned = '@triton.heuristics({"num_warps": lambda args: 8})\n@triton.jit'
    found = verdict(ADD_CELL.replace("@triton.jit", tuned), ADD)
    assert found.outcome is Outcome.PASS, str(found)


@pytest.mark.parametrize(
    ("old", "new", "message_id", "words"),
    [
        # what would have to be executed
        (LAMBDA, "lambda args: open('x', 'w')", "tile_heuristics", "cannot be read"),
        (LAMBDA, "lambda args: __import__('os').getpid()", "tile_heuristics", "__import__"),
        (LAMBDA, "lambda args: [].__class__", "tile_heuristics", "`lambda args: [].__class__`"),
        (LAMBDA, "lambda args: args.update(N=1)", "tile_heuristics", "args.update"),
        (LAMBDA, 'lambda args: args["x"].fill_(0)', "launcher_computes", "fill_"),
        (LAMBDA, 'lambda args: args["x"].sum()', "tile_heuristics", ".sum()"),
        (LAMBDA, 'lambda args: args["x"].new_empty(9)', "tile_heuristics", ".new_empty(9)"),
        (LAMBDA, "lambda args: torch.empty(9, device='cuda')", "tile_heuristics", "torch.empty"),
        (LAMBDA, "lambda args: scale(3)", "tile_heuristics", "scale(3)"),
        (LAMBDA, "lambda args: kernel[(1,)](3)", "tile_heuristics", "kernel[(1,)](3)"),
        (LAMBDA, "lambda args: (lambda f: f(f))(lambda f: f(f))", "tile_heuristics", "f(f)"),
        (LAMBDA, "lambda args: (args := 3)", "tile_heuristics", "cannot be read"),
        (LAMBDA, "lambda args: {n for n in range(9)}", "tile_heuristics", "cannot be read"),
        (LAMBDA, "lambda args: tl.arange(0, 8)", "tile_heuristics", "tl.arange"),
        # what is no dict of lambdas of one parameter
        (LAMBDA, "512", "tile_heuristics", "`512`"),
        (LAMBDA, "scale", "tile_heuristics", "`scale`"),
        (LAMBDA, "lambda: 512", "tile_heuristics", "`lambda: 512`"),
        (LAMBDA, "lambda *args: 512", "tile_heuristics", "`lambda *args: 512`"),
        (LAMBDA, "lambda args, n=open('x'): 512", "tile_heuristics", "open('x')"),
        (f'{{"BLOCK": {LAMBDA}}}', "open('x')", "tile_heuristics", "`open('x')`"),
        (f'{{"BLOCK": {LAMBDA}}}', f'{{**{{"BLOCK": {LAMBDA}}}}}', "tile_heuristics", "lambda"),
        (f'{{"BLOCK": {LAMBDA}}}', "", "tile_heuristics", "`triton.heuristics()`"),
        (f'{{"BLOCK": {LAMBDA}}}', f'{{"BLOCK": {LAMBDA}}}, warmup=1', "tile_heuristics", "warmup"),
        ('{"BLOCK":', '{"BLOK":', "tile_no_parameter", "no parameter `BLOK`"),
        ('{"BLOCK":', '{"extern_libs":', "tile_no_parameter", "no parameter `extern_libs`"),
        # what has no value
        (LAMBDA, 'lambda args: args["M"]', "tile_heuristics_name", "asks for `M`"),
        (LAMBDA, 'lambda args: args["N"] // 0', "launcher_value", "divides by zero"),
        (LAMBDA, 'lambda args: args["x"]', "launcher_value", "a tensor is no constant"),
        (LAMBDA, "lambda args: mth.sqrt(4)", "undefined_name", "`mth`"),
        (LAMBDA, "lambda args: math.isqrt(4)", "missing_import", "`import math`"),
        ("N)\n    return", "N, BLOCK=64)\n    return", "tile_tuned_twice", "`@triton.heuristics`"),
        (HEURISTICS, HEURISTICS * 2, "tile_decorator", "is no decorator"),
    ],
)  # fmt: skip
def test_what_is_not_an_expression_over_arguments_is_refused(old, new, message_id, words):
    assert old in COMPUTED
    found = verdict(COMPUTED.replace(old, new, 1), SCALE)
    assert found.message_id == message_id, str(found)
    if message_id == "launcher_value":  # Python raises it before the compiler is asked
        assert found.outcome is Outcome.WRONG_ANSWER
    else:
        assert found.outcome in (Outcome.REJECTED, Outcome.DOES_NOT_COMPILE)
    if message_id == "tile_heuristics":
        assert found.outcome is Outcome.REJECTED
    assert words in " ".join(str(found).split())
    assert found.line is not None


def test_a_lambda_is_refused_also_where_no_launch_asks_for_it():
    unused = f"\n\n{HEURISTICS.replace(LAMBDA, 'lambda args: open(1)')}@triton.jit\n"
    found = verdict(f"{SCALE_CELL}{unused}def other(x, BLOCK: tl.constexpr):\n    pass\n", SCALE)
    assert found.message_id == "tile_heuristics"
