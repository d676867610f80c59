# mypy: disable-error-code="misc, no-untyped-def"
"""How many bytes DRAM delivers for a scattered sector, by what L2 is told to fetch at a time.

``python -m tools.record_l2_granularity --out course/gpu/recorded/h200_l2.json`` on a machine
with a GPU and Nsight Compute. One kernel reads every 32nd of 33.6 million float32, a sector a
lane, under each setting of ``cudaLimitMaxL2FetchGranularity`` (CUDA runtime API, 6.1).
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

from numba import cuda

from course.gpu import counters
from course.gpu.recording import commanded, provenance
from tools.record_profiles import blank, copy_strided, random

MODULE = "tools.record_l2_granularity"
#: `CU_LIMIT_MAX_L2_FETCH_GRANULARITY` of the CUDA driver API.
_LIMIT = 0x05
SETTINGS_BYTES = (32, 64, 128)
_METRICS = {name: counters.METRICS[name] for name in ("load_sectors", "dram_read_bytes")}


def scattered_reads() -> None:
    """The launch, once with L2's own setting and once with each of ``SETTINGS_BYTES``."""
    driver = ctypes.CDLL("libcuda.so.1")
    source, out = random(1 << 25), blank(1 << 20)
    kept = ctypes.c_size_t()
    for setting in (None, *SETTINGS_BYTES):
        if setting is not None and driver.cuCtxSetLimit(_LIMIT, ctypes.c_size_t(setting)):
            raise RuntimeError(f"the driver refuses a granularity of {setting} bytes")
        driver.cuCtxGetLimit(ctypes.byref(kept), _LIMIT)
        print(f"{setting or 'as found'}: {kept.value}", file=sys.stderr)
        copy_strided[1 << 12, 256](source, out, 32)
        cuda.synchronize()


def record(out: Path) -> None:
    """Counts and provenance into the JSON file ``out``."""
    command = [sys.executable, "-m", MODULE, "--worker"]
    launches = counters.count_command(command, _METRICS, timeout_s=240)
    names = ("as_found", *map(str, SETTINGS_BYTES))
    answer = {
        "about": "DRAM bytes of 1,048,576 scattered sectors, by L2's fetch granularity in bytes",
        "provenance": provenance(f"python -m {MODULE} --out {out.name}"),
        "metrics": _METRICS,
        "counted": {
            name: {key: round(value) for key, value in launch.counts.items()}
            for name, launch in zip(names, launches, strict=True)
        },
    }
    out.write_text(json.dumps(answer, indent=1) + "\n")
    print(json.dumps(answer["counted"]))


if __name__ == "__main__":
    sys.exit(commanded(__doc__, record, scattered_reads))
