"""Common parts of the simulators of count queries: records, projections, random attributes."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial, reduce
from itertools import combinations
from operator import mul
from typing import NamedTuple

import numpy as np
import pandas as pd

from deniable import estimation, randomized_response as rr
from deniable.arrays import Codes, Counts, Floats
from deniable.channels import Channel
from deniable.records import Domain, Microdata

from reproduction.study import Cell, Simulator

LIKELIHOOD_TOLERANCE = 0.1  # nats; far below the precision of the data and of these replicates


PROJECTIONS: dict[str, Callable[[Counts, Channel], Floats]] = {
    "clip": lambda *found: estimation.clip_and_rescale(estimation.estimate_or_uniform(*found)),
    "simplex": lambda *found: estimation.euclidean_projection(
        estimation.estimate_or_uniform(*found)
    ),
    "likelihood": partial(estimation.likelihood_or_uniform, tolerance=LIKELIHOOD_TOLERANCE),
}


class OfTrueRecords(Simulator):
    """Base of simulators on original records, `data`, with some `ordinal` attributes."""

    data: Microdata
    ordinal: tuple[str, ...]

    @cached_property
    def counts(self) -> Callable[[tuple[str, ...]], Counts]:
        """A function of names of attributes: the table of counts of the original records."""
        return cache(self.data.counts)

    @cached_property
    def dependences(self) -> Callable[[tuple[str, ...]], pd.DataFrame]:
        """A function of ordinal attributes: dependences in the original data.

        The use of these data is inferred: see the report's section on clusters.
        """
        return cache(partial(rr.dependences, self.data))

    def clusters(self, cell: Cell) -> rr.Clustering:
        """Return the clusters of a `cell`; another ``variation`` than "ordinal" ignores orders."""
        ordinal = self.ordinal if cell.get("variation", "ordinal") == "ordinal" else ()
        found = self.dependences(ordinal)
        return rr.cluster_attributes(self.data.domain, found, cell["t_v"], cell["t_d"])

    def independent(self, cell: Cell) -> "Stated":
        """Return RR-Independent with the matrix and the p, or ε, of a `cell`."""
        single = tuple(combinations(self.data.domain.names, 1))
        return self.clustered({**cell, "mechanism": "kronecker"}, single)

    def clustered(self, cell: Cell, clusters: rr.Clustering | None = None) -> "Stated":
        """Return RR-Clusters with the p or ε of a `cell`, by default with its own `clusters`."""
        formed, given = clusters or self.clusters(cell), "p" if "p" in cell else "epsilon"
        at = cell["matrix"], cell["mechanism"], given, cell[given]
        return stated(self.data.domain, formed, *at)


class Stated(NamedTuple):
    """A `protocol`, and its p with its ε (`spends`; see `deniable.randomized_response`)."""

    protocol: rr.Protocol
    spends: Mapping[str, float]


@cache
def stated(
    domain: Domain,
    clusters: rr.Clustering,
    matrix: rr.Reading,
    mechanism: rr.ClusterMechanism,
    given: str,
    value: float,
) -> Stated:
    """Return RR-Clusters at a `value` of "p" for all attributes, or of "epsilon" for a record."""
    p = value if given == "p" else rr.p_of_epsilon(domain, value, matrix, clusters, mechanism)
    protocol = rr.rr_clusters(domain, clusters, p, matrix, mechanism)
    return Stated(protocol, {"p": p} | rr.epsilons(protocol))


def joint_of(names: Sequence[str], joints: Mapping[tuple[str, ...], Floats]) -> Floats:
    """Return the distribution over the `names`, in order of the domain, of independent clusters.

    The last axes of the `joints`, distributions by cluster, are the attributes of the cluster.
    """
    found = []
    for cluster, joint in joints.items():
        outside = tuple(i - len(cluster) for i, name in enumerate(cluster) if name not in names)
        absent = tuple(i - len(names) for i, name in enumerate(names) if name not in cluster)
        found.append(np.expand_dims(joint.sum(axis=outside), absent))
    return reduce(mul, found)


def adjust_quietly(columns: Sequence[Codes], targets: Sequence[Floats]) -> rr.Adjustment:
    """Return RR-Adjustment of `columns` to `targets`; its result has the facts of the warnings."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*left out|RR-Adjustment stopped", RuntimeWarning)
        return rr.adjust(columns, targets)


def of_all_attributes(
    errors: Callable[[tuple[str, ...]], Floats],
    sets: Sequence[tuple[str, ...]],
    generator: np.random.Generator,
    chances: Floats | None = None,
) -> Floats:
    """Return the errors about each of the `sets` of attributes in every replicate.

    `errors` returns the errors of all replicates about some attributes, shape (replicates,
    outputs). The result has the shape (replicates, outputs, sets). With `chances`, each entry of
    the last axis is about a set that the `generator` draws with these probabilities.
    """
    found = np.stack([errors(names) for names in sets], axis=-1)
    if chances is None:
        return found
    drawn = generator.choice(len(sets), size=(len(found), 1, len(sets)), p=chances)
    return np.take_along_axis(found, np.broadcast_to(drawn, found.shape), axis=-1)
