"""What instructors use: building, grading, reports. It imports course; course never imports it."""

import sys

# A grader's course has no notebook floor: no launch is taken over, no finder and no handler added.
# Where `course` was imported before, as a learner does (in the tests), it stays what it is.
if "course" not in sys.modules:
    sys.modules["course.notebook"] = None  # type: ignore[assignment]  # how Python spells "not here"


class Refused(Exception):
    """What stops a command, in a sentence."""
