"""What [idp] claims in words, and the verdicts of this run: a row a sentence.

A sentence about both data sets is decided from both at once. One that says two things has a row for
each; one that lists epsilons has one.
"""

from collections.abc import Mapping
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
from deniable.idp.audit import FIXED, OF_FIXED_CLUSTERS
from deniable.records import NumericMicrodata

from reproduction.papers.idp.claims import forests, sse
from reproduction.papers.idp.claims.evidence import Readings, Tables, readings
from reproduction.papers.idp.names import READINGS
from reproduction.papers.idp.sse import expected_table
from reproduction.study import (
    UNKNOWN,
    Claims,
    Comparison,
    Evidence,
    Outcome,
    below,
    by_sentence,
    counted,
    decide_claims,
    range_of,
    ratios_of,
    source_of,
)

GROUPS, EPSILON = Claims(), Claims()
_of_groups = partial(GROUPS.claim, section="1")
FIGURES = {"census": ("idp_fig3", "idp_fig5"), "wine": ("idp_fig4", "idp_fig6")}
TIMES = {10: ((0.01, 0.1), (0.1, 1.0)), 100: ((0.01, 1.0),)}  # epsilons with so many times as much
CONCLUSIONS = Claims()
_of_conclusions = partial(CONCLUSIONS.claim, section="5")


# -- sections 1 and 3: protection ------------------------------------------------------------------


# Decided from the records and from the audit (`reproduction.papers.idp.audit`), without error.


@_of_groups(
    "iDP data by microaggregation never offer less protection than the microaggregation.",
    "read as mean SSE: expected, at least that of the centroids themselves, each method, epsilon, "
    "factor, k; value by value: idp_cbls, each epsilon and k, smallest factor, no value expected "
    "closer to the original than the centroid is (what protection means is not said; an error is "
    "not yet protection)",
)
def _no_less_than_microaggregation(tables: Tables) -> Readings:
    return readings(
        {
            "mean SSE": partial(_no_smaller_error, tables),
            "value by value": partial(_no_value_closer, tables),
        }
    )


def _no_smaller_error(tables: Tables) -> Outcome:
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
        f"that of microaggregation alone times {range_of(ratios)}",
    )


def _no_value_closer(tables: Tables) -> Outcome:
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


@EPSILON.claim(
    "iDP-LS and iDP-CBLS give epsilon-individual differential privacy to centroids, by composition "
    "to attributes and to the released records.",
    "exact epsilon, or its lower bound, at most what is claimed, each method, unit, epsilon, k, "
    "over public domains; by what is held fixed for the neighbour",
    section="3",
    about="audit",
)
def _individual_privacy(audit: pd.DataFrame) -> Readings:
    return readings({name: partial(_as_claimed, audit, name) for name in READINGS})


def _as_claimed(table: pd.DataFrame, name: str) -> Outcome:
    reading, clusters = READINGS[name]
    own = table["method"].isin(METHODS[2:]) & (table["domain"] == "public")
    part = table[own & (table["reading"] == reading) & (table["clusters"] == clusters)]
    if not len(part):
        raise LookupError("an audit of it")
    comparisons = (
        UNKNOWN if pd.isna(holds) else Comparison(1.0 if holds else -1.0) for holds in part["holds"]
    )
    largest = part.groupby("unit", sort=False)["times_claimed"].max()
    said = ", ".join(f"{unit} {times:.3g}" for unit, times in largest.items())
    condition = f" ({OF_FIXED_CLUSTERS})" if clusters == FIXED else ""
    return Outcome(tuple(comparisons), f"epsilon over the claimed: {said}{condition}")


# -- section 5: conclusions ------------------------------------------------------------------------


@_of_conclusions(
    "For a given epsilon iDP-CBLS beats plain DP data by several orders of magnitude.",
    "idp_cbls at most a hundredth of dp, each epsilon, factor, k",
)
def _beats_dp_by_orders_of_magnitude(tables: Tables) -> Outcome:
    return sse.below_by_orders_of_magnitude(tables, ["dp"])


@_of_conclusions(
    "The utility of iDP-CBLS rivals that of DP data with 10 to 100 times the epsilon.",
    "at 10 and at 100 times; plain noise: mean SSE of idp_cbls below that of dp, each factor, k; "
    "true DP: F of idp_cbls, best k, not .05 below the best of dp_synthetic, dp_naive_bayes, "
    "dp_rule, each factor",
)
def _rivals_dp_at_more_epsilon(tables: Tables) -> Readings:
    every = [pair for pairs in TIMES.values() for pair in pairs]
    true_dp = partial(forests.above_true_dp, tables, every, -forests.SIMILAR_F)
    return readings({"plain noise": partial(_rivals_plain_noise, tables), "true DP": true_dp})


def _rivals_plain_noise(tables: Tables) -> Outcome:
    of = {
        times: [
            (tables.sse_of("idp_cbls", low, c, k), tables.sse_of("dp", high, c))
            for (low, high), c, k in product(epsilons, tables.factors, tables.k)
        ]
        for times, epsilons in TIMES.items()
    }
    said = (f"idp_cbls over dp at {times} epsilon: {ratios_of(of[times])}" for times in of)
    return below([pair for pairs in of.values() for pair in pairs], "; ".join(said))


@_of_conclusions(
    "At larger epsilon iDP-CBLS is significantly better in machine learning than standard DP, even "
    "with a much larger epsilon.",
    "epsilon 1: F of idp_cbls, best k, more than .05 above the best of dp_synthetic, "
    "dp_naive_bayes, dp_rule at no more than the same epsilon, each factor",
)
def _better_than_true_dp_at_larger_epsilon(tables: Tables) -> Outcome:
    return forests.above_true_dp(tables, [(1.0, 1.0)], forests.SIMILAR_F)


CLAIMS = (*GROUPS, *forests.SMALL_EPSILONS, *EPSILON, *sse.CLAIMS, *forests.FORESTS, *CONCLUSIONS)
"""In the order of the text."""


def claims(tables: dict[str, Tables], audit: pd.DataFrame) -> pd.DataFrame:
    """Hold all claims against the `tables` of each data set, "census" and "wine", and the `audit`.

    One row per sentence, as in `reproduction.study.by_sentence`. A sentence is undecided where the
    tables lack its settings.
    """
    evidence = {
        name: [Evidence((), own.source, own, name.capitalize())] for name, own in tables.items()
    }
    evidence[""] = [each for own in evidence.values() for each in own]
    evidence["audit"] = [
        Evidence((), source_of(own), own, str(name).capitalize())
        for name, own in audit.groupby("dataset", sort=False)
    ]
    return by_sentence(decide_claims(CLAIMS, evidence, "reading"))


def decided_on(
    data: Mapping[str, NumericMicrodata], tables: Mapping[str, pd.DataFrame]
) -> tuple[dict[str, Tables], pd.DataFrame]:
    """Return the tables of each data set that `claims` reads, and the expected errors.

    `data` are the original records by data set; `tables` are those of Figures 3 to 6.
    """
    expected = pd.concat(
        expected_table(name, data[name], tables[errors]) for name, (errors, _) in FIGURES.items()
    )
    found = {
        name: Tables(data[name], expected[expected["dataset"] == name], tables[measures])
        for name, (_, measures) in FIGURES.items()
    }
    return found, expected
