"""The page on which a data owner chooses an epsilon: one file of HTML."""

import math
from collections.abc import Sequence

from deniable.display import at_most, short
from deniable.errors import from_extras
from deniable.plans.comparison.exploring import ExploredPlan

with from_extras():
    import jinja2


def explore_page(
    settings: Sequence[ExploredPlan], schema: str = "survey.yaml", options: str = ""
) -> str:
    """Return the page of HTML, without external files, of the `settings` that `explore` returns.

    The commands on the page have the name of the file of the `schema` and further `options`. Raises
    `MissingExtraError` without jinja2.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deniable.plans.comparison"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(short=short, at_most=at_most, exp=math.exp)
    return environment.get_template("explore.html.j2").render(
        settings=settings,
        start=min(settings, key=lambda each: abs(each.epsilon - 1)),
        schema=schema,
        options=options,
    )
