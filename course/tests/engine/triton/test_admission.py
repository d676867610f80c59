"""A kernel of a check is made of listed things alone; what it may name, the engine runs."""

import ast
import inspect
import textwrap

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

from course.engine.cell import operations
from course.engine.cell.admission import admit_kernel
from course.engine.cell.namespaces import PATHS
from course.engine.faults import Outcome
from course.engine.launcher import Ref
from course.engine.triton.compiling.functions import code_of
from course.engine.triton.launch import launch
from course.tests.engine.faults import raised
from course.tests.engine.triton import cases, kernels, launchers, test_control, test_language
from course.words.sentences import WORDS, next_step, sentence

NAMES = {
    "tl": Ref("tl"),
    "triton": Ref("triton"),
    "math": Ref("math"),
    "torch": Ref("torch"),
    "arange": Ref("tl.arange"),
    "BLOCK": 64,
    "NAME": "relu",
    "SCALE": tl.constexpr(2.0),
    "helper": kernels.add,
    "launcher": ast.parse("def launcher(x):\n    return x").body[0],
}


def admit(body, **names):
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    source = f"def kernel(x, y, out, n, SIZE: tl.constexpr):\n    at = 0\n{lines}\n"
    node = ast.parse(source).body[0]
    admit_kernel(node, NAMES | names)


def fault_of(body, **names):
    fault = raised(admit, body, **names)
    assert fault.outcome is Outcome.REJECTED
    assert fault.message_id in WORDS
    for text in (
        sentence(fault.message_id, fault.fields),
        next_step(fault.message_id, fault.fields),
    ):
        assert "(not known)" not in text
    return fault


def jitted(module):
    return [
        pytest.param(module, node, id=node.name)
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.FunctionDef)
        and any("jit" in ast.unparse(d) for d in node.decorator_list)
    ]


@pytest.mark.parametrize(
    ("module", "node"),
    [*jitted(kernels), *jitted(launchers), *jitted(test_control), *jitted(cases)],
)
def test_kernels_of_the_course_are_admitted(module, node):
    named = {
        name: Ref({"libdevice": "tl.extra.libdevice"}.get(name, name))
        if inspect.ismodule(value)
        else value
        for name, value in vars(module).items()
    }
    admit_kernel(node, {"tl": Ref("tl")} | named)


@pytest.mark.parametrize(
    "body",
    [
        "rows = tl.program_id(0) * BLOCK + tl.arange(0, SIZE)[:, None]",
        "a, b = tl.load(x + at), 0",
        "for i in range(0, n, SIZE):\n    at += i\n    if at > 3:\n        at = tl.cdiv(at, 2)",
        "for i in tl.static_range(4):\n    pass",
        "for i in tl.range(0, n, num_stages=2):\n    pass",
        "while at < n:\n    at *= 2",
        "v: tl.constexpr = SIZE * 2",
        "v: tl.constexpr = 'relu'",
        "if NAME == 'relu':\n    at = 1\nelif SIZE is None:\n    return",
        "tl.store(out + at, tl.load(x, eviction_policy='evict_last').to(tl.float16))",
        "tl.device_print('at', at)",
        "print('at', at)",
        "assert n > 0, 'none'",
        "tl.static_assert(SIZE > 1, 'too small')",
        "tl.static_assert(SIZE > 1, f'{SIZE} is\\n too small for {3!r}')",
        "assert n > 0, f'none of {SIZE}'",
        "v = tl.dot(x, y, input_precision='ieee').to(out.dtype.element_ty).T",
        "v = x.type.element_ty.primitive_bitwidth, tl.float32.primitive_bitwidth",
        "v = tl.math.exp2(x) + tl.extra.cuda.libdevice.tanh(y) + tl.extra.libdevice.pow(x, y)",
        "v = tl.sum(x, axis=0) if SIZE > 2 else x.sum(0)",
        "v = tl.reduce(x, 0, helper)",
        "v = helper(x, y, out, n, BLOCK=4)",
        "v = arange(0, 4) * math.pi + triton.cdiv(3, 4) + triton.next_power_of_2(5)",
        "v = min(n, 4) + max(n, 3) + int(SIZE) + float('inf') + len(x.shape)",
        "v = not (x < y) and -x or ~y",
        "v = tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)",
        "v = triton.language.exp(x)",
        "_ = tl.full((SIZE,), -float('inf'), tl.float32)",
        "break_ = SCALE.value + 2 ** 3 - 5 // 2 % 2 << 1 >> 1 & 1 | 1 ^ 1",
        "...",
        "'a docstring'",
        "pass",
        "tl = 3\nat = tl",
    ],
)
def test_kernel_code_is_admitted(body):
    admit(body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("import os", "rejected_syntax"),
        ("from os import path", "rejected_syntax"),
        ("global g", "rejected_syntax"),
        ("def g():\n    pass", "rejected_syntax"),
        ("class C:\n    pass", "rejected_syntax"),
        ("try:\n    pass\nfinally:\n    pass", "rejected_syntax"),
        ("with x:\n    pass", "rejected_syntax"),
        ("raise ValueError", "rejected_syntax"),
        ("del x", "rejected_syntax"),
        ("v = lambda: 1", "rejected_syntax"),
        ("v = [i for i in (1, 2)]", "rejected_syntax"),
        ("v = tl.load(i for i in x)", "rejected_syntax"),
        ("v = (w := 3)", "rejected_syntax"),
        ("v = {}", "rejected_syntax"),
        ("v = {1}", "rejected_syntax"),
        ("v = f'{x}'", "rejected_syntax"),
        ("tl.static_assert(SIZE > 1, f'{SIZE:>9}')", "rejected_syntax"),
        ("tl.static_assert(SIZE > 1, f'{[SIZE for _ in x]}')", "rejected_syntax"),
        ("v = f'{SIZE}{SIZE}'", "rejected_syntax"),
        ("helper(f'{SIZE}{SIZE}')", "rejected_syntax"),
        ("v = 'a' + 'b'", "rejected_syntax"),
        ("v = 'a'", "rejected_syntax"),
        ("v = 'a%s' % SIZE", "rejected_syntax"),
        ("v = ('a', 'b')", "rejected_syntax"),
        ("v = b'a'", "rejected_syntax"),
        ("v = 1j", "rejected_syntax"),
        ("v = tl.load(*x)", "rejected_syntax"),
        ("v = tl.load(**x)", "rejected_syntax"),
        ("v = x @ y", "rejected_syntax"),
        ("x @= y", "rejected_syntax"),
        ("yield x", "rejected_syntax"),
        ("for i in range(3):\n    pass\nelse:\n    pass", "rejected_syntax"),
        ("match n:\n    case 1:\n        pass", "rejected_syntax"),
        ("v = 'a'.format(x)", "rejected_syntax"),
        ("v = '{0.__class__}'.format(x)", "rejected_syntax"),
        ("v = x.__class__", "tile_attribute"),
        ("v = x._semantic", "tile_attribute"),
        ("v = tl.__builtins__", "tile_attribute"),
        ("v = tl.core", "tile_attribute"),
        ("v = tl.core.os", "tile_attribute"),
        ("v = tl.standard", "tile_attribute"),
        ("v = tl.inline_asm_elementwise('', '', [x], tl.int32, True, 1)", "tile_attribute"),
        ("v = tl.map_elementwise(helper, x)", "tile_attribute"),
        ("v = tl.extra", "tile_attribute"),
        ("v = tl.extra.cuda.globaltimer()", "tile_attribute"),
        ("v = tl.extra.cuda.libdevice.clz(x)", "tile_attribute"),
        ("v = tl.math.core", "tile_attribute"),
        ("v = tl.math", "tile_attribute"),
        ("v = tl.tensor", "tile_attribute"),
        ("v = tl.target_info", "tile_attribute"),
        ("v = torch.softmax(x)", "tile_attribute"),
        ("v = torch.float32", "tile_attribute"),
        ("v = math.sqrt(x)", "tile_attribute"),
        ("v = triton.runtime.driver", "tile_attribute"),
        ("v = helper.fn", "tile_attribute"),
        ("v = helper.run(x)", "tile_attribute"),
        ("v = x.handle", "tile_attribute"),
        ("v = x.mean()", "tile_attribute"),
        ("v = SCALE.value.real", "tile_attribute"),
        ("v = tl.float32.to_ir", "tile_attribute"),
        ("v = tl.load.fn", "tile_attribute"),
        ("x.shape = 3", "tile_attribute"),
        ("v = (x + y).data", "tile_attribute"),
        ("v = tl\nw = v.load(x).inline_asm_elementwise", "rejected_name"),
        ("v = tl", "rejected_name"),
        ("helper(torch)", "rejected_name"),
        ("v = tl.load(x, _semantic=y)", "rejected_name"),
        ("__v = 1", "rejected_name"),
        ("v = eval('1')", "rejected_attribute"),
        ("v = getattr(x, 'T')", "rejected_attribute"),
        ("v = __import__('os')", "rejected_attribute"),
        ("v = __builtins__", "rejected_attribute"),
        ("v = isinstance(x, int)", "rejected_attribute"),
        ("v = type(x)", "rejected_attribute"),
        ("v = sum(x)", "missing_prefix"),
        ("v = TPB", "undefined_name"),
        ("v = program_id(0)", "missing_prefix"),
        ("v = launcher(x)", "triton_foreign_call"),
    ],
)
@pytest.mark.parametrize("reached", [True, False])
def test_what_is_no_kernel_code_is_refused_with_its_line(body, message, reached):
    if not reached:
        body = "if SIZE > 5:\n" + textwrap.indent(body, "    ")
    fault = fault_of(body)
    assert fault.message_id == message
    if message != "rejected_name":
        assert fault.line == (3 if reached else 4)


def test_a_forgotten_import_is_named():
    node = ast.parse("def kernel(x):\n    tl.store(x, 1)").body[0]
    fault = raised(admit_kernel, node, {})
    assert str(fault) == "REJECTED: line 2: `tl` is not defined in this cell."
    assert fault.fields["imported"] == "import triton.language as tl"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("v = tl.arrange(0, 4)", "Did you mean `tl.arange`?"),
        ("v = tl.matmul(x, y)", "Instead: tl.dot."),
        ("v = tl.tanh(x)", "Instead: 2 * tl.sigmoid(2 * x) - 1."),
        ("v = torch.exp(x)", "Instead: `tl.exp`: torch works on the host."),
        ("v = x.dot(y)", "Instead: `tl.dot(...)`."),
        ("v = x.stride(0)", "Instead: pass the strides as parameters."),
        ("v = x.shap", "Did you mean `shape`?"),
        ("v = sum(x)", "Did you mean `tl.sum`?"),
        ("v = zip(x, y)", "Instead: a `for` over a range."),
        ("v = arrange(0, 4)", ""),
        ("v = tl.extra.libdevice.fast_sinf(x)", "Instead: `tl.sin`."),
        ("v = tl.extra.cuda.libdevice.__expf(x)", "Instead: `tl.exp`."),
        ("v = tl.rsqrtf(x)", "Instead: `tl.rsqrt`."),
        ("v = tl.extra.libdevice.fast_tanhf(x)", "Instead: `tl.extra.libdevice.tanh`."),
        ("v = tl.extra.libdevice.fast_dividef(x, y)", "Instead: `x / y`."),
        ("v = tl.extra.libdevice.__fsqrt_rn(x)", "Instead: `tl.sqrt`."),
        ("v = rsqrtf(x)", "Instead: `tl.rsqrt`."),
        ("v = __expf(x)", "Instead: `tl.exp`."),
    ],
)
def test_what_was_meant_is_said(body, said):
    fault = fault_of(body)
    assert said in next_step(fault.message_id, fault.fields)


def test_every_listed_operation_is_one_of_triton_s():
    gone_or_new = {"squeeze", "unsqueeze", "make_block_ptr", "advance", "to_tensor", "add", "mul"}
    gone_or_new |= {"sub", "float8e4b8", "float8e5b16", "float8e4b15", "topk"}
    assert {name for name in operations.OPERATIONS if not hasattr(tl, name)} <= gone_or_new
    assert all(hasattr(tl.math, name) for name in operations.MATHEMATICS)
    assert all(hasattr(libdevice, name) for name in operations.LIBDEVICE)


def test_no_listed_path_leads_out_of_the_language():
    for path in PATHS:
        assert "__" not in path
        assert not any(part in ("core", "standard", "os", "sys") for part in path.split("."))
    assert "inline_asm_elementwise" not in operations.OPERATIONS
    assert not {"fn", "run", "handle", "format", "real"} & operations.ATTRIBUTES


@pytest.mark.parametrize("name", sorted(operations.LIBDEVICE))
def test_the_engine_runs_every_listed_library_function(name):
    arity = 2 if name in ("atan2", "pow", "fmod", "hypot", "copysign") else 1
    function = getattr(libdevice, name)
    x, out = torch.full((16,), 1.5 if name == "acosh" else 0.5), torch.zeros(16)

    @triton.jit
    def unary(x, out, function: tl.constexpr):
        at = tl.arange(0, 16)
        tl.store(out + at, function(tl.load(x + at)))

    @triton.jit
    def binary(x, out, function: tl.constexpr):
        at = tl.arange(0, 16)
        tl.store(out + at, function(tl.load(x + at), tl.load(x + at)))

    launch(unary if arity == 1 else binary, (x, out), (1,), {"function": function})
    torch_names = {"fmod": "fmod", "rint": "round", "pow": "pow", "cbrt": None, "isnan": "isnan"}
    expected = getattr(torch, torch_names.get(name, name) or "", None)
    if expected is not None and name != "round":
        assert torch.allclose(out, expected(*[x] * arity).float(), atol=1e-6)


def test_kernels_that_the_engine_s_own_tests_run_use_listed_operations():
    used = set()
    for value in vars(test_language).values():
        if isinstance(value, triton.JITFunction):
            for statement in code_of(value).body:
                used |= {
                    node.attr
                    for node in ast.walk(statement)
                    if isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Name)
                    and node.value.id == "tl"
                }
    assert used <= operations.OPERATIONS | {"float16", "float32", "float64", "bfloat16", "math"} | {
        f"{sign}int{bits}" for sign in ("", "u") for bits in (1, 8, 16, 32, 64)
    }
