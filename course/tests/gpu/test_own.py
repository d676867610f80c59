"""A right kernel on this machine's GPU: what is told, and what a broken process costs."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

from course import exercises
from course.gpu import own, present, runs
from course.notebook import exercises as shown_exercises
from course.notebook.exercises import shown

RIGHT = {
    "gpu": "a GPU",
    "cases": 3,
    "case": "N=4096",
    "us": 40.0,
    "low_us": 39.0,
    "high_us": 44.0,
    "bytes": 4_000_000,
    "copy_gb_s": 200.0,
}
#: Answers what it is asked to; ends, or says nothing, where it is asked for that.
SCRIPT = """
import json, os, sys, time
for line in sys.stdin:
    wanted = json.loads(line)["source"]
    if wanted == "end":
        sys.exit(3)
    if wanted == "hang":
        time.sleep(60)
    answer = json.loads(wanted)
    print(json.dumps(answer | {"process": os.getpid()}), flush=True)
"""


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch):
    one = own._Child((sys.executable, "-c", SCRIPT))
    monkeypatch.setattr(own, "_child", one)
    yield one
    one.close()


def told(answer, patience_s=30.0):
    return own.told("double", answer if isinstance(answer, str) else json.dumps(answer), patience_s)


@pytest.mark.usefixtures("child")
def test_a_right_kernel_is_told_with_its_rate_and_its_share_of_a_copy():
    assert told(RIGHT) == (
        "On this machine's a GPU: right on all 3 cases. The largest, N=4096, takes 40.0 us (39.0 "
        "to 44.0): 100 GB/s of the bytes that have to move, 0.5 of the 200 GB/s that a copy "
        "reaches here."
    )


@pytest.mark.usefixtures("child")
def test_of_a_short_launch_no_rate_is_told():
    said = told(RIGHT | {"us": 3.0})
    assert "takes 3.0 us (39.0 to 44.0), most of which any launch takes" in said
    assert "GB/s" not in said


@pytest.mark.usefixtures("child")
def test_an_access_out_of_bounds_that_the_engine_did_not_see_is_a_defect_of_the_course():
    said = told({"fault": "CudaAPIError: CUDA_ERROR_ILLEGAL_ADDRESS"})
    assert "so this is a defect of the course" in said
    assert "defect" not in told({"fault": "OutOfResources: shared memory"})


@pytest.mark.usefixtures("child")
def test_another_answer_on_the_gpu_is_called_a_defect_of_the_course():
    said = told({"gpu": "a GPU", "wrong": "N=7"})
    assert "another answer for N=7" in said
    assert "a defect of the course, not of your kernel" in said


@pytest.mark.usefixtures("child")
def test_a_kernel_for_another_gpu_is_no_defect_of_the_course():
    assert told({"gpu": "a GPU", "other": 9.0}) == (
        "This machine's a GPU did not run it: the kernel is written for compute capability 9.0 "
        "alone."
    )


def test_a_process_answers_more_than_one_cell(child):
    first, second = (child.ask({"source": json.dumps(RIGHT)}, 30) for _ in range(2))
    assert first["process"] == second["process"]


@pytest.mark.parametrize("broken", ["end", "hang", json.dumps({"fault": "out of memory"})])
def test_after_a_fault_the_next_cell_gets_a_new_process(child, broken):
    before = child.ask({"source": json.dumps(RIGHT)}, 30)["process"]
    said = told(broken, 1.0 if broken == "hang" else 30.0)
    assert said.endswith("The verdict stands: it is the engine's.")
    assert child.ask({"source": json.dumps(RIGHT)}, 30)["process"] != before


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


def test_a_right_kernels_verdict_says_what_the_gpu_made_of_it(monkeypatch):
    asked = []
    monkeypatch.setattr(own, "told", lambda name, source: asked.append((name, source)) or "Said.")
    monkeypatch.setattr(shown_exercises, "present", lambda: True)
    verdict = shown(exercises.double).check(double)
    assert verdict.next_steps[0] == "Said."
    assert [(name, "2 * x[i]" in source) for name, source in asked] == [("double", True)]
    assert "Said." not in shown(exercises.double).check(None).next_steps
    assert len(asked) == 1


def test_without_a_gpu_or_where_it_is_switched_off_no_gpu_is_asked(monkeypatch, tmp_path):
    monkeypatch.delenv(present.SWITCH, raising=False)
    monkeypatch.setattr(present, "_DEVICES", (tmp_path / "nvidiactl",))
    assert not present.present()
    monkeypatch.setattr(present, "_DEVICES", (tmp_path,))
    assert present.present()
    monkeypatch.setenv(present.SWITCH, "off")
    assert not present.present()


class Fake:
    """A GPU that is this computer's memory; a launch takes a millisecond."""

    name = "a fake"

    def put(self, array):
        return array.copy()

    def fetched(self, array):
        return array

    def wait(self):
        return

    def event(self):
        return Event()

    def elapsed_ms(self, begin, end):
        return 1.0

    def copy(self, target, source):
        target[...] = source


class Event:
    def record(self):
        return

    def synchronize(self):
        return


CELL = """
class double:
    def __class_getitem__(cls, launch):
        def launched(x, y, *_):
            y[:] = {expression}
        return launched
"""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    runs.copy_gb_s.cache_clear()
    monkeypatch.setattr(runs, "_gpu", lambda dialect: Fake())
    monkeypatch.setattr(runs, "CLEARED_BYTES", 64)
    monkeypatch.setattr(runs, "COPIED_BYTES", 64)
    yield tmp_path
    runs.copy_gb_s.cache_clear()


def test_every_visible_case_is_compared_and_the_largest_is_timed(fake):
    source = CELL.format(expression="2 * x")
    answer = runs.answered({"exercise": "double", "source": source}, fake)
    assert (answer["cases"], answer["us"], "wrong" in answer) == (3, 1000.0, False)
    assert answer["bytes"] == 2 * 4 * int(answer["case"].removeprefix("N="))


def test_a_wrong_result_names_its_case(fake):
    source = CELL.format(expression="2 * x + (x.size > 100)")
    answer = runs.answered({"exercise": "double", "source": source}, fake)
    assert int(answer["wrong"].removeprefix("N=")) > 100


def test_a_kernel_for_another_gpu_is_not_even_imported(fake, monkeypatch):
    monkeypatch.setattr(Fake, "target", lambda self: 80, raising=False)
    request = {"exercise": "tma_scale", "source": "no cell"}
    assert runs.answered(request, fake) == {"gpu": "a fake", "other": 9.0}


def test_poison_that_is_left_is_no_result(fake):
    source = CELL.format(expression="y")
    assert "wrong" in runs.answered({"exercise": "double", "source": source}, fake)


def test_times_are_in_order_and_the_warm_up_is_left_out():
    launched = []
    times = runs.timed_us(Fake(), lambda: launched.append(np.float32(1)))
    assert len(launched) == runs.WARM_UP + runs.TIMED
    assert times == [1000.0] * runs.TIMED
