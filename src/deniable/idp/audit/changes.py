"""What a change of one record does to clusters of consecutive values, by looking at all changes.

Nothing here uses the sensitivities that [idp] claims. One attribute is sorted and cut into
clusters of consecutive positions. Another value for one record takes a value out at one position
and puts one in at another; if clusters are formed anew, each cluster in between passes a value on.
Every cluster so loses one value and gets one, in one of the six ways of `Moves`.

A centroid is affine in the value that is put in, except where that value passes one of the two
smallest or two largest others of the cluster: between such points the distance from a given number
is convex, so the largest change is at one of them (`Cut.candidates`). Positions of the removed
value are all tried. The suprema over all neighbours are so found among finitely many, and exactly.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.arrays import Flags, Floats, Positions
from deniable.idp.methods import Centroid
from deniable.idp.microaggregation import Edges, cluster_starts

EDGE = 3  # third smallest and third largest: all that any method asks of a cluster


@dataclass(frozen=True, eq=False)
class Cut:
    """The sorted values of one attribute, cut into clusters of k; the remainder joins the last.

    Attributes
    ----------
    values : array, shape (records,)
        In ascending order.
    k : int, from 1 to the number of records
    upper : float
        The domain is [0, upper].
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
        """Return the values that may have to be put into each cluster to change it most.

        These are, shape (clusters, 8), both ends of the range of the value that is put in, `lowest`
        and `highest`, shape (clusters,) each, and the three smallest and three largest values: one
        of them may be the value that is taken out.
        """
        at = np.arange(EDGE)
        low = np.minimum(self.starts[:, None] + at, self.stops[:, None] - 1)
        high = np.maximum(self.stops[:, None] - 1 - at, self.starts[:, None])
        inner = self.values[np.concatenate([low, high], axis=1)]
        return np.concatenate([lowest[:, None], inner, highest[:, None]], axis=1)

    def exchanged(self, clusters: Positions, removed: Positions, inserted: Floats) -> Edges:
        """Return the edges of clusters that lose one value and get another.

        Given are the `clusters`, the positions of the values that go, `removed`, and the values
        that come, `inserted`, as arrays that broadcast to each other.
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


def _centroid_change(
    centroid: Centroid, before: Edges, after: Edges, removed: Floats, inserted: Floats
) -> Floats:
    """Return how much the centroids of clusters change when one value replaces another.

    The preprocessed mean is that of all values, with the smallest replaced by the second smallest
    and the largest by the second largest ([idp], section 3.2.2): it needs clusters of at least
    three values. Only differences are taken, so that a centroid that stays as it is changes by
    exactly 0.
    """
    change = inserted - removed
    if centroid == "preprocessed":
        (low, high), (low_before, high_before) = (
            (each.smallest(2) - each.smallest(), each.largest() - each.largest(2))
            for each in (after, before)
        )
        change = change + (low - low_before) - (high - high_before)
    return np.asarray(change / after.sizes)


@dataclass(frozen=True, eq=False)
class Changes:
    """Exchanges of one value in clusters and what they do.

    Attributes
    ----------
    clusters : array
        The cluster of each exchange.
    change : array
        Of its centroid.
    after : Edges
        Of the cluster after the exchange.
    """

    clusters: Positions
    change: Floats
    after: Edges


@dataclass(frozen=True, eq=False)
class Moves:
    """All that one record's new value can do to a cluster of an attribute.

    Attributes
    ----------
    cut : Cut
    centroid : "mean" or "preprocessed"
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
        """The record stays in its cluster by decree, whatever its value; (records, candidates)."""
        cut = self.cut
        ends = np.zeros(cut.starts.size), np.full(cut.starts.size, cut.upper)
        return self._any_removed(cut.candidates(*ends))

    @cached_property
    def leaves_upward(self) -> Changes:
        """The value goes beyond its cluster, whose place the next value takes; (records,).

        The last cluster cannot be left so: what stands there for it is of no use.
        """
        cut = self.cut
        return self._exchange(cut.cluster_of, self._positions, cut.above[cut.cluster_of])

    @cached_property
    def leaves_downward(self) -> Changes:
        """The value goes below its cluster, (records,); of no use for the first cluster."""
        cut = self.cut
        return self._exchange(cut.cluster_of, self._positions, cut.below[cut.cluster_of])

    @cached_property
    def passed_upward(self) -> Changes:
        """A value from below passes over the cluster, which hands its first value down.

        Shape (clusters,); of no use for the first and the last.
        """
        return self._exchange(self._all, self.cut.starts, self.cut.above)

    @cached_property
    def passed_downward(self) -> Changes:
        """A value from above passes over the cluster, which hands its last value up."""
        return self._exchange(self._all, self.cut.stops - 1, self.cut.below)

    @cached_property
    def entered_from_below(self) -> Changes:
        """A value from below comes to stay, (clusters, candidates); not for the first cluster."""
        cut = self.cut
        candidates = cut.candidates(cut.values[cut.starts], cut.above)
        return self._exchange(self._all[:, None], cut.starts[:, None], candidates)

    @cached_property
    def entered_from_above(self) -> Changes:
        """A value from above comes to stay, (clusters, candidates); not for the last cluster."""
        cut = self.cut
        candidates = cut.candidates(cut.below, cut.values[cut.stops - 1])
        return self._exchange(self._all[:, None], cut.stops[:, None] - 1, candidates)

    @property
    def _all(self) -> Positions:
        return np.arange(self.cut.starts.size)

    @property
    def _positions(self) -> Positions:
        return np.arange(self.cut.values.size)

    def _any_removed(self, candidates: Floats) -> Changes:
        clusters = self.cut.cluster_of
        return self._exchange(clusters[:, None], self._positions[:, None], candidates[clusters])

    def _exchange(self, clusters: Positions, removed: Positions, inserted: Floats) -> Changes:
        edges = self.cut.edges
        before = Edges(edges.low[clusters], edges.high[clusters], edges.sizes[clusters])
        after = self.cut.exchanged(clusters, removed, inserted)
        gone = self.cut.values[removed]
        change = _centroid_change(self.centroid, before, after, gone, inserted)
        return Changes(np.broadcast_to(clusters, change.shape), change, after)
