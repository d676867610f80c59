"""Installs the Triton engine when Triton is imported, and not before.

Importing Triton and torch takes seconds, and the Numba lessons need neither.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType


class _Installing(importlib.abc.Loader):
    """Loads Triton as its own loader does, then installs the engine."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        _install()
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Watch)]


class _Watch(importlib.abc.MetaPathFinder):
    """Sees `triton` being imported; when that is done, the engine is installed.

    Who asks only whether Triton is there, as torch does, gets the same answer, and the watch
    goes on.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "triton":
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        spec = next(
            (
                found
                for finder in others
                if (found := finder.find_spec(name, path, target)) is not None
            ),
            None,
        )
        if spec is not None and spec.loader is not None:
            spec.loader = _Installing(spec.loader)
        return spec


def _install() -> None:
    from course.notebook.triton_launches import install

    install()


def install() -> None:
    """Installs the engine now where Triton is loaded, else as soon as it is."""
    if "triton" in sys.modules and hasattr(sys.modules["triton"], "jit"):
        _install()
    elif not any(isinstance(finder, _Watch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())
