"""`course.plain.trees`: a tree's nodes, as Python's own walk gives them."""

import ast
from pathlib import Path

import pytest

import course
from course.plain.trees import walk

FILES = sorted(Path(course.__file__).parent.glob("exercises/*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_all_nodes_in_pythons_order(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert walk(tree) == list(ast.walk(tree))


def test_a_node_made_by_hand_is_walked_like_one_that_was_read() -> None:
    made = ast.Return(ast.BinOp(ast.Name("a", ast.Load()), ast.Add(), ast.Constant(1)))
    kinds = [type(node) for node in walk(made)]
    assert kinds == [ast.Return, ast.BinOp, ast.Name, ast.Add, ast.Constant, ast.Load]


def test_what_others_hang_on_a_node_is_not_followed() -> None:
    """IPython's traceback gives nodes their parents: Python's one `Load`, too, has one then."""
    tree = ast.parse("a = b")
    context = tree.body[0].value.ctx
    context.parent = tree
    try:
        assert walk(tree) == list(ast.walk(tree))
    finally:
        del context.parent
