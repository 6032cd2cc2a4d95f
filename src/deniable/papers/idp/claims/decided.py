"""What [idp] claims in words, and the verdicts of this run: sections 1, 4.2 and 5 (4.1: `sse`).

What the text claims of privacy is not decided here but by the audit, except for its comparison with
microaggregation (section 1), which takes no more than the clusters. "F" is the mean of the
F-measures of the two classes.

Cells of two domain factors share the forest's seed, and cells of ``dp`` their runs: this makes
tests between them conservative. For the tests see `deniable.study.comparisons`.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from deniable.arrays import Floats
from deniable.idp import (
    METHODS,
    Ranking,
    domain_bounds,
    expected_squares,
    expected_sse,
    masking,
    masking_sse,
    sample_variances,
)
from deniable.papers.idp.claims import sse
from deniable.papers.idp.claims.sse import ORDERS, Tables, shifted, times_row
from deniable.study import (
    Claims,
    Evidence,
    Given,
    Outcome,
    Pair,
    below,
    counted,
    decide_claims,
    known,
    near,
    range_of,
    ratio,
    ratios_of,
    some,
    source_of,
)

TRUE_DP = ("dp_synthetic", "dp_naive_bayes", "dp_rule")
SMALL_K = 10
"""In the middle of what section 4.1 gives as the best k of iDP-CBLS."""
SIMILAR_F = 0.05
SHORTFALL_TOLERANCE = 0.03
GROUPS, FORESTS, CONCLUSIONS = Claims(), Claims(), Claims()
_of_groups = partial(GROUPS.claim, section="1")
_of_forests = partial(FORESTS.claim, section="4.2, Figures 5 and 6")
_of_census = partial(FORESTS.claim, section="4.2.1, Figure 5")
_of_wine = partial(FORESTS.claim, section="4.2.2, Figure 6", about="wine")
_of_conclusions = partial(CONCLUSIONS.claim, section="5")


# -- section 1: groups -----------------------------------------------------------------------------


@_of_groups(
    "iDP data by microaggregation never offer less protection than the microaggregation.",
    "each method, epsilon, factor, k: expected mean SSE at least that of the centroids "
    "themselves (what protection means is not said; an error is not yet protection)",
)
def _no_less_than_microaggregation(tables: Tables) -> Outcome:
    ranking = Ranking.of(tables.data.values)
    variances = sample_variances(tables.data.values)
    ratios = []
    for (epsilon, factor), method, k in product(tables.settings, METHODS[1:], tables.k):
        upper = domain_bounds(tables.data.values, factor)
        found = masking(method, ranking, k, upper, epsilon)
        alone = masking_sse(found, found.clusters.centroids[None], variances)[0]
        ratios.append(expected_sse(found, variances) / alone)
    return counted(
        (each >= 1 - 1e-9 for each in ratios),
        f"mean SSE over that of microaggregation alone: {range_of(ratios)}",
    )


@_of_groups(
    "The same, value by value.",
    "idp_cbls, each epsilon and k, smallest factor: no value expected closer to the original, "
    "in squared distance, than the centroid is",
)
def _no_value_closer_than_microaggregation(tables: Tables) -> Outcome:
    ranking = Ranking.of(tables.data.values)
    upper = domain_bounds(tables.data.values, tables.factors[0])
    every = product(tables.epsilons, tables.k)
    closer = {(epsilon, k): _closer(ranking, upper, k, epsilon) for epsilon, k in every}
    (epsilon, k), most = max(closer.items(), key=lambda item: item[1])
    return counted(
        (number == 0 for number in closer.values()),
        f"up to {most} of {ranking.values.size:,} values are closer (epsilon {epsilon:g}, k = {k})",
    )


def _closer(ranking: Ranking, upper: Floats, k: int, epsilon: float) -> int:
    """Return how many values iDP-CBLS is expected to leave closer than the centroid alone is."""
    found = masking("idp_cbls", ranking, k, upper, epsilon)
    clusters, closer = found.clusters, 0
    for nth in range(int(clusters.sizes.max())):
        there = clusters.sizes > nth
        values = ranking.values[:, clusters.starts + np.where(there, nth, 0)]
        alone = (clusters.centroids - values) ** 2
        less = expected_squares(found, values) < alone * (1 - 1e-9)
        closer += int(np.sum(less[:, there]))
    return closer


@_of_groups(
    "The underlying microaggregation hides individuals in a group.",
    "each k: every record shares all its released values with at least k - 1 others",
)
def _hides_in_a_group(tables: Tables) -> Outcome:
    ranking, shares = Ranking.of(tables.data.values), {}
    for k in tables.k:
        memberships = ranking.clusters(k).memberships.T
        _, which, sizes = np.unique(memberships, axis=0, return_inverse=True, return_counts=True)
        shares[k] = float(np.mean(sizes[which] >= k))
    most = max(shares, key=lambda k: shares[k])
    return counted(
        (share == 1 for share in shares.values()),
        "records whose released values are those of k - 1 others in all attributes: at most "
        f"{shares[most]:.2%} (k = {most})",
    )


# -- Figures 5 and 6 -------------------------------------------------------------------------------


@_of_forests(
    "The results of iDP-LS improve with k.",
    "epsilon 1: F at the smallest k below that at the largest, each factor",
)
def _forests_of_local_improve_with_k(tables: Tables) -> Outcome:
    least, most = tables.forest_k[0], tables.forest_k[-1]
    pairs = [
        (tables.measures["idp_ls", 1.0, c, least], tables.measures["idp_ls", 1.0, c, most])
        for c in tables.forest_factors
    ]
    ends = (f"{a['median']:.3f} at k = {least}, {b['median']:.3f} at {most}" for a, b in pairs)
    return below(pairs, "; ".join(ends))


@_of_forests(
    "The results of iDP-LS are better for narrower domains.",
    "epsilon 1: F at the larger factor below that at the smaller, each k",
)
def _forests_of_local_better_in_small_domains(tables: Tables) -> Outcome:
    narrow, wide = tables.forest_factors[0], tables.forest_factors[-1]
    if wide == narrow:
        raise LookupError("a single domain factor")
    pairs = [
        (tables.measures["idp_ls", 1.0, wide, k], tables.measures["idp_ls", 1.0, narrow, k])
        for k in tables.forest_k
    ]
    return below(pairs, f"factor {wide:g} over {narrow:g}: {ratios_of(pairs)}")


@_of_census(
    "At epsilon {epsilon:g} (order of the list; symbols lost) the best results of {title} are "
    "{words} the upper bound.",
    "1 - F / F of the original, best k, smallest factor, within 3 points of {percent} %",
    about="census",
    name="forests_{method}_shortfall_{epsilon:g}",
    cases=(
        dict(zip(("method", "title", "epsilon", "words", "percent"), case, strict=True))
        for case in (
            ("idp_ls", "iDP-LS", 0.01, "around 20 % below", 20),
            ("idp_ls", "iDP-LS", 0.1, "around 10 % below", 10),
            ("idp_ls", "iDP-LS", 1.0, "around 5 % below", 5),
            ("idp_cbls", "iDP-CBLS", 0.01, "only 10 % below", 10),
            ("idp_cbls", "iDP-CBLS", 0.1, "only 3 % below", 3),
            ("idp_cbls", "iDP-CBLS", 1.0, "identical to", 0),
        )
    ),
)
def _forests_shortfall(
    tables: Tables, method: str, epsilon: float, percent: float, **_: str
) -> Outcome:
    found = ratio(tables.best([method], epsilon, tables.forest_factors[0]), tables.bound())
    return near(
        [(found, known(1 - percent / 100))],
        SHORTFALL_TOLERANCE,
        f"{1 - found['median']:.1%} below the bound ({percent}% in the text)",
        picked_from=len(tables.forest_k),
    )


@_of_census(
    "The utility of iDP-CBLS at a smaller epsilon (lost; read as .01) is similar to that of "
    "iDP-LS at a larger one (read as 1).",
    "best F at most .05 apart, each factor",
)
def _forests_cluster_based_hundredth_epsilon(tables: Tables) -> Outcome:
    pairs = [
        (tables.best(["idp_cbls"], 0.01, c), tables.best(["idp_ls"], 1.0, c))
        for c in tables.forest_factors
    ]
    return near(pairs, SIMILAR_F, side_by_side(pairs), picked_from=len(tables.forest_k))


@_of_census(
    "The F-measures of iDP-CBLS degrade for large k.",
    "F at the largest k below that at k = 10, each epsilon, factor",
)
def _forests_cluster_based_degrade_with_k(tables: Tables) -> Outcome:
    most, small = tables.forest_k[-1], min(tables.forest_k, key=lambda k: abs(k - SMALL_K))
    every = product(["idp_cbls"], (0.01, 0.1, 1.0), tables.forest_factors)
    pairs = [(tables.measures[*at, most], tables.measures[*at, small]) for at in every]
    return below(pairs, f"k = {most} over k = {small}: {ratios_of(pairs)}")


@_of_wine(
    "The F-measures of the rarer class (Excellent) are lower.",
    "original and idp_cbls: the rarer class below the other",
)
def _forests_classes_differ(tables: Tables) -> Outcome:
    frequent, rare = (tables.of_class(name) for name in tables.data.classes)
    pairs = [(rare[key], frequent[key]) for key in rare if key[0] in ("original", "idp_cbls")]
    return below(some(pairs), f"the rarer class over the other: {ratios_of(pairs)}")


@_of_wine(
    "iDP-CBLS at epsilon {said} even improves on the upper bound for some k{lost}.",
    "F above that of the original for some k and factor, beyond chance among all",
    name="forests_improve_on_bound_{epsilon:g}",
    cases=(
        {"epsilon": 0.1, "said": ".1", "lost": " (symbol lost)"},
        {"epsilon": 1.0, "said": "1", "lost": ""},
    ),
)
def _forests_improve_on_bound(tables: Tables, epsilon: float, **_: str) -> Outcome:
    bound, factors = tables.bound(), tables.forest_factors
    every = product(["idp_cbls"], [epsilon], factors, tables.forest_k)
    pairs = [(bound, tables.measures[at]) for at in every]
    best = tables.best(["idp_cbls"], epsilon, factors[0])
    figure = f"best {best['median']:.3f}, bound {bound['median']:.3f}"
    found = below(pairs, figure)
    if found.support:  # in a single pair is enough
        return Outcome(len(pairs), found.support, 0, figure)
    # Without any improvement beyond chance the claim fails only if none is left possible.
    ruled_out = found.contradict == len(pairs)
    return Outcome(len(pairs), 0, found.contradict if ruled_out else 0, figure)


def side_by_side(pairs: Sequence[Pair]) -> str:
    """Return what is compared, pair by pair."""
    return "; ".join(f"{a['median']:.3f} against {b['median']:.3f}" for a, b in pairs)


# -- section 5: iDP-CBLS and differential privacy, epsilon for epsilon -----------------------------


@_of_conclusions(
    "For a given epsilon iDP-CBLS beats plain DP data by several orders of magnitude.",
    "idp_cbls below a hundredth of dp, each epsilon, factor, k",
)
def _beats_dp_by_orders_of_magnitude(tables: Tables) -> Outcome:
    pairs = tables.pairs("idp_cbls", "dp")
    return below(
        [(times_row(own, ORDERS), plain) for own, plain in pairs],
        f"dp over idp_cbls: {range_of(plain['median'] / own['median'] for own, plain in pairs)}",
    )


def _epsilons(times: int) -> list[tuple[float, float]]:
    """Return epsilons with so many times as much, up to 1."""
    return [(epsilon, round(times * epsilon, 9)) for epsilon in (0.01, 0.1) if times * epsilon <= 1]


def _rivals_dp(tables: Tables, times: int) -> Outcome:
    every = product(_epsilons(times), tables.factors, tables.k)
    pairs = [
        (tables.errors["idp_cbls", low, c, k], tables.errors["dp", high, c, k])
        for (low, high), c, k in every
    ]
    return below(some(pairs), f"idp_cbls over dp at {times} epsilon: {ratios_of(pairs)}")


def _with_true_dp(tables: Tables, epsilons: Iterable[tuple[float, float]]) -> list[Pair]:
    """Return the best F of iDP-CBLS and of a classifier with true DP, each at its epsilon."""
    return [
        (tables.best(["idp_cbls"], own, factor), tables.best(TRUE_DP, other, factor))
        for (own, other), factor in product(epsilons, tables.factors)
    ]


def _rivals_true_dp(tables: Tables, times: int) -> Outcome:
    pairs = _with_true_dp(tables, _epsilons(times))
    not_below = [(shifted(true, -SIMILAR_F), own) for own, true in pairs]
    return below(not_below, side_by_side(pairs))


for _times in (10, 100):  # in the order of the text
    _of_conclusions(
        "The utility of iDP-CBLS rivals that of DP data with {times} times the epsilon.",
        "mean SSE of idp_cbls below that of dp at {times} epsilon, each factor, k",
        name="rivals_dp_at_{times}_epsilon",
        cases=[{"times": _times}],
    )(_rivals_dp)
    _of_conclusions(
        "The same, against the best classifier with true DP.",
        "F of idp_cbls, best k, not .05 below the best of dp_synthetic, dp_naive_bayes, dp_rule at "
        "{times} epsilon",
        name="rivals_true_dp_at_{times}_epsilon",
        cases=[{"times": _times}],
    )(_rivals_true_dp)


@_of_conclusions(
    "At epsilon {epsilon:g} iDP maintains utility to an extent that standard DP cannot offer.",
    "F of the best of dp_synthetic, dp_naive_bayes, dp_rule more than .05 below that of idp_cbls, "
    "best k, each factor",
    section="1 and 5",
    name="better_than_true_dp_{epsilon:g}",
    cases=({"epsilon": epsilon} for epsilon in (0.01, 0.1, 1.0)),
)
def _better_than_true_dp(tables: Tables, epsilon: float) -> Outcome:
    pairs = _with_true_dp(tables, [(epsilon, epsilon)])
    above = [(shifted(true, SIMILAR_F), own) for own, true in pairs]
    return below(above, side_by_side(pairs))


# -- all claims ------------------------------------------------------------------------------------

CLAIMS = (*GROUPS, *sse.CLAIMS, *FORESTS, *CONCLUSIONS)
"""In the order of the text; "5" repeats what "1" says."""


def claims(tables: Tables) -> pd.DataFrame:
    """Hold every claim against the tables of one data set: a row each.

    Claims about cells that the tables lack are left out.
    """
    own = [Evidence((tables.dataset,), source_of(tables.sse), tables)]
    return decide_claims(CLAIMS, {"": own, tables.dataset: own}, "dataset")


def decide(given: Given) -> dict[str, pd.DataFrame]:
    """Decide what the text claims in words, from the tables of this run."""
    found = given.tables
    tables = [
        Tables("census", given.data["census"], found["idp_fig3"], found["idp_fig5"]),
        Tables("wine", given.data["wine"], found["idp_fig4"], found["idp_fig6"]),
    ]
    return {"idp_claims": pd.concat(map(claims, tables))}
