"""Whole launchers: walked, they give the results and counts of a direct call; changed, a fault."""

import ast
import inspect
from types import FunctionType

import hypothesis.strategies as st
import pytest
import torch
import triton
from hypothesis import HealthCheck, given, settings

import course
from course.engine import launcher
from course.engine.faults import KernelFault
from course.engine.traffic import merged
from course.engine.triton.launch import launch
from course.notebook.triton_launches import has_gpu, run_on_engine
from course.tests.engine.triton import launchers
from course.words.sentences import WORDS, next_step, sentence

TREE = ast.parse(inspect.getsource(launchers))
NODES = {node.name: node for node in TREE.body if isinstance(node, ast.FunctionDef)}
#: the module as a cell's reader sees it: plain functions are syntax trees
SCOPE = {
    name: NODES[name] if isinstance(value, FunctionType) else value
    for name, value in vars(launchers).items()
} | {name: launcher.Ref(name) for name in ("torch", "triton", "tl", "math")}
SCOPE["TensorDescriptor"] = launcher.Ref("tensor_descriptor.TensorDescriptor")


def half(*shape):
    return torch.randn(*shape).half()


def attention(q, k, v):
    scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
    scores.masked_fill_(torch.ones(scores.shape[1:]).triu(1).bool(), -torch.inf)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


def expected(name, arguments):
    a, b, *more = (*(t.double() for t in arguments), None)
    if name in ("matmul", "split_k"):
        return (a @ b,)
    if name == "gated_linear":
        return (torch.nn.functional.silu(a @ b) * (a @ more[0]),)
    if name == "row_sums":
        return (a.sum(1),)
    return attention(a, b, more[0])


def whole(*shape):
    """Whole numbers, which TF32 holds exactly."""
    return torch.randint(-3, 4, shape).float()


def arguments_of(name):
    torch.manual_seed(7)
    return {
        "matmul": lambda: (whole(70, 45), whole(45, 50)),
        "gated_linear": lambda: (half(64, 96), half(96, 64), half(96, 64)),
        "flash_forward": lambda: (half(2, 128, 32), half(2, 128, 32), half(2, 128, 32)),
        "split_k": lambda: (torch.randn(40, 130), torch.randn(130, 33)),
        "row_sums": lambda: (torch.randn(32, 128),),
    }[name]()


WHOLE = ["matmul", "gated_linear", "flash_forward", "split_k", "row_sums"]


@pytest.mark.parametrize("name", WHOLE)
def test_a_walked_launcher_gives_the_results_and_counts_of_a_direct_call(name):
    arguments = arguments_of(name)
    launcher.admit(NODES[name], SCOPE)
    parts = []
    walked = launcher.call(
        NODES[name], SCOPE, arguments, lambda *made: parts.append(launch(*made, target=80))
    )
    with course.measure() as traffic:
        direct = getattr(launchers, name)(*arguments)
    walked, direct = (r if isinstance(r, tuple) else (r,) for r in (walked, direct))
    for got, called, right in zip(walked, direct, expected(name, arguments), strict=True):
        assert torch.equal(got, called)
        assert torch.allclose(
            got.double(), right, rtol=1e-3, atol=1e-2 if got.dtype == torch.half else 1e-4
        )
    total = merged(parts)
    assert len(parts) == (2 if name == "split_k" else 1)
    assert total.loads.sectors == traffic.loads.sectors > 0
    assert total.stores.sectors == traffic.stores.sectors > 0
    assert total.sites == traffic.sites


@pytest.mark.skipif(has_gpu(), reason="a launch runs on the GPU that is here")
def test_the_engine_of_direct_launches_serves_a_walked_launcher():
    a, b = arguments_of("matmul")
    c = launcher.call(NODES["matmul"], SCOPE, (a, b), run_on_engine)
    assert torch.allclose(c, a @ b, atol=1e-4)


def test_a_ragged_product_needs_no_element_twice():
    a, b = torch.randn(32, 32), torch.randn(32, 32)
    with course.measure() as traffic:
        launchers.matmul(a, b)
    assert traffic.loads.sectors == 2 * 32 * 4
    assert traffic.stores.sectors == 32 * 4


# ---------------------------------------------------------------- changed at random

PIECES = [
    ast.parse(text, mode="eval").body
    for text in (
        "0", "-1", "10 ** 40", "1.5", "None", "True", "'BLOCK_M'", "()", "(1, 2)", "[3]", "...",
        "a", "b", "x", "q", "M", "meta", "grid", "undefined", "torch", "torch.float16", "tl.load",
        "triton.cdiv", "triton.cdiv(M, 0)", "a.T", "a.shape", "a[0]", "a.sum()", "a + b", "a @ b",
        "torch.softmax(a, 0)", "torch.empty_like(a)", "torch.empty(1 << 50, device=a.device)",
        "lambda meta: meta['BLOCK_M']", "lambda: grid(grid)", "grid(grid)", "x.__class__",
        "[i for i in a]", "f'{a}'", "matmul_kernel", "matmul_kernel[1]", "matmul_kernel[grid](a)",
        "matmul_kernel.fn", "getattr(a, 'sum')", "max(a)", "min(1, 2, 'a')", "range(10 ** 9)",
        "a if b else a", "a.view(-1)", "a.stride(5)", "a.permute(1, 0, 2)", "math.inf // 1",
        "(lambda n: (n, n))(a)", "steps_of_a_split", "matmul(a, b)", "TensorDescriptor(a, a, a, a)",
        "a[None, ::3]", "a[::a]", "2 ** 2 ** 2 ** 2 ** 2", "not a", "a is b", "a == b",
        "(a, b) == (a, b)",
        "a in (a, b)", "int(a)", "float('a')", "a.new_empty(a)",
        "torch.full((2,), a, device=a.device)",
    )
]  # fmt: skip
STATEMENTS = ast.parse(
    "while True:\n    pass\n"
    "for i in range(9):\n    M = M * M\n"
    "a[0] = 1\na, b = b\nM += a\nreturn_ = a\nassert a\nassert 0, f'{a} {M}'\nraise ValueError\n"
    "def grid(meta): return grid(meta)\nimport os\ndel a\nM: int = 5\nx = y = z = a.view(3, -1)\n"
).body


class Change(ast.NodeTransformer):
    """Replaces some expressions and statements."""

    def __init__(self, random, rate):
        self.random, self.rate = random, rate

    def visit(self, node):
        if isinstance(node, ast.JoinedStr):
            return node
        changed = super().visit(node)
        if isinstance(node, ast.expr) and not isinstance(
            getattr(node, "ctx", ast.Load()), ast.Store
        ):
            if self.random.random() < self.rate:
                return ast.copy_location(self.random.choice(PIECES), node)
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
            if self.random.random() < self.rate:
                other = ast.copy_location(self.random.choice(STATEMENTS), node)
                return self.random.choice([None, other, [changed, changed], [other, changed]])
        return changed


def pretended(kernel, args, grid, named):
    """A launch that runs nothing, and asks for the grid as a launch does."""
    if callable(grid):
        grid = grid({"BLOCK_M": 32, "BLOCK_N": 32, "a": args[0] if args else None} | named)
    assert 1 <= len(grid) <= 3
    assert all(type(axis) is int for axis in grid)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(WHOLE),
    random=st.randoms(use_true_random=False),
    rate=st.sampled_from([0.01, 0.03, 0.1]),
)
def test_a_launcher_changed_at_random_ends_in_a_result_or_a_fault(name, random, rate):
    source = ast.unparse(Change(random, rate).visit(ast.parse(ast.unparse(NODES[name]))))
    try:
        node = ast.parse(source).body[0]
    except SyntaxError:  # a block that lost its only statement
        return
    assert isinstance(node, ast.FunctionDef)
    arguments = arguments_of(name)
    before = [argument.clone() for argument in arguments]
    refused = fault_of(launcher.admit, node, SCOPE)
    stopped = fault_of(launcher.call, node, SCOPE, arguments, pretended, 5000)
    assert refused or not stopped or stopped.message_id != "launcher_syntax"
    assert all(map(torch.equal, arguments, before))


def fault_of(function, *arguments):
    """The fault that a call ends in, its words looked at, or None."""
    try:
        function(*arguments)
        return None
    except KernelFault as caught:
        fault = caught
    assert fault.message_id in WORDS
    fields = {"line": fault.line, **fault.fields}
    for text in (sentence(fault.message_id, fields), next_step(fault.message_id, fields)):
        assert "(not known)" not in text
        assert len(text) < 800
    return fault


def test_every_listed_function_of_triton_is_the_real_one():
    for n in range(200):
        for d in range(1, 20):
            assert triton.cdiv(n, d) == launcher.call(
                ast.parse("def f(n, d):\n    return triton.cdiv(n, d)").body[0],
                SCOPE,
                (n, d),
                launch,
            )
