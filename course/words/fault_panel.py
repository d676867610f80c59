"""A fault of a direct launch as a learner reads it: a line of text, or a panel."""

from __future__ import annotations

import linecache

from course.engine.faults import KernelFault
from course.engine.lines import file_of
from course.words.sentences import next_step, sentence
from course.words.verdict import SourceLine, Verdict


def text(fault: KernelFault) -> str:
    """`OUT_OF_BOUNDS: line 3: ...`."""
    said = sentence(fault.message_id, fault.fields, fault.dialect)
    return f"{fault.outcome.value}: {fault.where}{said}"


def verdict(fault: KernelFault) -> Verdict:
    """The fault as a check would show it."""
    fields = {"name": fault.kernel, "line": fault.line, **fault.fields}
    lines = (fault.line, fault.fields.get("other_line"))
    there = {n for n in lines if isinstance(n, int) and file_of(n) == file_of(fault.line)}
    # behind a trace stands what the check has said, which knows more than this
    step = "" if fault.traced else next_step(fault.message_id, fields, fault.dialect)
    return Verdict(
        outcome=fault.outcome,
        exercise=fault.function or fault.kernel or "kernel",
        message=sentence(fault.message_id, fields, fault.dialect),
        message_id=fault.message_id,
        line=None if fault.line is None else int(fault.line),
        lines=tuple(
            SourceLine(n, linecache.getline(fault.filename, n).rstrip(), marked=True)
            for n in sorted(map(int, there))
            if fault.filename
        ),
        next_steps=(step,) if step else (),
    )


def panel(fault: KernelFault) -> str:
    """What a notebook shows of it."""
    return str(verdict(fault))
