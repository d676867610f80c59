"""What is said otherwise of a program (`course.run`): it has no cells, and nobody grades it."""

from __future__ import annotations

from course.words.sentences import WORDS, Words

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
    "shape_computed": WORDS["shape_computed"]._replace(
        next="Give the number a name at the top of the file, such as `SIZE = {shape}`, and use the "
        "name."
    ),
    "shared_shape_not_constant": WORDS["shared_shape_not_constant"]._replace(
        next="Give a number, or one that has a name outside of the kernel: `TPB = 256`, and "
        "`cuda.shared.array(TPB, float32)`."
    ),
    "local_shape_not_constant": WORDS["local_shape_not_constant"]._replace(
        next="Give a number, or one that has a name outside of the kernel."
    ),
    "numba_compiles": WORDS["numba_compiles"]._replace(
        next="It may well run on a GPU. Here, write the line another way, with numbers and "
        "elements of arrays."
    ),
    "launch_before": Words(
        "This kernel only loads {array}: what comes before it has to write it.",
        "Which launch, or which line of PyTorch, should have written this element? Of a launch: "
        "does its grid reach so far, and does its mask let it through?",
    ),
    "race_global": WORDS["race_global"]._replace(
        next=WORDS["race_global"].next.replace(" (lesson 03)", "")
    ),
    "timed_out": WORDS["timed_out"]._replace(
        next="Does the loop's condition ever become false, and what changes it? A loop that only "
        "is long runs here with a smaller size, or with its work spread over more threads."
    ),
    "rejected_name": Words(
        "`{name}` cannot be used in a kernel here|: it is {got}|.",
        "Pass it to the kernel as an argument, or make it a number.",
    ),
}
