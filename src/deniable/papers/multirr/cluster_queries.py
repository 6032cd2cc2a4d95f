"""Relative error of count queries under RR-Clusters: Tables 1 and 2 of [multirr].

A run randomizes the data once, estimates each cluster's distribution, and asks one random query
over two random attributes (or more, where a cell says so). Only the counts of the clusters that
the query touches are drawn: the error depends on nothing else, and counts have the same
distribution as randomized records.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
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
from deniable.randomized_response import Protocol, cluster_attributes, dependences, rr_clusters
from deniable.records import Microdata

LIKELIHOOD_TOLERANCE = 0.1  # nats: far below what data could tell apart, or these runs
COPIES = {"adult": 1, "adult6": 6}
"""Adult6 is Adult concatenated six times ([multirr], 6.5)."""


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
        sets = list(combinations(self.data.domain.names, cell.get("attributes", 2)))
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
