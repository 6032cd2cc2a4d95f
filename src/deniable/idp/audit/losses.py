"""Exact privacy losses between noisy centroids of a file and all its neighbours.

**Changes.** The sensitivities of [idp] are not used here. One attribute is sorted and cut into
clusters of consecutive positions. A new value for one record removes a value at one position and
inserts one at another. If the neighbour forms its own clusters, each cluster in between passes a
value on. So every changed cluster loses one value and gains one, in one of the ways of `Moves`.

A centroid is affine in the inserted value, except where that value passes one of the two smallest
or two largest others of the cluster. Between such points the distance from a given number is
convex, so the largest change is at one of them (`Cut.candidates`). All positions of the removed
value are tried. So the suprema over all neighbours are exact: maxima over finitely many changes.

**Losses.** A centroid m in [0, U] is released as m + Laplace(b), clipped to [0, U]. Consider the
log likelihood ratio of two such releases. Inside the domain it is linear in the outcome, except for
kinks at the two centroids. At the ends there are atoms. Its supremum is at one of these points.

- Equal scales: |m - m'| / b. Clipping does not lower it, because the atoms attain it.
- No noise on either side: 0 if the centroids are equal, otherwise infinite. Noise on one side only:
  infinite, because that side has outcomes that are impossible on the other side.

For independent centroids, suprema add up, because all combinations of outcomes can occur.

**All centroids of an attribute.** [idp] (section 3.1) composes the clusters of an attribute in
parallel, as if each centroid depended on its own records. But clusters are cut from the sorted
values. If a record moves from one cluster to another, a value shifts in every cluster between them.
As their noise is independent, the losses of these clusters add up.

Let L_c be the loss of a passed cluster, A_r the loss of the cluster that record r leaves, and B_b
the loss of the cluster that it enters. The loss of a move upward from cluster a to b is

    A_r + sum of L_c over a < c < b + B_b,

and likewise downward. Cumulative sums give the largest loss for every record in one pass.

For ``idp_cbls`` the centroid of a passed cluster changes by the whole sensitivity of Proposition 3
(its first expression upward, its second downward). Upward, x_2 .. x_n and some y >= x_n remain. The
preprocessed sum grows from 2 x_2 + x_3 + .. + 2 x_{n-1} to 2 x_3 + .. + x_{n-1} + 2 x_n, that is by
(x_n - x_2) + (x_3 - x_2) + (x_n - x_{n-1}). With a fixed scale, one of the two ways to pass q
clusters (with noise) has a loss of at least q / 2 times the claimed epsilon. For ``dp_um`` shifts
of values add up to the move of the record, at most U. So its centroids are epsilon-DP as claimed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deniable.arrays import Flags, Floats, Positions, quotients
from deniable.idp.methods import Centroid, Variant, sensitivity
from deniable.idp.microaggregation import Edges, cluster_starts

EDGE = 3  # all methods use at most the third smallest and largest value


class Cut:
    """The sorted values of one attribute, cut into clusters of k; the remainder joins the last.

    `values`, shape (records,), ascend in [0, `upper`]. `k` is from 1 to the number of records. A
    cluster is at the positions from `starts` to before `stops`, and `cluster_of` has the cluster of
    each position. The value `below` a cluster is the last one of the previous cluster, or 0. The
    value `above` it is the first one of the next cluster, or the end of the domain.
    """

    def __init__(self, values: Floats, k: int, upper: float) -> None:
        self.values, self.upper, self.starts = values, upper, cluster_starts(values.size, k)
        self.stops = np.append(self.starts[1:], values.size)
        self.sizes = self.stops - self.starts
        self.cluster_of = np.repeat(np.arange(self.starts.size), self.sizes)
        self.below = np.append(0.0, values[self.starts[1:] - 1])
        self.above = np.append(values[self.starts[1:]], upper)

    @cached_property
    def edges(self) -> Edges:
        """The edges of the unchanged clusters, shape (clusters, 3)."""
        # The first value of each cluster replaces itself.
        return self.exchanged(np.arange(self.starts.size), self.starts, self.values[self.starts])

    def candidates(self, lowest: Floats, highest: Floats) -> Floats:
        """Return the inserted values that can change each cluster most, shape (clusters, 8).

        These are both ends of the inserted value's range, `lowest` and `highest`, (clusters,), and
        the three smallest and three largest values: one of them may be the removed value.
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
        return np.where(there, self.values[np.clip(positions, 0, self.values.size - 1)], if_not)


@dataclass(frozen=True, eq=False)
class Changes:
    """Exchanges of one value in `clusters`: the `change` of centroids, and the edges `after` it."""

    clusters: Positions
    change: Floats
    after: Edges


@dataclass(frozen=True, eq=False)
class Moves:
    """All effects of a new value of one record on the clusters of an attribute, a `cut`.

    The `centroid` is "mean" or "preprocessed".
    """

    cut: Cut
    centroid: Centroid

    @cached_property
    def within(self) -> Changes:
        """Changes if the new value stays in its cluster, shape (records, candidates)."""
        return self._staying(self.cut.below, self.cut.above)

    @cached_property
    def fixed(self) -> Changes:
        """Changes if the record keeps its cluster for all values, shape (records, candidates)."""
        number = self.cut.starts.size
        return self._staying(np.zeros(number), np.full(number, self.cut.upper))

    @cached_property
    def upward(self) -> tuple[Changes, ...]:
        """Changes of the cluster that the record leaves, passes or enters if its value rises.

        The shapes are (records,), (clusters,) and (clusters, candidates). A left cluster gains the
        value above it. A passed cluster also gains it, and loses its first value to the cluster
        below. An entered cluster loses its first value, and the new value stays. Ignore the last
        cluster, unless it is entered, and the first one, unless it is left.
        """
        cut = self.cut
        return self._moved(cut.above, cut.starts, cut.candidates(cut.values[cut.starts], cut.above))

    @cached_property
    def downward(self) -> tuple[Changes, ...]:
        """The same as `upward` in the reverse order, if the value of the record falls."""
        cut, last = self.cut, self.cut.stops - 1
        return self._moved(cut.below, last, cut.candidates(cut.below, cut.values[last]))

    def _moved(self, gained: Floats, lost: Positions, entering: Floats) -> tuple[Changes, ...]:
        clusters, left = np.arange(lost.size), self.cut.cluster_of
        return (
            self._exchange(left, np.arange(left.size), gained[left]),
            self._exchange(clusters, lost, gained),
            self._exchange(clusters[:, None], lost[:, None], entering),
        )

    def _staying(self, lowest: Floats, highest: Floats) -> Changes:
        own, candidates = self.cut.cluster_of, self.cut.candidates(lowest, highest)
        return self._exchange(own[:, None], np.arange(own.size)[:, None], candidates[own])

    def _exchange(self, clusters: Positions, removed: Positions, inserted: Floats) -> Changes:
        after = self.cut.exchanged(clusters, removed, inserted)
        # Only differences are computed, so that an unchanged centroid changes by exactly 0.
        change = inserted - self.cut.values[removed]
        if self.centroid == "preprocessed":
            (low, high), (low_before, high_before) = (
                (each.smallest(2) - each.smallest(), each.largest() - each.largest(2))
                for each in (after, self.cut.edges)
            )
            change = change + (low - low_before[clusters]) - (high - high_before[clusters])
        change = np.asarray(change / after.sizes)
        return Changes(np.broadcast_to(clusters, change.shape), change, after)


def distance_in_scales(distance: Floats, scale: Floats) -> Floats:
    """Return |`distance`| / `scale`, with 0 / 0 = 0."""
    return quotients(np.abs(distance), scale, np.where(distance == 0, 0.0, np.inf))


def loss_between(
    centre: Floats, scale: Floats, other: Floats, other_scale: Floats, upper: float
) -> Floats:
    """Return the largest |log likelihood ratio| between two clipped noisy centroids.

    The centroids `centre` and `other`, in [0, `upper`], and their `scale` and `other_scale`, at
    least 0, are arrays that broadcast to each other.
    """
    m, b, m2, b2 = np.broadcast_arrays(centre, scale, other, other_scale)
    found = np.where((b > 0) | (b2 > 0) | (m != m2), np.inf, 0.0)
    noisy = (b > 0) & (b2 > 0)
    m, b, m2, b2 = m[noisy], b[noisy], m2[noisy], b2[noisy]
    level = np.log(b2) - np.log(b)
    worst = np.zeros(m.shape)
    for y in (0.0, upper):
        atom = np.abs(y - m2) / b2 - np.abs(y - m) / b
        worst = np.maximum(worst, np.maximum(np.abs(atom), np.abs(level + atom)))
    apart = np.abs(m - m2)
    worst = np.maximum(worst, np.maximum(np.abs(level + apart / b2), np.abs(level - apart / b)))
    found[noisy] = worst
    return found


ChangeLoss = Callable[[Changes], Floats]
"""A function that returns the privacy loss of each change, at least 0, possibly infinite."""


def with_frozen_scales(scales: Floats) -> ChangeLoss:
    """Return the loss of interpretation (i): both data sets have `scales`, shape (clusters,)."""
    return lambda changes: distance_in_scales(changes.change, scales[changes.clusters])


def with_own_scales(
    method: Variant, cut: Cut, centres: Floats, scales: Floats, epsilon: float
) -> ChangeLoss:
    """Return the loss of interpretation (ii): each data set has its own scales.

    The `method` has the `centres` and `scales`, shape (clusters,), for the clusters of the `cut`.
    `epsilon` is the budget of the attribute.
    """

    def loss(changes: Changes) -> Floats:
        centre, upper = centres[changes.clusters], cut.upper
        # The change of a centroid may round to just outside the domain.
        other = np.clip(centre + changes.change, 0.0, upper)
        other_scale = sensitivity(method, changes.after, upper) / epsilon
        return loss_between(centre, scales[changes.clusters], other, other_scale, upper)

    return loss


class Losses(NamedTuple):
    """The largest losses of an attribute over all neighbours of the data set.

    `of_centroids`, shape (clusters,), is the loss of each centroid alone. `of_records`, shape
    (records,), is the loss of all centroids together, by the position of the changed record.
    """

    of_centroids: Floats
    of_records: Floats


def losses_within_fixed_clusters(moves: Moves, loss: ChangeLoss) -> Losses:
    """Return the losses of `moves` by `loss` if records keep their clusters for all values.

    The paper's composition assumes this, but no ranking satisfies it.
    """
    found = loss(moves.fixed).max(axis=1)
    return Losses(np.maximum.reduceat(found, moves.cut.starts), found)


def losses_of_clusters_formed_anew(moves: Moves, loss: ChangeLoss) -> Losses:
    """Return the losses of `moves` by `loss` if each neighbour is ranked and cut again."""
    cluster_of = moves.cut.cluster_of
    within = loss(moves.within).max(axis=1)
    staying = Losses(np.maximum.reduceat(within, moves.cut.starts), within)
    if moves.cut.starts.size == 1:
        return staying
    upward = _upward(cluster_of, *map(loss, moves.upward))
    # Downward is upward in the reverse order.
    mirrored = cluster_of[-1] - cluster_of[::-1]
    found = _upward(mirrored, *(loss(each)[::-1] for each in moves.downward))
    downward = (each[::-1] for each in found)
    return Losses(*map(np.maximum.reduce, zip(staying, upward, downward, strict=True)))


def _upward(cluster_of: Positions, leaves: Floats, passed: Floats, entered: Floats) -> Losses:
    """Return the largest losses of moves to a higher cluster, from losses of `Moves.upward`."""
    last = passed.size - 1
    leaves = np.where(cluster_of < last, leaves, 0.0)
    passed = np.concatenate([[0.0], passed[1:last], [0.0]])
    entered = np.append(0.0, entered[1:].max(axis=1))
    starts = np.flatnonzero(np.diff(cluster_of, prepend=-1))
    of_centroids = np.maximum.reduce([np.maximum.reduceat(leaves, starts), passed, entered])
    # The largest loss beyond cluster a: the maximum over b > a, by sums over passed clusters.
    infinite = np.isinf(passed)
    summed = np.cumsum(np.where(infinite, 0.0, passed))
    beyond = np.maximum.accumulate((summed[:-1] + entered[1:])[::-1])[::-1] - summed[:-1]
    blocked = np.maximum.accumulate(infinite[1:][::-1])[::-1]
    beyond = np.append(np.where(blocked, np.inf, beyond), 0.0)
    return Losses(of_centroids, leaves + beyond[cluster_of])
