"""What an instructor's private folder changes: the unit, points, held-out ranges, exercises.

    settings.toml        unit = "two-week", roster = "roster.csv", [points] by exercise and written
                         answer, until when (`deadlines`), and how fast on a GPU (`bands`)
    hidden/STEM.py       stands in the place of autograder/hidden/STEM.py
    exercises/STEM.py    stands in the place of course/exercises/STEM.py, for students too:
                         `autograder release` packs it

`python -m autograder init` makes the folder. One process has one overlay: `use` names it.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

from autograder import Refused, hidden
from autograder.judge.bands import TABLE, Bands, bands, without_band
from autograder.judge.deadlines import TABLES, Deadlines, deadlines
from course import exercises
from course.spec.exercise import Exercise

SETTINGS = "settings.toml"
HIDDEN, EXERCISES = "hidden", "exercises"
_PACKAGES = ((exercises, EXERCISES), (hidden, HIDDEN))
WHOLE = "course"
#: unit: how `init` and `release` describe it
UNITS = {WHOLE: "every exercise", "two-week": "the core, marked with a star"}
MOST_POINTS = 1000.0
_PLAIN = ("unit", "roster")
_SETTINGS = (*_PLAIN, "points", *TABLES, TABLE)
_EXPLAIN = "explain_"
_WRITTEN = re.compile(rf"^# %% \[markdown\] ({_EXPLAIN}\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Overlay:
    """What one folder changes; without a folder, nothing.

    Attributes:
        points: by exercise, where they are not the course's own, and by written answer.
        deadlines, roster: on which no verdict depends.
        bands: of points, by what a kernel reaches on a GPU.
    """

    folder: Path | None = None
    unit: str = WHOLE
    points: Mapping[str, float] = field(default_factory=dict)
    deadlines: Deadlines = field(default_factory=Deadlines)
    roster: Path | None = None
    bands: Bands = field(default_factory=dict)

    def counts(self, exercise: Exercise) -> bool:
        """Whether an exercise belongs to the class's unit."""
        return self.unit == WHOLE or exercise.core

    def points_of(self, exercise: Exercise) -> float:
        """What an exercise is worth in this class: nothing outside its unit."""
        if not self.counts(exercise):
            return 0
        return self.points.get(exercise.name, exercise.points)

    def graded(self, own: Mapping[str, Exercise]) -> tuple[Exercise, ...]:
        """The exercises of a lesson that count, with this class's points."""
        return tuple(
            exercise if points == exercise.points else replace(exercise, points=points)  # type: ignore[arg-type]
            for exercise in own.values()
            if self.counts(exercise)
            for points in [self.points_of(exercise)]
        )

    def digest(self, stem: str = "") -> str:
        """Tells two overlays apart, by what they change; in one lesson, where it is named."""
        own = set(exercises.lesson(stem)) if stem else self.points.keys()
        points = sorted((name, value) for name, value in self.points.items() if name in own)
        asked = sorted(
            (name, gpu, steps)
            for gpu, of_gpu in self.bands.items()
            for name, steps in of_gpu.items()
            if name in own or not stem
        )
        decides = (self.unit, points, asked) if asked else (self.unit, points)
        found = hashlib.sha256(repr(decides).encode())
        for part in (HIDDEN, EXERCISES):
            for path in self.files(part):
                if path.stem == stem or not stem:
                    name = f"{part}/{path.name}".encode()
                    found.update(name + b"\0" + path.read_bytes() + b"\0")
        return found.hexdigest()

    def arguments(self) -> list[str]:
        """What `use` has to be told in another process: the folder or nothing, and the unit."""
        return ["" if self.folder is None else str(self.folder), self.unit]

    def readable(self) -> list[Path]:
        """What another process has to read of the folder. The seed is not among it."""
        if self.folder is None:
            return []
        return [self.folder / SETTINGS, self.folder / HIDDEN, self.folder / EXERCISES]

    def files(self, part: str) -> list[Path]:
        """The modules of `hidden` or `exercises` that the folder holds."""
        return [] if self.folder is None else sorted((self.folder / part).glob("*.py"))


_active = Overlay()


def active() -> Overlay:
    """The overlay of this process."""
    return _active


def use(folder: Path | None, unit: str = "") -> Overlay:
    """Makes a folder's changes hold in this process, from here on.

    Args:
        folder: that `init` made; None for no changes.
        unit: instead of the one that its settings name.

    Raises:
        Refused: where something in it cannot be used.
    """
    global _active
    _remove(_active)
    _active = Overlay()
    chosen = _read(folder, unit)
    _check_stems(chosen)
    _install(chosen)
    try:
        _try(chosen)
        _check_points(chosen)
        if chosen.bands and (said := without_band(exercises.all_exercises(), chosen.bands)):
            raise Refused(f"{chosen.folder}/{SETTINGS}: {said}")
    except Refused:
        _remove(chosen)
        raise
    _active = chosen
    return chosen


def _install(overlay: Overlay) -> None:
    """A package looks for its modules in the folder first."""
    for package, part in _PACKAGES:
        if overlay.files(part):
            package.__path__.insert(0, str(overlay.folder / part))  # type: ignore[operator]
        _forget(package, overlay.files(part))


def _remove(overlay: Overlay) -> None:
    for package, part in _PACKAGES:
        if overlay.folder is not None:
            private = str(overlay.folder / part)
            package.__path__[:] = [path for path in package.__path__ if path != private]
        _forget(package, overlay.files(part))


def _forget(package: ModuleType, files: Sequence[Path]) -> None:
    """The modules of these names are imported again when somebody asks for them."""
    for path in files:
        sys.modules.pop(f"{package.__name__}.{path.stem}", None)
        vars(package).pop(path.stem, None)
    importlib.invalidate_caches()


def _try(chosen: Overlay) -> None:
    """Reads every file once, so that a slip in one is not found in the middle of a class."""
    for path in (*chosen.files(EXERCISES), *chosen.files(HIDDEN)):
        try:
            path.read_bytes()
        except OSError as error:
            raise Refused(f"{path} cannot be read: {error.strerror}.") from error
    for path in chosen.files(EXERCISES):
        try:
            declared = exercises.lesson(path.stem)
        except (Exception, SystemExit) as error:  # whatever an instructor's file raises
            raise Refused(f"{path}: {type(error).__name__}: {error}") from error
        if not declared:
            raise Refused(f"{path} declares no exercise.")
        for exercise in declared.values():
            _points(path, exercise.name, exercise.points)
    own = [path.stem for path in chosen.files(HIDDEN)]
    for stem in sorted({*own, *(path.stem for path in chosen.files(EXERCISES))}):
        try:
            hidden.try_ranges(stem)
        except hidden.HiddenCasesError as error:
            copy = f" Copy it to {chosen.folder}/{HIDDEN}, and change it there."
            said = f"{str(error).rstrip('.')}."
            raise Refused(f"{said}{'' if stem in own else copy}") from error


def _read(folder: Path | None, unit: str) -> Overlay:
    if folder is None:
        return Overlay(unit=unit or WHOLE)
    path = folder.resolve() / SETTINGS
    settings: Mapping[str, object] = {}
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise Refused(
            f"{path} cannot be read: {error}. A name with more than the letters A to Z, digits, _ "
            'and - stands in quotation marks: [extensions."Doe, Jane"].'
        ) from error
    unknown = sorted(settings.keys() - set(_SETTINGS))
    if unknown:
        known = ", ".join((*_PLAIN, *(f"[{name}]" for name in _SETTINGS[len(_PLAIN) :])))
        raise Refused(f"{path}: there is no setting {unknown[0]!r}. There are: {known}.")
    own = settings.get("unit", WHOLE)
    if not isinstance(own, str) or own not in UNITS:
        raise Refused(f"{path}: there is no unit {own!r}. There are: {', '.join(UNITS)}.")
    roster = settings.get("roster", "")
    if not isinstance(roster, str):
        raise Refused(f"{path}: roster should be the name of a file, got {roster!r}.")
    points = settings.get("points", {})
    if not isinstance(points, Mapping):
        raise Refused(
            f"{path}: [points] should hold a line `EXERCISE = POINTS` each, "
            f"got points = {points!r}."
        )
    try:
        until = deadlines(settings, map(exercises.notebook, exercises.STEMS))
        asked = bands(settings)
    except ValueError as error:
        raise Refused(f"{path}: {error}.") from error
    worth = {name: _points(path, name, value) for name, value in points.items()}
    listed = path.parent / roster if roster else None
    return Overlay(path.parent, unit or own, worth, until, listed, asked)


def _points(path: Path, name: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_POINTS:
        return value
    raise Refused(f"{path}: expected a number from 0 to {MOST_POINTS:g} for {name}, got {value!r}.")


def _check_stems(chosen: Overlay) -> None:
    """No file in the folder is named after a lesson that there is not."""
    known = exercises.stems()
    for part in (EXERCISES, HIDDEN):
        if chosen.folder is not None and (chosen.folder / part).is_file():
            raise Refused(f"{chosen.folder / part} is a file. Expected a folder, or nothing.")
        for path in chosen.files(part):
            if path.stem not in known:
                raise Refused(
                    f"{path}: there is no lesson {path.stem!r}. There are: {', '.join(known)}."
                )


def written_answers() -> dict[str, list[str]]:
    """The written answers of each lesson, by its notebook; none for a judge, as `_lessons`."""
    return {file.stem: _WRITTEN.findall(file.read_text("utf-8")) for file in _lessons()}


def _check_points(chosen: Overlay) -> None:
    """Points are for exercises that there are, the folder's own included, and written answers."""
    if not chosen.points:
        return
    names = {*exercises.all_exercises()}.union(*written_answers().values())
    for name in chosen.points:
        if name not in names and not (name.startswith(_EXPLAIN) and not _lessons()):
            raise Refused(
                f"{chosen.folder}/{SETTINGS}: [points] names {name!r}, which is no exercise and "
                "no written answer."
            )


def _lessons() -> list[Path]:
    """The lessons' sources: none for a judge, from whom the walls keep them."""
    return list((Path(hidden.__file__).parents[2] / "solutions").glob("*.py"))
