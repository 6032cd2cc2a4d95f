"""Simulate assessments of dependences without a trusted party, and compare ranks and clusters.

A replicate assesses the dependence of all pairs once. Spearman's correlation with the original
dependences measures their order (4.1 requires no more), and the adjusted Rand index the clusters of
Algorithm 1. In 4.1 all pairs share one randomization of the records; in 4.2 and 4.3 counts are
drawn for each pair. Contingency tables replace secure sums, which need n * n messages per count.
`secure_assessments` runs the secure sum itself between few parties.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from deniable import randomized_response as rr
from deniable.arrays import Floats, at_least
from deniable.errors import from_extras
from deniable.records import Microdata
from deniable.sampling import RandomSource, generator_for

from reproduction.study import Cell, Simulated, Simulator

DECIMALS = 12  # of dependences, so that a singular channel gives exactly 0 despite rounding errors
MAX_CELLS, LEAST_DEPENDENCE = 100, 0.1  # T_v and T_d of the clusters from secure sums


@dataclass(frozen=True, eq=False)
class DependenceAssessment(Simulator):
    """Simulator of assessments of the dependences in original records, `data`.

    Some attributes are `ordinal`. Algorithm 1 forms clusters at all pairs of `t_v` and `t_d`.
    """

    data: Microdata
    ordinal: tuple[str, ...] = ()
    t_v: Sequence[int] = ()
    t_d: Sequence[float] = ()

    @cached_property
    def measures(self) -> dict[rr.Pair, rr.Measure]:
        return rr.pair_measures(self.data.domain, self.ordinal)

    @cached_property
    def true_dependences(self) -> Floats:
        return self._measured({pair: self.data.counts(pair) for pair in self.measures})

    def _protocol(self, cell: Cell) -> rr.AssessmentProtocol:
        return rr.assessment_protocol(cell["method"], self.data.domain, cell["p"], cell["matrix"])

    def spends(self, cell: Cell, output: Mapping[str, Any]) -> Mapping[str, float]:
        return rr.epsilons(self._protocol(cell))

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        assessed, protocol = self.assessed(cell, generator, replicates), self._protocol(cell)
        claimed = {"epsilon_claimed": getattr(protocol, "waived_epsilon", protocol.epsilon)}
        correlations = rank_correlations(assessed, self.true_dependences)
        yield {"measure": "spearman", "t_v": None, "t_d": None} | claimed, correlations
        for t_v, t_d in product(self.t_v, self.t_d):
            true = self.clusters(self.true_dependences, t_v, t_d)
            found = [self.clusters(each, t_v, t_d) for each in assessed]
            values = [adjusted_rand(self.data.domain.names, true, each) for each in found]
            yield {"measure": "adjusted_rand", "t_v": t_v, "t_d": t_d} | claimed, values

    def assessed(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Floats:
        """Return dependences in a `cell`, drawn with `generator`, shape (`replicates`, pairs)."""
        protocol = self._protocol(cell)
        tables = protocol.tables(protocol.drawn_reports(self.data, generator, replicates))
        return self._measured(tables)

    def _measured(self, tables: Mapping[rr.Pair, npt.ArrayLike]) -> Floats:
        found = [rr.dependence_of_tables(tables[pair], how) for pair, how in self.measures.items()]
        return np.asarray(np.round(np.stack(found, axis=-1), DECIMALS), dtype=float)

    def clusters(self, dependences: Floats, t_v: int, t_d: float) -> rr.Clustering:
        """Return clusters of at most `t_v` cells, by the order of `dependences` >= `t_d`."""
        above, descending = at_least(dependences, t_d), scipy.stats.rankdata(-dependences, "dense")
        return self._of_ranks(t_v, tuple(np.where(above, -descending, -np.inf).tolist()))

    @cached_property
    def _of_ranks(self) -> Callable[[int, tuple[float, ...]], rr.Clustering]:
        pairs = pd.DataFrame(list(self.measures), columns=["attribute_1", "attribute_2"])
        form = partial(rr.cluster_attributes, self.data.domain, least_dependence=-len(pairs))
        return cache(lambda t_v, ranks: form(pairs.assign(dependence=ranks), largest_cells=t_v))


def rank_correlations(assessed: Floats, true: Floats) -> Floats:
    """Return Spearman's correlation of each row of `assessed` with `true`; 0 for constant rows."""
    ranks = pd.DataFrame(scipy.stats.rankdata(assessed, axis=-1).T)
    correlations = ranks.corrwith(pd.Series(scipy.stats.rankdata(true)))
    return np.asarray(correlations.fillna(0), dtype=float)


@cache
def adjusted_rand(names: tuple[str, ...], first: rr.Clustering, second: rr.Clustering) -> float:
    """Return the adjusted Rand index of clusterings (Hubert and Arabie, 1985); 1 if equal."""
    with from_extras():
        from sklearn.metrics import (  # type: ignore[import-untyped] # noqa: PLC0415 - slow to import
            adjusted_rand_score,
        )

    labels = (
        [next(i for i, cluster in enumerate(clusters) if name in cluster) for name in names]
        for clusters in (first, second)
    )
    return float(adjusted_rand_score(*labels))


def masked_pairs(
    protocol: rr.PairReports, data: Microdata, source: RandomSource
) -> dict[rr.Pair, Microdata]:
    """Randomize each pair of attributes in `data` by a `protocol`, `source` (4.3, step 3a)."""
    masked = {}
    for pair, channel in protocol.channels.items():
        part = data.project(pair)
        reports = channel.randomize(part.domain.ravel(part.columns), source)
        masked[pair] = Microdata(part.domain, part.domain.unravel(reports))
    return masked


def secure_assessments(data: Microdata, root_seed: int, parties: int) -> pd.DataFrame:
    """Assess dependences by secure sums of original pairs (4.2) and of randomized pairs (4.3).

    A few `parties`, drawn from the `data` by the `root_seed`, run the protocol itself. The result
    has one row per method, which compares dependences with those from plain counts of the pairs.
    """
    generator = generator_for(root_seed, {"study": "secure_assessment"})
    chosen = generator.choice(len(data), parties, replace=False)
    few = Microdata(data.domain, tuple(column[chosen] for column in data.columns))
    masking = rr.PairReports(data.domain, 0.7, "keep")
    true = {pair: few.project(pair) for pair in masking.channels}
    exact = _assessed(rr.SecureSum(data.domain), true, generator)
    masked = _assessed(masking, masked_pairs(masking, few, generator), generator)
    rows = [
        {"method": "secure_sum", "matrix": None, "p": None} | exact,
        {"method": "pairs_joint", "matrix": masking.reading, "p": masking.p} | masked,
    ]
    return pd.DataFrame(rows)


def _assessed(
    protocol: rr.SecureSum | rr.PairReports,
    pairs: Mapping[rr.Pair, Microdata],
    source: RandomSource,
) -> dict[str, Any]:
    measures = rr.pair_measures(protocol.domain)
    counted = {pair: rr.bivariate_distribution(part, pair, source) for pair, part in pairs.items()}
    sums = {pair: each.table for pair, each in counted.items()}
    direct = {pair: part.counts(pair) for pair, part in pairs.items()}
    found, words = [], []
    for counts in (sums, direct):
        found.append(rr.dependences_from_tables(protocol.tables(counts), measures))
        formed = rr.cluster_attributes(protocol.domain, found[-1], MAX_CELLS, LEAST_DEPENDENCE)
        words.append("; ".join(" x ".join(cluster) for cluster in formed if len(cluster) > 1))
    differences = found[0]["dependence"] - found[1]["dependence"]
    sent = [e.traffic["share_messages"] + e.traffic["broadcasts"] for e in counted.values()]
    return rr.epsilons(protocol) | {
        "parties": len(next(iter(pairs.values()))),
        "pairs": len(pairs),
        "messages": sum(sent),
        "equals_direct_counts": all(np.array_equal(sums[pair], direct[pair]) for pair in pairs),
        "largest_difference": float(differences.abs().max()),
        "clusters": words[0],
        "clusters_direct": words[1],
        "clusters_equal": words[0] == words[1],
    }
