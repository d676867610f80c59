"""First attempts at Triton kernels: what is wrong, on which line, and what leads to the repair.

Each of these got a sentence before that was not true of it, or a next step that led elsewhere.
"""

from pathlib import Path

import numpy as np
import pytest
import triton

from course import exercises
from course import exercises as ex
from course.check.check import check_source
from course.engine.faults import Outcome
from course.spec.exercise import KernelExercise

SOLUTIONS = Path(__file__).resolve().parents[4] / "solutions"
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\nBLOCK = 512\n\n\n@triton.jit\n"
ADD = HEAD + (
    "def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):\n"
    "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    inside = offsets < N\n"
    "    x = tl.load(x_ptr + offsets, mask=inside)\n"
    "    y = tl.load(y_ptr + offsets, mask=inside)\n"
    "    tl.store(out_ptr + offsets, x + y, mask=inside)\n"
)
SOFTMAX = HEAD + (
    "def softmax_three_pass(x_ptr, out_ptr, N, BLOCK: tl.constexpr):\n"
    "    row = tl.program_id(0) * N\n"
    "    total = 0.0\n"
    "    for start in range(0, N, BLOCK):\n"
    "        columns = start + tl.arange(0, BLOCK)\n"
    "        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float('inf'))\n"
    "        total += tl.sum(tl.exp(x.to(tl.float32)), axis=0)\n"
    "    for start in range(0, N, BLOCK):\n"
    "        columns = start + tl.arange(0, BLOCK)\n"
    "        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float('inf'))\n"
    "        weights = tl.exp(x.to(tl.float32)) / total\n"
    "        tl.store(out_ptr + row + columns, weights, mask=columns < N)\n"
)
MATMUL = (
    "import torch\nimport triton\nimport triton.language as tl\n\n\n"
    "@triton.jit\n"
    "def kernel(A, B, C, M, N, K, am, ak, bk, bn, T: tl.constexpr, BK: tl.constexpr):\n"
    "    rows = tl.program_id(0) * T + tl.arange(0, T)\n"
    "    columns = tl.program_id(1) * T + tl.arange(0, T)\n"
    "    total = tl.zeros((T, T), tl.float32)\n"
    "    for start in range(0, K, BK):\n"
    "        steps = start + tl.arange(0, BK)\n"
    "        inside = (rows[:, None] < M) & (steps[None, :] < K)\n"
    "        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)\n"
    "        inside = (steps[:, None] < K) & (columns[None, :] < N)\n"
    "        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)\n"
    "        total = tl.dot(a, b, total)\n"
    "    inside = (rows[:, None] < M) & (columns[None, :] < N)\n"
    "    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)\n\n\n"
    "def triton_matmul(A, B):\n"
    "    M, K = A.shape\n"
    "    N = B.shape[1]\n"
    "    C = torch.empty((M, N), dtype=torch.float32, device=A.device)\n"
    "    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))\n"
    "    kernel[grid](A, B, C, M, N, K, *A.stride(), *B.stride(), T=64, BK=32)\n"
    "    return C\n"
)
STORE = "    tl.store(out_ptr + offsets, x + y, mask=inside)\n"

#: cell, what the student wrote in place of what, the line, words of the sentence, of the next step
ATTEMPTS = {
    "an axis forgotten": (
        ADD, "program_id(0)", "program_id()", 10, "`program_id` is called on this line without `a",
        "an axis",
    ),
    "NumPy's arange": (
        ADD, "tl.arange(0, BLOCK)", "tl.arange(BLOCK)", 10, "without `end`", "a start and an end",
    ),
    "a store with other": (
        ADD, "x + y, mask=inside", "x + y, mask=inside, other=0.0", 14,
        "`store` takes no argument `other`", "Leave `other` out",
    ),
    "a pointer without offsets": (
        ADD, "tl.load(x_ptr + offsets", "tl.load(x_ptr", 12, "one address", "Add the block of",
    ),
    "values without offsets": (
        ADD, "out_ptr + offsets, x", "out_ptr, x", 14, "one address", "Add the block of",
    ),
    "Python's range": (
        ADD, "tl.arange(0, BLOCK)", "range(BLOCK)", 10, "it is no block of values", "`tl.arange(",
    ),
    "a shape in the kernel": (
        ADD, "offsets < N", "offsets < x_ptr.shape[0]", 11, "A pointer has no shape", "such as `N`",
    ),
    "a length in the kernel": (
        ADD, "offsets < N", "offsets < len(x_ptr)", 11, "does not measure", "such as `N`",
    ),
    "a conditional expression": (
        ADD, "tl.load(x_ptr + offsets, mask=inside)",
        "tl.load(x_ptr + offsets) if inside else 0.0", 12, "neither true nor false", "`tl.where(",
    ),
    "print": (ADD, STORE, "    print(x)\n" + STORE, 14, "needs a text in front", "device_print"),
    "break": (
        ADD, STORE, "    for i in range(N):\n        break\n" + STORE, 15, "`break` is not part",
        "in the bounds of the loop",
    ),
    "a whole division of floats": (
        ADD, "x + y,", "x // y,", 14, "gives `//` a float", "Write `/` for floats",
    ),
    "a root of a whole number": (
        ADD, "x + y,", "x + tl.sqrt(BLOCK),", 14, "gets a whole number", "`D**0.5`",
    ),
    "NumPy unimported": (
        ADD, "tl.arange", "np.arange", 10, "`np` cannot be used in a kernel", "its own arange",
    ),
    "SciPy imported": (
        ADD, "import torch\n", "import scipy as np\n", 1, "`scipy` is not one of",
        "Import torch, triton, triton.language or math",
    ),
    "NumPy in a kernel": (
        ADD.replace("import torch\n", "import torch\nimport numpy as np\n"),
        "tl.arange", "np.arange", 11, "`np.arange` is not among", "tl.arange",
    ),
    "Numba's grid": (
        ADD, "tl.program_id(0)", "cuda.grid(1)", 10, "`cuda` cannot be used", "tl.program_id(0)",
    ),
    "every program the same block": (
        ADD, "tl.program_id(0) * BLOCK + ", "", 14, "goes with tl.program_id(0)",
        "a place of its own",
    ),
    "a mask that lets all through": (
        ADD, "offsets < N", "offsets < BLOCK", 12, "x_ptr[1], which does not exist",
        "`offsets` has to stay below the number of places that it counts",
    ),
    "a store without a mask": (
        ADD, ", mask=inside)\n" + "", ")\n", 12, "x_ptr[1], which does not exist",
        "`tl.load(..., mask=offsets < N)`. Line 11 has this test already.",
    ),
    "only the store without a mask": (
        ADD, "x + y, mask=inside", "x + y", 14, "stores to out_ptr[1]",
        "`tl.store(..., mask=offsets < N)`. Line 11 has this test already.",
    ),
    "a loop over elements": (
        ADD, STORE, "    for i in range(6 * BLOCK):\n        x += 0 * i\n" + STORE, 14,
        "stopped after 2024 statements: program 0 was in turn 2019 of the 3072 of this loop",
        "tile to tile",
    ),
    "no step in a loop": (
        SOFTMAX, "range(0, N, BLOCK)", "range(0, N)", 20,
        "The loop on line 12 counts `start` up by 1", "from the first element of one turn",
    ),
    "a while without a step": (
        SOFTMAX, "    total = 0.0\n",
        "    total = 0.0\n    k = 0\n    while k < N:\n        x = k\n",
        13, "of this loop", "When does the loop's condition become false",
    ),
    "a whole number as a sum": (
        SOFTMAX, "total = 0.0", "total = 0", 12,
        "`total` is int32 before this loop and fp32 after a turn", "`0.0` for a float",
    ),
    "a block as a sum": (
        SOFTMAX, "tl.sum(tl.exp(x.to(tl.float32)), axis=0)", "tl.exp(x.to(tl.float32))", 12,
        "`total` is fp32 before this loop and a block (512) of fp32", "`tl.sum(block, axis=0)`",
    ),
    "a name of the first loop in the second": (
        SOFTMAX, "        weights = ", "        weights = tail +", 19, "`tail` is not defined",
        "correct its spelling",
    ),
    "two values for tl.max": (
        SOFTMAX, "tl.sum(tl.exp(x.to(tl.float32)), axis=0)", "tl.max(total, x)", 15,
        "where Triton needs a constant", "`tl.maximum(a, b)`",
    ),
    "element by element": (
        MATMUL, "total = tl.dot(a, b, total)", "total += a * b", 17,
        "along axis 0 one has 64 elements, the other 32", "`tl.dot(a, b)`",
    ),
    "no brackets around comparisons": (
        MATMUL, "(rows[:, None] < M) & (steps[None, :] < K)", "rows[:, None] < M & steps < K", 13,
        "`&` binds tighter than `<`", "each comparison in brackets",
    ),
    "too short a step": (MATMUL, "BK=32", "BK=8", 17, "K >= 16", "more steps along K"),
    "a sum in float16": (
        MATMUL, "total = tl.zeros((T, T), tl.float32)", "total = tl.zeros((T, T), tl.float16)", 17,
        "cannot add to the block", "add up in float32",
    ),
    "a block not turned": (
        MATMUL, "total = tl.dot(a, b, total)", "total = tl.dot(a, tl.trans(b), total)", 17,
        "as many columns as the second has rows", "`tl.trans(keys)`",
    ),
    "two types in a dot": (
        MATMUL, "total = tl.dot(a, b, total)", "total = tl.dot(a.to(tl.float32), b, total)", 17,
        "gets fp32 and fp16", "Convert one of them",
    ),
    "a number for a condition": (
        SOFTMAX, "        weights = ", "        k = N\n        while k:\n            k = k - 1\n"
        "        weights = ", 20,
        "has to be a comparison", "`while n != 0:`",
    ),
    "two types of number": (
        SOFTMAX, "        weights = ", "        k = 1 if N > 3 else 0.5\n        weights = ", 19,
        "are int32 and fp32", "1.0 and 0.5",
    ),
    "a block for a condition": (
        ADD, STORE, "    while x < 3:\n        x += 1\n" + STORE, 14, "neither true nor false",
        "`tl.where(",
    ),
    "the parameter counted down": (
        ADD, STORE, "    while N:\n        N -= 1\n" + STORE, 14, "`N` is a constant before",
        "`left = N` before the loop",
    ),
    "a length of a block": (
        ADD, "offsets < N", "offsets < len(offsets)", 11, "does not measure", "such as `BLOCK`",
    ),
    "two names at once": (
        ADD, STORE, "    a = b = 0\n" + STORE, 14, "one value to several names", "a line for each",
    ),
    "PyTorch's power": (ADD, "x + y,", "x**2 + y,", 14, "have no `**`", "Multiply, `x * x`"),
    "a power of a block": (ADD, "x + y,", "2**x + y,", 14, "have no `**`", "tl.exp2("),
    "NumPy's astype": (ADD, "x + y,", "x.astype(tl.float32) + y,", 14, "`.astype`", "`.to(tl.f"),
    "a shape without a comma": (
        ADD, "x + y,", "x + y + tl.zeros(BLOCK, tl.float32),", 14, "shape of a block is a tuple",
        "`tl.zeros((BLOCK,), tl.float32)`",
    ),
    "a shape of the run": (
        ADD, "x + y,", "x + y + tl.zeros((N,), tl.float32),", 14, "has to be known when",
        "BLOCK: tl.constexpr",
    ),
    "PyTorch's dim": (
        ADD, "x + y,", "x + y + tl.sum(x, dim=0),", 14, "no argument `dim`", "calls it `axis`",
    ),
    "a slip in a keyword": (
        ADD, "x + y,", "x + y + tl.sum(x, axsi=0),", 14, "no argument `axsi`", "help(tl.sum)",
    ),
    "an element of a block": (
        ADD, "x + y,", "x[0] + y,", 14, "a block has no single elements", "`tl.load(",
    ),
    "a part of a block": (
        ADD, "x + y,", "x[:16] + y,", 14, "a block has no single elements", "`tl.load(",
    ),
    "other in the mask's place": (
        ADD, "offsets, mask=inside)\n    y", "offsets, 0.0)\n    y", 12, "has to be a comparison",
        "`mask=offsets < N`",
    ),
    "offsets for a mask": (
        ADD, "offsets, mask=inside)\n    y", "offsets, mask=offsets)\n    y", 12,
        "has to be a comparison", "`mask=offsets < N`",
    ),
    "a number and a block": (
        ADD, STORE, "    if N > 3:\n        z = 0.5\n    else:\n        z = x\n" + STORE, 14,
        "fp32 after one side of this `if`, and a block (512) of fp32", "`tl.where`",
    ),
    "a walk over a tuple": (
        ADD, STORE, "    for a in (1, 2):\n        x += a\n" + STORE, 14, "walks over `range`",
        "tl.static_range(2)",
    ),
    "a flip of no axis": (ADD, "x + y,", "tl.flip(x) + y,", 14, "without the axis", "tl.flip)"),
    "continue": (
        ADD, STORE,
        "    for i in range(N):\n        if i == 2:\n            continue\n" + STORE,
        16, "`continue` is not part", "under an `if`",
    ),
    "a return in a loop": (
        ADD, STORE,
        "    for i in range(N):\n        if i == 2:\n            return\n        x += 1\n" + STORE,
        15, "cannot stand in a loop", "bounds of the loop",
    ),
    "a number above the kernel": (
        ADD.replace("\n\n\n", "\nSCALE = 2.0\n\n\n"), "x + y,", "(x + y) * SCALE,", 15,
        "`SCALE` stands outside the kernel", "`SCALE = tl.constexpr(...)`",
    ),
    "an exception": (
        ADD, STORE, "    if N < 0:\n        raise ValueError\n" + STORE, 15, "`raise`",
        "@triton.jit(debug=True)",
    ),
    "a vector in a dot": (
        MATMUL, "total = tl.dot(a, b, total)", "total += tl.dot(tl.sum(a, 1), b)", 17,
        "two blocks of two axes", "`q[None, :]`",
    ),
}  # fmt: skip


def verdict(cell: str):
    name = next(n for n in ("triton_add", "softmax_three_pass", "triton_matmul") if n in cell)
    exercise = getattr(ex, name)
    assert isinstance(exercise, KernelExercise)
    found = check_source(exercise, cell)
    assert not found.internal_error, found.internal_error
    return found


#: From which Triton on something is taken, so that there it is told otherwise.
TAKEN_FROM = {
    "a sum in float16": (3, 8),
    "no brackets around comparisons": (3, 9),
    "a number for a condition": (3, 9),
    "a flip of no axis": (3, 9),
}
MINOR = tuple(map(int, triton.__version__.split(".")[:2]))
REFUSED = sorted(what for what in ATTEMPTS if MINOR < TAKEN_FROM.get(what, (4,)))


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.family
def test_a_first_attempt_is_told_what_is_wrong_and_what_to_do(what):
    cell, old, new, line, said, step = ATTEMPTS[what]
    assert old in cell
    found = verdict(cell.replace(old, new))
    assert said in found.message, str(found)
    assert step in " ".join(found.next_steps), str(found)
    assert found.line == line, str(found)
    assert "compute capability" not in found.message, str(found)
    assert " lane" not in str(found), str(found)


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        (
            "T=64",
            "T=32",
            "a tile that is longer along that axis needs fewer programs, and so fewer readings.",
        ),
        ("BK=32", "BK=16", ""),
        (
            "total = tl.dot(a, b, total)",
            "total += tl.sum(a.to(tl.float32)[:, :, None] * b.to(tl.float32)[None, :, :], 1)",
            "Then along which axis should neighbours be one element apart?",
        ),
    ],
)
def test_advice_on_a_triton_kernels_traffic_speaks_of_programs_and_blocks(old, new, step):
    cell = MATMUL.replace(old, new)
    if "tl.sum" in new:
        cell = cell.replace("BK=32", "BK=2")  # 4 bytes of each sector of A
    if "T=32" in new:
        cell = cell.replace("cdiv(M, 64), triton.cdiv(N, 64)", "cdiv(M, 32), triton.cdiv(N, 32)")
    found = verdict(cell)
    assert found.outcome is (Outcome.TOO_MUCH_TRAFFIC if step else Outcome.PASS), str(found)
    assert step in " ".join(found.next_steps), str(found)
    assert " lane" not in str(found), str(found)
    assert "shared memory?" not in str(found), str(found)


def dequantize(before: str, inside: str, last: str) -> str:
    return (
        HEAD + "def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):\n"
        "    row = tl.program_id(0)\n"
        f"{before}"
        "    for start in range(0, K, BLOCK):\n"
        "        columns = start + tl.arange(0, BLOCK)\n"
        f"{inside}"
        "        q = tl.load(q_ptr + row * K + columns, mask=columns < K)\n"
        "        tl.store(out_ptr + row * K + columns, q * scale, mask=columns < K)\n"
        f"{last}"
    )


def test_a_number_loaded_in_each_turn_costs_nothing_beside_a_long_row():
    scale = "scale = tl.load(scale_ptr + row)\n"
    found = check_source(ex.dequantize, dequantize("", f"        {scale}", ""))
    assert found.outcome is Outcome.PASS, str(found)
    assert "too little of the total to cost anything by itself" in str(found)


def test_a_block_stored_in_each_turn_is_told_to_wait_in_a_variable():
    scale = "    scale = tl.load(scale_ptr + row)\n"
    store = "tl.store(out_ptr + row * K + columns, q * scale, mask=columns < K)\n"
    twice = f"        for k in range(8):\n            {store}"
    found = check_source(
        ex.dequantize, dequantize(scale, "", "").replace(f"        {store}", twice)
    )
    assert found.outcome is Outcome.TOO_MUCH_TRAFFIC, str(found)
    assert "each sector is written 8 times" in str(found)
    assert "Keep the value in a variable, and store it once" in " ".join(found.next_steps), str(
        found
    )


def test_zeros_that_are_stored_are_not_asked_whether_they_are():
    cell = (
        HEAD.replace("BLOCK = 512\n", "")
        + "def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):\n"
        "    columns = tl.arange(0, BLOCK)\n"
        "    at = tl.program_id(0) * D + columns\n"
        "    x = tl.load(x_ptr + at, mask=columns < D, other=0.0)\n"
        "    w = tl.load(w_ptr + columns, mask=columns < D, other=0.0)\n"
        "    y = x * tl.rsqrt((tl.sum(x * x, axis=0) / D).to(tl.float32) + eps) * w\n"
        "    tl.store(y_ptr + at, y, mask=columns < D)\n"
    )
    found = check_source(ex.rmsnorm, cell)  # a sum of squares that overflows float16
    assert "Every element is 0." in found.message, str(found)
    assert "one over a number too large for its type" in " ".join(found.next_steps), str(found)
    assert "x, w and y float16; x: standard deviation 20 around 300" in str(found)


def test_a_verdict_says_how_a_cases_inputs_are_drawn():
    for stem in exercises.stems():
        for exercise in exercises.lesson(stem).values():
            if not isinstance(exercise, KernelExercise):
                continue
            for case in exercise.cases:
                whole = {a.name for a in exercise.arrays if np.dtype(a.dtype).kind in "iu"}
                for name in case.draws.keys() - whole:
                    assert name in case.told.partition(";")[2], (exercise.name, case.told)


def test_names_with_the_same_words_stand_together():
    told = exercises.lesson("attention")["flash_forward"].cases[5].told
    assert told == (
        "H=1, N=130, D=32, GAP=0; q, k, v and out float16; q and k: standard deviation 150, "
        "scores beyond float16"
    )
    stored = exercises.lesson("fusion")["triton_matmul"].cases[2].told
    assert stored == "M=70, N=50, K=90; A and B stored by columns"


def of_lesson(stem: str, name: str) -> str:
    """The solution cell of an exercise, to be changed into a first attempt."""
    (lesson,) = SOLUTIONS.glob(f"*_{stem}.py")
    cell = lesson.read_text(encoding="utf-8").split(f"# %% {name}\n")[1].split("\n# %%")[0]
    return cell.replace("### BEGIN SOLUTION", "#").replace("### END SOLUTION", "#")


#: lesson, exercise, what the student wrote in place of what, words of the sentence, of the step
FIRST_ATTEMPTS = {
    "one number a program": (
        "attention_backward", "flash_delta", "ROWS = 64", "ROWS = 1", "",
        "Is it one number a program? Then could a program take several neighbours?",
    ),
    "a mask that ends at the next row": (
        "norms", "cross_entropy", "columns < V", "columns < stride", "no element of logits_ptr",
        "`columns` has to stay below the number of places that it counts",
    ),
    "a maximum of -inf": (
        "norms", "cross_entropy", 'tl.where(new_top == -float("inf"), 0.0, new_top)', "new_top",
        "Whatever is wrong is NaN.", "NaN comes of inf - inf",
    ),
    "one mask for all rows": (
        "norms", "layernorm", "y, mask=inside", "y, mask=row * D + columns < M * D",
        "stores to y_ptr[", "Does the mask leave out columns from 70 on, past the end of a row?",
    ),
    "a difference of large numbers": (
        "norms", "layernorm", "tl.sum(centred * centred, axis=0) / D",
        "tl.sum(x * x, axis=0) / D - mean * mean", "The result is right to about",
        "Or were two large, nearly equal numbers subtracted?",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FIRST_ATTEMPTS)
def test_a_step_leads_to_what_a_newcomer_has_to_change(what):
    stem, name, old, new, said, step = FIRST_ATTEMPTS[what]
    cell = of_lesson(stem, name)
    assert old in cell
    exercise = getattr(ex, name)
    found = check_source(exercise, cell.replace(old, new))
    assert said in found.message, str(found)
    assert step in " ".join(found.next_steps), str(found)
