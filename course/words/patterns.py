"""Why an answer is wrong: what all its cases say together (`course.check.tutor`).

The rules of `course.words.sentences`, which takes these in, hold here too. Each is told only where
it holds in every element of every case. What is asked of the values that an element is made of
(`{needed}`) is asked only where they were worked out: elsewhere the mistake's own question stands.
"""

from __future__ import annotations

PATTERNS: dict[str, tuple[str, str]] = {
    "any_order": (
        "On line {line} `{call}` lets the compiler choose the order of the elements: here they "
        "come backwards.",
        "Does what follows hang on that order? Then use `tl.reshape` without `can_reorder`, or "
        "`tl.join` and `tl.permute`.",
    ),
    "strides_unread": (
        "It is right in every case in which all is stored by rows, and wrong with {stored} stored "
        "by columns.",
        "Which stride belongs to which index? Neither of an array's two is always 1.",
    ),
    "flag_unread": (
        "It is right in every case in which `{flag}` is false, and wrong in every one in which it "
        "is true.",
        "Which lines of yours does `{flag}` change, and is each of them right for a tile in which "
        "some elements count and others do not?",
    ),
    "flag_unasked": (
        "It is right in every case in which `{flag}` is true, and wrong only where it is false.",
        "Which lines of yours belong to `{flag}` alone, and does each of them ask for it?",
    ),
    "bare_exponential": (
        "Some results are NaN or infinite, and line {exp} takes exp of numbers as they come: in "
        "float32 exp of 89 is infinite, and exp of -104 is 0.",
        "What can be subtracted first, so that no exponent is above 0?",
    ),
    "half_alone": (
        "It is right in every case of float32 numbers: only cases of float16 are wrong.",
        "Which numbers on the way are float16, too? It holds nothing beyond 65,504 and 11 bits of "
        "each number: turn what is loaded into float32 before you compute.",
    ),
    "tf32_alone": (
        "It is right in every case of float16 numbers: only cases of float32 are wrong.",
        "`tl.dot` on line {line} takes float32 as TF32, with 11 of its 24 bits: "
        '`input_precision="ieee"` keeps all of them.',
    ),
    "left_as_it_was": (
        "What is wrong still holds what it held before the launch.",
        "Which thread or program should change {array}[{index}]? Work out its index by hand.",
    ),
    "steps_over": (
        "From one thread to the next `{written}` on line {line} goes on by {by}.",
        "Which thread should store the elements between? If each has one of its own, the index "
        "goes on by one.",
    ),
    "text_twice": (
        "The cell defines `{name}` on line {line} and again on line {last}: the last one is taken.",
        "Which of the two do you mean? Delete the other one.",
    ),
    "text_anew": (
        "Line {line} gives `{name}` a new value in each turn of the loop on line {loop}: of all "
        "turns the last one's is left.",
        "What is to become of what the turns before have made: is it added to, `+=`, or kept where "
        "it is the larger?",
    ),
    "text_stored_anew": (
        "Line {line} stores into the same place, `{name}`, in each turn of the loop on line "
        "{loop}: of all turns the last one's is left.",
        "Is each turn to have a place of its own? If the turns have parts of one sum, add it up in "
        "a variable, and store that once, behind the loop.",
    ),
    "text_unchanged": (
        "`{name}` starts as {value} on line {line}, the loop on line {loop} uses it, and no line "
        "gives it another value.",
        "What should a turn of the loop leave in `{name}` for the next one?",
    ),
    "text_by_ones": (
        "The loop on line {loop} counts `{name}` up by 1, and line {line} takes the whole block "
        "`{block}` from there on: neighbouring turns take nearly the same elements.",
        "How far is it from the first element of one turn to the first of the next?",
    ),
    "text_left": (
        "Threads for which `{test}` holds leave on line {line}, before the barrier on line "
        "{waits}, and so never come to `{stored}` on line {store}.",
        "Has such a thread an element to store there? Put the work above the barrier under the "
        "opposite test, and let every thread go on.",
    ),
    "text_compared": (
        "Line {line}, `{written}`, compares with `==` and stores nothing.",
        "Write one `=`: `{target} = ...`.",
    ),
    "text_x_for_rows": (
        "`cuda.grid(2)` on line {line} gives x first, and that is `{name}`, which goes from row to "
        "row in `{index}`.",
        "Along x neighbouring lanes lie, and this launch covers the columns: which of `{name}` and "
        "`{other}` comes from x?",
    ),
    "text_one_apart": (
        "`{written}` on line {line} goes on by 1 along both axes.",
        "How far is it in memory from one row to the next? Multiply the one that counts rows by "
        "that.",
    ),
    "text_unused": (
        "No line of `{kernel}` uses `{name}`, which is passed to it.",
        "Where does `{name}` belong: into an address, a mask, a bound, or the result?",
    ),
    "text_alike": (
        "No line uses `{name}`, which the loop on line {line} counts: each of its turns loads the "
        "same elements.",
        "Where does `{name}` belong: into which index or address?",
    ),
    "text_late": (
        "The loop on line {line} begins at `{begin}`, a step behind the first place: what lies "
        "before that gets no turn of it.",
        "Is the first step done in front of the loop? If not, where does the loop begin?",
    ),
    "text_in_vain": (
        "Line {line} works out `{name}`, and no line uses it.",
        "Where does `{name}` belong: into an address, a mask, or the result?",
    ),
    "text_exponent": (
        "Line {line} takes exp of `{written}`, and `{larger}` is never below `{smaller}`: the "
        "factor is 1 or more, and grows without end.",
        "A largest number that grows makes what was summed up before smaller: which of the two is "
        "subtracted from which?",
    ),
    "text_maximum_added": (
        "Line {line} takes exp of `{written}`, and `{largest}` is a largest number: with it added, "
        "the exponent may be twice as large.",
        "exp(s - m) * exp(m) is exp(s), and s - m is never above 0: which sign does that leave?",
    ),
    "text_not_rescaled": (
        "Line {line} adds to `{name}` what is made with the new maximum of line {newer}, and what "
        "`{name}` holds was made with the maximum before it.",
        "By which factor does every exp change when the maximum grows from the old one to the "
        "new? Multiply `{name}` by it first.",
    ),
    "text_arguments": (
        "The launch on line {line} passes `{given}` where `{kernel}` takes `{parameter}`, and has "
        "a parameter `{own}`, too.",
        "Compare the order of the arguments with that of the kernel's parameters.",
    ),
    "text_grid": (
        "`{kernel}` takes tl.program_id({axis}) times `{step}`, and number {axis} of the grid on "
        "line {line} is `{written}`.",
        "Numbers of a grid are counted from 0. Which of them counts pieces of `{step}`?",
    ),
    "slip_last_step_lost": (
        "In every case it is what comes of leaving out the last step of {label} along {name}'s "
        "{where}, filled or not.",
        "Where does the loop end? A `range` stops before its end.",
    ),
    "slip_step_by_one": (
        "In every case it is what comes of steps of {label} along {name}'s {where} that begin one "
        "element apart.",
        "The loop counts steps: which element does step number k begin at?",
    ),
    "misplaced": (
        "Most of what is wrong is right in another place: {array}[{index}] has what belongs to "
        "{array}[{other}].",
        "Compare the place for which a value is worked out, and what it is made of, with the place "
        "to which it is stored.",
    ),
    # ------------------------------------------------------------ what a slip would give
    "slip_known": (
        "In every case that is what this slip gives: {said}.",
        "Which line of yours does that?",
    ),
    "slip_output": (
        "In every case it is what {other} should be.",
        "Which of the outputs is stored, or returned, in which place?",
    ),
    "slip_swapped": (
        "In every case it is what {one} and {other} would give if they changed places.",
        "Which of the two belongs where?",
    ),
    "slip_instead": (
        "In every case it is what comes of {taken} in the place of {meant}.",
        "Which line should take {meant}, and what does it take?",
    ),
    "slip_forgotten": (
        "In every case it is what would come of {name} = {value} everywhere.",
        "Where does {name} enter your formula?",
    ),
    "slip_tiles_turned": (
        "In every case it is what comes of {name} with each square tile of {label} transposed in "
        "itself.",
        "By which index does a tile's row go where it is stored, and by which where it is read?",
    ),
    "slip_apart": (
        "In every case it is what comes of taking {name}'s {where} to lie {apart} elements apart.",
        "How many elements of {name} are there from one to the next? As many as its later axes "
        "have together.",
    ),
    "slip_first_alone": (
        "In every case it is what {name}'s first {where} in the place of every other one gives.",
        "Where in the address of {name} does the {where}'s number stand?",
    ),
    "slip_shifted": (
        "In every case it is what `{name}{there}` in the place of `{name}[i]` gives.",
        "Compare the index at which {name} is read with the one that is written.",
    ),
    "slip_last_left_out": (
        "In every case it is what comes of leaving out the last of {name}'s {where}.",
        "Where does the loop or the mask end? `range(n)` and `i < n` both reach n - 1.",
    ),
    "slip_first_left_out": (
        "In every case it is what comes of leaving out the first of {name}'s {where}.",
        "Where does the loop start? Counting starts at 0.",
    ),
    "slip_whole_steps": (
        "In every case it is what comes of the whole steps of {label} along {name}'s {where}, "
        "without the rest.",
        "How many steps does a length take that is no multiple of it? Round up, and guard the last "
        "one.",
    ),
    "slip_first_step": (
        "In every case it is what {name}'s {where} give as far as {label} reaches, without all "
        "later ones.",
        "Who comes to the later ones: is there a loop, and does its index move on?",
    ),
    "slip_last_step": (
        "In every case it is what the last step of {label} along {name}'s {where} gives, without "
        "the earlier ones.",
        "Is the sum kept from step to step, or does each step begin anew?",
    ),
    "slip_but_first_step": (
        "In every case it is what {name}'s {where} give without the first step of {label}.",
        "Where does the loop start, and what does its first turn add?",
    ),
    "slip_every_second_step": (
        "In every case it is what comes of every second step of {label} along {name}'s {where}.",
        "By how much does the loop move on, and how much does one turn take?",
    ),
    "slip_same_step": (
        "In every case it is what comes of {name}'s first {label} {where} in every step.",
        "What moves on from step to step: is it in the index?",
    ),
    "slip_stride": (
        "In every case it is what comes of each thread going on by {step} along {name}'s {where}: "
        "most of them count several times.",
        "How far is it from a thread's element to its next one, if all threads of the grid have "
        "one in between? `cuda.gridsize(1)` counts them.",
    ),
    "slip_other_stride": (
        "In every case it is what comes of each thread going on by {step} along {name}'s {where}, "
        "whatever the grid: elements are left out, or count several times.",
        "How far is it from a thread's element to its next one, if all threads of the grid have "
        "one in between? `cuda.gridsize(1)` counts them.",
    ),
    "slip_to_the_end": (
        "In every case it is what comes of parts of {label} along {name}'s {where} that each go on "
        "to the end of all: the later ones count several times.",
        "Where does a part end? There the next one begins.",
    ),
    "slip_parts_to_the_end": (
        "In every case it is what comes of {label} parts along {name}'s {where} that each go on to "
        "the end of all: the later ones count several times.",
        "Where does a part end? There the next one begins.",
    ),
    "slip_seams": (
        "In every case it is what comes of parts of {label} along {name}'s {where} that each go on "
        "to the end of their last step of {step}: at the seams some count twice.",
        "Where does a part end? Mask its last step there, or make its length a multiple of the "
        "step.",
    ),
    "slip_seams_of_parts": (
        "In every case it is what comes of {label} parts along {name}'s {where} that each go on to "
        "the end of their last step of {step}: at the seams some count twice.",
        "Where does a part end? Mask its last step there, or make its length a multiple of the "
        "step.",
    ),
    "slip_rest_of_parts": (
        "In every case it is what comes of dealing {name}'s {where} out to {label} parts in whole "
        "steps of {step}, without the rest.",
        "Who has the rest? Round a part's length up, and let the last part be shorter.",
    ),
    "slip_number": (
        "In every case it is what would come of {name} = {value}.",
        "Where does {name} enter your formula?",
    ),
    "slip_whole_number": (
        "In every case it is what would come of {name} without its fraction.",
        "Where is {name} made a whole number?",
    ),
    "slip_truncated_input": (
        "In every case it is what would come of {name} without its fractions.",
        "Where is an element of {name} made a whole number?",
    ),
    "slip_unchanged": (
        "The array holds what it held before the launch.",
        "Is what is stored the new value, and stored where it belongs?",
    ),
    "slip_sign": (
        "Every element has the right size and the other sign.",
        "What is subtracted from what?",
    ),
    "slip_truncated": (
        "Every element is the expected one without its fraction.",
        "Where does a value become a whole number: by `int`, `//`, or an array of whole numbers?",
    ),
    "slip_reciprocal": (
        "Every element is 1 over what is expected.",
        "What is divided by what?",
    ),
    "slip_squared": (
        "Every element is the square of what is expected.",
        "Which power is asked for, and is a root missing?",
    ),
    "slip_unrooted": (
        "Every element has the right sign and the square of the expected size.",
        "Which power is asked for, and is a root missing?",
    ),
    "slip_exponential": (
        "Every element is e to the power of what is expected.",
        "Is a logarithm missing?",
    ),
    "slip_logarithm": (
        "Every element is the logarithm of what is expected.",
        "Is an exponential missing?",
    ),
    "slip_factor": (
        "Every element is {factor} times what is expected, in every case.",
        "Where is something divided by a length, or multiplied: once too often, or never?",
    ),
    "slip_times": (
        "In every case it is {factor} times what is expected.",
        "What is counted or multiplied once too often, or never?",
    ),
    "slip_base": (
        "Every element is {factor} times what is expected.",
        "That is the factor between the logarithms to the bases e and 2. Which base is asked for?",
    ),
    # ------------------------------------------------------------ where it is wrong
    "place_last": (
        "The last {what} alone is wrong, in every size that is.",
        "Which thread or program has the last {what}, and does its guard or its loop stop one "
        "before?",
    ),
    "place_first": (
        "The first {what} alone is wrong, in every size that is.",
        "Which thread or program has the first {what}, and what is different there?",
    ),
    "place_but_first": (
        "The first {what} alone is right, in every size that has more.",
        "What does the kernel take from the first {what} for all others, too: does every offset "
        "move on?",
    ),
    "place_ends": (
        "The first and the last {what} alone are wrong.",
        "What is different at the two ends?",
    ),
    "place_near_ends": (
        "Only {what}s within 3 of the two ends are wrong.",
        "|What do they need{needed} from beyond the end, and what stands for it?|",
    ),
    "place_tail": (
        "Only the last {what}s are wrong, those that no longer fill {label} ({length}).",
        "Who has the {what}s of the last, partly filled piece?",
    ),
    "place_from": (
        "The first {what}s are right, as far as {label} ({length}) reaches, and those after it are "
        "not.",
        "Who comes to the {what}s after it: is there a loop or a grid for them, and does its index "
        "move on? And does each piece begin anew, or with what the piece before it left?",
    ),
    "place_full": (
        "Only the {what}s of the last, partly filled piece of {label} ({length}) are right.",
        "What is done for the last piece, and not for the full ones?",
    ),
    "place_tile_ends": (
        "Only the last {what} of each {each} ({length}) is wrong.",
        "|What does it need{needed} that lies beyond the end of its piece?|",
    ),
    "place_tile_starts": (
        "Only the first {what} of each {each} ({length}) but the first is wrong.",
        "|What does it need{needed} that lies before the start of its piece?|",
    ),
    "place_tile_firsts": (
        "Only the first {what} of each {each} ({length}) is wrong.",
        "What is different about the first of a piece?",
    ),
    "place_but_tile_firsts": (
        "Only the first {what} of each {each} ({length}) is right.",
        "|What do the others need{needed} of the {what}s before them, and which of these do they "
        "get?|",
    ),
    "place_tile_heads": (
        "Only the first 3 {what}s of each {each} ({length}) that has one before it are wrong.",
        "|They need{needed} what lies before the start of their piece: who brings it, from which "
        "index, and where does it lie then?|",
    ),
    "place_tile_tails": (
        "Only the last 3 {what}s of each {each} ({length}) that has one behind it are wrong.",
        "|They need{needed} what lies beyond the end of their piece: who brings it, from which "
        "index, and where does it lie then?|",
    ),
    "place_whole_tile_tails": (
        "Only the last 3 {what}s of each whole {each} ({length}) are wrong.",
        "|They need{needed} what lies beyond the end of their piece: who brings it, from which "
        "index, and where does it lie then?|",
    ),
    "place_tile_edges": (
        "Only {what}s near where two pieces of {label} ({length}) meet are wrong.",
        "|What do they need{needed} from the neighbouring piece, and who brings it?|",
    ),
    "place_second_tiles": (
        "Every second piece of {each} ({length}) is wrong, along the {what}s: number 1, 3, 5 and "
        "so on.",
        "How far apart do two neighbouring blocks or programs begin?",
    ),
    "place_odd": (
        "Every second {what} is wrong: number 1, 3, 5 and so on.",
        "Who has the {what}s of odd numbers?",
    ),
    "place_even": (
        "Every second {what} is wrong: number 0, 2, 4 and so on.",
        "Who has the {what}s of even numbers?",
    ),
    "place_axes_swapped": (
        "All that is wrong is what a launch does not reach where its x counts rows.",
        "`cuda.grid(2)` gives x first, and along x this launch covers the columns: which of your "
        "two indices comes from x?",
    ),
    "place_grid_turned": (
        "All that is wrong is what is left out where as many tiles lie one below the other as "
        "there are along a row, and the other way round.",
        "`tl.program_id(0)` counts along the first number of the grid, `tl.program_id(1)` along "
        "the second. Which of them is for rows: in the kernel, and in the grid?",
    ),
    "place_value": (
        "Wrong is what belongs to {name} = {value}, in every case that has it, and nothing else.",
        "What does your kernel make of {value}: a step that leaves it out, or a type that does not "
        "hold what comes of it?",
    ),
    "place_diagonal": (
        "Only the diagonal is wrong, where row and column are equal.",
        "Does the comparison of row and column include the diagonal?",
    ),
    "place_above": (
        "Only what lies above the diagonal is wrong.",
        "What happens where the column is larger than the row?",
    ),
    "place_below": (
        "Only what lies below the diagonal is wrong.",
        "What happens where the row is larger than the column?",
    ),
    "place_slices": (
        "Of the {what}s, {bad} is wrong and {good} right.",
        "What tells these {what}s from the others: where they lie in memory, or how much there is "
        "of each?",
    ),
    # ------------------------------------------------------------ which sizes are wrong
    "sizes_whole": (
        "It is right where {name} is a multiple of {label} ({name} = {right}), and wrong where it "
        "is not ({name} = {wrong}).",
        "What happens in the last, partly filled piece?",
    ),
    "sizes_divided": (
        "It is right where {name} is a multiple of {label} ({name} = {right}), and wrong where it "
        "is not ({name} = {wrong}).",
        "What becomes of the rest when {name} is dealt out in {label} parts?",
    ),
    "sizes_power": (
        "It is right where {name} is a power of two ({name} = {right}), and wrong where it is not "
        "({name} = {wrong}).",
        "Halve such a number by hand, step by step: what is left over?",
    ),
    "sizes_short": (
        "It is right where {name} fits into {label} ({name} = {right}), and wrong where it is "
        "larger ({name} = {wrong}).",
        "What has to happen from the second piece on: a loop, a sum that is carried over, a value "
        "that is scaled anew?",
    ),
}
