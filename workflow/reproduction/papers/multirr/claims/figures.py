"""What [multirr] says in words of Figures 2 and 3 (section 6.5), compared run by run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np

from reproduction.study import (
    Claims,
    Outcome,
    Row,
    below,
    below_one,
    equivalent,
    exact_row,
    listed,
    range_of,
    require_any,
    within_tolerance,
)

OTHERS = ("rr_clusters", "rr_independent_adjustment", "rr_clusters_adjustment")
METHODS = ("rr_independent", *OTHERS)
STRONG, WEAK = (0.1, 0.3), (0.5, 0.7)
"""The p of the text: a claim that names them is not held against others."""
NARROW = (0.1, 0.2)
HALF, ALIKE_FROM = 0.5, 0.3  # coverages of the text
PERCENTAGE_POINTS = 0.05  # errors at most so far apart count as alike: our margin

Cells = Mapping[tuple[Any, ...], Row]  # rows of a table by the values of some columns

OF_FIGURE_2, OF_FIGURE_3 = Claims(), Claims()
figure_2 = partial(OF_FIGURE_2.claim, section="6.5, Figure 2", about="gains")
figure_3 = partial(OF_FIGURE_3.claim, section="6.5, Figure 3", about="methods")


def _under_one(ratios: Sequence[Row], figure: str) -> Outcome:
    """Test that each ratio is below 1."""
    return below_one(require_any(ratios), figure)


def _around_one(ratios: Sequence[Row], figure: str) -> Outcome:
    """Test that each ratio is alike 1."""
    return equivalent([(row, exact_row(1.0)) for row in require_any(ratios)], figure)


def _ratios(rows: Iterable[Row]) -> str:
    return range_of([row["median"] for row in rows], ".2f")


def _inverse(row: Row) -> Row:
    """Return one over a ratio; nothing is known of it if the ratio may be 0."""
    if row["ci_low"] <= 0:
        return {"median": np.nan, "ci_low": 0.0, "ci_high": np.inf}
    return {"median": 1 / row["median"], "ci_low": 1 / row["ci_high"], "ci_high": 1 / row["ci_low"]}


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
    cuts = range_of((row["median"] for row in require_any(raw)), ".2g")
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
    top = max(require_any(others), key=lambda sigma: ratios[sigma]["median"])
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


@figure_3(
    "Clustering is the more rewarding the larger p is.",
    "sigma = .1: rr_clusters / rr_independent at p = .5 and .7 below that at .1 and .3",
    kind="order",
    section="6.5, Table 1",
)
def _clustering_pays_more_at_weak_randomization(cells: Cells) -> Outcome:
    gain = {p: _ratio(cells, p, NARROW[0], "rr_clusters") for p in (*STRONG, *WEAK)}
    return below(
        [(gain[p], gain[q]) for p in WEAK for q in STRONG],
        said({f"p = {p:g}": row for p, row in gain.items()}),
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
        "over rr_independent at sigma = .1: " + said(at_narrowest),
    )


@figure_3(
    "For strong randomization RR-Clusters is no better than RR-Independent, and RR-Adjustment "
    "brings little.",
    "p = .1, sigma = .1: each other method within a factor of 1.2 of rr_independent, run by run",
    kind="equality",
)
def _little_at_strong_randomization(cells: Cells) -> Outcome:
    found = {other: _ratio(cells, STRONG[0], NARROW[0], other) for other in OTHERS}
    return _around_one([*found.values()], "over rr_independent: " + said(found))


@figure_3(
    "At p = .5 and .7 and sigma >= .3 all methods are alike, with very small errors.",
    "p = .5, .7, sigma >= .3: any two medians within 5 percentage points, run by run",
    kind="equality",
)
def _near_at_large_coverage(cells: Cells) -> Outcome:
    found = require_any(_of_any_two(cells, "relative_error_difference"))
    most = max(abs(row["median"]) for row in found)
    pairs = [(row, exact_row(0.0)) for row in found]
    return replace(
        within_tolerance(pairs, PERCENTAGE_POINTS, f"apart by up to {most:.3f}"), our_margin=True
    )


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
    large = [sigma for sigma in _sigmas(cells) if sigma >= ALIKE_FROM]
    return [
        cells[p, sigma, method, against, measure]
        for p, sigma, (against, method) in product(WEAK, large, combinations(METHODS, 2))
    ]


def _improvement(cells: Cells, worse: Mapping[str, str]) -> Outcome:
    """Test that methods are below the worse ones that they are mapped to."""
    found = [
        _ratio(cells, p, sigma, better, worse[better])
        for p, sigma, better in product(WEAK, NARROW, worse)
    ]
    return _under_one(found, f"ratios of medians from {_ratios(found)}")


def said(rows: Mapping[str, Row]) -> str:
    """Return the medians of `rows` in words, each by its name."""
    return listed({name: row["median"] for name, row in rows.items()})
