"""What Triton says of a line, and the message of the course that tells it better.

Triton says well what is wrong with types and shapes. Where it speaks of its own insides, or leaves
out what to do, the refusal gets a message of its own (`course.words.refusals`), whether the engine
or the compiler met it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

#: What a kernel's front end calls the kinds of value that it cannot use.
_KINDS = {
    "NoneType": "None",
    "str": "text",
    "function": "a plain function",
    "list": "a list",
    "dict": "a dict",
    "tuple": "a tuple",
}
#: What the language has not: how it is written, and what stands for it.
_NOT_OF_TRITON = {
    "In": ("`in`", "`a == x or a == y`"),
    "NotIn": ("`not in`", "`a != x and a != y`"),
    "MatMult": ("`@`", "`tl.dot(a, b)`"),
    "Try": ("`try`", None),
    "Raise": ("`raise`", "`tl.static_assert(condition, text)`"),
    "Global": ("`global`", "a parameter"),
    "Dict": ("A dict", "a tuple"),
    "def": ("A function within a kernel", "one above it, with `@triton.jit`"),
    "Lambda": ("`lambda`", "a function with `@triton.jit` above it"),
}

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
    (r"make_tensor_descriptor\(", r"`_semantic` argument must be provided|last dim must be 1",
     "tile_descriptor_stride"),
    (r"\[", r"`_semantic` argument must be provided", "tile_indexes_pointer"),
    (r"^\s*(?P<construct>def) ", r"^StopIteration|nested function definitions",
     "tile_not_of_triton"),
    (r"^\s*\w+\s*,[^=(]*=", r"'tensor' object has no attribute 'values'|cannot unpack",
     "tile_taken_apart"),
)  # fmt: skip
#: Where Triton's words match, the sentence; groups of the match are its fields.
_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"must be a power of (?:2|two)(?:: (?P<got>\d+))?", "tile_power_of_two"),
    (r"type (?P<name>\w+) not supported in this architecture\..* are \((?P<known>.*)\)",
     "tile_type_of_another_gpu"),
    (r"arange's arguments must be of type tl\.constexpr", "tile_arange_constant"),
    (r"arange's end argument must be greater|arange must fit in int32", "tile_arange_empty"),
    (r"numel \((?P<got>\d+)\) exceeds triton maximum tensor numel \((?P<limit>\d+)\)",
     "tile_block_too_large"),
    (r"Unsupported ptr type .*?(?P<got>\w+)>? in `(?P<name>tl\.\w+)`", "tile_not_a_pointer"),
    (r"invalid operands of type (?:pointer<\S+ and \S+float\d+|\S+float\d+ and pointer<)",
     "tile_pointer_and_float"),
    (r"invalid operands of type .*pointer<", "tile_pointer_as_number"),
    (r"invalid operands of type (?P<first>\S+) and (?P<second>[\w.]+)", "tile_no_bits"),
    (r"Expected dtype \[(?P<known>.*)\] but got (?P<got>\w+)", "tile_other_floats"),
    (r"^\((?P<got>triton\.language\..*)\)$", "tile_types_of_libdevice"),
    (r"Scalar (?P<value>\S+) is out of range for type (?P<got>\w+)", "tile_out_of_type"),
    (r"'torch\.dtype' object has no attribute", "tile_type_of_torch"),
    (r"cannot cast \S+ to .*pointer<", "tile_type_of_a_pointer"),
    (r"must be (?:a string.* )?real number, not '?tensor", "tile_function_of_python"),
    (r"module 'triton\.language\S*' has no attribute '(?P<name>\w+)'", "tile_no_function"),
    (r"'tensor' object has no attribute '(?P<name>[a-z]\w*)'", "tile_no_method"),
    (r"^CompileTimeAssertionFailure(?:: (?P<said>.*))?$", "tile_static_assert"),
    (r"`mask` and `other` arguments cannot be specified for loading block pointers",
     "tile_block_pointer_mask"),
    (r"cannot add pointers together", "tile_pointers_added"),
    (r"__setitem__ is not supported", "tile_assigns_element"),
    (r"(?P<name>\w+)\(\) missing .* argument: 'layout'", "tile_lacks_layout"),
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
    (r"initial value for `(?P<name>\w+)` is of type (?P<first>.+), but the .* redefines it as "
     r"(?P<second>.+)$", "tile_branches_differ"),
    (r"Ternary expression with dynamic condition|Boolean value of Tensor with more than one|"
     r"the condition is a block of several|"
     r"'scf\.condition' op operand .*but got 'tensor", "tile_condition_is_a_block"),
    (r"'scf\.condition' op operand", "tile_while_number"),
    (r"'tt\.(?:load|store|atomic\w*)' op operand .*must be 1-bit signless integer|"
     r"the mask is no comparison|Mask must have boolean scalar type", "tile_mask_number"),
    (r"'tt\.(?:scan|reduce)' op expects region", "tile_branch_in_a_combination"),
    (r"(?i:simultaneous multiple assignment)|an assignment to several names", "tile_several_names"),
    (r"'\w+' object has no attribute 'func'|a loop over something other than|"
     r"Only `range` and `static_range` iterators", "tile_for"),
    (r"object has no attribute '__r?pow__'|unsupported operand type\(s\) for \*\*", "tile_power"),
    (r"Shape element \d+ must have type", "tile_shape_constant"),
    (r"unsupported tensor index", "tile_indexes_pointer"),
    (r"unsupported AST node type: Continue|^`continue`", "tile_continue"),
    (r"^a `return` inside a loop|Cannot have `return` statements inside", "tile_return_in_a_loop"),
    (r"f-string", "tile_f_string"),
    (r"Cannot access global variable (?P<name>\w+)", "triton_global"),
    (r"Unsupported function referenced: <(?:built-in )?(?:function|method|ufunc) "
     r"'?(?P<name><lambda>|[\w.]+)", "triton_foreign_call"),
    (r"^(?P<name>\w+) is not defined$", "tile_no_value"),
    (r"incompatible dimensions at index (?P<axis>\d+): (?P<first>\d+) and (?P<second>\d+)",
     "tile_shapes"),
    (r"simultaneous multiple comparison", "tile_two_comparisons"),
    (r"input and other must have equal ranks", "tile_dot_ranks"),
    (r"input and other must have equal reduction dimensions", "tile_dot_dimensions"),
    (r"Both operands must be same dtype. Got (?P<first>\w+) and (?P<second>\w+)",
     "tile_dot_dtypes"),
    (r"source dtype (?P<first>\w+) and destination dtype (?P<second>\w+) must match",
     "tile_buffer_dtype"),
    (r"'shared_memory_descriptor\w*' object has no attribute", "tile_buffer_for_a_pointer"),
    (r"to be a tensor, but got a <class '[\w.]*(?P<place>tensor|shared)_memory_descriptor'>",
     "tile_place_for_numbers"),
    (r"to be a tensor, but got a <class '[\w.]*warpgroup_mma_accumulator'>",
     "tile_product_for_numbers"),
    (r"Cannot store to a constant pointer", "tile_stores_to_constant"),
    (r"'math\.(?P<name>\w+)' op operand #0 must be floating-point-like, but got '(?P<got>\w+)'",
     "tile_not_a_float"),
    (r"Input shapes should have M >= (?P<rows>\d+), N >= (?P<columns>\d+) and K >= (?P<steps>\d+)",
     "tile_dot_too_small"),
    (r"object of type 'tensor' has no len|^`len\(", "tile_no_length"),
    (r"Loop carried variable (?P<name>\w+) changed type, was .*warpgroup_mma_accumulator",
     "tile_product_under_way"),
    (r"Loop carried variable (?P<name>\w+) changed type", "tile_changes_constant"),
    (r"list index out of range", "tile_no_shape"),
    (r"Did you forget to add @triton\.jit", "tile_block_for_a_constant"),
    (r"is not string|print takes a string|(?<!argument )must be a string", "tile_prints"),
    (r"`break`", "tile_break"),
    (r"unsupported AST node type: Break", "tile_break"),
    (r"unsupported AST node type: (?P<construct>\w+)|"
     r"^'(?P<operator>\w+)' object has no attribute '__name__'", "tile_not_of_triton"),
    (r"AST \w+ operator '(?P<operator>\w+)' is not", "tile_not_of_triton"),
    (r"'range' object has no attribute", "tile_range"),
    (r"'(?P<kind>NoneType|str|function|list|dict)' object has no attribute", "tile_wrong_kind"),
    (r"cannot convert .* of type <class '[\w.]+\.(?P<layout>\w+Layout)'> to tensor",
     "tile_layout_is_constant"),
    (r"cannot convert (?P<value>.*) of type <class '(?P<kind>[\w.]+)'> to tensor",
     "tile_wrong_kind"),
    (r"type of return operand|operands?, but enclosing function|legalize operation 'tt\.return'",
     "tile_kernel_returns"),
    (r"maximum recursion depth exceeded", "tile_calls_too_deep"),
    # A kernel's name with its types behind it; Triton 3.6 adds the constants as Python prints them.
    (r"^'?[\w.]+\.(?P<name>\w+?)__\S*(?:, \S+)*'?$", "tile_recursion"),
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
    detail = re.sub(r"'?constexpr\[(\w+)\]'?", r"\1", detail)
    for of_line, of_detail, message_id in _ON_LINES:
        code, found = re.search(of_line, line), re.search(of_detail, detail)
        if code and found:
            return message_id, _fields(message_id, {**code.groupdict(), **found.groupdict()})
    for pattern, message_id in _PATTERNS:
        found = re.search(pattern, detail)
        if found is not None:
            return message_id, _fields(message_id, found.groupdict())
    return "triton_refuses", {"detail": _plainer(detail, line)}


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


def constant_asked(detail: str, line: str, names: Iterable[str]) -> str | None:
    """Which of these constants a line asks for what a number of the GPU's alone has."""
    found = re.match(r"'(?:int|constexpr)' object has no attribute '(\w+)'", detail)
    if found is None:
        return None
    asked = (n for n in names if re.search(rf"\b{n}\.{found[1]}\b|\w\({n}\b", line))
    return next(asked, None)


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
    if message_id == "tile_not_of_triton":
        written = str(fields.get("construct", fields.get("operator")))
        fields["construct"], fields["instead"] = _NOT_OF_TRITON.get(written, (written, None))
    if message_id == "tile_other_floats":
        fields["known"] = str(fields["known"]).replace("', '", " or ").strip("'")
    if message_id == "tile_types_of_libdevice":
        fields["got"] = str(fields["got"]).replace("triton.language.", "").replace(", ", " and ")
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
    """``<['8'], fp32>`` and ``fp32[8]`` as ``a block (8) of fp32``, ``fp32[]`` as ``fp32``."""
    text = text.removeprefix("triton.language.").removesuffix("[]")
    found = re.fullmatch(r"<\[(?P<shape>.*)\], (?P<of>.*)>", text)
    found = found or re.fullmatch(r"(?P<of>\w+)\[(?P<shape>.*)\]", text)
    return f"a block ({found['shape']}) of {found['of']}".replace("'", "") if found else text


def _plainer(detail: str, line: str) -> str:
    if "`static_assert` requires" in detail:
        return "`tl.static_assert` takes a condition and, behind it, a text"
    if detail == NO_REASON and re.search(r"\b(?:reduce|associative_scan)\(", line):
        return "the function that combines has to give as many values as there are blocks"
    starred = re.search(r"[(,]\s*(\*\w+)", line)
    if starred and detail.startswith("AssertionError"):
        return f"`{starred[1]}` is not a tuple"
    found = re.fullmatch(r"For loop bounds and step must all be ints, are \((.*)\)", detail)
    return f"the bounds of a loop are whole numbers, not {found[1]}" if found else detail
