"""Memory that nothing has written: outputs, and what a launcher allocates with `torch.empty`."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from course.check.check import check_source
from course.engine.faults import KernelFault, Outcome
from course.engine.job import Output, Run
from course.engine.triton.compiling.functions import code_of
from course.engine.triton.engine import TritonEngine
from course.engine.triton.launch import launch
from course.engine.triton.running.tensors import uninitialised
from course.tests.engine.faults import raised
from course.tests.engine.triton.running import without_block_pointers
from course.tests.engine.triton.test_check import ADD, ADD_CELL
from course.tests.engine.triton.test_locks import with_a_first_one
from course.words.sentences import next_step


def empty(*shape, dtype=torch.float32):
    return uninitialised(torch.full(shape, 7, dtype=dtype))


def fault_of(kernel, make, grid=(1,), **constants):
    """What a launch on `make`'s tensors comes to: all programs at once as one by one."""
    faults = []
    for together in (None, 2, 1):
        faults.append(raised(launch, kernel, make(), grid, constants, together=together))
    first, *others = faults
    assert all(other.outcome is first.outcome for other in others)
    if first.outcome is not Outcome.RACE:  # of which each path meets another end first
        assert all((o.line, o.fields) == (first.line, first.fields) for o in others)
    first.line -= code_of(kernel).first_line
    return first


def runs(kernel, make, grid=(1,), **constants):
    results = []
    for together in (None, 1):
        tensors = make()
        launch(kernel, tensors, grid, constants, together=together)
        results.append(tensors)
    for fast, slow in zip(*results, strict=True):
        assert torch.equal(torch.as_tensor(fast), torch.as_tensor(slow))
    return results[0]


@triton.jit
def copied(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def greatest(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    old = tl.load(out + at, mask=at < n, other=0.0)
    tl.store(out + at, tl.maximum(old, tl.load(x + at, mask=at < n)), mask=at < n)


def test_an_output_that_is_read_before_it_is_written_is_named_with_its_element_and_program():
    fault = fault_of(greatest, lambda: [torch.ones(10), empty(10), 10], (3,), BLOCK=4)
    assert (fault.outcome, fault.line) == (Outcome.UNINITIALISED, 2)
    said = "Program 0 loads out[0], and nothing has written it: an output, like memory from"
    assert said in str(fault)
    step = next_step(fault.message_id, fault.fields, "triton")
    assert "torch.zeros" in step
    assert "in a variable" in step


def test_the_same_kernel_may_read_what_a_fill_or_a_launch_before_has_written():
    x = torch.arange(10.0)
    [_, out, _] = runs(greatest, lambda: [x, torch.zeros(10), 10], (3,), BLOCK=4)
    assert torch.equal(out, x)
    out = empty(10)
    launch(copied, [x, out, 10], (3,), {"BLOCK": 4})
    launch(greatest, [x, out, 10], (3,), {"BLOCK": 4})
    assert torch.equal(out, x)


def test_a_launch_before_that_left_elements_out_leaves_them_unwritten():
    def make():
        out = empty(10)
        launch(copied, [torch.ones(10), out, 6], (3,), {"BLOCK": 4})
        return [torch.ones(10), out, 10]

    assert fault_of(greatest, make, (3,), BLOCK=4).fields["index"] == 6


def test_each_view_of_the_storage_knows_what_the_others_wrote():
    def halves(n, row):
        out = empty(2, 8)
        launch(copied, [torch.ones(n), out[1], n], (2,), {"BLOCK": 4})
        return [torch.ones(8), out.view(16)[8 * row :][:8].view(2, 4), 8]

    runs(greatest, lambda: halves(8, 1), (2,), BLOCK=4)
    assert fault_of(greatest, lambda: halves(5, 1), (2,), BLOCK=4).fields["index"] == (1, 1)
    assert fault_of(greatest, lambda: halves(8, 0), (2,), BLOCK=4).fields["index"] == (0, 0)


@triton.jit
def exchanged(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_xchg(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def found_by_an_exchange(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    old = tl.atomic_xchg(out + at, tl.load(x + at, mask=at < n), mask=at < n)
    tl.store(x + at, old, mask=at < n)


def test_an_exchange_whose_result_goes_nowhere_writes_and_does_not_read():
    x = torch.arange(10.0)
    out = empty(10)
    launch(exchanged, [x, out, 8], (3,), {"BLOCK": 4})
    launch(copied, [out, empty(8), 8], (2,), {"BLOCK": 4})
    fault = fault_of(copied, lambda: [out, empty(10), 10], (3,), BLOCK=4)
    assert (fault.outcome, fault.fields["index"]) == (Outcome.UNINITIALISED, 8)
    fault = fault_of(found_by_an_exchange, lambda: [x, empty(10), 10], (3,), BLOCK=4)
    assert (fault.outcome, fault.line) == (Outcome.UNINITIALISED, 2)


@triton.jit
def later(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))
    total = tl.sum(tl.load(out + at), axis=0)
    tl.store(out + at, total - tl.load(out + at))


def test_a_program_reads_back_what_it_stored():
    [_, out] = runs(later, lambda: [torch.arange(8.0), empty(8)], (2,), BLOCK=4)
    assert torch.equal(out, torch.tensor([6.0, 5, 4, 3, 18, 17, 16, 15]))


@triton.jit
def neighbours(scratch, out):
    me = tl.program_id(0)
    other = tl.num_programs(0) - 1 - me
    tl.store(scratch + me, me)
    tl.store(out + me, tl.load(scratch + other))


@triton.jit
def neighbours_first(scratch, out):
    me = tl.program_id(0)
    other = tl.num_programs(0) - 1 - me
    tl.store(out + me, tl.load(scratch + other))
    tl.store(scratch + me, me)


@pytest.mark.parametrize("kernel", [neighbours, neighbours_first])
def test_a_read_of_what_another_program_stores_stays_a_race(kernel):
    assert fault_of(kernel, lambda: [empty(4), empty(4)], (4,)).outcome is Outcome.RACE


@triton.jit
def second_in_line(out, spare):
    if tl.program_id(0) == 1:
        tl.store(out + 1, tl.load(spare + 1))
    else:
        pass
    tl.store(out + 4 + tl.program_id(0), tl.load(spare + 4 + tl.program_id(0)))


def test_it_is_the_first_program_that_is_named_however_programs_are_batched():
    fault = fault_of(second_in_line, lambda: [empty(8), empty(8)], (3,))
    assert (fault.fields["program"], fault.fields["index"], fault.line) == ("0", 4, 5)


@triton.jit
def added(total):
    tl.atomic_add(total + tl.program_id(0) % 2, 1.0)


def test_an_atomic_reads():
    fault = fault_of(added, lambda: [empty(2)], (4,))
    assert (fault.outcome, fault.line) == (Outcome.UNINITIALISED, 1)
    assert "Program 0 updates total[0]" in str(fault)
    [total] = runs(added, lambda: [torch.zeros(2)], (4,))
    assert torch.equal(total, torch.tensor([2.0, 2.0]))


@triton.jit
def led(index, x, out):
    tl.store(out, tl.load(x + tl.load(index)))


@triton.jit
def waited_for(flag):
    while tl.load(flag) != 1:
        pass


def test_what_follows_of_such_a_value_is_not_what_is_told():
    fault = fault_of(led, lambda: [empty(1, dtype=torch.int32), torch.ones(4), empty(1)])
    assert fault.message_id == "tile_uninitialised"
    assert fault_of(waited_for, lambda: [empty(1)]).outcome is Outcome.UNINITIALISED


@triton.jit
def in_halves(x, out, bytes_, HALVES: tl.constexpr):
    at = tl.arange(0, 8)
    bits = tl.load(x + at).to(tl.int16, bitcast=True)
    thin = out.to(bytes_.dtype)
    for half in tl.static_range(HALVES):
        tl.store(thin + 2 * at + half, (bits >> 8 * half).to(tl.int8))


@triton.jit
def doubled(out):
    at = tl.arange(0, 8)
    tl.store(out + at, tl.load(out + at) * 2)


def test_an_element_is_written_when_all_its_bytes_are():
    x = torch.arange(8.0).half()

    def make(halves):
        out = empty(8, dtype=torch.float16)
        small = torch.zeros(1, dtype=torch.int8)
        launch(in_halves, [x, out, small], (1,), {"HALVES": halves})
        return [out]

    [out] = runs(doubled, lambda: make(2))
    assert torch.equal(out, 2 * x)
    assert fault_of(doubled, lambda: make(1)).outcome is Outcome.UNINITIALISED


@triton.jit
def described(base, out, N: tl.constexpr):
    window = tl.make_tensor_descriptor(base, [N, N], [N, 1], [N, N])
    tl.store(out + tl.arange(0, N), tl.sum(window.load([0, 0]), axis=1))


def test_a_descriptor_loads_too():
    assert fault_of(described, lambda: [empty(8, 8), empty(8)], N=8).fields["array"] == "base"
    [_, out] = runs(described, lambda: [torch.ones(8, 8), empty(8)], N=8)
    assert torch.equal(out, torch.full((8,), 8.0))


@without_block_pointers
def test_a_block_pointer_loads_too():
    fault = fault_of(through_a_window, lambda: [empty(8), empty(8)])
    assert (fault.outcome, fault.fields["index"]) == (Outcome.UNINITIALISED, 0)
    runs(through_a_window, lambda: [torch.ones(8), empty(8)])


@triton.jit
def through_a_window(x, out):
    window = tl.make_block_ptr(x, (8,), (1,), (0,), (8,), (0,))
    tl.store(out + tl.arange(0, 8), tl.load(window))


def test_a_lock_hands_on_what_its_first_holder_wrote():
    x = torch.arange(5.0)
    lock, count = (torch.zeros(1, dtype=torch.int32) for _ in range(2))
    total = empty(1)
    launch(with_a_first_one, [lock, count, total, x], (5,), {})
    assert total.item() == 10


def test_what_a_kernel_of_ones_own_gets_counts_as_written():
    out = torch.empty(10)
    launch(greatest, [torch.ones(10), out, 10], (3,), {"BLOCK": 4})


# ---------------------------------------------------------------- launchers of a cell

_CELL = """\
import torch
import triton
import triton.language as tl

@triton.jit
def part(x, parts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(parts + tl.program_id(0), tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))

@triton.jit
def whole(parts, out, count, MOST: tl.constexpr):
    at = tl.arange(0, MOST)
    tl.store(out, tl.sum(tl.load(parts + at, mask=at < count, other=0.0), axis=0))

@triton.autotune([triton.Config({"BLOCK": 4})], key=["n"])
@triton.jit
def added(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))

def total(x):
    n = x.shape[0]
    parts = torch.empty(8, device=x.device)
    out = torch.empty((1,), device=x.device)
    part[(triton.cdiv(n, 4),)](x, parts, n, BLOCK=4)
    whole[(1,)](parts, out, triton.cdiv(n, 4), MOST=8)
    return out
"""
_SPLIT = """\
    out = torch.zeros(1, device=x.device)
    added[(triton.cdiv(n, 4),)](x, out, n)
    return out
"""


def called(source):
    """What the launcher gives for 0 to 9, or the fault that it comes to."""
    arguments = {"x": np.arange(10, dtype=np.float32)}
    run = Run(source, "total", arguments, (1,), (), 0, 5000, dialect="triton",
              outputs=(Output("out", (1,), "float32"),))  # fmt: skip
    found = []
    for together in (None, 1):
        try:
            found.append(
                float(TritonEngine(compiles=False, together=together)(run).arrays["out"][0])
            )
        except KernelFault as fault:
            found.append((fault.outcome, fault.line, str(fault.fields)))
    assert found[0] == found[1]
    return found[0]


def _split(filling):
    return _CELL.partition("    parts = ")[0] + _SPLIT.replace("zeros", filling)


def test_scratch_that_one_launch_fills_and_the_next_reads():
    assert called(_CELL) == 45
    assert called(_split("zeros")) == 45


@pytest.mark.parametrize(
    ("source", "kernel", "array"),
    [
        (_CELL.replace("parts, n, BLOCK=4)\n", "parts, 3, BLOCK=4)\n", 1)
         .replace("part[(triton.cdiv(n, 4),)]", "part[(1,)]"), "whole", "parts"),
        (_CELL.replace("at < count, other=0.0", "at < count + 1, other=0.0"), "whole", "parts"),
        (_CELL.replace("torch.empty(8, device=x.device)", "x.new_empty(8)")
         .replace("    part[", "    whole[(1,)](parts, out, 2, MOST=8)\n    part["),
         "whole", "parts"),
        (_split("empty"), "added", "out"),
    ],
    ids=["one_part_of_three", "one_too_many", "in_the_wrong_order", "split_over_empty"],
)  # fmt: skip
def test_scratch_that_is_read_and_never_written(source, kernel, array):
    outcome, line, fields = called(source)
    assert outcome is Outcome.UNINITIALISED
    lines = source.splitlines()
    assert max(n for n in range(line) if lines[n].startswith("def ")) == next(
        n for n, text in enumerate(lines) if text.startswith(f"def {kernel}(")
    )
    assert f"'array': '{array}'" in fields


def test_an_output_of_a_run_is_unwritten_and_its_other_arrays_are_not():
    source = _CELL.replace("tl.store(out, ", "tl.store(out, tl.load(out) * 0 + ")
    arguments = {"parts": np.ones(8, np.float32), "out": np.zeros(1, np.float32),
                 "count": np.int32(8), "MOST": np.int64(8)}  # fmt: skip
    run = Run(source, "whole", arguments, (1,), (), 0, 5000, dialect="triton",
              unwritten=("out",))  # fmt: skip
    assert raised(TritonEngine(compiles=False), run).fields["array"] == "out"


# ---------------------------------------------------------------- checks


STORE = "tl.store(out_ptr + i, x + y, mask=mask)"


def checked(store):
    return check_source(ADD, ADD_CELL.replace(STORE, store))


def test_a_check_knows_its_outputs():
    early = checked("tl.store(out_ptr + i, tl.maximum(tl.load(out_ptr + i, mask), x + y), mask)")
    assert (early.outcome, early.message_id) == (Outcome.UNINITIALISED, "tile_uninitialised")
    assert early.line == ADD_CELL.splitlines().index(f"    {STORE}") + 1
    some = "few = i < n - n // 2\n    tl.store(out_ptr + i, x + y, few)\n"
    back = f"{some}    tl.store(out_ptr + i, tl.load(out_ptr + i, few), few)"
    assert checked(back).message_id == "never_written"
