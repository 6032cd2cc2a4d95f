"""Relative error of count queries under RR-Clusters: Tables 1 and 2 of [multirr].

A run randomizes the data once, estimates each cluster's distribution, and asks one random query
over two random attributes (or more, where a cell says so). Only the counts of the clusters that the
query touches are drawn: the error depends on nothing else.

In a sweep over p, T_v, T_d and the number of records all thresholds of a cell answer the same
queries from the same randomization. Each output has the distribution that it would have alone,
differences between thresholds are more exact, and a cell of twenty costs as much as a few.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial, reduce
from itertools import combinations, product
from operator import mul
from typing import Any

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.channels import Channel
from deniable.estimation import random_queries, relative_errors
from deniable.randomized_response import Clusters, Protocol
from deniable.records import Microdata

from reproduction.papers.multirr.queries.shared import (
    PROJECTIONS,
    OfTrueRecords,
    margin_over,
    of_random_attributes,
)
from reproduction.study import Cell

COPIES = {"adult": 1, "adult6": 6}  # Adult6 is Adult concatenated six times ([multirr], 6.5)
ATTRIBUTES_OF_A_QUERY = 2


@dataclass(frozen=True, eq=False)
class ClusterQueries(OfTrueRecords):
    """Simulates cells of Tables 1 and 2 on `data`, the true records of Adult.

    Queries have a `coverage` of sigma; `ordinal` attributes are taken as such in dependences.
    """

    data: Microdata
    coverage: float
    ordinal: tuple[str, ...] = ()

    def protocol(self, cell: Cell) -> Protocol:
        """Return the protocol of a `cell`: its clusters and their channels."""
        return self.clustered(cell).protocol

    def spends(self, cell: Cell, output: Mapping[str, Any]) -> Mapping[str, float]:
        """Return the p of a `cell` and what is spent there, for the one `output`."""
        return self.clustered(cell).spends

    def outputs(self, cell: Cell) -> Sequence[Mapping[str, Any]]:
        """Return the one output of a run of any `cell`: the relative error of its query."""
        return ({},)

    def __call__(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Floats:
        """Return the relative error of each run's query, shape (replicates, 1).

        A cell has dataset, matrix, mechanism, projection, p, t_d, t_v; attributes, if a query has
        not 2.
        """
        protocol = self.protocol(cell)

        def errors(names: tuple[str, ...], runs: int) -> Floats:
            margins = (
                self.estimated_margin(cell, channel, cluster, names, generator, runs)
                for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True)
                if not set(cluster).isdisjoint(names)
            )
            estimated = reduce(mul, margins)
            true = self.true_counts(cell, names)
            queries = random_queries(true.size, self.coverage, runs, generator)
            shares = np.sum(estimated.reshape(runs, -1), axis=1, where=queries)
            return relative_errors(true.sum() * shares, queries @ true.astype(float))

        number = cell.get("attributes", ATTRIBUTES_OF_A_QUERY)
        sets = list(combinations(self.data.domain.names, number))
        chances = self.chances(cell, sets)
        return of_random_attributes(errors, sets, generator, replicates, chances)[:, None]

    def chances(self, cell: Cell, sets: Sequence[tuple[str, ...]]) -> Floats | None:
        """Return how probable each of the `sets` is in a query of a `cell`; None: all alike."""
        return None

    def true_counts(self, cell: Cell, names: tuple[str, ...]) -> Counts:
        """Return the counts over attributes, `names`, in all copies of the data set of a `cell`."""
        return self.counts(names).reshape(-1) * COPIES[cell.get("dataset", "adult")]

    def estimated_margin(
        self,
        cell: Cell,
        channel: Channel,
        cluster: tuple[str, ...],
        names: tuple[str, ...],
        generator: np.random.Generator,
        runs: int,
    ) -> Floats:
        """Estimate a `cluster` in `runs` of a `cell`; return `margin_over` the `names`.

        Reports are drawn through its `channel` by the `generator`.
        """
        true = self.true_counts(cell, cluster)
        reports = channel.randomize_counts(np.broadcast_to(true, (runs, true.size)), generator)
        shape = self.data.domain.project(cluster).shape
        joint = PROJECTIONS[cell["projection"]](reports, channel).reshape(runs, *shape)
        return margin_over(names, cluster, joint)


@dataclass(frozen=True, eq=False)
class ExploredQueries(ClusterQueries):
    """Simulates cells of Tables 1 and 2 under readings that the text does not give.

    `data` and `coverage` are as there. A cell's ``variation`` is ``ordinal``, where the `ordinal`
    attributes are taken as such, or ``clustered_pairs``, where none are and the attributes of a
    query share a cluster with probability `within`: such pairs are alike among each other, and so
    are all others.
    """

    within: float = 0.25

    @cached_property
    def _nominal(self) -> "ExploredQueries":
        return replace(self, ordinal=())

    def clusters(self, cell: Cell) -> Clusters:
        """Return the clusters that the T_v and T_d of a `cell` form."""
        if self.ordinal and cell["variation"] != "ordinal":
            return self._nominal.clusters(cell)
        return super().clusters(cell)

    def chances(self, cell: Cell, sets: Sequence[tuple[str, ...]]) -> Floats | None:
        """Return the chances of `sets` in a `cell`; None: alike, as if none or all are inside."""
        clusters = self.clusters(cell)
        inside = np.array([any(set(names) <= set(each) for each in clusters) for names in sets])
        if cell["variation"] != "clustered_pairs" or len(set(inside)) == 1:
            return None
        shares = self.within / inside.sum(), (1 - self.within) / (~inside).sum()
        return np.asarray(np.where(inside, *shares))


def resized(data: Microdata, records: int, seed: int) -> Microdata:
    """Return so many `records` of the `data`, in an order drawn with the `seed`, over and over.

    Smaller files are parts of larger ones; six times the length is the file six times, as Adult6.
    """
    order = np.resize(np.random.default_rng(seed).permutation(len(data)), records)
    return replace(data, columns=tuple(column[order] for column in data.columns))


@dataclass(frozen=True, eq=False)
class ThresholdSweep:
    """Simulates cells of a sweep, each on as many of the true records, `data`, as it names.

    All `t_v` and `t_d` of Algorithm 1 are combined; the `subset_seed` says which records a smaller
    file has. `coverage` and `ordinal` are those of `ClusterQueries`.
    """

    data: Microdata
    coverage: float
    t_v: Sequence[int]
    t_d: Sequence[float]
    ordinal: tuple[str, ...] = ()
    subset_seed: int = 2024

    @cached_property
    def queries_on(self) -> Callable[[int], ClusterQueries]:
        """The simulator of single thresholds on so many records."""
        sized = partial(resized, self.data, seed=self.subset_seed)
        return cache(lambda records: ClusterQueries(sized(records), self.coverage, self.ordinal))

    def protocols(self, cell: Cell) -> dict[tuple[int, float], Protocol]:
        """Return the protocol of a `cell` at each combination of thresholds."""
        queries = self.queries_on(cell["records"])
        return {
            (t_v, t_d): queries.protocol({**cell, "t_v": t_v, "t_d": t_d})
            for t_v, t_d in product(self.t_v, self.t_d)
        }

    def outputs(self, cell: Cell) -> Sequence[Mapping[str, Any]]:
        """Return the thresholds of a `cell`, and how many clusters they form."""
        return [
            {"t_v": t_v, "t_d": t_d, "clusters": len(protocol.clusters)}
            for (t_v, t_d), protocol in self.protocols(cell).items()
        ]

    def spends(self, cell: Cell, output: Mapping[str, Any]) -> Mapping[str, float]:
        """Return the p of a `cell` and what is spent there at the thresholds of an `output`."""
        return self.queries_on(cell["records"]).spends({**cell, **output}, output)

    def __call__(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Floats:
        """Return the relative error of each run's query, shape (replicates, thresholds).

        A cell has records, matrix, mechanism, projection, p.
        """
        queries = self.queries_on(cell["records"])
        protocols = [*self.protocols(cell).values()]
        channels = {
            cluster: channel
            for protocol in protocols
            for cluster, channel in zip(protocol.clusters, protocol.channels, strict=True)
        }

        def errors(names: tuple[str, ...], runs: int) -> Floats:
            true = queries.true_counts(cell, names)
            asked = random_queries(true.size, self.coverage, runs, generator)
            answers = asked @ true.astype(float)

            @cache
            def margin(cluster: tuple[str, ...]) -> Floats:
                channel = channels[cluster]
                return queries.estimated_margin(cell, channel, cluster, names, generator, runs)

            @cache
            def error(touched: Clusters) -> Floats:
                estimated = reduce(mul, map(margin, touched))
                shares = np.sum(estimated.reshape(runs, -1), axis=1, where=asked)
                return relative_errors(true.sum() * shares, answers)

            # The error depends on the clusters that the query touches, on nothing else.
            touched = [
                tuple(each for each in protocol.clusters if not set(each).isdisjoint(names))
                for protocol in protocols
            ]
            return np.column_stack([error(clusters) for clusters in touched])

        pairs = list(combinations(self.data.domain.names, ATTRIBUTES_OF_A_QUERY))
        return of_random_attributes(errors, pairs, generator, replicates)
