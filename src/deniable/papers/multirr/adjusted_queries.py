"""Count queries under the four methods of [multirr], 6.2: Figure 3.

A run randomizes every record, for RR-Independent and for RR-Clusters; estimates; adjusts; and asks
one random query of two random attributes at each coverage. All methods and projections answer the
same queries from the same reports. RR-Adjustment weights records, so records are drawn here.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Codes, Counts, Floats
from deniable.estimation import random_queries, relative_errors
from deniable.papers.multirr.cluster_queries import PROJECTIONS
from deniable.randomized_response import (
    Adjustment,
    Clusters,
    Protocol,
    adjust,
    cluster_attributes,
    dependences,
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
        table = np.ones((1, 1))
        for cluster, joint in zip(self.protocol.clusters, self.joints, strict=True):
            inside = [name for name in cluster if name in pair]
            if inside:
                outside = tuple(i for i, name in enumerate(cluster) if name not in pair)
                margin = joint.sum(axis=outside)
                table = table * (margin if len(inside) == 2 else _along(margin, inside[0], pair))
        return table

    def adjusted_pair(self, pair: tuple[str, str], weights: Floats) -> Floats:
        """Return the pair's joint distribution in the weighted records."""
        domain = self.records.domain.project(pair)
        return weighted_table(
            self.records.column(pair[0]), self.records.column(pair[1]), weights, domain.shape
        )

    def adjustment(self) -> Adjustment:
        """Return the records' RR-Adjustment to the clusters' distributions."""
        columns: list[Codes] = []
        for cluster in self.protocol.clusters:
            part = self.records.project(cluster)
            alone = len(cluster) == 1
            columns.append(part.columns[0] if alone else part.domain.ravel(part.columns))
        with warnings.catch_warnings():
            # What they would say run by run is in the study's own outputs.
            warnings.filterwarnings("ignore", ".*left out|RR-Adjustment stopped", RuntimeWarning)
            return adjust(columns, [joint.reshape(-1) for joint in self.joints])


@dataclass(frozen=True, eq=False)
class AdjustedQueries:
    """Simulates cells of Figure 3.

    Parameters
    ----------
    data : Microdata
        The true records of Adult.
    coverages : tuple of float
        sigma, the shares of the two attributes' cells that queries ask for.
    projections : tuple of "clip", "simplex" and "likelihood"
    ordinal : tuple of str
        Attributes taken as ordinal when dependences are measured.
    """

    data: Microdata
    coverages: tuple[float, ...]
    projections: tuple[str, ...]
    ordinal: tuple[str, ...] = ()
    _pairs: dict[tuple[str, str], Counts] = field(default_factory=dict, repr=False)

    @cached_property
    def dependences(self) -> pd.DataFrame:
        """Dependences on the true data, as the paper's experiments use them."""
        return dependences(self.data, self.ordinal)

    def outputs(self, cell: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return what a run yields: errors of the queries, and the work of the adjustments."""
        return [
            {
                "measure": "relative_error",
                "projection": projection,
                "sigma": sigma,
                "method": method,
            }
            for projection in self.projections
            for sigma in self.coverages
            for method in METHODS
        ] + [
            {"measure": measure, "projection": projection, "sigma": None, "method": method}
            for projection in self.projections
            for method in METHODS[2:]
            for measure in WORK
        ]

    def clusters(self, cell: Mapping[str, Any]) -> Clusters:
        """Return the clusters of a cell."""
        return cluster_attributes(self.data.domain, self.dependences, cell["t_v"], cell["t_d"])

    def __call__(
        self, cell: Mapping[str, Any], generator: np.random.Generator, replicates: int
    ) -> Floats:
        """Return the outputs of each run, shape (replicates, outputs).

        Parameters
        ----------
        cell : mapping
            matrix, mechanism, t_v, t_d, p.
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
                adjusted = [each.adjustment() for each in reports]
                work[run, number] = [_work(each) for each in adjusted]
                weights = [each.weights for each in adjusted]
                errors[run, number] = self._errors(reports, weights, pairs[run], queries[run])
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
        self,
        reports: Sequence[_Reports],
        weights: Sequence[Floats],
        pair: tuple[str, str],
        queries: Floats,
    ) -> Floats:
        """Return the relative errors of one run, shape (coverages, methods)."""
        tables = [each.independent_pair(pair) for each in reports] + [
            each.adjusted_pair(pair, own) for each, own in zip(reports, weights, strict=True)
        ]
        true = self._counts(pair).reshape(-1).astype(float)
        answers = queries @ np.stack([table.reshape(-1) for table in tables], axis=1)
        return relative_errors(true.sum() * answers, (queries @ true)[:, None])

    def _counts(self, pair: tuple[str, str]) -> Counts:
        if pair not in self._pairs:
            self._pairs[pair] = self.data.counts(pair)
        return self._pairs[pair]


def _work(adjustment: Adjustment) -> tuple[float, float, float]:
    left_out = sum(each.target for each in adjustment.unreachable)
    return float(adjustment.sweeps), adjustment.gap, left_out


def _along(margin: Floats, name: str, pair: tuple[str, str]) -> Floats:
    return margin[:, None] if name == pair[0] else margin[None, :]


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
