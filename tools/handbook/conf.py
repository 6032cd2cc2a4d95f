"""Sphinx's settings. Nothing here asks anything of another machine: system fonts, no badges."""

import re
from typing import Any

from deniable import __version__

project = "Deniable"
copyright = "The Deniable developers, Apache-2.0"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"Deniable {version}"
html_copy_source = html_show_sourcelink = False
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}

myst_heading_anchors = 4  # as in the links of the guides: page.md#a-heading
default_role = "code"  # docstrings put code into single backticks
napoleon_google_docstring = False
# Types are words there, "array of shape (n,)": none of them is a link.
napoleon_use_param = napoleon_use_rtype = False
napoleon_use_ivar = True
suppress_warnings = ["ref.python"]  # of what :vartype: takes for one
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 80

NO_CODE = re.compile(r"(^ *(?:>>>|\.\.\.) .*$|`+[^`]*`+)|[|*](?=\S)", re.MULTILINE)
"""Code and examples are let alone; bars are absolute values, stars products or arguments."""


def as_written(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Take signs of a formula in a docstring for what they are in plain text."""
    lines[:] = NO_CODE.sub(_as_written, "\n".join(lines)).split("\n")


def _as_written(found: re.Match[str]) -> str:
    code, after = found[1], found.string[found.end() : found.end() + 1]
    if not code:
        return rf"\{found[0]}"
    # `values`(report): code may end there.
    return rf"{code}\ " if code.endswith("`") and re.match(r"[\w(\[]", after) else code


def setup(app: Any) -> None:
    """Have Sphinx read docstrings so, before sections become lists."""
    app.connect("autodoc-process-docstring", as_written, priority=100)
