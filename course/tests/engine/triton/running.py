"""How tests run a kernel: together, then one program at a time, and both must agree."""

import pytest
import torch
import triton

from course.engine.triton.launch import launch

without_block_pointers = pytest.mark.skipif(
    tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9), reason="Triton 3.9 has none"
)


def both(kernel, args, grid=(1,), close=False, **constants):
    """Runs a kernel both ways on copies of the tensors; gives the fast way's tensors and counts.

    `close`: results may differ by the order of a sum, otherwise to no bit.
    """
    runs = []
    for together in (None, 1):
        copies = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
        traffic = launch(kernel, copies, grid, constants, together=together)
        runs.append((copies, traffic))
    (fast, counts), (slow, slow_counts) = runs
    assert counts == slow_counts
    for a, b in zip(fast, slow, strict=True):
        if isinstance(a, torch.Tensor):
            assert torch.allclose(a, b, equal_nan=True) if close else same_bits(a, b)
    return fast, counts


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Zeros have signs; NaN is NaN, whatever its bits."""
    equal = (a == b) & (a.signbit() == b.signbit())
    return bool((equal | a.isnan() & b.isnan()).all())
