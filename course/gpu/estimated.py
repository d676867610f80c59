"""`ex.NAME.estimate(kernel)`: how long it would take on a named GPU, and why not less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from course.check.reading import chosen, read_solution
from course.engine.faults import KernelFault
from course.exercises.speed_of_light import CEILINGS
from course.gpu.estimate import FITTED, Estimate, estimate, work_of
from course.gpu.full_size import largest_cases
from course.gpu.recorded import recorded
from course.gpu.sampled import TARGET, launches_of
from course.spec.exercise import KernelExercise
from course.words.fault_panel import text
from course.words.panel import table_html
from course.words.sentences import next_step, sentence

#: GPUs whose rates are recorded.
GPUS = ("H200",)
_HEAD = ("unit", "its work", "alone, us")


@dataclass(frozen=True)
class Estimated:
    """A table for each launch of a call; or the reason why there is none."""

    kernel: str
    case: str
    gpu: str
    launches: Sequence[Estimate] = ()
    reason: str = ""
    #: what the calibration says of estimates like this one
    worth: Mapping[str, object] = field(default_factory=lambda: recorded("h200_estimate"))

    @property
    def us(self) -> float:
        """Microseconds of the call: its launches, one after the other."""
        return sum(one.us for one in self.launches)

    @property
    def limit(self) -> str:
        """What limits the longest launch, as `course.words` names it."""
        return self._longest.limit

    @property
    def _longest(self) -> Estimate:
        return max(self.launches, key=lambda one: one.us)

    def __repr__(self) -> str:
        if self.reason:
            return self.reason
        lines = [sentence("estimate_head", vars(self))]
        for one in self.launches:
            rows = [_HEAD, *rows_of(one)]
            widths = [max(len(row[k]) for row in rows) for k in range(len(_HEAD))]
            lines += [self._held(one)]
            lines += [
                f"  {name:{widths[0]}}  {work:{widths[1]}}  {us:>{widths[2]}}"
                for name, work, us in rows
            ]
        return "\n".join([*lines, self._said()])

    def _repr_html_(self) -> str:
        if self.reason:
            return f"<p>{escape(self.reason)}</p>"
        head = sentence("estimate_head", vars(self))
        tables = [
            table_html(f"{head} {self._held(one)}", _HEAD, rows_of(one), right=(2,))
            for one in self.launches
        ]
        return "".join([*tables, f"<p>{escape(self._said())}</p>"])

    def _held(self, one: Estimate) -> str:
        """What a multiprocessor holds of a launch."""
        work = one.work
        fields = {
            "kernel": work.name, "blocks": f"{work.blocks:,}", "warps": work.warps,
            "registers": work.registers, "shared": f"{work.shared_bytes:,}",
            "an_sm": work.blocks_an_sm, "occupancy": f"{100 * work.occupancy:.0f}",
            "waves": f"{work.waves:.2f}",
        }  # fmt: skip
        return sentence("estimate_held", fields)

    def _said(self) -> str:
        work = self._longest.work
        fields: dict[str, object] = {"us": f"{self.us:,.0f}" if self.us >= 10 else f"{self.us:.1f}"}
        fields |= {"waves": f"{work.waves:.2f}", "stall": None, "local_load_sectors": None}
        right = self.worth["held_out"]
        assert isinstance(right, Mapping)
        honest = {
            "runs": right["runs"], "within": self.worth["within"], "limits": right["limits_known"],
            "time": f"{100 * right['time']:.0f}", "limit": f"{100 * right['limit']:.0f}",
        }  # fmt: skip
        told = (sentence("estimate_time", fields), sentence(self._limit_id, fields))
        return "\n".join(
            [
                " ".join([*told, next_step(self._limit_id, fields)]),
                sentence("estimate_worth", honest),
            ]
        )

    @property
    def _limit_id(self) -> str:
        """Nobody has counted here what warps wait for."""
        return "estimate_waits" if self.limit == "limit_none" else self.limit


def rows_of(one: Estimate) -> list[tuple[str, str, str]]:
    """(unit, its work, microseconds alone) of each unit that has any."""
    work, alone = one.work, one.alone_us
    instructions = work.issued(FITTED) * work.blocks * work.warps
    special, fma = (n * work.blocks * work.warps for n in (work.special, work.fma))
    flop = work.blocks * (work.flop + work.mma_flop)
    fields: dict[str, dict[str, object]] = {
        "dram": {"bytes": _bytes(work.dram_bytes), "rate": f"{CEILINGS['COPY_GB_S']:,.0f}"},
        "l2": {
            "bytes": _bytes(work.l2_bytes),
            "atomics": _bytes(work.atomic_bytes) if work.atomic_bytes else None,
            "rate": f"{FITTED.l2_gb_s:,.0f}",
        },
        "l1": {
            "turns": _count(work.wavefronts * work.blocks),
            "conflicts": _count(work.conflicts * work.blocks) if work.conflicts else None,
        },
        "issue": {
            "instructions": _count(instructions),
            "a_byte": f"{instructions / work.dram_bytes:.2g}" if work.dram_bytes else None,
            "fma": _count(fma) if fma else None,
        },
        "special": {"instructions": _count(special)},
        "tensor": {"flop": _count(flop), "rate": f"{CEILINGS['FLOAT16_TFLOP_S']:.0f}"},
        "starts": {"blocks": f"{work.blocks:,}"},
        "latency": {"waits": _times(max(work.waits, 1) + work.copies)},
    }
    return [
        (
            sentence(f"unit_{unit}", {}),
            sentence(f"unit_{unit}_work", fields[unit]),
            f"{us:,.1f}",
        )
        for unit, us in alone.items()
        if us >= LEAST_US
    ]


#: What takes less than this has no row.
LEAST_US = 0.05
_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K"))


def _count(number: float) -> str:
    """1,234,567 as 1.23 M."""
    scale, letter = next((one for one in _SCALES if number >= one[0]), (1.0, ""))
    return f"{number / scale:.3g} {letter}".strip()


def _times(number: float) -> str:
    return "once" if round(number) == 1 else f"{number:,.0f} times"


def _bytes(number: float) -> str:
    return f"{_count(number)}B" if number >= _SCALES[-1][0] else f"{number:.0f} B"


def estimated(exercise: KernelExercise, source: str, gpu: str) -> Estimated:
    """The estimate of a right kernel's full-size case. Never raises for a kernel's mistake."""
    case = largest_cases(exercise)[0]
    if gpu not in GPUS:
        known = ", ".join(GPUS)
        why = sentence("estimate_refused", {"gpu": gpu, "known": known})
        return Estimated(exercise.name, case.told, gpu, reason=why)
    if exercise.target not in (0, TARGET):
        fields = {"gpu": gpu, "capability": exercise.target / 10}
        return Estimated(exercise.name, case.told, gpu, reason=sentence("estimate_other", fields))
    constants = chosen(read_solution(source, exercise), exercise)
    try:
        launches = launches_of(exercise, source, case, constants)
    except KernelFault as fault:
        why = sentence("estimate_none", {"case": case.told, "why": text(fault)})
        return Estimated(exercise.name, case.told, gpu, reason=why)
    return Estimated(exercise.name, case.told, gpu, [estimate(work_of(few)) for few in launches])
