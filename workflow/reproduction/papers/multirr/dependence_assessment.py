"""What assessing dependences without a trusted party leaves of ranks and clusters.

A run assesses the dependence of all pairs once. What is kept of their order (4.1 asks for no more)
is Spearman's correlation with the true ones; what is kept of the clusters of Algorithm 1 is their
adjusted Rand index. Pairs of 4.1 share one randomization, so records are drawn there; in 4.2 and
4.3 pairs are independent, and counts are drawn. The secure sum's aggregate equals the contingency
table, which is used in its place: the protocol takes n * n messages a count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from deniable.arrays import Floats, at_least
from deniable.errors import from_extras
from deniable.randomized_response import (
    AssessmentProtocol,
    Clusters,
    Measure,
    Pair,
    PairReports,
    assessment_protocol,
    cluster_attributes,
    dependence_of_tables,
    epsilons,
    pair_measures,
)
from deniable.records import Microdata

from reproduction.study import Cell

DECIMALS = 12
"""Of a dependence: what a singular channel erases has dependence 0, whatever rounding leaves."""


@dataclass(frozen=True, eq=False)
class DependenceAssessment:
    """Simulates assessments of dependences of true records, `data`, with some attributes `ordinal`.

    Clusters are formed by Algorithm 1 at all combinations of `t_v` and `t_d`.
    """

    data: Microdata
    ordinal: tuple[str, ...] = ()
    t_v: Sequence[int] = ()
    t_d: Sequence[float] = ()
    _formed: dict[tuple[int, tuple[int, ...]], Clusters] = field(
        default_factory=dict, init=False, repr=False
    )

    @cached_property
    def measures(self) -> dict[Pair, Measure]:
        """How the dependence of each pair is measured."""
        return pair_measures(self.data.domain, self.ordinal)

    @cached_property
    def true_dependences(self) -> Floats:
        """Dependences of the true data, a number a pair."""
        return self._measured({pair: self.data.counts(pair) for pair in self.measures})

    def outputs(self, cell: Cell) -> list[dict[str, Any]]:
        """Return what a run of a `cell` yields, with a record's epsilon as the text takes it."""
        protocol = self._protocol(cell)
        exact = protocol.epsilon
        claimed = protocol.waived_epsilon if isinstance(protocol, PairReports) else exact
        risk = {"epsilon_claimed": claimed}
        return [{"measure": "spearman", "t_v": None, "t_d": None} | risk] + [
            {"measure": "adjusted_rand", "t_v": t_v, "t_d": t_d} | risk
            for t_v, t_d in product(self.t_v, self.t_d)
        ]

    def _protocol(self, cell: Cell) -> AssessmentProtocol:
        """Return the protocol of a cell: its method, at its p and matrix."""
        return assessment_protocol(cell["method"], self.data.domain, cell["p"], cell["matrix"])

    def spends(self, cell: Cell, output: Mapping[str, Any]) -> Mapping[str, float]:
        """Return what assessing spends in a `cell`, whatever the `output`."""
        return epsilons(self._protocol(cell))

    def __call__(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Floats:
        """Return the outputs of runs, shape (replicates, outputs); cells: method, matrix, p."""
        assessed = self.assessed(cell, generator, replicates)
        columns: list[npt.ArrayLike] = [rank_correlations(assessed, self.true_dependences)]
        for t_v, t_d in product(self.t_v, self.t_d):
            true = self.clusters(self.true_dependences, t_v, t_d)
            found = [self.clusters(each, t_v, t_d) for each in assessed]
            columns.append([adjusted_rand(self.data.domain.names, true, each) for each in found])
        return np.column_stack(columns)

    def assessed(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Floats:
        """Return dependences as assessed in each run of a `cell`, shape (`replicates`, pairs).

        Reports are drawn by the `generator`.
        """
        protocol = self._protocol(cell)
        tables = protocol.tables(protocol.drawn_reports(self.data, generator, replicates))
        return self._measured(tables)

    def _measured(self, tables: Mapping[Pair, npt.ArrayLike]) -> Floats:
        found = [dependence_of_tables(tables[pair], how) for pair, how in self.measures.items()]
        return np.asarray(np.round(np.stack(found, axis=-1), DECIMALS), dtype=float)

    def clusters(self, dependences: Floats, t_v: int, t_d: float) -> Clusters:
        """Return Algorithm 1's clusters at `t_v` and `t_d`, by the `dependences` of all pairs.

        They are formed once for an order of dependences down to T_d.
        """
        above = at_least(dependences, t_d)
        ranks = np.where(above, scipy.stats.rankdata(-dependences, "dense"), 0).astype(int)
        key = (t_v, tuple(ranks.tolist()))
        if key not in self._formed:
            frame = pd.DataFrame(list(self.measures), columns=["attribute_1", "attribute_2"])
            frame["dependence"] = dependences
            self._formed[key] = cluster_attributes(self.data.domain, frame, t_v, t_d)
        return self._formed[key]


def rank_correlations(assessed: Floats, true: Floats) -> Floats:
    """Return Spearman's correlation of each row of `assessed` with `true`; 0 for equal numbers."""
    first = scipy.stats.rankdata(assessed, axis=-1)
    second = scipy.stats.rankdata(true)
    first, second = first - first.mean(axis=-1, keepdims=True), second - second.mean()
    scale = np.sqrt((first**2).sum(axis=-1) * (second**2).sum())
    correlations = np.zeros_like(scale)
    np.divide(first @ second, scale, out=correlations, where=scale > 0)
    return np.asarray(correlations)


@cache
def adjusted_rand(names: tuple[str, ...], first: Clusters, second: Clusters) -> float:
    """Return the adjusted Rand index (Hubert and Arabie, 1985) of clusterings; 1 for equal ones."""
    with from_extras():
        from sklearn.metrics import (  # type: ignore[import-untyped] # noqa: PLC0415 - slow to import
            adjusted_rand_score,
        )

    labels = (
        [next(i for i, cluster in enumerate(clusters) if name in cluster) for name in names]
        for clusters in (first, second)
    )
    return float(adjusted_rand_score(*labels))
