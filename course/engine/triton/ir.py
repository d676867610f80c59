"""Reads a module of Triton's IR in MLIR's generic form: one grammar for every operation.

    %a, %b:2 = "dialect.name"(%x, %y)[^bb1] <{properties}> ({regions}) {attributes}
               : (types) -> types loc(...)

(MLIR language reference, "Operations".) What an operation means is not known here.
"""

from __future__ import annotations

import re
from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, MutableMapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

#: A string, an arrow (which closes nothing), or what nests and divides.
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|->|[][(){}<>,]', re.DOTALL)
_DEEPER = dict.fromkeys("([{<", 1) | dict.fromkeys(")]}>", -1)
_HEAD = re.compile(r'\s*(?:(?P<results>%[^=]*?) = )?"(?P<name>[\w.]+)"\((?P<operands>[^)]*)\)')
_LABEL = re.compile(r"\s*(?P<label>\^\w+)")
_SHAPE = re.compile(r"((?:\d+x)*)(.*)", re.DOTALL)
_FILE = re.compile(r'"(?P<file>(?:[^"\\]|\\.)*)":(?P<line>\d+):(?P<column>\d+)')
#: What has regions that see no value outside.
_ISOLATED = ("tt.func", "ttg.warp_specialize.partitions")
_NAMED = re.compile(r'"(?P<name>(?:[^"\\]|\\.)*)"\s*\(')


class UnreadableError(ValueError):
    """A text that is no module in generic form, or whose operations are not those of the versions
    of Triton that this reads; the message says what stands there.
    """


@dataclass(frozen=True)
class Type:
    """A value's type: `kind` is scalar, pointer, tensor, memdesc or other.

    `element` is what a tensor holds, a pointer points to; `scalar` the name of the innermost.
    """

    text: str
    kind: str
    shape: tuple[int, ...] = ()
    element: Type | None = None
    layout: str = ""

    def __hash__(self) -> int:
        return hash(self.text)

    @cached_property
    def scalar(self) -> str:
        return self.text if self.element is None else self.element.scalar

    @cached_property
    def pointers(self) -> bool:
        """Whether it is a pointer, or holds some."""
        return self.kind == "pointer" or (
            self.element is not None and self.kind == "tensor" and self.element.pointers
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operation comes from: the files' lines, innermost first, and the variable's name."""

    files: tuple[tuple[str, int, int], ...] = ()
    name: str = ""


@dataclass(eq=False, slots=True)
class Operation:
    """One operation. `operands` and `results` are names; `number` counts all of a module."""

    name: str
    number: int
    operands: tuple[str, ...]
    results: tuple[str, ...]
    operand_types: tuple[Type, ...]
    result_types: tuple[Type, ...]
    attributes: dict[str, str]
    regions: tuple[tuple[Block, ...], ...]
    successors: tuple[str, ...]
    place: Place

    def integers(self, name: str) -> list[int]:
        """The numbers of an attribute: ``axis = 0 : i32`` and ``array<i32: 1, 0>`` alike.

        Raises:
            UnreadableError: where the operation has none of that name.
        """
        if name not in self.attributes:
            raise UnreadableError(f"{self.name} without `{name}`")
        return [*_numbers(self.attributes[name])]

    def integer(self, name: str) -> int:
        """The one number of an attribute."""
        return self.integers(name)[0]

    def string(self, name: str) -> str:
        """An attribute without its quotes; of a symbol its name."""
        return self.attributes.get(name, "").removeprefix("@").strip('"')

    def inside(self) -> Iterator[Operation]:
        """All operations in it, each before those inside that one."""
        for region in self.regions:
            for block in region:
                for operation in block.operations:
                    yield operation
                    yield from operation.inside()


@dataclass(eq=False, slots=True)
class Block:
    """Operations in order, behind a label; `arguments` are names."""

    label: str
    arguments: tuple[str, ...]
    types: tuple[Type, ...]
    operations: tuple[Operation, ...]


def matching(text: str, start: int) -> int:
    """The index behind the bracket that closes the one at `start`."""
    depth = 0
    for found in _MARK.finditer(text, start):
        depth += _DEEPER.get(found[0], 0)
        if depth == 0:
            return found.end()
    raise UnreadableError(f"a bracket that nothing closes: {text[start : start + 60]}")


@lru_cache(1 << 12)
def _numbers(text: str) -> tuple[int, ...]:
    """Those of an attribute."""
    text = text[text.index(":") + 1 :] if text.startswith("array") else text.split(" : ")[0]
    return tuple(int(number) for number in re.findall(r"-?\d+", text))


@lru_cache(1 << 14)
def parts(text: str) -> tuple[str, ...]:
    """What stands between commas outside brackets and strings."""
    found, start, depth = [], 0, 0
    for mark in _MARK.finditer(text):
        depth = max(0, depth + _DEEPER.get(mark[0], 0))
        if mark[0] == "," and depth == 0:
            found.append(text[start : mark.start()].strip())
            start = mark.end()
    if depth:
        raise UnreadableError(f"a bracket that nothing closes: {text[start : start + 60]}")
    last = text[start:].strip()
    return (*found, last) if last else tuple(found)


@lru_cache(1 << 12)
def type_of(text: str) -> Type:
    """A type from its text."""
    for prefix, kind in (("tensor<", "tensor"), ("!ttg.memdesc<", "memdesc")):
        if text.startswith(prefix):
            first, *rest = parts(text[len(prefix) : -1])
            sizes, element = _SHAPE.fullmatch(first).groups()  # type: ignore[union-attr]  # any text matches
            shape = tuple(int(size) for size in sizes.split("x")[:-1])
            return Type(text, kind, shape, type_of(element), rest[0] if rest else "")
    if text.startswith("!tt.ptr<"):
        return Type(text, "pointer", (), type_of(parts(text[8:-1])[0]))
    return Type(text, "other" if text.startswith("!") else "scalar")


@lru_cache(1 << 12)
def _attributes(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (part.partition(" = ") for part in parts(text))
    return tuple((name.strip().strip('"'), value.strip()) for name, _, value in pairs)


class Module:
    """A module: its attributes and its functions by name.

    The text gives one name to values that do not see one another, as `%a` in both branches of an
    ``if``. Here the second is ``%a'1``: a name is that of one value in the whole module.

    Raises:
        UnreadableError: where the text is not in generic form.
    """

    def __init__(self, text: str) -> None:
        self._text, self._at, self._count = text, 0, 0
        self._called: Counter[str] = Counter()
        #: what the names of the text stand for, where it is read now
        self._visible: ChainMap[str, str] = ChainMap()
        #: what a name that begins with # stands for: a layout
        self.aliases = dict(re.findall(r"^(#(?!loc)\w+) = (.*)$", text, re.MULTILINE))
        self._locations = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.MULTILINE))
        self._places: dict[str, Place] = {}
        start = text.find('"builtin.module"')
        if start < 0:
            raise UnreadableError("no module in generic form")
        self._at = start
        module = self._operation()
        self.attributes = module.attributes
        self.functions = {
            operation.string("sym_name"): operation
            for operation in module.regions[0][0].operations
            if operation.name == "tt.func"
        }
        self.size = self._count

    @cached_property
    def entry(self) -> Operation:
        """The function that a launch runs: the public one."""
        return next(f for f in self.functions.values() if f.string("sym_visibility") == "public")

    def operations(self) -> Iterator[Operation]:
        """All operations of its functions, each before those inside it."""
        for function in self.functions.values():
            yield from function.inside()

    @property
    def warps(self) -> int:
        return int(self.attributes["ttg.num-warps"].split()[0])

    @property
    def other_warps(self) -> int:
        """How many warps a program has beside `warps`: those that have a code of their own."""
        apart = [
            sum(one.integers("partitionNumWarps"))
            for one in self.operations()
            if one.name == "ttg.warp_specialize"
        ]
        return max(apart, default=0)

    def specialised_warps(self) -> dict[int, int]:
        """How many warps run an operation, by its number, where that is not `warps`."""
        return {
            inside.number: warps
            for one in self.operations()
            if one.name == "ttg.warp_specialize"
            for holder in one.regions[1][0].operations[:1]
            for warps, (block,) in zip(
                one.integers("partitionNumWarps"), holder.regions, strict=True
            )
            for operation in block.operations
            for inside in (operation, *operation.inside())
        }

    # ------------------------------------------------------------ the grammar

    def _skip(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _bracketed(self) -> str:
        """What stands in the bracket at this place."""
        end = matching(self._text, self._at)
        inside = self._text[self._at + 1 : end - 1]
        self._at = end
        return inside

    def _expect(self, text: str) -> None:
        if not self._skip(text):
            raise UnreadableError(f"'{text}' is missing: {self._text[self._at : self._at + 60]}")

    def _operation(self) -> Operation:
        head = _HEAD.match(self._text, self._at)
        if head is None:
            raise UnreadableError(f"no operation: {self._text[self._at : self._at + 60]}")
        self._at = head.end()
        number = self._count
        self._count += 1
        attributes: dict[str, str] = {}
        regions: list[tuple[Block, ...]] = []
        successors: tuple[str, ...] = ()
        if self._text[self._at] == "[":
            successors = parts(self._bracketed())
        if self._text.startswith(" <{", self._at):
            self._at += 1
            attributes |= _attributes(self._bracketed()[1:-1])
        operands = self._used(filter(None, map(str.strip, head["operands"].split(","))))
        if self._skip(" ("):
            outside, separator = self._visible, True
            while separator:
                isolated = head["name"] in _ISOLATED
                self._visible = ChainMap() if isolated else outside.new_child()
                regions.append(self._region())
                separator = self._skip(", ")
            self._visible = outside
            self._expect(")")
        if self._text.startswith(" {", self._at):
            self._at += 1
            attributes |= _attributes(self._bracketed())
        self._expect(" : ")
        operand_types = tuple(map(type_of, parts(self._bracketed())))
        self._expect(" -> ")
        if self._text[self._at] == "(":
            result_types = tuple(map(type_of, parts(self._bracketed())))
        else:
            end = self._text.index(" loc(", self._at)
            result_types = (type_of(self._text[self._at : end]),)
            self._at = end
        self._expect(" loc")
        place = self.place_of(self._bracketed())
        return Operation(
            head["name"],
            number,
            operands,
            self._defined(_names(head["results"] or "")),
            operand_types,
            result_types,
            attributes,
            tuple(regions),
            successors,
            place,
        )

    def _region(self) -> tuple[Block, ...]:
        self._expect("{")
        blocks: list[Block] = []
        label = "^bb0"
        arguments: tuple[str, ...] = ()
        types: tuple[Type, ...] = ()
        operations: list[Operation] = []
        while True:
            self._blanks()
            if self._text[self._at] == "}":
                self._at += 1
                blocks.append(Block(label, arguments, types, tuple(operations)))
                return tuple(blocks)
            found = _LABEL.match(self._text, self._at)
            if found is None:
                operations.append(self._operation())
                continue
            if operations:
                blocks.append(Block(label, arguments, types, tuple(operations)))
            self._at = found.end()
            label, operations = found["label"], []
            listed = parts(self._bracketed()) if self._text[self._at] == "(" else ()
            pairs = [argument.partition(": ") for argument in listed]
            arguments = self._defined(name.strip() for name, _, _ in pairs)
            types = tuple(type_of(rest.split(" loc(")[0]) for _, _, rest in pairs)
            self._expect(":")

    def _defined(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._in(self._visible, name) for name in names)

    def _used(self, names: Iterable[str]) -> tuple[str, ...]:
        # a value that is used before the text defines it is that of another block of the function
        return tuple(self._in(self._visible.maps[-1], name) for name in names)

    def _in(self, scope: MutableMapping[str, str], name: str) -> str:
        """What a name stands for; the text has no second one for it where the first is visible."""
        found = self._visible.get(name)
        if found is None:
            before = self._called[name]
            self._called[name] += 1
            found = scope[name] = f"{name}'{before}" if before else name
        return found

    def _blanks(self) -> None:
        while self._text[self._at] in " \n":
            self._at += 1
        if self._text.startswith("//", self._at):
            self._at = self._text.index("\n", self._at)
            self._blanks()

    # ------------------------------------------------------------ places in the source

    def place_of(self, location: str) -> Place:
        """A location's files and name."""
        found = self._places.get(location)
        if found is None:
            found = self._places[location] = self._located(location)
        return found

    def _located(self, text: str) -> Place:
        if text.startswith("#"):
            return self.place_of(self._locations[text])
        if text.startswith("loc("):
            return self.place_of(text[4:-1])
        if file := _FILE.match(text):
            return Place(((file["file"], int(file["line"]), int(file["column"])),))
        if named := _NAMED.match(text):
            return Place(self.place_of(text[named.end() : -1]).files, named["name"])
        if text.startswith("callsite("):
            callee, _, caller = text[len("callsite(") : -1].partition(" at ")
            inner, outer = self.place_of(callee.strip()), self.place_of(caller.strip())
            return Place(inner.files + outer.files, inner.name or outer.name)
        if text.startswith("fused"):
            return self.place_of(parts(text[text.index("[") + 1 : -1])[0])
        return Place((), text.strip('"') if text.startswith('"') else "")


def _names(results: str) -> tuple[str, ...]:
    """``%a, %b:2`` as ``%a, %b#0, %b#1``."""
    found: list[str] = []
    for result in results.split(","):
        name, _, count = result.strip().partition(":")
        if name:
            found += [f"{name}#{n}" for n in range(int(count))] if count else [name]
    return tuple(found)
