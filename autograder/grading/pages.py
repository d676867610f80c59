"""nbgrader's pages, feedback and formgrader, behind walls of their own.

What a student wrote comes into them as text already (`autograder.grading.autograded`). Here each
page gets
a Content-Security-Policy, so that a feedback page runs nothing and neither kind fetches anything
from elsewhere; names are escaped, which nbgrader's templates do not do; no TeX is typeset, since
the lessons have none; and of much code only a part has colours.
"""

from __future__ import annotations

import functools
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
#: Pygments takes time by the square of the length for some texts (6 s for 20,000 characters of
#: blanks and line ends), and each word in a colour is an element of the page. A cell that is
#: longer, and what comes after so many characters of a page, is shown without colours.
LONGEST_COLOURED = 4_000
MOST_COLOURED = 40_000
_NO_MATHJAX = jinja2.DictLoader({"mathjax.html.j2": "{% macro mathjax(url='') %}{% endmacro %}"})
_CODE = '<div class="highlight"><pre>{}\n</pre></div>'


class Page(HTMLExporter):
    """nbconvert's exporter of HTML, as nbgrader uses it for both kinds of pages."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.extra_loaders: list[Any] = [_NO_MATHJAX, *super().extra_loaders]
        self.filters: dict[str, Any] = {"highlight_code": self._highlighted, **super().filters}
        self._python = Highlight2HTML(pygments_lexer="python3", parent=self)
        self._left = 0

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **more: Any
    ) -> tuple[str, dict[str, Any]]:
        """The page, with its policy before all else."""
        self._left = MOST_COLOURED
        known, policy = dict(resources or {}), FEEDBACK_POLICY
        if "submission_id" in known:
            policy = FORMGRADER_POLICY
            known = {k: escape(v) if isinstance(v, str) else v for k, v in known.items()}
        html, made = super().from_notebook_node(nb, known, **more)
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        before, head, after = html.partition("<head>")
        return (f"{before}{head}{meta}{after}" if head else f"{meta}{html}"), made

    def _highlighted(self, source: str, **_: Any) -> str:
        """Code as HTML. A magic's word chooses no other language's colours."""
        if len(source) > min(LONGEST_COLOURED, self._left):
            return _CODE.format(escape(source))
        self._left -= len(source)
        html: str = self._python(source)
        return html


def install() -> None:
    """Has nbgrader make its pages so: both places name their exporter in the code."""
    import nbgrader.converters.generate_feedback as feedback
    import nbgrader.server_extensions.formgrader.formgrader as formgrader

    feedback.HTMLExporter = formgrader.HTMLExporter = Page
    formgrader.Environment = functools.partial(jinja2.Environment, autoescape=True)
