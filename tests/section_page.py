"""A section of the report by itself, as the page shows it."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined, select_autoescape

from deniable.report_page import SIGN, Origin, between, joined, percent, plain, short, thousands


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
    environment = Environment(
        loader=PackageLoader("deniable"),
        autoescape=select_autoescape(["html", "j2"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=compiled,
    )
    filters = (short, percent, thousands, plain, between, joined)
    environment.filters.update({each.__name__: each for each in filters})
    environment.globals.update(
        short=short,
        percent=percent,
        plain=plain,
        tables=tables,
        svg={},
        made_by=dict.fromkeys(tables, origin),
        folders={},
        printed=(),
        sign=SIGN,
        surrogate=surrogate,
    )
    return environment.get_template(f"{template}.html.j2").render(content)
