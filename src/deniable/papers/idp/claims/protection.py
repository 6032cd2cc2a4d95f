"""Claims of [idp] on protection: beside microaggregation (section 1), and by epsilon (section 3).

Decided from the records, and from the audit (`deniable.papers.idp.audit`), without error.
"""

from dataclasses import dataclass
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
from deniable.papers.idp.claims.evidence import Readings, Tables, readings
from deniable.papers.idp.names import READINGS
from deniable.study import UNKNOWN, Claims, Comparison, Outcome, counted, range_of

GROUPS, EPSILON = Claims(), Claims()
_of_groups = partial(GROUPS.claim, section="1")


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


@dataclass(frozen=True, eq=False)
class Audited:
    """The audit of a data set: ``idp_audit``."""

    table: pd.DataFrame


@EPSILON.claim(
    "iDP-LS and iDP-CBLS give epsilon-individual differential privacy to centroids, by composition "
    "to attributes and to the released records.",
    "exact epsilon, or its lower bound, at most what is claimed, each method, unit, epsilon, k, "
    "over public domains; by what is held fixed for the neighbour",
    section="3",
    about="audit",
)
def _individual_privacy(audited: Audited) -> Readings:
    return readings({name: partial(_as_claimed, audited.table, name) for name in READINGS})


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
