"""What [multirr] claims in words (section 6.5), held against the tables of this run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from math import comb
from operator import itemgetter
from typing import Any

import pandas as pd

from deniable.study import (
    Claims,
    Evidence,
    Given,
    Outcome,
    Pair,
    Row,
    alike,
    below,
    decide_claims,
    listed,
    near,
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
        ``gains`` (multirr_gains: Figure 2 under each projection), ``methods``
        (multirr_projections: Figure 3 under each projection, at the paper's best thresholds),
        ``thresholds`` (Tables 1 and 2 and multirr_sensitivity), ``attributes``
        (multirr_attributes), ``clusters`` (multirr_clusters). Medians in a column ``median``.

    Returns
    -------
    DataFrame
        A row a claim, cluster mechanism and projection, as far as they make a difference:
        `CLAIM_COLUMNS`. Claims about cells that the tables lack are left out.
    """
    clusters = tables["clusters"]
    views = {
        "gains": ("p == 0.7", "estimator", "measure", "sigma"),
        "methods": ("best != 'ours'", "p", "sigma", "method"),
        "thresholds": ("t_d == t_d.min()", "dataset", "p", "t_v"),
        "attributes": ("dataset == 'adult' and t_d == t_d.min()", "p", "t_v", "attributes"),
    }
    evidence = {name: _parts(tables[name], *view) for name, view in views.items()}
    evidence["clusters"] = [Evidence(("any", "any"), source_of(clusters), clusters)]
    return decide_claims(CLAIMS, evidence, "mechanism", "projection")


def _parts(table: pd.DataFrame, which: str, *columns: str) -> list[Evidence]:
    """Return some rows of each mechanism and projection by the values of columns."""
    printed = table[table["matrix"] == "printed"]
    if "mechanism" not in printed:
        printed = printed.assign(mechanism="any")
    values, found = itemgetter(*columns), []
    for settings, part in printed.groupby(["mechanism", "projection"], sort=False):
        cells = {values(row): row for row in part.query(which).to_dict("records")}
        found.append(Evidence(tuple(map(str, settings)), source_of(table), cells))
    return found


def _share(first: Row, second: Row) -> float:
    return ratio(first, second)["median"]


def _shares(pairs: Sequence[Pair]) -> str:
    return range_of([_share(*pair) for pair in pairs], ".2f")


def _by_sigma(cells: Cells, estimator: str, measure: str) -> dict[float, Row]:
    """Return medians of Figure 2."""
    return {sigma: row for (*of, sigma), row in cells.items() if of == [estimator, measure]}


@figure_2(
    "Estimation cuts the absolute and the relative error of the raw randomized data clearly.",
    "p = .7: rr_independent below randomized at every sigma, both measures",
)
def _gain_of_estimation(cells: Cells) -> Outcome:
    pairs = [
        (row, cells["randomized", *at])
        for (estimator, *at), row in cells.items()
        if estimator == "rr_independent" and at[0] in ("absolute_error", "relative_error")
    ]
    cuts = [_share(theirs, ours) for ours, theirs in pairs]
    return below(pairs, f"error cut by a factor of {range_of(cuts, '.2g')}")


@figure_2(
    "The absolute error peaks at sigma = .5.",
    "p = .7: median absolute error of rr_independent at .5 not below that at any other sigma",
)
def _peak_at_half(cells: Cells) -> Outcome:
    absolute = _by_sigma(cells, "rr_independent", "absolute_error")
    half = absolute[0.5]
    top = max(absolute, key=lambda sigma: absolute[sigma]["median"])
    return below(
        some([(row, half) for sigma, row in absolute.items() if sigma != 0.5]),
        f"highest at sigma = {top:g}: {absolute[top]['median']:.0f} records, "
        f"{half['median']:.0f} at .5",
    )


@figure_2(
    "The absolute error at sigma = .6 is that at sigma = .4.",
    "p = .7: medians at sigma and 1 - sigma within a factor of 1.2, both estimators",
)
def _mirrored_around_half(cells: Cells) -> Outcome:
    absolute = _by_sigma(cells, "rr_independent", "absolute_error")
    mirrored = [
        (rows[sigma], rows[round(1 - sigma, 9)])
        for rows in (absolute, _by_sigma(cells, "randomized", "absolute_error"))
        for sigma in rows
        if sigma < 0.5 and round(1 - sigma, 9) in rows
    ]
    return alike(
        some(mirrored),
        f"{absolute[0.4]['median']:.0f} records at .4, {absolute[0.6]['median']:.0f} at .6",
    )


@figure_2(
    "The relative error falls as sigma grows.",
    "p = .7: rr_independent at each sigma below the one before",
)
def _falls_with_coverage(cells: Cells) -> Outcome:
    relative = _by_sigma(cells, "rr_independent", "relative_error")
    pairs = some([(relative[b], relative[a]) for a, b in pairwise(sorted(relative))])
    ends = (min(relative), max(relative))
    return below(pairs, ", ".join(f"{relative[s]['median']:.3f} at {s:g}" for s in ends))


@table_1(
    "As a rule the relative error grows with T_v.",
    "Adult: T_v = 50 below 300, for each p",
    about="thresholds",
)
def _grows_with_t_v(cells: Cells) -> Outcome:
    pairs = {
        p: (cells["adult", p, SMALLER[0]], cells["adult", p, LARGEST])
        for p in sorted({p for _, p, _ in cells})
    }
    shares = {f"p = {p:g}": _share(second, first) for p, (first, second) in pairs.items()}
    figure = f"T_v = {LARGEST} / {SMALLER[0]}: {listed(shares)}"
    return replace(below(some([*pairs.values()]), figure), as_a_rule=True)


@table_1(
    "For small p a larger T_d is better, for larger p a smaller one.",
    "Algorithm 1 forms different clusters at different T_d, for some T_v",
    about="clusters",
)
def _least_dependence_matters(clusters: pd.DataFrame) -> Outcome:
    named = clusters.groupby(["t_v", "t_d"])["cluster"].agg("; ".join)
    different = {str(t_v): part.nunique() for t_v, part in named.groupby("t_v") if len(part) > 1}
    if not different:
        raise LookupError("no T_v has two T_d to compare")
    support = sum(number > 1 for number in different.values())
    # Without any difference in the clusters there is none in the error: decided without chance.
    return Outcome(
        len(different),
        support,
        0 if support else len(different),
        "clusterings over all T_d: "
        + listed({f"T_v = {t_v}": float(number) for t_v, number in different.items()}),
    )


@table_1(
    "Clustering is the more rewarding the larger p is.",
    "sigma = .1: rr_clusters / rr_independent at p = .5 and .7 below that at .1 and .3",
    about="methods",
)
def _clustering_pays_more_at_weak_randomization(cells: Cells) -> Outcome:
    gain = {
        p: ratio(cells[p, NARROW[0], "rr_clusters"], cells[p, NARROW[0], "rr_independent"])
        for p in (*STRONG, *WEAK)
    }
    return below(
        [(gain[p], gain[q]) for p in WEAK for q in STRONG],
        _said({f"p = {p:g}": row for p, row in gain.items()}),
    )


@figure_3(
    "At p = {p:g} RR-Independent has the best accuracy; the others are counter-productive.",
    "p = {p:g}: rr_independent below each other method at each sigma",
    name="independent_best_at_p{p:g}",
    cases=[{"p": p} for p in STRONG],
)
def _best_at(cells: Cells, p: float) -> Outcome:
    pairs = [
        (cells[p, sigma, "rr_independent"], cells[p, sigma, other])
        for sigma, other in product(_sigmas(cells), OTHERS)
    ]
    return below(some(pairs), "sigma = .1: " + _said(_at_narrowest(cells, p)))


@figure_3(
    "For strong randomization RR-Clusters is no better than RR-Independent, and RR-Adjustment "
    "brings little.",
    "p = .1, sigma = .1: each other method within a factor of 1.2 of rr_independent",
)
def _little_at_strong_randomization(cells: Cells) -> Outcome:
    found = _at_narrowest(cells, STRONG[0])
    return alike([(found[other], found["rr_independent"]) for other in OTHERS], _said(found))


@figure_3(
    "At p = .5 and .7 and sigma >= .3 all methods are alike, with very small errors.",
    "p = .5, .7, sigma >= .3: largest and smallest median at most 5 percentage points apart",
)
def _near_at_large_coverage(cells: Cells) -> Outcome:
    pairs, figure = _extremes(cells)
    return near(pairs, 0.05, figure, picked_from=comb(len(METHODS), 2))


@figure_3(
    "The same, in proportion to the errors.",
    "p = .5, .7, sigma >= .3: largest and smallest median of the four within a factor of 1.2",
)
def _alike_at_large_coverage(cells: Cells) -> Outcome:
    pairs, figure = _extremes(cells)
    return alike(pairs, figure, picked_from=comb(len(METHODS), 2))


@figure_3(
    "At p = .5 and .7 and sigma < .3 RR-Clusters is much more accurate than RR-Independent.",
    "p = .5, .7, sigma = .1, .2: rr_clusters below rr_independent",
)
def _clusters_win_at_small_coverage(cells: Cells) -> Outcome:
    return _improvement(cells, {"rr_clusters": "rr_independent"})


@figure_3(
    "There RR-Adjustment improves both clearly.",
    "p = .5, .7, sigma = .1, .2: each method below itself without adjustment",
)
def _adjustment_helps_at_small_coverage(cells: Cells) -> Outcome:
    names = ("rr_independent", "rr_clusters")
    return _improvement(cells, {f"{name}_adjustment": name for name in names})


def _sigmas(cells: Cells) -> list[float]:
    return sorted({sigma for _, sigma, _ in cells})


def _at_narrowest(cells: Cells, p: float) -> dict[str, Row]:
    return {method: cells[p, NARROW[0], method] for method in METHODS}


def _extremes(cells: Cells) -> tuple[Sequence[Pair], str]:
    """Return the largest and the smallest median of the methods, by p and sigma."""
    pairs: list[Pair] = []
    for p, sigma in product(WEAK, (sigma for sigma in _sigmas(cells) if sigma >= 0.3)):
        rows = sorted((cells[p, sigma, m] for m in METHODS), key=itemgetter("median"))
        pairs.append((rows[-1], rows[0]))
    return some(pairs), (
        f"apart by up to a factor of {max(_share(*pair) for pair in pairs):.2g}, by up to "
        f"{max(high['median'] - low['median'] for high, low in pairs):.3f}; largest median "
        f"{max(high['median'] for high, _ in pairs):.3f}"
    )


def _improvement(cells: Cells, worse: Mapping[str, str]) -> Outcome:
    """Test that methods are below the worse ones that they are mapped to."""
    pairs = [
        (cells[p, sigma, better], cells[p, sigma, worse[better]])
        for p, sigma, better in product(WEAK, NARROW, worse)
    ]
    return below(pairs, f"ratios of medians from {_shares(pairs)}")


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
)
def _small_gain_at_weak_randomization(cells: Cells) -> Outcome:
    return _largest_below({t_v: _shrink(cells, WEAK[-1], t_v) for t_v in (*SMALLER, LARGEST)})


@table_2(
    "On Adult6 at p = .7 the lowest relative error is that of T_v = 300.",
    "Adult6, p = .7: T_v = 300 below 50 and 100",
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
    return below([*pairs.values()], listed(shares) + " (better of 50 and 100 / 300)")


@table_2(
    "At p = .1, .3 and .5 six times the records bring more at T_v = 50 and 100 than at 300.",
    "p = .1, .3, .5: Adult6 / Adult at T_v = 50 and 100 below that at 300 (ratios of medians)",
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
    tables = {name: found[f"multirr_{name}"] for name in ("gains", "attributes", "clusters")}
    tables["methods"] = found["multirr_projections"]
    tables["thresholds"] = pd.concat(compared).rename(columns={"regenerated": "median"})
    return {"multirr_claims": claims(tables)}
