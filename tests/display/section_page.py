"""A section of the report by itself, as the page shows it."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from jinja2 import BytecodeCache

from reproduction.report.render import environment
from reproduction.study.pages import Origin


def render_section(
    template: str,
    content: Mapping[str, Any],
    tables: Mapping[str, pd.DataFrame],
    origin: Origin,
    compiled: BytecodeCache,
    *,
    surrogate: bool = False,
) -> str:
    """Return a section, all of whose tables have one origin."""
    templates = environment(compiled)
    templates.globals.update(
        tables=tables,
        drawings={},
        made_by=dict.fromkeys(tables, origin),
        folders={},
        printed=(),
        surrogate=surrogate,
    )
    return templates.get_template(f"{template}.html.j2").render(content)
