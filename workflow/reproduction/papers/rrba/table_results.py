"""Compute tables from simulated distances: Tables 3 to 5 of [rrba], and at equal ε."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from deniable.display import joined, rows_of
from deniable.errors import DeniableError
from deniable.rrba import claimed_epsilon

from reproduction.papers.rrba.catalog import PRINTED_TRIALS, TABLE_3_KEYS
from reproduction.papers.rrba.names import EVERY, MAIN_READINGS, dataset_of
from reproduction.study import below, compare, where

INTERVAL = ("ci_low", "ci_high", "replicates")
TABLE_COLUMNS = (
    *("metric", "dataset", "k", "method", "p", "epsilon_claimed", "epsilon_exact"),
    *("published", "regenerated", "subset_min", "subset_max", *INTERVAL, "data_source", "verdict"),
    *("main", "file", "reading", "trust", "epsilon_theorem", "cells"),
    *("subsets", "subsets_agreeing", "printed_is"),
)
EQUAL_COLUMNS = (
    *("metric", "dataset", "k", "epsilon", "method", "reading", "trust", "epsilon_exact"),
    *("mean", "subset_min", "subset_max", *INTERVAL),
    *("subsets", "subsets_lowest", "verdict", "data_source", "file"),
)
RESAMPLED = "_resampled"
_CELL = ["file", "k", "p", "epsilon_claimed"]
_OUTPUT = ["metric", "method", "reading", "trust"]


def table_3(results: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Compare `results` of `reproduction.papers.rrba.independence.Table3` with `published` rates.

    All methods with Laplace noise are compared with the published one. We chose n and the effect,
    which the text does not state, to fit the rates of RRBA. So the ``verdict`` on these rates is
    "fitted", whether they agree or not. The columns are `TABLE_3_KEYS` and those of `compare`.
    """
    noise = results["method"].str.startswith("laplace")
    named = results.assign(printed_as=results["method"].mask(noise, "laplace"))
    published = published.rename(columns={"method": "printed_as"})
    table = compare(named, published, [*TABLE_3_KEYS, "printed_as"], PRINTED_TRIALS)
    chosen = (table["method"] == "rrba") & table["published"].notna()
    table["verdict"] = table["verdict"].mask(chosen, "fitted")
    return table.drop(columns="printed_as")


def shown_settings(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `table` 3 with the most sampled tables, without the rule of five.

    If all rows have a rule for small cells, return the rows with the first rule.
    """
    rule = max(table["small_cells"], key=lambda name: name == "ignore")
    shown = where(table, small_cells=rule)
    return where(shown, sampled_tables=shown["sampled_tables"].max())


def first_designs(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a `table` 3 with the first n and effect of each k: 43 records per cell."""
    at = ["k", "n", "effect"]
    return table.merge(table[at].drop_duplicates("k"), on=at)


def power_with_rule(table: pd.DataFrame) -> str:
    """Return the power of RRBA by k, ours and published, with the published rule for small cells.

    The rows are `first_designs` of a `table` 3, with the fewest sampled tables.
    """
    own = where(table, method="rrba", hypothesis="H1", small_cells="table")
    own = first_designs(where(own, sampled_tables=own["sampled_tables"].min()) if len(own) else own)
    ours, published = ([f"{x:.0f}" for x in own[name]] for name in ("regenerated", "published"))
    return f"{joined(ours)} % (published {joined(published)})" if ours else ""


def printed_table(results: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Compare the `results` of `PrintedTables` with `published` values.

    All measured tables and files of a data set are compared with one published value.
    `TABLE_COLUMNS` are:

    - ``regenerated`` and its ``verdict``: the mean over sets of attributes;
    - ``subset_min``, ``subset_max``: the smallest and the largest mean of a set;
    - ``subsets_agreeing``: the number of sets with a mean that agrees, because the text names none;
    - ``printed_is``: whether the published value is "below", "within" or "above" the range of sets;
    - ``epsilon_exact``: the largest of a set; ``epsilon_theorem``: by Theorem 4.1;
    - ``main``: True for one row per published value, which comes first: the file drawn from the
      network, with the released table for l2 and the projected table otherwise.
    """
    named = results.assign(dataset=results["file"].map(dataset_of))
    keys = ["dataset", *_CELL, *_OUTPUT, "subset", "cells", "epsilon_exact"]
    compared = compare(named, published, keys, PRINTED_TRIALS)
    agrees = compared["verdict"] == "agrees"
    table = _with_range(compared, [*_CELL, *_OUTPUT], subsets_agreeing=agrees)
    keep = table["p"].where(table["method"] == "rrba")
    table["epsilon_theorem"] = keep.map(claimed_epsilon, na_action="ignore")
    printed = table["published"]
    cases = [printed.isna(), printed < table["subset_min"], printed > table["subset_max"]]
    table["printed_is"] = np.select(cases, ["not published", "below", "above"], "within")
    readings = table["metric"].map(MAIN_READINGS)
    table["main"] = (table["reading"] == readings) & ~table["file"].str.endswith(RESAMPLED)
    first = table.sort_values("main", ascending=False, kind="stable", ignore_index=True)
    return first[list(TABLE_COLUMNS)]


def _with_range(table: pd.DataFrame, keys: list[str], **counted: "pd.Series[bool]") -> pd.DataFrame:
    """Return the rows of means over sets, with the range over sets, and numbers of `counted`."""
    means = table[table["subset"] == EVERY]
    each = table.assign(**counted)[table["subset"] != EVERY].groupby(keys, sort=False)
    of_means: Any = {"subset_min": "min", "subset_max": "max", "subsets": "size"}
    ranges = each["regenerated"].agg(**of_means).join(each[list(counted)].sum())
    merged = means.merge(ranges.reset_index(), on=keys, how="left", validate="one_to_one")
    if merged["subsets"].isna().any():
        raise DeniableError("results lack the single sets of attributes; simulate them again")
    return merged


def equal_table(results: pd.DataFrame, printed: pd.DataFrame | None = None) -> pd.DataFrame:
    """Compare methods at the same exact ε, from `results` of `EqualEpsilon`.

    The paper has no such table, so `printed` is None. The columns are `EQUAL_COLUMNS`.
    ``verdict`` is "beaten" if another local method has a significantly lower mean (Holm, 5 % over
    the comparisons of a row), otherwise "unbeaten". ``subsets_lowest`` is the number of sets where
    no local method has a lower mean.
    """
    group = ["file", "k", "epsilon", "metric", "reading"]
    local = results.assign(lowest=results["regenerated"].where(results["trust"] == "local"))
    lowest = local.groupby([*group, "subset"])["lowest"].transform("min")
    keys, is_lowest = ["file", "k", "epsilon", *_OUTPUT], results["regenerated"] <= lowest
    table = _with_range(results, keys, subsets_lowest=is_lowest)
    table = table.assign(dataset=table["file"].map(dataset_of), median=table["regenerated"])
    verdicts = {}
    for _, part in table.groupby(group, sort=False):
        rivals = rows_of(where(part, trust="local"))
        for place, row in part.to_dict("index").items():
            others = [(other, row) for other in rivals if other["method"] != row["method"]]
            lower = replace(below(others, ""), kind="some")
            verdicts[place] = "beaten" if lower.support else "unbeaten"
    table["verdict"] = pd.Series(verdicts)
    return table.rename(columns={"regenerated": "mean"})[list(EQUAL_COLUMNS)]
