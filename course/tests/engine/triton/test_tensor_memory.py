"""Kernels as sm_100 gets them: products in tensor memory."""

import numpy as np
import pytest

from autograder.proof.witness import solutions_of
from course import exercises as ex
from course.check.check import check_source
from course.engine.triton.engine import CHECK_TARGET, TritonEngine
from course.engine.triton.running import tensor_memory
from course.notebook.seen import run_of_verdict
from course.spec.exercise import Role

B200 = 100
#: a plain product, two at once, and one whose programs end their loops at different keys
CELLS = [
    ("fusion", "triton_matmul"), ("fusion", "gated_linear"), ("attention_backward", "flash_lse"),
]  # fmt: skip


@pytest.mark.parametrize(("stem", "name"), CELLS)
@pytest.mark.family
def test_a_product_in_tensor_memory_is_right(
    stem: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = getattr(ex, name)
    verdict = check_source(exercise, solutions_of(stem)[name])
    assert verdict
    products = []
    product_of = tensor_memory.product_of
    monkeypatch.setattr(
        tensor_memory, "product_of", lambda *given: products.append(1) or product_of(*given)
    )
    here, there = (
        TritonEngine(target=target, compiles=False)(run_of_verdict(exercise, verdict))
        for target in (CHECK_TARGET, B200)
    )
    assert products
    for array in exercise.arrays:
        if array.role is Role.OUT:
            results = (ran.arrays[array.name] for ran in (there, here))
            np.testing.assert_allclose(*results, rtol=1e-3, atol=1e-3)
    assert there.traffic.stores == here.traffic.stores
