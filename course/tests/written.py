"""Modules that a test writes."""

import itertools
import linecache
from types import ModuleType

_numbers = itertools.count()


def module_of(name: str, source: str) -> ModuleType:
    """A module from its source, which `inspect` finds as it does a notebook's cell."""
    path = f"<{name} {next(_numbers)}>"
    linecache.cache[path] = len(source), None, source.splitlines(keepends=True), path
    module = ModuleType(name)
    exec(compile(source, path, "exec"), vars(module))
    return module
