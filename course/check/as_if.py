"""Slips of formulas, by what they would give: the reference on inputs that a slip would have left.

A slip is named where it gives what the kernel gave, in every element of every case: in those that
are wrong, and in those that are right. Values are computed for it, never guessed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations_with_replacement, product
from typing import Any

import numpy as np

from course.check.compare import SMALLEST_PATTERN, Compared, factor_of
from course.check.outputs import ONE_BLOCK, WHOLE_GRID, called
from course.plain.tiles import tiles_turned
from course.spec.inputs import poisoned

#: What the reference would take after a slip; None where the case has no such thing.
Change = Callable[[Compared], Mapping[str, Any] | None]
Reference = Callable[..., Mapping[str, Any]]
#: Wrong elements that have to agree: two floats do not by chance, whole numbers may. A slip that
#: the exercise itself names is no chance. Infinities and NaN tell no slip from another.
FEWEST, FEWEST_WHOLE = 2, 8
KNOWN = "slip_known"
#: Before an output's name: how large its terms are together, where an exercise's slip tells that.
SIZE_OF = "size of "


@dataclass(frozen=True)
class Slip:
    """An id of `course.words.patterns` with its values, and what the kernel would give after it."""

    message_id: str
    fields: Mapping[str, object]
    gives: Callable[[Compared], Any]
    #: what a tolerance is relative to then, where the values themselves do not say
    sizes: Callable[[Compared], Any] = lambda one: None
    #: elements along the last axis, at both ends, that are not looked at
    ends: int = 0

    def explains(self, cases: Sequence[Compared]) -> bool:
        """Whether every case came out as it would have."""
        wrong = agreed = telling = 0
        for one in sorted(cases, key=lambda one: one.got.size):  # most fail at a small one
            found = self._found(one)
            if found is None:
                return False
            values, same = found
            looked_at = ~poisoned(one.got)  # what no thread wrote tells nothing of a formula
            if self.ends and same.ndim:
                looked_at[..., : self.ends] = looked_at[..., -self.ends :] = False
            if not same[looked_at].all():
                return False
            wrong += int((one.wrong & looked_at).sum())
            both = one.wrong & looked_at & one.wrong_if(values)
            agreed += int(both.sum())
            telling += int((both & (np.isfinite(one.got) | (self.message_id == KNOWN))).sum())
        by_chance = cases[0].got.dtype.kind != "f" and self.message_id != KNOWN
        return 2 * agreed >= wrong and telling >= (FEWEST_WHOLE if by_chance else FEWEST)

    def _found(self, one: Compared) -> tuple[Any, np.ndarray] | None:
        """What it gives, and element by element whether the kernel gave that.

        None where the case cannot have come of it.
        """
        try:
            with np.errstate(all="ignore"):
                values = self.gives(one)
                if values is None:
                    return None
                return values, one.gave(values, self.sizes(one))
        except (ArithmeticError, IndexError, TypeError, ValueError):
            return None  # not every change is one that a reference takes


def first_slip(
    cases: Sequence[Compared],
    reference: Reference,
    known: Mapping[str, Reference],
    magnitude: Reference | None = None,
    outputs: Sequence[str] = (),
) -> Slip | None:
    """The first slip that explains every case.

    Args:
        reference, magnitude: the exercise's.
        known: the exercise's own slips: what to say, and the reference of one who makes it.
        outputs: all of the exercise's, by name.
    """
    slips = _known(known)
    if any(one.got.any() for one in cases):  # zeros are what many slips would give
        of_inputs = _of_inputs(cases, reference, magnitude or reference, outputs)
        slips = chain(slips, of_inputs, _of_values(cases))
    return next((slip for slip in slips if slip.explains(cases)), None)


def _known(known: Mapping[str, Reference]) -> Iterator[Slip]:
    for said, reference in known.items():
        gives = _after(reference, lambda one: one.given)
        yield Slip(KNOWN, {"said": said}, gives, partial(_told_size, reference))


def _told_size(reference: Reference, one: Compared) -> object:
    told = reference(**one.given).get(SIZE_OF + one.name)
    return one.magnitude if told is None else np.maximum(told, one.magnitude)


def _after(
    reference: Reference, change: Change, output: str = ""
) -> Callable[[Compared], object | None]:
    """What the reference gives on changed inputs: for this output, or else for the one compared."""

    def gives(one: Compared) -> object | None:
        given = change(one)
        values = None if given is None else reference(**given).get(output or one.name)
        return values if values is not None and np.shape(values) == one.expected.shape else None

    return gives


def _of_inputs(
    cases: Sequence[Compared],
    reference: Reference,
    magnitude: Reference,
    outputs: Sequence[str],
) -> Iterator[Slip]:
    """Inputs swapped, shifted, forgotten, cut short."""
    first = cases[-1].given
    arrays = [name for name, value in first.items() if isinstance(value, np.ndarray)]
    numbers = [name for name, value in first.items() if isinstance(value, float)]

    def slip(message_id: str, change: Change, ends: int = 0, **fields: object) -> Slip:
        return Slip(message_id, fields, _after(reference, change), _after(magnitude, change), ends)

    for output in outputs:
        if output != cases[-1].name:
            gives = _after(reference, lambda one: one.given, output)
            yield Slip("slip_output", {"other": output}, gives)
    for k, one in enumerate(arrays):
        for other in arrays[k + 1 :]:
            if first[one].shape == first[other].shape:
                yield slip("slip_swapped", _swapped(one, other), one=one, other=other)
                for taken, meant in ((one, other), (other, one)):
                    yield slip("slip_instead", _instead(taken, meant), taken=taken, meant=meant)
    for name in arrays:
        for value in (1.0, 0.0):
            change = _of(name, partial(np.full_like, fill_value=value))
            yield slip("slip_forgotten", change, name=name, value=int(value))
        if first[name].ndim:
            where = "row" if first[name].ndim > 1 else "element"
            yield slip("slip_first_alone", _of(name, _first_alone), name=name, where=where)
        yield slip("slip_truncated_input", _of(name, np.trunc), name=name)
        for by in (1, -1):
            there = f"[i {'-' if by > 0 else '+'} 1]"
            change = _of(name, partial(np.roll, shift=by, axis=-1))
            yield slip("slip_shifted", change, ends=1, name=name, there=there)
        for label in cases[0].lengths if first[name].ndim == 2 else ():
            of = called(label, cases, [one.given[name].shape[1] for one in cases])
            change = _of(name, tiles_turned, label)
            yield slip("slip_tiles_turned", change, name=name, label=of)
        for axis in range(first[name].ndim):
            where = _where(first[name].ndim, axis)
            for sizes in _products_of(cases[0].sizes, first[name].ndim - axis - 1):
                change, apart = _apart(name, axis, sizes), " * ".join(sizes)
                yield slip("slip_apart", change, name=name, where=where, apart=apart)
            long = [one.given[name].shape[axis] for one in cases]
            told = {label: called(label, cases, long) for label in cases[0].lengths}
            for label in cases[0].lengths:
                for kind, often in _STEPS:
                    change = _counted(name, axis, often, label)
                    yield slip(kind, change, name=name, where=where, label=told[label])
            for label, step in _parts_and_steps(cases, long):
                for kind, often in _PARTS.items():
                    change = _counted(name, axis, often, label, step)
                    labels = {"label": told[label], "step": told[step]}
                    yield slip(kind, change, 0, name=name, where=where, **labels)
            if {ONE_BLOCK, WHOLE_GRID} <= cases[0].lengths.keys():
                for step, steps in _STRIDES.items():
                    change = _counted(name, axis, steps, ONE_BLOCK, WHOLE_GRID)
                    yield slip("slip_stride", change, name=name, where=where, step=step)
                for by in _FIXED_STRIDES:
                    often = partial(_from_each_thread_on, step=by)
                    change = _counted(name, axis, often, WHOLE_GRID)
                    yield slip("slip_other_stride", change, name=name, where=where, step=by)
            for kind, often in _ENDS.items():
                yield slip(kind, _counted(name, axis, often), name=name, where=where)
    for name in numbers:
        usual = Counter(one.given[name] for one in cases).most_common(1)[0][0]
        for value in (1, 0, usual):
            yield slip("slip_number", _of(name, partial(_always, value)), name=name, value=value)
        yield slip("slip_whole_number", _of(name, int), name=name)


def _products_of(sizes: Iterable[str], most: int) -> Iterator[tuple[str, ...]]:
    for factors in range(1, most + 1):
        yield from combinations_with_replacement(sizes, factors)


def _where(ndim: int, axis: int) -> str:
    if ndim == 2:
        return ("rows", "columns")[axis]
    return "elements" if ndim == 1 else f"places along axis {axis}"


def _swapped(one: str, other: str) -> Change:
    def change(case: Compared) -> Mapping[str, Any] | None:
        given = case.given
        if given[one].shape != given[other].shape:
            return None
        return {**given, one: given[other], other: given[one]}

    return change


def _instead(taken: str, meant: str) -> Change:
    return lambda case: {**case.given, meant: case.given[taken]}


def _of(name: str, of: Callable[..., Any], *labels: str) -> Change:
    """An input made another one by a function of it, and of the cell's lengths of these names."""
    return lambda case: {
        **case.given,
        name: of(case.given[name], *(case.lengths[label] for label in labels)),
    }


def _apart(name: str, axis: int, sizes: Sequence[str]) -> Change:
    """An array of which one axis' places are taken to lie as far apart as the sizes say."""

    def change(case: Compared) -> Mapping[str, Any] | None:
        values = case.given[name]
        far = math.prod(case.sizes[size] for size in sizes)
        right = math.prod(values.shape[axis + 1 :])
        at = np.arange(values.size).reshape(values.shape)
        at += np.expand_dims(np.arange(values.shape[axis]), [*range(1, values.ndim - axis)]) * (
            far - right
        )
        found = values.ravel().take(at, mode="clip")
        return {**case.given, name: np.where(at < values.size, found, 0)}

    return change


def _first_alone(values: np.ndarray) -> np.ndarray:
    return np.broadcast_to(values[:1], values.shape)


def _always(value: float, _: Any) -> float:
    return value


#: How often each of so many places counts: lengths that a cell names may say it.
_Often = Callable[..., np.ndarray]


def _counted(name: str, axis: int, often: _Often, *labels: str) -> Change:
    """Each place along an axis counts as often as `often` says of their number and of lengths."""

    def weighted(values: np.ndarray, *lengths: int) -> np.ndarray:
        counts = often(values.shape[axis], *lengths).reshape(-1, *(1,) * (values.ndim - axis - 1))
        return np.where(counts == 0, 0, values * counts)

    return _of(name, weighted, *labels)


_ENDS: dict[str, _Often] = {
    "slip_last_left_out": lambda n: np.arange(n) < n - 1,
    "slip_first_left_out": lambda n: np.arange(n) > 0,
}
#: In steps of so many.
_STEPS: tuple[tuple[str, _Often], ...] = (
    ("slip_whole_steps", lambda n, step: np.arange(n) < n // step * step),
    ("slip_first_step", lambda n, step: np.arange(n) < step),
    ("slip_last_step", lambda n, step: np.arange(n) >= (n - 1) // step * step),
    ("slip_but_first_step", lambda n, step: np.arange(n) >= step),
    ("slip_every_second_step", lambda n, step: np.arange(n) // step % 2 == 0),
    ("slip_last_step_lost", lambda n, step: np.arange(n) < (n - 1) // step * step),
    ("slip_step_by_one", lambda n, step: _from_each_step_on(n, step, n // step)),
    ("slip_step_by_one", lambda n, step: _from_each_step_on(n, step, -(n // -step))),
    ("slip_to_the_end", lambda n, length: np.arange(n) // length + 1),
    ("slip_same_step", lambda n, step: np.where(np.arange(n) < step, -(n // -step), 0)),
)


def _from_each_step_on(n: int, step: int, steps: int) -> np.ndarray:
    """How many steps come to each place, where step number k begins at place k."""
    place = np.arange(n)
    return np.minimum(place + 1, steps) - np.minimum((place - step + 1).clip(0), steps)


def _from_each_thread_on(n: int, threads: int, step: int) -> np.ndarray:
    """How many threads come to each place, where each begins at its own and goes on by `step`."""
    place = np.arange(n)
    first = np.maximum(0, -((place - threads + 1) // -step))
    return place // step - first + 1


#: Steps of a grid-stride loop that are shorter than the grid, of a block's length and the grid's.
_STRIDES: dict[str, _Often] = {
    "the threads of one block": lambda n, block, grid: _from_each_thread_on(n, grid, block),
    "the number of blocks": lambda n, block, grid: _from_each_thread_on(n, grid, grid // block),
    "1": lambda n, block, grid: _from_each_thread_on(n, grid, 1),
}


#: Steps that a cell may have for the number of threads, whatever the grid.
_FIXED_STRIDES = tuple(2**k for k in range(5, 14))


def _parts_and_steps(cases: Sequence[Compared], long: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Of the cell's lengths those that may say of parts how long or how many, and of steps."""
    sizes = cases[0].sizes
    along = [size for size in sizes if [one.sizes[size] for one in cases] == list(long)]
    named = [label for label in cases[0].lengths if label.isidentifier()]
    parts = [label for label in named if not label.endswith(tuple(sizes))]
    steps = [label for label in named if label.endswith(tuple(along))] or named
    yield from ((label, step) for label, step in product(parts, steps) if label != step)


def _to_the_last_step(n: int, length: int, step: int) -> np.ndarray:
    """Parts of a length that each go on to the end of their last step."""
    counts = np.zeros(n)
    for start in range(0, n, length):
        counts[start : start - min(length, n - start) // -step * step] += 1
    return counts


def _to_the_end(n: int, parts: int, step: int) -> np.ndarray:
    """So many parts of whole steps that each go on to the end of all."""
    length = -(-(n // -parts) // -step) * step
    return np.arange(n) // length + 1


def _whole_steps_a_part(n: int, parts: int, step: int) -> np.ndarray:
    """Parts of as many whole steps, but of one at least, and as many as fit, but one at least."""
    length = max(n // parts // step, 1) * step
    return np.arange(n) < max(n // length, 1) * length


#: Of parts so long or so many, and their steps.
_PARTS: dict[str, _Often] = {
    "slip_seams": _to_the_last_step,
    "slip_seams_of_parts": lambda n, parts, step: _to_the_last_step(n, -(n // -parts), step),
    "slip_parts_to_the_end": _to_the_end,
    "slip_rest_of_parts": _whole_steps_a_part,
}


def _times_size(it: str, name: str, of: Callable[[int], float], one: Compared) -> object:
    """The right values of an output, or how large they are, times a factor that a size makes."""
    return getattr(one, it) * of(one.sizes[name])


def _of_values(cases: Sequence[Compared]) -> Iterator[Slip]:
    """What became of the right values afterwards."""

    def slip(message_id: str, of: Callable[[np.ndarray], object], **fields: object) -> Slip:
        return Slip(message_id, fields, lambda one: of(one.expected))

    yield Slip("slip_unchanged", {}, lambda one: one.given.get(one.name))
    yield slip("slip_sign", lambda right: -right)
    yield slip("slip_truncated", np.trunc)
    yield slip("slip_reciprocal", lambda right: 1.0 / right)
    yield slip("slip_squared", lambda right: right * right)
    yield slip("slip_unrooted", lambda right: right * np.abs(right))
    yield slip("slip_exponential", np.exp)
    yield slip("slip_logarithm", np.log)
    for name in cases[-1].sizes:
        for words, of in _FACTORS.items():
            said = words.format(name=name)
            if len({one.sizes[name] for one in cases}) > 1:
                right = partial(_times_size, "expected", name, of)
                size = partial(_times_size, "magnitude", name, of)
                yield Slip("slip_factor", {"factor": said}, right, size)
    few = cases[-1]  # of one with more elements its pattern tells
    times = factor_of(few.got.ravel(), few.expected.ravel())
    if times is not None and few.got.size < SMALLEST_PATTERN:
        yield slip("slip_times", partial(np.multiply, times), factor=times)
    for said, factor in (("ln 2 (0.693)", math.log(2)), ("log2 e (1.443)", 1 / math.log(2))):
        yield slip("slip_base", partial(np.multiply, factor), factor=said)


#: Factors that a size makes: divided too often or never.
_FACTORS: dict[str, Callable[[int], float]] = {
    "{name}": float,
    "1 / {name}": lambda n: 1.0 / n,
    "the root of {name}": math.sqrt,
    "1 / the root of {name}": lambda n: 1.0 / math.sqrt(n),
}
