"""How live values read in a sentence: numbers, places, and who met whom in a race."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from course.plain.text import foreign_letters

_VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}
#: earlier access / this access: what this thread does, and what the other one does
_KINDS = {
    "write/write": ("writes", "writes"),
    "read/write": ("writes", "reads"),
    "write/read": ("reads", "writes"),
}
_PLACES = (
    "block", "thread", "other_block", "other_thread", "missing_block", "missing_thread",
)  # fmt: skip
_FIELD = re.compile(r"\{(\w+)\}")
#: what is wrong with a warp's mask: a lane is there and not named, or named and not there
_MASKS = {
    "unnamed": "leaves out a thread that runs this line",
    "absent": "names a thread that does not run this line",
    "unlike": "names a thread whose own mask is another one",
}
SEVERAL = "several"
_ELLIPSIS_AFTER = 12  # entries of a list that are shown


def shown(value: object) -> str:
    """A live value as a learner reads it: short, exact where it is whole."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return shown(value.item())
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return number(value)
    if isinstance(value, tuple | list):
        entries = [shown(entry) for entry in value[:_ELLIPSIS_AFTER]]
        if len(value) > _ELLIPSIS_AFTER:
            entries.append("...")
        return ", ".join(entries)
    return str(value)


def number(value: float) -> str:
    """A float with the digits that tell it apart, and no more: 0.1, 1.25, 3.3e-08, nan."""
    if not math.isfinite(value):
        return str(value)
    text = f"{value:.6g}"
    return text if "e" in text or "." in text else f"{text}.0"


def filled(template: str, fields: Mapping[str, object]) -> str:
    """The template with its values; parts between bars only where all their values are known."""
    values = {name: _value(name, value) for name, value in fields.items() if value is not None}
    access = values.get("access", "uses")
    values["verb"] = _VERBS.get(access, access)
    if "other_thread" in values:
        values |= _clash(values)
    letters = foreign_letters(values.get("name", ""))
    if letters:
        values["letters"] = letters
    if "mask_fault" in values:
        values["mask_problem"] = _MASKS[values["mask_fault"]]
    parts = template.split("|")
    kept = [
        part
        for number_, part in enumerate(parts)
        if number_ % 2 == 0 or all(name in values for name in _FIELD.findall(part))
    ]
    text = _FIELD.sub(lambda match: values.get(match[1], "(not known)"), "".join(kept))
    text = " ".join(text.replace("{{", "{").replace("}}", "}").split())
    return text[:1].upper() + text[1:] if template.startswith("{construct}") else text


def _clash(values: Mapping[str, str]) -> dict[str, str]:
    """Who else was there, and what each of the two did."""
    kind = values.get("kind", "")
    does, other_does = _KINDS.get(kind, ("uses", "uses"))
    thread, block = values["other_thread"], values.get("other_block", values.get("block", ""))
    one = thread != SEVERAL
    if one:
        where = "the same block" if block == values.get("block") else f"block {block}"
        other = f"thread {thread} of {where}"
    else:
        other_does = other_does.removesuffix("s")
        where = "its block" if block == values.get("block") else f"block {block}"
        other = f"several other threads of {where}"
        if block == SEVERAL:
            other = "several threads of other blocks"
    found = {"does": does, "other": other, "other_does": other_does}
    if kind == "atomic/plain":
        found["mixed"] = "one access is an atomic, the other is not"
    if "line" in values and values["line"] == values.get("other_line"):
        found["one_line"] = values["line"]
    return found


def _value(name: str, value: object) -> str:
    if name in _PLACES and isinstance(value, int | tuple):
        place = value if isinstance(value, tuple) else (value,)
        return str(place[0]) if len(place) == 1 else f"({', '.join(map(str, place))})"
    if name == "shape":
        if value == ():
            return "()"
        axes = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        if not axes.replace(",", "").replace(" ", "").isdecimal():
            return axes
        return f"({axes})" if "," in axes else f"({axes},)"
    if name in ("line", "other_line", "mask") and isinstance(value, int):
        return str(value)
    if name == "index":
        return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return shown(value)
