"""The claims of [multirr] in words, compared with the tables of a run or decided exactly.

Only interpretations with the matrix as published count. The functions below decide the claims that
need more than a comparison of cells.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from operator import itemgetter

import numpy as np
import pandas as pd

from deniable.channels import DenseChannel, KeepOrReplace
from deniable.design import Requirements, design
from deniable.display import rows_of
from deniable.estimation import jensen_shannon_distances, l2_distances

from reproduction import study
from reproduction.papers.multirr.example_1 import PRINTED_INDEPENDENT, PRINTED_LIMIT, SIZES
from reproduction.papers.multirr.names import clusterings

SMALLER, LARGEST = (50, 100), 300  # T_v in the text; claims that name them are about no others
P = (0.1, 0.3, 0.5)  # p in the text where six times the records help small clusters more
HALF = 0.5
CATEGORIES = (2, 5, 6, 7, 9, 15, 16)  # of Adult's attributes
EPSILONS = (0.5, 1.0, 2.0)
ROUNDING = 1e-9


def _negative_estimates(_: None) -> study.Outcome:
    generator, lowest = np.random.default_rng(1), []
    for size in CATEGORIES * 25:
        rows = (generator.dirichlet(np.ones(size), size) + np.eye(size)[0]) / 2
        first = generator.uniform(0, HALF)
        reported = [first, *generator.dirichlet(np.ones(size - 1)) * (1 - first)]
        lowest.append(float(DenseChannel(rows).estimate(reported).min()))
    figure = f"smallest estimates {study.range_of(lowest)}"
    return study.counted((each < 0 for each in lowest), figure)


def _more_similar(_: None) -> study.Outcome:
    joints = np.array([PRINTED_LIMIT["joint"], PRINTED_INDEPENDENT["joint"]], dtype=float)
    reports = SIZES.astype(float).ravel() / SIZES.sum()
    found = [abs(joints - reports).sum(axis=1) / 2]  # total variation
    found += [of(joints, reports) for of in (l2_distances, jensen_shannon_distances)]
    said = "; ".join(f"{near:.3g} against {far:.3g}" for near, far in found)
    return study.counted((near < far for near, far in found), said)


def _least_changed() -> study.Outcome:
    gaps = []
    for size, epsilon in product(CATEGORIES, EPSILONS):
        least = design(np.full(size, 1 / size), Requirements(epsilon=epsilon), "changed").loss
        changed = 1 - float(KeepOrReplace.of_epsilon(size, epsilon).matrix()[0, 0])
        gaps.append(abs(changed / least - 1))
    figure = f"least possible to {max(gaps):.1g} of it"
    return study.counted((gap <= ROUNDING for gap in gaps), figure)


def _least_variance() -> study.Outcome:
    """Compare the matrix with a block design, which [subset_selection] prefers at small ε."""
    row, column = np.divmod(np.arange(16), 4)
    blocks = np.equal.outer(row, row) ^ np.equal.outer(column, column)  # a biplane of 16 points
    traces = {}
    for epsilon in EPSILONS:
        weights = np.where(blocks, math.exp(epsilon), 1.0)
        channels = KeepOrReplace.of_epsilon(16, epsilon), DenseChannel(weights / weights[0].sum())
        covariances = (each.covariance(np.full(16, 1 / 16), 1) for each in channels)
        traces[epsilon] = [float(np.trace(each)) - 15 / 16 for each in covariances]  # not sampling
    said = (f"{own:.3g} against {other:.3g} (epsilon {e:g})" for e, (own, other) in traces.items())
    return study.counted((own <= other for own, other in traces.values()), ", ".join(said))


def _peak_at_half(cells: study.Cells) -> study.Outcome:
    others = [sigma for sigma in cells.values_of("sigma") if sigma != HALF]
    ratios = {sigma: _over(cells, "absolute_error", sigma, HALF) for sigma in others}
    top = max(study.require_any(others), key=lambda sigma: ratios[sigma]["median"])
    figure = f"next highest at sigma = {top:g}: {ratios[top]['median']:.3g} of it"
    return study.below_one(ratios.values(), figure)


def _falls_with_coverage(cells: study.Cells) -> study.Outcome:
    steps = pairwise(cells.values_of("sigma"))
    found = [_over(cells, "relative_error", later, earlier) for earlier, later in steps]
    shown = study.range_of((row["median"] for row in found), ".2f")
    return study.below_one(found, f"over that at the coverage before: {shown}")


def _over(cells: study.Cells, measure: str, first: float, second: float) -> study.Row:
    """Return the ratio of the medians at two coverages, compared replicate by replicate."""
    of = ("rr_independent", f"{measure}_ratio")
    if (*of, first, f"sigma = {second:g}") in cells:
        return cells[*of, first, f"sigma = {second:g}"]
    row = cells[*of, second, f"sigma = {first:g}"]
    if row["ci_low"] <= 0:  # the inverse is unbounded
        return {"median": math.nan, "ci_low": 0.0, "ci_high": math.inf}
    return study.ratio(study.exact_row(1.0), row)


def _grows_with_t_v(cells: study.Cells) -> study.Outcome:
    pairs = {
        p: (cells["adult", p, SMALLER[0]], cells["adult", p, LARGEST]) for p in cells.values_of("p")
    }
    shown = {f"p = {p:g}": study.ratio(high, low)["median"] for p, (low, high) in pairs.items()}
    figure = f"T_v = {LARGEST} / {SMALLER[0]}: {study.listed(shown)}"
    return study.on_average(study.require_any([*pairs.values()]), figure)


def _clusterings(sign: float, clusters: pd.DataFrame) -> study.Outcome:
    """Test that T_d makes a difference (`sign` 1) or none (-1); clusterings are not ranked."""
    named = clusterings(clusters).groupby("t_v")
    found = {f"T_v = {t_v}": float(part.nunique()) for t_v, part in named if len(part) > 1}
    equal = study.Comparison(-sign)
    compared = tuple(equal if number == 1 else study.UNKNOWN for number in found.values())
    study.require_any(compared, "two T_d at one T_v")
    return study.Outcome(compared, f"clusterings over all T_d: {study.listed(found)}")


def _largest_clusters_not_best(cells: study.Cells) -> study.Outcome:
    pairs = {}
    for p in P:
        smaller = (cells["adult6", p, t_v] for t_v in SMALLER)
        pairs[f"p = {p:g}"] = min(smaller, key=itemgetter("median")), cells["adult6", p, LARGEST]
    shown = study.listed({name: study.ratio(*pair)["median"] for name, pair in pairs.items()})
    found = study.below([*pairs.values()], f"{shown} (better of 50 and 100 / 300)")
    picked = (replace(each, picked_from=len(SMALLER)) for each in found.comparisons)
    return replace(found, comparisons=tuple(picked))


TESTS: Mapping[str, study.Test] = {
    "negative_estimates": _negative_estimates,
    "more_similar_to_reports": _more_similar,
    "minimum_randomization": lambda _: [
        ("least probability of a changed response", _least_changed),
        ("least variance", _least_variance),
    ],
    "peak_at_half": _peak_at_half,
    "falls_with_coverage": _falls_with_coverage,
    "grows_with_t_v": _grows_with_t_v,
    "least_dependence_matters": partial(_clusterings, 1.0),
    "largest_clusters_not_best_at_strong_randomization": _largest_clusters_not_best,
    # Six copies of the records have the same dependences.
    "least_dependence_alike_with_records": partial(_clusterings, -1.0),
}


def evidence_of(tables: Mapping[str, pd.DataFrame]) -> dict[str, list[study.Evidence]]:
    """Return the evidence from `tables` of a run; claims about "exact" need no tables.

    The tables are ``gains`` (ratios of Figure 2), ``methods`` (Figure 3), ``thresholds`` (Tables 1
    and 2 under all interpretations), ``attributes`` and ``clusters``. Estimates are in a column
    ``median``. Settings are the cluster mechanism and the projection, if they make a difference.
    """
    clusters = tables["clusters"]
    both, methods = tables["gains"].query("p == 0.7"), tables["methods"].query("best != 'ours'")
    thresholds, attributes = (
        _of_one_clustering(tables[name], clusters) for name in ("thresholds", "attributes")
    )
    adult = attributes.query("dataset == 'adult'")
    named = "estimator", "measure", "sigma", "against"
    random = both["rounding"] == "random"
    others = both["projection"] + ", sizes rounded at random"
    both = both.assign(projection=both["projection"].where(~random, others))
    evidence = {
        "gains": _evidence(both[~random], *named),
        "gains by rounding": _evidence(both, *named),
        "methods": _evidence(methods, "p", "sigma", "method", "against", "measure"),
        "thresholds": _evidence(thresholds, "dataset", "p", "t_v"),
        "attributes": _evidence(adult, "p", "t_v", "attributes"),
    }
    evidence["gains of records"] = [
        replace(each, given=each.given.ratios("adult6", "adult")) for each in evidence["thresholds"]
    ]
    source = study.source_of(clusters)
    evidence["clusters"] = [study.Evidence(("any", "any"), source, clusters)]
    exact = source if source == "surrogate" else "exact"  # without verdicts on surrogate data
    evidence["exact"] = [study.Evidence(("any",), exact, None)]
    return evidence


def _of_one_clustering(table: pd.DataFrame, clusters: pd.DataFrame) -> pd.DataFrame:
    named = clusterings(clusters)
    same = named.index[named == named.groupby(level="t_v").transform("first")]
    at = pd.MultiIndex.from_frame(table[["t_v", "t_d"]])
    kept: pd.Series[bool] = (table["t_d"] == table["t_d"].min()) | at.isin(same)
    return table[kept]


def _evidence(table: pd.DataFrame, *columns: str) -> list[study.Evidence]:
    """Return cells by mechanism and projection; several T_d with equal clusters are pooled."""
    printed = table[table["matrix"] == "printed"]
    if "mechanism" not in printed:
        printed = printed.assign(mechanism="any")
    found = []
    for settings, part in printed.groupby(["mechanism", "projection"], sort=False):
        groups = study.groups_of(part, *columns)
        rows = {tuple(of.values()): study.pooled(rows_of(same)) for of, same in groups}
        cells = study.Cells(columns, rows)
        found.append(study.Evidence(tuple(map(str, settings)), study.source_of(table), cells))
    return found
