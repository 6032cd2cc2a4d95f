"""What [multirr] claims in words (section 6.5), held against the tables of this run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

import pandas as pd

from reproduction.papers.multirr.claims import figures
from reproduction.study import (
    UNKNOWN,
    Claims,
    Comparison,
    Evidence,
    Outcome,
    Pair,
    Row,
    below,
    decide_claims,
    equivalent,
    listed,
    on_average,
    pooled,
    range_of,
    ratio,
    require_any,
    source_of,
)

SMALLER, LARGEST = (50, 100), 300
"""The T_v of the text: a claim that names them is not held against others."""

OF_TABLE_1, OF_TABLE_2 = Claims(), Claims()
table_1 = partial(OF_TABLE_1.claim, section="6.5, Table 1")
table_2 = partial(OF_TABLE_2.claim, section="6.5, Table 2", about="thresholds")


def _share(first: Row, second: Row) -> float:
    return ratio(first, second)["median"]


def _shares(pairs: Sequence[Pair]) -> str:
    return range_of([_share(*pair) for pair in pairs], ".2f")


@table_1(
    "As a rule the relative error grows with T_v.",
    "Adult: T_v = 50 below 300, on average over p",
    kind="average",
    about="thresholds",
)
def _grows_with_t_v(cells: figures.Cells) -> Outcome:
    pairs = {
        p: (cells["adult", p, SMALLER[0]], cells["adult", p, LARGEST])
        for p in sorted({p for _, p, _ in cells})
    }
    shares = {f"p = {p:g}": _share(second, first) for p, (first, second) in pairs.items()}
    figure = f"T_v = {LARGEST} / {SMALLER[0]}: {listed(shares)}"
    return on_average(require_any([*pairs.values()]), figure)


@table_1(
    "For small p a larger T_d is better, for larger p a smaller one.",
    "Algorithm 1 forms different clusters at different T_d, for some T_v; otherwise T_d makes no "
    "difference at all",
    kind="some",
    about="clusters",
)
def _least_dependence_matters(clusters: pd.DataFrame) -> Outcome:
    named = clusters.groupby(["t_v", "t_d"])["cluster"].agg("; ".join)
    different = {str(t_v): part.nunique() for t_v, part in named.groupby("t_v") if len(part) > 1}
    if not different:
        raise LookupError("two T_d at one T_v")
    # Where clusters differ, which are better is another question: nothing is known of it here.
    return Outcome(
        tuple(Comparison(-1.0) if number == 1 else UNKNOWN for number in different.values()),
        "clusterings over all T_d: "
        + listed({f"T_v = {t_v}": float(number) for t_v, number in different.items()}),
    )


@table_2(
    "With six times the records the relative error is smaller at every setting.",
    "Adult6 below Adult, for each p and T_v",
)
def _falls_with_records(cells: figures.Cells) -> Outcome:
    settings = sorted({(p, t_v) for _, p, t_v in cells})
    pairs = require_any([(cells["adult6", *each], cells["adult", *each]) for each in settings])
    return below(pairs, f"ratios Adult6 / Adult from {_shares(pairs)}")


@table_2(
    "At p = .7 six times the records bring little, and most at T_v = 300.",
    "p = .7: Adult6 / Adult at T_v = 300 below that at 50 and 100 (ratios of medians)",
    kind="order",
)
def _small_gain_at_weak_randomization(cells: figures.Cells) -> Outcome:
    return _largest_below(
        {t_v: _shrink(cells, figures.WEAK[-1], t_v) for t_v in (*SMALLER, LARGEST)}
    )


@table_2(
    "On Adult6 at p = .7 the lowest relative error is that of T_v = 300.",
    "Adult6, p = .7: T_v = 300 below 50 and 100",
    kind="order",
)
def _largest_clusters_best_with_records(cells: figures.Cells) -> Outcome:
    return _largest_below(
        {t_v: cells["adult6", figures.WEAK[-1], t_v] for t_v in (*SMALLER, LARGEST)}
    )


@table_2(
    "On Adult6 at p = .1, .3 and .5 the highest T_v does not have the lowest relative error.",
    "Adult6, p = .1, .3, .5: the better of T_v = 50 and 100 below 300",
)
def _largest_clusters_not_best_at_strong_randomization(cells: figures.Cells) -> Outcome:
    pairs = {}
    for p in (*figures.STRONG, figures.WEAK[0]):
        smaller = (cells["adult6", p, t_v] for t_v in SMALLER)
        best = min(smaller, key=lambda row: row["median"])
        pairs[p] = (best, cells["adult6", p, LARGEST])
    shares = {f"p = {p:g}": _share(*pair) for p, pair in pairs.items()}
    found = below([*pairs.values()], listed(shares) + " (better of 50 and 100 / 300)")
    picked = (replace(each, picked_from=len(SMALLER)) for each in found.comparisons)
    return replace(found, comparisons=tuple(picked))


@table_2(
    "At p = .1, .3 and .5 six times the records bring more at T_v = 50 and 100 than at 300.",
    "p = .1, .3, .5: Adult6 / Adult at T_v = 50 and 100 below that at 300 (ratios of medians)",
    kind="order",
)
def _gain_larger_for_small_clusters(cells: figures.Cells) -> Outcome:
    strong = (*figures.STRONG, figures.WEAK[0])
    gains = {(p, t_v): _shrink(cells, p, t_v) for p in strong for t_v in (*SMALLER, LARGEST)}
    shown = {
        f"p = {p:g}, T_v = {t_v}": row
        for (p, t_v), row in gains.items()
        if t_v in (SMALLER[0], LARGEST)
    }
    return below(
        [(gains[p, t_v], gains[p, LARGEST]) for p in strong for t_v in SMALLER], figures.said(shown)
    )


def _shrink(cells: figures.Cells, p: float, t_v: int) -> dict[str, float]:
    return ratio(cells["adult6", p, t_v], cells["adult", p, t_v])


def _largest_below(found: Mapping[int, Row]) -> Outcome:
    """Test that the largest T_v is below the smaller ones."""
    return below(
        [(found[LARGEST], found[t_v]) for t_v in SMALLER],
        figures.said({f"T_v = {t_v}": row for t_v, row in found.items()}),
    )


@table_1(
    "Queries of more than two attributes give results that do not differ significantly.",
    "sigma = .1: queries of 3 and of 4 attributes within a factor of 1.2 of queries of 2, each p, "
    "RR-Independent (T_v = 1) and RR-Clusters (T_v = 50)",
    kind="equality",
    section="6.5",
    about="attributes",
)
def _more_attributes_no_difference(cells: figures.Cells) -> Outcome:
    settings = sorted({(p, t_v) for p, t_v, _ in cells if t_v in (1, SMALLER[0])})
    pairs = require_any([(cells[*each, k], cells[*each, 2]) for each in settings for k in (3, 4)])
    return equivalent(pairs, f"ratios to two attributes from {_shares(pairs)}")


CLAIMS = (*figures.OF_FIGURE_2, *OF_TABLE_1, *figures.OF_FIGURE_3, *OF_TABLE_2)
"""In the order of the text; each is about one of the tables that `claims` takes."""


def claims(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Hold every claim of section 6.5 against the `tables`, of the printed matrix alone.

    These are ``gains`` (multirr_gain_ratios: Figure 2 under each projection), ``methods``
    (multirr_methods: Figure 3 under each projection, at the paper's best thresholds),
    ``thresholds`` (Tables 1 and 2 and multirr_sensitivity), ``attributes`` (multirr_attributes) and
    ``clusters`` (multirr_clusters). What is compared stands in a column ``median``.

    A row a claim, cluster mechanism and projection, as far as they make a difference: the columns
    of `reproduction.study.claim_columns`.
    """
    clusters = tables["clusters"]
    views = {
        "gains": ("p == 0.7", "estimator", "measure", "sigma", "against"),
        "methods": ("best != 'ours'", "p", "sigma", "method", "against", "measure"),
        "thresholds": ("", "dataset", "p", "t_v"),
        "attributes": ("dataset == 'adult'", "p", "t_v", "attributes"),
    }
    evidence = {
        name: _parts(_of_one_clustering(tables[name], clusters), *view)
        for name, view in views.items()
    }
    evidence["clusters"] = [Evidence(("any", "any"), source_of(clusters), clusters)]
    return decide_claims(CLAIMS, evidence, "mechanism", "projection")


def _of_one_clustering(table: pd.DataFrame, clusters: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose T_d forms the clusters of the smallest T_d at their T_v."""
    if "against" in table or "t_d" not in table:
        return table  # compared already, each at one T_d
    named = clusters.groupby(["t_v", "t_d"])["cluster"].agg("; ".join)
    first = named.groupby(level="t_v").transform("first")
    same = set(named.index[named == first])
    least = table["t_d"].min()
    at = zip(table["t_v"], table["t_d"], strict=True)
    return table[[t_d == least or (t_v, t_d) in same for t_v, t_d in at]]


def _parts(table: pd.DataFrame, which: str, *columns: str) -> list[Evidence]:
    """Return some rows of each mechanism and projection by the values of columns.

    Rows that repeat one experiment, with several T_d that form the same clusters, are pooled.
    """
    printed = table[table["matrix"] == "printed"]
    if which:
        printed = printed.query(which)
    if "mechanism" not in printed:
        printed = printed.assign(mechanism="any")
    key, found = itemgetter(*columns), []
    for settings, part in printed.groupby(["mechanism", "projection"], sort=False):
        rows: dict[tuple[Any, ...], list[Row]] = {}
        for row in part.to_dict("records"):
            rows.setdefault(key(row), []).append(row)
        cells = {name: pooled(each) for name, each in rows.items()}
        found.append(Evidence(tuple(map(str, settings)), source_of(table), cells))
    return found


def evidence_tables(found: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables that `claims` reads, from the tables of a run.

    `found` has the tables ``table1``, ``table2``, ``sensitivity``, ``attributes``, ``clusters``,
    ``gain_ratios`` and ``methods`` of [multirr].
    """
    compared = pd.concat(found[name] for name in ("table1", "table2", "sensitivity"))
    return {
        "attributes": found["attributes"],
        "clusters": found["clusters"],
        "gains": found["gain_ratios"].rename(columns={"ratio": "median"}),
        "methods": found["methods"].rename(columns={"compared": "median"}),
        "thresholds": compared.rename(columns={"regenerated": "median"}),
    }
