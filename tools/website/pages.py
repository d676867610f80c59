"""The pages before Sphinx has them: copies of what is maintained, tables of what was measured."""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import course
from course.notebook.exercises import _Kernel, _Numbers
from course.words.glossary import TERMS
from tools.website.records import calibration, speed, table

ROOT = Path(__file__).resolve().parents[2]
#: At the same places as in the repository, so that their links lead where they lead there.
_COPIED = (
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/instructors.md",
    "docs/pictures.md",
    "docs/threat-model.md",
)
#: What the start page lists, by heading; a lesson's page is its notebook's.
_CONTENTS = {
    "Look up": ("glossary", "api", "docs/pictures"),
    "Measured": ("calibration", "speed"),
    "For instructors": ("docs/instructors", "docs/threat-model"),
    "The project": ("CONTRIBUTING", "CHANGELOG"),
}

#: A link in a paragraph of HTML, as a notebook's JSON has it: Sphinx follows Markdown's alone.
_HTML_LINK = re.compile(r'(<a href=\\"\d\d_\w+)\.ipynb(?=\\">)')

#: Of a `Traffic`, what a notebook reads.
_COUNTED = "loads, stores, atomics, requested_bytes, sectors, arrays"


def assemble(out: Path) -> None:
    """Writes every page's source below `out`, which is made anew."""
    shutil.rmtree(out, ignore_errors=True)
    notebooks = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
    pictures = [path for kind in ("png", "svg") for path in (ROOT / "docs").rglob(f"*.{kind}")]
    for path in (*(ROOT / name for name in _COPIED), *pictures, *notebooks):
        copy = out / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    for path in (out / "notebooks").glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        path.write_text(_HTML_LINK.sub(r"\1.html", text), encoding="utf-8")
    lessons = [f"notebooks/{path.stem}" for path in notebooks]
    made = {
        "index": _start(lessons),
        "glossary": _glossary(),
        "calibration": calibration(),
        "speed": speed(),
        "api": _api(),
    }
    for name, text in made.items():
        (out / f"{name}.md").write_text(text, encoding="utf-8")


def _start(lessons: list[str]) -> str:
    """The README, and what the margin of every page lists."""
    listed = {"Lessons": lessons} | {name: list(pages) for name, pages in _CONTENTS.items()}
    trees = (
        f"```{{toctree}}\n:caption: {name}\n:hidden:\n\n" + "\n".join(pages) + "\n```"
        for name, pages in listed.items()
    )
    return "\n\n".join([(ROOT / "README.md").read_text(encoding="utf-8"), *trees, ""])


def _glossary() -> str:
    rows = [
        (term, meaning, f"[{lesson[:2]}](notebooks/{lesson}.ipynb)")
        for term, (lesson, meaning) in sorted(TERMS.items(), key=lambda one: one[0].lower())
    ]
    return '# Glossary\n\nIn a notebook, `course.glossary("sector")` says the same.\n\n' + table(
        ("term", "what it means", "lesson"), rows
    )


def _api() -> str:
    """What a learner calls, each with its own docstring."""
    own = {name: member for one in (_Numbers, _Kernel) for name, member in _methods(one).items()}
    functions = [name for name in course.__all__ if inspect.isfunction(getattr(course, name))]
    outcomes = ", ".join(f"`{outcome.name}`" for outcome in course.Outcome)
    parts = [
        "# What a notebook calls",
        "`from course import exercises as ex` gives the exercises, by name.",
        "## An exercise",
        *(_described(f"ex.NAME.{name}", member) for name, member in own.items()),
        "## The course",
        *(_described(f"course.{name}", getattr(course, name)) for name in functions),
        "## What a measurement counts",
        _class("course.engine.traffic.Traffic", _COUNTED),
        _class("course.engine.traffic.Totals", ""),
        _class("course.engine.traffic.Site", ""),
        "## What a kernel does wrong",
        _class("course.KernelFault", ""),
        f"Outcomes (`course.Outcome`): {outcomes}.",
    ]
    return "\n\n".join(parts) + "\n"


def _class(name: str, members: str) -> str:
    shown = f"   :members: {members}\n" if members else ""
    return f"```{{eval-rst}}\n.. autoclass:: {name}\n{shown}```"


def _methods(kind: type) -> dict[str, Callable[..., Any]]:
    found = inspect.getmembers(kind, inspect.isfunction)
    declared = {
        name for one in kind.__mro__ if one.__module__ == kind.__module__ for name in vars(one)
    }
    return {name: member for name, member in found if name in declared and name[0] != "_"}


def _described(name: str, member: Callable[..., Any]) -> str:
    parameters = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in inspect.signature(member).parameters.values()
        if one.name != "self"
    ]
    # "Args:" and what follows it, as a list of reStructuredText
    said = re.sub(r"^(\w+:)$", r"\1\n", inspect.getdoc(member) or "", flags=re.M)
    said = re.sub(r"^ {8}", " " * 6, re.sub(r"^ {4}(?=\w)", "    * ", said, flags=re.M), flags=re.M)
    body = "\n".join(f"   {line}".rstrip() for line in said.splitlines())
    signature = inspect.Signature(parameters)
    return f"```{{eval-rst}}\n.. py:function:: {name}{signature}\n   :no-index:\n\n{body}\n```"
