"""Kernels that a test writes."""

import importlib.util
import itertools

import pytest

_numbers = itertools.count()


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Imports a module from its source, so that the source can be read back."""
    folder = tmp_path_factory.mktemp("kernels")

    def load(source):
        name = f"written_{next(_numbers)}"
        path = folder / f"{name}.py"
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
