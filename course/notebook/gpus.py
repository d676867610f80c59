"""What a Triton kernel asks of several GPUs: for each its compiler makes another one.

The case of the verdict is launched once more for each of them. Sectors and requests are those of
the layouts that the compiler chose for that GPU; registers and shared memory are what it needs
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from course.engine.faults import KernelFault
from course.engine.traffic import Traffic
from course.engine.triton.engine import TritonEngine
from course.notebook.measure import TARGETS
from course.notebook.seen import run_of_verdict
from course.spec.exercise import KernelExercise
from course.words.fault_panel import text
from course.words.panel import table_html
from course.words.verdict import Verdict

_HEAD = ("GPU", "load requests", "load sectors", "stores, atomics", "a lane takes", "registers",
         "spilled bytes", "shared bytes")  # fmt: skip


class OnGpus:
    """A row for each GPU; as text or as a table."""

    def __init__(self, caption: str, rows: Sequence[tuple[str, ...]]) -> None:
        self.caption, self.rows = caption, rows

    def __repr__(self) -> str:
        rows = [_HEAD, *self.rows]
        widths = [max(len(row[k]) for row in rows if len(row) > 2) for k in range(len(_HEAD))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1 : len(row)])])
            for row in rows
        ]
        return "\n".join([self.caption, *lines])

    def _repr_html_(self) -> str:
        rows = [(*row, *[""] * (len(_HEAD) - len(row))) for row in self.rows]
        return table_html(self.caption, _HEAD, rows, right=range(1, len(_HEAD)))


def on_gpus(exercise: KernelExercise, verdict: Verdict) -> OnGpus:
    """The case of a verdict on each GPU of `TARGETS`; a GPU that cannot run it says why."""
    run = replace(run_of_verdict(exercise, verdict), binary=True)
    rows: list[tuple[str, ...]] = []
    for name, gpu in TARGETS.items():
        target = int(name.removeprefix("sm_"))
        if exercise.target not in (0, target):
            continue  # its instructions are one GPU's alone
        try:
            traffic = TritonEngine(target=target)(run).traffic
        except KernelFault as fault:
            rows.append((gpu, text(fault)))
        else:
            rows.append((gpu, *_row(traffic)))
    return OnGpus(f"{exercise.name}, {verdict.case_label}", rows)


def _row(traffic: Traffic) -> tuple[str, ...]:
    loads, others = traffic.loads, (traffic.stores, traffic.atomics)
    widths = [site.width_bytes for site in traffic.sites if site.width_bytes]
    return (
        "-" if loads.requests is None else f"{loads.requests:,}",
        f"{loads.sectors:,}",
        f"{sum(one.sectors for one in others):,}",
        f"{min(widths)} bytes" if widths else "-",
        *("-" if n is None else f"{n:,}" for n in (traffic.registers, traffic.spill_bytes)),
        f"{traffic.shared_bytes:,}",
    )
