"""Kernels that no GPU's compiler refuses once one takes them: a grader need not ask the others.

What a target decides stands in products of blocks, in types that came with a generation (bfloat16,
8-bit floats), in descriptors, atomics and assembly. These lists name what is none of that, and they
are positive: any other operation, type or option has the other targets asked. They are held to
the compiler, target by target, in `course/tests/engine/triton/test_common.py`.
"""

from __future__ import annotations

import re
from typing import Any

from course.engine.triton.compiling.specialisation import Source

OPERATIONS = frozenset(
    {
        *("builtin.module", "tt.func", "tt.return", "tt.call", "ub.poison"),
        *("tt.get_program_id", "tt.get_num_programs", "tt.make_range", "tt.splat"),
        *("tt.broadcast", "tt.expand_dims", "tt.addptr", "tt.load", "tt.store"),
        *("tt.reduce", "tt.reduce.return", "scf.for", "scf.if", "scf.while", "scf.condition"),
        *("scf.yield", "arith.constant", "arith.select", "arith.bitcast"),
        *("arith.addi", "arith.subi", "arith.muli", "arith.divsi", "arith.remsi"),
        *("arith.cmpi", "arith.andi", "arith.ori", "arith.xori", "arith.maxsi", "arith.minsi"),
        *("arith.extsi", "arith.extui", "arith.trunci", "arith.sitofp", "arith.fptosi"),
        *("arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.cmpf"),
        *("arith.maxnumf", "arith.minnumf", "arith.extf", "arith.truncf"),
        *("math.exp", "math.exp2", "math.log", "math.log2", "math.sqrt", "math.rsqrt"),
        *("math.sin", "math.cos", "math.absf"),
    }
)
_TYPE = re.compile(r"(?:tensor<(?:\d+x)+)?(?:!tt\.ptr<)?(?:i1|i8|i16|i32|i64|f16|f32)>*")
_OPTIONS = {"num_warps", "num_stages", "debug"}


def is_common(module: Any, source: Source) -> bool:
    """Whether a kernel, as Triton's front end leaves it, is made of these alone."""
    if not source.options.keys() <= _OPTIONS:
        return False
    names, types = set(), set()

    def visit(operation: Any) -> None:
        names.add(operation.get_name())
        for number in range(operation.get_num_results()):
            types.add(str(operation.get_result(number).get_type()))

    module.walk(visit)
    return names <= OPERATIONS and all(map(_TYPE.fullmatch, types))
