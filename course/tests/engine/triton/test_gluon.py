"""Gluon kernels: what their copies, products and barriers do, and that a missing wait is a race."""

import subprocess
import sys

import pytest
import torch
import triton

from course.engine.faults import Outcome
from course.engine.triton.launch import launch
from course.tests.engine.faults import raised
from course.words.sentences import sentence

# what is experimental has other names in each version of Triton
if not triton.__version__.startswith("3.7."):
    pytest.skip("these kernels are written for Triton 3.7's Gluon", allow_module_level=True)

from course.tests.engine.triton import gluon_kernels as kernels
from course.tests.engine.triton.gluon_kernels import described, halves, line_of


def sites(traffic):
    return {(site.array, site.direction): (site.requests, site.sectors) for site in traffic.sites}


def refused(kernel, args, constants, target=90, grid=(1,)):
    return raised(launch, kernel, args, grid, constants, target=target)


# ---------------------------------------------------------------- right ones


def test_asynchronous_copies_are_counted_as_the_layout_makes_them():
    x, out = torch.randn(1024), torch.zeros(1024)
    traffic = launch(kernels.copied, (x, out, 1024), (1,), {"BLOCK": 512}, target=80)
    assert torch.equal(out, x)
    assert sites(traffic) == {("x", "load"): (8, 128), ("out", "store"): (8, 128)}


def test_a_tile_goes_through_shared_memory_by_tma():
    x, out = halves(64, 256), torch.zeros(64, 256).half()
    traffic = launch(
        kernels.through, (described(x, [64, 64]), described(out, [64, 64]), 4), (1,), target=90
    )
    assert torch.equal(out, x)
    assert sites(traffic) == {("source", "load"): (4, 1024), ("target", "store"): (4, 1024)}


def test_a_tile_goes_back_to_where_it_came_from():
    x = halves(64, 64)
    kept = x.clone()
    there = described(x, [64, 64])
    traffic = launch(kernels.through, (there, there, 1), (1,), target=90)
    assert torch.equal(x, kept)
    assert {direction for _, direction in sites(traffic)} == {"load", "store"}


@pytest.mark.parametrize(
    ("kernel", "target", "side", "depth"),
    [(kernels.hopper_product, 90, 64, 32), (kernels.blackwell_product, 100, 128, 128)],
)
def test_tensor_cores_multiply_what_barriers_have_let_through(kernel, target, side, depth):
    a, b, c = halves(side, 256), halves(256, side), torch.zeros(side, side).half()
    given = [described(a, [side, depth]), described(b, [depth, side]), described(c, [side, side])]
    constants = {"K": 256} if target == 90 else {}
    launch(kernel, given, (1,), constants, target=target)
    torch.testing.assert_close(c.double(), a.double() @ b.double(), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("swap", [0, 1])
def test_specialised_warps_hand_tiles_over(swap):
    x, out = halves(64, 448), torch.zeros(64, 64)
    given = (described(x, [64, 64]), out)
    traffic = launch(kernels.specialised, given, (1,), {"N": 7, "SWAP": swap}, target=90)
    torch.testing.assert_close(out, x.float().reshape(64, 7, 64).sum(1))
    assert sites(traffic) == {("source", "load"): (7, 1792), ("out", "store"): (32, 512)}


def test_a_barrier_tells_of_asynchronous_copies():
    """And a predicate keeps an arrival from a barrier that is not there."""
    x, out = torch.randn(512), torch.zeros(512)
    launch(kernels.told_of_copies, (x, out), (1,), {"BLOCK": 512}, target=90)
    assert torch.equal(out, x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_shared_memory_is_lent_to_another_type(dtype):
    x, out = torch.randn(256).to(getattr(torch, dtype)), torch.zeros(256)
    constants = {"BLOCK": 256, "OTHER": getattr(kernels.gl, dtype)}
    launch(kernels.as_another_type, (x, out), (1,), constants, target=90)
    assert torch.equal(out, x.float())


@pytest.mark.parametrize("other", [0, 1])
def test_a_tile_is_copied_to_tensor_memory_and_lends_a_half_of_it(other):
    x, out = torch.randn(128, 64), torch.zeros(128, 64)
    given = described(x, [128, 64], kernels.gl.float32), out
    launch(kernels.by_tensor_memory, given, (1,), {"OTHER": other}, target=100)
    assert torch.equal(out, x.bfloat16().float() if other else x)


# ---------------------------------------------------------------- wrong ones


def test_copies_of_which_no_barrier_tells_race_with_a_load():
    given, constants = (torch.zeros(512), torch.zeros(512)), {"BLOCK": 512, "ARRIVES": 0}
    fault = refused(kernels.told_of_copies, given, constants)
    assert (fault.outcome, fault.message_id) == (Outcome.RACE, "tile_shared_race")
    assert fault.line == line_of(kernels.told_of_copies, "smem.load")


@pytest.mark.parametrize(
    ("switch", "outcome", "text"),
    [
        ({"FIRST": 0}, Outcome.UNINITIALISED, "other.load"),
        ({"ASYNC": 1}, Outcome.RACE, "other.store"),
    ],
)
def test_what_is_lent_is_the_same_memory(switch, outcome, text):
    given = torch.zeros(256).half(), torch.zeros(256)
    constants = {"BLOCK": 256, "OTHER": kernels.gl.float16, **switch}
    fault = refused(kernels.as_another_type, given, constants)
    assert (fault.outcome, fault.line) == (outcome, line_of(kernels.as_another_type, text))


def test_a_copy_to_tensor_memory_has_to_be_waited_for():
    given = described(torch.zeros(128, 64), [128, 64], kernels.gl.float32), torch.zeros(128, 64)
    fault = refused(kernels.by_tensor_memory, given, {"WAITS": 0}, target=100)
    assert (fault.outcome, fault.message_id) == (Outcome.RACE, "tile_shared_race")
    assert fault.fields["other"] == "a copy (tcgen05) writes"


def through(**constants):
    given = (described(halves(64, 256), [64, 64]), described(torch.zeros(64, 256).half(), [64, 64]))
    return refused(kernels.through, given, {"N": 4, **constants})


def specialised(**constants):
    given = (described(halves(64, 256), [64, 64]), torch.zeros(64, 64))
    return refused(kernels.specialised, given, {"N": 4, **constants})


def products(kernel, target, side, depth, **constants):
    a, b, c = halves(side, 256), halves(256, side), torch.zeros(side, side).half()
    given = [described(a, [side, depth]), described(b, [depth, side]), described(c, [side, side])]
    return refused(kernel, given, constants, target)


def hopper(**constants):
    return products(kernels.hopper_product, 90, 64, 32, K=256, **constants)


RACES = {
    "a copy's end that nobody waits for": (
        lambda: refused(
            kernels.copied, (torch.randn(1024), torch.zeros(1024), 1024),
            {"BLOCK": 512, "LEFT": 2}, 80,
        ),
        (kernels.copied, "a load reads", "smem.index(i).load"),
        (kernels.copied, "an asynchronous copy writes", "async_copy_global_to_shared"),
    ),
    "a TMA load that nobody waits for": (
        lambda: through(WAITS=0),
        (kernels.through, "a TMA store reads", "async_copy_shared_to_global"),
        (kernels.through, "a TMA load writes", "async_copy_global_to_shared"),
    ),
    "a buffer that a TMA store still reads": (
        lambda: through(STORED=1),
        (kernels.through, "a TMA load writes", "async_copy_global_to_shared"),
        (kernels.through, "a TMA store reads", "async_copy_shared_to_global"),
    ),
    "a buffer that a product still reads": (
        lambda: hopper(LEFT=2),
        (kernels.hopper_product, "a TMA load writes", "async_copy_global_to_shared(a"),
        (kernels.hopper_product, "a product (wgmma) reads", "warpgroup_mma(sa"),
    ),
    "a store into what a TMA store still reads": (
        lambda: hopper(LATE=1),
        (kernels.hopper_product, "a store writes", "sc.store(gl.zeros"),
        (kernels.hopper_product, "a TMA store reads", "async_copy_shared_to_global"),
    ),
    "tensor memory before the product's end": (
        lambda: products(kernels.blackwell_product, 100, 128, 128, WAITS=0),
        (kernels.blackwell_product, "a load reads", "acc.load"),
        (kernels.blackwell_product, "a product (tcgen05) writes", "tcgen05_mma(sa"),
    ),
    "a tile that is read before it is there": (
        lambda: specialised(FULL=0, SWAP=1),
        (kernels.consumer, "a load reads", ".load(layout)"),
        (kernels.producer, "a TMA load writes", "async_copy_global_to_shared"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RACES)
def test_a_missing_wait_is_a_race_of_two_lines(name):
    run, (kernel, doing, text), (other_kernel, other, other_text) = RACES[name]
    fault = run()
    assert (fault.outcome, fault.message_id) == (Outcome.RACE, "tile_shared_race")
    assert (fault.line, fault.fields["doing"]) == (line_of(kernel, text), doing)
    assert fault.fields["other_line"] == line_of(other_kernel, other_text)
    assert fault.fields["other"] == other


@pytest.mark.parametrize("free", [0, 2])
@pytest.mark.parametrize("swap", [0, 1])
def test_a_barriers_phase_begins_when_the_last_one_is_known_to_have_ended(free, swap):
    """Bytes expected while the last tile is still on its way count for the phase of that tile."""
    fault = specialised(FREE=free, SWAP=swap)
    assert (fault.outcome, fault.message_id) == (Outcome.RACE, "tile_barrier_early")
    assert fault.line == line_of(kernels.producer, "mbarrier.expect")
    assert fault.fields["other_line"] == line_of(kernels.producer, "async_copy_global_to_shared")
    assert fault.fields["doing"] == "a TMA load writes"


def half_written(read):
    out = described(torch.zeros(64, 64).half(), [64, 64])
    return refused(kernels.half_written, (halves(64, 64), out), {"READ": read})


UNWRITTEN = {
    "a buffer beside the one that was stored to": (
        lambda: half_written(1), kernels.half_written, "a load reads", "permute",
    ),
    "a buffer that goes to a tensor": (
        lambda: half_written(2), kernels.half_written, "a TMA store reads", "async_copy_shared",
    ),
    "a tile that warps read before those that bring it have begun": (
        lambda: specialised(FULL=0), kernels.consumer, "a load reads", ".load(layout)",
    ),
    "sums that were never begun": (
        lambda: products(kernels.blackwell_product, 100, 128, 128, FIRST=0),
        kernels.blackwell_product, "a product (tcgen05) adds to", "tcgen05_mma(sa",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNWRITTEN)
def test_shared_and_tensor_memory_hold_nothing_at_first(name):
    run, kernel, doing, text = UNWRITTEN[name]
    fault = run()
    assert (fault.outcome, fault.message_id) == (Outcome.UNINITIALISED, "tile_shared_unwritten")
    assert (fault.line, fault.fields["doing"]) == (line_of(kernel, text), doing)


def test_a_turned_buffer_knows_what_was_stored_to_it():
    x, out = halves(64, 64), torch.zeros(64, 64).half()
    launch(kernels.half_written, (x, described(out, [64, 64])), (1,), {"READ": 0}, target=90)
    assert torch.equal(out, x.T)


@pytest.mark.parametrize(
    ("constants", "text", "doing"),
    [
        ({"STORED": 1, "LEFT": 1}, "async_copy_shared_to_global", "a TMA store reads"),
        ({"WAITS": 0, "SENDS": 0}, "async_copy_global_to_shared", "a TMA load writes"),
    ],
)
def test_a_program_does_not_end_before_its_copies(constants, text, doing):
    fault = through(N=1, **constants)
    assert (fault.outcome, fault.message_id) == (Outcome.RACE, "tile_shared_at_the_end")
    assert (fault.line, fault.fields["doing"]) == (line_of(kernels.through, text), doing)


def test_a_buffer_that_is_not_there_is_out_of_bounds():
    fault = hopper(RING=3)
    assert (fault.outcome, fault.message_id) == (Outcome.OUT_OF_BOUNDS, "tile_shared_index")
    assert fault.line == line_of(kernels.hopper_product, "mbarrier.expect")
    assert (fault.fields["index"], fault.fields["count"]) == (2, 2)


def test_a_buffer_that_is_never_freed_is_a_deadlock_of_two_lines():
    fault = specialised(ARRIVES=0)
    assert (fault.outcome, fault.message_id) == (Outcome.TIMED_OUT, "tile_barrier_waits")
    lines = {fault.line, int(fault.fields["others"])}
    assert lines == {
        line_of(kernels.producer, "wait(empty"),
        line_of(kernels.consumer, "wait(ready"),
    }
    assert fault.fields["missing"] == "1 more arrival"


def test_bytes_that_never_come_are_a_deadlock():
    fault = through(BYTES=16)
    assert fault.line == line_of(kernels.through, "mbarrier.wait")
    made = line_of(kernels.through, "mbarrier.init")
    text = sentence(fault.message_id, fault.fields)
    assert f"the barrier, made on line {made}, waits for 16 more bytes" in text


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 fewer arrival than came"), (2, "2 fewer arrivals than came")]
)
def test_more_arrivals_than_a_barrier_counts_are_a_deadlock(count, said):
    fault = through(ARRIVES=count)
    assert (fault.outcome, fault.message_id) == (Outcome.TIMED_OUT, "tile_barrier_waits")
    assert said in fault.fields["missing"]


def test_bytes_that_nobody_expects_are_a_deadlock():
    fault = through(BYTES=-16)
    assert fault.fields["missing"] == "an expect of 16 more bytes"


@pytest.mark.slow
def test_a_program_of_gluon_kernels_runs(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\n"
        "from course.tests.engine.triton.gluon_kernels import described, through\n"
        "x = torch.randn(64, 256, device='cuda').half()\n"
        "out = torch.empty_like(x)\n"
        "through[(1,)](described(x, [64, 64]), described(out, [64, 64]), 4)\n"
        "print('equal:', torch.equal(x, out))\n"
    )
    command = [sys.executable, "-m", "course.run", "--target", "sm_90", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "equal: True" in done.stdout
    assert "1,024" in done.stdout
