"""A launch's kernel in Triton's IR, with the layout of every access: no GPU is needed.

What comes back is plain data, text and numbers, so that whoever runs it need not trust, or be in,
the process that compiled it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from triton._C.libtriton import gluon_ir, ir, passes

from course.engine.triton.compiling.compiler import Compiled, compiled
from course.engine.triton.compiling.specialisation import Source
from course.engine.triton.compiling.steps import left_in_the_code
from course.engine.triton.compiling.unused import unused
from course.engine.triton.ir import Module, Place

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
#: An attribute that no module may have, and a number that it has once it is for a GPU.
_OF_NO_DIALECT, _WIDTH = "generic", "ttg.threads-per-warp"
#: What the compiler may leave out, under whatever name: where nothing uses what it gives.
_KINDS = {
    "tt.load": "load",
    "ttg.async_copy_global_to_local": "load",
    "tt.descriptor_load": "load",
    "tt.descriptor_gather": "load",
    "ttng.async_tma_copy_global_to_local": "load",
    "ttng.async_tma_gather": "load",
    "scf.for": "loop",
    "scf.while": "loop",
}


#: Kernels whose forms are kept, of the last launches: a text has some hundred kilobytes.
MOST_KEPT = 64
#: What makes a block pointer or a descriptor.
_DESCRIPTIONS = ("tt.make_tensor_ptr", "tt.make_tensor_descriptor")


class Form(Enum):
    """How far a kernel is taken: as it is written, or as the GPU gets it."""

    #: nothing moved or left out
    WRITTEN = "written"
    #: calls inlined, with a step before each statement (`course.engine.triton.compiling.steps`)
    FOLLOWED = "followed"
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
            has any but in the compiled form.
        target: the compute capability, 90 for 9.0.
        printed: what the kernel has the compiler say.
        common: whether the compiler for another GPU takes it, too.
    """

    form: Form
    text: str
    layouts: tuple[Layout | None, ...]
    target: int
    printed: str = ""
    common: bool = False

    @cached_property
    def module(self) -> Module:
        """The text, read."""
        return Module(self.text)

    @cached_property
    def unused(self) -> frozenset[int]:
        """The numbers of the loads that the GPU does not make."""
        return unused(self.module) if self.form is Form.COMPILED else frozenset()

    @cached_property
    def places(self) -> frozenset[tuple[str, Place]]:
        """Where in the source its loads and its loops come from."""
        return frozenset(
            (_KINDS[one.name], Place(one.place.files[:1]))
            for one in self.module.operations()
            if one.name in _KINDS and one.place.files and one.number not in self.unused
        )


def lowered_of(answer: Mapping[str, Any], form: Form, target: int) -> Lowered:
    """A kernel in a form, of what `in_form` or `on_its_way` has made of it."""
    layouts = (None if one is None else Layout(*tuples(one)) for one in answer["layouts"])
    told = answer["printed"], answer["common"]
    return Lowered(form, answer["text"], tuple(layouts), target, *told)


def tuples(value: Any) -> Any:
    """What JSON makes lists of, as it was."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def in_form(source: Source, target: int, form: Form) -> dict[str, Any]:
    """Compiles a kernel as far as a form, as JSON can hold it.

    Raises:
        KernelFault: as `compiled` does.
    """
    if form is Form.COMPILED:
        made = compiled(source, target, ("ttir", "ttgir"))
        return _answer(made, _generic(made, _OF_NO_DIALECT), _layouts(made.module, made.context))
    with left_in_the_code() if form is Form.FOLLOWED else nullcontext():
        made = compiled(source, target, ())
    # what takes calls into a kernel leaves out what nothing uses
    if form is Form.FOLLOWED or _describes(made):
        _inlined(made)
    return _answer(made, _generic(made, _OF_NO_DIALECT))


def on_its_way(made: Compiled) -> dict[str, Any] | None:
    """The compiled form of a module behind its stage `ttgir`, which stays as it is.

    None where that takes a compile of its own: a kernel without blocks.
    """
    width = made.module.get_int_attr(_WIDTH)
    text = _generic(made, _WIDTH)
    made.module.set_attr(_WIDTH, ir.builder(made.context).get_int32_attr(width))
    if '"builtin.module"' not in text:
        return None
    return _answer(made, text, _layouts(made.module, made.context))


def _answer(made: Compiled, text: str, layouts: Sequence[Layout | None] = ()) -> dict[str, Any]:
    plain = [
        None if one is None else [one.shape, one.register, one.lane, one.warp] for one in layouts
    ]
    return {
        "text": text,
        "layouts": plain,
        "printed": made.printed,
        "common": made.contents.are_common,
    }


def _generic(made: Compiled, attribute: str) -> str:
    """A module in generic form: so MLIR prints one that an attribute makes invalid."""
    made.module.set_attr(attribute, ir.builder(made.context).get_bool_attr(True))
    return str(made.module)


def _describes(made: Compiled) -> bool:
    """Whether it has block pointers or descriptors, which the engine knows as pointers alone."""
    found: list[bool] = []
    made.module.walk(lambda one: found.append(one.get_name() in _DESCRIPTIONS))
    return any(found) or "tensordesc" in str(made.module)


def _inlined(made: Compiled) -> None:
    """Takes the functions that a kernel calls into it, and makes pointers of block pointers."""
    manager = ir.pass_manager(made.context)
    passes.common.add_inliner(manager)
    if hasattr(passes.ttir, "add_rewrite_tensor_pointer"):  # until Triton 3.7
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
