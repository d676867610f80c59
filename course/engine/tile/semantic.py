"""Triton's semantic layer with reductions, scans and hints carried out by our builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic

from course.engine.tile import regions
from course.engine.tile.values import Value


def _combined_by(region: Any) -> Any:
    """The @triton.jit function inside a region, where it can be seen."""
    names = region.__code__.co_freevars
    if "combine_fn" not in names:
        return None
    return region.__closure__[names.index("combine_fn")].cell_contents


class Semantic(TritonSemantic):
    """Types and promotion are Triton's own; what needs a compiler's region is done here."""

    def reduction(self, inputs: Sequence[Any], axis: int | None, region_builder_fn: Any) -> tuple:
        """`tl.reduce`: the common functions in one NumPy call, others as a tree."""
        if axis is None:
            inputs = tuple(self.reshape(t, [t.numel.value], can_reorder=True) for t in inputs)
            axis = 0
        shape = list(inputs[0].type.shape)
        if axis >= len(shape):
            raise ValueError(f"the axis {axis} of a reduction of a block of shape {shape}")
        kept = [size for n, size in enumerate(shape) if n != axis]
        handles = [t.handle for t in inputs]
        arrays = self._at_once(_combined_by(region_builder_fn), inputs, axis)
        if arrays is None:
            combine = self.builder.combiner(region_builder_fn, handles)
            arrays = regions.tree(combine, _together(handles), axis + 1)
        return tuple(
            self.wrap_tensor(Value(data, handle.type, tuple(kept)), t.type.scalar, kept)
            for data, handle, t in zip(arrays, handles, inputs, strict=True)
        )

    def _at_once(self, function: Any, inputs: Sequence[Any], axis: int) -> Any:
        first, handle = inputs[0], inputs[0].handle
        if len(inputs) != 1 or function is None:
            return None
        standard = tl.standard
        if function is standard._sum_combine:
            return [regions.total(handle, axis)]
        largest = function is getattr(standard, "_elementwise_max", None)
        if largest or function is getattr(standard, "_elementwise_min", None):
            is_signed = not first.dtype.is_int() or first.dtype.is_int_signed()
            return [regions.extreme(handle, axis, largest, is_signed)]
        return None

    def associative_scan(
        self, inputs: Sequence[Any], axis: int, region_builder_fn: Any, reverse: bool
    ) -> tuple:
        """`tl.associative_scan`."""
        shape = list(inputs[0].type.shape)
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"the axis {axis} of a scan of a block of shape {shape}")
        axis %= len(shape)
        handles = [t.handle for t in inputs]
        arrays = _together(handles)
        if reverse:
            arrays = [np.flip(data, axis + 1) for data in arrays]
        combine = self.builder.combiner(region_builder_fn, handles)
        arrays = regions.running(combine, arrays, axis + 1)
        if reverse:
            arrays = [np.flip(data, axis + 1) for data in arrays]
        return tuple(
            self.wrap_tensor(Value(data, handle.type, tuple(shape)), t.type.scalar, shape)
            for data, handle, t in zip(arrays, handles, inputs, strict=True)
        )

    def multiple_of(self, x: Any, values: Any) -> Any:
        """A hint to the compiler: nothing to do."""
        return x

    max_contiguous = multiple_of
    max_constancy = multiple_of


def _together(handles: Sequence[Value]) -> list[np.ndarray]:
    """Whole arrays with one number of programs."""
    count = max(handle.data.shape[0] for handle in handles)
    return [np.broadcast_to(h.whole(), (count, *h.shape)) for h in handles]
