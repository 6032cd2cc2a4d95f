"""What [multirr] claims in words (section 6.5), held against the tables of this run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from deniable.study import (
    Claims,
    Comparison,
    Evidence,
    Given,
    Outcome,
    Pair,
    Row,
    alike,
    below,
    below_one,
    by_sentence,
    decide_claims,
    known,
    listed,
    near,
    on_average,
    pooled,
    range_of,
    ratio,
    some,
    source_of,
)

OTHERS = ("rr_clusters", "rr_independent_adjustment", "rr_clusters_adjustment")
METHODS = ("rr_independent", *OTHERS)
STRONG, WEAK = (0.1, 0.3), (0.5, 0.7)
SMALLER, LARGEST = (50, 100), 300
"""The p and T_v of the text: a claim that names them is not held against others."""
NARROW = (0.1, 0.2)
HALF, ALIKE_FROM = 0.5, 0.3
"""Coverages of the text."""

Cells = Mapping[tuple[Any, ...], Row]
"""Rows of a table by the values of some columns."""

CLAIMS = Claims()
"""In the order of the text; each is about one of the tables that `claims` takes."""
figure_2 = partial(CLAIMS.claim, section="6.5, Figure 2", about="gains")
table_1 = partial(CLAIMS.claim, section="6.5, Table 1")
figure_3 = partial(CLAIMS.claim, section="6.5, Figure 3", about="methods")
table_2 = partial(CLAIMS.claim, section="6.5, Table 2", about="thresholds")


def claims(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Hold every claim of section 6.5 against the tables.

    Rows of another matrix than the printed one are passed over.

    Parameters
    ----------
    tables : mapping of name to DataFrame
        ``gains`` (multirr_gain_ratios: Figure 2 under each projection), ``methods``
        (multirr_methods: Figure 3 under each projection, at the paper's best thresholds),
        ``thresholds`` (Tables 1 and 2 and multirr_sensitivity), ``attributes``
        (multirr_attributes), ``clusters`` (multirr_clusters). What is compared stands in a column
        ``median``.

    Returns
    -------
    DataFrame
        A row a claim, cluster mechanism and projection, as far as they make a difference: the
        columns of `deniable.study.claim_columns`.
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
    found = []
    for settings, part in printed.groupby(["mechanism", "projection"], sort=False):
        cells = {key: pooled(rows.to_dict("records")) for key, rows in part.groupby([*columns])}
        found.append(Evidence(tuple(map(str, settings)), source_of(table), cells))
    return found


def _share(first: Row, second: Row) -> float:
    return ratio(first, second)["median"]


def _shares(pairs: Sequence[Pair]) -> str:
    return range_of([_share(*pair) for pair in pairs], ".2f")


def _under_one(ratios: Sequence[Row], figure: str) -> Outcome:
    """Test that each ratio is below 1."""
    return below_one(some(ratios), figure)


def _around_one(ratios: Sequence[Row], figure: str) -> Outcome:
    """Test that each ratio is alike 1."""
    return alike([(row, known(1.0)) for row in some(ratios)], figure)


def _ratios(rows: Iterable[Row]) -> str:
    return range_of([row["median"] for row in rows], ".2f")


def _inverse(row: Row) -> dict[str, float]:
    with np.errstate(divide="ignore"):
        low, value, high = (
            float(np.divide(1.0, row[name])) for name in ("ci_high", "median", "ci_low")
        )
    return {"median": value, "ci_low": low, "ci_high": high}


@figure_2(
    "Estimation cuts the absolute and the relative error of the raw randomized data clearly.",
    "p = .7: rr_independent below randomized at every sigma, both measures, run by run",
)
def _gain_of_estimation(cells: Cells) -> Outcome:
    raw = [
        row
        for (estimator, *_, against), row in cells.items()
        if (estimator, against) == ("randomized", "rr_independent")
    ]
    cuts = range_of((row["median"] for row in some(raw)), ".2g")
    return _under_one([_inverse(row) for row in raw], f"error cut by a factor of {cuts}")


def _over(cells: Cells, estimator: str, measure: str, first: float, second: float) -> Row:
    """Return the ratio of the medians at two coverages, compared run by run."""
    of = (estimator, f"{measure}_ratio")
    if (*of, first, f"sigma = {second:g}") in cells:
        return cells[*of, first, f"sigma = {second:g}"]
    return _inverse(cells[*of, second, f"sigma = {first:g}"])


def _sigmas_of(cells: Cells) -> list[float]:
    return sorted({sigma for *_, sigma, _ in cells})


@figure_2(
    "The absolute error peaks at sigma = .5.",
    "p = .7: median absolute error of rr_independent at each other sigma below that at .5, run by "
    "run",
)
def _peak_at_half(cells: Cells) -> Outcome:
    others = [sigma for sigma in _sigmas_of(cells) if sigma != HALF]
    ratios = {s: _over(cells, "rr_independent", "absolute_error", s, HALF) for s in others}
    top = max(some(others), key=lambda sigma: ratios[sigma]["median"])
    return _under_one(
        [*ratios.values()], f"next highest at sigma = {top:g}: {ratios[top]['median']:.3g} of it"
    )


@figure_2(
    "The absolute error at sigma = .6 is that at sigma = .4.",
    "p = .7: medians of rr_independent and of the raw data within a factor of 1.2, run by run",
    kind="equality",
)
def _mirrored_around_half(cells: Cells) -> Outcome:
    names = ("rr_independent", "randomized")
    found = [_over(cells, name, "absolute_error", 0.4, 0.6) for name in names]
    return _around_one(found, f"that at .4 over that at .6: {_ratios(found)}")


@figure_2(
    "The relative error falls as sigma grows.",
    "p = .7: rr_independent at each sigma below the one before, run by run",
    kind="order",
)
def _falls_with_coverage(cells: Cells) -> Outcome:
    steps = pairwise(_sigmas_of(cells))
    found = [_over(cells, "rr_independent", "relative_error", b, a) for a, b in steps]
    return _under_one(found, f"over that at the coverage before: {_ratios(found)}")


@table_1(
    "As a rule the relative error grows with T_v.",
    "Adult: T_v = 50 below 300, on average over p",
    kind="average",
    about="thresholds",
)
def _grows_with_t_v(cells: Cells) -> Outcome:
    pairs = {
        p: (cells["adult", p, SMALLER[0]], cells["adult", p, LARGEST])
        for p in sorted({p for _, p, _ in cells})
    }
    shares = {f"p = {p:g}": _share(second, first) for p, (first, second) in pairs.items()}
    figure = f"T_v = {LARGEST} / {SMALLER[0]}: {listed(shares)}"
    return on_average(some([*pairs.values()]), figure)


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
        tuple(
            Comparison(-1.0) if number == 1 else Comparison(0.0, inf)
            for number in different.values()
        ),
        "clusterings over all T_d: "
        + listed({f"T_v = {t_v}": float(number) for t_v, number in different.items()}),
    )


@table_1(
    "Clustering is the more rewarding the larger p is.",
    "sigma = .1: rr_clusters / rr_independent at p = .5 and .7 below that at .1 and .3",
    kind="order",
    about="methods",
)
def _clustering_pays_more_at_weak_randomization(cells: Cells) -> Outcome:
    gain = {p: _ratio(cells, p, NARROW[0], "rr_clusters") for p in (*STRONG, *WEAK)}
    return below(
        [(gain[p], gain[q]) for p in WEAK for q in STRONG],
        _said({f"p = {p:g}": row for p, row in gain.items()}),
    )


def _ratio(cells: Cells, p: float, sigma: float, method: str, against: str = METHODS[0]) -> Row:
    """Return the ratio of the median errors of two methods, compared run by run."""
    return cells[p, sigma, method, against, "relative_error_ratio"]


@figure_3(
    "At p = {p:g} RR-Independent has the best accuracy; the others are counter-productive.",
    "p = {p:g}: rr_independent below each other method at each sigma, run by run",
    name="independent_best_at_p{p:g}",
    cases=[{"p": p} for p in STRONG],
)
def _best_at(cells: Cells, p: float) -> Outcome:
    found = {
        (sigma, other): _ratio(cells, p, sigma, other)
        for sigma, other in product(_sigmas(cells), OTHERS)
    }
    at_narrowest = {other: found[NARROW[0], other] for other in OTHERS}
    return _under_one(
        [_inverse(row) for row in found.values()],
        "over rr_independent at sigma = .1: " + _said(at_narrowest),
    )


@figure_3(
    "For strong randomization RR-Clusters is no better than RR-Independent, and RR-Adjustment "
    "brings little.",
    "p = .1, sigma = .1: each other method within a factor of 1.2 of rr_independent, run by run",
    kind="equality",
)
def _little_at_strong_randomization(cells: Cells) -> Outcome:
    found = {other: _ratio(cells, STRONG[0], NARROW[0], other) for other in OTHERS}
    return _around_one([*found.values()], "over rr_independent: " + _said(found))


@figure_3(
    "At p = .5 and .7 and sigma >= .3 all methods are alike, with very small errors.",
    "p = .5, .7, sigma >= .3: any two medians within 5 percentage points, run by run",
    kind="equality",
)
def _near_at_large_coverage(cells: Cells) -> Outcome:
    found = some(_of_any_two(cells, "relative_error_difference"))
    most = max(abs(row["median"]) for row in found)
    pairs = [(row, known(0.0)) for row in found]
    return replace(near(pairs, 0.05, f"apart by up to {most:.3f}"), our_margin=True)


@figure_3(
    "The same, in proportion to the errors.",
    "p = .5, .7, sigma >= .3: any two medians within a factor of 1.2, run by run",
    kind="equality",
)
def _alike_at_large_coverage(cells: Cells) -> Outcome:
    found = _of_any_two(cells, "relative_error_ratio")
    return _around_one(found, f"one over another: {_ratios(found)}")


@figure_3(
    "At p = .5 and .7 and sigma < .3 RR-Clusters is much more accurate than RR-Independent.",
    "p = .5, .7, sigma = .1, .2: rr_clusters below rr_independent, run by run",
)
def _clusters_win_at_small_coverage(cells: Cells) -> Outcome:
    return _improvement(cells, {"rr_clusters": "rr_independent"})


@figure_3(
    "There RR-Adjustment improves both clearly.",
    "p = .5, .7, sigma = .1, .2: each method below itself without adjustment, run by run",
)
def _adjustment_helps_at_small_coverage(cells: Cells) -> Outcome:
    names = ("rr_independent", "rr_clusters")
    return _improvement(cells, {f"{name}_adjustment": name for name in names})


def _sigmas(cells: Cells) -> list[float]:
    return sorted({sigma for _, sigma, *_ in cells})


def _of_any_two(cells: Cells, measure: str) -> list[Row]:
    """Return how any two methods differ where the text finds them alike."""
    return [
        row
        for (p, sigma, *_, of), row in cells.items()
        if p in WEAK and sigma >= ALIKE_FROM and of == measure
    ]


def _improvement(cells: Cells, worse: Mapping[str, str]) -> Outcome:
    """Test that methods are below the worse ones that they are mapped to."""
    found = [
        _ratio(cells, p, sigma, better, worse[better])
        for p, sigma, better in product(WEAK, NARROW, worse)
    ]
    return _under_one(found, f"ratios of medians from {_ratios(found)}")


def _said(rows: Mapping[str, Row]) -> str:
    return listed({name: row["median"] for name, row in rows.items()})


@table_2(
    "With six times the records the relative error is smaller at every setting.",
    "Adult6 below Adult, for each p and T_v",
)
def _falls_with_records(cells: Cells) -> Outcome:
    settings = sorted({(p, t_v) for _, p, t_v in cells})
    pairs = some([(cells["adult6", *each], cells["adult", *each]) for each in settings])
    return below(pairs, f"ratios Adult6 / Adult from {_shares(pairs)}")


@table_2(
    "At p = .7 six times the records bring little, and most at T_v = 300.",
    "p = .7: Adult6 / Adult at T_v = 300 below that at 50 and 100 (ratios of medians)",
    kind="order",
)
def _small_gain_at_weak_randomization(cells: Cells) -> Outcome:
    return _largest_below({t_v: _shrink(cells, WEAK[-1], t_v) for t_v in (*SMALLER, LARGEST)})


@table_2(
    "On Adult6 at p = .7 the lowest relative error is that of T_v = 300.",
    "Adult6, p = .7: T_v = 300 below 50 and 100",
    kind="order",
)
def _largest_clusters_best_with_records(cells: Cells) -> Outcome:
    return _largest_below({t_v: cells["adult6", WEAK[-1], t_v] for t_v in (*SMALLER, LARGEST)})


@table_2(
    "On Adult6 at p = .1, .3 and .5 the highest T_v does not have the lowest relative error.",
    "Adult6, p = .1, .3, .5: the better of T_v = 50 and 100 below 300",
)
def _largest_clusters_not_best_at_strong_randomization(cells: Cells) -> Outcome:
    pairs = {}
    for p in (*STRONG, WEAK[0]):
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
def _gain_larger_for_small_clusters(cells: Cells) -> Outcome:
    strong = (*STRONG, WEAK[0])
    gains = {(p, t_v): _shrink(cells, p, t_v) for p in strong for t_v in (*SMALLER, LARGEST)}
    shown = {
        f"p = {p:g}, T_v = {t_v}": row
        for (p, t_v), row in gains.items()
        if t_v in (SMALLER[0], LARGEST)
    }
    return below(
        [(gains[p, t_v], gains[p, LARGEST]) for p in strong for t_v in SMALLER], _said(shown)
    )


def _shrink(cells: Cells, p: float, t_v: int) -> dict[str, float]:
    return ratio(cells["adult6", p, t_v], cells["adult", p, t_v])


def _largest_below(found: Mapping[int, Row]) -> Outcome:
    """Test that the largest T_v is below the smaller ones."""
    return below(
        [(found[LARGEST], found[t_v]) for t_v in SMALLER],
        _said({f"T_v = {t_v}": row for t_v, row in found.items()}),
    )


@table_1(
    "Queries of more than two attributes give results that do not differ significantly.",
    "sigma = .1: queries of 3 and of 4 attributes within a factor of 1.2 of queries of 2, each p, "
    "RR-Independent (T_v = 1) and RR-Clusters (T_v = 50)",
    kind="equality",
    section="6.5",
    about="attributes",
)
def _more_attributes_no_difference(cells: Cells) -> Outcome:
    settings = sorted({(p, t_v) for p, t_v, _ in cells if t_v in (1, SMALLER[0])})
    pairs = some([(cells[*each, k], cells[*each, 2]) for each in settings for k in (3, 4)])
    return alike(pairs, f"ratios to two attributes from {_shares(pairs)}")


def decide(given: Given) -> dict[str, pd.DataFrame]:
    """Decide what the paper claims in words, from the tables of this run."""
    found = given.tables
    compared = [found[f"multirr_{name}"] for name in ("table1", "table2", "sensitivity")]
    tables = {name: found[f"multirr_{name}"] for name in ("attributes", "clusters")}
    tables["gains"] = found["multirr_gain_ratios"].rename(columns={"ratio": "median"})
    tables["methods"] = found["multirr_methods"].rename(columns={"compared": "median"})
    tables["thresholds"] = pd.concat(compared).rename(columns={"regenerated": "median"})
    readings = claims(tables)
    return {"multirr_claims": by_sentence(readings), "multirr_claim_readings": readings}
