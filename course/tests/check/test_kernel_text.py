"""What a kernel's text says of a line: names followed to what they were assigned."""

import ast

import pytest

from course.check.block_cells import missed_barrier
from course.check.kernel_text import KernelText, Launched, Thread, shown

HEAD = "def kernel(a, n):\n    i = cuda.threadIdx.x\n"
LAUNCHED = Launched((4,), (32,), {"a": (100,)}, {"n": 7})


def text_of(body: str) -> KernelText:
    """Of the line that stores into `a`."""
    lines = (HEAD + body).splitlines()
    line = next(k for k, text in enumerate(lines, start=1) if "a[" in text)
    return KernelText(ast.parse(HEAD + body), line, LAUNCHED)


@pytest.mark.parametrize(
    ("body", "made", "number"),
    [
        ("    a[i] = 0\n", ["cuda.threadIdx.x"], 5),
        ("    i = i // 2\n    a[i] = 0\n", ["i // 2"], 2),
        ("    i += cuda.blockIdx.x * 64\n    a[i] = 0\n", ["i + cuda.blockIdx.x * 64"], 133),
        ("    i *= 3\n    i = min(i, n)\n    a[i] = 0\n", ["min(i, n)"], 7),
        ("    if n > 3:\n        i += 1\n        a[i] = 0\n", ["i + 1"], 6),
        # what stands behind the line, or in the other branch, is nothing to it
        ("    a[i] = 0\n    i = 9\n", ["cuda.threadIdx.x"], 5),
        ("    i = 3\n    i = 4\n    a[i] = 0\n", ["4"], 4),
        # it may be one or the other
        ("    if n > 3:\n        i = 9\n    a[i] = 0\n", ["cuda.threadIdx.x", "9"], None),
        ("    if n > 3:\n        i = 9\n    else:\n        a[i] = 0\n", ["cuda.threadIdx.x", "9"],
         None),
        # in each turn another one
        ("    while i < n:\n        a[i] = 0\n        i = i + 32\n",
         ["cuda.threadIdx.x", "i + 32"], None),
        ("    while i < n:\n        i = i + 32\n        a[i] = 0\n",
         ["cuda.threadIdx.x", "i + 32"], None),
        ("    for k in range(n):\n        i = k\n        i = 6\n        a[i] = 0\n", ["6"], 6),
    ],
)  # fmt: skip
def test_a_name_is_followed_to_what_it_is_where_the_line_is_reached(body, made, number):
    text = text_of(body)
    assert [shown(one) for one in text.made["i"]] == made
    assert text.number(ast.Name("i"), Thread((5,), (2,))) == number


@pytest.mark.parametrize("step", ["i += 32", "i += n"])
def test_what_a_loop_adds_stands_apart(step):
    text = text_of(f"    while i < n:\n        a[i] = 0\n        {step}\n")
    assert [shown(one) for one in text.made["i"]] == ["cuda.threadIdx.x"]
    assert [shown(one) for one in text.steps["i"]] == [step[5:]]
    assert text.number(ast.Name("i"), Thread((5,), (2,))) is None


def test_a_name_that_is_assigned_over_and_over_takes_no_time():
    text = text_of("    i = i + i\n" * 400 + "    a[i] = 0\n")
    assert text.counts(ast.Name("i")) <= {"thread x"}
    assert text.number(ast.Name("i"), Thread((5,), (2,))) is None


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("    if i >= n:\n        return\n    cuda.syncthreads()\n    a[i] = 0\n", "return"),
        ("    if i < n:\n        return\n    else:\n        cuda.syncthreads()\n", "return"),
        # who is in the branch comes to the barrier, and leaves behind it
        ("    if i < n:\n        cuda.syncthreads()\n        return\n    a[i] = 0\n", None),
    ],
)  # fmt: skip
def test_a_thread_leaves_before_a_barrier_and_not_behind_it(body, left):
    lines = (HEAD + body).splitlines()
    line = next(k for k, text in enumerate(lines, start=1) if "syncthreads" in text)
    found = missed_barrier({}, KernelText(ast.parse(HEAD + body), line, LAUNCHED))
    assert (found and found[1]["word"]) == left
