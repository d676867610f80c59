"""Triton's refusals in words: `course.engine.triton.compiling.complaints` tells which is which."""

from __future__ import annotations

#: Two templates a message: see `course.words.triton`.
REFUSALS: dict[str, tuple[str, str]] = {
    "tile_power_of_two": (
        "The length of a block has to be a power of two, and a block of this line has "
        "another|: {got}|.",
        "Take the next power of two|, {power}|, which `triton.next_power_of_2(n)` gives, as a "
        "`tl.constexpr`, and mask the elements past the end.",
    ),
    "tile_arange_constant": (
        "`tl.arange` takes whole numbers that are known when the kernel is compiled.",
        "Write `BLOCK: tl.constexpr` among the parameters and pass a whole number for it; a size "
        "that changes from launch to launch belongs in the mask.",
    ),
    "tile_arange_empty": (
        "`tl.arange(start, end)` of this line has no elements.",
        "`end` has to be larger than `start`: which number does the launch pass for the block's "
        "length?",
    ),
    "tile_block_too_large": (
        "A block of {got} elements is more than a program can have: the most is {limit}.",
        "Give each program a smaller block, and start more programs or walk in a loop.",
    ),
    "tile_not_a_pointer": (
        "`{name}` takes a pointer, and gets a number or a block of type {got}.",
        "Give it a tensor's parameter plus offsets: `tl.load(x_ptr + offsets)`. If it is one, "
        "then the launch passes a number in its place.",
    ),
    "tile_pointer_as_number": (
        "This line computes with a pointer as with a number.",
        "A tensor arrives in the kernel as a pointer: load from it first, `tl.load(x_ptr + "
        "offsets)`. Where a number is meant, the launch has to pass one: `x.shape[0]`, "
        "`x.stride(0)`.",
    ),
    "tile_pointer_and_float": (
        "This line computes with a pointer and a float: elements are counted in whole numbers.",
        "Is it an offset? `/` gives a float, `//` of whole numbers a whole one. Is the element "
        "meant that lies there? Load it first, `tl.load(x_ptr + offsets)`.",
    ),
    "tile_descriptor_stride": (
        "The last stride of a tensor descriptor is the constant 1, and here it is another number, "
        "or one that the launch alone knows.",
        "Neighbours along a descriptor's last axis are neighbours in memory. What may lie in "
        "another order, load at its addresses: `tl.load(pointer + rows * stride, mask=...)`.",
    ),
    "tile_pointers_added": (
        "This line adds two pointers.",
        "Load from each, and add what was loaded: `tl.load(x_ptr + offsets)`.",
    ),
    "tile_assigns_element": (
        "An element of a block or of a tensor cannot be assigned.",
        "Store to memory with `tl.store(out_ptr + offsets, values, mask=...)`, or choose between "
        "two blocks with `tl.where`.",
    ),
    "tile_indexes_pointer": (
        "Brackets do not read memory here: a pointer is one address, and a block has no single "
        "elements.",
        "Load with `tl.load(x_ptr + offsets, mask=...)`.",
    ),
    "tile_range": (
        "`range` gives a `for` its numbers, one after the other: it is no block of values.",
        "A block of whole numbers is `tl.arange(0, BLOCK)`.",
    ),
    "tile_wrong_kind": (
        "This line gets {got}, where Triton needs a number, a block or a pointer.",
        "Where does it come from? An argument of the launch (a Python number: `int(n)`, "
        "`x.shape[0]`), or a function that returns nothing.",
    ),
    "tile_layout_is_constant": (
        "This line gives a layout a name: while the kernel runs there are no layouts.",
        "Say that the name is a constant: `name: gl.constexpr = gl.{layout}(...)`.",
    ),
    "tile_call_lacks": (
        "`{name}` is called on this line without {missing}.",
        "`tl.arange(0, BLOCK)` takes a start and an end, `tl.program_id(0)` an axis, `tl.load` a "
        "pointer, `tl.store` a pointer and values: `help(tl.{name})` shows what it takes.",
    ),
    "tile_lacks_layout": (
        "`{name}` is called on this line without `layout`: in Gluon you say which thread, or which "
        "place of shared memory, holds which element.",
        "In registers, `buffer.load(layout)`, that is a `gl.BlockedLayout` or the product's "
        "layout; in shared memory the descriptor's, `a.layout`, and of barriers "
        "`mbarrier.MBarrierLayout()`.",
    ),
    "tile_call_keyword": (
        "`{name}` takes no argument `{argument}`.",
        "Leave `{argument}` out, or correct its spelling: `help(tl.{name})` shows what it takes.",
    ),
    "tile_keyword": (
        "A call of this line takes no argument `{argument}`.",
        "|Triton calls it `{near}`.| What a call takes, `help` shows: `help(tl.sum)`.",
    ),
    "tile_one_address": (
        "The pointer of this line is one address, and its mask or its values are a block.",
        "Add the block of offsets to the pointer: `tl.load(x_ptr + offsets, mask=...)`, "
        "`tl.store(out_ptr + offsets, values, mask=...)`.",
    ),
    "tile_changes_type": (
        "`{name}` is {first} before this loop and {second} after a turn of it: a variable keeps "
        "its type and its shape through a loop.",
        "Begin with what the loop makes: `0.0` for a float, `tl.zeros((BLOCK,), tl.float32)` for a "
        "block; or reduce or convert in the loop: `tl.sum(block, axis=0)`, `.to(tl.float32)`.",
    ),
    "tile_product_under_way": (
        "`{name}` is sums at one end of this loop's turn, and at the other a product that was "
        "ordered and may not have been made: a variable keeps its kind through a loop.",
        "Let a turn begin and end alike: before the loop `warpgroup_mma_init(...)`, in it "
        "first `{name} = warpgroup_mma_wait(0, deps=({name},))`, then "
        "`{name} = warpgroup_mma(..., is_async=True)`.",
    ),
    "tile_product_for_numbers": (
        "This line is given a product that was ordered and may not have been made, and wants its "
        "sums.",
        "Wait for it first: of `total = warpgroup_mma(..., is_async=True)`, "
        "`warpgroup_mma_wait(0, deps=(total,))` gives the sums.",
    ),
    "tile_changes_constant": (
        "`{name}` is a constant before this loop, and a number of the run behind a turn of it: "
        "a number that the launch passes as 1 is a constant, and so is what a `static_range` "
        "counts.",
        "Change a name of the kernel's own: `left = {name}` before the loop, and `left` in it. "
        "Where the loop does not begin with the old value, any other name will do.",
    ),
    "tile_two_sides": (
        "The two sides of `... if ... else ...` on this line are {first} and {second}, and have to "
        "be of one type.",
        "Write both as the same kind of number (1.0 and 0.5, not 1 and 0.5), or convert one with "
        "`.to(...)`.",
    ),
    "tile_while_number": (
        "The condition of this `while` is a number, and has to be a comparison.",
        "Compare it: `while n != 0:`.",
    ),
    "tile_condition_is_a_block": (
        "The condition of this line is a block, which is neither true nor false as a whole.",
        "Choose element by element with `tl.where(condition, a, b)`; what must not be touched in "
        "memory, leave out with `mask=`.",
    ),
    "tile_no_value": (
        "`{name}` is not defined on this line.",
        "Give it a value above, outside of loops and branches: what is first assigned in a loop or "
        "in an `if` is not known behind it. If it has a value there, correct the spelling.",
    ),
    "tile_no_shape": (
        "A pointer has no shape and no length: in the kernel a tensor is the address of its first "
        "element.",
        "Use the number that the launch passes for the size, such as `N`.",
    ),
    "tile_no_length": (
        "`len` does not measure tensors and blocks.",
        "The size of a tensor is what the launch passes for it, such as `N`; that of a block is "
        "the constant that it was made with, such as `BLOCK`.",
    ),
    "tile_branches_differ": (
        "`{name}` is {first} after one side of this `if`, and {second} after the other.",
        "Give it one type and one shape on both: `1.0`, not `1`, beside a float; `n.to(tl.int64)` "
        "beside an int64; a block of `tl.zeros` beside a block. Or choose with `tl.where`.",
    ),
    "tile_mask_number": (
        "The mask of this line is a number or a block of numbers, and has to be a comparison.",
        "The second argument of `tl.load` and the third of `tl.store` are the mask: write "
        "`mask=offsets < N`. What a masked element reads as is `other=0.0`.",
    ),
    "tile_branch_in_a_combination": (
        "The function that combines two elements has an `if` or a loop, which Triton does not "
        "compile there.",
        "Choose with `tl.where(condition, a, b)`.",
    ),
    "tile_several_names": (
        "This line assigns one value to several names.",
        "Write a line for each: `a = 0`, then `b = 0`.",
    ),
    "tile_for": (
        "A `for` in a kernel walks over `range`, `tl.range` or `tl.static_range`.",
        "Count, and work the rest out from the number: `for i in tl.static_range(2)`.",
    ),
    "tile_power": (
        "Blocks and numbers of the run have no `**`.",
        "Multiply, `x * x`; a root is `tl.sqrt(x)`, any other power `tl.exp2(y * tl.log2(x))`.",
    ),
    "tile_shape_constant": (
        "The shape of a block has to be known when the kernel is compiled, and this line takes it "
        "from a number of the run.",
        "Write `BLOCK: tl.constexpr` among the parameters and pass a whole number for it; a size "
        "that changes from launch to launch belongs in the mask.",
    ),
    "tile_shape_tuple": (
        "The shape of a block is a tuple, and this line gives a number.",
        "Write `tl.zeros((BLOCK,), tl.float32)`, with the comma.",
    ),
    "tile_continue": (
        "`continue` is not part of Triton's language.",
        "Put what would be skipped under an `if`; of a block, leave elements out with a mask.",
    ),
    "tile_return_in_a_loop": (
        "A `return` cannot stand in a loop.",
        "Say in the bounds of the loop where it ends, or write `while` with the condition.",
    ),
    "tile_f_string": (
        "An f-string of a kernel takes constants, and this one gets a value of the run.",
        'Write `tl.device_print("x", x)`, with the value behind a comma.',
    ),
    "tile_block_for_a_constant": (
        "A block or a number of the run stands on this line where Triton needs a constant.",
        "Look at the arguments: `tl.max(block, axis=0)` and `tl.sum(block, axis=0)` reduce one "
        "block along a constant axis; the larger of two values is `tl.maximum(a, b)`.",
    ),
    "tile_shapes": (
        "The shapes of the blocks on this line do not fit each other: along axis {axis} one has "
        "{first} elements, the other {second}.",
        "An axis of its own for each: `rows[:, None]` is a column, `columns[None, :]` a row. "
        "`tl.sum(x, 1)` leaves a number for each row, `tl.sum(x, 0)` one for each column; a "
        "product of matrices is `tl.dot(a, b)`.",
    ),
    "tile_two_comparisons": (
        "This line compares more than two values at once; `&` binds tighter than `<`.",
        "Put each comparison in brackets: `(rows < M) & (columns < N)`.",
    ),
    "tile_dot_too_small": (
        "`tl.dot` of this line gets too small a block: of (M, K) times (K, N) it takes "
        "M >= {rows}, N >= {columns} and K >= {steps}.",
        "Take more steps along K at a time, and mask those that do not exist; or multiply and add "
        "without `tl.dot`: `tl.sum(a[:, :, None] * b[None, :, :], axis=1)`.",
    ),
    "tile_dot_ranks": (
        "`tl.dot` multiplies two blocks of two axes, and one of this line has another number.",
        "Give a vector an axis, `q[None, :]`, or multiply and add: `tl.sum(q * keys, axis=1)`.",
    ),
    "tile_dot_dimensions": (
        "The blocks that `tl.dot` multiplies on this line do not fit: the first has to have as "
        "many columns as the second has rows.",
        "Write down the shape of each, (rows, columns). Does one want turning, `tl.trans(keys)`?",
    ),
    "tile_buffer_dtype": (
        "The buffer on this line holds {second}, and what is stored in it is {first}.",
        "Convert what is stored first, with `.to(...)`.",
    ),
    "tile_buffer_for_a_pointer": (
        "A buffer in shared memory stands on this line where a pointer or a block of numbers "
        "belongs.",
        "`buffer.load(layout)` brings what it holds into registers, and `buffer.store(values)` "
        "stores there.",
    ),
    "tile_place_for_numbers": (
        "What stands on this line is a place in {place} memory, not the numbers that it holds.",
        "`.load(layout)` brings them into registers first.",
    ),
    "tile_dot_dtypes": (
        "`tl.dot` multiplies blocks of one type, and gets {first} and {second}.",
        "Convert one of them: `weights.to(values.dtype)`.",
    ),
    "tile_stores_to_constant": (
        "This line stores through a pointer that the kernel's parameter calls `tl.const`: what is "
        "there may only be loaded.",
        "Leave `tl.const` out where the parameter is an output.",
    ),
    "tile_not_a_float": (
        "`tl.{name}` takes floats, and gets a whole number ({got}).",
        "Convert it first, `n.to(tl.float32)`. Of a constant, Python's arithmetic gives a float: "
        "`D**0.5`.",
    ),
    "tile_dot_sum": (
        "`tl.dot` of this line cannot add to the block that it is given: its product has another "
        "type or another shape.",
        "The products of floats add up in float32: begin with `tl.zeros((BM, BN), tl.float32)`, "
        "and convert where the sum is stored.",
    ),
    "tile_prints": (
        "What is printed needs a text in front: this line begins with a value.",
        'Write `tl.device_print("x", x)`, or follow a program with `course.trace`.',
    ),
    "tile_break": (
        "`break` is not part of Triton's language.",
        "Say in the bounds of the loop where it ends, or write `while` with the condition; what "
        "lies past the end of an array, a mask leaves out.",
    ),
    "tile_not_of_triton": (
        "{construct} is not part of Triton's language.",
        "|Write {instead} instead.|",
    ),
    "tile_no_function": (
        "`tl` has no `{name}`.",
        "`help(tl)` lists what it has. Other functions of one number, such as `tanh` or `log1p`, "
        "are libdevice's: `from triton.language.extra import libdevice`, `libdevice.tanh(x)`.",
    ),
    "tile_no_method": (
        "A block, or a number of the run, has no `{name}`.",
        "`help(tl)` lists what can be done with it: a mean is `tl.sum(x, 0) / n`, another type "
        "`x.to(tl.float32)`.",
    ),
    "tile_taken_apart": (
        "This line gives several names to the parts of one block, and it has none.",
        "Load each by itself: `tl.load` gives one block.",
    ),
    "tile_function_of_python": (
        "This line gives a block, or a number of the run, to a function of Python's, which takes "
        "constants alone.",
        "Use Triton's: `tl.exp(x)` for `math.exp(x)`, `x.to(tl.int32)` for `int(x)`.",
    ),
    "tile_type_of_torch": (
        "A type of PyTorch's stands on this line, and Triton has its own.",
        "Write `tl.float16` for `torch.float16`. What a tensor that is passed holds is "
        "`x_ptr.dtype.element_ty`.",
    ),
    "tile_type_of_a_pointer": (
        "A block cannot be converted to the type of a pointer.",
        "What a tensor that is passed holds is `x_ptr.dtype.element_ty`.",
    ),
    "tile_out_of_type": (
        "{value} does not fit into {got}, the type of what it meets on this line.",
        "Convert that first: `x.to(tl.int64)`, or `x.to(tl.uint32)` where bits are meant.",
    ),
    "tile_other_floats": (
        "A function of this line takes {known}, and gets {got}.",
        "Convert first, `x.to(tl.float32)`, and back where the result is stored.",
    ),
    "tile_types_of_libdevice": (
        "A function of libdevice's on this line does not take {got}.",
        "Most take float32 and float64: convert first, `x.to(tl.float32)`, and back where the "
        "result is stored.",
    ),
    "tile_no_bits": (
        "An operator of this line takes whole numbers, and gets {first} and {second}.",
        "Convert first, `x.to(tl.int32)`; the bits of a float are "
        "`x.to(tl.int32, bitcast=True)`. Two comparisons want brackets: `(x > 0) & (x < n)`.",
    ),
    "tile_block_pointer_mask": (
        "Through a block pointer, `tl.make_block_ptr`, nothing is loaded with a mask.",
        "`boundary_check=(0, 1)` leaves out what lies past the end of these axes, and "
        '`padding_option="zero"` reads it as 0.',
    ),
    "tile_static_assert": (
        "`tl.static_assert` of this line is false|: {said}|.",
        "Which constants does the launch pass, and which are meant?",
    ),
    "tile_type_of_another_gpu": (
        "The GPU that this is compiled for has no {name}; of floats of 8 bits it has {known}.",
        'Outside of a check you name the GPU: `course.measure(target="sm_90")`, `--target sm_90` '
        "of `course.run`. A check is for the GPU that its exercise names.",
    ),
    "tile_floor_division": (
        "`//` and `%` divide whole numbers, and this line gives `//` a float.",
        "Write `/` for floats.",
    ),
    "tile_kernel_returns": (
        "A kernel returns nothing, and this one returns a value.",
        "Store it: `tl.store(out_ptr + offsets, values, mask=...)`, and write `return` alone or "
        "leave it out.",
    ),
    "tile_recursion": (
        "`{name}` calls itself: Triton writes a called function out in place, and this would "
        "never end.",
        "Write the repetition as a loop.",
    ),
    "tile_calls_too_deep": (
        "Triton writes a called function out in place, and came to no end of calls in calls: a "
        "function calls itself, each time with another constant.",
        "Write the repetition as a loop.",
    ),
    "tile_one_is_constant": (
        "`{name}` is 1 in this launch, and of an integer argument that is 1 Triton makes a "
        "constant: {detail}.",
        "Write `tl.to_tensor({name})` for `{name}` there, or above the kernel "
        '`@triton.jit(do_not_specialize=["{name}"])`.',
    ),
    "tile_while_constant": (
        "`{construct}` has a condition that is a constant, so the loop would never end, or "
        "never begin; Triton does not compile it.",
        "Let the condition ask something that the loop changes, or write `for i in range(n)`; "
        "there is no `break`.",
    ),
}
