"""Count queries of two attributes by four methods: Figure 3 of [multirr] (6.2).

A run picks two random attributes and asks one random query of each coverage. Every record is
randomized as a whole, for RR-Independent and for RR-Clusters; RR-Adjustment weights records, so
records are drawn. All methods and all projections answer the same queries from the same reports.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations, product
from operator import mul
from typing import Any

import numpy as np

from deniable.arrays import Codes, Floats
from deniable.estimation import random_queries, relative_errors
from deniable.papers.multirr.queries import PROJECTIONS, OfTrueRecords, margin_over
from deniable.randomized_response import (
    Adjustment,
    Protocol,
    adjust,
    rr_clusters,
    rr_independent,
    weighted_table,
)
from deniable.records import Microdata

METHODS = (
    "rr_independent",
    "rr_clusters",
    "rr_independent_adjustment",
    "rr_clusters_adjustment",
)
WORK = ("sweeps", "gap", "left_out")
"""What is told of each adjustment: sweeps over the attributes, the largest gap between a margin and
its target that is left, and the sum of the targets that no record could meet."""


@dataclass(frozen=True, eq=False)
class _Reports:
    """Randomized records of a run, and what they estimate.

    `joints` has for each cluster the estimated distribution over its cells, shaped as a table.
    """

    protocol: Protocol
    records: Microdata
    joints: tuple[Floats, ...]

    def independent_pair(self, pair: tuple[str, str]) -> Floats:
        """Return the pair's joint distribution, clusters being taken as independent."""
        margins = (
            margin_over(pair, cluster, joint)
            for cluster, joint in zip(self.protocol.clusters, self.joints, strict=True)
            if not set(cluster).isdisjoint(pair)
        )
        return reduce(mul, margins)

    def adjusted_pair(self, pair: tuple[str, str]) -> Floats:
        """Return the pair's joint distribution in the weighted records."""
        shape = self.records.domain.project(pair).shape
        first, second = (self.records.column(name) for name in pair)
        return weighted_table(first, second, self.adjustment.weights, shape)

    @cached_property
    def adjustment(self) -> Adjustment:
        """The records' RR-Adjustment to the clusters' distributions."""
        columns: list[Codes] = []
        for cluster in self.protocol.clusters:
            part = self.records.project(cluster)
            alone = len(cluster) == 1
            columns.append(part.columns[0] if alone else part.domain.ravel(part.columns))
        with warnings.catch_warnings():
            # What they would say run by run is in the study's own outputs.
            warnings.filterwarnings("ignore", ".*left out|RR-Adjustment stopped", RuntimeWarning)
            return adjust(columns, [joint.reshape(-1) for joint in self.joints])

    @property
    def work(self) -> tuple[float, ...]:
        """What is told of the adjustment: `WORK`."""
        left_out = sum(each.target for each in self.adjustment.unreachable)
        return float(self.adjustment.sweeps), self.adjustment.gap, left_out


@dataclass(frozen=True, eq=False)
class AdjustedQueries(OfTrueRecords):
    """Simulates cells of Figure 3, on the true records of Adult.

    The coverages are sigma, the shares of the two attributes' cells that queries ask for; the
    projections are keys of `PROJECTIONS`.
    """

    data: Microdata
    coverages: tuple[float, ...]
    projections: tuple[str, ...]
    ordinal: tuple[str, ...] = ()

    def outputs(self, cell: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return what a run yields: errors of the queries, and the work of the adjustments."""
        errors = product(("relative_error",), self.projections, self.coverages, METHODS)
        work = product(self.projections, METHODS[2:], WORK)
        found = [*errors, *((measure, of, None, method) for of, method, measure in work)]
        names = ("measure", "projection", "sigma", "method")
        return [dict(zip(names, each, strict=True)) for each in found]

    def __call__(
        self, cell: Mapping[str, Any], generator: np.random.Generator, replicates: int
    ) -> Floats:
        """Return the outputs of each run, shape (replicates, outputs).

        A cell has matrix, mechanism, t_v, t_d, p.
        """
        domain, p, matrix = self.data.domain, cell["p"], cell["matrix"]
        alone = rr_independent(domain, p, matrix)
        grouped = rr_clusters(domain, self.clusters(cell), p, matrix, cell["mechanism"])
        first = [alone.randomize(self.data, generator) for _ in range(replicates)]
        # Attribute by attribute, both protocols are one and the same randomization.
        same = cell["mechanism"] == "kronecker"
        second = first if same else [grouped.randomize(self.data, generator) for _ in first]
        pairs, queries = self._ask(generator, replicates)
        errors = np.empty((replicates, len(self.projections), len(self.coverages), len(METHODS)))
        work = np.empty((replicates, len(self.projections), 2, len(WORK)))
        for number, projection in enumerate(self.projections):
            joints = _estimate(alone, first, projection), _estimate(grouped, second, projection)
            for run in range(replicates):
                reports = (
                    _Reports(alone, first[run], joints[0][run]),
                    _Reports(grouped, second[run], joints[1][run]),
                )
                work[run, number] = [each.work for each in reports]
                errors[run, number] = self._errors(reports, pairs[run], queries[run])
        return np.hstack([errors.reshape(replicates, -1), work.reshape(replicates, -1)])

    def _ask(
        self, generator: np.random.Generator, replicates: int
    ) -> tuple[list[tuple[str, str]], list[Floats]]:
        """Draw for each run two attributes, and a query of their cells at each coverage."""
        every = list(combinations(self.data.domain.names, 2))
        pairs = [every[number] for number in generator.integers(len(every), size=replicates)]
        queries = []
        for pair in pairs:
            cells = self.data.domain.project(pair).size
            asked = [random_queries(cells, sigma, 1, generator)[0] for sigma in self.coverages]
            queries.append(np.array(asked, dtype=float))
        return pairs, queries

    def _errors(
        self, reports: Sequence[_Reports], pair: tuple[str, str], queries: Floats
    ) -> Floats:
        """Return the relative errors of one run, shape (coverages, methods)."""
        tables = [each.independent_pair(pair) for each in reports]
        tables += [each.adjusted_pair(pair) for each in reports]
        true = self.counts(pair).reshape(-1).astype(float)
        answers = queries @ np.stack([table.reshape(-1) for table in tables], axis=1)
        return relative_errors(true.sum() * answers, (queries @ true)[:, None])


def _estimate(
    protocol: Protocol, runs: Sequence[Microdata], projection: str
) -> list[tuple[Floats, ...]]:
    """Return for each run the estimated distributions of all clusters, as tables."""
    parts = []
    for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
        counts = np.stack([reports.counts(cluster).reshape(-1) for reports in runs])
        shape = protocol.domain.project(cluster).shape
        estimates = PROJECTIONS[projection](counts, channel)
        parts.append(estimates.reshape(len(runs), *shape))
    return [tuple(part[run] for part in parts) for run in range(len(runs))]
