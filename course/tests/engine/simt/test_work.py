"""What a statement counts for: its operations, and a function of `math` as many as it is."""

import ast

import pytest

from course.engine.simt.nvvm.work import work_of


@pytest.mark.parametrize(
    ("statement", "operations"),
    [
        ("c[i] = a[i] + b[i]", 4),
        ("x += 1", 1),
        ("y = x", 1),
        ("y = math.sqrt(x)", 1),
        ("y = math.sin(x) + 1", 21),
        ("y = exp(log(x) * 2)", 41),
        ("for k in range(60):\n    y += math.sin(k)", 1),
        ("if math.exp(x) < 1:\n    y = math.sin(x)", 21),
    ],
)
def test_a_statement_counts_for_its_own_operations(statement, operations):
    assert work_of(ast.parse(statement).body[0]) == operations
