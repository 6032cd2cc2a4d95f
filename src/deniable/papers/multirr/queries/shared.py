"""What simulators of count queries share: the true records, projections, random attributes."""

from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial

import numpy as np
import pandas as pd

from deniable.arrays import Counts, Floats
from deniable.channels import Channel
from deniable.estimation import (
    clip_and_rescale,
    euclidean_projection,
    likelihood_or_uniform,
    unbiased_or_uniform,
)
from deniable.randomized_response import Clusters, cluster_attributes, dependences
from deniable.records import Microdata
from deniable.study import Cell

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
        """Return the clusters that the T_v and T_d of a cell form."""
        return cluster_attributes(self.data.domain, self.dependences, cell["t_v"], cell["t_d"])


def margin_over(names: Sequence[str], cluster: Sequence[str], joint: Floats) -> Floats:
    """Return the margin of a cluster's distribution over the names, both in the domain's order.

    The cluster's attributes are the last axes of its distribution; instead of them the result has
    an axis for each of the names, of length 1 for one outside the cluster.
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
    """Let each run ask about one of the sets of attributes, drawn at random.

    `errors` makes of attributes and a number of runs what these yield, shape (runs, ...); it comes
    back in the runs' order. `chances` are the probabilities of the sets, all alike if None.
    """
    asked = generator.choice(len(sets), size=replicates, p=chances)
    runs = [np.flatnonzero(asked == number) for number in range(len(sets))]
    found = [errors(names, of.size) for names, of in zip(sets, runs, strict=True) if of.size]
    return np.concatenate(found)[np.argsort(np.concatenate(runs))]
