"""Instructions of a Triton program by pipe, its products, and its turns, as its sizes make them."""

import pytest
import torch
import triton
import triton.language as tl

from course.engine.sampling import sampled
from course.engine.triton.compiling.issued import issued
from course.engine.triton.launch import launch

HOPPER = 90


@triton.jit
def product(a, b, c, K, S: tl.constexpr):
    rows, columns = tl.arange(0, S), tl.arange(0, S)
    total = tl.zeros((S, S), tl.float32)
    for k in range(0, K, S):
        left = tl.load(a + rows[:, None] * K + k + columns[None, :])
        total = tl.dot(left, tl.load(b + (k + rows[:, None]) * S + columns[None, :]), total)
    tl.store(c + rows[:, None] * S + columns[None, :], total)


def mix(k, size=64):
    a, b = (torch.zeros(s, dtype=torch.float16) for s in ((size, k), (k, size)))
    with sampled() as made:
        launch(product, (a, b, torch.zeros(size, size), k, size), (1,), target=HOPPER)
    return made.launches[0].detail


def test_a_loop_twice_as_long_has_twice_the_products_and_the_instructions_of_its_body():
    short, long, longer = (mix(k) for k in (512, 1024, 2048))
    assert short["wgmma"] == 2 * 64 * 64 * 512
    assert long["wgmma"] == 2 * short["wgmma"]
    for pipe in ("integer", "memory", "tensor", "ahead"):
        grows = long[pipe] - short[pipe]
        assert grows > 0
        assert longer[pipe] - long[pipe] == pytest.approx(2 * grows)


SINE = """
.visible .entry kernel(
)
.reqntid 32
{
	.loc	1 4 8 // cell:4:8
	mul.f32 %f2, %f1, 0f3F22F983;
	@%p1 bra 	$L__BB0_2;
	shl.b32 %r1, %r0, 8;
	st.local.b32 	[%r3], %r1;
	or.b32 %r2, %r1, -2147483648;
$L__BB0_2:
	fma.rn.f32 %f3, %f2, %f2, %f1;
	ex2.approx.f32 %f4, %f3;
	shfl.sync.bfly.b32 %r5, %r4, 16, 31, -1;
	st.shared.v4.b32 [%r6], {%r7, %r8, %r9, %r10};
	bar.sync 0;
	ret;
}
"""


def test_instructions_are_told_by_pipe_without_what_sines_of_large_numbers_take():
    counts = {one.pipe: one.count for one in issued(SINE)}
    # a branch; a store of four words a lane takes four turns, an exchange one
    assert counts == {
        "fma": 2, "integer": 1, "special": 1, "memory": 2, "wavefronts": 5, "barrier": 1,
    }  # fmt: skip
