"""How long a launch takes on a named GPU, of what a few of its blocks ask: no GPU is needed.

Each unit of the GPU is given its work alone, at the rate that was measured for it, and the blocks
their waiting, one after the other. How these times go together, and what a warp waits, are a few
numbers for all kernels: `tools.calibrate_estimate` fits them to one half of the recorded runs, and
the other half says what they are worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course.engine.sampling import Launched
from course.exercises.speed_of_light import CEILINGS, SM, SMS
from course.gpu.profile import FULL_PERCENT, limit_of
from course.gpu.recorded import recorded
from course.plain.sectors import SECTOR_BYTES, WARP_LANES

_MEASURED = recorded("h200_roofline")
#: A load from DRAM when nothing else is under way; a launch that has next to nothing to do.
DRAM_US = _MEASURED["latency"]["dram_ns"] / 1000
LAUNCH_US = min(run["us"] for run in _MEASURED["waves"])
#: What lesson 12 says of an H200's L2.
L2_BYTES = 60e6
#: What the cycles come to that Nsight Compute has counted for 35 kernels.
CLOCK_GHZ = 1.98
#: What a block costs beside its own shared memory, and the most blocks of a multiprocessor.
BLOCK_COST_BYTES, MOST_BLOCKS = 1024, 32
#: Instructions of a warp that a multiprocessor begins in a cycle: all, and special functions.
ISSUED, SPECIAL = 4.0, 0.5
#: What Nsight Compute calls 100 percent of L2, in GB/s: of what it takes from DRAM and gives back,
#: and of what it finds; and bytes of a launch that stay there.
L2_FILLS, L2_PEAK, LEFT_IN_L2 = 4250.0, 11_700.0, 20e6
#: Turns of a plain loop whose loads Numba's compiler has under way at once.
UNROLLED = 4
#: Registers of a thread where no assembler says it, beside its private arrays: what most of
#: Numba's kernels have.
NUMBA_REGISTERS = 32


@dataclass(frozen=True)
class Constants:
    """What is fitted, once for all kernels.

    Attributes:
        sharpness: the power that sums units' times: 1 is one after the other, infinity at once.
        begin_us: from one block that a multiprocessor begins to its next.
        start_us: of a block, until its first load and behind its last store.
        wait: what a turn with a load waits, in latencies of DRAM; `ahead` of a loop whose loads are
            under way a stage before.
        step_cycles: from one instruction of a warp to its next.
        barrier_cycles: of a barrier, for each warp.
        l2_gb_s: what L2 delivers; `atomic` is how many sectors it could in the time of an update.
        mma: the share of the tensor cores' rate that `mma.sync` reaches.
        axis, shared, turn, start: instructions of a warp in Numba's code for each index of an
            access to global memory (it is 64 bits wide and may count from the end), for an access
            to shared memory, for a turn of a loop, for a kernel.
        ptx, special: the GPU's instructions for one of PTX, for a special function.
    """

    sharpness: float
    begin_us: float
    start_us: float
    wait: float
    ahead: float
    step_cycles: float
    barrier_cycles: float
    l2_gb_s: float
    atomic: float
    mma: float
    axis: float
    shared: float
    turn: float
    start: float
    ptx: float
    special: float


FITTED = Constants(**recorded("h200_estimate")["constants"])


@dataclass(frozen=True)
class Work:
    """What one launch asks of a GPU.

    Attributes:
        blocks, warps: of the grid; of a block.
        shared_bytes, registers: of a block; of a thread.
        dram_bytes, l2_bytes: that come from there or go there; of those of DRAM `stored_bytes` go.
        atomic_bytes: sectors that L2 updates.
        spilled_bytes: loads and stores of registers that do not fit.
        instructions: of a warp, by what they are made of (see `Constants`); 'spills' as they are.
        special, fma: of them, special functions, multiply-adds.
        barriers: of a warp.
        wavefronts: turns of L1 and shared memory of a block; of them `conflicts` of banks.
        flop, mma_flop: of a block on tensor cores, by `wgmma` and by `mma.sync`.
        operand_bytes: of an element of these products.
        longest: work of the block that has most, over the average.
        waits, copies: how often a warp loads and waits; how often it copies for a later turn.
        stages: of a loop that copies.
    """

    name: str
    blocks: int
    warps: int
    shared_bytes: int
    registers: int
    dram_bytes: float
    l2_bytes: float
    atomic_bytes: float
    stored_bytes: float
    spilled_bytes: float
    instructions: Mapping[str, float]
    fma: float
    special: float
    barriers: float
    wavefronts: float
    conflicts: float
    flop: float
    mma_flop: float
    operand_bytes: int
    longest: float
    waits: float
    copies: float
    stages: int

    @property
    def blocks_an_sm(self) -> int:
        """Blocks that one multiprocessor holds at once."""
        return held(self.warps, self.shared_bytes, self.registers)

    @property
    def occupancy(self) -> float:
        """Warps that a multiprocessor holds, of those that it could."""
        return self.blocks_an_sm * self.warps / SM["WARPS_OF_SM"]

    @property
    def waves(self) -> float:
        """Blocks over those that the GPU holds at once."""
        return self.blocks / (self.blocks_an_sm * SMS)

    def issued(self, fitted: Constants) -> float:
        """Instructions of a warp."""
        each = {**vars(fitted), "spills": 1.0}
        return sum(each[kind] * count for kind, count in self.instructions.items())


def held(warps: int, shared_bytes: int, registers: int) -> int:
    """Blocks that one multiprocessor holds at once; at least 1."""
    of_a_block = -(-max(registers, 16) // 8) * 8 * WARP_LANES * warps
    room = (
        MOST_BLOCKS,
        SM["WARPS_OF_SM"] // warps,
        SM["SHARED_OF_SM"] // (shared_bytes + BLOCK_COST_BYTES),
        SM["REGISTERS_OF_SM"] // of_a_block,
    )
    return max(1, min(room))


@dataclass(frozen=True)
class Estimate:
    """Microseconds of a launch: by unit alone, and all together; its limit as a report names it."""

    work: Work
    alone_us: Mapping[str, float]
    us: float
    limit: str


def estimate(work: Work, fitted: Constants = FITTED) -> Estimate:
    """The time of one launch, and what limits it."""
    most = math.ceil(work.blocks / SMS)  # of the multiprocessor that has most
    cycle_us = 1 / (CLOCK_GHZ * 1e3)
    tensor = CEILINGS["FLOAT16_TFLOP_S"] * 2 / work.operand_bytes * 1e6 / SMS
    alone = {
        "dram": work.dram_bytes / CEILINGS["COPY_GB_S"] / 1e3,
        "l2": (work.l2_bytes + work.atomic_bytes * fitted.atomic) / fitted.l2_gb_s / 1e3,
        "l1": most * work.wavefronts * cycle_us,
        "issue": most * work.warps * work.issued(fitted) * cycle_us / ISSUED,
        "special": most * work.warps * work.special * cycle_us / SPECIAL,
        "tensor": most * (work.flop + work.mma_flop / fitted.mma) / tensor,
        "starts": most * fitted.begin_us,
        "latency": _latency(work, fitted),
    }
    together = sum(us**fitted.sharpness for us in alone.values()) ** (1 / fitted.sharpness)
    us = together + LAUNCH_US
    return Estimate(work, alone, us, limit_of(_percent(work, alone, us)))


def _latency(work: Work, fitted: Constants) -> float:
    """The time of one block alone, as often as one comes after the other."""
    cycles = max(work.issued(fitted) * fitted.step_cycles, work.wavefronts)
    cycles += work.barriers * work.warps * fitted.barrier_cycles
    ahead = work.copies * fitted.ahead / max(1, work.stages - 1)
    life = fitted.start_us + DRAM_US * (max(work.waits, 1) * fitted.wait + ahead)
    life += cycles / (CLOCK_GHZ * 1e3)
    life *= 1 + (work.longest - 1) / max(1, work.waves)
    rounds = work.waves if work.waves > UNEVEN_WAVES else math.ceil(work.waves)
    return rounds * life


#: With more waves the last one, half empty, makes no difference.
UNEVEN_WAVES = 4


def _percent(work: Work, alone: Mapping[str, float], us: float) -> dict[str, float]:
    """What Nsight Compute would say, by its names in `limit_of`; DRAM's peak is a copy's rate."""
    share = {unit: 100 * time / us for unit, time in alone.items()}
    filled = max(0.0, work.dram_bytes - min(work.stored_bytes, LEFT_IN_L2))
    found = max(0.0, work.l2_bytes - work.dram_bytes)
    return {
        "waves": work.blocks / SMS,  # an SM with one block works, whatever else it could hold
        "local_load_sectors": work.spilled_bytes / 2 / SECTOR_BYTES,
        "dram_percent": share["dram"] * FULL_PERCENT / DRAM_FULL,
        "l1_percent": share["l1"],
        "l2_percent": (filled / L2_FILLS + found / L2_PEAK) / us / 10,
        "tensor_percent": share["tensor"],
        "sm_percent": max(share["issue"], share["special"], share["tensor"]),
    }


#: Percent of a copy's rate from which on DRAM counts as full: 75 of its peak.
DRAM_FULL = 80


# ---------------------------------------------------------------- from what a few blocks asked


def work_of(few: Launched) -> Work:
    """The whole launch, of the blocks that ran: what each asks on the average, times the grid."""
    traffic = few.traffic
    base: dict[str, Any] = {
        "name": few.name, "blocks": few.blocks, "warps": few.warps, "longest": few.longest,
        "shared_bytes": traffic.shared_bytes, "registers": _registers(few),
    }  # fmt: skip
    per_thread = traffic.spill_bytes or 0
    spilled = 2.0 * per_thread * WARP_LANES * few.warps * few.blocks
    own = _of_numba(few) if "turns" in few.detail else _of_triton(few)
    sectors = sum(site.sectors for site in traffic.sites if not site.descriptor)
    requests = sum(site.requests or 0 for site in traffic.sites)
    conflicts = traffic.bank_conflicts / few.ran
    own["wavefronts"] += conflicts + max(requests, sectors / SECTORS_A_WAVEFRONT) / few.ran
    return Work(**base, **own, **_from_memory(few, spilled), conflicts=conflicts)


def _registers(few: Launched) -> int:
    private = few.detail.get("private_bytes", 0) // REGISTER_BYTES
    return few.traffic.registers or NUMBA_REGISTERS + private


REGISTER_BYTES = 4
#: Sectors of 32 bytes that L1 hands out at once.
SECTORS_A_WAVEFRONT = 4


def _of_triton(few: Launched) -> dict[str, Any]:
    told = few.detail
    pipes = ("integer", "fma", "memory", "tensor", "barrier")
    return {
        "instructions": {
            "ptx": sum(told.get(pipe, 0.0) for pipe in pipes),
            "special": told.get("special", 0.0),
            "spills": (few.traffic.spill_bytes or 0) / 2,  # four bytes at once, there and back
        },
        "fma": told.get("fma", 0.0),
        "special": told.get("special", 0.0),
        "barriers": told.get("barrier", 0.0),
        "wavefronts": told.get("wavefronts", 0.0) * few.warps,
        "flop": told.get("wgmma", 0.0),
        "mma_flop": told.get("mma", 0.0),
        "operand_bytes": told.get("operand_bytes", 2),
        "waits": told["waiting"],
        "copies": told["ahead"],
        "stages": told["stages"],
    }


def _of_numba(few: Launched) -> dict[str, Any]:
    """There is no compiler of Numba's here: what it makes of an access or a loop is an average."""
    traffic, each = few.traffic, 1 / (few.ran * few.warps)
    shared = traffic.shared_loads * each
    loads = [site.requests or 0 for site in traffic.sites if site.direction == "load"]
    turns = each * max(loads, default=0)
    in_step = shared > turns  # a barrier in each turn
    return {
        "instructions": {
            "axis": few.detail["axes"] * each,
            "shared": shared,
            "turn": few.detail["turns"] / few.ran,
            "start": 1.0,
        },
        "fma": 0.0,
        "special": 0.0,
        "barriers": 2.0 * (turns if in_step else shared > 0),
        "wavefronts": shared * few.warps,
        "flop": 0.0,
        "mma_flop": 0.0,
        "operand_bytes": 4,
        "waits": turns if in_step else turns / UNROLLED,
        "copies": 0.0,
        "stages": 1,
    }


def _from_memory(few: Launched, spilled: float) -> dict[str, Any]:
    """Bytes that pass L2, and DRAM, in a launch.

    L1 keeps what one line uses again; L2 all that the blocks under way touch, if it has room.
    """
    traffic = few.traffic
    under_way = min(SMS * held(few.warps, traffic.shared_bytes, _registers(few)), few.blocks)
    grown = few.blocks / few.ran
    whole = {
        pair: min(grown * bytes_, few.array_bytes.get(pair[0], grown * bytes_))
        for pair, bytes_ in few.union.items()
    }
    room = sum(min(under_way * few.distinct[p] / few.ran, whole[p]) for p in whole)
    again = {p: few.by_site[p] / few.distinct[p] if room > L2_BYTES else 1.0 for p in whole}
    dram = sum(whole[pair] * again[pair] for pair in whole)
    leaves = spilled if under_way * spilled / few.blocks > L2_BYTES else 0.0
    return {
        "dram_bytes": dram + leaves,
        "l2_bytes": spilled
        + sum(grown * few.by_site[pair] for pair in whole if pair[1] != "atomic"),
        "atomic_bytes": grown * SECTOR_BYTES * traffic.atomics.sectors,
        "stored_bytes": sum(n for (_, direction), n in whole.items() if direction != "load"),
        "spilled_bytes": spilled,
    }
