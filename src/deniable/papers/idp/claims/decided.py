"""What [idp] claims in words, and the verdicts of this run: sections 1 and 5 here, 4 in `figures`.

What the text claims of privacy is not decided here but by the audit, except for its comparison with
microaggregation (section 1), which takes no more than the clusters.

Cells of two domain factors share the forest's seed, and cells of ``dp`` their runs: this makes
tests between them conservative. For the tests see `deniable.study.comparisons`.
"""

from collections.abc import Iterable
from functools import partial
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd

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
from deniable.papers.idp.claims import figures
from deniable.papers.idp.claims.figures import ORDERS, SIMILAR_F, side_by_side
from deniable.papers.idp.claims.tables import Tables, shifted, times_row
from deniable.study import (
    Claim,
    Claims,
    Evidence,
    Given,
    Outcome,
    Pair,
    below,
    claim_columns,
    counted,
    decide_claims,
    range_of,
    ratios_of,
    some,
    source_of,
)

Floats = npt.NDArray[np.float64]

TRUE_DP = ("dp_synthetic", "dp_naive_bayes", "dp_rule")
GROUPS, CONCLUSIONS = Claims(), Claims()
_of_groups = partial(GROUPS.claim, section="1")
_of_conclusions = partial(CONCLUSIONS.claim, section="5")
CLAIM_COLUMNS = claim_columns("dataset")


def decide(given: Given) -> dict[str, pd.DataFrame]:
    """Decide what the text claims in words, from the tables of this run."""
    found = given.tables
    tables = [
        Tables("census", given.data["census"], found["idp_fig3"], found["idp_fig5"]),
        Tables("wine", given.data["wine"], found["idp_fig4"], found["idp_fig6"]),
    ]
    return {"idp_claims": pd.concat(map(claims, tables))}


def every_claim() -> tuple[Claim, ...]:
    """Return the claims with their tests, in the order of the text; "5" repeats what "1" says."""
    return *GROUPS, *figures.CLAIMS, *CONCLUSIONS


def claims(tables: Tables) -> pd.DataFrame:
    """Hold every claim against the tables of one data set.

    Returns
    -------
    DataFrame
        A row a claim: `CLAIM_COLUMNS`. Claims about cells that the
        tables lack are left out.
    """
    own = [Evidence((tables.dataset,), source_of(tables.sse), tables)]
    return decide_claims(every_claim(), {"": own, tables.dataset: own}, "dataset")


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
    for epsilon, factor in tables.settings:
        upper = domain_bounds(tables.data.values, factor)
        for method in METHODS[1:]:
            for k in tables.k:
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
    closer = {
        (epsilon, k): _closer(ranking, upper, k, epsilon)
        for epsilon in tables.epsilons
        for k in tables.k
    }
    (epsilon, k), most = max(closer.items(), key=lambda item: item[1])
    return counted(
        (number == 0 for number in closer.values()),
        f"up to {most} of {ranking.values.size:,} values are closer (epsilon {epsilon:g}, k = {k})",
    )


def _closer(ranking: Ranking, upper: Floats, k: int, epsilon: float) -> int:
    """Return the number of values that iDP-CBLS leaves closer to the original, in expectation.

    Closer than microaggregation alone does, in squared distance.
    """
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
    ranking = Ranking.of(tables.data.values)
    shares = {k: _in_groups(ranking, k) for k in tables.k}
    most = max(shares, key=lambda k: shares[k])
    return counted(
        (share == 1 for share in shares.values()),
        "records whose released values are those of k - 1 others in all attributes: at most "
        f"{shares[most]:.2%} (k = {most})",
    )


def _in_groups(ranking: Ranking, k: int) -> float:
    """Return the share of records that at least k - 1 others share all their clusters with."""
    memberships = ranking.clusters(k).memberships.T
    _, which, sizes = np.unique(memberships, axis=0, return_inverse=True, return_counts=True)
    return float(np.mean(sizes[which] >= k))


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
