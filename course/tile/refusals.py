"""Triton's refusals in words of the course.

Triton says well what is wrong with types and shapes. Where it speaks of its own insides, or leaves
out what to do, the refusal gets a sentence of its own, whether the engine or the compiler met it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

#: What a kernel's front end calls the kinds of value that it cannot use.
_KINDS = {
    "NoneType": "None",
    "str": "text",
    "function": "a plain function",
    "list": "a list",
    "dict": "a dict",
    "tuple": "a tuple",
}
_STATEMENTS = {"Break": "`break`", "Continue": "`continue`", "Try": "`try`", "Raise": "`raise`"}

#: What an argument is called in other libraries, and here.
_CALLED_HERE = {"dim": "axis", "dims": "axis", "keepdim": "keep_dims", "keepdims": "keep_dims"}

#: What the compile gate says where the compiler says nothing.
NO_REASON = "the compiler gives no reason"
#: What Triton calls a length that it refuses: in `arange`, and where it looks at a block's shape.
_LENGTHS = ("range", "d")

#: Where a line and Triton's words of it match, the sentence; groups of either are its fields.
_ON_LINES: tuple[tuple[str, str, str], ...] = (
    (r"tl\.dot\(", f"^{NO_REASON}$", "tile_dot_sum"),
    (r"//", r"^unexpected type (?:fp|bf)\d+", "tile_floor_division"),
    (r"(?P<name>flip)\(", r"NoneType", "tile_call_lacks"),
    (r"\b(?:zeros|full|reshape|view|broadcast_to)\(", r"object is not iterable",
     "tile_shape_tuple"),
    (r"^\s*(?P<construct>while\b.*?)\s*:", r"'constexpr' object has no attribute",
     "tile_while_constant"),
    (r"\[", r"`_semantic` argument must be provided", "tile_indexes_pointer"),
)  # fmt: skip
#: Where Triton's words match, the sentence; groups of the match are its fields.
_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"must be a power of (?:2|two)(?:: (?P<got>\d+))?", "tile_power_of_two"),
    (r"arange's arguments must be of type tl\.constexpr", "tile_arange_constant"),
    (r"arange's end argument must be greater|arange must fit in int32", "tile_arange_empty"),
    (r"numel \((?P<got>\d+)\) exceeds triton maximum tensor numel \((?P<limit>\d+)\)",
     "tile_block_too_large"),
    (r"Unsupported ptr type .*?(?P<got>\w+)>? in `(?P<name>tl\.\w+)`", "tile_not_a_pointer"),
    (r"invalid operands of type .*pointer<", "tile_pointer_as_number"),
    (r"cannot add pointers together", "tile_pointers_added"),
    (r"__setitem__ is not supported", "tile_assigns_element"),
    (r"(?P<name>\w+)\(\) missing \d+ required positional arguments?: (?P<missing>.*)",
     "tile_call_lacks"),
    (rf"got an unexpected keyword argument '(?P<argument>{'|'.join(_CALLED_HERE)})'",
     "tile_keyword"),
    (r"(?P<name>\w+)(?:\(\)|:) got an unexpected keyword argument '(?P<argument>\w+)'",
     "tile_call_keyword"),
    (r"got an unexpected keyword argument '(?P<argument>\w+)'", "tile_keyword"),
    (r"Mask argument cannot be block type if pointer|Value argument cannot be block type if",
     "tile_one_address"),
    (r"Loop-carried variable (?P<name>\w+) has initial type (?P<first>.+?) but is re-assigned to "
     r"(?P<second>.+?) in loop", "tile_changes_type"),
    (r"Ternary expression with dynamic condition has inconsistent types (?P<first>\w+) and "
     r"(?P<second>\w+)$", "tile_two_sides"),
    (r"Mismatched type for (?P<name>\w+) between then block \((?P<first>.+?)\) and else block "
     r"\((?P<second>.+)\)$", "tile_branches_differ"),
    (r"Ternary expression with dynamic condition|Boolean value of Tensor with more than one|"
     r"the condition is a block of several|"
     r"'scf\.condition' op operand .*but got 'tensor", "tile_condition_is_a_block"),
    (r"'scf\.condition' op operand", "tile_while_number"),
    (r"'tt\.(?:load|store|atomic\w*)' op operand .*must be 1-bit signless integer|"
     r"the mask is no comparison", "tile_mask_number"),
    (r"'tt\.(?:scan|reduce)' op expects region", "tile_branch_in_a_combination"),
    (r"simultaneous multiple assignment|an assignment to several names", "tile_several_names"),
    (r"'\w+' object has no attribute 'func'|a loop over something other than|"
     r"Only `range` and `static_range` iterators", "tile_for"),
    (r"object has no attribute '__r?pow__'|unsupported operand type\(s\) for \*\*", "tile_power"),
    (r"Shape element \d+ must have type", "tile_shape_constant"),
    (r"unsupported tensor index", "tile_indexes_pointer"),
    (r"unsupported AST node type: Continue|^`continue`", "tile_continue"),
    (r"^a `return` inside a loop|Cannot have `return` statements inside", "tile_return_in_a_loop"),
    (r"f-string", "tile_f_string"),
    (r"Cannot access global variable (?P<name>\w+)", "triton_global"),
    (r"^(?P<name>\w+) is not defined$", "tile_no_value"),
    (r"incompatible dimensions at index (?P<axis>\d+): (?P<first>\d+) and (?P<second>\d+)",
     "tile_shapes"),
    (r"simultaneous multiple comparison", "tile_two_comparisons"),
    (r"input and other must have equal ranks", "tile_dot_ranks"),
    (r"input and other must have equal reduction dimensions", "tile_dot_dimensions"),
    (r"Both operands must be same dtype. Got (?P<first>\w+) and (?P<second>\w+)",
     "tile_dot_dtypes"),
    (r"'math\.(?P<name>\w+)' op operand #0 must be floating-point-like, but got '(?P<got>\w+)'",
     "tile_not_a_float"),
    (r"Input shapes should have M >= (?P<rows>\d+), N >= (?P<columns>\d+) and K >= (?P<steps>\d+)",
     "tile_dot_too_small"),
    (r"object of type 'tensor' has no len|^`len\(", "tile_no_length"),
    (r"Loop carried variable (?P<name>\w+) changed type", "tile_changes_constant"),
    (r"list index out of range", "tile_no_shape"),
    (r"Did you forget to add @triton\.jit", "tile_block_for_a_constant"),
    (r"is not string|print takes a string|(?<!argument )must be a string", "tile_prints"),
    (r"`break`", "tile_break"),
    (r"unsupported AST node type: Break", "tile_break"),
    (r"'range' object has no attribute", "tile_range"),
    (r"'(?P<kind>NoneType|str|function|list|dict)' object has no attribute", "tile_wrong_kind"),
    (r"cannot convert (?P<value>.*) of type <class '(?P<kind>[\w.]+)'> to tensor",
     "tile_wrong_kind"),
    (r"type of return operand|operands?, but enclosing function|legalize operation 'tt\.return'",
     "tile_kernel_returns"),
    # A kernel's name with its types behind it; Triton 3.6 adds the constants as Python prints them.
    (r"^'?\w+\.(?P<name>\w+?)__\S*(?:, \S+)*'?$", "tile_recursion"),
)  # fmt: skip


def in_full(error: BaseException) -> str:
    """Triton's words, and the length that is no power of two, which they leave out."""
    words, at = str(error).rstrip("."), error.__traceback__
    if at is None or not re.search(r"must be a power of (2|two)$", words):
        return str(error)
    while at.tb_next is not None:
        at = at.tb_next
    lengths = [at.tb_frame.f_locals.get(name) for name in _LENGTHS]
    length = next((n for n in lengths if isinstance(n, int)), None)
    return words if length is None else f"{words}: {length}"


def refusal(detail: str, line: str = "") -> tuple[str, dict[str, object]]:
    """(id of the sentence, its fields) of what Triton says about a line.

    Args:
        detail: Triton's words, which stay where there is nothing clearer to say.
        line: the line in the learner's source, where that is known.
    """
    for of_line, of_detail, message_id in _ON_LINES:
        code, found = re.search(of_line, line), re.search(of_detail, detail)
        if code and found:
            return message_id, _fields(message_id, {**code.groupdict(), **found.groupdict()})
    for pattern, message_id in _PATTERNS:
        found = re.search(pattern, detail)
        if found is not None:
            return message_id, _fields(message_id, found.groupdict())
    return "triton_refuses", {"detail": _plainer(detail)}


def of_the_compiler(
    message_id: str, fields: Mapping[str, object], line: str
) -> tuple[str, Mapping[str, object]]:
    """The same for a fault of the compile gate: which target refuses stays known.

    What the front end refuses, it refuses for every GPU: of those no target is named.
    """
    if message_id not in ("triton_compiler", "triton_refuses"):
        return message_id, fields
    clearer, said = refusal(str(fields["detail"]), line)
    return (message_id, {**fields, **said}) if clearer == "triton_refuses" else (clearer, said)


def _fields(message_id: str, groups: dict[str, str | None]) -> dict[str, object]:
    fields: dict[str, object] = {
        name: int(text) if text.isdecimal() else text
        for name, text in groups.items()
        if text is not None
    }
    if message_id == "tile_power_of_two" and "got" in fields:
        fields["power"] = 1 << int(str(fields["got"])).bit_length()
    for name in ("first", "second"):
        if name in fields:
            fields[name] = _plain_type(str(fields[name]))
    if message_id == "tile_keyword":
        fields["near"] = _CALLED_HERE.get(str(fields["argument"]))
    if message_id == "tile_call_lacks":  # Triton is silent on the one thing that `flip` takes
        fields["missing"] = str(fields.get("missing", "the axis")).replace("'", "`")
    kind = fields.pop("kind", None)
    if kind is not None:
        value = fields.pop("value", None)
        known = _KINDS.get(str(kind).rpartition(".")[2])
        fields["got"] = known or (f"a {kind}" if value is None else f"{value}, a {kind}")
    return fields


def _plain_type(text: str) -> str:
    """``<['512'], fp32>`` as ``a block (512) of fp32``."""
    found = re.fullmatch(r"<\[(.*)\], (.*)>", text)
    return f"a block ({found[1]}) of {found[2]}".replace("'", "") if found else text


def _plainer(detail: str) -> str:
    found = re.fullmatch(r"unsupported AST node type: (\w+)", detail)
    if found:
        return f"{_STATEMENTS.get(found[1], found[1])} is not part of Triton's language"
    found = re.fullmatch(r"For loop bounds and step must all be ints, are \((.*)\)", detail)
    return f"the bounds of a loop are whole numbers, not {found[1]}" if found else detail


#: What a learner reads of them: see `course.tile.wording`.
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
    "tile_call_lacks": (
        "`{name}` is called on this line without {missing}.",
        "`tl.arange(0, BLOCK)` takes a start and an end, `tl.program_id(0)` an axis, `tl.load` a "
        "pointer, `tl.store` a pointer and values: `help(tl.{name})` shows what it takes.",
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
    "tile_changes_constant": (
        "`{name}` is a constant before this loop, and a number of the run behind a turn of it: "
        "a number that the launch passes as 1 is a constant, for one.",
        "Change a name of the kernel's own: `left = {name}` before the loop, and `left` in it.",
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
        "Give it one type and one shape on both: `1.0`, not `1`, beside a float; a block of "
        "`tl.zeros` beside a block. Or choose with `tl.where`.",
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
        "An axis of its own for each: `rows[:, None]` is a column, `columns[None, :]` a row. `*` "
        "multiplies element by element; a product of matrices is `tl.dot(a, b)`.",
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
    "tile_dot_dtypes": (
        "`tl.dot` multiplies blocks of one type, and gets {first} and {second}.",
        "Convert one of them: `weights.to(values.dtype)`.",
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
    "tile_while_constant": (
        "`{construct}` has a condition that is a constant, so the loop would never end, or "
        "never begin; Triton does not compile it.",
        "Let the condition ask something that the loop changes, or write `for i in range(n)`; "
        "there is no `break`.",
    ),
}
