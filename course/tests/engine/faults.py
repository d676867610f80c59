"""What tests of both engines ask of a call that must not go well."""

from collections.abc import Callable
from typing import Any

import pytest

from course.engine.faults import KernelFault


def raised(call: Callable[..., Any], *args: Any, **named: Any) -> KernelFault:
    """The fault that a call ends in."""
    with pytest.raises(KernelFault) as caught:
        call(*args, **named)
    return caught.value
