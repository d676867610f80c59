"""Why a kernel races or leaves its arrays: what `course.check.causes` has found in its text.

The rules of `course.words.sentences`, which takes these in, hold here too. Each is told only where
the text and the fault agree.
"""

from __future__ import annotations

CAUSES: dict[str, tuple[str, str]] = {
    # ------------------------------------------------------------ out of bounds
    "bounds_negative": (
        "The index is `{written}`.",
        "Is it the index that you meant? If it is: which threads have no such element?",
    ),
    "bounds_equal": (
        "The guard compares `{name}` with `{limit}` and lets {value} through: {array} has {have}, "
        "and the last is {last}.",
        "Counting starts at 0. Which comparison leaves {value} out?",
    ),
    "mask_equal": (
        "The mask `{test}` holds for {index}, too, and elements are counted from 0.",
        "Which comparison leaves {index} out?",
    ),
    "mask_free": (
        "The address goes with `{free}`, and the mask `{mask}` sets no end to it|, only to "
        "`{tested}`|.",
        "Can `{free}` run past its end? Each block of numbers that can needs a comparison of its "
        "own, joined by `&`.",
    ),
    "mask_missing": (
        "The load has no mask, and line {used} takes `{call}` of what it gives.",
        "Mask what does not exist, with an `other` that leaves the result as it is: "
        "|`tl.load({pointer}, mask={test}, other={other})`|"
        "|`tl.load(..., mask=..., other={other})` with a mask that sets an end to {blocks}|.| "
        "Line {tested} has this test already.|",
    ),
    "mask_absent": (
        "The {doing} on line {line} has no mask.",
        "Mask the elements that do not exist|: `tl.{doing}(..., mask={test})`|"
        "|, with a comparison that sets an end to {blocks}|.| Line {tested} has this test "
        "already.|",
    ),
    "mask_wide": (
        "The mask `{test}` lets `{name}` run up to {last}, and {array} has {have}|, one "
        "every `{times}` elements|.",
        "Which is wrong, the index or the mask? `{name}` has to stay below the number of places "
        "that it counts, and to be multiplied by the distance from one of them to the next.",
    ),
    "mask_loaded": (
        "The mask `{test}` lets `{name}` run as far as `{limit}` says, a number that line {line} "
        "loads, and {array} has {have}|, one every `{times}` elements|.",
        "What does `{limit}` count, and has {array} a place for each of these? Work out by hand "
        "which place the last `{name}` needs.",
    ),
    "mask_untested": (
        "{array} has {have}|, one every `{times}` elements|: `{name}` counts them, and the "
        "mask `{mask}` does not test it.",
        "Can `{name}` be {size} or more? A program that has no such place has nothing to do: it "
        "leaves, or its mask is false.",
    ),
    "offset_distance": (
        "`{name}` is multiplied by `{times}`, {distance} here; along its axes, the elements of "
        "{array} lie {apart} apart.",
        "How far is it in {array} from one `{name}` to the next? Multiply by that distance.",
    ),
    "offset_part": (
        "|`{name}` is {number} in this program||The mask `{test}` lets `{name}` run up to {last}|, "
        "and times `{times}` that is {value}: past the end already. Along its axes, the elements "
        "of {array} lie {apart} apart.",
        "How far is it in {array} from one `{name}` to the next? If it is `{times}`, `{name}` "
        "counts too far, or the launch has too many programs.",
    ),
    "offset_loaded": (
        "The address goes with `{name}`, a number that comes from memory|: line {loaded} loads it "
        "from `{place}`|.",
        "|Work out by hand which element line {loaded} loads in this program: is it the one that "
        "is meant? |Such a number may lie below 0, or past the end: test it in the mask, on both "
        "sides, before it is multiplied or added to anything.",
    ),
    "launch_before": (
        "This kernel only loads {array}: a launch before it has to store it|, as line {store} "
        "does|.",
        "Which program should have stored this element|, and did it come to line {store}, with a "
        "mask that holds|? What no program stores, the launcher has to allocate with "
        "`torch.zeros`.",
    ),
    "block_axes": (
        "A block pointer has no mask: the axes that `boundary_check` names are checked|, here "
        "`{checked}`|.",
        "Which axis of the block reaches past the tensor's end? It has to stand in "
        "`boundary_check`, and its length in the `shape` that `tl.make_block_ptr` is given.",
    ),
    "bounds_wide": (
        "The guard compares `{name}` with `{limit}`, which lets up to {most} through: {array} has "
        "{have}.",
        "Which number does `{name}` have to stay below?",
    ),
    "bounds_side": (
        "`{name}` is compared with `{limit}`, which lets up to {most} through, and stands where "
        "{array} has {have}.",
        "Is this the place of `{name}` in the index? Then the guard has the wrong side; if not, "
        "the index has.",
    ),
    "bounds_or": (
        "The guard `{test}` lets a thread through where one of its comparisons holds.",
        "An element exists where all of them hold: which word says that?",
    ),
    "bounds_bitwise": (
        "The guard `{test}` is no two comparisons joined: `{joined}` is worked out first, and "
        "compared with what stands on either side of it.",
        "Write `and` between two comparisons, or put each of them in brackets.",
    ),
    "bounds_beside_guard": (
        "The guard is about `{name}`, and the index is `{written}`, which is {value} here.",
        "Is it the index that you meant? If it is, `{written}` needs a guard, not `{name}` alone.",
    ),
    "bounds_free_part": (
        "The index is `{written}`: the line is guarded for `{name}`, and nothing guards `{free}`.",
        "Each number that can run too far needs a guard of its own.",
    ),
    "bounds_loop": (
        "`{name}` comes from the loop on line {loop}, over `{over}`, and {array} has {have}.",
        "Work out the last `{name}` of the loop by hand. Where should it end, for this array?",
    ),
    "bounds_index": (
        "The index `{written}` is {value} for this thread, and {array} has {have}.",
        "There is an element for this thread, so the index needs mending, not the guard: work it "
        "out by hand for the first thread and for this one.",
    ),
    "bounds_cell": (
        "The index `{written}` is {value} for this thread, and {array} has {have}, counted from 0.",
        "Is {array} as long as it has to be? If it is, work out the index by hand for this thread.",
    ),
    "bounds_no_guard": (
        "The launch has {threads} threads along {axis}, {array} has {have}, and nothing keeps the "
        "other threads from this line.",
        "Which threads have an element to work on? Put the line under an `if` on `{written}`| and "
        "on {also}||, and give `{cell}` a value for the others, too|.",
    ),
    "bounds_block_each": (
        "The launch has {blocks} blocks along {axis}, as many as {array} has {whats}, and "
        "`{written}` counts threads: {value} here.",
        "Is each of the {whats} one thread's, or one block's? Which number says which block it is?",
    ),
    "bounds_no_test": (
        "The index is `{written}`, {array} has {have}, and no `if` keeps larger numbers from this "
        "line.",
        "Which numbers exist? Put the line under an `if` on `{written}`|, and give `{cell}` a "
        "value for the others, too|.",
    ),
    "bounds_test": (
        "The test `{test}` lets this thread through with `{written}` = {value}, and {array} has "
        "{have}.",
        "Work out the test by hand for this thread: what should it compare?",
    ),
    "bounds_one_side": (
        "The line is guarded for `{guarded}`, and nothing guards `{written}`: {array} has {have}.",
        "Both numbers need a guard, each with its own side of the array.",
    ),
    "bounds_own_array": (
        "Each block has an array {array} of its own, with {have}, and `{written}` counts on from "
        "block to block.",
        "Which number says where a thread stands in its own block?",
    ),
    "bounds_small_array": (
        "A block has {threads} threads along {axis}, and {array} has {have}.",
        "Should {array} have a place for each thread, or should fewer threads come to this line?",
    ),
    # ------------------------------------------------------------ races in global memory
    "race_all_loop": (
        "Every thread runs the loop on line {loop} from its start: nothing in `{written}` says "
        "which thread it is.",
        "All threads run the same lines. Which elements are to be one thread's alone, and where in "
        "the index does its number stand?",
    ),
    "race_one_cell": (
        "The index `{written}` is the same for every thread.",
        "Which thread is to write {array}[{index}]? If each one has an element of its own, its "
        "number belongs in the index.",
    ),
    "race_one_a_block": (
        "The index `{written}` is the same for all threads of a block, and all of them come to "
        "this line.",
        "Let one thread of the block do it: `if cuda.threadIdx.x == 0:`.",
    ),
    "race_some_of_block": (
        "The index `{written}` is the same for all threads of a block, and `{test}` lets several "
        "of them come to this line.",
        "Is `{written}` the number that you meant? If it is, let one thread of the block do it.",
    ),
    "race_among_atomics": (
        "A plain load or store must not fall among the atomics of other threads.",
        "Which has to come first? In a block `cuda.syncthreads()` between the two lines makes the "
        "other threads wait for it; between blocks nothing does, within one launch.",
    ),
    "race_values_of_block": (
        "The index `{written}` is the same for all threads of a block, and each stores a number of "
        "its own: one of them stays.",
        "What is to become of the others: are they to be added up first? Then let one thread store "
        "what came of it.",
    ),
    "race_parts": (
        "The index has no cuda.{of}Idx.{axis}: several of them have a part of this element, and "
        "each overwrites what the others left.",
        "Parts of one sum meet by `cuda.atomic.add`.",
    ),
    "race_no_thread": (
        "The index `{written}` is the same for all threads of a block.",
        "Where in the index does the thread's own number stand?",
    ),
    "race_repeats": (
        "The index `{written}` is made of cuda.threadIdx, which starts at 0 in each block: it "
        "repeats from block to block.",
        "What has to be added, so that block 1 goes on where block 0 ends?",
    ),
    "race_axis": (
        "The two differ along {axis} alone, and the index has no cuda.{of}Idx.{axis}.",
        "The launch has more than one axis: `cuda.grid(2)` gives a number along each.",
    ),
    "race_clamped": (
        "`min` sends all threads past the end to the last element.",
        "Threads without an element should do nothing: guard the line with an `if`.",
    ),
    "race_rows_overlap": (
        "Rows are taken to begin {by} elements apart, and have {wide} columns or more: one row's "
        "later columns are the next row's first.",
        "How many elements lie between the first of one row and the first of the next?",
    ),
    "race_grid_for_block": (
        "Blocks begin {by} elements apart, and each has {threads} threads: "
        "cuda.gridDim counts the blocks of the grid.",
        "How many elements lie between the first of one block and the first of the next?",
    ),
    "race_overlap": (
        "Blocks begin {by} elements apart, and each has {threads} threads: "
        "neighbouring blocks overlap.",
        "How many elements lie between the first of one block and the first of the next?",
    ),
    "race_more_each": (
        "Blocks begin {by} elements apart along {axis}, and each thread has more than one: a "
        "block's later elements are the next block's first.",
        "How many elements does a block have along {axis}, with all that its threads store?",
    ),
    "race_shared_number": (
        "`{part}` is the same number for {by} neighbouring threads, and all of them come to this "
        "line.",
        "If one of them is to do it, which? Put the line under an `if`. If each has an element of "
        "its own, the index goes on by one from thread to thread.",
    ),
    "race_step": (
        "The loop steps by {by}, and the grid has {threads} threads: one comes to "
        "elements where another began.",
        "How far apart are a thread's first element and its second, if no other thread is to have "
        "the second?",
    ),
    "race_in_place": (
        "`{one}` and `{two}` are two elements of one array: one thread overwrites what another one "
        "has still to read.",
        "Keep a copy first: every thread of the block brings its element into shared memory, all "
        "wait at a barrier, and then they write.",
    ),
    "race_in_place_blocks": (
        "`{one}` and `{two}` lie in two blocks' parts of one array, and no barrier spans blocks: "
        "one block overwrites what another one has still to read.",
        "Let each block read and write its own part alone.",
    ),
    "race_of_all_blocks": (
        "All blocks share {array}, and its first values are there before the kernel starts: where "
        "one thread stores or reads `{written}`, another one changes it.",
        "Leave {array} alone but for `cuda.atomic.add({array}, {written}, ...)`, by which the "
        "parts of all blocks meet.",
    ),
    "race_two_lengths": (
        "`{one}` and `{two}` are two elements of one array, and differ in `{this}` and `{that}` "
        "alone: one thread overwrites what another one has still to read.",
        "Is it one element that a thread reads and writes? Then which of the two says how far "
        "apart rows begin in memory?",
    ),
    "race_adds_up": (
        "The line reads {array}[{index}], adds and writes; between the two another thread can "
        "write, and its part is lost.",
        "Several threads add to one element here: `cuda.atomic.add({array}, {written}, ...)`.",
    ),
    # ------------------------------------------------------------ races in shared memory
    "race_shared_adds_up": (
        "The line reads {array}[{index}], adds and writes; between the two another thread can "
        "write, and its part is lost.",
        "Several threads may meet at one cell: `cuda.atomic.add({array}, {written}, ...)`.",
    ),
    "race_shared_cell": (
        "The index `{written}` is one and the same for both threads.",
        "All threads of a block share {array}. Work out the index by hand for both: how would each "
        "get a cell of its own?",
    ),
    "race_shared_as_own": (
        "No index of {array} says which thread it is: each thread uses {array} as its own, and "
        "all threads of a block share it.",
        "`cuda.local.array` gives each thread an array of its own. If the threads are to share "
        "{array}, where in the index does a thread's number stand?",
    ),
    "race_shared_fewer": (
        "The index `{written}` is one and the same for both threads.",
        "Let each cell have one thread that stores it: which threads would that be? Put the line "
        "under an `if`.",
    ),
    "race_shared_two_lines": (
        "Two lines fill one cell.",
        "Which of them is {array}[{index}] meant for? Work out both indices by hand. If it is "
        "meant for both, one after the other, a barrier has to stand between.",
    ),
    "tile_race_axis": (
        "Nothing in the offset goes with tl.program_id({axis}): all programs that differ there "
        "store to the same place.",
        "Is each of them to have a place of its own? Then its number belongs in the offset. If "
        "they have parts of one sum, these meet by `tl.atomic_add`, or in a second launch.",
    ),
    "tile_race_masked": (
        "The mask ends `{name}` with the row: the two mean the same element.",
        "Which numbers tell the two programs apart, and what does each make of them? Work the "
        "first offset out by hand for both. If they have parts of one sum, these meet by "
        "`tl.atomic_add`, or in a second launch.",
    ),
    "tile_race_overlap": (
        "Programs begin {apart} apart, and a block has {length}: neighbours overlap.",
        "How many elements lie between the first of one program and the first of the next?",
    ),
    "race_no_barrier_in_loop": (
        "The loop on line {loop} has no barrier: in its next turn a thread reads what another one "
        "writes in this turn.",
        "Put `cuda.syncthreads()` into the loop, where every thread of the block passes it in each "
        "turn.",
    ),
    "race_next_turn": (
        "Line {line} writes in the next turn of the loop on line {loop} what other threads still "
        "read on line {other_line}.",
        "A barrier has to stand behind line {other_line}, in the loop: nobody may write the next "
        "values before all have read these.",
    ),
    "race_only_a_warp": (
        "`cuda.syncwarp()` on line {waits} orders the lanes of one warp, and these two threads are "
        "in two warps.",
        "What makes all warps of the block wait?",
    ),
    "race_read_and_written": (
        "The line reads `{read}` and then writes `{written}`, and what one thread reads another "
        "one writes.",
        "All read first, into a variable; then a barrier (`cuda.syncwarp()` where it is one warp "
        "alone); then all write. Or only those threads write whose cell no other one reads.",
    ),
    "race_in_a_warp": (
        "The two threads are lanes of one warp, and lanes wait for each other only where they are "
        "told to.",
        "For lanes of one warp `cuda.syncwarp()` between the two accesses is enough.",
    ),
    "race_barrier_sometimes": (
        "The barrier on line {waits} stands under `{test}`: not every turn of the loop on line "
        "{loop} has it.",
        "In the turns without it a thread reads what another one writes. What makes them wait "
        "there?",
    ),
    # ------------------------------------------------------------ cells that nobody has written
    "own_array": (
        "A local array is each thread's own, and line {store} fills `{written}` of it.",
        "Is {array}[{index}] another thread's? What threads give each other lies in "
        "`cuda.shared.array`, and a barrier stands between storing and reading.",
    ),
    "cell_adds_up": (
        "`+=` on `{written}` reads the cell before it writes it, and shared memory starts with "
        "whatever it held.",
        "Add up in a variable that starts at 0, and store it into `{written}` once.",
    ),
    "cell_never_cleared": (
        "An atomic on {array}[{index}] changes what is there, and shared memory starts with "
        "whatever it held.",
        "Which threads set {array} to its first values, and what makes all others wait for them?",
    ),
    "cell_of_no_thread": (
        "Line {store} alone writes {array}, one cell a thread, and the block has {threads} threads "
        "here.",
        "Which cells are there to read with so many threads? Work out the index on this line for "
        "them.",
    ),
    "cell_guarded": (
        "Line {store} alone writes {array}, and only where `{test}` holds.",
        "Is this the cell that the thread should read? If it is: what should stand there where the "
        "test does not hold? A thread for which it does not has to write that.",
    ),
    "cell_left": (
        "Threads for which `{test}` holds do not come to line {store}, which alone writes {array}.",
        "What should stand in the cell of a thread that has no element? It has to write that, and "
        "to come to the barriers.",
    ),
    "barrier_left": (
        "Threads for which `{test}` holds leave by `{word}` on line {line}, and do not come to the "
        "barrier below it.",
        "Put the work under the opposite test instead, so that every thread goes on to the "
        "barrier.",
    ),
    "barrier_in_own_loop": (
        "The loop on line {loop} runs by `{test}`, which is not the same for all threads: some "
        "make more turns than others.",
        "Let all threads of the block make the same number of turns, and guard the work inside the "
        "loop alone.",
    ),
    # ------------------------------------------------------------ work in one warp
    "serial_one_thread": (
        "|The loop on line {loop}||Line {line}| runs under `{test}`: one thread walks alone, and "
        "the others wait.",
        "Which part of its walk could each of the others take?",
    ),
}
