"""Why a Triton kernel leaves a tensor, told from its text and the numbers of its launch."""

import time

from course.check.check import check_source
from course.exercises import lesson
from course.words.verdict import Verdict

HEAD = "import triton\nimport triton.language as tl\n\nBLOCK = 1024\n\n\n@triton.jit\n"
KERNEL = HEAD + (
    "def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):\n"
    "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
)
STORE = "    tl.store(out_ptr + offsets, total, mask=offsets < N)\n"


def _checked(source: str) -> Verdict:
    return check_source(lesson("hello_triton")["triton_add"], source)


def test_of_two_loads_on_a_line_the_one_that_leaves_its_tensor_is_told() -> None:
    both = "    total = tl.load(x_ptr + offsets, mask=offsets < N) + tl.load(y_ptr + offsets)\n"
    verdict = _checked(KERNEL + both + STORE)
    assert "loads from y_ptr[1]" in verdict.message
    assert verdict.message.endswith("The load on line 10 has no mask.")
    assert "mask=offsets < N" in verdict.next_steps[0]


def test_numbers_of_a_kernel_are_not_taken_for_those_of_a_function_that_it_calls() -> None:
    helper = HEAD + (
        "def at(pointer, places, BLOCK):\n"
        "    return tl.load(pointer + places, mask=places < BLOCK)\n\n\n"
    )
    call = "    total = at(x_ptr, offsets, N + 1) + at(y_ptr, offsets, N)\n"
    verdict = _checked(helper + KERNEL.removeprefix(HEAD.removesuffix("@triton.jit\n")) + call)
    assert "loads from x_ptr[1]" in verdict.message
    assert "lets" not in verdict.message


def test_a_part_of_an_address_that_is_past_the_end_alone_is_told() -> None:
    far = "    total = tl.load(x_ptr + tl.program_id(0) * N + offsets, mask=offsets < N)\n"
    verdict = _checked(KERNEL + far + STORE)
    assert "`tl.program_id(0)` is 1 in this program, and times `N` that is 5000" in verdict.message


def test_an_address_that_doubles_forty_times_is_read_in_no_time() -> None:
    doubled = "".join(f"    p{k + 1} = p{k} + 0 * p{k}\n" for k in range(40))
    load = "    total = tl.load(x_ptr + p40)\n"
    began = time.process_time()
    verdict = _checked(KERNEL + "    p0 = offsets\n" + doubled + load + STORE)
    assert verdict.outcome.name == "OUT_OF_BOUNDS"
    assert time.process_time() - began < 10
