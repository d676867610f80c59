"""What `ex.NAME.estimate` says: a table, a limit, and how often such an estimate is right."""

import dataclasses

import pytest
from numba import cuda

from course import exercises
from course.engine.faults import KernelFault, Outcome
from course.exercises.speed_of_light import CEILINGS, RECORD
from course.gpu import estimated
from course.gpu.estimate import DRAM_US, FITTED, LAUNCH_US, Work, estimate, held
from course.gpu.recorded import recorded
from course.notebook.exercises import shown

VECTOR_ADD = """
from numba import cuda

@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]
"""
TRITON_ADD = """
import triton
import triton.language as tl

BLOCK = 1024

@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < N
    total = tl.load(x_ptr + at, mask=inside) + tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, total, mask=inside)
"""
#: Nothing to do: what a test asks for comes on top.
IDLE = Work(
    name="idle", blocks=1320, warps=4, shared_bytes=0, registers=32, dram_bytes=0.0, l2_bytes=0.0,
    atomic_bytes=0.0, stored_bytes=0.0, spilled_bytes=0.0, instructions={}, fma=0.0, special=0.0,
    barriers=0.0, wavefronts=0.0, conflicts=0.0, flop=0.0, mma_flop=0.0, operand_bytes=2,
    longest=1.0, waits=1.0, copies=0.0, stages=1,
)  # fmt: skip


def work(**asked):
    return dataclasses.replace(IDLE, **asked)


def of(lesson, name, source, gpu="H200"):
    return estimated.estimated(exercises.lesson(lesson)[name], source, gpu)


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


def test_each_unit_has_its_work_at_its_own_rate():
    alone = estimate(work(dram_bytes=CEILINGS["COPY_GB_S"] * 1e6)).alone_us
    assert alone["dram"] == pytest.approx(1000)
    alone = estimate(work(flop=CEILINGS["FLOAT16_TFLOP_S"] * 1e9 / 1320)).alone_us
    assert alone["tensor"] == pytest.approx(1000)
    # ten blocks an SM, one turn a cycle
    assert estimate(work(wavefronts=1980.0)).alone_us["l1"] == pytest.approx(10)


def test_the_whole_takes_as_long_as_its_longest_part_and_no_longer_than_one_after_the_other():
    one = estimate(work(dram_bytes=1e9, l2_bytes=2e9, wavefronts=1e5))
    assert max(one.alone_us.values()) < one.us - LAUNCH_US < sum(one.alone_us.values())


@pytest.mark.parametrize(
    ("asked", "limit"),
    [
        ({"dram_bytes": 1e9, "l2_bytes": 1e9}, "limit_dram"),
        ({"l2_bytes": 1e10}, "limit_l2"),
        ({"wavefronts": 1e6}, "limit_l1"),
        ({"flop": 1e9}, "limit_tensor"),
        ({"instructions": {"ptx": 1e6}, "warps": 64 // 4}, "limit_instructions"),
        ({"blocks": 66, "dram_bytes": 1e9}, "limit_blocks"),
        ({"spilled_bytes": 1e9, "dram_bytes": 1e9}, "limit_spills"),
        ({"waits": 1000.0}, "limit_none"),
    ],
)
def test_the_limit_is_named_by_the_rule_for_reports(asked, limit):
    assert estimate(work(**asked | {"blocks": asked.get("blocks", 13_200)})).limit == limit


def test_blocks_of_an_sm_end_where_the_first_of_its_stores_is_used_up():
    assert held(warps=4, shared_bytes=0, registers=32) == 16  # warps
    assert held(warps=4, shared_bytes=0, registers=128) == 4  # registers
    assert held(warps=4, shared_bytes=100 << 10, registers=32) == 2  # shared memory
    assert held(warps=1, shared_bytes=0, registers=16) == 32  # blocks
    report = RECORD["reports"]["launches"]["triton_matmul"][0]["counts"]
    same = held(4, int(report["shared_bytes"]) - 1024, int(report["registers"]))
    assert report["blocks"] / (132 * same) == pytest.approx(report["waves"], abs=0.01)


def test_a_block_that_is_longer_than_the_others_is_waited_for():
    even = work(blocks=132, waits=100.0)
    longer = dataclasses.replace(even, longest=2.0)
    assert estimate(longer).alone_us["latency"] == 2 * estimate(even).alone_us["latency"]
    assert estimate(even).alone_us["latency"] > 100 * DRAM_US * FITTED.wait


def test_a_numba_kernel_is_told_with_its_case_its_limit_and_what_that_is_worth():
    said = of("threads", "vector_add", VECTOR_ADD)
    right = recorded("h200_estimate")["held_out"]
    text = str(said)
    assert text.startswith("vector_add at N=16777216 on an H200: an estimate.")
    assert "65,536 blocks of 8 warps" in text
    assert "201 MB at the 4,242 GB/s of a copy" in text
    assert f"Of {right['runs']} recorded runs that it was not fitted to" in text
    # recorded at four times as many elements
    assert said.us == pytest.approx(RECORD["kernels"]["vector_add"]["us"] / 4, rel=0.5)
    page = said._repr_html_()
    assert "<table" in page
    assert "What limits it" in page


def test_a_triton_kernel_is_counted_as_it_is_compiled_for_that_gpu():
    pytest.importorskip("triton")  # only Linux has wheels
    said = of("hello_triton", "triton_add", TRITON_ADD)
    assert said.limit == "limit_dram"
    assert said.us == pytest.approx(RECORD["kernels"]["triton_add"]["us"] / 4, rel=0.1)
    report = RECORD["reports"]["launches"]["triton_add"][0]["counts"]
    (one,) = said.launches
    assert (one.work.registers, 4 * one.work.blocks) == (report["registers"], report["blocks"])


def test_a_gpu_without_records_is_refused_with_a_sentence():
    said = of("threads", "vector_add", VECTOR_ADD, "T4")
    assert str(said) == (
        "No rates of a GPU called T4 are recorded here, and none are guessed. Known: H200."
    )
    assert said._repr_html_() == f"<p>{said}</p>"


def test_a_kernel_for_another_gpu_alone_is_refused():
    assert str(of("modern", "blackwell_matmul", "")) == (
        "No estimate for an H200: the kernel is written for compute capability 10.0 alone."
    )


def test_a_right_kernel_is_estimated_and_a_wrong_one_gets_its_verdict(monkeypatch):
    asked = []
    monkeypatch.setattr(estimated, "estimated", lambda *given: asked.append(given) or "estimate")
    assert shown(exercises.double).estimate(double, gpu="T4") == "estimate"
    assert [(one.name, "2 * x[i]" in source, gpu) for one, source, gpu in asked] == [
        ("double", True, "T4")
    ]
    assert not shown(exercises.double).estimate(None)
    assert len(asked) == 1


def test_what_cannot_run_at_full_size_says_why(monkeypatch):
    def fails(*_, **__):
        raise KernelFault(Outcome.TIMED_OUT, "too_large_to_run", threads=1 << 40, limit=1 << 31)

    monkeypatch.setattr(estimated, "launches_of", fails)
    said = str(of("threads", "vector_add", VECTOR_ADD))
    assert said.startswith("No estimate of N=16777216: ")
