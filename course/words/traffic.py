"""Why a kernel asks for too much: what `course.check.traffic_causes` has found.

The rules of `course.words.sentences`, which takes these in, hold here too. Each is told only where
the text and the measured accesses agree.
"""

from __future__ import annotations

TRAFFIC: dict[str, tuple[str, str]] = {
    # ------------------------------------------------------------ lanes of a warp
    "traffic_one_lane": (
        "Line {line} runs under `{test}`: one lane of a warp asks at a time, and each request pays "
        "for a whole sector.",
        "Which elements could the other lanes take? Neighbouring lanes on neighbouring elements "
        "share their sectors.",
    ),
    "traffic_rows_apart": (
        "`{part}`, the first index in `{written}`, goes with cuda.threadIdx.x: neighbouring lanes "
        "are {by} elements apart.",
        "Neighbours in memory differ in the last index. What should cuda.threadIdx.x count, so "
        "that a warp {doing} them together?",
    ),
    "traffic_turned": (
        "`{part}`, the first index in `{written}`, goes with cuda.threadIdx.x: neighbouring lanes "
        "are {by} elements apart. `{other}` has the two indices the other way round.",
        "Here either the load or the store walks a column. What could hold a tile while it turns?",
    ),
    "traffic_lanes_apart": (
        "From one lane to the next `{written}` goes on by {by} elements: of each sector a request "
        "uses {used} of 32 bytes.",
        "The 32 lanes ask together, turn by turn. Which element should each take in a turn, so "
        "that the 32 lie side by side?",
    ),
    "traffic_straddles": (
        "From row to row `{written}` goes on by {by} elements, {bytes} bytes: no whole number of "
        "sectors, so rows begin inside of one.",
        "Which row length, at least as long, is a multiple of 32 bytes?",
    ),
    # ------------------------------------------------------------ again
    "traffic_again": (
        "Line {second} loads again what line {first} has loaded: `{written}`.",
        "Put what line {first} got into a variable, and use that.",
    ),
    "traffic_again_in_a_loop": (
        "Line {second} loads again, in a loop of its own, what line {first} has loaded: "
        "`{written}`.",
        "What could be worked out, or kept, while line {first} has the elements at hand?",
    ),
    "traffic_stored_again": (
        "Line {second} stores `{written}` again, where line {first} has stored|; line {back} loads "
        "it back in between|.",
        "Only the last store counts|: keep the value in a variable until then{near}|.| What could "
        "the loop around line {apart} load or work out once more, in the place of storing it?|",
    ),
    "traffic_load_both_ways": (
        "The `if` on line {parting} has two ways, and on each a line of its own loads `{written}`: "
        "lines {first} and {second}.",
        "Load it once, above the `if`.",
    ),
    "traffic_store_both_ways": (
        "The `if` on line {parting} has two ways, and on each a line of its own stores "
        "`{written}`: lines {first} and {second}.",
        "Give a variable its value there, and store it once, behind the `if`.",
    ),
    "traffic_second_launch": (
        "`{one}` loads {array}, and `{two}` loads it again.",
        "Could one kernel do the work of both, while it has the elements?",
    ),
    "traffic_between_launches": (
        "`{one}` stores {array} to memory, and `{two}` loads it back.",
        "Could one kernel do the work of both, while it has the values?",
    ),
    "traffic_launches": (
        "`{one}` is launched {times} times, and each launch loads {array} from its start.",
        "Could one launch do the work of all, while it has the elements?",
    ),
    # ------------------------------------------------------------ loops
    "traffic_load_in_a_loop": (
        "Nothing in `{written}` changes in the loop on line {loop}: each of its turns loads the "
        "same elements.",
        "Could they be loaded once, above that loop, or could that loop stand inside?",
    ),
    "traffic_store_in_a_loop": (
        "Nothing in `{written}` changes in the loop on line {loop}: each of its turns stores to "
        "the same element.",
        "Keep the value in a variable, and store it once, after the loop.",
    ),
    "traffic_atomic_in_a_loop": (
        "Nothing in `{written}` changes in the loop on line {loop}: each of its turns sends an "
        "atomic to the same element.",
        "Add up in a variable, and let one atomic take the sum, after the loop.",
    ),
    # ------------------------------------------------------------ other threads
    "traffic_clamped": (
        "`{how}` gives threads past the end an element that another thread has: they load it "
        "again, and have no use for it.",
        "A thread without an element should load nothing: guard line {line} with an `if`.",
    ),
    "traffic_of_all_threads": (
        "Nothing in `{written}` goes with cuda.threadIdx.{axis}: the {threads} threads of a block "
        "along {axis} load the same elements.",
        "Each element could come into shared memory once, and all threads of the block take it "
        "from there.",
    ),
    "traffic_of_all_blocks": (
        "Nothing in `{written}` goes with cuda.blockIdx.{axis}: the {blocks} blocks along {axis} "
        "load the same elements.",
        "What if a block made more of the output with them? Then fewer blocks would ask.",
    ),
    "traffic_window": (
        "What a thread loads as `{written}` in one turn of the loop on line {loop}, other threads "
        "load in other turns: each sector is asked for {times} times.",
        "Each element could come into shared memory once, and all threads of the block take it "
        "from there.",
    ),
    "traffic_own_atomic": (
        "`{written}` is one thread's own element: no other thread updates it.",
        "An atomic is for elements that several threads update. Add up in a variable, and store "
        "once.",
    ),
    "traffic_atomics_of_block": (
        "All {threads} threads of a block update one element, each with an atomic of its own.",
        "Add up in the block first, in shared memory: then one atomic does for all of them.",
    ),
    # ------------------------------------------------------------ programs
    "traffic_future": (
        "The loop on line {loop} goes over all tiles, and `{test}` then switches off those beyond "
        "the diagonal: they are loaded for nothing.",
        "Which tiles does this program's own piece need? Begin or end the loop there.",
    ),
    "traffic_near_diagonal": (
        "Programs load the same elements of {array}, {times} times in all. The loop on line {loop} "
        "begins or ends by the program's number, and `{test}` switches off what lies beyond.",
        "Does the last tile of the loop on line {loop} hold anything that `{test}` lets through? "
        "If it does: with a larger piece for each program there are fewer programs to read it.",
    ),
    "tile_load_in_a_loop": (
        "Nothing in the address on line {line} changes in the loop on line {loop}: each of its "
        "turns loads the same elements of {array}.",
        "Load them once, above that loop.",
    ),
    "tile_store_in_a_loop": (
        "Nothing in the address on line {line} changes in the loop on line {loop}: each of its "
        "turns stores to the same elements of {array}.",
        "Keep the value in a variable, and store it once, after the loop.",
    ),
    "tile_atomic_in_a_loop": (
        "Nothing in the address on line {line} changes in the loop on line {loop}: each of its "
        "turns sends atomics to the same elements of {array}.",
        "Add up in a variable, and let one atomic take the sum, after the loop.",
    ),
    "tile_of_all_programs": (
        "Nothing in the address on line {line} goes with program_id({axis}): programs that differ "
        "there load the same elements of {array}, {times} times in all.",
        "Has the grid more programs there than there are tiles? If not, a tile that is longer "
        "along that axis needs fewer programs, and so fewer readings.",
    ),
    "tile_short": (
        "Each sector of {array} is asked for {times} times, once for each tile of {tile} along "
        "{side} places.",
        "A tile that is twice as long is met half as often. How long does the task say that it is?",
    ),
    "tile_one_number": (
        "Line {line} takes one number of {array} at a time|, in the loop on line {loop},| and pays "
        "for a whole sector.",
        "Could a program take several neighbours at once, as a block of `tl.arange`?",
    ),
    "tile_block_apart": (
        "Neighbours in the block that line {line} takes of {array} are {by} elements apart in "
        "memory.",
        "A block takes neighbours where `tl.arange` is added as it is: what should it count here?",
    ),
    "serial_loop": (
        "The loop on line {loop} runs from its start to its end in one program.",
        "Which of its turns could other programs take? Then it is an axis of the grid.",
    ),
    "serial_part": (
        "The loop on line {loop} ends by the program's number: each program has a part.",
        "Which number says how long a part is? With shorter ones there are more programs, and each "
        "has fewer turns.",
    ),
    "serial_one_program": (
        "The loop on line {loop} runs under `{test}`: other programs do not come to it.",
        "Which of its turns could each of the others take?",
    ),
}
