"""What NVVM makes of a Numba kernel: its PTX, read.

NVVM comes with NVIDIA's toolkit or a wheel (`pip install nvidia-cuda-nvcc-cu12`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import typeof

from course.engine.simt.compiled import ptx_of

TYPES = {
    **{f"{kind}{bits}": np.dtype(f"{sign}{bits // 8}")
       for kind, sign in (("u", "u"), ("s", "i"), ("b", "u")) for bits in (8, 16, 32, 64)},
    # bits, where numpy has no such type
    "f16x2": np.dtype("u4"), "bf16x2": np.dtype("u4"), "bf16": np.dtype("u2"),
    "f16": np.dtype("f2"), "f32": np.dtype("f4"), "f64": np.dtype("f8"), "pred": np.dtype(bool),
}  # fmt: skip
_REGISTER = re.compile(r"\.reg\s+\.(\w+)\s+(.*)")
_VARIABLE = re.compile(
    r"\.(shared|local|global|const)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+"
    r"([\w$]+)(?:\[(\d*)\])?(?:\s*=\s*(.*))?$"
)
_PARAMETER = re.compile(r"\.param\s+\.\w+\s+(?:\.ptr \.global )?(?:\.align \d+ )?([\w$]+)")
_SPACES = ("global", "shared", "local", "const", "param")


class NotRun(Exception):
    """An instruction that this file does not know."""


def compiled(kernel: Any, arguments: Sequence[Any], target: int = 80) -> str:
    """The PTX of a kernel for a launch with these arguments."""
    signature = tuple(typeof(one) for one in arguments)
    return ptx_of(kernel.py_func, signature, target)


@dataclass
class Instruction:
    """One instruction; `guard` is the predicate in front of it, `place` the `.loc` above it."""

    name: str
    operands: list[str]
    guard: str = ""
    place: str = ""
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.parts = tuple(self.name.split("."))

    @property
    def type(self) -> np.dtype[Any]:
        """The last type in the name."""
        return TYPES[next(part for part in reversed(self.parts) if part in TYPES)]

    @property
    def space(self) -> str:
        return next((part for part in self.parts if part in _SPACES), "generic")


@dataclass
class Code:
    """An entry function: its instructions, where its labels stand, and what it declares."""

    parameters: list[str] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    #: by the name without its number
    registers: dict[str, np.dtype[Any]] = field(default_factory=dict)
    #: space, name, bytes, alignment, initial bytes
    variables: list[tuple[str, str, int, int, bytes]] = field(default_factory=list)


def split(text: str) -> list[str]:
    """Operands, by the commas outside of brackets."""
    return [one.strip() for one in re.split(r",(?![^{\[(]*[}\])])", text)] if text.strip() else []


def parsed(text: str) -> Code:
    """The one entry function of a module; each statement of a compiler's text stands on a line."""
    code, signature, place = Code(), "", ""
    text = re.sub(r"//[^\n]*", "", text.partition(".section")[0])
    for part in re.split(r"[;\n]", text):
        part = part.strip().removeprefix("{ ")
        if ".entry" in part or (signature and not signature.endswith(")")):
            signature += part
            code.parameters += _PARAMETER.findall(part)
        elif part.startswith((".func", ".visible .func", ".weak .func", "call")):
            raise NotRun("a function of its own")
        elif found := _REGISTER.match(part):
            for name in split(found.group(2)):
                code.registers[re.sub(r"<.*|\d+$", "", name)] = TYPES[found.group(1)]
        elif found := _VARIABLE.search(part):
            space, align, kind, name, count, given = found.groups()
            item = TYPES[kind]
            size, initial = item.itemsize * int(count or 1), _initial(given, item)
            code.variables.append((space, name, size, int(align or item.itemsize), initial))
        elif part.endswith(":"):
            code.labels[part[:-1]] = len(code.instructions)
        elif part.startswith(".loc"):
            place = part
        elif part and part[0] not in ".(){}":
            guard, part = part[1:].split(None, 1) if part.startswith("@") else ("", part)
            name, *rest = part.split(None, 1)
            code.instructions.append(Instruction(name, split("".join(rest)), guard, place))
    return code


def _initial(given: str | None, item: np.dtype[Any]) -> bytes:
    if not given:
        return b""
    return np.array([number(one, item) for one in split(given.strip("{} "))], item).tobytes()


def number(text: str, item: np.dtype[Any]) -> Any:
    """A number as PTX writes it."""
    if text[:2] in ("0f", "0d"):
        kind = "4" if text[1] == "f" else "8"
        bits = np.array(int(text[2:], 16), f"u{kind}")
        return (bits.view(f"f{kind}") if item.kind == "f" else bits).astype(item)[()]
    if item == np.bool_:
        return np.bool_(int(text))
    bits = int(text.rstrip("U"), 0) & ((1 << 8 * item.itemsize) - 1)
    return np.array(bits, f"u{item.itemsize}").view(item)[()]
