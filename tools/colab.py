"""`make colab`: every notebook to its end on the versions that Colab has.

Colab's image brings its own Numba, NumPy and Triton, and numba-cuda in the place of Numba's CUDA
target; nothing is upgraded there. They are laid over this checkout's own environment, in
.build/colab, and each notebook runs there unfilled and solved. Python and PyTorch stay this
environment's: what the course asks of them is the same. `make clean` removes the folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".build" / "colab" / "site-packages"
#: Of Colab's image of 2026-08, which has Python 3.13 and PyTorch 2.11 beside them.
VERSIONS = {"numba": "0.61.2", "numba-cuda": "0.22.2", "numpy": "2.1.3", "triton": "3.6.0"}
#: Set where this module runs again, on those versions.
INSIDE = "COURSE_ON_COLAB_VERSIONS"


def install(folder: Path = FOLDER) -> None:
    """Lays the versions into `folder`, where they are not there yet."""
    if all(any(folder.glob(f"{n.replace('-', '_')}-{v}.dist-info")) for n, v in VERSIONS.items()):
        return
    print("... installing", ", ".join(f"{n} {v}" for n, v in VERSIONS.items()), flush=True)
    options = ["--disable-pip-version-check", "--quiet", "--upgrade", "--target", str(folder)]
    wanted = [f"{name}=={version}" for name, version in VERSIONS.items()]
    if subprocess.run([sys.executable, "-m", "pip", "install", *options, *wanted]).returncode:
        raise SystemExit("They cannot be installed: what pip said stands above. Mend that first.")


def run_all() -> int:
    """Runs the notebooks in this process's environment; how many sentences of failure."""
    for name, version in VERSIONS.items():
        if (here := metadata.version(name)) != version:
            raise SystemExit(
                f"{name} is {here} here and not {version}. Remove {FOLDER}, run again."
            )
    from autograder.lessons.build import make, read_lessons
    from autograder.lessons.release import settings
    from autograder.proof.processes import processes
    from autograder.proof.verify import play

    with tempfile.TemporaryDirectory(prefix="colab-") as scratch:
        built = make(read_lessons(ROOT), settings(ROOT), Path(scratch))
    failures = 0
    with processes() as pool:
        for future in play(pool, ROOT, built):
            run = future.result()
            print(
                f"{run.name:24} {run.version:9} {run.seconds:6.1f} s", *run.failures, sep="\n    "
            )
            failures += len(run.failures)
    return failures


def main() -> int:
    """0 where every notebook ran to its end and every check said what it must."""
    if os.environ.get(INSIDE):
        return 1 if run_all() else 0
    install()
    paths = os.pathsep.join([str(FOLDER), str(ROOT)])
    inside = {**os.environ, INSIDE: "1", "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-m", "tools.colab"], cwd=ROOT, env=inside).returncode


if __name__ == "__main__":
    sys.exit(main())
