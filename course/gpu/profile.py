"""What limits a kernel on this machine's GPU: one launch under Nsight Compute, at full size."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from course.gpu import counters
from course.gpu.full_size import largest_cases
from course.gpu.present import present
from course.spec.exercise import KernelExercise
from course.words.sentences import next_step, sentence

#: The kernel is compiled, launched once, and launched again for each group of counters.
PATIENCE_S = 300.0
#: Percent of its peak from which on a unit counts as full (lesson 12).
FULL_PERCENT = 75
#: Sectors of spilled registers that are no accident (lesson 12).
MANY_SPILLED = 10**6
_STALL = "stall_"
_COUNTED = {
    name: counter
    for name, counter in (counters.METRICS | counters.REPORT).items()
    if name.startswith(_STALL)
    or name
    in (
        *("ncu_us", "waves", "local_load_sectors", "occupancy_percent"),
        *("dram_percent", "l2_percent", "l1_percent", "sm_percent"),
        *("tensor_percent", "fma_percent"),
        *("load_requests", "load_sectors", "l2_read_sectors"),
    )
}
_COMMAND = (
    sys.executable,
    "-c",
    "import sys; sys.modules['course.notebook'] = None; from course.gpu.runs import profiled; "
    "profiled(sys.argv[1])",
)


@dataclass(frozen=True)
class Profile:
    """The counts that decide, by our names; or the reason why there are none."""

    kernel: str
    case: str
    counts: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""

    def __repr__(self) -> str:
        if self.reason:
            return self.reason
        fields = {name: f"{value:,.0f}" for name, value in self.counts.items()}
        fields |= {"kernel": self.kernel, "case": self.case, "stall": self._stall()}
        for name, (of, by, digits) in _QUOTIENTS.items():
            if of in self.counts and (divisor := self.counts.get(by, 1)):
                fields[name] = f"{self.counts[of] / divisor:,.{digits}f}"
        limit = limit_of(self.counts)
        lines = [sentence(part, fields) for part in _PARTS]
        return "\n".join([*lines, f"{sentence(limit, fields)} {next_step(limit, fields)}"])

    def _stall(self) -> str:
        """What warps wait for most of their time, in words."""
        stalls = [name for name in self.counts if name.startswith(_STALL)]
        return sentence(max(stalls, key=self.counts.__getitem__), {}) if stalls else "-"


_PARTS = (*("profile_head", "profile_memory", "profile_sectors", "profile_pipes", "profile_warps"),)
#: What is told of two counts, and with how many digits.
_QUOTIENTS = {
    "l1": ("load_sectors", "load_requests", 1),
    "l2": ("l2_read_sectors", "load_requests", 1),
    "waves": ("waves", "", 2),
}


def limit_of(counts: Mapping[str, float]) -> str:
    """The limiter by lesson 12's order: blocks, spills, then the unit that is full."""
    known = {"waves": 1.0} | dict(counts)
    if known["waves"] < 1:
        return "limit_blocks"
    if known.get("local_load_sectors", 0) > MANY_SPILLED:
        return "limit_spills"
    for name, limit in _UNITS.items():
        if known.get(name, 0) > FULL_PERCENT:
            return limit
    return "limit_none"


#: DRAM before L2, which carries all that DRAM delivers; tensor cores are a part of the SM.
_UNITS = {
    "dram_percent": "limit_dram",
    "l1_percent": "limit_l1",
    "l2_percent": "limit_l2",
    "tensor_percent": "limit_tensor",
    "sm_percent": "limit_instructions",
}


def profile(exercise: KernelExercise, source: str) -> Profile:
    """What Nsight Compute counts of a cell's longest kernel at full size. Never raises."""
    name, case = exercise.name, largest_cases(exercise)[0].told
    if not present():
        return Profile(name, case, reason=sentence("profile_no_gpu", {}))
    with tempfile.TemporaryDirectory() as folder:
        request = Path(folder) / "request.json"
        request.write_text(json.dumps({"exercise": name, "source": source}), encoding="utf-8")
        try:
            launches = counters.count_command(
                (*_COMMAND, str(request)),
                counters.available(_COUNTED, counters.find_ncu()),
                timeout_s=PATIENCE_S,
                options=("--profile-from-start", "off"),
            )
        except (counters.CountersUnavailable, OSError, subprocess.TimeoutExpired) as problem:
            return Profile(name, case, reason=sentence("profile_refused", {"why": str(problem)}))
    if not launches:
        return Profile(name, case, reason=sentence("profile_none", {"kernel": name}))
    longest = max(launches, key=lambda launch: launch.counts.get("ncu_us", 0.0))
    return Profile(longest.name.split("[")[0].split("::")[-1], case, longest.counts)
