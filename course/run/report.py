"""What a run has found, in words, as a table by kernel and line, and as JSON."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from course.check.advice import of_memory
from course.engine.faults import KernelFault, Outcome
from course.engine.lines import file_of
from course.engine.traffic import Site, Traffic
from course.notebook.measure import Measured
from course.words.banks import shared_memory
from course.words.phrasing import filled
from course.words.programs import PROGRAMS
from course.words.sentences import next_step, sentence

_FOLDER = Path.cwd()
_HEAD = ("line", "access", "requests", "sectors", "requested bytes", "footprint bytes")
_BEYOND_A_VIEW = (
    "A kernel that may reach all of a tensor's allocation, beyond the view that it is passed, "
    "runs with --bounds allocation."
)
_OF_A_VIEW = ("tile_out_of_bounds", "tile_gap", "tile_hint")
_THROWN_AWAY = "A kernel that throws away what it loads there runs with --unwritten let."
_ONE_VALUE = "Where all of them store one value on purpose, --equal-stores noted calls it no race."
#: What two stores say of themselves: a Numba kernel's, and a Triton program's.
_STORES = ("write/write", "same_value", "stores to")
_NO_STORES = ("loads", "load", "updates", "update")
#: Causes that the text alone shows. Others are known of an exercise's kernels, whose tensors, tests
#: and constants are; of these two where the kernel itself has the test that is missing.
_OF_ANY_KERNEL = ("block_axes", "launch_before", "offset_loaded")
_OF_NO_MASK = ("mask_absent", "mask_missing")
_POINTERS_IN_MEMORY = (
    "An address that the program keeps as a number, from `x.data_ptr()`, leads to x while x is "
    "there, and where x lies on the GPU."
)


def _in_global_memory(fault: KernelFault) -> bool:
    return fault.dialect == "triton" or fault.message_id == "uninitialised_global"


def is_finding(fault: KernelFault) -> bool:
    """Whether the kernel is to blame; else the engine does not run it."""
    return fault.outcome is not Outcome.NOT_MEASURED


def in_words(fault: KernelFault) -> str:
    """A finding: where, what, the line itself, and what to do."""
    place = f"{_seen(fault.filename)}:{fault.line:d}: " if fault.filename and fault.line else ""
    said, step = _said(fault)
    within = f"{fault.function}, launched by {fault.kernel}" if fault.function else fault.kernel
    lines = [f"{place}{within}: {fault.outcome.label}: {said}"]
    if fault.filename and fault.line:
        lines.append(f"    {linecache.getline(fault.filename, fault.line).strip()}")
    if step:
        lines.append(step)
    told = {*map(str, fault.fields.values())}
    if fault.outcome is Outcome.RACE and told & {*_STORES} and not told & {*_NO_STORES}:
        lines.append(_ONE_VALUE)
    if fault.message_id == "tile_no_tensor":
        lines.append(_POINTERS_IN_MEMORY)
    elif fault.outcome is Outcome.UNINITIALISED and _in_global_memory(fault):
        lines.append(_THROWN_AWAY)
    elif _is_of_a_view(fault) and fault.dialect == "triton":
        lines.append(_BEYOND_A_VIEW)
    return "\n".join(lines)


def note(fault: KernelFault) -> None:
    """Prints what is no finding: where and what."""
    said = "\n".join(in_words(fault).splitlines()[:2])
    print(f"Noted, and no finding: {said}", file=sys.stderr, flush=True)


def _is_of_a_view(fault: KernelFault) -> bool:
    """Whether the bounds are a view's, and not yet all that lies in its allocation."""
    return fault.message_id in _OF_A_VIEW and fault.fields.get("shape", ()) is not None


def _said(fault: KernelFault) -> tuple[str, str]:
    """What happened, and why where the kernel's file shows it; what to do next."""
    said, step = _of(fault.message_id, {"name": fault.kernel, **fault.fields}, fault.dialect)
    if fault.dialect == "triton" and fault.filename:
        tree = ast.parse("".join(linecache.getlines(fault.filename)))
        cause_id, fields = of_memory(fault, tree, {}) or ("", {})
        if cause_id in _OF_ANY_KERNEL or (cause_id in _OF_NO_MASK and fields.get("tested")):
            why, step = _of(cause_id, fields, fault.dialect)
            return f"{said} {why}", step
    return said, step


def _of(message_id: str, fields: Mapping[str, object], dialect: str) -> tuple[str, str]:
    words = PROGRAMS.get(message_id)
    if words is not None:
        return filled(words.text, fields), filled(words.next, fields)
    return sentence(message_id, fields, dialect), next_step(message_id, fields, dialect)


def _seen(filename: str) -> str:
    """A file as seen from the folder of the command, which a program may leave."""
    path = Path(filename)
    return str(path.relative_to(_FOLDER)) if path.is_relative_to(_FOLDER) else filename


def table(measured: Measured) -> str:
    """Each kernel's traffic, a row for each access of a line."""
    kernels = measured.by_kernel()
    if not kernels:
        return "No kernel was launched."
    blocks = []
    for (kernel, filename), traffic in kernels.items():
        launches = f"{traffic.launches} launch{'es' if traffic.launches != 1 else ''}"
        head = f"{kernel} ({Path(filename).name}), {launches}"
        if not traffic.sites:
            blocks.append(f"{head}, nothing asked of global memory")
            continue
        rows = [_HEAD, *map(_row, sorted(traffic.sites, key=lambda s: (s.line, s.column)))]
        wide = [max(len(row[n]) for row in rows) for n in range(len(_HEAD))]
        aligned = [
            "  ".join(
                f"{cell:<{wide[n]}}" if n == 1 else f"{cell:>{wide[n]}}"
                for n, cell in enumerate(row)
            )
            for row in rows
        ]
        below = [*aligned, *shared_memory(traffic)]
        blocks.append("\n".join([head, *(f"  {row}".rstrip() for row in below)]))
    if measured.gpus:
        blocks.append(f"Triton kernels: as its compiler makes them for {measured.gpus}.")
    return "\n\n".join(blocks)


def _row(site: Site) -> tuple[str, ...]:
    return (
        str(site.line),
        f"{site.direction} {site.array}",
        "-" if site.requests is None else f"{site.requests:,}",
        f"{site.sectors:,}",
        f"{site.requested_bytes:,}",
        f"{site.footprint_bytes:,}",
    )


def _plain(fault: KernelFault) -> dict[str, Any]:
    return {
        "outcome": fault.outcome.value,
        "message": fault.message_id,
        "kernel": fault.kernel,
        "file": fault.filename,
        "line": fault.line,
        "sentence": f"{fault.outcome.value}: {fault.where}{_said(fault)[0]}",
    }


def as_json(
    program: str,
    target: str,
    exit_status: int,
    findings: list[KernelFault],
    notes: list[KernelFault],
    kernels: dict[tuple[str, str], Traffic],
) -> dict[str, Any]:
    """The same for machines: plain lists, dicts, texts and numbers."""
    return {
        "program": program,
        "target": target,
        "exit_status": exit_status,
        "findings": [*map(_plain, findings)],
        "notes": [*map(_plain, notes)],
        "kernels": [
            {
                "kernel": kernel,
                "file": filename,
                "launches": traffic.launches,
                "accesses": [
                    {**asdict(site), "file": file_of(site.line, filename)} for site in traffic.sites
                ],
                "bank_conflicts": [
                    {
                        "file": file_of(line, filename),
                        "line": line,
                        "what": what,
                        "turns": extra,
                    }
                    for (what, line), extra in traffic.bank_conflict_sites.items()
                ],
                "bank_conflicts_not_counted": sorted(set(traffic.shared_uncounted)),
            }
            for (kernel, filename), traffic in kernels.items()
        ],
    }
