"""Dependences and clusters from what a secure sum delivers ([multirr], 4.2 and 4.3).

The study of assessments draws the counts that a secure sum would deliver, at the size of Adult,
where the messages would be 10^12. Here few parties run the protocol itself, and what is assessed
from its aggregates is held against what plain counts of the same pairs give.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from deniable.randomized_response import (
    PairReports,
    Reading,
    SecureSum,
    bivariate_distribution,
    cluster_attributes,
    dependences_from_tables,
    pair_measures,
)
from deniable.randomized_response.dependence import Pair
from deniable.records import Microdata
from deniable.sampling import RandomSource, generator_for

LARGEST_CELLS, LEAST_DEPENDENCE = 100, 0.1  # T_v and T_d of the clusters that are compared


def masked_pairs(
    protocol: PairReports, data: Microdata, source: RandomSource
) -> dict[Pair, Microdata]:
    """Let every party mask every pair of its values anew ([multirr], 4.3, step 3a)."""
    masked = {}
    for pair, channel in protocol.channels.items():
        part = data.project(pair)
        reports = channel.randomize(part.domain.ravel(part.columns), source)
        masked[pair] = Microdata(part.domain, part.domain.unravel(reports))
    return masked


def secure_assessments(
    data: Microdata, root_seed: int, parties: int, p: float = 0.7, reading: Reading = "keep"
) -> pd.DataFrame:
    """Assess dependences by secure sum, of true pairs (4.2) and of masked pairs (4.3).

    Returns
    -------
    DataFrame
        A row a method: ``method``, ``matrix``, ``p``, ``parties``, ``pairs``, ``messages``,
        ``equals_direct_counts`` (the sums are the plain counts of the same pairs),
        ``largest_difference`` (of a dependence from the sums to one from plain counts),
        ``clusters`` (from the sums, at T_v = 100 and T_d = .1), ``clusters_direct``,
        ``clusters_equal``.
    """
    generator = generator_for(root_seed, {"study": "secure_assessment"})
    few = _sample(data, parties, generator)
    exact, masking = SecureSum(data.domain), PairReports(data.domain, p, reading)
    true = {pair: few.project(pair) for pair in masking.channels}
    rows = [
        _assessed("secure_sum", exact, true, generator) | {"matrix": None, "p": None},
        _assessed("pairs_joint", masking, masked_pairs(masking, few, generator), generator)
        | {"matrix": reading, "p": p},
    ]
    first = ["method", "matrix", "p"]
    table = pd.DataFrame(rows)
    return table[[*first, *(column for column in table if column not in first)]]


def _sample(data: Microdata, parties: int, generator: np.random.Generator) -> Microdata:
    chosen = generator.choice(len(data), parties, replace=False)
    return Microdata(data.domain, tuple(column[chosen] for column in data.columns))


def _assessed(
    method: str,
    protocol: SecureSum | PairReports,
    pairs: Mapping[Pair, Microdata],
    source: RandomSource,
) -> dict[str, Any]:
    measures = pair_measures(protocol.domain, ())
    counted = {pair: bivariate_distribution(part, pair, source) for pair, part in pairs.items()}
    sums = {pair: each.table for pair, each in counted.items()}
    direct = {pair: part.counts(pair) for pair, part in pairs.items()}
    found, expected = (
        dependences_from_tables(protocol.tables(counts), measures) for counts in (sums, direct)
    )
    clusters, clusters_direct = (
        "; ".join(
            " x ".join(cluster)
            for cluster in cluster_attributes(
                protocol.domain, each, LARGEST_CELLS, LEAST_DEPENDENCE
            )
            if len(cluster) > 1
        )
        for each in (found, expected)
    )
    return {
        "method": method,
        "parties": len(next(iter(pairs.values()))),
        "pairs": len(pairs),
        "messages": sum(
            each.traffic.share_messages + each.traffic.broadcasts for each in counted.values()
        ),
        "equals_direct_counts": all(np.array_equal(sums[pair], direct[pair]) for pair in pairs),
        "largest_difference": float((found["dependence"] - expected["dependence"]).abs().max()),
        "clusters": clusters,
        "clusters_direct": clusters_direct,
        "clusters_equal": clusters == clusters_direct,
    }
