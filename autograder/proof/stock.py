"""`make stock-nbgrader`: the exploits against nbgrader as it comes, for comparison.

Each submission is graded by plain `nbgrader autograde`, in an environment that is thrown away:
bubblewrap, no network, an own /tmp, a time and a memory limit. The assignment is lesson 01 as an
instructor would write it for nbgrader, with asserts in the check cell and hidden tests. What is
recorded: whether a wrong answer earned points, whether the notebook's code ran in the grader,
whether hidden tests came out, whether grading stopped.

`python -m autograder.proof.stock one` is what runs inside; it reads one submission from its input,
and
answers whatever the submission did: it is the first process of its namespace, which none inside can
end. No answer is therefore a failure of the comparison and no feat of the submission, and so is a
control that is not graded as it must be; nothing is written then.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from autograder.lessons.build import instructor_notebook
from autograder.lessons.catalogue import ROOT, lesson_exercises
from autograder.lessons.source import lesson_files, read_lesson
from autograder.proof.exploit import Exploit, changed, exploits, grade_id, with_cell, with_sources
from autograder.sandbox import walls
from autograder.sandbox.walls import Kind, Wall, bubblewrap_works
from course.engine.faults import Outcome

LESSON = "01_threads"
EXERCISE = "vector_add"
HIDDEN_MARK = "hidden-size-4099"
#: The test cell as it would be written for nbgrader: visible asserts, and hidden ones.
_TESTS = f"""\
import numpy as np

for n in (1, 1000):
    a, b, c = np.arange(n, dtype=np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)
    vector_add[(n + 255) // 256, 256](a, b, c)
    assert np.allclose(c, a + b)
### BEGIN HIDDEN TESTS
for n in (4099,):  # {HIDDEN_MARK}
    a, b, c = np.arange(n, dtype=np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)
    vector_add[(n + 255) // 256, 256](a, b, c)
    assert np.allclose(c, a + b)
### END HIDDEN TESTS
"""
_MEMORY_BYTES = 4 * 2**30
_PROCESSES = 400
#: For each command of nbgrader's, and for each cell: the first one imports for seconds.
_SECONDS = 300
_SECONDS_A_CELL = 120
#: A machine that is busy otherwise may fail once.
_ATTEMPTS = 2
_CONFIG = f"""
c = get_config()
c.CourseDirectory.course_id = "stock"
c.ExecutePreprocessor.timeout = {_SECONDS_A_CELL}
c.ClearSolutions.code_stub = {{"python": "..."}}
"""


class ComparisonError(Exception):
    """The comparison itself failed. The text says at what."""


@dataclass(frozen=True)
class Result:
    """What came of one submission on stock nbgrader.

    Attributes:
        right: whether what it hands in is right, so that its points are its own.
        points: of `max_points`; None where there is no score.
        ran: whether the submission's code ran in the grader's process.
        leaked: whether a hidden test stands in what the student gets back.
        stopped: why no grade came of it, or "".
    """

    name: str
    tries: str
    right: bool
    points: float | None
    max_points: float
    ran: bool
    leaked: bool
    stopped: str

    @property
    def succeeded(self) -> bool:
        """Whether the trick got anything. (Hidden tests come out whoever asks: not counted.)"""
        return self.earned or self.ran or bool(self.stopped)

    @property
    def earned(self) -> bool:
        """Whether it has points that it does not deserve."""
        return bool(self.points) and not self.right


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all exploits, writes `--out`, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", nargs="?", choices=("all", "one"), default="all")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "stock_nbgrader.json")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    args = parser.parse_args(argv)
    if args.mode == "one":
        print(json.dumps(_one(json.load(sys.stdin))))
        return 0
    if not bubblewrap_works().works:
        print(f"This needs bubblewrap: {bubblewrap_works().reason}.", file=sys.stderr)
        return 2
    found = []
    pool = ThreadPoolExecutor(args.jobs)
    try:
        for result in pool.map(_result, tried()):
            found.append(result)
            print(_line(result), flush=True)
    except ComparisonError as error:
        pool.shutdown(cancel_futures=True)
        print(f"{error} {args.out} is as it was.", file=sys.stderr)
        return 1
    args.out.write_text(json.dumps(_report(found), indent=1) + "\n")
    got = sum(result.succeeded for result in found if not result.name.startswith("control"))
    print(f"\nOn stock nbgrader {got} of {len(found) - 2} got something. {args.out} holds all.")
    return 0


def tried() -> list[Exploit]:
    """One of each file: what is a submission of this one exercise in one file, controls too."""
    first: dict[str, Exploit] = {}
    for one in exploits():
        stem = one.name.partition(".")[0]
        about = set(one.expect) - {"*"} <= {EXERCISE}
        if one.tree is None and about:
            first.setdefault(stem, one)
    return list(first.values())


def _line(result: Result) -> str:
    got = [
        f"{result.points:g} of {result.max_points:g} points" if result.earned else "",
        "its code ran" if result.ran else "",
        "hidden tests came out" if result.leaked else "",
        f"no grade: {result.stopped}" if result.stopped else "",
    ]
    return f"{result.name:40} {'; '.join(filter(None, got)) or 'nothing'}"


def _report(found: Sequence[Result]) -> dict[str, Any]:
    import nbgrader

    return {
        "command": "make stock-nbgrader",
        "nbgrader": nbgrader.__version__,
        "results": [asdict(result) for result in found],
    }


# ------------------------------------------------------------------ outside


def _submission(one: Exploit, released: dict[str, Any], solved: dict[str, Any]) -> str | bytes:
    """The file that tries an exploit."""
    wrong = next(e.cell for e in exploits() if e.name == "control_wrong.wrong") or ""
    if one.file is not None:
        return one.file
    if one.payload:
        return json.dumps(with_cell(with_sources(released, {EXERCISE: wrong}), one.cell or ""))
    if one.cell is not None:
        return json.dumps(with_sources(released, {EXERCISE: one.cell}))
    return json.dumps(changed(solved, one.changes))


def _lesson() -> tuple[dict[str, Any], str]:
    """(the instructor's notebook with asserts, the right solution)."""
    [path] = [p for p in lesson_files(ROOT) if p.stem == LESSON]
    lesson = read_lesson(path, lesson_exercises("threads"))
    notebook = json.loads(json.dumps(instructor_notebook(lesson)))
    kept = []
    for cell in notebook["cells"]:
        name = grade_id(cell)
        if name == f"{EXERCISE}_check":
            cell["source"] = _TESTS
        if name in (EXERCISE, f"{EXERCISE}_check") or "import" in cell["source"][:40]:
            kept.append(cell)
    notebook["cells"] = kept
    return notebook, lesson.solutions[EXERCISE]


def _result(one: Exploit) -> Result:
    """What came of an exploit.

    Raises:
        ComparisonError: where there is no answer, or a control is not graded as it must be.
    """
    answer = _answer(one)
    first = one.tries.strip().split(". ")[0].rstrip(".") + "."
    result = Result(
        one.name,
        " ".join(first.split()),
        bool(one.expect) and one.expected(EXERCISE) is Outcome.PASS,
        answer["points"],
        answer["max"],
        answer["ran"],
        answer["leaked"],
        answer["stopped"],
    )
    due = result.max_points if result.right else 0.0
    if one.name.startswith("control") and (result.points != due or result.succeeded):
        raise ComparisonError(f"{one.name} should have {due:g} points and got: {result}.")
    return result


def _answer(one: Exploit) -> dict[str, Any]:
    """What the process behind the wall says of an exploit.

    Raises:
        ComparisonError: where it says nothing, more than once.
    """
    notebook, solution = _lesson()
    released = json.loads(json.dumps(notebook))
    for cell in released["cells"]:
        if grade_id(cell) == f"{EXERCISE}_check":
            cell["source"] = _TESTS.partition("### BEGIN")[0].rstrip()
    solved = with_sources(released, {EXERCISE: solution})
    text = _submission(one, released, solved)
    request = {
        "source": notebook,
        "submission": text if isinstance(text, str) else None,
        "hex": None if isinstance(text, str) else text.hex(),
    }
    for _ in range(_ATTEMPTS):
        said, errors = _behind_the_wall(json.dumps(request).encode())
        with contextlib.suppress(IndexError, ValueError):
            answer: dict[str, Any] = json.loads(said.splitlines()[-1])
            return answer
    last = errors.splitlines()[-1] if errors else "It said nothing."
    raise ComparisonError(f"{one.name}: no answer came in {_ATTEMPTS} attempts. {last}")


def _behind_the_wall(request: bytes) -> tuple[str, str]:
    """(what `_one` prints, its errors)."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as said,
        tempfile.TemporaryFile() as errors,
    ):
        given.write(request)
        given.seek(0)
        process = Wall(Kind.BUBBLEWRAP).start(
            "autograder.proof.stock",
            [],
            [ROOT / "course", ROOT / "autograder", ROOT / "solutions"],
            stdin=given.fileno(),
            stdout=said.fileno(),
            stderr=errors.fileno(),
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(4 * _SECONDS)
        walls.end(process)
        return _text(said), _text(errors)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace").strip()


# ------------------------------------------------------------------ inside


def _one(request: dict[str, Any]) -> dict[str, Any]:
    """Grades one submission with plain nbgrader, below /tmp."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_NPROC, (_PROCESSES, _PROCESSES))
    course, name = Path("/tmp/course"), f"{LESSON}.ipynb"
    source = course / "source" / LESSON / name
    source.parent.mkdir(parents=True)
    source.write_text(json.dumps(request["source"]))
    (course / "nbgrader_config.py").write_text(_CONFIG)
    outside = Path("/tmp/outside")
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    text = request["submission"]
    data = bytes.fromhex(request["hex"]) if text is None else _named(text, outside, course).encode()
    _nbgrader(course, "generate_assignment", LESSON)
    handed_in = course / "submitted" / "mallory" / LESSON / name
    handed_in.parent.mkdir(parents=True)
    handed_in.write_bytes(data)
    before = _contents(outside)
    ended = _nbgrader(course, "autograde", LESSON)
    if not ended:
        _nbgrader(course, "generate_feedback", LESSON)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)  # whatever the submission left running
    points = _score(course)
    if points is None:
        ended = ended or "the gradebook holds no grade"
    back = "".join(
        path.read_text(errors="replace")
        for folder in ("autograded", "feedback")
        for path in (course / folder).rglob("*")
        if path.is_file()
    )
    return {
        "points": points,
        "max": _points(request["source"]),
        "ran": _contents(outside) != before,
        "leaked": HIDDEN_MARK in back,
        "stopped": ended,
    }


def _named(text: str, outside: Path, course: Path) -> str:
    places = {
        "@TRAP@": outside / "trap",
        "@SECRET@": outside / "secret.txt",
        "@SENTINEL@": outside,
        "@GRADEBOOK@": course / "gradebook.db",
        "@VICTIM@": outside / "victim",
    }
    for name, path in places.items():
        text = text.replace(name, str(path))
    return text


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _nbgrader(course: Path, *command: str) -> str:
    """Runs plain nbgrader; "" where it ended well, else why not."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with tempfile.TemporaryFile() as said:  # a pipe stays open as long as a child of theirs lives
        process = subprocess.Popen(
            [sys.executable, "-m", "nbgrader", *command],
            cwd=course,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return f"no end after {_SECONDS} s"
        if process.returncode == 0:
            return ""
        lines = _text(said).splitlines()
    named = [line for line in lines if "Error" in line or "failed" in line] or lines or [""]
    return f"status {process.returncode}: {named[-1][:120]}"


def _points(notebook: dict[str, Any]) -> float:
    """What the exercise is worth."""
    [points] = [
        cell["metadata"]["nbgrader"]["points"]
        for cell in notebook["cells"]
        if grade_id(cell) == f"{EXERCISE}_check"
    ]
    return float(points)


def _score(course: Path) -> float | None:
    from nbgrader.api import Gradebook

    try:
        with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
            score: float = book.find_grade(f"{EXERCISE}_check", LESSON, LESSON, "mallory").score
            return score
    except Exception:  # whatever is left of the gradebook
        return None


if __name__ == "__main__":
    # behind the wall the first argument is the wall's kind
    sys.exit(main(["one"] if sys.argv[1:2] == [Kind.BUBBLEWRAP.value] else None))
