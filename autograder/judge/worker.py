"""The process that judges: `python -m autograder.judge.worker`, started and watched by `Worker`.

It holds the seed and draws, compares and words; the launches are made by another process
(`autograder.sandbox.runner`), which it reaches by a socket. Both stand behind a wall
(`autograder.sandbox.walls`). Arguments: the wall's kind, the check's name, the socket, the
private folder or nothing, the unit. (Another check than the course's makes no launches, and has
no runner.)

It imports the course once. For each notebook it forks, so that a notebook that hangs or eats
the memory takes nothing with it, and a fork costs milliseconds where an import costs a second.

In, on its standard input: a line of JSON (`bytes`, `stem`, `exercises`, `seed`, `check`,
`memory_bytes`, `seconds`, `seconds_each`, `gpu`), then that many bytes of notebook. Out, a line
of JSON each: {"ready"} once; {"preparing"} before the first Triton lesson, which takes imports of
seconds; then of the child {"read"}, a verdict an exercise, or {"lesson"}, or {"fault"}, and
{"of_a_gpu"}, a question that is answered by a line on the standard input; of its parent {"end":
exit status}. No pickle, in either direction.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from autograder.grading.submissions import Notebook, parse
from autograder.hidden import hidden_cases, seed_of_inputs
from autograder.judge import overlay
from autograder.judge.judge import CHECK, Check, faulted, judge_cell, named_check, result
from autograder.judge.sentences import Fault, RunnerLostError
from autograder.lessons.catalogue import lesson_exercises, lessons
from autograder.sandbox.limits import OwnData, limit
from autograder.sandbox.remote import Connection, sandboxed
from autograder.sandbox.seccomp import dies_with_parent, not_traceable
from autograder.sandbox.walls import Kind, close_in
from course.check.cases import VISIBLE_SEED, draw_ahead, run_of
from course.check.cost import bill_of
from course.engine.traffic import Traffic
from course.engine.triton.compiling.available import has_triton
from course.plain.collecting import collect_seldom
from course.spec.exercise import Exercise, KernelExercise
from course.words.verdict import Verdict

#: A verdict, and what is kept of a GPU, of an exercise and the verdict on it.
Within = Callable[[Exercise, Verdict], tuple[Verdict, dict[str, Any] | None]]


def main() -> None:
    """Serves requests until its input ends."""
    collect_seldom()
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # what a kernel prints goes nowhere
    kind, name = Kind(sys.argv[1]), sys.argv[2]
    connection = Connection(int(sys.argv[3])) if name == CHECK else None
    dies_with_parent()
    check = named_check(name)
    folder, unit = sys.argv[4:6]
    overlay.use(Path(folder) if folder else None, unit)
    lessons()  # imported now, and not by each fork
    _freeze()
    own = OwnData()
    own_bytes = own.bytes()
    close_in(kind)
    not_traceable()
    if connection is not None:
        connection.wait()
    _send(answers, {"ready": True})
    prepared = False
    anticipated: set[str] = set()
    while line := _line(requests):
        request = json.loads(line)
        data = _exactly(requests, request["bytes"])
        if connection is not None and _asks_for_triton(request) and not prepared:
            _send(answers, {"preparing": True})
            # Where it fails, each exercise fails at the same place, and its verdict says why.
            with contextlib.suppress(RunnerLostError, ImportError):
                _prepare(connection)
            own_bytes, prepared = own.bytes(), True
        if request["exercises"] and request["stem"] not in anticipated:
            anticipated.add(request["stem"])
            _anticipate(request)
            _freeze()
            own_bytes = own.bytes()
        child = os.fork()
        if child == 0:
            within: Within = _as_it_is
            if connection is not None:
                limits = request["seconds_each"], request["memory_bytes"]
                check = sandboxed(connection, *limits)
                if overlay.active().bands:
                    from autograder.judge.banded import Banded

                    ask = partial(_asked, answers, requests)
                    within = Banded(request["gpu"], connection, limits, ask)
            _Judging(request, answers, check, within).serve(data, own_bytes)
        if not _wait(child, requests, answers):
            return
        if connection is not None:
            connection.done()


@cache
def _exercises(stem: str) -> tuple[Exercise, ...]:
    """A lesson's, the same objects each time: what is drawn ahead is known by them."""
    return lesson_exercises(stem)


def _asks_for_triton(request: dict[str, Any]) -> bool:
    """Whether a Triton exercise is to be judged, on a machine that has Triton."""
    if not request["exercises"] or not has_triton():
        return False
    exercises = _exercises(request["stem"])
    return any(isinstance(e, KernelExercise) and e.dialect == "triton" for e in exercises)


def _prepare(connection: Connection) -> None:
    """Imports torch and Triton here, where cells are read, and in the runner: once for all."""
    import torch

    torch.set_num_threads(1)  # a fork has no thread but one
    import_module("course.engine.cell.triton")
    connection.prepare("triton")


def _freeze() -> None:
    """Leaves what a fork shares to its parent, where a collector would write to every page."""
    gc.collect()
    gc.freeze()


def _anticipate(request: dict[str, Any]) -> None:
    """Draws a lesson's cases and works out the formulas of all: forks find them kept."""
    seed = base64.b64decode(request["seed"])
    for exercise in _exercises(request["stem"]):
        if exercise.name not in request["exercises"] or not isinstance(exercise, KernelExercise):
            continue
        with contextlib.suppress(Exception):  # each notebook's verdict says what fails
            constants = {name: one.default for name, one in exercise.constants.items()}
            tried = [(case, VISIBLE_SEED) for case in exercise.cases]
            hidden = hidden_cases(exercise.name, seed)
            tried += [(case, seed_of_inputs(exercise.name, seed)) for case in hidden]
            for case, drawn_from in tried:
                run_of(exercise, case, constants, "", {})
                bill_of(exercise, constants, case, Traffic())
                draw_ahead(exercise, case, constants, drawn_from)


def _as_it_is(exercise: Exercise, verdict: Verdict) -> tuple[Verdict, None]:
    return verdict, None


@dataclass(frozen=True)
class _Judging:
    """A child's whole life: one notebook."""

    request: dict[str, Any]
    answers: int
    check: Check
    within: Within

    def serve(self, data: bytes, own_bytes: int) -> NoReturn:
        status = 1
        try:
            dies_with_parent()
            limit(own_bytes, self.request["memory_bytes"], self.request["seconds"])
            self._judge(data)
            status = 0
        except MemoryError:
            _send(self.answers, {"memory": True})
        except BaseException as error:
            _send(self.answers, {"failed": f"{type(error).__name__}: {error}"[:500]})
        finally:
            os._exit(status)

    def _judge(self, data: bytes) -> None:
        try:
            notebook = parse(data)
        except Fault as fault:
            _send(self.answers, {"fault": [fault.message_id, fault.fields]})
            return
        _send(self.answers, {"read": True})
        if self.request["exercises"] is None:
            _send(self.answers, {"lesson": notebook.stem()})
            return
        seed = base64.b64decode(self.request["seed"])
        known = {exercise.name: exercise for exercise in _exercises(self.request["stem"])}
        for name in self.request["exercises"]:
            _send(self.answers, self._verdict(known[name], notebook, seed))

    def _verdict(self, exercise: Exercise, notebook: Notebook, seed: bytes) -> dict[str, Any]:
        begun, cell, gpu = time.monotonic(), "", None
        try:
            cell = notebook.solution(exercise.name)
            verdict, gpu = self.within(exercise, judge_cell(exercise, cell, seed, self.check))
        except Fault as fault:
            verdict = faulted(exercise, fault)
        except (MemoryError, RunnerLostError):
            raise
        except Exception as error:  # a fault of the judge must not become one of the student
            detail = f"{type(error).__name__}: {error}"[:300]
            failed = Fault("judge_failed", exercise=exercise.name, detail=detail)
            verdict = faulted(exercise, failed)
        seconds = round(time.monotonic() - begun, 3)
        return {**result(exercise, verdict, cell), "seconds": seconds, "gpu": gpu}


def _wait(child: int, requests: BinaryIO, answers: int) -> bool:
    """Waits for the child, and ends it where the process that asked is gone."""
    ended, happens = os.pidfd_open(child), select.poll()
    happens.register(requests, 0)  # its end alone: what is written there is for the child
    happens.register(ended, select.POLLIN)
    try:
        has_ended = ended in dict(happens.poll())
    finally:
        os.close(ended)
    if not has_ended:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if has_ended:
        _send(answers, {"end": os.waitstatus_to_exitcode(status)})
    return has_ended


def _asked(answers: int, requests: BinaryIO, question: dict[str, Any]) -> dict[str, Any]:
    """What the process that started this one answers, which alone reaches a GPU."""
    _send(answers, {"of_a_gpu": question})
    reply: dict[str, Any] = json.loads(_line(requests))
    return reply


def _send(answers: int, frame: dict[str, Any]) -> None:
    data = json.dumps(frame).encode() + b"\n"
    while data:
        data = data[os.write(answers, data) :]


def _line(requests: BinaryIO) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        byte = requests.read(1)
        if not byte:
            return b""
        line += byte
    return line


def _exactly(requests: BinaryIO, count: int) -> bytes:
    parts = []
    while count:
        part = requests.read(min(count, 1 << 20))
        if not part:
            raise EOFError("the request ended in its middle")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


if __name__ == "__main__":
    main()
