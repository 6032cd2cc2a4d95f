"""Relative error of count queries under RR-Clusters: Tables 1 and 2 of [multirr].

A replicate randomizes the data once and estimates the distribution of each cluster. The text asks
one random query about two random attributes. Here every pair has a query, because randomization
takes more time; the median belongs to the same distribution. If a setting has more attributes per
query, the query is about one random set of them. Only the counts of its clusters are drawn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, combinations, product
from typing import Any

import numpy as np

from deniable.arrays import Counts, Floats
from deniable.estimation import random_queries, relative_errors
from deniable.randomized_response import Protocol
from deniable.records import Microdata

from reproduction.papers.multirr.queries import shared
from reproduction.study import Cell, Simulated

COPIES = {"adult": 1, "adult6": 6}  # Adult6 is Adult concatenated six times ([multirr], 6.5)
ATTRIBUTES_OF_A_QUERY = 2


@dataclass(frozen=True, eq=False)
class ClusterQueries(shared.OfTrueRecords):
    """Simulator of Tables 1 and 2 on `data`, the original records of Adult, some `ordinal`.

    `coverage` is sigma, the proportion of cells in a query.
    """

    data: Microdata
    coverage: float
    ordinal: tuple[str, ...] = ()

    def spends(self, cell: Cell, output: Mapping[str, Any]) -> Mapping[str, float]:
        return self.clustered(cell).spends

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        protocols = [self.clustered(cell).protocol]
        number = cell.get("attributes", ATTRIBUTES_OF_A_QUERY)
        sets = list(combinations(self.data.domain.names, number))
        if number == ATTRIBUTES_OF_A_QUERY:
            errors = self.errors(cell, protocols, generator, replicates)
            found = shared.of_all_attributes(errors, sets, generator, self.chances(cell, sets))
            yield {}, found[:, 0]
            return
        drawn, found = generator.choice(len(sets), size=replicates), np.empty(replicates)
        for place in np.unique(drawn):
            runs = np.flatnonzero(drawn == place)
            found[runs] = self.errors(cell, protocols, generator, runs.size)(sets[place])[:, 0]
        yield {}, found

    def errors(
        self,
        cell: Cell,
        protocols: Sequence[Protocol],
        generator: np.random.Generator,
        runs: int,
    ) -> Callable[[tuple[str, ...]], Floats]:
        """Return a function of names: the relative errors of queries about these attributes.

        Their shape is (`runs`, `protocols`), where `runs` is the number of replicates of a `cell`.
        In a replicate, all names and protocols share the responses of a cluster. The `generator`
        draws responses and then queries.
        """
        by_cluster = (zip(each.clusters, each.channels, strict=True) for each in protocols)
        channels = dict(chain.from_iterable(by_cluster))

        @cache
        def joint(cluster: tuple[str, ...]) -> Floats:
            counts, channel = self.true_counts(cell, cluster), channels[cluster]
            files = np.broadcast_to(counts, (runs, counts.size))
            reports = channel.randomize_counts(files, generator)
            shape = self.data.domain.project(cluster).shape
            return shared.PROJECTIONS[cell["projection"]](reports, channel).reshape(runs, *shape)

        def of(names: tuple[str, ...]) -> Floats:
            true = self.true_counts(cell, names)
            asked_of = ([c for c in each.clusters if {*names} & {*c}] for each in protocols)
            estimated = [shared.joint_of(names, {c: joint(c) for c in each}) for each in asked_of]
            queries = random_queries(true.size, self.coverage, runs, generator)
            asked = queries @ true.astype(float)
            shares = (np.sum(each.reshape(runs, -1), axis=1, where=queries) for each in estimated)
            return np.column_stack([relative_errors(true.sum() * each, asked) for each in shares])

        return of

    def chances(self, cell: Cell, sets: Sequence[tuple[str, ...]]) -> Floats | None:
        """Return the probability of each of `sets` in a query of a `cell`; None if equal."""
        return None

    def true_counts(self, cell: Cell, names: tuple[str, ...]) -> Counts:
        """Return the counts over the attributes `names` in the data set of a `cell`."""
        return self.counts(names).reshape(-1) * COPIES[cell.get("dataset", "adult")]


@dataclass(frozen=True, eq=False)
class ExploredQueries(ClusterQueries):
    """Simulator of Tables 1 and 2 under interpretations that are not in the text.

    With the ``variation`` "ordinal", dependences of `ordinal` attributes are correlations. With
    "clustered_pairs", the attributes of a query share a cluster with probability `within`. Pairs in
    a cluster are equally probable, and so are all others.
    """

    within: float = 0.25

    def chances(self, cell: Cell, sets: Sequence[tuple[str, ...]]) -> Floats | None:
        """Return the probabilities of `sets`; None if all or none are in a cluster of `cell`."""
        clusters = self.clusters(cell)
        inside = np.array([any(set(names) <= set(each) for each in clusters) for names in sets])
        if cell["variation"] != "clustered_pairs" or len(set(inside)) == 1:
            return None
        shares = self.within / inside.sum(), (1 - self.within) / (~inside).sum()
        return np.asarray(np.where(inside, *shares))


def resized(data: Microdata, records: int, seed: int) -> Microdata:
    """Return a number of `records` of the `data`, in a random order that depends on `seed`.

    The order is repeated for more records than the data have. Smaller files are parts of larger
    ones.
    """
    order = np.resize(np.random.default_rng(seed).permutation(len(data)), records)
    return replace(data, columns=tuple(column[order] for column in data.columns))


@dataclass(frozen=True, eq=False)
class ThresholdSweep(ClusterQueries):
    """Simulator of a sweep. Each setting has a number of records of `data`.

    All `t_v` and `t_d` of Algorithm 1 are combined, and answer the same queries from the same
    randomization. The `subset_seed` selects the records of a smaller file.
    """

    t_v: Sequence[int] = ()
    t_d: Sequence[float] = ()
    subset_seed: int = 2024

    @cached_property
    def queries_on(self) -> Callable[[int], ClusterQueries]:
        """The simulator for single thresholds, by number of records."""
        more = self.coverage, self.ordinal
        return cache(lambda n: ClusterQueries(resized(self.data, n, self.subset_seed), *more))

    def protocols(self, cell: Cell) -> dict[tuple[int, float], Protocol]:
        """Return the protocol of a `cell` at each combination of thresholds."""
        queries = self.queries_on(cell["records"])
        both = product(self.t_v, self.t_d)
        return {at: queries.clustered({**cell, "t_v": at[0], "t_d": at[1]}).protocol for at in both}

    def spends(self, cell: Cell, output: Mapping[str, Any]) -> Mapping[str, float]:
        return self.queries_on(cell["records"]).spends({**cell, **output}, output)

    def simulate(self, cell: Cell, generator: np.random.Generator, replicates: int) -> Simulated:
        simulator, protocols = self.queries_on(cell["records"]), self.protocols(cell)
        errors = simulator.errors(cell, [*protocols.values()], generator, replicates)
        pairs = list(combinations(self.data.domain.names, ATTRIBUTES_OF_A_QUERY))
        found = shared.of_all_attributes(errors, pairs, generator).swapaxes(0, 1)
        for ((t_v, t_d), each), values in zip(protocols.items(), found, strict=True):
            yield {"t_v": t_v, "t_d": t_d, "clusters": len(each.clusters)}, values
