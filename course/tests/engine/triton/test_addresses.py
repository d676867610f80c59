"""Addresses that a program keeps as numbers, and what a kernel makes of them."""

import gc

import pytest
import torch
import triton
import triton.language as tl

from course.engine.faults import KernelFault, Outcome
from course.engine.triton.launch import launch
from course.engine.triton.running.space import GAP_BYTES, Space
from course.engine.triton.running.tensors import uninitialised

WIDE = 16


@triton.jit
def gathered(table_ptr, out_ptr, ROWS: tl.constexpr, WIDE: tl.constexpr):
    row, at = tl.arange(0, ROWS), tl.arange(0, WIDE)
    first = tl.load(table_ptr + row).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + row[:, None] * WIDE + at, tl.load(first[:, None] + at))


@triton.jit
def a_row_each(table_ptr, out_ptr, WIDE: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, WIDE)
    first = tl.load(table_ptr + row).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + row * WIDE + at, tl.load(first + at))


@triton.jit
def raised(table_ptr, x_ptr, WIDE: tl.constexpr):
    at = tl.arange(0, WIDE)
    first = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(first + at, tl.load(x_ptr + at) + 1)


@triton.jit
def noted(x_ptr, table_ptr, ROW_BYTES: tl.constexpr):
    tl.store(table_ptr + tl.program_id(0), x_ptr.to(tl.int64) + tl.program_id(0) * ROW_BYTES)


@triton.jit
def by_detours(x_ptr, out_ptr, away, back, WIDE: tl.constexpr):
    at = tl.arange(0, WIDE)
    far = x_ptr + away + at * (away // 2)
    tl.store(out_ptr + at, tl.load(far + 3 + at * (back // 2) + back + at - 3))


def rows(count=4, wide=WIDE):
    return [torch.rand(wide) for _ in range(count)]


def table(space, tensors, by=0):
    return torch.tensor([space.address_of(one) + by for one in tensors])


def site(traffic, array):
    (found,) = (one for one in traffic.sites if one.array == array)
    return found


@pytest.mark.parametrize(("wide", "requests", "sectors"), [(64, 64, 1024), (2, 4, 64), (1, 4, 128)])
def test_a_block_of_addresses_leads_to_its_tensors(wide, requests, sectors) -> None:
    # as its PTX has it: 32-bit loads, 16 a thread of 32 rows of 64; where fewer elements than
    # threads are, some warps load what others do
    space, given = Space(), rows(32, wide)
    out = torch.full((32, wide), -1.0)
    named = {"ROWS": 32, "WIDE": wide}
    traffic = launch(gathered, (table(space, given), out), (1,), named, space=space)
    assert torch.equal(out, torch.stack(given))
    found = site(traffic, "first")
    assert (found.requests, found.sectors) == (requests, sectors)
    assert found.footprint_bytes == 32 * max(32, wide * 4)


def test_a_view_is_reached_by_its_own_address_and_ends_where_it_ends() -> None:
    space, x, out = Space(), torch.rand(4, WIDE), torch.zeros(4, WIDE)
    given = table(space, x)
    launch(a_row_each, (given, out, WIDE), (4,), space=space)
    assert torch.equal(out, x)
    with pytest.raises(KernelFault) as found:
        launch(a_row_each, (given, torch.zeros(8 * WIDE), 2 * WIDE), (4,), space=space)
    assert found.value.fields | {"array": "first", "index": WIDE} == found.value.fields
    wider = torch.zeros(4, 2 * WIDE)
    launch(a_row_each, (given[:3], wider, 2 * WIDE), (3,), space=space, whole=True)
    assert torch.equal(wider[1], x[1:3].reshape(-1))


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (4, "tile_out_of_bounds"), (2, "tile_askew"), (1 << 40, "tile_no_tensor"),
        (-64, "tile_out_of_bounds"), (2 * GAP_BYTES, "tile_no_tensor"),
    ],
)  # fmt: skip
def test_a_wrong_address_is_a_fault(by, message) -> None:
    space, (x,) = Space(), rows(1)
    with pytest.raises(KernelFault) as found:
        launch(a_row_each, (table(space, [x], by), torch.zeros(WIDE), WIDE), (1,), space=space)
    assert (found.value.outcome, found.value.message_id) == (Outcome.OUT_OF_BOUNDS, message)


def test_memory_that_is_gone_is_nowhere_and_its_address_is_nobody_elses() -> None:
    space, given = Space(), rows(2)
    kept = table(space, given)
    del given[1]
    gc.collect()
    assert torch.equal(table(space, given), kept[:1])
    assert table(space, rows(1)) not in kept
    with pytest.raises(KernelFault) as found:
        launch(a_row_each, (kept, torch.zeros(2 * WIDE), WIDE), (2,), space=space)
    assert found.value.message_id == "tile_no_tensor"
    assert found.value.fields["address"] == hex(int(kept[1]))


def test_an_address_that_one_kernel_keeps_leads_there_from_the_next() -> None:
    space, x, out = Space(), torch.rand(4, WIDE), torch.zeros(4, WIDE)
    kept = torch.zeros(4, dtype=torch.int64)
    launch(noted, (x, kept, 4 * WIDE), (4,), space=space)
    assert kept.tolist() == table(space, x).tolist()
    launch(a_row_each, (kept, out, WIDE), (4,), space=space)
    assert torch.equal(out, x)


@pytest.mark.parametrize("reads", ["another", "the stored one"])
def test_stores_by_number_and_what_others_load_there_race(reads) -> None:
    space, (x, y) = Space(), rows(2)
    before = y + 1
    args = table(space, [x]), y if reads == "another" else x, WIDE
    launch(raised, args, (1,), space=space)
    assert torch.equal(x, before) == (reads == "another")
    with pytest.raises(KernelFault) as found:
        launch(raised, (table(space, [x, x]), *args[1:]), (2,), space=space)
    assert (found.value.outcome, found.value.fields["array"]) == (Outcome.RACE, "first")
    launch(raised, (table(space, [x, torch.zeros(WIDE)]), y, WIDE), (1,), space=space)


def test_what_nothing_has_written_is_told_behind_an_address_too() -> None:
    space, x = Space(), uninitialised(torch.zeros(WIDE))
    given = table(space, [x])
    with pytest.raises(KernelFault) as found:
        launch(a_row_each, (given, torch.zeros(WIDE), WIDE), (1,), space=space)
    assert found.value.outcome is Outcome.UNINITIALISED
    launch(raised, (given, torch.ones(WIDE), WIDE), (1,), space=space)
    launch(a_row_each, (given, torch.zeros(WIDE), WIDE), (1,), space=space)


@pytest.mark.parametrize("away", [1 << 38, -(1 << 38), 1 << 44, -(1 << 44)])
def test_a_pointer_that_leaves_its_tensor_on_the_way_comes_back_to_it(away) -> None:
    # 2^38 floats further begins the region of another tensor: descriptors of ragged parts do so
    x, out = torch.rand(WIDE), torch.zeros(WIDE)
    launch(by_detours, (x, out, away, -away, WIDE), (1,))
    assert torch.equal(out, x)
    for past in (1 << 38, -(1 << 38), 1 << 58):
        with pytest.raises(KernelFault) as found:
            launch(by_detours, (x, out, away, past - away, WIDE), (1,))
        assert found.value.message_id == "tile_no_tensor"


@triton.jit
def many_turns(out_ptr, n):
    total = 0
    for i in range(n):
        total += i & 3
    tl.store(out_ptr, total)


def test_a_program_of_somebodys_own_may_have_longer_loops_than_a_cell():
    out = torch.zeros(1, dtype=torch.int32)
    launch(many_turns, (out, 30_000), (1,), space=Space())
    assert out.item() == 45_000
    with pytest.raises(KernelFault) as fault:
        launch(many_turns, (out, 30_000), (1,))
    assert fault.value.outcome is Outcome.TIMED_OUT


@triton.jit
def loads_for_nothing(x_ptr, out_ptr):
    tl.load(x_ptr)
    tl.store(out_ptr, 1)


def test_what_the_compiler_leaves_out_is_a_fault_in_a_lesson_alone():
    nothing, out = torch.empty(1, 0), torch.zeros(1, dtype=torch.int32)
    launch(loads_for_nothing, (nothing, out), (1,), space=Space())
    assert out.item() == 1
    with pytest.raises(KernelFault) as fault:
        launch(loads_for_nothing, (nothing, out), (1,))
    assert fault.value.outcome is Outcome.OUT_OF_BOUNDS
