"""Dependences and the clusters that follow: true ones, and those that a secure sum lets one assess.

Beside them the audit of what is promised for the clusters ([multirr], 4.2, 4.3, 6.3).
"""

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

MAX_CELLS, LEAST_DEPENDENCE = 100, 0.1  # T_v and T_d of the clusters that are compared


def masked_pairs(
    protocol: PairReports, data: Microdata, source: RandomSource
) -> dict[Pair, Microdata]:
    """Let every party mask every pair of its values anew ([multirr], 4.3, step 3a).

    `data` has a record a party, the `protocol` a channel a pair; they draw from `source`.
    """
    masked = {}
    for pair, channel in protocol.channels.items():
        part = data.project(pair)
        reports = channel.randomize(part.domain.ravel(part.columns), source)
        masked[pair] = Microdata(part.domain, part.domain.unravel(reports))
    return masked


def secure_assessments(data: Microdata, root_seed: int, parties: int) -> pd.DataFrame:
    """Assess dependences by secure sum, of true pairs (4.2) and of masked pairs (4.3).

    The study draws the counts that a secure sum would deliver; here few `parties`, drawn from the
    `data` by the `root_seed`, run the protocol itself, and what is assessed from its aggregates is
    held against plain counts of the same pairs: a row a method, with the epsilons that it spends
    (no finite one bounds a secure sum), ``largest_difference`` of a dependence, and ``clusters`` at
    T_v = 100 and T_d = .1 beside ``clusters_direct``.
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
    clusters = _clusters_in_words(protocol.domain, found)
    clusters_direct = _clusters_in_words(protocol.domain, expected)
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
