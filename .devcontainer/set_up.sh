#!/bin/sh
# Once, when the container is made: what its image lacks, then the set-up that `make` does itself.
# For macOS and Windows, where Triton cannot be installed; the container is Linux, on Intel and ARM.
set -e
cd "$(dirname "$0")/.."

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# A folder that came from the host may belong to another user, and hold the host's own .venv.
if [ -e .venv ] && ! .venv/bin/python -I -c 'pass' 2>/dev/null; then
    rm -rf .venv
fi
if ! command -v make >/dev/null || ! command -v bwrap >/dev/null; then
    as_root apt-get update -qq
    as_root apt-get install -y -qq --no-install-recommends make bubblewrap
fi
make venv
