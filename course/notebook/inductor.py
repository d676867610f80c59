"""The Triton kernels that torch.compile writes for a function, also where there is no GPU.

torch.compile hands the operations that it has recorded to Inductor, its code generator, which
writes Triton for GPUs. Here Inductor is asked for its text and stopped before anything is
compiled or run. For tensors on the CPU it is told to write Triton for the CPU, as for a GPU but
for the device's name.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

#: In Inductor's module a kernel's text stands in a string, with its decorators.
_KERNEL = re.compile(r"^@triton\.jit\n(?:.+\n|\n)+?(?=''')", re.MULTILINE)


@dataclass(frozen=True)
class Written:
    """What Inductor wrote: the kernels' texts, or why there are none."""

    kernels: tuple[str, ...]
    reason: str = ""

    def __str__(self) -> str:
        if not self.kernels:
            return f"torch.compile wrote no Triton here: {self.reason}"
        plural = "s" if len(self.kernels) > 1 else ""
        return "\n".join([f"{len(self.kernels)} kernel{plural}:", *self.kernels])


class _Enough(Exception):
    """Ends a compilation once its text is there."""


def kernels_of(function: Callable[..., Any], *tensors: Any) -> Written:
    """What torch.compile writes for `function` called with `tensors`. Never raises.

    Inductor's inner workings differ from version to version: where they are not as expected,
    the reason says so.
    """
    texts: list[str] = []
    reasons: list[str] = []
    on_gpu = any(getattr(tensor, "is_cuda", False) for tensor in tensors)
    try:
        import torch

        def compiled(module: Any, inputs: Any) -> Any:
            from torch._inductor.compile_fx import compile_fx

            try:
                with _stopped_after_writing(texts, on_gpu):
                    compile_fx(module, inputs)
            except Exception as error:
                if not texts:
                    reasons.append(_said(error))
            return module.forward

        torch._dynamo.reset()
        torch.compile(function, backend=compiled)(*tensors)
        torch._dynamo.reset()
    except Exception as error:  # no torch.compile on this Python or system
        return Written((), _said(error))
    kernels = tuple(found.strip("\n") for text in texts for found in _KERNEL.findall(text))
    reason = next(iter(reasons), "this version of Inductor writes something else.")
    return Written(kernels, "" if kernels else reason)


def _said(error: Exception) -> str:
    """The error's kind and its first line."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


@contextlib.contextmanager
def _stopped_after_writing(texts: list[str], on_gpu: bool) -> Iterator[None]:
    """Inductor inside appends its text to `texts`, and raises."""
    import torch
    import torch.utils._triton
    from torch._inductor import config
    from torch._inductor.graph import GraphLowering

    def write(graph: Any) -> Any:
        wrapper, *_ = graph.codegen()
        texts.append(getattr(wrapper, "value", wrapper))
        raise _Enough

    with contextlib.ExitStack() as patches:
        settings: dict[str, Any] = {"fx_graph_cache": False, "compile_threads": 1}
        if not on_gpu:
            settings["cpu_backend"] = "triton"
            patches.enter_context(
                mock.patch.object(
                    torch.utils._triton, "triton_hash_with_backend", return_value="none"
                )
            )
        patches.enter_context(config.patch(settings))
        patches.enter_context(mock.patch.object(GraphLowering, "compile_to_module", write))
        yield
