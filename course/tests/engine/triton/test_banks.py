"""Bank conflicts of shared memory: how often each access was made, and what is said of them."""

import inspect
import json
import runpy

import pytest
import torch
import triton
import triton.language as tl

import course
from course.engine.traffic import Traffic
from course.engine.triton.compiling.shared import shared_accesses
from course.engine.triton.launch import launch
from course.run.report import as_json, table

#: Rows and columns of a block of float16 for whose banks a warp waits when the block is turned:
#: every Triton lays it out so, as it does not a sum of columns.
SIDE = 16


@triton.jit
def with_turned(block):
    return block + tl.trans(block)


@triton.jit
def mirrored(x, out, turns, N: tl.constexpr):
    places = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    total = tl.zeros((N, N), tl.float16)
    for turn in range(turns):
        total += with_turned(tl.load(x + turn * N * N + places))
    tl.store(out + tl.program_id(0) * N * N + places, total)


@triton.jit
def mirrored_now_and_then(x, out, turns, N: tl.constexpr):
    places = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    total = tl.zeros((N, N), tl.float16)
    for turn in range(turns):
        if turn % 3 == tl.program_id(0):
            total += with_turned(tl.load(x + turn * N * N + places))
    tl.store(out + tl.program_id(0) * N * N + places, total)


@triton.jit
def mirrored_so_often(x, out, TURNS: tl.constexpr, N: tl.constexpr):
    places = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    total = tl.zeros((N, N), tl.float16)
    for turn in range(TURNS):
        total += with_turned(tl.load(x + turn * N * N + places))
    tl.store(out + places, total)


@triton.jit
def picked(x, at, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.gather(tl.load(x + i), tl.load(at + i), 0))


@triton.jit
def copied(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i))


def conflicts(kernel, turns, programs=1, constant=False):
    x, out = (
        torch.ones(most * SIDE * SIDE, dtype=torch.half) for most in (max(turns, 1), programs)
    )
    given = {"N": SIDE, "num_warps": 1, **({"TURNS": turns} if constant else {})}
    args = (x, out) if constant else (x, out, turns)
    traffic = launch(kernel, args, (programs,), given, banks=True)
    assert traffic.shared_uncounted == []
    return traffic.bank_conflicts


def test_what_a_loop_makes_again_counts_again_for_each_program():
    once = conflicts(mirrored, 1)
    assert once > 0
    assert conflicts(mirrored, 0) == 0
    assert conflicts(mirrored, 5, programs=3) == 15 * once


def test_a_program_pays_for_the_turns_that_it_goes_into():
    # of turns 0 to 6 program 0 takes 0, 3 and 6, program 1 takes 1 and 4
    assert conflicts(mirrored_now_and_then, 7, programs=2) == 5 * conflicts(mirrored, 1)


@pytest.mark.parametrize("turns", [1, 2, 4, 16])
def test_a_loop_that_the_compiler_unrolls_counts_as_often_as_it_runs(turns):
    assert conflicts(mirrored_so_often, turns, constant=True) == turns * conflicts(mirrored, 1)


def test_one_text_in_two_files_counts_in_either(tmp_path):
    texts = (inspect.getsource(one.fn) for one in (with_turned, mirrored))
    text = "\n\n".join(("import triton\nimport triton.language as tl", *texts))
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        kernel = runpy.run_path(str(tmp_path / name))["mirrored"]
        assert conflicts(kernel, 3) == 3 * conflicts(mirrored, 1)


def test_addresses_that_hang_on_data_are_not_counted_and_said_so():
    x, at = torch.randn(1024), torch.randint(0, 1024, (1024,), dtype=torch.int32)
    out = torch.empty(1024)
    with course.measure() as traffic:
        picked[(1,)](x, at, out, 1024)
    assert torch.equal(out, x[at.long()])
    line = picked.fn.__code__.co_firstlineno + 3
    assert set(traffic.shared_uncounted) == {line}
    said = f"bank conflicts not counted: on line {line}, where they hang on data"
    assert repr(traffic).splitlines()[-1] == said


def test_the_table_says_on_which_line_of_what_and_how_many():
    x, out = (torch.ones(SIDE * SIDE, dtype=torch.half) for _ in range(2))
    with course.measure(target="sm_90") as traffic:
        mirrored[(1,)](x, out, 1, SIDE, num_warps=1)
    line = with_turned.fn.__code__.co_firstlineno + 2
    (key,) = traffic.bank_conflict_sites
    assert key == ("a change of layout", line)
    assert repr(traffic).splitlines()[-2:] == [
        f"shared memory: 8 extra turns for bank conflicts: 8 on line {line}, a change of layout",
        "Triton's compiler lays shared memory out: another axis, block or num_warps may wait less",
    ]
    kernels = traffic.by_kernel()
    assert table(traffic).splitlines()[-4].strip() == repr(traffic).splitlines()[-2]
    entry = json.loads(json.dumps(as_json("p.py", "sm_90", 0, [], [], kernels)))["kernels"][0]
    [conflict] = entry["bank_conflicts"]
    assert conflict == {"file": __file__, "line": line, "what": "a change of layout", "turns": 8}
    assert entry["bank_conflicts_not_counted"] == []


def test_a_kernel_that_needs_no_shared_memory_is_not_compiled_further(monkeypatch):
    from course.engine.triton import launch as module

    monkeypatch.setattr(module, "reached", lambda *_: pytest.fail("compiled"))
    x, out = torch.randn(1024), torch.empty(1024)
    traffic = launch(copied, (x, out), (1,), {"N": 1024}, banks=True)
    assert (traffic.bank_conflicts, traffic.shared_uncounted) == (0, [])


def test_where_the_compiler_does_not_come_to_ptx_nothing_is_said_to_be_counted(monkeypatch):
    from course.engine.triton import launch as module

    monkeypatch.setattr(module, "reached", lambda *_: None)
    x, out = (torch.ones(SIDE * SIDE, dtype=torch.half) for _ in range(2))
    traffic: Traffic = launch(mirrored, (x, out, 1), (1,), {"N": SIDE}, banks=True)
    assert traffic.shared_uncounted == [mirrored.fn.__code__.co_firstlineno + 1]


# ---------------------------------------------------------------- the PTX


HEAD = """.visible .entry k()
.reqntid 64
{
"""


def asked(body):
    text = HEAD + "".join(f"\t{line}\n" for line in body.strip().splitlines())
    return [(one.direction, one.depth, one.conflicts) for one in shared_accesses(text + "}\n")]


@pytest.mark.parametrize(
    ("step", "extra"), [("0", 0), ("2", 0), ("3", 2), ("4", 6), ("7", 62)]
)  # bytes from thread to thread: 1, 4, 8, 16, 128
def test_lanes_that_lie_so_far_apart_wait_so_often(step, extra):
    body = f"""mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, {step};
st.shared.b32 [%r2], %r1;"""
    assert asked(body) == [("store", 0, extra)]


def test_of_a_vector_what_nothing_uses_is_not_loaded():
    body = """mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 4;
ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r2];
add.s32 %r7, %r3, %r5;
st.shared.b32 [%r2], %r7;"""
    # two loads of 4 bytes, 16 apart: four lanes in a bank, each; a whole vector has no conflict
    assert asked(body) == [("store", 0, 6), ("load", 0, 6), ("load", 0, 6)]


def test_neighbours_are_loaded_at_once_unless_somebody_may_write_between():
    body = """mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 3;
ld.shared.b32 %r3, [%r2];
{between}
ld.shared.b32 %r4, [%r2+4];
add.s32 %r5, %r3, %r4;
st.global.b32 [%rd1], %r5;"""
    assert asked(body.replace("{between}\n", "")) == [("load", 0, 0)]
    assert asked(body.replace("{between}", "bar.sync 0;")) == [("load", 0, 2), ("load", 0, 2)]


def test_a_buffer_that_a_loop_goes_on_to_counts_as_the_first():
    body = """mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.b32 %r3, 0;
$L__BB0_1:
add.s32 %r4, %r2, %r3;
st.shared.b32 [%r4], %r1;
add.s32 %r3, %r3, {step};
@%p1 bra $L__BB0_1;""".replace("$L__BB0_1:", "$L__BB0_1:")
    text = HEAD + body + "\n}\n"
    for step, known in (("4096", 0), ("%r1", None)):
        (one,) = shared_accesses(text.replace("{step}", step))
        assert (one.depth, one.conflicts) == (1, known)


def test_lanes_that_a_condition_leaves_out_do_not_count():
    body = """mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 3;
setp.eq.b32 %p1, %r2, 0;
shl.b32 %r3, %r1, 5;
@%p1 st.shared.b32 [%r3], %r1;"""
    # every fourth lane, 128 bytes apart: eight a warp, all in bank 0
    assert asked(body) == [("store", 0, 14)]


def test_matrices_go_row_by_row():
    body = """mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, {step};
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2];"""
    assert asked(body.replace("{step}", "4")) == [("load", 0, 0)]
    assert asked(body.replace("{step}", "7")) == [("load", 0, 2 * 4 * 7)]


SAID = """.loc\t1 12 8 // cell.py:12:8
.loc\t1 5 4, function_name $L__info_string0, inlined_at 1 12 8 // cell.py:5:4
.loc\t2 293 12, function_name $L__info_string1, inlined_at 1 5 4 // standard.py:293:12
st.shared.b32 [%r2], %r1;
.loc\t1 13 8 // cell.py:13:8
.loc\t1 5 4, function_name $L__info_string0, inlined_at 1 13 8 // cell.py:5:4
.loc\t2 293 12, function_name $L__info_string1, inlined_at 1 5 4 // standard.py:293:12
// begin inline asm
.loc\t2 294 12, function_name $L__info_string1, inlined_at 1 5 4 // standard.py:294:12
@%p1 st.shared.b32 [ %r2 + 0 ], %r1;
// end inline asm"""
IN_A_COMMENT = """.loc\t2 293 12 // standard.py:293:12 @[ cell.py:5:4 @[ cell.py:12:8 ] ]
st.shared.b32 [%r2], %r1;
.loc\t2 293 12 // standard.py:293:12 @[ cell.py:5:4 @[ cell.py:13:8 ] ]
// begin inline asm
@%p1 st.shared.b32 [ %r2 + 0 ], %r1;
// end inline asm"""


@pytest.mark.parametrize("body", [SAID, IN_A_COMMENT], ids=["from 3.8 on", "until 3.7"])
def test_an_access_has_the_calls_that_it_stands_in(body):
    text = HEAD + "".join(f"\t{line}\n" for line in body.splitlines()) + "}\n"
    inner = ("standard.py", 293, 12), ("cell.py", 5, 4)
    chains = [one.chain for one in shared_accesses(text)]
    assert chains == [(*inner, ("cell.py", 12, 8)), (*inner, ("cell.py", 13, 8))]
