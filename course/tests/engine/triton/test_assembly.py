"""Inline assembly: what each instruction leaves in a register, on both paths."""

import pytest

pytest.importorskip("triton", reason="Triton has no wheel for this system")

import math

import numpy as np
import torch
import triton
import triton.language as tl

from course.engine.triton.ir import Operation, Place, Type
from course.engine.triton.running import assembly
from course.engine.triton.running.values import Unsupported
from course.tests.engine.triton.running import both


def made(text, x, y, kind):
    """What is left in `$0`, with `x` and `y` in `$1` and `$2`."""
    given = Type({np.dtype(np.int32): "i32", np.dtype(np.float32): "f32"}[x.dtype], "scalar")
    attributes = {"asm_string": f'"{text}"', "packed_element": "1 : i32"}
    operation = Operation(
        "tt.elementwise_inline_asm", 0, ("x", "y"), ("made",), (given, given),
        (Type(kind, "scalar"),), attributes, (), (), Place(),
    )  # fmt: skip
    return assembly.run(operation, x, y)[0]


@pytest.mark.parametrize(
    ("text", "x", "y", "found"),
    [
        ("add.s32 $0, $1, $2;", 5, -7, -2),
        ("{ .reg .b32 t; sub.s32 t, $1, $2; mul.lo.s32 $0, t, 0x3; }", 5, -7, 36),
        ("mul.hi.u32 $0, $1, $2;", -1, -1, -2),
        ("mad.lo.s32 $0, $1, $2, -1;", 5, -7, -36),
        ("shf.l.wrap.b32 $0, $1, $2, 8;", 0x12345678, 0x0ABCDEF0, -0x4321_0FEE),
        ("shl.b32 $0, $1, $2;", 1, 40, 0),
        ("shr.s32 $0, $1, $2;", -8, 40, -1),
        ("shr.u32 $0, $1, $2;", -8, 28, 15),
        ("lop3.b32 $0, $1, $2, 0xff00, 0xea;", 0x0F0F, 0x3333, 0xFF03),
        ("prmt.b32 $0, $1, $2, 0x5410;", 0x33221100, 0x77665544, 0x55441100),
        ("bfe.u32 $0, $1, 4, $2;", 0xABC, 4, 0xB),
        ("bfi.b32 $0, $1, $2, 4, 8;", 0xAB, 0xFFFFF, 0xFFABF),
        ("popc.b32 $0, $1;", -1, 0, 32),
        ("div.s32 $0, $1, $2;", -7, 2, -3),
        ("rem.s32 $0, $1, $2;", -7, 2, -1),
        ("div.u32 $0, $1, $2;", 7, 0, -1),
        ("{ .reg .b64 t; mov.b64 t, {$1, $2}; div.u64 t, t, 1; mov.b64 {$0, _}, t; }",
         3, 1 << 30, 3),
        ("not.b32 $0, $1;", 0, 0, -1),
        ("{ .reg .pred p; setp.lt.u32 p, $1, $2; selp.b32 $0, $1, $2, p; }", -1, 7, 7),
        ("{ .reg .pred p; setp.gt.s32 p, $1, $2;\n mov.u32 $0, 1;\n @!p mov.u32 $0, 2; }", 3, 7, 2),
        ("{ .reg .b16 a, b; mov.b32 {a, b}, $1; mov.b32 $0, {b, a}; }", 0x00010002, 0, 0x00020001),
        ("{ .reg .b64 t; mul.wide.u32 t, $1, $2; { .reg .b32 l; mov.b64 {l, $0}, t; } }",
         -1, -1, -2),
    ],
)  # fmt: skip
def test_integers(text, x, y, found) -> None:
    assert made(text, np.int32([x]), np.int32([y]), "i32") == np.array(found).astype(np.int32)


@pytest.mark.parametrize(
    ("text", "x", "y", "found"),
    [
        ("fma.rn.f32 $0, $1, $2, 0f3F800000;", 3.0, 4.0, 13.0),
        ("max.f32 $0, $1, $2;", float("nan"), 2.0, 2.0),
        ("ex2.approx.ftz.f32 $0, $1;", 3.0, 0.0, 8.0),
        ("mul.ftz.f32 $0, $1, $2;", 1e-30, 1e-10, 0.0),
        ("mul.f32 $0, $1, $2;", 0.5**100, 0.5**40, 0.5**140),
        ("tanh.approx.f32 $0, $1;", 100.0, 0.0, 1.0),
        ("cvt.rn.tf32.f32 $0, $1;", 1 + 2**-11, 0.0, 1.0),
        ("cvt.rna.tf32.f32 $0, $1;", 1 + 2**-11, 0.0, 1 + 2**-10),
        ("cvt.rni.f32.f32 $0, $1;", 2.5, 0.0, 2.0),
        ("{ .reg .b64 a, b, c; mov.b64 a, {$1, $2}; mov.b64 b, {$2, $1};\n"
         "  add.rn.f32x2 c, a, b; mov.b64 {$0, _}, c; }", 1.0, 2.0, 3.0),
    ],
)  # fmt: skip
def test_floats(text, x, y, found) -> None:
    assert made(text, np.float32([x]), np.float32([y]), "f32") == np.float32(found)


@pytest.mark.parametrize(
    ("text", "x", "y", "found"),
    [
        ("cvt.rn.f16x2.f32 $0, $1, $2;", 1.0, -2.0, 0x3C00C000),
        ("cvt.rn.bf16x2.f32 $0, $1, $2;", 1.0, -2.0, 0x3F80C000),
        ("cvt.rzi.s32.f32 $0, $1;", -2.7, 0.0, -2),
        ("{ .reg .b16 t; cvt.rn.satfinite.e4m3x2.f32 t, $1, $2; cvt.u32.u16 $0, t; }",
         1.0, 1000.0, 0x387E),
        ("{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $1, $2; cvt.u32.u8 $0, t; }",
         -1.25, 5.0, 0xA6),
        ("cvt.rp.satfinite.ue8m0x2.f32 $0, $1, $2;", 1.0, 1.5, 0x7F80),
        ("cvt.rp.satfinite.ue8m0x2.f32 $0, $1, $2;", 0.0, math.inf, 0x00FE),
        ("cvt.rp.ue8m0x2.f32 $0, $1, $2;", math.nan, 3e38, 0xFFFF),
        ("{ .reg .b16 t; .reg .b32 u; cvt.rp.ue8m0x2.f32 t, $1, $2;\n"
         "  cvt.rn.bf16x2.ue8m0x2 u, t; mov.b32 $0, u; }", 2.0, 6e-39, 0x40000080),
    ],
)  # fmt: skip
def test_floats_as_bits(text, x, y, found) -> None:
    left = made(text, np.float32([x]), np.float32([y]), "i32")
    assert left == np.array(found).astype(np.int32)


@triton.jit
def four_bytes(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    low, high = tl.inline_asm_elementwise(
        "{ and.b32 $0, $2, 0x0F0F0F0F; shr.u32 $1, $2, 4; and.b32 $1, $1, 0x0F0F0F0F; }",
        "=r,=r,r", [tl.load(x_ptr + at)], dtype=(tl.int8, tl.int8), is_pure=True, pack=4,
    )  # fmt: skip
    tl.store(out_ptr + at, low)
    tl.store(out_ptr + N + at, high)


def test_four_bytes_lie_in_one_register_and_two_results_come_of_it() -> None:
    x = torch.arange(-64, 64, dtype=torch.int8)
    (_, out), _ = both(four_bytes, [x, torch.zeros(2, 128, dtype=torch.int8)], N=128)
    assert torch.equal(out[0], x & 15)
    assert torch.equal(out[1], (x >> 4) & 15)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ld.global.b32 $0, [$1];", r"\[\$1\]"),
        ("add.cc.u32 $0, $1, $2;", "add.cc.u32"),
        ("mov.u32 $0, %smid;", "%smid"),
    ],
)
def test_what_is_not_run_is_named(text, said) -> None:
    with pytest.raises(Unsupported, match=f"inline assembly.*{said}"):
        made(text, np.int32([0]), np.int32([0]), "i32")
