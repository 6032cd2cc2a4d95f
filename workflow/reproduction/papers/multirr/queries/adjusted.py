"""Count queries of two attributes by four methods: Figure 3 of [multirr] (6.2).

A replicate of the text asks one random query about two random attributes. Here it asks about every
pair at each coverage, because randomization costs more than queries. RR-Adjustment weights records,
so whole records are randomized. All methods and projections answer the same queries from the same
responses, and are compared replicate by replicate.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations, product
from operator import mul
from typing import Any, ClassVar

import numpy as np

from deniable.arrays import Codes, Flags, Floats
from deniable.estimation import random_queries, relative_errors
from deniable.randomized_response import Adjustment, Protocol, adjust, weighted_pairs
from deniable.records import Microdata

from reproduction.papers.multirr.queries.shared import (
    PROJECTIONS,
    OfTrueRecords,
    is_touched,
    margin_over,
)
from reproduction.study import Cell, How

METHODS = ("rr_independent", "rr_clusters", "rr_independent_adjustment", "rr_clusters_adjustment")
ERROR = "relative_error"
NAMES = ("measure", "projection", "sigma", "method", "against")
"""They name an output. ``against`` is the method that another is compared with."""
WORK = ("sweeps", "gap", "left_out")
"""Of an adjustment: its sweeps over the attributes, the largest remaining gap between a marginal
distribution and its target, and the sum of the targets that no record could meet."""


@dataclass(frozen=True, eq=False)
class Reports:
    """Randomized `records` of a replicate, and estimates `joints` for the `protocol`'s clusters."""

    protocol: Protocol
    records: Microdata
    joints: tuple[Floats, ...]

    def independent_pair(self, pair: tuple[str, str]) -> Floats:
        """Return the joint distribution of a `pair` if clusters are independent."""
        margins = (
            margin_over(pair, cluster, joint)
            for cluster, joint in zip(self.protocol.clusters, self.joints, strict=True)
            if is_touched(cluster, pair)
        )
        return reduce(mul, margins)

    @cached_property
    def adjusted_pairs(self) -> dict[tuple[str, ...], Floats]:
        """Joint distributions of all pairs in the weighted records."""
        domain = self.records.domain
        found = weighted_pairs(self.records.columns, self.adjustment.weights, domain.shape)
        return dict(zip(combinations(domain.names, 2), found, strict=True))

    @cached_property
    def adjustment(self) -> Adjustment:
        """The records' RR-Adjustment to the clusters' distributions."""
        columns: list[Codes] = []
        for cluster in self.protocol.clusters:
            part = self.records.project(cluster)
            alone = len(cluster) == 1
            columns.append(part.columns[0] if alone else part.domain.ravel(part.columns))
        with warnings.catch_warnings():
            # The outputs `WORK` have the same facts.
            warnings.filterwarnings("ignore", ".*left out|RR-Adjustment stopped", RuntimeWarning)
            return adjust(columns, [joint.reshape(-1) for joint in self.joints])

    @property
    def work(self) -> tuple[float, ...]:
        """The numbers `WORK` of the adjustment."""
        left_out = sum(each.target for each in self.adjustment.unreachable)
        return float(self.adjustment.sweeps), self.adjustment.gap, left_out


@dataclass(frozen=True, eq=False)
class AdjustedQueries(OfTrueRecords):
    """Simulates cells of Figure 3 on original records, `data`, with some attributes `ordinal`.

    Queries have the `coverages` (sigma), estimates the `projections` (of `PROJECTIONS`). `more` are
    cells with more replicates: mechanism, p, replicates.
    """

    data: Microdata
    coverages: tuple[float, ...]
    projections: tuple[str, ...]
    ordinal: tuple[str, ...] = ()
    methods: ClassVar[tuple[str, ...]] = METHODS
    more: tuple[Mapping[str, Any], ...] = ()

    def wanted(self, cell: Cell, values: Floats) -> int:
        """Return the number of replicates of a `cell`, given the `values` of those that it has."""
        asked = (
            each["replicates"]
            for each in self.more
            if (each["mechanism"], each["p"]) == (cell["mechanism"], cell["p"])
        )
        return max(asked, default=len(values))

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of attributes."""
        return list(combinations(self.data.domain.names, 2))

    def outputs(self, cell: Cell) -> list[dict[str, Any]]:
        """Return the name of each output of a `cell`: errors of queries, work of adjustments."""
        errors = product((ERROR,), self.projections, self.coverages, self.methods)
        work = product(self.projections, METHODS[2:], WORK)
        found = [*errors, *((measure, of, None, method) for of, method, measure in work)]
        return [dict(zip(NAMES, (*each, None), strict=True)) for each in found]

    def compared(self, cell: Cell) -> list[tuple[dict[str, Any], How, tuple[int, int]]]:
        """Return the differences and ratios of each method to those before it, in any `cell`."""
        settings = enumerate(product(self.projections, self.coverages))
        methods = combinations(range(len(METHODS)), 2)
        hows: tuple[How, ...] = ("difference", "ratio")
        found = []
        for (number, setting), (base, method), how in product(settings, methods, hows):
            each = (f"{ERROR}_{how}", *setting, METHODS[method], METHODS[base])
            start = number * len(METHODS)
            name = dict(zip(NAMES, each, strict=True))
            found.append((name, how, (start + method, start + base)))
        return found

    def spends(self, cell: Cell, output: Mapping[str, Any]) -> Mapping[str, float]:
        """Return the p of a `cell` and the epsilons of an `output`'s method."""
        alone = output["method"].startswith("rr_independent")
        return (self.independent(cell) if alone else self.clustered(cell)).spends

    def __call__(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Floats:
        """Return the outputs, shape (replicates, outputs, pairs).

        A cell has matrix, mechanism, t_v, t_d, and p or a record's epsilon.
        """
        alone, grouped = self.independent(cell).protocol, self.clustered(cell).protocol
        first = [alone.randomize(self.data, generator) for _ in range(replicates)]
        # Attribute by attribute, both protocols are the same randomization.
        same = cell["mechanism"] == "kronecker"
        second = first if same else [grouped.randomize(self.data, generator) for _ in first]
        queries = self._ask(generator, replicates)
        shape = (len(self.coverages), len(self.methods), len(self.pairs))
        errors = np.empty((replicates, len(self.projections), *shape))
        work = np.empty((replicates, len(self.projections), 2, len(WORK)))
        for number, projection in enumerate(self.projections):
            joints = _estimate(alone, first, projection), _estimate(grouped, second, projection)
            for run in range(replicates):
                reports = (
                    Reports(alone, first[run], joints[0][run]),
                    Reports(grouped, second[run], joints[1][run]),
                )
                work[run, number] = [each.work for each in reports]
                for nth, pair in enumerate(self.pairs):
                    asked = queries[nth][run]
                    errors[run, number, :, :, nth] = self._errors(reports, pair, asked)
        told = np.repeat(work.reshape(replicates, -1, 1), len(self.pairs), axis=2)
        return np.concatenate([errors.reshape(replicates, -1, len(self.pairs)), told], axis=1)

    def _ask(self, generator: np.random.Generator, replicates: int) -> list[Flags]:
        """Draw a query for each pair, replicate and coverage."""
        sizes = [self.data.domain.project(pair).size for pair in self.pairs]
        return [
            np.stack(
                [random_queries(size, sigma, replicates, generator) for sigma in self.coverages],
                axis=1,
            )
            for size in sizes
        ]

    def _tables(self, reports: Sequence[Reports], pair: tuple[str, str]) -> list[Floats]:
        """Return the joint distribution of a pair by each method."""
        tables = [each.independent_pair(pair) for each in reports]
        return tables + [each.adjusted_pairs[pair] for each in reports]

    def _errors(self, reports: Sequence[Reports], pair: tuple[str, str], queries: Flags) -> Floats:
        """Return the relative errors of one replicate and pair, shape (coverages, methods)."""
        tables = self._tables(reports, pair)
        true = self.counts(pair).reshape(-1).astype(float)
        asked = queries.astype(float)
        answers = asked @ np.stack([table.reshape(-1) for table in tables], axis=1)
        return relative_errors(true.sum() * answers, (asked @ true)[:, None])


def _estimate(
    protocol: Protocol, runs: Sequence[Microdata], projection: str
) -> list[tuple[Floats, ...]]:
    """Return the estimated distributions of all clusters for each replicate, as tables."""
    parts = []
    for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
        counts = np.stack([reports.counts(cluster).reshape(-1) for reports in runs])
        shape = protocol.domain.project(cluster).shape
        estimates = PROJECTIONS[projection](counts, channel)
        parts.append(estimates.reshape(len(runs), *shape))
    return [tuple(part[run] for part in parts) for run in range(len(runs))]
