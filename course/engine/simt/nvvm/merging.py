"""Which accesses the compiler merges: the rule by which a repeated load is counted once.

NVVM holds a loaded or stored value in a register as long as nothing may have changed the
memory behind it. The rule here follows what it was seen to do (`course/tests/engine/hardware`):

- a load of an address that is held is not made again; a store, an atomic, a barrier or a
  fence lets go of everything, and a store holds its own address;
- a load that a loop repeats unchanged is made once, if every turn reaches it;
- a load that both ways through a branch make, or one way and the code behind, is made once,
  in front of the branch, if nothing in the branch loops;
- a load whose value is never used is not made;
- a store that is overwritten before anything can read it is not made;
- in a loop whose only global accesses are one element's, that element stays in a register.

Addresses are compared as expressions, never as numbers: what is equal by chance is not merged.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import numpy as np

from course.engine.simt.running.lanes import Lanes

Count = Callable[[Lanes], None]


class AccessSite:
    """Whether an access in the source reaches memory when it is executed."""

    __slots__ = ("first_turns", "merged")

    def __init__(self, merged: bool = False) -> None:
        self.merged = merged
        #: loops in whose first turn alone the access is made; True stands for the first turn
        #: of each part of an unrolled loop
        self.first_turns: tuple[tuple[int, bool], ...] = ()

    def counts(self, lanes: Lanes) -> bool | np.ndarray:
        """Whether the lanes that execute the access now ask memory for it, or which lanes do."""
        if self.merged:
            return False
        asking: bool | np.ndarray = True
        for loop, part in self.first_turns:
            if part:
                if not lanes.first_of_part[loop]:
                    return False
                continue
            first = lanes.first_turn[loop]
            if first is False:
                return False
            if first is not True:
                asking = first if asking is True else asking & first
        return asking


@dataclass(frozen=True)
class Arm:
    """A branch whose loads may move up in front of it, if the other way makes them too."""

    version: int
    depth: int
    loads: dict[Hashable, tuple[AccessSite, Count]] = field(default_factory=dict)
    closed: list[bool] = field(default_factory=list)


@dataclass(frozen=True)
class Held:
    """A value in a register: `token` names it, `since` is the newest version it depends on."""

    token: int
    since: int
    depth: int = 0
    #: set where the value is there from the second turn of this loop (or loop part) on
    loop: tuple[int, bool] | None = None
    #: set where one way through a branch has made the load: (its site, its count, the branch)
    half: tuple[AccessSite, Count, list[Count]] | None = None


@dataclass
class LoopScope:
    """What one loop does to global memory."""

    number: int
    accesses: list[tuple[Hashable, int, AccessSite, bool, int]] = field(default_factory=list)
    barred: bool = False
    continue_held: list[set[Hashable]] = field(default_factory=list)


class Registers:
    """The values that a thread holds at one point of the source, while it is lowered."""

    def __init__(self) -> None:
        self.held: dict[Hashable, Held] = {}
        self.pending: dict[Hashable, AccessSite] = {}
        self.loops: list[LoopScope] = []
        self.arms: list[Arm] = []
        #: conditions around this point: deeper code may not be reached
        self.depth = 0
        self.version = 0
        #: the value that is computed now is never used
        self.unused = False

    def new_version(self) -> int:
        self.version += 1
        return self.version

    def load(self, key: Hashable, since: int, count: Count) -> tuple[AccessSite, Held | None]:
        """A load of the element that `key` names; `count` counts it anywhere."""
        if self.unused:
            return AccessSite(merged=True), None
        site = AccessSite()
        held = None if key is None else self.held.get(key)
        if held is not None and (held.loop or held.half):
            if held.depth == self.depth:
                if held.loop:
                    site.first_turns = (held.loop,)
                elif held.half:
                    other, other_count, head = held.half
                    other.merged = site.merged = True
                    head.append(other_count)
                held = self.held[key] = Held(held.token, held.since)
            else:
                held = None
        elif held is not None:
            site.merged = True
        if not site.merged:
            self.pending.clear()
            for loop in self.loops:
                loop.accesses.append((key, since, site, False, self.depth))
            arm = self.arms[-1] if self.arms else None
            if arm and not arm.closed and arm.depth == self.depth and not site.first_turns:
                if key is not None and old_enough(key, arm.version):
                    arm.loads.setdefault(key, (site, count))
        if held is None and key is not None:
            version = self.new_version()
            held = self.held[key] = Held(version, version)
        return site, held

    def store(self, key: Hashable, since: int) -> AccessSite:
        """A store to the element that `key` names: it may change every other element."""
        site = AccessSite()
        overwritten = self.pending.pop(key, None) if key is not None else None
        if overwritten is not None:
            overwritten.merged = True
        self.held.clear()
        self._close_arms()
        if key is not None:
            version = self.new_version()
            self.held[key] = Held(version, version)
            self.pending[key] = site
        for loop in self.loops:
            loop.accesses.append((key, since, site, True, self.depth))
        return site

    def clobber(self) -> None:
        """A barrier, an atomic or a fence: nothing is held, nothing is overwritten unseen."""
        self.held.clear()
        self.pending.clear()
        self._close_arms()
        for loop in self.loops:
            loop.barred = True

    def _close_arms(self) -> None:
        for arm in self.arms:
            arm.closed.append(True)

    def snapshot(self) -> dict[Hashable, Held]:
        return dict(self.held)

    def meet(
        self,
        before: dict[Hashable, Held],
        arms: tuple[Arm, Arm],
        after: tuple[dict[Hashable, Held], dict[Hashable, Held]],
        head: list[Count],
    ) -> None:
        """Where two ways join: what both hold, and the loads that move up in front of both."""
        first, second = arms
        # The compiler compares the two sides from their starts and stops at a difference.
        pairs = zip(first.loads, second.loads, strict=False)
        common = [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        for key in common:
            site, count = first.loads[key]
            site.merged = second.loads[key][0].merged = True
            head.append(count)
        self.held = {k: h for k, h in before.items() if all(a.get(k) == h for a in after)}
        if first.closed or second.closed:
            return
        for key in sorted(first.loads.keys() | second.loads.keys(), key=repr):
            version = self.new_version()
            if key in common:
                self.held[key] = Held(version, version)
            elif key not in self.held:
                site, count = first.loads.get(key) or second.loads[key]
                self.held[key] = Held(version, version, self.depth, half=(site, count, head))

    def keep_in_register(self, loop: LoopScope, version: int) -> None:
        """Takes an element that a loop alone touches out of memory for the loop's length."""
        if loop.barred or not loop.accesses:
            return
        keys = {key for key, *_ in loop.accesses}
        stores = [entry for entry in loop.accesses if entry[3]]
        invariant = all(key is not None and old_enough(key, version) for key, *_ in loop.accesses)
        plain = all(depth == self.depth for *_, depth in stores)
        if len(keys) == 1 and stores and invariant and plain:
            for _, _, site, _, _ in loop.accesses:
                site.first_turns = (
                    *[turn for turn in site.first_turns if turn[0] != loop.number],
                    (loop.number, False),
                )


def available(registers: Registers, version: int, scope: LoopScope) -> dict[Hashable, Held]:
    """What is held at the end of every turn and does not depend on the turn."""
    found = {
        key: held
        for key, held in registers.held.items()
        if old_enough(key, version) and held.loop is None and held.half is None
    }
    for others in scope.continue_held:
        found = {key: held for key, held in found.items() if key in others}
    return found


def old_enough(key: Any, version: int) -> bool:
    """Whether no variable or value in a key is as new as `version`."""
    if isinstance(key, tuple):
        if len(key) == 2 and key[0] in ("variable", "value"):
            return bool(key[1] < version)
        return all(old_enough(part, version) for part in key)
    return True
