"""How long a kernel gets while it is compiled: loops and calls are written out.

`tl.static_range` repeats a loop's body for each turn, and each call becomes what it calls. A few
lines can so come to more than any compiler has time or memory for: that is told before.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from triton.compiler import code_generator

from course.engine.faults import KernelFault, Outcome
from course.engine.triton.compiling.constants import replaced
from course.engine.triton.compiling.functions import code_of

#: The longest kernel of the course, of its wrong answers and of its exploits has 1,500, of either.
MOST_NODES = 100_000
MOST_OPERATIONS = 50_000


@contextlib.contextmanager
def loops_held_short() -> Iterator[None]:
    """Triton's front end reads so many statements and expressions, repeated ones each time.

    Raises:
        KernelFault: TIMED_OUT, with the line of the outermost loop that is written out. Triton
            wraps it.
    """
    generator = code_generator.CodeGenerator
    read, line = 0, None

    def visit(self: Any, node: Any, own: Any = generator.visit) -> Any:
        nonlocal read
        read += 1
        if read > MOST_NODES:
            raise KernelFault(Outcome.TIMED_OUT, "tile_loop_written_out", line, limit=MOST_NODES)
        return own(self, node)

    def looping(own: Any) -> Any:
        def visit_loop(self: Any, node: Any) -> Any:
            nonlocal line
            around, code = line, code_of(self.jit_fn)
            if line is None and code.own:
                line = code.lines_before + node.lineno
            found = own(self, node)
            line = around
            return found

        return visit_loop

    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(generator, "visit", visit))
        for name in ("visit_For", "visit_While"):
            method = looping(vars(generator)[name])
            stack.enter_context(replaced(generator, name, method))
        yield


def require_short(module: Any, function: Any) -> None:
    """Holds a kernel's operations to a number, each call counted as what it calls.

    Raises:
        KernelFault: TIMED_OUT, with their number.
    """
    operations = 0
    calls: Counter[str] = Counter()
    bodies: dict[str, tuple[int, Counter[str]]] = {}

    def visit(operation: Any) -> None:
        nonlocal operations, calls
        if operation.get_name() == "tt.func":  # behind all that is in it
            bodies[operation.get_str_attr("sym_name")] = operations, calls
            operations, calls = 0, Counter()
        elif operation.get_name() == "tt.call":
            calls[operation.get_flat_symbol_ref_attr("callee")] += 1
        else:
            operations += 1

    @cache
    def count(name: str) -> int:
        """Operations of a function, with those of what it calls."""
        own, called = bodies[name]
        return own + sum(times * count(one) for one, times in called.items())

    module.walk(visit)
    if (found := max(map(count, bodies), default=0)) > MOST_OPERATIONS:
        raise KernelFault(
            Outcome.TIMED_OUT, "tile_calls_written_out", code_of(function).first_line,
            operations=found, limit=MOST_OPERATIONS,
        )  # fmt: skip
