"""Pictures of a learner's own kernel below its panel."""

import re

import numpy as np
import pytest

from course import exercises as ex
from course.check.check import check_source
from course.engine.cell.numba import read_cell
from course.engine.requests import MOST_KEPT, Requests
from course.engine.simt.launch import launch
from course.figures.bank_use import bank_picture, served
from course.figures.picture import Picture
from course.figures.steps import MOST_STEPS, Steps
from course.notebook.seen import DrawnVerdict, with_all, with_worst

TURNED = """from numba import cuda

@cuda.jit
def transpose(A, B):
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        B[column, row] = A[row, column]  # the wrong way round
"""
UNPADDED = """from numba import cuda, float32

@cuda.jit
def transpose_padded(A, B):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    if y + ty < A.shape[0] and x + tx < A.shape[1]:
        tile[ty, tx] = A[y + ty, x + tx]
    cuda.syncthreads()
    if x + ty < B.shape[0] and y + tx < B.shape[1]:
        B[x + ty, y + tx] = tile[tx, ty]
"""
EVERY_SECOND = """import triton
import triton.language as tl

@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    for part in range(2):
        i = tl.program_id(0) * BLOCK + 2 * tl.arange(0, BLOCK // 2) + part
        x = tl.load(x_ptr + i, mask=i < N)
        tl.store(out_ptr + i, x + tl.load(y_ptr + i, mask=i < N), mask=i < N)
"""


def test_too_much_traffic_is_drawn_at_the_line_that_asks_for_most():
    verdict = with_worst(ex.transpose, check_source(ex.transpose, TURNED))
    assert isinstance(verdict, DrawnVerdict)
    (steps,) = verdict.pictures
    assert steps.title == "Line 7, store of B: what warp 0 asks for"
    (picture,) = steps.pictures
    assert "32 sectors: 1024 bytes moved, 128 used" in picture.alt
    assert "the wrong way" not in picture.alt
    assert "lane 1 byte 256" in " ".join(str(verdict).split())
    assert "<img" in verdict._repr_html_()


def test_bank_conflicts_are_drawn_turn_by_turn():
    verdict = with_worst(ex.transpose_padded, check_source(ex.transpose_padded, UNPADDED))
    (steps,) = verdict.pictures
    assert steps.title == "Line 12, load of tile: what warp 0 asks for"
    assert "1 request, 32 turns: bank 0 is asked for 32 different words." in steps.pictures[0].alt


def test_a_triton_kernel_is_drawn_as_it_was_compiled():
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    verdict = with_worst(ex.triton_add, check_source(ex.triton_add, EVERY_SECOND))
    (steps,) = verdict.pictures
    assert all("8 sectors: 256 bytes moved, 128 used" in one.alt for one in steps.pictures)
    assert "Lane 0 reads byte 0, lane 1 byte 8" in steps.pictures[0].alt


def test_show_draws_every_access_of_a_right_kernel():
    verdict = with_all(ex.transpose, check_source(ex.transpose, TURNED))
    assert [steps.title.partition(":")[0] for steps in verdict.pictures] == [
        "Your kernel on M=6, N=10, access by access",
        "Who works, on an NVIDIA A100-SXM4-80GB",
        "Line 7, load of A", "Line 7, store of B",
    ]  # fmt: skip


@pytest.mark.parametrize("source", ["", "def transpose(A, B):\n    pass", "syntax error here"])
def test_what_was_never_launched_has_no_picture(source):
    verdict = check_source(ex.transpose, source)
    assert with_all(ex.transpose, verdict) is verdict
    assert with_worst(ex.transpose, verdict) is verdict


def test_a_fault_is_drawn_up_to_where_it_happens():
    beyond = TURNED.replace("    if row < A.shape[0] and column < A.shape[1]:\n    ", "")
    verdict = with_all(ex.transpose, check_source(ex.transpose, beyond))
    assert not verdict
    assert verdict.line == 6


WALKS = """from numba import cuda

@cuda.jit
def walks(x):
    i = cuda.threadIdx.x
    if i >= 32:
        for turn in range(5):
            x[i - 32 + 64 * turn] = 1.0
"""


def test_the_first_requests_of_one_warp_are_kept():
    requests = Requests()
    kernel = read_cell(WALKS).kernels["walks"]
    launch(kernel, [np.zeros(320, np.float32)], 1, 64, requests=requests)
    (kept,) = requests.by_access()
    assert len(kept) == MOST_KEPT
    assert {one.warp for one in kept} == {1}
    assert kept[1].lanes == tuple(4 * (lane + 64) for lane in range(32))


# ------------------------------------------------------------------ pictures


def test_lanes_that_read_one_word_share_a_turn():
    assert served([0, 0, 128, None, 4]) == {0: [[0, 1], [2]], 1: [[4]]}
    assert "1 request, 1 turn." in bank_picture([8] * 32).alt


@pytest.mark.parametrize("lanes", [[None] * 32, [0] * 33])
def test_what_is_no_request_of_a_warp_is_not_drawn(lanes):
    with pytest.raises(ValueError, match="lane"):
        bank_picture(lanes)


def test_steps_are_chosen_without_a_script_and_read_without_a_picture():
    pictures = [Picture("<svg/>", f"alternative {n}") for n in range(3)]
    steps = Steps("A title", pictures, "request")
    page = steps._repr_html_()
    assert page.count('type="radio"') == page.count("<label") == page.count("<img") == 3
    assert page.count(" checked") == 1
    button = (
        r'<label style="[^"]*white-space:nowrap[^"]*"><input type="radio"[^>]*> request \d</label>'
    )
    assert len(re.findall(button, page)) == 3  # no line ends between the two
    assert "<script" not in page
    assert repr(steps) == "[picture] A title. alternative 0 (and 2 more)"
    later = Steps("A title", pictures, "request", first=3)
    assert repr(later) == "[picture] A title. alternative 2 (and 2 more)"
    assert later._repr_html_().partition(" checked")[0].count("<input") == 3
    assert 'type="radio"' not in Steps("One", pictures[:1], "request")._repr_html_()


@pytest.mark.parametrize("count", [0, MOST_STEPS + 1])
def test_steps_are_neither_none_nor_too_many(count):
    with pytest.raises(ValueError, match="pictures"):
        Steps("A title", [Picture("<svg/>", "a")] * count, "request")
