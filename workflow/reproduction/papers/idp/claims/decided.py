"""Claims of [idp] of privacy and on several tables, and the evidence on all claims.

`resources/claims/idp.csv` has the sentences, and the comparisons in words. The functions of this
folder decide claims that are more than a comparison of cells. A sentence about both data sets is
decided from both at once.
"""

from collections.abc import Mapping
from dataclasses import replace
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
from reproduction.papers.idp.claims.evidence import Tables, readings
from reproduction.papers.idp.names import FOREST_TABLES, READINGS, SSE_TABLES
from reproduction.papers.idp.sse import expected_table
from reproduction.study import (
    UNKNOWN,
    Comparison,
    Evidence,
    Outcome,
    Readings,
    Test,
    below,
    counted,
    range_of,
    ratios_of,
    source_of,
)

TIMES = {10: ((0.01, 0.1), (0.1, 1.0)), 100: ((0.01, 1.0),)}
"""The epsilons of iDP-CBLS and of DP data, by their ratio."""


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
    upper = domain_bounds(tables.data.values, tables.errors.values_of("domain_factor")[0])
    every = product(tables.errors.values_of("epsilon"), tables.k)
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


def _rivals_dp_at_more_epsilon(tables: Tables) -> Readings:
    every = [pair for pairs in TIMES.values() for pair in pairs]
    true_dp = partial(forests.above_true_dp, every, -forests.SIMILAR_F, tables)
    return readings({"plain noise": partial(_rivals_plain_noise, tables), "true DP": true_dp})


def _rivals_plain_noise(tables: Tables) -> Outcome:
    factors = tables.errors.values_of("domain_factor")
    of = {
        times: [
            (tables.sse_of("idp_cbls", low, c, k), tables.sse_of("dp", high, c))
            for (low, high), c, k in product(epsilons, factors, tables.k)
        ]
        for times, epsilons in TIMES.items()
    }
    said = (f"idp_cbls over dp at {times} epsilon: {ratios_of(of[times])}" for times in of)
    return below([pair for pairs in of.values() for pair in pairs], "; ".join(said))


TESTS: Mapping[str, Test] = {
    "no_less_than_microaggregation": _no_less_than_microaggregation,
    "hides_in_a_group": _hides_in_a_group,
    "individual_privacy": _individual_privacy,
    "rivals_dp_at_more_epsilon": _rivals_dp_at_more_epsilon,
    **sse.TESTS,
    **forests.TESTS,
}


def evidence_of(tables: Mapping[str, Tables], audit: pd.DataFrame) -> dict[str, list[Evidence]]:
    """Return the evidence in the `tables` of "census" and of "wine", and in the `audit`."""
    given = {}
    for name, own in tables.items():
        source = source_of(own.sse if len(own.sse) else own.forests)
        given[name] = [Evidence((), source, own, name.capitalize())]
    given["both"] = [each for own in given.values() for each in own]
    for cells in ("errors", "gaps", "masked"):
        given[cells] = [replace(each, given=getattr(each.given, cells)) for each in given["both"]]
    given["classes"] = [replace(each, given=each.given.classes) for each in given.get("wine", ())]
    given["audit"] = [
        Evidence((), source_of(own), own, str(name).capitalize())
        for name, own in audit.groupby("dataset", sort=False)
    ]
    return given


def decided_on(
    data: Mapping[str, NumericMicrodata], tables: Mapping[str, pd.DataFrame]
) -> tuple[dict[str, Tables], pd.DataFrame]:
    """Return the tables of each data set that `evidence_of` reads, and the expected errors.

    `data` are the original records by data set. `tables` belong to Figures 3 to 6.
    """
    expected = pd.concat(
        expected_table(name, data[name], tables[figure]) for name, figure in SSE_TABLES.items()
    )
    found = {
        name: Tables(data[name], expected[expected["dataset"] == name], tables[figure])
        for name, figure in FOREST_TABLES.items()
    }
    return found, expected
