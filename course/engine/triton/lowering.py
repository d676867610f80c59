"""A launch's kernel in Triton's IR, with the layout of every access: no GPU is needed.

What comes back is plain data, text and numbers, so that whoever runs it need not trust, or be in,
the process that compiled it.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import astuple, dataclass
from enum import Enum
from typing import Any

from triton._C.libtriton import gluon_ir, ir, passes

from course.engine.faults import KernelFault
from course.engine.triton import gate
from course.engine.triton.compiler import Compiled, Source, compiled
from course.engine.triton.functions import own_files

#: Operations that reach global memory through pointers, one a register, lane and warp.
ACCESSES = frozenset(
    {
        "tt.load",
        "tt.store",
        "tt.atomic_rmw",
        "tt.atomic_cas",
        "ttg.async_copy_global_to_local",
    }
)
_SHAPE = re.compile(r"tensor<((?:\d+x)+)")
#: Kernels that are kept, of the last launches: a text has some hundred kilobytes.
MOST_KEPT = 64


class Form(Enum):
    """How far a kernel is taken: as it is written, or as the GPU gets it."""

    #: calls inlined, and nothing moved
    WRITTEN = "written"
    #: layouts decided, loops pipelined
    COMPILED = "compiled"


@dataclass(frozen=True)
class Layout:
    """Which element of a block a register of a lane of a warp holds (Triton's linear layouts).

    The coordinates of (register, lane, warp) are the bitwise sum of the bases of the bits that
    are set in the three numbers. A basis of zeros makes copies.
    """

    shape: tuple[int, ...]
    register: tuple[tuple[int, ...], ...]
    lane: tuple[tuple[int, ...], ...]
    warp: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Lowered:
    """A kernel in one form, for one GPU.

    Attributes:
        form: which.
        text: the module in MLIR's generic form (see `course.engine.triton.ir`).
        layouts: of the accesses in the text's order; None where a scalar is accessed. Nothing
            has any in the written form.
        target: the compute capability, 90 for 9.0.
    """

    form: Form
    text: str
    layouts: tuple[Layout | None, ...]
    target: int


_kept: OrderedDict[str, Lowered] = OrderedDict()


def lower(source: Source, target: int, form: Form = Form.COMPILED) -> Lowered:
    """Compiles a kernel as far as one form of the IR; each combination once.

    The compiler works where the gate's does (`course.engine.triton.gate`).

    Raises:
        KernelFault: DOES_NOT_COMPILE in the compiler's words; TIMED_OUT where it takes too long.
    """
    files = sorted(own_files(source.function))  # they stand in the text
    key = f"{form.value} {files} {gate.key_of(source, target)}"
    found = _kept.get(key)
    if found is None:
        answer = gate.where_it_works(lambda: _plain(source, target, form), source, target)
        if "fault" in answer:
            refused = gate.from_plain(answer)
            assert isinstance(refused, KernelFault)
            raise gate.in_words(refused, source.function)
        layouts = (None if one is None else Layout(*_tuples(one)) for one in answer["layouts"])
        found = _kept[key] = Lowered(form, answer["text"], tuple(layouts), target)
        if len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return found


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _plain(source: Source, target: int, form: Form) -> dict[str, Any]:
    """The IR and its layouts as JSON can hold them, or the compiler's refusal."""
    try:
        if form is Form.WRITTEN:
            made = compiled(source, target, ())
            _inlined(made)
        else:
            made = compiled(source, target, ("ttir", "ttgir"))
    except KernelFault as fault:
        return gate.plain(fault)
    layouts = () if form is Form.WRITTEN else _layouts(made.module, made.context)
    # a module with an attribute of no dialect is invalid, and MLIR prints it in generic form
    made.module.set_attr("generic", ir.builder(made.context).get_bool_attr(True))
    return {
        "text": str(made.module),
        "layouts": [None if layout is None else astuple(layout) for layout in layouts],
    }


def _inlined(made: Compiled) -> None:
    """Takes the functions that a kernel calls into it, and makes pointers of block pointers."""
    manager = ir.pass_manager(made.context)
    passes.common.add_inliner(manager)
    passes.ttir.add_rewrite_tensor_pointer(manager)
    passes.ttir.add_rewrite_tensor_descriptor_to_pointer(manager)
    passes.common.add_symbol_dce(manager)
    manager.run(made.module, "written")


def _layouts(module: Any, context: Any) -> tuple[Layout | None, ...]:
    builder = gluon_ir.GluonOpBuilder(context)
    found: list[Layout | None] = []

    def visit(operation: Any) -> None:
        if operation.get_name() not in ACCESSES:
            return
        pointers = operation.get_operand(0)
        sizes = _SHAPE.match(str(pointers.get_type()))
        if sizes is None:
            found.append(None)
            return
        shape = tuple(int(size) for size in sizes[1].split("x")[:-1])
        encoding = builder.get_gluon_layout_from_tensor(pointers)._to_ir(builder)
        linear = builder.to_linear_layout(encoding, list(shape))
        register, lane, warp = (
            tuple(map(tuple, bases))
            for bases in (linear.reg_bases, linear.lane_bases, linear.warp_bases)
        )
        found.append(Layout(shape, register, lane, warp))

    module.walk(visit)
    return tuple(found)
