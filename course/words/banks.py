"""What bank conflicts of shared memory cost, in words below a table of traffic."""

from __future__ import annotations

from course.engine.traffic import Traffic

_BY_THE_COMPILER = (
    "Triton's compiler lays shared memory out: another axis, block or num_warps may wait less"
)


def shared_memory(traffic: Traffic) -> list[str]:
    """Lines that say where requests to shared memory wait; none where nothing does."""
    said = []
    if traffic.bank_conflicts:
        sites = sorted(traffic.bank_conflict_sites.items(), key=lambda site: -site[1])
        turns = "turn" if traffic.bank_conflicts == 1 else "turns"
        where = "; ".join(f"{extra:,} on line {line}, {what}" for (what, line), extra in sites)
        said.append(
            f"shared memory: {traffic.bank_conflicts:,} extra {turns} for bank conflicts: {where}"
        )
        if any(what.startswith("a ") for what, _ in traffic.bank_conflict_sites):
            said.append(_BY_THE_COMPILER)
    if traffic.shared_uncounted:
        lines = ", ".join(map(str, sorted(set(traffic.shared_uncounted))))
        said.append(f"bank conflicts not counted: on line {lines}, where they hang on data")
    return said
