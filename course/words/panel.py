"""A verdict as an HTML panel for notebooks.

It stands in JupyterLab's light and dark themes, in Colab and in nbgrader's feedback: text and
background are the page's own, colour only repeats what a symbol and a word say, tables have
headers and captions, and everything that a learner wrote is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from course import exercises
from course.engine import stated_gpu
from course.engine.faults import Outcome
from course.plain.text import unstacked
from course.words.verdict import (
    TOLD_BY_TABLE,
    Entry,
    Row,
    SourceLine,
    Verdict,
    by_programs,
    bytes_text,
    of_budget_text,
    ratio_text,
    row_name,
    shown_lines,
    shows_extras,
    shows_points,
    shows_traffic,
)

#: White words on these have a contrast of at least 4.5 to 1.
_GREEN, _RED, _AMBER, _GREY = "#1b7f4b", "#b3261e", "#8a5a00", "#5f6368"
_COST = (
    Outcome.TOO_MUCH_TRAFFIC,
    Outcome.TOO_DIVERGENT,
    Outcome.BANK_CONFLICTS,
    Outcome.TOO_SERIAL,
    Outcome.TOO_MANY_RESOURCES,
)
LONGEST_CAPTION_LINE = 60
_TABLE = "border-collapse:collapse;margin:8px 0;font-size:0.95em"
_CAPTION = "text-align:left;caption-side:top;font-weight:600;padding:2px 0;color:inherit"
_CELL = "padding:2px 10px;text-align:{align};border-bottom:1px solid rgba(128,128,128,0.35)"
#: A long line of code wraps, down to a width at which most lines still stand whole.
_CODE = "font-family:monospace;white-space:pre-wrap;overflow-wrap:anywhere;min-width:20em"
#: A table that is wider than the page is moved in its own frame: no column is cut off.
_FRAME = '<div style="overflow-x:auto;max-width:100%">{}</div>'


def html_panel(verdict: Verdict) -> str:
    """The whole panel. `role="group"` with a label, so that a screen reader announces it."""
    color = _color(verdict.outcome)
    title = f"{verdict.exercise}: {verdict.headline}"
    out = [
        f'<div role="group" aria-label="{escape(title)}" style="border-left:5px solid {color};'
        'padding:6px 14px;margin:6px 0;max-width:68em;line-height:1.45;overflow-wrap:break-word">',
        _head(verdict, color),
    ]
    if verdict.message and verdict.message_id not in TOLD_BY_TABLE:
        out.append(f'<p style="margin:6px 0">{code_html(verdict.message)}</p>')
    if shows_traffic(verdict):
        out.append(_traffic_table(verdict.rows, "programs" if by_programs(verdict) else "warps"))
    out.append(_lines(verdict))
    if verdict.entries:
        out.append(_entry_table(verdict.entries))
    if shows_extras(verdict):
        also = "; ".join(map(str, verdict.extras))
        out.append(f'<p style="margin:6px 0">Also measured: {escape(also)}.</p>')
    out += [f'<p style="margin:6px 0">{_step_html(step)}</p>' for step in verdict.next_steps]
    out.append(_foot(verdict))
    return unstacked("".join([*out, "</div>"]))


def table_html(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int] = (),
    code: Sequence[int] = (),
    wrap: Sequence[int] = (),
    bold: Sequence[int] = (),
) -> str:
    """A table with a caption and headers; every cell escaped, a newline starts a new line.

    Args:
        right: columns of numbers, set to the right.
        code: columns set in a fixed width, spaces kept.
        wrap: columns whose text may take several lines.
        bold: rows that stand out, in the columns of one line.
    """

    def style_of(column: int) -> str:
        style = _CELL.format(align="right" if column in right else "left")
        if column in code:
            return f"{style};{_CODE}"
        return f"{style};min-width:9em" if column in wrap else f"{style};white-space:nowrap"

    heads = "".join(
        f'<th scope="col" style="{style_of(k)}">{escape(text)}</th>' for k, text in enumerate(head)
    )
    body = []
    for number, row in enumerate(rows):
        weight = ";font-weight:700" if number in bold else ""
        cells = []
        for k, text in enumerate(row):
            style = style_of(k) + ("" if k in wrap else weight)
            tag, scope = ("th", ' scope="row"') if k == 0 else ("td", "")
            if k == 0 and not weight:
                style += ";font-weight:400"
            inside = escape(text).replace("\n", "<br>")
            cells.append(f'<{tag}{scope} style="{style}">{inside}</{tag}>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    one_line = ";white-space:nowrap" if len(caption) <= LONGEST_CAPTION_LINE else ""
    return _FRAME.format(
        f'<table style="{_TABLE}"><caption style="{_CAPTION}{one_line}">{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def _color(outcome: Outcome) -> str:
    if outcome is Outcome.PASS:
        return _GREEN
    if outcome in (Outcome.NOT_ATTEMPTED, Outcome.NOT_MEASURED):
        return _GREY
    return _AMBER if outcome in _COST else _RED


def _head(verdict: Verdict, color: str) -> str:
    badge = f"{verdict.symbol} {verdict.outcome.label}"
    case = f'<span style="opacity:0.85">{escape(verdict.case_text)}</span>'
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:4px 12px;align-items:baseline">'
        f'<span style="background:{color};color:#ffffff;border-radius:3px;padding:1px 8px;'
        f'font-weight:700">{escape(badge)}</span>'
        f"<strong>{escape(verdict.exercise)}: {escape(verdict.headline)}</strong>"
        f"{case if verdict.case_text else ''}</div>"
    )


def _traffic_table(rows: Sequence[Row], who: str) -> str:
    notes = any(row.note for row in rows)
    head = ("access", "requested", "budget", "least", "of budget", *(("note",) if notes else ()))
    cells = []
    for row in rows:
        budget = "none" if row.budget_bytes is None else bytes_text(row.budget_bytes)
        over = " ✗ over" if row.over else ""
        cells.append(
            (
                row_name(row),
                bytes_text(row.requested_bytes),
                budget,
                bytes_text(row.least_bytes),
                of_budget_text(row.ratio) + over,
                *((row.note,) if notes else ()),
            )
        )
    return table_html(
        f"Global memory: what {who} ask for (sectors x 32 bytes)",
        head,
        cells,
        right=(1, 2, 3, 4),
        wrap=(5,),
        bold=[number for number, row in enumerate(rows) if row.over],
    )


def _lines(verdict: Verdict) -> str:
    """The lines to look at; where traffic is told, the whole kernel with it."""
    if shows_traffic(verdict) and verdict.lines:
        table = _line_table(verdict.lines, measured=True)
        if verdict.detailed or verdict.outcome is not Outcome.PASS:
            return table
        summary = '<summary style="display:list-item">Where the traffic goes</summary>'
        return f'<details style="margin:4px 0">{summary}{table}</details>'
    lines = shown_lines(verdict)
    return _line_table(lines, measured=False) if lines else ""


def _line_table(lines: Sequence[SourceLine], measured: bool) -> str:
    head = ["line", "code"]
    accesses = [access for line in lines for access in line.accesses]
    requests = any(access.sectors_a_request is not None for access in accesses)
    compiled = any(access.compiled for access in accesses)
    if measured:
        head += ["access", "bytes", *(["sectors a request"] if requests else []), "reuse"]
        head += [f"by warps (sm_{stated_gpu.TARGET})"] * compiled
    cells = []
    for line in lines:
        mark = "▸ " if line.marked else ""
        row = [f"{mark}{line.number}", line.code]
        if measured:
            row += [
                "\n".join(column)
                for column in (
                    [f"{a.direction} {a.array}" for a in line.accesses],
                    [bytes_text(a.requested_bytes) for a in line.accesses],
                    *([[_sectors(a.sectors_a_request) for a in line.accesses]] * requests),
                    [ratio_text(a.reuse) for a in line.accesses],
                    *([[a.compiled for a in line.accesses]] * compiled),
                )
            ]
        cells.append(row)
    marked = [number for number, line in enumerate(lines) if line.marked]
    caption = "Your kernel, line by line" if measured else "Your lines"
    if marked:
        caption += " (▸ marks where to look)"
    # where accesses stand one below the other, each keeps to its line
    alone = measured and compiled and all(len(line.accesses) < 2 for line in lines)
    wrap = (len(head) - 1,) * alone
    return table_html(caption, head, cells, right=(3, 4, 5), code=(1,), wrap=wrap, bold=marked)


def _sectors(value: float | None) -> str:
    return "" if value is None else ratio_text(value)


def _entry_table(entries: Sequence[Entry]) -> str:
    rows = [(e.key, " ".join(e.result), e.got, e.question, e.remark) for e in entries]
    wrong = [number for number, entry in enumerate(entries) if not entry.right]
    head = ("entry", "result", "your answer", "question", "remark")
    return table_html("Your entries", head, rows, wrap=(2, 3, 4), bold=wrong)


def _foot(verdict: Verdict) -> str:
    parts = []
    if shows_points(verdict):
        parts.append(f"<strong>{escape(verdict.points_text)}</strong>")
    if verdict.commands:
        commands = " · ".join(f"<code>{escape(command)}</code>" for command in verdict.commands)
        parts.append(f"Next: {commands}")
    return f'<div style="margin:6px 0 2px">{" &nbsp; ".join(parts)}</div>' if parts else ""


def _step_html(step: str) -> str:
    """A lesson's notebook is a link to it: it lies beside the one that is open."""
    text = code_html(step)
    for stem in exercises.STEMS:
        page = f"{exercises.notebook(stem)}.ipynb"
        text = text.replace(page, f'<a href="{page}">{page}</a>')
    return text


def code_html(text: str) -> str:
    """Escaped text in which `backticks` become code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(
        f"<code>{escape(part)}</code>" if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )
