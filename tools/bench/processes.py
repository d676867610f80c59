"""Figures from processes of their own: nothing that ran before helps or burdens them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tools.bench.checks import ROOT, CheckTimes
from tools.bench.kernels import Timed

KERNELS = Path(__file__).with_name("kernels.py")


def on_engine(name: str, times: int) -> Timed:
    """Launches a workload on the engine, metered and with every check."""
    return _timed([sys.executable, "-m", "tools.bench.kernels", name, str(times)])


def on_simulator(name: str) -> Timed:
    """Launches a workload once on Numba's simulator."""
    # -P: the file's folder is no place to import from
    return _timed([sys.executable, "-P", str(KERNELS), name, "1"], simulator=True)


def on_tiles(name: str, times: int) -> Timed:
    """Launches a Triton kernel on the engine, metered and with every check."""
    return _timed([sys.executable, "-m", "tools.bench.tile_rows", name, str(times)])


def on_interpreter(name: str) -> Timed:
    """Launches a Triton kernel once on Triton's own interpreter."""
    command = [sys.executable, "-m", "tools.bench.tile_rows", name, "1"]
    return _timed(command, interpreter=True)


def _timed(command: list[str], simulator: bool = False, interpreter: bool = False) -> Timed:
    environment = {
        **os.environ,
        "NUMBA_ENABLE_CUDASIM": "1" if simulator else "0",
        "TRITON_INTERPRET": "1" if interpreter else "0",
    }
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return Timed(**json.loads(done.stdout.splitlines()[-1]))


def checks() -> Iterator[CheckTimes]:
    """Times the check of every exercise, in one process that finds nothing compiled."""
    command = [sys.executable, "-m", "tools.bench.checks"]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TRITON_CACHE_DIR": cache}
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                yield CheckTimes(**json.loads(line))
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def first_check(exercise: str, solution: str) -> float:
    """Seconds of the first check of a fresh process, without the imports."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.bench.checks", exercise],
        cwd=ROOT,
        input=solution,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def import_seconds(module: str) -> float:
    """Seconds of a process that imports one module and ends."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], cwd=ROOT, check=True)
    return time.perf_counter() - start
