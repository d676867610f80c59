"""What a text leaves loose is never found in a kernel that is right."""

import ast
from collections.abc import Mapping

import pytest

from autograder.proof.witness import solutions_of, witnesses_of
from course.check.kernel_text import Cause
from course.check.launch_text import launch_cause
from course.check.loose_ends import (
    begun_anew,
    compared_alone,
    defined_twice,
    left_early,
    of_maximum,
)
from course.engine.faults import Outcome
from course.exercises import lesson, stems
from course.spec.exercise import KernelExercise

FIVE_LINES = """
def kernel(x, out, n):
    total = 0.0
    m = -float("inf")
    for i in range(n):
{turn}
    out[0] = total
"""


def found_in(source: str) -> list[Cause]:
    """What any rule says of a cell."""
    tree = ast.parse(source)
    constants: Mapping[str, int | float] = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, int)
    }
    rules = (begun_anew, compared_alone, of_maximum, defined_twice, left_early)
    found = [launch_cause(tree, constants), *(rule(tree) for rule in rules)]
    return [one for one in found if one is not None]


@pytest.mark.parametrize("stem", stems())
def test_nothing_is_loose_in_solutions_and_honest_variants(stem: str) -> None:
    kernels = {name for name, one in lesson(stem).items() if isinstance(one, KernelExercise)}
    right = {f"{w.exercise} {w.name}": w for w in witnesses_of(stem) if w.outcome is Outcome.PASS}
    sources = {name: w.source for name, w in right.items() if w.exercise in kernels}
    sources |= {name: text for name, text in solutions_of(stem).items() if name in kernels}
    assert {name: found for name, text in sources.items() if (found := found_in(text))} == {}


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ("total += x[i]", None),
        ("total = total + x[i]", None),
        ("total = x[i]", "text_anew"),
        ("new = max(m, x[i])\n  total = total * exp(m - new) + exp(x[i] - new)\n  m = new", None),
        ("new = max(m, x[i])\n  total = total + exp(x[i] - new)\n  m = new", "text_not_rescaled"),
        (
            "new = max(m, x[i])\n  total = total * exp(m - new) + x[i]\n  p = exp(x[i] - new)\n"
            "  p = p / total\n  p += p\n  m = new",
            None,
        ),
        ("new = max(m, x[i])\n  total = total * exp(new - m)\n  m = new", "text_exponent"),
        (
            "new = max(m, x[i])\n  total = total * exp(m - new) + exp(x[i] + new)\n  m = new",
            "text_maximum_added",
        ),
        ("total += exp(x[i] + max(x[i], 0))", None),
        ("new = max(m, x[i])\n  total = total * exp(m - new) + exp(x[i] - new)", "text_unchanged"),
        ("out[1] = x[i]", "text_stored_anew"),
        ("out[i] = x[i]", None),
        ("total += x[i]\n  out[1] = total", None),
    ],
)
def test_a_loop_that_loses_what_it_had(turn: str, said: str | None) -> None:
    lines = "\n".join("        " + line.strip() for line in turn.splitlines())
    found = [message_id for message_id, _ in found_in(FIVE_LINES.format(turn=lines))]
    assert found[:1] == ([said] if said else [])


LAUNCHER = """
BM = 64
BN = 32


def kernel(x_ptr, scale_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)


def launcher(x, scale, M, N):
    grid = ({grid})
    kernel[grid]({arguments}, M, N, BM=BM, BN=BN)
"""


@pytest.mark.parametrize(
    ("grid", "arguments", "said"),
    [
        ("triton.cdiv(M, BM), triton.cdiv(N, BN)", "x, scale", []),
        ("triton.cdiv(N, BN), triton.cdiv(M, BM)", "x, scale", ["text_grid"]),
        ("triton.cdiv(M, BM), 1", "x, scale", []),
        ("triton.cdiv(M, BM), triton.cdiv(N, BN)", "scale, x", ["text_arguments"]),
    ],
)
def test_a_launch_that_does_not_fit_its_kernel(grid: str, arguments: str, said: list[str]) -> None:
    found = found_in(LAUNCHER.format(grid=grid, arguments=arguments))
    assert [message_id for message_id, _ in found] == said
