"""Random small kernels: source text that the engine and an oracle both run.

A kernel works on one element a thread: ``i`` is its number, ``a`` to ``e`` are arrays of five
types, ``n``, ``x`` are numbers, and each thread writes its row of ``out``. What depends on the
compiler is kept out: shifts and conversions stay in range, integers stay small, no division by
zero, and no function whose last digit is a matter of the library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

ARRAYS = {"a": "int32", "b": "int64", "c": "float32", "d": "float64", "e": "uint8"}
OUTPUTS = 4
HELPERS = """
@device
def whole(x):
    if x > 1000.0:
        return 1000
    if x < -1000.0:
        return -1000
    if x == x:
        return int(x)
    return 0

@device
def mix(x, y):
    if x < y:
        return y - x, x
    return x, y

@device
def first_over(row, i, limit):
    for k in range(8):
        if row[(i + k) % 8] > limit:
            return k
    return -1
"""

Pick = Callable[[int], int]


@dataclass
class Writer:
    """Writes one kernel; `pick(n)` draws a number below n, small ones first when shrunk."""

    pick: Pick
    lines: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    wholes: list[str] = field(default_factory=list)
    depth: int = 1
    loops: int = 0
    budget: int = 14
    in_loop: bool = False

    def put(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def choose(self, *options: str) -> str:
        return options[self.pick(len(options))]

    # ------------------------------------------------------------ expressions

    def leaf(self) -> str:
        kind = self.pick(6)
        if kind == 0 or (kind == 1 and not self.names):
            return self.choose("1", "0", "3", "-2", "7", "100", "True", "n", "i")
        if kind == 1:
            return self.names[self.pick(len(self.names))]
        if kind == 2:
            return self.choose("0.5", "-1.25", "2.0", "x", "0.1")
        if kind == 3:
            return self.choose("cuda_i32", "int32(5)", "float32(0.75)", "uint8(250)", "int8(-3)")
        return f"{self.choose(*ARRAYS)}[{self.index()}]"

    def index(self) -> str:
        return self.choose("i", "(i + 1) % 8", "7 - i", "(i * 3 + n) % 8", "i ^ 1", "n % 8")

    def number(self, depth: int = 0) -> str:
        """Any number; integers are cut down so that no product overflows."""
        if depth >= 2:
            return self.leaf()
        kind = self.pick(12)
        if kind <= 2:
            return self.leaf()
        one, two = self.number(depth + 1), self.number(depth + 1)
        if kind <= 5:
            return f"({one} {self.choose('+', '-', '*')} {two})"
        if kind == 6:
            return f"({one} / (abs({two}) + 1))"
        if kind == 7:
            return f"({one} if {self.condition(depth + 1)} else {two})"
        if kind == 8:
            return f"{self.choose('min', 'max')}({one}, {two})"
        if kind == 9:
            return self.choose(
                f"abs({one})",
                f"-({one})",
                f"math.floor({one})",
                f"math.sqrt(abs({one}))",
                f"float({one} + 0)",
                f"float32({one})",
                f"whole({one})",
                f"int64(whole({one}))",
                f"round(whole({one}) * 0.5)",
                f"math.fabs({one})",
            )
        if kind == 10:
            return self.whole(depth + 1)
        return f"(({one}) {self.choose('and', 'or')} ({two}))"

    def whole(self, depth: int = 0) -> str:
        """A small integer."""
        kind = self.pick(8)
        if kind == 0 or depth >= 3:
            return self.choose("i", "n", "a[i]", "e[i]", "cuda_i32", *self.wholes)
        one = self.whole(depth + 1)
        if kind == 1:
            return f"({one} // {self.choose('3', '-4', '7', 'int32(5)')})"
        if kind == 2:
            return f"({one} % {self.choose('3', '-4', '7', 'int32(5)')})"
        if kind == 3:
            return f"(({one} & 15) {self.choose('<<', '>>')} {self.choose('1', '2', '3')})"
        if kind == 4:
            return f"({one} {self.choose('&', '|', '^')} {self.whole(depth + 1)})"
        if kind == 5:
            return f"first_over(a, i, {one})"
        if kind == 6:
            return f"~({one})"
        return f"((({one}) % 5) ** {self.choose('2', '3', '0')})"

    def condition(self, depth: int = 0) -> str:
        one, two = self.number(depth + 1), self.number(depth + 1)
        kind = self.pick(7)
        if kind <= 2 or depth >= 2:
            return f"{one} {self.choose('<', '<=', '>', '>=', '==', '!=')} {two}"
        if kind == 3:
            third = self.number(depth + 1)
            return f"{one} {self.choose('<', '<=')} {two} {self.choose('<', '!=')} {third}"
        if kind == 4:
            return f"not ({self.condition(depth + 1)})"
        joint = self.choose("and", "or")
        return f"({self.condition(depth + 1)}) {joint} ({self.condition(depth + 1)})"

    # ------------------------------------------------------------ statements

    def new_name(self) -> str:
        return f"v{len(self.names)}"

    def block(self) -> None:
        """One to three statements, one deeper; names made inside are forgotten behind it."""
        names = list(self.names)
        self.depth += 1
        for _ in range(1 + self.pick(3)):
            self.statement()
        self.depth -= 1
        self.names = names

    def statement(self) -> None:
        self.budget -= 1
        kind = self.pick(13) if self.budget > 0 and self.depth < 5 else self.pick(5)
        if kind == 0:
            self.put(f"out[i, {self.pick(OUTPUTS)}] = {self.number()}")
        elif kind == 1 and self.names:
            name = self.names[self.pick(len(self.names))]
            self.put(f"{name} = {self.number()}")
        elif kind == 2 and self.names:
            name = self.names[self.pick(len(self.names))]
            self.put(f"{name} {self.choose('+=', '-=', '*=')} {self.leaf()}")
            self.put(f"{name} = max(min({name}, 1000), -1000)")
        elif kind == 3 and len(self.names) > 1:
            at = self.pick(len(self.names) - 1)
            one, two = self.names[at : at + 2]
            right = self.choose(f"{two}, {one}", f"mix({one}, {two})", f"3, {one}", f"{two}, 0.5")
            self.put(f"{one}, {two} = {right}")
        elif kind <= 4:
            self.put(f"out[i, {self.pick(OUTPUTS)}] {self.choose('+=', '-=')} {self.leaf()}")
        elif kind <= 6:
            name = self.new_name()
            self.put(f"{name} = {self.number()}")
            self.names.append(name)
        elif kind <= 8:
            self.put(f"if {self.condition()}:")
            self.block()
            if self.pick(2):
                if self.pick(3) == 0:
                    self.put(f"elif {self.condition()}:")
                    self.block()
                self.put("else:")
                self.block()
        elif kind <= 10:
            self.for_loop()
        elif kind == 11:
            self.while_loop()
        elif self.in_loop:
            self.put(f"if {self.condition()}:")
            self.put(f"    {self.choose('break', 'continue')}")
        else:
            self.put(f"if {self.condition()}:")
            self.put("    return")

    def for_loop(self) -> None:
        self.loops += 1
        name, outer = f"k{self.loops}", self.in_loop
        bounds = self.choose("3", "i % 4", "1, 5", "6, 0, -2", "n % 3, n % 7", "0, e[i] % 5")
        self.put(f"for {name} in range({bounds}):")
        self.in_loop = True
        self.wholes.append(name)
        self.block()
        self.wholes.remove(name)
        self.in_loop = outer

    def while_loop(self) -> None:
        self.loops += 1
        name, outer = f"w{self.loops}", self.in_loop
        self.put(f"{name} = {self.choose('i % 5', '4', 'e[i] % 6')}")
        self.put(f"while {name} > 0{self.choose('', f' and ({self.condition(1)})')}:")
        self.put(f"    {name} -= {self.choose('1', '2')}")
        self.in_loop = True
        self.wholes.append(name)
        self.block()
        self.wholes.remove(name)
        self.in_loop = outer


def body(pick: Pick) -> str:
    """The statements of a random kernel, one level deep."""
    writer = Writer(pick)
    for name, start in (("v0", "0"), ("v1", "1.5"), ("v2", "a[i]"), ("v3", "c[i]")):
        writer.put(f"{name} = {start}")
        writer.names.append(name)
    for _ in range(3 + pick(5)):
        writer.statement()
    for at, name in enumerate(writer.names[:OUTPUTS]):
        writer.put(f"out[i, {at}] += {name}")
    return "\n".join(writer.lines)


def kernel_source(statements: str) -> str:
    """A module with one CUDA kernel."""
    return (
        "import math\nfrom numba import cuda, float32, int8, int32, int64, uint8\n"
        + HELPERS.replace("@device", "@cuda.jit(device=True)")
        + "\n\n@cuda.jit\ndef kernel(a, b, c, d, e, n, x, out):\n"
        + "    cuda_i32 = cuda.threadIdx.x\n    i = cuda.grid(1)\n"
        + "    if i >= out.shape[0]:\n        return\n"
        + statements
        + "\n"
    )


def oracle_source(statements: str) -> str:
    """A module with the same code for one thread, compiled by Numba for this processor."""
    return (
        "import math\nfrom numba import njit, float32, int8, int32, int64, uint8\n"
        + HELPERS.replace("@device", "@njit(error_model='numpy')")
        + "\n\n@njit(error_model='numpy')\ndef thread(i, cuda_i32, a, b, c, d, e, n, x, out):\n"
        + statements
        + "\n"
    )
