"""Assess dependences and clusters by secure sums of simulated parties ([multirr], 4.2, 4.3)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from deniable.randomized_response import (
    Pair,
    PairReports,
    SecureSum,
    bivariate_distribution,
    cluster_attributes,
    dependences_from_tables,
    epsilons,
    pair_measures,
)
from deniable.records import Domain, Microdata
from deniable.sampling import RandomSource, generator_for

MAX_CELLS, LEAST_DEPENDENCE = 100, 0.1  # T_v and T_d of the compared clusters


def masked_pairs(
    protocol: PairReports, data: Microdata, source: RandomSource
) -> dict[Pair, Microdata]:
    """Let every party randomize each pair of its record in `data` ([multirr], 4.3, step 3a)."""
    masked = {}
    for pair, channel in protocol.channels.items():
        part = data.project(pair)
        reports = channel.randomize(part.domain.ravel(part.columns), source)
        masked[pair] = Microdata(part.domain, part.domain.unravel(reports))
    return masked


def secure_assessments(data: Microdata, root_seed: int, parties: int) -> pd.DataFrame:
    """Assess dependences by secure sums of original pairs (4.2) and of randomized pairs (4.3).

    Few `parties`, drawn from the `data`, run the protocol itself. The dependences from its counts
    are compared with those from plain counts of the same pairs, one row per method. A secure sum
    has no finite epsilon.
    """
    generator = generator_for(root_seed, {"study": "secure_assessment"})
    chosen = generator.choice(len(data), parties, replace=False)
    few = Microdata(data.domain, tuple(column[chosen] for column in data.columns))
    masking = PairReports(data.domain, 0.7, "keep")
    true = {pair: few.project(pair) for pair in masking.channels}
    exact = _assessed(SecureSum(data.domain), true, generator)
    masked = _assessed(masking, masked_pairs(masking, few, generator), generator)
    rows = [
        {"method": "secure_sum", "matrix": None, "p": None} | exact,
        {"method": "pairs_joint", "matrix": masking.reading, "p": masking.p} | masked,
    ]
    return pd.DataFrame(rows)


def _assessed(
    protocol: SecureSum | PairReports, pairs: Mapping[Pair, Microdata], source: RandomSource
) -> dict[str, Any]:
    measures = pair_measures(protocol.domain)
    counted = {pair: bivariate_distribution(part, pair, source) for pair, part in pairs.items()}
    sums = {pair: each.table for pair, each in counted.items()}
    direct = {pair: part.counts(pair) for pair, part in pairs.items()}
    found, expected = (
        dependences_from_tables(protocol.tables(counts), measures) for counts in (sums, direct)
    )
    clusters, clusters_direct = (
        _clusters_in_words(protocol.domain, each) for each in (found, expected)
    )
    sent = [each.traffic.share_messages + each.traffic.broadcasts for each in counted.values()]
    return epsilons(protocol) | {
        "parties": len(next(iter(pairs.values()))),
        "pairs": len(pairs),
        "messages": sum(sent),
        "equals_direct_counts": all(np.array_equal(sums[pair], direct[pair]) for pair in pairs),
        "largest_difference": float((found["dependence"] - expected["dependence"]).abs().max()),
        "clusters": clusters,
        "clusters_direct": clusters_direct,
        "clusters_equal": clusters == clusters_direct,
    }


def _clusters_in_words(domain: Domain, dependences: pd.DataFrame) -> str:
    formed = cluster_attributes(domain, dependences, MAX_CELLS, LEAST_DEPENDENCE)
    return "; ".join(" x ".join(cluster) for cluster in formed if len(cluster) > 1)
