#!/bin/sh
# When the container is ready: does a Triton kernel run here, with the counts that it must have?
set -e
cd "$(dirname "$0")/.."
.venv/bin/python - <<'PROGRAM'
import course  # noqa: F401  installs the engine
import triton

from course.engine.triton.canary import require_right_counts

require_right_counts()
print(f"Triton {triton.__version__} runs here, metered. Open notebooks/00_start.ipynb, or: make lab")
PROGRAM
