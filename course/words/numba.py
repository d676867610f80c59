"""What a learner reads about a Numba kernel: a sentence and a next step a message.

The rules of `course.words.sentences`, which takes these in, hold here too.
"""

from __future__ import annotations

_RANGE_NEXT = (
    "Which threads have an element to work on? Guard the line with an `if` on the index, "
    "and check how the index is made."
)
_SHARED_NEXT = (
    "Put `cuda.syncthreads()` between the two accesses, where every thread of the block "
    "passes it; or give each thread a cell of its own.| Both are on line {one_line}: the barrier "
    "belongs between two turns of its loop, or between its read and its write.|"
)
_GLOBAL_NEXT = (
    "Work out the index by hand for both: should each thread have an element of its own? Only "
    "where each has a part of one sum do they meet by `cuda.atomic.add` (lesson 03). "
    "`cuda.syncthreads()` orders the threads of one block; nothing orders two blocks."
)

SIMT: dict[str, tuple[str, str]] = {
    # ------------------------------------------------------------ what Numba or a launch refuses
    "type_error": (
        "Numba cannot compile this line: {detail}.",
        "Check the types on this line: what each value is, and what the operation takes.",
    ),
    "float_index": (
        "Numba cannot compile this line: the index `{index}` is {type}, not a whole number. Line "
        "{made} makes `{name}` with `/`, which gives a float.",
        "Write `//` on line {made}: of whole numbers it gives a whole number.",
    ),
    "numba_compiles": (
        "Numba compiles this kernel, and this line is not run here|: {detail}|.",
        "Write the line another way, with numbers and elements of arrays, or ask your instructor.",
    ),
    "numba_not_asked": (
        "This line is not run here|: {detail}|. Whether Numba compiles it was not found out.",
        "Check the types on this line: what each value is, and what the operation takes.",
    ),
    "numba_not_made": (
        "{name} holds what is not handed to Numba's compiler here.",
        "Write it without types in the decorators of its device functions.",
    ),
    "no_nvvm": (
        "Numba finds no NVVM on this machine, which compiles kernels.",
        "Install it: pip install nvidia-cuda-nvcc-cu12",
    ),
    "numba_has": (
        "Numba compiles {construct}, and it is not run here.",
        "Instead: {instead}.",
    ),
    "iterator": (
        "What `zip`, `enumerate` or `iter` gives can be gone through once, and here it is gone "
        "through again, or in a loop that it was made in front of. Numba compiles this, and it is "
        "not run here.",
        "Call it in the head of the loop that goes through it.",
    ),
    "raised": (
        "Thread {thread} of block {block} raises an exception in `{name}`. On a GPU it ends there, "
        "and nobody is told unless the kernel has `debug=True`; in a function that a kernel calls, "
        "that is not run here.",
        "Which argument brings it there? If it may come there, ask in the kernel, with `if` and "
        "`return`.",
    ),
    "lock": (
        "Threads wait here for another one, and that is not run here: all threads go in step, so "
        "the one that they wait for may wait for them.",
        "A GPU may run this. Instead of a lock, let an atomic do the work: cuda.atomic.add, .max, "
        ".cas. Instead of a flag, make a second launch.",
    ),
    "array_choice": (
        "One name stands for several arrays, and that is not run here: {what}.",
        "Numba compiles this. Give each array a name of its own here, or put each into a branch.",
    ),
    "dynamic_shared_types": (
        "{array} takes bytes of dynamic shared memory as {dtype} that another array takes as "
        "{other}. Numba compiles this, and it is not run here.",
        "All dynamic shared arrays of a kernel start at one address. Give each a part of its own: "
        "`cuda.shared.array(0, float32)[:n]` and `cuda.shared.array(0, int32)[n:]`.",
    ),
    "launch_element": (
        "The argument `{name}` cannot be passed here: {detail}.",
        "Pass an array of numbers: of records one for each field, of times `x.view(np.int64)`, in "
        "the place of an array without axes one of shape (1,).",
    ),
    "host_vectorised": (
        "The signature of `{name}` does not say what it returns: Numba finds that out, and that is "
        "not done here.",
        "Put the type of the result before the arguments: `float32(float32, float32)`.",
    ),
    "undefined_name": (
        "`{name}` is not defined in this cell|: {letters}|.",
        "If it stands in another cell, move {name} into this one: the check reads this cell "
        "alone, and so does the grader. If not, correct its spelling.",
    ),
    "unassigned_name": (
        "`{name}` is read here and may have no value yet.",
        "Give it a value above this line, on every path that leads here.",
    ),
    "name_of_pythons": (
        "Something of yours is called `{name}`, which Numba takes for Python's own alone.",
        "Give yours another name.",
    ),
    "type_unification": (
        "`{name}` would have two types, {first} and {second}: Numba gives a variable one.",
        "Use two names, or make both values the same type.",
    ),
    "store_to_constant": (
        "`{array}` is constant memory: a kernel can read it and cannot write it.",
        "Write to an output array, a shared array or a local array.",
    ),
    "shape_computed": (
        "|The shape of {array} is computed in the kernel: `{shape}`.| Numba takes numbers and "
        "names of numbers there, nothing computed.",
        "Give the number a name at the top of the cell, such as `SIZE = {shape}`, and use the "
        "name.",
    ),
    "shared_shape_not_constant": (
        "The shape of the shared array {array} is `{shape}`, which is not known before the launch.",
        "Give a number, or a constant of this cell: `TPB = 256` above the kernel, and "
        "`cuda.shared.array(TPB, float32)` in it.",
    ),
    "local_shape_not_constant": (
        "The shape of the local array {array} is `{shape}`, which is not known before the launch.",
        "Give a number, or a constant of this cell.",
    ),
    "too_many_threads": (
        "A block of {threads} threads: a GPU takes at most {limit} a block.",
        "Use more blocks with fewer threads each.",
    ),
    "too_many_together": (
        "{blocks} blocks of {threads} threads wait for each other, and of such blocks at most "
        "{limit} run at once on an {gpu}: no launch begins.",
        "Launch fewer blocks, and let each thread go through several elements in a loop.",
    ),
    "too_much_shared": (
        "The block asks for {bytes} bytes of shared memory, and there are {limit}.",
        "Use a smaller tile, or reuse one array for both purposes.",
    ),
    "too_much_local": (
        "The local array {array} has {elements} elements in each thread, and the most here is "
        "{limit}.",
        "Use a smaller local array: each thread has few registers.",
    ),
    "block_shape": (
        "{block} is not the shape of a block: it is one to three whole numbers, each 1 or more"
        "|, the last at most {limit}|.",
        "Write the block as a whole number, or as (x, y) or (x, y, z).",
    ),
    "grid_shape": (
        "{grid} is not the shape of a grid: it is one to three whole numbers|, at most {limit}|.",
        "Write the grid as a whole number, or as (x, y) or (x, y, z); divide with `//`, rounded "
        "up: (N + TPB - 1) // TPB.",
    ),
    "launch_configuration": (
        "The launch of `{name}` needs a grid and a block in square brackets|, and got {got}|.",
        "Write `{name}[blocks, threads](...)`: how many blocks, and how many threads in each.",
    ),
    "launch_tasks": (
        "`{name}.forall` takes the number of tasks, and got {got}.",
        "Pass a whole number: `{name}.forall(array.size)(...)`.",
    ),
    "trace_place": (
        "`{what}={place}` is not in this launch: its {whole} is {extent}, counted from 0.",
        "Name one that is there, such as `course.trace({name}, block=0, thread=3)`; where there "
        "are two axes, a pair, x first.",
    ),
    "launch_shared_bytes": (
        "{got} is not an amount of dynamic shared memory: that is a whole number of bytes.",
        "Write `kernel[grid, block, 0, bytes](...)`, with bytes = elements * itemsize.",
    ),
    "launch_keyword": (
        "The launch of `{name}` passes `{argument}` by name: a kernel takes its arguments by "
        "position.",
        "Leave out the names and keep the order of the parameters.",
    ),
    "launch_signature": (
        "The arguments do not fit `{name}`: {detail}.",
        "Write `@cuda.jit` alone, and the types come from the arguments; or convert the arrays.",
    ),
    "zero_grid": (
        "The grid {grid} has no blocks, so nothing would run.",
        "Round up when you count blocks: (N + TPB - 1) // TPB.",
    ),
    "launch_argument": (
        "The argument `{name}` cannot be passed: {detail}.",
        "Pass NumPy arrays, device arrays, torch tensors or numbers.",
    ),
    "argument_count": (
        "The kernel takes {got} arguments, {names}, and the launch passes {expected}.",
        "Pass one argument for each parameter, in order.",
    ),
    # ------------------------------------------------------------ what happens while it runs
    "out_of_bounds": (
        "{array}[{index}] does not exist: {array} has shape {shape}. "
        "|Thread {thread} of block {block} {verb} it.|",
        _RANGE_NEXT,
    ),
    "negative_index": (
        "|Thread {thread} of block {block} {verb} {array}[{index}].| An index that comes out "
        "negative is taken for a mistake here: Numba would count it from the array's end without "
        "a word.",
        _RANGE_NEXT,
    ),
    "uninitialised_shared": (
        "Thread {thread} of block {block} reads {array}[{index}] in shared memory, and no "
        "thread has written it.",
        "Find the threads that should have written {array}[{index}]: who loads it, and is "
        "that load guarded away?",
    ),
    "uninitialised_global": (
        "Thread {thread} of block {block} {access} {array}[{index}], and nothing has written it: "
        "memory from `cuda.device_array` starts as whatever was there before.",
        "Let the host fill it, `cuda.to_device(np.zeros(n))`, or have a kernel write each element "
        "before one reads it.",
    ),
    "uninitialised_local": (
        "Thread {thread} of block {block} reads {array}[{index}] in its local array before it "
        "has written it.",
        "Fill the local array first: it starts with whatever memory held.",
    ),
    "uninitialised_variable": (
        "Thread {thread} of block {block} reads `{name}` before it has a value.",
        "Give `{name}` a value above the `if` or loop that sets it.",
    ),
    "race_shared": (
        "Thread {thread} of block {block} {does} {array}[{index}] in shared memory|, on line "
        "{line}|, and {other} {other_does} it|, on line {other_line}|, with no barrier between"
        "|: {mixed}|.",
        _SHARED_NEXT,
    ),
    "race_shared_same_value": (
        "Thread {thread} of block {block} and {other} store the same value to {array}[{index}] "
        "in shared memory. The result does not depend on who comes first, "
        "and it is a race all the same.",
        "Let one thread store it: `if cuda.threadIdx.x == 0:`.",
    ),
    "race_global": (
        "Thread {thread} of block {block} {does} {array}[{index}]|, on line {line}|, and {other} "
        "{other_does} it|, on line {other_line}|. Nothing says who comes first|: {mixed}|.",
        _GLOBAL_NEXT,
    ),
    "by_order": (
        "{array}[{index}] is another number when the blocks arrive in another order. Nothing says "
        "which block comes first.",
        "What a block does must not depend on whether it is the second to arrive or the third: it "
        "may find out that it is the last, or take a lock.",
    ),
    "race_global_same_value": (
        "Thread {thread} of block {block} and {other} store the same value to {array}[{index}]. "
        "The result does not depend on who comes first, and it is a race all the same.",
        "Work out the index by hand for both: should each thread have an element of its own? "
        "Where one number is meant for several threads, one of them stores it, under an `if`.",
    ),
    "barrier_divergence": (
        "Thread {thread} of block {block} waits at `{barrier}`|, and thread {missing_thread} of "
        "its block does not come|.",
        "Move the barrier out of the `if` or loop, so that every thread of the block passes it; "
        "keep the work itself inside.",
    ),
    "grid_divergence": (
        "Thread {thread} of block {block} waits at `{barrier}`|, and thread {missing_thread} of "
        "block {missing_block} does not come|.",
        "Every thread of the grid has to pass it, those without an element, too: keep the work "
        "inside of the `if`, and the barrier and each `return` outside.",
    ),
    "bad_shuffle": (
        "Thread {thread} of block {block} reads from lane {lane} of its warp by| `{call}`|, and "
        "that lane does not take part.",
        "Let the whole warp run the shuffle, and guard only what is done with its result.",
    ),
    "bad_mask": (
        "The mask of `{call}` {mask_problem}: thread {thread} of block {block}, lane {lane} of its "
        "warp.",
        "Let the whole warp run this line, with the mask 0xFFFFFFFF.",
    ),
    "timed_out": (
        "The kernel was stopped after {steps} steps|: thread {thread} of block {block} was still "
        "in its loop|.",
        "Find the loop whose condition never becomes false: what changes it?",
    ),
    "zero_step": (
        "The step of this `range` or slice is 0: it would not move.",
        "Find out what makes the step 0; a stride is usually cuda.gridsize(1) or blockDim.x.",
    ),
    "too_large_to_run": (
        "The launch starts {threads} threads, and the most here is {limit}.",
        "Try a smaller size.",
    ),
}
