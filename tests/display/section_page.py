"""A section of the report by itself, as the page shows it."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from jinja2 import BytecodeCache

from reproduction.report.render import environment


def render_section(
    template: str,
    content: Mapping[str, Any],
    tables: Mapping[str, pd.DataFrame],
    compiled: BytecodeCache,
    *,
    surrogate: bool = False,
) -> str:
    """Return a section with its `content`."""
    templates = environment(compiled)
    templates.globals.update(
        tables=tables,
        drawings={},
        made_by=dict.fromkeys(tables, "script.py"),
        folders={},
        surrogate=surrogate,
    )
    return templates.get_template(f"{template}.html.j2").render(content)
