"""A prediction beside what the meter says: nothing is shown before a number is written down."""

from __future__ import annotations

import math
import numbers


def compare(prediction: object, measured: float, unit: str = "", tolerance: float = 0.0) -> None:
    """Prints a prediction beside the measured value, or asks for the prediction first.

    Args:
        prediction: a number; ``...`` while the learner has not written one.
        measured: what was counted or worked out.
        unit: what both numbers count, in words: ``"sectors of a"``.
        tolerance: relative difference up to which the prediction counts as right.
    """
    print(sentence(prediction, measured, unit, tolerance))


def sentence(prediction: object, measured: float, unit: str, tolerance: float = 0.0) -> str:
    """What `compare` prints."""
    of = f" {unit}" if unit else ""
    if prediction is ... or prediction is None:
        return "Predict first: write a number in the cell above, run it, then run this cell again."
    if isinstance(prediction, bool) or not isinstance(prediction, numbers.Real):
        return f"A prediction is a number; this is {prediction!r}. Correct the cell above."
    said, seen = _short(float(prediction)), _short(measured)
    if math.isclose(prediction, measured, rel_tol=tolerance, abs_tol=0.0):
        close = "" if said == seen else ": close enough"
        return f"You predicted {said}{of}, and it is {seen}{close}."
    if prediction <= 0 or measured <= 0:
        return f"You predicted {said}{of}; it is {seen}. Find the reason before you read on."
    return (
        f"You predicted {said}{of}; it is {seen}, {measured / float(prediction):.3g} times your "
        "number. Find the reason before you read on."
    )


def _short(value: float) -> str:
    return f"{round(value):,}" if value == round(value) else f"{value:,.4g}"
