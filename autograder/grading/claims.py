"""Where several files claim to be one student's notebook, none counts: a person decides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from autograder.grading.folders import SUFFIX
from autograder.grading.names import clean, few, look_alike
from autograder.grading.submissions import Submission
from autograder.judge.sentences import Fault

LONGEST_PATH = 250
#: Files that a sentence names.
_NAMED = 5


def without_collisions(submissions: Iterable[Submission]) -> list[Submission]:
    """One submission a student and notebook: where several files claim to be it, none counts.

    A file that is named just like the lesson's notebook wins over copies right beside it.
    """
    claims: dict[tuple[str, str], list[Submission]] = {}
    for submission in submissions:
        claims.setdefault((look_alike(submission.student), submission.notebook), []).append(
            submission
        )
    kept = []
    for (_, notebook), claim in claims.items():
        exact = [one for one in claim if one.path.name == notebook + SUFFIX]
        beside = len({one.path.parent for one in claim}) == 1
        if len(claim) == 1 or (len(exact) == 1 and beside):
            kept.append((exact or claim)[0])
            continue
        files = [clean(str(Path(*one.path.parts[-3:])), LONGEST_PATH) for one in claim]
        listed = few(files, _NAMED)
        by_name = {one.student: one for one in reversed(claim)}
        for student, one in by_name.items():
            what = {"student": student, "notebook": notebook or "work"}
            fault = Fault("same_name", count=len(claim), files=listed, **what)
            kept.append(replace(one, fault=fault, rivals=tuple(other.path for other in claim)))
    return kept
