"""Whether this machine shows an NVIDIA GPU. Nothing is imported, started or asked to find out."""

from __future__ import annotations

import os
from pathlib import Path

#: Linux's driver, and WSL's.
_DEVICES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
#: `COURSE_GPU=off` leaves the GPU alone.
SWITCH = "COURSE_GPU"


def switched_off() -> bool:
    """Whether the GPU is to be left alone, by checks and by launches."""
    return os.environ.get(SWITCH, "") == "off"


def present() -> bool:
    """Whether checks may ask a GPU here."""
    return not switched_off() and any(path.exists() for path in _DEVICES)
