"""Pure protocols: each category is supported by a set of randomized values, which are counted."""

from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from deniable.arrays import Codes, Counts, Flags, Floats
from deniable.channels.base import MAX_TUNED, Channel
from deniable.channels.dense import DenseChannel
from deniable.channels.maps import SINGULAR_WEIGHT, refuse_no_records, refuse_other_than_whole
from deniable.errors import ChannelError
from deniable.records import refuse_foreign_codes

MAX_TALLY = 2**27
"""Reports up to which one counter a report is kept: a gigabyte."""
CHUNK_RECORDS = 1 << 16  # draws and codes of a chunk stay in the processor's cache


class PureProtocol(Channel):
    """A channel with values that support categories, and equal support by all other categories.

    The set S_u of the values that support category u has one probability p if u is true, and one
    probability q otherwise. The proportion of S_u among the values is then unbiased for q + (p - q)
    pi_u. Its own left inverse, for any true distribution, is

        D[v, u] = (1[v in S_u] - q) / (p - q).

    A kind supplies p and q as floats, sums over sets, and tests of membership. All vectors may have
    leading batch axes.

    SOURCE: Wang, Blocki, Li and Jha 2017, [local_hashing].
    """

    categories: int

    @property
    def size(self) -> int:
        return self.categories

    @property
    def returns_categories(self) -> bool:
        return False

    @property
    @abstractmethod
    def support_of_own(self) -> float:
        """Return p, the probability that a value supports the true category."""

    @property
    @abstractmethod
    def support_of_others(self) -> float:
        """Return q, the probability that a value supports any one other category."""

    @property
    @abstractmethod
    def gain(self) -> float:
        """Return p - q, to the last digit."""

    @abstractmethod
    def membership_sums(self, values: Floats) -> Floats:
        """Return the sums of `values` over each S_u: from shape (..., reports) to (..., size)."""

    @abstractmethod
    def point_sums(self, weights: Floats) -> Floats:
        """Return for each value the sum of the `weights` of the categories that it supports.

        From shape (..., size) to (..., reports): the transpose of `membership_sums`.
        """

    @abstractmethod
    def supported_by(self, reports: Codes, category: int) -> Flags:
        """Return which of `reports`, values of any shape, support a `category`."""

    @property
    def singular(self) -> bool:
        """Whether p - q is zero up to rounding: values then reveal nothing."""
        return abs(self.gain) < SINGULAR_WEIGHT

    def solve_transposed(self, reported: Floats) -> Floats:
        total = reported.sum(axis=-1, keepdims=True)
        sums = self.membership_sums(reported)
        return np.asarray((sums - self.support_of_others * total) / self.gain)

    def solve(self, weights: Floats) -> Floats:
        total = weights.sum(axis=-1, keepdims=True)
        return np.asarray((self.point_sums(weights) - self.support_of_others * total) / self.gain)

    def second_moments(self, reported: Floats) -> Floats:
        return self._moments(reported, 2)

    def third_moments(self, reported: Floats) -> Floats:
        return self._moments(reported, 3)

    def _moments(self, reported: Floats, power: int) -> Floats:
        q, sums = self.support_of_others, self.membership_sums(reported)
        rest = reported.sum(axis=-1, keepdims=True) - sums
        return np.asarray((sums * (1 - q) ** power + rest * (-q) ** power) / self.gain**power)

    def own_moments(self, power: int) -> Floats:
        p, q = self.support_of_own, self.support_of_others
        moment = (p * (1 - q) ** power + (1 - p) * (-q) ** power) / self.gain**power
        return np.full(self.size, moment)

    def own_variance(self, proportions: npt.ArrayLike = 0.0) -> Floats:
        """Return n times the variance of the own estimate of categories of these `proportions`.

        l (1 - l) / (p - q) ** 2 with l = q + (p - q) pi, for any proportions of the others. By
        default the category is rare. SOURCE: [local_hashing].
        """
        self.refuse_singular()
        supported = self.support_of_others + self.gain * np.asarray(proportions, dtype=float)
        return np.asarray(supported * (1 - supported) / self.gain**2)

    def supports(self, reports: Codes) -> Counts:
        """Return how many of the records' `reports` support each category, shape (size,).

        `estimate_from_supports` takes them. Supports of several files add up. This needs no counter
        for each value, of which 40 categories may have too many. Raises `DataError` for an unknown
        code.
        """
        reported = np.asarray(reports).reshape(-1)
        refuse_foreign_codes(reported, self.reports, "the reports")
        return self._supports(reported)

    def _supports(self, reported: Codes) -> Counts:
        tally = np.bincount(reported, minlength=self.reports)
        return np.rint(self.membership_sums(tally.astype(float))).astype(np.int64)

    def estimate_from_supports(self, supports: npt.ArrayLike, records: int) -> Floats:
        """Return the own estimate of the true proportions from `supports` of so many `records`.

        It equals `estimate` of the tally with the inverse "own". Supports have the shape (...,
        size).
        """
        self.refuse_singular()
        refuse_no_records(records)
        shares = self._fitting(supports, "supports") / records
        return np.asarray((shares - self.support_of_others) / self.gain)

    def of_least_variance(self, proportions: npt.ArrayLike) -> Channel:
        if self.singular or self.size * self.reports > MAX_TUNED:
            return self
        return DenseChannel(self.matrix(), np.asarray(proportions, dtype=float))

    def refuse_large_tally(self, limit: int = MAX_TALLY) -> None:
        """Raise `ChannelError` if there are over `limit` values, too many for one number each."""
        if self.reports > limit:
            raise ChannelError(
                f"{self.reports:,} reports are too many to have a number each (limit {limit:,}); "
                "count from the records by `supports`, and estimate by `estimate_from_supports`"
            )


def refuse_few_categories(size: int, what: str) -> None:
    """Raise `ChannelError` unless a protocol, `what`, has at least two categories, `size`."""
    refuse_other_than_whole("the number of categories", size, 0)
    if size < 2:
        raise ChannelError(f"{what} is for at least 2 categories, not {size}")
