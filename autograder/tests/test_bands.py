"""Bands of speed: what a setting says, what a GPU's process comes to, and a class with and without.

On a machine with a GPU `python -m pytest -m gpu autograder/tests/test_bands.py` grades there.
"""

import base64
import itertools
import re
from dataclasses import replace
from functools import partial

import msgspec
import pytest

from autograder import Refused
from autograder.grading import grade
from autograder.grading.ledger import Ledger
from autograder.judge import bands, overlay, own_gpu, private
from autograder.judge.own_gpu import Gpu, OwnGpu
from autograder.judge.pool import Pool
from autograder.proof.witness import witnesses_of
from autograder.sandbox import cost, walls
from autograder.sandbox.gpu import answered
from autograder.sandbox.remote import Remote
from autograder.sandbox.walls import Kind, Wall
from autograder.sandbox.wire import decoded_plan
from autograder.tests import fake_gpu
from autograder.tests.graders import finished, start
from autograder.tests.notebooks import cell, notebook, put
from course import exercises
from course.engine.launcher.gpu import PROPERTIES
from course.engine.simt.compiled import has_nvvm
from course.gpu.full_size import work_of
from course.gpu.present import SWITCH, present

ADD = exercises.all_exercises()["triton_add"]
SMALL = ADD.cases[-1]
WALLS = {
    Kind.BUBBLEWRAP: walls.bubblewrap_works().works,
    Kind.LANDLOCK: walls.landlock_works().works,
}
HONEST = {w.exercise: w.source for w in reversed(witnesses_of("hello_triton")) if w.is_honest}
H100 = {**PROPERTIES, "name": "NVIDIA H100 PCIe", "major": 9}
#: Of the copy's rate, which is such that the fake kernel reaches a half of it.
STEPS = [[0.9, 100], [0.4, 80], [0.1, 50]]
SETTINGS = f"[bands.h100]\ntriton_add = {STEPS}\n"


@pytest.fixture
def mine(tmp_path):
    private.make(tmp_path / "mine")
    yield tmp_path / "mine"
    overlay.use(None)


def with_bands(folder, text=SETTINGS):
    (folder / overlay.SETTINGS).write_text(text)
    return overlay.use(folder)


# ------------------------------------------------------------ the setting


def test_a_fraction_keeps_the_percent_of_the_highest_band_that_it_reaches(mine):
    found = with_bands(mine).bands
    band = bands.band_of(found, "triton_add", "NVIDIA H100 PCIe")
    assert [band.percent(f) for f in (1.0, 0.9, 0.89, 0.4, 0.1, 0.05)] == [100, 100, 80, 80, 50, 0]
    assert bands.band_of(found, "triton_add", "NVIDIA A100") is None
    assert bands.band_of(found, "wave_energy", "NVIDIA H100 PCIe") is None


def test_of_two_names_that_fit_a_gpu_the_longer_one_counts():
    found = {"H100": {"triton_add": ((0.5, 100),)}, "H100 PCIe": {"triton_add": ((0.4, 100),)}}
    assert bands.band_of(found, "triton_add", "NVIDIA H100 PCIe").steps == ((0.4, 100),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[bands]\nH100 = 3\n", r"expected tables \[bands.GPU\]"),
        ("bands = 3\n", r"expected tables \[bands.GPU\]"),
        ("[bands.H100]\ntriton_add = 0.6\n", "expected for triton_add pairs"),
        ("[bands.H100]\ntriton_add = [[0.4, 80], [0.6, 100]]\n", "both falling"),
        ("[bands.H100]\ntriton_add = [[0.6, 120]]\n", "expected for triton_add pairs"),
        ("[bands.H100]\ntriton_ad = [[0.6, 100]]\n", "no exercise with a kernel"),
        ("[bands.H100]\npredict_sectors = [[0.6, 100]]\n", "no exercise with a kernel"),
    ],
)
def test_a_band_that_means_nothing_is_refused_in_a_sentence(mine, text, said):
    with pytest.raises(Refused, match=said):
        with_bands(mine, text)


def test_bands_change_the_key_of_their_own_lessons_verdicts_and_no_others(mine):
    (mine / overlay.SETTINGS).write_text("")
    plain = overlay.use(mine)
    before = {stem: plain.digest(stem) for stem in ("hello_triton", "fusion")}
    changed = with_bands(mine)
    assert changed.digest("fusion") == before["fusion"]
    assert changed.digest("hello_triton") != before["hello_triton"]


# ------------------------------------------------------------ what a GPU's process comes to


@pytest.fixture
def replied(monkeypatch):
    """What is replied of `triton_add` on a small case, by how the fake process goes about it."""
    monkeypatch.setattr(own_gpu, "PROCESS", "autograder.tests.fake_gpu")
    monkeypatch.setattr(own_gpu, "largest_cases", lambda exercise: [SMALL])
    monkeypatch.setattr(own_gpu, "PATIENCE_S", 20.0)
    rate = work_of(ADD, SMALL)["bytes"] / fake_gpu.US / 1000
    here = Gpu(H100, {"copy": 2 * rate}, "libcuda.so.1")
    monkeypatch.setattr(OwnGpu, "found", here)
    known = {"h100": {"triton_add": tuple(map(tuple, STEPS))}}

    def reply(how="", **question):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", how)
        asked = {"plan": base64.b64encode(b"\xc0").decode(), "constants": {"BLOCK": 1024}}
        one = OwnGpu(Wall(Kind.NONE), known)
        return one.reply({"exercise": "triton_add", **(question or asked)})

    return reply


def test_a_kernel_that_is_right_there_keeps_what_its_rate_is_worth(replied):
    reply = replied()
    assert reply["share"] == 0.8
    assert reply["kept"]["gpu"] == "NVIDIA H100 PCIe"
    assert (reply["kept"]["us"], reply["kept"]["fraction"]) == (50.0, 0.5)
    assert "0.50 of the" in reply["said"]
    assert "NVIDIA H100 PCIe" in reply["said"]
    assert "0.9 for 100 %, 0.4 for 80 %, 0.1 for 50 %" in reply["said"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("right on its first launch", "it gives another answer"),
        ("stray", "CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("dies", "its process ended (without a word)"),
        ("short of bytes", "its answer is none"),
        ("faster than light", "its answer is none"),
    ],
)
def test_a_kernel_that_comes_to_no_right_end_there_keeps_nothing(replied, how, said):
    reply = replied(how)
    assert (reply["share"], reply["kept"]["percent"]) == (0.0, 0.0)
    assert said in reply["said"]


def test_a_kernel_that_hangs_is_given_up(replied, monkeypatch):
    monkeypatch.setattr(own_gpu, "PATIENCE_S", 1.0)
    assert "it was not done after 1 s" in replied("hangs")["said"]


@pytest.mark.parametrize("how", ["without room", "without a driver"])
def test_what_is_no_fault_of_the_kernels_costs_it_nothing(replied, how):
    reply = replied(how)
    assert reply["share"] == 1.0
    assert reply["kept"]["awaits"] == "h100"
    assert "was not timed there" in reply["said"]


def test_a_kernel_that_does_not_compile_for_the_gpu_keeps_nothing(replied):
    reply = replied(refused="Its shared memory does not fit.")
    assert reply["share"] == 0.0
    assert reply["said"].endswith("Its shared memory does not fit.")


@pytest.mark.skipif(not has_nvvm(), reason="no NVVM here: pip install nvidia-cuda-nvcc-cu12")
@pytest.mark.parametrize("kind", [kind for kind, works in WALLS.items() if works])
def test_a_numba_kernel_is_compiled_behind_the_wall_for_the_gpu(kind):
    process, connection = cost.started(kind)
    try:
        run = replace(cost.small_run("numba"), planned_for=H100)
        plan = Remote(connection, "add_one", 60.0, 2 << 30).asked(run, decoded_plan)
    finally:
        walls.end(process)
    [code] = msgspec.msgpack.decode(plan)["codes"]
    assert b".target sm_90" in code["binary"]


# ------------------------------------------------------------ in that process


class Recorded:
    """A driver that notes what is done, in order; a launch writes its number of the launches."""

    def __init__(self):
        self.done = []
        self.memory = {}
        self._free = itertools.count(256, 1 << 20)
        self.launches = 0

    def __getattr__(self, name):
        return partial(self._noted, name)

    def _noted(self, name, *args):
        self.done.append(name)
        return {"us": 7.0}.get(name)

    def room(self, size):
        return next(self._free)

    def put(self, address, data):
        self.memory[address] = bytearray(data)

    def fill(self, address, size, element):
        self.done.append("cleared" if size == 1 << 28 else "filled")
        self.memory[address] = bytearray(element * (min(size, 64) // len(element)))

    def fetched(self, address, size):
        return self.memory[address][:size]

    def launch(self, function, grid, block, shared, parameters):
        self.launches += 1
        self.done.append("launched")
        [made] = [a for a, data in self.memory.items() if data[:4] == b"\xe1\x7f\xe1\x7f"]
        self.memory[made][:4] = self.launches.to_bytes(4, "little")


def test_each_set_of_inputs_is_launched_once_on_poisoned_outputs_behind_a_cleared_l2():
    code = {"binary": b"", "name": "k", "block": [128, 1, 1], "shared": 0, "scratch": [0, 0]}
    plan = {
        "buffers": [[4, "x"], [4, ""]],
        "codes": [code],
        "steps": [["launch", 0, [1, 1, 1], [["pointer", 0, 0], ["pointer", 1, 0]]]],
        "arrays": [["out", 1, 0, [1], [4], "int32"]],
    }
    driver = Recorded()
    sets = [{"x": bytes([k] * 4)} for k in range(3)]
    answer = answered({"plan": plan, "sets": sets, "wanted": ["out"]}, driver)
    assert answer["us"] == [7.0] * 3
    assert [one["out"][0] for one in answer["outputs"]] == [1, 2, 3]
    order = " ".join(driver.done)
    one = r"filled wait( cleared)+ record launched record us"
    assert re.fullmatch(rf"function event event( {one}){{3}}", order), order


def test_of_the_forms_of_a_launch_the_fastest_is_made():
    codes = [
        {"binary": b"", "name": name, "block": [32, 1, 1], "shared": 0, "scratch": []}
        for name in ("slow", "fast", "slower")
    ]
    forms = [["launch", n, [1, 1, 1], [["pointer", 1, 0]]] for n in range(3)]
    plan = {
        "buffers": [[4, "x"], [4, ""]],
        "codes": codes,
        "steps": [["fill", 1, bytes(4)], ["tuned", forms]],
        "arrays": [["out", 1, 0, [1], [4], "int32"]],
    }

    class Timed(Recorded):
        def function(self, binary, name, shared):
            return name

        def launch(self, function, *rest):
            self.done.append(function)

        def us(self, begin, end):
            return {"slow": 5.0, "fast": 3.0, "slower": 9.0}[self.done[-2]]

    driver = Timed()
    sets = [{"x": bytes(4)}] * 2
    answer = answered({"plan": plan, "sets": sets, "wanted": ["out"]}, driver)
    made = [name for name in driver.done if name in ("slow", "fast", "slower")]
    assert made == ["slow", "fast", "slower"] * 2 + ["fast"] * 2
    assert answer["us"] == [3.0] * 2


# ------------------------------------------------------------ a class


def handed_in(folder):
    names = ("triton_add", "wave_energy")
    return put(folder / "ada_06_hello_triton.ipynb", notebook([cell(HONEST[n], n) for n in names]))


def graded(out):
    return {entry.graded.exercise: entry.graded for entry in Ledger(out).latest()}


@pytest.mark.slow
def test_without_the_gpu_the_points_are_the_engines_and_a_machine_with_it_times_what_awaits(
    tmp_path, mine, monkeypatch
):
    with_bands(mine)
    handed_in(tmp_path / "in")
    command = tmp_path / "in", "--out", tmp_path / "out", "--jobs", 1, "--seed", mine
    said = finished(start(*command, check=grade.CHECK, steady=True))
    assert "1 answer awaits a GPU (h100)" in said
    before = graded(tmp_path / "out")
    add = before["triton_add"]
    assert add.points == add.max_points
    assert add.gpu == {"awaits": "h100", "why": ""}
    assert "judged without one" in add.text
    assert before["wave_energy"].gpu is None

    monkeypatch.setattr(own_gpu, "PROCESS", "autograder.tests.fake_gpu")
    rate = work_of(ADD, ADD.full)["bytes"] / fake_gpu.US / 1000
    monkeypatch.setattr(OwnGpu, "found", Gpu(H100, {"copy": 2 * rate}, "libcuda.so.1"))
    for version in ("course_version", "lesson_version"):
        monkeypatch.setattr(f"autograder.judge.judge.{version}", lambda *stem: "steady")
    run(command)
    after = graded(tmp_path / "out")
    assert after["wave_energy"] == before["wave_energy"]
    add = after["triton_add"]
    assert add.points == pytest.approx(0.8 * add.max_points)
    assert (add.gpu["gpu"], add.gpu["fraction"]) == ("NVIDIA H100 PCIe", 0.5)
    assert "0.50 of the" in add.text
    assert "0.50 of the" in add.panel


def run(command):
    import argparse

    parser = argparse.ArgumentParser()
    grade.add_arguments(parser)
    assert grade.main(parser.parse_args(list(map(str, command)))) == grade.DONE


def test_without_a_setting_no_gpu_is_looked_for(monkeypatch):
    monkeypatch.setattr(OwnGpu, "found", property(lambda self: pytest.fail("it was looked for")))
    pool = Pool(b"s", wall=Wall(Kind.NONE))
    assert not pool.times("triton_add")


#: Right on every case of the check, all of which are smaller than this.
_LARGE = "N > 8388608"
_STORE = "    tl.store("
HOSTILE = {
    "ILLEGAL_ADDRESS": f"    out_ptr += tl.where({_LARGE}, 1 << 40, 0).to(tl.int64)\n",
    "it was not done after": "    for _ in range(N // 8388609 * 1000000000):\n"
    f"    {_STORE}out_ptr + offsets, x, mask=inside)\n",
    "it gives another answer": f"    if {_LARGE}:\n        y = x\n",
}


@pytest.fixture
def _a_gpu(monkeypatch):
    """Every other test leaves the GPU alone (`conftest.py`)."""
    monkeypatch.delenv(SWITCH, raising=False)
    if not present():
        pytest.skip("there is no GPU here")
    monkeypatch.setattr(own_gpu, "PATIENCE_S", 20.0)


def on_the_gpu(name, stem, source, folder, mine):
    """The verdict on a cell, graded where bands begin at any speed."""
    with_bands(mine, f"[bands.NVIDIA]\n{name} = [[0.001, 100]]\n")
    file = f"ada_{exercises.notebook(stem)}.ipynb"
    put(folder / "in" / file, notebook([cell(source, name)]))
    run((folder / "in", "--out", folder / "out", "--seed", mine, "--trust"))
    found = graded(folder / "out")[name]
    print(f"{name}: {found.gpu} {found.text}")
    return found


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "stem"),
    [
        *(("triton_add", "hello_triton"), ("triton_matmul", "fusion"), ("hopper_matmul", "modern")),
        *(("saxpy_grid_stride", "threads"), ("padded_rows", "coalescing")),
        *(("histogram", "shared_memory"), ("matmul_coarse", "matmul")),
    ],
)
@pytest.mark.usefixtures("_a_gpu")
def test_a_right_kernel_is_timed_on_this_machines_gpu(name, stem, tmp_path, mine):
    honest = next(w.source for w in witnesses_of(stem) if w.exercise == name and w.is_honest)
    found = on_the_gpu(name, stem, honest, tmp_path, mine)
    if found.awaits_gpu and "another GPU" in found.gpu["why"]:
        pytest.skip(found.text)
    assert found.points == found.max_points
    assert 0.001 < found.gpu["fraction"] < 1.5


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize(("said", "lines"), HOSTILE.items())
@pytest.mark.usefixtures("_a_gpu")
def test_a_kernel_that_goes_wrong_at_full_size_alone_loses_its_points(said, lines, tmp_path, mine):
    source = HONEST["triton_add"].replace(_STORE, f"{lines}{_STORE}")
    found = on_the_gpu("triton_add", "hello_triton", source, tmp_path, mine)
    assert (found.outcome, found.points) == ("PASS", 0)
    assert said in " ".join(found.text.split())


_ADD = """\
from numba import cuda

@cuda.jit
def vector_add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
{}
        out[i] = x[i] + y[i]
"""
HOSTILE_NUMBA = {
    "ILLEGAL_ADDRESS": "        if out.size > 8388608:\n            i += 1 << 40",
    "it was not done after": "        for _ in range(out.size // 8388609 * 1000000000):\n"
    "            out[i] = x[i] + out[i]",
    "it gives another answer": "        if out.size > 8388608:\n            i = 0",
}


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize(("said", "lines"), HOSTILE_NUMBA.items())
@pytest.mark.usefixtures("_a_gpu")
def test_and_so_does_one_of_numbas(said, lines, tmp_path, mine):
    found = on_the_gpu("vector_add", "threads", _ADD.format(lines), tmp_path, mine)
    assert (found.outcome, found.points) == ("PASS", 0)
    assert said in " ".join(found.text.split())
