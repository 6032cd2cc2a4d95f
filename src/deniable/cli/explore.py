"""``deniable explore``: a page on which a data owner chooses an epsilon."""

import argparse
import shlex

from deniable.cli.compare import option_words, show_progress
from deniable.cli.outputs import EXPLORATION, refuse_overwriting
from deniable.cli.plan import prior_files, priors
from deniable.errors import from_extras
from deniable.files import write_text
from deniable.plans import EPSILONS, explore
from deniable.release import explore_page
from deniable.schema import read_schema


def run(options: argparse.Namespace) -> None:
    """Write the page by the `options`."""
    with from_extras():  # so that a missing extra is reported before the computation
        import jinja2  # noqa: F401, PLC0415 - slow to import
    inputs = [options.schema, *prior_files(options.prior)]
    refuse_overwriting(options.out, inputs, "page", EXPLORATION)
    schema = read_schema(options.schema)
    found = explore(
        schema,
        options.records,
        options.epsilon or EPSILONS,
        options.table or (),
        clusters=options.cluster or (),
        responses=options.responses,
        prior=priors(schema, options.prior),
        accept=options.accept or (),
        progress=show_progress,
    )
    words = option_words(options, options.table or (), options.cluster or ())
    words += ["--accept", *options.accept] if options.accept else []
    name = shlex.quote(options.schema.name)
    write_text(options.out, explore_page(found, name, shlex.join(words)))
    print(f"written: {options.out}; open it in a browser")
