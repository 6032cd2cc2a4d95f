"""Microaggregate numeric attributes by individual ranking ([idp], section 3.1).

Each attribute is sorted and cut into clusters of k consecutive values. The ranking depends neither
on k nor on random draws, so it is computed once for all k and methods.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniable.arrays import Floats, Positions
from deniable.errors import DeniableError


def cluster_starts(records: int, k: int) -> Positions:
    """Return the first positions of the `records` // `k` clusters of `k` consecutive values.

    The last cluster has k to 2 k - 1 values. Raises `DeniableError` unless k is in 1 .. `records`.

    Examples
    --------
    >>> cluster_starts(8, 3)
    array([0, 3])
    """
    if k != int(k) or not 1 <= k <= records:
        raise DeniableError(
            f"clusters of k = {k} records cannot be formed from {records} records; "
            f"k must be a whole number from 1 to {records}"
        )
    return np.arange(records // int(k), dtype=np.intp) * int(k)


@dataclass(frozen=True, eq=False)
class Ranking:
    """The values of each attribute in ascending order.

    `order` has the record at each position, and `values` its value, both of the shape (attributes,
    records). Equal values are in the order of the records.

    Examples
    --------
    >>> ranking = Ranking.of([[5.0], [1.0], [3.0], [2.0]])
    >>> ranking.clusters(2).centroids
    array([[1.5, 4. ]])
    """

    order: Positions
    values: Floats

    @classmethod
    def of(cls, values: npt.ArrayLike) -> "Ranking":
        """Rank the attributes of records, `values` of shape (records, attributes).

        Raises `DeniableError` if the values are not a nonempty table of finite numbers.
        """
        table = np.asarray(values, dtype=float)
        if table.ndim != 2 or not table.size:
            raise DeniableError(
                f"values to rank have the shape {table.shape}; give a table with one row per "
                "record and one column per attribute"
            )
        if not np.all(np.isfinite(table)):
            record, attribute = np.argwhere(~np.isfinite(table))[0]
            raise DeniableError(
                f"record {record} has the value {table[record, attribute]} in column {attribute}; "
                "values to rank must be finite numbers"
            )
        columns = np.ascontiguousarray(table.T)
        order = np.argsort(columns, axis=1, kind="stable")
        return cls(order, np.take_along_axis(columns, order, axis=1))

    @property
    def attributes(self) -> int:
        """Number of attributes."""
        return int(self.order.shape[0])

    @property
    def records(self) -> int:
        """Number of records."""
        return int(self.order.shape[1])

    @cached_property
    def positions(self) -> Positions:
        """The position of each record, shape (attributes, records); the inverse of `order`."""
        return np.argsort(self.order, axis=1)

    def clusters(self, k: int) -> "Clusters":
        """Cut each attribute into clusters of `k` consecutive values; see `cluster_starts`."""
        return Clusters(self, int(k), cluster_starts(self.records, k))


@dataclass(frozen=True, eq=False)
class Edges:
    """The outermost values of clusters of one attribute, and the `sizes` of the clusters.

    `low` has the three smallest values, ascending, and `high` the three largest, descending, both
    of the shape (..., 3). Missing values of smaller clusters are infinite.
    """

    low: Floats
    high: Floats
    sizes: Positions

    def smallest(self, nth: int = 1) -> Floats:
        """Return the `nth` smallest value of each cluster, 1 to 3."""
        return self.low[..., nth - 1]

    def largest(self, nth: int = 1) -> Floats:
        """Return the `nth` largest value of each cluster, 1 to 3."""
        return self.high[..., nth - 1]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of at least `k` consecutive values of each attribute, by individual `ranking`.

    `starts` has the position at which each cluster begins, the same for all attributes.
    """

    ranking: Ranking
    k: int
    starts: Positions

    @property
    def number(self) -> int:
        """Number of clusters of an attribute."""
        return int(self.starts.size)

    @cached_property
    def sizes(self) -> Positions:
        """Number of values of each cluster, shape (clusters,)."""
        return np.diff(self.starts, append=self.ranking.records)

    @cached_property
    def sums(self) -> Floats:
        """Sum of the values of each cluster, shape (attributes, clusters)."""
        return np.add.reduceat(self.ranking.values, self.starts, axis=1)

    @cached_property
    def centroids(self) -> Floats:
        """Mean of each cluster, shape (attributes, clusters)."""
        return self.within(self.sums / self.sizes)

    @cached_property
    def scatter(self) -> Floats:
        """Sum of squared distances from the mean, shape (attributes, clusters)."""
        apart = self.ranking.values - np.repeat(self.centroids, self.sizes, axis=1)
        return np.add.reduceat(apart * apart, self.starts, axis=1)

    def smallest(self, nth: int = 1) -> Floats:
        """Return the `nth` smallest value of each cluster, 1 to k, with ties counted separately."""
        return self._numbered(nth, self.starts + (nth - 1))

    def largest(self, nth: int = 1) -> Floats:
        """Return the `nth` largest value of each cluster, 1 to k."""
        return self._numbered(nth, self.starts + self.sizes - nth)

    def _numbered(self, nth: int, positions: Positions) -> Floats:
        if not 1 <= nth <= self.k:
            raise DeniableError(
                f"a cluster of at least {self.k} values may have no value number {nth}"
            )
        return self.ranking.values[:, positions]

    def within(self, means: Floats) -> Floats:
        """Return `means` clipped to the ranges of their clusters, against rounding."""
        return np.clip(means, self.smallest(), self.largest())

    @cached_property
    def memberships(self) -> Positions:
        """The cluster of each record, shape (attributes, records)."""
        return np.minimum(self.ranking.positions // self.k, self.number - 1)

    def expand(self, of_clusters: Floats) -> Floats:
        """Return for each record, in the original order, the value of its cluster.

        Shapes: `of_clusters` (..., attributes, clusters), result (..., records, attributes).
        """
        given = np.asarray(of_clusters, dtype=float)
        expected = (self.ranking.attributes, self.number)
        if given.shape[-2:] != expected:
            raise DeniableError(
                f"values of clusters have the shape {given.shape}; the last two axes must be "
                f"attributes and clusters, {expected}"
            )
        return np.take(given.reshape(*given.shape[:-2], -1), self._places, axis=-1)

    @cached_property
    def _places(self) -> Positions:
        """The position of each record's value in flat tables of clusters."""
        first = np.arange(self.ranking.attributes)[:, None] * self.number
        return np.ascontiguousarray((self.memberships + first).T)


def microaggregate(values: npt.ArrayLike, k: int) -> Floats:
    """Replace each value by the mean of its cluster of `k`, attribute by attribute.

    `values` and results have the shape (records, attributes).

    Examples
    --------
    >>> microaggregate([[5.0], [1.0], [3.0], [2.0]], 2).ravel()
    array([4. , 1.5, 4. , 1.5])
    """
    clusters = Ranking.of(values).clusters(k)
    return clusters.expand(clusters.centroids)
