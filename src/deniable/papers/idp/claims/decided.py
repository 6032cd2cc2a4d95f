"""What [idp] claims in words (sections 1, 4 and 5), held against the tables of this run.

Several numbers and symbols of the claims are lost in the text that we have; where a test needs one,
it names the reading. What the text claims of privacy is not decided here but by the audit, except
for its comparison with microaggregation (section 1), which takes no more than the clusters.

Cells of two domain factors share the forest's seed, and cells of ``dp`` their runs: this makes
tests between them conservative. For the tests see `deniable.study.comparisons`.
"""

import numpy as np
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
from deniable.papers.idp.claims.forests import about_conclusions, about_forests
from deniable.papers.idp.claims.sse import about_cluster_based_sse, about_sse
from deniable.papers.idp.claims.tables import Tables, Tests
from deniable.papers.idp.claims.texts import CLAIMS
from deniable.records import NumericMicrodata
from deniable.study import Given, Outcome, claim_columns, claim_row, counted, decided, range_of

CLAIM_COLUMNS = claim_columns("dataset")


def claims(tables: Tables) -> pd.DataFrame:
    """Hold every claim against the tables of one data set.

    Returns
    -------
    DataFrame
        A row a claim: `CLAIM_COLUMNS`. Claims about cells that the tables lack are left out.
    """
    source = str(tables.sse["data_source"].iloc[0])
    rows = [
        claim_row(CLAIMS[name], (tables.dataset,), outcome, source)
        for name, outcome in decided(_tests(tables))
    ]
    return pd.DataFrame(rows, columns=list(CLAIM_COLUMNS))


def _tests(tables: Tables) -> Tests:
    yield from _about_groups(tables)
    yield from about_sse(tables)
    yield from about_cluster_based_sse(tables)
    yield from about_forests(tables)
    yield from about_conclusions(tables)


def _about_groups(tables: Tables) -> Tests:
    ranking = Ranking.of(tables.data.values)

    def no_less() -> Outcome:
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

    def no_closer() -> Outcome:
        closer = {
            (epsilon, k): _closer(ranking, tables.data, k, epsilon, tables.settings[0][1])
            for epsilon in sorted({epsilon for epsilon, _ in tables.settings})
            for k in tables.k
        }
        (epsilon, k), most = max(closer.items(), key=lambda item: item[1])
        return counted(
            (number == 0 for number in closer.values()),
            f"up to {most} of {ranking.values.size:,} values are closer (epsilon "
            f"{epsilon:g}, k = {k})",
        )

    def in_groups() -> Outcome:
        shares = {k: _in_groups(ranking, k) for k in tables.k}
        most = max(shares, key=lambda k: shares[k])
        return counted(
            (share == 1 for share in shares.values()),
            "records whose released values are those of k - 1 others in all attributes: at most "
            f"{shares[most]:.2%} (k = {most})",
        )

    yield "no_less_than_microaggregation", no_less
    yield "no_value_closer_than_microaggregation", no_closer
    yield "hides_in_a_group", in_groups


def _in_groups(ranking: Ranking, k: int) -> float:
    """Return the share of records that at least k - 1 others share all their clusters with."""
    memberships = ranking.clusters(k).memberships.T
    _, which, sizes = np.unique(memberships, axis=0, return_inverse=True, return_counts=True)
    return float(np.mean(sizes[which] >= k))


def _closer(ranking: Ranking, data: NumericMicrodata, k: int, epsilon: float, factor: float) -> int:
    """Return the number of values that iDP-CBLS leaves closer to the original, in expectation.

    Closer than microaggregation alone does, in squared distance.
    """
    found = masking("idp_cbls", ranking, k, domain_bounds(data.values, factor), epsilon)
    clusters, closer = found.clusters, 0
    for nth in range(int(clusters.sizes.max())):
        there = clusters.sizes > nth
        values = ranking.values[:, clusters.starts + np.where(there, nth, 0)]
        alone = (clusters.centroids - values) ** 2
        less = expected_squares(found, values) < alone * (1 - 1e-9)
        closer += int(np.sum(less[:, there]))
    return closer


def decide(given: Given) -> dict[str, pd.DataFrame]:
    """Decide what the text claims in words, from the tables of this run."""
    found = given.tables
    tables = [
        Tables("census", given.data["census"], found["idp_fig3"], found["idp_fig5"]),
        Tables("wine", given.data["wine"], found["idp_fig4"], found["idp_fig6"]),
    ]
    return {"idp_claims": pd.concat(map(claims, tables))}
