"""Why a kernel asks for too much is told where its text shows it, and nowhere else."""

import ast
import textwrap

import pytest

from course.check.bindings import Bindings, function_at
from course.check.check import check_source
from course.engine.faults import Outcome
from course.exercises import lesson


def bindings(body: str) -> tuple[Bindings, list[ast.Subscript]]:
    """A kernel's names, and what it takes of `a`, in order."""
    source = f"def kernel(a, b, n):\n{textwrap.indent(textwrap.dedent(body), '    ')}"
    function = function_at(ast.parse(source), 1)
    assert function is not None
    taken = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "a"
    ]
    return Bindings(function), sorted(taken, key=lambda node: (node.lineno, node.col_offset))


def elements(body: str) -> list[str | None]:
    found, taken = bindings(body)
    written = [found.written_out(node.slice) for node in taken]
    return [None if one is None else ast.unparse(one) for one in written]


def test_a_name_is_what_it_was_made_of_at_that_line():
    assert elements("i = b\nx = a[i]\ni = i + 1\ny = a[i]") == ["b", "b + 1"]
    assert elements("i = b\ni += 2\ny = a[i]") == ["b + 2"]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("if b:\n    x = a[n]\nelse:\n    y = a[n]", 2),
        ("if b:\n    x = a[n]\nelif n:\n    y = 1\nelse:\n    z = a[n]", 2),
        ("if b:\n    x = 1\nelif n:\n    y = a[n]\nelse:\n    z = a[n]", 4),
        ("if b:\n    x = a[n]\ny = a[n]", None),
        ("if b:\n    x = a[n]\n    y = a[n]", None),
        ("for k in b:\n    x = a[n]\nelse:\n    y = a[n]", None),
    ],
)
def test_the_if_of_whose_two_ways_each_has_one(body, line):
    found, (one, other) = bindings(body)
    parting = found.parting(one, other)
    assert (None if parting is None else parting.lineno) == line


def test_two_loops_over_one_range_take_the_same_elements():
    one, two = elements(
        """
        for k in range(n):
            x = a[k]
        for m in range(0, n, 1):
            y = a[m]
        """
    )
    assert one == two == "each(0, n, 1)"


@pytest.mark.parametrize(
    "body",
    [
        "i = b\nwhile i < n:\n    x = a[i]\n    i += 2",
        "if n > 2:\n    i = 1\nx = a[i]",
        "i = 0\nif n > 2:\n    i = 1\nx = a[i]",
        "for k in b:\n    x = a[k]",
    ],
)
def test_a_name_that_several_statements_may_have_made_is_nobodys_word(body):
    assert elements(body) == [None]


@pytest.mark.parametrize(
    ("body", "changes"),
    [
        ("for k in range(n):\n    x = a[b]", False),
        ("for k in range(n):\n    x = a[k]", True),
        ("for k in range(n):\n    i = k + 1\n    x = a[i]", True),
        ("for k in range(n):\n    i = b + 1\n    x = a[i]", False),
        ("i = b\nfor k in range(n):\n    x = a[i]\n    i += 1", True),
        ("for k in range(n):\n    for m in range(n):\n        x = a[m]", False),
        ("for k in range(n):\n    for m in range(k):\n        x = a[m]", True),
        ("i = b\nj = n\nfor k in range(n):\n    x = a[i]\n    i = j\n    j = i + 1", True),
    ],
)
def test_what_changes_from_turn_to_turn(body, changes):
    found, taken = bindings(body)
    loop = found.loops(taken[0])[-1]
    assert found.changes(taken[0].slice, loop) is changes


def test_names_that_double_from_line_to_line_take_no_time():
    chain = "".join(f"x{k + 1} = x{k} + x{k}\n" for k in range(200))
    body = "x0 = b\n" + chain + "for k in range(n):\n    y = x200\n    v = a[y]\n"
    assert elements(body) == [None]
    found, taken = bindings(body)
    assert not found.changes(taken[0].slice, found.loops(taken[0])[0])
    inside = textwrap.indent(chain, "    ")
    found, taken = bindings(f"for k in range(n):\n    x0 = b\n{inside}    v = a[x200]\n")
    assert not found.changes(taken[0].slice, found.loops(taken[0])[0])


def said(exercise: str, cell: str, stem: str) -> str:
    verdict = check_source(lesson(stem)[exercise], cell)
    assert verdict.outcome is Outcome.TOO_MUCH_TRAFFIC
    return " ".join((verdict.message, *verdict.next_steps))


NUMBA = "from numba import cuda\n\n\n@cuda.jit\ndef vector_add(a, b, c):\n    i = cuda.grid(1)\n"


def test_two_lines_that_read_different_elements_read_nothing_again():
    """a[i] and a[j] are different elements for all threads but one."""
    body = "    j = a.size - 1 - i\n    if i < a.size:\n        c[i] = a[i]\n"
    body += "        if a[j] == a[j] or c[i] < 0:\n            c[i] = a[i] + b[i]\n"
    assert "again what line 11 has loaded" not in said("vector_add", NUMBA + body, "threads")


LAUNCHES = """
import torch
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(x, w, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)


@triton.jit
def finish(h, bias, out, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    inside = (rows[:, None] < M) & (columns < N)
    value = tl.load(h + rows[:, None] * N + columns, inside, 0.0)
    value += tl.load(bias + columns, columns < N, 0.0).to(tl.float32)
    gelu = 0.5 * value * (1 + tl.erf(value * 0.7071067811865476))
    tl.store(out + rows[:, None] * N + columns, gelu, inside)


def matmul_epilogue(x, w, bias):
    M, K = x.shape
    N = w.shape[1]
    kept = torch.empty((M, N), dtype=torch.float32, device=x.device)
    out = torch.empty_like(kept)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    matmul_kernel[grid](x, w, kept, M, N, K, 64, 64, 32)
    finish[(triton.cdiv(M, 16),)](kept, bias, out, M, N, 16, triton.next_power_of_2(N))
    return out
"""


def test_a_tensor_between_two_kernels_has_the_launchers_name():
    """Both kernels call what they store `out`, and these are two tensors."""
    words = said("matmul_epilogue", LAUNCHES, "fusion")
    assert "`matmul_kernel` stores kept to memory, and `finish` loads it back." in words
