"""``deniable compare``: utility against exact epsilon, for the owner of a file."""

import argparse
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deniable.analysis import as_text
from deniable.cli.answers import aligned
from deniable.cli.outputs import COMPARISON, refuse_overwriting
from deniable.cli.parser import columns_text
from deniable.cli.plan import prior_files, priors
from deniable.errors import DeniableError
from deniable.files import write_table
from deniable.plans import BEST, compare
from deniable.schema import read_schema

TABLE = "compare.csv"
OF_NUMBERS = (
    "These are errors of unbiased estimates. For a number, best is a square wave: the randomized "
    "values are numbers, and their distribution is estimated with smoothing, which is not counted."
)


def run(options: argparse.Namespace) -> None:
    """Compare mechanisms by the `options`: print a table and recommendations, and write them."""
    if options.out:  # so that a missing extra is reported before the computation
        from deniable.display import save  # noqa: PLC0415 - rarely needed, slow to import
        from deniable.plans import draw  # noqa: PLC0415
    schema = read_schema(options.schema)
    if options.out and options.out.exists() and not options.out.is_dir():
        raise DeniableError(f"{options.out}: a file, not a folder; name another folder")
    inputs = [options.file, options.schema, *prior_files(options.prior)]
    refuse_overwriting(options.out and options.out / TABLE, inputs, "comparison", COMPARISON)
    found = compare(
        options.file,
        schema,
        options.epsilon,
        options.table or (),
        clusters=options.cluster or (),
        responses=options.responses,
        prior=priors(schema, options.prior) if options.public or options.prior else None,
        progress=show_progress,
    )
    if options.out:
        figure = draw(found.table)
        write_table(options.out / TABLE, found.table)
        save(figure, options.out / "compare.svg", options.out / "compare.png")
    shown = found.table.drop(columns="epsilon")
    if not shown["clusters"].any():
        shown = shown.drop(columns="clusters")
    order = ["mechanism", *(name for name in shown.columns if name != "mechanism")]
    print(f"{found.records:,} records; root mean squared errors of proportions by randomization")
    rows = [[as_text(value) for value in row] for row in shown[order].to_numpy().tolist()]
    print("\n".join(aligned(order, rows)))
    numeric = any(column.on_grid for column in schema.randomized)
    print(*found.repeated, *([OF_NUMBERS] if numeric else ()), sep="\n")
    print("", "Recommended, by the least error:", sep="\n")
    best = found.table[found.table["recommended"]].to_dict("records")
    for why, way in zip(found.recommendation, best, strict=True):
        print(why, f"  {_command(way, options)}", sep="\n")
    print()
    print(*found.not_compared, found.chosen_from, sep="\n")


def show_progress(epsilon: float) -> None:
    """Print the `epsilon` of the next comparison to a terminal."""
    if sys.stderr.isatty():
        print(f"comparing at epsilon {epsilon:g}", file=sys.stderr)


def _command(way: Mapping[Any, Any], options: argparse.Namespace) -> str:
    tables = options.table or []
    # By default the tables are compared as clusters.
    clusters = options.cluster or (tables if way["clusters"] else [])
    words = ["deniable", "plan", str(options.schema), "--epsilon", f"{way['epsilon']:.12g}"]
    words += way["split"].split() if way["split"].startswith("ask ") else ["split", way["split"]]
    words[-2] = f"--{words[-2]}"
    words += ["--mechanism", way["mechanism"]] if way["mechanism"] != BEST else []
    return shlex.join([*words, *option_words(options, tables, clusters), "--out", "plan.json"])


def option_words(
    options: argparse.Namespace, tables: Iterable[Sequence[str]], clusters: Iterable[Sequence[str]]
) -> list[str]:
    """Return the words of `tables`, `clusters` and other `options` in a command for a plan."""
    words = []
    for option, given in (("--table", tables), ("--cluster", clusters)):
        words += [word for each in given for word in (option, columns_text(each))]
    words += [word for each in options.prior or [] for word in ("--prior", each)]
    return [*words, *(["--responses", options.responses] if options.responses != "any" else [])]
