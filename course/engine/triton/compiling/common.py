"""What a compiler does not refuse: kernels of common operations are not taken through it in vain.

What a target decides stands in products of blocks, in types that came with a generation (bfloat16,
8-bit floats), in descriptors, atomics and assembly: a kernel without these, no GPU's compiler
refuses once one takes it, and a grader need not ask the others. What LLVM may refuse, once the
passes before it have decided layouts, stands in fewer still: products of blocks it takes. These
lists are positive: any other operation, type or option is asked for. They are held to the compiler,
target by target, in `course/tests/engine/triton/test_common.py`.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
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
#: What besides LLVM takes for a GPU from `LOWERED_TARGETS`, if the passes before it do.
LOWERED = frozenset(
    {"tt.dot", "tt.trans", "tt.reshape", "tt.scan", "tt.scan.return", "math.erf", "cf.br"}
    | {"cf.cond_br", "tt.bitcast", "arith.shli", "arith.shrsi", "arith.shrui", "arith.uitofp"}
)
LOWERED_TARGETS = range(75, 100)
_TYPE = r"(?:tensor<(?:\d+x)+)?(?:!tt\.ptr<)?(?:i1|i8|i16|i32|i64|f16|f32%s)>*"
_COMMON_TYPE, _LOWERED_TYPE = re.compile(_TYPE % ""), re.compile(_TYPE % "|bf16")
_OPTIONS = {"num_warps", "num_stages", "debug"}
#: An access with two words on the cache, as the IR is written, and as it is from Triton 3.9 on.
_TWO_HINTS = re.compile(
    r"cacheModifier = .* evictionPolicy = | evictionPolicy = .*\{isVolatile = true"
    r"|cache_modifier = (?!none).* eviction_policy = (?!evict_normal)"
    r"|eviction_policy = (?!evict_normal).* isVolatile = true"
)


@dataclass(frozen=True)
class Contents:
    """What a kernel is made of, as Triton's front end leaves it.

    `two_hints` says that an access has two words on the cache: some pairs the assembler refuses,
    of which no pass before it looks at them.
    """

    operations: Set[str]
    types: Set[str]
    options: Set[str]
    two_hints: bool = False

    @property
    def are_common(self) -> bool:
        """Whether every target's compiler takes it if one does."""
        usual = self.options <= _OPTIONS and self.operations <= OPERATIONS
        return usual and all(map(_COMMON_TYPE.fullmatch, self.types))

    def are_lowered(self, target: int) -> bool:
        """Whether LLVM takes it for the target if the passes before it do."""
        if self.two_hints:
            return False
        if self.are_common:
            return True
        usual = self.options <= _OPTIONS and self.operations <= OPERATIONS | LOWERED
        return usual and target in LOWERED_TARGETS and all(map(_LOWERED_TYPE.fullmatch, self.types))


def contents_of(module: Any, source: Source) -> Contents:
    """The operations, the types of their results and the launch's options."""
    names, types = set(), set()

    def visit(operation: Any) -> None:
        names.add(operation.get_name())
        for number in range(operation.get_num_results()):
            types.add(str(operation.get_result(number).get_type()))

    module.walk(visit)
    two_hints = _TWO_HINTS.search(module.str_nodebug()) is not None
    return Contents(names, types, source.options.keys(), two_hints)
