"""Relative error of count queries under RR-Clusters: Tables 1 and 2 of [multirr].

A run randomizes the data once, estimates each cluster's distribution, and asks one random query
over two random attributes (or more, where a cell says so). Only the counts of the clusters that
the query touches are drawn: the error depends on nothing else, and counts have the same
distribution as randomized records.

In a sweep over p, T_v, T_d and the number of records all thresholds of a cell answer the same
queries from the same randomization: the counts of a cluster are drawn once a run, whichever
thresholds form the cluster. Each output has the distribution that it would have alone; differences
between thresholds are more exact than between independent runs, and a cell of twenty thresholds
costs as much as a few.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Floats
from deniable.channels import Channel
from deniable.estimation import (
    clip_and_rescale,
    estimated_or_uniform,
    euclidean_projection,
    maximum_likelihood,
    random_queries,
    relative_errors,
    unbiased_or_uniform,
)
from deniable.randomized_response import (
    Clusters,
    Protocol,
    cluster_attributes,
    dependences,
    rr_clusters,
)
from deniable.records import Microdata

LIKELIHOOD_TOLERANCE = 0.1  # nats: far below what data could tell apart, or these runs
COPIES = {"adult": 1, "adult6": 6}
"""Adult6 is Adult concatenated six times ([multirr], 6.5)."""
ATTRIBUTES_OF_A_QUERY = 2


@dataclass(frozen=True, eq=False)
class ClusterQueries:
    """Simulates cells of Tables 1 and 2.

    Parameters
    ----------
    data : Microdata
        The true records of Adult.
    coverage : float
        sigma, the share of the two attributes' cells that a query asks for.
    ordinal : tuple of str
        Attributes taken as ordinal when dependences are measured.
    """

    data: Microdata
    coverage: float
    ordinal: tuple[str, ...] = ()
    _tables: dict[tuple[str, ...], Counts] = field(default_factory=dict, repr=False)

    @cached_property
    def dependences(self) -> pd.DataFrame:
        """Dependences on the true data, as the paper's experiments use them."""
        return dependences(self.data, self.ordinal)

    def protocol(self, cell: Mapping[str, Any]) -> Protocol:
        """Return the protocol of a cell: its clusters and their channels."""
        clusters = cluster_attributes(self.data.domain, self.dependences, cell["t_v"], cell["t_d"])
        return rr_clusters(self.data.domain, clusters, cell["p"], cell["matrix"], cell["mechanism"])

    def outputs(self, cell: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return the one output of a run: the relative error of its query."""
        return ({},)

    def __call__(
        self, cell: Mapping[str, Any], generator: np.random.Generator, replicates: int
    ) -> Floats:
        """Return the relative error of each run's query, shape (replicates, 1).

        Parameters
        ----------
        cell : mapping
            dataset, matrix, mechanism, projection, p, t_d, t_v; attributes, of a query, if not 2.
        """
        protocol = self.protocol(cell)
        copies = COPIES[cell["dataset"]]
        sets = list(
            combinations(self.data.domain.names, cell.get("attributes", ATTRIBUTES_OF_A_QUERY))
        )
        asked = generator.integers(len(sets), size=replicates)
        errors = np.empty(replicates)
        for number, names in enumerate(sets):
            runs = np.flatnonzero(asked == number)
            if runs.size:
                errors[runs] = self._errors(
                    protocol, names, copies, cell["projection"], generator, runs.size
                )
        return errors[:, None]

    def _errors(
        self,
        protocol: Protocol,
        names: tuple[str, ...],
        copies: int,
        projection: str,
        generator: np.random.Generator,
        runs: int,
    ) -> Floats:
        true = self.counts(names).reshape(-1) * copies
        estimated = np.ones((runs, *(1 for _ in names)))
        for cluster in protocol.clusters:
            if set(cluster) & set(names):
                margin = self.estimated_margin(
                    protocol, cluster, names, copies, projection, generator, runs
                )
                estimated = estimated * margin
        queries = random_queries(true.size, self.coverage, runs, generator)
        shares = np.sum(estimated.reshape(runs, -1), axis=1, where=queries)
        return relative_errors(true.sum() * shares, queries @ true.astype(float))

    def estimated_margin(
        self,
        protocol: Protocol,
        cluster: tuple[str, ...],
        names: tuple[str, ...],
        copies: int,
        projection: str,
        generator: np.random.Generator,
        runs: int,
    ) -> Floats:
        """Estimate a cluster in each run; return its margin over the named attributes in it.

        The result has an axis for each of the names, of length 1 for one outside the cluster.
        """
        channel = protocol.channel_of(cluster)
        true = self.counts(cluster).reshape(-1) * copies
        reports = channel.randomize_counts(np.broadcast_to(true, (runs, true.size)), generator)
        domain = self.data.domain.project(cluster)
        joint = PROJECTIONS[projection](reports, channel).reshape(runs, *domain.shape)
        outside = tuple(i + 1 for i, name in enumerate(cluster) if name not in names)
        # Clusters and names are both in the domain's order, so the axes that stay are too.
        shape = [domain[name].size if name in cluster else 1 for name in names]
        return np.asarray(joint.sum(axis=outside).reshape(runs, *shape))

    def counts(self, names: tuple[str, ...]) -> Counts:
        if names not in self._tables:
            self._tables[names] = self.data.counts(names)
        return self._tables[names]


def _most_likely(reports: Counts, channel: Channel) -> Floats:
    def estimate(counts: Counts, known: Channel) -> Floats:
        return maximum_likelihood(counts, known, tolerance=LIKELIHOOD_TOLERANCE).proportions

    return estimated_or_uniform(reports, channel, estimate)


PROJECTIONS: dict[str, Callable[[Counts, Channel], Floats]] = {
    "clip": lambda reports, channel: clip_and_rescale(unbiased_or_uniform(reports, channel)),
    "simplex": lambda reports, channel: euclidean_projection(unbiased_or_uniform(reports, channel)),
    "likelihood": _most_likely,
}


# -- a sweep over thresholds and numbers of records ------------------------------------------------


def resized(data: Microdata, records: int, seed: int) -> Microdata:
    """Return so many of the records, in an order drawn with the seed, over and over.

    Smaller files are parts of larger ones; a multiple of the file's length is the file so many
    times, as Adult6 is Adult six times.
    """
    order = np.resize(np.random.default_rng(seed).permutation(len(data)), records)
    return replace(data, columns=tuple(column[order] for column in data.columns))


@dataclass(frozen=True, eq=False)
class ThresholdSweep:
    """Simulates cells of a sweep.

    Parameters
    ----------
    data : Microdata
        The true records, of which each cell takes as many as it names.
    coverage : float
        sigma, the share of the two attributes' cells that a query asks for.
    thresholds : tuple of (int, float)
        T_v and T_d of Algorithm 1.
    ordinal : tuple of str
        Attributes taken as ordinal when dependences are measured.
    subset_seed : int
        Which records a smaller file has.
    """

    data: Microdata
    coverage: float
    thresholds: tuple[tuple[int, float], ...]
    ordinal: tuple[str, ...] = ()
    subset_seed: int = 2024
    _sized: dict[int, ClusterQueries] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        data: Microdata,
        coverage: float,
        t_v: Sequence[int],
        t_d: Sequence[float],
        ordinal: tuple[str, ...],
        subset_seed: int,
    ) -> "ThresholdSweep":
        """Return the study at every combination of thresholds."""
        return cls(data, coverage, tuple(product(t_v, t_d)), ordinal, subset_seed)

    def queries_on(self, records: int) -> ClusterQueries:
        """Return the simulator of single thresholds on so many records."""
        if records not in self._sized:
            data = resized(self.data, records, self.subset_seed)
            self._sized[records] = ClusterQueries(data, self.coverage, self.ordinal)
        return self._sized[records]

    def protocols(self, cell: Mapping[str, Any]) -> list[Protocol]:
        """Return the protocol at each of the thresholds; equal clusters share one."""
        queries = self.queries_on(cell["records"])
        formed: dict[Clusters, Protocol] = {}
        protocols = []
        for t_v, t_d in self.thresholds:
            protocol = queries.protocol({**cell, "t_v": t_v, "t_d": t_d})
            protocols.append(formed.setdefault(protocol.clusters, protocol))
        return protocols

    def outputs(self, cell: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Return what names each output of a run: thresholds, and the clusters that they form.

        With the exact epsilon of a whole record.
        """
        return [
            {"t_v": t_v, "t_d": t_d, "clusters": len(protocol.clusters)}
            | {"epsilon": protocol.epsilon}
            for (t_v, t_d), protocol in zip(self.thresholds, self.protocols(cell), strict=True)
        ]

    def __call__(
        self, cell: Mapping[str, Any], generator: np.random.Generator, replicates: int
    ) -> Floats:
        """Return the relative error of each run's query at each of the thresholds.

        Parameters
        ----------
        cell : mapping
            records, matrix, mechanism, projection, p.

        Returns
        -------
        array, shape (replicates, thresholds)
        """
        protocols = self.protocols(cell)
        pairs = list(combinations(self.data.domain.names, ATTRIBUTES_OF_A_QUERY))
        asked = generator.integers(len(pairs), size=replicates)
        errors = np.empty((replicates, len(protocols)))
        for number, names in enumerate(pairs):
            runs = np.flatnonzero(asked == number)
            if runs.size:
                errors[runs] = self._errors(protocols, names, cell, generator, runs.size)
        return errors

    def _errors(
        self,
        protocols: Sequence[Protocol],
        names: tuple[str, ...],
        cell: Mapping[str, Any],
        generator: np.random.Generator,
        runs: int,
    ) -> Floats:
        queries = self.queries_on(cell["records"])
        true = queries.counts(names).reshape(-1)
        asked = random_queries(true.size, self.coverage, runs, generator)
        answers = asked @ true.astype(float)
        margins: dict[tuple[str, ...], Floats] = {}
        # The error depends on the clusters that the query touches, on nothing else.
        known: dict[Clusters, Floats] = {}
        columns = []
        for protocol in protocols:
            touched = tuple(c for c in protocol.clusters if set(c) & set(names))
            if touched not in known:
                estimated = np.ones((runs, *(1 for _ in names)))
                for cluster in touched:
                    if cluster not in margins:
                        margins[cluster] = queries.estimated_margin(
                            protocol, cluster, names, 1, cell["projection"], generator, runs
                        )
                    estimated = estimated * margins[cluster]
                shares = np.sum(estimated.reshape(runs, -1), axis=1, where=asked)
                known[touched] = relative_errors(true.sum() * shares, answers)
            columns.append(known[touched])
        return np.column_stack(columns)
