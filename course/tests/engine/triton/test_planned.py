"""What a launcher launches, for a GPU elsewhere: compiled, and without any array's contents."""

from dataclasses import replace

import pytest

from course.engine.faults import KernelFault, Outcome
from course.engine.job import Form, Output, Run
from course.engine.launcher.gpu import PROPERTIES
from course.engine.triton.planned import planned

H100 = {**PROPERTIES, "major": 9, "minor": 0, "multi_processor_count": 132}
CELL = """
import torch
import triton
import triton.language as tl

@triton.jit
def add_rows(x_ptr, out_ptr, M, N, stride, factor, BLOCK: tl.constexpr):
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        total += tl.load(x_ptr + row * stride + at, mask=at < N, other=0.0) * factor
    tl.atomic_add(out_ptr + at, total, mask=at < N)

def column_sums(x):
    M, N = x.shape
    out = torch.zeros(N, device=x.device)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    add_rows[(sms, triton.cdiv(N, 128))](x, out, M, N, x.stride(0), 0.5, BLOCK=128)
    return out
"""
#: 40 GB, of which nothing is there: rows of 1,000,000 floats that lie 1,000,016 apart.
X = Form("<f4", (10_000, 1_000_000), (4_000_064, 4), 64, 10_000 * 4_000_064)
SUMS = Output("out", (1_000_000,), "float32")
RUN = Run(CELL, "column_sums", {"x": X}, (), (), 0, 1000, "triton", outputs=(SUMS,))


def plan(**changes):
    return planned(replace(RUN, planned_for=H100, **changes))


def test_a_plan_has_the_buffers_fills_and_launches_of_a_launcher_with_their_parameters():
    made = plan()
    assert made["buffers"] == [(X.bytes, "x"), (4_000_000, "")]
    fill, launch = made["steps"]
    assert fill == ["fill", 1, bytes(4)]
    kind, code, grid, parameters = launch
    assert (kind, code, grid) == ("launch", 0, (132, 7813, 1))
    numbers = [n.to_bytes(4, "little") for n in (10_000, 1_000_000, 1_000_016)]
    assert parameters == [
        ["pointer", 0, 64],
        ["pointer", 1, 0],
        *(["value", number] for number in numbers),
        ["value", b"\x00\x00\x00\x3f"],
    ]
    assert made["arrays"][-1] == ["out", 1, 0, [1_000_000], [4], "float32"]


def test_what_is_compiled_is_for_that_gpu_and_can_be_loaded():
    [code] = plan()["codes"]
    assert code["binary"].startswith(b"\x7fELF")
    assert (code["name"], code["block"]) == ("add_rows", [128, 1, 1])
    [older] = planned(replace(RUN, planned_for=PROPERTIES))["codes"]
    assert older["binary"] != code["binary"]


TUNED = CELL.replace(
    "@triton.jit",
    """
def those_that_fit(configs, named_args, **rest):
    return [one for one in configs if one.kwargs["BLOCK"] <= 256]

@triton.autotune(
    [triton.Config({"BLOCK": size}, num_warps=2) for size in (64, 3, 512, 128)], key=["N"],
    prune_configs_by={"early_config_prune": those_that_fit}, reset_to_zero=["out_ptr"],
)
@triton.jit""",
).replace("(sms, triton.cdiv(N, 128))", "lambda meta: (sms, triton.cdiv(N, meta['BLOCK']))")


def test_an_autotuned_launch_has_a_form_for_each_configuration_that_compiles():
    made = plan(source=TUNED.replace(", BLOCK=128)", ")"))
    _, (kind, forms) = made["steps"]
    assert kind == "tuned"
    assert [grid for _, _, grid, _ in forms] == [(132, 15625, 1), (132, 7813, 1)]
    assert [code["block"] for code in made["codes"]] == [[64, 1, 1]] * 2


def test_where_no_configuration_compiles_that_is_told():
    with pytest.raises(KernelFault) as stopped:
        plan(source=TUNED.replace(", BLOCK=128)", ")").replace("(64, 3, 512, 128)", "(3, 5)"))
    assert stopped.value.outcome == Outcome.DOES_NOT_COMPILE


def test_a_launcher_hears_of_the_stated_gpu_again_afterwards():
    plan()
    assert planned(replace(RUN, planned_for=PROPERTIES))["steps"][1][2] == (108, 7813, 1)


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        ("return out", "return x", Outcome.WRONG_ANSWER),
        ("BLOCK=128", "BLOCK=96", Outcome.DOES_NOT_COMPILE),
        ("BLOCK=128", "BLOCK=128, num_ctas=2", Outcome.NOT_MEASURED),
    ],
)
def test_what_is_wrong_with_a_launcher_at_that_size_is_its_fault(old, new, outcome):
    with pytest.raises(KernelFault) as fault:
        plan(source=CELL.replace(old, new))
    assert fault.value.outcome is outcome
