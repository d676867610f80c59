"""`@triton.autotune` above the kernel of a checked cell: read as data, the first one graded."""

from dataclasses import replace

import pytest
import triton

from course.check.check import check_function
from course.engine.faults import Outcome
from course.tests.engine.triton.test_check import (
    ADD,
    ADD_CELL,
    SCALE,
    SCALE_CELL,
    add_in_python,
    verdict,
)

CONFIGS = """@triton.autotune(
    configs=[
        triton.Config({"BLOCK": BLOCK // 2}, num_warps=2),
        triton.Config({"BLOCK": 1024}, num_warps=8, num_stages=2),
    ],
    key=["N"],
)
"""
TUNED = SCALE_CELL.replace("@triton.jit", f"{CONFIGS}@triton.jit").replace(", BLOCK=BLOCK)", ")")


def turns(found):
    """Of the loop over 512 columns: each adds four statements to the longest program's."""
    statements = next(e.value for e in found.extras if e.label.startswith("statements"))
    count, around = divmod(statements, 4)
    assert around == 1, str(found)  # with the four of one turn: five stand around the loop
    return count - 1


def test_the_first_configuration_is_taken():
    found = verdict(TUNED, SCALE)
    assert found.outcome is Outcome.PASS, str(found)
    assert turns(found) == 2  # blocks of 256


def test_the_grid_may_ask_for_what_is_tuned():
    grid = TUNED.replace(
        "kernel[(M,)]", "kernel[lambda meta: (M * meta['BLOCK'] // meta['BLOCK'],)]"
    )
    assert verdict(grid, SCALE).outcome is Outcome.PASS


def test_by_position_it_reads_the_same():
    short = TUNED.replace("configs=[", "[").replace("key=[", "[")
    assert verdict(short, SCALE).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("old", "new", "message_id", "words"),
    [
        ('    key=["N"],\n', "", "tile_autotune", "and `key`"),
        ('key=["N"]', 'key=["N"], warmup=print', "tile_autotune", "`warmup=print`"),
        ('key=["N"]', 'key=[N]', "undefined_name", "`N`"),
        ('key=["N"]', 'key="N"', "tile_autotune", "key='N'"),
        ('key=["N"]', 'key=["N"], prune_configs_by={"perf_model": 1}', "tile_autotune", "perf_m"),
        ('key=["N"]', 'key=["N"], reset_to_zero=["OUT"]', "tile_no_parameter", "`OUT`"),
        ("configs=[", "configs=[] and [", "tile_autotune", "configs=[]"),
        ("configs=[", "configs=[3, ", "tile_autotune", "configs=[3"),
        ("num_warps=2", "pre_hook=print", "tile_autotune", "pre_hook="),
        ('{"BLOCK": 1024}', "open('x')", "tile_autotune", "`open`"),
        ('"BLOCK": 1024', '"BLOCK": open("x")', "tile_autotune", "`open`"),
        ('triton.Config({"BLOCK": 1024}', 'print({"BLOCK": 1024}', "tile_autotune", "configs"),
        ('{"BLOCK": BLOCK // 2}', '{"BLOK": 64}', "tile_no_parameter", "no parameter `BLOK`"),
        ("N)\n    return", "N, BLOCK=64)\n    return", "tile_tuned_twice", "`@triton.autotune`"),
        ('"BLOCK": BLOCK // 2', '"BLOCK": 64, "extern_libs": "x"', "tile_no_parameter", "extern"),
        ("tl.store(out", "tl.atomic_add(out", "tile_tuned_atomics", "would add to the sums"),
        ("@triton.jit", "@triton.heuristics({'BLOCK': lambda a: 64})\n@triton.jit",
         "tile_tuned_twice", "the launch gives it, too, or `@triton.autotune` does"),
        ("@triton.jit", "@staticmethod\n@triton.jit", "tile_decorator", "`@staticmethod`"),
        ("@triton.jit\n", "", "tile_decorator", "a launcher needs none"),
    ],
)  # fmt: skip
def test_what_is_not_data_is_refused_by_its_name(old, new, message_id, words):
    assert old in TUNED
    found = verdict(TUNED.replace(old, new, 1), SCALE)
    assert found.message_id == message_id, str(found)
    assert found.outcome in (Outcome.REJECTED, Outcome.DOES_NOT_COMPILE)
    assert words in " ".join(str(found).split())
    assert found.line is not None


LISTED = """WARPS = [2, 8]
def configs_of(sizes):
    found = []
    for size in sizes:
        for warps in WARPS:
            found.append(triton.Config({"BLOCK": size}, num_warps=warps, num_stages=2))
    return found
def small(config):
    return config.kwargs["BLOCK"] <= 512 and config.num_warps == 2
def fitting(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs["BLOCK"] < 1000 and named_args["N"] > 0]
"""


@pytest.mark.parametrize(
    "configs",
    [
        "[triton.Config({'BLOCK': b}, num_warps=w) for b in (256, 512) for w in WARPS]",
        "[triton.Config(dict(BLOCK=b)) for b in range(128, 600, 128) if b % 256 == 0]",
        "configs_of((256, 1024))",
        "list(filter(small, configs_of([1024, 256])))",
        "[triton.Config(dict(BLOCK=b), num_warps=w) for b, w in itertools.product((256,), WARPS)]",
        "[triton.Config(kwargs={'BLOCK': 1 << 8}, num_stages=3, pre_hook=None)]",
        "configs_of([1024, 256]), prune_configs_by={'early_config_prune': fitting}, warmup=5",
        "configs_of([256]), reset_to_zero=[], restore_value=None",
    ],
)
@pytest.mark.family
def test_configurations_may_be_worked_out(configs):
    cell = TUNED.replace(CONFIGS, f"{LISTED}@triton.autotune(configs={configs}, key=['N'])\n")
    found = verdict(cell.replace("import triton\n", "import triton\nimport itertools\n", 1), SCALE)
    assert found.outcome is Outcome.PASS, str(found)
    assert turns(found) == 2


def test_where_nothing_is_graded_the_other_configurations_have_their_turn():
    grid = TUNED.replace(
        "kernel[(M,)]", "kernel[lambda meta: (triton.cdiv(M * 256, meta['BLOCK']),)]"
    )
    found = verdict(grid, SCALE)
    assert (found.outcome, found.message_id) == (Outcome.WRONG_ANSWER, "never_written")
    assert "num_warps=8, BLOCK=1024, num_stages=2" in found.next_steps[0]
    assert found.case_number == 3
    fault = TUNED.replace("mask=j < N)\n", "mask=(j < N) | (BLOCK == 1024))\n", 1)
    found = verdict(fault, SCALE)
    assert found.outcome is Outcome.OUT_OF_BOUNDS
    assert "BLOCK=1024" in found.next_steps[0]


def test_a_configuration_that_has_not_the_resources_is_left_out():
    large = "configs=[triton.Config({'BLOCK': 1 << 16}), triton.Config({'BLOCK': 256})], key=['N']"
    cell = TUNED.replace(CONFIGS, f"@triton.autotune({large})\n").replace(
        "j < N)\n", "j < N, other=0)\n", 1
    )
    turned = "tl.gather(values, BLOCK - 1 - tl.arange(0, BLOCK), 0)"
    cell = cell.replace("2 * values", f"2 * values + 0 * {turned}")
    found = verdict(cell, SCALE)
    assert found.outcome is Outcome.PASS, str(found)
    alone = cell.replace(", triton.Config({'BLOCK': 256})", "")
    assert verdict(alone, SCALE).outcome is Outcome.TOO_MANY_RESOURCES


@pytest.mark.parametrize(
    ("first", "asserted", "alone"),
    [
        ("{'BLOCK': 256}, num_warps=64", "True", Outcome.TOO_MANY_RESOURCES),
        ("{'BLOCK': 128}", "BLOCK > 128", Outcome.DOES_NOT_COMPILE),
    ],
)
def test_the_tuner_goes_on_where_tritons_does(first, asserted, alone):
    configs = f"configs=[triton.Config({first}), triton.Config({{'BLOCK': 256}})], key=['N']"
    cell = TUNED.replace(CONFIGS, f"@triton.autotune({configs})\n").replace(
        "    row =", f"    tl.static_assert({asserted})\n    row =", 1
    )
    assert "static_assert" in cell
    found = verdict(cell, SCALE)
    assert found.outcome is Outcome.PASS, str(found)
    found = verdict(cell.replace(", triton.Config({'BLOCK': 256})", ""), SCALE)
    assert found.outcome is alone


UNBUDGETED = replace(SCALE, budget=None)
IN_PLACE = """
@triton.autotune([triton.Config({}, num_warps=w) for w in (4, 8)], key=["N"])
@triton.jit
def double(out, N, BLOCK: tl.constexpr):
    j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + j, 2 * tl.load(out + j, mask=j < N), mask=j < N)


def scale(x):
    M, N = x.shape
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    kernel[(M,)](x, out, x.stride(0), x.stride(1), N, BLOCK=BLOCK)
    double[(triton.cdiv(out.numel(), 256),)](out, out.numel(), BLOCK=256)
    return out
"""


def test_what_is_changed_in_place_has_to_be_put_back_before_the_next_configuration():
    cell = SCALE_CELL.split("def scale")[0].replace("2 * values", "values") + IN_PLACE
    found = verdict(cell, UNBUDGETED)
    assert (found.outcome, found.message_id) == (Outcome.REJECTED, "tile_tuned_in_place")
    assert "`out`" in found.message
    restored = cell.replace('key=["N"]', 'key=["N"], restore_value=["out"]')
    assert verdict(restored, UNBUDGETED).outcome is Outcome.PASS
    assert verdict(cell.replace("(4, 8)", "(4,)"), UNBUDGETED).outcome is Outcome.PASS
    scratch = cell.replace("2 * tl.load(out + j, mask=j < N)", "2.0").replace(
        "mask=j < N)\n\n",
        "mask=j < N)\n    tl.store(out + j, tl.load(out + j, mask=j < N), mask=j < N)\n\n",
    )
    assert verdict(scratch, UNBUDGETED).message_id != "tile_tuned_in_place"


@pytest.mark.parametrize("more", ["reset_to_zero=['out']", "restore_value=['out']"])
def test_atomics_may_be_timed_where_their_sums_are_put_back(more):
    cell = TUNED.replace('key=["N"]', f'key=["N"], {more}').replace(
        "tl.store(out", "tl.atomic_add(out"
    )
    assert verdict(cell, SCALE).message_id not in ("tile_tuned_atomics", "tile_autotune")


def test_an_array_that_is_reset_holds_zeros_before():
    cell = TUNED.replace('key=["N"]', 'key=["N"], reset_to_zero=["out"]')
    cell = cell.replace("tl.store(out", "tl.atomic_add(out")
    assert verdict(cell, SCALE).message_id == "tile_tuned_reset"
    zeros = cell.replace("torch.empty", "torch.zeros")
    assert verdict(zeros, SCALE).message_id != "tile_tuned_reset"


def test_where_the_check_launches_there_is_nothing_to_tune():
    found = verdict(ADD_CELL.replace("@triton.jit", f"{CONFIGS}@triton.jit"))
    assert found.message_id == "tile_tuned_twice"
    assert "leave `@triton.autotune` out" in " ".join(str(found).split())


def test_where_the_check_launches_warps_and_stages_may_be_tuned():
    configs = "@triton.autotune([triton.Config({}, num_warps=w) for w in (8, 1)], key=['N'])\n"
    found = verdict(ADD_CELL.replace("@triton.jit", f"{configs}@triton.jit"))
    assert found.outcome is Outcome.PASS, str(found)


def test_a_tuned_kernel_that_is_passed_to_a_check_is_a_kernel():
    tuned = triton.autotune([triton.Config({"BLOCK": 64})], key=[])(triton.jit(add_in_python))
    found = check_function(ADD, tuned)
    assert not found.internal_error
    assert found.message_id == "no_such_kernel"  # of this file, whose text is what is read
