"""A learner's kernel on a small case: who touches which element, what a loop carries, who works."""

import math
import re

import pytest

from course import exercises
from course import exercises as ex
from course.check.check import check_source
from course.engine.faults import Outcome
from course.figures.running import programs_picture
from course.figures.steps import Steps
from course.notebook.film import film
from course.notebook.launched import MOST_STEPS, on_small_case
from course.notebook.running import running
from course.notebook.seen import LARGEST, with_all, with_worst
from course.spec.exercise import KernelExercise
from course.tests.pace import within

#: Of a panel, all its pictures included.
MOST_BYTES = 300_000
UNGUARDED = """from numba import cuda

@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    c[i] = a[i] + b[i]
"""
NO_BARRIER = """from numba import cuda, float32

@cuda.jit
def shared_reverse(a):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 128 + t
    tile[t] = a[i]
    a[i] = tile[127 - t]
"""
NAIVE = """from numba import cuda

@cuda.jit
def matmul_naive(A, B, C):
    column, row = cuda.grid(2)
    if row < C.shape[0] and column < C.shape[1]:
        total = 0.0
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, column]
        C[row, column] = total
"""
ADD = """import triton
import triton.language as tl

@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < N)
    tl.store(out_ptr + i, x + tl.load(y_ptr + i, mask=i < N)MASK)
"""
COPIED = """import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

@gluon.jit
def copied(source):
    buffer = gl.allocate_shared_memory(source.dtype, source.block_shape, source.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, source.block_type.nbytes)
    tma.async_copy_global_to_shared(source, [gl.program_id(0) * 64, 0], bar, buffer)
    mbarrier.wait(bar, 0)

def tma_scale(X, factor):
    layout = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    source = TensorDescriptor.from_tensor(X, [64, 64], layout)
    copied[(triton.cdiv(X.shape[0], 64),)](source)
    return torch.empty_like(X)
"""
ONLINE = """import triton
import triton.language as tl

@triton.jit
def softmax_online(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0) * N
    top = -float("inf")
    total = 0.0
    for first in range(0, N, BLOCK):
        at = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + at, mask=at < N, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(x - new), axis=0)
        top = new
    for first in range(0, N, BLOCK):
        at = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + at, mask=at < N, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row + at, tl.exp(x - top) / total, mask=at < N)
"""


def steps_of(exercise: KernelExercise, source: str) -> Steps:
    (steps,) = film(exercise, check_source(exercise, source), on_small_case(exercise, source))
    return steps


def test_a_failing_panel_shows_who_reaches_beyond_the_array():
    verdict = with_worst(ex.vector_add, check_source(ex.vector_add, UNGUARDED))
    (steps,) = verdict.pictures
    last = steps.pictures[-1].alt
    assert "40 threads read 40 elements of a. thread 40" in last
    assert "thread 40: [40], thread 41: [41]" in last
    assert "212 more threads outside, too." in last


def test_a_race_is_marked_where_reader_and_writer_meet():
    verdict = check_source(ex.shared_reverse, NO_BARRIER)
    assert verdict.outcome is Outcome.RACE
    steps = steps_of(ex.shared_reverse, NO_BARRIER)
    *_, last = steps.pictures
    assert steps.first == len(steps.pictures)
    assert last.alt in repr(steps)
    assert "Two race for it: tile[127]." in last.alt
    assert "thread 127: element 0, which thread 0 wrote" in last.alt
    assert "two race for it" in last.svg


def test_a_barrier_is_told_before_the_line_behind_it():
    right = NO_BARRIER.replace("    a[i] = tile", "    cuda.syncthreads()\n    a[i] = tile")
    steps = steps_of(ex.shared_reverse, right)
    told = ["A barrier stands before this line." in one.alt for one in steps.pictures]
    assert told == [False, False, True, False]


def test_tiles_show_the_lanes_that_their_mask_switches_off():
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    first, *_ = steps_of(ex.triton_add, ADD.replace("MASK", ", mask=i < N")).pictures
    assert "3 programs read 40 elements of x_ptr, in 5 sectors. 8 lanes switched off." in first.alt
    assert "p0: elements 0 to 15; p1: elements 16 to 31; p2: elements 32 to 39." in first.alt
    assert "program 2: a tile of 16" in first.svg
    assert "masked off" in first.svg


def test_a_descriptors_tile_has_no_mask_but_places_that_the_array_has_not():
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    first, *_ = steps_of(ex.tma_scale, COPIED).pictures
    assert "4064 places outside of source: zeros come there." in first.alt
    assert "not in the array" in first.svg
    assert "switched off" not in first.alt


def test_a_tile_without_its_mask_reaches_beyond_the_array():
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    *_, last = steps_of(ex.triton_add, ADD.replace("MASK", "")).pictures
    assert "program 2: [40, ...]: outside of out_ptr." in last.alt


def test_programs_that_part_are_shown_by_their_own_numbers():
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    parting = ADD.replace("MASK", ", mask=i < N").replace(
        "    x = tl", "    if tl.program_id(0) == 1:\n        return\n    x = tl"
    )
    first, *_ = steps_of(ex.triton_add, parting).pictures
    assert "p0: elements 0 to 15; p2: elements 32 to 39." in first.alt
    assert "program 2: a tile of 16" in first.svg
    assert "of 3 programs are shown" not in first.alt


def test_a_cell_that_is_checked_once_more_is_not_compiled_again(monkeypatch):
    asked = pytest.importorskip("course.engine.triton.compiling.asked")
    # graded cases are compiled from the start on, though the first case has its fault
    monkeypatch.setattr("course.engine.triton.compiling.gate.begin_ahead", lambda *_: None)
    source = ADD.replace("MASK", "")

    def panel() -> str:
        return str(with_worst(ex.triton_add, check_source(ex.triton_add, source)))

    first = panel()
    monkeypatch.setattr(asked, "Child", None)
    assert panel() == first


def test_an_endless_loop_is_drawn_by_its_beginning():
    endless = NAIVE.replace("for k in range(A.shape[1]):", "k = 0\n        while k < 1:")
    seen = on_small_case(ex.matmul_naive, endless)
    assert seen.fault.outcome is Outcome.TIMED_OUT
    assert 0 < len(seen.steps) <= MOST_STEPS
    assert film(ex.matmul_naive, check_source(ex.matmul_naive, endless), seen)


def test_a_sum_is_followed_from_turn_to_turn():
    verdict = check_source(ex.matmul_naive, NAIVE)
    ((picture,),) = [
        one.pictures
        for one in running(ex.matmul_naive, verdict, [on_small_case(ex.matmul_naive, NAIVE)])
    ]
    assert picture.alt.startswith("line 8 for k in range(A.shape[1]): What thread 0")
    values = picture.alt.partition("total: ")[2].rstrip(".").split(", ")
    assert len(values) == 7
    assert values[0] == "0"


def test_the_running_maximum_and_sum_are_followed_in_triton():
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    exercise = ex.softmax_online
    ((picture,),) = [
        one.pictures
        for one in running(
            exercise, check_source(exercise, ONLINE), [on_small_case(exercise, ONLINE)]
        )
    ]
    said = picture.alt.partition("after each: ")[2].rstrip(".")
    rows = dict(part.split(": ") for part in said.split("; "))
    assert [*rows] == ["top", "total"]
    top = [float(value) for value in rows["top"].split(", ")]
    assert len(top) == 5
    assert top[0] == -math.inf
    assert top == sorted(top)


def test_of_a_wrong_answer_the_loop_of_the_first_wrong_row_is_drawn():
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    source = ONLINE.replace("total * tl.exp(top - new)", "total")
    drawn = with_worst(ex.softmax_online, check_source(ex.softmax_online, source))
    said = drawn.pictures[-1].pictures[-1].alt
    assert "What program 2 carries" in said  # rows 0 and 1 have their maximum in the first tile
    rows = dict(part.split(": ") for part in said.partition("after each: ")[2].split("; "))
    assert rows["top"].split(", ")[1] != rows["top"].split(", ")[-1]


@pytest.mark.parametrize(
    ("makers", "warps", "said"),
    [
        (3, 8, "3 of 108 SMs have work; one has room for the threads of 8."),
        (2000, 8, "That is 3 waves: 864 programs each, and 272 in the last."),
        (1, 1, "1 program of 1 warp."),
    ],
)
def test_programs_are_dealt_to_multiprocessors(makers, warps, said):
    assert said in programs_picture(makers, warps, programs=True).alt


def test_pictures_of_one_output_are_bounded():
    verdict = with_all(ex.matmul_naive, check_source(ex.matmul_naive, NAIVE))
    assert len(verdict.pictures) > 2
    assert sum(len(steps._repr_html_()) for steps in verdict.pictures) <= LARGEST


@pytest.mark.parametrize(
    ("name", "source", "seconds"),
    [
        ("vector_add", UNGUARDED, 1.0),
        ("shared_reverse", NO_BARRIER, 1.0),
        ("matmul_naive", NAIVE.replace("column, row", "row, column", 1), 1.0),
        ("triton_add", ADD.replace("MASK", ", mask=i <= N"), 1.5),
        ("softmax_online", ONLINE.replace("total * tl.exp(top - new)", "total"), 1.5),
    ],
)
def test_a_panel_with_its_pictures_comes_soon_and_is_small(name, source, seconds):
    """What the compiler's child takes is not counted: the first check of a kernel waits for it."""
    exercise = exercises.all_exercises()[name]
    assert isinstance(exercise, KernelExercise)
    if exercise.dialect == "triton":
        pytest.importorskip("triton", reason="Triton has no wheel for this system")
    with within(seconds):
        page = with_worst(exercise, check_source(exercise, source))._repr_html_()
    assert "Your kernel on" in page
    assert len(page.encode()) < MOST_BYTES


def kernels() -> list[KernelExercise]:
    every = exercises.all_exercises().values()
    return [one for one in every if isinstance(one, KernelExercise)]


#: a slice is 128 elements long, whatever the case; a row of x and w has 64
LARGER = {"shared_reverse", "linear_cross_entropy"}


def test_small_cases_have_four_to_64_elements_in_each_array_at_most():
    for exercise in kernels():
        if exercise.small is None or exercise.name in LARGER:
            continue
        names = exercise.names(exercise.small)
        largest = max(math.prod(exercise.shape(array, names)) for array in exercise.arrays)
        assert 4 <= largest <= 64, exercise.name


def test_words_and_boxes_of_a_picture_end_before_its_edge():
    *_, last = steps_of(ex.vector_add, UNGUARDED).pictures
    lines = re.findall(r'<text x="16"[^>]*font-size="12"[^>]*>([^<]*)<', last.svg)
    assert "outside of a" in " ".join(lines)
    assert max(map(len, lines)) <= 72
    edges = [
        float(x) + float(w)
        for x, w in re.findall(r'<rect x="(\S+)" y="\S+" width="(\S+)"', last.svg)
    ]
    assert max(edges) <= 552
