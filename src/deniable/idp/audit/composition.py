"""What one record's change does to all centroids of an attribute when clusters are formed anew.

[idp] (section 3.1) composes the clusters of an attribute in parallel: each centroid is said to
depend on records of its own. But clusters are cut from the sorted values. A record that goes from
one cluster to another shifts a value in every cluster between them, and as the noises are
independent, the losses of these clusters add up.

With L_c the loss of a cluster that is passed over, A_r that of the cluster which record r leaves
and B_b that of the cluster which it enters, the loss of a move upward from cluster a to b is

    A_r + sum of L_c over a < c < b + B_b,

and likewise downward. Cumulative sums give the largest of them for every record in one pass.

For ``idp_cbls`` the loss L_c of a passed cluster is the whole sensitivity that Proposition 3 states
(its first expression upward, its second downward): upward, x_2 .. x_n and some y >= x_n remain, and
the preprocessed sum grows from 2 x_2 + x_3 + .. + 2 x_{n-1} to 2 x_3 + .. + x_{n-1} + 2 x_n, that
is by (x_n - x_2) + (x_3 - x_2) + (x_n - x_{n-1}). With the scale frozen, of the two ways to pass q
clusters (with noise) one hence costs at least q / 2 times the epsilon that is claimed. For
``dp_um`` shifts of values add up to the record's own way, at most U: its vector of centroids is
epsilon-DP as claimed.
"""

from dataclasses import dataclass

import numpy as np

from deniable.arrays import Floats, Positions
from deniable.idp.audit.changes import Moves
from deniable.idp.audit.losses import Loss


@dataclass(frozen=True, eq=False)
class Losses:
    """The largest losses of an attribute over all neighbours of the data set.

    Attributes
    ----------
    of_centroids : array, shape (clusters,)
        Of each centroid alone.
    of_records : array, shape (records,)
        Of all centroids together, by the position of the record that changes.
    """

    of_centroids: Floats
    of_records: Floats


def losses_within_fixed_clusters(moves: Moves, loss: Loss) -> Losses:
    """Return the losses if records kept their clusters whatever their values.

    This is what the paper's composition takes for granted, and what no ranking does.
    """
    found = loss(moves.fixed).max(axis=1)
    return Losses(np.maximum.reduceat(found, moves.cut.starts), found)


def losses_of_clusters_formed_anew(moves: Moves, loss: Loss) -> Losses:
    """Return the losses when each neighbour is ranked and cut into clusters of its own."""
    cluster_of = moves.cut.cluster_of
    within = loss(moves.within).max(axis=1)
    staying = Losses(np.maximum.reduceat(within, moves.cut.starts), within)
    if moves.cut.starts.size == 1:
        return staying
    upward = _upward(
        loss(moves.leaves_upward),
        loss(moves.passed_upward),
        loss(moves.entered_from_below).max(axis=1),
        cluster_of,
    )
    downward = _upward(
        loss(moves.leaves_downward)[::-1],
        loss(moves.passed_downward)[::-1],
        loss(moves.entered_from_above).max(axis=1)[::-1],
        cluster_of[-1] - cluster_of[::-1],
    )
    return Losses(
        np.maximum.reduce([staying.of_centroids, upward.of_centroids, downward.of_centroids[::-1]]),
        np.maximum.reduce([staying.of_records, upward.of_records, downward.of_records[::-1]]),
    )


def _upward(leaves: Floats, passed: Floats, entered: Floats, cluster_of: Positions) -> Losses:
    """Return the largest losses of moves to a higher cluster.

    Parameters
    ----------
    leaves : array, shape (records,)
        Loss of the cluster which each record leaves; of no use in the last cluster.
    passed, entered : array, shape (clusters,)
        Loss of each cluster that is passed over or entered; the first cannot be either, the last
        cannot be passed.
    cluster_of : array, shape (records,)
    """
    last = passed.size - 1
    leaves = np.where(cluster_of < last, leaves, 0.0)
    passed = np.concatenate([[0.0], passed[1:last], [0.0]])
    entered = np.append(0.0, entered[1:])
    of_centroids = np.maximum.reduce([_largest_by_cluster(leaves, cluster_of), passed, entered])
    # What lies beyond cluster a: the best b > a, by sums of passed clusters up to b and from there.
    infinite = np.isinf(passed)
    summed = np.cumsum(np.where(infinite, 0.0, passed))
    ends = summed[:-1] + entered[1:]
    beyond = np.maximum.accumulate(ends[::-1])[::-1] - summed[:-1]
    blocked = np.maximum.accumulate(infinite[1:][::-1])[::-1]
    beyond = np.append(np.where(blocked, np.inf, beyond), 0.0)
    return Losses(of_centroids, leaves + beyond[cluster_of])


def _largest_by_cluster(of_records: Floats, cluster_of: Positions) -> Floats:
    starts = np.flatnonzero(np.diff(cluster_of, prepend=-1))
    return np.asarray(np.maximum.reduceat(of_records, starts))
