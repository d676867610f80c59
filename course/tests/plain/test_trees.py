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
