"""Lowering: a kernel's syntax tree becomes typed closures over the lanes of a batch.

Variables are versioned as in static single assignment: each assignment makes a new version
with a type of its own, and where paths meet the versions unify, as Numba's do. At run time a
branch works on its own copy of the variables, and `select` joins the copies by the masks.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from course.engine.faults import KernelFault, does_not_compile, rejected, rejected_syntax
from course.engine.simt.lowering.branches import if_else
from course.engine.simt.lowering.calls import call_expression
from course.engine.simt.lowering.complex_numbers import is_complex
from course.engine.simt.lowering.elements import read, subscript
from course.engine.simt.lowering.exceptions import assertion, raise_statement
from course.engine.simt.lowering.expr import (
    UNKNOWN,
    Expr,
    Names,
    as_written,
    converted,
    no_number,
    no_value,
    truth,
    tuple_items,
    variable,
)
from course.engine.simt.lowering.frames import Frame, LoopTargets
from course.engine.simt.lowering.loops import break_out, continue_on, for_range, while_loop
from course.engine.simt.lowering.names import constant, member, named, tuple_literal
from course.engine.simt.lowering.operators import binop, boolop, compare, ifexp, unaryop
from course.engine.simt.lowering.signatures import Function
from course.engine.simt.lowering.statements import (
    annotated,
    assign,
    augmented,
    expression_statement,
    pass_statement,
    return_from,
)
from course.engine.simt.lowering.types import (
    BOOL,
    ArrayType,
    RecordsType,
    TupleType,
    Type,
    TypingError,
    is_scalar,
)
from course.engine.simt.nvvm.contraction import Uses
from course.engine.simt.nvvm.merging import Held, Registers
from course.engine.simt.nvvm.ranges import Fact, opposite
from course.engine.simt.nvvm.sinking import Sinking
from course.engine.simt.nvvm.work import work_of
from course.engine.simt.running.bounds import Access
from course.engine.simt.running.lanes import Lanes, Statement
from course.engine.simt.running.memory import ConstantArray
from course.plain.trees import stored_names

#: Nodes of the tree that may be lowered, each as often as loops and calls have it written out.
#: The largest kernel of the course takes 2,000, and this many a second or two.
MOST_CODE = 25_000


@dataclass
class Program:
    """A lowered kernel, for one set of argument types."""

    statements: list[Statement]
    #: array parameters that the kernel may write
    stored: set[str]
    shared_bytes: int
    uses_dynamic_shared: bool
    #: whether its blocks wait for each other, so that all of them run at once
    whole_grid: bool
    #: whether a block may have to wait for a lock, so that one runs after the other
    one_by_one: bool
    #: whether a fence may order them
    fenced: bool
    #: operations that a lane makes for the statement of a line (see `work_of`)
    work_of: Mapping[int, int]
    #: what is wrong with it, if Numba does not compile it
    doubt: KernelFault | None


class Lowering:
    """Lowers one kernel. Registers (what is held) and frames (what is named) are its state."""

    def __init__(self, function: Function) -> None:
        self.registers = Registers()
        self.constants: dict[int, ConstantArray] = {}
        self.shared_places: dict[Any, int] = {}
        self.shared_bytes = 0
        self.uses_dynamic_shared = self.whole_grid = False
        self.one_by_one = self.fenced = False
        self.stored: set[str] = set()
        self.array_parameters: tuple[str, ...] = ()
        self.work_of: dict[int, int] = defaultdict(lambda: 1)
        self.target: str | None = None
        self.unused: ast.expr | None = None
        self.calls: list[Function] = []
        self.instances = 0
        #: keys of the iterators that a loop goes through
        self.begun: set[Any] = set()
        self.doubt: KernelFault | None = None
        self.code = 0
        self.loop_numbers = 0
        self.loops: list[LoopTargets] = []
        self.loop_nodes: list[ast.For | ast.While] = []
        #: the version at which a loop that is written out began; 0 outside of one
        self.written_out = 0
        self.reachable = True
        #: what the first operand of the last `and` or `or` left held
        self.held_first: dict[Any, Held] = {}
        #: variables of the innermost loop are at least as new
        self.loop_version = 0
        #: after a condition: what is held where it is true, and where it is false
        self.held_where: dict[bool, dict[Any, Held]] = {}
        #: whether it is worked out as a whole, for one branch
        self.one_question = True
        #: the straight block of code that is being lowered, and the products so far
        self.straight = 0
        self.fact: Fact | None = None
        #: of loads that are one, how each is made
        self.places: list[tuple[Callable[[Lanes], Any], Callable[..., Access]]] | None = None
        #: the question in front of a turn that is lowered now
        self.turn_test: ast.expr | None = None
        #: how conditions end in the code that is being lowered, by their keys
        self.outcomes: dict[Any, bool] = {}
        self.products: dict[Any, Uses] = {}
        #: of the kernel and the functions that it calls, by identity
        self.flows: dict[int, Sinking] = {}
        self.frame = Frame(function, set(), {}, False, 0, self.flow_of(function))

    def flow_of(self, function: Function) -> Sinking:
        """Where the loads of a function's statements are made."""
        if id(function) not in self.flows:
            self.flows[id(function)] = Sinking(function)
        return self.flows[id(function)]

    def enter(self, fact: Fact | None = None) -> None:
        """What is lowered from here on is another straight block; `fact` is why it is reached."""
        self.straight += 1
        self.fact = fact

    def outcome(self, condition: Expr) -> bool | None:
        """How a condition ends: a number, or where a branch around has asked it or its opposite."""
        if isinstance(condition.const, bool):
            return condition.const
        key = condition.key
        if key is None or key in self.outcomes:
            return self.outcomes.get(key)
        found = self.outcomes.get(opposite(key))
        return None if found is None else not found

    @contextmanager
    def never_reached(self) -> Iterator[None]:
        """Code that is typed and never executed: what it loads and stores is nobody's."""
        registers = self.registers
        self.registers = registers.apart()
        try:
            yield
        finally:
            registers.version, self.registers = self.registers.version, registers

    def spend(self, work: int = 1) -> None:
        """Counts nodes that are lowered, and variables and values that are compared or copied.

        Raises:
            KernelFault: where calls and loops, written out, make a small text endless.
        """
        self.code += work
        if self.code > MOST_CODE:
            kernel = self.calls[0] if self.calls else self.frame.function
            raise rejected(kernel.node, "too_much_code", name=kernel.name, limit=MOST_CODE)

    def doubts_tuple(self, type_: TupleType, fault: KernelFault) -> None:
        """Remembers that Numba may take the items of a tuple for several types, and not do so.

        To Numba an array and its transpose are of two types, as the layout is a part of it.
        """
        first, *others = type_.items or (None,)
        if isinstance(first, ArrayType) or any(other != first for other in others):
            called = self.frame.function
            if called.filename != self.calls[0].filename:
                fault.happened_in(called.name, called.filename)
            self.doubt = self.doubt or fault

    def stores_to(self, base: Expr) -> None:
        """Remembers that an array parameter is written."""
        self.stored.update(base.origin)

    def reserve_shared(self, place: Any, size_bytes: int, itemsize: int) -> int:
        """The byte at which a shared array starts; one declaration has one place."""
        if place not in self.shared_places:
            start = -(-self.shared_bytes // itemsize) * itemsize
            self.shared_places[place] = start
            self.shared_bytes = start + size_bytes
        return self.shared_places[place]

    def kernel(self, argument_types: tuple[Type, ...]) -> Program:
        """Lowers the whole kernel for its argument types."""
        function = self.frame.function
        self.frame.assigned = set(function.parameters) | stored_names(function.body)
        for name, type_ in zip(function.parameters, argument_types, strict=True):
            origin = _arrays_in(name, type_)
            self.array_parameters += origin
            self.frame.env[name] = Expr(
                type_,
                variable(name),
                ("argument", name),
                origin=origin,
            )
        self.calls.append(function)
        statements = self.block(function.body)
        return Program(
            statements,
            self.stored,
            self.shared_bytes,
            self.uses_dynamic_shared,
            self.whole_grid,
            self.one_by_one,
            self.fenced,
            self.work_of,
            self.doubt,
        )

    def block(self, body: list[ast.stmt]) -> list[Statement]:
        """Lowers statements; code after a `return`, `break` or `continue` is left out."""
        statements: list[Statement] = []
        for node in body:
            if not self.reachable:
                break
            self.spend()
            self.work_of[node.lineno] = max(self.work_of[node.lineno], work_of(node))
            lower = _STATEMENTS.get(type(node))
            if lower is None:
                raise rejected_syntax(
                    node,
                    _STATEMENT_WORDS.get(type(node), f"`{type(node).__name__.lower()}`"),
                    _STATEMENT_INSTEAD.get(type(node), "use assignments, `if`, `for` and `while`"),
                )
            try:
                statement = lower(self, node)
            except TypingError as error:
                raise self.untyped(node, str(error)) from None
            if statement is not None:
                statements.append(statement)
        return statements

    def straight_block(self, body: list[ast.stmt], fact: Fact | None = None) -> list[Statement]:
        """Lowers a branch or a loop's turn: behind it, none of its products is at hand."""
        products = dict(self.products)
        self.enter(fact)
        statements = self.block(body)
        self.enter()
        self.products = products
        return statements

    def bind(self, name: str, value: Expr) -> None:
        """`name` is from here on a variable that holds `value`."""
        self.frame.env[name] = self.versioned(value, variable(name))

    def names(self) -> Names:
        """The variables as they are here."""
        return Names(dict(self.frame.env), self.frame.instance)

    def versioned(
        self, value: Expr, run: Callable[[Lanes], Any], names: Names | None = None
    ) -> Expr:
        """A variable that is given a value, made of `names`: of those that are here."""
        if value.const is not UNKNOWN:
            return value
        # a product's factors are computed once: they are at hand only where they are kept
        product = value.product if value.product is not None and value.product.holder else None
        read_back = replace(
            value,
            run=run,
            items=None,
            masked=False,
            partly=False,
            product=product,
            given=(value.run, names or self.names()),
        )
        if value.key is None:
            version = self.registers.new_version()
            read_back = replace(read_back, key=("variable", version), since=version, given=None)
        if value.items is None:
            return read_back
        items = zip(tuple_items(self, read_back), value.items, strict=True)
        return replace(read_back, items=tuple(as_written(*pair) for pair in items))

    def expression(self, node: ast.expr) -> Expr:
        """Lowers one expression.

        Raises:
            KernelFault: REJECTED for a construct that is not kernel code, DOES_NOT_COMPILE
                where Numba has no type for it.
        """
        self.spend()
        method = _EXPRESSIONS.get(type(node))
        if method is None:
            raise rejected_syntax(
                node,
                CONSTRUCTS.get(type(node), type(node).__name__),
                INSTEAD.get(type(node), "use plain arithmetic, `if` and `for`"),
            )
        try:
            found = method(self, node)
            if isinstance(node, _WORK) and found.const is UNKNOWN:
                self.registers.step(found.key)
            return found
        except TypingError as error:
            raise self.untyped(node, str(error)) from None

    def value(self, node: ast.expr) -> Expr:
        """Lowers an expression that must have lanes: a number, an array or a tuple."""
        return read(self, node, self.whole(node))

    def whole(self, node: ast.expr) -> Expr:
        """As `value`; an element of complex numbers stays the record that it is."""
        expression = self.expression(node)
        if expression.type is None:
            raise self.untyped(node, no_value(expression))
        return expression

    def scalar(self, node: ast.expr) -> Expr:
        """Lowers an expression that must be a number in each thread."""
        return self._number(node, self.value(node))

    def operand(self, node: ast.expr) -> Expr:
        """Lowers an expression that must be a number in each thread, complex or not."""
        value = self.value(node)
        return value if is_complex(value) else self._number(node, value)

    def _number(self, node: ast.expr, expression: Expr) -> Expr:
        if not is_scalar(expression.type):
            raise self.untyped(node, no_number(ast.unparse(node), expression.type))
        return expression

    def condition(self, node: ast.expr) -> Expr:
        """Lowers a condition: lanes of booleans; `held_where` says what each outcome holds."""
        self.held_where, self.one_question = {}, True
        expression = self._number(node, truth(self.value(node)))
        negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if not (isinstance(node, ast.BoolOp) or negated):
            self.held_where = {}
        return converted(expression, BOOL)

    def untyped(self, node: ast.AST, detail: str) -> KernelFault:
        return does_not_compile(node, "type_error", detail=detail)


def _arrays_in(name: str, type_: Type) -> tuple[str, ...]:
    """The arrays of a parameter: itself, ``name[0]`` of a tuple, ``name.x`` of records."""
    if isinstance(type_, ArrayType):
        return (name,)
    if isinstance(type_, RecordsType):
        return tuple(f"{name}.{field}" for field in type_.names)
    items = type_.items if isinstance(type_, TupleType) else ()
    return tuple(one for at, item in enumerate(items) for one in _arrays_in(f"{name}[{at}]", item))


CONSTRUCTS: dict[type[ast.AST], str] = {
    ast.Lambda: "a lambda",
    ast.ListComp: "a list comprehension",
    ast.SetComp: "a set comprehension",
    ast.DictComp: "a dict comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.List: "a list",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "`:=`",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Starred: "a starred expression",
    ast.Slice: "a slice",
}


INSTEAD: dict[type[ast.AST], str] = {
    ast.List: "(a, b) in round brackets, or cuda.local.array(shape, dtype) for a private array",
    ast.ListComp: "a loop that fills cuda.local.array(shape, dtype)",
    ast.JoinedStr: 'print("x", x) with commas',
    ast.Lambda: "a @cuda.jit(device=True) function; a lambda gets one name, and is called by it",
    ast.NamedExpr: "an assignment on a line of its own",
}


#: What an instruction is made of.
_WORK = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.IfExp, ast.BoolOp)
_EXPRESSIONS: dict[type[ast.expr], Any] = {
    ast.Name: named,
    ast.Constant: constant,
    ast.Tuple: tuple_literal,
    ast.Attribute: member,
    ast.BinOp: binop,
    ast.UnaryOp: unaryop,
    ast.Compare: compare,
    ast.BoolOp: boolop,
    ast.IfExp: ifexp,
    ast.Subscript: subscript,
    ast.Call: call_expression,
}


_STATEMENTS: dict[type[ast.stmt], Any] = {
    ast.Expr: expression_statement,
    ast.Pass: pass_statement,
    ast.Assign: assign,
    ast.AnnAssign: annotated,
    ast.AugAssign: augmented,
    ast.If: if_else,
    ast.For: for_range,
    ast.While: while_loop,
    ast.Break: break_out,
    ast.Continue: continue_on,
    ast.Return: return_from,
    ast.Assert: assertion,
    ast.Raise: raise_statement,
}


_STATEMENT_WORDS: dict[type[ast.AST], str] = {
    ast.FunctionDef: "a function inside a kernel",
    ast.ClassDef: "a class",
    ast.Try: "`try`",
    ast.With: "`with`",
    ast.Import: "an import inside a kernel",
    ast.ImportFrom: "an import inside a kernel",
    ast.Global: "`global`",
    ast.Nonlocal: "`nonlocal`",
    ast.Delete: "`del`",
    ast.Match: "`match` with such a `case`",
}


_STATEMENT_INSTEAD: dict[type[ast.AST], str] = {
    ast.FunctionDef: "a @cuda.jit(device=True) function beside the kernel; one inside is "
    "defined once, and called with its arguments in their order",
    ast.Match: "numbers behind `case`, or `if` and `elif`",
    ast.Delete: "leave it out",
    ast.Import: "import above the kernel",
    ast.ImportFrom: "import above the kernel",
}
