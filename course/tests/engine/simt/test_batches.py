"""What is counted does not depend on how many blocks run in lockstep at once."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32, int32

import course
import course.engine.simt.launch
from course.notebook.numba_launches import run_on_engine
from course.tests.engine.hardware.kernels import BY_NAME
from course.tests.engine.hardware.test_counts import COUNTED, REFUSED, UNREPEATABLE, run
from course.tests.engine.simt.faults import fault_of


def ordered(traffic):
    """Traffic with its sites in the order of the source."""
    traffic.sites.sort(key=lambda site: (site.line, site.column, site.direction))
    return traffic


def in_batches(monkeypatch, launch):
    """(traffic, arrays) of a launch in batches of one block, of a few, and in one."""
    found = []
    for batch_lanes in (1, 100, 3000, 1 << 17):
        monkeypatch.setattr(course.engine.simt.launch, "BATCH_LANES", batch_lanes)
        traffic, arrays = launch()
        found.append((ordered(traffic), [np.asarray(a) for a in arrays]))
    return found


def check_same(found):
    traffic, arrays = found[0]
    for other, others in found[1:]:
        assert other == traffic
        for one, two in zip(arrays, others, strict=True):
            np.testing.assert_array_equal(one, two)


#: It adds to an element of which it takes the larger, too: who comes first decides on the result.
HANGS_ON_ORDER = {"application_degrees"}
CASES = [name for name in COUNTED if name not in {*REFUSED, *UNREPEATABLE, *HANGS_ON_ORDER}]


@pytest.mark.parametrize("name", [name for name in CASES[::12] if "matmul" not in name])
def test_counts_and_results_of_a_hardware_case(monkeypatch, name):
    check_same(in_batches(monkeypatch, lambda: run(BY_NAME[name])))


@pytest.mark.slow
@pytest.mark.family
@pytest.mark.parametrize("name", CASES)
def test_counts_and_results_of_every_hardware_case(monkeypatch, name):
    check_same(in_batches(monkeypatch, lambda: run(BY_NAME[name])))


def test_a_load_in_front_of_a_loop_is_made_by_the_lanes_that_will_turn(monkeypatch):
    @cuda.jit
    def kernel(turns, a, out):
        i = cuda.grid(1)
        total = 0
        for _ in range(turns[i]):
            total += a[i]
        out[i] = total

    def launch(turns):
        out = np.zeros(len(turns), np.int64)
        args = [np.array(turns), np.arange(len(turns)), out]
        return run_on_engine(kernel, args, (len(turns) // 32,), (32,)), [out]

    # warps that turn 0, 1, 4 and 7 times: all but the first load their 8 sectors once
    by_warp = in_batches(monkeypatch, lambda: launch(np.repeat([0, 1, 4, 7], 32)))
    check_same(by_warp)
    (site,) = [s for s in by_warp[0][0].sites if s.array == "a"]
    assert (site.requests, site.sectors) == (3, 24)
    np.testing.assert_array_equal(by_warp[0][1][0], np.arange(128) * np.repeat([0, 1, 4, 7], 32))
    # one warp whose lanes turn 0 to 7 times: one request of the sectors of lanes 4 to 31
    by_lane = in_batches(monkeypatch, lambda: launch(np.repeat(np.arange(8), 4)))
    check_same(by_lane)
    (site,) = [s for s in by_lane[0][0].sites if s.array == "a"]
    assert (site.requests, site.sectors) == (1, 7)


def test_a_race_between_blocks_of_different_batches_is_found(monkeypatch):
    @cuda.jit
    def writes(a):
        i = cuda.grid(1)
        if i == 0:
            a[0] = 1
        if i == cuda.gridsize(1) - 1:
            a[0] = 2

    @cuda.jit
    def reads(a, b):
        i = cuda.grid(1)
        b[i] = a[0]
        if i == cuda.gridsize(1) - 1:
            a[0] = 2

    @cuda.jit
    def adds(a, b):
        i = cuda.grid(1)
        cuda.atomic.add(a, 0, 1)
        if i == cuda.gridsize(1) - 1:
            b[0] = a[0]

    for batch_lanes in (1, 64, 1 << 17):
        monkeypatch.setattr(course.engine.simt.launch, "BATCH_LANES", batch_lanes)
        for kernel, count in ((writes, 1), (reads, 2), (adds, 2)):
            fault = fault_of(kernel, 20, 32, *[np.zeros(640, np.int64) for _ in range(count)])
            assert fault.message_id == "race_global"
            assert (fault.fields["block"], fault.fields["thread"]) == ("19", "31")
            assert fault.fields["index"] == "0"


def test_a_real_launch_of_many_batches_finds_its_race():
    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        if i == 0 or i == a.size - 1:
            a[0] = i

    threads = 3 * course.engine.simt.launch.BATCH_LANES
    fault = fault_of(kernel, threads // 256, 256, np.zeros(threads, np.int32))
    assert fault.fields["block"] == str(threads // 256 - 1)


def test_a_launch_repeated_gives_the_same_counts_and_the_same_fault():
    @cuda.jit
    def histogram(data, bins):
        s = cuda.shared.array(8, int32)
        t = cuda.threadIdx.x
        if t < 8:
            s[t] = 0
        cuda.syncthreads()
        cuda.atomic.add(s, data[cuda.grid(1)], 1)
        cuda.syncthreads()
        if t < 8:
            cuda.atomic.add(bins, t, s[t])

    data = np.random.default_rng(1).integers(0, 8, 640)
    found = []
    for _ in range(3):
        bins = np.zeros(8, np.int32)
        with course.measure() as traffic:
            histogram[10, 64](data, bins)
        found.append((traffic, bins.tolist()))
    assert found[0] == found[1] == found[2]

    @cuda.jit
    def wrong(a):
        a[cuda.grid(1) // 2] = 1.5

    words = set()
    for _ in range(3):
        words.add(str(fault_of(wrong, 10, 64, np.zeros(640, np.float32))))
    assert len(words) == 1


#: VmHWM is this program's own; what `getrusage` calls the peak is that of its parent, too.
PEAK = """
from pathlib import Path

import numpy as np
from numba import cuda

import course


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


n = 1 << 24
a = np.ones(n, np.float32)
c = np.empty(n, np.float32)
with course.measure() as traffic:
    add[n // 256, 256](a, a, c)
assert (c == 2).all()
assert traffic.loads.sectors == 2 * n // 8
(peak,) = (row for row in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in row)
print(int(peak.split()[1]) // 1024)
"""


@pytest.mark.slow
def test_a_vector_add_of_2_to_the_24_stays_under_a_gigabyte(tmp_path):
    script = tmp_path / "peak.py"
    script.write_text(PEAK)
    root = Path(course.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 1024


def test_float32_sums_of_atomics_do_not_depend_on_the_batch_where_they_are_exact(monkeypatch):
    @cuda.jit
    def total(a, out):
        s = cuda.shared.array(1, float32)
        if cuda.threadIdx.x == 0:
            s[0] = 0
        cuda.syncthreads()
        cuda.atomic.add(s, 0, a[cuda.grid(1)])
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(out, 0, s[0])

    def launch():
        out = np.zeros(1, np.float32)
        args = [np.arange(320, dtype=np.float32), out]
        return run_on_engine(total, args, (10,), (32,)), [out]

    found = in_batches(monkeypatch, launch)
    check_same(found)
    assert found[0][1][0][0] == 319 * 160
