"""What a learner reads about a Triton kernel: a sentence and a next step a message.

The rules of `course.words.sentences`, which takes these in, hold here too.
"""

from __future__ import annotations

_PASSED = " In this launch `{array}` of the kernel is {passed}."

TILE: dict[str, tuple[str, str]] = {
    # ------------------------------------------------------------ the cell
    "no_triton": (
        "Triton cannot be imported here: there are wheels of it for Linux alone.",
        "Use Linux, WSL, a container (see .devcontainer) or Colab for this lesson; the Numba "
        "lessons, 00 to 05, work everywhere.",
    ),
    "unknown_target": (
        "`target={target}` names no GPU that launches can be measured for: these are {targets}.",
        "Choose one of these, or leave `target` out.",
    ),
    "tile_not_a_launcher": (
        "`{name}` is a kernel, and a launcher is asked for: a plain function that takes the "
        "inputs, makes the outputs and launches the kernel.",
        "Give the kernel another name, and write `def {name}(...)` without a decorator.",
    ),
    "constants_too_long": (
        "The constants of this cell take more than {steps} steps to work out.",
        "Write the numbers themselves, or pass them in: a constant is a few operations on numbers.",
    ),
    "tile_large_constant": (
        "A constant on this line is too large to work out: {detail}.",
        "Keep whole numbers within 64 bits, and tuples short.",
    ),
    "tile_two_readings": (
        "`{name}` cannot be written down for Triton's compiler so that it reads the same function.",
        "Write it plainly: one statement a line, no f-string, and texts without backslashes.",
    ),
    "tile_decorator": (
        "{construct} is no decorator that a check takes.",
        "Write `@triton.jit` alone above a kernel, or above it `@triton.heuristics({...})`, and "
        "above that `@triton.autotune(configs=[...], key=[...])`; a launcher needs none.",
    ),
    "tile_autotune": (
        "`{construct}` cannot be read: of `@triton.autotune` a check takes `configs`, a list of "
        "`triton.Config`, and `key`; besides, prune_configs_by, reset_to_zero and restore_value.",
        'Write `configs=[triton.Config(dict(BLOCK=b), num_warps=4) for b in (64, 128)], key=["N"]`'
        ": the check counts the first configuration, tries others, and times none.",
    ),
    "tile_heuristics": (
        "`{construct}` cannot be read: of `@triton.heuristics` a check takes a dict written out, "
        "a name and a function each, which works out a number from the launch's arguments.",
        'Write `"EVEN": lambda args: args["N"] % args["BLOCK"] == 0`, with arithmetic, '
        "comparisons, `triton.cdiv` and the like; or work it out in the launcher, and "
        "pass it by name.",
    ),
    "tile_heuristics_name": (
        "`@triton.heuristics` asks for `{name}`, and the launch passes no argument of that name.",
        "Ask for the kernel's parameters by their names in its `def`; what has a default there is "
        "not passed.",
    ),
    "tile_tuned_atomics": (
        "`{kernel}` updates memory by atomics, and `@triton.autotune` has several configurations: "
        "on a GPU Triton runs each of them to time it, and each run would add to the sums.",
        "Leave one configuration, or `@triton.jit` alone; or name each array that the atomics "
        "update in `reset_to_zero` or `restore_value`.",
    ),
    "tile_tuned_in_place": (
        "`{kernel}` reads `{name}` and overwrites it, and `@triton.autotune` has several "
        "configurations: on a GPU Triton runs each of them to time it, and all but the first "
        "would find what the one before has left.",
        "Name `{name}` in `restore_value`; or leave one configuration, or `@triton.jit` alone.",
    ),
    "tile_tuned_other": (
        "This is with `{tuned}`: a GPU may take any configuration of `@triton.autotune`.",
        "Put it first in `configs` to look at it here.",
    ),
    "tile_tuned_reset": (
        "`reset_to_zero` of `{kernel}` names `{name}`, which does not hold zeros when the kernel "
        "is launched: what it holds is lost when Triton times the configurations, and only then.",
        "Pass `torch.zeros(...)`; or name `{name}` in `restore_value` instead.",
    ),
    "tile_tuned_twice": (
        "`{name}` of `{kernel}` comes from `{wrapper}`, and the launch gives it, too|, or "
        "`{other}` does|.",
        "Leave it out of the launch; where the check launches, leave `{wrapper}` out: "
        "there is nothing to tune.",
    ),
    "launcher_count": (
        "The launcher has to return {count} tensors, {expected}, and returns {got}.",
        "End it with `return` and these names.",
    ),
    "launcher_result": (
        "The launcher has to return the tensor {name}, and returns {got}.",
        "End it with `return` and the tensor that the kernel wrote.",
    ),
    "launcher_shape": (
        "The launcher returns {name} as {got}; expected: {expected}.",
        "Check the size and the `dtype` where the output is made.",
    ),
    "launcher_strides": (
        "The launcher returns {name} with strides of {got}, and it has to be contiguous: its "
        "elements row after row, with nothing between them.",
        "Make it with `torch.empty` in the shape that is asked for, let the kernel store to where "
        "each element belongs, and return the tensor itself, no view of it.",
    ),
    "launcher_order": (
        "The launcher returns {name} as {got}; expected: {expected}. All that it returns would fit "
        "in another order.",
        "Return {order}, in this order.",
    ),
    "other_strides": (
        "In memory {array} is right, row after row; but the tensor that the launcher returns as "
        "{array} is a view with other strides, and so every element stands in another place.",
        "Make it with `torch.empty` in the shape that is asked for, without `.T` or `permute`; or "
        "pass `{array}.stride(0)` and the others to the kernel, and store with them.",
    ),
    "launcher_returns_input": (
        "The launcher returns one of its inputs, or a view of one, as {name}.",
        "Make the output with `torch.empty(...)`, and let the kernel write it.",
    ),
    "launcher_no_launch": (
        "The launcher starts no kernel.",
        "Launch the kernel: `kernel[grid](...)`.",
    ),
    # ------------------------------------------------------------ the launch
    "tile_not_jitted": (
        "`{name}` is not a Triton kernel.",
        "Write `@triton.jit` above its `def`.",
    ),
    "tile_not_gluon": (
        "`{name}` is a `@triton.jit` kernel: its compiler places every copy, barrier and wait.",
        "Here they are yours to place: write the kernel with `@gluon.jit`.",
    ),
    "tile_not_copied": (
        "Right, and line {line} has a {direction} of `{array}` by its warps' own addresses.",
        "Here a copy by TMA is asked for: `tma.async_copy_...` with a descriptor.",
    ),
    "tile_many_launches": (
        "Right, and the launcher starts {got} kernels, where {limit} is asked for.",
        "Each launch has its own cost, and a small one leaves most of a GPU idle. How does a "
        "program find out which part of all the work is its own?",
    ),
    "tile_not_divided": (
        "Right, and the warps that multiply also copy: none of them has one job.",
        "The producer alone copies, and the consumer alone multiplies: start both with "
        "`gl.warp_specialize`.",
    ),
    "tile_interpreter": (
        "Triton's own interpreter is switched on (TRITON_INTERPRET=1), so nothing can be counted.",
        "Unset TRITON_INTERPRET and restart the kernel of the notebook.",
    ),
    "tile_canary": (
        "A kernel whose counts are known gives others with Triton {version}, so nothing is "
        "measured with it.",
        "Install a version that the course names: see requirements.txt.",
    ),
    "tile_grid": (
        "{grid} is not the shape of a grid: it is one to three whole numbers|, at most {limit}|.",
        "Write it as a tuple: `kernel[(triton.cdiv(n, BLOCK),)](...)`.",
    ),
    "tile_grid_number": (
        "The grid is the number {grid}, and Triton takes a tuple.",
        "Write brackets around it, and a comma behind it: `kernel[(n,)](...)`.",
    ),
    "tile_grid_function": (
        "The function that gives the grid fails: {detail}.",
        "It gets one dict, the launch's arguments by name, and returns a tuple: `lambda meta: "
        '(triton.cdiv(n, meta["BLOCK"]),)`.',
    ),
    "tile_grid_name": (
        "The grid asks for `{name}`, and the launch passes no argument of that name.",
        "Pass it by name, `kernel[grid](..., {name}=...)`, or count the programs without it.",
    ),
    "tile_zero_grid": (
        "The grid {grid} has no programs: on a GPU nothing would run, without a word.",
        "Round up when you count programs: `triton.cdiv(n, BLOCK)`; and skip the launch where "
        "there is nothing to do.",
    ),
    "tile_too_many_turns": (
        "The launch starts {programs} programs of a kernel with locks, which run one after the "
        "other here, and the most is {limit}.",
        "Try a smaller size, or a larger block.",
    ),
    "tile_too_large": (
        "The launch starts {programs} programs, and the most here is {limit}.",
        "Try a smaller size, or a larger block.",
    ),
    "tile_idle_programs": (
        "The launch starts {programs} programs, and all its tensors together have {elements} "
        "elements: there is less than one for each program, and none is run.",
        "How many blocks has the output? Work the grid out from that: `triton.cdiv(N, BLOCK)` "
        "along each axis.",
    ),
    "tile_many_kernels": (
        "The launcher has had {limit} kernels compiled, a new one with each launch of other types "
        "or constants, and goes on.",
        "Pass what changes from launch to launch as a number, not as a `tl.constexpr`; or let one "
        "launch do the work of several, in a larger grid.",
    ),
    "tile_argument": (
        "The argument `{name}` cannot be passed: {detail}.",
        "Pass torch tensors, numbers, or a TensorDescriptor.",
    ),
    "tile_missing": (
        "`{kernel}` has a parameter `{name}`, and the launch passes nothing for it.",
        "Pass one argument for each parameter, in order or by name.",
    ),
    "tile_missing_constexpr": (
        "`{kernel}` needs the constant `{name}`, and the launch does not give it.",
        "Pass it by name: `kernel[grid](..., {name}=...)`.",
    ),
    "tile_no_parameter": (
        "`{kernel}` has no parameter `{name}`|: its parameters are {names}|.",
        "Correct the name in the launch, or add the parameter to the kernel.",
    ),
    "tile_twice": (
        "The launch gives `{name}` of `{kernel}` twice, by position and by name.",
        "Give it once.",
    ),
    "tile_trace_thread": (
        "Of a Triton kernel there is no thread to follow: a program works on whole blocks.",
        "Follow a program: `course.trace(kernel, block=2)[grid](...)`.",
    ),
    "tile_warps": (
        "A program cannot have {got} warps: it has {choices}.",
        "Choose one of these for `num_warps`: 4 suits most tiles, 8 large ones.",
    ),
    "tile_option": (
        "`{name}` of a launch cannot be {got}: it is a whole number, below 2**31.",
        "`num_stages` is 1 to 5, as a rule. Without it Triton takes 3.",
    ),
    # ------------------------------------------------------------ what Triton refuses
    "triton_refuses": (
        "Triton cannot compile this line: {detail}.",
        "Check the types and shapes on this line: which are constants (tl.constexpr), which are "
        "blocks, and what the operation takes.",
    ),
    "triton_compiler": (
        "Triton's compiler refuses this for compute capability {target}: {detail}.",
        "Check the types and shapes on this line, and what the launch asks of the compiler.",
    ),
    "tile_shared": (
        "A program needs {bytes} bytes of shared memory, and a GPU of compute capability {target} "
        "has {limit}.",
        "Use smaller blocks, or fewer stages: `num_stages=2` in the launch.",
    ),
    "tile_compile_late": (
        "Compiling `{kernel}` for compute capability {target} was stopped after {seconds} seconds "
        "of processor time.",
        "Its work grows with the elements of a block, and with the turns of a `tl.static_range`, "
        "each of which it writes out: use smaller blocks, or `range` where there is a loop.",
    ),
    "tile_loop_written_out": (
        "The compiler writes this loop out, turn by turn, and comes to more than {limit} "
        "statements and expressions.",
        "A `tl.static_range` is for a few turns, and each loop in a loop doubles what is read: use "
        "`range` where the bound need not be a constant, or fewer turns.",
    ),
    "tile_calls_written_out": (
        "The compiler puts what it calls in the place of each call, and comes to {operations} "
        "operations; the most is {limit}.",
        "A function that calls another one twice holds it twice, and so on: call it once and keep "
        "what it returns.",
    ),
    "tile_compiler_died": (
        "Triton's compiler broke off while it compiled `{kernel}` for compute capability "
        "{target}: {detail}.",
        "Try a smaller block, or write the line that you changed last another way: a compiler "
        "that breaks off is a fault of the compiler.",
    ),
    "tile_no_layout": (
        "`{call}` on this line has no layout, and Triton's compiler broke off ({detail}): in Gluon "
        "you say which thread holds which element of a block.",
        "Give it the layout of what it is added to or multiplied by, `gl.zeros(shape, dtype, "
        "layout)`: sums of a product have the product's, `gl.NVMMADistributedLayout(...)`.",
    ),
    # ------------------------------------------------------------ on other GPUs
    "tile_elsewhere": (
        "Right for compute capability 8.0, but for a {gpu} ({target}) Triton's compiler refuses "
        "`{kernel}`: {detail}.",
        "Grading compiles for 7.5, 8.0 and 9.0. A notebook's check answers after 8.0 and tells of "
        "the others with its next verdict: run it twice.",
    ),
    "tile_elsewhere_refused": (
        "On a {gpu} (compute capability {target}) `{kernel}` does not compile|, line {line}|: "
        "{detail}.",
        "Grading compiles for this GPU too: check the types and shapes on that line.",
    ),
    "tile_elsewhere_shared": (
        "On a {gpu} (compute capability {target}) `{kernel}` does not fit: a program needs {bytes} "
        "bytes of shared memory, and there are {limit}.",
        "Smaller blocks would run there, too.",
    ),
    "tile_allocator": (
        "On a GPU from compute capability 9.0 on `{kernel}` needs memory for its descriptors, or "
        'Triton says "no allocator was set".',
        "Before the launch, once: `triton.set_allocator(lambda size, alignment, stream: "
        "torch.empty(size, dtype=torch.int8, device='cuda'))`.",
    ),
    "triton_global": (
        "`{name}` stands outside the kernel and is no constant of Triton's|: it is {got}|.",
        "Write `{name}: tl.constexpr = ...` as a parameter, or `{name} = tl.constexpr(...)` "
        "above the kernel.",
    ),
    "tile_undefined": (
        "`{name}` is not defined.",
        "Correct the spelling, or pass it as a parameter.",
    ),
    "triton_foreign_call": (
        "`{name}` cannot be called in a kernel: it is not Triton's, and it has no `@triton.jit`.",
        "Use a function of `tl`, or write `@triton.jit` above your own.",
    ),
    "tile_unsupported": (
        "This engine does not run {detail}.",
        "It may well run on a GPU. Here, write it another way to have it measured.",
    ),
    # ------------------------------------------------------------ what it costs
    "dram_over_limit": (
        "In the model of an L2 cache DRAM delivers {got} bytes; the most here is {limit}.",
        "Which programs run at the same time, and how many different rows and columns of tiles "
        "do they need together?",
    ),
    "program_too_long": (
        "The longest program executes {got} statements|, the most in line {line}|; the most here "
        "is {limit}. A function such as `tl.exp` of 1,024 elements counts as 10 more.",
        "Spread the work over more programs: which loop could be an axis of the grid? Or which "
        "turns, and which functions, does the result not need?",
    ),
    "program_in_vain": (
        "The busiest program goes through blocks of {got} bytes|, the most in line {line}|. That "
        "counts lanes that a mask switches off, and no block as smaller than 128 lanes, the "
        "threads of a program. An even share of the budget is {share} bytes; the most here is "
        "{limit}.",
        "A masked lane takes its turn like any other. Which turns of a loop bring this program "
        "nothing, and could its blocks be larger?",
    ),
    "turns_in_vain": (
        "In {got} turns of loops, of all programs together, a program loads nothing and stores "
        "nothing; the most here is {limit}.",
        "A turn that is skipped has to be asked for, too. Can a program work out where its own "
        "turns begin and end?",
    ),
    "products_apart": (
        "In {got} programs no copy is under way beside most of the products: each waits for the "
        "one before, and the tensor cores for all of them.",
        "The tiles of the next steps can come while this step's are multiplied, into other "
        "buffers. Which copy could be ordered before the product of a step, or while it is made?",
    ),
    "programs_in_vain": (
        "{got} programs of the grid load nothing and store nothing; the most here is {limit}.",
        "A program that finds nothing to do has to be started, too. How many has the grid to have?",
    ),
    "filled_over_limit": (
        "The launcher fills {got} bytes with a number; the most here is {limit}.",
        "`torch.zeros` stores every element, as a kernel does. Which tensors need a value before a "
        "kernel writes them? `torch.empty` stores nothing.",
    ),
    "program_too_busy": (
        "The busiest program asks for {got} bytes|, the most in line {line}|. |{launches} launches "
        "come one after the other: eight of them count as one program. |An even share of the "
        "budget is {share}; the most here is {limit}.",
        "Spread the work over more programs: which loop could be an axis of the grid, or which "
        "tile could be smaller?",
    ),
    "registers_over_limit": (
        "A thread takes {got} registers; the most here is {limit}.",
        "A block is shared out among the threads of a program: which constant or size makes this "
        "kernel's blocks smaller? Where the cell launches, more warps share it: `num_warps=8`.",
    ),
    "spills_over_limit": (
        "{got} bytes of each thread's values do not fit in registers and go to memory; the most "
        "here is {limit}.",
        "A block is shared out among the threads of a program: which constant or size makes this "
        "kernel's blocks smaller? Where the cell launches, more warps share it: `num_warps=8`.",
    ),
    # ------------------------------------------------------------ while it runs
    "tile_out_of_bounds": (
        "Program {program} {doing} {array}[{index}], which does not exist: {array} has "
        "{held}|, shape {shape}||, strides {strides}|.| The offset was {wrapped}, and int32 ends "
        "at 2,147,483,647.||" + _PASSED + "|",
        "|Make {wrapped} in int64: `tl.program_id(0).to(tl.int64) * stride`, or whichever factor "
        "of yours it is.|"
        "|Mask the elements that do not exist, `{unmasked}`, and check how the offsets are made.|"
        "|The mask of this {masked} lets that element through. Work out offsets and mask by hand "
        "for the program that is named: which of the two is not what you meant? Or has the launch "
        "more programs than there is work for?|",
    ),
    "tile_gap": (
        "Program {program} {doing} {array} + {index}, and no element of {array} lies there: its "
        "shape is {shape}, its strides are {strides}.|" + _PASSED + "|",
        "Between two rows there may be a gap. Does the mask stop at the end of the row? And is "
        "each index multiplied by its stride, the row's number by the distance between rows, "
        "`x.stride(0)`?",
    ),
    "tile_no_tensor": (
        "Program {program} {doing} the address {address}, which lies in no tensor that was passed.",
        "Make the address from a pointer parameter plus offsets in elements.",
    ),
    "tile_askew": (
        "Program {program} {doing} the address {address}, which is no multiple of the {size} bytes "
        "of an element.",
        "A GPU stops there. Make the address from a tensor's own plus whole elements.",
    ),
    "tile_descriptor": (
        "A tensor descriptor cannot have {detail}: the hardware wants its base and its rows at "
        "multiples of 16 bytes.",
        "Pad the rows, or load through pointers.",
    ),
    "tile_box_apart": (
        "Program {program} copies a box that begins at {index}, which is no multiple of 16 bytes "
        "along the last axis: the hardware calls that an illegal instruction.",
        "Let boxes begin at multiples of {step} elements, or copy through pointers.",
    ),
    "tile_box_before": (
        "Program {program} stores a box that begins at {index}, before the tensor: the hardware "
        "calls that an illegal instruction. (A load may begin there, and finds zeros.)",
        "Begin at 0 or behind it; what lies past the end is left out by itself.",
    ),
    "tile_uninitialised": (
        "Program {program} {doing} {array}[{index}], and nothing has written it: an output, like "
        "memory from `torch.empty`, starts as whatever was there before.|" + _PASSED + "|",
        "Keep what you sum up in a variable, and store it once. Where several programs add to one "
        "element, let the launcher allocate it with `torch.zeros`.",
    ),
    "tile_race": (
        "Program {program} {doing} {array}[{index}], and {other} {other_doing} it|, on line "
        "{other_line}|. Nothing says which program comes first.|" + _PASSED + "|",
        "Compare the offsets of the two programs: do they begin where `program_id` says, and "
        "lie a whole block apart? |Does the mask leave out columns from {columns} on, past the end "
        "of a row? In memory they are the next row's first. |Where several have to meet in one "
        "element, add with `atomic_add`, or in a second launch.",
    ),
    "tile_race_lanes": (
        "Program {program} stores two different values to {array}[{index}] with one tl.store. "
        "Nothing says which of them stays.",
        "Check the offsets: each element of the block needs a place of its own; sum the block "
        "first, or use tl.atomic_add.",
    ),
    "tile_race_warps": (
        "Warp {warp} of program {program} {doing} {array}[{index}], and {other} {other_doing} it|, "
        "on line {other_line}|, with no barrier between. Nothing says which warp comes first.",
        "Keep the block in a variable: of one that is loaded again, the elements may lie in other "
        "warps. Where they have to change lanes through memory, write `tl.debug_barrier()` between "
        "the two, or use a second launch.",
    ),
    "tile_by_order": (
        "{array}[{index}] is another number when the programs arrive in another order. Nothing "
        "says which program comes first.",
        "What a program does must not depend on whether it is the second to arrive or the third: "
        "it may wait for another one, or find out that it is the last.",
    ),
    "tile_timed_out": (
        "The kernel was stopped after {steps} statements|: program {program} was in turn {turn} of "
        "this loop|.",
        "When does the loop's condition become false: what changes it in each turn?",
    ),
    "tile_waits": (
        "Program {program} waits in this loop for {array}[{index}], and every other program has "
        "ended or waits, too: it was stopped after {steps} statements.",
        "Which program changes that element, and does each one reach its atomic without waiting "
        "for one that waits for it?",
    ),
    "tile_barrier_waits": (
        "Program {program} waits here for the end of a phase of parity {parity}, and nothing is "
        "left that could end it: the barrier|, made on line {made_line},| waits for {missing}.| "
        "So do the warps on line {others}.|",
        "Count what arrives at the barrier, and the bytes that are copied, beside what it was told "
        "to expect. Its first phase has parity 0, the next one 1; a wait for parity 1 before any "
        "phase has ended goes through at once.",
    ),
    "tile_barrier_uninitialised": (
        "Program {program} uses a barrier here that nothing has initialised: it holds whatever the "
        "program before has left there.",
        "Which barrier is it, and where is its `mbarrier.init`? Each one of a ring needs its own.",
    ),
    "tile_barrier_early": (
        "Program {program} uses a barrier's next phase here, and the one before may still go on: "
        "in it {doing}|, on line {other_line}|, and nothing has waited for the end of that.",
        "What comes too early counts for the phase before: a GPU ends the kernel with an error, or "
        "waits for ever. Which wait tells that the phase has ended? It stands before this line.",
    ),
    "tile_shared_race": (
        "In program {program} {doing} shared or tensor memory that {other}|, on line "
        "{other_line}|: nothing has waited for the end of that.",
        "An asynchronous copy or product has ended when its barrier, or its own wait, says so. "
        "Which wait belongs between the two lines?",
    ),
    "tile_shared_unwritten": (
        "In program {program} {doing} shared or tensor memory that nothing has written so far: it "
        "holds whatever the program before has left there.",
        "Which line brings what is read here, and does a wait stand between the two? A product "
        "adds to what is in tensor memory, unless it is told `use_acc=False`.",
    ),
    "tile_shared_at_the_end": (
        "Program {program} ends while {doing} shared or tensor memory: nothing has waited for "
        "that, and another program may have the memory by then.",
        "Wait for every copy and product before the end; and order none that nobody will use.",
    ),
    "tile_shared_index": (
        "Program {program} takes buffer {index} where there are {count}: they are numbered from 0.",
        "In a ring step k lies in buffer `k % STAGES`; the remainder of a number below 0 is no "
        "buffer.",
    ),
    "tile_many_turns": (
        "The kernel was stopped after {steps} statements: program {program} was in turn {turn} of "
        "the {turns} of this loop.",
        "How many turns should it take? A block of values does many elements at once, and a loop "
        "walks from tile to tile: `for start in range(0, N, BLOCK)`.",
    ),
    "tile_assertion": (
        "Program {program} fails the kernel's own assertion|: {message}|.",
        "Find out which value breaks it: `tl.device_print` shows one.",
    ),
    "tile_assumption": (
        "The compiler is told to assume what is not so in program {program}: of that it may draw "
        "any conclusion, and a GPU's results are anybody's guess.",
        "`tl.assume` checks nothing. Which value breaks it: `tl.device_print` shows one.",
    ),
    "tile_hint": (
        "By what the kernel says of its offsets, a lane takes {count} elements of {array} at once, "
        "and in program {program} from {array}[{index}] on, which is no multiple of {count}: a GPU "
        "stops there.",
        "Check each `tl.multiple_of` and `tl.max_contiguous` before this line for the sizes of "
        "this case: the compiler believes what they say.",
    ),
    "tile_attribute": (
        "`{name}` is not among what a kernel of this course may use.",
        "|Did you mean `{near}`?||Instead: {instead}.| What `tl` has to move blocks and to compute "
        "on them is all there.",
    ),
    # ------------------------------------------------------------ the launcher
    "launcher_syntax": (
        "{construct} cannot stand in a launcher here.",
        "|Instead: {instead}.| A launcher works out sizes, allocates, and launches kernels.",
    ),
    "launcher_name": (
        "`{name}` cannot be used in a launcher here|: it is {got}|.",
        "A launcher uses numbers, torch's allocations, triton.cdiv and the kernels and functions "
        "of its cell.",
    ),
    "launcher_attribute": (
        "`{name}` cannot be used in a launcher here.",
        "|Instead: {instead}.||Did you mean `{near}`?| A launcher works out sizes, allocates, and "
        "launches kernels.",
    ),
    "launcher_computes": (
        "`{construct}` works on a tensor's elements in the launcher, where no traffic is counted: "
        "the kernel must do the work.",
        "|Instead: {instead}.| Let a kernel load the elements, compute, and store them.",
    ),
    "launcher_keeps": (
        "`{construct}` changes what stands outside of the function: a launcher keeps nothing from "
        "one call to the next.",
        "Make in the function what it needs, each time that it is called.",
    ),
    "launcher_copies": (
        "`{construct}` would have to copy the tensor, and no kernel would do it.",
        "Pass the tensor as it is, and its strides beside it: `x.stride(0)`, `x.stride(1)`.",
    ),
    "launcher_device": (
        "`{construct}` makes a tensor that does not lie on the GPU: a kernel could not reach it.",
        "Pass `device=x.device` of an argument, or use `torch.empty_like(x)`.",
    ),
    "launcher_memory": (
        "The launcher allocates {bytes} bytes, and the most here is {limit}.",
        "Check the shape of what it allocates.",
    ),
    "launcher_value": (
        "`{construct}` has no value: {detail}.",
        "Work out by hand what each name on this line holds; `print` it in a launch of your own.",
    ),
    "launcher_index": (
        "`{construct}`: there is no item {index}, since there are {items}.",
        "Counting starts at 0: does the tensor have as many axes as you think?",
    ),
    "launcher_unpack": (
        "There are {got} values for {expected} names.",
        "Write one name for each value: a tensor of two axes gives `M, N = x.shape`.",
    ),
    "launcher_arguments": (
        "`{name}` takes {expected} arguments|: {names}|; this call passes {got}|, and nothing for "
        "{missing}|.",
        "Pass one argument for each parameter, in order or by name.",
    ),
    "launcher_no_grid": (
        "`{name}` is called like a function, without a grid.",
        "Say how many programs to start: `{name}[grid](...)`.",
    ),
    "tile_two_places": (
        "`{here}` lies on the CPU and `{there}` on the GPU: one launch cannot reach both.",
        "Take `{here}` to the GPU, `{here} = {here}.cuda()`, or make all of them on the CPU: then "
        "the launch runs on the course's engine.",
    ),
    "launcher_option": (
        "A launch cannot set `{name}` here.",
        "Beside the kernel's parameters a launch sets num_warps, num_stages or maxnreg.",
    ),
    "launcher_assert": (
        "The launcher's own assertion fails: `{construct}`|: {message}|.",
        "The arguments of this case are valid: make the launcher take them.",
    ),
    "launcher_raises": (
        "The launcher raises {name}|: {message}|.",
        "The arguments of this case are valid: make the launcher take them.",
    ),
    "launcher_recursion": (
        "`{name}` calls functions that call functions without end.",
        "Write the repetition as a loop.",
    ),
    "launcher_timed_out": (
        "The launcher was stopped after {steps} steps.",
        "Find the loop whose condition never becomes false: what changes it?",
    ),
}

_CELL_NEXT = (
    "The check reads this cell alone: put imports, constants, @triton.jit kernels and launchers "
    "in it, and calls in another cell."
)
_FOLLOW = "Follow the program that writes it, line by line: `course.trace` shows a program's steps."

#: What reads otherwise for a Triton kernel than for a Numba one, by the id of its message.
INSTEAD: dict[str, tuple[str, str]] = {
    "low_precision": (
        "The result is right to about {digits} digits, and {array} is {dtype}, which has more.",
        "Was a value kept in fewer bits than {dtype} on the way?| {dot} takes float32 inputs as "
        'TF32 unless it is told `input_precision="ieee"`, and of a sum of products, such as '
        "`tl.sum(a[:, :, None] * b[None, :, :], 1)`, the compiler makes a tl.dot.| Or were two "
        "large, nearly equal numbers subtracted?| Or is {part} left out, or taken from the wrong "
        "place?|",
    ),
    "zero_step": (
        "The step of this `range` is 0: the loop would not move.",
        "|Write the step that each turn makes in the place of {written}: a block's length, say.||"
        "Which argument of the launch makes `{step}`? A block's length, say, and that is 0 here.|",
    ),
    "no_such_kernel": (
        "The cell defines no function named `{name}`|; it defines {found}|.",
        "Name it `{name}`: the check looks for that name.",
    ),
    "not_a_kernel": (
        "The check got {got}, and no function.",
        "Pass the function itself, without brackets or quotes: `ex.{name}.check({name})`.",
    ),
    "rejected_top_level": (
        "`{construct}` stands in the solution cell, outside any function.",
        _CELL_NEXT,
    ),
    "rejected_import": (
        "`{name}` is not one of the imports that this cell may have.",
        "|Instead: {instead}.| Import torch, triton, triton.language or math, and only what a "
        "kernel or its launcher can use.",
    ),
    "never_written": (
        "{array}[{index}] was never written|; nor were {others} more of {total} elements|.",
        "Which program should write {array}[{index}]? Work out its offsets and its mask by hand.",
    ),
    "never_stored": (
        "No program stored anything in {array}: {array}[{index}] was never written|, nor were "
        "{others} more of {total} elements|.",
        "A kernel stores with `tl.store({array}_pointer + offsets, values, mask=...)`. Is there "
        "such a line for {array}, and which program comes to it?",
    ),
    "wrong_value": (
        "{array}[{index}]: expected {expected}, your kernel gave {got}|; {wrong} of {total} "
        "elements are wrong|.",
        _FOLLOW,
    ),
    "wrong_scalar": ("{array}: expected {expected}, your kernel gave {got}.", _FOLLOW),
    "too_much_traffic": (
        "{direction} {array}: programs ask for {requested}, and the budget is {budget}.",
        "{advice}",
    ),
    "too_much_traffic_total": (
        "All accesses together: programs ask for {requested}, and the budget is {budget}.",
        "{advice}",
    ),
    "unbudgeted_traffic": (
        "{direction} {array}: programs ask for {requested}, and the budget has no row for it.",
        "{advice}",
    ),
    "unwritten": (
        "The result is right, and cannot have come of what was counted: {counted} of {array} were "
        "written, and it takes at least {needed}.",
        "Is a part of it what `torch.zeros` left there? Then store that part in the kernel, too. "
        "If not, the counting is at fault: please report it, with this cell.",
    ),
    "all_zero": (
        "Every element is 0.",
        "Is the result kept, and stored? If it is, look for what makes it 0: a product with 0, a "
        "type of whole numbers that cuts fractions off, or one over a number too large for its "
        "type.",
    ),
    "transposed": (
        "Read row after row, the result is the transpose of what is expected.",
        "Which offsets run along the rows, and which along the columns?",
    ),
    "shared_over_limit": (
        "A program takes {got} bytes of shared memory; the most here is {limit}.",
        "Use smaller blocks, or fewer stages.",
    ),
}
