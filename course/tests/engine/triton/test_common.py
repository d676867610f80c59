"""Kernels of common operations: the compiler takes them, and no others count."""

from collections.abc import Iterator

import pytest
import torch
import triton
import triton.language as tl

from course.engine.faults import KernelFault
from course.engine.triton.compiling import common, compiler, gate, workplace
from course.engine.triton.compiling.common import LOWERED, LOWERED_TARGETS, OPERATIONS
from course.engine.triton.compiling.lowering import Form, Lowered
from course.engine.triton.compiling.specialisation import Source, source_of
from course.tests.engine.triton.versions import WRITES_CV


@triton.jit
def _halved(x):
    return x * 0.5


@triton.jit
def _all_of_them(x_ptr, i_ptr, out_ptr, n, eps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) + tl.num_programs(0) - 1
    inside = (at < n) & (at >= 0) | (at == -1)
    x = tl.load(x_ptr + at, mask=inside, other=0.0, eviction_policy="evict_last")
    i = tl.load(i_ptr + at, mask=inside, other=0, cache_modifier=".cg")
    wide, f = i.to(tl.int32), x.to(tl.float32)
    wide = (wide // 3) % 7 ^ (wide - 1) * 2 | tl.maximum(wide, 3) & tl.minimum(wide, 9)
    wide += (wide > 2).to(tl.int32) + f.to(tl.int32)
    f = tl.exp(f) + tl.exp2(f) + tl.log(f) + tl.log2(f) + tl.sqrt(f) + tl.rsqrt(f)
    f += tl.sin(f) + tl.cos(f) + tl.abs(f) - f / 3.0 + wide.to(tl.float32)
    f = tl.where(f > eps, tl.maximum(f, x), tl.minimum(f, 2.0))
    x = tl.maximum(x, x * x) - x / (x + x)
    total = tl.sum(f, axis=0)
    square = tl.sum(f[:, None] + tl.arange(0, 4)[None, :], axis=1)
    for k in range(n):
        total += _halved(tl.max(x.to(tl.float32), axis=0)) + k
    if n > 5:
        total *= 2.0
    while total > eps:
        total -= 1.0
    out = (square + total).to(tl.float16) + x.to(tl.float16)
    tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty), mask=inside, cache_modifier=".cs")
    tl.store(i_ptr + at, wide.to(tl.int8), mask=inside)


@triton.jit
def _lowered_too(x_ptr, i_ptr, out_ptr, SIDE: tl.constexpr, BRANCHES: tl.constexpr):
    if BRANCHES and tl.load(i_ptr) > 3:
        return
    rows, columns = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    x = tl.load(x_ptr + rows * SIDE + columns)
    i = tl.load(i_ptr + tl.arange(0, SIDE))
    bits = i.to(tl.uint8, bitcast=True)
    shifted = ((i << 2) >> 1) + (bits >> 4).to(tl.int8)
    product = tl.dot(x, tl.trans(x)) + bits.to(tl.float32)[:, None]
    product += tl.dot(x, x, input_precision="ieee") + tl.erf(product)
    product += tl.cumsum(shifted.to(tl.int32), axis=0)[None, :]
    product = tl.reshape(product, (SIDE // 2, SIDE * 2))
    at = tl.arange(0, SIDE // 2)[:, None] * (SIDE * 2) + tl.arange(0, SIDE * 2)[None, :]
    tl.store(out_ptr + at, product.to(out_ptr.dtype.element_ty))


@triton.jit
def _product(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.dot(x, x))


@triton.jit
def _copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def _added(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def _left_out(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    x.to(tl.bfloat16)
    tl.store(out_ptr + at, x)


def _lowered(kernel: object, *args: object, **named: object) -> Lowered:
    return gate.lower(source_of(kernel, args, named), gate.TARGET, Form.COMPILED)


@pytest.mark.parametrize("element", [torch.float32, torch.float16])
@pytest.mark.parametrize("n", [64, 37])
def test_what_is_common_is_taken_for_every_target(element: torch.dtype, n: int) -> None:
    x = torch.zeros(256, dtype=element)
    args = x, torch.zeros(256, dtype=torch.int8), torch.zeros(256, dtype=element), n, 0.5
    assert _lowered(_all_of_them, *args, BLOCK=64).common
    for target in (gate.TARGET, *gate.OTHER_TARGETS):
        for warps in (1, 4, 8):
            named = {"BLOCK": 64, "num_warps": warps}
            assert gate.compile_for(_all_of_them, args, named, target).target == target


@pytest.mark.slow
def test_no_operation_is_on_the_list_that_no_kernel_here_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = torch.zeros(256)
    args = x, torch.zeros(256, dtype=torch.int8), x, 64, 0.5
    unused = []
    for operation in sorted(OPERATIONS):
        common = "course.engine.triton.compiling.common.OPERATIONS"
        monkeypatch.setattr(common, OPERATIONS - {operation})
        gate._forms.clear()
        with workplace.in_place():
            unused += [operation] if _lowered(_all_of_them, *args, BLOCK=64).common else []
    gate._forms.clear()
    assert unused == []


def _kinds() -> Iterator[tuple[int, torch.dtype, int, int]]:
    for target in (gate.TARGET, *gate.OTHER_TARGETS):
        for element in (torch.float32, torch.float16, torch.bfloat16):
            for side, warps in ((16, 1), (32, 4), (64, 4), (64, 8), (128, 8)):
                # 7.5 writes most of these products out: of the largest, LLVM takes minutes
                if target >= 80 or side < 128:
                    yield target, element, side, warps


@pytest.mark.family
@pytest.mark.parametrize(("target", "element", "side", "warps"), [*_kinds()])
def test_llvm_takes_what_is_said_to_be_lowered(
    target: int, element: torch.dtype, side: int, warps: int
) -> None:
    assert target in LOWERED_TARGETS
    x, i = torch.zeros(side, side, dtype=element), torch.zeros(side, dtype=torch.int8)
    named = {"SIDE": side, "BRANCHES": False, "num_warps": warps}
    source = source_of(_lowered_too, (x, i, torch.zeros(side, side, dtype=element)), named)
    with compiler.unoptimised():  # as whoever asks for no registers
        assert compiler.to_refusal(source, target).ptx == ""
        assert compiler.to_ptx(source, target).ptx


@pytest.mark.slow
def test_no_operation_is_said_to_be_lowered_that_no_kernel_here_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, i = torch.zeros(32, 32), torch.zeros(32, dtype=torch.int8)
    named = {"SIDE": 32, "BRANCHES": True}
    source = source_of(_lowered_too, (x, i, torch.zeros(32, 32)), named)
    assert _stages(source)[-1] == "laid out"
    for operation in sorted(LOWERED):
        monkeypatch.setattr(common, "LOWERED", LOWERED - {operation})
        assert _stages(source)[-1] == "ptx", operation


def _stages(source: Source) -> list[str]:
    stages: list[str] = []
    compiler.to_refusal(source, gate.TARGET, lambda stage, _: stages.append(stage))
    return stages


@pytest.mark.parametrize(
    ("kernel", "element", "options"),
    [
        (_product, torch.float16, {}),
        (_copy, torch.bfloat16, {}),
        (_copy, torch.float8_e5m2, {}),
        (_copy, torch.float64, {}),
        (_added, torch.float32, {}),
        (_left_out, torch.float32, {}),
        (_copy, torch.float32, {"maxnreg": 64}),
    ],
)
def test_whatever_else_there_is_has_the_others_asked(
    kernel: object, element: torch.dtype, options: dict[str, int]
) -> None:
    x, out = torch.zeros(1024, dtype=element), torch.zeros(1024, dtype=element)
    if kernel is _product:
        out = torch.zeros(1024)
    assert not _lowered(kernel, x, out, BLOCK=32, **options).common
    lowers = element == torch.float16 or (kernel, element) == (_copy, torch.bfloat16)
    lowers = lowers or kernel is _left_out
    source = source_of(kernel, (x, out), {"BLOCK": 32, **options})
    assert _stages(source)[-1] == ("laid out" if lowers else "ptx")
    assert _lowered(_copy, torch.zeros(32), torch.zeros(32), BLOCK=32).common


@triton.jit
def _copy_with_hints(x_ptr, out_ptr, BLOCK: tl.constexpr, CACHE: tl.constexpr, EVICT: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, cache_modifier=CACHE, eviction_policy=EVICT)
    tl.store(out_ptr + at, x)


@pytest.mark.parametrize("evict", ["", "evict_first", "evict_last"])
@pytest.mark.parametrize("cache", ["", ".ca", ".cg", ".cv"])
def test_two_hints_that_the_assembler_alone_refuses_do_not_compile(cache: str, evict: str) -> None:
    args, named = (torch.zeros(32), torch.zeros(32)), {"BLOCK": 32, "CACHE": cache, "EVICT": evict}
    found = [
        gate.find(source_of(_copy_with_hints, args, named), gate.TARGET, binary)
        for binary in (False, True)
    ]
    refused = [isinstance(one, KernelFault) for one in found]
    words = {".ca", ".cg", *([".cv"] if WRITES_CV else [])}
    assert refused == 2 * [cache in words and evict != ""]
