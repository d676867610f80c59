"""Results and counts of the kernels that the lessons are about."""

import pytest

from course.engine.triton.launch import launch
from course.tests.engine.triton import cases

SMALL = [
    cases.add(1000),
    cases.add(1, 16),
    cases.softmax_three_pass(7, 100, 32),
    cases.softmax_online(7, 100, 32),
    cases.softmax_one_pass(5, 100),
    cases.rms_norm(5, 70, 32),
    cases.matmul(64, "float32", (32, 32, 32)),
    cases.matmul(64, "float16", (32, 32, 16), ragged=7),
    cases.matmul(64, "bfloat16", (32, 16, 32)),
    cases.gated_linear(64, 64, 64),
    cases.flash_forward(128, 2, 16, tile=(32, 32)),
    cases.flash_forward(128, 2, 16, causal=True, tile=(32, 32)),
    cases.flash_delta(64, 2, 16),
    cases.flash_backward_kv(128, 2, 16, causal=True),
    cases.flash_backward_q(128, 2, 16, causal=True),
    cases.cross_entropy(5, 300, 64),
]


def worst(case):
    """The largest difference of any output from what is expected, in units of its tolerance."""
    return max(
        ((case.args[at].double() - expected.double()).abs() / (1 + expected.double().abs()))
        .max()
        .item()
        for at, expected in case.expected.items()
    )


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_a_kernel_gives_the_reference_result_together_and_one_program_at_a_time(case):
    fast = launch(case.kernel, case.args, case.grid, case.constants)
    assert worst(case) < case.tolerance
    results = [case.args[at].clone() for at in case.expected]
    for at in case.expected:
        case.args[at].fill_(-7)
    slow = launch(case.kernel, case.args, case.grid, case.constants, together=1)
    assert worst(case) < case.tolerance
    assert fast == slow
    for at, result in zip(case.expected, results, strict=True):
        assert (case.args[at].float() - result.float()).abs().max().item() < 1e-5
