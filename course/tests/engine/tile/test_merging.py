"""Loads that Triton's compiler merges are counted once, and no others."""

import re

import pytest
import torch
import triton
import triton.language as tl

from course.engine.triton.versions import HEARS_DISABLE_LICM, VOLATILE_LOADS_WRITE
from course.tests.engine.tile.running import both, without_block_pointers

N = 2048
SECTORS = N * 4 // 32


def load_sectors(kernel, *numbers: int) -> int:
    x, out = torch.randn(N), torch.empty(N)
    _, counts = both(kernel, (x, out, *numbers), grid=(4,), BLOCK=512)
    return counts.loads.sectors


def loads_compiled(kernel, numbers: int) -> int:
    """Loads in the compiler's own intermediate code."""
    names = ("x_ptr", "out_ptr", "n")[: 2 + numbers]
    types = dict(zip(names, ("*fp32", "*fp32", "i32"), strict=False)) | {"BLOCK": "constexpr"}
    source = triton.compiler.ASTSource(kernel, types, {"BLOCK": 512})
    target = triton.backends.compiler.GPUTarget("cuda", 80, 32)
    return triton.compile(source, target=target).asm["ttgir"].count("tt.load")


@triton.jit
def twice(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.sin(tl.load(x_ptr + i)) + tl.cos(tl.load(x_ptr + i)))


@triton.jit
def twice_with_a_call_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.sigmoid(tl.load(x_ptr + i))
    tl.store(out_ptr + i, s * tl.load(x_ptr + i))


@triton.jit
def store_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    tl.store(out_ptr + i, s)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def same_name_other_offsets(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    j = i
    i = BLOCK * tl.num_programs(0) - 1 - i
    tl.store(out_ptr + j, s + tl.load(x_ptr + i))


@triton.jit
def other_values_past_the_mask(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i, mask=i < 9999, other=1.0)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i, mask=i < 9999, other=2.0))


@triton.jit
def rounds_apart(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in range(n):
        s += tl.load(x_ptr + (i + k) % 2048)
    tl.store(out_ptr + i, s)


@triton.jit
def volatile(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i, volatile=True)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i, volatile=True))


@triton.jit
def branch_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    if tl.program_id(0) > 1:
        s = s + 1
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def barrier_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    tl.debug_barrier()
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def print_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    if tl.program_id(0) > 99:
        tl.device_print("here")
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def volatile_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    s += tl.load(x_ptr + i, volatile=True)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def return_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    if tl.program_id(0) > 99:
        return
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit(noinline=True)
def early(i):
    if i > 99:
        return 99
    return i


@triton.jit
def call_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i) + early(tl.program_id(0))
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def neighbours(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + (i ^ -1) + 2048) + tl.load(x_ptr + (i ^ -2) + 2048)
    tl.store(out_ptr + i, s)


@triton.jit
def the_other_way_round(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + (i * n + n), mask=(i < n) & (n * i < n), other=0.0)
    s += tl.load(x_ptr + (n + n * i), mask=(i * n < n) & (i < n), other=0.0)
    s += tl.load(x_ptr + tl.maximum(i, n)) + tl.load(x_ptr + tl.maximum(n, i))
    tl.store(out_ptr + i, s)


@triton.jit
def a_difference_the_other_way_round(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + tl.abs(i - n)) + tl.load(x_ptr + tl.abs((n - i) * 1))
    tl.store(out_ptr + i, s)


@pytest.mark.parametrize(
    ("kernel", "numbers", "loads"),
    [
        (twice, (), 1),
        (barrier_between, (), 2),
        (print_between, (), 2),
        (volatile_between, (), 3 if VOLATILE_LOADS_WRITE else 2),
        (return_between, (), 2),
        (call_between, (), 2),
        (neighbours, (), 2),
        (twice_with_a_call_between, (), 1),
        (store_between, (), 2),
        (same_name_other_offsets, (), 2),
        (other_values_past_the_mask, (), 2),
        (volatile, (), 2),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_count_is_that_of_the_compiled_code(
    kernel, numbers: tuple[int, ...], loads: int
) -> None:
    assert loads_compiled(kernel, len(numbers)) == loads
    assert load_sectors(kernel, *numbers) == loads * SECTORS


@triton.jit(noinline=True)
def loaded_by_a_call(x_ptr, start, BLOCK: tl.constexpr):
    return tl.sum(tl.load(x_ptr + start + tl.arange(0, BLOCK)))


@triton.jit
def calls(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    start = tl.program_id(0) * BLOCK
    s = loaded_by_a_call(x_ptr, start, BLOCK) + loaded_by_a_call(x_ptr, start, BLOCK)
    for _ in range(n):
        s += loaded_by_a_call(x_ptr, start, BLOCK)
    tl.store(out_ptr + i, s)


@triton.jit
def picked(k):
    if k == 0:
        return 0
    return 512


@triton.jit
def picks(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in range(n):
        s += tl.load(x_ptr + (i + picked(k)) % 2048)
    tl.store(out_ptr + i, s)


@pytest.mark.parametrize(("kernel", "loads"), [(calls, 7), (picks, 5)])
def test_calls_that_the_compiler_leaves_in_the_code_load_each_for_itself(kernel, loads) -> None:
    types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = triton.compiler.ASTSource(kernel, types, {"BLOCK": 512})
    target = triton.backends.compiler.GPUTarget("cuda", 80, 32)
    called = triton.compile(source, target=target).asm["ttgir"].count("tt.call")
    assert called == (3 if kernel is calls else 1)
    assert load_sectors(kernel, 5) == loads * SECTORS


@triton.jit
def by_what_is_stored(x_ptr, out_ptr, n, BLOCK: tl.constexpr, DESCRIBED: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = n + tl.program_id(0) * 16
    s = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(3):
        if DESCRIBED:
            window = tl.make_tensor_descriptor(out_ptr, [n * 2], [1], [16])
            window.store([place], tl.full((16,), k * 512.0, tl.float32))
            shift = tl.max(window.load([place]))
        else:
            at = tl.make_block_ptr(out_ptr, (n * 2,), (1,), (place,), (16,), (0,))
            tl.store(at, tl.full((16,), k * 512.0, tl.float32))
            shift = tl.max(tl.load(at))
        s += tl.load(x_ptr + (i + shift.to(tl.int32)) % 2048)
    tl.store(out_ptr + i, s)


@pytest.mark.parametrize("described", [pytest.param(False, marks=without_block_pointers), True])
def test_what_a_window_holds_is_known_to_nobody(described: bool) -> None:
    x, out = torch.randn(N), torch.zeros(2 * N)
    _, counts = both(by_what_is_stored, (x, out, N), (4,), BLOCK=512, DESCRIBED=described)
    assert counts.loads.sectors == 3 * SECTORS + 3 * 4 * 2


@pytest.mark.parametrize(
    ("kernel", "loads", "sectors"),
    [
        (the_other_way_round, 2, 1 + SECTORS),
        (a_difference_the_other_way_round, 2, 2 * (SECTORS + 3)),
    ],
)
def test_sums_and_products_are_equal_whichever_operand_comes_first(
    kernel, loads: int, sectors: int
) -> None:
    assert loads_compiled(kernel, 1) == loads
    assert load_sectors(kernel, 1) == sectors


def test_rounds_of_a_loop_load_each_their_own() -> None:
    assert load_sectors(rounds_apart, 8) == pytest.approx(8 * SECTORS, rel=0.02)


def test_programs_that_part_at_a_branch_count_the_same_together_and_alone() -> None:
    assert load_sectors(branch_between) >= SECTORS  # `both` compares the two ways


@triton.jit
def same_load_on_both_sides(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    odd = tl.program_id(0) % n
    tl.store(out_ptr + i, tl.load(x_ptr + i) if odd == 1 else tl.load(i + x_ptr))


def test_each_side_of_a_conditional_expression_loads_for_its_own_programs() -> None:
    assert load_sectors(same_load_on_both_sides, 2) == SECTORS


# ------------------------------------------------------------ loops


@triton.jit
def the_same_each_turn(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
    tl.store(out_ptr + i, s)


@triton.jit
def beside_a_store(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for k in range(0, n, BLOCK):
        tl.store(out_ptr + k + i, tl.load(x_ptr + i) * tl.load(y_ptr + k + i))


@triton.jit
def in_a_while(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    k = 0
    while k < n:
        s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
        k += BLOCK
    tl.store(out_ptr + i, s)


@triton.jit
def under_an_if(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        if k >= 0:
            s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
    tl.store(out_ptr + i, s)


@triton.jit
def two_loops_deep(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for _ in range(0, n, BLOCK):
        for k in range(0, n, BLOCK):
            s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
    tl.store(out_ptr + i, s)


@triton.jit
def a_store_in_the_outer_loop(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for j in range(0, n, BLOCK):
        s = tl.zeros((BLOCK,), tl.float32)
        for k in range(0, n, BLOCK):
            s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
        tl.store(out_ptr + j + i, s)


@triton.jit
def the_inner_bound_changes(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for j in range(0, n, BLOCK):
        for k in range(0, j + BLOCK, BLOCK):
            s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
    tl.store(out_ptr + i, s)


@triton.jit
def a_barrier_in_the_loop(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
        tl.debug_barrier()
    tl.store(out_ptr + i, s)


@triton.jit
def before_in_and_after(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    for k in range(0, n, BLOCK):
        s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def places_that_are_loaded(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for _ in range(0, n, BLOCK):
        place = i ^ (tl.load(x_ptr + i).to(tl.int32) & 1)
        s += tl.load(y_ptr + place)
    tl.store(out_ptr + i, s)


@triton.jit
def around_a_branch(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    if n > 3:
        s += tl.load(y_ptr + i)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def around_a_branch_that_stores(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    if n > 3:
        tl.store(out_ptr + n + i, tl.load(y_ptr + i))
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def the_pointer_moves(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    x = x_ptr + i
    for _ in range(0, n, BLOCK):
        s += tl.load(x)
        x += BLOCK
    tl.store(out_ptr + i, s + tl.load(y_ptr + i))


@triton.jit
def asked_to_stay(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in tl.range(0, n, BLOCK, disable_licm=True):
        s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
    tl.store(out_ptr + i, s)


@triton.jit
def in_a_while_of_triton(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    k = 0
    while tl.condition(k < n, disable_licm=False):
        s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
        k += BLOCK
    tl.store(out_ptr + i, s)


@triton.jit
def part(x_ptr, i):
    return tl.load(x_ptr + i)


@triton.jit
def in_a_helper(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = part(x_ptr, i)
    for k in range(0, n, BLOCK):
        s += part(x_ptr, i) * part(y_ptr, k + i)
    tl.store(out_ptr + i, s + part(x_ptr, i))


@triton.jit
def other_names(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    j = tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + j, s + tl.load(y_ptr + j) + tl.load(x_ptr + j, mask=j < n))


def order(kernel) -> str:
    """Loads (L), stores (S) and the loops and branches around them, as the compiler has them."""
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}
    source = triton.compiler.ASTSource(kernel, types | {"BLOCK": "constexpr"}, {"BLOCK": 512})
    target = triton.backends.compiler.GPUTarget("cuda", 80, 32)
    found, depth = [], 0
    for line in triton.compile(source, target=target).asm["ttgir"].splitlines():
        opened = re.search(r"= scf\.(for|while|if)|^\s*scf\.(for|while|if)", line)
        if opened:
            found.append((opened[1] or opened[2]) + "(")
            depth = depth or len(line) - len(line.lstrip())
        elif line.strip().startswith("}") and len(line) - len(line.lstrip()) >= (depth or 99):
            found.append(")" if "do {" not in line and "else {" not in line else "")
        if "tt.load" in line or "ttg.async_copy_global" in line:
            found.append("L")
        if "tt.store" in line:
            found.append("S")
    return "".join(found)


#: turns of a loop
TURNS = N // 512


@pytest.mark.parametrize(
    ("kernel", "compiled", "loads"),
    [
        (the_same_each_turn, "Lfor(L)S", 1 + TURNS),
        (beside_a_store, "for(LLS)", 2 * TURNS),
        (in_a_while, "while(LL)S", 2 * TURNS),
        (in_a_while_of_triton, "while(LL)S", 2 * TURNS),
        (asked_to_stay, "for(LL)S", 2 * TURNS)
        if HEARS_DISABLE_LICM
        else (asked_to_stay, "Lfor(L)S", 1 + TURNS),
        (under_an_if, "for(if(LL))S", 2 * TURNS),
        (two_loops_deep, "Lfor(for(L))S", 1 + TURNS * TURNS),
        (a_store_in_the_outer_loop, "for(Lfor(L)S)", TURNS + TURNS * TURNS),
        (the_inner_bound_changes, "for(Lfor(L))S", TURNS + TURNS * (TURNS + 1) // 2),
        (a_barrier_in_the_loop, "for(LL)S", 2 * TURNS),
        (before_in_and_after, "LLfor(L)S", 2 + TURNS),
        (places_that_are_loaded, "LLfor()S", 2),
        (around_a_branch, "Lif(L)S", 2),
        (around_a_branch_that_stores, "Lif(LS)LS", 3),
        (the_pointer_moves, "for(L)LS", TURNS + 1),
        (in_a_helper, "LLfor(L)S", 2 + TURNS),
        (other_names, "LLS", 2),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_load_leaves_a_loop_where_the_compiler_moves_it(
    kernel, compiled: str, loads: int
) -> None:
    assert order(kernel) == compiled
    x, y, out = torch.randn(N), torch.randn(N), torch.empty(2 * N)
    _, counts = both(kernel, (x, y, out, N), BLOCK=512)
    assert counts.loads.sectors == loads * 512 * 4 // 32
