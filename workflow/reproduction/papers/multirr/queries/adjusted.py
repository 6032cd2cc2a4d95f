"""Count queries of two attributes by four methods: Figure 3 of [multirr] (6.2).

In the text, a replicate asks one random query about two random attributes. Here it asks about every
pair at each coverage, because randomization takes more time than queries. RR-Adjustment weights
records, so whole records are randomized. All methods and projections answer the same queries from
the same responses, and are compared replicate by replicate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np

from deniable.arrays import Flags, Floats
from deniable.estimation import random_queries, relative_errors
from deniable.randomized_response import Protocol, weighted_pairs
from deniable.records import Microdata

from reproduction.papers.multirr.queries.shared import (
    PROJECTIONS,
    OfTrueRecords,
    adjust_quietly,
    joint_of,
)
from reproduction.study import Cell, Comparisons, How, Output, Simulated

UNIFORM = "uniform"
METHODS = ("rr_independent", "rr_clusters", "rr_independent_adjustment", "rr_clusters_adjustment")
ERROR = "relative_error"
NAMES = ("measure", "projection", "sigma", "method", "against")
"""The columns that name an output. ``against`` is the other method of a comparison."""
WORK = ("sweeps", "gap", "left_out")
"""Measures of an adjustment: its sweeps over the attributes, the largest remaining gap between a
marginal distribution and its target, and the sum of the targets that no record could meet."""
Answers = tuple[list[Floats], Sequence[Floats], tuple[float, ...]]


def answers_of(protocol: Protocol, records: Microdata, joints: Sequence[Floats]) -> Answers:
    """Return distributions of all pairs, with independent clusters and adjusted, and `WORK`.

    The `joints` are estimates for the clusters of a `protocol` from its randomized `records`.
    """
    joint_by = dict(zip(protocol.clusters, joints, strict=True))
    independent = [
        joint_of(pair, {c: joint for c, joint in joint_by.items() if {*pair} & {*c}})
        for pair in combinations(records.domain.names, 2)
    ]
    columns = [of.domain.ravel(of.columns) for of in map(records.project, protocol.clusters)]
    adjustment = adjust_quietly(columns, [joint.reshape(-1) for joint in joints])
    adjusted = weighted_pairs(records.columns, adjustment.weights, records.domain.shape)
    left_out = sum(target for *_, target in adjustment.unreachable)
    return independent, adjusted, (float(adjustment.sweeps), adjustment.gap, left_out)


@dataclass(frozen=True, eq=False)
class AdjustedQueries(OfTrueRecords):
    """Simulator of Figure 3 on original records, `data`, with some attributes `ordinal`.

    Queries have the `coverages` (sigma). Estimates have the `projections`, names in `PROJECTIONS`.
    `more` lists settings with more replicates: mechanism, p, replicates.
    """

    data: Microdata
    coverages: tuple[float, ...]
    projections: tuple[str, ...]
    ordinal: tuple[str, ...] = ()
    methods: ClassVar[tuple[str, ...]] = METHODS
    more: tuple[Mapping[str, Any], ...] = ()

    def wanted(self, cell: Cell, values: Floats) -> int:
        names = ("mechanism", "p")
        own = (each for each in self.more if all(each[name] == cell[name] for name in names))
        return max((each["replicates"] for each in own), default=len(values))

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        return list(combinations(self.data.domain.names, 2))

    def compared(self, outputs: Sequence[Output]) -> Comparisons:
        """Return differences and ratios of errors in `outputs`: each method to earlier ones."""
        errors = [(place, each) for place, each in enumerate(outputs) if each["measure"] == ERROR]
        hows: tuple[How, ...] = ("difference", "ratio")
        return [
            ({**one, "measure": f"{ERROR}_{how}", "against": base["method"]}, how, (place, before))
            for (before, base), (place, one) in combinations(errors, 2)
            if all(one[name] == base[name] for name in ("projection", "sigma"))
            for how in hows
        ]

    def spends(self, cell: Cell, output: Mapping[str, Any]) -> Mapping[str, float]:
        alone = output["method"].startswith("rr_independent")
        return (self.independent(cell) if alone else self.clustered(cell)).spends

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        alone, grouped = self.independent(cell).protocol, self.clustered(cell).protocol
        first = [alone.randomize(self.data, generator) for _ in range(replicates)]
        # With separate matrices for attributes, both protocols randomize in the same way.
        same = cell["mechanism"] == "kronecker"
        second = first if same else [grouped.randomize(self.data, generator) for _ in first]
        queries = self._ask(generator, replicates)
        shape = (len(self.coverages), len(self.methods), len(self.pairs))
        errors = np.empty((replicates, len(self.projections), *shape))
        work = np.empty((replicates, len(self.projections), 2, len(WORK)))
        for number, projection in enumerate(self.projections):
            joints = _estimate(alone, first, projection), _estimate(grouped, second, projection)
            for run in range(replicates):
                one = answers_of(alone, first[run], joints[0][run])
                other = answers_of(grouped, second[run], joints[1][run])
                work[run, number] = one[2], other[2]
                by_pair = zip(self.pairs, queries, one[0], other[0], one[1], other[1], strict=True)
                for nth, (pair, asked, *tables) in enumerate(by_pair):
                    errors[run, number, :, :, nth] = self._errors(tables, pair, asked[run])
        settings = product((ERROR,), self.projections, self.coverages, self.methods)
        columns = errors.reshape(replicates, -1, len(self.pairs)).swapaxes(0, 1)
        for each, values in zip(settings, columns, strict=True):
            yield dict(zip(NAMES, (*each, None), strict=True)), values
        adjustments = product(self.projections, METHODS[2:], WORK)
        told = work.reshape(replicates, -1).T[..., None]  # the same for all pairs
        for (projection, method, measure), values in zip(adjustments, told, strict=True):
            yield dict(zip(NAMES, (measure, projection, None, method, None), strict=True)), values

    def _ask(self, generator: np.random.Generator, replicates: int) -> list[Flags]:
        sizes = [self.data.domain.project(pair).size for pair in self.pairs]
        draw = partial(random_queries, queries=replicates, generator=generator)
        return [np.stack([draw(size, each) for each in self.coverages], axis=1) for size in sizes]

    def _errors(self, tables: list[Floats], pair: tuple[str, str], queries: Flags) -> Floats:
        """Return relative errors of a pair's `tables` by method, shape (coverages, methods)."""
        true = self.counts(pair).reshape(-1).astype(float)
        asked = queries.astype(float)
        answers = asked @ np.stack([table.reshape(-1) for table in tables], axis=1)
        return relative_errors(true.sum() * answers, (asked @ true)[:, None])


@dataclass(frozen=True, eq=False)
class StatedQueries(AdjustedQueries):
    """Simulator of settings with a stated ε, on all attributes of original `data` or on `few`.

    Each method appears once at an ε, under a name of its own. RR-Independent and its adjustment
    come from settings with *kronecker* clusters, RR-Joint from settings with one *joint* cluster of
    all attributes. ``uniform`` is an answer without data.
    """

    few: tuple[str, ...] = ()
    methods: ClassVar[tuple[str, ...]] = (*METHODS, UNIFORM)

    @cached_property
    def _of_few(self) -> "StatedQueries":
        ordinal = tuple(name for name in self.ordinal if name in self.few)
        return replace(self, data=self.data.project(self.few), ordinal=ordinal)

    def _on(self, cell: Cell) -> "StatedQueries":
        return self if cell["attributes"] == "all" else self._of_few

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        clusters = self._on(cell).clusters(cell)
        grouped = f"rr_clusters_{cell['mechanism']}"
        called = {"rr_clusters": grouped, "rr_clusters_adjustment": f"{grouped}_adjustment"}
        if cell["mechanism"] == "kronecker":
            alone = ("rr_independent", "rr_independent_adjustment", UNIFORM)
            called |= dict(zip(alone, alone, strict=True))
        elif len(clusters) == 1:
            # With a single cluster, adjustment has no effect.
            called = {"rr_clusters": "rr_joint"}
        every = AdjustedQueries.simulate(self._on(cell), cell, generator, replicates)
        for each, values in every:
            if each["measure"] == ERROR and each["method"] in called:
                yield {**each, "method": called[each["method"]], "clusters": len(clusters)}, values

    def compared(self, outputs: Sequence[Output]) -> Comparisons:
        return []  # methods are compared by their intervals

    def spends(self, cell: Cell, output: Mapping[str, Any]) -> Mapping[str, float]:
        if output["method"] == UNIFORM:
            return {}
        return AdjustedQueries.spends(self._on(cell), cell, output)

    def _errors(self, tables: list[Floats], pair: tuple[str, str], queries: Flags) -> Floats:
        size = self.data.domain.project(pair).size
        return super()._errors([*tables, np.full(size, 1 / size)], pair, queries)


def _estimate(protocol: Protocol, runs: Sequence[Microdata], name: str) -> list[tuple[Floats, ...]]:
    parts = []
    for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True):
        counts = np.stack([reports.counts(cluster).reshape(-1) for reports in runs])
        shape = protocol.domain.project(cluster).shape
        estimates = PROJECTIONS[name](counts, channel)
        parts.append(estimates.reshape(len(runs), *shape))
    return [tuple(part[run] for part in parts) for run in range(len(runs))]
