"""What is admitted, what the engine walks and what Triton's compiler gets: one tree, or none."""

import ast
import io
import tokenize
import warnings

import pytest
import torch
import triton.language as tl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from triton.compiler.code_generator import CodeGenerator
from triton.runtime.jit import JITFunction

from course.engine.cell import definition
from course.engine.cell.operations import ATTRIBUTES
from course.engine.cell.triton import forget, read_cell
from course.engine.faults import KernelFault, Outcome
from course.engine.triton.compiling import gate
from course.engine.triton.compiling.functions import code_of
from course.engine.triton.compiling.specialisation import key_of, source_of
from course.plain.text import lines_of
from course.tests.engine.faults import raised

CELL = '''\
import math
import torch
import triton
import triton.language as tl

WIDTH = tl.constexpr(16)
NOTE = """
@triton.jit
def add(x_ptr, out_ptr, n):
    tl.store(out_ptr, 0)
"""


@triton.jit
def twice(x):
    """Twice."""
    return x * 2


@triton.autotune(
    configs=[triton.Config({}, num_warps=4)],
    key=["n"],
)
@triton.jit(
    debug=False,
)
def add(x_ptr, out_ptr, n, BLOCK: tl.constexpr = 16):
    """Adds.

    def add(x_ptr, out_ptr, n):
        tl.store(x_ptr, 0)
    """
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK); inside = at < n
    x = tl.load(
        x_ptr + at,
        mask=inside,  # def add(x):
        other=-1e30,
    )
    if n > 3:
        for i in range(0, n, WIDTH):
            x += twice(x) if i else -x * 2
    else:
        x = (x)
    tl.static_assert(BLOCK > 2, "def add(x):")
    tl.store(out_ptr + at, x, mask=inside)


def launch(x):
    out = torch.empty_like(x)
    add[(1,)](x, out, 16, 16)
    return out
'''
TRAPS = (
    *("\\\n", "\\\n\\\n", "\n", "\t", "    ", " ", ";", "# x\n", "\r\n", "\r", "\f", "\v", "\0"),
    *("\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\u202e", "\ufeff", "\xa0", "\xad"),
    *("'''\ndef add(x):\n    pass\n'''", '"""', "'''", "'", "(", ")", "# -*- coding: utf-7 -*-\n"),
    *("def ", "\ndef add(x):\n    return x\n", "\n@triton.jit\ndef add(x):\n    return x\n", "@"),
    *("f'{x}'", "b'a'", "u'a'", "r'\\f'", "'\\x0c'", "'\\N{BULLET}'", "(y := 1)", "lambda: 0"),
    *(
        "async ",
        "if True:\n    ",
        "# type: (int) -> int",
        "# +AAo-x",
        "ａｄｄ",
        "add·",
        "℮",
        "1e400",
    ),
    *("1_0", "0x1F", "1j", "-0.0", "...", "None", "not ", "~", "*", "**", ", ", "\\", "class A: "),
)


LINES = CELL.split("\n")
#: Where its tokens begin.
BETWEEN = [
    sum(len(line) + 1 for line in LINES[: token.start[0] - 1]) + token.start[1]
    for token in tokenize.generate_tokens(io.StringIO(CELL).readline)
]


@st.composite
def layouts(draw: st.DrawFn) -> str:
    """The cell with traps between its tokens, within its texts and between its lines."""
    text = CELL
    places = st.one_of(st.sampled_from(BETWEEN), st.integers(0, len(CELL)))
    for at in sorted(draw(st.lists(places, min_size=1, max_size=4)), reverse=True):
        text = text[:at] + draw(st.sampled_from(TRAPS)) + text[at:]
    return text


def plain(node: ast.FunctionDef) -> str:
    """A definition as text, places included, without what is above and beside its parameters."""
    names = [argument.arg for argument in node.args.args]
    return (
        node.name + repr(names) + "".join(ast.dump(s, include_attributes=True) for s in node.body)
    )


def require_one_tree(text: str) -> None:
    try:
        cell = read_cell(text)
    except KernelFault:  # any other exception is a failure
        return
    written = {n.name: n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)}
    try:
        for name, kernel in cell.kernels.items():
            [compiled] = kernel.parse().body
            assert compiled.body is cell.nodes[name].body is code_of(kernel).body
            assert plain(compiled) == plain(written[name])
            [read] = JITFunction.parse(
                kernel
            ).body  # what Triton itself makes of the text it hashes
            assert ast.dump(read) == ast.dump(compiled)
            assert [a.arg for a in read.args.args] == kernel.arg_names
    finally:
        forget(cell)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(layouts())
def test_whatever_the_layout_there_is_one_tree_or_a_refusal(text: str) -> None:
    with warnings.catch_warnings(action="ignore"):
        require_one_tree(text)


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(layouts())
def test_whatever_the_layout_there_is_one_tree_or_a_refusal_at_length(text: str) -> None:
    with warnings.catch_warnings(action="ignore"):
        require_one_tree(text)


@pytest.mark.parametrize("trap", TRAPS, ids=ascii)
def test_each_trap_alone_at_each_line_s_end(trap: str) -> None:
    with warnings.catch_warnings(action="ignore"):
        for number in range(0, len(LINES), 8):
            before, after = LINES[: number + 1], LINES[number + 1 :]
            require_one_tree("\n".join(before) + trap + "\n".join(["", *after]))


def test_the_layout_as_it_is_passes() -> None:
    cell = read_cell(CELL)
    assert set(cell.kernels) == {"add", "twice"}
    forget(cell)


def source(cell, name: str = "add") -> gate.Source:
    x = torch.zeros(16)
    return source_of(cell.kernels[name], (x, x, 16, 16))


def test_triton_s_compiler_visits_the_admitted_tree_and_leaves_it_as_it_is(monkeypatch) -> None:
    cell = read_cell(CELL)
    visited = []
    own = CodeGenerator.visit_FunctionDef

    def visit(self, node):
        visited.append(node)
        return own(self, node)

    monkeypatch.setattr(CodeGenerator, "visit_FunctionDef", visit)
    before = ast.dump(cell.tree, include_attributes=True)
    gate.compiler.to_ptx(source(cell), 80)
    ours = [node for node in visited if node.name in cell.nodes]
    assert [node.name for node in ours] == ["add", "twice"]
    assert all(node.body is cell.nodes[node.name].body for node in ours)
    assert ast.dump(cell.tree, include_attributes=True) == before
    forget(cell)


def test_what_the_compiler_finds_is_kept_by_the_text_of_the_tree_and_its_lines() -> None:
    keys = []
    for text in (
        CELL,
        CELL.replace("# def add(x):", "# another"),
        CELL.replace("    x = tl.load(\n        x_ptr", "    x = tl.load(x_ptr"),
        "\n" + CELL,
        CELL.replace("x * 2", "x * 3"),
        CELL.replace("def twice(x):\n", "def twice(x):\n\n"),
    ):
        cell = read_cell(text)
        keys.append(key_of(source(cell), 80))
        forget(cell)
    assert keys[0] == keys[1]
    assert len(set(keys[1:])) == len(keys) - 1


@pytest.mark.parametrize("layout", ["{}", "\n\n{}", '"""\n\n"""\n{}', "NOTE_2 = (1,\n  2)\n{}"])
def test_the_compiler_s_refusals_name_the_learner_s_line(layout: str) -> None:
    text = layout.format(CELL.replace("x += twice(x)", "x += tl.dot(x, x)"))
    cell = read_cell(text)
    fault = raised(gate.compiler.to_ptx, source(cell), 80)
    assert "tl.dot" in lines_of(text)[(fault.line or 0) - 1]
    assert fault.line == 1 + text[: text.index("tl.dot(x, x)")].count("\n")
    forget(cell)


def test_a_function_that_triton_would_read_otherwise_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(JITFunction, "parse", lambda self: ast.parse("def add(x):\n    return 1\n"))
    fault = raised(read_cell, CELL)
    assert (fault.outcome, fault.message_id) == (
        Outcome.REJECTED, "tile_two_readings"
    )  # fmt: skip


def test_two_trees_that_differ_anywhere_are_not_the_same() -> None:
    one = ast.parse("def f(x):\n    return x + 1.0\n")
    for other in ("return x + 1", "return x - 1.0", "return y + 1.0", "return -(x + 1.0)", "pass"):
        assert not definition.same(one, ast.parse(f"def f(x):\n    {other}\n")), other
    assert not definition.same(one, ast.parse("def f(x):\n    return x + 1.0\n\nx = 1\n"))
    assert definition.same(one, ast.parse("def f( x ) :\n\n  return (x +\n 1.0)  # one\n"))


# ------------------------------------------------------------ what stands behind a name


def test_a_cell_s_modules_hold_what_is_listed_and_nothing_of_python_s() -> None:
    cell = read_cell(CELL)
    forget(cell)
    assert cell.scope["__builtins__"] == {}
    for gone in ("core", "standard", "extra.libdevice.core", "inline_asm_elementwise", "builtins"):
        held = cell.scope["tl"]
        for name in gone.split("."):
            held = getattr(held, name, None)
        assert held is None, gone
    assert cell.scope["tl"].load is tl.load
    assert not vars(cell.scope["torch"]).keys() - vars(type(tl)("torch")).keys()
    seen: set[int] = set()
    waiting = [v for name, v in cell.scope.items() if isinstance(v, type(tl))]
    while waiting:
        space = waiting.pop()
        seen.add(id(space))
        assert space not in (tl, tl.core, tl.math, torch), space
        assert getattr(space, "__loader__", None) is None
        for name, value in vars(space).items():
            if isinstance(value, type(tl)) and id(value) not in seen:
                waiting.append(value)
            elif not name.startswith("__"):
                # nothing that a kernel may name leads back to a module
                for attribute in ATTRIBUTES:
                    assert not isinstance(getattr(value, attribute, None), type(tl)), (name, value)


@pytest.mark.parametrize(
    "chain",
    [
        *("tl.core.builtins", "tl.math.libdevice.__globals__", "triton.runtime.jit", "tl.os"),
        *("math.__loader__", "tl.standard.core", "torch.os", "triton.language.core", "tl.typing"),
        *("tl.load.__globals__", "tl.sum.fn", "tl.extra.libdevice.core", "tl.dtype.__init__"),
    ],
)
def test_a_chain_out_of_the_language_is_refused_and_leads_nowhere(chain: str) -> None:
    assert raised(read_cell, CELL.replace("x = (x)", f"x = {chain}")).outcome is Outcome.REJECTED
    root, *names = chain.split(".")
    held = read_cell(CELL).scope[root]
    if chain not in ("tl.load.__globals__", "tl.sum.fn", "tl.dtype.__init__"):
        for name in names:
            held = getattr(held, name, None)
        assert held is None
