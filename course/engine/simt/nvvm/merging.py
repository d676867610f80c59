"""Which accesses the compiler merges: the rule by which a repeated load is counted once.

NVVM holds a loaded or stored value in a register as long as nothing may have changed the
memory behind it. The rule here follows what it was seen to do (`course/tests/engine/hardware`):

- a load of an address that is held is not made again; an atomic, a barrier or a fence lets go of
  everything; a store lets go of all but what lies apart from it, and holds its own address;
- elements lie apart that differ in a constant last index, where their row lies without gaps, or
  in their record's field;
- a load that a loop repeats unchanged is made once, if every turn reaches it and a turn does not
  begin with the question whether there is one (`unrolling.is_asked_first`); once for two loops,
  if the inner one has equally many turns for all threads and nothing is stored in the outer one;
- a load that both ways through a branch begin with, behind equal arithmetic at most, or one way
  and the code behind make, is made once, in front of the branch, if nothing in the branch loops;
  so is what the second side of an `and` or `or` begins with, and what a turn begins with if no
  turn changes it;
- a store with which both ways through a branch end is one, if the block goes on behind them
  (what stands behind a way that leaves is the other way: `ways`);
- where a branch around has asked the same, one way is left, and it is no branch;
- a load behind ways that meet, each of which holds the value, is not made again; where one
  alone does not hold it, it is made at that way's end;
- a load whose value is never used is not made (`liveness`), and one whose value is used in one way
  through the next branch alone is made there (`sinking`);
- a store that is overwritten before anything can read it is not made, and so is one of a branch
  that does nothing else (`chosen_stores`);
- an element that a loop stores to stays in a register, if all else that it touches lies apart.

Addresses are compared as expressions, never as numbers: what is equal by chance is not merged.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import numpy as np

from course.engine.simt.nvvm.work import MOST_OF_AN_ARM
from course.engine.simt.running.lanes import Lanes

#: Counts an access in the active lanes, of which those ask that the second argument says.
Count = Callable[..., None]
#: A load: its key, the newest version that it depends on, and its count.
Load = tuple[Hashable, int, Count]

#: Steps of a branch that the assembler makes no branch of: loads and their places, and operators.
_FREE, _SHORT = ("element", "linear"), {"add", "sub", "mul", "neg", "and_", "or_", "xor", "not"}
#: Steps that are one instruction, and how many others are.
_ONE = _SHORT | {"linear", "product", "lshift", "rshift"}
_MANY: dict[Any, int] = {"mod": 4, "floordiv": 4}
#: What a key has in place of a constant last index, and of the array of a record's field.
BESIDE, FIELD = "beside", "field"


def apart(key: Any, other: Any) -> bool:
    """Whether two elements are never in one place, as far as the compiler looks."""
    if key is None or other is None or len(key) != len(other):
        return False
    (_, array, *_, last), (_, other_array, *_, other_last) = key, other
    if array[0] == other_array[0] == FIELD and array[2] == other_array[2]:
        if array[1] != other_array[1]:
            return True
    beside = last[0] == other_last[0] == BESIDE and last != other_last
    return bool(beside and key[:-1] == other[:-1])


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
class Stored:
    """A store; `zero` says that it is of a 0, and `rounded` of a float64 that becomes a float32."""

    key: Hashable
    site: AccessSite
    count: Count
    zero: bool
    rounded: bool


@dataclass(frozen=True)
class Arm:
    """A branch whose loads may move up in front of it, if the other way makes them too."""

    version: int
    depth: int
    loads: dict[Hashable, tuple[AccessSite, Count]] = field(default_factory=dict)
    #: what is worked out, loaded and stored, in order
    steps: dict[Hashable, None] = field(default_factory=dict)
    closed: list[bool] = field(default_factory=list)
    #: elements that are stored to
    places: set[Hashable] = field(default_factory=set)
    #: what is counted where the branch ends
    tail: list[Count] = field(default_factory=list)

    @property
    def is_short(self) -> bool:
        """Whether it is a few operators and loads."""
        names = [_operator(step) for step in self.steps]
        work = [name for name in names if name not in _FREE]
        return len(work) <= MOST_OF_AN_ARM and _SHORT.issuperset(work)


def is_operator(step: Any) -> bool:
    """Whether a step is one instruction that works out a number."""
    return _operator(step) in _ONE


def is_worked_out(step: Any) -> bool:
    """Whether a step works out a number, without a branch."""
    return is_operator(step) or (_operator(step) in _MANY and step[2][0] == "number")


def instructions(step: Any) -> int:
    """How many a step is: of a load, what makes its address."""
    name = _operator(step)
    if isinstance(step, str):  # of memory that is not global
        return 4
    if name == "element":
        return 4 + 3 * (len(step) - 3)
    if name in ("and", "or"):
        return 1 + (instructions(step[1]) if step[1][0] == name else 0)
    return _MANY.get(name, 1)


def _operator(step: Hashable) -> Hashable:
    """What a step is called: that of a key, and nothing of what is named by none."""
    first = step[0] if isinstance(step, tuple) else None
    return first[0] if isinstance(first, tuple) else first


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
    #: set where one way through a branch has let go of it: what is counted at that way's end
    lost: list[Count] | None = None
    #: loaded in a loop that is written out inside another
    inner: bool = False

    @property
    def plain(self) -> bool:
        return not (self.loop or self.half or self.lost is not None)


@dataclass
class Straight:
    """A piece of code without branches, up to a point of it."""

    #: stores that nothing has read
    pending: dict[Hashable, AccessSite] = field(default_factory=dict)
    #: its last store, and instructions behind it
    last: Stored | None = None
    behind: int = 0
    #: the store of a branch in front of it, while nothing else touches memory
    under: Under | None = None
    #: whether that was a branch's, which all lanes make now, and whether it is read since
    of_branch: bool = False
    read: bool = False
    #: whether it changes memory that is not global, or that other threads wait for
    elsewhere: bool = False

    def front(self, key: Hashable) -> AccessSite | None:
        """Its last store, if that is of this element and nothing has read any since."""
        same = self.last is not None and self.last.key == key and not self.read
        return self.pending.get(key) if same else None


@dataclass
class Under:
    """A store under a condition, or under one of several: those of these branches."""

    stored: Stored
    site: AccessSite
    ways: tuple[int, ...]
    #: the store in front of it that it overwrites
    front: AccessSite | None = None

    def with_another(self, stored: Stored, way: int) -> Under:
        """The store of a branch behind it and this one, as one."""
        self.site.merged = stored.site.merged = True
        if self.front is not None:
            self.front.merged = False
        return Under(stored, AccessSite(), (*self.ways, way), self.front)

    def by_all(self, registers: Registers) -> None:
        """All lanes make it, unless it becomes one with that of a branch behind it."""
        self.site.merged = True
        self.site = registers.store_instead(self.stored)
        if self.front is not None:
            self.front.merged = True


@dataclass
class LoopScope:
    """What one loop does to global memory."""

    number: int
    #: conditions around a statement of its body
    depth: int = 0
    accesses: list[tuple[Hashable, int, AccessSite, bool, int]] = field(default_factory=list)
    #: loads that loops inside make in their first turn alone, as often as a turn is made here
    inner: list[tuple[Hashable, AccessSite]] = field(default_factory=list)
    #: the load that a turn begins with, its site and its count
    first: tuple[Hashable, AccessSite, Count] | None = None
    #: what is counted in front of the loop
    head: list[Count] = field(default_factory=list)
    #: whether a turn branches on a divisor
    divides: bool = False
    barred: bool = False
    continue_held: list[set[Hashable]] = field(default_factory=list)

    @property
    def clobbers(self) -> bool:
        """Whether what a turn finds in registers may have changed in the turn before."""
        return self.barred or any(store for *_, store, _ in self.accesses)


class Registers:
    """The values that a thread holds at one point of the source, while it is lowered."""

    def __init__(self) -> None:
        self.held: dict[Hashable, Held] = {}
        self.straight = Straight()
        self.loops: list[LoopScope] = []
        #: the branches around this point, and first what is in none
        self.arms = [Arm(0, 0)]
        #: conditions around this point: deeper code may not be reached
        self.depth = 0
        self.version = 0
        #: the value that is computed now is never used
        self.unused = False
        #: loads of what is computed now that are made later
        self.later: list[Load] | None = None
        #: a loop inside another is being written out
        self.inner = False

    def new_version(self) -> int:
        self.version += 1
        return self.version

    def load(self, key: Hashable, since: int, count: Count) -> tuple[AccessSite, Held | None]:
        """A load of the element that `key` names; `count` counts it anywhere."""
        if self.unused:
            return AccessSite(merged=True), None
        if self.later is not None:
            self.later.append((key, since, count))
            return AccessSite(merged=True), None
        site = AccessSite()
        held = None if key is None else self.held.get(key)
        if held is None or not held.plain:
            self.straight.under, self.straight.read = None, True
        if held is not None and not held.plain:
            if held.depth == self.depth:
                if held.loop:
                    site.first_turns = (held.loop,)
                elif held.half:
                    other, other_count, head = held.half
                    other.merged = site.merged = True
                    head.append(other_count)
                elif held.lost is not None:
                    site.merged = True
                    held.lost.append(count)
                held = self.held[key] = Held(held.token, held.since)
            else:
                held = None
        elif held is not None:
            site.merged = True
        if not site.merged:
            straight = self.straight
            straight.pending = {k: to for k, to in straight.pending.items() if apart(k, key)}
            if self.loops and not self.loops[-1].accesses and self.depth == self.loops[-1].depth:
                self.loops[-1].first = (key, site, count)
            for loop in self.loops:
                loop.accesses.append((key, since, site, False, self.depth))
            arm = self.arms[-1]
            if not self.step(key):
                straight.behind += 1  # its address is there
                arm.steps[key] = None
            if not arm.closed and arm.depth == self.depth and not site.first_turns:
                if key is not None and old_enough(key, arm.version):
                    arm.loads.setdefault(key, (site, count))
        if held is None and key is not None:
            version = self.new_version()
            held = self.held[key] = Held(version, version, inner=self.inner)
        return site, held

    def step(self, key: Hashable) -> bool:
        """Something is worked out or loaded, which `key` names; nothing is where it was before."""
        if isinstance(key, tuple) and key[0] in ("variable", "value"):
            return False
        if any(key in arm.steps for arm in self.arms):
            return False
        self.arms[-1].steps[object() if key is None else key] = None
        self.straight.behind += instructions(key)
        return True

    def store(
        self, key: Hashable, since: int, count: Count, zero: bool, rounded: bool
    ) -> AccessSite:
        """A store to the element that `key` names: it may change all that is not apart.

        `zero` and `rounded` are a `Stored`'s.
        """
        site = AccessSite()
        stored = Stored(key, site, count, zero, rounded)
        self.arms[-1].steps[stored] = None
        self.arms[-1].places.add(key)
        straight = self.straight
        straight.last, straight.behind, straight.under = stored, 0, None
        straight.of_branch = straight.read = False
        overwritten = straight.pending.pop(key, None) if key is not None else None
        if overwritten is not None:
            overwritten.merged = True
        self.held = {one: held for one, held in self.held.items() if apart(one, key)}
        self._close_arms()
        if key is not None:
            version = self.new_version()
            self.held[key] = Held(version, version)
            straight.pending[key] = site
        for loop in self.loops:
            loop.accesses.append((key, since, site, True, self.depth))
        return site

    def store_instead(self, stored: Stored) -> AccessSite:
        """A store that a branch's becomes, which all lanes make."""
        stored.site.merged = True
        for loop in self.loops:
            loop.accesses = [one for one in loop.accesses if one[2] is not stored.site]
        site = self.store(stored.key, 0, stored.count, stored.zero, stored.rounded)
        self.straight.of_branch = True
        return site

    def clobber(self) -> None:
        """A barrier, an atomic or a fence: nothing is held, nothing is overwritten unseen."""
        self.held.clear()
        self.straight = Straight(elsewhere=True)
        self._close_arms()
        for loop in self.loops:
            loop.barred = True

    def _close_arms(self) -> None:
        for arm in self.arms:
            arm.closed.append(True)

    def apart(self) -> Registers:
        """As new, inside the same loops."""
        found = Registers()
        found.version = self.version
        found.loops = [LoopScope(loop.number, loop.depth) for loop in self.loops]
        return found

    def snapshot(self) -> dict[Hashable, Held]:
        return dict(self.held)

    def meet(
        self,
        before: dict[Hashable, Held],
        arms: tuple[Arm, Arm],
        after: tuple[dict[Hashable, Held], dict[Hashable, Held]],
        head: list[Count],
        goes_on: bool = False,
    ) -> None:
        """Where two ways join: what both hold, and the loads that move up in front of both.

        `goes_on` says that the block does, behind them.
        """
        first, second = arms
        # The compiler compares the two sides from their starts, and from their ends where the
        # numbers that go into an operator may differ; it stops at a difference. The assembler makes
        # one way of two short ones, and one load of their first ones.
        short = first.is_short and second.is_short
        starts = zip(*(arm.loads if short else arm.steps for arm in arms), strict=False)
        ends = zip(reversed(first.steps), reversed(second.steps), strict=False)
        alike = [a for a, _ in takewhile(lambda pair: pair[0] == pair[1], starts)]
        alike += [a for a, b in takewhile(_one_instruction, ends) if a == b and a not in alike]
        common = [key for key in alike if key in first.loads and key in second.loads]
        if goes_on:
            head += _stored_by_both(first, second)
        for key in common:
            site, count = first.loads[key]
            site.merged = second.loads[key][0].merged = True
            head.append(count)
        self.held = {k: h for k, h in before.items() if all(a.get(k) == h for a in after)}
        for key in {**after[0], **after[1]}:
            if key in self.held:
                continue
            version = self.new_version()
            found = [way.get(key) for way in after]
            missing = [
                held.lost if held else arm.tail
                for held, arm in zip(found, arms, strict=True)
                if not (held and held.plain)
            ]
            tail = missing[0] if len(missing) == 1 else None
            front = _to_the_front(first, second, key) or _to_the_front(second, first, key)
            if not missing or key in common:
                self.held[key] = Held(version, version)
            elif front:
                self.held[key] = Held(version, version, self.depth, half=(*front, head), lost=tail)
            elif tail is not None:
                self.held[key] = Held(version, version, self.depth, lost=tail)
            elif len(missing) == 1 and (half := next(h.half for h in found if h and not h.plain)):
                self.held[key] = Held(version, version, self.depth, half=half)

    def keep_in_register(self, loop: LoopScope, version: int) -> None:
        """Takes an element out of memory for the length of a loop that stores to it."""
        if loop.barred:
            return
        keys = {key for key, *_ in loop.accesses}
        for key in keys:
            own = [entry for entry in loop.accesses if entry[0] == key]
            stores = [depth for _, _, _, is_store, depth in own if is_store]
            alone = all(other == key or apart(other, key) for other in keys)
            invariant = key is not None and old_enough(key, version)
            if alone and invariant and stores and all(depth == self.depth for depth in stores):
                for _, _, site, _, _ in own:
                    site.first_turns = (
                        *[turn for turn in site.first_turns if turn[0] != loop.number],
                        (loop.number, False),
                    )


def move_out(loop: LoopScope, version: int, around: LoopScope | None) -> None:
    """Takes the loads that no turn changes out of a loop that is in another's every turn.

    That loop's number of turns is one for all threads: NVVM asks in front of both whether there
    is a turn, which it does not for a number that threads differ in.
    """
    found = [] if loop.clobbers else [one for one in loop.inner if old_enough(one[0], version)]
    for _, site in found:
        site.first_turns = (*site.first_turns, (loop.number, False))
    if around is not None:
        around.inner += [
            *found,
            *(
                (key, site)
                for key, _, site, _, depth in loop.accesses
                if depth == loop.depth and site.first_turns == ((loop.number, False),)
            ),
        ]


def _one_instruction(pair: tuple[Hashable, Hashable]) -> bool:
    """Whether two steps are the same one, or the same operator on other numbers."""
    one, other = pair
    if one == other or not (isinstance(one, tuple) and isinstance(other, tuple)):
        return one == other
    return one[0] == other[0] != "element"


def _stored_by_both(first: Arm, second: Arm) -> list[Count]:
    """The stores that both ways end with, each made once behind them.

    Where the second stores a 0, what the first one works out has a store of its own.
    """
    found = []
    worked_out = any(
        not isinstance(step, Stored) and step not in second.steps for step in first.steps
    )
    for one, other in zip(reversed(first.steps), reversed(second.steps), strict=False):
        if not (isinstance(one, Stored) and isinstance(other, Stored) and one.key == other.key):
            break
        if one.key is None or not old_enough(one.key, first.version):
            break
        if other.zero and worked_out and not one.rounded:
            break
        one.site.merged = other.site.merged = True
        found.append(one.count)
    return found


def _to_the_front(arm: Arm, other: Arm, key: Hashable) -> tuple[AccessSite, Count] | None:
    """A load of one way that moves up in front of both, if the code behind makes it as well.

    Where a way stores, it has to be what both ways begin with.
    """
    begins = next(iter(arm.loads), None) == key and not other.loads and not other.closed
    return arm.loads.get(key) if begins or not (arm.closed or other.closed) else None


def available(registers: Registers, version: int, scope: LoopScope) -> dict[Hashable, Held]:
    """What is held at the end of every turn and does not depend on the turn."""
    found = {
        key: held for key, held in registers.held.items() if old_enough(key, version) and held.plain
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


def one_for_all(key: Any) -> bool:
    """Whether a key is made of what all threads have in common."""
    if not isinstance(key, tuple):
        return key is not None
    if len(key) == 2 and key[0] in ("variable", "value", "coordinate"):
        return key[0] == "coordinate" and key[1].startswith(("block", "grid"))
    return all(one_for_all(part) for part in key)
