"""nbgrader's pages, feedback and formgrader, behind walls of their own.

What a student wrote comes into them as text already (`autograder.grading.autograded`). Here each
page gets a Content-Security-Policy, so that a feedback page runs nothing and neither kind fetches
anything from elsewhere; names are escaped, which nbgrader's templates do not do; no TeX is typeset,
since the lessons have none; and of much code only a part has colours. Feedback opens with the
verdicts, by exercise, in the place of nbgrader's list of test cells.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from html import escape
from typing import Any

import jinja2
from nbconvert.exporters import HTMLExporter
from nbconvert.filters import Highlight2HTML
from nbformat import NotebookNode

#: A feedback page is read: it has no script.
FEEDBACK_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)
#: The formgrader's own scripts stand partly in the page; what they fetch comes from its server.
FORMGRADER_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
#: A file beside a notebook is a picture in a page. Opened alone it is a page of no origin.
FILE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
#: Pygments takes time by the square of the length for some texts (6 s for 20,000 characters of
#: blanks and line ends), and each word in a colour is an element of the page. A cell that is
#: longer, and what comes after so many characters of a page, is shown without colours.
LONGEST_COLOURED = 4_000
MOST_COLOURED = 40_000
_NO_MATHJAX = jinja2.DictLoader({"mathjax.html.j2": "{% macro mathjax(url='') %}{% endmacro %}"})
#: The formgrader's script waits for the end of MathJax's work, and sets up its keys after that.
_NOTHING_TO_TYPESET = (
    '<script>window.MathJax = {Hub: {Startup: {signal: {Interest: f => f("End")}}}}</script>'
)
#: nbgrader's own template, `index.html.j2`, with the summary in its list's place.
_FEEDBACK = """\
{%- extends 'index.html.j2' -%}
{% block body %}{{ super() | with_summary(nb, resources) }}{% endblock %}
"""
_SUMMARY = jinja2.Environment(autoescape=True).from_string("""
<style>
#summary { width: auto; margin: 0; background: white; color: black; }
#summary td, #summary th { padding: 0.2em 1em 0.2em 0.5em; }
#summary td:last-child, #summary th:last-child { text-align: right; }
#summary .full td:nth-child(2) { color: #1a7f37; }
#summary .none td:nth-child(2) { color: #b3261e; }
</style>
<table id="summary" class="table table-condensed">
<tr><th>Exercise</th><th>Verdict</th><th>Points</th></tr>
{%- for one in rows %}
<tr class="{{ one.credit }}"><td><a href="#{{ one.id }}">{{ one.name }}</a></td>
<td>{{ one.verdict }}
{%- if one.name in comments %}, <a href="#comment-{{ one.name }}">comment</a>{% endif %}</td>
<td>{{ one.points }}</td></tr>
{%- endfor %}
{%- if penalty %}
<tr class="late-penalty"><td>Late submission</td><td></td><td>-{{ penalty }}</td></tr>
{%- endif %}
</table>
""")
_CODE = '<div class="highlight"><pre>{}\n</pre></div>'


class Page(HTMLExporter):
    """nbconvert's exporter of HTML, as nbgrader uses it for both kinds of pages."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.extra_loaders: list[Any] = [_NO_MATHJAX, *super().extra_loaders]
        self.filters: dict[str, Any] = {"highlight_code": self._highlighted, **super().filters}
        if self.template_name == "feedback":
            self.raw_template = _FEEDBACK
            self.filters["with_summary"] = _with_summary
        self._python = Highlight2HTML(pygments_lexer="python3", parent=self)
        self._left = 0

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **more: Any
    ) -> tuple[str, dict[str, Any]]:
        """The page, with its policy before all else."""
        self._left = MOST_COLOURED
        known, policy, script = dict(resources or {}), FEEDBACK_POLICY, ""
        if "submission_id" in known:
            policy, script = FORMGRADER_POLICY, _NOTHING_TO_TYPESET
            known = {k: escape(v) if isinstance(v, str) else v for k, v in known.items()}
        html, made = super().from_notebook_node(nb, known, **more)
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">{script}'
        before, head, after = html.partition("<head>")
        return (f"{before}{head}{meta}{after}" if head else f"{meta}{html}"), made

    def _highlighted(self, source: str, **_: Any) -> str:
        """Code as HTML. A magic's word chooses no other language's colours."""
        if len(source) > min(LONGEST_COLOURED, self._left):
            return _CODE.format(escape(source))
        self._left -= len(source)
        html: str = self._python(source)
        return html


def _with_summary(body: str, nb: NotebookNode, resources: dict[str, Any]) -> str:
    """The page with a line for each exercise in the place of nbgrader's list, which names none."""
    before, toc, after = body.partition('<div id="toc">')
    _, end, rest = after.partition("</div>")
    if not end:  # another nbgrader's template
        return body
    rows = [row for cell in nb.cells for row in _summed_up(cell)]
    marks = [cell.metadata.get("nbgrader", {}) for cell in nb.cells]
    comments = [known["grade_id"] for known in marks if known.get("comment")]
    late = resources["nbgrader"]["late_penalty"]
    table = _SUMMARY.render(rows=rows, comments=comments, penalty=_number(late) if late else "")
    return f"{before}{toc}{table}{end}{rest}"


def _summed_up(cell: NotebookNode) -> Iterator[dict[str, str]]:
    """A graded cell's line in the summary."""
    known = cell.metadata.get("nbgrader", {})
    if not known.get("grade"):
        return
    score, points = known.get("score") or 0.0, known.get("points") or 0.0
    verdict = next((output.metadata.get("verdict", "") for output in cell.get("outputs", ())), "")
    yield {
        "id": known["grade_id"],
        "name": known["grade_id"].removesuffix("_check"),
        "verdict": "written answer" if known.get("solution") else verdict,
        "points": f"{_number(score)} of {_number(points)}",
        "credit": "full" if score >= points > 0 else "none" if verdict and not score else "part",
    }


def _number(points: float) -> str:
    return f"{round(points, 2):g}"


def _of_a_file(handler: Any, path: str) -> None:
    """Headers with which the formgrader serves a file that stands beside a notebook."""
    handler.set_header("Content-Security-Policy", FILE_POLICY)
    handler.set_header("X-Content-Type-Options", "nosniff")


def install() -> None:
    """Has nbgrader make its pages so: both places name their exporter in the code."""
    import nbgrader.converters.generate_feedback as feedback
    import nbgrader.server_extensions.formgrader.formgrader as formgrader
    import nbgrader.server_extensions.formgrader.handlers as handlers

    feedback.HTMLExporter = formgrader.HTMLExporter = Page
    handlers.SubmissionFilesHandler.set_extra_headers = _of_a_file
    formgrader.Environment = functools.partial(jinja2.Environment, autoescape=True)
