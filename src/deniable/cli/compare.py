"""``deniable compare`` and ``explore``: utility against exact epsilon, to choose one."""

import argparse
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from deniable.analysis import as_text
from deniable.cli.answers import aligned
from deniable.cli.outputs import COMPARISON, EXPLORATION, refuse_overwriting
from deniable.cli.parser import columns_text
from deniable.cli.plan import prior_files, priors, shares_of
from deniable.display import rendered, short
from deniable.errors import DeniableError, from_extras
from deniable.files import write_table, write_text
from deniable.plans import BEST, EPSILONS, ExploredPlan, compare, explore, points_text
from deniable.release import fold_text, shuffled_file
from deniable.schema import read_schema

TABLE = "compare.csv"
OF_NUMBERS = (
    "These are errors of unbiased estimates. For a number, best is a square wave: the randomized "
    "values are numbers, and their distribution is estimated with smoothing, which is not counted. "
    "Mechanisms with other randomized values are compared for the other columns."
)


def run(options: argparse.Namespace) -> None:
    """Run the command of the `options`."""
    {"compare": _compare, "explore": _explore}[options.command](options)


def _explore(options: argparse.Namespace) -> None:
    """Write a page of HTML, without external files, on which a data owner chooses an epsilon."""
    with from_extras():  # so that a missing extra is reported before the computation
        import jinja2  # noqa: F401, PLC0415 - slow to import
    inputs = [options.schema, *prior_files(options.prior)]
    refuse_overwriting(options.out, inputs, "page", EXPLORATION)
    schema = read_schema(options.schema)
    tables, clusters = options.table or (), options.cluster or ()
    found = explore(
        schema,
        options.records,
        options.epsilon or EPSILONS,
        tables,
        clusters=clusters,
        responses=options.responses,
        prior=priors(schema, options.prior),
        accept=options.accept or (),
        progress=_show_progress,
    )
    words = _option_words(options, tables, clusters)
    words += ["--accept", *options.accept] if options.accept else []
    stated = list(dict.fromkeys([*chain(*tables), *map(" x ".join, tables)]))
    page = rendered(
        "deniable.release",
        "explore.html.j2",
        {"short": short, "fold": fold_text, "points": points_text},
        settings=found,
        start=_start(found, stated),
        stated=stated,
        joint=shlex.join(["--split", "optimal", *_lists("--cluster", tables)]),
        shuffled_file=shuffled_file,
        schema=shlex.quote(options.schema.name),
        options=shlex.join(words),
    )
    write_text(options.out, page)
    print(f"written: {options.out}; open it in a browser")


def _start(found: Sequence[ExploredPlan], stated: Sequence[str]) -> ExploredPlan:
    """Return the plan near epsilon 1 with the least error of `stated` tables, if there are any."""

    def squares(each: ExploredPlan) -> float:
        errors = dict(zip(each.errors["columns"], each.errors["points"], strict=True))
        squared = float(sum(errors.get(name, np.inf) ** 2 for name in stated))
        return np.inf if np.isnan(squared) else squared

    return min(found, key=lambda each: (abs(each.epsilon - 1), squares(each)))


def _compare(options: argparse.Namespace) -> None:
    """Print a table and recommendations, and write them."""
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
        floor=options.floor,
        shares=shares_of(options.share),
        responses=options.responses,
        prior=priors(schema, options.prior) if options.public or options.prior else None,
        progress=_show_progress,
    )
    if options.out:
        figure = draw(found.table, found.errors)
        write_table(options.out / TABLE, found.table)
        save(figure, options.out / "compare.svg", options.out / "compare.png")
    tables = [" x ".join(table) for table in options.table or ()]
    errors = {"margins_points": "± columns", "pairs_points": "± pairs"}
    errors |= {f"points {label}": f"± {label}" for label in tables}
    about = ["mechanism", "exact_epsilon", "split", "clusters", "posterior_of_1_percent"]
    if not found.table["clusters"].any():
        about.remove("clusters")
    shown = found.table[[*about, *errors, "recommended"]].rename(columns=errors)
    print(f"{found.records:,} records; ± points of estimates with 95 % confidence, and root mean")
    print("squares of these for all columns and all pairs of columns")
    texts = shown.apply(lambda own: own.map(points_text if "±" in str(own.name) else as_text))
    print("\n".join(aligned(list(shown.columns), texts.to_numpy().tolist())))
    numeric = any(column.on_grid for column in schema.randomized)
    print(*found.repeated, *([OF_NUMBERS] if numeric else ()), sep="\n")
    print("", "Recommended, by the least error:", sep="\n")
    best = found.table[found.table["recommended"]].to_dict("records")
    for why, way, kinds in zip(found.recommendation, best, found.mechanisms, strict=True):
        print(why, f"  {_command(way, kinds, options)}", sep="\n")
    print()
    points = found.errors.set_index(["columns", "guess"]).groupby("epsilon", sort=False)["points"]
    by_column = pd.concat(dict(iter(points)), axis=1)
    print("Of the recommended plans, ± points of each column and table, and of a guess:")
    heads = ["columns", *(f"epsilon {epsilon:g}" for epsilon in by_column.columns), "guess"]
    rows = [
        (name, *map(points_text, own), points_text(guess))
        for (name, guess), own in zip(by_column.index, by_column.to_numpy(), strict=True)
    ]
    print(*aligned(heads, rows), "", *found.not_compared, found.chosen_from, sep="\n")


def _show_progress(epsilon: float) -> None:
    if sys.stderr.isatty():
        print(f"comparing at epsilon {epsilon:g}", file=sys.stderr)


def _command(way: Mapping[Any, Any], kinds: Mapping[str, str], options: argparse.Namespace) -> str:
    tables = options.table or []
    # By default the tables are compared as clusters.
    clusters = options.cluster or (tables if way["clusters"] else [])
    words = ["deniable", "plan", str(options.schema), "--epsilon", f"{way['epsilon']:.12g}"]
    words += way["split"].split() if way["split"].startswith("ask ") else ["split", way["split"]]
    words[-2] = f"--{words[-2]}"
    words += ["--mechanism", way["mechanism"]] if way["mechanism"] != BEST else []
    words += [word for each in kinds.items() for word in ("--mechanism", "=".join(each))]
    words += ["--floor", f"{options.floor:g}"] * (way["split"] == "optimal" and options.floor > 0)
    words += [word for each in options.share or [] for word in ("--share", each)]
    return shlex.join([*words, *_option_words(options, tables, clusters), "--out", "plan.json"])


def _option_words(
    options: argparse.Namespace, tables: Iterable[Sequence[str]], clusters: Iterable[Sequence[str]]
) -> list[str]:
    words = [*_lists("--table", tables), *_lists("--cluster", clusters)]
    words += [word for each in options.prior or [] for word in ("--prior", each)]
    return [*words, *(["--responses", options.responses] if options.responses != "any" else [])]


def _lists(option: str, lists: Iterable[Sequence[str]]) -> list[str]:
    return [word for names in lists for word in (option, columns_text(names))]
