"""Which seed and which private folder a run has: what the command says, or what there is."""

from __future__ import annotations

import os
from pathlib import Path

from autograder import Refused
from autograder.grading.store import Store
from autograder.judge import private

#: What stands before a seed that is given as it is: a misspelt file is no seed.
SEED_ITSELF = "value:"
#: Some seconds try all that has eight letters and stands in a list; nothing tries this many.
_SHORTEST_BYTES = 16


class UsageError(Refused):
    """Arguments that cannot be used, in a sentence."""


def chosen_seed(text: str | None, store: Store) -> bytes:
    """What --seed names; else what these grades began with; else the private folder's; else new.

    Raises:
        Refused: where a seed is there that cannot be used, or a new one would
            take the place of one that was named.
    """
    if text is not None:
        return read_seed(text)
    folder = None if store.has_seed() else private.found(None)
    if folder is not None and (folder / private.SEED_NAME).exists():
        return private.read(folder)
    if not store.has_seed() and store.students():
        raise UsageError(
            f"The verdicts in {store.out} were judged with a seed that was named, and none is "
            "named now: a new one would judge the whole class again, on other cases. Name it as "
            "before, --seed DIR (or FILE, or value:TEXT), or begin anew with another --out."
        )
    return store.seed()


def guessable(seed: bytes) -> list[str]:
    """A sentence on a seed that students can find by trying, which draws all held-out cases."""
    if len(seed) >= _SHORTEST_BYTES:
        return []
    return [
        f"The seed has {len(seed)} bytes. What a verdict tells of a held-out case suffices to find "
        "such a seed by trying words, and with it all cases: `python -m autograder init` makes one "
        "that nobody finds."
    ]


def chosen_folder(text: str | None) -> Path | None:
    """The private folder that --seed names, or else the one that `init` makes by default.

    Raises:
        Refused: where it cannot be read, or there is no seed.
    """
    if text is None:
        return private.found(None)
    read_seed(text)  # a slip is told before anything is made of it
    if text.startswith(SEED_ITSELF):
        return None
    place = private.expanded(Path(text))
    return place if private.is_folder(place) else None


def read_seed(text: str) -> bytes:
    """The seed of a folder that `init` made, or of a file; after `value:`, the text itself.

    Raises:
        UsageError: where there is no seed, or others may read it.
    """
    if text.startswith(SEED_ITSELF):
        seed = os.fsencode(text.removeprefix(SEED_ITSELF)).strip()
        if not seed:
            raise UsageError(f"The seed {text!r} is empty: no text stands behind the colon.")
        return seed
    try:
        place = private.expanded(Path(text))
        if text and private.mode(place):
            return private.read(place)
    except Refused as error:
        raise UsageError(f"The seed {text!r}: {error}") from error
    raise UsageError(
        f"The seed {text!r}: there is no such file or folder. Name the folder that `init` made or "
        f"a file that holds a seed; for the text itself, write {SEED_ITSELF}{text or 'TEXT'}."
    )
