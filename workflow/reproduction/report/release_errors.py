"""Tables and figures of the errors of test releases against their exact ε."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd

from deniable.display import Row, style
from deniable.errors import from_extras

from reproduction.report.contents import ReleaseFiles
from reproduction.report.own_sections import epsilon_of, of_all_records
from reproduction.study import texts, where

with from_extras():
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

COLUMNS = ("of", "estimates", "measure", "error", "expected_error", "number")
MARGINS, PAIRS = "marginal distributions", "pairs"
STATISTICS = {"means": "mean", "standard deviations": "standard deviation", "quantiles": "quantile"}
DISTANCES = ("protected", "consistent", "weights", "synthetic")
"""Columns of checks with total variation distances from the original proportions."""
EUCLIDEAN = {"l2_estimate": "unbiased", "l2_consistent": "consistent", "l2_nearest": "two-step"}
"""Columns of checks of collections with Euclidean distances, and the names of the estimates."""
INKS = ("#1f5fa8", "#c2571a", "#2e7d4f", "#8a3ca0", "#6b6f76", "#b31d28")
LOOKS = (("-", "o"), ("--", "s"), ("-.", "^"), ("-", "D"), ("--", "v"), ("-.", "P"))
"""Line style and marker of each combination of the further options."""
EXPECTED = style.look("#9aa1a9", ":", label="expected error", zorder=1)
KEYS_IN_ROW = 5
MEAN_OF_NORMAL = math.sqrt(2 / math.pi)  # mean absolute value of a standard normal variable


def release_errors(tables: Mapping[str, pd.DataFrame]) -> list[Row]:
    """Return the mean errors of one test release; one row with NaN if nothing can be compared.

    The `tables` are ``check``, ``margins`` and ``pairs`` of the release. Rows have ``of`` (such as
    marginal distributions, pairs, means), ``estimates``, ``measure``, ``error``, ``expected_error``
    and ``number`` (of averaged values). The expected error follows from stated standard errors if
    errors are normal; it is NaN without standard errors.
    """
    check = tables["check"]
    if "check" in check:
        found = _categories(check, tables["margins"])
    elif "l2_estimate" in check:
        found = _collected(check, tables["pairs"])
    else:
        found = _numbers(check) if "true" in check else iter(())
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in found if row[-1]]
    return rows or [dict.fromkeys(COLUMNS, np.nan)]


def _categories(check: pd.DataFrame, margins: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Yield total variation distances: half the sum of the absolute errors of proportions."""
    measure = "total variation distance"
    if "estimate" in margins:
        original = of_all_records(where(check, check="coverage"))[["columns", "values", "original"]]
        own = of_all_records(margins[margins["target"] == "file"])
        both = own.merge(original, left_on=["column", "value"], right_on=["columns", "values"])
        both["error"] = (both["estimate"] - both["original"]).abs() / 2
        both["expected"] = both["standard_error"] * MEAN_OF_NORMAL / 2
        sums = both.groupby("column")[["error", "expected"]].sum(min_count=1)
        yield MARGINS, "unbiased", measure, *sums.mean(), len(sums)
    distances = check[check["check"] == "distance"]
    pair = distances["columns"].str.contains(" x ", regex=False)
    for of, rows in ((MARGINS, distances[~pair]), (PAIRS, distances[pair])):
        for name in DISTANCES:
            if name in rows and (known := rows[name].dropna()).size:
                yield of, name, measure, known.mean(), np.nan, known.size


def _collected(check: pd.DataFrame, pairs: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Yield Euclidean distances between estimated and original tables."""
    own = pairs[pairs["target"] == "file"]
    expected = (own["standard_error"] ** 2).groupby(own["columns"]).sum(min_count=1) ** 0.5
    for name, estimates in EUCLIDEAN.items():
        known = check[name].dropna()
        by = expected.mean() if estimates == "unbiased" else np.nan
        yield PAIRS, estimates, "Euclidean distance", known.mean(), by, known.size


def _numbers(check: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Yield absolute errors of statistics of numbers, in standard deviations of the column."""
    statistic = check["statistic"]
    spread = check[statistic == "standard deviation"].set_index("attribute")["true"]
    scale = check["attribute"].map(spread[spread > 0])
    for of, name in STATISTICS.items():
        rows = statistic.str.startswith(name) & scale.notna()
        for column, estimates in (("released", "protected"), ("estimate", "adjusted for noise")):
            errors = ((check[column] - check["true"]).abs() / scale)[rows].dropna()
            stated = (check["standard_error_file"] / scale)[errors.index]
            adjusted = column == "estimate" and stated.notna().all()
            expected = stated.mean() * MEAN_OF_NORMAL if adjusted else np.nan
            yield of, estimates, "standard deviations", errors.mean(), expected, errors.size
    if "value" in check:
        for value in check["value"][statistic == "mean SSE"]:
            yield "records", "protected", "mean sum of squared errors", value, np.nan, 1


def sweep_table(
    settings: Mapping[str, Mapping[str, Any]], releases: Iterable[ReleaseFiles]
) -> pd.DataFrame:
    """Return the errors of all `releases` of a grid, with their `settings` and exact ε.

    The settings are from the grid, by name of the release. The columns are ``release``, the
    options, ``exact_epsilon`` (of a record), ``unit``, ``records``, the columns of
    `release_errors`, and ``data_source``.
    """
    rows: list[Row] = []
    for files in releases:
        document, release = files.document, files.document["release"]
        options = settings[release["name"]]
        texts_of = {k: json.dumps(v) for k, v in options.items() if isinstance(v, list | dict)}
        about = {"release": release["name"], **options, **texts_of}
        about["exact_epsilon"] = epsilon_of(document["epsilon"]["record"])
        about |= {"unit": document["unit"], "records": release["records"]}
        source = {"data_source": release["data_source"]}
        rows += [about | errors | source for errors in release_errors(files.tables)]
    return pd.DataFrame(rows)


@style.in_style
def plot_errors(table: pd.DataFrame, options: Sequence[str], name: str) -> Figure:
    """Plot errors against exact ε, from a `table` of `sweep_table`.

    The first of the `options` of the grid varies along a line, the others between lines. The title
    begins with `name`, the name of the sweep.
    """
    known = table[np.isfinite(table["exact_epsilon"]) & table["error"].notna()]
    lines = texts(known, lambda row: ", ".join(f"{name}: {row[name]}" for name in options[1:]))
    known = known.assign(line=lines)
    subjects = list(dict.fromkeys(known["of"])) or [""]
    inks = dict(zip(dict.fromkeys(known["estimates"]), cycle(INKS), strict=False))
    looks = dict(zip(dict.fromkeys(known["line"]), cycle(LOOKS), strict=False))
    of_estimates = {estimates: style.look(ink, label=estimates) for estimates, ink in inks.items()}
    keys = style.legend_keys(of_estimates, linewidth=2)
    if known["expected_error"].notna().any():
        keys += [EXPECTED | {"linewidth": 2}]
    if len(looks) > 1:
        keys += [style.look(style.INK, "none", mark, line) for line, (_, mark) in looks.items()]

    def panel(axis: Axes, _: str, subject: str) -> None:
        own = known[known["of"] == subject]
        for (estimates, line), points in own.groupby(["estimates", "line"], sort=False):
            options = style.look(inks[estimates], *looks[line], markersize=4.5)
            style.line_with_band(axis, points, "exact_epsilon", "error", **options)
            style.line_with_band(axis, points, "exact_epsilon", "expected_error", **EXPECTED)
        axis.set(yscale="log", ylabel=next(iter(own["measure"]), ""))
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: style.as_number(value)))
        axis.yaxis.set_minor_formatter(NullFormatter())

    below = 0.75 + 0.25 * -(-len(keys) // KEYS_IN_ROW)
    columns, size = dict(zip(subjects, subjects, strict=True)), (4.5, 0, 0, 3 + below)
    own, xlabel = (False, False), "exact ε of a record"
    figure, _ = style.panel_grid({"": ""}, columns, panel, size, xlabel, 10.8, own)
    left_out = table.loc[~np.isfinite(table["exact_epsilon"]), "release"].nunique()
    note = f"; {left_out} without a finite ε left out" if left_out else ""
    title = f"{name}: errors of {table['release'].nunique()} test releases"
    return style.finish(figure, title, f"each drawn once{note}", keys, KEYS_IN_ROW)
