"""The page that `make lab` opens: lessons with links, what is solved of each, what is next."""

from __future__ import annotations

import importlib
from pathlib import Path

from course import exercises
from course.notebook.progress import Kept
from course.spec.exercise import Exercise

_HEAD = """\
# GPU kernels, metered

{following}

| lesson | what it is about | solved | ★ core | time left |
| --- | --- | --- | --- | --- |
"""
_FOOT = """
Primers, for whoever wants them: {primers}.

This page is written anew each time that the course is opened. In a notebook, `course.progress()`
has the points, and `course.glossary()` the words.
"""


def start_page(entries: Kept, folder: Path) -> str:
    """The page as Markdown, for a folder of the course's notebooks."""
    rows, following = [], "All exercises are solved."
    for stem in reversed(exercises.stems()):
        own = list(exercises.lesson(stem).values())
        still = [one for one in own if not _is_solved(one, entries)]
        name = exercises.notebook(stem)
        link = f"[{name.replace('_', ' ')}]({name}.ipynb)"
        core = [one for one in own if one.core]
        solved = sum(_is_solved(one, entries) for one in core)
        about = (importlib.import_module(f"{exercises.__name__}.{stem}").__doc__ or "").strip()
        about = about.partition(": ")[2].rstrip(".")
        left = sum(one.minutes for one in still if not one.bonus)
        rows.append(
            f"| {link} | {about} | {len(own) - len(still)} of {len(own)} | "
            f"{solved} of {len(core)} | {f'{left} min' if left else 'done'} |"
        )
        if must := [one for one in still if not one.bonus]:
            first = must[0]
            following = (
                f"Next: **{link}**, `{first.name}` ({first.title}, {first.minutes} minutes)."
            )
    primers = ", ".join(
        f"[{path.stem.partition('primer_')[2].replace('_', ' ')}]({path.name})"
        for path in sorted(folder.glob("*_primer_*.ipynb"))
    )
    table = "\n".join(reversed(rows))
    return _HEAD.format(following=following) + table + "\n" + _FOOT.format(primers=primers)


def _is_solved(exercise: Exercise, entries: Kept) -> bool:
    return entries.get(exercise.name, {}).get("credit", 0.0) >= 1.0
