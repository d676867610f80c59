"""A right kernel on this machine's GPU: what is told, and what a broken process costs."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numba import cuda

from course import exercises
from course.gpu import own, present, runs, timing
from course.notebook import exercises as shown_exercises
from course.notebook.exercises import shown
from course.spec.exercise import case

RIGHT = {
    "gpu": "A GPU",
    "count": 1,
    "cases": 3,
    "case": "N=4096",
    "us": 40.0,
    "low_us": 39.0,
    "high_us": 44.0,
    "clocks_mhz": [1980.0, 1800.0],
    "bytes": 4_000_000,
    "copy": 200.0,
}
#: Answers what it is asked to; ends, or says nothing, where it is asked for that.
SCRIPT = """
import json, os, sys, time
for line in sys.stdin:
    wanted = json.loads(line)["source"]
    if "then" in wanted:
        first, wanted = wanted.split("then")
        print(first, flush=True)
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
    monkeypatch.setattr(own, "_lasting", {})
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    yield one
    one.close()


def told(answer, patience_s=30.0):
    asked = answer if isinstance(answer, str) else json.dumps(answer)
    return own.told("double", "numba", asked, patience_s)


@pytest.mark.usefixtures("child")
def test_a_right_kernel_is_told_with_its_rate_and_its_share_of_a_copy():
    assert told(RIGHT) == (
        "On this machine's A GPU: right on all 3 cases. N=4096 takes 40.0 us (39.0 to 44.0, the L2 "
        "cleared before each run): 100 GB/s of the bytes that have to move, 0.5 of the 200 GB/s "
        "that a copy reaches here."
    )


@pytest.mark.usefixtures("child")
def test_a_product_is_told_in_operations_and_their_share_of_pytorchs():
    product = {"operations": 2e9, "dtype": "float16", "product": 100.0}
    assert told(RIGHT | product).endswith(
        "before each run): 50 TFLOP/s, 0.5 of the 100 TFLOP/s that PyTorch's float16 product "
        "reaches here."
    )
    assert told(RIGHT | product | {"product": None}).endswith("before each run): 50 TFLOP/s.")


@pytest.mark.usefixtures("child")
def test_of_a_short_launch_no_rate_is_told():
    said = told(RIGHT | {"us": 3.0})
    assert "takes 3.0 us (39.0 to 44.0, the L2 cleared before each run), most of which any" in said
    assert "GB/s" not in said


@pytest.mark.usefixtures("child")
def test_a_clock_that_fell_is_told():
    assert "clock" not in told(RIGHT)
    said = told(RIGHT | {"clocks_mhz": [1980.0, 1500.0]})
    assert "The GPU's clock fell from 1980 to 1500 MHz meanwhile" in said


@pytest.mark.usefixtures("child")
@pytest.mark.parametrize(
    "fault",
    [
        "CudaAPIError: [700] CUDA_ERROR_ILLEGAL_ADDRESS",
        "AcceleratorError: CUDA error: an illegal memory access was encountered\nSearch for ...",
        "AcceleratorError: CUDA error: an illegal instruction was encountered",
        "RuntimeError: Triton Error [CUDA]: misaligned address",
        "AcceleratorError: CUDA error: operation not supported on global/shared address space",
        "CudaAPIError: [<CUresult.CUDA_ERROR_INVALID_ADDRESS_SPACE: 717>] Call to cuCtxSynchronize",
        "CudaAPIError: [719] Call to cuCtxSynchronize results in CUDA_ERROR_LAUNCH_FAILED",
    ],
)
def test_a_kernel_that_the_gpu_stops_is_a_defect_of_the_course(fault):
    said = told({"fault": fault})
    assert said.startswith(f"This machine's GPU stopped it: {fault.splitlines()[0]}. The engine")
    assert "so this is a defect of the course" in said
    assert said.endswith("Please send your cell and this line to whoever gave you the course.")


@pytest.mark.usefixtures("child")
def test_what_the_gpu_has_too_little_of_is_no_defect():
    assert told({"fault": "OutOfResources: out of resource: shared memory"}) == (
        "This machine's GPU did not run it: OutOfResources: out of resource: shared memory. The "
        "verdict stands: it is the engine's."
    )


@pytest.mark.usefixtures("child")
def test_an_error_that_nobody_knows_is_told_by_its_first_sentence():
    assert told({"fault": "SomeError: Error at start:\n\nIt did not work.\nTry again with\n:"}) == (
        "This machine's GPU did not run it: SomeError: Error at start: It did not work. The "
        "verdict stands: it is the engine's."
    )


#: What libraries say, and a part of what is told.
MACHINES = {
    "CudaSupportError: Error at driver init: \n\nCUDA driver library cannot be found.\nIf you\n:": (
        "no driver answers for it. Install NVIDIA's driver, 580 or later"
    ),
    "RuntimeError: Found no NVIDIA driver on your system. Please": "Install NVIDIA's driver",
    "RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please": (
        "too old for what is installed here: it knows CUDA 12.2. Update the driver to 580"
    ),
    "LinkerError: [222] Call to cuLinkAddData results in CUDA_ERROR_UNSUPPORTED_PTX_VERSION": (
        "driver is too old for what is installed here. Update"
    ),
    "AssertionError: Torch not compiled with CUDA enabled": "PyTorch here is its build for CPUs",
    "NvvmSupportError: libNVVM cannot be found. Do `conda install`": "numba-cuda[cu13]",
    "AcceleratorError: CUDA error: no kernel image is available for execution on the device": (
        "GPU is too old for what is installed here. The course's kernels are compiled for 7.5"
    ),
    "AcceleratorError: CUDA error: uncorrectable ECC error encountered": "a restart resets the GPU",
    "CudaAPIError: [803] CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "Restart the machine",
}


@pytest.mark.parametrize("fault", MACHINES)
def test_what_keeps_every_kernel_from_the_gpu_is_told_and_found_out_once(child, fault):
    said = told({"fault": fault})
    assert MACHINES[fault] in said
    assert ".:" not in said
    assert said.endswith("`COURSE_GPU=off` leaves the GPU alone.")
    child.command = ("no such program",)
    assert told(RIGHT) == said
    with pytest.raises(FileNotFoundError):
        own.told("triton_add", "triton", "")  # another library may fare better


@pytest.mark.usefixtures("child")
@pytest.mark.parametrize(
    ("fault", "part"),
    [
        ("CUDA error: CUDA-capable device(s) is/are busy or unavailable", "has the GPU for itself"),
        ("OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "its memory has no room"),
        (
            "TypeError: Signature mismatch: 2 argument types given, but function takes 1 arguments",
            'does not compile `min` and `max`. `pip install "numba-cuda[cu13]<0.31"`',
        ),
    ],
)
def test_what_passes_is_told_and_asked_again(fault, part):
    assert part in told({"fault": fault})
    assert "right on all 3 cases" in told(RIGHT)


@pytest.mark.usefixtures("child")
def test_a_gpu_before_triton_is_told_with_its_compute_capability():
    said = told({"gpu": "Tesla P100", "count": 1, "old": 6.0})
    assert (
        "Tesla P100 is too old for what is installed here: its compute capability is 6.0." in said
    )
    assert told(RIGHT) == said


UNTIMED = {"gpu": "A GPU", "count": 1, "cases": 3, "full": "N=16777216"}


@pytest.mark.usefixtures("child")
def test_a_right_kernel_that_could_not_be_timed_is_right_first():
    right = "On this machine's A GPU: right on all 3 cases. "
    memory = UNTIMED | {"untimed": "OutOfMemoryError: CUDA out of memory. Tried"}
    assert told(memory) == (f"{right}N=16777216 was not timed: memory has no room for it.")
    assert told(memory | RIGHT).startswith(f"{right}N=4096 takes 40.0 us")
    assert told(memory | RIGHT).endswith("no room for it.")
    assert told(UNTIMED | {"untimed": "ValueError: no"}).endswith("not timed: ValueError: no.")


@pytest.mark.parametrize(
    ("then", "told_of_it"),
    [
        ("hang", "N=16777216 was not timed: it took too long."),
        ("end", "N=16777216 was not timed: its process ended."),
        (json.dumps({"us": 3.0} | RIGHT), "that a copy reaches here."),
    ],
)
def test_what_is_known_before_the_full_size_case_is_told_whatever_comes(child, then, told_of_it):
    first = json.dumps(UNTIMED | {"going_on": True})
    said = told(f"{first}then{then}", 2.0)
    assert said.startswith("On this machine's A GPU: right on all 3 cases. ")
    assert said.endswith(told_of_it)
    assert (child._process is None) == (then in ("hang", "end"))


@pytest.mark.usefixtures("child")
def test_what_goes_wrong_at_full_size_alone_may_be_the_kernels_mistake():
    said = told(UNTIMED | {"untimed": "CUDA error: an illegal memory access was encountered"})
    assert "right on all 3 cases. At full size, N=16777216, the GPU stopped it" in said
    assert "defect" not in said
    said = told({"gpu": "A GPU", "cases": 3, "full_wrong": "N=16777216"})
    assert "At full size, N=16777216, it gives another answer." in said


@pytest.mark.usefixtures("child")
def test_which_gpu_of_several_is_told(monkeypatch):
    of_four = told(RIGHT | {"count": 4})
    assert "A GPU (the first of 4; CUDA_VISIBLE_DEVICES chooses another): right" in of_four
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    assert "A GPU (by CUDA_VISIBLE_DEVICES=2): right" in told(RIGHT)
    sliced = told(RIGHT | {"gpu": "NVIDIA H100 80GB HBM3 MIG 1g.10gb"})
    assert "NVIDIA H100 80GB HBM3 (a MIG slice of it, 1g.10gb): right" in sliced


@pytest.mark.usefixtures("child")
def test_another_answer_on_the_gpu_is_called_a_defect_of_the_course():
    said = told({"gpu": "A GPU", "wrong": "N=7"})
    assert "another answer for N=7" in said
    assert "a defect of the course, not of your kernel" in said


@pytest.mark.usefixtures("child")
def test_a_kernel_for_another_gpu_is_no_defect_of_the_course():
    assert told({"gpu": "A GPU", "other": 9.0}) == (
        "This machine's A GPU did not run it: the kernel is written for compute capability 9.0 "
        "alone."
    )


def test_a_process_answers_more_than_one_cell(child):
    first, second = (child.ask({"source": json.dumps(RIGHT)}, 30) for _ in range(2))
    assert first["process"] == second["process"]


@pytest.mark.parametrize("broken", ["end", "hang", json.dumps({"fault": "OutOfResources"})])
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
    monkeypatch.setattr(own, "told", lambda *given: asked.append(given) or "Said.")
    monkeypatch.setattr(shown_exercises, "present", lambda: True)
    verdict = shown(exercises.double).check(double)
    assert verdict.next_steps[0] == "Said."
    assert [(*names, "2 * x[i]" in source) for *names, source in asked] == [
        ("double", "numba", True)
    ]
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

    name, count, uuid = "a fake", 1, "GPU-0"
    capability, l2_bytes, most_bytes = 80, 16, 1 << 20
    released_ones = 0

    def put(self, array):
        assert array.nbytes <= self.most_bytes, "out of memory"
        return array.copy()

    def room(self, count_bytes):
        return self.put(np.zeros(count_bytes, np.int8))

    def released(self):
        self.released_ones += 1

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


def asked(expression, folder):
    source = CELL.format(expression=expression)
    said = []
    answer = runs.answered({"exercise": "double", "source": source}, folder, said.append)
    assert bool(said) == ("cases" in answer)
    return answer


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    one = Fake()
    monkeypatch.setattr(runs, "_gpu", lambda dialect: one)
    monkeypatch.setattr(timing, "CLEARED_BYTES", 64)
    monkeypatch.setattr(timing, "COPIED_BYTES", 64)
    monkeypatch.setattr(timing, "_asked", lambda gpu, field: "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    small = replace(exercises.lesson("start")["double"], full=case(N=30_000))
    monkeypatch.setattr(exercises, "all_exercises", lambda: {"double": small, "tma_scale": TMA})
    one.folder = tmp_path
    return one


TMA = exercises.lesson("modern")["tma_scale"]


def test_every_visible_case_is_compared_and_the_full_size_is_timed(fake):
    answer = asked("2 * x", fake.folder)
    assert (answer["cases"], answer["us"], "wrong" in answer) == (3, 1000.0, False)
    assert (answer["case"], answer["bytes"]) == ("N=30000", 2 * 4 * 30_000)
    assert fake.released_ones == 1


def test_a_wrong_result_names_its_case(fake):
    answer = asked("2 * x + (x.size > 100)", fake.folder)
    assert int(answer["wrong"].removeprefix("N=")) > 100


def test_a_result_that_is_wrong_at_full_size_alone_is_not_timed(fake):
    answer = asked("2 * x + (x.size > 10000)", fake.folder)
    assert (answer["cases"], answer["full_wrong"], "us" in answer) == (3, "N=30000", False)


def test_where_memory_is_short_the_largest_visible_case_is_timed(fake):
    fake.most_bytes = 50_000
    answer = asked("2 * x", fake.folder)
    assert (answer["case"], answer["full"]) == ("N=2048", "N=30000")
    assert "out of memory" in answer["untimed"]
    fake.most_bytes = 10_000  # nor for what clears the L2
    fake.l2_bytes = 10_000
    timing.CLEARED_BYTES = 20_000  # undone with the fixture's own
    answer = asked("2 * x", fake.folder)
    assert (answer["cases"], "us" in answer) == (3, False)


def test_what_stops_the_full_size_run_leaves_the_kernel_right(fake):
    answer = asked("2 * x if x.size < 10000 else [][1]", fake.folder)
    assert (answer["cases"], answer["full"]) == (3, "N=30000")
    assert answer["untimed"].startswith("IndexError: ")
    assert fake.released_ones == 0


def test_a_kernel_for_another_gpu_is_not_even_imported(fake):
    request = {"exercise": "tma_scale", "source": "no cell"}
    assert runs.answered(request, fake.folder, print) == {"gpu": "a fake", "count": 1, "other": 9.0}
    fake.capability = 61
    assert runs.answered(request, fake.folder, print) == {"gpu": "a fake", "count": 1, "old": 6.1}


def test_poison_that_is_left_is_no_result(fake):
    assert "wrong" in asked("y", fake.folder)


def test_times_are_in_order_and_the_warm_up_is_left_out(fake):
    launched = []
    times = timing.timed_us(fake, lambda: launched.append(np.float32(1)))
    assert len(launched) == timing.WARM_UP + timing.TIMED
    assert times == [1000.0] * timing.TIMED


def test_where_memory_is_short_twice_the_l2_is_cleared(fake, monkeypatch):
    rooms = []
    monkeypatch.setattr(fake, "copy", lambda target, source: rooms.append(target.nbytes))
    fake.most_bytes = 63
    timing.timed_us(fake, lambda: None)
    assert set(rooms) == {2 * fake.l2_bytes}


def test_clocks_are_read_before_and_after(fake, monkeypatch):
    said = iter(["1980", "1500"])
    monkeypatch.setattr(timing, "_asked", lambda gpu, field: next(said))
    assert timing.timed(fake, lambda: None).clocks_mhz == (1980.0, 1500.0)
    monkeypatch.setattr(timing, "_asked", lambda gpu, field: "[N/A]")
    assert timing.timed(fake, lambda: None).clocks_mhz is None


def test_a_rate_is_measured_once_for_a_gpu_and_its_driver(fake, monkeypatch):
    driver = ["580.1"]
    monkeypatch.setattr(timing, "_asked", lambda gpu, field: driver[0])
    first = timing.copy_gb_s(fake)
    assert first == 2 * 64 / 1000 / 1000
    monkeypatch.setattr(timing, "timed_us", lambda gpu, call: [500.0])
    assert timing.copy_gb_s(fake) == first
    driver[0] = "590.2"
    assert timing.copy_gb_s(fake) == 2 * first
    timing.file().write_text("no JSON")
    assert timing.copy_gb_s(fake) == 2 * first


def test_without_room_for_a_copy_or_without_pytorchs_cuda_there_is_no_share(fake, monkeypatch):
    monkeypatch.setattr(timing, "COPIED_BYTES", fake.most_bytes + 1)
    assert timing.copy_gb_s(fake) is None
    assert timing.product_tflop_s(fake, "no_such_dtype") is None
    assert not timing.file().exists()
