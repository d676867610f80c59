"""nbgrader's settings for this course, read by every `nbgrader` command and by the formgrader.

A lesson's instructor notebook is built into `.build/nbgrader/source/`, its student notebook
beside that in `release/` (`make build`). What a class hands in and what comes back stand where
nbgrader keeps them by default, at the top of the repository: `submitted/`, `autograded/`,
`feedback/` and `gradebook.db`, with the verdicts and the class report in `grades/`, all ignored
by git. `--course-dir` or `CourseDirectory.root` moves them elsewhere, `--db` or
`CourseDirectory.db_url` names another gradebook.
"""

import sys
from pathlib import Path

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (traitlets puts it there)

ROOT = Path(__file__).resolve().parent

c.CourseDirectory.course_id = "gpu_kernels"
c.CourseDirectory.root = str(ROOT)
# Absolute, so that another root for a class's data still finds the lessons.
c.CourseDirectory.source_directory = str(ROOT / ".build" / "nbgrader" / "source")
c.CourseDirectory.release_directory = str(ROOT / ".build" / "nbgrader" / "release")

# One marker statement, so that "not attempted" is a comparison of syntax trees.
c.ClearSolutions.code_stub = {"python": "..."}
c.ClearSolutions.text_stub = "Write your answer here."

# Autograding is judging here: verdicts in the place of executed tests.
sys.path.insert(0, str(ROOT))  # where the course is not installed
from autograder.grading.nbgrader_glue import configure  # noqa: E402

configure(c)
