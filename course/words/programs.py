"""What is said otherwise of a program (`course.run`): it has no cells, and nobody grades it."""

from __future__ import annotations

from course.words.sentences import Words

PROGRAMS = {
    "undefined_name": Words(
        "`{name}` is not defined|: {letters}|.",
        "Define {name} before the launch, or correct its spelling.",
    ),
    "missing_import": Words(
        "`{name}` is not defined.",
        "Write `{imported}` at the top of the file.",
    ),
    "missing_prefix": Words(
        "`{name}` is not defined.",
        "Did you mean `{path}`?",
    ),
    "rejected_name": Words(
        "`{name}` cannot be used in a kernel here|: it is {got}|.",
        "Pass it to the kernel as an argument, or make it a number.",
    ),
}
