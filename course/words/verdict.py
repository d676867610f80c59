"""A verdict: what came of a check, as data, as text and (in `course.words.panel`) as HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from course.engine.faults import Outcome
from course.words.phrasing import shown
from course.words.sentences import ABOUT_LAUNCHES, ABOUT_LIMITS, ABOUT_NUMBERS, ABOUT_PROGRAMS

#: Symbol and words of each outcome: the words carry the meaning, the symbol helps the eye.
HEADLINES: dict[Outcome, tuple[str, str]] = {
    Outcome.PASS: ("✓", "right"),
    Outcome.NOT_ATTEMPTED: ("○", "not attempted yet"),
    Outcome.REJECTED: ("✗", "not code that this course can read"),
    Outcome.DOES_NOT_COMPILE: ("✗", "does not compile"),
    Outcome.OUT_OF_BOUNDS: ("✗", "out of bounds"),
    Outcome.UNINITIALISED: ("✗", "read before it was written"),
    Outcome.RACE: ("✗", "race"),
    Outcome.BARRIER_DIVERGENCE: ("✗", "a barrier that not every thread reaches"),
    Outcome.TIMED_OUT: ("✗", "stopped before its end"),
    Outcome.WRONG_ANSWER: ("✗", "wrong answer"),
    Outcome.TOO_MUCH_TRAFFIC: ("✗", "right answer, too much traffic"),
    Outcome.TOO_DIVERGENT: ("✗", "right answer, too many divergent branches"),
    Outcome.BANK_CONFLICTS: ("✗", "right answer, too many bank conflicts"),
    Outcome.TOO_SERIAL: ("✗", "right answer, too much work in one warp"),
    Outcome.TOO_MANY_RESOURCES: ("✗", "asks for more than a GPU has"),
    Outcome.NOT_MEASURED: ("!", "not measured"),
}
#: A right result, and how it came to be.
_MEANS = ("tile_not_copied", "tile_not_divided", "tile_many_launches")
#: A launcher whose Python goes no further: no compiler was asked.
_ERRORS = (
    *("launcher_value", "launcher_index", "launcher_unpack", "launcher_arguments"),
    *("launcher_device", "launcher_assert", "launcher_raises", "unassigned_name"),
)
#: (an outcome, sentences, words): where the sentence knows more than the outcome.
_HEADLINES_ABOUT = (
    (Outcome.REJECTED, ABOUT_NUMBERS, "not answers that this course can read"),
    (Outcome.REJECTED, ABOUT_LAUNCHES, "nothing was launched"),
    (Outcome.REJECTED, _MEANS, "right answer, by other means than this exercise asks for"),
    (Outcome.WRONG_ANSWER, _ERRORS, "the launcher stops with an error"),
    (
        Outcome.TOO_MANY_RESOURCES,
        ABOUT_LIMITS,
        "right answer, takes more than this exercise allows",
    ),
    (Outcome.TOO_SERIAL, ABOUT_PROGRAMS, "right answer, too much work in one program"),
    (Outcome.TOO_SERIAL, ("products_apart",), "right answer, one thing after the other"),
    (Outcome.TOO_SERIAL, ("too_much_work",), "right answer, more arithmetic than it needs"),
)
PANEL_COLUMNS = 96
LARGEST_RATIO_SHOWN = 10_000.0
#: Sentences that the table of traffic says as well, line by line.
TOLD_BY_TABLE = ("too_much_traffic",)


@dataclass(frozen=True)
class Row:
    """One array in one direction on the graded case. Bytes are sectors x 32.

    `budget_bytes` is None for an access that no budget foresees; the `total` row has it. A
    `small` row is too little of the whole to cost anything by itself.
    """

    array: str
    direction: str
    requested_bytes: int
    budget_bytes: float | None
    least_bytes: int
    note: str = ""
    small: bool = False

    @property
    def ratio(self) -> float | None:
        """Requested over budget; None where there is no budget."""
        if self.budget_bytes is None:
            return None
        if self.budget_bytes <= 0:
            return LARGEST_RATIO_SHOWN if self.requested_bytes else 0.0
        return min(self.requested_bytes / self.budget_bytes, LARGEST_RATIO_SHOWN)

    @property
    def over(self) -> bool:
        ratio = self.ratio
        return ratio is not None and ratio > 1.0 and not self.small


@dataclass(frozen=True)
class Access:
    """What one line asks of one array in one direction. Bytes are sectors x 32."""

    array: str
    direction: str
    requested_bytes: int
    sectors_a_request: float | None
    #: lane bytes over requested bytes: 1 is coalesced, below is waste, above is sharing
    reuse: float
    #: how wide the compiler made it, and what its layout asks for beyond that, and why
    compiled: str = ""


@dataclass(frozen=True)
class SourceLine:
    """A line of the cell, with its global traffic where it has any. `marked`: look here."""

    number: int
    code: str
    accesses: tuple[Access, ...] = ()
    marked: bool = False


@dataclass(frozen=True)
class Extra:
    """A number measured beside the traffic; `limit` is None where it is not graded."""

    label: str
    value: int
    limit: int | None = None

    @property
    def over(self) -> bool:
        return self.limit is not None and self.value > self.limit

    def __str__(self) -> str:
        limit = "" if self.limit is None else f" (at most {shown(self.limit)})"
        return f"{self.label} {shown(self.value)}{limit}"


@dataclass(frozen=True)
class Entry:
    """One entry of a numeric exercise: what was asked, what was given, what to say to it."""

    key: str
    question: str
    got: str
    right: bool
    remark: str = ""

    @property
    def result(self) -> tuple[str, str]:
        """Symbol and word: an entry that was left open is not called wrong."""
        if self.right:
            return "✓", "right"
        return ("○", "open") if self.got in ("", "...") else ("✗", "wrong")


@dataclass(frozen=True, repr=False)
class Verdict:
    """What came of a check. True on PASS and only then.

    `message` is a sentence, `message_id` its key in `course.words.sentences`. `line` counts from 1
    in `source`, the cell. `credit` is the share of the points, from 0 to 1. `rows` and `lines`
    are of the graded case with the worst cost.
    """

    outcome: Outcome
    exercise: str
    message: str
    message_id: str
    line: int | None = None
    source: str = ""
    case_label: str = ""
    case_number: int = 0
    case_count: int = 0
    rows: tuple[Row, ...] = ()
    lines: tuple[SourceLine, ...] = ()
    extras: tuple[Extra, ...] = ()
    entries: tuple[Entry, ...] = ()
    credit: float = 0.0
    max_points: float = 0.0
    next_steps: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    #: every line of the kernel is shown, and not only those that matter
    detailed: bool = False
    #: of a wrong answer on a visible case: the output, and the first index at which it is wrong
    wrong_at: tuple[str, tuple[int, ...]] | None = field(default=None, compare=False)
    #: for developers: the traceback of a check that failed; never in a report
    internal_error: str = field(default="", compare=False)

    @property
    def points(self) -> float:
        return round(self.credit * self.max_points, 2)

    @property
    def headline(self) -> str:
        """`right answer, too much traffic`: the outcome in words."""
        return headline_of(self.outcome, self.message_id)

    @property
    def symbol(self) -> str:
        return HEADLINES[self.outcome][0]

    @property
    def case_text(self) -> str:
        """`case 3 of 4: M=128, N=64`, or '' where no case was run.

        A pass has no case to stop at: the one shown is the nearest to its budget.
        """
        if not self.case_number:
            return ""
        label = f": {self.case_label}" if self.case_label else ""
        if self.outcome is not Outcome.PASS or self.case_count == 1:
            return f"case {self.case_number} of {self.case_count}{label}"
        if self.budget_bytes is None:
            return f"one of {self.case_count} cases{label}"
        return f"of {self.case_count} cases the nearest to its budget{label}"

    @property
    def points_text(self) -> str:
        return f"{self.points:g} of {self.max_points:g} points"

    @property
    def requested_bytes(self) -> int | None:
        """All accesses of the graded case together, or None where nothing was measured."""
        return next((r.requested_bytes for r in self.rows if r.direction == "total"), None)

    @property
    def budget_bytes(self) -> float | None:
        return next((r.budget_bytes for r in self.rows if r.direction == "total"), None)

    @property
    def least_bytes(self) -> int | None:
        return next((r.least_bytes for r in self.rows if r.direction == "total"), None)

    def __bool__(self) -> bool:
        return self.outcome is Outcome.PASS

    def __str__(self) -> str:
        return text_panel(self)

    def __repr__(self) -> str:
        return text_panel(self)

    def _repr_html_(self) -> str:
        from course.words.panel import html_panel

        return html_panel(self)


def headline_of(outcome: Outcome, message_id: str) -> str:
    """An outcome in words, by its sentence where that knows more."""
    for about, sentences, words in _HEADLINES_ABOUT:
        if outcome is about and message_id in sentences:
            return words
    return HEADLINES[outcome][1]


def bytes_text(amount: float) -> str:
    """`96 B`, `35.2 KB`, `1.5 MB` (1 KB is 1024 bytes)."""
    if amount < 1024:
        return f"{amount:.0f} B" if amount == round(amount) else f"{amount:.1f} B"
    for unit in ("KB", "MB"):
        amount /= 1024
        if amount < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} GB"


def ratio_text(value: float) -> str:
    """At most one digit after the point, three below 1: 4, 7.3, 0.125."""
    digits = 1 if value >= 1 else 3
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def of_budget_text(ratio: float | None) -> str:
    """A row's ratio with the digits that tell it from 1: 0.9, 1.02, 7.3; - without a budget."""
    if ratio is None:
        return "-"
    if ratio >= LARGEST_RATIO_SHOWN:
        return "no budget"
    return f"{ratio:.2f}" if 1.0 < ratio < 1.1 else f"{ratio:.1f}"


def text_panel(verdict: Verdict) -> str:
    """The verdict as a learner reads it on a terminal."""
    title = f"{verdict.symbol} {verdict.exercise}: {verdict.headline}"
    out = [_spread(title, verdict.case_text)]
    if verdict.message and verdict.message_id not in TOLD_BY_TABLE:
        out += wrapped(verdict.message, "    ")
    if shows_traffic(verdict):
        out += _table(verdict.rows)
    out += _lines(verdict)
    out += _entries(verdict.entries)
    if shows_extras(verdict):
        out += wrapped("also measured: " + "; ".join(map(str, verdict.extras)), "    ")
    for step in verdict.next_steps:
        out += wrapped(step, "  ")
    if shows_points(verdict):
        out.append(f"  {verdict.points_text}")
    if verdict.commands:
        out += _commands(verdict.commands)
    return "\n".join(out)


def _commands(commands: Sequence[str]) -> list[str]:
    """In one line where it holds them, else one below the other: a line of code stays whole."""
    line = "  Next: " + "   ·   ".join(commands)
    if len(line) <= PANEL_COLUMNS:
        return [line]
    return [f"  Next: {commands[0]}", *(f"        {command}" for command in commands[1:])]


def shows_traffic(verdict: Verdict) -> bool:
    """Whether the table stands on the panel: where it is the point, or was asked for."""
    told = verdict.outcome in (Outcome.PASS, Outcome.TOO_MUCH_TRAFFIC)
    return bool(verdict.rows) and (told or verdict.detailed)


def by_programs(verdict: Verdict) -> bool:
    """Whether what was asked for was counted by program, as Triton's is, and not by warp."""
    accesses = [access for line in verdict.lines for access in line.accesses]
    return bool(accesses) and all(access.sectors_a_request is None for access in accesses)


def shows_extras(verdict: Verdict) -> bool:
    """Whether what was measured beside the traffic stands on the panel."""
    return bool(verdict.extras) and (verdict.outcome is Outcome.PASS or verdict.detailed)


def shows_points(verdict: Verdict) -> bool:
    """Nothing is said of points where the check itself failed."""
    return bool(verdict.max_points) and verdict.outcome is not Outcome.NOT_MEASURED


def _spread(left: str, right: str) -> str:
    if not right:
        return left
    gap = PANEL_COLUMNS - len(left) - len(right)
    return f"{left}{' ' * gap}{right}" if gap >= 2 else f"{left}\n    {right}"


def wrapped(text: str, indent: str) -> list[str]:
    """Lines of at most PANEL_COLUMNS, words kept whole."""
    return textwrap.wrap(
        text,
        PANEL_COLUMNS,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table(rows: Sequence[Row]) -> list[str]:
    names = [row_name(row) for row in rows]
    width = max(map(len, names))
    out = [f"    {'':{width}}   {'requested':>10}  {'budget':>10}  {'least':>10}  of budget"]
    for name, row in zip(names, rows, strict=True):
        budget = "none" if row.budget_bytes is None else bytes_text(row.budget_bytes)
        note = f"   <- {row.note}" if row.note else ""
        out.append(
            f"    {name:{width}}   {bytes_text(row.requested_bytes):>10}  {budget:>10}  "
            f"{bytes_text(row.least_bytes):>10}  {of_budget_text(row.ratio):>9}{note}"
        )
    return out


def row_name(row: Row) -> str:
    """`load  a`, `store b`, `total`."""
    return f"{row.direction:<5} {row.array}".rstrip()


def shown_lines(verdict: Verdict) -> list[SourceLine]:
    """The lines that a panel shows: all in detail, else those that are marked or have traffic."""
    if verdict.detailed:
        return list(verdict.lines)
    marked = [line for line in verdict.lines if line.marked]
    if verdict.outcome is Outcome.PASS:
        return []
    return marked or [line for line in verdict.lines if line.accesses]


def _lines(verdict: Verdict) -> list[str]:
    lines = shown_lines(verdict)
    width = max((len(str(line.number)) for line in lines), default=0)
    out = []
    for line in lines:
        number = f"{line.number:>{width}}"
        if verdict.detailed:
            start = f"   {'>' if line.marked else ' '}{number}   {line.code}"
        else:
            start = f"    line {number}   {line.code.strip()}"
        out.append(start.rstrip())
        if shows_traffic(verdict):
            out += _accesses(line.accesses, width + 12)
    return out


def _accesses(accesses: Sequence[Access], indent: int) -> list[str]:
    names = [f"{access.direction:<5} {access.array}" for access in accesses]
    width = max(map(len, names), default=0)
    return [
        f"{' ' * indent}{name:{width}}  {bytes_text(access.requested_bytes):>9}, {pattern(access)}"
        for name, access in zip(names, accesses, strict=True)
    ]


def pattern(access: Access) -> str:
    """`4 sectors a request, reuse 1`."""
    reuse = f"reuse {ratio_text(access.reuse)}"
    if access.compiled:
        reuse += f"; {access.compiled}"
    if access.sectors_a_request is None:
        return reuse
    sectors = ratio_text(access.sectors_a_request)
    return f"{sectors} {'sector' if sectors == '1' else 'sectors'} a request, {reuse}"


def _entries(entries: Sequence[Entry]) -> list[str]:
    if not entries:
        return []
    width = max(len(entry.key) for entry in entries)
    got = max(len(entry.got) for entry in entries)
    out = []
    for entry in entries:
        symbol, word = entry.result
        out.append(f"    {symbol} {word:<5}  {entry.key:{width}}  {entry.got:>{got}}".rstrip())
        out += wrapped(entry.remark, " " * 13)
    return out
