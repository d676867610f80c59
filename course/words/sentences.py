"""Every sentence a learner reads about a kernel: one template and one next step a message.

A template names live values in braces. A part between bars, ``|by thread {thread}|``, is left
out where one of its values is not known, so that no sentence ever fails. `course.engine.faults`
says what happened, this module how it reads, `course.words.verdict` where it stands on the panel.

How values are given: `block`, `thread`, `other_block`, `other_thread`, `missing_block`,
`missing_thread`, `index` and `shape` as a number, a tuple or text ("3", "(3, 1)"), places x first,
an index in the array's order; `other_thread` and `other_block` may be "several"; `access` as
"reads" or "load"; `kind` as "earlier access/this access": "write/read" is a read of what another
thread wrote. `line` is the fault's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from course.words.causes import CAUSES
from course.words.gpu import GPU
from course.words.notes import NOTES
from course.words.numba import SIMT
from course.words.patterns import PATTERNS
from course.words.phrasing import filled, shown
from course.words.refusals import REFUSALS
from course.words.traffic import TRAFFIC
from course.words.triton import INSTEAD, TILE


class Words(NamedTuple):
    """What happened, and what to do next. Both are templates."""

    text: str
    next: str


_CELL_NEXT = (
    "The check reads this cell alone: put imports, constants and @cuda.jit functions in it, "
    "and launches in another cell."
)
_REPORT = (
    "This is a fault of the course and not of your kernel: please report it, with this cell. "
    "For a developer: the traceback is in verdict.internal_error."
)

#: What the cell is: before a kernel exists.
_ADMISSION = {
    "not_attempted": Words(
        "`{name}` is as you got it: it stores nothing yet.",
        "Replace the `...` in the cell above with your code, run that cell, then this one.",
    ),
    "not_attempted_numbers": Words(
        "No entry of `{name}` is filled in yet.",
        "Replace each `...` with a number or with arithmetic, run that cell, then this one.",
    ),
    "empty_cell": Words(
        "The cell of `{name}` is empty.",
        "Define `{name}` in it. The statement shows its parameters: run `ex.{name}`.",
    ),
    "syntax_error": Words(
        "Python cannot read this line: {detail}.",
        "Look at this line and the one above it: a bracket, a colon, an operator or an indent is "
        "the usual cause.",
    ),
    "notebook_command": Words(
        "`{command}` is a command to the notebook, not Python: the grader cannot read this cell.",
        "Keep such commands out of this cell: put them in another one.",
    ),
    "thousands": Words(
        "A comma parts two entries: Python cannot read `{written}` as one number.",
        "Write `{whole}`.",
    ),
    "rejected_syntax": Words(
        "{construct} cannot stand in a kernel here.",
        "|Instead: {instead}.|",
    ),
    "rejected_name": Words(
        "`{name}` cannot be used in a kernel here|: it is {got}|.",
        "Pass it to the kernel as an argument, or make it a number in this cell.",
    ),
    "rejected_attribute": Words(
        "`{name}` cannot be used in a kernel here.",
        "|Instead: {instead}.|",
    ),
    "function_uncalled": Words(
        "`{path}` alone does nothing.",
        "Write `{path}(...)`, with what it takes between the brackets: `cuda.syncthreads()` takes "
        "nothing.",
    ),
    "rejected_foreign_name": Words(
        "`{name}` is not defined in this cell|: {letters}|.",
        "Move {name} into this cell: the check reads this cell alone, and so does the grader.",
    ),
    "missing_import": Words(
        "`{name}` is not defined in this cell.",
        "Write `{imported}` at the top of this cell: the check reads this cell alone, and so does "
        "the grader.",
    ),
    "missing_prefix": Words(
        "`{name}` is not defined in this cell.",
        "Did you mean `{path}`?",
    ),
    "rejected_import": Words(
        "`{name}` is not one of the imports that a kernel's cell may have.",
        "|Instead: {instead}.| Import from numba, math or numpy, and only what a kernel can use.",
    ),
    "rejected_top_level": Words(
        "`{construct}` stands in the cell of the kernel, outside any function.",
        _CELL_NEXT,
    ),
    "false_assertion": Words(
        "`{construct}` is false: Python stops here, and the cell defines nothing.",
        "Mend the constants, or the assertion.",
    ),
    "rejected_decorator": Words(
        "`{name}` has a decorator that this course cannot read.",
        "Write `@cuda.jit` above the kernel, or `@cuda.jit(device=True)` above a function that "
        "a kernel calls.",
    ),
    "rejected_parameter": Words(
        "The parameters of `{name}` are not all plain names.",
        "A kernel takes plain parameters: no `*args`, no keywords, and no defaults but numbers.",
    ),
    "rejected_return": Words(
        "A kernel returns no value|, and this line returns `{value}`|: nobody is there to receive "
        "it.",
        "Store the result in an output array, and end with a bare `return` or with nothing.",
    ),
    "kernel_called": Words(
        "`{name}` is a kernel, and a kernel cannot be called from another.",
        "Write `@cuda.jit(device=True)` above `def {name}` if a kernel is to call it.",
    ),
    "rejected_recursion": Words(
        "`{name}` calls itself|, by way of {path}|.",
        "Write the repetition as a loop.",
    ),
    "source_too_long": Words(
        "The cell has {characters} characters, and the most is {limit}.",
        "Keep the kernel and what it uses, and move the rest to another cell.",
    ),
    "too_much_code": Words(
        "This is too much code to compile: more than {limit} names, numbers and operations|, "
        "with all that `{name}` calls and repeats written out|.",
        "A kernel of this course has some hundreds: let functions call fewer functions, nest "
        "fewer loops, and pass long tables in as an array.",
    ),
    "odd_character": Words(
        "Character {column} of this line is {character} ({code}), which an editor does not show "
        "as what it is.",
        "Delete it: place the cursor before it and press the delete key, or type the line anew. "
        "Text in a cell is letters, spaces, tabs and ordinary line ends.",
    ),
    "source_not_text": Words(
        "The cell cannot be read: {detail}.",
        "Keep the kernel and what it uses, in plain text.",
    ),
    "rejected_constant": Words(
        "`{construct}` is not a constant that a kernel's cell may have: a number, arithmetic on "
        "numbers, or a small array of numbers.",
        "Write the number itself, for example `TPB = 256`, give a function its `def`, and move "
        "other code to another cell.",
    ),
    "rejected_signature": Words(
        "`@cuda.jit` of `{name}` declares types that no kernel has here: {detail}.",
        'A text declares them, `@cuda.jit("void(float32[:], int32)")`, or `@cuda.jit` alone: then '
        "they come from the arguments of the launch.",
    ),
    "rejected_jit_option": Words(
        "`@cuda.jit` has no option `{name}` here.",
        "Write `@cuda.jit` alone, types in a text, or one of these options with a value: "
        "{options}.",
    ),
    "not_a_kernel": Words(
        "The check got {got}, not a kernel.",
        "Pass the function itself, without brackets or quotes: `ex.{name}.check({name})`.",
    ),
    "not_jitted": Words(
        "`{name}` is a plain Python function: a GPU cannot run it.",
        "Write `@cuda.jit` on the line above `def {name}`, or `@cuda.jit(device=True)` if a kernel "
        "calls it, and run the cell again.",
    ),
    "device_function": Words(
        "`{name}` is a device function: a kernel can call it, a launch cannot.",
        "Decorate the kernel with `@cuda.jit` alone, without `device=True`.",
    ),
    "no_such_kernel": Words(
        "The cell defines no kernel named `{name}`|; it defines {found}|.",
        "Name the kernel `{name}`, with `@cuda.jit` above it.",
    ),
    "no_source": Words(
        "The source of `{name}` cannot be found, so its lines cannot be checked.",
        "Define it in a notebook cell or in a file, not through exec, and run that cell again.",
    ),
    "parameter_count": Words(
        "Parameters of `{name}`: {got}. The check passes {expected}: {names}.",
        "Write `def {name}({signature}):`.",
    ),
    "argument_order": Words(
        "The check passes {expected} in this order; your kernel names them {got}.",
        "Write the parameters in the order of the check.",
    ),
    "constant_choice": Words(
        "`{name}` is {got}, and the launch allows {choices}.",
        "Choose one of these for `{name}`.",
    ),
    "constant_not_whole": Words(
        "`{name}` is {got}, and has to be a whole number.",
        "Choose one of {choices}: written without a point, and worked out with `//`, not `/`.",
    ),
}

#: What the check finds when the kernel ran to its end.
_RESULTS = {
    "passed": Words("Right on every case|, within its budget of traffic{budgeted}|.", ""),
    "passed_numbers": Words("Every entry is right.", ""),
    "read_only_input": Words(
        "{array} is an input, and your kernel changed it: {array}[{index}] was {expected} and is "
        "{got} now.",
        "Write results only to the outputs: {outputs}.",
    ),
    "input_written": Words(
        "{array} is an input, and your kernel writes or updates it, if only with what it held.",
        "Read {array} with a plain load, and write results only to the outputs.",
    ),
    "never_written": Words(
        "{array}[{index}] was never written|; nor were {others} more of {total} elements|.",
        "Which thread should write {array}[{index}]? Work out its index by hand, and the tests on "
        "its way to the store.",
    ),
    "never_stored": Words(
        "No thread stored anything in {array}: {array}[{index}] was never written|, nor were "
        "{others} more of {total} elements|.",
        "A kernel stores with square brackets: `{array}[...] = ...`. Is there such a line, and "
        "which thread comes to it?",
    ),
    "output_read": Words(
        "{array}[{index}] is {got}: an output starts as {poison}, and your kernel reads {array} "
        "before it has written it.",
        "What should the first value be made of? It cannot be {array} itself: store with `=`, what "
        "comes of the inputs, or keep a sum in a variable and store it once.",
    ),
    "wrong_value": Words(
        "{array}[{index}]: expected {expected}, your kernel gave {got}|; {wrong} of {total} "
        "elements are wrong|.",
        "Follow the one thread that writes {array}[{index}], line by line: `course.trace` shows "
        "a thread's steps.",
    ),
    "wrong_scalar": Words(
        "{array}: expected {expected}, your kernel gave {got}.",
        "Follow one thread, line by line: `course.trace` shows a thread's steps.",
    ),
    "too_much_traffic": Words(
        "{direction} {array}: warps ask for {requested}, and the budget is {budget}.",
        "{advice}",
    ),
    "too_much_traffic_total": Words(
        "All accesses together: warps ask for {requested}, and the budget is {budget}.",
        "{advice}",
    ),
    "unbudgeted_traffic": Words(
        "{direction} {array}: warps ask for {requested}, and the budget has no row for it.",
        "{advice}",
    ),
    "too_divergent": Words(
        "Warps disagree about a branch {got} times; the most here is {limit}.",
        "Choose the branch by warp and not by lane: all 32 lanes of a warp should take one side.",
    ),
    "bank_conflicts": Words(
        "Shared memory takes {got} extra turns for bank conflicts; the most here is {limit}.",
        "Lanes of a warp that use one bank wait for each other. What row length puts a "
        "column's cells into different banks?",
    ),
    "shared_loads_over_limit": Words(
        "Warps load from shared memory {got} times; the most here is {limit}.",
        "A load from a tile takes as long as a multiply-add. Which value, once in a register, "
        "could serve several outputs?",
    ),
    "too_serial": Words(
        "The longest warp makes {got} operations|, the most in line {line}|. An even share of "
        "what all make is {share}; the most here is {limit}.",
        "Spread the work: which threads wait while this warp loops, or which turns of its loop "
        "do nothing?",
    ),
    "too_much_work": Words(
        "The longest warp makes {got} operations|, the most in line {line}|, and the others as "
        "many, or nearly; for what a warp loads and stores here, the most is {limit}.",
        "Which of these does the result not need, and which give the same in each turn? A function "
        "such as `math.sin` counts as 20.",
    ),
    "shared_over_limit": Words(
        "A block takes {got} bytes of shared memory; the most here is {limit}.",
        "What could the threads keep in registers, or hand to each other by shuffles?",
    ),
    "extra_unknown": Words(
        "The {what} could not be measured here, and they are graded.",
        "Check on a machine where Triton's own assembler runs (Linux), or ask whoever grades.",
    ),
    "unread": Words(
        "Every value is right here, and would not be for all inputs: {counted} of {array} were "
        "read, and the result depends on all {needed}.",
        "Which elements of {array} does the kernel never look at? Work out the first and the last "
        "index by hand.",
    ),
    "unwritten": Words(
        "The result is right, and cannot have come of what was counted: {counted} of {array} were "
        "written, and it takes at least {needed}.",
        "Either something else than the kernel made it, or the counting is at fault. Where the "
        "cell is an honest one, please report it.",
    ),
    "not_measured": Words("The check itself failed on this kernel: {detail}.", _REPORT),
    "takes_long": Words(
        "{done} of {of} {parts} of this launch have run, {seconds} s after the {began} "
        "began; the others take about {left} s.",
        "Does it need so many? If not, stop it (in a notebook: Kernel, Interrupt Kernel) and look "
        "at its grid.",
    ),
    "printed_more": Words(
        "... and {more} more lines.",
        "`course.trace({name}, ...)` shows the steps of one thread alone, or of one program: "
        "`help(course.trace)`.",
    ),
}

#: Why an answer is wrong, said only where the pattern is exact.
_PATTERNS = {
    "all_zero": Words("Every element is 0.", "Is the result stored, and not only computed?"),
    "not_a_number": Words(
        "Whatever is wrong is NaN.",
        "|In float32 exp of 89 is infinite: can line {exp} get so large a number? |NaN comes of "
        "inf - inf, inf / inf, 0 / 0, 0 * inf, or a root or logarithm of a number below 0, and "
        "stays: which line makes the first one?",
    ),
    "infinite": Words(
        "Whatever is wrong is infinite, or NaN.",
        "|In float32 exp of 89 is infinite: can line {exp} get so large a number? |A number was "
        "larger than its type holds (float16 ends at 65,504), or was divided by 0, or 0 had its "
        "logarithm taken: which line makes the first one, and of which type is it there?",
    ),
    "first_block_only": Words(
        "The first {count} elements are right, one block's worth, and all later ones are wrong.",
        "Does the index count blocks? cuda.threadIdx.x starts at 0 in each block.",
    ),
    "one_round_only": Words(
        "The first {count} elements are right, one for each thread of the grid, and all later ones "
        "are wrong.",
        "There are more elements than threads. Which element does a thread take after its first?",
    ),
    "ragged_tail": Words(
        "The full blocks are right; the last, partly filled block, from {start} on, is not.",
        "What happens to the last {count} elements?",
    ),
    "transposed": Words(
        "Read row after row, the result is the transpose of what is expected.",
        "Which axis does threadIdx.x walk along, and which index of the array is that?",
    ),
    "off_by_one": Words(
        "The result is the expected one, shifted by one element.",
        "Compare the index that is read with the index that is written.",
    ),
    "reversed": Words(
        "The result is the expected one in reverse order.",
        "Compare the index that is read with the index that is written.",
    ),
    "rounded_on_the_way": Words(
        "All is right but for the last digits of {dtype}.",
        "Was a value rounded to {dtype} on the way? Compute in float32, and round once: when the "
        "result is stored.",
    ),
    "low_precision": Words(
        "The result is right to about {digits} digits, and {array} is {dtype}, which has more.",
        "Was a value kept in fewer bits than {dtype} on the way? Or were two large, nearly equal "
        "numbers subtracted?| Or is {part} left out, or taken from the wrong place?|",
    ),
    "scaled": Words(
        "Every element is {factor} times what is expected.",
        "What is counted or multiplied once too often, or never?",
    ),
    "offset": Words(
        "Every element is {by} {than} than expected.",
        "What does its sum start with, and what is added once too often, or never?",
    ),
}

#: Numbers to work out.
_NUMBERS = {
    "wrong_number": Words(
        "{name}[{key}] is not {got}.",
        "The question was: {question}",
    ),
    "badly_ranked": Words(
        "What {name}[{key}] puts first is not among the best.",
        "The question was: {question}",
    ),
    "number_missing": Words(
        "`{name}` has no entry {key}.",
        "Add it: {question}",
    ),
    "number_unfilled": Words(
        "{name}[{key}] is not filled in.",
        "The question was: {question}",
    ),
    "number_extra": Words(
        "`{name}` has an entry {key} that nobody asked for.",
        "Remove it, or correct its spelling|: did you mean {near}?|",
    ),
    "number_not_arithmetic": Words(
        "{name}[{key}] is not a number or arithmetic on numbers: {detail}.",
        "Write a number, or an expression such as `20000 / 256`.",
    ),
    "number_duplicate": Words(
        "`{name}` has the entry {key} twice.",
        "Keep one of the two.",
    ),
    "number_changed": Words(
        "This statement changes `{name}`, or may, and the check reads a cell without running it.",
        "Write the numbers into the dict itself.",
    ),
    "number_elsewhere": Words(
        "`{name}` in the newest cell that assigns it and what was passed to the check are not the "
        "same. {key}: `{there}` in the cell, `{got}` passed.",
        "The cell is what is graded: write the number there, run it, and pass `{name}` itself.",
    ),
    "not_a_dict": Words(
        "`{name}` should be a dict with one entry a question; the check got {got}.",
        "Keep the form of the cell you were given: `{name} = {{...}}`.",
    ),
    "no_such_answers": Words(
        "The cell assigns nothing to `{name}`.",
        "Keep the form of the cell you were given: `{name} = {{...}}`.",
    ),
}

#: Sentences about answers and not about kernels.
ABOUT_NUMBERS = frozenset(_NUMBERS)
#: Sentences about what a GPU has enough of, and the exercise allows less.
ABOUT_LIMITS = frozenset(
    (
        *("shared_over_limit", "registers_over_limit", "spills_over_limit", "programs_in_vain"),
        "held_out_limit",
    )
)
#: Sentences about one program that does what many should.
ABOUT_PROGRAMS = frozenset(
    (
        *("program_too_long", "program_too_busy", "program_in_vain", "turns_in_vain"),
        "held_out_program",
    )
)
#: Sentences about a launch whose kernel may be right.
ABOUT_LAUNCHES = frozenset(
    (
        *("launch_configuration", "launch_keyword", "launcher_no_grid", "tile_zero_grid"),
        *("tile_grid", "tile_grid_name", "tile_grid_number", "tile_grid_function"),
        *("held_out_launch", "tile_two_places"),
    )
)

WORDS: dict[str, Words] = {
    **_ADMISSION,
    **_RESULTS,
    **_PATTERNS,
    **_NUMBERS,
    **{
        message_id: Words(*texts)
        for message_id, texts in (
            SIMT | TILE | REFUSALS | CAUSES | PATTERNS | TRAFFIC | NOTES | GPU
        ).items()
    },
}


#: What reads otherwise for the kernels of a dialect.
_OF_DIALECT: dict[str, dict[str, Words]] = {
    "numba": {},
    "triton": {message_id: Words(*texts) for message_id, texts in INSTEAD.items()},
}


def words_of(message_id: str, dialect: str = "numba") -> Words | None:
    """Both templates of a message, as a dialect has them; None for an unknown id."""
    return _OF_DIALECT[dialect].get(message_id) or WORDS.get(message_id)


def sentence(message_id: str, fields: Mapping[str, object], dialect: str = "numba") -> str:
    """What happened, as a sentence with live values. An unknown id gives a sentence too."""
    words = words_of(message_id, dialect)
    if "detail_id" in fields:  # another message tells the detail, where nothing else does
        inner = {name: value for name, value in fields.items() if name != "detail_id"}
        said = inner.get("detail") or sentence(str(fields["detail_id"]), inner).rstrip(".")
        fields = {**inner, "detail": said}
    if words is None:
        values = ", ".join(f"{name} {shown(value)}" for name, value in fields.items())
        return f"{message_id.replace('_', ' ')}{': ' if values else ''}{values}."
    return filled(words.text, fields)


def next_step(message_id: str, fields: Mapping[str, object], dialect: str = "numba") -> str:
    """What to do next, or '' where there is nothing to say."""
    words = words_of(message_id, dialect)
    return "" if words is None else filled(words.next, fields)
