"""A kernel's launch for a GPU elsewhere: NVVM's code, and parameters as Numba lays them out."""

import struct
from dataclasses import replace

import pytest

from course.engine.faults import KernelFault, Outcome
from course.engine.job import Form, Run
from course.engine.launcher.gpu import PROPERTIES
from course.engine.simt import planned as own
from course.engine.simt.compiled import has_nvvm
from course.engine.simt.planned import planned

pytestmark = pytest.mark.skipif(not has_nvvm(), reason="no NVVM here")

H100 = {**PROPERTIES, "major": 9, "minor": 0}
CELL = """
from numba import cuda, float32

@cuda.jit(device=True)
def scaled(x, by):
    return x * by

@cuda.jit{options}
def add_scaled(a, out, factor):
    tile = cuda.shared.array(64, float32)
    i, j = cuda.grid(2)
    tile[cuda.threadIdx.y] = 1.0
    cuda.syncthreads()
    if i < out.shape[1] and j < out.shape[0]:
        out[j, i] = scaled(a[i, j], factor) + tile[cuda.threadIdx.y] / a[0, 0]
"""
#: 40 GB, of which nothing is there; a view that begins 64 bytes in, turned.
A = Form("<f4", (100_000, 100_000), (4, 400_000), 64, 40_000_000_064)
OUT = Form("<f8", (100_000, 100_000), (800_000, 8), 0, 80_000_000_000)
ARGUMENTS = {"a": A, "out": OUT, "factor": 3}


def plan(options="", **changes):
    run = Run(CELL.format(options=options), "add_scaled", ARGUMENTS, (7, 9), (32, 4), 256, 1000)
    return planned(replace(run, **{"planned_for": H100, **changes}))


def ptx(options=""):
    return plan(options)["codes"][0]["binary"].decode()


def whole(*numbers):
    return [["value", struct.pack("<q", n)] for n in numbers]


def test_a_plan_has_the_buffers_and_parameters_of_numbas_own_launch():
    made = plan()
    assert made["buffers"] == [[A.bytes, "a"], [OUT.bytes, "out"]]
    [[kind, code, grid, parameters]] = made["steps"]
    assert (kind, code, grid) == ("launch", 0, [7, 9, 1])
    side, size = 100_000, 10**10
    assert parameters == [
        *(*whole(0, 0, size, 4), ["pointer", 0, 64], *whole(side, side, 4, 400_000)),
        *(*whole(0, 0, size, 8), ["pointer", 1, 0], *whole(side, side, 800_000, 8)),
        *whole(3),
    ]
    assert made["arrays"] == [
        ["a", 0, 64, [side, side], [4, 400_000], "float32"],
        ["out", 1, 0, [side, side], [800_000, 8], "float64"],
    ]


def test_the_code_is_that_of_the_gpu_and_takes_what_it_is_given():
    [code] = plan()["codes"]
    text = code["binary"].decode()
    assert ".target sm_90" in text
    assert f".entry {code['name']}(" in text
    assert text.count(f".param .u64 {code['name']}_param_") == len(plan()["steps"][0][3])
    assert (code["block"], code["shared"], code["scratch"]) == ([32, 4, 1], 256, [])
    assert ".target sm_80" in plan(planned_for=PROPERTIES)["codes"][0]["binary"].decode()


def test_what_the_decorator_asks_of_the_compiler_is_done():
    assert "div.rn.f32" in ptx()
    assert "div.rn.f32" in ptx("()")
    assert ".maxnreg 40" in ptx("(max_registers=40)")
    assert "fma.rn" not in ptx("(opt=False)")
    single = CELL.replace("out[j, i] = ", "out[j, i] = float32(1) / ")
    run = Run(single.format(options="(fastmath=True)"), "add_scaled", ARGUMENTS, (1,), (1,), 0, 9)
    fast = planned(replace(run, planned_for=H100))["codes"][0]["binary"].decode()
    assert "div.approx" in fast


def test_a_declared_number_is_passed_as_it_is_declared():
    declared = '("void(float32[:, :], float64[:, :], float32)")'
    assert plan(declared)["steps"][0][3][-1] == ["value", struct.pack("<f", 3)]


def test_what_cannot_be_compiled_here_is_a_sentence(monkeypatch):
    source = CELL.replace("(device=True)", '("float32(float32, float32)", device=True)')
    with pytest.raises(KernelFault) as stopped:
        plan(source=source.format(options=""))
    assert (stopped.value.outcome, stopped.value.message_id) == (
        Outcome.NOT_MEASURED,
        "numba_not_made",
    )
    monkeypatch.setattr(own, "has_nvvm", lambda: False)
    with pytest.raises(KernelFault) as stopped:
        plan()
    assert (stopped.value.outcome, stopped.value.message_id) == (Outcome.NOT_MEASURED, "no_nvvm")
