"""What simulators of count queries share: the true records, projections, random attributes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import combinations

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Floats
from deniable.channels import Channel
from deniable.errors import DeniableError
from deniable.estimation import (
    clip_and_rescale,
    euclidean_projection,
    likelihood_or_uniform,
    unbiased_or_uniform,
)
from deniable.randomized_response import (
    ClusterMechanism,
    Clusters,
    Protocol,
    Reading,
    cluster_attributes,
    dependences,
    epsilons,
    p_of_epsilon,
    rr_clusters,
)
from deniable.records import Domain, Microdata

from reproduction.study import Cell

LIKELIHOOD_TOLERANCE = 0.1  # nats: far below what data could tell apart, or these runs

PROJECTIONS: dict[str, Callable[[Counts, Channel], Floats]] = {
    "clip": lambda reports, channel: clip_and_rescale(unbiased_or_uniform(reports, channel)),
    "simplex": lambda reports, channel: euclidean_projection(unbiased_or_uniform(reports, channel)),
    "likelihood": partial(likelihood_or_uniform, tolerance=LIKELIHOOD_TOLERANCE),
}


class OfTrueRecords:
    """What a simulator knows of the true records, some attributes taken as `ordinal`."""

    data: Microdata
    ordinal: tuple[str, ...]

    @cached_property
    def counts(self) -> Callable[[tuple[str, ...]], Counts]:
        """Tables of the true records, by the names of attributes."""
        return cache(self.data.counts)

    @cached_property
    def dependences(self) -> pd.DataFrame:
        """Dependences on the true data: an inference, see the report's section on clusters."""
        return dependences(self.data, self.ordinal)

    def clusters(self, cell: Cell) -> Clusters:
        """Return the clusters that the T_v and T_d of a `cell` form."""
        return cluster_attributes(self.data.domain, self.dependences, cell["t_v"], cell["t_d"])

    def independent(self, cell: Cell) -> "Stated":
        """Return RR-Independent at the matrix and the p, or the epsilon, of a `cell`."""
        return self._stated(cell, tuple(combinations(self.data.domain.names, 1)), "kronecker")

    def clustered(self, cell: Cell) -> "Stated":
        """Return RR-Clusters at the matrix and the p, or the epsilon, of a `cell`."""
        return self._stated(cell, self.clusters(cell), cell["mechanism"])

    def _stated(self, cell: Cell, clusters: Clusters, mechanism: ClusterMechanism) -> "Stated":
        asked = cell.get("p"), cell.get("epsilon")
        return stated(self.data.domain, clusters, cell["matrix"], mechanism, *asked)


@dataclass(frozen=True)
class Stated:
    """A `protocol`, and what tables have beside its p: see `deniable.randomized_response.spending`.

    `spends` has p, too, which follows where an epsilon is asked for.
    """

    protocol: Protocol
    spends: Mapping[str, float]


@cache
def stated(
    domain: Domain,
    clusters: Clusters,
    matrix: Reading,
    mechanism: ClusterMechanism,
    p: float | None = None,
    epsilon: float | None = None,
) -> Stated:
    """Return RR-Clusters at a p, or at an exact epsilon of a record, which is never exceeded.

    One p holds for all attributes, whatever is asked for, as in [multirr].
    """

    def at(p: float) -> Protocol:
        return rr_clusters(domain, clusters, p, matrix, mechanism)

    if p is None:
        if epsilon is None:
            raise DeniableError("a cell has neither a p nor an epsilon; give it one of them")
        p = p_of_epsilon(domain, epsilon, matrix, clusters, mechanism)
    return Stated(at(p), {"p": p} | epsilons(at(p)))


def margin_over(names: Sequence[str], cluster: Sequence[str], joint: Floats) -> Floats:
    """Return the margin of a `cluster` over the `names`, both in the domain's order.

    The cluster's attributes are the last axes of `joint`, its distribution; instead of them the
    result has an axis for each of the names, of length 1 for one outside the cluster.
    """
    outside = tuple(i - len(cluster) for i, name in enumerate(cluster) if name not in names)
    absent = tuple(i - len(names) for i, name in enumerate(names) if name not in cluster)
    return np.expand_dims(joint.sum(axis=outside), absent)


def of_random_attributes(
    errors: Callable[[tuple[str, ...], int], Floats],
    sets: Sequence[tuple[str, ...]],
    generator: np.random.Generator,
    replicates: int,
    chances: Floats | None = None,
) -> Floats:
    """Let each of `replicates` runs ask about one of the `sets` of attributes, by the `generator`.

    `errors` makes of attributes and a number of runs what these yield, shape (runs, ...); it comes
    back in the runs' order. `chances` are the probabilities of the sets, all alike if None.
    """
    asked = generator.choice(len(sets), size=replicates, p=chances)
    runs = [np.flatnonzero(asked == number) for number in range(len(sets))]
    found = [errors(names, of.size) for names, of in zip(sets, runs, strict=True) if of.size]
    return np.concatenate(found)[np.argsort(np.concatenate(runs))]
