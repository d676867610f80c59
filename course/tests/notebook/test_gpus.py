"""A Triton kernel on several GPUs."""

import pytest

from autograder.proof.witness import solutions_of, witnesses_of
from course import exercises as ex
from course.check.check import check_source
from course.engine.faults import Outcome
from course.notebook.gpus import on_gpus
from course.notebook.measure import TARGETS
from course.notebook.seen import with_all


@pytest.mark.slow
def test_a_row_for_each_gpu_and_what_spills_on_one():
    source = solutions_of("fusion")["triton_matmul"]
    table = on_gpus(ex.triton_matmul, check_source(ex.triton_matmul, source))
    assert [row[0] for row in table.rows] == list(TARGETS.values())
    spilled = {row[0]: row[6] for row in table.rows}
    assert spilled["T4"] != "0"
    assert spilled["A100"] == "0"
    assert "T4" in repr(table)
    assert "<table" in table._repr_html_()


@pytest.mark.slow
def test_a_gpu_that_has_too_little_room_says_so():
    cells = {(w.exercise, w.name): w.source for w in witnesses_of("fusion")}
    source = cells["triton_matmul", "tuned"].replace("128, 256, 64", "64, 128, 256")
    source = source.replace('"num_stages": 3', '"num_stages": 2')
    table = on_gpus(ex.triton_matmul, check_source(ex.triton_matmul, source))
    t4, a100, *_ = table.rows
    assert len(t4) == 2
    assert "shared memory" in t4[1]
    assert len(a100) > len(t4)
    assert t4[1] in repr(table)


def test_a_kernel_that_is_wrong_or_numbas_gets_its_verdict():
    assert ex.triton_add.gpus("x = 1").outcome is Outcome.REJECTED
    refused = ex.vector_add.gpus(None)
    assert refused.outcome is Outcome.REJECTED
    assert "is for Triton's kernels" in refused.next_steps[-1]


def test_a_kernel_for_one_gpu_has_its_row_and_no_picture_of_another():
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    verdict = check_source(ex.tma_scale, solutions_of("modern")["tma_scale"])
    ((gpu, *_),) = on_gpus(ex.tma_scale, verdict).rows
    assert gpu == TARGETS["sm_90"]
    titles = [steps.title for steps in with_all(ex.tma_scale, verdict).pictures]
    assert titles
    assert not [title for title in titles if "A100" in title]
