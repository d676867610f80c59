"""Sphinx's settings (`make site`)."""

from pathlib import Path

_BUILD = Path(__file__).resolve().parents[2] / ".build"

project = "GPU kernels, byte by byte"
project_copyright = "MIT licence"
extensions = ["myst_nb", "sphinx.ext.napoleon", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = project
html_static_path = ["static"]
html_css_files = ["phone.css"]
html_copy_source = False
html_show_sphinx = False
# in a docstring `this` is code, as in Markdown
default_role = "literal"
autodoc_typehints = "none"  # what a reader types is said in words
myst_heading_anchors = 3
myst_enable_extensions: list[str] = []  # a dollar is a dollar: no lesson holds a formula in TeX
# The notebooks are run as a student gets them: pictures and measurements show, no solution does.
nb_execution_mode = "cache"
nb_execution_cache_path = str(_BUILD / "site-cache")
nb_execution_raise_on_error = True
nb_execution_timeout = 300  # seconds for a cell; the slowest took 12 on a laptop that was busy
nb_merge_streams = True
