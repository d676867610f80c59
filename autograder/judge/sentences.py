"""What the grader says about files and notebooks. `course.words.sentences` speaks of kernels."""

from __future__ import annotations

from course.engine.faults import Outcome

#: message id: (outcome of every exercise concerned, what happened, what to do next)
SENTENCES: dict[str, tuple[Outcome, str, str]] = {
    "link": (
        Outcome.REJECTED,
        "{file} is a symbolic link, and the grader follows none.",
        "Hand in the notebook itself.",
    ),
    "not_a_file": (
        Outcome.REJECTED,
        "{file} is a {kind}, not a file.",
        "Hand in the notebook itself.",
    ),
    "unreadable": (
        Outcome.REJECTED,
        "{file} cannot be read: {detail}.",
        "Give the grader the right to read it, or look after the disk; then the same again.",
    ),
    "too_large": (
        Outcome.REJECTED,
        "{file} has {size}, and the most is {limit}.",
        "Clear the outputs (Edit, Clear Outputs of All Cells), save, and hand it in again.",
    ),
    "encrypted": (
        Outcome.REJECTED,
        "{file} is encrypted in {archive}.",
        "Hand in the .ipynb file itself, without a password.",
    ),
    "packed_badly": (
        Outcome.REJECTED,
        "{file} cannot be unpacked from {archive}: {detail}.",
        "Download the zip again. Where that does not help, hand in the notebook again.",
    ),
    "packed_twice": (
        Outcome.REJECTED,
        "{archive} holds {file} more than once under one name, so that none of them counts.",
        "Download the zip again, or hand in the notebook again.",
    ),
    "other_file": (
        Outcome.NOT_ATTEMPTED,
        "{file} is no notebook.",
        "Hand in the lesson's .ipynb file, not packed or converted.",
    ),
    "replaced": (
        Outcome.REJECTED,
        "{file} is another file now than the one that was judged.",
        "Grade again: the new one is judged then.",
    ),
    "empty_file": (
        Outcome.REJECTED,
        "The notebook file is empty.",
        "Save the notebook and hand it in again.",
    ),
    "another_kind": (
        Outcome.REJECTED,
        "The file is no notebook: it is {kind}.",
        "Hand in the .ipynb file as Jupyter saves it, not packed or converted.",
    ),
    "not_utf8": (
        Outcome.REJECTED,
        "The file is no notebook: byte {offset} is not UTF-8 text.",
        "Hand in the .ipynb file as Jupyter saves it, not packed or converted.",
    ),
    "not_json": (
        Outcome.REJECTED,
        "The file is no notebook: expected JSON, got something else on line {line} ({detail}).",
        "Open it in Jupyter, save it, and hand it in again.",
    ),
    "not_finite": (
        Outcome.REJECTED,
        "The file is no notebook: it holds {constant}, which is not JSON.",
        "Clear the outputs, save, and hand it in again.",
    ),
    "too_deep": (
        Outcome.REJECTED,
        "The file is no notebook: its brackets are nested too deep to read.",
        "Hand in the .ipynb file as Jupyter saves it.",
    ),
    "not_a_notebook": (
        Outcome.REJECTED,
        "The file is JSON but no notebook: expected {expected}, got {got}.",
        "Hand in the .ipynb file as Jupyter saves it.",
    ),
    "old_format": (
        Outcome.REJECTED,
        "The notebook is in format {version}, and the course's notebooks are in format 4.",
        "Open it in Jupyter, save it, and hand it in again.",
    ),
    "too_many_cells": (
        Outcome.REJECTED,
        "The notebook has {count} cells, and the most is {limit}.",
        "Work in the notebook that you were given.",
    ),
    "too_heavy_to_read": (
        Outcome.REJECTED,
        "Reading the notebook took more than {limit}.",
        "Hand in the .ipynb file as Jupyter saves it, with outputs cleared.",
    ),
    "no_graded_cells": (
        Outcome.REJECTED,
        "The notebook has no cell of any exercise, and its name names no lesson.",
        "Name it after its lesson (01_threads.ipynb), or grade with --lesson 01_threads.",
    ),
    "no_notebook": (
        Outcome.NOT_ATTEMPTED,
        "The folder {folder} holds no notebook{found}.",
        "Hand in the lesson's .ipynb file.",
    ),
    "same_name": (
        Outcome.REJECTED,
        "{count} files claim to be {student}'s {notebook}: {files}. None is graded, and a grade "
        "from before stays.",
        "A person decides whose each is: the grader's output has the command.",
    ),
    "too_many_files": (
        Outcome.REJECTED,
        "The folder {folder} holds more than {limit} files and folders.",
        "Hand in the lesson's .ipynb file, without environments, data or clones beside it.",
    ),
    "too_many_notebooks": (
        Outcome.REJECTED,
        "The folder {folder} holds more than {limit} notebooks.",
        "Hand in the lesson's .ipynb file alone.",
    ),
    "folders_too_deep": (
        Outcome.REJECTED,
        "The folder {folder} holds folders within folders, more than {limit} of them.",
        "Hand in the lesson's .ipynb file alone.",
    ),
    "no_such_exercises": (
        Outcome.REJECTED,
        "The lesson {notebook} has no exercises to grade.",
        "",
    ),
    "missing_cell": (
        Outcome.NOT_ATTEMPTED,
        "The cell of {exercise} is missing: no cell has the grade id `{exercise}`{unreadable}.",
        "Take a fresh notebook and put the kernel into the cell that is named {exercise}.",
    ),
    "other_lesson": (
        Outcome.NOT_ATTEMPTED,
        "The cell of {exercise} is missing: the notebook is that of {lesson}.",
        "Hand in the notebook of the lesson that was asked for.",
    ),
    "duplicated_cell": (
        Outcome.REJECTED,
        "{count} cells have the grade id `{exercise}` and differ, so that none of them counts.",
        "Keep one, and delete the others: a copied cell keeps the name of its original.",
    ),
    "cell_not_text": (
        Outcome.REJECTED,
        "The cell of {exercise} holds no text: its source is {got}.",
        "Take a fresh notebook and put the kernel into the cell that is named {exercise}.",
    ),
    "cell_not_unicode": (
        Outcome.REJECTED,
        "The cell of {exercise} holds half of a character (a lone surrogate) on line {line}.",
        "Delete that character and type it again.",
    ),
    "cell_too_large": (
        Outcome.REJECTED,
        "The cell of {exercise} has {size}, and the most is {limit}.",
        "A kernel needs a few lines: keep the kernel and what it uses in this cell.",
    ),
    "out_of_time": (
        Outcome.TIMED_OUT,
        "Judging {exercise} was stopped after {limit}.",
        "Check the loops: does each one end, and how often does it run?",
    ),
    "out_of_memory": (
        Outcome.NOT_MEASURED,
        "Judging {exercise} needed more than {limit} of memory and was stopped.",
        "Use smaller local and shared arrays. An instructor can raise --memory-limit.",
    ),
    "verdict_too_large": (
        Outcome.NOT_MEASURED,
        "The verdict on {exercise} would have more than {limit}.",
        "Hand in a kernel of a few lines.",
    ),
    "runner_garbage": (
        Outcome.NOT_MEASURED,
        "A launch of {exercise} answered with what is no result: {detail}.",
        "Keep to kernel code. Where you did, report it: this is a fault of the grader.",
    ),
    "runner_died": (
        Outcome.NOT_MEASURED,
        "A launch of {exercise} ended without a result ({detail}).",
        "Keep to kernel code. Where you did, report it: this is a fault of the grader.",
    ),
    "judge_died": (
        Outcome.NOT_MEASURED,
        "The judge stopped in the middle of {exercise} ({detail}).",
        "This is a fault of the grader: no points are lost for good. Grade again, and report it.",
    ),
    "judge_failed": (
        Outcome.NOT_MEASURED,
        "The judge itself failed on {exercise} ({detail}).",
        "This is a fault of the grader: no points are lost for good. Grade again, and report it.",
    ),
}

#: What came of a right kernel where the class's points hang on speed (`judge.own_gpu`).
ON_A_GPU = {
    "reached": (
        "On the class's {gpu}, {case} takes {us:.1f} us: {rate:,.4g} {unit}, {fraction:.2f} of the "
        "{most:,.4g} {unit} that {what} reaches there. The class asks there for {bands} of the "
        "points: this one keeps at most {percent:g} %."
    ),
    "wrong": (
        "On the class's {gpu} at full size, {case}, it gives another answer, and keeps at most "
        "{percent:g} % of the points. No case of the check is as large: what holds in small cases "
        "alone, an index or a number of blocks?"
    ),
    "stopped": (
        "On the class's {gpu} at full size, {case}, it came to no end ({detail}), and keeps at "
        "most {percent:g} % of the points. No case of the check is as large."
    ),
    "refused": (
        "For the class's {gpu}, on which it is timed, it does not compile, and it keeps at most "
        "{percent:g} % of the points. {detail}"
    ),
    "awaits": (
        "Part of these points hangs on its speed on a GPU ({gpu}), and it was judged without one: "
        "they can still change."
    ),
    "not_timed": (
        "Part of these points hangs on its speed on a GPU ({gpu}), and it was not timed there "
        "({detail}): they can still change."
    ),
}

#: Verdicts that say something about names, or about the zip of a class, and not about an answer:
#: they are no grades, no gradebook has them, and they take no earlier verdict's place.
HELD = frozenset({"same_name", "encrypted", "packed_badly", "packed_twice"})
#: What was handed in is no notebook that can be read: nothing in it was judged.
UNREADABLE = frozenset(
    {
        *("link", "not_a_file", "unreadable", "too_large", "encrypted", "packed_badly"),
        *("packed_twice", "other_file", "empty_file", "another_kind", "not_utf8", "not_json"),
        *("not_finite", "too_deep", "not_a_notebook", "old_format", "too_many_cells"),
        *("too_heavy_to_read", "no_graded_cells", "no_notebook", "too_many_files"),
        *("too_many_notebooks", "folders_too_deep", "no_such_exercises"),
    }
)
#: No cell is that exercise's: where that is so of all, an editor may have lost the cells' names.
WITHOUT_CELL = frozenset({"missing_cell", "other_lesson"})

#: Verdicts that say something about the grader and not about the answer: judged again next time.
JUDGED_AGAIN = frozenset(
    {
        *("judge_died", "judge_failed", "not_measured", "runner_died"),
        "unreadable",  # a disk's word, or the file has gone since the folder was looked through
        *("no_triton", "tile_canary", "tile_interpreter"),  # a machine that cannot measure
    }
)


class RunnerLostError(Exception):
    """The runner is gone, or says what no runner says. The judge needs another one."""


class Fault(Exception):
    """A submission, or one cell of it, that cannot be judged: a message id and live values."""

    def __init__(self, message_id: str, **fields: object) -> None:
        super().__init__(message_id, fields)
        self.message_id = message_id
        self.fields = fields

    @property
    def outcome(self) -> Outcome:
        return SENTENCES[self.message_id][0]

    @property
    def sentence(self) -> str:
        """What happened."""
        return SENTENCES[self.message_id][1].format_map(self.fields)

    @property
    def next_step(self) -> str:
        """What to do about it, or ''."""
        return SENTENCES[self.message_id][2].format_map(self.fields)

    def __str__(self) -> str:
        return f"{self.sentence} {self.next_step}".strip()


def size_text(size_bytes: int) -> str:
    """`20.0 MB`, `0 bytes`."""
    for factor, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.1f} {unit}"
    return f"{size_bytes} bytes"
