"""Settings of Sphinx. The site sends no requests to other hosts: system fonts, no badges."""

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
# Types in docstrings are words, such as "array of shape (n,)", and not links.
napoleon_use_param = napoleon_use_rtype = False
napoleon_use_ivar = True
suppress_warnings = ["ref.python"]  # from :vartype:, which takes words for references
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 80

NO_CODE = re.compile(r"(^ *(?:>>>|\.\.\.) .*$|`+[^`]*`+)|[|*](?=\S)", re.MULTILINE)
"""Code and examples do not change; bars are absolute values, stars products or arguments."""


def as_written(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Escape the signs of formulas in a docstring, so that they remain plain text."""
    lines[:] = NO_CODE.sub(_as_written, "\n".join(lines)).split("\n")


def _as_written(found: re.Match[str]) -> str:
    code, after = found[1], found.string[found.end() : found.end() + 1]
    if not code:
        return rf"\{found[0]}"
    # `values`(report): code may end before a bracket.
    return rf"{code}\ " if code.endswith("`") and re.match(r"[\w(\[]", after) else code


def setup(app: Any) -> None:
    """Register `as_written`, to run before sections become lists."""
    app.connect("autodoc-process-docstring", as_written, priority=100)
