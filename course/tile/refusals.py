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
}
_STATEMENTS = {"Break": "`break`", "Continue": "`continue`", "Try": "`try`", "Raise": "`raise`"}

#: Where Triton's words match, the sentence; groups of the match are its fields.
_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"must be a power of (?:2|two)", "tile_power_of_two"),
    (r"arange's arguments must be of type tl\.constexpr", "tile_arange_constant"),
    (r"arange's end argument must be greater|arange must fit in int32", "tile_arange_empty"),
    (r"numel \((?P<got>\d+)\) exceeds triton maximum tensor numel \((?P<limit>\d+)\)",
     "tile_block_too_large"),
    (r"Unsupported ptr type .*?(?P<got>\w+)>? in `(?P<name>tl\.\w+)`", "tile_not_a_pointer"),
    (r"invalid operands of type .*pointer<", "tile_pointer_as_number"),
    (r"cannot add pointers together", "tile_pointers_added"),
    (r"__setitem__ is not supported", "tile_assigns_element"),
    (r"'(?P<kind>NoneType|str|function|list|dict)' object has no attribute", "tile_wrong_kind"),
    (r"cannot convert (?P<value>.*) of type <class '(?P<kind>[\w.]+)'> to tensor",
     "tile_wrong_kind"),
    (r"type of return operand|operands?, but enclosing function|legalize operation 'tt\.return'",
     "tile_kernel_returns"),
    # A kernel's name with its types behind it; Triton 3.6 adds the constants as Python prints them.
    (r"^'?\w+\.(?P<name>\w+?)__\S*(?:, \S+)*'?$", "tile_recursion"),
)  # fmt: skip


def refusal(detail: str, line: str = "") -> tuple[str, dict[str, object]]:
    """(id of the sentence, its fields) of what Triton says about a line.

    Args:
        detail: Triton's words, which stay where there is nothing clearer to say.
        line: the line in the learner's source, where that is known.
    """
    loop = re.match(r"\s*while\b\s*(.*?)\s*:", line)
    if loop and "'constexpr' object has no attribute" in detail:
        return "tile_while_constant", {"construct": loop[1]}
    if "[" in line and "`_semantic` argument must be provided" in detail:
        return "tile_indexes_pointer", {}
    for pattern, message_id in _PATTERNS:
        found = re.search(pattern, detail)
        if found is not None:
            return message_id, _fields(found.groupdict())
    return "triton_refuses", {"detail": _plainer(detail)}


def of_the_compiler(
    message_id: str, fields: Mapping[str, object], line: str
) -> tuple[str, Mapping[str, object]]:
    """The same for a fault of the compile gate: which target refuses stays known."""
    if message_id != "triton_compiler":
        return message_id, fields
    clearer, said = refusal(str(fields["detail"]), line)
    return (message_id, {**fields, **said}) if clearer == "triton_refuses" else (clearer, said)


def _fields(groups: dict[str, str]) -> dict[str, object]:
    fields: dict[str, object] = {
        name: int(text) if text.isdecimal() else text for name, text in groups.items()
    }
    kind = fields.pop("kind", None)
    if kind is not None:
        value = fields.pop("value", None)
        known = _KINDS.get(str(kind))
        fields["got"] = known or (f"a {kind}" if value is None else f"{value}, a {kind}")
    return fields


def _plainer(detail: str) -> str:
    found = re.fullmatch(r"unsupported AST node type: (\w+)", detail)
    if found:
        return f"{_STATEMENTS.get(found[1], found[1])} is not part of Triton's language"
    found = re.fullmatch(r"For loop bounds and step must all be ints, are \((.*)\)", detail)
    return f"the bounds of a loop are whole numbers, not {found[1]}" if found else detail


#: What a learner reads of them: see `course.tile.wording`.
REFUSALS: dict[str, tuple[str, str]] = {
    "tile_power_of_two": (
        "The length of a block has to be a power of two, and a block of this line has another.",
        "Take the next power of two, `triton.next_power_of_2(n)`, as a `tl.constexpr`, and mask "
        "the lanes past the end.",
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
    "tile_wrong_kind": (
        "This line gets {got}, where Triton needs a number, a block or a pointer.",
        "Where does it come from? An argument of the launch (a Python number: `int(n)`), or a "
        "function that returns nothing.",
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
        "`while {construct}` has a condition that is a constant, so the loop would never end, or "
        "never begin; Triton does not compile it.",
        "Let the condition ask something that the loop changes, or write `for i in range(n)`; "
        "there is no `break`.",
    ),
}
