"""Subset selection: a value is a subset of categories, more likely if it has the true one."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from deniable.arrays import Codes, Counts, Flags, Floats, Sparse
from deniable.channels.base import Channel
from deniable.channels.exact import refuse_epsilon
from deniable.channels.maps import refuse_other_than_whole
from deniable.channels.protocols import pure
from deniable.errors import ChannelError

MAX_ENUMERATED = 2**24  # largest number of subsets that are enumerated, for sums over a tally


@dataclass(frozen=True, eq=False)
class SubsetSelection(pure.TwoLevelChannel):
    """Subset selection: a value is a subset of d of the k categories, with or without the true one.

    There are m = C(k, d) values, c = C(k - 1, d - 1), l = C(k - 2, d - 2). With d about k /
    (exp(epsilon) + 1), no channel of this epsilon has a lower worst mean variance as the number of
    records grows. For d = 1 it is generalized randomized response. The subset {a_1 < ... < a_d} has
    the code C(a_1, 1) + ... + C(a_d, d): colexicographic order. The `subset_size` is d, from 1 to k
    - 1, with C(k, d) below 2 ** 63; `categories` and `probability` are as in `TwoLevelChannel`.

    SOURCE: Ye and Barg 2018, [subset_selection].

    Examples
    --------
    >>> channel = SubsetSelection(4, 2, 0.75)
    >>> channel.matrix()[0]
    array([0.25      , 0.25      , 0.08333333, 0.25      , 0.08333333,
           0.08333333])
    >>> channel.members, channel.shared
    (3, 1)
    """

    categories: int
    subset_size: int
    probability: float

    def __post_init__(self) -> None:
        pure.refuse_few_categories(self.size, "subset selection")
        refuse_other_than_whole("the size of subsets", self.subset_size, 0)
        if not 1 <= self.subset_size < self.size:
            raise ChannelError(
                f"subsets of {self.subset_size} of {self.size} categories; choose from 1 to "
                f"{self.size - 1}"
            )
        # Counted only if this is quick: subsets of 64 of 128 or more are always over 2 ** 63.
        if min(self.subset_size, self.size - self.subset_size) > 63 or self.reports >= 2**63:
            raise ChannelError(
                f"there are over 2 ** 63 subsets of {self.subset_size} of {self.size} categories, "
                "too many for codes of 63 bits; choose another size, or ProjectiveGeometry"
            )
        self._check_probability()

    @property
    def returns_categories(self) -> bool:
        return self.subset_size == 1

    @classmethod
    def of_epsilon(
        cls, size: int, epsilon: float, subset_size: int | None = None
    ) -> "SubsetSelection":
        """Return the channel of `size` categories with at most the exact `epsilon`, in (0, 30].

        The default `subset_size` has the least variance of the own estimate for equally frequent
        categories, among sizes with fewer than 2 ** 63 subsets.
        """
        pure.refuse_few_categories(size, "subset selection")
        refuse_epsilon(epsilon)
        if subset_size is None:
            sizes = range(1, max(2, size // 2 + 1))
            numbered = itertools.takewhile(lambda d: math.comb(size, d) < 2**63, sizes)
            designs = {d: _block_design(size, d) for d in numbered}
            subset_size = min(
                designs, key=lambda d: pure.variance_of_design(size, epsilon, designs[d])
            )
        refuse_other_than_whole("the size of subsets", subset_size, 1, size)
        probability = pure.probability_of_epsilon(epsilon, size, subset_size)  # c / m is d / k
        return cls(size, subset_size, probability)

    @cached_property
    def block_design(self) -> tuple[int, int, int]:
        return _block_design(self.size, self.subset_size)

    def place(self, categories: Counts, indexes: Counts) -> Counts:
        # For j < c the subset has u and d - 1 other categories, number j among these subsets. For
        # j >= c it has d other categories, number j - c. Subsets are sorted by the other elements.
        reports = np.empty_like(indexes)
        own = indexes < self.members
        reports[own] = self._codes(categories[own], indexes[own], self.subset_size - 1)
        ranks = indexes[~own] - self.members
        reports[~own] = self._codes(categories[~own], ranks, self.subset_size)
        return reports

    def _codes(self, categories: Counts, ranks: Counts, others: int) -> Counts:
        """Return codes of subsets: `others` other categories, by rank, and u if one is missing."""
        codes, smaller = np.zeros_like(ranks), np.zeros_like(ranks)
        inserted, left = self.subset_size - others, ranks.copy()
        for position in range(others, 0, -1):
            element = self._largest(position, left)
            left -= self._binomials[position, element]
            above = element >= categories
            smaller += ~above
            codes += self._binomials[position + inserted * above, element + above]
        if inserted:
            codes += self._binomials[smaller + 1, categories]
        return codes

    def _largest(self, position: int, ranks: Counts) -> Counts:
        """Return the largest a with C(a, position) <= rank."""
        end = self.size - self.subset_size + position
        return np.searchsorted(self._binomials[position, :end], ranks, side="right") - 1

    @cached_property
    def _binomials(self) -> Counts:
        """C(a, i) for position i of an element a of a subset; 0 if a cannot be at position i."""
        table = np.zeros((self.subset_size + 1, self.size), dtype=np.int64)
        room = self.size - self.subset_size
        table[0, :room] = 1
        for position in range(1, self.subset_size + 1):
            before = table[position - 1, : room + position - 1]
            table[position, 1 : room + position] = np.cumsum(before)
        return table

    def elements(self, reports: Codes) -> Counts:
        """Return the categories in each of `reports`, ascending, shape (reports, subset_size)."""
        left = np.array(reports, dtype=np.int64)
        found = np.empty((left.size, self.subset_size), dtype=np.int64)
        for position in range(self.subset_size, 0, -1):
            element = self._largest(position, left)
            left -= self._binomials[position, element]
            found[:, position - 1] = element
        return found

    def supported_by(self, reports: Codes, category: int) -> Flags:
        codes = np.asarray(reports)
        found = self.elements(codes.reshape(-1)) == category
        return np.asarray(found.any(axis=1).reshape(codes.shape))

    def membership_sums(self, values: Floats) -> Floats:
        rows = np.reshape(values, (-1, self.reports))
        sums = np.zeros((len(rows), self.size))
        for start, subsets in self._subsets():
            sums += rows[:, start : start + pure.CHUNK_RECORDS] @ subsets
        return sums.reshape(*np.shape(values)[:-1], self.size)

    def point_sums(self, weights: Floats) -> Floats:
        rows = np.reshape(weights, (-1, self.size))
        sums = [subsets @ rows.T for _, subsets in self._subsets()]
        return np.concatenate(sums).T.reshape(*np.shape(weights)[:-1], self.reports)

    def of_least_variance(self, proportions: npt.ArrayLike) -> Channel:
        # By symmetry the own inverse has the least variance for equal proportions.
        return super().of_least_variance(proportions) if np.ptp(proportions) else self

    def _subsets(self) -> Iterator[tuple[int, Sparse]]:
        """Yield batches of the incidence matrix, subsets by categories, with their first rows."""
        self.refuse_large_tally(MAX_ENUMERATED)
        yield 0, self._first_subsets
        for start in range(pure.CHUNK_RECORDS, self.reports, pure.CHUNK_RECORDS):
            yield start, self._incidence(start)

    @cached_property
    def _first_subsets(self) -> Sparse:
        return self._incidence(0)

    def _incidence(self, start: int) -> Sparse:
        codes = np.arange(start, min(start + pure.CHUNK_RECORDS, self.reports))
        elements = self.elements(codes)
        starts = np.arange(0, elements.size + 1, self.subset_size)
        shape = (len(codes), self.size)
        return scipy.sparse.csr_array((np.ones(elements.size), elements.reshape(-1), starts), shape)


def _block_design(k: int, d: int) -> tuple[int, int, int]:
    return math.comb(k, d), math.comb(k - 1, d - 1), math.comb(k - 2, d - 2) if d > 1 else 0
