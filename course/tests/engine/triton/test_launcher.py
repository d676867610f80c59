"""A launcher is walked, does what Python would do with it, and can do nothing else."""

import ast
import functools
import math
import re
import textwrap

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from course.engine import launcher, stated_gpu
from course.engine.faults import Outcome
from course.engine.launcher.tensors import MOST_BYTES, Allocator
from course.engine.triton.compiling import gate
from course.engine.triton.launch import launch
from course.engine.triton.running.tensors import unwritten
from course.spec.inputs import poison
from course.tests.engine.faults import raised
from course.tests.engine.triton import kernels
from course.words.sentences import WORDS, next_step, sentence

SCOPE = {
    **{name: launcher.Ref(name) for name in ("torch", "triton", "tl", "math", "functools")},
    "TensorDescriptor": launcher.Ref("tensor_descriptor.TensorDescriptor"),
    "kernel": kernels.add,
    "BLOCK": 64,
}
#: the same for Python itself
LIVE = SCOPE | {"torch": torch, "triton": triton, "tl": tl, "math": math, "functools": functools}
LIVE["TensorDescriptor"] = TensorDescriptor


def tree(source):
    """The launcher `f` of a source, or one with this expression as what it returns."""
    source = textwrap.dedent(source)
    if "def f" not in source:
        source = f"def f(x, y):\n    return {source}\n"
    body = ast.parse(source).body
    return body[-1], {n.name: n for n in body[:-1] if isinstance(n, ast.FunctionDef)}


def walked(source, *arguments, launch=None, admitted=True, **scope):
    """What a launcher returns; its launches go to `launch`."""
    node, helpers = tree(source)
    names = SCOPE | helpers | scope
    if admitted:
        launcher.admit(node, names)

    def nothing(kernel, args, grid, named):
        pass

    return launcher.call(node, names, list(arguments), launch or nothing)


def matrix(m=3, n=4):
    return torch.arange(m * n, dtype=torch.float32).reshape(m, n)


def value(expression, x=None, y=7, **scope):
    return walked(expression, matrix() if x is None else x, y, **scope)


def fault_of(source, *arguments, admitted=True, **scope):
    arguments = arguments or (matrix(), 7)
    fault = raised(walked, source, *arguments, admitted=admitted, **scope)
    assert fault.message_id in WORDS
    shown = sentence(fault.message_id, fault.fields) + next_step(fault.message_id, fault.fields)
    assert "(not known)" not in shown
    assert "|" not in shown
    return fault


def told_as(**messages):
    """(expression, message) of every expression."""
    return [(one, message) for message, expressions in messages.items() for one in expressions]


# ---------------------------------------------------------------- what Python does, the walker does


@pytest.mark.parametrize(
    "expression",
    [
        "y + 2 * 3 - 4", "y / 2", "y // 2, -y // 2, y % 3, -y % 3", "2 ** 10, 2.0 ** -1",
        "y << 2, y >> 1, y & 3, y | 8, y ^ 1, ~y", "-y, +y, not y", "y < 8 <= 8 != 9",
        "1 < y < 5", "y == 7 and y > 3 or 1 / 0", "y > 3 or 1 / 0", "0 and 1 / 0",
        "1 if y > 3 else 2", "(1, 2) + (3,)", "(y,) * 3", "[1, 2] == [1, 2], (1, 2) == [1, 2]",
        "(1, 2, 3)[-1], (1, 2, 3)[1:], (1, 2, 3)[::-1]", "x.shape[0], x.shape[-1]", "len(x.shape)",
        "x.shape", "x.ndim, x.dim()", "x.dtype", "x.dtype == torch.float32, x.dtype.itemsize",
        "x.dtype in (torch.float16, torch.float32)", "x.dtype.is_floating_point",
        "x.stride(), x.stride(0), x.stride(-1)", "x.size(), x.size(1)", "x.stride(dim=1)",
        "x.numel(), x.element_size(), x.is_contiguous(), len(x)", "x.T.is_contiguous()",
        "x.device == x.device", "x is None, x is not None, x is x", "x.T.stride(), x.t().shape",
        "min(3, y), max((1, 2, y)), abs(-y), round(2.5), round(y / 3, 2)",
        "int(3.9), float(3), bool(0), bool((0,)), bool('')", "float('-inf'), float('inf')",
        "tuple(range(3)), list((1, 2)), len(range(2, 9, 3))",
        "triton.cdiv(1000, 64), triton.cdiv(1, 1), triton.cdiv(0, 4)",
        "functools.partial(triton.cdiv, 1000)(64), functools.partial(max, 3)(4)",
        "triton.next_power_of_2(1), triton.next_power_of_2(33), triton.next_power_of_2(64)",
        "triton.next_power_of_2(0)",
        "math.sqrt(16), math.log2(8), math.ceil(2.1), math.floor(-2.1), math.pi, math.inf",
        "1 / math.sqrt(x.shape[1]), math.gcd(12, 18), math.isqrt(17)", "BLOCK * 2",
        "torch.float16, torch.int32, torch.bool, torch.half", "None, True, 'text', 1.5",
        "(lambda a, b=3: a * b)(2)", "(lambda a: (lambda b: a + b)(1))(y)",
        "1 in (1, 2), 3 not in (1, 2)",
        "[a * 2 for a in x.shape if a > 3]", "{a: b for a, b in ((1, 2), (3, 4))}[3]",
        "sum(a * b for a, b in zip(x.shape, x.stride()))", "list(enumerate((5, y), 1))",
        "max(*x.shape)", "dict(a=1)['a'], {'a': 1} | {} if False else 0", "sorted((3, 1, 2))",
        "{torch.float16: 1, torch.float32: 2}[x.dtype]", "{'a': 1}.get('b', 2)",
        "list(map(lambda a: a + 1, x.shape)), list(filter(lambda a: a > 3, x.shape))",
        "isinstance(x, torch.Tensor), isinstance(y, (int, float)), isinstance(y, str)",
        "torch.finfo(x.dtype).min, torch.finfo(torch.float16).max, torch.iinfo(torch.int32).max",
        "[*x.shape, *range(2)], (*x.shape,)", "int('7'), divmod(y, 2), 1 << 7",
        "x.contiguous() is x", "x.contiguous(memory_format=torch.contiguous_format) is x",
         "(lambda *a, **b: (a, b))(1, 2, c=3)", "'a' in 'bar'",
        "x.shape == (3, 4), x.shape != (3, 4)", "'relu' == 'relu'", "y == None", "(1, 2)[True - 1]",
        "x.itemsize, x.nbytes, x.nelement(), x.ndimension(), x.is_floating_point()",
        "x.requires_grad, x.storage_offset(), x[1].storage_offset()",
        "x.is_complex(), x.shape.numel(), x.size().numel()", "f'{y} of {x.shape[0]}, {x.dtype}'",
        "x.dtype in {torch.float16, torch.float32}, y not in {7, 8}", "{'a': 1, **{'b': 2}}",
        "{'a': 1} | {'b': 2}", "dict([('a', 1)], b=2), dict(zip((1, 2), x.shape))",
        "min((3, 1, 2), key=lambda n: -n), max(3, 1, 2, key=lambda n: (n % 3, n))",
        "max(1, -2, key=abs), list(map(float, x.shape))",
        "max((3, 0, 6), key=lambda n: n % 3), min((3, 0, 6), key=lambda n: n % 3)",
        "sorted((3, 1, 2), reverse=True), sorted((4, 3, 6), key=lambda n: n % 3)",
        "next(n for n in (4, 8, 16) if n >= y), next((n for n in (4,) if n > y), 64)",
        "x.float() is x, x.to(torch.float32) is x, x.to(x.device, x.dtype) is x, x.to(x) is x",
        "x.to(dtype=x.dtype) is x, x.half().half().dtype if y < 0 else 0",
        "math.comb(y, 2), math.comb(3, 5), math.factorial(y), math.perm(y, 2), math.perm(y)",
        "(1, 2, 1).count(1), [4, 5].index(5)", "(y - 1).bit_length(), 1 << (y - 1).bit_length()",
    ],
)  # fmt: skip
def test_an_expression_has_the_value_that_python_gives_it(expression):
    x, y = matrix(), 7
    expected = eval(f"lambda x, y: ({expression})", dict(LIVE))(x, y)
    got = value(expression, x, y)
    assert got == expected
    assert repr(got) == re.sub(r"torch\.Size\(\[(.*?)\]\)", r"(\1)", repr(expected))


@pytest.mark.parametrize(
    "view",
    [
        "x.view(4, 3)", "x.view(-1)", "x.view((2, -1))", "x.reshape(12)", "x.reshape(1, -1, 2)",
        "x.T", "x.t()", "x.transpose(0, 1)", "x.permute(1, 0)", "x.permute((1, 0))",
        "x.unsqueeze(0)", "x.unsqueeze(1).squeeze(1)", "x.unsqueeze(0).squeeze()", "x.flatten()",
        "x.flatten(0, 1)", "x.unsqueeze(0).flatten(0, 1)", "x[1]", "x[1:, ::2]", "x[None, ..., 0]",
        "x[:, 1:3]", "x[-1, -1]", "x[y - 6:]", "x.view(3, 2, 2).permute(2, 0, 1)", "x[:0]",
        "x.unsqueeze(dim=1)", "x.view(-1).view_as(x)", "x.mT", "x.ravel()", "x.swapaxes(0, 1)",
        "x.swapdims(0, -1)", "x.movedim(0, 1)", "x.narrow(1, 1, 2)", "x.select(0, 1)",
        "x.view(torch.int32)", "x.view(torch.float64)", "x.view(torch.uint8)", "x.detach()",
    ],
)  # fmt: skip
def test_a_view_is_the_one_that_torch_gives_and_shares_its_memory(view):
    x = matrix()
    expected = eval(view, {"x": x, "y": 7, "torch": torch})
    got = value(view, x)
    assert torch.equal(got, expected)
    assert got.stride() == expected.stride()
    assert got.storage_offset() == expected.storage_offset()
    assert got.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def test_a_tensor_is_unpacked_into_views_of_its_first_axis():
    x = matrix()
    first, rest = walked("def f(x):\n    first, *rest = x\n    return first, rest", x)
    assert torch.equal(first, x[0])
    assert torch.equal(torch.stack(rest), x[1:])
    assert first.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def test_statements_run_as_in_python():
    source = """
    def half(n, up: bool = True):
        '''Rounded up, or down.'''
        return triton.cdiv(n, 2) if up else n // 2

    def f(n):
        total: int = 0
        steps = []
        for i in range(n):
            if i == 2:
                continue
            elif i > 5:
                break
            else:
                total += i
        a, (b, c) = 1, (2, 3)
        d = e = half(n, up=False)
        while a < 20:
            a *= 2
            if a > 8:
                pass
        for pair in ((1, 2), (3, 4)):
            steps = steps + [pair[0] - pair[1]]
        else:
            steps.append(9)
        for pair in steps:
            break
        else:
            steps.append(10)
        while a < 0:
            pass
        else:
            steps.extend((11,))
        sizes = {"a": 1}
        sizes["b"] = 2
        sizes["a"] += len(sizes)
        steps.append(tuple(sizes.items()))
        def nested(k):
            return k + total
        return total, a, b, c, d, e, half(n), steps, nested(1)
    """
    names = dict(LIVE)
    exec(textwrap.dedent(source), names)
    assert (
        walked(source, 9)
        == names["f"](9)
        == (
            *(13, 32, 2, 3, 4, 4, 5),
            [-1, -1, 9, 11, (("a", 3), ("b", 2))],
            14,
        )
    )


@pytest.mark.parametrize("n", [1, -2, 3, 4, 5, 6, True])
def test_a_match_goes_the_way_that_python_goes(n):
    source = """
    def f(n):
        kept = ["", n]
        match n:
            case 1 | -2:
                kept.append("one")
            case 3 if len(kept) > 2:
                kept.append("never")
            case 4 as four:
                kept.extend((four, 4))
            case True:
                kept.append("true")
            case other if other > 5:
                kept.append(other)
        match ("a" if n > 2 else "b", (n, 2)):
            case ("a", _):
                return kept
            case ["b", (1, two) | (two, 2)]:
                return kept, two
    """
    names = dict(LIVE)
    exec(textwrap.dedent(source), names)
    assert walked(source, n) == names["f"](n)


def test_a_name_may_be_deleted_and_has_no_value_then():
    assert walked("def f(x, y):\n    a = b = y\n    del a, x\n    return b", matrix(), 7) == 7
    fault = fault_of("def f(x, y):\n    a = y\n    del a\n    return a")
    assert (fault.message_id, fault.line) == ("unassigned_name", 4)
    assert fault_of("def f(x, y):\n    del BLOCK\n    return y").message_id == "unassigned_name"


def test_a_list_of_the_launchers_own_is_sorted():
    body = "a = [3, 1, 2]\n    a.sort()\n    b = a + [9]\n    b.sort(key=lambda n: n % 3)"
    assert walked(f"def f(x, y):\n    {body}\n    return a, b", matrix(), 7) == (
        [1, 2, 3],
        [3, 9, 1, 2],
    )


def test_what_is_no_tensor_is_not_told_that_it_computes_on_elements():
    for text in ("'a b'.split()", "(3, 1).sort()"):
        assert fault_of(f"def f(x, y):\n    return {text}").message_id != "launcher_computes"


def test_a_tensor_of_its_own_is_filled_whole():
    source = """
    def f(x):
        a = torch.empty_like(x).fill_(2.5)
        b = torch.empty(4, 2, device=x.device)
        b.T.zero_()
        return a, b
    """
    a, b = walked(source, matrix())
    assert torch.equal(a, torch.full((3, 4), 2.5))
    assert torch.equal(b, torch.zeros(4, 2))
    assert unwritten(a.untyped_storage()) is unwritten(b.untyped_storage()) is None


def test_filling_is_counted_as_the_filling_that_torch_zeros_does():
    allocator = Allocator()
    made = allocator.make("zeros", [(4, 2)], {"device": "cuda"})
    assert allocator.filled_bytes == 32
    allocator.fill(made, 1)
    assert allocator.filled_bytes == 64


def test_an_assignment_in_an_expression_binds_a_name_of_the_function():
    source = """
    def f(n):
        kept = 0
        def g(k):
            if (kept := k + 1) > 3:
                return kept
        while (n := n - 2) > 3:
            kept += n
        over = [last for k in range(4) if (last := k * n) > 2]
        return n, kept, over, last, g(8), (m := n + 1) * m
    """
    names = dict(LIVE)
    exec(textwrap.dedent(source), names)
    assert walked(source, 9) == names["f"](9) == (3, 12, [3, 6, 9], 9, 9, 16)


def test_a_launch_takes_a_dict_of_arguments():
    got = []
    source = """
    def f(x):
        meta = dict(BLOCK=64, num_warps=2)
        with torch.cuda.device(x.device):
            kernel[(1,)](*x.shape, x, **meta, n=3)
        return x
    """
    walked(source, matrix(), launch=lambda *made: got.append(made))
    assert got[0][1][:2] == (3, 4)
    assert got[0][3] == {"BLOCK": 64, "num_warps": 2, "n": 3}


def test_a_stated_gpu_answers():
    asked = """
    def f(x):
        assert x.is_cuda and x.device == torch.device("cuda", 0) and x.device.type == "cuda"
        device = triton.runtime.driver.active.get_current_device()
        properties = triton.runtime.driver.active.utils.get_device_properties(device)
        assert torch.cuda.is_available(), f"{x.device}: {properties['max_shared_mem']:,} bytes"
        return (
            torch.cuda.get_device_properties(x.device).multi_processor_count,
            torch.cuda.get_device_properties("cuda").name,
            properties["multiprocessor_count"],
            torch.cuda.get_device_capability(torch.cuda.current_device()),
            triton.runtime.driver.active.get_current_target().arch,
            torch.empty(3, device=torch.cuda.current_device()).device == torch.device(0),
            torch.empty(3, device="cuda").device
            == triton.runtime.driver.active.get_active_torch_device(),
        )
    """
    found = walked(asked, matrix())
    assert found == (108, stated_gpu.NAME, 108, (8, 0), gate.TARGET, True, True)
    assert stated_gpu.SHARED_LIMITS[gate.TARGET] == stated_gpu.SHARED_BYTES_OF_A_BLOCK


def test_lists_that_grow_in_each_other_stay_small():
    growing = "def f(x, y):\n    a, b = [], []\n    c = [a] * 900\n    while y:\n        "
    for grow in ("a.append(1)", "a.append(a)", "a.append((a,))", "b.append(c)"):
        assert fault_of(growing + grow).message_id == "launcher_value", grow


def test_a_function_that_ends_without_return_gives_none():
    assert walked("def f(x):\n    y = 1", matrix()) is None


@pytest.mark.parametrize(
    ("made", "like"),
    [
        ("torch.empty(x.shape, device=x.device)", torch.empty(3, 4)),
        ("torch.empty(3, y, device=x.device, dtype=torch.float16)", torch.empty(3, 7).half()),
        ("torch.empty((2,), device=x.device, dtype=torch.float64)", torch.empty(2).double()),
        ("torch.empty(2, device=x.device, dtype=torch.bfloat16)", torch.empty(2).bfloat16()),
        ("torch.empty((), device=x.device)", torch.empty(())),
        ("torch.empty(0, 3, device=x.device)", torch.empty(0, 3)),
        ("torch.empty(5, device=x.device, dtype=torch.int32)", torch.empty(5, dtype=torch.int32)),
        ("torch.empty_like(x)", torch.empty(3, 4)),
        ("torch.empty_like(x.T)", torch.empty(3, 4).T),
        ("torch.empty_like(x, dtype=torch.int64)", torch.empty(3, 4).long()),
        ("torch.empty_like(x.T, memory_format=torch.preserve_format)", torch.empty(3, 4).T),
        ("torch.empty_like(x.T, memory_format=torch.contiguous_format)", torch.empty(4, 3)),
        ("torch.empty(2, device=x.device, memory_format=torch.contiguous_format)", torch.empty(2)),
        ("torch.empty(2, device=x.device, requires_grad=False)", torch.empty(2)),
        ("x.new_empty(2, 2)", torch.empty(2, 2)),
        ("x.new_empty((2, 2), dtype=torch.int8)", torch.empty(2, 2, dtype=torch.int8)),
    ],
)  # fmt: skip
def test_empty_memory_holds_poison(made, like):
    got = value(made)
    assert (got.shape, got.dtype, got.stride()) == (like.shape, like.dtype, like.stride())
    if got.dtype == torch.bfloat16:
        assert got.isnan().all()
        return
    expected = np.full(got.shape, poison(np.dtype(str(got.dtype)[6:])))
    assert got.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("torch.zeros((2, 3), device=x.device)", torch.zeros(2, 3)),
        ("torch.zeros(2, device=x.device, dtype=torch.int32)", torch.zeros(2).int()),
        ("torch.zeros_like(x)", torch.zeros(3, 4)),
        ("torch.ones(2, device=x.device)", torch.ones(2)),
        ("torch.ones_like(x)", torch.ones(3, 4)),
        ("torch.ones_like(x.T, memory_format=torch.contiguous_format)", torch.ones(4, 3)),
        ("torch.full((2,), -math.inf, device=x.device)", torch.full((2,), -math.inf)),
        ("torch.full((2,), 3, device=x.device)", torch.full((2,), 3)),
        ("torch.full((2,), True, device=x.device)", torch.full((2,), True)),
        ("torch.full_like(x, 2.5)", torch.full((3, 4), 2.5)),
        ("torch.full_like(input=x, fill_value=2)", torch.full((3, 4), 2.0)),
        ("x.new_zeros(2)", torch.zeros(2)),
        ("x.new_full((2,), 4)", torch.full((2,), 4.0)),
    ],
)  # fmt: skip
def test_filled_memory_is_as_torch_makes_it(made, expected):
    got = value(made)
    assert torch.equal(got, expected)
    assert got.dtype == expected.dtype


def test_arguments_and_results_are_the_very_tensors():
    x = matrix()
    assert value("x", x) is x
    got = []
    source = """
    def f(x):
        out = torch.empty_like(x)
        kernel[(1, 2)](x, out, x.T, 3, None, n=x.shape[0], flag=True, num_warps=8)
        return out
    """
    out = walked(source, x, launch=lambda *made: got.append(made))
    [(launched, args, grid, named)] = got
    assert launched is kernels.add
    assert args[0] is x
    assert args[1] is out
    assert args[2].untyped_storage().data_ptr() == x.data_ptr()
    assert args[3:] == (3, None)
    assert grid == (1, 2)
    assert named == {"n": 3, "flag": True, "num_warps": 8}


@pytest.mark.parametrize(
    "grid",
    [
        "(triton.cdiv(n, BLOCK),)", "[triton.cdiv(n, BLOCK), 1]",
        "lambda meta: (triton.cdiv(n, meta['BLOCK']),)",
        "lambda META: [triton.cdiv(META['n'], BLOCK)]",
        "functools.partial(lambda size, meta: (triton.cdiv(size, meta['BLOCK']),), n)",
    ],
)  # fmt: skip
def test_every_spelling_of_a_grid_starts_the_same_programs(grid):
    source = f"""
    def f(x, y):
        out = torch.empty_like(x)
        n = x.numel()
        grid = {grid}
        kernel[grid](x, y, out, n, BLOCK=BLOCK)
        return out
    """
    x, y = torch.arange(1000.0), torch.ones(1000)
    made = []
    out = walked(source, x, y, launch=lambda k, a, g, n: made.append(launch(k, a, g, n)))
    assert torch.equal(out, x + 1)
    assert made[0].graded().loads.sectors == 250


def test_a_launch_may_be_spelled_as_a_run():
    source = """
    def f(x, y):
        out = torch.empty_like(x)
        kernel.run(x, y, out, x.numel(), BLOCK=64, grid=(triton.cdiv(x.numel(), 64),), warmup=False)
        return out
    """
    x = torch.arange(300.0)
    assert torch.equal(walked(source, x, x, launch=lambda *made: launch(*made) and None), 2 * x)


def test_a_nested_function_may_be_the_grid():
    source = """
    def f(x, y):
        out = torch.empty_like(x)
        def grid(meta):
            blocks = triton.cdiv(x.numel(), meta["BLOCK"])
            return (blocks,)
        kernel[grid](x, y, out, x.numel(), BLOCK=128)
        return out
    """
    x = torch.arange(300.0)
    assert torch.equal(walked(source, x, x, launch=lambda *made: launch(*made) and None), 2 * x)


def test_descriptors_of_the_host():
    source = """
    def f(x):
        out = torch.empty(x.shape[0], device=x.device)
        tile = TensorDescriptor.from_tensor(x, [16, 32])
        kernel[(x.shape[0] // 16,)](tile, out, x.shape[1], BLOCK_M=16, BLOCK_N=32)
        return out
    """
    x = torch.randn(32, 64)
    for spelled in (source, source.replace(
        ".from_tensor(x, [16, 32])", "(x, shape=x.shape, strides=x.stride(), block_shape=[16, 32])"
    )):  # fmt: skip
        out = walked(
            spelled, x, kernel=kernels.tile_sums, launch=lambda *made: launch(*made) and None
        )
        assert torch.allclose(out, x.sum(1), atol=1e-5)


def test_a_constexpr_of_the_cell_is_its_number():
    assert value("BLOCK + 1", BLOCK=tl.constexpr(16)) == 17


# ---------------------------------------------------------------- what the kernel must do


@pytest.mark.parametrize(
    "work",
    [
        "torch.softmax(x, 1)", "torch.matmul(x, x)", "torch.add(x, x)", "torch.sum(x)",
        "torch.nn.functional.softmax(x)", "torch.einsum('ij->i', x)", "torch.arange(4)",
        "torch.tensor(3)", "torch.where(x, x, x)", "torch.cat((x, x))", "torch.special.expit(x)",
        "torch.ops.aten.add(x, x)", "torch.linalg.norm(x)",
        "x @ x", "x.sum()", "x.softmax(1)", "x.clone()", "x.copy_(x)", "x.item()",
        "x.tolist()", "x.data_ptr()", "x.numpy()", "x.cpu()",
        "x.add_(1)", "x.mm(x)", "x.exp()", "x.matmul", "x.T.sum()", "x[0].max()",
        "x.storage()", "x.apply_(y)", "x.map_(x, y)",
    ],
)  # fmt: skip
def test_work_on_elements_is_rejected_by_its_name_before_anything_runs(work):
    node, _ = tree(f"def f(x, y):\n    if y < 0:\n        y = {work}\n    return x")
    fault = raised(launcher.admit, node, SCOPE)
    assert (fault.outcome, fault.message_id) == (Outcome.REJECTED, "launcher_computes")
    assert fault.line == 3
    assert "the kernel must do the work" in str(fault)
    walked_fault = fault_of(f"def f(x, y):\n    if y > 0:\n        return {work}", admitted=False)
    assert walked_fault.outcome is Outcome.REJECTED
    assert walked_fault.line == 3


@pytest.mark.parametrize(
    "work",
    ["x + 1", "1 - x", "x * x", "-x", "x == x", "x < 3", "not x", "x and y", "1 if x else 2",
     "x ** 2", "x[0] + 1", "y in (x, x)", "bool(x)", "x % 2", "x.sort()",
     "x.to(torch.float16)", "x.half()", "x.bfloat16()", "x.to(x.device, torch.float16)",
     "x.fill_(0)", "x.zero_()", "torch.empty_like(x)[0].zero_()"],
)  # fmt: skip
def test_operators_on_tensors_are_rejected_where_they_are_met(work):
    fault = fault_of(f"def f(x, y):\n    a = 1\n    return {work}")
    assert fault.outcome in (Outcome.REJECTED, Outcome.WRONG_ANSWER)
    assert fault.message_id in ("launcher_computes", "launcher_value")
    assert fault.line == 3


@pytest.mark.parametrize(
    ("asked", "instead"),
    [
        ("x.data", ""), ("x.grad", ""), ("x.layout", ""), ("x.expand(3, 3, 4)", "a stride of 0"),
        ("x.split(2)", "basic slices"), ("x.unbind()", "an index for each"),
        ("torch.numel(x)", "`x.numel(...)`"),
    ],
)  # fmt: skip
def test_what_works_on_no_element_is_not_said_to(asked, instead):
    fault = fault_of(f"def f(x, y):\n    return {asked}")
    assert (fault.outcome, fault.message_id) == (Outcome.REJECTED, "launcher_attribute")
    assert instead in str(fault.fields.get("instead", ""))


@pytest.mark.parametrize(
    "store", ["x[0] = 1", "x[...] = x", "x[0], a = 1, 2", "x[0] += 1", "x += 1"]
)
def test_stores_into_tensors_are_rejected(store):
    fault = fault_of(f"def f(x, y):\n    {store}\n    return x")
    assert (fault.outcome, fault.message_id) == (Outcome.REJECTED, "launcher_computes")
    assert fault.line == 2


def test_what_to_do_instead_is_said():
    assert "allocate with torch.empty_like" in fault_of("x.clone()").fields["instead"]
    assert "convert in the kernel" in fault_of("x.to(torch.float16)").fields["instead"]
    fault = fault_of("torch.empty_lik(x)")
    assert fault.message_id == "launcher_attribute"
    assert "Did you mean `torch.empty_like`?" in next_step(fault.message_id, fault.fields)


def test_a_reshape_that_would_copy_is_refused():
    for copy in ("x.T.reshape(12)", "x.T.view(12)", "x.T.flatten()", "x.T.contiguous()"):
        fault = fault_of(copy)
        assert (fault.outcome, fault.message_id) == (Outcome.REJECTED, "launcher_copies")


# ---------------------------------------------------------------- what is no launcher code


@pytest.mark.parametrize(
    ("body", "message"),
    told_as(
        launcher_syntax=[
            "import os", "from torch import softmax", "global g",
            "try:\n        pass\n    except ValueError:\n        pass",
            "with torch.no_grad() as a:\n        pass", "with torch.empty_like(x):\n        pass",
            "class C:\n        pass", "a = {1, 2}", "a = lambda: (b := 1)",
            "a, *x.b = x.shape", "yield x", "a = f'{y:>3}'", "del x[0]", "x.shape = 3",
            "a = b'bytes'", "a = 1j", "del x.shape",
            "def g(a=print('x')):\n        pass", "def g(a=[]):\n        pass",
            "def g(a: print(1)):\n        pass", "def g() -> print(1):\n        pass",
            "@torch.compile\n    def g():\n        pass", "g = lambda a=print: a",
            "a: (lambda: 1)() = 3", "raise x", "raise ValueError('a') from x",
            "raise SystemExit(0)", "async def g():\n        pass",
        ],
        launcher_name=[
            "with open('x'):\n        pass", "getattr(x, 'sum')()", "eval('1')", "exec('1')",
            "__import__('os')", "open('x')", "globals()", "type(x)", "a = __builtins__",
            "__debug__", "a = [open(i) for i in ('x',)]", "python_function(x)", "an_array[0]",
        ],
        launcher_attribute=[
            "assert y, f'{y.__class__}'", "x.__class__", "x._base", "torch.__builtins__",
            "torch.os.system('true')", "torch.load('x')", "torch.hub", "triton.testing",
            "tl.arange(0, 4)", "math.lgamma(y)", "kernel.fn(x)", "kernel.fn.run(x)",
            "kernel.warmup(x)", "'{0.__class__}'.format(x)", "'a'.join(('b', 'c'))", "(1, 2).pop()",
            "x.registr_hook(y)", "a = [i for i in (1, 2) if i.__class__]", "torch.cuda.memory",
            "torch.cuda.set_device(0)", "triton.runtime.jit",
            "triton.runtime.driver.active.launcher_cls",
        ],
        undefined_name=["other(x)"],
        missing_import=["np.sum(x)"],
        launcher_computes=["a = sum(x.sum() for i in (1, 2))", "a = {x.exp(): 1}"],
        launcher_keeps=["held[y] = x", "kept.append(x)"],
    ),
)  # fmt: skip
@pytest.mark.parametrize("reached", [True, False])
def test_what_is_no_launcher_code_is_refused_with_its_line(body, message, reached):
    if not reached:
        indented = body.replace("\n", "\n    ")
        body = f"if y < 0:\n        {indented}"
    fault = fault_of(
        f"def f(x, y):\n    {body}\n    return x",
        python_function=lambda x: x,
        an_array=np.zeros(3),
        held={},
        kept=[],
    )
    assert (fault.outcome, fault.message_id) == (Outcome.REJECTED, message)
    assert fault.line == (2 if reached else 3)


@pytest.mark.parametrize("pattern", ["int()", "{'a': 1}", "[1, *more]", "y.sum()", "1 | str()"])
def test_a_case_that_is_not_listed_is_refused_with_its_line(pattern):
    source = f"def f(x, y):\n    match y:\n        case {pattern}:\n            return x"
    fault = fault_of(source)
    assert (fault.outcome, fault.message_id) == (Outcome.REJECTED, "launcher_syntax")
    assert fault.line == 3


@pytest.mark.parametrize("name", ["torch", "triton", "tl", "math", "TensorDescriptor"])
def test_a_forgotten_import_is_named(name):
    node, _ = tree(f"{name}.x")
    fault = raised(launcher.admit, node, {})
    assert fault.message_id == "missing_import"
    assert name in str(fault.fields["imported"])


def test_helper_functions_are_held_to_the_list_too():
    fault = fault_of("def g(x):\n    return x.sum()\ndef f(x, y):\n    return g(x)")
    assert (fault.message_id, fault.line) == ("launcher_computes", 2)


def test_the_walker_itself_refuses_what_admission_refuses():
    for body in (
        "global g", "a = {i for i in (1,)}", "x.__class__", "getattr(x, 'sum')", "a = {1}",
        "x[0] = 1", "torch.os.system('true')", "python_function(x)",
        "try:\n  a = 1\n finally:\n  a",
        "import os", "a = f'{y:>3}'", "max(*x)", "x.shape = 1", "with x:\n  pass",
        "class C:\n  pass", "del x[0]", "match x:\n  case int():\n   pass", "raise x",
        "kernel.fn", "b'a'", "kernel[(1,)](x, **y)",
    ):  # fmt: skip
        fault = fault_of(
            f"def f(x, y):\n {body}\n return x", admitted=False, python_function=lambda x: x
        )
        assert fault.outcome is Outcome.REJECTED or fault.message_id == "launcher_value", body


def test_a_local_name_does_not_open_a_module():
    fault = fault_of("def f(x, y):\n    torch = x\n    return torch.softmax(1)")
    assert fault.message_id == "launcher_computes"
    fault = fault_of("def f(x, y):\n    t = torch\n    return t.os")
    assert (fault.outcome, fault.line) == (Outcome.REJECTED, 3)
    fault = fault_of("def f(x, y):\n    e = torch.empty_like\n    return e.__globals__")
    assert (fault.outcome, fault.line) == (Outcome.REJECTED, 3)


# ---------------------------------------------------------------- what cannot go on


@pytest.mark.parametrize(
    ("expression", "message"),
    told_as(
        launcher_index=["x.shape[2]", "(1, 2)[-3]"],
        launcher_value=[
            "(1, 2)['a']", "{'a': 1}['b']", "{[]: 1}", "torch.cuda.get_device_properties(1)",
            "torch.finfo(3)", "(1, 2)[1.0]", "y[0]", "y / 0", "y % 0", "triton.cdiv(y, 0)",
            "triton.cdiv(y)", "2.0 ** 5000", "len(range(10 ** 30))", "y + None", "y < 'a'",
            "math.sqrt(-1)", "math.exp(10000)", "math.log(0)", "math.sqrt()", "int(math.inf)",
            "round(1.5, 10 ** 9)", "range(0, 5, 0)", "range(1.5)", "min()", "max(())", "y()",
            "y.shape", "None.shape", "x.view(5, 5)", "x.view(-1, -1)", "x.view(-2, 6)",
            "x.view(0, -1)", "x.view(-1)[12]", "x.view(3, 2, 2).T", "x.permute(0)",
            "x[:, :3].view(torch.float64)", "x.T.view(torch.int16)",
            "x.permute(0, 0)", "x.transpose(0)", "x.transpose(0, 9)", "x.unsqueeze(9)",
            "x.flatten(1, 0)", "x[3]", "x[0, 0, 0]", "x[::-1]", "x.stride(2)", "x.stride(0.0)",
            "x.size(dim=5)", "torch.empty((2, -1), device=x.device)",
            "torch.empty(2.0, device=x.device)", "torch.empty(device=x.device)",
            "torch.empty(2, device=x.device, dtype='float32')", "torch.empty_like(3)",
            "torch.full((2,), x, device=x.device)", "torch.full((2,), device=x.device)",
            "torch.full((2,), 10 ** 30, device=x.device)", "torch.float32(3)", "torch(3)",
            "TensorDescriptor.from_tensor(x)", "TensorDescriptor.from_tensor(3, [4, 4])",
            "TensorDescriptor.from_tensor(x, [4])", "TensorDescriptor.from_tensor(x, [3, 5])",
            "TensorDescriptor.from_tensor(x.T, [4, 4])",
            "TensorDescriptor.from_tensor(x, [4, 4], x)",
            "TensorDescriptor(x, [3, 4], [4, 1], [4, 4], colour=1)",
        ],
        launcher_device=["torch.empty(2, 2)", "torch.empty_like(x, device='cpu')"],
        launcher_arguments=[
            "(lambda a: a)()", "(lambda a: a)(1, 2)", "(lambda a: a)(1, a=2)", "(lambda a: a)(b=2)",
        ],
    ),
)  # fmt: skip
def test_an_error_of_pythons_is_told_as_the_launchers_own(expression, message):
    fault = fault_of(f"def f(x, y):\n    a = 1\n    return {expression}")
    assert (fault.outcome, fault.message_id) == (Outcome.WRONG_ANSWER, message)
    assert fault.line == 3


@pytest.mark.parametrize(
    ("expression", "message"),
    told_as(
        launcher_value=[
            "{x: 1}", "[0 for a in range(99) for b in range(99)]", "[[0] * 99 for a in range(99)]",
            "list(enumerate(range(10 ** 9)))", "list(zip(range(10 ** 9), x.shape))",
            "torch.device('cpu')", "triton.cdiv(y, 2.0)", "triton.next_power_of_2(-1)",
            "2 ** 10 ** 10", "10 ** 3000", "1 << 10 ** 9", "(-8) ** 0.5", "(1,) * 10 ** 9",
            "tuple(range(10 ** 9))", "'a' * 10 ** 9", "'a' + 'b'", "'%s' % x.shape[0]",
            "max(1, 2, key=abs, default=3)", "functools.partial(torch.empty, 3)",
            "x.view(2 ** 70)", "x[x]",
            "x[[0, 1]]", "x[1.5]", "x[True]", "x[10 ** 30]", "x.numel(1)",
            "torch.empty(2, device=x.device, out=x)",
            "torch.empty(2, device=x.device, pin_memory=True)",
            "torch.empty((1,) * 9, device=x.device)", "math.factorial(10 ** 6)",
            "math.comb(10 ** 6, 10 ** 5)", "math.perm(10 ** 9, 10 ** 4)",
        ],
        launcher_memory=[
            "torch.empty(1 << 40, device=x.device)", "torch.empty(10 ** 30, device=x.device)",
        ],
    ),
)  # fmt: skip
def test_what_python_works_out_and_the_walk_does_not_is_rejected(expression, message):
    fault = fault_of(f"def f(x, y):\n    a = 1\n    return {expression}")
    assert (fault.outcome, fault.message_id) == (Outcome.REJECTED, message)
    assert fault.line == 3


@pytest.mark.parametrize(
    ("body", "outcome", "message", "line"),
    [
        ("M, K, L = x.shape", "WRONG_ANSWER", "launcher_unpack", 2),
        ("M, K = y", "WRONG_ANSWER", "launcher_value", 2),
        ("a, b = torch.empty((10**9, 0), device='cuda')", "REJECTED", "launcher_value", 2),
        ("for i in x:\n        pass", "REJECTED", "launcher_computes", 2),
        ("a = [i for i in x]", "REJECTED", "launcher_computes", 2),
        ("return sum(x)", "REJECTED", "launcher_computes", 2),
        ("return max(x, x)", "REJECTED", "launcher_computes", 2),
        ("a = b\n    b = 1", "WRONG_ANSWER", "unassigned_name", 2),
        ("BLOCK = BLOCK * 2", "WRONG_ANSWER", "unassigned_name", 2),
        ("def f(x):\n    return x", "WRONG_ANSWER", "launcher_arguments", 1),
        ("def f(x, y, z):\n    return x", "WRONG_ANSWER", "launcher_arguments", 1),
        ("assert y == 8, f'{y} of {x.shape}'", "WRONG_ANSWER", "launcher_assert", 2),
        ("assert y == 8", "WRONG_ANSWER", "launcher_assert", 2),
        ("raise ValueError(f'why {y}')", "WRONG_ANSWER", "launcher_raises", 2),
        ("raise NotImplementedError", "WRONG_ANSWER", "launcher_raises", 2),
        ("while True:\n        y = 1", "TIMED_OUT", "launcher_timed_out", 2),
        ("while True:\n        pass", "TIMED_OUT", "launcher_timed_out", 2),
        ("for i in range(10 ** 12):\n        y = i", "TIMED_OUT", "launcher_timed_out", 2),
        ("while True:\n        for i in range(9):\n            y = i", "TIMED_OUT",
         "launcher_timed_out", 2),
        ("for i in range(10 ** 4):\n        kernel[(1,)](x)", "TIMED_OUT", "launcher_timed_out", 2),
        ("return f(x, y)", "REJECTED", "launcher_recursion", 2),
        ("g = lambda a: g(a)\n    return g(1)", "REJECTED", "launcher_recursion", 2),
        ("kernel(x)", "REJECTED", "launcher_no_grid", 2),
        ("kernel.run(x)", "REJECTED", "launcher_no_grid", 2),
        ("kernel.run(x, grid=(1,), warmup=True)", "REJECTED", "launcher_no_grid", 2),
        ("kernel.run(x, grid=(1,))", "WRONG_ANSWER", "launcher_value", 2),
        ("torch.empty(2, dtype=torch.float8_e5m2, device='cuda')", "REJECTED", "launcher_value", 2),
        ("torch.empty(2, memory_format=torch.preserve_format, device='cuda')", "WRONG_ANSWER",
         "launcher_value", 2),
        ("torch.empty(2, requires_grad=True, device='cuda')", "REJECTED", "launcher_value", 2),
        ("t = (1, 1)\n    while y:\n        t = (t, t)", "REJECTED", "launcher_value", 4),
        ("t = 1\n    while y:\n        t = (t,)", "REJECTED", "launcher_value", 4),
        ("t = (1, 1)\n    while y:\n        t += ((t, t),)", "REJECTED", "launcher_value", 4),
        ("kernel[(1,)](x, n=3, extern_libs='/x')", "REJECTED", "launcher_option", 2),
        ("kernel[(1,)](x, n=3, debug=True)", "REJECTED", "launcher_option", 2),
        ("kernel[0.5](x)", "REJECTED", "tile_grid", 2),
        ("kernel[()](x)", "REJECTED", "tile_grid", 2),
        ("kernel[(1, 1, 1, 1)](x)", "REJECTED", "tile_grid", 2),
        ("kernel[x](x)", "REJECTED", "tile_grid", 2),
        ("kernel[(1,)](x, torch)", "WRONG_ANSWER", "launcher_value", 2),
        ("kernel[(1,)](x, torch.float32)", "WRONG_ANSWER", "launcher_value", 2),
        ("kernel[(1,)](x, g=lambda: 1)", "WRONG_ANSWER", "launcher_value", 2),
        ("for i in range(99):\n        a = torch.zeros(1 << 22, device=x.device)", "REJECTED",
         "launcher_memory", 3),
    ],
)  # fmt: skip
def test_a_launcher_that_cannot_go_on_is_a_fault_with_its_line(body, outcome, message, line):
    source = body if "def f" in body else f"def f(x, y):\n    {body}"
    fault = fault_of(source, f=tree(source)[0])
    assert (fault.outcome, fault.message_id) == (Outcome[outcome], message)
    assert line in (fault.line, None)


def test_an_assertion_is_shown_with_its_values():
    fault = fault_of("def f(x, y):\n    assert y == 8, f'{y} of {x.shape}'")
    assert str(fault) == (
        "WRONG_ANSWER: line 2: The launcher's own assertion fails: `y == 8`: 7 of (3, 4)."
    )


def test_memory_is_bounded_over_the_whole_call():
    assert value("torch.zeros(4, device=x.device)").numel() == 4
    assert fault_of(f"torch.empty({MOST_BYTES}, device=x.device)").fields["limit"] == MOST_BYTES


def test_more_programs_than_there_are_elements_are_not_run_in_a_check():
    x, y, out = torch.ones(5000), torch.ones(5000), torch.zeros(5000)
    args, named = (x, y, out, 5000), {"BLOCK": 1}
    launch(kernels.add, args, (15_000,), named, step_limit=1000)
    assert (out == 2).all()
    fault = raised(launch, kernels.add, args, (15_001,), named, step_limit=1000)
    assert (fault.outcome, fault.message_id) == (Outcome.TIMED_OUT, "tile_idle_programs")
    assert (fault.fields["programs"], fault.fields["elements"]) == (15_001, 15_000)


def test_faults_of_a_launch_get_the_line_of_the_launch():
    source = """
    def f(x, y):
        out = torch.empty_like(x)
        kernel[{grid}](x, x, out, x.numel(){more})
        return out
    """
    for grid, more, message in (
        ("(0,)", ", BLOCK=4", "tile_zero_grid"),
        ("lambda meta: (meta['BLOK'],)", ", BLOCK=4", "tile_grid_name"),
        ("lambda meta: 1.5", ", BLOCK=4", "tile_grid"),
    ):
        fault = raised(walked, source.format(grid=grid, more=more), matrix(), 7, launch=launch)
        assert (fault.message_id, fault.line) == (message, 4)


def test_a_fault_in_the_kernel_keeps_its_own_line():
    source = """
    def f(x, y):
        out = torch.empty(2, device=x.device)
        kernel[(1,)](x, x, out, x.numel(), BLOCK=16)
    """
    fault = raised(walked, source, matrix(), 7, launch=launch)
    assert fault.message_id == "tile_out_of_bounds"
    assert fault.line > 10


# ---------------------------------------------------------------- what students write

WRITTEN = {
    "a shape taken apart": """
        def f(x, y):
            *rows, N = x.shape
            first, *rest = rows
            (M, *none), [K] = x.shape[:1], x.shape[1:]
            return rows, N, first, rest, M, none, K
    """,
    "defaults": """
        def tile(n, size=64, dtype=torch.float16, *, warps=4):
            return n // size, dtype, warps
        def f(x, y, width: int = 3, *more, **named):
            torch_, BLOCK = x, 128
            return tile(256), tile(256, 32), tile(256, warps=8), width, more, named, BLOCK
    """,
    "a table of configurations": """
        def f(x, y):
            tables = {torch.float32: dict(B=64, num_warps=4), torch.float16: {"B": 128}}
            chosen = dict(tables[x.dtype])
            chosen["num_warps"] = 8 if x.shape[1] > 64 else 4
            name = f"{chosen['B']}x{x.shape[0]}"
            return chosen, {"64x3": "small"}.get(name, "large"), tables[x.dtype]
    """,
    "a search for a size": """
        def f(x, y):
            assert x.is_contiguous() and x.dtype in {torch.float32}, f"{x.shape=}, {y:>4}"
            for size in (256, 128, 64, 4):
                if x.numel() % size == 0:
                    break
            else:
                return None
            width = 16
            while width < y or width < x.shape[1]:
                width *= 2
            size += 0; width -= 0
            return size, width, next(n for n in (1, 2, 4, 8, 16) if n * y > 20)
    """,
    "an early return": """
        def f(x, y):
            if x.numel() == 12 and not y == 8:
                return "early"
            return "late"
    """,
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_students_write_does_what_python_does(name):
    source = textwrap.dedent(WRITTEN[name])
    python = dict(LIVE)
    exec(source, python)
    assert walked(source, matrix(), 7) == python["f"](matrix(), 7)


def test_a_default_is_the_constant_of_its_time():
    from course.engine.cell.triton import read_cell

    cell = read_cell("N = 4\ndef f(x, n=N, *, k=N):\n    N = 9\n    return n, k, N\nN = 8\n")
    assert launcher.call(cell.launchers["f"], cell.names, [1], None) == (4, 4, 9)


@pytest.mark.parametrize(
    "expression",
    [
        "{1, 2}", "len({1, 2})", "{1, 2} in (1,)", "{1, 2} == {1, 2}", "f'{x.__class__}'",
        "f'{y:>999999999}'", "f'{y!r}'", "next((1, 2))", "next(n for n in ())",
        "min((1, 2), key=y)", "min((), key=lambda n: n)", "(1, 2).__class__", "x.data_ptr()",
        "x.mT.__class__", "dict([(1, 2, 3)])", "'a' * 10**9", "1 << 10**9", "10**10**10",
        "[0] * 10**9", "sorted(range(10**9), reverse=True)", "x.narrow(0, 1)", "x.ravel(3)",
    ],
)  # fmt: skip
def test_what_is_beyond_the_closed_table_is_refused(expression):
    fault_of(expression)


def test_defaults_that_could_be_changed_or_computed_are_refused():
    for default in ("[]", "{}", "x.T", "torch.empty", "torch.empty(3)", "(1, [2])"):
        fault = fault_of(f"def f(x, y, z={default}):\n    return z")
        assert fault.message_id in ("launcher_syntax", "undefined_name"), default
