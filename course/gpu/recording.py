"""How what a GPU did is written down: where and with what it was made, and JSON in lines."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.metadata
import json
import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PACKAGES = ("numba", "numba-cuda", "numpy", "llvmlite", "torch", "triton")


def provenance(command: str) -> dict[str, str]:
    """Where, when and with what a record was made, and how it can be made again."""
    fields = "name,driver_version,memory.total,compute_cap"
    gpu, _, capability = _said(
        "nvidia-smi", "-i", "0", f"--query-gpu={fields}", "--format=csv,noheader"
    ).rpartition(", ")
    ncu = re.search(r"Version ([\d.]+)", _said("ncu", "--version"))
    toolkit = re.search(r"release ([\d.]+)", _said("nvcc", "--version"))
    versions = {}
    for package in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "gpu": gpu,
        "compute_capability": capability,
        "cuda_toolkit": toolkit[1] if toolkit else "unknown",
        "ncu": ncu[1] if ncu else "unknown",
        "ncu_options": "--clock-control none --csv --page raw --print-units base",
        "python": platform.python_version(),
        **versions,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "command": command,
    }


def _said(*command: str) -> str:
    """What a program prints, '' where it is not there."""
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return ""


def in_lines(value: Any, levels: int = 2, indent: str = "") -> str:
    """JSON with a line for each entry of the outermost levels."""
    if not levels or not isinstance(value, dict | list) or not value:
        return json.dumps(value)
    inner = indent + " "
    if isinstance(value, list):
        rows = [in_lines(one, levels - 1, inner) for one in value]
    else:
        rows = [f"{json.dumps(k)}: {in_lines(v, levels - 1, inner)}" for k, v in value.items()]
    ends = "[]" if isinstance(value, list) else "{}"
    lines = f",\n{inner}".join(rows)
    return f"{ends[0]}\n{inner}{lines}\n{indent}{ends[1]}"


def commanded(
    about: str | None, record: Callable[[Path], None], worker: Callable[[], None] | None = None
) -> int:
    """The command line of what records into a file, what a worker's launches count perhaps."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker and worker:
        worker()
    elif options.out:
        record(options.out)
    else:
        parser.error("--out FILE is missing")
    return 0
