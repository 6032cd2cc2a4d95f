"""The page on which a data owner chooses an epsilon: one file of HTML."""

from collections.abc import Sequence

from deniable.display import short
from deniable.errors import from_extras
from deniable.plans import ExploredPlan
from deniable.release.shuffled import fold_text, shuffled_file


def explore_page(
    settings: Sequence[ExploredPlan], schema: str = "survey.yaml", options: str = ""
) -> str:
    """Return the page of HTML, without external files, of the `settings` that `explore` returns.

    The commands on the page have the name of the file of the `schema` and further `options`. Raises
    `MissingExtraError` without jinja2.
    """
    with from_extras():
        import jinja2  # noqa: PLC0415 - only pages need it

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("deniable.release"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(short=short, fold=fold_text)
    return environment.get_template("explore.html.j2").render(
        settings=settings,
        start=min(settings, key=lambda each: abs(each.epsilon - 1)),
        shuffled_file=shuffled_file,
        schema=schema,
        options=options,
    )
