"""The page on which a data owner chooses an epsilon: one file of HTML."""

from collections.abc import Sequence

from deniable.display import rendered, short
from deniable.plans import ExploredPlan
from deniable.release.shuffled import fold_text, shuffled_file


def explore_page(
    settings: Sequence[ExploredPlan], schema: str = "survey.yaml", options: str = ""
) -> str:
    """Return the page of HTML, without external files, of the `settings` that `explore` returns.

    The commands on the page have the name of the file of the `schema` and further `options`. Raises
    `MissingExtraError` without jinja2.
    """
    return rendered(
        "deniable.release",
        "explore.html.j2",
        {"short": short, "fold": fold_text},
        settings=settings,
        start=min(settings, key=lambda each: abs(each.epsilon - 1)),
        shuffled_file=shuffled_file,
        schema=schema,
        options=options,
    )
