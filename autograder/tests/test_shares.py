"""Few blocks do the work of all: each Numba solution made so is TOO_SERIAL."""

import ast

import pytest

from autograder.hidden import hidden_cases
from autograder.judge.judge import course_check
from autograder.lessons.build import read_lessons
from autograder.proof.verify import ROOT
from course.engine.faults import Outcome
from course.spec.exercise import Case, KernelExercise

SEEDS_OF_FIFTY = [f"share {number}" for number in range(50)]
LESSONS = ("start", "threads", "coalescing", "roofline", "shared_memory", "matmul")
_PLACES = {"cuda.blockIdx.x": "block_x", "cuda.blockIdx.y": "block_y"}
_GRID_1 = "block_x * cuda.blockDim.x + cuda.threadIdx.x"
_GRIDS = {
    "cuda.grid(1)": _GRID_1,
    "cuda.grid(2)": f"({_GRID_1}, block_y * cuda.blockDim.y + cuda.threadIdx.y)",
}
_LOOP = """
own = cuda.blockIdx.x + cuda.blockIdx.y * cuda.gridDim.x
if own < {few}:
    for block in range(own, cuda.gridDim.x * cuda.gridDim.y, {few}):
        block_x = block % cuda.gridDim.x
        block_y = block // cuda.gridDim.x
        cuda.syncthreads()
"""
SOLVED = {
    exercise.name: (exercise, lesson.solutions[exercise.name])
    for lesson in read_lessons(ROOT, LESSONS)
    for exercise in lesson.exercises
    if isinstance(exercise, KernelExercise)
}


class _Moved(ast.NodeTransformer):
    """The body of a kernel as block (block_x, block_y) runs it."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        place = _PLACES.get(ast.unparse(node))
        return node if place is None else ast.Name(place, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.AST:
        grid = _GRIDS.get(ast.unparse(node))
        return self.generic_visit(node) if grid is None else ast.parse(grid, mode="eval").body

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return ast.Continue()


def by_few(source: str, name: str, few: int = 1) -> str:
    """A solution cell whose first blocks do what all blocks did."""
    tree = ast.parse(source)
    kernel = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    head = ast.parse(_LOOP.format(few=few)).body
    head[1].body[0].body += [_Moved().visit(statement) for statement in kernel.body]
    kernel.body = head
    return ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("name", [n for n in SOLVED if n != "padded_rows"])
@pytest.mark.family
def test_a_block_that_does_the_work_of_all_is_too_serial(name):
    exercise, source = SOLVED[name]
    bad = by_few(source, name)
    assert course_check(exercise, source, None, 0).outcome is Outcome.PASS
    verdict = course_check(exercise, bad, None, 0)
    assert verdict.outcome is Outcome.TOO_SERIAL
    assert "An even share" in verdict.message


@pytest.mark.slow
@pytest.mark.family
@pytest.mark.parametrize("seed", SEEDS_OF_FIFTY)
@pytest.mark.parametrize("few", [1, 4])
@pytest.mark.parametrize("name", [n for n in SOLVED if n != "padded_rows"])
def test_and_so_it_is_on_held_out_cases_of_every_seed(name, few, seed):
    exercise, source = SOLVED[name]
    bad = by_few(source, name, few)
    verdict = course_check(exercise, bad, hidden_cases(name, seed), 0)
    assert verdict.outcome is Outcome.TOO_SERIAL


def test_lanes_with_nothing_to_do_are_no_share_of_the_work():
    """Five blocks of which one row of 16 has something to do: no fault of the kernel."""
    exercise, source = SOLVED["matmul_naive"]
    case = Case({"M": 1, "N": 78, "K": 138})
    assert course_check(exercise, source, [case], 0).outcome is Outcome.PASS
