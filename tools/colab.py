"""`make colab`: every notebook to its end on the versions that Colab has.

Colab's image brings its own IPython, Numba, NumPy and Triton, and numba-cuda in the place of
Numba's CUDA target; nothing is upgraded there. They are laid over this checkout's own environment,
in .build/colab, and each notebook runs there unfilled and solved. Python and PyTorch stay this
environment's: what the course asks of them is the same. What came of each run is written to
docs/colab.json, in the place of what stood there of it. `make clean` removes the folder.

    python -m tools.colab [STEM ...]
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.triton_versions import commit

if TYPE_CHECKING:
    from autograder.lessons.notebook_run import NotebookRun

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".build" / "colab" / "site-packages"
#: Of Colab's image of 2026-08, which has Python 3.13 and PyTorch 2.11 beside them.
VERSIONS = {
    "ipykernel": "6.17.1",
    "ipython": "7.34.0",
    "matplotlib": "3.10.0",
    "numba": "0.61.2",
    "numba-cuda": "0.22.2",
    "numpy": "2.1.3",
    "triton": "3.6.0",
}
RECORD = ROOT / "docs" / "colab.json"
QUOTED_IN = ROOT / "CONTRIBUTING.md"
#: Set where this module runs again, on those versions.
INSIDE = "COURSE_ON_COLAB_VERSIONS"


def install(folder: Path = FOLDER) -> None:
    """Lays the versions into `folder`, where they are not there yet."""
    if all(any(folder.glob(f"{n.replace('-', '_')}-{v}.dist-info")) for n, v in VERSIONS.items()):
        return
    print("... installing", ", ".join(f"{n} {v}" for n, v in VERSIONS.items()), flush=True)
    options = ["--disable-pip-version-check", "--quiet", "--no-warn-conflicts"]
    options += ["--upgrade", "--target", str(folder)]
    wanted = [f"{name}=={version}" for name, version in VERSIONS.items()]
    if subprocess.run([sys.executable, "-m", "pip", "install", *options, *wanted]).returncode:
        raise SystemExit("They cannot be installed: what pip said stands above. Mend that first.")
    # as its .pth does, which Python reads in an environment's own folder alone
    (folder / "sitecustomize.py").write_text("import _numba_cuda_redirector\n")


def run_all(stems: Sequence[str] = ()) -> list[NotebookRun]:
    """Runs the notebooks, or those of `stems`, in this process's environment."""
    for name, version in VERSIONS.items():
        if (here := metadata.version(name)) != version:
            raise SystemExit(
                f"{name} is {here} here and not {version}. Remove {FOLDER}, run again."
            )
    from numba import cuda

    if "numba_cuda" not in cuda.__file__:
        raise SystemExit(
            f"Numba's own target stands in for numba-cuda. Remove {FOLDER}, run again."
        )
    from autograder.lessons.build import make, read_lessons
    from autograder.lessons.release import settings
    from autograder.proof.processes import processes
    from autograder.proof.verify import play

    with tempfile.TemporaryDirectory(prefix="colab-") as scratch:
        built = make(read_lessons(ROOT, stems), settings(ROOT), Path(scratch))
    runs = []
    with processes() as pool:
        for future in play(pool, ROOT, built):
            runs.append(run := future.result())
            print(run, flush=True)
    return runs


def kept_with(record: Mapping[str, Any], runs: Sequence[NotebookRun]) -> dict[str, Any]:
    """The record with these runs; what ran on other versions, or is no lesson any more, goes."""
    about = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "python": platform.python_version(),
    }
    notebooks = record["notebooks"] if record.get("versions") == VERSIONS else {}
    for run in runs:
        result = {"seconds": round(run.seconds), "failures": run.failures}
        notebooks = {**notebooks, f"{run.name} {run.version}": {**result, **about}}
    lessons = {path.stem for path in (ROOT / "solutions").glob("*.py")}
    there = {k: v for k, v in sorted(notebooks.items()) if k.partition(" ")[0] in lessons}
    return {"command": "make colab", "versions": VERSIONS, "notebooks": there}


def summary(record: Mapping[str, Any]) -> str:
    """The line that CONTRIBUTING.md quotes."""
    runs = record["notebooks"]
    failed = [name for name, run in runs.items() if run["failures"]]
    word = f"failed: {', '.join(failed)}" if failed else "all as they must be"
    last = max(run["date"] for run in runs.values())
    return f"`docs/colab.json`: {len(runs)} notebook runs, {word}, the last on {last}."


def main(stems: Sequence[str]) -> int:
    """0 where every notebook ran to its end and every check said what it must."""
    if not os.environ.get(INSIDE):
        install()
        paths = os.pathsep.join([str(FOLDER), str(ROOT)])
        inside = {**os.environ, INSIDE: "1", "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        inside["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else each kernel warns of its debugger
        command = [sys.executable, "-m", "tools.colab", *stems]
        return subprocess.run(command, cwd=ROOT, env=inside).returncode
    runs = run_all(stems)
    record = kept_with(json.loads(RECORD.read_text()) if RECORD.exists() else {}, runs)
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    quoting = QUOTED_IN.read_text(encoding="utf-8")
    line = re.compile("^`docs/colab.json`: .*$", re.MULTILINE)
    QUOTED_IN.write_text(line.sub(lambda _: summary(record), quoting), encoding="utf-8")
    return int(any(run.failures for run in runs))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
