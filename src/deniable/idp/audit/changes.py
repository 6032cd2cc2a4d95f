"""Exact effects of a change of one record on clusters of consecutive values, over all changes.

This module does not use the sensitivities of [idp]. One attribute is sorted and cut into clusters
of consecutive positions. A new value for one record removes a value at one position and inserts one
at another; if clusters are formed anew, each cluster in between passes a value on. So every cluster
loses one value and gains one, in one of the six ways of `Moves`.

A centroid is affine in the inserted value, except where that value passes one of the two smallest
or two largest others of the cluster. Between such points the distance from a given number is
convex, so the largest change is at one of them (`Cut.candidates`). All positions of the removed
value are tried. So the suprema over all neighbours are maxima over finitely many changes, and
exact.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.arrays import Flags, Floats, Positions
from deniable.idp.methods import Centroid
from deniable.idp.microaggregation import Edges, cluster_starts

EDGE = 3  # all methods use at most the third smallest and largest value


@dataclass(frozen=True, eq=False)
class Cut:
    """The sorted values of one attribute, cut into clusters of k; the remainder joins the last.

    `values`, shape (records,), ascend in [0, `upper`]. `k` is from 1 to the number of records.
    """

    values: Floats
    k: int
    upper: float

    @cached_property
    def starts(self) -> Positions:
        """First position of each cluster."""
        return cluster_starts(self.values.size, self.k)

    @cached_property
    def stops(self) -> Positions:
        """The position after the last of each cluster."""
        return np.append(self.starts[1:], self.values.size)

    @cached_property
    def sizes(self) -> Positions:
        """Number of values of each cluster."""
        return self.stops - self.starts

    @cached_property
    def cluster_of(self) -> Positions:
        """The cluster of each position."""
        return np.repeat(np.arange(self.starts.size), self.sizes)

    @cached_property
    def below(self) -> Floats:
        """The value below each cluster: the last of the cluster before, or 0."""
        return np.append(0.0, self.values[self.starts[1:] - 1])

    @cached_property
    def above(self) -> Floats:
        """The value above each cluster: the first of the next, or the domain's upper end."""
        return np.append(self.values[self.starts[1:]], self.upper)

    @cached_property
    def edges(self) -> Edges:
        """The edges of the clusters as they are, shape (clusters, 3)."""
        at = np.arange(EDGE)
        low, high = self.starts[:, None] + at, self.stops[:, None] - 1 - at
        lowest = self._values_at(low, low < self.stops[:, None], np.inf)
        highest = self._values_at(high, high >= self.starts[:, None], -np.inf)
        return Edges(lowest, highest, self.sizes)

    def candidates(self, lowest: Floats, highest: Floats) -> Floats:
        """Return the inserted values that can change each cluster most, shape (clusters, 8).

        These are both ends of the range of the inserted value, `lowest` and `highest`, shape
        (clusters,), and the three smallest and three largest values: one of them may be the removed
        value.
        """
        at = np.arange(EDGE)
        low = np.minimum(self.starts[:, None] + at, self.stops[:, None] - 1)
        high = np.maximum(self.stops[:, None] - 1 - at, self.starts[:, None])
        inner = self.values[np.concatenate([low, high], axis=1)]
        return np.concatenate([lowest[:, None], inner, highest[:, None]], axis=1)

    def exchanged(self, clusters: Positions, removed: Positions, inserted: Floats) -> Edges:
        """Return the edges of `clusters` with `inserted` values in place of `removed` positions.

        The arrays broadcast to each other.
        """
        shape = np.broadcast_shapes(clusters.shape, removed.shape, inserted.shape)
        start, stop = self.starts[clusters][..., None], self.stops[clusters][..., None]
        gone, at = removed[..., None], np.arange(EDGE)
        low = start + at + (gone - start <= at)
        high = stop - 1 - at - (stop - 1 - gone <= at)
        kept_low = self._values_at(low, low < stop, np.inf)
        kept_high = self._values_at(high, high >= start, -np.inf)
        value = np.broadcast_to(inserted, shape)[..., None]
        before = np.concatenate([np.full_like(kept_low[..., :1], -np.inf), kept_low[..., :-1]], -1)
        after = np.concatenate([np.full_like(kept_high[..., :1], np.inf), kept_high[..., :-1]], -1)
        return Edges(
            np.minimum(np.maximum(value, before), kept_low),
            np.maximum(np.minimum(value, after), kept_high),
            np.broadcast_to(self.sizes[clusters], shape),
        )

    def _values_at(self, positions: Positions, there: Flags, if_not: float) -> Floats:
        inside = np.clip(positions, 0, self.values.size - 1)
        return np.where(there, self.values[inside], if_not)


@dataclass(frozen=True, eq=False)
class Changes:
    """Exchanges of one value in clusters: `clusters`, `change` of centroids, and edges `after`."""

    clusters: Positions
    change: Floats
    after: Edges


@dataclass(frozen=True, eq=False)
class Moves:
    """All effects of one record's new value on the clusters of an attribute, a `cut`.

    The `centroid` is "mean" or "preprocessed".
    """

    cut: Cut
    centroid: Centroid

    @cached_property
    def within(self) -> Changes:
        """The value stays in its cluster, shape (records, candidates)."""
        cut = self.cut
        return self._any_removed(cut.candidates(cut.below, cut.above))

    @cached_property
    def fixed(self) -> Changes:
        """The record stays in its cluster for all values, shape (records, candidates)."""
        cut = self.cut
        ends = np.zeros(cut.starts.size), np.full(cut.starts.size, cut.upper)
        return self._any_removed(cut.candidates(*ends))

    @cached_property
    def leaves(self) -> tuple[Changes, Changes]:
        """The value moves above, or below, its cluster, which gains a neighbour, shape (records,).

        Ignore the last cluster upward, and the first cluster downward.
        """
        clusters, positions = self.cut.cluster_of, np.arange(self.cut.values.size)
        above, below = self.cut.above[clusters], self.cut.below[clusters]
        upward = self._exchange(clusters, positions, above)
        return upward, self._exchange(clusters, positions, below)

    @cached_property
    def passed(self) -> tuple[Changes, Changes]:
        """A value passes the cluster upward, or downward, shape (clusters,).

        Upward, the cluster hands its first value down; downward, its last value up. Ignore the
        first and the last cluster.
        """
        cut, clusters = self.cut, np.arange(self.cut.starts.size)
        upward = self._exchange(clusters, cut.starts, cut.above)
        return upward, self._exchange(clusters, cut.stops - 1, cut.below)

    @cached_property
    def entered(self) -> tuple[Changes, Changes]:
        """A value from below, or from above, stays, shape (clusters, candidates).

        Ignore the first cluster from below, and the last cluster from above.
        """
        cut, clusters = self.cut, np.arange(self.cut.starts.size)[:, None]
        first, last = cut.starts, cut.stops - 1
        upward = cut.candidates(cut.values[first], cut.above)
        downward = cut.candidates(cut.below, cut.values[last])
        from_below = self._exchange(clusters, first[:, None], upward)
        return from_below, self._exchange(clusters, last[:, None], downward)

    def _any_removed(self, candidates: Floats) -> Changes:
        clusters = self.cut.cluster_of
        positions = np.arange(self.cut.values.size)
        return self._exchange(clusters[:, None], positions[:, None], candidates[clusters])

    def _exchange(self, clusters: Positions, removed: Positions, inserted: Floats) -> Changes:
        after = self.cut.exchanged(clusters, removed, inserted)
        # Only differences are computed, so that an unchanged centroid changes by exactly 0.
        change = inserted - self.cut.values[removed]
        if self.centroid == "preprocessed":
            edges = self.cut.edges
            before = Edges(edges.low[clusters], edges.high[clusters], edges.sizes[clusters])
            (low, high), (low_before, high_before) = (
                (each.smallest(2) - each.smallest(), each.largest() - each.largest(2))
                for each in (after, before)
            )
            change = change + (low - low_before) - (high - high_before)
        change = np.asarray(change / after.sizes)
        return Changes(np.broadcast_to(clusters, change.shape), change, after)
