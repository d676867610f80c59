"""A right kernel on this machine's own GPU, where it has one: is it right there, and how fast.

The verdict is the engine's, and what is found here is told below it. Without a GPU this module is
not imported (`course.gpu.present`).
"""

from __future__ import annotations

import atexit
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from course.words.phrasing import number
from course.words.sentences import next_step, sentence

#: For a cell, with its imports and its compiler; a kernel that hangs is given up then.
PATIENCE_S = 120.0
#: Below this a rate says nothing: an empty launch takes some 3 us, a dozen loads in turn 10.
SHORT_US = 20.0
#: How CUDA says that a kernel left its memory.
_STRAYED = re.compile("illegal.(memory.access|address)|misaligned.address", re.IGNORECASE)
_CHUNK_BYTES = 1 << 16
_COMMAND = (
    sys.executable,
    "-c",
    "import sys; sys.modules['course.notebook'] = None; from course.gpu.runs import main; main()",
)


class _Child:
    """The process that runs cells; a new one where there is none or the last one has ended."""

    def __init__(self, command: Sequence[str] = _COMMAND) -> None:
        self.command = command
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: dict[str, str], patience_s: float) -> dict[str, Any]:
        """The answer; `{"late": True}` or `{"fault": ...}` where none came."""
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = _line(process, patience_s)
        except BaseException as problem:  # an interrupted notebook, a process that has ended
            self.close()
            if isinstance(problem, OSError):
                return {"fault": "its process ended"}
            raise
        if line is None:
            self.close()
            return {"late": True}
        answer = {"fault": "its process ended"} if not line else json.loads(line)
        if "fault" in answer:
            self.close()
        return dict(answer)

    def close(self) -> None:
        """Ends the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
            self._process = None


def _line(process: subprocess.Popen[bytes], patience_s: float) -> bytes | None:
    """The next line, b'' where the process has ended, None where it takes too long."""
    assert process.stdout is not None
    deadline = time.monotonic() + patience_s
    parts = b""
    while not parts.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(process.stdout.fileno(), _CHUNK_BYTES)
        if not part:
            return b""
        parts += part
    return parts


def _with_next(message_id: str, **fields: object) -> str:
    return f"{sentence(message_id, fields)} {next_step(message_id, fields)}"


_child = _Child()
atexit.register(_child.close)


def told(exercise: str, source: str, patience_s: float = PATIENCE_S) -> str:
    """A sentence on a right cell: what this machine's GPU made of it."""
    answer = _child.ask({"exercise": exercise, "source": source}, patience_s)
    if answer.get("late"):
        return _with_next("gpu_late", seconds=f"{patience_s:.0f}")
    if "fault" in answer:
        strayed = _STRAYED.search(answer["fault"])
        return _with_next("gpu_strayed" if strayed else "gpu_fault", detail=answer["fault"])
    if "other" in answer:
        return sentence("gpu_other", {"gpu": answer["gpu"], "capability": answer["other"]})
    if "wrong" in answer:
        return _with_next("gpu_wrong", gpu=answer["gpu"], case=answer["wrong"])
    fields: dict[str, object] = {
        **{name: answer[name] for name in ("gpu", "cases", "case")},
        **{name: number(round(answer[name], 1)) for name in ("us", "low_us", "high_us")},
    }
    if answer["us"] < SHORT_US:
        return sentence("gpu_right", {**fields, "short": ""})
    rate = answer["bytes"] / answer["us"] / 1000
    fields |= {
        "rate": f"{rate:,.0f}",
        "share": f"{rate / answer['copy_gb_s']:.2g}",
        "copy": f"{answer['copy_gb_s']:,.0f}",
    }
    return sentence("gpu_right", fields)
