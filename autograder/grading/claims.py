"""Where several files claim to be one student's notebook, none counts: a person decides."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from autograder.grading.folders import SUFFIX
from autograder.grading.names import clean, few, look_alike
from autograder.grading.submissions import Submission
from autograder.judge.sentences import Fault

LONGEST_PATH = 250


def without_collisions(submissions: Iterable[Submission]) -> list[Submission]:
    """One submission a student and notebook: where several files claim to be it, none counts.

    A file that is named just like the lesson's notebook wins over copies right beside it. What an
    LMS gave twice, in two downloads, is one.
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
        if len(claim) == 1 or (len(exact) == 1 and beside) or _is_one(claim):
            kept.append((exact or claim)[0])
            continue
        files = [clean(str(Path(*one.path.parts[-3:])), LONGEST_PATH) for one in claim]
        listed = few(files)
        by_name = {one.student: one for one in reversed(claim)}
        for student, one in by_name.items():
            what = {"student": student, "notebook": notebook or "work"}
            fault = Fault("same_name", count=len(claim), files=listed, **what)
            kept.append(replace(one, fault=fault, rivals=tuple(other.path for other in claim)))
    return kept


def _is_one(claim: Sequence[Submission]) -> bool:
    """Whether all are what one account of an LMS handed in, byte for byte."""
    first = claim[0]
    same = all((one.student, one.account) == (first.student, first.account) for one in claim)
    return first.account is not None and same and len({*map(content_of, claim)}) == 1


def content_of(submission: Submission) -> str:
    """Tells what was handed in from anything else: its bytes, or why they are not to be had."""
    try:
        if submission.fault is not None:
            raise submission.fault
        return hashlib.sha256(submission.data()).hexdigest()
    except Fault as fault:
        return fault.sentence
