"""Relative error of count queries under RR-Clusters: Tables 1 and 2 of text 003.

A run randomizes the data once, estimates each cluster's distribution, and asks one random query
over two random attributes. Only the counts of the clusters that the query touches are drawn: the
error depends on nothing else, and counts have the same distribution as randomized records.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from deniable import simplex
from deniable.channel import Channel, KeepOrReplace, ProductChannel
from deniable.channel.base import Counts, Floats
from deniable.clustering import cluster_attributes
from deniable.dependence import dependences
from deniable.errors import DeniableError
from deniable.microdata import Microdata
from deniable.multirr import Protocol, rr_clusters
from deniable.utility import random_queries, relative_errors

COPIES = {"adult": 1, "adult6": 6}
"""Adult6 is Adult concatenated six times (text 003, 6.5)."""


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

    def __call__(
        self, cell: Mapping[str, Any], generator: np.random.Generator, replicates: int
    ) -> Floats:
        """Return the relative error of each run's query.

        Parameters
        ----------
        cell : mapping
            dataset, matrix, mechanism, projection, p, t_d, t_v.
        """
        protocol = self.protocol(cell)
        copies = COPIES[cell["dataset"]]
        pairs = list(combinations(self.data.domain.names, 2))
        asked = generator.integers(len(pairs), size=replicates)
        errors = np.empty(replicates)
        for number, pair in enumerate(pairs):
            runs = np.flatnonzero(asked == number)
            if runs.size:
                errors[runs] = self._pair_errors(
                    protocol, pair, copies, cell["projection"], generator, runs.size
                )
        return errors

    def _pair_errors(
        self,
        protocol: Protocol,
        pair: tuple[str, str],
        copies: int,
        projection: str,
        generator: np.random.Generator,
        runs: int,
    ) -> Floats:
        true = self._counts(pair).reshape(-1) * copies
        estimated = np.ones((runs, 1, 1))
        for cluster in protocol.clusters:
            if set(cluster) & set(pair):
                margin = self._estimated_margin(
                    protocol, cluster, pair, copies, projection, generator, runs
                )
                estimated = estimated * margin
        queries = random_queries(true.size, self.coverage, runs, generator)
        shares = np.sum(estimated.reshape(runs, -1), axis=1, where=queries)
        return relative_errors(true.sum() * shares, queries @ true.astype(float))

    def _estimated_margin(
        self,
        protocol: Protocol,
        cluster: tuple[str, ...],
        pair: tuple[str, str],
        copies: int,
        projection: str,
        generator: np.random.Generator,
        runs: int,
    ) -> Floats:
        """Estimate a cluster in each run; return its margin over the pair's attributes in it.

        The result has an axis for both attributes of the pair, of length 1 for one outside.
        """
        channel = protocol.channel_of(cluster)
        true = self._counts(cluster).reshape(-1) * copies
        reports = channel.randomize_counts(np.broadcast_to(true, (runs, true.size)), generator)
        domain = self.data.domain.project(cluster)
        joint = PROJECTIONS[projection](reports, channel).reshape(runs, *domain.shape)
        outside = tuple(i + 1 for i, name in enumerate(cluster) if name not in pair)
        margin = joint.sum(axis=outside)
        inside = [name for name in cluster if name in pair]
        if len(inside) == 2:
            return np.asarray(margin if inside == list(pair) else margin.swapaxes(1, 2))
        return np.asarray(margin[:, :, None] if inside == [pair[0]] else margin[:, None, :])

    def _counts(self, names: tuple[str, ...]) -> Counts:
        if names not in self._tables:
            self._tables[names] = self.data.counts(names)
        return self._tables[names]


def unbiased_or_uniform(reports: Counts, channel: Channel) -> Floats:
    """Return the unbiased estimate; uniform, with a warning, where the channel is singular.

    In a product only the singular attributes are taken as uniform (and independent of the others);
    the margin of the others is estimated from their own reports.
    """
    if not channel.singular:
        return channel.estimate(reports)
    warnings.warn(
        f"the channel over {channel.size} cells is singular: what it erases is taken as uniform",
        RuntimeWarning,
        stacklevel=2,
    )
    if not isinstance(channel, ProductChannel):
        return np.full(reports.shape, 1 / channel.size)
    table = reports.reshape(-1, *channel.shape)
    erased = tuple(i + 1 for i, factor in enumerate(channel.factors) if factor.singular)
    known = [i for i, factor in enumerate(channel.factors) if not factor.singular]
    shape = [1 if i + 1 in erased else size for i, size in enumerate(channel.shape)]
    estimate = np.ones((len(table), *shape))
    if known:
        margin = table.sum(axis=erased).reshape(len(table), -1)
        estimate = channel.margin(known).estimate(margin).reshape(len(table), *shape)
    cells = np.prod([channel.shape[i - 1] for i in erased])
    return np.broadcast_to(estimate / cells, table.shape).reshape(reports.shape)


def _most_likely(reports: Counts, channel: Channel) -> Floats:
    if not isinstance(channel, KeepOrReplace):
        raise DeniableError(
            "projection 'likelihood' is offered in this study where it has a closed form: "
            "with mechanism 'joint'"
        )
    if channel.singular:
        return unbiased_or_uniform(reports, channel)
    return simplex.maximum_likelihood(reports, channel).proportions


PROJECTIONS: dict[str, Callable[[Counts, Channel], Floats]] = {
    "clip": lambda reports, channel: simplex.clip_and_rescale(
        unbiased_or_uniform(reports, channel)
    ),
    "simplex": lambda reports, channel: simplex.euclidean_projection(
        unbiased_or_uniform(reports, channel)
    ),
    "likelihood": _most_likely,
}
