"""What a kernel or a launch can do wrong: its outcome, its line and its sentence."""

import math
import re

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from course.engine.equal_stores import heard_by
from course.engine.faults import KernelFault, Outcome
from course.engine.triton.compiling.functions import code_of
from course.engine.triton.launch import launch
from course.engine.triton.running import distinct, machine, operations
from course.tests.engine.faults import raised
from course.tests.engine.triton.running import without_block_pointers
from course.words import fault_panel


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr, MASK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASK:
        tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)
    else:
        tl.store(out_ptr + at, tl.load(x_ptr + at))


def fault_of(kernel, args, grid=(1,), **constants):
    limit = {"step_limit": constants.pop("step_limit")} if "step_limit" in constants else {}
    fault = raised(launch, kernel, args, grid, constants, **limit)
    line = None if fault.line is None else fault.line - code_of(kernel).first_line
    return fault.outcome, line, str(fault)


def test_a_load_past_the_end_is_named_before_memory_is_touched():
    x, out = torch.zeros(10), torch.zeros(12)
    outcome, line, text = fault_of(copy, (x, out, 10), (3,), BLOCK=4, MASK=False)
    assert (outcome, line) == (Outcome.OUT_OF_BOUNDS, 5)
    assert "Program 2 loads from x_ptr[10], which does not exist: x_ptr has 10 elements" in text


def test_masked_lanes_past_the_end_are_fine():
    x, out = torch.arange(10.0), torch.zeros(10)
    launch(copy, (x, out, 10), (3,), {"BLOCK": 4, "MASK": True})
    assert torch.equal(out, x)


def test_a_stray_out_of_a_view_into_the_rest_of_its_storage_is_out_of_bounds():
    store = torch.zeros(100)
    outcome, _, text = fault_of(
        copy, (store[10:20], torch.zeros(12), 10), (3,), BLOCK=4, MASK=False
    )
    assert outcome is Outcome.OUT_OF_BOUNDS
    assert "x_ptr[10]" in text


def test_a_gap_between_the_elements_of_a_strided_view_is_out_of_bounds():
    view = torch.zeros(8, 8)[:, :4]
    outcome, _, text = fault_of(copy, (view, torch.zeros(32), 32), (4,), BLOCK=8, MASK=False)
    assert outcome is Outcome.OUT_OF_BOUNDS
    assert "x_ptr + 4, and no element of x_ptr lies there" in text


@pytest.mark.parametrize("together", [None, 1])
def test_the_first_program_that_strays_is_named_whether_into_a_gap_or_past_the_end(together):
    view = torch.zeros(3, 8)[:, :5]
    fault = raised(
        launch,
        copy,
        (view, torch.zeros(24), 24),
        (3,),
        {"BLOCK": 8, "MASK": False},
        together=together,
    )
    assert (fault.message_id, fault.fields["program"]) == ("tile_gap", "0")


@triton.jit
def backwards(x_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr - 1))


def test_a_negative_offset_is_out_of_bounds():
    outcome, line, text = fault_of(backwards, (torch.zeros(4), torch.zeros(4)))
    assert (outcome, line) == (Outcome.OUT_OF_BOUNDS, 1)
    assert "x_ptr[-1]" in text


@triton.jit
def far(x_ptr, out_ptr, stride):
    tl.store(out_ptr, tl.load(x_ptr + tl.program_id(0) * stride, mask=stride > 0))


def test_an_offset_that_int32_does_not_hold_is_told_as_that():
    x = torch.from_numpy(np.zeros(2**31 + 1, np.int8))  # of which no page is ever touched
    fault = raised(launch, far, (x, torch.zeros(1, dtype=torch.int8), 2**30), (3,))
    assert "x_ptr[-2147483648], which does not exist" in str(fault)
    assert "The offset was 2,147,483,648, and int32 ends at 2,147,483,647." in str(fault)
    step = " ".join(fault_panel.verdict(fault).next_steps)
    assert step.startswith("Make 2,147,483,648 in int64: `tl.program_id(0).to(tl.int64) * stride`")


@triton.jit
def same_place(x_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr + tl.program_id(0)))


def test_two_programs_that_store_to_one_element_race():
    outcome, line, text = fault_of(same_place, (torch.zeros(4), torch.zeros(1)), (4,))
    assert (outcome, line) == (Outcome.RACE, 1)
    assert "stores to out_ptr[0]" in text


@triton.jit
def shifted(x_ptr, n):
    at = tl.program_id(0) * 4 + tl.arange(0, 4)
    x = tl.load(x_ptr + at + 1, mask=at + 1 < n)
    tl.store(x_ptr + at, x, mask=at < n)


def test_a_load_of_what_another_program_stores_is_a_race_however_programs_are_batched():
    for together in (None, 1):
        fault = raised(launch, shifted, (torch.zeros(16), 16), (4,), together=together)
        assert fault.outcome is Outcome.RACE
        assert fault.fields["array"] == "x_ptr"
        assert fault.fields["index"] in (4, 8, 12)


@triton.jit
def stores_around_a_race(out_ptr):
    pid = tl.program_id(0)
    own = tl.load(out_ptr + 20 + pid)
    tl.store(out_ptr + 10 + pid, own)
    left = tl.load(out_ptr + pid // 2)
    mine = tl.load(out_ptr + 10 + pid)
    tl.store(out_ptr + pid, left)
    tl.store(out_ptr + 20 + pid, mine)


@pytest.mark.parametrize("together", [None, 2, 1])
def test_both_lines_of_a_race_are_those_that_touched_the_element(together):
    fault = raised(launch, stores_around_a_race, (torch.zeros(30),), (3,), together=together)
    first = code_of(stores_around_a_race).first_line
    assert fault.outcome is Outcome.RACE
    assert {fault.line - first, fault.fields["other_line"] - first} == {4, 6}


@triton.jit
def mixed(total_ptr, out_ptr):
    tl.atomic_add(total_ptr, 1.0)
    tl.store(out_ptr + tl.program_id(0), tl.load(total_ptr))


def test_a_plain_load_of_what_other_programs_update_atomically_is_a_race():
    outcome, line, _ = fault_of(mixed, (torch.zeros(1), torch.zeros(4)), (4,))
    assert (outcome, line) == (Outcome.RACE, 2)


@triton.jit
def folded(x_ptr, out_ptr):
    at = tl.arange(0, 8)
    tl.store(out_ptr + at % 4, tl.load(x_ptr + at))


def test_one_store_of_two_values_to_one_element_is_a_race_and_of_equal_values_is_none():
    outcome, line, text = fault_of(folded, (torch.arange(8.0), torch.zeros(4)))
    assert (outcome, line) == (Outcome.RACE, 2)
    assert "Program 0 stores two different values to out_ptr[0]" in text
    launch(folded, (torch.ones(8), torch.zeros(4)), (1,))


@triton.jit
def in_bytes(x_ptr, byte_ptr, N: tl.constexpr, SHIFT: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    thin = x_ptr.to(byte_ptr.dtype)
    for byte in tl.static_range(4):
        tl.store(thin + 4 * at + byte, (tl.load(byte_ptr + 4 * at + byte)))
    if SHIFT:
        end = tl.num_programs(0) * N
        x = tl.load(x_ptr + (at + SHIFT) % end)
        tl.store(x_ptr + end + at, x)


@pytest.mark.parametrize("together", [None, 1])
def test_stores_of_single_bytes_through_a_cast_pointer_are_remembered(together):
    x = torch.arange(16.0)
    one_by_one = x.view(torch.int8).clone()
    out = torch.zeros(32)
    launch(in_bytes, (out, one_by_one), (4,), {"N": 4, "SHIFT": 0}, together=together)
    assert torch.equal(out[:16], x)
    launch(in_bytes, (out, one_by_one), (4,), {"N": 4, "SHIFT": 16}, together=together)
    assert torch.equal(out, torch.cat([x, x]))
    fault = raised(
        launch, in_bytes, (out, one_by_one), (4,), {"N": 4, "SHIFT": 4}, together=together
    )
    assert (fault.outcome, fault.fields["array"]) == (Outcome.RACE, "x_ptr")
    assert fault.fields["index"] in range(16)


@triton.jit
def element_then_byte(x_ptr, byte_ptr, STEP: tl.constexpr):
    tl.store(x_ptr + tl.program_id(0), 1.0)
    tl.store(x_ptr.to(byte_ptr.dtype) + 4 * tl.program_id(0) + STEP, 1)


def test_who_stored_an_element_stored_each_of_its_bytes():
    args = (torch.zeros(4), torch.zeros(1, dtype=torch.int8))
    launch(element_then_byte, args, (3,), {"STEP": 3})
    outcome, line, text = fault_of(element_then_byte, args, (3,), STEP=4)
    assert (outcome, line) == (Outcome.RACE, 2)
    assert "x_ptr[1]" in text


def test_in_place_work_on_rows_of_ones_own_is_no_race():
    x = torch.arange(12.0)
    launch(copy, (x, x, 12), (3,), {"BLOCK": 4, "MASK": True})
    assert torch.equal(x, torch.arange(12.0))


@triton.jit
def endless(x_ptr):
    x = tl.load(x_ptr)
    while x < 1:
        x = x * 1.0


def test_an_endless_loop_is_stopped():
    outcome, line, text = fault_of(endless, (torch.zeros(1),), step_limit=500)
    assert outcome is Outcome.TIMED_OUT
    assert line in (2, 3)
    assert "500 statements" in text


@triton.jit
def uneven(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


def test_a_block_that_is_no_power_of_two_does_not_compile():
    outcome, line, text = fault_of(uneven, (torch.zeros(8),), BLOCK=6)
    assert (outcome, line) == (Outcome.DOES_NOT_COMPILE, 1)
    assert "a power of two" in text


@triton.jit
def foreign(x_ptr):
    tl.store(x_ptr, OUTSIDE)


OUTSIDE = 5


def test_a_global_number_does_not_compile():
    outcome, _, text = fault_of(foreign, (torch.zeros(8),))
    assert outcome is Outcome.DOES_NOT_COMPILE
    assert "`OUTSIDE` stands outside the kernel" in text


@triton.jit
def breaks(x_ptr):
    for i in range(4):
        if i == 2:
            break


@triton.jit
def calls_python(x_ptr):
    tl.store(x_ptr, torch.zeros(1))


@triton.jit
def wrong_shapes(x_ptr):
    tl.store(x_ptr + tl.arange(0, 4), tl.arange(0, 4) + tl.arange(0, 8))


@triton.jit
def two_types(x_ptr):
    if tl.program_id(0) == 0:
        y = 1
    else:
        y = 1.5  # type: ignore[assignment]
    tl.store(x_ptr + tl.program_id(0), y)


@pytest.mark.parametrize(
    ("kernel", "word"),
    [
        (breaks, "break"),
        (calls_python, "`zeros` cannot be called"),
        (wrong_shapes, "shape"),
        (two_types, "int32 after one side of this `if`, and fp32 after the other"),
    ],
)
def test_what_is_not_tritons_language_does_not_compile(kernel, word):
    outcome, line, text = fault_of(kernel, (torch.zeros(8),), (2,))
    assert outcome is Outcome.DOES_NOT_COMPILE
    assert line is not None
    assert word in text


ARGUMENTS = [
    ((torch.zeros(4), torch.zeros(4), 4), {"BLOCK": 4}, "needs the constant `MASK`"),
    ((torch.zeros(4), torch.zeros(4)), {"BLOCK": 4, "MASK": True}, "passes nothing for it"),
    ((torch.zeros(4),) * 6, {}, "5 arguments"),
    ((torch.zeros(4), torch.zeros(4), 4), {"BLOCKS": 4}, "no parameter `BLOCKS`"),
    ((torch.zeros(4), torch.zeros(4), 4), {"n": 4, "BLOCK": 4, "MASK": True}, "twice"),
    ((np.zeros(4), torch.zeros(4), 4), {"BLOCK": 4, "MASK": True}, "NumPy array"),
    ((torch.zeros(4, dtype=torch.complex64), torch.zeros(4), 4), {"BLOCK": 4, "MASK": True},
     "complex64"),
    (([1.0], torch.zeros(4), 4), {"BLOCK": 4, "MASK": True}, "type list"),
    ((torch.zeros(4), torch.zeros(4), 4), {"BLOCK": 4, "MASK": True, "num_warps": 3}, "3 warps"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "constants", "words"), ARGUMENTS)
def test_wrong_arguments_are_named(args, constants, words):
    outcome, _, text = fault_of(copy, args, **constants)
    assert outcome is Outcome.DOES_NOT_COMPILE
    assert words in text


def test_more_warps_than_a_program_can_have_are_too_many_resources():
    args, constants = (torch.zeros(4), torch.zeros(4), 4), {"BLOCK": 4, "MASK": True}
    outcome, _, text = fault_of(copy, args, **constants, num_warps=64)
    assert outcome is Outcome.TOO_MANY_RESOURCES
    assert "64 warps" in text


@pytest.mark.parametrize(
    ("grid", "words"),
    [((0,), "no programs"), ((1.5,), "not the shape of a grid"), ((1, 1, 1, 1), "not the shape"),
     (lambda meta: (meta["SIZE"],), "asks for `SIZE`")],
)  # fmt: skip
def test_wrong_grids_are_named(grid, words):
    args = (torch.zeros(4), torch.zeros(4), 4)
    outcome, _, text = fault_of(copy, args, grid, BLOCK=4, MASK=True)
    assert outcome is Outcome.REJECTED
    assert words in text


def test_a_function_that_is_not_jitted_is_named():
    with pytest.raises(KernelFault, match="not a Triton kernel"):
        launch(lambda x: x, (torch.zeros(1),), (1,))


def test_a_fault_leaves_the_counts_so_far():
    fault = raised(
        launch, copy, (torch.zeros(12), torch.zeros(4), 12), (3,), {"BLOCK": 4, "MASK": False}
    )
    assert fault.traffic is not None
    assert fault.traffic.graded().sectors("x_ptr", "load") == 3


@triton.jit
def speaks(x_ptr):
    tl.device_print("x", tl.load(x_ptr + tl.program_id(0)))


def test_device_print_speaks_for_each_program(capsys):
    launch(speaks, (torch.tensor([1.5, 2.5]),), (2,))
    assert capsys.readouterr().out.splitlines() == ["program 0: x: 1.5", "program 1: x: 2.5"]


@triton.jit
def eight_bits(x_ptr):
    x = tl.load(x_ptr).to(tl.float8e5)
    tl.store(x_ptr, x.to(tl.float32))


def test_eight_bit_floats_are_refused_in_words():
    outcome, _, text = fault_of(eight_bits, (torch.zeros(1),))
    assert outcome is Outcome.NOT_MEASURED
    assert "8-bit floats" in text


def test_the_canary_sings():
    from course.engine.triton import canary

    assert canary.counts_are_right()
    canary.require_right_counts()


@pytest.mark.parametrize(
    ("rules", "name", "wrong"),
    [
        (vars(distinct), "_SHIFT", 6),  # sectors of 64 bytes
        (machine._OWN, "tt.store", lambda *args: None),
        (operations.RULES, "arith.addf", lambda operation, a, b: a),
    ],
    ids=["_SHIFT", "tt.store", "arith.addf"],
)
def test_the_canary_hears_a_wrong_count_and_a_wrong_result(monkeypatch, rules, name, wrong):
    from course.engine.triton import canary

    monkeypatch.setitem(rules, name, wrong)
    assert not canary.counts_are_right.__wrapped__()


def test_a_triton_on_which_counts_are_off_is_refused_in_words(monkeypatch):
    from course.engine.triton import canary

    monkeypatch.setattr(canary, "counts_are_right", lambda: False)
    with pytest.raises(KernelFault, match="nothing is measured with it"):
        canary.require_right_counts()


@triton.jit
def told_statically(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    for _ in range(3):
        tl.static_print("each turn", x.shape[0])
    for at in tl.static_range(2):
        tl.static_print("unrolled", at, N)
    tl.store(out_ptr + tl.program_id(0) * N + tl.arange(0, N), x)


def test_static_print_speaks_once_as_the_compiler_does(capsys):
    x = torch.ones(4 * 16)
    launch(told_statically, [x, torch.zeros_like(x), 16], (4,), together=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["each turn 16", "unrolled 0 16", "unrolled 1 16"]


@triton.jit
def asserts(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.device_assert(x < 3, "too big")
    tl.store(out_ptr + tl.arange(0, N), x + 1)


asserts_always = triton.jit(asserts.fn, debug=True)


@pytest.mark.parametrize("how", ["silent", "launch", "decorator", "knob"])
def test_assertions_are_held_where_debugging_is_asked_for_as_on_a_gpu(how, monkeypatch):
    if how == "knob":
        monkeypatch.setattr(triton.knobs.runtime, "debug", True)
    kernel = asserts_always if how == "decorator" else asserts
    args = (torch.arange(8), torch.zeros(8, dtype=torch.int64), 8)
    options = {"debug": True} if how == "launch" else {}
    if how == "silent":
        launch(kernel, args, (1,), options)
        return
    with pytest.raises(KernelFault, match="fails the kernel's own assertion: too big") as caught:
        launch(kernel, args, (1,), options)
    assert caught.value.line == asserts.starting_line_number + 3


def test_with_debug_an_integer_that_overflows_is_an_assertion_of_tritons():
    args = (torch.full((8,), 2**31 - 1, dtype=torch.int32), torch.zeros(8, dtype=torch.int32), 8)
    with pytest.raises(KernelFault, match="int32 overflow"):
        launch(adds_one, args, (1,), {"debug": True})


@triton.jit
def adds_one(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.load(x_ptr + tl.arange(0, N)) + 1)


@triton.jit
def indexes(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, x_ptr[i])


def plain_helper(a):
    return a + 1


@triton.jit
def calls_a_plain_function(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, plain_helper(tl.load(x_ptr + i)))


@triton.jit
def defined_on_one_side(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    if tl.program_id(0) > 9:
        y = 1.0
    tl.store(out_ptr + i, tl.load(x_ptr + i) + y)


@triton.jit
def without_its_prefix(x_ptr, out_ptr, N: tl.constexpr):
    i = arange(0, N)  # noqa: F821
    tl.store(out_ptr + i, 0.0)


@triton.jit
def nowhere_defined(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, offset + i)  # noqa: F821


@triton.jit
def prints_an_f_string(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    print(f"i={i}")


@triton.jit
def a_shape_without_a_comma(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.zeros(N, tl.float32))


@triton.jit
def asks_a_tuple(x_ptr, out_ptr, N: tl.constexpr):
    if N in (4, 8):
        tl.store(out_ptr, 0.0)


@triton.jit
def matrix_product(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N)[:, None])
    tl.store(out_ptr, x @ x)


@triton.jit
def has_a_dict(x_ptr, out_ptr, N: tl.constexpr):
    both = {"a": 1}  # noqa: F841


@triton.jit
def widens_on_one_side(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.program_id(0)
    if at > 3:
        at = tl.load(x_ptr).to(tl.int64)
    tl.store(out_ptr + at, 0.0)


@triton.jit
def wide_number(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.program_id(0) | 0x80000000)


@triton.jit
def type_of_torch(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.load(x_ptr).to(torch.float16))


@triton.jit
def pythons_root(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, math.sqrt(tl.load(x_ptr)))


@triton.jit
def tanh_of_halves(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, libdevice.tanh(tl.load(x_ptr).to(tl.float16)))


@triton.jit(noinline=True)
def called(x):
    return x + 1


@triton.jit
def calls_with_a_block(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, called(tl.load(x_ptr + i)))


@triton.jit
def no_such_function(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.tanh(tl.load(x_ptr)))


@triton.jit
def no_such_method(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.load(x_ptr + tl.arange(0, N)).mean())


@triton.jit
def two_of_one(x_ptr, out_ptr, N: tl.constexpr):
    a, b = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, a + b)


@triton.jit
def masks_with_a_number(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, 0.0, mask=i)


@triton.jit
def exponent_of_halves(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.exp(tl.load(x_ptr).to(tl.float16)))


@triton.jit
def shifts_a_float(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.load(x_ptr) << 2)


@triton.jit
def wants_another_constant(x_ptr, out_ptr, N: tl.constexpr):
    tl.static_assert(N < 8, "N is at most 7")


@triton.jit
def pointer_of_another_shape(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(x_ptr + i)[:, None] + i)


@triton.jit
def converts_to_a_pointer(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.load(x_ptr).to(out_ptr.dtype))


@triton.jit
def exponent_of_numpy(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, np.exp(tl.load(x_ptr)))


@triton.jit
def defines_a_function(x_ptr, out_ptr, N: tl.constexpr):
    def double(x):
        return x + x

    tl.store(out_ptr, double(tl.load(x_ptr)))


@without_block_pointers
def test_a_mask_of_a_block_pointer_is_told_by_what_it_takes():
    fault = raised(launch, masks_a_block_pointer, (torch.zeros(8), torch.zeros(8), 8), (1,))
    assert "nothing is loaded with a mask" in str(fault)
    assert "`boundary_check=(0, 1)`" in " ".join(fault_panel.verdict(fault).next_steps)


@triton.jit
def masks_a_block_pointer(x_ptr, out_ptr, N: tl.constexpr):
    block = tl.make_block_ptr(x_ptr, (N,), (1,), (0,), (N,), (0,))
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.load(block, mask=i < N))


@pytest.mark.parametrize(
    ("kernel", "line", "said", "step"),
    [
        (asks_a_tuple, 2, "`in` is not part of Triton's language", "Write `a == x or a == y`"),
        (matrix_product, 3, "`@` is not part of Triton's language", "Write `tl.dot(a, b)`"),
        (has_a_dict, 2, "A dict is not part of Triton's language", "Write a tuple"),
        (
            widens_on_one_side,
            3,
            "`at` is int32 after one side of this `if`, and int64 after the",
            "`n.to(tl.int64)` beside an int64",
        ),
        (wide_number, 2, "2,147,483,648 does not fit into int32", "`x.to(tl.uint32)`"),
        (type_of_torch, 2, "A type of PyTorch's", "`tl.float16` for `torch.float16`"),
        (pythons_root, 2, "to a function of Python's", "`tl.exp(x)` for `math.exp(x)`"),
        (no_such_function, 2, "`tl` has no `tanh`", "`libdevice.tanh(x)`"),
        (no_such_method, 2, "has no `mean`", "`tl.sum(x, 0) / n`"),
        (two_of_one, 2, "several names to the parts of one block", "Load each by itself"),
        (masks_with_a_number, 3, "has to be a comparison", "`mask=offsets < N`"),
        (exponent_of_halves, 2, "takes fp32 or fp64, and gets fp16", "`x.to(tl.float32)`"),
        (tanh_of_halves, 2, "does not take float16", "`x.to(tl.float32)`"),
        (calls_with_a_block, 3, "called is marked noinline", "Check the types"),
        (shifts_a_float, 2, "takes whole numbers, and gets float32", "`x.to(tl.int32)`"),
        (wants_another_constant, 2, "is false: N is at most 7", "Which constants"),
        (pointer_of_another_shape, 3, "to have shape [8, 8] but got [8]", "the types and shapes"),
        (converts_to_a_pointer, 2, "to the type of a pointer", "`x_ptr.dtype.element_ty`"),
        (exponent_of_numpy, 1, "`exp` cannot be called in a kernel", "Use a function of `tl`"),
        (defines_a_function, 2, "A function within a kernel is not part", "Write one above it"),
        (indexes, 3, "Brackets do not read memory", "`tl.load("),
        (calls_a_plain_function, 3, "it has no `@triton.jit`", "`@triton.jit` above your own"),
        (
            defined_on_one_side,
            5,
            "`y` is not defined on this line",
            "outside of loops and branches",
        ),
        (without_its_prefix, 2, "`arange` is not defined", "`tl.arange`"),
        (nowhere_defined, 3, "`offset` is not defined", "Correct the spelling"),
        (prints_an_f_string, 3, "gets a value of the run", "tl.device_print("),
        (a_shape_without_a_comma, 3, "shape of a block is a tuple", "with the comma"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_direct_launch_is_told_as_a_check_is(kernel, line, said, step):
    fault = raised(launch, kernel, (torch.zeros(8), torch.zeros(8), 8), (1,))
    assert said in str(fault)
    assert step in " ".join(fault_panel.verdict(fault).next_steps)
    assert fault.line == kernel.starting_line_number + line


@triton.jit
def turned(x, between, out, BLOCK: tl.constexpr, BARRIER: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(between + i, tl.load(x + i))
    if BARRIER:
        tl.debug_barrier()
    tl.store(out + i, tl.load(between + (i + 32) % BLOCK))


@triton.jit
def sums_so_far(x, between, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for step in tl.static_range(3):
        back = tl.load(out + i - (1 << step), mask=i >= 1 << step, other=0.0)
        tl.store(out + i, tl.load(out + i) + back)


@triton.jit
def halves(x, between, out, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK // 2), tl.arange(0, BLOCK)
    tl.store(between + i, 1.0)
    tl.store(between + BLOCK // 2 + i, 2.0)
    tl.store(out + j, tl.load(between + j))


@triton.jit
def one_of_a_block(x, between, out, BLOCK: tl.constexpr, BARRIER: tl.constexpr):
    i, own = tl.arange(0, BLOCK), tl.load(between + BLOCK - 1)
    tl.store(between + i, tl.load(x + i))
    if BARRIER:
        tl.debug_barrier()
    tl.store(out, tl.load(between + BLOCK - 1) + own)


@triton.jit
def own_elements(x, between, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for _ in range(3):
        tl.store(between + i, tl.load(x + i) + tl.load(between + i))
    tl.store(out + i, tl.load(between + i))


@triton.jit
def marks(places, seen, BLOCK: tl.constexpr):
    for part in range(2):
        i = (tl.program_id(0) * 2 + part) * BLOCK + tl.arange(0, BLOCK)
        tl.store(seen + tl.load(places + i), 1)


def test_equal_stores_of_several_programs_and_warps_are_heard_of():
    places, seen = torch.arange(2048, dtype=torch.int32) * 7 % 300, torch.zeros(300)
    heard: list[KernelFault] = []
    with heard_by(heard.append):
        launch(marks, (places, seen), (4,), {"BLOCK": 256})
    assert seen.sum() == 300
    assert {fault.message_id for fault in heard} == {"tile_race"}


def passed_on():
    return torch.arange(256.0), torch.zeros(256), torch.zeros(256)


@pytest.mark.parametrize(
    ("kernel", "constants", "line", "words"),
    [
        (turned, {"BARRIER": False}, 5, r"Warp \d of program 0 loads between\[\d+\], and warp \d "),
        (one_of_a_block, {"BARRIER": False}, 5, r"Warp 0 of .* loads between\[255\], and warp 3 "),
        (halves, {}, 4, r"Warp \d of program 0 loads between\[\d+\], and warp \d stores to it"),
        (sums_so_far, {}, 4, r"Warp \d of program 0 stores to out\[\d+\], and .* it, on line \d"),
    ],
)
def test_nothing_but_a_barrier_orders_the_warps_of_a_program(kernel, constants, line, words):
    outcome, found, text = fault_of(kernel, passed_on(), BLOCK=256, **constants)
    assert (outcome, found) == (Outcome.RACE, line)
    assert re.search(words, text)
    assert "with no barrier between" in text
    launch(kernel, passed_on(), (1,), {"BLOCK": 256, "num_warps": 1, **constants})


@pytest.mark.parametrize(
    ("kernel", "constants"),
    [(turned, {"BARRIER": True}), (one_of_a_block, {"BARRIER": True}), (own_elements, {})],
)
def test_warps_that_a_barrier_orders_and_elements_of_one_warp_are_fine(kernel, constants):
    launch(kernel, passed_on(), (1,), {"BLOCK": 256, **constants})
